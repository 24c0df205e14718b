"""Tests of whether one system is better than another by more than chance, from results on the same items."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treelet.checks import check_integer, in_words, numbers, plural, wrong
from treelet.errors import InputTypeError, ParameterError
from treelet.metrics.parse import MEASURES, BracketCounts
from treelet.work import generator

_AT_ONCE = 1 << 21  # number of drawn items in memory at a time
Measure = Callable[[NDArray[np.float64]], NDArray[np.float64]]
_FEW = 25  # number of differing answers below which McNemar's test is exact


@dataclass(frozen=True)
class BootstrapResult:
    """Result of `paired_bootstrap`.

    Attributes
    ----------
    a, b : float
        Statistic of each system.
    difference : float
        ``a - b``.
    p_value : float
        Two-sided p-value.
    interval : (float, float)
        Confidence interval of the difference.
    """

    a: float
    b: float
    difference: float
    p_value: float
    interval: tuple[float, float]


@dataclass(frozen=True)
class TTestResult:
    """Result of `paired_t_test`.

    Attributes
    ----------
    difference : float
        Mean of a - b.
    statistic : float
        Student's t.
    p_value : float
        Two-sided p-value.
    interval : (float, float)
        Confidence interval of the difference.
    """

    difference: float
    statistic: float
    p_value: float
    interval: tuple[float, float] = (float("nan"), float("nan"))


@dataclass(frozen=True)
class McNemarResult:
    """Result of `mcnemar`.

    Attributes
    ----------
    only_a, only_b : int
        Number of items that only the first or only the second system has right.
    p_value : float
        Two-sided p-value.
    exact : bool
        Whether the p-value comes from the binomial distribution rather than from χ².
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
    """Compare two systems on the same sentences by the paired bootstrap.

    Sentences are drawn with replacement n times, the same for both systems. The difference d* is computed for
    each sample.

    Parameters
    ----------
    a, b : BracketCounts or array-like of shape (m,) or (m, counts)
        Results of each system on each of the m sentences: counts, or numbers such as 0 and 1 or Kendall's τ.
    statistic : str or callable, optional
        Figure to compare. For `BracketCounts`: ``"f1"`` (the default), ``"parse_score"``, ``"precision"``,
        ``"recall"`` or ``"exact_match"``, in percent over the whole sample. For numbers: ``"mean"``. For arrays
        with several counts per sentence: a function from sums over sentences, with the counts in the last
        axis, to the figure.
    n : int, default 10000
        Number of samples, at least 1.
    random_state : int, RandomState or None, default 0
        Source of randomness. The same int gives the same result.
    confidence : float, default 0.95
        Confidence level of the interval, in (0, 1). The interval consists of percentiles of d*.

    Returns
    -------
    BootstrapResult
        Both statistics, their difference, the p-value and the interval.

    Notes
    -----
    The p-value is two-sided. Without a true difference, d* would vary about 0 as it varies about the observed
    difference d. The p-value is therefore the frequency of ``|d* − d| ≥ |d|`` (Efron & Tibshirani 1993,
    chapter 16), computed as (k + 1)/(n + 1) for k such samples. It is not the share of samples in which the
    other system wins (Koehn 2004), which is one-sided.

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
        raise wrong("confidence", "a number in (0, 1)", confidence, of="paired_bootstrap")
    first, second, measure = _columns(a, b, statistic)
    size, width = len(first), first.shape[1]
    table = np.hstack([first, second])

    def both(sums: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return measure(sums[..., :width]), measure(sums[..., width:])

    of_a, of_b = both(table.sum(axis=0))
    rng = generator(random_state)
    drawn = np.empty(n)
    step = max(1, _AT_ONCE // size)
    for begin in range(0, n, step):
        rows = min(step, n - begin)
        picks = rng.integers(size, size=(rows, size))
        picks += np.arange(rows)[:, None] * size
        times = np.bincount(picks.ravel(), minlength=rows * size).reshape(rows, size).astype(np.float64)
        left, right = both(times @ table)
        drawn[begin : begin + rows] = left - right
    difference = float(of_a - of_b)
    # Without this tolerance, rounding could miss samples that differ from d by exactly d.
    extreme = int(np.count_nonzero(np.abs(drawn - difference) >= abs(difference) * (1 - 1e-9)))
    low, high = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2])
    return BootstrapResult(float(of_a), float(of_b), difference, (extreme + 1) / (n + 1), (float(low), float(high)))


def paired_t_test(a: ArrayLike, b: ArrayLike, *, overlap: float = 0.0, confidence: float = 0.95) -> TTestResult:
    """Test whether the mean of a - b is zero, by Student's two-sided t-test of paired numbers.

    Parameters
    ----------
    a, b : array-like of shape (k,)
        Paired numbers: figures of two systems on the same items, or in the same splits. At least two pairs.
    overlap : float, default 0
        0 for independent pairs. For random splits of one data set, the size of a test part divided by the size
        of a training part. Larger values give larger p-values.
    confidence : float, default 0.95
        Confidence level of the interval, in (0, 1).

    Returns
    -------
    TTestResult
        The mean difference, t, the p-value and the interval.

    Notes
    -----
    Figures from repeated random splits of the same data are not independent, because their training parts
    overlap. The plain test then reports too many differences. With `overlap`, the variance of the mean is
    s²·(1/k + overlap) instead of s²/k (the corrected resampled t-test of Nadeau & Bengio 2003).

    If all differences are equal, there is no spread to estimate: p is 1 if they are 0, and 0 otherwise.

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
        raise wrong("overlap", "a number in [0, inf)", overlap, of="paired_t_test")
    if not 0 < confidence < 1:
        raise wrong("confidence", "a number in (0, 1)", confidence, of="paired_t_test")
    x, y = _paired(a, b)
    if len(x) < 2:
        raise ParameterError(f"A t-test needs at least 2 pairs. Got {len(x)} instead.")
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
    """Compare two accuracies on the same items by McNemar's two-sided test.

    Parameters
    ----------
    correct_a, correct_b : array-like of bool
        Whether each answer of a system is correct: ``predicted == y``.

    Returns
    -------
    McNemarResult
        The numbers of items that only one system has right, and the p-value.

    Notes
    -----
    Only items that exactly one system has right matter. With fewer than 25 such items, the p-value is exact,
    from the binomial distribution. Otherwise it comes from ``(|only_a − only_b| − 1)² / (only_a + only_b)``
    under χ² with one degree of freedom (with Edwards' correction).

    Examples
    --------
    >>> from treelet.metrics import mcnemar
    >>> mcnemar([True] * 5 + [False], [False] * 5 + [False])
    McNemarResult(only_a=5, only_b=0, p_value=0.0625, exact=True)
    """
    from scipy.stats import binomtest, chi2

    x, y = _paired(correct_a, correct_b)
    if not np.isin(np.concatenate([x, y]), (0, 1)).all():
        raise ParameterError(
            "McNemar's test needs True and False, or 1 and 0: whether each answer is correct. Pass predicted == y."
        )
    only_a, only_b = int((x > y).sum()), int((y > x).sum())
    differing = only_a + only_b
    if differing < _FEW:
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
                "a and b must have the same shape (items, counts) if the statistic is a function. Got the shapes "
                f"{sides[0].shape} and {sides[1].shape}."
            )
        _some(len(sides[0]))
        return *sides, statistic
    if isinstance(a, BracketCounts) and isinstance(b, BracketCounts):
        name = statistic or "f1"
        if name not in MEASURES:
            raise wrong("statistic", f"{in_words(map(repr, MEASURES))} for counts", name, of="paired_bootstrap")
        if len(a) != len(b) or not np.array_equal(a.gold, b.gold):
            raise ParameterError(
                "a and b must be counts for the same sentences in the same order, but their gold constituents differ. Evaluate "
                "both systems with the same gold trees."
            )
        _some(len(a))
        return a.columns(), b.columns(), MEASURES[name]
    if isinstance(a, BracketCounts) or isinstance(b, BracketCounts):
        raise InputTypeError("a and b must have the same type: both BracketCounts, or both arrays of numbers.")
    if statistic not in (None, "mean"):
        raise wrong("statistic", "'mean' for numbers", statistic, of="paired_bootstrap")
    x, y = _paired(a, b)
    return x[:, None], y[:, None], lambda sums: sums[..., 0] / len(x)


def _paired(a: ArrayLike, b: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    x, y = numbers(a, "a"), numbers(b, "b")
    if len(x) != len(y):
        raise ParameterError(
            f"a and b must contain one number per item, for the same items. Got {plural(len(x), 'number')} and "
            f"{plural(len(y), 'number')}."
        )
    _some(len(x))
    return x, y


def _some(length: int) -> None:
    if not length:
        raise ParameterError("a and b are empty: a comparison needs at least one item.")
