"""Packing of the trees of one sentence into a forest."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treelet.checks import is_number, wrong
from treelet.errors import InputTypeError, TreeError
from treelet.formats.forests import ForestColumns
from treelet.structures.draft import Draft, Ways
from treelet.structures.tree import Tree
from treelet.structures.treebank import Treebank

Vector = NDArray[np.float64]


def weighted(items: Iterable[tuple[object, float]]) -> tuple[Vector, list[Tree]]:
    """Check pairs of trees and weights. Return weights that sum to 1, and the trees."""
    try:
        written = [(tree, weight) for tree, weight in items]
        pairs = [(tree, float(weight)) for tree, weight in written]
    except (TypeError, ValueError):
        raise InputTypeError(
            "Forest.from_trees needs a list of pairs (tree, weight), such as [('(S (A a))', 0.7)]."
        ) from None
    if not pairs:
        raise TreeError("Forest.from_trees needs at least one tree, but the list is empty.")
    bank = Treebank.of([tree for tree, _ in pairs])
    weights = np.array([weight for _, weight in pairs])
    words = None
    trees = []
    for number, tree in enumerate(bank):
        if tree is None or not tree.children:
            raise TreeError(f"Tree {number} is missing or a single word, but a tree with children is needed.")
        if not 0 < weights[number] < math.inf:
            raise TreeError(
                f"The weight of tree {number} must be positive and finite. Got {written[number][1]!r} instead."
            )
        own = tree.words()
        if words is not None and own != words:
            raise TreeError(
                f"The words of tree {number} differ from those of tree 0. A forest contains trees of one sentence."
            )
        words = own
        trees.append(tree)
    share = weights / weights.max()
    if share.min() < 1e-300:
        raise TreeError(
            f"Tree {int(share.argmin())} is less than 1e-300 times as probable as the best tree. Leave this tree out."
        )
    return share / share.sum(), trees


def by_temperature(parses: Iterable[tuple[object, float]], temperature: float) -> list[tuple[object, float]]:
    """Convert log probabilities to weights, raised to the power 1 / temperature. The largest weight is 1."""
    if not is_number(temperature) or temperature <= 0:
        raise wrong("temperature", "a positive number", temperature)
    try:
        pairs = [(tree, float(score)) for tree, score in parses]
    except (TypeError, ValueError):
        raise InputTypeError(
            "from_nbest needs a list of pairs (tree, log probability), such as [('(S (A a))', -12.5)]."
        ) from None
    if not pairs:
        raise TreeError("The list is empty: from_nbest needs at least one tree.")
    scores = np.array([score for _, score in pairs])
    if not np.isfinite(scores).all():
        number = int(np.flatnonzero(~np.isfinite(scores))[0])
        raise TreeError(f"The log probability of tree {number} must be finite. Got {float(scores[number])!r} instead.")
    with np.errstate(over="ignore", under="ignore"):
        weights = np.exp((scores - scores.max()) / float(temperature))
    return [(tree, weight) for (tree, _), weight in zip(pairs, weights.tolist(), strict=True) if weight > 1e-300]


class _Visit(NamedTuple):
    label: str
    begin: int
    end: int
    children: tuple[int, ...]  # positions in the list of visits
    level: int  # number of unary steps below the node, within its span


def _visits(tree: Tree) -> list[_Visit]:
    """Return the nodes of a tree in post-order, with their spans."""
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


def pack(trees: list[Tree], weights: Vector) -> ForestColumns:
    """Merge nodes with the same label and span. Nodes on a cycle of unary steps must also have the same level."""
    visited = [_visits(tree) for tree in trees]
    cyclic = _cyclic(visited)
    draft = Draft()
    roots: Ways = {}
    for visits, weight in zip(visited, weights.tolist(), strict=True):
        numbers: list[int] = []
        for visit in visits:
            loop = bool(visit.children) and (visit.begin, visit.end, visit.label) in cyclic
            key = (visit.label, visit.begin, visit.end, not visit.children, visit.level if loop else None)
            numbers.append(draft.keyed(key, visit.label, (visit.begin, visit.end)))
            if visit.children:
                ways, tails = draft.ways[numbers[-1]], tuple(numbers[child] for child in visit.children)
                ways[tails] = ways.get(tails, 0.0) + weight
        roots[numbers[-1],] = roots.get((numbers[-1],), 0.0) + weight
    return draft.columns(roots)


def _cyclic(visited: list[list[_Visit]]) -> set[tuple[int, int, str]]:
    """Return each (begin, end, label) from which unary steps, taken from any of the trees, lead back to itself."""
    steps: dict[tuple[int, int], dict[str, set[str]]] = {}
    for visits in visited:
        for visit in visits:
            if len(visit.children) == 1 and visits[visit.children[0]].children:
                below = visits[visit.children[0]].label
                steps.setdefault((visit.begin, visit.end), {}).setdefault(visit.label, set()).add(below)
    cyclic = set()
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
                cyclic.add((begin, end, label))
    return cyclic


def unite(trees: list[Tree], weights: Vector) -> ForestColumns:
    """Merge only equal subtrees with the same span. Different roots become alternatives."""
    draft = Draft()
    roots: Ways = {}
    for tree, weight in zip(trees, weights.tolist(), strict=True):
        numbers: list[int] = []
        for visit in _visits(tree):
            tails = tuple(numbers[child] for child in visit.children)
            numbers.append(draft.node(visit.label, (visit.begin, visit.end), {tails: 1.0} if tails else {}))
        roots[numbers[-1],] = roots.get((numbers[-1],), 0.0) + weight
    return draft.columns(roots)
