"""Whoever can be measured: one small protocol, and the local model behind it.

Knows requests, records and decisions; knows nothing of suites, labels or metrics.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from omniclef.answers import Decision
from omniclef.model import read_record
from omniclef.records import Question, Record, parse_questions

__all__ = ["Answerer", "LocalModel", "ModelInfo", "RecordModel"]

_MEDIA = ("images", "audio", "videos")


@runtime_checkable
class Answerer(Protocol):
    """Anything that answers wire-shaped requests, near or far.

    name: as it stands in a report. digest: changes whenever its answers may; answers are stored under it.
    families: data families it was trained on, or None where nobody says.
    """

    name: str
    digest: str
    families: frozenset[str] | None

    def decide_requests(self, requests: Sequence[Mapping[str, Any]]) -> list[Decision]:
        """One decision for each request, in order. Raises OmniclefError when one of them cannot be answered.

        Requests of a suite share one ``questions`` object, so ``is`` tells whether a schema is the one just
        seen. Media are paths or encoded bytes.
        """
        ...


class ModelInfo(Protocol):
    """What a report says of a local model."""

    @property
    def name(self) -> str: ...
    @property
    def digest(self) -> str: ...
    @property
    def families(self) -> Iterable[str]: ...


class RecordModel(Protocol):
    """The part of DecisionModel that an evaluation uses."""

    @property
    def info(self) -> ModelInfo: ...

    def decide_many(self, states: Sequence[Any], questions: Mapping[str, Question]) -> list[Decision]: ...

    def decide_records(self, records: Sequence[Record]) -> list[Decision]: ...


class LocalModel:
    """A model of this process as an Answerer: one schema over many states where a batch allows it."""

    def __init__(self, model: RecordModel) -> None:
        self.name = model.info.name
        self.digest = model.info.digest
        self.families: frozenset[str] | None = frozenset(model.info.families)
        self._model = model
        self._seen: Mapping[str, Any] | None = None
        self._parsed: dict[str, Question] = {}

    def decide_requests(self, requests: Sequence[Mapping[str, Any]]) -> list[Decision]:
        schema = requests[0]["questions"]
        if all(r["questions"] is schema and not any(r.get(kind) for kind in _MEDIA) for r in requests):
            return self._model.decide_many([r["state"] for r in requests], self._parse(schema))
        return self._model.decide_records([self._record(r) for r in requests])

    def _record(self, request: Mapping[str, Any]) -> Record:
        images, audio, videos = (request.get(kind, ()) for kind in _MEDIA)
        return read_record(request["state"], self._parse(request["questions"]), images, audio, videos, None)

    def _parse(self, schema: Mapping[str, Any]) -> dict[str, Question]:
        """Parsed once for a whole suite: a schema with thousands of example pictures is megabytes of text."""
        if schema is not self._seen:
            self._seen, self._parsed = schema, parse_questions(schema)
        return self._parsed
