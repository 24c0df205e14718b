"""Pairs of sentences (SICK): the experiment in its quick setting on the first lines, and its parts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import pearsonr

from conftest import first_lines
from experiments import sick_pairs, writing
from experiments.__main__ import run
from experiments.data import sick
from experiments.evaluation import score_items
from experiments.sick_pairs import compare_correlations, overlap_features
from experiments.writing import VERDICTS
from treelet.cuts import mark_shared
from treelet.errors import FormatError, ParameterError

FILES = {f"sick/{part}.{kind}.xz": 81 if kind == "tsv" else 160 for part in ("train", "trial", "test") for kind in ("tsv", "tags")}  # fmt: skip


@pytest.mark.slow
def test_pairs_quickly(data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "few").mkdir()
    first_lines(data_dir, tmp_path / "few", FILES)
    monkeypatch.setenv("TREELET_DATA", str(tmp_path / "few"))

    class Interrupted(Exception):
        pass

    def interrupt(text: str) -> None:
        if text.startswith("SST, no marks, relatedness"):
            raise Interrupted

    with pytest.raises(Interrupted):
        run("pairs", quick=True, out=tmp_path, log=interrupt)
    lines: list[str] = []
    results, page = run("pairs", quick=True, out=tmp_path, log=lines.append)
    begun = [line.split(", entailment")[0] for line in lines if ", entailment: " in line]
    assert begun == list(sick_pairs.systems(quick=True))[2:]  # finished systems are not repeated
    assert not list(tmp_path.glob("*.partial"))
    assert results["sizes"] == {"train": 80, "trial": 80, "test": 80}
    names = [row["system"] for row in results["rows"]]
    assert names == list(sick_pairs.systems(quick=True))
    for row in results["rows"]:
        for task in sick_pairs.TASKS:
            low, high = row[task]["interval"]
            assert low <= row[task]["test"] <= high
    assert (
        (tmp_path / "pairs.md").read_text(encoding="utf-8")
        == page
        == sick_pairs.page(writing.read_results("pairs", tmp_path))
    )
    assert (tmp_path / "pairs.png").read_bytes().startswith(b"\x89PNG")
    entailment, relatedness = writing.read_items("pairs", tmp_path)
    assert set(entailment["systems"]) == set(names)
    assert set(relatedness["systems"]) == {"gold", *names}
    for row in results["rows"]:
        assert row["entailment"]["test"] == pytest.approx(score_items(entailment["systems"][row["system"]]))
        scores = relatedness["systems"]
        assert row["relatedness"]["test"] == pytest.approx(pearsonr(scores["gold"], scores[row["system"]])[0], abs=1e-4)
    assert "squared cosine" in page
    assert 0 < results["vectors"]["known"] <= results["vectors"]["forms"]
    assert {claim.verdict for claim in sick_pairs.claims(results)} <= set(VERDICTS)


def test_real_pairs(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREELET_DATA", str(data_dir))
    pairs = {part: sick(part) for part in ("train", "trial", "test")}
    assert {part: len(each) for part, each in pairs.items()} == {"train": 4500, "trial": 500, "test": 4927}
    assert {pair.entailment for each in pairs.values() for pair in each} == {"NEUTRAL", "ENTAILMENT", "CONTRADICTION"}
    first = pairs["trial"][0]
    assert (first.id, first.relatedness, first.entailment) == ("4", 3.6, "CONTRADICTION")
    assert first.words_a[:3] == ("The", "young", "boys")
    assert first.tags_b[:3] == ("EX", "VBZ", "DT")
    ids = [{pair.id for pair in each} for each in pairs.values()]
    assert not ids[0] & ids[1] and not ids[0] & ids[2] and not ids[1] & ids[2]  # noqa: PT018


def test_files_that_do_not_match(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sick").mkdir()
    monkeypatch.setenv("TREELET_DATA", str(tmp_path))
    header = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
    (tmp_path / "sick" / "train.tsv").write_text(f"{header}1\ta\tb\t2.5\tNEUTRAL\n", encoding="utf-8")
    (tmp_path / "sick" / "train.tags").write_text("a|DT|O\n", encoding="utf-8")
    with pytest.raises(FormatError, match="two lines of tagged words"):
        sick("train")
    (tmp_path / "sick" / "train.tags").write_text("a|DT|O\nb|NN|O\n", encoding="utf-8")
    assert [pair.words_b for pair in sick("train")] == [("b",)]
    with pytest.raises(ParameterError, match="part"):
        sick("dev")


def test_features_of_words() -> None:
    a, b = mark_shared("(S (NN dog) (VBZ runs) (RB not))", "(S (NN cat) (VBD ran) (NN dog))", propagate="tag")
    features = overlap_features(a, b)
    assert features[:5] == [1 / 3, 1 / 3, 2 / 5, 2 / 5, 0.0]  # all words
    assert features[5:10] == [1.0, 0.5, 0.0, 1 / 5, -1 / 5]  # nouns
    assert features[-3:] == [1.0, 0.0, 1.0]  # the first sentence is negated
    assert len(features) == len(overlap_features(b, a))


def test_correlations_are_compared_on_the_same_pairs() -> None:
    rng = np.random.default_rng(0)
    gold = rng.normal(size=300)
    good, bad = gold + 0.3 * rng.normal(size=300), gold + 3 * rng.normal(size=300)
    ids = [list(range(300))]
    test = compare_correlations(ids, gold, good, bad)
    assert test["difference"] == pytest.approx(pearsonr(gold, good)[0] - pearsonr(gold, bad)[0])
    assert test["p"] < 0.01
    same = compare_correlations(ids, gold, good, good)
    assert same["difference"] == 0
    alone = compare_correlations(ids, gold, good, None)
    assert alone["difference"] == pytest.approx(pearsonr(gold, good)[0])
    assert alone["interval"][0] < alone["difference"] < alone["interval"][1] < 1
