"""The prompt writer by itself, with words as tokens: pieces, spans, order and what does not fit."""

from __future__ import annotations

import re

import pytest

import omniclef
from omniclef import Choice, Noul, Score
from omniclef.backbones.qwen.prompt import PromptWriter
from omniclef.records import Question, Record

MARK = 7


class Words:
    """A token for each word, each space and each line; ids in order of appearance, apart from one mark."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {"<pic>": MARK}

    def __call__(self, text: str) -> list[int]:
        pieces = re.findall(r"<pic>|\w+|\s|[^\w\s]+", text)
        return [self.known.setdefault(piece, 100 + len(self.known)) for piece in pieces]

    def text(self, tokens: tuple[int, ...]) -> str:
        names = {number: word for word, number in self.known.items()}
        return "".join(names[token] for token in tokens)


QUESTIONS: dict[str, Question] = {
    "refund": Noul("Money back?", {"false": None}),
    "team": Choice({"sales": None, "Billing": {"b": 1, "a": "é"}, "é": "last"}),
    "mood": Score(["bad", ["so", "so"], "good"], {"z": 1, "a": None}),
}

PROMPT = """<|im_start|>system
Read the complete state and schema. Decide every field jointly. Each answer must be exactly one of that field's \
allowed options.<|im_end|>
<|im_start|>user
STATE:
{"a":[1,null],"ü":true}

SCHEMA FIELDS:

FIELD 1
ID: refund
TYPE: noul
INSTRUCTION: Money back?
ALLOWED OPTIONS:
OPTION 1: {"description":"The proposition is true or the answer is yes.","option_id":"true"}
OPTION 2: {"option_id":"false"}
END FIELD

FIELD 2
ID: team
TYPE: choice
INSTRUCTION: team
ALLOWED OPTIONS:
OPTION 1: {"description":{"a":"é","b":1},"option_id":"Billing"}
OPTION 2: {"option_id":"sales"}
OPTION 3: {"description":"last","option_id":"é"}
END FIELD

FIELD 3
ID: mood
TYPE: score
INSTRUCTION: {"a":null,"z":1}
ALLOWED OPTIONS:
OPTION 1: {"description":"bad","option_id":"0"}
OPTION 2: {"description":["so","so"],"option_id":"1"}
OPTION 3: {"description":"good","option_id":"2"}
END FIELD

<|im_end|>
<|im_start|>assistant
<think>

</think>

JOINT SCHEMA DECISIONS:"""


def test_the_prompt_is_the_format_the_weights_know() -> None:
    words = Words()
    prompt = PromptWriter(words, 1000).write(Record({"ü": True, "a": [1, None]}, QUESTIONS))
    assert words.text(prompt.tokens) == PROMPT
    assert prompt.shares.total == len(prompt.tokens)
    assert words.text(prompt.tokens[slice(*prompt.state)]) == '{"a":[1,null],"ü":true}'
    asked = [words.text(prompt.tokens[start:stop]) for start, stop in prompt.questions]
    assert asked == ["Money back?", "team", '{"a":null,"z":1}']
    offered = [words.text(prompt.tokens[start:stop]) for start, stop in prompt.options]
    # In request order, although the prompt has the choice sorted.
    assert offered[2:5] == [
        '{"option_id":"sales"}',
        '{"description":{"a":"é","b":1},"option_id":"Billing"}',
        '{"description":"last","option_id":"é"}',
    ]
    assert prompt.owners == (0, 0, 1, 1, 1, 2, 2, 2)
    assert prompt.types == (0, 1, 2)


def test_media_stand_before_the_state() -> None:
    words = Words()
    record = Record("state", QUESTIONS)
    plain = PromptWriter(words, 1000).write(record)
    prompt = PromptWriter(words, 1000).write(record, [MARK] * 5)
    assert prompt.shares.media == 5
    assert prompt.tokens[prompt.state[0] - 5 : prompt.state[0]] == (MARK,) * 5
    assert [(start - 5, stop - 5) for start, stop in prompt.options] == list(plain.options)


def test_requests_that_do_not_fit_are_refused_with_each_parts_share() -> None:
    writer = PromptWriter(Words(), 400)
    fixed = writer.write(Record("", QUESTIONS)).shares
    room = 400 - fixed.total - 4
    long = "x " * room
    with pytest.raises(omniclef.TooLong) as caught:
        writer.write(Record(long, QUESTIONS), [MARK] * 4)
    assert (caught.value.limit, caught.value.tokens) == (400, 400 + room)
    assert sum(caught.value.parts.values()) == caught.value.tokens
    assert str(caught.value) == (
        f"request: {400 + room} tokens, the window is 400 (state {2 * room}, media 4, questions {fixed.schema}, "
        f"fixed text {fixed.frame}); shorten the state by {room} tokens, "
        'or pass truncate="state" to have its end cut off'
    )
    cut = writer.write(Record(long, QUESTIONS), [MARK] * 4, truncate=True)
    assert (len(cut.tokens), cut.dropped, cut.shares.state) == (400, room, room)
    with pytest.raises(omniclef.InvalidInput, match="leave out 10 tokens of media or questions"):
        writer.write(Record("x", QUESTIONS), [MARK] * (400 - fixed.total + 10), truncate=True)


def test_a_mark_in_a_text_is_refused() -> None:
    writer = PromptWriter(Words(), 1000, {MARK: "<pic>"})
    with pytest.raises(omniclef.InvalidInput, match="state: holds <pic>"):
        writer.write(Record("a <pic>", QUESTIONS))
    with pytest.raises(omniclef.InvalidInput, match="questions: holds <pic>"):
        writer.write(Record("a", {"<pic>": Noul("Is it?")}))


def test_anonymous_questions_are_numbered_and_ask_with_their_options() -> None:
    words = Words()
    prompt = PromptWriter(words, 1000, ids="anonymous").write(Record("", QUESTIONS))
    text = words.text(prompt.tokens)
    assert "ID: Q2\nTYPE: choice\nINSTRUCTION: sales / " in text
    assert "team" not in text
    assert "INSTRUCTION: Money back?\n" in text
