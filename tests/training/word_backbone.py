"""A small real backbone for tests: every word has a fixed random vector, a piece is the mean of its words."""

import hashlib
from collections.abc import Sequence

import numpy as np

from omniclef.backbones.base import Prefill, TokenCount
from omniclef.records import Record

SIZE = 32
TYPES = {"noul": 0, "choice": 1, "score": 2}


def vector(word: str) -> np.ndarray:
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "little")
    return np.random.default_rng(seed).standard_normal(SIZE).astype(np.float32)


def rows(text: str) -> np.ndarray:
    return np.stack([vector(word) for word in text.lower().split() or [""]])


class WordBackbone:
    name = "words"

    def prefill(self, records: Sequence[Record]) -> list[Prefill]:
        return [self._one(record) for record in records]

    def _one(self, record: Record) -> Prefill:
        memory = rows(str(record.state))
        questions = list(record.questions.values())
        options = [(i, option) for i, q in enumerate(questions) for option in q.options()]
        words = np.stack([rows(f"{option.key} {option.text or ''}").mean(axis=0) for _, option in options])
        return Prefill(
            memory=memory,
            anchor=memory.mean(axis=0),
            questions=np.stack([rows(str(q.instructions)).mean(axis=0) for q in questions]),
            options=words,
            lexical=words,
            owners=np.array([i for i, _ in options], np.int64),
            types=np.array([TYPES[q.type] for q in questions], np.int64),
            tokens=TokenCount(len(memory)),
        )
