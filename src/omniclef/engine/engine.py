"""The engine: asks in, answers out, on one event loop; everything heavy happens in child processes.

Knows the walk of an ask: its media are decoded, it waits in the queue of its model, a batch answers it. Must not know
HTTP or how a model computes.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from omniclef.backbones.base import TokenCount
from omniclef.engine.asks import (
    Answered,
    Ask,
    Draining,
    EngineLoad,
    EngineSettings,
    Expired,
    Loading,
    Timings,
)
from omniclef.engine.decoder import Decoded, Decoders, Encoded, Layout
from omniclef.engine.queueing import Lane, lane_of, weigh
from omniclef.engine.runner import Run, Runner
from omniclef.engine.worker import Item, Options, add_up
from omniclef.errors import InvalidInput, MediaError, ModelNotFound
from omniclef.records import Question, Request, Source, TextLike, media_kind

if TYPE_CHECKING:
    from omniclef.model import ModelInfo

__all__ = ["Engine"]

STATES = 64
"""Most states that go to a worker as one piece; more are cut into pieces that take turns with others."""

TRIED = 4096
"""Examples that were found to be readable and are not tried again."""


class Engine:
    """Answers asks with one or several models. Every method is called on the event loop that ran ``start``.

    Args:
        models: what to serve; names must differ.
        settings: bounds.
    """

    def __init__(self, models: Sequence[Loading], settings: EngineSettings | None = None) -> None:
        self.settings = settings or EngineSettings()
        self._runners = {loading.name: Runner(loading, self.settings) for loading in models}
        if not models or len(self._runners) < len(models):
            raise InvalidInput("models", "needs one at least, each with a name of its own", "name them differently")
        self._decoders = Decoders(self.settings, lambda: self._held < self.settings.media_bytes)
        self._held = 0  # bytes of decoded media that were not answered yet
        self._tried: OrderedDict[bytes, None] = OrderedDict()
        self._accepted = 0
        self._empty = asyncio.Event()
        self._empty.set()
        self._draining = False

    async def start(self) -> None:
        """Returns when every model answers.

        Raises:
            OmniclefError: a model cannot be loaded; nothing runs then.
        """
        try:
            async with asyncio.TaskGroup() as starting:
                starting.create_task(self._decoders.start())
                for runner in self._runners.values():
                    starting.create_task(runner.start())
        except BaseExceptionGroup as group:
            await self.close()
            raise group.exceptions[0] from None

    async def drain(self, seconds: float) -> bool:
        """Accepts nothing more and lets what was accepted finish, for ``seconds`` at most; whether it did."""
        self._draining = True
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._empty.wait(), seconds)
        return not self._accepted

    async def close(self) -> None:
        """Ends all processes. Whatever still waits gets ``WorkerLost``."""
        self._draining = True
        await asyncio.gather(self._decoders.close(), *(runner.close() for runner in self._runners.values()))

    def models(self) -> Mapping[str, ModelInfo]:
        """Those that answer at the moment, by name."""
        return {name: runner.info for name, runner in self._runners.items() if runner.ready and runner.info}

    def ready(self, model: str | None = None) -> bool:
        """Whether ``model``, or without a name every model, would answer now."""
        runners = self._runners.values() if model is None else [self._runners[model]]
        return not self._draining and all(runner.ready for runner in runners)

    def load(self) -> EngineLoad:
        """How busy it is."""
        return EngineLoad(
            models={name: runner.load() for name, runner in self._runners.items()},
            decoding=len(self._decoders),
            decoder_restarts=self._decoders.restarts,
            media_bytes=self._held,
        )

    def pids(self) -> dict[str, int]:
        """Processes by what they do: ``worker NAME`` and ``decoder N``."""
        workers = {f"worker {name}": runner.pid for name, runner in self._runners.items() if runner.pid}
        return workers | {f"decoder {number}": pid for number, pid in enumerate(self._decoders.pids)}

    async def decide(self, ask: Ask) -> Answered:
        """Answers ``ask``. A caller that is cancelled leaves the queue at once.

        Raises:
            InvalidInput: the request breaks a rule; ``MediaError`` by its media, ``TooLong`` by the model's window.
            ModelNotFound: there is no such model.
            Overloaded, WorkerLost, Expired, Draining, Failed: see there.
        """
        options = Options(ask.confidence, ask.evidence, ask.truncate)
        runs, decode, total = await self._walk(ask, options)
        info = self._runners[ask.model].info
        assert info is not None  # it has just answered
        return Answered(
            decisions=tuple(decision for run in runs for decision in run.done.decisions),
            tokens=add_up([run.done.tokens for run in runs]),
            timings=Timings(decode, max(run.queue for run in runs), max(run.run for run in runs), total),
            digest=info.digest,
        )

    async def count(self, ask: Ask) -> TokenCount:
        """Input tokens of ``ask`` by modality. Raises as ``decide`` does."""
        runs, _, _ = await self._walk(ask, Options(truncate=ask.truncate, counted=True))
        return add_up([run.done.tokens for run in runs])

    async def _walk(self, ask: Ask, options: Options) -> tuple[list[Run], float, float]:
        """What became of each piece of ``ask``; seconds of decoding; seconds of all."""
        runner = self._runners.get(ask.model)
        if runner is None:
            raise ModelNotFound(f"model {ask.model!r} is not served; use {', '.join(self._runners)}")
        loop = asyncio.get_running_loop()
        begun = loop.time()
        async with self._accept(ask.timeout):
            encoded = self._encoded(ask.request)
            decoded = Decoded(Layout(), -1)
            held = 0
            try:
                if encoded:
                    lane: Lane = "video" if encoded.videos else "media"
                    runner.check(ask.tenant, 1, lane)  # before it costs anything
                    decoded = await self._decoders.decode(encoded, ask.tenant)
                    held = decoded.layout.nbytes
                    self._held += held
                    self._remember(encoded)
                decode = loop.time() - begun
                runs = await _all(runner, ask, options, decoded)
                return runs, decode, loop.time() - begun
            finally:
                decoded.close()
                if held:
                    self._held -= held
                    self._decoders.go()

    @asynccontextmanager
    async def _accept(self, timeout: float) -> AsyncIterator[None]:
        if self._draining:
            raise Draining("the server is about to stop; try another one, or again later", 1.0)
        self._accepted += 1
        self._empty.clear()
        try:
            async with asyncio.timeout(timeout):
                yield
        except TimeoutError:
            raise Expired(f"no answer within {timeout:g} s") from None
        finally:
            self._accepted -= 1
            if not self._accepted:
                self._empty.set()

    def _encoded(self, request: Request) -> Encoded:
        self.settings.budgets.check_counts(
            images=len(request.images), audio=len(request.audio), videos=len(request.videos)
        )
        return Encoded(
            images=_carried(request.images, "images"),
            audio=_carried(request.audio, "audio"),
            videos=_carried(request.videos, "videos"),
            examples=tuple(self._untried(request.questions)),
        )

    def _untried(self, questions: Mapping[str, Question]) -> list[tuple[str, str, str]]:
        """Pictures and sounds among the examples of options: a model reads them by itself, so they are tried first."""
        found: list[tuple[str, str, str]] = []
        for key, question in questions.items():
            for option in question.options():
                for example in option.examples:
                    kind = media_kind(example)
                    if kind in ("image", "audio") and _digest(example) not in self._tried:
                        found.append((kind, f"questions.{key}.criteria.{option.key}.examples", example))
        return found

    def _remember(self, encoded: Encoded) -> None:
        for _, _, example in encoded.examples:
            self._tried[_digest(example)] = None
        while len(self._tried) > TRIED:
            self._tried.popitem(last=False)


async def _all(runner: Runner, ask: Ask, options: Options, decoded: Decoded) -> list[Run]:
    """Runs ``ask`` in pieces that a batch can hold; where one fails the others are given up."""
    states, questions = ask.states or (ask.request.state,), ask.request.questions
    layout = decoded.layout if decoded.file >= 0 and decoded.layout.nbytes else None
    size = decoded.layout.size

    def run(piece: tuple[TextLike, ...]) -> Coroutine[Any, Any, Run]:
        tokens = weigh(piece, questions, size)
        file = decoded.duplicate() if layout else -1
        item = Item(piece, questions, options, layout)
        return runner.run(item, tenant=ask.tenant, tokens=tokens, lane=lane_of(tokens, size), file=file)

    if len(states) <= STATES:
        return [await run(states)]
    pieces = [states[start : start + STATES] for start in range(0, len(states), STATES)]
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(run(piece)) for piece in pieces]
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]


def _carried(sources: Sequence[Source], field: str) -> tuple[bytes | str, ...]:
    """Media that came along with the request."""
    for index, source in enumerate(sources):
        if not (isinstance(source, bytes) or (isinstance(source, str) and source[:5].lower() == "data:")):
            problem = "is neither bytes nor a data URL, and nothing is opened or fetched"
            raise MediaError(f"{field}[{index}]", problem, "send data:<type>;base64,<data>")
    return tuple(source for source in sources if isinstance(source, bytes | str))


def _digest(example: str) -> bytes:
    return hashlib.sha256(example.encode()).digest()
