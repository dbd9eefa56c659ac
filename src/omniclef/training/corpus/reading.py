"""What every text corpus shares: reading rows, cutting texts, drawing at random, and writing wire questions.

Knows nothing of any one data set.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np

from omniclef.training.records import LabelledRecord

__all__ = [
    "Asked",
    "Grouped",
    "Label",
    "Rng",
    "Wire",
    "bucket",
    "choice",
    "chosen",
    "cut",
    "grouped",
    "normal",
    "noul",
    "one",
    "rows",
    "score",
    "shuffled",
    "stems",
]

Rng: TypeAlias = np.random.Generator
Wire: TypeAlias = dict[str, Any]
Label: TypeAlias = bool | str | int
Asked: TypeAlias = dict[str, tuple[Wire, Label]]
"""Questions of one state, each with its right answer."""
Grouped: TypeAlias = tuple[str, LabelledRecord]
"""A record and the group that must not be torn between training and validation: a dialogue, a table, a
text.
"""
T = TypeVar("T")

_STOP = frozenset(
    [
        "the",
        "and",
        "for",
        "that",
        "this",
        "with",
        "you",
        "your",
        "are",
        "was",
        "have",
        "from",
        "not",
        "but",
        "can",
        "about",
        "what",
        "will",
    ]
)


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a JSON-lines file."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)


def one(rng: Rng, items: Sequence[T]) -> T:
    return items[int(rng.integers(len(items)))]


def chosen(rng: Rng, items: Sequence[T], count: int) -> list[T]:
    """Up to ``count`` different items, in random order."""
    return [items[i] for i in rng.choice(len(items), min(count, len(items)), replace=False)] if items else []


def shuffled(rng: Rng, items: Sequence[T]) -> list[T]:
    return chosen(rng, items, len(items))


def cut(text: str, words: int) -> str:
    """The first ``words`` words, with runs of blanks as one space."""
    parts = text.split()
    return " ".join(parts[:words]) + (" ..." if len(parts) > words else "")


def normal(name: str) -> str:
    """A name without its case, its underscores and its camel humps, so that two writings of it compare
    equal.
    """
    return re.sub(r"[\W_]+", "", name).lower()


def stems(text: str) -> set[str]:
    """First five letters of every longer word: enough to see that two texts speak of the same thing."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)
    return {w[:5] for w in re.findall(r"[a-z]{3,}", spaced.lower()) if w not in _STOP}


def bucket(text: str, parts: int, salt: str = "") -> int:
    """A number below ``parts`` that depends on the text alone."""
    return int.from_bytes(hashlib.blake2b(f"{salt}|{text}".encode(), digest_size=4).digest()) % parts


def noul(instructions: str, true: str | None = None, false: str | None = None) -> Wire:
    sides = {k: v for k, v in (("true", true), ("false", false)) if v}
    return {"type": "noul", "instructions": instructions} | ({"criteria": sides} if sides else {})


def choice(instructions: str, options: Mapping[str, Any] | Sequence[str]) -> Wire:
    criteria = dict(options) if isinstance(options, Mapping) else dict.fromkeys(options)
    return {"type": "choice", "instructions": instructions, "criteria": criteria}


def score(instructions: str, levels: Sequence[str]) -> Wire:
    return {"type": "score", "instructions": instructions, "criteria": list(levels)}


def grouped(family: str, state: Any, asked: Asked, group: str | None = None) -> Grouped:
    """A record of ``family``; its group is the state itself where none is named."""
    key = (
        group if group is not None else state if isinstance(state, str) else json.dumps(state, sort_keys=True)
    )
    questions = {name: question for name, (question, _) in asked.items()}
    labels = {name: label for name, (_, label) in asked.items()}
    return f"{family}|{key}", LabelledRecord(family, state, questions, labels)
