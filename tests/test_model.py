"""Decisions of the embedded model: what may change an answer, what may not, and what is refused."""

from __future__ import annotations

import base64
import io
import json
import math
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from encoded_media import clip, steady, tone, wav
from PIL import Image

import omniclef
from omniclef import Choice, Noul, Score
from omniclef.model import embedded, read_record

CLOSE = 1e-4
TICKET = "I was charged twice and nobody answers. I want my money back."
QUESTIONS = {
    "team": {
        "type": "choice",
        "instructions": "Which team should handle this?",
        "criteria": {"billing": "payments, refunds", "technical": "bugs and outages", "sales": None},
    },
    "refund": {"type": "noul", "instructions": "Does the customer ask for money back?"},
    "urgency": {
        "type": "score",
        "instructions": "How urgent is it?",
        "criteria": ["can wait", "this week", "today"],
    },
    "mood": {
        "type": "choice",
        "criteria": {
            "angry": {"description": "the writer is angry", "examples": ["This is outrageous!", "Enough of this."]},
            "calm": {"examples": ["All fine, thank you.", "No hurry."]},
        },
    },
}
TALK = {
    "subject": "Charged twice",
    "customer": {"plan": "pro", "name": "Ada", "since": 2019},
    "messages": [
        {"role": "user", "content": "I was charged twice for order 1182, and I would like to know why that happened."},
        {"role": "agent", "content": "Sorry to hear that. Could you tell me the date of the second payment, please?"},
        {"role": "user", "content": "It was on the third of May. I want my money back today."},
    ],
}


def chances(decision: omniclef.Decision) -> dict[str, dict[str, float]]:
    """Probabilities of every option, by question; a noul has the one option ``true``."""
    answers = decision.answers.items()
    return {key: getattr(a, "probabilities", None) or {"true": a.noul} for key, a in answers}


def assert_close(left: omniclef.Decision, right: omniclef.Decision) -> None:
    first, second = chances(left), chances(right)
    assert first.keys() == second.keys()
    for key, found in first.items():
        assert second[key] == pytest.approx(found, abs=CLOSE), key


def assert_legal(decision: omniclef.Decision, questions: dict) -> None:
    assert list(decision.answers) == list(questions)
    for key, answer in decision.answers.items():
        found = chances(decision)[key]
        assert all(math.isfinite(p) and 0 <= p <= 1 for p in found.values())
        if answer.type != "noul":
            assert sum(found.values()) == pytest.approx(1, abs=1e-9)
            assert 0 <= answer.confidence <= 1
        if answer.type == "choice":
            assert answer.choice == max(found, key=found.__getitem__)
        if answer.type == "score":
            assert 0 <= answer.score <= len(found) - 1


def png(*colour: int, size: tuple[int, int] = (64, 48)) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", size, colour).save(file, "PNG")
    return file.getvalue()


def data_url(data: bytes, kind: str) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def hiss(seconds: float, seed: int) -> bytes:
    samples = 0.2 * np.random.default_rng(seed).standard_normal(round(seconds * 16_000))
    return wav(np.clip(samples, -1, 1).astype(np.float32), 16_000)


def little_clip(sound: bool = True) -> bytes:
    frames = [(at, (200, 0, 0) if at < 1 else (0, 0, 200)) for at in steady(2, 5)]
    return clip(frames, samples=tone(2, 48_000) if sound else None)


def shuffled(value: dict) -> dict:
    return dict(reversed(value.items()))


def rekeyed(value):
    """The same JSON with the keys of every object in reverse."""
    if isinstance(value, dict):
        return {key: rekeyed(item) for key, item in reversed(value.items())}
    return [rekeyed(item) for item in value] if isinstance(value, list) else value


# What may not change an answer


@pytest.mark.parametrize("state", [TICKET, TALK, ""], ids=["text", "json", "empty"])
def test_the_order_of_options_changes_nothing(nano, state):
    turned = json.loads(json.dumps(QUESTIONS))
    for question in turned.values():
        if question["type"] == "choice":
            question["criteria"] = shuffled(question["criteria"])
    assert_close(nano.decide(state, QUESTIONS), nano.decide(state, turned))


@pytest.mark.parametrize("state", [TICKET, TALK, ""], ids=["text", "json", "empty"])
def test_the_order_of_questions_changes_nothing(nano, state):
    straight, turned = nano.decide(state, QUESTIONS), nano.decide(state, shuffled(QUESTIONS))
    assert list(turned.answers) == list(reversed(QUESTIONS))
    assert_close(straight, turned)


def test_question_ids_change_nothing(nano):
    ids = ["refund is never wanted", "0", "ü/../x", "sales sales sales"]
    named = nano.decide(TICKET, dict(zip(ids, QUESTIONS.values(), strict=True)))
    plain = chances(nano.decide(TICKET, QUESTIONS))
    for key, found in zip(QUESTIONS, chances(named).values(), strict=True):
        assert found == pytest.approx(plain[key], abs=CLOSE)


def test_the_order_of_keys_in_a_state_changes_nothing(nano):
    assert list(rekeyed(TALK)) != list(TALK)
    assert_close(nano.decide(TALK, QUESTIONS), nano.decide(rekeyed(TALK), QUESTIONS))


def test_decide_many_equals_decide(nano):
    states = [TICKET, TALK, "", "The app crashes when I open it.", " ".join(["The line is down."] * 700), "ok"] * 12
    for state, together in zip(states, nano.decide_many(states, QUESTIONS), strict=True):
        assert_close(nano.decide(state, QUESTIONS), together)


def test_decide_request_equals_decide(nano):
    request = {"state": TALK, "questions": QUESTIONS, "model": "nano"}
    assert nano.decide_request(request) == nano.decide(TALK, QUESTIONS)
    assert nano.decide_request(omniclef.parse_request(request)) == nano.decide(TALK, QUESTIONS)


def test_question_objects_equal_their_wire_objects(nano):
    objects = {
        "team": Choice(QUESTIONS["team"]["criteria"], "Which team should handle this?"),
        "refund": Noul("Does the customer ask for money back?"),
        "urgency": Score(["can wait", "this week", "today"], "How urgent is it?"),
    }
    wire = {key: QUESTIONS[key] for key in objects}
    assert nano.decide(TICKET, objects) == nano.decide(TICKET, wire)


def test_media_of_a_request_equal_media_of_decide(nano):
    picture, sound, film = png(200, 0, 0), wav(tone(1, 16_000), 16_000), little_clip()
    request = {
        "state": TICKET,
        "questions": QUESTIONS,
        "images": [data_url(picture, "image/png")],
        "audio": [{"content_type": "audio/wav", "base64": base64.b64encode(sound).decode()}],
        "videos": [data_url(film, "video/mp4")],
    }
    given = nano.decide(TICKET, QUESTIONS, images=[picture], audio=[sound], videos=[film])
    assert_close(nano.decide_request(request), given)


def test_mixed_records_answer_as_they_would_alone(nano):
    asked = omniclef.parse_request({"state": "", "questions": QUESTIONS}).questions
    few = {"refund": asked["refund"]}
    picture, sound, film = png(0, 200, 0), hiss(1.5, 1), little_clip()
    records = [
        read_record(TICKET, asked, (), (), (), None),
        read_record("", asked, [picture, png(9, 9, 9)], (), (), None),
        read_record(TALK, few, (), [sound], (), None),
        read_record(" ".join(["The lift stopped again on this floor."] * 375), asked, (), (), (), None),
        read_record("clip", asked, (), (), [film], None),
        read_record("", few, [picture], [sound], [little_clip(sound=False)], None),
    ]
    for record, together in zip(records, nano.decide_records(records), strict=True):
        assert_close(nano.decide_records([record])[0], together)


def test_threads_may_share_a_model():
    model = omniclef.load("nano", threads=1)  # nothing is open yet: the threads open it
    states = [f"{TICKET} This is complaint number {n}." for n in range(24)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda state: model.decide(state, QUESTIONS), states))
    for state, decision in zip(states, found, strict=True):
        assert_close(decision, model.decide(state, QUESTIONS))


# What has to change an answer

FILLER = [f"On day {n} the lift between floors {n % 7} and {n % 11} worked as it should." for n in range(360)]
FACT = "Then somebody stole the blue bicycle from the hall."


@pytest.mark.parametrize("place", [0, 180, 360], ids=["start", "middle", "end"])
def test_nothing_of_a_long_state_is_cut(nano, place):
    question = {"theft": Noul("Was a bicycle stolen?")}
    before, after = " ".join(FILLER[:place]), " ".join(FILLER[place:])
    with_fact = nano.decide(f"{before} {FACT} {after}", question)
    without = nano.decide(f"{before} {after}", question)
    assert with_fact.usage.input_tokens > without.usage.input_tokens > 5_000
    p, q = with_fact.answers["theft"].noul, without.answers["theft"].noul
    assert math.log(p / (1 - p)) - math.log(q / (1 - q)) > 1e-3


def test_usage_grows_exactly_with_the_state(nano):
    empty = nano.decide("", QUESTIONS).usage.input_tokens
    for count in (1, 254, 255, 3_000):
        assert nano.decide(" ".join(["lift"] * count), QUESTIONS).usage.input_tokens == empty + count
    assert nano.decide(["lift", "lift lift"], QUESTIONS).usage.input_tokens == empty + 3


def test_examples_teach_a_choice(nano):
    refunds = ["I want my money back", "please return what I paid", "refund me the second charge"]
    logins = ["I cannot sign in", "my password is not accepted", "the login page rejects me"]
    bare = {"kind": Choice({"alpha": None, "beta": None})}
    taught = {"kind": Choice({"alpha": {"examples": refunds}, "beta": {"examples": logins}})}
    turned = {"kind": Choice({"alpha": {"examples": logins}, "beta": {"examples": refunds}})}
    state = "They took the payment two times, return it"
    plain, right, wrong = (chances(nano.decide(state, q))["kind"]["alpha"] for q in (bare, taught, turned))
    assert wrong < plain < right
    assert right > 0.8
    assert wrong < 0.2


def test_examples_teach_a_noul_and_a_score(nano):
    cold, hot = ["snow fell all night", "ice on the river"], ["the desert at noon", "thirty-eight degrees"]
    noul = {"x": Noul(None, {"true": {"examples": cold}, "false": {"examples": hot}})}
    score = {"x": Score([{"description": "low", "examples": cold}, {"description": "high", "examples": hot}])}
    frost, heat = "a frozen lake in January", "a heat wave in July"
    assert nano.decide(frost, noul).answers["x"].noul > 0.5 > nano.decide(heat, noul).answers["x"].noul
    assert nano.decide(frost, score).answers["x"].score < 0.5 < nano.decide(heat, score).answers["x"].score


def test_pictures_teach_a_choice(nano):
    reds = [data_url(png(n, 20, 20), "image/png") for n in (180, 220, 250)]
    blues = [data_url(png(20, 20, n), "image/png") for n in (180, 220, 250)]
    question = {"kind": Choice({"alpha": {"examples": reds}, "beta": {"examples": blues}})}
    for colour, expected in (((200, 30, 10), "alpha"), ((10, 30, 200), "beta")):
        assert nano.decide("", question, images=[png(*colour)]).answers["kind"].choice == expected


def test_sounds_teach_a_choice(nano):
    tones = [data_url(wav(tone(1, 16_000, hertz), 16_000), "audio/wav") for hertz in (300, 440, 600)]
    hisses = [data_url(hiss(1, seed), "audio/wav") for seed in (1, 2, 3)]
    question = {"kind": Choice({"alpha": {"examples": tones}, "beta": {"examples": hisses}})}
    for sound, expected in ((wav(tone(1.2, 16_000, 500), 16_000), "alpha"), (hiss(1.2, 9), "beta")):
        assert nano.decide("", question, audio=[sound]).answers["kind"].choice == expected


UNREADABLE = {
    "Chinese": "我被重复收费了,没有人回答我的问题,我要求退款。",
    "Arabic": "تم خصم المبلغ مرتين ولا أحد يجيب على أسئلتي، أريد استرداد أموالي.",
    "Russian": "С меня дважды списали деньги, и никто не отвечает, верните мне деньги.",
    "Thai": "ฉันถูกเรียกเก็บเงินสองครั้งและไม่มีใครตอบคำถามของฉันเลยฉันต้องการเงินคืน",
    "German": "Mir wurde der Betrag zweimal abgebucht, und seit drei Wochen antwortet niemand auf meine Fragen. "
    "Ich möchte mein Geld zurück, sonst kündige ich den Vertrag und wende mich an die Verbraucherzentrale.",
}


def distance(decision: omniclef.Decision) -> float:
    """The largest difference from an even distribution, over all options."""
    found = {key: p | {"false": 1 - p["true"]} if "true" in p else p for key, p in chances(decision).items()}
    return max(abs(share - 1 / len(p)) for p in found.values() for share in p.values())


@pytest.mark.parametrize("language", UNREADABLE)
def test_what_cannot_be_read_comes_out_near_even(nano, language):
    questions = {key: QUESTIONS[key] for key in ("team", "refund", "urgency", "mood")}
    assert distance(nano.decide(UNREADABLE[language], questions)) < 0.1


@pytest.mark.parametrize("state", [TICKET, "refund", "I want my money back"])
def test_english_does_not_come_out_even(nano, state):
    questions = {key: QUESTIONS[key] for key in ("team", "refund")}
    assert distance(nano.decide(state, questions)) > 0.25


# Edges

ODD = ["", "🎉🙃🎉", " \n\t ", "x", "0", "word" * 2_500, "!?" * 40, "\x00\x07", "\ud83d", "e\u0301" * 50]


@pytest.mark.parametrize("state", ODD, ids=[f"odd{n}" for n in range(len(ODD))])
def test_odd_states_get_legal_answers(nano, state):
    assert_legal(nano.decide(state, QUESTIONS), QUESTIONS)


@pytest.mark.parametrize("state", [{}, [], {"a": None}, [[], {}], {"": ""}, [1, True, None], {"k": {"k": {"k": 0.5}}}])
def test_json_with_little_in_it_gets_legal_answers(nano, state):
    assert_legal(nano.decide(state, QUESTIONS), QUESTIONS)


def test_odd_options_get_legal_answers(nano):
    questions = {
        "names": Choice({"": None, " ": None, "🎉": None, "退款": None, "a" * 3_000: None, "_": {}, "-": []}),
        "empty": Score(["", " ", "\n"]),
        "side": Noul(None, {"true": None, "false": "nothing of the sort"}),
        "parts": Choice({"a": {"examples": [" ", "x"]}, "b": {"examples": []}}, [" "]),
    }
    assert_legal(nano.decide(TICKET, questions), questions)
    assert_legal(nano.decide("", questions), questions)


def test_one_option_is_certain(nano):
    answer = nano.decide(TICKET, {"x": Choice({"only": None})}).answers["x"]
    assert answer.probabilities == {"only": 1.0}
    assert answer.confidence == 1.0
    assert nano.decide("", {"x": Score(["only"])}).answers["x"].score == 0.0


def test_as_many_options_and_questions_as_may_be(nano):
    many = {f"q{n}": Noul(f"Is it about number {n}?") for n in range(63)}
    questions = {"wide": Choice({f"shelf {n}": None for n in range(255)}, "Which shelf?"), **many}
    decision = nano.decide("Please look on shelf 17.", questions)
    assert len(decision.answers) == 64
    assert_legal(decision, questions)


@pytest.mark.parametrize("formula", ["typesafe", "simpson", "top", "entropy"])
def test_the_confidence_formula_is_the_callers(nano, formula):
    answer = nano.decide(TICKET, QUESTIONS, confidence=formula).answers["team"]
    again = omniclef.answers.answer(Choice(QUESTIONS["team"]["criteria"]), list(answer.probabilities.values()), formula)
    assert answer.confidence == pytest.approx(again.confidence, abs=1e-9)


# Evidence


def test_evidence_is_left_out_unless_asked_for(nano):
    assert nano.decide(TICKET, QUESTIONS).evidence is None
    assert_close(nano.decide(TICKET, QUESTIONS), nano.decide(TICKET, QUESTIONS, evidence=True))


@pytest.mark.parametrize("state", [TICKET, "é ü " * 300 + TICKET], ids=["short", "long"])
def test_evidence_names_the_words_it_drew_on(nano, state):
    found = nano.decide(state, QUESTIONS, evidence=True).evidence
    assert list(found) == list(QUESTIONS)
    assert list(found["team"]) == ["billing", "technical", "sales"]
    assert list(found["refund"]) == ["true", "false"]
    for pieces in (pieces for options in found.values() for pieces in options.values()):
        weights = [piece.weight for piece in pieces]
        assert weights == sorted(weights, reverse=True)
        assert min(weights) >= 0
        assert sum(weights) <= 1 + 1e-4
        for piece in pieces:
            start, stop = (int(edge) for edge in piece.span)
            assert 0 <= start < stop <= len(state)
            assert piece.modality == "text"
            assert piece.text == state[start:stop]


def test_evidence_of_json_names_words_of_its_segments(nano):
    read = " ".join(f"{value}" for value in json.dumps(TALK).split()).lower()
    for options in nano.decide(TALK, QUESTIONS, evidence=True).evidence.values():
        for piece in (piece for pieces in options.values() for piece in pieces):
            assert piece.text
            assert not piece.text.isalnum() or piece.text.lower() in read


def test_no_evidence_where_there_is_nothing_to_read(nano):
    found = nano.decide("", QUESTIONS, evidence=True).evidence
    assert all(pieces == [] for options in found.values() for pieces in options.values())


def test_evidence_of_media_lies_inside_them(nano):
    media = {"images": [png(200, 0, 0)] * 2, "audio": [hiss(2, 1)], "videos": [little_clip()]}
    found = nano.decide("", QUESTIONS, evidence=True, **media).evidence
    pieces = [piece for options in found.values() for some in options.values() for piece in some]
    assert {piece.modality for piece in pieces} <= {"image", "audio", "video"}
    for piece in pieces:
        assert 0 <= piece.index < 2
        assert 0 <= piece.weight <= 1
        assert piece.text is None
        if piece.modality == "image":
            left, top, right, bottom = piece.span
            assert 0 <= left < right <= 1 + 1e-6
            assert 0 <= top < bottom <= 1 + 1e-6
        else:
            start, stop = piece.span
            assert 0 <= start < stop <= 2.5


# Media


def test_a_medium_changes_the_answers(nano):
    bare = chances(nano.decide("look", QUESTIONS))["team"]
    for media in ({"images": [png(200, 0, 0)]}, {"audio": [hiss(1, 1)]}, {"videos": [little_clip()]}):
        decision = nano.decide("look", QUESTIONS, **media)
        assert_legal(decision, QUESTIONS)
        assert max(abs(bare[key] - p) for key, p in chances(decision)["team"].items()) > 1e-5


def test_media_alone_are_enough(nano):
    decision = nano.decide(questions=QUESTIONS, images=[png(1, 2, 3)], audio=[hiss(0.2, 1)])
    assert_legal(decision, QUESTIONS)
    assert decision.usage.input_tokens > nano.decide(questions=QUESTIONS).usage.input_tokens + 49


def test_media_come_from_paths_too(nano, tmp_path):
    (tmp_path / "a.png").write_bytes(png(200, 0, 0))
    by_path = nano.decide("", QUESTIONS, images=[tmp_path / "a.png"])
    assert_close(by_path, nano.decide("", QUESTIONS, images=[png(200, 0, 0)]))
    assert_close(by_path, nano.decide("", QUESTIONS, images=iter([str(tmp_path / "a.png")])))


# Errors


@pytest.mark.parametrize(
    ("questions", "field"),
    [
        (None, "questions"),
        ({}, "questions"),
        ({"x": {"type": "guess"}}, "questions.x.type"),
        ({"x": {"type": "choice", "criteria": {}}}, "questions.x.criteria"),
        ({"x": {"type": "choice", "criteria": {f"{n}": None for n in range(256)}}}, "questions.x.criteria"),
        ({"x": {"type": "score", "criteria": ["level"] * 11}}, "questions.x.criteria"),
        ({"x": {"type": "noul"}}, "questions.x"),
        ({"": {"type": "noul", "instructions": "Is it?"}}, 'questions[""]'),
    ],
)
def test_bad_questions_are_refused(nano, questions, field):
    with pytest.raises(omniclef.InvalidRequest) as caught:
        nano.decide(TICKET, questions)
    assert caught.value.field == field
    with pytest.raises(omniclef.InvalidRequest):
        nano.decide_many([TICKET], questions)


@pytest.mark.parametrize("state", [None, 3, True, float("nan"), {"a": float("inf")}, {1: "x"}, b"bytes"])
def test_bad_states_are_refused(nano, state):
    with pytest.raises(omniclef.InvalidRequest, match="state"):
        nano.decide(state, QUESTIONS)


def test_an_unknown_formula_is_refused(nano):
    with pytest.raises(omniclef.InvalidInput, match="typesafe, simpson, top, entropy") as caught:
        nano.decide(TICKET, QUESTIONS, confidence="certain")
    assert caught.value.field == "confidence"


@pytest.mark.parametrize("kind", ["images", "audio", "videos"])
def test_addresses_are_refused_without_a_fetcher(nano, kind):
    with pytest.raises(omniclef.MediaError, match="not fetched") as caught:
        nano.decide(TICKET, QUESTIONS, **{kind: ["https://example.org/medium"]})
    assert caught.value.field == f"{kind}[0]"


def test_a_request_opens_no_paths(nano, tmp_path):
    (tmp_path / "a.png").write_bytes(png(1, 2, 3))
    for source in (str(tmp_path / "a.png"), "https://example.org/a.png"):
        with pytest.raises(omniclef.InvalidRequest) as caught:
            nano.decide_request({"state": "", "questions": QUESTIONS, "images": [source]})
        assert caught.value.field == "images[0]"


def test_the_callers_fetcher_fetches():
    asked = []

    def fetch(url: str) -> bytes:
        asked.append(url)
        return png(200, 0, 0)

    questions = omniclef.parse_request({"state": "", "questions": QUESTIONS}).questions
    record = read_record("", questions, ["https://example.org/a.png", png(1, 2, 3)], (), (), fetch)
    assert asked == ["https://example.org/a.png"]
    assert record.images[0][0, 0].tolist() == [200, 0, 0]


def test_too_many_media_are_refused_before_any_is_opened(nano):
    for kind, limit in (("images", 16), ("audio", 8), ("videos", 4)):
        with pytest.raises(omniclef.MediaError, match=f"{limit + 1} items, the limit is {limit}"):
            nano.decide("", QUESTIONS, **{kind: ["no such file"] * (limit + 1)})


def test_a_broken_medium_names_itself(nano):
    with pytest.raises(omniclef.MediaError) as caught:
        nano.decide("", QUESTIONS, images=[png(1, 2, 3), b"no picture"])
    assert caught.value.field == "images[1]"


def test_a_broken_example_is_refused(nano):
    question = {"x": Choice({"a": {"examples": ["data:image/png;base64,AAAA"]}, "b": None})}
    with pytest.raises(omniclef.MediaError, match="example"):
        nano.decide("", question)


# Models


def test_a_model_that_is_not_there():
    with pytest.raises(omniclef.ModelNotFound, match=r"'huge' is not known; use nano"):
        omniclef.load("huge")


@pytest.fixture
def folder(tmp_path) -> Path:
    """A copy of the embedded model that may be broken."""
    copy = tmp_path / "copy"
    copy.mkdir()
    for path in embedded()["nano"].iterdir():
        try:
            os.link(path, copy / path.name)
        except OSError:  # another file system
            shutil.copy(path, copy / path.name)
    return copy


@pytest.mark.parametrize("name", ["tokenizer.json", "arrays.npz", "text.onnx", "head.onnx"])
def test_an_incomplete_folder_is_no_model(folder, name):
    (folder / name).unlink()
    with pytest.raises(omniclef.ModelNotFound, match=name):
        omniclef.load(folder)


@pytest.mark.parametrize(
    ("name", "media"), [("image.onnx", {"images": [png(1, 2, 3)]}), ("sound.onnx", {"audio": [hiss(0.5, 1)]})]
)
def test_a_folder_without_a_tower_still_reads_text(folder, name, media):
    (folder / name).unlink()
    model = omniclef.load(folder, threads=1)
    assert_legal(model.decide(TICKET, QUESTIONS), QUESTIONS)
    with pytest.raises(omniclef.ModelNotFound, match=name):
        model.decide(TICKET, QUESTIONS, **media)


def test_a_folder_is_a_model_like_the_embedded_one(nano, folder):
    model = omniclef.load(folder, threads=1)
    assert_close(model.decide(TICKET, QUESTIONS), nano.decide(TICKET, QUESTIONS))
    assert model.info.digest == nano.info.digest
    (folder / "config.json").unlink()
    with pytest.raises(omniclef.ModelNotFound):
        omniclef.load(folder)


def test_a_changed_model_has_another_digest(nano, folder):
    config = json.loads((folder / "config.json").read_text("utf-8"))
    config["temperatures"] = {kind: 2 * value for kind, value in config["temperatures"].items()}
    (folder / "config.json").unlink()
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    model = omniclef.load(folder, threads=1)
    assert model.info.digest != nano.info.digest
    refund = {"refund": QUESTIONS["refund"]}
    assert distance(model.decide(TICKET, refund)) < distance(nano.decide(TICKET, refund))


def test_what_a_model_tells_of_itself(nano):
    assert nano.info.name == nano.decide(TICKET, QUESTIONS).model == "nano"
    assert nano.info.reads == ("text", "image", "audio", "video")
    assert nano.info.limits["options"] == 255
    assert 0 < nano.info.size <= 90_000_000


def test_deciding_imports_no_torch():
    code = (
        "import sys, omniclef\n"
        "omniclef.load('nano', threads=1).decide('I want my money back.', {'x': omniclef.Noul('Is it?')})\n"
        "print(sorted({'torch', 'transformers', 'onnx', 'scipy', 'sklearn'} & sys.modules.keys()))"
    )
    paths = [str(Path(omniclef.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert ran.stdout.strip() == "[]"


@pytest.mark.parametrize("asked", [{"precision": "bfloat16"}, {"device": "cuda"}, {"window": 99}, {"ids": "anonymous"}])
def test_what_only_a_release_can_do_is_refused_and_not_ignored(asked):
    with pytest.raises(omniclef.InvalidInput, match="leave them out"):
        omniclef.load("nano", **asked)
