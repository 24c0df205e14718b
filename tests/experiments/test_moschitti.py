"""Moschitti's experiment: its parts on small trees, the whole in its quick setting on the real data where it is."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import treelet as tl
from conftest import run_experiment
from experiments import moschitti
from experiments.evaluation import score_items
from experiments.writing import VERDICTS, read_items
from treelet.cuts import TreeIndex

pytestmark = pytest.mark.slow  # a whole experiment, on a part of its corpus

TREE = (
    "(S (NP (N Mary)) (VP (V brought) (NP (D a) (NP (N cat) (PP (P of) (NP (N mine))))) (PP (P to) (NP (N school)))))"
)


def example(
    text: str, predicate: int, span: tuple[int, int], *, role: str = "ARG0", doc: str = "d"
) -> moschitti.Argument:
    return moschitti.Argument(TreeIndex(text), predicate, span, "bring", role, doc)


@pytest.fixture(scope="module")
def quick_run(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("moschitti")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TREELET_DATA", str(data_dir))
        patch.setattr(moschitti, "QUICK", moschitti.QUICK._replace(train=300, test=200, train_masc=200, test_masc=120))
        result = run_experiment("moschitti", "--quick", "--out", str(out))
    assert result.exit_code == 0, result.stderr
    return out


def test_tables_agree_with_the_results_per_item(quick_run: Path) -> None:
    results = json.loads((quick_run / "moschitti.json").read_text(encoding="utf-8"))
    items = {one["part"]: one for one in read_items("moschitti", quick_run)}
    page = (quick_run / "moschitti.md").read_text(encoding="utf-8")
    for corpus, found in results["corpora"].items():
        assert list(found["rows"]) == [*moschitti.SYSTEMS, moschitti.NGRAMS]
        for name, row in found["rows"].items():
            values = [score_items(items[f"{corpus}, split {k}"]["systems"][name]) for k in range(2)]
            assert row["mean"] == pytest.approx(np.mean(values))
            assert row["std"] == pytest.approx(np.std(values, ddof=1))
            assert f"| {name} | {row['mean']:.1f} ± {row['std']:.1f} |" in page
        tested = [set(items[f"{corpus}, split {k}"]["ids"]) for k in range(2)]
        assert not {one.split("/")[0] for one in tested[0]} & {one.split("/")[0] for one in tested[1]}
        assert found["rows"]["SST"]["mean"] > found["rows"]["ST"]["mean"]
        assert all(row["mean"] > found["splits"][0]["majority"] for row in found["rows"].values())
    assert (quick_run / "moschitti.png").read_bytes().startswith(b"\x89PNG")


def test_every_claim_has_a_verdict(quick_run: Path) -> None:
    results = json.loads((quick_run / "moschitti.json").read_text(encoding="utf-8"))
    claims = moschitti.claims(results)
    assert len(claims) == 7  # and an eighth about decays, where these were chosen
    assert {claim.verdict for claim in claims} <= set(VERDICTS)
    assert moschitti.page(results) == (quick_run / "moschitti.md").read_text(encoding="utf-8")


def test_gold_trees_and_parses_are_compared_on_the_same_arguments(quick_run: Path) -> None:
    results = json.loads((quick_run / "moschitti.json").read_text(encoding="utf-8"))
    items = read_items("moschitti", quick_run)
    parses = [one for one in items if one["part"].startswith("parses")]
    for one in parses:
        assert len({tuple(value is None for value in row) for row in one["systems"].values()}) == 1
    there = sum(value is not None for one in parses for value in one["systems"]["SST: gold trees"])
    assert there == results["parses"]["constituents"] < results["parses"]["arguments"]


@pytest.mark.parametrize("corpus", ["wsj", "masc"])
def test_parts_have_no_document_and_no_sentence_in_common(
    corpus: str, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREELET_DATA", str(data_dir))
    found = moschitti.read_arguments(corpus)
    assert {e.role for e in found} == {"ARG0", "ARG1", "ARG2", "ARG3", "ARG4", "ARG5", "ARGM"}
    assert corpus == "wsj" or not any(e.document.startswith("wsj_") for e in found)
    assert not any(e.span[0] <= e.predicate < e.span[1] for e in found)
    assert len({e.id for e in found}) > 0.99 * len(found)
    chosen, splits = moschitti.make_splits(found, selection=2000, folds=5)
    assert 1800 < len(chosen) <= 2000
    tested = np.concatenate([split.test for split in splits])
    assert len(set(tested.tolist())) == len(tested) >= len(found) - 2000
    for whole in (lambda k: found[k].document, lambda k: found[k].words):
        assert not set(map(whole, chosen)) & set(map(whole, tested))
        for train, test in splits:
            assert not set(map(whole, train)) & set(map(whole, test))
            assert not {found[k].document for k in train} & {found[k].document for k in chosen}
    few, fewer = moschitti.limit_split(splits[0], train=500, test=200)
    assert (len(few), len(fewer)) == (500, 200)
    assert set(few) < set(splits[0].train)
    assert [k for k in splits[0].train if k in set(few)] == few.tolist()


def test_arguments_in_a_parse() -> None:
    one = example(TREE, 1, (2, 6))
    assert moschitti.in_parse(one) is None
    flat = TreeIndex("(S (N Mary) (V brought) (NP (D a) (N cat) (P of) (N mine)) (PP (P to) (NP (N school))))")
    found = moschitti.in_parse(one._replace(parse=flat))
    assert found is not None
    assert str(moschitti.tree_of(found, "pruned")) == ("(S (V-P brought) (NP-ARG (D a) (N cat) (P of) (N mine)))")
    assert moschitti.in_parse(example(TREE, 1, (3, 6))._replace(parse=flat)) is None
    assert moschitti.in_parse(example(TREE, 1, (1, 2))._replace(parse=flat)) is None


def test_text_for_ngrams() -> None:
    assert moschitti.text_of(example(TREE, 1, (0, 1))) == "verb=bring side=before Mary"
    assert moschitti.text_of(example(TREE, 1, (2, 4))) == "verb=bring side=after a cat"


def test_forms_of_trees() -> None:
    one = example(TREE, 1, (2, 6))
    inside = "(D a) (NP (N cat) (PP (P of) (NP (N mine))))"
    assert {form: str(moschitti.tree_of(one, form)) for form in moschitti.FORMS} == {
        "pruned": f"(VP (V-P brought) (NP-ARG {inside}))",
        "unmarked": f"(VP (V brought) (NP {inside}))",
        "whole": f"(VP (V-P brought) (NP-ARG {inside}) (PP (P to) (NP (N school))))",
        "sisters": f"(VP (V-P brought) (NP-ARG {inside}) PP)",
        "shallow": "(VP (V-P brought) (NP-ARG (D a) (NP N PP)) PP)",
    }
    two = example(TREE, 1, (0, 1))
    assert str(moschitti.tree_of(two, "shallow")) == "(S (NP-ARG (N Mary)) (VP (V-P brought) NP PP))"


def test_features_with_pairs() -> None:
    one = example(TREE, 1, (0, 1))
    plain, pairs = moschitti.features_of(one, pairs=False), moschitti.features_of(one, pairs=True)
    assert set(plain) < set(pairs)
    assert {"lemma, head=bring mary", "lemma, voice, position=bring active before"} <= set(pairs)


def flights_for_selection() -> tuple[tl.structures.Table, np.ndarray, list[str]]:
    bank = tl.datasets.flights(60, random_state=1)
    y = np.array([len(tree.words()) % 3 for tree in bank])
    words = [dict.fromkeys(tree.words(), 1.0) for tree in bank]
    columns = dict.fromkeys(("pruned", "unmarked", "whole"), bank) | {"features": words, "pairs": words}
    return tl.structures.Table(columns), y, [str(k // 4) for k in range(60)]


def test_selection_agrees_with_training(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, docs = flights_for_selection()
    grids = {"ST": {"lam": (0.5, 1.0)}, "SST": {"lam": (0.4, 0.8), "leaves": (False, True)}}
    monkeypatch.setattr(moschitti, "GRIDS", grids | {"PT": {"lam": (0.8,), "mu": (0.4,)}})
    monkeypatch.setattr(moschitti, "WEIGHTS", (0.3, 0.7))
    selector = moschitti.Selector(X, y, docs, folds=3, n_jobs=1, log=lambda text: None)
    chosen, decays = moschitti.choose_settings(selector, forms=["pruned", "whole"])
    assert list(chosen) == moschitti.SYSTEMS
    assert {name: len(trials) for name, trials in decays.items()} == {"ST": 2, "SST": 2, "PT": 1}
    fold = np.array(selector.cv.test_fold)
    assert len(set(zip(docs, fold.tolist(), strict=True))) == 15
    for name in ("SST", "linear + SST"):
        row, right = chosen[name], 0
        for part in range(3):
            train, test = np.flatnonzero(fold != part), np.flatnonzero(fold == part)
            model = tl.KernelSVC(row.kernel, C=row.C).fit(X[train], y[train])
            right += int(np.sum(model.predict(X[test]) == y[test]))
        assert row.cross_validation == pytest.approx(100 * right / 60, abs=1e-9)
        tried = [one for one in selector.tried if one["kernel"] == repr(row.kernel)]
        assert row.cross_validation == max(one["accuracy"] for one in tried)


@pytest.mark.parametrize("peak", [0.05, 5.0, 700.0])
def test_the_grid_of_costs_is_made_wider(peak: float, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, docs = flights_for_selection()
    selector = moschitti.Selector(X, y, docs, folds=3, n_jobs=1, log=lambda text: None)
    tried: list[float] = []

    def trials(kernels: list[tl.Kernel], costs: list[float]) -> list[SimpleNamespace]:
        tried.extend(costs)
        return [SimpleNamespace(parameters={"C": C}, score=-abs(np.log(C / peak))) for C in costs]

    monkeypatch.setattr(selector, "trials", trials)
    row = selector.choose_cost(moschitti.FLAT["linear"])
    assert min(tried) < row.C < max(tried)
    assert peak / 2 < row.C < 2 * peak


def test_a_row_at_the_edge_is_named() -> None:
    grid = {"lam": (0.1, 0.5, 1.0), "mu": (0.1, 0.5, 1.0)}
    assert moschitti.at_edge(grid, {"lam": 0.1, "mu": 0.5}) == ["lam"]
    assert moschitti.at_edge(grid, {"lam": 0.5, "mu": 1.0}) == []


def test_no_option_of_others() -> None:
    result = run_experiment("moschitti", "--splits", "2")
    assert result.exit_code != 0
    assert "has no option --splits" in result.stderr
