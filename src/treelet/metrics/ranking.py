"""How well scores order the candidates of each group, as the parses of one sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

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


def kendall_tau_by_group(scores: ArrayLike, goodness: ArrayLike, qid: ArrayLike) -> NDArray[np.float64]:
    """Kendall's τ_b between scores and goodness in each group, groups ascending.

    A group whose goodness is constant (also a group of one) cannot be ordered well or badly: NaN. Where only the
    scores are constant, they say nothing of the order: 0.
    """
    a, b = numbers(scores, "scores"), numbers(goodness, "goodness")
    if len(a) != len(b):
        raise ParameterError(f"scores and goodness must be of one length. Got {len(a)} and {len(b)} instead.")
    count, group = groups(qid, len(a))
    order = np.argsort(group, kind="stable")
    out = np.full(count, np.nan)
    for number, part in enumerate(np.split(order, np.flatnonzero(np.diff(group[order])) + 1) if count else []):
        if b[part].min() < b[part].max():
            out[number] = 0.0 if a[part].min() == a[part].max() else kendall_tau_b(a[part], b[part])
    return out


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
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputTypeError(f"The {name!r} parameter must be an array of numbers") from None
    if array.ndim != 1:
        raise ParameterError(f"The {name!r} parameter must have one dimension. Got {array.ndim} instead.")
    if np.isnan(array).any():
        raise ParameterError(f"The {name!r} parameter must hold numbers only. Item {np.isnan(array).argmax()} is NaN.")
    return array


def groups(qid: ArrayLike, length: int) -> tuple[int, NDArray[np.intp]]:
    """How many groups there are, and the number of each item's."""
    array: NDArray[Any] = np.asarray(qid)
    if array.shape != (length,):
        raise ParameterError(
            f"The 'qid' parameter must name the group of each of the {length} items. Got an array of shape {array.shape} instead."
        )
    names, group = np.unique(array, return_inverse=True)
    return len(names), group
