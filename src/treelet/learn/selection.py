"""Choice of a kernel and other parameters by cross-validation, with one kernel matrix per kernel."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.model_selection import ParameterGrid

from treelet.checks import plural, some_of, suggestion, wrong
from treelet.errors import KernelOverflowError, ParameterError, UnseenLabelWarning
from treelet.kernels.algebra import Constant, Gaussian, Normalized, PolynomialOf, Product, Scale, Sum
from treelet.kernels.base import Kernel
from treelet.kernels.on import On
from treelet.kernels.pairwise import Evaluator, Matrix, Vector
from treelet.kernels.values import to_logs
from treelet.learn.base import KernelLearner, Rows, checked_groups, checked_outputs, checked_targets, group_numbers
from treelet.learn.least_squares import LeastSquares
from treelet.learn.ranking import Ranker
from treelet.learn.svm import KernelSVC
from treelet.matrices.executors import host_matrix
from treelet.resources import PLAIN, Resources
from treelet.work import progress_bar

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
        rounds = _rounds_of(self.folds, n)
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
    and all values of ``alpha`` are computed from one eigendecomposition. `KernelSVC` and `KernelSVR`
    need no matrix: if it exceeds `memory`, each fold is fitted without it, from small to large C, and
    each fit starts from the solution of the one before.

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
        computed again. Default: no limit, but `KernelSVC` and `KernelSVR` use no matrix above 1 GiB.
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
    learner: Any = KernelSVC() if estimator is None else estimator
    if not isinstance(learner, KernelLearner):
        raise wrong("estimator", "an estimator that supports kernel='precomputed', such as KernelSVC()", learner)
    learner = clone(learner).set_params(kernel="precomputed")
    settings = _settings(learner, grid)
    resources = Resources.of(learner.n_jobs, memory, owner="select")
    matrices = _SharedMatrices(kernels, X, resources)
    trials = _Trials(learner, settings, scoring, n=len(matrices.X), y=y, qid=qid, groups=groups, cv=cv)
    selection = Selection()
    if hasattr(learner, "each_fit") and 8 * len(matrices.X) ** 2 > resources.memory:
        with progress_bar(resources.progress, "fits", len(kernels) * len(trials.folds) * len(settings)) as advance:
            for kernel in kernels:
                for trial in trials.without_matrix(kernel, matrices.X, advance):
                    selection.trials.append(trial)
                    if report is not None:
                        report(trial)
        return selection
    last: KernelOverflowError | None = None
    steps = 1 + len(trials.folds)  # the matrix of a kernel, and its folds
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


class _Trials:
    """Fits of one estimator with several settings, fold by fold: the targets, the queries and the folds."""

    def __init__(
        self,
        learner: KernelLearner,
        settings: list[dict[str, Any]],
        scoring: Any,
        *,
        n: int,
        y: Any,
        qid: Any,
        groups: Any,
        cv: Any,
    ) -> None:
        self.learner, self.settings, self.scorer = learner, settings, _scorer(scoring)
        ranks, classes = isinstance(learner, Ranker), is_classifier(learner)
        if qid is not None and not ranks:
            raise ParameterError(
                f"{type(learner).__name__} is not a ranker and does not accept qid. Pass groups= instead."
            )
        queries: Any = group_numbers(checked_groups(qid, n, of=type(learner).__name__), n) if ranks else None
        by = queries if groups is None else group_numbers(checked_groups(groups, n, "groups"), n)
        if classes or ranks:
            self.y = checked_targets(y, n)
        else:
            values, single = checked_outputs(y, n)
            self.y = values[:, 0] if single else values
        with warnings.catch_warnings():
            if groups is None:  # The user did not pass groups, and queries are checked below.
                warnings.filterwarnings("ignore", "The groups parameter is ignored")
            self.folds, self.qid = _folds_of(cv, self.y, by, classifier=classes), queries
        for number, (train, test) in enumerate(self.folds if queries is not None else ()):
            if len(np.intersect1d(queries[train], queries[test])):
                raise ParameterError(
                    f"Fold {number} of cv= splits a query into training and test candidates. "
                    f"Pass cv= as a number, or a splitter that keeps groups together."
                )

    def _named(self, rows: Any) -> dict[str, Any]:
        """Return the keyword arguments of a ranker's methods besides X and y."""
        return {} if self.qid is None else {"qid": self.qid[rows]}

    def of(self, kernel: Kernel, K: Matrix, advance: Callable[[int], None]) -> list[Trial]:
        """Return one trial per setting."""
        return self._trials(kernel, self._decomposed(K, advance) if self._decomposes else self._fitted(K, advance))

    def without_matrix(self, kernel: Kernel, X: Any, advance: Callable[[int], None]) -> list[Trial]:
        """Return one trial per setting, by fits of a support vector machine to the examples."""
        results: Results = [[] for _ in self.settings]
        learner = clone(self.learner).set_params(kernel=kernel)
        for train, test in self.folds:
            others = X[test]
            for number, fitted in learner.each_fit(X[train], self.y[train], self.settings):
                results[number].append((fitted.predict(others), self._score(fitted, others, test)))
                advance(1)
        return self._trials(kernel, results)

    def _trials(self, kernel: Kernel, results: Results) -> list[Trial]:
        trials = []
        for setting, folds in zip(self.settings, results, strict=True):
            predicted, scores = zip(*folds, strict=True)
            trials.append(Trial(kernel, dict(setting), scores, self.folds, predicted))
        return trials

    def _fitted(self, K: Matrix, advance: Callable[[int], None]) -> Results:
        """Return the predictions and the score per setting and fold, by separate fits."""
        results: Results = [[] for _ in self.settings]
        for train, test in self.folds:
            own, across = K[np.ix_(train, train)], K[np.ix_(test, train)]
            for setting, folds in zip(self.settings, results, strict=True):
                fitted = clone(self.learner).set_params(**setting)
                fitted.fit(own, self.y[train], **self._named(train))
                predicted = fitted.predict(across, **self._named(test))
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
        rounds = _rounds_of(self.folds, len(self.y))
        whole = all(len(train) + len(test) == len(self.y) for train, test in self.folds)
        return rounds is not None and whole and all(set(setting) <= {"alpha"} for setting in self.settings)

    def _decomposed(self, K: Matrix, advance: Callable[[int], None]) -> Results:
        """Return the predictions and the score per setting and fold, from one decomposition."""
        results: Results = [[] for _ in self.settings]
        fitted: Any = clone(self.learner)
        if hasattr(fitted, "solver"):
            fitted.solver = "eigen"  # "auto" may choose conjugate gradients, which give no held-out predictions.
        fitted.fit(K, self.y, **self._named(slice(None)))
        alphas = [setting.get("alpha", fitted.alpha) for setting in self.settings]
        for numbers in _rounds_of(self.folds, len(self.y)) or []:
            fold = np.empty(len(self.y), np.intp)
            for number in numbers:
                fold[self.folds[number][1]] = number
            predictions = fitted.held_out(fold, alphas)
            for number in numbers:
                test = self.folds[number][1]
                across = K[test]
                for values, folds in zip(predictions, results, strict=True):
                    known = copy.copy(fitted)  # an estimator that returns the known predictions
                    known.predict = lambda X, qid=None, predictions=values[test]: predictions
                    folds.append((values[test], self._score(known, across, test)))
                advance(1)
        return results

    def _score(self, fitted: Any, across: Any, test: Any) -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnseenLabelWarning)  # A rare class may be absent from a fold.
            value = float(self.scorer(fitted, across, self.y[test], **self._named(test)))
        if np.isnan(value):
            raise ParameterError(
                f"scoring= returns NaN for the fold that tests example {test[0]}. "
                "Check that the score is defined for every fold."
            )
        return value


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


# --- matrices of many kernels -----------------------------------------------------------------------------------------

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


class _SharedMatrices:
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
    >>> from treelet.learn.selection import _SharedMatrices
    >>> inner = SubsetTree(lam=1)
    >>> shared = _SharedMatrices([inner, 2 * inner, inner.normalized()], ["(D a)", "(N (D a) (D b))"])
    >>> [round(float(K[0, 1]), 3) for K in shared]
    [1.0, 2.0, 0.408]
    """

    def __init__(self, kernels: Sequence[Kernel], X: Any, resources: Resources = PLAIN) -> None:
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


def _folds_of(cv: Any, y: NDArray[Any], groups: Rows | None, *, classifier: bool) -> list[Fold]:
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

    if isinstance(cv, bool | int | np.integer):
        if isinstance(cv, bool) or cv < 2:
            raise wrong("cv", "an int of at least 2, a splitter or a list of splits", cv)
        if groups is not None:
            cv = (StratifiedGroupKFold if classifier else GroupKFold)(int(cv))
    try:
        splitter = check_cv(cv, y, classifier=classifier)
        if isinstance(splitter, StratifiedKFold):
            classes, counts = np.unique(y, return_counts=True)
            if len(counts) and counts.min() < 2:
                raise ParameterError(
                    "Cross-validation needs at least two examples per class. "
                    f"Class {str(classes[counts.argmin()])!r} has only one: remove it, or add examples."
                )
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


def _rounds_of(folds: Sequence[Fold], n: int) -> list[list[int]] | None:
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
