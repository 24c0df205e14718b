"""Pictures of trees and packed forests as self-contained SVG: their layout, their elements, and colored nodes."""

from __future__ import annotations

import itertools
import json
import math
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

import numpy as np

from treelet.checks import article, check_integer, plural
from treelet.cuts import TreeIndex
from treelet.drawing.drawing import Drawing, check_style
from treelet.drawing.leaves import DASHES, collapsed, excerpt, is_collapsed, is_open, shortened
from treelet.errors import InputTypeError, ParameterError, TreeError
from treelet.structures import Forest, Tree

LIMIT = 400  # nodes and edges of a readable picture
SMALL, CAPTION = 9.5, 11.0  # font sizes
PAGE = 900.0  # wider pictures are usually displayed smaller
_BEST = "#1b1b1b"
_ONLY = "#9aa3ad"
_ALTERNATIVES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#56a0d9", "#7a4fb5")

_UNPRINTABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


# --- the layout of a forest -------------------------------------------------------------------------------------------
#
# Nodes are in layers: each node is above all nodes that it may expand to, and centered over its words. A line that passes a
# layer takes room there like a node, so it does not run behind a node. Lines that end at the same node share their last part.

FONT = 13.0
HEIGHT, PAD, GAP = 30.0, 9.0, 14.0  # height of a node, space inside it and beside it
DROP, CHANNEL = 21.0, 42.0  # from a node to its dots, from the dots to the next layer
_CLOSE = 30.0  # between layers without dots
_STEP = 42.0  # from one alternative's dot to the next
_TRUNK = 8.0  # room for a line that passes a layer
MARGIN = 16.0
_LONGEST = 32  # characters of a label that are shown


class _DrawnEdge(NamedTuple):
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
            _DrawnEdge(
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

    def marked(self, edge: _DrawnEdge) -> bool:
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


class _ForestLayout:
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
        self.dots: dict[int, list[tuple[_DrawnEdge, float, float, int]]] = {}  # with the rank among its alternatives
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


# --- trees and forests ------------------------------------------------------------------------------------------------


def forest_svg(forest: Forest, *, caption: bool = True, limit: int = LIMIT) -> Drawing:
    """Draw a packed forest.

    Words are at the bottom, and each node is centered over its words. A node with several expansions has a colored dot for
    each of them, with P(expansion | node) beside it. Lines lead from a dot to the nodes of the expansion. The number in a node
    and its shade show the probability that a tree of the forest contains this node. Nodes without a number are in every tree.
    The most probable tree has bold black lines. A small circle is a hidden root.

    Parameters
    ----------
    forest : Forest
        Forest to draw. Pictures of more than about 60 nodes are hard to read.
    caption : bool, default True
        Show the number of trees below the picture.
    limit : int, default 400
        Maximum number of nodes and edges together.

    Returns
    -------
    Drawing
        An SVG document as a string. Its `save` method also writes PNG and PDF.

    Raises
    ------
    TreeError
        If the forest is empty, or has more than `limit` nodes and edges. Prune large forests first.

    Examples
    --------
    >>> from treelet import Forest
    >>> from treelet.drawing import forest_svg
    >>> forest = Forest.from_trees([("(S (A x) (B y))", 0.6), ("(S (A x) (C y))", 0.4)])
    >>> svg = forest_svg(forest)
    >>> svg.startswith("<svg "), "0.60" in svg
    (True, True)
    """
    if not isinstance(forest, Forest):
        raise InputTypeError(f"forest_svg draws a Forest. Got {article(type(forest).__name__)} instead.")
    check_integer("limit", limit)
    if not forest:
        raise TreeError("The forest is empty: there is nothing to draw.")
    nodes, edges = len(forest.nodes), len(forest.edges)
    if nodes + edges > limit:
        raise TreeError(
            f"The forest has {plural(nodes, 'node')} and {plural(edges, 'edge')}, but the limit is {limit:,} together. "
            "Prune the forest to a smaller log-probability range, for example 2."
        )
    count = forest.count_trees()
    trees = plural(count, "tree") if count < 10**12 else f"{float(min(count, 10**300)):.1e} trees"
    return Drawing(_Picture(ForestGraph(forest), f"{trees}, the most probable one in bold" if caption else "").svg())


def tree_svg(
    tree: object, *, style: str = "color", triangles: Iterable[str | int] | str | int = (), limit: int = 2 * LIMIT
) -> Drawing:
    """Draw a tree.

    In a fragment, such as ``explain(model, tree).fragments[0].tree``, some leaves are categories that the fragment does not
    expand. In the style "color", these categories have dashed boxes, and words have none. In the style "plain", the words of a
    fragment are in italics.

    Parameters
    ----------
    tree : Tree or str
        Tree to draw. A string is a tree in brackets.
    style : {"color", "plain"}, default "color"
        Colored boxes and curves, or labels and straight lines, as for `draw`.
    triangles : str, int or collection of them, default ()
        Labels of constituents, or numbers of nodes in pre-order, as for `draw`.
    limit : int, default 800
        Maximum number of nodes. Larger trees raise `TreeError`.

    Returns
    -------
    Drawing
        An SVG document as a string. Its `save` method also writes PNG, PDF and LaTeX.

    Examples
    --------
    >>> from treelet.drawing import tree_svg
    >>> tree_svg("(NP (D the) (N apple))").count("<rect ")  # words have none
    3
    """
    if isinstance(tree, str):
        tree = Tree.parse(tree)
    if not isinstance(tree, Tree):
        raise InputTypeError(
            f"tree_svg draws a Tree or a bracketed string. Got {article(type(tree).__name__)} instead."
        )
    check_style(style)
    check_integer("limit", limit)
    if sum(1 for _ in itertools.islice(tree.nodes(), limit + 1)) > limit:
        raise TreeError(
            f"The tree has more than {plural(limit, 'node')}, which is too many to draw. Draw a subtree, or print the tree."
        )
    small, occurring = collapsed(tree, triangles)  # so saving as LaTeX does not repeat a warning
    graph = ForestGraph(Forest.from_tree(small), hanging=style == "plain")
    words = _leaves_where(is_collapsed, small, graph)
    room = {number: width_of(graph.nodes[number].label, FONT + 1) for number in words}
    picture = (_PlainPicture if style == "plain" else _Picture)(graph, "", room, _open_leaves(small, graph), words)
    return Drawing(picture.svg(), of=tree, options={"style": style, "triangles": occurring})


def captioned_svg(tree: Tree, caption: str = "") -> Drawing:
    """Draw a tree of any size, with a caption below."""
    graph = ForestGraph(Forest.from_tree(tree))
    return Drawing(_Picture(graph, caption, open_leaves=_open_leaves(tree, graph)).svg(), of=tree)


def _open_leaves(tree: Tree, graph: ForestGraph) -> set[int]:
    """Return the nodes of a tree's graph that are open categories of the tree."""
    return _leaves_where(is_open, tree, graph)


def _leaves_where(chosen: Callable[[Tree], bool], tree: Tree, graph: ForestGraph) -> set[int]:
    chosen_at = [chosen(node) for node in tree.nodes() if not node.children]
    if not any(chosen_at):
        return set()
    leaves = (number for number in range(len(graph.nodes)) if number not in graph.own)
    return {number for number in leaves if chosen_at[graph.nodes[number].begin]}


class _Picture:
    """The SVG elements of a forest or a tree.

    Nodes in `open_leaves` are drawn as open categories, and nodes in `triangles` as the words below a triangle.
    """

    def __init__(
        self,
        graph: ForestGraph,
        caption: str,
        room: Mapping[int, float] | None = None,
        open_leaves: Collection[int] = frozenset(),
        triangles: Collection[int] = frozenset(),
    ) -> None:
        self.graph, self.caption, self.open_leaves, self.triangles = graph, caption, open_leaves, triangles
        self.layout = _ForestLayout(graph, room)

    def svg(self) -> str:
        layout = self.layout
        caption = Caption(self.caption, layout.width)
        width = max(layout.width, caption.width)
        height = layout.height + MARGIN + caption.height
        return svg_document(width, height, " ".join(self._words()), [*self.elements(), *caption.lines(height)])

    def elements(self) -> list[str]:
        """Return the lines, dots and nodes."""
        dots = sorted(itertools.chain.from_iterable(self.layout.dots.values()), key=lambda dot: dot[0].best)
        return [
            '<g fill="none" stroke-linecap="round">',
            *(line for dot in dots for line in self._edge(*dot)),
            "</g>",
            *(line for dot in dots for line in self._dot(*dot)),
            *(line for node in range(len(self.graph.nodes)) for line in self._node(node)),
        ]

    def _words(self) -> list[str]:
        leaves = [node for number, node in enumerate(self.graph.nodes) if number not in self.graph.own]
        return [node.label for node in sorted(leaves, key=lambda node: node.begin)]

    def _color(self, edge: _DrawnEdge, rank: int) -> str:
        if edge.best:
            return _BEST
        return _ALTERNATIVES[rank % len(_ALTERNATIVES)] if len(self.graph.own[edge.head]) > 1 else _ONLY

    def _edge(self, edge: _DrawnEdge, x: float, y: float, rank: int) -> list[str]:
        layout, layer = self.layout, self.graph.layer
        above = layer[edge.head]
        head = layout.at[edge.head, above].x
        foot = layout.top[above] + (HEIGHT if self.graph.nodes[edge.head].label else HEIGHT / 2 + 6)
        paths = [f"M{head:.1f} {foot:.1f}L{x:.1f} {y:.1f}"]
        for tail in edge.tails:
            if tail in self.triangles:
                paths = [self._triangle(edge, tail, foot)]
                continue
            path = f"M{x:.1f} {y:.1f}"
            here_x, here_y = x, y
            for number in range(above - 1, layer[tail] - 1, -1):
                item, top = layout.at[tail, number], layout.top[number]
                if number == 0 and tail not in self.open_leaves:
                    top += 6  # a word has no box
                half = (here_y + top) / 2
                path += f"C{here_x:.1f} {half:.1f} {item.x:.1f} {half:.1f} {item.x:.1f} {top:.1f}"
                here_x, here_y = item.x, top
                if item.passing:
                    here_y = top + layout.band[number]
                    path += f"V{here_y:.1f}"
            paths.append(path)
        style = f'stroke="{self._color(edge, rank)}" stroke-width="{2.2 if edge.best else 1.3:g}"'
        return [f'<path d="{"".join(paths)}" {style}/>']

    def _triangle(self, edge: _DrawnEdge, tail: int, foot: float) -> str:
        """Return the path of a triangle between a node and its words."""
        layout, layer = self.layout, self.graph.layer
        top, middle = layout.top[layer[tail]] + 6, layout.at[tail, layer[tail]].x
        half = 0.45 * width_of(self.graph.nodes[tail].label, FONT + 1)  # the estimate is rather too large
        apex = layout.at[edge.head, layer[edge.head]].x
        return f"M{apex:.1f} {foot:.1f}L{middle - half:.1f} {top:.1f}H{middle + half:.1f}z"

    def _dot(self, edge: _DrawnEdge, x: float, y: float, rank: int) -> list[str]:
        if not self.graph.marked(edge):
            return []
        color = self._color(edge, rank)
        lines = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{3.2 if edge.best else 2.8:g}" fill="{color}"/>']
        if len(self.graph.own[edge.head]) > 1:
            head = self.layout.at[edge.head, self.graph.layer[edge.head]].x
            aside, anchor = (
                (-5, "end") if x < head - 1 else (5, "start")
            )  # on the side that is away from the line to the head
            lines.append(
                f'<text x="{x + aside:.1f}" y="{y + 3:.1f}" text-anchor="{anchor}" font-size="{SMALL:g}" fill="{color}" '
                f'stroke="#ffffff" stroke-width="2.5" paint-order="stroke">{_number(edge.chance) or "1.00"}</text>'
            )
        return lines

    def _node(self, node: int) -> list[str]:
        label, begin, end = self.graph.nodes[node]
        x, y = self.layout.at[node, self.graph.layer[node]].x, self.layout.top[self.graph.layer[node]]
        chance, best = self.graph.posterior[node], node in self.graph.best_nodes
        number = _number(chance)
        description = f"{shortened(label) or 'hidden root'} over words {begin} to {end}, probability {chance:.4g}"
        lines = ["<g>", f"<title>{escaped(description)}</title>"]
        line = f'stroke="{_BEST if best else _ONLY}" stroke-width="{1.8 if best else 1:g}"'
        if not label:
            lines.append(f'<circle cx="{x:.1f}" cy="{y + HEIGHT / 2:.1f}" r="6" fill="#ffffff" {line}/>')
        elif node not in self.graph.own and node not in self.open_leaves:
            text = shortened(label) if node in self.triangles else shown(label)
            lines.append(f'<text x="{x:.1f}" y="{y + 21:.1f}" font-size="{FONT + 1:g}">{escaped(text)}</text>')
        else:
            half = self.layout.box[node] / 2
            is_open = node in self.open_leaves
            fill, dashes = ("#ffffff", f' stroke-dasharray="{DASHES}"') if is_open else (_node_shade(chance), "")
            lines.append(
                f'<rect x="{x - half:.1f}" y="{y:.1f}" width="{2 * half:.1f}" height="{HEIGHT:g}" rx="5" '
                f'fill="{fill}" {line}{dashes}/>'
            )
            lines.append(
                f'<text x="{x:.1f}" y="{y + (14 if number else 19.5):.1f}" font-size="{FONT:g}">'
                f"{escaped(shown(label))}</text>"
            )
            if number:
                lines.append(
                    f'<text x="{x:.1f}" y="{y + 25.5:.1f}" font-size="{SMALL:g}" fill="#4d5964">{number}</text>'
                )
        return [*lines, "</g>"]


class _PlainPicture(_Picture):
    """A tree in the style of linguistic papers: labels and straight lines. If there are open categories, words are in italics."""

    def _edge(self, edge: _DrawnEdge, x: float, y: float, rank: int) -> list[str]:
        layout, layer = self.layout, self.graph.layer
        foot = layout.top[layer[edge.head]] + HEIGHT - 4
        head = layout.at[edge.head, layer[edge.head]].x
        paths = [
            self._triangle(edge, tail, foot)
            if tail in self.triangles
            else f"M{head:.1f} {foot:.1f}L{layout.at[tail, layer[tail]].x:.1f} {layout.top[layer[tail]] + 6:.1f}"
            for tail in edge.tails
        ]
        return [f'<path d="{"".join(paths)}" stroke="#000000" stroke-width="1" stroke-linejoin="round"/>']

    def _node(self, node: int) -> list[str]:
        label, layer = self.graph.nodes[node].label, self.graph.layer[node]
        x, y = self.layout.at[node, layer].x, self.layout.top[layer]
        text = shortened(label) if node in self.triangles else shown(label)
        is_word = node not in self.graph.own and node not in self.open_leaves
        italics = ' font-style="italic"' if self.open_leaves and is_word else ""
        return [f'<text x="{x:.1f}" y="{y + 20:.1f}" font-size="{FONT + 1:g}"{italics}>{escaped(text)}</text>']


def _node_shade(chance: float) -> str:
    """Return a color between white (0) and light blue (1)."""
    return "#" + "".join(f"{round(255 + (full - 255) * chance):02x}" for full in (0xC9, 0xDD, 0xF2))


class Caption:
    """A caption at the bottom of a picture, or nothing. Wide pictures are displayed smaller, so their caption is larger."""

    def __init__(self, text: str, beside: float) -> None:
        self.text, self.size = text, CAPTION * max(1.0, beside / PAGE)
        self.width = width_of(text, self.size) + 2 * MARGIN if text else 0.0
        self.height = self.size + 9 if text else 0.0

    def lines(self, bottom: float) -> list[str]:
        if not self.text:
            return []
        style = f'text-anchor="start" font-size="{self.size:.3g}" fill="#667077"'
        return [f'<text x="{MARGIN:g}" y="{bottom - 10:.1f}" {style}>{escaped(self.text)}</text>']


def svg_document(width: float, height: float, title: str, elements: Iterable[str]) -> str:
    """Return an SVG document with a white background."""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="Helvetica, Arial, sans-serif" text-anchor="middle">',
        f"<title>{escaped(shortened(title))}</title>",
        f'<path d="M0 0H{width:.0f}V{height:.0f}H0z" fill="#ffffff"/>',
    ]
    return "\n".join([*lines, *elements, "</svg>"]) + "\n"


def escaped(text: str) -> str:
    """Escape a text for XML."""
    return escape(_UNPRINTABLE.sub("\ufffd", text))


def _number(chance: float) -> str:
    """Return a probability with few digits, or an empty string for 1."""
    if chance > 0.9995:
        return ""
    if chance >= 0.995:
        return f"{chance:.3f}"
    return f"{chance:.2f}" if chance >= 0.01 else f"{chance:.0e}"


# --- colored nodes: a color shows a mark or a number ------------------------------------------------------------------

PLUS, MINUS = (0x00, 0x72, 0xB2), (0xE0, 0x7B, 0x00)  # blue and orange, which most color-blind readers can distinguish
FAINT, STRONG = 0.06, 0.62
_SEEN = 0.02  # fraction of the largest value below which a node has no number


class Shade(NamedTuple):
    """Colors, line width and text of a node, and the kind of its mark, if it has one."""

    fill: str
    line: str
    wide: float = 1.4
    text: str = ""
    mark: str = ""


class ShadedPicture(_Picture):
    """A tree with one shade per node in pre-order, or None."""

    def __init__(self, tree: Tree, shades: Iterable[Shade | None], caption: str = "") -> None:
        graph, index = ForestGraph(Forest.from_tree(tree)), TreeIndex(tree)
        waiting: dict[tuple[str, int, int], list[Shade | None]] = {}
        for number, shade in enumerate(shades):
            node = index[number]
            waiting.setdefault((node.label, node.start, node.end), []).append(shade)
        self.shades: dict[int, Shade] = {}
        for number in reversed(range(len(graph.nodes))):  # heads come after their tails
            label, begin, end = graph.nodes[number]
            if node_shade := waiting[label, begin, end].pop(0):
                self.shades[number] = node_shade
        room = {
            number: width_of(shade.text, SMALL) + (14 if shade.mark else 6)
            for number, shade in self.shades.items()
            if shade.text
        }
        super().__init__(graph, caption, room, _open_leaves(tree, graph))

    def _node(self, node: int) -> list[str]:
        lines = super()._node(node)
        if (shade := self.shades.get(node)) is None:
            return lines
        x, y = self.layout.at[node, self.graph.layer[node]].x, self.layout.top[self.graph.layer[node]]
        half = self.layout.box[node] / 2
        is_open = node in self.open_leaves
        outline = f'"#1b1b1b" stroke-dasharray="{DASHES}"' if is_open else f'"{shade.line}"'
        style = f'fill="{shade.fill}" stroke={outline} stroke-width="{shade.wide:g}"'
        box = f'<rect x="{x - half:.1f}" y="{y:.1f}" width="{2 * half:.1f}" height="{HEIGHT:g}" rx="5" {style}/>'
        shape = next((k for k, text in enumerate(lines) if text.startswith("<rect ")), None)
        if shape is None:  # a word
            lines.insert(2, box)
        else:
            lines[shape] = box
        if shade.text:
            label = next(k for k, text in enumerate(lines) if text.startswith("<text "))
            tail = lines[label].partition(' font-size="')[2]
            lines[label] = f'<text x="{x:.1f}" y="{y + 14:.1f}" font-size="{tail}'
            lines.insert(-1, f'<text x="{x:.1f}" y="{y + 25.5:.1f}" font-size="{SMALL:g}">{escaped(shade.text)}</text>')
        return lines


def heat_svg(tree: Tree, heat: Sequence[float], *, caption: str = "", scale: float = 0.0) -> Drawing:
    """Draw a tree with colored nodes: blue for positive numbers, orange for negative ones.

    Parameters
    ----------
    tree : Tree
        Tree to draw. Only the upper part of a large tree is drawn, without colors.
    heat : sequence of float
        One number per node in pre-order, such as the shares of `Explanation.heat`.
    caption : str, default ""
        Text below the picture.
    scale : float, default 0
        Number with the strongest color, for pictures that are compared with each other. The largest absolute value
        of `heat` is used if it is larger.

    Returns
    -------
    Drawing
        An SVG document as a string. Its `save` method also writes PNG, PDF and LaTeX.

    Examples
    --------
    >>> from treelet import Tree
    >>> from treelet.drawing import heat_svg
    >>> svg = heat_svg(Tree.parse("(NP (D the) (N cat))"), [0.5, 0.0, 0.0, -0.25, 0.0])
    >>> "+0.50" in svg, "\u22120.25" in svg
    (True, True)
    """
    small, note = excerpt(tree)
    if note:
        return captioned_svg(small, f"{note}; {caption}" if caption else note)
    if len(heat) != (number := sum(1 for _ in tree.nodes())):
        raise ParameterError(
            f"The 'heat' parameter must have one number for each of {plural(number, 'node')}. Got {len(heat):,} instead."
        )
    most = max(scale, *map(abs, heat))
    shades = [_shade(value, most, leaf=not node.children) for value, node in zip(heat, tree.nodes(), strict=True)]
    return Drawing(ShadedPicture(tree, shades, caption).svg(), of=tree)


def _shade(value: float, most: float, *, leaf: bool) -> Shade | None:
    strength = abs(value) / most if most else 0.0
    if strength < _SEEN:
        return None if leaf else Shade("#ffffff", "#7a838c")
    return Shade(tint(strength if value > 0 else -strength), "none" if leaf else "#1b1b1b", 1.4, signed(value))


def tint(strength: float) -> str:
    """Return a color between orange (-1), white (0) and blue (1)."""
    full, share = PLUS if strength > 0 else MINUS, FAINT + STRONG * min(1.0, abs(strength))
    return "#" + "".join(f"{round(255 + (channel - 255) * share):02x}" for channel in full)


def signed(value: float) -> str:
    """Return a number with two significant digits and its sign, in the same format as tree-view.js.

    >>> [signed(value) for value in (0.104, -0.063, 12.34, -123.4, 0.0, 1e-9)]
    ['+0.10', '\u22120.063', '+12', '\u2212123', '0', '+1.0e-9']
    """
    size = abs(value)
    if size == 0:
        return "0"
    if size >= 1e4 or size < 0.001:
        digits, _, power = f"{size:.1e}".partition("e")
        text = f"{digits}e{int(power):+d}"
    else:
        places = max(0, 1 - _exponent(size))
        text = f"{size:.{places}f}"
    return ("+" if value > 0 else "\u2212") + text


def aligned(values: Iterable[float], digits: int = 4) -> Callable[..., str]:
    """Return a format for a column of numbers: all have as many decimals as the largest needs for `digits` digits.

    The format takes a number and, optionally, ``"+"`` to show the sign of positive numbers.

    >>> number = aligned([12.3456, 0.5, -0.00123])
    >>> [number(value, "+") for value in (12.3456, 0.5, -0.00123)]
    ['+12.35', '+0.50', '\u22120.00']
    """
    largest = max(map(abs, values), default=0.0)
    if largest and not 1e-4 <= largest < 1e6:
        return lambda value, sign="": f"{value:{sign}.{digits - 1}e}".replace("-", "\u2212", 1 if value < 0 else 0)
    decimals = max(0, digits - 1 - _exponent(largest)) if largest else 0
    decimals = min(decimals, digits + 2)
    return lambda value, sign="": f"{value:{sign},.{decimals}f}".replace("-", "\u2212")


def _exponent(size: float) -> int:
    return int(f"{size:.1e}".partition("e")[2])
