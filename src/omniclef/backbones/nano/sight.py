"""What nano sees and hears: pictures, sounds and clips as evidence rows, a vector among words, and a key.

Knows the two media towers; knows nothing of files, budgets or questions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from omniclef.backbones.base import Array, Modality
from omniclef.backbones.nano.image import ImageTower
from omniclef.backbones.nano.sound import Sound, SoundTower
from omniclef.records import Video

__all__ = ["Sight", "read_clips", "read_pictures", "read_sounds"]

GRID = 7
CLIP_GRID = 3
"""A frame of a clip keeps this many cells a side: half a second looks much like the next."""


@dataclass(frozen=True, slots=True, eq=False)
class Sight:
    """One medium, read.

    rows: [T, d] evidence. vector: [d] unit, where its caption would be. key: [k] unit, or None if it has none.
    spans: one (left, top, right, bottom) in fractions, or (from, to) in seconds, for each row.
    """

    modality: Modality
    index: int
    rows: Array
    vector: Array
    key: Array | None
    spans: tuple[tuple[float, ...], ...]


def read_pictures(tower: ImageTower, images: Sequence[npt.NDArray[np.uint8]]) -> list[Sight]:
    """One sight a picture, 49 rows each, from left to right and top to bottom."""
    return [
        Sight("image", index, picture.rows, picture.aligned, picture.key, _boxes(GRID))
        for index, picture in enumerate(tower.encode(images))
    ]


def read_sounds(tower: SoundTower, sounds: Sequence[Array]) -> list[Sight]:
    """One sight a clip, with a row for every stretch of time."""
    return [
        Sight("audio", index, sound.rows, sound.aligned, sound.key, _moments(sound))
        for index, sound in enumerate(tower.encode(sounds))
    ]


def read_clips(images: ImageTower, sounds: SoundTower, videos: Sequence[Video]) -> list[Sight]:
    """One sight a clip: its frames and its soundtrack as rows on one time line, in order of time."""
    heard = [video.audio for video in videos if video.audio is not None]
    tracks = iter(sounds.encode(heard) if heard else [])
    return [
        _clip(images, index, video, next(tracks) if video.audio is not None else None)
        for index, video in enumerate(videos)
    ]


def _clip(images: ImageTower, index: int, video: Video, track: Sound | None) -> Sight:
    frames = images.encode(video.frames)
    rows = [_coarse(frame.rows) for frame in frames]
    length = 1 / video.fps
    times: list[tuple[float, ...]] = [
        (n * length, (n + 1) * length) for n in range(len(frames)) for _ in range(CLIP_GRID**2)
    ]
    seen = _unit(np.sum([frame.aligned for frame in frames], axis=0))
    if track is None:
        return Sight("video", index, np.concatenate(rows), seen, None, tuple(times))
    times += _moments(track)
    together = np.concatenate([*rows, track.rows])
    order = sorted(range(len(times)), key=lambda i: times[i][0])
    vector = _unit(seen + track.aligned)
    return Sight("video", index, together[order], vector, None, tuple(times[i] for i in order))


def _coarse(rows: Array) -> Array:
    """[49, d] cells averaged to [9, d]; neighbouring blocks share a line of cells."""
    cells = rows.reshape(GRID, GRID, -1)
    cuts = [slice(0, 3), slice(2, 5), slice(4, 7)]
    return np.stack([cells[down, across].mean(axis=(0, 1)) for down in cuts for across in cuts])


def _boxes(side: int) -> tuple[tuple[float, ...], ...]:
    step = 1 / side
    return tuple(
        (column * step, line * step, (column + 1) * step, (line + 1) * step)
        for line in range(side)
        for column in range(side)
    )


def _moments(sound: Sound) -> tuple[tuple[float, ...], ...]:
    return tuple((n * sound.seconds, (n + 1) * sound.seconds) for n in range(len(sound.rows)))


def _unit(vector: Array) -> Array:
    found: Array = vector / max(float(np.linalg.norm(vector)), 1e-9)
    return found
