"""The fragments that two examples share, and their contributions to the kernel value."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from treelet.checks import check_integer
from treelet.kernels import ForestKernel, Kernel
from treelet.kernels.algebra import Normalized
from treelet.kernels.fragments import NodeWeighting, check_fragments, search_fragments
from treelet.kernels.pairwise import overflow
from treelet.printable import readable_number
from treelet.shown import Tabled


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
    """

    def __init__(self, fragments: Iterable[SharedFragment] = (), complete: bool = True) -> None:
        super().__init__(fragments)
        self.complete = complete

    def total(self) -> float:
        """Return the sum of the contributions."""
        return math.fsum(fragment.contribution for fragment in self)

    def __str__(self) -> str:
        values = [readable_number(fragment.contribution) for fragment in self]
        width = max(map(len, values), default=0)
        return "\n".join(f"{value:<{width}}  {fragment.tree}" for value, fragment in zip(values, self, strict=True))


def shared_fragments(a: object, b: object, kernel: Kernel, limit: int = 2_000) -> SharedFragments:
    """List the fragments that two examples share, by their contributions to the kernel value.

    Parameters
    ----------
    a, b : Tree, str, Forest, ...
        Two trees, forests, tagged sequences, sequences of features or dependency parses, in any form
        that the kernel accepts.
    kernel : Subtree, SubsetTree, PartialTree, ForestKernel, Tagging, Subsequence or Locality
        Kernel that defines the fragments and their contributions, normalized or not.
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
    inner = kernel.kernel if isinstance(kernel, Normalized) else kernel
    check_fragments(inner, "shared_fragments")
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
