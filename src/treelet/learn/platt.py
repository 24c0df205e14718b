"""Probabilities from scores: Platt's sigmoid, and classes from pairs of them."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def sigmoid_parameters(scores: Floats, positive: NDArray[np.bool_]) -> tuple[float, float]:
    r"""A and B of :math:`P(y = 1 | f) = 1 / (1 + \exp(A f + B))`, by Newton's method with backtracking.

    Targets are smoothed as Platt proposed, so that separable scores do not run away. Lin, Lin & Weng, "A note on
    Platt's probabilistic outputs for support vector machines", Machine Learning 68 (2007), algorithm 1.
    """
    n_positive, n_negative = int(positive.sum()), int((~positive).sum())
    target = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))

    def loss(a: float, b: float) -> float:
        z = a * scores + b
        return float(np.sum(np.where(z >= 0, target * z, (target - 1) * z) + np.log1p(np.exp(-np.abs(z)))))

    a, b = 0.0, float(np.log((n_negative + 1) / (n_positive + 1)))
    value = loss(a, b)
    for _ in range(100):
        p = _logistic(-(a * scores + b))
        slack, curve = target - p, p * (1 - p)
        gradient = np.array([np.sum(scores * slack), np.sum(slack)])
        if np.abs(gradient).max() < 1e-5:
            break
        mixed = np.sum(scores * curve)
        hessian = np.array([[np.sum(scores**2 * curve), mixed], [mixed, np.sum(curve)]]) + 1e-12 * np.eye(2)
        step = -np.linalg.solve(hessian, gradient)
        length = 1.0
        while length >= 1e-10:
            trial = (a + length * step[0], b + length * step[1])
            if (there := loss(*trial)) < value + 1e-4 * length * float(gradient @ step):
                (a, b), value = (float(trial[0]), float(trial[1])), there
                break
            length /= 2
        else:
            break
    return a, b


def sigmoid(scores: Floats, parameters: Floats) -> Floats:
    """The probability of the first side of each machine, examples x machines, never quite 0 or 1."""
    p = _logistic(-(scores * parameters[:, 0] + parameters[:, 1]))
    return np.clip(p, 1e-7, 1 - 1e-7)


def coupled(first: Floats, n_classes: int) -> Floats:
    r"""Probabilities of classes from those of pairs: minimise :math:`\sum_i \sum_{j \ne i} (r_{ji} p_i - r_{ij} p_j)^2`.

    With :math:`r_{ij}` the probability of class i among i and j. Wu, Lin & Weng, JMLR 5 (2004), section 4.2: a linear
    system for each example.
    """
    n = len(first)
    r = np.zeros((n, n_classes, n_classes))
    for k, (i, j) in enumerate(combinations(range(n_classes), 2)):
        r[:, i, j], r[:, j, i] = first[:, k], 1 - first[:, k]
    system = np.zeros((n, n_classes + 1, n_classes + 1))
    inner = -r * r.transpose(0, 2, 1)
    inner[:, np.arange(n_classes), np.arange(n_classes)] = np.sum(r**2, axis=1)
    system[:, :n_classes, :n_classes] = inner
    system[:, :n_classes, n_classes] = system[:, n_classes, :n_classes] = 1
    goal = np.zeros((n, n_classes + 1, 1))
    goal[:, n_classes] = 1
    p = np.clip(np.linalg.solve(system, goal)[:, :n_classes, 0], 0, 1)
    result: Floats = p / p.sum(axis=1, keepdims=True)
    return result


def _logistic(z: Any) -> Floats:
    small = np.exp(-np.abs(z))
    result: Floats = np.where(z >= 0, 1, small) / (1 + small)
    return result
