"""Every kernel times everything that must hold for every kernel: the list of kernels is `tests/cases.py`."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import treelet as tl
from cases import EXAMPLES, KERNELS, PLAIN, Case, examples
from conftest import trials
from definitions.kernels import definition
from definitions.strategies import examples as random_examples
from treelet.learn import CompressedModel
from treelet.learn.perceptron import _growing, _GrowingBlocks, _GrowingSum
from treelet.testing import check_kernel

LISTED = {kind: {name: case for name, case in KERNELS.items() if case.kind == kind} for kind in EXAMPLES}
"""Cases by kind of examples, so random examples are drawn once per kind."""

each_kind = pytest.mark.parametrize("kind", EXAMPLES)
each_case = pytest.mark.parametrize("case", KERNELS.values(), ids=KERNELS)


def of_bags(case: Case) -> bool:
    return "Bag" in repr(case.kernel)


def with_each(cases: dict[str, Case], check: Callable[..., None], *data: Any) -> None:
    """Check each case. A failure names the case."""
    for name, case in cases.items():
        try:
            check(case, *data)
        except Exception as error:
            error.add_note(f"with the kernel {name!r}: {case.kernel!r}")
            raise


# --- values ---------------------------------------------------------------------------------------------------------


def equals_its_definition(case: Case, X: list[Any]) -> None:
    slow = definition(case.kernel)
    expected = np.zeros((len(X), len(X)))
    for i, a in enumerate(X):
        for j, b in enumerate(X[: i + 1]):
            expected[i, j] = expected[j, i] = slow(a, b)
    np.testing.assert_allclose(case.kernel(X), expected, rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(case.kernel(X[:2], X[1:]), expected[:2, 1:], rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(case.kernel.diag(X), np.diag(expected), rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("kind", ["trees", "forests", "tagged", "sequences", "vectors"])
def test_equal_the_slow_definition_on_many_pairs(kind: str) -> None:
    cases = {name: case for name, case in PLAIN.items() if case.kind == kind}
    pairs = 0

    @settings(max_examples=trials(260))
    @given(random_examples(kind, 3, max_size=5, max_nodes=11))
    def compare(X: list[Any]) -> None:
        nonlocal pairs
        with_each(cases, equals_its_definition, X)
        pairs += len(X) * (len(X) + 1) // 2

    compare()
    assert pairs * 260 >= 2000 * trials(260), f"only {pairs} pairs were compared"


@each_case
def test_columns_that_are_kept_give_the_same_values(case: Case) -> None:
    X = case.kernel.coerce(EXAMPLES[case.kind])
    K, kept = case.kernel(X, X), case.kernel.with_cached_index(EXAMPLES[case.kind])
    for rows in ([0], [3, 1], [5], list(range(len(X)))):
        out = np.empty((len(rows), len(X)))
        again = case.kernel.coerce([EXAMPLES[case.kind][row] for row in rows])  # in a store of their own
        case.kernel.evaluator(again, kept).fill(0, len(rows), out, False)
        np.testing.assert_allclose(out, K[rows], rtol=1e-9, atol=1e-300)


def is_a_kernel(case: Case, X: list[Any]) -> None:
    check_kernel(case.kernel, X, reference=definition(case.kernel), positive_semidefinite=case.positive)


@each_kind
@settings(max_examples=10)
@given(data=st.data())
def test_are_kernels(kind: str, data: st.DataObject) -> None:
    with_each(LISTED[kind], is_a_kernel, data.draw(random_examples(kind)))


@each_case
def test_is_a_kernel_on_larger_examples(case: Case) -> None:
    check_kernel(case.kernel, EXAMPLES[case.kind], positive_semidefinite=case.positive)


def test_a_wrong_value_would_be_noticed() -> None:
    case = KERNELS["sum of normalized"]
    X, slow = [tl.Tree.parse("(A (B x))"), tl.Tree.parse("(A (B y))")], definition(case.kernel)
    is_a_kernel(case, X)
    with pytest.raises(AssertionError, match="slow definition"):
        check_kernel(case.kernel, X, reference=lambda a, b: slow(a, b) * (1 + 1e-6))


def refused(case: Case, data: Any, logs: np.ndarray, halves: bool) -> str | None:
    """Fill with logarithms. Return the message of the error, if there is one."""
    try:
        case.kernel.evaluator(data, logs=True).fill(0, len(logs), logs, halves)
    except tl.errors.KernelOverflowError as error:
        return str(error)
    return None


@each_case
def test_logarithms(case: Case) -> None:
    data = case.kernel.coerce(EXAMPLES[case.kind])
    K = case.kernel(data)
    for halves in (True, False):
        logs = np.zeros(K.shape)
        if (refusal := refused(case, data, logs, halves)) is not None:
            assert "is negative, so it has no logarithm" in refusal
            assert "Linear" in repr(case.kernel) or "Polynomial" in repr(case.kernel), (
                "only inner products may be negative"
            )
            return
        np.testing.assert_allclose(np.tril(np.exp(logs)), np.tril(K), rtol=1e-9, atol=1e-300)
    own = case.kernel.self_values(data, logs=True)
    np.testing.assert_allclose(np.exp(own), case.kernel.self_values(data), rtol=1e-9)


@each_case
def test_the_order_of_a_pair(case: Case) -> None:
    X = EXAMPLES[case.kind]
    for a, b in zip(X[:8], X[8:], strict=True):
        np.testing.assert_allclose(case.kernel([a], [b]), case.kernel([b], [a]), rtol=1e-12)


@each_case
def test_values_row_by_row(case: Case) -> None:
    X = EXAMPLES[case.kind]
    kernel, first, second = case.kernel, case.kernel.coerce(X[:8]), case.kernel.coerce(X[8:])
    expected = np.diag(kernel(first, second))
    np.testing.assert_allclose(kernel.diag(first, second), expected, rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(kernel.diag(X[:8], X[8:]), expected, rtol=1e-9, atol=1e-300)


SEVERAL_PARTS = (
    "named sum", "normalized sum of normalized", "product of a sum", "gaussian of a sum", "normalized polynomial",
    "smoothed and more", "gaussian of forests", "locality and subsequence", "bag of a sum", "on all, normalized", "crossed and more",
)  # fmt: skip
"""Composed kernels whose parts are computed in different ways. Others differ only in their numbers."""


@pytest.mark.parametrize("name", [*PLAIN, *SEVERAL_PARTS])
def test_threads_and_tiles_do_not_matter(name: str) -> None:
    case = KERNELS[name]
    X = case.kernel.coerce(examples(case.kind, 50, seed=1))
    K = case.kernel(X)
    few, of_few = X[:24], K[:24, :24]  # at the least memory a tile is one value
    out = np.empty(of_few.shape)
    for memory in (1, 5000, "50kB", "1GiB"):
        for n_jobs in (1, 2, 3):
            out.fill(np.nan)
            assert tl.gram(case.kernel, few, memory=memory, n_jobs=n_jobs, out=out) is out
            np.testing.assert_allclose(out, of_few, rtol=1e-12, atol=1e-300)
            np.testing.assert_array_equal(out, out.T)
        part = tl.gram(case.kernel, few[:10], few, memory=memory, n_jobs=2, out=out[:10])
        np.testing.assert_allclose(part, of_few[:10], rtol=1e-12, atol=1e-300)
    rounding = 1e-12 if "Locality" in repr(case.kernel) else 0  # sums over windows go by blocks of rows
    for n_jobs in (2, 3, -1):
        np.testing.assert_allclose(case.kernel(X, n_jobs=n_jobs), K, rtol=rounding)


@pytest.mark.parametrize("kind", ["trees", "forests", "tagged", "sequences", "bags"])
def test_missing_examples_are_empty_ones(kind: str) -> None:
    few = {"trees": "(A (B x))", "forests": "(A (B x))", "tagged": tl.Tagged(["x"], ["N"]), "sequences": ["a", "b"]}
    example = few.get(kind, [tl.Tree.parse("(A (B x))")])
    X = [example if kind not in ("trees", "forests") else tl.Tree.parse(example), None]
    with_each(LISTED[kind], equals_its_definition, [*X, *X])


@each_case
def test_empty_collections(case: Case) -> None:
    X = case.kernel.coerce(EXAMPLES[case.kind][:2])
    none = X[:0] if case.kind == "rows" else []
    assert case.kernel(none).shape == (0, 0)
    assert case.kernel(X, none).shape == (2, 0)
    assert case.kernel(none, X).shape == (0, 2)
    assert case.kernel.diag(none).shape == (0,)
    assert case.kernel(X[:0], X).shape == (0, 2)


# --- parameters -----------------------------------------------------------------------------------------------------


def gradient_agrees_with_differences(case: Case, X: list[Any]) -> None:
    if "0 *" in repr(case.kernel):
        return  # nothing has no logarithm
    if of_bags(case) and case.kernel.n_dims:
        with pytest.raises(tl.errors.ParameterError, match=r"Bag\(.* does not define a gradient with respect to"):
            case.kernel.gradient(X)
        return
    step = 1e-6
    kernel, theta = case.kernel, np.empty(0)
    if kernel.n_dims:
        theta = np.clip(kernel.theta, *(kernel.bounds.T + [[step], [-step]]))  # room on both sides
        kernel = kernel.clone_with_theta(theta)
    K, dK = kernel.gradient(X)
    np.testing.assert_allclose(K, kernel(X), rtol=1e-10, atol=1e-300)
    assert dK.shape == (*K.shape, len(theta))
    assert len(theta) == kernel.n_dims == len(kernel.hyperparameters)
    assert not len(theta) or len(kernel.bounds) == len(theta)
    scale = max(1.0, np.abs(K).max())
    for k in range(len(theta)):
        moved = step * (np.arange(len(theta)) == k)
        up, down = (kernel.clone_with_theta(theta + sign * moved)(X) for sign in (1, -1))
        np.testing.assert_allclose(dK[..., k] / scale, (up - down) / (2 * step) / scale, atol=1e-7)


@each_kind
@settings(max_examples=10)
@given(data=st.data())
def test_gradients_agree_with_differences(kind: str, data: st.DataObject) -> None:
    with_each(LISTED[kind], gradient_agrees_with_differences, data.draw(random_examples(kind, 2, 4, 10)))


@each_case
def test_copies(case: Case) -> None:
    kernel, data = case.kernel, case.kernel.coerce(EXAMPLES[case.kind])
    K = kernel(data)
    for copy in (
        clone(kernel),
        pickle.loads(pickle.dumps(kernel)),
        eval(repr(kernel), vars(tl.kernels) | vars(tl.structures)),
    ):
        assert copy == kernel
        assert type(copy) is type(kernel)
        assert copy is not kernel
        np.testing.assert_array_equal(copy(data), K)
    for name, value in kernel.get_params(deep=False).items():
        if isinstance(value, tl.kernels.Kernel):
            assert getattr(clone(kernel), name) is not value
    np.testing.assert_array_equal(kernel(pickle.loads(pickle.dumps(data))), K)


# --- models ---------------------------------------------------------------------------------------------------------


@st.composite
def problems(draw: st.DrawFn, kind: str) -> tuple[list[Any], np.ndarray, list[Any]]:
    """Support examples, coefficients for a few outputs, and examples to score: some of the first among them."""
    support = draw(random_examples(kind, min_size=1, max_nodes=12))
    outputs = draw(st.integers(1, 3))
    numbers = st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.0, 0.5, 1.0, 1e-3, 100.0]) | st.floats(-5, 5)
    alpha = draw(st.lists(numbers, min_size=outputs * len(support), max_size=outputs * len(support)))
    X = draw(random_examples(kind, min_size=1, max_size=5, max_nodes=12)) + draw(
        st.lists(st.sampled_from(support), max_size=2)
    )
    return support, np.array(alpha).reshape(outputs, len(support)), X


def is_the_sum_over_its_support(case: Case, support: list[Any], alpha: np.ndarray, X: list[Any]) -> None:
    K = case.kernel(X, support)
    scale = (np.abs(K) @ np.abs(alpha).T).max(initial=0)
    scores = CompressedModel.of(case.kernel, support, alpha).score(X)
    np.testing.assert_allclose(scores, K @ alpha.T, rtol=0, atol=1e-9 * scale + 1e-300)


@each_kind
@settings(max_examples=30)
@given(data=st.data())
def test_compressed_models_are_sums_over_their_support(kind: str, data: st.DataObject) -> None:
    with_each(LISTED[kind], is_the_sum_over_its_support, *data.draw(problems(kind)))


@each_case
def test_a_compressed_model(case: Case) -> None:
    X = EXAMPLES[case.kind]
    alpha = np.linspace(-1, 2, 2 * len(X)).reshape(2, -1)
    is_the_sum_over_its_support(case, X, alpha, X)
    model = CompressedModel.of(case.kernel, X, alpha)
    scores = model.score(X)
    np.testing.assert_allclose(model.score(X, n_jobs=2), scores, rtol=1e-12)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).score(X), scores)
    if not of_bags(case):
        kept = model.stats().kept_examples
        assert (kept <= 2 * 2) == case.collapses, f"{kept} support examples are kept"


@each_case
def test_a_grown_function_is_a_new_one(case: Case) -> None:
    data = case.kernel.coerce(EXAMPLES[case.kind])
    K, rows = case.kernel(data), np.arange(len(EXAMPLES[case.kind]))
    ways = [_growing(case.kernel, data), _GrowingBlocks(case.kernel, data, width=5)]
    if case.collapses and case.kind != "vectors" and case is not KERNELS["nothing"] and not of_bags(case):
        assert isinstance(ways[0], _GrowingSum), "it does not grow in place"
    for way in ways:
        rng = np.random.default_rng(0)
        weights = np.zeros(len(K))
        width = min(way.width, 5)
        for start in [*range(0, len(K), width), 0]:
            block = rows[start : start + width]
            way.expect(block)
            for _ in range(6):
                row, weight = int(rng.choice(block)), float(rng.integers(-8, 9)) / 4
                way.add(row, weight)
                weights[row] += weight
                scale = np.abs(K) @ np.abs(weights) + 1e-300
                np.testing.assert_allclose(
                    way.scores(block) / scale[block], (K @ weights)[block] / scale[block], atol=1e-9
                )
            np.testing.assert_allclose(way.values(block), K[np.ix_(block, block)], rtol=1e-9, atol=1e-300)


@each_case
def test_saved_and_loaded(case: Case, tmp_path: Path) -> None:
    X = EXAMPLES[case.kind]
    labels = np.array(["a", "b"] * 8)
    fitted = tl.KernelSVC(case.kernel, C=2.5).fit(X, labels)
    tl.save(fitted, tmp_path / "m")
    again = tl.load(tmp_path / "m")
    assert type(again) is tl.KernelSVC
    assert again.kernel == case.kernel
    assert again.get_params(deep=False) == fitted.get_params(deep=False)
    rounding = 1e-12 if "ForestKernel" in repr(case.kernel) and not case.collapses else 0  # kept in another order
    for copy in (again, pickle.loads(pickle.dumps(fitted))):
        np.testing.assert_allclose(copy.decision_function(X), fitted.decision_function(X), rtol=rounding)
        np.testing.assert_array_equal(copy.support_, fitted.support_)
        np.testing.assert_array_equal(copy.dual_coef_, fitted.dual_coef_)
        assert copy.model_.stats() == fitted.model_.stats()
    tl.save(again, tmp_path / "n")
    assert (tmp_path / "n").read_bytes() == (tmp_path / "m").read_bytes()
