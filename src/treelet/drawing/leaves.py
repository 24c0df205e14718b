"""Leaves of drawn trees: words, open categories of a fragment, and words below a triangle.

A leaf of a fragment is a word, or an open category: a node that the fragment does not expand. Open categories are the leaves
of the class `treelet.structures.tree.OpenNode`, which documents the exact rule. All drawings follow one convention:

- A word is plain text without a box.
- An open category has a box with a dashed outline, and an expanded category a box with a solid outline.
- In text on one line, words are in italics, and categories are upright.

The convention does not depend on colors, so it holds on light and dark pages and in print.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Set
from dataclasses import dataclass, field
from html import escape
from itertools import islice
from typing import Any, NamedTuple

from treelet.checks import article, is_integer, plural, suggestion, wrong
from treelet.errors import ParameterError, TreeletWarning, user_level
from treelet.structures import Tree
from treelet.structures.tree import OpenNode

LEAVES, LEVELS = 30, 20  # limits of a tree that is shown completely
# --- excerpts of structures that are too large to be shown completely -------------------------------------------------

WORDS = 30  # limit of a sequence or a parse
_COUNTED = 100_000  # counting stops here, because a tree with shared parts may have exponentially many nodes
LETTERS = 1_000  # characters of a text
MORE = "…"


class _Excerpt(NamedTuple):
    """A tree of limited size, and a note on the omitted nodes. The note is empty if the tree is complete."""

    tree: Tree
    note: str


@dataclass
class _ExcerptNode:
    """A node of the tree with the children that are kept. `cut` is true if others were left out."""

    tree: Tree
    kept: list[_ExcerptNode] = field(default_factory=list)
    cut: bool = False


def excerpt(tree: Tree, leaves: int = LEAVES, levels: int = LEVELS) -> _Excerpt:
    """Return the upper part of a tree, and a note. ``…`` marks where nodes are left out.

    >>> from treelet import Tree
    >>> small, note = excerpt(Tree.parse("(S (A a b c d) (B (C (D d))))"), leaves=4, levels=3)
    >>> print(small, "|", note)
    (S (A a b …) (B (C …))) | cut: 6 of 10 nodes
    """
    nodes = [_ExcerptNode(tree)]
    level, room = [nodes[0]], leaves - 1  # a node with n children adds n - 1 leaves
    for depth in range(levels):
        below: list[_ExcerptNode] = []
        for node in level:
            kids = node.tree.children
            enough = kids if len(kids) - 1 <= room else kids[:room]
            node.kept = [_ExcerptNode(kid) for kid in enough] if depth < levels - 1 else []
            node.cut = len(node.kept) < len(kids)
            room -= max(0, len(node.kept) + node.cut - 1)
            below += node.kept
        nodes += below
        level = below
    if not any(node.cut for node in nodes):
        return _Excerpt(tree, "")
    copies: dict[int, Tree] = {}
    for node in reversed(nodes):  # children come after their parents
        children = tuple(copies[id(kid)] for kid in node.kept)
        copy = Tree._trusted(node.tree.label, children + (Tree(MORE),) * node.cut)
        copies[id(node)] = copy if node.tree.children else node.tree  # leaves stay words or open categories
    return _Excerpt(copies[id(nodes[0])], f"cut: {len(nodes):,} of {nodes_text(tree)}")


def shortened(text: str, letters: int = LETTERS) -> str:
    """Return a text, shortened if it is long.

    >>> shortened("telescope", 5)
    'tele…'
    """
    return text if len(text) <= letters else text[: letters - 1] + MORE


def nodes_text(tree: Tree) -> str:
    """Return the number of nodes of a tree, including words, as text. Counting stops at a limit."""
    count = sum(1 for _ in islice(tree.nodes(), _COUNTED + 1))
    return f"{count:,} node{'s' * (count != 1)}" if count <= _COUNTED else f"more than {_COUNTED:,} nodes"


# --- words and open categories: how drawings distinguish the leaves of a fragment -------------------------------------

DASHES = "4 3"
"""The outline of an open category in SVG: lengths of dashes and gaps. The style sheet tree-view.css has the same."""
NOTE = "A dashed box is a category that the fragment does not expand. Words have no box."


def is_open(node: Tree) -> bool:
    """Return whether a node is an open category."""
    return isinstance(node, OpenNode)


def open_nodes(tree: Tree) -> list[int]:
    """Return the numbers, in pre-order, of the open categories of a tree.

    >>> open_nodes(Tree("NP", [Tree("D", ["the"]), OpenNode("N")]))
    [3]
    """
    return [number for number, node in enumerate(tree.nodes()) if is_open(node)]


def _text_parts(tree: Tree) -> list[str]:
    """Return the text of a tree as parts: every second part is a word, the others are categories and brackets.

    >>> _text_parts(Tree("NP", [Tree("D", ["the"]), OpenNode("N")]))
    ['(NP (D ', 'the', ') N)']
    """
    if not tree.children:
        return [f"({tree.label})"] if is_open(tree) else ["(", tree.label, ")"]
    parts = [""]
    stack: list[Tree | None] = [tree]
    while stack:
        node = stack.pop()
        if node is None:
            parts[-1] += ")"
            continue
        parts[-1] += " " if len(parts) > 1 or parts[-1] else ""
        if node.children:
            parts[-1] += f"({node.label}"
            stack.append(None)
            stack.extend(reversed(node.children))
        elif is_open(node):
            parts[-1] += node.label
        else:
            parts += [node.label, ""]
    return parts


def text_html(tree: Tree, most: int | None = None) -> str:
    """Return the text of a tree as HTML, with words in italics and at most `most` characters.

    >>> text_html(Tree("NP", [Tree("D", ["the"]), OpenNode("N")]))
    '(NP (D <i>the</i>) N)'
    """
    left = sum(map(len, _text_parts(tree))) if most is None else most
    html: list[str] = []
    for number, part in enumerate(_text_parts(tree)):
        shown = escape(part if len(part) <= left else f"{part[: max(0, left - 1)]}…")
        html.append(f"<i>{shown}</i>" if number % 2 else shown)
        left -= len(part)
        if left <= 0:
            break
    cut = left < 0 or (left == 0 and number < len(_text_parts(tree)) - 1)
    return "".join(html) + ("…" if cut and "…" not in html[-1] else "")


def fragment_text(fragment: Any) -> dict[str, Any]:
    """Return the text of a fragment and, for a tree, its parts: every second part is a word."""
    text = str(fragment)
    if not isinstance(fragment, Tree) or len(text) > LETTERS:
        return {"text": shortened(text)}
    return {"text": text, "parts": _text_parts(fragment)}


# --- triangles --------------------------------------------------------------------------------------------------------


class _WordsUnderTriangle(Tree):
    """The words of a collapsed constituent as one leaf. The label may contain spaces."""

    __slots__ = ()


def is_collapsed(node: Tree) -> bool:
    """Return whether a leaf stands for the words of a collapsed constituent."""
    return isinstance(node, _WordsUnderTriangle)


def collapsed(tree: Tree, triangles: Iterable[str | int] | str | int = ()) -> tuple[Tree, Set[str | int]]:
    """Return the tree with each chosen constituent reduced to its label over its words, and the triangles that it has.

    Parameters
    ----------
    tree : Tree
        Any tree.
    triangles : str, int or collection of them, default ()
        Labels of constituents, or numbers of nodes in pre-order. A constituent inside a chosen one is
        collapsed with it. For labels that no constituent has, `TreeletWarning` is issued.

    >>> tree = Tree.parse("(S (NP (D the) (N cat)) (VP (V sat)))")
    >>> collapsed(tree, "NP")[0].children[0]
    Tree.parse('(NP the cat)')
    >>> [child.label for child in collapsed(tree, "NP")[0].children[0].children]
    ['the cat']
    """
    chosen = _occurring_triangles(tree, triangles)
    if not chosen:
        return tree, chosen
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
    return copies[0], chosen


def _occurring_triangles(tree: Tree, triangles: Iterable[str | int] | str | int) -> Set[str | int]:
    """Return the triangles that the tree has. Warn of labels that it does not have; other numbers raise ParameterError."""
    wanted = "labels of constituents or numbers of nodes, such as ['NP', 4]"
    if isinstance(triangles, str) or is_integer(triangles):
        triangles = [triangles]  # type: ignore[list-item]
    try:
        given = list(triangles)  # type: ignore[arg-type]
    except TypeError:
        raise wrong("triangles", wanted, triangles, got=article(type(triangles).__name__)) from None
    for item in given:
        if not isinstance(item, str) and not is_integer(item, 0):
            raise wrong("triangles", wanted, item)
    chosen = {item if isinstance(item, str) else int(item) for item in given}
    if not chosen:
        return chosen
    nodes = list(tree.nodes())
    labels = {node.label for node in nodes if node.children}
    for item in sorted(chosen, key=str):
        if isinstance(item, str):
            if item not in labels:
                fact = "Only words have" if any(node.label == item for node in nodes) else "No node has"
                hint = suggestion(item, sorted(labels))
                warnings.warn(
                    f"{fact} the label {item!r}, so no triangle was drawn for it.{hint}",
                    TreeletWarning,
                    stacklevel=user_level(),
                )
        elif item >= len(nodes) or not nodes[item].children:
            problem = "is a word" if item < len(nodes) else f"does not exist: the tree has {plural(len(nodes), 'node')}"
            raise ParameterError(f"Node {item} cannot be drawn as a triangle, because it {problem}.")
    return {item for item in chosen if isinstance(item, int) or item in labels}
