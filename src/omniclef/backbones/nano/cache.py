"""A bounded memory of what was computed: least recently used goes first, safe between threads."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping
from typing import Generic, Protocol, TypeVar

__all__ = ["Cache"]


class Sized(Protocol):
    @property
    def nbytes(self) -> int: ...


K = TypeVar("K", bound=Hashable)
V = TypeVar("V", bound=Sized)


class Cache(Generic[K, V]):
    """Keeps values up to ``limit`` bytes in all. A value larger than that is not kept."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0
        self._lock = threading.Lock()
        self._kept: OrderedDict[K, V] = OrderedDict()

    def get_many(self, keys: Iterable[K]) -> tuple[dict[K, V], list[K]]:
        """What is known, and the keys that are not."""
        found: dict[K, V] = {}
        missing: list[K] = []
        with self._lock:
            for key in keys:
                value = self._kept.get(key)
                if value is None:
                    missing.append(key)
                else:
                    self._kept.move_to_end(key)
                    found[key] = value
        return found, missing

    def put_many(self, values: Mapping[K, V]) -> None:
        with self._lock:
            for key, value in values.items():
                old = self._kept.pop(key, None)
                self.used -= old.nbytes if old is not None else 0
                if value.nbytes <= self.limit:
                    self._kept[key] = value
                    self.used += value.nbytes
            while self.used > self.limit:
                _, dropped = self._kept.popitem(last=False)
                self.used -= dropped.nbytes

    def get(self, key: K) -> V | None:
        return self.get_many([key])[0].get(key)

    def put(self, key: K, value: V) -> None:
        self.put_many({key: value})
