"""Stress tests of the fragment search and of fragments as features; see test_core.py."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import numpy as np
import pytest

import treelet as tl
from cases import PLAIN, examples
from treelet import _core
from treelet.kernels.fragments import NodeWeighting, search_fragments

SEARCHED = ["sst", "sst depth 2", "sst leaves", "pt", "pt no leaves", "forest", "forest leaves", "tagging"]
SEARCHED += ["subsequence", "subsequence of three"]
STEPS = 10**9


def sides_of(bank: Any, alpha: list[float]) -> tuple[NodeWeighting, NodeWeighting, NodeWeighting]:
    """Yield two examples, and a model of all examples."""
    weights = bank.weights()
    first, second = (NodeWeighting.of(weights.take(np.array([k]))) for k in (0, 1))
    return first, second, NodeWeighting.of(weights, np.array(alpha))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", SEARCHED)
def test_what_is_shared_adds_up(name: str, seed: int) -> None:
    case = PLAIN[name]
    bank = case.kernel.coerce(examples(case.kind, 12, 100 + seed))
    rng = random.Random(seed)
    first, second, model = sides_of(bank, [rng.uniform(-1, 1) for _ in range(len(bank))])
    store, most = bank.columns.store, 200_000
    K = case.kernel(bank)
    found = search_fragments(case.kernel, store, (first, second), most)
    assert found.complete
    assert sum(one.value for one in found.fragments) == pytest.approx(K[0, 1], rel=1e-9)
    few = search_fragments(case.kernel, store, (first, second), 3)
    values = sorted((abs(one.value) for one in found.fragments), reverse=True)
    assert [abs(one.value) for one in few.fragments] == pytest.approx(values[:3], rel=1e-9)
    for sides in ((model,), (model, first), (first, model)):
        for limit in (1, 7, 100):
            assert len(search_fragments(case.kernel, store, sides, limit).fragments) <= limit


def searches(tree_store: Any, forest_store: Any) -> list[Any]:
    """Return all native searches, with the store that each needs."""
    return [
        (tree_store, lambda *a: _core.subset_trees(*a, lam=0.5, max_depth=0, leaves=False)),
        (tree_store, lambda *a: _core.subset_trees(*a, lam=1.0, max_depth=2**31 - 1, leaves=True)),
        (tree_store, lambda *a: _core.subset_trees(*a, lam=1.0, max_depth=1, leaves=True)),
        (tree_store, lambda *a: _core.tag_runs(*a, lam=0.5)),
        (tree_store, lambda *a: _core.partial_trees(*a, lam=0.5, mu=1.0, leaves=False)),
        (tree_store, lambda *a: _core.partial_trees(*a, lam=1.0, mu=1e-300, leaves=True)),
        (tree_store, lambda *a: _core.subsequences(*a, lam=0.5, length=2)),
        (tree_store, lambda *a: _core.subsequences(*a, lam=1.0, length=2**31 - 1)),
        (forest_store, lambda *a: _core.forest_subset_trees(*a, lam=0.5, leaves=False)),
        (forest_store, lambda *a: _core.forest_subset_trees(*a, lam=1.0, leaves=True)),
    ]


@pytest.mark.parametrize("seed", range(4))
def test_any_nodes_and_numbers_do_no_harm(seed: int) -> None:
    """Nodes in any order and more than once, numbers of any kind, trees where sequences are expected, few steps."""
    rng = np.random.default_rng(seed)
    kinds = ["trees", "tagged", "sequences"]
    banks = [
        PLAIN[name].kernel.coerce(examples(kind, 8, seed))
        for name, kind in zip(("sst", "tagging", "subsequence"), kinds, strict=True)
    ]
    forests = tl.ForestBank(examples("forests", 8, seed))
    special = np.array([0.0, -0.0, 1e308, -1e308, 5e-324, np.inf, -np.inf, np.nan])
    for bank, count, limit, steps in product(banks, (1, 2), (1, 5), (0, 50, 3000)):
        for store, search in searches(bank.columns.store, forests.columns.store):
            nodes, numbers = [], []
            for _ in range(count):
                size = int(rng.integers(0, 40))
                nodes.append(rng.integers(0, len(store), size).astype(np.int32))
                ordinary = rng.normal(size=size)
                numbers.append(np.where(rng.random(size) < 0.1, rng.choice(special, size), ordinary))
            values, start, where, what, sums, _, _ = search(store, nodes, numbers, limit, steps)
            assert len(values) == len(start) - 1 <= limit
            assert start[-1] == len(where) == len(what)
            assert len(sums) == count * len(values)


def test_arguments_that_do_not_fit() -> None:
    bank, forests = tl.Treebank(["(S (A x) (B y))"]), tl.ForestBank(["(S (A x))"])
    node, number = np.zeros(1, np.int32), np.ones(1)
    for store, search in searches(bank.columns.store, forests.columns.store):
        for wrong in (-1, len(store), 2**31 - 1, -(2**31)):
            with pytest.raises(ValueError, match="node"):
                search(store, [np.array([wrong], np.int32)], [number], 1, STEPS)
        for nodes, numbers in (([], []), ([node] * 3, [number] * 3), ([node], []), ([node], [np.ones(2)])):
            with pytest.raises(ValueError, match="needed"):
                search(store, nodes, numbers, 1, STEPS)
        with pytest.raises(ValueError, match="limit"):
            search(store, [node], [number], 0, STEPS)
        nothing = search(store, [node[:0]], [number[:0]], 4, STEPS)
        assert len(nothing[0]) == 0
        assert nothing[5]
    for lam in (0.0, -1.0, 1.5, float("nan")):
        with pytest.raises(ValueError, match="decay"):
            _core.subset_trees(bank.columns.store, [node], [number], 1, STEPS, lam=lam, max_depth=0, leaves=False)
    with pytest.raises(ValueError, match="needs at least one feature"):
        _core.subsequences(bank.columns.store, [node], [number], 1, STEPS, lam=0.5, length=0)


def test_deep_wide_and_repeated_trees() -> None:
    deep = "(A " * 3000 + "x" + ")" * 3000
    wide = "(S" + " (A x)" * 1500 + ")"
    tree = tl.Tree("A", ["x"])
    for _ in range(40):  # more places than a number of 64 bits counts
        tree = tl.Tree("A", [tree, tree])
    bank = tl.Treebank([deep, wide, tree, deep])
    first, second, model = sides_of(bank, [1.0, -1.0, 0.5, 0.25])
    for name in ("sst", "sst leaves", "sst depth 2", "pt"):
        for sides in ((first, second), (model,), (model, first)):
            search = PLAIN[name].kernel
            assert len(search_fragments(search, bank.columns.store, sides, 4).fragments) <= 4


def test_features_within_limits() -> None:
    bank = tl.Treebank(examples("trees", 12, 3))
    store, weights, one = bank.columns.store, bank.weights(), np.ones(1)
    for wrong in (-1, len(store)):
        root = np.array([wrong], np.int32)
        with pytest.raises(ValueError, match="root"):
            _core.FragmentMatcher(store, root, one, "subset", False, 0.5)
    matcher = _core.FragmentMatcher(store, np.zeros(1, np.int32), one, "partial", True, 0.5)
    for begin, end, factors in ((1, 0, len(bank)), (0, len(bank) + 1, len(bank)), (0, 1, 1)):
        with pytest.raises(ValueError, match="rows"):
            matcher.rows(store, weights, np.ones(factors), begin, end)
