"""Checks of training targets: classes, numbers, the quality of candidates, and groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treelet.checks import article, missing_places, plural
from treelet.errors import ParameterError
from treelet.kernels.pairwise import Matrix, Vector

Rows = NDArray[np.intp]
USE_A_CLASSIFIER = " To predict classes, use KernelSVC."


def checked_targets(
    y: Any, n: int, if_none: str = "y is missing: fit needs the class or value of each example.", name: str = "y"
) -> NDArray[Any]:
    """Return one label or number per example. No value may be missing, infinite or complex."""
    if y is None:
        raise ParameterError(if_none)
    labels = _one_dimension(y, n, name)
    missing = missing_places(y, labels)
    if missing:
        raise _missing(missing, name)
    if labels.dtype.kind == "c":
        raise ParameterError(
            f"{name} contains complex numbers ({labels.dtype}). Pass real numbers, for example the real parts."
        )
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise _infinite(labels, name)
    if labels.dtype.kind == "O":
        kinds = {type(label) for label in labels.tolist()}
        if len(kinds) == 1 and kinds <= {str, int, bool, float}:
            labels = np.array(labels.tolist())
    return labels


def checked_numbers(
    y: Any,
    n: int,
    if_none: str = "y is missing: fit needs the value of each example.",
    name: str = "y",
    remedy: str = "",
) -> Vector:
    """Return one finite number per example. `remedy` is added to the error for values that are not numbers."""
    targets = checked_targets(y, n, if_none, name)
    try:
        if targets.dtype.kind in "mM":
            raise TypeError
        values = targets.astype(float)
    except (TypeError, ValueError):
        raise ParameterError(
            f"{name} must contain one number per example. Got {_first_other(targets, name)} instead.{remedy}"
        ) from None
    if not np.isfinite(values).all():
        raise _infinite(values, name)
    return values


def weighted_rows(sample_weight: Any, n: int) -> tuple[Rows, Vector]:
    """Return the rows whose weight is not 0, and their weights. None stands for equal weights."""
    if sample_weight is None:
        return np.arange(n), np.ones(n)
    weights = checked_numbers(sample_weight, n, name="sample_weight")
    if (weights < 0).any():
        row = int((weights < 0).argmax())
        raise ParameterError(
            f"sample_weight must contain numbers of at least 0. Got {weights[row]:g} for sample_weight[{row}] instead."
        )
    rows = np.flatnonzero(weights)
    if not len(rows):
        raise ParameterError("All values of sample_weight are 0: at least two examples need a positive weight.")
    return rows, weights[rows]


def _missing(rows: list[int], name: str) -> ParameterError:
    return ParameterError(
        f"{name}[{rows[0]}] is missing (None or NaN; {plural(len(rows), 'missing value')} in total). "
        f"Remove the examples without a value from {_parallel(name)}."
    )


def _infinite(values: Vector, name: str) -> ParameterError:
    rows = np.flatnonzero(~np.isfinite(values))
    return ParameterError(
        f"{name}[{rows[0]}] is infinite ({plural(len(rows), 'infinite value')} in total). "
        f"Remove such examples from {_parallel(name)}, or clip their values."
    )


def _parallel(name: str) -> str:
    """Return the names of the arrays from which an example is removed, for a message."""
    return "X and y" if name == "y" else f"X, y and {name}"


def _first_other(targets: NDArray[Any], name: str) -> str:
    """Return the first value that is not a number, and its place, for a message."""
    for row, value in enumerate(targets.tolist()):
        try:
            if targets.dtype.kind not in "mM":
                float(value)
                continue
        except (TypeError, ValueError):
            pass
        shown = f"the string {value!r:.60}" if isinstance(value, str) else article(type(value).__name__)
        return f"{shown} for {name}[{row}]"
    return f"values of the type {targets.dtype}"


def checked_goodness(y: Any, n: int) -> Vector:
    """Return the quality of each example, one finite number per example."""
    return checked_numbers(y, n, "y is missing: a ranker needs the quality of each example, as a number.")


def checked_outputs(y: Any, n: int) -> tuple[Matrix, bool]:
    """Return finite values as examples x outputs, and whether `y` had only one dimension."""
    try:
        values = y if isinstance(y, np.ma.MaskedArray) else np.asarray(y)
    except ValueError:
        raise ParameterError("y must contain the same number of values for every example.") from None
    if y is None or values.ndim != 2:
        return checked_numbers(y, n, remedy=USE_A_CLASSIFIER)[:, None], True
    if not values.shape[1]:
        raise ParameterError("y has no columns: pass at least one value per example.")
    return np.column_stack([checked_numbers(column, n, remedy=USE_A_CLASSIFIER) for column in values.T]), False


def checked_groups(groups: Any, n: int, name: str = "qid", *, of: str = "a ranker") -> list[Rows]:
    """Return the rows of each group in ascending order. `of` is the estimator, for messages.

    Groups come in order of first appearance.
    """
    if groups is None:
        if name == "qid":
            raise ParameterError(
                f"qid is missing: {of} needs to know which examples belong to the same sentence or query. "
                "Pass one group number per example, for example fit(X, y, qid=[0, 0, 1, 1])."
            )
        raise ParameterError(f"{name} is missing: pass the group of each example, for example [0, 0, 1, 1].")
    names = _one_dimension(groups, n, name)
    if missing := missing_places(groups, names):
        raise _missing(missing, name)
    codes, known = np.empty(n, np.intp), dict[Any, int]()
    for row, value in enumerate(names.tolist()):
        try:
            codes[row] = known.setdefault(value, len(known))
        except TypeError:
            raise ParameterError(
                f"{name} must contain numbers or strings. "
                f"Got {article(type(value).__name__)} for {name}[{row}] instead."
            ) from None
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.cumsum(np.bincount(codes, minlength=len(known)))[:-1]) if n else []


def group_numbers(groups: Sequence[Rows], n: int) -> Rows:
    """Return the group number of each example."""
    numbers = np.empty(n, np.intp)
    for number, rows in enumerate(groups):
        numbers[rows] = number
    return numbers


def _one_dimension(values: Any, n: int, name: str) -> NDArray[Any]:
    try:
        array = np.asarray(values)
    except ValueError:
        raise ParameterError(f"{name} must have one dimension, but its items have different lengths.") from None
    if array.ndim == 2 and array.shape[1] == 1:
        array = array.ravel()
    if array.ndim != 1:
        raise ParameterError(
            f"{name} must have one dimension. Got an array of shape {array.shape}."
            if array.ndim
            else f"{name} must have one dimension. Got the single value {values!r}."
        )
    if len(array) != n:
        raise ParameterError(
            f"X has {plural(n, 'example')}, but {name} has {plural(len(array), 'value')}. Pass one value per example."
        )
    return array
