"""Classes and probabilities from the scores of a model, without scikit-learn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treelet.checks import plural, some_of
from treelet.errors import InputTypeError
from treelet.kernels.pairwise import Matrix
from treelet.learn.encoding import check_intercepts
from treelet.learn.fits import one_fit
from treelet.learn.model import CompressedModel, warn_if_missing, warn_if_unrelated
from treelet.vocabulary import keyword

Floats = NDArray[np.float64]


def sigmoid_parameters(scores: Floats, positive: NDArray[np.bool_]) -> tuple[float, float]:
    r"""Fit A and B of :math:`P(y = 1 | f) = 1 / (1 + \exp(A f + B))` by Newton's method with backtracking.

    Targets are smoothed as Platt proposed, so the parameters stay finite for separable scores. Lin,
    Lin & Weng, "A note on Platt's probabilistic outputs for support vector machines", Machine
    Learning 68 (2007), algorithm 1.
    """
    n_positive, n_negative = int(positive.sum()), int((~positive).sum())
    target = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))

    def loss(a: float, b: float) -> float:
        z = a * scores + b
        return float(np.sum(np.where(z >= 0, target * z, (target - 1) * z) + np.log1p(np.exp(-np.abs(z)))))

    a, b = 0.0, float(np.log((n_negative + 1) / (n_positive + 1)))
    value = loss(a, b)
    for _ in range(100):
        p = _logistic(-(a * scores + b))
        slack, curve = target - p, p * (1 - p)
        gradient = np.array([np.sum(scores * slack), np.sum(slack)])
        if np.abs(gradient).max() < 1e-5:
            break
        mixed = np.sum(scores * curve)
        hessian = np.array([[np.sum(scores**2 * curve), mixed], [mixed, np.sum(curve)]]) + 1e-12 * np.eye(2)
        step = -np.linalg.solve(hessian, gradient)
        length = 1.0
        while length >= 1e-10:
            trial = (a + length * step[0], b + length * step[1])
            if (trial_loss := loss(*trial)) < value + 1e-4 * length * float(gradient @ step):
                (a, b), value = (float(trial[0]), float(trial[1])), trial_loss
                break
            length /= 2
        else:
            break
    return a, b


def sigmoid(scores: Floats, parameters: Floats) -> Floats:
    """Return the probability of the positive side, examples x binary classifiers, strictly between 0 and 1."""
    p = _logistic(-(scores * parameters[:, 0] + parameters[:, 1]))
    return np.clip(p, 1e-7, 1 - 1e-7)


def coupled(first: Floats, n_classes: int) -> Floats:
    r"""Combine the probabilities of pairs of classes into probabilities of classes.

    They minimize :math:`\sum_i \sum_{j \ne i} (r_{ji} p_i - r_{ij} p_j)^2`, where :math:`r_{ij}` is
    the probability of class i among i and j. This takes one linear system per example. Wu, Lin &
    Weng, JMLR 5 (2004), section 4.2.
    """
    n = len(first)
    r = np.zeros((n, n_classes, n_classes))
    for k, (i, j) in enumerate(combinations(range(n_classes), 2)):
        r[:, i, j], r[:, j, i] = first[:, k], 1 - first[:, k]
    system = np.zeros((n, n_classes + 1, n_classes + 1))
    inner = -r * r.transpose(0, 2, 1)
    inner[:, np.arange(n_classes), np.arange(n_classes)] = np.sum(r**2, axis=1)
    system[:, :n_classes, :n_classes] = inner
    system[:, :n_classes, n_classes] = system[:, n_classes, :n_classes] = 1
    goal = np.zeros((n, n_classes + 1, 1))
    goal[:, n_classes] = 1
    p = np.clip(np.linalg.solve(system, goal)[:, :n_classes, 0], 0, 1)
    result: Floats = p / p.sum(axis=1, keepdims=True)
    return result


def _logistic(z: Any) -> Floats:
    small = np.exp(-np.abs(z))
    result: Floats = np.where(z >= 0, 1, small) / (1 + small)
    return result


SHOWN = 10  # maximum number of labels in a message


def votes(scores: Matrix, n_classes: int) -> Matrix:
    """Return one score per class from one score per pair: the votes, plus a part of the summed scores for ties."""
    totals = np.zeros((len(scores), n_classes))
    sums = np.zeros((len(scores), n_classes))
    for column, (i, j) in zip(scores.T, combinations(range(n_classes), 2), strict=True):
        totals[:, i] += column > 0
        totals[:, j] += column <= 0
        sums[:, i] += column
        sums[:, j] -= column
    totals += sums / (3 * (np.abs(sums) + 1))
    return totals


@dataclass(frozen=True)
class Unseen:
    """Labels that did not occur in the training data, with the number of examples of each.

    >>> print(Unseen.of(["a", "b", "b", "c"], ["a", "d"]))
    3 of 4 examples have labels that do not occur in the training data, and count as errors: 'b' (2), 'c' (1).
    """

    counts: dict[Any, int]
    examples: int
    classes: list[Any]

    @classmethod
    def of(cls, labels: Iterable[Any], classes: Iterable[Any]) -> Unseen:
        tally, known = Counter(labels), list(classes)
        counts = {label: count for label, count in tally.items() if label not in set(known)}
        return cls(dict(sorted(counts.items(), key=lambda item: str(item[0]))), tally.total(), known)

    @property
    def all(self) -> bool:
        return self.examples > 0 and sum(self.counts.values()) == self.examples

    def __str__(self) -> str:
        named = _few([f"{label!r} ({count:,})" for label, count in self.counts.items()])
        if self.all:
            known = some_of(self.classes, SHOWN)
            return (
                f"None of the labels occur in the training data. Labels here: {named}; in the training data: {known}."
            )
        number = sum(self.counts.values())
        verb = "has a label that does" if number == 1 else "have labels that do"
        errors = "counts as an error" if number == 1 else "count as errors"
        return (
            f"{number:,} of {plural(self.examples, 'example')} {verb} not occur in the training data, "
            f"and {errors}: {named}."
        )


def _few(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


class Decides:
    """Predictions of a classifier from the values of its binary classifiers, one-vs-rest or one-vs-one."""

    classes_: NDArray[Any]
    multi_class_: str
    platt_: Matrix
    model_: Any
    _values: Callable[[Any], Matrix]

    @one_fit
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the score of the second class, or one score per class if there are more than two.

        Parameters
        ----------
        X : collection of examples

        Returns
        -------
        ndarray of shape (len(X),) or (len(X), len(classes_))
            For ``"ovo"``, the score of a class is its number of votes. A summand of less than 0.5
            that grows with the summed scores breaks ties.
        """
        return self.decisions(self._values(X))

    @one_fit
    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted class of each example.

        Parameters
        ----------
        X : collection of examples

        Returns
        -------
        ndarray of shape (len(X),)
        """
        return self.labels(self.decision_function(X))

    def decisions(self, values: Matrix) -> NDArray[np.float64]:
        """Return the scores of `decision_function` from the values of the binary classifiers, with intercepts."""
        if len(self.classes_) == 2:
            return values.ravel()
        return votes(values, len(self.classes_)) if self.multi_class_ == "ovo" else values

    def labels(self, scores: NDArray[np.float64]) -> NDArray[Any]:
        """Return the class of each example from the scores of `decision_function`."""
        best = (scores > 0).astype(np.intp) if len(self.classes_) == 2 else scores.argmax(axis=1)
        labels: NDArray[Any] = self.classes_[best]
        return labels

    def _probabilities(self, X: Any) -> Matrix:
        """Return the probability of each class by Platt's sigmoids, whose parameters are ``platt_``."""
        first = sigmoid(self._values(X), self.platt_)
        if len(self.classes_) == 2:
            return np.column_stack([1 - first, first])
        if self.multi_class_ == "ovo":
            return coupled(first, len(self.classes_))
        first /= first.sum(axis=1, keepdims=True)  # No division by 0, because a sigmoid is never 0.
        return first

    def _check_decisions(self) -> int:
        """Return the number of binary classifiers.

        Raises ValueError if attributes from a file are inconsistent.
        """
        k = len(self.classes_) if isinstance(self.classes_, np.ndarray) and self.classes_.ndim == 1 else 0
        machines = {"ovr": 1 if k == 2 else k, "ovo": k * (k - 1) // 2}.get(self.multi_class_)
        if k < 2 or machines is None or machines != self.model_.outputs:
            raise ValueError("classes and binary classifiers do not match")
        platt = getattr(self, "platt_", np.zeros((machines, 2)))
        if not isinstance(platt, np.ndarray) or platt.shape != (machines, 2) or not np.isfinite(platt).all():
            raise ValueError("the parameters of the probabilities do not match the classifiers")
        return machines


class NoPredictorError(InputTypeError):
    """A model cannot compute the requested predictions for examples."""


TASKS = {
    "KernelSVC": "classify",
    "KernelSVR": "regress",
    "RLS": "regress",
    "RankSVM": "rank",
    "RankRLS": "rank",
    "VotedPerceptron": "rank",
}
"""The task of each estimator."""


def task_of(model: Any) -> str | None:
    """Return the task of an estimator, of a subclass of one, or of a `SavedPredictor`; otherwise None."""
    if isinstance(model, SavedPredictor):
        return model.task
    return next((TASKS[cls.__name__] for cls in type(model).__mro__ if cls.__name__ in TASKS), None)


KEPT = ("model_", "intercept_", "classes_", "multi_class_", "platt_")
"""Fitted attributes that predictions need."""


class SavedPredictor:
    """A fitted estimator from a model file, for predictions only, without scikit-learn.

    Its `task` is ``"classify"``, ``"regress"`` or ``"rank"``.
    """

    def __init__(self, kind: str, fitted: dict[str, Any], **means: Any) -> None:
        self.task = TASKS[kind]
        self.model_, self.means = fitted["model_"], means  # of `CompressedModel.score`
        if not isinstance(self.model_, CompressedModel):
            from treelet.learn.matrices import MatrixModel  # Its imports are slow and rarely needed.

            if isinstance(self.model_, MatrixModel):
                raise NoPredictorError(
                    "the model was fitted to a precomputed kernel matrix, so it cannot predict from examples. "
                    "Train it with a kernel."
                )
        self.intercept_ = fitted.get("intercept_", np.zeros(self.model_.outputs))
        check_intercepts(self.intercept_, self.model_.outputs)

    def _values(self, X: Any) -> Matrix:
        X = self.model_.kernel.coerce(X)  # An iterator can be read only once.
        values: Matrix = self.model_.score(X, **self.means)
        warn_if_missing(self.model_.kernel, X, values)
        if self.task != "rank":  # For a ranker, 0 is an ordinary score.
            warn_if_unrelated(self.model_, X, values)
        values += self.intercept_
        return values

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the value or score of each example, or one row of values if there are several outputs."""
        values = self._values(X)
        return values[:, 0] if self.model_.outputs == 1 else values


class SavedClassifier(Decides, SavedPredictor):
    """A fitted `KernelSVC` from a model file."""

    def __init__(self, kind: str, fitted: dict[str, Any], **means: Any) -> None:
        super().__init__(kind, fitted, **means)
        self.classes_, self.multi_class_ = fitted["classes_"], fitted["multi_class_"]
        if "platt_" in fitted:
            self.platt_ = fitted["platt_"]
        self._check_decisions()

    def predict_proba(self, X: Any) -> Matrix:
        """Return the probability of each class."""
        if not hasattr(self, "platt_"):
            raise NoPredictorError(
                f"The model was trained without probabilities. Train it with {keyword('probability', True)}."
            )
        return self._probabilities(X)
