"""Kernels made of kernels: sums, products, multiples."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

import numpy as np

from treelet.checks import check_tunable, wrong
from treelet.errors import InputTypeError
from treelet.kernels.base import Evaluator, Kernel, Matrix, Vector
from treelet.kernels.tuning import FACTORS, Bounds
from treelet.kernels.values import check_inner, check_values, log_of, number


def as_kernel(value: object) -> Kernel:
    """A kernel, or a number as a constant one."""
    if isinstance(value, Kernel):
        return value
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        return Constant(value)  # type: ignore[arg-type]
    raise InputTypeError(f"a kernel or a number is needed here, got {type(value).__name__}")


# --- how kernels are written ------------------------------------------------------------------------------------


def _wrapped(kernel: Kernel) -> str:
    return f"({kernel!r})" if isinstance(kernel, Sum) else repr(kernel)


def tightly(kernel: Kernel) -> str:
    """As an operand that must not fall apart: on the right of a ``*``, or before a dot."""
    return f"({kernel!r})" if isinstance(kernel, (Sum, Product, Scale)) else repr(kernel)


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
    _tunable = ("value",)

    def __init__(self, value: float = 1.0, *, value_bounds: Bounds = FACTORS) -> None:
        self.value = value
        self.value_bounds = value_bounds
        self.validate()

    def validate(self) -> None:
        check_tunable(self, "value", 0, math.inf, low_included=True)

    def coerce(self, X: Any) -> Any:
        return X

    def evaluator(self, X: Any, Y: Any | None = None, *, logs: bool = False) -> Evaluator:
        self.validate()
        value = log_of(float(self.value)) if logs else float(self.value)
        return ConstantEvaluator(value, len(X), len(X if Y is None else Y))

    def self_values(self, X: Any, *, logs: bool = False) -> Vector:
        return np.full(len(X), log_of(float(self.value)) if logs else float(self.value))

    def _gradient(self, X: Any) -> tuple[Matrix, list[Matrix]]:
        K = np.full((len(X), len(X)), float(self.value))
        return K, [K.copy()]


def _mended(values: Vector) -> Vector:
    """0 where 0 was multiplied by a value that does not fit a float64."""
    return np.where(np.isnan(values), 0.0, values)


class PairEvaluator(Evaluator):
    """Two evaluators, their values put together cell by cell."""

    scratch = 1

    def __init__(self, kernel: Pair, left: Evaluator, right: Evaluator, logs: bool) -> None:
        self.kernel, self.left, self.right, self.logs = kernel, left, right, logs
        self.operation = kernel._operations()[logs]
        self.n_rows, self.n_columns = left.n_rows, left.n_columns
        self.scratch = 1 + left.scratch + right.scratch

    def fill(self, begin: int, end: int, out: Matrix, halves: bool) -> None:
        other = np.zeros_like(out)
        if halves:
            out[...] = 0
        self.left.fill(begin, end, out, halves)
        self.right.fill(begin, end, other, halves)
        with np.errstate(over="ignore", invalid="ignore"):
            self.operation(out, other, out=out)
        if not self.logs:
            check_values(self.kernel, out, begin, halves)


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
                raise wrong(name, "a kernel", kernel, of=self)
            kernel.validate()

    def coerce(self, X: Any) -> Any:
        return self.k2.coerce(self.k1.coerce(X))

    @abstractmethod
    def _operations(self) -> tuple[np.ufunc, np.ufunc]:
        """How two values go together, and how their logarithms do."""

    def evaluator(self, X: Any, Y: Any | None = None, *, logs: bool = False) -> Evaluator:
        self.validate()
        X = self.coerce(X)
        Y = None if Y is None else self.coerce(Y)
        left, right = (kernel.evaluator(X, Y, logs=logs) for kernel in (self.k1, self.k2))
        return PairEvaluator(self, left, right, logs)

    def self_values(self, X: Any, *, logs: bool = False) -> Vector:
        X = self.coerce(X)
        left, right = (kernel.self_values(X, logs=logs) for kernel in (self.k1, self.k2))
        with np.errstate(over="ignore", invalid="ignore"):
            result: Vector = self._operations()[logs](left, right)
        return result if logs else _mended(result)


class Sum(Pair):
    """``k1 + k2``."""

    def _operations(self) -> tuple[np.ufunc, np.ufunc]:
        return np.add, np.logaddexp

    def _gradient(self, X: Any) -> tuple[Matrix, list[Matrix]]:
        X = self.coerce(X)
        (left, by_left), (right, by_right) = self.k1._gradient(X), self.k2._gradient(X)
        return left + right, by_left + by_right

    def __repr__(self) -> str:
        return f"{self.k1!r} + {_wrapped(self.k2)}"


class Product(Pair):
    """``k1 * k2``: in the space of pairs of features."""

    def _operations(self) -> tuple[np.ufunc, np.ufunc]:
        return np.multiply, np.add

    def _gradient(self, X: Any) -> tuple[Matrix, list[Matrix]]:
        X = self.coerce(X)
        (left, by_left), (right, by_right) = self.k1._gradient(X), self.k2._gradient(X)
        return left * right, [part * right for part in by_left] + [left * part for part in by_right]

    def __repr__(self) -> str:
        return f"{_wrapped(self.k1)} * {tightly(self.k2)}"


class ScaleEvaluator(Evaluator):
    """An evaluator whose values are multiplied by a number."""

    def __init__(self, kernel: Scale, inner: Evaluator, logs: bool) -> None:
        self.kernel, self.factor, self.inner, self.logs = kernel, float(kernel.factor), inner, logs
        self.n_rows, self.n_columns, self.scratch = inner.n_rows, inner.n_columns, inner.scratch

    def fill(self, begin: int, end: int, out: Matrix, halves: bool) -> None:
        if halves:
            out[...] = 0
        self.inner.fill(begin, end, out, halves)
        if self.logs:
            out += log_of(self.factor)
        else:
            with np.errstate(over="ignore"):
                out *= self.factor
            check_values(self.kernel, out, begin, halves)


class Scale(Kernel):
    """``factor * kernel``."""

    _tunable = ("factor",)

    def __init__(self, factor: float, kernel: Kernel, *, factor_bounds: Bounds = FACTORS) -> None:
        self.factor = factor
        self.kernel = kernel
        self.factor_bounds = factor_bounds
        self.validate()

    def validate(self) -> None:
        check_tunable(self, "factor", 0, math.inf, low_included=True)
        check_inner(self)

    def coerce(self, X: Any) -> Any:
        return self.kernel.coerce(X)

    def evaluator(self, X: Any, Y: Any | None = None, *, logs: bool = False) -> Evaluator:
        self.validate()
        return ScaleEvaluator(self, self.kernel.evaluator(X, Y, logs=logs), logs)

    def self_values(self, X: Any, *, logs: bool = False) -> Vector:
        inner = self.kernel.self_values(X, logs=logs)
        with np.errstate(over="ignore", invalid="ignore"):
            return inner + log_of(float(self.factor)) if logs else _mended(inner * float(self.factor))

    def _gradient(self, X: Any) -> tuple[Matrix, list[Matrix]]:
        K, parts = self.kernel._gradient(X)
        factor = float(self.factor)
        return factor * K, [factor * K, *(factor * part for part in parts)]

    def __repr__(self) -> str:
        if self.factor_bounds != FACTORS:
            return super().__repr__()
        return f"{number(self.factor)} * {tightly(self.kernel)}"
