"""Clips made here: a picture in motion with a sound, with speech, or silent, and questions about both.

Pictures are openclipart's (public domain) and drawn scenes; sounds are generated or spoken by espeak-ng. Knows nothing
of towers or losses.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from omniclef.media import load_image
from omniclef.records import Video
from omniclef.training.corpus import phrases, scenes, synth
from omniclef.training.corpus.reading import rows
from omniclef.training.corpus.speech import Speaker
from omniclef.training.records import LabelledRecord

__all__ = ["build"]

SIDE = 160
MOTIONS = {
    "left": (-1.0, 0.0, 0.0),
    "right": (1.0, 0.0, 0.0),
    "up": (0.0, -1.0, 0.0),
    "down": (0.0, 1.0, 0.0),
    "closer": (0.0, 0.0, 1.0),
    "away": (0.0, 0.0, -1.0),
    "still": (0.0, 0.0, 0.0),
}
_MOVES = {
    "left": "it moves to the left",
    "right": "it moves to the right",
    "up": "it rises",
    "down": "it sinks",
    "closer": "it comes closer",
    "away": "it goes away",
    "still": "it does not move",
}
_HAPPENS = ("What happens in the clip?", "What is going on in this video?", "Which of these fits the clip?")
_HEARD = ("What can be heard?", "Which sound is in the clip?", "What makes the sound?")
_SEEN = ("What is shown?", "What does the clip show?", "What can be seen?")
_SAID = ("What is said?", "Which words are spoken in the clip?")


def build(data: Path, seed: int, *, count: int = 600, cache: Path | None = None) -> Iterator[LabelledRecord]:
    """``count`` clips of 2 to 3 seconds. One in ten, chosen by its picture, is for validation."""
    rng = np.random.default_rng(seed)
    speaker = Speaker(cache)
    art = [row for row in rows(data / "image" / "openclipart.train.jsonl")]
    names = sorted({_name(row) for row in art})
    for _ in range(count):
        if rng.random() < 0.7:
            row = art[int(rng.integers(len(art)))]
            key, picture = str(row["file"]), load_image(data / row["file"], field="image")
            seen, others = _name(row), names
        else:
            scene = scenes.draw(rng, "single")
            key, picture = str(rng.integers(1 << 30)), scene.pixels
            seen = f"{scene.items[0].colour} {scene.items[0].shape}"
            others = [f"{colour} {shape}" for colour in scenes.COLOURS for shape in scenes.SHAPES]
        motion = _one(rng, list(MOTIONS))
        frames = _moving(picture, MOTIONS[motion], int(rng.integers(2, 4)) * 2, rng)
        seconds = len(frames) / 2
        asked: dict[str, tuple[dict[str, Any], Any]] = {
            "seen": _choice(rng, _SEEN, seen, others),
            "motion": _choice(rng, ("How does it move?",), motion, list(MOTIONS), _MOVES),
        }
        kind = rng.random()
        sound: npt.NDArray[np.float32] | None = None
        noises = list(synth.KINDS)
        if kind < 0.5:
            heard = _one(rng, noises)
            sound = synth.make(heard, rng, seconds)
            asked["heard"] = _choice(rng, _HEARD, heard, noises)
            # As in life, the sound alone may tell what happens.
            asked["happens"] = _choice(rng, _HAPPENS, heard, noises, most=3)
        elif kind < 0.75:
            said = phrases.command(rng)
            ((_, sound),) = speaker.say_all([said], seed)
            asked["said"] = _choice(rng, _SAID, said, [phrases.command(rng) for _ in range(8)])
        else:
            asked["happens"] = _choice(rng, _HAPPENS, seen, others, most=3)
        asked["sound"] = (
            {"type": "noul", "instructions": "Can anything be heard in the clip?"},
            sound is not None,
        )
        chosen = rng.permutation(list(asked))[: int(rng.integers(1, len(asked) + 1))].tolist()
        yield LabelledRecord(
            family="clips_made",
            state="",
            questions={name: asked[name][0] for name in chosen},
            labels={name: asked[name][1] for name in chosen},
            videos=(Video(frames, 2.0, sound),),
            split="valid" if hashlib.sha256(key.encode()).digest()[0] < 26 else "train",
        )


def _choice(
    rng: np.random.Generator,
    asks: Sequence[str],
    right: str,
    others: Sequence[str],
    words: dict[str, str] | None = None,
    most: int = 12,
) -> tuple[dict[str, Any], str]:
    wrong = [value for value in dict.fromkeys(others) if value != right]
    wrong = [wrong[i] for i in rng.permutation(len(wrong))[: int(rng.integers(1, most))]]
    keys = [right, *wrong]
    criteria = {keys[i]: (words or {}).get(keys[i]) for i in rng.permutation(len(keys))}
    return {"type": "choice", "instructions": _one(rng, asks), "criteria": criteria}, right


def _one(rng: np.random.Generator, values: Sequence[str]) -> str:
    return values[int(rng.integers(len(values)))]


def _name(row: dict[str, Any]) -> str:
    return str(row["category"]).split("/")[-1].replace("_", " ")


def _moving(
    picture: npt.NDArray[np.uint8], step: tuple[float, float, float], count: int, rng: np.random.Generator
) -> tuple[npt.NDArray[np.uint8], ...]:
    """The picture on a plain ground, moved by ``step`` (right, down, growth) a frame, with a start of its own."""
    ground = tuple(int(v) for v in rng.integers(150, 256, 3))
    across, down, growth = step
    frames = []
    for frame in range(count):
        part = frame / max(count - 1, 1) - 0.5
        side = max(8, round(SIDE * 0.5 * (1 + 0.7 * growth * part)))
        small = Image.fromarray(picture).resize((side, side), Image.Resampling.BILINEAR)
        canvas = Image.new("RGB", (SIDE, SIDE), ground)
        left = round((SIDE - side) / 2 + across * part * SIDE * 0.6)
        top = round((SIDE - side) / 2 + down * part * SIDE * 0.6)
        canvas.paste(small, (left, top))
        frames.append(np.asarray(canvas))
    return tuple(frames)
