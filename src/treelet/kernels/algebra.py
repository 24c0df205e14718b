"""Kernels made of other kernels: sums, products, multiples."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from treelet.checks import article, check_tunable, wrong
from treelet.errors import InputTypeError, ParameterError
from treelet.kernels.base import Kernel, WrappedKernel
from treelet.kernels.pairwise import Evaluator, Matrix, Needs, Vector
from treelet.kernels.tuning import FACTORS, Bounds
from treelet.kernels.values import changed, check_inner, check_values, log_of, moved, number

if TYPE_CHECKING:
    from treelet.device.launching import Device


def as_kernel(value: object) -> Kernel:
    """Return the value if it is a kernel; return a number as a constant kernel."""
    if isinstance(value, Kernel):
        return value
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        return Constant(value)  # type: ignore[arg-type]
    raise InputTypeError(
        f"A kernel can be combined only with a kernel or a number. Got {article(type(value).__name__)}."
    )


# --- text form of kernels --------------------------------------------------------------------------------------


def _wrapped(kernel: Kernel) -> str:
    return f"({kernel!r})" if isinstance(kernel, Sum) and kernel._is_pair else repr(kernel)


def tightly(kernel: Kernel) -> str:
    """Return the text of a kernel as an operand, in brackets if it contains operators.

    Brackets are needed on the right of a ``*`` and before a dot.
    """
    written_with_operators = isinstance(kernel, Scale) or (isinstance(kernel, _Combined) and kernel._is_pair)
    return f"({kernel!r})" if written_with_operators else repr(kernel)


class ConstantEvaluator(Evaluator):
    """Fills a matrix with a single value."""

    def __init__(self, value: float, n_rows: int, n_columns: int) -> None:
        self.value, self.n_rows, self.n_columns = value, n_rows, n_columns

    def fill(self, begin: int, end: int, out: Matrix, halves: bool) -> None:
        out[...] = self.value

    def on(self, device: Device) -> Evaluator:
        return changed(self, xp=device.xp)


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
    """Replace NaN, the product of 0 and a value that does not fit a float64, with 0."""
    return np.where(np.isnan(values), 0.0, values)


class _CombinedEvaluator(Evaluator):
    """Combines the values of several evaluators cell by cell."""

    def __init__(self, kernel: _Combined, parts: list[Evaluator], logs: bool) -> None:
        self.kernel, self.parts, self.logs = kernel, parts, logs
        self.operation = kernel._operations()[logs]
        self.n_rows, self.n_columns = parts[0].n_rows, parts[0].n_columns

    def fill(self, begin: int, end: int, out: Matrix, halves: bool) -> None:
        first, *others = self.parts
        if halves:
            out[...] = 0
        first.fill(begin, end, out, halves)
        for part in others:
            other = np.zeros_like(out)
            part.fill(begin, end, other, halves)
            with np.errstate(over="ignore", invalid="ignore"):
                self.operation(out, other, out=out)
        if not self.logs:
            check_values(self.kernel, out, begin, halves)

    def on(self, device: Device) -> Evaluator:
        return changed(self, parts=[part.on(device) for part in self.parts], xp=device.xp)


class _Combined(Kernel):
    """Base class of sums and products: several kernels on the same data, each a named parameter."""

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

    @abstractmethod
    def _operations(self) -> tuple[np.ufunc, np.ufunc]:
        """Return the functions that combine two values, and the logarithms of two values."""

    def evaluator(self, X: Any, Y: Any | None = None, *, logs: bool = False) -> Evaluator:
        self.validate()
        X = self.coerce(X)
        Y = None if Y is None else self.coerce(Y)
        return _CombinedEvaluator(self, [kernel.evaluator(X, Y, logs=logs) for kernel in self._parts()], logs)

    def self_values(self, X: Any, *, logs: bool = False) -> Vector:
        X = self.coerce(X)
        operation = self._operations()[logs]
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

    def _operations(self) -> tuple[np.ufunc, np.ufunc]:
        return np.add, np.logaddexp

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

    def _operations(self) -> tuple[np.ufunc, np.ufunc]:
        return np.multiply, np.add

    def _gradient(self, X: Any) -> tuple[Matrix, list[Matrix]]:
        X = self.coerce(X)
        (K, by_all), *others = (kernel._gradient(X) for kernel in self._parts())
        for values, by_one in others:
            by_all = [part * values for part in by_all] + [K * part for part in by_one]
            K = K * values
        return K, by_all

    def __repr__(self) -> str:
        return f"{_wrapped(self.k1)} * {tightly(self.k2)}" if self._is_pair else super().__repr__()


class _ScaleEvaluator(Evaluator):
    """Multiplies the values of an evaluator by a number."""

    def __init__(self, kernel: Scale, inner: Evaluator, logs: bool) -> None:
        self.kernel, self.factor, self.inner, self.logs = kernel, float(kernel.factor), inner, logs
        self.n_rows, self.n_columns = inner.n_rows, inner.n_columns

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

    def on(self, device: Device) -> Evaluator:
        return moved(self, device)


class Scale(WrappedKernel):
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

    def __init__(self, factor: float, kernel: Kernel, *, factor_bounds: Bounds = FACTORS) -> None:
        self.factor = factor
        self.kernel = kernel
        self.factor_bounds = factor_bounds
        self.validate()

    def validate(self) -> None:
        check_tunable(self, "factor", 0, math.inf, low_included=True)
        check_inner(self)

    def evaluator(self, X: Any, Y: Any | None = None, *, logs: bool = False) -> Evaluator:
        self.validate()
        return _ScaleEvaluator(self, self.kernel.evaluator(X, Y, logs=logs), logs)

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
