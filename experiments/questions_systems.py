"""The systems that classify questions: what each is made of, and from which scales its settings are chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedGroupKFold

from experiments import vectors
from experiments.baselines import ngram_features
from experiments.climbing import climbed
from experiments.data import corpus, questions
from treelet.formats.files import open_source
from treelet.formats.json_files import read_nbest
from treelet.kernels import ForestKernel, Kernel, Linear, PartialTree, Smoothed, SubsetTree
from treelet.learn import KernelSVC
from treelet.matrices import gram
from treelet.structures import Forest, ForestBank, Treebank, WordVectors

Rows = NDArray[np.intp]
Matrix = NDArray[np.float64]
Setting = dict[str, Any]
Column = tuple[Any, ...]
Term = tuple[float, Column, Kernel]
"""A summand of a kernel: its weight, what it compares, and how."""

FOLDS = 10
BAG, NGRAMS = "bag of words", "n-grams"
C = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
LAM = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
MU = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
BOTH = (False, True)
SHARE = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
TEMPERATURE = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
THRESHOLD = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
EXPONENT = (1, 2, 3, 4, 6, 8)


class System(NamedTuple):
    """A kernel machine: the scales of its settings, where choosing begins, and the kernel of a setting.

    What is not on a scale is as another system, `after`, has chosen it.
    """

    scales: Mapping[str, Sequence[Any]]
    start: Setting
    terms: Callable[[Setting], list[Term]]
    after: str = ""


class Questions:
    """Questions with their classes, in all the forms that kernels want; those are made when they are asked for.

    Training questions with the letters and digits of a test question are left out, and equal ones are in one fold.
    """

    def __init__(self, *, quick: bool, seed: int) -> None:
        self.quick, self.seed = quick, seed
        train, fine = questions("train", fine=True)
        test, test_fine = questions("test", fine=True)
        keys, hidden = letters(train), set(letters(test))
        kept = np.array([k for k, key in enumerate(keys) if key not in hidden][:: 10 if quick else 1])
        self.twins = len(train) - len([key for key in keys if key not in hidden])
        self.kept = kept
        self.trees = {"train": train[kept], "test": test}
        self.fine = {"train": np.array(fine)[kept], "test": np.array(test_fine)}
        self.coarse = {name: np.array([label.split(":")[0] for label in labels]) for name, labels in self.fine.items()}
        self.groups = np.unique(np.array(keys)[kept], return_inverse=True)[1]
        self.fold = self._folds()
        self._columns: dict[tuple[str, Column], Any] = {}
        self._vectors: tuple[WordVectors, dict[str, int]] | None = None

    def _folds(self) -> Rows:
        fold = np.empty(len(self.kept), np.intp)
        cut = StratifiedGroupKFold(FOLDS, shuffle=True, random_state=self.seed)
        for number, (_, rows) in enumerate(cut.split(fold, self.coarse["train"], self.groups)):
            fold[rows] = number
        return fold

    def texts(self, part: str) -> list[str]:
        return [" ".join(tree.words()) if tree else "" for tree in self.trees[part]]

    def column(self, part: str, column: Column) -> Any:
        """All questions of a part in one form."""
        if (part, column) not in self._columns:
            self._columns[part, column] = self._made(part, column)
        return self._columns[part, column]

    def _made(self, part: str, column: Column) -> Any:
        if column[0] == "tree":
            return self.trees[part]
        if column[0] == "words":
            return [dict.fromkeys(text.lower().split(), 1.0) for text in self.texts(part)]
        if column[0] == "grams":
            both = ngram_features(column[1], column[2], self.texts("train"), self.texts("test"))
            return both[part == "test"]
        return ForestBank([Forest.from_nbest(parses, temperature=column[1]) for parses in self.lists(part)])

    def lists(self, part: str) -> list[list[tuple[str, float]]]:
        """The twenty best parses of each question."""
        with open_source(corpus("qc_trees", f"{part}.nbest20.jsonl")) as source:
            found = [one.parses for one in read_nbest(source)]
        return [found[k] for k in self.kept] if part == "train" else found

    @property
    def word_vectors(self) -> tuple[WordVectors, dict[str, int]]:
        """Word vectors for the words of all questions, learned without the test questions; how much they were learned from."""
        if self._vectors is None:
            sentences = vectors.sentences(vectors.QUICK if self.quick else vectors.CORPORA)
            hidden = [tree.words() for tree in self.trees["test"] if tree]
            found, made = vectors.trained(sentences, hidden, seed=self.seed)
            forms = [word for bank in self.trees.values() for tree in bank if tree for word in tree.words()]
            self._vectors = vectors.of_forms(found, forms), made
        return self._vectors

    @lru_cache(maxsize=2)  # noqa: B019  # there is one, as long as the experiment
    def alike(self, threshold: float, exponent: float) -> vectors.Alike:
        """Words that are alike."""
        return vectors.Alike(self.word_vectors[0], threshold, exponent)

    def square(self, terms: Sequence[Term], rows: Rows) -> Matrix:
        """The kernel of some training questions with each other."""
        return sum(w * gram(kernel, taken(self.column("train", column), rows)) for w, column, kernel in terms)  # type: ignore[return-value]

    def across(self, terms: Sequence[Term]) -> Matrix:
        """The kernel of the test questions with the training questions."""
        return sum(w * gram(kernel, *(self.column(part, column) for part in ("test", "train"))) for w, column, kernel in terms)  # type: ignore[return-value]  # fmt: skip


def taken(column: Any, rows: Rows) -> Any:
    """Some of the questions."""
    return [column[k] for k in rows] if isinstance(column, list) else column[rows]


def letters(bank: Treebank) -> list[str]:
    """Return the letters and digits of a question, by which repeated questions are found.

    >>> letters(Treebank(["(S (A Who) (B 's) (C I))"]))
    ['whosi']
    """
    return ["".join(c for c in "".join(tree.words()).lower() if c.isalnum()) if tree else "" for tree in bank]


def systems(data: Questions) -> dict[str, System]:
    """By name, in the order of the table; with `quick`, one setting each."""
    words: Column = ("words",)

    def bag(at: Setting) -> list[Term]:
        return [(1.0, words, Linear().normalized())]

    def grams(at: Setting) -> list[Term]:
        return [(1.0, ("grams", at["words"], at["characters"]), Linear().normalized())]

    def sst(at: Setting) -> list[Term]:
        return [(1.0, ("tree",), SubsetTree(at["lam"], leaves=at["leaves"]).normalized())]

    def pt(at: Setting) -> list[Term]:
        return [(1.0, ("tree",), PartialTree(at["lam"], at["mu"], leaves=at["leaves"]).normalized())]

    def smoothed(at: Setting) -> list[Term]:
        alike = data.alike(at["threshold"], at["exponent"])
        kernel = Smoothed(alike, at["lam"], at["mu"], leaves=at["leaves"], threshold=at["threshold"])
        return [(1.0, ("tree",), kernel.normalized())]

    def forest(at: Setting) -> list[Term]:
        return [(1.0, ("forest", at["temperature"]), ForestKernel(at["lam"], leaves=at["leaves"]).normalized())]

    def both(one: Callable[[Setting], list[Term]], other: Callable[[Setting], list[Term]]) -> Callable[[Setting], list[Term]]:  # fmt: skip
        return lambda at: [
            *((1 - at["share"], column, kernel) for _, column, kernel in one(at)),
            *((at["share"], column, kernel) for _, column, kernel in other(at)),
        ]

    tree = {"leaves": BOTH, "lam": LAM}
    middle = {"leaves": True, "lam": 0.3, "C": 10.0}
    shared = {"share": SHARE, "C": C}
    half = {"share": 0.5, "C": 10.0}
    found = {
        BAG: System({"C": C}, {"C": 3.0}, bag),
        "SST": System({**tree, "C": C}, middle, sst),
        "PT": System({**tree, "mu": MU, "C": C}, {"leaves": True, "lam": 0.5, "mu": 0.3, "C": 10.0}, pt),
        "forest of 20 parses": System(
            {"temperature": TEMPERATURE, **tree, "C": C}, {"temperature": 4.0, **middle}, forest
        ),
        "smoothed PT": System(
            {"threshold": THRESHOLD, "exponent": EXPONENT, "C": C},
            {"threshold": 0.4, "exponent": 2, "C": 10.0},
            smoothed,
            "PT",
        ),
        "SST + bag of words": System(shared, half, both(sst, bag), "SST"),
        "PT + bag of words": System(shared, half, both(pt, bag), "PT"),
        "SST + n-grams": System(shared, half, both(sst, grams), "SST"),
    }
    if data.quick:
        return {
            name: system._replace(scales={key: (system.start[key],) for key in system.scales})
            for name, system in found.items()
        }
    return found


def chosen(
    system: System, given: Setting, data: Questions, rows: Rows, folds: Sequence[Rows], y: NDArray[Any]
) -> dict[str, Any]:
    """Settings by cross-validation on some training questions: `folds` are places among `rows`, each tested once."""
    names = list(system.scales)
    at_C = names.index("C")
    found: dict[Any, float] = {}
    last: dict[Any, Matrix] = {}

    def score(values: tuple[Any, ...]) -> float:
        if values not in found:
            at = given | dict(zip(names, values, strict=True))
            kernel = values[:at_C]
            if kernel not in last:
                last.clear()
                last[kernel] = data.square(system.terms(at), rows)
            found[values] = held_out(last[kernel], y[rows], folds, at["C"])
        return found[values]

    best = climbed(score, tuple(system.start[name] for name in names), list(system.scales.values()))
    score(best)
    setting = dict(zip(names, best, strict=True))
    return {
        "setting": given | setting,
        "cross_validation": 100 * found[best],
        "tried": len(found),
        "at_edge": [name for name in names if at_edge(setting[name], system.scales[name])],
    }


def at_edge(value: Any, scale: Sequence[Any]) -> bool:
    """Return whether a value is at an edge of a grid that could be extended.

    >>> at_edge(0.1, (0.1, 0.2, 0.3)), at_edge(0.2, (0.1, 0.2, 0.3)), at_edge(True, (False, True)), at_edge(1, (1,))
    (True, False, False, False)
    """
    return len(scale) > 2 and value in (scale[0], scale[-1])


def held_out(K: Matrix, y: NDArray[Any], folds: Sequence[Rows], C: float) -> float:
    """The share of questions that are right when their fold is left out."""
    right = 0
    for test in folds:
        train = np.setdiff1d(np.arange(len(y)), test)
        right += int((answered(K[np.ix_(train, train)], y[train], K[np.ix_(test, train)], C) == y[test]).sum())
    return right / len(y)


def answered(K: Matrix, y: NDArray[Any], across: Matrix, C: float) -> NDArray[Any]:
    """Return the predictions of one-vs-rest classifiers."""
    predicted: NDArray[Any] = KernelSVC("precomputed", C=C, n_jobs=1).fit(K, y).predict(across)
    return predicted
