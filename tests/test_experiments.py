"""The experiments, in their quick setting, on the real data where it is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import treelet as tl
from treelet.datasets import loaders
from treelet.learn.selection import select


def test_questions_quickly(data_dir: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "treelet", "reproduce", "questions", "--quick", "--json", "--out", str(tmp_path)]
    run = subprocess.run(
        command, env=os.environ | {"TREELET_DATA": str(data_dir)}, capture_output=True, text=True, check=True
    )
    results = json.loads(run.stdout)
    accuracy = {row["kernel"]: row["accuracy"] for row in results["rows"]}
    assert list(accuracy) == ["bag of words", "SST", "PT", "SST + bag of words", "PT + bag of words"]
    assert all(value > 70 for value in accuracy.values()), accuracy
    assert accuracy["SST + bag of words"] > accuracy["bag of words"]
    curve = results["learning_curve"]
    assert curve["SST"][-1] == accuracy["SST"]
    assert curve["SST"][0] < curve["SST"][-1]
    page = (tmp_path / "questions.md").read_text()
    assert f"| SST | {accuracy['SST']:.1f} |" in page
    assert json.loads((tmp_path / "questions.json").read_text()) == results
    assert (tmp_path / "questions.png").read_bytes().startswith(b"\x89PNG")


def test_missing_corpora_say_what_they_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TREELET_DATA", str(tmp_path))
    with pytest.raises(tl.FileError, match=r"qc_trees.*TREC.*TREELET_DATA"):
        loaders.questions()


def test_real_questions(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREELET_DATA", str(data_dir))
    bank, labels = loaders.questions("test")
    assert len(bank) == len(labels) == 500
    assert set(labels) == {"ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM"}


def test_selection_errors_and_order() -> None:
    bank = tl.Treebank(["(S (N a))", "(S (V a))", "(S (N b))", "(S (V b))"])
    told = []
    found = select([tl.SubsetTree(0.2), tl.Subtree()], bank, [0, 1, 0, 1], C=[1.0, 5.0], folds=2, report=told.append)
    assert [(repr(t.kernel), t.C) for t in found.trials] == [
        ("SubsetTree(lam=0.2)", 1.0),
        ("SubsetTree(lam=0.2)", 5.0),
        ("Subtree(lam=1.0)", 1.0),
        ("Subtree(lam=1.0)", 5.0),
    ]
    assert told == found.trials
    assert found.best is found.trials[0]
    assert found.best.by_fold == (1.0, 1.0)
    with pytest.raises(tl.ParameterError, match="no kernel"):
        select([], bank, [0, 1, 0, 1])
    with pytest.raises(tl.ParameterError, match="'1' has one"):
        select([tl.Subtree()], bank, [0, 1, 0, 2])
    with pytest.raises(tl.TreeletError):
        select([tl.Subtree()], bank, [0, 1, 0])
