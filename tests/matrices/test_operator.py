"""Products with kernel matrices: from merged rows, they equal those with the values of the matrix."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import treelet as tl
from cases import EXAMPLES, KERNELS
from treelet.datasets import flights
from treelet.matrices import operator
from treelet.resources import Resources

SST, PT = tl.SubsetTree(lam=0.4), tl.PartialTree(lam=0.4, mu=0.4)


def products(kernel: Any, X: Any, Y: Any = None, **options: Any) -> Any:
    from treelet.matrices.operator import Products  # the package exports a function of this name

    return Products(kernel, X, Y, Resources.of(**options))


@pytest.fixture(scope="module")
def bank() -> tl.Treebank:
    return flights(300, random_state=2)


@pytest.mark.parametrize("name", KERNELS)
def test_products_of_all_kernels(name: str) -> None:
    kernel, kind = KERNELS[name].kernel, KERNELS[name].kind
    X, rng = EXAMPLES[kind], np.random.default_rng(0)
    K, V = kernel(X), rng.normal(size=(len(X), 3))
    size = max(1.0, np.abs(K).max())
    np.testing.assert_allclose(operator(kernel, X) @ V, K @ V, atol=1e-12 * size, rtol=1e-12)
    some = operator(kernel, X[:5], X)
    np.testing.assert_allclose(some @ V[:, 0], K[:5] @ V[:, 0], atol=1e-12 * size, rtol=1e-12)
    np.testing.assert_allclose(some.T @ V[:5, 1], K[:5].T @ V[:5, 1], atol=1e-12 * size, rtol=1e-12)
    chosen = np.array([7, 2, 11])
    combined = products(kernel, X).combined(chosen, V[chosen].T)
    np.testing.assert_allclose(combined, V[chosen].T @ K[chosen], atol=1e-12 * size, rtol=1e-12)


@pytest.mark.parametrize(
    "kernel",
    [
        SST,
        PT,
        SST.normalized(),
        SST + 2 * PT.normalized(),
        SST.normalized() + 1,
        tl.Subtree(),
        tl.SubsetTree(max_depth=2),
    ],
    ids=repr,
)
def test_rows_are_merged(kernel: tl.kernels.Kernel, bank: tl.Treebank, monkeypatch: pytest.MonkeyPatch) -> None:
    """No value of the matrix is computed: tiles are not used at all."""
    v = np.random.default_rng(1).normal(size=len(bank))
    expected = kernel(bank) @ v
    monkeypatch.setattr("treelet.matrices.executors.Executor.multiply", None)
    np.testing.assert_allclose(operator(kernel, bank) @ v, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("kernel", [SST.gaussian(2.0), SST * PT, SST.polynomial(2), tl.EditDistance()], ids=repr)
def test_other_kernels_use_tiles(kernel: Any, bank: tl.Treebank) -> None:
    some = bank[:40]
    v = np.random.default_rng(1).normal(size=len(some))
    assert not products(kernel, some)._merges
    np.testing.assert_allclose(operator(kernel, some) @ v, kernel(some) @ v, rtol=1e-11)


def test_a_sum_merges_the_terms_that_it_can(bank: tl.Treebank) -> None:
    some, kernel = bank[:60], SST.normalized() + SST.normalized().gaussian(1.0)
    v = np.random.default_rng(1).normal(size=len(some))
    assert products(kernel, some)._merges
    np.testing.assert_allclose(operator(kernel, some) @ v, kernel(some) @ v, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(("kernel", "limit"), [(SST.normalized(), 20_000), (PT, 200_000)])
def test_little_memory_divides_rows(
    kernel: tl.kernels.Kernel, limit: int, bank: tl.Treebank, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stored values beyond the limit are refused by the core; the rows are then merged in smaller parts."""
    v = np.random.default_rng(3).normal(size=(1, len(bank)))
    rows = np.arange(len(bank))
    whole = products(kernel, bank).combined(rows, v)
    limited = products(kernel, bank)
    limited.combined(rows[:1], v[:, :1])
    (term,) = limited._merged[False]._terms
    term.pieces.stored = limit
    parts = limited.combined(rows, v)
    assert term.pieces._most[0] < term.entries.sum()
    np.testing.assert_allclose(parts, whole, rtol=1e-9, atol=1e-10 * np.abs(whole).max())
    assert (limited.combined(rows, v) == parts).all()  # the same division, to the bit
    term.pieces.stored = 0
    monkeypatch.setattr(term.pieces, "_most", np.ones(1))
    with pytest.raises(tl.errors.NotEnoughMemoryError):
        limited.combined(rows, v)


@pytest.mark.parametrize("kernel", [SST.normalized(), PT.normalized(), tl.Subtree() + SST], ids=repr)
def test_threads_do_not_change_a_bit(
    kernel: tl.kernels.Kernel, bank: tl.Treebank, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = sys.modules["treelet.matrices.operator"]  # the package exports a function of this name
    monkeypatch.setattr(module, "_COLUMNS", 37)
    monkeypatch.setattr(module, "_HALVES", 10)
    v = np.random.default_rng(1).normal(size=(len(bank), 2))
    one, four = (operator(kernel, bank, n_jobs=n_jobs) @ v for n_jobs in (1, 4))
    assert (one == four).all()
    small = operator(kernel, bank, memory="1MiB") @ v  # the indexes of the pieces are built again for each product
    np.testing.assert_allclose(small, one, rtol=1e-9, atol=1e-10 * np.abs(one).max())


def test_values_beyond_float64_use_tiles() -> None:
    wide = "(A " + "(B x)" * 2000 + "(C x))"  # 2 to the power of 2001 fragments
    X = [wide, wide.replace("C x", "C y"), "(A x)"]
    kernel = tl.SubsetTree(lam=1.0).normalized()
    v = np.array([1.0, -2.0, 3.0])
    np.testing.assert_allclose(operator(kernel, X) @ v, kernel(X) @ v, rtol=1e-10)
    with pytest.raises(tl.errors.KernelOverflowError):
        operator(tl.SubsetTree(lam=1.0), X) @ v


def test_weights_that_cancel_and_missing_trees() -> None:
    X = ["(NP (D a) (N dog))", "(NP (D a) (N dog))", None, "(NP (D a) (N cat))"]
    K = SST.normalized()(X)
    for v in ([1.0, -1.0, 5.0, 0.0], [0.0, 0.0, 0.0, 0.0], [1.0, 2.0, 3.0, 4.0]):
        np.testing.assert_allclose(operator(SST.normalized(), X) @ np.array(v), K @ v, atol=1e-14)
    assert np.isnan(operator(SST, X) @ np.array([np.nan, 0, 0, 0])).any()


def test_vectors_are_matched_by_name() -> None:
    X, Y = [{"a": 1.0, "b": 2.0}, {"b": 1.0}], [{"b": 3.0}, {"c": 1.0, "a": 2.0}]
    kernel = tl.Linear() + 1
    np.testing.assert_allclose(operator(kernel, X, Y) @ np.array([1.0, 2.0]), kernel(X, Y) @ [1.0, 2.0])


def test_empty_collections(bank: tl.Treebank) -> None:
    assert (operator(SST, bank[:0], bank[:3]) @ np.ones(3)).shape == (0,)
    assert (operator(SST, bank[:3], bank[:0]) @ np.ones(0) == 0).all()
