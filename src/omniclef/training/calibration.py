"""How sharp a finished model's probabilities should be: fitted on held-out answers, and measured on others.

Knows held-out answers with the trust that the head had in each; knows nothing of towers, files or recipes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from omniclef.evaluation.calibration import fit_temperature, reliability_table, temper
from omniclef.evaluation.metrics import ece

__all__ = ["HeldOut", "fit_sharpness", "honesty"]

ENOUGH = 30
"""Answers of a type below which nothing is fitted to them."""


@dataclass(frozen=True, slots=True)
class HeldOut:
    """One labelled question, answered.

    kind: the question's type. probabilities: of its options. gold: position of the right one. trust: how far the joint
    part of the head was trusted with it, 0 to 1.
    """

    kind: str
    probabilities: Sequence[float]
    gold: int
    trust: float


def fit_sharpness(answers: Sequence[HeldOut]) -> tuple[dict[str, float], dict[str, float]]:
    """Temperatures by question type, and by what factor the prior is sharper than that where it stands alone.

    Args:
        answers: of a model whose factors are all 1.

    The temperature is that of the questions whose options are more like than unlike those of training, the factor makes
    the others as likely as a temperature of their own would. A prior that tells nothing, as that of most yes-or-no
    questions, so comes out near even.
    """
    temperatures, factors = {}, {}
    for kind in ("noul", "choice", "score"):
        known = [one for one in answers if one.kind == kind and one.trust >= 0.5]
        strange = [one for one in answers if one.kind == kind and one.trust < 0.5]
        temperatures[kind] = _temperature(known) if len(known) >= ENOUGH else 1.0
        factors[kind] = temperatures[kind] / _temperature(strange) if len(strange) >= ENOUGH else 1.0
    return temperatures, factors


def honesty(answers: Sequence[HeldOut], temperatures: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """Accuracy and expected calibration error of each type after ``temperatures``."""
    found = {}
    for kind, temperature in temperatures.items():
        own = [one for one in answers if one.kind == kind]
        tempered = [temper(one.probabilities, temperature) for one in own]
        right = [int(p.argmax()) == one.gold for p, one in zip(tempered, own, strict=True)]
        error = ece(reliability_table([float(p.max()) for p in tempered], right)) if own else 0.0
        accuracy = float(np.mean(right)) if own else 0.0
        found[kind] = {"questions": len(own), "accuracy": round(accuracy, 4), "ece": round(error, 4)}
    return found


def _temperature(answers: Sequence[HeldOut]) -> float:
    return fit_temperature([one.probabilities for one in answers], [one.gold for one in answers])
