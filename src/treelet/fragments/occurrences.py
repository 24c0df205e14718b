"""The occurrences of a fragment in a tree."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from treelet import _core
from treelet.checks import check_integer
from treelet.errors import InputTypeError
from treelet.kernels import Kernel, PartialTree, SubsetTree, Subtree
from treelet.kernels.algebra import Normalized
from treelet.kernels.fragments import WORD, check_fragments
from treelet.structures import Tree, Treebank

_LIMIT = 1_000


class Occurrences(list[tuple[int, ...]]):
    """The occurrences of a fragment in a tree.

    Attributes
    ----------
    complete : bool
        True if the list contains all occurrences.
    """

    def __init__(self, places: Iterable[tuple[int, ...]] = (), complete: bool = True) -> None:
        super().__init__(places)
        self.complete = complete


def places(fragment: object, tree: object, kernel: Kernel, limit: int = _LIMIT) -> Occurrences:
    """Find the occurrences of a fragment in a tree.

    Parameters
    ----------
    fragment : Tree or str
        A fragment, as returned by `shared_fragments`, `explain` and `top_fragments`.
    tree : Tree, str, ...
        A tree, in any form that a Treebank accepts.
    kernel : Subtree, SubsetTree or PartialTree
        Kernel that defines the occurrences, normalized or not.
    limit : int, default 1000
        Maximal number of occurrences, at least 1. A partial tree can have exponentially many.

    Returns
    -------
    Occurrences
        Sorted list with one tuple per occurrence: the covered nodes of the tree, in the order of the
        nodes of the fragment. Nodes are numbered in pre-order from 0. The attribute ``complete`` is
        True if the list contains all occurrences.

    Notes
    -----
    A fragment of `Subtree` is a node with its whole subtree. A fragment of `SubsetTree` consists of
    whole productions; a node that the fragment does not expand matches any subtree with the same
    label. A fragment of `PartialTree` keeps some of the children of a node, in order. With
    ``SubsetTree(leaves=True)``, the child "\u2022" of a word covers no node. A tree that is not a
    fragment of the kernel, such as a single node for `SubsetTree`, has no occurrences.

    The cost is proportional to the number of node pairs with the same label, plus the size of the
    result.

    Examples
    --------
    >>> from treelet import PartialTree, SubsetTree
    >>> from treelet.fragments import places
    >>> tree = "(S (NP (D the) (N dog)) (VP (V saw) (NP (D the) (N cat))))"
    >>> places("(NP (D the) N)", tree, SubsetTree())
    [(1, 2, 3, 4), (9, 10, 11, 12)]
    >>> places("(S (VP NP))", tree, PartialTree())
    [(0, 6, 9)]
    """
    check_integer("limit", limit, of="places")
    inner = kernel.kernel if isinstance(kernel, Normalized) else kernel
    check_fragments(inner, "places", of_trees=True)
    pattern, whole = Treebank([fragment, tree])
    if pattern is None:
        raise InputTypeError(
            "The 'fragment' parameter of places must be a Tree or a bracketed string such as '(NP D N)'. Got None instead."
        )
    if whole is None:
        return Occurrences()
    if isinstance(inner, SubsetTree) and inner.max_depth is not None and pattern.height() > inner.max_depth:
        return Occurrences()
    matches = _listed(_FragmentMatch(_PreorderTree.of(pattern), _PreorderTree.of(whole), inner))
    occurrences = [nodes for _, nodes in zip(range(limit), matches, strict=False)]
    return Occurrences(occurrences, next(matches, None) is None)


class _PreorderTree(NamedTuple):
    """A tree in pre-order."""

    label: list[str]
    children: list[list[int]]

    @staticmethod
    def of(tree: Tree) -> _PreorderTree:
        label: list[str] = []
        children: list[list[int]] = []
        stack = [(tree, -1)]
        while stack:
            node, parent = stack.pop()
            if parent >= 0:
                children[parent].append(len(label))
            stack.extend((child, len(label)) for child in reversed(node.children))
            label.append(node.label)
            children.append([])
        return _PreorderTree(label, children)


class _FragmentMatch:
    """The pairs of a fragment node and a tree node at which the fragment below the node matches."""

    def __init__(self, pattern: _PreorderTree, tree: _PreorderTree, kernel: Kernel) -> None:
        self.pattern, self.tree = pattern, tree
        self.partial = isinstance(kernel, PartialTree)
        self._whole = isinstance(kernel, Subtree)
        self._words = isinstance(kernel, SubsetTree) and bool(kernel.leaves)
        self._pairs: set[tuple[int, int]] = set()
        self.latest: dict[tuple[int, int], list[int]] = {}
        """For partial trees: per pair, the rightmost children that match, from right to left."""
        alike: dict[str, list[int]] = {}
        for node, label in enumerate(pattern.label):
            alike.setdefault(label, []).append(node)
        for at in reversed(range(len(tree.label))):  # children before parents
            for node in alike.get(tree.label[at], ()):
                _core.check()
                if self._fits(node, at):
                    self._pairs.add((node, at))
        roots = (at for at in range(len(tree.label)) if self.at(0, at))
        if self.partial and not getattr(kernel, "leaves", True):
            roots = (at for at in roots if tree.children[at])
        self.roots = roots if self.partial or pattern.children[0] else iter(())

    def at(self, node: int, at: int) -> bool:
        return (node, at) in self._pairs

    def expands_word(self, node: int, at: int) -> bool:
        """Return whether the child of the fragment node represents the word itself."""
        below = self.pattern.children[node]
        return (
            self._words
            and not self.tree.children[at]
            and len(below) == 1
            and self.pattern.label[below[0]] == WORD
            and not self.pattern.children[below[0]]
        )

    def _fits(self, node: int, at: int) -> bool:
        below, children = self.pattern.children[node], self.tree.children[at]
        if self.partial:
            latest = self._latest(node, at)
            if len(latest) == len(below):
                self.latest[node, at] = latest
            return len(latest) == len(below)
        if not below:
            return not (self._whole and children)
        if self.expands_word(node, at):
            return True
        return len(below) == len(children) and all(map(self.at, below, children))

    def _latest(self, node: int, at: int) -> list[int]:
        """Return the rightmost children of a tree node that match those of a fragment node, from right to left."""
        children: list[int] = []
        left = iter(reversed(self.tree.children[at]))
        for child in reversed(self.pattern.children[node]):
            match = next((other for other in left if self.at(child, other)), None)
            if match is None:
                break
            children.append(match)
        return children


def _listed(match: _FragmentMatch) -> Iterator[tuple[int, ...]]:
    for root in match.roots:
        yield from _partial(match, root) if match.partial else _only(match, root)


def _only(match: _FragmentMatch, root: int) -> Iterator[tuple[int, ...]]:
    """Yield the only occurrence at a root. Whole productions match in at most one way."""
    covered: list[int] = []
    stack = [(0, root)]
    while stack:
        node, at = stack.pop()
        covered.append(at)
        if not match.expands_word(node, at):
            below = match.pattern.children[node]
            stack.extend(zip(reversed(below), reversed(match.tree.children[at][: len(below)]), strict=True))
    yield tuple(covered)


def _partial(match: _FragmentMatch, root: int) -> Iterator[tuple[int, ...]]:
    """Yield every occurrence of a partial tree at a root.

    The search has no dead ends, because each child leaves enough nodes for those to its right.
    """
    children = match.pattern.children
    above = {child: (parent, k) for parent, below in enumerate(children) for k, child in enumerate(below)}
    last = len(children) - 1
    covered = [root]

    def choices(node: int) -> Iterator[int]:
        parent, k = above[node]
        below = match.tree.children[covered[parent]]
        after = covered[children[parent][k - 1]] if k else -1
        until = match.latest[parent, covered[parent]][len(children[parent]) - 1 - k]
        nearby = range(bisect_right(below, after), bisect_right(below, until))
        return (below[i] for i in nearby if match.at(node, below[i]))

    if last == 0:
        yield (root,)
        return
    open_choices = [choices(1)]
    while open_choices:
        _core.check()
        del covered[len(open_choices) :]
        at = next(open_choices[-1], None)
        if at is None:
            open_choices.pop()
            continue
        covered.append(at)
        if len(covered) > last:
            yield tuple(covered)
        else:
            open_choices.append(choices(len(covered)))
