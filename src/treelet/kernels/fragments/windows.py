"""The fragments of the locality kernel: windows that two examples share, or that a model weights.

The kernel compares every window of the first side with every window of the second side that has the same feature in
its middle. A fragment is the equal part of such a pair, seen from the first side: the features of the first window that
have an equal feature in the second. The value of a fragment is the sum over all pairs with this fragment. The values of
all fragments add up to the value of the kernel.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from types import EllipsisType
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from treelet.kernels import Locality
from treelet.kernels.fragments.weighting import Fragment, NodeWeighting, SearchResult
from treelet.kernels.pairwise import Vector
from treelet.structures.sequence_bank import feature_of

# --- fragments of sequences and vectors -------------------------------------------------------------------------------

_GAP = "\u00b7"  # a position of a window without an equal feature


class TagRun(NamedTuple):
    """A run of tags, each with its word or without: a fragment of `Tagging`.

    Attributes
    ----------
    tags : tuple of str
    words : tuple of str or None
        The word at each position; None if any word matches.

    Examples
    --------
    >>> print(TagRun(("SP", "CP", "N"), (None, "Gerstner", None)))
    SP Gerstner/CP N
    """

    tags: tuple[str, ...]
    words: tuple[str | None, ...]

    def __str__(self) -> str:
        pairs = zip(self.tags, self.words, strict=True)
        return " ".join(tag if word is None else f"{word}/{tag}" for tag, word in pairs)


class FeatureSubsequence(NamedTuple):
    """Features in a fixed order, possibly with other features between them: a fragment of `Subsequence`.

    Attributes
    ----------
    type : str
        Type of the sequence that contains the features; empty if an example has only one sequence.
    features : tuple

    Examples
    --------
    >>> print(FeatureSubsequence("link_type", ("Sp", "MVa")))
    link_type: Sp … MVa
    """

    type: str
    features: tuple[Hashable, ...]

    def __str__(self) -> str:
        return _typed(self.type, " \u2026 ".join(map(_written, self.features)))


class _Window(NamedTuple):
    """The features that a window shares with windows around the same middle: a fragment of `Locality`.

    Attributes
    ----------
    type : str
        As for `FeatureSubsequence`.
    features : tuple
        The features from the first to the last shared one; ``...`` stands for a feature that is not shared.
    middle : int
        Index of the window's middle in `features`.

    Examples
    --------
    >>> print(_Window("word_tag", (("the", "d"), ..., ("dog", "n")), 2))
    word_tag: the/d · [dog/n]
    """

    type: str
    features: tuple[Hashable | EllipsisType, ...]
    middle: int

    def __str__(self) -> str:
        texts = [_GAP if feature is ... else _written(feature) for feature in self.features]
        texts[self.middle] = f"[{texts[self.middle]}]"
        return _typed(self.type, " ".join(texts))


class TaggedWord(NamedTuple):
    """A word of a sentence, with its position and its tag."""

    position: int
    word: str
    tag: str

    def __str__(self) -> str:
        return f"{self.word}/{self.tag}"


class Feature(NamedTuple):
    """A feature of an example that consists of sequences, with the type of its sequence and its position there."""

    type: str
    position: int
    feature: Hashable

    def __str__(self) -> str:
        return _typed(self.type, _written(self.feature))


class VectorFeature(NamedTuple):
    """A feature of a vector: a fragment of `Linear`.

    Attributes
    ----------
    column : str, int, tuple or None
        Column of the vector; None if the examples have no columns.
    name : str, int or None
        Name of the feature, or its index in a vector without names. None if the column contains numbers.
    value : float or None
        Value of the feature in the explained example, for a pair the difference of the two values.
        None for a feature of a model.

    Examples
    --------
    >>> print(VectorFeature("words", "dog", 2.0))
    words[dog] = 2
    >>> print(VectorFeature("size", None), VectorFeature(None, 17))
    size feature 17
    """

    column: Hashable
    name: str | int | None
    value: float | None = None

    def __str__(self) -> str:
        column = "/".join(map(str, self.column)) if isinstance(self.column, tuple) else self.column
        if column is None:
            text = f"feature {self.name}" if isinstance(self.name, int) else str(self.name)
        else:
            text = str(column) if self.name is None else f"{column}[{self.name}]"
        return text if self.value is None else f"{text} = {self.value:g}"


def _written(feature: Hashable) -> str:
    """Return a feature as text: the items of a tuple are separated by slashes, as a word and its tag.

    >>> _written(("dogs", "n"))
    'dogs/n'
    """
    return "/".join(map(str, feature)) if isinstance(feature, tuple) else str(feature)


def _typed(kind: str, text: str) -> str:
    return f"{kind}: {text}" if kind else text


# --- the fragments of the locality kernel -----------------------------------------------------------------------------

_CELLS = 1 << 22  # pairs of features that are compared at once
_MAX_CELLS = 1 << 27  # pairs of features when a model's windows are compared with each other, about a second of work
_OUTSIDE = -1  # position beyond the end of a sequence
# Position without an equal one. In one of two windows it also replaces OUTSIDE, which therefore never matches.
_UNEQUAL = -2

Ids = NDArray[np.int64]


class _SequenceType(NamedTuple):
    """A type of sequences with its parameters in the kernel."""

    label: int
    reach: int
    factor: float


class _WindowRows(NamedTuple):
    """The windows of some sequences of one type: one row of features per window, and a number per window."""

    features: Ids
    number: Vector

    def distinct(self) -> _WindowRows:
        """Return each different window once, with the sum of its numbers."""
        rows, row_of_window = np.unique(self.features, axis=0, return_inverse=True)
        return _WindowRows(rows, np.bincount(row_of_window.ravel(), self.number, len(rows)).astype(float))


def search_windows(kernel: Locality, store: Any, weightings: tuple[NodeWeighting, ...], limit: int) -> SearchResult:
    """Return the shared windows with the largest values; for a single weighting, the windows that the model weights most."""
    if len(weightings) == 1:
        return _heaviest(kernel, store, weightings[0], limit)
    first, second = weightings
    return _shared(kernel, store, first, second, limit)


def window_values(kernel: Locality, store: Any, node: int, model: NodeWeighting) -> Vector:
    """Return the contribution of the window around each feature of one sequence to the value of a model."""
    comparison = _WindowComparison(kernel, store)
    sequence = NodeWeighting(np.array([node], dtype=np.int32), np.ones(1))
    for kind in comparison.types:
        if kind.label == store.label[node]:
            reach = _reach(store, kind, sequence, model)
            rows = _windows(store, sequence, kind, reach).features
            values = np.zeros(len(rows))
            for pairs in comparison.pairs(rows, _windows(store, model, kind, reach), reach):
                values[pairs.row] += pairs.number @ pairs.value
            return kind.factor * values
    return np.zeros(int(store.child_start[node + 1] - store.child_start[node]))


# --- the search -----------------------------------------------------------------------------------------------------


class _WindowKey(NamedTuple):
    """Identifies a fragment: the position of the middle, and the features from the first to the last equal one."""

    middle: int
    features: tuple[int, ...]

    @staticmethod
    def of(row: Ids, equal: NDArray[np.bool_], reach: int) -> _WindowKey:
        """Return the key of the equal part of a window.

        The window ``a the big dog ran`` with the reach 2 has the middle ``big``, which is equal in every pair. If ``the``
        and ``ran`` are equal too, and the others are not, the key is ``(1, (the, big, UNEQUAL, ran))``.
        """
        positions = np.flatnonzero(equal)
        begin, end = positions[0], positions[-1] + 1
        return _WindowKey(int(reach - begin), tuple(np.where(equal, row, _UNEQUAL)[begin:end].tolist()))


@dataclass
class _WindowSum:
    """The pairs of windows with one fragment: their total value, and the windows of each side that take part."""

    value: float = 0.0
    first: set[int] = field(default_factory=set)
    second: list[Ids] = field(default_factory=list)


def _shared(kernel: Locality, store: Any, first: NodeWeighting, second: NodeWeighting, limit: int) -> SearchResult:
    comparison, texts = _WindowComparison(kernel, store), store.labels
    fragments: list[Fragment] = []
    for kind in comparison.types:
        reach = _reach(store, kind, first, second)
        ours, theirs = _windows(store, first, kind, reach).distinct(), _windows(store, second, kind, reach)
        for key, total in _sums(comparison, ours, theirs, reach).items():
            features = tuple(... if label == _UNEQUAL else feature_of(texts[label]) for label in key.features)
            window = _Window(texts[kind.label], features, key.middle)
            counts = (
                float(ours.number[sorted(total.first)].sum()),
                float(theirs.number[np.unique(np.concatenate(total.second))].sum()),
            )
            fragments.append(Fragment(window, float(kind.factor * total.value), counts))
    fragments.sort(key=lambda fragment: -abs(fragment.value))
    return SearchResult(fragments[:limit], len(fragments) <= limit, True)


def _sums(
    comparison: _WindowComparison, ours: _WindowRows, theirs: _WindowRows, reach: int
) -> dict[_WindowKey, _WindowSum]:
    """Add up the values of all pairs of windows, fragment by fragment."""
    sums: dict[_WindowKey, _WindowSum] = {}
    for pairs in comparison.pairs(ours.features, theirs, reach):
        # Pairs in which the same positions are equal have the same fragment: one step per pattern, not per pair.
        patterns, pattern_of_pair = np.unique(pairs.equal, axis=0, return_inverse=True)
        pattern_of_pair = pattern_of_pair.ravel()
        values = np.bincount(pattern_of_pair, pairs.number * pairs.value, len(patterns))
        for number, equal in enumerate(patterns):
            total = sums.setdefault(_WindowKey.of(ours.features[pairs.row], equal, reach), _WindowSum())
            total.value += ours.number[pairs.row] * values[number]
            total.first.add(pairs.row)
            total.second.append(pairs.others[pattern_of_pair == number])
    return sums


def _heaviest(kernel: Locality, store: Any, model: NodeWeighting, limit: int) -> SearchResult:
    """Return the windows of a model with the largest values.

    If there are too many pairs, windows with small weights are skipped.
    """
    comparison, texts = _WindowComparison(kernel, store), store.labels
    fragments: list[Fragment] = []
    window_count, exact = 0, True
    for kind in comparison.types:
        reach = _reach(store, kind, model)
        windows = _windows(store, model, kind, reach).distinct()
        _, middle, sizes = np.unique(windows.features[:, reach], return_inverse=True, return_counts=True)
        order = np.argsort(-np.abs(windows.number), kind="stable")
        work = np.cumsum(sizes[middle.ravel()[order]]) * (2 * reach + 1) ** 2
        compared = order[: max(limit, int(np.searchsorted(work, _MAX_CELLS // len(comparison.types))))]
        window_count, exact = window_count + len(order), exact and len(compared) == len(order)
        values = np.zeros(len(compared))
        for pairs in comparison.pairs(windows.features[compared], windows, reach):
            values[pairs.row] += kind.factor * (pairs.number @ pairs.value)
        for at in np.argsort(-np.abs(values), kind="stable")[:limit].tolist():
            row = windows.features[compared[at]]
            inside = np.flatnonzero(row != _OUTSIDE)
            features = tuple(feature_of(texts[label]) for label in row[inside].tolist())
            window = _Window(texts[kind.label], features, int(reach - inside[0]))
            fragments.append(Fragment(window, float(values[at]), (float(windows.number[compared[at]]),)))
    fragments.sort(key=lambda fragment: -abs(fragment.value))
    return SearchResult(fragments[:limit], window_count <= limit, exact)


# --- windows ------------------------------------------------------------------------------------------------------


def _sequences(store: Any, kind: _SequenceType, weighting: NodeWeighting) -> Any:
    """Return which nodes of a weighting are sequences of a type."""
    return np.flatnonzero((store.height[weighting.node] == 1) & (store.label[weighting.node] == kind.label))


def _reach(store: Any, kind: _SequenceType, *weightings: NodeWeighting) -> int:
    """Return how far the kernel looks in each direction, bounded by the longest sequence."""
    nodes = np.concatenate([weighting.node[_sequences(store, kind, weighting)] for weighting in weightings])
    longest = int((store.child_start[nodes + 1] - store.child_start[nodes]).max(initial=1))
    return min(kind.reach, longest - 1)


def _windows(store: Any, weighting: NodeWeighting, kind: _SequenceType, reach: int) -> _WindowRows:
    """Return the windows of a weighting's sequences; sequences with the number 0 are left out."""
    at = _sequences(store, kind, weighting)
    at = at[weighting.number[at] != 0]
    nodes, start = weighting.node[at], store.child_start
    lengths = (start[nodes + 1] - start[nodes]).astype(np.int64)
    total, ends = int(lengths.sum()), np.cumsum(lengths)
    if not total:
        return _WindowRows(np.zeros((0, 2 * reach + 1), dtype=np.int64), np.zeros(0))
    within = np.arange(total) - np.repeat(ends - lengths, lengths)
    features = store.label[store.child[np.repeat(start[nodes], lengths) + within]]
    # All sequences lie on one line, with `reach` positions before, between and behind them.
    positions = np.arange(total) + reach * (1 + np.repeat(np.arange(len(nodes)), lengths))
    line = np.full(total + reach * (len(nodes) + 1), _OUTSIDE, dtype=np.int64)
    line[positions] = features
    rows = sliding_window_view(line, 2 * reach + 1)[positions - reach]
    return _WindowRows(rows, np.repeat(weighting.number[at], lengths))


class _WindowPairs(NamedTuple):
    """A window, and some of the other windows with the same middle."""

    row: int
    others: Ids
    """Indices of the other windows."""
    number: Vector
    """Numbers of the other windows."""
    value: Vector
    """Kernel value per pair."""
    equal: NDArray[np.bool_]
    """Per pair: whether each position of the window has an equal feature."""


class _WindowComparison:
    """Compares windows with the same middle as the kernel does."""

    def __init__(self, kernel: Locality, store: Any) -> None:
        types, _, self.theta = kernel._native_parameters(store)
        self.match = kernel.match
        self.types = [_SequenceType(*parameters) for parameters in types if parameters[2] > 0]

    def pairs(self, rows: Ids, others: _WindowRows, reach: int) -> Iterator[_WindowPairs]:
        """Compare each row with the others that have the same middle, in blocks of bounded size."""
        middles = others.features[:, reach]
        matching = np.flatnonzero(np.isin(middles, np.unique(rows[:, reach])))
        matching = matching[np.argsort(middles[matching], kind="stable")]
        sorted_middles = middles[matching]
        compared, factor = self._factors(2 * reach + 1)
        height = max(1, _CELLS // (2 * reach + 1) ** 2)
        begins = np.searchsorted(sorted_middles, rows[:, reach], side="left").tolist()
        ends = np.searchsorted(sorted_middles, rows[:, reach], side="right").tolist()
        for at, row in enumerate(np.where(rows == _OUTSIDE, _UNEQUAL, rows)):
            for begin in range(begins[at], ends[at], height):
                block = matching[begin : min(begin + height, ends[at])]
                equal = (others.features[block][:, None, :] == row[None, :, None]) & compared
                if self.match == "position":
                    value = np.where(equal, factor, 1.0).prod(axis=(1, 2))
                else:
                    value = equal.sum(axis=(1, 2)).astype(float)
                yield _WindowPairs(at, block, others.number[block], value, equal.any(axis=2))

    def _factors(self, width: int) -> tuple[Any, Any]:
        """Return which positions of two windows are compared, and the factor of an equal pair of positions."""
        apart = np.abs(np.subtract.outer(np.arange(width), np.arange(width)))
        if self.match == "count":
            return np.ones((width, width), dtype=bool), None
        same = apart == 0
        if self.match == "exact" or self.theta == 0:
            return same, np.where(same, 2.0, 1.0)
        near = np.exp(-((apart / self.theta) ** 2))
        return near > 0, 1 + near
