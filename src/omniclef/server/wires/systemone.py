"""TypeSafe's System One: ``POST /v1/systemone``, and our count of its input tokens."""

from __future__ import annotations

from typing import Any, ClassVar

from omniclef.backbones.base import TokenCount
from omniclef.engine import Answered
from omniclef.errors import InvalidRequest, OmniclefError
from omniclef.records import Violation
from omniclef.server.bodies import Body
from omniclef.server.wires import details
from omniclef.server.wires.base import Asked, Broken, Call, Kind, Reply, Rules, Wire, kind_of, message, retry, tokens_of
from omniclef.server.wires.common import answers_of, read_system_one, usage_of

__all__ = ["SystemOne"]

ERRORS: dict[Kind, tuple[int, str]] = {
    "input": (400, "api_usage_error"),
    "too_long": (400, "max_tokens_exceeded"),
    "model": (400, "api_usage_error"),
    "size": (413, "request_too_large"),
    "type": (415, "unsupported_media_type"),
    "slow": (408, "timeout"),
    "no_key": (403, "authentication_error"),
    "wrong_key": (401, "authentication_error"),
    "foreign": (403, "permission_error"),
    "rate": (429, "rate_limit_error"),
    "overloaded": (529, "overloaded"),
    "away": (503, "unavailable"),
    "expired": (408, "timeout"),
    "broken": (500, "unknown"),
}
"""HTTP status and ``error_type``."""

TEXTS: dict[Kind, str] = {
    "no_key": "Must supply an API key!",
    "wrong_key": "Cannot authenticate with the server. Please check your API key and try again.",
}


class SystemOne(Wire):
    """Schema violations are 422 with all of them listed, other broken rules 400 with the first; the former win."""

    name: ClassVar[str] = "systemone"

    def parse(self, body: Body, call: Call) -> Asked:
        return read_system_one(body, call, self.catalogue, self.terms, self.formula())

    def show(self, asked: Asked, answered: Answered, call: Call) -> dict[str, Any]:
        shown = answers_of(asked, answered, self.terms.decimals)
        return {"model": asked.ask.model, "answers": shown.pop("answers"), "usage": usage_of(answered), **shown}

    def show_count(self, asked: Asked, tokens: TokenCount) -> dict[str, Any]:
        """The body of a count."""
        return {"model": asked.ask.model, "input_tokens": tokens.total, "x_tokens": tokens_of(tokens)}

    def fail(self, error: OmniclefError, call: Call, asked: Asked | None = None) -> Reply:
        kind = kind_of(error)
        match kind:
            case "json":
                entry = details.issue("json_invalid", ["body"], "JSON decode error", {"error": message(error, asked)})
                return Reply(422, {"detail": [entry]})
            case "path" | "method":
                return Reply(404 if kind == "path" else 405, {"detail": str(error)}, retry(error))
            case "rules":
                assert isinstance(error, InvalidRequest)
                return _rules(error, self.terms.rules)
        status, error_type = ERRORS[kind]
        text = TEXTS.get(kind) or message(error, asked)
        return Reply(status, {"detail": {"error_type": error_type, "message": text}}, retry(error))


def _rules(error: InvalidRequest, rules: Rules) -> Reply:
    listed = details.schema(error, error.types if isinstance(error, Broken) else {})
    if listed:
        return Reply(422, {"detail": listed})
    first = error.issues[0]
    unknown = isinstance(first, Violation) and first.kind == "unknown_type"
    text = details.rule(error)
    if rules == "listed" and isinstance(first, Violation):
        return Reply(422, {"detail": [details.issue("value_error", ["body", *first.loc], text or str(first))]})
    if text is not None:
        return Reply(400, {"detail": text})
    shown = details.INVALID if unknown else str(first)
    return Reply(400, {"detail": {"error_type": "api_usage_error", "message": shown}})
