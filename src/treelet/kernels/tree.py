"""Kernels between trees: complete subtrees, subset trees, partial trees."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from treelet import _core
from treelet.checks import check_boolean, check_integer, check_number, check_tunable
from treelet.kernels.parts import Ids, KeyedParts, StoreNodes
from treelet.kernels.store import StoreKernel
from treelet.kernels.tuning import DECAYS, Bounds
from treelet.structures.treebank import Treebank


class TreeKernel(StoreKernel):
    """A convolution kernel over trees."""

    bank = Treebank


class Subtree(TreeKernel):
    r"""The subtree kernel (ST): complete subtrees in common.

    .. math:: K(T_1, T_2) = \sum_f \lambda^{\mathrm{size}(f)} h_f(T_1) h_f(T_2)

    over the fragments `f` that are a node with all its descendants; size counts productions.

    Parameters
    ----------
    lam : float in (0, 1]
        Decay a production. 1 counts.
    lam_bounds : pair of numbers or "fixed"
        Between which values a Gaussian process may choose `lam`; ``"fixed"`` leaves it alone.

    Notes
    -----
    Costs the equal subtrees of each pair of trees. Vishwanathan & Smola (2002); "ST" in Moschitti (2006).

    Examples
    --------
    >>> from treelet import Subtree
    >>> Subtree()(["(NP (D the) (N apple))"])
    array([[3.]])
    """

    _algorithm = _core.SubtreeColumns
    _on_device = "subtree.SubtreeColumns"
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

    def _parts(self, store: Any, nodes: Ids) -> KeyedParts:
        """Equal subtrees."""
        there = np.flatnonzero(StoreNodes.of(store, nodes).arity)
        return KeyedParts.of(there, nodes[there])


class SubsetTree(TreeKernel):
    r"""The subset-tree kernel (SST) of Collins & Duffy (2001).

    Fragments are connected pieces in which every node is expanded by its whole production or not at all:

    .. math:: K(T_1, T_2) = \sum_f \lambda^{\mathrm{size}(f)} h_f(T_1) h_f(T_2)

    with size the number of productions in `f`.

    Parameters
    ----------
    lam : float in (0, 1]
        Decay a production. 1 counts; 0.4 is Moschitti's (2006) choice.
    max_depth : int, optional
        Only fragments of at most this depth: productions on the longest path; 1 is single productions.
    leaves : bool
        Whether words count without their tags. Then a word is as if it had one child that all words share: equal words
        add `lam`, and of two equal pre-terminals ``lam * (1 + lam)`` comes, since the word may be in the fragment or not.
    lam_bounds : pair of numbers or "fixed"
        As for `Subtree`.

    Notes
    -----
    Costs the node pairs that share a production and one of whose children do; the rest is a sparse product.

    Examples
    --------
    >>> from treelet import SubsetTree
    >>> SubsetTree(lam=1)(["(NP (D the) (N apple))"])
    array([[6.]])
    >>> SubsetTree(lam=1, leaves=True)(["(NP (D the) (N apple))"])  # the, apple; two fragments each of D and N; 9 of NP
    array([[15.]])
    """

    _algorithm = _core.SubsetTreeColumns
    _on_device = "hyperedges.HyperedgeColumns"
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
        """The largest depth that counts; no tree is deeper than an int of 32 bits says."""
        return None if self.max_depth is None else min(int(self.max_depth), 2**31 - 1)

    def _rough_more(self, store: Any) -> int:
        return 128 * len(store) * min(self._deepest() or 0, len(store))

    def _less_memory(self) -> str:
        return "" if self.max_depth is None else ", a smaller max_depth, or None"

    def _parts(self, store: Any, nodes: Ids) -> KeyedParts:
        """Nodes with one production; and of these, children at one place with one production, on each level."""

        def numbered(label: Any, production: Any) -> Any:
            return np.where(production < 0, 2 * label + 1, 2 * production) if self.leaves else production

        of = StoreNodes.of(store, nodes)
        own = numbered(of.label, of.production)
        below = numbered(store.label[of.child].astype(np.int64), store.production[of.child].astype(np.int64))
        edge, there = np.flatnonzero(below >= 0), np.flatnonzero(own >= 0)
        _, first, production = np.unique(own, return_index=True, return_inverse=True)
        slot = (np.cumsum(of.arity[first]) - of.arity[first])[production]  # a number for each production and position
        deepest = self._deepest()
        levels = 1 if deepest is None else np.minimum(deepest, store.height[nodes] + int(self.leaves)) - 1
        count = np.broadcast_to(np.maximum(levels, 0), len(nodes))[of.owner[edge]]
        key = (slot[of.owner[edge]] + of.position[edge]) * (int(below.max(initial=0)) + 1) + below[edge]
        return KeyedParts.together(KeyedParts.of(there, own[there]), KeyedParts.of(of.owner[edge], key, count))


class PartialTree(TreeKernel):
    r"""The partial-tree kernel (PT) of Moschitti (2006).

    Fragments are any connected pieces: a node may keep some of its children, in order.

    .. math::
        \Delta(n_1, n_2) = \mu \Bigl(\lambda^2 + \sum_{J_1, J_2} \lambda^{g(J_1) + g(J_2)}
        \prod_i \Delta(c_1[J_{1i}], c_2[J_{2i}])\Bigr)

    for nodes with one label, over equally long subsequences of their children, with `g` the children skipped inside
    a subsequence; K sums it over all pairs of nodes, words included. (The paper's eq. 3 would also charge adjacent
    children; its recursion does not, and nor does any implementation.)

    Parameters
    ----------
    lam : float in (0, 1]
        Decay a skipped child.
    mu : float in (0, 1]
        Decay a level.
    leaves : bool
        False leaves out what two equal words contribute on their own: only pairs of nodes with children are summed.
    terminal_factor : float in [0, inf)
        What :math:`\Delta` of two nodes is multiplied by of which one has no children, on its own and as part of larger fragments:
        KeLP's terminal factor. With 0, fragments with words count for nothing. Above 1 the kernel is positive semi-definite
        only if no word is also a node's label.
    lam_bounds, mu_bounds : pair of numbers or "fixed"
        As for `Subtree`.

    Notes
    -----
    Costs the node pairs with one label and a child label in common, times the children that meet.

    Examples
    --------
    >>> from treelet import PartialTree
    >>> PartialTree(lam=1, mu=1)(["(D the)"])
    array([[3.]])
    """

    _algorithm = _core.PartialTreeColumns
    _on_device = "partial_tree.PartialTreeColumns"
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

    def _parts(self, store: Any, nodes: Ids) -> KeyedParts:
        """Nodes with one label; and of these, all pairs of children with one label."""
        of, labels = StoreNodes.of(store, nodes), len(store.labels)
        below = of.label[of.owner] * labels + store.label[of.child]
        return KeyedParts.together(KeyedParts.of(np.arange(len(nodes)), of.label), KeyedParts.of(of.owner, below))
