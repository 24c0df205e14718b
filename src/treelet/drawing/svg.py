"""Pictures of trees and packed forests as self-contained SVG."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from html import escape

from treelet.checks import article, check_integer, plural
from treelet.drawing.drawing import Drawing, check_style
from treelet.drawing.layout import (
    FONT,
    HEIGHT,
    MARGIN,
    DrawnEdge,
    ForestGraph,
    ForestLayout,
    collapsed,
    is_collapsed,
    occurring_triangles,
    shown,
    width_of,
)
from treelet.drawing.leaves import DASHES, is_open, shortened
from treelet.errors import InputTypeError, TreeError
from treelet.structures import Forest, Tree

LIMIT = 400  # nodes and edges of a readable picture
SMALL, CAPTION = 9.5, 11.0  # font sizes
PAGE = 900.0  # wider pictures are usually displayed smaller
_BEST = "#1b1b1b"
_ONLY = "#9aa3ad"
_ALTERNATIVES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#56a0d9", "#7a4fb5")

_UNPRINTABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


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
    _check_limit(limit)
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
    return Drawing(Picture(ForestGraph(forest), f"{trees}, the most probable one in bold" if caption else "").svg())


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
    _check_limit(limit)
    if sum(1 for _ in itertools.islice(tree.nodes(), limit + 1)) > limit:
        raise TreeError(
            f"The tree has more than {plural(limit, 'node')}, which is too many to draw. Draw a subtree, or print the tree."
        )
    occurring = occurring_triangles(tree, triangles)  # so saving as LaTeX does not repeat a warning
    small = collapsed(tree, occurring)
    graph = ForestGraph(Forest.from_tree(small), hanging=style == "plain")
    words = _leaves_where(is_collapsed, small, graph)
    room = {number: width_of(graph.nodes[number].label, FONT + 1) for number in words}
    picture = (_PlainPicture if style == "plain" else Picture)(graph, "", room, open_leaves(small, graph), words)
    return Drawing(picture.svg(), of=tree, options={"style": style, "triangles": occurring})


def captioned_svg(tree: Tree, caption: str = "") -> Drawing:
    """Draw a tree of any size, with a caption below."""
    graph = ForestGraph(Forest.from_tree(tree))
    return Drawing(Picture(graph, caption, open_leaves=open_leaves(tree, graph)).svg(), of=tree)


def open_leaves(tree: Tree, graph: ForestGraph) -> set[int]:
    """Return the nodes of a tree's graph that are open categories of the tree."""
    return _leaves_where(is_open, tree, graph)


def _leaves_where(chosen: Callable[[Tree], bool], tree: Tree, graph: ForestGraph) -> set[int]:
    chosen_at = [chosen(node) for node in tree.nodes() if not node.children]
    if not any(chosen_at):
        return set()
    leaves = (number for number in range(len(graph.nodes)) if number not in graph.own)
    return {number for number in leaves if chosen_at[graph.nodes[number].begin]}


def _check_limit(limit: object) -> None:
    check_integer("limit", limit)


class Picture:
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
        self.layout = ForestLayout(graph, room)

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

    def _color(self, edge: DrawnEdge, rank: int) -> str:
        if edge.best:
            return _BEST
        return _ALTERNATIVES[rank % len(_ALTERNATIVES)] if len(self.graph.own[edge.head]) > 1 else _ONLY

    def _edge(self, edge: DrawnEdge, x: float, y: float, rank: int) -> list[str]:
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

    def _triangle(self, edge: DrawnEdge, tail: int, foot: float) -> str:
        """Return the path of a triangle between a node and its words."""
        layout, layer = self.layout, self.graph.layer
        top, middle = layout.top[layer[tail]] + 6, layout.at[tail, layer[tail]].x
        half = 0.45 * width_of(self.graph.nodes[tail].label, FONT + 1)  # the estimate is rather too large
        apex = layout.at[edge.head, layer[edge.head]].x
        return f"M{apex:.1f} {foot:.1f}L{middle - half:.1f} {top:.1f}H{middle + half:.1f}z"

    def _dot(self, edge: DrawnEdge, x: float, y: float, rank: int) -> list[str]:
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
            fill, dashes = ("#ffffff", f' stroke-dasharray="{DASHES}"') if is_open else (_shade(chance), "")
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


class _PlainPicture(Picture):
    """A tree in the style of linguistic papers: labels and straight lines. If there are open categories, words are in italics."""

    def _edge(self, edge: DrawnEdge, x: float, y: float, rank: int) -> list[str]:
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


def _shade(chance: float) -> str:
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
