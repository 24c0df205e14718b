"""Pictures of edit scripts: both trees, with deleted, inserted and renamed nodes marked.

A mark has a color, a sign in a circle, and a form that does not depend on colors: the label of a deleted node is struck out, an
inserted node has a thick outline, and a renamed node has its other label in a second line.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator
from typing import NamedTuple

from treelet.checks import article, check_integer, plural
from treelet.cuts import TreeIndex
from treelet.drawing.drawing import Drawing
from treelet.drawing.leaves import LEAVES, LEVELS, MORE, shortened
from treelet.drawing.svg import (
    FONT,
    HEIGHT,
    LIMIT,
    MARGIN,
    PAGE,
    Caption,
    Shade,
    ShadedPicture,
    escaped,
    shown,
    svg_document,
    width_of,
)
from treelet.edits import EditOperation, EditScript
from treelet.errors import InputTypeError, TreeError
from treelet.structures import Tree

_SIGNS = {"delete": "\u2212", "insert": "+", "rename": "~"}
_NAMES = {"delete": "deleted", "insert": "inserted", "rename": "renamed"}
_LOOKS = {
    "delete": Shade("#fde3cd", "#b34700", mark="delete"),
    "insert": Shade("#d5e8f7", "#00629b", 3.0, mark="insert"),
    "rename": Shade("#f4e0ec", "#97397a", mark="rename"),
}
_KEPT = Shade("#ffffff", "#7a838c")
_RADIUS = 6.5  # of the circle around a sign
_TITLES = ("First tree", "Second tree")
_TITLE = 12.0  # font size
_FOLDED = 4  # nodes of an unchanged subtree that is drawn completely even if the trees are large


class _EditedTree(NamedTuple):
    """A tree of a script as it is drawn.

    Nodes are in pre-order. Each has its operation, or None for the leaf below a folded node, and its other label if it is
    renamed, such as ``"was cat"``.
    """

    tree: Tree
    operations: list[EditOperation | None]
    other_labels: list[str]


def edit_svg(
    script: EditScript, *, folded: bool | None = None, caption: bool = True, limit: int = 2 * LIMIT
) -> Drawing:
    """Draw both trees of an edit script, side by side or, if they are wide, one below the other.

    Deleted nodes are marked with a minus sign and have a struck-out label. Inserted nodes are marked with a plus sign and have
    a thick outline. Renamed nodes are marked with a tilde and show their label in the other tree. All other nodes are kept.

    Parameters
    ----------
    script : EditScript
        Result of `treelet.edit_script`.
    folded : bool, optional
        Whether to draw only the root of an unchanged subtree, above ``…``. Small subtrees are always drawn completely. Default:
        fold if one of the trees has more than 30 leaves or 20 levels.
    caption : bool, default True
        Show the cost and the similarity below the trees.
    limit : int, default 800
        Maximum number of drawn nodes per tree. More raise `TreeError`.

    Returns
    -------
    Drawing
        An SVG document as a string. Its `save` method also writes PNG, PDF and LaTeX.

    Examples
    --------
    >>> import treelet as tl
    >>> from treelet.drawing import edit_svg
    >>> svg = edit_svg(tl.edit_script("(S (N Mary) (V ran))", "(S (N John) (V ran) (ADV away))"))
    >>> "\u2192 John" in svg, "was Mary" in svg, svg.count("<title>inserted: ")
    (True, True, 2)
    """
    if not isinstance(script, EditScript):
        raise InputTypeError(f"edit_svg draws an EditScript. Got {article(type(script).__name__)} instead.")
    check_integer("limit", limit)
    sides = edited_trees(script, folded)
    for title, side in zip(_TITLES, sides, strict=True):
        if len(side.operations) > limit:
            raise TreeError(
                f"The {title.lower()} has {plural(len(side.operations), 'node')} to draw, but the limit is {limit:,}. "
                "Compare smaller subtrees, or print the script."
            )
    pictures = [_EditPicture(side) for side in sides]
    layouts = [picture.layout for picture in pictures]
    beside = sum(layout.width for layout in layouts) <= PAGE
    width = sum(layout.width for layout in layouts) if beside else max(layout.width for layout in layouts)
    size = _TITLE * max(1.0, width / PAGE)
    right = down = 0.0
    lines: list[str] = []
    for picture, layout, title in zip(pictures, layouts, _TITLES, strict=True):
        layout.move(right, down + size + 8)
        lines += [_title(title, right + MARGIN, down + MARGIN + size, size), *picture.elements()]
        right, down = (right + layout.width, 0.0) if beside else (0.0, down + size + 8 + layout.height + MARGIN)
    height = size + 8 + max(layout.height for layout in layouts) + MARGIN if beside else down
    if beside:
        middle = layouts[0].width
        lines.insert(0, f'<path d="M{middle:.1f} {MARGIN:g}V{height - 4:.1f}" stroke="#dfe3e8" stroke-width="1"/>')
    legend = _Legend(script, sides, width, caption)
    width = max(width, legend.width)
    title = (
        f"Edit script of cost {script.cost:g}: {' '.join(script.source.words())} | {' '.join(script.target.words())}"
    )
    return Drawing(svg_document(width, height + legend.height, title, [*lines, *legend.lines(height)]), of=script)


class _EditPicture(ShadedPicture):
    """The picture of a tree of an edit script."""

    def __init__(self, side: _EditedTree) -> None:
        shades = [
            (None if not node.children else _KEPT)
            if operation is None or operation.kind == "keep"
            else _LOOKS[operation.kind]._replace(text=text)
            for node, operation, text in zip(side.tree.nodes(), side.operations, side.other_labels, strict=True)
        ]
        super().__init__(side.tree, shades)

    def _node(self, node: int) -> list[str]:
        lines, label = super()._node(node), self.graph.nodes[node].label
        shade = self.shades.get(node, _KEPT)
        about = f"{_NAMES[shade.mark]}: {shortened(label)} {shade.text}" if shade.mark else shortened(label)
        lines[1] = f"<title>{escaped(about.strip())}</title>"
        if not shade.mark:
            return lines
        x, y = self.layout.at[node, self.graph.layer[node]].x, self.layout.top[self.graph.layer[node]]
        if shade.mark == "delete":
            half = 0.45 * width_of(shown(label), FONT) + 2  # the estimate is rather too large
            line = f'stroke="{shade.line}" stroke-width="1.4"'
            lines.insert(-1, f'<path d="M{x - half:.1f} {y + HEIGHT / 2 + 0.5:.1f}h{2 * half:.1f}" {line}/>')
        lines[-1:-1] = _sign(shade.mark, x - self.layout.box[node] / 2, y)
        return lines


def _sign(kind: str, x: float, y: float) -> list[str]:
    """Return the sign of an operation in a circle."""
    return [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{_RADIUS:g}" fill="{_LOOKS[kind].line}" stroke="#ffffff" stroke-width="1"/>',
        f'<text x="{x:.1f}" y="{y + 4:.1f}" font-size="12" font-weight="bold" fill="#ffffff">{_SIGNS[kind]}</text>',
    ]


class _Legend:
    """The meaning of the signs that occur, and the cost. Like a caption, it is larger below a wide picture."""

    def __init__(self, script: EditScript, sides: Collection[_EditedTree], beside: float, caption: bool) -> None:
        self.kinds = [kind for kind in _SIGNS if any(operation.kind == kind for operation in script)]
        notes = [script.summary()] if caption else []
        if any(operation is None for side in sides for operation in side.operations):
            notes.append(f"{MORE} stands for unchanged nodes")
        text = "; ".join(notes)
        self.caption = Caption(text[:1].upper() + text[1:], beside)
        self.size = Caption(" ", beside).size
        room = self.size / Caption("", 0).size
        starts = [0.0, *itertools.accumulate(width_of(_NAMES[kind], self.size) + 26 * room for kind in self.kinds)]
        self.starts, self.room = starts, room
        self.width = max(self.caption.width, starts[-1] + 2 * MARGIN if self.kinds else 0.0)
        self.height = (self.size + 12 if self.kinds else 0.0) + self.caption.height

    def lines(self, top: float) -> list[str]:
        return [*self._signs(top), *self.caption.lines(top + self.height)]

    def _signs(self, top: float) -> Iterator[str]:
        y = top + _RADIUS + 4
        for kind, start in zip(self.kinds, self.starts, strict=False):
            yield from _sign(kind, MARGIN + _RADIUS + start, y)
            style = f'text-anchor="start" font-size="{self.size:.3g}" fill="#3d464e"'
            yield f'<text x="{MARGIN + 2 * _RADIUS + 5 + start:.1f}" y="{y + 0.35 * self.size:.1f}" {style}>{_NAMES[kind]}</text>'


def _title(text: str, x: float, y: float, size: float) -> str:
    style = f'text-anchor="start" font-size="{size:.3g}" font-weight="bold" fill="#3d464e"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{text}</text>'


def edited_trees(script: EditScript, folded: bool | None = None) -> list[_EditedTree]:
    """Return both trees as they are drawn, with large unchanged subtrees folded; see `edit_svg`."""
    trees = script.source, script.target
    if folded is None:
        folded = any(len(tree.words()) > LEAVES or tree.height() > LEVELS for tree in trees)
    unchanged = [subtree for subtree in script.unchanged() if subtree[2] > _FOLDED] if folded else []
    sides = []
    for number, tree in enumerate(trees):
        own = [o for o in script if (o.source, o.target)[number] is not None]
        copy, operations = _folded(tree, own, {subtree[number] for subtree in unchanged})
        labels = [
            ""
            if o is None or o.kind != "rename"
            else f"was {shown(str(o.source_label))}"
            if number
            else f"\u2192 {shown(str(o.target_label))}"
            for o in operations
        ]
        sides.append(_EditedTree(copy, operations, labels))
    return sides


def _folded(
    tree: Tree, operations: list[EditOperation], roots: Collection[int]
) -> tuple[Tree, list[EditOperation | None]]:
    """Return a copy in which every node is an object of its own. The children of the given nodes become one leaf."""
    index = TreeIndex(tree)
    drawn: list[EditOperation | None] = []
    numbers: list[int] = []
    number = 0
    while number < len(index.nodes):
        numbers.append(number)
        drawn += [operations[number], None] if number in roots else [operations[number]]
        number = index.after[number] if number in roots else number + 1
    below: dict[int, list[Tree]] = {-1: []}
    for number in reversed(numbers):  # children come after their parents
        children = [Tree(MORE)] if number in roots else below.pop(number, [])[::-1]
        copy = Tree._trusted(index.label(number), tuple(children))
        below.setdefault(index.parent[number], []).append(copy)
    return below[-1][0], drawn
