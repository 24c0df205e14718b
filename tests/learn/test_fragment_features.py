"""Fragments as features: the kernel's own values, in columns with names, or by a hash."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import treelet as tl
from definitions.fragments import vector
from treelet.datasets import flights
from treelet.fragments import places
from treelet.learn import fragment_features
from treelet.learn.fragment_features import FragmentCounter
from treelet.testing import check_estimator, trees

KERNELS = {
    "st": tl.Subtree(lam=0.7),
    "sst": tl.SubsetTree(lam=0.4),
    "sst-leaves": tl.SubsetTree(lam=0.4, leaves=True),
    "pt": tl.PartialTree(lam=0.4, mu=0.3),
    "pt-no-leaves": tl.PartialTree(lam=0.7, mu=0.6, leaves=False),
}
each_kernel = pytest.mark.parametrize("name", KERNELS)
TREES = [
    "(NP (D the) (N apple))", "(NP (D the) (N pear))", "(NP (D an) (N apple))", "(NP (D a) (N pear))",
    "(NP (D a) (J red) (N apple))", "(NP (D a) (J green) (N pear))", "(VP (V eat) (NP (D an) (N apple)))", "(VP (V eat) (NP (D a) (N pear)))",
]  # fmt: skip
CLASSES = ["red", "green"] * 4


# --- counting -----------------------------------------------------------------------------------------------------


@each_kernel
@settings(max_examples=40)
@given(data=st.data())
def test_counts_are_those_of_the_slow_definition(name: str, data: st.DataObject) -> None:
    kernel = KERNELS[name]
    several = data.draw(st.lists(trees(max_nodes=8), min_size=1, max_size=4))
    vectors = [vector(kernel, tree) for tree in several]
    every = list(dict.fromkeys(fragment for one in vectors for fragment in one))
    if not every:
        return
    some = data.draw(st.lists(st.sampled_from(every), min_size=1, max_size=40, unique=True))
    rows = FragmentCounter(kernel, tl.Treebank(some)).rows(tl.Treebank([*several, None]), None).toarray()
    expected = [[one.get(fragment, 0.0) for fragment in some] for one in [*vectors, {}]]
    np.testing.assert_allclose(rows, expected, rtol=1e-12, atol=0)


@each_kernel
def test_all_fragments_are_the_kernel(name: str) -> None:
    kernel = KERNELS[name].normalized()
    bank = tl.Treebank(TREES)
    features = tl.FragmentFeatures(kernel=kernel, n=10**5).fit(bank)
    assert features.exact_
    rows = features.transform(bank)
    np.testing.assert_allclose((rows @ rows.T).toarray(), kernel(bank), rtol=1e-12)


@each_kernel
def test_values_are_decays_times_places(name: str) -> None:
    kernel, bank = KERNELS[name], flights(20)
    features = tl.FragmentFeatures(kernel=kernel, n=60).fit(bank)
    rows, own = features.transform(bank).toarray(), fragment_features._decays(kernel, features.fragments_)
    for column in range(0, 60, 7):
        fragment = features.fragments_[column]
        counts = [len(places(fragment, tree, kernel, limit=10**5)) for tree in bank]
        if name.startswith("pt"):
            assert [bool(value) for value in rows[:, column]] == [bool(count) for count in counts]
        else:
            np.testing.assert_allclose(rows[:, column], own[column] * np.array(counts), rtol=1e-12)


@each_kernel
def test_threads_slices_and_stores_make_no_difference(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fragment_features, "_ROWS", 3)
    bank = flights(25)
    features = tl.FragmentFeatures(kernel=KERNELS[name].normalized(), n=80).fit(bank[:10])
    rows = features.transform(bank).toarray()
    np.testing.assert_array_equal(features.set_params(n_jobs=2).transform(bank).toarray(), rows)
    np.testing.assert_array_equal(features.transform(bank[5:9]).toarray(), rows[5:9])
    np.testing.assert_array_equal(features.transform(bank.strings()).toarray(), rows)


def test_deep_and_wide_trees() -> None:
    deep = tl.Tree("A", ["w"])
    for _ in range(100_000):
        deep = tl.Tree("A", [deep])
    wide = tl.Tree("S", [tl.Tree("A", ["w"])] * 5_000)
    bank = tl.Treebank([deep, wide])
    for kernel in KERNELS.values():
        some = ["(A w)", "(A (A w))", "(S (A w))"]
        counted = FragmentCounter(kernel, tl.Treebank(some)).rows(bank, None).toarray()
        assert counted[0, 0] > 0
    chain = tl.Tree("A", [deep])
    found = FragmentCounter(tl.SubsetTree(lam=1), tl.Treebank([chain])).rows(tl.Treebank([deep, chain]), None)
    assert found.toarray().ravel().tolist() == [0, 1]


# --- from a model -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kernel",
    [
        *KERNELS.values(),
        tl.SubsetTree().normalized(),
        0.3 * tl.SubsetTree(leaves=True).normalized() + 2 * tl.Subtree(),
        (tl.SubsetTree() + tl.PartialTree()).normalized(),
    ],
    ids=str,
)
def test_all_fragments_are_the_model(kernel: Any) -> None:
    model = tl.KernelSVC(kernel, C=10).fit(TREES, CLASSES)
    features = tl.FragmentFeatures(model, n=10**5).fit()
    others = [*TREES, "(VP (V eat) (NP (D the) (J red) (N pear)))", None]
    machine = features.linear()
    np.testing.assert_allclose(
        machine.decision_function(features.transform(others)), model.decision_function(others), rtol=1e-9, atol=1e-9
    )
    assert machine.predict(features.transform(TREES)).tolist() == model.predict(TREES).tolist()


def test_several_classes_and_their_weights() -> None:
    bank, y = flights(60), np.arange(60) % 3
    model = tl.KernelSVC(tl.SubsetTree(lam=0.4).normalized()).fit(bank, y)
    features = tl.FragmentFeatures(model, n=30).fit()
    assert features.coef_.shape == (3, 30)
    names = features.get_feature_names_out().tolist()
    for number, name in enumerate(model.classes_):
        weights = {str(one.tree): one.weight for one in tl.top_fragments(model, 10, output=name)}
        for fragment in list(weights)[:8]:  # each class in turn: the heaviest are all there
            assert features.coef_[number, names.index(fragment)] == pytest.approx(weights[fragment], rel=1e-9)


def test_regressors_rankers_and_columns() -> None:
    rls = tl.RLS(tl.On("tree", tl.SubsetTree())).fit([{"tree": tree} for tree in TREES], np.arange(8.0))
    features = tl.FragmentFeatures(rls, n=10**4).fit()
    rows = [{"tree": tree} for tree in TREES]
    np.testing.assert_allclose(features.linear().predict(features.transform(rows)), rls.predict(rows), atol=1e-9)
    ranker = tl.RankSVM(tl.SubsetTree())
    qid = np.arange(8) // 4
    features = tl.FragmentFeatures(ranker, n=10**4).fit(TREES, np.arange(8.0), qid=qid)
    expected = clone(ranker).fit(TREES, np.arange(8.0), qid=qid).predict(TREES)
    np.testing.assert_allclose(features.linear().predict(features.transform(TREES)), expected, atol=1e-9)


def test_depth_and_names() -> None:
    model = tl.KernelSVC(tl.SubsetTree()).fit(TREES, CLASSES)
    shallow = tl.FragmentFeatures(model, n=1000, depth=1).fit()
    assert max(tree.height() for tree in shallow.fragments_) == 1
    assert "(N apple)" in shallow.get_feature_names_out().tolist()
    partial = tl.FragmentFeatures(kernel=tl.PartialTree(), n=1000, depth=1).fit(TREES)
    assert max(tree.height() for tree in partial.fragments_) == 1
    both = tl.FragmentFeatures(kernel=tl.SubsetTree() + tl.PartialTree(), n=20).fit(TREES)
    assert any(name.startswith("PartialTree(lam=0.4, mu=0.4): ") for name in both.get_feature_names_out())
    lengths = (
        tl.FragmentFeatures(kernel=tl.SubsetTree() + tl.Subtree(), norm="l2")
        .fit(TREES)
        .transform(TREES)
        .power(2)
        .sum(1)
    )
    np.testing.assert_allclose(lengths, 1)


# --- in scikit-learn ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator",
    [
        tl.FragmentFeatures(tl.KernelSVC(tl.SubsetTree().normalized()), n=20),
        tl.FragmentFeatures(tl.RLS(tl.PartialTree()), n=20, norm="l2"),
        tl.FragmentFeatures(kernel=tl.SubsetTree(), n=20),
    ],
    ids=["svc", "rls", "trees"],
)
def test_is_an_estimator(estimator: Any) -> None:
    check_estimator(estimator, TREES, [0, 1] * 4)


def test_in_a_pipeline() -> None:
    pipeline = make_pipeline(tl.FragmentFeatures(tl.KernelSVC(tl.SubsetTree())), LinearSVC())
    search = GridSearchCV(
        pipeline, {"fragmentfeatures__n": [1, 50], "fragmentfeatures__model__kernel__lam": [0.4]}, cv=2
    )
    search.fit(TREES, CLASSES)
    assert search.best_score_ > 0.5
    assert search.best_estimator_[:-1].get_feature_names_out().tolist() == ["(N apple)"]


def test_a_file_keeps_weights_and_no_model(tmp_path: Path) -> None:
    model = tl.KernelSVC(tl.SubsetTree(), C=3).fit(TREES, CLASSES)
    features = tl.FragmentFeatures(model, n=5).fit()
    tl.save(features, tmp_path / "f.treelet")
    again = tl.load(tmp_path / "f.treelet")
    assert again.model.C == 3
    assert not hasattr(again.model, "model_")
    assert again.linear().predict(again.transform(TREES)).tolist() == features.linear().predict(features.transform(TREES)).tolist()  # fmt: skip


# --- errors -------------------------------------------------------------------------------------------------------


def test_errors() -> None:
    wrong = tl.errors.ParameterError
    model = tl.KernelSVC(tl.SubsetTree())
    with pytest.raises(wrong, match=r"'kernel'.*None if there is a model"):
        tl.FragmentFeatures(model, kernel=tl.SubsetTree()).fit(TREES, CLASSES)
    with pytest.raises(wrong, match="'n' parameter of FragmentFeatures"):
        tl.FragmentFeatures(n=0).fit(TREES)
    with pytest.raises(wrong, match="'norm' parameter"):
        tl.FragmentFeatures(norm="max").fit(TREES)
    with pytest.raises(wrong, match=r"'model'.*an estimator"):
        tl.FragmentFeatures("svm").fit(TREES)
    with pytest.raises(wrong, match="examples X and y to fit"):
        tl.FragmentFeatures(model).fit()
    with pytest.raises(wrong, match="'kernel' parameter"):
        tl.FragmentFeatures(kernel=tl.Linear()).fit([[1.0], [2.0]])
    with pytest.raises(wrong, match="model, so they have no weights"):
        tl.FragmentFeatures().fit(TREES).linear()
    with pytest.raises(wrong, match=r"'norm'.*'kernel'"):
        tl.FragmentFeatures(model, norm="l2").fit(TREES, CLASSES).linear()
    with pytest.raises(tl.errors.InputTypeError, match="kernels Subtree, SubsetTree"):
        tl.FragmentFeatures(tl.KernelSVC(tl.Linear())).fit([[0.0], [1.0]], [0, 1])


def test_no_columns_are_told() -> None:
    """Of a model that has learned nothing, or of trees without fragments."""
    for features, X, y in (
        (tl.FragmentFeatures(tl.RLS(tl.SubsetTree())), ["(A a)", "(B b)"], [0, 0]),
        (tl.FragmentFeatures(kernel=tl.SubsetTree()), [None, None], None),
    ):
        with pytest.warns(tl.errors.TreeletWarning, match="found no fragment with a nonzero weight"):
            features.fit(X, y)
        assert features.transform(["(A a)"]).shape == (1, 0)


def test_numbers_beyond_all() -> None:
    with pytest.raises(tl.TreeletError, match="at least 1 and less than 2147483648"):
        tl.FragmentFeatures(kernel=tl.SubsetTree(), n=10**30).fit(["(A a)"])
