"""Kernel matrices for training: precomputed ones, those of many kernels, and their blocks per fold."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treelet.checks import is_integer, plural, wrong
from treelet.errors import KernelOverflowError, ParameterError
from treelet.kernels.algebra import Constant, Gaussian, Normalized, PolynomialOf, Product, Scale, Sum
from treelet.kernels.base import Kernel
from treelet.kernels.on import On
from treelet.kernels.pairwise import Evaluator, Matrix, Vector
from treelet.kernels.values import to_logs
from treelet.learn.encoding import are_floats, register, whole_numbers
from treelet.learn.targets import Rows
from treelet.matrices.executors import host_matrix
from treelet.resources import PLAIN, Resources

_BLOCK = 256  # rows per step of the symmetry check


def given_values(X: Any, columns: int) -> Matrix:
    """Return a precomputed matrix of examples x training examples, after a check."""
    return _checked(X, columns, f"a matrix of examples x {plural(columns, 'training example')}")


def given_square(X: Any) -> Matrix:
    """Return the precomputed square matrix of the training examples, after a check."""
    K = _checked(X, None, "a square matrix of the training examples")
    size = max(K.max(initial=0), -K.min(initial=0))
    for begin in range(0, len(K), _BLOCK):  # Compare the upper with the lower triangle.
        rows = slice(begin, begin + _BLOCK)
        apart = np.abs(K[rows, begin:] - K[begin:, rows].T) > 1e-8 * size
        if apart.any():
            row = begin + int(apart.any(axis=1).argmax())
            raise ParameterError(
                f"With kernel='precomputed', X must be symmetric, but row {row} differs from column {row}. "
                "Pass the matrix of the training examples with themselves."
            )
    if size > 0 and not K.diagonal().any():
        raise ParameterError(
            "With kernel='precomputed', X must contain kernel values, but the diagonal is 0, as for distances. "
            "Pass kernel(X) instead of kernel.distance()(X)."
        )
    return K


def named_columns(X: Any) -> NDArray[Any] | None:
    """Return the column names of a DataFrame, strings or numbers, or None if there are none."""
    if not hasattr(X, "columns") or not hasattr(X, "iloc"):
        return None
    names = np.empty(len(X.columns), object)
    names[:] = list(X.columns)
    return names if is_names(names, len(names)) else None


def is_names(names: Any, n: int) -> bool:
    """Return whether an array contains names of n columns."""
    if not isinstance(names, np.ndarray) or names.ndim != 1 or len(names) != n:
        return False
    return all(isinstance(name, str) or is_integer(name) for name in names.tolist())


def check_columns(X: Any, fitted: NDArray[Any] | None) -> None:
    """Raise ParameterError if the columns of a DataFrame are ordered differently than in the fit."""
    names = named_columns(X)
    if names is None or fitted is None or len(names) != len(fitted) or names.tolist() == fitted.tolist():
        return
    first = next(number for number, (name, other) in enumerate(zip(names, fitted, strict=True)) if name != other)
    if set(names) == set(fitted) or all(isinstance(name, str) for name in (*names, *fitted)):
        raise ParameterError(
            "With kernel='precomputed', the columns of X must have the same names and order as in the fit. Column "
            f"{first} is {names[first]!r} but was {fitted[first]!r}. Reorder them: X[model.feature_names_in_]."
        )


def _checked(X: Any, columns: int | None, wanted: str) -> Matrix:
    try:
        values = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(
            "With kernel='precomputed', X must be a matrix of numbers. To pass examples, use a kernel such as SubsetTree()."
        ) from None
    if values.ndim != 2 or values.shape[1] != (len(values) if columns is None else columns):
        raise ParameterError(f"With kernel='precomputed', X must be {wanted}. Got an array of shape {values.shape}.")
    with np.errstate(over="ignore", invalid="ignore"):
        finite = bool(np.isfinite(values.sum()))  # The sum needs no memory, unlike the full check below.
    if not finite and not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0]
        raise ParameterError(
            f"With kernel='precomputed', X must contain finite numbers. Got {values[row, column]} in row {row}, "
            f"column {column}."
        )
    return values


@register
class MatrixColumns:
    """The positions of the support vectors among the training examples.

    Parameters
    ----------
    total : int
        Number of training examples.
    columns : ndarray of int
        Indices of the support vectors.
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
            raise ValueError("a support vector is not one of the training examples")
        return cls(total, columns)


@register
class MatrixModel:
    """Linear functions of precomputed kernel values: the counterpart of `CompressedModel`.

    Parameters
    ----------
    support : MatrixColumns
        The support vectors.
    coefficients : ndarray of shape (outputs, n_support)
        Their coefficients.
    """

    def __init__(self, support: MatrixColumns, coefficients: Matrix) -> None:
        self.support, self.coefficients = support, coefficients

    @property
    def outputs(self) -> int:
        """The number of functions."""
        return len(self.coefficients)

    def score_with(self, X: Any, resources: Resources) -> Matrix:
        """Return the values of all functions.

        The resources are ignored because the matrix is precomputed.
        """
        return self.score(X)

    def score(self, X: Any, **options: Any) -> Matrix:
        """Return the values of all functions, ``len(X)`` x outputs.

        Execution options are ignored.
        """
        columns = given_values(X, self.support.total)[:, self.support.columns]
        with np.errstate(over="ignore", invalid="ignore"):
            values: Matrix = columns @ self.coefficients.T
        bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
        if len(bad):
            raise KernelOverflowError(
                f"The score of row {bad[0]} is too large for a float64. Divide the kernel matrix by a constant."
            )
        return values

    def _to_state(self) -> dict[str, Any]:
        return {"support": self.support, "coefficients": self.coefficients}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> MatrixModel:
        support, coefficients = state["support"], state["coefficients"]
        if not isinstance(support, MatrixColumns) or not are_floats(coefficients, 2):
            raise ValueError("a model of a precomputed matrix needs support vectors and coefficients")
        if coefficients.shape[1] != len(support):
            raise ValueError(f"there are {len(support)} support vectors, but {coefficients.shape[1]} coefficients")
        return cls(support, coefficients)


_CELLWISE = (Sum, Product, Scale, Normalized, Gaussian, PolynomialOf)
"""Kernels whose values are computed from the values of inner kernels for the same examples."""


class _ReadyEvaluator(Evaluator):
    """Evaluator that copies rows of an existing matrix."""

    def __init__(self, K: Matrix, logs: bool) -> None:
        self.K, self.logs = K, logs
        self.n_rows = self.n_columns = len(K)

    def fill(self, begin: int, end: int, out: Matrix, halves: bool) -> None:
        out[...] = self.K[begin:end, : out.shape[1]]
        if self.logs:
            to_logs(out)


class _Ready(Kernel):
    """A kernel whose matrix already exists. Its examples are the row numbers."""

    def __init__(self, values: Matrix) -> None:
        self.values = values

    def coerce(self, X: Any) -> Any:
        return X

    def evaluator(self, X: Any, Y: Any | None = None, *, logs: bool = False) -> Evaluator:
        return _ReadyEvaluator(self.values, logs)

    def self_values(self, X: Any, *, logs: bool = False) -> Vector:
        values = np.diag(self.values).copy()
        if logs:
            to_logs(values)
        return values


class SharedMatrices:
    """Iterator over the matrices of several kernels, with shared computations.

    If the same inner kernel occurs in several kernels, for example once normalized and once in a
    sum, its matrix is computed once. It is cached until the last of these kernels is done.

    Parameters
    ----------
    kernels : sequence of Kernel
        The kernels.
    X : collection of examples
        The examples.
    resources : Resources
        An explicit memory limit applies to the cached matrices. Matrices that do not fit are
        computed again. The default is no limit. Operations on a cached matrix run on the CPU.

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
        """Yield one matrix per kernel, or a `KernelOverflowError` if its values do not fit a float64."""
        parts = [_parts(kernel) for kernel in self.kernels]
        for number, kernel in enumerate(self.kernels):
            later = [part for others in parts[number + 1 :] for part in others]
            try:
                yield self._matrix(kernel, parts[number], later)
            except KernelOverflowError as error:
                yield error
            self._known = [known for known in self._known if _among(known[0], later)]

    def _matrix(self, kernel: Kernel, parts: list[Kernel], later: list[Kernel]) -> Matrix:
        needed = [[*parts[number + 1 :], *later] for number in range(len(parts))]
        again = [
            self._look_up(part) is not None or _among(part, rest) for part, rest in zip(parts, needed, strict=True)
        ]
        if not any(again):
            return host_matrix(kernel, self.X, resources=self.resources)
        results = [self._computed(part, keep=_among(part, rest)) for part, rest in zip(parts, needed, strict=True)]
        fitting = [values for values in results if isinstance(values, np.ndarray)]
        if len(fitting) < len(results):  # An inner kernel overflows, but the whole kernel may not.
            return host_matrix(kernel, self.X, resources=self.resources)
        ready = iter(fitting)
        over_ready = _rebuilt(kernel, lambda part: _Ready(next(ready)))
        if isinstance(over_ready, _Ready):
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
    """Return the kernel with its innermost kernels replaced by `ready`, which gets each with its columns."""
    if isinstance(kernel, On):
        return _rebuilt(kernel.kernel, ready, (*columns, kernel.column))
    if isinstance(kernel, _CELLWISE):
        params = kernel.get_params(deep=False)
        inner = {name: _rebuilt(part, ready, columns) for name, part in params.items() if isinstance(part, Kernel)}
        return type(kernel)(**{**params, **inner})
    if isinstance(kernel, Constant):
        return kernel
    for column in reversed(columns):
        kernel = On(column, kernel)
    return ready(kernel)


def _parts(kernel: Kernel) -> list[Kernel]:
    """Return the innermost kernels, with their columns, from left to right."""
    parts: list[Kernel] = []

    def noted(part: Kernel) -> Kernel:
        parts.append(part)
        return part

    _rebuilt(kernel, noted)
    return parts


def _among(kernel: Kernel, others: Sequence[Kernel]) -> bool:
    return any(_same(kernel, other) for other in others)


def _same(one: Kernel, other: Kernel) -> bool:
    try:
        return one == other
    except ValueError:  # Some parameters are arrays.
        return one is other


Fold = tuple[Rows, Rows]


def folds_of(cv: Any, y: NDArray[Any], groups: Rows | None, *, classifier: bool) -> list[Fold]:
    """Return the training rows and the test rows of each fold.

    Parameters
    ----------
    cv : int, splitter of scikit-learn, or iterable of (training rows, test rows)
        An int is a number of folds. Folds are stratified for classes, and no group is split.
    y : ndarray
        The targets.
    groups : ndarray of int, optional
        The group number of each example.
    classifier : bool
        Whether `y` contains classes.
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
            warnings.filterwarnings("ignore", "The least populated class")  # Harmless: a class may miss some folds.
            folds = [
                (np.arange(len(y))[train], np.arange(len(y))[test])
                for train, test in splitter.split(np.zeros(len(y)), y, groups)
            ]
    except ParameterError:
        raise
    except (ValueError, TypeError, IndexError) as error:
        raise ParameterError(f"cv= cannot split {plural(len(y), 'example')}: {str(error).rstrip('.')}.") from error
    for number, (train, test) in enumerate(folds):
        if not len(train) or not len(test):
            raise ParameterError(f"Fold {number} of cv= has no {'test' if len(train) else 'training'} examples.")
        if len(common := np.intersect1d(train, test)):
            raise ParameterError(
                f"Fold {number} of cv= has example {common[0]} in both its training and its test examples."
            )
    if not folds:
        raise ParameterError("cv= contains no folds.")
    return folds


def check_whole(folds: Sequence[Fold], queries: Rows) -> None:
    """Raise ParameterError if a query is in both parts of a fold."""
    for number, (train, test) in enumerate(folds):
        if len(np.intersect1d(queries[train], queries[test])):
            raise ParameterError(
                f"Fold {number} of cv= splits a query into training and test candidates. "
                f"Pass cv= as a number, or a splitter that keeps groups together."
            )


def _number(folds: Any) -> int:
    if isinstance(folds, bool) or folds < 2:
        raise wrong("cv", "an int of at least 2, a splitter or a list of splits", folds)
    return int(folds)


def _check_classes(y: NDArray[Any]) -> None:
    classes, counts = np.unique(y, return_counts=True)
    if len(counts) and counts.min() < 2:
        raise ParameterError(
            "Cross-validation needs at least two examples per class. "
            f"Class {str(classes[counts.argmin()])!r} has only one: remove it, or add examples."
        )


def matrix_parts(K: Matrix, folds: Sequence[Fold]) -> Iterator[tuple[Rows, Rows, Matrix, Matrix]]:
    """Yield, per fold, the training rows, the test rows, and the matrices train x train and test x train."""
    for train, test in folds:
        yield train, test, K[np.ix_(train, train)], K[np.ix_(test, train)]


def rounds_of(folds: Sequence[Fold], n: int) -> list[list[int]] | None:
    """Group fold numbers into rounds that test each of n examples once; None if that is impossible in order."""
    rounds: list[list[int]] = [[]]
    seen = np.zeros(n, bool)
    for number, (_, test) in enumerate(folds):
        if seen[test].any():
            return None
        seen[test] = True
        rounds[-1].append(number)
        if seen.all():
            rounds.append([])
            seen[:] = False
    return None if seen.any() or not rounds[0] else rounds[:-1]
