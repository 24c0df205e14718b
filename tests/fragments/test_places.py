"""Occurrences of fragments: equal to a list of all occurrences, and to the counts."""

from __future__ import annotations

from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treelet as tl
from treelet.fragments import places, shared_fragments
from treelet.testing import trees

Occurrence = tuple[tl.Tree, tuple[int, ...]]


class Numbered:
    """A tree whose nodes know their numbers in pre-order."""

    def __init__(self, tree: tl.Tree, numbers: list[int] | None = None) -> None:
        numbers = [0] if numbers is None else numbers
        self.number, self.label = numbers[0], tree.label
        numbers[0] += 1
        self.children = [Numbered(child, numbers) for child in tree.children]

    def all(self) -> list[Numbered]:
        return [self, *(node for child in self.children for node in child.all())]


def made(node: Numbered, kids: tuple[Occurrence, ...]) -> Occurrence:
    return tl.Tree(node.label, [tree for tree, _ in kids]), (node.number, *(n for _, there in kids for n in there))


def complete(node: Numbered) -> list[Occurrence]:
    return [made(node, kids) for kids in product(*map(complete, node.children))]


def subset(node: Numbered, leaves: bool = False) -> list[Occurrence]:
    if not node.children:
        return [(tl.Tree(node.label, ["\u2022"]), (node.number,))] if leaves else []
    choices = [[(tl.Tree(kid.label), (kid.number,)), *subset(kid, leaves)] for kid in node.children]
    return [made(node, kids) for kids in product(*choices)]


def partial(node: Numbered) -> list[Occurrence]:
    kept = [some for n in range(len(node.children) + 1) for some in combinations(node.children, n)]
    return [made(node, kids) for some in kept for kids in product(*map(partial, some))]


CASES = {
    "st": (tl.Subtree(), lambda node: complete(node) if node.children else []),
    "sst": (tl.SubsetTree(), subset),
    "sst-normalized": (tl.SubsetTree().normalized(), subset),
    "sst-depth2": (tl.SubsetTree(max_depth=2), lambda node: [one for one in subset(node) if one[0].height() <= 2]),
    "sst-leaves": (tl.SubsetTree(leaves=True), lambda node: subset(node, True)),
    "pt": (tl.PartialTree(), partial),
    "pt-no-leaves": (tl.PartialTree(leaves=False), lambda node: partial(node) if node.children else []),
}
each_case = pytest.mark.parametrize("name", CASES)


@each_case
@settings(max_examples=40)
@given(tree=trees(max_nodes=9), other=trees(max_nodes=6))
def test_are_those_of_a_list_of_all(name: str, tree: tl.Tree, other: tl.Tree) -> None:
    kernel, list_at = CASES[name]
    expected: dict[tl.Tree, list[tuple[int, ...]]] = {}
    for node in Numbered(tree).all():
        for fragment, there in list_at(node):
            expected.setdefault(fragment, []).append(there)
    for node in Numbered(other).all():
        for fragment, _ in list_at(node):
            expected.setdefault(fragment, [])
    for fragment, wanted in list(expected.items())[:60]:
        found = places(fragment, tree, kernel, limit=10**6)
        assert found == sorted(wanted), fragment
        assert found.complete


@each_case
@settings(max_examples=20)
@given(a=trees(max_nodes=9), b=trees(max_nodes=9))
def test_are_as_many_as_are_counted(name: str, a: tl.Tree, b: tl.Tree) -> None:
    kernel = CASES[name][0]
    for fragment in shared_fragments(a, b, kernel, limit=50):
        assert (len(places(fragment.tree, a, kernel)), len(places(fragment.tree, b, kernel))) == fragment.counts


@each_case
@settings(max_examples=15)
@given(tree=trees(max_nodes=9), limit=st.integers(1, 4))
def test_a_limit_is_said(name: str, tree: tl.Tree, limit: int) -> None:
    kernel = CASES[name][0]
    for fragment in shared_fragments(tree, tree, kernel, limit=10):
        every = places(fragment.tree, tree, kernel)
        some = places(fragment.tree, tree, kernel, limit=limit)
        assert some == every[:limit]
        assert some.complete == (len(every) <= limit)


def test_what_is_no_fragment_is_nowhere() -> None:
    assert places("(A x)", "(S (A (x y)))", tl.Subtree()) == []
    assert places(tl.Tree("A"), "(S (A x))", tl.SubsetTree()) == []
    assert places("(S (A (B x)))", "(S (A (B x)))", tl.SubsetTree(max_depth=2)) == []
    assert places("(S A)", None, tl.SubsetTree()) == []
    assert places("(S A)", None, tl.SubsetTree()).complete


def test_many_places_are_not_all_made() -> None:
    wide = tl.Tree("S", [tl.Tree("A", ["w"])] * 100)
    some = places(tl.Tree("S", ["A"] * 50), wide, tl.PartialTree(), limit=7)
    assert len(some) == 7
    assert not some.complete
    assert places(tl.Tree("S", ["A"] * 101), wide, tl.PartialTree()) == []


@pytest.mark.parametrize(
    ("kernel", "depth"), [(tl.Subtree(), 10_000), (tl.SubsetTree(), 10_000), (tl.PartialTree(), 100_000)], ids=str
)
def test_deep_trees(kernel: tl.kernels.Kernel, depth: int) -> None:
    deep = tl.Tree("A", ["w"])
    for _ in range(depth):
        deep = tl.Tree("A", [deep])
    assert places("(A w)", deep, kernel) == [(depth, depth + 1)]
    chain = places("(A (A A))", deep, kernel)
    assert len(chain) == (0 if isinstance(kernel, tl.Subtree) else 1_000)
    assert not (chain and chain.complete)


def test_errors() -> None:
    with pytest.raises(tl.errors.ParameterError, match="'limit' parameter of places"):
        places("(A x)", "(A x)", tl.SubsetTree(), limit=0)
    with pytest.raises(tl.errors.InputTypeError, match=r"'fragment'.*bracketed string"):
        places(None, "(A x)", tl.SubsetTree())
    with pytest.raises(tl.errors.InputTypeError, match="Subtree, SubsetTree or PartialTree"):
        places("(A x)", "(A x)", tl.Smoothed({"cat": [1, 0]}))
