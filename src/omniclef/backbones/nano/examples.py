"""Learning from the examples of a request: log-odds of each option from how its own examples look.

For texts, linear discriminant analysis whose covariance is shrunk towards what texts in general look like, with the
option's words as a few more examples of it, plus the nearest example of each option. For pictures and sounds, whose
features are raw and have no words among them, ridge regression on the options. Both have closed forms, so that a
schema with thousands of examples is fitted once, in well under a second, and then costs a matrix product or two a
record. Knows vectors; must not know where they come from.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from omniclef.backbones.base import Array

__all__ = ["Constants", "Discriminant", "Readout", "Ridge", "RidgeConstants"]


@dataclass(frozen=True, slots=True)
class Constants:
    """How much to believe what. Kept with the model; models/nano/experiments.md tells how they came about.

    words:    how many examples an option's own words count for
    prior:    how many examples the background covariance counts for
    shrink:   share of an even (spherical) covariance
    spread:   size of the covariance within an option, as a share of the background's
    linear:   factor of the discriminant's log-odds
    nearest:  factor of the cosine to an option's nearest example
    trust, growth: factor of it all with one example an option, and what each factor of ten in examples adds
    """

    words: float
    prior: float
    shrink: float
    spread: float
    linear: float
    nearest: float
    trust: float
    growth: float


@dataclass(frozen=True, slots=True)
class RidgeConstants:
    """words: how many examples an option's words count for. known: how many more where the head was trained on such
    options. ridge: penalty. temperature: divides the scores."""

    words: float
    known: float
    ridge: float
    temperature: float


class Readout(Protocol):
    """What a question's examples say of a record's key.

    share: what is left for the head's own logits: the more examples there are, the less the words matter.
    """

    share: float

    @property
    def nbytes(self) -> int: ...

    def __call__(self, key: Array) -> Array:
        """[count] log-odds of the options for one key [k], mean zero."""
        ...


class Discriminant:
    """Fitted on keys [N, k] (unit rows) of the options ``owners`` [N] out of ``count``.

    Args:
        words: [count, k] unit rows of the options' words in the same space, or None if they have none there.
        background: [k, k] covariance of inputs in general, or None for a spherical one.

    An option without an example and without words gets the mean of the others: nothing speaks for it or against it.

    Attributes:
        share: what is left for the head's own logits: the more examples there are, the less the words matter.
    """

    def __init__(
        self,
        keys: Array,
        owners: npt.NDArray[np.int64],
        count: int,
        constants: Constants,
        words: Array | None = None,
        background: Array | None = None,
    ) -> None:
        self._constants = constants
        typical = len(keys) / max(len(np.unique(owners)), 1)
        self._trust = constants.trust + constants.growth * math.log10(typical)
        self.share = self._trust * constants.words / (constants.words + typical)
        sizes = np.bincount(owners, minlength=count)
        self._given = sizes > 0
        self._starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])[self._given]
        self._keys = keys[np.argsort(owners, kind="stable")]
        sums = np.zeros((count, keys.shape[1]), np.float64)
        np.add.at(sums, owners, keys)
        means = sums / np.maximum(sizes, 1)[:, None]
        means[~self._given] = means[self._given].mean(axis=0)
        within = self._within(keys - means[owners], len(keys) - int(self._given.sum()), background)
        centres = means
        if words is not None:
            # A word's vector is longer than a mean of examples; at its length it would drown them.
            length = np.linalg.norm(means[self._given], axis=1).mean()
            share = (constants.words / (constants.words + sizes))[:, None]
            centres = (1 - share) * means + share * length * words
        weights = np.linalg.solve(within, centres.T).T
        self._bias = (-0.5 * (weights * centres).sum(axis=1)).astype(np.float32)
        self._weights = weights.astype(np.float32)

    @property
    def nbytes(self) -> int:
        return self._keys.nbytes + self._weights.nbytes

    def __call__(self, key: Array) -> Array:
        """[count] log-odds of the options for one key [k], mean zero."""
        linear = self._weights @ key + self._bias
        nearest = np.full(len(linear), np.nan, np.float32)
        nearest[self._given] = np.maximum.reduceat(self._keys @ key, self._starts)
        nearest[~self._given] = nearest[self._given].mean()
        scores = self._constants.linear * linear + self._constants.nearest * nearest
        centred: Array = (self._trust * (scores - scores.mean())).astype(np.float32)
        return centred

    def _within(
        self, residuals: npt.NDArray[np.floating], freedom: int, background: Array | None
    ) -> npt.NDArray[np.float64]:
        size = residuals.shape[1]
        rest = np.asarray(residuals, np.float64)
        pooled = rest.T @ rest / max(freedom, 1)
        constants = self._constants
        # Where nothing is known of inputs in general, unit rows spread evenly over the sphere.
        general = np.eye(size) / size if background is None else np.asarray(background, np.float64)
        share = max(freedom, 0) / (max(freedom, 0) + constants.prior)
        mixed = share * pooled + (1 - share) * constants.spread * general
        even = np.trace(mixed) / size * np.eye(size)
        within: npt.NDArray[np.float64] = (1 - constants.shrink) * mixed + constants.shrink * even
        return within


class Ridge:
    """The ``Readout`` of raw features: ridge regression from keys [N, k] on the options, each option weighing alike.

    Solved among the examples, or among the features where there are fewer of those. An option without an example
    scores what a key scores on average.
    """

    def __init__(
        self,
        keys: Array,
        owners: npt.NDArray[np.int64],
        count: int,
        constants: RidgeConstants,
        trust: float = 0.0,
    ) -> None:
        sizes = np.bincount(owners, minlength=count)
        given = np.flatnonzero(sizes)
        typical = len(keys) / len(given)
        head = constants.words + trust * constants.known
        self.share = head / (head + typical)
        weights = np.sqrt(typical / sizes[owners])[:, None]
        means = np.stack([keys[owners == option].mean(axis=0) for option in given])
        self._centre: Array = means.mean(axis=0).astype(np.float32)
        rows = ((keys - self._centre) * weights).astype(np.float64)
        goal = weights * ((owners[:, None] == given) - 1 / len(given))
        if len(rows) <= rows.shape[1]:
            solved = rows.T @ np.linalg.solve(rows @ rows.T + constants.ridge * np.eye(len(rows)), goal)
        else:
            solved = np.linalg.solve(rows.T @ rows + constants.ridge * np.eye(rows.shape[1]), rows.T @ goal)
        self._weights = np.zeros((count, keys.shape[1]), np.float32)
        self._weights[given] = solved.T / constants.temperature

    @property
    def nbytes(self) -> int:
        return self._weights.nbytes

    def __call__(self, key: Array) -> Array:
        scores = self._weights @ (key - self._centre)
        centred: Array = scores - scores.mean()
        return centred
