"""What the benchmark asks: seeded states of a given length, schemas, and media drawn and played on the spot."""

from __future__ import annotations

import io
import tempfile
import wave
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import numpy.typing as npt
from PIL import Image

from omniclef.evaluation.suite import get_suite

__all__ = ["States", "clip", "cold_names", "names", "picture", "questions", "recording"]

# Words that are one token each, so that a state of 60 words has 60 tokens.
_WORDS = (
    "the a customer order payment card late again twice money back please help want need since day week month "
    "account phone email letter shop store box broken lost found wrong right new old price paid sent open closed "
    "never always today monday friday morning night call answer nobody team manager driver house street city "
    "app page screen button error entry bank charge bill number name change cancel return keep wait and but or"
)
WORDS = _WORDS.split()

TEAM = {
    "type": "choice",
    "instructions": "Which team should handle this?",
    "criteria": {"billing": "payments, refunds", "technical": "bugs and outages", "sales": None},
}
REFUND = {"type": "noul", "instructions": "Does the customer ask for money back?"}
URGENCY = {"type": "score", "instructions": "How urgent is it?", "criteria": ["can wait", "this week", "today"]}
SUBJECTS = ("a card", "a delivery", "a refund", "a bill", "a login", "a phone", "a store", "a price", "a driver")
ASPECTS = ("mentioned", "broken", "late", "wrong", "new", "lost", "paid for")


class States:
    """Endless states of so many tokens, no two alike."""

    def __init__(self, seed: int = 0) -> None:
        self._rng = np.random.default_rng(seed)

    def draw(self, tokens: int) -> str:
        return " ".join(self._rng.choice(WORDS, tokens))

    def mixed(self, count: int) -> list[str]:
        """Short messages: 8 to 60 tokens."""
        return [self.draw(int(size)) for size in self._rng.integers(8, 61, count)]


def questions(count: int) -> dict[str, Any]:
    """1: a noul. 3: one of each type. More: nouls about different things beside those three."""
    if count == 1:
        return {"refund": REFUND}
    asked: dict[str, Any] = {"team": TEAM, "refund": REFUND, "urgency": URGENCY}
    for number in range(count - 3):
        subject, aspect = SUBJECTS[number % len(SUBJECTS)], ASPECTS[number // len(SUBJECTS)]
        asked[f"q{number}"] = {"type": "noul", "instructions": f"Is {subject} {aspect}?"}
    return asked


def names() -> dict[str, Any]:
    """The 77 bare names of BANKING77."""
    return {"intent": get_suite("banking77").shared["intent"]}


def cold_names(number: int) -> dict[str, Any]:
    """77 names that no cache has seen: every one differs in its last word."""
    question = names()["intent"]
    return {"intent": {**question, "criteria": {f"{name} {number}": None for name in question["criteria"]}}}


def picture(rng: np.random.Generator) -> bytes:
    """A JPEG of 640 x 480: coarse coloured noise."""
    blocks = rng.integers(0, 256, (12, 16, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(blocks).resize((640, 480)).save(file, "JPEG")
    return file.getvalue()


def recording(seconds: float, rng: np.random.Generator) -> bytes:
    """A WAV at 16 kHz: a wandering tone with noise."""
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(16_000)
        out.writeframes((_sound(seconds, 16_000, rng) * 32767).astype("<i2").tobytes())
    return file.getvalue()


def clip(seconds: float, rng: np.random.Generator) -> bytes:
    """An MP4 of 320 x 240 at 25 frames a second, H.264, with an AAC soundtrack."""
    rate = 48_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "clip.mp4"
        with av.open(str(path), "w") as out:
            shown: Any = out.add_stream("libx264", rate=25, options={"preset": "ultrafast"})
            shown.width, shown.height, shown.pix_fmt = 320, 240, "yuv420p"
            heard: Any = out.add_stream("aac", rate=rate, layout="mono")
            start = rng.integers(0, 256, 3)
            for number in range(round(seconds * 25)):
                colour = (start + number * np.array([1, 2, 3])) % 256
                plane = np.full((240, 320, 3), colour, np.uint8)
                out.mux(shown.encode(av.VideoFrame.from_ndarray(plane, format="rgb24")))
            out.mux(shown.encode(None))
            samples = _sound(seconds, rate, rng)
            for number in range(0, len(samples) - 1023, 1024):
                frame = av.AudioFrame.from_ndarray(samples[None, number : number + 1024], "fltp", "mono")
                frame.sample_rate, frame.pts, frame.time_base = rate, number, Fraction(1, rate)
                out.mux(heard.encode(frame))
            out.mux(heard.encode(None))
        return path.read_bytes()


def _sound(seconds: float, rate: int, rng: np.random.Generator) -> npt.NDArray[np.float32]:
    t = np.arange(round(seconds * rate)) / rate
    tone = np.sin(2 * np.pi * rng.uniform(150, 400) * t * (1 + 0.1 * np.sin(t)))
    return (0.4 * tone + 0.02 * rng.standard_normal(len(t))).astype(np.float32)
