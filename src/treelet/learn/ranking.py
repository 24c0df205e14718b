"""What rankers have in common: candidates in groups, the best of each, and models over kernel values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from treelet.errors import ParameterError
from treelet.gram import gram
from treelet.kernels.base import Kernel, Matrix, Vector
from treelet.learn.base import KernelEstimator
from treelet.learn.encoding import register
from treelet.learn.growing import Rows
from treelet.learn.model import CompressedModel
from treelet.learn.summands import kept
from treelet.learn.svm import checked_targets
from treelet.work import count_threads

TIE = 1e-10  # scores that differ by less, relative to their size, differ by rounding
VOTES = 1 << 22  # scores under all weight vectors that voting holds at once


def beats(first: float, second: float) -> bool:
    """Whether a score is larger than another by more than rounding."""
    return bool(first - second > TIE * max(abs(first), abs(second)))


def first_best(scores: Vector) -> int:
    """The place of the largest score, the first of those that tie with it."""
    top = float(scores.max())
    return int(np.flatnonzero(scores >= top - TIE * abs(top))[0])


def signed_sums(added: NDArray[np.intp], taken: NDArray[np.intp], weights: Vector, n: int) -> Vector:
    """What n examples get from pairs of them: each pair's weight for the one, and its negative for the other."""
    sums = np.zeros(n)
    np.add.at(sums, added, weights)
    np.subtract.at(sums, taken, weights)
    return sums


# --- groups -------------------------------------------------------------------------------------------------------


def checked_groups(qid: Any, n: int) -> list[Rows]:
    """The rows of each group, in order; groups in the order in which they first appear."""
    if qid is None:
        raise ParameterError("a ranker needs qid, the group (sentence, query) of each example: give qid=")
    names = np.asarray(qid)
    if names.ndim == 2 and names.shape[1] == 1:
        names = names.ravel()
    if names.ndim != 1:
        raise ParameterError(f"qid must have one dimension, this one has {names.ndim}")
    if len(names) != n:
        raise ParameterError(f"X has {n} examples and qid has {len(names)} values: each example needs one")
    codes, known = np.empty(n, np.intp), dict[Any, int]()
    for row, name in enumerate(names.tolist()):
        if name is None or name != name:  # noqa: PLR0124  # NaN
            raise ParameterError(f"qid has no value for example {row}: each example needs a group")
        try:
            codes[row] = known.setdefault(name, len(known))
        except TypeError:
            raise ParameterError(
                f"qid must hold numbers or texts, it holds a {type(name).__name__} for example {row}"
            ) from None
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.cumsum(np.bincount(codes, minlength=len(known)))[:-1]) if n else []


def checked_goodness(y: Any, n: int) -> Vector:
    """How good each example is, a finite number."""
    if y is None:
        raise ParameterError("a ranker needs y, how good each example is")
    targets = checked_targets(y, n)
    try:
        goodness = targets.astype(float)
    except (TypeError, ValueError):
        raise ParameterError(f"y must hold numbers, how good each example is; it holds {targets.dtype}") from None
    if not np.isfinite(goodness).all():
        raise ParameterError(f"y has no finite value for example {np.flatnonzero(~np.isfinite(goodness))[0]}")
    return goodness


def nothing_to_learn(n_groups: int) -> ParameterError:
    """The error for groups without a pair to compare."""
    return ParameterError(
        f"none of the {n_groups} groups has two candidates of different goodness: there is nothing to learn. "
        "Check that qid is the same for candidates of one sentence, and that y tells them apart"
    )


# --- models -------------------------------------------------------------------------------------------------------


@register
class MatrixColumns:
    """Where support examples are among the training examples, for kernel values that are given.

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

    def score(self, X: Any, *, n_jobs: int | None = 1) -> Matrix:
        """The values of all functions, ``len(X)`` x outputs."""
        return given_values(X, self.support.total)[:, self.support.columns] @ self.coefficients.T

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


@register
class VotingModel:
    """Weight vectors that vote, each as often as the comparisons it survived.

    A vector is the sum of the updates up to it, so that all of them are kept as the updates in order, and their scores
    are cumulated sums.

    Parameters
    ----------
    kernel : Kernel or None
        None for values that are given.
    examples : collection or MatrixColumns
        The support examples.
    updates : ndarray of shape (updates, 2)
        The example that was added, and the one that was taken away.
    survived : ndarray of shape (updates,)
        How many comparisons the vector after each update survived.
    """

    def __init__(
        self, kernel: Kernel | None, examples: Any, updates: NDArray[np.int64], survived: NDArray[np.int64]
    ) -> None:
        self.kernel, self.examples, self.updates, self.survived = kernel, examples, updates, survived

    @classmethod
    def of(
        cls,
        kernel: Kernel | None,
        data: Any,
        support: NDArray[np.int64],
        updates: NDArray[np.int64],
        survived: NDArray[np.int64],
    ) -> VotingModel:
        """The model of training examples, of which `support` are used, and updates that name them by their rows."""
        examples = MatrixColumns(len(data), support) if kernel is None else kept(kernel, data[support])
        return cls(kernel, examples, np.searchsorted(support, updates), survived)

    def votes(self, X: Any, qid: Any, *, n_jobs: int | None = 1) -> Vector:
        """The share of votes that each example has in its group; candidates that tie share a vote."""
        X = given_values(X, self.examples.total) if self.kernel is None else self.kernel.coerce(X)
        groups = checked_groups(qid, len(X))
        shares = np.zeros(len(X))
        for block in group_blocks(range(len(groups)), groups, max(1, VOTES // max(1, len(self.examples)))):
            rows = np.concatenate([groups[number] for number in block])
            if self.kernel is None:
                values = X[np.ix_(rows, self.examples.columns)]
            else:
                values = gram(self.kernel, X[rows], self.examples, n_jobs=n_jobs)
            begin = 0
            for number in block:
                end = begin + len(groups[number])
                shares[groups[number]] = self._shares(values[begin:end])
                begin = end
        return shares

    def _shares(self, values: Matrix) -> Vector:
        """Votes for the candidates of one group, from their kernel values with the support examples."""
        shares, scores, size = np.zeros(len(values)), np.zeros(len(values)), 0.0
        step = max(1, VOTES // len(values))
        for begin in range(0, len(self.updates), step):
            added, taken = self.updates[begin : begin + step].T
            run = values[:, added] - values[:, taken]
            run[:, 0] += scores
            np.cumsum(run, axis=1, out=run)
            scores = run[:, -1].copy()
            sizes = np.maximum(np.maximum.accumulate(np.abs(run).max(axis=0)), size)
            size = float(sizes[-1])
            tied = run >= run.max(axis=0) - TIE * sizes
            shares += tied @ (self.survived[begin : begin + step] / tied.sum(axis=0))
        return np.asarray(shares / self.survived.sum(), dtype=np.float64)

    def _to_state(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("kernel", "examples", "updates", "survived")}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> VotingModel:
        kernel, examples = state["kernel"], state["examples"]
        updates, survived = whole_numbers(state["updates"], 2), whole_numbers(state["survived"], 1)
        if isinstance(kernel, Kernel):
            examples = kernel.coerce(examples)
        elif kernel is not None or not isinstance(examples, MatrixColumns):
            raise ValueError("votes need a kernel and support examples")
        if updates.shape != (len(survived), 2) or not len(survived) or updates.max() >= len(examples):
            raise ValueError("updates and support examples do not fit")
        if survived.min() < 1 or survived.max() > 1 << 53:
            raise ValueError("a vector survived its own making")
        return cls(kernel, examples, updates, survived)


def group_blocks(order: Any, groups: Sequence[Rows], width: int) -> list[list[int]]:
    """The numbers of groups, cut into runs of at most `width` rows, or of one group."""
    blocks: list[list[int]] = []
    rows = 0
    for number in order:
        size = len(groups[number])
        if not blocks or rows + size > width:
            blocks.append([])
            rows = 0
        blocks[-1].append(int(number))
        rows += size
    return blocks


def given_values(X: Any, columns: int | None) -> Matrix:
    """Kernel values that a user gave: rows x training examples (None: as many as rows)."""
    try:
        values = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError("with kernel='precomputed' X must be a matrix of numbers") from None
    if values.ndim != 2 or values.shape[1] != (len(values) if columns is None else columns):
        wanted = "a square matrix" if columns is None else f"a matrix of examples x {columns} training examples"
        raise ParameterError(f"with kernel='precomputed' X must be {wanted}. Got the shape {values.shape} instead.")
    if not np.isfinite(values).all():
        raise ParameterError("with kernel='precomputed' X must hold finite numbers")
    return values


# --- estimators ---------------------------------------------------------------------------------------------------


class KernelRanker(KernelEstimator):
    """What rankers share: groups, the kernel or a given matrix, choosing the best of each group."""

    n_jobs: int | None
    progress: bool

    _fitted: ClassVar[tuple[str, ...]] = ("support_", "dual_coef_", "model_", "fit_seconds_")

    def predict(self, X: Any, qid: Any = None) -> Vector:
        """The score of each example: the larger, the better within its group.

        Parameters
        ----------
        X : collection
            As in `fit`; with ``kernel="precomputed"``, kernel values of examples x training examples.
        qid : array-like, optional
            The group of each example; not needed.
        """
        check_is_fitted(self)
        scores: Vector = self.model_.score(X, n_jobs=self.n_jobs)[:, 0]
        if qid is not None:
            checked_groups(qid, len(scores))
        return scores

    def rank(self, X: Any, qid: Any) -> Rows:
        """The row of the best candidate of each group, groups in the order in which they first appear.

        Of candidates that tie for best it is the first.
        """
        return self._ranked(X, qid)[1]

    def _ranked(self, X: Any, qid: Any) -> tuple[int, Rows]:
        check_is_fitted(self)
        if qid is None:
            raise ParameterError("to choose the best of each group qid is needed: give qid=")
        scores = self.predict(X, qid)
        groups = checked_groups(qid, len(scores))
        return len(scores), np.array([rows[first_best(scores[rows])] for rows in groups], dtype=np.intp)

    def score(self, X: Any, y: Any, qid: Any = None) -> float:
        """The mean goodness `y` of the candidates that are chosen, one a group."""
        n, chosen = self._ranked(X, qid)
        goodness = checked_goodness(y, n)
        if not n:
            raise ParameterError("there is no score of no examples: X is empty")
        return float(goodness[chosen].mean())

    def _kernel_and_data(self, X: Any) -> tuple[Kernel | None, Any]:
        """The kernel and the examples in its form; or None and the matrix that was given."""
        if not isinstance(self.kernel, str):
            kernel = self._own_kernel()
            return kernel, self._examples(kernel, X)
        if self.kernel != "precomputed":
            raise self._refuse("kernel", "a kernel, 'precomputed' or None")
        K = given_values(X, None)
        if not len(K):
            raise ParameterError(f"{type(self).__name__} cannot be fitted to no examples: X is empty")
        size = np.abs(K).max()
        for row in range(len(K)):
            if not (np.abs(K[row] - K[:, row]) <= 1e-8 * size).all():
                raise ParameterError(f"with kernel='precomputed' X must be symmetric, row {row} is not column {row}")
        return None, K

    def _check_common(self) -> None:
        count_threads(self.n_jobs)
        if not isinstance(self.progress, bool | np.bool_):
            raise self._refuse("progress", "True or False")

    def _refuse(self, name: str, wanted: str) -> ParameterError:
        return ParameterError(
            f"The {name!r} parameter of {type(self).__name__} must be {wanted}. Got {getattr(self, name)!r} instead."
        )

    def _keep(self, coefficients: Vector) -> None:
        """Keep which examples are support examples, and their coefficients."""
        self.support_ = np.flatnonzero(coefficients).astype(np.int64)
        self.dual_coef_ = coefficients[None, self.support_]

    def _compressed(self, kernel: Kernel | None, data: Any) -> CompressedModel | MatrixModel:
        """The support examples collapsed into a model."""
        if kernel is None:
            return MatrixModel(MatrixColumns(len(data), self.support_), self.dual_coef_)
        return CompressedModel.of(kernel, data[self.support_], self.dual_coef_)

    def _check_fitted_state(self) -> None:
        if not isinstance(getattr(self, "model_", None), CompressedModel | MatrixModel | VotingModel):
            raise ValueError("the model is missing")
        whole_numbers(self.support_, 1)
        if not are_floats(self.dual_coef_, 2) or self.dual_coef_.shape != (1, len(self.support_)):
            raise ValueError("coefficients and support examples do not fit")
        if getattr(self.model_, "outputs", 1) != 1:
            raise ValueError("a ranker has one output")
        if not isinstance(self.fit_seconds_, dict):
            raise ValueError("the times are missing")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str)
        tags.target_tags.required = True
        return tags


def whole_numbers(values: Any, dimensions: int) -> NDArray[np.int64]:
    if not isinstance(values, np.ndarray) or values.dtype != np.int64 or values.ndim != dimensions:
        raise ValueError("whole numbers are missing")
    if values.size and values.min() < 0:
        raise ValueError("a number is negative")
    return values


def are_floats(values: Any, dimensions: int) -> bool:
    if not isinstance(values, np.ndarray) or values.dtype != np.float64 or values.ndim != dimensions:
        return False
    return bool(np.isfinite(values).all())
