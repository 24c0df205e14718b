"""Kernels made of kernels: sums, products, multiples, normalised ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from treelet.errors import InputTypeError, ParameterError
from treelet.kernels.base import Evaluator, Kernel, Matrix, Vector, check_number

LARGE = 650.0  # log of a value up to which products of two square roots surely fit a float64


def as_kernel(value: object) -> Kernel:
    """A kernel, or a number as a constant one."""
    if isinstance(value, Kernel):
        return value
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        return Constant(value)  # type: ignore[arg-type]
    raise InputTypeError(f"a kernel or a number is needed here, got {type(value).__name__}")


def _wrapped(kernel: Kernel) -> str:
    return f"({kernel!r})" if isinstance(kernel, Sum) else repr(kernel)


class ConstantEvaluator(Evaluator):
    """Fills with one value."""

    def __init__(self, value: float, n_rows: int, n_columns: int) -> None:
        self.value, self.n_rows, self.n_columns = value, n_rows, n_columns

    def fill(self, begin: int, end: int, out: Matrix, halves: bool) -> None:
        out[...] = self.value


class Constant(Kernel):
    """The kernel with one value everywhere: what a number in a sum stands for.

    Examples
    --------
    >>> from treelet import SubsetTree
    >>> (SubsetTree(lam=1) + 1)(["(D the)"])
    array([[2.]])
    """

    _always_shown = ("value",)

    def __init__(self, value: float = 1.0) -> None:
        self.value = value
        self.validate()

    def validate(self) -> None:
        check_number(self, "value", 0, math.inf, low_included=True)

    def coerce(self, X: Any) -> Any:
        return X

    def evaluator(self, X: Any, Y: Any | None = None, *, logs: bool = False) -> Evaluator:
        self.validate()
        value = _log(float(self.value)) if logs else float(self.value)
        return ConstantEvaluator(value, len(X), len(X if Y is None else Y))

    def self_values(self, X: Any, *, logs: bool = False) -> Vector:
        return np.full(len(X), _log(float(self.value)) if logs else float(self.value))


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf


class PairEvaluator(Evaluator):
    """Two evaluators, their values put together cell by cell."""

    scratch = 1

    def __init__(self, operation: np.ufunc, left: Evaluator, right: Evaluator) -> None:
        self.operation, self.left, self.right = operation, left, right
        self.n_rows, self.n_columns = left.n_rows, left.n_columns
        self.scratch = 1 + left.scratch + right.scratch

    def fill(self, begin: int, end: int, out: Matrix, halves: bool) -> None:
        other = np.zeros_like(out)
        if halves:
            out[...] = 0
        self.left.fill(begin, end, out, halves)
        self.right.fill(begin, end, other, halves)
        self.operation(out, other, out=out)

    @property
    def bytes(self) -> int:
        return self.left.bytes + self.right.bytes


class Pair(Kernel):
    """Two kernels on the same data."""

    def __init__(self, k1: Kernel, k2: Kernel) -> None:
        self.k1 = k1
        self.k2 = k2
        self.validate()

    def validate(self) -> None:
        for name in ("k1", "k2"):
            kernel = getattr(self, name)
            if not isinstance(kernel, Kernel):
                raise ParameterError(
                    f"The {name!r} parameter of {type(self).__name__} must be a kernel. Got {kernel!r} instead."
                )
            kernel.validate()

    def coerce(self, X: Any) -> Any:
        return self.k2.coerce(self.k1.coerce(X))

    def _operations(self) -> tuple[np.ufunc, np.ufunc]:
        raise NotImplementedError

    def evaluator(self, X: Any, Y: Any | None = None, *, logs: bool = False) -> Evaluator:
        X = self.coerce(X)
        Y = None if Y is None else self.coerce(Y)
        plain, logarithmic = self._operations()
        left, right = (kernel.evaluator(X, Y, logs=logs) for kernel in (self.k1, self.k2))
        return PairEvaluator(logarithmic if logs else plain, left, right)

    def self_values(self, X: Any, *, logs: bool = False) -> Vector:
        X = self.coerce(X)
        result: Vector = self._operations()[logs](*(k.self_values(X, logs=logs) for k in (self.k1, self.k2)))
        return result


class Sum(Pair):
    """``k1 + k2``."""

    def _operations(self) -> tuple[np.ufunc, np.ufunc]:
        return np.add, np.logaddexp

    def __repr__(self) -> str:
        return f"{self.k1!r} + {_wrapped(self.k2)}"


class Product(Pair):
    """``k1 * k2``: in the space of pairs of features."""

    def _operations(self) -> tuple[np.ufunc, np.ufunc]:
        return np.multiply, np.add

    def __repr__(self) -> str:
        right = f"({self.k2!r})" if isinstance(self.k2, (Sum, Product, Scale)) else repr(self.k2)
        return f"{_wrapped(self.k1)} * {right}"


class ScaleEvaluator(Evaluator):
    """An evaluator whose values are multiplied by a number."""

    def __init__(self, factor: float, inner: Evaluator, logs: bool) -> None:
        self.factor, self.inner, self.logs = factor, inner, logs
        self.n_rows, self.n_columns, self.scratch = inner.n_rows, inner.n_columns, inner.scratch

    def fill(self, begin: int, end: int, out: Matrix, halves: bool) -> None:
        if halves:
            out[...] = 0
        self.inner.fill(begin, end, out, halves)
        if self.logs:
            out += _log(self.factor)
        else:
            out *= self.factor

    @property
    def bytes(self) -> int:
        return self.inner.bytes


class Scale(Kernel):
    """``factor * kernel``."""

    def __init__(self, factor: float, kernel: Kernel) -> None:
        self.factor = factor
        self.kernel = kernel
        self.validate()

    def validate(self) -> None:
        check_number(self, "factor", 0, math.inf, low_included=True)
        _check_inner(self)

    def coerce(self, X: Any) -> Any:
        return self.kernel.coerce(X)

    def evaluator(self, X: Any, Y: Any | None = None, *, logs: bool = False) -> Evaluator:
        self.validate()
        return ScaleEvaluator(float(self.factor), self.kernel.evaluator(X, Y, logs=logs), logs)

    def self_values(self, X: Any, *, logs: bool = False) -> Vector:
        inner = self.kernel.self_values(X, logs=logs)
        return inner + _log(float(self.factor)) if logs else inner * float(self.factor)

    def __repr__(self) -> str:
        return f"{self.factor!r} * {_wrapped(self.kernel)}"


def _check_inner(owner: Kernel) -> None:
    kernel = getattr(owner, "kernel")  # noqa: B009  # not every Kernel has one
    if not isinstance(kernel, Kernel):
        raise ParameterError(
            f"The 'kernel' parameter of {type(owner).__name__} must be a kernel. Got {kernel!r} instead."
        )
    kernel.validate()


class NormalizedEvaluator(Evaluator):
    """Divides by the root of the self-values, in logarithms where the values themselves would not fit."""

    def __init__(self, inner: Evaluator, rows: Vector, columns: Vector, same: bool, logs: bool, inner_logs: bool) -> None:
        self.inner, self.same, self.logs, self.inner_logs = inner, same, logs, inner_logs
        self.rows, self.columns = rows, columns
        self.n_rows, self.n_columns, self.scratch = inner.n_rows, inner.n_columns, inner.scratch
        if not inner_logs:
            self.row_factors, self.column_factors = _inverse_roots(rows), _inverse_roots(columns)

    def fill(self, begin: int, end: int, out: Matrix, halves: bool) -> None:
        if halves:
            out[...] = 0
        self.inner.fill(begin, end, out, halves)
        width = out.shape[1]
        if self.inner_logs:
            for row, values in enumerate(out, begin):
                shift = 0.5 * (self.rows[row] + self.columns[:width])
                values[...] = np.where(np.isfinite(shift) & np.isfinite(values), values - shift, -np.inf)
            if not self.logs:
                np.exp(out, out=out)
        else:
            out *= self.row_factors[begin:end, None]
            out *= self.column_factors[None, :width]
            if self.logs:
                with np.errstate(divide="ignore"):
                    np.log(out, out=out)
        if self.same:  # exactly 1, not to the last bit of a division
            for row in range(begin, min(end, begin + out.shape[0])):
                if row < width and np.isfinite(self.rows[row]):
                    out[row - begin, row] = 0.0 if self.logs else 1.0

    @property
    def bytes(self) -> int:
        return self.inner.bytes


def _inverse_roots(log_values: Vector) -> Vector:
    return np.where(np.isfinite(log_values), np.exp(-0.5 * np.where(np.isfinite(log_values), log_values, 0)), 0.0)


class Normalized(Kernel):
    r"""``kernel.normalized()``: the cosine in the kernel's space.

    .. math:: K(x, y) / \sqrt{K(x, x) K(y, y)}

    0 where a self-value is 0. Where self-values do not fit a float64 everything is computed in scaled arithmetic.

    Examples
    --------
    >>> from treelet import SubsetTree
    >>> SubsetTree(lam=1).normalized()(["(NP (D a) (N dog))", "(NP (D a) (N cat))"])
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.validate()

    def validate(self) -> None:
        _check_inner(self)

    def coerce(self, X: Any) -> Any:
        return self.kernel.coerce(X)

    def evaluator(self, X: Any, Y: Any | None = None, *, logs: bool = False) -> Evaluator:
        self.validate()
        X = self.coerce(X)
        Y = None if Y is None else self.coerce(Y)
        rows = self.kernel.self_values(X, logs=True)
        columns = rows if Y is None else self.kernel.self_values(Y, logs=True)
        inner_logs = any(len(values) and values.max() > LARGE for values in (rows, columns))
        inner = self.kernel.evaluator(X, Y, logs=inner_logs)
        return NormalizedEvaluator(inner, rows, columns, Y is None, logs, inner_logs)

    def self_values(self, X: Any, *, logs: bool = False) -> Vector:
        there = np.isfinite(self.kernel.self_values(X, logs=True))
        return np.where(there, 0.0, -np.inf) if logs else there.astype(float)

    def __repr__(self) -> str:
        simple = not isinstance(self.kernel, (Sum, Product, Scale))
        return f"{self.kernel!r}.normalized()" if simple else f"({self.kernel!r}).normalized()"
