"""The occurrences of a fragment in a tree, and the fragments that occur in two examples."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from treelet import _core
from treelet.checks import check_integer, wrong
from treelet.errors import InputTypeError, ParameterError
from treelet.kernels import ForestKernel, Kernel, PartialTree, Smoothed, SubsetTree, Subtree
from treelet.kernels.algebra import Normalized
from treelet.kernels.fragments import FRAGMENTS, LISTED, WORD, NodeWeighting, has_fragments, search_fragments
from treelet.kernels.pairwise import overflow
from treelet.printable import readable_number
from treelet.shown import Tabled
from treelet.structures import Tree, Treebank

# --- the occurrences of a fragment in a tree --------------------------------------------------------------------------


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


def places(fragment: object, tree: object, kernel: Kernel, limit: int = 1_000) -> Occurrences:
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
    _check_fragments(inner, "places", of_trees=True)
    pattern, whole = Treebank([fragment, tree])
    if pattern is None:
        raise InputTypeError(
            "The 'fragment' parameter of places must be a Tree or a bracketed string such as '(NP D N)'. Got None instead."
        )
    if whole is None:
        return Occurrences()
    if isinstance(inner, SubsetTree) and inner.max_depth is not None and pattern.height() > inner.max_depth:
        return Occurrences()
    match = _FragmentMatch(pattern, whole, inner)
    matches = (nodes for root in match.roots for nodes in (_partial if match.partial else _only)(match, root))
    occurrences = [nodes for _, nodes in zip(range(limit), matches, strict=False)]
    return Occurrences(occurrences, next(matches, None) is None)


def _pre_order(tree: Tree) -> tuple[list[str], list[list[int]]]:
    """Return the labels and the children of all nodes, numbered in pre-order."""
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
    return label, children


class _FragmentMatch:
    """The pairs of a fragment node and a tree node at which the fragment below the node matches."""

    def __init__(self, pattern: Tree, tree: Tree, kernel: Kernel) -> None:
        self.label, self.below = _pre_order(pattern)  # of the fragment
        labels, self.children = _pre_order(tree)
        self.partial = isinstance(kernel, PartialTree)
        self._whole = isinstance(kernel, Subtree)
        self._words = isinstance(kernel, SubsetTree) and bool(kernel.leaves)
        self._pairs: set[tuple[int, int]] = set()
        self.latest: dict[tuple[int, int], list[int]] = {}
        """For partial trees: per pair, the rightmost children that match, from right to left."""
        alike: dict[str, list[int]] = {}
        for node, label in enumerate(self.label):
            alike.setdefault(label, []).append(node)
        for at in reversed(range(len(labels))):  # children before parents
            for node in alike.get(labels[at], ()):
                _core.check()
                if self._fits(node, at):
                    self._pairs.add((node, at))
        roots = (at for at in range(len(labels)) if self.at(0, at))
        if self.partial and not getattr(kernel, "leaves", True):
            roots = (at for at in roots if self.children[at])
        self.roots = roots if self.partial or self.below[0] else iter(())

    def at(self, node: int, at: int) -> bool:
        return (node, at) in self._pairs

    def expands_word(self, node: int, at: int) -> bool:
        """Return whether the child of the fragment node represents the word itself."""
        below = self.below[node]
        return (
            self._words
            and not self.children[at]
            and len(below) == 1
            and self.label[below[0]] == WORD
            and not self.below[below[0]]
        )

    def _fits(self, node: int, at: int) -> bool:
        below, children = self.below[node], self.children[at]
        if self.partial:
            latest: list[int] = []
            left = iter(reversed(children))
            for child in reversed(below):
                match = next((other for other in left if self.at(child, other)), None)
                if match is None:
                    return False
                latest.append(match)
            self.latest[node, at] = latest
            return True
        if not below:
            return not (self._whole and children)
        if self.expands_word(node, at):
            return True
        return len(below) == len(children) and all(map(self.at, below, children))


def _only(match: _FragmentMatch, root: int) -> Iterator[tuple[int, ...]]:
    """Yield the only occurrence at a root. Whole productions match in at most one way."""
    covered: list[int] = []
    stack = [(0, root)]
    while stack:
        node, at = stack.pop()
        covered.append(at)
        if not match.expands_word(node, at):
            below = match.below[node]
            stack.extend(zip(reversed(below), reversed(match.children[at][: len(below)]), strict=True))
    yield tuple(covered)


def _partial(match: _FragmentMatch, root: int) -> Iterator[tuple[int, ...]]:
    """Yield every occurrence of a partial tree at a root.

    The search has no dead ends, because each child leaves enough nodes for those to its right.
    """
    children = match.below
    above = {child: (parent, k) for parent, below in enumerate(children) for k, child in enumerate(below)}
    last = len(children) - 1
    covered = [root]

    def choices(node: int) -> Iterator[int]:
        parent, k = above[node]
        below = match.children[covered[parent]]
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


# --- the fragments that two examples share ----------------------------------------------------------------------------


class SharedFragment(NamedTuple):
    """A fragment that two examples share.

    Attributes
    ----------
    tree : Tree, TagRun, FeatureSubsequence or Window
        The fragment, as in `FragmentShare`.
    counts : (int, int)
        Number of occurrences in each of the two examples. In forests, the expected number, a float.
        For `Locality`, the number of windows that contain the fragment.
    contribution : float
        Contribution of the fragment to the kernel value.
    """

    tree: Any
    counts: tuple[float, float]
    contribution: float


class SharedFragments(Tabled, list[SharedFragment]):
    """Shared fragments in descending order of their contributions.

    Attributes
    ----------
    complete : bool
        True if the list contains all shared fragments. The contributions then add up to the kernel
        value.
    examples : tuple
        The two examples, as the kernel takes them: trees, for example.
    kernel : Kernel or None
        The kernel that defines the fragments.
    """

    def __init__(
        self,
        fragments: Iterable[SharedFragment] = (),
        complete: bool = True,
        examples: tuple[Any, ...] = (),
        kernel: Kernel | None = None,
    ) -> None:
        super().__init__(fragments)
        self.complete, self.examples, self.kernel = complete, examples, kernel

    def total(self) -> float:
        """Return the sum of the contributions."""
        return math.fsum(fragment.contribution for fragment in self)

    def __str__(self) -> str:
        values = [readable_number(fragment.contribution) for fragment in self]
        width = max(map(len, values), default=0)
        return "\n".join(f"{value:<{width}}  {fragment.tree}" for value, fragment in zip(values, self, strict=True))


def shared_fragments(a: object, b: object, kernel: Kernel | None = None, limit: int = 2_000) -> SharedFragments:
    """List the fragments that two examples share, by their contributions to the kernel value.

    Parameters
    ----------
    a, b : Tree, str, Forest, ...
        Two trees, forests, tagged sequences, sequences of features or dependency parses, in any form
        that the kernel accepts.
    kernel : Subtree, SubsetTree, PartialTree, ForestKernel, Tagging, Subsequence or Locality, optional
        Kernel that defines the fragments and their contributions, normalized or not. Default:
        ``SubsetTree()``, for trees.
    limit : int, default 2000
        Maximal number of fragments, at least 1. There can be exponentially many.

    Returns
    -------
    SharedFragments
        List of fragments in descending order of their contributions to ``kernel([a], [b])``. The
        attribute ``complete`` is True if the list contains all shared fragments.

    Notes
    -----
    The listed fragments have the largest contributions. On large trees the search may stop after one
    or two seconds, and returns the largest fragments found so far.

    With ``SubsetTree(leaves=True)``, fragments with and without expanded words are distinguished. An
    expanded word has the child "\u2022", as in ``(N (apple \u2022))``.

    `treelet.draw` draws both trees and the fragments that they share.

    Examples
    --------
    >>> from treelet import SubsetTree
    >>> shared = shared_fragments("(NP (D the) (N apple))", "(NP (D the) (N pear))", SubsetTree(lam=0.5))
    >>> for fragment in shared:
    ...     print(fragment.contribution, fragment.counts, fragment.tree)
    0.5 (1, 1) (D the)
    0.5 (1, 1) (NP D N)
    0.25 (1, 1) (NP (D the) N)
    >>> print(shared)
    0.5   (D the)
    0.5   (NP D N)
    0.25  (NP (D the) N)
    >>> shared.complete, shared.total()
    (True, 1.25)
    """
    check_integer("limit", limit, of="shared_fragments")
    kernel = SubsetTree() if kernel is None else kernel
    inner = kernel.kernel if isinstance(kernel, Normalized) else kernel
    _check_fragments(inner, "shared_fragments")
    bank = inner.coerce([a, b])
    weights = bank.weights()
    weightings = NodeWeighting.of(weights.take(np.array([0]))), NodeWeighting.of(weights.take(np.array([1])))
    result = search_fragments(inner, bank.columns.store, weightings, limit)
    if any(math.isinf(fragment.value) for fragment in result.fragments):
        raise overflow(kernel, 0, 1)
    scale = 1.0
    if inner is not kernel and result.fragments:  # then no self-value is 0
        scale = math.exp(-0.5 * float(inner.self_values(bank, logs=True).sum()))
    number = float if isinstance(inner, ForestKernel) else int
    return SharedFragments(
        (
            SharedFragment(tree, (number(sums[0]), number(sums[1])), value * scale)
            for tree, value, sums in result.fragments
        ),
        result.complete,
        tuple(bank),
        kernel,
    )


def _check_fragments(kernel: Kernel, of: str, of_trees: bool = False) -> None:
    """Raise an error unless the fragments of the kernel can be listed. `of` is the public function."""
    if has_fragments(kernel, of_trees):
        kernel.validate()
    elif isinstance(kernel, PartialTree) and not isinstance(kernel, Smoothed):
        raise ParameterError(f"Fragments can be listed only if terminal_factor is 1. Got {kernel!r} instead.")
    else:
        names = FRAGMENTS if of_trees else LISTED
        wanted = f"a kernel with fragments: {names.replace(' and ', ' or ')}"
        raise InputTypeError(str(wrong("kernel", wanted, kernel, of=of)))
