"""The baseline for tree kernels: n-grams of words and of characters, with a linear model.

Texts are represented by word n-grams and, within words, character n-grams. Each kind has tf-idf
weights (logarithmic counts) and is normalized to length 1. The model is a linear one-vs-rest SVM
(`LinearSVC` of scikit-learn) on both kinds together. The lengths of n-grams and C are chosen by
cross-validation on the training texts. The search starts in the middle of each grid and moves to
better neighbors, one parameter after the other, until nothing changes.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.svm import LinearSVC

from experiments.climbing import Setting, climbed

SCALES: dict[str, tuple[float, ...]] = {
    "words": (1, 2, 3, 4, 5),
    "characters": (0, 3, 4, 5, 6, 7, 8),
    "C": tuple(2.0**k for k in range(-8, 9)),
}
"""From which the longest n-gram of words, that of characters (0: none) and C are chosen."""

START = {"words": 2.0, "characters": 4.0, "C": 0.5}
FOLDS = 5
STEPS = 2000  # of the solver; more change nothing that is chosen


class Answered(NamedTuple):
    """Predictions for the test texts, and the chosen settings."""

    predicted: NDArray[Any]
    chosen: dict[str, Any]


def answers(texts: Sequence[str], y: Any, test_texts: Sequence[str], groups: Any = None, seed: int = 0) -> Answered:
    """A class for each test text, and what was chosen on the training texts.

    Parameters
    ----------
    texts, test_texts : sequence of str
        Words with spaces between them; case does not count. Marks within a text (which words are meant) are words, too.
    y : array-like
        The classes of the training texts.
    groups : array-like, optional
        Of the training texts (documents): folds hold whole ones.
    seed : int
        For the folds.

    Returns
    -------
    predicted : ndarray
    chosen : dict
        ``words``, ``characters`` (the longest n-grams; 0: none), ``C``, the accuracy in ``cross_validation`` in per cent, how many settings
        were ``tried``, and which of them lie ``at_edge`` of their scale (words of one is no edge: there is nothing shorter).

    Examples
    --------
    >>> texts = ["who wrote it ?", "who sang it ?", "when was it ?", "when did it end ?"] * 5
    >>> predicted, chosen = answers(texts, ["HUM", "HUM", "NUM", "NUM"] * 5, ["who ate it ?", "when ?"])
    >>> predicted.tolist(), chosen["cross_validation"]
    (['HUM', 'NUM'], 100.0)
    """
    y = np.asarray(y)
    chosen = choose(texts, y, groups, seed)
    return Answered(fitted_answers(chosen, texts, y, test_texts), chosen)


def choose(texts: Sequence[str], y: Any, groups: Any = None, seed: int = 0) -> dict[str, Any]:
    """Settings by cross-validation; see `answers`."""
    y = np.asarray(y)
    folds = _folds(y, groups, seed)

    @cache
    def matrix(words: float, characters: float) -> sparse.csr_matrix:
        return vectorized(words, characters, texts)[0]

    @cache
    def score(setting: Setting) -> float:
        X = matrix(*setting[:2])
        right = [_machine(setting[2]).fit(X[train], y[train]).predict(X[test]) == y[test] for train, test in folds]
        return float(np.concatenate(right).mean())

    best = climbed(score, tuple(START.values()), list(SCALES.values()))
    found: dict[str, Any] = dict(zip(SCALES, best, strict=True))
    found |= {"words": int(found["words"]), "characters": int(found["characters"])}
    edges = [name for name, scale in SCALES.items() if found[name] in (scale[0], scale[-1])]
    return found | {
        "cross_validation": 100 * score(best),
        "tried": score.cache_info().currsize,
        "at_edge": [name for name in edges if (name, found[name]) not in {("words", 1), ("characters", 0)}],
    }


def fitted_answers(chosen: dict[str, Any], texts: Sequence[str], y: Any, test_texts: Sequence[str]) -> NDArray[Any]:
    """Fit a model with these settings to the training texts. Return its predictions for the test texts."""
    X, X_test = vectorized(chosen["words"], chosen["characters"], texts, test_texts)
    predicted: NDArray[Any] = _machine(chosen["C"]).fit(X, y).predict(X_test)
    return predicted


def fitted_values(
    chosen: dict[str, Any], texts: Sequence[str], y: Any, test_texts: Sequence[str]
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """The classes, at least three, and how sure such a machine is of each for each test text."""
    X, X_test = vectorized(chosen["words"], chosen["characters"], texts, test_texts)
    machine = _machine(chosen["C"]).fit(X, y)
    return machine.classes_, machine.decision_function(X_test)


def told(chosen: dict[str, Any]) -> str:
    """Format the chosen settings for a page.

    >>> told({"words": 2, "characters": 5, "C": 0.5})
    'words 1–2, characters 2–5, C=0.5'
    """
    words = "words 1" + (f"–{chosen['words']}" if chosen["words"] > 1 else "")
    characters = f", characters 2–{chosen['characters']}" if chosen["characters"] else ""
    return f"{words}{characters}, C={chosen['C']:g}"


def _folds(y: NDArray[Any], groups: Any, seed: int) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class")
        return list(kind(FOLDS, shuffle=True, random_state=seed).split(np.zeros(len(y)), y, groups))


def _machine(C: float) -> Any:
    return _Quiet(C=C, max_iter=STEPS, random_state=0)


class _Quiet(LinearSVC):  # type: ignore[misc]
    """Without a warning where the solver stops early, which large C make it do."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> _Quiet:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            super().fit(X, y, sample_weight)
        return self


def vectorized(words: float, characters: float, texts: Sequence[str], *others: Sequence[str]) -> list[Any]:
    """The texts, and others in the same columns, as rows of n-grams."""
    kinds = [TfidfVectorizer(ngram_range=(1, int(words)), token_pattern=r"\S+", sublinear_tf=True, dtype=np.float32)]
    if characters:
        kinds.append(
            TfidfVectorizer(analyzer="char_wb", ngram_range=(2, int(characters)), sublinear_tf=True, dtype=np.float32)
        )
    parts = [[kind.fit_transform(texts) for kind in kinds]]
    parts += [[kind.transform(more) for kind in kinds] for more in others]
    return [sparse.hstack(blocks, format="csr") for blocks in parts]
