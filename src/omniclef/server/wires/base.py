"""What a wire owes the server: a body becomes an `Ask`, an `Answered` a body, and any error a `Reply`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias

from omniclef.answers import Confidence, Decision
from omniclef.backbones.base import TokenCount
from omniclef.engine import Answered, Ask, Expired, Failed, Overloaded, Refused
from omniclef.errors import InvalidInput, InvalidRequest, ModelNotFound, OmniclefError, TooLong
from omniclef.records import TextLike
from omniclef.server.access import Foreign
from omniclef.server.bodies import Body, BodyError
from omniclef.server.catalogue import Catalogue

__all__ = [
    "Asked",
    "Broken",
    "Call",
    "Denied",
    "Kind",
    "NoRoute",
    "RateLimited",
    "Reply",
    "Rules",
    "Terms",
    "Wire",
    "kind_of",
    "retry",
]

Rules: TypeAlias = Literal["hosted", "listed"]
Kind: TypeAlias = Literal[
    "json",
    "rules",
    "input",
    "too_long",
    "model",
    "size",
    "type",
    "slow",
    "no_key",
    "wrong_key",
    "foreign",
    "path",
    "method",
    "rate",
    "overloaded",
    "away",
    "expired",
    "broken",
]


class Broken(InvalidRequest):
    """Broken rules of a System One body. types: question type by id, where it is one of the three."""

    def __init__(self, issues: Sequence[InvalidInput], types: Mapping[str, str]) -> None:
        self.types = dict(types)
        super().__init__(issues)


class Denied(OmniclefError):
    """No key where one is needed (``missing``), or one that is not known."""

    def __init__(self, missing: bool) -> None:
        self.missing = missing
        super().__init__("no API key was sent" if missing else "the API key is not known")


class RateLimited(OmniclefError):
    """The tenant has used up what its limits allow. retry_after: seconds."""

    def __init__(self, retry_after: float) -> None:
        self.retry_after = retry_after
        super().__init__(f"the limits of this API key are reached; try again in {retry_after:.1f} s")


class NoRoute(OmniclefError):
    """Nothing is at this path (``allow`` is empty), or only by the methods in ``allow``."""

    def __init__(self, allow: str = "") -> None:
        self.allow = allow
        super().__init__("Method Not Allowed" if allow else "Not Found")


@dataclass(frozen=True, slots=True)
class Terms:
    """What holds for every request.

    Attributes:
        confidence: formula of all wires; None leaves each its own.
        timeout: seconds until an answer.
        rules: how System One tells of rules beyond the schema: ``hosted`` as TypeSafe does, 400 with a text, ``listed``
            as its look-alikes and jevcompat want it, 422 with a list.
        decimals: of probabilities and scores.
        states: most states of one call.
        part_bytes: most bytes of one picture among the assets.
    """

    confidence: Confidence | None = None
    timeout: float = 60.0
    rules: Rules = "hosted"
    decimals: int = 4
    states: int = 64
    part_bytes: int = 16 << 20


@dataclass(frozen=True, slots=True)
class Call:
    """Around a request. id: 32 hexadecimal digits. tenant: whose it is. selector: the model that the path names."""

    id: str
    tenant: str = ""
    selector: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that was understood.

    Attributes:
        ask: for the engine.
        selector: the model as the caller called it.
        names: by medium as the engine calls it (``images[0]``), what the caller calls it.
        legends: levels of score questions as they were sent, where placeholders changed them.
        details: what only the wire that made it needs.
    """

    ask: Ask
    selector: str
    names: Mapping[str, str] = field(default_factory=dict)
    legends: Mapping[str, list[TextLike]] = field(default_factory=dict)
    details: Any = None


@dataclass(frozen=True, slots=True)
class Reply:
    """A refusal. headers: beyond those of every answer."""

    status: int
    body: dict[str, Any]
    headers: dict[str, str] = field(default_factory=dict)


class Wire(ABC):
    """One API. Methods are pure: whatever they need is in their arguments.

    Args:
        catalogue: models and what they are called.
        terms: of every request.
    """

    name: ClassVar[str]
    confidence: ClassVar[Confidence] = "typesafe"

    def __init__(self, catalogue: Catalogue, terms: Terms | None = None) -> None:
        self.catalogue = catalogue
        self.terms = terms or Terms()

    @abstractmethod
    def parse(self, body: Body, call: Call) -> Asked:
        """What ``body`` asks.

        Raises:
            InvalidInput: it breaks the wire's rules.
            ModelNotFound: it names a model that is not served.
        """

    @abstractmethod
    def show(self, asked: Asked, answered: Answered, call: Call) -> dict[str, Any]:
        """The body of an answer."""

    @abstractmethod
    def fail(self, error: OmniclefError, call: Call, asked: Asked | None = None) -> Reply:
        """Any error as this wire puts it. ``asked`` is there where the body was understood."""

    def headers(self, call: Call) -> dict[str, str]:
        """Those of every answer, errors included."""
        return {"x-typesafe-request-id": call.id, "x-request-id": call.id}

    def formula(self) -> Confidence:
        return self.terms.confidence or self.confidence


def kind_of(error: OmniclefError) -> Kind:
    """Which sort of error it is, whatever the wire."""
    match error:
        case BodyError(fault="json"):
            return "json"
        case BodyError(fault="size" | "type" | "slow" as fault):
            return fault
        case InvalidRequest():
            return "rules"
        case TooLong():
            return "too_long"
        case InvalidInput():
            return "input"
        case ModelNotFound():
            return "model"
        case Denied():
            return "no_key" if error.missing else "wrong_key"
        case Foreign():
            return "foreign"
        case NoRoute():
            return "method" if error.allow else "path"
        case RateLimited():
            return "rate"
        case Overloaded():
            return "overloaded"
        case Expired():
            return "expired"
        case Failed():
            return "broken"
        case Refused():
            return "away"
    return "broken"


def retry(error: OmniclefError) -> dict[str, str]:
    """Headers that tell when to try again, in whole seconds (rounded up) and in milliseconds."""
    if isinstance(error, NoRoute) and error.allow:
        return {"allow": error.allow}
    seconds = getattr(error, "retry_after", None)
    if seconds is None:
        return {}
    milliseconds = max(1, round(seconds * 1000))
    return {"retry-after": str(-(-milliseconds // 1000)), "retry-after-ms": str(milliseconds)}


def message(error: OmniclefError, asked: Asked | None) -> str:
    """One line, with media by the names that the caller gave them."""
    if isinstance(error, InvalidInput) and asked is not None and error.field in asked.names:
        named = asked.names[error.field]
        return f"{named}: {error.problem}" + (f"; {error.remedy}" if error.remedy else "")
    return str(error)


def tokens_of(tokens: TokenCount) -> dict[str, int]:
    """Tokens by modality."""
    return {"text": tokens.text, "image": tokens.image, "audio": tokens.audio, "video": tokens.video}


def extensions(asked: Asked, answered: Answered, decimals: int) -> dict[str, Any]:
    """What our answers have beyond every wire's own: where tokens and time went, what model it was, and evidence."""
    timings = answered.timings
    seconds = {"decode": timings.decode, "queue": timings.queue, "run": timings.run, "total": timings.total}
    body: dict[str, Any] = {
        "x_model_digest": answered.digest,
        "x_tokens": tokens_of(answered.tokens),
        "x_timings": {f"{name}_ms": round(1000 * value, 3) for name, value in seconds.items()},
    }
    cached = sum(decision.usage.cached_tokens for decision in answered.decisions)
    dropped = sum(decision.usage.state_tokens_dropped for decision in answered.decisions)
    if cached:
        body["x_cached_tokens"] = cached
    if dropped or asked.ask.truncate:
        body |= {"x_state_tokens_dropped": dropped, "x_truncated": dropped > 0}
    if asked.ask.evidence:
        pieces = [evidence(decision, decimals) for decision in answered.decisions]
        body["x_evidence"] = pieces if asked.ask.states else pieces[0]
    return body


def evidence(decision: Decision, decimals: int) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """By question id, then by option, heaviest first."""
    return {
        key: {option: [piece.to_dict(decimals) for piece in pieces] for option, pieces in options.items()}
        for key, options in (decision.evidence or {}).items()
    }
