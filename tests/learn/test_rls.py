"""Least squares: what one decomposition gives equals what refits give, one at a time."""

from __future__ import annotations

import pickle
import warnings
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from scipy.optimize import minimize
from sklearn import config_context
from sklearn.base import clone, is_regressor
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score, cross_validate

import treelet as tl
from conftest import check_forgeries
from definitions.learning import rank_least_squares
from treelet.learn import RLS, CompressedModel, RankRLS, RLSPath
from treelet.metrics import mean_kendall_tau
from treelet.testing import check_estimator

ALPHAS = [2.0**k for k in range(-8, 8, 2)]


def psd(n: int, rank: int, seed: int = 0) -> np.ndarray:
    A = np.random.default_rng(seed).normal(size=(n, rank))
    return A @ A.T


def problem(seed: int, sizes: list[int], rank: int = 60) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A matrix, values, and groups of the given sizes whose rows are interleaved."""
    rng = np.random.default_rng(seed)
    qid = rng.permutation(np.repeat([f"q{k}" for k in range(len(sizes))], sizes))
    return psd(len(qid), rank, seed), rng.normal(size=len(qid)), qid


SIZES = [[3, 1, 5, 2, 4, 1, 6], [1, 1, 2], [7, 2], [2] * 9, [20, 3, 1, 11]]
SHAPES = [(seed, sizes, rank) for seed, sizes in enumerate(SIZES) for rank in (3, 60)]
RANDOM = np.random.default_rng(5)


def trees(n: int, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    pick = lambda *items: items[int(rng.integers(len(items)))]

    def tree(height: int) -> str:
        if height == 0 or rng.random() < 0.2:
            return f"({pick('A', 'B')} {pick('x', 'y', 'z')})"
        return f"({pick('S', 'T')} {tree(height - 1)} {tree(height - 1)})"

    return [tree(3) for _ in range(n)]


TREES, NEW = trees(40), trees(15, seed=1)
Y = np.array([tree.count("(A") - 0.5 * tree.count("x") for tree in TREES])
QID = np.array([f"s{k % 9}" for k in range(33)] + ["alone"] + ["t"] * 6)
NEW_Y, NEW_QID = np.array([tree.count("(A") for tree in NEW]), np.arange(15) % 4
KERNELS = [None, tl.SubsetTree(0.4), tl.PartialTree().normalized() + 1, tl.SubsetTree(0.4).gaussian(3.0)]


def close(actual: Any, expected: Any, tolerance: float = 1e-8) -> None:
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * max(1.0, float(np.abs(expected).max())))


def refit(model: Any, K: np.ndarray, y: np.ndarray, qid: Any, out: np.ndarray) -> np.ndarray:
    """What a fit to the other rows says of the rows `out`."""
    rest = np.setdiff1d(np.arange(len(K)), out)
    if not len(rest):
        return np.zeros_like(y[out])
    if isinstance(model, RankRLS) and not any(np.ptp(y[rest][qid[rest] == q]) for q in set(qid[rest])):
        return np.zeros_like(y[out])
    fitted = clone(model).fit(K[np.ix_(rest, rest)], y[rest], None if qid is None else qid[rest])
    return fitted.predict(K[np.ix_(out, rest)])


def refits(model: Any, K: np.ndarray, y: np.ndarray, qid: Any, groups: Any) -> np.ndarray:
    found = np.empty_like(y)
    for group in dict.fromkeys(groups.tolist()):
        out = np.flatnonzero(groups == group)
        found[out] = refit(model, K, y, qid, out)
    return found


# --- RLS ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [1e-3, 0.5, 100.0])
@pytest.mark.parametrize(("seed", "sizes", "rank"), SHAPES)
def test_the_system_and_every_refit(seed: int, sizes: list[int], rank: int, alpha: float) -> None:
    K, y, qid = problem(seed, sizes, rank)
    model = RLS("precomputed", alpha).fit(K, y, qid)
    a = np.zeros(len(y))
    a[model.support_] = model.dual_coef_[0]
    close(K @ a + alpha * a, y)
    close(model.predict(K), KernelRidge(alpha=alpha, kernel="precomputed").fit(K, y).predict(K))
    close(model.loo_predictions_, refits(model, K, y, None, np.arange(len(y))))
    close(model.leave_group_out_predictions_, refits(model, K, y, qid, qid))
    direct = np.empty(len(y))
    for k in range(len(y)):
        rest = np.delete(np.arange(len(y)), k)
        direct[k] = K[k, rest] @ np.linalg.solve(K[np.ix_(rest, rest)] + alpha * np.eye(len(rest)), y[rest])
    close(model.loo_predictions_, direct)


def test_several_outputs() -> None:
    K, _, qid = problem(0, [3, 1, 5, 2, 9])
    Y2 = np.random.default_rng(0).normal(size=(len(K), 3))
    model = RLS("precomputed", 0.3).fit(K, Y2, qid)
    assert model.predict(K).shape == model.loo_predictions_.shape == Y2.shape
    close(model.loo_predictions_, refits(model, K, Y2, None, np.arange(len(K))))
    close(model.leave_group_out_predictions_, refits(model, K, Y2, qid, qid))
    for column in range(3):
        alone = RLS("precomputed", 0.3).fit(K, Y2[:, column], qid)
        close(model.predict(K)[:, column], alone.predict(K), 1e-12)
        close(model.leave_group_out_predictions_[:, column], alone.leave_group_out_predictions_, 1e-12)
    assert model.score(K, Y2) == pytest.approx(r2_score(Y2, model.predict(K)))
    assert RLS("precomputed").fit(K, Y2[:, :1]).predict(K).shape == (len(K), 1)
    path = model.path(ALPHAS)
    assert path.loo_predictions.shape == (len(ALPHAS), len(K), 3)
    close(path.errors, np.mean((path.leave_group_out_predictions - Y2) ** 2, axis=(1, 2)), 1e-12)
    assert not hasattr(model, "rank"), "a regressor is no ranker"


@pytest.mark.parametrize("make", [RLS, RankRLS])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_tree_kernels(make: Any, kernel: Any) -> None:
    model = make(kernel, 0.3).fit(TREES, Y, QID)
    used = kernel or tl.SubsetTree().normalized()
    given = make("precomputed", 0.3).fit(used(TREES), Y, QID)
    for name in ("loo_predictions_", "leave_group_out_predictions_"):
        close(getattr(model, name), getattr(given, name), 1e-10)
    close(model.predict(NEW), given.predict(used(NEW, TREES)), 1e-10)
    assert isinstance(model.model_, CompressedModel)
    found = np.empty(len(TREES))
    for group in set(QID):
        out = np.flatnonzero(group == QID)
        rest = np.setdiff1d(np.arange(len(TREES)), out)
        other = make(kernel, 0.3).fit([TREES[k] for k in rest], Y[rest], QID[rest])
        found[out] = other.predict([TREES[k] for k in out])
    close(model.leave_group_out_predictions_, found)


@pytest.mark.parametrize("basis", [None, 9])
@pytest.mark.parametrize("make", [RLS, RankRLS])
def test_the_path_is_a_fit_for_each_strength(make: Any, basis: int | None) -> None:
    K, y, qid = problem(3, [5, 1, 4, 2, 8])
    model = make("precomputed", 3.0, basis=basis, random_state=0).fit(K, y, qid)
    path = model.path(ALPHAS)
    chosen = make("precomputed", alphas=ALPHAS, basis=basis, random_state=0).fit(K, y, qid)
    assert isinstance(path, RLSPath)
    for k, alpha in enumerate(ALPHAS):
        alone = make("precomputed", alpha, basis=basis, random_state=0).fit(K, y, qid)
        again = model.with_alpha(alpha)
        for other in (alone, again):
            assert other.alpha_ == other.alpha == alpha
            close(path.loo_predictions[k], other.loo_predictions_, 1e-11)
            close(path.leave_group_out_predictions[k], other.leave_group_out_predictions_, 1e-11)
            close(other.predict(K), alone.predict(K), 1e-11)
        close(model.held_out(qid, ALPHAS)[k], alone.leave_group_out_predictions_, 1e-11)
        close(alone.held_out(np.arange(len(y))) if make is RLS else alone.loo_predictions_, alone.loo_predictions_)
    np.testing.assert_array_equal(chosen.path_.errors, path.errors)
    assert chosen.alpha_ == path.best_alpha == ALPHAS[int(np.argmin(path.errors))]
    close(chosen.predict(K), make("precomputed", chosen.alpha_, basis=basis, random_state=0).fit(K, y, qid).predict(K))
    np.testing.assert_array_equal(chosen.loo_predictions_, path.loo_predictions[path.best])
    assert model.alpha_ == 3.0
    assert not hasattr(model, "path_")
    assert not hasattr(model.with_alpha(1.0), "path_")


def test_strength_by_leave_one_out_without_groups() -> None:
    K, y, _ = problem(3, [20])
    model = RLS("precomputed", alphas=ALPHAS).fit(K, y)
    assert not hasattr(model, "leave_group_out_predictions_")
    assert model.path_.leave_group_out_predictions is None
    close(model.path_.errors, np.mean((model.path_.loo_predictions - y) ** 2, axis=1), 1e-12)
    grouped = model.fit(K, y, np.arange(20) // 5)
    assert hasattr(grouped, "leave_group_out_predictions_")
    assert not hasattr(grouped.fit(K, y), "leave_group_out_predictions_"), "left over from another fit"


def test_folds_are_cross_validation() -> None:
    K, y, _ = problem(1, [30])
    folds = np.arange(30) % 10
    close(RLS("precomputed").fit(K, y).held_out(folds), refits(RLS("precomputed"), K, y, None, folds))
    K, y, qid = problem(4, [3, 1, 5, 2, 4, 1, 6, 2])
    folds = np.array([int(name[1:]) % 3 for name in qid])
    for weights in ("pairs", "groups"):
        model = RankRLS("precomputed", 0.4, weights=weights).fit(K, y, qid)
        close(model.held_out(folds), refits(model, K, y, qid, folds))
    with pytest.raises(tl.errors.ParameterError, match="group must contain whole queries"):
        model.held_out(np.arange(len(y)))


# --- RankRLS ------------------------------------------------------------------------------------------------------


def differences(y: np.ndarray, qid: np.ndarray, weights: str) -> tuple[np.ndarray, np.ndarray]:
    """One row a pair of one group, with the pair's weight."""
    rows, scale = [], []
    for i in range(len(y)):
        for j in range(i):
            if qid[i] == qid[j]:
                row = np.zeros(len(y))
                row[i], row[j] = 1, -1
                rows.append(row)
                scale.append(1.0 if weights == "pairs" else 1 / (qid == qid[i]).sum())
    return np.array(rows), np.array(scale)


@pytest.mark.parametrize("weights", ["pairs", "groups"])
@pytest.mark.parametrize("alpha", [1e-2, 0.5, 100.0])
@pytest.mark.parametrize(("seed", "sizes", "rank"), SHAPES)
def test_all_pairs_written_out(seed: int, sizes: list[int], rank: int, alpha: float, weights: str) -> None:
    K, y, qid = problem(seed, sizes, rank)
    D, w = differences(y, qid, weights)
    model = RankRLS("precomputed", alpha, weights=weights).fit(K, y, qid)
    L = D.T @ (w[:, None] * D)
    scores = K @ np.linalg.solve(L @ K + alpha * np.eye(len(y)), L @ y)
    close(model.predict(K), scores)
    by_pairs = K @ D.T @ np.linalg.solve(D @ K @ D.T + alpha * np.diag(1 / w), D @ y)  # ridge on differences
    close(model.predict(K), by_pairs)
    close(model.leave_group_out_predictions_, refits(model, K, y, qid, qid))
    close(model.loo_predictions_, refits(model, K, y, qid, np.arange(len(y))))
    out = D @ (y - model.leave_group_out_predictions_)
    close(model.path([alpha]).errors[0], (w * out**2).sum() / w.sum(), 1e-12)


def test_a_direct_minimizer() -> None:
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(18, 4)), np.repeat(np.arange(5), [2, 3, 1, 5, 7])
    y = rng.normal(size=18)
    D, _ = differences(y, qid, "pairs")

    def objective(v: np.ndarray) -> tuple[float, np.ndarray]:
        wrong = D @ (y - X @ v)
        return float(wrong @ wrong + 0.7 * v @ v), 2 * (0.7 * v - X.T @ D.T @ wrong)

    best = minimize(objective, np.zeros(4), jac=True, method="BFGS", options={"gtol": 1e-10}).x
    model = RankRLS("precomputed", 0.7).fit(X @ X.T, y, qid)
    close(model.predict(X @ X.T), X @ best)
    close(RankRLS(tl.Linear(), 0.7).fit(X, y, qid).predict(X), X @ best)


def test_groups_of_one_size_differ_by_a_factor_only() -> None:
    K, y, qid = problem(0, [4] * 6)
    one = RankRLS("precomputed", 2.0).fit(K, y, qid)
    two = RankRLS("precomputed", 0.5, weights="groups").fit(K, y, qid)
    close(one.predict(K), two.predict(K), 1e-11)
    close(one.loo_predictions_ * 0 + one.leave_group_out_predictions_, two.leave_group_out_predictions_, 1e-11)


def test_a_group_of_one_teaches_nothing() -> None:
    K, y, qid = problem(0, [3, 1, 5])
    alone = np.flatnonzero(qid == "q1")[0]
    model = RankRLS("precomputed").fit(K, y, qid)
    assert alone not in model.support_
    assert model.leave_group_out_predictions_[alone] == pytest.approx(model.predict(K)[alone], abs=1e-10)


def test_scores_are_kendalls_tau() -> None:
    model = RankRLS(alpha=0.1).fit(TREES, Y, QID)
    assert model.score(NEW, NEW_Y, NEW_QID) == mean_kendall_tau(model.predict(NEW), NEW_Y, NEW_QID)
    assert model.score(TREES, Y, QID) > 0.8
    assert model.score(TREES, Y, QID) == pytest.approx(model.score(TREES, Y, QID.astype(object)))
    regression = RLS(alpha=0.1).fit(TREES, Y)
    assert regression.score(NEW, NEW_Y) == pytest.approx(r2_score(NEW_Y, regression.predict(NEW)))


# --- a basis ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rank", [4, 60])
@pytest.mark.parametrize("make", [RLS, RankRLS])
def test_a_basis_is_ridge_regression_on_its_values(make: Any, rank: int) -> None:
    K, y, qid = problem(2, [5, 1, 4, 2, 8, 7], rank)
    basis = np.array([3, 8, 11, 20, 26])
    model = make("precomputed", 0.4, basis=basis).fit(K, y, qid)
    assert set(model.support_) <= set(basis)

    def solved(rows: np.ndarray) -> np.ndarray:
        """Predictions for all by the function of the basis that is fitted to some rows."""
        L = np.eye(len(rows))
        if make is RankRLS:
            D, _ = differences(y[rows], qid[rows], "pairs")
            L = D.T @ D if len(D) else 0 * L
        Kb = K[np.ix_(rows, basis)]
        A = Kb.T @ L @ Kb + 0.4 * K[np.ix_(basis, basis)]
        return K[:, basis] @ np.linalg.lstsq(A, Kb.T @ L @ y[rows], rcond=1e-12)[0]

    everyone = np.arange(len(y))
    close(model.predict(K), solved(everyone), 1e-7)
    for k in everyone:
        close(model.loo_predictions_[k], solved(np.delete(everyone, k))[k], 1e-7)
        others = np.flatnonzero(qid != qid[k])
        close(model.leave_group_out_predictions_[k], solved(others)[k], 1e-7)
    pairs = pairs_within(qid)[::3]
    for (i, j), *found in zip(pairs, *model.leave_pair_out(*np.transpose(pairs)), strict=True):
        close(found, solved(np.setdiff1d(everyone, [i, j]))[[i, j]], 1e-7)


@pytest.mark.parametrize("make", [RLS, RankRLS])
def test_a_basis_of_all_is_the_whole(make: Any) -> None:
    K, y, qid = problem(2, [5, 1, 4, 2, 8, 7])
    whole = make("precomputed", 0.4).fit(K, y, qid)
    for basis in (len(y), np.arange(len(y))):
        model = make("precomputed", 0.4, basis=basis).fit(K, y, qid)
        close(model.predict(K), whole.predict(K), 1e-7)
        close(model.loo_predictions_, whole.loo_predictions_, 1e-7)
        close(model.leave_group_out_predictions_, whole.leave_group_out_predictions_, 1e-7)
    one, two = (make("precomputed", basis=6, random_state=s).fit(K, y, qid) for s in (1, 1))
    np.testing.assert_array_equal(one.support_, two.support_)
    assert len(one.support_) == 6
    few = make(tl.SubsetTree(0.4), 0.1, basis=12, random_state=0).fit(TREES, Y, QID)
    assert isinstance(few.model_, CompressedModel)
    close(few.predict(NEW), tl.SubsetTree(0.4)(NEW, [TREES[k] for k in few.support_]) @ few.dual_coef_[0], 1e-10)
    assert few.score(TREES, Y, *([QID] if make is RankRLS else [])) > 0.5


# --- pairs --------------------------------------------------------------------------------------------------------


def pairs_within(qid: Any) -> list[tuple[int, int]]:
    return [(i, j) for i, j in combinations(range(len(qid)), 2) if qid[i] == qid[j]]


@pytest.mark.parametrize("alpha", [1e-3, 0.5, 100.0])
@pytest.mark.parametrize(("seed", "sizes", "rank"), SHAPES)
@pytest.mark.parametrize("make", [RLS, RankRLS, partial(RankRLS, weights="groups")])
def test_leave_pair_out_is_a_refit_for_each_pair(
    make: Any, seed: int, sizes: list[int], rank: int, alpha: float
) -> None:
    K, y, qid = problem(seed, sizes, rank)
    model = make("precomputed", alpha).fit(K, y, qid)
    pairs = pairs_within(qid if make is not RLS else np.zeros(len(y)))[::2]
    groups = None if make is RLS else qid
    for (i, j), *found in zip(pairs, *model.leave_pair_out(*np.transpose(pairs)), strict=True):
        close(found, refit(model, K, y, groups, np.array([i, j])), 1e-7)
    first, second = np.transpose(pairs)
    close(model.leave_pair_out(second, first)[0], model.leave_pair_out(first, second)[1], 1e-11)


def test_pairs_of_several_outputs_and_wrong_pairs() -> None:
    K, y, qid = problem(0, [3, 4, 2])
    Y2 = np.stack([y, y[::-1]], axis=1)
    low, high = RLS("precomputed").fit(K, Y2).leave_pair_out([0, 3], [1, 2])
    assert low.shape == high.shape == (2, 2)
    close(low[:, 0], RLS("precomputed").fit(K, y).leave_pair_out([0, 3], [1, 2])[0], 1e-12)
    model = RankRLS("precomputed").fit(K, y, qid)
    assert [len(values) for values in model.leave_pair_out([], [])] == [0, 0]
    apart = next(j for j in range(len(y)) if qid[j] != qid[0])
    with pytest.raises(tl.errors.ParameterError, match="belong to different queries"):
        model.leave_pair_out([0], [apart])
    with pytest.raises(tl.errors.ParameterError, match="contains example 1 twice"):
        model.leave_pair_out([0, 1], [2, 1])
    with pytest.raises(tl.errors.ParameterError, match="same length"):
        model.leave_pair_out([0, 1], [2])
    for bad in ([-1], [9], [0.5], 3, [[0]], ["a"]):
        with pytest.raises(tl.errors.ParameterError, match="'first' parameter of RankRLS"):
            model.leave_pair_out(bad, [0])


# --- kernels that are none, and strengths that are too small ------------------------------------------------------


@pytest.mark.parametrize("make", [RLS, RankRLS])
@pytest.mark.parametrize("alpha", [1e-6, 0.5, 3.0])
def test_negative_eigenvalues(make: Any, alpha: float) -> None:
    rng = np.random.default_rng(0)
    K, y, qid = problem(0, [5, 1, 4, 2, 8], 10)
    noise = rng.normal(size=K.shape)
    K = K + noise + noise.T
    with pytest.warns(UserWarning, match="not positive semi-definite") as caught:
        model = make("precomputed", alpha).fit(K, y, qid)
    assert caught[0].filename == __file__
    assert model.smallest_eigenvalue_ < -0.1
    assert np.isfinite(model.predict(K)).all()
    if make is RLS:
        assert model.smallest_eigenvalue_ == pytest.approx(np.linalg.eigvalsh(K)[0])
        values, vectors = np.linalg.eigh(K)
        nearest = (vectors * np.maximum(values, 0)) @ vectors.T
        alone = RLS("precomputed", alpha).fit(nearest, y, qid)
        close(model.predict(K), alone.predict(nearest), 1e-7)
        close(model.loo_predictions_, refits(model, nearest, y, None, np.arange(len(y))), 1e-7)
        close(model.leave_group_out_predictions_, refits(model, nearest, y, qid, qid), 1e-7)
    else:
        D, _ = differences(y, qid, "pairs")
        values, vectors = np.linalg.eigh(D.T @ D)
        root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
        values, vectors = np.linalg.eigh(root @ K @ root)
        nearest = (vectors * np.maximum(values, 0)) @ vectors.T
        left_out = root @ model.leave_group_out_predictions_
        close(left_out, refits(RLS("precomputed", alpha), nearest, root @ y, None, qid), 1e-7)
        close(root @ model.predict(K), RLS("precomputed", alpha).fit(nearest, root @ y).predict(nearest), 1e-7)
        alone = qid == "q1"
        close(model.leave_group_out_predictions_[alone], model.predict(K)[alone])
    with pytest.warns(UserWarning, match="not positive semi-definite"):
        few = make("precomputed", alpha, basis=12, random_state=0).fit(K, y, qid)
    assert np.isfinite(few.loo_predictions_).all()


def test_no_warning_for_rounding_and_one_for_noise() -> None:
    K, y, qid = problem(0, [5, 1, 4, 2, 8], 3)  # 17 eigenvalues are 0 but for rounding
    for make in (RLS, RankRLS):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = make("precomputed", 1e-9).fit(K, y, qid)
        with pytest.warns(UserWarning, match="below the rounding errors") as caught:
            make("precomputed", 1e-20).fit(K, y, qid)
        assert caught[0].filename == __file__
        for call in (lambda m=model: m.path([1, 1e-20]), lambda m=model: m.with_alpha(1e-20)):
            with pytest.warns(UserWarning, match="below the rounding errors") as caught:
                call()
            assert caught[0].filename == __file__
    broken = RLS("precomputed", 1e-300)
    with (
        pytest.warns(UserWarning, match="below the rounding errors"),
        pytest.raises(tl.errors.ParameterError, match="larger alpha"),
    ):
        broken.fit(K, 1e200 * y)
    with pytest.raises(NotFittedError):
        broken.predict(K)
    with (
        pytest.raises(tl.errors.ParameterError, match="scale y and the kernel"),
        np.errstate(over="ignore", invalid="ignore"),
    ):
        RankRLS("precomputed").fit(1e308 * (K / np.abs(K).max()), y, qid)
    zero = RLS("precomputed").fit(np.zeros((3, 3)), [1.0, 2.0, 3.0])
    assert zero.predict(np.ones((1, 3))).tolist() == [6.0]
    assert zero.loo_predictions_.tolist() == [0, 0, 0]


# --- what it costs ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [RLS, RankRLS])
def test_a_path_takes_one_decomposition(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    real = scipy.linalg.eigh

    def counted(*args: Any, **options: Any) -> Any:
        calls.append(1)
        return real(*args, **options)

    monkeypatch.setattr(scipy.linalg, "eigh", counted)
    n = 60
    K, rng = psd(n, n // 2), np.random.default_rng(0)
    y, qid = rng.normal(size=n), np.arange(n) // 5
    model = make("precomputed", alphas=2.0 ** np.arange(-10, 8, 2)).fit(K, y, qid)
    model.path([0.1, 1.0])
    model.with_alpha(3.0)
    assert len(calls) == 1


def test_memory() -> None:
    for make in (RLS, RankRLS):
        with pytest.raises(tl.errors.ParameterError, match=r"more than the 10,000.*memory=, or use a smaller basis="):
            make("precomputed", memory=10_000, solver="eigen").fit(np.eye(40), np.arange(40), np.arange(40) // 5)
        make("precomputed", memory=10_000, basis=4).fit(np.eye(40), np.arange(40), np.arange(40) // 5)


def test_large_groups_take_strengths_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    K, y, qid = problem(3, [5, 1, 4, 2, 8])
    models = [make("precomputed").fit(K, y, qid) for make in (RLS, RankRLS)]
    paths = [model.path(ALPHAS) for model in models]
    monkeypatch.setattr("treelet.learn.least_squares._AT_ONCE", 100)
    for model, path in zip(models, paths, strict=True):
        parts = model.path(ALPHAS)
        close(parts.errors, path.errors, 1e-12)
        close(parts.loo_predictions, path.loo_predictions, 1e-12)
        close(parts.leave_group_out_predictions, path.leave_group_out_predictions, 1e-12)


def test_a_given_matrix_is_left_alone() -> None:
    K, y, qid = problem(0, [5, 1, 4])
    for model in (RLS("precomputed"), RankRLS("precomputed"), RLS("precomputed", basis=4)):
        for given in (K.copy(), np.asfortranarray(K)):
            model.fit(given, y, qid)
            np.testing.assert_array_equal(given, K)


# --- at home in scikit-learn --------------------------------------------------------------------------------------


class GroupedRank(RankRLS):
    """With groups of its own: check_estimator knows none."""

    def fit(self, X: Any, y: Any, qid: Any = None) -> Any:
        return super().fit(X, y, np.arange(len(y)) // 5)


@pytest.mark.parametrize("container", [list, tl.Treebank])
@pytest.mark.parametrize(
    "model",
    [
        RLS(),
        RLS(tl.SubsetTree() * tl.PartialTree(), 0.1, alphas=[0.1, 1], n_jobs=2),
        RLS(tl.SubsetTree(), basis=8, random_state=2),
        GroupedRank(tl.SubsetTree() + tl.PartialTree().normalized(), weights="groups"),
        GroupedRank(basis=[1, 5, 9], alphas=[1.0, 2.0]),
    ],
    ids=repr,
)
def test_check_estimator(model: Any, container: Any) -> None:
    check_estimator(model, container(TREES), Y)


def test_cross_validation() -> None:
    assert is_regressor(RLS())
    K = tl.SubsetTree()(TREES)
    expected = cross_val_score(RLS(tl.SubsetTree()), TREES, Y, cv=4)
    np.testing.assert_allclose(cross_val_score(RLS("precomputed"), K, Y, cv=4), expected)
    search = GridSearchCV(RLS(tl.SubsetTree()), {"alpha": [0.01, 1, 100], "kernel__lam": [0.2, 0.8]}, cv=4)
    assert search.fit(TREES, Y).best_score_ > 0.5
    with config_context(enable_metadata_routing=True):
        ranker = RankRLS().set_fit_request(qid=True).set_score_request(qid=True)
        found = cross_validate(ranker, TREES, Y, cv=GroupKFold(3), params={"qid": QID, "groups": QID})
        for k, (train, test) in enumerate(GroupKFold(3).split(TREES, Y, QID)):
            hand = RankRLS().fit([TREES[row] for row in train], Y[train], QID[train])
            assert found["test_score"][k] == hand.score([TREES[row] for row in test], Y[test], QID[test])


def test_copies_leave_the_decomposition_behind() -> None:
    model = RLS(tl.SubsetTree()).fit(TREES, Y)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(NEW), model.predict(NEW))
    assert len(pickle.dumps(copy)) < 8 * len(TREES) ** 2
    calls = (lambda: copy.path([1]), lambda: copy.with_alpha(1), lambda: copy.held_out(QID))
    for call in (*calls, lambda: copy.leave_pair_out([0], [1])):
        with pytest.raises(tl.errors.ParameterError, match="copies, pickles and model files"):
            call()
    kernel = tl.SubsetTree(0.4)
    model = RLS(kernel).fit(TREES, Y)
    before = model.predict(NEW)
    kernel.set_params(lam=0.9)
    np.testing.assert_array_equal(model.predict(NEW), before)
    np.testing.assert_allclose(model.with_alpha(1.0).predict(NEW), before)


# --- in files -----------------------------------------------------------------------------------------------------

SAVED = [
    RLS(),
    RLS(tl.SubsetTree(0.4), alphas=[0.1, 1.0, 10.0]),
    RLS(tl.SubsetTree().gaussian(2.0), basis=[1, 2, 5]),
    RankRLS(alphas=np.array([1.0, 2.0]), weights="groups", basis=7, random_state=0),
    RankRLS("precomputed", 0.1),
    RLS("precomputed", basis=5, random_state=0),
]


def data(model: Any) -> tuple[Any, Any]:
    kernel = tl.SubsetTree()
    return (kernel(TREES), kernel(NEW, TREES)) if model.kernel == "precomputed" else (TREES, NEW)


@pytest.mark.parametrize("model", SAVED, ids=repr)
def test_there_and_back(model: Any, tmp_path: Path) -> None:
    X, new = data(model)
    many = np.column_stack([Y, -Y, Y**2]) if isinstance(model, RLS) else Y
    for y, qid in ((Y, QID), (many, QID), (Y, None)):
        if qid is None and isinstance(model, RankRLS):
            continue
        fitted = clone(model).fit(X, y, qid)
        tl.save(fitted, tmp_path / "m")
        again = tl.load(tmp_path / "m")
        assert repr(again.get_params()) == repr(fitted.get_params())
        np.testing.assert_array_equal(again.predict(new), fitted.predict(new))
        for name in model._fitted:
            assert hasattr(again, name) == hasattr(fitted, name)
            if name == "path_" and hasattr(fitted, name):
                for field in ("alphas", "errors", "loo_predictions", "leave_group_out_predictions"):
                    np.testing.assert_array_equal(getattr(again.path_, field), getattr(fitted.path_, field))
            elif name != "model_" and hasattr(fitted, name):
                np.testing.assert_array_equal(getattr(again, name), getattr(fitted, name))
        tl.save(again, tmp_path / "n")
        assert (tmp_path / "n").read_bytes() == (tmp_path / "m").read_bytes()
        with pytest.raises(tl.errors.ParameterError, match="copies, pickles and model files"):
            again.path([1.0])


@pytest.mark.parametrize("model", SAVED[1:5], ids=repr)
def test_damaged_and_forged_files(model: Any, tmp_path: Path) -> None:
    X, new = data(model)
    fitted = clone(model).fit(X, Y, QID)
    path = tmp_path / "m"
    tl.save(fitted, path)
    check_forgeries(path, lambda again: again.predict(new))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("model_", None),
        ("support_", np.array([-1])),
        ("support_", np.array([0.5])),
        ("dual_coef_", np.array([[np.nan]])),
        ("dual_coef_", np.zeros((2, 40))),
        ("loo_predictions_", np.zeros((40, 2))),
        ("loo_predictions_", np.array(["a"])),
        ("loo_predictions_", 3.0),
        ("leave_group_out_predictions_", np.zeros(3)),
        ("alpha_", "much"),
        ("smallest_eigenvalue_", float("nan")),
        ("path_", 5),
        ("path_", RLSPath(np.ones(2), np.ones(3), np.ones((2, 40)), None)),
        ("path_", RLSPath(np.ones(2), np.array([1, np.nan]), np.ones((2, 40)), None)),
    ],
)
def test_files_that_make_no_sense(name: str, value: Any, tmp_path: Path) -> None:
    model = RLS(alphas=[1.0, 2.0]).fit(TREES, Y, QID)
    setattr(model, name, value)
    tl.save(model, tmp_path / "m")
    with pytest.raises(tl.learn.ModelFileError, match="checksum is correct, but the content"):
        tl.load(tmp_path / "m")


# --- what cannot be done ------------------------------------------------------------------------------------------

FOUR, GOOD = TREES[:4], [1, 0, 1, 0]


@pytest.mark.parametrize("make", [RLS, RankRLS])
@pytest.mark.parametrize(
    ("X", "y", "qid", "message"),
    [
        (FOUR, None, [0, 0, 1, 1], "y is missing"),
        (FOUR, [1, 0, 1], [0, 0, 1, 1], "X has 4 examples, but y has 3 values"),
        (FOUR, GOOD, [0, 0, 1], "X has 4 examples.*Pass one value per example"),
        (FOUR, [1, np.nan, 1, 0], [0, 0, 1, 1], r"y\[1\] is missing \(None or NaN"),
        (FOUR, [1, np.inf, 1, 0], [0, 0, 1, 1], r"y\[1\] is infinite"),
        (FOUR, [1, None, 1, 0], [0, 0, 1, 1], r"y\[1\] is missing \(None or NaN"),
        (FOUR, ["good", "bad", "a", "b"], [0, 0, 1, 1], "y must contain one number per example"),
        (FOUR, GOOD, [0, np.nan, 1, 1], r"1 missing value in total\)"),
        (FOUR, GOOD, [[0, 0], [0, 0], [1, 1], [1, 1]], "must have one dimension"),
        (FOUR, np.zeros((4, 1, 1)), [0, 0, 1, 1], "y must have one dimension"),
        ([], [], [], "X is empty"),
    ],
)
def test_bad_data(make: Any, X: Any, y: Any, qid: Any, message: str) -> None:
    with pytest.raises(tl.TreeletError, match=message) as caught:
        make().fit(X, y, qid)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("model", "X", "y", "qid", "message"),
    [
        (RankRLS(), FOUR, GOOD, None, "needs to know which examples belong"),
        (RankRLS(), FOUR, [1, 1, 0, 0], [0, 0, 1, 1], "groups has two candidates with different"),
        (RankRLS(), FOUR, GOOD, [0, 1, 2, 3], "groups has two candidates with different"),
        (RankRLS(), FOUR, np.ones((4, 2)), [0, 0, 1, 1], "y must have one dimension"),
        (RankRLS(alphas=[1, 2]), FOUR, GOOD, [0, 0, 0, 1], "least two groups with several candidates"),
        (RLS(), FOUR, np.ones((4, 0)), None, "pass at least one value per example"),
        (RLS(), FOUR, [[1, 2], [3], [4], [5]], None, "y must contain"),
        (RLS(), FOUR, np.array([[1, 2], [3, np.nan], [4, 1], [5, 1]]), None, r"y\[1\] is missing \(None or NaN"),
        (RLS("precomputed"), np.eye(4)[:3], GOOD, None, "square matrix"),
        (RLS("precomputed"), np.diag([1, 1, np.nan, 1]), GOOD, None, "must contain finite numbers"),
        (RLS("precomputed"), np.triu(np.ones((4, 4))), GOOD, None, "must be symmetric"),
    ],
)
def test_more_bad_data(model: Any, X: Any, y: Any, qid: Any, message: str) -> None:
    with pytest.raises(tl.errors.ParameterError, match=message):
        model.fit(X, y, qid)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"alpha": 0}, r"'alpha' parameter of R.*number in \(0, inf\)"),
        ({"alpha": -1.0}, "'alpha' parameter"),
        ({"alpha": np.nan}, "'alpha' parameter"),
        ({"alpha": np.inf}, "'alpha' parameter"),
        ({"alpha": "loo"}, "'alpha' parameter"),
        ({"alphas": []}, "'alphas' parameter of R"),
        ({"alphas": 1.0}, "'alphas' parameter"),
        ({"alphas": [1, 0]}, "'alphas' parameter"),
        ({"alphas": [1, np.nan]}, "'alphas' parameter"),
        ({"alphas": ["a"]}, "'alphas' parameter"),
        ({"kernel": "rbf"}, "'kernel'.*a kernel, 'precomputed' or None.*'rbf'"),
        ({"basis": 0}, "'basis' parameter of R.*None, an int from 1 to 40"),
        ({"basis": 41}, "'basis' parameter"),
        ({"basis": [0, 0]}, "'basis' parameter"),
        ({"basis": [40]}, "'basis' parameter"),
        ({"basis": [-1]}, "'basis' parameter"),
        ({"basis": []}, "'basis' parameter"),
        ({"basis": 0.5}, "'basis' parameter"),
        ({"basis": True}, "'basis' parameter"),
        ({"memory": "much"}, "'memory' parameter"),
        ({"n_jobs": 0}, "'n_jobs' parameter"),
    ],
)
def test_bad_parameters(params: dict[str, Any], message: str) -> None:
    for make in (RLS, RankRLS):
        with pytest.raises(tl.errors.ParameterError, match=message):
            make(**params).fit(TREES, Y, QID)


def test_other_errors() -> None:
    with pytest.raises(tl.errors.ParameterError, match=r"'weights'.*'pairs' or 'groups'"):
        RankRLS(weights="both").fit(TREES, Y, QID)
    for make in (RLS, RankRLS):
        for call in (
            lambda m: m.predict(NEW),
            lambda m: m.path([1]),
            lambda m: m.with_alpha(1),
            lambda m: m.held_out(QID),
            lambda m: m.leave_pair_out([0], [1]),
        ):
            with pytest.raises(NotFittedError):
                call(make())
        model = make().fit(TREES, Y, QID)
        for bad in ([], [0], [-1.0], "x", 1.0):
            with pytest.raises(tl.errors.ParameterError, match="'alphas' parameter of R"):
                model.path(bad)
        with pytest.raises(tl.errors.ParameterError, match="'alpha' parameter"):
            model.with_alpha(0)
    with pytest.raises(NotFittedError):
        RankRLS().rank(NEW, NEW_QID)
    with pytest.raises(tl.errors.ParameterError, match="qid has 1 value"):
        model.predict(NEW, [1])
    with pytest.raises(tl.errors.ParameterError, match="groups has 2 value"):
        model.held_out([1, 2])
    with pytest.raises(tl.errors.ParameterError, match="candidates are compared only within"):
        model.score(NEW, NEW_Y)
    with pytest.raises(tl.errors.ParameterError, match="X is empty"):
        model.score([], [], [])


# --- by conjugate gradients -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [None, tl.PartialTree().normalized() + 1, tl.SubsetTree().gaussian(2.0)], ids=repr)
@pytest.mark.parametrize("alpha", [0.01, 1.0])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_conjugate_gradients_solve_the_same_equations(kernel: Any, alpha: float, n_jobs: int) -> None:
    bank = tl.datasets.flights(40)
    y = np.random.default_rng(0).normal(size=(40, 3))
    y[:, 2] = 0  # solved from the beginning
    for values in (y, y[:, 0]):
        exact = RLS(kernel, alpha, solver="eigen").fit(bank, values)
        found = RLS(kernel, alpha, solver="cg", tol=1e-10, memory="200kB", n_jobs=n_jobs).fit(bank, values)
        assert (exact.solver_, found.solver_) == ("eigen", "cg")
        assert 1 <= found.n_iter_ <= 40
        assert found.residual_ <= 1e-10
        assert found.predict(bank).shape == values.shape
        np.testing.assert_allclose(found.predict(bank), exact.predict(bank), atol=1e-7)


@pytest.mark.parametrize("weights", ["pairs", "groups"])
@pytest.mark.parametrize("kernel", [tl.SubsetTree().normalized(), tl.PartialTree() + 1], ids=repr)
def test_conjugate_gradients_rank_the_same(kernel: Any, weights: str) -> None:
    bank, rng = tl.datasets.flights(60), np.random.default_rng(0)
    y, qid = rng.normal(size=60), rng.integers(0, 12, 60)
    exact = RankRLS(kernel, 0.3, weights=weights, solver="eigen").fit(bank, y, qid)
    found = RankRLS(kernel, 0.3, weights=weights, solver="cg", tol=1e-11, memory="100kB", n_jobs=2).fit(bank, y, qid)
    assert (exact.solver_, found.solver_) == ("eigen", "cg")
    assert found.residual_ <= 1e-11
    close(found.predict(bank), exact.predict(bank))
    given = RankRLS("precomputed", 0.3, weights=weights, solver="cg", tol=1e-11).fit(kernel(bank), y, qid)
    close(given.predict(kernel(bank)), exact.predict(bank))
    assert RankRLS(kernel, memory=32 * 60 * 60).fit(bank, y, qid).solver_ == "cg"
    with pytest.raises(tl.errors.ParameterError, match="alphas of RankRLS needs"):
        RankRLS(kernel, alphas=[1, 2], solver="cg").fit(bank, y, qid)
    with pytest.raises(tl.errors.ParameterError, match="held_out needs"):
        found.held_out(qid)


def test_conjugate_gradients_never_hold_the_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    plain = np.empty

    def empty(shape: Any, *args: Any, **options: Any) -> Any:
        made.append(int(np.prod(shape)))
        return plain(shape, *args, **options)

    monkeypatch.setattr(np, "empty", empty)
    RLS(solver="cg", memory="100kB").fit(tl.datasets.flights(150), np.arange(150.0))
    assert 0 < max(made) < 150 * 150 / 4


def test_a_given_matrix_and_a_matrix_too_large_for_memory() -> None:
    K, y = psd(60, 30), np.random.default_rng(0).normal(size=60)
    expected = RLS("precomputed").fit(K, y)
    given = RLS("precomputed", solver="cg", tol=1e-10).fit(K, y)
    np.testing.assert_allclose(given.predict(K), expected.predict(K), atol=1e-6)
    assert RLS("precomputed", memory=32 * 60 * 60 + 40).fit(K, y).solver_ == "eigen"
    assert RLS("precomputed", memory=32 * 60 * 60 + 39).fit(K, y).solver_ == "cg"
    with pytest.raises(tl.errors.ParameterError, match="more than the 50,000"):
        RLS("precomputed", memory=50_000, solver="eigen").fit(K, y)


def test_what_conjugate_gradients_do_not_give() -> None:
    bank, y = tl.datasets.flights(30), np.arange(30.0)
    for params, groups, name in (({"alphas": [1, 2]}, None, "alphas"), ({"basis": 3}, None, "basis"), ({}, y // 3, "groups")):  # fmt: skip
        with pytest.raises(tl.errors.ParameterError, match=f"{name} of RLS needs"):
            RLS(solver="cg", **params).fit(bank, y, groups)
    model = RLS().fit(bank, y).set_params(solver="cg").fit(bank, y)  # nothing is left of the first fit
    calls = (lambda: model.path([1]), lambda: model.with_alpha(1), lambda: model.held_out(y // 3))
    for call in (*calls, lambda: model.leave_pair_out([0], [1])):
        with pytest.raises(tl.errors.ParameterError, match="which solver='cg' does not compute"):
            call()
    for name in ("loo_predictions_", "path_", "smallest_eigenvalue_"):
        assert not hasattr(model, name)
    assert model.set_params(solver="eigen").fit(bank, y).loo_predictions_.shape == (30,)
    assert not hasattr(model, "n_iter_")


def test_conjugate_gradients_say_when_they_have_not_converged() -> None:
    bank, y = tl.datasets.flights(60), np.random.default_rng(0).normal(size=60)
    with pytest.warns(ConvergenceWarning, match="not converged after 1 iteration"):
        model = RLS(tl.SubsetTree(), 1e-6, solver="cg", max_iter=1, memory="50kB").fit(bank, y)
    assert model.n_iter_ == 1
    K = psd(20, 20) - 3 * np.eye(20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(tl.errors.ParameterError, match="not positive semi-definite"):
            RLS("precomputed", 0.01, solver="cg", memory=2000).fit(K, np.arange(20.0))


def test_a_model_by_conjugate_gradients_in_a_file(tmp_path: Path) -> None:
    bank = tl.datasets.flights(30)
    for y in (np.arange(30.0), np.random.default_rng(0).normal(size=(30, 2))):
        model = RLS(solver="cg").fit(bank, y)
        tl.save(model, tmp_path / "m.treelet")
        again = tl.load(tmp_path / "m.treelet")
        np.testing.assert_array_equal(again.predict(bank), model.predict(bank))
        assert (again.solver_, again.n_iter_) == ("cg", model.n_iter_)
        with pytest.raises(tl.errors.ParameterError, match="which solver='cg' does not compute"):
            again.path([1])
    check_estimator(RLS(solver="cg", tol=1e-12), TREES, Y)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"solver": "lbfgs"}, "'solver' parameter of RLS must be 'auto', 'eigen' or"),
        ({"tol": 0}, r"'tol'.*a number in \(0, 1\)"),
        ({"max_iter": 0}, "'max_iter' parameter of RLS must be an int of at least"),
    ],
)
def test_bad_parameters_of_the_solver(params: dict[str, Any], message: str) -> None:
    with pytest.raises(tl.errors.ParameterError, match=message):
        RLS(**params).fit(TREES, Y)


def test_examples_that_hardly_differ_are_ranked_without_a_warning() -> None:
    """What rounding leaves below 0, in differences of values near 1, is no kernel that is not positive."""
    kernel = tl.Tagging(lam=1.3897396135707373e-07).normalized()
    X = [tl.Tagged.parse(" ".join(["x/S"] * n)) for n in (1, 5, 1, 5, 7)]
    y, qid, alpha = np.array([0.0, 2.0, 0.0, 1.0, 0.0]), ["q0", "q1", "q1", "q0", "q1"], 0.15363212048608102
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = tl.RankRLS(kernel, alpha, weights="groups").fit(X, y, qid)
    K = kernel(X)
    expected = K @ rank_least_squares(K, y, qid, alpha, every_pair=False)
    np.testing.assert_allclose(model.predict(X), expected, rtol=0, atol=1e-13)
