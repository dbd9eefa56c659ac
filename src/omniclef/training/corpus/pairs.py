"""Sets that compare two texts, or a text and a table: inference, sense, invention, stance, persuasion.

States are JSON objects whose keys name the parts. Train parts only; licences stand in ``text.FAMILIES``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from omniclef.training.corpus.reading import (
    Asked,
    Grouped,
    Rng,
    Wire,
    bucket,
    choice,
    chosen,
    cut,
    grouped,
    noul,
    rows,
    shuffled,
    stems,
)

__all__ = [
    "comve_reasons",
    "comve_sense",
    "conjnli",
    "convincing",
    "explagraphs",
    "halueval",
    "infotabs",
    "med",
]

RELATION = {
    "entailment": "the hypothesis must be true if the premise is",
    "neutral": "the premise leaves open whether the hypothesis is true",
    "contradiction": "the hypothesis cannot be true if the premise is",
}
VERDICT = {
    "entailment": "supported: the record shows that the statement is true",
    "neutral": "not enough information in the record",
    "contradiction": "refuted: the record shows that the statement is false",
}
PARTS = (("premise", "hypothesis"), ("text", "claim"), ("first", "second"))
RELATED = "How does the hypothesis follow from the premise?"
FOLLOWS = "Does the second sentence follow from the first?"


def conjnli(data: Path, rng: Rng, count: int) -> Iterator[Grouped]:
    for row in chosen(rng, list(rows(data / "text/conjnli.train.jsonl")), count):
        asked: Asked = {"relation": (choice(RELATED, RELATION), row["label"])}
        asked["follows"] = (noul(FOLLOWS), row["label"] == "entailment")
        yield grouped("conjnli", _sentences(row), asked, row["premise"])


def med(data: Path, rng: Rng, count: int) -> Iterator[Grouped]:
    two = {"entailment": RELATION["entailment"], "neutral": RELATION["neutral"]}
    for row in chosen(rng, list(rows(data / "text/med_monotonicity.jsonl")), count):
        asked: Asked = {"follows": (noul(FOLLOWS), row["label"] == "entailment")}
        asked["relation"] = (choice(RELATED, two), row["label"])
        yield grouped("med_monotonicity", _sentences(row), asked, row["premise"])


def _sentences(row: dict[str, Any]) -> dict[str, str]:
    first, second = PARTS[bucket(row["premise"], len(PARTS))]
    return {first: row["premise"], second: row["hypothesis"]}


def infotabs(data: Path, rng: Rng, count: int) -> Iterator[Grouped]:
    """The fields nearest to the statement and a few others, so that a state stays short."""
    tables = {row["id"]: row["table"] for row in rows(data / "text/infotabs_tables.jsonl")}
    for row in chosen(rng, list(rows(data / "text/infotabs.train.jsonl")), count):
        table = tables.get(row["table"])
        if table is None:
            continue
        said = stems(row["hypothesis"])
        fields = [(k.strip(), cut(", ".join(v), 20)) for k, v in table.items() if k != "title"]
        numbers = set(re.findall(r"\d+", row["hypothesis"]))
        ranked = sorted(fields, key=lambda f: -len(said & stems(f"{f[0]} {f[1]}"))
                        - len(numbers & set(re.findall(r"\d+", f[1]))))  # fmt: skip
        kept = {name for name, _ in ranked[:7]}
        record = {"title": ", ".join(table.get("title", []))} | {k: v for k, v in fields if k in kept}
        asked: Asked = {
            "verdict": (
                choice("Given the table, is the statement true, false or not decidable?", VERDICT),
                row["label"],
            ),
        }
        if bucket(row["hypothesis"], 2):
            state: dict[str, Any] = {"record": record, "statement": row["hypothesis"]}
            if row["label"] != "neutral":
                asked["true"] = (
                    noul("Does the record show that the statement is true?"),
                    row["label"] == "entailment",
                )
        else:
            state = {"table": record, "statement": row["hypothesis"]}
        yield grouped("infotabs", state, asked, row["table"])


def halueval(data: Path, rng: Rng, count: int) -> Iterator[Grouped]:
    for row in chosen(rng, list(rows(data / "text/halueval_general.train.jsonl")), 2000)[: 3 * count]:
        if len(row["query"].split()) > 60 or (row["label"] == "no" and bucket(row["query"], 2)):
            continue  # four of five answers are sound: half of those suffice
        state = {"question": row["query"], "answer": cut(row["response"], 70)}
        asked: Asked = {
            "invented": (noul("Does the answer contain made-up or wrong content?"), row["label"] == "yes")
        }
        yield grouped("halueval", state, asked)


def comve_sense(data: Path, rng: Rng, count: int) -> Iterator[Grouped]:
    """Pairs of statements of which one is absurd; every third as a single statement."""
    for row in chosen(rng, list(rows(data / "text/comve_a.train.jsonl")), count):
        texts, absurd = [row["sent0"], row["sent1"]], int(row["label"] == "sent1")
        group = row["sent0"] + row["sent1"]
        if bucket(group, 3) == 0:
            given = bucket(group, 2, "side")
            yield grouped(
                "comve_a",
                texts[given],
                {"sense": (noul("Does the statement make sense?"), given != absurd)},
                group,
            )
            continue
        asked: Asked = {"absurd": (choice("Which sentence makes no sense?", {"first": None, "second": None}),
                                   ("first", "second")[absurd])}  # fmt: skip
        asked["sensible"] = (
            choice("Which sentence makes sense?", {"A": texts[0], "B": texts[1]}),
            "BA"[absurd],
        )
        yield grouped("comve_a", {"first": texts[0], "second": texts[1]}, asked, group)


def comve_reasons(data: Path, rng: Rng, count: int) -> Iterator[Grouped]:
    for row in chosen(rng, list(rows(data / "text/comve_b.train.jsonl")), count):
        options = dict(zip("ABC", row["options"], strict=True))
        asked: Asked = {
            "reason": (choice("Why does the statement make no sense?", options), "ABC"[row["label"]])
        }
        yield grouped("comve_b", row["statement"], asked)


def explagraphs(data: Path, rng: Rng, count: int) -> Iterator[Grouped]:
    sides = {
        "support": "the argument speaks for the belief",
        "counter": "the argument speaks against the belief",
    }
    for row in chosen(rng, list(rows(data / "text/explagraphs_stance.train.jsonl")), count):
        state = {"belief": row["belief"], "argument": row["argument"]}
        asked: Asked = {
            "stance": (choice("Does the argument support or counter the belief?", sides), row["label"])
        }
        asked["supports"] = (noul("Does the argument support the belief?"), row["label"] == "support")
        yield grouped("explagraphs", state, asked, row["belief"])


def convincing(data: Path, rng: Rng, count: int) -> Iterator[Grouped]:
    """Pairs whose longer text has at most 70 words: cutting one would change which convinces."""
    question: Wire = choice("Which argument is more convincing?", {"first": None, "second": None})
    found = list(rows(data / "text/convincing_arguments.train.jsonl"))
    short = [r for r in found if max(len(r["a1"].split()), len(r["a2"].split())) <= 70]
    for row in shuffled(rng, short)[:count]:
        topic = row["topic"].split("_")[0].replace("-", " ").strip()
        state = {"topic": topic, "first": cut(row["a1"], 70), "second": cut(row["a2"], 70)}
        asked: Asked = {"better": (question, "first" if row["label"] == "a1" else "second")}
        yield grouped("convincing", state, asked, row["topic"])
