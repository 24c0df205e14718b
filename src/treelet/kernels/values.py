"""Shared parts of composite kernels: values computed cell by cell, checks of values, logarithms, powers."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from treelet.checks import check_integer, wrong
from treelet.errors import KernelOverflowError
from treelet.kernels.base import Kernel
from treelet.kernels.pairwise import Evaluator, Matrix, Pairwise, Vector, named_pair, overflow

if TYPE_CHECKING:
    from treelet.device.launching import Device

LARGE = 650.0  # largest absolute logarithm of values whose products of two square roots fit a float64 with all digits


class CellEvaluator(Evaluator):
    """Computes each value from the values of inner kernels for the same two examples.

    Parameters
    ----------
    kernel : Pairwise
        The composite kernel or distance.
    parts : sequence of Evaluator
        The inner kernels. The first of them fills a strip of the matrix.
    change : callable
        Called as ``change(evaluator, begin, out, halves)`` to turn the values of that strip, in place, into those of the
        composite. ``begin`` is the first row.
    logs : bool
        Whether the results are logarithms.
    rows, columns : ndarray, optional
        A number per row and per column, such as self-values. Without `columns`, rows and columns are the same examples.
    shape : tuple of int, optional
        Numbers of rows and columns. Default: those of the first part.
    """

    def __init__(
        self,
        kernel: Pairwise,
        parts: Sequence[Evaluator],
        change: Callable[[Any, int, Matrix, bool], None],
        *,
        logs: bool = False,
        rows: Any = None,
        columns: Any = None,
        shape: tuple[int, int] | None = None,
    ) -> None:
        self.kernel, self.parts, self.change, self.logs = kernel, parts, change, logs
        self.rows, self.columns, self.same = rows, rows if columns is None else columns, columns is None
        self.n_rows, self.n_columns = shape or (parts[0].n_rows, parts[0].n_columns)

    def fill(self, begin: int, end: int, out: Matrix, halves: bool) -> None:
        if self.parts:
            if halves:  # values right of the diagonal are also changed, and must be numbers for that
                out[...] = 0
            self.parts[0].fill(begin, end, out, halves)
        self.change(self, begin, out, halves)

    def on(self, device: Device) -> Evaluator:
        there = copy.copy(self)
        there.parts, there.xp = [part.on(device) for part in self.parts], device.xp
        if self.rows is not None:
            there.rows, there.columns = device.array(self.rows), device.array(self.columns)
        return there


def fits(log_values: Vector) -> bool:
    """Return whether self-values with these logarithms fit plain arithmetic; 0 fits."""
    positive = log_values[log_values > -np.inf]
    return not len(positive) or bool(positive.max() <= LARGE and positive.min() >= -LARGE)


def inverse_roots(values: Vector) -> Vector:
    """Return 1 / sqrt(K), and 0 for 0, to the last digit. Logarithms would lose digits."""
    positive = values > 0
    roots: Vector = np.where(positive, 1 / np.sqrt(np.where(positive, values, 1.0)), 0.0)
    return roots


def check_inner(owner: Any) -> None:
    """Raise `ParameterError` if the inner kernel is not a kernel."""
    kernel = owner.kernel
    if not isinstance(kernel, Kernel):
        raise wrong("kernel", "a kernel", kernel, of=owner)
    kernel.validate()


def first_place(bad: NDArray[np.bool_], begin: int, halves: bool) -> tuple[int, int] | None:
    """Return the first marked (row, column) of a strip; with `halves`, only up to the diagonal."""
    if not bad.any():
        return None
    places = np.argwhere(np.tril(bad, begin) if halves else bad)
    return (begin + int(places[0][0]), int(places[0][1])) if len(places) else None


def check_values(kernel: Pairwise, out: Matrix, begin: int, halves: bool) -> None:
    """Raise `KernelOverflowError` if a value did not fit a float64."""
    place = first_place(~np.isfinite(out), begin, halves)
    if place is not None:
        raise overflow(kernel, *place)


def check_logs(kernel: Pairwise, out: Matrix, begin: int, halves: bool) -> None:
    """Raise `KernelOverflowError` if a logarithm is NaN, which means that the value is negative."""
    place = first_place(np.isnan(out), begin, halves)
    if place is not None:
        raise KernelOverflowError(
            f"The value of {kernel!r} for {named_pair(*place)} is negative, so it has no logarithm. Values this large or "
            "small are computed as logarithms. Use another lam, or rescale the features, until all values fit a float64."
        )


def to_logs(values: NDArray[np.float64]) -> None:
    """Take logarithms in place: -inf for 0, NaN for a negative value."""
    with np.errstate(divide="ignore", invalid="ignore"):
        np.log(values, out=values)


def raise_to(values: NDArray[np.float64], degree: int, logs: bool) -> None:
    """Compute powers in place, or their logarithms (NaN for negative powers).

    Only products are used. The power functions of libraries can differ in the last bit between
    arrays of different lengths.
    """
    if logs:
        if degree % 2 == 0:
            np.abs(values, out=values)
        to_logs(values)
        values *= degree
        return
    with np.errstate(over="ignore"):
        base, left = values.copy(), degree - 1
        while left:
            if left % 2:
                values *= base
            left //= 2
            if left:
                base *= base


def check_degree(owner: Kernel) -> None:
    """Raise `ParameterError` if the degree is not an integer of at least 1."""
    degree = getattr(owner, "degree")  # noqa: B009  # not every Kernel has one
    check_integer("degree", degree, of=owner)
