"""Question classification: predict which of six kinds of answer a question requires.

The data is the TREC questions of Li & Roth (2002), 5,452 for training and 500 for testing, with parse
trees of a Charniak-style parser. All settings are chosen by cross-validation on training questions.
There are two tests. The first uses the 500 test questions, once per system. The second, for more
precision, uses ten folds of the training questions. The settings for a fold are chosen on the five
folds of the other half.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments import plain
from experiments.data import questions
from experiments.differences import across, mcnemar_row, part, spread, summary
from experiments.questions_systems import (
    BAG,
    FOLDS,
    NGRAMS,
    Matrix,
    Questions,
    Rows,
    Setting,
    System,
    answered,
    chosen,
    held_out,
    systems,
)
from experiments.running import Say
from treelet.kernels import PartialTree, Smoothed, SubsetTree
from treelet.learn import KernelSVC

PUBLISHED = [
    ("bag of words", "86.2"),
    ("SST, constituency trees", "91.4"),
    ("PT, constituency trees", "91.0"),
    ("smoothed PT, dependency trees of another parser", "94.0–95.0"),
]
"""Test accuracies in per cent that have been published for these questions; trees and parsers differ from ours."""

PAIRS = (
    ("smoothed PT", "PT"),
    ("forest of 20 parses", "SST"),
    ("SST + bag of words", "SST"),
    ("PT + bag of words", "PT"),
    ("SST", "PT"),
)
"""Comparisons in addition to those with n-grams and with the bag of words."""
FINE = (BAG, NGRAMS, "SST")
CURVE = (BAG, NGRAMS, "SST", "PT", "SST + n-grams")
CUTS, LOOKED_AT = (None, 0.8, 0.6, 0.4), 1000
SIZES, DRAWS = (0.05, 0.1, 0.25, 0.5, 0.75), 3

Labels = NDArray[Any]
Parts = dict[str, dict[str, list[bool]]]


def run(*, quick: bool = False, n_jobs: int = 1, seed: int = 0, say: Say = lambda text: None) -> dict[str, Any]:
    """The whole experiment; what it found, ready for JSON.

    With `quick`, a tenth of the training questions, one setting a kernel, and vectors from questions only. One thread, whatever
    `n_jobs` says: times are compared.
    """
    data = Questions(quick=quick, seed=seed)
    work = Work(data, say)
    say(f"{len(data.kept)} training and {len(data.coarse['test'])} test questions; {data.twins} in both are left out")
    rows = [work.row_of_ngrams()]
    rows += [work.row(name, system) for name, system in systems(data).items()]
    folds = work.items("fold ")
    names = [row["system"] for row in rows]
    pairs = [(name, other) for other in (NGRAMS, BAG) for name in names if name != other and (name, other) != (BAG, NGRAMS)]  # fmt: skip
    pairs += PAIRS
    right = {name: np.array(values) for name, values in work.right["test"].items()}
    for row in rows:
        row["folds"] = summary(folds, row["system"])
    return {
        "rows": rows,
        "train": len(data.kept),
        "test": len(data.coarse["test"]),
        "twins": data.twins,
        "doubles": len(data.kept) - len(set(data.groups.tolist())),
        "tests": {
            "folds": [across(folds, a, b) for a, b in pairs],
            "test": [mcnemar_row(a, right[a], b, right[b]) for a, b in pairs],
            "bootstrap": [across(work.items("test"), a, b) for a, b in pairs],
        },
        "fine": work.fine(),
        "vectors": work.about_vectors(),
        "published": [{"method": method, "accuracy": value} for method, value in PUBLISHED],
        "learning_curve": work.learning_curve(),
        "end_to_end": [end_to_end(name) for name in ("SST", "PT")] if not quick else [],
        "items": work.items(),
    }


class Work:
    """The settings and results so far."""

    def __init__(self, data: Questions, say: Say) -> None:
        self.data, self.say = data, say
        self.y, self.y_test = data.coarse["train"], data.coarse["test"]
        self.chosen: dict[str, list[dict[str, Any]]] = {}
        """For each system: on all training questions, on the first five folds, on the others."""
        self.right: Parts = {}
        self.learnt: dict[str, tuple[Matrix, Matrix]] = {}

    def choices(self) -> list[tuple[Rows, list[Rows]]]:
        """Return the three sets for the choice of settings: training questions, and their folds as indices."""
        fold = self.data.fold
        whole = (np.arange(len(fold)), [np.flatnonzero(fold % 5 == k) for k in range(5)])
        halves = [np.flatnonzero(fold // 5 == half) for half in (0, 1)]
        return [whole, *((rows, [np.flatnonzero(fold[rows] % 5 == k) for k in range(5)]) for rows in halves)]

    def note(self, name: str, where: str, right: Any) -> None:
        self.right.setdefault(where, {})[name] = [bool(value) for value in right]

    def items(self, prefix: str = "") -> list[dict[str, Any]]:
        """Return the correct predictions by part: ``test``, ``fold 0`` to ``fold 9``, and the same for fine classes."""
        found, data = [], self.data
        for where, named in self.right.items():
            if where.startswith(prefix):
                test = where.endswith("test")
                rows = range(len(self.y_test)) if test else np.flatnonzero(data.fold == int(where.split()[-1]))
                ids = [f"test/{k}" if test else f"train/{data.kept[k]}" for k in rows]
                found.append(part(where, len(self.y) - (0 if test else len(ids)), ids, named))
        return found

    # --- rows of the table ------------------------------------------------------------------------------------------

    def row(self, name: str, system: System) -> dict[str, Any]:
        """Choose, fit, and test once."""
        begin = time.process_time()
        earlier = [self.chosen[NGRAMS], *([self.chosen[system.after]] if system.after else [])]
        self.chosen[name] = [
            chosen(system, _given(earlier, place), self.data, rows, folds, self.y)
            for place, (rows, folds) in enumerate(self.choices())
        ]
        at = self.chosen[name][0]["setting"]
        everyone = np.arange(len(self.y))
        terms = system.terms(at)
        K, cross = self.data.square(terms, everyone), self.data.across(terms)
        machine = KernelSVC("precomputed", C=at["C"], n_jobs=1).fit(K, self.y)
        self.note(name, "test", machine.predict(cross) == self.y_test)
        if name in {*CURVE, *FINE}:
            self.learnt[name] = K.astype(np.float32), cross.astype(np.float32)
        self._fold_by_fold(name, system, self.y, "fold")
        return self._told(name, begin, len(machine.support_))

    def _fold_by_fold(self, name: str, system: System, y: Labels, where: str) -> None:
        """Each fold with the settings of the half that it is not in, learned from all other folds."""
        for half in (0, 1):
            at = self.chosen[name][2 - half]["setting"]
            K = self.data.square(system.terms(at), np.arange(len(y)))
            for number in range(5 * half, 5 * half + 5):
                test, train = self._fold(number)
                predicted = answered(K[np.ix_(train, train)], y[train], K[np.ix_(test, train)], at["C"])
                self.note(name, f"{where} {number}", predicted == y[test])

    def _fold(self, number: int) -> tuple[Rows, Rows]:
        return np.flatnonzero(self.data.fold == number), np.flatnonzero(self.data.fold != number)

    def row_of_ngrams(self) -> dict[str, Any]:
        """The plain baseline, in the same way."""
        begin = time.process_time()
        data, texts = self.data, self.data.texts("train")
        found = [plain.choose([texts[k] for k in rows], self.y[rows], data.groups[rows], data.seed) for rows, _ in self.choices()]  # fmt: skip
        self.chosen[NGRAMS] = [{"setting": one, **one} for one in found]
        self._ngrams(self.y, self.y_test, "")
        return self._told(NGRAMS, begin, None)

    def _ngrams(self, y: Labels, y_test: Labels, prefix: str) -> None:
        texts, settings = self.data.texts("train"), [one["setting"] for one in self.chosen[NGRAMS]]
        predicted = plain.fitted_answers(settings[0], texts, y, self.data.texts("test"))
        self.note(NGRAMS, f"{prefix}test", predicted == y_test)
        for number in range(FOLDS):
            test, train = self._fold(number)
            at = settings[2 - number // 5]
            found = plain.fitted_answers(at, [texts[k] for k in train], y[train], [texts[k] for k in test])
            self.note(NGRAMS, f"{prefix}fold {number}", found == y[test])

    def _told(self, name: str, begin: float, support: int | None) -> dict[str, Any]:
        choices = self.chosen[name]
        row = {
            "system": name,
            "chosen": [{key: one[key] for key in ("setting", "tried", "at_edge")} for one in choices],
            "cross_validation": choices[0]["cross_validation"],
            "accuracy": 100 * float(np.mean(self.right["test"][name])),
            "support": support,
            "cpu_seconds": time.process_time() - begin,
        }
        folds = np.mean([np.mean(self.right[f"fold {k}"][name]) for k in range(FOLDS)])
        self.say(
            f"{name}: {choices[0]['setting']}, {sum(one['tried'] for one in choices)} tried, cross-validation "
            f"{row['cross_validation']:.2f}, test {row['accuracy']:.1f}, folds {100 * folds:.2f}, {row['cpu_seconds']:.0f} s"
        )
        return row

    # --- more -------------------------------------------------------------------------------------------------------

    def fine(self) -> dict[str, Any]:
        """The fifty fine classes, with the settings of the coarse ones."""
        y, y_test = self.data.fine["train"], self.data.fine["test"]
        self._ngrams(y, y_test, "fine ")
        known = systems(self.data)
        for name in FINE:
            if name != NGRAMS:
                K, cross = (one.astype(float) for one in self.learnt[name])
                at = self.chosen[name][0]["setting"]
                self.note(name, "fine test", answered(K, y, cross, at["C"]) == y_test)
                self._fold_by_fold(name, known[name], y, "fine fold")
        folds = self.items("fine fold")
        right = {name: np.array(values) for name, values in self.right["fine test"].items()}
        pairs = [(name, NGRAMS) for name in FINE if name != NGRAMS] + [("SST", BAG)]
        return {
            "classes": len(np.unique(y)),
            "rows": [
                {"system": name, "accuracy": 100 * float(right[name].mean()), "folds": summary(folds, name)}
                for name in FINE
            ],
            "tests": {
                "folds": [across(folds, a, b) for a, b in pairs],
                "test": [mcnemar_row(a, right[a], b, right[b]) for a, b in pairs],
            },
        }

    def about_vectors(self) -> dict[str, Any]:
        """Describe the data of the word vectors, and the effect of a cut-off."""
        known, made = self.data.word_vectors
        at = self.chosen["smoothed PT"][0]["setting"]
        return made | {
            "cut_off": [self._cut_off(threshold) for threshold in CUTS],
            "known": len(known),
            "forms": len({word for bank in self.data.trees.values() for tree in bank if tree for word in tree.words()}),
            "share": self.data.alike(at["threshold"], at["exponent"]).share,
        }

    def _cut_off(self, threshold: float | None) -> dict[str, Any]:
        """PT, or smoothed PT as it is without a share, at PT's settings: what a plain cut-off does."""
        at = self.chosen["PT"][0]["setting"]
        options = {key: at[key] for key in ("lam", "mu", "leaves")}
        vectors = self.data.word_vectors[0]
        kernel = PartialTree(**options) if threshold is None else Smoothed(vectors, **options, threshold=threshold)
        rows, folds = self.choices()[0]
        K = self.data.square([(1.0, ("tree",), kernel.normalized())], rows)
        return {
            "threshold": threshold,
            "cross_validation": 100 * held_out(K, self.y, folds, at["C"]),
            "lowest": float(np.linalg.eigvalsh(K[:LOOKED_AT, :LOOKED_AT])[0]),
            "looked_at": min(LOOKED_AT, len(K)),
        }

    def learning_curve(self) -> dict[str, Any]:
        """Test accuracy with growing parts of the training questions, drawn a few times, the settings of the whole."""
        rng = np.random.default_rng(self.data.seed)
        orders = [rng.permutation(len(self.y)) for _ in range(DRAWS)]
        sizes = [int(len(self.y) * share) for share in SIZES]
        found: dict[str, Any] = {"sizes": [*sizes, len(self.y)], "draws": DRAWS}
        for name in CURVE:
            at = self.chosen[name][0]["setting"]
            points = [
                spread(self._learnt(name, at, np.sort(order[:size])) for order in orders) for size in sizes
            ]  # fmt: skip
            found[name] = [*points, spread([100 * float(np.mean(self.right["test"][name]))])]
        return found

    def _learnt(self, name: str, at: Setting, rows: Rows) -> float:
        if name == NGRAMS:
            texts = self.data.texts("train")
            found = plain.fitted_answers(at, [texts[k] for k in rows], self.y[rows], self.data.texts("test"))
        else:
            K, cross = self.learnt[name]
            found = answered(K[np.ix_(rows, rows)].astype(float), self.y[rows], cross[:, rows].astype(float), at["C"])
        return 100 * float(np.mean(found == self.y_test))


def _given(earlier: list[list[dict[str, Any]]], place: int) -> Setting:
    """Return the settings of earlier systems on the same questions, without C."""
    found: Setting = {}
    for choices in earlier:
        found |= {key: value for key, value in choices[place]["setting"].items() if key in _HANDED_ON}
    return found


_HANDED_ON = ("words", "characters", "leaves", "lam", "mu")


def end_to_end(name: str) -> dict[str, Any]:
    """CPU seconds on one core from the files to the predictions, and where they go."""
    kernel = {"SST": SubsetTree(lam=0.4), "PT": PartialTree(lam=0.4, mu=0.4)}[name].normalized()
    clock = time.process_time
    marks = [clock()]
    train, labels = questions("train")
    test, test_labels = questions("test")
    marks.append(clock())
    model = KernelSVC(kernel=kernel, C=10.0, n_jobs=1).fit(train, labels)
    marks.append(clock())
    accuracy = 100 * float(np.mean(model.predict(test) == np.array(test_labels)))
    marks.append(clock())
    read, fit, predict = np.diff(marks).tolist()
    return {
        "kernel": name,
        "cpu_seconds": {"total": marks[-1] - marks[0], "read": read, "fit": fit, "predict": predict},
        "accuracy": accuracy,
        "peers_cpu_seconds": {"SVM-Light-TK": {"SST": 107, "PT": 294}[name], "KeLP": {"SST": 163, "PT": 189}[name]},
    }
