"""Nearest neighbors among real trees: a single query to a stored index, and a hundred queries together among all trees.

Writes docs/results/nearest.json and a section of docs/results/speed.md. Queries and collections are drawn from all staged trees with a fixed seed; a query is never in
the collection that it is looked for in.
"""

from __future__ import annotations

import os
import time
from typing import Any

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import numpy as np

import treelet as tl
from benchmarks.common import publish_section, staged
from experiments import writing

KERNELS = {"SST": tl.SubsetTree(lam=0.4).normalized(), "PT": tl.PartialTree(lam=0.4, mu=0.4).normalized()}
QUERIES, KEPT, K, THREADS = 100, 20_000, 10, 2


def fresh(bank: tl.Treebank) -> tl.Treebank:
    """Return the same trees without cached values."""
    return tl.Treebank.from_columns(bank.columns)


def sorted_rows(kernel: Any, queries: tl.Treebank, bank: tl.Treebank) -> np.ndarray:
    """Return the neighbors by definition: sorted rows of the matrix, with ties (up to rounding) in order of index."""
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
    made = writing.provenance("python -m benchmarks.nearest")
    results = {"rows": rows, "trees": len(bank), "load": load, "cores": cores, "made_by": made}
    publish_section("nearest", results, section(results))


def section(results: dict[str, Any]) -> str:
    """Return the results as a section of a Markdown page."""
    trees, load, cores = (results[name] for name in ("trees", "load", "cores"))
    busy = " (more than the number of cores: other processes were running)" if load > cores else ""
    return writing.page(
        [
            "## Nearest neighbors",
            writing.created(results["made_by"]),
            f"The search returns ten neighbors by normalized kernels, among trees of newspapers, questions and biomedical articles. {QUERIES} other trees are the queries, as "
            "bracketed text.",
            f"- *One query* is a single query in one thread to a `Nearest` object fitted to {KEPT:,} trees.\n"
            "- *Without a stored index*, `nearest` builds the index for a single query.\n"
            f"- *All queries* are passed to `nearest` together, in {THREADS} threads, with a new Treebank of {trees:,} trees. The time includes the index and the self-values.",
            f"Times are wall-clock times on {cores} cores with a load of {load:.1f}{busy}. CPU times are those of all threads and depend less on the load.",
            writing.table(
                ("kernel", "fit, s", "one query, median, ms", "mean, ms", "maximum, ms", "mean CPU, ms", "without a stored index, ms", f"all {QUERIES} queries among {trees:,} trees, s", "CPU, s", "equal to sorted matrix rows"),
                [
                    (r["kernel"], f"{r['fit_s']:.2f}", *(f"{r['query_ms'][key]:.1f}" for key in ("median", "mean", "most", "cpu")),
                     f"{r['not_kept_ms']:.0f}", f"{r['all_s']:.2f}", f"{r['all_cpu_s']:.2f}", "yes" if r["equal"] else "no")
                    for r in results["rows"]
                ],
                right=range(1, 9),
            ),
        ]
    )  # fmt: skip


if __name__ == "__main__":
    main()
