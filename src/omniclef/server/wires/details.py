"""Broken rules in the words of the TypeSafe API: a list of schema violations, or the text of one rule.

The wording is that of pydantic 2, which that API answers with; callers read ``type`` and ``loc``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from omniclef.errors import InvalidRequest
from omniclef.records import Violation
from omniclef.records.values import Loc

__all__ = ["INVALID", "issue", "rule", "schema"]

INVALID = "Invalid request."

TEXT = (
    ("str", "string_type", "Input should be a valid string"),
    ("dict[any,any]", "dict_type", "Input should be a valid dictionary"),
    ("list[any]", "list_type", "Input should be a valid list"),
)
ARRAYS = ("images", "audio", "videos", "x_states")


def schema(error: InvalidRequest, types: Mapping[str, str]) -> list[dict[str, Any]]:
    """Those of its violations that break the schema, as ``detail`` lists them; empty where none does."""
    found = []
    for violation in error.issues:
        if isinstance(violation, Violation):
            loc = ["body", *_typed(violation.loc, types)]
            found += _details(violation, loc)
    return found


def rule(error: InvalidRequest) -> str | None:
    """The text of its first violation where the API has a text of its own for it."""
    first = error.issues[0]
    if not isinstance(first, Violation):
        return None
    name = first.loc[1] if len(first.loc) > 1 else ""
    match first.kind:
        case "empty_id":
            return "Question key cannot be empty."
        case "no_instructions":
            return f"Noul question must have criteria or instructions: {name}"
        case "too_short":
            return f"Choice question must have at least one choice: {name}"
        case "too_many" if "options" in first.problem:
            return "Too many choices. Must have at most 255 choices."
        case "too_many" if "levels" in first.problem:
            return "Too many score levels. Must have at most 10 levels."
    return None


def issue(kind: str, loc: Sequence[str | int], text: str, context: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """One entry of the list. What was sent is not repeated in it: it may be long, and private."""
    entry: dict[str, Any] = {"type": kind, "loc": list(loc), "msg": text}
    return {**entry, "ctx": dict(context)} if context else entry


def _details(violation: Violation, loc: list[str | int]) -> list[dict[str, Any]]:
    match violation.kind:
        case "missing":
            return [issue("missing", loc, "Field required")]
        case "missing_type":
            text = "Unable to extract tag using discriminator 'type'"
            return [issue("union_tag_not_found", loc[:-1], text, {"discriminator": "'type'"})]
        case "text_type":
            return [issue(kind, [*loc, which], text) for which, kind, text in TEXT]
        case "too_short" if not (loc[-1] == "criteria" and loc[-2] == "choice"):
            field = "List" if loc[-1] == "criteria" or loc[-1] in ARRAYS else "Dictionary"
            text = f"{field} should have at least 1 item after validation, not 0"
            return [issue("too_short", loc, text, {"field_type": field, "min_length": 1, "actual_length": 0})]
        case "type":
            return [_wrong_type(violation.loc, loc)]
    return []


def _wrong_type(path: Loc, loc: list[str | int]) -> dict[str, Any]:
    field = path[-1] if path else ""
    if not path or (len(path) == 2 and path[0] in ("questions", "assets")):
        text = "Input should be a valid dictionary or object to extract fields from"
        return issue("model_attributes_type", loc, text)
    if field in ("x_evidence", "x_truncate"):
        return issue("bool_type", loc, "Input should be a valid boolean")
    if (field == "criteria" and loc[-2] == "score") or field in ARRAYS:
        return issue("list_type", loc, "Input should be a valid list")
    if field in ("questions", "criteria", "assets"):
        return issue("dict_type", loc, "Input should be a valid dictionary")
    return issue("string_type", loc, "Input should be a valid string")


def _typed(loc: Loc, types: Mapping[str, str]) -> Loc:
    """``loc`` with the question's type after its id, which is how the API names what is inside a question."""
    inside = len(loc) > 2 and loc[0] == "questions" and loc[1] in types
    return (*loc[:2], types[str(loc[1])], *loc[2:]) if inside else loc
