"""Metrics against values worked out by hand, and macro-F1 against scikit-learn."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score

from omniclef.evaluation.calibration import reliability_table
from omniclef.evaluation.metrics import (
    Outcome,
    accuracy,
    brier,
    ece,
    macro_f1,
    mean_absolute_error,
    measure,
    nll,
    reliability,
)

LABELS = st.sampled_from("abcde")


def outcome(probabilities: tuple[float, ...] | None, gold: str, kind: str = "choice") -> Outcome:
    keys = {"noul": ("true", "false"), "choice": ("a", "b", "c"), "score": ("0", "1", "2")}[kind]
    return Outcome("q", kind, keys, gold, probabilities)


def test_macro_f1_by_hand() -> None:
    # a: 2 hits of 3 claimed and 2 present, 4/5; b: 1 of 1 and 2, 2/3; c is claimed once and never present.
    predicted = ["a", "a", "a", "b", "c"]
    gold = ["a", "a", "b", "b", "a"]
    assert macro_f1(predicted, gold) == pytest.approx((2 * 2 / (3 + 3) + 2 * 1 / (1 + 2)) / 2)


@given(st.lists(st.tuples(LABELS, LABELS), min_size=1, max_size=60))
def test_accuracy_and_macro_f1_are_those_of_scikit_learn(pairs: list[tuple[str, str]]) -> None:
    predicted, gold = [p for p, _ in pairs], [g for _, g in pairs]
    theirs = f1_score(gold, predicted, labels=sorted(set(gold)), average="macro", zero_division=0)
    assert macro_f1(predicted, gold) == pytest.approx(theirs)
    assert accuracy(predicted, gold) == pytest.approx(accuracy_score(gold, predicted))


def test_unanswered_counts_as_wrong_everywhere_it_can() -> None:
    given_up = [
        outcome((0.7, 0.2, 0.1), "a"),
        outcome(None, "a"),
        outcome(None, "b"),
        outcome((0.1, 0.8, 0.1), "b"),
    ]
    m = measure(given_up)
    assert (m.n, m.answered, m.accuracy) == (4, 2, 0.5)
    assert m.macro_f1 == pytest.approx(2 / 3)
    assert m.nll == pytest.approx(-(math.log(0.7) + math.log(0.8)) / 2)


def test_nothing_answered_leaves_no_figure_of_probability() -> None:
    m = measure([outcome(None, "0", "score")])
    assert (m.accuracy, m.macro_f1, m.nll, m.brier, m.ece, m.mae) == (0.0, 0.0, None, None, None, None)


def test_nll_and_brier_by_hand() -> None:
    distributions = [[0.5, 0.25, 0.25], [0.1, 0.9]]
    assert nll(distributions, [0, 0]) == pytest.approx((math.log(2) + math.log(10)) / 2)
    assert brier(distributions, [0, 0]) == pytest.approx((0.25 + 0.0625 + 0.0625 + 0.81 + 0.81) / 2)


def test_a_certain_miss_costs_a_bounded_nll() -> None:
    assert nll([[1.0, 0.0]], [1]) == pytest.approx(12 * math.log(10))


def test_worst_brier_is_two() -> None:
    assert brier([[1.0, 0.0, 0.0]], [2]) == 2.0


def test_ece_by_hand() -> None:
    # Two answers at 0.9 (one right) and two at 0.5 (both right): (2 * 0.4 + 2 * 0.5) / 4.
    table = reliability_table([0.9, 0.9, 0.5, 0.5], [True, False, True, True])
    assert ece(table) == pytest.approx(0.45)


def test_bins_are_open_below_and_closed_above() -> None:
    table = reliability_table([1 / 15, 1 / 15 + 1e-9, 1.0, 0.0], [True, True, True, False])
    assert [b.count for b in table] == [2, 1, *[0] * 11, 0, 1]
    assert (table[0].low, table[-1].high) == (0.0, 1.0)


def test_a_noul_is_measured_on_the_side_it_takes() -> None:
    sure_no = outcome((0.05, 0.95), "false", "noul")
    assert sure_no.right
    [full] = [b for b in reliability([sure_no]) if b.count]
    assert (full.confidence, full.accuracy) == (0.95, 1.0)


def test_the_first_maximum_is_the_answer() -> None:
    assert outcome((0.4, 0.4, 0.2), "a").predicted == "a"


def test_score_error_is_of_the_expectation() -> None:
    assert mean_absolute_error([[0.5, 0.0, 0.5], [0.0, 0.0, 1.0]], [1, 0]) == pytest.approx(1.0)
    assert measure([outcome((0.0, 0.5, 0.5), "2", "score")]).mae == pytest.approx(0.5)
    assert measure([outcome((0.0, 0.5, 0.5), "c")]).mae is None


def test_answers_that_come_true_as_often_as_they_say_are_calibrated() -> None:
    draw = np.random.default_rng(5)
    stated = draw.dirichlet(np.ones(3), 8_000)
    came = (draw.random(8_000)[:, None] > stated.cumsum(axis=1)).sum(axis=1)
    drawn = [outcome(tuple(p), "abc"[g]) for p, g in zip(stated.tolist(), came, strict=True)]
    error = measure(drawn).ece
    assert error is not None
    assert error < 0.03
