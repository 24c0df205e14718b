"""Rankers: the perceptron of the paper's figure, the optimum of the quadratic program, and what goes wrong."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import minimize
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate

import treelet as tl
from conftest import binary, check_forgeries
from definitions.kernels import complete_subtree, depth, size, subset_trees
from definitions.learning import perceptron as slow_perceptron
from treelet import _core
from treelet.learn import CompressedModel, RankSVM, VotedPerceptron, perceptron
from treelet.learn.perceptron import (
    _growing,
    _GrowingBlocks,
    _GrowingGraph,
    _GrowingMatrix,
    _GrowingSparse,
    _GrowingSum,
)
from treelet.learn.ranking import TIE
from treelet.metrics import mean_kendall_tau
from treelet.testing import check_estimator

MODES = ["averaged", "voted", "last"]


def parses(groups: int, seed: int = 0, candidates: int = 5) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Candidate parses of small sentences: words stay, structure varies; goodness with ties, groups interleaved."""
    rng = np.random.default_rng(seed)

    def tree(words: list[str]) -> str:
        if len(words) == 1:
            return f"({rng.choice(['A', 'B'])} {words[0]})"
        cut = int(rng.integers(1, len(words)))
        return f"({rng.choice(['S', 'T'])} {tree(words[:cut])} {tree(words[cut:])})"

    trees, y, qid = [], [], []
    for group in range(groups):
        words = [f"w{k}" for k in rng.integers(0, 4, int(rng.integers(2, 5)))]
        for _ in range(int(rng.integers(1, candidates + 1))):
            made = tree(words)
            trees.append(made)
            y.append(round(made.count("(A") / len(words) + 0.2 * made.count("(T") + rng.normal(0, 0.2), 1))
            if group % 7 == 5:
                y[-1] = 1.0
            qid.append(f"s{group}")
    order = rng.permutation(len(trees))
    return [trees[k] for k in order], np.array(y)[order], np.array(qid)[order]


TREES, Y, QID = parses(24)
NEW, NEW_Y, NEW_QID = parses(10, seed=1)


# --- the figure, word by word -------------------------------------------------------------------------------------

Features = dict[Any, Fraction]


def fragments(kernel: Any) -> Callable[[str], Features]:
    """A tree as an explicit vector, in exact numbers: each fragment's count, and lam^size as its share of a product."""

    def vector(text: str) -> Features:
        tree = tl.Tree.parse(text)
        if isinstance(kernel, tl.Subtree):
            found = Counter(complete_subtree(node) for node in tree.nodes() if node.children)
        else:
            found = Counter(fragment for node in tree.nodes() for fragment in subset_trees(node))
            limit = kernel.max_depth or 10**9
            found = Counter({fragment: count for fragment, count in found.items() if depth(fragment) <= limit})
        return {fragment: Fraction(count) for fragment, count in found.items()}

    return vector


def product(w: Features, h: Features, lam: Fraction) -> Fraction:
    return sum((w[f] * h[f] * lam ** size(f) for f in h if f in w), Fraction(0))


class Figure:
    """Collins & Duffy (2001), Fig. 3, with the weight vector after each comparison written down."""

    def __init__(self, kernel: Any, trees: list[str], y: Any, qid: Any, epochs: int) -> None:
        self.vector, self.lam = fragments(kernel), Fraction(str(kernel.lam))
        h = [self.vector(tree) for tree in trees]
        self.alpha = [0] * len(trees)
        self.after: list[Features] = []
        self.errors = []
        w: Features = {}
        for _ in range(epochs):
            before = sum(self.alpha)
            for group in dict.fromkeys(qid):
                rows = [row for row in range(len(trees)) if qid[row] == group]
                best = max(y[row] for row in rows)
                correct = next(row for row in rows if y[row] == best)
                for row in rows:
                    if y[row] == best:
                        continue
                    if product(w, h[correct], self.lam) > product(w, h[row], self.lam):
                        pass
                    else:
                        self.alpha[row] += 1
                        w = dict(w)
                        for f, count in h[correct].items():
                            w[f] = w.get(f, Fraction(0)) + count
                        for f, count in h[row].items():
                            w[f] = w.get(f, Fraction(0)) - count
                    self.after.append(w)
            self.errors.append(sum(self.alpha) - before)

    def scores(self, prediction: str, trees: list[str], qid: Any) -> list[Fraction]:
        h = [self.vector(tree) for tree in trees]
        if prediction == "last":
            return [product(self.after[-1], x, self.lam) for x in h]
        vectors = Counter(id(w) for w in self.after)
        known = {id(w): w for w in self.after}
        if prediction == "averaged":
            by_vector = [[times * product(known[w], x, self.lam) for w, times in vectors.items()] for x in h]
            return [sum(values, Fraction(0)) / len(self.after) for values in by_vector]
        shares = [Fraction(0)] * len(trees)
        for w, times in vectors.items():
            for group in dict.fromkeys(qid):
                rows = [row for row in range(len(trees)) if qid[row] == group]
                values = {row: product(known[w], h[row], self.lam) for row in rows}
                winners = [row for row in rows if values[row] == max(values.values())]
                for row in winners:
                    shares[row] += Fraction(times, len(self.after) * len(winners))
        return shares


FIGURED = [
    tl.SubsetTree(0.4),
    tl.SubsetTree(1),
    tl.Subtree(1),
    tl.Subtree(0.7),
    tl.SubsetTree(0.4, max_depth=1),
    tl.SubsetTree(0.3, max_depth=2),
]
FIGURES: dict[str, Figure] = {}


def figure(kernel: Any, epochs: int) -> Figure:
    name = f"{kernel!r} {epochs}"
    if name not in FIGURES:
        FIGURES[name] = Figure(kernel, TREES, Y, QID, epochs)
    return FIGURES[name]


class Slow:
    """Stands in for native columns that can grow: built anew when asked."""

    def __init__(self, kernel: Any, store: Any) -> None:
        self.kernel, self.store, self.weights = kernel, store, np.zeros(len(store))

    def add(self, trees: Any, row: int, scale: float) -> None:
        here = slice(trees.start[row], trees.start[row + 1])
        np.add.at(self.weights, trees.node[here], scale * trees.weight[here])

    def rows(self, *args: Any) -> None:
        n = len(self.store)
        target = _core.NodeWeights.of(np.array([0, n], np.int64), np.arange(n, dtype=np.int32), self.weights)
        self.kernel.native(self.store, target, False).rows(*args)


def slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let graphs grow, whether or not the native core can."""
    made = _GrowingGraph.__init__

    def grow(self: _GrowingGraph, kernel: Any, bank: tl.Treebank) -> None:
        made(self, kernel, bank)
        self.native = Slow(kernel, self.store)

    monkeypatch.setattr(_GrowingGraph, "__init__", grow)


@pytest.fixture(params=["chosen", "matrix", "blocks", "graph", "native graph"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each way to the scores in turn."""
    name = request.param

    def forced(kernel: Any, data: Any, resources: Any) -> Any:
        if name == "matrix":
            return _GrowingMatrix(kernel(data))
        if name == "blocks":
            return _GrowingBlocks(kernel, data, resources, 9)
        made = _GrowingSum.of(kernel, data)
        assert made is not None
        return made

    if name == "graph":
        slowly(monkeypatch)
    if name != "chosen":
        monkeypatch.setattr(perceptron, "_growing", forced)
    return str(name)


@pytest.mark.parametrize("prediction", MODES)
@pytest.mark.parametrize("epochs", [1, 3])
@pytest.mark.parametrize("kernel", FIGURED, ids=repr)
def test_the_perceptron_of_the_figure(kernel: Any, epochs: int, prediction: str, engine: str) -> None:
    expected = figure(kernel, epochs)
    ranker = VotedPerceptron(kernel, epochs, prediction=prediction).fit(TREES, Y, QID)
    assert ranker.update_counts_.tolist() == expected.alpha
    assert ranker.errors_.tolist() == expected.errors
    assert ranker.n_updates_ == sum(expected.alpha)
    assert ranker.n_comparisons_ == len(expected.after) == ranker.survived_.sum()
    assert ranker.survived_.tolist() == list(Counter(id(w) for w in expected.after).values())
    scores = [float(value) for value in expected.scores(prediction, NEW, NEW_QID)]
    np.testing.assert_allclose(ranker.predict(NEW, NEW_QID), scores, rtol=0, atol=1e-9 * np.abs(scores).max())


def test_the_figure_is_a_test_of_something() -> None:
    for kernel in FIGURED:
        one, three = figure(kernel, 1), figure(kernel, 3)
        assert 3 < sum(one.alpha) < len(one.after) - 3
        assert sum(three.alpha) > sum(one.alpha)
        voted = one.scores("voted", NEW, NEW_QID)
        assert any(0 < share < 1 for share in voted)
        assert sum(voted) == len(set(NEW_QID))
    sizes = Counter(QID.tolist())
    assert 1 in sizes.values(), "a group of one candidate"
    best = {group: max(Y[group == QID]) for group in sizes}
    assert any((Y[group == QID] == best[group]).sum() > 1 for group in sizes), "a tie for best"
    assert any(len(set(Y[group == QID])) == 1 < sizes[group] for group in sizes), "a group of equals"


# --- the same with a matrix ---------------------------------------------------------------------------------------


def by_matrix(K: np.ndarray, y: Any, qid: Any, orders: list[list[Any]]) -> tuple[np.ndarray, np.ndarray]:
    """The dual form on a matrix: the coefficients of the last function, and those of the mean of all."""
    passes = slow_perceptron(K, y, qid, orders, TIE)
    return passes.last(), passes.mean()


def table(trees: list[str]) -> list[dict[str, Any]]:
    rng = np.random.default_rng(len(trees))
    return [
        {"tree": tree, "logp": -0.1 * len(tree) + rng.normal(), "f": {tree[1]: 1.0, "n": tree.count("(") / 10}}
        for tree in trees
    ]


SUMS = [
    tl.On("tree", tl.SubsetTree(0.4).normalized()),
    0.5 * tl.On("tree", tl.SubsetTree(0.4).normalized()) + tl.On("logp", tl.Linear()),
    tl.On("tree", tl.Subtree()) + 2 * tl.On("f", tl.Linear()) + 0.5,
    tl.On("tree", (tl.SubsetTree(0.4) + 0.3 * tl.PartialTree()).normalized()),
    (tl.On("tree", tl.SubsetTree(0.4)) + tl.On("f", tl.Linear())).normalized() + tl.On("tree", tl.PartialTree()),
]
PRODUCTS = [
    tl.On("tree", tl.SubsetTree(0.4)) * tl.On("f", tl.Polynomial(2)),
    tl.On("tree", tl.SubsetTree(0.4).gaussian(2.0)) + tl.On("tree", tl.SubsetTree()),
]


@pytest.mark.parametrize("kernel", SUMS, ids=repr)
def test_sums_of_columns(kernel: tl.kernels.Kernel, engine: str) -> None:
    rows, more = table(TREES), table(NEW)
    last, mean = by_matrix(kernel(rows), Y, QID, [list(dict.fromkeys(QID))] * 2)
    for prediction, expected in (("last", last), ("averaged", mean)):
        ranker = VotedPerceptron(kernel, 2, prediction=prediction).fit(rows, Y, QID)
        np.testing.assert_array_equal(ranker.support_, np.flatnonzero(expected))
        np.testing.assert_allclose(ranker.dual_coef_[0], expected[expected != 0], atol=1e-12)
        np.testing.assert_allclose(ranker.predict(more), kernel(more, rows) @ expected, atol=1e-9)


@pytest.mark.parametrize("kernel", PRODUCTS, ids=repr)
@pytest.mark.parametrize("width", [None, 9])
def test_any_other_kernel(kernel: tl.kernels.Kernel, width: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    slowly(monkeypatch)
    rows, more = table(TREES), table(NEW)
    data = kernel.coerce(rows)
    assert _GrowingSum.of(kernel, data) is None
    assert isinstance(_growing(kernel, data), _GrowingMatrix)
    if width:
        monkeypatch.setattr(perceptron, "_growing", lambda k, X, resources: _GrowingBlocks(k, X, resources, width))
    last, _ = by_matrix(kernel(rows), Y, QID, [list(dict.fromkeys(QID))] * 2)
    ranker = VotedPerceptron(kernel, 2, prediction="last").fit(rows, Y, QID)
    np.testing.assert_allclose(ranker.predict(more), kernel(more, rows) @ last, atol=1e-9)


def test_ways_are_chosen_by_kernel_and_size(monkeypatch: pytest.MonkeyPatch) -> None:
    bank = tl.Treebank(TREES)
    monkeypatch.setattr("treelet.learn.perceptron._WHOLE", 100)
    assert isinstance(_growing(tl.SubsetTree().gaussian(1.0), bank), _GrowingBlocks)
    slowly(monkeypatch)
    assert isinstance(_growing(tl.SubsetTree().normalized() + 1, bank), _GrowingSum)
    assert _GrowingSum.of(0 * tl.SubsetTree().gaussian(1.0) + tl.SubsetTree(), bank) is not None


@pytest.mark.parametrize("factor", [1.0, 2.5])
def test_sparse_rows_grow_by_features(factor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    dense = random.integers(0, 3, (60, 15)) * random.integers(0, 2, (60, 15))
    dense[7] = 0  # a row of nothing
    y, qid = random.random(60), np.repeat(np.arange(12), 5)
    rows, kernel = scipy.sparse.csr_array(dense.astype(float)), factor * tl.kernels.Linear()
    expected = VotedPerceptron(kernel, 3).fit(rows, y, qid)
    monkeypatch.setattr("treelet.learn.perceptron._WHOLE", 100)
    function = _growing(kernel, kernel.coerce(rows))
    assert isinstance(function, _GrowingSparse)
    assert isinstance(_growing(kernel, kernel.coerce(dense.astype(float))), _GrowingBlocks)
    some = np.array([9, 7, 3])
    np.testing.assert_allclose(function.values(some), factor * dense[some] @ dense[some].T)
    function.add(3, 2.0)
    function.add(9, -1.0)
    np.testing.assert_allclose(function.scores(some), factor * dense[some] @ (2.0 * dense[3] - dense[9]))
    found = VotedPerceptron(kernel, 3).fit(rows, y, qid)
    np.testing.assert_array_equal(found.updates_, expected.updates_)
    np.testing.assert_allclose(found.predict(rows), expected.predict(rows), atol=1e-9)


def test_values_too_large_for_a_float64(monkeypatch: pytest.MonkeyPatch) -> None:
    big = binary(11)
    trees = [big, tl.Tree("A", [big, tl.Tree("B", ["x"])]), tl.Tree.parse("(B x)"), tl.Tree.parse("(A x)")]
    y, qid = [1, 0, 1, 0], [0, 0, 1, 1]
    ranker = VotedPerceptron(tl.SubsetTree(1).normalized()).fit(trees, y, qid)
    assert ranker.rank(trees, qid).tolist() == [0, 2]
    with pytest.raises(tl.errors.KernelOverflowError):
        VotedPerceptron(tl.SubsetTree(1)).fit(trees, y, qid)
    slowly(monkeypatch)
    assert _GrowingSum.of(tl.SubsetTree(1).normalized(), tl.Treebank(trees)) is None
    with pytest.raises(tl.errors.KernelOverflowError):
        VotedPerceptron(tl.SubsetTree(1)).fit(trees, y, qid)


@pytest.mark.parametrize("prediction", MODES)
@pytest.mark.parametrize("make", [VotedPerceptron, RankSVM])
def test_precomputed(prediction: str, make: Any) -> None:
    params = {"prediction": prediction, "epochs": 2} if make is VotedPerceptron else {}
    kernel = tl.SubsetTree(0.4)
    ours = make(kernel, **params).fit(TREES, Y, QID)
    given = make("precomputed", **params).fit(kernel(TREES), Y, QID)
    np.testing.assert_allclose(given.dual_coef_, ours.dual_coef_, atol=1e-12)
    values = kernel(NEW, TREES)
    np.testing.assert_allclose(given.predict(values, NEW_QID), ours.predict(NEW, NEW_QID), atol=1e-9)
    np.testing.assert_array_equal(given.rank(values, NEW_QID), ours.rank(NEW, NEW_QID))
    for wrong in (values[:, 1:], values[0], values * np.nan, [["a"] * len(TREES)]):
        with pytest.raises(tl.errors.ParameterError, match="precomputed"):
            given.predict(wrong, NEW_QID)
    for wrong in (values, np.full((4, 4), np.inf), np.triu(np.ones((4, 4)))):
        with pytest.raises(tl.errors.ParameterError, match="precomputed"):
            make("precomputed", **params).fit(wrong, [1, 0, 1, 0], [0, 0, 1, 1])


# --- orders, ties, choices ----------------------------------------------------------------------------------------


def test_shuffled_groups() -> None:
    kernel = tl.SubsetTree(0.4)
    one, same, other = (
        VotedPerceptron(kernel, 3, shuffle=True, random_state=seed).fit(TREES, Y, QID) for seed in (0, 0, 4)
    )
    np.testing.assert_array_equal(one.updates_, same.updates_)
    assert one.updates_.tolist() != other.updates_.tolist()
    contests = [g for g in dict.fromkeys(QID.tolist()) if len(set(Y[g == QID])) > 1]
    random = np.random.RandomState(4)
    orders = [[contests[k] for k in random.permutation(len(contests))] for _ in range(3)]
    last, mean = by_matrix(kernel(TREES), Y, QID, orders)
    np.testing.assert_allclose(other.dual_coef_[0], mean[mean != 0], atol=1e-12)
    assert not np.array_equal(last, by_matrix(kernel(TREES), Y, QID, [contests] * 3)[0])


def test_where_the_rows_of_a_group_are_does_not_matter() -> None:
    groups = list(dict.fromkeys(QID.tolist()))
    together = [row for group in groups for row in np.flatnonzero(group == QID).tolist()]
    assert together != list(range(len(QID)))
    apart = VotedPerceptron(tl.SubsetTree()).fit(TREES, Y, QID)
    again = VotedPerceptron(tl.SubsetTree()).fit([TREES[row] for row in together], Y[together], QID[together])
    np.testing.assert_array_equal(np.array(together)[again.updates_], apart.updates_)
    np.testing.assert_allclose(again.predict(NEW), apart.predict(NEW), atol=1e-12)


def test_ties_for_best() -> None:
    trees = ["(A x)", "(A y)", "(B x)", "(B y)", "(C x)"]
    ranker = VotedPerceptron(tl.SubsetTree(), prediction="last").fit(trees, [1, 2, 2, 1, 2], [0] * 5)
    assert ranker.updates_.tolist() == [[1, 0]], "the second beats the others after that"
    svm = RankSVM(tl.SubsetTree()).fit(trees, [1, 2, 2, 1, 2], [0] * 5)
    assert svm.n_pairs_ == 6
    assert RankSVM(tl.SubsetTree(), pairs="all").fit(trees, [1, 2, 3, 1, 3], [0] * 5).n_pairs_ == 8
    equal = ["(A x)", "(A x)", "(B x)"]
    assert VotedPerceptron(tl.SubsetTree()).fit(trees, [1, 2, 2, 1, 2], [0] * 5).rank(equal, [0] * 3).tolist() == [2]
    ranker = VotedPerceptron(tl.SubsetTree(), prediction="voted").fit(["(A x)", "(B x)"], [1, 0], [0, 0])
    assert ranker.predict(equal, ["q"] * 3).tolist() == [0.5, 0.5, 0.0]
    assert ranker.rank(equal, ["q"] * 3).tolist() == [0]


def test_an_update_that_changes_nothing_is_one() -> None:
    """The same tree is good once and bad once: never strictly better than itself."""
    ranker = VotedPerceptron(tl.SubsetTree(), 3, prediction="last").fit(["(A x)", "(A x)"], [1, 0], [0, 0])
    assert ranker.update_counts_.tolist() == [0, 3]
    np.testing.assert_array_equal(ranker.predict(["(A x)"]), [0.0])
    svm = RankSVM(tl.SubsetTree(), C=2.0).fit(["(A x)", "(A x)"], [1, 0], [0, 0])
    assert svm.objective_ == pytest.approx(2.0)


@pytest.mark.parametrize(
    "ranker", [*(VotedPerceptron(prediction=mode) for mode in MODES), RankSVM(C=10), RankSVM(pairs="all")], ids=repr
)
def test_rank_and_score(ranker: Any) -> None:
    ranker = clone(ranker).fit(TREES, Y, QID)
    scores, chosen = ranker.predict(NEW, NEW_QID), ranker.rank(NEW, NEW_QID)
    for row, group in zip(chosen, dict.fromkeys(NEW_QID), strict=True):
        assert NEW_QID[row] == group
        assert scores[row] >= scores[group == NEW_QID].max() - 1e-9
    assert ranker.score(NEW, NEW_Y, NEW_QID) == pytest.approx(mean_kendall_tau(scores, NEW_Y, NEW_QID))
    assert ranker.score(NEW, NEW_Y, NEW_QID) > 0.1
    random = np.mean([NEW_Y[group == NEW_QID].mean() for group in dict.fromkeys(NEW_QID)])
    assert NEW_Y[chosen].mean() > random
    assert len(ranker.predict([], [])) == 0
    assert ranker.rank([], []).tolist() == []


@pytest.mark.usefixtures("impatient")
def test_threads_and_progress_change_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    for ranker in (VotedPerceptron(prediction="voted"), VotedPerceptron(), RankSVM()):
        expected = clone(ranker).fit(TREES, Y, QID).predict(NEW, NEW_QID)
        with tl.config_context(progress=True):
            loud = ranker.set_params(n_jobs=2).fit(TREES, Y, QID)
        np.testing.assert_array_equal(loud.predict(NEW, NEW_QID), expected)
        assert capsys.readouterr().err


def test_voting_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    ranker = VotedPerceptron(prediction="voted", epochs=3).fit(TREES, Y, QID)
    expected = ranker.predict(NEW, NEW_QID)
    monkeypatch.setattr(perceptron, "_VOTES", 7)
    np.testing.assert_allclose(ranker.predict(NEW, NEW_QID), expected, atol=1e-12)


# --- RankSVM ------------------------------------------------------------------------------------------------------


def optimum(K: np.ndarray, pairs: list[tuple[int, int]], C: float) -> np.ndarray:
    """Coefficients by a general method for functions with bounds, on the dual."""
    D = np.zeros((len(pairs), len(K)))
    for number, (better, worse) in enumerate(pairs):
        D[number, better] += 1
        D[number, worse] -= 1
    Q = D @ K @ D.T
    found = minimize(
        lambda beta: 0.5 * beta @ Q @ beta - beta.sum(),
        np.zeros(len(pairs)),
        jac=lambda beta: Q @ beta - 1,
        bounds=[(0, C)] * len(pairs),
        method="L-BFGS-B",
        options={"maxiter": 100_000, "maxfun": 1_000_000, "ftol": 1e-16, "gtol": 1e-10, "maxcor": 30},
    )
    return D.T @ found.x


@pytest.mark.parametrize("pairs", ["best", "all"])
@pytest.mark.parametrize("C", [0.05, 1.0, 30.0])
@pytest.mark.parametrize("kernel", [tl.SubsetTree(0.4), tl.PartialTree().normalized()], ids=repr)
def test_the_optimum(kernel: tl.kernels.Kernel, C: float, pairs: str) -> None:
    K = kernel(TREES)
    chosen = []
    for group in dict.fromkeys(QID):
        rows = np.flatnonzero(group == QID).tolist()
        best = max(Y[rows])
        chosen += [(a, b) for a in rows for b in rows if Y[a] > Y[b] and (pairs == "all" or Y[a] == best)]
    expected = optimum(K, chosen, C)
    ranker = RankSVM(kernel, C, pairs=pairs, tol=1e-8, max_iter=100_000).fit(TREES, Y, QID)
    assert ranker.n_pairs_ == len(chosen)
    scores = K @ expected
    objective = 0.5 * expected @ scores + C * sum(max(0, 1 - scores[a] + scores[b]) for a, b in chosen)
    assert ranker.objective_ == pytest.approx(objective, rel=1e-5)
    assert ranker.objective_ <= objective * (1 + 1e-7), "the other method stops a little above the minimum"
    assert ranker.gap_ <= 1e-8 * ranker.objective_
    np.testing.assert_allclose(ranker.predict(TREES), scores, atol=2e-3 * np.abs(scores).max())
    np.testing.assert_allclose(K[:, ranker.support_] @ ranker.dual_coef_[0], ranker.predict(TREES), atol=1e-9)
    rough = RankSVM(kernel, C, pairs=pairs, tol=0.1).fit(TREES, Y, QID)
    assert ranker.objective_ <= rough.objective_ * (1 + 1e-9)
    assert rough.objective_ - rough.gap_ <= ranker.objective_ * (1 + 1e-9), "the gap bounds the minimum from below"


def test_too_few_passes() -> None:
    with pytest.warns(ConvergenceWarning, match="larger max_iter"):
        RankSVM(tl.SubsetTree(), C=1000, tol=1e-9, max_iter=1).fit(TREES, Y, QID)


@pytest.mark.parametrize("kernel", [None, tl.PartialTree().normalized(), tl.SubsetTree(0.3).gaussian(2.0)], ids=repr)
@pytest.mark.parametrize("pairs", ["best", "all"])
def test_a_small_block_and_a_given_matrix_lead_to_the_same_optimum(pairs: str, kernel: Any) -> None:
    """A block holds 64 pairs, of which there are more if all are compared."""
    whole = RankSVM(kernel, C=2.0, pairs=pairs, tol=1e-6).fit(TREES, Y, QID)
    assert whole.n_pairs_ > (64 if pairs == "all" else 40)
    little = RankSVM(kernel, C=2.0, pairs=pairs, tol=1e-6, memory=1000, max_iter=10**4)
    blocks = clone(little).fit(TREES, Y, QID)
    K = (kernel or tl.SubsetTree().normalized())(TREES)
    given = clone(little).set_params(kernel="precomputed").fit(K, Y, QID)
    assert given.objective_ == pytest.approx(whole.objective_, rel=2e-6)
    np.testing.assert_allclose(given.predict(K), whole.predict(TREES), atol=1e-2)
    assert blocks.objective_ == pytest.approx(whole.objective_, rel=2e-6)
    np.testing.assert_allclose(blocks.predict(TREES), whole.predict(TREES), atol=1e-2)
    if not isinstance(kernel, tl.kernels.Gaussian):  # products from tiles are equal up to rounding
        again = clone(little).set_params(n_jobs=2).fit(TREES, Y, QID)
        np.testing.assert_array_equal(again.dual_coef_, blocks.dual_coef_)


# --- in scikit-learn ----------------------------------------------------------------------------------------------


class GroupedPerceptron(VotedPerceptron):
    """Groups by place, since the checks know none."""

    def fit(self, X: Any, y: Any, qid: Any = None) -> Any:
        return super().fit(X, y, np.arange(len(y)) // 5)


class GroupedSVM(RankSVM):
    def fit(self, X: Any, y: Any, qid: Any = None) -> Any:
        return super().fit(X, y, np.arange(len(y)) // 5)


@pytest.mark.parametrize("container", [list, tl.Treebank])
@pytest.mark.parametrize(
    "ranker",
    [
        GroupedPerceptron(),
        GroupedPerceptron(tl.SubsetTree(0.3), 2, prediction="last", shuffle=True, random_state=1),
        GroupedSVM(tl.SubsetTree() + tl.PartialTree().normalized(), n_jobs=2),
        GroupedSVM(tl.SubsetTree() * tl.PartialTree(), C=2, pairs="all"),
    ],
    ids=repr,
)
def test_check_estimator(ranker: Any, container: Any) -> None:
    check_estimator(ranker, container(TREES), Y)


def test_cross_validation_routes_groups() -> None:
    with config_context(enable_metadata_routing=True):
        for ranker in (VotedPerceptron(prediction="voted"), RankSVM()):
            ranker.set_fit_request(qid=True).set_score_request(qid=True).set_predict_request(qid=True)
            found = cross_validate(
                ranker, TREES, Y, cv=GroupKFold(3), params={"qid": QID, "groups": QID}, return_estimator=True
            )
            for k, (train, test) in enumerate(GroupKFold(3).split(TREES, Y, QID)):
                hand = clone(ranker).fit([TREES[row] for row in train], Y[train], QID[train])
                assert found["test_score"][k] == hand.score([TREES[row] for row in test], Y[test], QID[test])
        search = GridSearchCV(
            VotedPerceptron(tl.SubsetTree()).set_fit_request(qid=True).set_score_request(qid=True),
            {"kernel__lam": [0.2, 0.8], "epochs": [1, 2]},
            cv=GroupKFold(3),
        )
        assert search.fit(TREES, Y, qid=QID, groups=QID).best_score_ > 0
        given = VotedPerceptron("precomputed").set_fit_request(qid=True).set_score_request(qid=True)
        split = {"qid": QID, "groups": QID}
        same = cross_validate(given, tl.SubsetTree()(TREES), Y, cv=GroupKFold(3), params=split)
        trees = VotedPerceptron(tl.SubsetTree()).set_fit_request(qid=True).set_score_request(qid=True)
        np.testing.assert_array_equal(
            same["test_score"], cross_validate(trees, TREES, Y, cv=GroupKFold(3), params=split)["test_score"]
        )


def test_data_frames_and_pickles() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(table(TREES)).assign(good=Y, sentence=QID)
    kernel = SUMS[1]
    expected = VotedPerceptron(kernel).fit(table(TREES), Y, QID).predict(table(NEW))
    ranker = VotedPerceptron(kernel).fit(frame[["tree", "logp"]], frame["good"], frame["sentence"])
    np.testing.assert_allclose(ranker.predict(pd.DataFrame(table(NEW))), expected, atol=1e-12)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(ranker)).predict(table(NEW)), ranker.predict(table(NEW)))


def test_compressed_models() -> None:
    for ranker in (VotedPerceptron(), VotedPerceptron(prediction="last"), RankSVM()):
        model = ranker.fit(TREES, Y, QID).model_
        assert isinstance(model, CompressedModel)
        assert model.stats().support_examples == len(ranker.support_)
        assert model.stats().distinct_subtrees < model.stats().nodes


def test_a_changed_kernel_does_not_leak() -> None:
    for prediction in MODES:
        kernel = tl.SubsetTree(0.4)
        ranker = VotedPerceptron(kernel, prediction=prediction).fit(TREES, Y, QID)
        before = ranker.predict(NEW, NEW_QID)
        kernel.set_params(lam=0.9)
        ranker.set_params(prediction="last")
        np.testing.assert_array_equal(ranker.predict(NEW, NEW_QID), before)


# --- in files -----------------------------------------------------------------------------------------------------


SAVED = [
    *(VotedPerceptron(tl.SubsetTree(0.4), 2, prediction=mode) for mode in MODES),
    VotedPerceptron(tl.SubsetTree().normalized() + tl.PartialTree() * tl.Subtree(), prediction="voted"),
    VotedPerceptron(shuffle=True, random_state=3),
    RankSVM(tl.SubsetTree(0.4).normalized(), C=0.5, pairs="all", memory="1GiB"),
]


@pytest.mark.parametrize("ranker", SAVED, ids=repr)
def test_there_and_back(ranker: Any, tmp_path: Path) -> None:
    ranker = clone(ranker).fit(TREES, Y, QID)
    tl.save(ranker, tmp_path / "m")
    again = tl.load(tmp_path / "m")
    assert type(again) is type(ranker)
    assert repr(again.get_params()) == repr(ranker.get_params())
    np.testing.assert_array_equal(
        again.predict(TREES + NEW, [*QID, *NEW_QID]), ranker.predict(TREES + NEW, [*QID, *NEW_QID])
    )
    for name in ranker._fitted:
        assert hasattr(again, name) == hasattr(ranker, name)
        if name != "model_" and hasattr(ranker, name):
            np.testing.assert_array_equal(getattr(again, name), getattr(ranker, name))
    tl.save(again, tmp_path / "n")
    assert (tmp_path / "n").read_bytes() == (tmp_path / "m").read_bytes()


@pytest.mark.parametrize("prediction", MODES)
@pytest.mark.parametrize("kernel", [*SUMS, *PRODUCTS, "precomputed"], ids=repr)
def test_there_and_back_with_columns(kernel: Any, prediction: str, tmp_path: Path) -> None:
    rows, more = (
        (tl.SubsetTree()(TREES), tl.SubsetTree()(NEW, TREES)) if kernel == "precomputed" else (table(TREES), table(NEW))
    )
    for ranker in (VotedPerceptron(kernel, prediction=prediction), RankSVM(kernel)):
        ranker.fit(rows, Y, QID)
        tl.save(ranker, tmp_path / "m")
        np.testing.assert_array_equal(tl.load(tmp_path / "m").predict(more, NEW_QID), ranker.predict(more, NEW_QID))


@pytest.mark.parametrize("ranker", [*SAVED[:3], SAVED[-1], VotedPerceptron("precomputed"), "voted"], ids=repr)
def test_damaged_and_forged_files(ranker: Any, tmp_path: Path) -> None:
    given = ranker == "voted" or ranker.kernel == "precomputed"
    ranker = VotedPerceptron("precomputed", prediction="voted") if ranker == "voted" else clone(ranker)
    X, new = (tl.SubsetTree()(TREES), tl.SubsetTree()(NEW, TREES)) if given else (TREES, NEW)
    ranker.fit(X, Y, QID)
    path = tmp_path / "m"
    tl.save(ranker, path)
    check_forgeries(path, lambda model: model.predict(new, NEW_QID))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("prediction_", "voted"),
        ("prediction_", "last year"),
        ("support_", np.array([-1])),
        ("support_", np.array([0.5])),
        ("dual_coef_", np.array([[np.nan]])),
        ("updates_", np.zeros((2, 3), np.int64)),
        ("survived_", np.zeros(1, np.int64)),
        ("n_updates_", 7),
        ("n_comparisons_", None),
        ("errors_", None),
        ("update_counts_", "many"),
        ("model_", None),
    ],
)
def test_files_that_make_no_sense(name: str, value: Any, tmp_path: Path) -> None:
    ranker = VotedPerceptron().fit(TREES, Y, QID)
    setattr(ranker, name, value)
    tl.save(ranker, tmp_path / "m")
    with pytest.raises(tl.learn.ModelFileError, match="checksum is correct, but the content"):
        tl.load(tmp_path / "m")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("updates", np.array([[0, 10**6]])),
        ("updates", np.array([[0, 1]])),
        ("updates", np.zeros((0, 2), np.int64)),
        ("survived", None),
        ("survived", ...),
        ("kernel", None),
        ("kernel", "eval"),
        ("examples", 5),
    ],
)
def test_votes_that_make_no_sense(name: str, value: Any, tmp_path: Path) -> None:
    ranker = VotedPerceptron(prediction="voted").fit(TREES, Y, QID)
    setattr(ranker.model_, name, 0 * ranker.model_.survived if value is ... else value)
    tl.save(ranker, tmp_path / "m")
    with pytest.raises(tl.learn.ModelFileError, match="checksum is correct, but the content"):
        tl.load(tmp_path / "m")


# --- what cannot be done ------------------------------------------------------------------------------------------

FOUR = TREES[:4]


@pytest.mark.parametrize("make", [VotedPerceptron, RankSVM])
@pytest.mark.parametrize(
    ("X", "y", "qid", "message"),
    [
        (FOUR, [1, 0, 1, 0], None, "needs to know which examples belong"),
        (FOUR, None, [0, 0, 1, 1], "y is missing"),
        (FOUR, [1, 0, 1], [0, 0, 1, 1], "X has 4 examples, but y has 3 values"),
        (FOUR, [1, 0, 1, 0], [0, 0, 1], "X has 4 examples, but qid has 3"),
        (FOUR, [1, np.nan, 1, 0], [0, 0, 1, 1], r"y\[1\] is missing \(None or NaN"),
        (FOUR, [1, np.inf, 1, 0], [0, 0, 1, 1], r"y\[1\] is infinite"),
        (FOUR, [1, None, 1, 0], [0, 0, 1, 1], r"y\[1\] is missing \(None or NaN"),
        (FOUR, ["good", "bad", "a", "b"], [0, 0, 1, 1], "y must contain one number per example"),
        (FOUR, [1, 0, 1, 0], [0, np.nan, 1, 1], r"qid\[1\] is missing \(None or NaN"),
        (FOUR, [1, 0, 1, 0], ["a", None, "b", "b"], r"qid\[1\] is missing \(None or NaN"),
        (FOUR, [1, 0, 1, 0], [[0, 0], [0, 0], [1, 1], [1, 1]], "qid must have one dimension"),
        (FOUR, [1, 0, 1, 0], np.array([{}, {}, {}, {}], dtype=object), "qid must contain numbers or strings"),
        (FOUR, [1, 1, 0, 0], [0, 0, 1, 1], "groups has two candidates with different"),
        (FOUR, [1, 0, 1, 0], [0, 1, 2, 3], "groups has two candidates with different"),
        ([], [], [], "X is empty"),
    ],
)
def test_bad_data(make: Any, X: Any, y: Any, qid: Any, message: str) -> None:
    with pytest.raises(tl.TreeletError, match=message) as caught:
        make().fit(X, y, qid)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("ranker", "message"),
    [
        (VotedPerceptron(prediction="best"), "'prediction' parameter of VotedPerceptron must be"),
        (VotedPerceptron(epochs=0), "'epochs'.*an int of at least 1.*0"),
        (VotedPerceptron(epochs=1.5), "'epochs' parameter"),
        (VotedPerceptron(shuffle="yes"), "'shuffle' parameter"),
        (VotedPerceptron(n_jobs=0), "'n_jobs' parameter"),
        (VotedPerceptron("rbf"), "'kernel'.*a kernel, 'precomputed' or None.*'rbf'"),
        (VotedPerceptron(tl.SubsetTree), "'kernel' parameter"),
        (RankSVM(C=0), "'C' parameter of RankSVM must be a number"),
        (RankSVM(tol=0), "'tol' parameter"),
        (RankSVM(max_iter=0), "'max_iter' parameter"),
        (RankSVM(pairs="some"), "'pairs' parameter of RankSVM must be 'best' or 'all'"),
        (RankSVM(memory="much"), "'memory' parameter"),
        (RankSVM(memory=0), "'memory' parameter"),
    ],
)
def test_bad_parameters(ranker: Any, message: str) -> None:
    with pytest.raises(tl.errors.ParameterError, match=message):
        ranker.fit(TREES, Y, QID)


def test_other_errors() -> None:
    for make in (VotedPerceptron, RankSVM):
        for call in (lambda r: r.predict(NEW), lambda r: r.rank(NEW, NEW_QID), lambda r: r.score(NEW, NEW_Y, NEW_QID)):
            with pytest.raises(NotFittedError):
                call(make())
        ranker = make().fit(TREES, Y, QID)
        with pytest.raises(tl.errors.ParameterError, match="candidates are compared only within"):
            ranker.score(NEW, NEW_Y)
        with pytest.raises(tl.errors.ParameterError, match="qid has 1 value"):
            ranker.predict(NEW, [1])
        with pytest.raises(tl.errors.ParameterError, match="X is empty"):
            ranker.score([], [], [])
    voted = VotedPerceptron(prediction="voted").fit(TREES, Y, QID)
    with pytest.raises(tl.errors.ParameterError, match="needs to know which examples belong"):
        voted.predict(NEW)
    with pytest.raises(tl.errors.ParameterError, match="qid has 1 value"):
        voted.predict(NEW, [1])
