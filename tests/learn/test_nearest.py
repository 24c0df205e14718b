"""Neighbors that are asked for again and again: `treelet.Nearest`, and the graphs that scikit-learn takes."""

from __future__ import annotations

import pickle
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.cluster import DBSCAN
from sklearn.exceptions import EfficiencyWarning, NotFittedError
from sklearn.manifold import TSNE
from sklearn.neighbors import KNeighborsClassifier, KNeighborsTransformer, sort_graph_by_row_values
from sklearn.pipeline import make_pipeline
from sklearn.semi_supervised import LabelSpreading

import treelet as tl
from treelet.kernels.algebra import without_excess
from treelet.testing import check_estimator, trees

KERNEL = tl.SubsetTree(lam=0.4).normalized()


@pytest.fixture(scope="module")
def bank() -> tl.Treebank:
    return tl.datasets.flights(60)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The native indexes that are made over many trees. The values of the neighbors are computed over a few trees."""
    made: list[object] = []
    plain = tl.kernels.SubsetTree.native

    def native(self, store, weights, *args):
        if len(weights) >= 10:
            made.append(self)
        return plain(self, store, weights, *args)

    monkeypatch.setattr(tl.kernels.SubsetTree, "native", native)
    monkeypatch.setattr(sys.modules["treelet.matrices.nearest"], "_TOGETHER", 1)
    return made


@settings(max_examples=15)
@given(bank=st.lists(trees(), min_size=2, max_size=10), queries=st.lists(st.lists(trees(), max_size=3), max_size=3))
def test_what_is_kept_changes_nothing(bank, queries):
    for kernel in (KERNEL, tl.SubsetTree() + tl.PartialTree().normalized(), tl.Subtree().gaussian(2)):
        search = tl.Nearest(kernel, n_neighbors=2).fit(bank)
        for Q in [*queries, None]:
            k = 2 if Q is not None else 1
            values, indices = search.kneighbors(Q, k)
            expected, order = tl.nearest(kernel, bank, Q, k)
            np.testing.assert_allclose(values, expected, rtol=1e-12)
            np.testing.assert_array_equal(indices, order)


def test_the_index_is_made_once(bank, made):
    kernel = 0.5 * KERNEL
    search = tl.Nearest(kernel, n_neighbors=3).fit(bank)
    assert len(made) == 1
    for tree in bank[:5]:
        search.kneighbors([tree])
        search.kneighbors_graph([tree])
    search.kneighbors()
    assert len(made) == 1
    tl.Nearest(kernel, memory=1000).fit(bank).kneighbors(bank[:2])
    assert len(made) > 2  # blocks, which are not kept


def test_the_index_of_a_column_is_made_once(bank, made):
    rows = [{"tree": tree, "n": float(n)} for n, tree in enumerate(bank)]
    kernel = tl.On("tree", KERNEL) + tl.On("n", tl.Linear())
    search = tl.Nearest(kernel, n_neighbors=3).fit(rows)
    first = [search.kneighbors(rows[n : n + 1])[1].tolist() for n in range(4)]
    assert len(made) == 1
    assert first == tl.nearest(kernel, rows, rows[:4], 3)[1][:, None].tolist()


def test_the_collection_given_keeps_nothing(bank):
    tl.Nearest(KERNEL).fit(bank)
    tl.nearest(KERNEL, bank)
    assert bank._indexes is None


def test_words_that_come_later_have_neighbors_of_their_own():
    vectors = {"cat": [1.0, 0.0], "dog": [0.9, 0.1], "car": [0.0, 1.0], "bus": [0.1, 0.9]}
    kernel = tl.Smoothed(vectors).normalized()
    search = tl.Nearest(kernel, n_neighbors=1).fit(["(S (N cat))", "(S (N car))"])
    assert search.kneighbors(["(S (N dog))", "(S (N bus))"])[1].tolist() == [[0], [1]]


def test_values_that_fit_no_float_are_compared_all_the_same(bank):
    deep = "(A " * 700 + "(B (C c) (D d))" + ")" * 700
    wide = [f"(S {' '.join(f'(N{i} (P p) (Q q))' for i in range(n))})" for n in (400, 500, 600)]
    kernel = tl.SubsetTree(lam=1).normalized()
    search = tl.Nearest(kernel, n_neighbors=2).fit(bank)
    for Q in ([deep], wide):  # the bank's own values are small
        expected, order = tl.nearest(kernel, bank, Q, 2)
        values, indices = search.kneighbors(Q)
        np.testing.assert_array_equal(indices, order)
        np.testing.assert_allclose(values, expected)


def test_threads_may_ask_at_once(bank, made):
    search = tl.Nearest(KERNEL + tl.PartialTree(), n_neighbors=4).fit(bank)
    expected = search.kneighbors(bank)[1]
    fresh = pickle.loads(pickle.dumps(search))
    made.clear()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda n: fresh.kneighbors(bank[n : n + 1])[1][0], range(len(bank))))
    np.testing.assert_array_equal(found, expected)
    assert len(made) == 1


# --- thresholds and graphs ----------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(
    bank=st.lists(trees(), min_size=2, max_size=10),
    queries=st.none() | st.lists(trees(), max_size=4),
    threshold=st.sampled_from([0.0, 0.2, 0.5, 1.0]),
    k=st.none() | st.integers(1, 12),
    distance=st.booleans(),
    memory=st.sampled_from([None, 2000]),
    n_jobs=st.sampled_from([1, 2]),
)
def test_a_threshold_and_a_graph(bank, queries, threshold, k, distance, memory, n_jobs):
    kernel = KERNEL.distance() if distance else KERNEL
    bank += bank[:2]  # some that are equal
    there = len(bank) - (queries is None)
    k = None if k is None else min(k, there)
    graph = tl.nearest(kernel, bank, queries, k, threshold=threshold, graph=True, memory=memory, n_jobs=n_jobs)
    K = kernel(bank if queries is None else queries, bank)
    assert graph.shape == K.shape
    sign = -1 if distance else 1
    for row, values in enumerate(K):
        others = [n for n in range(len(bank)) if queries is not None or n != row]
        wanted = sorted(others, key=lambda n: (-sign * round(values[n], 9), n))[:k]
        wanted += [row] * (queries is None)
        wanted = sorted(wanted, key=lambda n: (-sign * round(values[n], 9), n))
        wanted = [n for n in wanted if sign * values[n] >= sign * threshold - 1e-9]
        part = slice(graph.indptr[row], graph.indptr[row + 1])
        assert graph.indices[part].tolist() == wanted
        np.testing.assert_allclose(graph.data[part], values[wanted], rtol=1e-9, atol=1e-9)
    if k is not None:
        values, indices = tl.nearest(kernel, bank, queries, k, threshold=threshold, memory=memory)
        assert ((indices == -1) == np.isinf(values)).all()
        for row, numbers in enumerate(indices):
            listed = graph.indices[graph.indptr[row] : graph.indptr[row + 1]]
            assert [n for n in numbers if n >= 0] == [n for n in listed if queries is not None or n != row]


def test_equals_are_one_however_they_are_added_up():
    """The same tree has one value, whichever block it is in and from whichever side it is compared."""
    bank = tl.datasets.flights(15)
    thrice = bank + bank + bank
    kernel = tl.PartialTree(lam=0.7, mu=0.3).normalized()
    expected = tl.nearest(kernel, thrice, thrice, k=9)[1]
    expected = np.array([[n for n in row if n != place][:8] for place, row in enumerate(expected.tolist())])
    for memory in (None, "200kB", "60kB"):
        for n_jobs in (1, 2):
            values, indices = tl.nearest(kernel, thrice, k=8, memory=memory, n_jobs=n_jobs)
            np.testing.assert_array_equal(indices, expected)
            tied = values[:, 1:] == values[:, :-1]
            assert (np.diff(indices)[tied] > 0).all()
            assert tied.mean() > 0.5


def test_within_a_threshold(bank):
    search = tl.Nearest(KERNEL).fit(bank)
    K = KERNEL(bank)
    values, indices = search.threshold_neighbors(0.3, bank)
    for row in range(len(bank)):
        assert sorted(indices[row]) == np.flatnonzero(K[row] >= 0.3 - 1e-12).tolist()
        assert (np.diff(values[row]) <= 0).all()
    _, others = search.threshold_neighbors(0.3)
    assert [list(part) for part in others] == [[n for n in part if n != row] for row, part in enumerate(indices)]
    assert search.threshold_neighbors(2.0, [])[0] == []


def test_scikit_learn_takes_the_graph(bank):
    search = tl.Nearest(KERNEL, n_neighbors=20).fit(bank)
    D = KERNEL.distance()(bank)
    with warnings.catch_warnings():
        warnings.simplefilter("error", EfficiencyWarning)  # rows that are not in order
        sort_graph_by_row_values(search.kneighbors_graph(), warn_when_not_sorted=True)
        near = search.kneighbors_graph(threshold=1.15)
        found = DBSCAN(1.15, min_samples=3, metric="precomputed").fit_predict(near)
        np.testing.assert_array_equal(found, DBSCAN(1.15, min_samples=3, metric="precomputed").fit_predict(D))
        assert len(set(found)) > 1
        points = TSNE(perplexity=5, metric="precomputed", init="random", max_iter=250).fit_transform(search.kneighbors_graph())  # fmt: skip
        assert points.shape == (60, 2)
        mode = search.kneighbors_graph(mode="similarity")
        spread = LabelSpreading(kernel=lambda X, Y: mode).fit(np.arange(60)[:, None], np.where(np.arange(60) % 3, -1, np.arange(60) % 2))  # fmt: skip
        assert set(spread.transduction_) == {0, 1}
    theirs = KNeighborsTransformer(n_neighbors=20, metric="precomputed").fit(D).transform(D)
    ours = search.transform(bank)
    assert ours.nnz == theirs.nnz == 21 * 60
    np.testing.assert_allclose(np.sort(ours.data.reshape(60, -1)), np.sort(theirs.data.reshape(60, -1)), atol=1e-7)
    assert set(np.unique(search.kneighbors_graph(mode="connectivity").data)) == {1.0}


def test_in_a_pipeline(bank):
    y = [str(tree).count("NP") > 3 for tree in bank]
    model = make_pipeline(tl.Nearest(KERNEL, n_neighbors=5), KNeighborsClassifier(3, metric="precomputed"))
    model.fit(bank[:40], y[:40])
    D = KERNEL.distance()
    direct = KNeighborsClassifier(3, metric="precomputed").fit(D(bank[:40]), y[:40])
    np.testing.assert_array_equal(model.predict(bank[40:]), direct.predict(D(bank[40:], bank[:40])))


# --- an estimator -------------------------------------------------------------------------------------------------

TREES = ["(S (A a) (B b))", "(S (A a) (B c))", "(S (A d) (B b))", "(S (A d) (C c))", "(T (A a))", "(T (C c) (C c))"]


@pytest.mark.parametrize("memory", [None, 3000])
def test_check_estimator(memory):
    check_estimator(tl.Nearest(KERNEL, n_neighbors=3, memory=memory, n_jobs=2), TREES)
    check_estimator(tl.Nearest(n_neighbors=5), tl.Treebank(TREES))


def test_another_fit_forgets_the_first(bank):
    search = tl.Nearest(tl.SubsetTree(lam=0.4).normalized(), n_neighbors=1).fit(TREES)
    search.fit(bank)
    assert search.kneighbors(bank[:3])[0].round(9).tolist() == [[1.0], [1.0], [1.0]]
    search.kernel.kernel.lam = 0.9  # what is done after a fit does not touch it
    assert search.kernel_ == KERNEL


def test_what_is_wrong_is_said(bank):
    search = tl.Nearest(KERNEL).fit(TREES)
    with pytest.raises(tl.TreeletError, match=r"'n_neighbors'.*at most 6"):
        search.kneighbors(bank)
    with pytest.raises(tl.TreeletError, match=r"'n_neighbors'.*6 examples has only 5 others"):
        search.kneighbors(n_neighbors=6)
    with pytest.raises(tl.TreeletError, match=r"'mode'.*'similarity' or 'connectivity'"):
        search.kneighbors_graph(mode="cosine")
    with pytest.raises(tl.TreeletError, match=r"'threshold'.*a number.*None"):
        search.threshold_neighbors(None)
    with pytest.raises(tl.TreeletError, match=r"'threshold'.*None or a number.*'a'"):
        tl.nearest(KERNEL, TREES, threshold="a")
    with pytest.raises(tl.TreeletError, match=r"'graph'.*True or False"):
        tl.nearest(KERNEL, TREES, graph="distance")
    with pytest.raises(tl.TreeletError, match=r"'n_neighbors'.*an int of at least 1"):
        tl.Nearest(n_neighbors=0).fit(TREES)
    with pytest.raises(tl.TreeletError, match=r"'kernel'.*a kernel, a distance or None"):
        tl.Nearest("cosine").fit(TREES)
    with pytest.raises(tl.TreeletError, match=r"'mode'.*'distance' or 'connectivity'"):
        tl.Nearest(KERNEL.distance()).fit(TREES).kneighbors_graph(n_neighbors=2, mode="similarity")
    with pytest.raises(NotFittedError):
        clone(search).kneighbors(TREES)
    with pytest.raises(tl.TreeletError, match="1 example, but Nearest needs at least 2"):
        tl.Nearest(KERNEL).fit(TREES[:1]).kneighbors()


@pytest.mark.parametrize("inner", [tl.PartialTree(lam=0.4, mu=0.4), tl.SubsetTree(lam=0.37), tl.Subtree(lam=0.3)])
def test_values_of_a_normalized_kernel_do_not_exceed_1(inner: tl.kernels.Kernel) -> None:
    kernel, bank = inner.normalized(), tl.datasets.flights(200)
    assert tl.gram(kernel, bank, bank).max() > 1  # rounding, which the matrix keeps
    search = tl.Nearest(kernel).fit(bank)
    found = [
        tl.nearest(kernel, bank, bank, k=3)[0],
        tl.nearest(kernel, bank, bank, k=3, n_jobs=2)[0],
        tl.nearest(kernel, bank, bank, threshold=0.5, graph=True).data,
        tl.nearest(tl.On("tree", kernel), tl.structures.Table({"tree": bank}), k=3, graph=True).data,
        search.kneighbors(bank, 3)[0],
        *search.threshold_neighbors(0.5, bank)[0],
    ]
    for values in found:
        assert values.max() <= 1
    large = tl.nearest(inner, bank, bank, k=1)[0]  # without normalization, nothing changes
    np.testing.assert_allclose(large[:, 0], tl.gram(inner, bank).max(axis=1))


def test_only_rounding_is_removed() -> None:
    values = np.array([0.5, 1.0, 1 + 1e-15, -1 - 1e-15, 1.01, -1.01, -np.inf])
    assert without_excess(tl.Linear().normalized(), values).tolist() == [0.5, 1.0, 1.0, -1.0, 1.01, -1.01, -np.inf]
