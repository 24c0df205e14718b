"""The slow definitions of learners, on a matrix of kernel values: plain loops, and systems of equations solved as they stand."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from treelet.kernels.pairwise import Matrix, Vector


class Passes(NamedTuple):
    """The history of a perceptron.

    Attributes
    ----------
    after : list
        For each comparison, in order, the coefficients of all examples after it.
    updates : list of (int, int)
        The correct candidate, and the one that it did not beat.
    doubtful : list of int
        Comparisons of two equal scores whose terms cancel: what floating-point numbers leave of them is rounding.
    """

    after: list[list[int]]
    updates: list[tuple[int, int]]
    doubtful: list[int]

    def last(self) -> Vector:
        """The coefficients in the end."""
        return np.array(self.after[-1], dtype=float)

    def mean(self) -> Vector:
        """The mean of the coefficients after each comparison."""
        return np.array(self.after, dtype=float).mean(axis=0)  # type: ignore[no-any-return]


def perceptron(
    K: Any, y: Sequence[Any], qid: Sequence[Hashable], orders: Iterable[Iterable[Hashable]], tie: float = 0.0
) -> Passes:
    """Collins & Duffy (2001), Fig. 3, in its dual form: groups in the order of each epoch, their candidates as they stand.

    Values of `K` may be exact numbers (`fractions.Fraction`); of others, scores within `tie` of each other, relatively, are equal.
    """
    n = len(y)
    coefficients, done = [0] * n, Passes([], [], [])
    for order in orders:
        for group in order:
            rows = [row for row in range(n) if qid[row] == group]
            best = max(y[row] for row in rows)
            correct = next(row for row in rows if y[row] == best)
            for row in rows:
                if y[row] == best:
                    continue
                good, bad = (sum(c * K[x][k] for k, c in enumerate(coefficients) if c) for x in (correct, row))
                terms = sum(abs(c) * max(abs(K[correct][k]), abs(K[row][k])) for k, c in enumerate(coefficients) if c)
                if abs(good - bad) <= 1e-14 * terms and max(abs(good), abs(bad)) < 1e-4 * terms:
                    done.doubtful.append(len(done.after))
                if not good - bad > tie * max(abs(good), abs(bad)):
                    coefficients = [c + (k == correct) - (k == row) for k, c in enumerate(coefficients)]
                    done.updates.append((correct, row))
                done.after.append(coefficients)
    return done


def votes(passes: Passes, K: Any, qid: Sequence[Hashable], tie: float = 0.0) -> Vector:
    """The share of votes of each example, by its values with the training examples: every vector's for the best of a group.

    Scores within `tie` of each other tie, in proportion to the largest that the group has had so far.
    """
    shares, largest = np.zeros(len(qid)), dict.fromkeys(qid, 0.0)
    for coefficients in passes.after:
        scores = [sum(c * value for c, value in zip(coefficients, row, strict=True) if c) for row in K]
        for group in dict.fromkeys(qid):
            rows = [row for row in range(len(qid)) if qid[row] == group]
            top = max(scores[row] for row in rows)
            largest[group] = max(largest[group], *(abs(scores[row]) for row in rows))
            winners = [row for row in rows if scores[row] >= top - tie * largest[group]]
            shares[winners] += 1 / len(winners)
    return shares / len(passes.after)


def least_squares(K: Matrix, y: Matrix, alpha: float) -> Matrix:
    """RLS: a with (K + alpha I) a = y."""
    found: Matrix = np.linalg.solve(K + alpha * np.eye(len(K)), y).astype(float)
    return found


def pair_laplacian(qid: Sequence[Hashable], every_pair: bool = True) -> Matrix:
    """L of RankRLS: the sum over pairs of a group of (e_i - e_j)(e_i - e_j)', a group's by its size where not every pair counts."""
    L = np.zeros((len(qid), len(qid)))
    for i, one in enumerate(qid):
        for j, other in enumerate(qid):
            if i < j and one == other:
                weight = 1.0 if every_pair else 1 / sum(group == one for group in qid)
                L[[i, j], [i, j]] += weight
                L[[i, j], [j, i]] -= weight
    return L


def rank_least_squares(K: Matrix, y: Vector, qid: Sequence[Hashable], alpha: float, every_pair: bool = True) -> Vector:
    """RankRLS: a with (L K + alpha I) a = L y."""
    L = pair_laplacian(qid, every_pair)
    found: Vector = np.linalg.solve(L @ K + alpha * np.eye(len(K)), L @ y).astype(float)
    return found


class Gap(NamedTuple):
    """A machine's objective, how far it may be above the minimum, and by how much its coefficients break their bounds."""

    objective: float
    gap: float
    broken: float


def svm_gap(K: Matrix, sign: Vector, coefficients: Vector, intercept: float, C: Vector) -> Gap:
    """The duality gap of a support vector machine, coefficients being those of examples with signs +1 and -1."""
    a, scores = coefficients * sign, K @ coefficients
    squared = float(coefficients @ scores)
    slack = np.maximum(0, 1 - sign * (scores + intercept))
    primal, dual = squared / 2 + float(C @ slack), float(a.sum()) - squared / 2
    return Gap(primal, primal - dual, float(max(0, (-a).max(), (a - C).max(), abs(coefficients.sum()))))


def svr_gap(K: Matrix, y: Vector, coefficients: Vector, intercept: float, C: float, epsilon: float) -> Gap:
    """The duality gap of support vector regression."""
    scores = K @ coefficients
    squared = float(coefficients @ scores)
    slack = np.maximum(0, np.abs(y - scores - intercept) - epsilon)
    primal = squared / 2 + C * float(slack.sum())
    dual = float(coefficients @ y) - epsilon * float(np.abs(coefficients).sum()) - squared / 2
    return Gap(primal, primal - dual, float(max(0, (np.abs(coefficients) - C).max(), abs(coefficients.sum()))))


def rank_svm_gap(K: Matrix, pairs: Sequence[tuple[int, int]], coefficients: Vector, C: float) -> Gap:
    """The gap of a ranking machine between its objective and the dual's, at the best multipliers of pairs for its coefficients.

    Which multipliers of the pairs (better, worse) sum up to the coefficients is not said by these: the linear program finds those
    with the largest sum, which is the dual's other term.
    """
    from scipy.optimize import linprog

    scores = K @ coefficients
    squared = float(coefficients @ scores)
    slack = sum(max(0.0, 1 - scores[a] + scores[b]) for a, b in pairs)
    D = np.zeros((len(K), len(pairs)))
    for k, (a, b) in enumerate(pairs):
        D[a, k], D[b, k] = 1, -1
    size = max(C, float(np.abs(coefficients).max(initial=0)))
    found = linprog(-np.ones(len(pairs)), A_eq=D, b_eq=coefficients / size, bounds=(0, C / size), method="highs")
    primal = squared / 2 + C * slack
    if found.status:
        return Gap(primal, np.inf, np.inf)
    return Gap(primal, primal + size * found.fun + squared / 2, 0.0)
