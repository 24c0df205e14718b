"""The experiment with the locality-convolution kernel: measures of goodness, settings and their matrices, splits, the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treelet as tl
from conftest import first_lines
from experiments import locality, locality_protocol
from experiments.__main__ import run
from experiments.data import link_parses
from experiments.evaluation import compare
from experiments.locality_data import (
    MEASURES,
    Corpus,
    Linked,
    converted_pairs,
    distinct_sentences,
    f_score,
    gold_pairs,
    measure_goodness,
    to_table,
)
from experiments.locality_kernels import (
    ALPHAS,
    COUNTS,
    GRAMS,
    Block,
    Inner,
    Selector,
    Setting,
    Trial,
    coefficients,
    edges,
    variants_of,
)
from experiments.writing import VERDICTS, read_items
from treelet.metrics import link_f1, paired_t_test
from treelet.tasks import ParsedSentence, ParseLists

pytestmark = pytest.mark.slow  # a whole experiment, on a part of its corpus


def few(data_dir: Path, folder: Path, n: int) -> Path:
    """The first sentences of the corpus as a corpus of their own."""
    first_lines(data_dir, folder, {"lg_parse_ranking/craft1100_lg20.jsonl.xz": n})
    return folder / "lg_parse_ranking" / "craft1100_lg20.jsonl"


# --- goodness -------------------------------------------------------------------------------------------------------


def gold(text: str, heads: list[int], relations: list[str], tags: list[str] | None = None) -> tl.Dependencies:
    return tl.Dependencies.from_heads(text.split(), tags, heads, relations)


@pytest.mark.parametrize(
    ("right", "expected"),
    [
        # subjects hang on the first auxiliary, auxiliaries are a chain
        (
            gold("mice have been killed", [4, 4, 4, 0], ["nsubjpass", "aux", "auxpass", "root"]),
            {("mice", "have"), ("have", "been"), ("been", "killed")},
        ),
        # the clause is linked with its opener, which hangs on the first auxiliary
        (
            gold("we show that mice can run", [2, 0, 6, 6, 6, 2], ["nsubj", "root", "mark", "nsubj", "aux", "ccomp"]),
            {("we", "show"), ("show", "run"), ("show", "that"), ("that", "can"), ("mice", "can"), ("can", "run")},
        ),
        # the conjunction governs, and stands for the conjuncts upwards
        (
            gold("in mice and rats", [0, 1, 2, 2], ["root", "pobj", "cc", "conj"]),
            {("in", "and"), ("mice", "and"), ("and", "rats")},
        ),
        # a relative pronoun
        (
            gold("mice that run sleep", [4, 3, 1, 0], ["nsubj", "nsubj", "relcl", "root"], ["NNS", "WDT", "VBP", "VBP"]),
            {("mice", "sleep"), ("mice", "run"), ("mice", "that"), ("that", "run")},
        ),
        # an infinitive; punctuation never counts
        (
            gold("mice try to run .", [2, 0, 4, 2, 2], ["nsubj", "root", "aux", "xcomp", "punct"]),
            {("mice", "try"), ("try", "run"), ("try", "to"), ("to", "run")},
        ),
    ],
)  # fmt: skip
def test_converted_heads(right: tl.Dependencies, expected: set[tuple[str, str]]) -> None:
    found = {(right.words[a], right.words[b]) for a, b in converted_pairs(right)}
    assert found == {(a, b) if right.words.index(a) < right.words.index(b) else (b, a) for a, b in expected}


def test_measures(data_dir: Path, tmp_path: Path) -> None:
    sentences = link_parses(few(data_dir, tmp_path, 40))
    found = measure_goodness(sentences, range(20))
    lists = ParseLists(sentences)
    assert found.values.shape == (len(lists.parses), len(MEASURES))
    np.testing.assert_array_equal(found.values[:, 0], lists.goodness)
    assert ((found.values >= 0) & (found.values <= 1)).all()
    best = np.maximum.reduceat(found.values, np.searchsorted(lists.qid, np.arange(40)))
    np.testing.assert_array_equal(best[:, 3], 1)  # the best parse is right in its own scheme
    assert best[:, 2].mean() > best[:, 0].mean() + 0.05  # Link Grammar's conventions can be met better
    shares = {row["name"]: row for row in found.types}
    assert shares["S"]["converted"] > shares["S"]["share"] + 0.2
    for sentence in sentences[:5]:
        assert sentence.gold is not None
        linked = Linked.of(sentence.parses[0], sentence.gold)
        ours = linked.score(gold_pairs(sentence.gold))
        assert ours == pytest.approx(link_f1(sentence.parses[0], sentence.gold))
        assert linked.pairs() >= linked.pairs(without=["S"])
    assert f_score(set(), set()) == 0
    with pytest.raises(ValueError, match="The sentence has no gold parse"):
        measure_goodness([ParsedSentence("x", None, (), (), ())], [])


# --- settings -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def corpus(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return Corpus.of(link_parses(few(data_dir, tmp_path_factory.mktemp("few"), 40)), 15, seed=0)


@pytest.mark.parametrize("inner", [COUNTS, Inner(GRAMS), Inner("position", 3, 1.0), Inner("exact", 3)])
def test_matrices_are_those_of_the_kernels(corpus: Corpus, inner: Inner) -> None:
    table = to_table(corpus.lists(corpus.parses(corpus.development, 2)))
    full, main = (Block.of(kernel, table) for kernel in inner.columns())
    seen = set()
    columns = np.array([1, 4, 7])
    some = [Block.of(kernel, table, columns) for kernel in inner.columns()]
    for setting, block in variants_of(inner, full, main, quick=True):
        seen.add(setting.wrap)
        np.testing.assert_allclose(block.values, setting.kernel()(table), atol=1e-10)
        np.testing.assert_allclose(block.rows, np.diag(block.values), atol=1e-10)
        np.testing.assert_allclose(setting.block(*some).values, block.values[:, columns], atol=1e-12)
        assert setting.described()["kernel"] == repr(setting.kernel())
    assert len(seen) == 18
    np.testing.assert_allclose(locality.square_matrix(setting, table, 1, rows=7), block.values, atol=1e-12)
    assert [s.wrap for s, _ in variants_of(inner, full, main, False, [("main", True, 4.0)])] == [("main", True, 4.0)]


def test_coefficients_are_those_of_the_learners(corpus: Corpus) -> None:
    lists = corpus.lists(corpus.parses(corpus.development, 3))
    K = np.asarray(tl.On("main", tl.Locality(3)).normalized()(lists.table()))
    before = K.copy()
    for model, qid in ((tl.RLS("precomputed", alpha=0.1).fit(K, lists.goodness), None),
                       (tl.RankRLS("precomputed", alpha=0.1).fit(K, lists.goodness, qid=lists.qid), lists.qid)):  # fmt: skip
        scores = K @ coefficients(K, lists.goodness, 0.1, qid)
        np.testing.assert_allclose(scores, model.predict(K), atol=1e-9)
    np.testing.assert_array_equal(K, before)
    worse = K - 0.3 * np.eye(len(K))  # not positive definite: what RLS makes of it
    with pytest.warns(UserWarning, match="negative"):
        assert np.isfinite(coefficients(worse, lists.goodness, 0.01)).all()


def test_choosing(corpus: Corpus) -> None:
    parses = corpus.parses(corpus.development, 4)
    lists = [corpus.lists(parses, k) for k in range(2)]
    selector = Selector(lists, to_table(lists[0]), 3, seed=0, quick=True)
    tried = selector.search([Inner("exact", 3), Inner("exact", 5)], keep=2)
    assert len([t for t in tried if t.setting and t.setting.inner.window == 3]) == 18
    assert 2 <= len(tried) - 18 <= 3
    one = tried[0]
    assert one.by_sentence.shape == (len(ALPHAS), 2, len(lists[0]))
    assert one.best() == np.nanmean(one.sentences())
    assert one.alpha() == one.share() * one.scale
    ranks = selector.trial(None, selector.block(COUNTS.columns()[0]), ranks=True)
    assert ranks.taus.shape == (len(ALPHAS), 1)


@given(st.integers(0, len(ALPHAS) - 1), st.sampled_from([(3, 0.25), (3, 1.0), (7, 2.0), (5, 0.5)]))
def test_edges(place: int, inner: tuple[int, float]) -> None:
    taus = np.zeros((len(ALPHAS), 1, 4))
    taus[place] = 1

    def trial(window: int, theta: float, width: float) -> Trial:
        return Trial(Setting(Inner("position", window, theta), "full", False, width, 3.0), taus, 1.0)

    tried = [trial(w, t, width) for w in (3, 5, 7) for t in (0.25, 0.5, 1.0, 2.0) for width in (1.0, 2.0, 4.0)]
    found = edges(trial(*inner, 2.0), tried)
    assert ("window = 7" in found) == (inner[0] == 7)
    assert ("θ = 2" in found) == (inner[1] == 2.0)
    assert any(name.startswith("λ") for name in found) == (place in (0, len(ALPHAS) - 1))
    assert not any(name.startswith("σ") for name in found)
    assert "σ = 4" in edges(trial(3, 0.5, 4.0), tried)


def test_of_strengths_that_are_as_good_the_greatest_is_taken() -> None:
    taus = np.zeros((len(ALPHAS), 1, 2))
    taus[2:6, 0] = [[0.4], [0.4005], [0.3996], [0.39]]
    trial = Trial(None, taus, 2.0)
    assert trial.share() == ALPHAS[4]
    assert trial.best() == pytest.approx(0.3996)
    assert trial.alpha() == 2 * ALPHAS[4]


# --- parts ----------------------------------------------------------------------------------------------------------


@settings(max_examples=20)
@given(st.integers(0, 1000))
def test_no_document_is_learned_from_and_tested_on(corpus: Corpus, seed: int) -> None:
    def documents(rows: Any) -> set[str]:
        return {corpus.sentences[k].document for k in rows}

    assert not documents(corpus.development) & documents(corpus.others)
    splits = corpus.halves(3, seed)
    assert len(splits) == 6
    for train, test in splits:
        assert not documents(train) & documents(test)
        assert sorted([*train, *test]) == corpus.others.tolist()
    assert (splits[0][0] == splits[1][1]).all()


def test_parses_are_drawn_in_turn(corpus: Corpus) -> None:
    for k in (1, 3, 5):
        smaller, larger = corpus.parses(corpus.others, k), corpus.parses(corpus.others, k + 1)
        assert set(smaller) < set(larger)
        assert np.bincount(corpus.qid[smaller])[corpus.others].max() == k
    lists = corpus.lists(corpus.parses(corpus.others, 3), 1)
    assert len(lists) == len(corpus.others)
    number = int(corpus.others[4])
    rows = corpus.parses(np.array([number]), 3)
    assert lists.sentences[4].goodness == tuple(corpus.goodness.values[rows, 1])
    assert lists.sentences[4].text == corpus.sentences[number].text
    assert len(set(corpus.ids)) == len(corpus.sentences)
    again = [corpus.sentences[0], *corpus.sentences]
    assert distinct_sentences(again) == list(corpus.sentences)


def test_the_test_of_the_paper_has_one_pair_per_sentence() -> None:
    items = [
        {"part": "a", "train": 9, "ids": ["x", "y"], "systems": {"new": [0.5, 0.3], "old": [0.1, 0.2]}},
        {"part": "b", "train": 9, "ids": ["x", "z", "w"], "systems": {"new": [0.7, 0.4, None], "old": [0.1, 0.5, 1.0]}},
    ]
    found = locality.compare_by_sentence(items, "new", "old")["sentences"]
    expected = paired_t_test([0.6, 0.3, 0.4], [0.1, 0.2, 0.5])
    assert (found["of"], found["p"]) == (3, pytest.approx(expected.p_value))


def test_the_experiment_on_a_few_sentences(data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few(data_dir, tmp_path, 110)
    monkeypatch.setenv("TREELET_DATA", str(tmp_path))
    said: list[str] = []
    results, page = run("locality", quick=True, log=said.append, out=tmp_path / "out")
    rows = {row["name"]: row for row in results["rows"]}
    assert list(rows)[:2] == [locality.OWN_ORDER, locality.FEATURE_COUNTS]
    assert {*locality.LC.values(), locality.PAPER_LC, locality.PAPER_COUNTS, locality.LINK_GRAMS} < rows.keys()
    for name, row in rows.items():
        assert -1 <= row["tau"]["mean"] <= 1
        assert (name == locality.FEATURE_COUNTS) == ("against_counts" not in row)
    items = [one for one in read_items("locality", tmp_path / "out") if one["part"].startswith("split")]
    again = compare(items, locality.LC["position"], locality.FEATURE_COUNTS, "mean")
    assert again["p"] == pytest.approx(rows[locality.LC["position"]]["against_counts"]["p"])
    folds = [one for one in read_items("locality", tmp_path / "out") if one["part"].startswith("fold")]
    first, second = results["larger"]["tests"]
    assert (first["a"], first["b"]) == (locality.LC["position"], locality.FEATURE_COUNTS)
    assert first["difference"] == pytest.approx(compare(folds, first["a"], first["b"], "mean")["difference"])
    ranked = {number for one in folds for number in one["ids"]}
    assert len(ranked) == sum(len(one["ids"]) for one in folds) == results["sentences"]["others"]
    assert all(0 <= test["sentences"]["p"] <= 1 for test in (first, second))
    assert [s["measure"] for s in results["scheme"]] == list(MEASURES)
    assert all(row["plain"] > -1e-12 for row in results["semidefinite"] if row["certain"])
    assert locality.claims(results)[-1].verdict == "contradicted"
    assert f"**{rows[locality.FEATURE_COUNTS]['tau']['mean']:.3f}**" in page
    assert "**Quick run.**" in " ".join(page.split())
    assert "than feature counts: τ_b" in " ".join(page.split("\n\n")[2].split())
    assert {claim.verdict for claim in locality.claims(results)} <= set(VERDICTS)
    assert (tmp_path / "out" / "locality.png").read_bytes().startswith(b"\x89PNG")
    assert said[0].startswith("settings chosen on")


def test_the_protocol_of_the_paper(data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few(data_dir, tmp_path, 110)
    monkeypatch.setenv("TREELET_DATA", str(tmp_path))
    results, page = run("locality-protocol", quick=True, out=tmp_path / "out")
    assert (results["train"], results["test"]) == (50, 60), "the proportion of the paper"
    grid = results["grid"]
    assert (3 in grid["windows"], 0.5 in grid["thetas"], 2.0**-10 in grid["alphas"]) == (True, True, True)
    assert all(155.0 in widths for widths in grid["widths"].values())
    items = read_items("locality-protocol", tmp_path / "out")
    assert all(len({*one["ids"]}) == 60 for one in items)
    test = results["tests"]["lc"]
    assert test["difference"] == pytest.approx(compare(items, test["a"], test["b"], "mean")["difference"])
    for name, chosen in results["chosen"].items():
        tried = [row for row in results["tried"] if row["system"] == name]
        assert chosen[0]["cross_validation"] == max(max(row["taus"][0]) for row in tried)
    # the paper's setting in the first split, computed again with a ranker that knows nothing of splits and blocks
    sentences = link_parses()
    train, tested = locality_protocol.random_splits(len(sentences), 2, 0)[0]
    assert not {*train.tolist()} & {*tested.tolist()}
    rng = np.random.default_rng(0)
    five = [np.sort(np.flatnonzero(rng.permutation(len(sentence.parses)) < 5)) for sentence in sentences]
    parses = [sentences[k].parses[place] for k in train for place in five[k]]
    goodness = [sentences[k].goodness[place] for k in train for place in five[k]]
    kernel = tl.Locality(window=3, theta=0.5).gaussian(155.0)
    model = tl.RLS(kernel, alpha=2.0**-10).fit(parses, goodness)
    taus = [ParseLists([sentences[k]]).tau(model.predict(list(sentences[k].parses)))[0] for k in tested[:10]]
    assert items[0]["systems"][locality.PAPER_LC][:10] == pytest.approx(taus, abs=1e-5)
    claims = locality_protocol.claims(results)
    assert [claim.own for claim in claims] == [False] * 4 + [True, False]
    assert {claim.verdict for claim in claims} <= set(VERDICTS)
    assert "Quick run" in page
