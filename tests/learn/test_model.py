"""The compressed model: equal to the sum over support examples, whatever the kernel."""

from __future__ import annotations

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import treelet as tl
from conftest import binary, trials
from treelet import _core
from treelet.learn import CompressedModel, linear_parts
from treelet.learn.model import GraphTerm, SupportSum
from treelet.structures import Table
from treelet.testing import banks, trees

ST, SST, PT = tl.Subtree(0.7), tl.SubsetTree(0.4), tl.PartialTree(0.4, 0.3)


def plain_sum(kernel: tl.kernels.Kernel, X: Any, support: Any, alpha: np.ndarray) -> np.ndarray:
    return kernel(X, support) @ alpha.T


def assert_equal_scores(scores: np.ndarray, kernel: tl.kernels.Kernel, X: Any, support: Any, alpha: np.ndarray) -> None:
    """Equal to 1e-9 of the size of what is summed."""
    K = kernel(X, support)
    scale = (np.abs(K) @ np.abs(alpha).T).max(initial=0)
    np.testing.assert_allclose(scores, K @ alpha.T, rtol=0, atol=1e-9 * scale + 1e-300)


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[tl.Tree], np.ndarray, list[tl.Tree]]:
    support = draw(banks(min_size=1, max_size=6, max_nodes=12))
    outputs = draw(st.integers(1, 3))
    numbers = st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.0, 0.5, 1.0, 1e-3, 100.0]) | st.floats(-5, 5)
    alpha = draw(st.lists(numbers, min_size=outputs * len(support), max_size=outputs * len(support)))
    X = draw(banks(min_size=1, max_size=5, max_nodes=12)) + draw(st.lists(st.sampled_from(support), max_size=2))
    return support, np.array(alpha).reshape(outputs, len(support)), X


def test_a_planted_error_is_seen() -> None:
    """The comparison above can fail: one weight off by a millionth does."""
    support, X = ["(S (A x) (B y))", "(S (A x) (A x))"], ["(S (A x) (B z))"]
    alpha = np.array([[1.0, -0.3]])
    model = CompressedModel.of(SST, support, alpha)
    assert_equal_scores(model.score(X), SST, X, support, alpha)
    term = model.terms[0]
    w = term.at_roots
    model.terms[0] = GraphTerm(
        term.kernel_term, 0.0, False, term.graph, _core.NodeWeights.of(w.start, w.node, w.weight * (1 + 1e-6))
    )
    with pytest.raises(AssertionError):
        assert_equal_scores(model.score(X), SST, X, support, alpha)


def test_weights_that_cancel_leave_a_whole_graph() -> None:
    """A subtree whose weights sum to 0 must still be found below those that carry one."""
    support = ["(S (NP (N a)) (VP (V b)))", "(X (NP (N a)) (VP (V b)))"]
    alpha = np.array([[1.0, -1.0]])
    for kernel in (SST, PT, ST, SST.normalized()):
        model = CompressedModel.of(kernel, support, alpha)
        assert_equal_scores(model.score(support), kernel, support, support, alpha)
        assert model.score(support)[0, 0] > 0


def test_linear_parts() -> None:
    parts = linear_parts(0.5 * (SST + 2 * PT.normalized()) + tl.On("t", 3 * ST))
    assert [(kernel_term.factor, kernel_term.inner.kernel, kernel_term.inner.path) for kernel_term in parts] == [
        (0.5, SST, ()),
        (1.0, PT, ()),
        (3.0, ST, ("t",)),
    ]
    assert [[root.kernel for root in kernel_term.roots] for kernel_term in parts] == [[], [PT], []]
    opaque = (SST * PT).normalized()
    assert [kernel_term.inner.kernel for kernel_term in linear_parts(opaque)] == [opaque]


@settings(max_examples=trials(100))
@given(problem=problems())
def test_weights_spread_to_the_parts(problem: Any) -> None:
    """From the top down, as if each example were counted out."""
    support, alpha, _ = problem
    term = CompressedModel.of(PT, support, alpha).terms[0]
    store, roots = term.graph.columns
    found, counts = _core.NodeWeights.spread(store, roots, term.at_roots), term.graph.weights()

    def full(w: _core.NodeWeights, columns: int) -> np.ndarray:
        return sp.csr_array((w.weight, w.node, w.start), shape=(len(w), columns)).toarray()

    expected = full(term.at_roots, len(roots)) @ full(counts, len(store))
    scale = np.abs(alpha).sum() * 100
    np.testing.assert_allclose(full(found, len(store)), expected, rtol=0, atol=1e-13 * scale)
    if term.outputs:
        assert set(found.node) == set(range(len(store)))


@settings(max_examples=60)
@given(problem=problems(), exponents=st.lists(st.integers(-250, 250), min_size=6, max_size=6))
def test_scaled_arithmetic_takes_weights_of_any_size(problem: Any, exponents: list[int]) -> None:
    support, alpha, X = problem
    alpha = alpha * 10.0 ** np.array(exponents[: len(support)])
    model = CompressedModel.of(PT, support, alpha)
    data = model.terms[0].graph.joined(tl.Treebank(X))[1]
    scores = np.zeros((len(X), len(alpha)))
    model.terms[0].scaled(data, np.zeros(len(X)), scores)
    scale = (PT(X, support) @ np.abs(alpha).T).max(initial=0)
    np.testing.assert_allclose(scores, model.score(X), rtol=0, atol=1e-9 * scale)


# --- columns, vectors, bags ---------------------------------------------------------------------------------------


def rows(seed: int, n: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    words = ["x", "y", "z"]
    return [
        {
            "path": f"(S (A {words[rng.integers(3)]}) (B (A {words[rng.integers(3)]})))",
            "other": None if k % 4 == 3 else f"(B {words[rng.integers(3)]})",
            "features": {words[j]: float(rng.normal()) for j in range(int(rng.integers(1, 4)))},
            "size": float(rng.integers(5)),
            "bag": [f"(A {words[rng.integers(3)]})" for _ in range(int(rng.integers(0, 3)))],
        }
        for k in range(n)
    ]


TABLES = {
    "trees": tl.On("path", SST) + tl.On("other", PT.normalized()),
    "one-column-twice": tl.On("path", SST.normalized() + PT) + tl.On("path", ST),
    "normalized": (tl.On("path", SST) + 0.5 * tl.On("features", tl.Linear())).normalized(),
    "vectors": tl.On("features", tl.Linear()) + tl.On("size", tl.Linear()) + tl.On("path", PT),
    "product": tl.On("path", SST) * tl.On("features", tl.Linear()) + tl.On("other", ST),
    "bags": tl.On("bag", tl.Bag(SST)) + tl.On("path", SST),
}


@pytest.mark.parametrize("name", TABLES)
def test_examples_with_columns(name: str) -> None:
    kernel = TABLES[name]
    support, X = rows(0, 9), rows(1, 7)
    alpha = np.random.default_rng(2).normal(size=(2, 9))
    model = CompressedModel.of(kernel, support, alpha)
    assert_equal_scores(model.score(X), kernel, X, support, alpha)
    np.testing.assert_allclose(model.score(tl.structures.Table.from_any(X)[[3, 1]]), model.score(X)[[3, 1]], rtol=1e-9)


def test_vectors_add_up_to_one_an_output() -> None:
    X = np.random.default_rng(0).normal(size=(50, 4))
    alpha = np.random.default_rng(1).normal(size=(2, 50))
    model = CompressedModel.of(tl.Linear(), X, alpha)
    assert model.stats().kept_examples == 2
    np.testing.assert_allclose(model.score(X[:7]), X[:7] @ X.T @ alpha.T, rtol=1e-9)


def test_trees_in_one_column_share_one_graph() -> None:
    model = CompressedModel.of(tl.On("path", SST) + tl.On("path", PT), rows(0, 5), np.ones((1, 5)))
    assert model.terms[0].graph is model.terms[1].graph


# --- large values -------------------------------------------------------------------------------------------------


LARGE = [binary(11), tl.Tree("A", [binary(11), tl.Tree("B", ["x"])]), tl.Tree("A", [binary(10), binary(11)])]
SMALL = [binary(3), tl.Tree.parse("(B x)"), tl.Tree.parse("(A (A x) (B x))")]


@pytest.mark.parametrize("kernel", [tl.SubsetTree(1), tl.PartialTree(1, 1), tl.SubsetTree(1, max_depth=11)])
@pytest.mark.parametrize("support", [LARGE, SMALL + LARGE[:1], SMALL], ids=["large", "both", "small"])
def test_normalized_scores_beyond_float64(kernel: tl.kernels.Kernel, support: list[tl.Tree]) -> None:
    with pytest.raises(tl.errors.KernelOverflowError):
        kernel.diag(LARGE)
    N = kernel.normalized()
    alpha = np.random.default_rng(0).normal(size=(2, len(support)))
    model = CompressedModel.of(N, support, alpha)
    if len(support) == 3:  # large and small ones together may be too far apart for one graph
        assert isinstance(model.terms[0], GraphTerm)
    assert (model.score([LARGE[0], None, SMALL[0]])[1] == 0).all()
    for X in (LARGE, SMALL, SMALL + LARGE):
        np.testing.assert_allclose(model.score(X), plain_sum(N, X, support, alpha), rtol=0, atol=1e-9)


def test_self_values_too_far_apart_for_one_graph() -> None:
    kernel = tl.SubsetTree(1).normalized()
    support = [binary(13), tl.Tree.parse("(B x)")]
    alpha = np.array([[1.0, -1.0]])
    model = CompressedModel.of(kernel, support, alpha)
    assert isinstance(model.terms[0], SupportSum)
    np.testing.assert_allclose(model.score(support), plain_sum(kernel, support, support, alpha), atol=1e-9)


def test_raw_scores_that_do_not_fit_are_an_error() -> None:
    model = CompressedModel.of(tl.SubsetTree(1), [binary(11)], np.array([[-1.0]]))
    assert np.isfinite(model.score(SMALL)).all()
    with pytest.raises(tl.errors.KernelOverflowError, match="item 1 is too large for a float64"):
        model.score([SMALL[0], LARGE[0]])


# --- as an object -------------------------------------------------------------------------------------------------


@settings(max_examples=20)
@given(tree=trees(), n=st.integers(0, 3))
def test_containers_threads_and_copies_do_not_matter(tree: tl.Tree, n: int) -> None:
    X = [tree, tl.Tree.parse("(A (B x) (B y))"), tree] * (n + 1)
    model = CompressedModel.of(SST.normalized() + PT, X, np.linspace(-1, 2, len(X))[None])
    scores = model.score(X)
    for other in ([str(x) for x in X], tl.Treebank(X), np.array([*X, None], dtype=object)[:-1]):
        np.testing.assert_allclose(model.score(other), scores, rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(model.score(X, n_jobs=2), scores)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).score(X), scores)


def test_nothing_in_nothing_out() -> None:
    model = CompressedModel.of(SST, ["(A x)", "(B x)"], np.zeros((2, 2)))
    assert (model.score(["(A x)"]) == 0).all()
    assert CompressedModel.of(SST, ["(A x)"], [[1.0]]).score([]).shape == (0, 1)
    assert model.stats().support_examples == 0


def test_the_kernel_is_a_copy() -> None:
    kernel = tl.SubsetTree(0.4).normalized()
    model = CompressedModel.of(kernel, ["(A (B x))"], [[1.0]])
    before = model.score(["(A (B y))"])
    kernel.set_params(kernel__lam=0.9)
    np.testing.assert_array_equal(model.score(["(A (B y))"]), before)


def test_stats_count_what_is_there() -> None:
    support = ["(NP (D the) (N dog))", "(NP (D the) (N dog))", "(NP (D the) (N cat))", "(VP (V x))"]
    model = CompressedModel.of(SST, support, np.array([[1.0, 2.0, -1.0, 0.0]]))
    stats = model.stats()
    assert stats.support_examples == 3
    assert stats.nodes == 15
    assert stats.distinct_subtrees == 8  # the dog cat, (D the) (N dog) (N cat), two NPs
    labels = sum(len(word) for word in ("NP", "D", "the", "N", "dog", "cat"))
    assert stats.support_bytes == 4 * 15 + 4 * 12 + 8 * 3 + labels
    # a byte a label, 1 a child count, 1 an edge, 9 a distinct tree and its weight; label texts and their lengths
    assert stats.model_bytes == 8 * 2 + 7 + 2 * 9 + labels + 6
    assert stats.compression == stats.support_bytes / stats.model_bytes
    assert "3 support vectors" in str(stats)


@pytest.mark.parametrize(
    ("alpha", "message"),
    [([[1.0, 2.0]], "2 coefficients per output for 1 example"), ([[np.nan]], "model must be finite numbers")],
)
def test_bad_coefficients(alpha: Any, message: str) -> None:
    with pytest.raises(tl.errors.ParameterError, match=message):
        CompressedModel.of(SST, ["(A x)"], alpha)


def test_scoring_one_batch_leaves_no_trace_in_the_next():
    """Two batches are joined to the graph one after the other: numbers of their productions mean different ones."""
    support = ["(S (A x) (B y))", "(S (B y) (A x) (A z))"]
    batches = [["(S (A x) (A x) (B y))"], ["(S (B y) (A x))"], ["(S (A z))", "(S (B y) (B y) (A x))"]]
    for kernel in (tl.PartialTree(), tl.SubsetTree(), tl.Subtree(), tl.PartialTree(leaves=False).normalized()):
        model = CompressedModel.of(kernel, support, [[1.0, -0.5]])
        for batch in batches:
            want = kernel(batch, support) @ np.array([1.0, -0.5])
            np.testing.assert_allclose(model.score(batch)[:, 0], want, rtol=1e-12)


def test_threads_share_a_model_from_its_first_use_on(tmp_path: Path) -> None:
    """Sixteen ask a model that was just loaded, all at once: what is made when it is first needed is made under way."""
    X = tl.datasets.flights(48)
    y, number, qid = np.array(["a", "b", "c"] * 16), np.arange(48) % 7, np.arange(48) // 6
    svc = tl.KernelSVC(SST.normalized()).fit(X, y)
    features = tl.FragmentFeatures(svc, n=200).fit(X)
    models = {
        "classes": (svc, "decision_function"),
        "names": (tl.KernelSVC(PT).fit(X, y), "predict"),
        "values": (tl.RLS(SST + 0.5 * PT).fit(X, number), "predict"),
        "ranks": (tl.VotedPerceptron(ST, epochs=1).fit(X, number, qid=qid), "predict"),
        "columns": (features, "transform"),
        "near": (tl.Nearest(SST, n_neighbors=3).fit(X), "kneighbors"),
        "sketch": (tl.TreeSketch(SST, n_components=64, random_state=0).fit(X), "transform"),
    }
    others = tl.datasets.flights(40, 1)
    chunks = [others[k : k + 5] for k in range(0, 40, 5)] * 2
    start = threading.Barrier(len(chunks))

    def asked(model: Any, method: str, chunk: tl.Treebank) -> list[bytes]:
        start.wait(60)
        return as_bytes(getattr(model, method)(chunk))

    with ThreadPoolExecutor(len(chunks)) as pool:
        for name, (model, method) in models.items():
            tl.save(model, tmp_path / name)
            fresh = tl.load(tmp_path / name)
            found = list(pool.map(asked, [fresh] * len(chunks), [method] * len(chunks), chunks))
            assert found == [as_bytes(getattr(model, method)(chunk)) for chunk in chunks], name


def as_bytes(found: Any) -> list[bytes]:
    if sp.issparse(found):
        found = (found.data, found.indices, found.indptr)
    return [np.asarray(one).tobytes() for one in (found if isinstance(found, tuple) else (found,))]


def test_vectors_beside_trees_whose_values_need_logarithms() -> None:
    """The summed vector of Linear has products of any sign, which have no logarithms."""

    def full(depth: int) -> str:
        return "(A x)" if depth == 0 else f"(A {full(depth - 1)} {full(depth - 1)})"

    trees = ["(A (B x))", "(A (C y))", "(A (B x) (C y))", "(A (C x))"]
    kernel = (tl.On("t", tl.SubsetTree(lam=1.0)) + tl.On("w", tl.Linear())).normalized()
    X = Table({"t": trees, "w": [[1.0, 1], [2, 1], [0, 1], [1, 0]]})
    model = tl.RLS(kernel, alpha=0.5).fit(X, [1.0, -1, -2, 0.5])
    queries = Table({"t": [trees[0], full(10)], "w": [[1.0, 1], [1, 1.0]]})
    np.testing.assert_allclose(model.predict(queries), kernel(queries, X) @ model.dual_coef_[0], rtol=1e-9)
