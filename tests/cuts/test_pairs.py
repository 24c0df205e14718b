"""Marks on the words that two trees share, and the parts of trees near marks, against slow definitions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treelet as tl
from conftest import trials
from treelet.cuts import mark_shared, pruned
from treelet.cuts.pairs import _STOP_WORDS, _stem
from treelet.errors import InputTypeError, ParameterError, TreeError
from treelet.testing import trees

WORDS = ("dog", "Dogs", "the", "runs", "running", ".", "x")

# --- slow definitions ---------------------------------------------------------------------------------------------

Path = tuple[int, ...]  # from the root: the number of the child at each step


def paths(tree: tl.Tree, above: Path = ()) -> dict[Path, tl.Tree]:
    """Return all nodes by their paths; recursive, to be read."""
    below = [paths(child, (*above, number)) for number, child in enumerate(tree.children)]
    return {above: tree} | {path: node for part in below for path, node in part.items()}


def rebuilt(tree: tl.Tree, label: Callable[[Path, str], str], kept: set[Path] | None = None, at: Path = ()) -> tl.Tree:
    children = [
        rebuilt(child, label, kept, (*at, number))
        for number, child in enumerate(tree.children)
        if kept is None or (*at, number) in kept
    ]
    return tl.Tree(label(at, tree.label), children)


def slow_marks(a: tl.Tree, b: tl.Tree, levels: set[int], stop: bool) -> list[tl.Tree]:
    """Go through all pairs of words. Mark the nodes that are so many steps above each of two equal words."""

    def key(word: str) -> str | None:
        return None if stop and (word.lower() in _STOP_WORDS or word == ".") else _stem(word.lower())

    marked: list[set[Path]] = [set(), set()]
    nodes = [paths(a), paths(b)]
    for first, word in nodes[0].items():
        for second, other in nodes[1].items():
            if not word.children and not other.children and key(word.label) == key(other.label) is not None:
                for side, path in enumerate((first, second)):
                    marked[side] |= {path[: len(path) - level] for level in levels if level <= len(path)}
    return [
        rebuilt(tree, lambda path, label, on=on: f"REL-{label}" if path in on else label)  # type: ignore[misc]
        for tree, on in zip((a, b), marked, strict=True)
    ]


def slow_pruned(tree: tl.Tree, distance: int) -> tl.Tree:
    """Measure the path between each word's parent and each marked node."""
    nodes = paths(tree)
    marks = [path for path, node in nodes.items() if node.label.startswith("REL-")]

    def steps(a: Path, b: Path) -> int:
        common = max(k for k in range(min(len(a), len(b)) + 1) if a[:k] == b[:k])
        return len(a) + len(b) - 2 * common

    words = [
        path
        for path, node in nodes.items()
        if not node.children and (path in marks or (path and any(steps(path[:-1], mark) <= distance for mark in marks)))
    ]
    kept = {path[:k] for path in words for k in range(len(path) + 1)}
    return rebuilt(tree, lambda path, label: label, kept) if kept else tree


some_trees = trees(max_nodes=12, words=WORDS)


@settings(max_examples=trials(400))
@given(some_trees, some_trees, st.sampled_from(["phrase", "tag", None]), st.booleans())
def test_marks_equal_the_slow_definition(a: tl.Tree, b: tl.Tree, propagate: str | None, stop: bool) -> None:
    levels = {"phrase": {1, 2}, "tag": {1}, None: {0}}[propagate]
    options: dict[str, Any] = {} if stop else {"stop_words": None}
    assert list(mark_shared(a, b, propagate=propagate, **options)) == slow_marks(a, b, levels, stop)


@settings(max_examples=trials(200))
@given(some_trees, some_trees, st.integers(0, 5))
def test_pruned_equals_the_slow_definition(a: tl.Tree, b: tl.Tree, distance: int) -> None:
    for tree in mark_shared(a, b, propagate="tag"):
        assert pruned(tree, distance=distance) == slow_pruned(tree, distance)


def test_a_wrong_level_would_be_noticed() -> None:
    a, b = (tl.Tree.parse(f"(S (NP (N {word})) (V sat))") for word in ("dog", "dogs"))
    assert list(mark_shared(a, b)) == slow_marks(a, b, {1, 2}, True) != slow_marks(a, b, {1}, True)


# --- cases --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    ["dog dogs", "dance dances danced dancing", "lady ladies", "hop hops hopping hopped", "hope hopes hoping hoped",
     "play plays played playing", "ride rides riding", "box boxes", "agree agreed agrees", "run runs running"],
)  # fmt: skip
def test_forms_of_one_word(words: str) -> None:
    assert len({_stem(word) for word in words.split()}) == 1


@pytest.mark.parametrize("pair", ["sing sting", "hop hope", "bus bu", "red r", "42 4", "ab a"])
def test_different_words(pair: str) -> None:
    first, second = pair.split()
    assert _stem(first) != _stem(second)


def test_nothing_is_shared() -> None:
    a, b = tl.Tree.parse("(S (D the) (N cat) (. .))"), tl.Tree.parse("(S (D the) (N dog) (. .))")
    assert mark_shared(a, b) == (a, b)
    assert pruned(a) == a
    both = [str(tree) for tree in mark_shared(a, b, propagate="tag", stop_words=None)]
    assert both == ["(S (REL-D the) (N cat) (REL-. .))", "(S (REL-D the) (N dog) (REL-. .))"]


def test_collections_of_pairs() -> None:
    a, b = mark_shared(["(N cat)", None, "(N cat)", "(N x)"], ["(N cats)", "(N cat)", None, "(N y)"])
    assert [str(tree) for tree in a] == ["(REL-N cat)", "None", "(N cat)", "(N x)"]
    assert [str(tree) for tree in b] == ["(REL-N cats)", "(N cat)", "None", "(N y)"]
    assert isinstance(a, tl.Treebank)
    assert [str(tree) for tree in pruned(a)] == ["(REL-N cat)", "None", "(N cat)", "(N x)"]
    assert [len(part) for part in mark_shared([], [])] == [0, 0]
    assert mark_shared(a[2], None) == (a[2], None)


def test_a_single_word_is_marked_only_itself() -> None:
    assert [str(tree) for tree in mark_shared("(cat)", "(N cat)")] == ["(cat)", "(REL-N cat)"]
    assert [str(tree) for tree in mark_shared("(cat)", "(N cat)", propagate=None)] == ["(REL-cat)", "(N REL-cat)"]


def test_typed_marks() -> None:
    kinds = {"Rome": "CITY", "Oslo": "CITY", "Ann": "HUMAN"}
    a, b = mark_shared(
        "(S (NP (N Rome) (N Ann)) (V saw))",
        "(S (NP (N Oslo) (N Ann)) (V saw))",
        by=lambda word, tag: kinds.get(word, word) if tag == "N" else None,
        label=lambda key: f"REL-{key}" if key in kinds.values() else None,
    )
    assert str(a) == "(S (REL-CITY-REL-HUMAN-NP (REL-CITY-N Rome) (REL-HUMAN-N Ann)) (V saw))"
    assert str(b) == "(S (REL-CITY-REL-HUMAN-NP (REL-CITY-N Oslo) (REL-HUMAN-N Ann)) (V saw))"
    assert (
        str(pruned(a, keep=lambda label: label == "REL-HUMAN-N", distance=0))
        == "(S (REL-CITY-REL-HUMAN-NP (REL-HUMAN-N Ann)))"
    )


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: mark_shared("(A b)", "(A b)", by="word"), ParameterError, "'by' parameter of mark_shared"),
        (lambda: mark_shared("(A b)", "(A b)", propagate="all"), ParameterError, "propagate"),
        (lambda: mark_shared("(A b)", "(A b)", label="a b"), TreeError, "label"),
        (lambda: mark_shared("(A b)", "(A b)", label=lambda key: 3), TreeError, "label must be a string"),
        (lambda: mark_shared("(A b)", "(A b)", stop_words="the"), ParameterError, "stop_words"),
        (lambda: mark_shared("(A b)", ["(A b)"]), ParameterError, "two collections of the same length"),
        (lambda: mark_shared(["(A b)"], ["(A b)", "(A b)"]), ParameterError, "'a' has 1 and 'b' has 2"),
        (lambda: mark_shared("(A b)", 3), InputTypeError, "A collection of trees is needed"),
        (lambda: mark_shared("(A", "(A b)"), tl.errors.FormatError, "never closed"),
        (lambda: pruned("(A b)", distance=-1), ParameterError, "distance"),
        (lambda: pruned("(A b)", keep=3), ParameterError, "keep"),
    ],
)  # fmt: skip
def test_bad_input(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_deep_and_wide_trees() -> None:
    deep = tl.Treebank(["(A " * 100_000 + "cat" + ")" * 100_000])[0]
    wide = tl.Tree("S", [tl.Tree("N", ["cat"])] * 100_000)
    first, second = mark_shared(deep, wide)
    assert sum(node.label == "REL-A" for node in first.nodes()) == 2
    assert sum(node.label == "REL-N" for node in second.nodes()) == 100_000
    assert second.label == "REL-S"
    assert pruned(first, distance=5).height() == 100_000
    assert pruned(second, distance=0) == second
