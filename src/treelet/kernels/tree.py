"""Kernels between trees: complete subtrees, subset trees, partial trees."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from treelet import _core
from treelet.errors import ParameterError
from treelet.kernels.base import Evaluator, Kernel, Matrix, Vector, check_tunable, overflow
from treelet.kernels.tuning import DECAYS, Bounds
from treelet.structures.held_bank import HeldBank
from treelet.structures.treebank import Treebank, as_treebank


class StoreEvaluator(Evaluator):
    """A kernel over hash-consed structures bound to two banks of them, through the native core."""

    def __init__(self, kernel: StoreKernel, rows: Any, columns: Any | None, logs: bool) -> None:
        self.kernel, self.logs = kernel, logs
        if columns is None:
            columns = rows
        else:
            columns, rows = columns.joined(rows)  # the columns' numbers stay, so an index over them would too
        self.rows = rows
        self.n_rows, self.n_columns = len(rows), len(columns)
        self.limit = np.maximum.accumulate(rows.columns.roots) if len(rows) else rows.columns.roots
        self.native = kernel._native_columns(rows.columns.store, columns.weights(), logs)

    def fill(self, begin: int, end: int, out: Matrix, halves: bool) -> None:
        store, trees = self.rows.columns.store, self.rows.weights()
        large = self.native.rows(store, trees, self.limit if halves else None, begin, end, out)
        if large is not None and not self.logs:
            raise overflow(self.kernel, *large)

    @property
    def bytes(self) -> int:
        return int(self.native.bytes)


class StoreKernel(Kernel):
    """A convolution kernel over trees, or what is held as trees in a store, computed by the native core.

    `coerce` gives a bank: something like a Treebank, with ``columns``, ``weights()`` and ``joined()``.
    """

    _algorithm: ClassVar[Any]
    bank: ClassVar[type[Treebank] | type[HeldBank[Any]]] = Treebank
    """What holds the examples."""

    compressible = True
    """Whether a model of this kernel can be one weighted graph that any later example is scored against."""

    @abstractmethod
    def _native_parameters(self, store: _core.Store) -> tuple[Any, ...]:
        """What the native algorithm takes besides the trees."""

    def _native_columns(self, store: _core.Store, weights: _core.NodeWeights, logs: bool) -> Any:
        return self._algorithm(store, weights, logs, *self._native_parameters(store))

    def evaluator(self, X: Any, Y: Any | None = None, *, logs: bool = False) -> StoreEvaluator:
        self.validate()
        return StoreEvaluator(self, self.coerce(X), None if Y is None else self.coerce(Y), logs)

    def self_values(self, X: Any, *, logs: bool = False) -> Vector:
        self.validate()
        bank = self.coerce(X)
        values: Vector = self._algorithm.self_values(
            bank.columns.store, bank.weights(), logs, *self._native_parameters(bank.columns.store)
        )
        return values

    def _gradient(self, X: Any) -> tuple[Matrix, list[Matrix]]:
        self.validate()
        bank = self.coerce(X)
        store, weights = bank.columns.store, bank.weights()
        K, by_lam, by_mu = (np.empty((len(bank), len(bank))) for _ in range(3))
        if len(bank) == 0:
            return K, [by_lam, by_mu][: len(self._tunable)]
        large = self._algorithm.gradient(store, weights, weights, K, by_lam, by_mu, *self._native_parameters(store))
        if large is not None:
            raise overflow(self, *large)
        return K, [by_lam, by_mu][: len(self._tunable)]


class TreeKernel(StoreKernel):
    """A convolution kernel over trees."""

    def coerce(self, X: Any) -> Treebank:
        return as_treebank(X)


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
    """

    _algorithm = _core.SubsetTreeColumns
    _tunable = ("lam",)
    _always_shown = ("lam",)

    def __init__(self, lam: float = 0.4, max_depth: int | None = None, *, lam_bounds: Bounds = DECAYS) -> None:
        self.lam = lam
        self.max_depth = max_depth
        self.lam_bounds = lam_bounds
        self.validate()

    def validate(self) -> None:
        check_tunable(self, "lam", 0, 1)
        depth = self.max_depth
        if depth is not None and (not isinstance(depth, (int, np.integer)) or isinstance(depth, bool) or depth < 1):
            raise ParameterError(
                f"The 'max_depth' parameter of SubsetTree must be None or an int of at least 1. Got {depth!r} instead."
            )

    def _native_parameters(self, store: _core.Store) -> tuple[float, int]:
        return float(self.lam), 0 if self.max_depth is None else min(int(self.max_depth), 2**31 - 1)


class PartialTree(TreeKernel):
    r"""The partial-tree kernel (PT) of Moschitti (2006).

    Fragments are any connected pieces: a node may keep some of its children, in order.

    .. math::
        \Delta(n_1, n_2) = \mu \Big(\lambda^2 + \sum_{J_1, J_2} \lambda^{g(J_1) + g(J_2)}
        \prod_i \Delta(c_1[J_{1i}], c_2[J_{2i}])\Big)

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
    _tunable = ("lam", "mu")
    _always_shown: tuple[str, ...] = ("lam", "mu")

    def __init__(
        self,
        lam: float = 0.4,
        mu: float = 0.4,
        leaves: bool = True,
        *,
        lam_bounds: Bounds = DECAYS,
        mu_bounds: Bounds = DECAYS,
    ) -> None:
        self.lam = lam
        self.mu = mu
        self.leaves = leaves
        self.lam_bounds = lam_bounds
        self.mu_bounds = mu_bounds
        self.validate()

    def validate(self) -> None:
        check_tunable(self, "lam", 0, 1)
        check_tunable(self, "mu", 0, 1)
        if not isinstance(self.leaves, (bool, np.bool_)):
            raise ParameterError(
                f"The 'leaves' parameter of PartialTree must be True or False. Got {self.leaves!r} instead."
            )

    def _native_parameters(self, store: _core.Store) -> tuple[Any, ...]:
        return float(self.lam), float(self.mu), bool(self.leaves), None
