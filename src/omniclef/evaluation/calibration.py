"""Temperatures and reliability: whether a probability means what it says.

Knows probabilities and which option was right; knows nothing of models, suites or files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["BINS", "Bin", "fit_temperature", "fit_temperatures", "reliability_table", "temper"]

BINS = 15
"""Equal-width bins of every reliability table and expected calibration error, as in Guo et al., 2017."""

_FLOOR = 1e-12  # log(0) would make one confident miss decide the whole fit
_GOLDEN = (5**0.5 - 1) / 2

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Bin:
    """Answers whose top probability lies in (low, high]; means of confidence and accuracy; 0 if empty."""

    low: float
    high: float
    count: int
    confidence: float
    accuracy: float


def reliability_table(top: Sequence[float], correct: Sequence[bool], bins: int = BINS) -> list[Bin]:
    """Sorts answers into ``bins`` equal-width bins of their top probability.

    top: [N] probabilities in 0..1. correct: [N] whether the top option was right.
    """
    confidence = np.asarray(top, dtype=np.float64)
    right = np.asarray(correct, dtype=np.float64)
    place = np.clip(np.ceil(confidence * bins).astype(np.int64) - 1, 0, bins - 1)
    count = np.bincount(place, minlength=bins)
    share = np.maximum(count, 1)
    means = np.bincount(place, weights=confidence, minlength=bins) / share
    hits = np.bincount(place, weights=right, minlength=bins) / share
    return [
        Bin(i / bins, (i + 1) / bins, int(count[i]), float(means[i]), float(hits[i])) for i in range(bins)
    ]


def temper(probabilities: Sequence[float], temperature: float) -> Vector:
    """softmax(log p / T): what dividing the logits behind ``probabilities`` by T gives."""
    logits = np.log(np.maximum(np.asarray(probabilities, dtype=np.float64), _FLOOR)) / temperature
    shifted = np.exp(logits - logits.max())
    return np.asarray(shifted / shifted.sum(), dtype=np.float64)


def fit_temperature(
    probabilities: Sequence[Sequence[float]], gold: Sequence[int], low: float = 0.05, high: float = 20.0
) -> float:
    """The temperature in [low, high] that minimises the mean negative log-likelihood of ``gold``.

    probabilities: N distributions, of any lengths. gold: [N] index of the right option. The likelihood is
    convex in 1/T, so it has one minimum in log T as well, which a golden-section search finds to a relative
    error of 1e-6.
    """
    if not probabilities:
        raise ValueError("a temperature needs at least one held-out answer")
    logits = _padded_logs(probabilities)
    chosen = logits[np.arange(len(gold)), np.asarray(gold)]

    def loss(log_temperature: float) -> float:
        scale = np.exp(-log_temperature)
        return float(np.mean(np.log(np.exp((logits - chosen[:, None]) * scale).sum(axis=1))))

    left, right = float(np.log(low)), float(np.log(high))
    inner, outer = right - _GOLDEN * (right - left), left + _GOLDEN * (right - left)
    at_inner, at_outer = loss(inner), loss(outer)
    while right - left > 1e-6:
        if at_inner <= at_outer:
            right, outer, at_outer = outer, inner, at_inner
            inner = right - _GOLDEN * (right - left)
            at_inner = loss(inner)
        else:
            left, inner, at_inner = inner, outer, at_outer
            outer = left + _GOLDEN * (right - left)
            at_outer = loss(outer)
    return float(np.exp((left + right) / 2))


def fit_temperatures(
    held_out: Mapping[str, tuple[Sequence[Sequence[float]], Sequence[int]]],
) -> dict[str, float]:
    """One temperature per question type, from {type: (probabilities, gold indices)}."""
    return {kind: fit_temperature(probabilities, gold) for kind, (probabilities, gold) in held_out.items()}


def _padded_logs(probabilities: Sequence[Sequence[float]]) -> Vector:
    width = max(len(row) for row in probabilities)
    logs = np.full((len(probabilities), width), -np.inf)
    for i, row in enumerate(probabilities):
        logs[i, : len(row)] = np.log(np.maximum(np.asarray(row, dtype=np.float64), _FLOOR))
    return logs
