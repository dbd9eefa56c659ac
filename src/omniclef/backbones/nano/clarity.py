"""How much of a text the encoder can read: near 1 for English, near 0 for scripts and languages it never learnt.

A naive Bayes over word pieces: each piece carries the log-odds of English text against text in other languages, and
the mean over a piece of text decides. Numbers, names and code carry little either way, so they stay readable. Scripts
without spaces come as one unknown piece a sentence, so such a piece counts by its length.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from omniclef.backbones.base import Array

__all__ = ["UNKNOWN", "Clarity"]

UNKNOWN = 100
"""Id of the piece that stands for any word the tokenizer has no pieces for."""

LETTERS = 3
"""Characters of such a word that weigh as much as one piece."""

Ids = npt.NDArray[np.int32]


class Clarity:
    """How much of a text can be read.

    Args:
        odds: [V] log-odds of English for each word piece.
        slope: how fast the mean log-odds decide.
        pull: how many English pieces to assume before looking, so that a short text is trusted more.
        bias: added to the mean, so that what is neither (numbers, code) counts as readable.
    """

    def __init__(self, odds: Array, slope: float, pull: float, bias: float) -> None:
        self._odds = odds
        self._slope = slope
        self._pull = pull
        self._bias = bias

    def __call__(self, texts: Iterable[tuple[str, Ids, Ids]]) -> float:
        """Share of texts that can be read, 0 to 1; nothing at all is 1.

        Each text comes with the ids [T] of its pieces and their spans [T, 2] of characters.
        """
        odds, count = self._pull, self._pull
        for text, ids, spans in texts:
            weights = _weights(text, ids, spans)
            odds += float(self._odds[ids] @ weights)
            count += float(weights.sum())
        if count == self._pull:
            return 1.0
        return 1 / (1 + math.exp(-self._slope * (odds / count + self._bias)))


def _weights(text: str, ids: Ids, spans: Ids) -> npt.NDArray[np.float32]:
    """[T] how many pieces each piece counts for."""
    weights = np.ones(len(ids), np.float32)
    for index in np.flatnonzero(ids == UNKNOWN):
        word = text[slice(*spans[index])]
        # A very long ASCII word is a key or a hash, which says nothing of the language around it.
        weights[index] = 0.0 if word.isascii() else max(1.0, len(word) / LETTERS)
    return weights
