"""Token buckets, with a clock in the test's hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omniclef.server.limits import Limiter, Limits


def limiter(**limits: Limits) -> Limiter:
    return Limiter(lambda tenant: limits.get(tenant, Limits()))


def test_without_limits_everybody_gets_in() -> None:
    free = limiter()
    assert all(free.admit("a", 10**9, 0.0) is None for _ in range(1000))


def test_a_minute_of_requests_at_once_then_evenly() -> None:
    few = limiter(a=Limits(requests=6))
    assert [few.admit("a", 0, 100.0) for _ in range(6)] == [None] * 6
    assert few.admit("a", 0, 100.0) == pytest.approx(10.0)
    assert few.admit("a", 0, 104.0) == pytest.approx(6.0)
    assert few.admit("a", 0, 110.0) is None
    assert few.admit("a", 0, 110.0) == pytest.approx(10.0)


def test_waiting_as_long_as_told_is_enough() -> None:
    slow = limiter(a=Limits(requests=7, tokens=1000))
    now, asked = 0.0, 0
    while asked < 100:
        wait = slow.admit("a", 333, now)
        if wait is None:
            asked += 1
        else:
            now += wait
            assert slow.admit("a", 333, now) is None
            asked += 1


def test_tenants_do_not_share() -> None:
    two = limiter(a=Limits(requests=1), b=Limits(requests=1))
    assert two.admit("a", 0, 0.0) is None
    assert two.admit("a", 0, 0.0) is not None
    assert two.admit("b", 0, 0.0) is None


def test_a_refused_request_takes_nothing() -> None:
    both = limiter(a=Limits(requests=2, tokens=100))
    assert both.admit("a", 100, 0.0) is None
    assert both.admit("a", 60, 0.0) == pytest.approx(36.0)
    assert both.admit("a", 0, 0.0) is None  # the second request is still there
    assert both.admit("a", 0, 0.0) == pytest.approx(30.0)


def test_the_longer_wait_is_told() -> None:
    both = limiter(a=Limits(requests=1, tokens=100))
    assert both.admit("a", 100, 0.0) is None
    assert both.admit("a", 1, 0.0) == pytest.approx(60.0)


def test_settling_corrects_the_estimate() -> None:
    tokens = limiter(a=Limits(tokens=1000))
    assert tokens.admit("a", 600, 0.0) is None
    tokens.settle("a", 600, 100, 0.0)
    assert tokens.admit("a", 900, 0.0) is None
    tokens.settle("a", 900, 1500, 0.0)
    assert tokens.admit("a", 0, 0.0) == pytest.approx(36.0)  # a debt of 600 is paid first


def test_settling_never_gives_more_than_a_minute() -> None:
    tokens = limiter(a=Limits(tokens=100))
    assert tokens.admit("a", 100, 0.0) is None
    tokens.settle("a", 100, 0, 60.0)
    assert tokens.admit("a", 100, 60.0) is None
    assert tokens.admit("a", 1, 60.0) is not None


def test_more_than_a_minute_gets_in_when_the_bucket_is_full() -> None:
    small = limiter(a=Limits(tokens=100))
    assert small.admit("a", 300, 0.0) is None
    assert small.admit("a", 300, 60.0) == pytest.approx(120.0)
    assert small.admit("a", 300, 180.0) is None


def test_limits_may_change() -> None:
    limits = {"a": Limits(requests=100)}
    changing = Limiter(lambda tenant: limits[tenant])
    assert changing.admit("a", 0, 0.0) is None
    limits["a"] = Limits(requests=1)
    assert changing.admit("a", 0, 0.0) is None
    assert changing.admit("a", 0, 0.0) == pytest.approx(60.0)


@given(
    st.integers(1, 50),
    st.integers(1, 5000),
    st.lists(st.tuples(st.floats(0, 30), st.integers(0, 3000)), max_size=60),
)
def test_no_more_than_the_limits_whatever_is_asked(requests: int, tokens: int, asked: list[tuple[float, int]]) -> None:
    bound = limiter(a=Limits(requests, tokens))
    now, taken_requests, taken = 0.0, 0, 0
    for pause, wanted in asked:
        now += pause
        before = taken
        if bound.admit("a", wanted, now) is None:
            taken_requests += 1
            taken += wanted
            # The last one alone may leave a debt, and only where it is more than the bucket holds.
            assert before + min(wanted, tokens) <= tokens * (1 + now / 60) + 1e-3
        assert taken_requests <= requests * (1 + now / 60) + 1e-3
