"""nano: four small towers and no prompt. Reads any record into what the joint schema head needs.

State, instructions, options and media are encoded apart from each other and cached; the head is where they meet. Knows
its towers, pieces and files; must not know probabilities, temperatures or who asks.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from omniclef.backbones.base import Array, Modality, Prefill, RowSource, TokenCount
from omniclef.backbones.nano.assets import Assets
from omniclef.backbones.nano.cache import Cache
from omniclef.backbones.nano.examples import Readout
from omniclef.backbones.nano.pieces import instruction, option_pieces, segments
from omniclef.backbones.nano.sight import Sight, read_clips, read_pictures, read_sounds
from omniclef.backbones.nano.text import TextRows
from omniclef.records import Question, Record

__all__ = ["NanoBackbone"]

TYPES = {"noul": 0, "choice": 1, "score": 2}

ASKED = 0.1
"""Length of a question's hidden row beside the record's summary: the prior compares an option with both together,
and the instruction is already in the option's own text."""

CENTRE = 0.5
"""Share of the average text that is taken out of a summary, so that no option wins because it resembles any text."""

MARK = 0.25
"""Length of a row's marks of place and modality, beside the row itself."""


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """One question, read: everything about it that no state changes."""

    question: Question
    hidden: Array  # [d]
    options: Array  # [O, d]
    lexical: Array  # [O, d]
    clarity: float
    tokens: int
    readouts: dict[Modality, Readout]

    @property
    def nbytes(self) -> int:
        return self.options.nbytes * 2 + self.hidden.nbytes + sum(r.nbytes for r in self.readouts.values())


@dataclass(frozen=True, slots=True, eq=False)
class _Seen:
    """A record's evidence, before any question: rows, what they sum up to, and keys to compare examples with."""

    memory: Array  # [L, d]
    summary: Array  # [d]
    clarity: float
    keys: dict[Modality, Array]
    tokens: TokenCount
    sources: tuple[RowSource, ...]


class NanoBackbone:
    """The ``Backbone`` protocol on ``Assets``. Safe to share between threads."""

    name = "nano"

    def __init__(self, assets: Assets) -> None:
        self.assets = assets
        self._asked: Cache[int, _Asked] = Cache(256 << 20)
        self._lock = threading.Lock()

    def prefill(self, records: Sequence[Record]) -> list[Prefill]:
        """One prefill a record; pieces that records share, or that were read before, are read once."""
        cut = [segments(record.state) for record in records]
        # Everything to read goes to the encoder at once: full batches are what makes many records cheap.
        wanted = dict.fromkeys(piece.text for pieces in cut for piece in pieces)
        fresh = {id(q): q for record in records for q in record.questions.values() if self._asked.get(id(q)) is None}
        for question in fresh.values():
            wanted.update(dict.fromkeys(_texts(question)))
        texts = self.assets.text.encode(wanted)
        asked = {key: self._ask(question, texts) for key, question in fresh.items()}
        self._asked.put_many(asked)
        prefills = []
        for record, pieces in zip(records, cut, strict=True):
            questions = [asked.get(id(q)) or self._known(q) for q in record.questions.values()]
            seen = self._see(record, [(p.weight, p.place, texts[p.text]) for p in pieces])
            prefills.append(_join(seen, questions, self.assets.mean))
        return prefills

    def _known(self, question: Question) -> _Asked:
        found = self._asked.get(id(question))
        # The cache holds the question itself, so an id cannot have passed to another object meanwhile.
        return found if found is not None else self._ask(question, self.assets.text.encode(_texts(question)))

    def _ask(self, question: Question, texts: dict[str, TextRows]) -> _Asked:
        pieces = option_pieces(question)
        options = np.stack([texts[p.context].vector for p in pieces])
        lexical = np.stack([self._words(p.views, texts) for p in pieces])
        asked = instruction(question)
        hidden = texts[asked].vector if asked else _unit(options.mean(axis=0))
        read = list(dict.fromkeys([asked, *(p.context for p in pieces)])) if asked else [p.context for p in pieces]
        ids = np.concatenate([texts[t].ids for t in read])
        return _Asked(
            question=question,
            hidden=ASKED * _level(hidden),
            options=_level(options),
            lexical=lexical,
            clarity=self.assets.clarity(ids),
            tokens=len(ids),
            readouts=self.assets.readouts(question, lexical, texts),
        )

    def _words(self, views: Sequence[tuple[str, float]], texts: dict[str, TextRows]) -> Array:
        """[d] what an option's words mean; an option without words means what texts mean on average."""
        if not views:
            return _unit(self.assets.mean)
        return _unit(np.sum([weight * texts[text].vector for text, weight in views], axis=0))

    def _see(self, record: Record, pieces: Sequence[tuple[float, int, TextRows]]) -> _Seen:
        sights: list[Sight] = []
        if record.images:
            sights += read_pictures(self.assets.image, record.images)
        if record.audio:
            sights += read_sounds(self.assets.sound, record.audio)
        if record.videos:
            sights += read_clips(self.assets.image, self.assets.sound, record.videos)
        rows = [_mark(_scaled(text.rows), self.assets.places[min(place, len(self.assets.places) - 1)])
                for _, place, text in pieces]
        rows += [_mark(_scaled(sight.rows), self.assets.marks[sight.modality]) for sight in sights]
        memory = np.concatenate(rows) if rows else np.zeros((0, len(self.assets.mean)), np.float32)
        vectors = [s.vector for s in sights]
        keys: dict[Modality, Array] = {s.modality: s.key for s in reversed(sights) if s.key is not None}
        clarity = 1.0
        if pieces:
            said = _unit(np.sum([weight * text.vector for weight, _, text in pieces], axis=0))
            vectors.append(said)
            keys["text"] = said
            if not sights:
                clarity = self.assets.clarity(np.concatenate([text.ids for _, _, text in pieces]))
        summary = _unit(np.sum([_unit(v) for v in vectors], axis=0)) if vectors else _unit(self.assets.mean)
        return _Seen(
            memory=memory,
            summary=summary - CENTRE * self.assets.mean,
            clarity=clarity,
            keys=keys,
            tokens=_count(pieces, sights),
            sources=_sources(pieces, sights),
        )


def _texts(question: Question) -> list[str]:
    pieces = option_pieces(question)
    asked = instruction(question)
    texts = [asked] if asked else []
    for piece in pieces:
        texts.append(piece.context)
        texts += [text for text, _ in piece.views]
    texts += [e for option in question.options() for e in option.examples if not e.startswith("data:")]
    return texts


def _join(seen: _Seen, questions: Sequence[_Asked], mean: Array) -> Prefill:
    counts = [len(q.options) for q in questions]
    clarity = np.repeat(np.float32([q.clarity * seen.clarity for q in questions]), counts)
    examples = [_examples(q, seen) for q in questions]
    return Prefill(
        memory=seen.memory,
        anchor=seen.summary,
        questions=np.stack([q.hidden for q in questions]),
        options=np.concatenate([q.options for q in questions]),
        lexical=np.concatenate([q.lexical for q in questions]),
        owners=np.repeat(np.arange(len(questions)), counts),
        types=np.array([TYPES[q.question.type] for q in questions], np.int64),
        examples=np.concatenate(examples) if any(q.readouts for q in questions) else None,
        clarity=None if (clarity > 0.999).all() else clarity,
        tokens=replace(seen.tokens, text=seen.tokens.text + sum(q.tokens for q in questions)),
        sources=seen.sources,
    )


def _examples(question: _Asked, seen: _Seen) -> Array:
    total = np.zeros(len(question.options), np.float32)
    for modality, readout in question.readouts.items():
        key = seen.keys.get(modality)
        if key is not None:
            total += readout(key)
    return total


def _count(pieces: Sequence[tuple[float, int, TextRows]], sights: Sequence[Sight]) -> TokenCount:
    by = {"image": 0, "audio": 0, "video": 0}
    for sight in sights:
        by[sight.modality] += len(sight.rows)
    return TokenCount(text=sum(len(text.ids) for _, _, text in pieces), **by)


def _sources(pieces: Sequence[tuple[float, int, TextRows]], sights: Sequence[Sight]) -> tuple[RowSource, ...]:
    found = []
    start = 0
    for index, (_, _, text) in enumerate(pieces):
        spans = tuple((float(a), float(b)) for a, b in text.spans)
        found.append(RowSource("text", index, start, start + len(spans), spans))
        start += len(spans)
    for sight in sights:
        found.append(RowSource(sight.modality, sight.index, start, start + len(sight.rows), sight.spans))
        start += len(sight.rows)
    return tuple(found)


def _unit(vector: Array) -> Array:
    found: Array = (vector / max(float(np.linalg.norm(vector)), 1e-9)).astype(np.float32)
    return found


def _level(rows: Array) -> Array:
    """Layer normalisation without gain, over the last axis: what the head expects of span means."""
    centred = rows - rows.mean(axis=-1, keepdims=True)
    found: Array = (centred / (centred.std(axis=-1, keepdims=True) + 1e-5)).astype(np.float32)
    return found


def _scaled(rows: Array) -> Array:
    """Rows of one typical length, so that a mark weighs the same on each."""
    return rows / np.maximum(np.sqrt((rows * rows).mean(axis=1, keepdims=True)), 1e-6)


def _mark(rows: Array, mark: Array) -> Array:
    return rows + MARK * mark
