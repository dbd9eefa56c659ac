"""Everything that can go wrong for a caller, as one small family of exceptions.

Knows nothing of HTTP, files or tensors. Each error is one line of text that names the field, the limit, the
value and the remedy, so that a command line can print it and a server can put it in a body as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["InvalidInput", "InvalidRequest", "MediaError", "MissingExtra", "ModelNotFound", "OmniclefError"]


class OmniclefError(Exception):
    """Base of every error that omniclef raises on purpose."""


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


class ModelNotFound(OmniclefError):
    """No model has this name, and no folder is there either."""


class MissingExtra(OmniclefError, ImportError):
    """A feature needs an optional part of the package that is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        self.extra = extra
        super().__init__(f"{feature} needs the extra [{extra}]; install it with: pip install 'omniclef[{extra}]'")
