"""Grammars: estimates equal those counted by hand, files give back what went in, arrays mean the same as rules."""

from __future__ import annotations

import gzip
import io
import json
import math
import pickle
import sys
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treelet as tl
from treelet import Tree
from treelet.errors import FileError, FormatError, InputTypeError, ParameterError, TreeError
from treelet.parsing import PCFG, CompiledGrammar, GrammarWarning, Word
from treelet.parsing.chart import adapted_words
from treelet.parsing.unknown import _signatures
from treelet.testing import trees

BANK = [
    "(S (NP (D the) (N cat)) (VP (V sees) (NP (D a) (J red) (N cat))))",
    "(S (NP (D the) (J big) (J red) (N dog)) (VP (V sleeps)))",
    "(NP (N cats))",
    None,
]
OPTIONS = [{"markov": markov, "parent": parent} for markov in (None, 0, 1, 2, 3) for parent in (False, True, "tags")]


def rules(grammar: PCFG) -> dict[str, float]:
    return {str(rule).rsplit(" [")[0]: rule.probability for rule in grammar.productions()}


# --- the slow definition ----------------------------------------------------------------------------------------


def events(tree: Tree, markov: int | None, parent: bool | str) -> list[tuple[Any, Any]]:
    """What is chosen, and given what, when this tree is generated."""

    def symbol(node: Tree, above: str | None) -> Any:
        phrasal = any(child.children for child in node.children)
        annotated = above is not None and (phrasal if parent is True else parent == "tags")
        return (node.label, above if annotated else None)

    out: list[tuple[Any, Any]] = [("root", symbol(tree, None))]
    stack: list[tuple[Tree, str | None]] = [(tree, None)]
    while stack:
        node, above = stack.pop()
        head = symbol(node, above)
        tail = [symbol(child, node.label) if child.children else child.label for child in node.children]
        if markov is None or (len(tail) == 1 and isinstance(tail[0], str)):
            out.append(((head, "first"), tuple(tail)))
        else:
            out.append(((head, "first"), tail[0]))
            for place in range(1, len(tail) + 1):
                context = tuple(tail[max(0, place - markov) : place])
                out.append(((head, context), tail[place] if place < len(tail) else "stop!"))
        stack += [(child, node.label) for child in node.children if child.children]
    return out


def naive(bank: list[Tree], markov: int | None, parent: bool | str) -> list[float]:
    """Log probabilities of the trees of a bank, by relative frequencies in it."""
    lists = [events(tree, markov, parent) for tree in bank]
    count = Counter(event for found in lists for event in found)
    total = Counter(event[0] for found in lists for event in found)
    return [sum(math.log(count[event] / total[event[0]]) for event in found) for found in lists]


def score(grammar: CompiledGrammar, lexical: Any, tree: Tree) -> float:
    """Log probability of a tree, all its derivations through the binarized rules together."""
    binary: dict[tuple[int, int], list[tuple[int, float]]] = {}
    for left, right, head, logp in zip(grammar.left, grammar.right, grammar.head, grammar.logp, strict=True):
        binary.setdefault((left, right), []).append((head, logp))
    number = {symbol: place for place, symbol in enumerate(grammar.symbols[: grammar.first_word])}
    word = {symbol: place for place, symbol in enumerate(grammar.symbols) if place >= grammar.first_word}

    def joined(left: dict[int, float], right: dict[int, float], label: str) -> dict[int, float]:
        out: dict[int, float] = {}
        for a, p in left.items():
            for b, q in right.items():
                for head, logp in binary.get((a, b), ()):
                    if grammar.labels[head] == label and head < grammar.first_word:
                        out[head] = out.get(head, 0.0) + p * q * math.exp(logp)
        return out

    def inside(node: Tree) -> dict[int, float]:
        if not node.children:
            return {word[node.label]: 1.0}
        if len(node.children) == 1 and not node.children[0].children:
            found = [(number[s], math.exp(logp)) for s, logp in lexical(node.children[0].label)]
            return {s: p for s, p in found if grammar.labels[s] == node.label}
        below = [inside(child) for child in node.children]
        if len(below) == 1:
            out: dict[int, float] = {}
            for child, head, logp in zip(grammar.unary_child, grammar.unary_head, grammar.unary_logp, strict=True):
                if child in below[0] and grammar.labels[head] == node.label:
                    out[head] = out.get(head, 0.0) + below[0][child] * math.exp(logp)
            return out
        done = below[0]
        for child in below[1:-1]:
            done = joined(done, child, "")
        return joined(done, below[-1], node.label)

    top = inside(tree)
    chances = zip(grammar.start_symbol, grammar.start_logp, strict=True)
    return math.log(sum(top.get(symbol, 0.0) * math.exp(logp) for symbol, logp in chances))


# --- estimates --------------------------------------------------------------------------------------------------


def test_plain_by_hand() -> None:
    grammar = PCFG.from_treebank(BANK, unknown=None)
    assert rules(grammar) == {
        "S -> NP VP": 1,
        "NP -> D N": 1 / 4,
        "NP -> D J N": 1 / 4,
        "NP -> D J J N": 1 / 4,
        "NP -> N": 1 / 4,
        "VP -> V NP": 1 / 2,
        "VP -> V": 1 / 2,
        'D -> "the"': 2 / 3,
        'D -> "a"': 1 / 3,
        'N -> "cat"': 2 / 4,
        'N -> "dog"': 1 / 4,
        'N -> "cats"': 1 / 4,
        'J -> "red"': 2 / 3,
        'J -> "big"': 1 / 3,
        'V -> "sees"': 1 / 2,
        'V -> "sleeps"': 1 / 2,
    }
    assert dict(grammar.start) == {"S": 2 / 3, "NP": 1 / 3}
    assert grammar.fallback
    assert repr(grammar) == "<PCFG: 3 phrasal labels, 4 tags, 7 rules, 9 words>"
    assert grammar.stats().rules == 7
    assert grammar.lexical("nothing") == []


def phrasal(grammar: PCFG) -> dict[str, float]:
    return {str(rule).rsplit(" [")[0]: rule.probability for rule in grammar.rules if "NP" in rule.head}


def test_markov_by_hand() -> None:
    # Of four NPs, three begin with D and one with N.
    assert phrasal(PCFG.from_treebank(BANK, markov=2)) == {
        "NP -> N": pytest.approx(1 / 4),
        "NP -> D N": pytest.approx(3 / 4 * 1 / 3),
        "@NP|D,J -> D J": pytest.approx(3 / 4 * 2 / 3),
        "NP -> @NP|D,J N": pytest.approx(1 / 2),
        "@NP|J,J -> @NP|D,J J": pytest.approx(1 / 2),
        "NP -> @NP|J,J N": 1,
    }
    one = PCFG.from_treebank(BANK, markov=1)
    assert phrasal(one) == {
        "NP -> N": pytest.approx(1 / 4),
        "NP -> D N": pytest.approx(3 / 4 * 1 / 3),
        "@NP|J -> D J": pytest.approx(3 / 4 * 2 / 3),
        "@NP|J -> @NP|J J": pytest.approx(1 / 3),
        "NP -> @NP|J N": pytest.approx(2 / 3),
    }
    assert one.hidden == {"@NP|J"}
    # Of the ten events after a first child, three are J, three N, four the end.
    zero = phrasal(PCFG.from_treebank(BANK, markov=0))
    assert zero["NP -> D N"] == pytest.approx(3 / 4 * 3 / 10 * 4 / 10)
    assert zero["@NP -> D J"] == pytest.approx(3 / 4 * 3 / 10)
    assert zero["@NP -> @NP J"] == pytest.approx(3 / 10)
    assert zero["NP -> @NP N"] == pytest.approx(3 / 10 * 4 / 10)
    assert zero["NP -> D"] == pytest.approx(3 / 4 * 4 / 10)


def test_parent_by_hand() -> None:
    grammar = PCFG.from_treebank(BANK, parent=True)
    assert {rule.head for rule in grammar.rules} == {"S", "NP^S", "VP^S", "NP^VP", "NP"}
    assert phrasal(grammar)["NP^S -> D N"] == 1 / 2
    assert phrasal(grammar)["NP^VP -> D J N"] == 1
    assert grammar.labels["NP^S"] == "NP"
    assert "D" in grammar.labels
    tags = PCFG.from_treebank(BANK, parent="tags")
    assert phrasal(tags)["NP^S -> D^NP N^NP"] == 1 / 2
    assert phrasal(tags)["NP -> N^NP"] == 1
    assert "D" not in tags.labels
    assert "@NP^S|J" in PCFG.from_treebank(BANK, parent=True, markov=1).hidden


@settings(max_examples=60)
@given(st.lists(trees().filter(lambda tree: tree.children), min_size=1, max_size=5), st.sampled_from(OPTIONS))
def test_trees_have_the_probability_of_their_events(bank: list[Tree], options: dict[str, Any]) -> None:
    grammar = PCFG.from_treebank(bank, unknown=None, **options)
    compiled = grammar.compiled()
    for tree, expected in zip(bank, naive(bank, **options), strict=True):
        assert score(compiled, grammar.lexical, tree) == pytest.approx(expected, abs=1e-9)


def test_part_of_a_bank_is_counted_alone() -> None:
    bank = tl.Treebank([tree for tree in BANK if tree])
    assert PCFG.from_treebank(bank[:1]) == PCFG.from_treebank(BANK[:1])
    assert PCFG.from_treebank(bank[[0, 0, 2]]) == PCFG.from_treebank([BANK[0], BANK[0], BANK[2]])


def test_labels_that_look_like_ours_stay_apart() -> None:
    bank = ["(S (NP (X x) (Y y)) (NP^S (X x) (Y y)))", "(@S|X (X x) (X x) (X x))", "(S (X x) (X x) (X x))"]
    for options in OPTIONS:
        grammar = PCFG.from_treebank(bank, unknown=None, **options)
        parsed = [Tree.parse(tree) for tree in bank]
        for tree, expected in zip(parsed, naive(parsed, **options), strict=True):
            assert score(grammar.compiled(), grammar.lexical, tree) == pytest.approx(expected)


@pytest.mark.serial
@pytest.mark.parametrize("options", OPTIONS)
def test_deep_and_wide_trees(options: dict[str, Any], tmp_path: Path) -> None:
    size = 100_000 if options["markov"] in {None, 1} else 1_000
    begin = time.process_time()
    deep = PCFG.from_treebank(["(A " * size + "x" + ")" * size], **options)
    assert ("A^A" in deep.labels) == bool(options["parent"])
    wide = PCFG.from_treebank(["(A " + "(B x)" * size + ")"], **options)
    assert len(wide.compiled().left) >= (size - 1 if options["markov"] is None else 2)
    assert time.process_time() - begin < 10
    wide.save(tmp_path / "wide.json")
    assert PCFG.load(tmp_path / "wide.json") == wide


@pytest.mark.parametrize(
    "bad", [{"markov": -1}, {"markov": True}, {"markov": 1.0}, {"parent": "yes"}, {"unknown": "x"}]
)
def test_parameters_of_the_estimate(bad: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=f"'{next(iter(bad))}' parameter of PCFG.from_treebank"):
        PCFG.from_treebank(BANK, **bad)


def test_what_cannot_be_learned_from() -> None:
    for empty in ([], [None]):
        with pytest.raises(TreeError, match="The treebank contains no trees"):
            PCFG.from_treebank(empty)
    with pytest.raises(TreeError, match=r"Tree 2.*treebank is the single word 'x'"):
        PCFG.from_treebank([BANK[0], None, "(x)"])
    with pytest.raises(InputTypeError):
        PCFG.from_treebank("(S (A x))")
    with pytest.raises(ParameterError, match="'min_count' parameter"):
        PCFG.from_treebank(BANK, min_count=0)


# --- words ------------------------------------------------------------------------------------------------------


def test_unknown_words_look_like_rare_ones() -> None:
    bank = [f"(S (N {a}tion) (V {b}ed))" for a, b in zip("abcdef", "uvwxyz", strict=True)] + 9 * ["(S (N it) (V is))"]
    grammar = PCFG.from_treebank(bank)
    found = dict(grammar.lexical("relation"))
    assert found["N"] > found["V"]
    found = dict(grammar.lexical("talked"))
    assert found["V"] > found["N"]
    assert set(dict(grammar.lexical("???"))) == {"N", "V"}
    assert grammar.lexical("it") == [("N", math.log(9 / 15))]  # seen often: as seen
    assert set(dict(grammar.lexical("ation"))) == {"N", "V"}  # seen once: also what it looks like
    assert dict(grammar.lexical("ation"))["N"] > dict(grammar.lexical("ation"))["V"]
    assert set(dict(PCFG.from_treebank(bank, min_count=20).lexical("it"))) == {"N", "V"}
    assert PCFG.from_treebank(bank, unknown=None).lexical("relation") == []


def test_closed_classes_take_no_new_words() -> None:
    bank = [f"(NP (D the) (N n{number}))" for number in range(400)] + ["(NP (D yon) (N man))"]
    assert [symbol for symbol, _ in PCFG.from_treebank(bank).lexical("gizmo")] == ["N"]
    assert {symbol for symbol, _ in PCFG.from_treebank(bank).lexical("yon")} == {"D", "N"}


def test_the_first_word_may_be_one_in_lower_case() -> None:
    bank = ["(S (NNP Kim) (V met) (NNP Lee))", "(S (NNP Lee) (V saw) (N men))", "(S (N men) (V met) (NNP Ann))"]
    grammar = PCFG.from_treebank(bank)
    first, later = dict(grammar.lexical("Men", first=True)), dict(grammar.lexical("Men"))
    assert max(first, key=lambda s: first[s]) == "N"
    assert max(later, key=lambda s: later[s]) == "NNP"


def test_unknown_words_with_annotated_tags() -> None:
    plain, tags = PCFG.from_treebank(BANK), PCFG.from_treebank(BANK, parent="tags")
    for word in ("blue", "dog"):
        found = {tags.labels[symbol] for symbol, _ in tags.lexical(word)}
        assert found == {symbol for symbol, _ in plain.lexical(word)}


def test_no_word_is_rare_and_no_single_words() -> None:
    assert PCFG.from_treebank(3 * ["(S (A x) (B y))"]).lexical("z")
    grammar = PCFG.from_treebank(["(S x y)"])
    assert grammar.unknown is None
    assert grammar.lexical("x") == []
    start, symbol, logp = grammar.compiled().entries(["x", "z", "y"])
    assert start.tolist() == [0, 1, 1, 2]
    assert [grammar.compiled().symbols[s] for s in symbol] == ["x", "y"]
    assert logp.tolist() == [0, 0]


@given(st.text(min_size=1, max_size=8), st.booleans())
def test_every_word_gets_the_open_tags(word: str, first: bool) -> None:
    found = dict(PCFG.from_treebank(BANK).lexical(word, first))
    assert _signatures(word, first)[0] == ""
    if word not in {"the", "red", "cat"}:
        assert {"D", "N", "J", "V"} <= set(found)
    assert all(-50 < logp <= 0 for logp in found.values())


# --- rules ------------------------------------------------------------------------------------------------------

TOY = [
    ("S", ("NP", "VP"), 0.9),
    ("S", ("VP",), 0.1),
    ("NP", ("he",), 0.5),
    ("NP", ("the", "old", "NP"), 0.5),
    ("VP", ("V", "NP", "NP", "PP"), 0.25),
    ("VP", ("V", "NP", "NP"), 0.25),
    ("VP", ("V",), 0.5),
    ("V", ("sees",), 1),
    ("PP", ("V", "NP"), 1),
]


def test_rules_as_given() -> None:
    grammar = PCFG.from_rules(TOY, start="S")
    assert not grammar.fallback
    assert len(grammar.rules) == 7
    assert grammar.rules[2].tail == (Word("the"), Word("old"), "NP")
    assert dict(grammar.lexicon["he"]) == {"NP": 0.5}
    assert {rule[:2]: rule[2] for rule in grammar.productions()} == {
        (head, tuple(item if item in {"S", "NP", "VP", "V", "PP"} else Word(item) for item in tail)): p
        for head, tail, p in TOY
    }
    assert PCFG.from_rules(reversed(TOY), start={"S": 1.0}) == grammar
    assert hash(PCFG.from_rules(reversed(TOY), start={"S": 1.0})) == hash(grammar)
    assert PCFG.from_rules(TOY, start="NP") != grammar
    assert PCFG.from_rules([*TOY[:-1], ("PP", ("V", "V"), 1)], start="S") != grammar
    assert grammar != "S"


def test_binarized_by_prefixes() -> None:
    grammar = PCFG.from_rules(TOY, start="S").compiled()
    assert grammar.symbols == ["S", "NP", "VP", "PP", "V", "(the old)", "(V NP)", "((V NP) NP)", "the", "old"]
    assert grammar.labels == ["S", "NP", "VP", "PP", "V", "", "", "", "the", "old"]
    assert grammar.first_word == 8
    named = {
        (grammar.symbols[h], grammar.symbols[a], grammar.symbols[b]): math.exp(p)
        for a, b, h, p in zip(grammar.left, grammar.right, grammar.head, grammar.logp, strict=True)
    }
    assert named == {
        ("S", "NP", "VP"): pytest.approx(0.9),
        ("(the old)", "the", "old"): 1,
        ("NP", "(the old)", "NP"): pytest.approx(0.5),
        ("(V NP)", "V", "NP"): 1,
        ("((V NP) NP)", "(V NP)", "NP"): 1,
        ("VP", "(V NP)", "NP"): pytest.approx(0.25),
        ("VP", "((V NP) NP)", "PP"): pytest.approx(0.25),
        ("PP", "V", "NP"): 1,
    }
    keys = list(zip(grammar.left.tolist(), grammar.right.tolist(), grammar.head.tolist(), strict=True))
    assert keys == sorted(set(keys))
    assert [
        a.dtype for a in (grammar.left, grammar.right, grammar.head, grammar.unary_child, grammar.start_symbol)
    ] == [np.int32] * 5
    assert {
        (grammar.symbols[c], grammar.symbols[h]) for c, h in zip(grammar.unary_child, grammar.unary_head, strict=True)
    } == {
        ("VP", "S"),
        ("V", "VP"),
    }
    assert len(PCFG.from_rules([("S", ("x",), 1)], start="S").compiled().left) == 0


def test_words_and_symbols_spelled_alike() -> None:
    grammar = PCFG.from_rules([("S", (",", Word(",")), 1), (",", (Word(","),), 1)], start="S")
    compiled = grammar.compiled()
    assert compiled.symbols == ["S", ",", ","]
    assert (compiled.left.tolist(), compiled.right.tolist()) == ([1], [2])
    _, symbol, _ = compiled.entries([","])
    assert symbol.tolist() == [1, 2]
    assert {Word("x"): 1, "x": 2}[Word("x")] == 1
    with pytest.warns(GrammarWarning, match="only expanded to itself"):
        PCFG.from_rules([("S", (",", "S"), 1), (",", (",",), 1)], start="S")
    assert Word("x") != "x"
    assert Word("x") == Word("x")
    assert repr(Word("x")) == "Word('x')"


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        *(
            (("S", ("a", "b"), p), "rule S -> a b must be a number")
            for p in (0, -1, 1.5, math.nan, math.inf, "1", None, True)
        ),
        (("S", (), 1), "rule 'S ->' has an empty tail"),
        (("S", "ab", 1), "tuple of strings"),
        (("S", 3, 1), "tuple of strings"),
        (("S", ("a", 3), 1), "not a string"),
        (("S", ("a b",), 1), "white space"),
        (("", ("a",), 1), "empty"),
        ((Word("S"), ("a",), 1), "has a word as its head"),
        (("S", ("a",)), r"tuple \(head, tail, probability\)"),
        (7, r"tuple \(head, tail, probability\)"),
        (("T", ("t",), 0.5), "rule T -> .t"),
    ],
)
def test_bad_rules(rule: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        PCFG.from_rules([("T", ("t",), 1), rule], start="T")


@pytest.mark.parametrize("start", ["X", {}, {"S": 0}, {"S": 2}, {"S": "1"}, {3: 1.0}, None, {"S": 0.5, "a": 0.5}])
def test_bad_starts(start: Any) -> None:
    with pytest.raises(
        ParameterError, match=r"[Tt]he start symbol|A start symbol|The 'start' parameter of PCFG must be"
    ):
        PCFG.from_rules([("S", ("a",), 1)], start=start)


def test_sums() -> None:
    odd = [("S", ("a",), 0.5), ("S", ("b",), 0.3), ("T", ("S",), 0.9)]
    with pytest.warns(GrammarWarning, match="rules of 'S' sum to 0.8 instead") as caught:
        grammar = PCFG.from_rules(odd, start="S")
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert grammar.lexical("b") == [("S", math.log(0.3))]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        grammar = PCFG.from_rules([("S", ("a",), 3), ("S", ("b",), 1)], start={"S": 2}, normalize=True)
        PCFG.from_treebank(BANK, markov=1)
    assert grammar.lexical("a") == [("S", math.log(0.75))]
    assert dict(grammar.start) == {"S": 1}
    with pytest.raises(ParameterError, match=r"must be a number above 0\. Got -3 instead"):
        PCFG.from_rules([("S", ("a",), -3)], start="S", normalize=True)


def test_hidden_symbols_have_their_places() -> None:
    good = [("S", ("H", "A"), 1.0), ("H", ("A", "A"), 1.0), ("A", (Word("a"),), 1.0)]
    assert PCFG(good, "S", hidden=["H"]).compiled().labels == ["S", "A", ""]
    for wrong in [
        ("S", ("A", "H"), 0.5), ("S", ("H",), 0.5), ("S", ("H", "A", "A"), 0.5), ("H", ("A",), 0.5), ("H", (Word("a"),), 1.0),
    ]:  # fmt: skip
        with pytest.raises(ParameterError, match="hidden symbol 'H' is used"):
            PCFG([*good, wrong], "S", hidden=["H"])
    with pytest.raises(ParameterError, match="hidden symbol 'H' is used"):
        PCFG(good, "H", hidden=["H"])
    with pytest.raises(ParameterError, match="symbol 'K' in 'hidden' does not occur"):
        PCFG(good, "S", hidden=["K"])
    with pytest.raises(ParameterError, match="symbol 'H' is hidden, but it also"):
        PCFG(good, "S", hidden=["H"], labels={"H": "A"})
    with pytest.raises(ParameterError, match="The label of the symbol 'A' is empty"):
        PCFG(good, "S", labels={"A": ""})


def test_entries_want_words() -> None:
    compiled = PCFG.from_rules(TOY, start="S").compiled()
    assert compiled is not PCFG.from_rules(TOY, start="S").compiled()
    assert compiled.entries([])[0].tolist() == [0]
    with pytest.raises(InputTypeError, match="split it"):
        compiled.entries("he sees")
    with pytest.raises(InputTypeError, match=r"strings, but it contains an int.*3"):
        compiled.entries(["he", 3])  # type: ignore[list-item]


def test_a_grammar_cannot_be_changed() -> None:
    grammar = PCFG.from_rules(TOY, start="S")
    assert grammar.compiled() is grammar.compiled()
    grammar.lexical("he").clear()
    assert grammar.lexical("he")
    with pytest.raises(TypeError):
        grammar.lexicon["he"]["NP"] = 1  # type: ignore[index]
    with pytest.raises(AttributeError):
        grammar.start = {}  # type: ignore[misc]


# --- files ------------------------------------------------------------------------------------------------------

ODD = [
    "(S (# #) ('' '') (`` ``) (-> ->) (| |) (%start %start) (<a> <a>) ([1.0] [1.0]) (\" \") (\\ \\) (é é\u2028x) (, ,))"
]


def grammars() -> list[PCFG]:
    out = [PCFG.from_treebank(bank, **options) for options in OPTIONS[::2] for bank in (BANK, ODD)]
    mixed = "(S x (A y) x (A (S x) z) (A y))"
    out += [PCFG.from_treebank([mixed], markov=markov, unknown=None) for markov in (None, 0, 2)]
    out.append(PCFG([("S", ("U", Word("U")), 0.1 + 0.2), ("S", (Word("S"),), 1e-300)], {"S": 1 / 3}))
    return out


@pytest.mark.parametrize("name", ["g.json", "g.json.gz", "g.xz"])
def test_saved_and_loaded(name: str, tmp_path: Path) -> None:
    for grammar in grammars():
        grammar.save(tmp_path / name)
        again = PCFG.load(tmp_path / name)
        assert again == grammar
        assert again.compiled().symbols == grammar.compiled().symbols
        assert np.array_equal(again.compiled().logp, grammar.compiled().logp)
        assert again.lexical("unheard-of") == grammar.lexical("unheard-of")
        assert pickle.loads(pickle.dumps(grammar)) == grammar
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_damaged_files(tmp_path: Path) -> None:
    path = tmp_path / "g.json"
    PCFG.from_treebank(BANK, parent=True, markov=1).save(path)
    whole = path.read_text(encoding="utf-8")
    document = json.loads(whole)
    path.write_text(json.dumps({**document, "fallback": not document["fallback"]}), encoding="utf-8")
    with pytest.raises(FormatError, match="its checksum does not match"):
        PCFG.load(path)
    del document["checksum"]
    path.write_text(json.dumps(document, indent=1), encoding="utf-8")  # a file by hand has none
    assert PCFG.load(path) == PCFG.from_treebank(BANK, parent=True, markov=1)
    for end in (0, 1, len(whole) // 2, len(whole) - 3):
        path.write_text(whole[:end], encoding="utf-8")
        with pytest.raises(FormatError, match=r"written by PCFG\.save"):
            PCFG.load(path)
    changes: list[tuple[str, Any]] = [
        *((key, value) for key in document for value in (3, "x", [3], {"a": 3}, {"a": {}}, {"S": math.nan}, [[]])),
        ("rules", [["S", ["NP"], 0.5], ["S", ["NP"], 0.5]]),
        ("rules", [["S", [["a", "b"]], 0.5]]),
        ("rules", [["S", ["NP", "VP"], 2]]),
        ("hidden", ["S"]),
        ("start", {"S": "1"}),
        ("unknown", {**document["unknown"], "totals": {"D": 1}}),
        ("unknown", {**document["unknown"], "signatures": {"": {"D": -1}}}),
    ]
    for key, value in changes:
        path.write_text(json.dumps({**document, key: value}), encoding="utf-8")
        with pytest.raises(FormatError, match=r"g\.json: "):
            PCFG.load(path)
    for key in document:
        if key != "unknown":
            path.write_text(
                json.dumps({name: value for name, value in document.items() if name != key}), encoding="utf-8"
            )
            with pytest.raises(FormatError):
                PCFG.load(path)
    path.write_text(json.dumps({**document, "version": 99}), encoding="utf-8")
    with pytest.raises(FormatError, match="Upgrade treelet"):
        PCFG.load(path)
    for content in (b"\xff\xfe", b"[" * 100_000, b"null", b"[]"):
        path.write_bytes(content)
        with pytest.raises(FormatError):
            PCFG.load(path)
    (tmp_path / "g.gz").write_bytes(gzip.compress(whole.encode())[:-20])
    with pytest.raises(FileError, match="Is the file complete"):
        PCFG.load(tmp_path / "g.gz")
    with pytest.raises(FileError, match="the file does not exist"):
        PCFG.load(tmp_path / "missing.json")
    with pytest.raises(FileError, match="cannot be written"):
        PCFG.from_treebank(BANK).save(tmp_path / "no" / "g.json")


def test_text_by_hand() -> None:
    grammar = PCFG.read_text(
        io.StringIO(
            "# a comment\n\n%start S\nS -> NP VP | VP # and another\nNP -> he|'o\\clock' | \"NP\" | he\n"
            "VP -> sleeps \\\n  soundly\nS -> NP VP\n"
        )
    )
    assert {rule[:2]: rule[2] for rule in grammar.productions()} == {
        ("S", ("NP", "VP")): 1 / 2,
        ("S", ("VP",)): 1 / 2,
        ("NP", (Word("he"),)): 1 / 3,
        ("NP", (Word("o\\clock"),)): 1 / 3,
        ("NP", (Word("NP"),)): 1 / 3,
        ("VP", (Word("sleeps"), Word("soundly"))): 1,
    }
    assert dict(grammar.start) == {"S": 1}
    assert dict(PCFG.read_text(io.StringIO("%start B\nA -> x\nB -> A")).start) == {"B": 1}
    assert dict(PCFG.read_text(io.StringIO("\ufeffA -> B[0.5] | x [.5]\r\nB -> y [1]\r\n")).start) == {"A": 1}
    with pytest.warns(GrammarWarning, match="rules of 'A' sum to 0.25 instead"):
        PCFG.read_text(io.StringIO("A -> x [0.25]"))


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, "no rules"),
        ("A -> x\nA x", 2, "Write HEAD -> SYMBOL"),
        ("A -> x\n'A' -> x", 2, "Write HEAD -> SYMBOL"),
        ("A ->", 1, "alternative between two bars, is empty"),
        ("A -> x | | y", 1, "alternative between two bars, is empty"),
        ("A -> x [0.5]\n\nA -> y", 3, "some rules have a probability and others"),
        ("A -> x [0.5]\nA -> x [0.5]", 2, "occurs twice, first in line 1"),
        ("A -> x [1.5]", 1, r"1\], in square brackets"),
        ("A -> x [nan]", 1, r"1\], in square brackets"),
        ("A -> x [0.5] y", 1, "ends with its probability"),
        ("A -> x -> y", 1, "ends with its probability"),
        ('A -> "x', 1, "not closed"),
        ('A -> "\\q"', 1, "escapes"),
        ("A -> ''", 1, "empty"),
        ("A -> 'a b'", 1, "white space"),
        ("%start B\nA -> x", 1, "symbol 'B' is not the head of any rule"),
        ("%start A\n%start B\nA -> x\nB -> x", 2, "second start symbol"),
        ("%start A [0.5]\nA -> x", 1, "only directive"),
        ("%begin A\nA -> x", 1, "only directive"),
        ("A -> B \\\n\nA x", 3, "Write HEAD -> SYMBOL"),
    ],
)
def test_bad_texts(text: str, line: int | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "toy.cfg"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FormatError, match=message) as caught:
        PCFG.read_text(path)
    assert (caught.value.source, caught.value.line) == (str(path), line)


# --- NLTK -------------------------------------------------------------------------------------------------------


def test_nltk_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    nltk = pytest.importorskip("nltk")
    theirs = nltk.PCFG.fromstring("S -> NP VP [1.0]\nNP -> 'he' [0.5] | 'NP' [0.25] | NP 'x' [0.25]\nVP -> 'is' [1.0]")
    grammar = PCFG.from_nltk(theirs)
    assert grammar.lexical("NP") == [("NP", math.log(0.25))]
    back = grammar.to_nltk()
    assert back.start() == theirs.start()
    assert set(back.productions()) == set(theirs.productions())
    assert PCFG.from_nltk(back) == grammar
    plain = PCFG.from_nltk(nltk.CFG.fromstring("S -> A B | A B | B\nA -> 'a'"))
    assert rules(plain) == {"S -> A B": 1 / 2, "S -> B": 1 / 2, 'A -> "a"': 1}
    assert "B" in plain.labels
    assert PCFG.from_nltk(PCFG.from_treebank(BANK[:2], unknown=None).to_nltk()).rules
    with pytest.raises(ParameterError, match="one start symbol"):
        PCFG.from_treebank(BANK).to_nltk()
    with pytest.raises(ParameterError, match="without markov"):
        PCFG.from_treebank(BANK[:2], markov=0).to_nltk()
    with pytest.raises(InputTypeError, match="An NLTK grammar is needed, but got a str"):
        PCFG.from_nltk("S -> NP VP")
    monkeypatch.setitem(sys.modules, "nltk", None)
    with pytest.raises(tl.TreeletError, match="the package nltk"):
        grammar.to_nltk()


# --- real ones --------------------------------------------------------------------------------------------------


def parses(grammar: CompiledGrammar, tokens: list[str]) -> int:
    """How many trees a sentence has (for grammars without cycles)."""
    rules: dict[int, list[tuple[int, int]]] = {}
    for left, right, head in zip(grammar.left.tolist(), grammar.right.tolist(), grammar.head.tolist(), strict=True):
        rules.setdefault(left, []).append((right, head))
    unary: dict[int, list[int]] = {}
    for child, head in zip(grammar.unary_child.tolist(), grammar.unary_head.tolist(), strict=True):
        unary.setdefault(child, []).append(head)
    start, symbol, _ = grammar.entries(tokens)
    size = len(tokens)
    chart: dict[tuple[int, int], Counter[int]] = {}
    for width in range(1, size + 1):
        for i in range(size - width + 1):
            cell: Counter[int] = Counter(symbol[start[i] : start[i + 1]].tolist()) if width == 1 else Counter()
            for m in range(i + 1, i + width):
                left, right = chart[i, m], chart[m, i + width]
                for a, n in left.items():
                    for b, head in rules.get(a, ()):
                        if b in right:
                            cell[head] += n * right[b]
            new = Counter(cell)
            while new:
                step: Counter[int] = Counter()
                for child, n in new.items():
                    for head in unary.get(child, ()):
                        step[head] += n
                cell += step
                new = step
            chart[i, i + width] = cell
    return sum(chart[0, size][s] for s in grammar.start_symbol.tolist())


def test_the_atis_grammar(data_dir: Path) -> None:
    folder = data_dir / "atis_grammar"
    if not folder.is_dir():
        pytest.skip("needs the ATIS grammar in the folder of corpora")
    grammar = PCFG.read_text(folder / "atis.cfg")
    assert len(grammar.productions()) == 5517
    assert dict(grammar.start) == {"SIGMA": 1}
    lines = (folder / "atis_sentences.txt").read_text(encoding="latin-1").splitlines()
    sentences = [line.split(" : ") for line in lines if " : " in line and not line.startswith("#")]
    assert len(sentences) == 98
    short = sorted(sentences, key=lambda pair: len(pair[1].split()))[:30]
    assert len({int(count) for count, _ in short}) > 5
    for count, sentence in short:
        assert parses(grammar.compiled(), sentence.split()) == int(count)


@pytest.mark.serial
def test_the_journal(wsj: tl.Treebank) -> None:
    begin = time.process_time()
    grammar = PCFG.from_treebank(wsj[:3500])
    assert time.process_time() - begin < 5
    assert {"S", "NP", "SINV", "FRAG"} <= set(grammar.start)
    assert math.fsum(grammar.start.values()) == pytest.approx(1)
    right = total = 0
    held_out = [tree for tree in wsj[3500:] if tree]
    for tree in held_out:
        tags = [(node.label, node.children[0].label) for node in tree.nodes() if node.is_preterminal]
        for place, (tag, word) in enumerate(tags):
            if word not in grammar.lexicon:
                assert grammar.unknown is not None
                found = {s: p + math.log(grammar.unknown.totals[s]) for s, p in grammar.lexical(word, place == 0)}
                right, total = right + (max(found, key=lambda s: found[s]) == tag), total + 1
    assert total > 500
    assert right / total > 0.75  # without looking at the words around


def test_a_typed_sentence_is_adapted_to_the_lexicon() -> None:
    words = [("D", ("the",), 1.0), ("N", ("Fox",), 0.5), ("N", ("fox",), 0.5)]
    grammar = PCFG.from_rules([("S", ("D", "N"), 1.0), *words], start="S")
    assert adapted_words("The Fox?!", grammar) == ["the", "Fox"]
    assert adapted_words("THE FOX ...", grammar) == ["the", "fox"]
    assert adapted_words("The Dog, .", grammar) == ["the", "Dog", ","]
    assert adapted_words("?", grammar) == ["?"]
    dotted = PCFG.from_rules([("S", ("D", "N", "P"), 1.0), ("P", (".",), 1.0), *words], start="S")
    assert adapted_words("The Fox!", dotted) == ["the", "Fox", "!"]
    # Without a model of unknown words, a word with a capital has no tags, so it must be listed.
    assert grammar.unknown_words(["The", "fox"]) == ["The"]
    learned = PCFG.from_treebank(["(S (D the) (N fox))"])
    assert learned.unknown_words(["The", "Fox"]) == ["Fox"]
