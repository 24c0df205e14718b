"""Base of the support vector machines: calls of libsvm, solver parameters, and a model with intercepts."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from treelet.checks import check_boolean, check_number, plural
from treelet.errors import KernelOverflowError, TreeletWarning
from treelet.gram import parse_memory
from treelet.kernels.base import Kernel
from treelet.kernels.pairwise import Matrix, Vector
from treelet.learn.base import KernelLearner
from treelet.learn.encoding import check_intercepts
from treelet.learn.model import CompressedModel, warn_if_unrelated
from treelet.learn.targets import Rows
from treelet.vocabulary import keyword
from treelet.work import abandonable, run

Codes = NDArray[np.intp]
LARGEST = 1e30  # A gradient of libsvm sums over many kernel values, and the largest float32 is 3e38.


class DualSolution(NamedTuple):
    """Sparse coefficients, outputs x training examples, and the intercept of each output."""

    alpha: Any
    intercept: Vector


def _solved(kind: str, K: Matrix, y: Any, solver: Mapping[str, Any], **more: Any) -> Any:
    """Fit scikit-learn's estimator of that name to a validated matrix.

    The import is local because predictions do not need it.
    """
    from sklearn import config_context, svm

    def solve() -> Any:
        with config_context(assume_finite=True):
            return getattr(svm, kind)(kernel="precomputed", **solver).fit(K, y, **more)

    try:
        return abandonable(solve)
    except ValueError:  # The coefficients are not finite, because libsvm stores kernel values as float32.
        if (largest := float(np.abs(K).max())) <= LARGEST:
            raise
        raise KernelOverflowError(
            f"The kernel values reach {largest:.3g}, but libsvm needs values below {LARGEST:.0e}. "
            f"Use a normalized kernel or a smaller {keyword('lam')}; divide a precomputed matrix by a constant."
        ) from None


def _row(coefficients: Vector, support: NDArray[Any], n: int) -> Any:
    return sp.csr_array((coefficients.ravel(), (np.zeros(len(support), np.int64), support)), shape=(1, n))


def regression(K: Matrix, targets: Vector, solver: Mapping[str, Any]) -> DualSolution:
    """Fit one function to numeric targets."""
    svr = _solved("SVR", K, targets, solver)
    return DualSolution(_row(svr.dual_coef_, svr.support_, len(targets)), svr.intercept_.copy())


def against_rest(
    K: Matrix, codes: Codes, weights: Vector, solver: Mapping[str, Any], *, balanced: bool, threads: int
) -> DualSolution:
    """Fit one function per class, positive for its examples; for two classes, only that of the second class."""
    n_classes = int(codes.max()) + 1
    positives = [1] if n_classes == 2 else list(range(n_classes))

    def machine(positive: int) -> tuple[Any, float]:
        mine = codes == positive
        factors = weights * balanced_weights(mine.astype(np.intp)) if balanced else weights
        svc = _solved("SVC", K, mine, solver, sample_weight=factors)
        return _row(svc.dual_coef_, svc.support_, len(codes)), float(svc.intercept_[0])

    found: dict[int, tuple[Any, float]] = {}
    # libsvm releases the GIL, and all classifiers share one matrix.
    run(lambda positive: (positive, machine(positive)), positives, threads, lambda result: found.update([result]))
    rows, intercepts = zip(*(found[positive] for positive in positives), strict=True)
    return DualSolution(sp.csr_array(sp.vstack(rows, format="csr")), np.array(intercepts))


def between_pairs(K: Matrix, codes: Codes, weights: Vector, solver: Mapping[str, Any]) -> DualSolution:
    """Fit one function per pair of classes, positive for the first class of the pair."""
    svc = _solved("SVC", K, codes, solver, sample_weight=weights)
    support, rows = svc.support_, []
    own = codes[support]
    for i, j in combinations(range(len(svc.classes_)), 2):
        # libsvm stores the coefficient of a support vector of class i against class j in row j - 1 if j > i, else j.
        coefficients = np.where(own == i, svc.dual_coef_[j - 1], np.where(own == j, svc.dual_coef_[i], 0.0))
        rows.append(_row(coefficients, support, len(codes)))
    alpha = sp.csr_array(sp.vstack(rows, format="csr"))
    alpha.eliminate_zeros()
    return DualSolution(alpha, svc.intercept_.copy())


def balanced_weights(codes: Codes) -> Vector:
    """Return weights per example that give all classes the same total weight without changing the sum."""
    counts = np.bincount(codes)
    weights: Vector = (len(codes) / (len(counts) * counts))[codes]
    return weights


FEWEST_CHECKED = 20  # With fewer examples, the check would not be reliable.
SAMPLE_SIZE = 200
LEAST_SIMILARITY = 0.05  # cosine of an example with its nearest neighbor


def warn_if_dissimilar(K: Matrix) -> None:
    """Warn if hardly any training examples are similar.

    Large trees are dissimilar under a kernel in which large fragments dominate.
    """
    if len(K) < FEWEST_CHECKED or not K.diagonal().any():  # `KernelLearner` warns of a zero diagonal.
        return
    rows = np.linspace(0, len(K) - 1, min(len(K), SAMPLE_SIZE)).astype(int)
    sizes = np.sqrt(np.abs(np.diag(K)))
    sizes[sizes == 0] = np.inf  # An example without fragments has similarity 0 to all others.
    cosines = np.abs(K[rows]) / sizes[rows][:, None] / sizes
    cosines[np.arange(len(rows)), rows] = 0
    if np.median(cosines.max(axis=1)) < LEAST_SIMILARITY:
        warnings.warn(
            f"Hardly any training examples are similar: at least half have no neighbor with a normalized kernel value "
            f"of {LEAST_SIMILARITY} or more, so the model can only memorize them. Give large fragments less weight: "
            f"try a smaller {keyword('lam')}, a small {keyword('max_depth')}, or the subtree kernel.",
            TreeletWarning,
            stacklevel=5,
        )


class KernelMachine(KernelLearner):
    """Base of `KernelSVC` and `KernelSVR`."""

    C: float
    tol: float
    cache_size: float
    shrinking: bool
    max_iter: int
    memory: int | float | str | None

    _fitted: ClassVar[tuple[str, ...]] = (*KernelLearner._fitted, "intercept_")
    _smaller = (
        "train on fewer examples, or train a linear model of scikit-learn on the vectors of treelet.TreeSketch, which "
        "needs no matrix (docs/scale.md)"
    )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in ("C", "tol", "cache_size"):
            check_number(self, name, 0, np.inf)
        check_boolean("shrinking", self.shrinking, of=self)
        parse_memory(self.memory, of=self)
        if not isinstance(self.max_iter, int | np.integer) or self.max_iter < -1:
            raise self._refuse("max_iter", "an int of at least -1, where -1 means no limit")

    @property
    def _solver(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("C", "tol", "cache_size", "shrinking", "max_iter")}

    def _fit(self, kernel: Kernel | None, data: Any, rows: Rows, solve: Callable[[Matrix], DualSolution]) -> Matrix:
        """Compute the matrix of the rows, solve the dual problem, and merge the support vectors into a model."""
        started = time.perf_counter()
        if kernel is not None:
            what = f"The matrix of {plural(len(rows), 'training example')}"
            self._check_memory(what, 8 * len(rows) ** 2)
        K = self._matrix(kernel, data, None if len(rows) == len(data) else rows)
        if kernel is not None:
            warn_if_dissimilar(K)
        computed = time.perf_counter()
        solution = solve(K)
        solved = time.perf_counter()
        support = np.unique(solution.alpha.indices)
        self.intercept_ = solution.intercept
        self._keep(kernel, data, rows[support], solution.alpha[:, support].toarray())
        self.fit_seconds_ = {
            "gram": computed - started,
            "solve": solved - computed,
            "compress": time.perf_counter() - solved,
        }
        return K

    def _values(self, X: Any) -> Matrix:
        if isinstance(getattr(self, "model_", None), CompressedModel):
            X = self._coerced(self.model_.kernel, X)  # An iterator can be read only once.
        values = super()._values(X)
        if isinstance(self.model_, CompressedModel):
            warn_if_unrelated(self.model_, X, values)
        return values + self.intercept_

    def _check_fitted_state(self) -> None:
        super()._check_fitted_state()
        check_intercepts(self.intercept_, self.model_.outputs)
