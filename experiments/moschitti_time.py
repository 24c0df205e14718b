"""Run time of tree kernels by tree size, and training time, after sections 4.1 and 4.2 of Moschitti (2006).

The trees have exactly n nodes and come from two treebanks. The algorithms of the paper, fast and naive, are written in
C++ (`pair_kernels.cpp`) and compute one pair of trees after another. Their values are compared with those of
treelet. The time per node and the time per matching pair of nodes are estimated separately.
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

from experiments import Log, writing
from experiments.data import craft_trees, wsj_sample
from experiments.evaluation import draw_documents, rows_of_documents, split_items
from experiments.moschitti import PAPER, read_arguments, tree_of
from experiments.pair_kernels import PairKernel, compile_program, time_pairs
from experiments.writing import Claim
from treelet import gram
from treelet.kernels import PartialTree, SubsetTree, Subtree
from treelet.structures import Tree, Treebank

Floats = NDArray[np.float64]

KERNELS: dict[str, PairKernel] = {
    "ST": Subtree(lam=1.0),
    "SST": SubsetTree(lam=0.4),
    "PT": PartialTree(lam=0.8, mu=0.4),
}  # with the best decays of the paper
ALGORITHMS = {
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
FAST = ("SST fast", "PT fast")
PAPER_RANGE = "10 to 55"
RANGES = {PAPER_RANGE: (10, 55), "50 to 100": (50, 100)}  # of nodes


class Setup(NamedTuple):
    """Sizes of an experiment."""

    sizes: Sequence[int]  # in nodes
    min_trees: int  # sizes with fewer trees are left out
    max_trees: int  # per size
    relabeled_trees: int  # per size, at most, with other labels
    rounds: int
    bootstrap: int
    training_trees: int
    samples: int  # of training trees


QUICK = Setup((10, 20, 40, 55, 70, 100), 20, 30, 20, 2, 100, 60, 3)
FULL = Setup((*range(10, 60, 5), 60, 70, 80, 90, 100), 200, 300, 150, 4, 2000, 1000, 5)


def run(*, quick: bool = False, n_jobs: int = 1, seed: int = 0, log: Log = lambda text: None) -> dict[str, Any]:
    """Run the experiment on one core. With `quick`, use few trees. `n_jobs` is ignored."""
    setup, before = (QUICK if quick else FULL), _child_seconds()
    journal = [tree for tree in wsj_sample()[0] if tree is not None]
    treebanks = {"Wall Street Journal sample": journal, "CRAFT": [tree for tree in craft_trees() if tree is not None]}
    relabelings: dict[str, Callable[[Tree], Tree]] = {
        "as they are": lambda tree: tree,
        "one label": with_one_label,
        "labels with two ancestors": with_ancestors,
    }
    corpora, controls = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        program = compile_program(Path(folder))
        for name, trees in treebanks.items():
            log(name)
            corpora[name] = time_by_size(program, trees, list(ALGORITHMS), setup=setup, seed=seed, log=log)
        for name, relabel in relabelings.items():
            log(f"Wall Street Journal sample, {name}")
            smaller = setup._replace(max_trees=setup.relabeled_trees)
            relabeled = [relabel(tree) for tree in journal]
            controls[name] = time_by_size(program, relabeled, FAST, setup=smaller, seed=seed, log=log)
        log("training on ARG0")
        learning = time_training(program, setup=setup, seed=seed, log=log)
    items = [
        split_items(f"{name}, {size} nodes", len(times["SST fast"]), range(len(times["SST fast"])), times)
        for growths in (corpora, controls)
        for name, growth in growths.items()
        for size, times in growth.pop("items").items()
    ]
    return {
        "items": items,
        "corpora": corpora,
        "controls": controls,
        "learning": learning,
        "rounds": setup.rounds,
        "program_seconds": _child_seconds() - before,
    }


def _child_seconds() -> float:
    """Return the CPU seconds of all programs that were run."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


# --- Trees of exactly n nodes ---------------------------------------------------------------------------------------


def trees_of_size(
    trees: Sequence[Tree], sizes: Sequence[int], number: int, *, min_trees: int = 1, seed: int = 0
) -> dict[int, list[Tree]]:
    """Draw, for each size, subtrees of a treebank with exactly that many nodes. Words are nodes.

    Parameters
    ----------
    trees : sequence of Tree
        The treebank. Every node is the root of a subtree, which contains all nodes below it.
    sizes : sequence of int
        Numbers of nodes.
    number : int
        Maximum number of trees per size.
    min_trees : int
        Sizes with fewer trees are left out.
    seed : int
        Seed for the draws.
    """
    subtrees: dict[int, list[Tree]] = {size: [] for size in sizes}
    for tree in trees:
        counts: list[int] = []  # a stack of node counts
        for node in reversed(list(tree.nodes())):  # children before parents, the first child on top
            count = 1 + sum(counts.pop() for _ in node.children)
            counts.append(count)
            if count in subtrees:
                subtrees[count].append(node)
    rng = np.random.default_rng(seed)
    return {
        size: [listed[k] for k in rng.choice(len(listed), min(number, len(listed)), replace=False)]
        for size, listed in subtrees.items()
        if len(listed) >= min_trees
    }


def with_one_label(tree: Tree) -> Tree:
    """Replace all labels except words by one label, so that nodes match more often.

    >>> print(with_one_label(Tree.parse("(S (NP (N Mary)) (VP (V ran)))")))
    (X (X (X Mary)) (X (X ran)))
    """
    return Tree.parse(re.sub(r"\([^\s()]+", "(X", str(tree)))


def with_ancestors(tree: Tree) -> Tree:
    """Join every label except words with those of the two nodes above, so that nodes match less often.

    >>> print(with_ancestors(Tree.parse("(S (NP (N Mary)) (VP (V ran)))")))
    (S (NP^S (N^NP^S Mary)) (VP^S (V^VP^S ran)))
    """
    above: list[str] = []
    tokens = []
    for token in re.findall(r"\([^\s()]+|[^\s()]+|\)", str(tree)):
        if token == ")":
            above.pop()
        elif token.startswith("("):
            above.append(token[1:])
        tokens.append("(" + "^".join(above[:-4:-1]) if token.startswith("(") else token)
    return Tree.parse(" ".join(tokens))


# --- Section 4.1: time by size --------------------------------------------------------------------------------------


def time_by_size(
    program: Path, trees: Sequence[Tree], algorithms: Sequence[str], *, setup: Setup, seed: int, log: Log
) -> dict[str, Any]:
    """Measure microseconds per pair of trees for each size. Estimate slopes, and the time per node and per pair of nodes.

    All sizes and algorithms are timed in turn, in several rounds, and the minimum of each block of pairs counts. Other
    work on the machine therefore affects no single algorithm.
    """
    by_size = trees_of_size(trees, setup.sizes, setup.max_trees, min_trees=setup.min_trees, seed=seed)
    points: list[dict[str, Any]] = [
        {"nodes": n, "trees": len(listed), "times": {}, "pairs": {}} for n, listed in by_size.items()
    ]
    blocks: dict[str, dict[int, Floats]] = {
        name: {} for name in algorithms
    }  # times: trees x blocks of columns, by size
    for number in range(setup.rounds):
        log(f"    round {number + 1} of {setup.rounds}")
        for point, (size, listed) in zip(points, by_size.items(), strict=True):
            bank, times, values = Treebank(listed), point["times"], {}
            for kind in dict.fromkeys(ALGORITHMS[name][0] for name in algorithms):
                seconds, values[kind] = cpu_seconds(1, gram, KERNELS[kind], bank, bank, n_jobs=1)  # fmt: skip
                times[f"{kind} matrix"] = min(1e6 * seconds / len(listed) ** 2, times.get(f"{kind} matrix", np.inf))
            for name in algorithms:
                kind, method = ALGORITHMS[name]
                columns = min(10, len(listed))
                found, node_pairs, measured = time_pairs(program, KERNELS[kind], listed, method, repeats=1, blocks=columns)  # fmt: skip
                check_equal(found, values[kind], f"{name}, {size} nodes")
                blocks[name][size] = np.minimum(measured[0], blocks[name].get(size, np.inf))
                times[name], point["pairs"][name] = float(blocks[name][size].mean()), node_pairs
    last = points[-1]["nodes"]
    return {
        "points": points,
        "items": {size: {name: blocks[name][size].mean(axis=1) for name in algorithms} for size in by_size},
        "slopes": {
            name: {
                label: slope_interval(blocks[name], low, high, draws=setup.bootstrap, seed=seed)
                for label, (low, high) in RANGES.items()
                if last >= high
            }
            for name in algorithms
        },
        "straight": {name: straightness(points, name) for name in algorithms},
        "shares": {name: cost_shares(points, name) for name in algorithms},
    }


def check_equal(values: Floats, expected: Floats, where: str) -> None:
    if not np.allclose(values, expected, rtol=1e-9):
        raise ArithmeticError(f"The values of the pairwise algorithm and of treelet differ: {where}.")


def cpu_seconds(repeats: int, function: Callable[..., Any], *arguments: Any, **options: Any) -> tuple[float, Any]:
    """Return the minimum CPU time of several calls, and the result."""
    seconds, result = [], None
    for _ in range(repeats):
        begin = time.process_time()
        result = function(*arguments, **options)
        seconds.append(time.process_time() - begin)
    return min(seconds), result


def slope(sizes: Sequence[float], times: Sequence[float] | Floats) -> float:
    """Return the exponent p of time ~ size^p, by least squares on the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def slope_interval(blocks: Mapping[int, Floats], low: int, high: int, *, draws: int, seed: int) -> dict[str, Any]:
    """Return the slope between two sizes with its 95 % interval, from the times (trees x blocks of columns) of each size.

    The bootstrap draws trees as rows, and blocks of trees as columns.
    """
    sizes = [size for size in blocks if low <= size <= high]
    rng = np.random.default_rng(seed)
    means = np.empty((draws, len(sizes)))
    for k, size in enumerate(sizes):
        rows, columns = blocks[size].shape
        row_counts = rng.multinomial(rows, np.full(rows, 1 / rows), draws)
        column_counts = rng.multinomial(columns, np.full(columns, 1 / columns), draws)
        sums = np.einsum("dr,rc,dc->d", row_counts, blocks[size], column_counts, optimize=True)
        means[:, k] = sums / (rows * columns)
    slopes = [slope(sizes, row) for row in means]
    return {
        "value": slope(sizes, [float(blocks[size].mean()) for size in sizes]),
        "interval": [float(q) for q in np.quantile(slopes, (0.025, 0.975))],
    }


def straightness(points: Sequence[Mapping[str, Any]], name: str) -> float:
    """Return the share of the variance of times that a straight line explains, up to the largest size in the paper."""
    few = [point for point in points if point["nodes"] <= RANGES[PAPER_RANGE][1]]
    return float(np.corrcoef([p["nodes"] for p in few], [p["times"][name] for p in few])[0, 1] ** 2)


def cost_shares(points: Sequence[Mapping[str, Any]], name: str) -> dict[str, Any]:
    """Estimate the time per pair of trees, per node and per matching pair of nodes.

    The method is non-negative least squares on relative errors.
    """
    times = np.array([p["times"][name] for p in points])
    causes = np.array([(1.0, p["nodes"], p["pairs"][name]) for p in points])
    costs, _ = nnls(causes / times[:, None], np.ones(len(times)))
    fitted = causes @ costs
    by_pairs = {str(p["nodes"]): float(costs[2] * p["pairs"][name] / f) for p, f in zip(points, fitted, strict=True)}
    error = float(np.max(np.abs(fitted / times - 1)))
    return {"nanoseconds": [float(1000 * cost) for cost in costs], "error": error, "by_pairs": by_pairs}


# --- Section 4.2: training time -------------------------------------------------------------------------------------


def time_training(program: Path, *, setup: Setup, seed: int, log: Log) -> dict[str, Any]:
    """Measure seconds to train a classifier of ARG0: the matrix by the naive, the fast and treelet's algorithm, and libsvm."""
    arguments = read_arguments("wsj")
    documents = [argument.document for argument in arguments]
    rows: list[dict[str, Any]] = []
    for sample in range(setup.samples):
        drawn, _ = draw_documents(documents, setup.training_trees, seed + sample)
        chosen = [arguments[k] for k in rows_of_documents(documents, drawn)]
        trees = [tree_of(argument, "pruned") for argument in chosen]
        y = np.array([argument.role == "ARG0" for argument in chosen])
        for kind, kernel in KERNELS.items():
            row: dict[str, Any] = {"sample": sample, "kernel": kind, "trees": len(trees)}
            row["nodes"] = float(np.mean([len(list(tree.nodes())) for tree in trees]))
            row["treelet"], K = cpu_seconds(3, gram, kernel, trees, n_jobs=1)
            for method in ("fast", "naive"):
                values, row[f"{method} pairs"], times = time_pairs(program, kernel, trees, method, repeats=3)
                check_equal(values, K, f"{kind} {method}, argument trees")
                row[method] = float(times.min())
            scale = np.sqrt(np.diag(K))
            normalized = K / np.outer(scale, scale)
            row["machine"], _ = cpu_seconds(1, SVC(kernel="precomputed", C=3.0).fit, normalized, y)
            rows.append(row)
            seconds = ", ".join(f"{name} {row[name]:.3f} s" for name in ("naive", "fast", "treelet", "machine"))
            log(f"    {kind}: {seconds}")
    ratios: dict[str, dict[str, Any]] = {kind: {} for kind in KERNELS}
    for kind in KERNELS:
        own = [row for row in rows if row["kernel"] == kind]
        for slow, fast in (("naive", "fast"), ("fast", "treelet"), ("naive", "treelet")):
            times_longer = [(row[slow] + row["machine"]) / (row[fast] + row["machine"]) for row in own]
            ratios[kind][f"{slow} / {fast}"] = mean_ratio(times_longer)
    return {"rows": rows, "ratios": ratios}


def mean_ratio(values: Sequence[float]) -> dict[str, Any]:
    """Return the geometric mean of ratios, its 95 % interval, and the p-value of 1, by Student's t on the logarithms.

    >>> row = mean_ratio([2.0, 2.0, 4.0, 4.0])
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


# --- Page -----------------------------------------------------------------------------------------------------------

LINEAR, QUADRATIC = (0.75, 1.25), (1.75, 2.25)
"""Slopes that count as linear or quadratic. They were fixed before the times were measured."""


def page(results: dict[str, Any]) -> str:
    """Return the results as a Markdown page."""
    journal, craft = results["corpora"].values()
    speedups = {point["nodes"]: point["times"]["SST naive"] / point["times"]["SST fast"] for point in craft["points"]}
    return writing.render(
        "moschitti_time",
        results,
        claims=claims(results),
        fast=FAST,
        ranges=RANGES,
        range=PAPER_RANGE,
        linear=LINEAR,
        quadratic=QUADRATIC,
        timed=[*ALGORITHMS, *(f"{kind} matrix" for kind in KERNELS)],
        smallest=journal["points"][0],
        largest=journal["points"][-1],
        largest_error=max(growth["shares"][name]["error"] for growth in (journal, craft) for name in FAST),
        speedups=", ".join(f"{speedups[n]:.1f} with {n} nodes" for n in (10, 55, 100) if n in speedups),
        straight=_straight,
        share=_share,
        linear_claims=dict(zip(FAST, claims(results), strict=False)),
        ratio=lambda row: _with_interval(row, 1),
        mean_seconds=lambda kind, key: float(
            np.mean([row[key] for row in results["learning"]["rows"] if row["kernel"] == kind])
        ),
    )


def _with_interval(row: Mapping[str, Any], digits: int = 2) -> str:
    low, high = row["interval"]
    return f"{row['value']:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def _straight(results: dict[str, Any], name: str) -> str:
    """Return the second criterion of "linear": the variance of times that a line and a parabola explain."""
    growths = results["corpora"].values()
    line, parabola = (" and ".join(f"{100 * _share(growth, name, p):.1f} %" for growth in growths) for p in (1, 2))
    return f"on linear axes, a straight line explains {line} of the variance, and a parabola {parabola}"


def _share(growth: Mapping[str, Any], name: str, power: int) -> float:
    """Return the share of the variance of times that a + b·n^power explains, up to the largest size in the paper."""
    few = [point for point in growth["points"] if point["nodes"] <= RANGES[PAPER_RANGE][1]]
    return float(np.corrcoef([p["nodes"] ** power for p in few], [p["times"][name] for p in few])[0, 1] ** 2)


def picture(results: dict[str, Any], path: Path) -> None:
    """Draw time by size for both treebanks on logarithmic axes, and as in the paper. Requires matplotlib."""
    colors = {"ST": "C0", "SST": "C1", "PT": "C2"}
    styles = {
        "fast": ("-", "o"),
        "by labels": ("-.", "v"),
        "sorting": ("-.", "x"),
        "naive": ("--", "s"),
        "matrix": (":", "^"),
    }

    def style(name: str) -> dict[str, Any]:
        kind, _, algorithm = name.partition(" ")
        line, marker = styles[algorithm]
        return {"color": colors[kind], "linestyle": line, "marker": marker, "markersize": 4, "label": name}

    with writing.saved_figure(path, 3, figsize=(16, 4.8)) as (_, axes):
        for ax, (corpus, growth) in zip(axes, results["corpora"].items(), strict=False):
            sizes = [point["nodes"] for point in growth["points"]]
            for name in growth["points"][0]["times"]:
                ax.loglog(sizes, [point["times"][name] for point in growth["points"]], **style(name))
            ax.set_xticks(sizes[::2], [str(size) for size in sizes[::2]])
            ax.minorticks_off()
            ax.set(xlabel="nodes of each tree", ylabel="microseconds per pair", title=corpus)
        axes[0].legend(fontsize=7)
        journal = next(iter(results["corpora"].values()))["points"]
        few = [point for point in journal if point["nodes"] <= RANGES[PAPER_RANGE][1]]
        for name in ("SST fast", "PT fast", "SST naive"):
            axes[2].plot([point["nodes"] for point in few], [point["times"][name] for point in few], **style(name))
        title = "As in the paper's figure 4 (WSJ)"
        axes[2].set(xlabel="nodes of each tree", ylabel="microseconds per pair", title=title)
        axes[2].legend(fontsize=8)
        for ax in axes:
            ax.grid(alpha=0.3)


def claims(results: dict[str, Any]) -> list[Claim]:
    """Return the claims of the paper about run time."""

    def slopes(name: str) -> list[Mapping[str, Any]]:
        return [growth["slopes"][name][PAPER_RANGE] | {"over": "trees"} for growth in results["corpora"].values()]

    def text(name: str) -> str:
        values = " and ".join(map(_with_interval, slopes(name)))
        return f"slope of log time by log nodes, {PAPER_RANGE} nodes, WSJ and CRAFT: {values}"

    ratios = results["learning"]["ratios"]

    def linear(name: str, tests: Sequence[Mapping[str, Any]], **options: Any) -> Claim:
        return Claim(
            PAPER,
            f"the average time of fast {name.partition(' ')[0]} is linear in the size of the trees",
            "a line (figure 4)",
            f"{text(name)}; {_straight(results, name)}",
            "within",
            tests,
            note="two criteria: the slope, and whether a line explains more of the variance than a parabola; the verdict is "
            "undecided if they disagree; the number of matching pairs grows with the square of the size",
            **options,
        )

    def both_criteria(name: str) -> Claim:
        """Return the claim by the slope, which was fixed before the times were measured, and by the shape of the curve."""
        ahead = [_share(growth, name, 1) - _share(growth, name, 2) for growth in results["corpora"].values()]
        shape = linear(name, [{"value": each, "interval": [each, each]} for each in ahead], low=0)
        return linear(name, slopes(name), low=LINEAR[0], high=LINEAR[1], other_readings=[shape])

    return [
        *map(both_criteria, FAST),
        Claim(
            PAPER,
            "the average time of naive SST is quadratic",
            "a parabola (figure 4)",
            text("SST naive"),
            "within",
            slopes("SST naive"),
            low=QUADRATIC[0],
            high=QUADRATIC[1],
        ),
        Claim(
            PAPER,
            "training on ARG0 takes much longer with the naive algorithm",
            "more than a week against 6 hours: more than 28 times",
            "times longer: " + ", ".join(f"{kind} {_with_interval(row['naive / fast'], 1)}" for kind, row in ratios.items()),
            "greater",
            [ratios[kind]["naive / fast"] | {"over": "samples"} for kind in ("SST", "PT")],
            effect=28.0,
            note="it takes longer, but the factor of the paper is not reached, because both are the same C++ code except for the pairs of nodes",
        ),
    ]  # fmt: skip
