"""Trees of one sentence packed into a forest."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treelet import _core
from treelet.errors import InputTypeError, TreeError
from treelet.structures.tree import Tree
from treelet.structures.treebank import Treebank

Vector = NDArray[np.float64]


def weighted(items: Iterable[tuple[float, object]]) -> tuple[Vector, list[Tree]]:
    """Weights that sum to 1, and trees over the same words."""
    try:
        pairs = [(float(weight), tree) for weight, tree in items]
    except (TypeError, ValueError):
        raise InputTypeError("from_trees needs pairs (probability, tree)") from None
    if not pairs:
        raise TreeError("from_trees needs at least one tree")
    bank = Treebank.of([tree for _, tree in pairs])
    weights = np.array([weight for weight, _ in pairs])
    words = None
    trees = []
    for number, tree in enumerate(bank):
        if tree is None or not tree.children:
            raise TreeError(f"tree {number} is missing or a lone word")
        if not 0 < weights[number] < math.inf:
            raise TreeError(f"tree {number} must have a positive probability, got {weights[number]!r}")
        own = tree.words()
        if words is not None and own != words:
            raise TreeError(f"tree {number} has other words than tree 0: a forest is of one sentence")
        words = own
        trees.append(tree)
    share = weights / weights.max()
    if share.min() < 1e-300:
        raise TreeError(f"tree {int(share.argmin())} is too improbable beside the others: leave it out")
    return share / share.sum(), trees


class _Visit(NamedTuple):
    label: str
    begin: int
    end: int
    children: tuple[int, ...]  # visits
    level: int  # unary steps below, within the span


def _visits(tree: Tree) -> list[_Visit]:
    """The nodes of a tree in post-order, with spans."""
    out: list[_Visit] = []
    done: list[int] = []
    position = 0
    stack: list[tuple[Tree, bool]] = [(tree, False)]
    while stack:
        node, ready = stack.pop()
        if node.children and not ready:
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(node.children))
            continue
        if node.children:
            below = tuple(done[-len(node.children) :])
            del done[-len(node.children) :]
            unary = len(below) == 1
            level = out[below[0]].level + 1 if unary else 0
            out.append(_Visit(node.label, out[below[0]].begin, out[below[-1]].end, below, level))
        else:
            out.append(_Visit(node.label, position, position + 1, (), 0))
            position += 1
        done.append(len(out) - 1)
    return out


def pack(trees: list[Tree], weights: Vector) -> _core.Forest:
    """Nodes of one label and one span are one; where unary steps would make a cycle, also of one level."""
    visited = [_visits(tree) for tree in trees]
    cyclic = _cyclic(visited)
    parts = _Parts()
    edge_weight: dict[tuple[int, tuple[int, ...]], float] = {}
    head_weight: dict[int, float] = {}
    roots: dict[int, float] = {}
    for visits, weight in zip(visited, weights.tolist(), strict=True):
        numbers: list[int] = []
        for visit in visits:
            key = (visit.label, visit.begin, visit.end, not visit.children)
            loop = bool(visit.children) and (visit.begin, visit.end, visit.label) in cyclic
            number = parts.node((*key, visit.level if loop else None), visit.label, visit.begin, visit.end)
            numbers.append(number)
            if visit.children:
                edge = (number, tuple(numbers[child] for child in visit.children))
                edge_weight[edge] = edge_weight.get(edge, 0.0) + weight
                head_weight[number] = head_weight.get(number, 0.0) + weight
        roots[numbers[-1]] = roots.get(numbers[-1], 0.0) + weight
    for (head, tails), weight in edge_weight.items():
        parts.edge(head, tails, weight / head_weight[head])
    return parts.forest(roots)


def _cyclic(visited: list[list[_Visit]]) -> set[tuple[int, int, str]]:
    """The (begin, end, label) that a chain of unary steps, taken from any of the trees, leads back to."""
    steps: dict[tuple[int, int], dict[str, set[str]]] = {}
    for visits in visited:
        for visit in visits:
            if len(visit.children) == 1 and visits[visit.children[0]].children:
                below = visits[visit.children[0]].label
                steps.setdefault((visit.begin, visit.end), {}).setdefault(visit.label, set()).add(below)
    found = set()
    for (begin, end), graph in steps.items():
        for label in graph:
            reached: set[str] = set()
            todo = list(graph[label])
            while todo:
                below = todo.pop()
                if below not in reached:
                    reached.add(below)
                    todo.extend(graph.get(below, ()))
            if label in reached:
                found.add((begin, end, label))
    return found


def unite(trees: list[Tree], weights: Vector) -> _core.Forest:
    """Only equal subtrees over one span are shared; the roots are a choice."""
    parts = _Parts()
    roots: dict[int, float] = {}
    for tree, weight in zip(trees, weights.tolist(), strict=True):
        visits, numbers = _visits(tree), list[int]()
        for visit in visits:
            tails = tuple(numbers[child] for child in visit.children)
            key = (visit.label, visit.begin, visit.end, tails)
            fresh = key not in parts.numbers
            numbers.append(parts.node(key, visit.label, visit.begin, visit.end))
            if tails and fresh:
                parts.edge(numbers[-1], tails, 1.0)
        roots[numbers[-1]] = roots.get(numbers[-1], 0.0) + weight
    return parts.forest(roots)


class _Parts:
    """Nodes and edges as they are found."""

    def __init__(self) -> None:
        self.numbers: dict[tuple[Any, ...], int] = {}
        self.labels: dict[str, int] = {}
        self.nodes: list[tuple[int, int, int]] = []
        self.heads: list[int] = []
        self.tails: list[int] = []
        self.starts: list[int] = [0]
        self.logs: list[float] = []

    def node(self, key: tuple[Any, ...], label: str, begin: int, end: int) -> int:
        number = self.numbers.setdefault(key, len(self.nodes))
        if number == len(self.nodes):
            self.nodes.append((self.labels.setdefault(label, len(self.labels)), begin, end))
        return number

    def edge(self, head: int, tails: tuple[int, ...], probability: float) -> None:
        self.heads.append(head)
        self.tails.extend(tails)
        self.starts.append(len(self.tails))
        self.logs.append(math.log(probability))

    def forest(self, roots: dict[int, float]) -> _core.Forest:
        root = next(iter(roots))
        if len(roots) > 1:
            end = max(node[2] for node in self.nodes)
            choice = self.node(("",), "", 0, end)
            for number, weight in roots.items():
                self.edge(choice, (number,), weight)
            root = choice
        label, begin, end_ = (np.ascontiguousarray(column) for column in np.array(self.nodes, np.int32).T)
        return _core.forest(
            list(self.labels),
            label,
            begin,
            end_,
            np.array(self.heads, np.int32),
            np.array(self.starts, np.int64),
            np.array(self.tails, np.int32),
            np.array(self.logs),
            root,
        )


def single(tree: Tree) -> _core.Forest:
    """The forest of one tree, with probability 1."""
    visits = _visits(tree)
    parts = _Parts()
    for number, visit in enumerate(visits):
        parts.node((number,), visit.label, visit.begin, visit.end)
        if visit.children:
            parts.edge(number, visit.children, 1.0)
    return parts.forest({len(visits) - 1: 1.0})
