"""Suites over a small data folder in the real formats: requests, labels, subsamples, examples."""

from __future__ import annotations

import base64
import io
from pathlib import Path

import av
import pytest
from small_data import (
    COLOURS,
    write_api_bank,
    write_banking,
    write_clinc,
    write_clips,
    write_pictures,
    write_sounds,
    write_texts,
)

from omniclef.errors import InvalidInput
from omniclef.evaluation.sources import DataFolder
from omniclef.evaluation.suite import Case, get_suite, option_keys, suite_names
from omniclef.records import parse_questions


def cases(root: Path, name: str, limit: int | None = None, seed: int = 0) -> list[Case]:
    return list(get_suite(name).cases(DataFolder(root), limit=limit, seed=seed))


def test_every_suite_is_described_and_its_shared_questions_are_valid() -> None:
    assert len(suite_names()) == 23
    for name in suite_names():
        suite = get_suite(name)
        assert suite.name == name
        assert suite.source
        assert suite.headline in {"accuracy", "macro_f1"}
        complete = {key: q for key, q in suite.shared.items() if q["type"] != "choice" or q["criteria"]}
        for key, question in parse_questions(complete).items() if complete else ():
            assert tuple(option.key for option in question.options()) == option_keys(complete[key])


def test_unknown_suite_names_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match=r"banking78.*banking77"):
        get_suite("banking78")


def test_banking_has_bare_names(tmp_path: Path) -> None:
    write_banking(tmp_path)
    first, *rest = cases(tmp_path, "banking77")
    criteria = first.request["questions"]["intent"]["criteria"]
    assert len(rest) == 76
    assert len(criteria) == 77
    assert set(criteria.values()) == {None}
    assert first.request["state"] == 'test 0, "card arrival", please\nthanks'
    assert first.labels == {"intent": "card_arrival"}


@pytest.mark.parametrize("shots", [5, 20])
def test_examples_are_drawn_once_from_the_training_split(tmp_path: Path, shots: int) -> None:
    write_banking(tmp_path)
    one, two = (cases(tmp_path, f"banking77_{shots}shot") for _ in range(2))
    criteria = one[0].request["questions"]["intent"]["criteria"]
    assert criteria == two[-1].request["questions"]["intent"]["criteria"]
    for name, described in criteria.items():
        words = name.replace("_", " ")
        assert described["description"] == words
        assert len(set(described["examples"])) == shots
        assert all(text.startswith("train ") and words in text for text in described["examples"])
    assert one[0].request["questions"] is one[-1].request["questions"]


def test_clinc_adds_the_out_of_scope_part_and_says_what_oos_is(tmp_path: Path) -> None:
    write_clinc(tmp_path)
    asked = cases(tmp_path, "clinc150_oos")
    assert [case.labels["intent"] for case in asked] == ["translate", "alarm", "oos"]
    criteria = asked[0].request["questions"]["intent"]["criteria"]
    assert len(criteria) == 151
    assert "none of these" in criteria["oos"]
    assert "oos" not in criteria["oos"]


def test_every_api_turn_is_a_case_with_the_turns_before_it(tmp_path: Path) -> None:
    write_api_bank(tmp_path)
    first, second = cases(tmp_path, "api_bank")
    assert first.request["state"] == [{"role": "User", "text": "wake me at seven with music"}]
    assert [turn["role"] for turn in second.request["state"]] == ["User", "API", "AI"]
    assert second.request["state"][1]["result"] == {"output": "success"}
    assert (first.labels["api"], second.labels["api"]) == ("AddAlarm", "PlayMusic")
    assert first.request["questions"]["api"]["criteria"] == {
        "AddAlarm": {"description": "sets an alarm", "inputs": ["token", "time"], "outputs": ["status"]},
        "PlayMusic": {"description": "plays music", "inputs": [], "outputs": ["status"]},
    }


def test_labels_become_what_the_question_answers_with(tmp_path: Path) -> None:
    write_texts(tmp_path)
    assert [c.labels["sentiment"] for c in cases(tmp_path, "sst5")] == [0, 4]
    assert [c.labels["spam"] for c in cases(tmp_path, "sms_spam")] == [True, False]
    assert [c.labels["personal"] for c in cases(tmp_path, "presidio_pii")] == [True, False]


def test_structured_states(tmp_path: Path) -> None:
    write_texts(tmp_path)
    [action] = cases(tmp_path, "when2call")
    assert action.request["state"] == {"question": "rain?", "tools": [{"name": "weather"}]}
    assert action.labels == {"action": "request_for_info"}
    [issue] = cases(tmp_path, "github_issues")
    assert issue.request["state"] == {"title": "bug: crash", "body": "it crashes"}


def test_a_slot_that_is_not_ordered_is_not_mentioned(tmp_path: Path) -> None:
    write_sounds(tmp_path)
    [order] = cases(tmp_path, "coffee_orders")
    assert order.labels["milkAmount"] == "milk"
    assert order.labels["size"] == "not mentioned"
    assert order.request["audio"] == [tmp_path / "audio/coffee_orders/1.ogg"]
    for name, question in order.request["questions"].items():
        assert order.labels[name] in question["criteria"]


def test_example_pictures_travel_inside_the_request(tmp_path: Path) -> None:
    write_pictures(tmp_path)
    asked = cases(tmp_path, "cifar10_examples")
    assert len(asked) == 6
    criteria = asked[0].request["questions"]["object"]["criteria"]
    assert {
        name: len(option["examples"]) for name, option in criteria.items() if option["examples"]
    } == dict.fromkeys(COLOURS, 4)
    head, data = criteria["frog"]["examples"][0].split(",")
    assert head == "data:image/jpeg;base64"
    assert base64.b64decode(data) in {
        p.read_bytes() for p in (tmp_path / "image/cifar10").glob("train__frog*")
    }


def test_clips_ask_the_same_pairs_with_and_without_sound(tmp_path: Path) -> None:
    write_clips(tmp_path)
    loud, mute = cases(tmp_path, "clips"), cases(tmp_path, "clips_silent")
    assert len(loud) == 4  # neither the unnamed clip nor another set
    assert [c.request["questions"] for c in loud] == [c.request["questions"] for c in mute]
    assert [c.group for c in loud] == ["vas", "vas", "misc, no soundtrack", "misc"]
    for case in loud:
        options = list(case.request["questions"]["event"]["criteria"])
        assert len(set(options)) == 2
        assert case.labels["event"] in options
    for case, original in zip(mute, loud, strict=True):
        with (
            av.open(io.BytesIO(case.request["videos"][0])) as silent,
            av.open(str(original.request["videos"][0])) as sounding,
        ):
            assert not silent.streams.audio
            assert [f.pts for f in silent.decode(video=0)] == [f.pts for f in sounding.decode(video=0)]


def test_a_subsample_is_seeded_in_order_and_keeps_its_ids(tmp_path: Path) -> None:
    write_banking(tmp_path)
    everything = {case.id: case for case in cases(tmp_path, "banking77")}
    some, again, other = (cases(tmp_path, "banking77", 10, seed) for seed in (1, 1, 2))
    assert len(everything) == 77
    assert [c.id for c in some] == [c.id for c in again] == sorted(c.id for c in some)
    assert {c.id for c in some} != {c.id for c in other}
    assert all(everything[c.id].labels == c.labels for c in some)
    assert get_suite("banking77").cases(DataFolder(tmp_path), limit=10).total == 77


def test_a_case_that_changes_gets_another_id(tmp_path: Path) -> None:
    write_texts(tmp_path)
    before = cases(tmp_path, "sms_spam")
    path = tmp_path / "text/sms_spam.test.jsonl"
    path.write_text(path.read_text().replace("at six", "at seven"))
    after = cases(tmp_path, "sms_spam")
    assert before[0].id == after[0].id
    assert before[1].id != after[1].id


def test_a_limit_below_one_is_refused(tmp_path: Path) -> None:
    write_texts(tmp_path)
    with pytest.raises(InvalidInput, match="at least 1"):
        cases(tmp_path, "sms_spam", limit=0)


def test_a_missing_picture_is_named(tmp_path: Path) -> None:
    write_pictures(tmp_path)
    (tmp_path / "image/cifar10/test__frog__1.jpg").unlink()
    with pytest.raises(InvalidInput, match=r"test__frog__1\.jpg.*--data"):
        cases(tmp_path, "cifar10")
