"""The wires as pure functions: a body to an ask, an answer to a body, an error to a reply."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from omniclef.answers import Decision, Evidence, Usage, answer
from omniclef.backbones.base import TokenCount
from omniclef.engine import Answered, Draining, Expired, Failed, Overloaded, Timings, WorkerLost
from omniclef.errors import MediaError, ModelNotFound, OmniclefError, TooLong
from omniclef.server.access import Foreign
from omniclef.server.bodies import Body, BodyError
from omniclef.server.catalogue import Catalogue
from omniclef.server.wires import Asked, Call, Decisions, OpenRouter, SystemOne, Terms, Wire, WorkersAI
from omniclef.server.wires.base import Denied, NoRoute, RateLimited, Reply

CATALOGUE = Catalogue(["nano", "mine"], dict)
ID = "0123456789abcdef0123456789abcdef"
UUID = "01234567-89ab-cdef-0123-456789abcdef"
CALL = Call(ID, "tenant", "@cf/cloudflare/clef-omni")
SYSTEM_ONE, WORKERS_AI = SystemOne(CATALOGUE), WorkersAI(CATALOGUE)
DECISIONS, OPENROUTER = Decisions(CATALOGUE), OpenRouter(CATALOGUE)
WIRES: tuple[Wire, ...] = (SYSTEM_ONE, WORKERS_AI, DECISIONS, OPENROUTER)

NOUL = {"type": "noul", "instructions": "?"}
CHOICE = {"type": "choice", "instructions": "?", "criteria": {"a": None, "b": "B"}}
SCORE = {"type": "score", "instructions": "?", "criteria": ["low", {"x": 1}, "high"]}
QUESTIONS = {"n": NOUL, "c": CHOICE, "s": SCORE}


def body(**fields: Any) -> Body:
    return Body({"model": "jev-latest", "state": "x", "questions": QUESTIONS, **fields})


def refused(wire: Wire, sent: Body) -> Reply:
    with pytest.raises(OmniclefError) as caught:
        wire.parse(sent, CALL)
    return wire.fail(caught.value, CALL)


def answered(asked: Asked, *, dropped: int = 0, cached: int = 0) -> Answered:
    """Thirds for every question, which is where rounding shows."""
    shares = {2: (2 / 3, 1 / 3), 3: (1 / 3, 1 / 3, 1 / 3)}
    questions = asked.ask.request.questions
    answers = {
        key: answer(question, shares[len(question.options())], asked.ask.confidence)
        for key, question in questions.items()
    }
    found = {"n": {"true": [Evidence("text", 0, (0, 1), 0.5, "x")]}} if asked.ask.evidence else None
    usage = Usage(10, 0, dropped, cached)
    count = len(asked.ask.states) or 1
    decision = Decision("nano", answers, usage, found)
    return Answered((decision,) * count, TokenCount(7, 3), Timings(0.001, 0.002, 0.003, 0.006), "digest")


def test_system_one_answers_sum_to_one_in_decimals() -> None:
    asked = SYSTEM_ONE.parse(body(), CALL)
    assert (asked.ask.model, asked.ask.tenant, asked.ask.truncate) == ("nano", "tenant", None)
    shown = SYSTEM_ONE.show(asked, answered(asked), CALL)
    assert list(shown)[:3] == ["model", "answers", "usage"]
    assert shown["model"] == "nano"
    assert shown["answers"]["n"] == {"type": "noul", "noul": 0.6667}
    assert shown["answers"]["c"] == {
        "type": "choice",
        "choice": "a",
        "confidence": 0.3333,
        "probabilities": {"a": 0.6667, "b": 0.3333},
    }
    assert shown["answers"]["s"] == {
        "type": "score",
        "score": 1.0,
        "confidence": 0.0,
        "legend": {"0": "low", "1": {"x": 1}, "2": "high"},
        "probabilities": {"0": 0.3334, "1": 0.3333, "2": 0.3333},
    }
    assert shown["usage"] == {"input_tokens": 10, "output_tokens": 0}
    assert shown["x_tokens"] == {"text": 7, "image": 3, "audio": 0, "video": 0}
    assert shown["x_timings"] == {"decode_ms": 1.0, "queue_ms": 2.0, "run_ms": 3.0, "total_ms": 6.0}
    assert shown["x_model_digest"] == "digest"
    assert not {"x_evidence", "x_answers", "x_cached_tokens", "x_truncated"} & shown.keys()


def test_extensions_come_when_there_is_something_to_tell() -> None:
    asked = SYSTEM_ONE.parse(body(x_evidence=True, x_truncate=True), CALL)
    assert (asked.ask.evidence, asked.ask.truncate) == (True, "state")
    shown = SYSTEM_ONE.show(asked, answered(asked, dropped=5, cached=2), CALL)
    assert (shown["x_truncated"], shown["x_state_tokens_dropped"], shown["x_cached_tokens"]) == (True, 5, 2)
    assert shown["x_evidence"]["n"]["true"][0]["text"] == "x"


def test_many_states_get_a_list_of_answers() -> None:
    asked = SYSTEM_ONE.parse(body(state=None, x_states=["a", {"b": 1}]), CALL)
    assert asked.ask.states == ("a", {"b": 1})
    shown = SYSTEM_ONE.show(asked, answered(asked), CALL)
    assert shown["answers"] == {}
    assert [list(each) for each in shown["x_answers"]] == [list(QUESTIONS)] * 2
    assert shown["usage"]["input_tokens"] == 20
    assert refused(SYSTEM_ONE, body(x_states=["a"] * 65)).status == 400
    assert refused(SYSTEM_ONE, body(x_states=[])).body["detail"][0]["type"] == "too_short"
    assert refused(SYSTEM_ONE, body(x_states=["a", 1])).body["detail"][0]["loc"] == ["body", "x_states", 1, "str"]


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"questions": {"": NOUL}}, "Question key cannot be empty."),
        ({"questions": {"q": {"type": "noul"}}}, "Noul question must have criteria or instructions: q"),
        ({"questions": {"q": {**NOUL, "instructions": ""}}}, "Noul question must have criteria or instructions: q"),
        ({"questions": {"q": {**CHOICE, "criteria": {}}}}, "Choice question must have at least one choice: q"),
        (
            {"questions": {"q": {**CHOICE, "criteria": {str(n): None for n in range(256)}}}},
            "Too many choices. Must have at most 255 choices.",
        ),
        (
            {"questions": {"q": {**SCORE, "criteria": ["x"] * 11}}},
            "Too many score levels. Must have at most 10 levels.",
        ),
        ({"model": "X"}, {"error_type": "api_usage_error", "message": "Unknown model: X"}),
        ({"questions": {"q": {"type": "span"}}}, {"error_type": "api_usage_error", "message": "Invalid request."}),
    ],
)
def test_system_one_tells_of_rules_as_the_hosted_api_does(fields: dict[str, Any], text: object) -> None:
    assert refused(SYSTEM_ONE, body(**fields)) == Reply(400, {"detail": text})
    listed = refused(SystemOne(CATALOGUE, Terms(rules="listed")), body(**fields))
    if "model" not in fields:
        assert listed.status == 422
        assert [entry["loc"][0] for entry in listed.body["detail"]] == ["body"]


MISSING = {"type": "missing", "msg": "Field required"}
STRING = {"type": "string_type", "msg": "Input should be a valid string"}
DICTIONARY = {"type": "dict_type", "msg": "Input should be a valid dictionary"}
LIST = {"type": "list_type", "msg": "Input should be a valid list"}


def at(entry: dict[str, Any], *loc: str | int) -> dict[str, Any]:
    return {**entry, "loc": ["body", *loc]}


def text_like(*loc: str | int) -> list[dict[str, Any]]:
    return [at(STRING, *loc, "str"), at(DICTIONARY, *loc, "dict[any,any]"), at(LIST, *loc, "list[any]")]


def short(kind: str, *loc: str | int) -> dict[str, Any]:
    context = {"field_type": kind, "min_length": 1, "actual_length": 0}
    entry = {"type": "too_short", "msg": f"{kind} should have at least 1 item after validation, not 0", "ctx": context}
    return at(entry, *loc)


@pytest.mark.parametrize(
    ("payload", "detail"),
    [
        ({}, [at(MISSING, "model"), at(MISSING, "state"), at(MISSING, "questions")]),
        ({"model": "m", "state": None, "questions": {}}, [at(MISSING, "state"), short("Dictionary", "questions")]),
        ({"model": 1, "state": "", "questions": {"q": NOUL}}, [at(STRING, "model")]),
        ({"model": "m", "state": 1, "questions": {"q": NOUL}}, text_like("state")),
        ({"model": "m", "state": [], "questions": []}, [at(DICTIONARY, "questions")]),
        (
            {"model": "m", "state": [], "questions": {"q": {"type": "choice"}}},
            [at(MISSING, "questions", "q", "choice", "criteria")],
        ),
        (
            {"model": "m", "state": [], "questions": {"q": {**CHOICE, "criteria": {"a": 1}}}},
            text_like("questions", "q", "choice", "criteria", "a"),
        ),
        (
            {"model": "m", "state": [], "questions": {"q": {**SCORE, "criteria": []}}},
            [short("List", "questions", "q", "score", "criteria")],
        ),
        (
            {"model": "m", "state": [], "questions": {"q": {**SCORE, "criteria": {"0": "x"}}}},
            [at(LIST, "questions", "q", "score", "criteria")],
        ),
        (
            {"model": "m", "state": [], "questions": {"q": {**SCORE, "criteria": ["x", None]}}},
            text_like("questions", "q", "score", "criteria", 1),
        ),
        (
            {"model": "m", "state": [], "questions": {"q": {**NOUL, "instructions": True}}},
            text_like("questions", "q", "noul", "instructions"),
        ),
        (
            {"model": "m", "state": [], "questions": {"q": {}}},
            [
                {
                    "type": "union_tag_not_found",
                    "loc": ["body", "questions", "q"],
                    "msg": "Unable to extract tag using discriminator 'type'",
                    "ctx": {"discriminator": "'type'"},
                }
            ],
        ),
        # A rule is broken too; the schema wins.
        ({"model": "m", "questions": {"": NOUL, "q": {**CHOICE, "criteria": {}}}}, [at(MISSING, "state")]),
    ],
)
def test_system_one_lists_schema_violations_as_pydantic_does(payload: object, detail: list[dict[str, Any]]) -> None:
    assert refused(SYSTEM_ONE, Body(payload)) == Reply(422, {"detail": detail})


@pytest.mark.parametrize("payload", [None, 1, "x", [], True])
def test_a_body_that_is_no_object_is_told_in_every_shape(payload: object) -> None:
    told = refused(SYSTEM_ONE, Body(payload))
    assert (told.status, told.body["detail"][0]["type"]) == (422, "model_attributes_type")
    assert refused(WORKERS_AI, Body(payload)).body["errors"][0]["code"] == 5006
    assert refused(DECISIONS, Body(payload)).body["error"]["type"] == "invalid_request_error"
    assert refused(OPENROUTER, Body(payload)).body["error"]["code"] == 400


PICTURE = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"x" * 40).decode()


def test_assets_become_images_where_their_placeholders_are() -> None:
    score = {"type": "score", "criteria": ["like <b>", "no"]}
    assets = {
        "<a>": {"type": "image", "format": "png", "data_base64": PICTURE},
        "<b>": {"type": "image", "part": "asset-0"},
    }
    sent = {"model": "nano", "state": ["see <b>", {"<a>": "<a>"}], "questions": {"s": score}, "assets": assets}
    asked = SYSTEM_ONE.parse(Body({**sent, "images": [f"data:image/png;base64,{PICTURE}"]}, {"asset-0": b"jpeg"}), CALL)
    assert asked.ask.request.state == ["see (image 2)", {"<a>": "(image 3)"}]
    assert asked.ask.request.images[1:] == (b"jpeg", f"data:image/png;base64,{PICTURE}")
    assert asked.ask.request.questions["s"].options()[0].text == "like (image 2)"
    two = {2: (0.5, 0.5)}
    decision = Decision("nano", {"s": answer(asked.ask.request.questions["s"], two[2])}, Usage(1))
    done = Answered((decision,), TokenCount(1), Timings(0, 0, 0, 0), "")
    assert SYSTEM_ONE.show(asked, done, CALL)["answers"]["s"]["legend"] == {"0": "like <b>", "1": "no"}
    told = SYSTEM_ONE.fail(MediaError("images[1]", "is no image", "send one"), CALL, asked)
    assert told.body["detail"]["message"] == "assets['<b>']: is no image; send one"


@pytest.mark.parametrize(
    ("assets", "status"),
    [
        ({}, 422),
        ([], 422),
        ({"<a>": 1}, 422),
        ({"<a>": {}}, 400),
        ({"<a>": {"type": "image", "format": "gif", "data_base64": ""}}, 400),
        ({"<a>": {"type": "image", "format": ["png"], "data_base64": ""}}, 400),
        ({"<a>": {"type": "image", "format": "png", "data_base64": 5}}, 400),
        ({"<a>": {"type": "image", "part": "asset-9"}}, 400),
        ({" ": {"type": "image", "format": "png", "data_base64": PICTURE}}, 400),
        ({"x" * 1025: {"type": "image", "format": "png", "data_base64": PICTURE}}, 400),
        ({"<unused>": {"type": "image", "format": "png", "data_base64": PICTURE}}, 400),
        ({"<a>": {"type": "image", "format": "png", "data_base64": "A" * (24 << 20)}}, 413),
    ],
)
def test_assets_that_cannot_be_are_refused(assets: object, status: int) -> None:
    assert refused(SYSTEM_ONE, body(state="<a>", assets=assets)).status == status


def test_bare_base64_is_a_picture_and_a_path_is_nothing() -> None:
    asked = SYSTEM_ONE.parse(body(images=[PICTURE, {"content_type": "image/png", "base64": PICTURE}]), CALL)
    assert asked.ask.request.images == (f"data:image/*;base64,{PICTURE}", f"data:image/png;base64,{PICTURE}")
    for source in ("http://127.0.0.1/x.png", "/etc/passwd", "file:///etc/passwd", "x.png"):
        told = refused(SYSTEM_ONE, body(images=[source]))
        assert told.status == 400
        assert told.body["detail"]["message"].startswith("images[0]: must be a data URL")


def test_workers_ai_answers_in_its_envelope() -> None:
    asked = WORKERS_AI.parse(body(model="clef-omni"), CALL)
    assert (asked.ask.model, asked.ask.truncate) == ("nano", "state")
    shown = WORKERS_AI.show(asked, answered(asked, dropped=9), CALL)
    assert (shown["success"], shown["errors"], shown["messages"]) == (True, [], [])
    result = shown["result"]
    assert result["model"] == "clef-omni"
    assert list(result["answers"]["c"]) == ["type", "choice", "probabilities", "confidence"]
    assert result["answers"]["c"]["confidence"] == 0.1111  # Simpson: (4/9 + 1/9 - 1/2) / (1/2)
    assert (result["x_truncated"], result["x_state_tokens_dropped"]) == (True, 9)


def fields(told: Reply) -> str:
    assert told.status == 422
    (error,) = told.body["errors"]
    assert error["code"] == 5012
    assert error["message"].startswith('AiError: AiError: {"error":{"type":"invalid_request","message":')
    assert error["message"].endswith(f" ({UUID})")
    return str(error["message"])


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        (
            {"questions": {str(n): NOUL for n in range(65)}},
            '"fieldErrors":{"questions":["Dictionary should have at most 64 items after validation, not 65"]}',
        ),
        ({"images": ["data:image/png;base64,AA"] * 5}, '"images":["List should have at most 4 items'),
        ({"audio": ["data:audio/wav;base64,AA"] * 5}, '"audio":["List should have at most 4 items'),
        ({"videos": ["data:video/mp4;base64,AA"] * 3}, '"videos":["List should have at most 2 items'),
        ({"questions": {"n": {**NOUL, "options": []}}}, "questions.n.options: Extra inputs are not permitted"),
        ({"questions": {"n": {"type": "noul", "criteria": {"true": "x"}}}}, "questions.n.instructions"),
        ({"questions": {"a b": NOUL}}, "String should match pattern"),
        ({"questions": {"c": {**CHOICE, "criteria": {"a": None}}}}, "at least 2 items after validation, not 1"),
        ({"questions": {"s": {**SCORE, "criteria": ["a"]}}}, "at least 2 items after validation, not 1"),
        ({"state": 5}, '"state":["Input should be a valid string"'),
        ({"images": ["http://127.0.0.1/x.png"]}, '"images":["images[0]: must be a data URL'),
    ],
)
def test_workers_ai_refuses_at_the_second_check(changed: dict[str, Any], text: str) -> None:
    assert text in fields(refused(WORKERS_AI, body(model="clef-omni", **changed)))


def test_workers_ai_refuses_at_the_first_check() -> None:
    for model in ("other", "jev-latest", "clef", 5):
        told = refused(WORKERS_AI, body(model=model))
        assert told.body == {
            "errors": [
                {
                    "message": rf"AiError: Bad input: Error: '/model' failed test ^\s*clef-omni\s*$ patttern ({UUID})",
                    "code": 5006,
                }
            ],
            "success": False,
            "result": {},
            "messages": [],
        }
        assert told.status == 400
    clef = Call(ID, "", "@cf/cloudflare/clef")
    with pytest.raises(OmniclefError) as caught:
        WORKERS_AI.parse(body(model="clef-flash"), clef)
    assert "Unsupported model 'clef-flash'. Use 'clef'." in fields(WORKERS_AI.fail(caught.value, CALL))
    with pytest.raises(OmniclefError) as caught:
        WORKERS_AI.parse(body(model="x"), clef)
    assert r"^\s*(clef|clef-flash)\s*$ patttern" in WORKERS_AI.fail(caught.value, CALL).body["errors"][0]["message"]
    for changed in ({"questions": None}, {"questions": {}}, {"questions": {"q": {"type": "x"}}}, {"state": None}):
        assert refused(WORKERS_AI, body(model=" clef-omni ", **changed)).body["errors"][0]["code"] == 5006


def test_workers_ai_takes_a_body_without_a_model_and_with_more() -> None:
    sent = {"state": "x", "questions": {"n": NOUL}, "text": "dummy", "assets": {"<a>": 1}}
    assert WORKERS_AI.parse(Body(sent), CALL).ask.request.state == "x"
    with pytest.raises(ModelNotFound) as caught:
        WORKERS_AI.parse(Body(sent), Call(ID, "", "@cf/cloudflare/nothing"))
    told = WORKERS_AI.fail(caught.value, CALL)
    assert (told.status, told.body["result"]) == (400, None)
    assert told.body["errors"] == [{"message": "No route for that URI", "code": 7000}]


def test_workers_ai_ids_are_in_its_headers() -> None:
    assert WORKERS_AI.headers(CALL)["cf-ai-req-id"] == UUID
    assert WORKERS_AI.headers(CALL)["cf-ray"] == "0123456789abcdef-OMN"
    assert SYSTEM_ONE.headers(CALL)["x-typesafe-request-id"] == ID


URL = f"data:image/png;base64,{PICTURE}"
LISTED = [
    {"type": "predicate", "name": "n", "instructions": [{"type": "input_text", "text": "?"}]},
    {"type": "choice", "instructions": "?", "choices": [{"value": "true"}, {"value": True, "description": "yes"}]},
    {
        "type": "score",
        "instructions": "?",
        "levels": [{"label": "a"}, {"label": "b", "description": "B"}, {"label": "a"}],
    },
]


def test_decisions_read_messages_pictures_and_json() -> None:
    content = [
        {"type": "input_text", "text": "see"},
        {"type": "input_image", "image_url": URL},
        {"type": "input_json", "data": {"a": 1}},
    ]
    call = {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "1"}
    messages = [{"role": "system", "content": "rules"}, {"role": "user", "content": content}, call]
    asked = DECISIONS.parse(Body({"model": "gpt-6-luna", "input": messages, "questions": LISTED}), CALL)
    assert asked.ask.request.images == (URL,)
    assert asked.ask.request.state == [
        {"role": "system", "content": "rules"},
        {"role": "user", "content": ["see", "(image 1)", {"a": 1}]},
        {"type": "function_call", "name": "f", "arguments": "{}"},
    ]
    shown = DECISIONS.show(asked, answered(asked, cached=4), CALL)
    predicate, choice, score = shown["answers"]
    assert predicate == {"type": "predicate", "name": "n", "probability": 0.6667}
    assert choice["choice"] == "true"
    assert [each["value"] for each in choice["probabilities"]] == ["true", True]
    assert score["probabilities"][1] == {"value": 1, "label": "b", "probability": 0.3333}
    assert shown["usage"] == {
        "input_tokens": 10,
        "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 0},
        "output_tokens": 0,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 10,
    }
    told = DECISIONS.fail(MediaError("images[0]", "is no image"), CALL, asked)
    assert told.body["error"]["param"] == "input[1].content[1].image_url"


def test_one_message_of_text_is_that_text() -> None:
    message = {"role": "user", "content": [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}]}
    asked = DECISIONS.parse(Body({"model": "nano", "input": [message], "questions": LISTED}), CALL)
    assert asked.ask.request.state == "a\nb"


@pytest.mark.parametrize(
    ("changed", "param"),
    [
        ({"model": None}, "model"),
        ({"input": []}, "input"),
        ({"input": None}, "input"),
        ({"input": [1]}, "input[0]"),
        ({"input": [{"role": "cat", "content": "x"}]}, "input[0]"),
        ({"input": [{"type": ["x"]}]}, "input[0]"),
        (
            {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "http://127.0.0.1/x"}]}]},
            "input[0].content[0].image_url",
        ),
        ({"input": [{"role": "user", "content": [{"type": "input_audio"}]}]}, "input[0].content[0]"),
        ({"questions": {}}, "questions"),
        ({"questions": LISTED * 134}, "questions"),
        ({"questions": [{"type": "noul", "instructions": "?"}]}, "questions[0].type"),
        ({"questions": [{**LISTED[0], "instructions": ""}]}, "questions[0].instructions"),
        ({"questions": [{**LISTED[1], "choices": [{"value": "a"}] * 2}]}, "questions[0].choices[1].value"),
        ({"questions": [{**LISTED[1], "choices": [{"value": "a"}]}]}, "questions[0].choices"),
        ({"questions": [{**LISTED[1], "choices": [{"value": 1}, {"value": "a"}]}]}, "questions[0].choices[0].value"),
        ({"questions": [{**LISTED[2], "levels": [{"label": 5}]}]}, "questions[0].levels[0].label"),
        (
            {"questions": [{**LISTED[2], "levels": [{"label": "a", "description": {}}]}]},
            "questions[0].levels[0].description",
        ),
        ({"questions": [{**LISTED[0], "name": 5}]}, "questions[0].name"),
    ],
)
def test_decisions_name_what_is_wrong(changed: dict[str, Any], param: str) -> None:
    told = refused(DECISIONS, Body({"model": "nano", "input": "x", "questions": LISTED, **changed}))
    assert told.status == 400
    assert told.body["error"]["param"] == param


def test_openrouter_adds_id_provider_and_cost() -> None:
    asked = OPENROUTER.parse(body(model="~typesafe/jev-latest"), CALL)
    shown = OPENROUTER.show(asked, answered(asked), CALL)
    assert (shown["id"], shown["provider"], shown["model"]) == (f"gen-dec-{ID}", "omniclef", "~typesafe/jev-latest")
    assert shown["usage"] == {"input_tokens": 10, "output_tokens": 0, "cost": 0.0}
    told = refused(OPENROUTER, Body({"model": "nano", "questions": {}}))
    assert told.body["error"]["code"] == 400
    assert "state: Field required; questions: Dictionary should have at least 1 item" in told.body["error"]["message"]


TOO_LONG = TooLong("state", "900 tokens", "shorten it", limit=800, tokens=900, parts={"state": 900})


@pytest.mark.parametrize(
    ("error", "statuses"),
    [
        (BodyError("json", "is not JSON"), (422, 400, 400, 400)),
        (BodyError("size", "is larger"), (413, 413, 413, 413)),
        (BodyError("type", "is not read"), (415, 415, 415, 400)),
        (BodyError("encoding", "is not gzip"), (400, 422, 400, 400)),
        (BodyError("slow", "did not arrive"), (408, 408, 408, 400)),
        (TOO_LONG, (400, 413, 400, 400)),
        (ModelNotFound("Unknown model: x"), (400, 400, 404, 404)),
        (MediaError("images[0]", "is broken"), (400, 422, 400, 400)),
        (Denied(missing=True), (403, 401, 401, 401)),
        (Denied(missing=False), (401, 401, 401, 401)),
        (Foreign("Host"), (403, 403, 403, 403)),
        (NoRoute(), (404, 404, 404, 404)),
        (NoRoute("POST"), (405, 405, 405, 405)),
        (RateLimited(1.5), (429, 429, 429, 429)),
        (Overloaded(9, 8, 1.5), (529, 429, 429, 529)),
        (WorkerLost("lost", 1.5), (503, 529, 503, 503)),
        (Draining("stops", 1.5), (503, 529, 503, 503)),
        (Expired("late"), (408, 408, 408, 524)),
        (Failed("broke"), (500, 500, 500, 500)),
        (OmniclefError("anything else"), (500, 500, 500, 500)),
    ],
)
def test_every_error_has_a_status_and_a_shape_on_every_wire(error: OmniclefError, statuses: tuple[int, ...]) -> None:
    for wire, status in zip(WIRES, statuses, strict=True):
        told = wire.fail(error, CALL)
        assert told.status == status, wire.name
        if isinstance(error, RateLimited | Overloaded | WorkerLost | Draining):
            assert told.headers == {"retry-after": "2", "retry-after-ms": "1500"}
        if isinstance(error, NoRoute) and error.allow:
            assert told.headers == {"allow": "POST"}
    assert WORKERS_AI.fail(Overloaded(9, 8, 1.5), CALL).body["errors"][0]["code"] == 3040
    assert SYSTEM_ONE.fail(TOO_LONG, CALL).body["detail"] == {
        "error_type": "max_tokens_exceeded",
        "message": "state: 900 tokens; shorten it",
    }
    missing = {"error_type": "authentication_error", "message": "Must supply an API key!"}
    assert SYSTEM_ONE.fail(Denied(missing=True), CALL).body == {"detail": missing}


def test_a_confidence_for_all_wires() -> None:
    terms = Terms(confidence="top")
    assert SystemOne(CATALOGUE, terms).parse(body(), CALL).ask.confidence == "top"
    assert WorkersAI(CATALOGUE, terms).parse(body(model=None), CALL).ask.confidence == "top"
    assert WORKERS_AI.parse(body(model=None), CALL).ask.confidence == "simpson"


def test_models_are_known_by_the_names_that_clients_have() -> None:
    for name in ("jev-latest", "@cf/cloudflare/clef-omni", "cloudflare/clef", "typesafe/jev-1.13", "gpt-6-luna"):
        assert CATALOGUE.resolve(name) == "nano"
    assert CATALOGUE.resolve("omniclef/mine") == "mine"
    assert Catalogue(["nano", "clef-omni"], dict).resolve("@cf/cloudflare/clef-omni") == "clef-omni"
    with pytest.raises(ModelNotFound, match="Unknown model: nobody"):
        CATALOGUE.resolve("nobody")
