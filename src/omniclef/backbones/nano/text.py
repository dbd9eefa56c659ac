"""The text tower of nano: any text to token rows and one sentence vector, cached by text.

Knows the tokenizer and the encoder's graph. Must not know states, questions or options: a piece is a string here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import onnxruntime as ort
from tokenizers import Tokenizer

from omniclef.backbones.base import Array
from omniclef.backbones.nano.cache import Cache
from omniclef.errors import ModelNotFound

__all__ = ["TextRows", "TextTower"]

WINDOW = 254
"""Tokens the encoder sees at once, without its two marks. It was trained on texts of up to 256."""

OVERLAP = 32
"""Tokens that neighbouring windows share, so that no word is read at an edge only."""

BATCH_TOKENS = 4096
"""Most tokens, padding included, in one call of the encoder."""


@dataclass(frozen=True, slots=True, eq=False)
class TextRows:
    """One piece of text, read.

    rows:   [T, d] one row a token, marks left out
    vector: [d] sentence vector, unit norm
    ids:    [T] token ids
    spans:  [T, 2] first character and the one after the last, of each token
    """

    rows: Array
    vector: Array
    ids: npt.NDArray[np.int32]
    spans: npt.NDArray[np.int32]

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes + self.vector.nbytes + self.ids.nbytes + self.spans.nbytes


class TextTower:
    """Encodes pieces; a piece that was read before costs a look-up.

    Args:
        session: graph with inputs ``ids`` and ``mask`` [N, T] int64 and the output ``rows`` [N, T, d].
        tokenizer: of the encoder; truncation and padding are switched off.
        cache_bytes: how much to remember.
    """

    def __init__(self, session: ort.InferenceSession, tokenizer: Tokenizer, cache_bytes: int = 256 << 20) -> None:
        self.session = session
        self.tokenizer = tokenizer
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        self._marks = (_known(tokenizer, "[CLS]"), _known(tokenizer, "[SEP]"))
        self._cache: Cache[str, TextRows] = Cache(cache_bytes)

    def encode(self, texts: Iterable[str]) -> dict[str, TextRows]:
        """Rows of every different text. The same text has the same rows in any company, up to float rounding."""
        found, missing = self._cache.get_many(dict.fromkeys(texts))
        if missing:
            fresh = self._read(missing)
            self._cache.put_many(fresh)
            found.update(fresh)
        return found

    def remember(self, read: Mapping[str, TextRows]) -> None:
        """Puts texts that were read elsewhere into the cache."""
        self._cache.put_many(read)

    def count(self, text: str) -> int:
        """Tokens of ``text``, without marks."""
        return len(self.tokenizer.encode(text, add_special_tokens=False).ids)

    def _read(self, texts: Sequence[str]) -> dict[str, TextRows]:
        encodings = self.tokenizer.encode_batch(list(texts), add_special_tokens=False)
        ids = [np.asarray(e.ids, np.int32) for e in encodings]
        windows = [(index, start, stop) for index, row in enumerate(ids) for start, stop in spans(len(row))]
        pieces = self._run([ids[index][start:stop] for index, start, stop in windows])
        gathered: list[list[tuple[int, Array]]] = [[] for _ in texts]
        for (index, start, _), piece in zip(windows, pieces, strict=True):
            gathered[index].append((start, piece))
        read = {}
        for text, row, encoding, parts in zip(texts, ids, encodings, gathered, strict=True):
            offsets = np.asarray(encoding.offsets, np.int32).reshape(-1, 2)
            read[text] = TextRows(_stitch(parts, len(row)), _sentence(parts), row, offsets)
        return read

    def _run(self, windows: Sequence[npt.NDArray[np.int32]]) -> list[Array]:
        """Encoder rows of each window, marks included, in groups of similar length."""
        rows: dict[int, Array] = {}
        order = sorted(range(len(windows)), key=lambda i: len(windows[i]))
        while order:
            width = len(windows[order[-1]]) + 2
            # Longest first: a group shares the width of its longest window, and none may waste a third of it.
            group = [i for i in order[-max(1, BATCH_TOKENS // width) :] if 3 * (len(windows[i]) + 2) >= 2 * width]
            order = order[: -len(group)]
            ids = np.zeros((len(group), width), np.int64)
            mask = np.zeros_like(ids)
            for line, index in enumerate(group):
                size = len(windows[index])
                ids[line, 0], ids[line, size + 1] = self._marks
                ids[line, 1 : size + 1] = windows[index]
                mask[line, : size + 2] = 1
            (out,) = self.session.run(["rows"], {"ids": ids, "mask": mask})
            for line, index in enumerate(group):
                rows[index] = out[line, : len(windows[index]) + 2]
        return [rows[index] for index in range(len(windows))]


def _known(tokenizer: Tokenizer, mark: str) -> int:
    number: int | None = tokenizer.token_to_id(mark)
    if number is None:
        raise ModelNotFound(f"tokenizer.json has no {mark}; name the folder of a nano model")
    return number


def spans(length: int) -> list[tuple[int, int]]:
    """Overlapping windows over ``length`` tokens; an empty text has one empty window."""
    if length <= WINDOW:
        return [(0, length)]
    step = WINDOW - OVERLAP
    count = -(-(length - OVERLAP) // step)
    return [(i * step, min(i * step + WINDOW, length)) for i in range(count)]


def _stitch(parts: Sequence[tuple[int, Array]], length: int) -> Array:
    """One row a token [length, d]; where windows overlap, each half comes from the window it lies deeper in."""
    if len(parts) == 1:
        return np.ascontiguousarray(parts[0][1][1:-1])
    rows = np.empty((length, parts[0][1].shape[1]), np.float32)
    for start, piece in parts:
        skip = OVERLAP // 2 if start else 0
        rows[start + skip : start + len(piece) - 2] = piece[1 + skip : -1]
    return rows


def _sentence(parts: Sequence[tuple[int, Array]]) -> Array:
    """Mean row of each window, unit norm, averaged by the windows' lengths, unit norm [d]."""
    total = np.zeros(parts[0][1].shape[1], np.float32)
    for _, piece in parts:
        mean = piece.mean(axis=0)
        total += len(piece) * mean / np.linalg.norm(mean)
    vector: Array = total / np.linalg.norm(total)
    return vector
