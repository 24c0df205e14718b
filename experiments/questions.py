"""Question classification: predict which of six kinds of answer a question requires.

The data is the TREC questions of Li & Roth (2002), 5,452 for training and 500 for testing, with parse trees of a
Charniak-style parser. All settings are chosen by cross-validation on training questions. There are two tests. The first uses
the 500 test questions, once per system. The second, for more precision, uses ten folds of the training questions. The
settings for a fold are chosen on the five folds of the other half.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import eigsh
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.utils.extmath import randomized_svd

from experiments import Log, writing
from experiments.baselines import describe_ngrams, ngram_features, predict_ngrams, tune_ngrams
from experiments.data import corpus, questions
from experiments.evaluation import compare, compare_mcnemar, coordinate_search, holm, mean_score, mean_std, split_items
from experiments.writing import Claim
from treelet.formats import open_source
from treelet.formats.json_files import read_nbest
from treelet.kernels import ForestKernel, Kernel, Linear, PartialTree, Smoothed, SubsetTree
from treelet.learn import KernelSVC
from treelet.matrices import gram
from treelet.structures import Forest, ForestBank, Treebank, WordVectors

Rows = NDArray[np.intp]
Matrix = NDArray[np.float64]
Labels = NDArray[Any]

FOLDS = 10
BAG, NGRAMS = "bag of words", "n-grams"
COMPARISONS = (  # in addition to those with n-grams and with the bag of words
    ("smoothed PT", "PT"),
    ("forest of 20 parses", "SST"),
    ("SST + bag of words", "SST"),
    ("PT + bag of words", "PT"),
    ("SST", "PT"),
)
FINE_SYSTEMS = (BAG, NGRAMS, "SST")  # systems that also predict the fine classes
CURVE_SYSTEMS = (BAG, NGRAMS, "SST", "PT", "SST + n-grams")  # systems with a learning curve
PUBLISHED = [  # test accuracies in percent for these questions, with trees of other parsers
    ("bag of words", "86.2"),
    ("SST, constituency trees", "91.4"),
    ("PT, constituency trees", "91.0"),
    ("smoothed PT, dependency trees of another parser", "94.0–95.0"),
]

# --- Data -----------------------------------------------------------------------------------------------------------


class QuestionData:
    """The questions with their classes and folds, and all representations that kernels need, created on first use.

    Training questions with the letters and digits of a test question are removed. Repeated questions are in one fold.
    """

    def __init__(self, *, quick: bool, seed: int) -> None:
        self.quick, self.seed = quick, seed
        train, fine = questions("train", fine=True)
        test, test_fine = questions("test", fine=True)
        keys, test_keys = letters(train), set(letters(test))
        unseen = [k for k, key in enumerate(keys) if key not in test_keys]
        self.kept = np.array(unseen[:: 10 if quick else 1])
        self.removed = len(train) - len(unseen)
        self.trees = {"train": train[self.kept], "test": test}
        self.fine = {"train": np.array(fine)[self.kept], "test": np.array(test_fine)}
        self.coarse = {part: np.array([label.split(":")[0] for label in labels]) for part, labels in self.fine.items()}
        self.groups = np.unique(np.array(keys)[self.kept], return_inverse=True)[1]
        self.fold = np.empty(len(self.kept), np.intp)
        splitter = StratifiedGroupKFold(FOLDS, shuffle=True, random_state=seed)
        for number, (_, rows) in enumerate(splitter.split(self.fold, self.coarse["train"], self.groups)):
            self.fold[rows] = number
        self._representations: dict[tuple[str, tuple[Any, ...]], Any] = {}

    def texts(self, part: str) -> list[str]:
        return [" ".join(tree.words()) if tree else "" for tree in self.trees[part]]

    def representation(self, part: str, kind: tuple[Any, ...]) -> Any:
        """Return all questions of a part: as trees, bags of words, n-grams of given lengths, or forests of a temperature."""
        if (part, kind) not in self._representations:
            self._representations[part, kind] = self._represent(part, kind)
        return self._representations[part, kind]

    def _represent(self, part: str, kind: tuple[Any, ...]) -> Any:
        if kind[0] == "tree":
            return self.trees[part]
        if kind[0] == "words":
            return [dict.fromkeys(text.lower().split(), 1.0) for text in self.texts(part)]
        if kind[0] == "n-grams":
            return ngram_features(kind[1], kind[2], self.texts("train"), self.texts("test"))[part == "test"]
        with open_source(corpus("qc_trees", f"{part}.nbest20.jsonl")) as source:
            lists = [parses for _, parses, _ in read_nbest(source)]
        lists = [lists[k] for k in self.kept] if part == "train" else lists
        return ForestBank([Forest.from_nbest(parses, temperature=kind[1]) for parses in lists])

    @cached_property
    def word_vectors(self) -> tuple[WordVectors, dict[str, int]]:
        """Vectors for the words of all questions, trained without the test questions, and the size of the training data."""
        sentences = read_sentences(("qc_trees", "questionbank") if self.quick else (*TREE_CORPORA, *COLUMN_CORPORA))
        test = [tree.words() for tree in self.trees["test"] if tree]
        vectors, sizes = train_word_vectors(sentences, test, seed=self.seed)
        return vectors_of_forms(vectors, self.word_forms()), sizes

    def word_forms(self) -> list[str]:
        """Return the words of all questions as they are in the trees."""
        return [word for bank in self.trees.values() for tree in bank if tree for word in tree.words()]

    @lru_cache(maxsize=2)  # noqa: B019  # there is one object per experiment
    def similar_words(self, threshold: float, exponent: float) -> SimilarWords:
        return SimilarWords(self.word_vectors[0], threshold, exponent)

    def gram(self, terms: Sequence[Term], rows: Rows) -> Matrix:
        """Return the kernel matrix of some training questions."""
        total: Any = 0
        for weight, kind, kernel in terms:
            column = self.representation("train", kind)
            some = [column[k] for k in rows] if isinstance(column, list) else column[rows]
            total = total + weight * gram(kernel, some)
        return np.asarray(total)

    def cross_gram(self, terms: Sequence[Term]) -> Matrix:
        """Return the kernel matrix of the test questions with the training questions."""
        total: Any = 0
        for weight, kind, kernel in terms:
            total = total + weight * gram(kernel, self.representation("test", kind), self.representation("train", kind))
        return np.asarray(total)


def letters(bank: Treebank) -> list[str]:
    """Return the letters and digits of each question, by which repeated questions are found.

    >>> letters(Treebank(["(S (A Who) (B 's) (C I))"]))
    ['whosi']
    """
    return ["".join(c for c in "".join(tree.words()).lower() if c.isalnum()) if tree else "" for tree in bank]


# --- Systems and their settings ---------------------------------------------------------------------------------------

Setting = dict[str, Any]
Term = tuple[float, tuple[Any, ...], Kernel]
"""A term of a sum of kernels: weight, representation, kernel."""


class System(NamedTuple):
    """A kernel machine: the grids of its parameters, the start of the search, and the kernel of a setting.

    Parameters without a grid are those that the system `after` has chosen.
    """

    grids: Mapping[str, Sequence[Any]]
    start: Setting
    terms: Callable[[Setting], list[Term]]
    after: str = ""


def systems(data: QuestionData) -> dict[str, System]:
    """Return the systems in the order of the table. In a quick run, each has one setting."""

    def bag(at: Setting) -> list[Term]:
        return [(1.0, ("words",), Linear().normalized())]

    def ngrams(at: Setting) -> list[Term]:
        return [(1.0, ("n-grams", at["words"], at["characters"]), Linear().normalized())]

    def sst(at: Setting) -> list[Term]:
        return [(1.0, ("tree",), SubsetTree(at["lam"], leaves=at["leaves"]).normalized())]

    def pt(at: Setting) -> list[Term]:
        return [(1.0, ("tree",), PartialTree(at["lam"], at["mu"], leaves=at["leaves"]).normalized())]

    def smoothed(at: Setting) -> list[Term]:
        similar = data.similar_words(at["threshold"], at["exponent"])
        kernel = Smoothed(similar, at["lam"], at["mu"], at["leaves"], at["threshold"], nodes="leaves")
        return [(1.0, ("tree",), kernel.normalized())]

    def forest(at: Setting) -> list[Term]:
        return [(1.0, ("forest", at["temperature"]), ForestKernel(at["lam"], leaves=at["leaves"]).normalized())]

    def combined(
        trees: Callable[[Setting], list[Term]], words: Callable[[Setting], list[Term]]
    ) -> Callable[[Setting], list[Term]]:
        return lambda at: [
            *((1 - at["share"], kind, kernel) for _, kind, kernel in trees(at)),
            *((at["share"], kind, kernel) for _, kind, kernel in words(at)),
        ]

    C = {"C": (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)}
    tree = {"leaves": (False, True), "lam": (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)}
    mu = {"mu": (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)}
    temperature = {"temperature": (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)}
    similarity = {"threshold": (0.3, 0.4, 0.5, 0.6, 0.7, 0.8), "exponent": (1, 2, 3, 4, 6, 8)}
    share = {"share": (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)}
    tree_start = {"leaves": True, "lam": 0.3, "C": 10.0}
    pt_start = {"leaves": True, "lam": 0.5, "mu": 0.3, "C": 10.0}
    smoothed_start = {"threshold": 0.4, "exponent": 2, "C": 10.0}
    sum_start = {"share": 0.5, "C": 10.0}
    every = {
        BAG: System(C, {"C": 3.0}, bag),
        "SST": System({**tree, **C}, tree_start, sst),
        "PT": System({**tree, **mu, **C}, pt_start, pt),
        "forest of 20 parses": System({**temperature, **tree, **C}, {"temperature": 4.0, **tree_start}, forest),
        "smoothed PT": System({**similarity, **C}, smoothed_start, smoothed, "PT"),
        "SST + bag of words": System({**share, **C}, sum_start, combined(sst, bag), "SST"),
        "PT + bag of words": System({**share, **C}, sum_start, combined(pt, bag), "PT"),
        "SST + n-grams": System({**share, **C}, sum_start, combined(sst, ngrams), "SST"),
    }
    if data.quick:
        return {
            name: system._replace(grids={key: (system.start[key],) for key in system.grids})
            for name, system in every.items()
        }
    return every


def choose_setting(
    system: System, inherited: Setting, data: QuestionData, rows: Rows, folds: Sequence[Rows], y: Labels
) -> dict[str, Any]:
    """Choose the setting of a system by cross-validation on some training questions. `folds` are indices of `rows`."""
    names = list(system.grids)
    scores: dict[Any, float] = {}
    last: dict[Any, Matrix] = {}  # the last kernel matrix: C, the last parameter, does not change it

    def score(values: tuple[Any, ...]) -> float:
        if values not in scores:
            at = inherited | dict(zip(names, values, strict=True))
            if values[:-1] not in last:
                last.clear()
                last[values[:-1]] = data.gram(system.terms(at), rows)
            scores[values] = cross_validated_accuracy(last[values[:-1]], y[rows], folds, at["C"])
        return scores[values]

    best = coordinate_search(score, tuple(system.start[name] for name in names), list(system.grids.values()))
    score(best)
    setting = dict(zip(names, best, strict=True))
    return {
        "setting": inherited | setting,
        "cross_validation": 100 * scores[best],
        "tried": len(scores),
        "at_edge": [
            name for name, grid in system.grids.items() if len(grid) > 2 and setting[name] in (grid[0], grid[-1])
        ],
    }


def cross_validated_accuracy(K: Matrix, y: Labels, folds: Sequence[Rows], C: float) -> float:
    """Return the share of correct predictions, each from a model that was trained without the fold."""
    correct = 0
    for test in folds:
        train = np.setdiff1d(np.arange(len(y)), test)
        correct += int((predict(K[np.ix_(train, train)], y[train], K[np.ix_(test, train)], C) == y[test]).sum())
    return correct / len(y)


def predict(K: Matrix, y: Labels, cross: Matrix, C: float) -> Labels:
    """Return the predictions of one-vs-rest classifiers."""
    predicted: Labels = KernelSVC("precomputed", C=C, n_jobs=1).fit(K, y).predict(cross)
    return predicted


# --- Protocol -------------------------------------------------------------------------------------------------------


def run(*, quick: bool = False, n_jobs: int = 1, seed: int = 0, log: Log = lambda text: None) -> dict[str, Any]:
    """Run all systems.

    With `quick`, a tenth of the training questions, one setting per kernel, and word vectors from questions only. There is
    one thread, whatever `n_jobs` is, because times are compared.
    """
    data = QuestionData(quick=quick, seed=seed)
    protocol = Protocol(data, log)
    log(f"{len(data.kept)} training and {len(data.coarse['test'])} test questions; {data.removed} in both are removed")
    rows = [protocol.evaluate_ngrams()]
    rows += [protocol.evaluate(name, system) for name, system in systems(data).items()]
    folds = protocol.items("fold ")
    names = [row["system"] for row in rows]
    pairs = [(a, b) for b in (NGRAMS, BAG) for a in names if a != b and (a, b) != (BAG, NGRAMS)]
    pairs += COMPARISONS
    correct = protocol.correct["test"]
    for row in rows:
        row["folds"] = mean_score(folds, row["system"])
    return {
        "rows": rows,
        "train": len(data.kept),
        "test": len(data.coarse["test"]),
        "twins": data.removed,
        "doubles": len(data.kept) - len(set(data.groups.tolist())),
        "tests": {
            "folds": [compare(folds, a, b) for a, b in pairs],
            "test": [compare_mcnemar(a, correct[a], b, correct[b]) for a, b in pairs],
            "bootstrap": [compare(protocol.items("test"), a, b) for a, b in pairs],
        },
        "fine": protocol.fine_classes(),
        "vectors": protocol.word_similarity(),
        "published": [{"method": method, "accuracy": value} for method, value in PUBLISHED],
        "learning_curve": protocol.learning_curve(),
        "end_to_end": [end_to_end(name) for name in ("SST", "PT")] if not quick else [],
        "items": protocol.items(),
    }


class Protocol:
    """The chosen settings and the correct predictions so far.

    Attributes
    ----------
    chosen : dict
        Three choices per system: on all training questions, on the first five folds, and on the other folds.
    correct : dict
        Whether each prediction is correct, by part (``test``, ``fold 0`` to ``fold 9``, ``fine test``, ...) and system.
    matrices : dict
        Kernel matrices with the settings of all training questions, for learning curves and fine classes.
    """

    def __init__(self, data: QuestionData, log: Log) -> None:
        self.data, self.log = data, log
        self.y, self.y_test = data.coarse["train"], data.coarse["test"]
        self.chosen: dict[str, list[dict[str, Any]]] = {}
        self.correct: dict[str, dict[str, NDArray[np.bool_]]] = {}
        self.matrices: dict[str, tuple[NDArray[np.float32], NDArray[np.float32]]] = {}

    def tuning_sets(self) -> list[tuple[Rows, list[Rows]]]:
        """Return the three sets for the choice of settings: training questions, and their folds as indices."""
        fold = self.data.fold
        halves = [np.flatnonzero(fold // 5 == half) for half in (0, 1)]
        return [
            (rows, [np.flatnonzero(fold[rows] % 5 == k) for k in range(5)]) for rows in (np.arange(len(fold)), *halves)
        ]

    def record(self, name: str, part: str, correct: Any) -> None:
        self.correct.setdefault(part, {})[name] = np.asarray(correct)

    def items(self, prefix: str = "") -> list[dict[str, Any]]:
        """Return the correct predictions of the parts that begin with a prefix."""
        parts, data = [], self.data
        for part, by_system in self.correct.items():
            if part.startswith(prefix):
                test = part.endswith("test")
                rows = range(len(self.y_test)) if test else np.flatnonzero(data.fold == int(part.split()[-1]))
                ids = [f"test/{k}" if test else f"train/{data.kept[k]}" for k in rows]
                parts.append(split_items(part, len(self.y) - (0 if test else len(ids)), ids, by_system))
        return parts

    def evaluate(self, name: str, system: System) -> dict[str, Any]:
        """Choose the settings of a system, test it, and return its row of the table."""
        begin = time.process_time()
        earlier = [self.chosen[other] for other in (NGRAMS, system.after) if other in self.chosen]
        self.chosen[name] = []
        for number, (rows, folds) in enumerate(self.tuning_sets()):
            # Settings of earlier systems on the same questions, without C.
            inherited: Setting = {}
            for choices in earlier:
                setting = choices[number]["setting"]
                inherited |= {
                    key: setting[key] for key in ("words", "characters", "leaves", "lam", "mu") if key in setting
                }
            self.chosen[name].append(choose_setting(system, inherited, self.data, rows, folds, self.y))
        at = self.chosen[name][0]["setting"]
        terms = system.terms(at)
        K, cross = self.data.gram(terms, np.arange(len(self.y))), self.data.cross_gram(terms)
        model = KernelSVC("precomputed", C=at["C"], n_jobs=1).fit(K, self.y)
        self.record(name, "test", model.predict(cross) == self.y_test)
        if name in {*CURVE_SYSTEMS, *FINE_SYSTEMS}:
            self.matrices[name] = K.astype(np.float32), cross.astype(np.float32)
        self._evaluate_folds(name, system, self.y, "fold")
        return self._row(name, begin, len(model.support_))

    def _evaluate_folds(self, name: str, system: System, y: Labels, part: str) -> None:
        """Test each fold with the settings of the half that does not contain it, trained on all other folds."""
        for half in (0, 1):
            at = self.chosen[name][2 - half]["setting"]
            K = self.data.gram(system.terms(at), np.arange(len(y)))
            for number in range(5 * half, 5 * half + 5):
                test, train = self._fold(number)
                predicted = predict(K[np.ix_(train, train)], y[train], K[np.ix_(test, train)], at["C"])
                self.record(name, f"{part} {number}", predicted == y[test])

    def _fold(self, number: int) -> tuple[Rows, Rows]:
        """Return the test and training questions of a fold."""
        return np.flatnonzero(self.data.fold == number), np.flatnonzero(self.data.fold != number)

    def evaluate_ngrams(self) -> dict[str, Any]:
        """Evaluate the n-gram baseline in the same way."""
        begin = time.process_time()
        data, texts = self.data, self.data.texts("train")
        self.chosen[NGRAMS] = []
        for rows, _ in self.tuning_sets():
            setting = tune_ngrams([texts[k] for k in rows], self.y[rows], data.groups[rows], data.seed)
            self.chosen[NGRAMS].append({"setting": setting, **setting})
        self._test_ngrams(self.y, self.y_test, "")
        return self._row(NGRAMS, begin, None)

    def _test_ngrams(self, y: Labels, y_test: Labels, prefix: str) -> None:
        texts, settings = self.data.texts("train"), [choice["setting"] for choice in self.chosen[NGRAMS]]
        predicted = predict_ngrams(settings[0], texts, y, self.data.texts("test"))
        self.record(NGRAMS, f"{prefix}test", predicted == y_test)
        for number in range(FOLDS):
            test, train = self._fold(number)
            at = settings[2 - number // 5]
            predicted = predict_ngrams(at, [texts[k] for k in train], y[train], [texts[k] for k in test])
            self.record(NGRAMS, f"{prefix}fold {number}", predicted == y[test])

    def _row(self, name: str, begin: float, support: int | None) -> dict[str, Any]:
        choices = self.chosen[name]
        row = {
            "system": name,
            "chosen": [{key: choice[key] for key in ("setting", "tried", "at_edge")} for choice in choices],
            "cross_validation": choices[0]["cross_validation"],
            "accuracy": 100 * float(np.mean(self.correct["test"][name])),
            "support": support,
            "cpu_seconds": time.process_time() - begin,
        }
        folds = np.mean([np.mean(self.correct[f"fold {k}"][name]) for k in range(FOLDS)])
        self.log(
            f"{name}: {choices[0]['setting']}, {sum(choice['tried'] for choice in choices)} tried, cross-validation "
            f"{row['cross_validation']:.2f}, test {row['accuracy']:.1f}, folds {100 * folds:.2f}, {row['cpu_seconds']:.0f} s"
        )
        return row

    def fine_classes(self) -> dict[str, Any]:
        """Evaluate the fifty fine classes, with the settings of the coarse classes."""
        y, y_test = self.data.fine["train"], self.data.fine["test"]
        self._test_ngrams(y, y_test, "fine ")
        for name in FINE_SYSTEMS:
            if name != NGRAMS:
                K, cross = (matrix.astype(float) for matrix in self.matrices[name])
                self.record(name, "fine test", predict(K, y, cross, self.chosen[name][0]["setting"]["C"]) == y_test)
                self._evaluate_folds(name, systems(self.data)[name], y, "fine fold")
        folds = self.items("fine fold")
        correct = self.correct["fine test"]
        pairs = [(name, NGRAMS) for name in FINE_SYSTEMS if name != NGRAMS] + [("SST", BAG)]
        return {
            "classes": len(np.unique(y)),
            "rows": [
                {"system": name, "accuracy": 100 * float(correct[name].mean()), "folds": mean_score(folds, name)}
                for name in FINE_SYSTEMS
            ],
            "tests": {
                "folds": [compare(folds, a, b) for a, b in pairs],
                "test": [compare_mcnemar(a, correct[a], b, correct[b]) for a, b in pairs],
            },
        }

    def word_similarity(self) -> dict[str, Any]:
        """Describe the data of the word vectors, and the effect of a cut-off on PT with the settings of PT."""
        vectors, sizes = self.data.word_vectors
        at = self.chosen["PT"][0]["setting"]
        options = {key: at[key] for key in ("lam", "mu", "leaves")}
        rows, folds = self.tuning_sets()[0]
        cut_offs = []
        for threshold in (None, 0.8, 0.6, 0.4):
            kernel = PartialTree(**options)
            if threshold is not None:
                kernel = Smoothed(vectors, **options, threshold=threshold, nodes="leaves")
            K = self.data.gram([(1.0, ("tree",), kernel.normalized())], rows)
            cut_offs.append(
                {
                    "threshold": threshold,
                    "cross_validation": 100 * cross_validated_accuracy(K, self.y, folds, at["C"]),
                    "lowest": float(np.linalg.eigvalsh(K[:1000, :1000])[0]),
                    "looked_at": min(1000, len(K)),
                }
            )
        smoothed = self.chosen["smoothed PT"][0]["setting"]
        return sizes | {
            "cut_off": cut_offs,
            "known": len(vectors),
            "forms": len(set(self.data.word_forms())),
            "share": self.data.similar_words(smoothed["threshold"], smoothed["exponent"]).share,
        }

    def learning_curve(self) -> dict[str, Any]:
        """Measure the test accuracy with three random samples of each size, with the settings of all questions."""
        rng = np.random.default_rng(self.data.seed)
        orders = [rng.permutation(len(self.y)) for _ in range(3)]
        sizes = [int(len(self.y) * share) for share in (0.05, 0.1, 0.25, 0.5, 0.75)]
        curve: dict[str, Any] = {"sizes": [*sizes, len(self.y)], "draws": len(orders)}
        texts, test_texts = self.data.texts("train"), self.data.texts("test")

        def accuracy(name: str, rows: Rows) -> float:
            at = self.chosen[name][0]["setting"]
            if name == NGRAMS:
                predicted = predict_ngrams(at, [texts[k] for k in rows], self.y[rows], test_texts)
            else:
                K, cross = (matrix.astype(float) for matrix in self.matrices[name])
                predicted = predict(K[np.ix_(rows, rows)], self.y[rows], cross[:, rows], at["C"])
            return 100 * float(np.mean(predicted == self.y_test))

        for name in CURVE_SYSTEMS:
            points = [mean_std(accuracy(name, np.sort(order[:size])) for order in orders) for size in sizes]
            curve[name] = [*points, mean_std([100 * float(np.mean(self.correct["test"][name]))])]
        return curve


def end_to_end(name: str) -> dict[str, Any]:
    """Measure the CPU seconds on one core from the files to the predictions."""
    kernel = {"SST": SubsetTree(lam=0.4), "PT": PartialTree(lam=0.4, mu=0.4)}[name].normalized()
    clock = [time.process_time()]
    train, labels = questions("train")
    test, test_labels = questions("test")
    clock.append(time.process_time())
    model = KernelSVC(kernel=kernel, C=10.0, n_jobs=1).fit(train, labels)
    clock.append(time.process_time())
    accuracy = 100 * float(np.mean(model.predict(test) == np.array(test_labels)))
    clock.append(time.process_time())
    read, fit, prediction = np.diff(clock).tolist()
    return {
        "kernel": name,
        "cpu_seconds": {"total": clock[-1] - clock[0], "read": read, "fit": fit, "predict": prediction},
        "accuracy": accuracy,
        "peers_cpu_seconds": {"SVM-Light-TK": {"SST": 107, "PT": 294}[name], "KeLP": {"SST": 163, "PT": 189}[name]},
    }


# --- Word vectors: singular vectors of weighted co-occurrences (Levy, Goldberg & Dagan 2015) ----------------------------
#
# Two words of a sentence co-occur if they are at most five words apart, with the weight 1 / distance. Counts become positive
# pointwise mutual information, with context counts to the power 0.75. The vectors are the left singular vectors, each
# multiplied by the square root of its singular value. Words are in lower case, and digits are zeros.

TREE_CORPORA = {  # bracketed trees, of which only the words are read; without the test questions
    "qc_trees": ("train.tsv",),
    "questionbank": ("4000qs.mrg",),
    "ptb_sample": ("wsj_sample.clean.tsv",),
    "masc_srl": ("trees.tsv",),
    "craft": ("trees.clean.tsv",),
    "semeval2010_t8": ("train.trees.tsv", "test.trees.tsv"),
}
COLUMN_CORPORA = {  # one word per line, in the given column
    "conll2000": (("train.txt", "test.txt"), 0),
    "conll04": (("train.txt", "dev.txt", "test.txt"), 1),
    "ud_ewt": (("en_ewt-ud-train.conllu", "en_ewt-ud-dev.conllu", "en_ewt-ud-test.conllu"), 1),
    "ud_atis": (("en_atis-ud-train.conllu", "en_atis-ud-dev.conllu", "en_atis-ud-test.conllu"), 1),
}


def read_sentences(corpora: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Read the normalized words of the sentences of corpora."""
    for name in corpora:
        files, column = COLUMN_CORPORA.get(name) or (TREE_CORPORA[name], -1)
        for file in files:
            with open_source(corpus(name, file)) as source:
                lines = (line for _, line in source.text_lines())
                if name in TREE_CORPORA:
                    leaves = re.compile(r"[( ]([^()\s]+)\)")
                    yield from (tuple(map(normalize_word, leaves.findall(line))) for line in lines)
                else:
                    yield from read_columns(lines, column)


def read_columns(lines: Iterable[str], column: int) -> Iterator[tuple[str, ...]]:
    """Read sentences with one word per line. An empty line or the head of a document ends a sentence.

    >>> list(read_columns(["a X", "B Y", "", "#doc 3", "c Z"], 0))
    [('a', 'b'), ('c',)]
    """
    words: list[str] = []
    for line in lines:
        cells = line.split()
        if not cells or line.startswith("#"):
            if words:
                yield tuple(words)
            words = []
        elif column == 0 or cells[0].isdigit():  # not a word of several tokens, nor an empty node
            words.append(normalize_word(cells[column]))
    if words:
        yield tuple(words)


def normalize_word(word: str) -> str:
    """Return a word in lower case, with zeros as digits.

    >>> normalize_word("May"), normalize_word("1,492")
    ('may', '0,000')
    """
    return re.sub(r"\d", "0", word.lower())


def train_word_vectors(
    sentences: Iterable[Sequence[str]], without: Iterable[Sequence[str]] = (), dimensions: int = 200, seed: int = 0
) -> tuple[WordVectors, dict[str, int]]:
    """Return vectors of the words that occur at least five times, and the size of the training data.

    Each distinct sentence counts once. Sentences with the letters of a sentence of `without` are removed.

    >>> texts = [(a, b, f"x{k}") for k in range(9) for a, b in [("the", "cat"), ("the", "dog"), ("my", "car")]]
    >>> vectors, sizes = train_word_vectors(texts, dimensions=4)
    >>> sizes["words"], vectors.similarity("cat", "dog") > vectors.similarity("cat", "car")
    (5, True)
    """

    def sentence_letters(sentence: Iterable[str]) -> str:
        return "".join(c for c in "".join(map(normalize_word, sentence)) if c.isalnum())

    hidden = {sentence_letters(sentence) for sentence in without}
    distinct = [
        sentence for sentence in dict.fromkeys(map(tuple, sentences)) if sentence_letters(sentence) not in hidden
    ]
    tokens = np.array([word for sentence in distinct for word in sentence])
    names, codes, counts = np.unique(tokens, return_inverse=True, return_counts=True)
    frequent = np.flatnonzero(counts >= 5)
    number = np.full(len(names), -1)  # the number of each frequent word, -1 for the others
    number[frequent] = np.arange(len(frequent))
    word = number[codes]
    sentence_of = np.repeat(np.arange(len(distinct)), [len(sentence) for sentence in distinct])
    # Rare words are ignored, but count for the distance.
    total = sparse.csr_matrix((len(frequent), len(frequent)))
    for distance in range(1, 6):
        first, second = word[:-distance], word[distance:]
        near = (sentence_of[:-distance] == sentence_of[distance:]) & (first >= 0) & (second >= 0)
        weights = np.full(int(near.sum()), 1 / distance)
        total = total + sparse.csr_matrix((weights, (first[near], second[near])), total.shape)
    cells = (total + total.T).tocsr()
    word_counts = np.asarray(cells.sum(axis=1)).ravel()
    context_counts = word_counts**0.75
    cells = cells.tocoo()
    # Pointwise mutual information of each pair that co-occurs.
    values = np.log(cells.data * context_counts.sum() / (word_counts[cells.row] * context_counts[cells.col]))
    information = sparse.csr_matrix((np.maximum(values, 0), (cells.row, cells.col)), cells.shape)
    information.eliminate_zeros()
    rank = min(dimensions, len(frequent) - 1)
    left, singular, _ = randomized_svd(information, rank, n_iter=4, random_state=seed)
    sizes = {"sentences": len(distinct), "tokens": len(tokens), "words": len(frequent), "pairs": int(information.nnz)}
    return WordVectors(names[frequent].tolist(), left * np.sqrt(singular)), sizes


def vectors_of_forms(vectors: WordVectors, words: Iterable[str]) -> WordVectors:
    """Return vectors for words as they are written, with capitals and digits.

    >>> forms = vectors_of_forms(WordVectors(["may", "0"], [[1, 0], [0, 1]]), ["May", "7", "unheard"])
    >>> len(forms), forms.similarity("7", "May")
    (2, 0.0)
    """
    known = [word for word in dict.fromkeys(words) if normalize_word(word) in vectors]
    return WordVectors(known, vectors.unit[[vectors.index[normalize_word(word)] for word in known]])


class SimilarWords(WordVectors):
    """Word similarities for which kernels stay positive semi-definite: a power of the cosine, times a constant.

    If similarities up to a threshold are set to 0, the matrix of the others can have negative eigenvalues. A support vector
    machine then fails. Here all similarities of different words are multiplied by `share`, the largest number for which the
    similarity matrix of all words has no negative eigenvalue.

    Parameters
    ----------
    vectors : WordVectors
        The word vectors.
    threshold : float
        Threshold of the kernel for the cosine.
    exponent : float
        Exponent of the cosine.

    Examples
    --------
    >>> near = WordVectors(["a", "b", "c"], [[1, 0], [1, 1], [0, 1]])
    >>> SimilarWords(near, 0.5, 2).similar(["a", "b", "c"], 0.5)[2].round(2)
    array([0.5, 0.5, 0.5, 0.5])
    >>> round(SimilarWords(near, 0.5, 0.5).share, 2)
    0.84
    """

    def __init__(self, vectors: WordVectors, threshold: float, exponent: float) -> None:
        self.index, self.unit = vectors.index, vectors.unit
        self.exponent, self.share = exponent, 1.0
        start, label, sigma = self.similar(list(self.index), threshold)
        similarities = sparse.csr_matrix((sigma, label, start), (len(self.index),) * 2)
        ones = np.ones(len(self.index))
        lowest = float(eigsh(similarities, k=1, which="SA", return_eigenvectors=False, tol=1e-4, v0=ones)[0])
        self.share = min(1.0, -0.999 / lowest) if lowest < 0 else 1.0

    def similar(
        self, labels: Sequence[str], threshold: float
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
        start, label, sigma = super().similar(labels, threshold)
        return start, label, self.share * sigma**self.exponent


# --- Page -----------------------------------------------------------------------------------------------------------

PUBLISHED_CLAIMS = "Other papers: published for these questions"
NGRAM_CLAIMS = "Comparisons with n-grams"
PARAMETER_NAMES = {"lam": "λ", "mu": "μ", "share": "share of the second"}


def page(results: dict[str, Any]) -> str:
    """Return the results as a Markdown page."""
    pt = {(test["a"], test["b"]): number for number, test in enumerate(results["tests"]["folds"])}["smoothed PT", "PT"]
    made = claims(results)
    return writing.render(
        "questions",
        results,
        claims=made,
        ngram_claims=[claim for claim in made if claim.paper == NGRAM_CLAIMS],
        baseline=next(row for row in results["rows"] if row["system"] == NGRAMS),
        edges=[
            (row["system"], part, [PARAMETER_NAMES.get(name, name) for name in choice["at_edge"]])
            for row in results["rows"]
            for choice, part in zip(row["chosen"], ("all", "first half", "second half"), strict=True)
            if choice["at_edge"]
        ],
        tried=sum(choice["tried"] for row in results["rows"] for choice in row["chosen"]),
        describe_setting=describe_setting,
        comparisons=with_holm(results["tests"]),
        fine_comparisons=with_holm(results["fine"]["tests"]),
        smoothed=(results["tests"]["folds"][pt], results["tests"]["test"][pt]),
        curve_names=[name for name in results["learning_curve"] if name not in ("sizes", "draws")],
    )


def describe_setting(system: str, at: Setting) -> str:
    """Format a setting for the table.

    >>> describe_setting("SST", {"leaves": True, "lam": 0.3, "C": 10.0})
    'leaves, λ 0.3, C 10'
    """
    if system == NGRAMS:
        return describe_ngrams(at)
    names = ["temperature"] if system.startswith("forest") else []
    names += [] if system == BAG else ["leaves", "lam"]
    names += ["mu"] if "PT" in system else []
    names += ["threshold", "exponent"] if system == "smoothed PT" else ["share"] if "+" in system else []
    texts = [f"{PARAMETER_NAMES.get(name, name)} {at[name]:g}" for name in [*names, "C"] if name != "leaves"]
    if "leaves" in names:
        texts.insert(names.index("leaves"), "leaves" if at["leaves"] else "no leaves")
    return ", ".join(texts)


def with_holm(tests: dict[str, Any]) -> list[tuple[dict[str, Any], float, dict[str, Any], float]]:
    """Return each comparison in both tests, with p-values after Holm's correction for all comparisons."""
    folds, test = tests["folds"], tests["test"]
    return list(zip(folds, holm([t["p"] for t in folds]), test, holm([t["p_mcnemar"] for t in test]), strict=True))


def claims(results: dict[str, Any]) -> list[Claim]:
    """Return published claims about these questions, and comparisons with strong baselines."""
    folds = {(test["a"], test["b"]): test for test in results["tests"]["folds"]}
    bootstrap = {(test["a"], test["b"]): test for test in results["tests"]["bootstrap"]}

    def greater(
        paper: str, says: str, printed: str, a: str, b: str, note: str = "", effect: float | None = None
    ) -> Claim:
        ten, test = folds[a, b], bootstrap[a, b]
        ours = (
            f"{writing.difference(ten)} over ten folds of {results['train']:,} questions, "
            f"{writing.difference(test, 1)} on 500"
        )
        own = paper != PUBLISHED_CLAIMS
        return Claim(paper, says, printed, ours, "greater", [ten, test], effect=effect, note=note, own=own)

    published, ngrams = PUBLISHED_CLAIMS, NGRAM_CLAIMS
    return [
        greater(published, "SST on parse trees is better than a bag of words", "91.4 against 86.2", "SST", BAG, effect=5.2),
        greater(published, "PT on parse trees is better than a bag of words", "91.0 against 86.2", "PT", BAG, effect=4.8),
        greater(
            "Similar words, after Croce, Moschitti & Basili (2011)", "on constituency trees, smoothed PT is better than PT",
            "not tested on constituency trees", "smoothed PT", "PT",
        ),
        greater(ngrams, "SST is better than word and character n-grams with a linear model", "not tested", "SST", NGRAMS),
        greater(ngrams, "PT is better than word and character n-grams with a linear model", "not tested", "PT", NGRAMS),
        greater(ngrams, "SST with n-grams is better than n-grams", "not tested", "SST + n-grams", NGRAMS),
        greater(
            "Forests on questions, after Zhang, Zhang & Li (2010) on roles and relations", "forests are better than the best tree",
            "not tested on questions", "forest of 20 parses", "SST",
        ),
    ]  # fmt: skip


def picture(results: dict[str, Any], path: Path) -> None:
    """Draw the learning curve. Requires matplotlib."""
    curve = results["learning_curve"]
    with writing.saved_figure(path, figsize=(6.5, 4.2)) as (_, axes):
        for name, marker in zip([name for name in curve if name not in ("sizes", "draws")], "osD^v", strict=True):
            means, stds = ([point[key] for point in curve[name]] for key in ("mean", "std"))
            axes.errorbar(curve["sizes"], means, yerr=stds, marker=marker, markersize=5, capsize=2, label=name)
        axes.set(
            xlabel="training questions", ylabel="test accuracy, %", title="Question classification, six coarse classes"
        )
        axes.grid(alpha=0.3)
        axes.legend()
