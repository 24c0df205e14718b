"""A forest by numbers: how each node is expanded, how probably a tree has it, and what stands over which words.

As `treelet.cuts.tree_index` is for a tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from treelet.errors import InputTypeError, ParameterError, TreeError
from treelet.structures.forest import Forest
from treelet.structures.spans import Span, as_span

NodeLike = int | Span | tuple[str, int, int] | tuple[str, int, int, float]


class ForestIndex:
    """A forest made ready for taking many parts of it: what all of them need is computed once.

    Parameters
    ----------
    forest : Forest
        It must hold a tree.

    Attributes
    ----------
    forest : Forest
        The forest.
    labels : list of str
        Of each node; nodes are numbered as in ``forest.nodes``.
    spans : list of (begin, end)
        Of each node.
    ways : list of lists of (tails, probability)
        Of each node, how it is expanded, and how probably, given the node. A way of less than about 1e-300 is left out.
    shares : list of float
        Of each node, the probability that a tree has it.
    tops : dict of node to probability
        The roots of the trees.

    Examples
    --------
    >>> from treelet import Forest
    >>> from treelet.cuts import ForestIndex, span_forest
    >>> index = ForestIndex(Forest.from_trees([("(S (A x) (B y))", 3), ("(S (A x) (C y))", 1)]))
    >>> [span_forest(index, span) for span in [(0, 1), (1, 2)]]
    [<Forest: 1 words, 1 trees, 2 nodes, 1 edges>, <Forest: 1 words, 2 trees, 4 nodes, 4 edges>]
    >>> round(index.probability(("B", 1, 2)), 9)
    0.75
    """

    __slots__ = (
        "begin",
        "columns",
        "end",
        "forest",
        "inner",
        "labels",
        "log_shares",
        "nodes",
        "shares",
        "spans",
        "tops",
        "ways",
        "word",
    )

    def __init__(self, forest: Forest) -> None:
        if not isinstance(forest, Forest):
            raise InputTypeError(f"a Forest is needed, got {type(forest).__name__}")
        if not forest:
            raise TreeError("the forest holds no tree")
        columns, native, inside = forest.columns, forest._native, forest.inside(log=True)
        start, logs = native.edge_start, columns.logp.copy()
        if len(logs):
            logs += np.add.reduceat(inside[columns.tail], columns.tail_start[:-1]) - inside[columns.head]
        self.forest = forest
        self.columns = columns._replace(logp=logs)  # given the head
        self.begin, self.end = columns.begin, columns.end
        self.labels = [columns.labels[name] for name in columns.label.tolist()]
        self.spans: list[Span] = list(zip(self.begin.tolist(), self.end.tolist(), strict=True))
        self.word: NDArray[np.bool_] = np.diff(start) == 0
        edges = [tuple(tails) for tails in columns.tails()]
        chances = np.exp(logs).tolist()
        ways = [list(zip(edges[a:b], chances[a:b], strict=True)) for a, b in pairwise(start.tolist())]
        if 0.0 in chances:
            ways = [[way for way in own if way[1] > 0] for own in ways]
        self.ways: list[list[tuple[tuple[int, ...], float]]] = ways
        self.log_shares = native.outside() + inside - inside[native.root]
        self.shares: list[float] = np.exp(self.log_shares).tolist()
        self.tops: dict[int, float] = {native.root: 1.0}
        self.inner: NDArray[np.bool_] = ~self.word
        if self.labels[native.root] == "":
            self.inner[native.root] = False
            self.tops = {}
            for (below,), chance in ways[native.root]:
                self.tops[below] = self.tops.get(below, 0.0) + chance
        self.nodes: dict[Span, list[int]] = {}
        for node in np.flatnonzero(self.inner).tolist():
            self.nodes.setdefault(self.spans[node], []).append(node)

    def __repr__(self) -> str:
        return f"ForestIndex({self.forest!r})"

    @property
    def root_span(self) -> Span:
        """Of the words that the trees stand over."""
        return self.spans[self.forest._native.root]

    def span(self, span: Span) -> Span:
        """Two word positions, checked: the first, and the one after the last."""
        begin, end = as_span(span)
        low, high = self.root_span
        if not low <= begin < end <= high:
            raise ParameterError(f"the span {begin}-{end} is not within the forest's words {low}-{high}")
        return begin, end

    def word_at(self, place: int) -> int:
        """A word's position, checked."""
        low, high = self.root_span
        if not is_int(place) or not low <= int(place) < high:
            raise ParameterError(
                f"there is no word {place!r}: the forest has the words {low}-{high}, the last excluded"
            )
        return int(place)

    def holding(self, word: int) -> NDArray[np.bool_]:
        """Of each node, whether it stands over a word, itself included; a hidden root does not."""
        holds: NDArray[np.bool_] = (self.begin <= word) & (self.end > word) & (self.inner | self.word)
        return holds

    def matching(self, node: NodeLike) -> tuple[list[int], Span]:
        """The numbers of all nodes that are meant, and their span; an error if there are none.

        Parameters
        ----------
        node : int, (begin, end) or (label, begin, end)
            A number; all nodes over a span; all of one label over a span. What comes after the three is ignored, so
            that a candidate with its probability may be given.
        """
        if is_int(node):
            number = int(node)  # type: ignore[arg-type]  # is_int
            if not 0 <= number < len(self.labels) or not self.inner[number]:
                raise ParameterError(f"there is no node {node!r} with children in a forest of {len(self.labels)} nodes")
            return [number], self.spans[number]
        if isinstance(node, tuple) and len(node) in (3, 4) and isinstance(node[0], str):
            span = self.span((node[1], node[2]))
            matches = [number for number in self.nodes.get(span, ()) if self.labels[number] == node[0]]
            what = f"{node[0]!r}"
        else:
            span = self.span(node)  # type: ignore[arg-type]  # checked there
            matches, what = list(self.nodes.get(span, ())), "a node"
        matches = [number for number in matches if self.shares[number] > 0]
        if not matches:
            words = " ".join(self.forest.words[span[0] - self.root_span[0] : span[1] - self.root_span[0]])
            raise TreeError(f"no tree of the forest has {what} over the words {span[0]}-{span[1]} ({words!r})")
        return matches, span

    def topmost(self, found: Sequence[int], span: Span) -> dict[int, float]:
        """For each of some nodes over one span, the probability that it is the topmost of them in a tree."""
        if len(found) == 1:
            return {found[0]: self.shares[found[0]]}
        _, _, begin, end, heads, tail_start, tail, logs, _ = self.columns
        here = np.flatnonzero((begin[tail] == span[0]) & (end[tail] == span[1]))
        edge = np.searchsorted(tail_start, here, side="right") - 1
        outer = (begin[heads[edge]] != span[0]) | (end[heads[edge]] != span[1])
        here, edge = here[outer], edge[outer]
        with np.errstate(under="ignore"):
            weight = np.exp(self.log_shares[heads[edge]] + logs[edge])
        entering = dict.fromkeys(self.nodes[span], 0.0)
        for node, value in zip(tail[here].tolist(), weight.tolist(), strict=True):
            if node in entering:
                entering[node] += value
        for node, value in self.tops.items():
            if node in entering:
                entering[node] += value
        wanted = set(found)
        for node in reversed(self.nodes[span]):  # heads before tails
            if node not in wanted and entering[node] > 0:
                for tails, chance in self.ways[node]:
                    if len(tails) == 1 and tails[0] in entering:
                        entering[tails[0]] += entering[node] * chance
        return {node: entering[node] for node in found if entering[node] > 0}

    def probability(self, node: NodeLike) -> float:
        """That a tree has the node, or one of those that are meant; 0 if none has."""
        try:
            matches, span = self.matching(node)
        except TreeError:
            return 0.0
        return min(1.0, sum(self.topmost(matches, span).values()))

    def reach(self, found: Sequence[int], span: Span) -> dict[int, float]:
        """For each node that stands over a span, the probability that one of some nodes of that span is in it."""
        over = np.flatnonzero(self.inner & (self.begin <= span[0]) & (self.end >= span[1])).tolist()
        reach = dict.fromkeys(found, 1.0)
        for node in over:
            if node not in reach:
                total = 0.0
                for tails, chance in self.ways[node]:
                    for below in tails:
                        if below in reach:
                            total += chance * reach[below]
                if total > 0:
                    reach[node] = total
        return reach


def as_forest_index(forest: Forest | ForestIndex) -> ForestIndex:
    """The index of a forest; an index is returned as it is."""
    return forest if isinstance(forest, ForestIndex) else ForestIndex(forest)


def is_int(value: object) -> bool:
    """A whole number, NumPy's included, and no bool."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
