"""The parent's side of one model: its queue, its worker, and who waits for what.

Knows tickets and batches. Must not know media or what an ask was.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from omniclef.engine.asks import EngineSettings, Failed, Loading, ModelLoad, WorkerLost
from omniclef.engine.child import Backoff, Child
from omniclef.engine.queueing import Lane, Queue, Ticket
from omniclef.engine.worker import Done, Item, Outcome
from omniclef.errors import OmniclefError

if TYPE_CHECKING:
    from omniclef.model import ModelInfo

__all__ = ["Run", "Runner"]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Run:
    """What a batch made of one ticket. queue, run: seconds."""

    done: Done
    queue: float
    run: float


@dataclass(slots=True, eq=False, kw_only=True)
class _Waiting(Ticket):
    item: Item
    answer: asyncio.Future[Run]
    since: float
    file: int = -1

    def close(self) -> None:
        """Lets its media go."""
        if self.file >= 0:
            os.close(self.file)
            self.file = -1


class Runner:
    """One model's queue and worker.

    As soon as the worker is idle it is given what waits; what comes in while it computes makes up the next batch. A
    worker that is lost takes its batch along, while the queue stays, and is started again.

    Args:
        loading: what to serve.
        settings: bounds.
    """

    def __init__(self, loading: Loading, settings: EngineSettings) -> None:
        self.loading = loading
        self.info: ModelInfo | None = None
        self.ready = False
        self._settings = settings
        self._queue: Queue[_Waiting] = Queue(
            bound=settings.queue_tokens,
            batch_tokens=settings.batch_tokens,
            batch_seconds=settings.batch_seconds,
            queue_seconds=settings.queue_seconds,
        )
        self._child: Child | None = None
        self._running: list[_Waiting] = []
        self._begun = 0.0
        self._gathering: asyncio.TimerHandle | None = None
        self._stuck: asyncio.TimerHandle | None = None
        self._restart: asyncio.Task[None] | None = None
        self._backoff = Backoff()
        self._started: asyncio.Future[None] | None = None
        self._restarts = 0
        self._closed = False

    @property
    def pid(self) -> int | None:
        """Of the worker, while there is one."""
        return self._child.pid if self._child else None

    async def start(self) -> None:
        """Returns when the model answers.

        Raises:
            OmniclefError: it cannot be loaded.
        """
        self._backoff()
        await self._start()

    async def _start(self, delay: float = 0.0) -> None:
        await asyncio.sleep(delay)
        self._started = asyncio.get_running_loop().create_future()
        self._child = await Child.start("worker", self._heard, self._ended)
        self._child.link.send(pickle.dumps(self.loading, 5))
        try:
            await asyncio.wait_for(self._started, self._settings.start_seconds)
        except TimeoutError:
            self._child.kill()
            seconds = self._settings.start_seconds
            raise Failed(f"{self.loading.name} did not load within {seconds:g} s") from None

    def check(self, tenant: str, tokens: int, lane: Lane) -> None:
        """Raises ``Overloaded`` where such a ticket would not get in."""
        self._queue.check(tenant, tokens, lane)

    async def run(self, item: Item, *, tenant: str, tokens: int, lane: Lane, file: int = -1) -> Run:
        """Waits for its turn and its batch. ``file`` is closed. A caller that is cancelled leaves the queue.

        Raises:
            Overloaded: there is no room.
            WorkerLost: the worker ended while it computed this.
            OmniclefError: what became of the item.
        """
        loop = asyncio.get_running_loop()
        waiting = _Waiting(
            tenant=tenant,
            tokens=tokens,
            lane=lane,
            item=item,
            answer=loop.create_future(),
            since=loop.time(),
            file=file,
        )
        try:
            self._queue.add(waiting)
            self._go()
            return await waiting.answer
        finally:
            self._queue.remove(waiting)
            waiting.close()

    def load(self) -> ModelLoad:
        return ModelLoad(
            ready=self.ready,
            waiting=len(self._queue),
            waiting_tokens=self._queue.tokens,
            running=len(self._running),
            running_tokens=sum(waiting.tokens for waiting in self._running),
            tokens_per_second=self._queue.rate.per_second,
            restarts=self._restarts,
        )

    async def close(self) -> None:
        self._closed, self.ready = True, False
        for timer in (self._gathering, self._stuck):
            if timer:
                timer.cancel()
        if self._restart:
            self._restart.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._restart
        if self._child:
            await self._child.close()
            self._child = None
        for waiting in (*self._running, *self._queue.clear()):
            _fail(waiting, WorkerLost("the engine was closed before it answered"))

    def _go(self) -> None:
        """Sends the next batch where the worker is idle."""
        if not self.ready or self._running or self._gathering:
            return
        if self._settings.gather and len(self._queue):
            loop = asyncio.get_running_loop()
            self._gathering = loop.call_later(self._settings.gather, self._gathered)
            return
        self._send()

    def _gathered(self) -> None:
        self._gathering = None
        if self.ready and not self._running:
            self._send()

    def _send(self) -> None:
        batch = self._queue.next()
        if not batch or self._child is None:
            return
        loop = asyncio.get_running_loop()
        self._running, self._begun = batch, loop.time()
        self._stuck = loop.call_later(self._settings.stuck_seconds, self._child.kill)
        files = [waiting.file for waiting in batch if waiting.file >= 0]
        self._child.link.send(pickle.dumps([waiting.item for waiting in batch], 5), files)
        for waiting in batch:
            waiting.close()

    def _heard(self, message: bytes) -> None:
        said = pickle.loads(message)
        if isinstance(said, tuple):
            self._loaded(*said)
            return
        outcomes: list[Outcome] = said
        loop = asyncio.get_running_loop()
        batch, begun, seconds = self._running, self._begun, loop.time() - self._begun
        self._queue.done(batch, seconds)
        self._running = []
        if self._stuck:
            self._stuck.cancel()
        # The worker first: it computes while we tell.
        self._send()
        for waiting, outcome in zip(batch, outcomes, strict=True):
            if isinstance(outcome, OmniclefError):
                _fail(waiting, outcome)
            elif not waiting.answer.done():
                waiting.answer.set_result(Run(outcome, begun - waiting.since, seconds))

    def _loaded(self, what: str, value: Any) -> None:
        if what == "ready":
            self.info, self.ready = value, True
            if self._started and not self._started.done():
                self._started.set_result(None)
            self._go()
        elif self._started and not self._started.done():
            self._started.set_exception(value)

    def _ended(self, status: int) -> None:
        self._child, self.ready = None, False
        lost, self._running = self._running, []
        if self._stuck:
            self._stuck.cancel()
        for waiting in lost:
            _fail(waiting, WorkerLost(f"the worker of {self.loading.name} ended (status {status}); try again", 0.5))
        if self._started and not self._started.done():
            self._started.set_exception(Failed(f"the worker of {self.loading.name} ended while loading ({status})"))
        if not self._closed and self.info is not None:
            delay = self._backoff()
            log.warning("the worker of %s ended (status %d), next start in %.1f s", self.loading.name, status, delay)
            self._restarts += 1
            self._restart = asyncio.get_running_loop().create_task(self._again(delay))

    async def _again(self, delay: float) -> None:
        try:
            await self._start(delay)
        except OmniclefError as error:
            log.error("%s could not be loaded again: %s", self.loading.name, error)


def _fail(waiting: _Waiting, error: OmniclefError) -> None:
    waiting.close()
    if not waiting.answer.done():
        waiting.answer.set_exception(error)
