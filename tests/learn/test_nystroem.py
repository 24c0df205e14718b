"""Low rank by landmarks: which are chosen, and what comes of them."""

from __future__ import annotations

import warnings
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import treelet as tl
from conftest import round_trip
from treelet.learn.approximate import _SAMPLINGS, _by_leverage, pivoted_cholesky
from treelet.testing import check_estimator

KERNEL = tl.SubsetTree(0.4).normalized()
TREES = [f"(S ({'AB'[i % 2]} w{i % 5}) (C (D d{i % 3}) (E e{i % 7})))" for i in range(70)]


def values_of(K: Any) -> tuple[Any, Any]:
    """The diagonal, and the values of rows x columns."""
    return (K.diagonal().copy(), lambda rows, columns: K[np.ix_(rows, columns)])


@pytest.mark.parametrize("sampling", _SAMPLINGS)
def test_landmarks_are_exact_and_the_rest_is_never_too_large(sampling: str) -> None:
    step = tl.Nystroem(KERNEL, 12, sampling=sampling, random_state=0)
    vectors = step.fit_transform(TREES)
    K, near = KERNEL(TREES), vectors @ vectors.T
    chosen = step.component_indices_
    assert len(set(chosen.tolist())) == len(chosen) == 12
    np.testing.assert_allclose(near[chosen][:, chosen], K[chosen][:, chosen], atol=1e-10)
    np.testing.assert_allclose(near[chosen], K[chosen], atol=1e-10)
    assert np.linalg.eigvalsh(K - near).min() > -1e-10
    assert tl.Treebank(step.components_) == tl.Treebank([TREES[i] for i in chosen])


def test_all_examples_as_landmarks_give_the_kernel() -> None:
    with pytest.warns(tl.errors.TreeletWarning, match="n_components=100 exceeds.*70, so all examples become landmarks"):
        vectors = tl.Nystroem(KERNEL, random_state=0).fit_transform(TREES)
    np.testing.assert_allclose(vectors @ vectors.T, KERNEL(TREES), atol=1e-8)


@pytest.mark.parametrize("sampling", _SAMPLINGS)
def test_equal_examples_make_no_more_directions(sampling: str) -> None:
    trees = [TREES[i % 4] for i in range(40)] + [None]
    step = tl.Nystroem(KERNEL, 10, sampling=sampling, random_state=1)
    vectors = step.fit_transform(trees)
    assert step.n_components_ <= 4
    assert np.isfinite(vectors).all()
    if sampling == "kmeans++":
        assert len(step.component_indices_) == 4
        np.testing.assert_allclose(vectors @ vectors.T, KERNEL(trees), atol=1e-8)


def test_nothing_at_all() -> None:
    vectors = tl.Nystroem(KERNEL, 2, sampling="kmeans++", random_state=0).fit_transform([None, None, None])
    assert vectors.shape == (3, 0)


def test_pivots_have_the_probabilities_of_one_after_the_other() -> None:
    factor = np.random.default_rng(0).normal(size=(5, 5)) * [3.0, 1.0, 1.0, 0.3, 0.1]
    K = factor @ factor.T
    expected = {}
    for pair in combinations(range(5), 2):
        chance = 0.0
        for i, j in (pair, pair[::-1]):
            left = K.diagonal() - K[i] ** 2 / K[i, i]
            chance += K[i, i] / K.trace() * left[j] / left.sum()
        expected[pair] = chance
    draws = 4000
    for at_once in (1, 2):
        rng = np.random.default_rng(1)
        found = dict.fromkeys(expected, 0)
        for _ in range(draws):
            found[tuple(sorted(pivoted_cholesky(*values_of(K), 2, rng, at_once)[0].tolist()))] += 1
        for pair, chance in expected.items():
            assert abs(found[pair] / draws - chance) < 5 * np.sqrt(chance / draws), (at_once, pair)


def test_leverage_finds_what_is_unlike_the_rest() -> None:
    # a hundred directions with little weight, and many examples in one: uniform sampling sees few of the former
    rng = np.random.default_rng(0)
    points = np.vstack([rng.normal(size=(400, 1)) * np.eye(1, 21)[0] + 0.01, 0.8 * np.eye(21)[1:]])
    K = points @ points.T
    rare = [np.sum(_by_leverage(*values_of(K), 30, np.random.default_rng(seed)) >= 400) for seed in range(10)]
    assert np.mean(rare) > 12  # 1.4 of 20 by chance


def test_pivots_beat_chance_on_real_trees(wsj: tl.Treebank) -> None:
    bank = wsj[:400]
    K = KERNEL(bank)
    error = {}
    for sampling in _SAMPLINGS:
        vectors = tl.Nystroem(KERNEL, 80, sampling=sampling, random_state=0).fit_transform(bank)
        error[sampling] = np.trace(K - vectors @ vectors.T)
    assert error["kmeans++"] < error["uniform"]


@pytest.mark.parametrize(
    ("kernel", "examples"),
    [
        (tl.Linear(), np.random.default_rng(0).normal(size=(20, 4))),
        (tl.PartialTree().gaussian(2.0), TREES[:20]),
        (tl.On("t", KERNEL) + tl.On("n", tl.Linear()), [{"t": tree, "n": [float(len(tree))]} for tree in TREES[:20]]),
    ],
    ids=["linear", "gaussian", "columns"],
)
def test_any_kernel(kernel: Any, examples: Any) -> None:
    for sampling in _SAMPLINGS:
        step = tl.Nystroem(kernel, 6, sampling=sampling, random_state=0).fit(examples)
        vectors, chosen = step.transform(examples), step.component_indices_
        np.testing.assert_allclose((vectors @ vectors.T)[chosen], kernel(examples)[chosen], rtol=1e-6, atol=1e-6)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    step = tl.Nystroem(KERNEL, 12, random_state=0, n_jobs=2).fit(TREES)
    expected = step.transform(TREES)
    for found in (step.blocks(iter(TREES), 9), step.blocks(TREES, 8), step.blocks(tl.Treebank(TREES))):
        np.testing.assert_allclose(np.concatenate(list(found)), expected, atol=1e-12)
    monkeypatch.setattr("treelet.learn.approximate._BLOCK", 30)
    np.testing.assert_allclose(step.transform(TREES), expected, atol=1e-12)


def test_landmarks_of_a_part_where_all_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treelet.learn.approximate._POOL", 240)
    step = tl.Nystroem(KERNEL, 12, sampling="kmeans++", random_state=0).fit(TREES)
    assert tl.Treebank(step.components_) == tl.Treebank([TREES[i] for i in step.component_indices_])


@pytest.mark.parametrize("sampling", _SAMPLINGS)
def test_check_estimator(sampling: str) -> None:
    check_estimator(tl.Nystroem(KERNEL, 6, sampling=sampling, random_state=0), TREES[:20])


def test_in_a_pipeline_and_a_file(tmp_path: Path) -> None:
    labels = ["deed" if "(A" in tree else "thing" for tree in TREES]
    model = make_pipeline(tl.Nystroem(KERNEL, 20, random_state=0), LinearSVC()).fit(TREES, labels)
    assert model.score(TREES, labels) == 1
    assert model[0].get_feature_names_out()[0] == "nystroem0"
    again = round_trip(model[0], tmp_path)
    np.testing.assert_array_equal(again.transform(TREES), model[0].transform(TREES))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 0}, "'n_components' parameter of Nystroem must be an int of"),
        ({"sampling": "best"}, "'sampling'.*'uniform', 'kmeans"),
        ({"kernel": "precomputed"}, "'kernel' parameter of Nystroem"),
        ({"n_jobs": 0}, "'n_jobs' parameter"),
    ],
)
def test_parameters_that_make_no_sense(options: dict[str, Any], message: str) -> None:
    with pytest.raises(tl.errors.ParameterError, match=message):
        tl.Nystroem(**options).fit(TREES)


def test_leverage_where_most_examples_are_missing() -> None:
    X = tl.Treebank([None] * 9 + ["(A a)"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tl.errors.TreeletWarning)
        for seed in range(20):
            made = tl.Nystroem(tl.SubsetTree(), n_components=1, sampling="leverage", random_state=seed).fit(X)
            assert np.isfinite(made.transform(X)).all()
