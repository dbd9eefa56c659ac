"""How much each tenant may ask: token buckets for requests and for input tokens.

Pure: the time is passed in, in seconds of any clock that does not run backwards. Knows nothing of keys or HTTP.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Limiter", "Limits"]

MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class Limits:
    """requests, tokens: of a minute, both 1 or more; None is no limit."""

    requests: int | None = None
    tokens: int | None = None


@dataclass(slots=True)
class _Bucket:
    """level: what is left, below 0 where more was used than there was. at: when that was so."""

    level: float
    at: float

    def fill(self, limit: int, now: float) -> None:
        """A bucket holds what a minute brings, and fills evenly."""
        elapsed = max(0.0, now - self.at)
        self.level = min(float(limit), self.level + elapsed * limit / MINUTE)
        self.at = max(self.at, now)

    def wait(self, wanted: int, limit: int) -> float:
        """Seconds until ``wanted`` is there. More than the bucket holds gets in once it is full, and leaves a debt."""
        missing = min(wanted, limit) - self.level
        return max(0.0, missing * MINUTE / limit)


class Limiter:
    """Buckets by tenant, full at first.

    Args:
        limits: those of a tenant, asked for each request, so that they may change.
    """

    def __init__(self, limits: Callable[[str], Limits]) -> None:
        self._limits = limits
        self._requests: dict[str, _Bucket] = {}
        self._tokens: dict[str, _Bucket] = {}

    def admit(self, tenant: str, tokens: int, now: float) -> float | None:
        """None where one more request of about ``tokens`` is within the limits, and then they are taken. Otherwise
        seconds to wait until it will be, unless others take them first; nothing is taken."""
        limits = self._limits(tenant)
        taken = [
            (_bucket(buckets, tenant, limit, now), wanted, limit)
            for buckets, wanted, limit in (
                (self._requests, 1, limits.requests),
                (self._tokens, tokens, limits.tokens),
            )
            if limit is not None
        ]
        wait = max((bucket.wait(wanted, limit) for bucket, wanted, limit in taken), default=0.0)
        # Levels are sums of floats: what is short by less than this is there.
        if wait > 1e-6:
            return wait
        for bucket, wanted, _ in taken:
            bucket.level -= wanted
        return None

    def settle(self, tenant: str, estimate: int, actual: int, now: float) -> None:
        """Corrects what `admit` took by ``estimate`` to the ``actual`` tokens: 0 for a request that failed."""
        limit = self._limits(tenant).tokens
        if limit is not None:
            bucket = _bucket(self._tokens, tenant, limit, now)
            bucket.level = min(float(limit), bucket.level + estimate - actual)


def _bucket(buckets: dict[str, _Bucket], tenant: str, limit: int, now: float) -> _Bucket:
    """The tenant's bucket as it is now."""
    bucket = buckets.setdefault(tenant, _Bucket(float(limit), now))
    bucket.fill(limit, now)
    return bucket
