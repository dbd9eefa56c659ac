"""Whole System One requests: state, media, JSON text and records, and what each refusal says."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omniclef.errors import InvalidInput, InvalidRequest
from omniclef.records import (
    MAX_DEPTH,
    Noul,
    Record,
    Video,
    Violation,
    parse_questions,
    parse_request,
    parse_state,
    read_json,
    render,
)

ASK = {"type": "noul", "instructions": "Is it?"}
PNG = "data:image/png;base64,iVBORw0KGgo="


def nested(depth: int) -> Any:
    value: Any = "leaf"
    for _ in range(depth):
        value = [value]
    return value


def issues_of(parse: Callable[[object], object], value: object) -> tuple[InvalidInput, ...]:
    try:
        parse(value)
    except InvalidRequest as error:
        return error.issues
    return ()


# --- state ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["", "text", {}, {"a": [1, 2.5, None, True, {"b": "c"}]}, [], ["x", 1]])
def test_state_is_a_string_an_object_or_an_array(state: object) -> None:
    assert parse_state(state) == state


@pytest.mark.parametrize(
    ("state", "kind", "problem"),
    [
        (None, "missing", "is missing"),
        (3, "text_type", "must be text, not 3 (a number)"),
        (2.5, "text_type", "must be text, not 2.5 (a number)"),
        (True, "text_type", "must be text, not true (a boolean)"),
        (b"bytes", "text_type", "must be text, not a Python bytes"),
    ],
)
def test_other_states_are_refused(state: object, kind: str, problem: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse_state(state)
    (issue,) = caught.value.issues
    assert isinstance(issue, Violation)
    assert (issue.field, issue.kind, issue.problem) == ("state", kind, problem)
    assert issue.remedy == "send a string, an object or an array"
    assert str(caught.value) == f"state: {problem}; send a string, an object or an array"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_numbers_that_are_not_finite_are_refused_where_they_stand(value: float) -> None:
    with pytest.raises(
        InvalidRequest, match=r"^state\.orders\[1\]\.price: is -?(nan|inf), which is not a JSON"
    ):
        parse_state({"orders": [{"price": 1}, {"price": value}]})


def test_nesting_is_allowed_to_the_limit_and_refused_beyond_it() -> None:
    assert parse_state(nested(MAX_DEPTH)) == nested(MAX_DEPTH)
    with pytest.raises(InvalidRequest, match=r"^state: is nested deeper than 64 levels; flatten it"):
        parse_state(nested(MAX_DEPTH + 1))
    with pytest.raises(InvalidRequest, match=r"^questions\.q\.criteria\.a: is nested deeper than 64 levels"):
        parse_questions({"q": {"type": "choice", "criteria": {"a": nested(MAX_DEPTH + 1)}}})


def test_a_circle_is_refused_rather_than_followed() -> None:
    circle: dict[str, Any] = {}
    circle["self"] = circle
    with pytest.raises(InvalidRequest, match="nested deeper"):
        parse_state(circle)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ([{1, 2}], "is a Python set, which is not a JSON value"),
        ([10**5000], "is an integer of 16610 bits, at most 4096 are allowed"),
        ([{1: "x"}], "has the key 1 (a number), which is not a string"),
    ],
)
def test_values_that_json_cannot_hold_are_refused(value: object, problem: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse_state({"a": value})
    assert (caught.value.field, caught.value.problem) == ("state.a[0]", problem)


def test_a_text_cut_inside_an_emoji_is_mended() -> None:
    assert parse_state("cut \ud83d") == "cut \ufffd"
    assert parse_state({"a\udc00": ["\ud83d\ude00", "\ud83d!"]}) == {"a\ufffd": ["😀", "\ufffd!"]}
    assert parse_state("\ufeffa\ud83d") == "\ufeffa\ufffd"


def test_the_state_is_a_copy() -> None:
    sent = {"items": [1]}
    state = parse_state(sent)
    sent["items"].append(2)
    assert state == {"items": [1]}


@settings(deadline=None)
@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(st.characters()), st.lists))
def test_any_json_like_state_is_rendered_or_refused_with_its_field(value: Any) -> None:
    issues = issues_of(parse_state, [value])
    assert all(issue.field.startswith("state[0]") for issue in issues)
    if not issues:
        state = parse_state([value])
        assert json.loads(render(state).encode()) == state


@settings(deadline=None)
@given(st.dictionaries(st.text(), st.text(st.characters(categories=["L", "Cs", "Cc"]))))
def test_rendered_text_can_always_be_encoded(value: dict[str, str]) -> None:
    assert render(value).encode()


def test_render_is_compact_sorted_and_leaves_strings_alone() -> None:
    assert render(' {"b": 1} ') == ' {"b": 1} '
    assert render("cut \ud83d") == "cut \ufffd"
    assert render({"option_id": "é", "description": [1, None]}) == '{"description":[1,null],"option_id":"é"}'


# --- whole requests -------------------------------------------------------------------------------


def test_a_request_is_read() -> None:
    request = parse_request(
        {
            "model": "nano",
            "state": {"ticket": 7},
            "questions": {"q": ASK},
            "images": [PNG, {"content_type": "image/jpeg", "base64": "AAAA"}],
            "audio": ["DATA:audio/wav;base64,AA"],
            "trace": "ignored",
        }
    )
    assert (request.model, request.state, request.questions) == ("nano", {"ticket": 7}, {"q": Noul("Is it?")})
    assert request.images == (PNG, "data:image/jpeg;base64,AAAA")
    assert (request.audio, request.videos) == (("DATA:audio/wav;base64,AA",), ())
    assert parse_request({"state": "", "questions": {"q": ASK}, "images": None}).model is None


def test_all_problems_of_a_request_are_listed_in_its_order() -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse_request(
            {
                "model": 5,
                "questions": {
                    "a": {"type": "choice", "instructions": 3, "criteria": {"x": 1, "y": None, "z": True}},
                    "": ASK,
                    "b": {"type": "what"},
                    "c": {"type": "score", "criteria": [None, "ok", 4]},
                },
                "images": ["photo.png"],
                "videos": "clip",
            }
        )
    assert [issue.field for issue in caught.value.issues] == [
        "model",
        "state",
        "questions.a.instructions",
        "questions.a.criteria.x",
        "questions.a.criteria.z",
        'questions[""]',
        "questions.b.type",
        "questions.c.criteria[0]",
        "questions.c.criteria[2]",
        "images[0]",
        "videos",
    ]
    first = "model: must be a string, not 5 (a number); name a model"
    assert str(caught.value) == f"{first} (and 10 more problems)"
    assert (caught.value.field, caught.value.remedy) == ("model", "name a model")


@pytest.mark.parametrize(
    ("item", "problem", "remedy"),
    [
        (
            "https://example.org/a.png",
            'must be a data URL, not "https://example.org/a.png" (a string)',
            "send data:<type>;base64,<data>; addresses and paths are never opened",
        ),
        (
            "/etc/passwd",
            'must be a data URL, not "/etc/passwd" (a string)',
            "send data:<type>;base64,<data>; addresses and paths are never opened",
        ),
        (
            "data:image/png;base64",
            'must be a data URL, not "data:image/png;base64" (a string)',
            "send data:<type>;base64,<data>; addresses and paths are never opened",
        ),
        (5, "must be a data URL, not 5 (a number)", "send data:<type>;base64,<data>"),
        (
            {"content_type": "image/png"},
            "must have a content_type such as image/png and base64 text",
            "send both as strings",
        ),
        (
            {"content_type": "image/png,x", "base64": "AA"},
            "must have a content_type such as image/png and base64 text",
            "send both as strings",
        ),
        (
            {"content_type": "image/png", "base64": b"AA"},
            "must have a content_type such as image/png and base64 text",
            "send both as strings",
        ),
    ],
)
@pytest.mark.parametrize("field", ["images", "audio", "videos"])
def test_media_that_are_not_embedded_are_refused(field: str, item: object, problem: str, remedy: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse_request({"state": "", "questions": {"q": ASK}, field: [PNG, item]})
    (issue,) = caught.value.issues
    assert (issue.field, issue.problem, issue.remedy) == (f"{field}[1]", problem, remedy)


def test_placeholder_assets_are_refused_rather_than_overlooked() -> None:
    with pytest.raises(
        InvalidRequest, match=r"^assets: placeholders for pictures are not read; send them as im"
    ):
        parse_request({"state": "", "questions": {"q": ASK}, "assets": {"p": {"type": "image"}}})


@pytest.mark.parametrize("body", [None, [], "text", 3])
def test_a_request_is_an_object(body: object) -> None:
    with pytest.raises(InvalidRequest, match=r"^request: must be an object, not "):
        parse_request(body)


@settings(deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(["state", "questions", "type", "criteria", "instructions", "images", "q"]),
                inner,
            )
        ),
        max_leaves=20,
    )
)
def test_any_json_is_read_or_refused(body: Any) -> None:
    assert issues_of(parse_request, body) or parse_request(body).questions


# --- JSON text ------------------------------------------------------------------------------------


def test_json_text_is_read() -> None:
    assert read_json('\ufeff{"a": [1, "é"]}') == {"a": [1, "é"]}
    assert read_json(b'\xef\xbb\xbf{"a": 1}') == {"a": 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": }', "questions.json: is not JSON at line 1, column 7: Expecting value; correct it there"),
        ("", "questions.json: is not JSON at line 1, column 1: Expecting value; correct it there"),
        ('{"a": NaN}', "questions.json: holds NaN, which is not JSON; send finite numbers of ordinary size"),
        (b'{"a": "\xff"}', "questions.json: is not UTF-8 at byte 7; save it as UTF-8"),
        ("[" * 200_000, "questions.json: is nested deeper than 64 levels; flatten it"),
    ],
)
def test_text_that_is_no_json_is_refused(text: str | bytes, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_json(text, "questions.json")
    assert str(caught.value) == message


def test_an_endless_integer_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"^request: .*; send finite numbers of ordinary size$"):
        read_json("1" * 5000)
    with pytest.raises(InvalidRequest, match=r"^state\[0\]: is inf, which is not a JSON number"):
        parse_state(read_json("[1e999]"))


# --- records --------------------------------------------------------------------------------------

FRAME = np.zeros((4, 6, 3), np.uint8)
SOUND = np.zeros(160, np.float32)


def test_a_record_holds_decoded_media() -> None:
    record = Record("s", {"q": Noul("?")}, (FRAME,), (SOUND,), (Video((FRAME, FRAME), audio=SOUND),))
    assert record.videos[0].fps == 2.0
    assert record.images[0] is FRAME


@pytest.mark.parametrize(
    ("media", "message"),
    [
        (
            {"images": (FRAME.astype(np.float32),)},
            r"images\[0\]: must be uint8 \[height, width, 3\], not float32",
        ),
        ({"images": (FRAME, FRAME[..., 0])}, r"images\[1\]: must be uint8 .* not uint8 \[4, 6\]"),
        ({"images": ("a.png",)}, r"images\[0\]: must be uint8 .* not \"a.png\" \(a string\)"),
        ({"images": (FRAME[:0],)}, r"images\[0\]: has no pixels"),
        (
            {"audio": (SOUND.astype(np.float64),)},
            r"audio\[0\]: must be float32 \[samples\], not float64 \[160\]",
        ),
        ({"audio": (SOUND[None],)}, r"audio\[0\]: must be float32 \[samples\], not float32 \[1, 160\]"),
        ({"audio": (SOUND[:0],)}, r"audio\[0\]: has 0 samples"),
        ({"audio": (SOUND + np.nan,)}, r"audio\[0\]: has samples that are not finite"),
        ({"videos": (FRAME,)}, r"videos\[0\]: must be a Video, not uint8 \[4, 6, 3\]"),
        ({"videos": (Video(()),)}, r"videos\[0\]\.frames: has 0 frames"),
        ({"videos": (Video((FRAME,), fps=0),)}, r"videos\[0\]\.fps: is 0, and must be positive"),
        ({"videos": (Video((FRAME, FRAME[0])),)}, r"videos\[0\]\.frames\[1\]: must be uint8"),
        ({"videos": (Video((FRAME,), audio=SOUND[None]),)}, r"videos\[0\]\.audio: must be float32"),
    ],
)
def test_a_record_refuses_other_arrays(media: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidRequest, match="^" + message):
        Record("s", {"q": Noul("?")}, **media)


def test_a_record_refuses_what_a_request_would() -> None:
    with pytest.raises(InvalidRequest, match=r"^state: must be text"):
        Record(5, {"q": Noul("?")})  # type: ignore[arg-type]
    with pytest.raises(InvalidRequest, match=r"^questions: has 0 questions"):
        Record("s", {})
