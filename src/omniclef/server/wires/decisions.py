"""OpenAI's Decisions: ``POST /v1/decisions``, messages with text, pictures and JSON, and questions as a list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from omniclef.answers import Answer, ChoiceAnswer, NoulAnswer, ScoreAnswer
from omniclef.engine import Answered, Ask
from omniclef.errors import InvalidInput, InvalidRequest, OmniclefError
from omniclef.records import Violation, parse_request
from omniclef.records.values import Check, Loc, show
from omniclef.server.bodies import Body
from omniclef.server.wires.base import Asked, Call, Kind, Reply, Wire, extensions, kind_of, message, retry

__all__ = ["Decisions"]

QUESTIONS, CHOICES = 400, 255
ROLES = ("user", "developer", "system", "assistant")
TOOLS = {
    "function_call": ("name", "arguments"),
    "custom_tool_call": ("name", "input"),
    "function_call_output": ("output",),
    "custom_tool_call_output": ("output",),
}

ERRORS: dict[Kind, tuple[int, str, str | None]] = {
    "json": (400, "invalid_request_error", "invalid_json"),
    "rules": (400, "invalid_request_error", None),
    "input": (400, "invalid_request_error", None),
    "too_long": (400, "invalid_request_error", "context_length_exceeded"),
    "model": (404, "invalid_request_error", "model_not_found"),
    "size": (413, "invalid_request_error", "request_too_large"),
    "type": (415, "invalid_request_error", "unsupported_media_type"),
    "slow": (408, "invalid_request_error", "timeout"),
    "no_key": (401, "invalid_request_error", "invalid_api_key"),
    "wrong_key": (401, "invalid_request_error", "invalid_api_key"),
    "foreign": (403, "invalid_request_error", "forbidden"),
    "path": (404, "invalid_request_error", "unknown_url"),
    "method": (405, "invalid_request_error", "method_not_supported"),
    "rate": (429, "rate_limit_error", "rate_limit_exceeded"),
    "overloaded": (429, "server_error", "server_overloaded"),
    "away": (503, "server_error", "unavailable"),
    "expired": (408, "server_error", "timeout"),
    "broken": (500, "server_error", None),
}
"""HTTP status, ``type`` and ``code``."""


@dataclass(frozen=True, slots=True)
class _Question:
    """name: the caller's, if any. values: of a choice's options, or labels of a score's levels."""

    name: str | None
    values: tuple[str | bool, ...] = ()


class Decisions(Wire):
    """Answers come as a list in the order of the questions, whose names need not be unique."""

    name: ClassVar[str] = "decisions"

    def parse(self, body: Body, call: Call) -> Asked:
        payload = body.payload
        if not isinstance(payload, Mapping):
            raise InvalidRequest([Violation((), "type", f"must be an object, not {show(payload)}", "send one")])
        reader = _Reader()
        model = payload.get("model")
        if not isinstance(model, str):
            reader.check.add(("model",), "missing" if model is None else "type", "must be a string", "name a model")
        state = reader.input(payload.get("input"))
        questions, details = reader.questions(payload.get("questions"))
        reader.check.close()
        request = parse_request({"state": state, "questions": questions, "images": reader.images})
        assert isinstance(model, str)
        evidence = payload.get("x_evidence") is True
        ask = Ask(
            request,
            self.catalogue.resolve(model),
            (),
            call.tenant,
            self.formula(),
            evidence,
            None,
            self.terms.timeout,
        )
        return Asked(ask, model, reader.names, details=details)

    def show(self, asked: Asked, answered: Answered, call: Call) -> dict[str, Any]:
        decimals = self.terms.decimals
        answers = answered.decisions[0].answers.values()
        shown = [_answer(question, answer, decimals) for question, answer in zip(asked.details, answers, strict=True)]
        read = answered.tokens.total
        cached = answered.decisions[0].usage.cached_tokens
        usage = {
            "input_tokens": read,
            "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": 0},
            "output_tokens": 0,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": read,
        }
        more = extensions(asked, answered, decimals)
        return {"model": asked.ask.model, "answers": shown, "usage": usage, **more}

    def fail(self, error: OmniclefError, call: Call, asked: Asked | None = None) -> Reply:
        kind = kind_of(error)
        status, error_type, code = ERRORS[kind]
        param = None
        if isinstance(error, InvalidInput) and kind in ("rules", "input"):
            param = asked.names.get(error.field, error.field) if asked else error.field
        inner = {"message": message(error, asked), "type": error_type, "param": param, "code": code}
        return Reply(status, {"error": inner}, retry(error))


class _Reader:
    """Walks through a body and collects pictures, in the order in which they come, and broken rules."""

    def __init__(self) -> None:
        self.check = Check()
        self.images: list[str] = []
        self.names: dict[str, str] = {}

    def input(self, value: object) -> Any:
        """The state: a text as it is, messages as a list; one message of text alone is that text."""
        if isinstance(value, str):
            return value
        if not isinstance(value, list) or not value:
            self.check.add(("input",), "value", f"must be text or messages, not {show(value)}", "send a message")
            return ""
        items = [self._item(item, ("input", place)) for place, item in enumerate(value)]
        only = items[0]
        return only["content"] if len(items) == 1 and isinstance(only, dict) and only.get("role") == "user" else items

    def questions(self, value: object) -> tuple[dict[str, Any], list[_Question]]:
        """As System One has them, by their place, and what the answers need of each."""
        if not isinstance(value, list) or not 1 <= len(value) <= QUESTIONS:
            count = f"{len(value)} questions" if isinstance(value, list) else show(value)
            self.check.add(("questions",), "value", f"has {count}", f"send a list of 1 to {QUESTIONS} questions")
            return {}, []
        read = [self._question(question, ("questions", place)) for place, question in enumerate(value)]
        return {f"question {place}": body for place, (body, _) in enumerate(read, 1)}, [each for _, each in read]

    def _item(self, item: object, loc: Loc) -> Any:
        if not isinstance(item, dict):
            self.check.add(loc, "type", f"must be an object, not {show(item)}", "send a message")
            return None
        kind = item.get("type", "message")
        if kind == "message" and item.get("role") in ROLES:
            return {"role": item["role"], "content": self._content(item.get("content"), (*loc, "content"))}
        if isinstance(kind, str) and kind in TOOLS:
            shown: dict[str, Any] = {"type": kind}
            for name in TOOLS[kind]:
                shown[name] = self._content(item.get(name), (*loc, name))
            return shown
        self.check.add(loc, "value", "is no message and no tool call that is read", f"use the roles {', '.join(ROLES)}")
        return None

    def _content(self, value: object, loc: Loc) -> Any:
        """Text, or parts; parts of text alone are joined."""
        if isinstance(value, str):
            return value
        if not isinstance(value, list):
            self.check.add(loc, "value", f"must be text or parts, not {show(value)}", "send text")
            return ""
        parts = [self._part(part, (*loc, place)) for place, part in enumerate(value)]
        return "\n".join(parts) if all(isinstance(part, str) for part in parts) else parts

    def _part(self, part: object, loc: Loc) -> Any:
        kind = part.get("type") if isinstance(part, dict) else None
        if isinstance(part, dict):
            if kind in ("input_text", "output_text") and isinstance(part.get("text"), str):
                return part["text"]
            if kind == "refusal" and isinstance(part.get("refusal"), str):
                return part["refusal"]
            if kind == "input_json" and isinstance(part.get("data"), dict | list):
                return part["data"]
            if kind == "input_image":
                return self._image(part.get("image_url"), (*loc, "image_url"))
        remedy = "send input_text, input_image or input_json with its field"
        self.check.add(loc, "value", f"is a part that is not read, its type is {show(kind)}", remedy)
        return ""

    def _image(self, url: object, loc: Loc) -> str:
        if not isinstance(url, str) or url[:5].lower() != "data:" or "," not in url[:300]:
            self.check.add(loc, "value", f"must be a data URL, not {show(url)}", "nothing is fetched: send the picture")
            return ""
        self.names[f"images[{len(self.images)}]"] = Violation(loc, "value", "", "").field
        self.images.append(url)
        return f"(image {len(self.images)})"

    def _question(self, value: object, loc: Loc) -> tuple[dict[str, Any], _Question]:
        if not isinstance(value, dict):
            self.check.add(loc, "type", f"must be an object, not {show(value)}", "send type and instructions")
            return {}, _Question(None)
        name = value.get("name")
        if name is not None and not isinstance(name, str):
            self.check.add((*loc, "name"), "type", f"must be a string, not {show(name)}", "send a string")
            name = None
        instructions = self._content(value.get("instructions"), (*loc, "instructions"))
        match value.get("type"):
            case "predicate":
                if not instructions:
                    self.check.add((*loc, "instructions"), "value", "is empty", "ask something")
                return {"type": "noul", "instructions": instructions}, _Question(name)
            case "choice":
                values, criteria = self._choices(value.get("choices"), (*loc, "choices"))
                body = {"type": "choice", "instructions": instructions, "criteria": criteria}
                return body, _Question(name, values)
            case "score":
                labels, levels = self._levels(value.get("levels"), (*loc, "levels"))
                return {"type": "score", "instructions": instructions, "criteria": levels}, _Question(name, labels)
            case kind:
                self.check.add((*loc, "type"), "value", f"is {show(kind)}", "use predicate, choice or score")
                return {}, _Question(name)

    def _choices(self, value: object, loc: Loc) -> tuple[tuple[str | bool, ...], dict[str, Any]]:
        values: list[str | bool] = []
        criteria: dict[str, Any] = {}
        for place, choice in enumerate(self._list(value, loc, 2, CHOICES)):
            given = choice.get("value") if isinstance(choice, dict) else None
            if not isinstance(given, str | bool):
                self.check.add((*loc, place, "value"), "type", f"is {show(given)}", "send a string or a boolean")
                continue
            if any(given == known and type(given) is type(known) for known in values):
                self.check.add((*loc, place, "value"), "value", f"{show(given)} comes twice", "name each choice once")
            values.append(given)
            key = given if isinstance(given, str) else str(given).lower()
            # A string and a boolean with the same text are different choices; the model sees two names.
            criteria[key if key not in criteria else f"{key} ({place + 1})"] = self._described(choice, (*loc, place))
        return tuple(values), criteria

    def _levels(self, value: object, loc: Loc) -> tuple[tuple[str, ...], list[str]]:
        labels, levels = [], []
        for place, level in enumerate(self._list(value, loc, 1, 10)):
            label = level.get("label") if isinstance(level, dict) else None
            if not isinstance(label, str):
                self.check.add((*loc, place, "label"), "type", f"is {show(label)}", "send a string")
                continue
            described = self._described(level, (*loc, place))
            labels.append(label)
            levels.append(f"{label}: {described}" if described else label)
        return tuple(labels), levels

    def _described(self, entry: Mapping[str, Any], loc: Loc) -> str | None:
        text = entry.get("description")
        if text is None or isinstance(text, str):
            return text
        self.check.add((*loc, "description"), "type", f"must be a string, not {show(text)}", "send a string")
        return None

    def _list(self, value: object, loc: Loc, least: int, most: int) -> list[Any]:
        if isinstance(value, list) and least <= len(value) <= most:
            return value
        count = f"{len(value)} entries" if isinstance(value, list) else show(value)
        self.check.add(loc, "value", f"has {count}", f"send a list of {least} to {most}")
        return []


def _answer(question: _Question, answer: Answer, decimals: int) -> dict[str, Any]:
    shown = answer.to_dict(decimals)
    match answer:
        case NoulAnswer():
            return {"type": "predicate", "name": question.name, "probability": shown["noul"]}
        case ChoiceAnswer():
            shares = shown["probabilities"]
            values = dict(zip(shares, question.values, strict=True))
            return {
                "type": "choice",
                "name": question.name,
                "choice": values[answer.choice],
                "confidence": shown["confidence"],
                "probabilities": [{"value": values[key], "probability": share} for key, share in shares.items()],
            }
        case ScoreAnswer():
            shares = zip(question.values, shown["probabilities"].values(), strict=True)
            return {
                "type": "score",
                "name": question.name,
                "score": shown["score"],
                "confidence": shown["confidence"],
                "probabilities": [
                    {"value": place, "label": label, "probability": share}
                    for place, (label, share) in enumerate(shares)
                ],
            }
