"""Moschitti's experiment: its parts on small trees, the whole in its quick setting on the real data where it is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

import treelet as tl
from conftest import ROOT, run_experiment
from experiments import moschitti, moschitti_data, moschitti_time
from treelet.cuts import TreeIndex
from treelet.testing.recursions import nodes_of, value
from treelet.testing.strategies import trees

TREE = (
    "(S (NP (N Mary)) (VP (V brought) (NP (D a) (NP (N cat) (PP (P of) (NP (N mine))))) (PP (P to) (NP (N school)))))"
)


def example(
    text: str, predicate: int, span: tuple[int, int], *, role: str = "ARG0", doc: str = "d"
) -> moschitti_data.Example:
    return moschitti_data.Example(TreeIndex(text), predicate, span, "bring", role, doc)


def test_quickly(data_dir: Path, tmp_path: Path) -> None:
    out = tmp_path / "new"
    command = [sys.executable, "-m", "experiments", "moschitti", "--quick", "--json", "--out", str(out)]
    run = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"TREELET_DATA": str(data_dir)}, capture_output=True, text=True, check=True
    )
    results = json.loads(run.stdout)
    names = ["linear", "linear with pairs", "ST", "SST", "PT", *moschitti.MIXED]
    page = (out / "moschitti.md").read_text()
    for corpus in results["corpora"].values():
        accuracy = {row["kernel"]: row["accuracy"] for row in corpus["rows"]}
        assert list(accuracy) == names
        assert accuracy["ST"] < accuracy["SST"]
        assert all(value > corpus["majority"] for value in accuracy.values())
        for name in names:
            assert f"| {name} | {accuracy[name]:.1f} |" in page
    assert "| 87.6 |" in page
    assert "Quick run" in page
    curve = results["learning_curve"]
    assert set(curve) == {"sizes", *moschitti.CURVES}
    assert all(len(curve[name]) == len(curve["sizes"]) for name in moschitti.CURVES)
    assert curve["SST"][-1] == results["corpora"]["wsj"]["rows"][3]["accuracy"]
    assert all(value > 0 for point in results["time"]["points"] for value in point.values())
    assert results["time"]["slopes"]["SST naive"] > 1
    assert json.loads((out / "moschitti.json").read_text()) == results
    assert (out / "moschitti.png").read_bytes().startswith(b"\x89PNG")
    assert "(moschitti.png)" in page


@pytest.mark.parametrize("corpus", ["wsj", "masc"])
def test_parts_have_no_document_and_no_sentence_in_common(
    corpus: str, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREELET_DATA", str(data_dir))
    found = moschitti_data.examples(corpus)
    assert {e.role for e in found} == {"ARG0", "ARG1", "ARG2", "ARG3", "ARG4", "ARG5", "ARGM"}
    assert corpus == "wsj" or not any(e.doc.startswith("wsj_") for e in found)
    assert not any(e.span[0] <= e.predicate < e.span[1] for e in found)
    train, test = moschitti_data.split(found)
    for whole in (lambda k: found[k].doc, lambda k: tuple(found[k].sentence.words)):
        assert not set(map(whole, train)) & set(map(whole, test))
    assert 0.24 * len(found) < len(test) <= 0.25 * len(found)
    assert len(train) + len(test) > 0.95 * len(found)
    few, fewer = moschitti_data.split(found, train=500, test=200)
    assert len(few) == 500
    assert 150 < len(fewer) <= 200
    assert not {found[k].doc for k in few} & {found[k].doc for k in fewer}


def test_sentences_of_the_test_are_not_trained_on() -> None:
    found = [example(TREE, 1, (0, 1), doc=f"d{k}") for k in range(8)]
    train, test = moschitti_data.split(found)
    assert (len(train), len(test)) == (0, 2)


def test_folds_are_whole_documents() -> None:
    docs = list("aabbbbcdddeef")
    fold = moschitti.folds_of(docs, 3)
    assert set(fold) == {0, 1, 2}
    assert all(len({f for f, d in zip(fold, docs, strict=True) if d == name}) == 1 for name in set(docs))
    assert sorted(np.bincount(fold)) == [4, 4, 5]


def test_forms_of_trees() -> None:
    one = example(TREE, 1, (2, 6))
    inside = "(D a) (NP (N cat) (PP (P of) (NP (N mine))))"
    assert {form: str(moschitti_data.tree_of(one, form)) for form in moschitti_data.FORMS} == {
        "pruned": f"(VP (V-P brought) (NP-ARG {inside}))",
        "unmarked": f"(VP (V brought) (NP {inside}))",
        "whole": f"(VP (V-P brought) (NP-ARG {inside}) (PP (P to) (NP (N school))))",
        "sisters": f"(VP (V-P brought) (NP-ARG {inside}) PP)",
        "shallow": "(VP (V-P brought) (NP-ARG (D a) (NP N PP)) PP)",
    }
    two = example(TREE, 1, (0, 1))
    assert str(moschitti_data.tree_of(two, "shallow")) == "(S (NP-ARG (N Mary)) (VP (V-P brought) NP PP))"


def test_features_with_pairs() -> None:
    one = example(TREE, 1, (0, 1))
    plain, pairs = moschitti_data.features_of(one, False), moschitti_data.features_of(one, True)
    assert set(plain) < set(pairs)
    assert {"lemma, head=bring mary", "lemma, voice, position=bring active before"} <= set(pairs)


def test_choosing_learns_as_the_machine_does(monkeypatch: pytest.MonkeyPatch) -> None:
    bank = tl.datasets.flights(60, random_state=1)
    y = np.array([len(tree.words()) % 3 for tree in bank])
    docs = [str(k // 4) for k in range(60)]
    words = [dict.fromkeys(tree.words(), 1.0) for tree in bank]
    X = tl.structures.Table({"pruned": bank, "features": words, "pairs": words})
    setting = moschitti.QUICK._replace(folds=3)
    monkeypatch.setattr(moschitti, "QUICK", setting)
    chosen, tried = moschitti.choose(X, y, docs, setting=setting, n_jobs=1, say=lambda text: None)
    assert [trial["kernel"] for trial in tried] == [repr(trial.kernel) for trial in chosen.values()]
    fold = moschitti.folds_of(docs, 3)
    assert len({(document, part) for document, part in zip(docs, fold.tolist(), strict=True)}) == 15
    for name in ("SST", "linear + SST"):
        trial, right = chosen[name], 0
        for part in range(3):
            train, test = np.flatnonzero(fold != part), np.flatnonzero(fold == part)
            model = tl.KernelSVC(trial.kernel, **trial.parameters).fit(X[train], y[train])
            right += int(np.sum(model.predict(X[test]) == y[test]))
        assert trial.score == pytest.approx(right / 60, abs=1e-12)


# --- time -------------------------------------------------------------------------------------------------------


@given(trees(), trees())
@settings(max_examples=60)
def test_naive_equals_the_kernels(first: tl.Tree, second: tl.Tree) -> None:
    a, b = nodes_of(first), nodes_of(second)
    for kernel in moschitti_time.KINDS.values():
        assert value(kernel, a, b) == pytest.approx(kernel([first], [second])[0, 0], rel=1e-9)
        assert value(kernel, a, a) == pytest.approx(kernel([first])[0, 0], rel=1e-9)


def test_naive_equals_the_kernels_on_wide_trees() -> None:
    wide = tl.Tree.parse("(A (B x) (C y) (B x) (B y) (C x) (D (B x) (B x)) (B y))")
    other = tl.Tree.parse("(A (C x) (B x) (B y) (D (B x) (C y) (B x)) (B y))")
    for kernel in moschitti_time.KINDS.values():
        found = value(kernel, nodes_of(wide), nodes_of(other))
        assert found == pytest.approx(kernel([wide], [other])[0, 0], rel=1e-12)


def test_trees_have_exactly_as_many_nodes() -> None:
    bank = list(tl.datasets.flights(200, random_state=4))
    found = moschitti_time.trees_of_size(bank, (2, 7, 12), 20)
    assert {size: {len(list(t.nodes())) for t in some} for size, some in found.items()} == {2: {2}, 7: {7}, 12: {12}}
    assert all(len(some) == 20 for some in found.values())
    assert found == moschitti_time.trees_of_size(bank, (2, 7, 12), 20)
    with pytest.raises(tl.errors.ParameterError, match="only 0 constituents of exactly 3000 nodes"):
        moschitti_time.trees_of_size(bank, (3000,), 1)
    one = moschitti_time.trees_of_size([tl.Tree.parse("(A (B x) (C (D y)))")], (1, 2, 3, 6), 1)
    assert [str(one[size][0]) for size in (3, 6)] == ["(C (D y))", "(A (B x) (C (D y)))"]


def test_pairs_of_nodes_that_are_alike() -> None:
    found = moschitti_time.alike([tl.Tree.parse("(A (B x) (B x))"), tl.Tree.parse("(A (B y))")])
    assert found == {"one production": (1 + 1 + 4 + 1) / 4, "one label": (4 + 9 + 4 + 1) / 4}


def test_slope() -> None:
    assert moschitti_time.slope([10, 20, 40], [3.0, 12.0, 48.0]) == pytest.approx(2)


def test_full_is_an_option_of_this_experiment_only() -> None:
    result = run_experiment("questions", "--full")
    assert result.exit_code != 0
    assert "has no option --full" in result.stderr
