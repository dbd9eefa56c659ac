"""The usage log: lines a second of its writer and of ``omniclef usage``, beside the plainest way to do each.

    python benchmarks/usage.py [--lines 100000]

Writer: what a request pays for (`add`), and until all is in the file. Beside it, the same lines written to an open file
and flushed each: what an answer would wait for without the thread. Reader: beside it, ``json.loads`` alone. Best of
five runs, in turns.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from report import Sheet, hardware, show, versions
from rich.console import Console

from omniclef.backbones.base import TokenCount
from omniclef.engine.asks import Timings
from omniclef.server.usage import Usage, UsageLog
from omniclef.server.usage_report import read_usage

RUNS = 5


def usages(count: int) -> list[Usage]:
    one = Usage(1.8e9, "", "team", "clef", "/v1/systemone", 200, timings=Timings(0.0, 0.001, 0.0025, 0.004))
    return [
        replace(one, id=f"{n:032x}", tenant=f"team-{n % 20}", tokens=TokenCount(text=n * 7919 % 30_000), cost=n)
        for n in range(count)
    ]


def written(log: Path, lines: list[Usage]) -> tuple[float, float]:
    writer = UsageLog(log, room=len(lines))
    start = time.perf_counter()
    for line in lines:
        writer.add(line)
    added = time.perf_counter() - start
    writer.close()
    assert writer.counts().written == len(lines)
    return added, time.perf_counter() - start


def printed(log: Path, lines: list[Usage]) -> float:
    start = time.perf_counter()
    with log.open("wb") as out:
        for line in lines:
            out.write(line.line())
            out.flush()
    return time.perf_counter() - start


def timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def parsed(log: Path) -> None:
    with log.open("rb") as lines:
        for line in lines:
            json.loads(line)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--lines", type=int, default=100_000)
    count = parser.parse_args().lines
    lines = usages(count)
    seconds: dict[str, list[float]] = {"add": [], "written": [], "printed": [], "read": [], "parsed": []}
    for _ in range(RUNS):
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "usage.jsonl"
            added, all_of_it = written(log, lines)
            seconds["add"].append(added)
            seconds["written"].append(all_of_it)
            seconds["printed"].append(printed(Path(folder) / "plain.jsonl", lines))
            seconds["read"].append(timed(lambda: read_usage([log])))  # noqa: B023 - called at once
            seconds["parsed"].append(timed(lambda: parsed(log)))  # noqa: B023 - called at once
            size = log.stat().st_size
    best = {name: min(each) for name, each in seconds.items()}
    sheet = Sheet(f"usage log, {count:,} lines of {size / count:.0f} bytes", ("what", "lines/s", "µs a line", "ratio"))
    for name, told, peer in (
        ("add", "added by the server", "printed"),
        ("written", "added and in the file", "printed"),
        ("printed", "peer: written and flushed in place", "printed"),
        ("read", "read by omniclef usage", "parsed"),
        ("parsed", "peer: json.loads alone", "parsed"),
    ):
        ratio = f"{best[name] / best[peer]:.2f}"
        sheet.add(told, f"{count / best[name]:,.0f}", f"{1e6 * best[name] / count:.2f}", ratio)
    sheet.notes.append(f"best of {RUNS} runs; ratio of the time to the peer's below it")
    print(json.dumps({"hardware": hardware(), "versions": versions()}))
    show([sheet], Console())


if __name__ == "__main__":
    main()
