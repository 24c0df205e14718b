"""The overlap of statements, on random trees and on source code of all languages."""

from __future__ import annotations

import io
from itertools import cycle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treelet as tl
from conftest import trials
from definitions.kernels import BLOCKS, definition
from treelet.kernels.statements import _Statements
from treelet.structures import Tree, Treebank

OVERLAP = tl.StatementOverlap()
LABELS = [*sorted(BLOCKS), "body", "orelse", "Return", "If", "Lambda", "x", "$0", "$1", "block_parameters"]
LABELS += ["expression_statement", "return_statement", "if_statement", "heredoc_body"]
trees = st.recursive(
    st.sampled_from(LABELS).map(Tree),
    lambda below: st.builds(Tree, st.sampled_from(LABELS), st.lists(below, max_size=3)),
    max_leaves=12,
)


@settings(max_examples=trials(1000))
@given(st.lists(trees, min_size=1, max_size=6), st.lists(trees, min_size=1, max_size=3))
def test_equal_to_the_definition(X: list[Tree], Y: list[Tree]) -> None:
    slow = definition(OVERLAP)
    expected = np.array([[slow(x, y) for y in Y] for x in X])
    np.testing.assert_allclose(OVERLAP(X, Y), expected, atol=1e-15)
    np.testing.assert_array_equal(OVERLAP(Y, X), OVERLAP(X, Y).T)
    np.testing.assert_allclose(OVERLAP(X), [[slow(x, y) for y in X] for x in X], atol=1e-15)
    np.testing.assert_array_equal(np.diag(OVERLAP(X)), OVERLAP.diag(X))
    np.testing.assert_allclose(OVERLAP.diag(X[: len(Y)], Y[: len(X)]), np.diag(expected), atol=1e-15)
    assert np.linalg.eigvalsh(OVERLAP(X))[0] > -1e-12


@settings(max_examples=trials(1000))
@given(trees, st.lists(st.sampled_from(LABELS), min_size=1, max_size=4))
def test_other_leaves(tree: Tree, labels: list[str]) -> None:
    """A statement with other leaves has the same form."""
    names = cycle(labels)

    def relabeled(node: Tree) -> Tree:
        return Tree(node.label, [*map(relabeled, node.children)]) if node.children else Tree(next(names))

    both = [tree, relabeled(tree)]
    assert OVERLAP(both)[0, 1] == definition(OVERLAP)(*both)


def test_a_node_that_loses_its_children_is_not_a_leaf() -> None:
    """Its label remains in the form of a statement."""
    texts = [
        f"(f (block (g {inside})))" for inside in ("(x (return_statement a))", "(y (return_statement a))", "x", "y")
    ]
    functions = [*map(Tree.parse, texts)]
    expected = [[definition(OVERLAP)(one, other) for other in functions] for one in functions]
    np.testing.assert_array_equal(OVERLAP(functions), expected)
    assert expected[0][1] < expected[2][3]


def test_missing_trees() -> None:
    bank = Treebank(["(f x)", None])
    np.testing.assert_array_equal(OVERLAP(bank), [[1, 0], [0, 0]])
    np.testing.assert_array_equal(OVERLAP.diag(bank), [1, 0])
    np.testing.assert_array_equal(OVERLAP(["(f x)"], bank[1:]), [[0]])
    np.testing.assert_array_equal(OVERLAP(bank[1:], ["(f x)"]), [[0]])


def test_search_and_index() -> None:
    rng = np.random.default_rng(0)
    pieces = [f"(return_statement {name})" for name in "abcdef"]
    functions = [f"(function x (block {' '.join(rng.choice(pieces, 6))}))" for _ in range(300)]
    K = OVERLAP(functions)
    values, rows = tl.nearest(OVERLAP, functions[:250], functions[250:], k=3)
    np.testing.assert_array_equal(values, -np.sort(-K[250:, :250], axis=1)[:, :3])
    search = tl.Nearest(OVERLAP, n_neighbors=3).fit(functions[:200]).partial_fit(functions[200:250])
    found = search.kneighbors(functions[250:])
    np.testing.assert_array_equal(found[0], values)
    np.testing.assert_array_equal(found[1], rows)
    np.testing.assert_array_equal(tl.gram(OVERLAP, functions, n_jobs=2, memory="1MiB"), K)


CODE = {  # a function, the same with other names and moved statements, and the number of statements
    "python": ("def f(a):\n  g(a)\n  for x in a:\n    h(x)\n", "def q(b):\n  for y in b:\n    h(y)\n  g(b)\n", 4),
    "javascript": ("function f(a) { g(a); if (a) return h(a); }", "function q(b) { if (b) return h(b); g(b); }", 4),
    "typescript": ("function f(a: T) { g(a); if (a) { h(a); } }", "function q(b: T) { if (b) { h(b); } g(b); }", 4),
    "tsx": ("function f(a: T) { g(a); if (a) { h(a); } }", "function q(b: T) { if (b) { h(b); } g(b); }", 4),
    "java": (
        "class A { void f(T a) { g(a); while (a) { h(a); } } }",
        "class A { void q(T b) { while (b) { h(b); } g(b); } }",
        4,
    ),
    "c": ("void f(T a) { g(a); while (a) { h(a); } }", "void q(T b) { while (b) { h(b); } g(b); }", 4),
    "cpp": ("void f(T a) { g(a); while (a) { h(a); } }", "void q(T b) { while (b) { h(b); } g(b); }", 4),
    "go": ("package p\nfunc f(a T) { g(a)\n if a { h(a) } }", "package p\nfunc q(b T) { if b { h(b) }\n g(b) }", 4),
    "rust": ("fn f(a: T) { g(a); while a { h(a); } }", "fn q(b: T) { while b { h(b); } g(b); }", 4),
    "c-sharp": (
        "class A { void f(T a) { g(a); if (a) { h(a); } } }",
        "class A { void q(T b) { if (b) { h(b); } g(b); } }",
        4,
    ),
    "php": (
        "<?php function f($a) { g($a); if ($a) { h($a); } }",
        "<?php function q($b) { if ($b) { h($b); } g($b); }",
        4,
    ),
    "ruby": ("def f(a)\n g(a)\n if a\n  h(a)\n end\nend", "def q(b)\n if b\n  h(b)\n end\n g(b)\nend", 4),
    "kotlin": ("fun f(a: T) { g(a)\n while (a) { h(a) } }", "fun q(b: T) { while (b) { h(b) }\n g(b) }", 4),
    "swift": ("func f(a: T) { g(a)\n while a { h(a) } }", "func q(b: T) { while b { h(b) }\n g(b) }", 4),
    "bash": ("f() {\n g 1\n for x in 1 2; do\n  h $x\n done\n}", "f() {\n for y in 1 2; do\n  h $y\n done\n g 1\n}", 4),
    "scala": ("def f(a: T) = { g(a)\n while (a) { h(a) } }", "def q(b: T) = { while (b) { h(b) }\n g(b) }", 4),
    "lua": ("function f(a)\n g(a)\n while a do h(a) end\nend", "function q(b)\n while b do h(b) end\n g(b)\nend", 4),
}


@pytest.mark.parametrize("language", CODE)
def test_languages(language: str) -> None:
    first, second, size = CODE[language]
    files = [io.StringIO(first), io.StringIO(second)]
    bank = tl.read_code(files, language=language, identifiers="anonymous")
    np.testing.assert_array_equal(np.diff(_Statements.of(bank).start), [2 * size, 2 * size])  # each with its form
    np.testing.assert_array_equal(OVERLAP(bank), np.ones((2, 2)))


@settings(max_examples=trials(300))
@given(
    st.lists(st.lists(st.integers(0, 8), max_size=9), min_size=2, max_size=30),
    st.lists(st.lists(st.integers(0, 12), max_size=9), min_size=1, max_size=5),
    st.sampled_from([0.2, 0.5, 0.6, 2 / 3, 0.8, 1.0]) | st.floats(0.01, 1),
)
def test_search_with_a_threshold(X: list[list[int]], Q: list[list[int]], threshold: float) -> None:
    """The search compares few pairs, and finds all that reach the threshold."""
    functions, queries = (
        Treebank([Tree("f", [Tree("block", [Tree(f"s{number}") for number in body])]) for body in some])
        for some in (X, Q)
    )
    for asked in (None, queries):
        K = OVERLAP(functions) if asked is None else OVERLAP(asked, functions)
        graph = tl.nearest(OVERLAP, functions, asked, threshold=threshold, graph=True)
        np.testing.assert_array_equal(graph.toarray(), np.where(threshold - 1e-9 * threshold <= K, K, 0))
