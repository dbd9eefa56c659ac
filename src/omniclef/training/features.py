"""What the towers made of the training data, kept on disk: towers are frozen, so nothing is encoded twice.

Knows the towers' outputs; knows nothing of questions, labels or losses.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from rich.progress import track

from omniclef.backbones.base import Array
from omniclef.backbones.nano.image import ImageReading, ImageTower
from omniclef.backbones.nano.sound import Sound, SoundTower
from omniclef.backbones.nano.text import TextRows, TextTower

__all__ = ["KeptPictures", "KeptSounds", "warm_texts"]

SHARD = 2048


def warm_texts(tower: TextTower, texts: Sequence[str], folder: Path) -> None:
    """Puts the rows of every text into the tower's cache, from ``folder`` where they are there already.

    Rows are kept as float16 on disk. An interrupted run goes on at the shard it was in.
    """
    folder.mkdir(parents=True, exist_ok=True)
    known: set[str] = set()
    for path in sorted(folder.glob("*.npz")):
        shard = _load(path)
        tower.remember(shard)
        known.update(shard)
    missing = sorted(set(texts) - known, key=len)
    chunks = [missing[start : start + SHARD] for start in range(0, len(missing), SHARD)]
    for chunk in track(chunks, description="encoding texts", disable=not chunks):
        read = tower.encode(chunk)
        name = hashlib.sha256(json.dumps(chunk).encode()).hexdigest()[:16]
        _save(folder / f"{name}.npz", read)


def _save(path: Path, read: dict[str, TextRows]) -> None:
    values = list(read.values())
    partial = path.with_suffix(".partial.npz")
    np.savez(
        partial,
        texts=np.frombuffer(json.dumps(list(read)).encode(), np.uint8),
        lengths=np.array([len(value.ids) for value in values]),
        rows=np.concatenate([value.rows for value in values]).astype(np.float16),
        vectors=np.stack([value.vector for value in values]),
        ids=np.concatenate([value.ids for value in values]),
        spans=np.concatenate([value.spans for value in values]),
    )
    partial.rename(path)  # whole or not there at all


def _load(path: Path) -> dict[str, TextRows]:
    with np.load(path) as shard:
        texts = json.loads(shard["texts"].tobytes())
        cuts = np.cumsum(shard["lengths"])[:-1]
        rows, ids, spans = (np.split(shard[name], cuts) for name in ("rows", "ids", "spans"))
        vectors = shard["vectors"]
    return {text: TextRows(rows[i].astype(np.float32), vectors[i], ids[i], spans[i]) for i, text in enumerate(texts)}


class KeptPictures(ImageTower):
    """An image tower with a memory on disk, by what a picture holds."""

    def __init__(self, tower: ImageTower, folder: Path) -> None:
        self._tower = tower
        self._kept = _Kept(folder)

    def encode(self, pictures: Sequence[npt.NDArray[np.uint8]]) -> list[ImageReading]:
        names = [_name(picture) for picture in pictures]
        missing = self._kept.missing(names, pictures)
        for name, found in zip(missing, self._tower.encode(list(missing.values())), strict=True):
            self._kept.put(name, found.rows, found.aligned, found.key)
        return [ImageReading(*self._kept.get(name)) for name in names]


class KeptSounds(SoundTower):
    """A sound tower with a memory on disk, by what a clip holds."""

    def __init__(self, tower: SoundTower, folder: Path) -> None:
        self._tower = tower
        self._kept = _Kept(folder)

    def encode(self, clips: Sequence[npt.NDArray[np.float32]]) -> list[Sound]:
        names = [_name(clip) for clip in clips]
        missing = self._kept.missing(names, clips)
        for name, found in zip(missing, self._tower.encode(list(missing.values())), strict=True):
            self._kept.put(name, found.rows, found.aligned, found.key, np.array([found.seconds], np.float32))
        parts = [self._kept.get(name) for name in names]
        return [Sound(rows, aligned, key, float(seconds[0])) for rows, aligned, key, seconds in parts]


M = TypeVar("M", npt.NDArray[np.uint8], npt.NDArray[np.float32])


class _Kept:
    """Arrays by name: in memory, and in one file a name. Rows are float16 on disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen: dict[str, list[Array]] = {}
        folder.mkdir(parents=True, exist_ok=True)

    def missing(self, names: Sequence[str], media: Sequence[M]) -> dict[str, M]:
        return {name: medium for name, medium in zip(names, media, strict=True) if not self._find(name)}

    def get(self, name: str) -> list[Array]:
        return self._seen[name]

    def put(self, name: str, rows: Array, *others: Array) -> None:
        self._seen[name] = [rows, *others]
        np.savez(self._folder / f"{name}.npz", rows.astype(np.float16), *others)

    def _find(self, name: str) -> bool:
        path = self._folder / f"{name}.npz"
        if name not in self._seen and path.is_file():
            with np.load(path) as kept:
                self._seen[name] = [kept[part].astype(np.float32) for part in kept.files]
        return name in self._seen


def _name(medium: npt.NDArray[np.generic]) -> str:
    shape = f"{medium.dtype}{medium.shape}".encode()
    return hashlib.sha256(shape + np.ascontiguousarray(medium).tobytes()).hexdigest()[:24]
