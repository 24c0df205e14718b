"""``treelet train``: settings chosen by cross-validation, values and ranks, probabilities, memory."""

from __future__ import annotations

import json
import os
import random
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import StratifiedKFold

import treelet as tl
from conftest import fail, run
from treelet.cli.train import _Search
from treelet.learn import selection
from treelet.metrics.predictions import order_figures, value_figures


def trees(n: int, seed: int = 0) -> list[tuple[int, str]]:
    """How many words each tree has, and the tree."""
    rng = random.Random(seed)
    found = []
    for _ in range(n):
        size = rng.randint(1, 5)
        words = [f"({rng.choice('ABC')} {rng.choice('xyz')})" for _ in range(size)]
        found.append((size, f"(S {' '.join(words)})"))
    return found


@pytest.fixture
def classes(tmp_path: Path) -> Path:
    file = tmp_path / "classes.tsv"
    rng = random.Random(1)
    lines = [f"{'many' if size > 2 or rng.random() < 0.1 else 'few'}\t{tree}\n" for size, tree in trees(60)]
    file.write_text("".join(lines), encoding="utf-8")
    return file


@pytest.fixture
def values(tmp_path: Path) -> Path:
    file = tmp_path / "values.tsv"
    file.write_text("".join(f"{size}.5\t{tree}\n" for size, tree in trees(60)), encoding="utf-8")
    return file


@pytest.fixture
def ranks(tmp_path: Path) -> Path:
    file = tmp_path / "ranks.klp"
    lines = [f"{size} |BS:qid| q{k // 4} |ES| |BT:tree| {tree} |ET|\n" for k, (size, tree) in enumerate(trees(60))]
    file.write_text("".join(lines), encoding="utf-8")
    return file


def report(*args: object) -> Any:
    result = run(*args, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


# --- choosing -----------------------------------------------------------------------------------------------------


def test_values_metric_and_folds_can_be_given(classes: Path) -> None:
    model = classes.with_name("m.treelet")
    found = report(
        "train", classes, "-o", model, "--lam", "0.2,0.5", "--C", "0.01,2,8", "--cv", 3, "--metric", "macro-f1"
    )
    grid = found["grid"]
    assert [(row["lam"], row["C"]) for row in grid["scores"]] == [(a, b) for a in (0.2, 0.5) for b in (0.01, 2, 8)]
    assert (grid["metric"], grid["folds"], grid["complete"]) == ("macro-f1", 3, True)
    best = max(grid["scores"], key=lambda row: round(row["macro-f1"], 12))
    assert grid["best"] == {"lam": best["lam"], "C": best["C"]}
    assert best["C"] == tl.load(model).C

    from sklearn.metrics import f1_score
    from sklearn.model_selection import StratifiedKFold

    X, y = tl.read_examples(classes)
    labels = np.array(y)
    parts = []
    for train, test in StratifiedKFold(3, shuffle=True, random_state=0).split(labels, labels):
        clf = tl.KernelSVC(tl.SubsetTree(best["lam"]).normalized(), C=best["C"]).fit(X[train], labels[train])
        parts.append(f1_score(labels[test], clf.predict(X[test]), average="macro"))
    np.testing.assert_allclose(best["folds"], parts)


def test_one_setting_can_be_cross_validated(classes: Path) -> None:
    grid = report("train", classes, "-o", classes.with_name("m"), "--cv", 4, "--lam", "0.3")["grid"]
    assert [(row["lam"], row["C"]) for row in grid["scores"]] == [(0.3, 1)]
    assert len(grid["scores"][0]["folds"]) == 4
    assert report("train", classes, "-o", classes.with_name("m"), "--lam", "0.3")["grid"] is None


def test_a_choice_at_the_edge_is_said(classes: Path) -> None:
    text = run("train", classes, "-o", classes.with_name("m"), "--C", "0.0001,0.001,1", "--lam", "0.4").stdout
    assert "C=1 is the largest value tried; a larger one may be better (try --C 1,10,100)" in text

    def edges(scores: dict[float, float], name: str = "lam") -> list[str]:
        rows: list[Any] = [
            ({name: value, "C": 1.0} if name != "C" else {"C": value}, SimpleNamespace(score=score, by_fold=(score,)))
            for value, score in scores.items()
        ]
        return [edge.split(" value tried")[0] for edge in _Search(rows, "classify", "accuracy", len(rows)).edges()]

    assert edges({0.2: 0.5, 0.4: 0.6, 0.8: 0.7}) == ["lam=0.8 is the largest"]
    assert edges({0.2: 0.7, 0.4: 0.6, 0.8: 0.5}) == ["lam=0.2 is the smallest"]
    assert edges({0.2: 0.5, 0.4: 0.7, 0.8: 0.6}) == []
    assert edges({0.2: 0.7, 0.4: 0.7, 0.8: 0.7}) == [], "no value was worse"
    assert edges({0.5: 0.5, 1.0: 0.7}) == [], "there is none above 1"
    assert edges({0.4: 0.7}) == [], "nothing was chosen"
    assert edges({1.0: 0.5, 10.0: 0.7}, "C") == ["C=10 is the largest"]


def test_an_interrupt_keeps_what_was_found(classes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    computed = []
    gram = selection.host_matrix

    def interrupted(kernel: Any, *args: Any, **options: Any) -> Any:
        computed.append(kernel)
        if len(computed) == 3:
            signal.raise_signal(signal.SIGINT)  # as Ctrl-C does
        return gram(kernel, *args, **options)

    monkeypatch.setattr(selection, "host_matrix", interrupted)
    result = run("train", classes, "-o", classes.with_name("m.treelet"), "--lam", "0.1,0.2,0.4,0.8", "--C", "1,10")
    computed.clear()
    told = run("train", classes, "-o", classes.with_name("m.treelet"), "--lam", "0.1,0.2,0.4,0.8", "--json")
    computed[:] = computed[:2]  # the next one is interrupted, too: the first of its search
    early = run("train", classes, "-o", classes.with_name("m.treelet"), "--lam", "0.1,0.2,0.4,0.8")
    assert result.exit_code == told.exit_code == early.exit_code == 130
    assert early.stderr == "treelet: interrupted: No setting was finished. No model was written.\n"
    assert early.stdout == ""
    assert os.listdir(classes.parent) == ["classes.tsv"]
    line = "treelet: interrupted: 4 of 8 settings were tried. The best so far is --lam 0."
    assert result.stderr.startswith(line)
    assert result.stderr.endswith(". No model was written.\n")
    assert result.stdout.startswith("accuracy in 5-fold cross-validation")
    assert "chosen: lam=0." in result.stdout
    grid = json.loads(told.stdout)["grid"]
    assert (len(grid["scores"]), grid["complete"]) == (2, False)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--lam", "0.2,x"], "--lam must be a number in (0, 1], or several separated by commas. Got '0.2,x' instead."),
        (["--lam", "0.2,3"], "--lam must be a number in (0, 1], or several separated by commas. Got '0.2,3' instead."),
        (["--C", "1,0"], "--C must be a number in (0, inf), or several separated by commas. Got '1,0' instead."),
        (["--cv", "1"], "--cv must be a whole number of at least 2. Got 1 instead."),
        (["--cv", "60"], "--cv must be at most "),
        (["--metric", "accuracy"], "--metric needs cross-validation. Add --grid, --cv, or several values of --lam or --C."),
        (["--grid", "--metric", "accurcy"], "Got 'accurcy' instead. Did you mean 'accuracy'?"),
        (["--grid", "--metric", "rmse"], "--metric must be 'accuracy', 'macro-f1' or 'balanced-accuracy'"),
        (["--task", "rang"], "--task must be 'classify', 'regress' or 'rank'. Got 'rang' instead. Did you mean 'rank'?"),
        (["--epsilon", "1"], "--epsilon applies to --task regress, not to --task classify. Remove --epsilon."),
        (["--task", "regress", "--probability"], "--probability applies to --task classify, not to --task regress. Remove --probability."),
        (["--task", "regress"], "the label of example 1, 'few', is not a finite number"),
        (["--task", "rank"], "the label of example 1, 'many', is not a finite number"),
    ],
)  # fmt: skip
def test_errors(classes: Path, options: list[str], message: str) -> None:
    if options == ["--task", "regress"]:
        classes.write_text("few\t(A a)\nmany\t(B b)\n", encoding="utf-8")
    assert message in fail("train", classes, "-o", classes.with_name("m.treelet"), *options)
    assert os.listdir(classes.parent) == ["classes.tsv"]


# --- values and ranks ---------------------------------------------------------------------------------------------


def test_values(values: Path) -> None:
    model = values.with_name("m.treelet")
    found = report("train", values, "-o", model, "--task", "regress", "--C", "1,10", "--epsilon", "0.05")
    assert found["values"] == {"least": 1.5, "most": 5.5}
    assert (found["grid"]["metric"], found["epsilon"]) == ("rmse", 0.05)
    assert all(row["rmse"] > 0 for row in found["grid"]["scores"])
    best = min(found["grid"]["scores"], key=lambda row: row["rmse"])
    assert found["grid"]["best"]["C"] == best["C"]
    X, y = tl.read_examples(values)
    guessed = tl.load(model).predict(X)
    assert [float(line) for line in run("predict", model, values).stdout.split()] == guessed.tolist()
    measured = report("evaluate", model, values)
    truth = np.array(y, float)
    assert measured["rmse"] == pytest.approx(np.sqrt(np.mean((guessed - truth) ** 2)))
    assert measured["correlation"] == pytest.approx(np.corrcoef(guessed, truth)[0, 1])
    assert measured["correlation"] > 0.5
    assert "RMSE" in run("evaluate", model, values).stdout
    assert "'rmse', 'correlation' or 'r2'" in fail(
        "train", values, "-o", model, "--task", "regress", "--cv", 3, "--metric", "f1"
    )
    assert "--picture draws the confusion matrix" in fail("evaluate", model, values, "--picture", "x.svg")
    assert "--probability applies to classifiers" in fail("predict", model, values, "--probability")


def test_ranks(ranks: Path) -> None:
    model = ranks.with_name("m.treelet")
    found = report("train", ranks, "-o", model, "--task", "rank", "--C", "0.1,1", "--cv", 3)
    assert (found["queries"], found["grid"]["metric"]) == (15, "tau")
    document = tl.formats.read_document(ranks)
    bank = tl.read_trees(ranks)
    queries, goodness = document.strings["qid"], [float(label) for label in document.labels]
    ranker = tl.load(model)
    assert isinstance(ranker, tl.RankSVM)
    scores = ranker.predict(bank).tolist()
    assert [float(line) for line in run("predict", model, ranks).stdout.split()] == scores
    measured = report("evaluate", model, ranks)
    assert measured["tau"] == pytest.approx(ranker.score(bank, goodness, queries), abs=1e-9)
    assert measured["tau"] > 0.3
    assert "tau" in run("evaluate", model, ranks).stdout
    line = fail("train", ranks, "-o", model, "--task", "rank", "--query", "sentence")
    assert "ranking needs a string column 'sentence'" in line
    assert "The file has 'qid'." in line


def test_figures() -> None:
    assert value_figures([1, 1], [1, 2])["r2"] is None
    assert value_figures([1, 3], [1, 3]) == {
        "examples": 2,
        "rmse": 0,
        "mean_absolute_error": 0,
        "correlation": 1,
        "r2": 1,
    }
    found = order_figures([1, 2, 1, 2], [0.1, 0.2, 0.4, 0.3], ["a", "a", "b", "b"])
    assert (found["tau"], found["best_first"], found["queries"]) == (0, 0.5, 2)


# --- probabilities and memory -------------------------------------------------------------------------------------


@pytest.mark.parametrize("names", [["one", "two", "three"], ["one", "two"]], ids=len)
def test_probabilities(tmp_path: Path, names: list[str]) -> None:
    file, model = tmp_path / "a.tsv", tmp_path / "m.treelet"
    file.write_text("".join(f"{names[size % len(names)]}\t{tree}\n" for size, tree in trees(60)), encoding="utf-8")
    assert report("train", file, "-o", model, "--probability", "--seed", 3)["probability"] is True
    lines = [line.split("\t") for line in run("predict", model, file, "--probability").stdout.splitlines()]
    assert lines[0] == ["label", *sorted(names)]
    expected = np.array([[float(cell) for cell in line[1:]] for line in lines[1:]])
    X, y = tl.read_examples(file)
    folds = StratifiedKFold(5, shuffle=True, random_state=3)
    calibrated = CalibratedClassifierCV(tl.KernelSVC(), cv=folds, ensemble=False).fit(X, y)
    np.testing.assert_allclose(expected, calibrated.predict_proba(X), atol=1e-3)  # the command uses libsvm on a matrix
    tl.save(tl.load(model), model)  # keeps the probabilities
    np.testing.assert_allclose(expected.sum(axis=1), 1)
    told = json.loads(run("predict", model, file, "--probability", "--json").stdout)
    np.testing.assert_array_equal(told["probabilities"], expected)
    assert "--probability exclude each other" in fail("predict", model, file, "--probability", "--scores")
    run("train", file, "-o", model)
    assert "model was trained without probabilities" in fail("predict", model, file, "--probability")
    with file.open("a", encoding="utf-8") as stream:
        stream.write("rare\t(A a)\n")
    assert "only one: 'rare'" in fail("train", file, "-o", model, "--probability")


def test_memory_in_python() -> None:
    bank = tl.Treebank([tree for _, tree in trees(60)])
    whole = tl.KernelSVC().fit(bank, [0, 1] * 30).decision_function(bank)
    for memory in (1000, "1kB", "1MB"):  # less memory takes longer
        little = tl.KernelSVC(memory=memory).fit(bank, [0, 1] * 30)
        np.testing.assert_allclose(little.decision_function(bank), whole, atol=5e-3)
    with pytest.raises(tl.errors.ParameterError, match="'memory' parameter"):
        tl.KernelSVC(memory="much").fit(bank, [0, 1] * 30)


def test_doctor_prints_the_card(classes: Path) -> None:
    model = classes.with_name("m.treelet")
    found = report("train", classes, "-o", model, "--C", "1,10")
    card = report("doctor", model)
    assert card["training"]["classes"] == found["classes"]
    assert card["metrics"]["accuracy"] == pytest.approx(max(row["accuracy"] for row in found["grid"]["scores"]))
    assert card["metrics"]["measured by"] == "5-fold cross-validation on the training examples"
    text = run("doctor", model).stdout
    for part in (
        found["kernel"],
        card["training"]["fingerprint"],
        "few ",
        "many ",
        f"treelet {tl.__version__}",
        "accuracy 0.",
    ):
        assert part in text
    assert "contains trees, not a saved model" in fail("doctor", classes)
    assert "the file does not exist" in fail("doctor", classes.with_name("nothing"))


def test_queries_of_svm_light(tmp_path: Path, ranks: Path) -> None:
    file, model = tmp_path / "ranks.dat", tmp_path / "m.treelet"
    lines = [f"{size} qid:{k // 4} |BT| {tree} |ET| 1:2 |EV|\n" for k, (size, tree) in enumerate(trees(60))]
    file.write_text("".join(lines), encoding="utf-8")
    assert report("train", file, "-o", model, "--task", "rank")["queries"] == 15
    assert report("evaluate", model, file)["queries"] == 15
    unused = "not used  queries qid; learn to rank within queries with --task rank"
    assert unused in run("train", file, "-o", tmp_path / "c").stdout.splitlines()
    assert unused not in run("train", file, "-o", tmp_path / "c", "--task", "rank").stdout
    assert (
        report("train", ranks, "-o", tmp_path / "n", "--task", "rank")["support_examples"]
        == tl.load(model).support_.size
    )
    file.write_text("".join(lines[:5]) + "1 |BT| (A a) |ET|\n", encoding="utf-8")
    assert "this line has no qid:N, but others" in fail("train", file, "-o", model, "--task", "rank")
    file.write_text("1 |BT| (A a) |ET|\n2 qid:1 |BT| (A a) |ET|\n", encoding="utf-8")
    assert "Give every line a query, or none" in fail("train", file, "-o", model, "--task", "rank")


def test_queries_of_tables(tmp_path: Path, ranks: Path) -> None:
    file, model = tmp_path / "ranks.tsv", tmp_path / "m.treelet"
    rows = [f"{k // 4}\t{size}\t{tree}\n" for k, (size, tree) in enumerate(trees(60))]
    file.write_text("sentence\tgood\ttree\n" + "".join(rows), encoding="utf-8")
    columns = ["--label-column", "good", "--option", "query_column=sentence"]
    assert report("train", file, "-o", model, "--task", "rank", *columns)["queries"] == 15
    known = report("train", ranks, "-o", tmp_path / "n", "--task", "rank")
    assert known["support_examples"] == tl.load(model).support_.size
    assert report("evaluate", model, file, *columns)["queries"] == 15
    line = fail("train", file, "-o", model, "--task", "rank", "--label-column", "good")
    assert "--option query_column=" in line
    run("convert", file, tmp_path / "ranks.dat", "--option", "query_column=sentence")  # the label is what is left
    again = tl.formats.read_document(tmp_path / "ranks.dat")
    assert again.strings["qid"] == [str(k // 4) for k in range(60)]
    assert again.labels == [str(size) for size, _ in trees(60)]


def test_queries_are_kept_or_refused(tmp_path: Path) -> None:
    file, other = tmp_path / "ranks.dat", tmp_path / "other.dat"
    file.write_text("2 qid:7 |BT| (A a) |ET|\n1 qid:7 |BT| (A b) |ET|\n", encoding="utf-8")
    run("convert", file, other)
    assert tl.formats.read_document(other).strings == {"qid": ["7", "7"]}
    assert "cannot store the texts qid" in fail("convert", file, tmp_path / "ranks.tsv")
    (tmp_path / "named.tsv").write_text("a\t1\t(A a)\nb\t2\t(A b)\n", encoding="utf-8")
    line = fail("convert", tmp_path / "named.tsv", other, "--option", "query_column=0")
    assert "a number, but svmlight_tk needs numbers" in line
