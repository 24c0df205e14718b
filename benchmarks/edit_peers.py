"""The tree edit distance by other packages, for tests and benchmarks (dependency group ``peers``)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from treelet import Tree

Costs = tuple[float, float, float]
"""Costs of inserting, deleting and renaming a node."""
UNIT: Costs = (1.0, 1.0, 1.0)


@dataclass(frozen=True)
class Peer:
    """Another package: how trees are converted for it, and its distance of two converted trees."""

    converted: Callable[[Tree], Any]
    distance: Callable[[Any, Any, Costs], float]


class Node:
    """A tree in the form that apted and zss take."""

    def __init__(self, tree: Tree) -> None:
        self.name = tree.label
        self.children = [Node(child) for child in tree.children]


def adjacency(tree: Tree) -> tuple[list[str], list[list[int]]]:
    """Return the labels in pre-order and the positions of the children of each node.

    >>> adjacency(Tree.parse("(A (B x) (C y))"))
    (['A', 'B', 'x', 'C', 'y'], [[1, 3], [2], [], [4], []])
    """
    labels: list[str] = []
    children: list[list[int]] = []
    stack: list[tuple[Tree, int | None]] = [(tree, None)]
    while stack:
        node, parent = stack.pop()
        if parent is not None:
            children[parent].append(len(labels))
        stack.extend((child, len(labels)) for child in reversed(node.children))
        labels.append(node.label)
        children.append([])
    return labels, children


def _edist(a: Any, b: Any, costs: Costs) -> float:
    from edist import ted

    insert, delete, rename = costs
    if costs == UNIT:
        return float(ted.standard_ted(*a, *b))

    def cost(p: str | None, q: str | None) -> float:
        return insert if p is None else delete if q is None else rename * (p != q)

    return float(ted.ted(*a, *b, cost))


def _apted(a: Any, b: Any, costs: Costs) -> float:
    from apted import APTED

    if costs != UNIT:
        raise ValueError("apted is compared with unit costs only: its path for single nodes needs them.")
    return float(APTED(a, b).compute_edit_distance())


def _zss(a: Any, b: Any, costs: Costs) -> float:
    import zss

    insert, delete, rename = costs
    return float(
        zss.distance(
            a,
            b,
            lambda node: node.children,
            lambda _: insert,
            lambda _: delete,
            lambda p, q: rename * (p.name != q.name),
        )
    )


PEERS = {"edist": Peer(adjacency, _edist), "apted": Peer(Node, _apted), "zss": Peer(Node, _zss)}
