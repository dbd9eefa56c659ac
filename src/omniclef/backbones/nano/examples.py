"""Learning from the examples of a request: log-odds of each option from how its own examples look.

Linear discriminant analysis whose covariance is shrunk towards what inputs in general look like, with the option's
words as a few more examples of it, plus the nearest example of each option. Both have closed forms, so that a schema
with thousands of examples is fitted once, in well under a second, and then costs two matrix products a record.
Knows vectors; must not know where they come from.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from omniclef.backbones.base import Array

__all__ = ["Constants", "Readout"]


@dataclass(frozen=True, slots=True)
class Constants:
    """How much to believe what. Fitted once on sets that no suite uses, and kept with the model.

    words:    how many examples the option's own words count for
    prior:    how many examples the background covariance counts for
    shrink:   share of an even (spherical) covariance
    spread:   size of the covariance within an option, as a share of the background's
    linear:   factor of the discriminant's log-odds
    nearest:  factor of the cosine to the option's nearest example
    """

    words: float = 4.0
    prior: float = 400.0
    shrink: float = 0.3
    spread: float = 0.6
    linear: float = 0.5
    nearest: float = 12.0


class Readout:
    """Fitted on keys [N, k] (unit rows) of the options ``owners`` [N] out of ``count``.

    Args:
        words: [count, k] unit rows of the options' words in the same space, or None if they have none there.
        background: [k, k] covariance of inputs in general, or None for a spherical one.

    An option without an example and without words gets the mean of the others: nothing speaks for it or against it.
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
        self._keys = keys
        self._order = np.argsort(owners, kind="stable")
        sizes = np.bincount(owners, minlength=count)
        self._given = sizes > 0
        self._starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])[self._given]
        self._keys = keys[self._order]
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
        centred: Array = (scores - scores.mean()).astype(np.float32)
        return centred

    def _within(
        self, residuals: Array, freedom: int, background: Array | None
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
