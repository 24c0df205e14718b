"""A tree: an immutable label over ordered children."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

from treelet.errors import TreeError, TreeletError
from treelet.formats.base import Columns
from treelet.formats.brackets import MOST_NODES, Reader, label_problem
from treelet.shown import Drawn

DRAWN = 500  # levels: each line of a drawing is as long as its node is deep


def check_label(label: object) -> str:
    """A label is a non-empty string without white space or brackets, so that trees can be written and read back."""
    if problem := label_problem(label):
        raise TreeError(f"a label is {problem}; write brackets as -LRB- and -RRB- and join words by '_'")
    return cast(str, label)


class Tree(Drawn):
    """An ordered labeled tree. A node without children is a word.

    Immutable and hashable; equal trees are equal whatever they were made from. A tree is no list: its children
    are in `children`, and iterating over it gives them.

    Parameters
    ----------
    label : str
        Non-empty, without white space or brackets.
    children : iterable of Tree or str
        A string stands for a word.

    Examples
    --------
    >>> from treelet import Tree
    >>> tree = Tree("NP", [Tree("D", ["the"]), Tree("N", ["apple"])])
    >>> tree == Tree.parse("(NP (D the) (N apple))")
    True
    >>> tree.words()
    ['the', 'apple']
    """

    __slots__ = ("__weakref__", "_hash", "children", "label")

    label: str
    children: tuple[Tree, ...]
    _hash: int

    def __init__(self, label: str, children: Iterable[Tree | str] = ()) -> None:
        if isinstance(children, str):
            raise TreeError(f"children must be a list; for one word write Tree({label!r}, [{children!r}])")
        kids = []
        for child in children:
            if isinstance(child, Tree):
                kids.append(child)
            elif isinstance(child, str):
                kids.append(Tree(child))
            else:
                raise TreeError(f"a child must be a Tree or a string, got {type(child).__name__}: {child!r}")
        if not kids and isinstance(label, str) and label.lstrip().startswith("("):
            raise TreeError(f"{label[:40]!r} is no label: write Tree.parse(...) to read a tree in brackets")
        self._set(check_label(label), tuple(kids))

    def _set(self, label: str, children: tuple[Tree, ...]) -> None:
        object.__setattr__(self, "label", label)
        object.__setattr__(self, "children", children)
        object.__setattr__(self, "_hash", hash((label, *(child._hash for child in children))))

    @classmethod
    def _trusted(cls, label: str, children: tuple[Tree, ...]) -> Tree:
        tree = cls.__new__(cls)
        tree._set(label, children)
        return tree

    @classmethod
    def parse(cls, text: str) -> Tree:
        """The tree that a bracketed string spells.

        >>> Tree.parse("(S (NP (N John)) (VP (V sleeps)))").label
        'S'
        """
        if not isinstance(text, str):
            raise TreeError(f"Tree.parse takes a string, got {type(text).__name__}")
        reader = Reader("<text>")
        reader.feed_one(text.encode("utf-8", "surrogatepass"))
        return trees_of(reader.result())[0]  # type: ignore[return-value]  # a tree that was read is not None

    def to_nltk(self) -> Any:
        """The tree as an ``nltk.Tree``, whose words are strings; a Treebank takes it back as it was.

        >>> Tree.parse("(NP (D the) (N apple))").to_nltk()
        Tree('NP', [Tree('D', ['the']), Tree('N', ['apple'])])
        """
        try:
            from nltk.tree import Tree as NltkTree
        except ImportError:
            raise TreeletError("to_nltk needs the package nltk: pip install 'treelet[nlp]'") from None
        root = NltkTree(self.label, [])
        open_nodes = [(root, self.children)]
        while open_nodes:
            node, children = open_nodes.pop()
            for child in children:
                node.append(NltkTree(child.label, []) if child.children else child.label)
            open_nodes += [
                (nltk_child, child.children) for nltk_child, child in zip(node, children, strict=True) if child.children
            ]
        return root

    # --- what it holds ------------------------------------------------------------------------------------------

    @property
    def is_word(self) -> bool:
        """True if there are no children."""
        return not self.children

    @property
    def is_preterminal(self) -> bool:
        """True if there are children and all of them are words."""
        return bool(self.children) and all(not child.children for child in self.children)

    def nodes(self) -> Iterator[Tree]:
        """All nodes, this one first, parents before children, left to right."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))

    def _check_size(self) -> None:
        """TreeError if shared parts make the tree too large to be gone through node by node."""
        sizes: dict[int, int] = {}
        stack = [self]
        while stack:
            node = stack[-1]
            waiting = [child for child in node.children if id(child) not in sizes]
            if waiting:
                stack.extend(waiting)
                continue
            stack.pop()
            sizes[id(node)] = min(1 + sum(sizes[id(child)] for child in node.children), MOST_NODES + 1)
        if sizes[id(self)] > MOST_NODES:
            raise TreeError(
                f"the tree has more than {MOST_NODES:,} nodes, since its parts are shared, and cannot be written or listed: "
                "kernels take it as it is"
            )

    def words(self) -> list[str]:
        """The words, left to right."""
        self._check_size()
        return [node.label for node in self.nodes() if not node.children]

    leaves = words

    def productions(self) -> list[tuple[str, tuple[str, ...]]]:
        """The label of each node that has children, with theirs.

        >>> Tree.parse("(NP (D the) (N apple))").productions()
        [('NP', ('D', 'N')), ('D', ('the',)), ('N', ('apple',))]
        """
        self._check_size()
        return [(node.label, tuple(child.label for child in node.children)) for node in self.nodes() if node.children]

    def height(self) -> int:
        """Productions on the longest path from here to a word: 0 for a word, 1 for a pre-terminal."""
        level, height = [self], -1
        while level:
            height += 1
            level = list({id(child): child for node in level for child in node.children}.values())
        return height

    # No length and no indexing: NumPy would take a tree for a sequence, and an array of trees for one of words.
    def __iter__(self) -> Iterator[Tree]:
        return iter(self.children)

    # --- value semantics ----------------------------------------------------------------------------------------

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        stack, seen = [(self, other)], set()
        while stack:
            a, b = stack.pop()
            if a is b or (id(a), id(b)) in seen:
                continue
            if a._hash != b._hash or a.label != b.label or len(a.children) != len(b.children):
                return False
            seen.add((id(a), id(b)))
            stack.extend(zip(a.children, b.children, strict=True))
        return True

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Tree cannot be changed; build a new one (tried to set {name!r})")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("a Tree cannot be changed; build a new one")

    def __reduce__(self) -> tuple[Any, ...]:
        return Tree.parse, (str(self),)

    def __copy__(self) -> Tree:
        return self

    def __deepcopy__(self, memo: object) -> Tree:
        return self

    # --- how it looks -------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        if not self.children:
            return f"({self.label})"
        self._check_size()
        parts: list[str] = []
        stack: list[Tree | None] = [self]
        while stack:
            node = stack.pop()
            if node is None:
                parts.append(")")
            elif node.children:
                parts.append(f" ({node.label}")
                stack.append(None)
                stack.extend(reversed(node.children))
            else:
                parts.append(" " + node.label)
        return "".join(parts).lstrip()

    def __repr__(self) -> str:
        return f"Tree.parse({str(self)!r})"

    _repr_pretty_ = Drawn._repr_pretty_  # IPython takes it only from where __repr__ is

    def pretty(self) -> str:
        """The tree drawn with lines, for a terminal.

        >>> print(Tree.parse("(S (NP (N John)) (VP (V sleeps)))").pretty())
        S
        ├── NP
        │   └── N John
        └── VP
            └── V sleeps
        """
        if self.height() > DRAWN:
            raise TreeError(
                f"the tree is {self.height():,} levels deep, and can be drawn up to {DRAWN:,}: print str(tree)"
            )
        self._check_size()
        lines: list[str] = []
        stack: list[tuple[Tree, str, str]] = [(self, "", "")]
        while stack:
            node, before, below = stack.pop()
            if node.is_preterminal:
                lines.append(before + " ".join([node.label, *(child.label for child in node.children)]))
                continue
            lines.append(before + node.label)
            for k, child in reversed(list(enumerate(node.children))):
                last = k == len(node.children) - 1
                stack.append((child, below + ("└── " if last else "├── "), below + ("    " if last else "│   ")))
        return "\n".join(lines)


def trees_of(columns: Columns) -> list[Tree | None]:
    """The trees of some columns; equal subtrees become one object."""
    store, roots = columns
    labels, label = store.labels, store.label.tolist()
    start, child = store.child_start.tolist(), store.child.tolist()
    built: list[Tree] = []
    for node, name in enumerate(label):
        built.append(Tree._trusted(labels[name], tuple(built[kid] for kid in child[start[node] : start[node + 1]])))
    return [built[root] if root >= 0 else None for root in roots.tolist()]
