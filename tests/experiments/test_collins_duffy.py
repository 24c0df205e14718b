"""The parts of the experiment of Collins & Duffy: rankers, flat features, settings and data."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treelet as tl
from experiments import collins_duffy, collins_duffy_splits, writing
from experiments.__main__ import run
from experiments.baselines import flat_features
from experiments.collins_duffy import (
    GRIDS,
    Candidates,
    Corpus,
    Ranker,
    Setting,
    Training,
    at_edge,
    describe,
    expensive_systems,
    load_corpus,
    number_sentences,
    question_lists,
    scaled_gram,
    settings_of,
    tree_systems,
    unseen_sentences,
    words_of,
)
from experiments.evaluation import compare
from treelet.learn import RankSVM, VotedPerceptron
from treelet.tasks import CandidateParses


@pytest.fixture(scope="module")
def learnt() -> CandidateParses:
    return CandidateParses.jackknifed(tl.datasets.flights(120), 12, folds=3)


@pytest.fixture(scope="module")
def found() -> CandidateParses:
    bank = tl.datasets.flights(180)
    return CandidateParses.parsed(tl.PCFG.from_treebank(bank[:120]), bank[120:], 12)


@pytest.mark.parametrize(
    "training", [Training(0.4), Training(depth=2), Training(0.4, logp=0.1), Training(0.5, form="normalized")]
)
@pytest.mark.parametrize("prediction", ["averaged", "last", "voted"])
def test_one_fit_is_as_good_as_one_for_each_number_of_passes(
    training: Training, prediction: str, learnt: CandidateParses, found: CandidateParses
) -> None:
    ranker = Ranker(training, Candidates(learnt), 3)
    settings = [Setting(training, passes, prediction) for passes in (1, 2, 3)]
    chosen = ranker.choose(Candidates(found), settings)
    for setting in settings:
        machine = VotedPerceptron(training.kernel(), setting.passes, prediction=prediction)
        machine.fit(learnt.table(), learnt.counts.goodness, learnt.qid)
        np.testing.assert_array_equal(chosen[setting], found.best(machine.predict(found.table(), found.qid)))
    with pytest.raises(ValueError, match="made 3 passes over the data instead of 4"):
        ranker.weights(4, "last")


def test_mixtures_go_from_the_parser_to_the_score(learnt: CandidateParses, found: CandidateParses) -> None:
    training = Training(0.4)
    settings = [Setting(training, gamma=gamma) for gamma in (0.0, 1e9, None)]
    chosen = Ranker(training, Candidates(learnt)).choose(Candidates(found), settings)
    parser, most, alone = chosen.values()
    np.testing.assert_array_equal(parser, found.first())
    np.testing.assert_array_equal(most, alone)


def test_weights_are_of_length_1(learnt: CandidateParses) -> None:
    training = Training(0.4)
    ranker = Ranker(training, Candidates(learnt), 2)
    weights = ranker.weights(2, "averaged")
    scores = ranker.scores(Candidates(learnt), [(2, "averaged")])[:, 0]
    length = np.sqrt(weights @ training.kernel()(learnt.table()) @ weights)
    assert weights @ scores == pytest.approx(length)


def test_the_ranking_svm_may_be_given_its_matrix(learnt: CandidateParses, found: CandidateParses) -> None:
    training, part = Training(0.4, C=1.0), Candidates(learnt.sentences(range(30)))
    K = scaled_gram(training, part)
    assert K.diagonal().mean() == pytest.approx(1)
    rankers = [Ranker(training, part), Ranker(training, part, 1, K)]
    assert all(isinstance(each.model, RankSVM) for each in rankers)
    one, two = (each.scores(Candidates(found), [(1, "averaged")]) for each in rankers)
    np.testing.assert_allclose(one, two)


def test_the_right_tree_is_what_others_are_compared_with(learnt: CandidateParses) -> None:
    ranker = Ranker(Training(0.4, gold=True), Candidates(learnt))
    added = set(ranker.model.updates_[:, 0].tolist())
    right = {row for row, (tree, qid) in enumerate(zip(ranker.candidates.parses.trees, ranker.candidates.parses.qid, strict=True)) if tree == learnt.gold[int(qid)]}  # fmt: skip
    assert added <= right


# --- flat features ------------------------------------------------------------------------------------------------


def by_hand(tree: tl.Tree) -> Counter[tuple[str, ...]]:
    counts: Counter[tuple[str, ...]] = Counter()
    tags: list[str] = []

    def visit(node: tl.Tree) -> None:
        labels = [child if isinstance(child, str) else child.label for child in node.children]
        counts["production", node.label, *labels] += 1
        if all(isinstance(child, str) or not child.children for child in node.children):
            tags.append(node.label)
            return
        counts.update(("below", node.label, label) for label in labels)
        counts.update(("beside", node.label, *pair) for pair in pairwise(["", *labels, ""]))
        for child in node.children:
            visit(child)

    visit(tree)
    counts.update(("tags", *pair) for pair in pairwise(tags))
    return counts


def test_flat_features_by_hand(learnt: CandidateParses) -> None:
    banks = [learnt.trees[:200], learnt.gold]
    tables = flat_features(banks)
    own = [[by_hand(tree) for tree in bank] for bank in banks]
    values = [sorted(row.values()) for rows in own for row in rows]
    assert [sorted(row[row > 0].astype(int).tolist()) for table in tables for row in table.toarray()] == values
    products = [a.total() and sum(n * b[key] for key, n in a.items()) for a in own[0][:9] for b in own[1][:9]]
    np.testing.assert_allclose((tables[0][:9] @ tables[1][:9].T).toarray().ravel(), products)


def test_flat_features_are_learned_from(learnt: CandidateParses, found: CandidateParses) -> None:
    train, more = flat_features([learnt.trees, found.trees])
    training = Training(form="flat")
    twice = Candidates.concat([Candidates(learnt, train), Candidates(learnt, train)])
    chosen = Ranker(training, twice).choose(Candidates(found, more), [Setting(training)])
    assert found.score(chosen[Setting(training)]) > 50
    assert Candidates.concat([Candidates(learnt, train), Candidates(learnt)]).flat is None


# --- settings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", GRIDS)
def test_rows_choose_from_something(kind: str) -> None:
    rows = settings_of(GRIDS[kind], questions=kind == "nbest")[1] | expensive_systems(GRIDS[kind], 0.4)
    assert all(rows.values())
    assert all(len(set(points)) == len(points) for points in rows.values())
    assert len({len(rows[name]) for name in ("best scale", "with leaves")}) == 1, "equal grids"
    assert len(rows["log p + γ score"]) == len(rows["log p + γ score, leaves"])
    assert set(tree_systems(rows)) < set(rows)
    assert all(describe(point) for points in rows.values() for point in points)


def test_edges() -> None:
    depths = [Setting(Training(depth=d)) for d in (1, 2, 3)]
    assert [at_edge(point, depths) for point in depths] == [[], [], ["depth"]], "there is nothing below 1"
    both = [Setting(Training(lam, logp=w)) for lam in (0.1, 0.2, 0.3) for w in (1, 10, 100)]
    assert [at_edge(both[k], both) for k in (0, 4, 5)] == [["λ", "log p"], [], ["log p"]]


# --- data ---------------------------------------------------------------------------------------------------------


def test_sentences_have_names() -> None:
    assert number_sentences(["a", "b", "a"]) == ["a/0", "b/0", "a/1"]
    assert Corpus("file", "", (1, 1, 1), 1).sentence_ids([3, 1]) == ["3", "1"]


@pytest.mark.slow
def test_no_sentence_of_the_lists_was_the_parsers_own(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREELET_DATA", str(data_dir))
    left_out: list[int] = []

    def counted(lists: CandidateParses) -> tuple[Any, dict[str, int]]:
        rows, notes = unseen_sentences(lists)
        left_out.append(len(lists) - len(rows))
        return rows, notes

    monkeypatch.setattr(collins_duffy, "unseen_sentences", counted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tl.errors.TreeletWarning)
        data = load_corpus("nbest", None, quick=True)
    assert (left_out, data.removed) == ([267], {"MASC": 267, "QuestionBank": 0})
    assert data.lists is not None
    assert data.ids is not None
    assert data.ids[0] == "wsj_0001/0"


def test_thirty_splits_on_few_sentences(data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREELET_DATA", str(data_dir))
    monkeypatch.setattr(collins_duffy_splits, "SYSTEMS", {"flights": collins_duffy_splits.VOTING})
    monkeypatch.setattr(
        collins_duffy_splits, "load_corpus", lambda *which: replace(load_corpus(*which), sizes=(50, 20, 30))
    )
    monkeypatch.setattr(collins_duffy_splits, "claims", lambda results: [])
    results, page = run("collins-duffy-splits", quick=True, out=tmp_path)
    flights = results["corpora"]["flights"]
    items = writing.read_items("collins-duffy-splits", tmp_path)
    assert [one["part"] for one in items] == ["flights, split 1000", "flights, split 1001"]
    for test in flights["tests"]:
        again = compare(items, test["a"], test["b"], "parse_score")
        assert (test["interval"], test["items"]["interval"]) == (again["interval"], again["items"]["interval"])
    assert [row["name"] for row in flights["rows"]] == ["first choice", "best candidate", "averaged", "voted", "last"]
    assert "Quick run" in page
    assert (tmp_path / "collins-duffy-splits.png").read_bytes().startswith(b"\x89PNG")
    assert not list(tmp_path.glob(".*.partial"))


@pytest.mark.slow
def test_lists_of_questions_have_the_words_of_their_right_trees(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.setenv("TREELET_DATA", str(data_dir))
    questions = question_lists()
    assert len(questions) == 2845
    words = words_of(questions.gold)
    assert all(tree.words() == list(words[qid]) for tree, qid in list(zip(questions.trees, questions.qid, strict=True))[:2000])  # fmt: skip
    assert questions.oracle_score > questions.first_score > 90
