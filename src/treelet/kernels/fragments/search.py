"""Fragments grown along the places where they occur, the largest first.

The search is native (`native/fragment_search.hpp`). It tells the steps by which a fragment was grown, each with an example of
what it took from the store; here they become trees, runs and subsequences.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from treelet import _core
from treelet.kernels import ForestKernel, Kernel, Locality, PartialTree, Subsequence, SubsetTree, Subtree, Tagging
from treelet.kernels.fragments.sequences import FeatureSubsequence, TagRun
from treelet.kernels.fragments.weighting import WORD, Fragment, NodeWeighting, SearchResult
from treelet.kernels.fragments.windows import windows
from treelet.structures import Tree
from treelet.structures.sequence_bank import feature_of

MAX_STEPS = 16_000_000  # from place to place, before the search is cut off: about a second
Steps = list[tuple[int, int]]
"""How a fragment was grown: the number of the node that was grown, and an example of what it got."""


def search_fragments(kernel: Kernel, store: Any, sides: tuple[NodeWeighting, ...], limit: int) -> SearchResult:
    """The `limit` fragments of the largest absolute value, among those that all sides have; exact, unless there are too many to look at."""
    if isinstance(kernel, Subtree):
        return _complete_subtrees(kernel, store, sides, limit)
    if isinstance(kernel, Locality):
        return windows(kernel, store, sides, limit)
    search, drawn = _search(kernel)
    nodes = [np.ascontiguousarray(side.node, dtype=np.int32) for side in sides]
    numbers = [np.ascontiguousarray(side.number, dtype=np.float64) for side in sides]
    values, start, where, what, sums, complete, exact = search(store, nodes, numbers, min(limit, MAX_STEPS), MAX_STEPS)
    steps = list(zip(where.tolist(), what.tolist(), strict=True))
    begins = start.tolist()
    found = [
        Fragment(piece, value, tuple(sums_of))
        for piece, value, sums_of in zip(
            drawn(store, [steps[begins[i] : begins[i + 1]] for i in range(len(values))]),
            values.tolist(),
            sums.reshape(-1, len(sides)).tolist(),
            strict=True,
        )
    ]
    return SearchResult(found, complete, exact)


Search = Callable[[Any, Any, Any, int, int], Any]
Draw = Callable[[Any, list[Steps]], Iterable[Any]]


def _search(kernel: Kernel) -> tuple[Search, Draw]:
    """The native search, and what makes fragments of its steps."""
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


def _complete_subtrees(kernel: Subtree, store: Any, sides: tuple[NodeWeighting, ...], limit: int) -> SearchResult:
    production, sizes, half = store.production, store.productions_below, len(sides) / 2
    first = dict(zip(sides[0].node.tolist(), sides[0].number.tolist(), strict=True))
    others = [dict(zip(side.node.tolist(), side.number.tolist(), strict=True)) for side in sides[1:]]
    found = []
    for node in sorted(set(first).intersection(*others)):
        sums = (first[node], *(other[node] for other in others))
        if production[node] >= 0 and all(sums):
            found.append((math.pow(kernel.lam, half * float(sizes[node])) * math.prod(sums), sums, node))
    chosen = heapq.nsmallest(limit, found, key=lambda entry: -abs(entry[0]))
    names = _StoreLabels(store)
    return SearchResult(
        [Fragment(names.subtree(node), value, sums) for value, sums, node in chosen], len(found) <= limit, True
    )


# --- from steps to fragments --------------------------------------------------------------------------------------


class _StoreLabels:
    """The texts of a store's nodes."""

    def __init__(self, store: Any) -> None:
        self.texts: list[str] = store.labels
        self.labels, self.child, self.start = store.label, store.child, store.child_start

    def __call__(self, node: int) -> str:
        return self.texts[int(self.labels[node])]

    def children(self, at: int) -> list[int]:
        """Below a node of trees, or an edge of forests."""
        return self.child[self.start[at] : self.start[at + 1]].tolist()  # type: ignore[no-any-return]

    def subtree(self, root: int) -> Tree:
        """A node with all that is below it."""
        order, seen = [root], {root}
        for node in order:
            new = set(self.children(node)) - seen
            order.extend(new)
            seen |= new
        built: dict[int, Tree] = {}
        for node in sorted(order):  # children have smaller numbers
            built[node] = Tree(self(node), [built[child] for child in self.children(node)])
        return built[root]


def _tree(labels: list[str], below: list[list[int]]) -> Tree:
    """Nodes by number, each with the numbers of its children, which are larger."""
    built: list[Any] = [None] * len(labels)
    for node in range(len(labels) - 1, -1, -1):
        built[node] = Tree(labels[node], [built[child] for child in below[node]])
    return built[0]  # type: ignore[no-any-return]


def _expanded(steps: Steps, root: str, production: Callable[[int], list[str]]) -> Tree:
    labels, below = [root], [[]]  # type: list[str], list[list[int]]
    for where, what in steps:
        texts = production(what)
        below[where] = list(range(len(labels), len(labels) + len(texts)))
        labels += texts
        below += [[] for _ in texts]
    return _tree(labels, below)


def _from_productions(store: Any, grown: list[Steps]) -> Iterable[Tree]:
    names = _StoreLabels(store)
    for steps in grown:
        yield _expanded(steps, names(steps[0][1]), lambda node: [names(c) for c in names.children(node)] or [WORD])


def _from_edges(store: Any, grown: list[Steps]) -> Iterable[Tree]:
    names, edge_start = _StoreLabels(store), store.edge_start
    edges = int(edge_start[-1])

    def production(what: int) -> list[str]:
        return [WORD] if what >= edges else [names(child) for child in names.children(what)]

    for steps in grown:
        first = steps[0][1]
        root = first - edges if first >= edges else int(np.searchsorted(edge_start, first, side="right")) - 1
        yield _expanded(steps, names(root), production)


def _from_nodes(store: Any, grown: list[Steps]) -> Iterable[Tree]:
    """Partial trees: a step is the parent's number, counted from 1, and the new node."""
    names = _StoreLabels(store)
    for steps in grown:
        labels = [names(node) for _, node in steps]
        below: list[list[int]] = [[] for _ in steps]
        for number, (parent, _) in enumerate(steps):
            if number:
                below[parent - 1].append(number)
        yield _tree(labels, below)


def _from_positions(store: Any, grown: list[Steps]) -> Iterable[TagRun]:
    names = _StoreLabels(store)
    for steps in grown:
        nodes = [what // 2 for _, what in steps]
        words = [names(names.children(what // 2)[0]) if what % 2 else None for _, what in steps]
        yield TagRun(tuple(map(names, nodes)), tuple(words))


def _from_features(store: Any, grown: list[Steps]) -> Iterable[FeatureSubsequence]:
    """A step is the sequence's node and the feature's, in one number."""
    names = _StoreLabels(store)
    for steps in grown:
        yield FeatureSubsequence(
            names(steps[0][1] >> 32), tuple(feature_of(names(what & 0xFFFFFFFF)) for _, what in steps)
        )
