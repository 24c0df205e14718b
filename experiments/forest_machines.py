"""What both parts of the forest experiment need: machines on ready matrices, cross-validation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treelet.gram import gram
from treelet.kernels import Kernel
from treelet.learn import KernelSVC

Labels = NDArray[np.str_]
Matrix = NDArray[np.float64]


def scores(
    K: Matrix, labels: Labels, across: Matrix, *, C: float, weights: Matrix | None = None, n_jobs: int = 1
) -> tuple[Labels, Matrix]:
    """The classes, and what one machine a class says of each test example, as `KernelSVC` would.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Kernel values of the training examples.
    labels : ndarray of str
        Their classes.
    across : ndarray of shape (m, n)
        Kernel values of test examples with training examples.
    C : float
        The price of an error.
    weights : ndarray of shape (n,), optional
        A factor on C for each training example.
    n_jobs : int
        Threads.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.forest_machines import scores
    >>> classes, found = scores(np.eye(3), np.array(["a", "b", "c"]), np.eye(3), C=10.0)
    >>> classes[found.argmax(axis=1)].tolist()
    ['a', 'b', 'c']
    """
    machine = KernelSVC(C=C, n_jobs=n_jobs)
    classes, codes = machine._classes(labels, len(labels))
    solution = machine._solve(K, codes, len(classes), np.ones(len(codes)) if weights is None else weights)
    found = np.asarray(across @ solution.alpha.T + solution.intercept)
    return classes, np.hstack([-found, found]) if len(classes) == 2 else found


def cross_validated(
    kernel: Kernel, X: Any, labels: Labels, C: Sequence[float], *, folds: int, seed: int, n_jobs: int
) -> dict[float, Labels]:
    """For each C, the class of each example when its fold is left out; the matrix is computed once.

    Unlike `treelet.learn.selection.select`, a class may have a single example: it is then never found.
    """
    K = gram(kernel, X, n_jobs=n_jobs)
    fold = np.random.default_rng(seed).permutation(len(labels)) % folds
    found = {value: labels.copy() for value in C}
    for number in range(folds):
        fit, rest = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        own, across = K[np.ix_(fit, fit)], K[np.ix_(rest, fit)]
        for value in C:
            classes, values = scores(own, labels[fit], across, C=value, n_jobs=n_jobs)
            found[value][rest] = classes[values.argmax(axis=1)]
    return found


def best(trials: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The trial with the highest F1, the first of equals."""
    return max(trials, key=lambda trial: trial["f1"])
