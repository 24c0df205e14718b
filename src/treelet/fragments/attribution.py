"""The share of each node, word or feature of an example in a score."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treelet import _core
from treelet.cuts.link_features import feature_words
from treelet.formats.base import Columns
from treelet.fragments.explanation import NodeShare
from treelet.kernels import Locality
from treelet.kernels.fragments.sequences import Feature, TaggedWord
from treelet.kernels.fragments.weighting import NodeWeighting
from treelet.kernels.fragments.windows import window_values
from treelet.kernels.pairwise import Matrix, Vector
from treelet.learn.model import ROOT_LARGE
from treelet.learn.terms import GraphTerm
from treelet.structures import Dependencies, Forest, ForestBank, SequenceBank, Tagged, Tree

LARGEST_TREE = 5_000  # maximal number of distinct subtrees of an example; scoring more would take too long
LARGEST_SEQUENCE = 1_000  # maximal number of features of an example, for the same reason


class TermExamples(NamedTuple):
    """A term of a model, and the examples as coerced by its kernel."""

    term: GraphTerm
    data: Any
    """The examples, over an extension of the term's store."""
    logs: Vector | None
    """Logarithms of the roots of the examples' self-values; None if the term is not normalized."""
    factors: Vector
    """Factor of the term's values for each example."""
    weights: NodeWeighting
    column: Any


class NodeAttribution:
    """The shares of the nodes, words and features of examples, summed over the terms of a model."""

    def __init__(self, examples: Sequence[Any], signs: Vector, mix: Vector) -> None:
        self.examples, self.signs, self.mix = examples, signs, mix
        self._shares: dict[tuple[int, Any, type], tuple[Any, list[Any], Vector]] = {}

    def add(self, view: TermExamples) -> None:
        look: Callable[[TermExamples, int], tuple[list[Any], Vector] | None] = self._nodes
        if isinstance(view.data, ForestBank):
            look = self._forest_nodes
        elif isinstance(view.data, SequenceBank):
            look = self._features
        for row, root in enumerate(view.data.columns.roots.tolist()):
            attributed = look(view, row) if root >= 0 else None
            if attributed is None:
                continue
            parts, shares = attributed
            key = row, view.term.kernel_term.inner.path, type(view.data)
            if key not in self._shares:
                self._shares[key] = view.column, parts, np.zeros(len(parts))
            self._shares[key][2][:] += self.signs[row] * shares

    def listed(self) -> list[NodeShare]:
        return [
            NodeShare(part, share, column)
            for _, (column, parts, shares) in sorted(self._shares.items(), key=lambda item: item[0][0])
            for part, share in zip(parts, shares.tolist(), strict=True)
        ]

    # --- kinds of examples ------------------------------------------------------------------------------------------

    def _nodes(self, view: TermExamples, row: int) -> tuple[list[Any], Vector] | None:
        """Return the nodes of a tree in pre-order, or the words of a tagged sequence, with their shares."""
        store, root = view.data.columns.store, int(view.data.columns.roots[row])
        example, order = view.data[row], _pre_order(store, root)
        if isinstance(example, Tagged):
            order = [node for node in order if store.production[node] >= 0]
        distinct, position = np.unique(order, return_inverse=True)
        if len(distinct) > LARGEST_TREE:
            return None
        parts = list(example.nodes()) if isinstance(example, Tree) else _words(example)
        return parts, (_values(view, row, distinct) @ self.mix)[position]

    def _forest_nodes(self, view: TermExamples, row: int) -> tuple[list[Any], Vector] | None:
        """Return the nodes of a forest in its own order, with their shares weighted by their probabilities."""
        forest: Forest = view.data[row]
        nodes, native = view.data.columns.store.nodes_of(forest._native), forest._native
        distinct, position = np.unique(nodes, return_inverse=True)
        if len(distinct) > LARGEST_TREE:
            return None
        inside = native.inside()
        logs = inside + native.outside() - inside[native.root]
        values = np.zeros(len(distinct))
        values[distinct >= 0] = _values(view, row, distinct[distinct >= 0]) @ self.mix
        return list(forest.nodes), np.exp(logs) * values[position]

    def _features(self, view: TermExamples, row: int) -> tuple[list[Any], Vector] | None:
        """Return the features of all sequences with their shares, or the words of a dependency parse.

        The share of a link is divided equally between its two words.
        """
        example = view.data[row]
        sequences = example if isinstance(example, dict) else {"": example}
        if sum(map(len, sequences.values())) > LARGEST_SEQUENCE:
            return None
        values = self._at_features(view, row, sequences)
        parse = _in_column(self.examples[row], view.term.kernel_term.inner.path)
        if isinstance(parse, Dependencies):
            shares = np.zeros(len(parse.words))
            for name, words in feature_words(parse).items():
                for value, about in zip(values.get(name, ()), words, strict=False):
                    shares[list(about)] += value / len(about)
            return _words(parse), shares
        parts = [
            Feature(name, at, feature) for name, features in sequences.items() for at, feature in enumerate(features)
        ]
        return parts, np.concatenate([np.zeros(0), *(values[name] for name, features in sequences.items() if features)])

    def _at_features(self, view: TermExamples, row: int, sequences: dict[str, tuple[Any, ...]]) -> dict[str, Vector]:
        """Return the share of each feature: that of its window, or of the subsequences that start with it."""
        kernel = view.term.kernel_term.inner.kernel
        if isinstance(kernel, Locality):
            store, root = view.data.columns.store, int(view.data.columns.roots[row])
            nodes = store.child[store.child_start[root] : store.child_start[root + 1]].tolist()
            texts = store.labels
            return {
                texts[store.label[node]]: view.factors[row] * window_values(kernel, store, node, view.weights)
                for node in nodes
            }
        shares = {}
        for name, features in sequences.items():
            suffixes = SequenceBank([{name: features[begin:]} for begin in range(len(features))])
            values = _scores(view, row, view.term.graph.joined(suffixes)[1]) @ self.mix
            shares[name] = values - np.append(values[1:], 0.0)
        return shares


def _words(example: Any) -> list[TaggedWord]:
    return [TaggedWord(at, word, tag) for at, (word, tag) in enumerate(zip(example.words, example.tags, strict=True))]


def _in_column(example: Any, path: Sequence[Any]) -> Any:
    """Return the uncoerced value of an example in the column of a kernel, or None if there is no such column."""
    for name in path:
        if not isinstance(example, Mapping) or name not in example:
            return None
        example = example[name]
    return example


def _pre_order(store: Any, root: int) -> list[int]:
    start, child = store.child_start.tolist(), store.child
    order, stack = [], [root]
    while stack:
        node = stack.pop()
        order.append(node)
        stack.extend(child[start[node] : start[node + 1]].tolist()[::-1])
    return order


def _values(view: TermExamples, row: int, nodes: NDArray[Any]) -> Matrix:
    """Return the contribution of each subtree root to the score of an example, as nodes x outputs."""
    store, nodes = view.data.columns.store, nodes.astype(np.int32)
    below = _core.NodeWeights.count(store, nodes)
    itself = below.node == np.repeat(nodes, np.diff(below.start))
    alone = _core.NodeWeights.of(below.start, below.node, itself.astype(float))
    return _scores(view, row, type(view.data)._of(Columns(store, nodes), None, alone))


def _scores(view: TermExamples, row: int, parts: Any) -> Matrix:
    """Return the scores of parts of an example, with the normalization of the example, as parts x outputs."""
    term = view.term
    out = np.zeros((len(parts), term.outputs))
    if view.logs is None:
        term.plain(parts, out)
        return out
    log_root = float(view.logs[row])
    if not math.isfinite(log_root):
        return out
    if term.needs_scaling or abs(log_root) > ROOT_LARGE:
        term.scaled(parts, np.full(len(parts), log_root + term.shift), out)
        return out
    term.plain(parts, out)
    return out * math.exp(-log_root)
