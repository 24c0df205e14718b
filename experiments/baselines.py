"""The baselines of the experiments, which use no trees: n-grams with a linear model, and flat features of parses.

The n-gram baseline represents a text by its word n-grams and, within words, character n-grams. Each kind has tf-idf
weights (logarithmic counts) and is normalized to length 1. The model is a linear one-vs-rest SVM (`LinearSVC` of
scikit-learn) on both kinds together. The lengths of the n-grams and C are chosen by cross-validation on the training
texts, with `coordinate_search` from the middle of each grid.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.svm import LinearSVC

from experiments.evaluation import coordinate_search
from treelet.structures import Treebank

# --- N-grams with a linear model ------------------------------------------------------------------------------------

NGRAM_GRIDS: dict[str, tuple[float, ...]] = {
    "words": (1, 2, 3, 4, 5),  # longest n-gram of words
    "characters": (0, 3, 4, 5, 6, 7, 8),  # longest n-gram of characters, 0 for none
    "C": tuple(2.0**k for k in range(-8, 9)),
}


def tune_ngrams(texts: Sequence[str], y: Any, groups: Any = None, seed: int = 0) -> dict[str, Any]:
    """Choose the settings of the n-gram baseline by five-fold cross-validation.

    Parameters
    ----------
    texts : sequence of str
        Words with spaces between them; case is ignored. Marks within a text are words, too.
    y : array-like
        Classes of the texts.
    groups : array-like, optional
        Documents of the texts: folds consist of whole documents.
    seed : int
        Seed of the folds.

    Returns
    -------
    dict
        ``words``, ``characters`` (the longest n-grams; 0: none), ``C``, the accuracy in ``cross_validation`` in
        percent, the number of settings ``tried``, and the parameters ``at_edge`` of their grid. There is nothing
        shorter than single words or no characters, so these are not edges.

    Examples
    --------
    >>> texts = ["who wrote it ?", "who sang it ?", "when was it ?", "when did it end ?"] * 5
    >>> setting = tune_ngrams(texts, ["HUM", "HUM", "NUM", "NUM"] * 5)
    >>> setting["cross_validation"]
    100.0
    >>> predict_ngrams(setting, texts, ["HUM", "HUM", "NUM", "NUM"] * 5, ["who ate it ?", "when ?"]).tolist()
    ['HUM', 'NUM']
    """
    y = np.asarray(y)
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class")
        folds = list(kind(5, shuffle=True, random_state=seed).split(np.zeros(len(y)), y, groups))

    @cache
    def features(words: float, characters: float) -> sp.csr_matrix:
        return ngram_features(words, characters, texts)[0]

    @cache
    def score(setting: tuple[Any, ...]) -> float:
        X = features(*setting[:2])
        correct = [_LinearSVC(setting[2]).fit(X[train], y[train]).predict(X[test]) == y[test] for train, test in folds]
        return float(np.concatenate(correct).mean())

    best = coordinate_search(score, (2.0, 4.0, 0.5), list(NGRAM_GRIDS.values()))
    setting: dict[str, Any] = dict(zip(NGRAM_GRIDS, best, strict=True))
    setting |= {"words": int(setting["words"]), "characters": int(setting["characters"])}
    at_edge = [name for name, grid in NGRAM_GRIDS.items() if setting[name] in (grid[0], grid[-1])]
    return setting | {
        "cross_validation": 100 * score(best),
        "tried": score.cache_info().currsize,
        "at_edge": [name for name in at_edge if (name, setting[name]) not in {("words", 1), ("characters", 0)}],
    }


def predict_ngrams(setting: dict[str, Any], texts: Sequence[str], y: Any, test_texts: Sequence[str]) -> NDArray[Any]:
    """Fit the n-gram baseline to the training texts. Return its predictions for the test texts."""
    X, X_test = ngram_features(setting["words"], setting["characters"], texts, test_texts)
    predicted: NDArray[Any] = _LinearSVC(setting["C"]).fit(X, y).predict(X_test)
    return predicted


def ngram_scores(
    setting: dict[str, Any], texts: Sequence[str], y: Any, test_texts: Sequence[str]
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return the classes, at least three, and the score of each class for each test text."""
    X, X_test = ngram_features(setting["words"], setting["characters"], texts, test_texts)
    model = _LinearSVC(setting["C"]).fit(X, y)
    return model.classes_, model.decision_function(X_test)


def describe_ngrams(setting: dict[str, Any]) -> str:
    """Format the chosen settings for a page.

    >>> describe_ngrams({"words": 2, "characters": 5, "C": 0.5})
    'words 1–2, characters 2–5, C=0.5'
    """
    words = "words 1" + (f"–{setting['words']}" if setting["words"] > 1 else "")
    characters = f", characters 2–{setting['characters']}" if setting["characters"] else ""
    return f"{words}{characters}, C={setting['C']:g}"


def ngram_features(words: float, characters: float, texts: Sequence[str], *others: Sequence[str]) -> list[Any]:
    """Return the n-gram features of the training texts and of other texts, with the same columns."""
    kinds = [TfidfVectorizer(ngram_range=(1, int(words)), token_pattern=r"\S+", sublinear_tf=True, dtype=np.float32)]
    if characters:
        kinds.append(
            TfidfVectorizer(analyzer="char_wb", ngram_range=(2, int(characters)), sublinear_tf=True, dtype=np.float32)
        )
    blocks = [[kind.fit_transform(texts) for kind in kinds]]
    blocks += [[kind.transform(other) for kind in kinds] for other in others]
    return [sp.hstack(row, format="csr") for row in blocks]


class _LinearSVC(LinearSVC):  # type: ignore[misc]
    """Without a warning if the solver stops early, as it does for large C. More iterations do not change what is chosen."""

    def __init__(self, C: float) -> None:
        super().__init__(C=C, max_iter=2000, random_state=0)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> _LinearSVC:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            super().fit(X, y, sample_weight)
        return self


# --- Flat features of parses ----------------------------------------------------------------------------------------

Feature = tuple[Any, ...]


def flat_features(banks: Sequence[Treebank]) -> list[Any]:
    """Return sparse matrices of flat features, one per bank, with one row per tree and the same columns.

    This is the baseline of reranking: no feature is larger than one production. The features are counts of
    productions, of adjacent labels under a parent, of pairs of parent and child, and of adjacent tags in the sentence.
    All candidates of a sentence have the same words, so n-grams of words carry no information. Each feature belongs to
    one node (two adjacent tags to the lowest node above both), so the features of each distinct subtree are counted once.

    >>> one, two = flat_features([Treebank(["(S (A a) (B b))"]), Treebank(["(S (A a) (B b))", "(S (A a))"])])
    >>> one.shape[1] == two.shape[1], float(one.sum()), two.sum(axis=1).ravel().tolist()
    (True, 9.0, [9.0, 5.0])
    """
    column_of: dict[Feature, int] = {}
    counted = [_count_features(bank, column_of) for bank in banks]
    return [
        sp.csr_array(trees @ sp.csr_array((np.ones(len(columns)), columns, starts), (len(starts) - 1, len(column_of))))
        for trees, columns, starts in counted
    ]


def _count_features(bank: Treebank, column_of: dict[Feature, int]) -> tuple[Any, Any, Any]:
    """Return the counts of distinct subtrees per tree, and the columns of the features at the root of each subtree."""
    bank = bank.compact()
    store, weights = bank.columns.store, bank.weights()
    trees = sp.csr_array((weights.weight, weights.node, weights.start), shape=(len(bank), len(store)))
    names, label, child = store.labels, store.label.tolist(), store.child.tolist()
    ends = store.child_start.tolist()
    first, last = [""] * len(store), [""] * len(store)  # the first and the last tag of each subtree
    columns: list[int] = []
    starts = [0]
    for node, (begin, end) in enumerate(pairwise(ends)):
        children = child[begin:end]
        if children:
            own, below = names[label[node]], [names[label[one]] for one in children]
            is_tag = all(ends[one] == ends[one + 1] for one in children)
            first[node], last[node] = (own, own) if is_tag else (first[children[0]], last[children[-1]])
            features: list[Feature] = [("production", own, *below)]
            if not is_tag:
                features += [("below", own, one) for one in below]
                features += [("beside", own, left, right) for left, right in pairwise(["", *below, ""])]
                features += [("tags", last[left], first[right]) for left, right in pairwise(children)]
            columns += [column_of.setdefault(feature, len(column_of)) for feature in features]
        starts.append(len(columns))
    return trees, np.array(columns, np.int64), np.array(starts, np.int64)
