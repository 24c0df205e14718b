"""Parts of packed forests: what stands over a span, below a node, or around it; and drafts, to make new forests of old.

Every function takes a `Forest`, or a `ForestIndex` where several parts of one forest are wanted, and returns a `Forest`
whose probabilities sum to 1. Each is the image of a function on trees: take it of every tree of the forest and add up
the probabilities of equal results. Nothing is unpacked for that, nothing is approximated, and nothing recurses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from treelet import _core
from treelet.errors import InputTypeError, ParameterError, TreeError
from treelet.structures.forest import Forest
from treelet.structures.spans import Span, as_span

NodeLike = int | Span | tuple[str, int, int] | tuple[str, int, int, float]
Ways = dict[tuple[int, ...], float]
Variants = list[tuple[int, float]]


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
    >>> from treelet.structures.subforest import ForestIndex, span_forest
    >>> index = ForestIndex(Forest.from_trees([(3, "(S (A x) (B y))"), (1, "(S (A x) (C y))")]))
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
        native = forest._native
        if native.root < 0:
            raise TreeError("the forest holds no tree")
        label, begin, end, start = native.label, native.begin, native.end, native.edge_start
        tail, tail_start, inside = native.tail, native.tail_start, native.inside()
        heads = np.repeat(np.arange(len(label), dtype=np.int32), np.diff(start))
        logs = native.logp.copy()
        if len(logs):
            logs += np.add.reduceat(inside[tail], tail_start[:-1]) - inside[heads]
        self.forest = forest
        names = native.labels
        self.columns = (names, label, begin, end, heads, tail_start, tail, logs)
        self.begin, self.end = begin, end
        self.labels = [names[name] for name in label.tolist()]
        self.spans: list[Span] = list(zip(begin.tolist(), end.tolist(), strict=True))
        self.word: NDArray[np.bool_] = np.diff(start) == 0
        tails = tail.tolist()
        edges = [tuple(tails[a:b]) for a, b in pairwise(tail_start.tolist())]
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
            found = [number for number in self.nodes.get(span, ()) if self.labels[number] == node[0]]
            what = f"{node[0]!r}"
        else:
            span = self.span(node)  # type: ignore[arg-type]  # checked there
            found, what = list(self.nodes.get(span, ())), "a node"
        found = [number for number in found if self.shares[number] > 0]
        if not found:
            words = " ".join(self.forest.words[span[0] - self.root_span[0] : span[1] - self.root_span[0]])
            raise TreeError(f"no tree of the forest has {what} over the words {span[0]}-{span[1]} ({words!r})")
        return found, span

    def topmost(self, found: Sequence[int], span: Span) -> dict[int, float]:
        """For each of some nodes over one span, the probability that it is the topmost of them in a tree."""
        if len(found) == 1:
            return {found[0]: self.shares[found[0]]}
        _, _, begin, end, heads, tail_start, tail, logs = self.columns
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
            found, span = self.matching(node)
        except TreeError:
            return 0.0
        return min(1.0, sum(self.topmost(found, span).values()))

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


def as_index(forest: Forest | ForestIndex) -> ForestIndex:
    """The index of a forest; an index is returned as it is."""
    return forest if isinstance(forest, ForestIndex) else ForestIndex(forest)


# --- below a node -----------------------------------------------------------------------------------------------


def sub_forest(forest: Forest | ForestIndex, node: NodeLike) -> Forest:
    """The part below a node.

    Parameters
    ----------
    forest : Forest or ForestIndex
        What it is a part of.
    node : int, (label, begin, end) or (begin, end)
        The node's number in ``forest.nodes``; or its label and span, or its span alone, see `span_forest`.

    Returns
    -------
    Forest
        Of each tree that has the node, what is below it. Words keep their positions.

    Examples
    --------
    >>> from treelet import Forest
    >>> from treelet.structures.subforest import sub_forest
    >>> forest = Forest.from_trees([(3, "(S (A (B x) (C y)) (D z))"), (1, "(S (A (E x) (C y)) (D z))")])
    >>> [(str(tree), round(p, 2)) for tree, p in sub_forest(forest, ("A", 0, 2)).trees()]
    [('(A (B x) (C y))', 0.75), ('(A (E x) (C y))', 0.25)]
    """
    index = as_index(forest)
    found, span = index.matching(node)
    tops = index.topmost(found, span)
    if not tops:
        raise TreeError(f"the node {node!r} is too improbable")
    labels, label, begin, end, heads, tail_start, tail, logs = index.columns
    root = next(iter(tops))
    if len(tops) > 1:
        root = len(label)
        total = sum(tops.values())
        labels = [*labels, ""]
        label = np.append(label, len(labels) - 1).astype(np.int32)
        begin, end = np.append(begin, span[0]).astype(np.int32), np.append(end, span[1]).astype(np.int32)
        heads = np.append(heads, np.full(len(tops), root)).astype(np.int32)
        tail_start = np.append(tail_start, tail_start[-1] + 1 + np.arange(len(tops)))
        tail = np.append(tail, list(tops)).astype(np.int32)
        logs = np.append(logs, np.log(np.array(list(tops.values())) / total))
    return Forest._of(_core.forest(labels, label, begin, end, heads, tail_start, tail, logs, root))


def span_forest(forest: Forest | ForestIndex, span: Span, label: str | None = None) -> Forest:
    """The part over a span: a sub-forest with one or several roots.

    Parameters
    ----------
    forest : Forest or ForestIndex
        What it is a part of.
    span : (begin, end)
        Word positions: the first, and the one after the last.
    label : str, optional
        Only what has this label at the top.

    Returns
    -------
    Forest
        Of each tree that has a node over exactly the span (and with the label), what is below the topmost one. Several
        roots are joined by a hidden root, a choice that is in no tree.

    Examples
    --------
    >>> from treelet import Forest
    >>> from treelet.structures.subforest import span_forest
    >>> forest = Forest.from_trees([(1, "(S (A (B x) (C y)) (D z))"), (1, "(S (E (B x) (C y)) (D z))")])
    >>> [(str(tree), round(p, 2)) for tree, p in span_forest(forest, (0, 2)).trees()]
    [('(A (B x) (C y))', 0.5), ('(E (B x) (C y))', 0.5)]
    >>> span_forest(forest, (0, 2), "E").best()[0]
    Tree.parse('(E (B x) (C y))')
    """
    index = as_index(forest)
    begin, end = index.span(span)
    return sub_forest(index, (begin, end) if label is None else (label, begin, end))


# --- new forests ------------------------------------------------------------------------------------------------


class Draft:
    """A forest as it grows: nodes are added after what they consist of, and equal nodes are one."""

    __slots__ = ("_made", "_names", "nodes", "ways")

    def __init__(self) -> None:
        self._names: dict[str, int] = {}
        self._made: dict[object, int] = {}
        self.nodes: list[tuple[str, int, int]] = []
        self.ways: list[Ways] = []

    def node(self, label: str, span: Span, ways: Ways) -> int:
        """A node with these expansions, whose weights are scaled to sum to 1; with none, a word."""
        if len(ways) == 1:
            (only,) = ways
            ways = {only: 1.0}
            key: object = (label, span, only)
        elif ways:
            total = sum(ways.values())
            if abs(total - 1) > 1e-15:
                ways = {tails: weight / total for tails, weight in ways.items()}
            key = (label, span, frozenset(ways.items()))
        else:
            key = (label, span)
        number = self._made.setdefault(key, len(self.nodes))
        if number == len(self.nodes):
            self.nodes.append((label, *span))
            self.ways.append(ways)
        return number

    def labelled(self, number: int, label: str) -> int:
        """A node made before, with another label."""
        _, begin, end = self.nodes[number]
        return self.node(label, (begin, end), self.ways[number])

    def forest(self, roots: Ways) -> Forest:
        """All that is below the roots, a choice by weight."""
        ((root,), *others) = roots
        if others:
            root = self.node("", self.nodes[root][1:], roots)
        names: dict[str, int] = {}
        columns = [(names.setdefault(label, len(names)), begin, end) for label, begin, end in self.nodes]
        label, begin, end = (np.ascontiguousarray(column) for column in np.array(columns, np.int32).T)
        edges = [tails for ways in self.ways for tails in ways]
        starts = np.zeros(len(edges) + 1, np.int64)
        np.cumsum([len(tails) for tails in edges], out=starts[1:])
        return Forest._of(
            _core.forest(
                list(names),
                label,
                begin,
                end,
                np.repeat(np.arange(len(columns), dtype=np.int32), [len(ways) for ways in self.ways]),
                starts,
                np.array([below for tails in edges for below in tails], np.int32),
                np.log(np.array([weight for ways in self.ways for weight in ways.values()], np.float64)),
                root,
            )
        )


class Copy:
    """Nodes of an indexed forest in a draft, without the tails that are not copied.

    A node is one in the draft, or several, each with a probability: one that is right above the word at `tagged` in
    some trees and not in others, where it has another label.
    """

    __slots__ = ("draft", "index", "one", "several", "tag", "tagged")

    def __init__(self, index: ForestIndex, tagged: int | None = None, tag: str = "") -> None:
        self.index, self.draft = index, Draft()
        self.tagged, self.tag = tagged, tag
        self.one: dict[int, int] = {}
        self.several: dict[int, Variants] = {}

    def add(self, nodes: NDArray[np.intp], window: Span, place: Span | None = None) -> None:
        """Some nodes, cut to the window, or all of them put in one place."""
        index, draft, one, several = self.index, self.draft, self.one, self.several
        spans, labels, all_ways = index.spans, index.labels, index.ways
        low, high = window
        for number in nodes.tolist():
            begin, end = spans[number]
            span = place or (begin if begin > low else low, end if end < high else high)
            if self.tagged is not None and begin <= self.tagged < end and all_ways[number]:
                self._split(number, span)
                continue
            new: Ways = {}
            if several:
                for tails, chance in all_ways[number]:
                    for kept, weight in self.tails(tails):
                        new[kept] = new.get(kept, 0.0) + chance * weight
            else:
                for tails, chance in all_ways[number]:
                    kept = tuple([one[below] for below in tails if below in one])
                    new[kept] = new[kept] + chance if kept in new else chance
            one[number] = draft.node(labels[number], span, new)

    def tails(self, tails: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], float]]:
        """What the tails of an edge are in the draft, and how probably."""
        one, several = self.one, self.several
        if not several or several.keys().isdisjoint(tails):
            yield tuple([one[below] for below in tails if below in one]), 1.0
        else:
            yield from choices([self.variants(below) for below in tails if below in one or below in several])

    def variants(self, number: int) -> Variants:
        """What a node is in the draft, and how probably."""
        return self.several[number] if number in self.several else [(self.one[number], 1.0)]

    def is_tag(self, tails: tuple[int, ...]) -> bool:
        """Whether the tagged word is among the tails of an edge."""
        spans, ways, tagged = self.index.spans, self.index.ways, self.tagged
        return tagged is not None and any(
            not ways[tail] and spans[tail][0] <= tagged < spans[tail][1] for tail in tails
        )

    def _split(self, number: int, span: Span) -> None:
        parts: tuple[Ways, Ways] = {}, {}
        for tails, chance in self.index.ways[number]:
            new = parts[self.is_tag(tails)]
            for kept, weight in self.tails(tails):
                new[kept] = new.get(kept, 0.0) + chance * weight
        label = self.index.labels[number]
        made = [
            (self.draft.node(name, span, ways), sum(ways.values()))
            for name, ways in zip((label, label + self.tag), parts, strict=True)
            if ways
        ]
        if len(made) == 1:
            self.one[number] = made[0][0]
        else:
            self.several[number] = made


def choices(variants: Sequence[Variants]) -> Iterator[tuple[tuple[int, ...], float]]:
    """Every way to take one of each, with its probability."""
    for choice in product(*variants):
        weight = 1.0
        for _, chance in choice:
            weight *= chance
        yield tuple([number for number, _ in choice]), weight


class Roots:
    """Roots over one span as they are found: those of one label are one."""

    __slots__ = ("_ways",)

    def __init__(self) -> None:
        self._ways: dict[str, Ways] = {}

    def add(self, label: str, tails: tuple[int, ...], weight: float) -> None:
        """One way of expanding one of them."""
        if weight > 0:
            ways = self._ways.setdefault(label, {})
            ways[tails] = ways.get(tails, 0.0) + weight

    def made(self, draft: Draft, span: Span) -> Ways:
        """What was added, as nodes of a draft."""
        roots: Ways = {}
        for label, ways in self._ways.items():
            roots[draft.node(label, span, ways),] = sum(ways.values())
        return roots


def containing_forest(forest: Forest | ForestIndex, node: NodeLike) -> Forest:
    """The trees that have a node, as a forest.

    Parameters
    ----------
    forest : Forest or ForestIndex
        The forest.
    node : int, (label, begin, end) or (begin, end)
        A node by its number in ``forest.nodes``, or any node with the label and the span, or with the span.

    Returns
    -------
    Forest
        Only those trees, with their probabilities given that a tree has the node.

    Examples
    --------
    >>> from treelet import Forest
    >>> from treelet.structures.subforest import containing_forest
    >>> forest = Forest.from_trees([(1, "(S (A x) (B y) (C z))"), (1, "(S (T (A x) (B y)) (C z))")])
    >>> containing_forest(forest, ("T", 0, 2)).trees()
    [(Tree.parse('(S (T (A x) (B y)) (C z))'), 1.0)]
    """
    index = as_index(forest)
    found, span = index.matching(node)
    reach = index.reach(found, span)
    copy = Copy(index)
    copy.add(np.flatnonzero(index.inner | index.word), index.root_span)
    through = {number: copy.one[number] for number in found}  # only what has the node; copy.one is all
    for number in sorted(reach.keys() - through.keys()):
        ways: Ways = {}
        for tails, chance in index.ways[number]:
            for place, below in enumerate(tails):
                if below in reach:
                    new = tuple([through[below] if at == place else copy.one[tail] for at, tail in enumerate(tails)])
                    ways[new] = ways.get(new, 0.0) + chance * reach[below]
        through[number] = copy.draft.node(index.labels[number], index.spans[number], ways)
    roots: Ways = {}
    for number, weight in index.tops.items():
        if number in reach:
            roots[through[number],] = roots.get((through[number],), 0.0) + weight * reach[number]
    if not roots:
        raise TreeError(f"the node {node!r} is too improbable")
    return copy.draft.forest(roots)


def is_int(value: object) -> bool:
    """A whole number, NumPy's included, and no bool."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
