"""Support vector machines over any kernel, solved by libsvm on the kernel's matrix."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from itertools import combinations
from types import MethodType
from typing import Any, ClassVar, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin, clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from treelet.checks import check_boolean, check_number, check_one_of, some_of
from treelet.errors import ParameterError, TreeletWarning, UnavailableError, UnseenLabelWarning
from treelet.kernels.base import Kernel
from treelet.kernels.pairwise import Matrix, Vector
from treelet.learn.base import atomic_fit
from treelet.learn.deciding import Decides, Unseen, sigmoid_parameters
from treelet.learn.encoding import register
from treelet.learn.machine import (
    Codes,
    DualSolution,
    KernelMachine,
    against_rest,
    balanced_weights,
    between_pairs,
    regression,
)
from treelet.learn.matrices import folds_of, matrix_parts
from treelet.learn.targets import checked_numbers, checked_targets
from treelet.vocabulary import keyword

Method = TypeVar("Method", bound=Callable[..., Any])


class _Available:
    """As scikit-learn's ``available_if``, whose error has no room for a reason."""

    def __init__(self, method: Callable[..., Any], check: Callable[[Any], bool], hint: str) -> None:
        self.method, self.check, self.hint = method, check, hint
        self.__doc__ = method.__doc__

    def __get__(self, owner: Any, kind: type) -> Any:
        if owner is None:
            return self.method
        if not self.check(owner):
            raise UnavailableError(f"this {kind.__name__} has no {self.method.__name__}: {self.hint}")
        return MethodType(self.method, owner)


def available(check: Callable[[Any], bool], hint: str) -> Callable[[Method], Method]:
    """A method that an object has where `check` holds of it; elsewhere an AttributeError with the hint, so that ``hasattr`` is False."""

    def decorate(method: Method) -> Method:
        return cast("Method", _Available(method, check, hint))

    return decorate


FOLDS = 5


@register
class KernelSVC(ClassifierMixin, KernelMachine, Decides):  # type: ignore[misc]  # scikit-learn has no types
    """Classification by support vector machines over any kernel.

    libsvm solves for the dual coefficients on the kernel's matrix; the support examples are then collapsed into one
    `CompressedModel`, the matrix is let go, and predictions need neither.

    Parameters
    ----------
    kernel : Kernel or "precomputed", optional
        By default ``SubsetTree().normalized()``. With ``"precomputed"`` X is a matrix of kernel values.
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
    memory : int or str, optional
        How much the matrix of kernel values may take, 8 n^2 bytes for n examples; None for as much as it takes.
    n_jobs : int
        Threads, for the matrix, the machines and the predictions; -1 for one a core. Results do not depend on it.
    device : "cpu" or "cuda"
        ``"cuda"``: compute kernel values on a GPU, as `treelet.gram` does. A file of a model does not remember it.
    device_memory : int or str, optional
        How much of the GPU's memory may be taken, such as ``"10GiB"``; by default, what is free.
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
        kernel: Kernel | str | None = None,
        C: float = 1.0,
        *,
        multi_class: str = "ovr",
        class_weight: Mapping[Any, float] | str | None = None,
        probability: bool = False,
        tol: float = 1e-3,
        cache_size: float = 200,
        shrinking: bool = True,
        max_iter: int = -1,
        memory: int | float | str | None = None,
        n_jobs: int | None = 1,
        device: str = "cpu",
        device_memory: int | float | str | None = None,
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
        self.memory = memory
        self.n_jobs = n_jobs
        self.device = device
        self.device_memory = device_memory
        self.progress = progress
        self.random_state = random_state

    # --- fitting ------------------------------------------------------------------------------------------------

    @atomic_fit()
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to examples and their classes.

        Parameters
        ----------
        X : collection
            Whatever the kernel takes: a Treebank, trees, bracketed strings, an array of them, a DataFrame, ...; with
            ``kernel="precomputed"``, the matrix of the examples with themselves.
        y : array-like
            The class of each example: strings, whole numbers or truth values.
        sample_weight : array-like, optional
            A factor on C for each example, positive.
        """
        self._check_parameters()
        kernel, data = self._kernel_and_data(X)
        classes, codes = self._classes(y, len(data))
        weights = self._weights(classes, codes, sample_weight)
        single = classes[np.bincount(codes) < 2].tolist()
        if self.probability and single:
            raise ParameterError(
                f"{keyword('probability', True)} needs at least two examples of each class, to fit on some and score others; "
                f"there is one only of {some_of(single)}"
            )
        K = self._fit(kernel, data, lambda K: self._solve(K, codes, weights))
        self._remember(kernel, data, classes[codes])
        self.classes_, self.multi_class_ = classes, self.multi_class if len(classes) > 2 else "ovr"
        if self.probability:
            started = time.perf_counter()
            self.platt_ = self._calibrated(K, codes, sample_weight)
            self.fit_seconds_["calibrate"] = time.perf_counter() - started
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_one_of("multi_class", self.multi_class, ("ovr", "ovo"), of=self)
        check_boolean("probability", self.probability, of=self)
        if not (self.class_weight is None or self.class_weight == "balanced" or isinstance(self.class_weight, Mapping)):
            raise self._refuse("class_weight", "a dict, 'balanced' or None")

    def _classes(self, y: Any, n: int) -> tuple[NDArray[Any], Codes]:
        labels = checked_targets(y, n)
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "The number of unique classes")  # said below, and of fewer examples
                check_classification_targets(labels)
            classes, codes = np.unique(labels, return_inverse=True)
        except (TypeError, ValueError) as error:
            raise ParameterError(f"y does not hold classes: {error}") from error
        if len(classes) < 2:
            raise ParameterError(f"y holds one class only, {classes.tolist()[0]!r}: a classifier needs at least two")
        if len(labels) > 10 and 2 * len(classes) > len(labels):
            warnings.warn(
                f"there are {len(classes):,} classes among {len(labels):,} examples: nearly every class has one example. "
                "Are these the labels, or numbers that a regressor should learn?",
                TreeletWarning,
                stacklevel=4,
            )
        return classes, codes

    def _weights(self, classes: NDArray[Any], codes: Codes, sample_weight: Any) -> Vector:
        """A factor on C for each example."""
        weights = np.ones(len(codes))
        if sample_weight is not None:
            weights = checked_numbers(sample_weight, len(codes), name="sample_weight")
            if not (weights > 0).all():
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
            weights *= balanced_weights(codes)
        return weights

    def _solve(self, K: Matrix, codes: Codes, weights: Vector) -> DualSolution:
        if self.multi_class == "ovo" and codes.max() > 1:
            return between_pairs(K, codes, weights, self._solver)
        balanced, threads = self.class_weight == "balanced", self._resources.threads
        return against_rest(K, codes, weights, self._solver, balanced=balanced, threads=threads)

    def _calibrated(self, K: Matrix, codes: Codes, sample_weight: Any) -> Matrix:
        """Platt's two numbers for each machine, from the scores of examples that it was not fitted to."""
        from sklearn.model_selection import StratifiedKFold

        n_classes, labels = len(self.classes_), self.classes_[codes]
        factors = None if sample_weight is None else checked_numbers(sample_weight, len(codes), name="sample_weight")
        splitter = StratifiedKFold(
            min(FOLDS, int(np.bincount(codes).min())), shuffle=True, random_state=self.random_state
        )
        machine = clone(self).set_params(kernel="precomputed", probability=False, progress=False)
        scores = np.empty((len(codes), self.model_.outputs))
        for train, test, own, across in matrix_parts(K, folds_of(splitter, codes, None, classifier=True)):
            machine.fit(own, labels[train], None if factors is None else factors[train])
            scores[test] = machine._values(across)
        if self.multi_class_ == "ovo":
            pairs = combinations(range(n_classes), 2)
            sides = [((codes == i) | (codes == j), codes == i) for i, j in pairs]
        else:
            everyone = np.ones(len(codes), bool)
            sides = [(everyone, codes == c) for c in ([1] if n_classes == 2 else range(n_classes))]
        return np.array([sigmoid_parameters(scores[who, k], mine[who]) for k, (who, mine) in enumerate(sides)])

    # --- predicting ---------------------------------------------------------------------------------------------

    @available(
        lambda self: self.probability or hasattr(self, "platt_"),
        "there are no probabilities unless they are asked for: fit it with probability=True (decision_function needs nothing)",
    )
    def predict_proba(self, X: Any) -> Matrix:
        """The probability of each class, in the order of `classes_`; needs ``probability=True`` when fitted."""
        check_is_fitted(self)
        if not hasattr(self, "platt_"):
            raise ParameterError("this KernelSVC was fitted without probabilities: fit it with probability=True")
        return self._probabilities(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The accuracy: the share of examples whose class is right. A warning names labels that the fit never saw."""
        from sklearn.metrics import accuracy_score

        check_is_fitted(self)
        predicted = self.predict(X)
        labels = checked_targets(y, len(predicted), "score needs y, the class of each example")
        unseen = Unseen.of(labels.tolist(), self.classes_.tolist())
        if unseen.counts:
            warnings.warn(str(unseen), UnseenLabelWarning, stacklevel=2)
        return float(accuracy_score(labels, predicted, sample_weight=sample_weight))

    def _check_fitted_state(self) -> None:
        super()._check_fitted_state()
        self._check_decisions()


@register
class KernelSVR(RegressorMixin, KernelMachine):  # type: ignore[misc]  # scikit-learn has no types
    """Regression by a support vector machine over any kernel.

    Parameters
    ----------
    kernel : Kernel or "precomputed", optional
        By default ``SubsetTree().normalized()``. With ``"precomputed"`` X is a matrix of kernel values.
    C : float
        The price of an error in the training examples.
    epsilon : float
        Errors up to this one cost nothing.
    tol, cache_size, shrinking, max_iter, memory, n_jobs, device, device_memory, progress
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
        device: str = "cpu",
        device_memory: int | float | str | None = None,
        progress: bool = False,
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
        self.device = device
        self.device_memory = device_memory
        self.progress = progress

    @atomic_fit()
    def fit(self, X: Any, y: Any) -> Self:
        """Fit to examples and their values."""
        self._check_parameters()
        check_number(self, "epsilon", 0, np.inf, low_included=True)
        kernel, data = self._kernel_and_data(X)
        targets = checked_numbers(y, len(data))
        self._fit(kernel, data, lambda K: regression(K, targets, {**self._solver, "epsilon": self.epsilon}))
        self._remember(kernel, data, targets)
        return self

    def predict(self, X: Any) -> Vector:
        """The value of each example."""
        return self._values(X).ravel()

    def _check_fitted_state(self) -> None:
        super()._check_fitted_state()
        if self.model_.outputs != 1:
            raise ValueError("a regression has one output")
