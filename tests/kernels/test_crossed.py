"""The crossed kernel of pairs of trees, and values row by row."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treelet as tl
from cases import random_tree
from conftest import trials
from definitions.kernels import definition
from definitions.strategies import examples as random_examples
from treelet.structures import Table

KERNELS = (tl.SubsetTree(lam=0.4), tl.PartialTree(lam=0.5, mu=0.6).normalized(), tl.SubsetTree() + tl.Subtree())
FEW = [{"a": "(S (N cat) (V runs))", "b": "(S (N dog) (V runs))"}, {"a": "(S (N dog) (V sits))", "b": "(N cat)"}]


def swapped(pairs: list[dict[str, Any]], rows: set[int]) -> list[dict[str, Any]]:
    return [{"a": pair["b"], "b": pair["a"]} if row in rows else pair for row, pair in enumerate(pairs)]


pairs = st.lists(
    st.builds(
        lambda a, b: {"a": a, "b": b}, *(random_examples("trees", 1, 1, 8).map(lambda trees: trees[0]) for _ in "ab")
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=trials(200))
@given(pairs, st.sets(st.integers(0, 5)), st.sampled_from(KERNELS))
def test_the_sides_can_be_swapped(X: list[dict[str, Any]], rows: set[int], kernel: tl.kernels.Kernel) -> None:
    crossed = tl.Crossed("a", "b", kernel)
    slow, K = definition(crossed), crossed(X)
    np.testing.assert_allclose(K, [[slow(x, y) for y in X] for x in X], rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(crossed(swapped(X, rows)), K, rtol=1e-12)
    np.testing.assert_allclose(crossed(swapped(X, rows), X), K, rtol=1e-12)
    np.testing.assert_allclose(crossed.diag(swapped(X, rows)), np.diag(K), rtol=1e-12)
    np.testing.assert_allclose(tl.Crossed("b", "a", kernel)(X), K, rtol=1e-12)


def is_positive_semidefinite(K: np.ndarray) -> bool:
    return bool(np.linalg.eigvalsh(K)[0] >= -1e-9 * np.abs(K).max(initial=1e-300))


def test_positive_semidefinite_on_random_banks() -> None:
    rng = np.random.default_rng(0)
    wrong = 0
    for bank in range(200):
        n, kernel = int(rng.integers(2, 25)), KERNELS[bank % len(KERNELS)]
        sides = {side: [random_tree(rng, int(rng.integers(1, 12))) for _ in range(n)] for side in "ab"}
        K = tl.Crossed("a", "b", kernel)(sides)
        np.testing.assert_array_equal(K, K.T)
        assert is_positive_semidefinite(K), (bank, kernel)
        A, B = tl.gram(kernel, sides["a"]), tl.gram(kernel, sides["a"], sides["b"])
        wrong += not is_positive_semidefinite(A + B + B.T)  # without the values of b with b, it is not a kernel
    assert wrong > 0, "a wrong formula would not be noticed"


def test_a_missing_side_has_no_value() -> None:
    kernel = tl.Crossed("a", "b", tl.SubsetTree())
    X = [*FEW, {"a": None, "b": "(N cat)"}, {"a": "(N cat)", "b": float("nan")}, {"a": None, "b": None}]
    K = kernel(X)
    np.testing.assert_array_equal(K[:2, :2], kernel(FEW))
    assert not K[2:].any()
    assert not kernel.diag(X)[2:].any()
    assert kernel.normalized()(X).diagonal().tolist() == [1, 1, 0, 0, 0]


def test_values_that_do_not_fit() -> None:
    large = "(A x)"
    for _ in range(12):
        large = f"(A {large} {large})"
    X = [{"a": large, "b": "(B x)"}, {"a": "(B x)", "b": large}, {"a": large, "b": large}]
    kernel = tl.Crossed("a", "b", tl.SubsetTree(lam=1))
    with pytest.raises(tl.errors.KernelOverflowError, match="too large"):
        kernel(X)
    with pytest.raises(tl.errors.KernelOverflowError, match="too large"):
        kernel.diag(X)
    K = kernel.normalized()(X)
    np.testing.assert_allclose(K[:2, :2], 1.0)
    with pytest.raises(tl.errors.KernelOverflowError, match="in row 1"):
        tl.SubsetTree(lam=1).diag(["(B x)", large], ["(B x)", large])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tl.Crossed("a", "a", tl.SubsetTree()), "another column"),
        (lambda: tl.Crossed(["a"], "b", tl.SubsetTree()), "a column name"),  # type: ignore[arg-type]
        (lambda: tl.Crossed("a", "b", 3), "must be a kernel"),  # type: ignore[arg-type]
        (lambda: tl.Crossed("a", "c", tl.SubsetTree())(FEW), "no column 'c'"),
        (lambda: tl.Crossed("a", "b", tl.SubsetTree())(["(A b)"]), "a dict from column names"),
        (
            lambda: tl.Crossed("a", "b", tl.SubsetTree())([*FEW, {"a": "(A b)"}]),
            "Row 2 has no value for the column 'b'",
        ),
        (lambda: tl.Crossed("a", "b", tl.SubsetTree())([{"a": "(A b)", "b": 3}]), "column 'b'"),
        (
            lambda: tl.Crossed("a", "b", tl.Linear())([{"a": [1.0], "b": [1.0, 2.0]}]),
            "columns 'a', 'b', 'a': Collections can be concatenated",
        ),
        (lambda: tl.SubsetTree().diag(["(A b)"], []), "the same number"),
    ],
)
def test_bad_input(make: Any, message: str) -> None:
    with pytest.raises(tl.TreeletError, match=re.escape(message)):
        make()


def test_pairs_are_found_and_learned() -> None:
    rng = np.random.default_rng(1)
    X = [{"a": random_tree(rng, 6), "b": random_tree(rng, 6)} for _ in range(30)]
    kernel = tl.Crossed("a", "b", tl.SubsetTree()).normalized()
    values, indices = tl.nearest(kernel, X, swapped(X, set(range(30))), k=1)
    np.testing.assert_allclose(values, 1.0)
    np.testing.assert_allclose(kernel(X, [X[k] for k in indices.ravel()]).diagonal(), 1.0)
    model = tl.KernelSVC(kernel, C=100.0).fit(X, [k % 2 for k in range(30)])
    np.testing.assert_allclose(
        model.decision_function(swapped(X, {3, 5, 7})), model.decision_function(X), rtol=1e-9, atol=1e-12
    )
    with pytest.raises(tl.TreeletError, match="pairs of fragments"):
        tl.explain(model, X[0])


def test_fragments_are_listed_with_their_tree() -> None:
    model = tl.KernelSVC(tl.On("a", tl.SubsetTree()) + tl.On("b", tl.SubsetTree())).fit(FEW, [0, 1])
    explanation = tl.explain(model, FEW[0])
    assert {fragment.column for fragment in explanation.fragments} == {"a", "b"}
    assert "  a: (V runs)" in str(explanation)
    assert "  b: (V runs)" in str(explanation)
    assert "a: (N dog)" in str(tl.top_fragments(model, 40))
    single = tl.KernelSVC(tl.On("a", tl.SubsetTree())).fit(FEW, [0, 1])
    assert "a: " not in str(tl.explain(single, FEW[0]))


@pytest.mark.parametrize("measure", [tl.EditDistance(), tl.EditDistance().similarity(), tl.SubsetTree().distance()])
def test_distances_row_by_row(measure: Any) -> None:
    rng = np.random.default_rng(2)
    first, second = ([random_tree(rng, int(rng.integers(1, 9))) for _ in range(300)] for _ in "ab")
    expected = np.concatenate([np.diag(measure(first[k : k + 50], second[k : k + 50])) for k in range(0, 300, 50)])
    np.testing.assert_allclose(measure.diag(first, second), expected, rtol=1e-12)
    np.testing.assert_allclose(measure.diag(first[:9]), np.diag(measure(first[:9])), rtol=1e-12)
    assert measure.diag([], []).shape == (0,)


def test_a_table_keeps_its_pairs() -> None:
    kernel = tl.Crossed("a", "b", tl.SubsetTree())
    table = kernel.coerce(FEW)
    assert kernel.coerce(table) is table
    assert kernel._pairs(table) is kernel._pairs(table)
    K = kernel(table)
    np.testing.assert_array_equal(kernel(table[[1, 0]]), K[::-1, ::-1])
    bag = tl.On(["a", "b"], tl.Linear())  # columns of trees are not a matrix, whatever a table keeps for other kernels
    with pytest.raises(tl.TreeletError, match="column 'a'"):
        bag(table)
    np.testing.assert_array_equal(kernel(Table.from_any(FEW)), K)


def test_similar_words_are_found_once() -> None:
    """Values row by row prepare the words of both sides once, and selections keep the self-values of their pairs."""
    calls = []

    def word(label: str) -> tuple[str, str]:
        calls.append(label)
        return label, ""

    smoothed = tl.Smoothed({("cat", "dog"): 0.5}, word=word)
    kernel = tl.Crossed("a", "b", smoothed).normalized()
    X = kernel.coerce([{"a": f"(S (A x{i}) cat)", "b": f"(S (A y{i}) dog)"} for i in range(100)])
    K = kernel(X)
    assert len(calls) < 3000  # there are 204 labels
    calls.clear()
    np.testing.assert_array_equal(kernel.diag(X), np.diag(K))
    rows = np.array([7, 3])
    own = kernel.kernel.self_values(X)
    calls.clear()
    np.testing.assert_array_equal(kernel.kernel.self_values(X[rows]), own[rows])
    assert not calls
