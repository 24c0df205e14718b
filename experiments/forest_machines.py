"""What both parts of the forest experiment need: machines on ready matrices, cross-validation, tests of differences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treelet.gram import gram
from treelet.kernels import Kernel
from treelet.learn import KernelSVC
from treelet.metrics import BootstrapResult
from treelet.metrics.significance import AT_ONCE

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


def bootstrap(
    a: Matrix, b: Matrix, measure: Callable[[Matrix], Matrix], *, n: int = 10_000, seed: int = 0
) -> BootstrapResult:
    """The difference of two systems by any measure of sums over sentences, as `paired_bootstrap` does it.

    Parameters
    ----------
    a, b : ndarray of shape (sentences, counts)
        What each system did on each sentence.
    measure : callable
        From sums over sentences, the last axis being the counts, to the figure that is compared.
    n, seed : int
        Samples, and where they start.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.forest_machines import bootstrap
    >>> one, other = np.ones((50, 1)), np.zeros((50, 1))
    >>> bootstrap(one, other, lambda sums: 2 * sums[..., 0], n=100).difference
    100.0
    """
    size, width = a.shape
    table = np.hstack([a, b]).astype(np.float64)

    def differences(sums: Matrix) -> Matrix:
        return measure(sums[..., :width]) - measure(sums[..., width:])

    total = table.sum(axis=0)
    observed = float(differences(total))
    rng = np.random.default_rng(seed)
    drawn = np.empty(n)
    step = max(1, AT_ONCE // size)
    for begin in range(0, n, step):
        rows = min(step, n - begin)
        times = rng.multinomial(size, np.full(size, 1 / size), size=rows).astype(np.float64)
        drawn[begin : begin + rows] = differences(times @ table)
    extreme = int(np.count_nonzero(np.abs(drawn - observed) >= abs(observed) * (1 - 1e-9)))
    low, high = np.quantile(drawn, [0.025, 0.975])
    return BootstrapResult(
        float(measure(total[:width])),
        float(measure(total[width:])),
        observed,
        (extreme + 1) / (n + 1),
        (float(low), float(high)),
    )


def best(trials: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The trial with the highest F1, the first of equals."""
    return max(trials, key=lambda trial: trial["f1"])
