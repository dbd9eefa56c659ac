"""Sharpness: what was drawn with a temperature is found again, by type, by trust and by sense."""

from __future__ import annotations

import numpy as np
import pytest

from omniclef.training.calibration import HeldOut, fit_sharpness, honesty


def drawn(kind: str, medium: str, trust: float, temperature: float, count: int = 3_000) -> list[HeldOut]:
    """Answers of a model that is ``temperature`` times too sharp."""
    rng = np.random.default_rng(int(1000 * temperature) + len(medium))
    found = []
    for logits in 2 * rng.standard_normal((count, 4)):
        honest = np.exp(logits - logits.max())
        honest /= honest.sum()
        claimed = honest**temperature
        gold = int(rng.choice(4, p=honest))
        found.append(HeldOut(kind, (claimed / claimed.sum()).tolist(), gold, trust, medium))
    return found


def test_every_group_gets_the_sharpness_it_was_drawn_with() -> None:
    answers = [
        *drawn("choice", "text", 1.0, 1.5),
        *drawn("choice", "audio", 1.0, 0.7),
        *drawn("choice", "text", 0.0, 4.0),
        *drawn("noul", "text", 1.0, 1.5),
    ]
    fitted = fit_sharpness(answers)
    assert fitted["temperatures"]["noul"] == pytest.approx(1.5, rel=0.1)
    assert fitted["temperatures"]["score"] == 1.0  # nothing to fit it to
    for medium, own in (("text", 1.5), ("audio", 0.7)):
        reached = fitted["temperatures"]["choice"] / fitted["media"][medium]["choice"]
        assert reached == pytest.approx(own, rel=0.1)
    assert fitted["temperatures"]["choice"] / fitted["sharp"]["choice"] == pytest.approx(4.0, rel=0.1)
    assert fitted["media"]["image"] == {}


def test_one_easy_family_does_not_make_a_sense_boundless() -> None:
    easy = [HeldOut("score", [0.6, 0.4], 0, 1.0, "audio")] * 100
    fitted = fit_sharpness([*drawn("score", "text", 1.0, 1.0), *easy])
    assert fitted["media"]["audio"]["score"] == 2.0


def test_what_is_measured_is_of_each_type_and_sense() -> None:
    answers = [*drawn("choice", "text", 1.0, 2.0), *drawn("choice", "audio", 1.0, 2.0, 500)]
    dishonest = honesty(answers, {"choice": 1.0, "noul": 1.0})
    honest = honesty(answers, {"choice": 2.0, "noul": 1.0})
    assert {name: one["questions"] for name, one in honest.items()} == {
        "choice": 3_500,
        "noul": 0,
        "choice, text": 3_000,
        "choice, audio": 500,
    }
    assert honest["choice"]["ece"] < 0.03 < 0.08 < dishonest["choice"]["ece"]
    assert honest["choice"]["accuracy"] == dishonest["choice"]["accuracy"]
