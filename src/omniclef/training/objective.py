"""The training loss: label-smoothed cross-entropy, the Brier score and, for scores, the ranked probability score.

Knows logits and labels, question by question; knows nothing of models or data. Needs the extra [torch].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

__all__ = ["Weights", "objective", "targets"]

NOUL, CHOICE, SCORE = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Weights:
    """smoothing: share of a target spread evenly over a question's options; brier, ranked: factors of their terms."""

    smoothing: float = 0.05
    brier: float = 0.5
    ranked: float = 0.5


@dataclass(frozen=True, slots=True)
class Targets:
    """Questions of a batch, one line each, N in all, at most K options.

    slots: [N, K] positions in the flattened logits. present: [N, K], False where a question has fewer options.
    truth: [N, K] probabilities. types: [N].
    """

    slots: Tensor
    present: Tensor
    truth: Tensor
    types: Tensor


def targets(questions: Sequence[tuple[int, npt.NDArray[np.float32], int]]) -> Targets:
    """Lines up questions given as (position of the first logit, truth [k], type)."""
    count, most = len(questions), max(len(truth) for _, truth, _ in questions)
    slots = np.zeros((count, most), np.int64)
    present = np.zeros((count, most), np.bool_)
    wanted = np.zeros((count, most), np.float32)
    for line, (first, truth, _) in enumerate(questions):
        slots[line, : len(truth)] = np.arange(first, first + len(truth))
        present[line, : len(truth)] = True
        wanted[line, : len(truth)] = truth
    types = torch.tensor([kind for _, _, kind in questions])
    return Targets(torch.from_numpy(slots), torch.from_numpy(present), torch.from_numpy(wanted), types)


def objective(logits: Tensor, wanted: Targets, weights: Weights) -> tuple[Tensor, Tensor]:
    """Mean loss over questions, and the probabilities [N, K]. ``logits`` is flat; padded options never count."""
    scores = logits[wanted.slots].masked_fill(~wanted.present, -1e9)
    logs = torch.log_softmax(scores, dim=1)
    p = logs.exp()
    options = wanted.present.sum(1, keepdim=True)
    smooth = wanted.truth * (1 - weights.smoothing) + weights.smoothing / options * wanted.present
    loss = -(smooth * logs.masked_fill(~wanted.present, 0.0)).sum(1)
    loss = loss + weights.brier * ((p - wanted.truth) ** 2).sum(1)
    # Epstein's ranked probability score: a level beside the right one is less wrong than one far away.
    steps = (p.cumsum(1) - wanted.truth.cumsum(1)) ** 2 * wanted.present
    ranked = steps.sum(1) / (options[:, 0] - 1).clamp(min=1)
    loss = loss + weights.ranked * ranked * (wanted.types == SCORE)
    return loss.mean(), p
