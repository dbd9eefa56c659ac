"""What is lost when something is killed under load: nothing that was accepted, but what the killed process held."""

from __future__ import annotations

import base64
import http.client
import json
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from encoded_media import clip, grey_clock, steady, tone
from processes import children
from serving import Reply, Server, ask, serve

pytestmark = pytest.mark.soak

CALLERS = 8
RETRYABLE = (429, 503, 529)
TEXT = {
    "model": "nano",
    "state": "I was charged twice. " * 20,
    "questions": {"refund": {"type": "noul", "instructions": "Money back?"}},
}


class Load:
    """Callers that ask without a pause, each on a connection of its own, and what became of every request."""

    def __init__(self, server: Server, body: dict[str, Any]) -> None:
        self.replies: list[Reply] = []
        self.refused = 0  # connections that were not taken: nothing was accepted
        self.lost = 0  # a connection that took a request and ended without an answer
        self.stopped = threading.Event()
        self._server, self._body = server, json.dumps(body).encode()
        self._threads = [threading.Thread(target=self._call) for _ in range(CALLERS)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self.stopped.set()
        for thread in self._threads:
            thread.join(90)

    def statuses(self) -> Counter[int]:
        return Counter(reply.status for reply in self.replies)

    def answered(self, most: float = 60.0, more: int = 20) -> None:
        """Waits for ``more`` further answers of 200."""
        wanted = self.statuses()[200] + more
        wait(lambda: self.statuses()[200] >= wanted, most)

    def _call(self) -> None:
        address = urlsplit(self._server.address).netloc
        while not self.stopped.is_set():
            connection = http.client.HTTPConnection(address, timeout=90)
            try:
                connection.connect()
            except OSError:
                self.refused += 1
                return
            try:
                connection.request("POST", "/v1/systemone", self._body, {"content-type": "application/json"})
                answer = connection.getresponse()
                body = json.loads(answer.read())
            except (OSError, http.client.HTTPException, ValueError):
                self.lost += 1
            else:
                headers = {name.lower(): value for name, value in answer.getheaders()}
                self.replies.append(Reply(answer.status, headers, body))
                if answer.status != 200:
                    time.sleep(0.05)
            finally:
                connection.close()


@contextmanager
def under(server: Server, body: dict[str, Any]) -> Iterator[Load]:
    load = Load(server, body)
    load.start()
    try:
        load.answered()
        yield load
    finally:
        load.stop()


def wait(done: Callable[[], bool], most: float = 30.0) -> None:
    deadline = time.monotonic() + most
    while not done():
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.02)


def pids(server: Server, role: str) -> set[int]:
    return {pid for pid, each in children(server.process.pid).items() if each == role}


def metric(server: Server, name: str) -> float:
    lines = ask(server.address, "/metrics").body.splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name) and line[0] != "#")


def clips() -> dict[str, Any]:
    film = clip(grey_clock(steady(4.0, 10)), size=(640, 480), samples=tone(4.0, 48_000))
    return {**TEXT, "videos": ["data:video/mp4;base64," + base64.b64encode(film).decode()]}


def test_a_killed_worker_costs_its_own_requests_which_may_be_sent_again() -> None:
    with serve("--threads", "1") as server, under(server, TEXT) as load:
        (worker,) = pids(server, "worker")
        os.kill(worker, signal.SIGKILL)
        wait(lambda: pids(server, "worker") not in (set(), {worker}), 60)
        load.answered()
        load.stop()
        failed = [reply for reply in load.replies if reply.status != 200]
        print(f"killed a worker: {dict(load.statuses())}, lost {load.lost}")
        assert (load.lost, load.refused) == (0, 0)
        assert {reply.status for reply in failed} <= set(RETRYABLE)
        assert all(float(reply.headers["retry-after"]) > 0 for reply in failed)
        assert metric(server, "omniclef_worker_restarts_total") == 1
        assert ask(server.address, "/ready").status == 200


def test_a_killed_decoder_costs_its_own_request_which_may_be_sent_again() -> None:
    with serve("--threads", "1") as server, under(server, clips()) as load:
        before = pids(server, "decoder")
        for pid in before:
            os.kill(pid, signal.SIGKILL)
        wait(lambda: len(pids(server, "decoder") - before) == len(before), 60)
        load.answered()
        load.stop()
        failed = [reply for reply in load.replies if reply.status != 200]
        print(f"killed {len(before)} decoders: {dict(load.statuses())}, lost {load.lost}")
        assert (load.lost, load.refused) == (0, 0)
        assert {reply.status for reply in failed} <= set(RETRYABLE)
        assert sum("was ended" in json.dumps(reply.body) for reply in failed) <= len(before)
        assert metric(server, "omniclef_decoder_restarts_total") == len(before)


def test_a_full_disk_under_the_usage_log_costs_no_answer(tmp_path: Path) -> None:
    log = tmp_path / "usage.jsonl"
    log.symlink_to("/dev/full")  # every write there fails as on a disk without space
    with serve("--threads", "1", "--usage-log", str(log)) as server, under(server, TEXT) as load:
        wait(lambda: metric(server, "omniclef_usage_lines_waiting") > 0)
        load.answered()
        log.unlink()  # space again: the next try opens a new file
        load.answered()
        load.stop()
        wait(lambda: metric(server, "omniclef_usage_lines_waiting") == 0)
        print(f"full disk: {dict(load.statuses())}, lost {load.lost}")
        assert (load.lost, load.refused) == (0, 0)
        assert set(load.statuses()) <= {200, 429}
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        assert Counter(line["status"] for line in lines) == load.statuses()
        assert metric(server, "omniclef_usage_lines_lost_total") == 0


def test_sigterm_under_load_answers_all_that_was_accepted_and_exits_with_0(tmp_path: Path) -> None:
    log = tmp_path / "usage.jsonl"
    with serve("--threads", "1", "--usage-log", str(log)) as server, under(server, TEXT) as load:
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(60) == 0
        load.stop()
        print(f"SIGTERM: {dict(load.statuses())}, lost {load.lost}, not taken {load.refused}")
        assert set(load.statuses()) <= {200, *RETRYABLE}
        assert '"event": "stopped", "drained": true' in server.log()
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        # Whatever the server accepted is a line of its log; each of them reached its caller.
        assert Counter(line["status"] for line in lines) == load.statuses()
