"""The partial-tree kernel on a device, in the CPU build, has the values of the native core."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cases
import treelet as tl
from treelet import _core
from treelet.device import partial_tree
from treelet.device.launching import Device, _Emulated
from treelet.device.partial_tree import PartialTreeColumns
from treelet.errors import NotEnoughMemoryError, TreeletError
from treelet.kernels.store import StoreRows
from treelet.structures import Tree

CASES = {name: case.kernel for name, case in cases.PLAIN.items() if type(case.kernel) is tl.PartialTree}
SOME = {name: CASES[name] for name in ("pt", "pt no leaves", "pt large terminals")}


@pytest.fixture(scope="module")
def device() -> _Emulated:
    return _Emulated()


def fill(columns: PartialTreeColumns, rows: StoreRows, begin: int, end: int, width: int, halves: bool = False) -> Any:
    """Compute rows of a matrix into an array of NaN."""
    out = np.full((end - begin, width), np.nan)
    assert columns.rows(columns.bind(*rows[:2]), rows.limit if halves else None, begin, end, out) is None
    return out


def compare(device: Device, kernel: tl.PartialTree, X: Any, Y: Any = None, rtol: float = 1e-13) -> None:
    """Compare all rows at once; without other columns, also the half up to the diagonal, in strips."""
    X = tl.Treebank.of(X)
    columns, rows = (X, X) if Y is None else tl.Treebank.of(Y).joined(X)
    expected = kernel(X, Y)
    there, mine = StoreRows.of(columns), StoreRows.of(rows)
    bound = PartialTreeColumns(device, *there[:2], *kernel._native_parameters(there.store))
    n, m = expected.shape
    np.testing.assert_allclose(fill(bound, mine, 0, n, m), expected, rtol=rtol)
    if Y is None:
        for begin, end in ((0, n // 3), (n // 3, n)):
            lower = np.tril(np.ones((end, end), bool))[begin:]
            found = fill(bound, mine, begin, end, end, halves=True)
            np.testing.assert_allclose(found[lower], expected[begin:end, :end][lower], rtol=rtol)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("seed", range(3))
def test_values(device: _Emulated, name: str, seed: int) -> None:
    X, Y = cases.examples("trees", 25, seed), cases.examples("trees", 12, 100 + seed)
    compare(device, CASES[name], X)
    compare(device, CASES[name], X, Y)
    compare(device, CASES[name], Y, X)


@pytest.mark.parametrize("name", CASES)
def test_a_model(device: _Emulated, name: str) -> None:
    """Columns may be sums of trees with arbitrary weights."""
    kernel, rng = CASES[name], np.random.default_rng(1)
    support, X = (tl.Treebank(cases.examples("trees", n, n)) for n in (20, 15))
    coefficients = rng.normal(size=(3, 20)) * (rng.random((3, 20)) < 0.6)
    used = [np.flatnonzero(row) for row in coefficients]
    start = np.cumsum([0, *map(len, used)])
    at_roots = _core.NodeWeights.of(
        start.astype(np.int64),
        np.concatenate(used).astype(np.int32),
        np.concatenate([row[row != 0] for row in coefficients]),
    )
    columns, rows = support.joined(X)
    weights = _core.NodeWeights.spread(*columns.columns, at_roots)
    bound = PartialTreeColumns(device, columns.columns.store, weights, *kernel._native_parameters(None))
    expected = kernel(X, support) @ coefficients.T
    found = fill(bound, StoreRows.of(rows), 0, 15, 3)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * abs(expected).max())


@pytest.mark.parametrize("name", SOME)
def test_many_generations_and_little_memory(device: _Emulated, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partial_tree, "GENERATION", 7)
    small = _Emulated(free=100_000)
    X = cases.examples("trees", 40, 5)
    compare(small, SOME[name], X)
    compare(device, SOME[name], X)


EDGES = {
    "one word": [Tree("x"), Tree("y"), Tree("x"), "(A x)"],
    "missing": [None, "(A x)", None, "(A (A x) x)"],
    "words named like labels": ["(A A)", "(A (A x) A)", Tree("A"), "(B (A A) (A (A x)))", "(A (B x) B)", "(B A B)"],
    "tags over more than words": [
        "(S (N x) (V y))",
        "(S (N (N x)) (V y z))",
        "(S (N x y) (V (N x)))",
        "(N x)",
        "(N (x y))",
    ],
    "only missing": [None, None],
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("edge", EDGES)
def test_edges(device: _Emulated, name: str, edge: str) -> None:
    compare(device, CASES[name], EDGES[edge])
    compare(device, CASES[name], EDGES[edge], cases.examples("trees", 5))
    compare(device, CASES[name], cases.examples("trees", 5), EDGES[edge])


def test_nothing(device: _Emulated) -> None:
    for X, Y in ([], None), ([], ["(A x)"]), (["(A x)"], []):
        compare(device, tl.PartialTree(), X, Y)


def wide_tree(rng: np.random.Generator, children: int) -> Tree:
    """Children with few labels, among them words."""
    kids = [cases.random_tree(rng, 2) if rng.random() < 0.7 else "ABxyz"[rng.integers(5)] for _ in range(children)]
    return Tree("AB"[rng.integers(2)], kids)


@pytest.mark.parametrize("name", SOME)
def test_wide_nodes(device: _Emulated, name: str) -> None:
    """Both nodes are narrow enough for one thread, one of them, or none; wide nodes are below each other."""
    rng = np.random.default_rng(3)
    X = [wide_tree(rng, children) for children in (31, 32, 33, 40, 70, 3, 5, 1, 100, 65, 34)]
    X += [Tree("A", [X[3], "x", X[2], X[4], *wide_tree(rng, 35)]), Tree("B", [X[8], X[3]])]
    compare(device, SOME[name], X)
    compare(device, SOME[name], X[::2], X[1::2])


def test_very_wide_nodes(device: _Emulated) -> None:
    X = [Tree("A", ["x"] * 1000), Tree("A", ["x", "y"] * 400), Tree("A", ["z", *(f"w{i}" for i in range(100_000))])]
    compare(device, tl.PartialTree(lam=0.1, mu=0.1), X[:2])
    compare(device, tl.PartialTree(), X[2:], ["(A z w3 w9)", "(B (A w99999 w7))", "(A x)"])
    compare(device, tl.PartialTree(), ["(A z w3 w9)", "(B (A w99999 w7))", "(A x)"], X[2:])


def test_deep_chains(device: _Emulated) -> None:
    short = ["(A (A (A x)))", "(A (B x))", "(B (A (B (A x))))"]
    deep = ["(A " * 100_000 + "x" + ")" * 100_000, "(A (B " * 200 + "x" + "))" * 200]
    compare(device, tl.PartialTree(), deep, short, rtol=1e-11)  # the core adds 100,000 equal numbers one by one
    compare(device, tl.PartialTree(), short, deep, rtol=1e-11)
    compare(device, tl.PartialTree(leaves=False), deep[1:])


def test_what_does_not_fit() -> None:
    X = tl.Treebank(["(A " * 20_000 + "x" + ")" * 20_000])
    rows = StoreRows.of(X)
    bound = PartialTreeColumns(_Emulated(free=1 << 28), *rows[:2], 0.4, 0.4, True, 1.0, None)
    with pytest.raises(NotEnoughMemoryError, match="values take"):
        fill(bound, rows, 0, 1, 1)


def test_what_is_too_large(device: _Emulated) -> None:
    """A value that does not fit a float64 is reported in the same way as by the core."""
    X = tl.Treebank(["(A x)", Tree("A", [Tree("A", ["x"] * 400)] * 400)])
    rows = StoreRows.of(X)
    bound = PartialTreeColumns(device, *rows[:2], 1.0, 1.0, True, 1.0, None)
    assert bound.rows(bound.bind(*rows[:2]), None, 0, 2, np.zeros((2, 2))) == (1, 1)
    native = tl.PartialTree(lam=1, mu=1).native(rows.store, rows.weights, False)
    assert native.rows(rows.store, rows.weights, None, 0, 2, np.zeros((2, 2))) == (1, 1)


def test_similar_words_are_refused(device: _Emulated) -> None:
    kernel = cases.PLAIN["smoothed"].kernel
    assert isinstance(kernel, tl.Smoothed)
    rows = StoreRows.of(tl.Treebank(["(A x)", "(A y)"]))
    with pytest.raises(TreeletError, match="device='cpu'"):
        PartialTreeColumns(device, *rows[:2], *kernel._native_parameters(rows.store))
