"""Parses compared with the gold tree: wrong constituents, and correct ones that another parse lacks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from treelet.checks import article
from treelet.drawing.drawing import Drawing
from treelet.drawing.svg import Shade, ShadedPicture
from treelet.errors import InputTypeError, TreeError
from treelet.structures import Tree

WRONG, NEW = "*", "+"
_COLORS = {WRONG: "\x1b[1;31m", NEW: "\x1b[1;32m"}
_RESET = "\x1b[0m"
_SHADES = {WRONG: ("#fbdcd6", "#c0341d"), NEW: ("#d8f0dc", "#1d7a3a"), "": ("#f4f5f7", "#7a838c")}
_DRAWN = 500  # levels, because the length of a line grows with the depth of its node

Span = tuple[str, int, int]  # label, index of the first word, index after the last word


@dataclass(frozen=True)
class _ConstituentSpan:
    """A node of a tree and the span of its words."""

    node: Tree
    start: int
    end: int

    @property
    def span(self) -> Span:
        return self.node.label, self.start, self.end

    @property
    def counts(self) -> bool:
        """True for a constituent: neither a word nor a pre-terminal."""
        return bool(self.node.children) and not self.node.is_preterminal


def marked(tree: object, gold: object, other: object = None, *, new: bool = True, colour: bool = False) -> str:
    """Draw a parse for a terminal, with its wrong constituents marked.

    A constituent is a label over a span of words, as in the parse score of Collins & Duffy (2001). ``*`` marks a constituent
    that is not in the gold tree. ``+`` marks a correct constituent that `other` lacks. Correct subtrees that `other` contains
    too are drawn on one line.

    Parameters
    ----------
    tree : Tree or str
        The parse.
    gold : Tree or str
        The gold tree, over the same words.
    other : Tree or str, optional
        Another parse to compare with, such as an earlier one. Default: the gold tree.
    new : bool, default True
        Mark correct constituents that `other` lacks with ``+``.
    colour : bool, default False
        Also show wrong constituents in red and new ones in green, using ANSI codes.

    Returns
    -------
    str
        The drawing, one line per node or subtree.

    Examples
    --------
    >>> from treelet.report import marked
    >>> gold = "(VP (V book) (NP (D a) (N seat)) (PP (P by) (N phone)))"
    >>> parse = "(VP (V book) (NP (NP (D a) (N seat)) (PP (P by) (N phone))))"
    >>> print(marked(parse, gold))
    VP
    ├── V book
    └── * NP
        ├── NP a seat
        └── PP by phone
    >>> print(marked(gold, gold, other=parse))
    VP
    ├── V book
    ├── NP a seat
    └── PP by phone
    """
    parse, marks, same = _compared(tree, gold, other, new)
    lines: list[str] = []
    stack: list[tuple[_ConstituentSpan, str, str]] = [(_root(parse), "", "")]
    marks_below = _marks_below(parse, marks)
    number = -1
    while stack:
        constituent, ahead, below = stack.pop()
        node = constituent.node
        number += 1
        label = node.label
        if mark := marks[number]:
            label = f"{mark} {label}"
            label = f"{_COLORS[mark]}{label}{_RESET}" if colour else label
        if not node.children:
            lines.append(ahead + label)
        elif node.is_preterminal or ((node, constituent.start) in same and not marks_below[number] and ahead):
            lines.append(ahead + " ".join([label, *node.words()]))
            number += sum(1 for _ in node.nodes()) - 1
        else:
            lines.append(ahead + label)
            kids = list(_kids(constituent))
            for k, kid in reversed(list(enumerate(kids))):
                last = k == len(kids) - 1
                stack.append((kid, below + ("└── " if last else "├── "), below + ("    " if last else "│   ")))
    return "\n".join(lines)


def marked_svg(tree: object, gold: object, other: object = None, *, new: bool = True) -> Drawing:
    """Draw a parse like `tree_svg`, with wrong constituents in red and new correct ones in green.

    Parameters
    ----------
    tree, gold, other, new
        As in `marked`.

    Returns
    -------
    Drawing
        An SVG document as a string. Its `save` method also writes PNG and PDF.

    Examples
    --------
    >>> from treelet.report import marked_svg
    >>> marked_svg("(S (A (B x)) (C y))", gold="(S (B x) (C y))").count("#c0341d")
    1
    """
    parse, marks, _ = _compared(tree, gold, other, new)
    shades = [
        Shade(*_SHADES[mark], wide=2.2) if constituent.node.children else None
        for constituent, mark in zip(_constituents(parse), marks, strict=True)
    ]
    return Drawing(ShadedPicture(parse, shades).svg())


# --- comparison ---------------------------------------------------------------------------------------------------


def wrong_constituents(tree: object, gold: object) -> list[Span]:
    """Return the constituents of a parse that are not in the gold tree, as (label, first word, word after the last).

    >>> wrong_constituents("(S (A (B x)) (C y))", gold="(S (B x) (C y))")
    [('A', 0, 1)]
    """
    parse, marks, _ = _compared(tree, gold, None, False)
    return [constituent.span for constituent, mark in zip(_constituents(parse), marks, strict=True) if mark == WRONG]


def _compared(tree: object, gold: object, beside: object, new: bool) -> tuple[Tree, list[str], set[tuple[Tree, int]]]:
    """Return the parse, a mark per node in pre-order, and the subtrees of the other tree with their first words."""
    parse, right = _tree(tree, "tree"), _tree(gold, "gold")
    other = right if beside is None else _tree(beside, "other")
    for name, parsed in (("tree", parse), ("other", other)):
        if parsed.words() != right.words():
            raise TreeError(
                f"'{name}' and 'gold' must have the same words. Got {' '.join(parsed.words())[:60]!r} and "
                f"{' '.join(right.words())[:60]!r} instead."
            )
    wanted = Counter(constituent.span for constituent in _constituents(right) if constituent.counts)
    had = Counter(constituent.span for constituent in _constituents(other) if constituent.counts)
    marks = []
    for constituent in _constituents(parse):
        mark = ""
        if constituent.counts:
            if wanted[constituent.span] <= 0:
                mark = WRONG
            elif new and had[constituent.span] <= 0:
                mark = NEW
            wanted[constituent.span] -= 1
            had[constituent.span] -= 1
        marks.append(mark)
    return parse, marks, {(constituent.node, constituent.start) for constituent in _constituents(other)}


def _tree(value: object, name: str) -> Tree:
    tree = Tree.parse(value) if isinstance(value, str) else value
    if not isinstance(tree, Tree):
        raise InputTypeError(
            f"The {name!r} parameter must be a Tree or a bracketed string. Got {article(type(value).__name__)} instead."
        )
    if tree.height() > _DRAWN:
        raise TreeError(
            f"The tree is {tree.height():,} levels deep, but at most {_DRAWN:,} levels can be drawn. Print str(tree) instead."
        )
    return tree


def _root(tree: Tree) -> _ConstituentSpan:
    return _ConstituentSpan(tree, 0, len(tree.words()))


def _kids(parent: _ConstituentSpan) -> Iterator[_ConstituentSpan]:
    start = parent.start
    for kid in parent.node.children:
        yield _ConstituentSpan(kid, start, start := start + len(kid.words()))


def _constituents(tree: Tree) -> Iterator[_ConstituentSpan]:
    """Yield all nodes with their spans in pre-order."""
    stack = [_root(tree)]
    while stack:
        constituent = stack.pop()
        yield constituent
        stack.extend(reversed(list(_kids(constituent))))


def _marks_below(tree: Tree, marks: list[str]) -> list[bool]:
    """Return for each node in pre-order whether it or a node below it has a mark."""
    sizes = [sum(1 for _ in constituent.node.nodes()) for constituent in _constituents(tree)]
    return [any(marks[number : number + size]) for number, size in enumerate(sizes)]
