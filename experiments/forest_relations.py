"""Relations between nominals (SemEval-2010 task 8): trees against packed forests of ten parses a sentence."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.model_selection import PredefinedSplit

from experiments.differences import bootstrap_row, mcnemar_row
from experiments.forest_trials import Labels, Matrix, best
from experiments.running import Say
from treelet.cuts import enclosed_forest, entity_features, indicators, path_enclosed_tree
from treelet.datasets.relations import semeval2010
from treelet.gram import gram
from treelet.kernels import ForestKernel, Kernel, Linear, On, SubsetTree
from treelet.learn import KernelSVC
from treelet.learn.selection import select
from treelet.metrics import paired_bootstrap, semeval_scores
from treelet.structures import Forest, ForestBank, Table, Treebank
from treelet.structures.instances import RelationInstance
from treelet.tasks.role_kernels import composite

PARSES = 10
CHOOSING, FOLDS = 3000, 4
SIZES = (500, 1000, 2000, 4000, 8000)
SAME_C = ", C as with the forest"
ALIKE = 1e6  # a temperature at which all parses count alike
PAPER = {"tree": (68.6, 59.3, 63.6), "forest": (70.3, 60.0, 64.7)}
"""P, R and F1 of Zhang, Zhang & Li (2010), five-fold cross-validation on ACE 2004, 23 subtypes."""


def relations(*, quick: bool, n_jobs: int, seed: int, say: Say) -> dict[str, Any]:
    """Choose on a part of the training sentences, fit to all of them, and test each row once."""
    clock = time.process_time()
    parses = 3 if quick else PARSES
    train, test = semeval2010("train", nbest=parses), semeval2010("test", nbest=parses)
    rng = np.random.default_rng(seed)
    if quick:
        train = [train[k] for k in sorted(rng.permutation(len(train))[:600])]
        test = test[:300]
    y, gold = labels(train), labels(test)
    part = np.sort(rng.permutation(len(train))[: 300 if quick else CHOOSING])
    say(f"relations: {len(train)} training and {len(test)} test sentences, choosing on {len(part)} of the first")
    trials = chosen([train[k] for k in part], y[part], quick=quick, n_jobs=n_jobs, seed=seed, say=say)
    rows: list[dict[str, Any]] = []
    found: dict[str, Labels] = {}
    curve: dict[str, list[float]] = {}
    sizes = [size for size in SIZES if size < len(train)] + [len(train)]
    order = rng.permutation(len(train))
    tables: dict[tuple[Any, ...], tuple[Table, Table]] = {}
    for name, tried in trials.items():
        setting = best(tried)
        key = (setting["forest"], setting["mark"], setting["temperature"])
        if key not in tables:
            tables[key] = table(train, *key), table(test, *key)
        X, X_test = tables[key]
        K, across = gram(setting["made"], X, n_jobs=n_jobs), gram(setting["made"], X_test, X, n_jobs=n_jobs)
        if name in ("tree", "forest"):
            curve[name] = []
            for size in sizes[:-1]:
                some = np.sort(order[:size])
                machine = KernelSVC("precomputed", C=setting["C"], n_jobs=n_jobs).fit(K[np.ix_(some, some)], y[some])
                curve[name].append(semeval_scores(gold.tolist(), machine.predict(across[:, some]).tolist()).f1)
        for C in dict.fromkeys([setting["C"], best(trials[name.replace("tree", "forest")])["C"]]):
            chosen_one = setting["C"] == C
            row = name if chosen_one else name + SAME_C
            found[row] = KernelSVC("precomputed", C=C, n_jobs=n_jobs).fit(K, y).predict(across)
            result = semeval_scores(gold.tolist(), found[row].tolist())
            if name in curve and chosen_one:
                curve[name].append(result.f1)
            rows.append(
                {
                    "name": row,
                    "kernel": setting["kernel"],
                    "C": C,
                    "mark": setting["mark"],
                    "temperature": shown(setting["temperature"]) if setting["forest"] else None,
                    "cross_validation": next(t["f1"] for t in tried if alike(t, setting) and t["C"] == C),
                    "precision": result.precision,
                    "recall": result.recall,
                    "f1": result.f1,
                    "accuracy": result.accuracy,
                }
            )
            say(f"  {row}: test F1 {result.f1:.2f}, accuracy {result.accuracy:.2f}")
    pairs = [
        (name.replace("tree", "forest", 1).removesuffix(SAME_C), name)
        for name in found
        if name.removesuffix(SAME_C).endswith("tree")
    ]
    return {
        "train": len(train),
        "test": len(test),
        "chosen_on": len(part),
        "rows": rows,
        "trials": {name: [told(trial) for trial in tried] for name, tried in trials.items()},
        "steps": steps(trials),
        "tests": [compared(gold, a, found[a], b, found[b], seed) for a, b in pairs],
        "curve": {"sizes": sizes, **curve},
        "paper": PAPER,
        "cpu_seconds": time.process_time() - clock,
    }


def labels(instances: Sequence[RelationInstance]) -> Labels:
    """The relations."""
    return np.array([str(instance.label) for instance in instances])


def table(instances: Sequence[RelationInstance], forest: bool, mark: str, temperature: float) -> Table:
    """What lies between the entities, as a tree or as a forest, and features of the entities."""
    trees: Treebank | ForestBank
    if forest:
        trees = ForestBank(
            [
                enclosed_forest(Forest.from_nbest(one.nbest, temperature=temperature), one.e1, one.e2, mark=mark)
                for one in instances
            ]
        )
    else:
        trees = Treebank([path_enclosed_tree(_tree(one), one.e1, one.e2, mark=mark) for one in instances])
    features = [indicators(entity_features(_tree(one), one.e1, one.e2)) for one in instances]
    return Table({"tree": trees, "features": features})


def _tree(instance: RelationInstance) -> Any:
    return instance.tree


def chosen(
    part: Sequence[RelationInstance], y: Labels, *, quick: bool, n_jobs: int, seed: int, say: Say
) -> dict[str, list[dict[str, Any]]]:
    """All settings that were tried in cross-validation, by row of the table; later ones start from the best before."""
    trials: dict[str, list[dict[str, Any]]] = {}
    tables: dict[tuple[Any, ...], Table] = {}

    def attempt(
        name: str, kernel: Kernel, values: Sequence[float], forest: bool, mark: str, temperature: float, **more: Any
    ) -> None:
        key = (forest, mark, temperature)
        X = tables[key] if key in tables else tables.setdefault(key, table(part, *key))
        fold = np.random.default_rng(seed).permutation(len(y)) % FOLDS
        machine, grid = KernelSVC(n_jobs=n_jobs), {"C": values}
        for tried in select([kernel], X, y, estimator=machine, grid=grid, cv=PredefinedSplit(fold)).trials:
            C, found = tried.parameters["C"], tried.held_out[0]
            result = semeval_scores(y.tolist(), found.tolist())
            trial = {"kernel": repr(kernel), "made": kernel, "C": C, "forest": forest, "mark": mark} | more
            trial |= {"temperature": temperature, "f1": result.f1, "accuracy": result.accuracy}
            trials.setdefault(name, []).append(trial)
            told = f", T={shown(temperature)}" if forest else ""
            say(f"    {name}: {kernel!r}, C={C:g}, {mark}{told}: F1 {result.f1:.2f}, accuracy {result.accuracy:.2f}")

    lams = (0.4,) if quick else (0.3, 0.4)
    costs = (3.0,) if quick else (3.0, 10.0)
    attempt("features", On("features", Linear()).normalized(), costs, False, "tags", 1.0)
    for mark in ("tags",) if quick else ("tags", "node"):
        for lam in lams:
            attempt("tree", On("tree", SubsetTree(lam=lam)).normalized(), costs, False, mark, 1.0, lam=lam)
    mark = best(trials["tree"])["mark"]
    for temperature in (4.0,) if quick else (1.0, 4.0, ALIKE):
        for lam in lams:
            attempt("forest", On("tree", ForestKernel(lam=lam)).normalized(), costs, True, mark, temperature, lam=lam)
    for way, degree, alphas in (("linear", 1, (0.4, 0.2)), ("polynomial", 2, (0.23, 0.1))):
        for kind in ("tree", "forest"):
            start = best(trials[kind])
            for alpha in alphas[:1] if quick else alphas:
                kernel = composite(alpha, degree, start["lam"], forest=kind == "forest")
                values = costs if degree == 1 or quick else (1.0, 3.0)
                attempt(f"{way}, {kind}", kernel, values, kind == "forest", mark, start["temperature"])
    return trials


def shown(temperature: float) -> str:
    """A temperature in words."""
    return "all parses alike" if temperature == ALIKE else f"{temperature:g}"


def told(trial: dict[str, Any]) -> dict[str, Any]:
    """A trial, ready for JSON."""
    return {name: value for name, value in trial.items() if name != "made"} | {
        "temperature": shown(trial["temperature"])
    }


def alike(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two trials are of the same kernel on the same trees."""
    return all(one[name] == other[name] for name in ("kernel", "mark", "temperature"))


def steps(trials: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """What each change did in cross-validation: the best F1 of each way of making trees and forests."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for name in ("tree", "forest"):
        for trial in trials[name]:
            what = f"forest, temperature {shown(trial['temperature'])}" if trial["forest"] else "tree"
            key = (what, trial["mark"])
            if key not in found or trial["f1"] > found[key]["f1"]:
                found[key] = trial
    return [
        {"what": f"{what}, {mark} marked", "lam": t["lam"], "C": t["C"], "f1": t["f1"], "accuracy": t["accuracy"]}
        for (what, mark), t in found.items()
    ]


# --- significance -------------------------------------------------------------------------------------------------


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
    by_relation = sums.reshape(*sums.shape[:-1], -1, 3)
    whole = by_relation[..., 1] + by_relation[..., 2]
    f1 = np.divide(200 * by_relation[..., 0], whole, out=np.zeros_like(whole), where=whole > 0)
    return np.asarray(f1.mean(axis=-1))


def compared(gold: Labels, a: str, of_a: Labels, b: str, of_b: Labels, seed: int) -> dict[str, Any]:
    """Two rows on the same test sentences."""
    names = sorted({label.partition("(")[0] for label in gold} - {"Other"})
    drawn = paired_bootstrap(counts(gold, of_a, names), counts(gold, of_b, names), macro_f1, random_state=seed)
    return mcnemar_row(a, of_a == gold, b, of_b == gold) | bootstrap_row(drawn)
