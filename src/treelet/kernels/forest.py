"""The kernel between packed forests."""

from __future__ import annotations

from typing import Any

import numpy as np

from treelet import _core
from treelet.kernels.base import Evaluator, Kernel, Matrix, Vector, check_tunable, overflow
from treelet.kernels.tuning import DECAYS, Bounds
from treelet.structures.forest_bank import ForestBank, as_forestbank


class ForestEvaluator(Evaluator):
    """The forest kernel bound to two banks, through the native core."""

    def __init__(self, kernel: ForestKernel, rows: ForestBank, columns: ForestBank | None, logs: bool) -> None:
        self.kernel, self.logs = kernel, logs
        if columns is None:
            self.store, self.rows = rows.columns()
            targets = self.rows
        else:
            self.store, targets, self.rows = columns.joined(rows)
        self.n_rows, self.n_columns = len(self.rows), len(targets)
        self.limit = _limits(self.rows)
        self.native = _core.ForestColumns(self.store, targets, logs, float(kernel.lam))

    def fill(self, begin: int, end: int, out: Matrix, halves: bool) -> None:
        large = self.native.rows(self.store, self.rows, self.limit if halves else None, begin, end, out)
        if large is not None and not self.logs:
            raise overflow(self.kernel, *large)

    @property
    def bytes(self) -> int:
        return int(self.native.bytes)


def _limits(rows: _core.NodeWeights) -> Any:
    """The largest number of a sub-forest in rows 0..r, for each r."""
    start, node = rows.start, rows.node
    last = np.full(len(rows), -1, np.int32)
    held = np.diff(start) > 0
    last[held] = node[start[1:][held] - 1]  # ascending within a row
    return np.maximum.accumulate(last) if len(last) else last


class ForestKernel(Kernel):
    r"""The forest kernel of Zhang, Zhang & Li (2010): subset trees that two packed forests are expected to share.

    .. math:: K(f_1, f_2) = \sum_{t_1 \in f_1} \sum_{t_2 \in f_2} P(t_1 | f_1) P(t_2 | f_2) K_{SST}(t_1, t_2)

    without ever listing a tree. For forests of one tree it is `SubsetTree`.

    Parameters
    ----------
    lam : float in (0, 1]
        Decay a production.
    lam_bounds : pair of numbers or "fixed"
        As for `Subtree`.

    Notes
    -----
    Costs the pairs of hyper-edges with one production and a child's production in common; equal sub-forests, of which
    a collection has many, are compared once. Only inside probabilities are divided by (the paper's eq. 9 divides by
    outside ones, which may be 0). `Forest.prune` and `Forest.temperature` change the forests themselves.

    Examples
    --------
    >>> from treelet import Forest, ForestKernel
    >>> forest = Forest.from_trees([(0.5, "(S (A x))"), (0.5, "(S (B x))")])
    >>> ForestKernel(lam=1)([forest, "(S (A x))"])
    array([[1.5, 1.5],
           [1.5, 3. ]])
    """

    _tunable = ("lam",)
    _always_shown = ("lam",)

    def __init__(self, lam: float = 0.4, *, lam_bounds: Bounds = DECAYS) -> None:
        self.lam = lam
        self.lam_bounds = lam_bounds
        self.validate()

    def validate(self) -> None:
        check_tunable(self, "lam", 0, 1)

    def coerce(self, X: Any) -> ForestBank:
        return as_forestbank(X)

    def evaluator(self, X: Any, Y: Any | None = None, *, logs: bool = False) -> ForestEvaluator:
        self.validate()
        return ForestEvaluator(self, self.coerce(X), None if Y is None else self.coerce(Y), logs)

    def self_values(self, X: Any, *, logs: bool = False) -> Vector:
        self.validate()
        store, rows = self.coerce(X).columns()
        values: Vector = _core.ForestColumns.self_values(store, rows, logs, float(self.lam))
        return values

    def _gradient(self, X: Any) -> tuple[Matrix, list[Matrix]]:
        self.validate()
        store, rows = self.coerce(X).columns()
        K, by_lam, by_mu = (np.empty((len(rows), len(rows))) for _ in range(3))
        if len(rows):
            large = _core.ForestColumns.gradient(store, rows, rows, K, by_lam, by_mu, float(self.lam))
            if large is not None:
                raise overflow(self, *large)
        return K, [by_lam]
