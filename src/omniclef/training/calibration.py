"""How sharp a finished model's probabilities should be: fitted on held-out answers, and measured on others.

Knows held-out answers with the trust that the head had in each; knows nothing of towers, files or recipes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from omniclef.evaluation.calibration import fit_temperature, reliability_table, temper
from omniclef.evaluation.metrics import ece

__all__ = ["HeldOut", "fit_sharpness", "honesty"]

ENOUGH = 30
"""Answers of a type below which nothing is fitted to them."""

MOST = 2.0
"""How many times sharper or blunter a sense may be than its type: one easy family must not speak for all of a sense."""

TYPES = ("noul", "choice", "score")
SENSES = ("text", "image", "audio", "video")


@dataclass(frozen=True, slots=True)
class HeldOut:
    """One labelled question, answered.

    kind: the question's type. probabilities: of its options. gold: position of the right one. trust: how far the joint
    part of the head was trusted with it, 0 to 1. medium: what its record speaks to.
    """

    kind: str
    probabilities: Sequence[float]
    gold: int
    trust: float
    medium: str


def fit_sharpness(answers: Sequence[HeldOut]) -> dict[str, Any]:
    """``temperatures`` by question type, by what factor the prior is sharper than that where it stands alone
    (``sharp``), and by what factors answers about pictures, sounds, clips and texts are (``media``).

    Args:
        answers: of a model whose factors are all 1.

    The temperature is that of the questions whose options are more like than unlike those of training. A factor makes
    its answers as likely as a temperature of their own would. A prior that tells nothing, as that of most yes-or-no
    questions, so comes out near even.
    """
    temperatures, alone = {}, {}
    media: dict[str, dict[str, float]] = {sense: {} for sense in SENSES}
    for kind in TYPES:
        known = [one for one in answers if one.kind == kind and one.trust >= 0.5]
        strange = [one for one in answers if one.kind == kind and one.trust < 0.5]
        temperature = _temperature(known) if len(known) >= ENOUGH else 1.0
        temperatures[kind] = round(temperature, 4)
        alone[kind] = round(temperature / _temperature(strange), 4) if len(strange) >= ENOUGH else 1.0
        for sense, factors in media.items():
            own = [one for one in known if one.medium == sense]
            if len(own) >= ENOUGH:
                factors[kind] = round(min(max(temperature / _temperature(own), 1 / MOST), MOST), 4)
    return {"temperatures": temperatures, "sharp": alone, "media": media}


def honesty(answers: Sequence[HeldOut], temperatures: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """Accuracy and expected calibration error of each type after ``temperatures``, and of each type and medium."""
    groups: dict[str, list[HeldOut]] = {kind: [] for kind in temperatures}
    for one in answers:
        groups[one.kind].append(one)
        groups.setdefault(f"{one.kind}, {one.medium}", []).append(one)
    return {name: _worth(group, temperatures) for name, group in groups.items()}


def _worth(answers: Sequence[HeldOut], temperatures: Mapping[str, float]) -> dict[str, float]:
    tempered = [temper(one.probabilities, temperatures[one.kind]) for one in answers]
    right = [int(p.argmax()) == one.gold for p, one in zip(tempered, answers, strict=True)]
    error = ece(reliability_table([float(p.max()) for p in tempered], right)) if answers else 0.0
    accuracy = float(np.mean(right)) if answers else 0.0
    return {"questions": len(answers), "accuracy": round(accuracy, 4), "ece": round(error, 4)}


def _temperature(answers: Sequence[HeldOut]) -> float:
    return fit_temperature([one.probabilities for one in answers], [one.gold for one in answers])
