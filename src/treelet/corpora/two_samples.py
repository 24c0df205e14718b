"""The two-sample test: the maximum mean discrepancy, and its distribution under random labels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treelet.gram.pair_sums import pair_sums
from treelet.kernels.base import Kernel
from treelet.kernels.pairwise import Vector
from treelet.resources import PLAIN, Resources

ROUNDING = 1e-11  # smaller differences, relative to the mean value, count as equal
Labels = NDArray[np.int8]


class Discrepancy(NamedTuple):
    """The result of `discrepancy`."""

    mmd2: float
    biased: float
    p_value: float


def relabeled(first: int, second: int, times: int, rng: np.random.Generator, *, paired: bool) -> Labels:
    """Return labels of `first` + `second` examples, one labeling per column: 1 for the first sample.

    Column 0 contains the true labels. The other columns are random permutations. If `paired`, the
    labels are swapped within random pairs instead.
    """
    labels = np.zeros((1 + times, first + second), np.int8)
    labels[:, :first] = 1
    if paired:
        labels[1:, :first] = rng.integers(2, size=(times, first), dtype=np.int8)
        labels[1:, first:] = 1 - labels[1:, :first]
    else:
        rng.permuted(labels[1:], axis=1, out=labels[1:])
    return np.ascontiguousarray(labels.T)


def discrepancy(kernel: Kernel, X: Any, labels: Labels, resources: Resources = PLAIN) -> Discrepancy:
    r"""Return the squared maximum mean discrepancy of two samples, and its p-value.

    See Gretton et al. (2012), equations 3 and 5.

    .. math:: \mathrm{MMD}^2_u = \frac{1}{m(m-1)} \sum_{i \ne j} K(a_i, a_j) + \frac{1}{n(n-1)} \sum_{i \ne j} K(b_i, b_j) - \frac{2}{mn} \sum_{i, j} K(a_i, b_j)

    The biased estimate includes all pairs in the first two sums, with the denominators :math:`m^2`
    and :math:`n^2`.
    """
    within, touching, total = pair_sums(kernel, X, labels, resources)
    m = int(labels[:, 0].sum())
    n = len(labels) - m
    between = touching - within
    others = total - touching - between
    values = within / (m * (m - 1)) + others / (n * (n - 1)) - 2 * between / (m * n)
    own = kernel.diag(X)
    first = labels[:, 0] == 1
    biased = (within[0] + own[first].sum()) / m**2 + (others[0] + own[~first].sum()) / n**2 - 2 * between[0] / (m * n)
    close = ROUNDING * float(np.abs(within[0] / m**2) + np.abs(others[0] / n**2) + np.abs(between[0] / (m * n)))
    return Discrepancy(float(values[0]), float(biased), p_value(values[0], values[1:], close))


def p_value(value: float, drawn: Vector, close: float = 0.0) -> float:
    """Return the p-value of a permutation test: (1 + draws with at least this value) / (1 + draws)."""
    return (1 + int(np.count_nonzero(drawn >= value - close))) / (1 + len(drawn))
