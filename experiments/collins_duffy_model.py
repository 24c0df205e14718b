"""Section 5 of Collins & Duffy: how a compressed model grows with its support trees, in bytes and in time."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from treelet.datasets import flights
from treelet.kernels import SubsetTree
from treelet.learn import save
from treelet.parsing import PCFG
from treelet.tasks import CandidateParses, Setting

TIMES = 5  # of which the quickest counts


def model_growth(quick: bool) -> list[dict[str, Any]]:
    """Size of the compressed model and time to score with it, against the number of support trees."""
    bank = flights()
    train, test = bank[:800], bank[1000:1100]
    grammar = PCFG.from_treebank(train)
    found = CandidateParses.parsed(grammar, test, 20 if quick else 100)
    learnt = CandidateParses.parsed(grammar, train[: 60 if quick else 800], 20)
    rows = []
    for n in (20, 60) if quick else (50, 100, 200, 400, 800):
        part = learnt.sentences(range(n))
        ranker = Setting(0.4).reranker(epochs=1).fit(part).ranker
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.treelet"
            save(ranker, path)
            size = path.stat().st_size
        support = part.trees[ranker.support_]
        graph, pairs = [], []
        for _ in range(TIMES):
            begin = time.process_time()
            ranker.predict(found.table())
            middle = time.process_time()
            SubsetTree(lam=0.4)(found.trees, support)
            graph.append(middle - begin)
            pairs.append(time.process_time() - middle)
        stats = ranker.model_.stats()
        rows.append(
            {
                "sentences": n,
                "support": len(ranker.support_),
                "bytes": size,
                "bytes_of_trees": sum(len(text) + 1 for text in support.strings()),
                "graph_bytes": stats.model_bytes,
                "nodes": stats.nodes,
                "distinct": stats.distinct_subtrees,
                "graph_us": 1e6 * min(graph) / len(found.trees),
                "matrix_us": 1e6 * min(pairs) / len(found.trees),
            }
        )
    return rows
