"""From the files of a data set to rows: one reader for each shape in which data sets come.

Knows file formats and field names; knows nothing of models or metrics. A reader is named in a suite's JSON
file and gets its ``rows`` section; most suites need only ``table``.
"""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["READERS", "Label", "Row", "read_table"]

Label = bool | str | int
Locate = Callable[[str], Path]
"""From a file's key in the suite to its path."""


@dataclass(frozen=True, slots=True)
class Row:
    """One case before it becomes a request. Media are paths relative to the data folder.

    questions: only where every case asks its own. sound: False takes the soundtrack off the videos.
    """

    state: Any
    labels: Mapping[str, Label]
    media: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    questions: Mapping[str, Any] | None = None
    group: str = ""
    sound: bool = True


def read_table(path: Path) -> list[dict[str, Any]]:
    """Rows of a CSV file with a header, or of JSON lines."""
    with path.open(encoding="utf-8", newline="") as lines:
        if path.suffix == ".csv":
            return list(csv.DictReader(lines))
        return [json.loads(line) for line in lines if line.strip()]


def _table(locate: Locate, rows: Mapping[str, Any]) -> Iterator[Row]:
    """state: a field, a list of fields (the state is then an object), or none; labels: {question: field};
    values: what a label in the file stands for; media: {images | audio | videos: field}."""
    fields, values = rows.get("state"), rows.get("values", {})
    for row in read_table(locate(rows["file"])):
        if fields is None:
            state: Any = ""
        elif isinstance(fields, str):
            state = row[fields]
        else:
            state = {name: row[name] for name in fields}
        labels = {question: values.get(row[name], row[name]) for question, name in rows["labels"].items()}
        media = {kind: (row[name],) for kind, name in rows.get("media", {}).items()}
        yield Row(state, labels, media)


def _clinc150(locate: Locate, rows: Mapping[str, Any]) -> Iterator[Row]:
    """One JSON object of parts; a part is a list of [utterance, intent]."""
    parts = json.loads(locate(rows["file"]).read_text(encoding="utf-8"))
    for part in rows["parts"]:
        for text, intent in parts[part]:
            yield Row(text, {rows["question"]: intent})


def _api_bank(locate: Locate, rows: Mapping[str, Any]) -> Iterator[Row]:
    """One case for every API turn: the state is the list of turns before it, earlier calls and results
    included."""
    for dialogue in read_table(locate(rows["file"])):
        turns = dialogue["turns"]
        for i, turn in enumerate(turns):
            if turn["role"] == "API":
                yield Row(turns[:i], {rows["question"]: turn["api_name"]}, group=dialogue["setting"])


def _when2call(locate: Locate, rows: Mapping[str, Any]) -> Iterator[Row]:
    """Tools are stored as JSON text; in the state they are objects again."""
    for row in read_table(locate(rows["file"])):
        state = {"question": row["question"], "tools": [json.loads(tool) for tool in row["tools"]]}
        yield Row(state, {rows["question"]: row["correct_answer"]})


def _presidio(locate: Locate, rows: Mapping[str, Any]) -> Iterator[Row]:
    for row in read_table(locate(rows["file"])):
        yield Row(row["text"], {rows["question"]: bool(row["spans"])})


def _coffee(locate: Locate, rows: Mapping[str, Any]) -> Iterator[Row]:
    """One label for every slot, ``absent`` where the order leaves it out. Some values carry a leading
    space."""
    for row in read_table(locate(rows["file"])):
        spoken = {slot: value.strip() for slot, value in row["slots"].items()}
        labels = {slot: spoken.get(slot, rows["absent"]) for slot in rows["slots"]}
        yield Row("", {"intent": row["intent"], **labels}, {"audio": (row["file"],)})


def _clips(locate: Locate, rows: Mapping[str, Any]) -> Iterator[Row]:
    """A two-way question for each clip: its own label against another one of the same set, drawn and placed
    by a seed, so that chance is one half and silent and sounding runs see the same pairs."""
    clips = [c for c in read_table(locate(rows["file"])) if c["set"] in rows["sets"] and c["label"]]
    names = {s: sorted({c["label"] for c in clips if c["set"] == s}) for s in rows["sets"]}
    draw = random.Random(rows["seed"])
    for clip in clips:
        others = [name for name in names[clip["set"]] if name != clip["label"]]
        options = [clip["label"], draw.choice(others)]
        draw.shuffle(options)
        question = {
            "type": "choice",
            "instructions": rows["instructions"],
            "criteria": dict.fromkeys(options),
        }
        yield Row(
            "",
            {rows["question"]: clip["label"]},
            {"videos": (clip["file"],)},
            questions={rows["question"]: question},
            group=clip["set"] + ("" if clip["sound"] else ", no soundtrack"),
            sound=rows.get("sound", True),
        )


READERS: dict[str, Callable[[Locate, Mapping[str, Any]], Iterator[Row]]] = {
    "api_bank": _api_bank,
    "clinc150": _clinc150,
    "clips": _clips,
    "coffee": _coffee,
    "presidio": _presidio,
    "table": _table,
    "when2call": _when2call,
}
