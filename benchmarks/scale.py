"""Time and memory from a thousand trees to a million, each task in a separate process, and the growth of distinct subtrees.

    python -m benchmarks.scale                 # all
    python -m benchmarks.scale nearest sketch  # repeat some steps; the results of the others are kept

Trees are drawn from two grammars, and the classifier predicts the grammar of a tree. Heaps' law needs
the corpora.
Writes docs/results/scale.json, .md and .png.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import gettempdir
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import treelet as tl
from benchmarks.common import FILES, Results, Timer, memory_mb, staged
from experiments import writing
from treelet.formats.files import whole_file

SIZES = (1_000, 10_000, 100_000, 1_000_000)
BLOCK, QUERIES, LANDMARKS, COMPONENTS = 10_000, 1_000, 500, 4096
TRAIN = 0.9
KERNEL = tl.SubsetTree(lam=0.4).normalized()


# --- the trees ----------------------------------------------------------------------------------------------------


def generated() -> Path:
    """Return a file of a million labeled trees. Every other tree is drawn from a grammar with parent annotation."""
    path = Path(os.environ.get("TREELET_SCALE", gettempdir())) / "treelet-scale-1.tsv"
    if not path.exists():
        bank = tl.datasets.flights(2000)
        grammars = {"with": tl.PCFG.from_treebank(bank, parent=True), "without": tl.PCFG.from_treebank(bank)}
        with whole_file(path) as temporary, open(temporary, "w", encoding="utf-8") as file:
            for seed in range(SIZES[-1] // BLOCK):
                drawn = [grammar.sample(BLOCK // 2, seed).strings() for grammar in grammars.values()]
                for trees in zip(*drawn, strict=True):
                    file.writelines(f"{label}\t{tree}\n" for label, tree in zip(grammars, trees, strict=True))
    return path


def blocks(n: int, size: int = BLOCK) -> Iterator[tuple[Any, Any]]:
    """Yield the first n trees and their labels, block by block."""
    size = min(size, n)
    for number, (X, y) in enumerate(tl.iter_examples(generated(), "tsv", block=size)):
        if number * size >= n:
            return
        yield X, y


def first(n: int) -> tl.Treebank:
    """Return the first n trees."""
    return next(blocks(n, n))[0]


# --- Tasks: each returns its own results; time and memory are measured around it ------------------------------------


def read(n: int, clock: Timer) -> Results:
    before = memory_mb("VmRSS")
    with clock:
        bank = first(n)
    held = memory_mb("VmRSS") - before
    return {"bytes_a_tree": held * 2**20 / n, "distinct": len(bank.columns.store)}


def matrix(n: int, clock: Timer, dtype: str) -> Results:
    bank = first(n)
    with clock:
        tl.gram(KERNEL, bank, dtype=dtype)
    return {}


def disk(n: int, clock: Timer) -> Results:
    bank = first(n)
    path = generated().with_name(f"treelet-scale-{os.getpid()}.npy")
    try:
        with clock:
            tl.gram(KERNEL, bank, out=path, dtype="float32", memory="1GiB")
        return {"file_mb": path.stat().st_size / 2**20}
    finally:
        path.unlink(missing_ok=True)


def nearest(n: int, clock: Timer) -> Results:
    bank, queries = first(n), tl.PCFG.from_treebank(tl.datasets.flights(2000)).sample(QUERIES, 12345)
    index = tl.Nearest(KERNEL, n_neighbors=10, n_jobs=2)
    begin = time.process_time()
    index.fit(bank)
    fit = time.process_time() - begin
    with clock:
        index.kneighbors(queries)
    return {"fit_s": fit, "peak_with_index_mb": memory_mb()}


def nystroem(n: int, clock: Timer) -> Results:
    model = tl.Nystroem(KERNEL, LANDMARKS, random_state=0)
    with clock:
        for number, (X, _) in enumerate(blocks(n)):
            if number == 0:
                model.fit(X)
            model.transform(X)
    return {}


def sketch(n: int, clock: Timer) -> Results:
    """Read, sketch, train on nine tenths, and test on the last tenth, in one pass over the file."""
    from sklearn.linear_model import SGDClassifier

    model = tl.TreeSketch(KERNEL, COMPONENTS, random_state=0, n_jobs=2)
    machine = SGDClassifier(alpha=1e-6, random_state=0)
    correct = tested = seen = 0
    spent = {"sketch_s": 0.0, "learn_s": 0.0}
    with clock:
        for X, y in blocks(n, min(BLOCK, n // 10)):
            begin = time.process_time()
            if seen == 0:
                model.fit(X)
            vectors = model.transform(X)
            middle = time.process_time()
            if seen < TRAIN * n:
                machine.partial_fit(vectors, y, classes=["with", "without"])
            else:
                correct, tested = correct + int((machine.predict(vectors) == y).sum()), tested + len(y)
            seen += len(y)
            spent["sketch_s"] += middle - begin
            spent["learn_s"] += time.process_time() - middle
    return {"accuracy": correct / tested, "tested": tested, **spent}


def product(n: int, clock: Timer) -> Results:
    from treelet.matrices import operator

    bank, v = first(n), np.random.default_rng(0).normal(size=n)
    with clock:
        operator(KERNEL, bank) @ v
    return {}


class Step(NamedTuple):
    """A row of the table: its task, the largest measured size, and the powers of n by which time and memory grow beyond it."""

    title: str
    work: Callable[[int, Timer], Results]
    largest: int
    time: int
    memory: int
    bound: str = ""


STEPS = {
    "read": Step("read and intern", read, 1_000_000, 1, 1),
    "float64": Step("matrix, float64", lambda n, clock: matrix(n, clock, "float64"), 10_000, 2, 2),
    "float32": Step("matrix, float32", lambda n, clock: matrix(n, clock, "float32"), 10_000, 2, 2),
    "disk": Step("matrix to disk, float32, memory=1GiB", disk, 10_000, 2, 0, "1 GiB plus the trees"),
    "product": Step("K @ v with `operator`", product, 10_000, 2, 1),
    "nearest": Step(f"`Nearest`, {QUERIES:,} queries, 2 threads", nearest, 1_000_000, 1, 1),
    "nystroem": Step(f"`Nystroem`, {LANDMARKS} landmarks, from a file", nystroem, 100_000, 1, 0),
    "sketch": Step(f"`TreeSketch`, {COMPONENTS} components, and SGDClassifier, from a file", sketch, 1_000_000, 1, 0),
}


# --- measuring ----------------------------------------------------------------------------------------------------


def one(name: str, n: int) -> Results:
    clock = Timer()
    found = STEPS[name].work(n, clock)
    return {"step": name, "n": n, "wall_s": clock.wall, "cpu_s": clock.cpu, "peak_mb": memory_mb(), **found}


def measured(name: str) -> list[Results]:
    """Measure a step at all its sizes, each in a separate process."""
    rows = []
    for n in SIZES:
        if n <= STEPS[name].largest:
            command = [sys.executable, "-m", "benchmarks.scale", "--one", name, str(n)]
            run = subprocess.run(command, cwd=writing.ROOT, check=True, capture_output=True, text=True)
            rows.append(json.loads(run.stdout.splitlines()[-1]))
            print({key: round(value, 3) if isinstance(value, float) else value for key, value in rows[-1].items()}, flush=True)  # fmt: skip
    return rows


FIRST, POINTS = 100, 25  # the smallest number of trees that is fitted to, and how many numbers


def distinct_subtrees(bank: tl.Treebank, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of trees, drawn in random order, and of the distinct subtrees that they have, words left out."""
    weights, n = bank.weights(), len(bank)
    rank = np.random.default_rng(seed).permutation(n)
    first = np.full(len(bank.columns.store), n)
    np.minimum.at(first, weights.node, np.repeat(rank, np.diff(weights.start)))
    known = np.bincount(first[bank.columns.store.production >= 0], minlength=n + 1)[:n]
    sizes = np.unique(np.geomspace(FIRST, n, POINTS).astype(int))
    return sizes, np.cumsum(known)[sizes - 1]


def fit_heaps(bank: tl.Treebank) -> dict[str, Any]:
    """a and b by least squares on logarithms, and how far off the curve is."""
    sizes, distinct = distinct_subtrees(bank)
    b, log_a = np.polyfit(np.log(sizes), np.log(distinct), 1)
    off = distinct / np.exp(log_a + b * np.log(sizes)) - 1
    late = len(sizes) // 2
    stats = bank.stats()
    return {
        "trees": len(bank), "nodes_a_tree": (stats.nodes + stats.words) / len(bank), "distinct": int(distinct[-1]), "a": float(np.exp(log_a)), "b": float(b),
        "b_late": float(np.polyfit(np.log(sizes[late:]), np.log(distinct[late:]), 1)[0]), "off": float(np.abs(off).max()),
        "sizes": sizes.tolist(), "found": distinct.tolist(), "residuals": off.tolist(),
    }  # fmt: skip


def heaps_laws() -> list[dict[str, Any]]:
    """All corpora, all of them together, and trees drawn from the grammar of one."""
    found = [{"corpus": name, **fit_heaps(staged(name))} for name in (*FILES, "all")]
    drawn = tl.PCFG.from_treebank(staged("WSJ")).sample(57_268)
    return [*found, {"corpus": "drawn from WSJ's grammar", **fit_heaps(drawn)}]


# --- Page -----------------------------------------------------------------------------------------------------------


def page(results: Results) -> str:
    """Return the results as a Markdown page."""
    measured = {(row["step"], row["n"]): row for row in results["rows"]}
    whole = next((fit for fit in results["heaps"] if fit["corpus"] == "all"), None)
    billion = sorted(whole["distinct"] * (1e9 / whole["trees"]) ** whole[b] for b in ("b", "b_late")) if whole else []
    return writing.render(
        "scale",
        results,
        created=writing.created(results["made_by"]),
        sizes=SIZES,
        table_rows=[table_row(name, measured) for name in STEPS],
        million={name: measured.get((name, SIZES[-1])) for name in ("read", "sketch", "nearest")},
        components=COMPONENTS,
        queries=QUERIES,
        memory=format_memory,
        billion=billion,
        largest_id=2**31 - 1,
    )


def table_row(name: str, measured: dict[tuple[str, int], Results]) -> list[str]:
    """Return the time and memory of a step by size. Sizes that were not measured are extrapolated, in parentheses."""
    step, cells = STEPS[name], []
    largest = max((n for known, n in measured if known == name), default=None)
    for n in SIZES:
        if largest is None:
            cells.append("")
        elif n <= largest:
            cells.append(f"{format_time(measured[name, n]['cpu_s'])}, {format_memory(measured[name, n]['peak_mb'])}")
        else:
            row, factor = measured[name, largest], n / largest
            memory = step.bound or format_memory(row["peak_mb"] * factor**step.memory)
            cells.append(f"({format_time(row['cpu_s'] * factor**step.time)}, {memory})")
    return [step.title, *cells]


def format_time(seconds: float) -> str:
    """Format a duration in a suitable unit.

    >>> format_time(0.0312), format_time(31.2), format_time(312), format_time(31200), format_time(3.12e6)
    ('31 ms', '31 s', '5.2 min', '8.7 h', '36 d')
    """
    for limit, unit, name in ((1, 1e-3, "ms"), (120, 1, "s"), (7200, 60, "min"), (172_800, 3600, "h")):
        if seconds < limit:
            return f"{_short(seconds / unit)} {name}"
    return f"{_short(seconds / 86400)} d"


def format_memory(megabytes: float) -> str:
    for limit, unit, name in ((1000, 1, "MB"), (1e6, 1000, "GB")):
        if megabytes < limit:
            return f"{_short(megabytes / unit)} {name}"
    return f"{_short(megabytes / 1e6)} TB"


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}"


def picture(results: Results, path: Path) -> None:
    if not results["heaps"]:
        return
    with writing.saved_figure(path, 2, figsize=(11, 4.5)) as (_, (curves, rest)):
        for fit in results["heaps"]:
            (line,) = curves.loglog(fit["sizes"], fit["found"], ".", markersize=4)
            law = [fit["a"] * n ** fit["b"] for n in fit["sizes"]]
            curves.loglog(
                fit["sizes"], law, color=line.get_color(), linewidth=1, label=f"{fit['corpus']}: N^{fit['b']:.2f}"
            )
            rest.semilogx(fit["sizes"], [100 * off for off in fit["residuals"]], color=line.get_color(), linewidth=1)
        curves.set(xlabel="trees", ylabel="distinct subtrees", title="Heaps' law of subtrees")
        curves.legend(fontsize=7)
        rest.set(xlabel="trees", ylabel="found beside the law, %", title="Residuals")
        rest.axhline(0, color="gray", linewidth=0.5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("steps", nargs="*", help="all, if none is named; also: heaps")
    parser.add_argument("--one", nargs=2, metavar=("STEP", "N"), help="measure here and now, and print JSON")
    parser.add_argument("--page", action="store_true", help="write the page again, from stored results")
    given = parser.parse_args()
    if given.one:
        print(json.dumps(one(given.one[0], int(given.one[1]))))
        return

    path = writing.RESULTS / "scale.json"
    results: Results = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"rows": [], "heaps": []}
    if not given.page:
        generated()
        for name in given.steps or [*STEPS, "heaps"]:
            if name == "heaps":
                results["heaps"] = heaps_laws()
                continue
            rows = measured(name)
            results["rows"] = [row for row in results["rows"] if row["step"] != name] + rows
        from treelet import gram, kernels, learn, parsing  # noqa: F401  # what the measured processes import

        results["made_by"] = writing.provenance("python -m benchmarks.scale")
    writing.write_results(writing.RESULTS, "scale", results, page(results))
    picture(results, writing.RESULTS / "scale.png")


if __name__ == "__main__":
    main()
