"""Semantic roles with all candidates of PropBank's sample and MASC: exact support vector machines from 1,000 to 143,000 trees.

There are two tasks: to decide whether a candidate constituent is an argument of a verb or noun (identification), and to
predict the role of an argument (classification). The candidates of Xue & Palmer (2004) are split by document. Settings
are chosen on documents of the training part. A learning curve on the test documents shows quality, CPU time and memory.
"""

from __future__ import annotations

import ctypes
import re
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction import DictVectorizer

from experiments import Log, writing
from experiments.data import apart_from, propbank
from experiments.evaluation import bootstrap_score, compare, draw_documents, holm, split_items, tune
from experiments.moschitti import PAPER, document_of
from experiments.writing import Claim
from treelet.cuts import TreeIndex, argument_tree, candidates, indicators, role_features
from treelet.errors import TreeletWarning
from treelet.kernels import Kernel, Linear, On, PartialTree, SubsetTree
from treelet.learn import KernelSVC
from treelet.structures import Table, Treebank

Rows = NDArray[np.intp]
Labels = NDArray[np.str_]

IDENTIFICATION, CLASSIFICATION = "identification", "classification"
MEASURES = {IDENTIFICATION: "f1", CLASSIFICATION: "accuracy"}
NONE, RARE = "NONE", ("ARG5",)  # ARG5 has four examples
PAPER_ARGUMENTS = 122_774


class Setup(NamedTuple):
    """Sizes of an experiment, in candidates."""

    test: int  # of whole documents
    dev: int  # of other whole documents, from which settings are chosen
    fit: int  # to fit on while settings are chosen
    sizes: Sequence[int]  # of training sets; the last one has all candidates


QUICK = Setup(3000, 2000, 500, (300, 1000))
FULL = Setup(16_000, 5000, 6000, (1000, 3000, 10_000, 30_000))


# --- Data -----------------------------------------------------------------------------------------------------------


class Candidates(NamedTuple):
    """All candidates, in the order of the corpora."""

    table: Table  # columns "tree" and "features"
    labels: Labels  # roles, or "NONE"
    ids: list[str]
    words: list[tuple[str, ...]]  # of the sentences
    missed: int  # arguments that are not candidates

    def rows(self, task: str) -> NDArray[np.bool_]:
        """Return which candidates belong to a task."""
        is_argument = (self.labels != NONE) & ~np.isin(self.labels, RARE)
        return is_argument if task == CLASSIFICATION else np.ones(len(self.labels), np.bool_)

    def classes(self, task: str) -> Labels:
        return self.labels if task == CLASSIFICATION else np.where(self.labels == NONE, NONE, "ARG")


def core_role(label: str) -> str:
    """Return a role without marks of references and continuations, and ARGM for all modifiers.

    >>> core_role("R-ARG0"), core_role("ARGM-TMP")
    ('ARG0', 'ARGM')
    """
    return re.sub(r"^[RC]-", "", label).split("-")[0]


def read_candidates(limit: int | None = None) -> Candidates:
    """Read the candidates of both corpora. Documents that are in both are read once. `limit` is for quick runs."""
    journal = propbank("wsj", verbs=False)
    known = {instance.doc for instance in journal}
    trees: list[str] = []
    features: list[dict[str, float]] = []
    labels: list[str] = []
    ids: list[str] = []
    words: list[tuple[str, ...]] = []
    missed, index = 0, None
    for instance in [*journal, *(each for each in propbank("masc", verbs=False) if each.doc not in known)]:
        if instance.tree is None:
            continue
        if limit is not None and len(ids) >= limit:
            break
        if index is None or index.tree is not instance.tree:
            index, sentence = TreeIndex(instance.tree), tuple(instance.words)
        roles = {argument.span: core_role(argument.label) for argument in instance.arguments}
        lemma = (instance.roleset or "").rpartition(".")[0]
        spans = [candidate.span for candidate in candidates(index, instance.predicate)]
        missed += len(roles.keys() - set(spans))
        for number, span in enumerate(spans):
            trees.append(str(argument_tree(index, instance.predicate, span)))
            features.append(indicators(role_features(index, instance.predicate, span, lemma=lemma)))
            labels.append(roles.get(span, NONE))
            ids.append(f"{instance.doc}/{instance.sent}/{instance.predicate}/{span[0]}-{span[1]}/{number}")
            words.append(sentence)
    table = Table({"tree": Treebank(trees), "features": DictVectorizer().fit_transform(features)})
    return Candidates(table, np.array(labels), ids, words, missed)


class Parts(NamedTuple):
    """Rows for training, in random order, for choosing settings, and for testing."""

    train: Rows
    fit: Rows
    dev: Rows
    test: Rows


def split_documents(data: Candidates, setup: Setup, seed: int) -> Parts:
    """Draw test documents, then development documents from the others. No sentence is in two parts.

    The training part contains the development documents, as these are not used for testing.
    """
    documents = np.array([document_of(name) for name in data.ids])
    drawn, others = draw_documents(documents.tolist(), setup.test, seed)
    test = np.flatnonzero(np.isin(documents, drawn))
    train = apart_from((data.words[k] for k in test), np.flatnonzero(np.isin(documents, others)), data.words)
    dev_documents, _ = draw_documents(documents[train].tolist(), setup.dev, seed + 1)
    is_dev = np.isin(documents[train], dev_documents)
    fit = apart_from((data.words[k] for k in train[is_dev]), train[~is_dev], data.words)
    order = np.random.default_rng(seed)
    return Parts(order.permutation(train), order.permutation(fit), train[is_dev], test)


# --- Systems --------------------------------------------------------------------------------------------------------

LINEAR, SST, PT = "linear", "SST", "PT"
MIXTURES = {"linear + SST": SST, "linear + PT": PT}
SYSTEMS = (LINEAR, SST, PT, *MIXTURES)
COSTS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
DECAYS = (0.1, 0.2, 0.3, 0.4, 0.6, 0.8)
GRIDS: dict[str, dict[str, Sequence[Any]]] = {
    LINEAR: {"C": COSTS},
    SST: {"lam": DECAYS, "leaves": (False, True), "C": COSTS},
    PT: {"lam": DECAYS, "mu": DECAYS, "C": COSTS},
    **{name: {"weight": (0.3, 0.5, 0.7, 0.85, 0.95), "C": COSTS} for name in MIXTURES},
}
STARTS: dict[str, dict[str, Any]] = {
    LINEAR: {"C": 3.0},
    SST: {"lam": 0.4, "leaves": False, "C": 3.0},
    PT: {"lam": 0.4, "mu": 0.4, "C": 3.0},
    **{name: {"weight": 0.7, "C": 3.0} for name in MIXTURES},
}


def make_kernel(system: str, setting: Mapping[str, Any]) -> Kernel:
    """Return the kernel of a system. `weight` is that of the features in a sum; the other parameters are of the trees."""
    flat = On("features", Linear().normalized())
    if system == LINEAR:
        return flat
    if MIXTURES.get(system, system) == SST:
        tree: Kernel = SubsetTree(lam=setting["lam"], leaves=setting["leaves"])
    else:
        tree = PartialTree(lam=setting["lam"], mu=setting["mu"])
    trees = On("tree", tree.normalized())
    return setting["weight"] * flat + round(1 - setting["weight"], 3) * trees if system in MIXTURES else trees


class Cost(NamedTuple):
    """CPU seconds and wall-clock seconds of a call, and by how many MiB the memory of the process grew at its peak."""

    cpu: float
    wall: float
    memory: float | None


def measured(work: Callable[[], Any]) -> tuple[Any, Cost]:
    """Return the result and the cost of a call. Memory is measured on Linux only."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)  # memory that is free but not returned would hide what the call takes
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    before, wall, cpu = _memory("VmRSS"), time.perf_counter(), time.process_time()
    result = work()
    cost = time.process_time() - cpu, time.perf_counter() - wall
    peak = _memory("VmHWM")
    return result, Cost(*cost, None if peak is None or before is None else peak - before)


def _memory(field: str) -> float | None:
    with suppress(OSError):
        found = re.search(rf"{field}:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="utf-8"))
        return int(found[1]) / 1024 if found else None
    return None


# --- Training and testing -------------------------------------------------------------------------------------------


class Learner(NamedTuple):
    """Fits systems to candidates of a task."""

    data: Candidates
    task: str
    n_jobs: int

    def select(self, rows: Rows) -> Rows:
        return rows[self.data.rows(self.task)[rows]]

    def examples(self, rows: Rows) -> Table:
        table = self.data.table
        return Table({"tree": table["tree"][rows].compact(), "features": table["features"][rows]})

    def fit(self, system: str, setting: Mapping[str, Any], rows: Rows) -> tuple[KernelSVC, Cost]:
        X, y = self.examples(rows), self.data.classes(self.task)[rows]
        model = KernelSVC(make_kernel(system, setting), C=setting["C"], n_jobs=self.n_jobs)
        return measured(lambda: model.fit(X, y))

    def outcome(self, model: KernelSVC, rows: Rows) -> NDArray[Any]:
        """Return the outcome per candidate: correct or not, or the numbers of matched, gold and proposed arguments."""
        gold = self.data.classes(self.task)[rows]
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*no fragment in common with the model", TreeletWarning)
            predicted = model.predict(self.examples(rows))
        if self.task == CLASSIFICATION:
            return np.asarray(predicted == gold, int)
        return np.array([(gold == "ARG") & (predicted == "ARG"), gold == "ARG", predicted == "ARG"], int).T

    def score(self, outcome: NDArray[Any]) -> float:
        if self.task == CLASSIFICATION:
            return 100 * float(outcome.mean())
        matched, gold, proposed = outcome.sum(axis=0).tolist()
        return float(200 * matched / (gold + proposed))


def choose(learner: Learner, fit: Rows, dev: Rows, log: Log) -> dict[str, dict[str, Any]]:
    """Choose the setting of each system by hill climbing. Sums use the decays of the trees alone."""
    chosen: dict[str, dict[str, Any]] = {}
    for system in SYSTEMS:

        def measure(setting: dict[str, Any], system: str = system) -> dict[str, Any]:
            outcome = learner.outcome(learner.fit(system, setting, fit)[0], dev)
            return {"f1": learner.score(outcome)}

        of_trees = {key: chosen[MIXTURES[system]][key] for key in GRIDS[MIXTURES[system]]} if system in MIXTURES else {}
        best, trials, edges = tune(of_trees | STARTS[system], GRIDS[system], measure)
        chosen[system] = best | {"tried": len(trials), "at_edge": edges}
        log(f"  {learner.task}, {system}: {best}")
    return chosen


def run_task(
    learner: Learner, parts: Parts, setup: Setup, *, quick: bool, log: Log
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Choose settings, and train and test all systems. Return the results, and the outcomes per item."""
    data, task = learner.data, learner.task
    fit, dev, train, test = map(learner.select, (parts.fit[: setup.fit], parts.dev, parts.train, parts.test))
    if quick:
        unchosen: dict[str, Any] = {"f1": None, "tried": 0, "at_edge": []}
        chosen = {name: {**STARTS[MIXTURES.get(name, name)], **STARTS[name], **unchosen} for name in SYSTEMS}
    else:
        chosen = choose(learner, fit, dev, log)
    rows, outcomes = [], {}
    for size in (*(size for size in setup.sizes if size < len(train)), len(train)):
        for system in SYSTEMS:
            model, cost = learner.fit(system, chosen[system], train[:size])
            outcome, testing = measured(partial(learner.outcome, model, test))
            outcomes[label(system, size)] = outcome
            row = {"system": system, "size": size, "support": len(model.support_), **cost._asdict()}
            rows.append(row | {"test_cpu": testing.cpu} | scored(task, data, test, outcome))
            log(f"  {task}, {size:,}, {system}: {rows[-1]['value']:.2f}, {cost.cpu:.1f} s, {cost.memory or 0:.0f} MiB")
    items = split_items(task, len(train), [data.ids[k] for k in test], outcomes)
    last, before = len(train), max(size for size in setup.sizes if size < len(train))
    pairs = [(label(a, last), label(b, last)) for a, b in COMPARISONS]
    pairs += [(label(system, last), label(system, before)) for system in SYSTEMS]
    by_part = {"train": train, "test": test, "dev": dev}
    results = {
        "chosen": chosen,
        "rows": rows,
        "sizes": {"train": last, "test": len(test), "fit": len(fit), "dev": len(dev)},
        "documents": {name: len({document_of(data.ids[k]) for k in part}) for name, part in by_part.items()},
        "majority": 100 * float(np.unique(data.classes(task)[test], return_counts=True)[1].max() / len(test)),
        "tests": [compare([items], a, b, MEASURES[task], groups=document_of) for a, b in pairs],
    }
    return results, items


def run(*, quick: bool = False, n_jobs: int = 1, seed: int = 0, log: Log = lambda text: None) -> dict[str, Any]:
    """Run the experiment. With `quick`, use few candidates and choose no settings."""
    setup = QUICK if quick else FULL
    data = read_candidates(12_000 if quick else None)
    parts = split_documents(data, setup, seed)
    log(f"{len(data.ids):,} candidates: {len(parts.train):,} for training, {len(parts.test):,} for testing")
    tasks, items = {}, []
    for task in MEASURES:
        results, of_task = run_task(Learner(data, task, n_jobs), parts, setup, quick=quick, log=log)
        tasks[task] = results
        items.append(of_task)
    return {
        "tasks": tasks,
        "candidates": len(data.ids),
        "arguments": int(np.sum(data.labels != NONE)),
        "missed": data.missed,
        "nodes": float(np.mean([len(re.findall(r"[^\s()]+", text)) for text in data.table["tree"][:: max(1, len(data.ids) // 2000)].strings()])),
        "items": items,
    }  # fmt: skip


COMPARISONS = [(SST, LINEAR), (PT, LINEAR), (SST, PT), ("linear + SST", LINEAR), ("linear + PT", LINEAR)]


def label(system: str, size: int) -> str:
    """Return the name of a system with a number of training candidates.

    >>> label("SST", 10_000)
    'SST, 10,000 examples'
    """
    return f"{system}, {size:,} examples"


def scored(task: str, data: Candidates, rows: Rows, outcome: NDArray[Any]) -> dict[str, Any]:
    """Return the score in percent with its interval, by a bootstrap over documents, and accuracy."""
    documents = [document_of(data.ids[k]) for k in rows]
    names = sorted(set(documents))
    number = {name: k for k, name in enumerate(names)}
    if task == CLASSIFICATION:
        table, accuracy = np.array([outcome, np.ones(len(outcome))], float).T, float(outcome.mean())
    else:
        table, accuracy = outcome.astype(float), float(np.mean(outcome[:, 1] == outcome[:, 2]))
    sums = np.zeros((len(names), table.shape[1]))
    np.add.at(sums, [number[name] for name in documents], table)

    def measure(sums: NDArray[np.float64]) -> NDArray[np.float64]:
        below = sums[..., 1] if task == CLASSIFICATION else (sums[..., 1] + sums[..., 2]) / 2
        return np.asarray(100 * sums[..., 0] / below)

    return bootstrap_score([names], [sums], measure) | {"accuracy": 100 * accuracy}


# --- Page -----------------------------------------------------------------------------------------------------------


def page(results: dict[str, Any]) -> str:
    """Return the results as a Markdown page."""
    identification = results["tasks"][IDENTIFICATION]
    largest = {
        task: {row["system"]: row for row in entry["rows"] if row["size"] == entry["sizes"]["train"]}
        for task, entry in results["tasks"].items()
    }
    return writing.render(
        "roles_at_scale",
        results,
        claims=claims(results),
        largest=largest,
        identification=identification,
        systems=SYSTEMS,
        paper_arguments=PAPER_ARGUMENTS,
        sizes_of=lambda task: list(dict.fromkeys(row["size"] for row in results["tasks"][task]["rows"])),
        row_of=lambda task, size, system: next(
            row for row in results["tasks"][task]["rows"] if (row["size"], row["system"]) == (size, system)
        ),
        describe=_describe,
        scored=lambda row: f"{row['value']:.2f} ({row['interval'][0]:.2f} to {row['interval'][1]:.2f})",
        with_holm=lambda tests: zip(tests, holm([test["p"] for test in tests]), strict=True),
        edges=[
            f"{task}, {system} ({', '.join(row['at_edge'])})"
            for task, entry in results["tasks"].items()
            for system, row in entry["chosen"].items()
            if row["at_edge"]
        ],
    )


def _describe(setting: Mapping[str, Any]) -> str:
    names = {"weight": "weight of the features", "lam": "λ", "mu": "μ", "leaves": "leaves", "C": "C"}
    return ", ".join(f"{name} {setting[key]}" for key, name in names.items() if key in setting)


def claims(results: dict[str, Any]) -> list[Claim]:
    """Return our own questions about the tasks. The paper's task differs, so no claim of the paper is tested."""
    made = []
    for task, entry in results["tasks"].items():
        tests = {test["a"] + test["b"]: test for test in entry["tests"]}
        last = entry["sizes"]["train"]
        sums = [tests[label(system, last) + label(LINEAR, last)] for system in MIXTURES]
        text = ", ".join(f"{system} {writing.difference(test)}" for system, test in zip(MIXTURES, sums, strict=True))
        made.append(
            Claim(
                PAPER,
                f"tree kernels add to flat features when {last:,} examples train the {task} of arguments",
                "not in the paper",
                f"difference from linear: {text}",
                "greater",
                sums,
                own=True,
            )
        )
    return made


def picture(results: dict[str, Any], path: Path) -> None:
    """Draw the learning curves of both tasks, CPU time and memory. Requires matplotlib."""
    with writing.saved_figure(path, 4, figsize=(19, 4.6)) as (_, axes):
        for axis, (task, entry) in zip(axes, results["tasks"].items(), strict=False):
            for system, marker in zip(SYSTEMS, "osD^v", strict=True):
                rows = [row for row in entry["rows"] if row["system"] == system]
                values = np.array([row["value"] for row in rows])
                ends = np.array([row["interval"] for row in rows]).T
                axis.errorbar([row["size"] for row in rows], values, yerr=abs(ends - values), marker=marker, markersize=4, capsize=2, label=system)  # fmt: skip
            unit = "F1 of arguments, %" if task == IDENTIFICATION else "accuracy, %"
            axis.set(xscale="log", xlabel="training examples", ylabel=unit, title=task.capitalize())
        entry = results["tasks"][IDENTIFICATION]
        for axis, key, name, unit in ((axes[2], "cpu", "time", "CPU seconds"), (axes[3], "memory", "memory", "MiB")):
            for system, marker in zip(SYSTEMS, "osD^v", strict=True):
                rows = [row for row in entry["rows"] if row["system"] == system and row[key] is not None]
                axis.plot([row["size"] for row in rows], [row[key] for row in rows], marker=marker, markersize=4, label=system)  # fmt: skip
            title = f"Identification: {name} to train"
            axis.set(xscale="log", yscale="log", xlabel="training examples", ylabel=unit, title=title)
        for axis, task in zip(axes, (IDENTIFICATION, CLASSIFICATION, IDENTIFICATION, IDENTIFICATION), strict=True):
            sizes = list(dict.fromkeys(row["size"] for row in results["tasks"][task]["rows"]))
            axis.set_xticks(sizes, [f"{size:,}" for size in sizes], rotation=20)
            axis.minorticks_off()
            axis.grid(alpha=0.3)
        axes[0].legend()
