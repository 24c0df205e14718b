"""How well scores order the candidates of each group, as the parses of one sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treelet.checks import missing_places
from treelet.errors import InputTypeError, ParameterError


def best_of_group(scores: ArrayLike, qid: ArrayLike) -> NDArray[np.intp]:
    """Where the highest score of each group is; of equal scores the first.

    Parameters
    ----------
    scores : array-like of shape (n,)
    qid : array-like of shape (n,)
        The group of each score, in any order.

    Returns
    -------
    ndarray
        One place in `scores` a group, groups ascending.

    Examples
    --------
    >>> from treelet.metrics import best_of_group
    >>> best_of_group([0.1, 0.7, 0.7, 3, 2], [0, 0, 0, 1, 1])
    array([1, 3])
    """
    values = numbers(scores, "scores")
    _, group = groups(qid, len(values))
    order = np.lexsort((-values, group))
    ahead = group[order]
    return order[np.r_[True, ahead[1:] != ahead[:-1]]] if len(order) else order


def kendall_tau_b(x: ArrayLike, y: ArrayLike) -> float:
    """Kendall's τ_b of two orders: 1 if they agree, -1 if one is the other reversed, corrected for ties.

    (C − D) / √((n₀ − n₁)(n₀ − n₂)), with C pairs in the same order in both, D in the opposite order, n₀ pairs in all, and n₁, n₂
    pairs tied in x and in y. NaN if one of them is constant.

    Examples
    --------
    >>> from treelet.metrics import kendall_tau_b
    >>> round(kendall_tau_b([1, 2, 3, 4], [1, 3, 2, 4]), 4)
    0.6667
    """
    from scipy.stats import kendalltau

    a, b = numbers(x, "x"), numbers(y, "y")
    if len(a) != len(b):
        raise ParameterError(f"x and y must be of one length. Got {len(a)} and {len(b)} instead.")
    if len(a) < 2 or a.min() == a.max() or b.min() == b.max():
        return float("nan")
    return float(kendalltau(a, b, variant="b").statistic)


def kendall_tau_by_group(
    scores: ArrayLike, goodness: ArrayLike, qid: ArrayLike, *, tolerance: float = 0.0
) -> NDArray[np.float64]:
    """Kendall's τ_b between scores and goodness in each group, groups ascending.

    A group whose goodness is constant (also a group of one) cannot be ordered well or badly: NaN. Where only the
    scores are constant, they say nothing of the order: 0.

    With a `tolerance`, scores of a group that are next to each other and closer than this share of the group's largest
    absolute score are tied: rounding is no order.

    Examples
    --------
    >>> from treelet.metrics import kendall_tau_by_group
    >>> scores = [0.5, 0.1 + 0.2, 0.3]  # of which the last two differ by rounding only
    >>> [kendall_tau_by_group(scores, [3, 2, 1], [0, 0, 0], tolerance=t).round(3).tolist() for t in (0.0, 1e-9)]
    [[1.0], [0.816]]
    """
    a, b = numbers(scores, "scores"), numbers(goodness, "goodness")
    if len(a) != len(b):
        raise ParameterError(f"scores and goodness must be of one length. Got {len(a)} and {len(b)} instead.")
    count, group = groups(qid, len(a))
    order = np.argsort(group, kind="stable")
    size = np.bincount(group, minlength=count)
    start = np.cumsum(size) - size
    out = np.full(count, np.nan)
    for length in np.unique(size).tolist():  # groups of one size at a time
        which = np.flatnonzero(size == length)
        for chunk in np.array_split(which, -(-len(which) * length**2 // PAIRS)):
            members = order[start[chunk][:, None] + np.arange(length)]
            out[chunk] = _taus(leveled(a[members], tolerance) if tolerance else a[members], b[members])
    return out


def leveled(values: NDArray[np.float64], tolerance: float) -> NDArray[np.float64]:
    """The place of each value among those of its row, counted from 0; neighbors that differ too little share it.

    >>> leveled(np.array([[5.0, 1.0, 5.0 + 1e-12, 2.0]]), 1e-9).tolist()
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


PAIRS = 1 << 22  # pairs of candidates to look at together


def _taus(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """tau_b of each row of `a` with that of `b`; 0 where a is constant, NaN where b is."""
    if a.shape[1] > 1000:  # pairs would be too many
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
    """Kendall's τ_b between scores and goodness, averaged over groups (Tsivtsivadze et al. 2006).

    Groups whose goodness is constant are left out; constant scores count as 0.

    Parameters
    ----------
    scores, goodness : array-like of shape (n,)
        What a model says of each candidate, and how good it is.
    qid : array-like of shape (n,)
        The group of each candidate, in any order.

    Returns
    -------
    float

    Examples
    --------
    The first group is in order, the second reversed, and the third has no order.

    >>> from treelet.metrics import mean_kendall_tau
    >>> mean_kendall_tau([1, 2, 1, 2, 1, 2], [0.5, 0.9, 0.9, 0.5, 0.7, 0.7], [0, 0, 1, 1, 2, 2])
    0.0
    """
    taus = kendall_tau_by_group(scores, goodness, qid)
    taus = taus[~np.isnan(taus)]
    if not len(taus):
        raise ParameterError("Kendall's tau needs a group whose goodness differs between candidates; there is none")
    return float(taus.mean())


def numbers(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """One dimension of numbers, none of them NaN."""
    try:
        if np.asarray(values).dtype.kind in "cmM":
            raise TypeError
        missing = missing_places(values, np.asarray(values))
        array = np.asarray(values, dtype=np.float64) if not missing else np.asarray(values)
    except (TypeError, ValueError):
        raise InputTypeError(f"The {name!r} parameter must be an array of numbers") from None
    if array.ndim != 1:
        raise ParameterError(f"The {name!r} parameter must have one dimension. Got {array.ndim} instead.")
    if missing:
        raise ParameterError(f"The {name!r} parameter must hold numbers only. Item {missing[0]} is NaN or missing.")
    return array


def groups(qid: ArrayLike, length: int) -> tuple[int, NDArray[np.intp]]:
    """How many groups there are, and the number of each item's."""
    array: NDArray[Any] = np.asarray(qid)
    if array.shape != (length,):
        raise ParameterError(
            f"The 'qid' parameter must name the group of each of the {length} items. Got an array of shape {array.shape} instead."
        )
    if missing := missing_places(qid, array):
        raise ParameterError(f"The 'qid' parameter must name the group of each item. Item {missing[0]} has none.")
    names, group = np.unique(array, return_inverse=True)
    return len(names), group
