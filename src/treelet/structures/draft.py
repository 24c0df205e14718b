"""A forest as it grows: from trees that are packed, or from parts of another forest."""

from __future__ import annotations

from collections.abc import Hashable
from math import log

from treelet.formats.forests import Edge, ForestColumns, forest_columns
from treelet.structures.spans import Span

Ways = dict[tuple[int, ...], float]
"""How a node is expanded: the numbers of its children, and a weight for each choice of them."""


class Draft:
    """A forest as it grows. The weights of a node's expansions are scaled to sum to 1 in the end.

    Attributes
    ----------
    nodes : list of (label, begin, end)
    ways : list of Ways
        Of each node; a node with none is a word.
    """

    __slots__ = ("_made", "nodes", "ways")

    def __init__(self) -> None:
        self._made: dict[Hashable, int] = {}
        self.nodes: list[tuple[str, int, int]] = []
        self.ways: list[Ways] = []

    def node(self, label: str, span: Span, ways: Ways) -> int:
        """A node with these expansions, made after what it consists of; equal ones are one."""
        key: Hashable
        if len(ways) == 1:
            (only,) = ways
            ways, key = {only: 1.0}, (label, span, only)
        elif ways:
            ways = _scaled(ways)
            key = (label, span, frozenset(ways.items()))
        else:
            key = (label, span)
        number = self._made.setdefault(key, len(self.nodes))
        if number == len(self.nodes):
            self.nodes.append((label, *span))
            self.ways.append(ways)
        return number

    def keyed(self, key: Hashable, label: str, span: Span) -> int:
        """The node under a key; its expansions are added to `ways` as they are found."""
        number = self._made.setdefault(key, len(self.nodes))
        if number == len(self.nodes):
            self.nodes.append((label, *span))
            self.ways.append({})
        return number

    def labeled(self, number: int, label: str) -> int:
        """A node made before, with another label."""
        _, begin, end = self.nodes[number]
        return self.node(label, (begin, end), self.ways[number])

    def columns(self, roots: Ways) -> ForestColumns:
        """All that is below the roots, a choice by weight: of several, a hidden root is above them."""
        ((root,), *others) = roots
        if others:
            root = self.node("", self.nodes[root][1:], roots)
        edges: list[Edge] = []
        for head, ways in enumerate(self.ways):
            if len(ways) == 1:
                (only,) = ways
                edges.append((head, only, 0.0))
            else:
                edges += [(head, tails, log(weight)) for tails, weight in _scaled(ways).items()]
        return forest_columns(self.nodes, edges, root)


def _scaled(ways: Ways) -> Ways:
    total = sum(ways.values())
    return ways if abs(total - 1) <= 1e-15 else {tails: weight / total for tails, weight in ways.items()}
