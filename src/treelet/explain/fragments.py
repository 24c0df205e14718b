"""The fragments that two trees share, and what each of them adds to a kernel's value."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from treelet.checks import check_integer
from treelet.explain.growing import fragments
from treelet.explain.sides import check_has_fragments
from treelet.kernels import Kernel
from treelet.kernels.base import overflow
from treelet.kernels.wrapped import Normalized
from treelet.structures import Tree, Treebank


class SharedFragment(NamedTuple):
    """A fragment that two trees share.

    Attributes
    ----------
    tree : Tree
        The fragment. A node without children is a word, or a node that the fragment does not expand.
    counts : (int, int)
        How often it occurs in each of the two trees.
    contribution : float
        What it adds to the kernel's value.
    """

    tree: Tree
    counts: tuple[int, int]
    contribution: float


class SharedFragments(list[SharedFragment]):
    """Shared fragments, the largest contribution first.

    Attributes
    ----------
    complete : bool
        True if there are no others: then the contributions add up to the kernel's value.
    """

    def __init__(self, fragments: Iterable[SharedFragment] = (), complete: bool = True) -> None:
        super().__init__(fragments)
        self.complete = complete

    def total(self) -> float:
        """The sum of the contributions."""
        return math.fsum(fragment.contribution for fragment in self)

    def _repr_html_(self) -> str:
        from treelet.explain.notebook import fragment_table

        return fragment_table(self)


def shared_fragments(a: object, b: object, kernel: Kernel, limit: int = 2_000) -> SharedFragments:
    """The fragments that two trees share, the largest contribution to ``kernel([a], [b])`` first.

    Parameters
    ----------
    a, b : Tree, str, ...
        Two trees, in any form that a Treebank takes.
    kernel : Subtree, SubsetTree or PartialTree
        Which fragments, and what they are worth; normalised or not.
    limit : int
        How many at most: there can be exponentially many.

    Returns
    -------
    SharedFragments
        A list; its ``complete`` says whether these are all.

    Notes
    -----
    For ST and SST a fragment never contributes more than the smaller ones it contains, so these are the `limit` largest. A
    partial tree may: if PT's list is not complete, it is the largest of those that were found. On large trees the search
    ends after a second or two of work, with fewer than `limit`.

    With ``SubsetTree(leaves=True)`` a word may be expanded or not; one that is has the child "\u2022", as in ``(N (apple \u2022))``.

    Examples
    --------
    >>> from treelet import SubsetTree
    >>> shared = shared_fragments("(NP (D the) (N apple))", "(NP (D the) (N pear))", SubsetTree(lam=0.5))
    >>> for fragment in shared:
    ...     print(fragment.contribution, fragment.counts, fragment.tree)
    0.5 (1, 1) (D the)
    0.5 (1, 1) (NP D N)
    0.25 (1, 1) (NP (D the) N)
    >>> shared.complete, shared.total()
    (True, 1.25)
    """
    check_integer("limit", limit)
    inner = kernel.kernel if isinstance(kernel, Normalized) else kernel
    check_has_fragments(inner)
    bank = Treebank([a, b])
    weights = bank.weights()
    items = list(zip(weights.node.tolist(), map(int, weights.weight.tolist()), strict=True))
    split = int(weights.start[1])
    found = fragments(inner, bank.columns.store, (dict(items[:split]), dict(items[split:])), limit)
    if any(math.isinf(fragment.value) for fragment in found.fragments):
        raise overflow(kernel, 0, 1)
    scale = 1.0
    if inner is not kernel and found.fragments:  # then no self-value is 0
        scale = math.exp(-0.5 * float(inner.self_values(bank, logs=True).sum()))
    return SharedFragments(
        (SharedFragment(tree, (int(sums[0]), int(sums[1])), value * scale) for tree, value, sums in found.fragments),
        found.complete,
    )
