"""The chart parser against a list of all derivations."""

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treelet as tl
from conftest import trials
from definitions.derivations import derivations, doubled, expected_nodes
from definitions.strategies import grammars
from experiments.data import question_bank
from treelet.errors import InputTypeError, ParameterError, TreeError
from treelet.parsing import PCFG

pytestmark = pytest.mark.filterwarnings("ignore::treelet.parsing.GrammarWarning")

SENTENCES = st.lists(st.sampled_from(["x", "y"]), min_size=1, max_size=4)
EVERYTHING = 10**6


def same(found, listed):
    """Equal trees with equal probabilities; found comes in descending order."""
    assert [p for _, p in found] == sorted((p for _, p in found), reverse=True)
    got = {str(tree): p for tree, p in found}
    assert len(got) == len(found), "a tree came twice"
    want = {str(tree): p for tree, p in listed}
    assert got.keys() == want.keys()
    assert got == pytest.approx(want, rel=1e-9)


@settings(max_examples=trials(500), deadline=None)
@given(grammars(), SENTENCES)
def test_everything_equals_the_list_of_derivations(rules, words):
    listed = derivations(rules, "S", words)
    grammar = PCFG.from_rules(rules, start="S")
    parsed = [(tree, math.exp(logp)) for tree, logp in grammar.parse(words, k=EVERYTHING)]
    same(parsed, listed)
    forest = grammar.forest(words)
    assert forest.count_trees() == len(listed)
    same(forest.trees(), listed)
    if not listed:
        assert not forest
        return
    assert forest.words == words
    assert forest.probability() == pytest.approx(math.fsum(p for _, p in listed), rel=1e-9)
    inside, outside = forest.inside(), forest.outside()
    heads, expected, got = {edge.head for edge in forest.edges}, expected_nodes(listed), {}
    for number, node in enumerate(forest.nodes):
        assert inside[number] == pytest.approx(
            math.fsum(p for _, p in tl.Forest.from_columns(forest.columns._replace(root=number)).trees()), rel=1e-9
        )
        if number in heads:
            got[tuple(node)] = got.get(tuple(node), 0) + inside[number] * outside[number] / inside[forest.root]
    assert got == pytest.approx(expected, rel=1e-9)
    k = max(1, len(listed) // 2)
    best = grammar.parse(words, k=k)
    assert [math.exp(logp) for _, logp in best] == pytest.approx([p for _, p in listed[:k]], rel=1e-9)


@settings(max_examples=trials(150), deadline=None)
@given(grammars(), SENTENCES, st.floats(0, 5))
def test_a_pruned_forest_is_the_forest_pruned(rules, words, threshold):
    grammar = PCFG.from_rules(rules, start="S")
    pruned, whole = grammar.forest(words, prune=threshold), grammar.forest(words)
    same(pruned.trees(), whole.prune(threshold).trees())


@settings(max_examples=trials(100), deadline=None)
@given(grammars(symbols=("S", "A"), max_rules=6), st.lists(st.sampled_from(["x", "y"]), min_size=1, max_size=3))
def test_bounded_search_finds_only_real_parses(rules, words):
    grammar = PCFG.from_rules(rules, start="S")
    listed = {str(tree): p for tree, p in derivations(rules, "S", words)}
    for found in (grammar.parse(words, k=50, beam=1.0), grammar.parse(words, k=50, coarse=grammar, margin=3.0)):
        assert bool(found) == bool(listed)
        for tree, logp in found:
            assert math.exp(logp) == pytest.approx(listed[str(tree)], rel=1e-9)
    wide = grammar.parse(words, k=EVERYTHING, beam=1e6)
    assert len(wide) == len(listed)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(tl.testing.trees(labels=("S", "A", "B"), words=("x", "y"), max_nodes=9), min_size=2, max_size=6),
    st.sampled_from([None, 0, 1, 2]),
    st.sampled_from([False, True, "tags"]),
)
def test_treebank_grammars_give_back_their_trees(bank, markov, parent):
    bank = [tree for tree in bank if tree.children]
    if not bank:
        return
    grammar = PCFG.from_treebank(bank, markov=markov, parent=parent)
    for tree in bank[:3]:
        words = tree.words()
        if len(words) > 5 or doubled(tree):
            continue
        forest = grammar.forest(words)
        found = {str(t) for t, _ in forest.kbest(20_000)} if forest.count_trees() <= 20_000 else {str(tree)}
        assert str(tree) in found
        # the parser and the forest agree on the best ones
        a, b = grammar.parse(words, k=5), forest.kbest(5)
        assert [logp for _, logp in a] == pytest.approx([math.log(p) for _, p in b], rel=1e-9)


def test_equals_are_in_falling_order_to_the_last_bit():
    rules = [("S", ("x",), 9 / 21), ("S", ("y",), 1 / 21), ("S", ("S", "S"), 5 / 21), ("S", ("x", "x"), 6 / 21)]
    grammar, words = PCFG.from_rules(rules, start="S"), ["y"] * 6
    for logps in (
        [logp for _, logp in grammar.parse(words, k=100)],
        grammar.parse_all([words], k=100).logp.tolist(),
        [p for _, p in grammar.forest(words).trees()],
    ):
        assert len(logps) == 42
        assert logps == sorted(logps, reverse=True)


@settings(max_examples=60, deadline=None)
@given(st.floats(0.01, 0.98), st.floats(0.01, 0.99))
def test_ties_are_broken_by_structure_and_not_by_rounding(p, share):
    """All 42 trees are ties, summed in different orders: their order is the same for all probabilities."""
    rules = [("S", ("S", "S"), p), ("S", ("x",), (1 - p) * share), ("S", ("y",), (1 - p) * (1 - share))]
    parses = PCFG.from_rules(rules, start="S").parse(list("xyxyxy"), k=100)
    even = [("S", ("S", "S"), 0.5), ("S", ("x",), 0.25), ("S", ("y",), 0.25)]
    plain = PCFG.from_rules(even, start="S").parse(list("xyxyxy"), k=100)
    assert len({logp for _, logp in parses}) == 1
    assert [tree for tree, _ in parses] == [tree for tree, _ in plain]
    assert str(parses[0][0]) == "(S (S x) (S (S y) (S (S x) (S (S y) (S (S x) (S y))))))"


def test_ties_between_rules_are_broken_by_the_order_of_the_grammar():
    """Two attachments use the same rules, but add their probabilities in another order."""
    rules = [
        ("S", ("N", "V"), 1.0), ("V", ("v", "N"), 0.3), ("V", ("V", "P"), 0.7), ("N", ("n",), 0.3), ("N", ("N", "P"), 0.7), ("P", ("p", "N"), 1.0),
    ]  # fmt: skip
    words = ["n", "v", "n", "p", "n", "p", "n"]
    orders = set()
    for exponent in range(1, 40):
        scaled = [(head, tail, p if p == 1 else p**exponent) for head, tail, p in rules]
        parses = PCFG.from_rules(scaled, start="S").parse(words, k=9)
        assert len(parses) == 5
        assert len({logp for _, logp in parses}) == 1
        orders.add(tuple(str(tree) for tree, _ in parses))
    assert len(orders) == 1


def test_unary_cycles():
    grammar = PCFG.from_rules(
        [("S", ("A",), 0.5), ("S", ("x",), 0.5), ("A", ("S",), 0.9), ("A", ("x",), 0.1)], start="S"
    )
    assert [(str(tree), round(math.exp(logp), 9)) for tree, logp in grammar.parse(["x"], k=9)] == [
        ("(S x)", 0.5),
        ("(S (A x))", 0.05),
    ]
    assert grammar.forest(["x"]).count_trees() == 2


def test_a_cycle_through_every_symbol_stays_small_when_pruned():
    names = [f"N{i}" for i in range(14)]
    rules = [(a, (b,), 0.05) for a in names for b in names if a != b]
    rules += [(a, ("x",), 0.3) for a in names] + [(a, ("N0", "N1"), 0.05) for a in names]
    grammar = PCFG.from_rules(rules, start="N0")
    forest = grammar.forest(["x"] * 4, prune=4.0)
    assert forest.count_trees() > 1
    best = grammar.parse(["x"] * 4, k=50)
    assert [logp for _, logp in best] == sorted((logp for _, logp in best), reverse=True)
    assert len({str(tree) for tree, _ in best}) == 50


def test_words_inside_longer_rules():
    grammar = PCFG.from_rules(
        [("S", ("three", "hundred", "N"), 0.5), ("S", ("N",), 0.5), ("N", ("three",), 0.5), ("N", ("men",), 0.5)],
        start="S",
    )
    assert [str(tree) for tree, _ in grammar.parse(["three", "hundred", "men"])] == ["(S three hundred (N men))"]
    assert [str(tree) for tree, _ in grammar.forest(["three", "hundred", "men"]).trees()] == [
        "(S three hundred (N men))"
    ]


def test_several_starts():
    grammar = PCFG.from_treebank(["(S (A x))", "(T (A x))", "(T (A x))"])
    assert [(str(tree), round(math.exp(logp), 6)) for tree, logp in grammar.parse(["x"], k=5)] == [
        ("(T (A x))", 0.666667),
        ("(S (A x))", 0.333333),
    ]
    forest = grammar.forest(["x"])
    assert {str(tree): round(p, 6) for tree, p in forest.trees()} == {"(T (A x))": 0.666667, "(S (A x))": 0.333333}
    np.testing.assert_allclose(tl.ForestKernel(lam=1)([forest, "(T (A x))"])[0, 1], (2 / 3) * 3 + (1 / 3) * 1)


# --- sentences that are not ordinary ----------------------------------------------------------------------------


TINY = PCFG.from_treebank(["(S (NP (N John)) (VP (V sleeps)))", "(S (NP (D the) (N cat)) (VP (V eats) (NP (N fish))))"])


def test_no_words():
    for call in (TINY.parse, TINY.forest):
        with pytest.raises(TreeError, match="parse needs at least one word"):
            call([])
    with pytest.raises(TreeError, match="parse needs at least one word"):
        TINY.parse_all([["John"], []])


@pytest.mark.parametrize("tokens", ["John sleeps", None, [3], ["a b"], ["("], [""]])
def test_what_is_no_sentence(tokens):
    with pytest.raises((InputTypeError, TreeError)):
        TINY.parse(tokens)


def test_one_word_and_no_parse_is_marked():
    [(tree, logp)] = TINY.parse(["John"], k=7)
    assert tree.label == "FALLBACK"
    assert logp == -math.inf
    assert tree.words() == ["John"]
    assert TINY.forest(["John"]).best()[0].label == "FALLBACK"
    assert PCFG.from_rules([("S", ("a", "a"), 1)], start="S").parse(["a"]) == []


def test_unknown_words_only():
    [(tree, logp)] = TINY.parse(["Zorgs", "quomble"])
    assert tree.label == "S"
    assert math.isfinite(logp)


def test_two_hundred_words():
    words = ["the", "cat"] + ["eats", "fish"] * 99
    found = TINY.parse(words, k=3)
    assert found[0][0].words() == words
    long = PCFG.from_rules([("S", ("S", "S"), 0.5), ("S", ("a",), 0.5)], start="S")
    assert long.forest(["a"] * 200, prune=0.0).count_trees() > 10**100
    best = long.parse(["a"] * 200, k=10)
    assert [logp for _, logp in best] == pytest.approx([399 * math.log(0.5)] * 10)
    assert len({str(tree) for tree, _ in best}) == 10


def test_a_grammar_without_words():
    grammar = PCFG.from_rules([("S", ("A", "B"), 1.0), ("A", ("B", "B"), 1.0), ("B", ("A", "A"), 1.0)], start="S")
    assert grammar.parse(["x", "y"]) == []
    assert grammar.forest(["x", "y"]).count_trees() == 0


def test_numbers_that_do_not_sum_to_one():
    with pytest.warns(UserWarning, match="rules of 'A' sum to 0.5 instead"):
        grammar = PCFG.from_rules([("S", ("A", "A"), 0.9), ("A", ("x",), 0.5)], start="S")
    assert math.exp(grammar.parse(["x", "x"])[0][1]) == pytest.approx(0.9 * 0.25)


@pytest.mark.parametrize(
    "options", [{"k": 0}, {"k": 1.5}, {"beam": 0}, {"beam": math.nan}, {"coarse": TINY, "margin": -1}]
)
def test_bad_parameters(options):
    with pytest.raises(ParameterError):
        TINY.parse(["John", "sleeps"], **options)
    with pytest.raises(ParameterError):
        TINY.forest(["John"], prune=-1)


def test_too_large_a_forest_says_so(monkeypatch):
    monkeypatch.setattr("treelet.parsing.chart._MAX_EDGES", 1000)
    long = PCFG.from_rules([("S", ("S", "S", "S"), 0.5), ("S", ("a",), 0.5)], start="S")
    with pytest.raises(TreeError, match="Cannot build the forest"):
        long.forest(["a"] * 31)


def test_batches_are_the_same_in_threads():
    sentences = [["John", "sleeps"], ["the", "cat", "eats", "fish"], ["fish"], ["John", "eats", "the", "cat"]]
    one, two = TINY.parse_all(sentences, k=3), TINY.parse_all(sentences, k=3, n_jobs=2, progress=True)
    assert one.trees == two.trees
    np.testing.assert_array_equal(one.logp, two.logp)
    np.testing.assert_array_equal(one.qid, two.qid)
    for number, words in enumerate(sentences):
        rows = np.flatnonzero(one.qid == number)
        assert [(one.trees[int(row)], one.logp[row]) for row in rows] == TINY.parse(words, k=3)
    assert TINY.forests(sentences, n_jobs=2) == tl.ForestBank([TINY.forest(words, prune=8.0) for words in sentences])
    assert len(TINY.parse_all([], k=3).trees) == 0


# --- a real grammar ---------------------------------------------------------------------------------------------


def test_atis_counts(data_dir):
    folder = data_dir / "atis_grammar"
    grammar = PCFG.read_text(folder / "atis.cfg")
    lines = (folder / "atis_sentences.txt").read_text("latin-1").splitlines()
    stated = [(int(m[1]), m[2].split()) for line in lines if (m := re.match(r"\s*(\d+)\s*:\s*(.+)", line))]
    assert len(stated) == 98
    assert [grammar.forest(words).count_trees() for _, words in stated] == [count for count, _ in stated]
    count, words = max(stated)
    assert count == 36_122
    assert len({str(tree) for tree, _ in grammar.parse(words, k=2000)}) == 2000


def test_forest_kernel_on_real_forests_is_positive_semi_definite(data_dir, monkeypatch):
    monkeypatch.setenv("TREELET_DATA", str(data_dir))
    bank = question_bank()[:600]
    grammar = PCFG.from_treebank(bank[:500], markov=2, parent=True)
    forests = grammar.forests([tree.words() for tree in bank[500:560]], prune=8.0)
    for kernel in (tl.ForestKernel(lam=0.4), tl.ForestKernel(lam=1.0).normalized()):
        K = kernel(forests)
        np.testing.assert_array_equal(K, K.T)
        values = np.linalg.eigvalsh(K)
        assert values[0] > -1e-9 * values[-1]


# --- what once went wrong ---------------------------------------------------------------------------------------


CHAIN = PCFG.from_rules([("S", ("S", "S"), 0.9), ("S", ("B",), 0.1), ("B", ("A",), 1.0), ("A", ("a",), 1.0)], start="S")


@pytest.mark.parametrize("beam", [0.01, 1.0, 8.0])
def test_a_beam_does_not_cut_chains_in_two(beam):
    assert [str(tree) for tree, _ in CHAIN.parse(["a"], beam=beam)] == ["(S (B (A a)))"]
    assert CHAIN.forest(["a"], beam=beam).count_trees() == 1
    grammar = PCFG.from_treebank(tl.datasets.flights(300), markov=1)
    for tree in tl.datasets.flights(60):
        words = tree.words()
        found = grammar.parse(words, k=3, beam=beam)
        assert found[0][0].words() == words
        best = grammar.forest(words, prune=2.0, beam=beam).best()
        assert math.log(best[1]) == pytest.approx(found[0][1], rel=1e-9)


def test_a_coarse_pass_does_not_cut_chains_or_words():
    fine = PCFG.from_rules([("S", ("B",), 1.0), ("B", ("A",), 1.0), ("A", ("a",), 1.0)], start="S")
    coarse = PCFG.from_rules([("S", ("A",), 1.0), ("A", ("a",), 1.0)], start="S")
    assert [tree for tree, _ in fine.parse(["a"], coarse=coarse)] == [fine.forest(["a"], coarse=coarse).best()[0]]
    rules = [("S", ("D", "N"), 0.99), ("D", ("the",), 0.001), ("D", ("a",), 0.999), ("N", ("x",), 1.0)]
    mixed = PCFG.from_rules([("S", ("the", "N"), 0.01), *rules], start="S")
    plain = PCFG.from_rules(rules, start="S")
    assert str(mixed.parse(["the", "x"], coarse=plain, margin=100.0)[0][0]) == "(S the (N x))"
    with pytest.raises(InputTypeError, match="'coarse' parameter must be a PCFG"):
        mixed.parse(["the", "x"], coarse="plain")


def test_symbols_that_share_a_label_do_not_take_for_ever():
    word = tl.parsing.Word("a")
    rules = [("S", (x, "S"), 0.25) for x in ("X1", "X2")] + [("S", (x,), 0.25) for x in ("X1", "X2")]
    grammar = PCFG([*rules, ("X1", (word,), 1.0), ("X2", (word,), 1.0)], "S", labels={"X1": "X", "X2": "X"})
    assert len(grammar.parse(["a"] * 24, k=2)) == 1


def test_pieces_of_a_long_sentence_take_little_memory():
    words = ["zzz"] + [word for tree in tl.datasets.flights(30) for word in tree.words()]
    tree, _ = PCFG.from_treebank(tl.datasets.flights(400), unknown=None).parse(words)[0]
    assert tree.label == "FALLBACK"
    assert tree.words() == words


def test_a_sentence_can_be_too_long():
    with pytest.raises(TreeError, match=r"sentence has 20,001.*words, but at most 5,000 are supported"):
        CHAIN.parse(["a"] * 20_001)
