"""Moschitti (2006): which role an argument has, by flat features, by tree kernels and by both; the paper's figures beside ours.

PropBank's arguments of verbs on gold trees: the Wall Street Journal sample, and MASC as a second corpus. Parts are made of
whole documents. All settings are chosen by cross-validation on training documents of the first corpus.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import PredefinedSplit

from experiments import moschitti_time
from experiments.differences import mcnemar_row
from experiments.documents import rows_of
from experiments.moschitti_data import FORMS, as_table, examples, split
from experiments.moschitti_page import PAPER, PAPER_BEST, page, picture
from experiments.running import Say
from treelet.datasets.loaders import wsj_sample
from treelet.kernels import Kernel, Linear, On, PartialTree, SubsetTree, Subtree
from treelet.learn import KernelSVC
from treelet.learn.selection import Selection, Trial, select
from treelet.structures import Table

__all__ = ["page", "picture", "run"]

Rows = NDArray[np.intp]
COMPARED = [
    ("linear + SST", "linear"),
    ("linear + PT", "linear"),
    ("linear + linear × SST", "linear"),
    ("SST", "ST"),
    ("SST", "PT"),
    ("linear", "SST"),
    ("linear with pairs", "linear"),
    ("linear with pairs + SST", "linear with pairs"),
    ("linear with pairs", "linear + linear × SST"),
]
CURVES = ("linear", "ST", "SST", "PT", "linear + SST")


class Setting(NamedTuple):
    """How much is done."""

    train: int | None  # at most so many training arguments of the first corpus; None for all
    train_masc: int | None
    test: int | None
    choose: int  # so many training arguments to choose on
    folds: int
    sizes: Sequence[int]  # of the trees that are timed, in nodes
    timed: int  # trees a size
    pairs: int
    fractions: Sequence[float]  # of the training arguments, for the learning curve; the whole comes besides


QUICK = Setting(1500, 600, 800, 800, 2, (10, 20, 40), 60, 20, (0.25, 0.5))
USUAL = Setting(None, 8000, None, 5000, 3, range(10, 51, 5), 500, 200, (0.05, 0.1, 0.25, 0.5))
FULL = USUAL._replace(train_masc=None, choose=8000, fractions=(0.05, 0.1, 0.25, 0.5, 0.75))


# --- choosing ---------------------------------------------------------------------------------------------------

FLAT: dict[str, Kernel] = {
    "linear": On("features", Linear().normalized()),
    "linear with pairs": On("pairs", Linear().normalized()),
}
Parameters = tuple[float, ...]
PARAMETERS: dict[str, list[Parameters]] = {  # what the paper found best stands first
    "ST": [(1.0,), (0.6,), (0.3,)],
    "SST": [(0.4,), (0.2,), (0.6,), (0.8,)],
    "PT": [(0.8, 0.4), (0.4, 0.4), (0.6, 0.6), (0.6, 0.8), (1.0, 0.4)],
}
MIXED = {
    "linear + SST": ("linear", "SST"),
    "linear + PT": ("linear", "PT"),
    "linear + linear × SST": ("linear", "SST"),
    "linear with pairs + SST": ("linear with pairs", "SST"),
}


def tree_kernel(kind: str, form: str, parameters: Parameters) -> Kernel:
    """A normalised tree kernel on one form of trees."""
    made = {"ST": Subtree, "SST": SubsetTree, "PT": PartialTree}[kind](*parameters)
    return On(form, made.normalized())


def mixture(name: str, kind: str, form: str, parameters: Parameters, share: float) -> Kernel:
    """Flat features and trees together; `share` is the weight of the features."""
    flat, trees = FLAT[MIXED[name][0]], tree_kernel(kind, form, parameters)
    return share * flat + round(1 - share, 2) * (flat * trees if "×" in name else trees)


def folds_of(docs: Sequence[str], folds: int) -> Rows:
    """A fold for each argument, that of its document; documents go to the emptiest fold, the largest first."""
    names, which, counts = np.unique(np.asarray(docs), return_inverse=True, return_counts=True)
    sizes = np.zeros(folds, int)
    fold = np.zeros(len(names), np.intp)
    for name in np.argsort(-counts, kind="stable"):
        fold[name] = sizes.argmin()
        sizes[fold[name]] += counts[name]
    return np.asarray(fold[which], np.intp)


Attempt = Callable[[Sequence[Kernel], Sequence[float]], Trial]
"""Cross-validates kernels with several C each, and gives the best."""


def better(*trials: Trial) -> Trial:
    """The best of several, the first of equals."""
    return Selection(list(trials)).best


def chosen_trees(kind: str, attempt: Attempt, quick: bool) -> tuple[Parameters, Trial]:
    """A form of tree, then the kernel's parameters, then C."""
    first, *others = PARAMETERS[kind]
    forms = ["pruned"] if quick else list(FORMS)
    by_form = [tree_kernel(kind, form, first) for form in forms]
    trial = attempt(by_form, (3.0,))
    if quick:
        return first, trial
    form = forms[by_form.index(trial.kernel)]
    trial = better(trial, attempt([tree_kernel(kind, form, parameters) for parameters in others], (3.0,)))
    trial = better(trial, attempt([trial.kernel], (10.0, 30.0)))
    return next(p for p in PARAMETERS[kind] if tree_kernel(kind, form, p) == trial.kernel), trial


def chosen_mixture(name: str, parameters: dict[str, Parameters], attempt: Attempt, quick: bool) -> Trial:
    """A form of tree, then the weight of the features, then C; the tree kernel's parameters are those of before."""
    kind = MIXED[name][1]
    forms = ["pruned"] if quick else ["pruned", "sisters", "shallow"]
    by_form = [mixture(name, kind, form, parameters[kind], 0.7) for form in forms]
    trial = attempt(by_form, (10.0,))
    if quick:
        return trial
    form = forms[by_form.index(trial.kernel)]
    by_share = [mixture(name, kind, form, parameters[kind], share) for share in (0.5, 0.85)]
    trial = better(trial, attempt(by_share, (10.0,)))
    return better(trial, attempt([trial.kernel], (3.0, 30.0)))


def choose(X: Table, y: Any, docs: Sequence[str], *, setting: Setting, n_jobs: int, say: Say) -> tuple[Any, list[Any]]:
    """A kernel and C for each row, by cross-validation over documents, and all that was tried."""
    quick, tried = setting is QUICK, list[Trial]()
    cv = PredefinedSplit(folds_of(docs, setting.folds))

    def told(trial: Trial) -> None:
        say(f"    {trial.kernel!r}, C={trial.parameters['C']:g}: {100 * trial.score:.2f}")
        tried.append(trial)

    def attempt(kernels: Sequence[Kernel], C: Sequence[float]) -> Trial:
        return select(kernels, X, y, estimator=KernelSVC(n_jobs=n_jobs), grid={"C": C}, cv=cv, report=told).best

    chosen = {name: attempt([kernel], (10.0,) if quick else (3.0, 10.0, 30.0)) for name, kernel in FLAT.items()}
    parameters = {}
    for kind in PARAMETERS:
        parameters[kind], chosen[kind] = chosen_trees(kind, attempt, quick)
    for name in MIXED:
        chosen[name] = chosen_mixture(name, parameters, attempt, quick)
    return chosen, [{"kernel": repr(t.kernel), **t.parameters, "accuracy": 100 * t.score} for t in tried]


# --- the experiment ---------------------------------------------------------------------------------------------


def run(
    *,
    quick: bool = False,
    full: bool = False,
    n_jobs: int = 1,
    seed: int = 0,
    say: Say = lambda text: None,
) -> dict[str, Any]:
    """The whole experiment; what it found, ready for JSON.

    With `quick`, few arguments, one setting a kernel and few trees to time. With `full`, all of MASC to learn from, and
    more arguments to choose on.
    """
    setting = QUICK if quick else FULL if full else USUAL
    corpora: dict[str, Any] = {}
    both = {corpus: examples(corpus) for corpus in ("wsj", "masc")}
    trees = [tree for tree in wsj_sample()[0] if tree is not None]
    trees += {id(e.sentence): e.sentence.tree for e in both["masc"]}.values()
    say("time against size")
    times = moschitti_time.measure(
        trees, sizes=setting.sizes, number=setting.timed, pairs=setting.pairs, seed=seed, say=say
    )
    chosen: dict[str, Trial] = {}
    tried: list[Any] = []
    curve: dict[str, Any] = {}
    for corpus, found in both.items():
        limit = setting.train if corpus == "wsj" else setting.train_masc
        train, test = split(found, train=limit, test=setting.test, seed=seed)
        roles = np.array([e.role for e in found])
        docs = [e.doc for e in found]
        forms = ["pruned"] if quick else list(FORMS)
        X, X_test = (as_table([found[k] for k in part], forms) for part in (train, test))
        y, y_test = roles[train], roles[test]
        say(f"{corpus}: {len(train)} training and {len(test)} test arguments")
        if corpus == "wsj":
            part = rows_of([docs[k] for k in train], dict.fromkeys(docs[k] for k in train), setting.choose)
            own = [docs[k] for k in train[part]]
            chosen, tried = choose(X[part], y[part], own, setting=setting, n_jobs=n_jobs, say=say)
        corpora[corpus] = measured(chosen, X, y, X_test, y_test, n_jobs=n_jobs, say=say) | {
            "documents": [len({docs[k] for k in part}) for part in (train, test)],
        }
        if corpus == "wsj":
            corpora[corpus]["choosing"] = len(own)
            curve = learning_curve(chosen, X, y, X_test, y_test, setting.fractions, n_jobs=n_jobs, say=say)
            for row in corpora[corpus]["rows"]:
                if row["kernel"] in curve:
                    curve[row["kernel"]].append(row["accuracy"])
            curve["sizes"].append(len(y))
    return {
        "corpora": corpora,
        "tried": tried,
        "learning_curve": curve,
        "time": times,
        "paper": PAPER,
        "paper_best": PAPER_BEST,
    }


def measured(
    chosen: dict[str, Trial], X: Table, y: Any, X_test: Table, y_test: Any, *, n_jobs: int, say: Say
) -> dict[str, Any]:
    """Each row's machine, learnt from the training arguments, and its test accuracy; tests of significance."""
    rows = []
    right: dict[str, Any] = {}
    for name, trial in chosen.items():
        begin = time.perf_counter()
        model = KernelSVC(kernel=trial.kernel, **trial.parameters, n_jobs=n_jobs, cache_size=1000).fit(X, y)
        right[name] = model.predict(X_test) == y_test
        rows.append(
            {
                "kernel": name,
                "accuracy": 100 * float(right[name].mean()),
                "cross_validation": 100 * trial.score,
                "chosen": repr(trial.kernel),
                "C": trial.parameters["C"],
                "support": len(model.support_),
                "seconds": time.perf_counter() - begin,
            }
        )
        say(f"{name}: test {rows[-1]['accuracy']:.2f}, {rows[-1]['seconds']:.0f} s")
    names, counts = np.unique(y_test, return_counts=True)
    return {
        "train": len(y),
        "test": len(y_test),
        "majority": 100 * float(np.mean(y_test == max(set(y.tolist()), key=y.tolist().count))),
        "roles": dict(zip(names.tolist(), counts.tolist(), strict=True)),
        "rows": rows,
        "significance": [mcnemar_row(a, right[a], b, right[b]) for a, b in COMPARED],
    }


def learning_curve(
    chosen: dict[str, Trial],
    X: Table,
    y: Any,
    X_test: Table,
    y_test: Any,
    fractions: Sequence[float],
    *,
    n_jobs: int,
    say: Say,
) -> dict[str, Any]:
    """Test accuracy with growing parts of the training arguments, which lie by documents, the settings of the whole."""
    sizes = [int(len(y) * part) for part in fractions]
    curve: dict[str, Any] = {"sizes": sizes}
    for name in CURVES:
        trial, accuracies = chosen[name], []
        for size in sizes:
            model = KernelSVC(kernel=trial.kernel, **trial.parameters, n_jobs=n_jobs, cache_size=1000).fit(
                X[:size], y[:size]
            )
            accuracies.append(100 * float(np.mean(model.predict(X_test) == y_test)))
        curve[name] = accuracies
        say(f"learning curve, {name}: {', '.join(f'{value:.1f}' for value in accuracies)}")
    return curve
