"""Base class of the rankers, and the support vector machine for ranking."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from treelet.checks import check_integer, check_number, check_one_of, plural
from treelet.errors import ParameterError, user_level
from treelet.kernels.base import Kernel
from treelet.kernels.pairwise import Matrix, Vector
from treelet.learn.base import NO_QUALITY, KernelLearner, Rows, checked_groups, checked_numbers, group_numbers
from treelet.learn.fits import atomic_fit, one_fit
from treelet.learn.persist import register
from treelet.matrices import parse_memory
from treelet.matrices.executors import host_matrix
from treelet.matrices.operator import Products
from treelet.metrics import mean_kendall_tau
from treelet.resources import Resources
from treelet.work import progress_bar

_SWEEPS = 3  # passes over the groups of a block, if there are more groups
TIE = 1e-10  # relative difference below which scores count as equal, because of rounding


def _levels(scores: Vector) -> Vector:
    """Return the rank of each score. Scores that tie have the same rank.

    >>> _levels(np.array([3.0, 1.0, 3.0 + 1e-12, 2.0])).tolist()
    [2.0, 0.0, 2.0, 1.0]
    """
    order = np.argsort(scores, kind="stable")
    ranks = np.zeros(len(scores))
    ranks[order[1:]] = np.cumsum(np.diff(scores[order]) > TIE * np.abs(scores).max(initial=0))
    return ranks


def signed_sums(added: NDArray[np.intp], taken: NDArray[np.intp], weights: Vector, n: int) -> Vector:
    """Return the coefficients of n examples: every pair adds its weight to one and subtracts it from the other."""
    sums = np.zeros(n)
    np.add.at(sums, added, weights)
    np.subtract.at(sums, taken, weights)
    return sums


def nothing_to_learn(n_groups: int) -> ParameterError:
    """Return the error for groups without a pair to compare."""
    return ParameterError(
        f"There is nothing to learn: {'the only group has no' if n_groups == 1 else f'none of the {n_groups:,} groups has'} "
        "two candidates with different values of y. Check that all candidates of one sentence have the same qid and that "
        "their values of y differ."
    )


class Ranker:
    """Mixin for a `KernelLearner` that orders the candidates of each group."""

    model_: Any
    _values: Callable[[Any], Matrix]

    @one_fit
    def predict(self, X: Any, qid: Any = None) -> Vector:
        """Return the score of each example. Larger scores are better within a group.

        Parameters
        ----------
        X : collection of examples
            As in `fit`. With ``kernel="precomputed"``, a matrix of examples x training examples.
        qid : array-like, optional
            The group of each example. It does not affect the scores.

        Returns
        -------
        ndarray of shape (len(X),)
        """
        scores: Vector = self._values(X)[:, 0]
        if qid is not None:
            checked_groups(qid, len(scores))
        return scores

    @one_fit
    def rank(self, X: Any, qid: Any) -> Rows:
        """Return the row of the best candidate of each group.

        Parameters
        ----------
        X : collection of examples
            As in `predict`.
        qid : array-like
            The group of each example.

        Returns
        -------
        ndarray of int of shape (n_groups,)
            One row per group, in order of first appearance. If several candidates tie, the first
            one is returned.
        """
        scores, groups = self._scored(X, qid)
        best = []
        for rows in groups:
            top = float(scores[rows].max())
            best.append(rows[np.flatnonzero(scores[rows] >= top - TIE * abs(top))[0]])
        return np.array(best, dtype=np.intp)

    @one_fit
    def score(self, X: Any, y: Any, qid: Any = None) -> float:
        """Return Kendall's tau_b between the scores and `y`, averaged over groups.

        Groups in which all values of `y` are equal are skipped. Scores that differ only by rounding
        count as equal.

        Parameters
        ----------
        X : collection of examples
            As in `predict`.
        y : array-like of numbers
            The quality of each example.
        qid : array-like
            The group of each example.

        Returns
        -------
        float
            A number from -1 to 1.
        """
        scores, groups = self._scored(X, qid)
        goodness = checked_numbers(y, len(scores), NO_QUALITY)
        if not len(scores):
            raise ParameterError("X is empty: score needs at least one example.")
        ranks = np.empty(len(scores))
        for rows in groups:
            ranks[rows] = _levels(scores[rows])
        return mean_kendall_tau(ranks, goodness, group_numbers(groups, len(scores)))

    def _scored(self, X: Any, qid: Any) -> tuple[Vector, list[Rows]]:
        check_is_fitted(self)
        if qid is None:
            raise ParameterError(
                "qid is missing: candidates are compared only within a sentence or query. "
                "Pass the sentence or query of each example, for example qid=[0, 0, 1, 1]."
            )
        scores = self.predict(X, qid)
        return scores, checked_groups(qid, len(scores))

    def _check_fitted_state(self) -> None:
        super()._check_fitted_state()  # type: ignore[misc]  # an estimator's
        if self.model_.outputs != 1:
            raise ValueError("a ranker must have one output")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]  # an estimator's
        tags.target_tags.required = True
        return tags


@register
class RankSVM(Ranker, KernelLearner):
    r"""Support vector machine that learns to rank the candidates of each group.

    .. math:: \min_w \; \tfrac12 \|w\|^2 + C \sum_{(a, b)} \max\bigl(0,\; 1 - w \cdot (h(x_a) - h(x_b))\bigr)

    The sum runs over pairs of candidates of the same group in which `a` is the better one (Collins
    & Duffy 2001, section 3; Joachims 2002).

    Parameters
    ----------
    kernel : Kernel or "precomputed", optional
        Default: ``SubsetTree().normalized()``. With ``"precomputed"``, X is a kernel matrix.
    C : float, default 1.0
        Regularization parameter, in (0, inf): the penalty per error on the training pairs. Larger
        values fit the training data more closely.
    pairs : {"best", "all"}, default "best"
        Training pairs. ``"best"`` compares the best candidate of a group, or all that tie, with
        each of the others. ``"all"`` compares all candidates that are not equally good.
    tol : float, default 0.001
        Stopping tolerance, in (0, inf): stop if the duality gap is at most this share of the
        objective.
    max_iter : int, default 1000
        Maximum number of passes over the pairs. A `ConvergenceWarning` is issued if it is reached.
    memory : int or str, default "2GiB"
        Memory limit of the fit, besides the examples. A quarter of it is for the kernel matrix of 8 n^2
        bytes, or for a block of the matrix if n candidates are too many for that. None: 1 GiB.
    n_jobs : int, default 1
        Number of threads for the matrix and predictions. -1 uses one thread per core. Results do
        not depend on `n_jobs`.

    Attributes
    ----------
    support_ : ndarray of int
        Indices of the training examples with a nonzero coefficient.
    dual_coef_ : ndarray of shape (1, n_support)
        Their coefficients.
    n_pairs_ : int
        Number of training pairs.
    n_iter_ : int
        Number of passes over the pairs.
    objective_, gap_ : float
        The value of the objective, and the duality gap, an upper bound of its distance to the
        minimum.
    model_ : CompressedModel
        The model that computes predictions.

    Notes
    -----
    The dual problem is solved by coordinate descent, one group at a time. Groups whose duality gap is
    small are skipped. If the whole matrix does not fit, a pass takes the groups with the largest gaps
    whose candidates fit a block of the matrix, and one product, from merged rows where the kernel
    allows it, updates the scores of all other candidates (see `KernelSVC`).

    References
    ----------
    Collins & Duffy, "Convolution kernels for natural language", NIPS 2001, section 3.
    Joachims, "Optimizing search engines using clickthrough data", KDD 2002.
    Hsieh et al., "A dual coordinate descent method for large-scale linear SVM", ICML 2008.

    Examples
    --------
    >>> from treelet.learn import RankSVM
    >>> parses = ["(VP (V saw) (NP (N her)) (PP (P with)))", "(VP (V saw) (NP (N her) (PP (P with))))"]
    >>> parses += ["(VP (V ate) (NP (N it)) (PP (P with)))", "(VP (V ate) (NP (N it) (PP (P with))))"]
    >>> ranker = RankSVM(C=10).fit(parses, y=[1.0, 0.5, 1.0, 0.5], qid=[1, 1, 2, 2])
    >>> ranker.rank(parses, qid=[1, 1, 2, 2]).tolist()
    [0, 2]
    """

    _fitted: ClassVar[tuple[str, ...]] = (*KernelLearner._fitted, "n_pairs_", "n_iter_", "objective_", "gap_")

    def __init__(
        self,
        kernel: Kernel | str | None = None,
        C: float = 1.0,
        *,
        pairs: str = "best",
        tol: float = 1e-3,
        max_iter: int = 1000,
        memory: int | float | str | None = "2GiB",
        n_jobs: int | None = 1,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.pairs = pairs
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory
        self.n_jobs = n_jobs

    @atomic_fit()
    def fit(self, X: Any, y: Any, qid: Any = None) -> Self:
        """Fit the ranker to groups of candidates.

        Parameters
        ----------
        X : collection of examples
            Any form that the kernel accepts. With ``kernel="precomputed"``, the square kernel
            matrix of the examples.
        y : array-like of numbers
            The quality of each example.
        qid : array-like
            The group of each example: numbers or strings. Rows of a group need not be adjacent.

        Returns
        -------
        RankSVM
            The fitted estimator.
        """
        self._check_parameters()
        kernel, data = self._kernel_and_data(X)
        n = len(data)
        goodness, groups = checked_numbers(y, n, NO_QUALITY), checked_groups(qid, n, of=type(self).__name__)
        contests = [_paired(rows, goodness[rows], self.pairs == "all") for rows in groups]
        contests = [pairs for pairs in contests if len(pairs[1])]
        if not contests:
            raise nothing_to_learn(len(groups))
        used = np.sort(np.concatenate([rows for rows, _, _ in contests]))
        contests = [(np.searchsorted(used, rows), better, worse) for rows, better, worse in contests]
        resources = self._resources._replace(memory_limit=parse_memory(self.memory))
        if kernel is None or 32 * len(used) ** 2 <= resources.memory:
            values = _Values.given(self._matrix(kernel, data, None if len(used) == n else used))
        else:
            values = _Values.computed(kernel, data if len(used) == n else data[used], resources)
        with progress_bar(self._resources.progress, "passes", self.max_iter) as advance:
            solution = _solved_pairs(values, contests, float(self.C), float(self.tol), int(self.max_iter), advance)
        del values
        coefficients, self.objective_, self.gap_, self.n_iter_ = solution
        if self.gap_ > self.tol * self.objective_:
            warnings.warn(
                f"RankSVM has not converged after {plural(self.n_iter_, 'iteration')}: the duality gap is "
                f"{self.gap_:.3g} for an objective of {self.objective_:.3g}. Use a larger max_iter, a larger tol, "
                "or a smaller C.",
                ConvergenceWarning,
                stacklevel=user_level(),
            )
        nonzero = np.flatnonzero(coefficients)
        self._keep(kernel, data, used[nonzero], coefficients[None, nonzero])
        self._remember(kernel, data, goodness, group_numbers(groups, n))
        self.n_pairs_ = sum(len(better) for _, better, _ in contests)
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in ("C", "tol"):
            check_number(self, name, 0, np.inf)
        check_one_of("pairs", self.pairs, ("best", "all"), of=self)
        check_integer("max_iter", self.max_iter, of=self)
        parse_memory(self.memory, of=self)

    def _check_fitted_state(self) -> None:
        super()._check_fitted_state()
        if not all(type(count) is int and count >= 0 for count in (self.n_pairs_, self.n_iter_)):
            raise ValueError("the number of pairs or iterations is not a nonnegative integer")
        if not all(isinstance(value, float) and np.isfinite(value) for value in (self.objective_, self.gap_)):
            raise ValueError("the objective or the gap is not a finite number")


# The rows of a group, and the positions of the better and the worse candidate of each pair
_Pairs = tuple[Rows, NDArray[np.intp], NDArray[np.intp]]


def _paired(rows: Rows, goodness: Vector, every: bool) -> _Pairs:
    """Return the pairs of a group: those with its best candidates, or all pairs that are not equally good."""
    above = goodness[:, None] > goodness[None, :]
    if not every:
        above &= (goodness == goodness.max())[:, None]
    better, worse = np.nonzero(above)
    used = np.unique(np.concatenate([better, worse]))
    return rows[used], np.searchsorted(used, better), np.searchsorted(used, worse)


class _Values(NamedTuple):
    """Access to a kernel matrix: its size, a block of it, and weighted sums of its rows."""

    size: int
    block: Callable[[Rows], Matrix]
    combined: Callable[[Rows, Vector], Vector]
    capacity: int
    """The largest number of rows of a block."""

    @staticmethod
    def given(K: Matrix) -> _Values:
        return _Values(len(K), lambda rows: K[np.ix_(rows, rows)], lambda rows, weights: weights @ K[rows], len(K))

    @staticmethod
    def computed(kernel: Kernel, data: Any, resources: Resources) -> _Values:
        """Return the matrix of examples without storing it. Half of the memory is for a block and the values of its rows."""
        parts = resources._replace(memory_limit=resources.memory // 4)
        products, values = Products(kernel, data, None, parts), parts._replace(progress=False)
        return _Values(
            len(data),
            lambda rows: host_matrix(kernel, data[rows], None, values._replace(memory_limit=resources.memory)),
            lambda rows, weights: products.combined(rows, weights[None])[0],
            max(2, math.isqrt(resources.memory // 4 // 8)),
        )


def _solved_pairs(
    values: _Values, contests: list[_Pairs], C: float, tol: float, max_iter: int, advance: Any
) -> tuple[Vector, float, float, int]:
    r"""Solve the dual problem :math:`\max_\beta \sum \beta - \tfrac12 \beta^T D K D^T \beta`, beta in [0, C].

    Returns the coefficients of examples, the objective, the duality gap, and the number of passes.

    The rows of D are the differences of pairs. The duality gap is a sum over pairs: (C - beta)(1 -
    margin) if the margin is below 1, and beta (margin - 1) if it is above. No term is negative, so
    groups whose terms are small can be skipped. A pass takes the groups with the largest terms whose
    candidates fit a block of the matrix; the scores of all other candidates follow by one product.
    """
    # The rows of the better and of the worse candidate of all pairs, and the first pair of each group
    better = np.concatenate([rows[first] for rows, first, _ in contests])
    worse = np.concatenate([rows[second] for rows, _, second in contests])
    starts = np.cumsum([0, *(len(first) for _, first, _ in contests)])[:-1]
    sizes = np.array([len(rows) for rows, _, _ in contests])
    beta, scores = np.zeros(len(better)), np.zeros(values.size)
    parts = np.split(beta, starts[1:])  # views
    random = np.random.default_rng(0)  # The optimum does not depend on the order of groups.
    passes, whole = 0, sizes.sum() <= values.capacity
    while True:
        coefficients = signed_sums(better, worse, beta, values.size)
        short = 1 - (scores[better] - scores[worse])
        gaps = np.where(short > 0, (C - beta) * short, -beta * short)
        gap = float(gaps.sum())
        objective = 0.5 * float(coefficients @ scores) + C * float(np.maximum(short, 0).sum())
        if gap <= tol * objective or passes == max_iter:
            return coefficients, objective, gap, passes
        # All skipped groups together may contribute a tenth of the allowed gap.
        by_group = np.add.reduceat(gaps, starts)
        chosen = np.flatnonzero(by_group > 0.1 * tol * objective / len(contests))
        if not whole:
            chosen = chosen[np.argsort(-by_group[chosen], kind="stable")]
            chosen = chosen[: max(1, int(np.searchsorted(np.cumsum(sizes[chosen]), values.capacity, "right")))]
        rows = np.sort(np.concatenate([contests[number][0] for number in chosen]))
        K, here, before = values.block(rows), scores[rows], beta.copy()
        for _ in range(1 if whole else _SWEEPS):
            for number in random.permutation(chosen):
                mine, first, second = contests[number]
                _improve(K, (np.searchsorted(rows, mine), first, second), parts[number], C, here)
        del K
        change = signed_sums(better, worse, beta - before, values.size)
        changed = np.flatnonzero(change)
        scores += values.combined(changed, change[changed])
        passes += 1
        advance(1)


def _improve(K: Matrix, pairs: _Pairs, beta: Vector, C: float, scores: Vector) -> None:
    """Improve the pairs of one group by coordinate descent; `beta` and `scores` change in place."""
    rows, better, worse = pairs
    mine = K[rows]
    own = mine[:, rows]
    here, change = scores[rows], np.zeros(len(rows))
    curvature = own[better, better] - 2 * own[better, worse] + own[worse, worse]
    rounding = 1e-14 * np.abs(np.diag(own)).max()
    for _ in range(10):  # passes over the pairs of the group
        moved = False
        for k, (a, b) in enumerate(zip(better.tolist(), worse.tolist(), strict=True)):
            slope = here[a] - here[b] - 1
            target = beta[k] - slope / curvature[k] if curvature[k] > rounding else (C if slope < 0 else 0.0)
            step = min(max(target, 0.0), C) - beta[k]
            if step == 0:
                continue
            moved = moved or abs(step) > 1e-3 * C
            beta[k] += step
            change[a] += step
            change[b] -= step
            here += step * (own[a] - own[b])
        if not moved:
            break
    scores += change @ mine
