"""nano: four small towers and no prompt. Reads any record into what the joint schema head needs.

State, instructions, options and media are encoded apart from each other and cached; the head is where they meet. Knows
its towers, pieces and files; must not know probabilities, temperatures or who asks.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from omniclef.backbones.base import Array, Modality, Prefill, RowSource, TokenCount
from omniclef.backbones.nano.assets import Assets
from omniclef.backbones.nano.cache import Cache
from omniclef.backbones.nano.examples import Readout
from omniclef.backbones.nano.pieces import Segment, instruction, option_pieces, segments
from omniclef.backbones.nano.sight import Sight, read_clips, read_pictures, read_sounds
from omniclef.backbones.nano.steps import Needs, known_names
from omniclef.backbones.nano.text import TextRows
from omniclef.backbones.nano.wording import Overlap, says_none
from omniclef.records import Question, Record, TextLike, media_kind

__all__ = ["NanoBackbone", "question_texts"]

TYPES = {"noul": 0, "choice": 1, "score": 2}

ASKED = 0.1
"""Length of a question's hidden row beside the record's summary: the prior compares an option with both together,
and the instruction is already in the option's own text."""

CENTRE = 1.0
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
    overlap: Overlap | None  # of a choice
    fixed: Array  # [O] log-odds that no record changes
    needs: Needs | None  # of a choice
    trust: float

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
    words: tuple[tuple[str, float], ...]
    state: TextLike
    tokens: TokenCount
    sources: tuple[RowSource, ...]


class NanoBackbone:
    """The ``Backbone`` protocol on ``Assets``. Safe to share between threads."""

    name = "nano"

    def __init__(self, assets: Assets, echo: bool = True) -> None:
        """``echo=False`` leaves out each option's reading together with its instruction: every new wording would
        have to be read with every option, which training cannot afford."""
        self.assets = assets
        self._echo = echo
        self._asked: Cache[bytes, _Asked] = Cache(256 << 20)

    def prefill(self, records: Sequence[Record]) -> list[Prefill]:
        """One prefill a record; pieces that records share, or that were read before, are read once."""
        cut = [segments(record.state) for record in records]
        # Everything to read goes to the encoder at once: full batches are what makes many records cheap.
        wanted = dict.fromkeys(piece.text for pieces in cut for piece in pieces)
        schema = {id(q): q for record in records for q in record.questions.values()}
        keys = {number: _digest(q) for number, q in schema.items()}
        fresh = {keys[number]: q for number, q in schema.items()}
        asked, missing = self._asked.get_many(fresh)
        for key in missing:
            wanted.update(dict.fromkeys(question_texts(fresh[key], self._echo)))
        texts = self.assets.text.encode(wanted)
        read = {key: self._ask(fresh[key], texts) for key in missing}
        self._asked.put_many(read)
        asked.update(read)
        prefills = []
        for record, pieces in zip(records, cut, strict=True):
            questions = [asked[keys[id(q)]] for q in record.questions.values()]
            seen = self._see(record, pieces, texts)
            sharp = [self._sharpness(q, seen.tokens.medium) for q in questions]
            prefills.append(_join(seen, questions, self.assets.weights["overlap"], np.array(sharp, np.float32)))
        return prefills

    def _ask(self, question: Question, texts: dict[str, TextRows]) -> _Asked:
        pieces = option_pieces(question, self._echo)
        options = np.stack([texts[p.context].vector for p in pieces])
        lexical = np.stack([self._words(p.views, texts) for p in pieces])
        asked = instruction(question)
        hidden = texts[asked].vector if asked else _unit(options.mean(axis=0))
        read = list(dict.fromkeys([asked, *(p.context for p in pieces)])) if asked else [p.context for p in pieces]
        choice, trust = question.type == "choice", self.assets.trust(options)
        none = np.array([choice and says_none(option.key, option.text or "") for option in question.options()])
        bare = not any(p.described and not is_none for p, is_none in zip(pieces, none, strict=True))
        if trust < 0.5:
            # Such an option has no words of its own. Where the head knows no better, it is as likely as an option
            # whose words fit so and so well.
            lexical[none] = 0
        return _Asked(
            question=question,
            hidden=ASKED * _level(hidden),
            options=_level(options),
            lexical=lexical,
            clarity=self._clarity(read, texts),
            tokens=sum(len(texts[t].ids) for t in read),
            readouts=self.assets.readouts(question, lexical, texts, trust),
            overlap=Overlap([p.context for p in pieces], self.assets.rarity, bare) if choice and trust < 1 else None,
            fixed=np.float32((1 - trust) * self.assets.weights["none"]) * none,
            needs=(Needs(question.options()) or None) if choice else None,
            trust=trust,
        )

    def _clarity(self, read: Sequence[str], texts: Mapping[str, TextRows]) -> float:
        return self.assets.clarity((text, texts[text].ids, texts[text].spans) for text in read)

    def _words(self, views: Sequence[tuple[str, float]], texts: dict[str, TextRows]) -> Array:
        """[d] what an option's words mean; an option without words means what texts mean on average."""
        if not views:
            return _unit(self.assets.mean)
        return _unit(np.sum([weight * texts[text].vector for text, weight in views], axis=0))

    def _see(self, record: Record, pieces: Sequence[Segment], texts: Mapping[str, TextRows]) -> _Seen:
        read = [texts[p.text] for p in pieces]
        sights: list[Sight] = []
        if record.images:
            sights += read_pictures(self.assets.image, record.images)
        if record.audio:
            sights += read_sounds(self.assets.sound, record.audio)
        if record.videos:
            sights += read_clips(self.assets.image, self.assets.sound, record.videos)
        rows = [
            _mark(_scaled(texts[p.text].rows), self.assets.places[min(p.place, len(self.assets.places) - 1)])
            for p in pieces
        ]
        rows += [_mark(_scaled(sight.rows), self.assets.marks[sight.modality]) for sight in sights]
        memory = np.concatenate(rows) if rows else np.zeros((0, len(self.assets.mean)), np.float32)
        vectors = [s.vector for s in sights]
        keys: dict[Modality, Array] = {s.modality: s.key for s in reversed(sights) if s.key is not None}
        clarity = 1.0
        if pieces:
            said = _unit(np.sum([p.weight * texts[p.text].vector for p in pieces], axis=0))
            vectors.append(said)
            keys["text"] = said
            if not sights:
                clarity = self._clarity([p.text for p in pieces], texts)
        summary = _unit(np.sum([_unit(v) for v in vectors], axis=0)) if vectors else _unit(self.assets.mean)
        return _Seen(
            memory=memory,
            summary=summary - CENTRE * self.assets.mean,
            clarity=clarity,
            keys=keys,
            words=tuple((p.text, p.weight) for p in pieces),
            state=record.state,
            tokens=_count(read, sights),
            sources=_sources(pieces, read, sights),
        )

    def _sharpness(self, asked: _Asked, medium: Modality) -> float:
        """How much sharper than the stored temperature of its type a question's logits are to be.

        Training sharpens the prior together with the joint part; alone it is sharpened by a factor of its own. What is
        seen and heard is told with more or less certainty than what is read.
        """
        kind = asked.question.type
        known = self.assets.media.get(medium, {}).get(kind, 1.0)
        return asked.trust * known + (1 - asked.trust) * self.assets.sharp[kind]


def _digest(question: Question) -> bytes:
    """The same for questions that say the same, whoever made them: a request comes with new objects each time."""
    value = json.dumps([question.type, question.instructions, question.criteria], ensure_ascii=False)
    return hashlib.sha256(value.encode()).digest()


def question_texts(question: Question, echo: bool = True) -> list[str]:
    """Everything of a question that the text tower reads."""
    pieces = option_pieces(question, echo)
    asked = instruction(question)
    texts = [asked] if asked else []
    for piece in pieces:
        texts.append(piece.context)
        texts += [text for text, _ in piece.views]
    texts += [e for option in question.options() for e in option.examples if media_kind(e) is None]
    return texts


def _join(seen: _Seen, questions: Sequence[_Asked], overlap: float, sharp: Array) -> Prefill:
    counts = [len(q.options) for q in questions]
    heard = [_examples(q, seen) for q in questions]
    clarity = np.array([q.clarity * seen.clarity for q in questions], np.float32)
    shares = np.array([share for _, share in heard], np.float32)
    trusts = np.array([q.trust for q in questions], np.float32)
    shares *= sharp
    own = [share * _said(q, seen, overlap) for q, share in zip(questions, shares, strict=True)]
    odds = [said + found for said, (found, _) in zip(own, heard, strict=True)]
    bias = np.repeat(clarity, counts) * np.concatenate(odds)
    scale, trust = np.repeat(clarity * shares, counts), np.repeat(trusts, counts)
    return Prefill(
        memory=seen.memory,
        anchor=seen.summary,
        questions=np.stack([q.hidden for q in questions]),
        options=np.concatenate([q.options for q in questions]),
        lexical=np.concatenate([q.lexical for q in questions]),
        owners=np.repeat(np.arange(len(questions)), counts),
        types=np.array([TYPES[q.question.type] for q in questions], np.int64),
        scale=None if (abs(scale - 1) < 1e-3).all() else scale,
        bias=bias if bias.any() else None,
        trust=None if (trust > 0.999).all() else trust,
        first=_first(questions, seen.state),
        tokens=replace(seen.tokens, text=seen.tokens.text + sum(q.tokens for q in questions)),
        sources=seen.sources,
    )


def _first(questions: Sequence[_Asked], state: TextLike) -> npt.NDArray[np.bool_] | None:
    """[O, O] which options wait for which, by what the state has already; None where none does."""
    if all(question.needs is None for question in questions):
        return None
    total = sum(len(question.options) for question in questions)
    first, start = np.zeros((total, total), np.bool_), 0
    for question in questions:
        stop = start + len(question.options)
        waits = question.needs(known_names(state, question.needs.names)) if question.needs else None
        if waits is not None:
            first[start:stop, start:stop] = waits
        start = stop
    return first if first.any() else None


def _said(question: _Asked, seen: _Seen, overlap: float) -> Array:
    """[O] log-odds by the rare words that options share with the record, and by standing for none of the others."""
    if question.overlap is None or not seen.words:
        return question.fixed
    return question.fixed + (1 - question.trust) * overlap * question.overlap(seen.words)


def _examples(question: _Asked, seen: _Seen) -> tuple[Array, float]:
    """[O] log-odds by the examples that can be compared with the record, and what they leave to the head."""
    total = np.zeros(len(question.options), np.float32)
    share = 1.0
    for modality, readout in question.readouts.items():
        key = seen.keys.get(modality)
        if key is not None:
            total += readout(key)
            share = min(share, readout.share)
    return total, share


def _count(read: Sequence[TextRows], sights: Sequence[Sight]) -> TokenCount:
    by = {"image": 0, "audio": 0, "video": 0}
    for sight in sights:
        by[sight.modality] += len(sight.rows)
    return TokenCount(text=sum(len(text.ids) for text in read), **by)


def _sources(pieces: Sequence[Segment], read: Sequence[TextRows], sights: Sequence[Sight]) -> tuple[RowSource, ...]:
    found = []
    start = 0
    for index, (piece, text) in enumerate(zip(pieces, read, strict=True)):
        stop = start + len(text.spans)
        found.append(RowSource("text", index, start, stop, text.spans, text.rows, piece.weight))
        start = stop
    for sight in sights:
        stop = start + len(sight.rows)
        found.append(RowSource(sight.modality, sight.index, start, stop, sight.spans, _unit(sight.vector)[None]))
        start = stop
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
    scaled: Array = rows / np.maximum(np.sqrt((rows * rows).mean(axis=1, keepdims=True)), 1e-6)
    return scaled


def _mark(rows: Array, mark: Array) -> Array:
    return rows + MARK * mark
