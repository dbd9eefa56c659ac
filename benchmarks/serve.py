"""A server under load: requests arrive when they are due, whether earlier ones were answered or not.

    python benchmarks/serve.py [--quick] [--threads N] [--seconds S] [--json FILE] [--markdown FILE]

The callers are a process of their own, this one. Capacity is what 64 connections get that never pause; the load is
then 0.5, 0.9 and 1.5 times that, of text and of a mix with pictures, sounds and clips. Arrivals are random, from a
seed. Latencies count from the moment a request was due. Prints hardware and versions. Needs the extra [serve].
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import itertools
import json
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from report import Sheet, hardware, markdown, show, versions
from rich.console import Console
from samples import States, clip, picture, questions, recording

import omniclef

CONNECTIONS = 64
LOADS = (0.5, 0.9, 1.5)
REFUSED = (429, 503, 529)

Bodies = Iterator[bytes]


@dataclass
class Told:
    """What became of the requests of one load. seconds: from due to answered. short: refusals without a retry-after."""

    seconds: list[float] = field(default_factory=list)
    refused: int = 0
    short: int = 0
    failed: int = 0
    lost: int = 0
    lasted: float = 0.0

    def quantile(self, share: float) -> float:
        """Milliseconds."""
        return 1000 * float(np.quantile(self.seconds, share)) if self.seconds else float("nan")

    def figures(self) -> dict[str, Any]:
        return {
            "answered": len(self.seconds),
            "throughput": len(self.seconds) / self.lasted,
            "p50": self.quantile(0.5),
            "p95": self.quantile(0.95),
            "p99": self.quantile(0.99),
            "refused": self.refused,
            "refused without retry-after": self.short,
            "failed": self.failed,
            "lost": self.lost,
        }


class Callers:
    """Connections to one server, kept open; as many as requests are under way."""

    def __init__(self, address: str) -> None:
        self._host, self._port = urlsplit(address).hostname or "", urlsplit(address).port or 80
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def ask(self, body: bytes, told: Told, due: float) -> dict[str, Any] | None:
        """Sends one request and writes down what became of it; the answer where there is one."""
        try:
            reader, writer = self._idle.pop() if self._idle else await asyncio.open_connection(self._host, self._port)
            writer.write(
                b"POST /v1/systemone HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
                b"content-length: %d\r\n\r\n" % len(body) + body
            )
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            length = re.search(r"content-length: (\d+)", head)
            text = await reader.readexactly(int(length[1]) if length else 0)
        except (OSError, asyncio.IncompleteReadError):
            told.lost += 1
            return None
        spent = time.perf_counter() - due
        self._idle.append((reader, writer))
        status = int(head.split(" ", 2)[1])
        if status == 200:
            told.seconds.append(spent)
            answer: dict[str, Any] = json.loads(text)
            return answer
        told.refused += status in REFUSED
        told.short += status in REFUSED and "retry-after: " not in head
        told.failed += status not in REFUSED
        return None

    async def closed(self, bodies: Bodies, seconds: float, connections: int) -> Told:
        """``connections`` callers, each asking again as soon as it has its answer."""
        told, begun = Told(), time.perf_counter()

        async def call() -> None:
            while time.perf_counter() - begun < seconds:
                refused = told.refused
                await self.ask(next(bodies), told, time.perf_counter())
                if told.refused > refused:
                    await asyncio.sleep(0.01)

        await asyncio.gather(*(call() for _ in range(connections)))
        told.lasted = time.perf_counter() - begun
        return told

    async def open(self, bodies: Bodies, seconds: float, rate: float, seed: int = 0) -> Told:
        """``rate`` requests a second, at random moments."""
        rng, told, begun = random.Random(seed), Told(), time.perf_counter()
        asks, due = [], begun
        while (due := due + rng.expovariate(rate)) < begun + seconds:
            if (wait := due - time.perf_counter()) > 0:
                await asyncio.sleep(wait)
            asks.append(asyncio.create_task(self.ask(next(bodies), told, due)))
        await asyncio.gather(*asks)
        told.lasted = time.perf_counter() - begun
        return told


@contextmanager
def server(threads: int | None) -> Iterator[str]:
    """The address of a server with nano."""
    command = [sys.executable, "-m", "omniclef.cli", "serve", "--port", "0", "--log-level", "warning"]
    process = subprocess.Popen(
        [*command, *(["--threads", str(threads)] if threads else [])], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found, "the server did not start"
        yield found[0]
    finally:
        process.terminate()
        process.wait(90)


SEEDS = itertools.count(1)


def texts() -> Bodies:
    """Messages of 8 to 60 tokens with three questions; none comes twice, in this table or another."""
    seed = next(SEEDS)
    states, asked = States(seed), questions(3)
    for number in itertools.count():
        state = f"{seed}.{number}: {states.mixed(1)[0]}"
        yield json.dumps({"model": "nano", "state": state, "questions": asked}).encode()


def mixed() -> Bodies:
    """Of ten requests seven are text, and one each has a picture, 3 s of sound and a clip of 3 s."""
    rng, plain = np.random.default_rng(2), texts()
    makers: dict[str, tuple[str, Callable[[], bytes]]] = {
        "images": ("image/jpeg", lambda: picture(rng)),
        "audio": ("audio/wav", lambda: recording(3.0, rng)),
        "videos": ("video/mp4", lambda: clip(3.0, rng)),
    }
    made = {
        name: [f"data:{kind};base64," + base64.b64encode(make()).decode() for _ in range(8)]
        for name, (kind, make) in makers.items()
    }
    for number in itertools.count():
        body = json.loads(next(plain))
        name = {2: "images", 5: "audio", 8: "videos"}.get(number % 10)
        if name:
            body[name] = [made[name][number // 10 % 8]]
        yield json.dumps(body).encode()


async def load(address: str, name: str, bodies: Bodies, seconds: float, figures: dict[str, Any]) -> Sheet:
    callers = Callers(address)
    await callers.closed(bodies, seconds / 4, CONNECTIONS)  # warm
    capacity = (await callers.closed(bodies, seconds, CONNECTIONS)).figures()["throughput"]
    columns = ("load", "due/s", "answered/s", "p50 ms", "p95 ms", "p99 ms", "refused", "failed", "lost")
    sheet = Sheet(f"Under load: {name}", columns)
    figures[name] = {"capacity": capacity}
    for share in LOADS:
        found = (await callers.open(bodies, seconds, share * capacity)).figures()
        figures[name][f"{share:g}"] = found
        sheet.add(
            f"{share:g}x",
            f"{share * capacity:.1f}",
            f"{found['throughput']:.1f}",
            *(f"{found[part]:.0f}" for part in ("p50", "p95", "p99")),
            *(f"{found[part]}" for part in ("refused", "failed", "lost")),
        )
    times = figures[name]["1.5"]["p95"] / figures[name]["0.9"]["p95"]
    short = sum(figures[name][f"{share:g}"]["refused without retry-after"] for share in LOADS)
    sheet.notes.append(f"capacity {capacity:.1f} a second, of {CONNECTIONS} connections; {seconds:g} s for each load")
    sheet.notes.append(
        f"p95 at 1.5x is {times:.2f} times that at 0.9x (wanted: 2 at most); {short} without retry-after"
    )
    return sheet


async def connections(address: str, seconds: float, figures: dict[str, Any]) -> Sheet:
    callers, bodies = Callers(address), texts()
    rates: dict[int, list[float]] = {1: [], CONNECTIONS: []}
    for _ in range(3):  # in turns, as the machine may be busy
        for count, found in rates.items():
            found.append((await callers.closed(bodies, seconds / 3, count)).figures()["throughput"])
    one, many = median(rates[1]), median(rates[CONNECTIONS])
    sheet = Sheet("One connection and many", ("connections", "answered/s", "times"))
    sheet.add("1", f"{one:.1f}", "")
    sheet.add(str(CONNECTIONS), f"{many:.1f}", f"{many / one:.2f}x")
    sheet.notes.append("medians of 3 turns; wanted: 3x")
    figures["connections"] = {str(count): found for count, found in rates.items()}
    return sheet


async def overhead(address: str, count: int, threads: int | None, figures: dict[str, Any]) -> Sheet:
    callers, bodies, told = Callers(address), texts(), Told()
    model = omniclef.load("nano", threads=threads)
    direct, added = [], []
    for number in range(-20, count):
        body = next(bodies)
        request = omniclef.parse_request(
            {name: value for name, value in json.loads(body).items() if name in ("state", "questions")}
        )
        started = time.perf_counter()
        model.decide(request.state, request.questions)
        spent = time.perf_counter() - started
        answer = await callers.ask(body, told, time.perf_counter())
        if number >= 0 and answer:
            direct.append(1000 * spent)
            added.append(1000 * told.seconds[-1] - answer["x_timings"]["run_ms"])
    served = median(told.seconds[20:]) * 1000
    sheet = Sheet("One caller, one request at a time", ("what", "median ms"))
    sheet.add("decide() in this process", f"{median(direct):.2f}")
    sheet.add("a request, as its caller sees it", f"{served:.2f}")
    sheet.add("a request less decide()", f"{served - median(direct):.2f}")
    sheet.add("a request without its batch", f"{median(added):.2f}")
    sheet.notes.append(f"{count} requests of each, in turns; wanted: 2 ms over decide() at most")
    figures["overhead"] = {"direct": median(direct), "served": served, "without batch": median(added)}
    return sheet


async def measure(
    address: str, seconds: float, count: int, threads: int | None, figures: dict[str, Any]
) -> list[Sheet]:
    return [
        await overhead(address, count, threads, figures),
        await connections(address, seconds, figures),
        await load(address, "text", texts(), seconds, figures),
        await load(address, "text, pictures, sounds, clips", mixed(), seconds, figures),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="4 s for each load")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    given = parser.parse_args()
    seconds, count = (4.0, 60) if given.quick else (given.seconds, 300)
    figures: dict[str, Any] = {"hardware": hardware(), "versions": versions()}
    console = Console()
    console.print_json(data=figures)
    with server(given.threads) as address:
        sheets = asyncio.run(measure(address, seconds, count, given.threads, figures))
    figures["load at the end"] = hardware()["load"]
    sheets[-1].notes.append(f"load average: {figures['hardware']['load']} before, {figures['load at the end']} after")
    show(sheets, console)
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")
    if given.markdown:
        given.markdown.write_text(markdown(sheets), "utf-8")


if __name__ == "__main__":
    main()
