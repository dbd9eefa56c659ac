"""One model in a process of its own: batches in, decisions out.

Knows models and records. Must not know queues, tenants or who waits. What goes wrong with one ask of a batch stays
with that ask.
"""

from __future__ import annotations

import logging
import mmap
import os
import pickle
import socket
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from omniclef.answers import Confidence, Decision
from omniclef.backbones.base import Backbone, TokenCount, WindowedBackbone
from omniclef.engine.asks import Failed, Loading, Truncate
from omniclef.engine.decoder import Layout
from omniclef.engine.link import receive, send
from omniclef.errors import OmniclefError
from omniclef.records import Question, Record, TextLike

if TYPE_CHECKING:
    from omniclef.model import DecisionModel

__all__ = ["Done", "Item", "Options", "Outcome", "add_up", "answer_all", "main"]

log = logging.getLogger(__name__)

WARM = {"warm": {"type": "noul", "instructions": "Is this a test?"}}


@dataclass(frozen=True, slots=True)
class Options:
    """What records have to have in common to be answered together. ``counted`` ones are counted only."""

    confidence: Confidence = "typesafe"
    evidence: bool = False
    truncate: Truncate | None = None
    counted: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """One ask of a batch; its media, where it has any, are in the next file that came with the batch."""

    states: tuple[TextLike, ...]
    questions: dict[str, Question]
    options: Options
    layout: Layout | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """decisions: one a state, none where it was only counted. tokens: of all of them."""

    decisions: tuple[Decision, ...]
    tokens: TokenCount


Outcome: TypeAlias = Done | OmniclefError


@dataclass(slots=True)
class _Read:
    """An item as records."""

    place: int
    records: list[Record]
    options: Options


def answer_all(model: DecisionModel, items: Sequence[Item], files: Sequence[int] = ()) -> list[Outcome]:
    """An outcome for each item, in order. Items with the same options go through the model together; where that fails
    they go by halves, until the one that fails is alone. ``files`` are closed."""
    outcomes: list[Outcome | None] = [None] * len(items)
    groups: dict[Options, list[_Read]] = {}
    left = list(files)
    for place, item in enumerate(items):
        try:
            records = _records(item, left.pop(0) if item.layout else None)
            groups.setdefault(item.options, []).append(_Read(place, records, item.options))
        except Exception as error:
            outcomes[place] = _refusal(error)
    for group in groups.values():
        _answer(model, group, outcomes)
    return [outcome for outcome in outcomes if outcome is not None]


def main(number: int) -> None:
    """The child. Its first message is what to load, each further one a batch."""
    from omniclef.model import load

    sock = socket.socket(fileno=number)
    loading: Loading = pickle.loads(receive(sock)[0])
    try:
        model = load(loading.source, **_given(loading))
        model.decide("", WARM)  # opens what is opened when it is first needed
        send(sock, pickle.dumps(("ready", model.info)))
    except OmniclefError as error:
        send(sock, pickle.dumps(("failed", error)))
        return
    try:
        while True:
            message, files = receive(sock)
            items: list[Item] = pickle.loads(message)
            del message
            send(sock, pickle.dumps(answer_all(model, items, files)))
    except (EOFError, OSError):
        return  # nobody is there any more


def _given(loading: Loading) -> dict[str, Any]:
    """Arguments of ``load``; what only a release knows is left out for others, where it is not asked for."""
    from omniclef.model import embedded
    from omniclef.release import is_release

    names = ("threads", "precision", "device", "window", "remember")
    given = {name: value for name in names if (value := getattr(loading, name)) is not None}
    folder = Path(loading.source)
    if str(loading.source) not in embedded() and (is_release(folder) or not folder.exists()):
        given["ids"] = loading.ids
    return given


def _records(item: Item, file: int | None) -> list[Record]:
    if item.layout is None or file is None:
        return [Record(state, item.questions) for state in item.states]
    try:
        # Private pages: who writes to a picture writes to a copy of its own.
        media = item.layout.read(mmap.mmap(file, item.layout.nbytes, access=mmap.ACCESS_COPY))
    finally:
        os.close(file)
    return [Record(state, item.questions, *media) for state in item.states]


def _answer(model: DecisionModel, group: Sequence[_Read], outcomes: list[Outcome | None]) -> None:
    records = [record for read in group for record in read.records]
    options = group[0].options
    try:
        if options.counted:
            found: list[Any] = [_count(model.backbone, record, options) for record in records]
        else:
            found = model.decide_records(
                records, confidence=options.confidence, evidence=options.evidence, truncate=options.truncate
            )
    except Exception as error:
        if len(group) == 1:
            outcomes[group[0].place] = _refusal(error)
            return
        middle = len(group) // 2
        _answer(model, group[:middle], outcomes)
        _answer(model, group[middle:], outcomes)
        return
    for read in group:
        own, found = found[: len(read.records)], found[len(read.records) :]
        if options.counted:
            outcomes[read.place] = Done((), add_up(own))
        else:
            counts = [TokenCount(**decision.usage.modalities) for decision in own]
            outcomes[read.place] = Done(tuple(own), add_up(counts))


def _count(backbone: Backbone, record: Record, options: Options) -> TokenCount:
    if isinstance(backbone, WindowedBackbone):
        return backbone.count(record, truncate=options.truncate is not None)
    return backbone.prefill([record])[0].tokens


def add_up(counts: Sequence[TokenCount]) -> TokenCount:
    """All of them together."""
    return TokenCount(
        sum(count.text for count in counts),
        sum(count.image for count in counts),
        sum(count.audio for count in counts),
        sum(count.video for count in counts),
    )


def _refusal(error: Exception) -> OmniclefError:
    if isinstance(error, OmniclefError):
        return error
    # The text of a foreign error may hold what was asked: only its kind goes out, and to the log where it arose.
    places = [f"{frame.filename}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)]
    log.error("a request failed inside the model: %s at %s", type(error).__name__, " < ".join(reversed(places)))
    return Failed(f"the model failed on this request ({type(error).__name__})")
