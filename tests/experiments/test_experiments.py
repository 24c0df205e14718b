"""The experiments, in their quick setting, on the real data where it is."""

from __future__ import annotations

import gzip
import importlib
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import treelet as tl
from conftest import ROOT, run_experiment
from experiments import EXPERIMENTS, collins_duffy, data, writing
from experiments.__main__ import run
from experiments.locality import counterexamples, window_kernel
from experiments.writing import write_results


def test_the_list_says_what_each_needs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    listed = run_experiment().stdout
    for name, experiment in EXPERIMENTS.items():
        assert f"{name}: {experiment.description}" in listed
        assert all(data in listed for data in experiment.corpora)
        importlib.import_module(f"experiments.{experiment.module}")
    monkeypatch.setenv("TREELET_DATA", str(tmp_path))
    result = run_experiment("moschitti", "--quick")
    assert (result.exit_code, "propbank_wsj_sample" in result.stderr) == (2, True)
    assert run_experiment("lattices").stderr.endswith("Choose one of " + ", ".join(EXPERIMENTS) + ".\n")


def test_what_pictures_need_is_said_before_anything_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run_experiment("collins-duffy", "--quick", "-o", tmp_path / "new")
    assert "treelet[viz]" in result.stderr
    assert not (tmp_path / "new").exists()


def test_results_are_written_before_pictures(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def broken(*_: object) -> None:
        assert json.loads((tmp_path / "collins-duffy.json").read_text(encoding="utf-8")) == {"all": "of it"}
        assert (tmp_path / "collins-duffy.md").read_text(encoding="utf-8") == "page"
        raise OSError("no room")

    monkeypatch.setattr(collins_duffy, "run", lambda **_: {})
    monkeypatch.setattr(collins_duffy, "page", lambda _: "page")
    monkeypatch.setattr(collins_duffy, "picture", broken)
    monkeypatch.setattr(
        writing, "write_results", lambda out, stem, _, page, *__: write_results(out, stem, {"all": "of it"}, page)
    )
    with pytest.raises(OSError, match="no room"):
        run("collins-duffy", quick=True, out=tmp_path)


def test_missing_corpora_say_what_they_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TREELET_DATA", str(tmp_path))
    with pytest.raises(tl.errors.FileError, match=r"qc_trees.*TREC.*TREELET_DATA"):
        data.questions()


def test_where_corpora_are_does_not_depend_on_where_one_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "shared" / "data" / "qc_trees").mkdir(parents=True)
    (tmp_path / "work").mkdir()
    monkeypatch.delenv("TREELET_DATA", raising=False)
    before = data.data_folder()
    monkeypatch.chdir(tmp_path / "work")
    assert data.data_folder() == before != tmp_path / "shared" / "data"
    monkeypatch.setenv("TREELET_DATA", str(tmp_path))
    assert data.data_folder() == tmp_path


def test_without_shared_data_corpora_are_in_the_home_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TREELET_DATA", raising=False)
    monkeypatch.setattr(data, "__file__", str(tmp_path / "checkout" / "experiments" / "data.py"))
    assert data.data_folder() == Path.home() / "treelet_data"


def test_files_of_corpora_may_be_packed_or_not(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TREELET_DATA", str(tmp_path))
    (tmp_path / "qc_trees").mkdir()
    with pytest.raises(tl.errors.FileError, match=r"qc_trees[/\\]test\.tsv: does not exist.*TREC.*docs/data\.md"):
        data.questions("test")
    (tmp_path / "qc_trees" / "test.tsv").write_text("NUM:date\t(S (A a))\n", encoding="utf-8")
    with gzip.open(tmp_path / "qc_trees" / "train.tsv.gz", "wt", encoding="utf-8") as out:
        out.write("LOC:city\t(S (B b))\n")
    assert [(list(map(str, bank)), labels) for bank, labels in map(data.questions, ("train", "test"))] == [
        (["(S (B b))"], ["LOC"]),
        (["(S (A a))"], ["NUM"]),
    ]


def test_the_page_on_data_names_every_corpus() -> None:
    page = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")
    assert [name for name in data.ORIGINS if f"`{name}`" not in page] == []


def test_real_questions(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREELET_DATA", str(data_dir))
    bank, labels = data.questions("test")
    assert len(bank) == len(labels) == 500
    assert set(labels) == {"ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM"}


# --- Collins & Duffy ----------------------------------------------------------------------------------------------


@pytest.fixture
def half_the_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """A treebank is split into less than in a quick run."""
    load_corpus = collins_duffy.load_corpus
    monkeypatch.setattr(collins_duffy, "load_corpus", lambda *which: replace(load_corpus(*which), sizes=(60, 20, 30)))


@pytest.mark.usefixtures("half_the_size")
@pytest.mark.slow
def test_collins_duffy_goes_on_after_an_interrupt(tmp_path: Path) -> None:
    class Enough(Exception):
        pass

    def interrupt(text: str) -> None:
        if text.startswith("split"):
            raise Enough

    with pytest.raises(Enough):
        run("collins-duffy", quick=True, log=interrupt, out=tmp_path)
    assert len(list(tmp_path.iterdir())) == 1
    said: list[str] = []
    results, _ = run("collins-duffy", quick=True, log=said.append, out=tmp_path)
    assert said[0] == "1 of 2 splits were finished before and are reused"
    assert sum(line.startswith("split") for line in said) == 1
    names = {path.name for path in tmp_path.iterdir()}
    suffixes = ("json", "items.json.xz", "md", "png")
    assert names == {f"collins-duffy.{suffix}" for suffix in suffixes}, "nothing else is left behind"
    whole, page = run("collins-duffy", quick=True)
    for key in ("pcfg", "reranked", "oracle", "relative_improvement", "depth", "scale", "more", "deviations"):
        assert results[key] == whole[key]
    assert whole["pcfg"] < whole["reranked"] < whole["oracle"]
    assert set(whole["depth"]["3"]) == {"score", "improvement", "scores"}
    assert results["test"] == whole["test"]
    assert results["tests"] == whole["tests"]
    assert whole["depth"]["1"]["score"]["mean"] < whole["depth"]["3"]["score"]["mean"]
    assert "GENERATED" in page
    assert "Quick run" in " ".join(page.split())


@pytest.mark.usefixtures("half_the_size")
def test_collins_duffy_on_the_command_line(tmp_path: Path) -> None:
    bank = tl.datasets.flights(130, random_state=5)
    bank.write(tmp_path / "bank.mrg")
    result = run_experiment("collins-duffy", "--quick", "--splits", "1", "--treebank", tmp_path / "bank.mrg", "--json", "-o", tmp_path)  # fmt: skip
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    assert {"pcfg", "reranked", "oracle", "relative_improvement", "depth", "scale", "seconds"} <= set(data)
    names = {path.name for path in tmp_path.iterdir()}
    stem = "collins-duffy-bank"
    assert names == {"bank.mrg", *(f"{stem}.{suffix}" for suffix in ("json", "items.json.xz", "md", "png"))}
    assert f"({stem}.png)" in (tmp_path / f"{stem}.md").read_text(encoding="utf-8")
    result = run_experiment("questions", "--splits", "3")
    assert result.exit_code != 0
    assert "has no option --splits" in result.stderr


def test_collins_duffy_on_lists(tmp_path: Path) -> None:
    bank = tl.datasets.flights(150, random_state=2)
    grammar = tl.PCFG.from_treebank(bank[:100])
    with open(tmp_path / "lists.jsonl", "w", encoding="utf-8") as stream:
        for number, tree in enumerate(bank):
            found = grammar.parse(tree.words(), k=5)
            line = {"doc": f"d{number // 3}", "gold": str(tree), "nbest": [[logp, 0.5, str(t)] for t, logp in found]}
            stream.write(json.dumps(line) + "\n")
    results, _ = run("collins-duffy", quick=True, nbest=str(tmp_path / "lists.jsonl"))
    assert results["kind"] == "lists"
    assert results["oracle"] >= results["pcfg"]
    with pytest.raises(tl.errors.ParameterError, match="cannot be combined"):
        run("collins-duffy", quick=True, nbest="a", treebank="b")


def test_no_test_sentence_is_trained_on() -> None:
    bank = tl.datasets.flights(60, random_state=3)
    doubled = tl.Treebank.concat([bank, bank])  # every sentence twice: most have a twin in another part
    parts = collins_duffy.Corpus("file", "doubled", (70, 20, 30), 1, doubled).split(0, 3)
    train, dev, test = (
        {" ".join(tree.words()) for tree in part.gold} for part in (parts.train, parts.development, parts.test)
    )
    assert test
    assert not train & dev
    assert not train & test
    assert not dev & test


def test_windows_that_make_the_locality_kernel_indefinite() -> None:
    found = counterexamples()
    windows, sequences = found["windows"], found["sequences"]
    assert (windows["examples"], sequences["examples"]) == (64, 128)
    assert windows["smallest"] == pytest.approx(-1.4e-3, rel=0.02)
    assert windows["exact"] == pytest.approx(windows["smallest"], rel=1e-9)
    assert sequences["smallest"] == pytest.approx(-2.8e-4, rel=0.02)
    stored = writing.read_results("locality")["counterexamples"]
    assert {name: one["smallest"] for name, one in stored.items()} == pytest.approx(
        {name: one["smallest"] for name, one in found.items()}, rel=1e-6
    )


def test_the_formula_of_windows_is_that_of_locality() -> None:
    places = [(0,), (-3, 0), (-1, 0, 2), (0, 1, 2, 3), (-3, -2, -1, 0, 1, 2, 3)]
    sequences = [["a" if k in one else f"only {n} {k}" for k in range(-3, 4)] for n, one in enumerate(places)]
    K = tl.Locality(7, 2.0)(sequences)
    for m, first in enumerate(places):
        for n, second in enumerate(places[:m]):
            pairs = [(_around(first, i), _around(second, k)) for i in first for k in second]
            assert K[m, n] == pytest.approx(float(sum(window_kernel(*pair, 2.0) for pair in pairs)))


def _around(places: tuple[int, ...], center: int) -> list[int]:
    return [place - center for place in places if abs(place - center) <= 3]
