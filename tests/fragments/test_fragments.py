"""Shared fragments and their contributions: equal to the slow definition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from importlib import import_module
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treelet as tl
from conftest import trials
from definitions import kernels as reference
from definitions.fragments import as_tree
from treelet.datasets import flights
from treelet.fragments import shared_fragments
from treelet.kernels import fragments as search
from treelet.kernels.fragments import SearchResult, _Fragment
from treelet.testing import trees

Listing = dict[tl.Tree, tuple[tuple[int, int], float]]


def listing(a: Counter, b: Counter, weight: Callable[[reference.Fragment], float]) -> Listing:
    return {as_tree(f): ((a[f], b[f]), weight(f) * a[f] * b[f]) for f in a if f in b}


def subtrees(first: tl.Tree, second: tl.Tree, lam: float) -> Listing:
    a, b = (
        Counter(reference.complete_subtree(node) for node in tree.nodes() if node.children) for tree in (first, second)
    )
    return listing(a, b, lambda f: lam ** reference.size(f))


def subset_trees(first: tl.Tree, second: tl.Tree, lam: float, max_depth: int = 99) -> Listing:
    a, b = (
        Counter(f for node in tree.nodes() for f in reference.subset_trees(node) if reference.depth(f) <= max_depth)
        for tree in (first, second)
    )
    return listing(a, b, lambda f: lam ** reference.size(f))


def subset_trees_with_leaves(first: tl.Tree, second: tl.Tree, lam: float, max_depth: int = 99) -> Listing:
    return subset_trees(*map(reference.with_leaves, (first, second)), lam, max_depth)


def partial_trees(first: tl.Tree, second: tl.Tree, lam: float, mu: float, leaves: bool = True) -> Listing:
    counts, weights = [], []
    for tree in (first, second):
        found = [f for node in tree.nodes() if leaves or node.children for f in reference.partial_trees(node)]
        counts.append(Counter(f.fragment for f in found))
        weight: Counter = Counter()
        for fragment, gaps, _ in found:
            weight[fragment] += lam**gaps
        weights.append(weight)
    (a, b), (wa, wb) = counts, weights
    return {
        as_tree(f): ((a[f], b[f]), mu ** reference.nodes(f) * lam ** (2 * reference.edge(f)) * wa[f] * wb[f])
        for f in a
        if f in b
    }


CASES = {
    "st": (tl.Subtree(lam=0.7), lambda a, b: subtrees(a, b, 0.7)),
    "sst": (tl.SubsetTree(lam=0.4), lambda a, b: subset_trees(a, b, 0.4)),
    "sst-count": (tl.SubsetTree(lam=1), lambda a, b: subset_trees(a, b, 1)),
    "sst-depth1": (tl.SubsetTree(lam=0.6, max_depth=1), lambda a, b: subset_trees(a, b, 0.6, 1)),
    "sst-depth2": (tl.SubsetTree(lam=0.6, max_depth=2), lambda a, b: subset_trees(a, b, 0.6, 2)),
    "sst-leaves": (tl.SubsetTree(lam=0.4, leaves=True), lambda a, b: subset_trees_with_leaves(a, b, 0.4)),
    "sst-leaves-depth2": (
        tl.SubsetTree(lam=0.6, max_depth=2, leaves=True),
        lambda a, b: subset_trees_with_leaves(a, b, 0.6, 2),
    ),
    "pt": (tl.PartialTree(lam=0.4, mu=0.3), lambda a, b: partial_trees(a, b, 0.4, 0.3)),
    "pt-count": (tl.PartialTree(lam=1, mu=1), lambda a, b: partial_trees(a, b, 1, 1)),
    "pt-no-leaves": (tl.PartialTree(lam=0.7, mu=0.6, leaves=False), lambda a, b: partial_trees(a, b, 0.7, 0.6, False)),
}
each_case = pytest.mark.parametrize("name", CASES)


@each_case
@settings(max_examples=trials(150))
@given(a=trees(max_nodes=10), b=trees(max_nodes=10))
def test_are_those_of_the_slow_definition(name: str, a: tl.Tree, b: tl.Tree) -> None:
    kernel, slow = CASES[name]
    expected = slow(a, b)
    found = shared_fragments(a, b, kernel, limit=10**6)
    assert found.complete
    assert {f.tree: f.counts for f in found} == {tree: counts for tree, (counts, _) in expected.items()}
    assert len(found) == len(expected), "a fragment is listed twice"
    for fragment in found:
        assert fragment.contribution == pytest.approx(expected[fragment.tree][1], rel=1e-12)
    assert found.total() == pytest.approx(kernel([a], [b])[0, 0], rel=1e-12)
    assert all(x.contribution >= y.contribution for x, y in pairwise(found))


@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith("pt")])
@settings(max_examples=60)
@given(a=trees(max_nodes=10), b=trees(max_nodes=10), limit=st.integers(1, 12))
def test_a_limit_keeps_the_largest(name: str, a: tl.Tree, b: tl.Tree, limit: int) -> None:
    kernel, slow = CASES[name]
    expected = sorted((contribution for _, contribution in slow(a, b).values()), reverse=True)
    found = shared_fragments(a, b, kernel, limit=limit)
    assert [f.contribution for f in found] == pytest.approx(expected[:limit], rel=1e-12)
    assert found.complete == (len(expected) <= limit)


@each_case
@settings(max_examples=30)
@given(a=trees(max_nodes=8), b=trees(max_nodes=8))
def test_of_a_normalized_kernel(name: str, a: tl.Tree, b: tl.Tree) -> None:
    kernel = CASES[name][0].normalized()
    found = shared_fragments(a, b, kernel, limit=10**6)
    assert found.complete
    assert found.total() == pytest.approx(kernel([a], [b])[0, 0], rel=1e-12)


def test_a_limit_on_partial_trees_is_said() -> None:
    tree = flights(1)[0]
    kernel = tl.PartialTree(lam=0.4, mu=0.4)
    value = kernel([tree])[0, 0]
    few, more = (shared_fragments(tree, tree, kernel, limit) for limit in (50, 500))
    assert (len(few), len(more)) == (50, 500)
    assert not few.complete
    assert not more.complete
    assert few.total() < more.total() < value


def test_counts_several_places() -> None:
    found = shared_fragments("(S (N x) (N x))", "(S (N x) (N y) (N x))", tl.SubsetTree(lam=0.5))
    assert [(str(f.tree), f.counts, f.contribution) for f in found] == [("(N x)", (2, 2), 2.0)]


def test_a_word_and_a_node_of_one_label_are_alike() -> None:
    found = shared_fragments("(S (A b))", "(S A)", tl.SubsetTree(lam=1))
    assert [str(f.tree) for f in found] == ["(S A)"]


def test_nothing_in_common() -> None:
    found = shared_fragments("(A a)", "(B b)", tl.PartialTree())
    assert list(found) == []
    assert found.complete
    assert found.total() == 0


def test_a_missing_tree_shares_nothing() -> None:
    assert shared_fragments("(A a)", None, tl.SubsetTree()) == []


@each_case
def test_large_trees_are_cut_off(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_MAX_STEPS", 30_000)
    deep = tl.Tree("w")
    for _ in range(3_000):
        deep = tl.Tree("A", [deep])
    wide = tl.Tree("S", [tl.Tree("A", ["w"])] * 400)
    for tree in (deep, wide):
        found = shared_fragments(tree, tree, CASES[name][0], limit=300)
        assert 2 <= len(found) <= 300
        assert found.total() <= CASES[name][0].self_values([tree])[0] * (1 + 1e-9)
    assert found.complete == (name in ("st", "sst-depth1"))


def test_a_contribution_that_does_not_fit_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    huge = SearchResult([_Fragment(tl.Tree.parse("(A a)"), float("inf"), (2.0, 2.0))], True, True)
    monkeypatch.setattr(import_module("treelet.fragments.occurrences"), "search_fragments", lambda *given: huge)
    with pytest.raises(tl.errors.KernelOverflowError, match="smaller lam"):
        shared_fragments("(S (A a) (A a))", "(S (A a) (A a))", tl.SubsetTree(lam=1))


def test_refuses_what_has_no_fragments() -> None:
    with pytest.raises(tl.errors.InputTypeError, match="Subtree, SubsetTree, PartialTree"):
        shared_fragments("(A a)", "(A a)", tl.SubsetTree() + 1)
    with pytest.raises(tl.errors.InputTypeError, match="Got Smoothed"):  # words that are alike are no fragments
        shared_fragments("(N cat)", "(N dog)", tl.Smoothed({"cat": [1, 0], "dog": [0.9, 0.1]}))
    with pytest.raises(tl.errors.ParameterError, match="'limit' parameter"):
        shared_fragments("(A a)", "(A a)", tl.SubsetTree(), limit=0)
