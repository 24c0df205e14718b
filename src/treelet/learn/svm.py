"""Support vector machines over any kernel, solved by libsvm on the kernel's matrix."""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC, SVR
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from treelet.errors import ParameterError
from treelet.gram import gram
from treelet.kernels.base import Kernel, Matrix, Vector, check_number
from treelet.learn.base import KernelEstimator
from treelet.learn.encoding import register
from treelet.learn.model import CompressedModel
from treelet.learn.platt import coupled, sigmoid, sigmoid_parameters
from treelet.work import count_threads

Codes = NDArray[np.intp]
FOLDS = 5


class KernelMachine(KernelEstimator):
    """What `KernelSVC` and `KernelSVR` share: parameters of the solver, the matrix, the compressed model."""

    C: float
    tol: float
    cache_size: float
    shrinking: bool
    max_iter: int
    n_jobs: int | None
    progress: bool

    _fitted: ClassVar[tuple[str, ...]] = ("support_", "dual_coef_", "intercept_", "model_", "fit_seconds_")

    def _check_parameters(self) -> None:
        for name in ("C", "tol", "cache_size"):
            check_number(self, name, 0, np.inf)
        if not isinstance(self.shrinking, bool | np.bool_):
            raise self._refuse("shrinking", "True or False")
        if not isinstance(self.max_iter, int | np.integer) or self.max_iter < -1:
            raise self._refuse("max_iter", "an int, -1 for no bound")
        count_threads(self.n_jobs)

    def _refuse(self, name: str, wanted: str) -> ParameterError:
        return ParameterError(
            f"The {name!r} parameter of {type(self).__name__} must be {wanted}. Got {getattr(self, name)!r} instead."
        )

    def _solver_parameters(self) -> dict[str, Any]:
        names = ("C", "tol", "cache_size", "shrinking", "max_iter")
        return {"kernel": "precomputed", **{name: getattr(self, name) for name in names}}

    def _matrix(self, kernel: Kernel, data: Any) -> Matrix:
        started = time.perf_counter()
        K = gram(kernel, data, n_jobs=self.n_jobs, progress=self.progress)
        self.fit_seconds_ = {"gram": time.perf_counter() - started}
        return K

    def _finish(self, kernel: Kernel, data: Any, solution: Solution, started: float) -> None:
        """Keep the support examples' coefficients, and collapse them into a model."""
        solved = time.perf_counter()
        self.support_ = np.unique(solution.alpha.indices).astype(np.int64)
        alpha = solution.alpha[:, self.support_]
        self.dual_coef_ = alpha.toarray()
        self.intercept_ = solution.intercept
        self.model_ = CompressedModel.of(kernel, data[self.support_], alpha)
        self.fit_seconds_ |= {"solve": solved - started, "compress": time.perf_counter() - solved}

    def _scores(self, X: Any) -> Matrix:
        check_is_fitted(self)
        return self.model_.score(X, n_jobs=self.n_jobs) + self.intercept_

    def _check_fitted_state(self) -> None:
        if not isinstance(getattr(self, "model_", None), CompressedModel):
            raise ValueError("the model is missing")
        outputs = self.model_.outputs
        for name, dimensions in (("support_", 1), ("dual_coef_", 2), ("intercept_", 1)):
            value = getattr(self, name)
            if not isinstance(value, np.ndarray) or value.ndim != dimensions or not np.isfinite(value).all():
                raise ValueError(f"{name} is not what it should be")
        if self.dual_coef_.shape != (outputs, len(self.support_)) or self.intercept_.shape != (outputs,):
            raise ValueError("coefficients, intercepts and outputs do not fit")
        if self.intercept_.dtype != np.float64 or self.dual_coef_.dtype != np.float64:
            raise ValueError("coefficients are no float64")
        if not isinstance(self.fit_seconds_, dict):
            raise ValueError("the times are missing")


class Solution:
    """Linear functions on the training examples: coefficients, outputs x examples, sparse, and intercepts."""

    def __init__(self, alpha: Any, intercept: Vector) -> None:
        self.alpha, self.intercept = alpha, intercept


def _row(coefficients: Vector, support: NDArray[Any], n: int) -> Any:
    return sp.csr_array((coefficients.ravel(), (np.zeros(len(support), np.int64), support)), shape=(1, n))


@register
class KernelSVC(ClassifierMixin, KernelMachine):  # type: ignore[misc]  # scikit-learn has no types
    """Classification by support vector machines over any kernel.

    libsvm solves for the dual coefficients on the kernel's matrix; the support examples are then collapsed into one
    `CompressedModel`, the matrix is let go, and predictions need neither.

    Parameters
    ----------
    kernel : Kernel, optional
        By default ``SubsetTree().normalized()``.
    C : float
        The price of an error in the training examples: the larger, the closer the fit.
    multi_class : {"ovr", "ovo"}
        With more than two classes: one machine a class against all others, or one a pair of classes, which vote.
    class_weight : dict or "balanced", optional
        Factors on C by class. ``"balanced"``: both sides of every machine weigh the same (for ``"ovo"``, all classes).
    probability : bool
        Also fit what `predict_proba` needs: Platt's sigmoids on the scores of a five-fold cross-validation, which
        takes about five times as long.
    tol : float
        Where libsvm stops.
    cache_size : float
        Megabytes of kernel rows that libsvm keeps, a thread.
    shrinking : bool
        Whether libsvm sets examples aside that seem settled.
    max_iter : int
        A bound on libsvm's iterations; -1 for none.
    n_jobs : int
        Threads, for the matrix, the machines and the predictions; -1 for one a core. Results do not depend on it.
    progress : bool
        Show a progress bar while the matrix is computed.
    random_state : int or RandomState, optional
        For the folds of ``probability=True``; nothing else is random.

    Attributes
    ----------
    classes_ : ndarray
        The classes, sorted.
    support_ : ndarray of int
        Which training examples are support examples of any machine.
    dual_coef_ : ndarray of shape (machines, support examples)
        Their coefficients; a positive score speaks for the machine's class (for ``"ovo"``, the first of its two).
    intercept_ : ndarray of shape (machines,)
    model_ : CompressedModel
        What predictions are made with; see its `stats`.
    fit_seconds_ : dict
        Where the time went: ``gram``, ``solve``, ``compress``, and ``calibrate`` for probabilities.

    Notes
    -----
    The matrix takes 8 n^2 bytes during the fit. A prediction costs the node pairs that match between a tree and the
    model, however many support trees there are.

    References
    ----------
    Collins & Duffy, "Convolution kernels for natural language", NIPS 2001, section 5 (the compressed model).
    Platt, "Probabilistic outputs for support vector machines", 1999; Wu, Lin & Weng, JMLR 5 (2004), for ``"ovo"``.

    Examples
    --------
    >>> from treelet import KernelSVC, SubsetTree
    >>> trees = ["(NP (D a) (N dog))", "(NP (D the) (N cat))", "(VP (V eat) (NP (N fish)))", "(VP (V sleep))"]
    >>> clf = KernelSVC(SubsetTree(lam=0.4)).fit(trees, ["thing", "thing", "deed", "deed"])
    >>> clf.predict(["(NP (D a) (N fish))", "(VP (V eat))"]).tolist()
    ['thing', 'deed']
    """

    _fitted: ClassVar[tuple[str, ...]] = (*KernelMachine._fitted, "classes_", "multi_class_", "platt_")

    def __init__(
        self,
        kernel: Kernel | None = None,
        C: float = 1.0,
        *,
        multi_class: str = "ovr",
        class_weight: Mapping[Any, float] | str | None = None,
        probability: bool = False,
        tol: float = 1e-3,
        cache_size: float = 200,
        shrinking: bool = True,
        max_iter: int = -1,
        n_jobs: int | None = 1,
        progress: bool = False,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.multi_class = multi_class
        self.class_weight = class_weight
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.shrinking = shrinking
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.progress = progress
        self.random_state = random_state

    # --- fitting ------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to examples and their classes.

        Parameters
        ----------
        X : collection
            Whatever the kernel takes: a Treebank, trees, bracketed strings, an array of them, a DataFrame, ...
        y : array-like
            The class of each example: strings, whole numbers or truth values.
        sample_weight : array-like, optional
            A factor on C for each example, positive.
        """
        self._check_parameters()
        kernel = self._own_kernel()
        data = self._examples(kernel, X)
        classes, codes = self._classes(y, len(data))
        weights = self._weights(classes, codes, sample_weight)
        folds = self._folds(codes) if self.probability else []
        K = self._matrix(kernel, data)
        started = time.perf_counter()
        solution = self._solve(K, codes, len(classes), weights)
        self.classes_, self.multi_class_ = classes, self.multi_class if len(classes) > 2 else "ovr"
        self.__dict__.pop("platt_", None)
        self._finish(kernel, data, solution, started)
        if self.probability:
            started = time.perf_counter()
            self.platt_ = self._calibrated(K, codes, len(classes), weights, folds)
            self.fit_seconds_["calibrate"] = time.perf_counter() - started
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.multi_class not in ("ovr", "ovo"):
            raise self._refuse("multi_class", "'ovr' or 'ovo'")
        if not isinstance(self.probability, bool | np.bool_):
            raise self._refuse("probability", "True or False")
        if not (self.class_weight is None or self.class_weight == "balanced" or isinstance(self.class_weight, Mapping)):
            raise self._refuse("class_weight", "a dict, 'balanced' or None")

    def _classes(self, y: Any, n: int) -> tuple[NDArray[Any], Codes]:
        labels = checked_targets(y, n)
        try:
            check_classification_targets(labels)
            classes, codes = np.unique(labels, return_inverse=True)
        except (TypeError, ValueError) as error:
            raise ParameterError(f"y does not hold classes: {error}") from error
        if len(classes) < 2:
            raise ParameterError(f"y holds one class only, {classes.tolist()[0]!r}: a classifier needs at least two")
        return classes, codes

    def _weights(self, classes: NDArray[Any], codes: Codes, sample_weight: Any) -> Vector:
        """A factor on C for each example."""
        weights = np.ones(len(codes))
        if sample_weight is not None:
            weights = np.array(sample_weight, dtype=float)
            if weights.shape != codes.shape or not (np.isfinite(weights) & (weights > 0)).all():
                raise ParameterError(
                    f"sample_weight must hold one positive number for each of the {len(codes)} examples"
                )
        if isinstance(self.class_weight, Mapping):
            known = {label: place for place, label in enumerate(classes.tolist())}
            factors = np.ones(len(classes))
            for label, factor in self.class_weight.items():
                if label not in known or not isinstance(factor, int | float | np.number) or not 0 < factor < np.inf:
                    raise self._refuse(
                        "class_weight", f"a dict from the classes {classes.tolist()} to positive numbers"
                    )
                factors[known[label]] = factor
            weights *= factors[codes]
        elif self.class_weight == "balanced" and self.multi_class == "ovo":
            weights *= _balanced(codes)
        return weights

    def _solve(self, K: Matrix, codes: Codes, n_classes: int, weights: Vector) -> Solution:
        if self.multi_class == "ovo" and n_classes > 2:
            return self._solve_pairs(K, codes, weights)
        positives = [1] if n_classes == 2 else list(range(n_classes))

        def machine(positive: int) -> tuple[Any, float]:
            mine = codes == positive
            factors = weights * _balanced(mine.astype(np.intp)) if self.class_weight == "balanced" else weights
            with config_context(assume_finite=True):
                svc = SVC(**self._solver_parameters()).fit(K, mine, sample_weight=factors)
            return _row(svc.dual_coef_, svc.support_, len(codes)), float(svc.intercept_[0])

        threads = min(count_threads(self.n_jobs), len(positives))
        if threads == 1:
            rows, intercepts = zip(*map(machine, positives), strict=True)
        else:  # libsvm lets go of the interpreter; all machines read one matrix
            with ThreadPoolExecutor(threads, thread_name_prefix="treelet") as pool:
                rows, intercepts = zip(*pool.map(machine, positives), strict=True)
        return Solution(sp.csr_array(sp.vstack(rows, format="csr")), np.array(intercepts))

    def _solve_pairs(self, K: Matrix, codes: Codes, weights: Vector) -> Solution:
        with config_context(assume_finite=True):
            svc = SVC(**self._solver_parameters()).fit(K, codes, sample_weight=weights)
        support, rows = svc.support_, []
        own = codes[support]
        for i, j in combinations(range(len(svc.classes_)), 2):
            # libsvm keeps, for a support example of class i, its coefficient against class j in row j - 1 (j > i) or j
            coefficients = np.where(own == i, svc.dual_coef_[j - 1], np.where(own == j, svc.dual_coef_[i], 0.0))
            rows.append(_row(coefficients, support, len(codes)))
        alpha = sp.csr_array(sp.vstack(rows, format="csr"))
        alpha.eliminate_zeros()
        return Solution(alpha, svc.intercept_.copy())

    # --- probabilities ------------------------------------------------------------------------------------------

    def _folds(self, codes: Codes) -> list[tuple[NDArray[Any], NDArray[Any]]]:
        fewest = int(np.bincount(codes).min())
        if fewest < 2:
            raise ParameterError(
                "probability=True needs at least two examples of each class, to fit on some and score others"
            )
        splitter = StratifiedKFold(min(FOLDS, fewest), shuffle=True, random_state=self.random_state)
        return list(splitter.split(np.zeros(len(codes)), codes))

    def _calibrated(self, K: Matrix, codes: Codes, n_classes: int, weights: Vector, folds: Any) -> Matrix:
        """Platt's two numbers for each machine, from the scores of examples that it was not fitted to."""
        scores = np.empty((len(codes), len(self.intercept_)))
        for train, test in folds:
            part = self._solve(K[np.ix_(train, train)], codes[train], n_classes, weights[train])
            scores[test] = K[np.ix_(test, train)] @ part.alpha.T + part.intercept
        if self.multi_class_ == "ovo":
            pairs = combinations(range(n_classes), 2)
            sides = [((codes == i) | (codes == j), codes == i) for i, j in pairs]
        else:
            everyone = np.ones(len(codes), bool)
            sides = [(everyone, codes == c) for c in ([1] if n_classes == 2 else range(n_classes))]
        return np.array([sigmoid_parameters(scores[who, k], mine[who]) for k, (who, mine) in enumerate(sides)])

    # --- predicting ---------------------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores: of the second class (two classes), or one a class.

        For ``"ovo"`` a class's score is its number of votes, plus less than a half for how clear they were.
        """
        scores = self._scores(X)
        if len(self.classes_) == 2:
            return scores.ravel()
        return _votes(scores, len(self.classes_)) if self.multi_class_ == "ovo" else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each example."""
        scores = self.decision_function(X)
        best = (scores > 0).astype(np.intp) if len(self.classes_) == 2 else scores.argmax(axis=1)
        labels: NDArray[Any] = self.classes_[best]
        return labels

    @available_if(lambda self: self.probability or hasattr(self, "platt_"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Matrix:
        """The probability of each class, in the order of `classes_`; needs ``probability=True`` when fitted."""
        check_is_fitted(self)
        if not hasattr(self, "platt_"):
            raise ParameterError("this KernelSVC was fitted without probabilities: fit it with probability=True")
        first = sigmoid(self._scores(X), self.platt_)
        if len(self.classes_) == 2:
            return np.column_stack([1 - first, first])
        if self.multi_class_ == "ovo":
            return coupled(first, len(self.classes_))
        first /= first.sum(axis=1, keepdims=True)  # a sigmoid is never 0
        return first

    def _check_fitted_state(self) -> None:
        super()._check_fitted_state()
        k = len(self.classes_) if isinstance(self.classes_, np.ndarray) and self.classes_.ndim == 1 else 0
        machines = {"ovr": 1 if k == 2 else k, "ovo": k * (k - 1) // 2}.get(self.multi_class_)
        if k < 2 or machines != self.model_.outputs:
            raise ValueError("classes and machines do not fit")
        platt = getattr(self, "platt_", np.zeros((machines, 2)))
        if not isinstance(platt, np.ndarray) or platt.shape != (machines, 2) or not np.isfinite(platt).all():
            raise ValueError("the probabilities' parameters do not fit")


@register
class KernelSVR(RegressorMixin, KernelMachine):  # type: ignore[misc]  # scikit-learn has no types
    """Regression by a support vector machine over any kernel.

    Parameters
    ----------
    kernel : Kernel, optional
        By default ``SubsetTree().normalized()``.
    C : float
        The price of an error in the training examples.
    epsilon : float
        Errors up to this one cost nothing.
    tol, cache_size, shrinking, max_iter, n_jobs, progress
        As for `KernelSVC`, and so are the attributes.

    Examples
    --------
    >>> from treelet import KernelSVR, SubsetTree
    >>> model = KernelSVR(SubsetTree(), C=100, epsilon=0.01).fit(["(A x)", "(B x)", "(C (A x) (B x))"], [1, 2, 3])
    >>> model.predict(["(B x)"]).round(1).tolist()
    [2.0]
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        C: float = 1.0,
        *,
        epsilon: float = 0.1,
        tol: float = 1e-3,
        cache_size: float = 200,
        shrinking: bool = True,
        max_iter: int = -1,
        n_jobs: int | None = 1,
        progress: bool = False,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.epsilon = epsilon
        self.tol = tol
        self.cache_size = cache_size
        self.shrinking = shrinking
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.progress = progress

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to examples and their values."""
        self._check_parameters()
        check_number(self, "epsilon", 0, np.inf, low_included=True)
        kernel = self._own_kernel()
        data = self._examples(kernel, X)
        targets = checked_targets(y, len(data))
        try:
            targets = targets.astype(float)
        except (TypeError, ValueError):
            raise ParameterError(f"y must hold numbers, it holds {targets.dtype}") from None
        K = self._matrix(kernel, data)
        started = time.perf_counter()
        with config_context(assume_finite=True):
            svr = SVR(**self._solver_parameters(), epsilon=self.epsilon).fit(K, targets)
        solution = Solution(_row(svr.dual_coef_, svr.support_, len(targets)), svr.intercept_.copy())
        self._finish(kernel, data, solution, started)
        return self

    def predict(self, X: Any) -> Vector:
        """The value of each example."""
        return self._scores(X).ravel()

    def _check_fitted_state(self) -> None:
        super()._check_fitted_state()
        if self.model_.outputs != 1:
            raise ValueError("a regression has one output")


def checked_targets(y: Any, n: int) -> NDArray[Any]:
    """Labels or values, one for each of n examples, none of them missing."""
    if y is None:
        raise ParameterError("fit needs y, the class or value of each example")
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels.ravel()
    if labels.ndim != 1:
        raise ParameterError(f"y must have one dimension, this one has {labels.ndim}")
    if len(labels) != n:
        raise ParameterError(f"X has {n} examples and y has {len(labels)} values: each example needs one")
    if labels.dtype.kind == "O":
        missing = [k for k, label in enumerate(labels.tolist()) if label is None or label != label]  # noqa: PLR0124
        kinds = {type(label) for label in labels.tolist()}
        if not missing and len(kinds) == 1 and kinds <= {str, int, bool, float}:
            labels = np.array(labels.tolist())
    else:
        missing = np.flatnonzero(~np.isfinite(labels)).tolist() if labels.dtype.kind == "f" else []
    if missing:
        raise ParameterError(
            f"y has no value for example {missing[0]} ({len(missing)} missing): leave such examples out"
        )
    return labels


def _balanced(codes: Codes) -> Vector:
    """A weight for each example, so that all classes weigh the same and the sum stays."""
    counts = np.bincount(codes)
    weights: Vector = (len(codes) / (len(counts) * counts))[codes]
    return weights


def _votes(scores: Matrix, n_classes: int) -> Matrix:
    """One score a class from one a pair of classes: votes, and a share of the summed scores to break ties."""
    votes = np.zeros((len(scores), n_classes))
    sums = np.zeros((len(scores), n_classes))
    for column, (i, j) in zip(scores.T, combinations(range(n_classes), 2), strict=True):
        votes[:, i] += column > 0
        votes[:, j] += column <= 0
        sums[:, i] += column
        sums[:, j] -= column
    votes += sums / (3 * (np.abs(sums) + 1))
    return votes
