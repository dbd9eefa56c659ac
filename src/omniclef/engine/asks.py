"""What is asked of an engine and what comes back, refusals and settings included.

Knows requests, decisions and tokens. Must not know HTTP, asyncio, processes or tensors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from omniclef.answers import Confidence, Decision
from omniclef.backbones.base import TokenCount
from omniclef.errors import OmniclefError
from omniclef.media.budgets import Budgets
from omniclef.records import Request, TextLike

__all__ = [
    "SERVED",
    "Answered",
    "Ask",
    "Draining",
    "EngineLoad",
    "EngineSettings",
    "Expired",
    "Failed",
    "Loading",
    "ModelLoad",
    "Overloaded",
    "Refused",
    "Timings",
    "WorkerLost",
]

Truncate: TypeAlias = Literal["state"]
Precision: TypeAlias = Literal["float32", "bfloat16", "int8"]

SERVED = Budgets(
    images=16,
    audio=8,
    videos=4,
    image_bytes=16 << 20,
    image_pixels=40_000_000,
    audio_bytes=32 << 20,
    video_bytes=64 << 20,
    video_seconds=120.0,
    video_frames=242,
    decode_seconds=20.0,
)
"""Limits on media of a request that came from elsewhere; narrower than those on one's own machine."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One request, or one set of questions about many states.

    Attributes:
        request: what was sent; media as bytes or data URLs. A path is refused, never opened.
        model: a name that the engine has, see ``Engine.models``.
        states: states to answer the same questions about; ``request.state`` is not read where there are any.
        tenant: whose share of the machine this uses; "" is a tenant like any other.
        confidence: formula of the confidences, see ``answers.answer``.
        evidence: also tell what each option drew on.
        truncate: ``state`` cuts the end off a state that the window has no room for; None refuses it.
        timeout: seconds from submitting to answering; then ``Expired``.
    """

    request: Request
    model: str
    states: tuple[TextLike, ...] = ()
    tenant: str = ""
    confidence: Confidence = "typesafe"
    evidence: bool = False
    truncate: Truncate | None = None
    timeout: float = 60.0


@dataclass(frozen=True, slots=True)
class Timings:
    """Seconds. decode: of media, waiting for a decoder included. queue: waiting for the model. run: the batch that
    answered. total: from submitting to answering."""

    decode: float
    queue: float
    run: float
    total: float


@dataclass(frozen=True, slots=True)
class Answered:
    """decisions: one, or one a state. tokens: of all of them, by modality. digest: of the model."""

    decisions: tuple[Decision, ...]
    tokens: TokenCount
    timings: Timings
    digest: str


class Refused(OmniclefError):
    """The engine did not answer, and the request is not to blame.

    Attributes:
        retryable: the same request may be answered later.
        retry_after: seconds after which it is worth trying again; None where nobody can tell.
    """

    retryable = True

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        self.retry_after = retry_after
        super().__init__(message)


class Overloaded(Refused):
    """The queue has no room.

    Attributes:
        waiting: tokens in the queue, or bytes of media that wait to be decoded.
        bound: most of them.
    """

    def __init__(self, waiting: int, bound: int, retry_after: float, unit: str = "tokens") -> None:
        self.waiting, self.bound = waiting, bound
        what = f"{waiting:,} {unit} are waiting, the bound is {bound:,}"
        super().__init__(f"the queue is full: {what}; try again in {retry_after:.1f} s", retry_after)


class WorkerLost(Refused):
    """The process that computed, or read media for, this request ended before it answered."""


class Failed(Refused):
    """Something inside broke on this request alone; the text names the kind of error, the log has the rest."""

    retryable = False


class Expired(Refused):
    """The request was not answered within its timeout."""


class Draining(Refused):
    """The engine is about to stop and accepts nothing more."""


@dataclass(frozen=True, slots=True)
class Loading:
    """A model to serve.

    Attributes:
        name: what asks call it.
        source: name of an embedded model, a folder, or ``owner/name@revision``.
        threads: for computing; None takes the machine's cores.

    The others are for releases, see ``omniclef.load``; None takes its default.
    """

    name: str
    source: str | Path
    threads: int | None = None
    precision: Precision | None = None
    device: str = "cpu"
    window: int | None = None
    ids: Literal["faithful", "anonymous"] = "anonymous"
    remember: int | None = None


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Bounds of one engine; each model has a queue and a worker of its own.

    Attributes:
        queue_tokens: most tokens that wait for one model, by estimate (see ``queueing.weigh``). A request larger than
            that is accepted when nothing else waits.
        batch_tokens: most tokens of one batch; a larger request goes alone.
        batch_seconds: longest that a batch should take, by the measured rate.
        queue_seconds: most work that may wait in one lane, by the measured rate; a few requests get in always, see
            ``queueing.ALWAYS``.
        gather: seconds for which an idle worker waits for company; 0 starts at once.
        decoders: processes that decode media.
        decoder_memory: bytes of each, beyond what it needs to start.
        ask_bytes: most bytes of one request's media when they are decoded.
        media_bytes: of all requests: encoded bytes that wait to be decoded, and decoded ones that wait for a model. At
            the first bound requests are refused, at the second decoding pauses.
        budgets: limits on the media of a request.
        start_seconds: longest that loading a model may take.
        stuck_seconds: longest that a batch may take before its worker is taken for stuck, and is replaced.
    """

    queue_tokens: int = 262_144
    batch_tokens: int = 16_384
    batch_seconds: float = 0.25
    queue_seconds: float = 0.5
    gather: float = 0.0
    decoders: int = 2
    decoder_memory: int = 1 << 30
    ask_bytes: int = 512 << 20
    media_bytes: int = 1 << 30
    budgets: Budgets = SERVED
    start_seconds: float = 600.0
    stuck_seconds: float = 300.0


@dataclass(frozen=True, slots=True)
class ModelLoad:
    """How busy one model is.

    waiting, running: asks. waiting_tokens, running_tokens: their tokens, by estimate. tokens_per_second: measured over
    the last batches, 0 before the first. restarts: of the worker, after it was lost.
    """

    ready: bool
    waiting: int = 0
    waiting_tokens: int = 0
    running: int = 0
    running_tokens: int = 0
    tokens_per_second: float = 0.0
    restarts: int = 0


@dataclass(frozen=True, slots=True)
class EngineLoad:
    """How busy the engine is: by model, asks whose media are decoded or wait for it, bytes of decoded media that were
    not answered yet, and decoders that were lost and started again."""

    models: Mapping[str, ModelLoad] = field(default_factory=dict)
    decoding: int = 0
    media_bytes: int = 0
    decoder_restarts: int = 0
