"""Kernels between trees: complete subtrees, subset trees, partial trees."""

from __future__ import annotations

import math
from typing import Any

from treelet import _core
from treelet.checks import check_boolean, check_integer, check_number, check_tunable
from treelet.kernels.parameters import DECAYS, Bounds
from treelet.kernels.store import StoreKernel
from treelet.structures.treebank import Treebank


class TreeKernel(StoreKernel):
    """Base class of the convolution kernels between trees."""

    bank = Treebank


class Subtree(TreeKernel):
    r"""Subtree kernel (ST): sums over the complete subtrees that two trees share.

    A complete subtree is a node with all its descendants. `Subtree` is the fastest tree kernel.

    Parameters
    ----------
    lam : float, default 1.0
        Decay per production, in (0, 1]. Smaller values reduce the weight of large subtrees; 1
        disables decay and simply counts subtrees.
    lam_bounds : pair of numbers or "fixed", default (0.001, 1)
        Range in which a Gaussian process may choose `lam`. ``"fixed"`` keeps `lam` as it is.

    Notes
    -----
    The kernel is

    .. math:: K(T_1, T_2) = \sum_f \lambda^{\mathrm{size}(f)} h_f(T_1) h_f(T_2)

    where `f` runs over the complete subtrees, size(f) is the number of productions in `f`, and
    :math:`h_f(T)` is the number of occurrences of `f` in `T`. See Vishwanathan & Smola (2002);
    Moschitti (2006) calls this kernel "ST". Computation time grows with the number of equal
    subtrees per pair of trees.

    Examples
    --------
    The subtrees of this tree start at NP, D and N:

    >>> from treelet import Subtree
    >>> Subtree()(["(NP (D the) (N apple))"])
    array([[3.]])
    >>> Subtree()(["(NP (D the) (N apple))"], ["(NP (D the) (N pear))"])  # only (D the) is shared
    array([[1.]])
    """

    _algorithm = _core.SubtreeColumns
    _on_device = "SubtreeColumns"
    _tunable = ("lam",)
    _always_shown = ("lam",)

    def __init__(self, lam: float = 1.0, *, lam_bounds: Bounds = DECAYS) -> None:
        self.lam = lam
        self.lam_bounds = lam_bounds
        self.validate()

    def validate(self) -> None:
        check_tunable(self, "lam", 0, 1)

    def _native_parameters(self, store: _core.Store) -> tuple[float]:
        return (float(self.lam),)


class SubsetTree(TreeKernel):
    r"""Subset-tree kernel (SST): sums over the fragments that two trees share.

    A fragment is a connected part of a tree in which every node has either all its children or
    none, so productions are never broken apart.

    Parameters
    ----------
    lam : float, default 0.4
        Decay per production, in (0, 1]. Smaller values reduce the weight of large fragments; 1
        disables decay and simply counts fragments. The default is the choice of Moschitti
        (2006).
    max_depth : int, optional
        Maximum depth of a fragment, at least 1. Depth is the number of productions on the longest
        path, so 1 restricts fragments to single productions. Default: no limit.
    leaves : bool, default False
        Whether equal words match even if their tags differ. If True, every word acts as if it had
        one child, the same for all words. Two equal words then contribute `lam`, and two equal
        pre-terminals ``lam * (1 + lam)``, because the word may be part of the fragment or not.
    lam_bounds : pair of numbers or "fixed", default (0.001, 1)
        Range in which a Gaussian process may choose `lam`. ``"fixed"`` keeps `lam` as it is.

    Notes
    -----
    The kernel of Collins & Duffy (2001) is

    .. math:: K(T_1, T_2) = \sum_f \lambda^{\mathrm{size}(f)} h_f(T_1) h_f(T_2)

    where size(f) is the number of productions in the fragment `f`, and :math:`h_f(T)` is the number
    of occurrences of `f` in `T`. Computation time grows with the number of node pairs that share
    both their production and the production of at least one child. All other pairs are covered by a
    sparse matrix product.

    Examples
    --------
    >>> from treelet import SubsetTree
    >>> SubsetTree(lam=1)(["(NP (D the) (N apple))"])
    array([[6.]])

    With ``leaves=True`` the words count 1 each, D and N 2 fragments each, and NP 9:

    >>> SubsetTree(lam=1, leaves=True)(["(NP (D the) (N apple))"])
    array([[15.]])
    """

    _algorithm = _core.SubsetTreeColumns
    _on_device = "HyperedgeColumns"
    _tunable = ("lam",)
    _always_shown = ("lam",)

    def __init__(
        self, lam: float = 0.4, max_depth: int | None = None, leaves: bool = False, *, lam_bounds: Bounds = DECAYS
    ) -> None:
        self.lam = lam
        self.max_depth = max_depth
        self.leaves = leaves
        self.lam_bounds = lam_bounds
        self.validate()

    def validate(self) -> None:
        check_tunable(self, "lam", 0, 1)
        check_integer("max_depth", self.max_depth, of="SubsetTree", optional=True)
        check_boolean("leaves", self.leaves, of="SubsetTree")

    def _native_parameters(self, store: _core.Store) -> tuple[float, int, bool]:
        return float(self.lam), self._deepest() or 0, bool(self.leaves)

    def _deepest(self) -> int | None:
        """Return the maximum depth as a 32-bit integer, or None. No tree is deeper than that."""
        return None if self.max_depth is None else min(int(self.max_depth), 2**31 - 1)

    def _rough_more(self, store: Any) -> int:
        return 128 * len(store) * min(self._deepest() or 0, len(store))

    def _less_memory(self) -> str:
        return "" if self.max_depth is None else ", a smaller max_depth or max_depth=None"


class PartialTree(TreeKernel):
    r"""Partial-tree kernel (PT): sums over connected fragments with any of the children of a node.

    In contrast to `SubsetTree`, a fragment may keep some of the children of a node, in their order.
    This kernel suits dependency trees and trees with many different productions.

    Parameters
    ----------
    lam : float, default 0.4
        Decay per skipped child, in (0, 1]. Smaller values reduce the weight of fragments with gaps.
    mu : float, default 0.4
        Decay per node, in (0, 1]. Smaller values reduce the weight of large fragments.
    leaves : bool, default True
        Whether two equal words also count on their own. If False, the sum includes only pairs of
        nodes with children.
    terminal_factor : float, default 1.0
        Factor in [0, inf) for pairs of nodes of which at least one has no children, as in KeLP. The
        factor applies to these pairs on their own and as part of larger fragments. 0 ignores all
        fragments with words. Above 1 the kernel is positive semi-definite only if no word equals
        the label of an inner node.
    lam_bounds, mu_bounds : pair of numbers or "fixed", default (0.001, 1)
        Ranges in which a Gaussian process may choose `lam` and `mu`. ``"fixed"`` keeps a parameter
        as it is.

    Notes
    -----
    For two nodes with the same label, the recursion of Moschitti (2006) is

    .. math::
        \Delta(n_1, n_2) = \mu \Bigl(\lambda^2 + \sum_{J_1, J_2} \lambda^{g(J_1) + g(J_2)}
        \prod_i \Delta(c_1[J_{1i}], c_2[J_{2i}])\Bigr)

    where :math:`J_1` and :math:`J_2` are subsequences of the children with equal length, and `g` is
    the number of children skipped inside a subsequence. K is the sum over all pairs of nodes,
    including words. Equation 3 of the paper would also apply decay to adjacent children; its
    recursion and all known implementations do not.

    Computation time grows with the number of node pairs that share their label and the label of a
    child, multiplied by the number of matching children.

    Examples
    --------
    The fragments of this tree are ``D``, ``the`` and ``(D the)``:

    >>> from treelet import PartialTree
    >>> PartialTree(lam=1, mu=1)(["(D the)"])
    array([[3.]])
    """

    _algorithm = _core.PartialTreeColumns
    _on_device = "PartialTreeColumns"
    _tunable = ("lam", "mu")
    _always_shown: tuple[str, ...] = ("lam", "mu")

    def __init__(
        self,
        lam: float = 0.4,
        mu: float = 0.4,
        leaves: bool = True,
        *,
        terminal_factor: float = 1.0,
        lam_bounds: Bounds = DECAYS,
        mu_bounds: Bounds = DECAYS,
    ) -> None:
        self.lam = lam
        self.mu = mu
        self.leaves = leaves
        self.terminal_factor = terminal_factor
        self.lam_bounds = lam_bounds
        self.mu_bounds = mu_bounds
        self.validate()

    def validate(self) -> None:
        check_tunable(self, "lam", 0, 1)
        check_tunable(self, "mu", 0, 1)
        check_boolean("leaves", self.leaves, of="PartialTree")
        check_number(self, "terminal_factor", 0, math.inf, low_included=True, of_kernel=True)

    def _native_parameters(self, store: _core.Store) -> tuple[Any, ...]:
        return float(self.lam), float(self.mu), bool(self.leaves), float(self.terminal_factor), None
