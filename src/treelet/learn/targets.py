"""What is learned, checked: classes, values, how good each candidate is, and which group it belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treelet.checks import missing_places
from treelet.errors import ParameterError
from treelet.kernels.pairwise import Matrix, Vector
from treelet.vocabulary import keyword

Rows = NDArray[np.intp]


def checked_targets(
    y: Any, n: int, what: str = "fit needs y, the class or value of each example", name: str = "y"
) -> NDArray[Any]:
    """Return labels or numbers, one for each of n examples. None of them may be missing, infinite or complex."""
    if y is None:
        raise ParameterError(what)
    labels = _one_dimension(y, n, name)
    missing = missing_places(y, labels)
    if missing:
        raise ParameterError(
            f"{name} has no value for example {missing[0]} ({len(missing)} missing): leave such examples out"
        )
    if labels.dtype.kind == "c":
        raise ParameterError(f"{name} holds complex numbers ({labels.dtype}): give real ones, such as their real parts")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise _infinite(labels, name)
    if labels.dtype.kind == "O":
        kinds = {type(label) for label in labels.tolist()}
        if len(kinds) == 1 and kinds <= {str, int, bool, float}:
            labels = np.array(labels.tolist())
    return labels


def checked_numbers(y: Any, n: int, what: str = "fit needs y, the value of each example", name: str = "y") -> Vector:
    """Return finite numbers, one for each of n examples."""
    targets = checked_targets(y, n, what, name)
    try:
        if targets.dtype.kind in "mM":
            raise TypeError
        values = targets.astype(float)
    except (TypeError, ValueError):
        raise ParameterError(f"{name} must hold numbers, one for each example; it holds {targets.dtype}") from None
    if not np.isfinite(values).all():
        raise _infinite(values, name)
    return values


def _infinite(values: Vector, name: str) -> ParameterError:
    places = np.flatnonzero(~np.isfinite(values))
    return ParameterError(
        f"{name} is infinite for example {places[0]} ({len(places)} infinite): leave such examples out, or bound their values"
    )


def checked_goodness(y: Any, n: int) -> Vector:
    """How good each example is, a finite number."""
    return checked_numbers(y, n, "a ranker needs y, how good each example is")


def checked_outputs(y: Any, n: int) -> tuple[Matrix, bool]:
    """Finite values as examples x outputs, and whether there was no axis for outputs."""
    try:
        values = y if isinstance(y, np.ma.MaskedArray) else np.asarray(y)
    except ValueError:
        raise ParameterError("y must hold numbers, one or equally many for each example") from None
    if y is None or values.ndim != 2:
        return checked_numbers(y, n)[:, None], True
    if not values.shape[1]:
        raise ParameterError("y has no outputs: give at least one value for each example")
    return np.column_stack([checked_numbers(column, n) for column in values.T]), False


def checked_groups(groups: Any, n: int, name: str = "qid") -> list[Rows]:
    """The rows of each group, in order; groups in the order in which they first appear."""
    if groups is None:
        raise ParameterError(
            f"a ranker needs {name}, the group (sentence, query) of each example: give {keyword(name)}"
        )
    names = _one_dimension(groups, n, name)
    if missing := missing_places(groups, names):
        raise ParameterError(f"{name} has no value for example {missing[0]}: each example needs a group")
    codes, known = np.empty(n, np.intp), dict[Any, int]()
    for row, value in enumerate(names.tolist()):
        try:
            codes[row] = known.setdefault(value, len(known))
        except TypeError:
            raise ParameterError(
                f"{name} must hold numbers or texts, it holds a {type(value).__name__} for example {row}"
            ) from None
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.cumsum(np.bincount(codes, minlength=len(known)))[:-1]) if n else []


def group_numbers(groups: Sequence[Rows], n: int) -> Rows:
    """The number of each example's group."""
    numbers = np.empty(n, np.intp)
    for number, rows in enumerate(groups):
        numbers[rows] = number
    return numbers


def _one_dimension(values: Any, n: int, name: str) -> NDArray[Any]:
    try:
        found = np.asarray(values)
    except ValueError:
        raise ParameterError(f"{name} must have one dimension, its items differ in theirs") from None
    if found.ndim == 2 and found.shape[1] == 1:
        found = found.ravel()
    if found.ndim != 1:
        raise ParameterError(f"{name} must have one dimension, this one has {found.ndim}")
    if len(found) != n:
        raise ParameterError(f"X has {n} examples and {name} has {len(found)} values: each example needs one")
    return found
