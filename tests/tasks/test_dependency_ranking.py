"""Ranking dependency parses: how good parses are, lists of them, choosing and fitting; with the real parser, too."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import treelet as tl
from experiments.data import link_parses
from experiments.locality import typewise
from treelet.cuts.features import FEATURES
from treelet.learn.selection import _SharedMatrices
from treelet.metrics import align_words, link_f1
from treelet.metrics.ranking import _leveled
from treelet.parsing import link_grammar_version
from treelet.tasks import ParsedSentence, ParseLists, ParseRanker
from treelet.tasks.dependency_ranking import _default_kernels

# --- how good a parse is --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "tokens", "expected"),
    [
        (["LEFT-WALL", "the", "age-matched", "mice", "RIGHT-WALL"], ["The", "age", "-", "matched", "mice"], [None, 0, 3, 4, None]),
        (["Figure", "2", "A"], ["Figure", "2A"], [0, 1, 1]),
        (["a", "b"], ["a", "x", "b"], [0, 2]),
        (["a", "zzz", "b"], ["a", "b"], [0, None, 1]),
        ([], ["a"], []),
        (["x"], ["a"], [None]),
    ],
)  # fmt: skip
def test_alignment(words: list[str], tokens: list[str], expected: list[int | None]) -> None:
    assert align_words(words, tokens) == expected


def test_link_f1_by_hand() -> None:
    # Mice that are age-matched sleep .    gold links: mice-matched, mice-sleep, age-matched, and punctuation
    words = ["age", "-", "matched", "mice", "sleep", "."]
    gold = tl.Dependencies.from_heads(
        words, None, [3, 3, 4, 5, 0, 5], ["npadvmod", "punct", "amod", "nsubj", "root", "punct"]
    )
    own = ["LEFT-WALL", "age-matched", "mice", "sleep", "."]
    right = tl.Dependencies(own, None, [(0, 3, "WV"), (0, 4, "Xp"), (1, 2, "A"), (2, 3, "S"), (3, 4, "X")])
    assert link_f1(right, gold) == 1  # age, -, matched are one word here; walls and the full stop do not count
    half = tl.Dependencies(own, None, [(1, 2, "A"), (1, 3, "S")])
    assert link_f1(half, gold) == 0.5
    assert link_f1(half, gold, punctuation=()) == 2 * 1 / (3 + 2)  # the full stop's link is one more that is missing
    assert link_f1(tl.Dependencies(own, None, []), gold) == 0
    one = tl.Dependencies.from_heads(["Go"], None, [0])
    assert link_f1(tl.Dependencies(["go"]), one) == 0
    with pytest.raises(tl.errors.TreeError, match="The gold parse has no heads or relations"):
        link_f1(right, right)
    with pytest.raises(tl.errors.TreeError, match="no word in common"):
        link_f1(tl.Dependencies(["xyz"]), one)
    with pytest.raises(tl.errors.InputTypeError, match="gold must be a Dependencies object"):
        link_f1(right, words)


@pytest.mark.slow
def test_the_goodness_of_the_corpus(data_dir: Path) -> None:
    """Ours is that of the corpus, but where a gold word that others hang on is inside a word of the parser's."""
    sentences = link_parses(data_dir / "lg_parse_ranking" / "craft1100_lg20.jsonl.xz")
    assert len(sentences) == 1100
    assert sum(len(sentence.parses) for sentence in sentences) == 20_958
    first = np.array([sentence.goodness[0] for sentence in sentences])
    ours = np.array([link_f1(sentence.parses[0], sentence.gold) for sentence in sentences])
    assert (np.abs(first - ours) < 1e-4).sum() == 1042
    assert first.mean() == pytest.approx(0.658, abs=1e-3)
    lists = ParseLists(sentences)
    assert np.nanmean(lists.tau(-lists.ranks)) == pytest.approx(0.122, abs=5e-4)  # as the corpus says


def test_files_of_parses(tmp_path: Path) -> None:
    record = {
        "text": "Dogs bark", "tokens": ["Dogs", "bark"], "pos": ["N", "V"], "head": [2, 0], "deprel": ["nsubj", "root"],
        "parses": [{"rank": 0, "words": ["LEFT-WALL", "dogs.n", "bark.v"], "links": [[0, 2, "WV"], [1, 2, "Sp"]], "f1": 1.0}],
    }  # fmt: skip
    path = tmp_path / "parses.jsonl"
    path.write_text(json.dumps(record) + "\n\n", encoding="utf-8")
    (sentence,) = link_parses(path, walls=False)
    assert sentence.parses[0].words == ("dogs", "bark")
    assert sentence.gold is not None
    assert link_f1(sentence.parses[0], sentence.gold) == 1
    for wrong, says in [
        ({"head": [2]}, "Got 2 words and 1 head instead"),
        ({"parses": [{"rank": 0}]}, "the sentence has no field 'words'"),
        ({"pos": 3}, "the sentence is invalid"),
    ]:
        path.write_text(json.dumps(record) + "\n" + json.dumps(record | wrong), encoding="utf-8")
        with pytest.raises(tl.errors.FormatError, match=rf"parses\.jsonl:2: .*{says}"):
            link_parses(path)
    path.write_text("{", encoding="utf-8")
    with pytest.raises(tl.errors.FormatError, match=r"parses\.jsonl:1"):
        link_parses(path)
    with pytest.raises(ValueError, match="one goodness and one rank per parse"):
        ParsedSentence("x", None, (sentence.parses[0],), (), ())


# --- ranking --------------------------------------------------------------------------------------------------------


def made_up(n: int, seed: int) -> ParseLists:
    """Sentences whose better parses have more links of the type Good next to each other."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(n):
        words = [f"w{k}" for k in rng.integers(0, 30, 8)]
        parses, goodness = [], []
        for _ in range(5):
            kinds = ["Good" if good else f"L{rng.integers(4)}" for good in rng.random(7) < 0.4]
            parses.append(tl.Dependencies(words, ["x"] * 8, [(k, k + 1, kind) for k, kind in enumerate(kinds)]))
            goodness.append(kinds.count("Good") / 7)
        found.append(ParsedSentence(f"sentence {number}", None, tuple(parses), tuple(goodness), (0, 1, 2, 3, 4)))
    return ParseLists(found)


@pytest.mark.parametrize("learner", ["rls", "rankrls"])
def test_the_ranker_learns(learner: str) -> None:
    train, test = made_up(40, 0), made_up(25, 1)
    kernels = [
        tl.On("parse", tl.Locality(3)).gaussian(30.0),
        typewise(tl.Locality(1, match="count")),
        typewise(tl.Locality(3)),
    ]
    ranker = ParseRanker(kernels, learner=learner, folds=5).fit(train)
    assert [choice.kernel for choice in ranker.choices_] == kernels
    assert ranker.choice_.tau == max(choice.tau for choice in ranker.choices_)
    tau = test.tau(ranker.scores(test))
    assert tau.shape == (25,)
    assert np.nanmean(tau) > 0.7
    assert abs(np.nanmean(test.tau(-test.ranks))) < 0.25
    orders = ranker.rank(test)
    best = [sentence.goodness[order[0]] for sentence, order in zip(test.sentences, orders, strict=True)]
    assert np.mean(best) > np.mean(test.goodness) + 0.1
    assert sorted(orders[3].tolist()) == [0, 1, 2, 3, 4]


def test_cross_validation_is_that_of_refitting() -> None:
    lists = made_up(20, 2)
    kernel = tl.On("parse", tl.Locality(3, match="exact")).normalized()
    (choice,) = ParseRanker([kernel], alphas=[0.5], folds=4, repeats=1, random_state=3).fit(lists).choices_
    fold = np.random.default_rng(3).permutation(20) % 4
    scores = np.empty(len(lists.parses))
    for k in range(4):
        inside, outside = lists[np.flatnonzero(fold != k)], lists[np.flatnonzero(fold == k)]
        model = tl.RLS(kernel, alpha=0.5).fit(inside.table(), inside.goodness)
        scores[fold[lists.qid] == k] = model.predict(outside.table())
    assert choice.tau == pytest.approx(np.nanmean(lists.tau(scores)), abs=1e-9)


def test_rounding_is_no_order() -> None:
    """Scores of parses that are alike differ by rounding only, whatever the threads: they are ties."""
    lists = made_up(30, 4)
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 3, len(lists.parses)) / 3 + 0.2
    rounded = scores * (1 + 1e-12 * rng.standard_normal(len(scores)))
    np.testing.assert_array_equal(lists.tau(rounded), lists.tau(scores))
    np.testing.assert_array_equal(lists.tau(scores), tl.metrics.kendall_tau_by_group(scores, lists.goodness, lists.qid))
    assert (tl.metrics.kendall_tau_by_group(rounded, lists.goodness, lists.qid) != lists.tau(scores)).any()
    apart = scores + 1e-5 * rng.random(len(scores))
    np.testing.assert_array_equal(lists.tau(apart), tl.metrics.kendall_tau_by_group(apart, lists.goodness, lists.qid))


@given(
    arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(0, 6)), elements=st.integers(-4, 4).map(float)),
    st.sampled_from([1e-12, 1e-9, 1e-3]),
)
def test_levels_are_the_order_of_values(values: np.ndarray, tolerance: float) -> None:
    found = _leveled(values, tolerance)
    np.testing.assert_array_equal(
        np.sign(found[:, :, None] - found[:, None]), np.sign(values[:, :, None] - values[:, None])
    )
    np.testing.assert_array_equal(_leveled(values * (1 + tolerance / 3), tolerance), found)


def test_lists() -> None:
    lists = made_up(6, 0)
    few = lists.sample(3, random_state=1)
    assert [len(sentence.parses) for sentence in few.sentences] == [3] * 6
    assert all(sentence.ranks == tuple(sorted(sentence.ranks)) for sentence in few.sentences)
    assert few.sample(9).sentences == few.sentences
    assert len(lists[2]) == 1
    assert lists[[4, 1]].sentences == [lists.sentences[4], lists.sentences[1]]
    assert lists.qid.tolist() == np.repeat(range(6), 5).tolist()
    table = lists.table(form="grct")
    assert set(table.names) == {"parse", "main", "tree", *FEATURES}
    whole = tl.On("parse", tl.Locality(3))(table)
    parts: Sequence[np.ndarray] = [tl.On(name, tl.Locality(3))(table) for name in FEATURES]
    np.testing.assert_allclose(sum(parts), whole)
    assert len(lists.table(form="lct")["tree"]) == 30
    both = tl.On("parse", tl.Locality(3).normalized()) + 0.5 * tl.On("main", tl.Locality(3).normalized())
    plain = tl.On("parse", tl.Locality(3))
    kernels = [
        _default_kernels()[5],
        plain,
        plain.normalized(),
        typewise(tl.Locality(1)),
        both,
        both.gaussian(0.7),
        plain.gaussian(9),
    ]
    for kernel, K in zip(kernels, _SharedMatrices(kernels, table), strict=True):
        np.testing.assert_allclose(K, kernel(table), atol=1e-12)
    with pytest.raises(tl.errors.InputTypeError, match=r"Sentence 0.*str, but a ParsedSentence is needed"):
        ParseLists(["a"])
    with pytest.raises(tl.errors.ParameterError, match="'learner' parameter"):
        ParseRanker(learner="svm")
    with pytest.raises(tl.errors.ParameterError, match=r"'kernels'.*non-empty sequence of kernels"):
        ParseRanker([])
    with pytest.raises(tl.errors.ParameterError, match="'folds' parameter"):
        ParseRanker(folds=7).fit(lists)
    with pytest.raises(tl.errors.ParameterError, match="This ParseRanker is not fitted"):
        ParseRanker().scores(lists)


def test_from_text_with_the_real_parser() -> None:
    if link_grammar_version() is None:
        pytest.skip("Link Grammar is not installed (apt install link-grammar)")
    gold = [
        tl.Dependencies.from_heads(["The", "dog", "saw", "a", "man"], None, [2, 3, 0, 5, 3]),
        tl.Dependencies.from_heads(["\x00"], None, [0]),
        tl.Dependencies.from_heads(
            ["Birds", "sing", "in", "the", "trees", "of", "the", "park"], None, [2, 0, 2, 5, 3, 5, 8, 6]
        ),
    ]
    lists, results = ParseLists.from_text(gold, k=5)
    assert len(results) == 3
    assert len(lists) == 2  # what is no text is reported
    assert "1" in results.summary()
    assert [len(group) for group in results][1] == 0
    assert results[1].status == "not text"
    assert 2 <= len(lists.sentences[1].parses) <= 5
    assert max(lists.sentences[0].goodness) == 1
    assert lists.sentences[1].ranks[0] == 0
    with pytest.raises(tl.errors.ParameterError, match="There are 2 texts but 3 gold parses"):
        ParseLists.from_text(gold, ["a", "b"])
