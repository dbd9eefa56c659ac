"""What an option drew on: weights of memory rows, gathered into phrases, boxes and stretches of time.

Knows rows, where they came from, and the values of a state. Must not know questions, any one backbone, or who asks.

An option's logit is the lexical prior plus the head's joint score, which counts with ``trust`` t. So does its evidence:

    weight of a unit = t * attention + (1 - t) * words

*attention* is that of the last layer of stage 1, a mean over heads. *words* takes the prior apart. The prior of an
option is a scaled cosine of its lexical row w with the anchor and the question; where the anchor is a sum over rows h_r
of text, its derivative tells, to first order, how much the logit falls when a row is taken away:

    d_r = (h_r - (h_r . u) u) . (w - (w . x) x)

u is the direction of the sum, x that of what w is compared with. Rows of a word are added up; what speaks against the
option counts as 0, and the rest is divided by its sum. One liberty is taken: the anchor counts every segment alike,
here every word does, whatever the length of its segment, for a field of one word is rarely what an answer hangs on
(measured by taking spans away, ``benchmarks/evidence.py``). Log-odds that need no rows are left out: examples, rare
words in common, tools that wait.

Media enter the anchor whole. Between them, and between them and text, the same derivative of the prior decides alone:
among three pictures attention found the one that mattered no more often than chance. Within a medium it is attention.

A model that keeps no such sum, as a release, has attention alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from omniclef.answers import Evidence
from omniclef.backbones.base import Array, Leaf, Prefill, RowSource, below
from omniclef.records import Record, render

__all__ = ["evidence", "rendered"]

SHOWN = 5
"""Pieces of evidence kept for each option."""

PEAK = 1.5
"""How much more than its share a cell of a picture must have to be part of a box; the heaviest cell always is."""

BLOCK = 1 << 18
"""Multiplications up to which OpenBLAS, which numpy comes with, computes a product in the calling thread."""

# A character of a script without spaces is a unit by itself, and so is what nobody would call a word.
_UNIT = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\s\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]{1,40}")
_END = tuple(".!?;:。！？；：…")  # where a clause ends; none has a piece in common with the next

Indices = npt.NDArray[np.int64]


def evidence(prefill: Prefill, texts: Sequence[Sequence[Leaf]], attention: Array) -> list[list[Evidence]]:
    """The heaviest pieces of every option of a record, heaviest first.

    texts: for the ``index`` of each source of text, the values in it. attention: [O, L] of ``Scores``.
    """
    places = _Places(prefill, texts)
    runs = [part.runs(own) for part, own in zip(places.parts, places.weigh(attention), strict=True)]
    found: list[list[Evidence]] = [[] for _ in attention]
    if not runs:
        return found
    owners = np.concatenate([run.options for run in runs])
    shares = np.concatenate([run.weights for run in runs])
    firsts = np.cumsum([0, *(len(run.weights) for run in runs)])
    order = np.lexsort((-shares, owners))
    order = order[shares[order] > 0]
    ranks = np.arange(len(order)) - np.searchsorted(owners[order], np.arange(len(found)))[owners[order]]
    kept = order[ranks < SHOWN]
    which = np.searchsorted(firsts, kept, side="right") - 1
    weights = np.minimum(shares[kept], 1).tolist()
    chosen = zip(owners[kept].tolist(), which.tolist(), (kept - firsts[which]).tolist(), weights, strict=True)
    for option, part, number, weight in chosen:
        found[option].append(places.parts[part].piece(runs[part], number, weight))
    return found


def rendered(record: Record) -> list[list[Leaf]]:
    """The values of a state that is read as ``records.render`` writes it."""
    state = record.state
    if isinstance(state, str):
        return [[Leaf(None, state, 0)]]
    found: list[Leaf] = []
    _values(state, "", 0, found)
    return [found]


def _values(value: Any, path: str, at: int, found: list[Leaf]) -> int:
    """Collects the values in a JSON value that begins at ``at``; gives the place after it."""
    if isinstance(value, dict):
        for key in sorted(value):  # a bracket or comma, the key and a colon are as long as a list of the key alone
            at = _values(value[key], below(path, key), at + len(render([key])), found)
        return at + (1 if value else 2)
    if isinstance(value, list):
        for index, item in enumerate(value):
            at = _values(item, f"{path}/{index}", at + 1, found)
        return at + (1 if value else 2)
    text = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, str):
        found.append(Leaf(path, text, at))
    elif len(text) == len(value) + 2:
        found.append(Leaf(path, value, at + 1))
    else:
        sizes = [len(json.dumps(character, ensure_ascii=False)) - 2 for character in value]
        found.append(Leaf(path, value, at + 1, np.cumsum([0, *sizes[:-1]])))
    return at + len(text)


class _Places:
    """Where the rows of one record come from. A unit is a word of the state, a cell of a picture, or a moment of a
    sound or a clip; rows are many to a unit."""

    def __init__(self, prefill: Prefill, texts: Sequence[Sequence[Leaf]]) -> None:
        self._prefill = prefill
        sources = [source for source in prefill.sources if source.stop > source.start]
        self._spoken = [source for source in sources if source.modality == "text"]
        self._words = _Words(self._spoken, texts) if self._spoken else None
        media: dict[tuple[str, int], list[RowSource]] = {}  # frames may be sources of their own
        for source in sources:
            if source.modality != "text":
                media.setdefault((source.modality, source.index), []).append(source)
        self._media = [each[0] for each in media.values()]
        self.parts: list[_Part] = [self._words] if self._words else []
        self.parts += [_Boxes(each[0]) if each[0].modality == "image" else _Times(each) for each in media.values()]
        self._summed = bool(sources) and all(source.summed is not None for source in sources)

    def weigh(self, attention: Array) -> list[Array]:
        """Weights [O, units] in each part: not negative, at most 1 for each option in all."""
        seen = [part.units(attention) for part in self.parts]
        alone = self._words is not None and len(seen) == 1
        if not self._summed or (alone and self._prefill.trust is None):
            return seen
        slopes = self._slopes()
        vectors, found = [s.summed[0] for s in self._media if s.summed is not None], seen
        if self._words:
            said, rows = self._said(slopes, attention.shape[1])
            vectors = [said, *vectors]
            if self._prefill.trust is not None:
                share = 1 - self._prefill.trust[:, None]
                found = [_mixed(seen[0], np.maximum(self._words.units(rows), 0), share), *seen[1:]]
        if len(found) == 1:
            return found
        every = np.stack(vectors)
        told = np.maximum(_products(slopes, _across(every, _unit(every.sum(axis=0)))), 0)
        looked = np.stack([each.sum(axis=1) for each in seen], axis=1)
        shares = _mixed(looked, told, np.ones((len(told), 1), np.float32)) / np.maximum(looked, 1e-12)
        return [each * shares[:, number, None] for number, each in enumerate(found)]

    def _slopes(self) -> Array:
        """[O, d] which way the anchor would have to move for each option's prior to grow."""
        words, questions = self._prefill.lexical, self._prefill.questions + _plain(self._prefill.anchor)
        met = (questions / np.linalg.norm(questions, axis=1, keepdims=True))[self._prefill.owners]
        found: Array = words - (words * met).sum(axis=1, keepdims=True) * met
        return found

    def _said(self, slopes: Array, count: int) -> tuple[Array, Array]:
        """The direction of all text in the anchor [d], and what each row says for each option [O, count]."""
        texts = [(source, source.summed) for source in self._spoken if source.summed is not None]
        said = _unit(np.sum([source.share * _unit(rows.sum(axis=0)) for source, rows in texts], axis=0))
        every = np.concatenate([np.float32(source.share) * rows for source, rows in texts])
        places = np.concatenate([np.arange(source.start, source.stop) for source, _ in texts])
        told = np.zeros((len(slopes), count), np.float32)
        told[:, places] = _products(slopes, _across(every, _unit(every.sum(axis=0))))
        return said, told


@dataclass(frozen=True, slots=True, eq=False)
class _Runs:
    """Pieces of evidence before they have a name.

    options, weights: [K]. first, last: [K, ...] the units at their ends, the last one included.
    """

    options: Indices
    weights: Array
    first: Indices
    last: Indices


class _Part(Protocol):
    def units(self, rows: Array) -> Array: ...

    def runs(self, weights: Array, /) -> _Runs: ...

    def piece(self, runs: _Runs, number: int, weight: float) -> Evidence: ...


@dataclass(slots=True, eq=False)
class _Units:
    """Words of a state in order: the leaf each is of, where it stands in the value, and after which a clause ends."""

    leaves: list[Leaf] = field(default_factory=list)
    of: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    stops: list[int] = field(default_factory=list)
    ends: list[bool] = field(default_factory=list)

    def add(self, leaf: Leaf) -> tuple[list[int], list[int]]:
        """Takes the words of a value. Gives where they stand in the text that was read."""
        number, before = len(self.leaves), len(self.starts)
        self.leaves.append(leaf)
        for match in _UNIT.finditer(leaf.value):
            if len(self.starts) > before and "\n" in leaf.value[self.stops[-1] : match.start()]:
                self.ends[-1] = True
            self.of.append(number)
            self.starts.append(match.start())
            self.stops.append(match.end())
            self.ends.append(match[0].endswith(_END))
        if len(self.starts) > before:
            self.ends[-1] = True
        starts, stops = self.starts[before:], self.stops[before:]
        if leaf.edges is not None:
            starts = leaf.edges[starts].tolist()
            stops = (leaf.edges[np.array(stops, np.int64) - 1] + 1).tolist()
        return [start + leaf.start for start in starts], [stop + leaf.start for stop in stops]


class _Words:
    """Phrases of a state: runs of words that have more than their share, within a clause.

    A row belongs to the word it begins in, or that comes next; where that is the name of a field, it counts for all
    words of the field's value alike.
    """

    def __init__(self, sources: Sequence[RowSource], texts: Sequence[Sequence[Leaf]]) -> None:
        units = _Units()
        owners, named = [], []
        for source in sources:
            before = len(units.starts)
            places = [units.add(leaf) for leaf in texts[source.index]]
            starts = np.array([start for place in places for start in place[0]], np.int64)
            stops = np.array([stop for place in places for stop in place[1]], np.int64)
            spans = np.asarray(source.spans, np.int64).reshape(-1, 2)
            if not len(starts):
                owners.append(np.full(len(spans), -1))
                named.append(np.zeros(len(spans), np.bool_))
                continue
            word = np.minimum(np.searchsorted(stops, spans[:, 0], side="right"), len(starts) - 1)
            of = np.array(units.of[before:])
            first = np.concatenate([[True], of[1:] != of[:-1]])
            owners.append(word + before)
            named.append(first[word] & (spans[:, 1] <= starts[word]))
        rows = np.concatenate([np.arange(source.start, source.stop) for source in sources])
        owner, label = np.concatenate(owners), np.concatenate(named)
        self._units = units
        self._ends = np.array(units.ends, np.bool_)
        self._of = np.array(units.of, np.int64)
        mine = (owner >= 0) & ~label
        self._rows, self._owner = rows[mine], owner[mine]
        self._labels, self._leaf = rows[label], self._of[owner[label]]
        self._sizes = np.bincount(self._of, minlength=len(units.leaves))

    def units(self, rows: Array) -> Array:
        shares = _summed(rows[:, self._rows], self._owner, len(self._of))
        if len(self._labels):
            names = _summed(rows[:, self._labels], self._leaf, len(self._sizes)) / np.maximum(self._sizes, 1)
            shares += names[:, self._of]
        return shares

    def runs(self, weights: Array) -> _Runs:
        return _runs(weights, self._ends)

    def piece(self, runs: _Runs, number: int, weight: float) -> Evidence:
        first, last = int(runs.first[number]), int(runs.last[number])
        leaf = self._units.leaves[self._units.of[first]]
        start, stop = self._units.starts[first], self._units.stops[last]
        return Evidence("text", 0, (start, stop), weight, leaf.value[start:stop], leaf.path)


class _Times:
    """Stretches of a sound or a clip: runs of moments that have more than their share. A moment is as long as the
    longest row, so that a frame and what is heard meanwhile are one."""

    def __init__(self, sources: Sequence[RowSource]) -> None:
        self._source = sources[0]
        spans = np.concatenate([np.asarray(source.spans, np.float64) for source in sources])
        rows = np.concatenate([np.arange(source.start, source.stop) for source in sources])
        self._step = float((spans[:, 1] - spans[:, 0]).max())
        self._end = float(spans[:, 1].max())
        moments = (spans[:, 0] / self._step + 1e-6).astype(np.int64)
        order = np.argsort(moments, kind="stable")
        self._rows, self._moments = rows[order], moments[order]
        self._breaks = np.zeros(int(moments.max()) + 1, np.bool_)

    def units(self, rows: Array) -> Array:
        return _summed(rows[:, self._rows], self._moments, len(self._breaks))

    def runs(self, weights: Array) -> _Runs:
        return _runs(weights, self._breaks)

    def piece(self, runs: _Runs, number: int, weight: float) -> Evidence:
        first, last = int(runs.first[number]), int(runs.last[number])
        span = (first * self._step, min((last + 1) * self._step, self._end))
        return Evidence(self._source.modality, self._source.index, span, weight)


class _Boxes:
    """Parts of a picture: neighbouring cells with well more than their share, and the box around them."""

    def __init__(self, source: RowSource) -> None:
        self._source = source
        self._edges = np.asarray(source.spans, np.float64)
        across = len(np.unique(self._edges[:, 0].round(6)))
        self._shape = (len(self._edges) // across, across)

    def units(self, rows: Array) -> Array:
        return rows[:, self._source.start : self._source.stop]

    def runs(self, cells: Array) -> _Runs:
        count, size = cells.shape
        peak = cells >= np.minimum(PEAK * cells.mean(axis=1, keepdims=True), cells.max(axis=1, keepdims=True))
        names = np.where(peak, np.arange(size), -1).reshape(count, *self._shape)
        while True:  # every cell takes the highest name around, until all cells of one part agree
            spread = np.pad(names, ((0, 0), (1, 1), (1, 1)), constant_values=-1)
            near = [spread[:, :-2, 1:-1], spread[:, 2:, 1:-1], spread[:, 1:-1, :-2], spread[:, 1:-1, 2:]]
            found = np.where(names < 0, -1, np.maximum(names, np.maximum.reduce(near)))
            if (found == names).all():
                break
            names = found
        option, down, across = np.nonzero(names >= 0)
        parts, part = np.unique(option * size + names[option, down, across], return_inverse=True)
        corners = np.stack([down, across], axis=1)
        first, last = np.full((len(parts), 2), size), np.zeros((len(parts), 2), np.int64)
        np.minimum.at(first, part, corners)
        np.maximum.at(last, part, corners)
        own = cells[option, down * self._shape[1] + across]
        return _Runs(parts // size, np.bincount(part, own, len(parts)).astype(np.float32), first, last)

    def piece(self, runs: _Runs, number: int, weight: float) -> Evidence:
        low, high = (self._edges[int(at @ (self._shape[1], 1))] for at in (runs.first[number], runs.last[number]))
        span = (float(low[0]), float(low[1]), min(float(high[2]), 1.0), min(float(high[3]), 1.0))
        return Evidence("image", self._source.index, span, weight)


def _summed(values: Array, groups: Indices, count: int) -> Array:
    """[O, count] sums of the columns of ``values`` [O, N] that have one group, which ascend."""
    total = np.zeros((len(values), count), np.float32)
    if len(groups):
        starts = np.flatnonzero(np.concatenate([[True], groups[1:] != groups[:-1]]))
        total[:, groups[starts]] = np.add.reduceat(values, starts, axis=1)
    return total


def _runs(shares: Array, ends: npt.NDArray[np.bool_]) -> _Runs:
    """Longest runs of units [O, N] that have at least their share, each looked at together with the units beside it
    (weights 1/4, 1/2, 1/4). No run goes on after a unit where ``ends`` [N] is True."""
    inner = ~ends[:-1]
    smooth = shares / 2
    smooth[:, 1:] += np.where(inner, shares[:, :-1], shares[:, 1:]) / 4
    smooth[:, :1] += shares[:, :1] / 4
    smooth[:, :-1] += np.where(inner, shares[:, 1:], shares[:, :-1]) / 4
    smooth[:, -1:] += shares[:, -1:] / 4
    up = smooth >= shares.mean(axis=1, keepdims=True) * np.float32(1 - 1e-5)
    edge = np.ones((len(up), 1), np.bool_)
    starts = up & np.concatenate([edge, ~(up[:, :-1] & inner)], axis=1)
    stops = up & np.concatenate([~(up[:, 1:] & inner), edge], axis=1)
    options, first = np.nonzero(starts)
    last = np.nonzero(stops)[1]
    sums = np.concatenate([0 * shares[:, :1], shares.cumsum(axis=1, dtype=np.float64)], axis=1)
    return _Runs(options, (sums[options, last + 1] - sums[options, first]).astype(np.float32), first, last)


def _mixed(looked: Array, told: Array, share: Array) -> Array:
    """[O, N] weights, ``share`` [O, 1] of them by ``told``, with the sums of ``looked``; all are by ``looked`` where
    nothing is told."""
    total = told.sum(axis=1, keepdims=True)
    share = share * (total > 0)
    found: Array = (1 - share) * looked + share * told * (looked.sum(axis=1, keepdims=True) / np.maximum(total, 1e-12))
    return found


def _across(rows: Array, direction: Array) -> Array:
    """What is left of rows [n, d] without their part along a unit vector."""
    found: Array = rows - np.einsum("nd,d->n", rows, direction)[:, None] * direction
    return found


def _products(left: Array, right: Array) -> Array:
    """[M, N] inner products of rows [M, d] and [N, d]; small ones in blocks that BLAS does not wake its threads for,
    which on a busy machine takes longer than all the rest."""
    step = BLOCK // max(right.size, 1)
    if step == 0 or step >= len(left):
        return left @ right.T
    return np.concatenate([left[start : start + step] @ right.T for start in range(0, len(left), step)])


def _unit(vector: Array) -> Array:
    found: Array = vector / np.float32(_length(vector))
    return found


def _plain(vector: Array) -> Array:
    found: Array = (vector - vector.mean()) / np.sqrt(vector.var() + np.float32(1e-5))
    return found


def _length(vector: Array) -> float:
    return max(float(np.linalg.norm(vector)), 1e-9)
