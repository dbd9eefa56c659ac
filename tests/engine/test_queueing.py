"""The queue by itself: bounds, shares and lanes, on tickets without anything behind them."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omniclef import Choice, Noul
from omniclef.engine.asks import Overloaded
from omniclef.engine.queueing import ALWAYS, LANES, Lane, Queue, Shares, Size, Ticket, lane_of, weigh


def ticket(tenant: str = "a", tokens: int = 10, lane: Lane = "text") -> Ticket:
    return Ticket(tenant=tenant, tokens=tokens, lane=lane)


def queue(
    bound: int = 100_000, batch: int = 1000, batch_seconds: float = 1e9, queue_seconds: float = 1e9
) -> Queue[Ticket]:
    return Queue(bound=bound, batch_tokens=batch, batch_seconds=batch_seconds, queue_seconds=queue_seconds)


def test_one_tenant_is_served_in_order_and_a_batch_is_bounded_in_tokens() -> None:
    waiting = queue(batch=100)
    tickets = [ticket(tokens=40) for _ in range(5)]
    for each in tickets:
        waiting.add(each)
    assert [waiting.next(), waiting.next(), waiting.next()] == [tickets[:2], tickets[2:4], tickets[4:]]
    assert waiting.next() == []


def test_what_is_larger_than_a_batch_goes_alone() -> None:
    waiting = queue(batch=100)
    large, small = ticket(tokens=5000, lane="long"), ticket(tokens=10, lane="long")
    waiting.add(large)
    waiting.add(small)
    assert waiting.next() == [large]
    assert waiting.next() == [small]


def test_a_batch_is_bounded_by_the_seconds_that_were_measured() -> None:
    waiting = queue(batch_seconds=0.5)
    for _ in range(100):
        waiting.add(ticket(tokens=10))
    waiting.done([ticket(tokens=100)], seconds=1.0)
    assert len(waiting.next()) == 5


def test_a_light_tenant_is_in_the_next_batch_whatever_a_heavy_one_has_waiting() -> None:
    waiting = queue(batch=1500)
    for _ in range(500):
        waiting.add(ticket("heavy", 100))
    light = ticket("light", 100)
    waiting.add(light)
    assert light in waiting.next()


def test_tenants_get_the_same_tokens_however_large_their_requests_are() -> None:
    shares: Shares[Ticket] = Shares()
    for tenant, tokens in (("small", 10), ("middle", 300), ("large", 1900)):
        for _ in range(60_000 // tokens):
            shares.add(ticket(tenant, tokens))
    got: Counter[str] = Counter()
    for _ in range(45):
        for each in shares.take(2000):
            got[each.tenant] += each.tokens
    assert max(got.values()) - min(got.values()) <= 2 * 1900, got


def test_a_removed_ticket_is_never_taken_and_its_tokens_are_free() -> None:
    waiting = queue()
    first, second = ticket(), ticket("b")
    waiting.add(first)
    waiting.add(second)
    assert waiting.remove(first)
    assert not waiting.remove(first)
    assert waiting.tokens == 10
    assert waiting.next() == [second]


def test_past_the_bound_a_ticket_is_refused_with_the_time_until_there_is_room() -> None:
    waiting = queue(bound=1000)
    for _ in range(100):
        waiting.add(ticket())
    waiting.done([ticket(tokens=50)], seconds=1.0)
    with pytest.raises(Overloaded) as refused:
        waiting.add(ticket(tokens=100))
    assert (refused.value.waiting, refused.value.bound) == (1000, 1000)
    assert refused.value.retry_after == pytest.approx(2 * 100 / 50)
    assert refused.value.retryable


def test_what_is_larger_than_the_bound_gets_in_where_nothing_waits() -> None:
    waiting = queue(bound=1000)
    waiting.add(ticket(tokens=5000))
    with pytest.raises(Overloaded):
        waiting.add(ticket(tokens=10))


def test_where_one_tenant_filled_the_queue_another_gets_in_up_to_an_even_share() -> None:
    waiting = queue(bound=1000)
    for _ in range(100):
        waiting.add(ticket("heavy"))
    for _ in range(50):
        waiting.add(ticket("light"))
    for tenant in ("heavy", "light"):
        with pytest.raises(Overloaded):
            waiting.add(ticket(tenant))


def test_many_tenants_together_never_pass_twice_the_bound() -> None:
    waiting = queue(bound=1000)
    for number in range(1000):
        try:
            waiting.add(ticket(str(number), 100))
        except Overloaded:
            continue
    assert waiting.tokens <= 2000


def test_by_the_measured_rate_a_lane_refuses_what_would_be_late_but_not_its_first_asks() -> None:
    waiting = queue(queue_seconds=1.0)
    waiting.done([ticket(tokens=100)], seconds=1.0)  # ten tickets a second
    for _ in range(ALWAYS["text"]):
        waiting.add(ticket())
    with pytest.raises(Overloaded):
        waiting.add(ticket())
    waiting.add(ticket(lane="video"))  # its lane is empty


def test_a_text_is_next_after_the_video_that_computes() -> None:
    waiting = queue()
    for _ in range(4):
        waiting.add(ticket(tokens=10_000, lane="video"))
    assert [each.lane for each in waiting.next()] == ["video"]
    text = ticket()
    waiting.add(text)
    assert waiting.next() == [text]
    assert [each.lane for each in waiting.next()] == ["video"]


def test_lanes_under_any_arrivals() -> None:
    """A text that fits waits for one batch of another lane at most, no batch mixes lanes, and no lane starves."""
    chance = random.Random(5)
    waiting = queue(batch=200)
    passed_over = 0
    since: dict[Lane, int] = {}
    for _ in range(3000):
        for lane in LANES:
            for _ in range(chance.choice((0, 0, 1, 2))):
                waiting.add(ticket(chance.choice("abc"), chance.randint(1, 90), lane))
        texts = bool(waiting._lines["text"].waiting)
        batch = waiting.next()
        assert len({each.lane for each in batch}) <= 1
        if not batch:
            continue
        passed_over = passed_over + 1 if texts and batch[0].lane != "text" else 0
        assert passed_over <= 1
        for lane in LANES:
            since[lane] = 0 if batch[0].lane == lane or not waiting._lines[lane].waiting else since.get(lane, 0) + 1
            assert since[lane] <= 6


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 3000), st.sampled_from(LANES), st.booleans())))
def test_every_ticket_leaves_once(given: list[tuple[str, int, Lane, bool]]) -> None:
    waiting = queue(bound=10**9)
    kept, gone = [], []
    for tenant, tokens, lane, stays in given:
        each = ticket(tenant, tokens, lane)
        waiting.add(each)
        if stays:
            kept.append(each)
        else:
            gone.append(each)
    for each in gone:
        assert waiting.remove(each)
    taken: list[Ticket] = []
    while batch := waiting.next():
        assert len(batch) == 1 or sum(each.tokens for each in batch) <= 1000
        taken += batch
    assert sorted(map(id, taken)) == sorted(map(id, kept))
    assert (waiting.tokens, len(waiting)) == (0, 0)


def test_the_weight_of_a_request_grows_with_all_its_parts_and_counts_questions_once() -> None:
    questions = {"q": Choice({"a": "word " * 40, "b": None}), "n": Noul("Is it so?")}
    one = weigh(("x" * 400,), questions, Size())
    assert 100 + 50 < one < 200
    assert weigh(("x" * 400,) * 3, questions, Size()) == pytest.approx(one + 200, abs=2)
    assert weigh(("",), questions, Size(pixels=(640 * 480,))) == pytest.approx(weigh(("",), questions, Size()) + 301)
    minute = Size(sound=60.0, frames=(120 * 256 * 1024,))
    assert 15_000 < minute.tokens < 17_000


def test_a_picture_among_the_examples_does_not_count_by_its_bytes() -> None:
    picture = "data:image/png;base64," + "A" * 100_000
    asked = {"q": Choice({"a": {"description": "x", "examples": [picture]}})}
    assert weigh(("",), asked, Size()) < 100


@pytest.mark.parametrize(
    ("tokens", "size", "lane"),
    [
        (10, Size(), "text"),
        (10_000, Size(), "long"),
        (10, Size(pixels=(100,)), "media"),
        (10, Size(sound=1.0), "media"),
        (10, Size(sound=1.0, frames=(100,)), "video"),
    ],
)
def test_lanes_by_weight(tokens: int, size: Size, lane: Lane) -> None:
    assert lane_of(tokens, size) == lane
