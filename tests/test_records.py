"""The three question types: what is accepted, how examples are split off, and what each refusal says."""

from __future__ import annotations

from typing import Any

import pytest

from omniclef.errors import InvalidRequest
from omniclef.records import (
    NOUL_DEFAULTS,
    Choice,
    Noul,
    Score,
    Violation,
    media_kind,
    parse_questions,
)

ASK = {"type": "noul", "instructions": "Is it?"}
PNG = "data:image/png;base64,iVBORw0KGgo="


def refused(questions: object) -> list[Violation]:
    with pytest.raises(InvalidRequest) as caught:
        parse_questions(questions)
    return [issue for issue in caught.value.issues if isinstance(issue, Violation)]


# --- accepted -------------------------------------------------------------------------------------


def test_questions_keep_their_order_and_any_id() -> None:
    ids = ["z", "a", "with space", "한글", "🎯", "a.b", "x" * 500]
    assert list(parse_questions({key: ASK for key in ids})) == ids


def test_a_noul_takes_default_descriptions() -> None:
    true, false = Noul("Is it?").options()
    assert (true.key, true.description, true.text) == ("true", NOUL_DEFAULTS["true"], NOUL_DEFAULTS["true"])
    assert (false.key, false.description, false.text) == (
        "false",
        NOUL_DEFAULTS["false"],
        NOUL_DEFAULTS["false"],
    )
    assert NOUL_DEFAULTS == {
        "true": "The proposition is true or the answer is yes.",
        "false": "The proposition is false or the answer is no.",
    }


def test_one_sided_noul_criteria_keep_the_other_default_and_null_drops_it() -> None:
    (question,) = parse_questions({"q": {"type": "noul", "criteria": {"true": "paid", "maybe": 3}}}).values()
    assert [option.description for option in question.options()] == ["paid", NOUL_DEFAULTS["false"]]
    assert question.criteria == {"true": "paid"}
    dropped = Noul(criteria={"false": None, "true": "paid"}).options()
    assert [(option.key, option.description, option.text) for option in dropped] == [
        ("true", "paid", "paid"),
        ("false", None, None),
    ]


@pytest.mark.parametrize("instructions", [None, ""])
def test_absent_null_and_empty_instructions_are_the_same(instructions: str | None) -> None:
    assert Choice({"a": None}, instructions).instructions is None
    assert Score(["low"], instructions) == Score(["low"])
    assert Noul(instructions, {"true": "paid"}) == Noul(criteria={"true": "paid"})


def test_texts_may_be_structured_everywhere() -> None:
    shape = {"rule": ["a", {"b": 1}]}
    questions = parse_questions(
        {
            "n": {"type": "noul", "instructions": shape, "criteria": {"true": shape, "false": ["x"]}},
            "c": {"type": "choice", "instructions": [shape], "criteria": {"one": shape, "two": None}},
            "s": {"type": "score", "instructions": shape, "criteria": [shape, ["y"], "z"]},
        }
    )
    assert [option.text for option in questions["n"].options()] == ['{"rule":["a",{"b":1}]}', '["x"]']
    assert [option.text for option in questions["c"].options()] == ['{"rule":["a",{"b":1}]}', None]
    assert [option.key for option in questions["s"].options()] == ["0", "1", "2"]
    assert questions["s"].criteria == [shape, ["y"], "z"]


def test_one_option_and_one_level_and_the_full_limits_are_accepted() -> None:
    assert len(Choice({"only": None}).options()) == 1
    assert len(Score(["only"]).options()) == 1
    assert len(Choice({str(i): None for i in range(255)}).options()) == 255
    assert len(Score([str(i) for i in range(10)]).options()) == 10


def test_unknown_keys_inside_a_question_are_ignored() -> None:
    assert parse_questions({"q": {**ASK, "temperature": 0.5}}) == {"q": Noul("Is it?")}


def test_question_objects_and_wire_objects_mix() -> None:
    choice = Choice({"b": "B", "a": None}, "Which?")
    assert parse_questions({"x": choice, "y": ASK}) == {"x": choice, "y": Noul("Is it?")}
    assert [option.key for option in choice.options()] == ["b", "a"]
    assert [question.type for question in (Noul("?"), choice, Score(["l"]))] == ["noul", "choice", "score"]


# --- examples -------------------------------------------------------------------------------------


def test_a_structured_description_is_split_into_text_and_examples() -> None:
    described = {"description": "payments", "examples": ["charged twice", {"a": 1}, PNG, "", None, 7]}
    (option,) = Choice({"billing": described}).options()
    assert option.text == "payments"
    assert option.examples == ("charged twice", '{"a":1}', PNG, "7")
    assert option.description == described


@pytest.mark.parametrize(
    ("description", "text", "examples"),
    [
        ({"description": "payments"}, "payments", ()),
        ({"examples": ["x"]}, None, ("x",)),
        ({"description": None, "examples": ["x"]}, None, ("x",)),
        ({"name": "pay", "description": "p", "examples": ["x"]}, '{"description":"p","name":"pay"}', ("x",)),
        ({"description": {"b": 1, "a": 2}, "examples": []}, '{"a":2,"b":1}', ()),
        ({"description": "p", "examples": None}, "p", ()),
        ({"description": "p", "examples": "one"}, '{"description":"p","examples":"one"}', ()),
        (["p", "q"], '["p","q"]', ()),
        ({}, None, ()),
        ("", None, ()),
    ],
)
def test_split_of_descriptions(description: Any, text: str | None, examples: tuple[str, ...]) -> None:
    (option,) = Choice({"key": description}).options()
    assert (option.text, option.examples) == (text, examples)


def test_levels_and_noul_sides_take_examples_too() -> None:
    (level,) = Score([{"description": "calm", "examples": ["fine"]}]).options()
    assert (level.key, level.text, level.examples) == ("0", "calm", ("fine",))
    true, false = Noul(
        criteria={"true": {"examples": ["yes!"]}, "false": {"description": None, "examples": ["no"]}}
    ).options()
    assert (true.text, true.examples) == (NOUL_DEFAULTS["true"], ("yes!",))
    assert (false.text, false.examples) == (None, ("no",))


def test_media_kind_reads_data_urls_only() -> None:
    assert media_kind(PNG) == "image"
    assert media_kind("DATA:Audio/wav;base64,AA") == "audio"
    assert media_kind("data:video/mp4,AA") == "video"
    assert media_kind("data:text/plain,hello") is None
    assert media_kind("see data:image/png;base64,AA") is None
    assert media_kind("data:image/png without a comma") is None


# --- refused --------------------------------------------------------------------------------------

TEXT = "send a string, an object or an array"
TYPES = "use noul, choice or score"
SHAPE = 'send {"type": "noul", "instructions": …}'
NEITHER, ADD = "has neither instructions nor criteria", "add instructions"
SIDES = "describe true, false or both in it"
MAP = "map each option's name to its description, or to null"
LEVELS = "list the levels, lowest first"
REFUSALS: list[tuple[object, str, str, str, str]] = [
    # question, field under questions, kind, problem, remedy
    (3, "q", "type", "must be an object, not 3 (a number)", SHAPE),
    ([], "q", "type", "must be an object, not an array", SHAPE),
    ({"instructions": "?"}, "q.type", "missing_type", "is missing", TYPES),
    ({"type": "box", "instructions": "?"}, "q.type", "unknown_type", 'is "box" (a string)', TYPES),
    ({"type": ["noul"]}, "q.type", "unknown_type", "is an array", TYPES),
    ({"type": "noul"}, "q", "no_instructions", NEITHER, ADD),
    ({"type": "noul", "instructions": ""}, "q", "no_instructions", NEITHER, ADD),
    ({"type": "noul", "criteria": {"true": None}}, "q", "no_instructions", NEITHER, ADD),
    ({"type": "noul", "criteria": {}}, "q", "no_instructions", NEITHER, ADD),
    (
        {"type": "noul", "criteria": "yes"},
        "q.criteria",
        "type",
        'must be an object, not "yes" (a string)',
        SIDES,
    ),
    (
        {"type": "noul", "criteria": {"true": 1}},
        "q.criteria.true",
        "text_type",
        "must be text, not 1 (a number)",
        TEXT,
    ),
    (
        {"type": "noul", "criteria": {"false": False}},
        "q.criteria.false",
        "text_type",
        "must be text, not false (a boolean)",
        TEXT,
    ),
    (
        {"type": "noul", "instructions": 5},
        "q.instructions",
        "text_type",
        "must be text, not 5 (a number)",
        TEXT,
    ),
    (
        {"type": "choice", "instructions": True, "criteria": {"a": None}},
        "q.instructions",
        "text_type",
        "must be text, not true (a boolean)",
        TEXT,
    ),
    (
        {"type": "score", "instructions": 1.5, "criteria": ["a"]},
        "q.instructions",
        "text_type",
        "must be text, not 1.5 (a number)",
        TEXT,
    ),
    ({"type": "choice"}, "q.criteria", "missing", "is missing", "name an option"),
    ({"type": "choice", "criteria": None}, "q.criteria", "missing", "is missing", "name an option"),
    (
        {"type": "choice", "criteria": {}},
        "q.criteria",
        "too_short",
        "has 0 options, at least 1 is needed",
        "name an option",
    ),
    ({"type": "choice", "criteria": ["a"]}, "q.criteria", "type", "must be an object, not an array", MAP),
    (
        {"type": "choice", "criteria": {"a": 1}},
        "q.criteria.a",
        "text_type",
        "must be text, not 1 (a number)",
        TEXT,
    ),
    (
        {"type": "choice", "criteria": {"a": True}},
        "q.criteria.a",
        "text_type",
        "must be text, not true (a boolean)",
        TEXT,
    ),
    (
        {"type": "choice", "criteria": {1: None}},
        "q.criteria.1",
        "type",
        "a name must be a string, not 1 (a number)",
        "use a string",
    ),
    (
        {"type": "choice", "criteria": {"\ud83d": None}},
        'q.criteria["\\ud83d"]',
        "value",
        "the name holds half a surrogate pair",
        "use whole Unicode characters",
    ),
    (
        {"type": "choice", "criteria": {str(i): None for i in range(256)}},
        "q.criteria",
        "too_many",
        "has 256 options, at most 255 are allowed",
        "merge options, or ask in two steps",
    ),
    ({"type": "score"}, "q.criteria", "missing", "is missing", LEVELS),
    (
        {"type": "score", "criteria": []},
        "q.criteria",
        "too_short",
        "has 0 levels, at least 1 is needed",
        "describe a level",
    ),
    (
        {"type": "score", "criteria": {"0": "low"}},
        "q.criteria",
        "type",
        "must be an array of levels, not an object",
        LEVELS,
    ),
    (
        {"type": "score", "criteria": "low"},
        "q.criteria",
        "type",
        'must be an array of levels, not "low" (a string)',
        LEVELS,
    ),
    (
        {"type": "score", "criteria": ["low", None]},
        "q.criteria[1]",
        "text_type",
        "must be text, not null",
        TEXT,
    ),
    (
        {"type": "score", "criteria": ["low", 2]},
        "q.criteria[1]",
        "text_type",
        "must be text, not 2 (a number)",
        TEXT,
    ),
    (
        {"type": "score", "criteria": [False]},
        "q.criteria[0]",
        "text_type",
        "must be text, not false (a boolean)",
        TEXT,
    ),
    (
        {"type": "score", "criteria": ["x"] * 11},
        "q.criteria",
        "too_many",
        "has 11 levels, at most 10 are allowed",
        "merge neighbouring levels",
    ),
]


@pytest.mark.parametrize(("question", "field", "kind", "problem", "remedy"), REFUSALS)
def test_each_refusal_names_field_problem_and_remedy(
    question: object, field: str, kind: str, problem: str, remedy: str
) -> None:
    (issue,) = refused({"q": question})
    assert issue.field == f"questions.{field}"
    assert (issue.kind, issue.problem, issue.remedy) == (kind, problem, remedy)
    assert str(issue) == f"questions.{field}: {problem}; {remedy}"
    assert "\n" not in str(issue)


@pytest.mark.parametrize(
    ("questions", "field", "kind", "problem", "remedy"),
    [
        (None, "questions", "missing", "is missing", "ask a question"),
        ({}, "questions", "too_short", "has 0 questions, at least 1 is needed", "ask a question"),
        ([ASK], "questions", "type", "must be an object, not an array", "map ids to questions"),
        ({"": ASK}, 'questions[""]', "empty_id", "a question's id is empty", "give it a name"),
        ({7: ASK}, "questions.7", "type", "a name must be a string, not 7 (a number)", "use a string"),
        (
            {"\udc00": ASK},
            'questions["\\udc00"]',
            "value",
            "the name holds half a surrogate pair",
            "use whole Unicode characters",
        ),
    ],
)
def test_the_map_of_questions_has_rules_too(
    questions: object, field: str, kind: str, problem: str, remedy: str
) -> None:
    (issue,) = refused(questions)
    assert (issue.field, issue.kind, issue.problem, issue.remedy) == (field, kind, problem, remedy)


def test_question_objects_are_checked_when_made() -> None:
    with pytest.raises(
        InvalidRequest, match=r"^criteria: has 0 options, at least 1 is needed; name an option$"
    ):
        Choice({})
    with pytest.raises(InvalidRequest, match=r"^request: has neither instructions nor criteria"):
        Noul()


def test_paths_quote_odd_ids_and_stay_on_one_line() -> None:
    (dotted, broken, long) = refused({"a.b": 1, "line\nbreak": 1, "y" * 500: 1})
    assert (dotted.field, dotted.loc) == ('questions["a.b"]', ("questions", "a.b"))
    assert broken.field == 'questions["line\\nbreak"]'
    assert len(long.field) < 110
    (hangul,) = refused({"한글": {"type": "score", "criteria": [1]}})
    assert hangul.field == "questions.한글.criteria[0]"
    assert hangul.loc == ("questions", "한글", "criteria", 0)


def test_long_values_are_cut_in_messages() -> None:
    (issue,) = refused({"q": {"type": "t" * 5000}})
    assert len(str(issue)) < 150
