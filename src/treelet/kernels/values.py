"""Shared parts of composite kernels: checks of values and inner kernels, logarithms, powers."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from treelet.checks import check_integer, wrong
from treelet.errors import KernelOverflowError
from treelet.kernels.base import Kernel
from treelet.kernels.pairwise import Evaluator, Matrix, Vector, overflow

if TYPE_CHECKING:
    from treelet.device.launching import Device

LARGE = 650.0  # largest absolute logarithm of values whose products of two square roots fit a float64 with all digits
SMALLEST, LARGEST = math.exp(-LARGE), math.exp(LARGE)
Bound = TypeVar("Bound", bound=Evaluator)


def changed(evaluator: Bound, **attributes: Any) -> Bound:
    """Return a copy of an evaluator with other attributes."""
    other = copy.copy(evaluator)
    for name, value in attributes.items():
        setattr(other, name, value)
    return other


def moved(evaluator: Bound, device: Device, *vectors: str) -> Bound:
    """Return a copy of an evaluator and its inner evaluator for a device.

    The attributes named in `vectors` are copied to the device.
    """
    copied = {name: device.array(getattr(evaluator, name)) for name in vectors}
    return changed(evaluator, inner=evaluator.inner.on(device), xp=device.xp, **copied)  # type: ignore[attr-defined]


def runs(begin: int, out: Any) -> Iterator[tuple[slice, Any]]:
    """Yield a strip in parts: the rows of the matrix, and their values.

    On the CPU each part is one row, which fits the cache. On a device, one part has all rows.
    """
    height = 1 if isinstance(out, np.ndarray) else max(1, len(out))
    for row in range(0, len(out), height):
        yield slice(begin + row, begin + row + height), out[row : row + height]


def on_diagonal(xp: Any, begin: int, values: Any) -> tuple[Any, Any]:
    """Return the index of the diagonal cells of a strip, as arrays of the module `xp`."""
    row = xp.arange(len(values))
    return row, row + begin


def number(value: Any) -> str:
    """Return the text of a parameter; NumPy numbers are printed like Python numbers."""
    return repr(value.item() if isinstance(value, np.generic) else value)


def log_of(value: float) -> float:
    """Return the logarithm of a nonnegative number."""
    return math.log(value) if value > 0 else -math.inf


def surely_fits(values: Vector) -> bool:
    """Return whether self-values certainly fit plain arithmetic, decided without logarithms.

    A 0 does not, because it may be a value that is too small for a float64.
    """
    return bool(((values >= SMALLEST) & (values <= LARGEST)).all())


def fits(log_values: Vector) -> bool:
    """Return whether self-values with these logarithms fit plain arithmetic; 0 fits."""
    positive = log_values[log_values > -np.inf]
    return not len(positive) or bool(positive.max() <= LARGE and positive.min() >= -LARGE)


def inverse_roots(values: Vector) -> Vector:
    """Return 1 / sqrt(K), and 0 for 0, to the last digit. Logarithms would lose digits."""
    positive = values > 0
    roots: Vector = np.where(positive, 1 / np.sqrt(np.where(positive, values, 1.0)), 0.0)
    return roots


def squared_distances(own: Vector, values: Matrix, others: Vector) -> Matrix:
    """Return K(x, x) - 2 K(x, y) + K(y, y) from the self-values of x, the values, and those of y."""
    distance: Matrix = own - values
    distance += others - values  # symmetric, and without doubling a large value
    return distance


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


def examples(row: int, column: int) -> str:
    """Return the numbers of two examples for an error message."""
    return f"item {row} with itself" if row == column else f"items {row} and {column}"


def check_values(kernel: Kernel, out: Matrix, begin: int, halves: bool) -> None:
    """Raise `KernelOverflowError` if a value did not fit a float64."""
    place = first_place(~np.isfinite(out), begin, halves)
    if place is not None:
        raise overflow(kernel, *place)


def check_logs(kernel: Kernel, out: Matrix, begin: int, halves: bool) -> None:
    """Raise `KernelOverflowError` if a logarithm is NaN, which means that the value is negative."""
    place = first_place(np.isnan(out), begin, halves)
    if place is not None:
        raise KernelOverflowError(
            f"The value of {kernel!r} for {examples(*place)} is negative, so it has no logarithm. Values this large or "
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
