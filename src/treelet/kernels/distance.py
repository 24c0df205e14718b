"""Distances in the feature space of a kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treelet.kernels.algebra import tightly
from treelet.kernels.base import Kernel
from treelet.kernels.pairwise import Evaluator, Matrix, Needs, Pairwise, Vector
from treelet.kernels.values import check_inner, moved, on_diagonal, runs, squared_distances

if TYPE_CHECKING:
    from treelet.device.launching import Device

ROUNDING = 32 * np.finfo(np.float64).eps


class DistanceEvaluator(Evaluator):
    """Computes square roots of squared distances. Residues that rounding can leave count as 0."""

    def __init__(self, inner: Evaluator, rows: Vector, columns: Vector, *, same: bool) -> None:
        self.inner, self.rows, self.columns, self.same = inner, rows, columns, same
        self.n_rows, self.n_columns = inner.n_rows, inner.n_columns

    def fill(self, begin: int, end: int, out: Matrix, halves: bool) -> None:
        if halves:
            out[...] = 0
        self.inner.fill(begin, end, out, halves)
        for rows, values in runs(begin, out):
            own, columns = self.rows[rows, None], self.columns[: out.shape[1]]
            squared = squared_distances(own, values, columns)
            squared[squared <= ROUNDING * (own + columns)] = 0
            if self.same:
                squared[on_diagonal(self.xp, rows.start, values)] = 0
            np.sqrt(squared, out=values)

    def on(self, device: Device) -> Evaluator:
        return moved(self, device, "rows", "columns")


class Distance(Pairwise):
    r"""Distance in the feature space of a kernel, written ``kernel.distance()``.

    Call a distance like a kernel to get a matrix. A distance is not a kernel, so it cannot be added
    or multiplied. scikit-learn accepts the matrix with ``metric="precomputed"``.

    Parameters
    ----------
    kernel : Kernel
        Kernel whose values fit a float64. ``kernel.normalized().distance()`` always fits; its
        values lie between 0 and the square root of 2 if no kernel value is negative.

    Notes
    -----
    The distance is

    .. math:: \sqrt{K(x, x) - 2 K(x, y) + K(y, y)}

    The result is never negative or NaN. If the similarity is not positive semi-definite, which can
    happen with `Smoothed`, a negative square counts as 0. A square that rounding alone can leave
    also counts as 0. Equal examples have distance 0.

    Examples
    --------
    >>> from treelet import SubsetTree
    >>> SubsetTree(lam=1).normalized().distance()(["(NP (D a) (N dog))", "(NP (D a) (N cat))", "(D a)"]).round(3)
    array([[0.   , 1.   , 1.088],
           [1.   , 0.   , 1.088],
           [1.088, 1.088, 0.   ]])
    """

    is_distance = True

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.validate()

    def validate(self) -> None:
        check_inner(self)

    def coerce(self, X: Any) -> Any:
        return self.kernel.coerce(X)

    def with_cached_index(self, X: Any) -> Any:
        return self.kernel.with_cached_index(X)

    def evaluator(self, X: Any, Y: Any | None = None, *, logs: bool = False) -> Evaluator:
        X = self.coerce(X)
        Y = None if Y is None else self.coerce(Y)
        rows = self.kernel.diag(X)
        columns = rows if Y is None else self.kernel.diag(Y)
        return DistanceEvaluator(self.kernel.evaluator(X, Y), rows, columns, same=Y is None)

    def prepare(self, X: Any, Y: Any | None, threads: int) -> None:
        self.kernel.cache_self_values(X, threads)
        if Y is not None:
            self.kernel.cache_self_values(Y, threads)
        self.kernel.prepare(X, Y, threads)

    def row_pairs(self, X: Any, Y: Any | None = None) -> Vector:
        return self._with_self_pairs(X, Y)

    def needs(self, X: Any, enough: int = 0) -> Needs:
        return self.kernel.needs(X, enough)

    def __repr__(self) -> str:
        return f"{tightly(self.kernel)}.distance()"
