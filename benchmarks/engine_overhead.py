"""How much longer a decision takes than the bare onnxruntime calls it makes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import onnxruntime as ort

__all__ = ["against_bare_calls"]

Call = tuple[tuple[Any, ...], dict[str, Any]]


def against_bare_calls(decide: Callable[[int], Any], repeats: int) -> tuple[list[float], list[float]]:
    """Seconds of ``decide(i)``, and of replaying exactly the session calls it made, right after it, for each i."""
    whole, bare = [], []
    for number in range(repeats):
        with _recorded() as calls:
            start = time.perf_counter()
            decide(number)
            whole.append(time.perf_counter() - start)
        start = time.perf_counter()
        for arguments, options in calls:
            ort.InferenceSession.run(*arguments, **options)
        bare.append(time.perf_counter() - start)
    return whole, bare


@contextmanager
def _recorded() -> Iterator[list[Call]]:
    """Every call of ``InferenceSession.run`` meanwhile, with its feeds."""
    calls: list[Call] = []
    run = ort.InferenceSession.run

    def recording(*arguments: Any, **options: Any) -> Any:
        calls.append((arguments, options))
        return run(*arguments, **options)

    ort.InferenceSession.run = recording
    try:
        yield calls
    finally:
        ort.InferenceSession.run = run
