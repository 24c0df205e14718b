"""An index of a forest: the expansions, probabilities and spans of its nodes.

`treelet.cuts.tree_index` does the same for trees.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from treelet.checks import article, plural
from treelet.errors import InputTypeError, ParameterError, TreeError
from treelet.printable import shortened
from treelet.structures.forest import Forest
from treelet.structures.spans import Span, as_span

NodeLike = int | Span | tuple[str, int, int] | tuple[str, int, int, float]


class ForestIndex:
    """An index of a forest, for cutting the forest many times. Shared computations are done once.

    Parameters
    ----------
    forest : Forest
        A forest that contains at least one tree.

    Attributes
    ----------
    forest : Forest
        The forest.
    labels : list of str
        Label of each node. Nodes are numbered as in ``forest.nodes``.
    spans : list of (begin, end)
        Span of each node.
    ways : list of lists of (tails, probability)
        Expansions of each node, with their probabilities given the node. Expansions with a
        probability below about 1e-300 are dropped.
    shares : list of float
        Probability of each node that a tree contains the node.
    tops : dict of node to probability
        Roots of the trees, with their probabilities.

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
            raise InputTypeError(f"A Forest is needed. Got {article(type(forest).__name__)} instead.")
        if not forest:
            raise TreeError("The forest contains no tree.")
        columns, native, inside = forest.columns, forest._native, forest.inside(log=True)
        start, logs = native.edge_start, columns.logp.copy()
        if len(logs):
            logs += np.add.reduceat(inside[columns.tail], columns.tail_start[:-1]) - inside[columns.head]
        self.forest = forest
        self.columns = columns._replace(logp=logs)  # conditional on the head
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
        """Span of the words of the trees."""
        return self.spans[self.forest._native.root]

    def span(self, span: Span) -> Span:
        """Return a span as two ints. A span outside the forest raises ParameterError."""
        begin, end = as_span(span)
        low, high = self.root_span
        if not low <= begin < end <= high:
            raise ParameterError(f"The span ({begin}, {end}) is not within the span ({low}, {high}) of the forest.")
        return begin, end

    def word_at(self, place: int) -> int:
        """Return the position of a word as an int. Other values raise ParameterError."""
        low, high = self.root_span
        if not _is_int(place) or not low <= int(place) < high:
            raise ParameterError(
                f"The position of a word must be an int from {low} to {high - 1}. Got {place!r:.60} instead."
            )
        return int(place)

    def holding(self, word: int) -> NDArray[np.bool_]:
        """Return, for each node, whether the node contains the word or is the word. A hidden root does not."""
        holds: NDArray[np.bool_] = (self.begin <= word) & (self.end > word) & (self.inner | self.word)
        return holds

    def matching(self, node: NodeLike) -> tuple[list[int], Span]:
        """Return the numbers of all nodes that match, and their span. TreeError is raised if no node matches.

        Parameters
        ----------
        node : int, (begin, end) or (label, begin, end)
            The number of a node, a span, or a label and a span. A fourth item is ignored, so a
            `Candidate` is accepted, too.
        """
        if _is_int(node):
            number = int(node)  # type: ignore[arg-type]  # is_int
            if not 0 <= number < len(self.labels) or not self.inner[number]:
                raise ParameterError(
                    f"There is no node {node!r} with children in this forest of {plural(len(self.labels), 'node')}."
                )
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
            raise TreeError(
                f"No tree of the forest has {what} over the span ({span[0]}, {span[1]}), which is {shortened(words)}."
            )
        return matches, span

    def topmost(self, numbers: Sequence[int], span: Span) -> dict[int, float]:
        """Return, for each of some nodes over one span, the probability that it is the topmost of them in a tree."""
        if len(numbers) == 1:
            return {numbers[0]: self.shares[numbers[0]]}
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
        wanted = set(numbers)
        for node in reversed(self.nodes[span]):  # heads before tails
            if node not in wanted and entering[node] > 0:
                for tails, chance in self.ways[node]:
                    if len(tails) == 1 and tails[0] in entering:
                        entering[tails[0]] += entering[node] * chance
        return {node: entering[node] for node in numbers if entering[node] > 0}

    def probability(self, node: NodeLike) -> float:
        """Return the probability that a tree contains the node, or one of the nodes that match; see `matching`."""
        try:
            matches, span = self.matching(node)
        except TreeError:
            return 0.0
        return min(1.0, sum(self.topmost(matches, span).values()))

    def reach(self, numbers: Sequence[int], span: Span) -> dict[int, float]:
        """Return, for each node that contains a span, the probability that one of some nodes over the span is below it."""
        over = np.flatnonzero(self.inner & (self.begin <= span[0]) & (self.end >= span[1])).tolist()
        reach = dict.fromkeys(numbers, 1.0)
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
    """Return the index of a forest. An index is returned unchanged."""
    return forest if isinstance(forest, ForestIndex) else ForestIndex(forest)


def _is_int(value: object) -> bool:
    """Return whether a value is an int or a NumPy integer, but not a bool."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
