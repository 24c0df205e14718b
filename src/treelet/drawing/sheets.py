"""Sheets: several drawings in one picture, in groups with headings. Shared fragments are drawn in this way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from treelet.checks import article, check_integer, plural
from treelet.cuts import TreeIndex
from treelet.drawing.drawing import Drawing
from treelet.drawing.leaves import excerpt, shortened
from treelet.drawing.svg import escaped, forest_svg, svg_document, tint, tree_svg, width_of
from treelet.errors import InputTypeError, TreeError
from treelet.fragments import node_values
from treelet.fragments.occurrences import SharedFragment, SharedFragments
from treelet.kernels.tree import TreeKernel
from treelet.printable import readable_number
from treelet.structures import Forest, Tree

_WIDTH, _MARGIN, _GAP = 720.0, 12.0, 10.0
_CAPTION, _HEADING = 12.0, 14.0  # font sizes
_BELOW = 14.0  # empty space below a drawing
_INK, _GRAY = "#1b1b1b", "#667077"


class _Panel(NamedTuple):
    """A drawing on a sheet, with a caption below."""

    svg: str
    width: float
    height: float
    caption: str = ""

    @staticmethod
    def of(drawing: Drawing, caption: str = "", scale: float = 0.75, below: float = _BELOW) -> _Panel:
        """Return a reduced drawing, without the empty space below it."""
        inside = str(drawing).partition("\n")[2].rpartition("</svg>")[0].strip()
        height = drawing.height - below
        view = f'viewBox="0 0 {drawing.width:.0f} {height:.0f}" text-anchor="middle"'
        size = f'width="{scale * drawing.width:.1f}" height="{scale * height:.1f}"'
        return _Panel(f"<svg {size} {view}>\n{inside}\n</svg>", scale * drawing.width, scale * height, caption)

    @property
    def box(self) -> tuple[float, float]:
        """The width and height, including the caption."""
        return max(self.width, width_of(self.caption, _CAPTION)), self.height + (_CAPTION + 8 if self.caption else 0)

    def placed(self, x: float, y: float) -> Iterator[str]:
        wide = self.box[0]
        inside = f'width="{self.width:.0f}" height="{self.height:.0f}"'
        yield f'<svg x="{x + (wide - self.width) / 2:.1f}" y="{y:.1f}" {inside}>{self.svg}</svg>'
        if self.caption:
            yield _text(x + wide / 2, y + self.height + _CAPTION + 1, self.caption, _CAPTION, _GRAY)


def _text(x: float, y: float, words: str, size: float = 13.0, color: str = _INK, anchor: str = "middle") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" fill="{color}" text-anchor="{anchor}">'
        f"{escaped(words)}</text>"
    )


def _sheet(*groups: tuple[str, list[_Panel]], width: float = _WIDTH) -> Drawing:
    """Stack groups vertically. Each group has a heading and rows of panels up to this width, or one wider panel."""
    width = max([width, *(panel.box[0] + 2 * _MARGIN for _, panels in groups for panel in panels)])
    lines: list[str] = []
    y, used = _MARGIN, 0.0
    for heading, panels in groups:
        lines.append(_text(_MARGIN, y + _HEADING, heading, _HEADING, _INK, "start"))
        used = max(used, _MARGIN + width_of(heading, _HEADING))
        y += _HEADING + 12
        x, below = _MARGIN, y
        for panel in panels:
            wide, high = panel.box
            if x > _MARGIN and x + wide > width - _MARGIN:
                x, y = _MARGIN, below + _GAP
            lines += panel.placed(x, y)
            used = max(used, x + wide)
            x, below = x + wide + _GAP, max(below, y + high)
        y = below + _GAP + 4
    return Drawing(svg_document(min(width, used + _MARGIN), y, ". ".join(heading for heading, _ in groups), lines))


def shared_svg(shared: SharedFragments, *, caption: bool = True, limit: int = 24, table: bool = False) -> Drawing:
    """Draw two trees or forests, and below them the fragments that they share.

    A dashed box is a category that a fragment does not expand. Words have no box. Only the upper part of a large tree is drawn.

    Parameters
    ----------
    shared : SharedFragments
        Result of `treelet.shared_fragments` for trees or forests.
    caption : bool, default True
        Show the contribution of each fragment to the kernel value. If a fragment occurs more than once in a tree, its
        counts are shown, too.
    limit : int, default 24
        Maximum number of fragments, at least 1. Those with the largest contributions are drawn.
    table : bool, default False
        Draw the table C(n1, n2) of `treelet.fragments.node_values` instead of the fragments: one row per node of the first
        tree and one column per node of the second tree, children before their parents.

    Returns
    -------
    Drawing
        An SVG document as a string. Its `save` method also writes PNG and PDF.

    Examples
    --------
    >>> import treelet as tl
    >>> from treelet.drawing import shared_svg
    >>> svg = shared_svg(tl.shared_fragments("(NP (D the) (N apple))", "(NP (D the) (N pear))"))
    >>> "3 shared fragments" in svg, svg.count(">0.4</text>"), svg.count(">0.16</text>")
    (True, 2, 1)
    """
    if not isinstance(shared, SharedFragments):
        raise InputTypeError(f"shared_svg draws SharedFragments. Got {article(type(shared).__name__)} instead.")
    check_integer("limit", limit, of="shared_svg")
    examples = [example for example in shared.examples if example is not None]
    for thing in (*examples, *(fragment.tree for fragment in shared)):
        if not isinstance(thing, Tree | Forest):
            raise InputTypeError(
                f"Only fragments of trees and forests can be drawn. Got {article(type(thing).__name__)} instead. "
                "Print the fragments."
            )
    if table:
        return _sheet(("Two trees", list(map(_whole, examples))), *_table(shared, examples))
    drawn = shared[:limit]
    heading = plural(len(shared), "shared fragment")
    if not shared.complete:
        heading = f"The {len(drawn)} largest shared fragments"
    elif len(drawn) < len(shared):
        heading = f"The {len(drawn)} largest of {heading}"
    if caption and shared:
        heading += ", with their contributions to the kernel value"
    kinds = "Two forests" if any(isinstance(example, Forest) for example in examples) else "Two trees"
    panels = [_whole(fragment.tree, _caption(fragment) if caption else "") for fragment in drawn]
    return _sheet(*([(kinds, list(map(_whole, examples)))] if examples else []), (heading, panels))


def _whole(thing: Tree | Forest, caption: str = "") -> _Panel:
    if isinstance(thing, Forest):
        return _Panel.of(forest_svg(thing, caption=False), caption)
    small, note = excerpt(thing)
    return _Panel.of(tree_svg(small), "; ".join(filter(None, [caption, note])))


def _caption(fragment: SharedFragment) -> str:
    times = " × ".join(map(readable_number, fragment.counts))
    value = readable_number(fragment.contribution)
    return value if times == "1 × 1" else f"{value} ({times} times)"


# --- the table of all pairs of nodes ----------------------------------------------------------------------------------

_CELL, _ROW, _LABEL = 50.0, 24.0, 24  # width and height of a cell, characters of a production
_CELLS = 2_500  # of the largest table


def _table(shared: SharedFragments, examples: list[Tree]) -> Iterator[tuple[str, list[_Panel]]]:
    """Yield the table of a tree kernel as a group of a sheet. Words that never have a value are left out."""
    if not isinstance(shared.kernel, TreeKernel) or len(examples) != 2:
        raise InputTypeError(
            f"A table needs two trees and a Subtree, SubsetTree or PartialTree. Got {shared.kernel!r} instead."
        )
    rows, columns = orders = [
        _bottom_up(tree, words=bool(getattr(shared.kernel, "leaves", False))) for tree in examples
    ]
    if len(rows) * len(columns) > _CELLS:
        raise TreeError(
            f"The table has {len(rows):,} x {len(columns):,} cells, but the limit is {_CELLS:,}. Compare smaller trees."
        )
    values = node_values(examples[0], examples[1], shared.kernel)
    most = values.max(initial=0.0)
    names = [[shortened(_production(node), _LABEL) for _, node in order] for order in orders]
    left, top = (max((width_of(name, _CAPTION) for name in names[k]), default=0.0) + 8 for k in (0, 1))
    width, height = left + _CELL * len(columns) + 1, top + _ROW * len(rows) + 1
    lines = [
        *(_text(left - 6, top + _ROW * (k + 0.65), name, _CAPTION, _INK, "end") for k, name in enumerate(names[0])),
        *(_column_name(left + _CELL * (k + 0.5) + 4, top - 5, name) for k, name in enumerate(names[1])),
    ]
    for i, (row, _) in enumerate(rows):
        for k, (column, _) in enumerate(columns):
            value, x, y = float(values[row, column]), left + _CELL * k, top + _ROW * i
            fill = tint(value / most) if value else "#ffffff"
            lines.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{_CELL:g}" height="{_ROW:g}" fill="{fill}" stroke="#c3cad0"/>'
            )
            color = _INK if value else "#9aa3ad"
            lines.append(_text(x + _CELL / 2, y + 0.65 * _ROW, f"{value:.4g}", _CAPTION, color))
    heading = f"C(n1, n2), from the bottom up. The sum is {readable_number(float(values.sum()))}"
    yield heading, [_Panel("\n".join(lines), width, height)]


def _column_name(x: float, y: float, name: str) -> str:
    turned = f'transform="rotate(-90 {x:.1f} {y:.1f})"'
    return _text(x, y, name, _CAPTION, _INK, "start").replace("<text ", f"<text {turned} ", 1)


def _bottom_up(tree: Tree, *, words: bool) -> list[tuple[int, Tree]]:
    """Return the nodes with their numbers in pre-order. Children come before their parents."""
    index = TreeIndex(tree)
    # Sorted by its end, a node comes after all nodes inside it; of nodes with the same end, the inner one has the larger number.
    order = sorted(range(len(index.nodes)), key=lambda number: (index.after[number], -number))
    return [(number, index.nodes[number]) for number in order if words or index.nodes[number].children]


def _production(node: Tree) -> str:
    return f"{node.label} → {' '.join(child.label for child in node)}" if node.children else node.label
