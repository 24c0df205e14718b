"""Kernels that transform the values of another kernel: normalized, Gaussian, polynomial."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from treelet.checks import check_number, check_tunable
from treelet.errors import KernelOverflowError
from treelet.kernels.algebra import tightly
from treelet.kernels.base import Kernel, WrappedKernel
from treelet.kernels.on import On
from treelet.kernels.pairwise import Evaluator, Matrix, Needs, Pairwise, Vector
from treelet.kernels.tuning import WIDTHS, Bounds
from treelet.kernels.values import (
    check_degree,
    check_inner,
    check_logs,
    check_values,
    fits,
    inverse_roots,
    log_of,
    moved,
    number,
    on_diagonal,
    raise_to,
    runs,
    squared_distances,
    surely_fits,
    to_logs,
)

if TYPE_CHECKING:
    from treelet.device.launching import Device


# --- distances in the feature space of a kernel -----------------------------------------------------------------------

_ROUNDING = 32 * np.finfo(np.float64).eps


class _DistanceEvaluator(Evaluator):
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
            squared[squared <= _ROUNDING * (own + columns)] = 0
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
        return _DistanceEvaluator(self.kernel.evaluator(X, Y), rows, columns, same=Y is None)

    def prepare(self, X: Any, Y: Any | None, threads: int) -> None:
        self.kernel.cache_self_values(X, threads)
        if Y is not None:
            self.kernel.cache_self_values(Y, threads)
        self.kernel.prepare(X, Y, threads)

    def needs(self, X: Any, enough: int = 0) -> Needs:
        return self.kernel.needs(X, enough)

    def __repr__(self) -> str:
        return f"{tightly(self.kernel)}.distance()"


# --- kernels that transform the values of another kernel: normalized, Gaussian, polynomial ----------------------------

_EXCESS = 1e-9
"""Largest excess of a normalized value over 1 that rounding can cause."""


class _NormalizedEvaluator(Evaluator):
    """Multiplies values by the inverse square roots of the self-values."""

    def __init__(
        self, kernel: Normalized, inner: Evaluator, rows: Vector, columns: Vector, *, same: bool, logs: bool
    ) -> None:
        self.kernel, self.inner, self.same, self.logs = kernel, inner, same, logs
        self.rows, self.columns = rows, columns
        self.n_rows, self.n_columns = inner.n_rows, inner.n_columns

    def fill(self, begin: int, end: int, out: Matrix, halves: bool) -> None:
        if halves:
            out[...] = 0
        self.inner.fill(begin, end, out, halves)
        out *= self.rows[begin:end, None]
        out *= self.columns[None, : out.shape[1]]
        if self.logs:
            to_logs(out)
            check_logs(self.kernel, out, begin, halves)
        if self.same:
            self._fill_diagonal(begin, out, self.rows[begin:end] > 0)

    def _fill_diagonal(self, begin: int, out: Matrix, positive: Any) -> None:
        """Set the diagonal to exactly 1, where a division would leave a rounding error."""
        own = on_diagonal(self.xp, begin, out)
        out[own] = np.where(positive, 0.0 if self.logs else 1.0, out[own])

    def on(self, device: Device) -> Evaluator:
        return moved(self, device, "rows", "columns")


class _LogNormalizedEvaluator(_NormalizedEvaluator):
    """Subtracts half the logarithms of the self-values, for values that do not fit a float64."""

    def fill(self, begin: int, end: int, out: Matrix, halves: bool) -> None:
        if halves:
            out[...] = 0
        self.inner.fill(begin, end, out, halves)
        for rows, values in runs(begin, out):
            if halves:  # values right of the diagonal are undefined
                values[:, rows.start + 1 :] = -np.inf
            shift = 0.5 * (self.rows[rows, None] + self.columns[: out.shape[1]])
            with np.errstate(invalid="ignore"):  # 0 / 0
                values[...] = np.where(np.isfinite(shift) & np.isfinite(values), values - shift, -np.inf)
        if not self.logs:
            np.exp(out, out=out)
        if self.same:
            self._fill_diagonal(begin, out, np.isfinite(self.rows[begin:end]))


class Normalized(WrappedKernel):
    r"""Normalized kernel, written ``kernel.normalized()``: the cosine in the feature space.

    The value is 0 if the self-value of an example is 0. If self-values do not fit a float64, the
    computation uses logarithms.

    Parameters
    ----------
    kernel : Kernel
        Kernel to normalize.

    Notes
    -----
    The kernel is

    .. math:: K(x, y) / \sqrt{K(x, x) K(y, y)}

    Examples
    --------
    >>> from treelet import SubsetTree
    >>> SubsetTree(lam=1).normalized()(["(NP (D a) (N dog))", "(NP (D a) (N cat))"])
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    _uses_self_values = True

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.validate()

    def validate(self) -> None:
        check_inner(self)

    def evaluator(self, X: Any, Y: Any | None = None, *, logs: bool = False) -> Evaluator:
        self.validate()
        X = self.coerce(X)
        Y = None if Y is None else self.coerce(Y)
        rows = self.kernel.self_values(X)
        columns = rows if Y is None else self.kernel.self_values(Y)
        if not (surely_fits(rows) and surely_fits(columns)):
            row_logs = self.kernel.self_values(X, logs=True)
            column_logs = row_logs if Y is None else self.kernel.self_values(Y, logs=True)
            if not (fits(row_logs) and fits(column_logs)):
                inner = self.kernel.evaluator(X, Y, logs=True)
                return _LogNormalizedEvaluator(self, inner, row_logs, column_logs, same=Y is None, logs=logs)
        row_roots = inverse_roots(rows)
        column_roots = row_roots if Y is None else inverse_roots(columns)
        inner = self.kernel.evaluator(X, Y)
        return _NormalizedEvaluator(self, inner, row_roots, column_roots, same=Y is None, logs=logs)

    def self_values(self, X: Any, *, logs: bool = False) -> Vector:
        positive = np.isfinite(self.kernel.self_values(X, logs=True))
        return np.where(positive, 0.0, -np.inf) if logs else positive.astype(float)

    def _gradient(self, X: Any) -> tuple[Matrix, list[Matrix]]:
        try:
            K, parts = self.kernel._gradient(X)
        except KernelOverflowError as error:
            raise KernelOverflowError(
                f"The gradient of {self!r} is computed from values that are not yet normalized, and they do not fit a "
                "float64. Start with a smaller lam, or leave out large examples."
            ) from error
        values = np.diag(K)
        positive = values > 0
        roots = np.where(positive, 1 / np.sqrt(np.where(positive, values, 1)), 0)
        N = K * np.outer(roots, roots)
        N[positive & positive[:, None] & np.eye(len(N), dtype=bool)] = 1
        gradient = []
        for part in parts:  # d(K / sqrt(a b)) = dK / sqrt(a b) - N (da / a + db / b) / 2
            own = np.diag(part) * roots**2 / 2
            gradient.append(part * np.outer(roots, roots) - N * (own[:, None] + own[None, :]))
        return N, gradient

    def __repr__(self) -> str:
        return f"{tightly(self.kernel)}.normalized()"


def is_normalized(kernel: Any) -> bool:
    """Return whether a kernel is normalized, on any column."""
    return isinstance(kernel, Normalized) or (isinstance(kernel, On) and is_normalized(kernel.kernel))


def without_excess(values: Matrix) -> Matrix:
    """Set values of a normalized kernel to 1 or -1, in place, if they exceed these limits by rounding alone.

    A matrix contains the values as they were computed, because another pass over it takes time.
    """
    excess = np.abs(values) - 1
    rounding = (excess > 0) & (excess < _EXCESS)
    values[rounding] = np.sign(values[rounding])
    return values


class _GaussianEvaluator(Evaluator):
    """Computes the Gaussian function of distances in the feature space of an inner kernel."""

    def __init__(
        self, kernel: Gaussian, inner: Evaluator, rows: Vector, columns: Vector, *, same: bool, logs: bool
    ) -> None:
        self.kernel, self.sigma, self.inner, self.same, self.logs = kernel, float(kernel.sigma), inner, same, logs
        self.rows, self.columns = rows, columns
        self.n_rows, self.n_columns = inner.n_rows, inner.n_columns

    def fill(self, begin: int, end: int, out: Matrix, halves: bool) -> None:
        if halves:
            out[...] = 0
        self.inner.fill(begin, end, out, halves)
        with np.errstate(over="ignore", invalid="ignore"):
            for rows, values in runs(begin, out):
                own, columns = self.rows[rows, None], self.columns[: out.shape[1]]
                distance = squared_distances(own, values, columns)
                rounding = (distance < 0) & (distance > -1e-9 * np.maximum(own, columns))
                distance[rounding] = 0
                distance /= -self.sigma
                distance /= self.sigma
                if self.same:
                    distance[on_diagonal(self.xp, rows.start, values)] = 0
                values[...] = distance if self.logs else np.exp(distance)
        if not self.logs:
            check_values(self.kernel, out, begin, halves)

    def on(self, device: Device) -> Evaluator:
        return moved(self, device, "rows", "columns")


class Gaussian(WrappedKernel):
    r"""Gaussian kernel over another kernel, written ``kernel.gaussian(sigma)``.

    Values fall from 1 to 0 as the distance in the feature space of the inner kernel grows.

    Parameters
    ----------
    kernel : Kernel
        Kernel that defines the distance. Its values must fit a float64;
        ``kernel.normalized().gaussian(sigma)`` always fits.
    sigma : float, default 1.0
        Width, in (0, inf): the distance at which the value falls to 1/e.
    sigma_bounds : pair of numbers or "fixed", default (0.001, 100000)
        Range in which a Gaussian process may choose `sigma`. ``"fixed"`` keeps `sigma` as it is.

    Notes
    -----
    The kernel is

    .. math:: \exp\left(-\frac{K(x, x) - 2 K(x, y) + K(y, y)}{\sigma^2}\right)

    The denominator is :math:`\sigma^2`; other libraries use :math:`2 \sigma^2`.

    Examples
    --------
    >>> from treelet import Linear
    >>> Linear().gaussian(sigma=2.0)([[0.0], [2.0]]).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """

    _tunable = ("sigma",)
    _uses_self_values = True

    def __init__(self, kernel: Kernel, sigma: float = 1.0, *, sigma_bounds: Bounds = WIDTHS) -> None:
        self.kernel = kernel
        self.sigma = sigma
        self.sigma_bounds = sigma_bounds
        self.validate()

    def validate(self) -> None:
        check_inner(self)
        check_tunable(self, "sigma", 0, math.inf)

    def evaluator(self, X: Any, Y: Any | None = None, *, logs: bool = False) -> Evaluator:
        self.validate()
        X = self.coerce(X)
        Y = None if Y is None else self.coerce(Y)
        rows = self.kernel.diag(X)
        columns = rows if Y is None else self.kernel.diag(Y)
        return _GaussianEvaluator(self, self.kernel.evaluator(X, Y), rows, columns, same=Y is None, logs=logs)

    def self_values(self, X: Any, *, logs: bool = False) -> Vector:
        n = len(self.coerce(X))
        return np.zeros(n) if logs else np.ones(n)

    def _gradient(self, X: Any) -> tuple[Matrix, list[Matrix]]:
        K, parts = self.kernel._gradient(X)

        def distances(values: Matrix) -> Matrix:
            own = np.diag(values)
            return (own[:, None] - values) + (own[None, :] - values)

        distance = np.maximum(distances(K), 0) / self.sigma**2
        G = np.exp(-distance)
        return G, [2 * distance * G, *(-G * distances(part) / self.sigma**2 for part in parts)]

    def __repr__(self) -> str:
        bounds = "" if self.sigma_bounds == WIDTHS else f", sigma_bounds={self.sigma_bounds!r}"
        return f"{tightly(self.kernel)}.gaussian(sigma={number(self.sigma)}{bounds})"


class _PowerEvaluator(Evaluator):
    """Raises values to a power, in logarithms if the values themselves do not fit a float64."""

    def __init__(self, kernel: PolynomialOf, inner: Evaluator, logs: bool, inner_logs: bool) -> None:
        self.kernel, self.inner, self.logs, self.inner_logs = kernel, inner, logs, inner_logs
        self.n_rows, self.n_columns = inner.n_rows, inner.n_columns

    def fill(self, begin: int, end: int, out: Matrix, halves: bool) -> None:
        if halves:
            out[...] = 0
        self.inner.fill(begin, end, out, halves)
        degree, coef0 = int(self.kernel.degree), float(self.kernel.coef0)
        if self.inner_logs:
            np.logaddexp(out, log_of(coef0), out=out)
            out *= degree
            return
        with np.errstate(over="ignore"):
            out += coef0
        raise_to(out, degree, self.logs)
        (check_logs if self.logs else check_values)(self.kernel, out, begin, halves)

    def on(self, device: Device) -> Evaluator:
        return moved(self, device)


class PolynomialOf(WrappedKernel):
    r"""Polynomial kernel over another kernel, written ``kernel.polynomial(degree, coef0)``.

    The features of this kernel are products of `degree` features of the inner kernel, or of up to
    `degree` features if `coef0` is positive.

    Parameters
    ----------
    kernel : Kernel
        Inner kernel.
    degree : int, default 2
        Number of features per product, at least 1.
    coef0 : float, default 0.0
        Weight of products of fewer features, in [0, inf).

    Notes
    -----
    The kernel is

    .. math:: (K(x, y) + c_0)^{\mathrm{degree}}

    Examples
    --------
    >>> from treelet import SubsetTree
    >>> SubsetTree(lam=1).polynomial(degree=2, coef0=1.0)(["(NP (D a) (N dog))"], ["(NP (D a) (N cat))"])
    array([[16.]])
    """

    def __init__(self, kernel: Kernel, degree: int = 2, coef0: float = 0.0) -> None:
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.validate()

    def validate(self) -> None:
        check_inner(self)
        check_degree(self)
        check_number(self, "coef0", 0, math.inf, low_included=True, of_kernel=True)

    def evaluator(self, X: Any, Y: Any | None = None, *, logs: bool = False) -> Evaluator:
        self.validate()
        X = self.coerce(X)
        Y = None if Y is None else self.coerce(Y)
        inner_logs = logs and not all(
            fits(self.kernel.self_values(part, logs=True)) for part in (X, Y) if part is not None
        )
        return _PowerEvaluator(self, self.kernel.evaluator(X, Y, logs=inner_logs), logs, inner_logs)

    def needs(self, X: Any, enough: int = 0) -> Needs:
        return super().needs(X, enough).with_scratch()

    def self_values(self, X: Any, *, logs: bool = False) -> Vector:
        degree, coef0 = int(self.degree), float(self.coef0)
        values = self.kernel.self_values(X, logs=logs)
        if logs:
            result: Vector = degree * np.logaddexp(values, log_of(coef0))
            return result
        with np.errstate(over="ignore"):
            values = values + coef0
        raise_to(values, degree, False)
        return values

    def _gradient(self, X: Any) -> tuple[Matrix, list[Matrix]]:
        K, parts = self.kernel._gradient(X)
        degree, base = int(self.degree), K + float(self.coef0)
        slope = degree * base ** (degree - 1)
        return base**degree, [slope * part for part in parts]

    def __repr__(self) -> str:
        inner, coef0 = tightly(self.kernel), "" if self.coef0 == 0 else f", coef0={number(self.coef0)}"
        return f"{inner}.polynomial(degree={number(self.degree)}{coef0})"
