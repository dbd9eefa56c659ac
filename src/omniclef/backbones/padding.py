"""Records of different sizes in one rectangle: which to put together, and the padded arrays the head computes
on.

Knows the sizes and rows of ``Prefill``; knows nothing of who computes, torch or onnxruntime.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from omniclef.backbones.base import Array, Prefill, Scores

__all__ = ["batches", "pad", "unpad"]

ROWS = 4096
"""Most option rows and most memory rows in one batch of several records; a larger record goes alone."""

PAIRS = 1 << 21
"""Most option-memory pairs in one batch of several records: what stage-1 attention must hold, per head."""

WAIT = 0.9
"""Share of its probability that an option hands to those that have to come first."""

CHAIN = 3


def batches(prefills: Sequence[Prefill], *, rows: int = ROWS, pairs: int = PAIRS) -> list[list[int]]:
    """Positions of ``prefills``, grouped so that records of like size share a batch and padding stays small.

    In a group the most options are at most one and a half times the fewest, and 4 more; likewise for memory
    rows and questions. A padded group keeps to the two limits, unless it is a single record.
    """
    alike: dict[tuple[int, ...], list[int]] = {}
    for index, prefill in enumerate(prefills):
        sizes = (prefill.options.shape[0], prefill.memory.shape[0], prefill.questions.shape[0])
        alike.setdefault(tuple(map(_grade, sizes)), []).append(index)
    groups: list[list[int]] = []
    for members in alike.values():
        options = max(prefills[index].options.shape[0] for index in members)
        length = max(1, *(prefills[index].memory.shape[0] for index in members))
        count = max(1, min(rows // max(options, length), pairs // (options * length)))
        groups.extend(members[start : start + count] for start in range(0, len(members), count))
    return groups


def _grade(size: int) -> int:
    """Equal for sizes that may share an axis: steps of one half, coarser below 8 or so."""
    return int(math.log(size + 8) / math.log(1.5))


def pad(prefills: Sequence[Prefill]) -> dict[str, npt.NDArray[np.generic]]:
    """The inputs of ``JointSchemaHead.forward`` by name: B records, each axis as long as the longest
    record's.

    Padded memory rows, questions and options are zero; ``memory_mask`` [B, L] and ``question_mask`` [B, Q]
    are False there and ``owners`` is -1. L is at least 1, so that a record with nothing to read is a masked
    row.
    """
    if len(prefills) == 1 and prefills[0].memory.shape[0]:
        return _alone(prefills[0])
    count, width = len(prefills), prefills[0].anchor.shape[0]
    lengths = [p.memory.shape[0] for p in prefills]
    fields = [p.questions.shape[0] for p in prefills]
    choices = [p.options.shape[0] for p in prefills]
    memory = np.zeros((count, max(1, *lengths), prefills[0].memory.shape[1]), np.float32)
    questions = np.zeros((count, max(fields), width), np.float32)
    options = np.zeros((count, max(choices), width), np.float32)
    lexical = np.zeros_like(options)
    owners = np.full(options.shape[:2], -1, np.int64)
    types = np.zeros(questions.shape[:2], np.int64)
    for row, prefill in enumerate(prefills):
        memory[row, : lengths[row]] = prefill.memory
        questions[row, : fields[row]] = prefill.questions
        options[row, : choices[row]] = prefill.options
        lexical[row, : choices[row]] = prefill.lexical
        owners[row, : choices[row]] = prefill.owners
        types[row, : fields[row]] = prefill.types
    return {
        "memory": memory,
        "memory_mask": np.arange(memory.shape[1]) < np.asarray(lengths)[:, None],
        "anchor": np.stack([p.anchor for p in prefills]),
        "questions": questions,
        "question_mask": np.arange(questions.shape[1]) < np.asarray(fields)[:, None],
        "options": options,
        "lexical": lexical,
        "owners": owners,
        "types": types,
    }


def _alone(prefill: Prefill) -> dict[str, npt.NDArray[np.generic]]:
    """A batch of one without a copy: a single small record should not pay for padding."""
    return {
        "memory": prefill.memory[None],
        "memory_mask": np.ones((1, prefill.memory.shape[0]), np.bool_),
        "anchor": prefill.anchor[None],
        "questions": prefill.questions[None],
        "question_mask": np.ones((1, prefill.questions.shape[0]), np.bool_),
        "options": prefill.options[None],
        "lexical": prefill.lexical[None],
        "owners": prefill.owners[None],
        "types": prefill.types[None],
    }


def unpad(
    prefills: Sequence[Prefill], logits: Array, attention: Array | None = None, prior: Array | None = None
) -> list[Scores]:
    """The head's answer cut back to each record: logits [B, O], attention [B, O, L], prior [B, O].

    The prior is needed where a prefill does not fully trust the joint part.
    """
    scores = []
    for row, prefill in enumerate(prefills):
        options, rows = prefill.options.shape[0], prefill.memory.shape[0]
        mine = logits[row, :options]
        if prefill.trust is not None and prior is not None:
            alone = prior[row, :options]
            mine = alone + prefill.trust * (mine - alone)
        if prefill.scale is not None:
            mine = mine * prefill.scale
        if prefill.bias is not None:
            mine = mine + prefill.bias
        if prefill.first is not None:
            mine = _waiting(mine, prefill.first, prefill.owners)
        scores.append(Scores(mine, None if attention is None else attention[row, :options, :rows]))
    return scores


def _waiting(logits: Array, first: npt.NDArray[np.bool_], owners: npt.NDArray[np.int64]) -> Array:
    """Log probabilities [O] after options that have to wait gave ``WAIT`` of theirs to those they wait for.

    Among several givers it is shared as they stand; what they get they may have to hand on, ``CHAIN`` times in all.
    """
    found = logits.copy()
    for owner in np.unique(owners[first.any(axis=1)]):
        own = owners == owner
        mine = first[np.ix_(own, own)]
        p = np.exp(logits[own] - logits[own].max())
        p /= p.sum()
        shares = mine * p
        shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1e-12)
        moved = np.float32(WAIT) * mine.any(axis=1)
        given = p * moved
        p = p - given
        for _ in range(CHAIN):
            got = given @ shares
            given = got * moved
            p = p + got - given
        p = p + given
        found[own] = np.log(np.maximum(p, 1e-12))
    return found
