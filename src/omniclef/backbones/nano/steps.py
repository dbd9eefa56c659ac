"""What has to come first: of options that say what they need and what they give, as tools do, one that needs a token
waits for the one that gives it.

Knows structured descriptions and plain JSON; knows nothing of encoders or probabilities.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from omniclef.backbones.nano.pieces import INPUTS, OUTPUTS, TOOLS, humanise, speaker
from omniclef.records import Option, TextLike

__all__ = ["Needs", "known_names"]

ASSISTANTS = frozenset(["ai", "assistant", "bot", "agent", "system"])
"""Who may ask for a name without giving its value."""

OPAQUE = frozenset(["id", "ids", "token", "key", "session", "handle", "uuid", "guid", "cookie", "credential", "cursor"])
"""Last words of names whose values only a system can give: a date or a place is as likely in the request itself."""

_PLAIN = re.compile(r"[^a-z0-9]+")


class Needs:
    """Which options of a question give what others need, by the names of their inputs and outputs."""

    def __init__(self, options: Sequence[Option]) -> None:
        needed = [_declared(option.description, INPUTS) for option in options]
        given = [_declared(option.description, OUTPUTS) for option in options]
        texts = [f" {_plain(humanise(option.key))} {_plain(_told_of(option.description))} " for option in options]
        shared = set().union(*needed) & set().union(*given)
        self._givers: dict[str, npt.NDArray[np.bool_]] = {}
        self._takers: dict[str, npt.NDArray[np.bool_]] = {}
        for name in sorted(name for name in shared if name.split()[-1] in OPAQUE):
            # What both takes and returns a token, as a check of it does, is not where tokens come from.
            makes = np.array([name in g and name not in n for g, n in zip(given, needed, strict=True)])
            # Signing up gives a token as signing in does, but what it is for is what its own words say.
            meant = makes & np.array([f" {name} " in text for text in texts])
            makes = meant if meant.any() else makes
            if makes.any():
                self._givers[name] = makes
                self._takers[name] = np.array([name in names for names in needed])

    @property
    def names(self) -> frozenset[str]:
        """What some option gives and another needs."""
        return frozenset(self._givers)

    def __bool__(self) -> bool:
        return bool(self._givers)

    def __call__(self, known: Mapping[str, bool]) -> npt.NDArray[np.bool_] | None:
        """[O, O], True at (i, j) where i has to leave the turn to j: j gives what i needs and nobody has named yet, or
        i has given already what j needs.

        Args:
            known: of ``known_names``.
        """
        first: npt.NDArray[np.bool_] | None = None
        for name, makes in self._givers.items():
            takes = self._takers[name]
            pairs = takes[:, None] & makes if name not in known else makes[:, None] & takes if known[name] else None
            if pairs is not None:
                first = pairs if first is None else first | pairs
        return first


def known_names(state: TextLike, names: frozenset[str]) -> dict[str, bool]:
    """Those of ``names`` that have a value somewhere in the state: True where a field has it, False where a person
    says it."""
    fields, said = set(), []
    for name, text in _told(state):
        if name is not None:
            fields.add(name)
        if text is not None:
            said.append(_plain(text))
    spoken = f" {' '.join(said)} "
    return {name: name in fields for name in names if name in fields or f" {name} " in spoken}


def _told(value: Any, aloud: bool = True) -> Iterator[tuple[str | None, str | None]]:
    """(field name, None) of every field with a value, and (None, text) of what people say."""
    if isinstance(value, Mapping):
        aloud = aloud and speaker(value) not in TOOLS | ASSISTANTS
        for key, inner in value.items():
            if inner not in (None, "", [], {}):
                yield _plain(humanise(key)), None
                yield from _told(inner, aloud)
    elif isinstance(value, list):
        for inner in value:
            yield from _told(inner, aloud)
    elif isinstance(value, str) and aloud:
        yield None, value


def _told_of(description: Any) -> str:
    told = description.get("description") if isinstance(description, Mapping) else description
    return told if isinstance(told, str) else ""


def _declared(description: Any, fields: Sequence[str]) -> frozenset[str]:
    """Names of inputs or outputs: of a list of names, or the keys of an object."""
    if not isinstance(description, Mapping):
        return frozenset()
    found: set[str] = set()
    for field in fields:
        value = description.get(field)
        if isinstance(value, Mapping):
            inner = value.get("properties")  # JSON schema keeps the names one level down
            found.update(map(str, inner if isinstance(inner, Mapping) else value))
        elif isinstance(value, list):
            found.update(item for item in value if isinstance(item, str))
    return frozenset(plain for name in found if (plain := _plain(humanise(name))))


def _plain(text: str) -> str:
    return _PLAIN.sub(" ", text.lower()).strip()
