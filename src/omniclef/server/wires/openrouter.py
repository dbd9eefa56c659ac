"""OpenRouter: ``/api/alpha/decisions`` and ``/api/v1/systemone``, a System One body with their names and errors."""

from __future__ import annotations

from typing import Any, ClassVar

from omniclef.engine import Answered
from omniclef.errors import InvalidRequest, MediaError, OmniclefError
from omniclef.server.bodies import Body
from omniclef.server.prices import dollars
from omniclef.server.wires import details
from omniclef.server.wires.base import Asked, Broken, Call, Kind, Reply, Wire, kind_of, message, retry
from omniclef.server.wires.common import answers_of, read_system_one, usage_of

__all__ = ["OpenRouter"]

ERRORS: dict[Kind, tuple[int, str]] = {
    "json": (400, "invalid_request"),
    "rules": (400, "invalid_request"),
    "input": (400, "invalid_request"),
    "too_long": (400, "context_length_exceeded"),
    "model": (404, "not_found"),
    "size": (413, "payload_too_large"),
    "type": (400, "invalid_request"),
    "slow": (400, "invalid_request"),
    "no_key": (401, "authentication"),
    "wrong_key": (401, "authentication"),
    "foreign": (403, "permission_denied"),
    "path": (404, "not_found"),
    "method": (405, "invalid_request"),
    "rate": (429, "rate_limit_exceeded"),
    "overloaded": (529, "provider_overloaded"),
    "away": (503, "provider_unavailable"),
    "expired": (524, "timeout"),
    "broken": (500, "server"),
}
"""HTTP status, which the body repeats, and ``error_type``."""


class OpenRouter(Wire):
    """The answer adds an id, who answered and what it cost."""

    name: ClassVar[str] = "openrouter"

    def parse(self, body: Body, call: Call) -> Asked:
        return read_system_one(body, call, self.catalogue, self.terms, self.formula())

    def show(self, asked: Asked, answered: Answered, call: Call) -> dict[str, Any]:
        shown = answers_of(asked, answered, self.terms.decimals)
        cost = float(dollars(self.catalogue.prices.cost(asked.ask.model, answered.tokens)))
        return {
            "id": f"gen-dec-{call.id}",
            "model": asked.selector,
            "provider": "omniclef",
            "answers": shown.pop("answers"),
            "usage": {**usage_of(answered), "cost": cost},
            **shown,
        }

    def fail(self, error: OmniclefError, call: Call, asked: Asked | None = None) -> Reply:
        kind = kind_of(error)
        status, error_type = ERRORS[kind]
        text = _rules(error) if isinstance(error, InvalidRequest) else message(error, asked)
        if isinstance(error, MediaError) and error.field.startswith("images"):
            error_type = "invalid_image"
        inner = {"code": status, "message": text, "metadata": {"error_type": error_type}}
        return Reply(status, {"error": inner}, retry(error))


def _rules(error: InvalidRequest) -> str:
    """All schema violations in one line, or the first rule that is broken."""
    listed = details.schema(error, error.types if isinstance(error, Broken) else {})
    if listed:
        return "; ".join(f"{'.'.join(map(str, entry['loc'][1:])) or 'body'}: {entry['msg']}" for entry in listed)
    return details.rule(error) or str(error.issues[0])
