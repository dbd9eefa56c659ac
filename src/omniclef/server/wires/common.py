"""What the wires share that take a System One body: state, questions, media, assets and our own ``x_`` fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from omniclef.answers import Confidence
from omniclef.engine import Answered, Ask
from omniclef.errors import InvalidRequest
from omniclef.records import Request, TextLike, Violation, parse_request
from omniclef.records.values import Check, show
from omniclef.server.bodies import Body
from omniclef.server.catalogue import Catalogue
from omniclef.server.media import Assets, read_assets, with_data_urls
from omniclef.server.wires.base import Asked, Broken, Call, Terms, extensions

__all__ = ["answers_of", "read_system_one", "types_of", "usage_of"]

KINDS = {"images": "image", "audio": "audio", "videos": "video"}
EMPTY = Request("", {})


def read_system_one(body: Body, call: Call, catalogue: Catalogue, terms: Terms, formula: Confidence) -> Asked:
    """A System One body with a model, pictures as assets, and what else we read.

    Raises:
        InvalidRequest: every broken rule.
        ModelNotFound: the model is not served; told only where no rule is broken.
        BodyError: a picture is too large.
    """
    payload, check = body.payload, Check()
    if not isinstance(payload, Mapping):
        parse_request(payload)  # says what is wrong
    if payload.get("model") is None:
        check.add(("model",), "missing", "is missing", "name a model")
    assets = read_assets(payload.get("assets"), body.parts, check, terms.part_bytes)
    before = len(payload["images"]) if isinstance(payload.get("images"), list) else 0
    asked = _placed(payload, assets, before)
    states = _states(asked, check, terms.states)
    flags = {name: _flag(payload, name, check) for name in ("x_evidence", "x_truncate")}
    request = _request(asked, check)
    assets.check_used(check)
    if check.issues:
        raise Broken(check.issues, types_of(payload))
    ordered = assets.ordered()
    request = replace(request, images=request.images + tuple(source for _, source in ordered))
    ask = Ask(
        request,
        catalogue.resolve(payload["model"]),
        states,
        call.tenant,
        formula,
        flags["x_evidence"],
        "state" if flags["x_truncate"] else None,
        terms.timeout,
    )
    names = {f"images[{before + place}]": f"assets[{name!r}]" for place, (name, _) in enumerate(ordered)}
    return Asked(ask, payload["model"], names, _legends(payload, asked) if assets.sources else {})


def answers_of(asked: Asked, answered: Answered, decimals: int) -> dict[str, Any]:
    """``answers`` of one state or ``x_answers`` of several, and the extensions."""
    every = []
    for decision in answered.decisions:
        answers = {key: answer.to_dict(decimals) for key, answer in decision.answers.items()}
        for key, levels in asked.legends.items():
            answers[key]["legend"] = {str(index): level for index, level in enumerate(levels)}
        every.append(answers)
    shown = {"answers": {}, "x_answers": every} if asked.ask.states else {"answers": every[0]}
    return shown | extensions(asked, answered, decimals)


def usage_of(answered: Answered) -> dict[str, int]:
    """Tokens of all states together; an answer costs none."""
    return {
        "input_tokens": sum(decision.usage.input_tokens for decision in answered.decisions),
        "output_tokens": sum(decision.usage.output_tokens for decision in answered.decisions),
    }


def types_of(payload: Mapping[str, Any]) -> dict[str, str]:
    """Question types by id, of those questions that have a known one."""
    questions = payload.get("questions")
    named = questions.items() if isinstance(questions, dict) else ()
    types = {key: question.get("type") for key, question in named if isinstance(question, dict)}
    return {key: kind for key, kind in types.items() if isinstance(kind, str) and kind in ("noul", "choice", "score")}


def _placed(payload: Mapping[str, Any], assets: Assets, before: int) -> dict[str, Any]:
    """The body as the model reads it: placeholders by number, bare base64 as data URLs."""
    asked = {name: value for name, value in payload.items() if name != "assets"}
    for name in ("state", "x_states"):
        if name in asked:
            asked[name] = assets.place(asked[name], before)
    if isinstance(asked.get("questions"), dict) and assets.sources:
        asked["questions"] = {
            key: {name: _part(name, value, assets, before) for name, value in question.items()}
            if isinstance(question, dict)
            else question
            for key, question in asked["questions"].items()
        }
    for name, kind in KINDS.items():
        if name in asked:
            asked[name] = with_data_urls(asked[name], kind)
    return asked


def _part(name: str, value: Any, assets: Assets, before: int) -> Any:
    return assets.place(value, before) if name in ("instructions", "criteria") else value


def _states(asked: dict[str, Any], check: Check, limit: int) -> tuple[TextLike, ...]:
    states = asked.pop("x_states", None)
    if states is None:
        return ()
    if not isinstance(states, list):
        check.add(("x_states",), "type", f"must be an array, not {show(states)}", "send an array of states")
    elif not states:
        check.add(("x_states",), "too_short", "has 0 states, at least 1 is needed", "send state instead")
    elif len(states) > limit:
        check.add(("x_states",), "value", f"has {len(states)} states, at most {limit} are allowed", "send fewer")
    else:
        asked["state"] = ""
        return tuple(check.text(state, ("x_states", place)) for place, state in enumerate(states))
    asked.setdefault("state", "")
    return ()


def _flag(payload: Mapping[str, Any], name: str, check: Check) -> bool:
    value = payload.get(name)
    if value is not None and not isinstance(value, bool):
        check.add((name,), "type", f"must be a boolean, not {show(value)}", "send true or false")
    return value is True


def _request(asked: dict[str, Any], check: Check) -> Request:
    try:
        return parse_request(asked)
    except InvalidRequest as error:
        check.issues += [issue for issue in error.issues if isinstance(issue, Violation)]
        return EMPTY


def _legends(payload: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, list[TextLike]]:
    return {
        key: question["criteria"]
        for key, question in payload["questions"].items()
        if question["type"] == "score" and question["criteria"] != asked["questions"][key]["criteria"]
    }
