"""Easy questions that any state answers: company for the real ones, which must not be disturbed by it."""

from __future__ import annotations

from typing import Any

from omniclef.records import render
from omniclef.training.corpus.reading import Label, Wire, choice, noul, score

__all__ = ["companions"]

LENGTHS = ("a few words", "one or two sentences", "a longer text")


def companions(state: Any) -> dict[str, tuple[Wire, Label]]:
    """By question id: length, question marks and digits of the text, and who spoke last in a talk."""
    text = render(state)
    words = len(text.split())
    tasks: dict[str, tuple[Wire, Label]] = {
        "length": (score("How long is the text?", LENGTHS), 0 if words < 6 else 1 if words < 40 else 2),
        "asks": (noul("Does the text contain a question mark?"), "?" in text),
        "digits": (noul("Does the text contain a number?"), any(map(str.isdigit, text))),
    }
    turns = state if isinstance(state, list) else []
    speakers = [str(turn["role"]) for turn in turns if isinstance(turn, dict) and "role" in turn]
    if speakers and len(speakers) == len(turns):
        options = sorted({"user", "assistant", *speakers})
        tasks["speaker"] = (choice("Who spoke last?", options), speakers[-1])
    return tasks
