"""Thousands of requests that mean harm, to a real server process: it refuses each in its wire's shape and lives on."""

from __future__ import annotations

import http.client
import json
import statistics
import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from hostile import Hostile, hostile
from jsonschema import Draft202012Validator
from processes import open_files, resident
from serving import Server, ask, serve

CALLERS = 4
SAMPLES = 40
GROWTH = 24 << 20
"""Bytes by which the last quarter of the samples may lie above the quarter before, by their medians: what allocators
keep for their largest request so far."""
ASKED = {
    "model": "nano",
    "state": "I want my money back.",
    "questions": {"refund": {"type": "noul", "instructions": "Money back?"}},
}


class Fuzz:
    """Sends requests by number from several threads, and keeps what was wrong with the answers."""

    def __init__(self, server: Server, count: int, seed: int = 0) -> None:
        self.server, self.count, self.seed = server, count, seed
        spec = ask(server.address, "/openapi.json").body
        self.responses = {path: item["post"]["responses"] for path, item in spec["paths"].items() if "post" in item}
        self.components = spec["components"]
        self.validators: dict[tuple[str, str], Draft202012Validator] = {}
        self.statuses: Counter[int] = Counter()
        self.problems: list[str] = []
        self.memory: list[dict[str, int]] = []
        self.files: list[int] = []
        self.unread = 0  # bodies so large that the server refused them and ended the connection first
        self.next = 0
        self.lock = threading.Lock()

    def run(self) -> None:
        threads = [threading.Thread(target=self.call) for _ in range(CALLERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def call(self) -> None:
        connection = http.client.HTTPConnection(urlsplit(self.server.address).netloc, timeout=60)
        for number in self.numbers():
            sent = hostile(number, self.seed)
            try:
                connection.request("POST", sent.path, sent.body, sent.headers)
                answer = connection.getresponse()
                status, text = answer.status, answer.read()
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                if isinstance(error, ConnectionError) and len(sent.body) > 1 << 16:
                    with self.lock:
                        self.unread += 1
                else:
                    self.problem(sent, f"no answer: {error!r}")
                continue
            self.check(sent, status, text)
        connection.close()

    def numbers(self) -> Iterator[int]:
        while True:
            with self.lock:
                if self.next == self.count:
                    return
                number, self.next = self.next, self.next + 1
                if number % max(1, self.count // SAMPLES) == 0:
                    self.memory.append(resident(self.server.process.pid))
                    self.files.append(open_files(self.server.process.pid))
            yield number

    def check(self, sent: Hostile, status: int, text: bytes) -> None:
        with self.lock:
            self.statuses[status] += 1
        if status >= 500:
            self.problem(sent, f"{status}: {text[:300]!r}")
        elif str(status) not in self.responses[sent.route]:
            self.problem(sent, f"{status} is not in the document: {text[:300]!r}")
        else:
            try:
                errors = list(self.validator(sent.route, status).iter_errors(json.loads(text)))
            except ValueError:
                self.problem(sent, f"{status}: no JSON: {text[:300]!r}")
            else:
                if errors or b"Traceback" in text:
                    self.problem(sent, f"{status}: not in its wire's shape: {text[:300]!r}")

    def validator(self, route: str, status: int) -> Draft202012Validator:
        key = route, str(status)
        if key not in self.validators:
            schema: dict[str, Any] = self.responses[route][str(status)]["content"]["application/json"]["schema"]
            self.validators[key] = Draft202012Validator({**schema, "components": self.components})
        return self.validators[key]

    def problem(self, sent: Hostile, text: str) -> None:
        self.problems.append(f"hostile({sent.number}, {self.seed}), {sent.path[:80]}: {text}")

    def verify(self, *growing: str) -> None:
        """What holds after the last request. ``growing`` are processes that have not filled their caches yet."""
        told = ask(self.server.address, "/v1/systemone", ASKED)
        log = self.server.log()
        print(f"statuses {dict(sorted(self.statuses.items()))}")
        for role in self.memory[0]:
            print(f"MiB of {role}: {[sizes[role] >> 20 for sizes in self.memory]}")
        assert self.problems == []
        assert self.statuses.total() + self.unread == self.count
        assert told.status == 200
        assert "Traceback" not in log
        assert '"event": "broken"' not in log
        assert self.statuses[200] > self.count / 50, "nearly everything is refused, so little of the server was tried"
        quarter = len(self.memory) // 4
        for role in self.memory[0].keys() - set(growing):
            sizes = [sample[role] for sample in self.memory]
            grown = statistics.median(sizes[-quarter:]) - statistics.median(sizes[-2 * quarter : -quarter])
            assert grown <= GROWTH, f"{role} has grown by {grown:,} bytes"
        self.settle(max(self.files[:quarter]))

    def settle(self, most: int) -> None:
        """No more files are open than in the beginning, when all that was asked is done."""
        deadline = time.monotonic() + 10
        while open_files(self.server.process.pid) > most:
            assert time.monotonic() < deadline, "files stay open"
            time.sleep(0.05)


def test_hostile_requests_are_refused_in_shape_and_cost_nothing() -> None:
    with serve("--threads", "1") as server:
        fuzz = Fuzz(server, 1500)
        fuzz.run()
        fuzz.verify("worker")  # nano remembers up to 256 MiB of text that it has read


@pytest.mark.soak
def test_20_000_hostile_requests() -> None:
    with serve("--threads", "1") as server:
        fuzz = Fuzz(server, 20_000, seed=1)
        fuzz.run()
        fuzz.verify()
