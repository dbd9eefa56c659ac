"""Everything that can go wrong for a caller, as one small family of exceptions.

Knows nothing of HTTP, files or tensors. Each error is one line of text that names the field, the limit, the
value and the remedy, so that a command line can print it and a server can put it in a body as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = [
    "InvalidInput",
    "InvalidRequest",
    "MediaError",
    "MissingExtra",
    "ModelNotFound",
    "OmniclefError",
    "TooLong",
]


class OmniclefError(Exception):
    """Base of every error that omniclef raises on purpose. Can be pickled, to be raised in another process."""

    def __reduce__(self) -> tuple[Any, ...]:
        # The default calls the class with ``args``, which is the message alone, not what ``__init__`` was given.
        return _rebuilt, (type(self), self.args, self.__dict__)


class InvalidInput(OmniclefError, ValueError):
    """A request breaks a rule.

    Attributes:
        field: path of the offending field, as ``questions.team.criteria``.
        problem: what is wrong, with the value and the limit.
        remedy: what to do about it; may be empty.
    """

    def __init__(self, field: str, problem: str, remedy: str = "") -> None:
        self.field = field
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"{field}: {problem}" + (f"; {remedy}" if remedy else ""))


class InvalidRequest(InvalidInput):
    """A request breaks one rule or several.

    ``field``, ``problem`` and ``remedy`` are those of the first one, for whoever shows a single line.

    Attributes:
        issues: every broken rule, in the order of the request; at least one.
    """

    def __init__(self, issues: Sequence[InvalidInput]) -> None:
        self.issues = tuple(issues)
        first, others = self.issues[0], len(self.issues) - 1
        super().__init__(first.field, first.problem, first.remedy)
        if others:
            self.args = (f"{first} (and {others} more problem{'s' if others > 1 else ''})",)


class MediaError(InvalidInput):
    """An image, a clip or a sound cannot be read, or asks for more than its budget."""


class TooLong(InvalidInput):
    """A request has more tokens than the model's window.

    Attributes:
        limit: tokens of the window.
        tokens: tokens of the request.
        parts: tokens of each part of the request, as ``{"state": 900, "questions": 120}``; they add up to ``tokens``.
    """

    def __init__(
        self, field: str, problem: str, remedy: str = "", *, limit: int, tokens: int, parts: Mapping[str, int]
    ) -> None:
        self.limit = limit
        self.tokens = tokens
        self.parts = dict(parts)
        super().__init__(field, problem, remedy)


class ModelNotFound(OmniclefError):
    """No model has this name, and no folder is there either."""


class MissingExtra(OmniclefError, ImportError):
    """A feature needs an optional part of the package that is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        self.extra = extra
        super().__init__(f"{feature} needs the extra [{extra}]; install it with: pip install 'omniclef[{extra}]'")


def _rebuilt(kind: type[OmniclefError], args: tuple[Any, ...], attributes: dict[str, Any]) -> OmniclefError:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(attributes)
    return error
