"""Sketches of animals and people: a buzzing source through the resonances of a throat, in a rhythm."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from omniclef.training.corpus.waves import Array, Rng, burst, every, hump, noise, place, rich, times, wave

__all__ = [
    "baby",
    "bee",
    "bird",
    "breath",
    "cat",
    "chicken",
    "cough",
    "cow",
    "dog",
    "donkey",
    "frog",
    "insect",
    "laugh",
    "lion",
    "monkey",
    "quiet",
    "sheep",
]

RATE = 16_000


def _voiced(rng: Rng, pitch: Array, formants: tuple[float, ...], rough: float = 0.0) -> Array:
    """A buzzing source through fixed resonances: a throat."""
    n = len(pitch)
    source = wave(pitch, n, rich(40, 0.6)) * (1 + rough * rng.standard_normal(n)) + rough * noise(rng, n)
    spectrum, hertz = np.fft.rfft(source), np.fft.rfftfreq(n, 1 / RATE)
    gain = sum((1 / (1 + ((hertz - f) / (60 + 0.12 * f)) ** 2) for f in formants), 0.03 * np.ones(len(hertz)))
    return np.fft.irfft(spectrum * gain, n) * hump(n)


def _calls(rng: Rng, n: int, gap: float, call: Callable[[int], Array]) -> Array:
    return place(n, every(rng, n, gap, 0.08), call)


def bird(rng: Rng, n: int) -> Array:
    base, sweep, speed = rng.uniform(2200, 4500), rng.uniform(-900, 900), rng.uniform(8, 30)

    def chirp(_: int) -> Array:
        length = int(RATE * rng.uniform(0.05, 0.18))
        t = times(length)
        pitch = base * rng.uniform(0.85, 1.15) + sweep * t / t[-1] + 250 * np.sin(2 * np.pi * speed * t)
        return wave(pitch, length) * hump(length)

    return _calls(rng, n, rng.uniform(0.12, 0.4), chirp)


def dog(rng: Rng, n: int) -> Array:
    base = rng.uniform(250, 700)

    def bark(_: int) -> Array:
        length = int(RATE * rng.uniform(0.1, 0.22))
        return _voiced(rng, base * (1 + 0.6 * np.sin(np.pi * np.linspace(0, 1, length))), (600, 1200, 2300), 0.5)

    return _calls(rng, n, rng.uniform(0.3, 0.7), bark)


def cat(rng: Rng, n: int) -> Array:
    base = rng.uniform(450, 800)

    def meow(_: int) -> Array:
        length = int(RATE * rng.uniform(0.5, 1.0))
        x = np.linspace(0, 1, length)
        return _voiced(rng, base * (1 + 0.4 * np.sin(np.pi * x) - 0.2 * x), (900, 1700, 3000), 0.05)

    return _calls(rng, n, rng.uniform(0.9, 1.4), meow)


def cow(rng: Rng, n: int) -> Array:
    x = np.linspace(0, 1, n)
    return _voiced(rng, rng.uniform(90, 180) * (1 + 0.25 * np.sin(np.pi * x)), (300, 650, 1100), 0.15)


def sheep(rng: Rng, n: int) -> Array:
    base, rate = rng.uniform(220, 400), rng.uniform(6, 10)

    def bleat(_: int) -> Array:
        length = int(RATE * rng.uniform(0.6, 1.0))
        shake = 1 + 0.5 * np.sin(2 * np.pi * rate * times(length))
        return _voiced(rng, base * (0.97 + 0.03 * shake), (700, 1300, 2600), 0.15) * shake

    return _calls(rng, n, rng.uniform(0.9, 1.5), bleat)


def lion(rng: Rng, n: int) -> Array:
    x = np.linspace(0, 1, n)
    return _voiced(rng, rng.uniform(60, 110) * (1.3 - 0.4 * x), (250, 500, 900), 0.8)


def frog(rng: Rng, n: int) -> Array:
    pulse, tone = rng.uniform(18, 60), rng.uniform(400, 1800)

    def croak(_: int) -> Array:
        length = int(RATE * rng.uniform(0.15, 0.45))
        beat = (0.5 + 0.5 * np.sin(2 * np.pi * pulse * times(length))) ** 3
        return wave(tone, length, (1, 0.5, 0.3)) * beat * hump(length)

    return _calls(rng, n, rng.uniform(0.4, 0.9), croak)


def chicken(rng: Rng, n: int) -> Array:
    def cluck(_: int) -> Array:
        length = int(RATE * rng.uniform(0.06, 0.14))
        return _voiced(rng, rng.uniform(400, 700) * np.linspace(1.1, 0.85, length), (1100, 2200, 3400), 0.2)

    return _calls(rng, n, rng.uniform(0.18, 0.45), cluck)


def donkey(rng: Rng, n: int) -> Array:
    def bray(i: int) -> Array:
        length = int(RATE * rng.uniform(0.35, 0.6))
        return _voiced(rng, np.full(length, (700, 280)[i % 2] * rng.uniform(0.9, 1.1)), (800, 1500, 2500), 0.35)

    return _calls(rng, n, rng.uniform(0.5, 0.7), bray)


def monkey(rng: Rng, n: int) -> Array:
    def hoot(i: int) -> Array:
        length = int(RATE * rng.uniform(0.1, 0.25))
        return _voiced(rng, np.linspace(rng.uniform(350, 600), rng.uniform(600, 1300), length), (700, 1400, 2800), 0.2)

    return _calls(rng, n, rng.uniform(0.2, 0.4), hoot)


def insect(rng: Rng, n: int) -> Array:
    rate = rng.uniform(15, 45)
    return wave(rng.uniform(3500, 5500), n) * (0.5 + 0.5 * np.sin(2 * np.pi * rate * times(n))) ** 2


def bee(rng: Rng, n: int) -> Array:
    pitch = rng.uniform(150, 280) * (1 + 0.06 * np.sin(2 * np.pi * rng.uniform(0.7, 2) * times(n)))
    return wave(pitch, n, rich(20, 0.6))


def laugh(rng: Rng, n: int) -> Array:
    base = rng.uniform(150, 380)

    def ha(i: int) -> Array:
        length = int(RATE * rng.uniform(0.1, 0.16))
        return _voiced(rng, base * np.linspace(1.2, 0.95, length), (750, 1250, 2600), 0.3) * 0.93**i

    return _calls(rng, n, rng.uniform(0.17, 0.24), ha)


def baby(rng: Rng, n: int) -> Array:
    def cry(_: int) -> Array:
        length = int(RATE * rng.uniform(0.5, 0.9))
        return _voiced(rng, rng.uniform(380, 550) * (1 + 0.2 * hump(length)), (1000, 1800, 3300), 0.15)

    return _calls(rng, n, rng.uniform(0.8, 1.2), cry)


def cough(rng: Rng, n: int) -> Array:
    return _calls(rng, n, rng.uniform(0.3, 0.8), lambda _: burst(rng, 0.06, 300, 3500))


def breath(rng: Rng, n: int) -> Array:
    return noise(rng, n, 400, 4000) * np.abs(np.sin(np.pi * times(n) / rng.uniform(0.8, 1.8))) ** 1.5


def quiet(rng: Rng, n: int) -> Array:
    return rng.standard_normal(n)
