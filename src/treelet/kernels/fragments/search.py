"""The search for the fragments with the largest values.

The search itself is native (`native/fragment_search.hpp`). A fragment grows step by step together with all its occurrences. The
native code returns these steps, each with one node of the store as an example. This module builds trees, tag runs and
subsequences from the steps.
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
from treelet.kernels.fragments.weighting import WORD, Fragment, NodeWeighting, SearchResult
from treelet.kernels.fragments.windows import FeatureSubsequence, TagRun, search_windows
from treelet.structures import Tree
from treelet.structures.sequence_bank import feature_of
from treelet.structures.tree import OpenNode

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
        return search_windows(kernel, store, weightings, limit)
    search, build = _search(kernel)
    nodes = [np.ascontiguousarray(weighting.node, dtype=np.int32) for weighting in weightings]
    numbers = [np.ascontiguousarray(weighting.number, dtype=np.float64) for weighting in weightings]
    values, start, where, what, sums, complete, exact = search(
        store, nodes, numbers, min(limit, _MAX_STEPS), _MAX_STEPS
    )
    steps = list(zip(where.tolist(), what.tolist(), strict=True))
    begins = start.tolist()
    fragments = [
        Fragment(tree, value, tuple(sums_of_fragment))
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
    fragments = [Fragment(labels.subtree(node), value, sums) for value, sums, node in largest]
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
