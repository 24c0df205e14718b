"""Pictures of trees with colored nodes. The color shows a mark or a number."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from treelet.checks import plural
from treelet.cuts import TreeIndex
from treelet.drawing.drawing import Drawing
from treelet.drawing.layout import HEIGHT, ForestGraph, width_of
from treelet.drawing.leaves import DASHES, excerpt
from treelet.drawing.svg import SMALL, Picture, captioned_svg, escaped, open_leaves
from treelet.errors import ParameterError
from treelet.structures import Forest, Tree

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


class ShadedPicture(Picture):
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
        super().__init__(graph, caption, room, open_leaves(tree, graph))

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
