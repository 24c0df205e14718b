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
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import gettempdir
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import treelet as tl
from experiments import writing
from treelet.formats.files import whole_file

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results"
SIZES = (1_000, 10_000, 100_000, 1_000_000)
BLOCK, QUERIES, LANDMARKS, COMPONENTS = 10_000, 1_000, 500, 4096
TRAIN = 0.9
KERNEL = tl.SubsetTree(lam=0.4).normalized()
Found = dict[str, Any]


# --- the trees ----------------------------------------------------------------------------------------------------


def generated() -> Path:
    """A file of a million labeled trees, made once: every other one is drawn from a grammar with parents in its symbols."""
    path = Path(os.environ.get("TREELET_SCALE", gettempdir())) / "treelet-scale-1.tsv"
    if not path.exists():
        bank = tl.datasets.flights(2000)
        grammars = {"with": tl.PCFG.from_treebank(bank, parent=True), "without": tl.PCFG.from_treebank(bank)}
        with whole_file(path) as temporary, open(temporary, "w") as file:
            for seed in range(SIZES[-1] // BLOCK):
                drawn = [grammar.sample(BLOCK // 2, seed).strings() for grammar in grammars.values()]
                for trees in zip(*drawn, strict=True):
                    file.writelines(f"{label}\t{tree}\n" for label, tree in zip(grammars, trees, strict=True))
    return path


def blocks(n: int, size: int = BLOCK) -> Iterator[tuple[Any, Any]]:
    """The first n trees and their labels, a part at a time."""
    size = min(size, n)
    for number, (X, y) in enumerate(tl.iter_examples(generated(), "tsv", block=size)):
        if number * size >= n:
            return
        yield X, y


def first(n: int) -> tl.Treebank:
    """The first n trees."""
    return next(blocks(n, n))[0]


# --- what is measured: each gives what it found; time and memory are taken around it ------------------------------


def read(n: int, clock: Clock) -> Found:
    before = status("VmRSS")
    with clock:
        bank = first(n)
    held = status("VmRSS") - before
    return {"bytes_a_tree": held * 2**20 / n, "distinct": len(bank.columns.store)}


def matrix(n: int, clock: Clock, dtype: str) -> Found:
    bank = first(n)
    with clock:
        tl.gram(KERNEL, bank, dtype=dtype)
    return {}


def disk(n: int, clock: Clock) -> Found:
    bank = first(n)
    path = generated().with_name(f"treelet-scale-{os.getpid()}.npy")
    try:
        with clock:
            tl.gram(KERNEL, bank, out=path, dtype="float32", memory="1GiB")
        return {"file_mb": path.stat().st_size / 2**20}
    finally:
        path.unlink(missing_ok=True)


def nearest(n: int, clock: Clock) -> Found:
    bank, queries = first(n), tl.PCFG.from_treebank(tl.datasets.flights(2000)).sample(QUERIES, 12345)
    index = tl.Nearest(KERNEL, n_neighbors=10, n_jobs=2)
    begin = time.process_time()
    index.fit(bank)
    fit = time.process_time() - begin
    with clock:
        index.kneighbors(queries)
    return {"fit_s": fit, "peak_with_index_mb": status("VmHWM")}


def nystroem(n: int, clock: Clock) -> Found:
    model = tl.Nystroem(KERNEL, LANDMARKS, random_state=0)
    with clock:
        for number, (X, _) in enumerate(blocks(n)):
            if number == 0:
                model.fit(X)
            model.transform(X)
    return {}


def sketch(n: int, clock: Clock) -> Found:
    """Read, sketch, train on nine tenths, say how many of the last tenth are told right; all in one pass over the file."""
    from sklearn.linear_model import SGDClassifier

    model = tl.TreeSketch(KERNEL, COMPONENTS, random_state=0, n_jobs=2)
    machine = SGDClassifier(alpha=1e-6, random_state=0)
    right = tested = seen = 0
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
                right, tested = right + int((machine.predict(vectors) == y).sum()), tested + len(y)
            seen += len(y)
            spent["sketch_s"] += middle - begin
            spent["learn_s"] += time.process_time() - middle
    return {"accuracy": right / tested, "tested": tested, **spent}


def product(n: int, clock: Clock) -> Found:
    from treelet.matrices import operator

    bank, v = first(n), np.random.default_rng(0).normal(size=n)
    with clock:
        operator(KERNEL, bank) @ v
    return {}


class Step:
    """One row of the table: what it does, how far it is measured, and how time and memory grow beyond."""

    def __init__(
        self, says: str, work: Callable[[int, Clock], Found], most: int, time: int, memory: int, bound: str = ""
    ) -> None:
        self.says, self.work, self.most, self.time, self.memory, self.bound = says, work, most, time, memory, bound


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


def status(what: str) -> float:
    """MB, from the system's account of this process."""
    return int(re.search(rf"{what}:\s+(\d+) kB", Path("/proc/self/status").read_text())[1]) / 1024  # type: ignore[index]


class Clock:
    """The time that is spent inside."""

    def __enter__(self) -> None:
        self._begin = time.perf_counter(), time.process_time()

    def __exit__(self, *_: object) -> None:
        self.wall, self.cpu = time.perf_counter() - self._begin[0], time.process_time() - self._begin[1]


def one(name: str, n: int) -> Found:
    clock = Clock()
    found = STEPS[name].work(n, clock)
    return {"step": name, "n": n, "wall_s": clock.wall, "cpu_s": clock.cpu, "peak_mb": status("VmHWM"), **found}


def measured(name: str) -> list[Found]:
    """A step at all sizes that it is measured at, each in a process of its own."""
    rows = []
    for n in SIZES:
        if n <= STEPS[name].most:
            command = [sys.executable, "-m", "benchmarks.scale", "--one", name, str(n)]
            run = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
            rows.append(json.loads(run.stdout.splitlines()[-1]))
            print({key: round(value, 3) if isinstance(value, float) else value for key, value in rows[-1].items()}, flush=True)  # fmt: skip
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("steps", nargs="*", help="all, if none is named; also: heaps")
    parser.add_argument("--one", nargs=2, metavar=("STEP", "N"), help="measure here and now, and print JSON")
    parser.add_argument("--page", action="store_true", help="word the page again, measure nothing")
    given = parser.parse_args()
    if given.one:
        print(json.dumps(one(given.one[0], int(given.one[1]))))
        return
    from benchmarks import heaps, scale_page

    path = RESULTS / "scale.json"
    results: Found = json.loads(path.read_text()) if path.exists() else {"rows": [], "heaps": []}
    if not given.page:
        generated()
        for name in given.steps or [*STEPS, "heaps"]:
            if name == "heaps":
                results["heaps"] = heaps.fits()
                continue
            rows = measured(name)
            results["rows"] = [row for row in results["rows"] if row["step"] != name] + rows
        from treelet import gram, kernels, learn, parsing  # noqa: F401  # what the measured processes import

        results["made_by"] = writing.provenance("python -m benchmarks.scale")
    writing.write_results(RESULTS, "scale", results, scale_page.page(results))
    scale_page.picture(results, RESULTS / "scale.png")


if __name__ == "__main__":
    main()
