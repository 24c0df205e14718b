"""Kernel values that a user gives, ``kernel="precomputed"``: their checks, and the models that are made of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treelet.checks import is_integer
from treelet.errors import KernelOverflowError, ParameterError
from treelet.kernels.pairwise import Matrix
from treelet.learn.encoding import register
from treelet.learn.state import are_floats, whole_numbers
from treelet.resources import Resources

BLOCK = 256  # rows that are compared with columns at once


def given_values(X: Any, columns: int) -> Matrix:
    """Kernel values of examples x training examples."""
    return _checked(X, columns, f"a matrix of examples x {columns} training examples")


def given_square(X: Any) -> Matrix:
    """Kernel values of training examples with themselves."""
    K = _checked(X, None, "a square matrix")
    size = max(K.max(initial=0), -K.min(initial=0))
    for begin in range(0, len(K), BLOCK):  # what is right of the diagonal with what is below it
        rows = slice(begin, begin + BLOCK)
        apart = np.abs(K[rows, begin:] - K[begin:, rows].T) > 1e-8 * size
        if apart.any():
            row = begin + int(apart.any(axis=1).argmax())
            raise ParameterError(f"with kernel='precomputed' X must be symmetric, row {row} is not column {row}")
    if size > 0 and not K.diagonal().any():
        raise ParameterError(
            "with kernel='precomputed' X must hold kernel values. Got 0 for each example with itself, as distances have it, "
            "instead: give kernel(X), not kernel.distance()(X)."
        )
    return K


def named_columns(X: Any) -> NDArray[Any] | None:
    """The names of the columns of a DataFrame, texts or numbers; None where there are none."""
    if not hasattr(X, "columns") or not hasattr(X, "iloc"):
        return None
    names = np.empty(len(X.columns), object)
    names[:] = list(X.columns)
    return names if is_names(names, len(names)) else None


def is_names(names: Any, n: int) -> bool:
    """Whether these are names of so many columns."""
    if not isinstance(names, np.ndarray) or names.ndim != 1 or len(names) != n:
        return False
    return all(isinstance(name, str) or is_integer(name) for name in names.tolist())


def check_columns(X: Any, fitted: NDArray[Any] | None) -> None:
    """ParameterError if a DataFrame has the training examples in another order than the one of the fit had."""
    given = named_columns(X)
    if given is None or fitted is None or len(given) != len(fitted) or given.tolist() == fitted.tolist():
        return
    place = next(place for place, (one, other) in enumerate(zip(given, fitted, strict=True)) if one != other)
    if set(given) == set(fitted) or all(isinstance(name, str) for name in (*given, *fitted)):
        raise ParameterError(
            "with kernel='precomputed' the columns of X must be those of the fit, in the same order: column "
            f"{place} is {given[place]!r}, and was {fitted[place]!r}. Reorder them: X[model.feature_names_in_]"
        )


def _checked(X: Any, columns: int | None, wanted: str) -> Matrix:
    try:
        values = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError("with kernel='precomputed' X must be a matrix of numbers") from None
    if values.ndim != 2 or values.shape[1] != (len(values) if columns is None else columns):
        raise ParameterError(f"with kernel='precomputed' X must be {wanted}. Got the shape {values.shape} instead.")
    with np.errstate(over="ignore", invalid="ignore"):
        finite = bool(np.isfinite(values.sum()))  # needs no memory; only where it is not, a look at each
    if not finite and not np.isfinite(values).all():
        raise ParameterError("with kernel='precomputed' X must hold finite numbers")
    return values


@register
class MatrixColumns:
    """Where support examples are among the training examples.

    Parameters
    ----------
    total : int
        How many training examples there were.
    columns : ndarray of int
        Which of them are support examples.
    """

    def __init__(self, total: int, columns: NDArray[np.int64]) -> None:
        self.total, self.columns = total, columns

    def __len__(self) -> int:
        return len(self.columns)

    def _to_state(self) -> dict[str, Any]:
        return {"total": self.total, "columns": self.columns}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> MatrixColumns:
        total, columns = state["total"], whole_numbers(state["columns"], 1)
        if type(total) is not int or (len(columns) and columns.max() >= total):
            raise ValueError("a support example is none of the training examples")
        return cls(total, columns)


@register
class MatrixModel:
    """A linear function of kernel values that are given: the `CompressedModel` of ``kernel="precomputed"``.

    Parameters
    ----------
    support : MatrixColumns
    coefficients : ndarray of shape (outputs, support examples)
    """

    def __init__(self, support: MatrixColumns, coefficients: Matrix) -> None:
        self.support, self.coefficients = support, coefficients

    @property
    def outputs(self) -> int:
        """How many functions there are."""
        return len(self.coefficients)

    def score_with(self, X: Any, resources: Resources) -> Matrix:
        """Return the values of all functions. The matrix is given, so that the resources are not used."""
        return self.score(X)

    def score(self, X: Any, **options: Any) -> Matrix:
        """Return the values of all functions, ``len(X)`` x outputs. Execution options of other models are ignored."""
        given = given_values(X, self.support.total)[:, self.support.columns]
        with np.errstate(over="ignore", invalid="ignore"):
            values: Matrix = given @ self.coefficients.T
        bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
        if len(bad):
            raise KernelOverflowError(f"the score of example {bad[0]} does not fit a float64: scale the matrix down")
        return values

    def _to_state(self) -> dict[str, Any]:
        return {"support": self.support, "coefficients": self.coefficients}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> MatrixModel:
        support, coefficients = state["support"], state["coefficients"]
        if not isinstance(support, MatrixColumns) or not are_floats(coefficients, 2):
            raise ValueError("a model of given values needs support examples and coefficients")
        if coefficients.shape[1] != len(support):
            raise ValueError(f"{len(support)} support examples, {coefficients.shape[1]} coefficients")
        return cls(support, coefficients)
