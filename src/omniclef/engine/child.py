"""One child process with a link to it: started, watched, ended.

Knows processes; must not know what they do.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Callable, Mapping

from omniclef.engine.link import Link

__all__ = ["Backoff", "Child"]

PROGRAM = """import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
from omniclef.engine.{module} import main
main({number})
"""
"""Whoever stops a service may signal every process of it; children have to stay until their parent has finished. They
end when it closes the link, or is gone. An interrupt from a terminal never reaches their session."""

STEADY = 60.0
"""Seconds after which a process that ends is taken for a new trouble, not for the same one again."""


class Child:
    """A running process of ours.

    Args:
        process: as started.
        sock: this end of its link.
        heard: called with each of its messages.
        ended: called once with its exit status, negative for a signal, when it has ended by itself or was killed.
    """

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        sock: socket.socket,
        heard: Callable[[bytes], None],
        ended: Callable[[int], None],
    ) -> None:
        self.pid = process.pid
        self.link = Link(sock, heard, self._lost)
        self._process = process
        self._ended = ended
        self._reaper: asyncio.Task[None] | None = None

    @classmethod
    async def start(
        cls,
        module: str,
        heard: Callable[[bytes], None],
        ended: Callable[[int], None],
        environment: Mapping[str, str] | None = None,
    ) -> Child:
        """Runs ``main`` of a module of this package in a process of its own."""
        ours, theirs = socket.socketpair()
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",  # a file in the working directory must not stand in for a module
                "-c",
                PROGRAM.format(module=module, number=theirs.fileno()),
                pass_fds=(theirs.fileno(),),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                start_new_session=True,
                env=dict(os.environ if environment is None else environment),
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        return cls(process, ours, heard, ended)

    def kill(self) -> None:
        """Ends it now; ``ended`` follows."""
        if self._process.returncode is None:
            self._process.kill()

    async def close(self, seconds: float = 2.0) -> None:
        """Lets it end, and ends it if it does not; ``ended`` is not called."""
        self.link.close()
        try:
            await asyncio.wait_for(self._process.wait(), seconds)
        except TimeoutError:
            self.kill()
            await self._process.wait()

    def _lost(self) -> None:
        self._reaper = asyncio.get_running_loop().create_task(self._reap())

    async def _reap(self) -> None:
        try:
            status = await asyncio.wait_for(self._process.wait(), 1.0)
        except TimeoutError:  # it closed its end, and hangs
            self.kill()
            status = await self._process.wait()
        self._ended(status)


class Backoff:
    """Seconds before the next start: none the first time, then twice as long each time until it stays up."""

    def __init__(self, first: float = 0.1, longest: float = 30.0) -> None:
        self._first, self._longest = first, longest
        self._next = 0.0
        self._started = -STEADY

    def __call__(self) -> float:
        now = asyncio.get_running_loop().time()
        if now - self._started > STEADY:
            self._next = 0.0
        delay = self._next
        self._next = min(max(2 * delay, self._first), self._longest)
        self._started = now + delay
        return delay
