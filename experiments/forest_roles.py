"""Semantic roles with automatic parses (PropBank on the Wall Street Journal sample): best trees against forests.

Arguments are found and labeled in one step: each candidate constituent gets a role or none, from one machine a role. Two parsers: the
20 best parses of a lexicalized one, and our own grammar, whose forests hold every parse within a bound. Settings are climbed to on
documents that nothing is tested on, on the same scales for trees and forests; then five splits of the other documents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from experiments import plain
from experiments.climbing import climb
from experiments.data import apart_from
from experiments.differences import across, mcnemar_row, part, summary
from experiments.forest_coverage import covered
from experiments.forest_examples import Decoded, Examples, Setting, answers, examples, frequent, text
from experiments.forest_parsers import Parser, Parts, key_of, of_grammar, of_lists, predicates, some, split
from experiments.running import Say
from treelet.metrics import parseval

PAPER = {"tree": (76.02, 67.38, 71.44), "forest": (79.06, 69.12, 73.76)}
"""P, R and F1 of Zhang, Zhang & Li (2010) on CoNLL-2005: Wall Street Journal sections 02-05 for training, 23 for test."""
PAPER_UNMATCHED = {"tree": 9.78, "forest": 1.31, "forest, pruned": 3.1}
PAPER_RATIO = {"forest": 5.6, "forest, pruned": 1.31}

USUAL: dict[str, Any] = {
    "parses": 20, "folds": 5, "fit": 900, "dev": 600, "test": None, "train": 2000, "curve": (500, 1000), "coverage": 250,
}  # fmt: skip
QUICK: dict[str, Any] = {
    "parses": 5, "folds": 2, "fit": 60, "dev": 40, "test": 60, "train": 100, "curve": (50,), "coverage": 30,
}  # fmt: skip
"""Predicates at most: to fit to and to choose on; of each fold; to learn from; smaller numbers of these; those to count candidates of."""
SCALES: dict[str, tuple[Any, ...]] = {
    "lam": (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.75, 0.9),
    "leaves": (False, True),
    "theta": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
    "C": (0.3, 1.0, 3.0, 10.0, 30.0, 100.0),
}
FOREST_SCALES: dict[str, tuple[Any, ...]] = {
    "threshold": (0.02, 0.05, 0.1, 0.2, 0.3, 0.5),
    "temperature": (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0),
}
CHANCES = {"chance": (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)}
LOWEST = FOREST_SCALES["threshold"][0]
MARGINS = np.round(np.arange(-1.5, 2.51, 0.1), 1)
TREE, FOREST, PROBABLE, NGRAMS = "tree", "forest", "forest, probabilities", "n-grams"
SAME, NARROW = ", same margin", "forest, candidates of the tree"
THRESHOLDS = (0.0, 0.02, 0.05, 0.1, 0.2)


def run(*, quick: bool = False, n_jobs: int = 1, seed: int = 0, say: Say = lambda text: None) -> dict[str, Any]:
    """Both parsers, with trees and with forests; with `quick`, some hundred predicates and short scales."""
    sizes = QUICK if quick else USUAL
    instances, twins = predicates(sizes["parses"])
    whole = split(instances, sizes["folds"], seed)
    parts = Parts(
        some(whole.fit, sizes["fit"], seed),
        some(whole.dev, sizes["dev"], seed),
        [some(fold, sizes["test"], seed) for fold in whole.folds],
    )
    splits = [Split(parts, k, sizes["train"], seed) for k in range(len(parts.folds))]
    say(
        f"{len(parts.all)} predicates: {len(parts.fit)} to fit to and {len(parts.dev)} to choose on, {len(splits)} folds"
    )
    parsers = {"lists": of_lists(instances), "grammar": of_grammar(parts, trees=400 if quick else None, n_jobs=n_jobs)}
    say("  all sentences parsed")
    works = {name: Work(parser, parts, splits, quick=quick, n_jobs=n_jobs, seed=seed, say=say) for name, parser in parsers.items()}  # fmt: skip
    found: dict[str, Any] = {}
    for name, work in works.items():
        work.choose()
        if name == "lists":
            work.ngrams()
        work.test(list(work.settings), "train")
        if name == "lists":
            work.test([TREE, FOREST], "all")
            for size in sizes["curve"]:
                work.test([TREE, FOREST], size)
        found[name] = work.told(sizes["coverage"])
        work.made.clear()
    items = [
        part(
            f"split {one.number}" + ("" if size == "train" else ", all predicates"),
            len(one.train[size]),
            ["/".join(map(str, (*key_of(each), each.predicate))) for each in one.test],
            {
                f"{name}: {row}": counts[one.number]
                for name, work in works.items()
                for row, counts in work.items(size).items()
            },
        )
        for size in ("train", "all")
        for one in splits
    ]
    return {
        "sizes": {
            "predicates": len(parts.all), "twins": twins, "fit": len(parts.fit), "dev": len(parts.dev), "splits": len(splits),
            "train": int(np.mean([len(one.train["train"]) for one in splits])),
            "all": int(np.mean([len(one.train["all"]) for one in splits])),
            "test": int(np.mean([len(one.test) for one in splits])), "tested": sum(len(one.test) for one in splits),
        },
        "documents": {
            name: sorted({str(one.doc) for one in each})
            for name, each in {"fit": parts.fit, "dev": parts.dev, **{f"fold {k}": f for k, f in enumerate(parts.folds)}}.items()
        },
        "parsers": found,
        "rows": {size: [scores(items_of(items, size), name) for name in items_of(items, size)[0]["systems"]] for size in ("train", "all")},
        "tests": {size: [comparison(items_of(items, size), works, size, a, b) for a, b in pairs(items_of(items, size)[0]["systems"])] for size in ("train", "all")},
        "paper": {"scores": PAPER, "unmatched": PAPER_UNMATCHED, "ratio": PAPER_RATIO},
        "items": items,
    }  # fmt: skip


class Split:
    """A fold to test on, and predicates of the other documents to learn from: some of them, or all; no sentence is in both."""

    def __init__(self, parts: Parts, number: int, train: int, seed: int) -> None:
        self.number, self.test = number, parts.folds[number]
        words = [tuple(one.words) for one in parts.all]
        tested = {id(one) for one in self.test}
        self.tests = [k for k, one in enumerate(parts.all) if id(one) in tested]
        others = [k for k, one in enumerate(parts.all) if id(one) not in tested]
        others = apart_from((words[k] for k in self.tests), others, words).tolist()
        order = np.random.default_rng([seed, number]).permutation(len(others))
        self.order = [others[k] for k in order]
        self.train = {"train": self.learnt(train), "all": others}

    def learnt(self, size: int) -> list[int]:
        """Return a number of training predicates. Larger sets contain the smaller ones."""
        return sorted(self.order[:size])


# --- one parser ---------------------------------------------------------------------------------------------------


class Work:
    """The choices, models and results with the trees and forests of one parser."""

    def __init__(
        self, parser: Parser, parts: Parts, splits: Sequence[Split], *, quick: bool, n_jobs: int, seed: int, say: Say
    ) -> None:
        self.parser, self.parts, self.splits = parser, parts, splits
        self.quick, self.n_jobs, self.seed, self.say = quick, n_jobs, seed, say
        self.settings: dict[str, Any] = {}
        self.margins: dict[str, float] = {}
        self.chosen: dict[str, dict[str, Any]] = {}
        self.trials: dict[str, list[dict[str, Any]]] = {}
        self.made: dict[tuple[Any, ...], Examples] = {}
        self.found: dict[tuple[Any, str], list[Decoded]] = {}
        self.candidates: dict[str, int] = {}

    # choosing

    def choose(self) -> None:
        """Trees, forests, and forests with probabilities, each from the start or from the one before."""
        start = asdict(Setting())
        self._climb(TREE, start, SCALES)
        self._climb(FOREST, start | {"forest": True}, SCALES | FOREST_SCALES)
        best = asdict(self.settings[FOREST])
        self._climb(PROBABLE, best | {"chance": 0.3}, CHANCES)
        both = np.mean([self.chosen[name]["by_margin"] for name in (TREE, FOREST)], axis=0)
        for name in (TREE, FOREST):
            self.margins[name + SAME] = float(MARGINS[int(both.argmax())])
        self.margins[NARROW] = self.margins[FOREST]
        self.made.clear()

    def _climb(self, name: str, start: dict[str, Any], scales: dict[str, tuple[Any, ...]]) -> None:
        found = climb(start, {} if self.quick else scales, self._measured)
        edges = found.edges + (["margin"] if found.best["margin"] in (MARGINS[0], MARGINS[-1]) else [])
        self.settings[name] = Setting(**{key: found.best[key] for key in start})
        self.margins[name] = found.best["margin"]
        self.chosen[name] = found.best | {"edges": edges, "tried": len(found.trials)}
        self.trials[name] = found.trials
        self.say(f"  {self.parser.name}, {name}: F1 {found.best['f1']:.2f}, {self.settings[name]}, margin {self.margins[name]}, {len(found.trials)} tried, edges {edges}")  # fmt: skip

    def _measured(self, at: dict[str, Any]) -> dict[str, Any]:
        setting = Setting(**at)
        low = Setting(**at | {"threshold": LOWEST})
        X, Y = (
            self._examples(part, low).above(setting.threshold if setting.forest else 0.0) for part in ("fit", "dev")
        )
        decoded = Decoded.of(
            self.parts.dev, Y, *answers(X.thinned(self.seed), Y, setting, n_jobs=self.n_jobs), MARGINS[0]
        )
        return self._best_margin(decoded)

    def _best_margin(self, decoded: Decoded) -> dict[str, Any]:
        by_margin = [decoded.f1(margin) for margin in MARGINS]
        best = int(np.argmax(by_margin))
        return {"f1": by_margin[best], "margin": float(MARGINS[best]), "by_margin": by_margin}

    def ngrams(self) -> None:
        """The plain baseline, on the candidates of the best trees: settings on the predicates to fit to, margin on those to choose on."""
        X, Y = (self._examples(part, Setting()) for part in ("fit", "dev"))
        X = X.rows(frequent(X.labels)).thinned(self.seed)
        texts = [text(self.parts.fit[one], span) for one, span in zip(X.owners, X.spans, strict=True)]
        groups = [str(self.parts.fit[one].doc) for one in X.owners]
        chosen = plain.choose(texts, X.labels, groups, self.seed)
        tests = [text(self.parts.dev[one], span) for one, span in zip(Y.owners, Y.spans, strict=True)]
        values = plain.fitted_values(chosen, texts, X.labels, tests)
        best = self._best_margin(Decoded.of(self.parts.dev, Y, *values, MARGINS[0]))
        self.settings[NGRAMS], self.margins[NGRAMS] = chosen, best["margin"]
        self.chosen[NGRAMS] = best | {"edges": chosen["at_edge"], "tried": chosen["tried"]}
        self.say(f"  n-grams: {plain.told(chosen)}, F1 {best['f1']:.2f}")

    # learning and testing

    def test(self, names: Sequence[str], size: Any) -> None:
        """Fit to each split's predicates, so many of them, and find the arguments of its test predicates."""
        for name in names:
            for one in self.splits:
                train = one.train[size] if isinstance(size, str) else one.learnt(size)
                self._tested(name, size, one, train)
            rows = [self.found[size, name][k].f1(self.margins[name]) for k in range(len(self.splits))]
            self.say(
                f"  {self.parser.name}, {name}, {size}: F1 {np.mean(rows):.2f} ({', '.join(f'{f1:.2f}' for f1 in rows)})"
            )

    def _tested(self, name: str, size: Any, one: Split, train: Sequence[int]) -> None:
        setting = Setting() if name == NGRAMS else self.settings[name]
        made = self._examples("all", setting)
        X, Y = made.of(train).thinned(self.seed), made.of(one.tests)
        if name == NGRAMS:
            X = X.rows(frequent(X.labels))
            texts = [[text(self.parts.all[of[k]], span) for k, span in zip(Z.owners, Z.spans, strict=True)] for Z, of in ((X, train), (Y, one.tests))]  # fmt: skip
            classes, values = plain.fitted_values(self.settings[NGRAMS], texts[0], X.labels, texts[1])
        else:
            classes, values = answers(X, Y, setting, n_jobs=self.n_jobs)
        self._keep(size, name, Decoded.of(one.test, Y, classes, values, MARGINS[0]))
        self.candidates[name] = self.candidates.get(name, 0) + (len(Y) if size == "train" else 0)
        if name == FOREST and isinstance(size, str):
            seen = self._examples("all", self.settings[TREE]).of(one.tests).by_predicate(len(one.tests))
            kept = Y.only(seen)
            self._keep(size, NARROW, Decoded.of(one.test, Y.rows(kept), classes, values[kept], MARGINS[0]))

    def _keep(self, size: Any, name: str, decoded: Decoded) -> None:
        self.found.setdefault((size, name), []).append(decoded)
        if name in (TREE, FOREST):
            self.found.setdefault((size, name + SAME), []).append(decoded)

    def _examples(self, part: str, setting: Setting) -> Examples:
        key = (part, setting.forest, *((setting.temperature, setting.threshold) if setting.forest else ()))
        if key not in self.made:
            self.made[key] = examples(getattr(self.parts, part), self.parser, setting)
        return self.made[key]

    # telling

    def items(self, size: str) -> dict[str, list[Any]]:
        """By row and split: right, wanted and found arguments of each predicate."""
        return {
            name: [one.counts(self.margins[name]) for one in splits]
            for (at, name), splits in self.found.items()
            if at == size
        }

    def hits(self, size: str, name: str) -> set[tuple[Any, ...]]:
        """All right arguments that were found, over the splits."""
        found = self.found[size, name]
        return {(k, *hit) for k, one in enumerate(found) for hit in one.hits(self.margins[name])}

    def curves(self) -> dict[str, dict[str, list[list[int]]]]:
        """For each margin: right, wanted and found arguments of all splits."""
        return {
            size: {
                name: [np.sum([one.counts(margin).sum(axis=0) for one in found], axis=0).tolist() for margin in MARGINS]
                for (at, name), found in self.found.items()
                if at == size and not name.endswith(SAME)
            }
            for size in ("train", "all")
        }

    def told(self, limit: int) -> dict[str, Any]:
        """Return the results of this parser, ready for JSON."""
        sentences = {key_of(one): one.tree for fold in self.parts.folds for one in fold}
        quality = parseval(list(sentences.values()), [self.parser.best(key) for key in sentences])
        self.say(f"  {self.parser.name}: F1 of the best parses {quality.f1:.2f}")
        return {
            "parse_f1": quality.f1,
            "chosen": {
                name: {key: value for key, value in one.items() if key != "by_margin"}
                | {"kernel": plain.told(self.settings[name]) if name == NGRAMS else repr(self.settings[name].kernel())}
                for name, one in self.chosen.items()
            },
            "trials": {
                name: [{key: value for key, value in one.items() if key != "by_margin"} for one in trials]
                for name, trials in self.trials.items()
            },
            "margins": self.margins,
            "candidates": self.candidates,
            "unlabelled": {
                name: float(np.mean([one.f1(self.margins[name], labeled=False) for one in found]))
                for (size, name), found in self.found.items()
                if size == "train"
            },
            "curve": [
                {"size": size, "name": name, "f1": [one.f1(self.margins[name]) for one in found]}
                for (size, name), found in self.found.items()
                if name in (TREE, FOREST)
            ],
            "precision_recall": self.curves(),
            "coverage": covered([some(fold, limit, self.seed) for fold in self.parts.folds], self.parser, THRESHOLDS),
        }


# --- rows and tests -----------------------------------------------------------------------------------------------


def items_of(items: Sequence[dict[str, Any]], size: str) -> list[dict[str, Any]]:
    """The splits with some, or with all predicates to learn from."""
    return [one for one in items if one["part"].endswith("all predicates") == (size == "all")]


def scores(items: Sequence[dict[str, Any]], name: str) -> dict[str, Any]:
    """Mean and standard deviation over splits."""
    return {"name": name} | {key: summary(items, name, key) for key in ("precision", "recall", "f1")}


def pairs(systems: Any) -> list[tuple[str, str]]:
    """Return the pairs of systems to compare: forests and trees, and both with the baseline."""
    wanted = []
    for name in ("lists", "grammar"):
        of = [f"{name}: {row}" for row in (TREE, FOREST, PROBABLE, NARROW, TREE + SAME, FOREST + SAME)]
        wanted += [(of[1], of[0]), (of[2], of[0]), (of[5], of[4]), (of[3], of[0]), (of[1], of[3])]
        wanted += [(of[0], "lists: n-grams"), (of[1], "lists: n-grams")]
    return [pair for pair in wanted if set(pair) <= set(systems)]


def comparison(items: Sequence[dict[str, Any]], works: dict[str, Work], size: str, a: str, b: str) -> dict[str, Any]:
    """Two systems: over the splits; over all predicates, sentences being drawn; and McNemar's test of right arguments."""
    found: dict[str, Any] = {key: across(items, a, b, key, groups=sentence) for key in ("f1", "precision", "recall")}
    sides = [works[name.partition(": ")[0]].hits(size, name.partition(": ")[2]) for name in (a, b)]
    either = sorted(sides[0] | sides[1])
    row = mcnemar_row(a, [hit in sides[0] for hit in either], b, [hit in sides[1] for hit in either])
    kept = {key: row[key] for key in ("only_a", "only_b", "p_mcnemar")}
    counts = {side: np.sum([np.sum(one["systems"][name], axis=0) for one in items], axis=0).tolist() for side, name in (("counts_a", a), ("counts_b", b))}  # fmt: skip
    return {
        "a": a,
        "b": b,
        **found,
        **kept,
        **counts,
    }


def sentence(item: Any) -> str:
    """The sentence of a predicate, from its id.

    >>> sentence("wsj_0001/0/8")
    'wsj_0001/0'
    """
    return str(item).rpartition("/")[0]
