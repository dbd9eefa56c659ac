"""Evidence: where it is, that it cuts what it names, and that an answer hangs on it."""

from __future__ import annotations

import importlib.util
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omniclef
from omniclef.answers import Evidence
from omniclef.backbones.base import Leaf, Prefill, RowSource, below
from omniclef.backbones.nano.pieces import segments
from omniclef.evidence import evidence, rendered
from omniclef.records import Record, parse_questions, render

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared/data"
DEMO = ROOT / "src/omniclef/demo"

QUESTIONS: dict[str, Any] = {
    "team": {"type": "choice", "instructions": "Which team?", "criteria": {"billing": "payments", "technical": None}},
    "refund": {"type": "noul", "instructions": "Does the customer ask for money back?"},
    "urgency": {"type": "score", "instructions": "How urgent is it?", "criteria": ["can wait", "today"]},
}
LONG = "The parcel has not come yet, and nobody answers the phone. I was charged twice for it! "
STATES = [
    {"ticket": {"body": LONG * 2, "id": 77, "a/b~c": [True, None, "café 🎉 zurück", -1.5e30]}, "": "empty key"},
    [{"role": "user", "content": 'hi, my 📱 app\tcrashes "often"\nwhen I open it'}, {"role": "agent", "content": "oh"}],
    {"log": [{"at": n, "said": f"{LONG} {n}", "tags": ["x", f"Größe {n}"]} for n in range(5)], "note": "  我要退款。 "},
    ["one", {"deep": [[["two words"], {"x": {"y": "three\\four \u2028 five"}}]]}],
]  # fmt: skip


def at(state: Any, path: str) -> str:
    """The value that a JSON Pointer leads to, as text."""
    for step in path.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        state = state[int(key)] if isinstance(state, list) else state[key]
    return state if isinstance(state, str) else json.dumps(state)


def pieces_of(found: Any) -> Iterator[Evidence]:
    return (piece for options in found.values() for pieces in options.values() for piece in pieces)


def check(pieces: Iterator[Evidence], state: Any) -> int:
    count = 0
    for piece in pieces:
        assert piece.modality == "text"
        assert piece.index == 0
        assert (piece.path is None) == isinstance(state, str)
        start, stop = piece.span
        value = state if piece.path is None else at(state, piece.path)
        assert 0 <= start < stop <= len(value)
        assert piece.text == value[start:stop] == value[start:stop].strip() != ""
        count += 1
    return count


# Where it is


@pytest.mark.parametrize("state", [*STATES, LONG, "é ü " * 300 + LONG, "word"])
def test_spans_cut_the_text_they_name_out_of_the_value_their_path_leads_to(nano: Any, state: Any) -> None:
    found = nano.decide(state, QUESTIONS, evidence=True).evidence
    assert check(pieces_of(found), state) >= 6


@pytest.mark.parametrize("state", STATES)
def test_every_value_of_a_state_has_its_path(state: Any) -> None:
    def paths(value: Any, path: str = "") -> Iterator[str]:
        if isinstance(value, dict):
            yield from (each for key, item in value.items() for each in paths(item, below(path, key)))
        elif isinstance(value, list):
            yield from (each for index, item in enumerate(value) for each in paths(item, f"{path}/{index}"))
        else:
            yield path

    read = [leaf.path for segment in segments(state, leaves=True) for leaf in segment.leaves]
    assert sorted(map(str, read)) == sorted(paths(state))
    written = rendered(Record(state, parse_questions(QUESTIONS)))[0]
    assert sorted(str(leaf.path) for leaf in written) == sorted(paths(state))
    assert [leaf.start for leaf in written] == sorted(leaf.start for leaf in written)


values = st.recursive(
    st.text(max_size=12) | st.integers(-99, 99) | st.booleans() | st.none() | st.floats(-10, 10),
    lambda v: st.lists(v, max_size=4) | st.dictionaries(st.text(max_size=6), v, max_size=4),
    max_leaves=12,
)
states = st.lists(values, min_size=1, max_size=5) | st.dictionaries(st.text(max_size=6), values, min_size=1, max_size=5)


@settings(deadline=None, max_examples=150)
@given(states)
def test_values_stand_where_they_are_said_to_stand(state: Any) -> None:
    cut = segments(state, leaves=True)
    assert [(s.text, s.weight, s.place) for s in cut] == [(s.text, s.weight, s.place) for s in segments(state)]
    for segment in cut:
        for leaf in segment.leaves:
            assert leaf.value == at(state, str(leaf.path))
            if leaf.value == "null":  # which reads "none"; a string of that name does not
                assert segment.text[leaf.start :].startswith(("none", "null"))
                continue
            for place, character in enumerate(leaf.value):
                if character.strip():
                    assert segment.text[leaf.start + place] == character
    record = Record(state, parse_questions({"q": QUESTIONS["refund"]}))
    text = render(record.state)
    for leaf in rendered(record)[0]:
        assert leaf.value == at(record.state, str(leaf.path))
        places = range(len(leaf.value)) if leaf.edges is None else leaf.edges.tolist()
        for place, character in zip(places, leaf.value, strict=True):
            escaped = json.dumps(character, ensure_ascii=False)[1:-1]
            assert text[leaf.start + place :].startswith((escaped, character))


@pytest.mark.parametrize(
    ("path", "key", "found"), [("", "a", "/a"), ("/a", "", "/a/"), ("/a", "b/c", "/a/b~1c"), ("", "~1", "/~01")]
)
def test_pointers_are_escaped_as_the_rfc_says(path: str, key: str, found: str) -> None:
    assert below(path, key) == found


def test_paths_are_written_where_there_are_any(cli: Any) -> None:
    words = Evidence("text", 0, (3, 9), 0.5, "refund", "/ticket/body")
    assert words.to_dict() == {
        "modality": "text", "index": 0, "span": [3, 9], "weight": 0.5, "text": "refund", "path": "/ticket/body"
    }  # fmt: skip
    state = json.dumps({"ticket": {"body": LONG}, "lines": [LONG]})
    asked = ["--state", state, "--state-json", "--noul", "refund=Does the customer ask for money back?", "--evidence"]
    pieces = json.loads(cli("ask", "--json", *asked).out)["x_evidence"]["refund"]["true"]
    assert {piece["path"] for piece in pieces} <= {"/ticket/body", "/lines/0"}
    drawn = cli("ask", *asked).out
    assert 'looked at "' in drawn
    assert '" in /ticket/body (' in drawn or '" in /lines/0 (' in drawn


# What it weighs


@pytest.mark.parametrize("state", [*STATES, LONG, "word"])
def test_evidence_changes_no_answer(nano: Any, state: Any) -> None:
    plain, with_ = nano.decide(state, QUESTIONS), nano.decide(state, QUESTIONS, evidence=True)
    assert plain.answers == with_.answers
    assert plain.evidence is None


def test_weights_are_shares(nano: Any) -> None:
    media = {"images": [DEMO / "photo.jpg"] * 2, "audio": [DEMO / "order.wav"], "videos": [DEMO / "clip.mp4"]}
    for state, given_media in [*((state, {}) for state in [*STATES, LONG, ""]), (LONG, media), ("", media)]:
        for options in nano.decide(state, QUESTIONS, evidence=True, **given_media).evidence.values():
            for pieces in options.values():
                weights = [piece.weight for piece in pieces]
                assert weights == sorted(weights, reverse=True)
                assert all(0 < weight <= 1 for weight in weights)
                assert sum(weights) <= 1 + 1e-4
                assert bool(weights) == bool(state or given_media)


def test_boxes_lie_in_the_picture_and_times_in_the_clip(nano: Any) -> None:
    media = {"images": [DEMO / "photo.jpg"], "audio": [DEMO / "order.wav"], "videos": [DEMO / "clip.mp4"]}
    kinds = set()
    for chosen in ("images", "audio", "videos"):
        record = omniclef.model.read_record("", parse_questions(QUESTIONS), *(
            [media[kind]] [0] if kind == chosen else [] for kind in ("images", "audio", "videos")
        ), None)  # fmt: skip
        last = [len(sound) / 16_000 for sound in record.audio] + [len(v.frames) / v.fps for v in record.videos]
        for piece in pieces_of(nano.decide_records([record], evidence=True)[0].evidence):
            kinds.add(piece.modality)
            assert piece.text is piece.path is None
            if piece.modality == "image":
                left, top, right, bottom = piece.span
                assert 0 <= left < right <= 1
                assert 0 <= top < bottom <= 1
            else:
                start, stop = piece.span
                assert 0 <= start < stop <= last[0] + 0.09  # the last row may reach beyond the end
    assert kinds == {"image", "audio", "video"}


# Phrases, boxes and stretches of time from rows


def prefill(*sources: RowSource) -> Prefill:
    """Rows that only attention says something of."""
    rows = np.zeros((max(source.stop for source in sources), 4), np.float32)
    one = np.ones((1, 4), np.float32)
    return Prefill(rows, one[0], one, one, one, np.zeros(1, np.int64), np.zeros(1, np.int64), sources=sources)


def drawn(pieces: list[Evidence]) -> list[tuple[Any, float]]:
    return [(piece.text or piece.span, round(piece.weight, 4)) for piece in pieces]


def test_a_phrase_is_a_run_of_heavy_words_within_a_clause() -> None:
    text = "a b c d e f g h. i j k l m n"
    spans = np.array([(n, n + 1) for n in range(0, len(text), 1) if text[n] not in " ."], np.int32)
    attention = np.full((1, len(spans)), 0.012, np.float32)
    attention[0, [2, 3]] = 0.3
    attention[0, [7, 8]] = 0.14
    (found,) = evidence(prefill(RowSource("text", 0, 0, len(spans), spans)), [[Leaf(None, text, 0)]], attention)
    assert drawn(found) == [("b c d e", 0.624), ("h.", 0.14), ("i", 0.14)]  # a clause ends between the last two


def test_a_fields_name_counts_for_its_value() -> None:
    text = '{"a":{"urgent":true},"b":"no reason"}'
    record = Record(json.loads(text), parse_questions({"q": QUESTIONS["refund"]}))
    spans = np.array([(n, n + 1) for n in range(len(text))], np.int32)
    attention = np.zeros((1, len(spans)), np.float32)
    attention[0, text.index("urgent")] = 0.6
    attention[0, text.index("reason")] = 0.4
    (found,) = evidence(prefill(RowSource("text", 0, 0, len(text), spans)), rendered(record), attention)
    assert [(p.path, p.text, p.span) for p in found] == [("/a/urgent", "true", (0, 4))]
    assert found[0].weight == pytest.approx(0.6)


def test_escaped_characters_do_not_shift_spans() -> None:
    state = {"a": 'tab\there "quoted" \u0001 and the end'}
    record = Record(state, parse_questions({"q": QUESTIONS["refund"]}))
    text = render(record.state)
    spans = np.array([(n, n + 1) for n in range(len(text))], np.int32)
    attention = np.zeros((1, len(spans)), np.float32)
    attention[0, text.index("end") + 1] = 1
    (found,) = evidence(prefill(RowSource("text", 0, 0, len(text), spans)), rendered(record), attention)
    assert [(p.text, p.path) for p in found] == [("the end", "/a")]
    assert check(iter(found), state) == 1


def test_scripts_without_spaces_are_cut_too() -> None:
    text = "我被扣了两次款。请退款给我。"
    spans = np.array([(n, n + 1) for n in range(len(text))], np.int32)
    attention = np.full((1, len(spans)), 0.01, np.float32)
    attention[0, text.index("退款") : text.index("退款") + 2] = 0.4
    (found,) = evidence(prefill(RowSource("text", 0, 0, len(text), spans)), [[Leaf(None, text, 0)]], attention)
    assert found[0].text == "请退款给"


def test_neighbouring_cells_make_a_box() -> None:
    grid = np.zeros((4, 5), np.float32)
    grid[1, 1:3], grid[2, 2], grid[0, 4] = 0.2, 0.2, 0.3
    boxes = [(x / 5, y / 4, (x + 1) / 5, (y + 1) / 4) for y in range(4) for x in range(5)]
    (found,) = evidence(prefill(RowSource("image", 3, 0, 20, boxes)), [], grid.reshape(1, -1))
    assert [piece.index for piece in found] == [3, 3]
    assert drawn(found) == [((0.2, 0.25, 0.6, 0.75), 0.6), ((0.8, 0.0, 1.0, 0.25), 0.3)]


def test_moments_that_belong_together_make_one_stretch() -> None:
    frames = [(n / 2, n / 2 + 0.5) for n in range(6) for _ in range(2)]
    heard = [(n / 10, n / 10 + 0.1) for n in range(30)]
    spans = sorted(frames + heard)
    attention = np.array([[0.1 if 1 <= start < 2 else 0 for start, _ in spans]], np.float32)
    attention /= attention.sum()
    (found,) = evidence(prefill(RowSource("video", 0, 0, len(spans), spans)), [], attention)
    assert drawn(found) == [((1.0, 2.0), 1.0)]


def test_frames_that_are_sources_of_their_own_are_one_clip() -> None:
    frames = [RowSource("video", 1, 4 * n, 4 * n + 3, [(n / 2, n / 2 + 0.5)] * 3) for n in range(6)]
    attention = np.zeros((1, 24), np.float32)
    attention[0, 8:11], attention[0, 12:15], attention[0, 15] = 0.1, 0.1, 0.4  # what stands between is no evidence
    (found,) = evidence(prefill(*frames), [], attention)
    assert drawn(found) == [((1.0, 2.0), 0.6)]


# That an answer hangs on it


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    spec = importlib.util.spec_from_file_location("evidence_benchmark", ROOT / "benchmarks/evidence.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_planted_sentence_is_ranked_first(nano: Any, bench: ModuleType) -> None:
    rng = np.random.default_rng(1)
    hits = []
    for topic, as_json in itertools.product(bench.TOPICS, (False, True, False, True)):
        planted = bench.planted_sentence(topic, rng, as_json=as_json)
        hits.append(planted.holds(bench.ranked(nano, planted)[0]))
    assert np.mean(hits) >= 0.8


def test_a_planted_picture_is_ranked_first(nano: Any, bench: ModuleType) -> None:
    question = {"type": "choice", "instructions": "What is in one of the pictures?"}
    question |= {"criteria": dict.fromkeys(["oranges", "a car", "a person"])}
    rng = np.random.default_rng(2)
    hits = []
    for index in [0, 1, 2] * 4:
        images = [bench.picture(rng) for _ in range(2)]
        images.insert(index, (DEMO / "photo.jpg").read_bytes())
        found = nano.decide("", {"q": question}, images=images, evidence=True).evidence
        hits.append(found["q"]["oranges"][0].index == index)
    assert np.mean(hits) >= 0.8


def test_taking_evidence_away_changes_more_than_taking_anything_away(nano: Any, bench: ModuleType) -> None:
    rng = np.random.default_rng(3)
    drawn = [bench.planted_sentence(bench.TOPICS[n % len(bench.TOPICS)], rng, 6, n % 2 == 1) for n in range(60)]
    gaps = []
    for question in {id(each.question): each.question for each in drawn}.values():
        states = [each.state for each in drawn if each.question is question]
        rows, _ = bench.removed(nano, states, parse_questions({"q": question}), rng)
        gaps += (rows[:, 0] - rows[:, 2]).tolist()
    assert len(gaps) == 60
    assert np.mean(gaps) > 2 * np.std(gaps) / len(gaps) ** 0.5


# The data sets are not part of the project, so without the folder there is nothing here to test.
if DATA.is_dir():

    @pytest.mark.slow
    @pytest.mark.parametrize("suite", ["banking77", "clinc150_oos", "github_issues", "sms_spam", "presidio_pii"])
    def test_taking_evidence_away_changes_more_on_test_records(nano: Any, bench: ModuleType, suite: str) -> None:
        states, questions = bench.records(suite, DATA, 300, 0)
        rows, _ = bench.removed(nano, states, questions, np.random.default_rng(0))
        gaps = rows[:, 0] - rows[:, 2]
        assert len(gaps) >= 250  # some states have room for one span only
        assert gaps.mean() > 2 * gaps.std() / len(gaps) ** 0.5

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", ["choice", "noul"])
    def test_a_planted_clip_art_is_ranked_first(nano: Any, bench: ModuleType, kind: str) -> None:
        rng = np.random.default_rng(4)
        planted = [bench.planted_pictures(kind, DATA, rng) for _ in range(100)]
        assert np.mean([each.holds(bench.ranked(nano, each)[0]) for each in planted]) >= 0.8
