"""What the words themselves say, beside their vectors: rare words that a state and an option share, and options that
mean "none of the others".

Knows plain text; knows nothing of encoders.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from omniclef.backbones.base import Array

__all__ = ["Overlap", "Rarity", "says_none", "stems"]

OWN = (0.75, 0.85)
"""Shares of an option's rare words that are its own, from none of which to all of which shared words are believed."""

COMMON = 3.0
"""Log rarity up to which a word says nothing: a word in every twentieth text, as "my" or "get"."""

_WORD = re.compile(r"[a-z0-9]+")
_ENDINGS = ("ing", "ed", "es", "s", "ation", "ment", "ly", "er")
_NONE_NAMES = frozenset(
    ["none", "other", "others", "oos", "unknown", "neither", "fallback", "irrelevant", "nothing", "n/a", "na", "else"]
)
_NONE_PHRASES = re.compile(
    r"none of (these|the|them|those)|out[ _]of[ _](scope|domain)|something else|anything else|"
    r"not (listed|supported)|no[ _](match|tool)|does not fit|nothing (else )?(in|that|fits)|"
    r"no (\w+ )?(option|tool|intent|match|label|category|class)\w*( \w+)? (fits|applies|matches|can)|"
    r"do(es)? not (fit|match|apply)",
    re.IGNORECASE,
)


@lru_cache(maxsize=20_000)
def stems(text: str) -> frozenset[str]:
    """The different words of a text, without the commonest endings."""
    return frozenset(_stem(word) for word in _WORD.findall(text.lower()))


def says_none(name: str, described: str) -> bool:
    """Whether an option stands for everything that the other options do not."""
    plain = name.strip().lower().replace("_", " ")
    return plain in _NONE_NAMES or bool(_NONE_PHRASES.search(plain)) or bool(_NONE_PHRASES.search(described))


class Rarity:
    """Log rarity of stems in texts at large; a stem that was never seen is as rare as the rarest.

    Args:
        known: stem to log(texts / texts that have it).
        unseen: for all others.
    """

    def __init__(self, known: Mapping[str, float], unseen: float) -> None:
        self._known = known
        self._unseen = unseen

    def __call__(self, stem: str) -> float:
        return max(self._known.get(stem, self._unseen) - COMMON, 0.0)

    @classmethod
    def of(cls, texts: Sequence[str], smallest: int = 2) -> tuple[list[str], Array, float]:
        """Stems in at least ``smallest`` of the texts, their log rarities, and that of the others."""
        counts: dict[str, int] = {}
        for text in texts:
            for stem in stems(text):
                counts[stem] = counts.get(stem, 0) + 1
        kept = sorted(stem for stem, count in counts.items() if count >= smallest)
        total = len(texts) + 1
        values = np.array([math.log(total / (counts[stem] + 1)) for stem in kept], np.float32)
        return kept, values, math.log(total)


class Overlap:
    """Which stems speak for which options. A stem that many options have tells them apart less, and where bare names
    are made of the same few words ("card_payment_fee", "cash_payment_fee"), shared words are believed less altogether.

    Args:
        options: name and description of each. rarity: of stems in texts at large. bare: whether they are names only.
    """

    def __init__(self, options: Sequence[str], rarity: Rarity, bare: bool = False) -> None:
        self.count = len(options)
        places: dict[str, list[int]] = {}
        for index, option in enumerate(options):
            for stem in stems(option):
                places.setdefault(stem, []).append(index)
        most = math.log(self.count + 0.5)
        self._found: dict[str, tuple[list[int], float]] = {}
        whole, own = np.zeros(self.count), np.zeros(self.count)
        for stem, owners in places.items():
            rare, told = rarity(stem), math.log((self.count + 0.5) / len(owners)) / most if most > 0 else 0.0
            if rare * told > 0:
                self._found[stem] = (owners, rare * told)
            if 2 * len(owners) <= self.count:  # what half of the options say is how the list is written
                whole[owners] += rare
                own[owners] += rare * told
        share = float(np.mean(own[whole > 0] / whole[whole > 0])) if whole.any() else 0.0
        low, high = OWN
        self.worth = min(max((share - low) / (high - low), 0.0), 1.0) if bare else 1.0

    def __call__(self, texts: Sequence[tuple[str, float]]) -> Array:
        """[count] summed weights of the stems that an option shares with weighted texts.

        A stem counts once, with the weight of the heaviest text that has it.
        """
        heaviest: dict[str, float] = {}
        for text, weight in texts:
            for stem in stems(text):
                if stem in self._found and weight > heaviest.get(stem, 0.0):
                    heaviest[stem] = weight
        total = np.zeros(self.count, np.float32)
        for stem, weight in heaviest.items():
            owners, own = self._found[stem]
            total[owners] += weight * own
        return total * np.float32(self.worth)


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word
