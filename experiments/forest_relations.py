"""Relations between nominals (SemEval-2010 task 8): trees and packed forests, of ten parses or of our own grammar.

Settings are chosen by hill climbing in cross-validation on some of the training sentences, with the
same grids for trees and for forests. Each system is then tested once on the official test sentences,
and in five splits of the training sentences that were not used to choose settings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments import plain
from experiments.climbing import climb
from experiments.data import apart_from
from experiments.differences import holm, mcnemar_row, part, spread
from experiments.forest_relations_data import ALIKE, Labels, Rows, Sentences, kernel_of
from experiments.running import Say
from treelet.learn import KernelSVC
from treelet.matrices import gram
from treelet.metrics import paired_bootstrap, paired_t_test, semeval_scores

Matrix = NDArray[np.float64]

PAPER = {"tree": (68.6, 59.3, 63.6), "forest": (70.3, 60.0, 64.7)}
"""P, R and F1 of Zhang, Zhang & Li (2010), five-fold cross-validation on ACE 2004, 23 subtypes."""

USUAL: dict[str, Any] = {"parses": 10, "train": None, "test": None, "choosing": 2000, "splits": 5, "folds": 10}
QUICK: dict[str, Any] = {"parses": 3, "train": 600, "test": 300, "choosing": 300, "splits": 2, "folds": 2}
"""Parses per sentence, training and test sentences, sentences to choose on, splits with the lists, folds with our own grammar."""
FOLDS = 4
CURVE = (500, 1000, 2000, 4000)
START: dict[str, Any] = {
    "source": "lists", "kind": "tree", "way": "alone", "lam": 0.4, "C": 3.0, "mark": "tags", "temperature": 1.0, "alpha": None, "leaves": False,
}  # fmt: skip
SCALES: dict[str, tuple[Any, ...]] = {
    "lam": (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.75, 0.9),
    "mark": ("tags", "node"),
    "C": (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0),
}
TEMPERATURES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, ALIKE)
ALPHAS = {"linear": (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9), "polynomial": (0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.23, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95)}  # fmt: skip
ALPHA = {"linear": 0.4, "polynomial": 0.23}
NGRAMS, LEAVES, SAME = "n-grams", ", leaves=", ", settings of the forest"
OWN = {f"{source}, {kind}": (source, kind) for source in ("sentence", "span") for kind in ("tree", "forest")}


def run(*, quick: bool = False, n_jobs: int = 1, seed: int = 0, say: Say = lambda text: None) -> dict[str, Any]:
    """Choose, then fit and test; what was found, ready for JSON. With `quick`, some hundred sentences and short scales."""
    sizes = QUICK if quick else USUAL
    rng = np.random.default_rng(seed)
    data = Sentences.read(sizes["parses"], rng, sizes["train"], sizes["test"])
    order = rng.permutation(data.train)
    choosing = np.sort(order[: sizes["choosing"]])
    say(f"{len(data.train)} training and {len(data.test)} test sentences, choosing on {len(choosing)} of the first")
    chooser = Chooser(data, choosing, quick=quick, n_jobs=n_jobs, seed=seed, say=say)
    settings = chosen(chooser)
    chooser.ngrams()
    data.forget()
    splits = split(data, order, len(choosing), sizes["splits"])
    parts = [Part("official", data.train, data.test), *splits]
    tables: list[dict[str, Any]] = []
    predicted: dict[str, list[Labels]] = {}
    curve: dict[str, list[float]] = {}
    smaller = [np.sort(order[:size]) for size in CURVE if size < len(data.train)]
    for name, setting in settings.items():
        fitted = Fitted(data, setting, n_jobs=n_jobs)
        predicted[name] = [fitted.answers(each.train, each.test) for each in parts]
        if name in ("tree", "forest"):
            scores = [official(data, fitted.answers(rows, data.test)).f1 for rows in smaller]
            curve[name] = [*scores, official(data, predicted[name][0]).f1]
        say(f"  {name}: test F1 {official(data, predicted[name][0]).f1:.2f}")
    predicted[NGRAMS] = [chooser.plain(each.train, each.test) for each in parts]
    data.forget()
    notes = data.parse(trees=400 if quick else None, n_jobs=n_jobs)
    say(f"  parsed by a grammar of {notes['trees']} trees")
    own_settings = chosen_own(chooser)
    own_parts = [
        Part("official, own grammar", data.train, data.test),
        *split(data, order, len(choosing), sizes["folds"], "fold"),
    ]
    at_own: dict[str, list[Labels]] = {}
    for name, setting in own_settings.items():
        fitted = Fitted(data, setting, n_jobs=n_jobs)
        at_own[name] = [fitted.answers(each.train, each.test) for each in own_parts]
        say(f"  {name}: test F1 {official(data, at_own[name][0]).f1:.2f}")
    at_own[NGRAMS] = [chooser.plain(each.train, each.test) for each in own_parts]
    whole = compared(data, parts, predicted)
    ours = compared(data, own_parts, at_own)
    pooled = joined(data, ours[1:])
    tables += [whole[0].row(name, chooser.told(name, setting)) for name, setting in settings.items()]
    tables.insert(0, whole[0].row(NGRAMS, chooser.told(NGRAMS, {})))
    for row in tables:
        row["splits"] = spread(each.score(row["name"]) for each in whole[1:])
    return {
        "sizes": {
            "train": len(data.train),
            "test": len(data.test),
            "choosing": len(choosing),
            "twins": data.twins,
            "folds": FOLDS,
            "splits": len(splits),
            "split_train": int(np.mean([len(each.train) for each in splits])),
            "split_test": int(np.mean([len(each.test) for each in splits])),
            "parses": sizes["parses"],
        },
        "rows": tables,
        "tests": comparisons(whole[0], whole[1:], pairs(predicted), seed),
        "curve": {"sizes": [*map(len, smaller), len(data.train)], **curve},
        "grammar": notes
        | {
            "folds": len(ours) - 1,
            "pooled": len(pooled.gold),
            "fold_train": int(np.mean([len(each.part.train) for each in ours[1:]])),
            "rows": [
                ours[0].row(name, chooser.told(name, own_settings.get(name, {}))) | {"pooled": pooled.row(name, {})}
                for name in at_own
            ],
            "tests": comparisons(ours[0], [], pairs(at_own), seed),
            "pooled_tests": comparisons(pooled, ours[1:], pairs(at_own), seed),
        },
        "tried": chooser.tried,
        "leaves": chooser.by_leaves,
        "paper": PAPER,
        "items": [each.items() for each in (*whole, *ours)],
    }


# --- choosing -----------------------------------------------------------------------------------------------------


class Chooser:
    """Settings by cross-validation on the sentences for that."""

    def __init__(self, data: Sentences, rows: Rows, *, quick: bool, n_jobs: int, seed: int, say: Say) -> None:
        self.data, self.rows, self.quick, self.n_jobs, self.say = data, rows, quick, n_jobs, say
        self.fold = np.random.default_rng(seed).permutation(len(rows)) % FOLDS
        self.seed = seed
        self.found: dict[str, Any] = {}
        self.other: dict[str, dict[str, Any]] = {}
        self.tried: dict[str, int] = {}
        self.by_leaves: dict[str, dict[str, float]] = {}
        self._matrix = lru_cache(maxsize=6)(self._made)

    def climb(self, name: str, start: dict[str, Any], scales: dict[str, tuple[Any, ...]]) -> dict[str, Any]:
        """The best setting from a start."""
        if self.quick:
            scales = {key: scale for key, scale in scales.items() if key == "C"}
        found = climb(start, scales, self.measured)
        self.tried[name] = self.tried.get(name, 0) + len(found.trials)
        edges = [name for name in found.edges if found.best[name] != ALIKE]  # there is nothing beyond
        best = found.best | {"edges": edges}
        shown = {key: best[key] for key in (*scales, "leaves")}
        self.say(f"    {name}: {shown}, F1 {best['f1']:.2f}, {len(found.trials)} tried, edges {edges}")
        return best

    def kind(self, name: str, source: str, kind: str) -> dict[str, Any]:
        """Trees or forests alone: with leaves and without, each climbed to on all scales; the better one."""
        scales = SCALES | ({"temperature": TEMPERATURES} if kind == "forest" else {})
        both = {}
        for leaves in (False, True):
            start = START | {"source": source, "kind": kind, "leaves": leaves}
            both[leaves] = self.climb(name, start, scales)
        self.by_leaves[name] = {str(leaves): one["f1"] for leaves, one in both.items()}
        better = max(both, key=lambda leaves: both[leaves]["f1"])
        self.other[f"{name}{LEAVES}{not better}"] = both[not better]
        return both[better]

    def as_tree(self, setting: dict[str, Any]) -> dict[str, Any]:
        """The settings of a forest for the tree."""
        tree = setting | {"kind": "tree", "edges": []}
        return tree | self.measured(tree)

    def ngrams(self) -> None:
        """The settings of the plain baseline."""
        found = plain.choose(self.data.texts(self.rows), self.data.labels[self.rows], seed=self.seed)
        self.found = found
        self.tried[NGRAMS] = found["tried"]
        self.say(f"    {NGRAMS}: {plain.told(found)}, accuracy {found['cross_validation']:.2f}")

    def plain(self, train: Rows, test: Rows) -> Labels:
        """Return the predictions of the baseline."""
        texts, tests = self.data.texts(train), self.data.texts(test)
        return np.asarray(plain.fitted_answers(self.found, texts, self.data.labels[train], tests))

    def told(self, name: str, setting: dict[str, Any]) -> dict[str, Any]:
        """Return the chosen setting of a row."""
        if name == NGRAMS:
            return {"chosen": plain.told(self.found), "edges": self.found["at_edge"]}
        if not setting:
            return {"chosen": "as above", "edges": []}
        warm = setting["temperature"]
        kept = {key: setting[key] for key in ("lam", "leaves", "C", "mark", "alpha", "kind", "source", "way")}
        text = f"`{kernel_of(setting)!r}`, C={setting['C']:g}" + (f", {setting['mark']} marked" if setting["kind"] != "features" else "")  # fmt: skip
        if setting["kind"] == "forest":
            text += ", " + ("all parses alike" if warm == ALIKE else f"temperature {warm:g}")
            kept["temperature"] = None if warm == ALIKE else warm
        return {"chosen": text, "setting": kept, "edges": setting["edges"], "cross_validation": setting["f1"]}

    def measured(self, setting: dict[str, Any]) -> dict[str, Any]:
        """Return the score of a setting."""
        key = tuple((name, setting[name]) for name in START if name != "C")
        K, y = self._matrix(key), self.data.labels[self.rows]
        found = np.empty_like(y)
        for fold in range(FOLDS):
            test, train = np.flatnonzero(self.fold == fold), np.flatnonzero(self.fold != fold)
            machine = KernelSVC("precomputed", C=setting["C"], n_jobs=self.n_jobs)
            found[test] = machine.fit(K[np.ix_(train, train)], y[train]).predict(K[np.ix_(test, train)])
        result = semeval_scores(y.tolist(), found.tolist())
        return {"f1": result.f1, "accuracy": result.accuracy}

    def _made(self, key: tuple[tuple[str, Any], ...]) -> Matrix:
        setting = dict(key)
        return gram(kernel_of(setting), self.data.table(setting, self.rows), n_jobs=self.n_jobs)


def chosen(chooser: Chooser) -> dict[str, dict[str, Any]]:
    """The setting of each row of the main table."""
    rows = {"features": chooser.climb("features", START | {"kind": "features"}, {"C": SCALES["C"]})}
    rows |= {kind: chooser.kind(kind, "lists", kind) for kind in ("MCT", "tree", "forest")}
    rows |= {name: setting for name, setting in chooser.other.items() if not name.startswith("MCT")}
    rows["tree" + SAME] = chooser.as_tree(rows["forest"])
    for way, scale in ALPHAS.items():
        for kind in ("tree", "forest"):
            start = {name: rows[kind][name] for name in START} | {"way": way, "alpha": ALPHA[way]}
            rows[f"{way}, {kind}"] = chooser.climb(f"{way}, {kind}", start, {"alpha": scale, "C": SCALES["C"]})
    return rows


def chosen_own(chooser: Chooser) -> dict[str, dict[str, Any]]:
    """The settings with our own grammar: trees, forests, trees with the forests' settings, and composite kernels of the span."""
    rows = {name: chooser.kind(name, source, kind) for name, (source, kind) in OWN.items()}
    rows |= {f"{name}, tree{SAME}": chooser.as_tree(rows[f"{name}, forest"]) for name in ("sentence", "span")}
    for way, scale in ALPHAS.items():
        for kind in ("tree", "forest"):
            name = f"span, {way}, {kind}"
            start = {key: rows[f"span, {kind}"][key] for key in START} | {"way": way, "alpha": ALPHA[way]}
            rows[name] = chooser.climb(name, start, {"alpha": scale, "C": SCALES["C"]})
    return rows


# --- fitting and testing ------------------------------------------------------------------------------------------


class Part:
    """The training examples and the test examples."""

    def __init__(self, name: str, train: Rows, test: Rows) -> None:
        self.name, self.train, self.test = name, train, test


def split(data: Sentences, order: Rows, chosen_on: int, number: int, name: str = "split") -> list[Part]:
    """The training sentences that nothing was chosen on in so many parts, each the test of a split; no twins beside it."""
    words = [tuple(one.words) for one in data.all]
    parts = []
    for k in range(number):
        test = np.sort(order[chosen_on:][k::number])
        train = apart_from((words[row] for row in test), np.setdiff1d(data.train, test), words)
        parts.append(Part(f"{name} {k}", train, test))
    return parts


class Fitted:
    """Machines of one setting, on matrices that are made once for all parts."""

    def __init__(self, data: Sentences, setting: dict[str, Any], *, n_jobs: int) -> None:
        self.data, self.C, self.n_jobs = data, setting["C"], n_jobs
        kernel, X = kernel_of(setting), data.table(setting, data.train)
        self.K = gram(kernel, X, n_jobs=n_jobs)
        self.across = gram(kernel, data.table(setting, data.test), X, n_jobs=n_jobs)

    def answers(self, train: Rows, test: Rows) -> Labels:
        """Fit a model to some training sentences. Return its predictions for other training sentences or for test sentences."""
        machine = KernelSVC("precomputed", C=self.C, n_jobs=self.n_jobs)
        machine.fit(self.K if len(train) == len(self.K) else self.K[np.ix_(train, train)], self.data.labels[train])
        if test[0] >= self.data.test[0]:
            return np.asarray(machine.predict(self.across[np.ix_(test - self.data.test[0], train)]))
        return np.asarray(machine.predict(self.K[np.ix_(test, train)]))


def official(data: Sentences, found: Labels) -> Any:
    """The official scores on the test sentences."""
    return semeval_scores(data.labels[data.test].tolist(), found.tolist())


class Compared:
    """The predictions of several systems for the test sentences of a part."""

    def __init__(self, data: Sentences, part: Part, predicted: dict[str, Labels]) -> None:
        self.part, self.predicted = part, predicted
        self.gold: Labels = data.labels[part.test]
        self.ids = [int(data.all[row].sent or 0) for row in part.test.tolist()]
        self.classes = sorted(set(data.labels.tolist()))
        self.names = sorted({label.partition("(")[0] for label in self.gold} - {"Other"})

    def score(self, name: str, measure: str = "f1") -> float:
        """The official F1, precision or recall."""
        return float(getattr(semeval_scores(self.gold.tolist(), self.predicted[name].tolist()), measure))

    def row(self, name: str, told: dict[str, Any]) -> dict[str, Any]:
        """Scores, and what was chosen."""
        found = semeval_scores(self.gold.tolist(), self.predicted[name].tolist())
        scores = {key: getattr(found, key) for key in ("precision", "recall", "f1", "accuracy")}
        return {"name": name} | scores | told

    def test(self, a: str, b: str, seed: int) -> dict[str, Any]:
        """Two systems on the same sentences: McNemar's test, and a bootstrap of the difference in F1."""
        sides = [counts(self.gold, self.predicted[name], self.names) for name in (a, b)]
        row = mcnemar_row(a, self.predicted[a] == self.gold, b, self.predicted[b] == self.gold)
        row["accuracy"] = row.pop("difference")
        row |= _drawn(sides, macro_f1, seed)
        if b == a.replace("forest", "tree") != a:
            row |= {"precision": _drawn(sides, macro_precision, seed), "recall": _drawn(sides, macro_recall, seed)}
        return row

    def items(self) -> dict[str, Any]:
        """Sentence by sentence: right or not, and which label, so that any measure can be had later."""
        right = {name: found == self.gold for name, found in self.predicted.items()}
        places = {label: k for k, label in enumerate(self.classes)}
        indexed = {name: [places[label] for label in found.tolist()] for name, found in self.predicted.items()}
        return part(self.part.name, len(self.part.train), self.ids, right) | {
            "labels": self.classes,
            "gold": [places[label] for label in self.gold.tolist()],
            "predicted": indexed,
        }


def compared(data: Sentences, parts: Sequence[Part], predicted: dict[str, list[Labels]]) -> list[Compared]:
    """Return the predictions of all systems for each part."""
    return [Compared(data, each, {name: found[k] for name, found in predicted.items()}) for k, each in enumerate(parts)]


def joined(data: Sentences, folds: Sequence[Compared]) -> Compared:
    """Return the predictions for the test sentences of all folds together. Each sentence is in one fold."""
    part = Part("all folds", data.train, np.concatenate([each.part.test for each in folds]))
    names = folds[0].predicted
    return Compared(data, part, {name: np.concatenate([each.predicted[name] for each in folds]) for name in names})


def _drawn(sides: Sequence[Matrix], measure: Callable[[Matrix], Matrix], seed: int) -> dict[str, Any]:
    found = paired_bootstrap(sides[0], sides[1], measure, random_state=seed)
    return {"difference": found.difference, "interval": list(found.interval), "p": found.p_value, "over": "items"}


def pairs(predicted: Iterable[str]) -> list[tuple[str, str]]:
    """Return the pairs of systems to compare: forests and trees, with and without leaves, both cuts, and all with the baseline."""
    names = list(predicted)
    wanted = [(name.replace("tree", "forest", 1).removesuffix(SAME), name) for name in names if "tree" in name and LEAVES not in name]  # fmt: skip
    wanted += [(name.partition(LEAVES)[0], name) for name in names if LEAVES in name] + [("tree", "MCT")]
    wanted += [(name, NGRAMS) for name in names if name in {"tree", "forest", "features", "linear, forest", "polynomial, forest", "polynomial, tree"}]  # fmt: skip
    wanted += [("polynomial, tree", "tree"), ("polynomial, forest", "forest"), ("linear, tree", "tree"), ("linear, forest", "forest")]  # fmt: skip
    wanted += [("span, forest", "sentence, forest"), ("lists, forest", NGRAMS), ("sentence, forest", NGRAMS), ("span, forest", NGRAMS)]  # fmt: skip
    return [pair for pair in wanted if set(pair) <= set(names)]


def comparisons(
    one: Compared, splits: Sequence[Compared], wanted: list[tuple[str, str]], seed: int
) -> list[dict[str, Any]]:
    """Tests on the official part, with Holm's correction for their number, and over the splits."""
    rows = [one.test(a, b, seed) for a, b in wanted]
    for row, p in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row["p_holm"] = p
    for row in rows if splits else []:
        row["splits"] = over_splits(splits, row["a"], row["b"], "f1")
        for measure in {"precision", "recall"} & row.keys():
            row[measure]["splits"] = over_splits(splits, row["a"], row["b"], measure)
    return rows


def over_splits(splits: Sequence[Compared], a: str, b: str, measure: str) -> dict[str, Any]:
    """Compare two systems over the splits by the corrected resampled t-test."""
    sides = [[each.score(name, measure) for each in splits] for name in (a, b)]
    overlap = float(np.mean([len(each.part.test) / len(each.part.train) for each in splits]))
    found = paired_t_test(*sides, overlap=overlap)
    differences = (np.array(sides[0]) - sides[1]).tolist()
    return spread(differences) | {
        "difference": found.difference, "interval": list(found.interval), "p": found.p_value, "splits": differences,
        "wins": sum(each > 0 for each in differences), "of": len(splits), "over": "splits",
    }  # fmt: skip


def counts(gold: Labels, found: Labels, names: Sequence[str]) -> Matrix:
    """For each sentence and relation: right, found, and wanted; `macro_f1` makes the official score of their sums.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.forest_relations import counts
    >>> counts(np.array(["A(e1,e2)", "Other"]), np.array(["A(e2,e1)", "A(e1,e2)"]), ["A"]).tolist()
    [[0.0, 1.0, 1.0], [0.0, 1.0, 0.0]]
    """
    plain = [np.array([label.partition("(")[0] for label in side]) for side in (gold, found)]
    columns = []
    for name in names:
        wanted, answered = (side == name for side in plain)
        columns += [wanted & (gold == found), answered, wanted]
    return np.array(columns, float).T


def macro_f1(sums: Matrix) -> Matrix:
    """The mean F1 in per cent, of sums of `counts`."""
    return _macro(sums, (1, 2), 2)


def macro_precision(sums: Matrix) -> Matrix:
    """The mean precision in per cent, of sums of `counts`."""
    return _macro(sums, (1,), 1)


def macro_recall(sums: Matrix) -> Matrix:
    """The mean recall in per cent, of sums of `counts`."""
    return _macro(sums, (2,), 1)


def _macro(sums: Matrix, below: tuple[int, ...], times: int) -> Matrix:
    by_relation = sums.reshape(*sums.shape[:-1], -1, 3)
    whole = by_relation[..., below].sum(axis=-1)
    shares = np.divide(100 * times * by_relation[..., 0], whole, out=np.zeros_like(whole), where=whole > 0)
    return np.asarray(shares.mean(axis=-1))
