"""Sketches of trees: near the kernel, and the same however they are computed."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import treelet as tl
from conftest import binary, on_linux, round_trip, run_python
from treelet.testing import banks, check_estimator

# The same productions in other places, in another order, one below the other: what must not be confused.
TREES = [
    "(S (A (B b) (B c)) (A (B c) (B b)))",
    "(S (A (B c) (B c)) (A (B b) (B b)))",
    "(S (A (B b) (B c)) (A (B b) (B c)))",
    "(A (A (A (B b) (B c)) (B c)) (B b))",
    "(A (B b) (A (B c) (A (B b) (B c))))",
    "(S (B b) (B c) (B b) c (C (B c) (B b)))",
    "(S (B c) (C (B b) (B c)) (B b) (B c) b)",
]
KERNELS = {
    "sst": tl.SubsetTree(0.4),
    "sst-counts": tl.SubsetTree(1.0),
    "sst-leaves": tl.SubsetTree(0.5, leaves=True),
    "sst-depth-1": tl.SubsetTree(0.6, max_depth=1),
    "sst-depth-2": tl.SubsetTree(0.6, max_depth=2),
    "sst-depth-3-leaves": tl.SubsetTree(0.6, max_depth=3, leaves=True),
    "pt": tl.PartialTree(0.4, 0.4),
    "pt-wide": tl.PartialTree(0.9, 0.8),
    "pt-no-leaves": tl.PartialTree(0.6, 0.5, leaves=False),
}
NORMALIZED = tl.SubsetTree(0.4).normalized()


def gram(vectors: Any) -> Any:
    return vectors.astype(np.float64) @ vectors.astype(np.float64).T


# --- near the kernel ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exact", [0, 5, "auto"])
@pytest.mark.parametrize("name", KERNELS)
def test_the_mean_over_seeds_is_the_kernel(name: str, exact: Any) -> None:
    kernel, seeds = KERNELS[name].normalized(), 120
    found = np.array(
        [gram(tl.TreeSketch(kernel, 512, exact=exact, random_state=seed).fit_transform(TREES)) for seed in range(seeds)]
    )
    error = found.mean(axis=0) - kernel(TREES)
    # five standard errors; rounding where all is exact; a fragment in n that takes another's place, by chance
    assert (np.abs(error) < 5 * found.std(axis=0) / np.sqrt(seeds) + 1e-6 + 1 / 512).all()
    assert np.abs(error[np.triu_indices(len(TREES), 1)]).max() < 0.02


@pytest.mark.parametrize("name", KERNELS)
def test_the_error_is_as_large_as_it_says(name: str) -> None:
    kernel = KERNELS[name].normalized()
    apart = np.triu_indices(len(TREES), 1)
    for exact in (0, "auto"):
        sketches = [tl.TreeSketch(kernel, 512, exact=exact, random_state=seed).fit(TREES) for seed in range(40)]
        errors = [(gram(s.transform(TREES)) - kernel(TREES))[apart] for s in sketches]
        assert np.sqrt(np.mean(np.square(errors))) < 2 * sketches[0].error_ + 1e-6


@given(banks(min_size=2, max_size=4))
@settings(max_examples=25, deadline=None)
def test_random_trees(trees: list[tl.Tree]) -> None:
    for kernel in (tl.SubsetTree(0.5, leaves=True), tl.PartialTree(0.5, 0.5)):
        sketch = tl.TreeSketch(kernel.normalized(), 8192, random_state=0)
        assert np.abs(gram(sketch.fit_transform(trees)) - kernel.normalized()(trees)).max() < 0.15


def test_exact_coordinates_alone_are_exact() -> None:
    kernel = tl.SubsetTree(0.4, max_depth=1)
    sketch = tl.TreeSketch(kernel, 64, exact=62, random_state=0).fit(TREES)
    np.testing.assert_allclose(gram(sketch.transform(TREES)), kernel(TREES), rtol=1e-5)
    assert sketch.error_ < 1e-6


def test_what_no_two_trees_share_is_left_out() -> None:
    trees = ["(S (A a) (B b))", "(S (A a) (C c))", "(S (A a) (B b))", "(T (D d))"]
    kernel = NORMALIZED
    found = gram(tl.TreeSketch(kernel, 512, exact=0, min_trees=2, random_state=0).fit_transform(trees))
    assert (found[3] == 0).all()
    few = gram(tl.TreeSketch(kernel, 512, min_trees=2, random_state=0).fit_transform(trees))
    apart = np.triu_indices(4, 1)
    assert np.abs((few - kernel(trees))[apart]).max() < 0.01
    assert few[1, 1] < 0.8 < few[0, 0]  # it alone has (C c)


def test_many_trees_lose_what_one_alone_has() -> None:
    trees = [f"(S (A a{i % 7}) (B b{i}))" for i in range(100)]
    assert tl.TreeSketch(NORMALIZED, 64, random_state=0).fit(trees).only_known_
    assert not tl.TreeSketch(NORMALIZED, 64, random_state=0).fit(trees[:99]).only_known_
    assert not tl.TreeSketch(NORMALIZED, 64, min_trees=1, random_state=0).fit(trees).only_known_


def test_new_trees_after_rare_parts_were_left_out(wsj: tl.Treebank) -> None:
    new, apart = wsj[300:600], np.triu_indices(300, 1)
    exact = NORMALIZED(new)[apart]
    found = gram(tl.TreeSketch(NORMALIZED, 4096, random_state=0).fit(wsj[:300]).transform(new))[apart]
    assert np.corrcoef(found, exact)[0, 1] > 0.99
    assert abs(found.mean() - exact.mean()) < 0.002


def test_a_child_that_is_left_out_is_still_skipped() -> None:
    trees = ["(P (A x) (R q) (B y))", "(P (A x) (Q r) (B y))"]
    kernel = tl.PartialTree(0.3, 0.9)
    means = [
        gram(tl.TreeSketch(kernel, 512, min_trees=2, random_state=seed).fit_transform(trees))[0, 1]
        for seed in range(50)
    ]
    assert abs(np.mean(means) - kernel(trees)[0, 1]) < 0.01  # as neighbors A and B would add 0.05


def test_real_trees(wsj: tl.Treebank) -> None:
    bank = wsj[:300]
    apart = np.triu_indices(len(bank), 1)
    exact = NORMALIZED(bank)[apart]
    for min_trees, least in ((1, 0.978), (2, 0.995)):
        sketch = tl.TreeSketch(NORMALIZED, 4096, min_trees=min_trees, random_state=0).fit(bank)
        found = gram(sketch.transform(bank))[apart]
        assert np.corrcoef(found, exact)[0, 1] > least
        assert abs(np.sqrt(np.mean((found - exact) ** 2)) / sketch.error_ - 1) < 0.25


# --- the same however it is computed ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KERNELS)
def test_blocks_threads_and_order_change_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    trees = TREES * 9
    sketch = tl.TreeSketch(KERNELS[name].normalized(), 256, random_state=3).fit(trees)
    expected = sketch.transform(trees)
    monkeypatch.setattr("treelet.learn.approximate._ROWS", 5)
    order = np.random.default_rng(0).permutation(len(trees))
    shuffled = [trees[i] for i in order]
    for found in (
        sketch.transform(trees),
        clone(sketch).set_params(n_jobs=3).fit(trees).transform(trees),
        np.concatenate([sketch.transform([tree]) for tree in trees]),
        np.concatenate(list(sketch.blocks(iter(trees), 4))),
        np.concatenate(list(sketch.blocks(tl.Treebank(trees), 7))),
        np.concatenate(list(sketch.blocks(tl.Treebank(trees[begin : begin + 9]) for begin in range(0, len(trees), 9)))),
        sketch.transform(tl.Treebank(shuffled))[np.argsort(order)],
    ):
        np.testing.assert_array_equal(found, expected)


def test_no_blocks_of_no_trees() -> None:
    sketch = tl.TreeSketch(NORMALIZED, 64, random_state=0).fit(TREES)
    assert list(sketch.blocks(iter([]))) == []
    assert sketch.transform([]).shape == (0, 64)
    with pytest.raises(tl.errors.ParameterError, match=r"'size' parameter of TreeSketch\.blocks"):
        next(sketch.blocks(TREES, size=0))


def test_more_vectors_than_there_is_memory_for() -> None:
    sketch = tl.TreeSketch(NORMALIZED, 64, random_state=0).fit(TREES)
    with pytest.raises(
        tl.errors.NotEnoughMemoryError, match=r"vectors of 7 trees take.*bytes and do not fit in memory"
    ):
        sketch._vectors(TREES, 2**45)


def test_new_labels_after_a_fit() -> None:
    sketch = tl.TreeSketch(NORMALIZED, 4096, random_state=0).fit(TREES[:3])
    new = ["(S (X x) (Y (X x)))", "(S (X x) (Y (X z)))", TREES[5]]
    assert np.abs(gram(sketch.transform(new)) - NORMALIZED(new)).max() < 0.06
    rare = tl.TreeSketch(NORMALIZED, 4096, min_trees=2, random_state=0).fit(TREES[:3])
    assert not rare.transform(new[:2]).any()


def test_missing_trees_have_no_vector() -> None:
    vectors = tl.TreeSketch(NORMALIZED, 64, random_state=0).fit_transform([TREES[0], None, TREES[1]])
    assert not vectors[1].any()
    assert vectors[0].any()
    assert vectors.dtype == np.float32


def test_double_precision_is_that_of_the_result() -> None:
    one, two = (
        tl.TreeSketch(NORMALIZED, 65, dtype=dtype, random_state=0).fit_transform(TREES)
        for dtype in ("float32", "float64")
    )
    assert two.dtype == np.float64
    assert one.shape == two.shape == (len(TREES), 65)
    np.testing.assert_array_equal(one, two)


# --- vectors of length 1 ------------------------------------------------------------------------------------------


def cosines(sketch: tl.TreeSketch, trees: Any, queries: Any) -> Any:
    """What an engine computes that divides all vectors by their lengths."""
    stored, asked = sketch.unit_vectors(trees), sketch.unit_vectors(queries, queries=True)
    stored, asked = (v.astype(np.float64) / np.linalg.norm(v, axis=1, keepdims=True) for v in (stored, asked))
    return asked @ stored.T


def cosine_of_plain_vectors(vectors: Any) -> Any:
    return gram(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12))


@given(banks(min_size=2, max_size=4))
@settings(max_examples=25, deadline=None)
def test_unit_vectors_of_random_trees(trees: list[tl.Tree]) -> None:
    for kernel in (tl.SubsetTree(0.5, leaves=True).normalized(), tl.PartialTree(0.5, 0.5).normalized()):
        for min_trees in (1, 2):
            for dtype in ("float32", "float64"):
                sketch = tl.TreeSketch(kernel, 8192, min_trees=min_trees, random_state=0, dtype=dtype).fit(trees)
                plain = sketch.transform(trees)
                for queries in (False, True):
                    vectors = sketch.unit_vectors(trees, queries=queries)
                    assert vectors.shape == (len(trees), 8194)
                    assert vectors.dtype == dtype
                    np.testing.assert_allclose(np.linalg.norm(vectors.astype(np.float64), axis=1), 1, atol=1e-6)
                    assert not vectors[:, 8193 - queries].any()
                    np.testing.assert_array_equal(vectors, sketch.unit_vectors(trees, queries=queries))
                # the inner product of plain vectors, which are shortened only where they are longer than 1
                long = np.maximum(np.linalg.norm(plain.astype(np.float64), axis=1), 1)
                found = cosines(sketch, trees, trees)
                np.testing.assert_allclose(found, gram(plain) / np.outer(long, long), atol=1e-5)
                apart = np.triu_indices(len(trees), 1)
                assert np.abs((found - kernel(trees))[apart]).max() < 0.15


@pytest.mark.parametrize("name", ["sst", "sst-leaves", "pt"])
@pytest.mark.parametrize("min_trees", [1, 2])
def test_the_error_of_cosines_is_that_of_the_sketch(name: str, min_trees: int, wsj: tl.Treebank) -> None:
    bank, kernel = wsj[:300], KERNELS[name].normalized()
    apart = np.triu_indices(len(bank), 1)
    exact = kernel(bank)[apart]
    for size in (256, 1024):
        errors = []
        for seed in range(3):
            sketch = tl.TreeSketch(kernel, size, min_trees=min_trees, random_state=seed).fit(bank)
            errors.append(cosines(sketch, bank, bank)[apart] - exact)
        assert np.sqrt(np.mean(np.square(errors))) < 1.25 * sketch.error_
        assert abs(np.mean(errors)) < 0.5 * sketch.error_


def test_the_cosine_of_plain_vectors_is_a_trap(wsj: tl.Treebank) -> None:
    bank = wsj[:300]
    apart = np.triu_indices(len(bank), 1)
    exact = NORMALIZED(bank)[apart]
    sketch = tl.TreeSketch(NORMALIZED, 4096, random_state=0).fit(bank)
    assert np.corrcoef(cosine_of_plain_vectors(sketch.transform(bank))[apart], exact)[0, 1] < 0.93
    assert np.corrcoef(cosines(sketch, bank, bank)[apart], exact)[0, 1] > 0.995


def test_unit_vectors_rank_alike_by_cosine_and_distance(wsj: tl.Treebank) -> None:
    sketch = tl.TreeSketch(NORMALIZED, 512, random_state=0).fit(wsj[:300])
    stored = sketch.unit_vectors(wsj[:300]).astype(np.float64)
    for query in sketch.unit_vectors(wsj[300:310], queries=True).astype(np.float64):
        distance = np.square(stored - query).sum(axis=1)
        np.testing.assert_allclose(distance, 2 - 2 * stored @ query, atol=1e-5)


@pytest.mark.parametrize("queries", [False, True])
def test_a_unit_vector_depends_only_on_its_tree(queries: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    trees = [*TREES, None] * 9
    sketch = tl.TreeSketch(NORMALIZED, 255, min_trees=2, random_state=3).fit(trees)
    expected = sketch.unit_vectors(trees, queries=queries)
    monkeypatch.setattr("treelet.learn.approximate._ROWS", 5)
    order = np.random.default_rng(0).permutation(len(trees))
    for found in (
        clone(sketch).set_params(n_jobs=3).fit(trees).unit_vectors(trees, queries=queries),
        np.concatenate([sketch.unit_vectors([tree], queries=queries) for tree in trees]),
        sketch.unit_vectors([trees[i] for i in order], queries=queries)[np.argsort(order)],
    ):
        np.testing.assert_array_equal(found, expected)
    other = tl.TreeSketch(NORMALIZED, 255, exact=0, min_trees=2, random_state=4).fit(trees)
    assert (other.unit_vectors(TREES, queries=queries) != expected[: len(TREES)]).any()


def test_unit_vectors_are_the_same_in_another_process(tmp_path: Path) -> None:
    sketch = tl.TreeSketch(NORMALIZED, 64, min_trees=2, random_state=0).fit(TREES)
    file = tmp_path / "sketch.treelet"
    tl.save(sketch, file)
    code = f"import treelet as tl; print(tl.load({str(file)!r}).unit_vectors({TREES}, queries=True).tobytes().hex())"
    assert bytes.fromhex(run_python(code).strip()) == sketch.unit_vectors(TREES, queries=True).tobytes()


def test_the_unit_vector_of_a_missing_tree_is_like_nothing() -> None:
    sketch = tl.TreeSketch(NORMALIZED, 64, random_state=0).fit(TREES)
    vectors = sketch.unit_vectors([None, *TREES])
    assert vectors[0, 64] == 1
    assert not cosines(sketch, [None], TREES).any()


def test_unit_vectors_need_a_normalized_kernel() -> None:
    sketch = tl.TreeSketch(tl.SubsetTree(0.4), 64, random_state=0).fit(TREES)
    with pytest.raises(tl.errors.ParameterError, match=r"'kernel'.*normalized for TreeSketch\.unit_vectors"):
        sketch.unit_vectors(TREES)
    sketch = tl.TreeSketch(NORMALIZED, 64, random_state=0).fit(TREES)
    with pytest.raises(tl.errors.ParameterError, match="'queries' parameter"):
        sketch.unit_vectors(TREES, queries=TREES)


# --- large trees --------------------------------------------------------------------------------------------------


def chain(depth: int) -> str:
    return " ".join(f"(A{i}" for i in range(depth)) + " (B b)" + ")" * depth


def right(depth: int) -> str:
    return " ".join(f"(A{i} (B{i} (C{i} c))" for i in range(depth)) + " (B b)" + ")" * depth


DEEP = """
import numpy as np, treelet as tl
def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
n = 20_000
wide = "(A " + " ".join(f"(B{i} (C{i} c))" for i in range(n)) + ")"
trees = tl.Treebank([chain(100_000), right(n), wide])
for kernel in (tl.SubsetTree(0.4).normalized(), tl.PartialTree(0.4, 0.4).normalized()):
    sketch = tl.TreeSketch(kernel, 2048, random_state=0).fit(trees)
    sketch.transform(trees[:1])
    before = peak()
    vectors = sketch.transform(trees)
    assert np.isfinite(vectors).all() and vectors[:2].any(axis=1).all()
    print(peak() - before)
"""


@pytest.mark.serial
@on_linux
def test_deep_and_wide_trees_take_few_vectors() -> None:
    grown = run_python(inspect.getsource(chain) + inspect.getsource(right) + DEEP).split()
    assert max(map(int, grown)) < 160_000  # KiB; two vectors each of 20,000 nodes would be 320,000


@pytest.mark.parametrize(
    "kernel", [tl.SubsetTree(1.0), tl.SubsetTree(1.0, leaves=True), tl.PartialTree(1.0, 1.0)], ids=repr
)
def test_values_that_fit_no_float(kernel: Any) -> None:
    large = "(S " * 60 + " ".join("(A (B b) (B (C c) (D d)))" for _ in range(300)) + ")" * 60
    trees = [large, large.replace("(A (B b)", "(A (B c)", 1), "(S (A a))"]
    vectors = tl.TreeSketch(kernel.normalized(), 1024, random_state=0).fit_transform(trees)
    assert np.isfinite(vectors).all()
    assert abs(gram(vectors)[2, 2] - 1) < 0.2
    with pytest.raises(tl.errors.KernelOverflowError, match=r"vector of tree 0.*smaller lam=, or kernel\.normalized"):
        tl.TreeSketch(kernel, 64, exact=0, random_state=0).fit_transform(trees)


@pytest.mark.parametrize("kernel", [tl.SubsetTree(1.0), tl.PartialTree(1.0, 1.0)], ids=repr)
def test_vectors_grow_steadily_with_the_tree(kernel: Any) -> None:
    halves = [f"(S {'(A (B b) (C c)) ' * n})" for n in range(1, 36)]
    trees = [f"(R {half} {half})" for half in halves]
    vectors = tl.TreeSketch(kernel, 256, exact=0, random_state=0).fit_transform(trees).astype(np.float64)
    length = np.linalg.norm(vectors, axis=1)
    assert length[-1] > 1e9  # far past where entries are scaled
    assert (np.abs(np.diff(np.log(length))) < 3).all()


def test_a_tree_written_short() -> None:
    tree = binary(40)  # 2^40 nodes
    vectors = tl.TreeSketch(tl.SubsetTree(1e-3).normalized(), 256, random_state=0).fit_transform([tree, tree])
    np.testing.assert_allclose(gram(vectors), 1, rtol=0.1)
    with pytest.raises(tl.errors.KernelOverflowError, match=r"Use a smaller lam=\.$"):
        tl.TreeSketch(NORMALIZED, 64, random_state=0).fit_transform([tree])


# --- as an estimator ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("min_trees", [1, 2])
def test_check_estimator(min_trees: int) -> None:
    for kernel in (None, tl.PartialTree()):
        check_estimator(tl.TreeSketch(kernel, 128, min_trees=min_trees, random_state=0), TREES)


def test_in_front_of_linear_machines() -> None:
    trees = [f"(S ({'A' if i % 2 else 'B'} w{i % 5}) (C c{i % 3}))" for i in range(60)]
    labels = ["deed" if i % 2 else "thing" for i in range(60)]
    for machine in (LinearSVC(), SGDClassifier(random_state=0)):
        model = make_pipeline(tl.TreeSketch(NORMALIZED, 256, random_state=0), machine).fit(trees, labels)
        assert model.score(trees, labels) == 1
    names = model[0].get_feature_names_out()
    assert len(names) == 256
    assert names[0] == "treesketch0"


def test_in_a_file(tmp_path: Path) -> None:
    sketch = tl.TreeSketch(tl.PartialTree(), 256, min_trees=2).fit(TREES)
    again = round_trip(sketch, tmp_path)
    np.testing.assert_array_equal(again.transform(TREES), sketch.transform(TREES))
    assert again.seed_ == sketch.seed_


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": tl.Subtree()}, "'kernel' parameter of TreeSketch must be a SubsetTree"),
        ({"kernel": tl.SubsetTree() + tl.PartialTree()}, "'kernel' parameter of TreeSketch"),
        ({"kernel": tl.SubsetTree(1e-9)}, "'lam' parameter of SubsetTree must be at least 1e-06"),
        ({"kernel": tl.PartialTree(terminal_factor=0.5)}, "'terminal_factor' parameter of PartialTree must be 1"),
        ({"n_components": 1}, "'n_components' parameter of TreeSketch must be an int"),
        ({"exact": 4095}, "'exact' parameter of TreeSketch"),
        ({"min_trees": 0}, "'min_trees' parameter of TreeSketch must be 'auto' or"),
        ({"dtype": "float16"}, "'dtype' parameter of TreeSketch"),
        ({"n_jobs": 0}, "'n_jobs' parameter"),
        ({"random_state": -1}, "'random_state' parameter"),
    ],
)
def test_parameters_that_make_no_sense(options: dict[str, Any], message: str) -> None:
    with pytest.raises(tl.errors.ParameterError, match=message):
        tl.TreeSketch(**options).fit(TREES)
