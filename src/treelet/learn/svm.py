"""Support vector machines over any kernel, trained without the kernel matrix."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from treelet.checks import check_boolean, check_number, in_words, plural, some_of
from treelet.errors import (
    KernelOverflowError,
    ParameterError,
    TreeletWarning,
    UnseenLabelWarning,
    user_level,
)
from treelet.kernels.base import Kernel
from treelet.kernels.pairwise import Matrix, Vector
from treelet.learn.active_set import ActiveSetSolver, BoxProblem, BoxSolution, ExampleMatrix
from treelet.learn.base import (
    USE_A_CLASSIFIER,
    KernelLearner,
    Rows,
    checked_numbers,
    checked_targets,
)
from treelet.learn.fits import atomic_fit, one_fit
from treelet.learn.model import CompressedModel, warn_if_unrelated
from treelet.learn.outputs import check_classifier, decided, unseen_labels
from treelet.learn.persist import check_intercepts, register
from treelet.matrices import parse_memory
from treelet.matrices.executors import host_matrix
from treelet.resources import Resources
from treelet.work import abandonable, digits_reached, progress_bar, run

# --- base of the support vector machines ------------------------------------------------------------------------------

Codes = NDArray[np.intp]
_LARGEST = 1e30  # A gradient sums over many kernel values, and the largest float32 is 3e38.


def _libsvm(kind: str, K: Matrix, y: Any, solver: Mapping[str, Any], **more: Any) -> Any:
    """Fit scikit-learn's estimator of that name to a validated matrix.

    The import is local because only precomputed matrices need it.
    """
    from sklearn import config_context, svm

    def solve() -> Any:
        with config_context(assume_finite=True):
            return getattr(svm, kind)(kernel="precomputed", **solver).fit(K, y, **more)

    try:
        return abandonable(solve)
    except ValueError:  # The coefficients are not finite, because libsvm stores kernel values as float32.
        if (largest := float(np.abs(K).max())) <= _LARGEST:
            raise
        raise _too_large(largest, "a normalized kernel, or divide the matrix by a constant") from None


def _too_large(largest: float, remedy: str) -> KernelOverflowError:
    reached = f"reach {largest:.3g}" if np.isfinite(largest) else f"exceed {np.finfo(float).max:.0e}"
    return KernelOverflowError(
        f"The kernel values {reached}, but a support vector machine needs values below {_LARGEST:.0e}. Use {remedy}."
    )


class _Machine(NamedTuple):
    """One binary classifier or regressor: its targets, and the bounds of its coefficients. `tube` is None for a classifier."""

    y: Vector
    C: Vector
    tube: float | None = None

    @property
    def problem(self) -> BoxProblem:
        if self.tube is None:
            return BoxProblem(self.y, np.where(self.y > 0, 0.0, -self.C), np.where(self.y > 0, self.C, 0.0))
        return BoxProblem(self.y, -self.C, self.C, self.tube, unit=float(self.y.std()) or 1.0)


def _against_rest(codes: Codes, weights: Vector, C: float, *, balanced: bool) -> list[_Machine]:
    """Return one machine per class, positive for its examples; for two classes, only that of the second class."""
    n_classes = int(codes.max()) + 1
    machines = []
    for positive in [1] if n_classes == 2 else range(n_classes):
        mine = codes == positive
        factors = weights
        if balanced:  # both sides get the same total weight, and the sum of all weights stays the same
            counts = np.bincount(mine.astype(np.intp))
            factors = weights * (len(mine) / (len(counts) * counts))[mine.astype(np.intp)]
        machines.append(_Machine(np.where(mine, 1.0, -1.0), C * factors))
    return machines


_LEAST_SIMILARITY = 0.05  # cosine of an example with its nearest neighbor


def _warn_if_dissimilar(kernel: Kernel, data: Any, resources: Resources) -> None:
    """Warn if hardly any training examples are similar.

    Large trees are dissimilar under a kernel in which large fragments dominate. A sample of the examples is enough.
    """
    sizes = np.sqrt(np.abs(kernel.self_values(data)))
    if len(data) < 20 or not sizes.any():  # too few to be reliable; there is another warning for self-values of 0
        return
    rows, columns = (np.linspace(0, len(data) - 1, min(len(data), most)).astype(int) for most in (200, 10_000))
    sizes[sizes == 0] = np.inf  # An example without fragments has similarity 0 to all others.
    cosines = np.abs(host_matrix(kernel, data[rows], data[columns], resources)) / sizes[rows][:, None] / sizes[columns]
    cosines[rows[:, None] == columns] = 0
    if np.median(cosines.max(axis=1)) < _LEAST_SIMILARITY:
        warnings.warn(
            f"Hardly any training examples are similar: at least half have no neighbor with a normalized kernel value "
            f"of {_LEAST_SIMILARITY} or more, so the model can only memorize them. Give large fragments less weight: "
            f"try a smaller lam=, a small max_depth=, or the subtree kernel.",
            TreeletWarning,
            stacklevel=user_level(),
        )


class _KernelMachine(KernelLearner):
    """Base of `KernelSVC` and `KernelSVR`."""

    C: float
    tol: float
    cache_size: float
    shrinking: bool
    max_iter: int
    memory: int | float | str | None

    _fitted: ClassVar[tuple[str, ...]] = (*KernelLearner._fitted, "intercept_")

    _start: Matrix | None = None
    """Coefficients from which a fit starts: machines x examples."""

    def each_fit(self, X: Any, y: Any, settings: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, Self]]:
        """Fit copies with several settings of parameters, from small to large C.

        Each fit starts from the solution of the one before, in proportion to C, so it needs fewer steps. `select` uses
        this method.

        Parameters
        ----------
        X : collection of examples
            As in `fit`.
        y : array-like
            As in `fit`.
        settings : sequence of dict
            Parameters and their values, for example ``[{"C": 1.0}, {"C": 10.0}]``.

        Yields
        ------
        (int, estimator)
            The position of a setting, and a fitted copy with its parameters.
        """
        start: Matrix | None = None
        last = self.C
        for number in sorted(range(len(settings)), key=lambda number: settings[number].get("C", self.C)):
            machine = clone(self).set_params(**settings[number])
            machine._start = None if start is None else start * (machine.C / last)
            last = machine.C
            machine.fit(X, y)
            del machine._start
            start = np.zeros((len(machine.dual_coef_), len(y)))
            start[:, machine.support_] = machine.dual_coef_
            yield number, machine

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in ("C", "tol", "cache_size"):
            check_number(self, name, 0, np.inf)
        check_boolean("shrinking", self.shrinking, of=self)
        parse_memory(self.memory, of=self)
        if not isinstance(self.max_iter, int | np.integer) or self.max_iter < -1:
            raise self._refuse("max_iter", "an int of at least -1, where -1 means no limit")

    def _fit(self, kernel: Kernel | None, data: Any, rows: Rows, machines: list[_Machine]) -> None:
        """Solve the dual problems of all machines, and merge the support vectors into a model."""
        if kernel is None:
            solutions = self._solved_by_libsvm(
                self._matrix(None, data, None if len(rows) == len(data) else rows), machines
            )
        else:
            solutions = self._solved(kernel, data if len(rows) == len(data) else data[rows], machines)
        b = np.array([coefficients for coefficients, _ in solutions])
        self.intercept_ = np.array([intercept for _, intercept in solutions])
        support = np.flatnonzero(b.any(axis=0))
        self._keep(kernel, data, rows[support], b[:, support])

    def _solved(self, kernel: Kernel, data: Any, machines: list[_Machine]) -> list[tuple[Vector, float]]:
        """Solve the machines without a matrix. Up to two at once share the memory, so results do not depend on `n_jobs`."""
        resources = self._resources._replace(memory_limit=parse_memory(self.memory))
        self._warn_if_nothing_to_learn(kernel.self_values(data))
        _warn_if_dissimilar(kernel, data, Resources(resources.threads))
        at_once = min(resources.threads, len(machines), 2)
        each = resources._replace(threads=max(1, resources.threads // at_once))
        matrix = ExampleMatrix(kernel, data, each, len(machines))
        solver = ActiveSetSolver(matrix, resources.memory // 4)
        solutions: dict[int, BoxSolution] = {}
        with progress_bar(resources.progress, "digits of the solution", 100 * len(machines)) as advance:

            def solve(number: int) -> tuple[int, BoxSolution]:
                step = digits_reached(self.tol, advance)
                problem, start = machines[number].problem, None if self._start is None else self._start[number]
                return number, solver.solve(problem, float(self.tol), int(self.max_iter), start, step)

            try:
                run(solve, range(len(machines)), at_once, lambda solution: solutions.update([solution]))
            except KernelOverflowError:
                raise _too_large(
                    float(kernel.self_values(data).max()),
                    "a smaller lam=, or kernel.normalized(), which never overflows",
                ) from None
        worst, steps = max((solution.gap, solution.steps) for solution in solutions.values())
        if worst >= self.tol:
            warnings.warn(
                f"{type(self).__name__} has not converged after {plural(steps, 'step')}: the optimality conditions are "
                f"violated by {worst:.3g}, but the tolerance is {self.tol:.3g}. Use a larger max_iter= or tol=.",
                ConvergenceWarning,
                stacklevel=user_level(),
            )
        return [(solutions[number].b, solutions[number].intercept) for number in range(len(machines))]

    def _solved_by_libsvm(self, K: Matrix, machines: list[_Machine]) -> list[tuple[Vector, float]]:
        """Solve the machines on a precomputed matrix. libsvm releases the GIL, and all machines share the matrix."""
        names = ("tol", "cache_size", "shrinking", "max_iter")
        solver = {name: getattr(self, name) for name in names}
        solutions: dict[int, tuple[Vector, float]] = {}

        def solve(number: int) -> tuple[int, tuple[Vector, float]]:
            machine = machines[number]
            if machine.tube is None:
                found = _libsvm("SVC", K, machine.y > 0, {**solver, "C": 1.0}, sample_weight=machine.C)
            else:
                found = _libsvm("SVR", K, machine.y, {**solver, "C": machine.C[0], "epsilon": machine.tube})
            b = np.zeros(len(K))
            b[found.support_] = found.dual_coef_[0]
            return number, (b, float(found.intercept_[0]))

        run(solve, range(len(machines)), self._resources.threads, lambda solution: solutions.update([solution]))
        return [solutions[number] for number in range(len(machines))]

    def _values(self, X: Any) -> Matrix:
        if isinstance(getattr(self, "model_", None), CompressedModel):
            X = self._coerced(self.model_.kernel, X)  # An iterator can be read only once.
        values = super()._values(X)
        if isinstance(self.model_, CompressedModel):
            warn_if_unrelated(self.model_, X, values)
        scores: Matrix = values + self.intercept_
        return scores

    def _check_fitted_state(self) -> None:
        super()._check_fitted_state()
        check_intercepts(self.intercept_, self.model_.outputs)


# --- the estimators ---------------------------------------------------------------------------------------------------


def _weighted_rows(sample_weight: Any, n: int) -> tuple[Rows, Vector]:
    """Return the rows whose weight is not 0, and their weights. None stands for equal weights."""
    if sample_weight is None:
        return np.arange(n), np.ones(n)
    weights = checked_numbers(sample_weight, n, name="sample_weight")
    if (weights < 0).any():
        row = int((weights < 0).argmax())
        raise ParameterError(
            f"sample_weight must contain numbers of at least 0. Got {weights[row]:g} for sample_weight[{row}] instead."
        )
    rows = np.flatnonzero(weights)
    if not len(rows):
        raise ParameterError("All values of sample_weight are 0: at least two examples need a positive weight.")
    return rows, weights[rows]


_CLASS_WEIGHTS = "None, 'balanced' or a dict from classes of y to positive numbers"


@register
class KernelSVC(ClassifierMixin, _KernelMachine):  # type: ignore[misc]  # scikit-learn has no types
    """Support vector classifier over any kernel.

    The fit is exact and never needs the kernel matrix: a block of it, for the examples that matter,
    and products from merged rows are enough (see Notes). The support vectors are then merged into a
    `CompressedModel`, so predictions do not need them separately.

    Parameters
    ----------
    kernel : Kernel or "precomputed", optional
        Default: ``SubsetTree().normalized()``. With ``"precomputed"``, X is a kernel matrix.
    C : float, default 1.0
        Regularization parameter, in (0, inf): the penalty per training error. Larger values fit the
        training data more closely.
    class_weight : dict or "balanced", optional
        Factors of C per class. ``"balanced"`` gives both sides of every binary classifier the same
        total weight. Default: 1 for all classes.
    tol : float, default 0.001
        Stopping tolerance, in (0, inf): the largest violation of the optimality conditions, as in
        libsvm.
    cache_size : float, default 200
        With ``kernel="precomputed"`` only: size of libsvm's cache per thread, in MB.
    shrinking : bool, default True
        With ``kernel="precomputed"`` only: whether libsvm uses the shrinking heuristic.
    max_iter : int, default -1
        Maximum number of steps per binary classifier; -1 means no limit. A `ConvergenceWarning` is
        issued if it is reached.
    memory : int or str, optional
        Memory limit of the fit, besides the examples. A quarter of it holds the block of the kernel
        matrix: about 8,000 examples by default. A smaller block takes longer. Default: 1 GiB.
    n_jobs : int, default 1
        Number of threads for kernel values, the binary classifiers and predictions. -1 uses one thread
        per core. Results do not depend on `n_jobs`.

    Attributes
    ----------
    classes_ : ndarray
        The classes, sorted.
    support_ : ndarray of int
        Indices of the training examples that are support vectors of any binary classifier.
    dual_coef_ : ndarray of shape (n_classifiers, n_support)
        Coefficients of the support vectors. A positive score favors the class of the binary
        classifier.
    intercept_ : ndarray of shape (n_classifiers,)
        Intercepts of the binary classifiers.
    model_ : CompressedModel
        The model that computes predictions; see its `stats`.

    Notes
    -----
    For more than two classes, there is one binary classifier per class, against the rest.
    scikit-learn's ``CalibratedClassifierCV`` adds probabilities.

    Sequential minimal optimization with second-order selection solves the dual problem for a block of
    the examples. One product with the kernel matrix then updates the gradient of all examples, in
    float64. Examples that violate the optimality conditions enter the block, others leave it. For
    kernels that are linear in the weights of their parts, the product needs one merged row and not
    the matrix (Collins & Duffy 2001, section 5): tree, forest, tagging and locality kernels, their
    sums, multiples and normalized forms. Other kernels, such as Gaussian ones, compute rows in tiles.
    At the end, the gradient of all examples near the margin is computed once more from the beginning.
    With ``kernel="precomputed"``, libsvm solves the problem.

    Prediction time grows with the number of matching node pairs between a tree and the model,
    regardless of the number of support vectors.

    References
    ----------
    Collins & Duffy, "Convolution kernels for natural language", NIPS 2001, section 5 (the
    compressed model).
    Fan, Chen & Lin, "Working set selection using second order information for training support vector
    machines", JMLR 6, 2005.

    Examples
    --------
    >>> from treelet import KernelSVC, SubsetTree
    >>> trees = ["(NP (D a) (N dog))", "(NP (D the) (N cat))", "(VP (V eat) (NP (N fish)))", "(VP (V sleep))"]
    >>> clf = KernelSVC(SubsetTree(lam=0.4)).fit(trees, ["thing", "thing", "deed", "deed"])
    >>> clf.predict(["(NP (D a) (N fish))", "(VP (V eat))"]).tolist()
    ['thing', 'deed']
    """

    _fitted: ClassVar[tuple[str, ...]] = (*_KernelMachine._fitted, "classes_", "platt_")

    def __init__(
        self,
        kernel: Kernel | str | None = None,
        C: float = 1.0,
        *,
        class_weight: Mapping[Any, float] | str | None = None,
        tol: float = 1e-3,
        cache_size: float = 200,
        shrinking: bool = True,
        max_iter: int = -1,
        memory: int | float | str | None = None,
        n_jobs: int | None = 1,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.class_weight = class_weight
        self.tol = tol
        self.cache_size = cache_size
        self.shrinking = shrinking
        self.max_iter = max_iter
        self.memory = memory
        self.n_jobs = n_jobs

    # --- fitting ------------------------------------------------------------------------------------------------

    @atomic_fit()
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the classifier to examples and their classes.

        Parameters
        ----------
        X : collection of examples
            Any form that the kernel accepts: a `Treebank`, trees, bracketed strings, an array of
            them, a DataFrame and others. With ``kernel="precomputed"``, the square kernel matrix of
            the examples.
        y : array-like
            The class of each example: strings, integers or booleans. At least two classes are
            needed.
        sample_weight : array-like, optional
            Factor of C per example, at least 0. Examples with the weight 0 are left out, as if they
            had not been passed. Default: 1 for all examples.

        Returns
        -------
        KernelSVC
            The fitted estimator.
        """
        self._check_parameters()
        kernel, data = self._kernel_and_data(X)
        labels = checked_targets(y, len(data))
        rows, factors = _weighted_rows(sample_weight, len(data))
        classes, codes = self._classes(labels[rows])
        weights = self._weights(classes, codes, factors)
        self._fit(
            kernel,
            data,
            rows,
            _against_rest(codes, weights, float(self.C), balanced=self.class_weight == "balanced"),
        )
        self._remember(kernel, data if len(rows) == len(data) else data[rows], classes[codes])
        self.classes_ = classes
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not (self.class_weight is None or self.class_weight == "balanced" or isinstance(self.class_weight, Mapping)):
            raise self._refuse("class_weight", _CLASS_WEIGHTS)

    _least_examples = "examples of at least two classes"

    def _classes(self, labels: NDArray[Any]) -> tuple[NDArray[Any], Codes]:
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "The number of unique classes")  # The warning below replaces it.
                check_classification_targets(labels)
            classes, codes = np.unique(labels, return_inverse=True)
        except (TypeError, ValueError) as error:
            if labels.dtype.kind == "f":
                row = int((labels != np.round(labels)).argmax())
                raise ParameterError(
                    f"y contains numbers that are not whole, such as y[{row}] = {labels[row]:g}, but KernelSVC predicts "
                    "classes. To predict numbers, use KernelSVR or RLS. To predict classes, pass one class label per "
                    "example."
                ) from error
            raise ParameterError(
                f"y does not contain classes ({str(error).rstrip('.')}). Pass one string, int or bool per example."
            ) from error
        if len(classes) < 2:
            raise ParameterError(
                f"y contains only the class {classes.tolist()[0]!r}, but KernelSVC needs at least two classes. "
                "Check y, or add examples of another class."
            )
        if len(labels) > 10 and 2 * len(classes) > len(labels):
            warnings.warn(
                f"y contains {len(classes):,} classes for {len(labels):,} examples, so most classes have only one "
                "example. Check that y contains class labels. To predict numbers, use KernelSVR or RLS.",
                TreeletWarning,
                stacklevel=user_level(),
            )
        return classes, codes

    def _weights(self, classes: NDArray[Any], codes: Codes, factors: Vector) -> Vector:
        """Return a factor of C for each example."""
        weights = factors.copy()
        if isinstance(self.class_weight, Mapping):
            known = {label: number for number, label in enumerate(classes.tolist())}
            factors = np.ones(len(classes))
            for label, factor in self.class_weight.items():
                problem = None
                if label not in known:
                    listed = in_words(map(repr, known), "and") if len(known) <= 20 else some_of(list(known))
                    problem = f"{label!r} is not a class of y. The classes are {listed}."
                elif not isinstance(factor, int | float | np.number) or not 0 < factor < np.inf:
                    problem = f"The weight of the class {label!r} is {factor!r}."
                if problem is not None:
                    raise ParameterError(f"{self._refuse('class_weight', _CLASS_WEIGHTS)} {problem}")
                factors[known[label]] = factor
            weights *= factors[codes]
        return weights

    # --- predicting ---------------------------------------------------------------------------------------------

    @one_fit
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the score of the second class, or one score per class if there are more than two.

        Parameters
        ----------
        X : collection of examples

        Returns
        -------
        ndarray of shape (len(X),) or (len(X), len(classes_))
        """
        return decided(self, self._values(X))[0]

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
        return decided(self, self.decision_function(X))[1]

    @one_fit
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy, the share of examples whose class is predicted correctly.

        Issues an `UnseenLabelWarning` if `y` contains labels that were absent when the classifier
        was fitted.
        """
        from sklearn.metrics import accuracy_score

        check_is_fitted(self)
        predicted = self.predict(X)
        labels = checked_targets(y, len(predicted), "y is missing: score needs the class of each example.")
        unseen, _ = unseen_labels(labels.tolist(), self.classes_.tolist())
        if unseen:
            warnings.warn(unseen, UnseenLabelWarning, stacklevel=user_level())
        return float(accuracy_score(labels, predicted, sample_weight=sample_weight))

    def _check_fitted_state(self) -> None:
        super()._check_fitted_state()
        check_classifier(self)


@register
class KernelSVR(RegressorMixin, _KernelMachine):  # type: ignore[misc]  # scikit-learn has no types
    """Support vector regression over any kernel.

    Parameters
    ----------
    kernel : Kernel or "precomputed", optional
        Default: ``SubsetTree().normalized()``. With ``"precomputed"``, X is a kernel matrix.
    C : float, default 1.0
        Regularization parameter, in (0, inf): the penalty per training error. Larger values fit the
        training data more closely.
    epsilon : float, default 0.1
        Width of the tube, in [0, inf): errors up to `epsilon` are not penalized.
    tol, cache_size, shrinking, max_iter, memory, n_jobs
        As for `KernelSVC`.

    Attributes
    ----------
    support_ : ndarray of int
        Indices of the training examples that are support vectors.
    dual_coef_ : ndarray of shape (1, n_support)
        Coefficients of the support vectors.
    intercept_ : ndarray of shape (1,)
        Intercept.
    model_ : CompressedModel
        The model that computes predictions.

    Examples
    --------
    >>> from treelet import KernelSVR, SubsetTree
    >>> model = KernelSVR(SubsetTree(), C=100, epsilon=0.01).fit(["(A x)", "(B x)", "(C (A x) (B x))"], [1, 2, 3])
    >>> model.predict(["(B x)"]).round(1).tolist()
    [2.0]
    """

    def __init__(
        self,
        kernel: Kernel | str | None = None,
        C: float = 1.0,
        *,
        epsilon: float = 0.1,
        tol: float = 1e-3,
        cache_size: float = 200,
        shrinking: bool = True,
        max_iter: int = -1,
        memory: int | float | str | None = None,
        n_jobs: int | None = 1,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.epsilon = epsilon
        self.tol = tol
        self.cache_size = cache_size
        self.shrinking = shrinking
        self.max_iter = max_iter
        self.memory = memory
        self.n_jobs = n_jobs

    @atomic_fit()
    def fit(self, X: Any, y: Any) -> Self:
        """Fit the regressor to examples and their target values.

        Parameters
        ----------
        X : collection of examples
            Any form that the kernel accepts. With ``kernel="precomputed"``, the square kernel
            matrix of the examples.
        y : array-like of numbers
            The target value of each example.

        Returns
        -------
        KernelSVR
            The fitted estimator.
        """
        self._check_parameters()
        check_number(self, "epsilon", 0, np.inf, low_included=True)
        kernel, data = self._kernel_and_data(X)
        targets = checked_numbers(y, len(data), remedy=USE_A_CLASSIFIER)

        machine = _Machine(targets, np.full(len(targets), float(self.C)), float(self.epsilon))
        self._fit(kernel, data, np.arange(len(data)), [machine])
        self._remember(kernel, data, targets)
        return self

    @one_fit
    def predict(self, X: Any) -> Vector:
        """Return the predicted value of each example."""
        return self._values(X).ravel()

    def _check_fitted_state(self) -> None:
        super()._check_fitted_state()
        if self.model_.outputs != 1:
            raise ValueError("a regression model must have one output")
