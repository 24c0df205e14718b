"""Which examples stand for all: landmarks of a low-rank approximation, by their kernel values alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from treelet.kernels.pairwise import Matrix, Vector

Rows = NDArray[np.intp]
SAMPLINGS = ("uniform", "kmeans++", "leverage")
TINY = 1e-300  # in place of 0, by which nothing can be divided


class Values(NamedTuple):
    """Kernel values of the examples among which landmarks are chosen."""

    diagonal: Vector
    between: Callable[[Rows, Rows], Matrix]
    """Rows x columns."""


def landmarks(values: Values, wanted: int, sampling: str, rng: np.random.Generator) -> Rows:
    """The rows of so many landmarks, ascending; fewer where the others add nothing."""
    n = len(values.diagonal)
    if wanted >= n:
        return np.arange(n)
    if sampling == "uniform":
        chosen = rng.choice(n, wanted, replace=False)
    else:
        chosen = (pivots if sampling == "kmeans++" else by_leverage)(values, wanted, rng)
    return np.sort(chosen).astype(np.intp)


def pivots(values: Values, wanted: int, rng: np.random.Generator, at_once: int | None = None) -> Rows:
    """Each next one with a probability that grows with its squared distance from all that those before it span.

    Randomly pivoted Cholesky (Chen, Epperly, Tropp & Webber 2025). Candidates are drawn some at a time and each is taken with the
    probability by which its distance has shrunk meanwhile, which gives the same distribution (Epperly, Tropp & Webber 2024).
    """
    n = len(values.diagonal)
    everyone = np.arange(n)
    left = values.diagonal.astype(np.float64).copy()
    nothing = left.max(initial=0) * n * np.finfo(float).eps
    factor = np.empty((n, wanted))
    found: list[int] = []
    while len(found) < wanted and left.sum() > nothing:
        size = min(at_once or max(1, wanted // 10), wanted - len(found))
        drawn = rng.choice(n, size, p=left / left.sum())
        done = factor[:, : len(found)]
        residual = values.between(drawn, drawn) - done[drawn] @ done[drawn].T
        taken: list[int] = []
        for place, candidate in enumerate(drawn):
            if rng.random() * left[candidate] < residual[place, place] and residual[place, place] > nothing:
                column = residual[:, place].copy() / math.sqrt(residual[place, place])
                residual -= np.outer(column, column)
                taken.append(int(candidate))
        if not taken:
            left[drawn] = np.minimum(left[drawn], np.maximum(residual.diagonal(), 0))
            continue
        begin = len(found)
        columns = values.between(everyone, np.array(taken)) - done @ done[taken].T
        factor[:, begin : begin + len(taken)] = columns @ inverse_root(columns[taken], keep=True)
        found += taken
        left = np.maximum(left - np.square(factor[:, begin : len(found)]).sum(axis=1), 0)
        left[taken] = 0
    return np.array(found, dtype=np.intp)


def inverse_root(K: Matrix, *, keep: bool = False) -> Matrix:
    """A matrix W with W W' the inverse of K, on all directions but those in which K is nothing but rounding.

    These have no column; or, to `keep` the number of columns, one of zeros.
    """
    values, vectors = np.linalg.eigh((K + K.T) / 2)
    there = values > values.max(initial=0) * len(K) * np.finfo(float).eps * 10
    root: Matrix = np.where(there, vectors / np.sqrt(np.where(there, values, 1)), 0)
    return np.ascontiguousarray((root if keep else root[:, there])[:, ::-1])


def by_leverage(values: Values, wanted: int, rng: np.random.Generator) -> Rows:
    """Each with a probability that grows with its ridge leverage score: how badly the others would do without it.

    Scores are estimated from a sample of half the examples, theirs from half of these, and so on (recursive sampling, Musco &
    Musco 2017).
    """
    n = len(values.diagonal)
    more = math.log(max(wanted, 3))
    rank = max(1, math.ceil(wanted / (4 * more)))
    order = rng.permutation(n)
    sizes = [n]
    while sizes[-1] > 2 * wanted:
        sizes.append(math.ceil(sizes[-1] / 2))
    sample, weight = order[: min(wanted, sizes[-1])], np.ones(min(wanted, sizes[-1]))
    for size in reversed(sizes):
        rows = order[:size]
        between = values.between(rows, sample)
        inner = values.between(sample, sample)
        ridge = _ridge(inner * np.outer(weight, weight), rank)
        solved = np.linalg.solve(inner + np.diag(np.maximum(ridge / weight**2, TINY)), between.T)
        scores = np.maximum(values.diagonal[rows] - (between * solved.T).sum(axis=1), 0) / ridge
        if size == n:
            break
        chance = np.minimum(1.0, more * scores)
        taken = np.flatnonzero(rng.random(size) < chance)
        if len(taken) == 0:
            taken = rng.choice(size, min(wanted, size), replace=False)
        sample, weight = rows[taken], 1 / np.sqrt(np.maximum(chance[taken], 1e-12))
    scores = np.minimum(scores, 1.0) + 1e-12  # none is impossible
    chosen = rng.choice(n, wanted, replace=False, p=scores / scores.sum())
    return np.asarray(order[chosen], dtype=np.intp)


def _ridge(inner: Matrix, rank: int) -> float:
    """What is left of a matrix by its best approximation of some rank, shared out to that rank."""
    eigenvalues = np.linalg.eigvalsh(inner)
    total = float(np.abs(eigenvalues).sum())
    return max(float(eigenvalues[: max(0, len(eigenvalues) - rank)].sum()) / rank, total * 1e-10, TINY)
