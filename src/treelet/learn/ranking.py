"""The base of all rankers, and the support vector machine for ranking, over any kernel."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from treelet.checks import check_integer, check_number, check_one_of
from treelet.errors import ParameterError
from treelet.gram import parse_memory
from treelet.kernels.base import Kernel
from treelet.kernels.pairwise import Matrix, Vector
from treelet.learn.base import KernelLearner, atomic_fit
from treelet.learn.encoding import register
from treelet.learn.targets import Rows, checked_goodness, checked_groups, group_numbers
from treelet.metrics import mean_kendall_tau
from treelet.progress import progress_bar

TIE = 1e-10  # scores that differ by less, relative to their size, differ by rounding


def beats(first: float, second: float) -> bool:
    """Whether a score is larger than another by more than rounding."""
    return bool(first - second > TIE * max(abs(first), abs(second)))


def first_best(scores: Vector) -> int:
    """The place of the largest score, the first of those that tie with it."""
    top = float(scores.max())
    return int(np.flatnonzero(scores >= top - TIE * abs(top))[0])


def levels(scores: Vector) -> Vector:
    """Places of scores in their order, in which those that tie are equal.

    >>> levels(np.array([3.0, 1.0, 3.0 + 1e-12, 2.0])).tolist()
    [2.0, 0.0, 2.0, 1.0]
    """
    order = np.argsort(scores, kind="stable")
    found = np.zeros(len(scores))
    found[order[1:]] = np.cumsum(np.diff(scores[order]) > TIE * np.abs(scores).max(initial=0))
    return found


def signed_sums(added: NDArray[np.intp], taken: NDArray[np.intp], weights: Vector, n: int) -> Vector:
    """What n examples get from pairs of them: each pair's weight for the one, and its negative for the other."""
    sums = np.zeros(n)
    np.add.at(sums, added, weights)
    np.subtract.at(sums, taken, weights)
    return sums


def nothing_to_learn(n_groups: int) -> ParameterError:
    """The error for groups without a pair to compare."""
    return ParameterError(
        f"none of the {n_groups} groups has two candidates of different goodness: there is nothing to learn. "
        "Check that qid is the same for candidates of one sentence, and that y tells them apart"
    )


class Ranker:
    """The part of an estimator that orders the candidates of each group: mixed into a `KernelLearner`."""

    model_: Any
    _values: Callable[[Any], Matrix]

    def predict(self, X: Any, qid: Any = None) -> Vector:
        """The score of each example: the larger, the better within its group.

        Parameters
        ----------
        X : collection
            As in `fit`; with ``kernel="precomputed"``, kernel values of examples x training examples.
        qid : array-like, optional
            The group of each example; not needed.
        """
        scores: Vector = self._values(X)[:, 0]
        if qid is not None:
            checked_groups(qid, len(scores))
        return scores

    def rank(self, X: Any, qid: Any) -> Rows:
        """The row of the best candidate of each group, groups in the order in which they first appear.

        Of candidates that tie for best it is the first.
        """
        scores, groups = self._scored(X, qid)
        return np.array([rows[first_best(scores[rows])] for rows in groups], dtype=np.intp)

    def score(self, X: Any, y: Any, qid: Any = None) -> float:
        """Kendall's tau_b between scores and goodness `y`, averaged over groups in which goodness differs.

        Scores that differ by rounding are equal.
        """
        scores, groups = self._scored(X, qid)
        goodness = checked_goodness(y, len(scores))
        if not len(scores):
            raise ParameterError("there is no score of no examples: X is empty")
        places = np.empty(len(scores))
        for rows in groups:
            places[rows] = levels(scores[rows])
        return mean_kendall_tau(places, goodness, group_numbers(groups, len(scores)))

    def _scored(self, X: Any, qid: Any) -> tuple[Vector, list[Rows]]:
        check_is_fitted(self)
        if qid is None:
            raise ParameterError("to compare candidates within their groups qid is needed: give qid=")
        scores = self.predict(X, qid)
        return scores, checked_groups(qid, len(scores))

    def _check_fitted_state(self) -> None:
        super()._check_fitted_state()  # type: ignore[misc]  # an estimator's
        if self.model_.outputs != 1:
            raise ValueError("a ranker has one output")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]  # an estimator's
        tags.target_tags.required = True
        return tags


SWEEPS = 10  # over the pairs of a group, each time it is its turn
SETTLED = 0.1  # the share of the gap that is allowed which groups that are skipped may add up to


@register
class RankSVM(Ranker, KernelLearner):
    r"""Learns to rank the candidates of each group, with the largest margin between pairs.

    .. math:: \min_w \; \tfrac12 \|w\|^2 + C \sum_{(a, b)} \max\bigl(0,\; 1 - w \cdot (h(x_a) - h(x_b))\bigr)

    over pairs of candidates of one group of which `a` is the better one: the ranking form of the support vector
    machine (Collins & Duffy 2001, section 3; Joachims 2002).

    Parameters
    ----------
    kernel : Kernel or "precomputed", optional
        By default ``SubsetTree().normalized()``. With ``"precomputed"`` X is a matrix of kernel values.
    C : float
        The price of an error in the training pairs: the larger, the closer the fit.
    pairs : {"best", "all"}
        ``"best"``: the best candidate of a group (all that tie for it) against each of the others. ``"all"``: all
        pairs that are not equally good.
    tol : float
        Stop where the duality gap is at most this share of the objective.
    max_iter : int
        At most so many passes over the pairs; a warning says so if they were not enough.
    memory : int or str, optional
        How much the matrix of kernel values may take, 8 n^2 bytes for n candidates; None for as much as it takes.
    n_jobs : int
        Threads, for the matrix and the predictions; -1 for one a core. Results do not depend on it.
    device : "cpu" or "cuda"
        ``"cuda"``: compute kernel values on a GPU, as `treelet.gram` does. A file of a model does not remember it.
    device_memory : int or str, optional
        How much of the GPU's memory may be taken, such as ``"10GiB"``; by default, what is free.
    progress : bool
        Show progress bars, of the matrix and of the passes.

    Attributes
    ----------
    support_ : ndarray of int
        Which training examples are part of the weights.
    dual_coef_ : ndarray of shape (1, support examples)
        Their coefficients.
    n_pairs_ : int
        Pairs that were compared.
    n_iter_ : int
        Passes over them.
    objective_, gap_ : float
        The value that was minimized, and by how much it may be above the minimum.
    model_ : CompressedModel
        What predictions are made with.
    fit_seconds_ : dict
        Where the time went: ``gram``, ``solve``, ``compress``.

    Notes
    -----
    Solved in the dual by coordinate descent, the pairs of one group at a time: those change each other's scores through
    the group's own matrix, and all others' by one product when the group is done. Groups that are settled are passed
    over.

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

    _smaller = "take fewer candidates a group; or use VotedPerceptron, which needs no matrix"
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
        device: str = "cpu",
        device_memory: int | float | str | None = None,
        progress: bool = False,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.pairs = pairs
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory
        self.n_jobs = n_jobs
        self.device = device
        self.device_memory = device_memory
        self.progress = progress

    @atomic_fit()
    def fit(self, X: Any, y: Any, qid: Any = None) -> Self:
        """Fit to groups of candidates.

        Parameters
        ----------
        X : collection
            Whatever the kernel takes; with ``kernel="precomputed"``, the matrix of the examples with themselves.
        y : array-like of numbers
            How good each example is.
        qid : array-like
            The group of each example: numbers or texts. Rows of a group need not be neighbors.
        """
        self._check_parameters()
        kernel, data = self._kernel_and_data(X)
        n = len(data)
        goodness, groups = checked_goodness(y, n), checked_groups(qid, n)
        contests = [paired(rows, goodness[rows], self.pairs == "all") for rows in groups]
        contests = [pairs for pairs in contests if len(pairs.better)]
        if not contests:
            raise nothing_to_learn(len(groups))
        used = np.sort(np.concatenate([pairs.rows for pairs in contests]))
        self._check_memory(f"the matrix of {len(used):,} candidates", 8 * len(used) ** 2)
        started = time.perf_counter()
        K = self._matrix(kernel, data, None if len(used) == n else used)
        made = time.perf_counter()
        solution = self._solved(K, [pairs._replace(rows=np.searchsorted(used, pairs.rows)) for pairs in contests])
        del K
        done = time.perf_counter()
        there = np.flatnonzero(solution.coefficients)
        self._keep(kernel, data, used[there], solution.coefficients[None, there])
        self._remember(kernel, data, goodness, group_numbers(groups, n))
        self.n_pairs_ = sum(len(pairs.better) for pairs in contests)
        self.n_iter_, self.objective_, self.gap_ = solution.passes, solution.objective, solution.gap
        self.fit_seconds_ = {"gram": made - started, "solve": done - made, "compress": time.perf_counter() - done}
        return self

    def _solved(self, K: Matrix, contests: list[Pairs]) -> Optimum:
        with progress_bar(self.progress, "passes", self.max_iter) as advance:
            solution = solved(K, contests, float(self.C), float(self.tol), int(self.max_iter), advance)
        if solution.gap > self.tol * solution.objective:
            warnings.warn(
                f"RankSVM stopped after {solution.passes} passes with a duality gap of {solution.gap:.3g} at an "
                f"objective of {solution.objective:.3g}: give a larger max_iter or tol, or a smaller C",
                ConvergenceWarning,
                stacklevel=4,  # where fit was called
            )
        return solution

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in ("C", "tol"):
            check_number(self, name, 0, np.inf)
        check_one_of("pairs", self.pairs, ("best", "all"), of=self)
        check_integer("max_iter", self.max_iter, of=self)
        parse_memory(self.memory)

    def _check_fitted_state(self) -> None:
        super()._check_fitted_state()
        if not all(type(count) is int and count >= 0 for count in (self.n_pairs_, self.n_iter_)):
            raise ValueError("the counts are no numbers")
        if not all(isinstance(value, float) and np.isfinite(value) for value in (self.objective_, self.gap_)):
            raise ValueError("the objective is no number")


class Pairs(NamedTuple):
    """A group's rows, and places among them of the better and the worse one of each pair."""

    rows: Rows
    better: NDArray[np.intp]
    worse: NDArray[np.intp]


def paired(rows: Rows, goodness: Vector, every: bool) -> Pairs:
    """The pairs of a group: those with its best candidates, or every two that are not equally good."""
    above = goodness[:, None] > goodness[None, :]
    if not every:
        above &= (goodness == goodness.max())[:, None]
    better, worse = np.nonzero(above)
    used = np.unique(np.concatenate([better, worse]))
    return Pairs(rows[used], np.searchsorted(used, better), np.searchsorted(used, worse))


@dataclass(frozen=True)
class Optimum:
    """Coefficients of examples, the objective there, and how far above the minimum it may be."""

    coefficients: Vector
    objective: float
    gap: float
    passes: int


def solved(K: Matrix, contests: list[Pairs], C: float, tol: float, max_iter: int, advance: Any) -> Optimum:
    r"""The dual, :math:`\max_\beta \sum \beta - \tfrac12 \beta^T D K D^T \beta` in [0, C], D differences of pairs.

    The duality gap is the sum over pairs of (C - beta)(1 - margin) where the margin is below 1, and beta (margin - 1)
    where it is above: no term is negative, so that a group whose terms are small can be passed over.
    """
    better = np.concatenate([pairs.rows[pairs.better] for pairs in contests])
    worse = np.concatenate([pairs.rows[pairs.worse] for pairs in contests])
    starts = np.cumsum([0, *(len(pairs.better) for pairs in contests)])[:-1]
    beta = np.zeros(len(better))
    parts = np.split(beta, starts[1:])  # views
    random = np.random.default_rng(0)  # the order of groups: whatever it is, the optimum is the same
    passes = 0
    while True:
        coefficients = signed_sums(better, worse, beta, len(K))
        scores: Vector = K @ coefficients
        short = 1 - (scores[better] - scores[worse])
        gaps = np.where(short > 0, (C - beta) * short, -beta * short)
        gap = float(gaps.sum())
        objective = 0.5 * float(coefficients @ scores) + C * float(np.maximum(short, 0).sum())
        if gap <= tol * objective or passes == max_iter:
            return Optimum(coefficients, objective, gap, passes)
        unsettled = np.add.reduceat(gaps, starts) > SETTLED * tol * objective / len(contests)
        for number in random.permutation(np.flatnonzero(unsettled)):
            _improve(K, contests[number], parts[number], C, scores)
        passes += 1
        advance(1)


def _improve(K: Matrix, pairs: Pairs, beta: Vector, C: float, scores: Vector) -> None:
    """Coordinate descent on the pairs of one group; `beta` and all examples' `scores` change in place."""
    rows, better, worse = pairs
    mine = K[rows]
    own = mine[:, rows]
    here, change = scores[rows], np.zeros(len(rows))
    curvature = own[better, better] - 2 * own[better, worse] + own[worse, worse]
    rounding = 1e-14 * np.abs(np.diag(own)).max()
    for _ in range(SWEEPS):
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
