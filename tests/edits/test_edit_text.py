"""Edit scripts as text: operations, unchanged subtrees, and both trees side by side."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

import treelet as tl
from conftest import trials
from treelet.cuts import TreeIndex
from treelet.errors import TreeError
from treelet.formats import python_trees
from treelet.testing import trees

DEEP = tl.Tree.parse("(A " * 61 + "a" + ")" * 61)


@settings(max_examples=trials(200), deadline=None)
@given(trees(), trees())
def test_unchanged_subtrees_are_the_largest_equal_ones(a: tl.Tree, b: tl.Tree) -> None:
    script = tl.edit_script(a, b)
    first, second = TreeIndex(a), TreeIndex(b)
    mapping = dict(script.mapping)
    whole = {
        node: mapping[node]
        for node in mapping
        if first.nodes[node] == second.nodes[mapping[node]]
        and all(mapping.get(node + k) == mapping[node] + k for k in range(first.after[node] - node))
    }
    largest = {node: whole[node] for node in whole if first.parent[node] not in whole}
    assert {source: target for source, target, _ in script.unchanged()} == largest
    assert all(size == first.after[source] - source for source, _, size in script.unchanged())


@settings(max_examples=trials(200), deadline=None)
@given(trees(), trees())
def test_the_drawing_has_every_change_once(a: tl.Tree, b: tl.Tree) -> None:
    script = tl.edit_script(a, b)
    try:
        lines = script.pretty().splitlines()
    except TreeError:
        return
    for sign, kind in (("~", "rename"), ("+", "insert"), ("-", "delete")):
        assert sum(line.startswith(f"{sign} ") for line in lines) == sum(o.kind == kind for o in script)


def test_lines_and_columns() -> None:
    (a,), (b,) = python_trees("x = 1\n"), python_trees("\nx = 2\ny\n")
    script = tl.edit_script(a, b)
    assert "  rename 1 -> 2 at 1:5 -> 2:5" in str(script).splitlines()
    assert "  insert Expr at 3:1" in str(script).splitlines()
    assert any(line.startswith("~") and "1 1:5" in line and "2 2:5" in line for line in script.pretty().splitlines())


def test_long_and_hostile_labels() -> None:
    long, hostile = tl.Tree("x" * 500, ["a"]), tl.Tree("\x1b[2J", ["a"])
    script = tl.edit_script(long, hostile)
    assert "\x1b" not in script.pretty()
    assert "\x1b" not in str(script)
    assert max(map(len, script.pretty().splitlines())) < 170
    assert "…" in script.pretty()


def test_large_trees_are_not_drawn() -> None:
    wide = tl.Tree("A", ["x"] * 301)
    for tree, other in ((DEEP, tl.Tree.parse(str(DEEP).replace("a", "b"))), (wide, tl.Tree("A", ["y"] * 301))):
        with pytest.raises(TreeError, match="more than 300 lines or 60 levels"):
            tl.edit_script(tree, other).pretty()
    assert tl.edit_script(wide, wide).pretty().count("\n") == 0


def test_similarity_is_rounded_to_1_only_for_equal_trees() -> None:
    assert tl.edit_script("(A x)", "(A x)").summary() == "cost 0, similarity 1.00"
    assert tl.edit_script(tl.Tree("A", ["x"] * 999), tl.Tree("B", ["x"] * 999)).summary() == "cost 1, similarity 0.9990"
