"""The fragments that two examples share, and the contribution of each to the kernel's value."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from treelet.checks import check_integer
from treelet.kernels import ForestKernel, Kernel
from treelet.kernels.fragments.search import search_fragments
from treelet.kernels.fragments.weighting import NodeWeighting, check_is_listed
from treelet.kernels.pairwise import overflow
from treelet.kernels.wrapped import Normalized
from treelet.shown import Tabled


class SharedFragment(NamedTuple):
    """A fragment that two examples share.

    Attributes
    ----------
    tree : Tree, TagRun, FeatureSubsequence or Window
        The fragment, as for `FragmentShare`.
    counts : (int, int)
        How often it occurs in each of the two examples; in forests, how often it is expected to, which is no whole number. Of a
        window, how many in each take part.
    contribution : float
        What it adds to the kernel's value.
    """

    tree: Any
    counts: tuple[float, float]
    contribution: float


class SharedFragments(Tabled, list[SharedFragment]):
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


def shared_fragments(a: object, b: object, kernel: Kernel, limit: int = 2_000) -> SharedFragments:
    """The fragments that two examples share, the largest contribution to ``kernel([a], [b])`` first.

    Parameters
    ----------
    a, b : Tree, str, Forest, ...
        Two trees, forests, tagged sequences, sequences of features or dependency parses, in any form that the kernel takes.
    kernel : Subtree, SubsetTree, PartialTree, ForestKernel, Tagging, Subsequence or Locality
        Which fragments, and what they are worth; normalized or not.
    limit : int
        How many at most: there can be exponentially many.

    Returns
    -------
    SharedFragments
        A list; its ``complete`` says whether these are all.

    Notes
    -----
    These are the `limit` largest. On large trees the search may end after a second or two of work, with the largest of those that were
    found.

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
    check_is_listed(inner)
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
    )
