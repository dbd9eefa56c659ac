"""Seal-Tools (Apache-2.0): the catalogue of tools, and the requests of its dev part.

Its in-domain and out-of-domain test parts are never read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from omniclef.training.corpus.reading import (
    Asked,
    Grouped,
    Rng,
    bucket,
    choice,
    chosen,
    grouped,
    noul,
    one,
    rows,
    stems,
)
from omniclef.training.corpus.wordings import NONE_OPTIONS

__all__ = ["Catalogue", "Tool", "requests"]

SIZE = 1500
"""Tools in use: with and without parameters they make some 4,500 option texts, few enough to cache."""


@dataclass(frozen=True)
class Tool:
    """One tool of the catalogue; ``parameters`` are those it requires, with what each one means."""

    name: str
    text: str
    field: str
    parameters: tuple[tuple[str, str], ...]
    outputs: tuple[str, ...] = ()

    @cached_property
    def area(self) -> str:
        """The field without its branch: "Sports" of "Sports/Football"."""
        return self.field.split("/")[0]

    @cached_property
    def stems(self) -> set[str]:
        return stems(f"{self.name} {self.text}")

    @cached_property
    def option(self) -> str | dict[str, Any]:
        """The description; for a quarter of all tools an object that also lists the parameters."""
        if bucket(self.name, 4) or not self.parameters:
            return self.text
        inputs = {name: re.sub(r"\s*\(e\.g\..*", "", meaning) for name, meaning in self.parameters}
        return {"description": self.text, "parameters": inputs}

    def signature(self, *first: str) -> dict[str, Any]:
        """The description with the names of what it takes, after ``first``, and of what it gives."""
        inputs = [*first, *(name for name, _ in self.parameters)]
        return {"description": self.text, "inputs": inputs, "outputs": list(self.outputs)}

    def near(self, other: Tool) -> bool:
        """Whether the two do nearly the same, so that either could be called right."""
        shared = len(self.stems & other.stems)
        return self.name == other.name or shared > 0.4 * min(len(self.stems), len(other.stems))


class Catalogue:
    """Tools of Seal-Tools: all that its dev requests call first, and others at random."""

    def __init__(self, data: Path, rng: Rng) -> None:
        tools: dict[str, Tool] = {}
        for row in rows(data / "bench/seal_tools/tool.jsonl"):
            needed = [(n, p["description"]) for n, p in row["parameters"].items() if n in row["required"]]
            text = row["api_description"].strip().rstrip(".")
            tools[row["api_name"]] = Tool(row["api_name"], text, row["field"], tuple(needed[:4]),
                                         tuple(row["responses"] or ())[:3])
        dev = list(rows(data / "bench/seal_tools/dev.jsonl"))
        called = list(dict.fromkeys(c["api"] for row in dev for c in row["calling"][:2] if c["api"] in tools))
        rest = [name for name in tools if name not in set(called)]
        names = (called + chosen(rng, rest, SIZE))[:SIZE]
        self.named = {name: tools[name] for name in names}
        self.tools = list(self.named.values())
        self.requests = dev
        self.fields: dict[str, list[Tool]] = {}
        for tool in self.tools:
            self.fields.setdefault(tool.area, []).append(tool)
        # Whole fields stay unseen in training, so that dialogues about them measure transfer to new tools.
        self.unseen = [t for t in self.tools if bucket(t.area, 10, "field") == 0]
        self.seen = [t for t in self.tools if bucket(t.area, 10, "field")]

    def sample(self, rng: Rng, count: int) -> list[Tool]:
        return chosen(rng, self.tools, count)

    def beside(self, rng: Rng, goals: list[Tool], count: int) -> list[Tool]:
        """Distractors: none does nearly what a goal does; up to a quarter come from the goals' own fields."""
        fields = sorted({goal.area for goal in goals})
        kin = [t for field in fields for t in self.fields.get(field, ())]
        drawn = {t.name: t for t in chosen(rng, kin, count // 4) + self.sample(rng, count)}
        return [t for t in drawn.values() if not any(t.near(goal) for goal in goals)][:count]


def requests(tools: Catalogue, rng: Rng, per_request: int = 2) -> Iterator[Grouped]:
    """Dev requests: which of 2 to 150 tools fits, exactly one of them or none."""
    for row in tools.requests:
        called = [tools.named[c["api"]] for c in row["calling"] if c["api"] in tools.named]
        complete = len(called) == len(row["calling"])
        for goal in chosen(rng, called, per_request):
            count = round(2 ** rng.uniform(1, 7.2))
            others = tools.beside(rng, called, count)
            if not others:
                continue
            options: dict[str, Any] = {t.name: t.option for t in [goal, *others]}
            none_key, none_text = one(rng, NONE_OPTIONS)
            outside = complete and rng.random() < 0.25
            if outside:
                del options[goal.name]
            if outside or rng.random() < 0.3:
                options[none_key] = none_text
            asked: Asked = {"tool": (choice("Which tool fits the request?", options),
                                     none_key if outside else goal.name)}  # fmt: skip
            fits = rng.random() < 0.5
            if complete:
                meant = goal if fits else one(rng, others)
                text = f'Would the tool "{meant.name}" ({meant.text}) help with this request?'
                asked["helps"] = (noul(text), fits)
            yield grouped("seal_tools", row["query"], asked)
