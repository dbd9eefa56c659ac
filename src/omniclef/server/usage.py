"""The usage log: one line of JSON for every request, appended by a thread of its own.

Knows files, disks that are full, and other processes that append to the same file; knows nothing of HTTP. A line holds
who asked what model, how many tokens, the cost and the seconds; never a state, a question, a medium or a key.

What is lost, and when: lines reach the operating system within ``flush`` seconds, so a kill -9 of this process loses
the lines of that time, and a power cut those that the system had not written to the disk yet. While the disk is full
or broken, lines wait in memory up to a bound; only those beyond it are lost, and counted.

Several processes may write one log: each batch is written under a lock on the file, and so is the rotation.
"""

from __future__ import annotations

import errno
import fcntl
import json
import logging
import os
import re
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omniclef.backbones.base import TokenCount
from omniclef.server.logs import event

if TYPE_CHECKING:  # the engine brings asyncio along, which `omniclef usage` does not need
    from omniclef.engine.asks import Timings

__all__ = ["MODALITIES", "Usage", "UsageCounts", "UsageLog", "rotated"]

MODALITIES = ("text", "image", "audio", "video")
TIMINGS = ("decode", "queue", "run", "total")
ENCODER = json.JSONEncoder(separators=(",", ":"))
BATCH = 1000  # lines of one write
MODE = 0o600  # who asks how much is nobody else's business


@dataclass(frozen=True, slots=True)
class Usage:
    """One request.

    Attributes:
        time: seconds since 1970 at which it came in.
        id: the request's id.
        tenant: name of its key; "" where there are no keys.
        model: that answered, or was asked.
        route: the path's pattern, as ``/v1/systemone``.
        status: of HTTP, as it was answered.
        tokens: of all its prompts; None where they were not counted. A request that is too long has been counted.
        longest: tokens of its longest prompt where it had several states; None is the same as ``tokens``.
        cost: picodollars, see ``prices``; 0 where it was not answered.
        timings: None where it did not reach the engine.
    """

    time: float
    id: str
    tenant: str
    model: str
    route: str
    status: int
    tokens: TokenCount | None = None
    longest: int | None = None
    cost: int = 0
    timings: Timings | None = None

    def line(self) -> bytes:
        """As it is written: times in UTC to the millisecond, timings in milliseconds, absent what is None."""
        at = datetime.fromtimestamp(self.time, UTC).isoformat(timespec="milliseconds").removesuffix("+00:00")
        line: dict[str, Any] = {
            "time": f"{at}Z",
            "id": self.id,
            "tenant": self.tenant,
            "model": self.model,
            "route": self.route,
            "status": self.status,
        }
        if self.tokens is not None:
            line["tokens"] = {name: getattr(self.tokens, name) for name in MODALITIES}
        if self.longest is not None:
            line["longest"] = self.longest
        line["cost_picodollars"] = self.cost
        if self.timings is not None:
            line["ms"] = {name: round(1000 * getattr(self.timings, name), 3) for name in TIMINGS}
        return ENCODER.encode(line).encode() + b"\n"


@dataclass(frozen=True, slots=True)
class UsageCounts:
    """Lines since the start. written: to the file. waiting: in memory. lost: there was no room to keep them.
    failing: the last try to write failed."""

    written: int
    waiting: int
    lost: int
    failing: bool


class UsageLog:
    """Appends to ``path`` from a thread that starts at once.

    Args:
        path: of the log. A full one is renamed to ``path`` with ``.1``, the next with ``.2`` and so on.
        size: bytes after which it is full; at most one batch more is written.
        keep: how many full ones are kept; the oldest is deleted. None keeps all.
        room: most lines that wait in memory, some 40 MB at the default.
        flush: seconds between writes; also between tries while they fail.

    Raises:
        OSError: the file cannot be opened for appending.
    """

    def __init__(
        self, path: Path, *, size: int = 64 << 20, keep: int | None = 30, room: int = 100_000, flush: float = 0.2
    ) -> None:
        self._path, self._size, self._keep = path, size, keep
        self._room, self._flush = room, flush
        self._waiting: deque[bytes] = deque()
        self._written = self._lost = self._lost_before = 0
        self._failing, self._rotates = False, True
        self._fd: int | None = _open(path)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="usage-log", daemon=True)
        self._thread.start()

    def add(self, usage: Usage) -> None:
        """Takes a line to be written; never waits for a disk. To be called from one thread, the event loop's."""
        if len(self._waiting) >= self._room:
            self._lost += 1
        else:
            # Encoded here, some microseconds for each request: the thread would hold the interpreter for many at once.
            self._waiting.append(usage.line())

    def counts(self) -> UsageCounts:
        return UsageCounts(self._written, len(self._waiting), self._lost, self._failing)

    def close(self) -> None:
        """Writes what waits, in one last try where writing fails; what does not get there counts as lost."""
        self._stop.set()
        self._thread.join()
        if self._waiting:
            self._lost += len(self._waiting)
            self._waiting.clear()
            self._report("usage_log_incomplete", "the last lines were not written")
        if self._fd is not None:
            with suppress(OSError):  # what cannot be synchronised, as a pipe, was written all the same
                os.fsync(self._fd)
            os.close(self._fd)
            self._fd = None

    def _run(self) -> None:
        while not self._stop.wait(self._flush):
            self._empty()
        self._empty()

    def _empty(self) -> None:
        """Writes all that waits, or as much as there is space for."""
        while self._waiting:
            try:
                self._write_batch()
            except OSError as error:
                self._fail(error)
                return
            self._recover()

    def _write_batch(self) -> None:
        lines = [self._waiting[place] for place in range(min(BATCH, len(self._waiting)))]
        with self._locked() as fd:
            done = _append(fd, b"".join(lines))
            # Whole lines got there, perhaps not all.
            count, size = 0, 0
            while count < len(lines) and size + len(lines[count]) <= done:
                size += len(lines[count])
                count += 1
            for _ in range(count):
                self._waiting.popleft()
            self._written += count
            if self._rotates and os.fstat(fd).st_size >= self._size:
                try:
                    self._rotate(fd)
                except OSError as error:  # as in a folder that others own: a long log is better than none
                    self._rotates = False
                    self._report("usage_log_cannot_rotate", error.strerror)
        if count < len(lines):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._path))

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """The file open under ``path`` now, locked against other writers."""
        while True:
            if self._fd is None:
                self._fd = _open(self._path)
            fcntl.flock(self._fd, fcntl.LOCK_EX)
            if _same(self._fd, self._path):
                break
            os.close(self._fd)  # another process rotated, or somebody took the file away
            self._fd = None
        try:
            yield self._fd
        except OSError:
            # Opened again at the next try: the file may be another one by then.
            os.close(self._fd)
            self._fd = None
            raise
        finally:
            if self._fd is not None:
                fcntl.flock(self._fd, fcntl.LOCK_UN)

    def _rotate(self, fd: int) -> None:
        """Numbers grow and are never given again, so that a reader meets no file twice."""
        os.fsync(fd)
        full = rotated(self._path)
        number = _number(full[-1]) + 1 if full else 1
        self._path.rename(self._path.with_name(f"{self._path.name}.{number}"))
        if self._keep is not None:
            for old in rotated(self._path)[: -self._keep or None]:
                old.unlink(missing_ok=True)

    def _fail(self, error: OSError) -> None:
        if not self._failing:
            self._failing, self._lost_before = True, self._lost
            self._report("usage_log_fails", error.strerror)

    def _recover(self) -> None:
        if self._failing:
            self._failing = False
            lost = self._lost - self._lost_before
            event("usage_log_writes_again", level=logging.WARNING, file=str(self._path), lost=lost)

    def _report(self, name: str, problem: str | None) -> None:
        """To be called once for each trouble, not at every try."""
        waiting = len(self._waiting)
        path = str(self._path)
        event(name, level=logging.ERROR, file=path, problem=problem, waiting=waiting, lost=self._lost)


def rotated(path: Path) -> list[Path]:
    """The full files of a log, oldest first."""
    pattern = re.compile(re.escape(path.name) + r"\.(\d{1,12})")
    full = [each for each in path.parent.iterdir() if pattern.fullmatch(each.name)]
    return sorted(full, key=_number)


def _number(path: Path) -> int:
    return int(path.name.rpartition(".")[2])


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, MODE)


def _same(fd: int, path: Path) -> bool:
    """Whether ``path`` still names what is open."""
    try:
        return os.path.samestat(os.fstat(fd), path.stat())
    except FileNotFoundError:
        return False


def _append(fd: int, data: bytes) -> int:
    """Appends as many whole lines of ``data`` as there is space for, and returns their bytes. The lock is held, so what
    comes after ``start`` is ours."""
    start = os.fstat(fd).st_size
    # A process that was killed may have left half a line: ours must not become its end.
    torn = b"\n" if start and os.pread(fd, 1, start - 1) != b"\n" else b""
    done = os.write(fd, torn + data)
    if done == len(torn) + len(data):
        return len(data)
    whole = data.rfind(b"\n", 0, max(0, done - len(torn))) + 1
    os.ftruncate(fd, start + len(torn) + whole if whole else start)
    return whole
