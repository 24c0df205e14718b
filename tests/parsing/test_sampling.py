"""Trees drawn from grammars: as often as their probabilities say, reproducibly, and always with an end."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest

import treelet as tl
from treelet import _core
from treelet.errors import ParameterError
from treelet.parsing import PCFG, Word
from treelet.parsing.chart import _totals

BANK = [
    "(S (NP (D the) (N cat)) (VP (V sees) (NP (D a) (J red) (N cat))))",
    "(S (NP (D the) (J big) (J red) (N dog)) (VP (V sleeps)))",
    "(NP (N cats))",
    "(S (NP (N cats)) (VP (VP (V run)) (, ,) (VP (V sleep))))",
]
DRAWN = 40_000


def probability(grammar: PCFG, tree: tl.Tree) -> float:
    """By the chart, which knows nothing of drawing."""
    found = {str(parse): logp for parse, logp in grammar.parse(tree.words(), k=200)}
    return math.exp(found[str(tree)])


@pytest.mark.parametrize("options", [{}, {"markov": 0}, {"markov": 1, "parent": True}, {"markov": 2, "parent": "tags"}])
def test_trees_come_as_often_as_they_should(options: dict[str, Any]) -> None:
    grammar = PCFG.from_treebank(BANK, unknown=None, **options)
    counts = Counter(map(str, grammar.sample(DRAWN, random_state=3)))
    assert sum(counts.values()) == DRAWN
    for text, count in counts.most_common(25):
        p = probability(grammar, tl.Tree.parse(text))
        assert abs(count - DRAWN * p) <= 5 * math.sqrt(DRAWN * p * (1 - p)), text


def test_words_spelled_like_symbols_and_rules_of_several_words() -> None:
    rules = [("S", ("A", Word("A"), "B"), 0.25), ("S", (Word("S"),), 0.75), ("A", ("x", "y"), 1.0), ("B", ("A",), 1.0)]
    grammar = PCFG.from_rules(rules, start={"S": 0.5, "B": 0.5})
    counts = Counter(map(str, grammar.sample(8000)))
    assert set(counts) == {"(S (A x y) A (B (A x y)))", "(S S)", "(B (A x y))"}
    assert abs(counts["(S S)"] / 8000 - 0.375) < 0.03


def test_the_same_seed_gives_the_same_trees() -> None:
    grammar = PCFG.from_treebank(BANK)
    assert grammar.sample(50, 7) == grammar.sample(80, 7)[:50]
    assert grammar.sample(50, 7) != grammar.sample(50, 8)
    assert len(grammar.sample(0)) == 0
    assert grammar.sample(3, np.random.default_rng(5)) == grammar.sample(3, np.random.default_rng(5))


def test_grammars_whose_trees_may_have_no_end() -> None:
    # Of all derivations one in nine ends; those that do are like the trees of a grammar with the numbers swapped.
    grammar = PCFG.from_rules([("S", ("S", "S"), 0.9), ("S", ("a",), 0.1)], start="S")
    assert abs(grammar.sample(20_000).stats().words / 20_000 - 1.125) < 0.03
    dead = PCFG.from_rules([("S", ("a",), 0.5), ("S", ("T", "a"), 0.5), ("T", ("T", "a"), 1.0)], start="S")
    assert set(dead.sample(100).strings()) == {"(S a)"}
    with pytest.raises(ParameterError, match="it has no finite tree"):
        PCFG.from_rules([("S", ("S", "a"), 1.0)], start="S").sample(1)
    with pytest.raises(ParameterError, match="weights of its trees is infinite"):
        PCFG(
            [("S", ("H", "A"), 1.0), ("H", ("H", "A"), 1.0), ("H", ("A", "A"), 1.0), ("A", (Word("a"),), 1.0)],
            "S",
            hidden=["H"],
        ).sample(1)
    apart = [("T", ("H", "A"), 1.0), ("H", ("H", "A"), 1.0), ("H", ("A", "A"), 1.0), ("A", (Word("a"),), 1.0)]
    assert PCFG([("S", ("A", "A"), 1.0), *apart], "S", hidden=["H"]).sample(1).strings() == ["(S (A a) (A a))"]


def test_total_weights_are_a_fixed_point() -> None:
    # S -> S S (0.3) | a (0.7): the smaller root of z = 0.3 z² + 0.7
    found = _totals(np.array([0, 0]), np.array([0.6, 0.4]), np.array([0, 2, 3]), np.array([0, 0, 1]), 1)
    assert found[0] == pytest.approx(2 / 3)


def test_lengths_can_be_bounded() -> None:
    grammar = PCFG.from_rules([("S", ("S", "S"), 0.5), ("S", ("a",), 0.5)], start="S")
    bank = grammar.sample(2000, max_words=3)
    counts = Counter(bank.strings())
    assert set(counts) == {"(S a)", "(S (S a) (S a))", "(S (S a) (S (S a) (S a)))", "(S (S (S a) (S a)) (S a))"}
    assert abs(counts["(S a)"] / 2000 - 0.5 / (0.5 + 0.125 + 2 * 0.03125)) < 0.05
    # What was refused leaves nothing behind.
    assert len(bank.columns.store) == len(bank.compact().columns.store)
    with pytest.raises(ParameterError, match="none has at most 1 words"):
        PCFG.from_rules([("S", ("a", "a"), 1.0)], start="S").sample(1, max_words=1)
    for wrong in ({"n": -1}, {"n": 1.5}, {"n": 1, "max_words": 0}, {"n": 1, "random_state": "x"}):
        with pytest.raises(ParameterError, match="parameter"):
            grammar.sample(**wrong)  # type: ignore[arg-type]


def test_malformed_calls_are_refused() -> None:
    ints, longs = (lambda *v: np.array(v, np.int32)), (lambda *v: np.array(v, np.int64))
    good: list[Any] = [["S", "a"], 1, longs(0, 1), longs(0, 1), ints(1), np.array([1.0]), ints(0), np.array([1.0])]
    assert len(_core.Sampler.of(*good).sample(2, 0, 9)[1]) == 2
    for place, bad in [(1, 3), (2, longs(0, 0)), (3, longs(0, 2)), (4, ints(2)), (5, np.array([0.0])), (6, ints(1)),
                       (5, np.array([np.nan])), (7, np.array([])), (0, ["", "a"]), (0, ["S", ""])]:  # fmt: skip
        with pytest.raises(ValueError, match=r"."):
            _core.Sampler.of(*good[:place], bad, *good[place + 1 :])
