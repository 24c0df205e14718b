"""Machines that choose among a parser's candidates: fitted once, asked after each pass and in every way of predicting."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treelet.kernels import Kernel, Linear, On, SubsetTree
from treelet.learn import RankSVM, VotedPerceptron
from treelet.learn.model import CompressedModel
from treelet.learn.perceptron import VotingModel
from treelet.learn.ranking import signed_sums
from treelet.matrices import gram
from treelet.structures import Table
from treelet.tasks import CandidateParses, reranking_kernel
from treelet.tasks.reranking import Rows

Scores = NDArray[np.float64]


class Way(NamedTuple):
    """The way in which a model is fitted.

    Attributes
    ----------
    lam, depth, leaves
        Of the subset-tree kernel.
    logp : float
        The weight of the parser's log probability as one more feature.
    form : {"raw", "normalised", "radial", "flat"}
        The kernel as it is; normalized; a Gaussian of the normalized one, of width `sigma`; or flat features instead of it.
    gold : bool
        Whether the right tree is what others are compared with, instead of the best candidate.
    C : float
        Of the ranking SVM, for a kernel whose mean self-value is 1; 0: the perceptron.
    more : bool
        Whether lists of another kind of text are learned from too.
    """

    lam: float = 1.0
    depth: int | None = None
    leaves: bool = False
    logp: float = 0.0
    form: str = "raw"
    sigma: float = 0.0
    gold: bool = False
    C: float = 0.0
    more: bool = False

    def kernel(self) -> Kernel:
        """Over the rows of a `Pool`."""
        if self.form == "flat":
            return On("flat", Linear())
        trees: Kernel = SubsetTree(lam=self.lam, max_depth=self.depth, leaves=self.leaves)
        if self.form != "raw":
            trees = trees.normalized()
        if self.form == "radial":
            trees = trees.gaussian(self.sigma)
        return reranking_kernel(trees, self.logp)


class Point(NamedTuple):
    """A machine after some passes, asked in one way; with `gamma`: log p + gamma * score, of weights of length 1."""

    way: Way
    passes: int = 1
    prediction: str = "averaged"
    gamma: float | None = None


class Pool(NamedTuple):
    """Candidates, and their flat features."""

    parses: CandidateParses
    flat: Any = None

    def table(self) -> Table:
        """The input of kernels."""
        columns = {"tree": self.parses.trees, "logp": self.parses.relative_logp()[:, None]}
        return Table(columns if self.flat is None else columns | {"flat": self.flat})


def joined(pools: Sequence[Pool]) -> Pool:
    """The sentences of several, in order; flat features are left away where one has none."""
    from scipy.sparse import vstack

    flat = None if any(pool.flat is None for pool in pools) else vstack([pool.flat for pool in pools], format="csr")
    return Pool(CandidateParses.concat([pool.parses for pool in pools]), flat)


class Fitted:
    """A machine and what it was fitted to."""

    def __init__(self, way: Way, pool: Pool, passes: int = 1, matrix: Scores | None = None) -> None:
        self.kernel = way.kernel()
        self.pool = Pool(pool.parses.with_gold()) if way.gold else pool
        parses = self.pool.parses
        self.table = self.pool.table()
        if way.C:
            machine: Any = RankSVM("precomputed", way.C, tol=0.01, max_iter=200, memory=None)
            machine.fit(scaled(way, pool) if matrix is None else matrix, parses.counts.goodness, parses.qid)
        else:
            machine = VotedPerceptron(self.kernel, passes).fit(self.table, parses.counts.goodness, parses.qid)
        self.machine = machine

    def scores(self, pool: Pool, wanted: Sequence[tuple[int, str]]) -> Scores:
        """Of candidates, by the weights after so many passes, averaged or last ones, each of length 1."""
        weights = np.array([self.weights(passes, prediction) for passes, prediction in wanted])
        used = np.flatnonzero(weights.any(axis=0))
        support = self.table[used]
        model = CompressedModel.of(self.kernel, support, weights[:, used])
        squares = np.einsum("ij,ji->i", weights[:, used], model.score(support))
        return np.asarray(model.score(pool.table()) / np.sqrt(np.maximum(squares, 1e-300)), dtype=np.float64)

    def weights(self, passes: int, prediction: str) -> Scores:
        """Coefficients of the training candidates."""
        machine = self.machine
        if isinstance(machine, RankSVM):
            found = np.zeros(len(self.table))
            found[machine.support_] = machine.dual_coef_[0]
            return found
        return after(machine, passes, prediction, len(self.table))

    def votes(self, pool: Pool, passes: int) -> Scores:
        """Shares of votes, of all weights up to then."""
        machine = self.machine
        n, seen = _reach(machine, passes)
        survived = np.diff(self.steps[:n], append=seen + 1)
        updates = machine.updates_[:n]
        model = VotingModel.of(self.kernel, self.table, np.unique(updates), updates, survived)
        return model.votes(pool.table(), pool.parses.qid)

    @cached_property
    def steps(self) -> NDArray[np.int64]:
        """The number of the comparison that led to each update."""
        return steps(self.machine)


def scaled(way: Way, pool: Pool) -> Scores:
    """The kernel's values among all candidates, divided by their mean self-value."""
    K = gram(way.kernel(), pool.table())
    K /= K.diagonal().mean()
    return K


def steps(machine: VotedPerceptron) -> NDArray[np.int64]:
    """The number, from 1, of the comparison that led to each of a perceptron's updates."""
    left = np.cumsum(machine.survived_[::-1])[::-1]
    return np.asarray(machine.n_comparisons_ + 1 - left, dtype=np.int64)


def _reach(machine: VotedPerceptron, passes: int) -> tuple[int, int]:
    """Updates and comparisons in the first passes."""
    total = len(machine.errors_)
    if passes > total:
        raise ValueError(f"The perceptron made {total} passes over the data instead of {passes}.")
    return int(machine.errors_[:passes].sum()), machine.n_comparisons_ // total * passes


def after(machine: VotedPerceptron, passes: int, prediction: str, n: int) -> Scores:
    """The coefficients that a perceptron of fewer passes would have: its first passes are the same."""
    updates, seen = _reach(machine, passes)
    weights = np.ones(updates)
    if prediction == "averaged":
        weights = (seen + 1 - steps(machine)[:updates]) / seen
    added, taken = machine.updates_[:updates].T
    return signed_sums(added, taken, weights, n)


def answers(fitted: Fitted, pool: Pool, points: Iterable[Point]) -> dict[Point, Rows]:
    """Return the choices at each point. All points must have the way in which the model was fitted."""
    points = list(points)
    wanted = list(dict.fromkeys((p.passes, p.prediction) for p in points if p.prediction != "voted"))
    scores = fitted.scores(pool, wanted) if wanted else np.zeros((0, 0))
    logp = pool.parses.relative_logp()
    found = {}
    for point in points:
        if point.prediction == "voted":
            own = fitted.votes(pool, point.passes)
        else:
            own = scores[:, wanted.index((point.passes, point.prediction))]
        found[point] = pool.parses.best(own if point.gamma is None else logp + point.gamma * own)
    return found


def by_way(points: Iterable[Point]) -> dict[Way, list[Point]]:
    """Points that one machine can answer for."""
    found: dict[Way, list[Point]] = {}
    for point in points:
        found.setdefault(point.way, []).append(point)
    return found


def passes_of(points: Iterable[Point]) -> int:
    """Return the largest number of passes that the points need."""
    return max(point.passes for point in points)
