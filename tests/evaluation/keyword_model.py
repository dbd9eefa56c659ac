"""A real, very small decision model: an option is as likely as the words it shares with the state.

It reads the first picture's colour and the presence of sound as words too: every kind of suite can run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from omniclef.answers import Decision, Usage, answer, softmax
from omniclef.errors import InvalidInput
from omniclef.records import Question, Record, render


@dataclass(frozen=True)
class Info:
    name: str = "keywords"
    digest: str = "k1"
    families: tuple[str, ...] = ("sms_spam",)


class KeywordModel:
    """``refuses``: a word that it cannot read. ``calls`` and ``states`` tell what it was asked, and how."""

    def __init__(self, refuses: str | None = None, info: Info | None = None) -> None:
        self.info = info or Info()
        self.refuses = refuses
        self.calls: list[str] = []
        self.states = 0
        self.records: list[Record] = []

    def decide_many(self, states: Sequence[Any], questions: Mapping[str, Question]) -> list[Decision]:
        self.calls.append("many")
        return [self._decide(render(state), questions) for state in states]

    def decide_records(self, records: Sequence[Record]) -> list[Decision]:
        self.calls.append("records")
        self.records += records
        return [self._decide(render(r.state) + " " + _heard_and_seen(r), r.questions) for r in records]

    def _decide(self, text: str, questions: Mapping[str, Question]) -> Decision:
        if self.refuses is not None and self.refuses in text:
            raise InvalidInput("state", f"holds {self.refuses!r}", "leave it out")
        self.states += 1
        words = _words(text)
        answers = {}
        for name, question in questions.items():
            asked = _words(render(question.instructions or ""))
            overlaps = []
            for option in question.options():
                described = _words(option.key) | _words(option.text or "")
                if option.key == "true" and question.type == "noul":
                    described = asked
                overlaps.append(2.0 * len(words & described))
            answers[name] = answer(question, softmax(overlaps))
        return Decision(self.info.name, answers, Usage(len(words)))


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z0-9]+", text.lower()))


def _heard_and_seen(record: Record) -> str:
    seen = []
    if record.images:
        red, green, blue = record.images[0].mean(axis=(0, 1))
        seen.append("automobile" if red > max(green, blue) else "frog" if green > blue else "airplane")
    seen += ["sound" for video in record.videos if video.audio is not None]
    return " ".join([*seen, *("orderDrink mocha" for _ in record.audio)])
