"""Question classification, our own parser and word vectors: the experiments in their quick setting, and their parts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import ROOT, first_lines
from experiments import evaluation, parsing, questions, questions_words, writing
from experiments.__main__ import run
from experiments.writing import VERDICTS
from treelet.structures import Tree, Treebank, WordVectors


@pytest.mark.slow
def test_questions_quickly(data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("train.tsv", "train.nbest20.jsonl.xz", "test.tsv", "test.nbest20.jsonl.xz")
    (tmp_path / "few").mkdir()
    first_lines(data_dir, tmp_path / "few", {f"qc_trees/{name}": 3000 if "train" in name else 200 for name in names})
    monkeypatch.setenv("TREELET_DATA", str(tmp_path / "few"))
    results, page = run("questions", quick=True, out=tmp_path)
    accuracy = {row["system"]: row["accuracy"] for row in results["rows"]}
    assert list(accuracy)[:4] == ["n-grams", "bag of words", "SST", "PT"]
    assert all(value > 70 for value in accuracy.values()), accuracy
    curve = results["learning_curve"]
    assert curve["SST"][-1] == {"mean": accuracy["SST"], "std": 0.0}
    assert curve["SST"][0]["mean"] < accuracy["SST"]
    assert f"| SST | {accuracy['SST']:.1f} |" in page
    assert (
        (tmp_path / "questions.md").read_text(encoding="utf-8")
        == page
        == questions.page(writing.read_results("questions", tmp_path))
    )
    assert (tmp_path / "questions.png").read_bytes().startswith(b"\x89PNG")
    items = writing.read_items("questions", tmp_path)
    assert [one["part"] for one in items] == [
        f"{classes}{part}" for classes in ("", "fine ") for part in ("test", *(f"fold {k}" for k in range(10)))
    ]
    for one in items:
        assert set(one["systems"]) == (set(questions.FINE_SYSTEMS) if one["part"].startswith("fine") else set(accuracy))
        assert not {one_id for one_id in one["ids"] if one_id.startswith("test")} or one["part"].endswith("test")
    folds = [one for one in items if one["part"].startswith("fold")]
    tested = [one_id for one in folds for one_id in one["ids"]]
    assert len(tested) == len(set(tested)) == results["train"], "each training question is tested once"
    assert evaluation.compare(folds, "SST", "n-grams") == next(
        test for test in results["tests"]["folds"] if (test["a"], test["b"]) == ("SST", "n-grams")
    )
    assert {claim.verdict for claim in questions.claims(results)} <= set(VERDICTS)


@pytest.mark.slow
def test_questions_with_similar_words_quickly(data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"qc_trees/train.tsv": 3000, "qc_trees/test.tsv": 200, "questionbank/4000qs.mrg.xz": 300}
    (tmp_path / "few").mkdir()
    first_lines(data_dir, tmp_path / "few", names)
    monkeypatch.setenv("TREELET_DATA", str(tmp_path / "few"))
    results, page = run("questions-words", quick=True, out=tmp_path)
    accuracy = {row["system"]: row["accuracy"] for row in results["rows"]}
    assert list(accuracy) == [
        questions_words.PT,
        questions_words.PT_GRCT,
        questions_words.PT_LCT,
        questions_words.SPTK_GRCT,
        questions_words.SPTK_LCT,
    ]
    assert all(value > 60 for value in accuracy.values()), accuracy
    pairs = [row["pairs"] for row in results["speed"]["rows"]]
    assert pairs == sorted(pairs)
    assert pairs[-1] > pairs[0]
    assert all(row.get("largest_difference", 0) < 1e-12 for row in results["speed"]["rows"])
    assert (tmp_path / "questions-words.md").read_text(encoding="utf-8") == page
    assert {claim.verdict for claim in questions_words.claims(results)} <= set(VERDICTS)


def test_dependencies_follow_the_heads() -> None:
    tree = Tree.parse(
        "(SBARQ (WHNP (WP What)) (SQ (VBZ is) (NP (DT the) (NN name)) (PP (IN of) (NP (NNP Rex)))) (. ?))"
    )
    parse = questions_words.dependency_parse(tree)
    assert [(parse.words[head - 1] if head else "") for head in parse.heads or ()] == [
        *("is", "", "name", "is", "is", "of", "is"),
    ]
    form = questions_words.dependency_forms(Treebank([tree, None]), "lct")
    assert form[1] is None
    assert str(form[0]).startswith("(LEX##is::v (LEX##what::w POS##WP SYNT##WHNP<SBARQ)")


def test_equal_questions_are_in_one_fold_and_none_is_tested_on(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREELET_DATA", str(data_dir))
    data = questions.QuestionData(quick=False, seed=0)
    train, test = (questions.letters(data.trees[part]) for part in ("train", "test"))
    assert not set(train) & set(test)
    assert (len(train), data.removed) == (5441, 11)
    folds: dict[str, set[int]] = {}
    for key, fold in zip(train, data.fold.tolist(), strict=True):
        folds.setdefault(key, set()).add(fold)
    assert len(folds) < len(train)
    assert all(len(those) == 1 for those in folds.values())


def test_settings_are_chosen_on_the_half_that_is_not_tested() -> None:
    fold = np.arange(40) % 10
    protocol = questions.Protocol(types.SimpleNamespace(coarse={"train": fold, "test": fold}, fold=fold), print)  # type: ignore[arg-type]
    whole, *halves = protocol.tuning_sets()
    assert sorted(np.concatenate(whole[1]).tolist()) == list(range(40))
    for half, (rows, folds) in enumerate(halves):
        assert set((fold[rows] // 5).tolist()) == {half}
        assert sorted(np.concatenate(folds).tolist()) == list(range(len(rows)))
        assert all(len(set(fold[rows[some]].tolist())) == 1 for some in folds)


def test_a_setting_shows_the_parameters_of_its_system() -> None:
    at = {"words": 2, "characters": 5, "leaves": False, "lam": 0.2, "mu": 0.4, "C": 3.0}
    assert questions.describe_setting("PT", at) == "no leaves, λ 0.2, μ 0.4, C 3"
    assert questions.describe_setting("bag of words", at) == "C 3"
    assert questions.describe_setting("n-grams", at) == "words 1–2, characters 2–5, C=3"


# --- word vectors -------------------------------------------------------------------------------------------------


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.1, 0.3, 0.5]), st.sampled_from([1, 2, 4]))
def test_similarities_with_a_share_are_those_of_vectors(seed: int, threshold: float, exponent: int) -> None:
    rng = np.random.default_rng(seed)
    words = [f"w{k}" for k in range(12)]
    alike = questions.SimilarWords(WordVectors(words, rng.normal(size=(12, 3))), threshold, exponent)
    start, label, sigma = alike.similar(words, threshold)
    S = np.eye(12)
    S[np.repeat(np.arange(12), np.diff(start)), label] = sigma
    assert np.allclose(S, S.T)
    assert np.linalg.eigvalsh(S)[0] > -1e-6
    assert 0 < alike.share <= 1


def test_vectors_never_see_what_is_hidden() -> None:
    texts = [("the", "secret", "dog")]
    texts += [("the", "open", f"x{k}") for k in range(6)] + [("the", "secret", f"y{k}") for k in range(6)]
    seen, made = questions.train_word_vectors(texts, dimensions=2)
    hidden, fewer = questions.train_word_vectors(texts, [("The", "secret", f"y{k}") for k in range(6)], dimensions=2)
    assert ("secret" in seen, "secret" in hidden) == (True, False)
    assert made["sentences"] - fewer["sentences"] == 6


def test_words_of_all_kinds_of_files(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREELET_DATA", str(data_dir))
    assert next(questions.read_sentences(["qc_trees"]))[:3] == ("how", "did", "serfdom")
    assert next(questions.read_sentences(["conll2000"]))[:3] == ("confidence", "in", "the")
    assert next(questions.read_sentences(["ud_ewt"]))[:3] == ("al", "-", "zaman")


# --- parsing --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_parsing_quickly(data_dir: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "experiments", "parsing", "--quick", "--json", "--out", str(tmp_path)]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"TREELET_DATA": str(data_dir)}, capture_output=True, text=True, check=True
    )
    results = json.loads(done.stdout)
    assert json.loads((tmp_path / "parsing.json").read_text(encoding="utf-8")) == results
    assert (tmp_path / "parsing.md").read_text(encoding="utf-8") == parsing.page(results)
    plain, better, more = results["rows"]
    assert more["grammar"].endswith("more treebanks")
    assert 0 < more["rules"]["mean"] < better["rules"]["mean"]  # of 400 trees
    assert 50 < plain["f1"]["mean"] < better["f1"]["mean"] < better["oracle_f1"]["mean"] < 100
    items = writing.read_items("parsing", tmp_path)
    f1 = [evaluation.score_items(one["systems"]["plain"], "f1") for one in items]
    assert plain["f1"]["mean"] == pytest.approx(np.mean(f1))
    assert not {one.split("/")[0] for one in items[0]["ids"]} & {one.split("/")[0] for one in items[1]["ids"]}


def test_a_fold_has_no_say_in_what_is_chosen_for_it() -> None:
    good, bad = [[9, 10, 10]] * 3, [[1, 10, 10]] * 3
    items = [
        evaluation.split_items(
            f"fold {k}", 9, ["a", "b", "c"], {"x": good if k == 0 else bad, "y": bad if k == 0 else good}
        )
        for k in range(2)
    ]
    assert parsing.choose_grammars(items) == ["y", "x"]
