"""Cloudflare's Workers AI: ``POST .../ai/run/@cf/cloudflare/clef-omni``, with its envelope and two kinds of errors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from omniclef.answers import Confidence
from omniclef.engine import Answered, Ask
from omniclef.errors import InvalidInput, InvalidRequest, MediaError, OmniclefError
from omniclef.records import Choice, Question, Score, Violation, parse_request
from omniclef.records.values import Check
from omniclef.server.bodies import Body, write_json
from omniclef.server.identity import uuid_of
from omniclef.server.wires import details
from omniclef.server.wires.base import Asked, Broken, Call, Kind, Reply, Wire, kind_of, message, retry
from omniclef.server.wires.common import answers_of, types_of, usage_of

__all__ = ["WorkersAI"]

ID = re.compile(r"[A-Za-z0-9_.-]{1,100}")
QUESTIONS = 64
MEDIA = {"images": 4, "audio": 4, "videos": 2}
FIELDS = {"type", "instructions", "criteria"}
FAMILIES = (("clef", "clef-flash"), ("clef-omni",))

PLATFORM: dict[Kind, tuple[int, int, str]] = {
    "json": (400, 6003, "Invalid JSON body"),
    "model": (400, 7000, "No route for that URI"),
    "path": (404, 7000, "No route for that URI"),
    "method": (405, 5019, "Method not allowed"),
    "no_key": (401, 10000, "Authentication error"),
    "wrong_key": (401, 10000, "Authentication error"),
    "size": (413, 3006, "Request too large"),
    "type": (415, 5004, "Unsupported media type"),
    "foreign": (403, 10000, "Authentication error"),
    "slow": (408, 3007, "Timeout"),
}
"""HTTP status, code and text of errors that do not come from a model; with null as result."""

MODEL: dict[Kind, tuple[int, int, str]] = {
    "rate": (429, 3036, "AiError: The rate limit of this key is reached"),
    "overloaded": (429, 3040, "AiError: No more data centers to forward the request to (out of capacity)"),
    "away": (529, 5012, "AiError: Clef inference failed"),
    "expired": (408, 3007, "AiError: Timeout"),
    "broken": (500, 5012, "AiError: Clef inference failed"),
}
"""The same of errors that come from a model; with an empty object as result."""


class BadInput(InvalidInput):
    """The body fails the first of two checks, that of its rough shape."""


class OtherModel(InvalidInput):
    """The body names another model than the path."""


class WorkersAI(Wire):
    """States that are too long are cut, as documented, and the answer says so."""

    name: ClassVar[str] = "workers_ai"
    confidence: ClassVar[Confidence] = "simpson"

    def headers(self, call: Call) -> dict[str, str]:
        return {"cf-ai-req-id": uuid_of(call.id), "cf-ray": f"{call.id[:16]}-OMN", "x-request-id": call.id}

    def parse(self, body: Body, call: Call) -> Asked:
        model = self.catalogue.resolve(call.selector)
        selector = self.catalogue.selector(call.selector)
        payload = body.payload
        if not isinstance(payload, Mapping):
            raise BadInput("/", "Type mismatch of '/', 'object' not in the request")
        _check_model(payload.get("model"), selector)
        _check_shape(payload)
        # Assets are no field of this wire, and what it does not know at the top it ignores.
        known = {name: value for name, value in payload.items() if name in ("state", "questions", *MEDIA)}
        check = Check()
        try:
            request = parse_request(known)
        except InvalidRequest as error:
            check.issues += [issue for issue in error.issues if isinstance(issue, Violation)]
        else:
            _check_questions(request.questions, payload["questions"], check)
        for kind, most in MEDIA.items():
            if isinstance(payload.get(kind), list) and len(payload[kind]) > most:
                text = f"List should have at most {most} items after validation, not {len(payload[kind])}"
                check.add((kind,), "value", text, "")
        evidence = payload.get("x_evidence") is True
        if check.issues:
            raise Broken(check.issues, types_of(payload))
        ask = Ask(request, model, (), call.tenant, self.formula(), evidence, "state", self.terms.timeout)
        return Asked(ask, selector)

    def show(self, asked: Asked, answered: Answered, call: Call) -> dict[str, Any]:
        shown = answers_of(asked, answered, self.terms.decimals)
        answers = {key: _reordered(answer) for key, answer in shown.pop("answers").items()}
        result = {"model": asked.selector, "answers": answers, "usage": usage_of(answered), **shown}
        return {"result": result, "success": True, "errors": [], "messages": []}

    def fail(self, error: OmniclefError, call: Call, asked: Asked | None = None) -> Reply:
        kind = kind_of(error)
        if isinstance(error, BadInput):
            text = f"AiError: Bad input: Error: {error.problem} ({uuid_of(call.id)})"
            return Reply(400, _envelope(5006, text, {}))
        if isinstance(error, OtherModel):
            return _invalid({"type": "invalid_request", "message": error.problem}, call)
        if kind in ("rules", "input"):
            assert isinstance(error, InvalidInput)
            invalid = {"type": "invalid_request", "message": "Request body failed validation"}
            return _invalid({**invalid, "details": {"formErrors": [], "fieldErrors": _fields(error)}}, call)
        if kind == "too_long":
            return Reply(413, _envelope(5021, f"AiError: {message(error, asked)}", {}))
        status, code, text = PLATFORM.get(kind) or MODEL[kind]
        return Reply(status, _envelope(code, text, {} if kind in MODEL else None), retry(error))


def _check_model(given: object, selector: str) -> None:
    """The body's model, where there is one, is that of the path, or at least of its family."""
    family = next((family for family in FAMILIES if selector in family), (selector,))
    named = given.strip() if isinstance(given, str) else given
    if given is None or named == selector:
        return
    if named in family:
        raise OtherModel("/model", f"Unsupported model '{named}'. Use '{selector}'.")
    pattern = "|".join(map(re.escape, family)).replace(r"\-", "-")
    grouped = f"({pattern})" if len(family) > 1 else pattern
    raise BadInput("/model", rf"'/model' failed test ^\s*{grouped}\s*$ patttern")  # spelt as Cloudflare does


def _check_shape(payload: Mapping[str, Any]) -> None:
    if payload.get("state") is None:
        raise BadInput("/", "required properties at '/' are 'state,questions'")
    questions = payload.get("questions")
    if not isinstance(questions, dict) or not questions:
        raise BadInput("/questions", "'/questions' must be an object with one question at least")
    for key, question in questions.items():
        kind = question.get("type") if isinstance(question, dict) else None
        if kind not in ("noul", "choice", "score"):
            raise BadInput(f"/questions/{key}", "'/questions' has a question whose type is not noul, choice or score")


def _check_questions(parsed: Mapping[str, Question], sent: Mapping[str, Any], check: Check) -> None:
    """The rules that this wire has beyond those of System One."""
    if len(sent) > QUESTIONS:
        problem = f"Dictionary should have at most {QUESTIONS} items after validation, not {len(sent)}"
        check.add(("questions",), "value", problem, "")
    for key, question in parsed.items():
        loc = ("questions", key)
        if not ID.fullmatch(key):
            check.add(loc, "value", f"String should match pattern '^{ID.pattern}$'", "")
        for extra in sent[key].keys() - FIELDS if isinstance(sent[key], dict) else ():
            check.add((*loc, extra), "value", "Extra inputs are not permitted", "")
        if not question.instructions:
            check.add((*loc, "instructions"), "value", "Field required, and not empty", "")
        count = len(question.options())
        if isinstance(question, Choice | Score) and count < 2:
            container = "Dictionary" if isinstance(question, Choice) else "List"
            problem = f"{container} should have at least 2 items after validation, not {count}"
            check.add((*loc, "criteria"), "value", problem, "")
        if isinstance(question, Choice) and "" in question.criteria:
            check.add((*loc, "criteria"), "value", "String should have at least 1 character", "")


def _fields(error: InvalidInput) -> dict[str, list[str]]:
    """Texts by field of the body's top, each naming the place below it."""
    if not isinstance(error, InvalidRequest):
        field = re.split(r"[.\[]", error.field)[0]
        return {field: [str(error)] if isinstance(error, MediaError) else [error.problem]}
    fields: dict[str, list[str]] = {}
    types = error.types if isinstance(error, Broken) else {}
    for issue in error.issues:
        assert isinstance(issue, Violation)
        listed = details.schema(InvalidRequest([issue]), types)
        texts = [entry["msg"] for entry in listed] or [issue.problem]
        place = issue.field if len(issue.loc) > 1 else ""
        found = fields.setdefault(str(issue.loc[0]) if issue.loc else "", [])
        found += [f"{place}: {text}" if place else text for text in texts]
    return fields


def _invalid(inner: Mapping[str, Any], call: Call) -> Reply:
    text = f"AiError: AiError: {write_json({'error': inner}).decode()} ({uuid_of(call.id)})"
    return Reply(422, _envelope(5012, text, {}))


def _envelope(code: int, text: str, result: dict[str, Any] | None) -> dict[str, Any]:
    return {"errors": [{"message": text, "code": code}], "success": False, "result": result, "messages": []}


def _reordered(answer: dict[str, Any]) -> dict[str, Any]:
    """Confidence comes last here."""
    return {name: answer[name] for name in answer if name != "confidence"} | (
        {"confidence": answer["confidence"]} if "confidence" in answer else {}
    )
