"""Media that come inside a request, in the ways that the wires carry them, as data URLs or bytes.

Nothing is decoded, opened or fetched here: what is no data URL and no base64 is left for `parse_request` to refuse.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from omniclef.records import MAX_DEPTH, Source
from omniclef.records.values import Check, Loc, show
from omniclef.server.bodies import BodyError

__all__ = ["Assets", "read_assets", "with_data_urls"]

FORMATS = {"png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg"}
PLACEHOLDER_BYTES = 1024

# The start of base64 as nobody writes a name: long, and of its alphabet alone.
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{24}")


@dataclass(frozen=True, slots=True)
class Assets:
    """Pictures by placeholder. numbers: of those that a text names, in the order in which texts name them."""

    sources: dict[str, Source] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)

    def place(self, value: Any, before: int) -> Any:
        """A copy of a JSON value with each placeholder as ``(image N)``, counted after ``before`` other images."""
        if not self.sources:
            return value
        longest_first = sorted(self.sources, key=len, reverse=True)
        pattern = re.compile("|".join(map(re.escape, longest_first)))

        def number(match: re.Match[str]) -> str:
            return f"(image {before + self.numbers.setdefault(match[0], len(self.numbers) + 1)})"

        return _map(value, lambda text: pattern.sub(number, text), 0)

    def ordered(self) -> list[tuple[str, Source]]:
        return [(name, self.sources[name]) for name in self.numbers]

    def check_used(self, check: Check) -> None:
        for name in self.sources.keys() - self.numbers.keys():
            problem = "its placeholder is in no text"
            check.add(("assets", name), "value", problem, "write it in state, instructions or criteria")


def read_assets(value: object, parts: Mapping[str, bytes], check: Check, limit: int) -> Assets:
    """The ``assets`` of a request: pictures in base64, or in a part of a multipart body.

    Raises:
        BodyError: a picture is larger than ``limit`` bytes.
    """
    if value is None:
        return Assets()
    if not isinstance(value, Mapping):
        check.add(("assets",), "type", f"must be an object, not {show(value)}", "map placeholders to pictures")
        return Assets()
    if not value:
        check.add(("assets",), "too_short", "has 0 entries, at least 1 is needed", "leave it out")
    found: dict[str, Source] = {}
    for name, asset in value.items():
        loc: Loc = ("assets", name)
        if not name.strip() or len(name.encode("utf-8", "replace")) > PLACEHOLDER_BYTES:
            check.add(loc, "value", f"a placeholder is blank or over {PLACEHOLDER_BYTES} bytes", "use another")
        elif not isinstance(asset, Mapping):
            check.add(loc, "type", f"must be an object, not {show(asset)}", "send type, format and data_base64")
        elif (source := _asset(asset, loc, parts, check)) is not None:
            if (len(source) if isinstance(source, bytes) else len(source) * 3 // 4) > limit + 64:
                field = f"assets[{name[:80]!r}]"
                raise BodyError("size", f"is larger than {limit:,} bytes", "send a smaller picture", field)
            found[name] = source
    return Assets(found)


def with_data_urls(value: object, kind: str) -> object:
    """A list of media with bare base64 as data URLs, which is how some clients send pictures."""
    if not isinstance(value, list):
        return value
    head = f"data:{kind}/*;base64,"
    return [head + item if isinstance(item, str) and _BASE64.match(item) else item for item in value]


def _asset(asset: Mapping[str, Any], loc: Loc, parts: Mapping[str, bytes], check: Check) -> bytes | str | None:
    if asset.get("type") != "image":
        check.add((*loc, "type"), "value", f'must be "image", not {show(asset.get("type"))}', "send pictures only")
    elif (part := asset.get("part")) is not None:
        if isinstance(part, str) and part in parts:
            return parts[part]
        check.add((*loc, "part"), "value", f"no part is named {show(part)}", "send it as multipart/form-data")
    elif not isinstance(asset.get("format"), str) or asset["format"] not in FORMATS:
        check.add((*loc, "format"), "value", f"is {show(asset.get('format'))}", "use png, jpg or jpeg")
    elif not isinstance(data := asset.get("data_base64"), str):
        check.add(
            (*loc, "data_base64"),
            "missing" if data is None else "value",
            f"must be base64 text, not {show(data)}",
            "encode the file",
        )
    else:
        return f"data:{FORMATS[asset['format']]};base64,{data}"
    return None


def _map(value: Any, change: Any, depth: int) -> Any:
    """Changes every string; keys stay, and so does what is nested too deep to be accepted anyway."""
    if isinstance(value, str):
        return change(value)
    if depth <= MAX_DEPTH and isinstance(value, dict):
        return {key: _map(item, change, depth + 1) for key, item in value.items()}
    if depth <= MAX_DEPTH and isinstance(value, list):
        return [_map(item, change, depth + 1) for item in value]
    return value
