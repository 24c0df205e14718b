"""TEDS of pairs of tables beside a scorer that uses apted and RapidFuzz, and string edit distances beside RapidFuzz. One thread.

Writes docs/results/teds.md and .json. Tables come from the documentation on this machine (its Debian packages), and are generated in larger sizes.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from functools import partial
from typing import Any

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from benchmarks.common import publish
from experiments import writing
from tests.definitions import tables
from treelet import _core
from treelet.metrics import teds

LIMIT = 28


def seconds(work: Callable[[], Any], repeats: int) -> float:
    """Return the shortest CPU time of several runs."""
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return min(times)


# --- tables -------------------------------------------------------------------------------------------------------


def sets_of_tables() -> dict[str, list[tuple[str, str]]]:
    rng = random.Random(0)
    sets = {}
    for least, most in ((4, 11), (12, 100)):
        if found := [(tables.edited(rng, html), html) for html in tables.from_documentation(100, least, most)]:
            sets[f"documentation, {least} to {most} cells"] = found
    for rows, columns, number in ((10, 5, 40), (20, 10, 5), (40, 10, 2), (100, 20, 2)):
        sets[f"generated, {rows} × {columns}"] = [generated(rng, rows, columns) for _ in range(number)]
    return sets


def generated(rng: random.Random, rows: int, columns: int) -> tuple[str, str]:
    """Return a table of the given size after six random edits, and the table."""
    html = tables.written([[tables.cell(rng) for _ in range(columns)] for _ in range(rows)], head=1)
    return tables.edited(rng, html), html


def measured(name: str, pairs: list[tuple[str, str]], score: Any) -> dict[str, Any]:
    predicted, true = map(list, zip(*pairs, strict=True))
    roots = [tables.table_element(html) for html in true]
    row: dict[str, Any] = {
        "tables": name,
        "pairs": len(pairs),
        "cells": float(np.median([len(root.findall(".//td")) for root in roots])),
        "nodes": float(np.median([tables.tree_of(root, True).size for root in roots])),
        "ours_ms": 1e3 * seconds(lambda: teds(predicted, true), 5) / len(pairs),
        "structure_ms": 1e3 * seconds(lambda: teds(predicted, true, structure_only=True), 5) / len(pairs),
    }
    if row["nodes"] < 1000:  # apted takes minutes for larger tables
        expected: list[float] = []
        row["apted_ms"] = (
            1e3 * seconds(lambda: expected.extend(score(*pair, size="nodes") for pair in pairs), 1) / len(pairs)
        )
        row["ratio"] = row["apted_ms"] / row["ours_ms"]
        row["difference"] = float(np.abs(teds(predicted, true) - expected).max())
    return row


# --- strings ------------------------------------------------------------------------------------------------------


def sets_of_strings() -> dict[str, list[list[int]]]:
    rng = random.Random(1)
    texts = [[ord(c) for c in tables.cell(rng)[0]] for _ in range(600)]
    longer = [[ord(c) for c in " ".join(rng.choices(tables.WORDS, k=15))] for _ in range(400)]
    base = [rng.randrange(1000, 1060) for _ in range(140)]
    labels = [[rng.randrange(1000, 1060) for _ in range(140)] for _ in range(400)]
    similar = [[rng.randrange(1000, 1060) if rng.random() < 0.1 else label for label in base] for _ in range(400)]
    return {"cell texts": texts, "longer texts": longer, "140 labels": labels, "140 labels, similar": similar}


def measured_strings(name: str, sequences: list[list[int]]) -> list[dict[str, Any]]:
    """Compare one half of the sequences with the other half."""
    texts = ["".join(map(chr, sequence)) for sequence in sequences]
    arrays = [np.array(sequence, dtype=np.int32).tobytes() for sequence in sequences]
    strings = {"queries": texts[::2], "choices": texts[1::2], "scorer": Levenshtein.distance, "workers": 1}
    rows = []
    for limit in (None, LIMIT):
        work = partial(_core.string_distances, arrays[::2], arrays[1::2], limit)
        peer = partial(cdist, **strings, score_cutoff=limit)
        scale = 4e9 / len(texts) ** 2
        times = {"ours_ns": scale * seconds(work, 20), "cdist_ns": scale * seconds(peer, 20)}
        length = float(np.median([len(text) for text in texts]))
        row = {"strings": name, "length": length, "limit": limit, "equal": bool((work() == peer()).all()), **times}
        rows.append(row | {"ratio": times["cdist_ns"] / times["ours_ns"]})
    return rows


# --- the page -----------------------------------------------------------------------------------------------------


def main() -> None:
    score = tables.scorer_by_apted(Levenshtein.distance)
    strings = [row for name, sequences in sets_of_strings().items() for row in measured_strings(name, sequences)]
    rows = [measured(name, pairs, score) for name, pairs in sets_of_tables().items()]
    results = {"rows": rows, "strings": strings, "made_by": writing.provenance("python -m benchmarks.teds")}
    publish("teds", results, page(results))


def page(results: dict[str, Any]) -> str:
    """Return the results as a Markdown page."""
    rows, strings = results["rows"], results["strings"]
    return writing.page(
        [
            "# Speed of TEDS and of the string edit distance",
            writing.created(results["made_by"]),
            "All times are CPU times of one thread.",
            "## TEDS",
            "The table shows the time per pair of tables, from HTML strings to the score. Each predicted table is a true table after one to six random "
            "edits. The comparison program uses the Python packages apted for the trees, RapidFuzz for the texts and lxml for the HTML. "
            "*Difference* is the largest difference of two scores.",
            writing.table(
                ("tables", "pairs", "cells, median", "nodes, median", "TEDS, ms", "structure only, ms", "apted, ms", "ratio", "difference"),
                [
                    (
                        r["tables"], r["pairs"], f"{r['cells']:.0f}", f"{r['nodes']:.0f}", f"{r['ours_ms']:.2f}", f"{r['structure_ms']:.2f}",
                        f"{r['apted_ms']:,.0f}" if "apted_ms" in r else "–", f"{r['ratio']:,.0f}" if "ratio" in r else "–",
                        f"{r['difference']:.0e}" if "difference" in r else "–",
                    )
                    for r in rows
                ],
                right=range(1, 9),
            ),
            "## Strings",
            "The table shows the time per pair for all pairs of two sets of strings, beside `rapidfuzz.process.cdist`. Labels are passed to RapidFuzz as "
            "characters. A limit ends a comparison as soon as the distance exceeds the limit.",
            writing.table(
                ("strings", "length, median", "limit", "treelet, ns", "RapidFuzz, ns", "ratio", "equal"),
                [
                    (
                        r["strings"], f"{r['length']:.0f}", "–" if r["limit"] is None else r["limit"], f"{r['ours_ns']:,.0f}",
                        f"{r['cdist_ns']:,.0f}", f"{r['ratio']:.2f}", "yes" if r["equal"] else "no",
                    )
                    for r in strings
                ],
                right=range(1, 6),
            ),
        ]
    )  # fmt: skip


if __name__ == "__main__":
    main()
