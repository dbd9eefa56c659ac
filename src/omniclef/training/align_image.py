"""Fits the map from picture features to the text space. Seeded; network and text encoder stay as they are.

The caption vector of a picture is the sum of two parts. One is what the classifier recognises: its class
probabilities times the embeddings of the class names (ConSE, Norouzi et al. 2014), which is sure of itself
on photos of its 1,000 classes and faint elsewhere. The other is a linear map for all the rest. The map
starts from the classifier's own rows (each put through the features' covariance, which turns a discriminant
back into a direction of class means, and paired with the class name by ridge regression), and is then
trained by contrast on named pictures and on made-up features of the 1,000 classes, held near its start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional as F

__all__ = ["Alignment", "Plan", "Texts", "fit"]

Array = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Texts:
    """rows: [M, d] unit sentence embeddings; owners: [M], ascending, the picture or class each one names."""

    rows: Array
    owners: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Plan:
    """How to fit.

    ridge: of the starting map, relative to the mean eigenvalue; anchor: pull towards that map
    tau: divides cosines into logits; alike: two captions whose cosine is above this are no negatives of
    each other classes: weight of the made-up class features; blend, sharpen: share and temperature of the
    recognising part
    """

    steps: int = 800
    batch: int = 384
    rate: float = 5e-4
    ridge: float = 0.1
    anchor: float = 0.5
    tau: float = 0.05
    alike: float = 0.75
    classes: float = 1.0
    blend: float = 0.5
    sharpen: float = 0.6
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Alignment:
    """unit(f @ projection + bias) + blend * softmax((f @ classifier + class_bias) / sharpen) @ names

    projection [1280, d], bias [d], classifier [1280, C], class_bias [C], names [C, d]. The linear part has
    length 1 on the average training picture, so that both parts are on one scale for single cells as well.
    """

    projection: Array
    bias: Array
    classifier: Array
    class_bias: Array
    names: Array
    blend: float
    sharpen: float

    def caption(self, features: Array) -> Array:
        """[N, 1280] mean features to unit rows [N, d]."""
        linear = features @ self.projection + self.bias
        logits = (features @ self.classifier + self.class_bias) / self.sharpen
        weights = np.exp(logits - logits.max(1, keepdims=True))
        seen = weights / weights.sum(1, keepdims=True) @ self.names
        both = linear / np.linalg.norm(linear, axis=1, keepdims=True) + self.blend * seen
        unit: Array = (both / np.linalg.norm(both, axis=1, keepdims=True)).astype(np.float32)
        return unit


class _Owned:
    """Draws one text of each owner."""

    def __init__(self, texts: Texts, owners: int, rng: np.random.Generator) -> None:
        self.rows = torch.from_numpy(texts.rows)
        self.starts = np.searchsorted(texts.owners, np.arange(owners))
        self.counts = np.bincount(texts.owners, minlength=owners)
        if not self.counts.all():
            raise ValueError("every picture and every class needs a text")
        self.rng = rng

    def draw(self, which: npt.NDArray[np.int64]) -> Tensor:
        offset = (self.rng.random(len(which)) * self.counts[which]).astype(np.int64)
        return self.rows[self.starts[which] + offset]

    def means(self) -> Tensor:
        owners = np.repeat(np.arange(len(self.counts)), self.counts)
        total = torch.zeros(len(self.counts), self.rows.shape[1]).index_add_(0, torch.from_numpy(owners), self.rows)
        return F.normalize(total, dim=1)


def _start(directions: Tensor, names: Tensor, ridge: float) -> Tensor:
    """Ridge map [1280, d] from class directions to centred class names."""
    gram = directions.T @ directions
    gram.diagonal().add_(ridge * gram.diagonal().mean())
    return torch.linalg.solve(gram, directions.T @ (names - names.mean(0)))


def _contrast(captions: Tensor, texts: Tensor, plan: Plan) -> Tensor:
    """Cross-entropy both ways between pictures and their texts; near-synonyms are no negatives."""
    likeness = texts @ texts.T
    same = torch.eye(len(texts), dtype=torch.bool)
    logits = (captions @ texts.T / plan.tau).masked_fill((likeness > plan.alike) & ~same, -1e4)
    target = torch.arange(len(texts))
    return (F.cross_entropy(logits, target) + F.cross_entropy(logits.T, target)) / 2


def fit(
    classifier: Array,
    class_bias: Array,
    class_texts: Texts,
    views: Sequence[Array],
    picture_texts: Texts,
    plan: Plan | None = None,
) -> Alignment:
    """The alignment from C class rows and N named pictures.

    Args:
        classifier: [C, 1280] and ``class_bias`` [C] of the published network.
        class_texts: names of the classes, at least one each.
        views: mean features [N, 1280] of the same N pictures, as they are and with changes.
        picture_texts: names, captions or keywords of the pictures, at least one each.
    """
    plan = plan or Plan()
    rng = np.random.default_rng(plan.seed)
    seen = [torch.from_numpy(view) for view in views]
    weight, offset = torch.from_numpy(classifier), torch.from_numpy(class_bias)
    labels = _Owned(class_texts, len(weight), rng)
    captions = _Owned(picture_texts, len(seen[0]), rng)
    names = labels.means()
    mean = seen[0].mean(0)
    centred = seen[0] - mean
    directions = (weight - weight.mean(0)) @ (centred.T @ centred / len(centred))
    start = _start(directions, names, plan.ridge)
    start = start / (centred @ start).norm(dim=1).mean()
    directions = directions * (centred.norm(dim=1).mean() / directions.norm(dim=1).mean())
    projection, bias = start.clone().requires_grad_(), torch.zeros(start.shape[1], requires_grad=True)

    def linear(shifted: Tensor) -> Tensor:
        return F.normalize(shifted @ projection + bias, dim=1)

    recognised = [((view @ weight.T + offset) / plan.sharpen).softmax(1) @ names for view in seen]
    optimizer = torch.optim.AdamW([projection, bias], lr=plan.rate, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, plan.rate, total_steps=plan.steps)
    for _ in range(plan.steps):
        which = rng.choice(len(seen[0]), plan.batch, replace=False)
        view = int(rng.integers(len(seen)))
        caption = linear(seen[view][which] - mean) + plan.blend * recognised[view][which]
        loss = _contrast(F.normalize(caption, dim=1), captions.draw(which), plan)
        some = rng.choice(len(weight), min(256, len(weight)), replace=False)
        strength = torch.from_numpy(rng.uniform(0.5, 1.2, (len(some), 1)).astype(np.float32))
        noise = 0.5 * centred[rng.choice(len(centred), len(some))]
        # Made-up features say nothing of the classifier's certainty: only the linear part learns from them.
        logits = linear(strength * directions[some] + noise) @ names.T / plan.tau
        loss = loss + plan.classes * F.cross_entropy(logits, torch.from_numpy(some))
        loss = loss + plan.anchor * ((projection - start) ** 2).sum() / (start**2).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    with torch.no_grad():
        length = ((centred @ projection) + bias).norm(dim=1).mean()
        final, shift = projection / length, (bias - mean @ projection) / length
    return Alignment(
        final.numpy(),
        shift.numpy(),
        np.ascontiguousarray(classifier.T),
        class_bias,
        names.numpy(),
        plan.blend,
        plan.sharpen,
    )
