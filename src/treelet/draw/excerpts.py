"""Excerpts of structures that are too large to be shown completely."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from treelet.structures import Dependencies, Tree
from treelet.structures.dependency import Link

LEAVES, LEVELS = 30, 20  # limits of a tree that is shown completely
WORDS = 30  # limit of a sequence or a parse
COUNTED = 100_000  # counting stops here, because a tree with shared parts may have exponentially many nodes
LETTERS = 1_000  # characters of a text
MORE = "…"


class Excerpt(NamedTuple):
    """A tree of limited size, and a note on the omitted nodes. The note is empty if the tree is complete."""

    tree: Tree
    note: str


@dataclass
class _ExcerptNode:
    """A node of the tree with the children that are kept. `cut` is true if others were left out."""

    tree: Tree
    kept: list[_ExcerptNode] = field(default_factory=list)
    cut: bool = False


def excerpt(tree: Tree, leaves: int = LEAVES, levels: int = LEVELS) -> Excerpt:
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
        return Excerpt(tree, "")
    copies: dict[int, Tree] = {}
    for node in reversed(nodes):  # children come after their parents
        children = tuple(copies[id(kid)] for kid in node.kept)
        copy = Tree._trusted(node.tree.label, children + (Tree(MORE),) * node.cut)
        copies[id(node)] = copy if node.tree.children else node.tree  # leaves stay words or open categories
    return Excerpt(copies[id(nodes[0])], f"cut: {len(nodes):,} of {nodes_text(tree)}")


def shortened(text: str, letters: int = LETTERS) -> str:
    """Return a text, shortened if it is long.

    >>> shortened("telescope", 5)
    'tele…'
    """
    return text if len(text) <= letters else text[: letters - 1] + MORE


def nodes_text(tree: Tree) -> str:
    """Return the number of nodes of a tree, including words, as text. Counting stops at a limit."""
    count = sum(1 for _ in islice(tree.nodes(), COUNTED + 1))
    return f"{count:,} node{'s' * (count != 1)}" if count <= COUNTED else f"more than {COUNTED:,} nodes"


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
