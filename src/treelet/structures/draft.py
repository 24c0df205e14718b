"""A builder of forests, used for packing trees and for cutting forests."""

from __future__ import annotations

from collections.abc import Hashable
from math import log

from treelet.formats.forests import Edge, ForestColumns, forest_columns
from treelet.structures.spans import Span

Ways = dict[tuple[int, ...], float]
"""The expansions of a node: tuples of child numbers with their weights."""


class Draft:
    """A builder of a forest. The weights of a node's expansions are scaled to sum to 1 at the end.

    Attributes
    ----------
    nodes : list of (label, begin, end)
        Nodes, children before their parents.
    ways : list of Ways
        Expansions of each node. A node without expansions is a word.
    """

    __slots__ = ("_made", "nodes", "ways")

    def __init__(self) -> None:
        self._made: dict[Hashable, int] = {}
        self.nodes: list[tuple[str, int, int]] = []
        self.ways: list[Ways] = []

    def node(self, label: str, span: Span, ways: Ways) -> int:
        """Add a node whose children were added before, and return its number. Equal nodes are added once."""
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
        """Return the number of the node with a key, adding the node if needed. The caller adds expansions to `ways`."""
        number = self._made.setdefault(key, len(self.nodes))
        if number == len(self.nodes):
            self.nodes.append((label, *span))
            self.ways.append({})
        return number

    def labeled(self, number: int, label: str) -> int:
        """Add a copy of a node with another label, and return its number."""
        _, begin, end = self.nodes[number]
        return self.node(label, (begin, end), self.ways[number])

    def columns(self, roots: Ways) -> ForestColumns:
        """Return the finished forest. Several roots, with their weights, become children of a hidden root."""
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
