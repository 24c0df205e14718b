"""What composite kernels share: checks of values and of inner kernels, logarithms, powers."""

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

LARGE = 650.0  # log of a value, or its negative, up to which products of two square roots surely fit a float64, with all digits
SMALLEST, LARGEST = math.exp(-LARGE), math.exp(LARGE)
Bound = TypeVar("Bound", bound=Evaluator)


def changed(evaluator: Bound, **attributes: Any) -> Bound:
    """A copy of an evaluator that has other attributes."""
    other = copy.copy(evaluator)
    for name, value in attributes.items():
        setattr(other, name, value)
    return other


def moved(evaluator: Bound, device: Device, *vectors: str) -> Bound:
    """A copy of an evaluator around another, both for arrays of a device; `vectors` of its attributes are copied there."""
    there = {name: device.array(getattr(evaluator, name)) for name in vectors}
    return changed(evaluator, inner=evaluator.inner.on(device), xp=device.xp, **there)  # type: ignore[attr-defined]


def runs(begin: int, out: Any) -> Iterator[tuple[slice, Any]]:
    """A strip in parts: which rows of the matrix they are, and their values.

    On the CPU one row each, which stays in the cache; on a device, all rows at once.
    """
    height = 1 if isinstance(out, np.ndarray) else max(1, len(out))
    for row in range(0, len(out), height):
        yield slice(begin + row, begin + row + height), out[row : row + height]


def on_diagonal(xp: Any, begin: int, values: Any) -> tuple[Any, Any]:
    """Where a strip that begins in some row has the diagonal of a matrix; `xp` has its kind of arrays."""
    row = xp.arange(len(values))
    return row, row + begin


def number(value: Any) -> str:
    """A parameter as it is written: a NumPy number like a plain one."""
    return repr(value.item() if isinstance(value, np.generic) else value)


def log_of(value: float) -> float:
    """The logarithm of a number that is not negative."""
    return math.log(value) if value > 0 else -math.inf


def surely_fits(values: Vector) -> bool:
    """Whether self-values can be used in plain arithmetic, known without logarithms; a 0 may be a value that is too small."""
    return bool(((values >= SMALLEST) & (values <= LARGEST)).all())


def fits(log_values: Vector) -> bool:
    """Whether self-values with these logarithms can be used in plain arithmetic; 0 fits."""
    positive = log_values[log_values > -np.inf]
    return not len(positive) or bool(positive.max() <= LARGE and positive.min() >= -LARGE)


def inverse_roots(values: Vector) -> Vector:
    """1 / sqrt(K) of values that fit, 0 for 0: to the last digit, which logarithms would not give."""
    there = values > 0
    roots: Vector = np.where(there, 1 / np.sqrt(np.where(there, values, 1.0)), 0.0)
    return roots


def squared_distances(own: Vector, values: Matrix, others: Vector) -> Matrix:
    """K(x, x) - 2 K(x, y) + K(y, y) of some x and several y, from their self-values, the values, and the others' self-values."""
    distance: Matrix = own - values
    distance += others - values  # the same in both orders, and without the double of a large value
    return distance


def check_inner(owner: Any) -> None:
    """The inner kernel must be one."""
    kernel = owner.kernel
    if not isinstance(kernel, Kernel):
        raise wrong("kernel", "a kernel", kernel, of=owner)
    kernel.validate()


def first_place(bad: NDArray[np.bool_], begin: int, halves: bool) -> tuple[int, int] | None:
    """The first (row, column) of a strip that is marked; by halves, right of the diagonal does not count."""
    if not bad.any():
        return None
    places = np.argwhere(np.tril(bad, begin) if halves else bad)
    return (begin + int(places[0][0]), int(places[0][1])) if len(places) else None


def examples(row: int, column: int) -> str:
    """Two examples, in words."""
    return f"example {row} with itself" if row == column else f"examples {row} and {column}"


def check_values(kernel: Kernel, out: Matrix, begin: int, halves: bool) -> None:
    """Raise `KernelOverflowError` if a value did not fit a float64."""
    place = first_place(~np.isfinite(out), begin, halves)
    if place is not None:
        raise overflow(kernel, *place)


def check_logs(kernel: Kernel, out: Matrix, begin: int, halves: bool) -> None:
    """Raise `KernelOverflowError` if a logarithm is NaN: that of a negative value."""
    place = first_place(np.isnan(out), begin, halves)
    if place is not None:
        raise KernelOverflowError(
            f"the value of {kernel!r} for {examples(*place)} is negative, and has no logarithm, which is what values "
            "this large, or this small, are computed by: make the values smaller (a smaller lam, features scaled down), or larger"
        )


def to_logs(values: NDArray[np.float64]) -> None:
    """Logarithms, in place: -inf for 0, NaN for a negative value."""
    with np.errstate(divide="ignore", invalid="ignore"):
        np.log(values, out=values)


def raise_to(values: NDArray[np.float64], degree: int, logs: bool) -> None:
    """Powers, or their logarithms (NaN where one is negative), in place.

    By products only: unlike a library's power function they do not differ in the last bit from one length of array
    to another.
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
    """The degree must be a whole number from 1."""
    degree = getattr(owner, "degree")  # noqa: B009  # not every Kernel has one
    check_integer("degree", degree, of=owner)
