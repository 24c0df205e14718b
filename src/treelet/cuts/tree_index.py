"""A tree by numbers: where each node begins and ends, what is above it, and which word is its head."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from operator import index as as_int
from typing import NamedTuple

from treelet.cuts.heads import head_child
from treelet.errors import InputTypeError, ParameterError, TreeError
from treelet.structures.spans import Span, as_span
from treelet.structures.tree import Tree, check_label

Group = tuple[int, int, str]  # children i to j - 1 of a node, and the label of the node that is put above them


class SpanNode(NamedTuple):
    """One node of a tree: its number, its label, its words from `start` to `end` - 1, what is above it."""

    number: int
    label: str
    start: int
    end: int
    parent: int
    """The number of the node above, -1 for the root."""
    depth: int
    """0 for the root."""

    @property
    def span(self) -> Span:
        """First word, and first word behind."""
        return self.start, self.end


class TreeIndex:
    """The nodes of a tree, numbered in pre-order, with their spans and parents.

    Words are nodes too; they are counted from 0 where spans are given. Any depth is fine. Finding a node costs a look
    into a table; ancestors and paths cost as many steps as there are nodes on the way.

    Parameters
    ----------
    tree : Tree or str
        A string is read as brackets.

    Attributes
    ----------
    nodes : list of Tree
    start, end : list of int
        Of each node: its first word, and the first word behind it.
    parent : list of int
        Of each node; -1 for the root.
    depth : list of int
        Of each node; 0 for the root.
    after : list of int
        The nodes below node n are those numbered n + 1 to after[n] - 1.
    leaves : list of int
        The nodes that are words, left to right.

    Examples
    --------
    >>> from treelet.cuts import TreeIndex
    >>> index = TreeIndex("(S (NP (N John)) (VP (V saw) (NP (N Mary))))")
    >>> index[index.node_of((1, 3))]
    SpanNode(number=4, label='VP', start=1, end=3, parent=0, depth=1)
    >>> up, down = index.path(index.tag(1), index.node_of((0, 1)))
    >>> [index.label(node) for node in up], [index.label(node) for node in down]
    (['V', 'VP', 'S'], ['NP'])
    """

    __slots__ = ("_lowest", "_topmost", "after", "depth", "end", "leaves", "nodes", "parent", "start")

    def __init__(self, tree: Tree | str) -> None:
        if isinstance(tree, str):
            tree = Tree.parse(tree)
        if not isinstance(tree, Tree):
            raise InputTypeError(f"a tree is needed, got {type(tree).__name__}")
        nodes, parent, start, leaves = list[Tree](), list[int](), list[int](), list[int]()
        stack = [(tree, -1)]
        while stack:
            node, above = stack.pop()
            number = len(nodes)
            nodes.append(node)
            parent.append(above)
            start.append(len(leaves))
            if node.children:
                stack.extend((child, number) for child in reversed(node.children))
            else:
                leaves.append(number)
        depth, after = [0] * len(nodes), list(range(1, len(nodes) + 1))
        end = [begin + 1 for begin in start]
        for number in range(1, len(nodes)):
            depth[number] = depth[parent[number]] + 1
        for number in range(len(nodes) - 1, 0, -1):
            above = parent[number]
            after[above] = max(after[above], after[number])
            end[above] = max(end[above], end[number])
        self.nodes, self.parent, self.start, self.end = nodes, parent, start, end
        self.depth, self.after, self.leaves = depth, after, leaves
        self._topmost: dict[Span, int] = {}
        self._lowest: dict[Span, int] = {}
        for number, node in enumerate(nodes):
            if node.children:
                self._topmost.setdefault((start[number], end[number]), number)
                self._lowest[start[number], end[number]] = number

    # --- nodes --------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.nodes)

    def __getitem__(self, number: int) -> SpanNode:
        """One node with all that is known of it."""
        number = range(len(self.nodes))[number]
        return SpanNode(
            number,
            self.nodes[number].label,
            self.start[number],
            self.end[number],
            self.parent[number],
            self.depth[number],
        )

    def __iter__(self) -> Iterator[SpanNode]:
        return (self[number] for number in range(len(self.nodes)))

    def __repr__(self) -> str:
        return f"<TreeIndex: {len(self.nodes)} nodes over {len(self.leaves)} words>"

    @property
    def tree(self) -> Tree:
        """The whole tree."""
        return self.nodes[0]

    @property
    def words(self) -> list[str]:
        """The words, left to right."""
        return [self.nodes[leaf].label for leaf in self.leaves]

    def label(self, node: int) -> str:
        """Of a node."""
        return self.nodes[node].label

    def children(self, node: int) -> list[int]:
        """The nodes right below a node, left to right."""
        children, child = [], node + 1
        while child < self.after[node]:
            children.append(child)
            child = self.after[child]
        return children

    def holds(self, above: int, node: int) -> bool:
        """True if `node` is `above` or below it."""
        return above <= node < self.after[above]

    def ancestors(self, node: int) -> Iterator[int]:
        """What is above a node, from its parent to the root."""
        while (node := self.parent[node]) >= 0:
            yield node

    # --- by words -----------------------------------------------------------------------------------------------

    def word(self, place: int) -> int:
        """The node of a word, by its place in the sentence."""
        return self.leaves[self.check_word(place)]

    def tag(self, place: int) -> int:
        """The node right above a word."""
        above = self.parent[self.word(place)]
        if above < 0:
            raise TreeError(f"the tree is the single word {self.tree.label!r}: nothing is above it")
        return above

    def tag_label(self, place: int) -> str:
        """The label right above a word if only words are there, else an empty string: the word has no tag."""
        above = self.parent[self.word(place)]
        return self.nodes[above].label if above >= 0 and self.nodes[above].is_preterminal else ""

    def find(self, span: Span, *, lowest: bool = False) -> int | None:
        """The topmost (or the lowest) node that has exactly these words, None if there is none. Words do not count."""
        return (self._lowest if lowest else self._topmost).get(self.check_span(span))

    def node_of(self, span: Span, *, lowest: bool = False) -> int:
        """As `find`, but an error where no node has exactly these words."""
        node = self.find(span, lowest=lowest)
        if node is None:
            raise TreeError(self._no_constituent(self.check_span(span)))
        return node

    def covering(self, span: Span) -> int:
        """The smallest node that holds all these words: a node of the tree, a word only where the tree is one."""
        begin, end = self.check_span(span)
        node = self.leaves[begin]
        if self.parent[node] >= 0:
            node = self.parent[node]
        while self.end[node] < end:
            node = self.parent[node]
        return node

    def check_word(self, place: int, what: str = "word") -> int:
        """The place of a word, or an error if there is no such word."""
        try:
            if isinstance(place, bool):
                raise TypeError
            place = as_int(place)
        except TypeError:
            raise InputTypeError(f"the {what} must be a number, got {place!r}: words are counted from 0") from None
        if not 0 <= place < len(self.leaves):
            raise ParameterError(
                f"the {what} is number {place} of a tree of {len(self.leaves)} words: words are counted from 0"
            )
        return place

    def check_span(self, span: Span) -> Span:
        """Two ints in order, within the sentence, or an error."""
        begin, end = as_span(span)
        if end > len(self.leaves):
            raise ParameterError(f"the span {begin}-{end} ends behind the last of the tree's {len(self.leaves)} words")
        return begin, end

    def _no_constituent(self, span: Span) -> str:
        begin, end = span
        words = [self.nodes[leaf].label for leaf in self.leaves[begin:end]]
        text = " ".join(words) if len(words) <= 8 else " ".join([*words[:4], "...", *words[-3:]])
        around = self[self.covering(span)]
        return (
            f"the words {begin}-{end} ({text!r}) are no constituent of this tree. The smallest one around them is "
            f"{around.label} over {around.start}-{around.end}: use its span (covering_span(tree, {span})), or leave "
            "this one out and count it as not found"
        )

    # --- between nodes ------------------------------------------------------------------------------------------

    def common(self, a: int, b: int) -> int:
        """The lowest node that is above both, or one of the two."""
        while a != b:  # the later node in pre-order is never above the earlier one
            if a > b:
                a = self.parent[a]
            else:
                b = self.parent[b]
        return a

    def path(self, a: int, b: int) -> tuple[list[int], list[int]]:
        """The nodes from `a` up to the lowest common ancestor, and those from below it down to `b`."""
        top, up, down = self.common(a, b), [a], []
        while up[-1] != top:
            up.append(self.parent[up[-1]])
        while b != top:
            down.append(b)
            b = self.parent[b]
        return up, down[::-1]

    # --- heads --------------------------------------------------------------------------------------------------

    def head_child(self, node: int) -> int:
        """The child that is the head, by the rules of Collins (1999), appendix A; a word is its own.

        Where no rule finds one, it is the first child from the side where the rules begin, punctuation left out.
        Function tags of labels do not matter.
        """
        kids = self.children(node)
        return kids[head_child(self.label(node), [self.label(kid) for kid in kids])] if kids else node

    def head(self, node: int) -> int:
        """The place in the sentence of a node's head word."""
        while self.nodes[node].children:
            node = self.head_child(node)
        return self.start[node]

    # --- new trees ----------------------------------------------------------------------------------------------

    def rebuilt(
        self,
        root: int = 0,
        *,
        keep: Iterable[int] | None = None,
        rename: Mapping[int, str] | None = None,
        wrap: Mapping[int, Sequence[Group]] | None = None,
    ) -> Tree:
        """A tree made of some of the nodes.

        Parameters
        ----------
        root : int
            The node to begin with.
        keep : iterable of int, optional
            The nodes that stay; what is above a node that stays, up to the root, has to stay too. By default all.
        rename : dict of int to str, optional
            New labels.
        wrap : dict of int to list of (int, int, str), optional
            For a node, groups of children that get a node above them: first child, first child behind, label. They must
            not overlap.
        """
        rename, wrap = rename or {}, wrap or {}
        numbers = range(root, self.after[root]) if keep is None else sorted({*keep, root})
        below: dict[int, list[Tree]] = {}
        built = self.nodes[root]
        for number in reversed(numbers):
            old = self.nodes[number]
            kids = below.pop(number, [])[::-1]
            for begin, end, label in sorted(wrap.get(number, ()), reverse=True):
                kids[begin:end] = [Tree(label, kids[begin:end])]
            same = len(kids) == len(old.children) and all(a is b for a, b in zip(kids, old.children, strict=True))
            if number in rename:
                built = Tree._trusted(check_label(rename[number]), tuple(kids))
            else:
                built = old if same else Tree._trusted(old.label, tuple(kids))
            if number != root:
                below.setdefault(self.parent[number], []).append(built)
        return built


AnyTree = Tree | str | TreeIndex


def as_tree_index(tree: AnyTree) -> TreeIndex:
    """The index of a tree; an index is returned as it is."""
    return tree if isinstance(tree, TreeIndex) else TreeIndex(tree)


def covering_span(tree: AnyTree, span: Span) -> Span:
    """The span of the smallest constituent that holds all words of `span`.

    >>> covering_span("(S (NP (N John)) (VP (V saw) (NP (N Mary))))", (0, 2))
    (0, 3)
    """
    index = as_tree_index(tree)
    return index[index.covering(span)].span


def siblings(index: TreeIndex, nodes: Sequence[int]) -> list[list[int]]:
    """Nodes in order, in runs of neighbors under one parent."""
    runs = [[node] for node in nodes[:1]]
    for left, right in pairwise(nodes):
        if index.parent[left] == index.parent[right] and index.after[left] == right:
            runs[-1].append(right)
        else:
            runs.append([right])
    return runs
