"""Schema variation: whatever changes, the right answer stays right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omniclef.records import parse_questions
from omniclef.training.corpus.reading import normal
from omniclef.training.corpus.wordings import NONE_KEYS, PARAPHRASES, YES_NO
from omniclef.training.records import LabelledRecord
from omniclef.training.variation import Rates, collect_examples, vary

NAMES = (
    "findBus",
    "buy_ticket",
    "Play song",
    "getWeather",
    "CancelOrder",
    "transfer money",
    "bookRoom",
    "addAlarm",
)
SETTLED = Rates(*[0.0] * 15)


def record(count: int = 8, label: int = 0, described: bool = True) -> LabelledRecord:
    options: dict[str, Any] = {n: f"about {normal(n)}" if described else None for n in NAMES[:count]}
    return LabelledRecord(
        family="made",
        state="Is there a bus to Leeds at 9?",
        questions={
            "intent": {"type": "choice", "instructions": "What does the user want?", "criteria": options},
            "polite": {
                "type": "noul",
                "instructions": "Is the message urgent?",
                "criteria": {"true": "in a hurry"},
            },
            "urgency": {
                "type": "score",
                "instructions": "How urgent is it?",
                "criteria": ["later", "soon", "now"],
            },
            "fact": {"type": "noul", "instructions": "Is the total over 40?"},
        },
        labels={"intent": NAMES[label], "polite": True, "urgency": 1, "fact": False},
    )


def only(made: LabelledRecord, name: str) -> LabelledRecord:
    return LabelledRecord(made.family, made.state, {name: made.questions[name]}, {name: made.labels[name]})


@settings(max_examples=300, deadline=None)
@given(seed=st.integers(0, 2**32), count=st.integers(2, 8), described=st.booleans())
def test_the_label_of_a_choice_follows(seed: int, count: int, described: bool) -> None:
    label = seed % count
    changed = vary(only(record(count, label, described), "intent"), np.random.default_rng(seed), None)
    (question, answer), *_ = [
        (q, changed.labels[k]) for k,
        q in changed.questions.items() if "Who" not in str(q.get("instructions"))
        and "text" not in str(q.get("instructions", "")).lower() and q["type"] == "choice"
    ]  # fmt: skip
    keys = {normal(key) for key in question["criteria"]}
    assert answer in question["criteria"]
    if answer in NONE_KEYS:
        assert normal(NAMES[label]) not in keys
    else:
        assert normal(str(answer)) == normal(NAMES[label])
        description = question["criteria"][answer]
        text = description["description"] if isinstance(description, dict) else description
        assert text in (None, f"about {normal(NAMES[label])}")
    assert len(keys) >= 2


@settings(max_examples=300, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_every_variation_is_a_valid_request_with_valid_labels(seed: int) -> None:
    changed = vary(record(label=seed % 8), np.random.default_rng(seed))
    parsed = parse_questions(changed.questions)
    assert parsed.keys() == changed.labels.keys()
    for name, question in parsed.items():
        label = changed.labels[name]
        if question.type == "noul":
            assert isinstance(label, bool)
        elif question.type == "choice":
            assert label in {option.key for option in question.options()}
        else:
            assert isinstance(label, int)
            assert 0 <= label < len(question.options())


def test_the_same_seed_gives_the_same_record_and_another_seed_another() -> None:
    results = [vary(record(), np.random.default_rng(seed)) for seed in (3, 3, 4)]
    assert results[0] == results[1]
    assert results[0] != results[2]


def test_a_record_is_not_changed_in_place() -> None:
    made, same = record(), record()
    for seed in range(50):
        vary(made, np.random.default_rng(seed))
    assert made == same


@pytest.mark.parametrize("label", [True, False])
def test_a_noul_becomes_a_choice_with_the_same_answer(label: bool) -> None:
    made = LabelledRecord("made", "x", {"q": {"type": "noul", "instructions": "Over 40?"}}, {"q": label})
    for seed in range(20):
        changed = vary(made, np.random.default_rng(seed), rates=Rates(*[0.0] * 9, retyped=1.0, companion=0.0,
                                                                      ids_renamed=0.0))  # fmt: skip
        assert changed.questions["q"]["type"] == "choice"
        assert changed.labels["q"] in {pair[0 if label else 1] for pair in YES_NO}


def test_a_choice_of_yes_and_no_becomes_a_noul() -> None:
    question = {
        "type": "choice",
        "instructions": "Over 40?",
        "criteria": {"No": "at most 40", "Yes": "above"},
    }
    made = LabelledRecord("made", "x", {"q": question}, {"q": "No"})
    rates = Rates(*[0.0] * 9, retyped=1.0, companion=0.0, ids_renamed=0.0)
    changed = vary(made, np.random.default_rng(0), rates=rates)
    assert changed.questions["q"] == {
        "type": "noul",
        "instructions": "Over 40?",
        "criteria": {"true": "above", "false": "at most 40"},
    }
    assert changed.labels["q"] is False


def test_a_score_becomes_a_choice_among_its_levels() -> None:
    rates = Rates(*[0.0] * 9, retyped=1.0, companion=0.0, ids_renamed=0.0)
    changed = vary(only(record(), "urgency"), np.random.default_rng(0), rates=rates)
    assert changed.labels["urgency"] == "soon"
    assert set(changed.questions["urgency"]["criteria"]) == {"later", "soon", "now"}


def test_an_instruction_with_facts_is_never_reworded_or_dropped() -> None:
    assert "Is the total over 40?" not in PARAPHRASES
    for seed in range(100):
        changed = vary(only(record(), "fact"), np.random.default_rng(seed))
        assert "Is the total over 40?" in [q.get("instructions") for q in changed.questions.values()]


def test_nothing_changes_but_the_order_at_rates_of_zero() -> None:
    changed = vary(record(), np.random.default_rng(1), rates=SETTLED)
    assert changed == record()  # dicts compare without their order
    assert {tuple(vary(record(), np.random.default_rng(s), rates=SETTLED).questions) for s in range(9)} != {
        tuple(record().questions)
    }


def test_the_right_option_removed_makes_none_of_these_right() -> None:
    rates = Rates(*[0.0] * 3, right_removed=1.0, none_added=0.0, renamed=0.0, descriptions_dropped=0.0)
    changed = vary(only(record(), "intent"), np.random.default_rng(0), rates=rates)
    label = next(iter(changed.labels.values()))
    assert label in NONE_KEYS
    assert NAMES[0] not in next(iter(changed.questions.values()))["criteria"]


def test_a_closed_question_gets_no_further_option() -> None:
    question = {
        "type": "choice",
        "instructions": "Verdict?",
        "criteria": dict.fromkeys(("right", "wrong", "open", "so")),
    }
    made = LabelledRecord("made", "x", {"verdict": question}, {"verdict": "wrong"})
    for seed in range(100):
        changed = vary(made, np.random.default_rng(seed))
        for found in changed.questions.values():
            if found.get("instructions") == "Verdict?":
                assert not NONE_KEYS & found["criteria"].keys()


def test_examples_belong_to_their_option_and_never_repeat_the_state() -> None:
    states = {name: [f"{name} {i}" for i in range(6)] for name in NAMES}
    made = [
        LabelledRecord("made", text, record().questions, record().labels | {"intent": name})
        for name, texts in states.items()
        for text in texts
    ]
    pools = collect_examples(made)
    assert set(pools["made", "intent"]) == set(NAMES)
    rates = Rates(*[0.0] * 8, examples=1.0, retyped=0.0, companion=0.0, ids_renamed=0.0, fewer_questions=0.0)
    for own in made[:20]:
        options = vary(own, np.random.default_rng(0), pools, rates).questions["intent"]["criteria"]
        for name, value in options.items():
            assert 2 <= len(value["examples"]) <= 5
            assert set(value["examples"]) <= set(states[name]) - {own.state}


def test_validation_records_give_no_examples() -> None:
    held = LabelledRecord("made", "a text", record().questions, record().labels, split="valid")
    assert collect_examples([held]) == {}
