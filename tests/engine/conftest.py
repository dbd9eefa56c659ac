"""A running engine for all tests of this folder, on an event loop of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from omniclef.engine import Engine, EngineSettings, Loading

Found = TypeVar("Found")
Run = Callable[[Coroutine[Any, Any, Found]], Found]


@pytest.fixture(scope="session")
def run() -> Iterator[Callable[[Coroutine[Any, Any, Any]], Any]]:
    """Runs a coroutine on the engine's loop; a minute is far more than any of them needs."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield lambda coroutine: asyncio.run_coroutine_threadsafe(coroutine, loop).result(60)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


@pytest.fixture(scope="session")
def engine(run: Callable[[Coroutine[Any, Any, Any]], Any]) -> Iterator[Engine]:
    """One engine with nano. Tests may kill its children, as they come back."""

    async def opened() -> Engine:
        engine = Engine([Loading("nano", "nano", threads=1)], EngineSettings(decoders=2))
        await engine.start()
        return engine

    engine = run(opened())
    yield engine
    run(engine.close())


@pytest.fixture(scope="session")
def open_files() -> Callable[[], int]:
    """How many files this process holds open."""
    return lambda: sum(1 for _ in Path("/proc/self/fd").iterdir())
