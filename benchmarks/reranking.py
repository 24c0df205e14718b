"""The cost of training and using a reranker: the growing graph against the matrix, in the same minute.

800 sentences with 20 candidates each, one pass; then 336 sentences with 100. CPU time of one thread; peak memory of a
process of its own. Writes docs/results/reranking-speed.json and a section of docs/results/speed.md.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import numpy as np

import treelet as tl
from benchmarks.common import publish_section
from experiments import writing
from experiments.data import question_bank
from treelet.learn import perceptron
from treelet.tasks import CandidateParses, Reranker, reranking_kernel

SOURCES = ("flights", "questionbank")


def peak() -> float:
    """The most memory this process has had, in MB."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1000
    return float("nan")


def measured(source: str, way: str) -> dict[str, Any]:
    bank = tl.datasets.flights() if source == "flights" else question_bank()[:1336]
    train, test = bank[:800], bank[1000:1336]
    grammar = tl.PCFG.from_treebank(train)
    found = CandidateParses.parsed(grammar, test)
    candidates = CandidateParses.parsed(grammar, train).sample(20)
    before = peak()
    reranker = Reranker(tl.VotedPerceptron(kernel=reranking_kernel(tl.SubsetTree(lam=0.4), 0.0)), candidates=None)
    if way == "matrix":
        perceptron._GrowingSum.of = classmethod(lambda cls, *_: None)  # type: ignore[method-assign,assignment]
        perceptron._WHOLE = 1 << 40  # the whole matrix, whatever its size
    begin = time.process_time()
    reranker.fit(candidates)
    trained = time.process_time() - begin
    begin = time.process_time()
    scores = reranker.scores(found)
    return {
        "source": source,
        "way": way,
        "train_trees": len(candidates.trees),
        "test_trees": len(found.trees),
        "updates": int(reranker.ranker.n_updates_),
        "train_s": trained,
        "score_s": time.process_time() - begin,
        "score": found.score(reranker.choose(found)),
        "check": float(np.abs(scores).sum()),
        "before_mb": before,
        "peak_mb": peak(),
    }


def main() -> None:
    if len(sys.argv) == 3:
        print(json.dumps(measured(sys.argv[1], sys.argv[2])))
        return
    rows = []
    for source in SOURCES:
        for way in ("graph", "matrix"):
            run = subprocess.run(
                [sys.executable, "-m", "benchmarks.reranking", source, way], capture_output=True, text=True, check=True
            )
            rows.append(json.loads(run.stdout.splitlines()[-1]))
            print(rows[-1], flush=True)
    results = {"rows": rows, "made_by": writing.provenance("python -m benchmarks.reranking")}
    publish_section("reranking-speed", results, section(results))


def section(results: dict[str, Any]) -> str:
    """Return the results as a section of a Markdown page."""
    rows = results["rows"]
    lines = [
        (
            r["source"], r["way"], f"{r['train_trees']:,}", r["updates"], f"{r['train_s']:.2f}", f"{r['peak_mb']:.0f}", f"{r['test_trees']:,}", f"{r['score_s']:.2f}", f"{r['score']:.2f}",
        )
        for r in rows
    ]  # fmt: skip
    ratios = [
        f"- {graph['source']}: training with the matrix takes {matrix['train_s'] / graph['train_s']:.1f} times as long and "
        f"{matrix['peak_mb'] / graph['peak_mb']:.1f} times the memory."
        for graph, matrix in zip(rows[::2], rows[1::2], strict=True)
    ]
    return writing.page(
        [
            "## Reranking",
            writing.created(results["made_by"]),
            "The reranker is trained on 800 sentences with 20 candidates each (SST with scale 0.4, one pass). It then scores 336 sentences with up to 100 "
            "candidates. Both methods give the same model:",
            "- *graph*: weights of distinct subtrees, updated in place (section 5 of Collins & Duffy 2001).\n"
            "- *matrix*: the dual form, on the whole Gram matrix of the training candidates.",
            "Times are CPU seconds of one thread. Memory is the peak of a separate process, including reading, parsing and all candidates.",
            writing.table(("data", "method", "training trees", "updates", "training, s", "peak, MB", "scored trees", "scoring, s", "parse score"), lines, right=range(2, 9)),
            "\n".join(ratios),
        ]
    )  # fmt: skip


if __name__ == "__main__":
    main()
