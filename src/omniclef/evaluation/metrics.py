"""What a set of answers is worth, in numbers.

Knows distributions over options and which option was right; knows nothing of models, suites or files. An
unanswered question is None: it counts as wrong in accuracy and macro-F1, and is left out of the measures of
probability
(NLL, Brier, ECE, mean absolute error), which have nothing to measure there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from omniclef.evaluation.calibration import Bin, reliability_table

__all__ = [
    "Measures",
    "Outcome",
    "accuracy",
    "brier",
    "ece",
    "macro_f1",
    "mean_absolute_error",
    "measure",
    "nll",
    "reliability",
]

_FLOOR = 1e-12


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question of one case: its id and type, option keys in request order, the right key and the answer.

    probabilities: one per key, or None when the model did not answer.
    """

    question: str
    type: str
    keys: tuple[str, ...]
    gold: str
    probabilities: tuple[float, ...] | None
    group: str = ""

    @property
    def predicted(self) -> str | None:
        """The first most probable key, as in an answer on the wire."""
        if self.probabilities is None:
            return None
        return self.keys[max(range(len(self.keys)), key=self.probabilities.__getitem__)]

    @property
    def right(self) -> bool:
        return self.predicted == self.gold


@dataclass(frozen=True, slots=True)
class Measures:
    """Figures of ``n`` questions, ``answered`` of them. Those of probability are None when none was answered.

    mae: mean absolute error of a score's expectation, in levels; None for other types.
    """

    n: int
    answered: int
    accuracy: float
    macro_f1: float
    nll: float | None
    brier: float | None
    ece: float | None
    mae: float | None


def accuracy(predicted: Sequence[str | None], gold: Sequence[str]) -> float:
    """Share of questions whose predicted key is the right one."""
    return sum(p == g for p, g in zip(predicted, gold, strict=True)) / len(gold)


def macro_f1(predicted: Sequence[str | None], gold: Sequence[str]) -> float:
    """Mean F1 over the keys that occur in ``gold``: scikit-learn's f1_score with labels=sorted(set(gold)).

    A key that is predicted but never right has no F1 of its own here; its misses cost the keys it was taken
    for.
    """
    claimed, present = Counter(predicted), Counter(gold)
    hits = Counter(g for p, g in zip(predicted, gold, strict=True) if p == g)
    return sum(2 * hits[key] / (claimed[key] + count) for key, count in present.items()) / len(present)


def nll(probabilities: Sequence[Sequence[float]], gold: Sequence[int]) -> float:
    """Mean -ln p(right option), in nats; p is not taken below 1e-12."""
    return float(np.mean([-np.log(max(p[g], _FLOOR)) for p, g in zip(probabilities, gold, strict=True)]))


def brier(probabilities: Sequence[Sequence[float]], gold: Sequence[int]) -> float:
    """Mean over questions of sum over options of (p - [option is right])^2: 0 is perfect, 2 the worst.

    The multi-class sum of Brier, 1950; for two options it is twice the one-sided form.
    """
    total = 0.0
    for p, g in zip(probabilities, gold, strict=True):
        target = np.zeros(len(p))
        target[g] = 1.0
        total += float(np.sum((np.asarray(p) - target) ** 2))
    return total / len(gold)


def ece(table: Iterable[Bin]) -> float:
    """Expected calibration error: mean over answers of |accuracy - confidence| of their bin of top
    probability."""
    bins = list(table)
    total = sum(b.count for b in bins)
    return sum(b.count * abs(b.accuracy - b.confidence) for b in bins) / total


def mean_absolute_error(probabilities: Sequence[Sequence[float]], gold: Sequence[int]) -> float:
    """Mean |expected level index - right level index|, in levels."""
    expected = [float(np.dot(p, np.arange(len(p)))) for p in probabilities]
    return float(np.mean([abs(e - g) for e, g in zip(expected, gold, strict=True)]))


def measure(outcomes: Sequence[Outcome]) -> Measures:
    """All figures of ``outcomes`` (at least one)."""
    predicted = [o.predicted for o in outcomes]
    gold = [o.gold for o in outcomes]
    answered = [(o, o.probabilities) for o in outcomes if o.probabilities is not None]
    probabilities = [p for _, p in answered]
    right = [o.keys.index(o.gold) for o, _ in answered]
    ordinal = bool(answered) and all(o.type == "score" for o in outcomes)
    return Measures(
        n=len(outcomes),
        answered=len(answered),
        accuracy=accuracy(predicted, gold),
        macro_f1=macro_f1(predicted, gold),
        nll=nll(probabilities, right) if answered else None,
        brier=brier(probabilities, right) if answered else None,
        ece=ece(reliability(outcomes)) if answered else None,
        mae=mean_absolute_error(probabilities, right) if ordinal else None,
    )


def reliability(outcomes: Sequence[Outcome]) -> list[Bin]:
    """The reliability table of the answered ones; for a noul, of the side the answer is on."""
    answered = [o for o in outcomes if o.probabilities is not None]
    return reliability_table([max(o.probabilities or ()) for o in answered], [o.right for o in answered])
