"""Edit distances of unusual input: tiny, deep, wide and missing trees, wrong costs, interrupts."""

from __future__ import annotations

import math
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treelet as tl
from definitions.kernels import definition
from treelet import _core
from treelet.edits import EditSimilarity
from treelet.errors import FileError, NotEnoughMemoryError, ParameterError, TreeError
from treelet.matrices import operator, reduce

NODES = 100_000
CHILDREN = 50_000
PAIR = ["(a b)", "(c d)"]


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("treelet.resources.available", "treelet.edits.distance.available"):
        monkeypatch.setattr(name, lambda: 1 << 30)


def chain(label: str) -> tl.Treebank:
    return tl.Treebank([f"({label} " * NODES + "x" + ")" * NODES])


def star(word: str) -> tl.Treebank:
    return tl.Treebank(["(S " + " ".join(f"{word}{number}" for number in range(CHILDREN)) + ")"])


# --- small and missing trees --------------------------------------------------------------------------------------


def test_trees_of_one_node() -> None:
    trees = [tl.Tree("a"), tl.Tree("b"), tl.Tree.parse("(a b)")]
    d = tl.EditDistance()
    np.testing.assert_array_equal(d(trees), [[0, 1, 1], [1, 0, 1], [1, 1, 0]])
    np.testing.assert_array_equal(d.similarity()(trees), [[1, 0, 0.5], [0, 1, 0.5], [0.5, 0.5, 1]])
    np.testing.assert_array_equal(tl.nearest(d.similarity(), trees, k=1)[1], [[2], [2], [0]])
    assert [str(operation) for operation in tl.edit_script(trees[0], trees[1])] == ["rename a -> b"]
    assert [str(operation) for operation in tl.edit_script(trees[1], trees[2])] == ["insert a", "keep b"]
    assert [str(operation) for operation in tl.edit_script(trees[0], trees[0])] == ["keep a"]


@pytest.mark.parametrize("measure", [tl.EditDistance(), tl.EditDistance().similarity()])
def test_missing_trees_have_no_nodes(measure: Any) -> None:
    trees = [None, "(a b)", None]
    far = 2 if measure.is_distance else 0
    near = 0 if measure.is_distance else 1
    wanted = [[near, far, near], [far, near, far], [near, far, near]]
    np.testing.assert_array_equal(measure(trees), wanted)
    graph = tl.nearest(measure, trees, threshold=0.5, graph=True)
    assert [sorted(graph[row].indices.tolist()) for row in range(3)] == [[0, 2], [1], [0, 2]]
    with pytest.raises(TreeError, match="edit_script needs two trees"):
        tl.edit_script(None, "(a b)")


def test_empty_collections() -> None:
    for measure in (tl.EditDistance(), tl.EditDistance().similarity(), tl.EditDistance(rename=lambda p, q: 1.0)):
        assert measure([]).shape == (0, 0)
        assert measure([], PAIR).shape == (0, 2)
        assert measure(PAIR, []).shape == (2, 0)
        assert tl.nearest(measure, PAIR, [])[0].shape == (0, 2)
        assert tl.nearest(measure, PAIR, [], threshold=0.5, graph=True).shape == (0, 2)
        with pytest.raises(ParameterError, match="X is empty"):
            tl.nearest(measure, [], PAIR)


# --- deep and wide trees ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("make", [chain, star])
def test_large_trees_that_need_no_table(make: Callable[[str], tl.Treebank]) -> None:
    """Equal trees, and a large tree with a small one."""
    d, one = tl.EditDistance(), tl.Treebank([tl.Tree("A"), None])
    large = make("A")
    n = sum(1 for _ in large[0].nodes())
    kept = 1 if make is chain else 0
    np.testing.assert_array_equal(d(large), [[0]])
    np.testing.assert_array_equal(d(large, make("A")), [[0]])
    np.testing.assert_array_equal(d(large, one), [[n - kept, n]])
    np.testing.assert_array_equal(d(one, large), [[n - kept], [n]])
    np.testing.assert_allclose(d.similarity()(large, one), [[kept / n, 0]], atol=1e-12)
    np.testing.assert_array_equal(tl.nearest(d, large + large, k=1)[0], [[0], [0]])
    values, indices = tl.nearest(d.similarity(), one + large, make("A"), k=1)
    assert (values.tolist(), indices.tolist()) == ([[1]], [[2]])
    script = tl.edit_script(large[0], tl.Tree("A"))
    assert (script.cost, len(script.mapping)) == (n - kept, 1)
    same = tl.edit_script(large[0], make("A")[0])
    assert (same.cost, len(same), len(same.changes()), same.similarity) == (0, n, 0, 1)
    assert same.mapping[-1] == (n - 1, n - 1)


@pytest.mark.serial
@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("make", [chain, star])
def test_large_trees_are_refused_before_the_work(make: Callable[[str], tl.Treebank]) -> None:
    d, one, other = tl.EditDistance(), make("A"), make("B")
    n = NODES + 1 if make is chain else CHILDREN + 1
    begin = time.process_time()
    for work in (
        lambda: d(one, other),
        lambda: d.similarity()(one + other),
        lambda: tl.edit_script(one[0], other[0]),
    ):
        with pytest.raises(NotEnoughMemoryError, match=rf"{n:,} nodes.*{n:,} nodes.*needs about"):
            work()
    with pytest.raises(NotEnoughMemoryError, match=rf"item 0 \({n:,} nodes\).*needs more memory than is free"):
        tl.nearest(d, other, one, k=1)
    assert time.process_time() - begin < 20


@pytest.mark.usefixtures("little_memory")
def test_more_nodes_than_memory_because_subtrees_are_shared() -> None:
    tree = tl.Tree("a")
    for _ in range(60):
        tree = tl.Tree("a", [tree, tree])
    n = 2**61  # minus 1, which a float64 cannot tell apart
    d = tl.EditDistance()
    huge = tl.Treebank([tree])
    np.testing.assert_array_equal(d(huge), [[0]])
    for other, size in ((tl.Tree("a"), 1), (None, 0), (tl.Tree("b", [tree]), n)):
        with pytest.raises(NotEnoughMemoryError, match=rf"{n:,} nodes.*{size:,} nodes.*needs about"):
            d(huge, [other])
    for other, size in ((tl.Tree("a"), 1), (tree, n)):
        with pytest.raises(NotEnoughMemoryError, match=rf"{n:,} nodes.*{size:,} nodes.*needs about"):
            tl.edit_script(tree, other)


def test_chains_and_stars_equal_the_definition() -> None:
    trees = [
        "(a " * 30 + "x" + ")" * 30,
        "(b " * 20 + "x" + ")" * 20,
        "(a " + "x " * 30 + ")",
        "(a " + "y x " * 12 + ")",
    ]
    parsed = [tl.Tree.parse(tree) for tree in trees]
    for d in (tl.EditDistance(), tl.EditDistance({"a": 0.5}, 2, 1.5)):
        slow = definition(d)
        np.testing.assert_allclose(d(trees), [[slow(p, q) for q in parsed] for p in parsed])


def test_a_deep_and_a_wide_tree_have_a_negative_similarity() -> None:
    n = 50
    deep, wide = "(a " * (n - 1) + "a" + ")" * (n - 1), "(b" + " b" * (n - 1) + ")"
    d = tl.EditDistance()
    assert d([deep], [wide])[0, 0] == 2 * n - 2  # two nodes are renamed
    assert d.similarity()([deep], [wide])[0, 0] == pytest.approx(1 - (2 * n - 2) / n)
    assert tl.edit_script(deep, wide).similarity == pytest.approx(1 - (2 * n - 2) / n)


# --- interrupts ---------------------------------------------------------------------------------------------------


def random_tree(nodes: int, seed: int) -> tl.Tree:
    """A random tree. Each node is attached to one of the 50 nodes before it."""
    numbers = random.Random(seed)
    children: list[list[int]] = [[] for _ in range(nodes)]
    for node in range(1, nodes):
        children[numbers.randrange(max(0, node - 50), node)].append(node)
    made: dict[int, tl.Tree] = {}
    for node in reversed(range(nodes)):
        made[node] = tl.Tree(f"l{numbers.randrange(50)}", [made[child] for child in children[node]])
    return made[0]


@pytest.fixture(scope="module")
def large_trees() -> tl.Treebank:
    return tl.Treebank([random_tree(5000, seed) for seed in range(4)])


LONG: dict[str, Callable[[tl.Treebank], Any]] = {
    "distance": lambda trees: tl.EditDistance()(trees[:1], trees[1:2]),
    "costs by label": lambda trees: tl.EditDistance({"l1": 0.5})(trees[:1], trees[1:2]),
    "threads": lambda trees: tl.gram(tl.EditDistance(), trees[:2], trees[2:], n_jobs=2),
    "k nearest": lambda trees: tl.nearest(tl.EditDistance(), trees, k=1, n_jobs=2),
    "join": lambda trees: tl.nearest(tl.EditDistance().similarity(), trees, threshold=-0.9, graph=True),
    "script": lambda trees: tl.edit_script(trees[0], trees[1]),
    "rename function": lambda trees: tl.EditDistance(rename=lambda p, q: time.sleep(0.001) or 1.0)(
        trees[:1], trees[1:2]
    ),
}


@pytest.mark.serial
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer's signal")
@pytest.mark.parametrize("name", LONG)
@pytest.mark.usefixtures("alarm")
def test_an_interrupt_ends_the_work_within_a_second(name: str, large_trees: tl.Treebank) -> None:
    begin = time.process_time()  # however busy the machine is
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        LONG[name](large_trees)
        signal.setitimer(signal.ITIMER_REAL, 0)
        pytest.fail("a longer input is needed here")
    except KeyboardInterrupt:
        assert time.process_time() - begin < 1.5 * (5 if _core.sanitized else 1)


# --- costs --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["insert", "delete"])
@pytest.mark.parametrize(
    ("cost", "must_be", "got"),
    [
        (math.nan, r"\[0, 1e\+100\], or a mapping from labels", "nan"),
        (-1, r"\[0, 1e\+100\], or a mapping from labels", "-1"),
        (math.inf, r"\[0, 1e\+100\], or a mapping from labels", "inf"),
        (1e101, r"\[0, 1e\+100\], or a mapping from labels", r"1e\+101"),
        (10**400, r"\[0, 1e\+100\], or a mapping from labels", "1000"),
        (True, r"\[0, 1e\+100\], or a mapping from labels", "True"),
        (None, r"\[0, 1e\+100\], or a mapping from labels", "None"),
        ("1", r"\[0, 1e\+100\], or a mapping from labels", "'1'"),
        ([1.0], r"\[0, 1e\+100\], or a mapping from labels", r"\[1\.0\]"),
        (np.ones(2), r"\[0, 1e\+100\], or a mapping from labels", "array"),
        ({1: 2.0}, r"labels to numbers in \[0, 1e\+100\]", r"\{1: 2\.0\}"),
        ({"a": 1.0, None: 1.0}, r"labels to numbers in \[0, 1e\+100\]", r"\{None: 1\.0\}"),
        ({"a": math.nan}, r"labels to numbers in \[0, 1e\+100\]", r"\{'a': nan\}"),
        ({"a": -0.5}, r"labels to numbers in \[0, 1e\+100\]", r"\{'a': -0\.5\}"),
        ({"a": math.inf}, r"labels to numbers in \[0, 1e\+100\]", r"\{'a': inf\}"),
        ({"a": "1"}, r"labels to numbers in \[0, 1e\+100\]", r"\{'a': '1'\}"),
    ],
)
def test_wrong_costs(name: str, cost: Any, must_be: str, got: str) -> None:
    with pytest.raises(ParameterError, match=rf"'{name}'.*{must_be}.*Got {got}"):
        tl.EditDistance(**{name: cost})
    changed = tl.EditDistance()
    setattr(changed, name, cost)
    with pytest.raises(ParameterError, match=rf"'{name}'.*{must_be}.*Got {got}"):
        changed(PAIR)


@pytest.mark.parametrize(
    "rename",
    [math.nan, -1, math.inf, 1e101, True, None, [1.0], object(), {}, {"a": 1.0}, {("a", "b"): 0.5}, b"vectors.txt"],
)
def test_wrong_costs_of_renaming(rename: Any) -> None:
    with pytest.raises(ParameterError, match=r"'rename'.*\[0, 1e\+100\], a function of two labels"):
        tl.EditDistance(rename=rename)


def test_wrong_word_vectors(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="The vector of the word 'a' contains a value that is not finite"):
        tl.EditDistance(rename={"a": [math.nan]})
    for d in (tl.EditDistance(rename=tmp_path / "none.txt"), tl.EditDistance(rename=str(tmp_path / "none.txt"))):
        with pytest.raises(FileError, match=r"none\.txt: the file does not exist"):
            d(PAIR)
        with pytest.raises(FileError, match=r"none\.txt: the file does not exist"):
            tl.edit_script(*PAIR, d)


@pytest.mark.parametrize(
    ("returned", "got"),
    [
        (math.nan, "nan"),
        (-1, "-1"),
        (math.inf, "inf"),
        (1e101, r"1e\+101"),
        (None, "None"),
        ("1", "'1'"),
        (True, "True"),
    ],
)
def test_functions_that_return_no_cost(returned: Any, got: str) -> None:
    d = tl.EditDistance(rename=lambda p, q: returned)
    for work in (
        lambda: d(PAIR),
        lambda: d(PAIR, n_jobs=2),
        lambda: tl.nearest(d.similarity(), PAIR, k=1),
        lambda: tl.edit_script(*PAIR, d),
    ):
        with pytest.raises(ParameterError, match=r"^rename\('\w', '\w'\) must return a number"):
            work()
    with pytest.raises(ParameterError, match=rf"rename\('a', 'b'\) must return.*Got {got}"):
        d.cost_of("a", "b")
    assert d.cost_of("a", "a") == 0


def test_functions_that_raise() -> None:
    def rename(source: str, target: str) -> float:
        raise KeyError(source)

    for work in (
        lambda d: d(PAIR),
        lambda d: d(PAIR, n_jobs=2),
        lambda d: tl.nearest(d, PAIR, k=1, n_jobs=2),
        lambda d: tl.Nearest(d, n_neighbors=1).fit(PAIR).kneighbors(PAIR),
        lambda d: tl.edit_script(*PAIR, d),
    ):
        with pytest.raises(KeyError, match=r"'[ab]'"):
            work(tl.EditDistance(rename=rename))
    with pytest.raises(TypeError, match="positional argument"):
        tl.EditDistance(rename=lambda label: 1.0)(PAIR)


def test_numbers_of_numpy_are_costs() -> None:
    d = tl.EditDistance(np.float32(0.5), np.int64(2), lambda p, q: np.float64(1.5))
    np.testing.assert_array_equal(d(PAIR), tl.EditDistance(0.5, 2, 1.5)(PAIR))


@pytest.mark.parametrize(
    "costs",
    [
        (0, 0, 0),
        (0, 2, 5),
        (1, 3, 0.25),
        (1, 1, 100),
        (1e100, 1e100, 1e100),
        (1e-200, 1e-200, 1e-200),
        ({"a": 0}, {"b": 3}, lambda p, q: 0.1 if p < q else 7),
    ],
)
def test_costs_that_are_not_a_metric(costs: tuple[Any, Any, Any]) -> None:
    d = tl.EditDistance(*costs)
    trees = [tl.Tree.parse(tree) for tree in ("(a (b c) d)", "(b (a d) (c a))", "(d c)")]
    slow = definition(d)
    wanted = [[slow(p, q) for q in trees] for p in trees]
    np.testing.assert_allclose(d(trees), wanted, rtol=1e-12)
    scripts = [[tl.edit_script(p, q, d).cost for q in trees] for p in trees]
    np.testing.assert_allclose(scripts, wanted, rtol=1e-12)


@pytest.mark.parametrize(
    "d",
    [tl.EditDistance(1, 3, 0.5), tl.EditDistance({"a": 2}, 1, 1), tl.EditDistance(rename=lambda p, q: 0.5 + (p < q))],
)
def test_both_orders_of_a_pair_if_costs_are_not_symmetric(d: tl.EditDistance, tmp_path: Path) -> None:
    trees = [tl.Tree.parse(tree) for tree in ("(a (b c) d)", "(b (a d) (c a))", "(d c)", "(a (b b c))")]
    wanted = d(trees, trees)
    assert (wanted != wanted.T).any()
    np.testing.assert_array_equal(d(trees), wanted)
    np.testing.assert_array_equal(tl.gram(d, trees, n_jobs=2, memory="1MiB"), wanted)
    if not callable(d.rename):  # a matrix in a file needs costs that can be compared with those of a later run
        np.testing.assert_array_equal(tl.gram(d, trees, out=tmp_path / "D.npy", resume=True), wanted)
    vectors = np.arange(8.0).reshape(4, 2)
    np.testing.assert_allclose(operator(d, trees) @ vectors, wanted @ vectors)
    np.testing.assert_allclose(operator(d, trees).T @ vectors, wanted.T @ vectors)
    filled = np.zeros_like(wanted)
    reduce(d, trees, None, lambda rows, columns, values: filled.__setitem__((rows, columns), values))
    np.testing.assert_array_equal(filled, wanted)
    others = wanted + np.diag([math.inf] * 4)
    np.testing.assert_array_equal(tl.nearest(d, trees, k=1)[0][:, 0], others.min(axis=1))
    graph = tl.nearest(d, trees, threshold=4, graph=True)
    reached = [sorted(graph[row].indices.tolist()) for row in range(4)]
    assert reached == [np.flatnonzero(row <= 4).tolist() for row in wanted]
    similarity = d.similarity()
    np.testing.assert_array_equal(similarity(trees), similarity(trees, trees))


# --- measures in the wrong place ----------------------------------------------------------------------------------


def test_measures_in_the_wrong_place() -> None:
    d = tl.EditDistance()
    with pytest.raises(ParameterError, match="'distance' parameter of EditSimilarity must be an EditDistance"):
        EditSimilarity(tl.SubsetTree())  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="'distance' parameter of edit_script must be None or an EditDistance"):
        tl.edit_script(*PAIR, d.similarity())  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="'kernel' parameter of KernelSVC must be a kernel"):
        tl.KernelSVC(d.similarity()).fit(PAIR, [0, 1])
    with pytest.raises(tl.TreeletError, match="A kernel can be combined only with a kernel or a number"):
        tl.SubsetTree() + d
