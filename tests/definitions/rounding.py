"""How large the errors of rounding may be: of any kernel, read off its formula, as `definitions` reads its value.

A value that is a sum of products of numbers that are not negative has all its digits but for the last few. Where terms of
both signs are added, or two large values subtracted, an error is as large as these are, not as their difference.
"""

from __future__ import annotations

from functools import singledispatch
from math import prod, sqrt
from typing import Any

from definitions.kernels import Slow, definition, on_columns, over_members
from treelet import kernels


@singledispatch
def size(kernel: Any) -> Slow:
    """Return the scale of rounding errors, a function of two examples. Without cancellation, it is the value itself.

    Examples
    --------
    >>> from treelet import Linear
    >>> from definitions.kernels import definition
    >>> definition(Linear())([3.0, 1.0], [1.0, -3.0]), size(Linear())([3.0, 1.0], [1.0, -3.0])
    (0.0, 6.0)
    """
    return definition(kernel)


def _positive(x: Any) -> Any:
    """A vector with the absolute values of its numbers."""
    if isinstance(x, dict):
        return {name: abs(value) for name, value in x.items()}
    return [abs(value) for value in x] if hasattr(x, "__len__") else abs(x)


@size.register
def _linear(kernel: kernels.Linear) -> Slow:
    value = definition(kernel)
    return lambda a, b: value(_positive(a), _positive(b))


@size.register
def _polynomial(kernel: kernels.Polynomial) -> Slow:
    value = definition(kernel)
    return lambda a, b: kernel.degree * value(_positive(a), _positive(b))


@size.register
def _sum(kernel: kernels.Sum) -> Slow:
    parts = [size(part) for part in kernel.get_params(deep=False).values()]
    return lambda a, b: sum(part(a, b) for part in parts)


@size.register
def _product(kernel: kernels.Product) -> Slow:
    parts = [size(part) for part in kernel.get_params(deep=False).values()]
    return lambda a, b: len(parts) * prod(part(a, b) for part in parts)


@size.register
def _scale(kernel: kernels.Scale) -> Slow:
    inner = size(kernel.kernel)
    return lambda a, b: kernel.factor * inner(a, b)


@size.register
def _normalized(kernel: kernels.Normalized) -> Slow:
    value, inner = definition(kernel.kernel), size(kernel.kernel)

    def normalized(a: Any, b: Any) -> float:
        one, other = value(a, a), value(b, b)
        if not one * other:
            return 0.0
        own = (inner(a, a) / one + inner(b, b) / other) / 2
        return (inner(a, b) + abs(value(a, b)) * own) / sqrt(one * other)

    return normalized


def _of_distance(kernel: kernels.Gaussian | kernels.Distance) -> Slow:
    inner = size(kernel.kernel)
    return lambda a, b: inner(a, a) + 2 * inner(a, b) + inner(b, b)


@size.register
def _gaussian(kernel: kernels.Gaussian) -> Slow:
    value, squared = definition(kernel), _of_distance(kernel)

    def gaussian(a: Any, b: Any) -> float:
        return value(a, b) * (1 + squared(a, b) / kernel.sigma**2)

    return gaussian


@size.register
def _power(kernel: kernels.PolynomialOf) -> Slow:
    inner = size(kernel.kernel)
    return lambda a, b: kernel.degree * (inner(a, b) + kernel.coef0) ** kernel.degree


@size.register
def _on(kernel: kernels.On) -> Slow:
    return on_columns(kernel, size(kernel.kernel))


@size.register
def _bag(kernel: kernels.Bag) -> Slow:
    return over_members(size(kernel.kernel))


SMALLEST_SHARE = 1e-12
"""Of what is subtracted: a distance whose square is smaller may be taken for 0."""


@size.register
def _distance(kernel: kernels.Distance) -> Slow:
    """The root's error is the square's, divided by twice the root; below a millionth of the examples' own size, that size."""
    value, squared = definition(kernel), _of_distance(kernel)

    def distance(a: Any, b: Any) -> float:
        whole, found = squared(a, b), value(a, b)
        return found + whole / max(found, sqrt(SMALLEST_SHARE * whole)) if whole else 0.0

    return distance
