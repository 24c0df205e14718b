"""Candidates, rerankers, and the whole job, beside what is worked out by hand."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import treelet as tl
from conftest import nbest_lines
from treelet.datasets import flights
from treelet.errors import FormatError, InputTypeError, ParameterError, TreeError
from treelet.learn import RankSVM, VotedPerceptron
from treelet.parsing.chart import _NO_PARSE
from treelet.tasks import (
    CandidateParses,
    Reranker,
    Setting,
    parts_of_lists,
    parts_of_treebank,
    rerank,
    reranking_kernel,
)
from treelet.tasks.rerank_job import _part_sizes, _split

GOLD = ["(S (A (B x)) (C y))", "(S (B u) (C v))"]
TREES = ["(S (B x) (C y))", GOLD[0], "(S (A (B x) (C y)))", "(S (A (B u)) (C v))", GOLD[1]]
LOGP = [-1.0, -2.0, -3.0, -1.5, -1.5]
QID = [0, 0, 0, 1, 1]


@pytest.fixture
def small() -> CandidateParses:
    return CandidateParses(tl.Treebank(GOLD), tl.Treebank(TREES), np.array(LOGP), np.array(QID))


@pytest.fixture(scope="module")
def bank() -> tl.Treebank:
    return flights(300)


@pytest.fixture(scope="module")
def learnt(bank: tl.Treebank) -> CandidateParses:
    return CandidateParses.jackknifed(bank[:180], 20, folds=5)


@pytest.fixture(scope="module")
def found(bank: tl.Treebank) -> CandidateParses:
    return CandidateParses.parsed(tl.PCFG.from_treebank(bank[:180]), bank[180:], 20)


def same(one: CandidateParses, other: CandidateParses) -> None:
    assert list(one.gold) == list(other.gold)
    assert list(one.trees) == list(other.trees)
    np.testing.assert_array_equal(one.logp, other.logp)
    np.testing.assert_array_equal(one.qid, other.qid)
    np.testing.assert_array_equal(one.counts.columns(), other.counts.columns())


# --- candidates ---------------------------------------------------------------------------------------------------


def test_counts_and_scores_by_hand(small: CandidateParses) -> None:
    # Constituents of the first right tree: S, A over x. The candidates have S; S, A; S, A over both words.
    assert small.counts.matched.tolist() == [1, 2, 1, 1, 1]
    assert small.counts.gold.tolist() == [2, 2, 2, 1, 1]
    assert small.counts.proposed.tolist() == [1, 2, 2, 2, 1]
    assert small.first().tolist() == [0, 3]
    assert small.first_score == pytest.approx(100 * (2 * 0.75 + 1 * 0.75) / 3)
    assert small.oracle_score == 100
    assert repr(small) == (
        "<CandidateParses: 2 sentences, 5 candidates; parse score of the first 75.0, of the best 100.0>"
    )


def test_sentences_keep_their_candidates(small: CandidateParses) -> None:
    turned = small.sentences([1, 0, 1])
    assert [str(tree) for tree in turned.gold] == [GOLD[1], GOLD[0], GOLD[1]]
    assert [str(tree) for tree in turned.trees] == TREES[3:] + TREES[:3] + TREES[3:]
    assert turned.qid.tolist() == [0, 0, 1, 1, 1, 2, 2]
    assert turned.logp.tolist() == LOGP[3:] + LOGP[:3] + LOGP[3:]
    same(turned, CandidateParses(turned.gold, turned.trees, turned.logp, turned.qid))  # counts made anew
    same(small.sentences([True, False]), small.sentences([0]))
    none = small.sentences(np.zeros(0, np.int64))
    assert len(none) == len(none.trees) == 0
    assert repr(none) == "<CandidateParses: no sentences>"
    same(small.sentences([]), none)
    same(small.sentences(slice(1, None)), small.sentences([1]))
    same(small.sentences(1), small.sentences([1]))
    same(small.sentences((1, 0)), small.sentences([1, 0]))
    with pytest.raises(IndexError, match="Row 2 is out of range"):
        small.sentences([2])
    with pytest.raises(InputTypeError, match="index of a collection of sentences"):
        small.sentences("1")


def test_concat_is_the_opposite_of_sentences(found: CandidateParses) -> None:
    parts = [found.sentences(range(40)), found.sentences(range(40, 41)), found.sentences(range(41, len(found)))]
    same(CandidateParses.concat(parts), found)
    with pytest.raises(ParameterError, match="no collections"):
        CandidateParses.concat([])


@pytest.mark.parametrize("n", [1, 2, 5, 100])
def test_a_sample_holds_the_best(found: CandidateParses, n: int) -> None:
    part = found.sample(n, random_state=1)
    sizes = np.bincount(found.qid)
    np.testing.assert_array_equal(np.bincount(part.qid), np.minimum(sizes, n))
    assert part.oracle_score == found.oracle_score
    same(part, CandidateParses(part.gold, part.trees, part.logp, part.qid))
    for number in range(0, len(found), 17):
        mine = list(found.sentences([number]).trees)
        assert all(tree in mine for tree in part.sentences([number]).trees)
    same(part, found.sample(n, random_state=1))
    if n == 5:
        assert list(part.trees) != list(found.sample(n, random_state=2).trees)
    if n == 100:
        same(part, found)


def test_jackknifed_beside_parsed_by_hand(bank: tl.Treebank) -> None:
    part = bank[:31]
    parses = CandidateParses.jackknifed(part, 4, folds=3, markov=1)
    assert list(parses.gold) == list(part)
    for fold in range(3):
        held = np.arange(31) % 3 == fold
        grammar = tl.PCFG.from_treebank(part[~held], markov=1)
        same(parses.sentences(held), CandidateParses.parsed(grammar, part[held], 4))


def test_parsed_are_the_grammars_own(bank: tl.Treebank, found: CandidateParses) -> None:
    grammar = tl.PCFG.from_treebank(bank[:180])
    for number in (0, 50, 119):
        expected = grammar.parse(bank[180 + number].words(), k=20)
        mine = found.sentences([number])
        assert list(mine.trees) == [tree for tree, _ in expected]
        assert mine.logp.tolist() == [logp for _, logp in expected]


def test_log_probabilities_are_relative_to_the_best(small: CandidateParses) -> None:
    assert small.relative_logp().tolist() == [0, -1, -2, 0, 0]
    missing = CandidateParses(small.gold, small.trees, np.array([-math.inf, -2, -math.inf, -3, -1]), small.qid)
    assert missing.relative_logp().tolist() == [_NO_PARSE + 2, 0, _NO_PARSE + 2, -2, 0]
    assert missing.first().tolist() == [1, 4]
    table = small.table()
    assert len(table) == 5
    np.testing.assert_array_equal(tl.On("logp", tl.Linear())(table)[1], [0, 1, 2, 0, 0])


@pytest.mark.parametrize("lowest", [-1000.0, -1500.0, -3298.1, -1e300])
def test_a_fallback_tree_is_below_improbable_parses(small: CandidateParses, lowest: float) -> None:
    logp = np.array([lowest, -math.inf, lowest + 0.5, -math.inf, -1.0])
    parses = replace(small, logp=logp)
    assert (parses.first() == [0 if lowest == -1e300 else 2, 4]).all()
    relative = parses.relative_logp()
    assert np.isfinite(relative).all()
    assert relative[1] < relative[0]
    assert relative[3:].tolist() == [_NO_PARSE + 1, 0]  # other sentences are as they were
    assert parses.with_gold().first().tolist() == [1 if lowest == -1e300 else 3, 6]
    assert parses.with_gold().first_score == parses.first_score
    assert parses.best(np.zeros(5)).tolist() == parses.first().tolist()
    nothing = replace(small, logp=np.full(5, -math.inf))
    assert nothing.relative_logp().tolist() == [0] * 5


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_log_probabilities_are_numbers(small: CandidateParses, tmp_path: Path, value: float) -> None:
    logp = np.array([*LOGP[:3], value, LOGP[4]])
    with pytest.raises(ParameterError, match=f"candidate 3 is {value}"):
        replace(small, logp=logp)
    file = tmp_path / "nbest.jsonl"
    lines = nbest_lines(small)
    file.write_text("\n".join([lines[0], lines[1].replace("-1.5", json.dumps(value), 1)]), encoding="utf-8")
    with pytest.raises(FormatError, match=f":2: the log probability of candidate 0 is {value}"):
        CandidateParses.read(file)
    with pytest.warns(tl.errors.TreeletWarning, match="1 "):
        assert len(CandidateParses.read(file, on_error="skip")) == 1


def test_candidates_that_do_not_fit_together() -> None:
    gold, trees = tl.Treebank(GOLD), tl.Treebank(TREES)
    with pytest.raises(ParameterError, match=r"'logp' and 'qid' must have the same.*Got 5, 5 and 4 instead"):
        CandidateParses(gold, trees, np.array(LOGP), np.array(QID[:4]))
    for qid in ([0, 0, 0, 0, 0], [1, 1, 0, 0, 0], [0, 0, 0, 1, 2], [0, 1, 0, 1, 1]):
        with pytest.raises(ParameterError, match="'qid' must be ascending"):
            CandidateParses(gold, trees, np.array(LOGP), np.array(qid))
    with pytest.raises(ParameterError, match="at least one candidate"):
        CandidateParses(gold, trees[:0], np.zeros(0), np.zeros(0, np.int64))
    with pytest.raises(TreeError, match="parse has 'u' as word 0, but the gold"):
        CandidateParses(gold, trees[[3, 4, 4, 0, 1]], np.array(LOGP), np.array(QID))
    with pytest.raises(TreeError, match="1 has no parse under this grammar"):
        CandidateParses.parsed(tl.PCFG.from_rules([("S", ["a"], 1.0)], "S"), ["(S a)", "(S b)"])
    with pytest.raises(TreeError, match="Tree 1 is"):
        CandidateParses.parsed(tl.PCFG.from_treebank(GOLD), [GOLD[0], None])


@pytest.mark.parametrize("folds", [1, 3, True, 2.0])
def test_bad_folds(folds: object) -> None:
    with pytest.raises(ParameterError, match=r"'folds'.*int from 2"):
        CandidateParses.jackknifed(GOLD, folds=folds)


@pytest.mark.parametrize("n", [0, -1, True, 2.5])
def test_bad_samples(small: CandidateParses, n: object) -> None:
    with pytest.raises(ParameterError, match=r"'n'.*an int of at least 1"):
        small.sample(n)


# --- lists of other parsers ---------------------------------------------------------------------------------------


def test_lists_are_read(small: CandidateParses, tmp_path: Path) -> None:
    file = tmp_path / "nbest.jsonl"
    file.write_text("\n\n".join(nbest_lines(small)) + "\n", encoding="utf-8")
    parses = CandidateParses.read(file)
    same(parses, small)
    assert parses.documents == ["1", "3"]
    file.write_text("\n".join(nbest_lines(small, ["one", "two"])), encoding="utf-8")
    assert CandidateParses.read(file).documents == ["one", "two"]
    file.write_text("\n".join(nbest_lines(small, ["one", None])), encoding="utf-8")
    assert CandidateParses.read(file).documents == ["one", "2"]


def test_documents_belong_to_the_sentences(small: CandidateParses) -> None:
    assert small.documents is None
    assert small.sentences([1]).documents is None
    named = replace(small, documents=["one", "two"])
    assert named.sentences([1, 0, 1]).documents == ["two", "one", "two"]
    assert named.sentences([False, True]).documents == ["two"]
    assert named.sample(1).documents == named.with_gold().documents == ["one", "two"]
    assert CandidateParses.concat([named, named.sentences([0])]).documents == ["one", "two", "one"]
    assert CandidateParses.concat([named, small]).documents is None
    with pytest.raises(ParameterError, match="document name"):
        replace(small, documents=["one"])


def test_documents_are_in_the_order_of_the_sentences(small: CandidateParses) -> None:
    for names in (np.array(["one", "two"]), pd.Series(["one", "two"], index=[1, 0]), iter(["one", "two"])):
        named = replace(small, documents=names)
        assert named.documents == named.sentences([0, 1]).documents == ["one", "two"]
        assert CandidateParses.concat([named, named]).documents == ["one", "two"] * 2
    assert replace(small, documents=np.array([7, 8])).documents == ["7", "8"]
    for wrong in ("ab", 2):
        with pytest.raises(ParameterError, match="'documents' parameter must be a list"):
            replace(small, documents=wrong)
    for missing in (None, math.nan, pd.NA):
        with pytest.raises(ParameterError, match="Sentence 1 has no document name"):
            replace(small, documents=["one", missing])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", r"this line is not an n-best list \("),
        ("[1]", r"this line is not an n-best list \("),
        ('{"gold": "(S x)"}', "'nbest'"),
        ('{"nbest": [[-1, "(S x)"]]}', "'gold'"),
        ('{"gold": "(S x)", "nbest": [["much", "(S x)"]]}', "much"),
        ('{"gold": "(S x)", "nbest": [[]]}', r"this line is not an n-best list \("),
        ('{"gold": "(S x)", "nbest": []}', "this sentence has no candidates"),
    ],
)
def test_errors_name_the_line(small: CandidateParses, tmp_path: Path, line: str, said: str) -> None:
    file = tmp_path / "nbest.jsonl"
    file.write_text("\n".join([*nbest_lines(small), line]), encoding="utf-8")
    with pytest.raises(FormatError, match=said) as caught:
        CandidateParses.read(file)
    assert str(caught.value).startswith(f"{file}:3: ")


# --- rerankers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ranker", "candidates"),
    [
        (None, 20),
        (RankSVM(kernel=reranking_kernel()), 6),
        (VotedPerceptron(kernel=reranking_kernel(), epochs=2, prediction="voted"), None),
    ],
)
def test_rerankers_improve_on_the_grammar(
    learnt: CandidateParses, found: CandidateParses, ranker: object, candidates: int | None
) -> None:
    chosen = Reranker(ranker, candidates=candidates).fit(learnt).choose(found)
    np.testing.assert_array_equal(found.qid[chosen], np.arange(len(found)))
    assert found.first_score + 1 < found.score(chosen) <= found.oracle_score


def test_choices_are_the_largest_scores(learnt: CandidateParses, found: CandidateParses) -> None:
    reranker = Reranker(VotedPerceptron(kernel=reranking_kernel(tl.SubsetTree(lam=0.4), logp=0)), candidates=None)
    scores = reranker.fit(learnt).scores(found)
    assert scores.shape == (len(found.trees),)
    for number, row in enumerate(reranker.choose(found)):
        assert scores[row] == scores[found.qid == number].max()


def test_a_fixed_weight_of_the_log_probability(learnt: CandidateParses, found: CandidateParses) -> None:
    ranker = VotedPerceptron(kernel=reranking_kernel(logp=0))
    reranker = Reranker(ranker, fixed_logp=2.0).fit(learnt)
    np.testing.assert_array_equal(reranker.scores(found), Reranker(ranker).scores(found) + 2.0 * found.relative_logp())
    parser = Reranker(ranker, fixed_logp=1e9).choose(found)  # the trees decide only between equal probabilities
    np.testing.assert_allclose(found.logp[parser], found.logp[found.first()])
    for wrong in (-1.0, math.nan, math.inf, "1"):
        with pytest.raises(ParameterError, match="fixed_logp"):
            Reranker(fixed_logp=wrong)


def test_a_tie_goes_to_the_larger_probability(small: CandidateParses) -> None:
    reranker = Reranker(VotedPerceptron(kernel=reranking_kernel(logp=0)), candidates=None).fit(small)
    twice = CandidateParses(
        tl.Treebank(GOLD[:1]), tl.Treebank([GOLD[0]] * 3), np.array([-3.0, -1.0, -2.0]), np.zeros(3, np.int64)
    )
    assert reranker.choose(twice).tolist() == [1]


def test_reranking_kernels() -> None:
    assert repr(reranking_kernel(tl.Subtree(), 0)) == "On('tree', Subtree(lam=1.0))"
    assert "2 * On('logp', Linear())" in repr(reranking_kernel(logp=2))


def test_what_is_no_ranker(small: CandidateParses) -> None:
    with pytest.raises(InputTypeError, match=r"'ranker'.*VotedPerceptron, RankSVM or RankRLS"):
        Reranker(tl.KernelSVC())
    same_trees = small.sentences([0]).sample(1)
    with pytest.raises(ParameterError, match="nothing to learn"):
        Reranker().fit(same_trees)


def test_random_split() -> None:
    words = [(word,) for word in "abcdefghij"]
    parts, notes = _split(words, [5, 2, 3], None, None, 3)
    assert list(map(len, parts)) == [5, 2, 3]
    assert notes == {"missing": 0, "long": 0, "unused": 0, "twins": 0}
    assert sorted(np.concatenate(parts).tolist()) == list(range(10))
    assert all((np.diff(part) > 0).all() for part in parts)
    others, _ = _split(words, [5, 2, 3], None, None, 4)
    assert [part.tolist() for part in parts] != [part.tolist() for part in others]
    for sizes in ([8, 2, 1], [9, 0, 1]):
        with pytest.raises(ParameterError):
            _split(words, sizes, None, None, 0)


# --- the whole job ------------------------------------------------------------------------------------------------


def sentences(parses: CandidateParses) -> set[tuple[str, ...]]:
    return {tuple(tree.words()) for tree in parses.gold}


def test_no_sentence_is_learned_and_tested(bank: tl.Treebank) -> None:
    doubled = tl.Treebank.concat([bank[:60], bank[:60], tl.Treebank([None, "(word)"])])
    told: list[str] = []
    parts = parts_of_treebank(doubled, [60, 20, 40], k=3, folds=2, say=told.append)
    train, development, test = map(sentences, (parts.train, parts.development, parts.test))
    assert not train & test
    assert not train & development
    assert not development & test
    assert len(parts.test) == 40
    assert parts.notes["twins"] == 120 - len(parts.train) - len(parts.development) - len(parts.test) > 0
    assert parts.notes["missing"] == 2
    assert f"{parts.notes['twins']} removed because a later set has the same words" in told[0]
    assert "2 missing or a single word" in told[0]


def test_long_sentences_are_left_out(bank: tl.Treebank) -> None:
    parts = parts_of_treebank(bank[:100], k=2, folds=2, max_words=10)
    assert max(len(words) for part in (parts.train, parts.test) for words in sentences(part)) <= 10
    assert parts.notes["long"] == sum(len(tree.words()) > 10 for tree in bank[:100])
    with pytest.raises(ParameterError, match="None of the 100 trees can be used"):
        parts_of_treebank(bank[:100], max_words=1)


def test_the_test_part_has_no_say(bank: tl.Treebank) -> None:
    """Other right trees for the same test sentences change no candidate and no choice."""
    parts = parts_of_treebank(bank[:150], k=6, folds=2)
    outcome = rerank(parts, Setting.grid([0.3, 0.5], [None], [0.1]), epochs=1)
    flat = tl.Treebank([tl.Tree("S", [tl.Tree("X", [word]) for word in tree.words()]) for tree in parts.test.gold])
    parses = CandidateParses(flat, parts.test.trees, parts.test.logp, parts.test.qid)
    other = rerank(
        type(parts)(parts.train, parts.development, parses), Setting.grid([0.3, 0.5], [None], [0.1]), epochs=1
    )
    assert other.setting == outcome.setting
    np.testing.assert_array_equal(other.chosen_rows, outcome.chosen_rows)


def test_twins_go_from_earlier_parts() -> None:
    # Documents keep their sentences together: three sets of three, in a random order.
    words = [(word,) for word in "axbbyccza"]
    parts, notes = _split(words, [3, 3, 3], None, list("000111222"), 0)
    assert notes["twins"] == 3
    assert [len(part) for part in parts] == [1, 2, 3]
    assert {words[row] for part in parts for row in part} == set(words)
    with pytest.raises(ParameterError, match="same words as sentences of a later set"):
        _split([("a",)] * 3, [1, 1, 1], None, None, 0)


def test_treebanks_are_split_by_whole_documents(bank: tl.Treebank) -> None:
    documents = [f"d{number // 7}" for number in range(len(bank))]
    column = pd.Series(documents, index=range(len(bank))[::-1])  # the order counts, not the index
    parts = parts_of_treebank(bank, k=3, folds=2, documents=column, random_state=1)
    held = [{documents[row] for row in rows} for rows in parts.rows]
    assert all(held)
    assert len(set.union(*held)) == sum(map(len, held)), "no document is in two parts"
    assert parts.notes["documents"] == len(set(documents))
    for rows, part in zip(parts.rows, (parts.train, parts.development, parts.test), strict=True):
        assert list(bank[rows]) == list(part.gold)
    with pytest.raises(ParameterError, match="document name"):
        parts_of_treebank(bank, documents=["a"])


def test_the_right_tree_may_be_a_candidate(small: CandidateParses) -> None:
    more = small.with_gold()
    assert [str(tree) for tree in more.trees] == [GOLD[0], *TREES[:3], GOLD[1], *TREES[3:]]
    assert more.counts.goodness[[0, 4]].tolist() == [1.0, 1.0]
    assert more.first().tolist() == [1, 5], "the parser gives it no probability"
    assert more.best(-np.arange(7.0)).tolist() == [0, 4]
    assert more.best(np.zeros(7)).tolist() == more.first().tolist()


def test_documents_stay_whole(found: CandidateParses) -> None:
    names = [f"document {number // 5}" for number in range(len(found))]
    parts = parts_of_lists(replace(found, documents=names), [0.5, 0.2, 0.3])
    of = {tuple(tree.words()): name for tree, name in zip(found.gold, names, strict=True)}
    docs = [{of[words] for words in sentences(part)} for part in (parts.train, parts.development, parts.test)]
    assert not (docs[0] & docs[1] | docs[0] & docs[2] | docs[1] & docs[2])
    assert len(parts.test) == 35 or len(parts.test) == 40
    assert parts.notes["documents"] == 24
    with pytest.raises(ParameterError, match="development set is empty"):
        parts_of_lists(replace(found, documents=["one"] * len(found)))


def test_the_figures_of_an_outcome(learnt: CandidateParses, found: CandidateParses) -> None:
    half = np.arange(len(found)) < 40
    parts = parts_of_lists(CandidateParses.concat([learnt, found.sentences(half), found.sentences(~half)]))
    outcome = rerank(parts, Setting.grid([0.3], [2, None], [0.1]), epochs=2)
    test = parts.test
    assert [str(setting) for setting, _ in outcome.tried] == ["lam 0.3, depth 2, logp 0.1", "lam 0.3, logp 0.1"]
    assert outcome.setting == max(outcome.tried, key=lambda item: item[1])[0]
    assert outcome.first.parse_score == test.first_score
    assert outcome.best.parse_score == test.oracle_score
    assert outcome.reranked.parse_score == test.score(outcome.reranker.choose(test))
    assert outcome.reranked.f1 == tl.metrics.labelled_f1(test.gold, test.trees[outcome.chosen_rows])
    before = tl.metrics.bracket_counts(test.gold, test.trees[outcome.first_rows]).goodness
    after = tl.metrics.bracket_counts(test.gold, test.trees[outcome.chosen_rows]).goodness
    assert (outcome.better, outcome.worse) == ((after > before).sum(), (after < before).sum())
    assert outcome.changed >= outcome.better + outcome.worse
    assert outcome.test.difference == pytest.approx(outcome.reranked.parse_score - outcome.first.parse_score)
    mended = outcome.mended(5)
    assert len(mended) == 5
    for item in mended:
        assert item.score_before < item.score_after
        assert item.score_before == pytest.approx(100 * before[item.number])
        assert item.gold == test.gold[item.number]
    assert len({item.number for item in mended}) == 5
    assert len(outcome.mended(10**6)) == outcome.better
    assert json.loads(json.dumps(outcome.as_dict()))["reranked"]["parse_score"] == outcome.reranked.parse_score


@pytest.mark.parametrize("sizes", [(1, 2), (0.5, 0.5, 0.5), (0.5, 3, 1), (8, 1, 2), (0, 1, 1), (0.01, 0.5, 0.4)])
def test_bad_sizes(sizes: tuple[float, ...]) -> None:
    with pytest.raises(ParameterError):
        _part_sizes(10, sizes)


def test_fixed_weights_are_tried_with_one_ranker(learnt: CandidateParses, found: CandidateParses) -> None:
    half = np.arange(len(found)) < 40
    parts = parts_of_lists(CandidateParses.concat([learnt, found.sentences(half), found.sentences(~half)]))
    outcome = rerank(parts, Setting.grid([0.3], [None], [0], [0.0, 1.0, 1e9]), epochs=1)
    for setting, score in outcome.tried:
        chosen = setting.reranker(epochs=1).fit(parts.train).choose(parts.development)
        assert parts.development.score(chosen) == score
    assert outcome.reranker.fixed_logp == outcome.setting.fixed_logp


def test_bad_settings(learnt: CandidateParses) -> None:
    for wrong in (Setting(lam=0), Setting(max_depth=0), Setting(logp=-1), Setting(logp=math.nan)):
        with pytest.raises(ParameterError):
            wrong.kernel()
    with pytest.raises(ParameterError, match="settings is empty"):
        Setting.grid(lam=[])
    with pytest.raises(ParameterError, match="fixed_logp"):
        Setting.grid(fixed_logp=[1.0, -1.0])


def test_least_squares_may_choose() -> None:
    train, _, test = tl.datasets.flights_split()
    learnt = CandidateParses.jackknifed(train[:120], k=10)
    found = CandidateParses.parsed(tl.PCFG.from_treebank(train[:120]), test[:60], k=10)
    reranker = Reranker(tl.RankRLS(reranking_kernel(tl.SubsetTree(0.3).normalized()), alpha=1.0)).fit(learnt)
    assert found.score(reranker.choose(found)) > found.first_score
