"""Running a suite: answers in, figures out; interruptions, refusals, several questions, media."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from keyword_model import Info, KeywordModel
from rich.console import Console
from small_data import write_banking, write_clips, write_lines, write_pictures, write_sounds, write_texts

from omniclef.answers import Decision
from omniclef.errors import InvalidInput
from omniclef.evaluation.adapter import LocalModel
from omniclef.evaluation.run import BATCH, SuiteResult, evaluate


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNICLEF_CACHE", str(tmp_path / "cache"))


def run(model: KeywordModel, root: Path, *suites: str, **options: Any) -> list[SuiteResult]:
    return evaluate(model, suites, root, **options)


def stored(root: Path) -> list[Path]:
    return sorted((root / "cache/answers").glob("*.jsonl"))


def test_one_schema_over_many_states_in_batches(tmp_path: Path) -> None:
    write_banking(tmp_path)
    model = KeywordModel()
    [result] = run(model, tmp_path, "banking77")
    assert model.calls == ["many"] * 2
    assert 77 == model.states > BATCH
    assert (result.n, result.total, result.unanswered, result.full) == (77, 77, 0, True)
    assert (result.headline, result.headline_value) == ("macro_f1", result.measures.macro_f1)
    assert result.measures.accuracy > 0.9  # every message names its intent
    assert result.exact == result.measures.accuracy


def test_figures_are_those_of_the_answers(tmp_path: Path) -> None:
    write_lines(
        tmp_path / "text/sms_spam.test.jsonl",
        [
            {"text": "is this text message spam", "label": "spam"},
            {"text": "is this text message spam", "label": "ham"},
            {"text": "zzz", "label": "ham"},
        ],
    )
    [result] = run(KeywordModel(), tmp_path, "sms_spam")
    assert result.measures.accuracy == pytest.approx(1 / 3)  # no shared word is a tie, and true comes first
    assert result.measures.ece == pytest.approx((2 * abs(0.5 - 1) + abs(0 - 0.5)) / 3, abs=1e-3)
    assert set(result.types) == {"noul"}
    assert result.seen is True


def test_score_suites_report_the_error_of_the_expectation(tmp_path: Path) -> None:
    write_texts(tmp_path)
    [result] = run(KeywordModel(), tmp_path, "sst5")
    assert result.measures.mae == pytest.approx(
        2.0
    )  # no shared words: the expectation is the middle of 0 and 4
    assert result.seen is False


def test_a_refused_case_is_wrong_and_its_neighbours_are_answered(tmp_path: Path) -> None:
    write_banking(tmp_path)
    [whole] = run(KeywordModel(), tmp_path, "banking77")
    [result] = run(KeywordModel(refuses="pin blocked"), tmp_path, "banking77")
    assert (result.n, result.unanswered, result.measures.answered) == (77, 1, 76)
    assert result.measures.accuracy == pytest.approx(whole.measures.accuracy - 1 / 77)
    assert "holds 'pin blocked'" in result.errors[0]


def test_an_interrupted_run_goes_on_where_it_was(tmp_path: Path) -> None:
    write_banking(tmp_path)
    [whole] = run(KeywordModel(), tmp_path, "banking77")
    [path] = stored(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:50]) + lines[50][:40])  # killed in the middle of a line

    rest = KeywordModel()
    [resumed] = run(rest, tmp_path, "banking77", resume=True)
    assert rest.states == 27
    assert resumed.measures == whole.measures
    assert [json.loads(line)["case"] for line in path.read_text().splitlines()] == [
        json.loads(line)["case"] for line in lines
    ]

    nothing_left = KeywordModel()
    [again] = run(nothing_left, tmp_path, "banking77", resume=True)
    assert nothing_left.states == 0
    assert (again.measures, again.cases_per_second) == (whole.measures, None)


def test_without_resume_everything_is_asked_again(tmp_path: Path) -> None:
    write_texts(tmp_path)
    for _ in range(2):
        model = KeywordModel()
        run(model, tmp_path, "sms_spam")
        assert model.states == 2
    [path] = stored(tmp_path)
    assert len(path.read_text().splitlines()) == 2


def test_a_refused_case_is_tried_again_on_resume(tmp_path: Path) -> None:
    write_texts(tmp_path)
    [first] = run(KeywordModel(refuses="prize"), tmp_path, "sms_spam")
    mended = KeywordModel()
    [second] = run(mended, tmp_path, "sms_spam", resume=True)
    assert (first.unanswered, second.unanswered, mended.states) == (1, 0, 1)


def test_answers_of_another_model_or_other_data_are_not_used(tmp_path: Path) -> None:
    write_texts(tmp_path)
    shared = tmp_path / "answers"
    run(KeywordModel(), tmp_path, "sms_spam", answers=shared)
    other = KeywordModel(info=Info(digest="k2"))
    run(other, tmp_path, "sms_spam", answers=shared, resume=True)
    assert other.states == 2
    write_lines(tmp_path / "text/sms_spam.test.jsonl", [{"text": "new spam", "label": "spam"}])
    same = KeywordModel()
    run(same, tmp_path, "sms_spam", answers=shared, resume=True)
    assert same.states == 1


def test_a_limited_run_says_so(tmp_path: Path) -> None:
    write_banking(tmp_path)
    [result] = run(KeywordModel(), tmp_path, "banking77", limit=9, seed=4)
    assert (result.n, result.total, result.seed, result.full) == (9, 77, 4, False)


def test_a_missing_file_stops_before_the_first_question(tmp_path: Path) -> None:
    write_texts(tmp_path)
    model = KeywordModel()
    with pytest.raises(InvalidInput, match=r"metatool: needs bench/metatool"):
        run(model, tmp_path, "sms_spam", "metatool")
    assert model.states == 0


def test_pictures_are_decoded_and_examples_reach_the_model(tmp_path: Path) -> None:
    write_pictures(tmp_path)
    model = KeywordModel()
    [plain, shown] = run(model, tmp_path, "cifar10", "cifar10_examples")
    assert model.calls == ["records", "records"]
    assert (plain.measures.accuracy, shown.measures.accuracy) == (1.0, 1.0)
    assert model.records[0].images[0].shape == (32, 32, 3)
    frog = next(o for o in model.records[-1].questions["object"].options() if o.key == "frog")
    assert len(frog.examples) == 4


def test_slots_are_averaged_and_the_intent_stands_apart(tmp_path: Path) -> None:
    write_sounds(tmp_path)
    model = KeywordModel()
    [result] = run(model, tmp_path, "coffee_orders")
    assert model.records[0].audio[0].dtype == "float32"
    slots = [m.accuracy for name, m in result.questions.items() if name != "intent"]
    assert len(slots) == 6
    assert result.measures.accuracy == pytest.approx(sum(slots) / 6)
    assert result.questions["intent"].accuracy == 1.0
    assert result.exact == 0.0


def test_the_silent_twin_of_the_clips_has_no_sound(tmp_path: Path) -> None:
    write_clips(tmp_path)
    model = KeywordModel()
    [loud, mute] = run(model, tmp_path, "clips", "clips_silent")
    assert [r.videos[0].audio is not None for r in model.records] == [True, True, False, True] + [False] * 4
    assert set(loud.groups) == {"vas", "misc", "misc, no soundtrack"}
    assert loud.groups["vas"].n == mute.groups["vas"].n == 2


def test_anything_that_decides_requests_can_be_measured(tmp_path: Path) -> None:
    write_texts(tmp_path)

    class Remote:
        """Another process would stand here; nobody knows what it was trained on."""

        name, digest, families = "remote", "r1", None

        def __init__(self) -> None:
            self._model = LocalModel(KeywordModel())

        def decide_requests(self, requests: Sequence[Mapping[str, Any]]) -> list[Decision]:
            return self._model.decide_requests(json.loads(json.dumps(list(requests))))

    [theirs] = evaluate(Remote(), ["sms_spam"], tmp_path)
    [ours] = run(KeywordModel(), tmp_path, "sms_spam")
    assert theirs.measures == ours.measures
    assert (theirs.model, theirs.seen) == ("remote", None)


def test_the_progress_bar_goes_where_it_is_told(tmp_path: Path) -> None:
    write_texts(tmp_path)
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=100)
    run(KeywordModel(), tmp_path, "sms_spam", console=console)
    assert "sms_spam" in out.getvalue()
    assert "2/2" in out.getvalue()
