"""Measures of rankings: how well scores order the candidates of each group, such as the parses of a sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treelet.checks import missing_places, numbers, plural
from treelet.errors import ParameterError


def best_of_group(scores: ArrayLike, qid: ArrayLike) -> NDArray[np.intp]:
    """Return the index of the highest score of each group; of equal scores, the first.

    Parameters
    ----------
    scores : array-like of shape (n,)
        Score of each candidate.
    qid : array-like of shape (n,)
        Group of each candidate, in any order.

    Returns
    -------
    ndarray
        One index into `scores` per group, in ascending order of groups.

    Examples
    --------
    >>> from treelet.metrics import best_of_group
    >>> best_of_group([0.1, 0.7, 0.7, 3, 2], [0, 0, 0, 1, 1])
    array([1, 3])
    """
    values = numbers(scores, "scores")
    _, group = _groups(qid, len(values))
    order = np.lexsort((-values, group))
    ahead = group[order]
    return order[np.r_[True, ahead[1:] != ahead[:-1]]] if len(order) else order


def kendall_tau_b(x: ArrayLike, y: ArrayLike) -> float:
    """Compute Kendall's τ_b of two orders: 1 if they agree, -1 if one is the reverse of the other.

    Parameters
    ----------
    x, y : array-like of shape (n,)
        Two lists of numbers for the same items.

    Returns
    -------
    float
        τ_b, which is corrected for ties. NaN if x or y is constant.

    Notes
    -----
    τ_b = (C − D) / √((n₀ − n₁)(n₀ − n₂)). C pairs have the same order in x and y, and D pairs the opposite
    order. n₀ is the number of all pairs, and n₁ and n₂ are the numbers of pairs that are tied in x and in y.

    Examples
    --------
    >>> from treelet.metrics import kendall_tau_b
    >>> round(kendall_tau_b([1, 2, 3, 4], [1, 3, 2, 4]), 4)
    0.6667
    """
    from scipy.stats import kendalltau

    a, b = numbers(x, "x"), numbers(y, "y")
    if len(a) != len(b):
        raise ParameterError(f"x and y must have the same length. Got {len(a):,} and {len(b):,} instead.")
    if len(a) < 2 or a.min() == a.max() or b.min() == b.max():
        return float("nan")
    return float(kendalltau(a, b, variant="b").statistic)


def kendall_tau_by_group(
    scores: ArrayLike, goodness: ArrayLike, qid: ArrayLike, *, tolerance: float = 0.0
) -> NDArray[np.float64]:
    """Compute Kendall's τ_b between scores and goodness in each group.

    Parameters
    ----------
    scores, goodness : array-like of shape (n,)
        Predicted score and true goodness of each candidate.
    qid : array-like of shape (n,)
        Group of each candidate, in any order.
    tolerance : float, default 0
        Adjacent scores of a group are tied if they differ by less than this fraction of the group's largest
        absolute score. A small value such as 1e-9 ignores differences from rounding.

    Returns
    -------
    ndarray
        One value per group, in ascending order of groups. NaN if the goodness of a group is constant, also for
        a group of one. 0 if only its scores are constant.

    Examples
    --------
    >>> from treelet.metrics import kendall_tau_by_group
    >>> scores = [0.5, 0.1 + 0.2, 0.3]  # the last two differ by rounding only
    >>> [kendall_tau_by_group(scores, [3, 2, 1], [0, 0, 0], tolerance=t).round(3).tolist() for t in (0.0, 1e-9)]
    [[1.0], [0.816]]
    """
    a, b = numbers(scores, "scores"), numbers(goodness, "goodness")
    if len(a) != len(b):
        raise ParameterError(f"scores and goodness must have the same length. Got {len(a):,} and {len(b):,} instead.")
    count, group = _groups(qid, len(a))
    order = np.argsort(group, kind="stable")
    size = np.bincount(group, minlength=count)
    start = np.cumsum(size) - size
    out = np.full(count, np.nan)
    for length in np.unique(size).tolist():  # groups of the same size are computed together
        which = np.flatnonzero(size == length)
        for chunk in np.array_split(which, -(-len(which) * length**2 // _PAIRS)):
            members = order[start[chunk][:, None] + np.arange(length)]
            out[chunk] = _taus(_leveled(a[members], tolerance) if tolerance else a[members], b[members])
    return out


def _leveled(values: NDArray[np.float64], tolerance: float) -> NDArray[np.float64]:
    """Return the rank of each value in its row, counted from 0. Neighbors that differ too little share a rank.

    >>> _leveled(np.array([[5.0, 1.0, 5.0 + 1e-12, 2.0]]), 1e-9).tolist()
    [[2.0, 0.0, 2.0, 1.0]]
    """
    if not values.shape[1]:
        return values
    order = np.argsort(values, axis=1, kind="stable")
    steps = np.diff(np.take_along_axis(values, order, axis=1), axis=1, prepend=np.nan)
    steps[:, 0] = 0.0
    levels = np.cumsum(steps > tolerance * np.abs(values).max(axis=1, keepdims=True), axis=1).astype(np.float64)
    leveled = np.empty_like(values)
    np.put_along_axis(leveled, order, levels, axis=1)
    return leveled


_PAIRS = 1 << 22  # maximum number of pairs of candidates that are compared together


def _taus(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return τ_b of each row of `a` with the row of `b`; 0 if only the row of `a` is constant, NaN if that of `b` is."""
    if a.shape[1] > 1000:  # an array of all pairs would be too large
        return np.array([_tau(*rows) for rows in zip(a, b, strict=True)])
    x, y = (np.sign(values[:, :, None] - values[:, None, :]) for values in (a, b))
    agreement, in_a, in_b = ((first * second).sum(axis=(1, 2)) for first, second in ((x, y), (x, x), (y, y)))
    with np.errstate(invalid="ignore"):
        taus = agreement / np.sqrt(in_a * in_b)
    return np.where(in_b == 0, np.nan, np.where(in_a == 0, 0.0, taus))


def _tau(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    if b.min() == b.max():
        return float("nan")
    return 0.0 if a.min() == a.max() else kendall_tau_b(a, b)


def mean_kendall_tau(scores: ArrayLike, goodness: ArrayLike, qid: ArrayLike) -> float:
    """Compute Kendall's τ_b between scores and goodness, averaged over groups (Tsivtsivadze et al. 2006).

    Groups whose goodness is constant are ignored. Constant scores count as 0.

    Parameters
    ----------
    scores, goodness : array-like of shape (n,)
        Predicted score and true goodness of each candidate.
    qid : array-like of shape (n,)
        Group of each candidate, in any order.

    Returns
    -------
    float
        The mean over groups, from -1 to 1.

    Examples
    --------
    The first group is ordered correctly, the second is reversed, and in the third all candidates are equal.

    >>> from treelet.metrics import mean_kendall_tau
    >>> mean_kendall_tau([1, 2, 1, 2, 1, 2], [0.5, 0.9, 0.9, 0.5, 0.7, 0.7], [0, 0, 1, 1, 2, 2])
    0.0
    """
    taus = kendall_tau_by_group(scores, goodness, qid)
    taus = taus[~np.isnan(taus)]
    if not len(taus):
        raise ParameterError(
            "The goodness is constant in every group. Kendall's tau needs a group whose candidates differ in goodness."
        )
    return float(taus.mean())


def _groups(qid: ArrayLike, length: int) -> tuple[int, NDArray[np.intp]]:
    """Return the number of groups, and the group number of each item."""
    array: NDArray[Any] = np.asarray(qid)
    if array.shape != (length,):
        raise ParameterError(
            f"The 'qid' parameter must contain the group of each of the {plural(length, 'item')}. "
            f"Got an array of shape {array.shape} instead."
        )
    if missing := missing_places(qid, array):
        raise ParameterError(
            f"The 'qid' parameter must contain the group of each item. Item {missing[0]} has no group."
        )
    names, group = np.unique(array, return_inverse=True)
    return len(names), group
