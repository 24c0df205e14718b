"""Kernels between feature vectors."""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from treelet.checks import check_number
from treelet.errors import KernelOverflowError
from treelet.kernels.base import Kernel
from treelet.kernels.pairwise import Evaluator, Matrix, Needs, Vector, named_pair
from treelet.kernels.values import check_degree, check_logs, first_place, raise_to, to_logs
from treelet.structures.vectors import Vectors, as_vectors

if TYPE_CHECKING:
    from treelet.device.launching import Device

_COLUMNS = 1024  # per block
_MOST_ROWS = 64  # per block


class _VectorEvaluator(Evaluator):
    """Computes inner products of two sets of vectors, one strip of the matrix at a time."""

    cheap = True
    there = False  # whether the matrices are on a device

    def __init__(self, kernel: _VectorKernel, rows: Vectors, columns: Vectors | None, logs: bool) -> None:
        self.kernel, self.logs = kernel, logs
        left, right = (rows.values, rows.values) if columns is None else rows.matched(columns)
        self.n_rows, self.n_columns = left.shape[0], right.shape[0]
        self.left, self.right = left, right
        self.sparse = not isinstance(left, np.ndarray)
        if self.sparse:
            starts = range(0, self.n_columns, _COLUMNS)
            self.blocks = [right[start : start + _COLUMNS].T.tocsr() for start in starts]

    def fill(self, begin: int, end: int, out: Matrix, halves: bool) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            if self.sparse:
                self._fill_sparse(begin, end, out)
            elif self.there:
                out[...] = self.left[begin:end] @ self.right[: out.shape[1]].T
            else:
                self._fill_dense(begin, end, out)
        place = first_place(~np.isfinite(out), begin, halves)
        if place is None:
            self.kernel._of_products(out, self.logs)
            if self.logs:
                check_logs(self.kernel, out, begin, halves)
            else:
                place = first_place(~np.isfinite(out), begin, halves)
        if place is not None:
            raise KernelOverflowError(
                f"The value of {self.kernel!r} for {named_pair(*place)} is too large for a float64. Scale the features down."
            )

    def on(self, device: Device) -> Evaluator:
        """Return an evaluator on the device. Sparse matrices become dense if there is room."""
        sides = [self.left] if self.left is self.right else [self.left, self.right]
        if self.sparse and 64 * sum(side.shape[0] * side.shape[1] for side in sides) > device.free_bytes():
            return super().on(device)
        there = [device.array(side.toarray() if self.sparse else side, np.float64) for side in sides]
        moved = copy.copy(self)
        moved.left, moved.right, moved.sparse, moved.blocks = there[0], there[-1], False, []
        moved.there, moved.xp = True, device.xp
        return moved

    def _fill_dense(self, begin: int, end: int, out: Matrix) -> None:
        # Compute whole blocks of a fixed grid for every strip. Products of matrices of other sizes can differ in
        # the last bit, and results must not depend on the number of threads.
        height = max(1, min(_MOST_ROWS, self.n_rows // 512))
        width = out.shape[1]
        for top in range(begin - begin % height, end, height):
            bottom = min(top + height, self.n_rows)
            first, last = max(top, begin), min(bottom, end)
            for start in range(0, width, _COLUMNS):
                block = self.left[top:bottom] @ self.right[start : start + _COLUMNS].T
                stop = min(start + _COLUMNS, width)
                out[first - begin : last - begin, start:stop] = block[first - top : last - top, : stop - start]

    def _fill_sparse(self, begin: int, end: int, out: Matrix) -> None:
        width = out.shape[1]
        rows = self.left[begin:end]
        for start in range(0, width, _COLUMNS):
            stop = min(start + _COLUMNS, width)
            out[:, start:stop] = (rows @ self.blocks[start // _COLUMNS]).toarray()[:, : stop - start]


class _VectorKernel(Kernel):
    """Base class of the kernels that are functions of the inner product of two vectors."""

    def coerce(self, X: Any) -> Vectors:
        return as_vectors(X)

    def needs(self, X: Any, enough: int = 0) -> Needs:
        values = self.coerce(X).values
        if isinstance(values, np.ndarray):
            return Needs(0, 0)
        return Needs(values.data.nbytes + values.indices.nbytes + values.indptr.nbytes, 0)

    def evaluator(self, X: Any, Y: Any | None = None, *, logs: bool = False) -> _VectorEvaluator:
        self.validate()
        return _VectorEvaluator(self, self.coerce(X), None if Y is None else self.coerce(Y), logs)

    def self_values(self, X: Any, *, logs: bool = False) -> Vector:
        self.validate()
        values = self.coerce(X).values
        with np.errstate(over="ignore"):
            if isinstance(values, np.ndarray):
                products: Vector = np.einsum("ij,ij->i", values, values)
            else:
                products = np.asarray(values.multiply(values).sum(axis=1), dtype=np.float64).ravel()
            self._of_products(products, logs)
        return products

    def _of_products(self, out: Matrix | Vector, logs: bool) -> None:
        """Convert inner products to kernel values in place, or to logarithms (NaN if negative)."""
        raise NotImplementedError


class Linear(_VectorKernel):
    r"""Linear kernel: the inner product of two feature vectors.

    Examples may be 2-D arrays of any numeric type, SciPy sparse matrices, or lists of dicts
    ``{feature: value}``. Dicts are matched by feature name.

    Notes
    -----
    The kernel is

    .. math:: K(x, y) = x \cdot y

    Computation time is that of a matrix product, which is sparse for sparse matrices and dicts.

    Examples
    --------
    >>> from treelet import Linear
    >>> Linear()([[1, 2], [0, 1]])
    array([[5., 2.],
           [2., 1.]])
    >>> Linear()([{"dog": 1, "cat": 2}], [{"cat": 3}, {"cow": 1}])
    array([[6., 0.]])
    """

    def __init__(self) -> None:
        pass

    def _of_products(self, out: Matrix | Vector, logs: bool) -> None:
        if logs:
            to_logs(out)


class Polynomial(_VectorKernel):
    r"""Polynomial kernel between feature vectors: a power of their inner product.

    The features of this kernel are products of `degree` features, or of up to `degree` features if
    `coef0` is positive. Examples have the same forms as for `Linear`.

    Parameters
    ----------
    degree : int, default 2
        Number of features per product, at least 1.
    coef0 : float, default 0.0
        Weight of products of fewer features, in [0, inf).
    gamma : float, default 1.0
        Factor of the inner product, in (0, inf).

    Notes
    -----
    The kernel is

    .. math:: K(x, y) = (\gamma\, x \cdot y + c_0)^{\mathrm{degree}}

    Examples
    --------
    >>> from treelet import Polynomial
    >>> Polynomial(degree=2)([[1, 2]], [[0, 1], [1, 1]])
    array([[4., 9.]])
    """

    _always_shown = ("degree",)

    def __init__(self, degree: int = 2, coef0: float = 0.0, gamma: float = 1.0) -> None:
        self.degree = degree
        self.coef0 = coef0
        self.gamma = gamma
        self.validate()

    def validate(self) -> None:
        check_degree(self)
        check_number(self, "coef0", 0, math.inf, low_included=True, of_kernel=True)
        check_number(self, "gamma", 0, math.inf, of_kernel=True)

    def _of_products(self, out: Matrix | Vector, logs: bool) -> None:
        with np.errstate(over="ignore"):
            out *= float(self.gamma)
            out += float(self.coef0)
        raise_to(out, int(self.degree), logs)
