"""Choosing a kernel and other parameters by cross-validation, each Gram matrix computed once."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.metrics import get_scorer
from sklearn.model_selection import ParameterGrid

from treelet.checks import wrong
from treelet.errors import KernelOverflowError, ParameterError, UnseenLabelWarning
from treelet.kernels import Kernel
from treelet.kernels.pairwise import Matrix
from treelet.learn.base import KernelLearner
from treelet.learn.least_squares import LeastSquares
from treelet.learn.matrices import Fold, SharedMatrices, check_whole, folds_of, matrix_parts, rounds_of
from treelet.learn.ranking import Ranker
from treelet.learn.svm import KernelSVC
from treelet.learn.targets import checked_groups, checked_outputs, checked_targets, group_numbers
from treelet.resources import parse_memory
from treelet.vocabulary import keyword

Found = list[list[tuple[Any, float]]]  # settings x folds: what was predicted, and its score


@dataclass(frozen=True, eq=False)
class Trial:
    """One setting, and what came of it.

    Attributes
    ----------
    kernel : Kernel
    parameters : dict
        Of the estimator, those of the grid.
    by_fold : tuple of float
        The score in each fold.
    folds : list of (rows to fit to, rows to test on)
    predicted : tuple of ndarray
        For the test rows of each fold, what was predicted.
    """

    kernel: Kernel
    parameters: dict[str, Any]
    by_fold: tuple[float, ...]
    folds: list[Fold] = field(repr=False)
    predicted: tuple[NDArray[Any], ...] = field(repr=False)

    @property
    def score(self) -> float:
        """The mean over folds, each as often as it has test examples: for accuracy, the share of examples that were right."""
        sizes = [len(test) for _, test in self.folds]
        return float(np.dot(self.by_fold, sizes) / sum(sizes))

    @property
    def held_out(self) -> NDArray[Any]:
        """What was predicted for each example when its fold was left out: rounds x examples.

        A round is a run of folds that test each example once, of which a repeated cross-validation has several.
        """
        n = 1 + max(int(rows.max()) for fold in self.folds for rows in fold)
        rounds = rounds_of(self.folds, n)
        if rounds is None:
            raise ParameterError("the folds of cv= do not test each example once: there is no prediction for each")
        found = np.empty((len(rounds), n, *self.predicted[0].shape[1:]), np.result_type(*self.predicted))
        for place, numbers in enumerate(rounds):
            for number in numbers:
                found[place, self.folds[number][1]] = self.predicted[number]
        return found


@dataclass
class Selection:
    """All settings that were tried, in order, and the kernels whose values did not fit a float64."""

    trials: list[Trial] = field(default_factory=list)
    refused: list[Kernel] = field(default_factory=list)

    @property
    def best(self) -> Trial:
        """The setting with the largest score, the first of equals."""
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
    advance: Callable[[int], None] = lambda steps: None,
) -> Selection:
    """Cross-validate an estimator with several kernels and parameters, on ready matrices.

    A grid search of scikit-learn would compute the matrix anew for every fold and setting; here it is computed once a kernel, and
    kernels that differ in what is wrapped around them or added to them only share what they have in common. The fits are the
    same. For `RLS` and `RankRLS` all folds and strengths ``alpha`` come from one decomposition.

    Parameters
    ----------
    kernels : iterable of Kernel
        What to try.
    X, y : collections
        Examples, and their classes, values or goodness.
    estimator : estimator of treelet, optional
        Any that takes ``kernel="precomputed"``: a classifier, a regressor or a ranker; its own kernel does not matter. By default
        ``KernelSVC()``.
    grid : dict of str to sequence, or sequence of them, optional
        Values of the estimator's parameters to try with each kernel, such as ``{"C": [1, 10]}``; by default those it has.
    qid : array-like
        The query of each example, for rankers: folds hold whole queries.
    cv : int, splitter of scikit-learn, or iterable of (rows to fit to, rows to test on)
        A number asks for so many folds, in the order of the examples: stratified for classifiers; with `groups` or `qid`, such
        that none is in two folds.
    groups : array-like, optional
        The group of each example (document, speaker), for `cv`. By default `qid`, if there is one.
    scoring : str or callable, optional
        A name that scikit-learn knows, or a function of the estimator, X and y (and ``qid=``, for rankers), the larger the
        better. By default the estimator's own `score`.
    memory : int or str, optional
        How much matrices may take that are kept for several kernels, as for `gram`; beyond it, they are computed again.
    report : callable, optional
        Told of each trial when it is done.
    advance : callable, optional
        Told of each step: one a matrix, one a fold of each kernel.

    Returns
    -------
    Selection
        With all trials; its `best` has a ``kernel`` and ``parameters``.

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
        raise ParameterError("no kernel was given to choose from")
    learner = _learner(estimator)
    settings = _settings(learner, grid)
    matrices = SharedMatrices(kernels, X, learner._resources._replace(memory_limit=parse_memory(memory)))
    trials = Trials(learner, settings, _Data.of(learner, len(matrices.X), y, qid, groups, cv), scoring)
    selection = Selection()
    last: KernelOverflowError | None = None
    for kernel, K in zip(kernels, matrices, strict=True):
        if isinstance(K, KernelOverflowError):
            selection.refused.append(kernel)
            last = K
            advance(1 + len(trials.data.folds))
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
        raise wrong("estimator", "an estimator with kernel='precomputed', such as KernelSVC()", learner)
    copied: KernelLearner = clone(learner)
    return copied.set_params(kernel="precomputed")


def _settings(learner: KernelLearner, grid: Any) -> list[dict[str, Any]]:
    try:
        settings = list(ParameterGrid({} if grid is None else grid))
    except (TypeError, ValueError) as error:
        raise ParameterError(f"The 'grid' parameter must be a dict from names to values: {error}") from error
    known = [name for name in learner.get_params(deep=False) if name != "kernel"]
    for name in (name for setting in settings for name in setting):
        if name not in known:
            raise ParameterError(
                f"{type(learner).__name__} has no parameter {name!r} to choose; it has {known}. Kernels are given by themselves"
            )
    return settings


@dataclass(frozen=True)
class _Data:
    """What is learned, and the folds."""

    y: NDArray[Any]
    qid: NDArray[Any] | None
    folds: list[Fold]

    @classmethod
    def of(cls, learner: KernelLearner, n: int, y: Any, qid: Any, groups: Any, cv: Any) -> _Data:
        ranks, classes = isinstance(learner, Ranker), is_classifier(learner)
        if qid is not None and not ranks:
            raise ParameterError(f"{type(learner).__name__} is no ranker, and takes no qid: give groups= instead")
        queries = group_numbers(checked_groups(qid, n), n) if ranks else None
        by = queries if groups is None else group_numbers(checked_groups(groups, n, "groups"), n)
        if classes or ranks:
            values = checked_targets(y, n)
        else:
            values, single = checked_outputs(y, n)
            values = values[:, 0] if single else values
        with warnings.catch_warnings():
            if groups is None:  # nobody asked for groups; queries are seen to below
                warnings.filterwarnings("ignore", "The groups parameter is ignored")
            folds = folds_of(cv, values, by, classifier=classes)
        if queries is not None:
            check_whole(folds, queries)
        return cls(values, queries, folds)

    def named(self, rows: Any) -> dict[str, Any]:
        """What a ranker's methods get besides X and y."""
        return {} if self.qid is None else {"qid": self.qid[rows]}


class Trials:
    """Fits of one estimator under several settings, fold by fold."""

    def __init__(self, learner: KernelLearner, settings: list[dict[str, Any]], data: _Data, scoring: Any) -> None:
        self.learner, self.settings, self.data = learner, settings, data
        self.scorer = _scorer(scoring)

    def of(self, kernel: Kernel, K: Matrix, advance: Callable[[int], None]) -> list[Trial]:
        """A trial a setting."""
        found = self._decomposed(K, advance) if self._decomposes else self._fitted(K, advance)
        trials = []
        for setting, folds in zip(self.settings, found, strict=True):
            predicted, scores = zip(*folds, strict=True)
            trials.append(Trial(kernel, dict(setting), scores, self.data.folds, predicted))
        return trials

    def _nothing(self) -> Found:
        return [[] for _ in self.settings]

    def _fitted(self, K: Matrix, advance: Callable[[int], None]) -> Found:
        """For each setting and fold, what was predicted and how good it is."""
        data, found = self.data, self._nothing()
        for train, test, own, across in matrix_parts(K, data.folds):
            for setting, folds in zip(self.settings, found, strict=True):
                fitted = clone(self.learner).set_params(**setting)
                fitted.fit(own, data.y[train], **data.named(train))
                predicted = fitted.predict(across, **data.named(test))
                folds.append((predicted, self._score(fitted, across, test)))
            advance(1)
        return found

    @property
    def _decomposes(self) -> bool:
        """Whether one decomposition gives what all folds and settings predict."""
        learner = self.learner
        if not isinstance(learner, LeastSquares) or learner.basis is not None or learner.alphas is not None:
            return False
        if getattr(learner, "solver", "eigen") == "cg":
            return False
        rounds = rounds_of(self.data.folds, len(self.data.y))
        whole = all(len(train) + len(test) == len(self.data.y) for train, test in self.data.folds)
        return rounds is not None and whole and all(set(setting) <= {"alpha"} for setting in self.settings)

    def _decomposed(self, K: Matrix, advance: Callable[[int], None]) -> Found:
        data, found = self.data, self._nothing()
        fitted: Any = clone(self.learner)
        if hasattr(fitted, "solver"):
            fitted.solver = "eigen"  # "auto" would give no predictions for what is held out where memory is short
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
                for values, folds in zip(predictions, found, strict=True):
                    folds.append((values[test], self._score(_answering(fitted, values[test]), across, test)))
                advance(1)
        return found

    def _score(self, fitted: Any, across: Matrix, test: Any) -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnseenLabelWarning)  # a fold may lack a class, which is the fold's fault
            value = float(self.scorer(fitted, across, self.data.y[test], **self.data.named(test)))
        if np.isnan(value):
            raise ParameterError(
                f"{keyword('scoring')} gives no number (NaN) for the fold that tests on example {test[0]}"
            )
        return value


def _answering(fitted: Any, predictions: NDArray[Any]) -> Any:
    """A fitted estimator whose predictions are known."""
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
        raise wrong(
            "scoring", "a name that sklearn.metrics.get_scorer_names() gives, a function or None", scoring
        ) from None
    return lambda estimator, X, y, **named: known(estimator, X, y)
