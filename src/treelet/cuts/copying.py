"""Copying of parts of a forest to a draft of a new one.

Nodes that become equal by a cut are merged. A node that is marked in some trees only becomes two nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from treelet.cuts.forest_index import ForestIndex
from treelet.structures.draft import Draft, Ways
from treelet.structures.spans import Span

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
