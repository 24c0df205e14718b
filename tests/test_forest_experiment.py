"""The forest experiment: a quick run on the real data where it is, and its parts by hand."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from conftest import run_experiment
from experiments import forest_relations, forest_roles
from experiments.forest_coverage import coverage, coverages
from experiments.forest_parsers import of_lists, split
from treelet.errors import ParameterError
from treelet.metrics import paired_bootstrap, semeval_scores
from treelet.structures import Forest, Tree
from treelet.structures.instances import Parse, RoleInstance

NEAR = "(S (NP (N He)) (VP (V saw) (NP (NP (D a) (N man)) (PP (P in) (NP (N town))))))"
FAR = "(S (NP (N He)) (VP (V saw) (NP (D a) (N man)) (PP (P in) (NP (N town)))))"


def instance(doc: str = "d", arguments: tuple[tuple[str, int, int], ...] = ()) -> RoleInstance:
    parses = [Parse(Tree.parse(NEAR), np.log(0.75)), Parse(Tree.parse(FAR), np.log(0.25))]
    return RoleInstance(tree=FAR, predicate=1, arguments=arguments, nbest=parses, doc=doc, sent=0)


def test_a_quick_run(data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREELET_DATA", str(data_dir))
    result = run_experiment("forest", "--quick", "--json", "--jobs", "2", "--out", tmp_path / "new")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert json.loads((tmp_path / "new" / "forest.json").read_text()) == found
    assert (tmp_path / "new" / "forest.png").read_bytes().startswith(b"\x89PNG")
    names = [row["name"] for row in found["relations"]["rows"]]
    ways = ["linear, tree", "linear, forest", "polynomial, tree", "polynomial, forest"]
    assert names == ["features", "tree", "forest", *ways]
    assert all(row["f1"] > 40 for row in found["relations"]["rows"])
    documents = [set(part) for part in found["roles"]["documents"].values()]
    assert all(documents)
    assert len(set.union(*documents)) == sum(map(len, documents)), "no document is in two parts"
    page = (tmp_path / "new" / "forest.md").read_text()
    assert "Quick run" in page
    for row in found["relations"]["rows"]:
        assert f"| {row['name']} | {row['precision']:.2f} | {row['recall']:.2f} | {row['f1']:.2f} |" in page
    for parser in found["roles"]["parsers"].values():
        for row in parser["rows"]:
            assert f"| {row['name']} | {row['precision']:.2f} | {row['recall']:.2f} | {row['f1']:.2f} |" in page
        covered = {row["what"]: row for row in parser["coverage"]}
        assert covered["forest, every node"]["unmatched"] <= covered["best tree, every constituent"]["unmatched"]
        assert covered["forest, pruned"]["unmatched"] < covered["best tree, pruned"]["unmatched"]
        assert covered["forest, pruned"]["ratio"] > 1


def test_quick_and_full_exclude_each_other() -> None:
    result = run_experiment("forest", "--quick", "--full")
    assert result.exit_code != 0
    assert "not both" in result.stderr
    result = run_experiment("questions", "--full")
    assert "has no option --full" in result.stderr


def test_unmatched_arguments_by_hand() -> None:
    part = [instance(arguments=(("ARG0", 0, 1), ("ARG1", 2, 4), ("ARGM-LOC", 4, 6), ("ARG2", 3, 5)))]
    rows = coverages(part, of_lists(part), (0.0, 0.5))
    found = {row["what"]: row for row in rows}
    # of the best tree (0,1), (2,6), (2,4), (4,6), (4,5), (5,6) and four words; pruned (0,1) and (2,6) are left
    assert found["best tree, every constituent"]["unmatched"] == 25
    assert found["best tree, every constituent"]["candidates"] == 8
    assert found["best tree, pruned"]["unmatched"] == 75
    assert found["best tree, pruned"]["candidates"] == 2
    # with the other tree (2,4), (4,6), (4,5) and (5,6) as well, at a quarter
    assert found["forest, pruned"]["unmatched"] == 25
    assert found["forest, pruned"]["ratio"] == 3
    assert found["forest, pruned, probability at least 0.5"]["unmatched"] == 75
    assert found["forest, every node"]["unmatched"] == 25
    assert coverage([], []).unmatched == 0


def test_examples_of_trees_and_forests() -> None:
    part = [instance(arguments=(("ARG0", 0, 1), ("ARG1", 2, 4)))]
    parser = of_lists(part)
    tree = forest_roles.examples(part, parser, forest_roles.Setting())
    assert dict(zip(tree.spans, tree.labels.tolist(), strict=True)) == {(0, 1): "ARG0", (2, 6): "none"}
    setting = forest_roles.Setting(forest=True, threshold=0.0)
    forest = forest_roles.examples(part, parser, setting)
    roles = dict(zip(forest.spans, forest.labels.tolist(), strict=True))
    assert {span for span, role in roles.items() if role != "none"} == {(0, 1), (2, 4)}
    assert len(forest) == 6
    assert sorted(forest.above(0.5).spans) == [(0, 1), (2, 6)]
    drawn = forest_roles.examples(part, parser, setting, keep=1.0)
    assert sorted(drawn.labels.tolist()) == ["ARG0", "ARG1", "none", "none"]
    assert isinstance(forest.table["path"][0], Forest)
    assert setting.kernel()(forest.table).shape == (6, 6)


def test_the_surest_come_first_and_nothing_overlaps() -> None:
    part = [instance()]
    setting = forest_roles.Setting(forest=True, threshold=0.0)
    Y = forest_roles.examples(part, of_lists(part), setting)
    classes = np.array(["A", "B", "none"])
    values = np.array([[-1.0, -1.0, 1.0]] * len(Y))
    values[Y.spans.index((2, 6))] = 0.5, 0.4, -1
    values[Y.spans.index((4, 6))] = 0.1, 0.6, -1
    values[Y.spans.index((0, 1))] = 0.2, 0.1, 0
    assert sorted(forest_roles.decoded(Y, 1, classes, values, 0.0)[0]) == [("A", 0, 1), ("B", 4, 6)]
    assert forest_roles.decoded(Y, 1, classes, values, 0.5)[0] == [("B", 4, 6)]


def test_documents_are_split_whole() -> None:
    parts = split([instance(f"d{k % 20}") for k in range(60)], seed=1)
    names = [{one.doc for one in part} for part in (parts.fit, parts.dev, parts.test)]
    assert [len(each) for each in names] == [13, 3, 4]
    assert len(set.union(*names)) == 20
    assert sum(map(len, (parts.fit, parts.dev, parts.test))) == 60


def test_tests_of_differences() -> None:
    gold = np.array(["A(e1,e2)", "A(e2,e1)", "B(e1,e2)", "Other", "B(e1,e2)"])
    found = np.array(["A(e1,e2)", "A(e1,e2)", "B(e1,e2)", "B(e2,e1)", "Other"])
    sums = forest_relations.counts(gold, found, ["A", "B"]).sum(axis=0)
    assert forest_relations.macro_f1(sums) == pytest.approx(semeval_scores(gold.tolist(), found.tolist()).f1)
    a, b = np.random.default_rng(0).integers(2, size=(2, 200)).astype(float)
    mine = paired_bootstrap(a[:, None], b[:, None], lambda sums: sums[..., 0] / 200, n=4000)
    assert mine == paired_bootstrap(a, b, n=4000)
    with pytest.raises(ParameterError, match="one shape"):
        paired_bootstrap(a, b, lambda sums: sums[..., 0])
