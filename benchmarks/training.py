"""Training time and memory of exact kernel machines by number of examples, beside other solvers, and their agreement.

    python -m benchmarks.training                # all, about an hour
    python -m benchmarks.training agree rls      # measure some parts again; the results of the others are kept
    python -m benchmarks.training --page         # write the page again, measure nothing

Examples are all candidate arguments of PropBank's predicates in the Penn Treebank sample and MASC. Their order is random, and
training and test documents differ. Further examples are drawn from two grammars. Every measurement is a separate process,
which reads its examples from a file.
Writes docs/results/training.json, .md and .png.
"""

from __future__ import annotations

import argparse
import ctypes
import itertools
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import treelet as tl
from benchmarks.common import Results, Timer, bracketed, memory_mb, stored_results
from experiments import writing
from experiments.data import corpus, propbank, question_bank
from treelet.cuts import TreeIndex, argument_tree, candidates
from treelet.edits.distance import tree_sizes
from treelet.formats.files import whole_file
from treelet.matrices import operator
from treelet.matrices.operator import Products
from treelet.resources import Resources, empty
from treelet.tasks import CandidateParses

SIZES = (5_000, 10_000, 20_000, 60_000, 122_774)
LARGEST = SIZES[-1]  # as in Moschitti (2006)
AGREE = (5_000, 10_000, 20_000)
CS = (0.1, 1.0, 10.0)
TOL = 1e-3
TEST = 5_000
SAMPLE = 2_000
CACHE = 2**30
COMPONENTS = 2048
GRAMMAR_SIZES = {30_000: "1GiB", 100_000: "1GiB", 300_000: "4GiB", 1_000_000: "4GiB"}
"""Numbers of drawn trees, and the memory limit of the fit."""
NOISE = 0.1
MAX_WORDS = 25
SST = tl.SubsetTree(lam=0.4)
PT = tl.PartialTree(lam=0.4, mu=0.4)
KERNELS = {
    "SST": SST.normalized(),
    "PT": PT.normalized(),
    "SST + PT": (SST.normalized() + PT.normalized()).normalized(),
}


# --- the examples ---------------------------------------------------------------------------------------------------


def arguments() -> Iterator[tuple[str, str, str]]:
    """Yield the document, the role and the tree of every candidate argument."""
    wsj, masc = (propbank(name, verbs=False) for name in ("wsj", "masc"))
    known = {instance.doc for instance in wsj}
    index = None
    for instance in wsj + [instance for instance in masc if instance.doc not in known]:
        if instance.tree is None:
            continue
        if index is None or index.tree is not instance.tree:
            index = TreeIndex(instance.tree)
        try:
            nodes = candidates(index, instance.predicate)
        except tl.TreeletError:  # the predicate is not in the tree
            continue
        roles = {argument.span: argument.label for argument in instance.arguments}
        for node in nodes:
            tree = argument_tree(index, instance.predicate, node.span)
            yield instance.doc, roles.get(node.span, "NONE"), str(tree)


def role_lines() -> Iterator[str]:
    """Yield lines with a role and a tree: first those of the test, then those of other documents in random order."""
    documents, roles, trees = zip(*arguments(), strict=True)
    of = np.array(documents)
    random = np.random.default_rng(0)
    names, counts = np.unique(of, return_counts=True)
    order = random.permutation(len(names))
    tested = names[order[: 1 + np.searchsorted(np.cumsum(counts[order]), 0.1 * len(of))]]
    is_test = np.isin(of, tested)
    test, train = (random.permutation(np.flatnonzero(mask)) for mask in (is_test, ~is_test))
    for number in (*test[:TEST], *train):
        role = roles[number].removeprefix("R-").removeprefix("C-")
        if role != "ARG5":  # too rare to be learned: 4 examples
            yield f"{'ARGM' if role.startswith('ARGM') else role}\t{trees[number]}\n"


def grammar_lines() -> Iterator[str]:
    """Yield lines with a label and a tree, which is drawn from one of two grammars by turns."""
    names = ("questions", "WSJ")
    grammars = [tl.PCFG.from_treebank(list(bracketed(name))) for name in names]
    block = 10_000
    for seed, size in enumerate([TEST, *[block] * (max(GRAMMAR_SIZES) // block)]):
        drawn = [grammar.sample(size // 2, seed, max_words=MAX_WORDS).strings() for grammar in grammars]
        for trees in zip(*drawn, strict=True):
            yield from (f"{name}\t{tree}\n" for name, tree in zip(names, trees, strict=True))


LINES = {"roles": role_lines, "grammars": grammar_lines}


def examples_file(name: str) -> Path:
    """Return a file of examples, one label and one tree per line. Test examples are first."""
    path = Path(os.environ.get("TREELET_SCALE", gettempdir())) / f"treelet-training-{name}-1.tsv"
    if not path.exists():
        with whole_file(path) as temporary, open(temporary, "w", encoding="utf-8") as file:
            file.writelines(LINES[name]())
    return path


def examples(name: str, n: int) -> tuple[tl.Treebank, np.ndarray, tl.Treebank, np.ndarray]:
    """Return n training examples and their labels, and the test examples and theirs."""

    def read(begin: int, end: int) -> tuple[tl.Treebank, np.ndarray]:
        labels: list[str] = []

        def trees() -> Iterator[str]:
            with open(examples_file(name), encoding="utf-8") as file:
                for line in itertools.islice(file, begin, end):
                    label, tree = line.rstrip("\n").split("\t")
                    labels.append(sys.intern(label))
                    yield tree

        return tl.Treebank(trees()), np.array(labels)

    bank, labels = read(TEST, TEST + n)
    if len(bank) != n:
        raise SystemExit(f"There are only {len(bank):,} training examples, but {n:,} are needed.")
    return bank, labels, *read(0, TEST)


def is_argument(roles: np.ndarray) -> np.ndarray:
    return np.where(roles != "NONE", 1, -1)


# --- The solvers: each fits a machine and returns a function of scores, and the coefficients -------------------------

Scores = Callable[[tl.Treebank], np.ndarray]
Fitted = tuple[Scores, np.ndarray | None]


def coefficients(machine: Any, n: int) -> np.ndarray:
    """Return the coefficients of all examples: outputs x examples."""
    b = np.zeros((len(machine.dual_coef_), n))
    b[:, machine.support_] = machine.dual_coef_
    return b


def fit_treelet(kernel: Any, bank: tl.Treebank, y: np.ndarray, C: float, jobs: int, memory: str | None) -> Fitted:
    machine = tl.KernelSVC(kernel, C=C, tol=TOL, n_jobs=jobs, memory=memory).fit(bank, y)
    return machine.decision_function, coefficients(machine, len(bank))


def fit_libsvm(kernel: Any, bank: tl.Treebank, y: np.ndarray, C: float, jobs: int, memory: str | None) -> Fitted:
    from sklearn.svm import SVC

    machine = SVC(kernel="precomputed", C=C, tol=TOL).fit(tl.gram(kernel, bank, n_jobs=jobs), y)
    return lambda X: machine.decision_function(kernel(X, bank)), coefficients(machine, len(bank))


def fit_with_row_cache(
    kernel: Any, bank: tl.Treebank, y: np.ndarray, C: float, jobs: int, memory: str | None
) -> Fitted:
    n = len(bank)
    rows = kernel.evaluator(kernel.with_cached_index(bank)).ready()

    def compute(row: int, values: Any) -> None:
        rows.fill(row, row + 1, np.ctypeslib.as_array(values, (1, n)), False)

    b, gradient, computed = np.zeros(n), -y.astype(float), ctypes.c_int64()
    low, high = np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0)
    function = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.POINTER(ctypes.c_float))
    vector = np.ctypeslib.ndpointer(np.float64, 1, n)
    solve = ctypes.CDLL(os.environ["ROW_CACHE"]).solve
    solve.argtypes = [ctypes.c_int64, ctypes.c_int64, function, *[vector] * 4, ctypes.c_double, ctypes.c_void_p]
    solve.restype = ctypes.c_int64
    solve(n, max(2, min(n, CACHE // (4 * n))), function(compute), low, high, b, gradient, TOL, ctypes.byref(computed))
    intercept = -(gradient[b < high].min() + gradient[b > low].max()) / 2
    support = np.flatnonzero(b)

    def scores(X: tl.Treebank) -> np.ndarray:
        return operator(kernel, X, bank[support]) @ b[support] + intercept

    return scores, b[None]


def fit_sketch(kernel: Any, bank: tl.Treebank, y: np.ndarray, C: float, jobs: int, memory: str | None) -> Fitted:
    from sklearn.svm import LinearSVC

    sketch = tl.TreeSketch(kernel, COMPONENTS, random_state=0, n_jobs=jobs)
    machine = LinearSVC(C=C, loss="hinge", tol=TOL, random_state=0, max_iter=10_000).fit(sketch.fit_transform(bank), y)
    return lambda X: machine.decision_function(sketch.transform(X)), None


METHODS = {"treelet": fit_treelet, "libsvm": fit_libsvm, "cache": fit_with_row_cache, "sketch": fit_sketch}


# --- Optimality, recomputed from the coefficients ---------------------------------------------------------------------


def optimality(kernel: Any, bank: tl.Treebank, y: np.ndarray, b: np.ndarray, C: float) -> Results:
    """Return the objective, the violation of the optimality conditions and the relative duality gap of a classifier.

    Explicit rows of a sample of the examples are compared with the product of all examples.
    """
    sums = operator(kernel, bank) @ b
    objective = b @ sums / 2 - np.abs(b).sum()
    up, down = slopes(y, b, sums - y, C)
    intercept = -(up.min() + down.max()) / 2
    primal = b @ sums / 2 + C * np.maximum(0, 1 - y * (sums + intercept)).sum()
    support, sample = np.flatnonzero(b), np.random.default_rng(1).permutation(len(bank))[:SAMPLE]
    explicit = kernel(bank[sample], bank[support]) @ b[support]
    some_up, some_down = slopes(y[sample], b[sample], explicit - y[sample], C)
    return {
        "objective": float(objective),
        "gap": float(down.max() - up.min()),
        "duality_gap": float((primal + objective) / primal),
        "sample_gap": float(max(0.0, some_down.max() - some_up.min())),
        "sample_violation": float(max((some_down + intercept).max(), (-some_up - intercept).max())),
        "sample_error": float(np.abs(explicit - sums[sample]).max()),
        "support": len(support),
        "free": int(((np.abs(b) > 0) & (np.abs(b) < C)).sum()),
    }


def slopes(y: np.ndarray, b: np.ndarray, gradient: np.ndarray, C: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the slopes of the objective if b increases, and if it decreases; infinite where it may not."""
    up = np.where(b < np.where(y > 0, C, 0), gradient, np.inf)
    down = np.where(b > np.where(y > 0, 0, -C), gradient, -np.inf)
    return up, down


# --- Tasks: each runs in its own process and returns its results -------------------------------------------------------


def train(
    method: str,
    n: int,
    kernel: str = "SST",
    C: float = 1.0,
    jobs: int = 1,
    classes: int = 2,
    memory: str | None = None,
) -> Results:
    """Train a classifier of candidate arguments. Time includes the index, memory is that of the process."""
    with Timer() as reading:
        bank, roles, test, test_roles = examples("roles", n)
    y, truth = (roles, test_roles) if classes > 2 else (is_argument(roles), is_argument(test_roles))
    before, clock = memory_mb("VmRSS"), Timer()
    with clock:
        scores, b = METHODS[method](KERNELS[kernel], bank, y, C, jobs, memory)
    peak = memory_mb()
    values = scores(test)
    names = np.unique(roles)
    predicted = names[values.argmax(axis=1)] if classes > 2 else np.where(values > 0, 1, -1)
    results = {
        "cpu_s": clock.cpu, "wall_s": clock.wall, "read_s": reading.cpu, "before_mb": before, "peak_mb": peak,
        "accuracy": float((predicted == truth).mean()), "checksum": float(np.abs(values).sum()),
    }  # fmt: skip
    if b is None:
        return results
    signs = [np.where(y == name, 1, -1) for name in names] if classes > 2 else [y]
    checks = [optimality(KERNELS[kernel], bank, sign, each, C) for sign, each in zip(signs, b, strict=True)]
    if classes > 2:
        results["classes"] = len(names)
        results["support"] = int(b.any(axis=0).sum())
        return results | {"gap": max(each["gap"] for each in checks), "objective": sum(each["objective"] for each in checks)}  # fmt: skip
    return results | checks[0]


def drawn(n: int, noise: float, memory: str) -> Results:
    """Train a classifier of the grammar from which a tree was drawn. The state is printed after every round."""
    from unittest.mock import patch

    from treelet.learn.active_set import ActiveSetSolver, BoxSolution

    bank, labels, test, truth = examples("grammars", n)
    y = np.where(labels == "WSJ", 1, -1)
    flipped = np.random.default_rng(0).random(n) < noise
    y = np.where(flipped, -y, y)
    before, clock = memory_mb("VmRSS"), Timer()
    machine = tl.KernelSVC(KERNELS["SST"], tol=TOL, memory=memory)
    solutions: list[BoxSolution] = []
    solve, begin, rounds = ActiveSetSolver.solve, time.process_time(), itertools.count(1)

    def report(gap: float) -> None:
        state = {"rounds": next(rounds), "gap": gap, "reached_s": time.process_time() - begin, "peak_mb": memory_mb()}
        print(json.dumps(state), flush=True)

    def reported(solver: ActiveSetSolver, problem: Any, tol: float, steps: int, start: Any, _: Any) -> BoxSolution:
        solutions.append(solve(solver, problem, tol, steps, start, report))
        return solutions[-1]

    with clock, patch.object(ActiveSetSolver, "solve", reported):
        machine.fit(bank, y)
    peak = memory_mb()
    predicted = machine.predict(test)
    return {
        "cpu_s": clock.cpu, "wall_s": clock.wall, "before_mb": before, "peak_mb": peak, "rounds": solutions[0].rounds,
        "steps": solutions[0].steps, "distinct": len(bank.columns.store), "accuracy": float((predicted == np.where(truth == "WSJ", 1, -1)).mean()),
        **optimality(KERNELS["SST"], bank, y, coefficients(machine, n)[0], 1.0),
    }  # fmt: skip


def agree(n: int, kernel: str) -> Results:
    """Compare classifiers with libsvm's for several values of C."""
    from sklearn.svm import SVC

    bank, roles, test, _ = examples("roles", n)
    y, function = is_argument(roles), KERNELS[kernel]
    K, across = tl.gram(function, bank), function(test, bank)
    rows = []
    for C in CS:
        ours = tl.KernelSVC(function, C=C, tol=TOL).fit(bank, y)
        theirs = SVC(kernel="precomputed", C=C, tol=TOL).fit(K, y)
        rows.append({"C": C, **compared(K, (y, y), (ours, theirs), (ours.decision_function(test), theirs.decision_function(across)))})  # fmt: skip
    return {"rows": rows}


def compared(K: np.ndarray, targets: Any, machines: Any, scores: Any, tube: float = 0.0) -> Results:
    """Compare two machines: their objectives, and their scores of the test examples."""
    ours, theirs = (dual_objective(K, y, machine, tube) for y, machine in zip(targets, machines, strict=True))
    return {
        "objective": theirs,
        "objective_difference": (ours - theirs) / abs(theirs),
        "score_difference": float(np.abs(scores[0] - scores[1]).max()),
        "different": int(((scores[0] > 0) != (scores[1] > 0)).sum()),
        "support": len(machines[0].support_),
    }


def dual_objective(K: np.ndarray, y: np.ndarray, machine: Any, tube: float = 0.0) -> float:
    b = coefficients(machine, len(y))[0]
    support = np.flatnonzero(b)
    return float(b[support] @ (K[np.ix_(support, support)] @ b[support]) / 2 - y @ b + tube * np.abs(b).sum())


def agree_others(n: int) -> Results:
    """Compare regression, sample weights and one-vs-rest with libsvm."""
    from sklearn.svm import SVC, SVR

    bank, roles, test, _ = examples("roles", n)
    kernel = KERNELS["SST"]
    K, across = tl.gram(kernel, bank), kernel(test, bank)
    y, rows = is_argument(roles), []
    for C, tube in itertools.product(CS, (0.01, 0.1)):
        sizes = np.log(tree_sizes(bank)[0])
        regressor = tl.KernelSVR(kernel, C=C, epsilon=tube, tol=TOL).fit(bank, sizes)
        peer = SVR(kernel="precomputed", C=C, epsilon=tube, tol=TOL).fit(K, sizes)
        scores = regressor.predict(test), peer.predict(across)
        row = compared(K, (sizes, sizes), (regressor, peer), scores, tube)
        rows.append({"task": f"KernelSVR, ε = {tube:g}", "C": C, **row, "different": None})
    weights = np.random.default_rng(2).gamma(1.0, size=n)
    for C in CS:
        weighted = tl.KernelSVC(kernel, C=C, tol=TOL).fit(bank, y, sample_weight=weights)
        peer = SVC(kernel="precomputed", C=C, tol=TOL).fit(K, y, sample_weight=weights)
        scores = weighted.decision_function(test), peer.decision_function(across)
        rows.append({"task": "sample weights", "C": C, **compared(K, (y, y), (weighted, peer), scores)})
    for C in CS:
        machine = tl.KernelSVC(kernel, C=C, tol=TOL).fit(bank, roles)
        all_scores, all_ours, all_theirs, theirs = machine.decision_function(test), [], [], []
        for number, name in enumerate(machine.classes_):
            sign = np.where(roles == name, 1, -1)
            peer = SVC(kernel="precomputed", C=C, tol=TOL).fit(K, sign)
            b = coefficients(machine, n)[number]
            all_ours.append(float(b @ (K @ b) / 2 - np.abs(b).sum()))
            all_theirs.append(dual_objective(K, sign, peer))
            theirs.append(peer.decision_function(across))
        peers = np.array(theirs).T
        differences = [(ours - libsvm) / abs(libsvm) for ours, libsvm in zip(all_ours, all_theirs, strict=True)]
        rows.append({
            "task": f"one-vs-rest, {len(machine.classes_)} classes", "C": C, "objective": sum(all_theirs),
            "objective_difference": max(differences), "score_difference": float(np.abs(all_scores - peers).max()),
            "different": int((all_scores.argmax(axis=1) != peers.argmax(axis=1)).sum()), "support": len(machine.support_),
        })  # fmt: skip
    return {"rows": rows}


def rls(n: int) -> Results:
    """Fit regularized least squares by conjugate gradients."""
    bank, roles, test, test_roles = examples("roles", n)
    machine, clock = tl.learn.RLS(KERNELS["SST"], alpha=1.0, solver="cg"), Timer()
    with clock:
        machine.fit(bank, is_argument(roles).astype(float))
    peak = memory_mb()
    right = (machine.predict(test) > 0) == (is_argument(test_roles) > 0)
    return {"cpu_s": clock.cpu, "wall_s": clock.wall, "peak_mb": peak, "iterations": machine.n_iter_, "residual": machine.residual_, "accuracy": float(right.mean())}  # fmt: skip


def rank(lists: str, jobs: int = 1) -> Results:
    """Train a ranking machine on n-best lists: the best parse of a sentence against each of the others."""
    if lists == "WSJ, 20 best":
        parses = CandidateParses.read(corpus("wsj_nbest", "wsj_sample.nbest20.jsonl"))
    else:
        parses = CandidateParses.jackknifed(question_bank()[:1000], 100)
    machine, clock = tl.RankSVM(KERNELS["SST"], tol=TOL, n_jobs=jobs), Timer()
    with clock:
        machine.fit(parses.trees, parses.counts.goodness, parses.qid)
    return {
        "cpu_s": clock.cpu, "wall_s": clock.wall, "peak_mb": memory_mb(), "sentences": len(parses), "parses": len(parses.trees),
        "pairs": machine.n_pairs_, "support": len(machine.support_), "duality_gap": machine.gap_ / machine.objective_,
    }  # fmt: skip


def product(n: int, kernel: str) -> Results:
    """Multiply the matrix with a vector, from merged rows and from tiles by turns. The first product also builds the index."""
    bank = examples("roles", n)[0]
    v = np.random.default_rng(0).normal(size=n)
    merged, tiles = (Products(KERNELS[kernel], bank, None, Resources.of(1)) for _ in range(2))
    tiles._merges = False
    times: dict[str, list[float]] = {"merged": [], "tiles": []}
    values = {}
    for name in ("merged", "tiles", "merged", "merged", "tiles"):
        with Timer() as clock:
            values[name] = (merged if name == "merged" else tiles).times(v)
        times[name].append(clock.cpu)
    error = np.abs(values["merged"] - values["tiles"]).max() / np.abs(values["tiles"]).max()
    first = {f"{name}_first_s": taken[0] for name, taken in times.items()}
    return first | {f"{name}_s": min(taken[1:]) for name, taken in times.items()} | {"error": float(error)}


def matrix(n: int) -> Results:
    """Compute a matrix into new memory that NumPy or treelet allocates, by turns."""
    bank = examples("roles", n)[0]
    tl.gram(KERNELS["SST"], bank[:1000])  # self-values and imports
    rows = []
    for pages in ("numpy.empty", "treelet") * 2:
        out = (np.empty if pages == "numpy.empty" else empty)((n, n))
        begin = os.times()
        tl.gram(KERNELS["SST"], bank, out=out)
        end = os.times()
        rows.append({"pages": pages, "user_s": end.user - begin.user, "system_s": end.system - begin.system})
        del out
    return {"rows": rows}


TASKS: dict[str, Callable[..., Results]] = {
    each.__name__: each for each in (train, drawn, agree, agree_others, rank, rls, product, matrix)
}
JOBS: dict[str, list[tuple[str, Results]]] = {
    "agree": [("agree", {"n": n, "kernel": kernel}) for n in AGREE for kernel in KERNELS]
    + [("agree_others", {"n": AGREE[0]})],
    "treelet": [("train", {"method": "treelet", "n": n}) for n in SIZES],
    "others": [
        ("train", {"method": method, "n": n})
        for method, largest in (("libsvm", 20_000), ("cache", LARGEST), ("sketch", LARGEST))
        for n in SIZES
        if n <= largest
    ],
    "settings": [
        ("train", {"method": "treelet", "n": LARGEST, **options})
        for options in (
            {"jobs": 2},
            {"memory": "512MiB"},
            {"memory": "512MiB", "jobs": 2},
            {"C": 10.0},
            {"C": 10.0, "jobs": 2},
            {"kernel": "PT"},
            {"kernel": "PT", "jobs": 2},
            {"classes": 7},
            {"classes": 7, "jobs": 2},
        )
    ]
    + [("train", {"method": "treelet", "n": 20_000, "jobs": 2})],
    "rank": [("rank", {"lists": lists}) for lists in ("WSJ, 20 best", "questions, 100 best")],
    "rls": [("rls", {"n": n}) for n in (30_000, LARGEST)],
    "products": [("product", {"n": 30_000, "kernel": kernel}) for kernel in ("SST", "PT")]
    + [("matrix", {"n": 20_000})],
    "grammars": [
        ("drawn", {"n": n, "noise": noise, "memory": memory})
        for noise in (0.0, NOISE)
        for n, memory in GRAMMAR_SIZES.items()
    ],
}

OPTIONS = ("method", "n", "kernel", "C", "jobs", "classes", "noise", "memory", "lists")


def row_cache_library(folder: str) -> str:
    """Compile the solver with a row cache."""
    library = str(Path(folder) / "row_cache.so")
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        raise SystemExit("The solver with a row cache needs a C++ compiler. Install g++.")
    source = Path(__file__).with_name("row_cache.cpp")
    options = ["-std=c++20", "-O3", "-march=native", "-shared", "-fPIC"]
    subprocess.run([compiler, *options, "-o", library, str(source)], check=True)
    return library


def measured(task: str, options: Results, library: str, limit: float | None) -> Results:
    """Run a task in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.training", "--one", task, json.dumps(options)]
    environment = os.environ | {"ROW_CACHE": library}
    try:
        run = subprocess.run(command, cwd=writing.ROOT, check=True, stdout=subprocess.PIPE, text=True, env=environment, timeout=limit)  # fmt: skip
    except subprocess.TimeoutExpired as stopped:
        lines = (stopped.stdout or b"").decode().splitlines()
        return {"task": task, **options, **(json.loads(lines[-1]) if lines else {}), "stopped_s": limit}
    return {"task": task, **options, **json.loads(run.stdout.splitlines()[-1])}


def is_row_of(row: Results, task: str, options: Results) -> bool:
    """Return whether a row is the result of a task with these options."""
    return row["task"] == task and all(row.get(name) == options.get(name) for name in OPTIONS)


# --- Page -----------------------------------------------------------------------------------------------------------

NAMES = {"treelet": "treelet", "libsvm": "libsvm", "cache": "row cache", "sketch": "sketch"}


def rows_of(results: Results, task: str, *parts: str) -> list[Results]:
    """Return the rows of a task that were measured, in the order of the parts."""
    wanted = [options for part in parts for name, options in JOBS[part] if name == task]
    return [row for options in wanted for row in results["rows"] if is_row_of(row, task, options)]


def growth(results: Results) -> list[Results]:
    """Return the power of the number of examples with which the time grows, for each solver, and for drawn trees."""
    curves = {
        NAMES[method]: [row for row in rows_of(results, "train", "treelet", "others") if row["method"] == method]
        for method in METHODS
    }
    for noise in (0.0, NOISE):
        rows = [row for row in rows_of(results, "drawn", "grammars") if row["noise"] == noise]
        curves[f"treelet, drawn trees, {100 * noise:.0f} % wrong labels"] = rows
    fits = []
    for name, rows in curves.items():
        finished = [row for row in rows if "cpu_s" in row]
        if len(finished) > 2:
            n, seconds = (np.array([row[key] for row in finished]) for key in ("n", "cpu_s"))
            power = float(np.polyfit(np.log(n), np.log(seconds), 1)[0])
            fits.append({"name": name, "power": power, "least": int(n.min()), "most": int(n.max()), "rows": finished})
    return fits


def page(results: Results) -> str:
    """Return the results as a Markdown page."""
    trained = rows_of(results, "train", "treelet", "others")
    solvers = sorted(trained, key=lambda row: (row["n"], list(METHODS).index(row["method"])))
    settings = [row for row in rows_of(results, "train", "treelet", "settings") if row["n"] == LARGEST]
    flat = [row | each for row in rows_of(results, "agree", "agree") for each in row["rows"]]
    others = rows_of(results, "agree_others", "agree")
    by_setting: dict[tuple[Any, ...], set[float]] = {}
    for row in rows_of(results, "train", "treelet", "settings"):
        if "checksum" in row:
            key = tuple(row.get(name) for name in ("n", "kernel", "C", "classes", "memory"))
            by_setting.setdefault(key, set()).add(row["checksum"])
    return writing.render(
        "training",
        results,
        created=writing.created(results["made_by"]),
        before=next((row["before_mb"] for row in solvers if "before_mb" in row), 0),
        smallest_n=SIZES[0],
        components=COMPONENTS,
        names=NAMES,
        solvers=solvers,
        libsvm_limit=any(row["method"] == "libsvm" for row in solvers),
        exponents=growth(results),
        settings=[{"kernel": None, "C": None, "classes": None, "jobs": None, "memory": None} | row for row in settings],
        ranked=rows_of(results, "rank", "rank"),
        same_bits=all(len(sums) == 1 for sums in by_setting.values())
        if rows_of(results, "train", "settings")
        else None,
        agree=flat,
        agree_others=[row for each in others for row in each["rows"]],
        agree_n=AGREE[0],
        checks=[
            {"kernel": None, "C": None} | row for row in settings if "duality_gap" in row and row.get("jobs", 1) == 1
        ],
        sample=SAMPLE,
        grammars=rows_of(results, "drawn", "grammars"),
        max_words=MAX_WORDS,
        tol=TOL,
        untested=[
            f"{options['n']:,} trees with {100 * options['noise']:.0f} % wrong labels"
            for task, options in JOBS["grammars"]
            if not any(is_row_of(row, task, options) for row in results["rows"])
        ],
        rls=rows_of(results, "rls", "rls"),
        products=rows_of(results, "product", "products"),
        matrices=[row | each for row in rows_of(results, "matrix", "products") for each in row["rows"]],
        seconds=lambda row, key="cpu_s": f"> {row['stopped_s']:,.0f}" if key not in row else format_seconds(row[key]),
        number=lambda row, key, form: format(row[key], form) if key in row else "",
        percent=lambda row: f"{100 * row['accuracy']:.2f}" if "accuracy" in row else "",
    )


def format_seconds(seconds: float) -> str:
    """Format seconds with two digits at least.

    >>> format_seconds(0.123), format_seconds(3.21), format_seconds(1234.5)
    ('0.12', '3.2', '1,234')
    """
    return f"{seconds:.2f}" if seconds < 1 else f"{seconds:.1f}" if seconds < 100 else f"{seconds:,.0f}"


def picture(results: Results, path: Path) -> None:
    with writing.saved_figure(path, 2, figsize=(11, 4.5)) as (_, (times, memory)):
        for fit in growth(results):
            n = np.array([row["n"] for row in fit["rows"]])
            seconds = np.array([row["cpu_s"] for row in fit["rows"]])
            (line,) = times.loglog(n, seconds, "o", markersize=4)
            law = np.exp(np.polyval(np.polyfit(np.log(n), np.log(seconds), 1), np.log(n)))
            times.loglog(n, law, color=line.get_color(), linewidth=1, label=f"{fit['name']}: n^{fit['power']:.2f}")
            memory.loglog(n, [row["peak_mb"] for row in fit["rows"]], "o-", markersize=4, linewidth=1, label=fit["name"])  # fmt: skip
        times.set(xlabel="examples", ylabel="CPU seconds", title="Training time and fitted powers")
        memory.set(xlabel="examples", ylabel="MiB", title="Peak memory of the process")
        for axes in (times, memory):
            axes.grid(alpha=0.3)
            axes.legend(fontsize=7)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*JOBS, []], help="all, if none is named")
    parser.add_argument("--one", nargs=2, metavar=("TASK", "OPTIONS"), help="measure here and now, and print JSON")
    parser.add_argument("--limit", type=float, help="seconds after which a measurement is stopped")
    parser.add_argument("--page", action="store_true", help="write the page again, from stored results")
    given = parser.parse_args()
    if given.one:
        print(json.dumps(TASKS[given.one[0]](**json.loads(given.one[1]))))
        return
    results: Results = {"rows": []} | stored_results("training")
    if not given.page:
        for file in LINES:
            examples_file(file)
        from treelet import kernels, learn, parsing  # noqa: F401  # what the measured processes import

        results["made_by"] = writing.provenance("python -m benchmarks.training")
        with TemporaryDirectory() as folder:
            library = row_cache_library(folder)
            for task, options in (job for part in given.parts or JOBS for job in JOBS[part]):
                row = measured(task, options, library, given.limit)
                print(json.dumps(row), flush=True)
                results["rows"] = [each for each in results["rows"] if not is_row_of(each, task, options)] + [row]
                writing.write_results(writing.RESULTS, "training", results, page(results))
    writing.write_results(writing.RESULTS, "training", results, page(results))
    picture(results, writing.RESULTS / "training.png")


if __name__ == "__main__":
    main()
