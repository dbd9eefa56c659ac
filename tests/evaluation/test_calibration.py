"""Temperatures: the one that made the data is found, and it only ever lowers the likelihood loss."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omniclef.answers import softmax
from omniclef.evaluation.calibration import fit_temperature, fit_temperatures, reliability_table, temper
from omniclef.evaluation.metrics import ece, nll


def drawn(temperature: float, count: int, seed: int) -> tuple[list[list[float]], list[int]]:
    """Answers stated at temperature 1 whose truth is drawn at ``temperature``, with 2 to 5 options."""
    draw = np.random.default_rng(seed)
    stated, gold = [], []
    for _ in range(count):
        logits = draw.normal(0, 3, draw.integers(2, 6)).tolist()
        stated.append(softmax(logits))
        gold.append(int(draw.choice(len(logits), p=softmax(logits, temperature))))
    return stated, gold


@pytest.mark.parametrize("temperature", [0.6, 1.0, 2.5])
def test_the_temperature_behind_the_data_is_found(temperature: float) -> None:
    stated, gold = drawn(temperature, 8_000, seed=1)
    assert fit_temperature(stated, gold) == pytest.approx(temperature, rel=0.07)


def test_the_minimum_is_a_minimum() -> None:
    stated, gold = drawn(1.7, 500, seed=2)
    best = fit_temperature(stated, gold)

    def loss(t: float) -> float:
        return nll([temper(p, t).tolist() for p in stated], gold)

    assert loss(best) <= min(loss(best * 0.99), loss(best * 1.01))


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.sampled_from([0.5, 1.0, 3.0]))
def test_fitting_never_raises_the_loss_of_its_own_data(seed: int, temperature: float) -> None:
    stated, gold = drawn(temperature, 40, seed)
    fitted = fit_temperature(stated, gold)
    assert nll([temper(p, fitted).tolist() for p in stated], gold) <= nll(stated, gold) + 1e-7


def test_overconfident_answers_become_calibrated() -> None:
    stated, gold = drawn(2.5, 8_000, seed=4)

    def error(distributions: list[list[float]]) -> float:
        right = [int(np.argmax(p)) == g for p, g in zip(distributions, gold, strict=True)]
        return ece(reliability_table([max(p) for p in distributions], right))

    temperature = fit_temperature(stated, gold)
    cooled = [temper(p, temperature).tolist() for p in stated]
    assert error(stated) > 0.1
    assert error(cooled) < 0.02


def test_each_type_gets_its_own_temperature() -> None:
    fitted = fit_temperatures({"noul": drawn(0.6, 4_000, seed=5), "choice": drawn(2.5, 4_000, seed=6)})
    assert fitted["noul"] < 1 < fitted["choice"]


def test_answers_that_are_always_right_or_always_wrong_stay_within_the_bounds() -> None:
    assert fit_temperature([[0.6, 0.4]] * 5, [0] * 5) == pytest.approx(0.05, rel=1e-4)
    assert fit_temperature([[1.0, 0.0]] * 5, [1] * 5) == pytest.approx(20, rel=1e-4)


def test_no_answers_no_temperature() -> None:
    with pytest.raises(ValueError, match="at least one"):
        fit_temperature([], [])
