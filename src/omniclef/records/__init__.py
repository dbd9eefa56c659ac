"""What was asked: the System One request, its rules and limits, and `Record`, a request with decoded media.

Knows nothing of HTTP, files, tensors or models. Everything a caller sends is checked where it becomes one of
these types; `InvalidRequest` then lists every broken rule, each with its field, value, limit and remedy.
"""

from omniclef.records.questions import (
    MAX_LEVELS,
    MAX_OPTIONS,
    NOUL_DEFAULTS,
    Choice,
    Noul,
    Option,
    Question,
    Score,
    parse_questions,
)
from omniclef.records.request import Record, Request, Source, Video, parse_request, parse_state
from omniclef.records.values import MAX_DEPTH, TextLike, Violation, media_kind, read_json, render

__all__ = [
    "MAX_DEPTH",
    "MAX_LEVELS",
    "MAX_OPTIONS",
    "NOUL_DEFAULTS",
    "Choice",
    "Noul",
    "Option",
    "Question",
    "Record",
    "Request",
    "Score",
    "Source",
    "TextLike",
    "Video",
    "Violation",
    "media_kind",
    "parse_questions",
    "parse_request",
    "parse_state",
    "read_json",
    "render",
]
