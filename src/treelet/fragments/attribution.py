"""The shares of the places of examples: of nodes of trees and forests, of words and features."""

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
from treelet.kernels.fragments.sequences import Feature, Word
from treelet.kernels.fragments.weighting import Side
from treelet.kernels.fragments.windows import window_values
from treelet.kernels.pairwise import Matrix, Vector
from treelet.learn.model import ROOT_LARGE
from treelet.learn.terms import GraphTerm
from treelet.structures import Dependencies, Forest, ForestBank, SequenceBank, Tagged, Tree

HEATED = 5_000  # distinct parts of an example: beyond, each with all that is below it is too much to look at
FEATURES = 1_000  # the same of sequences of features


class Heated(NamedTuple):
    """A term of a model, and the examples as it sees them."""

    term: GraphTerm
    data: Any
    """Over a store that grows over the term's."""
    logs: Vector | None
    """Of the roots of the examples' self-values; None where the term is not normalised."""
    factors: Vector
    """What the term's values of each example are multiplied by."""
    weights: Side
    column: Any


class Heat:
    """The shares of the places of examples, added up over the terms that see them."""

    def __init__(self, examples: Sequence[Any], signs: Vector, mix: Vector) -> None:
        self.examples, self.signs, self.mix = examples, signs, mix
        self._found: dict[tuple[int, Any, type], tuple[Any, list[Any], Vector]] = {}

    def add(self, one: Heated) -> None:
        look: Callable[[Heated, int], tuple[list[Any], Vector] | None] = self._nodes
        if isinstance(one.data, ForestBank):
            look = self._forest_nodes
        elif isinstance(one.data, SequenceBank):
            look = self._features
        for row, root in enumerate(one.data.columns.roots.tolist()):
            found = look(one, row) if root >= 0 else None
            if found is None:
                continue
            places, shares = found
            key = row, one.term.kernel_term.inner.path, type(one.data)
            if key not in self._found:
                self._found[key] = one.column, places, np.zeros(len(places))
            self._found[key][2][:] += self.signs[row] * shares

    def listed(self) -> list[NodeShare]:
        return [
            NodeShare(place, share, column)
            for _, (column, places, shares) in sorted(self._found.items(), key=lambda item: item[0][0])
            for place, share in zip(places, shares.tolist(), strict=True)
        ]

    # --- kinds of examples ------------------------------------------------------------------------------------------

    def _nodes(self, one: Heated, row: int) -> tuple[list[Any], Vector] | None:
        """Of trees, the nodes in pre-order; of tagged sequences, the words."""
        store, root = one.data.columns.store, int(one.data.columns.roots[row])
        item, order = one.data[row], _pre_order(store, root)
        if isinstance(item, Tagged):
            order = [node for node in order if store.production[node] >= 0]
        distinct, which = np.unique(order, return_inverse=True)
        if len(distinct) > HEATED:
            return None
        places = list(item.nodes()) if isinstance(item, Tree) else _words(item)
        return places, (_values(one, row, distinct) @ self.mix)[which]

    def _forest_nodes(self, one: Heated, row: int) -> tuple[list[Any], Vector] | None:
        """The nodes of a forest, in its own order; each as probable as it is."""
        forest: Forest = one.data[row]
        here, native = one.data.columns.store.nodes_of(forest._native), forest._native
        distinct, which = np.unique(here, return_inverse=True)
        if len(distinct) > HEATED:
            return None
        inside = native.inside()
        logs = inside + native.outside() - inside[native.root]
        values = np.zeros(len(distinct))
        values[distinct >= 0] = _values(one, row, distinct[distinct >= 0]) @ self.mix
        return list(forest.nodes), np.exp(logs) * values[which]

    def _features(self, one: Heated, row: int) -> tuple[list[Any], Vector] | None:
        """The features of all sequences; of a dependency parse, its words: what is of a link belongs to both its words, half to each."""
        item = one.data[row]
        sequences = item if isinstance(item, dict) else {"": item}
        if sum(map(len, sequences.values())) > FEATURES:
            return None
        values = self._at_features(one, row, sequences)
        parse = _given(self.examples[row], one.term.kernel_term.inner.path)
        if isinstance(parse, Dependencies):
            shares = np.zeros(len(parse.words))
            for name, words in feature_words(parse).items():
                for value, about in zip(values.get(name, ()), words, strict=False):
                    shares[list(about)] += value / len(about)
            return _words(parse), shares
        places = [Feature(name, at, what) for name, features in sequences.items() for at, what in enumerate(features)]
        return places, np.concatenate(
            [np.zeros(0), *(values[name] for name, features in sequences.items() if features)]
        )

    def _at_features(self, one: Heated, row: int, sequences: dict[str, tuple[Any, ...]]) -> dict[str, Vector]:
        """What belongs to each feature: the window around it, or the subsequences that begin with it."""
        kernel = one.term.kernel_term.inner.kernel
        if isinstance(kernel, Locality):
            store, root = one.data.columns.store, int(one.data.columns.roots[row])
            nodes = store.child[store.child_start[root] : store.child_start[root + 1]].tolist()
            texts = store.labels
            return {
                texts[store.label[node]]: one.factors[row] * window_values(kernel, store, node, one.weights)
                for node in nodes
            }
        found = {}
        for name, features in sequences.items():
            suffixes = SequenceBank([{name: features[begin:]} for begin in range(len(features))])
            values = _scores(one, row, one.term.graph.joined(suffixes)[1]) @ self.mix
            found[name] = values - np.append(values[1:], 0.0)
        return found


def _words(item: Any) -> list[Word]:
    return [Word(at, word, tag) for at, (word, tag) in enumerate(zip(item.words, item.tags, strict=True))]


def _given(example: Any, path: Sequence[Any]) -> Any:
    """What an example was given as, in the column that a kernel looks at; None where that is not plain to see."""
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


def _values(one: Heated, row: int, nodes: NDArray[Any]) -> Matrix:
    """What each part alone adds to an example's score, parts x outputs."""
    store, nodes = one.data.columns.store, nodes.astype(np.int32)
    below = _core.NodeWeights.count(store, nodes)
    itself = below.node == np.repeat(nodes, np.diff(below.start))
    alone = _core.NodeWeights.of(below.start, below.node, itself.astype(float))
    return _scores(one, row, type(one.data)._of(Columns(store, nodes), None, alone))


def _scores(one: Heated, row: int, parts: Any) -> Matrix:
    """A term's scores of parts of an example, divided as that one's are, parts x outputs."""
    term = one.term
    out = np.zeros((len(parts), term.outputs))
    if one.logs is None:
        term.plain(parts, out)
        return out
    log_root = float(one.logs[row])
    if not math.isfinite(log_root):
        return out
    if term.needs_scaling or abs(log_root) > ROOT_LARGE:
        term.scaled(parts, np.full(len(parts), log_root + term.shift), out)
        return out
    term.plain(parts, out)
    return out * math.exp(-log_root)
