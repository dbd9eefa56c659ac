"""The exported joint schema head on onnxruntime: prefills in, one logit per option out.

Knows the inputs and outputs of the graph that ``omniclef.training.export.export_head`` writes. Must not know
torch, towers, tokens, or where the graph is stored.
"""

from __future__ import annotations

from collections.abc import Sequence

import onnxruntime as ort

from omniclef.backbones.base import Prefill, Scores
from omniclef.backbones.padding import batches, pad, unpad

__all__ = ["OnnxHead"]


class OnnxHead:
    """The ``Head`` protocol on an onnxruntime session of an exported head.

    Peak memory is about ``8 * heads * O * L`` bytes for the largest record: the graph holds stage-1 attention
    whole.
    """

    def __init__(self, session: ort.InferenceSession) -> None:
        self.session = session
        self._options = ort.RunOptions()
        # Without this the runtime computes outputs that nobody asked for, here the attention.
        self._options.only_execute_path_to_fetches = True

    def __call__(self, prefills: Sequence[Prefill], *, attention: bool = False) -> list[Scores]:
        """Scores in the order of ``prefills``, each as the record would get alone, up to float rounding."""
        if len(prefills) == 1:
            return self._batch(prefills, attention)
        scores: dict[int, Scores] = {}
        for group in batches(prefills):
            found = self._batch([prefills[index] for index in group], attention)
            scores.update(zip(group, found, strict=True))
        return [scores[index] for index in range(len(prefills))]

    def _batch(self, prefills: Sequence[Prefill], attention: bool) -> list[Scores]:
        names = ["logits"]
        names += ["attention"] if attention else []
        names += ["prior"] if any(prefill.trust is not None for prefill in prefills) else []
        found = dict(zip(names, self.session.run(names, pad(prefills), self._options), strict=True))
        return unpad(prefills, found["logits"], found.get("attention"), found.get("prior"))
