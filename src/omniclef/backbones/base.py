"""What a backbone owes the joint schema head, and what the head gives back.

A backbone turns one record into hidden rows in a single prefill. It knows its own prompt or pieces, its tokenizer
and its media towers; it knows nothing of probabilities, HTTP or queues.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from omniclef.records import Record

__all__ = [
    "Array",
    "Backbone",
    "Head",
    "Leaf",
    "Prefill",
    "RowSource",
    "Scores",
    "TokenCount",
    "WindowedBackbone",
    "below",
]

Array = npt.NDArray[np.float32]
Modality = Literal["text", "image", "audio", "video"]


@dataclass(frozen=True, slots=True)
class TokenCount:
    """Input tokens of one record, by modality; ``text`` counts the state and the schema."""

    text: int = 0
    image: int = 0
    audio: int = 0
    video: int = 0

    @property
    def total(self) -> int:
        return self.text + self.image + self.audio + self.video

    @property
    def medium(self) -> Modality:
        """The sense that the record speaks to most: text where there is no medium at all."""
        if self.video:
            return "video"
        return "audio" if self.audio else "image" if self.image else "text"


@dataclass(frozen=True, slots=True)
class Leaf:
    """One value of a state within a text that a backbone read.

    path:  JSON Pointer (RFC 6901) of the value, or None where the state is a text
    value: the string itself, or a number, a truth value or null as JSON writes it
    start: where the value begins in the text
    edges: where each character of the value begins in the text, counted from ``start``; None where each takes one
    """

    path: str | None
    value: str
    start: int
    edges: npt.NDArray[np.int64] | None = None


def below(path: str, key: str) -> str:
    """The JSON Pointer of what ``path`` holds under ``key``."""
    return f"{path}/{key.replace('~', '~0').replace('/', '~1')}"


@dataclass(frozen=True, slots=True)
class RowSource:
    """Where memory rows ``start`` (inclusive) to ``stop`` (exclusive) came from.

    ``index`` is the position of the medium in the record, or of a text among those that the backbone made of the state.
    ``spans`` has one entry a row: character offsets for text, (left, top, right, bottom) as fractions for an image,
    (from, to) seconds for sound and video.

    Where the record's anchor is a sum over sources, ``summed`` tells what of: the rows [n, d] of a text, which counts
    as their sum at length ``share``, or a vector [1, d] of a medium.
    """

    modality: Modality
    index: int
    start: int
    stop: int
    spans: Sequence[tuple[float, ...]] | npt.NDArray[np.int32]
    summed: Array | None = field(default=None, compare=False, repr=False)
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class Prefill:
    """One record, read. d is the hidden size, L memory rows, Q questions, O options of all questions together.

    memory:    [L, d] hidden rows, or [L, W] rows as the head projects them, that options and fields may attend to
    anchor:    [d] the global row (the last token of a causal backbone)
    questions: [Q, d] mean hidden row of each question
    options:   [O, d] mean hidden row of each option
    lexical:   [O, d] mean output-embedding row of each option: what its words mean by themselves
    owners:    [O] int64, the question an option belongs to, ascending
    types:     [Q] int64, 0 noul, 1 choice, 2 score
    scale:     [O] factor of an option's logit, or None for 1: below 1 where the backbone can read only a part of the
               question or the record, or where examples are to speak instead of words
    bias:      [O] log-odds that need no head, added to an option's scaled logit, or None: its own examples, its words
    trust:     [O] factor of the head's joint part, or None for 1: below 1 where a question is unlike any that the head
               was trained on, and the prior alone is the safer answer
    first:     [O, O] bool, or None: True at (i, j) where option i has to wait for option j of the same question
    projected: whether ``memory`` went through the head's norm and projection already
    dropped:   tokens of the state that were cut off because the caller allowed it
    cached:    tokens that were read before, for another record
    sources:   what memory rows came from; rows of none of them (a prompt's fixed text, its questions) are no evidence

    ``hidden_norm`` has NOT been applied: the head does it on the rows it is given (``memory`` and ``anchor``), while
    ``questions`` and ``options`` are means over already normalised rows.
    """

    memory: Array
    anchor: Array
    questions: Array
    options: Array
    lexical: Array
    owners: npt.NDArray[np.int64]
    types: npt.NDArray[np.int64]
    scale: Array | None = None
    bias: Array | None = None
    trust: Array | None = None
    first: npt.NDArray[np.bool_] | None = None
    projected: bool = False
    tokens: TokenCount = TokenCount()
    sources: tuple[RowSource, ...] = field(default=())
    dropped: int = 0
    cached: int = 0


@dataclass(frozen=True, slots=True)
class Scores:
    """logits: [O], in the order of ``Prefill.options``. attention: [O, L] of the last routing layer, or None."""

    logits: Array
    attention: Array | None = None


class Head(Protocol):
    """Two-stage routing from prefills to one logit per option."""

    def __call__(self, prefills: Sequence[Prefill], *, attention: bool = False) -> list[Scores]: ...


class Backbone(Protocol):
    """Reads records. ``prefill`` gives for each record the same rows it would give alone (<= 1e-4)."""

    name: str

    def prefill(self, records: Sequence[Record]) -> list[Prefill]: ...


@runtime_checkable
class WindowedBackbone(Backbone, Protocol):
    """A backbone that reads a prompt of limited length. A record beyond it is refused, or loses the end of its state
    where ``truncate`` allows that; ``count`` tells a record's tokens without reading it."""

    def prefill(self, records: Sequence[Record], *, truncate: bool = False) -> list[Prefill]: ...

    def count(self, record: Record, *, truncate: bool = False) -> TokenCount: ...
