"""``treelet rerank``, as it is run."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import pytest

import treelet as tl
from conftest import nbest_lines, run, succeed
from treelet.datasets import flights
from treelet.tasks import CandidateParses, Outcome, Setting, parts_of_treebank, rerank
from treelet.tasks.rerank_job import _labels, _settings, _verdict

QUICK = ["--k", 10, "--folds", 3, "--epochs", 1, "--lam", "0.3", "--logp", "0.1", "--train-candidates", 8]


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    return rerank(parts_of_treebank(flights(300), [180, 30, 90], k=20, folds=4), Setting.grid([0.3], [None], [0.1]))


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("rerank") / "bank.mrg"
    flights(200).write(file)
    return file


def fail(*args: object) -> str:
    """The last line of a failing command: notes may come before it."""
    result = run("rerank", *args)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    last = result.stderr.splitlines()[-1]
    assert last.startswith("treelet: error: ")
    return last


@pytest.mark.usefixtures("impatient")
def test_long_work_speaks_off_a_terminal(bank: Path) -> None:
    said = succeed("rerank", bank, *QUICK).stderr
    assert re.search(r"^sentences: [\d,]+ of [\d,]+, \d+ s elapsed, about \d+ s left$", said, re.M)
    assert re.search(r"^Parsed the training set in \d+ folds: [\d,]+ candidates \([\d.]+ s\)$", said, re.M)
    assert succeed("rerank", bank, *QUICK, "--no-progress").stderr == ""


# --- what it prints and writes ------------------------------------------------------------------------------------


def test_generated_questions_by_default() -> None:
    result = succeed("rerank", "--sizes", "100,20,40", *QUICK)
    assert "No TREEBANK was passed. Generated travel questions are used instead." in result.stderr
    assert "not from speakers" in " ".join(result.stdout.split())
    assert "development and 40 test sentences" in " ".join(result.stdout.split())
    for name in ("parser's first choice", "reranked", "best candidate (oracle)", "p ", "seconds: split"):
        assert name in result.stdout
    assert "\x1b" not in result.stdout
    assert "Report:" not in result.stdout


def test_a_treebank_as_json(bank: Path) -> None:
    result = json.loads(
        succeed("rerank", bank, "--json", *QUICK, "--lam", "0.2,0.4", "--markov", 1, "--smoothing", 1).stdout
    )
    assert result["source"] == str(bank)
    assert sum(result["sentences"].values()) + result["notes"]["twins"] == 200
    assert len(result["tried"]) == 2
    assert result["setting"]["lam"] in (0.2, 0.4)
    assert result["first"]["parse_score"] < result["oracle"]["parse_score"]
    assert result["better"] + result["worse"] <= result["changed"] <= result["sentences"]["test"]
    parts = parts_of_treebank(tl.read_trees(bank), k=10, folds=3, markov=1, smoothing=1)
    mine = rerank(parts, Setting.grid([0.2, 0.4], [None], [0.1]), epochs=1, candidates=8)
    assert result["reranked"]["parse_score"] == mine.reranked.parse_score
    assert result["p_value"] == mine.test.p_value
    again = json.loads(succeed("rerank", bank, "--json", *QUICK, "--seed", 1).stdout)
    assert again["first"] != result["first"]


def test_report_and_model(bank: Path, tmp_path: Path) -> None:
    folder, model = tmp_path / "a" / "report", tmp_path / "m.treelet"
    result = succeed("rerank", bank, *QUICK, "-o", folder, "--save", model, "--show", 2)
    assert result.stdout.endswith(f"Model: {model}\nReport: {folder / 'report.html'}\n")
    pictures = [f"mended-{number}-{name}.svg" for number in (1, 2) for name in ("first", "reranked")]
    assert sorted(file.name for file in folder.iterdir()) == [*pictures, "report.html", "report.json"]
    for name in pictures:
        ElementTree.parse(folder / name)
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.count("<figure>") == 4
    assert "src=" not in page
    assert "href=" not in page
    ranker = tl.load(model)
    assert isinstance(ranker, tl.VotedPerceptron)
    found = CandidateParses.parsed(tl.PCFG.from_treebank(flights(100)), flights(5), 3)
    assert ranker.predict(found.table()).shape == (len(found.trees),)


def test_lists_of_another_parser(tmp_path: Path) -> None:
    bank = flights(160)
    parses = CandidateParses.jackknifed(bank, 8, folds=4)
    file = tmp_path / "nbest.jsonl"
    file.write_text("\n".join(nbest_lines(parses, [str(number // 4) for number in range(160)])), encoding="utf-8")
    result = succeed("rerank", "--nbest", file, "--epochs", 1, "--lam", "0.3", "--logp", "0.1")
    assert "The candidates of another parser were read from" in result.stdout
    assert "40 documents, not split" in result.stderr
    assert "A parser proposes up to 8 candidate parses per sentence" in result.stdout
    assert "grammar" not in result.stdout


# --- in words -----------------------------------------------------------------------------------------------------


def test_a_person_is_told_what_happened(outcome: Outcome) -> None:
    mended = outcome.mended(2)
    shown = outcome.text(mended, "Title", "Source.")
    flat = " ".join(shown.split())
    assert flat.startswith("Title Source. ")
    assert "On the 90 sentences of the test set" in flat
    assert f"its first choice has a parse score of {outcome.first.parse_score:.1f} (of 100)" in flat
    assert f"Reranking improves the parse score by {outcome.test.difference:.1f} points" in flat
    assert f"{outcome.better} are better, {outcome.worse} are worse" in flat
    assert max(map(len, shown.splitlines())) <= 100
    for item in mended:
        assert item.words in shown
    assert "\x1b[1;31m" in outcome.text(mended, "Title", "Source.", colour=True)
    assert "improved sentence" in flat
    assert "improved sentence" not in outcome.text([], "Title", "Source.")


def test_a_loss_is_called_a_loss(outcome: Outcome) -> None:
    test = replace(outcome.test, difference=-1.0, p_value=0.4)
    worse = replace(outcome, reranked=outcome.first._replace(parse_score=outcome.first.parse_score - 1), test=test)
    flat = " ".join(worse.text([], "Title", "Source.").split())
    assert "Reranking lowers the parse score by 1.0 points, so it does not help here." in flat
    assert "p = 0.400, not significant" in flat
    for difference in (-0.04, 0.0, 0.04):
        same = replace(outcome, test=replace(outcome.test, difference=difference))
        assert "makes no difference to the parse score (below 0.05 points)" in _verdict(same)


def test_a_best_value_at_the_edge_of_the_grid_is_reported(outcome: Outcome) -> None:
    def shown(tried: list[tuple[Setting, float]]) -> str:
        return _settings(replace(outcome, setting=max(tried, key=lambda item: item[1])[0], tried=tried))

    low, middle, high = Setting(0.2, logp=0.1), Setting(0.4, logp=1), Setting(1, logp=10)
    assert "is the" not in shown([(low, 1.0), (middle, 3.0), (high, 2.0)])
    assert "The best lam, 0.2, is the smallest value tried; try smaller values" in shown([(low, 3.0), (middle, 1.0)])
    edges = shown([(middle, 1.0), (high, 3.0)])
    assert "The best logp, 10, is the largest value tried; try larger values" in edges
    assert "best lam" not in edges  # 1 is the largest possible value
    assert "is the" not in shown([(Setting(0.3, 2), 1.0), (Setting(0.3, None), 2.0)])  # without a limit
    assert "is the" not in shown([(Setting(0.3, logp=0), 2.0), (Setting(0.3, logp=1), 2.0)])  # no difference


def test_pages(outcome: Outcome) -> None:
    mended = outcome.mended(3)
    page = str(outcome.files(mended, "A & B", "<source>", "treelet rerank 'a<b'")["report.html"])
    assert "<h1>A &amp; B</h1>" in page
    assert "&lt;source&gt;" in page
    assert "a&lt;b" in page
    assert page.count("<svg ") == 7
    assert "Improved sentences" in page
    assert "Improved sentences" not in str(outcome.files([], "A", "B", "C")["report.html"])
    assert "NP is a noun phrase" in _labels(mended)
    assert _labels([]) == ""


# --- errors -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--sizes", "1,2"], "three numbers above 0"),
        (["--sizes", "1,x,3"], "--sizes must be a finite number, or several separated by commas"),
        (["--sizes", "1000,200,336"], "1,336 sentences cannot be split into sets of 1000, 200, 336"),
        (["--sizes", "0.5,0.5,0.5"], "--sizes must be fractions that sum to at most 1. Got 0.5, 0.5, 0.5 instead"),
        (["--sizes", "12,4,4", "--folds", 20], "--folds must be a whole number from 2 to the number of trees (12)"),
        (["--lam", "2"], "--lam must be a number in (0, 1]"),
        (["--lam", "0.2,,0.3"], "--lam must be a number in (0, 1], or several separated by commas"),
        (["--lam", "nan"], "--lam must be a number in (0, 1], or several separated by commas. Got 'nan' instead."),
        (["--depth", "0"], "--depth must be"),
        (["--depth", "deep"], "--depth must be whole numbers or none"),
        (["--logp", "-1"], "--logp must be a number of at least 0"),
        (["--k", 1], "--k must be a whole number of at least 2. Got 1 instead."),
        (["--folds", 1], "--folds must be a whole number of at least 2. Got 1 instead."),
        (["--epochs", 0], "--epochs must be a whole number of at least 1. Got 0 instead."),
        (["--max-words", 0], "--max-words must be a whole number of at least 1. Got 0 instead."),
        (
            ["--train-candidates", 1],
            "--train-candidates must be a whole number of at least 2, or 0 for all. Got 1 instead.",
        ),
        (["--parent", "child"], "--parent must be 'off', 'phrases' or 'tags'"),
        (["--seed", -1], "--seed must be a whole number from 0 to 2^32 - 1. Got -1 instead."),
        (["--save", "-"], "--save cannot be standard output"),
        (["--drop-empty"], "--drop-empty needs TREEBANK. Add TREEBANK, or remove --drop-empty."),
        (["a.mrg", "--nbest", "b.jsonl"], "TREEBANK and --nbest exclude each other."),
        (["--nbest", "b.jsonl", "--k", 5], "--k and --nbest exclude each other."),
        (["nowhere.mrg"], "nowhere.mrg"),
    ],
)
def test_errors(options: list[object], said: str) -> None:
    assert said in fail(*options)


def test_traces_are_refused_at_the_start(tmp_path: Path) -> None:
    file = tmp_path / "raw.mrg"
    file.write_text(
        "(S (NP (-NONE- *)) (VP (V a) (N b)))\n" + "(S (NP (D c)) (VP (V a) (N b)))\n" * 20, encoding="utf-8"
    )
    assert "The trees contain empty elements (-NONE-)" in fail(file)


def test_errors_of_files(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("", encoding="utf-8")
    assert "parse reranking needs at least three" in fail(file)
    assert "0 sentences cannot be split" in fail("--nbest", file)
    assert "the folder cannot be created" in fail("-o", file)
    file.write_text('{"gold": 1', encoding="utf-8")
    assert "this line is not an n-best list (" in fail("--nbest", file)
    assert "unexpected text outside brackets" in fail(file)
    file.write_text('{"gold": "(S a)", "nbest": [[-1, "(S a)"]]}\n', encoding="utf-8")
    assert f"{file}: the file contains lists of parses" in fail(file)
    model = tmp_path / "m.treelet"
    fail("--save", model, "--sizes", "1000,200,336")
    assert not model.exists()
    file.write_text("\n".join(["(S (A a) (B b))"] * 20), encoding="utf-8")
    assert "development set have the same words" in fail(file)
