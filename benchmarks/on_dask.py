"""Compare two worker processes of a Dask cluster with two threads: wall-clock time of the same matrices.

Writes docs/results/dask.md and .json.
"""

from __future__ import annotations

import os
import time
from typing import Any

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import numpy as np
from distributed import Client, LocalCluster

import treelet as tl
from benchmarks.common import publish, staged
from experiments import writing

WORKERS = 2
REPEATS = 3


def seconds(kernel: Any, bank: tl.Treebank, **options: Any) -> tuple[float, np.ndarray]:
    begin = time.perf_counter()
    K = tl.gram(kernel, bank, n_jobs=WORKERS, **options)
    return time.perf_counter() - begin, K


def measured(client: Client, name: str, kernel: Any, bank: tl.Treebank, dtype: str, repeats: int) -> dict[str, Any]:
    """Measure threads and workers alternately. The minimum is reported; the first run counts, too."""
    threads, workers = [], []
    for _ in range(repeats):
        took, expected = seconds(kernel, bank, dtype=dtype)
        threads.append(took)
        took, found = seconds(kernel, bank, dtype=dtype, client=client)
        workers.append(took)
        same = bool(np.array_equal(expected, found))
        del expected, found
        if not same:
            raise SystemExit(f"{name}: the matrices of the workers and of the threads differ.")
    least = min(threads), min(workers)
    return {"kernel": name, "n": len(bank), "dtype": dtype, "threads_s": least[0], "workers_s": least[1], "ratio": least[1] / least[0]}  # fmt: skip


def main() -> None:
    wsj, all_trees = staged("WSJ"), staged()
    tasks = [
        ("SST", tl.SubsetTree(), wsj, "float64", REPEATS),
        ("PT", tl.PartialTree(), wsj, "float64", REPEATS),
        ("SST", tl.SubsetTree(), all_trees[:10_000], "float64", REPEATS),
        ("SST", tl.SubsetTree(), all_trees[:20_000], "float32", REPEATS),
        ("PT", tl.PartialTree(), all_trees[:10_000], "float32", REPEATS),
    ]
    with LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster) as client:  # fmt: skip
        tl.gram(tl.SubsetTree(), wsj[:10], client=client)  # makes the workers import treelet
        rows = [measured(client, *task) for task in tasks]
    results = {"rows": rows, "made_by": writing.provenance("python -m benchmarks.on_dask")}
    publish("dask", results, page(results))


def page(results: dict[str, Any]) -> str:
    """Return the results as a Markdown page."""
    return writing.page(
        [
            "# Dask workers compared with threads",
            writing.created(results["made_by"]),
            "The table shows the wall-clock time of complete calls of `gram` in seconds, the minimum of several runs. The cluster is already running, and its "
            "workers have imported treelet. The client, the scheduler and both workers share two cores. All matrices are equal to the bit.",
            writing.table(
                ("kernel", "trees", "dtype", "two threads, s", "two workers, s", "ratio"),
                [
                    (r["kernel"], f"{r['n']:,}", r["dtype"], f"{r['threads_s']:.2f}", f"{r['workers_s']:.2f}", f"{r['ratio']:.2f}")
                    for r in results["rows"]
                ],
                right=(1, 3, 4, 5),
            ),
        ]
    )  # fmt: skip


if __name__ == "__main__":
    main()
