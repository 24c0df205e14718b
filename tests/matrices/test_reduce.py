"""Reductions over tiles equal those of the whole matrix."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.linalg import eigsh

import treelet as tl
from treelet.matrices import operator, reduce
from treelet.testing import trees

KERNELS = [tl.SubsetTree(lam=0.4), tl.SubsetTree(lam=1).normalized(), tl.PartialTree() + tl.Subtree(), tl.SubsetTree().gaussian(2)]  # fmt: skip


def by_the_whole_matrix(K: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(-K, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(K, order, axis=1), order


@given(
    bank=st.lists(trees(), min_size=2, max_size=12),
    queries=st.lists(trees(), max_size=4),
    kernel=st.sampled_from(KERNELS),
    data=st.data(),
    memory=st.sampled_from([None, 2000, "20kB"]),
    n_jobs=st.sampled_from([1, 2]),
)
def test_neighbors_are_those_of_the_matrix(bank, queries, kernel, data, memory, n_jobs):
    k = data.draw(st.integers(1, len(bank)))
    values, indices = tl.nearest(kernel, bank, queries, k, memory=memory, n_jobs=n_jobs)
    expected, order = by_the_whole_matrix(kernel(queries, bank), k)
    assert values.shape == indices.shape == (len(queries), k)
    np.testing.assert_allclose(values, expected, rtol=1e-12)
    np.testing.assert_array_equal(indices, order)


@given(bank=st.lists(trees(), min_size=2, max_size=12), memory=st.sampled_from([None, 2000]), data=st.data())
def test_within_a_collection_an_example_is_no_neighbor_of_itself(bank, memory, data):
    k = data.draw(st.integers(1, len(bank) - 1))
    kernel = tl.SubsetTree(lam=0.4).normalized()
    K = kernel(bank, bank)
    np.fill_diagonal(K, -np.inf)
    values, indices = tl.nearest(kernel, bank, k=k, memory=memory)
    expected, order = by_the_whole_matrix(K, k)
    np.testing.assert_allclose(values, expected, rtol=1e-12)
    np.testing.assert_array_equal(indices, order)


def test_ties_go_by_number_whatever_the_blocks():
    bank = ["(A a)", "(B b)"] * 50
    for memory in (None, 3000, 10_000):
        values, indices = tl.nearest(tl.SubsetTree(lam=1), bank, ["(B b)"], 60, memory=memory)
        assert indices[0].tolist() == [*range(1, 100, 2), *range(0, 20, 2)]
        assert values[0].tolist() == [1.0] * 50 + [0.0] * 10


@pytest.mark.parametrize("memory", [None, "50kB"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_tiles_are_the_matrix_and_no_cell_comes_twice(memory, n_jobs):
    bank, other, kernel = tl.datasets.flights(60), tl.datasets.flights(30), tl.PartialTree()
    for Y in (None, other):
        whole = kernel(bank, Y)
        seen, tiles = np.zeros(whole.shape, int), set()

        def take(rows: slice, columns: slice, values: np.ndarray) -> None:
            np.testing.assert_allclose(values, whole[rows, columns], rtol=1e-12)
            seen[rows, columns] += 1
            tiles.add(columns.start)
            assert not values.flags.writeable

        reduce(kernel, bank, Y, take, memory=memory, n_jobs=n_jobs)
        assert (seen == 1).all()
        assert len(tiles) > 1 or memory is None


KINDS = [tl.SubsetTree(lam=0.4), tl.PartialTree().normalized(), tl.SubsetTree().gaussian(2), tl.SubsetTree().normalized().distance()]  # fmt: skip


@pytest.mark.parametrize("memory", [None, "30kB"])
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("kernel", KINDS, ids=repr)
def test_an_operator_is_the_matrix(kernel, memory, n_jobs):
    bank, other = tl.datasets.flights(24), tl.datasets.flights(12, random_state=5)
    for Y in (None, other):
        K, found = kernel(bank, Y), operator(kernel, bank, Y, memory=memory, n_jobs=n_jobs)
        assert found.shape == K.shape
        rng = np.random.default_rng(0)
        V, U = rng.normal(size=(K.shape[1], 3)), rng.normal(size=(24, 2))
        np.testing.assert_allclose(found @ V, K @ V, atol=1e-10)
        np.testing.assert_allclose(found @ V[:, 0], K @ V[:, 0], atol=1e-10)
        np.testing.assert_allclose(found.matvec(V[:, :1]), K @ V[:, :1], atol=1e-10)
        np.testing.assert_allclose(found.T @ U, K.T @ U, atol=1e-10)
        np.testing.assert_allclose(found.rmatvec(U[:, 0]), K.T @ U[:, 0], atol=1e-10)
        np.testing.assert_array_equal(found @ V, found @ V)  # however fast threads are


def test_solvers_take_an_operator():
    kernel, bank = tl.SubsetTree().normalized(), tl.datasets.flights(50)
    K, found = kernel(bank), operator(kernel, bank)
    np.testing.assert_allclose(eigsh(found, 3, return_eigenvectors=False), np.linalg.eigvalsh(K)[-3:])
    with pytest.raises(tl.TreeletError, match="cannot be multiplied by complex vectors"):
        found @ (1j * np.ones(50))
    with pytest.raises(tl.TreeletError, match="operator must be a kernel"):
        operator(bank, kernel)
    assert operator(kernel, [], bank).matvec(np.ones(50)).shape == (0,)


def test_what_is_wrong_is_said():
    kernel = tl.SubsetTree()
    with pytest.raises(tl.TreeletError, match=r"'k'.*at most 1, because each.*2"):
        tl.nearest(kernel, ["(A a)", "(B b)"], k=2)
    with pytest.raises(tl.TreeletError, match=r"'k'.*at most 2.*3"):
        tl.nearest(kernel, ["(A a)", "(B b)"], ["(A a)"], 3)
    with pytest.raises(tl.TreeletError, match=r"'k'.*an int of at least 1"):
        tl.nearest(kernel, ["(A a)", "(B b)"], ["(A a)"], 0)
    with pytest.raises(tl.TreeletError, match="nearest must be a kernel"):
        tl.nearest(["(A a)"], kernel)
    assert tl.nearest(kernel, ["(A a)"], [], 1)[1].shape == (0, 1)


def test_all_where_there_are_fewer_than_usual():
    bank = ["(S (A a))", "(S (B b))", "(S (A a) (B b))"]
    kernel = tl.SubsetTree().normalized()
    assert tl.nearest(kernel, bank)[1].shape == (3, 2)
    assert tl.nearest(kernel, bank, bank[:1])[1].shape == (1, 3)
    with pytest.raises(tl.TreeletError, match="1 example, but nearest needs at least 2"):
        tl.nearest(kernel, bank[:1])
    with pytest.raises(tl.TreeletError, match="nearest needs at least one example in X"):
        tl.nearest(kernel, [], bank)
