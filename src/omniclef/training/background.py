"""What nano takes for granted: what texts in general look like, and which word pieces are English.

Knows texts and the text tower; knows nothing of questions or answers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from omniclef.backbones.nano.text import TextTower

__all__ = ["background", "english_odds"]

LARGEST = 4.0


def background(tower: TextTower, texts: Sequence[str]) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Mean [d] and covariance [d, d] of sentence vectors."""
    read = tower.encode(texts)
    vectors = np.stack([read[text].vector for text in texts])
    return vectors.mean(axis=0), np.cov(vectors.T).astype(np.float32)


def english_odds(
    tokenizer: Tokenizer, english: Sequence[str], others: Sequence[str], smoothing: float = 0.5
) -> npt.NDArray[np.float32]:
    """[V] log-odds of each word piece in English texts against texts in other languages, within ±4.

    A piece that neither side has ever shown says nothing, unless it is written in another script.
    """
    size = tokenizer.get_vocab_size()
    ours, theirs = (_counts(tokenizer, texts, size) for texts in (english, others))
    seen = (ours + theirs) > 0
    share = (ours + smoothing) / (ours.sum() + smoothing * size)
    other = (theirs + smoothing) / (theirs.sum() + smoothing * size)
    odds = np.where(seen, np.clip(np.log(share / other), -LARGEST, LARGEST), 0.0)
    for piece, index in tokenizer.get_vocab().items():
        foreign = any(letter.isalpha() and not letter.isascii() for letter in piece)
        if piece == "[UNK]" or foreign:
            odds[index] = -LARGEST
    return odds.astype(np.float32)


def _counts(tokenizer: Tokenizer, texts: Sequence[str], size: int) -> npt.NDArray[np.float64]:
    counts = np.zeros(size)
    for encoding in tokenizer.encode_batch(list(texts), add_special_tokens=False):
        np.add.at(counts, np.asarray(encoding.ids, np.int64), 1.0)
    return counts
