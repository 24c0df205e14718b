"""Base class of the rankers, and the support vector machine for ranking."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from treelet.checks import check_integer, check_number, check_one_of, plural
from treelet.errors import ParameterError, user_level
from treelet.kernels.base import Kernel
from treelet.kernels.pairwise import Matrix, Vector
from treelet.learn.active_set import ActiveSetSolver, BoxProblem, ExampleMatrix, ImplicitMatrix
from treelet.learn.base import NO_QUALITY, KernelLearner, Rows, checked_groups, checked_numbers, group_numbers
from treelet.learn.fits import atomic_fit, one_fit
from treelet.learn.persist import register
from treelet.matrices import parse_memory
from treelet.metrics import mean_kendall_tau
from treelet.resources import Resources
from treelet.work import digits_reached, progress_bar

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
        Maximum number of steps, as a multiple of the number of pairs. A `ConvergenceWarning` is issued
        if it is reached.
    memory : int or str, default "2GiB"
        Memory limit of the fit, besides the examples. A quarter of it holds a block of inner products
        of pairs: about 11,000 pairs by default. A smaller block takes longer. None: 1 GiB.
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
        Number of steps divided by the number of pairs, rounded up.
    objective_, gap_ : float
        The value of the objective, and the duality gap, an upper bound of its distance to the
        minimum.
    model_ : CompressedModel
        The model that computes predictions.

    Notes
    -----
    The solver is that of `KernelSVC`, with pairs of candidates as examples and without an intercept.
    Pairs that violate the optimality conditions enter a resident block of inner products, list by
    list. One product, from merged rows where the kernel allows it, then updates the scores of all
    candidates.

    References
    ----------
    Collins & Duffy, "Convolution kernels for natural language", NIPS 2001, section 3.
    Joachims, "Optimizing search engines using clickthrough data", KDD 2002.

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
        pairs = [_pairs(rows, goodness[rows], self.pairs == "all") for rows in groups]
        better, worse = (np.concatenate([pair[side] for pair in pairs]) for side in (0, 1))
        if not len(better):
            raise nothing_to_learn(len(groups))
        lists = np.repeat(np.arange(len(groups)), [len(first) for first, _ in pairs])
        used, places = np.unique(np.concatenate([better, worse]), return_inverse=True)
        resources = self._resources._replace(memory_limit=parse_memory(self.memory))
        if kernel is None:
            candidates: ImplicitMatrix = _GivenMatrix(self._matrix(None, data, None if len(used) == n else used))
        else:
            candidates = ExampleMatrix(kernel, data if len(used) == n else data[used], resources)
        first, second = np.split(places, 2)
        differences = _DifferenceMatrix(candidates, first, second, lists, resources.memory // 8)
        coefficients = self._solved(differences, resources)
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
        self.n_pairs_ = len(better)
        return self

    def _solved(self, differences: _DifferenceMatrix, resources: Resources) -> Vector:
        r"""Solve the dual problem :math:`\max_\beta \sum \beta - \tfrac12 \beta^T D K D^T \beta`, beta in [0, C].

        Returns the coefficients of candidates. The solver bounds the violation of the optimality conditions, from which the
        duality gap follows: a sum over pairs of (C - beta)(1 - margin) if the margin is below 1, and beta (margin - 1) if it
        is above. The violation is lowered until the gap is small enough.
        """
        C, n = float(self.C), len(differences)
        solver = ActiveSetSolver(differences, resources.memory // 4)
        problem = BoxProblem(np.ones(n), np.zeros(n), np.full(n, C), fixed_sum=False)
        left, taken, violation = int(self.max_iter) * n, 0, float(self.tol)
        beta: Vector | None = None
        with progress_bar(resources.progress, "digits of the solution", 100) as advance:
            step = digits_reached(float(self.tol), advance)
            while True:
                solution = solver.solve(problem, violation, left - taken, start=beta, step=step)
                beta, taken = solution.b, taken + solution.steps
                coefficients = differences.coefficients(np.arange(n), beta)
                over = differences.differences(coefficients) - 1
                self.gap_ = float(np.where(over < 0, (beta - C) * over, beta * over).sum())
                self.objective_ = float(beta @ (over + 1)) / 2 + C * float(np.maximum(-over, 0).sum())
                stuck = solution.gap >= violation  # by rounding errors, or by the number of steps
                if self.gap_ <= self.tol * self.objective_ or stuck:
                    break
                violation /= 4
        self.n_iter_ = -(-taken // n)
        return coefficients

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


def _pairs(rows: Rows, goodness: Vector, every: bool) -> tuple[Rows, Rows]:
    """Return the better and the worse rows of the pairs of a group: with its best candidates, or all that differ."""
    above = goodness[:, None] > goodness[None, :]
    if not every:
        above &= (goodness == goodness.max())[:, None]
    better, worse = np.nonzero(above)
    return rows[better], rows[worse]


class _GivenMatrix(ImplicitMatrix):
    """A precomputed kernel matrix."""

    def __init__(self, K: Matrix) -> None:
        self.K, self.diagonal, self.lists = K, K.diagonal(), np.arange(len(K))

    def fill(self, rows: Rows, columns: Rows, out: NDArray[Any]) -> None:
        out[...] = self.K[np.ix_(rows, columns)]

    def combined(self, rows: Rows, weights: Vector, at: Rows | None = None) -> Vector:
        return np.asarray(weights @ (self.K[rows] if at is None else self.K[np.ix_(rows, at)]))


class _DifferenceMatrix(ImplicitMatrix):
    r"""Inner products of differences, :math:`D K D^T`: each row of D is the better minus the worse candidate of a pair.

    Parameters
    ----------
    candidates : ImplicitMatrix
        The matrix K.
    better, worse : ndarray of int
        The two candidates of each pair.
    lists : ndarray of int
        The group of each pair.
    memory : int
        Bytes for values of K while a block is filled.
    """

    def __init__(self, candidates: ImplicitMatrix, better: Rows, worse: Rows, lists: Rows, memory: int) -> None:
        self.candidates, self.better, self.worse, self.lists, self.memory = candidates, better, worse, lists, memory
        self.diagonal = np.zeros(len(better))

    def fill(self, rows: Rows, columns: Rows, out: NDArray[Any]) -> None:
        sides = self.better[columns], self.worse[columns]
        met, places = np.unique(np.concatenate(sides), return_inverse=True)
        better, worse = np.split(places, 2)
        at = np.empty(len(self), np.int64)
        at[columns] = np.arange(len(columns))
        _, firsts = np.unique(np.stack([self.better[rows], self.worse[rows]], axis=1), return_index=True)
        candidates = np.cumsum(np.bincount(firsts // 2, minlength=len(rows)))  # of the pairs so far
        most, begin = max(2, self.memory // (8 * len(met))), 0
        while begin < len(rows):
            known = candidates[begin - 1] if begin else 0
            end = max(begin + 1, int(np.searchsorted(candidates, known + most, "right")))
            some = rows[begin:end]
            own, where = np.unique(np.concatenate([self.better[some], self.worse[some]]), return_inverse=True)
            K = np.empty((len(own), len(met)))
            self.candidates.fill(own, met, K)
            first, second = np.split(where, 2)
            for row, pair in enumerate(some):
                difference = K[first[row]] - K[second[row]]
                values = difference[better] - difference[worse]
                out[begin + row] = values
                self.diagonal[pair] = values[at[pair]]
            begin = end

    def combined(self, rows: Rows, weights: Vector, at: Rows | None = None) -> Vector:
        return self.differences(self.coefficients(rows, weights), at)

    def coefficients(self, rows: Rows, weights: Vector) -> Vector:
        """Return the coefficients of candidates from those of some pairs."""
        return signed_sums(self.better[rows], self.worse[rows], weights, len(self.candidates))

    def differences(self, coefficients: Vector, at: Rows | None = None) -> Vector:
        """Return the differences of the scores of some pairs, or of all."""
        used = np.flatnonzero(coefficients)
        if at is None:
            scores = self.candidates.combined(used, coefficients[used])
            return np.asarray(scores[self.better] - scores[self.worse])
        met, places = np.unique(np.concatenate([self.better[at], self.worse[at]]), return_inverse=True)
        better, worse = np.split(self.candidates.combined(used, coefficients[used], met)[places], 2)
        return np.asarray(better - worse)
