"""Clips with the words for them, to align the sound tower with the text space: speech, recordings, sounds.

No questions here; see ``sounds`` for those. Texts come from SGD, SNIPS, GoEmotions and Presidio (train
splits), from ``phrases``, and from the most frequent words of the first three.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from re import findall
from typing import Any

import numpy as np
import numpy.typing as npt

from omniclef.training.corpus import phrases, synth
from omniclef.training.corpus.sounds import draw, plain, read, speakable
from omniclef.training.corpus.speech import Speaker

__all__ = ["Utterance", "order_text", "recordings", "sketches", "spoken", "texts"]


@dataclass(frozen=True, slots=True)
class Utterance:
    """clip: a file, or float32 [T] at 16 kHz; weight: how much it counts beside synthetic speech."""

    text: str
    clip: Path | npt.NDArray[np.float32]
    weight: float = 1.0


def texts(data: Path, seed: int) -> list[str]:
    """About 5,500 texts of one to fourteen words; a word that decides requests (a digit, a drink) comes
    several times.
    """
    rng = np.random.default_rng(seed)
    sgd = [row["utterance"] for row in read(data / "bench/sgd/train.jsonl")]
    snips = [row["text"] for row in read(data / "text/snips.train.jsonl")]
    emotions = [row["text"] for row in read(data / "text/go_emotions.train.jsonl")]
    private = [row["text"] for row in read(data / "text/presidio_pii.train.jsonl")]
    out: list[str] = []
    for pool, count in ((sgd, 1300), (snips, 700), (emotions, 600), (private, 120)):
        out += draw(rng, [plain(text) for text in dict.fromkeys(pool) if speakable(text)], count)
    out += [phrases.drink_order(rng)[0] for _ in range(1500)]
    out += [phrases.command(rng) for _ in range(450)]
    out += [phrases.number_phrase(rng) for _ in range(150)]
    out += [
        *phrases.WORDS,
        *phrases.DIGITS * 20,
        *phrases.WAKE_WORDS * 4,
        *phrases.MILKS * 2,
        *phrases.SUGARS * 2,
    ]
    out += [*phrases.DRINKS * 3, *phrases.SIZES * 3, *phrases.ROASTS * 3, *phrases.SHOTS * 3]
    words = Counter(word for text in (*sgd, *snips, *emotions) for word in findall(r"[a-z]{3,}", text.lower()))
    return out + [word for word, _ in words.most_common(1100) if word not in phrases.WORDS]


def spoken(data: Path, speaker: Speaker, seed: int) -> Iterator[Utterance]:
    """Every text of ``texts`` in a manner of its own; a text that returns is spoken differently."""
    times: Counter[str] = Counter()
    for text in texts(data, seed):
        ((_, clip),) = speaker.say_all([text], seed + 1000 * times[text])
        times[text] += 1
        yield Utterance(text, clip)


def recordings(data: Path) -> Iterator[Utterance]:
    """The real ones: digits (CC BY-SA 4.0), coffee orders and wake words (Apache-2.0), train splits."""
    for row in read(data / "audio/fsdd.train.jsonl"):
        yield Utterance(phrases.DIGITS[int(row["label"])], data / row["file"])
    for row in read(data / "audio/coffee_orders.train.jsonl"):
        yield Utterance(order_text(row["slots"]), data / row["file"], 2.0)
    for row in read(data / "audio/wake_words.train.jsonl"):
        yield Utterance(row["label"], data / row["file"])


def order_text(slots: dict[str, Any]) -> str:
    """A plain sentence for the slots of a coffee order, whose exact words are not published."""
    front = [slots[name] for name in ("size", "coffeeDrink") if name in slots]
    behind = [slots[name] for name in ("numberOfShots", "roast", "milkAmount", "sugarAmount") if name in slots]
    order = " ".join(["a", *front])
    return " ".join((order + (" with " + " and ".join(behind) if behind else "")).split())


def sketches(seed: int, each: int = 12) -> Iterator[Utterance]:
    """Every kind of ``synth``, with its name and other words for it in turn."""
    rng = np.random.default_rng(seed)
    for kind, (_, words) in synth.KINDS.items():
        names = (kind, *words)
        for index in range(each):
            yield Utterance(names[index % len(names)], synth.make(kind, rng, float(rng.uniform(0.8, 3.0))))
