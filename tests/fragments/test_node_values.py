"""The table C(n1, n2) of two trees: the definition, the recursions of the papers, and the kernel as its sum."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treelet as tl
from conftest import trials
from definitions.fragments import at_node
from treelet.errors import InputTypeError, KernelOverflowError
from treelet.fragments import node_values
from treelet.testing import trees

KERNELS = [
    tl.Subtree(0.7),
    tl.SubsetTree(0.4),
    tl.SubsetTree(0.9, max_depth=2),
    tl.SubsetTree(0.4, leaves=True),
    tl.PartialTree(0.6, 0.3),
    tl.PartialTree(leaves=False),
]


@settings(max_examples=trials(300))
@given(trees(), trees(), st.sampled_from(KERNELS))
def test_the_table_is_the_definition_and_its_sum_is_the_kernel(a: tl.Tree, b: tl.Tree, kernel: tl.SubsetTree) -> None:
    table = node_values(a, b, kernel)
    first, second = ([at_node(kernel, node) for node in tree.nodes()] for tree in (a, b))
    slow = [[sum(one[f] * other[f] for f in one.keys() & other.keys()) for other in second] for one in first]
    np.testing.assert_allclose(table, slow, rtol=1e-9, atol=1e-12)
    assert table.sum() == pytest.approx(float(kernel([a], [b])[0, 0]), rel=1e-9)


@settings(max_examples=trials(100))
@given(trees(), trees(), st.floats(0.05, 1))
def test_subset_trees_follow_the_recursion_of_collins_and_duffy(a: tl.Tree, b: tl.Tree, lam: float) -> None:
    table = node_values(a, b, tl.SubsetTree(lam))
    first, second = list(a.nodes()), list(b.nodes())
    children = [children_of(a), children_of(b)]
    for i, one in enumerate(first):
        for k, other in enumerate(second):
            same = (one.label, [c.label for c in one]) == (other.label, [c.label for c in other])
            pairs = zip(children[0][i], children[1][k], strict=True) if same else ()
            expected = lam * math.prod(1 + table[c, d] for c, d in pairs) if same and one.children else 0.0
            assert table[i, k] == pytest.approx(expected, rel=1e-9)


def children_of(tree: tl.Tree) -> list[list[int]]:
    """The numbers of each node's children, in pre-order."""
    children: list[list[int]] = []

    def visit(node: tl.Tree) -> int:
        number = len(children)
        children.append([])
        children[number].extend([visit(child) for child in node])
        return number

    visit(tree)
    return children


def test_a_missing_tree_has_no_nodes() -> None:
    assert node_values(None, "(A a)", tl.SubsetTree()).shape == (0, 2)


def test_other_kernels_are_refused() -> None:
    with pytest.raises(InputTypeError, match="'kernel' parameter of node_values must be a Subtree"):
        node_values("(A a)", "(A a)", tl.SubsetTree().normalized())  # type: ignore[arg-type]


def test_a_value_that_overflows_is_reported() -> None:
    tree = tl.Tree("A", ["x"])
    for _ in range(14):
        tree = tl.Tree("A", [tree, tree])
    with pytest.raises(KernelOverflowError):
        node_values(tree, tree, tl.SubsetTree(1))
