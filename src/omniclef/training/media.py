"""Media of training records: files or arrays, to what a ``Record`` holds. Each file is decoded once."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from omniclef.media import load_audio, load_image, load_video
from omniclef.records import Question, Record, Video
from omniclef.training.records import LabelledRecord

__all__ = ["decode"]


def decode(record: LabelledRecord, questions: dict[str, Question]) -> Record:
    """The record as a backbone reads it."""
    return Record(
        state=record.state,
        questions=questions,
        images=tuple(_image(item) if isinstance(item, Path) else item for item in record.images),
        audio=tuple(_sound(item) if isinstance(item, Path) else item for item in record.audio),
        videos=tuple(_clip(item) if isinstance(item, Path) else item for item in record.videos),
    )


@lru_cache(maxsize=20_000)
def _image(path: Path) -> npt.NDArray[np.uint8]:
    return load_image(path, field=str(path))


@lru_cache(maxsize=5_000)
def _sound(path: Path) -> npt.NDArray[np.float32]:
    return load_audio(path, field=str(path))


@lru_cache(maxsize=500)
def _clip(path: Path) -> Video:
    return load_video(path, field=str(path))
