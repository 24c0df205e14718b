"""Pairs of entities: trees, features, readers, the official score, against hand-worked cases and slow definitions."""

from __future__ import annotations

import io
import json
import lzma
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction import DictVectorizer

import treelet as tl
from experiments.data import bioinfer, conll04, semeval2010, tokens
from treelet.cuts import TreeIndex, entity_features, indicators, minimal_complete_tree, path_enclosed_tree
from treelet.errors import FileError, FormatError, InputTypeError, ParameterError, TreeError
from treelet.metrics import Score, semeval_scores
from treelet.structures.instances import Parse, RelationInstance, read_instances, write_instances
from treelet.testing import trees

# Zhang, Zhang & Li (2010), figure 2, the trees T1 and T2: John 0, saw 1, a 2, man 3, in 4, the 5, bank 6.
T1 = "(IP (NNP John) (VP (VP (VV saw) (NP (DT a) (NN man))) (PP (IN in) (DT the) (NN bank))))"
T2 = "(IP (NNP John) (VP (VV saw) (NP (NP (DT a) (NN man)) (PP (IN in) (DT the) (NN bank)))))"
# Two persons with words on both sides, for the two trees of Zhang et al. (2006): provide 0 benefits 1 to 2 200,000 3
# domestic 4 partners 5 of 6 their 7 own 8 workers 9 in 10 New 11 York 12.
PARTNERS = (
    "(VP (VB provide) (NP (NNS benefits)) (PP (TO to) (NP (NP (CD 200,000) (JJ domestic) (NNS partners)) (PP (IN of) "
    "(NP (NP (PRP$ their) (JJ own) (NNS workers)) (PP (IN in) (NP (NNP New) (NNP York))))))))"
)
Span = tuple[int, int]


# --- slow definitions ---------------------------------------------------------------------------------------------


def cut(tree: tl.Tree, begin: int, end: int) -> tl.Tree | None:
    """What is left of a tree when only some of its words stay; recursive, to be read."""
    if not tree.children:
        return tree if begin <= 0 < end else None
    kids, at = [], 0
    for child in tree.children:
        kids.append(cut(child, begin - at, end - at))
        at += len(child.words())
    left = [kid for kid in kids if kid is not None]
    return tl.Tree(tree.label, left) if left else None


def smallest(tree: tl.Tree, begin: int, end: int) -> tuple[tl.Tree, int]:
    """The lowest node with children that holds some words, and its first word; recursive."""
    at = 0
    for child in tree.children:
        size = len(child.words())
        if child.children and at <= begin and end <= at + size:
            found, first = smallest(child, begin - at, end - at)
            return found, at + first
        at += size
    return tree, 0


def without_nodes(tree: tl.Tree) -> list[tl.Tree]:
    """The tree, its E1 and E2 nodes replaced by what is below them."""
    below = [part for child in tree.children for part in without_nodes(child)]
    return below if tree.label in ("E1", "E2") else [tl.Tree(tree.label, below)]


def marked_words(tree: tl.Tree, label: str, offset: int) -> list[int]:
    """Where the words stand that lie below a node whose label holds `label`."""
    index = TreeIndex(tree)
    marked = [node for node in index if label in node.label.split("-")]
    return sorted({place + offset for node in marked for place in range(node.start, node.end)})


@st.composite
def pairs(draw: st.DrawFn) -> tuple[tl.Tree, Span, Span]:
    """A tree and two spans of words, constituents or not."""
    tree = draw(trees(max_nodes=16))
    size = len(tree.words())
    begins = [draw(st.integers(0, size - 1)) for _ in range(2)]
    first, second = ((begin, draw(st.integers(begin + 1, size))) for begin in begins)
    return tree, first, second


# --- trees --------------------------------------------------------------------------------------------------------


def test_the_trees_of_zhang_et_al() -> None:
    partners, workers = (5, 6), (9, 10)
    assert str(path_enclosed_tree(PARTNERS, partners, workers, labels=("E1-PER", "E2-PER"))) == (
        "(NP (NP (E1-PER (NNS partners))) (PP (IN of) (NP (NP (PRP$ their) (JJ own) (E2-PER (NNS workers))))))"
    )
    assert str(minimal_complete_tree(PARTNERS, partners, workers, mark=None)) == (
        "(NP (NP (CD 200,000) (JJ domestic) (NNS partners)) (PP (IN of) "
        "(NP (NP (PRP$ their) (JJ own) (NNS workers)) (PP (IN in) (NP (NNP New) (NNP York))))))"
    )


def test_the_two_parses_of_the_forest_paper() -> None:
    man, bank = (3, 4), (6, 7)
    assert str(path_enclosed_tree(T1, man, bank)) == (
        "(VP (VP (NP (E1 (NN man)))) (PP (IN in) (DT the) (E2 (NN bank))))"
    )
    assert str(path_enclosed_tree(T2, man, bank, mark="tags")) == (
        "(NP (NP (E1-NN man)) (PP (IN in) (DT the) (E2-NN bank)))"
    )
    assert str(minimal_complete_tree(T1, man, bank, mark="tags")) == (
        "(VP (VP (VV saw) (NP (DT a) (E1-NN man))) (PP (IN in) (DT the) (E2-NN bank)))"
    )


def test_names_follow_the_arguments() -> None:
    assert str(path_enclosed_tree(T2, (3, 4), (0, 1))) == (
        "(IP (E2 (NNP John)) (VP (VV saw) (NP (NP (DT a) (E1 (NN man))))))"
    )
    assert str(path_enclosed_tree(T2, (0, 1), (3, 4), labels=("E2", "E1"))) == str(
        path_enclosed_tree(T2, (3, 4), (0, 1))
    )


def test_entities_of_several_words() -> None:
    tree = "(S (NP (NNP New) (NNP York)) (VP (VBZ has) (NP (NP (DT the) (NN park)) (PP (IN of) (NP (NNS parks))))))"
    # All of the NP; then the first NP within the longer one.
    assert str(path_enclosed_tree(tree, (0, 2), (3, 5))) == (
        "(S (NP (E1 (NNP New) (NNP York))) (VP (VBZ has) (NP (NP (E2 (DT the) (NN park))))))"
    )
    assert str(path_enclosed_tree(tree, (0, 2), (3, 5), mark="tags")) == (
        "(S (NP (E1-NNP New) (E1-NNP York)) (VP (VBZ has) (NP (NP (E2-DT the) (E2-NN park)))))"
    )
    # "park of" is no constituent: a node above each piece.
    assert str(path_enclosed_tree(tree, (2, 3), (4, 6))) == (
        "(VP (E1 (VBZ has)) (NP (NP (DT the) (E2 (NN park))) (PP (E2 (IN of)))))"
    )
    assert str(minimal_complete_tree(tree, (4, 6), (4, 5))) == (
        "(NP (NP (DT the) (E1 (E2 (NN park)))) (PP (E1 (IN of)) (NP (NNS parks))))"
    )


def test_entities_that_overlap() -> None:
    flat = "(NP (A a) (B b) (C c))"
    assert str(path_enclosed_tree(flat, (0, 2), (0, 2))) == "(NP (E1 (E2 (A a) (B b))))"
    assert str(path_enclosed_tree(flat, (0, 1), (0, 1))) == "(E1 (E2 (A a)))"
    assert str(path_enclosed_tree(flat, (1, 2), (0, 3))) == "(NP (E2 (A a) (E1 (B b)) (C c)))"
    assert str(path_enclosed_tree(flat, (0, 2), (1, 3))) == "(NP (E1 (A a) (E2 (B b))) (E2 (C c)))"
    assert str(path_enclosed_tree(flat, (0, 2), (1, 3), mark="tags")) == "(NP (E1-A a) (E1-E2-B b) (E2-C c))"
    # The longer one stays whole, whichever it is.
    four = "(NP (A a) (B b) (C c) (D d))"
    assert str(path_enclosed_tree(four, (0, 2), (1, 4))) == "(NP (E1 (A a)) (E2 (E1 (B b)) (C c) (D d)))"
    assert str(path_enclosed_tree(four, (1, 4), (0, 2))) == "(NP (E2 (A a)) (E1 (E2 (B b)) (C c) (D d)))"


def test_words_without_a_tag_of_their_own() -> None:
    assert str(path_enclosed_tree("(A x (B y z))", (0, 1), (2, 3), mark="tags")) == "(A (E1 x) (B y (E2 z)))"
    assert str(path_enclosed_tree("(A x (B y z))", (0, 1), (2, 3))) == "(A (E1 x) (B y (E2 z)))"
    assert str(path_enclosed_tree(tl.Tree("x"), (0, 1), (0, 1), mark="tags")) == "(E1-E2 x)"
    assert str(path_enclosed_tree(tl.Tree("x"), (0, 1), (0, 1))) == "(E2 (E1 x))"
    assert path_enclosed_tree(tl.Tree("x"), (0, 1), (0, 1), mark=None) == tl.Tree("x")


@given(pairs())
def test_enclosed_trees_equal_the_slow_definition(case: tuple[tl.Tree, Span, Span]) -> None:
    tree, first, second = case
    begin, end = min(first[0], second[0]), max(first[1], second[1])
    lowest, offset = smallest(tree, begin, end)
    enclosed = path_enclosed_tree(tree, first, second, mark=None)
    assert enclosed == cut(lowest, begin - offset, end - offset)
    assert enclosed.words() == tree.words()[begin:end]
    assert minimal_complete_tree(tree, first, second, mark=None) is lowest
    # No subtree that holds all these words is smaller.
    holding = [node.number for node in TreeIndex(tree) if node.start <= begin and end <= node.end and tree.children]
    sizes = [TreeIndex(tree).after[n] - n for n in holding if TreeIndex(tree).nodes[n].children]
    assert not sizes or len(TreeIndex(lowest)) == min(sizes)


@given(pairs())
def test_marks_show_the_entities_and_change_nothing_else(case: tuple[tl.Tree, Span, Span]) -> None:
    tree, first, second = case
    begin = min(first[0], second[0])
    _, offset = smallest(tree, begin, max(first[1], second[1]))
    for function, shift in ((path_enclosed_tree, begin), (minimal_complete_tree, offset)):
        plain = function(tree, first, second, mark=None)
        for mark in ("node", "tags"):
            marked = function(tree, first, second, mark=mark)
            assert marked.words() == plain.words()
            assert marked_words(marked, "E1", shift) == list(range(*first))
            assert marked_words(marked, "E2", shift) == list(range(*second))
        (unmarked,) = without_nodes(function(tree, first, second, mark="node"))
        assert unmarked == plain


def test_what_is_wrong() -> None:
    for function in (path_enclosed_tree, minimal_complete_tree):
        with pytest.raises(ParameterError, match=r"'mark'.*'node', 'tags' or None"):
            function(T1, (0, 1), (3, 4), mark=True)  # type: ignore[arg-type]
        with pytest.raises(ParameterError, match=r"'labels'.*a list of 2 labels, one per span"):
            function(T1, (0, 1), (3, 4), labels="E1")  # type: ignore[arg-type]
        with pytest.raises(TreeError, match=r"[Ll]abel"):
            function(T1, (0, 1), (3, 4), labels=("E 1", "E2"))
        with pytest.raises(ParameterError, match=r"span \(6, 8\) ends after the last word.*tree has only 7 words"):
            function(T1, (0, 1), (6, 8))
        with pytest.raises(InputTypeError, match="span must be two ints"):
            function(T1, 3, (6, 7))  # type: ignore[arg-type]


def test_deep_trees() -> None:
    depth = 10_000  # tests/cuts/test_roles.py has the index and what is made of it at 100,000
    tree = tl.Tree("N", ["x"])
    for _ in range(depth):
        tree = tl.Tree("S", [tree])
    index = TreeIndex(tl.Tree("S", [tree, tl.Tree("Y", ["y"]), tl.Tree("Z", ["z"])]))
    first, second = (0, 1), (1, 2)
    for mark, height in (("node", depth + 3), ("tags", depth + 2)):
        enclosed = path_enclosed_tree(index, first, second, mark=mark)
        assert enclosed.words() == ["x", "y"]
        assert marked_words(enclosed, "E1", 0) == [0]
        assert enclosed.height() == height
    assert minimal_complete_tree(index, first, second, mark=None) is index.tree
    assert entity_features(index, first, (2, 3))["between"] == ("y",)


# --- features -----------------------------------------------------------------------------------------------------


def test_features_by_hand() -> None:
    assert entity_features(PARTNERS, (9, 10), (3, 6), types=("PER", "PER2")) == {
        "text 1": "workers",
        "head 1": "workers",
        "tag 1": "NNS",
        "text 2": "200,000_domestic_partners",
        "head 2": "partners",
        "tag 2": "NNS",
        "heads": "workers partners",
        "type 1": "PER",
        "type 2": "PER2",
        "types": "PER PER2",
        "order": "2 1",
        "distance": 3.0,
        "before": "to",
        "behind": "in",
        "phrase": "NP",
        "between": ("of", "their", "own"),
    }


def test_features_at_the_ends() -> None:
    found = entity_features(T1, (0, 1), (1, 7), between=False)
    assert {"before", "behind", "between", "types"}.isdisjoint(found)
    assert (found["order"], found["distance"]) == ("1 2", 0.0)
    assert entity_features(T1, (1, 4), (3, 5))["order"] == "overlap"
    assert entity_features(T1, (1, 4), (3, 5))["distance"] == 0.0
    nested = entity_features(T1, (2, 3), (0, 6))
    assert (nested["order"], nested["behind"]) == ("overlap", "bank")
    assert "behind" not in entity_features(T1, (2, 3), (0, 7))
    # "the bank": the head of the phrase around it is "in", so its last word is taken.
    assert entity_features(T1, (5, 7), (0, 1))["head 1"] == "bank"
    assert "tag 1" not in entity_features("(A x (B y))", (0, 1), (1, 2))
    with pytest.raises(ParameterError, match=r"'types'.*two words, one per entity"):
        entity_features(T1, (0, 1), (1, 2), types="PER")  # type: ignore[arg-type]


def test_features_go_into_vectors() -> None:
    rows = [entity_features(T1, (0, 1), (3, 4)), entity_features(PARTNERS, (5, 6), (9, 10))]
    names = {name for row in rows for name in indicators(row)}
    assert names == set(DictVectorizer().fit(rows).get_feature_names_out())
    assert tl.Linear()([indicators(row) for row in rows]).shape == (2, 2)


# --- the official score -------------------------------------------------------------------------------------------


def test_semeval_scores_by_hand() -> None:
    gold = [
        "C(e1,e2)",
        "C(e1,e2)",
        "C(e2,e1)",
        "C(e2,e1)",
        "P(e1,e2)",
        "P(e1,e2)",
        "P(e2,e1)",
        "Other",
        "Other",
        "M(e1,e2)",
    ]
    found = [
        "C(e1,e2)",
        "C(e2,e1)",
        "C(e2,e1)",
        "Other",
        "P(e1,e2)",
        "C(e1,e2)",
        "P(e2,e1)",
        "P(e1,e2)",
        "Other",
        "Other",
    ]
    # C: right are the 1st and the 3rd, 2. Labeled C, either way: 1st, 2nd, 3rd, 6th: 4. Really C: 4. P = R = F1 = 1/2.
    # P: right are the 5th and the 7th, 2. Labeled P: 5th, 7th, 8th: 3. Really P: 3. P = R = F1 = 2/3.
    # M: never found. Really M: 1. P = R = F1 = 0.
    # Macro: (1/2 + 2/3 + 0) / 3 = 7/18. Right labels: 1st, 3rd, 5th, 7th, 9th: 5 of 10.
    scores = semeval_scores(gold, found)
    assert scores.relations == {"C": Score(2, 4, 4), "P": Score(2, 3, 3), "M": Score(0, 0, 1)}
    assert scores.f1 == pytest.approx(100 * 7 / 18)
    assert scores.precision == pytest.approx(100 * 7 / 18)
    assert scores.recall == pytest.approx(100 * 7 / 18)
    assert scores.accuracy == 50
    assert str(scores).splitlines()[-2:] == ["mean  P  38.89  R  38.89  F1  38.89", "accuracy 50.00"]


def test_precision_and_recall_differ() -> None:
    # R: one right, of 3 labeled R and 2 that are: P = 1/3, R = 1/2, F1 = 2 * 1 / (3 + 2) = 2/5.
    # X: found once, never there: it does not count. Q: none found, one there: 0.
    # The macro F1 is the mean of the F1, 1/5, not the F1 of the mean P and R.
    scores = semeval_scores(
        ["R(e1,e2)", "R(e1,e2)", "Q(e1,e2)", "Other"], ["R(e1,e2)", "R(e2,e1)", "R(e1,e2)", "X(e1,e2)"]
    )
    assert scores.relations["R"].precision == pytest.approx(100 / 3)
    assert scores.relations["R"].recall == 50
    assert scores.relations["R"].f1 == pytest.approx(40)
    assert (scores.f1, scores.recall) == (pytest.approx(20), 25)


LABELS = ["A(e1,e2)", "A(e2,e1)", "B(e1,e2)", "B(e2,e1)", "Other"]


@given(st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=1))
def test_semeval_scores_by_definition(answers: list[tuple[str, str]]) -> None:
    gold, found = ([pair[side] for pair in answers] for side in (0, 1))
    if {*gold} == {"Other"}:
        with pytest.raises(ParameterError, match="counts, so there is nothing to score"):
            semeval_scores(gold, found)
        return
    scores = semeval_scores(gold, found)
    assert set(scores.relations) == {label[0] for label in gold if label != "Other"}
    assert semeval_scores(gold, gold).f1 == 100
    both = semeval_scores(gold, found, relations=["A", "B", "C"])  # C does not occur and makes no difference
    for name, score in both.relations.items():
        assert score.correct == sum(a == b and a.startswith(name) for a, b in answers)
        assert score.predicted == sum(b.startswith(name) for _, b in answers)
        assert score.gold == sum(a.startswith(name) for a, _ in answers)
        assert scores.relations.get(name, score) == score
    turned = semeval_scores(found, gold, relations=["A", "B"])
    assert turned.precision == pytest.approx(both.recall)
    assert turned.f1 == pytest.approx(both.f1)


def test_scores_that_cannot_be() -> None:
    with pytest.raises(ParameterError, match=r"Got 1 gold label.*2 predicted label"):
        semeval_scores(["A"], ["A", "B"])
    with pytest.raises(InputTypeError, match=r"must be a list of labels\. Got the string"):
        semeval_scores("A", ["A"])
    with pytest.raises(InputTypeError, match="Label 1 of 'predicted'"):
        semeval_scores(["A", "B"], ["A", 2])  # type: ignore[list-item]
    with pytest.raises(ParameterError, match="counts, so there is nothing to score"):
        semeval_scores([], [])
    assert semeval_scores(["A", "none"], ["A", "A"], other="none").f1 == pytest.approx(200 / 3)


# --- files --------------------------------------------------------------------------------------------------------


def test_instances_are_read_and_written(tmp_path: Path) -> None:
    tree = tl.Tree.parse(T1)
    found = [
        RelationInstance(tree=tree, e1=(0, 1), e2=(3, 4), label="sees(e1,e2)", types=("PER", "PER"), sent=1, doc="x"),
        RelationInstance(words=("a", "b"), e1=(1, 2), e2=(0, 1)),
        RelationInstance(nbest=(Parse(tree, -1.0), Parse(tl.Tree.parse(T2), -2.0)), e1=(0, 1), e2=(3, 4)),
    ]
    write_instances(found, tmp_path / "some.jsonl.bz2")
    assert read_instances(tmp_path / "some.jsonl.bz2", "relations") == found
    assert found[2].words == tuple(tree.words())
    assert read_instances(io.StringIO('{"words": ["a", "b"], "e1": [1, 2], "e2": [0, 1]}')) == found[1:2]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"e1": [0, 1]}, "relations needs 'e1' and 'e2'"),
        ({"e1": [0, 1], "e2": [2, 9]}, r"field 'e2' is the span \(2, 9\).*sentence has only 7 words"),
        ({"e1": [0], "e2": [2, 3]}, "field 'e1'"),
        ({"e1": [0, 1], "e2": [3, 2]}, r"field 'e2'.*span \(begin, end\) must have 0 <= begin"),
        ({"e1": [0, 1], "e2": [2, 3], "label": 3}, "field 'label' must be a string"),
        ({"e1": [0, 1], "e2": [2, 3], "types": "PER"}, "field 'types' must be two words"),
        ({"e1": [0, 1], "e2": [2, 3], "types": ["PER", 1]}, "field 'types' must be two words"),
        ({"e1": [0, 1], "e2": [2, 3], "relation": "x"}, "unknown field 'relation'"),
        ({"e1": [0, 1], "e2": [2, 3], "nbest": {}}, "field 'nbest' must be a list"),
    ],
)
def test_lines_that_are_wrong(fields: dict[str, object], message: str, tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    path.write_text(json.dumps({"tree": T1, **fields}) + "\n", encoding="utf-8")
    with pytest.raises(FormatError, match=message) as caught:
        read_instances(path)
    assert (caught.value.source, caught.value.line) == (str(path), 1)


# --- corpora ------------------------------------------------------------------------------------------------------


def test_words_of_a_text() -> None:
    text = "[Actin/PIP2-binding beta-catenin*DNA (34.0%) in 4,5-P2]."
    words, places = tokens(text)
    assert " ".join(words) == "-LSB- Actin/PIP2-binding beta-catenin*DNA -LRB- 34.0 % -RRB- in 4,5-P2 -RSB- ."
    assert [text[a:b] for a, b in places][:4] == ["[", "Actin/PIP2-binding", "beta-catenin*DNA", "("]
    assert tokens(text, {6, 11})[0][1:4] == ["Actin", "/PIP2", "-binding"]


@given(st.text(max_size=30), st.sets(st.integers(0, 30)))
def test_no_word_of_a_text_is_lost(text: str, cuts: set[int]) -> None:
    words, places = tokens(text, cuts)
    assert len(words) == len(places)
    assert "".join(text[a:b] for a, b in places) == "".join(text.split())
    assert not any(a < cut < b for a, b in places for cut in cuts)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(lzma.compress(text.encode()))


def test_small_corpora(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREELET_DATA", str(tmp_path))
    write(
        tmp_path / "ppi" / "BioInfer-test.xml.xz",
        '<corpus><document id="d"><sentence text="GPIIb-IIIa binds actin-like talin.">'
        '<entity charOffset="28-33" id="e0" type="P" /><entity charOffset="0-5" id="e1" type="Q" />'
        '<entity charOffset="0-2,6-10" id="e2" type="P" /><interaction e1="e0" e2="e1" type="PPI" />'
        "</sentence></document></corpus>",
    )
    found = bioinfer("test")
    assert found[0].words == ("GP", "IIb", "-", "IIIa", "binds", "actin-like", "talin", ".")
    # e1 is GP IIb, 0-2; e2 goes from GP to IIIa, 0-4; e0 is talin, 6-7.
    assert [(one.e1, one.e2, one.label, one.types) for one in found] == [
        ((0, 2), (0, 4), "none", ("Q", "P")),
        ((0, 2), (6, 7), "PPI", ("Q", "P")),
        ((0, 4), (6, 7), "none", ("P", "P")),
    ]
    write(
        tmp_path / "conll04" / "dev.txt.xz",
        "#doc 7\n0\tAnn\tB-Peop\t['Live_In', 'Work_For']\t[2, 2]\n1\tin\tO\t['N']\t[1]\n2\tRome\tB-Loc\t['N']\t[2]\n\n"
        "#doc 8\n0\tNew\tB-Loc\t['N']\t[0]\n1\tYork\tI-Loc\t['N']\t[1]\n"
        "2\t(\tO\t['N']\t[2]\n3\tAnn\tB-Peop\t['Live_In']\t[1]\n",
    )
    assert [(one.doc, one.sent, one.e1, one.e2, one.label, one.types) for one in conll04("dev")] == [
        ("7", 0, (0, 1), (2, 3), "Live_In(e1,e2)", ("Peop", "Loc")),
        ("7", 0, (0, 1), (2, 3), "Work_For(e1,e2)", ("Peop", "Loc")),
        ("8", 1, (0, 2), (3, 4), "Live_In(e2,e1)", ("Loc", "Peop")),
    ]
    assert conll04("dev")[2].words == ("New", "York", "-LRB-", "Ann")
    write(tmp_path / "semeval2010_t8" / "test.trees.tsv.xz", f"Other\t8001\t0-1\t3-4\t{T1}\n")
    best = [[-1.5, T1], [-2.5, T2]]
    write(tmp_path / "semeval2010_t8" / "test.nbest10.jsonl.xz", json.dumps({"id": 8001, "nbest": best}) + "\n")
    assert semeval2010("test")[0].nbest == ()
    (one,) = semeval2010("test", nbest=9)
    assert (one.sent, one.e1, one.e2, one.label, str(one.tree)) == (8001, (0, 1), (3, 4), "Other", T1)
    assert [[score, str(tree)] for tree, score in one.nbest] == best
    assert len(semeval2010("test", nbest=1)[0].nbest) == 1


def test_corpora_that_are_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREELET_DATA", str(tmp_path))
    write(tmp_path / "ppi" / "BioInfer-test.xml.xz", "<corpus>\n<document>")
    with pytest.raises(FormatError, match=r"BioInfer-test\.xml\.xz:2.*this is not well-formed XML"):
        bioinfer("test")
    write(tmp_path / "conll04" / "test.txt.xz", "#doc 7\n0\tAnn\n")
    with pytest.raises(FormatError, match=r"test\.txt\.xz:2: five columns are needed"):
        conll04("test")
    write(tmp_path / "semeval2010_t8" / "test.trees.tsv.xz", "Other\t8001\t0\t3-4\t(S (N a))\n")
    with pytest.raises(FormatError, match=r"test\.trees\.tsv\.xz:1.*five columns are needed"):
        semeval2010("test")


@pytest.mark.parametrize("read", [semeval2010, bioinfer, conll04])
def test_corpora_that_are_not_there(read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREELET_DATA", str(tmp_path))
    with pytest.raises(FileError, match="does not exist"):
        read("train")
    with pytest.raises(ParameterError, match=r"'part'.*or 'test'"):
        read("nothing")


@pytest.fixture
def data(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TREELET_DATA", str(data_dir))
    return data_dir


def needs(data: Path, folder: str) -> None:
    if not (data / folder).is_dir():
        pytest.skip(f"needs the corpus {folder}")


def test_semeval2010(data: Path) -> None:
    needs(data, "semeval2010_t8")
    train, test = semeval2010("train"), semeval2010("test")
    assert (len(train), len(test)) == (8000, 2717)
    assert len({one.label for one in [*train, *test]}) == 19
    # Of its 18 directed relations and Other, nine relations count.
    gold = [one.label or "" for one in test]
    assert len(semeval_scores(gold, gold).relations) == 9
    assert semeval_scores(gold, gold).f1 == 100
    for one in test[::5]:
        assert one.tree is not None
        enclosed = path_enclosed_tree(one.tree, one.e1, one.e2)
        begin, end = min(one.e1[0], one.e2[0]), max(one.e1[1], one.e2[1])
        assert enclosed.words() == list(one.words[begin:end])
    # The entities of the first sentences, in the task's own file.
    assert [(one.words[one.e1[0]], one.words[one.e2[0]]) for one in train[:2]] == [
        ("configuration", "elements"),
        ("child", "cradle"),
    ]


def test_semeval2010_with_several_parses(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs(data, "semeval2010_t8")
    for name in ("test.trees.tsv.xz", "test.nbest10.jsonl.xz"):  # the first lines of the real files
        with lzma.open(data / "semeval2010_t8" / name, "rt", encoding="utf-8") as lines:
            write(tmp_path / "semeval2010_t8" / name, "".join(islice(lines, 200)))
    monkeypatch.setenv("TREELET_DATA", str(tmp_path))
    found = semeval2010("test", nbest=2)
    assert len(found) == 200
    assert all(len(one.nbest) in (1, 2) and one.nbest[0].tree == one.tree for one in found)


@pytest.mark.parametrize(("part", "counts"), [("train", (8043, 2109)), ("test", (1623, 425))])
def test_bioinfer(data: Path, part: str, counts: tuple[int, int]) -> None:
    needs(data, "ppi")
    found = bioinfer(part)
    assert (len(found), sum(one.label == "PPI" for one in found)) == counts
    assert all(one.e1 <= one.e2 for one in found)


@pytest.mark.parametrize(("part", "sentences"), [("train", 910), ("dev", 243), ("test", 288)])
def test_conll04(data: Path, part: str, sentences: int) -> None:
    needs(data, "conll04")
    found = conll04(part)
    assert {one.sent for one in found} == set(range(sentences))
    assert len({one.label for one in found}) == 11  # five relations, two ways each, and none
    if part == "test":
        assert sum(one.label != "none" for one in found) == 422
