"""Predicates and arguments: trees, candidates and features, against hand-worked figures and slow definitions."""

from __future__ import annotations

import io
import json
import lzma
from functools import cache
from itertools import takewhile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction import DictVectorizer

import treelet as tl
from experiments.data import AUXILIARIES, propbank, wsj_sample
from treelet.cuts import (
    SpanNode,
    TreeIndex,
    all_candidates,
    argument_tree,
    candidates,
    constituent_tree,
    covering_span,
    indicators,
    path_tree,
    role_features,
    voice,
)
from treelet.cuts.relations import _siblings
from treelet.cuts.tree_index import category
from treelet.errors import FileError, FormatError, InputTypeError, ParameterError, TreeError, TreeletError
from treelet.metrics import Score, role_scores
from treelet.structures.instances import (
    Argument,
    Parse,
    RelationInstance,
    RoleInstance,
    read_instances,
    write_instances,
)
from treelet.testing import trees

# Moschitti (2006), figure 1: Mary 0, brought 1, a 2, cat 3.
MARY = "(S (N Mary) (VP (V brought) (NP (D a) (N cat))))"
# Zhang, Zhang & Li (2010), figure 2, the trees T1 and T2: John 0, saw 1, a 2, man 3, in 4, the 5, bank 6.
T1 = "(IP (NNP John) (VP (VP (VV saw) (NP (DT a) (NN man))) (PP (IN in) (DT the) (NN bank))))"
T2 = "(IP (NNP John) (VP (VV saw) (NP (NP (DT a) (NN man)) (PP (IN in) (DT the) (NN bank)))))"
# Two coordinated clauses: Strikes 0 and 1 mismanagement 2 were 3 cited 4 and 5 Premier 6 Ryzhkov 7 warned 8 of 9
# tough 10 measures 11.
STRIKES = (
    "(S (S (NP (NNS Strikes) (CC and) (NN mismanagement)) (VP (VBD were) (VP (VBN cited)))) (CC and) "
    "(S (NP (NNP Premier) (NNP Ryzhkov)) (VP (VBD warned) (PP (IN of) (NP (JJ tough) (NNS measures))))))"
)
DEEP = 100_000


# --- slow definitions ---------------------------------------------------------------------------------------------

Slow = tuple[tl.Tree, int, int, tuple[int, ...]]  # node, first word, first word behind, which child of which child


def walk(tree: tl.Tree, begin: int = 0, route: tuple[int, ...] = ()) -> list[Slow]:
    """All nodes in pre-order with their spans; recursive, to be read."""
    below, at = [], begin
    for number, child in enumerate(tree.children):
        found = walk(child, at, (*route, number))
        below += found
        at = found[0][2]
    return [(tree, begin, at if tree.children else begin + 1, route), *below]


def is_above(route: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return other[: len(route)] == route


inner = trees(max_nodes=16).filter(lambda tree: bool(tree.children))


@st.composite
def cases(draw: st.DrawFn, **options: object) -> tuple[tl.Tree, int, tuple[int, int]]:
    """A tree, a predicate, and the span of a constituent."""
    tree = draw(trees(max_nodes=16, **options).filter(lambda tree: bool(tree.children)))  # type: ignore[arg-type]
    spans = sorted({(begin, end) for node, begin, end, _ in walk(tree) if node.children})
    return tree, draw(st.integers(0, len(tree.words()) - 1)), draw(st.sampled_from(spans))


# --- the index ----------------------------------------------------------------------------------------------------


@given(trees(max_nodes=16))
def test_index_equals_the_slow_walk(tree: tl.Tree) -> None:
    slow, index = walk(tree), TreeIndex(tree)
    routes = [route for *_, route in slow]
    assert len(index) == len(slow)
    assert index.words == tree.words()
    for number, (node, begin, end, route) in enumerate(slow):
        parent = routes.index(route[:-1]) if route else -1
        assert index[number] == SpanNode(number, node.label, begin, end, parent, len(route))
        assert index.nodes[number] is node
        assert index.children(number) == [n for n, r in enumerate(routes) if r[:-1] == route and len(r) > len(route)]
        assert [n for n in range(len(index)) if index.holds(number, n)] == [
            n for n, r in enumerate(routes) if is_above(route, r)
        ]
    assert list(index) == [index[number] for number in range(len(index))]


@given(trees(max_nodes=16), st.data())
def test_common_ancestors_and_paths(tree: tl.Tree, data: st.DataObject) -> None:
    index = TreeIndex(tree)
    routes = [route for *_, route in walk(tree)]
    a, b = (data.draw(st.integers(0, len(index) - 1)) for _ in range(2))
    common = max(n for n, r in enumerate(routes) if is_above(r, routes[a]) and is_above(r, routes[b]))
    assert index.common(a, b) == common
    up, down = index.path(a, b)
    assert up[0] == a
    assert up[-1] == common
    assert [*up, *down][-1] == b
    assert [index.parent[n] for n in up[:-1]] == up[1:]
    assert [index.parent[n] for n in down] == [common, *down][: len(down)]
    assert set(up).isdisjoint(down)


@given(inner, st.data())
def test_nodes_by_span(tree: tl.Tree, data: st.DataObject) -> None:
    index, slow = TreeIndex(tree), walk(tree)
    size = len(index.words)
    begin = data.draw(st.integers(0, size - 1))
    span = begin, data.draw(st.integers(begin + 1, size))
    exact = [n for n, (node, a, b, _) in enumerate(slow) if node.children and (a, b) == span]
    around = [n for n, (node, a, b, _) in enumerate(slow) if node.children and a <= span[0] and b >= span[1]]
    assert index.covering(span) == max(around)  # the deepest of a chain of nodes comes last
    assert covering_span(tree, span) == slow[max(around)][1:3]
    if exact:
        assert index.node_of(span) == exact[0]
        assert index.node_of(span, lowest=True) == exact[-1]
    else:
        assert index.find(span) is None
        with pytest.raises(TreeError, match="is not a constituent of this tree"):
            index.node_of(span)


@given(trees(max_nodes=16), st.data())
def test_rebuilt_keeps_and_renames(tree: tl.Tree, data: st.DataObject) -> None:
    index = TreeIndex(tree)
    root = data.draw(st.integers(0, len(index) - 1))
    assert index.rebuilt(root) is index.nodes[root]
    kept = {root}
    for number in range(root + 1, index.after[root]):
        if index.parent[number] in kept and data.draw(st.booleans()):
            kept.add(number)
    rename = {n: "new" for n in kept if data.draw(st.booleans())}

    def slow(number: int) -> tl.Tree:
        return tl.Tree(rename.get(number, index.label(number)), [slow(n) for n in index.children(number) if n in kept])

    assert index.rebuilt(root, keep=kept, rename=rename) == slow(root)


def test_children_get_a_node_above_them() -> None:
    index = TreeIndex("(A (B x) (C y) (D z))")
    assert str(index.rebuilt(wrap={0: [(0, 2, "E"), (2, 3, "F")]})) == "(A (E (B x) (C y)) (F (D z)))"
    assert _siblings(index, [1, 3, 5]) == [[1, 3, 5]]
    assert _siblings(index, [1, 5]) == [[1], [5]]
    with pytest.raises(TreeError, match=r"[Ll]abel"):
        index.rebuilt(rename={0: "no label"})


def test_heads() -> None:
    def head(text: str) -> str:
        index = TreeIndex(text)
        return index.words[index.head(0)]

    assert head("(NP (DT the) (JJ big) (NN dog) (PP (IN of) (NP (NNP Rome))))") == "dog"
    assert head("(NP (NP (DT the) (NN dog)) (PP (IN of) (NP (NNP Rome))))") == "dog"
    assert head("(NP (NNP John) (POS 's))") == "'s"
    assert head("(NP (NNS cats) (CC and) (NNS dogs))") == "cats"
    assert head("(NP (DT the) (JJ poor))") == "poor"
    assert head("(NP (PRP they))") == "they"
    assert head("(NP-SBJ (CD 3) (NNS men) (, ,))") == "men"
    assert head("(PP (RB right) (IN into) (NP (NN town)))") == "into"
    assert head("(S (NP (PRP He)) (VP (VBD ate) (NP (NNS eggs))) (. .))") == "ate"
    assert head("(SBAR (IN that) (S (NP (PRP he)) (VP (VBD ate))))") == "that"
    assert head("(VP (VP (VB sing)) (CC and) (VP (VB dance)))") == "sing"
    assert head("(ADVP (RB very) (RB well))") == "well"
    assert head("(X (, ,) (B x) (C y))") == "x"
    assert head("(UCP (, ,) (B x) (C y) (. .))") == "y"
    assert head("(X (, ,))") == ","
    assert head("(x)") == "x"


@given(inner)
def test_a_head_lies_within_its_phrase(tree: tl.Tree) -> None:
    index = TreeIndex(tree)
    for node in index:
        assert node.start <= index.head(node.number) < node.end


def test_categories() -> None:
    assert [category(label) for label in ("NP", "NP-SBJ-1", "ADVP=2", "-NONE-", "-LRB-", "$")] == [
        "NP",
        "NP",
        "ADVP",
        "-NONE-",
        "-LRB-",
        "$",
    ]


@pytest.mark.parametrize(
    ("span", "error", "text"),
    [
        ((0, 5), ParameterError, r"span \(0, 5\) ends after the last word.*tree has only 4 words"),
        ((2, 2), ParameterError, r"span \(begin, end\) must have 0 <= begin.*Got \(2, 2\) instead"),
        ((-1, 2), ParameterError, r"span \(begin, end\) must have 0 <= begin.*Got \(-1, 2\) instead"),
        ((0, 1.5), InputTypeError, "span must be two ints"),
        ((0, True), InputTypeError, "span must be two ints"),
        ((0, 1, 2), InputTypeError, "span must be two ints"),
        (3, InputTypeError, "span must be two ints"),
    ],
)
def test_spans_that_are_none(span: object, error: type[TreeletError], text: str) -> None:
    for function in (argument_tree, path_tree, constituent_tree, role_features):
        with pytest.raises(error, match=text):
            function(MARY, 1, span)  # type: ignore[operator]


def test_predicates_that_are_none() -> None:
    for wrong, error in ((4, ParameterError), (-1, ParameterError), ("1", InputTypeError), (True, InputTypeError)):
        for function in (candidates, all_candidates, voice):
            with pytest.raises(error, match="predicate must be an int"):
                function(MARY, wrong)  # type: ignore[operator]
        with pytest.raises(error, match="predicate must be an int"):
            argument_tree(MARY, wrong, (0, 1))  # type: ignore[arg-type]
    with pytest.raises(TreeError, match="The tree is the single word 'Mary'"):
        candidates(tl.Tree("Mary"), 0)
    with pytest.raises(InputTypeError, match="bracketed string is needed"):
        candidates(None, 0)  # type: ignore[arg-type]
    with pytest.raises(FormatError):
        candidates("(S (N Mary)", 0)


def test_numpy_numbers_are_numbers() -> None:
    assert argument_tree(MARY, np.int64(1), (np.int64(2), np.int32(4))) == argument_tree(MARY, 1, (2, 4))


# --- trees --------------------------------------------------------------------------------------------------------


def test_the_structures_of_moschitti() -> None:
    assert str(argument_tree(MARY, 1, (0, 1), mark=False)) == "(S (N Mary) (VP (V brought)))"
    assert str(argument_tree(MARY, 1, (2, 4), mark=False)) == "(VP (V brought) (NP (D a) (N cat)))"
    assert str(argument_tree(MARY, 1, (0, 1))) == "(S (N-ARG Mary) (VP (V-P brought)))"
    assert str(argument_tree(MARY, 1, (2, 4))) == "(VP (V-P brought) (NP-ARG (D a) (N cat)))"
    assert str(argument_tree(MARY, 1, (0, 1), pruned=False)) == "(S (N-ARG Mary) (VP (V-P brought) (NP (D a) (N cat))))"


def test_the_two_parses_of_the_forest_paper() -> None:
    assert str(argument_tree(T1, 1, (2, 4))) == "(VP (VV-P saw) (NP-ARG (DT a) (NN man)))"
    assert str(argument_tree(T2, 1, (2, 4))) == "(VP (VV-P saw) (NP (NP-ARG (DT a) (NN man))))"
    assert str(path_tree(T2, 1, (2, 4))) == "(VP (VV-P saw) (NP NP-ARG))"
    assert str(path_tree(T1, 1, (4, 7), mark=False)) == "(VP (VP (VV saw)) PP)"
    assert str(constituent_tree(T1, 1, (4, 7))) == "(PP (IN in) (DT the) (NN bank))"
    assert str(constituent_tree(T2, 1, (2, 7))) == "(NP (NP (DT a) (NN man)) (PP (IN in) (DT the) (NN bank)))"
    with pytest.raises(TreeError, match=r"span \(2, 7\) \('a man in the bank'\).*VP over \(1, 7\)"):
        constituent_tree(T1, 1, (2, 7))
    assert covering_span(T1, (2, 7)) == (1, 7)


def test_an_argument_around_the_predicate() -> None:
    assert str(argument_tree(MARY, 2, (2, 4))) == "(NP-ARG (D-P a) (N cat))"
    assert str(path_tree(MARY, 2, (2, 4))) == "(NP-ARG (D-P a))"
    assert str(argument_tree(MARY, 2, (2, 3))) == "(D-ARG-P a)"
    assert role_features(MARY, 2, (2, 4))["position"] == "around"


@given(cases())
def test_argument_trees_are_the_smallest(case: tuple[tl.Tree, int, tuple[int, int]]) -> None:
    tree, predicate, span = case
    slow = walk(tree)
    argument = next(route for node, a, b, route in slow if node.children and (a, b) == span)  # the topmost
    word = next(route for node, a, _, route in slow if not node.children and a == predicate)
    both = [(node, a, b) for node, a, b, route in slow if is_above(route, argument) and is_above(route, word)]
    smallest = min(both, key=lambda found: sum(1 for _ in found[0].nodes()))
    assert argument_tree(tree, predicate, span, pruned=False, mark=False) is smallest[0]
    pruned = argument_tree(tree, predicate, span, mark=False)
    words = tree.words()
    assert pruned.words() == [words[n] for n in sorted({predicate, *range(*span)})]
    assert pruned.label == smallest[0].label
    assert constituent_tree(tree, predicate, span) == next(n for n, a, b, r in slow if r == argument)


@given(cases())
def test_marks_are_the_only_difference(case: tuple[tl.Tree, int, tuple[int, int]]) -> None:
    def unmarked(tree: tl.Tree) -> tl.Tree:
        return tl.Tree(tree.label.removesuffix("-P").removesuffix("-ARG"), [unmarked(child) for child in tree.children])

    tree, predicate, span = case
    for pruned in (True, False):
        marked = argument_tree(tree, predicate, span, pruned=pruned)
        assert unmarked(marked) == argument_tree(tree, predicate, span, pruned=pruned, mark=False)
        arguments = [node for node in marked.nodes() if "-ARG" in node.label]
        assert [unmarked(node).words() for node in arguments] == [constituent_tree(tree, predicate, span).words()]
        # If all words are below one node, and the argument as well, the argument may be below the predicate's node.
        assert sum("-P" in node.label for node in marked.nodes()) <= 1
    assert unmarked(path_tree(tree, predicate, span)) == path_tree(tree, predicate, span, mark=False)


@given(cases())
def test_path_trees_are_the_path(case: tuple[tl.Tree, int, tuple[int, int]]) -> None:
    tree, predicate, span = case
    index = TreeIndex(tree)
    up, down = index.path(index.word(predicate), index.node_of(span))
    found = path_tree(tree, predicate, span, mark=False)
    labels = [node.label for node in found.nodes()]
    assert sorted(labels) == sorted(map(index.label, [*up, *down]))
    assert found.label == index.label(up[-1])
    branches = [node for node in found.nodes() if len(node.children) > 1]
    assert len(branches) == bool(down)  # at the top, or nowhere
    if down:
        assert branches[0] is found
        left, right = found.children
        if index.word(predicate) > index.node_of(span):
            left, right = right, left
        assert [node.label for node in left.nodes()] == [index.label(node) for node in reversed(up[:-1])]
        assert [node.label for node in right.nodes()] == [index.label(node) for node in down]


# --- candidates ---------------------------------------------------------------------------------------------------


def spans(found: list[SpanNode]) -> list[tuple[str, int, int]]:
    return [(node.label, *node.span) for node in found]


def test_the_steps_of_xue_and_palmer() -> None:
    # From cited (4): the auxiliary, then the subject; the other clause is coordinated.
    assert spans(candidates(STRIKES, 4)) == [("NP", 0, 3), ("VBD", 3, 4)]
    # From warned (8): the PP and its children, the subject.
    assert spans(candidates(STRIKES, 8)) == [("NP", 6, 8), ("PP", 9, 12), ("IN", 9, 10), ("NP", 10, 12)]
    assert ("S", 0, 5) in spans(all_candidates(STRIKES, 8))


def test_what_is_coordinated() -> None:
    both = "(S (CC But) (NP (NNP Ann)) (VP (VBD saw) (CC and) (VBD heard) (NP (PRP them))) (. .))"
    # The other verb is coordinated, the shared object is not; But belongs to no coordination.
    assert spans(candidates(both, 2)) == [("CC", 0, 1), ("NP", 1, 2), ("NP", 5, 6)]
    assert spans(candidates("(UCP (VP (VBN old)) (CC and) (NP (NN man)))", 0)) == []
    # Tags of verbs are alike, and those of adjectives.
    assert spans(candidates("(VP (VBD saw) (CC and) (VBZ hears) (NP (PRP them)))", 0)) == [("NP", 3, 4)]
    assert spans(candidates("(ADJP (JJ big) (CC or) (JJR bigger) (ADVP (RB yet)))", 0)) == [("ADVP", 3, 4)]
    listed = "(VP (VP (VB a)) (, ,) (VP (VB b)) (CONJP (RB as)) (VP (VB c)) (NP (NN d)))"
    assert spans(candidates(listed, 0)) == [("NP", 5, 6)]
    assert spans(candidates("(NP (NNS a) (CC and) (NN b) (PP-LOC (IN c) (NP (NN d))))", 0)) == [
        ("PP-LOC", 3, 5),
        ("IN", 3, 4),
        ("NP", 4, 5),
    ]


def test_punctuation_and_bare_words_are_no_candidates() -> None:
    assert spans(candidates("(S (NP (N a)) (, ,) (VP b (NP (N c)) d) (-RRB- -RRB-))", 2)) == [
        ("NP", 0, 1),
        ("NP", 3, 4),
    ]


def test_a_phrase_of_one_child_is_one_candidate() -> None:
    tree = "(VP (V a) (PP (PP (P b) (NP (N c)))))"
    assert spans(candidates(tree, 0)) == [("PP", 1, 3)]  # the PP below has the same words
    assert spans(all_candidates(tree, 0)) == [("PP", 1, 3), ("P", 1, 2), ("NP", 2, 3)]


@given(cases(labels=("A", "PP", "CC", "UCP", ",")))
def test_candidates_are_constituents_without_the_predicate(case: tuple[tl.Tree, int, tuple[int, int]]) -> None:
    tree, predicate, _ = case
    index = TreeIndex(tree)
    found, every = candidates(index, predicate), all_candidates(index, predicate)
    assert set(found) <= set(every)
    assert found == candidates(tree, predicate)
    assert spans(every) == sorted(spans(every), key=lambda node: (node[1], -node[2]))
    for node in every:
        assert not node.start <= predicate < node.end
        assert index.node_of(node.span) == node.number or index.label(index.node_of(node.span)) == ","
    outside = {(a, b) for node, a, b, _ in walk(tree) if node.children and node.label != "," and not a <= predicate < b}
    assert {node.span for node in every} == outside


@given(cases(labels=("A", "B", "PP")))
def test_candidates_without_coordination(case: tuple[tl.Tree, int, tuple[int, int]]) -> None:
    tree, predicate, _ = case
    slow = walk(tree)
    word = next(route for node, a, _, route in slow if not node.children and a == predicate)
    by_route = {route: node for node, _, _, route in slow}
    expected = set()
    for node, a, b, route in slow:
        above = route[:-1]
        sister = bool(route) and is_above(above, word) and not is_above(route, word)
        in_sister = (
            len(route) > 1
            and by_route[above].label == "PP"
            and is_above(above[:-1], word)
            and not is_above(above, word)
        )
        if node.children and (sister or in_sister):
            expected.add((a, b))
    # Sisters within the predicate's own tag, where several words share it, are not looked for: they are words.
    assert {node.span for node in candidates(tree, predicate)} == expected


# --- features -----------------------------------------------------------------------------------------------------


def test_features_by_hand() -> None:
    tree = (
        "(S (NP-SBJ (DT The) (NN Book)) (VP (VBD was) (VP (VBN given) (PP (TO to) (NP (NNP Ann))) "
        "(PP (IN by) (NP (PRP$ her) (NN friend))))) (. .))"
    )
    assert role_features(tree, 3, (0, 2), lemma="give") == {
        "predicate": "given",
        "tag": "VBN",
        "voice": "passive",
        "lemma": "give",
        "subcategorisation": "VP -> VBN PP PP",
        "path": "VBN↑VP↑VP↑S↓NP-SBJ",
        "phrase": "NP-SBJ",
        "position": "before",
        "head": "book",
        "head tag": "NN",
        "governor": "S",
        "first": "the",
        "first tag": "DT",
        "last": "book",
        "last tag": "NN",
        "parent": "S",
        "right": "VP",
    }
    by = role_features(tree, 3, (6, 9))
    assert by["head"] == "by"
    assert (by["content"], by["content tag"]) == ("friend", "NN")
    assert (by["path"], by["governor"], by["position"]) == ("VBN↑VP↓PP", "VP", "after")
    assert by["left"] == "PP"
    assert [role_features(MARY, 1, span)["position"] for span in ((0, 1), (1, 4), (2, 4))] == [
        "before",
        "around",
        "after",
    ]
    assert "right" not in by
    assert "lemma" not in by


def test_features_of_a_word_without_a_tag() -> None:
    found = role_features("(A (B x) y)", 1, (0, 1))
    assert found["path"] == "A↓B"
    assert (found["predicate"], found["tag"], found["head tag"]) == ("y", "A", "B")
    assert "subcategorisation" not in found


@pytest.mark.parametrize(
    ("tree", "predicate", "expected"),
    [
        ("(S (NP (PRP It)) (VP (VBD was) (VP (VBN eaten))))", 2, "passive"),
        ("(S (NP (PRP It)) (VP (VBD was) (RB not) (VP (VBN eaten))))", 3, "passive"),
        ("(S (NP (PRP It)) (VP (VBD got) (VP (VBN eaten))))", 2, "passive"),
        ("(S (NP (PRP He)) (VP (VBZ has) (VP (VBN eaten))))", 2, "active"),
        ("(S (NP (PRP It)) (VP (MD will) (VP (VB have) (VP (VBN been) (VP (VBN eaten))))))", 4, "passive"),
        ("(S (NP (PRP It)) (VP (MD will) (VP (VB have) (VP (VBN been) (VP (VBN eaten))))))", 3, "active"),
        ("(S (NP (PRP He)) (VP (VBD ate)))", 1, "active"),
        ("(S (NP (PRP He)) (VP (VBZ is) (VP (VBG eating))))", 2, "active"),
        ("(SQ (VBD Was) (NP (PRP it)) (VP (VBN eaten)))", 2, "passive"),
        ("(S (NP (PRP It)) (VP (VBD was) (VP (VP (VBN cut)) (CC and) (VP (VBN eaten)))))", 4, "passive"),
        ("(S (NP (PRP It)) (VP (VBD was) (VP (VBN cut) (CC and) (VBN eaten))))", 4, "passive"),
        ("(NP (NP (DT the) (NN book)) (VP (VBN given) (PP (TO to) (NP (PRP her)))))", 2, "passive"),
        ("(NP (DT the) (VBN given) (NN book))", 1, "passive"),
        ("(S (S (VP (VBN Asked))) (, ,) (NP (PRP she)) (VP (VBD left)))", 0, "passive"),
        ("(S (NP (PRP He)) (VP (VBN called)))", 1, "active"),
        ("(FRAG (VP (VBN done)))", 0, "active"),
    ],
)
def test_voice(tree: str, predicate: int, expected: str) -> None:
    assert voice(tree, predicate) == expected


def test_features_go_into_vectors() -> None:
    one, other = role_features(MARY, 1, (0, 1)), role_features(MARY, 1, (2, 4))
    theirs = DictVectorizer().fit([one, other])
    ours = [indicators(one), indicators(other)]
    assert sorted(theirs.get_feature_names_out()) == sorted({name for row in ours for name in row})
    shared = len(set(one.items()) & set(other.items()))
    assert tl.Linear()(ours)[0, 1] == shared > 0
    assert indicators({"a": None, "b": True, "c": 2}) == {"b": 1.0, "c": 2.0}
    with pytest.raises(InputTypeError, match="'a' is an object, but a word, a list"):
        indicators({"a": object()})


# --- depth --------------------------------------------------------------------------------------------------------


def deep(depth: int) -> TreeIndex:
    tree = tl.Tree("VP", [tl.Tree("VB", ["x"]), tl.Tree("NP", [tl.Tree("N", ["y"])])])
    for _ in range(depth):
        tree = tl.Tree("S", [tree])
    return TreeIndex(tl.Tree("S", [tree, tl.Tree("Z", ["z"])]))


def test_very_deep_trees() -> None:
    assert path_tree(deep(DEEP // 10), 0, (2, 3)).height() == DEEP // 10 + 3
    index = deep(DEEP)
    assert max(index.depth) == DEEP + 4
    assert index.common(index.word(0), index.word(2)) == 0
    assert argument_tree(index, 0, (2, 3)).words() == ["x", "z"]
    assert argument_tree(index, 2, (1, 2), pruned=False, mark=False) is index.tree
    assert spans(candidates(index, 0)) == [("NP", 1, 2), ("Z", 2, 3)]
    assert spans(all_candidates(index, 2)) == [("S", 0, 2), ("VB", 0, 1), ("NP", 1, 2)]
    assert role_features(index, 0, (2, 3))["path"].count("↑") == DEEP + 2
    assert index.head(0) == 0
    assert covering_span(index, (1, 3)) == (0, 3)


# --- measures -----------------------------------------------------------------------------------------------------


def test_role_scores_by_hand() -> None:
    gold = [[("ARG0", 0, 1), ("ARG1", 2, 4), ("ARGM-TMP", 5, 6)], [], [("ARG1", 0, 3)]]
    found = [[("ARG0", 0, 1), ("ARG2", 2, 4)], [("ARG0", 1, 2)], [("ARG1", 0, 3), ("ARG1", 0, 3)]]
    # Right: ARG0 0-1 and one ARG1 0-3; 4 should be found, 5 were. P = 2/5, R = 2/4, F1 = 4/9.
    scores = role_scores(gold, found)
    assert scores.overall == Score(2, 5, 4)
    assert (scores.precision, scores.recall) == (40.0, 50.0)
    assert scores.f1 == pytest.approx(400 / 9)
    # Whatever the label, ARG2 2-4 is right too.
    assert scores.unlabelled == Score(3, 5, 4)
    # ARG1: 0-3 is right once, of 2 found and 2 that should be.
    assert scores.labels == {
        "ARG0": Score(1, 2, 1),
        "ARG1": Score(1, 2, 2),
        "ARG2": Score(0, 1, 0),
        "ARGM-TMP": Score(0, 0, 1),
    }


def test_role_scores_at_the_ends() -> None:
    assert role_scores([], []).f1 == 100
    assert role_scores([[("A", 0, 1)]], [[]]).precision == 0
    assert role_scores([[]], [[("A", 0, 1)]]).recall == 0
    with pytest.raises(ParameterError, match=r"Got 1 gold list.*0 predicted list"):
        role_scores([[]], [])
    with pytest.raises(InputTypeError, match="one list per predicate"):
        role_scores([("A", 0, 1)], [[]])  # type: ignore[list-item]


# --- files --------------------------------------------------------------------------------------------------------


def line(**fields: object) -> str:
    return json.dumps({"tree": MARY, "predicate": 1, "arguments": [["ARG0", 0, 1]], **fields})


def test_instances_are_read_and_written(tmp_path: Path) -> None:
    tree = tl.Tree.parse(MARY)
    first = RoleInstance(
        tree=tree,
        predicate=1,
        arguments=(Argument("ARG0", 0, 1), Argument("ARG1", 2, 4)),
        roleset="bring.01",
        doc="d",
        sent=3,
        nbest=(Parse(tree, -1.5), Parse(tl.Tree.parse("(X (A Mary) (B brought) (C a) (D cat))"), -2.0)),
    )
    second = RoleInstance(words=("nobody", "knöws"), predicate=1)
    for name in ("roles.jsonl", "roles.jsonl.gz", "roles.jsonl.xz"):
        write_instances([first, second], tmp_path / name)
        assert read_instances(tmp_path / name) == [first, second]
        assert read_instances(tmp_path / name, "roles") == [first, second]
    assert (tmp_path / "roles.jsonl.gz").read_bytes()[:2] == b"\x1f\x8b"
    assert first.words == ("Mary", "brought", "a", "cat")
    assert first.arguments[1].span == (2, 4)
    assert read_instances(io.StringIO("\n\n")) == []


def test_instances_are_made_of_what_there_is() -> None:
    one = RoleInstance(tree=MARY, predicate=np.int64(1), arguments=[["ARG1", np.int64(2), 4]])  # type: ignore[arg-type]
    assert one == RoleInstance(tree=tl.Tree.parse(MARY), predicate=1, arguments=(Argument("ARG1", 2, 4),))
    assert hash(one) == hash(RoleInstance(tree=tl.Tree.parse(MARY), predicate=1, arguments=(Argument("ARG1", 2, 4),)))
    json.dumps([one.predicate, one.arguments])


def test_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    write_instances([RoleInstance(words=("a", "b"), predicate=1)], "-")
    assert json.loads(capsys.readouterr().out) == {"words": ["a", "b"], "predicate": 1, "arguments": []}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not valid JSON|cannot be read"),
        ("[" * 100_000, "not valid JSON|cannot be read"),
        ("[1]", "JSON object, but this line"),
        ('{"tree": "(S (N a))"}', "'predicate'"),
        (line(predicate=4), "field 'predicate' must be the position"),
        (line(predicate="1"), "field 'predicate' must be the position"),
        (line(predicate=True), "field 'predicate' must be the position"),
        (line(tree="(S (N Mary)"), "field 'tree'"),
        (line(tree=["S"]), "field 'tree' must be a tree in brackets"),
        (line(tree=None), "instance has no sentence"),
        (line(words=["Mary"]), "'Mary brought a cat' instead of 'Mary'"),
        (line(words=["Mary", "brought", "a", "dog"]), "brought a cat' instead of 'Mary brought"),
        (line(words="Mary"), "field 'words' must be a list"),
        (line(words=["Mary", 3]), "must be a list of non-empty strings"),
        (line(arguments={"ARG0": 1}), "field 'arguments' must be a list"),
        (line(arguments=[["ARG0", 0, 1], ["ARG1", 2]]), r"field 'arguments\[1\]' must be \[label.*Got \['ARG1', 2\]"),
        (line(arguments=[["", 0, 1]]), r"field 'arguments\[0\]' must be \[label"),
        (line(arguments=[["ARG0", 0, 5]]), r"field 'arguments\[0\]' is the span \(0, 5\).*sentence has only 4 words"),
        (line(arguments=[["ARG0", 1, 1]]), r"field 'arguments\[0\]'.*span \(begin, end\) must have 0 <= begin"),
        (line(arguments=[["ARG0", 1, 1.5]]), r"field 'arguments\[0\]'"),
        (line(nbest=[["x", MARY]]), r"'nbest\[0\]' must be a tree with its log"),
        (line(nbest=[[float("nan"), MARY]]), r"'nbest\[0\]' must be a finite float64"),
        (line(nbest=[[-1, "(S (N Mary))"]]), r"'nbest\[0\]' differ.*'Mary' instead of 'Mary brought a cat'"),
        (line(roleset=1), "field 'roleset' must be a string"),
        (line(sent="1"), "field 'sent' must be a whole number"),
        (line(doc=3), "field 'doc' must be a string"),
        (line(e1=[0, 1]), "unknown field 'e1'"),
    ],
)
def test_lines_that_are_wrong(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    path.write_text(line() + "\n\n" + text + "\n", encoding="utf-8")
    with pytest.raises(FormatError, match=message) as caught:
        read_instances(path)
    assert (caught.value.source, caught.value.line) == (str(path), 3)


def test_instances_of_two_kinds(tmp_path: Path) -> None:
    roles, relations = RoleInstance(words=("a",), predicate=0), RelationInstance(words=("a",), e1=(0, 1), e2=(0, 1))
    with pytest.raises(InputTypeError, match=r"kind, but item 0 is a RoleInstance.*1 is a RelationInstance"):
        write_instances([roles, relations], tmp_path / "both.jsonl")
    with pytest.raises(InputTypeError, match=r"Item 0 is a.*but a RoleInstance or RelationInstance"):
        write_instances(["a"], tmp_path / "both.jsonl")  # type: ignore[list-item]
    assert not list(tmp_path.iterdir())
    with pytest.raises(ParameterError, match="'kind' parameter"):
        read_instances(io.StringIO(""), "role")  # type: ignore[call-overload]
    with pytest.raises(FormatError, match="'e1' and 'e2'"):
        read_instances(io.StringIO(line()), "relations")


# --- corpora ------------------------------------------------------------------------------------------------------


def test_propbank_without_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREELET_DATA", str(tmp_path))
    with pytest.raises(FileError, match="propbank_wsj_sample: does not exist"):
        propbank()
    with pytest.raises(ParameterError, match="'name' parameter"):
        propbank("brown")
    with pytest.raises(ParameterError, match="corpus 'masc' has no n-best parses"):
        propbank("masc", nbest=3)


@pytest.fixture
def data(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TREELET_DATA", str(data_dir))
    return data_dir


def needs(data: Path, *folders: str) -> None:
    for folder in folders:
        if not (data / folder).is_dir():
            pytest.skip(f"needs the corpus {folder}")


@cache
def everything(name: str) -> list[RoleInstance]:
    return propbank(name, verbs=False, auxiliaries=True)


@pytest.mark.slow
# Predicates, arguments, and how many of these are one constituent, as the corpora's own descriptions count them.
@pytest.mark.parametrize(("name", "counts"), [("wsj", (10_397, 21_738, 21_385)), ("masc", (14_118, 30_567, 30_444))])
def test_propbank(data: Path, name: str, counts: tuple[int, int, int]) -> None:
    needs(data, "propbank_wsj_sample", "ptb_sample", "masc_srl")
    found = everything(name)
    where = (None, None)
    constituents = kept = missed = candidate = every = 0
    for number, one in enumerate(found):
        if (one.doc, one.sent) != where:
            where = one.doc, one.sent
            index = TreeIndex(one.tree)
        exact = [argument.span for argument in one.arguments if index.find(argument.span) is not None]
        constituents += len(exact)
        if number % 10 == 0 and index.tag_label(one.predicate).startswith("VB") and one.roleset not in AUXILIARIES:
            chosen = {node.span for node in candidates(index, one.predicate)}
            kept += sum(span in chosen for span in exact)
            missed += sum(span not in chosen for span in exact)
            candidate += len(chosen)
            every += len(all_candidates(index, one.predicate))
    assert (len(found), sum(len(one.arguments) for one in found), constituents) == counts
    # Of every tenth predicate: pruning loses few arguments and most of what is none.
    assert kept / (kept + missed) > 0.98
    assert candidate / every < 0.25


def test_propbank_options(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs(data, "propbank_wsj_sample", "ptb_sample", "wsj_nbest")
    for name in (
        "propbank_wsj_sample/args.tsv.xz",
        "ptb_sample/wsj_sample.clean.tsv.xz",
        "wsj_nbest/wsj_sample.nbest20.jsonl.xz",
    ):  # the first articles of the real files
        (tmp_path / name).parent.mkdir()
        with (
            lzma.open(data / name, "rt", encoding="utf-8") as lines,
            lzma.open(tmp_path / name, "wt", encoding="utf-8") as kept,
        ):
            kept.writelines(takewhile(lambda line: "wsj_0021" not in line[:30], lines))
    monkeypatch.setenv("TREELET_DATA", str(tmp_path))
    whole, found = propbank("wsj"), propbank("wsj", continued=False, nbest=2)
    assert len(found) == len(whole) > 300
    assert any(a.label.startswith(("R-", "C-")) for one in whole for a in one.arguments)
    assert all(not a.label.startswith(("R-", "C-")) for one in found for a in one.arguments)
    assert all(one.roleset not in AUXILIARIES for one in found)
    assert all(len(one.nbest) in (1, 2) for one in found)
    first = found[0]
    assert (first.doc, first.sent, first.words[first.predicate], first.roleset) == ("wsj_0001", 0, "join", "join.01")
    assert first.arguments[0] == Argument("ARG0", 0, 7)
    assert first.nbest[0].log_probability >= first.nbest[1].log_probability


def test_masc_shares_articles_with_the_wsj_sample(data: Path) -> None:
    needs(data, "masc_srl", "ptb_sample")
    documents = {one.doc for one in everything("masc")}
    assert documents & set(wsj_sample()[1]) >= {"wsj_0006", "wsj_0189"}
