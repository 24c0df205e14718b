"""Label splits and smoothed words: a slow definition on trees gives the same grammar, and small cases are computed by hand."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import trials
from treelet import Tree
from treelet.errors import ParameterError
from treelet.parsing import PCFG, UnknownWords
from treelet.parsing.estimate import _splits

BEST: dict[str, Any] = {"parent": "tags", "markov": 2, "split": "penn", "smoothing": 1}
WORDS = ["is", "Had", "did", "but", "&", "%", "Monday", "cat", "to"]
TAGS = ["NN", "VBZ", "VB", "VBN", "MD", "TO", "DT", "RB", "IN", "CC", "POS"]
PHRASES = ["S", "NP", "VP", "PP", "ADJP", "SBAR", "X"]

tagged = st.builds(lambda tag, word: Tree(tag, [Tree(word)]), st.sampled_from(TAGS), st.sampled_from(WORDS))
phrases = st.recursive(
    tagged,
    lambda kids: st.builds(Tree, st.sampled_from(PHRASES), st.lists(kids, min_size=1, max_size=4)),
    max_leaves=12,
)
penn = st.builds(lambda kids: Tree("S", kids), st.lists(phrases, min_size=1, max_size=3))


# --- the slow definition ----------------------------------------------------------------------------------------


def is_tag(node: Tree) -> bool:
    return len(node.children) == 1 and not node.children[0].children


def verb(node: Tree) -> str:
    """The kind of the verb of a phrase."""
    kinds = {"VB": "B", "VBZ": "F", "MD": "F", "VBN": "N", "TO": "T"}
    if is_tag(node):
        return kinds.get(node.label, "")
    own = [kinds[child.label] for child in node.children if is_tag(child) and child.label in kinds]
    return (own or [verb(child) for child in node.children if child.label == "VP" and not is_tag(child)] or [""])[0]


def right_edge(node: Tree) -> list[Tree]:
    last = node.children[-1]
    return [] if is_tag(node) else [last, *right_edge(last)]


def suffix(node: Tree) -> str:
    if is_tag(node):
        word = node.children[0].label.lower()
        if word == "%":
            return "-%"
        if node.label == "CC":
            return {"but": "-BUT", "&": "-&"}.get(word, "")
        return {"is": "-BE", "had": "-HAVE", "did": "-DO"}.get(word, "") if node.label.startswith("V") else ""
    kids = node.children
    has_verb = any(
        is_tag(below) and below.label in {"VB", "VBZ", "VBN", "MD"} for below in node.nodes() if below.children
    )
    out = "-U" if len(kids) == 1 and not is_tag(kids[0]) else ""
    out += f"-{verb(node)}" if node.label == "VP" and verb(node) else ""
    if node.label == "NP":
        out += "-POS" if kids[-1].label == "POS" else ""
        out += "-BASE" if all(map(is_tag, kids)) else ""
        out += "-TMP" if node.words()[-1] == "Monday" else ""
        out += "-R" if any(below.label == "NP" and not is_tag(below) for below in right_edge(node)) else ""
    out += "-V" if node.label in {"NP", "PP", "ADJP"} and has_verb else ""
    return out + ("-GAP" if node.label == "S" and not {child.label for child in kids} & {"NP", "S", "SBAR"} else "")


def annotated(node: Tree, above: tuple[str, ...] = (), alone: bool = False) -> Tree:
    """The tree with the symbols of the grammar as labels, for parent="tags"."""
    if not node.children:
        return node
    lone = "-U" if alone and node.label in {"DT", "RB"} else ""
    label = "^".join((node.label, *above[: 2 if node.label == "IN" else 1])) + lone + suffix(node)
    kids = [annotated(child, (node.label, *above[:1]), len(node.children) == 1) for child in node.children]
    return Tree(label, kids)


@settings(max_examples=trials(150), deadline=None)
@given(st.lists(penn, min_size=1, max_size=4), st.sampled_from([None, 0, 1, 2]))
def test_the_grammar_is_that_of_annotated_trees(bank: list[Tree], markov: int | None) -> None:
    grammar = PCFG.from_treebank(bank, parent="tags", split="penn", markov=markov)
    expected = PCFG.from_treebank([annotated(tree) for tree in bank], markov=markov)
    assert {rule[:2]: rule[2] for rule in grammar.productions()} == {
        rule[:2]: rule[2] for rule in expected.productions()
    }
    assert grammar.start == expected.start
    assert grammar.hidden == expected.hidden
    assert {symbol: symbol.split("^")[0].split("-")[0] for symbol in grammar.labels} == dict(grammar.labels)


@settings(max_examples=30, deadline=None)
@given(st.lists(penn, min_size=1, max_size=4))
def test_parses_have_plain_labels(bank: list[Tree]) -> None:
    grammar = PCFG.from_treebank(bank, **BEST)
    assert set(grammar.labels.values()) <= {*TAGS, *PHRASES}
    for tree in bank:
        parses = grammar.parse(tree.words(), k=3)
        assert parses
        assert all(parse.words() == tree.words() for parse, _ in parses)
        assert {node.label for parse, _ in parses for node in parse.nodes()} <= {*TAGS, *PHRASES, *WORDS}


# --- by hand ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tree", "symbols"),
    [
        ("(NP (NP (DT the) (NN cat) (POS 's)) (NN day))", "NP-TMP NP^NP-POS-BASE DT^NP NN^NP POS^NP"),
        ("(VP (MD will) (VP (VB be) (VP (VBN seen))))", "VP-F MD^VP VP^VP-B VB^VP-BE VP^VP-N VBN^VP"),
        ("(S (VP (TO to) (VP (VB go))))", "S-U-GAP VP^S-T TO^VP VP^VP-B VB^VP"),
        ("(VP (VP (VBG going)) (CC but) (VP (VBN gone)))", "VP-G VP^VP-G VBG^VP CC^VP-BUT VP^VP-N VBN^VP"),
        (
            "(NP (NP (NNS cats)) (PP (IN of) (NP (DT this))))",
            "NP-R NP^NP-BASE NNS^NP PP^NP IN^PP^NP NP^PP-BASE DT^NP-U",
        ),
        ("(PP (IN by) (S (VP (VBG doing))))", "PP-V IN^PP S^PP-U-GAP VP^S-G VBG^VP"),
        ("(NP (CD 5) (NN %))", "NP-BASE CD^NP NN^NP-%"),
    ],
)
def test_splits_by_hand(tree: str, symbols: str) -> None:
    grammar = PCFG.from_treebank([tree], parent="tags", split="penn")
    assert set(grammar.labels) == set(symbols.split())
    assert str(grammar.parse(Tree.parse(tree).words())[0][0]) == tree


def test_splits_without_parents() -> None:
    tree = "(NP (NP (NNS cats)) (PP (IN of) (NP (NN day))))"
    assert set(PCFG.from_treebank([tree], split="penn").labels) == {
        "NP-TMP-R",
        "NP-BASE",
        "NP-BASE-TMP",
        "NNS",
        "PP",
        "IN",
        "NN",
    }
    phrasal = PCFG.from_treebank([tree], split="penn", parent=True).labels
    assert {"PP^NP", "IN", "NN", "NP-TMP-R"} <= set(phrasal)


def test_words_among_phrases() -> None:
    grammar = PCFG.from_treebank(["(NP the (NP x y) POS)"], split="penn", parent="tags")
    assert [str(tree) for tree, _ in grammar.parse(["the", "x", "y", "POS"])] == ["(NP the (NP x y) POS)"]


def test_labels_that_look_like_splits_stay_apart() -> None:
    bank = ["(S (NP (DT a)) (NP-BASE (X (NP (DT b)))) (NP^S-BASE (DT c)))"]
    grammar = PCFG.from_treebank(bank, split="penn", parent="tags")
    assert sorted(grammar.labels.values()).count("NP-BASE") == 1
    assert sorted(grammar.labels.values()).count("NP^S-BASE") == 1
    assert str(grammar.parse(["a", "b", "c"])[0][0]) == bank[0]


def test_deep_trees() -> None:
    size = 20_000
    grammar = PCFG.from_treebank(["(NP " * size + "(NN x)" + ")" * size], **BEST)
    assert "NP^NP-U-R" in grammar.labels
    assert _splits([], []) == []


# --- smoothing --------------------------------------------------------------------------------------------------

COUNTED = 6 * ["(S (NP (N x)) (VP (V z)))"] + 6 * ["(S (VP (V z) (N y)))"]


def test_smoothing_by_hand() -> None:
    plain = PCFG.from_treebank(COUNTED, parent="tags")
    assert plain.lexical("x") == [("N^NP", 0.0)]
    smooth = PCFG.from_treebank(COUNTED, parent="tags", smoothing=2)
    # x was seen 6 times with N, of whose symbols each has half of the tokens, 6.
    chances = {symbol: math.exp(logp) for symbol, logp in smooth.lexical("x")}
    assert chances == pytest.approx({"N^NP": (6 + 2 / 2) / (6 + 2) * 6 / 6, "N^VP": (0 + 2 / 2) / (6 + 2) * 6 / 6})
    assert smooth.productions() == plain.productions()


def test_words_that_are_not_frequent_get_guessed_tags() -> None:
    bank = [f"(S (N n{k}s) (V v{k}ed))" for k in range(9)] + 5 * ["(S (N walked) (V go))"]
    assert {symbol for symbol, _ in PCFG.from_treebank(bank).lexical("walked")} == {"N"}
    assert {symbol for symbol, _ in PCFG.from_treebank(bank, smoothing=1).lexical("walked")} == {"N", "V"}
    assert {symbol for symbol, _ in PCFG.from_treebank(2 * bank, smoothing=1).lexical("walked")} == {"N"}


@settings(max_examples=50, deadline=None)
@given(st.lists(penn, min_size=1, max_size=4), st.floats(0, 1e6), st.sampled_from([*WORDS, "unseen", "Unseen"]))
def test_smoothing_keeps_the_expected_counts_of_labels(bank: list[Tree], smoothing: float, word: str) -> None:
    """P(word | symbol) times the count of the symbol, summed over the symbols of a label, does not depend on `smoothing`."""
    grammar = PCFG.from_treebank(20 * bank, parent="tags", split="penn", smoothing=smoothing)
    plain = PCFG.from_treebank(20 * bank, parent="tags", split="penn")
    assert grammar.unknown is not None

    def counts(given: PCFG) -> dict[str, float]:
        out: dict[str, float] = {}
        for symbol, logp in given.lexical(word):
            out[given.labels[symbol]] = (
                out.get(given.labels[symbol], 0.0) + math.exp(logp) * grammar.unknown.totals[symbol]
            )
        return out

    found = counts(grammar)
    if any(logp >= 0 for _, logp in grammar.lexical(word)):  # limited to 1
        return
    assert found == pytest.approx(counts(plain))


def test_files_keep_the_smoothing(tmp_path: Path) -> None:
    grammar = PCFG.from_treebank(COUNTED, **BEST)
    grammar.save(tmp_path / "g.json")
    for again in (PCFG.load(tmp_path / "g.json"), pickle.loads(pickle.dumps(grammar))):
        assert again == grammar
        assert again.lexical("x") == grammar.lexical("x")
        assert again.parse(["x", "z"]) == grammar.parse(["x", "z"])
    plain = PCFG.from_treebank(COUNTED, parent="tags", markov=2, split="penn")
    assert plain != grammar
    assert plain.unknown is not None
    assert "smoothing" not in plain.unknown.document()


@pytest.mark.parametrize("bad", [{"split": "x"}, {"smoothing": -1}, {"smoothing": "a"}, {"smoothing": math.inf}])
def test_parameters(bad: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=f"'{next(iter(bad))}' parameter of PCFG.from_treebank"):
        PCFG.from_treebank(COUNTED, **bad)


def test_smoothing_needs_a_model_of_unknown_words() -> None:
    with pytest.raises(ParameterError, match="smoothing=0"):
        PCFG.from_treebank(COUNTED, unknown=None, smoothing=1)


@pytest.mark.parametrize("bad", [-1, "1", True, math.nan, math.inf])
def test_damaged_smoothing(bad: object) -> None:
    model = PCFG.from_treebank(COUNTED, smoothing=1).unknown
    assert model is not None
    with pytest.raises(ParameterError, match="'smoothing' of the model"):
        UnknownWords.from_document(model.document() | {"smoothing": bad})
