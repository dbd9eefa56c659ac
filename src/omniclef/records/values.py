"""JSON values of a request: text-like values, their limits, and how broken rules are collected and named."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from omniclef.errors import InvalidInput, InvalidRequest

TextLike: TypeAlias = str | dict[str, Any] | list[Any]
Loc: TypeAlias = tuple[str | int, ...]
MediaKind: TypeAlias = Literal["image", "audio", "video"]
Kind: TypeAlias = Literal[
    "missing",
    "type",
    "text_type",
    "too_short",
    "too_many",
    "empty_id",
    "missing_type",
    "unknown_type",
    "no_instructions",
    "value",
    "unsupported",
]

MAX_DEPTH = 64
# Python itself refuses to write integers of more than 4,300 digits; this stays well below.
MAX_INTEGER_BITS = 4096

_PLAIN_KEY = re.compile(r"[\w-]{1,80}")
_MEDIA_URL = re.compile(r"data:(image|audio|video)/[^,]{0,300},", re.IGNORECASE)


class Violation(InvalidInput):
    """One broken rule.

    Attributes:
        loc: path of the field as keys and indices, which stays exact when an id holds dots or spaces.
        kind: which sort of rule it is, for callers that answer each sort differently.
    """

    def __init__(self, loc: Loc, kind: Kind, problem: str, remedy: str) -> None:
        self.loc = loc
        self.kind: Kind = kind
        super().__init__(path(loc), problem, remedy)

    def under(self, parent: Loc) -> Violation:
        """The same rule, with its field seen from further up."""
        return Violation(parent + self.loc, self.kind, self.problem, self.remedy)


class Check:
    """Collects violations, so that a request is refused once, with all of them."""

    def __init__(self) -> None:
        self.issues: list[Violation] = []

    def add(self, loc: Loc, kind: Kind, problem: str, remedy: str) -> None:
        self.issues.append(Violation(loc, kind, problem, remedy))

    def adopt(self, error: InvalidRequest, parent: Loc) -> None:
        self.issues += [issue.under(parent) for issue in error.issues if isinstance(issue, Violation)]

    def text(self, value: object, loc: Loc) -> Any:
        """A text-like value as plain strings, dicts and lists; None where it breaks a rule."""
        if isinstance(value, str | Mapping | list | tuple):
            try:
                return _plain(value, loc, 0)
            except Violation as violation:
                self.issues.append(violation)
                return None
        self.add(loc, "text_type", f"must be text, not {show(value)}", "send a string, an object or an array")
        return None

    def optional(self, value: object, loc: Loc) -> Any:
        return None if value is None else self.text(value, loc)

    def name(self, value: object, loc: Loc) -> bool:
        """Whether an id or an option name can stand as a key of the answer."""
        if not isinstance(value, str):
            self.add(loc, "type", f"a name must be a string, not {show(value)}", "use a string")
        elif mended(value) != value:
            self.add(loc, "value", "the name holds half a surrogate pair", "use whole Unicode characters")
        else:
            return True
        return False

    def close(self) -> None:
        if self.issues:
            raise InvalidRequest(self.issues)


def render(value: object) -> str:
    """A string as it is, anything else as compact JSON with sorted keys; always valid Unicode."""
    if isinstance(value, str):
        return mended(value)
    return mended(json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True))


def media_kind(text: str) -> MediaKind | None:
    """``image``, ``audio`` or ``video`` where ``text`` is a data URL of that type, else None."""
    match = _MEDIA_URL.match(text)
    return match[1].lower() if match else None  # type: ignore[return-value]


def read_json(text: str | bytes, field: str = "request") -> Any:
    """The value of a JSON text; ``field`` names the text in errors.

    Raises:
        InvalidInput: not JSON, not Unicode, NaN or Infinity, or nested beyond what can be read.
    """
    try:
        text = text.removeprefix("\ufeff") if isinstance(text, str) else text
        return json.loads(text, parse_constant=_constant)
    except RecursionError:
        raise InvalidInput(field, f"is nested deeper than {MAX_DEPTH} levels", "flatten it") from None
    except UnicodeDecodeError as error:
        raise InvalidInput(field, f"is not UTF-8 at byte {error.start}", "save it as UTF-8") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise InvalidInput(field, f"is not JSON at {where}: {error.msg}", "correct it there") from None
    except ValueError as error:  # a constant of ours, or an integer beyond what Python reads
        raise InvalidInput(field, str(error).split(";")[0], "send finite numbers of ordinary size") from None


def settle(target: object, **fields: object) -> None:
    """Sets fields of a frozen dataclass to their checked values while it is being made."""
    for name, value in fields.items():
        object.__setattr__(target, name, value)


def _plain(value: object, loc: Loc, depth: int) -> Any:
    """A copy made of plain JSON values; raises the first `Violation`."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return mended(value)
    if isinstance(value, int):
        if value.bit_length() > MAX_INTEGER_BITS:
            problem = f"is an integer of {value.bit_length()} bits, at most {MAX_INTEGER_BITS} are allowed"
            raise Violation(loc, "value", problem, "send it as a string")
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            problem = f"is {value}, which is not a JSON number"
            raise Violation(loc, "value", problem, "send null or a finite number")
        return value
    if not isinstance(value, Mapping | list | tuple):
        raise Violation(loc, "value", f"is {show(value)}, which is not a JSON value", "convert it first")
    if depth >= MAX_DEPTH:  # every level of nesting added one part to loc; the path that deep helps nobody
        problem = f"is nested deeper than {MAX_DEPTH} levels"
        raise Violation(loc[: len(loc) - depth], "value", problem, "flatten it, or send it as a string")
    if isinstance(value, Mapping):
        return {_key(key, loc): _plain(item, (*loc, str(key)), depth + 1) for key, item in value.items()}
    return [_plain(item, (*loc, index), depth + 1) for index, item in enumerate(value)]


def _key(key: object, loc: Loc) -> str:
    if not isinstance(key, str):
        raise Violation(loc, "value", f"has the key {show(key)}, which is not a string", "use string keys")
    return mended(key)


def mended(text: str) -> str:
    """Joins surrogate pairs; a lone half, as a cut inside an emoji leaves it, becomes U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _constant(name: str) -> None:
    raise ValueError(f"holds {name}, which is not JSON")


def path(loc: Loc) -> str:
    """``questions.team.criteria[2]``; a key that is no plain word is quoted and escaped: one line, always."""
    name = ""
    for part in loc:
        if isinstance(part, int):
            name += f"[{part}]"
        elif _PLAIN_KEY.fullmatch(part):
            name += f".{part}" if name else part
        else:
            name += f"[{json.dumps(part if len(part) <= 80 else part[:80] + '...')}]"
    return name or "request"


def show(value: object) -> str:
    """A value and its kind, short enough for one line."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"{str(value).lower()} (a boolean)"
    if isinstance(value, int) and value.bit_length() > 64:
        return "a number"
    if isinstance(value, int | float):
        return f"{value} (a number)"
    if isinstance(value, str):
        return f"{json.dumps(value if len(value) <= 40 else value[:40] + '...')} (a string)"
    if isinstance(value, Mapping):
        return "an object"
    return "an array" if isinstance(value, list | tuple) else f"a Python {type(value).__name__}"
