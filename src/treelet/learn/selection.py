"""Choice of a kernel and other parameters by cross-validation, with one kernel matrix per kernel."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.model_selection import ParameterGrid

from treelet.checks import some_of, suggestion, wrong
from treelet.errors import KernelOverflowError, ParameterError, UnseenLabelWarning
from treelet.kernels import Kernel
from treelet.kernels.pairwise import Matrix
from treelet.learn.base import KernelLearner
from treelet.learn.least_squares import LeastSquares
from treelet.learn.matrices import Fold, SharedMatrices, check_whole, folds_of, matrix_parts, rounds_of
from treelet.learn.ranking import Ranker
from treelet.learn.svm import KernelSVC
from treelet.learn.targets import checked_groups, checked_outputs, checked_targets, group_numbers
from treelet.progress import progress_bar
from treelet.resources import Resources

Results = list[list[tuple[Any, float]]]  # settings x folds: the predictions and their score


@dataclass(frozen=True, eq=False)
class Trial:
    """The cross-validation results of one kernel with one setting of parameters.

    Attributes
    ----------
    kernel : Kernel
        The kernel.
    parameters : dict
        The estimator's parameters from the grid.
    by_fold : tuple of float
        The score in each fold.
    folds : list of (training rows, test rows)
        The folds.
    predicted : tuple of ndarray
        The predictions for the test rows of each fold.
    """

    kernel: Kernel
    parameters: dict[str, Any]
    by_fold: tuple[float, ...]
    folds: list[Fold] = field(repr=False)
    predicted: tuple[NDArray[Any], ...] = field(repr=False)

    @property
    def score(self) -> float:
        """Mean score over folds, weighted by their number of test examples."""
        sizes = [len(test) for _, test in self.folds]
        return float(np.dot(self.by_fold, sizes) / sum(sizes))

    @property
    def held_out(self) -> NDArray[Any]:
        """Out-of-fold predictions, rounds x examples.

        A round is a sequence of folds that test each example once. A repeated cross-validation has
        several rounds.
        """
        n = 1 + max(int(rows.max()) for fold in self.folds for rows in fold)
        rounds = rounds_of(self.folds, n)
        if rounds is None:
            raise ParameterError(
                "held_out is not available: the folds of cv= do not test each example exactly once per round."
            )
        predictions = np.empty((len(rounds), n, *self.predicted[0].shape[1:]), np.result_type(*self.predicted))
        for row, numbers in enumerate(rounds):
            for number in numbers:
                predictions[row, self.folds[number][1]] = self.predicted[number]
        return predictions


@dataclass
class Selection:
    """The results of `select`.

    Attributes
    ----------
    trials : list of Trial
        All trials, in order.
    refused : list of Kernel
        Kernels that were skipped because their values do not fit a float64.
    """

    trials: list[Trial] = field(default_factory=list)
    refused: list[Kernel] = field(default_factory=list)

    @property
    def best(self) -> Trial:
        """The trial with the largest score, the first one if several are equal."""
        return max(self.trials, key=lambda trial: round(trial.score, 12))


def select(
    kernels: Iterable[Kernel],
    X: Any,
    y: Any,
    *,
    estimator: KernelLearner | None = None,
    grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]] | None = None,
    qid: Any = None,
    cv: Any = 5,
    groups: Any = None,
    scoring: str | Callable[..., float] | None = None,
    memory: int | float | str | None = None,
    report: Callable[[Trial], None] | None = None,
) -> Selection:
    """Choose a kernel and parameters of an estimator by cross-validation.

    A grid search of scikit-learn would compute the matrix again for every fold and setting. Here,
    every kernel matrix is computed once. Kernels with a common inner kernel, for example one of
    them normalized, share its matrix. The results are the same. For `RLS` and `RankRLS`, all folds
    and all values of ``alpha`` are computed from one eigendecomposition.

    Parameters
    ----------
    kernels : iterable of Kernel
        The kernels to compare.
    X : collection of examples
        The examples.
    y : array-like
        The class, value or quality of each example.
    estimator : estimator of treelet, optional
        Any classifier, regressor or ranker that supports ``kernel="precomputed"``. Its own kernel
        is ignored. Default: ``KernelSVC()``.
    grid : dict from str to sequence, or sequence of such dicts, optional
        Parameter values of the estimator to try with each kernel, for example ``{"C": [1, 10]}``.
        Default: only the current values.
    qid : array-like, optional
        The query of each example. Required for rankers. Folds contain whole queries.
    cv : int, splitter of scikit-learn, or iterable of (training rows, test rows), default 5
        Folds. An int is a number of folds, at least 2, without shuffling. Folds are stratified for
        classifiers, and no group or query is split.
    groups : array-like, optional
        The group of each example, such as its document or speaker, for `cv`. Default: `qid`.
    scoring : str or callable, optional
        The name of a scorer of scikit-learn, or a function of the estimator, X and y (and ``qid=``
        for rankers). Larger scores are better. Default: the `score` method of the estimator.
    memory : int or str, optional
        Memory limit for cached matrices that several kernels share. Matrices that do not fit are
        computed again. Default: no limit.
    report : callable, optional
        Function that is called with each completed `Trial`.

    Returns
    -------
    Selection
        All trials. Its `best` trial has a ``kernel`` and ``parameters``.

    Raises
    ------
    KernelOverflowError
        If the values of no kernel fit a float64.

    Examples
    --------
    >>> from treelet import KernelSVC, SubsetTree, Treebank
    >>> from treelet.learn.selection import select
    >>> bank = Treebank(["(S (N a))", "(S (V a))", "(S (N b))", "(S (V b))"])
    >>> found = select([SubsetTree(lam=0.4), SubsetTree(lam=0.8)], bank, [0, 1, 0, 1], grid={"C": [1.0, 10.0]}, cv=2)
    >>> found.best.score, found.best.parameters
    (1.0, {'C': 1.0})
    >>> clf = KernelSVC(found.best.kernel, **found.best.parameters).fit(bank, [0, 1, 0, 1])
    """
    kernels = list(kernels)
    if not kernels:
        raise ParameterError("kernels is empty: select needs at least one kernel.")
    learner = _learner(estimator)
    settings = _settings(learner, grid)
    resources = Resources.of(learner.n_jobs, memory, owner="select")
    matrices = SharedMatrices(kernels, X, resources)
    trials = _Trials(learner, settings, _Data.of(learner, len(matrices.X), y, qid, groups, cv), scoring)
    selection = Selection()
    last: KernelOverflowError | None = None
    steps = 1 + len(trials.data.folds)  # the matrix of a kernel, and its folds
    with progress_bar(resources.progress, "grid", steps * len(kernels)) as advance:
        for kernel, K in zip(kernels, matrices, strict=True):
            if isinstance(K, KernelOverflowError):
                selection.refused.append(kernel)
                last = K
                advance(steps)
                continue
            advance(1)
            for trial in trials.of(kernel, K, advance):
                selection.trials.append(trial)
                if report is not None:
                    report(trial)
    if not selection.trials and last is not None:
        raise last
    return selection


def _learner(estimator: Any) -> KernelLearner:
    learner = KernelSVC() if estimator is None else estimator
    if not isinstance(learner, KernelLearner):
        raise wrong("estimator", "an estimator that supports kernel='precomputed', such as KernelSVC()", learner)
    copied: KernelLearner = clone(learner)
    return copied.set_params(kernel="precomputed")


def _settings(learner: KernelLearner, grid: Any) -> list[dict[str, Any]]:
    try:
        settings = list(ParameterGrid({} if grid is None else grid))
    except (TypeError, ValueError) as error:
        raise wrong("grid", "a dict from parameter names to lists of values", grid, of="select") from error
    known = [name for name in learner.get_params(deep=False) if name != "kernel"]
    for name in (name for setting in settings for name in setting):
        if name not in known:
            hint = suggestion(str(name), known) or f" The parameters are {some_of(known)}."
            if name == "kernel":
                hint = " Pass kernels as the first argument."
            raise ParameterError(f"{type(learner).__name__} has no parameter {name!r} for the grid.{hint}")
    return settings


@dataclass(frozen=True)
class _Data:
    """The targets, the queries and the folds."""

    y: NDArray[Any]
    qid: NDArray[Any] | None
    folds: list[Fold]

    @classmethod
    def of(cls, learner: KernelLearner, n: int, y: Any, qid: Any, groups: Any, cv: Any) -> _Data:
        ranks, classes = isinstance(learner, Ranker), is_classifier(learner)
        if qid is not None and not ranks:
            raise ParameterError(
                f"{type(learner).__name__} is not a ranker and does not accept qid. Pass groups= instead."
            )
        queries = group_numbers(checked_groups(qid, n, of=type(learner).__name__), n) if ranks else None
        by = queries if groups is None else group_numbers(checked_groups(groups, n, "groups"), n)
        if classes or ranks:
            values = checked_targets(y, n)
        else:
            values, single = checked_outputs(y, n)
            values = values[:, 0] if single else values
        with warnings.catch_warnings():
            if groups is None:  # The user did not pass groups, and queries are checked below.
                warnings.filterwarnings("ignore", "The groups parameter is ignored")
            folds = folds_of(cv, values, by, classifier=classes)
        if queries is not None:
            check_whole(folds, queries)
        return cls(values, queries, folds)

    def named(self, rows: Any) -> dict[str, Any]:
        """Return the keyword arguments of a ranker's methods besides X and y."""
        return {} if self.qid is None else {"qid": self.qid[rows]}


class _Trials:
    """Fits of one estimator with several settings, fold by fold."""

    def __init__(self, learner: KernelLearner, settings: list[dict[str, Any]], data: _Data, scoring: Any) -> None:
        self.learner, self.settings, self.data = learner, settings, data
        self.scorer = _scorer(scoring)

    def of(self, kernel: Kernel, K: Matrix, advance: Callable[[int], None]) -> list[Trial]:
        """Return one trial per setting."""
        results = self._decomposed(K, advance) if self._decomposes else self._fitted(K, advance)
        trials = []
        for setting, folds in zip(self.settings, results, strict=True):
            predicted, scores = zip(*folds, strict=True)
            trials.append(Trial(kernel, dict(setting), scores, self.data.folds, predicted))
        return trials

    def _nothing(self) -> Results:
        return [[] for _ in self.settings]

    def _fitted(self, K: Matrix, advance: Callable[[int], None]) -> Results:
        """Return the predictions and the score per setting and fold, by separate fits."""
        data, results = self.data, self._nothing()
        for train, test, own, across in matrix_parts(K, data.folds):
            for setting, folds in zip(self.settings, results, strict=True):
                fitted = clone(self.learner).set_params(**setting)
                fitted.fit(own, data.y[train], **data.named(train))
                predicted = fitted.predict(across, **data.named(test))
                folds.append((predicted, self._score(fitted, across, test)))
            advance(1)
        return results

    @property
    def _decomposes(self) -> bool:
        """Whether one decomposition gives the predictions of all folds and settings."""
        learner = self.learner
        if not isinstance(learner, LeastSquares) or learner.basis is not None or learner.alphas is not None:
            return False
        if getattr(learner, "solver", "eigen") == "cg":
            return False
        rounds = rounds_of(self.data.folds, len(self.data.y))
        whole = all(len(train) + len(test) == len(self.data.y) for train, test in self.data.folds)
        return rounds is not None and whole and all(set(setting) <= {"alpha"} for setting in self.settings)

    def _decomposed(self, K: Matrix, advance: Callable[[int], None]) -> Results:
        """Return the predictions and the score per setting and fold, from one decomposition."""
        data, results = self.data, self._nothing()
        fitted: Any = clone(self.learner)
        if hasattr(fitted, "solver"):
            fitted.solver = "eigen"  # "auto" may choose conjugate gradients, which give no held-out predictions.
        fitted.fit(K, data.y, **data.named(slice(None)))
        alphas = [setting.get("alpha", fitted.alpha) for setting in self.settings]
        for numbers in rounds_of(data.folds, len(data.y)) or []:
            fold = np.empty(len(data.y), np.intp)
            for number in numbers:
                fold[data.folds[number][1]] = number
            predictions = fitted.held_out(fold, alphas)
            for number in numbers:
                test = data.folds[number][1]
                across = K[test]
                for values, folds in zip(predictions, results, strict=True):
                    folds.append((values[test], self._score(_with_predictions(fitted, values[test]), across, test)))
                advance(1)
        return results

    def _score(self, fitted: Any, across: Matrix, test: Any) -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnseenLabelWarning)  # A rare class may be absent from a fold.
            value = float(self.scorer(fitted, across, self.data.y[test], **self.data.named(test)))
        if np.isnan(value):
            raise ParameterError(
                f"scoring= returns NaN for the fold that tests example {test[0]}. "
                "Check that the score is defined for every fold."
            )
        return value


def _with_predictions(fitted: Any, predictions: NDArray[Any]) -> Any:
    """Return a copy of a fitted estimator that returns known predictions."""
    copied = copy.copy(fitted)
    copied.predict = lambda X, qid=None: predictions
    return copied


def _scorer(scoring: Any) -> Callable[..., float]:
    if scoring is None:
        return lambda estimator, X, y, **named: estimator.score(X, y, **named)
    if callable(scoring):
        return scoring  # type: ignore[no-any-return]
    try:
        known = get_scorer(scoring)
    except ValueError:
        error = wrong("scoring", "a name in sklearn.metrics.get_scorer_names(), a function or None", scoring)
        raise ParameterError(f"{error}{suggestion(str(scoring), get_scorer_names())}") from None
    return lambda estimator, X, y, **named: known(estimator, X, y)
