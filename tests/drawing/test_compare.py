"""Parses drawn beside the right tree."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treelet as tl
from treelet.drawing import tree_svg
from treelet.errors import InputTypeError, TreeError
from treelet.metrics import bracket_counts
from treelet.report import marked, marked_svg
from treelet.report.gold_comparison import wrong_constituents

GOLD = "(S (NP (N we)) (VP (V book) (NP (D a) (N seat)) (PP (P by) (NP (N phone)))))"
PARSE = "(S (NP (N we)) (VP (V book) (NP (NP (D a) (N seat)) (PP (P by) (NP (N phone))))))"


def test_a_wrong_phrase_is_marked_and_what_is_right_is_short() -> None:
    assert marked(PARSE, GOLD).splitlines() == [
        "S",
        "├── NP we",
        "└── VP",
        "    ├── V book",
        "    └── * NP",
        "        ├── NP a seat",
        "        └── PP by phone",
    ]
    assert wrong_constituents(PARSE, GOLD) == [("NP", 2, 6)]
    assert wrong_constituents(GOLD, GOLD) == []


def test_a_new_phrase_is_marked() -> None:
    assert marked(PARSE, PARSE, other=GOLD).splitlines()[4] == "    └── + NP"
    assert marked(PARSE, PARSE, other=GOLD, new=False) == marked(PARSE, PARSE, other=GOLD).replace("+ ", "")
    assert marked_svg(PARSE, PARSE, other=GOLD, new=False).count("#1d7a3a") == 0
    assert "+" not in marked(GOLD, GOLD, other=PARSE)
    assert "*" not in marked(GOLD, GOLD, other=PARSE)
    assert "V book" in marked(GOLD, GOLD, other=PARSE), "what differs is drawn in full"


def test_what_is_wrong_in_both_is_drawn() -> None:
    one, other = "(S (A (B x) (C y)) (D (E z)))", "(S (A (B x) (C y)) (E z))"
    drawn = marked(other, "(S (B x) (C y) (E z))", other=one)
    assert drawn.splitlines() == ["S", "├── * A", "│   ├── B x", "│   └── C y", "└── E z"]


def test_one_of_two_equal_spans_may_be_wrong() -> None:
    assert marked("(S (A (A (B x))))", "(S (A (B x)))").count("*") == 1
    assert marked("(S (A (A (B x))))", "(S (A (A (B x))))", other="(S (A (B x)))").count("+") == 1
    assert marked_svg("(S (A (A (B x))))", "(S (A (B x)))").count("#c0341d") == 1


def test_colors() -> None:
    drawn = marked(PARSE, GOLD, colour=True)
    assert "\x1b[1;31m* NP\x1b[0m" in drawn
    assert "\x1b[1;32m+ NP\x1b[0m" in marked(PARSE, PARSE, GOLD, colour=True)
    assert marked(GOLD, GOLD, colour=True) == marked(GOLD, GOLD)


def test_words_beside_phrases_and_single_nodes() -> None:
    assert marked("(S the (N cat))", "(S (X the) (N cat))").splitlines() == ["S", "├── the", "└── N cat"]
    assert marked("(N cat)", "(N cat)") == "N cat"


def test_pictures() -> None:
    svg = marked_svg(tl.Tree.parse(PARSE), GOLD)
    ElementTree.fromstring(svg)
    assert svg.count("#c0341d") == 1
    assert svg.count("#1d7a3a") == 0
    assert marked_svg(PARSE, PARSE, other=GOLD).count("#1d7a3a") == 1
    assert svg.count("<rect ") == tree_svg(PARSE).count("<rect ")


def test_what_cannot_be_compared() -> None:
    with pytest.raises(TreeError, match="'tree' and 'gold' must have the same"):
        marked("(S (A a))", "(S (A b))")
    with pytest.raises(TreeError, match="'other' and 'gold'"):
        marked("(S (A a))", "(S (A a))", other="(S (A b))")
    with pytest.raises(InputTypeError, match=r"'gold'.*a Tree or a bracketed string"):
        marked("(S (A a))", 3)
    deep = "(A " * 600 + "x" + ")" * 600
    with pytest.raises(TreeError, match="levels deep, but"):
        marked(deep, deep)


@st.composite
def parses(draw: st.DrawFn) -> tl.Tree:
    nodes = [tl.Tree(draw(st.sampled_from("TU")), [str(k)]) for k in range(5)]
    while len(nodes) > 1:
        begin = draw(st.integers(0, len(nodes) - 1))
        end = draw(st.integers(begin + 1, min(len(nodes), begin + 3)))
        if end - begin == 1 and len(nodes[begin].productions()) > 5:
            end = min(len(nodes), begin + 2)
        nodes[begin:end] = [tl.Tree(draw(st.sampled_from("AB")), nodes[begin:end])]
    return nodes[0]


@settings(max_examples=60)
@given(parses(), parses(), parses())
def test_marks_agree_with_the_metrics(tree: tl.Tree, gold: tl.Tree, before: tl.Tree) -> None:
    counts = bracket_counts([gold], [tree])
    wrong = int(counts.proposed[0] - counts.matched[0])
    assert marked(tree, gold, before).count("*") == marked(tree, gold).count("*") == wrong
    assert len(wrong_constituents(tree, gold)) == wrong
    svg = marked_svg(tree, gold, before)
    assert svg.count("#c0341d") == wrong
    drawn = marked(tree, gold, before)
    assert svg.count("#1d7a3a") == drawn.count("+")
    assert [word for line in drawn.splitlines() for word in line.split() if word.isdigit()] == tree.words()
