"""How much of a text the encoder can read: near 1 for English, near 0 for scripts and languages it never learnt.

A naive Bayes over word pieces: each piece carries the log-odds of English text against text in other languages, and
the mean over a piece of text decides. Numbers, names and code carry little either way, so they stay readable.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from omniclef.backbones.base import Array

__all__ = ["Clarity"]


class Clarity:
    """How much of a text can be read.

    Args:
        odds: [V] log-odds of English for each word piece.
        slope: how fast the mean log-odds decide.
        pull: how many English pieces to assume before looking, so that a short text is trusted more.
        bias: added to the mean, so that what is neither (numbers, code) counts as readable.
    """

    def __init__(self, odds: Array, slope: float, pull: float, bias: float) -> None:
        self._odds = odds
        self._slope = slope
        self._pull = pull
        self._bias = bias

    def __call__(self, ids: npt.NDArray[np.int32]) -> float:
        """Share of the text that can be read, 0 to 1; an empty text is 1."""
        if not len(ids):
            return 1.0
        mean = (float(self._odds[ids].sum()) + self._pull) / (len(ids) + self._pull)
        return 1 / (1 + math.exp(-self._slope * (mean + self._bias)))
