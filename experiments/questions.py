"""Question classification: which of six kinds of answer does a question ask for?

The 5,452 + 500 TREC questions of Li & Roth (2002) with parse trees of a Charniak-style parser. All parameters are chosen
by cross-validation on the training questions; the test questions are used once a row.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from experiments import report
from experiments.running import Say
from treelet.datasets.loaders import questions
from treelet.kernels import Kernel, Linear, On, PartialTree, SubsetTree
from treelet.learn import KernelSVC
from treelet.learn.selection import Selection, Trial, select
from treelet.structures import Table, Treebank

PUBLISHED = [
    ("bag of words", "86.2"),
    ("SST, constituency trees", "91.4"),
    ("PT, constituency trees", "91.0"),
    ("smoothed PT, dependency trees of another parser", "94.0–95.0"),
]
"""Test accuracies in per cent that have been published for these questions; trees and parsers differ from ours."""


def as_table(bank: Treebank) -> Table:
    """Each question as a tree and as a bag of its words."""
    words = [{word.lower(): 1.0 for word in tree.words()} if tree else {} for tree in bank]
    return Table({"tree": bank, "words": words})


def candidates(quick: bool) -> dict[str, list[Kernel]]:
    """The kernels to choose from, a row of the table each."""
    lams = (0.4,) if quick else (0.2, 0.3, 0.4, 0.5)
    words = On("words", Linear().normalized())
    sst = [On("tree", SubsetTree(lam=lam).normalized()) for lam in lams]
    pt = [
        On("tree", PartialTree(lam=lam, mu=mu).normalized())
        for lam, mu in (
            [(0.4, 0.4)] if quick else [(0.2, 0.2), (0.4, 0.2), (0.2, 0.4), (0.4, 0.4), (0.6, 0.4), (0.4, 0.6)]
        )
    ]
    shares = (0.5,) if quick else (0.3, 0.5, 0.7)
    return {
        "bag of words": [words],
        "SST": list(sst),
        "PT": list(pt),
        "SST + bag of words": [
            round(1 - share, 2) * On("tree", SubsetTree(lam=lam).normalized()) + share * words
            for share in shares
            for lam in lams[:3]
        ],
        "PT + bag of words": [
            round(1 - share, 2) * On("tree", PartialTree(lam=lam, mu=mu).normalized()) + share * words
            for share in shares
            for lam, mu in ((0.4, 0.4), (0.2, 0.2))[: 1 if quick else 2]
        ],
    }


def run(*, quick: bool = False, n_jobs: int = 1, seed: int = 0, say: Say = lambda text: None) -> dict[str, Any]:
    """The whole experiment; what it found, ready for JSON.

    With `quick`, a fifth of the training questions and one setting a kernel.
    """
    train, train_labels = questions("train")
    test, test_labels = questions("test")
    if quick:
        train, train_labels = train[::5], train_labels[::5]
    X, y = as_table(train), np.array(train_labels)
    X_test, y_test = as_table(test), np.array(test_labels)
    say(f"{len(X)} training and {len(X_test)} test questions, classes {', '.join(np.unique(y))}")
    rows = []
    right: dict[str, Any] = {}
    best: dict[str, Trial] = {}
    for name, kernels in candidates(quick).items():
        begin = time.perf_counter()
        chosen = choose(kernels, X, y, quick=quick, n_jobs=n_jobs, seed=seed, say=say)
        trial = best[name] = chosen.best
        model = KernelSVC(kernel=trial.kernel, **trial.parameters, n_jobs=n_jobs).fit(X, y)
        right[name] = model.predict(X_test) == y_test
        rows.append(
            {
                "kernel": name,
                "chosen": repr(trial.kernel),
                "C": trial.parameters["C"],
                "cross_validation": 100 * trial.score,
                "accuracy": 100 * float(right[name].mean()),
                "support": len(model.support_),
                "tried": len(chosen.trials),
                "seconds": time.perf_counter() - begin,
            }
        )
        say(f"{name}: cross-validation {rows[-1]['cross_validation']:.2f}, test {rows[-1]['accuracy']:.1f}")
    return {
        "rows": rows,
        "published": [{"method": method, "accuracy": value} for method, value in PUBLISHED],
        "learning_curve": learning_curve(best, X, y, X_test, y_test, n_jobs=n_jobs, seed=seed),
        "end_to_end": [end_to_end(name) for name in ("SST", "PT")] if not quick else [],
    }


def choose(kernels: list[Kernel], X: Table, y: Any, *, quick: bool, n_jobs: int, seed: int, say: Say) -> Selection:
    """Cross-validate on the training questions only."""

    def told(trial: Trial) -> None:
        say(f"    {trial.kernel!r}, C={trial.parameters['C']:g}: {100 * trial.score:.2f}")

    C = (3.0,) if quick else (1.0, 3.0, 10.0)
    cv = StratifiedKFold(3 if quick else 5, shuffle=True, random_state=seed)
    return select(kernels, X, y, estimator=KernelSVC(n_jobs=n_jobs), grid={"C": C}, cv=cv, report=told)


def learning_curve(
    best: dict[str, Trial], X: Table, y: Any, X_test: Table, y_test: Any, *, n_jobs: int, seed: int
) -> dict[str, Any]:
    """Test accuracy with growing parts of the training questions, the settings of the whole."""
    order = np.random.default_rng(seed).permutation(len(y))
    sizes = [int(len(y) * part) for part in (0.05, 0.1, 0.25, 0.5, 0.75, 1.0)]
    curve: dict[str, Any] = {"sizes": sizes}
    for name in ("bag of words", "SST", "PT", "SST + bag of words"):
        trial = best[name]
        accuracies = []
        for size in sizes:
            part = np.sort(order[:size])
            model = KernelSVC(kernel=trial.kernel, **trial.parameters, n_jobs=n_jobs).fit(X[part], y[part])
            accuracies.append(100 * float(np.mean(model.predict(X_test) == y_test)))
        curve[name] = accuracies
    return curve


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
        "wall_seconds_within_fit": model.fit_seconds_,
        "accuracy": accuracy,
        "peers_cpu_seconds": {"SVM-Light-TK": {"SST": 107, "PT": 294}[name], "KeLP": {"SST": 163, "PT": 189}[name]},
    }


def page(results: dict[str, Any]) -> str:
    """The results as a Markdown page."""
    rows = [
        (
            r["kernel"],
            f"{r['accuracy']:.1f}",
            f"{r['cross_validation']:.2f}",
            f"`{r['chosen']}`, C={r['C']:g}",
            r["support"],
        )
        for r in results["rows"]
    ]
    header = ("kernel", "test accuracy", "cross-validation", "chosen on the training questions", "support questions")
    curve = results["learning_curve"]
    names = [name for name in curve if name != "sizes"]
    parts = [
        "# Question classification",
        report.made_by(results),
        "The TREC questions of Li & Roth (2002), six coarse classes, parse trees of a Charniak-style parser. Support vector "
        "machines, one class against the rest; kernel parameters and C chosen by 5-fold cross-validation on the training "
        "questions; the 500 test questions were used once a row. A test accuracy has a standard error of about 1.3 points."
        + (" **Quick run: a fifth of the training questions, one setting a kernel.**" if results["quick"] else ""),
        report.table(header, rows, right=(1, 2, 4)),
        "## Beside published figures",
        "On the same questions, with other parsers' trees.",
        report.table(("method", "accuracy"), [(p["method"], p["accuracy"]) for p in results["published"]], right=(1,)),
        "## Learning curve",
        "Test accuracy against training questions, settings as above.",
        report.table(
            ("questions", *names),
            [(size, *(f"{curve[name][k]:.1f}" for name in names)) for k, size in enumerate(curve["sizes"])],
            right=range(1 + len(names)),
        ),
        "![learning curve](questions.png)",
    ]
    if results["end_to_end"]:
        parts += [
            "## Time",
            "CPU seconds on one core, from the files to 500 predictions (lam = mu = 0.4, C = 10, one class against the rest, "
            "six machines). The two other programs' figures were measured on a machine of the same kind, not in the same "
            "minute.",
            report.table(
                ("kernel", "read", "Gram matrix", "six machines", "compress", "predict", "all", "SVM-Light-TK", "KeLP"),
                [
                    (
                        e["kernel"],
                        f"{e['cpu_seconds']['read']:.2f}",
                        *(f"{e['wall_seconds_within_fit'][k]:.2f}" for k in ("gram", "solve", "compress")),
                        f"{e['cpu_seconds']['predict']:.2f}",
                        f"**{e['cpu_seconds']['total']:.2f}**",
                        e["peers_cpu_seconds"]["SVM-Light-TK"],
                        e["peers_cpu_seconds"]["KeLP"],
                    )
                    for e in results["end_to_end"]
                ],
                right=range(1, 9),
            ),
        ]
    return "\n\n".join(parts) + "\n"


def picture(results: dict[str, Any], path: Path) -> None:
    """The learning curve as a picture; needs matplotlib."""
    curve = results["learning_curve"]
    with report.drawn(path, figsize=(6.5, 4.2)) as (_, axes):
        for name, marker in zip([n for n in curve if n != "sizes"], "osD^", strict=False):
            axes.plot(curve["sizes"], curve[name], marker=marker, markersize=5, label=name)
        axes.set(
            xlabel="training questions", ylabel="test accuracy, %", title="Question classification, six coarse classes"
        )
        axes.grid(alpha=0.3)
        axes.legend()
