"""SST compares common parts of subtrees once per shape: large banks, compared with the definition."""

from __future__ import annotations

import math

import numpy as np
import pytest

import treelet as tl
from definitions import kernels as reference
from treelet import _core
from treelet.learn.model import CompressedModel

KERNELS = [
    tl.SubsetTree(lam=0.4),
    tl.SubsetTree(lam=0.7, leaves=True),
    *(tl.SubsetTree(lam=0.4, max_depth=depth) for depth in (2, 3, 4)),
    tl.SubsetTree(lam=0.4, max_depth=3, leaves=True),
]


def tree(rng: np.random.Generator, words: int, labels: str) -> tl.Tree:
    """Return a mostly binary tree with few different words and labels, and occasionally a third child."""
    label = labels[0 if rng.random() < 0.9 else -1]
    if words == 1:
        return tl.Tree(label, ["abcdefghijklmnop"[int(rng.integers(16)) if rng.random() < 0.5 else 0]])
    cut = int(rng.integers(1, words))
    children = [tree(rng, cut, labels), tree(rng, words - cut, labels)]
    return tl.Tree(label, [*children, tl.Tree("A", ["z"])] if rng.random() < 0.2 else children)


@pytest.fixture(scope="module", params=["A", "AB"])
def bank(request: pytest.FixtureRequest) -> tl.Treebank:
    rng = np.random.default_rng(1)
    return tl.Treebank([tree(rng, int(rng.integers(1, 6)), request.param) for _ in range(1500)])


def defined(kernel: tl.SubsetTree, first: tl.Tree, second: tl.Tree) -> float:
    return reference.subset_tree(first, second, kernel.lam, kernel.max_depth, kernel.leaves)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_shapes_and_what_they_lack_make_the_value(bank: tl.Treebank, kernel: tl.SubsetTree) -> None:
    K = kernel(bank)
    some, others = [1499, 31, 2], bank[::48]  # the definition is slow
    expected = [[defined(kernel, bank[i], other) for other in others] for i in some]
    np.testing.assert_allclose(K[some][:, ::48], expected, rtol=1e-12)
    np.testing.assert_allclose(kernel(bank, bank[:50]), K[:, :50], rtol=1e-12)
    strangers = tl.Treebank([tl.Tree("B", [bank[i], tl.Tree("new", ["word"])]) for i in some])
    expected = [[defined(kernel, one, other) for other in others] for one in strangers]
    np.testing.assert_allclose(kernel(strangers, bank)[:, ::48], expected, rtol=1e-12)
    np.testing.assert_allclose(kernel.normalized()(bank)[5, 7], K[5, 7] / np.sqrt(K[5, 5] * K[7, 7]), rtol=1e-12)
    weights = np.random.default_rng(0).normal(size=(1, len(bank)))
    model = CompressedModel.of(kernel, bank, weights)
    np.testing.assert_allclose(model.score(tl.Treebank(bank.strings())), (weights @ K).T, rtol=1e-9)


def test_a_graph_with_shapes_grows(bank: tl.Treebank) -> None:
    kernel, store, trees = tl.SubsetTree(lam=0.4), bank.columns.store, bank.weights()
    nodes = np.arange(len(store), dtype=np.int32)
    nothing = _core.NodeWeights.of(np.array([0, len(nodes)]), nodes, np.zeros(len(nodes)))
    graph, out = kernel.native(store, nothing, False), np.empty((len(bank), 1))
    graph.add(trees, 5, 2.0)
    graph.rows(store, trees, None, 0, len(bank), out)
    np.testing.assert_allclose(out, 2 * kernel(bank, bank[5:6]), rtol=1e-12)


def test_one_value_whatever_the_tiles_and_threads(bank: tl.Treebank) -> None:
    kernel = tl.SubsetTree(lam=0.4)
    rows = [tl.Tree("S", [bank[i // 2], tl.Tree("A", [str(i % 2)])]) for i in range(1500)]
    alike = tl.Treebank(rows)  # rows in blocks
    K = kernel(alike)
    np.testing.assert_array_equal(kernel(alike, n_jobs=2), K)
    np.testing.assert_allclose(tl.gram(kernel, alike, memory="1MB", out=np.empty((1500, 1500))), K, rtol=1e-12)


def test_shapes_far_beyond_float64() -> None:
    """Combs, whose values grow like 2^height, are also exact in scaled numbers."""

    def value(n: int, m: int) -> int:
        total, same, other = (
            (n - 1) * (m - 1),
            1,
            0,
        )  # C of two nodes of equal height, and of two nodes of which this height is the lower one
        for height in range(1, min(n, m) + 1):
            total += same + (n + m - 2 * height) * other
            same, other = 2 * (1 + same), 2 * (1 + other)
        return total

    heights = [1100, 1150, 1400]
    bank = tl.Treebank(["(A " * n + "x" + ")" + " (B x))" * (n - 1) for n in heights])
    logs = [
        [math.log(value(n, m)) - (math.log(value(n, n)) + math.log(value(m, m))) / 2 for m in heights] for n in heights
    ]
    np.testing.assert_allclose(tl.SubsetTree(lam=1.0).normalized()(bank), np.exp(logs), rtol=1e-9)
