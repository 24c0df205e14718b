"""Kernel matrices: those that a user gives, those of many kernels on one collection, and their parts per fold."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treelet.checks import is_integer, wrong
from treelet.errors import KernelOverflowError, ParameterError
from treelet.gram.executors import host_matrix
from treelet.kernels.algebra import Constant, Product, Scale, Sum
from treelet.kernels.base import Kernel
from treelet.kernels.on import On
from treelet.kernels.pairwise import Evaluator, Matrix, Vector
from treelet.kernels.values import to_logs
from treelet.kernels.wrapped import Gaussian, Normalized, PolynomialOf
from treelet.learn.encoding import are_floats, register, whole_numbers
from treelet.learn.targets import Rows
from treelet.resources import PLAIN, Resources
from treelet.vocabulary import keyword

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


CELLWISE = (Sum, Product, Scale, Normalized, Gaussian, PolynomialOf)
"""Kernels whose values follow from those of inner kernels, for the same examples."""


class ReadyEvaluator(Evaluator):
    """Copies rows of a matrix."""

    def __init__(self, K: Matrix, logs: bool) -> None:
        self.K, self.logs = K, logs
        self.n_rows = self.n_columns = len(K)

    def fill(self, begin: int, end: int, out: Matrix, halves: bool) -> None:
        out[...] = self.K[begin:end, : out.shape[1]]
        if self.logs:
            to_logs(out)


class Ready(Kernel):
    """A kernel whose matrix is there; its examples are the rows."""

    def __init__(self, values: Matrix) -> None:
        self.values = values

    def coerce(self, X: Any) -> Any:
        return X

    def evaluator(self, X: Any, Y: Any | None = None, *, logs: bool = False) -> Evaluator:
        return ReadyEvaluator(self.values, logs)

    def self_values(self, X: Any, *, logs: bool = False) -> Vector:
        values = np.diag(self.values).copy()
        if logs:
            to_logs(values)
        return values


class SharedMatrices:
    """The matrices of several kernels, one after the other.

    What occurs in several kernels, and differs in what is wrapped around it or added to it only, is computed once, and kept until
    the last of them is done. The kernels themselves do the rest.

    Parameters
    ----------
    kernels : sequence of Kernel
    X : collection
    resources : Resources
        An explicit memory limit holds for the matrices that are kept; others are computed again. By default there is no limit.
        Kernels around a matrix that is kept are computed by threads.

    Examples
    --------
    >>> from treelet import SubsetTree
    >>> from treelet.learn.matrices import SharedMatrices
    >>> inner = SubsetTree(lam=1)
    >>> shared = SharedMatrices([inner, 2 * inner, inner.normalized()], ["(D a)", "(N (D a) (D b))"])
    >>> [round(float(K[0, 1]), 3) for K in shared]
    [1.0, 2.0, 0.408]
    """

    def __init__(
        self,
        kernels: Sequence[Kernel],
        X: Any,
        resources: Resources = PLAIN,
    ) -> None:
        self.kernels, self.limit = list(kernels), resources.memory_limit
        self.resources = resources._replace(memory_limit=None)
        for kernel in self.kernels:
            X = kernel.coerce(X)
        self.X = X
        self._known: list[tuple[Kernel, Matrix | KernelOverflowError]] = []

    def __iter__(self) -> Iterator[Matrix | KernelOverflowError]:
        """A matrix a kernel; where its values do not fit a float64, the error that says so."""
        parts = [_parts(kernel) for kernel in self.kernels]
        for number, kernel in enumerate(self.kernels):
            later = [part for others in parts[number + 1 :] for part in others]
            try:
                yield self._matrix(kernel, parts[number], later)
            except KernelOverflowError as error:
                yield error
            self._known = [known for known in self._known if _among(known[0], later)]

    def _matrix(self, kernel: Kernel, parts: list[Kernel], later: list[Kernel]) -> Matrix:
        needed = [[*parts[place + 1 :], *later] for place in range(len(parts))]
        again = [
            self._look_up(part) is not None or _among(part, rest) for part, rest in zip(parts, needed, strict=True)
        ]
        if not any(again):
            return host_matrix(kernel, self.X, resources=self.resources)
        found = [self._computed(part, keep=_among(part, rest)) for part, rest in zip(parts, needed, strict=True)]
        fitting = [values for values in found if isinstance(values, np.ndarray)]
        if len(fitting) < len(found):
            return host_matrix(
                kernel, self.X, resources=self.resources
            )  # it may be that only parts of it are too large
        ready = iter(fitting)
        over_ready = _rebuilt(kernel, lambda part: Ready(next(ready)))
        if isinstance(over_ready, Ready):
            return over_ready.values
        return host_matrix(over_ready, np.arange(len(self.X)), resources=Resources(self.resources.threads))

    def _look_up(self, part: Kernel) -> Matrix | KernelOverflowError | None:
        return next((values for known, values in self._known if _same(known, part)), None)

    def _computed(self, part: Kernel, *, keep: bool) -> Matrix | KernelOverflowError:
        values = self._look_up(part)
        if values is None:
            try:
                values = host_matrix(part, self.X, resources=self.resources)
            except KernelOverflowError as error:
                values = error
            kept = sum(K.nbytes for _, K in self._known if isinstance(K, np.ndarray))
            if keep and (
                self.limit is None or not isinstance(values, np.ndarray) or kept + values.nbytes <= self.limit
            ):
                self._known.append((part, values))
        return values


def _rebuilt(kernel: Kernel, ready: Callable[[Kernel], Kernel], columns: tuple[Any, ...] = ()) -> Kernel:
    """The kernel with all that compares examples replaced; `ready` gets it together with the columns that it is on."""
    if isinstance(kernel, On):
        return _rebuilt(kernel.kernel, ready, (*columns, kernel.column))
    if isinstance(kernel, CELLWISE):
        params = kernel.get_params(deep=False)
        inner = {name: _rebuilt(part, ready, columns) for name, part in params.items() if isinstance(part, Kernel)}
        return type(kernel)(**{**params, **inner})
    if isinstance(kernel, Constant):
        return kernel
    for column in reversed(columns):
        kernel = On(column, kernel)
    return ready(kernel)


def _parts(kernel: Kernel) -> list[Kernel]:
    """What compares examples in a kernel, with its columns, from left to right."""
    found: list[Kernel] = []

    def noted(part: Kernel) -> Kernel:
        found.append(part)
        return part

    _rebuilt(kernel, noted)
    return found


def _among(kernel: Kernel, others: Sequence[Kernel]) -> bool:
    return any(_same(kernel, other) for other in others)


def _same(one: Kernel, other: Kernel) -> bool:
    try:
        return one == other
    except ValueError:  # arrays among the parameters
        return one is other


Fold = tuple[Rows, Rows]


def folds_of(cv: Any, y: NDArray[Any], groups: Rows | None, *, classifier: bool) -> list[Fold]:
    """The rows to fit to and the rows to test on, fold by fold.

    Parameters
    ----------
    cv : int, splitter of scikit-learn, or iterable of (rows to fit to, rows to test on)
        A number asks for so many folds: stratified for classes, and with `groups` such that none is in two folds.
    y : ndarray
    groups : ndarray of int, optional
        The number of each example's group.
    classifier : bool
        Whether `y` holds classes.
    """
    from sklearn.model_selection import GroupKFold, StratifiedGroupKFold, StratifiedKFold, check_cv

    if isinstance(cv, int | np.integer) and groups is not None:
        cv = (StratifiedGroupKFold if classifier else GroupKFold)(_number(cv))
    elif isinstance(cv, bool | int | np.integer):
        _number(cv)
    try:
        splitter = check_cv(cv, y, classifier=classifier)
        if isinstance(splitter, StratifiedKFold):
            _check_classes(y)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The least populated class")  # fewer examples than folds is no harm
            folds = [
                (np.arange(len(y))[train], np.arange(len(y))[test])
                for train, test in splitter.split(np.zeros(len(y)), y, groups)
            ]
    except ParameterError:
        raise
    except (ValueError, TypeError, IndexError) as error:
        raise ParameterError(f"{keyword('cv')} does not split {len(y)} examples: {error}") from error
    for number, (train, test) in enumerate(folds):
        if not len(train) or not len(test):
            raise ParameterError(
                f"fold {number} of {keyword('cv')} has nothing to {'test on' if len(train) else 'fit to'}"
            )
        if len(np.intersect1d(train, test)):
            raise ParameterError(f"fold {number} of {keyword('cv')} tests on examples that it was fitted to")
    if not folds:
        raise ParameterError(f"{keyword('cv')} gives no folds")
    return folds


def check_whole(folds: Sequence[Fold], queries: Rows) -> None:
    """No query may be in both parts of a fold."""
    for number, (train, test) in enumerate(folds):
        if len(np.intersect1d(queries[train], queries[test])):
            raise ParameterError(
                f"fold {number} of {keyword('cv')} takes a query apart: candidates of one query must be in one fold. "
                f"Give {keyword('cv')} as a number, or a splitter that keeps groups"
            )


def _number(folds: Any) -> int:
    if isinstance(folds, bool) or folds < 2:
        raise wrong("cv", "at least 2 folds, a splitter or splits", folds)
    return int(folds)


def _check_classes(y: NDArray[Any]) -> None:
    classes, counts = np.unique(y, return_counts=True)
    if len(counts) and counts.min() < 2:
        raise ParameterError(
            "cross-validation needs two or more examples of each class, to learn from one and test on another; "
            f"{str(classes[counts.argmin()])!r} has one"
        )


def matrix_parts(K: Matrix, folds: Sequence[Fold]) -> Iterator[tuple[Rows, Rows, Matrix, Matrix]]:
    """For each fold: rows to fit to and to test on, kernel values of the first, and of the second with them."""
    for train, test in folds:
        yield train, test, K[np.ix_(train, train)], K[np.ix_(test, train)]


def rounds_of(folds: Sequence[Fold], n: int) -> list[list[int]] | None:
    """Numbers of folds, in runs that test each of n examples once; None where folds do not come in such runs."""
    found: list[list[int]] = [[]]
    seen = np.zeros(n, bool)
    for number, (_, test) in enumerate(folds):
        if seen[test].any():
            return None
        seen[test] = True
        found[-1].append(number)
        if seen.all():
            found.append([])
            seen[:] = False
    return None if seen.any() or not found[0] else found[:-1]
