"""Typed decisions from text, images, sound and video in one pass, with honest probabilities.

>>> import omniclef
>>> model = omniclef.load("nano")
>>> refund = omniclef.Noul("Does the customer ask for money back?")
>>> decision = model.decide("I want my money back.", {"refund": refund})
>>> decision.answers["refund"].noul > 0.5
True
"""

from typing import TYPE_CHECKING, Any

from omniclef.answers import Answer, ChoiceAnswer, Decision, Evidence, NoulAnswer, ScoreAnswer, Usage
from omniclef.errors import (
    InvalidInput,
    InvalidRequest,
    MediaError,
    MissingExtra,
    ModelNotFound,
    OmniclefError,
    TooLong,
)
from omniclef.records import Choice, Noul, Question, Record, Request, Score, Video, parse_request

if TYPE_CHECKING:
    from omniclef.model import DecisionModel, ModelInfo, load

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "Choice",
    "ChoiceAnswer",
    "Decision",
    "DecisionModel",
    "Evidence",
    "InvalidInput",
    "InvalidRequest",
    "MediaError",
    "MissingExtra",
    "ModelInfo",
    "ModelNotFound",
    "Noul",
    "NoulAnswer",
    "OmniclefError",
    "Question",
    "Record",
    "Request",
    "Score",
    "ScoreAnswer",
    "TooLong",
    "Usage",
    "Video",
    "load",
    "parse_request",
]


def __getattr__(name: str) -> Any:
    # Models bring their runtime, which a process that only decodes media or checks requests has no use for.
    if name in ("DecisionModel", "ModelInfo", "load"):
        from omniclef import model

        return getattr(model, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
