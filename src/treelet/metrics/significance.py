"""Whether one system is better than another by more than chance, from what both did on the same items."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treelet.checks import check_integer
from treelet.errors import InputTypeError, ParameterError
from treelet.metrics.counts import MEASURES, BracketCounts
from treelet.metrics.ranking import numbers
from treelet.work import generator

AT_ONCE = 1 << 21  # drawn items held in memory at a time
Measure = Callable[[NDArray[np.float64]], NDArray[np.float64]]
FEW = 25  # differing answers, below which McNemar's test is exact


@dataclass(frozen=True)
class BootstrapResult:
    """What `paired_bootstrap` finds.

    Attributes
    ----------
    a, b : float
        The statistic of the two systems.
    difference : float
        ``a - b``.
    p_value : float
        Two-sided.
    interval : (float, float)
        A confidence interval of the difference.
    """

    a: float
    b: float
    difference: float
    p_value: float
    interval: tuple[float, float]


@dataclass(frozen=True)
class TTestResult:
    """What `paired_t_test` finds: the mean difference a - b, Student's t, the two-sided p-value, and an interval."""

    difference: float
    statistic: float
    p_value: float
    interval: tuple[float, float] = (float("nan"), float("nan"))


@dataclass(frozen=True)
class McNemarResult:
    """What `mcnemar` finds.

    Attributes
    ----------
    only_a, only_b : int
        Items that only one of the two has right.
    p_value : float
        Two-sided.
    exact : bool
        Whether it is from the binomial distribution, not from χ².
    """

    only_a: int
    only_b: int
    p_value: float
    exact: bool


def paired_bootstrap(
    a: BracketCounts | ArrayLike,
    b: BracketCounts | ArrayLike,
    statistic: str | Measure | None = None,
    n: int = 10_000,
    random_state: Any = 0,
    confidence: float = 0.95,
) -> BootstrapResult:
    """The difference of two systems on the same sentences, with a p-value and a confidence interval.

    Sentences are drawn with replacement, the same for both systems, n times, and the difference d* is computed for each sample.

    Parameters
    ----------
    a, b : BracketCounts or array-like of shape (m,) or (m, counts)
        What each system did on each of the m sentences: counts, or plain numbers such as 0 and 1 or Kendall's τ.
    statistic : str or callable, optional
        Of counts: ``"f1"`` (the default), ``"parse_score"``, ``"precision"``, ``"recall"``, ``"exact_match"``, all over the whole
        sample in percent. Of numbers: ``"mean"``. Of arrays with several counts a sentence: a function from their sums
        over sentences, the last axis being the counts, to the figure that is compared.
    n : int
        Samples.
    random_state : int, RandomState or None
        The same int, the same result.
    confidence : float
        Of the interval: the percentiles of d*.

    Returns
    -------
    BootstrapResult

    Notes
    -----
    The p-value is two-sided. If there were no true difference, d* would vary about 0 as it now does about the observed d, so p is
    how often ``|d* − d| ≥ |d|`` (Efron & Tibshirani 1993, chapter 16), (k + 1)/(n + 1) for k such samples.
    This is not the share of samples in which the other system wins (Koehn 2004), which is one-sided.

    Examples
    --------
    >>> from treelet.metrics import paired_bootstrap
    >>> result = paired_bootstrap([1, 1, 1, 0, 1, 1, 1, 1], [0, 1, 0, 0, 1, 0, 1, 0])
    >>> result.difference, result.p_value < 0.05
    (0.5, True)
    >>> right_and_wrong = [[1, 0], [1, 0], [1, 1]], [[1, 0], [0, 1], [0, 2]]
    >>> paired_bootstrap(*right_and_wrong, lambda sums: sums[..., 0] / sums.sum(axis=-1)).difference
    0.5
    """
    check_integer("n", n, of="paired_bootstrap")
    if not 0 < confidence < 1:
        raise ParameterError(f"The 'confidence' parameter must lie between 0 and 1. Got {confidence!r} instead.")
    first, second, measure = _columns(a, b, statistic)
    size, width = len(first), first.shape[1]
    table = np.hstack([first, second])

    def both(sums: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return measure(sums[..., :width]), measure(sums[..., width:])

    of_a, of_b = both(table.sum(axis=0))
    rng = generator(random_state)
    drawn = np.empty(n)
    step = max(1, AT_ONCE // size)
    for begin in range(0, n, step):
        rows = min(step, n - begin)
        picks = rng.integers(size, size=(rows, size))
        picks += np.arange(rows)[:, None] * size
        times = np.bincount(picks.ravel(), minlength=rows * size).reshape(rows, size).astype(np.float64)
        left, right = both(times @ table)
        drawn[begin : begin + rows] = left - right
    difference = float(of_a - of_b)
    # Samples that differ from d by d itself must not be lost to rounding.
    extreme = int(np.count_nonzero(np.abs(drawn - difference) >= abs(difference) * (1 - 1e-9)))
    low, high = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2])
    return BootstrapResult(float(of_a), float(of_b), difference, (extreme + 1) / (n + 1), (float(low), float(high)))


def paired_t_test(a: ArrayLike, b: ArrayLike, *, overlap: float = 0.0, confidence: float = 0.95) -> TTestResult:
    """Student's t-test of paired numbers, two-sided: is the mean of a - b zero?

    Figures of the same data, split at random again and again, are not independent: their training parts have much in
    common, so that the plain test finds too much. With `overlap` the variance of the mean is taken as
    s²·(1/k + overlap) instead of s²/k (the corrected resampled t-test of Nadeau & Bengio 2003).

    If all differences are equal there is nothing to estimate a spread from: p is 1 if they are 0, else 0.

    Parameters
    ----------
    a, b : array-like of shape (k,)
        What is paired: figures of two systems on the same items, or in the same splits.
    overlap : float
        0 for independent pairs; for random splits of one data set the size of a test part divided by that of a training part.
    confidence : float
        Of the interval.

    Examples
    --------
    The differences are 1, 2, 3: mean 2, standard error 1/√3.

    >>> from treelet.metrics import paired_t_test
    >>> round(paired_t_test([3, 4, 5], [2, 2, 2]).statistic, 3)
    3.464
    >>> round(paired_t_test([3, 4, 5], [2, 2, 2], overlap=0.25).statistic, 3)
    2.619
    """
    from scipy.stats import t

    if not 0 <= overlap < np.inf:
        raise ParameterError(f"The 'overlap' parameter must be a number from 0 on. Got {overlap!r} instead.")
    if not 0 < confidence < 1:
        raise ParameterError(f"The 'confidence' parameter must lie between 0 and 1. Got {confidence!r} instead.")
    x, y = _paired(a, b)
    if len(x) < 2:
        raise ParameterError("a t-test needs at least 2 pairs")
    differences = x - y
    mean = float(differences.mean())
    if differences.min() == differences.max():
        statistic = float(np.copysign(np.inf, mean)) if mean else 0.0
        return TTestResult(mean, statistic, 0.0 if mean else 1.0, (mean, mean))
    error = float(differences.std(ddof=1) * np.sqrt(1 / len(x) + overlap))
    statistic, freedom = mean / error, len(x) - 1
    reach = error * float(t.ppf((1 + confidence) / 2, freedom))
    return TTestResult(mean, statistic, float(2 * t.sf(abs(statistic), freedom)), (mean - reach, mean + reach))


def mcnemar(correct_a: ArrayLike, correct_b: ArrayLike) -> McNemarResult:
    """McNemar's test of two accuracies on the same items, two-sided.

    Only items that one of the two has right and the other wrong say anything. With fewer than 25 of them the p-value is exact, from
    the binomial distribution; else it is that of ``(|only_a − only_b| − 1)² / (only_a + only_b)`` under χ² with one degree of
    freedom (with Edwards' correction).

    Parameters
    ----------
    correct_a, correct_b : array-like of bool
        Whether each answer is right: ``predicted == y``.

    Examples
    --------
    >>> from treelet.metrics import mcnemar
    >>> mcnemar([True] * 5 + [False], [False] * 5 + [False])
    McNemarResult(only_a=5, only_b=0, p_value=0.0625, exact=True)
    """
    from scipy.stats import binomtest, chi2

    x, y = _paired(correct_a, correct_b)
    if not np.isin(np.concatenate([x, y]), (0, 1)).all():
        raise ParameterError("McNemar's test takes True and False, or 1 and 0: whether each answer is right")
    only_a, only_b = int((x > y).sum()), int((y > x).sum())
    differing = only_a + only_b
    if differing < FEW:
        p_value = float(binomtest(only_a, differing, 0.5).pvalue) if differing else 1.0
        return McNemarResult(only_a, only_b, p_value, True)
    statistic = max(abs(only_a - only_b) - 1, 0) ** 2 / differing
    return McNemarResult(only_a, only_b, float(chi2.sf(statistic, 1)), False)


def _columns(
    a: BracketCounts | ArrayLike, b: BracketCounts | ArrayLike, statistic: str | Measure | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], Measure]:
    if callable(statistic):
        sides = np.asarray(a, np.float64), np.asarray(b, np.float64)
        if sides[0].ndim != 2 or sides[0].shape != sides[1].shape:
            raise ParameterError(
                f"a and b must be of one shape (items, counts) for a statistic that is a function. Got "
                f"{sides[0].shape} and {sides[1].shape}."
            )
        _some(len(sides[0]))
        return *sides, statistic
    if isinstance(a, BracketCounts) and isinstance(b, BracketCounts):
        name = statistic or "f1"
        if name not in MEASURES:
            raise ParameterError(
                f"The 'statistic' parameter for counts must be one of {', '.join(MEASURES)}. Got {name!r} instead."
            )
        if len(a) != len(b) or not np.array_equal(a.gold, b.gold):
            raise ParameterError(
                "a and b must be counts for the same sentences in the same order: their gold constituents differ"
            )
        _some(len(a))
        return a.columns(), b.columns(), MEASURES[name]
    if isinstance(a, BracketCounts) or isinstance(b, BracketCounts):
        raise InputTypeError("a and b must be of one kind: BracketCounts both, or arrays of numbers both")
    if statistic not in (None, "mean"):
        raise ParameterError(f"The 'statistic' parameter for numbers must be 'mean'. Got {statistic!r} instead.")
    x, y = _paired(a, b)
    return x[:, None], y[:, None], lambda sums: sums[..., 0] / len(x)


def _paired(a: ArrayLike, b: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    x, y = numbers(a, "a"), numbers(b, "b")
    if len(x) != len(y):
        raise ParameterError(f"a and b must hold one number an item, for the same items. Got {len(x)} and {len(y)}.")
    _some(len(x))
    return x, y


def _some(length: int) -> None:
    if not length:
        raise ParameterError("there is nothing to compare: at least one item is needed")
