"""What rankers share: scores within groups, the best of each, and how they compare."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from treelet.errors import ParameterError
from treelet.kernels.pairwise import Matrix, Vector
from treelet.learn.targets import Rows, checked_goodness, checked_groups, group_numbers
from treelet.metrics import mean_kendall_tau

TIE = 1e-10  # scores that differ by less, relative to their size, differ by rounding


def beats(first: float, second: float) -> bool:
    """Whether a score is larger than another by more than rounding."""
    return bool(first - second > TIE * max(abs(first), abs(second)))


def first_best(scores: Vector) -> int:
    """The place of the largest score, the first of those that tie with it."""
    top = float(scores.max())
    return int(np.flatnonzero(scores >= top - TIE * abs(top))[0])


def levels(scores: Vector) -> Vector:
    """Places of scores in their order, in which those that tie are equal.

    >>> levels(np.array([3.0, 1.0, 3.0 + 1e-12, 2.0])).tolist()
    [2.0, 0.0, 2.0, 1.0]
    """
    order = np.argsort(scores, kind="stable")
    found = np.zeros(len(scores))
    found[order[1:]] = np.cumsum(np.diff(scores[order]) > TIE * np.abs(scores).max(initial=0))
    return found


def signed_sums(added: NDArray[np.intp], taken: NDArray[np.intp], weights: Vector, n: int) -> Vector:
    """What n examples get from pairs of them: each pair's weight for the one, and its negative for the other."""
    sums = np.zeros(n)
    np.add.at(sums, added, weights)
    np.subtract.at(sums, taken, weights)
    return sums


def nothing_to_learn(n_groups: int) -> ParameterError:
    """The error for groups without a pair to compare."""
    return ParameterError(
        f"none of the {n_groups} groups has two candidates of different goodness: there is nothing to learn. "
        "Check that qid is the same for candidates of one sentence, and that y tells them apart"
    )


class Ranker:
    """The part of an estimator that orders the candidates of each group: mixed into a `KernelLearner`."""

    model_: Any
    _values: Callable[[Any], Matrix]

    def predict(self, X: Any, qid: Any = None) -> Vector:
        """The score of each example: the larger, the better within its group.

        Parameters
        ----------
        X : collection
            As in `fit`; with ``kernel="precomputed"``, kernel values of examples x training examples.
        qid : array-like, optional
            The group of each example; not needed.
        """
        scores: Vector = self._values(X)[:, 0]
        if qid is not None:
            checked_groups(qid, len(scores))
        return scores

    def rank(self, X: Any, qid: Any) -> Rows:
        """The row of the best candidate of each group, groups in the order in which they first appear.

        Of candidates that tie for best it is the first.
        """
        scores, groups = self._scored(X, qid)
        return np.array([rows[first_best(scores[rows])] for rows in groups], dtype=np.intp)

    def score(self, X: Any, y: Any, qid: Any = None) -> float:
        """Kendall's tau_b between scores and goodness `y`, averaged over groups in which goodness differs.

        Scores that differ by rounding are equal.
        """
        scores, groups = self._scored(X, qid)
        goodness = checked_goodness(y, len(scores))
        if not len(scores):
            raise ParameterError("there is no score of no examples: X is empty")
        places = np.empty(len(scores))
        for rows in groups:
            places[rows] = levels(scores[rows])
        return mean_kendall_tau(places, goodness, group_numbers(groups, len(scores)))

    def _scored(self, X: Any, qid: Any) -> tuple[Vector, list[Rows]]:
        check_is_fitted(self)
        if qid is None:
            raise ParameterError("to compare candidates within their groups qid is needed: give qid=")
        scores = self.predict(X, qid)
        return scores, checked_groups(qid, len(scores))

    def _check_fitted_state(self) -> None:
        super()._check_fitted_state()  # type: ignore[misc]  # an estimator's
        if self.model_.outputs != 1:
            raise ValueError("a ranker has one output")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]  # an estimator's
        tags.target_tags.required = True
        return tags
