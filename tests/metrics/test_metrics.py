"""Measures, against hand-worked numbers, slow definitions and other programs."""

from __future__ import annotations

import itertools
import json
import lzma
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treelet as tl
from treelet import metrics
from treelet.metrics import PARSEVAL, PLAIN, BracketCounts, Convention
from treelet.metrics import significance as significance_module
from treelet.testing import trees

GOLD = "(S (NP (N John)) (VP (V saw) (NP (N Mary)) (PP (P in) (NP (N Rome)))))"
# John 0, saw 1, Mary 2, in 3, Rome 4: S 0-5, NP 0-1, VP 1-5, NP 2-3, PP 3-5, NP 4-5: six constituents.
ATTACHED = "(S (NP (N John)) (VP (V saw) (NP (NP (N Mary)) (PP (P in) (NP (N Rome))))))"
# All six again, and NP 2-5: c = 6, p = 7.
FLAT = "(S (N John) (VP (V saw) (N Mary)) (PP (P in) (NP (V Rome))))"
# S 0-5, VP 1-3, PP 3-5, NP 4-5: c = 3, p = 4. VP 1-3 crosses nothing: it lies within VP 1-5.


# --- a slow definition --------------------------------------------------------------------------------------------


def leaves(tree: tl.Tree) -> list[tuple[str, str | None]]:
    """Words with their tags; recursive, to be read."""
    if tree.is_word:
        return [(tree.label, None)]
    if tree.is_preterminal:
        return [(word.label, tree.label) for word in tree.children]
    return [pair for child in tree.children for pair in leaves(child)]


def spans(
    tree: tl.Tree, convention: Convention, kept: list[bool], empty: bool = False
) -> Counter[tuple[str, int, int]]:
    """Constituents by definition, given which words stay; `empty` also counts those left with no word."""
    place = list(itertools.accumulate(kept, initial=0))
    found: Counter[tuple[str, int, int]] = Counter()

    def walk(node: tl.Tree, begin: int) -> int:
        end = begin + (len(node.children) if node.is_preterminal else int(node.is_word))
        if not node.is_preterminal:
            for child in node.children:
                end = walk(child, end)
        label = convention.category(node.label)
        inner = not node.is_word and (convention.preterminals or not node.is_preterminal)
        if inner and label is not None and (empty or place[begin] < place[end]):
            found[label, place[begin], place[end]] += 1
        return end

    walk(tree, 0)
    return found


def kept(tree: tl.Tree, convention: Convention) -> list[bool]:
    return [tag not in convention.punctuation for _, tag in leaves(tree)]


def crossing(gold: Counter[tuple[str, int, int]], parsed: Counter[tuple[str, int, int]]) -> int:
    return sum(count * any(s < a < e < b or a < s < b < e for _, s, e in gold) for (_, a, b), count in parsed.items())


# --- constituents -------------------------------------------------------------------------------------------------


def test_constituents_by_hand() -> None:
    assert metrics.constituents(GOLD) == Counter(
        [("S", 0, 5), ("NP", 0, 1), ("VP", 1, 5), ("NP", 2, 3), ("PP", 3, 5), ("NP", 4, 5)]
    )
    assert metrics.constituents("(NP (NP (N John)))") == {("NP", 0, 1): 2}
    assert metrics.constituents("(N John)") == {}
    assert metrics.constituents("(John)") == {}
    assert metrics.constituents("(NP the (N dog))") == {("NP", 0, 2): 1}
    assert metrics.constituents("(NP (D the) (N dog))", Convention(preterminals=True)) == Counter(
        [("NP", 0, 2), ("D", 0, 1), ("N", 1, 2)]
    )


def test_constituents_as_evalb_has_them() -> None:
    # Left: `` 0 and the final '' and . ; John 0, gave 1, up 2. The PRN of a lone dash disappears, and so does the trace.
    tree = "(TOP (S (`` ``) (NP-SBJ-1 (N John)) (VP (V gave) (PRT (RP up)) (S=2 (NP (-NONE- *-1)))) (PRN (: --)) ('' '') (. .)))"
    assert metrics.constituents(tree, PARSEVAL) == Counter([("S", 0, 3), ("NP", 0, 1), ("VP", 1, 3), ("ADVP", 2, 3)])
    plain = metrics.constituents(tree)
    assert plain["TOP", 0, 8] == plain["PRN", 5, 6] == plain["PRT", 3, 4] == plain["NP-SBJ-1", 1, 2] == 1
    assert metrics.constituents("(S (. .))", PARSEVAL) == {}
    assert metrics.constituents("(-LRB- (N x) (N y))", PARSEVAL) == {("-LRB-", 0, 2): 1}


def test_what_cannot_have_constituents() -> None:
    with pytest.raises(tl.errors.TreeError, match=r"missing tree \(None\) has no constituents"):
        metrics.constituents(None)
    with pytest.raises(tl.errors.InputTypeError, match="PLAIN, PARSEVAL or another Convention"):
        metrics.constituents(GOLD, "plain")  # type: ignore[arg-type]
    with pytest.raises(tl.errors.ParameterError, match="'punctuation' parameter of Convention"):
        Convention(punctuation=",")


SMALL = trees(labels=("A", "B", ",", "TOP", "PRT", "ADVP"), words=("x",), max_nodes=14)
CONVENTION = replace(PARSEVAL, empty=())


@given(SMALL, st.sampled_from([PLAIN, CONVENTION, Convention(preterminals=True, punctuation=(",",))]))
def test_constituents_are_the_slow_definition(tree: tl.Tree, convention: Convention) -> None:
    assert metrics.constituents(tree, convention) == spans(tree, convention, kept(tree, convention))


@given(st.lists(SMALL, min_size=2, max_size=6), st.sampled_from([PLAIN, CONVENTION]))
def test_counts_are_the_slow_definition(forest: list[tl.Tree], convention: Convention) -> None:
    by_length: dict[int, list[tl.Tree]] = {}
    for tree in forest:  # all words are x: as many words, the same words
        by_length.setdefault(len(leaves(tree)), []).append(tree)
    for gold, *candidates in by_length.values():
        stay = kept(gold, convention)
        right = spans(gold, convention, stay)
        found = [spans(tree, convention, stay) for tree in candidates]
        counts = metrics.tree_scores(gold, candidates, convention)
        assert counts.matched.tolist() == [(right & one).total() for one in found]
        assert counts.proposed.tolist() == [one.total() for one in found]
        assert counts.gold.tolist() == [right.total()] * len(found)
        for tree, one in zip(candidates, found, strict=True):
            result = metrics.parseval([gold], [tree], convention)
            assert result.crossing == crossing(right, one)
            pairs = [(a, b) for (_, a), (_, b), stays in zip(leaves(gold), leaves(tree), stay, strict=True) if stays]
            if pairs:
                assert result.tagging_accuracy == pytest.approx(
                    100 * sum(a == b is not None for a, b in pairs) / len(pairs)
                )


@given(SMALL)
def test_a_tree_against_itself_is_perfect(tree: tl.Tree) -> None:
    for convention in (PLAIN, CONVENTION):
        assert metrics.parse_score([tree], [tree], convention) == 100
        result = metrics.parseval([tree], [tree], convention)
        assert (result.f1, result.exact_match, result.crossing, result.no_crossing) == (100, 100, 0, 100)


@given(SMALL, SMALL)
def test_matching_is_symmetric(a: tl.Tree, b: tl.Tree) -> None:
    if len(leaves(a)) == len(leaves(b)):
        one, other = metrics.tree_scores(a, [b]), metrics.tree_scores(b, [a])
        assert [x.tolist() for x in one] == [x.tolist() for x in (other.matched, other.proposed, other.gold)]


# --- scores -------------------------------------------------------------------------------------------------------


def test_parse_score_by_hand() -> None:
    # g = 6, c = 6, p = 7: ½(6/7 + 6/6) = 13/14.    g = 6, c = 3, p = 4: ½(3/4 + 3/6) = 5/8.
    assert metrics.parse_score([GOLD], [ATTACHED]) == pytest.approx(100 * 13 / 14)
    assert metrics.parse_score([GOLD], [FLAT]) == pytest.approx(100 * 5 / 8)
    # A third sentence of two constituents (S, NP), all found: (6·13/14 + 6·5/8 + 2·1)/14.
    short = "(S (NP (N it)) (V is))"
    expected = 100 * (6 * 13 / 14 + 6 * 5 / 8 + 2) / 14
    assert metrics.parse_score([GOLD, GOLD, short], [ATTACHED, FLAT, short]) == pytest.approx(expected)
    # No parse of it: its 2 gold constituents stay in the denominator.
    expected = 100 * (6 * 13 / 14 + 6 * 5 / 8) / 14
    assert metrics.parse_score([GOLD, GOLD, short], [ATTACHED, FLAT, None]) == pytest.approx(expected)
    counts = metrics.bracket_counts([GOLD, GOLD, short], [ATTACHED, FLAT, None])
    assert counts.goodness == pytest.approx([13 / 14, 5 / 8, 0])
    assert counts.sentence_f1 == pytest.approx([12 / 13, 6 / 10, 0])
    assert counts.exact.tolist() == [False, False, False]


def test_parseval_by_hand() -> None:
    # Matched 6 + 3, proposed 7 + 4, gold 6 + 6; tags 5/5 and 4/5 (Rome is V).
    result = metrics.parseval([GOLD, GOLD], [ATTACHED, FLAT])
    assert (result.precision, result.recall) == (pytest.approx(100 * 9 / 11), pytest.approx(100 * 9 / 12))
    assert result.f1 == pytest.approx(100 * 18 / 23) == metrics.labelled_f1([GOLD, GOLD], [ATTACHED, FLAT])
    assert (result.exact_match, result.tagging_accuracy, result.crossing) == (0, 90, 0)
    assert (result.sentences, result.coverage) == (2, 100)
    assert "P 81.82 R 75.00 F 78.26" in str(result)
    # A missing parse: recall 6 of 12, precision 6 of 6, tags 5 of 10; crossing is over parses.
    result = metrics.parseval([GOLD, GOLD], [GOLD, None])
    assert (result.precision, result.recall, result.exact_match, result.tagging_accuracy) == (100, 50, 50, 50)
    assert (result.coverage, result.crossing, result.no_crossing) == (50, 0, 100)
    result = metrics.parseval([GOLD], [None])
    assert (result.f1, result.coverage) == (0, 0)
    assert math.isnan(result.crossing)


def test_crossing_by_hand() -> None:
    # X 1-3 (b c) crosses Y 0-2 (a b) of the gold tree; Z 0-3 crosses nothing.
    result = metrics.parseval(["(Z (Y (T a) (T b)) (T c))"], ["(Z (T a) (X (T b) (T c)))"])
    assert (result.crossing, result.no_crossing) == (1, 0)
    result = metrics.parseval(["(Z (T a) (X (T b) (T c)))"], ["(Z (Y (T a) (T b)) (T c))"])
    assert (result.crossing, result.no_crossing) == (1, 0)


def test_punctuation_and_particles() -> None:
    gold = "(S (`` ``) (NP (N John)) (VP (V gave) (PRT (RP up))) (, ,) (. .))"
    # The comma inside the VP, the quote inside the NP, ADVP for PRT: all the same for PARSEVAL.
    parsed = "(TOP (S (NP (`` ``) (N John)) (VP (V gave) (ADVP (RP up)) (, ,)) (. .)))"
    assert metrics.labelled_f1([gold], [parsed]) == 100
    # As they stand S 0-6 matches of gold S NP VP PRT and of parsed TOP S NP VP ADVP: ½(1/5 + 1/4).
    assert metrics.parse_score([gold], [parsed]) == pytest.approx(22.5)
    # The gold tree's tags decide which words are left out, so a comma tagged N shifts nothing ...
    mistagged = gold.replace("(, ,)", "(N ,)")
    assert metrics.labelled_f1([gold], [mistagged]) == 100
    assert metrics.parseval([gold], [mistagged]).tagging_accuracy == 100  # ... and is no word to be tagged
    assert metrics.parseval([gold], [mistagged], PLAIN).tagging_accuracy == pytest.approx(100 * 5 / 6)


def test_traces_are_no_words() -> None:
    gold, parsed = "(S (NP (-NONE- *)) (VP (V go)))", "(S (VP (V go)))"
    assert metrics.labelled_f1([gold], [parsed]) == 100
    with pytest.raises(tl.errors.TreeError, match="parse has 'go' as word 0, but the gold"):
        metrics.parse_score([gold], [parsed])


def test_unary_chains_are_multisets() -> None:
    # Gold NP NP S over one word, parse NP S S: one NP and one S match.
    counts = metrics.tree_scores("(NP (NP (S (N x))))", ["(NP (S (S (N x))))", "(NP (NP (NP (N x))))"])
    assert counts.matched.tolist() == [2, 2]
    assert counts.proposed.tolist() == [3, 3]
    # With punctuation beside it, a chain goes on: S over (NP .) has the NP's span.
    assert metrics.constituents("(NP (NP (N x)) (. .))", PARSEVAL) == {("NP", 0, 1): 2}
    assert metrics.tree_scores("(NP (NP (N x)) (. .))", ["(NP (N x) (. .))"], PARSEVAL).matched.tolist() == [1]


def test_no_constituents_at_all() -> None:
    assert metrics.parse_score(["(N x)"], ["(N x)"]) == 100
    assert metrics.parse_score(["(N x)"], ["(NP (N x))"]) == 0
    assert BracketCounts([0, 0, 0], [0, 0, 2], [0, 3, 0]).goodness.tolist() == [1, 0, 0]
    assert BracketCounts([0, 0, 0], [0, 0, 2], [0, 3, 0]).sentence_f1.tolist() == [1, 0, 0]
    assert math.isnan(metrics.parseval(["(. .)"], ["(. .)"]).tagging_accuracy)


def test_what_cannot_be_scored() -> None:
    with pytest.raises(tl.errors.TreeError, match=r"sentence 1.*parse has 'cat' as word 0, but the gold"):
        metrics.parse_score([GOLD, "(NP (N dog))"], [GOLD, "(NP (N cat))"])
    with pytest.raises(tl.errors.TreeError, match=r"sentence 0.*gold tree has 1"):
        metrics.parseval(["(NP (N dog))"], ["(NP (N dog) (N cat))"])
    with pytest.raises(tl.errors.TreeError, match=r"candidate 1 \(sentence 0\)"):
        metrics.candidate_scores(["(NP (N dog))"], ["(NP (N dog))", "(NP (N cat))"], [0, 0])
    with pytest.raises(tl.errors.TreeError, match="Sentence 0 has no gold tree"):
        metrics.parse_score([None], [GOLD])
    with pytest.raises(tl.errors.ParameterError, match="Got 1 parse for 2 gold trees"):
        metrics.parse_score([GOLD, GOLD], [GOLD])
    with pytest.raises(tl.errors.ParameterError, match="score needs at least one"):
        metrics.parse_score([], [])
    with pytest.raises(tl.errors.ParameterError, match="Got 0 to 1"):
        metrics.candidate_scores([GOLD], [GOLD, GOLD], [0, 1])
    with pytest.raises(tl.errors.ParameterError, match=r"must be one integer for each.*1 candidate"):
        metrics.candidate_scores([GOLD], [GOLD], [0.0])
    with pytest.raises(tl.errors.ParameterError, match="0, and not more than gold or proposed"):
        BracketCounts([3], [2], [4])
    with pytest.raises(tl.errors.InputTypeError, match="integers, because they are counts"):
        BracketCounts([0.5], [2], [4])
    with pytest.raises(tl.errors.ParameterError, match=r"the same length\. Got "):
        BracketCounts([1], [2, 2], [4])
    with pytest.raises(tl.errors.ParameterError, match="must be 'precision', 'recall', 'f1'"):
        BracketCounts([1], [2], [4]).measure("accuracy")


def test_candidates_in_any_order_and_the_oracle() -> None:
    gold = tl.Treebank([GOLD, "(S (NP (N it)) (V is))"])
    candidates = tl.Treebank([FLAT, "(S (N it) (V is))", ATTACHED, None])
    counts = metrics.candidate_scores(gold, candidates, [0, 1, 0, 1])
    assert [array.tolist() for array in counts] == [[3, 1, 6, 0], [6, 2, 6, 2], [4, 1, 7, 0]]
    # Best of sentence 0: 13/14; of sentence 1: ½(1/1 + 1/2) = 3/4. (6·13/14 + 2·3/4)/8.
    best = metrics.oracle(counts, [0, 1, 0, 1])
    assert best.parse_score == pytest.approx(100 * (6 * 13 / 14 + 2 * 3 / 4) / 8)
    assert metrics.oracle(counts, [0, 1, 0, 1], "f1").f1 == pytest.approx(100 * 14 / 16)
    assert len(metrics.candidate_scores(gold, [], [])) == 0
    with pytest.raises(tl.errors.ParameterError, match="'goodness' or 'f1'"):
        metrics.oracle(counts, [0, 1, 0, 1], "recall")


def test_relative_improvement() -> None:
    assert metrics.relative_improvement(74, 80) == pytest.approx(100 * 6 / 26)
    assert metrics.relative_improvement(80, 74) == pytest.approx(-30)
    assert metrics.relative_improvement(100, 100) == 0
    assert metrics.relative_improvement(100, 99) == -math.inf
    with pytest.raises(tl.errors.ParameterError, match="'after' parameter"):
        metrics.relative_improvement(50, 101)


def test_very_deep_and_very_wide_trees() -> None:
    depth = 100_000
    unary = "(A " * depth + "(N x)" + ")" * depth
    counts = metrics.tree_scores(unary, [unary, "(A (B (N x)))"])
    assert (counts.matched.tolist(), counts.proposed.tolist()) == ([depth, 1], [depth, 2])
    branching = "(A (N x) " * depth + "(N x)" + ")" * depth
    result = metrics.parseval([branching], [branching])
    assert (result.f1, result.crossing, result.counts.gold.tolist()) == (100, 0, [depth])
    wide = f"(S {'(N x) ' * depth})"
    assert metrics.parse_score([wide], [wide]) == 100


# --- ranking ------------------------------------------------------------------------------------------------------


def test_best_of_group() -> None:
    assert metrics.best_of_group([1, 5, 5, 2, 9], [7, 7, 7, 3, 3]).tolist() == [4, 1]
    assert metrics.best_of_group([1, 5, 5, 2], ["b", "a", "b", "a"]).tolist() == [1, 2]
    assert metrics.best_of_group([], []).tolist() == []
    assert metrics.best_of_group([-math.inf], [0]).tolist() == [0]
    with pytest.raises(tl.errors.ParameterError, match="Item 1 is NaN"):
        metrics.best_of_group([0, math.nan], [0, 0])
    with pytest.raises(tl.errors.ParameterError, match="2 items"):
        metrics.best_of_group([0, 1], [0])


def test_kendall_by_hand() -> None:
    # 6 pairs, one discordant: (5 - 1)/6.
    assert metrics.kendall_tau_b([1, 2, 3, 4], [1, 3, 2, 4]) == pytest.approx(4 / 6)
    # x ties one of 3 pairs; of the others both are concordant: 2/√(2·3).
    assert metrics.kendall_tau_b([1, 1, 2], [1, 2, 3]) == pytest.approx(2 / math.sqrt(6))
    assert math.isnan(metrics.kendall_tau_b([1, 1], [1, 2]))
    with pytest.raises(tl.errors.ParameterError, match="Got 1 and 2"):
        metrics.kendall_tau_b([1], [1, 2])


def test_mean_kendall() -> None:
    # Groups: 4/6; constant goodness (left out); constant scores (0); a single one (left out); reversed (-1).
    scores = [1, 2, 3, 4, 1, 2, 5, 5, 8, 1, 2]
    goodness = [1, 3, 2, 4, 7, 7, 1, 2, 1, 2, 1]
    qid = [0, 0, 0, 0, 1, 1, 2, 2, 3, 4, 4]
    by_group = metrics.kendall_tau_by_group(scores, goodness, qid)
    assert np.isnan(by_group).tolist() == [False, True, False, True, False]
    assert metrics.mean_kendall_tau(scores, goodness, qid) == pytest.approx((4 / 6 + 0 - 1) / 3)
    order = np.random.default_rng(0).permutation(len(qid))
    shuffled = (np.array(values)[order] for values in (scores, goodness, qid))
    assert metrics.mean_kendall_tau(*shuffled) == pytest.approx((4 / 6 + 0 - 1) / 3)
    with pytest.raises(tl.errors.ParameterError, match="The goodness is constant in every group"):
        metrics.mean_kendall_tau([1, 2], [3, 3], [0, 0])
    with pytest.raises(tl.errors.ParameterError, match=r"the same length\. Got "):
        metrics.mean_kendall_tau([1, 2], [3], [0, 0])
    with pytest.raises(tl.errors.InputTypeError, match=r"'scores'.*an array of numbers"):
        metrics.mean_kendall_tau(["a", "b"], [3, 4], [0, 0])


# --- significance -------------------------------------------------------------------------------------------------


def test_bootstrap_by_hand() -> None:
    # Two items, differences 1 and 0: samples (0,0), (0,1), (1,0), (1,1) have d* = 1, ½, ½, 0 and d = ½.
    # |d* - ½| ≥ ½ in half of them.
    result = metrics.paired_bootstrap([1, 1], [0, 1], n=20_000)
    assert (result.a, result.b, result.difference) == (1, 0.5, 0.5)
    assert result.p_value == pytest.approx(0.5, abs=0.015)
    assert result.interval == (0, 1)
    # Always 1 apart: no sample is 1 away from that, p = 1/(n + 1).
    assert metrics.paired_bootstrap([1, 2, 3], [0, 1, 2], n=99).p_value == 1 / 100
    assert metrics.paired_bootstrap([1, 0, 3], [1, 0, 3], n=99).p_value == 1


def resampled(a: BracketCounts, b: BracketCounts, name: str, n: int) -> list[float]:
    """The bootstrap by definition: draw, count again, take the difference."""
    rng = np.random.default_rng(0)
    out = []
    for _ in range(n):
        picks = rng.integers(len(a), size=len(a))
        out.append(a[picks].measure(name) - b[picks].measure(name))
    return out


@pytest.mark.parametrize("name", ["f1", "parse_score", "precision", "recall", "exact_match"])
def test_bootstrap_of_counts_is_the_definition(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    gold = rng.integers(0, 9, 30)
    a, b = (BracketCounts(rng.integers(0, gold + 1), gold, gold + rng.integers(0, 3, 30)) for _ in range(2))
    slow = np.array(resampled(a, b, name, 300))
    fast = metrics.paired_bootstrap(a, b, name, n=300)
    d = a.measure(name) - b.measure(name)
    assert (fast.a, fast.b) == (a.measure(name), b.measure(name))
    assert fast.difference == pytest.approx(d)
    assert fast.interval == pytest.approx(np.quantile(slow, [0.025, 0.975]))
    assert fast.p_value == (1 + (np.abs(slow - d) >= abs(d) * (1 - 1e-9)).sum()) / 301
    monkeypatch.setattr(significance_module, "_AT_ONCE", 70)
    pieces = metrics.paired_bootstrap(a, b, name, n=300)
    assert (pieces.p_value, pieces.interval) == (fast.p_value, pytest.approx(fast.interval))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=8), st.integers(0, 5))
def test_bootstrap_is_seeded_and_antisymmetric(pairs: list[tuple[int, int]], seed: int) -> None:
    a, b = ([pair[k] for pair in pairs] for k in (0, 1))
    result = metrics.paired_bootstrap(a, b, n=50, random_state=seed)
    assert result == metrics.paired_bootstrap(a, b, n=50, random_state=seed)
    other = metrics.paired_bootstrap(b, a, n=50, random_state=seed)
    assert (other.difference, other.p_value) == (-result.difference, result.p_value)
    assert other.interval == pytest.approx((-result.interval[1], -result.interval[0]))


def test_bootstrap_p_values_are_fair() -> None:
    # Two systems that do not differ: about one in ten p-values is below 0.1.
    rng = np.random.default_rng(0)
    values = [metrics.paired_bootstrap(*rng.normal(size=(2, 60)), n=200).p_value for _ in range(300)]
    assert 0.06 < np.mean(np.array(values) < 0.1) < 0.15


def test_t_test_by_hand() -> None:
    from scipy.stats import ttest_rel

    # Differences 1, 2, 3: t = 2/(1/√3) = 2√3. With 2 degrees of freedom p = 1 - t/√(t² + 2) = 1 - √(12/14).
    result = metrics.paired_t_test([3, 4, 5], [2, 2, 2])
    assert (result.difference, result.statistic) == (2, pytest.approx(2 * math.sqrt(3)))
    assert result.p_value == pytest.approx(1 - math.sqrt(12 / 14))
    a, b = np.random.default_rng(0).normal(size=(2, 40))
    theirs = ttest_rel(a, b)
    result = metrics.paired_t_test(a, b)
    assert (result.statistic, result.p_value) == (pytest.approx(theirs.statistic), pytest.approx(theirs.pvalue))
    same = metrics.paired_t_test([1, 2], [1, 2])
    assert (same.statistic, same.p_value) == (0, 1)
    apart = metrics.paired_t_test([1, 2], [2, 3])
    assert (apart.statistic, apart.p_value, apart.interval) == (-math.inf, 0, (-1, -1))


def test_t_test_of_random_splits() -> None:
    from scipy.stats import t, ttest_rel

    a, b = np.random.default_rng(1).normal(size=(2, 10))
    plain, corrected = metrics.paired_t_test(a, b), metrics.paired_t_test(a, b, overlap=0.25)
    low, high = ttest_rel(a, b).confidence_interval(0.95)
    assert plain.interval == (pytest.approx(low), pytest.approx(high))
    # Nadeau & Bengio: the variance of the mean is s²(1/10 + 1/4), not s²/10.
    assert corrected.statistic == pytest.approx(plain.statistic * math.sqrt(0.1 / 0.35))
    assert corrected.p_value == pytest.approx(2 * t.sf(abs(corrected.statistic), 9))
    assert np.diff(corrected.interval) == pytest.approx(np.diff(plain.interval) * math.sqrt(3.5))
    assert corrected.difference == plain.difference


def test_corrected_t_test_is_not_too_sure_of_splits() -> None:
    # 40 items, two systems that are as good as each other on the whole; 10 splits that each test on half of them:
    # what they find hangs together, so that the plain test finds a difference far too often.
    rng = np.random.default_rng(0)
    found = np.zeros((200, 2))
    for row in found:
        items = rng.normal(size=40)
        means = [items[rng.permutation(40)[:20]].mean() for _ in range(10)]
        row[:] = [metrics.paired_t_test(means, np.zeros(10), overlap=o).p_value < 0.05 for o in (0.0, 1.0)]
    plain, corrected = found.mean(axis=0)
    assert plain > 0.3
    assert corrected < 0.1


def test_mcnemar_by_hand() -> None:
    # 5 against 1: 2·(C(6,0) + C(6,1))/2⁶ = 14/64.
    result = metrics.mcnemar([1] * 5 + [0] + [1], [0] * 5 + [1] + [1])
    assert (result.only_a, result.only_b, result.exact) == (5, 1, True)
    assert result.p_value == pytest.approx(14 / 64)
    # 20 against 10: (10 - 1)²/30 = 2.7; P(χ²₁ ≥ 2.7) = erfc(√1.35).
    result = metrics.mcnemar([True] * 20 + [False] * 10, [False] * 20 + [True] * 10)
    assert not result.exact
    assert result.p_value == pytest.approx(math.erfc(math.sqrt(1.35)))
    assert metrics.mcnemar([1, 0], [1, 0]).p_value == 1
    assert metrics.mcnemar([1] * 15 + [0] * 15, [0] * 15 + [1] * 15).p_value == 1


def test_what_cannot_be_compared() -> None:
    counts = BracketCounts([1], [2], [2])
    for wrong, message in [
        (lambda: metrics.paired_bootstrap([1, 2], [1]), "Got 2 numbers and 1 number"),
        (lambda: metrics.paired_bootstrap([], []), "comparison needs at least one item"),
        (lambda: metrics.paired_bootstrap([1], [1], n=0), "at least 1"),
        (lambda: metrics.paired_bootstrap([1], [1], confidence=95), "'confidence' parameter.*Got 95"),
        (lambda: metrics.paired_bootstrap([1], [1], "f1"), r"'statistic'.*'mean' for numbers\. Got 'f1'"),
        (lambda: metrics.paired_bootstrap(counts, counts, "mean"), "must be 'precision', 'recall', 'f1'"),
        (lambda: metrics.paired_bootstrap(counts, BracketCounts([1], [3], [2])), "but their gold constituents differ"),
        (lambda: metrics.paired_bootstrap(counts[:0], counts[:0]), "comparison needs at least one item"),
        (lambda: metrics.paired_bootstrap([1], [math.nan]), "Item 0 is NaN"),
        (lambda: metrics.paired_t_test([1], [1]), r"A t-test needs at least 2 pairs\. Got"),
        (lambda: metrics.paired_t_test([1, 2], [1, 3], overlap=-1), r"'overlap'.*a number in \[0, inf\)\. Got -1"),
        (lambda: metrics.paired_t_test([1, 2], [1, 3], confidence=1), r"'confidence' parameter.*number in \(0, 1\)"),
        (lambda: metrics.mcnemar([0.5], [1]), "test needs True and False, or 1 and 0"),
    ]:
        with pytest.raises(tl.errors.ParameterError, match=message):
            wrong()
    with pytest.raises(tl.errors.InputTypeError, match="both BracketCounts, or both arrays"):
        metrics.paired_bootstrap(counts, [1])


# --- other programs' numbers --------------------------------------------------------------------------------------


class NBest:
    """The 20-best parses of the Wall Street Journal sample, with the F1 that another program gave each."""

    def __init__(self, folder: Path) -> None:
        with lzma.open(folder / "wsj_sample.nbest20.jsonl.xz", "rt", encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        self.gold = tl.Treebank([row["gold"] for row in rows])
        self.parses = tl.Treebank([text for row in rows for _, _, text in row["nbest"]])
        self.f1 = np.array([value for row in rows for _, value, _ in row["nbest"]])
        self.qid = np.repeat(np.arange(len(rows)), [len(row["nbest"]) for row in rows])
        self.first = np.searchsorted(self.qid, np.arange(len(rows)))


@pytest.fixture(scope="module")
def nbest(data_dir: Path) -> NBest:
    from experiments.data import corpus

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TREELET_DATA", str(data_dir))
        try:
            return NBest(corpus("wsj_nbest"))
        except tl.errors.FileError as error:
            pytest.skip(str(error))


def test_f1_of_each_candidate_is_another_programs(nbest: NBest) -> None:
    """They differ only where that program does as we do not.

    It leaves punctuation out by each tree's own tags, so that spans shift where a parse has another tag there, and it counts
    constituents of nothing but punctuation.
    """
    counts = metrics.candidate_scores(nbest.gold, nbest.parses, nbest.qid, PARSEVAL)
    other = np.flatnonzero(np.abs(counts.sentence_f1 - nbest.f1) > 2e-5)
    assert len(other) == 297
    gold = list(nbest.gold)
    for place in other.tolist():
        right, parsed = gold[nbest.qid[place]], nbest.parses[place]
        assert right is not None
        assert parsed is not None
        a, b = (spans(tree, PARSEVAL, kept(tree, PARSEVAL), empty=True) for tree in (right, parsed))
        assert 2 * (a & b).total() / (a.total() + b.total()) == pytest.approx(nbest.f1[place], abs=2e-5)
        assert kept(right, PARSEVAL) != kept(parsed, PARSEVAL) or any(start == end for _, start, end in a + b)
    # Its totals are P 84.57, R 84.77, F 84.67, exact 27.9 %; oracle F 91.80, exact 52.9 %.
    best = counts[nbest.first]
    assert (best.precision, best.recall) == (pytest.approx(84.75, abs=0.005), pytest.approx(84.96, abs=0.005))
    assert (best.f1, best.exact_match) == (pytest.approx(84.85, abs=0.005), pytest.approx(27.9, abs=0.05))
    oracle = metrics.oracle(counts, nbest.qid, "f1")
    assert (oracle.f1, oracle.exact_match) == (pytest.approx(91.93, abs=0.005), pytest.approx(52.9, abs=0.05))


def test_totals_are_another_programs_where_we_do_as_it_does(nbest: NBest) -> None:
    gold, parses = list(nbest.gold), list(nbest.parses[nbest.first])
    matched = right = proposed = 0
    for one, other in zip(gold, parses, strict=True):
        a, b = (spans(tree, PARSEVAL, kept(tree, PARSEVAL), empty=True) for tree in (one, other))
        matched, right, proposed = matched + (a & b).total(), right + a.total(), proposed + b.total()
    assert (round(100 * matched / proposed, 2), round(100 * matched / right, 2)) == (84.57, 84.77)
    assert round(metrics.parseval(gold, parses, PLAIN).tagging_accuracy, 2) == 95.35


def test_counts_are_pyevalbs(nbest: NBest) -> None:
    """PYEVALB leaves no punctuation out and takes sets, not multisets: PLAIN, where no constituent occurs twice."""
    pytest.importorskip("PYEVALB", reason="compares with the package PYEVALB")
    from PYEVALB import parser, scorer

    gold, parses = nbest.gold[:400], nbest.parses[nbest.first[:400]]
    theirs = [
        scorer.Scorer().score_trees(*(parser.create_from_bracket_string(text) for text in pair))
        for pair in zip(gold.strings(), parses.strings(), strict=True)
    ]
    ours = metrics.parseval(gold, parses, PLAIN)
    assert ours.counts.matched.tolist() == [result.matched_brackets for result in theirs]
    assert ours.counts.gold.tolist() == [result.gold_brackets for result in theirs]
    assert ours.counts.proposed.tolist() == [result.test_brackets for result in theirs]
    assert ours.crossing == pytest.approx(np.mean([result.cross_brackets for result in theirs]))
    tags = 100 * sum(result.correct_tags for result in theirs) / sum(result.words for result in theirs)
    assert ours.tagging_accuracy == pytest.approx(tags)


def test_kendall_by_group_is_that_of_each_group() -> None:
    from scipy.stats import kendalltau

    rng = np.random.default_rng(0)
    qid = rng.permutation(np.repeat(np.arange(60), rng.integers(1, 30, 60)))
    scores, goodness = rng.integers(0, 6, len(qid)).astype(float), rng.integers(0, 4, len(qid)).astype(float)
    long = np.full(1200, 60)
    qid, scores = np.concatenate([qid, long]), np.concatenate([scores, rng.random(1200)])
    goodness = np.concatenate([goodness, rng.integers(0, 9, 1200)])
    scores[qid == 3], goodness[qid == 4] = 1, 1
    found = tl.metrics.kendall_tau_by_group(scores, goodness, qid)
    for group, value in enumerate(found):
        a, b = scores[qid == group], goodness[qid == group]
        if b.min() == b.max():
            assert np.isnan(value)
        elif a.min() == a.max():
            assert value == 0
        else:
            assert value == pytest.approx(kendalltau(a, b).statistic, abs=1e-12)
