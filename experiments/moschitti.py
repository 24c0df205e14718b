"""Moschitti (2006): which role an argument has, by flat features, by tree kernels and by both; the paper's figures beside ours.

PropBank's arguments of verbs: the Wall Street Journal sample with gold trees and with a parser's, and MASC as a second corpus. Settings
are chosen once, on documents that are never tested on; the other documents are tested on in five splits.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments import plain
from experiments.data import apart_from
from experiments.differences import across, figure, part, summary
from experiments.moschitti_choice import PAPER, ROWS, Choice, Chooser, Chosen, choose, unchosen
from experiments.moschitti_data import (
    FORMS,
    Example,
    Split,
    as_table,
    examples,
    learnt_by_the_parser,
    limited,
    on_parse,
    splits,
    text_of,
)
from experiments.running import Kept, Say
from treelet.errors import TreeletWarning
from treelet.learn import KernelSVC
from treelet.structures import Table

Rows = NDArray[np.intp]
PLAIN = "n-grams"
"""The baseline without trees or features: words and characters of argument and verb."""
COMPARED = [
    ("SST", "ST"),
    ("SST, paper", "ST, paper"),
    ("SST, paper", "PT, paper"),
    ("SST, paper, no marks", "PT, paper, no marks"),
    ("SST", "PT"),
    ("SST", "linear"),
    ("SST, paper", "linear"),
    ("PT", "linear"),
    ("linear + SST", "linear"),
    ("linear + SST, paper", "linear"),
    ("linear + PT", "linear"),
    ("linear + linear × SST", "linear"),
    ("linear with pairs", "linear"),
    ("linear with pairs + SST", "linear with pairs"),
    ("linear", PLAIN),
    ("SST", PLAIN),
]
CURVES = ("linear", "ST", "SST", "PT", "linear + SST")
PARSED = ("linear", "ST", "SST", "PT", "linear + SST", "SST, paper", "PT, paper")
"""Systems that are also trained and tested on automatic trees."""
GOLD, FROM_GOLD, FROM_PARSES = "gold trees", "parses, learnt from gold trees", "parses, learnt from parses"


class Setting(NamedTuple):
    """Sizes of the experiment; None for everything."""

    choosing: int  # arguments to choose on
    folds: int  # of the choice
    splits: int
    train: int | None
    test: int | None
    train_masc: int | None
    test_masc: int | None
    fractions: Sequence[float]  # of the training arguments, for the learning curve; the whole comes besides


QUICK = Setting(300, 2, 2, 500, 300, 300, 200, (0.25, 0.5))
USUAL = Setting(4000, 3, 5, None, None, 6000, 3000, (0.05, 0.1, 0.25, 0.5))


def run(
    *,
    quick: bool = False,
    n_jobs: int = 1,
    seed: int = 0,
    say: Say = lambda text: None,
    folder: Path | None = None,
) -> dict[str, Any]:
    """The whole experiment; what it found, ready for JSON. With `quick`, few arguments, and nothing is chosen."""
    setting = QUICK if quick else USUAL
    journal, masc = examples("wsj", parsed=True), examples("masc")
    chosen_on, parts = splits(journal, choosing=setting.choosing, folds=setting.splits, seed=seed)
    say(f"choosing on {len(chosen_on)} arguments")
    choice, words = chosen([journal[k] for k in chosen_on], setting, n_jobs=n_jobs, seed=seed, say=say)
    kept = Kept(folder, f"moschitti-{'quick' if quick else 'usual'}-{seed}")
    elsewhere = learnt_by_the_parser()
    work = Work(choice.rows, words, setting.fractions, ["pruned", "unmarked"] if quick else list(FORMS), n_jobs, say)
    for number, split in enumerate(parts):
        if number not in kept.done:
            less = limited(split, train=setting.train, test=setting.test, seed=seed)
            kept.add(number, work.journal(journal, less, elsewhere, number))
    _, parts = splits(masc, choosing=0, folds=setting.splits, seed=seed)
    for number, split in enumerate(parts):
        if 100 + number not in kept.done:
            less = limited(split, train=setting.train_masc, test=setting.test_masc, seed=seed)
            kept.add(100 + number, work.masc(masc, less, number))
    done = [kept.done[number] for number in sorted(kept.done)]
    kept.forget()
    return assembled(done, choice, words, [journal[k] for k in chosen_on], setting)


def chosen(
    found: Sequence[Example], setting: Setting, *, n_jobs: int, seed: int, say: Say
) -> tuple[Choice, dict[str, Any]]:
    """Settings of the kernels and of the plain baseline."""
    if setting is QUICK:
        return unchosen(), {"words": 2, "characters": 4, "C": 0.5, "cross_validation": None, "tried": 0, "at_edge": []}
    y, docs = np.array([e.role for e in found]), [e.doc for e in found]
    chooser = Chooser(as_table(found), y, docs, folds=setting.folds, n_jobs=n_jobs, say=say)
    return choose(chooser), plain.choose([text_of(e) for e in found], y, docs, seed)


# --- one split --------------------------------------------------------------------------------------------------


class Work(NamedTuple):
    """Train and test the model of each row in one split."""

    rows: Mapping[str, Chosen]
    words: dict[str, Any]
    fractions: Sequence[float]
    forms: Sequence[str]
    n_jobs: int
    say: Say

    def fitted(self, name: str, X: Table, y: Any) -> KernelSVC:
        """A row's machine, learned from arguments."""
        row = self.rows[name]
        return KernelSVC(kernel=row.kernel, C=row.C, n_jobs=self.n_jobs, cache_size=1000).fit(X, y)

    def table(self, found: Iterable[Example]) -> tuple[Table, Any]:
        """Arguments and their roles."""
        listed = list(found)
        return as_table(listed, self.forms), np.array([e.role for e in listed])

    def masc(self, found: Sequence[Example], split: Split, number: int) -> dict[str, Any]:
        """A split of the second corpus."""
        (X, y), (X_test, y_test) = (self.table(found[k] for k in rows) for rows in split)
        right = {name: is_right(self.fitted(name, X, y), X_test, y_test) for name in ROWS}
        return self._told("MASC", found, split, right, number)

    def journal(
        self, found: Sequence[Example], split: Split, elsewhere: set[tuple[str, ...]], number: int
    ) -> dict[str, Any]:
        """A split of the first corpus: gold trees, growing parts of the training arguments, a parser's trees.

        `elsewhere` are sentences that the parser has learned from.
        """
        (X, y), (X_test, y_test) = (self.table(found[k] for k in rows) for rows in split)
        words = [e.words for e in found]
        tested = apart_from(elsewhere, split.test, words)
        places = {row: place for place, row in enumerate(split.test.tolist())}
        parses = [on_parse(found[k]) for k in tested]
        there = np.array([one is not None for one in parses])
        X_parsed, y_parsed = self.table(one for one in parses if one is not None)
        learnt = apart_from(elsewhere, split.train, words)
        from_parses = self.table(one for k in learnt if (one := on_parse(found[k])) is not None)

        right: dict[str, Any] = {}
        curve: dict[str, Any] = {}
        parsed: dict[str, Any] = {}
        for name in ROWS:
            model = self.fitted(name, X, y)
            right[name] = is_right(model, X_test, y_test)
            if name in CURVES:
                for share in self.fractions:
                    few = int(share * len(y))
                    curve[at_share(name, share)] = is_right(self.fitted(name, X[:few], y[:few]), X_test, y_test)
            if name in PARSED:
                own = self.fitted(name, *from_parses)
                parsed[on(name, FROM_GOLD)] = where(there, is_right(model, X_parsed, y_parsed))
                parsed[on(name, FROM_PARSES)] = where(there, is_right(own, X_parsed, y_parsed))
        found_part = self._told("Wall Street Journal", found, split, right, number, curve)
        at = [places[row] for row in tested.tolist()]
        for name in (*PARSED, PLAIN):
            known = np.array(found_part["items"][0]["systems"][name], bool)[at]
            parsed[on(name, GOLD)] = where(there, known[there])
        found_part["items"].append(
            part(f"parses, split {number}", len(from_parses[1]), [found[k].id for k in tested], parsed)
        )
        return found_part | {
            "twins": len(split.test) - len(tested),
            "parsed": len(tested),
            "constituents": int(there.sum()),
        }

    def _told(
        self,
        corpus: str,
        found: Sequence[Example],
        split: Split,
        right: dict[str, Any],
        number: int,
        more: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        learnt, tested = ([found[k] for k in rows] for rows in split)
        y, y_test = (np.array([e.role for e in listed]) for listed in (learnt, tested))
        texts, test_texts = ([text_of(e) for e in listed] for listed in (learnt, tested))
        right[PLAIN] = plain.fitted_answers(self.words, texts, y, test_texts) == y_test
        self.say(f"{corpus}, split {number}, {len(learnt)} and {len(tested)} arguments: "
                 + ", ".join(f"{name} {100 * values.mean():.1f}" for name, values in right.items()))  # fmt: skip
        names, counts = np.unique(y, return_counts=True)
        return {
            "corpus": corpus,
            "train": len(learnt),
            "test": len(tested),
            "documents": [len({e.doc for e in listed}) for listed in (learnt, tested)],
            "majority": 100 * float(np.mean(y_test == names[counts.argmax()])),
            "items": [
                part(f"{corpus}, split {number}", len(learnt), [e.id for e in tested], {**right, **(more or {})})
            ],
        }


def at_share(name: str, share: float) -> str:
    """A row that learns from a part of the training arguments.

    >>> at_share("SST", 0.05)
    'SST, 5 % of the training'
    """
    return f"{name}, {100 * share:g} % of the training"


def on(name: str, trees: str) -> str:
    """A row with the trees that it learns from and is tested on."""
    return f"{name}: {trees}"


def where(there: Any, values: Any) -> list[float]:
    """Values for those that are there, no number for the others.

    >>> where([True, False, True], [1, 0])
    [1.0, nan, 0.0]
    """
    rest = iter(values)
    return [float(next(rest)) if one else float("nan") for one in there]


def is_right(model: KernelSVC, X: Table, y: Any) -> Any:
    """Return whether each prediction is correct. Examples without a common fragment are predicted without a warning."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*no fragment in common with the model", TreeletWarning)
        return model.predict(X) == y


# --- all splits -------------------------------------------------------------------------------------------------


def assembled(
    done: Sequence[Mapping[str, Any]],
    choice: Choice,
    words: dict[str, Any],
    chosen_on: Sequence[Example],
    setting: Setting,
) -> dict[str, Any]:
    """Means, deviations and tests over splits."""
    corpora = {}
    for corpus in ("Wall Street Journal", "MASC"):
        mine = [one for one in done if one["corpus"] == corpus]
        items = [one["items"][0] for one in mine]
        corpora[corpus] = {
            "splits": [{key: one[key] for key in ("train", "test", "documents", "majority")} for one in mine],
            "rows": {name: summary(items, name) for name in (*ROWS, PLAIN)},
            "tests": [across(items, a, b, groups=document) for a, b in COMPARED],
        }
    journal = [one for one in done if len(one["items"]) > 1]
    decay_part, decays = decay_tests(choice, chosen_on)
    return {
        "corpora": corpora,
        "curve": curve_found([one["items"][0] for one in journal], setting.fractions),
        "parses": parses_found(journal),
        "chosen": {
            name: {"kernel": repr(row.kernel), "C": row.C, "cross_validation": row.cross_validation, "at_edge": row.at_edge}
            for name, row in choice.rows.items()
        },
        "plain": words,
        "choosing": [len(chosen_on), len({e.doc for e in chosen_on})],
        "tried": choice.tried,
        "decays": decays,
        "items": [*(item for one in done for item in one["items"]), *decay_part],
    }  # fmt: skip


def curve_found(items: Sequence[Mapping[str, Any]], fractions: Sequence[float]) -> dict[str, Any]:
    """Accuracy with growing parts of the training arguments, and whether the second half of them helps."""
    shares = [at for at in fractions if at < 1]
    return {
        "sizes": [round(share * float(np.mean([one["train"] for one in items]))) for share in (*shares, 1.0)],
        "rows": {
            name: [*(summary(items, at_share(name, share)) for share in shares), summary(items, name)]
            for name in CURVES
        },
        "tests": [across(items, name, at_share(name, 0.5), groups=document) for name in CURVES],
    }


def parses_found(journal: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Gold trees and a parser's, on the arguments that are constituents of both; and with the others counted as wrong."""
    items = [one["items"][1] for one in journal]
    rows = {}
    for name in (*PARSED, PLAIN):
        for trees in (GOLD,) if name == PLAIN else (GOLD, FROM_GOLD, FROM_PARSES):
            system = on(name, trees)
            values = [[value or 0 for value in one["systems"][system]] for one in items]
            rows[system] = summary(items, system) | {"of_all": float(np.mean([figure(one) for one in values]))}
    pairs = [(on(name, FROM_PARSES), on(name, GOLD)) for name in PARSED]
    pairs += [(on(name, FROM_PARSES), on(name, FROM_GOLD)) for name in PARSED]
    pairs += [(on("SST", FROM_PARSES), on(other, FROM_PARSES)) for other in ("linear", "ST", "PT")]
    pairs += [(on("SST, paper", FROM_PARSES), on("PT, paper", FROM_PARSES))]
    return {
        "arguments": sum(one["parsed"] for one in journal),
        "constituents": sum(one["constituents"] for one in journal),
        "twins": sum(one["twins"] for one in journal),
        "rows": rows,
        "tests": [across(items, a, b, groups=document) for a, b in pairs],
    }


def decay_tests(choice: Choice, found: Sequence[Example]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the accuracy of each decay on pruned trees, and a bootstrap test of the paper's decays against the best."""
    systems: dict[str, Any] = {}
    decays: dict[str, Any] = {}
    for kind, trials in choice.decays.items():
        settings, scores = [s for s, _ in trials], [trial.score for _, trial in trials]
        best, paper = int(np.argmax(scores)), settings.index({**settings[0], **PAPER[kind]})
        for name, number in ((f"{kind}, best decay", best), (f"{kind}, the paper's decay", paper)):
            systems[name] = right_in(trials[number][1], found)
        decays[kind] = {
            "trials": [{**s, "accuracy": 100 * score} for s, score in zip(settings, scores, strict=True)],
            "best": settings[best],
        }
    if not systems:
        return [], {}
    one = part("documents to choose on", len(found), [e.id for e in found], systems)
    for kind, row in decays.items():
        row["test"] = across([one], f"{kind}, the paper's decay", f"{kind}, best decay", groups=document)
    return [one], decays


def document(item: Any) -> str:
    """Of an item by its id."""
    return str(item).split("/")[0]


def right_in(trial: Any, found: Sequence[Example]) -> list[bool]:
    """Return whether each argument is predicted correctly in a cross-validation."""
    right = [False] * len(found)
    for (_, rows), predicted in zip(trial.folds, trial.predicted, strict=True):
        for row, role in zip(rows, predicted, strict=True):
            right[row] = role == found[row].role
    return right
