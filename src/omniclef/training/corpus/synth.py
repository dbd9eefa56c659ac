"""Sounds without words, made by formulas: sirens, bells, rain, engines, chords, calls of animals, and
silence.

Each kind draws its own pitch, speed and colour from a generator, so that one name covers many clips. They are
sketches, not recordings: what they teach a model is the shape a name has in time and frequency.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from omniclef.training.corpus import calls
from omniclef.training.corpus.waves import (
    Array,
    Rng,
    burst,
    decay,
    every,
    hump,
    noise,
    place,
    rich,
    times,
    wave,
)

__all__ = ["KINDS", "make"]

RATE = 16_000


def make(kind: str, rng: Rng, seconds: float = 2.0) -> npt.NDArray[np.float32]:
    """One clip [T] at 16 kHz of a kind in ``KINDS``, at its own level, with faint background noise."""
    samples = KINDS[kind][0](rng, round(seconds * RATE))
    samples = samples / max(float(np.abs(samples).max(initial=0.0)), 1e-9) * 10 ** rng.uniform(-1.2, -0.05)
    if kind == "silence":
        samples = samples * 0.003
    floor = rng.standard_normal(len(samples)) * 10 ** rng.uniform(-4.5, -2.3)
    return np.clip(samples + floor, -1, 1).astype(np.float32)


# --- signals -------------------------------------------------------------------------------------------


def _beep(rng: Rng, n: int) -> Array:
    return wave(rng.uniform(500, 2500), n) * (np.abs(times(n) - n / RATE / 2) < rng.uniform(0.15, 0.45))


def _beeps(rng: Rng, n: int) -> Array:
    gap = rng.uniform(0.2, 0.7)
    return wave(rng.uniform(600, 3000), n, (1, 0.2)) * (times(n) % gap < gap * rng.uniform(0.3, 0.6))


def _tone(rng: Rng, n: int) -> Array:
    return wave(rng.uniform(200, 2000), n)


def _alarm(rng: Rng, n: int) -> Array:
    low, gap = rng.uniform(700, 1800), rng.uniform(0.15, 0.5)
    pitch = np.where(times(n) % gap < gap / 2, low, low * rng.uniform(1.15, 1.5))
    return wave(pitch, n, rich(5, 1))


def _siren(rng: Rng, n: int) -> Array:
    low, high, gap = rng.uniform(400, 700), rng.uniform(1000, 1700), rng.uniform(0.4, 3.5)
    return wave(low + (high - low) * (0.5 - 0.5 * np.cos(2 * np.pi * times(n) / gap)), n, rich(6, 1))


def _ambulance(rng: Rng, n: int) -> Array:
    low, gap = rng.uniform(400, 600), rng.uniform(0.9, 1.5)
    return wave(np.where(times(n) % gap < gap / 2, low * 1.34, low), n, rich(6, 0.8))


def _phone(rng: Rng, n: int) -> Array:
    a = rng.uniform(400, 1400)
    trill = np.sign(np.sin(2 * np.pi * rng.uniform(12, 25) * times(n)))
    on = times(n) % rng.uniform(1.4, 3.0) < rng.uniform(0.7, 1.2)
    return wave(np.where(trill > 0, a, a * 1.25), n, (1, 0.3, 0.2)) * on


def _busy(rng: Rng, n: int) -> Array:
    return (wave(480, n) + wave(620, n)) * (times(n) % 1.0 < 0.5)


def _dial(rng: Rng, n: int) -> Array:
    return wave(350, n) + wave(440, n)


def _keys(rng: Rng, n: int) -> Array:
    rows, columns = (697, 770, 852, 941), (1209, 1336, 1477)

    def press(_: int) -> Array:
        length = int(RATE * 0.14)
        return wave(rng.choice(rows), length) + wave(rng.choice(columns), length)

    return place(n, every(rng, n, rng.uniform(0.2, 0.35)), press)


def _horn(rng: Rng, n: int) -> Array:
    base = rng.uniform(300, 480)
    on = np.abs(times(n) % rng.uniform(0.8, 2.5) - 0.4) < 0.32
    return (wave(base, n, rich(12, 0.7)) + wave(base * 1.26, n, rich(12, 0.7))) * on


def _ship(rng: Rng, n: int) -> Array:
    return wave(rng.uniform(70, 140), n, rich(20, 0.7)) * hump(n)


def _train(rng: Rng, n: int) -> Array:
    base = rng.uniform(230, 330)
    return sum((wave(base * k, n, rich(10, 0.8)) for k in (1, 1.19, 1.5)), np.zeros(n)) * hump(n)


def _whistle(rng: Rng, n: int) -> Array:
    pitch = rng.uniform(1500, 3200) * (1 + 0.02 * np.sin(2 * np.pi * rng.uniform(20, 40) * times(n)))
    return wave(pitch, n) * hump(n) + 0.15 * noise(rng, n, 2000, 6000) * hump(n)


def _laser(rng: Rng, n: int) -> Array:
    def shot(_: int) -> Array:
        length = int(RATE * rng.uniform(0.15, 0.4))
        return wave(rng.uniform(2000, 4000) * np.exp(-times(length) * rng.uniform(5, 14)), length, rich(4, 1))

    return place(n, every(rng, n, rng.uniform(0.3, 0.7)), shot)


# --- bells, strings and music --------------------------------------------------------------------------


def _struck(rng: Rng, base: float, seconds: float, ratios: tuple[float, ...]) -> Array:
    length = int(RATE * seconds * 3)
    out = np.zeros(length)
    for order, ratio in enumerate(ratios):
        out += wave(base * ratio, length) * decay(length, seconds / (1 + 0.6 * order)) / (1 + 0.5 * order)
    return out


def _bell(rng: Rng, n: int) -> Array:
    base = rng.uniform(250, 900)
    ratios = (0.5, 1.0, 1.19, 1.56, 2.0, 2.66, 3.01)
    return place(n, every(rng, n, rng.uniform(0.7, 1.6)), lambda _: _struck(rng, base, 0.8, ratios))


def _doorbell(rng: Rng, n: int) -> Array:
    base, gap = rng.uniform(500, 800), rng.uniform(0.35, 0.6)
    return place(n, [0.1, 0.1 + gap], lambda i: _struck(rng, base * (1.26, 1.0)[i], 0.4, (1, 2, 3.0, 4.2)))


def _piano(rng: Rng, n: int) -> Array:
    scale = rng.uniform(180, 300) * 2 ** (np.array([0, 2, 4, 5, 7, 9, 11, 12]) / 12)
    ratios = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    return place(n, every(rng, n, rng.uniform(0.18, 0.5)), lambda _: _struck(rng, rng.choice(scale), 0.35, ratios))


def _guitar(rng: Rng, n: int) -> Array:
    """Karplus and Strong's plucked string: a burst of noise that circles through an averaging delay."""

    def pluck(_: int) -> Array:
        period, length = int(RATE / rng.uniform(90, 350)), int(RATE * 0.9)
        ring = np.tile(rng.uniform(-1, 1, period), length // period + 1)
        for k in range(1, length // period + 1):
            last = ring[(k - 1) * period : k * period]
            ring[k * period : (k + 1) * period] = (0.997 * (last + np.roll(last, 1)) / 2)[: len(ring) - k * period]
        return ring[:length]

    return place(n, every(rng, n, rng.uniform(0.15, 0.5)), pluck)


def _chords(rng: Rng, n: int) -> Array:
    base, beat = rng.uniform(130, 260), rng.uniform(0.4, 1.0)
    shapes = ((0, 4, 7), (5, 9, 12), (7, 11, 14), (-3, 0, 4))

    def chord(i: int) -> Array:
        length = int(RATE * beat)
        tones = shapes[rng.integers(4)]
        parts = (wave(base * 2 ** (s / 12), length, rich(8, 1.2)) for s in tones)
        return sum(parts, np.zeros(length)) * hump(length)

    kick = _drums(rng, n) * 1.5 * float(rng.random() < 0.5)
    return place(n, np.arange(0, n / RATE, beat), chord) + kick


def _violin(rng: Rng, n: int) -> Array:
    steps = rng.uniform(300, 500) * 2 ** (rng.choice([0, 2, 4, 5, 7, 9], 1 + n // 8000) / 12)
    pitch = np.repeat(steps, 8000)[:n] * (1 + 0.012 * np.sin(2 * np.pi * rng.uniform(5, 7) * times(n)))
    return wave(pitch, n, rich(14, 1.0))


def _flute(rng: Rng, n: int) -> Array:
    steps = rng.uniform(500, 900) * 2 ** (rng.choice([0, 2, 4, 7, 9], 1 + n // 6000) / 12)
    return wave(np.repeat(steps, 6000)[:n], n, (1, 0.25, 0.08)) + 0.05 * noise(rng, n, 800, 5000)


def _drums(rng: Rng, n: int) -> Array:
    beat = rng.uniform(0.2, 0.4)

    def hit(i: int) -> Array:
        length = int(RATE * 0.25)
        kick = wave(50 + 90 * np.exp(-times(length) * 30), length) * decay(length, 0.09)
        snare = noise(rng, length, 200, 6000) * decay(length, 0.06)
        hat = 0.4 * noise(rng, length, 5000, 7900) * decay(length, 0.02)
        return (kick, hat, snare, hat)[i % 4]

    return place(n, np.arange(0, n / RATE, beat), hit)


# --- taps, machines and weather ------------------------------------------------------------------------


def _clock(rng: Rng, n: int) -> Array:
    return place(n, every(rng, n, rng.uniform(0.4, 1.0)), lambda i: burst(rng, 0.006, 2000, 5000 + 1500 * (i % 2)))


def _typing(rng: Rng, n: int) -> Array:
    return place(n, every(rng, n, rng.uniform(0.09, 0.18), 0.3), lambda _: burst(rng, 0.008, 900, 6000))


def _knock(rng: Rng, n: int) -> Array:
    return place(n, every(rng, n, rng.uniform(0.15, 0.35)), lambda _: burst(rng, 0.02, 80, rng.uniform(500, 900)))


def _steps(rng: Rng, n: int) -> Array:
    return place(
        n,
        every(rng, n, rng.uniform(0.35, 0.65), 0.04),
        lambda _: burst(rng, 0.03, 60, rng.uniform(700, 2500)),
    )


def _applause(rng: Rng, n: int) -> Array:
    starts = rng.uniform(0, n / RATE, int(n / RATE * rng.uniform(60, 250)))
    clap = [burst(rng, 0.008, 600, 4500) for _ in range(12)]
    return place(n, starts, lambda i: clap[i % 12] * (0.3 + (i * 37 % 17) / 17))


def _clap(rng: Rng, n: int) -> Array:
    return place(n, every(rng, n, rng.uniform(0.25, 0.6), 0.05), lambda _: burst(rng, 0.012, 700, 5000))


def _rain(rng: Rng, n: int) -> Array:
    drops = place(n, rng.uniform(0, n / RATE, int(n / RATE * 120)), lambda _: burst(rng, 0.002, 2500, 7500))
    return noise(rng, n, 800, 7900) * rng.uniform(0.2, 0.5) + 0.4 * drops


def _wind(rng: Rng, n: int) -> Array:
    gust = 0.4 + np.interp(np.arange(n), np.linspace(0, n, 7), rng.uniform(0, 1, 7))
    return noise(rng, n, 80, rng.uniform(350, 900)) * gust


def _waves(rng: Rng, n: int) -> Array:
    swell = (0.5 + 0.5 * np.sin(2 * np.pi * times(n) / rng.uniform(1.5, 4) + rng.uniform(0, 6))) ** 2
    return noise(rng, n, 150, 4500) * (0.1 + swell)


def _thunder(rng: Rng, n: int) -> Array:
    roll = np.interp(np.arange(n), np.linspace(0, n, 12), rng.uniform(0.2, 1, 12)) * np.exp(-times(n) / 1.2)
    return noise(rng, n, 25, rng.uniform(150, 350)) * roll + 0.3 * np.pad(burst(rng, 0.08, 100, 4000), (0, n))[:n]


def _fire(rng: Rng, n: int) -> Array:
    crackle = place(
        n,
        rng.uniform(0, n / RATE, int(n / RATE * 25)),
        lambda _: burst(rng, 0.004, 1000, 7000) * rng.random(),
    )
    return crackle + 0.08 * noise(rng, n, 50, 600)


def _water(rng: Rng, n: int) -> Array:
    def bubble(_: int) -> Array:
        length = int(RATE * 0.06)
        return wave(rng.uniform(400, 1500) * (1 + 6 * times(length)), length) * decay(length, 0.015)

    return place(n, rng.uniform(0, n / RATE, int(n / RATE * 40)), bubble) + 0.08 * noise(rng, n, 400, 5000)


def _drip(rng: Rng, n: int) -> Array:
    def drop(_: int) -> Array:
        length = int(RATE * 0.12)
        return wave(rng.uniform(700, 1600) * (1 + 5 * times(length)), length) * decay(length, 0.03)

    return place(n, every(rng, n, rng.uniform(0.3, 0.9), 0.1), drop)


def _engine(rng: Rng, n: int) -> Array:
    fire = rng.uniform(22, 45) * (1 + 0.02 * np.sin(2 * np.pi * 1.3 * times(n)))
    return wave(fire, n, rich(30, 0.6)) + 0.4 * noise(rng, n, 40, 900)


def _rev(rng: Rng, n: int) -> Array:
    pitch = 40 + rng.uniform(80, 180) * (0.5 - 0.5 * np.cos(2 * np.pi * times(n) / rng.uniform(0.8, 2.5)))
    return wave(pitch, n, rich(30, 0.6)) + 0.3 * noise(rng, n, 60, 1500)


def _helicopter(rng: Rng, n: int) -> Array:
    rate = rng.uniform(11, 20)
    chop = (0.5 + 0.5 * np.sin(2 * np.pi * rate * times(n))) ** 4
    return noise(rng, n, 50, 1500) * chop + 0.2 * wave(rate * 6, n, rich(6, 1))


def _plane(rng: Rng, n: int) -> Array:
    return noise(rng, n, 80, 2500) + 0.5 * wave(rng.uniform(90, 170), n, rich(8, 0.7))


def _drill(rng: Rng, n: int) -> Array:
    return wave(rng.uniform(180, 420), n, rich(25, 0.4)) + 0.7 * noise(rng, n, 1500, 7900)


def _vacuum(rng: Rng, n: int) -> Array:
    return noise(rng, n, 200, 6000) + 0.4 * wave(rng.uniform(250, 600), n, rich(8, 0.9))


def _hum(rng: Rng, n: int) -> Array:
    return wave(rng.choice([50.0, 60.0, 100.0, 120.0]), n, (1, 0.7, 0.5, 0.3, 0.2, 0.1))


def _static(rng: Rng, n: int) -> Array:
    return rng.standard_normal(n)


def _glass(rng: Rng, n: int) -> Array:
    crash = np.pad(burst(rng, 0.05, 2000, 7900), (RATE // 10, n))[:n]

    def shard(_: int) -> Array:
        return _struck(rng, rng.uniform(2200, 5500), 0.05, (1, 1.31)) * rng.random()

    return crash + place(n, [0.1, *(0.1 + rng.exponential(0.12, 25))], shard)


def _blast(rng: Rng, n: int) -> Array:
    bang = burst(rng, rng.uniform(0.2, 0.5), 30, rng.uniform(400, 1500))
    return np.pad(bang, (int(rng.integers(4000)), n))[:n]


def _shots(rng: Rng, n: int) -> Array:
    return place(n, every(rng, n, rng.uniform(0.15, 0.8)), lambda _: burst(rng, 0.04, 100, 6500))


def _heart(rng: Rng, n: int) -> Array:
    gap = rng.uniform(0.6, 1.1)
    starts = np.concatenate([np.arange(0, n / RATE, gap), np.arange(gap * 0.3, n / RATE, gap)])
    length = int(RATE * 0.12)
    return place(n, starts, lambda _: wave(rng.uniform(45, 65), length) * hump(length))


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
    "bird": (calls.bird, ("a bird", "birds sing", "a bird chirps")),
    "dog": (calls.dog, ("a dog", "a dog barks", "barking")),
    "cat": (calls.cat, ("a cat", "a cat meows", "meowing")),
    "cow": (calls.cow, ("a cow", "a cow moos", "mooing cattle")),
    "sheep": (calls.sheep, ("a sheep", "a sheep bleats", "bleating")),
    "lion": (calls.lion, ("a lion", "a lion roars", "a roar")),
    "frog": (calls.frog, ("a frog", "a frog croaks", "croaking")),
    "chicken": (calls.chicken, ("a chicken", "a hen clucks", "poultry")),
    "donkey": (calls.donkey, ("a donkey", "a donkey brays", "braying")),
    "monkey": (calls.monkey, ("a monkey", "monkeys screech", "an ape hoots")),
    "crickets": (calls.insect, ("crickets", "crickets chirp at night", "insects")),
    "bee": (calls.bee, ("a bee", "a buzzing bee", "a fly buzzes")),
    "laughter": (calls.laugh, ("laughter", "someone laughs", "people laugh")),
    "baby": (calls.baby, ("a baby", "a baby cries", "crying")),
    "cough": (calls.cough, ("a cough", "someone coughs", "sneezing and coughing")),
    "breathing": (calls.breath, ("breathing", "someone breathes", "snoring")),
    "silence": (calls.quiet, ("silence", "nothing can be heard", "no sound")),
}
"""Name of a kind: the formula, and other words for what it sounds like."""
