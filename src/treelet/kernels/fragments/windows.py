"""The windows that examples share with others, or with a model: the fragments of the locality kernel.

The kernel compares windows with the same middle, pair by pair. A fragment is what is equal in such a pair, seen from the first side: the
features of its window that have an equal one in the other. What pairs with the same fragment come to, is added up; so all of
them together are the kernel's value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from treelet.kernels import Locality
from treelet.kernels.fragments.sequences import Window
from treelet.kernels.fragments.weighting import Found, Grown, Side
from treelet.kernels.pairwise import Vector
from treelet.structures.sequence_bank import feature_of

CELLS = 1 << 22  # pairs of features that are compared at once
MAX_CELLS = 1 << 27  # of a model's windows with each other: about a second
OUTSIDE, ELSEWHERE = -1, -2  # places beyond a sequence's ends, on the two sides: never equal

Ids = NDArray[np.int64]


class Type(NamedTuple):
    """A type of sequences, as the kernel looks at it."""

    label: int
    reach: int
    factor: float


class Sequences(NamedTuple):
    """The windows of some sequences of one type: a row of features each, and a number."""

    features: Ids
    number: Vector


def windows(kernel: Locality, store: Any, sides: tuple[Side, ...], limit: int) -> Found:
    """The largest shares of windows, of two sides; of one, the windows for which the model says most."""
    return _heaviest(kernel, store, sides[0], limit) if len(sides) == 1 else _shared(kernel, store, sides, limit)


def window_values(kernel: Locality, store: Any, node: int, model: Side) -> Vector:
    """What the window around each feature of one sequence adds to a model's value."""
    near = _Nearness(kernel, store)
    one = Side(np.array([node], dtype=np.int32), np.ones(1))
    for kind in near.types:
        if kind.label == store.label[node]:
            reach = _reach(store, kind, one, model)
            rows = _windows(store, one, kind, reach).features
            values = np.zeros(len(rows))
            for at, _, weights, kappa, _ in near.pairs(rows, _windows(store, model, kind, reach), reach):
                values[at] += weights @ kappa
            return kind.factor * values
    return np.zeros(int(store.child_start[node + 1] - store.child_start[node]))


def _shared(kernel: Locality, store: Any, sides: tuple[Side, ...], limit: int) -> Found:
    near, texts = _Nearness(kernel, store), store.labels
    found: list[Grown] = []
    for kind in near.types:
        reach = _reach(store, kind, *sides)
        first, second = (_windows(store, side, kind, reach) for side in sides)
        rows, which = np.unique(first.features, axis=0, return_inverse=True)
        numbers = np.bincount(which.ravel(), first.number, len(rows))
        values: dict[tuple[int, tuple[int, ...]], float] = {}
        places: dict[tuple[int, tuple[int, ...]], tuple[set[int], list[Ids]]] = {}
        for at, others, weights, kappa, equal in near.pairs(rows, second, reach):
            patterns, pattern = np.unique(equal, axis=0, return_inverse=True)
            sums = np.bincount(pattern.ravel(), weights * kappa, len(patterns))
            for number, seen in enumerate(patterns):
                there = np.flatnonzero(seen)
                key = (
                    int(reach - there[0]),
                    tuple(np.where(seen, rows[at], ELSEWHERE)[there[0] : there[-1] + 1].tolist()),
                )
                values[key] = values.get(key, 0.0) + numbers[at] * sums[number]
                ours, theirs = places.setdefault(key, (set(), []))
                ours.add(at)
                theirs.append(others[pattern.ravel() == number])
        for (middle, features), value in values.items():
            ours, theirs = places[middle, features]
            counts = numbers[sorted(ours)].sum(), second.number[np.unique(np.concatenate(theirs))].sum()
            shown = tuple(... if label == ELSEWHERE else feature_of(texts[label]) for label in features)
            window = Window(texts[kind.label], shown, middle)
            found.append(Grown(window, float(kind.factor * value), tuple(map(float, counts))))
    found.sort(key=lambda one: -abs(one.value))
    return Found(found[:limit], len(found) <= limit, True)


def _heaviest(kernel: Locality, store: Any, model: Side, limit: int) -> Found:
    """A model's windows by what the model says of each. Where there are too many pairs, windows of little weight are not looked at."""
    near, texts = _Nearness(kernel, store), store.labels
    found: list[Grown] = []
    there, all_seen = 0, True
    for kind in near.types:
        reach = _reach(store, kind, model)
        every = _windows(store, model, kind, reach)
        rows, which = np.unique(every.features, axis=0, return_inverse=True)
        numbers = np.bincount(which.ravel(), every.number, len(rows)).astype(float)
        _, middle, sizes = np.unique(rows[:, reach], return_inverse=True, return_counts=True)
        order = np.argsort(-np.abs(numbers), kind="stable")
        work = np.cumsum(sizes[middle.ravel()[order]]) * (2 * reach + 1) ** 2
        looked_at = order[: max(limit, int(np.searchsorted(work, MAX_CELLS // len(near.types))))]
        there, all_seen = there + len(rows), all_seen and len(looked_at) == len(rows)
        values = np.zeros(len(looked_at))
        for at, _, weights, kappa, _ in near.pairs(rows[looked_at], Sequences(rows, numbers), reach):
            values[at] += kind.factor * (weights @ kappa)
        for at in np.argsort(-np.abs(values), kind="stable")[:limit].tolist():
            row = rows[looked_at[at]]
            inside = np.flatnonzero(row != OUTSIDE)
            shown = tuple(feature_of(texts[label]) for label in row[inside].tolist())
            window = Window(texts[kind.label], shown, int(reach - inside[0]))
            found.append(Grown(window, float(values[at]), (float(numbers[looked_at[at]]),)))
    found.sort(key=lambda one: -abs(one.value))
    return Found(found[:limit], there <= limit, all_seen)


# --- windows ------------------------------------------------------------------------------------------------------


def _sequences(store: Any, kind: Type, side: Side) -> Any:
    """Which of a side's parts are sequences of a type."""
    return np.flatnonzero((store.height[side.node] == 1) & (store.label[side.node] == kind.label))


def _reach(store: Any, kind: Type, *sides: Side) -> int:
    """How far the kernel looks in each direction, and not beyond the longest sequence."""
    nodes = np.concatenate([side.node[_sequences(store, kind, side)] for side in sides])
    longest = int((store.child_start[nodes + 1] - store.child_start[nodes]).max(initial=1))
    return min(kind.reach, longest - 1)


def _windows(store: Any, side: Side, kind: Type, reach: int) -> Sequences:
    """The windows of a side's sequences; what has no number is left out."""
    at = _sequences(store, kind, side)
    at = at[side.number[at] != 0]
    nodes, start = side.node[at], store.child_start
    lengths = (start[nodes + 1] - start[nodes]).astype(np.int64)
    total, ends = int(lengths.sum()), np.cumsum(lengths)
    within = np.arange(total) - np.repeat(ends - lengths, lengths)
    features = store.label[store.child[np.repeat(start[nodes], lengths) + within]]
    places = np.arange(total) + reach * (
        1 + np.repeat(np.arange(len(nodes)), lengths)
    )  # so much room between sequences
    line = np.full(total + reach * (len(nodes) + 1), OUTSIDE, dtype=np.int64)
    line[places] = features
    if not total:
        return Sequences(np.zeros((0, 2 * reach + 1), dtype=np.int64), np.zeros(0))
    return Sequences(sliding_window_view(line, 2 * reach + 1)[places - reach], np.repeat(side.number[at], lengths))


class _Nearness:
    """How the kernel compares two windows with the same middle."""

    def __init__(self, kernel: Locality, store: Any) -> None:
        types, _, self.theta = kernel._native_parameters(store)
        self.match = kernel.match
        self.types = [Type(*one) for one in types if one[2] > 0]

    def pairs(self, rows: Ids, others: Sequences, reach: int) -> Iterator[tuple[int, Ids, Vector, Vector, Any]]:
        """For each row, some at a time, the others with its middle: which they are, their numbers, the values of the pairs, and which of
        the row's places have an equal one.
        """
        middles = others.features[:, reach]
        met = np.flatnonzero(np.isin(middles, np.unique(rows[:, reach])))
        met = met[np.argsort(middles[met], kind="stable")]
        sorted_middles = middles[met]
        counts, factor = self._factors(2 * reach + 1)
        height = max(1, CELLS // (2 * reach + 1) ** 2)
        begins = np.searchsorted(sorted_middles, rows[:, reach], side="left").tolist()
        ends = np.searchsorted(sorted_middles, rows[:, reach], side="right").tolist()
        for at, row in enumerate(np.where(rows == OUTSIDE, ELSEWHERE, rows)):
            for begin in range(begins[at], ends[at], height):
                which = met[begin : min(begin + height, ends[at])]
                equal = (others.features[which][:, None, :] == row[None, :, None]) & counts
                if self.match == "position":
                    kappa = np.where(equal, factor, 1.0).prod(axis=(1, 2))
                else:
                    kappa = equal.sum(axis=(1, 2)).astype(float)
                yield at, which, others.number[which], kappa, equal.any(axis=2)

    def _factors(self, width: int) -> tuple[Any, Any]:
        """Which places of two windows are compared, and what an equal pair multiplies by."""
        apart = np.abs(np.subtract.outer(np.arange(width), np.arange(width)))
        if self.match == "count":
            return np.ones((width, width), dtype=bool), None
        same = apart == 0
        if self.match == "exact" or self.theta == 0:
            return same, np.where(same, 2.0, 1.0)
        near = np.exp(-((apart / self.theta) ** 2))
        return near > 0, 1 + near
