"""Regularized least squares: CPU time of one fit and of a path of nine strengths.

Writes docs/results/rls-speed.json and a section of docs/results/speed.md.
"""

from __future__ import annotations

import os
import time
from typing import Any

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import numpy as np

from benchmarks.common import publish_section
from experiments import writing
from treelet.learn import RLS, RankRLS

ALPHAS = 2.0 ** np.arange(-10, 8, 2)


def measured(make: Any, n: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(n, n // 2))
    K, y, qid = factors @ factors.T / n, rng.normal(size=n), np.arange(n) // 5
    begin = time.process_time()
    make("precomputed").fit(K, y, qid)
    one = time.process_time() - begin
    begin = time.process_time()
    make("precomputed", alphas=ALPHAS).fit(K, y, qid)
    path = time.process_time() - begin
    return {"learner": make.__name__, "n": n, "fit_s": one, "path_s": path, "ratio": path / one}


def main() -> None:
    rows = [measured(make, n) for n in (1500, 3000) for make in (RLS, RankRLS)]
    results = {"rows": rows, "made_by": writing.provenance("python -m benchmarks.rls")}
    publish_section("rls-speed", results, section(results))


def section(results: dict[str, Any]) -> str:
    """Return the results as a section of a Markdown page."""
    return writing.page(
        [
            "## Regularized least squares",
            writing.created(results["made_by"]),
            "The table shows CPU seconds of one thread, with a precomputed kernel matrix of n examples and groups of five. A fit includes all "
            "leave-one-out and leave-group-out predictions.",
            writing.table(
                ("learner", "n", "one fit, s", "with nine strengths, s", "ratio"),
                [
                    (r["learner"], r["n"], f"{r['fit_s']:.2f}", f"{r['path_s']:.2f}", f"{r['ratio']:.2f}")
                    for r in results["rows"]
                ],
                right=range(1, 5),
            ),
        ]
    )  # fmt: skip


if __name__ == "__main__":
    main()
