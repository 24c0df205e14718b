"""Nearest neighbors among real trees: one query against a kept index, and a hundred at once against all that there are.

Writes docs/results/nearest.md and .json. Queries and collections are drawn from all staged trees with a fixed seed; a query is never in
the collection that it is looked for in.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import numpy as np

import treelet as tl
from benchmarks.corpora import staged
from experiments import report

ROOT = Path(__file__).resolve().parents[1]
KERNELS = {"SST": tl.SubsetTree(lam=0.4).normalized(), "PT": tl.PartialTree(lam=0.4, mu=0.4).normalized()}
QUERIES, KEPT, K, THREADS = 100, 20_000, 10, 2


def fresh(bank: tl.Treebank) -> tl.Treebank:
    """The same trees, with nothing known of them."""
    return tl.Treebank.from_columns(bank.columns)


def sorted_rows(kernel: Any, queries: tl.Treebank, bank: tl.Treebank) -> np.ndarray:
    """The definition: whole rows, sorted; rounding apart, equal values go by number."""
    values = tl.gram(kernel, queries, bank, n_jobs=THREADS)
    return np.argsort(-values.round(12), axis=1, kind="stable")[:, :K]


def measured(name: str, bank: tl.Treebank, texts: list[str], kept: tl.Treebank) -> dict[str, Any]:
    kernel = KERNELS[name]
    tl.Nearest(kernel).fit(texts)  # whatever is loaded on first use
    begin = time.perf_counter()
    search = tl.Nearest(kernel, n_neighbors=K).fit(kept)
    fit = time.perf_counter() - begin
    each, each_cpu = [], []
    for text in texts:
        begin, before = time.perf_counter(), time.process_time()
        search.kneighbors([text])
        each.append(time.perf_counter() - begin)
        each_cpu.append(time.process_time() - before)
    begin = time.perf_counter()
    tl.nearest(kernel, fresh(kept), texts[:1], K)
    once = time.perf_counter() - begin
    queries, whole = tl.Treebank(texts), fresh(bank)
    begin, before = time.perf_counter(), time.process_time()
    _, indices = tl.nearest(kernel, whole, queries, K, n_jobs=THREADS)
    all_at_once, cpu = time.perf_counter() - begin, time.process_time() - before
    return {
        "kernel": name,
        "fit_s": fit,
        "query_ms": {"median": 1e3 * float(np.median(each)), "mean": 1e3 * float(np.mean(each)), "most": 1e3 * max(each), "cpu": 1e3 * float(np.mean(each_cpu))},
        "not_kept_ms": 1e3 * once,
        "all_s": all_at_once,
        "all_cpu_s": cpu,
        "equal": bool((indices == sorted_rows(kernel, queries, whole)).all()),
    }  # fmt: skip


def main() -> None:
    trees = staged()
    order = np.random.default_rng(0).permutation(len(trees))
    texts = trees[order[:QUERIES]].strings()
    bank = trees[np.sort(order[QUERIES:])].compact()
    kept = trees[np.sort(order[QUERIES : QUERIES + KEPT])].compact()
    rows = [measured(name, bank, texts, kept) for name in KERNELS]
    load, cores = os.getloadavg()[0], len(os.sched_getaffinity(0))
    made = report.provenance("python -m benchmarks.nearest")
    page = "\n\n".join(
        [
            "# Nearest neighbors: what a query costs",
            f"`{made['command']}`, commit `{made['commit']}`, {made['date']}. Ten neighbors, normalized kernels, trees of newspapers, "
            f"questions and biomedical articles; {QUERIES} queries that are not among them, as bracketed text. A query is asked alone, in one thread, of "
            f"`Nearest` fitted to {KEPT:,} trees; without an index that is kept, `nearest` makes one for it. All {QUERIES} at once go by `nearest` in "
            f"{THREADS} threads, from a Treebank of {len(bank):,} trees of which nothing is known: index and self-values are counted. Wall time on {cores} cores with a load of {load:.1f}"
            f"{' (more than the cores: others had work there, too)' if load > cores else ''}; CPU time, of all threads, where it is said, which that lengthens less.",
            report.table(
                ("kernel", "fit, s", "one query, median, ms", "mean", "most", "mean CPU", "not kept, ms", f"{QUERIES} x {len(bank):,}, s", "CPU, s", "as whole rows sorted"),
                [
                    (r["kernel"], f"{r['fit_s']:.2f}", *(f"{r['query_ms'][key]:.1f}" for key in ("median", "mean", "most", "cpu")),
                     f"{r['not_kept_ms']:.0f}", f"{r['all_s']:.2f}", f"{r['all_cpu_s']:.2f}", "yes" if r["equal"] else "no")
                    for r in rows
                ],
                right=range(1, 9),
            ),
        ]
    ) + "\n"  # fmt: skip
    report.write(
        ROOT / "docs" / "results",
        "nearest",
        {"rows": rows, "trees": len(bank), "load": load, "cores": cores, "made_by": made},
        page,
    )
    print(page)


if __name__ == "__main__":
    main()
