"""Choosing a kernel and C by cross-validation, each Gram matrix computed once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from treelet.errors import ParameterError
from treelet.gram import gram
from treelet.kernels import Kernel
from treelet.learn.svm import KernelSVC


@dataclass(frozen=True)
class Trial:
    """One setting and its accuracy in each fold."""

    kernel: Kernel
    C: float
    scores: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Accuracy, averaged over the folds."""
        return float(np.mean(self.scores))


@dataclass
class Selection:
    """All settings that were tried; the best is the one with the highest mean, the first of equals."""

    trials: list[Trial] = field(default_factory=list)

    @property
    def best(self) -> Trial:
        """The setting to use."""
        return max(self.trials, key=lambda trial: trial.mean)


def select(
    kernels: Iterable[Kernel],
    X: Any,
    y: Any,
    *,
    C: Sequence[float] = (1.0, 3.0, 10.0),
    folds: int = 5,
    seed: int = 0,
    n_jobs: int | None = 1,
    report: Callable[[Trial], None] | None = None,
) -> Selection:
    """Accuracy of one-vs-rest support vector machines in stratified cross-validation, for each kernel and C.

    A grid search over `KernelSVC` would compute the matrix anew for every fold and C; here it is computed once a kernel.

    Parameters
    ----------
    kernels : iterable of Kernel
        What to try.
    X, y : collections
        Examples and classes.
    C : sequence of float
        Values to try with each kernel.
    folds, seed : int
        Stratified folds, shuffled by the seed.
    n_jobs : int
        Threads, for matrices and machines.
    report : callable, optional
        Told of each trial when it is done.
    """
    labels = np.asarray(y)
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2 or len(labels) != len(X):
        raise ParameterError(
            f"two classes or more, one label an example: got {len(classes)} classes, {len(labels)} labels for {len(X)}"
        )
    if np.bincount(codes).min() < folds:
        raise ParameterError(f"each class needs at least {folds} examples for {folds} folds")
    splits = list(StratifiedKFold(folds, shuffle=True, random_state=seed).split(np.zeros(len(codes)), codes))
    selection = Selection()
    for kernel in kernels:
        K = gram(kernel, X, n_jobs=n_jobs)
        scores: dict[float, list[float]] = {value: [] for value in C}
        for train, test in splits:
            own, across = K[np.ix_(train, train)], K[np.ix_(test, train)]
            for value in C:
                predicted = _predict(KernelSVC(kernel, C=value, n_jobs=n_jobs), own, across, codes[train], len(classes))
                scores[value].append(float(np.mean(predicted == codes[test])))
        for value in C:
            trial = Trial(kernel, float(value), tuple(scores[value]))
            selection.trials.append(trial)
            if report is not None:
                report(trial)
    return selection


def _predict(machine: KernelSVC, own: Any, across: Any, codes: NDArray[np.intp], n_classes: int) -> NDArray[np.intp]:
    solution = machine._solve(own, codes, n_classes, np.ones(len(codes)))
    values = across @ solution.alpha.T + solution.intercept
    return np.asarray((values[:, 0] > 0).astype(np.intp) if n_classes == 2 else values.argmax(axis=1))
