"""An index of a tree: the span, the parent and the head of each node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import index as as_int
from typing import NamedTuple

from treelet.checks import article, plural
from treelet.errors import InputTypeError, ParameterError, TreeError
from treelet.structures.spans import Span, as_span
from treelet.structures.tree import Tree, check_label

# --- head rules for the phrases of the Penn Treebank ------------------------------------------------------------------

PUNCTUATION = frozenset({",", ".", ":", "``", "''", "?", "!", "-LRB-", "-RRB-", "-LCB-", "-RCB-", "-LSB-", "-RSB-"})
CONJUNCTIONS = frozenset({"CC", "CONJP"})

# Rules for the head child of a phrase: the side where the search begins, and labels in order of priority. The rules are
# those of Collins (1999), appendix A. Noun phrases have separate rules, in NOUN_RULES.
_HEAD_RULES: dict[str, tuple[str, tuple[str, ...]]] = {
    label: (side, tuple(wanted.split()))
    for label, side, wanted in (
        ("ADJP", "left", "NNS QP NN $ ADVP JJ VBN VBG ADJP JJR NP JJS DT FW RBR RBS SBAR RB"),
        ("ADVP", "right", "RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN"),
        ("CONJP", "right", "CC RB IN"),
        ("FRAG", "right", ""),
        ("LST", "right", "LS :"),
        ("NAC", "left", "NN NNS NNP NNPS NP NAC EX $ CD QP PRP VBG JJ JJS JJR ADJP FW"),
        ("PP", "right", "IN TO VBG VBN RP FW"),
        ("PRT", "right", "RP"),
        ("QP", "left", "$ IN NNS NN JJ RB DT CD NCD QP JJR JJS"),
        ("RRC", "right", "VP NP ADVP ADJP PP"),
        ("S", "left", "TO IN VP S SBAR ADJP UCP NP"),
        ("SBAR", "left", "WHNP WHPP WHADVP WHADJP IN DT S SQ SINV SBAR FRAG"),
        ("SBARQ", "left", "SQ S SINV SBARQ FRAG"),
        ("SINV", "left", "VBZ VBD VBP VB MD VP S SINV ADJP NP"),
        ("SQ", "left", "VBZ VBD VBP VB MD VP SQ"),
        ("UCP", "right", ""),
        ("VP", "left", "TO VBD VBN MD VBZ VB VBG VBP AUX AUXG VP ADJP NN NNS NP"),
        ("WHADJP", "left", "CC WRB JJ ADJP"),
        ("WHADVP", "right", "CC WRB"),
        ("WHNP", "left", "WDT WP WP$ WHADJP WHPP WHNP"),
        ("WHPP", "right", "IN TO FW"),
    )
}
_NOUN_PHRASES = frozenset({"NP", "NX", "NML"})
_NOUN_RULES = (  # the side where the search begins, and labels of equal priority
    ("right", frozenset({"NN", "NNP", "NNPS", "NNS", "NX", "NML", "POS", "JJR"})),
    ("left", frozenset({"NP"})),
    ("right", frozenset({"$", "ADJP", "PRN"})),
    ("right", frozenset({"CD"})),
    ("right", frozenset({"JJ", "JJS", "RB", "QP"})),
)


@lru_cache(maxsize=4096)
def category(label: str) -> str:
    """Return a label without its function tags.

    >>> category("NP-SBJ"), category("PP=2"), category("-LRB-")
    ('NP', 'PP', '-LRB-')
    """
    cut = min((at for mark in "-=" if (at := label.find(mark)) > 0), default=len(label))
    return label if label.startswith("-") else label[:cut]


def _head_child(label: str, children: Sequence[str]) -> int:
    """Return the position of the head among a node's children, by the rules of Collins (1999), appendix A.

    If no rule applies, the head is the first child, other than punctuation, from the side where the
    search begins. Function tags are ignored.

    >>> _head_child("VP", ["ADVP", "VBD", "NP"]), _head_child("NP-SBJ", ["DT", "NN", "NN", ","])
    (1, 2)
    """
    label, names = category(label), [category(child) for child in children]
    solid = [index for index, name in enumerate(names) if name not in PUNCTUATION] or list(range(len(names)))
    head = _noun_head(names, solid) if label in _NOUN_PHRASES else _ruled_head(label, names, solid)
    before = [other for other in solid if other < head]
    if len(before) > 1 and names[before[-1]] in CONJUNCTIONS:  # the first conjunct is the head of a coordination
        return before[-2]
    return head


def _ruled_head(label: str, names: list[str], solid: list[int]) -> int:
    side, wanted = _HEAD_RULES.get(label, ("left", ()))
    order = solid if side == "left" else solid[::-1]
    return next((index for name in wanted for index in order if names[index] == name), order[0])


def _noun_head(names: list[str], solid: list[int]) -> int:
    for side, wanted in _NOUN_RULES:
        for index in solid if side == "left" else solid[::-1]:
            if names[index] in wanted:
                return index
    return solid[-1]


# --- an index of a tree: the span, the parent and the head of each node -----------------------------------------------

Group = tuple[int, int, str]  # children i to j - 1 of a node, and the label of the node that is put above them


class SpanNode(NamedTuple):
    """A node of a tree: its number, its label, its words from `start` to `end` - 1, its parent and its depth."""

    number: int
    label: str
    start: int
    end: int
    parent: int
    """Number of the parent; -1 for the root."""
    depth: int
    """Distance from the root; 0 for the root."""

    @property
    def span(self) -> Span:
        """First word, and the word after the last word."""
        return self.start, self.end


class TreeIndex:
    """An index of the nodes of a tree, numbered in preorder, with their spans and parents.

    Words are nodes, too. In spans, words are counted from 0. Trees may be arbitrarily deep. Looking up a
    node takes constant time; the time for ancestors and paths is proportional to their length.

    Parameters
    ----------
    tree : Tree or str
        A tree, or a bracketed string.

    Attributes
    ----------
    nodes : list of Tree
        The nodes in preorder.
    start, end : list of int
        First word of each node, and the word after its last word.
    parent : list of int
        Number of each node's parent; -1 for the root.
    depth : list of int
        Distance of each node from the root; 0 for the root.
    after : list of int
        The nodes below node n are those with the numbers n + 1 to after[n] - 1.
    leaves : list of int
        Numbers of the nodes that are words, from left to right.

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
            raise InputTypeError(f"A Tree or a bracketed string is needed. Got {article(type(tree).__name__)} instead.")
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
        """Return a node with its label, span, parent and depth."""
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
        """The words, from left to right."""
        return [self.nodes[leaf].label for leaf in self.leaves]

    def label(self, node: int) -> str:
        """Return the label of a node."""
        return self.nodes[node].label

    def children(self, node: int) -> list[int]:
        """Return the children of a node, from left to right."""
        children, child = [], node + 1
        while child < self.after[node]:
            children.append(child)
            child = self.after[child]
        return children

    def holds(self, above: int, node: int) -> bool:
        """Return whether `node` is equal to `above` or below it."""
        return above <= node < self.after[above]

    def ancestors(self, node: int) -> Iterator[int]:
        """Iterate over the ancestors of a node, from its parent to the root."""
        while (node := self.parent[node]) >= 0:
            yield node

    # --- words and spans ----------------------------------------------------------------------------------------

    def word(self, place: int) -> int:
        """Return the node of a word, given its position in the sentence."""
        return self.leaves[self.check_word(place)]

    def tag(self, place: int) -> int:
        """Return the parent of a word."""
        above = self.parent[self.word(place)]
        if above < 0:
            raise TreeError(f"The tree is the single word {self.tree.label!r}, but a word with a parent is needed.")
        return above

    def tag_label(self, place: int) -> str:
        """Return the label of a word's parent if all its children are words, or else an empty string."""
        above = self.parent[self.word(place)]
        return self.nodes[above].label if above >= 0 and self.nodes[above].is_preterminal else ""

    def find(self, span: Span, *, lowest: bool = False) -> int | None:
        """Return the topmost (or the lowest) node with exactly this span, or None. Words are not considered."""
        return (self._lowest if lowest else self._topmost).get(self.check_span(span))

    def node_of(self, span: Span, *, lowest: bool = False) -> int:
        """Return the same node as `find`. TreeError is raised if there is no such node."""
        node = self.find(span, lowest=lowest)
        if node is None:
            raise TreeError(self._no_constituent(self.check_span(span)))
        return node

    def covering(self, span: Span) -> int:
        """Return the smallest node that contains a span. It is a word only if the tree is a single word."""
        begin, end = self.check_span(span)
        node = self.leaves[begin]
        if self.parent[node] >= 0:
            node = self.parent[node]
        while self.end[node] < end:
            node = self.parent[node]
        return node

    def check_word(self, place: int, what: str = "word") -> int:
        """Return the position of a word as an int. Other values raise an error."""
        try:
            if isinstance(place, bool):
                raise TypeError
            place = as_int(place)
        except TypeError:
            raise InputTypeError(
                f"The position of the {what} must be an int, counted from 0. Got {place!r:.60} instead."
            ) from None
        if not 0 <= place < len(self.leaves):
            raise ParameterError(
                f"The position of the {what} must be an int from 0 to {len(self.leaves) - 1}, because the tree has "
                f"{plural(len(self.leaves), 'word')}. Got {place} instead."
            )
        return place

    def check_span(self, span: Span) -> Span:
        """Return a span as two ints. A span outside the sentence raises ParameterError."""
        begin, end = as_span(span)
        if end > len(self.leaves):
            raise ParameterError(
                f"The span ({begin}, {end}) ends after the last word, because the tree has only "
                f"{plural(len(self.leaves), 'word')}."
            )
        return begin, end

    def _no_constituent(self, span: Span) -> str:
        begin, end = span
        words = [self.nodes[leaf].label for leaf in self.leaves[begin:end]]
        text = " ".join(words) if len(words) <= 8 else " ".join([*words[:4], "...", *words[-3:]])
        around = self[self.covering(span)]
        return (
            f"The span {span} ({text!r}) is not a constituent of this tree. The smallest constituent that contains it is "
            f"{around.label} over {around.span}. Use covering_span(tree, {span}), or skip this instance."
        )

    # --- paths --------------------------------------------------------------------------------------------------

    def common(self, a: int, b: int) -> int:
        """Return the lowest common ancestor of two nodes, which may be one of the two."""
        while a != b:  # the later node in preorder is never above the earlier one
            if a > b:
                a = self.parent[a]
            else:
                b = self.parent[b]
        return a

    def path(self, a: int, b: int) -> tuple[list[int], list[int]]:
        """Return the nodes from `a` up to the lowest common ancestor, and the nodes from below it down to `b`."""
        top, up, down = self.common(a, b), [a], []
        while up[-1] != top:
            up.append(self.parent[up[-1]])
        while b != top:
            down.append(b)
            b = self.parent[b]
        return up, down[::-1]

    # --- heads --------------------------------------------------------------------------------------------------

    def head_child(self, node: int) -> int:
        """Return the head child of a node, by the rules of Collins (1999), appendix A. A word is its own head.

        If no rule applies, the head is the first child, other than punctuation, from the side where
        the search begins. Function tags are ignored.
        """
        kids = self.children(node)
        return kids[_head_child(self.label(node), [self.label(kid) for kid in kids])] if kids else node

    def head(self, node: int) -> int:
        """Return the position of a node's head word in the sentence."""
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
        """Build a tree from some of the nodes.

        Parameters
        ----------
        root : int, default 0
            Root of the new tree.
        keep : iterable of int, optional
            Nodes to keep, including all their ancestors up to the root. Default: all nodes.
        rename : dict of int to str, optional
            New labels of nodes.
        wrap : dict of int to list of (int, int, str), optional
            New nodes above groups of a node's children. A group is (first child, child after the
            last one, label), with positions among the children. Groups must not overlap.

        Returns
        -------
        Tree
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
    """Return the index of a tree. An index is returned unchanged."""
    return tree if isinstance(tree, TreeIndex) else TreeIndex(tree)


def covering_span(tree: AnyTree, span: Span) -> Span:
    """Return the span of the smallest constituent that contains all words of a span.

    Examples
    --------
    >>> from treelet.cuts import covering_span
    >>> covering_span("(S (NP (N John)) (VP (V saw) (NP (N Mary))))", (0, 2))
    (0, 3)
    """
    index = as_tree_index(tree)
    return index[index.covering(span)].span
