"""Kernels made of other kernels: sums, products, multiples, normalization, Gaussian, powers; and distances."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from treelet.checks import check_number, check_tunable, wrong
from treelet.errors import KernelOverflowError, ParameterError
from treelet.kernels.base import Kernel
from treelet.kernels.on import On
from treelet.kernels.pairwise import Evaluator, Matrix, Needs, Pairwise, Vector
from treelet.kernels.parameters import WIDTHS, Bounds
from treelet.kernels.values import (
    LARGE,
    CellEvaluator,
    check_degree,
    check_inner,
    check_logs,
    check_values,
    fits,
    inverse_roots,
    raise_to,
    to_logs,
)

_FACTORS: Bounds = (1e-5, 1e5)

# --- text form of kernels --------------------------------------------------------------------------------------


def _number(value: Any) -> str:
    """Return the text of a parameter; NumPy numbers are printed like Python numbers."""
    return repr(value.item() if isinstance(value, np.generic) else value)


def _wrapped(kernel: Kernel) -> str:
    return f"({kernel!r})" if isinstance(kernel, Sum) and kernel._is_pair else repr(kernel)


def _tightly(kernel: Kernel) -> str:
    """Return the text of a kernel as an operand, in brackets if it contains operators.

    Brackets are needed on the right of a ``*`` and before a dot.
    """
    written_with_operators = isinstance(kernel, Scale) or (isinstance(kernel, _Combined) and kernel._is_pair)
    return f"({kernel!r})" if written_with_operators else repr(kernel)


# --- a constant -------------------------------------------------------------------------------------------------


class Constant(Kernel):
    """Constant kernel: the same value for all pairs.

    A number in a sum of kernels becomes a `Constant`.

    Parameters
    ----------
    value : float, default 1.0
        The value, in [0, inf).
    value_bounds : pair of numbers or "fixed", default (0.00001, 100000)
        Range in which a Gaussian process may choose `value`.

    Examples
    --------
    >>> from treelet import SubsetTree
    >>> (SubsetTree(lam=1) + 1)(["(D the)"])
    array([[2.]])
    """

    _always_shown = ("value",)
    _tunable = ("value",)

    def __init__(self, value: float = 1.0, *, value_bounds: Bounds = _FACTORS) -> None:
        self.value = value
        self.value_bounds = value_bounds
        self.validate()

    def validate(self) -> None:
        check_tunable(self, "value", 0, math.inf, low_included=True)

    def coerce(self, X: Any) -> Any:
        return X

    def evaluator(self, X: Any, Y: Any | None = None, *, logs: bool = False) -> Evaluator:
        self.validate()
        value = _log_of(float(self.value)) if logs else float(self.value)
        shape = len(X), len(X if Y is None else Y)
        return CellEvaluator(self, [], lambda cells, begin, out, halves: out.fill(value), shape=shape)

    def self_values(self, X: Any, *, logs: bool = False) -> Vector:
        return np.full(len(X), _log_of(float(self.value)) if logs else float(self.value))

    def _gradient(self, X: Any) -> tuple[Matrix, list[Matrix]]:
        K = np.full((len(X), len(X)), float(self.value))
        return K, [K.copy()]


def _log_of(value: float) -> float:
    """Return the logarithm of a nonnegative number."""
    return math.log(value) if value > 0 else -math.inf


def _mended(values: Vector) -> Vector:
    """Replace NaN, the product of 0 and a value that does not fit a float64, with 0."""
    return np.where(np.isnan(values), 0.0, values)


# --- several kernels on the same data ---------------------------------------------------------------------------


class _Combined(Kernel):
    """Base class of sums and products: several kernels on the same data, each a named parameter."""

    _operations: ClassVar[tuple[np.ufunc, np.ufunc]]
    """The functions that combine two values, and the logarithms of two values."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Kernel: ...

    def __init__(self, *kernels: Kernel, **named: Kernel) -> None:
        owner = type(self).__name__
        if kernels and named:
            raise ParameterError(f"{owner} takes kernels by position or by name, not both. Pass all kernels by name.")
        parts = {f"k{position}": kernel for position, kernel in enumerate(kernels, 1)} | named
        if not parts:
            raise ParameterError(f"{owner} needs at least one kernel.")
        for name, kernel in parts.items():
            if not name.isidentifier() or "__" in name or name.startswith("_") or hasattr(type(self), name):
                raise ParameterError(
                    f"A kernel in {owner} cannot be named {name!r}. Choose an identifier without '__' that does not start "
                    "with '_' and is not an attribute of all kernels."
                )
            setattr(self, name, kernel)
        self._names = list(parts)
        self.validate()

    def _parameter_names(self) -> list[str]:
        return self._names

    @classmethod
    def _unknown(cls, names: Iterable[str]) -> list[str]:
        return []  # any name is allowed

    def _parts(self) -> list[Kernel]:
        """Return the kernels, in order."""
        return [getattr(self, name) for name in self._names]

    def validate(self) -> None:
        for name, kernel in zip(self._names, self._parts(), strict=True):
            if not isinstance(kernel, Kernel):
                raise wrong(name, "a kernel", kernel, of=self)
            kernel.validate()

    def coerce(self, X: Any) -> Any:
        for kernel in self._parts():
            X = kernel.coerce(X)
        return X

    def with_cached_index(self, X: Any) -> Any:
        for kernel in self._parts():
            X = kernel.with_cached_index(X)
        return X

    def prepare(self, X: Any, Y: Any | None, threads: int) -> None:
        for kernel in self._parts():
            kernel.prepare(X, Y, threads)

    def cache_self_values(self, X: Any, threads: int) -> None:
        for kernel in self._parts():
            kernel.cache_self_values(X, threads)

    def evaluator(self, X: Any, Y: Any | None = None, *, logs: bool = False) -> Evaluator:
        self.validate()
        X = self.coerce(X)
        Y = None if Y is None else self.coerce(Y)
        parts = [kernel.evaluator(X, Y, logs=logs) for kernel in self._parts()]
        return CellEvaluator(self, parts, self._combine, logs=logs)

    def _combine(self, cells: CellEvaluator, begin: int, out: Matrix, halves: bool) -> None:
        for part in cells.parts[1:]:
            other = cells.xp.zeros_like(out)
            part.fill(begin, begin + len(out), other, halves)
            with np.errstate(over="ignore", invalid="ignore"):
                self._operations[cells.logs](out, other, out=out)
        if not cells.logs:
            check_values(self, out, begin, halves)

    def self_values(self, X: Any, *, logs: bool = False) -> Vector:
        X = self.coerce(X)
        operation = self._operations[logs]
        first, *others = (kernel.self_values(X, logs=logs) for kernel in self._parts())
        result: Vector = first.copy()
        with np.errstate(over="ignore", invalid="ignore"):
            for values in others:
                operation(result, values, out=result)
        return result if logs else _mended(result)

    def needs(self, X: Any, enough: int = 0) -> Needs:
        return super().needs(X, enough).with_scratch()

    @property
    def _is_pair(self) -> bool:
        """Whether the kernel is printed with an operator."""
        return self._names == ["k1", "k2"]


class Sum(_Combined):
    """Sum of kernels, written ``k1 + k2`` or ``Sum(syntax=k1, words=k2, ...)``.

    The features of a sum are the features of all its kernels. Kernels passed by name are parameters
    of the sum: ``Sum(syntax=..., words=...).set_params(syntax__lam=0.2)``. In a grid search over an
    estimator, the name is ``kernel__syntax__lam``. Multiples and wrapped kernels pass such names on
    to the inner kernel.

    Parameters
    ----------
    *kernels : Kernel
        Kernels without names, which become ``k1``, ``k2`` and so on.
    **named : Kernel
        Kernels with names of your choice. Kernels with and without names cannot be mixed.

    Examples
    --------
    >>> from treelet import PartialTree, SubsetTree, Sum
    >>> kernel = Sum(syntax=0.6 * SubsetTree(lam=0.4).normalized(), shape=0.4 * PartialTree())
    >>> kernel.set_params(syntax__lam=0.2)
    Sum(syntax=0.6 * SubsetTree(lam=0.2).normalized(), shape=0.4 * PartialTree(lam=0.4, mu=0.4))
    """

    _operations = (np.add, np.logaddexp)

    def _gradient(self, X: Any) -> tuple[Matrix, list[Matrix]]:
        X = self.coerce(X)
        (K, by_all), *others = (kernel._gradient(X) for kernel in self._parts())
        for values, by_one in others:
            K, by_all = K + values, by_all + by_one
        return K, by_all

    def __repr__(self) -> str:
        return f"{self.k1!r} + {_wrapped(self.k2)}" if self._is_pair else super().__repr__()


class Product(_Combined):
    """Product of kernels, written ``k1 * k2`` or ``Product(syntax=k1, words=k2, ...)``.

    The features of a product are all combinations of features, one from each kernel. Names work as
    for `Sum`.

    Parameters
    ----------
    *kernels : Kernel
        Kernels without names, which become ``k1``, ``k2`` and so on.
    **named : Kernel
        Kernels with names of your choice. Kernels with and without names cannot be mixed.

    Examples
    --------
    >>> from treelet import SubsetTree, Subtree
    >>> (SubsetTree(lam=1) * Subtree())(["(NP (D the) (N apple))", "(D the)"])
    array([[18.,  1.],
           [ 1.,  1.]])
    """

    _operations = (np.multiply, np.add)

    def _gradient(self, X: Any) -> tuple[Matrix, list[Matrix]]:
        X = self.coerce(X)
        (K, by_all), *others = (kernel._gradient(X) for kernel in self._parts())
        for values, by_one in others:
            by_all = [part * values for part in by_all] + [K * part for part in by_one]
            K = K * values
        return K, by_all

    def __repr__(self) -> str:
        return f"{_wrapped(self.k1)} * {_tightly(self.k2)}" if self._is_pair else super().__repr__()


# --- a single kernel --------------------------------------------------------------------------------------------


class _Wrapper(Pairwise):
    """A function of the values of a single inner kernel, on the same data."""

    kernel: Kernel
    _uses_self_values: ClassVar[bool] = False
    """Whether an evaluator needs the self-values of the inner kernel."""

    def validate(self) -> None:
        check_inner(self)

    def coerce(self, X: Any) -> Any:
        return self.kernel.coerce(X)

    def with_cached_index(self, X: Any) -> Any:
        return self.kernel.with_cached_index(X)

    def prepare(self, X: Any, Y: Any | None, threads: int) -> None:
        if self._uses_self_values:
            self.cache_self_values(X, threads)
            if Y is not None:
                self.cache_self_values(Y, threads)
        self.kernel.prepare(X, Y, threads)

    def cache_self_values(self, X: Any, threads: int) -> None:
        self.kernel.cache_self_values(X, threads)

    def needs(self, X: Any, enough: int = 0) -> Needs:
        return self.kernel.needs(X, enough)


class Scale(_Wrapper, Kernel):
    """Multiple of a kernel, written ``factor * kernel``.

    Parameters
    ----------
    factor : float
        Factor of all values, in [0, inf).
    kernel : Kernel
        Inner kernel.
    factor_bounds : pair of numbers or "fixed", default (0.00001, 100000)
        Range in which a Gaussian process may choose `factor`.

    Examples
    --------
    >>> from treelet import SubsetTree
    >>> (0.5 * SubsetTree(lam=1))(["(NP (D the) (N apple))"])
    array([[3.]])
    """

    _tunable = ("factor",)
    _name_in_messages = "Scale (factor * kernel)"

    def __init__(self, factor: float, kernel: Kernel, *, factor_bounds: Bounds = _FACTORS) -> None:
        self.factor = factor
        self.kernel = kernel
        self.factor_bounds = factor_bounds
        self.validate()

    def validate(self) -> None:
        check_tunable(self, "factor", 0, math.inf, low_included=True)
        check_inner(self)

    def evaluator(self, X: Any, Y: Any | None = None, *, logs: bool = False) -> Evaluator:
        self.validate()
        return CellEvaluator(self, [self.kernel.evaluator(X, Y, logs=logs)], self._multiply, logs=logs)

    def _multiply(self, cells: CellEvaluator, begin: int, out: Matrix, halves: bool) -> None:
        factor = float(self.factor)
        if cells.logs:
            out += _log_of(factor)
        else:
            with np.errstate(over="ignore"):
                out *= factor
            check_values(self, out, begin, halves)

    def self_values(self, X: Any, *, logs: bool = False) -> Vector:
        inner = self.kernel.self_values(X, logs=logs)
        with np.errstate(over="ignore", invalid="ignore"):
            return inner + _log_of(float(self.factor)) if logs else _mended(inner * float(self.factor))

    def _gradient(self, X: Any) -> tuple[Matrix, list[Matrix]]:
        K, parts = self.kernel._gradient(X)
        factor = float(self.factor)
        return factor * K, [factor * K, *(factor * part for part in parts)]

    def __repr__(self) -> str:
        if self.factor_bounds != _FACTORS:
            return super().__repr__()
        return f"{_number(self.factor)} * {_tightly(self.kernel)}"


# --- distances in the feature space of a kernel -----------------------------------------------------------------------

_ROUNDING = 32 * np.finfo(np.float64).eps
"""Relative size of a squared distance that rounding alone can leave."""


def _runs(begin: int, out: Any) -> Iterator[tuple[slice, Any]]:
    """Yield a strip in parts: the rows of the matrix, and their values.

    On the CPU each part is one row, which fits the cache. On a device, one part has all rows.
    """
    height = 1 if isinstance(out, np.ndarray) else max(1, len(out))
    for row in range(0, len(out), height):
        yield slice(begin + row, begin + row + height), out[row : row + height]


def _diagonal(xp: Any, begin: int, values: Any) -> tuple[Any, Any]:
    """Return the index of the diagonal cells of a strip, as arrays of the module `xp`."""
    row = xp.arange(len(values))
    return row, row + begin


def _squared_distances(own: Vector, values: Matrix, others: Vector) -> Matrix:
    """Return K(x, x) - 2 K(x, y) + K(y, y) from the self-values of x, the values, and those of y."""
    distance: Matrix = own - values
    distance += others - values  # symmetric, and without doubling a large value
    return distance


class Distance(_Wrapper):
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
    _uses_self_values = True

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.validate()

    def evaluator(self, X: Any, Y: Any | None = None, *, logs: bool = False) -> Evaluator:
        X = self.coerce(X)
        Y = None if Y is None else self.coerce(Y)
        rows, columns = self.kernel.diag(X), None if Y is None else self.kernel.diag(Y)
        return CellEvaluator(self, [self.kernel.evaluator(X, Y)], self._roots, rows=rows, columns=columns)

    def _roots(self, cells: CellEvaluator, begin: int, out: Matrix, halves: bool) -> None:
        for rows, values in _runs(begin, out):
            own, columns = cells.rows[rows, None], cells.columns[: out.shape[1]]
            squared = _squared_distances(own, values, columns)
            squared[squared <= _ROUNDING * (own + columns)] = 0
            if cells.same:
                squared[_diagonal(cells.xp, rows.start, values)] = 0
            np.sqrt(squared, out=values)

    def __repr__(self) -> str:
        return f"{_tightly(self.kernel)}.distance()"


# --- normalized, Gaussian and polynomial kernels ----------------------------------------------------------------


class Normalized(_Wrapper, Kernel):
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

    def evaluator(self, X: Any, Y: Any | None = None, *, logs: bool = False) -> Evaluator:
        self.validate()
        X = self.coerce(X)
        Y = None if Y is None else self.coerce(Y)
        rows = self.kernel.self_values(X)
        columns = rows if Y is None else self.kernel.self_values(Y)
        # Self-values in this range fit plain arithmetic, which is decided without logarithms. A 0 is not in the range,
        # because it may be a value that is too small for a float64.
        smallest, largest = math.exp(-LARGE), math.exp(LARGE)
        if not all(bool(((values >= smallest) & (values <= largest)).all()) for values in (rows, columns)):
            row_logs = self.kernel.self_values(X, logs=True)
            column_logs = None if Y is None else self.kernel.self_values(Y, logs=True)
            if not (fits(row_logs) and (column_logs is None or fits(column_logs))):
                inner = self.kernel.evaluator(X, Y, logs=True)
                return CellEvaluator(self, [inner], self._subtract_logs, logs=logs, rows=row_logs, columns=column_logs)
        inner, row_roots = self.kernel.evaluator(X, Y), inverse_roots(rows)
        column_roots = None if Y is None else inverse_roots(columns)
        return CellEvaluator(self, [inner], self._divide, logs=logs, rows=row_roots, columns=column_roots)

    def _divide(self, cells: CellEvaluator, begin: int, out: Matrix, halves: bool) -> None:
        """Multiply by the inverse square roots of the self-values."""
        own = cells.rows[begin : begin + len(out)]
        out *= own[:, None]
        out *= cells.columns[None, : out.shape[1]]
        if cells.logs:
            to_logs(out)
            check_logs(self, out, begin, halves)
        self._fill_diagonal(cells, begin, out, own > 0)

    def _subtract_logs(self, cells: CellEvaluator, begin: int, out: Matrix, halves: bool) -> None:
        """Subtract half the logarithms of the self-values, for values that do not fit a float64."""
        for rows, values in _runs(begin, out):
            if halves:  # values right of the diagonal are undefined
                values[:, rows.start + 1 :] = -np.inf
            shift = 0.5 * (cells.rows[rows, None] + cells.columns[: out.shape[1]])
            with np.errstate(invalid="ignore"):  # 0 / 0
                values[...] = np.where(np.isfinite(shift) & np.isfinite(values), values - shift, -np.inf)
        if not cells.logs:
            np.exp(out, out=out)
        self._fill_diagonal(cells, begin, out, np.isfinite(cells.rows[begin : begin + len(out)]))

    def _fill_diagonal(self, cells: CellEvaluator, begin: int, out: Matrix, positive: Any) -> None:
        """Set the diagonal to exactly 1, where a division would leave a rounding error."""
        if cells.same:
            own = _diagonal(cells.xp, begin, out)
            out[own] = np.where(positive, 0.0 if cells.logs else 1.0, out[own])

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
        return f"{_tightly(self.kernel)}.normalized()"


def without_excess(kernel: Pairwise, values: Matrix) -> Matrix:
    """Set values of a normalized kernel to 1 or -1, in place, if they exceed these limits by rounding alone.

    A matrix contains the values as they were computed, because another pass over it takes time. Values of other kernels
    do not change.
    """
    while isinstance(kernel, On):
        kernel = kernel.kernel
    if isinstance(kernel, Normalized):
        excess = np.abs(values) - 1
        rounding = (excess > 0) & (excess < 1e-9)
        values[rounding] = np.sign(values[rounding])
    return values


class Gaussian(_Wrapper, Kernel):
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
        rows, columns = self.kernel.diag(X), None if Y is None else self.kernel.diag(Y)
        inner = self.kernel.evaluator(X, Y)
        return CellEvaluator(self, [inner], self._bell, logs=logs, rows=rows, columns=columns)

    def _bell(self, cells: CellEvaluator, begin: int, out: Matrix, halves: bool) -> None:
        sigma = float(self.sigma)
        with np.errstate(over="ignore", invalid="ignore"):
            for rows, values in _runs(begin, out):
                own, columns = cells.rows[rows, None], cells.columns[: out.shape[1]]
                distance = _squared_distances(own, values, columns)
                rounding = (distance < 0) & (distance > -1e-9 * np.maximum(own, columns))
                distance[rounding] = 0
                distance /= -sigma
                distance /= sigma
                if cells.same:
                    distance[_diagonal(cells.xp, rows.start, values)] = 0
                values[...] = distance if cells.logs else np.exp(distance)
        if not cells.logs:
            check_values(self, out, begin, halves)

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
        return f"{_tightly(self.kernel)}.gaussian(sigma={_number(self.sigma)}{bounds})"


class PolynomialOf(_Wrapper, Kernel):
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
        change = self._multiply_logs if inner_logs else self._raise
        return CellEvaluator(self, [self.kernel.evaluator(X, Y, logs=inner_logs)], change, logs=logs)

    def _raise(self, cells: CellEvaluator, begin: int, out: Matrix, halves: bool) -> None:
        with np.errstate(over="ignore"):
            out += float(self.coef0)
        raise_to(out, int(self.degree), cells.logs)
        (check_logs if cells.logs else check_values)(self, out, begin, halves)

    def _multiply_logs(self, cells: CellEvaluator, begin: int, out: Matrix, halves: bool) -> None:
        """Raise values to a power that are given as logarithms, because they do not fit a float64."""
        np.logaddexp(out, _log_of(float(self.coef0)), out=out)
        out *= int(self.degree)

    def needs(self, X: Any, enough: int = 0) -> Needs:
        return super().needs(X, enough).with_scratch()

    def self_values(self, X: Any, *, logs: bool = False) -> Vector:
        degree, coef0 = int(self.degree), float(self.coef0)
        values = self.kernel.self_values(X, logs=logs)
        if logs:
            result: Vector = degree * np.logaddexp(values, _log_of(coef0))
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
        inner, coef0 = _tightly(self.kernel), "" if self.coef0 == 0 else f", coef0={_number(self.coef0)}"
        return f"{inner}.polynomial(degree={_number(self.degree)}{coef0})"
