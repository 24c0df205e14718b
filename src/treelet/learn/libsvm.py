"""Linear functions that libsvm finds on a matrix of kernel values: one, one a class, or one a pair of classes."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from treelet.kernels.pairwise import Matrix, Vector
from treelet.work import check_room

Codes = NDArray[np.intp]


class DualSolution(NamedTuple):
    """Linear functions on the training examples: coefficients, outputs x examples, sparse, and intercepts."""

    alpha: Any
    intercept: Vector


def _solved(kind: str, K: Matrix, y: Any, solver: Mapping[str, Any], **more: Any) -> Any:
    """scikit-learn's machine of that name, fitted to a matrix that was checked; loaded by those who fit only."""
    from sklearn import config_context, svm

    with config_context(assume_finite=True):
        return getattr(svm, kind)(kernel="precomputed", **solver).fit(K, y, **more)


def _row(coefficients: Vector, support: NDArray[Any], n: int) -> Any:
    return sp.csr_array((coefficients.ravel(), (np.zeros(len(support), np.int64), support)), shape=(1, n))


def regression(K: Matrix, targets: Vector, solver: Mapping[str, Any]) -> DualSolution:
    """One function, near the targets."""
    svr = _solved("SVR", K, targets, solver)
    return DualSolution(_row(svr.dual_coef_, svr.support_, len(targets)), svr.intercept_.copy())


def against_rest(
    K: Matrix, codes: Codes, weights: Vector, solver: Mapping[str, Any], *, balanced: bool, threads: int
) -> DualSolution:
    """One function a class, positive for its examples; a single one, for the second, if there are two."""
    n_classes = int(codes.max()) + 1
    positives = [1] if n_classes == 2 else list(range(n_classes))

    def machine(positive: int) -> tuple[Any, float]:
        mine = codes == positive
        factors = weights * balanced_weights(mine.astype(np.intp)) if balanced else weights
        svc = _solved("SVC", K, mine, solver, sample_weight=factors)
        return _row(svc.dual_coef_, svc.support_, len(codes)), float(svc.intercept_[0])

    if threads == 1 or len(positives) == 1:
        rows, intercepts = zip(*map(machine, positives), strict=True)
    else:  # libsvm lets go of the interpreter; all machines read one matrix
        check_room(min(threads, len(positives)))
        with ThreadPoolExecutor(min(threads, len(positives)), thread_name_prefix="treelet") as pool:
            rows, intercepts = zip(*pool.map(machine, positives), strict=True)
    return DualSolution(sp.csr_array(sp.vstack(rows, format="csr")), np.array(intercepts))


def between_pairs(K: Matrix, codes: Codes, weights: Vector, solver: Mapping[str, Any]) -> DualSolution:
    """One function a pair of classes, positive for the first of the two."""
    svc = _solved("SVC", K, codes, solver, sample_weight=weights)
    support, rows = svc.support_, []
    own = codes[support]
    for i, j in combinations(range(len(svc.classes_)), 2):
        # libsvm keeps, for a support example of class i, its coefficient against class j in row j - 1 (j > i) or j
        coefficients = np.where(own == i, svc.dual_coef_[j - 1], np.where(own == j, svc.dual_coef_[i], 0.0))
        rows.append(_row(coefficients, support, len(codes)))
    alpha = sp.csr_array(sp.vstack(rows, format="csr"))
    alpha.eliminate_zeros()
    return DualSolution(alpha, svc.intercept_.copy())


def balanced_weights(codes: Codes) -> Vector:
    """A weight for each example, so that all classes weigh the same and the sum stays."""
    counts = np.bincount(codes)
    weights: Vector = (len(codes) / (len(counts) * counts))[codes]
    return weights
