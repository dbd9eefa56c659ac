"""What was read of a state, kept so that another schema over it pays only for itself.

Knows the keys and values (or recurrent state) that a network left behind, and the rows of the head. Must not know
prompts beyond their tokens, or how anything is computed.
"""

from __future__ import annotations

import copy
import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor

from omniclef.backbones.qwen.attention import Room
from omniclef.records import Record

__all__ = ["Prefix", "prefix_key"]


@dataclass(frozen=True, slots=True, eq=False)
class Prefix:
    """A prompt, read up to the end of its state.

    past: transformers' cache object, which a network writes into as it reads on. memory: [L, W] memory rows of the
    head. position: of the token that comes next, which is not L where media are counted in three dimensions.
    """

    past: Any
    memory: Tensor
    position: int

    @property
    def nbytes(self) -> int:
        kept = [self.memory, *(tensor for layer in self.past.layers for tensor in _tensors(layer))]
        return sum({part.data_ptr(): part.nbytes() for part in (tensor.untyped_storage() for tensor in kept)}.values())

    def opened(self, room: int) -> Any:
        """A copy of ``past`` to read on from, up to ``room`` tokens in all."""
        past = copy.copy(self.past)
        past.layers = [
            layer.copied(room) if isinstance(layer, Room) else copy.deepcopy(layer) for layer in self.past.layers
        ]
        return past


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
