"""Choosing a kernel and C by cross-validation, each Gram matrix computed once."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from treelet.errors import KernelOverflowError, ParameterError
from treelet.gram import gram
from treelet.kernels import Kernel
from treelet.learn.svm import KernelSVC, Solution, _votes

Fold = tuple[NDArray[np.intp], NDArray[np.intp]]


@dataclass(frozen=True)
class Trial:
    """One setting: how many examples were right when they were left out, and the accuracy in each fold."""

    kernel: Kernel
    C: float
    correct: int
    total: int
    by_fold: tuple[float, ...]

    @property
    def accuracy(self) -> float:
        """The share of examples that were right."""
        return self.correct / self.total


@dataclass
class Selection:
    """All settings that were tried, in order, and the kernels whose values did not fit a float64."""

    trials: list[Trial] = field(default_factory=list)
    refused: list[Kernel] = field(default_factory=list)

    @property
    def best(self) -> Trial:
        """The setting with the most examples right, the first of equals."""
        return max(self.trials, key=lambda trial: trial.correct)


def select(
    kernels: Iterable[Kernel],
    X: Any,
    y: Any,
    *,
    machine: KernelSVC | None = None,
    C: Sequence[float] = (1.0, 3.0, 10.0),
    folds: int = 5,
    seed: int = 0,
    report: Callable[[Trial], None] | None = None,
    advance: Callable[[int], None] = lambda steps: None,
) -> Selection:
    """Accuracy of support vector machines in stratified cross-validation, for each kernel and C.

    A grid search over `KernelSVC` would compute the matrix anew for every fold and C; here it is computed once a kernel.
    The machines are the same.

    Parameters
    ----------
    kernels : iterable of Kernel
        What to try.
    X, y : collections
        Examples and classes; two or more examples of each class.
    machine : KernelSVC, optional
        Says the kind of machine, class weights and threads; its kernel and C do not matter.
    C : sequence of float
        Values to try with each kernel.
    folds, seed : int
        At most so many stratified folds, shuffled by the seed.
    report : callable, optional
        Told of each trial when it is done.
    advance : callable, optional
        Told of each step: one a matrix, one a fold of each kernel.

    Examples
    --------
    >>> from treelet import SubsetTree, Treebank
    >>> from treelet.learn.selection import select
    >>> bank = Treebank(["(S (N a))", "(S (V a))", "(S (N b))", "(S (V b))"])
    >>> select([SubsetTree(lam=0.4), SubsetTree(lam=0.8)], bank, [0, 1, 0, 1], C=[1.0], folds=2).best.accuracy
    1.0
    """
    machine = clone(machine) if machine is not None else KernelSVC()
    classes, codes = machine._classes(y, len(X))
    weights = machine._weights(classes, codes, None)
    splits = _folds(classes, codes, folds, seed)
    selection = Selection()
    last: KernelOverflowError | None = None
    for kernel in kernels:
        try:
            K = gram(kernel, X, n_jobs=machine.n_jobs)
        except KernelOverflowError as error:
            selection.refused.append(kernel)
            last = error
            advance(1 + len(splits))
            continue
        advance(1)
        right: dict[float, list[int]] = {value: [] for value in C}
        for train, test in splits:
            own, across = K[np.ix_(train, train)], K[np.ix_(test, train)]
            for value in C:
                machine.set_params(C=value)
                solution = machine._solve(own, codes[train], len(classes), weights[train])
                guessed = _winners(machine, solution, across, len(classes))
                right[value].append(int(np.sum(guessed == codes[test])))
            advance(1)
        sizes = [len(test) for _, test in splits]
        for value in C:
            by_fold = tuple(hits / size for hits, size in zip(right[value], sizes, strict=True))
            trial = Trial(kernel, float(value), sum(right[value]), len(codes), by_fold)
            selection.trials.append(trial)
            if report is not None:
                report(trial)
    if not selection.trials:
        raise last or ParameterError("no kernel was given to choose from")
    return selection


def _folds(classes: NDArray[Any], codes: NDArray[np.intp], folds: int, seed: int) -> list[Fold]:
    counts = np.bincount(codes)
    if counts.min() < 2:
        raise ParameterError(
            "cross-validation needs two or more examples of each class, to learn from one and test on another; "
            f"{str(classes[counts.argmin()])!r} has one"
        )
    splitter = StratifiedKFold(min(folds, int(counts.max())), shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a class with fewer examples than folds is no harm
        return list(splitter.split(np.zeros(len(codes)), codes))


def _winners(machine: KernelSVC, solution: Solution, across: Any, n_classes: int) -> NDArray[np.intp]:
    scores = across @ solution.alpha.T + solution.intercept
    if n_classes == 2:
        return np.asarray((scores[:, 0] > 0).astype(np.intp))
    if machine.multi_class == "ovo":
        scores = _votes(scores, n_classes)
    return np.asarray(scores.argmax(axis=1))
