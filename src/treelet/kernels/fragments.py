"""List the fragments that a kernel counts: the kernels that allow it, the search, and the results of the search.

The search takes one or two weightings of the nodes of a store: two examples that are compared, an example and a model, or a
model alone. The weighting of an example counts how often the example contains each distinct subtree; that of a model has the
weight of each. The value of a fragment is the product, over the weightings, of the sums at its occurrences, times the kernel's
decay. Both `treelet.learn` (fragments as features) and `treelet.fragments` (explanations) use the search.

The search itself is native (`native/fragment_search.hpp`). A fragment grows step by step together with all its occurrences. The
native code returns these steps, each with one node of the store as an example. This module builds trees, tag runs and
subsequences from the steps. The windows of `Locality` are searched here.
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import partial
from types import EllipsisType
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from treelet import _core
from treelet.kernels import (
    ForestKernel,
    Kernel,
    Locality,
    PartialTree,
    Smoothed,
    Subsequence,
    SubsetTree,
    Subtree,
    Tagging,
)
from treelet.kernels.pairwise import Vector
from treelet.structures import Tree
from treelet.structures.sequence import feature_of
from treelet.structures.tree import OpenNode

WORD = "\u2022"  # child of a word that a fragment of SubsetTree(leaves=True) expands
FRAGMENTS = "Subtree, SubsetTree and PartialTree"
"""Tree kernels whose fragments can be listed."""
LISTED = "Subtree, SubsetTree, PartialTree, ForestKernel, Tagging, Subsequence and Locality"
"""All kernels whose fragments can be listed."""


def has_fragments(kernel: Kernel, of_trees: bool = True) -> bool:
    """Return whether the fragments of a kernel can be listed. With `of_trees`, the fragments must also be trees."""
    if isinstance(kernel, PartialTree) and kernel.terminal_factor != 1:
        return False
    if isinstance(kernel, (Subtree, SubsetTree, PartialTree)):
        return not isinstance(kernel, Smoothed)
    return not of_trees and isinstance(kernel, (ForestKernel, Tagging, Subsequence, Locality))


class NodeWeighting(NamedTuple):
    """Distinct nodes of a store, and a number for each: a count or a weight."""

    node: NDArray[np.int32]
    number: NDArray[np.float64]

    @staticmethod
    def of(weights: _core.NodeWeights, factors: NDArray[np.float64] | None = None) -> NodeWeighting:
        """Return the sum of all rows of some weights, each multiplied by a factor."""
        node, number = weights.node, weights.weight
        if factors is not None:
            number = number * np.repeat(factors, np.diff(weights.start))
        if len(weights) > 1:
            node, position = np.unique(node, return_inverse=True)
            number = np.bincount(position, number, len(node)).astype(float)
        return NodeWeighting(node, number)


class _Fragment(NamedTuple):
    """A fragment and its value."""

    tree: Any
    value: float
    sums: tuple[float, ...]
    """For each weighting, the sum of its numbers over the occurrences, without decay."""


class SearchResult(NamedTuple):
    """Fragments, the largest absolute value first."""

    fragments: list[_Fragment]
    complete: bool
    """True if all fragments are listed."""
    exact: bool
    """True if no missing fragment has a larger absolute value."""


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


class Window(NamedTuple):
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
    >>> print(Window("word_tag", (("the", "d"), ..., ("dog", "n")), 2))
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


# --- the search -------------------------------------------------------------------------------------------------------

_MAX_STEPS = 16_000_000  # growth steps, about a second of work, after which the search is cut off
Steps = list[tuple[int, int]]
"""How a fragment grew: the index of the node that was expanded, and an example of its expansion in the store."""


def search_fragments(kernel: Kernel, store: Any, weightings: tuple[NodeWeighting, ...], limit: int) -> SearchResult:
    """Return the `limit` fragments with the largest absolute values among those that occur in all weightings.

    The result is exact unless the search was cut off.
    """
    if isinstance(kernel, Subtree):
        return _complete_subtrees(kernel, store, weightings, limit)
    if isinstance(kernel, Locality):
        if len(weightings) == 1:
            return _heaviest_windows(kernel, store, weightings[0], limit)
        return _shared_windows(kernel, store, weightings[0], weightings[1], limit)
    search, build = _search(kernel)
    nodes = [np.ascontiguousarray(weighting.node, dtype=np.int32) for weighting in weightings]
    numbers = [np.ascontiguousarray(weighting.number, dtype=np.float64) for weighting in weightings]
    values, start, where, what, sums, complete, exact = search(
        store, nodes, numbers, min(limit, _MAX_STEPS), _MAX_STEPS
    )
    steps = list(zip(where.tolist(), what.tolist(), strict=True))
    begins = start.tolist()
    fragments = [
        _Fragment(tree, value, tuple(sums_of_fragment))
        for tree, value, sums_of_fragment in zip(
            build(store, [steps[begins[i] : begins[i + 1]] for i in range(len(values))]),
            values.tolist(),
            sums.reshape(-1, len(weightings)).tolist(),
            strict=True,
        )
    ]
    return SearchResult(fragments, complete, exact)


Search = Callable[[Any, Any, Any, int, int], Any]
Build = Callable[[Any, list[Steps]], Iterable[Any]]


def _search(kernel: Kernel) -> tuple[Search, Build]:
    """Return the native search, and the function that builds fragments from its steps."""
    if isinstance(kernel, SubsetTree):
        lam, depth, leaves = float(kernel.lam), kernel.max_depth or 0, bool(kernel.leaves)
        return partial(_core.subset_trees, lam=lam, max_depth=min(depth, 2**31 - 1), leaves=leaves), _from_productions
    if isinstance(kernel, ForestKernel):
        lam, leaves = float(kernel.lam), bool(kernel.leaves)
        return partial(_core.forest_subset_trees, lam=lam, leaves=leaves), _from_edges
    if isinstance(kernel, Tagging):
        lam = float(kernel.lam)
        return partial(_core.tag_runs, lam=lam), _from_positions
    if isinstance(kernel, Subsequence):
        lam, length = float(kernel.lam), min(int(kernel.length), 2**31 - 1)
        return partial(_core.subsequences, lam=lam, length=length), _from_features
    assert isinstance(kernel, PartialTree)
    lam, mu, leaves = float(kernel.lam), float(kernel.mu), bool(kernel.leaves)
    return partial(_core.partial_trees, lam=lam, mu=mu, leaves=leaves), _from_nodes


def _complete_subtrees(kernel: Subtree, store: Any, weightings: tuple[NodeWeighting, ...], limit: int) -> SearchResult:
    """Return the complete subtrees with the largest values. Subtrees are nodes of the store, so no search is needed."""
    production, sizes, half = store.production, store.productions_below, len(weightings) / 2
    numbers = [dict(zip(weighting.node.tolist(), weighting.number.tolist(), strict=True)) for weighting in weightings]
    subtrees = []
    for node in sorted(set(numbers[0]).intersection(*numbers[1:])):
        sums = tuple(number[node] for number in numbers)
        if production[node] >= 0 and all(sums):
            subtrees.append((math.pow(kernel.lam, half * float(sizes[node])) * math.prod(sums), sums, node))
    largest = heapq.nsmallest(limit, subtrees, key=lambda entry: -abs(entry[0]))
    labels = _StoreLabels(store)
    fragments = [_Fragment(labels.subtree(node), value, sums) for value, sums, node in largest]
    return SearchResult(fragments, len(subtrees) <= limit, True)


# --- from steps to fragments --------------------------------------------------------------------------------------


class _StoreLabels:
    """The labels of a store's nodes, as text."""

    def __init__(self, store: Any) -> None:
        self.texts: list[str] = store.labels
        self.labels, self.child, self.start = store.label, store.child, store.child_start

    def __call__(self, node: int) -> str:
        return self.texts[int(self.labels[node])]

    def children(self, at: int) -> list[int]:
        """Return the children of a node of trees, or the tails of a hyperedge of forests."""
        return self.child[self.start[at] : self.start[at + 1]].tolist()  # type: ignore[no-any-return]

    def subtree(self, root: int) -> Tree:
        """Return the complete subtree at a node."""
        order, seen = [root], {root}
        for node in order:
            new = set(self.children(node)) - seen
            order.extend(new)
            seen |= new
        built: dict[int, Tree] = {}
        for node in sorted(order):  # children have smaller numbers
            built[node] = Tree(self(node), [built[child] for child in self.children(node)])
        return built[root]


def _tree(labels: list[str], words: list[bool], below: list[list[int]]) -> Tree:
    """Return the tree of numbered nodes, each with the numbers of its children, which are larger.

    Leaves that are not words become open nodes.
    """
    built: list[Any] = [None] * len(labels)
    for node in range(len(labels) - 1, -1, -1):
        is_open = not below[node] and not words[node]
        built[node] = OpenNode(labels[node]) if is_open else Tree(labels[node], [built[kid] for kid in below[node]])
    return built[0]  # type: ignore[no-any-return]


def _expanded(steps: Steps, root: str, production: Callable[[int], list[tuple[str, bool]]]) -> Tree:
    """Return the tree of steps that each expand a node by a production: labels, and whether they are words."""
    labels, words, below = [root], [False], [[]]  # type: list[str], list[bool], list[list[int]]
    for where, what in steps:
        children = production(what)
        below[where] = list(range(len(labels), len(labels) + len(children)))
        labels += [label for label, _ in children]
        words += [is_word for _, is_word in children]
        below += [[] for _ in children]
    return _tree(labels, words, below)


def _from_productions(store: Any, fragments: list[Steps]) -> Iterable[Tree]:
    labels = _StoreLabels(store)

    def production(node: int) -> list[tuple[str, bool]]:
        return [(labels(child), not labels.children(child)) for child in labels.children(node)] or [(WORD, True)]

    for steps in fragments:
        yield _expanded(steps, labels(steps[0][1]), production)


def _from_edges(store: Any, fragments: list[Steps]) -> Iterable[Tree]:
    labels, edge_start = _StoreLabels(store), store.edge_start
    edges = int(edge_start[-1])

    def production(what: int) -> list[tuple[str, bool]]:
        if what >= edges:
            return [(WORD, True)]
        return [(labels(node), bool(edge_start[node] == edge_start[node + 1])) for node in labels.children(what)]

    for steps in fragments:
        first = steps[0][1]
        root = first - edges if first >= edges else int(np.searchsorted(edge_start, first, side="right")) - 1
        yield _expanded(steps, labels(root), production)


def _from_nodes(store: Any, fragments: list[Steps]) -> Iterable[Tree]:
    """Build partial trees: a step is the parent's number, counted from 1, and the new node."""
    labels = _StoreLabels(store)
    for steps in fragments:
        node_labels = [labels(node) for _, node in steps]
        words = [not labels.children(node) for _, node in steps]
        below: list[list[int]] = [[] for _ in steps]
        for number, (parent, _) in enumerate(steps):
            if number:
                below[parent - 1].append(number)
        yield _tree(node_labels, words, below)


def _from_positions(store: Any, fragments: list[Steps]) -> Iterable[TagRun]:
    labels = _StoreLabels(store)
    for steps in fragments:
        nodes = [what // 2 for _, what in steps]
        words = [labels(labels.children(what // 2)[0]) if what % 2 else None for _, what in steps]
        yield TagRun(tuple(map(labels, nodes)), tuple(words))


def _from_features(store: Any, fragments: list[Steps]) -> Iterable[FeatureSubsequence]:
    """Build subsequences: a step is the node of the sequence and that of the feature, in one number."""
    labels = _StoreLabels(store)
    for steps in fragments:
        yield FeatureSubsequence(
            labels(steps[0][1] >> 32), tuple(feature_of(labels(what & 0xFFFFFFFF)) for _, what in steps)
        )


# --- the fragments of the locality kernel -----------------------------------------------------------------------------

# The kernel compares every window of the first side with every window of the second side that has the same feature in
# its middle. A fragment is the equal part of such a pair, seen from the first side: the features of the first window that
# have an equal feature in the second. The value of a fragment is the sum over all pairs with this fragment. The values of
# all fragments add up to the value of the kernel.

_CELLS = 1 << 22  # pairs of features that are compared at once
_OUTSIDE = -1  # position beyond the end of a sequence
# Position without an equal one. In one of two windows it also replaces OUTSIDE, which therefore never matches.
_UNEQUAL = -2

Ids = NDArray[np.int64]
Windows = tuple[Ids, Vector]
"""The windows of some sequences of one type: one row of features per window, and a number per window."""


def window_values(kernel: Locality, store: Any, node: int, model: NodeWeighting) -> Vector:
    """Return the contribution of the window around each feature of one sequence to the value of a model."""
    sequence = NodeWeighting(np.array([node], dtype=np.int32), np.ones(1))
    for label, most, factor in _types(kernel, store):
        if label == store.label[node]:
            reach = _reach(store, label, most, sequence, model)
            rows, _ = _windows(store, sequence, label, reach)
            values = np.zeros(len(rows))
            for row, _, numbers, pair_values, _ in _pairs(kernel, rows, _windows(store, model, label, reach), reach):
                values[row] += numbers @ pair_values
            return factor * values
    return np.zeros(int(store.child_start[node + 1] - store.child_start[node]))


def _shared_windows(
    kernel: Locality, store: Any, first: NodeWeighting, second: NodeWeighting, limit: int
) -> SearchResult:
    texts, fragments = store.labels, []
    for label, most, factor in _types(kernel, store):
        reach = _reach(store, label, most, first, second)
        ours, theirs = _distinct(_windows(store, first, label, reach)), _windows(store, second, label, reach)
        # By fragment, which is the index of the middle and the features from the first to the last equal one: the total
        # value of its pairs of windows, and the windows of each side that take part.
        values: defaultdict[tuple[int, tuple[int, ...]], float] = defaultdict(float)
        first_windows, second_windows = defaultdict(set), defaultdict(list)
        for row, others, numbers, pair_values, equal in _pairs(kernel, ours[0], theirs, reach):
            # Pairs in which the same positions are equal have the same fragment: one step per pattern, not per pair.
            patterns, pattern_of_pair = np.unique(equal, axis=0, return_inverse=True)
            pattern_of_pair = pattern_of_pair.ravel()
            totals = np.bincount(pattern_of_pair, numbers * pair_values, len(patterns))
            for number, pattern in enumerate(patterns):
                # The window ``a the big dog ran`` with the reach 2 has the middle ``big``, which is equal in every pair.
                # If ``the`` and ``ran`` are equal too, and the others are not, the key is
                # ``(1, (the, big, UNEQUAL, ran))``.
                begin, end = np.flatnonzero(pattern)[[0, -1]]
                features = np.where(pattern, ours[0][row], _UNEQUAL)[begin : end + 1]
                key = int(reach - begin), tuple(features.tolist())
                values[key] += ours[1][row] * totals[number]
                first_windows[key].add(row)
                second_windows[key].append(others[pattern_of_pair == number])
        for key, value in values.items():
            middle, labels = key
            shown = tuple(... if own == _UNEQUAL else feature_of(texts[own]) for own in labels)
            sums = (
                float(ours[1][sorted(first_windows[key])].sum()),
                float(theirs[1][np.unique(np.concatenate(second_windows[key]))].sum()),
            )
            fragments.append(_Fragment(Window(texts[label], shown, middle), float(factor * value), sums))
    fragments.sort(key=lambda fragment: -abs(fragment.value))
    return SearchResult(fragments[:limit], len(fragments) <= limit, True)


def _heaviest_windows(kernel: Locality, store: Any, model: NodeWeighting, limit: int) -> SearchResult:
    """Return the windows of a model with the largest values.

    If there are too many pairs, windows with small weights are skipped.
    """
    most_cells = 1 << 27  # pairs of features that are compared in all, about a second of work
    texts, types, fragments = store.labels, _types(kernel, store), []
    window_count, exact = 0, True
    for label, most, factor in types:
        reach = _reach(store, label, most, model)
        features, numbers = windows = _distinct(_windows(store, model, label, reach))
        # The windows with the largest weights come first. The work for a window grows with the number of windows that
        # have the same middle.
        _, middle, sizes = np.unique(features[:, reach], return_inverse=True, return_counts=True)
        order = np.argsort(-np.abs(numbers), kind="stable")
        work = np.cumsum(sizes[middle.ravel()[order]]) * (2 * reach + 1) ** 2
        compared = order[: max(limit, int(np.searchsorted(work, most_cells // len(types))))]
        window_count, exact = window_count + len(order), exact and len(compared) == len(order)
        values = np.zeros(len(compared))
        for row, _, other_numbers, pair_values, _ in _pairs(kernel, features[compared], windows, reach):
            values[row] += factor * (other_numbers @ pair_values)
        for at in np.argsort(-np.abs(values), kind="stable")[:limit].tolist():
            row = features[compared[at]]
            inside = np.flatnonzero(row != _OUTSIDE)
            shown = tuple(feature_of(texts[own]) for own in row[inside].tolist())
            window = Window(texts[label], shown, int(reach - inside[0]))
            fragments.append(_Fragment(window, float(values[at]), (float(numbers[compared[at]]),)))
    fragments.sort(key=lambda fragment: -abs(fragment.value))
    return SearchResult(fragments[:limit], window_count <= limit, exact)


def _types(kernel: Locality, store: Any) -> list[tuple[int, int, float]]:
    """Return the types of sequences that count: label, reach to each side of the middle, and factor."""
    types, _, _ = kernel._native_parameters(store)
    return [(label, reach, factor) for label, reach, factor in types if factor > 0]


def _sequences(store: Any, label: int, weighting: NodeWeighting) -> Any:
    """Return which nodes of a weighting are sequences of a type."""
    return np.flatnonzero((store.height[weighting.node] == 1) & (store.label[weighting.node] == label))


def _reach(store: Any, label: int, most: int, *weightings: NodeWeighting) -> int:
    """Return how far the kernel looks in each direction, bounded by the longest sequence."""
    nodes = np.concatenate([weighting.node[_sequences(store, label, weighting)] for weighting in weightings])
    longest = int((store.child_start[nodes + 1] - store.child_start[nodes]).max(initial=1))
    return min(most, longest - 1)


def _windows(store: Any, weighting: NodeWeighting, label: int, reach: int) -> Windows:
    """Return the windows of a weighting's sequences; sequences with the number 0 are left out."""
    at = _sequences(store, label, weighting)
    at = at[weighting.number[at] != 0]
    nodes, start = weighting.node[at], store.child_start
    lengths = (start[nodes + 1] - start[nodes]).astype(np.int64)
    total, ends = int(lengths.sum()), np.cumsum(lengths)
    if not total:
        return np.zeros((0, 2 * reach + 1), dtype=np.int64), np.zeros(0)
    within = np.arange(total) - np.repeat(ends - lengths, lengths)  # position of each feature in its sequence
    features = store.label[store.child[np.repeat(start[nodes], lengths) + within]]
    # All sequences lie on one line, with `reach` positions before, between and behind them.
    positions = np.arange(total) + reach * (1 + np.repeat(np.arange(len(nodes)), lengths))
    line = np.full(total + reach * (len(nodes) + 1), _OUTSIDE, dtype=np.int64)
    line[positions] = features
    rows = sliding_window_view(line, 2 * reach + 1)[positions - reach]
    return rows, np.repeat(weighting.number[at], lengths)


def _distinct(windows: Windows) -> Windows:
    """Return each different window once, with the sum of its numbers."""
    rows, row_of_window = np.unique(windows[0], axis=0, return_inverse=True)
    return rows, np.bincount(row_of_window.ravel(), windows[1], len(rows)).astype(float)


def _pairs(
    kernel: Locality, rows: Ids, others: Windows, reach: int
) -> Iterator[tuple[int, Ids, Vector, Vector, NDArray[np.bool_]]]:
    """Compare each window with the others that have the same middle, in blocks of bounded size.

    Yield the index of a window, the indices and the numbers of other windows, the value of each pair, and whether each
    position of the first window has an equal feature in the other.
    """
    # Which positions of two windows are compared, and the factor of an equal pair of positions.
    width, theta = 2 * reach + 1, float(kernel.theta)
    apart = np.abs(np.subtract.outer(np.arange(width), np.arange(width)))
    compared, factor = np.ones((width, width), dtype=bool), np.ones((width, width))
    if kernel.match == "exact" or (kernel.match == "position" and theta == 0):
        compared = apart == 0
        factor = np.where(compared, 2.0, 1.0)
    elif kernel.match == "position":
        near = np.exp(-((apart / theta) ** 2))
        compared, factor = near > 0, 1 + near
    # The other windows in the order of their middles: those with the middle of row i are begins[i] to ends[i].
    middles = others[0][:, reach]
    matching = np.flatnonzero(np.isin(middles, np.unique(rows[:, reach])))
    matching = matching[np.argsort(middles[matching], kind="stable")]
    begins = np.searchsorted(middles[matching], rows[:, reach], side="left").tolist()
    ends = np.searchsorted(middles[matching], rows[:, reach], side="right").tolist()
    height = max(1, _CELLS // width**2)
    for at, row in enumerate(np.where(rows == _OUTSIDE, _UNEQUAL, rows)):
        for begin in range(begins[at], ends[at], height):
            block = matching[begin : min(begin + height, ends[at])]
            equal = (others[0][block][:, None, :] == row[None, :, None]) & compared
            if kernel.match == "position":
                value = np.where(equal, factor, 1.0).prod(axis=(1, 2))
            else:
                value = equal.sum(axis=(1, 2)).astype(float)
            yield at, block, others[1][block], value, equal.any(axis=2)
