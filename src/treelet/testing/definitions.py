"""Slow definitions of all kernels, composed from `reference` like the kernels themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import singledispatch
from math import exp, fsum, prod, sqrt
from typing import Any

from treelet import kernels
from treelet.edits import EditDistance, EditSimilarity
from treelet.errors import InputTypeError
from treelet.structures import Forest, Tree
from treelet.structures.word_vectors import as_word_vectors
from treelet.testing import reference

Slow = Callable[[Any, Any], float]


@singledispatch
def definition(kernel: Any) -> Slow:
    """Return the slow definition of a kernel: a function of two examples.

    Add the definition of a new kernel with ``definition.register``.

    Examples
    --------
    >>> from treelet import SubsetTree, Tree
    >>> from treelet.testing import definition
    >>> slow = definition(2 * SubsetTree(lam=1).normalized())
    >>> slow(Tree.parse("(NP (D the) (N apple))"), Tree.parse("(NP (D the) (N pear))"))
    1.0
    """
    raise InputTypeError(
        f"{kernel!r} has no slow definition. Add one with treelet.testing.definition.register({type(kernel).__name__}, ...)."
    )


def _of_parameters(slow: Callable[..., float]) -> Callable[[Any], Slow]:
    """Return a definition from a function of two examples and parameters. A missing example has value 0."""

    def define(kernel: Any) -> Slow:
        names = [name for name in kernel.get_params(deep=False) if not name.endswith("_bounds")]
        params = {name: kernel.get_params(deep=False)[name] for name in names}
        return lambda a, b: 0.0 if a is None or b is None else slow(a, b, **params)

    return define


# --- plain kernels -------------------------------------------------------------------------------


def _smoothed(a: Tree, b: Tree, vectors: Any, threshold: float, **params: Any) -> float:
    known = as_word_vectors(vectors)

    def similarity(v: str, w: str) -> float:
        value = known.similarity(v, w)
        return value if value > threshold else 0.0

    return reference.smoothed_partial_tree(a, b, similarity, **params)


def _forest(a: Forest | Tree, b: Forest | Tree, lam: float, leaves: bool) -> float:
    """Return the sum of P(t1 | f1) P(t2 | f2) SST(t1, t2) over all pairs of trees."""
    first, second = (item.trees() if isinstance(item, Forest) else [(item, 1.0)] for item in (a, b))
    if not first or not second:
        return 0.0
    whole = fsum(p for _, p in first) * fsum(p for _, p in second)
    return fsum(p * q * reference.subset_tree(t, u, lam, leaves=leaves) for t, p in first for u, q in second) / whole


def by_type(example: Any) -> dict[str, Any]:
    """Return sequences of features by type. A plain sequence has the empty type."""
    return dict(example) if isinstance(example, Mapping) else {"": example}


def _locality(a: Any, b: Any, window: Any, theta: float, match: str, weights: Mapping[str, float] | None) -> float:
    first, second, total = by_type(a), by_type(b), 0.0
    for name in first.keys() & second.keys():
        size = window[name] if isinstance(window, Mapping) else window
        factor = (weights or {}).get(name, 1)
        total += factor * reference.locality(first[name], second[name], size, theta, match)
    return total


def _subsequence(a: Any, b: Any, lam: float, length: int) -> float:
    first, second = by_type(a), by_type(b)
    return sum(reference.subsequence(first[name], second[name], lam, length) for name in first.keys() & second.keys())


def _dot(a: Any, b: Any) -> float:
    if not isinstance(a, Mapping):
        a, b = (dict(enumerate(x if hasattr(x, "__len__") else [x])) for x in (a, b))
    return float(sum(value * b[name] for name, value in a.items() if name in b))


def _polynomial(a: Any, b: Any, degree: int, coef0: float, gamma: float) -> float:
    return float((gamma * _dot(a, b) + coef0) ** degree)


definition.register(kernels.Subtree, _of_parameters(reference.subtree))
definition.register(kernels.SubsetTree, _of_parameters(reference.subset_tree))
definition.register(kernels.PartialTree, _of_parameters(reference.partial_tree))
definition.register(kernels.Smoothed, _of_parameters(_smoothed))
definition.register(kernels.ForestKernel, _of_parameters(_forest))
definition.register(kernels.Tagging, _of_parameters(reference.tagging))
definition.register(kernels.Locality, _of_parameters(_locality))
definition.register(kernels.Subsequence, _of_parameters(_subsequence))
definition.register(kernels.Linear, _of_parameters(_dot))
definition.register(kernels.Polynomial, _of_parameters(_polynomial))


# --- the algebra ------------------------------------------------------------------------------------------------


@definition.register
def _constant(kernel: kernels.Constant) -> Slow:
    return lambda a, b: kernel.value


@definition.register
def _sum(kernel: kernels.Sum) -> Slow:
    parts = [definition(term) for term in kernel.get_params(deep=False).values()]
    return lambda a, b: sum(term(a, b) for term in parts)


@definition.register
def _product(kernel: kernels.Product) -> Slow:
    parts = [definition(factor) for factor in kernel.get_params(deep=False).values()]
    return lambda a, b: prod(factor(a, b) for factor in parts)


@definition.register
def _scale(kernel: kernels.Scale) -> Slow:
    inner = definition(kernel.kernel)
    return lambda a, b: kernel.factor * inner(a, b)


@definition.register
def _normalized(kernel: kernels.Normalized) -> Slow:
    inner = definition(kernel.kernel)

    def value(a: Any, b: Any) -> float:
        scale = sqrt(inner(a, a) * inner(b, b))
        return inner(a, b) / scale if scale else 0.0

    return value


@definition.register
def _gaussian(kernel: kernels.Gaussian) -> Slow:
    inner = definition(kernel.kernel)
    return lambda a, b: exp(-(inner(a, a) - 2 * inner(a, b) + inner(b, b)) / kernel.sigma**2)


@definition.register
def _polynomial_of(kernel: kernels.PolynomialOf) -> Slow:
    inner = definition(kernel.kernel)
    return lambda a, b: (inner(a, b) + kernel.coef0) ** kernel.degree


@definition.register
def _on(kernel: kernels.On) -> Slow:
    return on_columns(kernel, definition(kernel.kernel))


def on_columns(kernel: kernels.On, inner: Slow) -> Slow:
    """Turn a function of two values into a function of two rows, for the columns of a kernel."""
    names = kernel.names
    if len(names) == 1:
        return lambda a, b: inner(a[names[0]], b[names[0]])

    def side_by_side(row: Any) -> list[float]:
        parts = [row[name] for name in names]
        return [number for block in parts for number in (block if isinstance(block, list) else [block])]

    return lambda a, b: inner(side_by_side(a), side_by_side(b))


@definition.register
def _bag(kernel: kernels.Bag) -> Slow:
    return over_members(definition(kernel.kernel))


def over_members(inner: Slow) -> Slow:
    """Turn a function of two members into a function of two bags, by summation."""
    return lambda a, b: sum(inner(x, y) for x in a or [] for y in b or [])


# --- distances --------------------------------------------------------------------------------------------------


@definition.register
def _distance(distance: kernels.Distance) -> Slow:
    inner = definition(distance.kernel)
    return lambda a, b: sqrt(max(0.0, inner(a, a) - 2 * inner(a, b) + inner(b, b)))


@definition.register
def _edit_distance(distance: EditDistance) -> Slow:
    return lambda a, b: reference.edit_distance(a, b, distance.cost_of)


@definition.register
def _edit_similarity(similarity: EditSimilarity) -> Slow:
    inner = definition(similarity.distance)

    def value(a: Tree | None, b: Tree | None) -> float:
        larger = max(sum(1 for _ in tree.nodes()) if tree else 0 for tree in (a, b))
        return 1 - inner(a, b) / larger if larger else 1.0

    return value
