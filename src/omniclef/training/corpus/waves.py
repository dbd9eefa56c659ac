"""Parts of which sounds are made: harmonics, coloured noise, envelopes, and placing parts in time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

__all__ = [
    "Array",
    "Rng",
    "band",
    "burst",
    "decay",
    "every",
    "hump",
    "noise",
    "place",
    "rich",
    "times",
    "wave",
]

Array = npt.NDArray[np.float64]
Rng = np.random.Generator

RATE = 16_000


def times(n: int) -> Array:
    return np.arange(n) / RATE


def wave(pitch: Array | float, n: int, partials: tuple[float, ...] = (1.0,)) -> Array:
    """Harmonics of a pitch that may move, in hertz; those above 7.5 kHz are left out."""
    track = np.broadcast_to(np.asarray(pitch, dtype=np.float64), (n,))
    phase = 2 * np.pi * np.cumsum(track) / RATE
    out = np.zeros(n)
    for order, level in enumerate(partials, 1):
        out += level * np.sin(order * phase) * (order * track < 7500)
    return out


def rich(count: int, fall: float) -> tuple[float, ...]:
    return tuple(1 / order**fall for order in range(1, count + 1))


def band(signal: Array, low: float, high: float) -> Array:
    spectrum = np.fft.rfft(signal)
    hertz = np.fft.rfftfreq(len(signal), 1 / RATE)
    edge = 1 / (1 + (low / np.maximum(hertz, 1)) ** 6) / (1 + (hertz / high) ** 6)
    return np.fft.irfft(spectrum * edge, len(signal))


def noise(rng: Rng, n: int, low: float = 20, high: float = 7900) -> Array:
    out = band(rng.standard_normal(n), low, high)
    return out / max(float(np.abs(out).max(initial=0.0)), 1e-9)


def decay(n: int, seconds: float, rise: float = 0.003) -> Array:
    t = times(n)
    return np.exp(-t / seconds) * np.minimum(1, t / rise)


def hump(n: int) -> Array:
    return np.sin(np.pi * (np.arange(n) + 0.5) / max(n, 1)) ** 0.6


def place(n: int, starts: Array | list[float], part: Callable[[int], Array]) -> Array:
    """Sums ``part(index)`` at each start, in seconds; what runs over the end is cut."""
    out = np.zeros(n)
    for index, start in enumerate(starts):
        at = int(start * RATE)
        piece = part(index)[: max(0, n - at)] if at < n else np.zeros(0)
        out[at : at + len(piece)] += piece
    return out


def every(rng: Rng, n: int, gap: float, jitter: float = 0.0) -> Array:
    count = max(1, int(n / RATE / gap))
    starts = rng.uniform(0, min(gap, 0.3)) + gap * (np.arange(count) + rng.normal(0, jitter, count))
    return np.clip(starts, 0, None)


def burst(rng: Rng, seconds: float, low: float, high: float) -> Array:
    length = max(64, int(RATE * seconds * 6))
    return noise(rng, length, low, high) * decay(length, seconds, 0.001)
