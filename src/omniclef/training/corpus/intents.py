"""Intents, services and slots of Schema-Guided Dialogue (train; dev for validation) and of NLU corpora.

Licences: SGD CC BY-SA 4.0; NLU-Evaluation-Corpora CC BY-SA 3.0. The test dialogues of SGD are never read.
"""

from __future__ import annotations

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
    grouped,
    noul,
    one,
    rows,
    shuffled,
    stems,
)
from omniclef.training.corpus.tools import Catalogue, Tool
from omniclef.training.corpus.wordings import NONE_OPTIONS

__all__ = ["Services", "nlu_corpora", "nothing_fits", "pooled", "sgd"]

WANTED = "What does the user want?"
MISSING = ("not mentioned", "not said", "unspecified", "unknown so far")
SPEAKERS = (
    ("user", "assistant"),
    ("user", "assistant"),
    ("user", "agent"),
    ("customer", "agent"),
    ("user", "system"),
)

CORPORA: dict[str, dict[str, str]] = {
    "Chatbot": {
        "DepartureTime": "when a train, bus or tram leaves",
        "FindConnection": "how to get from one place to another",
    },
    "AskUbuntu": {
        "Make Update": "upgrading the system or a program to a newer version",
        "Setup Printer": "installing or configuring a printer",
        "Shutdown Computer": "turning the computer off, restarting or suspending it",
        "Software Recommendation": "looking for a program for some purpose",
        "None": "something else",
    },
    "WebApplications": {
        "Change Password": "changing or recovering a password",
        "Delete Account": "closing an account",
        "Download Video": "saving a video to the computer",
        "Export Data": "getting one's data out of a service",
        "Filter Spam": "keeping unwanted messages away",
        "Find Alternative": "looking for a replacement of a web application",
        "Sync Accounts": "keeping several accounts or calendars in step",
        "None": "something else",
    },
}


class Services:
    """The schemas of SGD: services, their intents and their categorical slots."""

    def __init__(self, path: Path) -> None:
        self.all = {row["service"]: row for row in rows(path)}
        self.train = [name for name, row in self.all.items() if "train" in row["splits"]]
        self.dev = [name for name, row in self.all.items() if "dev" in row["splits"]]

    def intents(self, service: str) -> dict[str, str]:
        return dict(self.all[service]["intents"])

    def pool(self, rng: Rng, own: str | None, names: list[str]) -> dict[str, str]:
        """Intents of one service a domain, so that no two options mean the same; ``own`` comes first."""
        options: dict[str, str] = {}
        seen: set[str] = set()
        for service in ([own] if own else []) + shuffled(rng, names):
            domain, intents = service.split("_")[0], self.intents(service)
            if domain not in seen and not intents.keys() & options.keys():
                seen.add(domain)
                options |= intents
        return options


def sgd(data: Path, split: str, rng: Rng, count: int, tools: Catalogue) -> Iterator[Grouped]:
    """Turns of ``train``, or those of services that only ``dev`` has (the family ``sgd_dev``)."""
    services = Services(data / "bench/sgd/schemas.jsonl")
    family = "sgd" if split == "train" else "sgd_dev"
    known = services.train if split == "train" else services.dev
    wanted = [row for row in rows(data / f"bench/sgd/{split}.jsonl") if split == "train" or
              row["service"] not in services.train]  # fmt: skip
    for row in chosen(rng, wanted, count):
        state = _state(row, rng)
        asked = _asked(row, state, services, known, rng, tools)
        yield grouped(family, state, asked)


def _state(row: dict[str, Any], rng: Rng) -> Any:
    """The talk as turns, or the utterance alone where it says enough by itself."""
    utterance, context = row["utterance"], row["context"]
    meaning = stems(row["intent"])
    if len(utterance.split()) >= 6 and (meaning & stems(utterance)) and rng.random() < 0.6:
        return utterance
    user, other = SPEAKERS[bucket(utterance, len(SPEAKERS))]
    turns = []
    for line in context:
        speaker, _, text = line.partition(": ")
        turns.append({"role": user if speaker == "user" else other, "text": text})
    return [*turns, {"role": user, "text": utterance}] if turns else utterance


def _asked(
    row: dict[str, Any], state: Any, services: Services, known: list[str], rng: Rng, tools: Catalogue
) -> Asked:
    service, intent = row["service"], row["intent"]
    own = services.intents(service)
    none_key, none_text = one(rng, NONE_OPTIONS)
    asked: Asked = {}
    options: dict[str, Any] = dict(own)
    if intent == "NONE" or rng.random() < 0.3:
        options[none_key] = none_text
    if len(options) > 1:
        asked["intent"] = (choice(WANTED, options), none_key if intent == "NONE" else intent)
    wide, label = pooled(services, known, service, intent, rng, tools, stems(str(state)))
    asked["intent"] = (wide, label) if "intent" not in asked or rng.random() < 0.6 else asked["intent"]
    if intent != "NONE":
        meant = rng.random() < 0.5
        others = [
            t for s in known if s.split("_")[0] != service.split("_")[0] for t in services.intents(s).values()
        ]
        text = own[intent] if meant else one(rng, others)
        asked["wanted"] = (noul(f"Does the user want this now: {text[0].lower()}{text[1:]}?"), meant)
    for slot, question, answer in _slots(row, str(state).lower(), services):
        asked[f"slot_{slot}"] = (question, answer)
    return asked


def pooled(
    services: Services,
    known: list[str],
    own: str | None,
    intent: str,
    rng: Rng,
    tools: Catalogue,
    said: set[str],
) -> tuple[Wire, str]:
    """Intents of many services, padded with tools in a third of cases; the right one left out in a fifth.

    said: stems of the state's words; no tool that shares one of them becomes an option.
    """
    outside = own is None or intent == "NONE" or rng.random() < 0.2
    pool = services.pool(rng, own, known)
    if own and outside:
        pool = {k: v for k, v in pool.items() if k not in services.intents(own)}
    options: dict[str, Any] = dict(pool)
    if rng.random() < 0.35:
        many = [t for t in tools.sample(rng, int(rng.integers(10, 110))) if not t.stems & said]
        options = {t.name: t.text for t in many} | options
    none_key, none_text = one(rng, NONE_OPTIONS)
    if outside or rng.random() < 0.4:
        options[none_key] = none_text
    return choice(WANTED, options), none_key if outside else intent


def _slots(row: dict[str, Any], said: str, services: Services) -> Iterator[tuple[str, Wire, str]]:
    """Categorical slots whose value can be read in the state, or that nobody spoke of."""
    found = 0
    for slot, about in services.all[row["service"]]["slots"].items():
        values = [v for v in about["values"] if v not in ("True", "False", "dontcare")]
        if len(values) < 2 or found == 2:
            continue
        value = row["slots"].get(slot)
        seen = [v for v in values if len(v) > 1 and v.lower() in said]
        missing = MISSING[bucket(slot, len(MISSING))]
        if value in seen and len(seen) == 1:
            answer = value
        elif value is None and not seen and not values[0].isdigit() and bucket(said, 3) == 0:
            answer = missing
        else:
            continue
        found += 1
        yield slot, choice(f"{about['description']}?", [*values, missing]), answer


def nothing_fits(data: Path, rng: Rng, states: list[str], tools: Catalogue) -> Iterator[Grouped]:
    """Texts of other sets (no requests) under intents and tools: only "none of these" is right."""
    services = Services(data / "bench/sgd/schemas.jsonl")
    for state in states:
        said = stems(state)
        if rng.random() < 0.5:
            question, label = pooled(services, services.train, None, "NONE", rng, tools, said)
            asked: Asked = {"intent": (question, label)}
        else:
            label, text = one(rng, NONE_OPTIONS)
            fitting: list[Tool] = [
                t for t in tools.sample(rng, int(rng.integers(4, 110))) if not t.stems & said
            ]
            asked = {"tool": (choice("Which tool fits the request?", {t.name: t.option for t in fitting} |
                                     {label: text}), label)}  # fmt: skip
        yield grouped("out_of_scope", state, asked)


def nlu_corpora(data: Path) -> Iterator[Grouped]:
    for row in rows(data / "text/nlu_eval_corpora.train.jsonl"):
        options = CORPORA[row["corpus"]]
        yield grouped("nlu_eval", row["text"], {"intent": (choice(WANTED, options), row["label"])})
