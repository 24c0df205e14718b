"""Copying of parts of a forest to a draft of a new one.

Nodes that become equal by a cut are merged. A node that is marked in some trees only becomes two nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from treelet.cuts.forest_index import ForestIndex, NodeLike, as_forest_index
from treelet.errors import TreeError
from treelet.structures.forest import Draft, Forest, Ways
from treelet.structures.spans import Span

# --- copying of parts of a forest to a draft of a new one -------------------------------------------------------------

Variants = list[tuple[int, float]]


class Copy:
    """Copies nodes of an indexed forest to a draft. Tails that are not copied are dropped.

    A node usually becomes one node of the draft. A node that is the parent of the word at `tagged` in
    some trees only becomes two nodes with different labels, each with a probability.
    """

    __slots__ = ("draft", "index", "node_of", "tag", "tagged", "variants_of")

    def __init__(self, index: ForestIndex, tagged: int | None = None, tag: str = "") -> None:
        self.index, self.draft = index, Draft()
        self.tagged, self.tag = tagged, tag
        self.node_of: dict[int, int] = {}
        self.variants_of: dict[int, Variants] = {}

    def add(self, nodes: NDArray[np.intp], window: Span, place: Span | None = None) -> None:
        """Copy nodes, with their spans cut to the window, or all with the span `place`."""
        index, draft, node_of, variants_of = self.index, self.draft, self.node_of, self.variants_of
        spans, labels, all_ways = index.spans, index.labels, index.ways
        low, high = window
        for number in nodes.tolist():
            begin, end = spans[number]
            span = place or (begin if begin > low else low, end if end < high else high)
            if self.tagged is not None and begin <= self.tagged < end and all_ways[number]:
                self._split(number, span)
                continue
            new: Ways = {}
            if variants_of:
                for tails, chance in all_ways[number]:
                    for kept, weight in self.tails(tails):
                        new[kept] = new.get(kept, 0.0) + chance * weight
            else:
                for tails, chance in all_ways[number]:
                    kept = tuple([node_of[below] for below in tails if below in node_of])
                    new[kept] = new[kept] + chance if kept in new else chance
            node_of[number] = draft.node(labels[number], span, new)

    def tails(self, tails: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], float]]:
        """Iterate over the copies of an edge's tails in the draft, with their probabilities."""
        node_of, variants_of = self.node_of, self.variants_of
        if not variants_of or variants_of.keys().isdisjoint(tails):
            yield tuple([node_of[below] for below in tails if below in node_of]), 1.0
        else:
            yield from choices([self.variants(below) for below in tails if below in node_of or below in variants_of])

    def variants(self, number: int) -> Variants:
        """Return the copies of a node in the draft, with their probabilities."""
        return self.variants_of[number] if number in self.variants_of else [(self.node_of[number], 1.0)]

    def is_tag(self, tails: tuple[int, ...]) -> bool:
        """Return whether the tagged word is among the tails of an edge."""
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
        variants = [
            (self.draft.node(name, span, ways), sum(ways.values()))
            for name, ways in zip((label, label + self.tag), parts, strict=True)
            if ways
        ]
        if len(variants) == 1:
            self.node_of[number] = variants[0][0]
        else:
            self.variants_of[number] = variants


def choices(variants: Sequence[Variants]) -> Iterator[tuple[tuple[int, ...], float]]:
    """Iterate over all combinations of one variant per position, with their probabilities."""
    for choice in product(*variants):
        weight = 1.0
        for _, chance in choice:
            weight *= chance
        yield tuple([number for number, _ in choice]), weight


class RootCollector:
    """Collects the roots of a new forest over one span. Roots with the same label are merged."""

    __slots__ = ("_ways",)

    def __init__(self) -> None:
        self._ways: dict[str, Ways] = {}

    def add(self, label: str, tails: tuple[int, ...], weight: float) -> None:
        """Add one expansion of the root with this label."""
        if weight > 0:
            ways = self._ways.setdefault(label, {})
            ways[tails] = ways.get(tails, 0.0) + weight

    def made(self, draft: Draft, span: Span) -> Ways:
        """Add the collected roots to a draft, and return them with their probabilities."""
        roots: Ways = {}
        for label, ways in self._ways.items():
            roots[draft.node(label, span, ways),] = sum(ways.values())
        return roots


# --- parts of a forest: over a span, below a node, or the trees that contain a node -----------------------------------


def sub_forest(forest: Forest | ForestIndex, node: NodeLike) -> Forest:
    """Cut out the part of a forest below a node.

    Parameters
    ----------
    forest : Forest or ForestIndex
        The forest.
    node : int, (label, begin, end) or (begin, end)
        The number of a node in ``forest.nodes``, its label and span, or its span; see `span_forest`.

    Returns
    -------
    Forest
        The subtrees of the node in all trees that contain the node. Words keep their positions.

    Examples
    --------
    >>> from treelet import Forest
    >>> from treelet.cuts import sub_forest
    >>> forest = Forest.from_trees([("(S (A (B x) (C y)) (D z))", 3), ("(S (A (E x) (C y)) (D z))", 1)])
    >>> [(str(tree), round(p, 2)) for tree, p in sub_forest(forest, ("A", 0, 2)).trees()]
    [('(A (B x) (C y))', 0.75), ('(A (E x) (C y))', 0.25)]
    """
    index = as_forest_index(forest)
    matches, span = index.matching(node)
    tops = index.topmost(matches, span)
    if not tops:
        raise TreeError(f"The node {node!r:.80} has a probability of almost 0.")
    columns, root = index.columns, next(iter(tops))
    if len(tops) > 1:
        root, chances = len(columns.label), np.array(list(tops.values()))
        columns = columns._replace(
            labels=[*columns.labels, ""],
            label=np.append(columns.label, len(columns.labels)).astype(np.int32),
            begin=np.append(columns.begin, span[0]).astype(np.int32),
            end=np.append(columns.end, span[1]).astype(np.int32),
            head=np.append(columns.head, np.full(len(tops), root)).astype(np.int32),
            tail_start=np.append(columns.tail_start, columns.tail_start[-1] + 1 + np.arange(len(tops))),
            tail=np.append(columns.tail, list(tops)).astype(np.int32),
            logp=np.append(columns.logp, np.log(chances / chances.sum())),
        )
    return Forest.from_columns(columns._replace(root=root))


def span_forest(forest: Forest | ForestIndex, span: Span, label: str | None = None) -> Forest:
    """Cut out the part of a forest over a span: a subforest with one or several roots.

    Parameters
    ----------
    forest : Forest or ForestIndex
        The forest.
    span : (begin, end)
        First word of the span and the word after its last word.
    label : str, optional
        Label of the root. Default: any label.

    Returns
    -------
    Forest
        The subtrees of the topmost node with exactly this span (and label), in all trees that have
        such a node. Several roots are joined by a hidden root, which is not part of any tree.

    Examples
    --------
    >>> from treelet import Forest
    >>> from treelet.cuts import span_forest
    >>> forest = Forest.from_trees([("(S (A (B x) (C y)) (D z))", 1), ("(S (E (B x) (C y)) (D z))", 1)])
    >>> [(str(tree), round(p, 2)) for tree, p in span_forest(forest, (0, 2)).trees()]
    [('(A (B x) (C y))', 0.5), ('(E (B x) (C y))', 0.5)]
    >>> span_forest(forest, (0, 2), "E").best()[0]
    Tree.parse('(E (B x) (C y))')
    """
    index = as_forest_index(forest)
    begin, end = index.span(span)
    return sub_forest(index, (begin, end) if label is None else (label, begin, end))


def containing_forest(forest: Forest | ForestIndex, node: NodeLike) -> Forest:
    """Select the trees of a forest that contain a node.

    Parameters
    ----------
    forest : Forest or ForestIndex
        The forest.
    node : int, (label, begin, end) or (begin, end)
        The number of a node in ``forest.nodes``, a label and a span, or a span.

    Returns
    -------
    Forest
        The trees, with their probabilities given that a tree contains the node.

    Examples
    --------
    >>> from treelet import Forest
    >>> from treelet.cuts import containing_forest
    >>> forest = Forest.from_trees([("(S (A x) (B y) (C z))", 1), ("(S (T (A x) (B y)) (C z))", 1)])
    >>> containing_forest(forest, ("T", 0, 2)).trees()
    [(Tree.parse('(S (T (A x) (B y)) (C z))'), 1.0)]
    """
    index = as_forest_index(forest)
    matches, span = index.matching(node)
    reach = index.reach(matches, span)
    copy = Copy(index)
    copy.add(np.flatnonzero(index.inner | index.word), index.root_span)
    through = {number: copy.node_of[number] for number in matches}  # copies that contain the node, unlike copy.node_of
    for number in sorted(reach.keys() - through.keys()):
        ways: Ways = {}
        for tails, chance in index.ways[number]:
            for position, below in enumerate(tails):
                if below in reach:
                    new = tuple(
                        [through[below] if at == position else copy.node_of[tail] for at, tail in enumerate(tails)]
                    )
                    ways[new] = ways.get(new, 0.0) + chance * reach[below]
        through[number] = copy.draft.node(index.labels[number], index.spans[number], ways)
    roots: Ways = {}
    for number, weight in index.tops.items():
        if number in reach:
            roots[through[number],] = roots.get((through[number],), 0.0) + weight * reach[number]
    if not roots:
        raise TreeError(f"The node {node!r:.80} has a probability of almost 0.")
    return copy.draft.forest(roots)
