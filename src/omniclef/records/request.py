"""A whole request: `Request` as it was sent, `Record` as a model reads it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from omniclef.errors import InvalidRequest
from omniclef.records.questions import Question, collect_questions, parse_questions
from omniclef.records.values import Check, Loc, TextLike, settle, show

Source: TypeAlias = bytes | str | Path

_DATA_URL = re.compile(r"data:[^,]{0,300},", re.IGNORECASE)
_CONTENT_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+(;[^,]*)?")


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it was sent: media still encoded, as data URLs where it came over the wire."""

    state: TextLike
    questions: dict[str, Question]
    images: tuple[Source, ...] = ()
    audio: tuple[Source, ...] = ()
    videos: tuple[Source, ...] = ()
    model: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Video:
    """A decoded clip.

    frames: uint8 RGB [h, w, 3] each, ``fps`` of them a second.
    audio: float32 [T] at 16 kHz mono, or None if the clip has no sound.
    """

    frames: tuple[npt.NDArray[np.uint8], ...]
    fps: float = 2.0
    audio: npt.NDArray[np.float32] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """What a model reads: state, questions and decoded media.

    images: uint8 RGB [H, W, 3] each; audio: float32 [T] at 16 kHz mono each.

    Raises:
        InvalidRequest: as `parse_state` and `parse_questions`, or a medium that is empty or of another shape.
    """

    state: TextLike
    questions: dict[str, Question]
    images: tuple[npt.NDArray[np.uint8], ...] = ()
    audio: tuple[npt.NDArray[np.float32], ...] = ()
    videos: tuple[Video, ...] = ()

    def __post_init__(self) -> None:
        settle(self, state=parse_state(self.state), questions=parse_questions(self.questions))
        check = Check()
        for index, image in enumerate(self.images):
            _check_pixels(image, ("images", index), check)
        for index, sound in enumerate(self.audio):
            _check_samples(sound, ("audio", index), check)
        for index, video in enumerate(self.videos):
            _check_video(video, ("videos", index), check)
        check.close()


def parse_state(value: object) -> TextLike:
    """The state: a string, an object or an array, copied; lone surrogates become U+FFFD.

    Raises:
        InvalidRequest: missing, a number or a boolean, nested deeper than `MAX_DEPTH`, or not JSON.
    """
    check = Check()
    state: TextLike = _state(value, check)
    check.close()
    return state


def parse_request(obj: object) -> Request:
    """A request from its wire object. Fields that are not ours are ignored, at the top and inside a question.

    ``images``, ``audio`` and ``videos`` are arrays of data URLs or ``{"content_type", "base64"}`` objects.
    They stay encoded. Nothing is opened or fetched: paths and addresses are refused.

    Raises:
        InvalidRequest: every broken rule of the request.
    """
    check = Check()
    if not isinstance(obj, Mapping):
        check.add((), "type", f"must be an object, not {show(obj)}", 'send {"state": …, "questions": {…}}')
        raise InvalidRequest(check.issues)
    model = obj.get("model")
    if model is not None and not isinstance(model, str):
        check.add(("model",), "type", f"must be a string, not {show(model)}", "name a model")
    state = _state(obj.get("state"), check)
    questions = collect_questions(obj.get("questions"), check)
    images, audio, videos = (_sources(obj.get(name), name, check) for name in ("images", "audio", "videos"))
    if obj.get("assets"):
        check.add(("assets",), "unsupported", "placeholders for pictures are not read", "send them as images")
    check.close()
    return Request(state, questions, images, audio, videos, model)


def _state(value: object, check: Check) -> Any:
    if value is None:
        check.add(("state",), "missing", "is missing", "send a string, an object or an array")
        return None
    return check.text(value, ("state",))


def _sources(value: object, name: str, check: Check) -> tuple[Source, ...]:
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        check.add((name,), "type", f"must be an array, not {show(value)}", "send an array of data URLs")
        return ()
    return tuple(_source(item, (name, index), check) for index, item in enumerate(value))


def _source(item: object, loc: Loc, check: Check) -> str:
    if isinstance(item, Mapping):
        kind, data = item.get("content_type"), item.get("base64")
        if isinstance(kind, str) and _CONTENT_TYPE.fullmatch(kind) and isinstance(data, str):
            return f"data:{kind};base64,{data}"
        problem = "must have a content_type such as image/png and base64 text"
        check.add(loc, "value", problem, "send both as strings")
    elif not isinstance(item, str):
        check.add(loc, "type", f"must be a data URL, not {show(item)}", "send data:<type>;base64,<data>")
    elif _DATA_URL.match(item):
        return item
    else:
        remedy = "send data:<type>;base64,<data>; addresses and paths are never opened"
        check.add(loc, "value", f"must be a data URL, not {show(item)}", remedy)
    return ""


def _check_video(value: object, loc: Loc, check: Check) -> None:
    if not isinstance(value, Video):
        check.add(loc, "value", f"must be a Video, not {_describe(value)}", "decode it first")
        return
    if not value.frames:
        check.add((*loc, "frames"), "too_short", "has 0 frames, at least 1 is needed", "send sound as audio")
    if not 0 < value.fps < np.inf:
        check.add((*loc, "fps"), "value", f"is {value.fps}, and must be positive", "give frames per second")
    for index, frame in enumerate(value.frames):
        _check_pixels(frame, (*loc, "frames", index), check)
    if value.audio is not None:
        _check_samples(value.audio, (*loc, "audio"), check)


def _check_pixels(value: object, loc: Loc, check: Check) -> None:
    if isinstance(value, np.ndarray) and value.dtype == np.uint8 and value.ndim == 3 and value.shape[2] == 3:
        if not value.size:
            check.add(loc, "value", f"has no pixels: {_describe(value)}", "leave it out")
        return
    problem = f"must be uint8 [height, width, 3], not {_describe(value)}"
    check.add(loc, "value", problem, "convert it to 8-bit RGB")


def _check_samples(value: object, loc: Loc, check: Check) -> None:
    if not (isinstance(value, np.ndarray) and value.dtype == np.float32 and value.ndim == 1):
        remedy = "resample it to 16 kHz mono float32"
        check.add(loc, "value", f"must be float32 [samples], not {_describe(value)}", remedy)
    elif not value.size:
        check.add(loc, "value", "has 0 samples, at least 1 is needed", "leave it out")
    elif not np.isfinite(value).all():
        check.add(loc, "value", "has samples that are not finite", "replace NaN and infinity")


def _describe(value: object) -> str:
    return f"{value.dtype} {list(value.shape)}" if isinstance(value, np.ndarray) else show(value)
