"""The walk itself: a request becomes records, media, hidden rows, logits and answers, for one record or many.

Knows the rooms and their order; knows nothing of HTTP or the command line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from omniclef.answers import CONFIDENCES, Confidence, Decision, Evidence, Usage, answer, softmax
from omniclef.backbones.base import Array, Backbone, Head, Prefill, RowSource, Scores
from omniclef.backbones.nano import Assets, NanoBackbone
from omniclef.backbones.nano.pieces import segments
from omniclef.errors import InvalidInput, ModelNotFound
from omniclef.media import Fetch, load_audio, load_image, load_video
from omniclef.media.budgets import DEFAULT_BUDGETS
from omniclef.media.sources import Source
from omniclef.records import Question, Record, Request, TextLike, parse_questions, parse_request

__all__ = ["DecisionModel", "ModelInfo", "embedded", "load"]

BATCH = 64
"""Records that go through the head together: enough to fill the machine, few enough to stay small."""

SHOWN = 5
"""Pieces of evidence kept for each option."""


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What a model is and reads.

    families: data families it was trained on. size: bytes of its files. digest: of its files; two models with one
    digest answer alike.
    """

    name: str
    digest: str
    description: str
    licence: str
    reads: tuple[str, ...]
    families: tuple[str, ...]
    size: int
    limits: Mapping[str, int] = field(default_factory=dict)


def embedded() -> dict[str, Path]:
    """The models that come with the package, by name."""
    root = Path(str(resources.files("omniclef"))) / "weights"
    return {path.parent.name: path.parent for path in sorted(root.glob("*/config.json"))}


def load(model: str | Path = "nano", *, threads: int | None = None) -> DecisionModel:
    """A model by the name of an embedded one, or from a folder.

    Args:
        model: ``nano``, or a folder with a ``config.json``.
        threads: for computing; None takes the machine's cores.

    Raises:
        ModelNotFound: there is no such model, or its folder is incomplete.
    """
    known = embedded()
    folder = known.get(str(model), Path(model))
    if not (folder / "config.json").is_file():
        names = ", ".join(known)
        raise ModelNotFound(
            f"model {str(model)!r} is not known; use {names}, or a folder that holds a config.json"
        )
    assets = Assets(folder, threads)
    return DecisionModel(NanoBackbone(assets), assets)


class DecisionModel:
    """Answers typed questions about states, pictures, sounds and clips with probabilities. Safe between threads."""

    def __init__(self, backbone: Backbone, assets: Assets) -> None:
        self._backbone = backbone
        self._assets = assets
        self._temperatures: Mapping[str, float] = assets.config["temperatures"]

    @cached_property
    def info(self) -> ModelInfo:
        """What this model is. Reads its files once, to tell its digest."""
        config = self._assets.config
        return ModelInfo(
            name=config["name"],
            digest=self._assets.digest,
            description=config["description"],
            licence=config["licence"],
            reads=tuple(config["reads"]),
            families=tuple(config["families"]),
            size=sum(path.stat().st_size for path in self._assets.folder.iterdir() if path.is_file()),
            limits=config["limits"],
        )

    def decide(
        self,
        state: TextLike = "",
        questions: Mapping[str, Any] | None = None,
        *,
        images: Iterable[Source] = (),
        audio: Iterable[Source] = (),
        videos: Iterable[Source] = (),
        confidence: Confidence = "typesafe",
        evidence: bool = False,
        fetch: Fetch | None = None,
    ) -> Decision:
        """Answers every question about one record.

        Args:
            state: text or JSON; may be empty where media say it all.
            questions: id to ``Noul``, ``Choice`` or ``Score``, or to their wire objects.
            images, audio, videos: encoded bytes, paths or data URLs.
            confidence: formula of the confidences, see ``answers.answer``.
            evidence: also tell what each option drew on.
            fetch: called with any http(s) URL among the media; without it URLs are refused.

        Raises:
            InvalidRequest: the state or a question breaks a rule.
            MediaError: a medium cannot be read, or asks for more than its budget.
        """
        record = read_record(state, parse_questions(questions), images, audio, videos, fetch)
        return self.decide_records([record], confidence=confidence, evidence=evidence)[0]

    def decide_many(
        self,
        states: Iterable[TextLike],
        questions: Mapping[str, Any],
        *,
        confidence: Confidence = "typesafe",
        evidence: bool = False,
    ) -> list[Decision]:
        """Answers the same questions about each state; the questions are read once."""
        parsed = parse_questions(questions)
        records = [Record(state, parsed) for state in states]
        return self.decide_records(records, confidence=confidence, evidence=evidence)

    def decide_request(
        self,
        request: Request | Mapping[str, Any],
        *,
        confidence: Confidence = "typesafe",
        evidence: bool = False,
    ) -> Decision:
        """Answers a whole System One request. Its media come as data URLs; nothing is opened or fetched."""
        asked = request if isinstance(request, Request) else parse_request(request)
        record = read_record(asked.state, asked.questions, asked.images, asked.audio, asked.videos, None)
        return self.decide_records([record], confidence=confidence, evidence=evidence)[0]

    def decide_records(
        self, records: Sequence[Record], *, confidence: Confidence = "typesafe", evidence: bool = False
    ) -> list[Decision]:
        """Answers records whose media are decoded already, each as it would be answered alone (within 1e-4)."""
        if confidence not in CONFIDENCES:
            raise InvalidInput(
                "confidence", f"{confidence!r} is not a formula", f"use {', '.join(CONFIDENCES)}"
            )
        decisions = []
        for start in range(0, len(records), BATCH):
            batch = records[start : start + BATCH]
            prefills = self._backbone.prefill(batch)
            scores = self._head(prefills, attention=evidence)
            for record, prefill, found in zip(batch, prefills, scores, strict=True):
                decisions.append(self._decision(record, prefill, found, confidence))
        return decisions

    @property
    def _head(self) -> Head:
        return self._assets.head

    def _decision(self, record: Record, prefill: Prefill, scores: Scores, confidence: Confidence) -> Decision:
        answers = {}
        pieces: dict[str, dict[str, list[Evidence]]] = {}
        start = 0
        for key, question in record.questions.items():
            stop = start + len(question.options())
            p = softmax(scores.logits[start:stop].tolist(), self._temperatures[question.type])
            answers[key] = answer(question, p, confidence)
            if scores.attention is not None:
                pieces[key] = _evidence(question, record, scores.attention[start:stop], prefill.sources)
            start = stop
        usage = Usage(prefill.tokens.total)
        return Decision(self._backbone.name, answers, usage, pieces if scores.attention is not None else None)


def read_record(
    state: TextLike,
    questions: dict[str, Question],
    images: Iterable[Source],
    audio: Iterable[Source],
    videos: Iterable[Source],
    fetch: Fetch | None,
) -> Record:
    """A record with its media decoded, within the budgets on their number and size."""
    given = {"images": list(images), "audio": list(audio), "videos": list(videos)}
    DEFAULT_BUDGETS.check_counts(**{name: len(sources) for name, sources in given.items()})
    return Record(
        state=state,
        questions=questions,
        images=tuple(load_image(s, field=f"images[{i}]", fetch=fetch) for i, s in enumerate(given["images"])),
        audio=tuple(load_audio(s, field=f"audio[{i}]", fetch=fetch) for i, s in enumerate(given["audio"])),
        videos=tuple(load_video(s, field=f"videos[{i}]", fetch=fetch) for i, s in enumerate(given["videos"])),
    )


def _evidence(
    question: Question, record: Record, attention: Array, sources: Sequence[RowSource]
) -> dict[str, list[Evidence]]:
    """The heaviest pieces of each option. attention: [O, L], one line an option of this question."""
    texts = [segment.text for segment in segments(record.state)]
    spans = [(source, span) for source in sources for span in source.spans]
    found = {}
    for option, weights in zip(question.options(), attention, strict=True):
        best = np.argsort(-weights, kind="stable")[:SHOWN]
        found[option.key] = [_piece(spans[i], float(weights[i]), texts) for i in best.tolist()]
    return found


def _piece(place: tuple[RowSource, tuple[float, ...]], weight: float, texts: Sequence[str]) -> Evidence:
    source, span = place
    if source.modality != "text":
        return Evidence(source.modality, source.index, span, weight)
    start, stop = (int(edge) for edge in span)
    return Evidence("text", source.index, span, weight, texts[source.index][start:stop])
