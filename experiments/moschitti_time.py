"""Run time by tree size, and training time, of fast and naive algorithms (figure 4 and section 4.2 of Moschitti 2006).

The trees have exactly n nodes and come from two treebanks. The algorithms are written in C++
(`pair_kernels.cpp`) and process one pair of trees after another. Their values are compared with those
of treelet. The time per node and the time per matching pair of nodes are estimated separately.
"""

from __future__ import annotations

import re
import resource
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from scipy.stats import t as student
from sklearn.svm import SVC

from experiments.data import corpus, wsj_sample
from experiments.differences import part
from experiments.documents import drawn_documents, rows_of
from experiments.moschitti_data import examples, tree_of
from experiments.pair_kernels import Kernel, compiled, timed
from experiments.running import Say
from treelet.formats import read_document
from treelet.kernels import PartialTree, SubsetTree, Subtree
from treelet.matrices import gram
from treelet.structures import Tree, Treebank

Floats = NDArray[np.float64]
KINDS: dict[str, Kernel] = {"ST": Subtree(lam=1.0), "SST": SubsetTree(lam=0.4), "PT": PartialTree(lam=0.8, mu=0.4)}
"""The kernels that are timed, with what the paper found best."""
SYSTEMS = {
    "ST fast": ("ST", "fast"),
    "SST fast": ("SST", "fast"),
    "SST by labels": ("SST", "labels"),
    "SST sorting": ("SST", "sorting"),
    "PT fast": ("PT", "fast"),
    "PT sorting": ("PT", "sorting"),
    "ST naive": ("ST", "naive"),
    "SST naive": ("SST", "naive"),
    "PT naive": ("PT", "naive"),
}
CONTROLLED = ("SST fast", "PT fast")
"""Algorithms that are timed on trees with other labels."""
RANGES = {"10 to 55": (10, 55), "50 to 100": (50, 100)}
"""The paper's range of nodes, and what follows."""


class Setting(NamedTuple):
    """Sizes of the experiment."""

    sizes: Sequence[int]  # in nodes
    least: int  # trees of a size, or it is left out
    trees: int  # at most, a size
    controls: int  # trees at most, a size, with other labels
    rounds: int
    draws: int  # of the bootstrap
    learnt: int  # trees to learn from
    samples: int  # so often


QUICK = Setting((10, 20, 40, 55, 70, 100), 20, 30, 20, 2, 100, 60, 3)
USUAL = Setting((*range(10, 60, 5), 60, 70, 80, 90, 100), 200, 300, 150, 4, 2000, 1000, 5)
BLOCKS = 10  # of columns, a row


# --- trees ------------------------------------------------------------------------------------------------------


def trees_of_size(
    trees: Sequence[Tree], sizes: Sequence[int], number: int, *, least: int = 1, seed: int = 0
) -> dict[int, list[Tree]]:
    """For each size, different places in a treebank that have exactly that many nodes below, themselves counted.

    Parameters
    ----------
    trees : sequence of Tree
        Complete trees. Every node is a place, with all that is below it; words are nodes.
    sizes : sequence of int
        How many nodes.
    number : int
        How many trees of each size at most.
    least : int
        Sizes of which there are fewer are left out.
    seed : int
        Which of the places, at random.
    """
    places: dict[int, list[Tree]] = {size: [] for size in sizes}
    for tree in trees:
        counts: list[int] = []
        for node in reversed(list(tree.nodes())):  # children before parents, the first child on top
            count = 1 + sum(counts.pop() for _ in node.children)
            counts.append(count)
            if count in places:
                places[count].append(node)
    rng = np.random.default_rng(seed)
    return {
        size: [there[k] for k in rng.choice(len(there), min(number, len(there)), replace=False)]
        for size, there in places.items()
        if len(there) >= least
    }


def craft() -> list[Tree]:
    """The treebank of biomedical articles, which has many large trees."""
    found = read_document(corpus("craft", "trees.clean.tsv"), "tsv", label_column=0, tree_column=2)
    return [tree for tree in Treebank.from_columns(found.trees["tree"]) if tree is not None]


def of_one_label(tree: Tree) -> Tree:
    """The tree with all labels but the words made one.

    >>> print(of_one_label(Tree.parse("(S (NP (N Mary)) (VP (V ran)))")))
    (X (X (X Mary)) (X (X ran)))
    """
    return Tree.parse(re.sub(r"\([^\s()]+", "(X", str(tree)))


def with_ancestors(tree: Tree) -> Tree:
    """The tree with every label but the words joined with those of the two nodes above, so that labels are seldom alike.

    >>> print(with_ancestors(Tree.parse("(S (NP (N Mary)) (VP (V ran)))")))
    (S (NP^S (N^NP^S Mary)) (VP^S (V^VP^S ran)))
    """
    above: list[str] = []
    out = []
    for token in re.findall(r"\([^\s()]+|[^\s()]+|\)", str(tree)):
        if token == ")":
            above.pop()
        elif token.startswith("("):
            above.append(token[1:])
        out.append("(" + "^".join(above[:-4:-1]) if token.startswith("(") else token)
    return Tree.parse(" ".join(out))


CONTROLS: dict[str, Callable[[Tree], Tree]] = {
    "as they are": lambda tree: tree,
    "one label": of_one_label,
    "labels with two ancestors": with_ancestors,
}
"""Trees with labels that match more often or less often."""


# --- growth -----------------------------------------------------------------------------------------------------


def slope(sizes: Sequence[float], times: Sequence[float] | Floats) -> float:
    """The exponent p of time ~ size^p, by least squares on the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def slope_row(cells: Mapping[int, Floats], low: int, high: int, *, draws: int, seed: int) -> dict[str, Any]:
    """The slope between two sizes with its 95 % interval, from the times of rows and blocks of columns of each size.

    The interval is a bootstrap's that draws trees as rows, and blocks of trees as columns.
    """
    sizes = [size for size in cells if low <= size <= high]
    rng = np.random.default_rng(seed)
    means = np.empty((draws, len(sizes)))
    for place, size in enumerate(sizes):
        rows, columns = cells[size].shape
        left = rng.multinomial(rows, np.full(rows, 1 / rows), draws)
        right = rng.multinomial(columns, np.full(columns, 1 / columns), draws)
        means[:, place] = np.einsum("dr,rc,dc->d", left, cells[size], right, optimize=True) / (rows * columns)
    drawn = [slope(sizes, row) for row in means]
    return {
        "value": slope(sizes, [float(cells[size].mean()) for size in sizes]),
        "interval": [float(q) for q in np.quantile(drawn, (0.025, 0.975))],
    }


def straightness(points: Sequence[Mapping[str, Any]], name: str) -> float:
    """Return the share of the variance of times that a straight line explains, on linear axes and up to the size in the paper."""
    few = [point for point in points if point["nodes"] <= RANGES["10 to 55"][1]]
    return float(np.corrcoef([p["nodes"] for p in few], [p["times"][name] for p in few])[0, 1] ** 2)


def shares(points: Sequence[Mapping[str, Any]], name: str) -> dict[str, Any]:
    """Return the time per pair of trees, per node and per matching pair of nodes, by non-negative least squares on relative errors."""
    times = np.array([p["times"][name] for p in points])
    causes = np.array([(1.0, p["nodes"], p["pairs"][name]) for p in points])
    costs, _ = nnls(causes / times[:, None], np.ones(len(times)))
    fitted = causes @ costs
    return {
        "nanoseconds": [float(1000 * cost) for cost in costs],
        "error": float(np.max(np.abs(fitted / times - 1))),
        "by_pairs": {str(p["nodes"]): float(costs[2] * p["pairs"][name] / f) for p, f in zip(points, fitted, strict=True)},
    }  # fmt: skip


def growth(
    program: Path, trees: Sequence[Tree], names: Sequence[str], *, setting: Setting, seed: int, say: Say
) -> dict[str, Any]:
    """Microseconds a pair for each size, slopes with intervals, and what they are made of.

    All sizes and algorithms come in turn, several times, and of each block of pairs the least time counts: other work on the machine
    then disturbs none for long.
    """
    by_size = trees_of_size(trees, setting.sizes, setting.trees, least=setting.least, seed=seed)
    points: list[dict[str, Any]] = [
        {"nodes": n, "trees": len(of), "times": {}, "pairs": {}} for n, of in by_size.items()
    ]
    cells: dict[str, dict[int, Floats]] = {name: {} for name in names}
    for number in range(setting.rounds):
        say(f"    round {number + 1} of {setting.rounds}")
        for point, (size, chosen) in zip(points, by_size.items(), strict=True):
            bank, times, ours = Treebank(chosen), point["times"], {}
            for kind in dict.fromkeys(SYSTEMS[name][0] for name in names):
                seconds, ours[kind] = best(1, gram, KINDS[kind], bank, bank, n_jobs=1)
                times[f"{kind} matrix"] = min(1e6 * seconds / len(chosen) ** 2, times.get(f"{kind} matrix", np.inf))
            for name in names:
                kind, method = SYSTEMS[name]
                found = timed(program, KINDS[kind], chosen, method, repeats=1, blocks=min(BLOCKS, len(chosen)))
                check_equal(found.values, ours[kind], f"{name}, {size} nodes")
                cells[name][size] = np.minimum(found.times[0], cells[name].get(size, np.inf))
                times[name], point["pairs"][name] = float(cells[name][size].mean()), found.worked_on
    return {
        "points": points,
        "items": {size: {name: cells[name][size].mean(axis=1) for name in names} for size in by_size},
        "slopes": {
            name: {
                label: slope_row(cells[name], low, high, draws=setting.draws, seed=seed)
                for label, (low, high) in RANGES.items()
                if points[-1]["nodes"] >= high
            }
            for name in names
        },
        "straight": {name: straightness(points, name) for name in names},
        "shares": {name: shares(points, name) for name in names},
    }


def check_equal(values: Floats, ours: Floats, where: str) -> None:
    if not np.allclose(values, ours, rtol=1e-9):
        raise ArithmeticError(f"The values of the pairwise algorithm and of treelet differ: {where}.")


def best(repeats: int, work: Callable[..., Any], *given: Any, **options: Any) -> tuple[float, Any]:
    """The least CPU seconds of several, and the result."""
    seconds, result = [], None
    for _ in range(repeats):
        begin = time.process_time()
        result = work(*given, **options)
        seconds.append(time.process_time() - begin)
    return min(seconds), result


# --- learning ---------------------------------------------------------------------------------------------------


def learning(program: Path, *, setting: Setting, seed: int, say: Say) -> dict[str, Any]:
    """Seconds to learn ARG0 from argument trees: the matrix naively, fast and by treelet, and the machine on it."""
    found = examples("wsj")
    docs = [e.doc for e in found]
    rows: list[dict[str, Any]] = []
    for sample in range(setting.samples):
        drawn, _ = drawn_documents(docs, setting.learnt, seed + sample)
        chosen = [found[k] for k in rows_of(docs, drawn)]
        trees = [tree_of(e, "pruned") for e in chosen]
        first = np.array([e.role == "ARG0" for e in chosen])
        for kind, kernel in KINDS.items():
            row: dict[str, Any] = {"sample": sample, "kernel": kind, "trees": len(trees)}
            row["nodes"] = float(np.mean([len(list(tree.nodes())) for tree in trees]))
            seconds, K = best(3, lambda own, listed: gram(own, Treebank(listed), n_jobs=1), kernel, trees)
            row["treelet"] = seconds
            for method in ("fast", "naive"):
                theirs = timed(program, kernel, trees, method, repeats=3)
                check_equal(theirs.values, K, f"{kind} {method}, argument trees")
                row[method], row[f"{method} pairs"] = float(theirs.times.min()), theirs.worked_on
            scale = np.sqrt(np.diag(K))
            row["machine"], _ = best(1, SVC(kernel="precomputed", C=3.0).fit, K / np.outer(scale, scale), first)
            rows.append(row)
            say(
                f"    {kind}: "
                + ", ".join(f"{name} {row[name]:.3f} s" for name in ("naive", "fast", "treelet", "machine"))
            )
    return {"rows": rows, "ratios": {kind: ratios([r for r in rows if r["kernel"] == kind]) for kind in KINDS}}


def ratios(rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return ratios of training times, including the SVM, over samples."""
    pairs = {"naive / fast": ("naive", "fast"), "fast / treelet": ("fast", "treelet"), "naive / treelet": ("naive", "treelet")}  # fmt: skip
    return {
        name: ratio_row([(r[slow] + r["machine"]) / (r[quick] + r["machine"]) for r in rows])
        for name, (slow, quick) in pairs.items()
    }


def ratio_row(values: Sequence[float]) -> dict[str, Any]:
    """The geometric mean of ratios, its 95 % interval, and p that it is 1, by Student's t on the logarithms.

    >>> row = ratio_row([2.0, 2.0, 4.0, 4.0])
    >>> round(row["value"], 3), row["interval"][0] > 1, row["p"] < 0.05
    (2.828, True, True)
    """
    logs = np.log(values)
    mean, error = float(logs.mean()), float(logs.std(ddof=1) / np.sqrt(len(logs)))
    half = float(student.ppf(0.975, len(logs) - 1)) * error
    return {
        "value": float(np.exp(mean)),
        "interval": [float(np.exp(mean - half)), float(np.exp(mean + half))],
        "difference": float(np.exp(mean)) - 1,
        "p": float(2 * student.sf(abs(mean) / error, len(logs) - 1)),
    }


# --- the experiment ---------------------------------------------------------------------------------------------


def run(*, quick: bool = False, n_jobs: int = 1, seed: int = 0, say: Say = lambda text: None) -> dict[str, Any]:
    """The whole experiment on one core, whatever `n_jobs`; with `quick`, few trees."""
    setting, before = (QUICK if quick else USUAL), _children()
    journal = [tree for tree in wsj_sample()[0] if tree is not None]
    with tempfile.TemporaryDirectory() as folder:
        program = compiled(Path(folder))
        corpora = {}
        for name, trees in (("Wall Street Journal sample", journal), ("CRAFT", craft())):
            say(name)
            corpora[name] = growth(program, trees, list(SYSTEMS), setting=setting, seed=seed, say=say)
        controls = {}
        for name, changed in CONTROLS.items():
            say(f"Wall Street Journal sample, {name}")
            trees = [changed(tree) for tree in journal]
            less = setting._replace(trees=setting.controls)
            controls[name] = growth(program, trees, CONTROLLED, setting=less, seed=seed, say=say)
        say("learning ARG0")
        learnt = learning(program, setting=setting, seed=seed, say=say)
    return {
        "items": [*kept(corpora), *kept(controls)],
        "corpora": corpora,
        "controls": controls,
        "learning": learnt,
        "rounds": setting.rounds,
        "program_seconds": _children() - before,
    }


def kept(growths: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """The times of each tree with all others, taken out."""
    return [
        part(f"{corpus}, {size} nodes", len(times["SST fast"]), range(len(times["SST fast"])), times)
        for corpus, found in growths.items()
        for size, times in found.pop("items").items()
    ]


def _children() -> float:
    """CPU seconds of all programs that were run."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
