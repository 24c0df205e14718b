"""Speed beside a plain per-pair implementation of the same kernels, run in the same minute; growth with N and with tree size.

Everything is CPU time of one thread unless said otherwise, because machines are shared. The other side is
`experiments/pair_kernels.cpp` (single thread, per-pair, after Moschitti 2006), built here with full optimization.
Writes docs/performance.md, docs/results/bench.json and the plots. ``--text`` writes the page again from the stored figures.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import numpy as np  # noqa: E402

import treelet as tl  # noqa: E402
from experiments.pair_kernels import COMPILER_OPTIONS, compile_program, time_pairs  # noqa: E402
from experiments.writing import provenance  # noqa: E402
from treelet import _core  # noqa: E402

KERNELS = {"st": tl.Subtree(lam=0.4), "sst": tl.SubsetTree(lam=0.4), "ptk": tl.PartialTree(lam=0.4, mu=0.4)}
RUNS = 3
BASELINE = (
    "The baseline is `experiments/pair_kernels.cpp`, a plain C++ program that computes the same kernels pair by pair, with sorted productions "
    f"and a table of node pairs (Moschitti 2006). The benchmark builds it with `{' '.join(COMPILER_OPTIONS)}` and checks that all values are equal."
)
NAMES = {"st": "ST", "sst": "SST", "ptk": "PT"}


def treebank_file(folder: Path) -> tuple[Path, str]:
    """Write one tree per line: the WSJ sample where it is, else generated trees."""
    from experiments.data import wsj_sample
    from treelet.datasets import flights

    path = folder / "trees.txt"
    try:
        wsj_sample()[0].write(path)
        return path, "Penn Treebank sample (WSJ), 3,914 trees"
    except tl.errors.FileError:
        flights(n=3914, random_state=0).write(path)
    return path, "3,914 generated trees (the WSJ sample is not there)"


def best(work: Callable[[], Any], reps: int, clock: Callable[[], float] = time.process_time) -> tuple[float, Any]:
    times, result = [], None
    for _ in range(reps):
        start = clock()
        result = work()
        times.append(clock() - start)
    return min(times), result


def peak_memory(file: Path, n: int) -> float:
    """MB at most, of a process that reads the file and computes the SST matrix."""
    code = (  # VmHWM, not ru_maxrss: that would start from what this process had when it forked
        "import re, treelet as tl\n"
        f"K = tl.SubsetTree(lam=0.4)(tl.read_trees({str(file)!r})[:{n}])\n"
        "print(int(re.search(r'VmHWM:\\s+(\\d+) kB', open('/proc/self/status').read())[1]) / 1024)"
    )
    return float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)


def compare(program: Path, bank: tl.Treebank, kernel: str, n: int) -> dict[str, Any]:
    """Runs of treelet and of the baseline in turn, each run with its own ratio. A run is the best of some repeats."""
    trees = [tree for tree in bank[:n] if tree is not None]
    repeats = 10 if n <= 1000 else 3
    ours, theirs = [], []
    for _ in range(RUNS if n <= 2000 or kernel != "ptk" else 1):  # the baseline takes about a minute for PT
        seconds, K = best(lambda: KERNELS[kernel](fresh(bank, n)), repeats)
        values, _, times = time_pairs(program, KERNELS[kernel], trees, "fast", repeats=1 if n > 500 else 5)
        np.testing.assert_allclose(K, values, rtol=1e-8)
        ours.append(seconds)
        theirs.append(float(times.min()))
    ratios = sorted(b / a for a, b in zip(ours, theirs, strict=True))
    row = {
        "n": n,
        "treelet_s": min(ours),
        "baseline_s": min(theirs),
        "ratios": ratios,
        "us_per_pair": min(ours) / (n * (n + 1) / 2) * 1e6,
    }
    print(f"  {NAMES[kernel]:>3} N={n:<5} {row}", flush=True)
    return row


def one_call(bank: tl.Treebank, kernel: str) -> dict[str, float]:
    """Wall-clock microseconds per pair: one call per pair of trees from Python, and one call for 200 trees with themselves."""
    trees = [tree for tree in bank[:200] if tree is not None]
    pairs = list(zip(trees[:100], trees[100:], strict=True))
    seconds, _ = best(lambda: [KERNELS[kernel]([a], [b]) for a, b in pairs], 10, time.perf_counter)
    together, _ = best(lambda: KERNELS[kernel](trees), 10, time.perf_counter)
    return {"alone_us": 1e6 * seconds / len(pairs), "together_us": 1e6 * together / (len(trees) * (len(trees) + 1) / 2)}


def fresh(bank: tl.Treebank, n: int) -> tl.Treebank:
    """The first n trees with nothing cached: counting subtrees is part of the work."""
    return tl.Treebank.from_columns(bank[:n].columns)


def scoring(bank: tl.Treebank, kernel: str) -> tuple[str, str]:
    """Time to score trees with a compressed model of all trees, and the model's size."""
    from treelet.learn.model import CompressedModel

    model = CompressedModel.of(KERNELS[kernel], bank, np.random.default_rng(0).normal(size=(1, len(bank))))
    tests = tl.Treebank(bank[:500].strings())  # a store of their own, as new trees have
    seconds, _ = best(lambda: model.score(tl.Treebank.from_columns(tests.columns)), 5)
    return f"{seconds / (len(tests) * len(bank)) * 1e6:.4f} µs per (model tree, test tree) pair", str(model.stats())


def by_size(program: Path, bank: tl.Treebank, kernel: str) -> list[dict[str, float]]:
    """Trees of about one size at a time."""
    weights = bank.weights()
    sizes = np.add.reduceat(weights.weight, weights.start[:-1])
    rows = []
    for low in (20, 40, 60, 80, 100, 120):
        chosen = np.flatnonzero((sizes >= low - 8) & (sizes < low + 8))[:150]
        if len(chosen) < 60:
            continue
        part = tl.Treebank(bank[chosen].strings())
        ours, _ = best(lambda part=part: KERNELS[kernel](fresh(part, len(part))), 3)
        pairs = len(part) * (len(part) + 1) / 2
        row = {"nodes": float(sizes[chosen].mean()), "trees": len(part), "treelet_us": ours / pairs * 1e6}
        trees = [tree for tree in part if tree is not None]
        _, _, times = time_pairs(program, KERNELS[kernel], trees, "fast", repeats=2)
        row["baseline_us"] = times.min().item() / pairs * 1e6
        rows.append(row)
        print(f"  {NAMES[kernel]:>3} nodes={row['nodes']:.0f}", {k: round(v, 3) for k, v in row.items()}, flush=True)
    return rows


def plot(results: dict[str, Any], folder: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    for key, x, ours, theirs, title, xlabel, ylabel in (
        ("by_n", "n", "treelet_s", "baseline_s", "Gram matrix of N trees, one thread", "N", "CPU seconds"),
        ("by_size", "nodes", "treelet_us", "baseline_us", "Time against tree size", "nodes per tree", "µs per pair"),
    ):
        figure, axes = plt.subplots(figsize=(7, 4.5))
        for color, kernel in zip(("tab:green", "tab:blue", "tab:orange"), KERNELS, strict=True):
            rows = results[key][kernel]
            axes.plot(
                [r[x] for r in rows], [r[ours] for r in rows], "o-", color=color, label=f"{NAMES[kernel]}, treelet"
            )
            there = [r for r in rows if theirs in r]
            if there:
                axes.plot(
                    [r[x] for r in there],
                    [r[theirs] for r in there],
                    "x--",
                    color=color,
                    alpha=0.6,
                    label=f"{NAMES[kernel]}, per pair",
                )
        axes.set(xlabel=xlabel, ylabel=ylabel, title=title, yscale="log")
        if key == "by_n":
            axes.set_xscale("log")
            ticks = [row["n"] for row in results[key]["sst"]]
            axes.set_xticks(ticks, [f"{n:,}" for n in ticks])
            axes.minorticks_off()
        axes.grid(alpha=0.3, which="both")
        axes.legend(fontsize=8, ncols=2)
        figure.tight_layout()
        figure.savefig(folder / f"bench-{key.replace('_', '-')}.png", dpi=110)


def two_digits(value: float) -> str:
    """Format a number with two significant digits.

    >>> two_digits(26.27), two_digits(4.28), two_digits(104.0)
    ('26', '4.3', '100')
    """
    rounded = float(f"{value:.1e}")
    return f"{rounded:.0f}" if rounded >= 10 else f"{rounded:.1f}"


def shown_ratio(ratios: list[float]) -> str:
    """Format the median of the ratios of the runs, with their range if there are several.

    >>> shown_ratio([4.1, 4.28, 4.9]), shown_ratio([50.3])
    ('4.3 (4.1 to 4.9)', '50 (one run)')
    """
    if len(ratios) == 1:
        return f"{two_digits(ratios[0])} (one run)"
    return f"{two_digits(float(np.median(ratios)))} ({two_digits(min(ratios))} to {two_digits(max(ratios))})"


def _others(other: dict[str, str]) -> list[str]:
    """Return one table per unit, so that no column mixes CPU time and wall-clock time."""
    lines = ["## Other measurements", ""]
    for title, mark in (("CPU time", ", CPU time"), ("wall-clock time", ", wall time"), ("memory", "")):
        rows = [name for name in other if (mark in name if mark else "time" not in name)]
        lines += [f"| {title} of | result |", "|---|---|"]
        lines += [f"| {name.replace(mark, '')} | {other[name]} |" for name in rows]
        lines.append("")
    return lines


def report(results: dict[str, Any]) -> str:
    first, last = (results["by_n"]["sst"][k]["n"] for k in (0, -1))
    lines = [
        "# Performance",
        "",
        "This page shows how long treelet takes to compute a kernel matrix, compared with a program that works pair by pair.",
        "",
        f"Measured on {results['made_by']['date']} at commit `{results['made_by']['commit']}`, {results['machine']}.",
        f"Data: {results['data']}. ST, SST and PT are the [subtree](kernels/subtree.md),",
        "[subset-tree](kernels/subset-tree.md) and [partial-tree](kernels/partial-tree.md) kernels, with λ = 0.4 and, for PT, μ = 0.4.",
        f"{results['baseline']}",
        "`make bench` measures again and writes this page. It needs a C++ compiler and no settings.",
        "If the Penn Treebank sample is missing, generated trees are used instead, and the page says so.",
        "",
        "## Kernel matrix of N trees",
        "",
        "Times are CPU seconds of one thread. The time of treelet includes counting subtrees and building its index.",
        "The ratio is the median over runs, with the range over runs. A run measures both programs in the same minute.",
        "Times are the smallest of all runs, so their quotient can differ from the median ratio.",
        f"The ratio grows with N, because treelet computes equal subtrees once: compare {first} with {last:,} trees.",
        "",
        "| kernel | N | treelet, CPU s | baseline, CPU s | ratio | treelet, CPU µs per pair |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {NAMES[kernel]} | {row['n']:,} | {row['treelet_s']:.4f} | {row['baseline_s']:.3f} | {shown_ratio(row['ratios'])} | {row['us_per_pair']:.3f} |"
        for kernel in KERNELS
        for row in results["by_n"][kernel]
    ]
    lines += [
        "",
        "![time against N](results/bench-by-n.png)",
        "",
        "![time against tree size](results/bench-by-size.png)",
    ]
    lines += [
        "",
        "## One call per pair",
        "",
        "A call from Python checks its arguments, reads the trees into a store and builds an index.",
        "This costs far more than the kernel of one pair, which takes about a microsecond.",
        f"The table shows wall-clock time per pair, measured on {results['one_call']['date']} at a load average of {results['one_call']['load']:.1f}. A busy machine is slower.",
        "",
        "| kernel | one call per pair, wall µs | one call for 200 trees, wall µs per pair |",
        "|---|---:|---:|",
    ]
    for kernel in KERNELS:
        each = results["one_call"][kernel]
        lines.append(f"| {NAMES[kernel]} | {two_digits(each['alone_us'])} | {each['together_us']:.2f} |")
    lines += [
        "",
        "Pass all trees in one call: `kernel(X)` or `kernel(X, Y)` instead of a loop over pairs.",
        "If you need single pairs, compute the matrix once and look up its values. To compare new trees with many known trees,",
        "use [`Nearest`](searching.md), which keeps its index.",
        "",
        *_others(results["other"]),
        "## Worst case",
        "",
        "Time depends on the number of matched pairs.",
        "The worst case is a tree in which all nodes match each other.",
        "Examples are 200,000 nodes of one label in a chain, or 200,000 equal children of one node.",
        "Such a tree has 10^10 matched pairs with itself and takes minutes.",
        "Equal subtrees are stored once, but all pairs of nodes still count. Such work can be interrupted.",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes only, nothing written")
    parser.add_argument("--text", action="store_true", help="write the page again from the stored figures")
    given = parser.parse_args()
    quick, stored = given.quick, ROOT / "docs" / "results" / "bench.json"
    if given.text:
        (ROOT / "docs" / "performance.md").write_text(
            report(json.loads(stored.read_text(encoding="utf-8"))), encoding="utf-8"
        )
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        file, data = treebank_file(folder)
        program = compile_program(folder)
        bank = tl.read_trees(file)
        print(bank)
        sizes = [250, 500] if quick else [250, 500, 1000, 2000, len(bank)]
        by_n = {kernel: [compare(program, bank, kernel, n) for n in sizes] for kernel in KERNELS}
        other: dict[str, str] = {}
        read, _ = best(lambda: tl.read_trees(file), 5)
        other["reading, and storing equal subtrees once, CPU time"] = f"{read:.4f} s"
        n = sizes[-1]
        for kernel in ("sst", "ptk"):
            m = n if kernel == "sst" else min(n, 2000)
            one, _ = best(lambda m=m, kernel=kernel: KERNELS[kernel](fresh(bank, m), n_jobs=1), 3, time.perf_counter)
            two, _ = best(lambda m=m, kernel=kernel: KERNELS[kernel](fresh(bank, m), n_jobs=2), 3, time.perf_counter)
            other[f"{NAMES[kernel]}, N={m:,}: two threads against one, wall time"] = (
                f"{one / two:.2f} times faster ({one:.3f} s, {two:.3f} s)"
            )
        other[f"peak memory, reading and SST, N={n:,}"] = (
            f"{peak_memory(file, n):.0f} MB (the matrix itself: {8 * n * n / 2**20:.0f} MB)"
        )
        for kernel in KERNELS:
            speed, size = scoring(bank, kernel)
            other[f"scoring 500 trees with a {NAMES[kernel]} model of all trees, CPU time"] = speed
        other["size of the PT model"] = size
        for name, value in other.items():
            print(f"  {name}: {value}")
        results = {
            "made_by": provenance("make bench"),
            "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, gcc {_core.compiler}",
            "data": data,
            "by_n": by_n,
            "by_size": {kernel: by_size(program, bank, kernel) for kernel in KERNELS},
            "baseline": BASELINE,
            "one_call": {"date": date.today().isoformat(), "load": os.getloadavg()[0]}
            | {kernel: one_call(bank, kernel) for kernel in KERNELS},
            "other": other,
        }
    if not quick:
        stored.parent.mkdir(parents=True, exist_ok=True)
        stored.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        (ROOT / "docs" / "performance.md").write_text(report(results), encoding="utf-8")
        plot(results, ROOT / "docs" / "results")
        print("written: docs/performance.md, docs/results/bench.json, docs/results/bench-*.png")


if __name__ == "__main__":
    main()
