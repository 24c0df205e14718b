"""The baseline of the experiments: n-grams with a linear model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments import baselines
from experiments.evaluation import coordinate_search

TEXTS = [
    f"{who} {what} it ?" for who in ("who", "whom", "when", "why") for what in ("wrote", "sang", "ate", "saw", "got")
]
LABELS = np.array([text.split()[0] for text in TEXTS])


def test_ngrams_are_tuned() -> None:
    setting = baselines.tune_ngrams(TEXTS, LABELS)
    predicted = baselines.predict_ngrams(setting, TEXTS, LABELS, ["When did it end ?", "whom ?"])
    assert predicted.tolist() == ["when", "whom"], "case is ignored"
    assert set(setting) == {"words", "characters", "C", "cross_validation", "tried", "at_edge"}
    assert setting["tried"] > 3
    assert baselines.tune_ngrams(TEXTS, LABELS, seed=0) == setting, "the same seed, the same settings"


def test_folds_hold_whole_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    documents = np.arange(len(TEXTS)) % 7
    folds: list[tuple[Any, Any]] = []

    class Recorded(baselines.StratifiedGroupKFold):  # type: ignore[misc]
        def split(self, *arguments: Any) -> Any:
            folds.extend(super().split(*arguments))
            return iter(folds)

    monkeypatch.setattr(baselines, "StratifiedGroupKFold", Recorded)
    setting = baselines.tune_ngrams(TEXTS, LABELS, documents, seed=1)
    assert sorted(np.concatenate([test for _, test in folds]).tolist()) == list(range(len(TEXTS)))
    for train, test in folds:
        assert not set(documents[train]) & set(documents[test])
    assert baselines.predict_ngrams(setting, TEXTS, LABELS, ["why ?"]).tolist() == ["why"]


def test_features_are_those_of_a_union() -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import FeatureUnion

    union = FeatureUnion(
        [
            ("words", TfidfVectorizer(ngram_range=(1, 3), token_pattern=r"\S+", sublinear_tf=True)),
            ("characters", TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), sublinear_tf=True)),
        ]
    )
    ours = baselines.ngram_features(3, 4, TEXTS, ["who won ?"])
    assert np.allclose(ours[0].toarray(), union.fit_transform(TEXTS).toarray(), atol=1e-6)
    assert np.allclose(ours[1].toarray(), union.transform(["who won ?"]).toarray(), atol=1e-6)


@pytest.mark.parametrize("edges", [[], ["C"]])
def test_an_edge_is_reported(edges: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        baselines, "coordinate_search", lambda score, start, scales: (1, 0, scales[2][-1] if edges else 0.5)
    )
    assert baselines.tune_ngrams(TEXTS, LABELS)["at_edge"] == edges


@given(st.tuples(st.integers(0, 8), st.integers(0, 5)), st.tuples(st.integers(0, 8), st.integers(0, 5)))
def test_coordinate_search_finds_the_only_top(start: tuple[int, int], top: tuple[int, int]) -> None:
    scales = [tuple(range(9)), tuple(range(6))]
    found = coordinate_search(lambda at: -((at[0] - top[0]) ** 2) - (at[1] - top[1]) ** 2, start, scales)
    assert found == top
