"""Semantic roles at scale: parts and measurements on small data, the whole in its quick setting on the real data where it is."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import treelet as tl
from conftest import run_experiment
from experiments import roles_at_scale
from experiments.evaluation import score_items
from experiments.roles_at_scale import Candidates, Learner, Setup, measured, split_documents
from experiments.writing import VERDICTS, read_items
from treelet.structures import Table


def some_candidates() -> Candidates:
    """Twenty documents with ten candidates each. One sentence is in all documents. PPs are never arguments."""
    trees, labels, ids, words = [], [], [], []
    for document in range(20):
        for k in range(10):
            kind = ("NP", "PP", "SBAR")[k % 3]
            trees.append(f"(VP (V-P ran) ({kind}-ARG (N x{k})))")
            labels.append({"NP": "ARG0", "PP": "NONE", "SBAR": "ARGM"}[kind])
            ids.append(f"d{document}/{k}/0/1-2/0")
            words.append(("same",) if k == 0 else (str(document), str(k)))
    table = Table({"tree": tl.Treebank(trees), "features": np.ones((200, 1))})
    return Candidates(table, np.array(labels), ids, words, 0)


def test_no_document_and_no_sentence_is_in_two_parts() -> None:
    data = some_candidates()
    parts = split_documents(data, Setup(test=40, dev=30, fit=50, sizes=(10,)), seed=0)
    assert len(parts.test) == 40
    for rows, others in ((parts.train, parts.test), (parts.fit, parts.dev), (parts.dev, parts.test)):
        assert len(rows)
        assert not {data.ids[k].split("/")[0] for k in rows} & {data.ids[k].split("/")[0] for k in others}
        assert not {data.words[k] for k in rows} & {data.words[k] for k in others}
    assert set(parts.dev) < set(parts.train)


def test_tasks_have_their_candidates_and_measures() -> None:
    data, everything = some_candidates(), np.arange(200)
    setting = {"lam": 0.4, "leaves": False, "C": 10.0}
    for task, classes in (("identification", 2), ("classification", 2)):
        learner = Learner(data, task, 1)
        rows = learner.select(everything)
        assert len(rows) == (200 if task == "identification" else 140)
        model, cost = learner.fit("SST", setting, rows)
        assert len(model.classes_) == classes
        assert cost.cpu > 0
        assert learner.score(learner.outcome(model, rows)) == 100
    wrong = np.array([[1, 1, 1], [0, 1, 0], [0, 0, 1], [0, 0, 0]])
    assert Learner(data, "identification", 1).score(wrong) == pytest.approx(50)


@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured on Linux only")
def test_memory_is_that_of_the_call() -> None:
    size, cost = measured(lambda: len(np.ones(2**23)))
    assert size == 2**23
    assert cost.memory is not None
    assert 60 < cost.memory < 100
    assert (measured(lambda: None)[1].memory or 0) < 10


@pytest.mark.slow  # a whole experiment, on a part of its corpus
def test_the_page_agrees_with_the_results_per_item(data_dir: Path, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TREELET_DATA", str(data_dir))
        patch.setattr(roles_at_scale, "QUICK", Setup(1500, 1000, 200, (200,)))
        result = run_experiment("roles-at-scale", "--quick", "--out", str(tmp_path))
    assert result.exit_code == 0, result.stderr
    results = json.loads((tmp_path / "roles-at-scale.json").read_text(encoding="utf-8"))
    items = {one["part"]: one for one in read_items("roles-at-scale", tmp_path)}
    page = (tmp_path / "roles-at-scale.md").read_text(encoding="utf-8")
    for task, entry in results["tasks"].items():
        for row in entry["rows"]:
            values = items[task]["systems"][roles_at_scale.label(row["system"], row["size"])]
            assert row["value"] == pytest.approx(score_items(values, roles_at_scale.MEASURES[task]))
            assert row["interval"][0] <= row["value"] <= row["interval"][1]
            assert f"{row['value']:.2f} (" in page
        largest = {row["system"]: row for row in entry["rows"] if row["size"] == entry["sizes"]["train"]}
        assert all(row["accuracy"] > entry["majority"] for row in largest.values())
    assert {claim.verdict for claim in roles_at_scale.claims(results)} <= set(VERDICTS)
    assert (tmp_path / "roles-at-scale.png").read_bytes().startswith(b"\x89PNG")
