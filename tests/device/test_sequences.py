"""Subtrees, tag sequences and windows on a device, in the CPU build, have the values of the native core."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cases
import treelet as tl
from treelet import _core
from treelet.device import tagging
from treelet.device.counts import SubtreeColumns
from treelet.device.launching import _Emulated
from treelet.device.locality import LocalityColumns, SubsequenceColumns
from treelet.device.tagging import TaggingColumns
from treelet.errors import NotEnoughMemoryError
from treelet.kernels.store import StoreKernel, StoreRows
from treelet.structures import Tagged, Tree

ALGORITHMS: dict[type[Any], Any] = {
    tl.Subtree: SubtreeColumns,
    tl.Tagging: TaggingColumns,
    tl.Locality: LocalityColumns,
    tl.Subsequence: SubsequenceColumns,
}
CASES = {name: case for name, case in cases.PLAIN.items() if type(case.kernel) in ALGORITHMS}
CASES |= {
    "locality at places": cases.Case(tl.Locality(window=7, theta=0), "sequences"),
    "locality far": cases.Case(tl.Locality(window=9, theta=100.0), "sequences"),
    "locality alone": cases.Case(tl.Locality(window=1), "sequences"),
    "locality as wide as can be": cases.Case(tl.Locality(window=2**40, match="count"), "sequences"),
    "locality exact, wide": cases.Case(tl.Locality(window=9, match="exact", weights={"w": 0.3}), "sequences"),
    "subsequence of one": cases.Case(tl.Subsequence(lam=0.3, length=1), "sequences"),
    "subsequence of five": cases.Case(tl.Subsequence(lam=1, length=5), "sequences"),
    "subsequence of too many": cases.Case(tl.Subsequence(lam=0.5, length=2**40), "sequences"),
    "locality without a type": cases.Case(tl.Locality(window=3, weights={"w": 0}), "sequences"),
}


@pytest.fixture(scope="module")
def device() -> _Emulated:
    return _Emulated()


def bound(device: _Emulated, kernel: StoreKernel, columns: StoreRows, rows_store: Any = None) -> Any:
    parameters = kernel._native_parameters(rows_store or columns.store)
    return ALGORITHMS[type(kernel)](device, *columns[:2], *parameters)


def matrix(device: _Emulated, kernel: StoreKernel, X: Any, Y: Any = None) -> Any:
    X = kernel.coerce(X)
    columns, X = (X, X) if Y is None else kernel.coerce(Y).joined(X)
    rows = StoreRows.of(X)
    out = np.full((len(X), len(columns)), np.nan)
    index = bound(device, kernel, StoreRows.of(columns), rows.store)
    assert index.rows(index.bind(*rows[:2]), None, 0, len(X), out) is None
    return out


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("seed", range(3))
def test_values(device: _Emulated, name: str, seed: int) -> None:
    kernel: Any = CASES[name].kernel
    X = kernel.coerce(cases.examples(CASES[name].kind, 30, seed))
    Y = kernel.coerce(cases.examples(CASES[name].kind, 17, 100 + seed))
    K = kernel(X)
    np.testing.assert_allclose(matrix(device, kernel, X), K, rtol=1e-14)
    np.testing.assert_allclose(matrix(device, kernel, X, Y), kernel(X, Y), rtol=1e-14)
    np.testing.assert_allclose(matrix(device, kernel, X[::-1]), K[::-1, ::-1], rtol=1e-14)


@pytest.mark.parametrize("name", CASES)
def test_halves_in_strips(name: str) -> None:
    kernel: Any = CASES[name].kernel
    X = kernel.coerce(cases.examples(CASES[name].kind, 30, 7))
    K, rows = kernel(X), StoreRows.of(X)
    few = 1 << 17 if isinstance(kernel, tl.Subsequence) else 1 << 11  # bytes: for some strips
    columns = bound(_Emulated(few), kernel, rows)
    bound_rows = columns.bind(*rows[:2])
    for begin, end in [(0, 1), (1, 18), (18, 30)]:
        out = np.full((end - begin, end + 3), np.nan)[:, :end]
        assert columns.rows(bound_rows, rows.limit, begin, end, out) is None
        lower = np.tril(np.ones((end, end), bool))[begin:]
        np.testing.assert_allclose(out[lower], K[begin:end, :end][lower], rtol=1e-14)
    single = np.empty((30, 30), np.float32)
    columns.rows(bound_rows, None, 0, 30, single)
    np.testing.assert_allclose(single, K, rtol=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_models(device: _Emulated, name: str) -> None:
    """Columns are sums of examples, some of them with a coefficient of 0."""
    kernel: Any = CASES[name].kernel
    X = kernel.coerce(cases.examples(CASES[name].kind, 12, 5))
    store, roots = X.columns
    rng = np.random.default_rng(3)
    weight = rng.normal(size=(3, 12)) * (rng.random((3, 12)) < 0.6)
    at_roots = _core.NodeWeights.of(np.arange(0, 37, 12), np.tile(np.arange(12, dtype=np.int32), 3), weight.ravel())
    columns, rows = StoreRows(store, _core.NodeWeights.spread(store, roots, at_roots), roots), StoreRows.of(X)
    out, expected = np.empty((12, 3)), np.empty((12, 3))
    index = bound(device, kernel, columns)
    index.rows(index.bind(store, rows.weights), None, 0, 12, out)
    kernel.native(store, columns.weights, False).rows(store, rows.weights, None, 0, 12, expected)
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-13 * abs(expected).max())


@pytest.mark.parametrize("tags", [2, 4])
def test_kinds_of_other_sizes(device: _Emulated, tags: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tagging, "_TAGS", tags)
    X = cases.examples("tagged", 30, 1)
    np.testing.assert_allclose(matrix(device, cases.TAGS, X), cases.TAGS(X), rtol=1e-14)


@pytest.mark.parametrize("name", ["st", "tagging", "locality position", "subsequence"])
def test_nothing(device: _Emulated, name: str) -> None:
    kernel: Any = CASES[name].kernel
    X = cases.examples(CASES[name].kind, 4)
    for rows, columns in [([], None), (X, []), ([], X), ([None], X), (X, [None, None])]:
        found = matrix(device, kernel, rows, columns)
        np.testing.assert_array_equal(found, np.zeros((len(rows), len(rows if columns is None else columns))))
    some = [X[0], None, X[1], None]
    np.testing.assert_allclose(matrix(device, kernel, some), kernel(some), rtol=1e-14)


def test_odd_trees(device: _Emulated) -> None:
    """Words alone, words named like labels, wide nodes, shared subtrees in huge numbers."""
    wide = Tree("A", [Tree("B", [str(i % 7)]) for i in range(20_000)])
    doubled = Tree("x", ["x"])
    for _ in range(900):
        doubled = Tree("x", [doubled, doubled])
    X = [Tree("x"), Tree("x", ["x"]), Tree("x", [Tree("x", ["x"]), "x"]), wide, Tree("A", list(wide)[:9])]
    for kernel in (cases.ST, tl.Subtree()):
        np.testing.assert_allclose(matrix(device, kernel, X), kernel(X), rtol=1e-14)
        np.testing.assert_allclose(matrix(device, kernel, X, [doubled] * 9), kernel(X, [doubled] * 9), rtol=1e-14)
        with pytest.raises(tl.errors.KernelOverflowError, match="item 0 with itself"):
            tl.gram(kernel, [doubled] * 9, device="emulated")


def test_deep_trees(device: _Emulated) -> None:
    deep = [f"{'(A ' * (100_000 - i)}x{')' * (100_000 - i)}" for i in range(3)]
    np.testing.assert_allclose(matrix(device, cases.ST, deep), cases.ST(deep), rtol=1e-14)


def test_long_sequences(device: _Emulated) -> None:
    """100,000 positions, of which a few start with the same tags, and windows as long as sequences."""
    tags = [str(i % 50_000) for i in range(100_000)]
    X = [Tagged(["x"] * 100_000, tags), Tagged(["x", "y"], ["1", "2"]), Tagged(["x"] * 5_000, tags[7:5_007])]
    kernel = tl.Tagging(lam=0.3)
    np.testing.assert_allclose(matrix(device, kernel, X[1:], X), kernel(X[1:], X), rtol=1e-11)
    sequences: list[Any] = [tags[:900], tags[5:700], list("aab"), ["1"]]
    for other in (
        tl.Locality(501),
        tl.Locality(2**31, match="exact"),
        tl.Locality(101, match="count"),
        tl.Subsequence(0.9, 3),
    ):
        np.testing.assert_allclose(matrix(device, other, sequences), other(sequences), rtol=1e-13)


def test_too_large(device: _Emulated) -> None:
    """A value that does not fit a float64 is reported in the same way as by the core."""
    words = ["a"] * 1100
    for kernel, X in [
        (tl.Tagging(lam=1), [Tagged(words[:5], words[:5]), Tagged(words, words)]),
        (tl.Locality(window=101, theta=50.0), [words[:3], words[:50]]),
    ]:
        rows = StoreRows.of(kernel.coerce(X))
        columns, out, expected = bound(device, kernel, rows), np.empty((2, 2)), np.empty((2, 2))
        native = kernel.native(rows.store, rows.weights, False)
        for limit in (None, rows.limit):
            large = columns.rows(columns.bind(*rows[:2]), limit, 0, 2, out)
            assert large == native.rows(rows.store, rows.weights, limit, 0, 2, expected) == (1, 1)
            np.testing.assert_allclose(out[0, 0], expected[0, 0], rtol=1e-14)


def test_too_little_memory() -> None:
    X = tl.Subsequence().coerce([list("ab") * 500])
    with pytest.raises(NotEnoughMemoryError, match=r"take 0.00763 GiB of working memory"):
        bound(_Emulated(1 << 20), tl.Subsequence(length=9), StoreRows.of(X))
