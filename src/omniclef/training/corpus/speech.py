"""Speech made by espeak-ng for training: any text in many voices, speeds, pitches and rooms, seeded and
cached.

Knows espeak-ng's command line and nothing of questions or models. The same text, seed and manner give the
same samples.
"""

from __future__ import annotations

import hashlib
import io
import shutil
import subprocess
import wave
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from omniclef.errors import OmniclefError

__all__ = ["Manner", "Speaker", "manner", "resample", "soften"]

Array = npt.NDArray[np.float32]

RATE = 16_000
ACCENTS = (
    "en-us", "en-us", "en-us", "en-gb", "en-gb", "en-gb-scotland", "en-gb-x-rp", "en-gb-x-gbclan",
    "en-gb-x-gbcwmd", "en-029", "en-us-nyc",
)  # fmt: skip
VARIANTS = (
    "", "f1", "f2", "f3", "f4", "f5", "m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8", "klatt", "klatt2",
    "klatt4",
    "Alicia", "Andrea", "Annie", "adam", "Alex", "belinda", "benjamin", "caleb", "david", "edward", "Gene",
    "iven",
    "Jacky", "John", "Lee", "linda", "max", "Michael", "Nguyen", "paul", "pedro", "quincy", "rob", "steph",
    "Storm",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Manner:
    """How a text is spoken and recorded. speed: words a minute; pitch: 0 to 99; snr: decibels, None for no
    noise.
    """

    voice: str = "en-us"
    speed: int = 160
    pitch: int = 50
    snr: float | None = None
    hiss: float = 0.0
    narrow: bool = False
    echo: float = 0.0
    gain: float = 0.5
    before: float = 0.1
    after: float = 0.1


def manner(rng: np.random.Generator) -> Manner:
    """One manner out of the wide range that training wants: four in ten are noisy, some narrow-band or in a
    room.
    """
    variant = VARIANTS[rng.integers(len(VARIANTS))]
    accent = ACCENTS[rng.integers(len(ACCENTS))]
    return Manner(
        voice=f"{accent}+{variant}" if variant else accent,
        speed=int(rng.integers(115, 215)),
        pitch=int(rng.integers(20, 85)),
        snr=float(rng.uniform(3, 30)) if rng.random() < 0.4 else None,
        hiss=float(rng.uniform(0, 1)),
        narrow=bool(rng.random() < 0.2),
        echo=float(rng.uniform(0.05, 0.35)) if rng.random() < 0.3 else 0.0,
        gain=float(10 ** rng.uniform(-1.3, -0.1)),
        before=float(rng.uniform(0, 0.4)),
        after=float(rng.uniform(0, 0.5)),
    )


class Speaker:
    """Speaks texts. ``folder`` keeps what was spoken, so that a second run only reads.

    Raises OmniclefError at once when espeak-ng is not installed.
    """

    def __init__(self, folder: Path | None = None) -> None:
        program = shutil.which("espeak-ng")
        if program is None:
            raise OmniclefError(
                "speech for training needs the program espeak-ng; install it with: apt install espeak-ng"
            )
        self._program = program
        self._folder = folder
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)

    def say(self, text: str, how: Manner | None = None, *, seed: int = 0) -> Array:
        """float32 [T] at 16 kHz, within -1..1. ``seed`` draws the noise and the room of ``how``."""
        how = how or Manner()
        if self._folder is None:
            return soften(self._speak(text, how), how, np.random.default_rng(seed))
        name = hashlib.sha256(f"{text}\0{how}\0{seed}".encode()).hexdigest()[:24]
        path = self._folder / name[:2] / f"{name}.npy"
        if path.exists():
            return _kept(path)
        samples = soften(self._speak(text, how), how, np.random.default_rng(seed))
        path.parent.mkdir(exist_ok=True)
        np.save(path, np.round(samples * 32767).astype(np.int16))
        return _kept(path)

    def say_all(self, texts: Iterable[str], seed: int) -> Iterable[tuple[str, Array]]:
        """Each text in a manner of its own, drawn from the text and ``seed``, not from its place in the
        list.
        """
        for text in texts:
            own = int.from_bytes(hashlib.sha256(f"{seed}\0{text}".encode()).digest()[:8], "big")
            yield text, self.say(text, manner(np.random.default_rng(own)), seed=own & 0xFFFF)

    def _speak(self, text: str, how: Manner) -> Array:
        command = [self._program, "-v", how.voice, "-s", str(how.speed), "-p", str(how.pitch)]
        done = subprocess.run([*command, "--stdin", "--stdout"], input=text.encode(), capture_output=True, check=False)
        if done.returncode or len(done.stdout) < 44:
            reason = done.stderr.decode(errors="replace").strip().splitlines()
            raise OmniclefError(f"espeak-ng could not speak {text[:40]!r}: {reason[-1] if reason else 'no sound'}")
        return _samples(done.stdout)


def _kept(path: Path) -> Array:
    samples: Array = np.load(path).astype(np.float32) / 32767
    return samples


def _samples(raw: bytes) -> Array:
    with wave.open(io.BytesIO(raw)) as file:
        rate = file.getframerate()
    # The header of a stream overstates its length, so the samples are taken by what is there.
    data = np.frombuffer(raw[44:][: (len(raw) - 44) // 2 * 2], dtype="<i2")
    return resample(data.astype(np.float32) / 32768, rate)


def resample(samples: npt.NDArray[np.floating], rate: int, to: int = RATE) -> Array:
    """Band-limited resampling of a whole clip by its spectrum; the clip's ends are padded against ringing."""
    if rate == to or len(samples) == 0:
        return samples.astype(np.float32)
    unit = rate // np.gcd(rate, to)
    pad = int(-(-rate // 20 // unit) * unit)
    fill = int(-(len(samples) + 2 * pad) % unit)
    padded = np.concatenate([np.zeros(pad), samples, np.zeros(pad + fill)])
    length = len(padded) * to // rate
    spectrum = np.fft.rfft(padded)
    kept = np.zeros(length // 2 + 1, dtype=spectrum.dtype)
    width = min(len(spectrum), len(kept))
    kept[:width] = spectrum[:width]
    out = np.fft.irfft(kept, length) * (length / len(padded))
    start = pad * to // rate
    return out[start : start + round(len(samples) * to / rate)].astype(np.float32)


def soften(samples: Array, how: Manner, rng: np.random.Generator) -> Array:
    """Adds the silence around, the room, the narrow band, the noise and the level of ``how``; peaks stay
    below 1.
    """
    quiet = [np.zeros(round(seconds * RATE), np.float32) for seconds in (how.before, how.after)]
    out = np.concatenate([quiet[0], samples, quiet[1]]).astype(np.float64)
    if how.echo:
        length = round(how.echo * RATE)
        tail = rng.standard_normal(length) * np.exp(-6 * np.arange(length) / length) * 0.12
        tail[0] = 1.0
        out = np.fft.irfft(np.fft.rfft(out, 2 * len(out) + length) * np.fft.rfft(tail, 2 * len(out) + length))[
            : len(out)
        ]
    if how.narrow:
        out = resample(resample(out, RATE, 8000), 8000).astype(np.float64)
    if how.snr is not None:
        power = float(np.mean(samples.astype(np.float64) ** 2))
        out = out + _noise(len(out), how.hiss, rng) * np.sqrt(power) * 10 ** (-how.snr / 20)
    peak = float(np.abs(out).max(initial=1e-9))
    return (out / peak * min(how.gain, 0.99)).astype(np.float32)


def _noise(length: int, hiss: float, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """Unit-power noise between a rumble (``hiss`` 0: power falls with frequency squared) and white noise
    (1).
    """
    spectrum = np.fft.rfft(rng.standard_normal(length))
    frequency = np.maximum(np.arange(len(spectrum)), 1 + length // 200)
    shaped = np.fft.irfft(spectrum * frequency ** (hiss - 1.0), length)
    unit: npt.NDArray[np.float64] = shaped / max(float(np.sqrt(np.mean(shaped**2))), 1e-9)
    return unit
