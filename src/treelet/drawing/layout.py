"""The layout of a forest: positions of nodes, alternatives and lines.

Nodes are in layers: each node is above all nodes that it may expand to, and centered over its words. A line that passes a layer
takes room there like a node, so it does not run behind a node. Lines that end at the same node share their last part.
"""

from __future__ import annotations

import itertools
import json
import math
import unicodedata
import warnings
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from treelet.checks import article, is_integer, plural, suggestion, wrong
from treelet.drawing.leaves import shortened
from treelet.errors import ParameterError, TreeletWarning
from treelet.structures import Forest, Tree

# --- triangles --------------------------------------------------------------------------------------------------------


class _WordsUnderTriangle(Tree):
    """The words of a collapsed constituent as one leaf. The label may contain spaces."""

    __slots__ = ()


def is_collapsed(node: Tree) -> bool:
    """Return whether a leaf stands for the words of a collapsed constituent."""
    return isinstance(node, _WordsUnderTriangle)


def collapsed(tree: Tree, triangles: Iterable[str | int] | str | int = ()) -> Tree:
    """Return the tree with each chosen constituent reduced to its label over its words.

    Parameters
    ----------
    tree : Tree
        Any tree.
    triangles : str, int or collection of them, default ()
        Labels of constituents, or numbers of nodes in pre-order. A constituent inside a chosen one is
        collapsed with it. For labels that no constituent has, `TreeletWarning` is issued.

    >>> tree = Tree.parse("(S (NP (D the) (N cat)) (VP (V sat)))")
    >>> collapsed(tree, "NP").children[0]
    Tree.parse('(NP the cat)')
    >>> [child.label for child in collapsed(tree, "NP").children[0].children]
    ['the cat']
    """
    chosen = occurring_triangles(tree, triangles)
    if not chosen:
        return tree
    nodes = list(tree.nodes())
    sizes = [1] * len(nodes)
    copies: list[Tree] = nodes.copy()
    for number in range(len(nodes) - 1, -1, -1):  # children come after their parents in pre-order
        node, children, child = nodes[number], [], number + 1
        for _ in node.children:
            children.append(copies[child])
            child += sizes[child]
        sizes[number] = child - number
        if children and (number in chosen or node.label in chosen):
            children = [_WordsUnderTriangle._trusted(" ".join(node.words()), ())]
        copies[number] = Tree._trusted(node.label, tuple(children)) if children else node
    return copies[0]


def occurring_triangles(tree: Tree, triangles: Iterable[str | int] | str | int) -> Set[str | int]:
    """Return the triangles that the tree has. Warn of labels that it does not have; other numbers raise ParameterError."""
    chosen = checked_triangles(triangles)
    if not chosen:
        return chosen
    nodes = list(tree.nodes())
    labels = {node.label for node in nodes if node.children}
    for item in sorted(chosen, key=str):
        if isinstance(item, str):
            if item not in labels:
                fact = "Only words have" if any(node.label == item for node in nodes) else "No node has"
                hint = suggestion(item, sorted(labels))
                # The stack level is that of a caller of draw.
                warnings.warn(
                    f"{fact} the label {item!r}, so no triangle was drawn for it.{hint}", TreeletWarning, stacklevel=4
                )
        elif item >= len(nodes) or not nodes[item].children:
            problem = "is a word" if item < len(nodes) else f"does not exist: the tree has {plural(len(nodes), 'node')}"
            raise ParameterError(f"Node {item} cannot be drawn as a triangle, because it {problem}.")
    return {item for item in chosen if isinstance(item, int) or item in labels}


def checked_triangles(triangles: Iterable[str | int] | str | int) -> Set[str | int]:
    """Return the labels and numbers as a set. Raise ParameterError for anything else."""
    wanted = "labels of constituents or numbers of nodes, such as ['NP', 4]"
    if isinstance(triangles, str) or is_integer(triangles):
        triangles = [triangles]  # type: ignore[list-item]
    try:
        chosen = list(triangles)  # type: ignore[arg-type]
    except TypeError:
        raise wrong("triangles", wanted, triangles, got=article(type(triangles).__name__)) from None
    for item in chosen:
        if not isinstance(item, str) and not is_integer(item, 0):
            raise wrong("triangles", wanted, item)
    return {item if isinstance(item, str) else int(item) for item in chosen}


# --- the layout of a forest: positions of nodes, alternatives and lines -----------------------------------------------

FONT = 13.0
HEIGHT, PAD, GAP = 30.0, 9.0, 14.0  # height of a node, space inside it and beside it
DROP, CHANNEL = 21.0, 42.0  # from a node to its dots, from the dots to the next layer
_CLOSE = 30.0  # between layers without dots
_STEP = 42.0  # from one alternative's dot to the next
_TRUNK = 8.0  # room for a line that passes a layer
MARGIN = 16.0
_LONGEST = 32  # characters of a label that are shown


class DrawnEdge(NamedTuple):
    head: int
    tails: tuple[int, ...]
    chance: float  # given the head
    best: bool  # in the most probable tree


class ForestGraph:
    """The nodes and edges of a forest, with the probabilities that the picture shows.

    With `hanging`, for trees only, each node is in the layer below its parent. Otherwise all words are in the lowest layer.
    """

    def __init__(self, forest: Forest, *, hanging: bool = False) -> None:
        self.hanging = hanging
        content = json.loads(forest.to_json())
        self.nodes = forest.nodes
        self.root: int = forest.root or 0
        self.posterior: list[float] = forest.posterior().tolist()
        inside = forest.inside(log=True).tolist()
        parts = [(int(head), tuple(tails), float(logp)) for head, tails, logp in content["edges"]]
        own: dict[int, list[int]] = {}
        for number, (head, _, _) in enumerate(parts):
            own.setdefault(head, []).append(number)
        best = [0.0] * len(self.nodes)  # tails come before heads
        chosen: dict[int, int] = {}
        for head, numbers in sorted(own.items()):
            score = {n: parts[n][2] + sum(best[tail] for tail in parts[n][1]) for n in numbers}
            chosen[head] = max(score, key=score.__getitem__)
            best[head] = score[chosen[head]]
        self.best_nodes: set[int] = set()
        open_ = [self.root]
        while open_:
            node = open_.pop()
            self.best_nodes.add(node)
            if node in chosen:
                open_.extend(parts[chosen[node]][1])
        self.edges = [
            DrawnEdge(
                head,
                tails,
                math.exp(min(0.0, logp + sum(inside[tail] for tail in tails) - inside[head])),
                head in self.best_nodes and chosen[head] == number,
            )
            for number, (head, tails, logp) in enumerate(parts)
        ]
        self.own = {head: [self.edges[number] for number in numbers] for head, numbers in own.items()}
        self.layer = [0] * len(self.nodes)
        for edge in self.edges:  # grouped by head, in the order of heads
            self.layer[edge.head] = max(self.layer[edge.head], 1 + max(self.layer[tail] for tail in edge.tails))
        if hanging:
            for edge in reversed(self.edges):  # parents first
                for tail in edge.tails:
                    self.layer[tail] = self.layer[edge.head] - 1

    def marked(self, edge: DrawnEdge) -> bool:
        """Return whether an edge has a dot. Edges of a single tree and of unary nodes without alternatives have none."""
        return len(self.own[edge.head]) > 1 or (len(edge.tails) > 1 and len(self.own) < len(self.edges))


def width_of(text: str, size: float) -> float:
    """Estimate the width of a text. The estimate is rather too large than too small."""
    wide = sum(1.0 if unicodedata.east_asian_width(c) in "WF" else 0.85 if c in "MW@%mw" else 0.63 for c in text)
    return wide * size


def shown(label: str) -> str:
    return shortened(label, _LONGEST)


@dataclass
class _LayerItem:
    """An item that takes room in a layer: a node with its dots, or a line that passes the layer."""

    node: int
    width: float
    begin: int
    end: int
    passing: bool
    x: float = 0.0


def _spread(items: list[_LayerItem], wanted: dict[int, float]) -> None:
    """Place items in order and without overlap, as near to the wanted positions as possible (least squares)."""
    blocks: list[list[float]] = []  # sum and number of the wanted positions of a block's first item
    offset, offsets = 0.0, []
    for before, item in zip([None, *items], items, strict=False):
        if before is not None:
            offset += (before.width + item.width) / 2 + (GAP if not (before.passing and item.passing) else 4)
        offsets.append(offset)
        blocks.append([wanted[id(item)] - offset, 1])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] > blocks[-1][0] / blocks[-1][1]:
            total, number = blocks.pop()
            blocks[-1][0] += total
            blocks[-1][1] += number
    middles = [total / number for total, number in blocks for _ in range(int(number))]
    for item, middle, offset in zip(items, middles, offsets, strict=True):
        item.x = middle + offset


class ForestLayout:
    """Positions of nodes, dots and passing lines. `least` contains minimum widths of nodes."""

    def __init__(self, graph: ForestGraph, least: Mapping[int, float] | None = None) -> None:
        self.graph = graph
        self.box = [max(self._box(node), (least or {}).get(node, 0.0)) for node in range(len(graph.nodes))]
        self.layers: list[list[_LayerItem]] = [[] for _ in range(max(graph.layer) + 1)]
        self.at: dict[tuple[int, int], _LayerItem] = {}  # by node and layer
        highest = list(graph.layer)
        for edge in graph.edges:
            for tail in edge.tails:
                highest[tail] = max(highest[tail], graph.layer[edge.head] - 1)
        for node, (_, begin, end) in enumerate(graph.nodes):
            for layer in range(graph.layer[node], highest[node] + 1):
                passing = layer > graph.layer[node]
                choices = len(graph.own.get(node, ()))
                room = _TRUNK if passing else max(self.box[node], (_STEP * choices + 16) * (choices > 1))
                item = _LayerItem(node, room, begin, end, passing)
                self.layers[layer].append(item)
                self.at[node, layer] = item
        self._place()
        left = min(item.x - item.width / 2 for item in self.at.values())
        for item in self.at.values():
            item.x += MARGIN - left
        self.width = max(item.x + item.width / 2 for item in self.at.values()) + MARGIN
        dotted = {graph.layer[edge.head] for edge in graph.edges if graph.marked(edge)}
        self.band = [HEIGHT + DROP * (layer in dotted) for layer in range(len(self.layers))]
        self.top = [MARGIN] * len(self.layers)
        for layer in range(len(self.layers) - 1, 0, -1):
            self.top[layer - 1] = self.top[layer] + self.band[layer] + (CHANNEL if layer in dotted else _CLOSE)
        self.height = self.top[0] + HEIGHT
        self.dots: dict[int, list[tuple[DrawnEdge, float, float, int]]] = {}  # with the rank among its alternatives
        for head, edges in graph.own.items():
            here = sorted(edges, key=lambda edge: sum(self._middle(tail) for tail in edge.tails) / len(edge.tails))
            ranks = sorted(edges, key=lambda edge: -edge.chance)
            x, y = self.at[head, graph.layer[head]].x, self.top[graph.layer[head]] + self.band[graph.layer[head]]
            self.dots[head] = [
                (edge, x + (position - (len(here) - 1) / 2) * _STEP, y, ranks.index(edge))
                for position, edge in enumerate(here)
            ]

    def move(self, right: float, down: float) -> None:
        """Move everything, so that a drawing can contain several layouts."""
        for item in self.at.values():
            item.x += right
        self.top = [top + down for top in self.top]
        self.dots = {
            head: [(edge, x + right, y + down, rank) for edge, x, y, rank in dots] for head, dots in self.dots.items()
        }

    def _box(self, node: int) -> float:
        label = self.graph.nodes[node].label
        return max(28.0, width_of(shown(label), FONT) + 2 * PAD) if label else 14.0

    def _middle(self, node: int) -> float:
        return self.at[node, self.graph.layer[node]].x

    def _place(self) -> None:
        slots = self._slots()
        for number, layer in enumerate(self.layers):
            wanted: dict[int, float] = {}
            for item in layer:
                below = self.at.get((item.node, number - 1)) if item.passing else None
                wanted[id(item)] = below.x if below else (slots[item.begin] + slots[item.end]) / 2
                if self.graph.hanging and (edges := self.graph.own.get(item.node)):
                    children = edges[0].tails
                    wanted[id(item)] = (self._middle(children[0]) + self._middle(children[-1])) / 2
            if self.graph.hanging:  # subtrees stay in order, so their lines do not cross
                layer.sort(key=lambda item: item.begin)
            else:
                layer.sort(key=lambda item: (wanted[id(item)], item.begin + item.end, item.end - item.begin))
            _spread(layer, wanted)

    def _slots(self) -> dict[int, float]:
        """Return the position of each gap between words, such that the nodes over some words fit over them."""
        ends = sorted({position for node in self.graph.nodes for position in (node.begin, node.end)})
        slot = dict(zip(ends, range(len(ends)), strict=True))
        width = [0.0] * (len(ends) - 1)
        spans = {(slot[node.begin], slot[node.end]) for node in self.graph.nodes}
        items = [(number, item) for number, layer in enumerate(self.layers) for item in layer]
        layer = np.array([number for number, _ in items])
        first = np.array([slot[item.begin] for _, item in items])
        last = np.array([slot[item.end] for _, item in items])
        room = np.array([item.width + (6 if item.passing else GAP) for _, item in items])
        for begin, end in sorted(spans, key=lambda span: (span[1] - span[0], span)):
            over = (begin <= first) & (last <= end)
            needed = float(np.bincount(layer[over], room[over]).max())
            missing = needed - sum(width[begin:end])
            if missing > 0:
                for position in range(begin, end):
                    width[position] += missing / (end - begin)
        positions = [0.0, *itertools.accumulate(width)]
        return dict(zip(ends, positions, strict=True))
