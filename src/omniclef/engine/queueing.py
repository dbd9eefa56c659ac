"""What waits for a model and what goes next: bounded in tokens, fair between tenants, lanes by weight.

Knows tokens, tenants and seconds that were measured. Must not know asyncio, processes, requests or what is computed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeAlias, TypeVar

from omniclef.engine.asks import Overloaded
from omniclef.records import Question, TextLike, media_kind, render

__all__ = ["LANES", "Lane", "Queue", "Shares", "Size", "Ticket", "lane_of", "weigh"]

Lane: TypeAlias = Literal["text", "long", "media", "video"]
LANES: tuple[Lane, ...] = ("text", "long", "media", "video")

LONG = 2048
"""Tokens of text from which on a request is no longer quick."""

BYTES_PER_TOKEN = 4
EXAMPLE_BYTES = 64 * BYTES_PER_TOKEN
"""What a picture or a sound among the examples of an option counts like: it is read once and then remembered."""
PIXELS_PER_TOKEN = 32 * 32
IMAGE_TOKENS = 1280
"""Most tokens of one picture; a larger one is scaled down before it is read."""
SOUND_TOKENS = 12.5
"""A second."""

QUANTUM = 512
"""Tokens that a tenant's turn adds to what it may take: small beside a batch, so that several share one."""

ASKS = 64
"""Most asks of one batch."""

ALWAYS: Mapping[Lane, int] = {"text": 64, "long": 8, "media": 16, "video": 4}
"""Asks that may wait in a lane however long they take: few enough that no caller waits in vain, and enough that a
burst, or as many connections as fill a batch, are not refused."""

MEMORY = 0.9
"""What one more batch leaves of the measured rate's past."""

UNMEASURED = 2048
"""Most tokens of a lane's batch before its rate is known."""


@dataclass(frozen=True, slots=True)
class Size:
    """Decoded media of one ask. pixels: of each picture. sound: seconds, those of clips included. frames: of clips,
    each with its pixels."""

    pixels: tuple[int, ...] = ()
    sound: float = 0.0
    frames: tuple[int, ...] = ()

    @property
    def tokens(self) -> int:
        pictures = sum(min(IMAGE_TOKENS, 1 + count // PIXELS_PER_TOKEN) for count in self.pixels)
        # Two frames become one row of patches, as in the released models.
        clips = sum(self.frames) // (2 * PIXELS_PER_TOKEN)
        return pictures + round(self.sound * SOUND_TOKENS) + clips


def weigh(states: tuple[TextLike, ...], questions: Mapping[str, Question], size: Size) -> int:
    """Tokens of a request, estimated before any tokenizer has seen it; the schema counts once.

    Text counts a token for four bytes of UTF-8, media by their size as the released models read them. What the model
    counts itself differs, by a factor of up to two, and is known when it has answered; rates are measured in the same
    unit, so that seconds come out right.
    """
    text = sum(len(render(state).encode()) for state in states)
    for question in questions.values():
        text += len(render(question.instructions).encode()) if question.instructions else 0
        for option in question.options():
            text += len(option.key) + len((option.text or "").encode())
            text += sum(EXAMPLE_BYTES if media_kind(each) else len(each.encode()) for each in option.examples)
    return 1 + text // BYTES_PER_TOKEN + size.tokens


def lane_of(tokens: int, size: Size) -> Lane:
    """What waits together, because it takes about as long."""
    if size.frames:
        return "video"
    if size.pixels or size.sound:
        return "media"
    return "long" if tokens > LONG else "text"


@dataclass(slots=True, eq=False, kw_only=True)
class Ticket:
    """One place in a queue."""

    tenant: str
    tokens: int
    lane: Lane = "text"


AnyTicket = TypeVar("AnyTicket", bound=Ticket)


class Shares(Generic[AnyTicket]):
    """Tickets of many tenants, taken by deficit round robin (Shreedhar and Varghese, 1995): over any stretch of time
    tenants that have something waiting get the same tokens, however many requests each of them sends."""

    def __init__(self, quantum: int = QUANTUM) -> None:
        self.tokens = 0
        self._quantum = quantum
        self._waiting: OrderedDict[str, OrderedDict[AnyTicket, None]] = OrderedDict()
        self._deficits: dict[str, int] = {}
        self._own: dict[str, int] = {}
        self._granted = False  # whether the tenant in front was given its quantum

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def __bool__(self) -> bool:
        return bool(self._waiting)

    @property
    def tenants(self) -> int:
        return len(self._waiting)

    def own(self, tenant: str) -> int:
        """Tokens of ``tenant`` that wait."""
        return self._own.get(tenant, 0)

    def add(self, ticket: AnyTicket) -> None:
        self._waiting.setdefault(ticket.tenant, OrderedDict())[ticket] = None
        self._own[ticket.tenant] = self.own(ticket.tenant) + ticket.tokens
        self.tokens += ticket.tokens

    def remove(self, ticket: AnyTicket) -> bool:
        """Whether it was waiting."""
        waiting = self._waiting.get(ticket.tenant, OrderedDict())
        if ticket not in waiting:
            return False
        del waiting[ticket]
        self._own[ticket.tenant] -= ticket.tokens
        self.tokens -= ticket.tokens
        if not waiting:
            if next(iter(self._waiting)) == ticket.tenant:
                self._granted = False
            # A tenant without requests saves nothing up.
            del self._waiting[ticket.tenant], self._own[ticket.tenant]
            self._deficits.pop(ticket.tenant, None)
        return True

    def clear(self) -> list[AnyTicket]:
        """Everything, out of the shares."""
        taken = [ticket for waiting in self._waiting.values() for ticket in waiting]
        for ticket in taken:
            self.remove(ticket)
        return taken

    def take(self, room: float, most: int = ASKS) -> list[AnyTicket]:
        """At most ``most`` tickets of ``room`` tokens together, or a single larger one; none where none waits."""
        taken: list[AnyTicket] = []
        while self._waiting and len(taken) < most:
            tenant, waiting = next(iter(self._waiting.items()))
            if not self._granted:
                self._deficits[tenant] = self._deficits.get(tenant, 0) + self._quantum
                self._granted = True
            ticket = next(iter(waiting))
            if ticket.tokens > self._deficits[tenant]:
                self._waiting.move_to_end(tenant)
                self._granted = False
                continue
            if taken and ticket.tokens > room:
                break  # it keeps its turn
            room -= ticket.tokens
            self._deficits[tenant] -= ticket.tokens
            self.remove(ticket)
            taken.append(ticket)
        return taken


@dataclass(slots=True)
class Rate:
    """Tokens and seconds of past batches, the recent ones counting most."""

    tokens: float = 0.0
    seconds: float = 0.0

    def add(self, tokens: int, seconds: float) -> None:
        self.tokens = MEMORY * self.tokens + tokens
        self.seconds = MEMORY * self.seconds + seconds

    @property
    def per_second(self) -> float:
        """0 before the first batch."""
        return self.tokens / self.seconds if self.seconds else 0.0


@dataclass(slots=True)
class _Line(Generic[AnyTicket]):
    waiting: Shares[AnyTicket] = field(default_factory=Shares)
    rate: Rate = field(default_factory=Rate)


class Queue(Generic[AnyTicket]):
    """Everything that waits for one model.

    A batch comes from one lane, so that what is quick never computes together with what is slow. Text has every other
    turn when it wants it: whatever else waits, a text is delayed by one batch of another lane at most. The other lanes
    share the rest in turn.

    Args:
        bound: most tokens. Where one tenant has filled it, others still get in up to an even share of it, so that the
            queue holds twice the bound at most. What is larger than the bound gets in where nothing waits.
        batch_tokens: most tokens of a batch; a larger ticket goes alone.
        batch_seconds: longest that a batch should take, by the lane's measured rate.
        queue_seconds: most work that waits in a lane, by that rate: later than that an answer is worth little, and the
            caller does better to hear so at once. The first ones of a lane get in always, see ``ALWAYS``.
    """

    def __init__(self, *, bound: int, batch_tokens: int, batch_seconds: float, queue_seconds: float) -> None:
        self.bound = bound
        self.batch_tokens = batch_tokens
        self.batch_seconds = batch_seconds
        self.queue_seconds = queue_seconds
        self.rate = Rate()
        self._lines: dict[Lane, _Line[AnyTicket]] = {lane: _Line() for lane in LANES}
        self._turns: list[Lane] = [lane for lane in LANES if lane != "text"]
        self._last: Lane = "video"

    def __len__(self) -> int:
        return sum(len(line.waiting) for line in self._lines.values())

    @property
    def tokens(self) -> int:
        return sum(line.waiting.tokens for line in self._lines.values())

    def check(self, tenant: str, tokens: int, lane: Lane) -> None:
        """Raises ``Overloaded`` where such a ticket would not get in."""
        line = self._lines[lane]
        lines = [each.waiting for each in self._lines.values()]
        own = sum(each.own(tenant) for each in lines)
        tenants = max(each.tenants for each in lines)
        if _full(self.tokens, own, tenants, tokens, self.bound):
            late = (self.tokens + tokens - self.bound) / (self.rate.per_second or tokens)
            raise Overloaded(self.tokens, self.bound, _later(late))
        speed, ahead = line.rate.per_second, line.waiting.tokens
        if speed and len(line.waiting) >= ALWAYS[lane]:
            bound = round(self.queue_seconds * speed)
            if _full(ahead, line.waiting.own(tenant), line.waiting.tenants, tokens, bound):
                raise Overloaded(ahead, bound, _later((ahead + tokens - bound) / speed))

    def add(self, ticket: AnyTicket) -> None:
        """Raises ``Overloaded`` where there is no room."""
        self.check(ticket.tenant, ticket.tokens, ticket.lane)
        self._lines[ticket.lane].waiting.add(ticket)

    def remove(self, ticket: AnyTicket) -> bool:
        """Whether it was waiting."""
        return self._lines[ticket.lane].waiting.remove(ticket)

    def clear(self) -> list[AnyTicket]:
        """Everything, out of the queue."""
        return [ticket for line in self._lines.values() for ticket in line.waiting.clear()]

    def next(self) -> list[AnyTicket]:
        """The next batch; empty where nothing waits."""
        lane = self._choose()
        if lane is None:
            return []
        self._last = lane
        line = self._lines[lane]
        speed = line.rate.per_second
        room = min(self.batch_tokens, self.batch_seconds * speed if speed else UNMEASURED)
        return line.waiting.take(room)

    def done(self, batch: list[AnyTicket], seconds: float) -> None:
        """``batch`` took ``seconds`` to compute."""
        tokens = sum(ticket.tokens for ticket in batch)
        self.rate.add(tokens, seconds)
        self._lines[batch[0].lane].rate.add(tokens, seconds)

    def _choose(self) -> Lane | None:
        text = bool(self._lines["text"].waiting)
        if text and self._last != "text":
            return "text"
        for lane in self._turns:
            if self._lines[lane].waiting:
                self._turns.remove(lane)
                self._turns.append(lane)
                return lane
        return "text" if text else None


def _full(waiting: int, own: int, tenants: int, tokens: int, bound: int) -> bool:
    if not waiting or waiting + tokens <= bound:
        return False
    even = bound // (tenants + (0 if own else 1))
    return own + tokens > even or waiting + tokens > 2 * bound


def _later(seconds: float) -> float:
    """Seconds to wait, by the work that has to be done first; as much again for what comes in meanwhile."""
    return min(max(2 * seconds, 0.1), 60.0)
