"""Training records: a state, questions as on the wire, media, and the right answers.

Knows nothing of models or of where the data came from.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

__all__ = ["LabelledRecord"]


@dataclass(frozen=True)
class LabelledRecord:
    """One example for the joint head.

    family: the data set or the kind of task, for sampling and for reports
    questions: wire shape, by id
    labels: by question id; noul: bool, choice: the right key, score: the index of the right level
    images, audio, videos: files, or arrays as ``Record`` holds them (RGB uint8 [H, W, 3], float32 [T] at 16
    kHz)
    """

    family: str
    state: str | dict[str, Any] | list[Any]
    questions: dict[str, dict[str, Any]]
    labels: dict[str, bool | str | int]
    images: tuple[Path | npt.NDArray[np.uint8], ...] = ()
    audio: tuple[Path | npt.NDArray[np.float32], ...] = ()
    videos: tuple[Any, ...] = field(default=())
    split: Literal["train", "valid"] = "train"
