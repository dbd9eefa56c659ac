"""Whether evidence means something, and what it costs: removed spans, planted sentences and pictures, time.

    python benchmarks/evidence.py --data DIR [--limit 300] [--threads 1]

Knows suites and what evidence looks like; knows nothing of how it comes about.
"""

from __future__ import annotations

import argparse
import copy
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from planted import PICTURES, TOPICS, Planted, planted_pictures, planted_sentence
from report import Sheet, hardware, show, versions
from rich.console import Console
from samples import States, names, picture, questions

import omniclef
from omniclef.answers import Decision, Evidence, NoulAnswer
from omniclef.evaluation.sources import DataFolder
from omniclef.evaluation.suite import get_suite
from omniclef.records import Question, Record, parse_questions

SUITES = ("banking77", "clinc150_oos", "github_issues", "sms_spam", "presidio_pii")
RANDOM = 4
"""Random spans that stand beside the top-ranked one."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder of omniclef eval")
    parser.add_argument("--suites", nargs="+", default=list(SUITES))
    parser.add_argument("--limit", type=int, default=300, help="records of each suite, and planted draws")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=60, help="of each shape whose cost is measured")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    model = omniclef.load("nano", threads=asked.threads)
    console = Console(width=132)
    console.print(f"{hardware()}\n{versions()}")
    console.print(f"model {model.info.digest}, {asked.threads} threads, seed {asked.seed}\n")
    show([removal(model, asked)], console)
    show([sentences(model, asked), pictures(model, asked)], console)
    show([cost(model, asked)], console)


# Removal ----------------------------------------------------------------------------------------------------------


def removal(model: omniclef.DecisionModel, asked: argparse.Namespace) -> Sheet:
    columns = ("suite", "records", "words", "span", "|change|", "random", "drop", "random")
    sheet = Sheet(
        "The heaviest span of the winning option taken out, and a random span of as many words",
        (*columns, "difference ± s.e.", "top > random"),
    )
    everything = []
    for name in asked.suites:
        states, parsed = records(name, asked.data, asked.limit, asked.seed)
        rows, told = removed(model, states, parsed, np.random.default_rng(asked.seed))
        everything.append(rows)
        sheet.add(*_line(name, rows, told))
    sheet.add(*_line("all", np.concatenate(everything), None))
    sheet.notes = [
        "words: of a state; span: of the top-ranked span, mean. change and drop: of the winning probability, means.",
        f"random: mean over {RANDOM} seeded spans a record. difference: of |change|, paired.",
        "States with room for one span of that length only are left out.",
    ]
    return sheet


def _line(name: str, rows: np.ndarray, told: tuple[float, float] | None) -> tuple[str, ...]:
    top, top_drop, other, other_drop = rows.T
    gap = top - other
    error = gap.std(ddof=1) / len(gap) ** 0.5
    sizes = ("", "") if told is None else (f"{told[0]:.0f}", f"{told[1]:.1f}")
    return (
        name, str(len(rows)), *sizes, f"{top.mean():.4f}", f"{other.mean():.4f}", f"{top_drop.mean():.4f}",
        f"{other_drop.mean():.4f}", f"{gap.mean():.4f} ± {error:.4f}", f"{(gap > 0).mean():.0%}",
    )  # fmt: skip


def records(suite: str, data: Path, limit: int, seed: int) -> tuple[list[Any], dict[str, Question]]:
    """States of a seeded sample of a suite, and its questions."""
    requests = [case.request for case in get_suite(suite).cases(DataFolder(data), limit=limit, seed=seed)]
    return [request["state"] for request in requests], parse_questions(requests[0]["questions"])


def removed(
    model: omniclef.DecisionModel, states: Sequence[Any], parsed: dict[str, Question], rng: np.random.Generator
) -> tuple[np.ndarray, tuple[float, float]]:
    """[records, 4]: |change| and drop by the top span, the same by random ones; and mean words of states and spans.

    Of the first question, and the option that wins it.
    """
    key = next(iter(parsed))
    before = model.decide_records([Record(state, parsed) for state in states], evidence=True)
    changed: list[Record] = []
    bases, winners, words, spans = [], [], [], []
    for state, decision in zip(states, before, strict=True):
        winner, p = _winner(decision, key)
        assert decision.evidence is not None
        pieces = decision.evidence[key][winner]
        if not pieces or not pieces[0].text:
            continue
        top, long = pieces[0], len(str(pieces[0].text).split())
        places = list(_places(state, long))
        if len(places) < 2:
            continue
        drawn = [places[n] for n in rng.integers(0, len(places), RANDOM)]
        for path, start, stop in [(top.path, *map(int, top.span)), *drawn]:
            changed.append(Record(_without(state, path, start, stop), parsed))
        bases.append(p)
        winners.append(winner)
        words.append(sum(len(text.split()) for _, text in _texts(state)))
        spans.append(long)
    after = model.decide_records(changed)
    found = np.array([_share(after[n], key, winners[n // (1 + RANDOM)]) for n in range(len(after))])
    drops = np.array(bases)[:, None] - found.reshape(-1, 1 + RANDOM)
    rows = [abs(drops[:, 0]), drops[:, 0], abs(drops[:, 1:]).mean(axis=1), drops[:, 1:].mean(axis=1)]
    return np.stack(rows, axis=1), (statistics.mean(words), statistics.mean(spans))


def _winner(decision: Decision, key: str) -> tuple[str, float]:
    answer = decision.answers[key]
    if isinstance(answer, NoulAnswer):
        return ("true", answer.noul) if answer.noul >= 0.5 else ("false", 1 - answer.noul)
    return max(answer.probabilities.items(), key=lambda item: item[1])


def _share(decision: Decision, key: str, option: str) -> float:
    answer = decision.answers[key]
    if isinstance(answer, NoulAnswer):
        return answer.noul if option == "true" else 1 - answer.noul
    return answer.probabilities[option]


def _texts(state: Any, path: str | None = None) -> Iterator[tuple[str | None, str]]:
    """The strings of a state with their JSON Pointers."""
    if isinstance(state, str):
        yield path, state
    elif isinstance(state, dict | list):
        for key, value in state.items() if isinstance(state, dict) else enumerate(state):
            yield from _texts(value, f"{path or ''}/{str(key).replace('~', '~0').replace('/', '~1')}")


def _places(state: Any, long: int) -> Iterator[tuple[str | None, int, int]]:
    """Every span of so many words: the value it is in, and where."""
    for path, text in _texts(state):
        at, edges = 0, []
        for word in text.split():
            start = text.index(word, at)
            at = start + len(word)
            edges.append((start, at))
        for first in range(len(edges) - long + 1):
            yield path, edges[first][0], edges[first + long - 1][1]


def _without(state: Any, path: str | None, start: int, stop: int) -> Any:
    """The state without a span of the value that ``path`` points to."""
    if path is None:
        return _cut(state, start, stop)
    changed = copy.deepcopy(state)
    inner, keys = changed, [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")[1:]]
    for step in keys[:-1]:
        inner = inner[int(step) if isinstance(inner, list) else step]
    last: Any = int(keys[-1]) if isinstance(inner, list) else keys[-1]
    inner[last] = _cut(str(inner[last]), start, stop)
    return changed


def _cut(text: str, start: int, stop: int) -> str:
    return f"{text[:start].rstrip()} {text[stop:].lstrip()}".strip()


# Planted ----------------------------------------------------------------------------------------------------------


def sentences(model: omniclef.DecisionModel, asked: argparse.Namespace) -> Sheet:
    """One decisive sentence among twenty neutral ones."""
    columns = ("topic", "type", "draws", "ranked first", "of those answered so", "answered so")
    sheet = Sheet("One decisive sentence among twenty", columns)
    rng = np.random.default_rng(asked.seed)
    hits: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for number in range(asked.limit):
        topic = TOPICS[number % len(TOPICS)]
        drawn = planted_sentence(topic, rng, as_json=bool(number // len(TOPICS) % 2))
        top, answered = ranked(model, drawn)
        hits[topic.name].append((top.text is not None and drawn.holds(top), answered))
    for topic in TOPICS:
        sheet.add(topic.name, topic.question["type"], *_hits(hits[topic.name]))
    sheet.add("all", "", *_hits([hit for some in hits.values() for hit in some]))
    sheet.notes = [
        "ranked first: the heaviest piece of the option that the sentence decides for lies in it.",
        "answered so: that option wins. Every other round of topics has the text in a field of an object.",
    ]
    return sheet


def pictures(model: omniclef.DecisionModel, asked: argparse.Namespace) -> Sheet:
    """One decisive picture among three."""
    columns = ("question", "draws", "ranked first", "of those answered so", "answered so")
    sheet = Sheet("One decisive picture among three", columns)
    rng = np.random.default_rng(asked.seed)
    for kind in PICTURES:
        found = []
        for _ in range(asked.limit // len(PICTURES)):
            drawn = planted_pictures(kind, asked.data, rng)
            top, answered = ranked(model, drawn)
            found.append((top.modality == "image" and drawn.holds(top), answered))
        sheet.add(kind, *_hits(found))
    sheet.notes = ["Open Clip Art, test split; the two others are of kinds that no option names."]
    return sheet


def ranked(model: omniclef.DecisionModel, drawn: Planted) -> tuple[Evidence, bool]:
    """The heaviest piece of the option that was planted, and whether that option won."""
    decision = model.decide(drawn.state, {"q": drawn.question}, images=drawn.images, evidence=True)
    assert decision.evidence is not None
    return decision.evidence["q"][drawn.option][0], _winner(decision, "q")[0] == drawn.option


def _hits(found: Sequence[tuple[bool, bool]]) -> tuple[str, str, str, str]:
    right = [hit for hit, answered in found if answered]
    first = statistics.mean(hit for hit, _ in found)
    answered = f"{statistics.mean(right):.1%}" if right else ""
    return str(len(found)), f"{first:.1%}", answered, f"{len(right) / len(found):.1%}"


# Cost -------------------------------------------------------------------------------------------------------------


def cost(model: omniclef.DecisionModel, asked: argparse.Namespace) -> Sheet:
    """Time with evidence over time without, on new states; the two take turns."""
    columns = ("shape", "repeats", "without", "with", "ratio of medians", "of processor time")
    sheet = Sheet("What evidence costs", columns)
    states, rng = States(asked.seed), np.random.default_rng(asked.seed)
    three, intents = questions(3), names()
    shapes: dict[str, Callable[[], Callable[[bool], Any]]] = {
        "60 tokens, 3 questions": lambda: _one(model, states.draw(60), three),
        "60 tokens, 64 questions": lambda: _one(model, states.draw(60), questions(64)),
        "60 tokens, 77 options": lambda: _one(model, states.draw(60), intents),
        "2,000 tokens, 3 questions": lambda: _one(model, states.draw(2000), three),
        "JSON of 8 fields, 3 questions": lambda: _one(model, {f"field_{n}": states.draw(20) for n in range(8)}, three),
        "a picture, 3 questions": lambda: _one(model, "", three, [picture(rng)]),
        "64 states, 3 questions": lambda: _many(model, states.mixed(64), three),
    }
    for name, make in shapes.items():
        times: dict[bool, list[float]] = {False: [], True: []}
        busy: dict[bool, list[float]] = {False: [], True: []}
        for number in range(-3, max(asked.repeats // (4 if name.startswith(("2,000", "64 ")) else 1), 8)):
            for evidence in (False, True) if number % 2 else (True, False):
                run = make()
                began, started = time.process_time(), time.perf_counter()
                run(evidence)
                if number >= 0:
                    times[evidence].append(time.perf_counter() - started)
                    busy[evidence].append(time.process_time() - began)
        without, with_ = (statistics.median(times[evidence]) for evidence in (False, True))
        own = statistics.median(busy[True]) / statistics.median(busy[False])
        shown = (f"{1e3 * without:.2f} ms", f"{1e3 * with_:.2f} ms", f"{with_ / without:.2f}", f"{own:.2f}")
        sheet.add(name, str(len(times[True])), *shown)
    sheet.notes = ["Times on the clock carry what else the machine does; processor time is of this process alone."]
    return sheet


def _one(model: omniclef.DecisionModel, state: Any, asked: Any, images: Sequence[bytes] = ()) -> Callable[[bool], Any]:
    return lambda evidence: model.decide(state, asked, images=images, evidence=evidence)


def _many(model: omniclef.DecisionModel, states: list[str], asked: Any) -> Callable[[bool], Any]:
    return lambda evidence: model.decide_many(states, asked, evidence=evidence)


if __name__ == "__main__":
    sys.exit(main())
