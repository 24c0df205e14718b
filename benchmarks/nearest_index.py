"""An index of a million trees on disk: building, opening, appending, removing, and memory of several readers.

Run with ``python -m benchmarks.nearest_index``. Needs about 6 GB of memory and 8 GB of disk space. Writes
docs/results/nearest-index.md and .json. The trees are those of `benchmarks.scale`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import numpy as np

import treelet as tl
from benchmarks.common import Results
from benchmarks.scale import first
from experiments import writing

KERNEL = tl.SubsetTree(lam=0.4).normalized()
APPENDS, APPENDED, REMOVED, READERS, QUERIES = 100, 1_000, 0.1, 4, 20


def seconds(work: Callable[[], Any]) -> tuple[Any, Results]:
    """Return the result of a function, and its wall-clock and CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}


def rss(pid: int | str = "self") -> Results:
    """Return the memory of a process in MB: resident, proportional (shared pages divided by their users), and private."""
    sums = {"Rss": 0, "Pss": 0, "Private_Clean": 0, "Private_Dirty": 0}
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines()[1:]:
        name, value, *_ = line.split()
        if name.rstrip(":") in sums:
            sums[name.rstrip(":")] = int(value) / 1024
    return {
        "resident": sums["Rss"],
        "proportional": sums["Pss"],
        "private": sums["Private_Clean"] + sums["Private_Dirty"],
    }


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def further(count: int) -> tl.Treebank:
    """Return trees of the same grammars as those of `first`, from other seeds."""
    bank, half = tl.datasets.flights(2000), -(-count // 2)
    grammars = (tl.PCFG.from_treebank(bank, parent=True), tl.PCFG.from_treebank(bank))
    drawn = [grammar.sample(half, 1_000_000) for grammar in grammars]
    return tl.Treebank.concat(drawn)[np.arange(2 * half).reshape(2, -1).T.ravel()[:count]]


def query_times(search: tl.Nearest, queries: tl.Treebank) -> Results:
    """Return the seconds per query, one by one and together."""
    search.kneighbors(queries[:1], 10)
    alone = [seconds(lambda n=n: search.kneighbors(queries[n : n + 1], 10))[1]["cpu"] for n in range(len(queries))]
    together = seconds(lambda: search.kneighbors(queries, 10))[1]["cpu"] / len(queries)
    return {"single": statistics.median(alone), "together": together}


def measured(n: int, folder: Path) -> Results:
    """Build, open and change an index of n trees."""
    old, more = first(n).compact(), further(APPENDS * APPENDED + QUERIES)
    queries, later = more[len(more) - QUERIES :].compact(), more[: len(more) - QUERIES]
    trees = tl.Treebank.concat([old, later])
    names = [f"trees.tsv:{number}" for number in range(len(trees))]
    found: Results = {"trees": len(old), "appends": APPENDS, "appended": APPENDED}
    search, found["fit"] = seconds(lambda: tl.Nearest(KERNEL).fit(old, ids=names[: len(old)]))
    found["fresh"] = query_times(search, queries)
    _, found["save"] = seconds(lambda: tl.save(search, folder))
    found["bytes"] = size(folder)
    del search
    found["open"] = [seconds(lambda: tl.load(folder, mode="r"))[1] for _ in range(5)]
    reader = tl.load(folder, mode="r")
    found["mapped"] = query_times(reader, queries)
    found["readers"] = readers(folder)
    del reader
    with tl.load(folder, mode="a") as search:
        appends = []
        for number in range(APPENDS):
            begin = number * APPENDED
            some = later[begin : begin + APPENDED].compact()
            ids = names[len(old) + begin : len(old) + begin + APPENDED]
            before, files = _written(), len(list(folder.iterdir()))
            _, spent = seconds(lambda some=some, ids=ids: search.partial_fit(some, ids=ids))
            appends.append({**spent, "bytes": _written() - before, "merged": len(list(folder.iterdir())) < files + 2})
        found["append"] = appends
        found["parts"] = len(search._collection.parts)
        found["grown"] = query_times(search, queries)
        ids = search.ids_
        gone = np.random.default_rng(0).choice(len(ids), int(REMOVED * len(ids)), replace=False)
        before = _written()
        _, found["remove"] = seconds(lambda: search.remove(ids[np.sort(gone)].tolist()))
        found["remove"]["bytes"] = _written() - before
        found["shrunk"] = query_times(search, queries)
        kept = np.delete(np.arange(len(ids)), gone)
        wanted = search.kneighbors(queries, 10)
        search.close()
        del search
    again = trees[: len(ids)][kept].compact()
    fresh = tl.Nearest(KERNEL).fit(again, ids=ids[kept].tolist())
    found["fresh again"] = query_times(fresh, queries)
    found["equal"] = all(
        np.array_equal(ours, theirs) for ours, theirs in zip(wanted, fresh.kneighbors(queries, 10), strict=True)
    )
    del fresh, again
    with tl.load(folder, mode="a") as search:
        _, found["compact"] = seconds(search.compact)
        found["compacted"] = query_times(search, queries)
    return found


def _written() -> int:
    """Return the bytes that this process has passed to write calls."""
    lines = Path("/proc/self/io").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("wchar"))


def readers(folder: Path) -> Results:
    """Start several processes that query the same index, and measure their memory while all are alive."""
    words = [sys.executable, "-m", "benchmarks.nearest_index", "--reader", str(folder)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "cwd": writing.ROOT}
    children: list[Any] = [subprocess.Popen(words, **pipes) for _ in range(READERS)]
    try:
        opened = [json.loads(child.stdout.readline()) for child in children]
        memory = [rss(child.pid) for child in children]
    finally:
        for child in children:
            child.communicate("")
    total = {name: sum(one[name] for one in memory) for name in memory[0]}
    return {"processes": READERS, "opened": opened, "memory": memory, "total": total}


def reader(folder: Path) -> None:
    """Open an index, query it, and wait."""
    tl.Nearest()  # imports scikit-learn before the time is taken
    search, spent = seconds(lambda: tl.load(folder, mode="r"))
    queries = first(1000)[:50].compact()
    before = rss()
    _, query_time = seconds(lambda: search.kneighbors(queries, 10))
    print(json.dumps({"open": spent, "queries": query_time, "before": before}), flush=True)
    sys.stdin.read()


def page(results: Results) -> str:
    """Return the results as a Markdown page."""

    def over_appends(size: Results, key: str, statistic: Callable[[Any], float]) -> float:
        return statistic([append[key] for append in size["append"]])

    return writing.render(
        "nearest_index",
        results,
        created=writing.created(results["made_by"]),
        queries=QUERIES,
        readers=READERS,
        over_appends=over_appends,
        mean=statistics.mean,
        median=statistics.median,
        largest=max,
    )


def main() -> None:
    """Measure all sizes, or only write the page again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[20_000, 1_000_000])
    parser.add_argument("--folder", default=gettempdir(), help="where to write the index")
    parser.add_argument("--reader", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.reader is not None:
        reader(options.reader)
        return
    sizes = []
    for n in options.sizes:
        folder = Path(options.folder) / f"treelet-index-{os.getpid()}.treelet"
        try:
            sizes.append(measured(n, folder))
            print(json.dumps(sizes[-1]), flush=True)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    results = {"made_by": writing.provenance("python -m benchmarks.nearest_index"), "sizes": sizes}
    writing.write_results(writing.RESULTS, "nearest-index", results, page(results))


if __name__ == "__main__":
    main()
