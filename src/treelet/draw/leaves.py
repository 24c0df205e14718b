"""Words and open categories: how drawings distinguish the leaves of a fragment.

A leaf of a fragment is a word, or an open category: a node that the fragment does not expand. Open categories are the leaves
of the class `treelet.structures.open_node.OpenNode`, which documents the exact rule. All drawings follow one convention:

- A word is plain text without a box.
- An open category has a box with a dashed outline, and an expanded category a box with a solid outline.
- In text on one line, words are in italics, and categories are upright.

The convention does not depend on colors, so it holds on light and dark pages and in print.
"""

from __future__ import annotations

from html import escape

from treelet.structures import Tree
from treelet.structures.open_node import OpenNode

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
