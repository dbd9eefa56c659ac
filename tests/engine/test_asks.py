"""Errors cross from one process to another whole."""

from __future__ import annotations

import pickle

import pytest

from omniclef.engine.asks import Draining, Expired, Failed, Overloaded, WorkerLost
from omniclef.errors import (
    InvalidInput,
    InvalidRequest,
    MediaError,
    MissingExtra,
    ModelNotFound,
    OmniclefError,
    TooLong,
)
from omniclef.records import Violation

ERRORS = [
    InvalidInput("state", "is a number", "send text"),
    MediaError("images[0]", "is damaged"),
    InvalidRequest([Violation(("questions", "a"), "type", "must be an object", "map"), InvalidInput("b", "c")]),
    TooLong("request", "9 tokens", "shorten", limit=5, tokens=9, parts={"state": 8, "questions": 1}),
    MissingExtra("serving", "serve"),
    ModelNotFound("no such model"),
    Overloaded(10, 5, 1.5),
    WorkerLost("gone", 0.5),
    Expired("late"),
    Draining("stopping", 1.0),
    Failed("broken"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_is_the_same_after_pickling(error: OmniclefError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    if isinstance(error, InvalidRequest):
        assert [str(issue) for issue in again.issues] == [str(issue) for issue in error.issues]
    else:
        assert vars(again) == vars(error)
