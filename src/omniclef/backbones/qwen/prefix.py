"""What was read of a state, kept so that another schema over it pays only for itself.

Knows the keys and values (or recurrent state) that a network left behind, and the hidden rows. Must not know prompts
beyond their tokens, or how anything is computed.
"""

from __future__ import annotations

import copy
import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor

from omniclef.records import Record

__all__ = ["Prefix", "prefix_key"]


@dataclass(frozen=True, slots=True, eq=False)
class Prefix:
    """A prompt, read up to the end of its state.

    past: transformers' cache object, which a network writes into as it reads on. rows: [L, d] final hidden rows.
    position: of the token that comes next, which is not L where media are counted in three dimensions.
    """

    past: Any
    rows: Tensor
    position: int

    @property
    def nbytes(self) -> int:
        kept = [self.rows, *(tensor for layer in self.past.layers for tensor in _tensors(layer))]
        return sum(int(tensor.nbytes) for tensor in kept)

    def opened(self) -> Any:
        """A copy of ``past`` to read on from."""
        return copy.deepcopy(self.past)


def prefix_key(tokens: tuple[int, ...], record: Record) -> bytes:
    """The same for prompts that begin with ``tokens`` and hold the same media."""
    total = hashlib.sha256(np.array(tokens, np.int32).tobytes())
    frames = [frame for video in record.videos for frame in video.frames]
    tracks = [video.audio for video in record.videos if video.audio is not None]
    arrays: list[npt.NDArray[Any]] = [*record.images, *record.audio, *frames, *tracks]
    for array in arrays:
        total.update(repr(array.shape).encode())
        total.update(np.ascontiguousarray(array).data)
    return total.digest()


def _tensors(layer: Any) -> list[Tensor]:
    """All that a layer keeps, whatever its kind and the version of transformers: tensors, or lists and maps of them."""
    found: list[Tensor] = []
    for value in vars(layer).values():
        parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else [value]
        found += [part for part in parts if isinstance(part, Tensor)]
    return found
