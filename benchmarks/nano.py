"""Speed of the embedded model on this machine, beside what a user would pick instead, in one table.

    python benchmarks/nano.py [--quick] [--threads N] [--data DIR] [--no-peers] [--json FILE] [--markdown FILE]

Every state is new, so that nothing of it comes from a cache; a schema is warm unless its row says cold. All
contestants of a row take turns, so that a busy machine slows each of them alike.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from engine_overhead import against_bare_calls
from peers import Peer, Pipeline, Sparrow, missing
from report import Sheet, cores, hardware, markdown, show, versions
from rich.console import Console
from samples import States, clip, cold_names, names, picture, questions, recording

import omniclef
from omniclef.backbones.nano import Assets
from omniclef.evaluation import get_suite
from omniclef.evaluation.sources import DataFolder, cache_folder
from omniclef.model import embedded, nano_model

OURS = "nano"
SECONDS = 20.0  # of one contestant in one row; it runs at least once
TARGETS = {"pipeline": 15.0, "batch": 3.0, "overhead": 1.25}

Ask = Callable[[int], Any]


@dataclass(frozen=True)
class Plan:
    """How often to measure what."""

    repeats: int
    media: int
    peer: int
    states: int
    cases: int
    wide_peer: bool  # 64 questions on 2,000 tokens: minutes for a model that takes a prompt for each

    @classmethod
    def of(cls, quick: bool) -> Plan:
        return cls(6, 3, 2, 200, 16, False) if quick else cls(50, 10, 10, 1000, 60, True)


@dataclass
class Bench:
    """What all measurements share, and what they found."""

    plan: Plan
    threads: int
    model: omniclef.DecisionModel
    peers: list[Peer]
    states: States = field(default_factory=States)
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    figures: dict[str, Any] = field(default_factory=dict)

    def decide(self, tokens: int, asked: Mapping[str, Any]) -> Ask:
        return lambda _: self.model.decide(self.states.draw(tokens), asked)

    def ask(self, peer: Peer, tokens: int, asked: Mapping[str, Any]) -> Ask:
        return lambda _: peer.ask(self.states.draw(tokens), asked)


def take_turns(contestants: Mapping[str, tuple[Ask, int]]) -> dict[str, list[float]]:
    """Milliseconds of each contestant's calls, A B A B, as often as each says, within ``SECONDS`` each."""
    found: dict[str, list[float]] = {name: [] for name in contestants}
    for number in range(max(count for _, count in contestants.values())):
        for name, (ask, count) in contestants.items():
            if number < count and (number == 0 or sum(found[name]) < 1000 * SECONDS):
                start = time.perf_counter()
                ask(number)
                found[name].append(1000 * (time.perf_counter() - start))
    return found


def latency(bench: Bench, sheet: Sheet) -> None:
    """1, 3 and 64 questions on short and long states, with every peer."""
    for tokens in (60, 2000):
        for count in (1, 3, 64):
            asked = questions(count)
            what = f"{count} question{'s' if count > 1 else ''}, {tokens:,}-token state"
            bench.model.decide(bench.states.draw(tokens), asked)  # the schema is warm from here on
            contestants = {OURS: (bench.decide(tokens, asked), bench.plan.repeats)}
            for peer in bench.peers:
                slow = isinstance(peer, Pipeline)
                if slow and count == 64 and tokens == 2000 and not bench.plan.wide_peer:
                    sheet.notes.append(f"{what}: {peer.name} would take minutes; left out of a quick run.")
                    continue
                contestants[peer.name] = (
                    bench.ask(peer, tokens, asked),
                    bench.plan.peer if slow else bench.plan.repeats,
                )
            _rows(bench, sheet, what, take_turns(contestants))


def one_wide_question(bench: Bench, sheet: Sheet) -> None:
    warm = names()
    bench.model.decide(bench.states.draw(60), warm)
    cold: Ask = lambda number: bench.model.decide(bench.states.draw(60), cold_names(number))  # noqa: E731
    contestants: dict[str, tuple[Ask, int]] = {OURS: (bench.decide(60, warm), bench.plan.repeats)}
    for peer in bench.peers:
        count = bench.plan.peer if isinstance(peer, Pipeline) else bench.plan.repeats
        contestants[peer.name] = (bench.ask(peer, 60, warm), count)
    _rows(bench, sheet, "77 options, warm schema", take_turns(contestants))
    _rows(bench, sheet, "77 options, cold schema", take_turns({OURS: (cold, max(3, bench.plan.repeats // 5))}))


def media(bench: Bench, sheet: Sheet) -> None:
    """From encoded bytes to answers: decoding is part of it."""
    asked = questions(3)
    given: dict[str, Callable[[], dict[str, Any]]] = {
        "image, 640 x 480 JPEG": lambda: {"images": [picture(bench.rng)]},
        "audio, 5 s WAV": lambda: {"audio": [recording(5, bench.rng)]},
        "audio, 60 s WAV": lambda: {"audio": [recording(60, bench.rng)]},
        "clip, 21 s with sound, 320 x 240 MP4": lambda: {"videos": [clip(21, bench.rng)]},
    }
    for what, make in given.items():
        made = [make() for _ in range(bench.plan.media + 1)]
        try:
            bench.model.decide("", asked, **made[-1])
        except omniclef.ModelNotFound as error:
            sheet.add(f"{what}, 3 questions", OURS, "0", "not measured", str(error).split(": ")[-1], "")
            continue
        asks: Ask = partial(_with_media, bench.model, asked, made)
        _rows(bench, sheet, f"{what}, 3 questions", take_turns({OURS: (asks, bench.plan.media)}))


def _with_media(
    model: omniclef.DecisionModel, asked: Mapping[str, Any], made: list[dict[str, Any]], number: int
) -> omniclef.Decision:
    return model.decide("", asked, **made[number])


def loading(bench: Bench, sheet: Sheet) -> None:
    def load(_: int) -> None:
        omniclef.load("nano", threads=bench.threads).decide("I want my money back.", questions(1))

    _rows(bench, sheet, "load, to the first answer about text", take_turns({OURS: (load, 5)}))


def _rows(bench: Bench, sheet: Sheet, what: str, found: Mapping[str, list[float]]) -> None:
    ours = statistics.median(found[OURS])
    for name, times in found.items():
        median, p95 = statistics.median(times), float(np.percentile(times, 95))
        ratio = "" if name == OURS else f"{median / ours:.3g}x"
        sheet.add(what, name, str(len(times)), f"{median:.2f}", f"{p95:.2f}", ratio)
        figure = {"samples": len(times), "median_ms": median, "p95_ms": p95, "times_nano": median / ours}
        bench.figures.setdefault("latency", {}).setdefault(what, {})[name] = figure


def throughput(bench: Bench) -> Sheet:
    """One schema over many states: together, one at a time, and one at a time with nothing remembered."""
    sheet = Sheet("One schema over many states", ("how", "states", "states/s", "together is"))
    asked, folder = questions(3), embedded()["nano"]
    together = omniclef.load("nano", threads=bench.threads)
    single = omniclef.load("nano", threads=bench.threads)
    forgetful = Assets(folder, bench.threads, cache_bytes=0)
    spent = {"together": 0.0, "one at a time": 0.0, "one at a time, fresh cache each": 0.0}
    done = dict.fromkeys(spent, 0)

    def afresh(state: str) -> None:
        nano_model(forgetful).decide(state, asked)

    for warm in ("warm the schema", "and the memory"):
        together.decide_many([warm], asked)
        single.decide(warm, asked)
        afresh(warm)
    chunk = 200
    states = bench.states.mixed(bench.plan.states)
    for start in range(0, len(states), chunk):
        part = states[start : start + chunk]
        few = part[: chunk // 5]
        ways: dict[str, tuple[Callable[[], object], int]] = {
            "together": (lambda part=part: together.decide_many(part, asked), len(part)),
            "one at a time": (lambda part=part: [single.decide(state, asked) for state in part], len(part)),
            "one at a time, fresh cache each": (lambda few=few: [afresh(state) for state in few], len(few)),
        }
        for name, (work, count) in ways.items():
            begun = time.perf_counter()
            work()
            spent[name] += time.perf_counter() - begun
            done[name] += count
    rates = {name: done[name] / spent[name] for name in spent}
    for name, rate in rates.items():
        times = rates["together"] / rate
        sheet.add(name, f"{done[name]:,}", f"{rate:.1f}", "" if name == "together" else f"{times:.2f}x")
    sheet.notes.append("States of 8 to 60 tokens, three questions, 200 states a turn.")
    bench.figures["throughput"] = {name: {"states": done[name], "per_second": rates[name]} for name in rates}
    return sheet


def overhead(bench: Bench) -> Sheet:
    columns = ("what", "samples", "decide ms", "bare ms", "ratio")
    sheet = Sheet("decide() over the bare onnxruntime calls it makes", columns)
    for tokens in (60, 2000):
        for count in (1, 3, 64):
            asked = questions(count)
            ask = bench.decide(tokens, asked)
            for number in range(2):
                ask(number)
            whole, bare = against_bare_calls(ask, bench.plan.repeats)
            first, second = 1000 * statistics.median(whole), 1000 * statistics.median(bare)
            # Of pairs that ran back to back, so that a busy moment hits both sides of a ratio.
            ratio = statistics.median(a / b for a, b in zip(whole, bare, strict=True))
            what = f"{count} question{'s' if count > 1 else ''}, {tokens:,} tokens"
            sheet.add(what, str(len(whole)), f"{first:.2f}", f"{second:.2f}", f"{ratio:.3f}")
            figure = {"samples": len(whole), "decide_ms": first, "bare_ms": second, "ratio": ratio}
            bench.figures.setdefault("overhead", {})[what] = figure
    sheet.notes.append("The ratio is the median over pairs: one decision, then the same calls with the same inputs.")
    return sheet


def accuracy(bench: Bench, data: Path) -> Sheet:
    """The same seeded cases for everybody, with the suite's plain question and no examples."""
    sheet = Sheet("Accuracy on the same cases", ("suite", "who", "cases", "accuracy", "median ms"))
    for suite in ("banking77", "sms_spam"):
        try:
            cases = list(get_suite(suite).cases(DataFolder(data), limit=bench.plan.cases, seed=0))
        except omniclef.InvalidInput as error:
            sheet.add(suite, "nobody", "0", "not measured", "")
            sheet.notes.append(str(error))
            continue
        asks: dict[str, Callable[[Any, Any], Mapping[str, Any]]] = {
            OURS: lambda state, asked: bench.model.decide(state, asked).to_dict(None)["answers"]
        }
        asks |= {peer.name: peer.ask for peer in bench.peers}
        right = dict.fromkeys(asks, 0)
        times: dict[str, list[float]] = {name: [] for name in asks}
        for case in cases:
            ((key, label),) = case.labels.items()
            for name, ask in asks.items():
                start = time.perf_counter()
                answer = ask(case.request["state"], case.request["questions"])[key]
                times[name].append(1000 * (time.perf_counter() - start))
                given = answer["noul"] > 0.5 if answer["type"] == "noul" else answer["choice"]
                right[name] += given == label
        for name in asks:
            share, median = right[name] / len(cases), statistics.median(times[name])
            sheet.add(suite, name, str(len(cases)), f"{share:.3f}", f"{median:.2f}")
            figure = {"cases": len(cases), "accuracy": share, "median_ms": median}
            bench.figures.setdefault("accuracy", {}).setdefault(suite, {})[name] = figure
    return sheet


def targets(bench: Bench) -> Sheet:
    sheet = Sheet("Targets", ("what", "wanted", "measured"))
    for what, row in bench.figures["latency"].items():
        if what.startswith("3 questions") and Pipeline.name in row:
            measured = f"{row[Pipeline.name]['times_nano']:.3g}x"
            sheet.add(f"{what}: faster than the pipeline, at the median", f">= {TARGETS['pipeline']:g}x", measured)
    rates = bench.figures["throughput"]
    for name in ("one at a time", "one at a time, fresh cache each"):
        ratio = rates["together"]["per_second"] / rates[name]["per_second"]
        sheet.add(f"many states together over {name}", f">= {TARGETS['batch']:g}x", f"{ratio:.2f}x")
    for what, row in bench.figures["overhead"].items():
        sheet.add(f"overhead, {what}", f"<= {TARGETS['overhead']:g}", f"{row['ratio']:.3f}")
    suites = bench.figures.get("accuracy", {})
    for suite, row in suites.items():
        if Pipeline.name in row:
            both = f"{row[OURS]['accuracy']:.3f} against {row[Pipeline.name]['accuracy']:.3f}"
            sheet.add(f"{suite}: more often right than the pipeline", "yes", both)
    return sheet


def environment(bench: Bench, absent: Iterable[str]) -> Sheet:
    sheet = Sheet("Measured on", ("what", "value"))
    machine = hardware()
    flags = ", ".join(machine["flags"]) or "none of avx2, avx512, amx"
    sheet.add("processor", f"{machine['cpu']}, {machine['cores']} cores, {flags}")
    sheet.add("threads for each contestant", str(bench.threads))
    sheet.add("system", machine["system"])
    sheet.add("load average at the start", " ".join(map(str, machine["load"])))
    for package, number in versions().items():
        sheet.add(package, number)
    sheet.add("model digest", bench.model.info.digest)
    sheet.notes += [f"{peer.name}: {peer.note}." for peer in bench.peers]
    sheet.notes += [f"Not compared: {reason}" for reason in absent]
    bench.figures |= {"hardware": machine, "versions": versions(), "threads": bench.threads}
    bench.figures |= {"digest": bench.model.info.digest, "absent": list(absent)}
    return sheet


def find_peers(wanted: bool, cache: Path, threads: int) -> tuple[list[Peer], list[str]]:
    """The peers that are installed, and for each of the others a line that says how to install it."""
    if not wanted:
        return [], ["peers, because of --no-peers"]
    makers: dict[str, Callable[[], Peer]] = {
        "pipeline": lambda: Pipeline(cache, threads),
        "sparrow": Sparrow,
    }
    absent = [f"{name}: {reason}" for name in makers if (reason := missing(name))]
    peers = [make() for name, make in makers.items() if not missing(name)]
    for peer in peers:
        peer.ask("warm up", questions(3))
    return peers, absent


def pin(threads: int) -> None:
    """Starts this script again with the environment in which numpy and torch take so many threads."""
    fixed = {name: str(threads) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    fixed |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    if any(os.environ.get(name) != value for name, value in fixed.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **fixed})


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed of the embedded model, beside what a user would pick instead.")
    parser.add_argument("--quick", action="store_true", help="fewer repeats: a few minutes")
    parser.add_argument("--threads", type=int, default=cores(), help="for every contestant (default: all cores)")
    parser.add_argument("--data", type=Path, default=cache_folder() / "data", help="where the suites' files are")
    parser.add_argument("--cache", type=Path, default=cache_folder() / "peers", help="where a peer's weights are kept")
    parser.add_argument("--no-peers", action="store_true", help="measure the embedded model alone")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every figure there")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="also write the tables there")
    options = parser.parse_args()
    if options.threads < 1:
        parser.error("--threads must be at least 1")
    pin(options.threads)

    console = Console(stderr=True)
    model = omniclef.load("nano", threads=options.threads)
    peers, absent = find_peers(not options.no_peers, options.cache, options.threads)
    for reason in absent:
        console.print(f"Not compared: {reason}", markup=False)
    bench = Bench(Plan.of(options.quick), options.threads, model, peers)
    sheets = [environment(bench, absent)]
    columns = ("request", "who", "samples", "median ms", "p95 ms", "over nano")
    speed = Sheet("From request to answers", columns)
    sheets.append(speed)
    for measure in (latency, one_wide_question, media, loading):
        console.print(f"measuring: {measure.__name__.replace('_', ' ')}")
        measure(bench, speed)
    console.print("measuring: many states, overhead, accuracy")
    sheets += [throughput(bench), overhead(bench), accuracy(bench, options.data), targets(bench)]
    show(sheets, Console())
    if options.json:
        options.json.write_text(json.dumps(bench.figures, indent=1) + "\n", "utf-8")
    if options.markdown:
        options.markdown.write_text(markdown(sheets), "utf-8")


if __name__ == "__main__":
    main()
