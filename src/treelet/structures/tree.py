"""A tree: an immutable label over ordered children."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from treelet.checks import article
from treelet.errors import FormatError, InputTypeError, TreeError, TreeletError
from treelet.formats.base import Columns
from treelet.formats.brackets import MOST_NODES, Reader, forbidden_characters, label_problem
from treelet.printable import shortened
from treelet.shown import Drawn
from treelet.structures.bank import inline_error

# --- a tree: an immutable label over ordered children -----------------------------------------------------------------

_DRAWN = 500  # maximum number of levels in a drawing; the width of a line grows with the depth


def _with_type(value: object) -> str:
    """Return a value with its type, for a message.

    >>> _with_type(1), _with_type(None)
    ('1 (an int)', 'None')
    """
    return "None" if value is None else f"{value!r:.60} ({article(type(value).__name__)})"


def check_label(label: object) -> str:
    """Return a label, or raise TreeError if a tree with this label could not be written and read back."""
    if not isinstance(label, str):
        raise TreeError(f"A node label must be a string. Got {_with_type(label)} instead.")
    if not label:
        raise TreeError("A node label must not be empty.")
    stripped = label.strip()
    if stripped.startswith("(") and stripped.endswith(")") and " " in stripped:
        raise TreeError(
            f"{shortened(label)} is not a label. Use Tree.parse to read a tree in brackets, or treelet.formats.escape to "
            "make a label of any text."
        )
    if problem := label_problem(label):
        reason = "is not valid Unicode text" if "Unicode" in problem else f"contains {forbidden_characters(label)}"
        from treelet.formats.adapters import escape

        raise TreeError(
            f"The node label {shortened(label)} {reason}. Write it as {shortened(escape(label))}, or use "
            "treelet.formats.escape."
        )
    return label


class Tree(Drawn):
    """An ordered tree with labels. A node without children is a word.

    Trees are immutable and hashable. Two trees are equal if their labels and children are equal.
    A tree is not a list: iterate over the tree, or use `children`, to get the children.

    Parameters
    ----------
    label : str
        Label of the root. Must not be empty or contain white space or brackets;
        `treelet.formats.escape` makes a label of any text.
    children : iterable of Tree or str, default ()
        Children from left to right. A string stands for a word.

    Attributes
    ----------
    label : str
        Label of the root.
    children : tuple of Tree
        Children from left to right.

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
            raise TreeError(
                f"The children of a tree must be a list, not a string. For one word, write "
                f"Tree({label!r:.60}, [{shortened(children)}])."
            )
        try:
            items = iter(children)
        except TypeError:
            kind = article(type(children).__name__)
            raise InputTypeError(f"The children of a tree must be a list. Got {kind} instead.") from None
        kids = []
        for number, child in enumerate(items):
            if isinstance(child, Tree):
                kids.append(child)
            elif isinstance(child, str):
                kids.append(Tree(child))
            else:
                raise TreeError(
                    f"Child {number} of the node {label!r:.60} must be a Tree or a string. "
                    f"Got {_with_type(child)} instead."
                )
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
        """Read a tree from a bracketed string.

        Parameters
        ----------
        text : str
            One tree in Penn Treebank brackets. To read a file, use `treelet.read_trees`.

        Returns
        -------
        Tree

        Raises
        ------
        FormatError
            If the text is not exactly one well-formed tree. The message contains the column.

        Examples
        --------
        >>> from treelet import Tree
        >>> Tree.parse("(S (NP (N John)) (VP (V sleeps)))").label
        'S'
        """
        if not isinstance(text, str):
            raise TreeError(f"Tree.parse needs a bracketed string. Got {article(type(text).__name__)} instead.")
        reader = Reader("<text>")
        try:
            reader.feed_one(text.encode("utf-8", "surrogatepass"))
        except FormatError as error:
            raise inline_error(error, text) from None
        return trees_of(reader.result())[0]  # type: ignore[return-value]  # a tree that was read is not None

    def to_nltk(self) -> Any:
        """Convert to an ``nltk.Tree`` whose words are strings. A `Treebank` of the result contains an equal tree.

        Examples
        --------
        >>> from treelet import Tree
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

    # --- content ------------------------------------------------------------------------------------------------

    @property
    def is_word(self) -> bool:
        """True if the node has no children."""
        return not self.children

    @property
    def is_preterminal(self) -> bool:
        """True if the node has children and all of them are words."""
        return bool(self.children) and all(not child.children for child in self.children)

    def nodes(self) -> Iterator[Tree]:
        """Iterate over all nodes in preorder: this node first, parents before children, left to right."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))

    def _check_size(self) -> None:
        """Raise TreeError if shared subtrees make the tree too large to visit node by node."""
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
                f"The tree has more than {MOST_NODES:,} nodes, because its subtrees are shared, and cannot be written "
                "or listed. Kernels accept the tree."
            )

    def words(self) -> list[str]:
        """Return the words, from left to right."""
        self._check_size()
        return [node.label for node in self.nodes() if not node.children]

    leaves = words

    def productions(self) -> list[tuple[str, tuple[str, ...]]]:
        """Return the productions in preorder: the label of each node with children, and the labels of these children.

        Examples
        --------
        >>> from treelet import Tree
        >>> Tree.parse("(NP (D the) (N apple))").productions()
        [('NP', ('D', 'N')), ('D', ('the',)), ('N', ('apple',))]
        """
        self._check_size()
        return [(node.label, tuple(child.label for child in node.children)) for node in self.nodes() if node.children]

    def height(self) -> int:
        """Return the number of productions on the longest path down to a word: 0 for a word, 1 for a pre-terminal."""
        level, height = [self], -1
        while level:
            height += 1
            level = list({id(child): child for node in level for child in node.children}.values())
        return height

    # A tree has no __len__ and no __getitem__: NumPy would treat it as a sequence, and turn a list of trees into an
    # array of words.
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
        raise AttributeError(f"{name!r} cannot be set, because a Tree is immutable. Build a new tree instead.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{name!r} cannot be deleted, because a Tree is immutable. Build a new tree instead.")

    def __reduce__(self) -> tuple[Any, ...]:
        return Tree.parse, (str(self),)

    def __copy__(self) -> Tree:
        return self

    def __deepcopy__(self, memo: object) -> Tree:
        return self

    # --- as text ------------------------------------------------------------------------------------------------

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

    _repr_pretty_ = Drawn._repr_pretty_  # IPython uses it only from the class that defines __repr__

    def pretty(self) -> str:
        """Draw the tree with lines, for a terminal.

        Raises
        ------
        TreeError
            If the tree has more than 500 levels.

        Examples
        --------
        >>> from treelet import Tree
        >>> print(Tree.parse("(S (NP (N John)) (VP (V sleeps)))").pretty())
        S
        ├── NP
        │   └── N John
        └── VP
            └── V sleeps
        """
        if self.height() > _DRAWN:
            raise TreeError(
                f"The tree is {self.height():,} levels deep, but only trees of up to {_DRAWN:,} levels can be drawn. "
                "Print str(tree) instead."
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
    """Build the trees of some columns. Equal subtrees become the same object."""
    store, roots = columns
    labels, label = store.labels, store.label.tolist()
    start, child = store.child_start.tolist(), store.child.tolist()
    built: list[Tree] = []
    for node, name in enumerate(label):
        built.append(Tree._trusted(labels[name], tuple(built[kid] for kid in child[start[node] : start[node + 1]])))
    return [built[root] if root >= 0 else None for root in roots.tolist()]


# --- leaves of fragments that are categories, not words ---------------------------------------------------------------


class OpenNode(Tree):
    """A leaf of a fragment that stands for a category which the fragment does not expand.

    A fragment such as ``(NP NNP)`` is a `Tree`, and its text does not show whether ``NNP`` is a word. The search for fragments
    therefore builds a leaf as an `OpenNode` if the node in the data has children, and as a plain `Tree` if the node is a word.
    Kernels compare labels only, so a fragment may match a word in one tree and a category in another. In this case, the
    occurrence at which the search found the fragment decides.

    The distinction is for drawings only. An `OpenNode` equals the word with the same label, and a fragment that is written as text
    and read again has words in all its leaves.

    Examples
    --------
    >>> from treelet import SubsetTree, Tree, shared_fragments
    >>> trees = "(NP (NNP Rome))", "(NP (NNP Oslo))"
    >>> fragment = shared_fragments(*trees, SubsetTree())[0].tree
    >>> fragment, fragment.children[0].is_word, Tree.parse("(NP NNP)").children[0].is_word
    (Tree.parse('(NP NNP)'), False, True)
    """

    __slots__ = ()

    def __init__(self, label: str) -> None:
        super().__init__(label)

    @property
    def is_word(self) -> bool:
        """False: the node is a category."""
        return False

    def __reduce__(self) -> tuple[Any, ...]:
        return OpenNode, (self.label,)
