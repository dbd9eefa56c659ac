"""Sounds without words, made by formulas: sirens, bells, rain, engines, chords, calls of animals, and silence.

Each kind draws its own pitch, speed and colour from a generator, so that one name covers many clips. They are
sketches, not recordings: what they teach a model is the shape a name has in time and frequency.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

__all__ = ["KINDS", "make"]

Array = npt.NDArray[np.float64]
Rng = np.random.Generator

RATE = 16_000


def make(kind: str, rng: Rng, seconds: float = 2.0) -> npt.NDArray[np.float32]:
    """One clip [T] at 16 kHz of a kind in ``KINDS``, at a level of its own, faint background noise included."""
    samples = KINDS[kind][0](rng, round(seconds * RATE))
    samples = samples / max(float(np.abs(samples).max(initial=0.0)), 1e-9) * 10 ** rng.uniform(-1.2, -0.05)
    if kind == "silence":
        samples = samples * 0.003
    floor = rng.standard_normal(len(samples)) * 10 ** rng.uniform(-4.5, -2.3)
    return np.clip(samples + floor, -1, 1).astype(np.float32)


def _time(n: int) -> Array:
    return np.arange(n) / RATE


def _wave(pitch: Array | float, n: int, partials: tuple[float, ...] = (1.0,)) -> Array:
    """Harmonics of a pitch that may move, in hertz; those above 7.5 kHz are left out."""
    track = np.broadcast_to(np.asarray(pitch, dtype=np.float64), (n,))
    phase = 2 * np.pi * np.cumsum(track) / RATE
    out = np.zeros(n)
    for order, level in enumerate(partials, 1):
        out += level * np.sin(order * phase) * (order * track < 7500)
    return out


def _rich(count: int, fall: float) -> tuple[float, ...]:
    return tuple(1 / order**fall for order in range(1, count + 1))


def _band(noise: Array, low: float, high: float) -> Array:
    spectrum = np.fft.rfft(noise)
    hertz = np.fft.rfftfreq(len(noise), 1 / RATE)
    edge = 1 / (1 + (low / np.maximum(hertz, 1)) ** 6) / (1 + (hertz / high) ** 6)
    return np.fft.irfft(spectrum * edge, len(noise))


def _noise(rng: Rng, n: int, low: float = 20, high: float = 7900) -> Array:
    out = _band(rng.standard_normal(n), low, high)
    return out / max(float(np.abs(out).max(initial=0.0)), 1e-9)


def _decay(n: int, seconds: float, rise: float = 0.003) -> Array:
    t = _time(n)
    return np.exp(-t / seconds) * np.minimum(1, t / rise)


def _hump(n: int) -> Array:
    return np.sin(np.pi * (np.arange(n) + 0.5) / max(n, 1)) ** 0.6


def _place(n: int, starts: Array | list[float], part: Callable[[int], Array]) -> Array:
    """Sums ``part(index)`` at each start, in seconds; what runs over the end is cut."""
    out = np.zeros(n)
    for index, start in enumerate(starts):
        at = int(start * RATE)
        piece = part(index)[: max(0, n - at)] if at < n else np.zeros(0)
        out[at : at + len(piece)] += piece
    return out


def _every(rng: Rng, n: int, gap: float, jitter: float = 0.0) -> Array:
    count = max(1, int(n / RATE / gap))
    starts = rng.uniform(0, min(gap, 0.3)) + gap * (np.arange(count) + rng.normal(0, jitter, count))
    return np.clip(starts, 0, None)


# --- signals -----------------------------------------------------------------------------------------------------


def _beep(rng: Rng, n: int) -> Array:
    return _wave(rng.uniform(500, 2500), n) * (np.abs(_time(n) - n / RATE / 2) < rng.uniform(0.15, 0.45))


def _beeps(rng: Rng, n: int) -> Array:
    gap = rng.uniform(0.2, 0.7)
    return _wave(rng.uniform(600, 3000), n, (1, 0.2)) * (_time(n) % gap < gap * rng.uniform(0.3, 0.6))


def _tone(rng: Rng, n: int) -> Array:
    return _wave(rng.uniform(200, 2000), n)


def _alarm(rng: Rng, n: int) -> Array:
    low, gap = rng.uniform(700, 1800), rng.uniform(0.15, 0.5)
    pitch = np.where(_time(n) % gap < gap / 2, low, low * rng.uniform(1.15, 1.5))
    return _wave(pitch, n, _rich(5, 1))


def _siren(rng: Rng, n: int) -> Array:
    low, high, gap = rng.uniform(400, 700), rng.uniform(1000, 1700), rng.uniform(0.4, 3.5)
    return _wave(low + (high - low) * (0.5 - 0.5 * np.cos(2 * np.pi * _time(n) / gap)), n, _rich(6, 1))


def _ambulance(rng: Rng, n: int) -> Array:
    low, gap = rng.uniform(400, 600), rng.uniform(0.9, 1.5)
    return _wave(np.where(_time(n) % gap < gap / 2, low * 1.34, low), n, _rich(6, 0.8))


def _phone(rng: Rng, n: int) -> Array:
    a = rng.uniform(400, 1400)
    trill = np.sign(np.sin(2 * np.pi * rng.uniform(12, 25) * _time(n)))
    on = _time(n) % rng.uniform(1.4, 3.0) < rng.uniform(0.7, 1.2)
    return _wave(np.where(trill > 0, a, a * 1.25), n, (1, 0.3, 0.2)) * on


def _busy(rng: Rng, n: int) -> Array:
    return (_wave(480, n) + _wave(620, n)) * (_time(n) % 1.0 < 0.5)


def _dial(rng: Rng, n: int) -> Array:
    return _wave(350, n) + _wave(440, n)


def _keys(rng: Rng, n: int) -> Array:
    rows, columns = (697, 770, 852, 941), (1209, 1336, 1477)

    def press(_: int) -> Array:
        length = int(RATE * 0.14)
        return _wave(rng.choice(rows), length) + _wave(rng.choice(columns), length)

    return _place(n, _every(rng, n, rng.uniform(0.2, 0.35)), press)


def _horn(rng: Rng, n: int) -> Array:
    base = rng.uniform(300, 480)
    on = np.abs(_time(n) % rng.uniform(0.8, 2.5) - 0.4) < 0.32
    return (_wave(base, n, _rich(12, 0.7)) + _wave(base * 1.26, n, _rich(12, 0.7))) * on


def _ship(rng: Rng, n: int) -> Array:
    return _wave(rng.uniform(70, 140), n, _rich(20, 0.7)) * _hump(n)


def _train(rng: Rng, n: int) -> Array:
    base = rng.uniform(230, 330)
    return sum((_wave(base * k, n, _rich(10, 0.8)) for k in (1, 1.19, 1.5)), np.zeros(n)) * _hump(n)


def _whistle(rng: Rng, n: int) -> Array:
    pitch = rng.uniform(1500, 3200) * (1 + 0.02 * np.sin(2 * np.pi * rng.uniform(20, 40) * _time(n)))
    return _wave(pitch, n) * _hump(n) + 0.15 * _noise(rng, n, 2000, 6000) * _hump(n)


def _laser(rng: Rng, n: int) -> Array:
    def shot(_: int) -> Array:
        length = int(RATE * rng.uniform(0.15, 0.4))
        return _wave(rng.uniform(2000, 4000) * np.exp(-_time(length) * rng.uniform(5, 14)), length, _rich(4, 1))

    return _place(n, _every(rng, n, rng.uniform(0.3, 0.7)), shot)


# --- bells, strings and music ------------------------------------------------------------------------------------


def _struck(rng: Rng, base: float, seconds: float, ratios: tuple[float, ...]) -> Array:
    length = int(RATE * seconds * 3)
    out = np.zeros(length)
    for order, ratio in enumerate(ratios):
        out += _wave(base * ratio, length) * _decay(length, seconds / (1 + 0.6 * order)) / (1 + 0.5 * order)
    return out


def _bell(rng: Rng, n: int) -> Array:
    base = rng.uniform(250, 900)
    ratios = (0.5, 1.0, 1.19, 1.56, 2.0, 2.66, 3.01)
    return _place(n, _every(rng, n, rng.uniform(0.7, 1.6)), lambda _: _struck(rng, base, 0.8, ratios))


def _doorbell(rng: Rng, n: int) -> Array:
    base, gap = rng.uniform(500, 800), rng.uniform(0.35, 0.6)
    return _place(n, [0.1, 0.1 + gap], lambda i: _struck(rng, base * (1.26, 1.0)[i], 0.4, (1, 2, 3.0, 4.2)))


def _piano(rng: Rng, n: int) -> Array:
    scale = rng.uniform(180, 300) * 2 ** (np.array([0, 2, 4, 5, 7, 9, 11, 12]) / 12)
    ratios = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    return _place(n, _every(rng, n, rng.uniform(0.18, 0.5)), lambda _: _struck(rng, rng.choice(scale), 0.35, ratios))


def _guitar(rng: Rng, n: int) -> Array:
    """Karplus and Strong's plucked string: a burst of noise that circles through an averaging delay."""

    def pluck(_: int) -> Array:
        period, length = int(RATE / rng.uniform(90, 350)), int(RATE * 0.9)
        ring = np.tile(rng.uniform(-1, 1, period), length // period + 1)
        for k in range(1, length // period + 1):
            last = ring[(k - 1) * period : k * period]
            ring[k * period : (k + 1) * period] = (0.997 * (last + np.roll(last, 1)) / 2)[: len(ring) - k * period]
        return ring[:length]

    return _place(n, _every(rng, n, rng.uniform(0.15, 0.5)), pluck)


def _chords(rng: Rng, n: int) -> Array:
    base, beat = rng.uniform(130, 260), rng.uniform(0.4, 1.0)
    shapes = ((0, 4, 7), (5, 9, 12), (7, 11, 14), (-3, 0, 4))

    def chord(i: int) -> Array:
        length = int(RATE * beat)
        tones = shapes[rng.integers(4)]
        return sum((_wave(base * 2 ** (s / 12), length, _rich(8, 1.2)) for s in tones), np.zeros(length)) * _hump(length)

    kick = _drums(rng, n) * rng.choice([0.0, 1.5])
    return _place(n, np.arange(0, n / RATE, beat), chord) + kick


def _violin(rng: Rng, n: int) -> Array:
    steps = rng.uniform(300, 500) * 2 ** (rng.choice([0, 2, 4, 5, 7, 9], 1 + n // 8000) / 12)
    pitch = np.repeat(steps, 8000)[:n] * (1 + 0.012 * np.sin(2 * np.pi * rng.uniform(5, 7) * _time(n)))
    return _wave(pitch, n, _rich(14, 1.0))


def _flute(rng: Rng, n: int) -> Array:
    steps = rng.uniform(500, 900) * 2 ** (rng.choice([0, 2, 4, 7, 9], 1 + n // 6000) / 12)
    return _wave(np.repeat(steps, 6000)[:n], n, (1, 0.25, 0.08)) + 0.05 * _noise(rng, n, 800, 5000)


def _drums(rng: Rng, n: int) -> Array:
    beat = rng.uniform(0.2, 0.4)

    def hit(i: int) -> Array:
        length = int(RATE * 0.25)
        kick = _wave(50 + 90 * np.exp(-_time(length) * 30), length) * _decay(length, 0.09)
        snare = _noise(rng, length, 200, 6000) * _decay(length, 0.06)
        hat = 0.4 * _noise(rng, length, 5000, 7900) * _decay(length, 0.02)
        return (kick, hat, snare, hat)[i % 4]

    return _place(n, np.arange(0, n / RATE, beat), hit)


# --- taps, machines and weather ----------------------------------------------------------------------------------


def _burst(rng: Rng, seconds: float, low: float, high: float) -> Array:
    length = max(64, int(RATE * seconds * 6))
    return _noise(rng, length, low, high) * _decay(length, seconds, 0.001)


def _clock(rng: Rng, n: int) -> Array:
    return _place(n, _every(rng, n, rng.uniform(0.4, 1.0)), lambda i: _burst(rng, 0.006, 2000, 5000 + 1500 * (i % 2)))


def _typing(rng: Rng, n: int) -> Array:
    return _place(n, _every(rng, n, rng.uniform(0.09, 0.18), 0.3), lambda _: _burst(rng, 0.008, 900, 6000))


def _knock(rng: Rng, n: int) -> Array:
    return _place(n, _every(rng, n, rng.uniform(0.15, 0.35)), lambda _: _burst(rng, 0.02, 80, rng.uniform(500, 900)))


def _steps(rng: Rng, n: int) -> Array:
    return _place(n, _every(rng, n, rng.uniform(0.35, 0.65), 0.04), lambda _: _burst(rng, 0.03, 60, rng.uniform(700, 2500)))


def _applause(rng: Rng, n: int) -> Array:
    starts = rng.uniform(0, n / RATE, int(n / RATE * rng.uniform(60, 250)))
    clap = [_burst(rng, 0.008, 600, 4500) for _ in range(12)]
    return _place(n, starts, lambda i: clap[i % 12] * (0.3 + (i * 37 % 17) / 17))


def _clap(rng: Rng, n: int) -> Array:
    return _place(n, _every(rng, n, rng.uniform(0.25, 0.6), 0.05), lambda _: _burst(rng, 0.012, 700, 5000))


def _rain(rng: Rng, n: int) -> Array:
    drops = _place(n, rng.uniform(0, n / RATE, int(n / RATE * 120)), lambda _: _burst(rng, 0.002, 2500, 7500))
    return _noise(rng, n, 800, 7900) * rng.uniform(0.2, 0.5) + 0.4 * drops


def _wind(rng: Rng, n: int) -> Array:
    gust = 0.4 + np.interp(np.arange(n), np.linspace(0, n, 7), rng.uniform(0, 1, 7))
    return _noise(rng, n, 80, rng.uniform(350, 900)) * gust


def _waves(rng: Rng, n: int) -> Array:
    swell = (0.5 + 0.5 * np.sin(2 * np.pi * _time(n) / rng.uniform(1.5, 4) + rng.uniform(0, 6))) ** 2
    return _noise(rng, n, 150, 4500) * (0.1 + swell)


def _thunder(rng: Rng, n: int) -> Array:
    roll = np.interp(np.arange(n), np.linspace(0, n, 12), rng.uniform(0.2, 1, 12)) * np.exp(-_time(n) / 1.2)
    return _noise(rng, n, 25, rng.uniform(150, 350)) * roll + 0.3 * np.pad(_burst(rng, 0.08, 100, 4000), (0, n))[:n]


def _fire(rng: Rng, n: int) -> Array:
    crackle = _place(n, rng.uniform(0, n / RATE, int(n / RATE * 25)), lambda _: _burst(rng, 0.004, 1000, 7000) * rng.random())
    return crackle + 0.08 * _noise(rng, n, 50, 600)


def _water(rng: Rng, n: int) -> Array:
    def bubble(_: int) -> Array:
        length = int(RATE * 0.06)
        return _wave(rng.uniform(400, 1500) * (1 + 6 * _time(length)), length) * _decay(length, 0.015)

    return _place(n, rng.uniform(0, n / RATE, int(n / RATE * 40)), bubble) + 0.08 * _noise(rng, n, 400, 5000)


def _drip(rng: Rng, n: int) -> Array:
    def drop(_: int) -> Array:
        length = int(RATE * 0.12)
        return _wave(rng.uniform(700, 1600) * (1 + 5 * _time(length)), length) * _decay(length, 0.03)

    return _place(n, _every(rng, n, rng.uniform(0.3, 0.9), 0.1), drop)


def _engine(rng: Rng, n: int) -> Array:
    fire = rng.uniform(22, 45) * (1 + 0.02 * np.sin(2 * np.pi * 1.3 * _time(n)))
    return _wave(fire, n, _rich(30, 0.6)) + 0.4 * _noise(rng, n, 40, 900)


def _rev(rng: Rng, n: int) -> Array:
    pitch = 40 + rng.uniform(80, 180) * (0.5 - 0.5 * np.cos(2 * np.pi * _time(n) / rng.uniform(0.8, 2.5)))
    return _wave(pitch, n, _rich(30, 0.6)) + 0.3 * _noise(rng, n, 60, 1500)


def _helicopter(rng: Rng, n: int) -> Array:
    rate = rng.uniform(11, 20)
    chop = (0.5 + 0.5 * np.sin(2 * np.pi * rate * _time(n))) ** 4
    return _noise(rng, n, 50, 1500) * chop + 0.2 * _wave(rate * 6, n, _rich(6, 1))


def _plane(rng: Rng, n: int) -> Array:
    return _noise(rng, n, 80, 2500) + 0.5 * _wave(rng.uniform(90, 170), n, _rich(8, 0.7))


def _drill(rng: Rng, n: int) -> Array:
    return _wave(rng.uniform(180, 420), n, _rich(25, 0.4)) + 0.7 * _noise(rng, n, 1500, 7900)


def _vacuum(rng: Rng, n: int) -> Array:
    return _noise(rng, n, 200, 6000) + 0.4 * _wave(rng.uniform(250, 600), n, _rich(8, 0.9))


def _hum(rng: Rng, n: int) -> Array:
    return _wave(rng.choice([50.0, 60.0, 100.0, 120.0]), n, (1, 0.7, 0.5, 0.3, 0.2, 0.1))


def _static(rng: Rng, n: int) -> Array:
    return rng.standard_normal(n)


def _glass(rng: Rng, n: int) -> Array:
    starts = [0.1, *(0.1 + rng.exponential(0.12, 25))]
    return _place(n, starts, lambda _: _struck(rng, rng.uniform(2200, 5500), 0.05, (1, 1.31)) * rng.random()) + np.pad(
        _burst(rng, 0.05, 2000, 7900), (RATE // 10, n))[:n]  # fmt: skip


def _blast(rng: Rng, n: int) -> Array:
    return np.pad(_burst(rng, rng.uniform(0.2, 0.5), 30, rng.uniform(400, 1500)), (rng.integers(4000), n))[:n]


def _shots(rng: Rng, n: int) -> Array:
    return _place(n, _every(rng, n, rng.uniform(0.15, 0.8)), lambda _: _burst(rng, 0.04, 100, 6500))


def _heart(rng: Rng, n: int) -> Array:
    gap = rng.uniform(0.6, 1.1)
    starts = np.concatenate([np.arange(0, n / RATE, gap), np.arange(gap * 0.3, n / RATE, gap)])
    length = int(RATE * 0.12)
    return _place(n, starts, lambda _: _wave(rng.uniform(45, 65), length) * _hump(length))


# --- animals and people ------------------------------------------------------------------------------------------


def _voiced(rng: Rng, pitch: Array, formants: tuple[float, ...], rough: float = 0.0) -> Array:
    """A buzzing source through fixed resonances: a throat."""
    n = len(pitch)
    source = _wave(pitch, n, _rich(40, 0.6)) * (1 + rough * rng.standard_normal(n)) + rough * _noise(rng, n)
    spectrum, hertz = np.fft.rfft(source), np.fft.rfftfreq(n, 1 / RATE)
    gain = sum((1 / (1 + ((hertz - f) / (60 + 0.12 * f)) ** 2) for f in formants), 0.03 * np.ones(len(hertz)))
    return np.fft.irfft(spectrum * gain, n) * _hump(n)


def _calls(rng: Rng, n: int, gap: float, call: Callable[[int], Array]) -> Array:
    return _place(n, _every(rng, n, gap, 0.08), call)


def _bird(rng: Rng, n: int) -> Array:
    base, sweep, speed = rng.uniform(2200, 4500), rng.uniform(-900, 900), rng.uniform(8, 30)

    def chirp(_: int) -> Array:
        length = int(RATE * rng.uniform(0.05, 0.18))
        t = _time(length)
        pitch = base * rng.uniform(0.85, 1.15) + sweep * t / t[-1] + 250 * np.sin(2 * np.pi * speed * t)
        return _wave(pitch, length) * _hump(length)

    return _calls(rng, n, rng.uniform(0.12, 0.4), chirp)


def _dog(rng: Rng, n: int) -> Array:
    base = rng.uniform(250, 700)

    def bark(_: int) -> Array:
        length = int(RATE * rng.uniform(0.1, 0.22))
        return _voiced(rng, base * (1 + 0.6 * np.sin(np.pi * np.linspace(0, 1, length))), (600, 1200, 2300), 0.5)

    return _calls(rng, n, rng.uniform(0.3, 0.7), bark)


def _cat(rng: Rng, n: int) -> Array:
    base = rng.uniform(450, 800)

    def meow(_: int) -> Array:
        length = int(RATE * rng.uniform(0.5, 1.0))
        x = np.linspace(0, 1, length)
        return _voiced(rng, base * (1 + 0.4 * np.sin(np.pi * x) - 0.2 * x), (900, 1700, 3000), 0.05)

    return _calls(rng, n, rng.uniform(0.9, 1.4), meow)


def _cow(rng: Rng, n: int) -> Array:
    x = np.linspace(0, 1, n)
    return _voiced(rng, rng.uniform(90, 180) * (1 + 0.25 * np.sin(np.pi * x)), (300, 650, 1100), 0.15)


def _sheep(rng: Rng, n: int) -> Array:
    base, rate = rng.uniform(220, 400), rng.uniform(6, 10)

    def bleat(_: int) -> Array:
        length = int(RATE * rng.uniform(0.6, 1.0))
        shake = 1 + 0.5 * np.sin(2 * np.pi * rate * _time(length))
        return _voiced(rng, base * (0.97 + 0.03 * shake), (700, 1300, 2600), 0.15) * shake

    return _calls(rng, n, rng.uniform(0.9, 1.5), bleat)


def _lion(rng: Rng, n: int) -> Array:
    x = np.linspace(0, 1, n)
    return _voiced(rng, rng.uniform(60, 110) * (1.3 - 0.4 * x), (250, 500, 900), 0.8)


def _frog(rng: Rng, n: int) -> Array:
    pulse, tone = rng.uniform(18, 60), rng.uniform(400, 1800)

    def croak(_: int) -> Array:
        length = int(RATE * rng.uniform(0.15, 0.45))
        beat = (0.5 + 0.5 * np.sin(2 * np.pi * pulse * _time(length))) ** 3
        return _wave(tone, length, (1, 0.5, 0.3)) * beat * _hump(length)

    return _calls(rng, n, rng.uniform(0.4, 0.9), croak)


def _chicken(rng: Rng, n: int) -> Array:
    def cluck(_: int) -> Array:
        length = int(RATE * rng.uniform(0.06, 0.14))
        return _voiced(rng, rng.uniform(400, 700) * np.linspace(1.1, 0.85, length), (1100, 2200, 3400), 0.2)

    return _calls(rng, n, rng.uniform(0.18, 0.45), cluck)


def _donkey(rng: Rng, n: int) -> Array:
    def bray(i: int) -> Array:
        length = int(RATE * rng.uniform(0.35, 0.6))
        return _voiced(rng, np.full(length, (700, 280)[i % 2] * rng.uniform(0.9, 1.1)), (800, 1500, 2500), 0.35)

    return _calls(rng, n, rng.uniform(0.5, 0.7), bray)


def _monkey(rng: Rng, n: int) -> Array:
    def hoot(i: int) -> Array:
        length = int(RATE * rng.uniform(0.1, 0.25))
        return _voiced(rng, np.linspace(rng.uniform(350, 600), rng.uniform(600, 1300), length), (700, 1400, 2800), 0.2)

    return _calls(rng, n, rng.uniform(0.2, 0.4), hoot)


def _insect(rng: Rng, n: int) -> Array:
    rate = rng.uniform(15, 45)
    return _wave(rng.uniform(3500, 5500), n) * (0.5 + 0.5 * np.sin(2 * np.pi * rate * _time(n))) ** 2


def _bee(rng: Rng, n: int) -> Array:
    pitch = rng.uniform(150, 280) * (1 + 0.06 * np.sin(2 * np.pi * rng.uniform(0.7, 2) * _time(n)))
    return _wave(pitch, n, _rich(20, 0.6))


def _laugh(rng: Rng, n: int) -> Array:
    base = rng.uniform(150, 380)

    def ha(i: int) -> Array:
        length = int(RATE * rng.uniform(0.1, 0.16))
        return _voiced(rng, base * np.linspace(1.2, 0.95, length), (750, 1250, 2600), 0.3) * 0.93**i

    return _calls(rng, n, rng.uniform(0.17, 0.24), ha)


def _baby(rng: Rng, n: int) -> Array:
    def cry(_: int) -> Array:
        length = int(RATE * rng.uniform(0.5, 0.9))
        return _voiced(rng, rng.uniform(380, 550) * (1 + 0.2 * _hump(length)), (1000, 1800, 3300), 0.15)

    return _calls(rng, n, rng.uniform(0.8, 1.2), cry)


def _cough(rng: Rng, n: int) -> Array:
    return _calls(rng, n, rng.uniform(0.3, 0.8), lambda _: _burst(rng, 0.06, 300, 3500))


def _breath(rng: Rng, n: int) -> Array:
    return _noise(rng, n, 400, 4000) * np.abs(np.sin(np.pi * _time(n) / rng.uniform(0.8, 1.8))) ** 1.5


def _quiet(rng: Rng, n: int) -> Array:
    return rng.standard_normal(n)


KINDS: dict[str, tuple[Callable[[Rng, int], Array], tuple[str, ...]]] = {
    "beep": (_beep, ("a beep", "a single electronic beep")),
    "beeping": (_beeps, ("beeping", "repeated electronic beeps", "a machine beeps again and again")),
    "tone": (_tone, ("a steady tone", "a pure test tone")),
    "alarm": (_alarm, ("an alarm", "an alarm clock goes off", "alarm sound")),
    "siren": (_siren, ("a siren", "a police siren wails", "emergency vehicle siren")),
    "ambulance": (_ambulance, ("an ambulance", "an ambulance siren", "a fire engine passes")),
    "phone ringing": (_phone, ("a telephone rings", "phone ringing", "a ringtone")),
    "busy signal": (_busy, ("a busy signal", "the phone line is busy")),
    "dial tone": (_dial, ("a dial tone", "a phone line waits for a number")),
    "phone keypad": (_keys, ("keypad tones", "someone dials a number", "touch tones of a phone")),
    "car horn": (_horn, ("a car horn", "a car honks", "honking in traffic")),
    "ship horn": (_ship, ("a ship horn", "a foghorn", "a boat blows its horn")),
    "train horn": (_train, ("a train horn", "a train approaches a crossing")),
    "whistle": (_whistle, ("a whistle", "a referee blows a whistle")),
    "laser": (_laser, ("laser shots", "a video game sound effect")),
    "bell": (_bell, ("a bell", "a church bell tolls", "bells ringing")),
    "doorbell": (_doorbell, ("a doorbell", "someone rings at the door", "ding dong")),
    "piano": (_piano, ("a piano", "piano music", "someone plays the piano")),
    "guitar": (_guitar, ("a guitar", "guitar music", "someone plucks strings")),
    "chords": (_chords, ("music", "a song plays", "music with chords")),
    "violin": (_violin, ("a violin", "violin music", "string music")),
    "flute": (_flute, ("a flute", "flute music", "someone plays the flute")),
    "drums": (_drums, ("drums", "a drum beat", "someone plays the drums")),
    "clock": (_clock, ("a clock ticks", "ticking", "a ticking clock")),
    "typing": (_typing, ("typing on a keyboard", "someone types", "keyboard clicks")),
    "knocking": (_knock, ("knocking", "someone knocks on the door", "a knock at a door")),
    "footsteps": (_steps, ("footsteps", "someone walks", "steps on the floor")),
    "applause": (_applause, ("applause", "an audience applauds", "a crowd claps")),
    "clapping": (_clap, ("clapping hands", "hand claps", "someone claps")),
    "rain": (_rain, ("rain", "rain falls", "heavy rainfall")),
    "wind": (_wind, ("wind", "the wind blows", "a storm howls")),
    "sea waves": (_waves, ("sea waves", "waves break on a beach", "the ocean")),
    "thunder": (_thunder, ("thunder", "a thunderstorm", "thunder rolls")),
    "fire": (_fire, ("a fire crackles", "crackling fire", "a campfire burns")),
    "running water": (_water, ("running water", "a stream flows", "water pours")),
    "dripping": (_drip, ("dripping water", "a tap drips", "water drops")),
    "engine": (_engine, ("an engine", "a motor idles", "a car engine runs")),
    "engine revving": (_rev, ("an engine revs", "a motorcycle accelerates", "a race car")),
    "helicopter": (_helicopter, ("a helicopter", "a helicopter flies over")),
    "airplane": (_plane, ("an airplane", "a jet takes off", "a plane flies by")),
    "drill": (_drill, ("a drill", "a power tool", "a chainsaw")),
    "vacuum cleaner": (_vacuum, ("a vacuum cleaner", "a hair dryer", "someone vacuums")),
    "hum": (_hum, ("an electric hum", "a transformer hums", "mains hum")),
    "static": (_static, ("static", "white noise", "radio static")),
    "glass breaking": (_glass, ("glass breaks", "breaking glass", "a window shatters")),
    "explosion": (_blast, ("an explosion", "a bomb explodes", "a big bang")),
    "gunshots": (_shots, ("gunshots", "someone fires a gun", "fireworks")),
    "heartbeat": (_heart, ("a heartbeat", "a heart beats")),
    "bird": (_bird, ("a bird", "birds sing", "a bird chirps")),
    "dog": (_dog, ("a dog", "a dog barks", "barking")),
    "cat": (_cat, ("a cat", "a cat meows", "meowing")),
    "cow": (_cow, ("a cow", "a cow moos", "mooing cattle")),
    "sheep": (_sheep, ("a sheep", "a sheep bleats", "bleating")),
    "lion": (_lion, ("a lion", "a lion roars", "a roar")),
    "frog": (_frog, ("a frog", "a frog croaks", "croaking")),
    "chicken": (_chicken, ("a chicken", "a hen clucks", "poultry")),
    "donkey": (_donkey, ("a donkey", "a donkey brays", "braying")),
    "monkey": (_monkey, ("a monkey", "monkeys screech", "an ape hoots")),
    "crickets": (_insect, ("crickets", "crickets chirp at night", "insects")),
    "bee": (_bee, ("a bee", "a buzzing bee", "a fly buzzes")),
    "laughter": (_laugh, ("laughter", "someone laughs", "people laugh")),
    "baby": (_baby, ("a baby", "a baby cries", "crying")),
    "cough": (_cough, ("a cough", "someone coughs", "sneezing and coughing")),
    "breathing": (_breath, ("breathing", "someone breathes", "snoring")),
    "silence": (_quiet, ("silence", "nothing can be heard", "no sound")),
}
"""Name of a kind: the formula, and other words for what it sounds like."""
