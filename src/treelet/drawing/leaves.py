"""Words and open categories: how drawings distinguish the leaves of a fragment.

A leaf of a fragment is a word, or an open category: a node that the fragment does not expand. Open categories are the leaves
of the class `treelet.structures.tree.OpenNode`, which documents the exact rule. All drawings follow one convention:

- A word is plain text without a box.
- An open category has a box with a dashed outline, and an expanded category a box with a solid outline.
- In text on one line, words are in italics, and categories are upright.

The convention does not depend on colors, so it holds on light and dark pages and in print.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from itertools import islice
from typing import NamedTuple

from treelet.structures import Dependencies, Tree
from treelet.structures.dependency import Link
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


def first_words(parse: Dependencies, words: int = WORDS) -> Dependencies:
    """Return the beginning of a parse. Links that lead further end at a last word ``…``."""
    if len(parse) <= words:
        return parse
    texts, tags = [*parse.words[:words], MORE], [*parse.tags[:words], "_"]
    if parse.heads is not None and parse.relations is not None:
        heads = [min(head, words + 1) for head in parse.heads[:words]]
        return Dependencies.from_heads(texts, tags, [*heads, 0], [*parse.relations[:words], MORE])
    links = {Link(left, min(right, words), kind) for left, right, kind in parse.links if left < words}
    return Dependencies(texts, tags, sorted(links))


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


def text_parts(tree: Tree) -> list[str]:
    """Return the text of a tree as parts: every second part is a word, the others are categories and brackets.

    >>> text_parts(Tree("NP", [Tree("D", ["the"]), OpenNode("N")]))
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
    left = sum(map(len, text_parts(tree))) if most is None else most
    html: list[str] = []
    for number, part in enumerate(text_parts(tree)):
        shown = escape(part if len(part) <= left else f"{part[: max(0, left - 1)]}…")
        html.append(f"<i>{shown}</i>" if number % 2 else shown)
        left -= len(part)
        if left <= 0:
            break
    cut = left < 0 or (left == 0 and number < len(text_parts(tree)) - 1)
    return "".join(html) + ("…" if cut and "…" not in html[-1] else "")
