"""Suites: named sets of cases with one plain question each, read from the JSON files in ``suites/``.

Knows data files, wire-shaped requests and labels; knows nothing of models or metrics. A suite is data:
adding one that comes as a table is one JSON file (see ``suites/sst5.json``), and ``"like"`` takes over
another suite's entries.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import av

from omniclef.errors import InvalidInput
from omniclef.evaluation.readers import READERS, Label, Row, read_table
from omniclef.evaluation.sources import DataFolder, SourceFile

__all__ = ["Case", "Cases", "Suite", "get_suite", "option_keys", "silent", "suite_names"]


@dataclass(frozen=True, slots=True)
class Case:
    """One request as on the wire and what is right.

    id: position in the full split and a digest of the row; the same in every run over the same data.
    request: state, questions and, where there are any, images, audio and videos (paths, or bytes).
    labels: {question: true or false | option | level index}.
    group: a part of the suite whose accuracy is reported on its own; may be empty.
    """

    id: str
    request: Mapping[str, Any]
    labels: Mapping[str, Label]
    group: str = ""


class Suite:
    """One suite. ``digest`` changes with anything in its JSON file, wording included; ``shared`` holds its
    questions as written there, before options and examples that come from files.
    """

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self.name: str = spec["name"]
        self.family: str = spec["family"]
        self.headline: str = spec["headline"]
        self.size: int = spec["size"]
        self.source: str = spec["source"]
        self.headline_questions: tuple[str, ...] = tuple(spec.get("headline_questions", ()))
        self.files = {key: SourceFile(**entry) for key, entry in spec["files"].items()}
        self.digest = hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:16]
        self.shared: dict[str, Any] = spec["questions"]
        self._spec = spec

    def cases(self, folder: DataFolder, *, limit: int | None = None, seed: int = 0) -> Cases:
        """The full test split, or a seeded subsample of ``limit`` cases in the split's order.

        Raises InvalidInput: a file is missing, or ``limit`` is not positive.
        """
        if limit is not None and limit < 1:
            raise InvalidInput("limit", f"{limit} cases asked for", "ask for at least 1")
        rows = list(enumerate(READERS[self._spec["reader"]](self._locate(folder), self._spec["rows"])))
        total = len(rows)
        if limit is not None and limit < total:
            rows = sorted(random.Random(seed).sample(rows, limit), key=lambda numbered: numbered[0])
        return Cases(self.name, folder, rows, total, self.questions(folder))

    def questions(self, folder: DataFolder) -> dict[str, Any]:
        """The wire-shaped questions that all cases share; empty where each case asks its own."""
        questions = {name: dict(question) for name, question in self.shared.items()}
        for name, source in self._spec.get("options", {}).items():
            questions[name]["criteria"] = self._options(folder, source)
        if examples := self._spec.get("examples"):
            for name, label in examples["labels"].items():
                questions[name]["criteria"] = self._with_examples(
                    folder, questions[name]["criteria"], examples, label
                )
        return questions

    def _locate(self, folder: DataFolder) -> Any:
        return lambda key: folder.file(self.files[key], self.name, self.source)

    def _options(self, folder: DataFolder, source: Mapping[str, Any]) -> dict[str, Any]:
        """Options from a table; ``inputs`` and ``outputs`` name columns of parameters, whose names join the
        description."""
        where = source.get("where", {})
        columns = {name: source[name] for name in ("inputs", "outputs") if name in source}

        def described(row: Mapping[str, Any]) -> Any:
            text = row[source["description"]]
            names = {name: list(row[column] or {}) for name, column in columns.items()}
            return {"description": text, **names} if names else text

        return {
            row[source["name"]]: described(row)
            for row in read_table(self._locate(folder)(source["file"]))
            if all(row[key] == value for key, value in where.items())
        }

    def _with_examples(
        self, folder: DataFolder, criteria: Mapping[str, Any], examples: Mapping[str, Any], label: str
    ) -> dict[str, Any]:
        """``per_option`` training examples inside every option, drawn by ``seed``, the same for every
        case. ``label`` is a column, or ``column.key`` of an object in which ``absent`` stands for a missing key."""
        pools: dict[str, list[str]] = {option: [] for option in criteria}
        column, _, key = label.partition(".")
        for row in read_table(self._locate(folder)(examples["file"])):
            value = row[column].get(key, examples["absent"]).strip() if key else row[column]
            if value in pools:
                pools[value].append(row[examples["value"]])
        draw = random.Random(examples["seed"])
        described: dict[str, Any] = {}
        for option, pool in pools.items():
            shots = draw.sample(pool, min(examples["per_option"], len(pool)))
            if "media" in examples:
                shots = [_data_url(folder.media(path, self.name), examples["media"]) for path in shots]
            description = criteria[option] or option.replace("_", " ")
            described[option] = {"description": description, "examples": shots}
        return described


class Cases:
    """Cases of a suite, made one at a time. ``total`` is the size of the full split."""

    def __init__(
        self,
        suite: str,
        folder: DataFolder,
        rows: list[tuple[int, Row]],
        total: int,
        questions: Mapping[str, Any],
    ) -> None:
        self.total = total
        self._suite, self._folder, self._rows, self._questions = suite, folder, rows, questions

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Case]:
        for index, row in self._rows:
            request: dict[str, Any] = {"state": row.state, "questions": row.questions or self._questions}
            for kind, paths in row.media.items():
                found = [self._folder.media(path, self._suite) for path in paths]
                request[kind] = found if row.sound else [silent(path) for path in found]
            yield Case(f"{index:05d}-{_digest(row)}", request, row.labels, row.group)


def option_keys(question: Mapping[str, Any]) -> tuple[str, ...]:
    """Keys of a wire-shaped question's answers in request order: true, false; option names; level indices."""
    if question["type"] == "noul":
        return ("true", "false")
    criteria = question["criteria"]
    return tuple(criteria) if question["type"] == "choice" else tuple(str(i) for i in range(len(criteria)))


@cache
def suite_names() -> tuple[str, ...]:
    """Names of all suites, sorted."""
    folder = resources.files("omniclef.evaluation") / "suites"
    names = [entry.name for entry in folder.iterdir() if entry.name.endswith(".json")]
    return tuple(sorted(name.removesuffix(".json") for name in names))


def get_suite(name: str) -> Suite:
    """Raises InvalidInput when there is no such suite."""
    if name not in suite_names():
        raise InvalidInput("suite", f"there is no suite {name!r}", f"choose from {', '.join(suite_names())}")
    return Suite(_spec(name))


def silent(path: Path) -> bytes:
    """The clip without its soundtrack: the first video stream of ``path``, not re-encoded, as MP4 bytes."""
    out = io.BytesIO()
    with av.open(str(path)) as clip, av.open(out, "w", format="mp4") as copy:
        stream = copy.add_stream_from_template(clip.streams.video[0])
        for packet in clip.demux(clip.streams.video[0]):
            if packet.dts is not None:  # the demuxer ends with an empty packet
                packet.stream = stream
                copy.mux(packet)
    return out.getvalue()


def _spec(name: str) -> dict[str, Any]:
    text = (resources.files("omniclef.evaluation") / "suites" / f"{name}.json").read_text(encoding="utf-8")
    spec: dict[str, Any] = json.loads(text)
    return _merge(_spec(spec.pop("like")), spec) if "like" in spec else spec


def _merge(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in own.items():
        nested = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _merge(merged[key], value) if nested else value
    return merged


def _digest(row: Row) -> str:
    content = [row.state, dict(row.labels), dict(row.media), row.questions]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:8]


def _data_url(path: Path, media_type: str) -> str:
    return f"data:{media_type};base64,{base64.b64encode(path.read_bytes()).decode('ascii')}"
