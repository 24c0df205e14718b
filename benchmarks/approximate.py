"""Approximate search among a million trees: sketches in FAISS, with exact kernel values of the candidates.

    python -m benchmarks.approximate               # all parts
    python -m benchmarks.approximate million real  # repeat some parts; the results of the others are kept

Each part runs in a separate process. The trees are those of benchmarks/scale.py. Needs treelet[search], and usearch for the
comparison of engines. Writes docs/results/approximate.md, .json and .png.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.update(OMP_NUM_THREADS="2", OPENBLAS_NUM_THREADS="2")

import numpy as np

import treelet as tl
from benchmarks.common import Results, Timer, memory_mb
from benchmarks.scale import KERNEL, blocks, first, generated
from experiments import writing

THREADS = 2
TREES, SAMPLE, QUERIES, K = 1_000_000, 100_000, 500, 10
LISTS = 1024
SKETCHES = ((256, 20), (512, 20))  # components, min_trees
CANDIDATES = (100, 300)
BYTES, FAST = (
    "SQ8",
    "PQ{}x4fs,Refine(SQ8)",
)  # one byte per column; codes of 4 bits per two columns, then the bytes of the best
FACTOR = 10  # vectors per candidate that are compared by their bytes
INDEXES = {
    "million-256": (256, BYTES, (4, 16, 64)),
    "million-512-fast": (512, FAST, (64, 256)),
}  # components, codes, numbers of visited lists
ENGINE_TREES, DASK_TREES = 100_000, 100_000
REAL_SAMPLE, REAL_QUERIES, REAL_LISTS = 20_000, 200, 256
ROUNDING = 1e-9


def cache(name: str) -> Path:
    folder = generated().with_name("treelet-approximate")
    folder.mkdir(exist_ok=True)
    return folder / name


def drawn_queries() -> tl.Treebank:
    """Return the first queries of benchmarks/scale.py."""
    return tl.PCFG.from_treebank(tl.datasets.flights(2000)).sample(1000, 12345)[:QUERIES]


# --- vectors for cosine -------------------------------------------------------------------------------------------


def cosine() -> list[Results]:
    from benchmarks.sketch import KERNELS, sample

    bank, rows = sample(), []
    apart = np.triu_indices(len(bank), 1)
    for name, kernel in KERNELS.items():
        exact = kernel(bank)[apart]
        for size in (256, 1024, 4096):
            for method, gram in gram_matrices(kernel, bank, size):
                error = gram[apart] - exact
                rows.append(
                    {
                        "kernel": name, "components": size, "method": method, "bias": float(error.mean()),
                        "rmse": float(np.sqrt(np.mean(error**2))), "correlation": float(np.corrcoef(gram[apart], exact)[0, 1]),
                    }
                )  # fmt: skip
    return rows


def gram_matrices(kernel: Any, bank: tl.Treebank, size: int) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the matrices of values between trees by several methods, all from float32 vectors."""

    def unit(vectors: np.ndarray) -> np.ndarray:
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)

    sketch = tl.TreeSketch(kernel, size, min_trees=2, random_state=0).fit(bank)
    plain = sketch.transform(bank)
    yield "`transform`, inner product", plain @ plain.T
    yield "`transform`, cosine", unit(plain) @ unit(plain).T
    stored, queries = unit(sketch.unit_vectors(bank)), unit(sketch.unit_vectors(bank, queries=True))
    yield "`unit_vectors`, cosine", queries @ stored.T
    everything = unit(tl.TreeSketch(kernel, size, min_trees=1, random_state=0).fit(bank).transform(bank))
    yield "`transform` with `min_trees=1`, cosine", everything @ everything.T
    smaller = tl.TreeSketch(kernel, size - size // 4, min_trees=2, random_state=0).fit(bank).unit_vectors(bank)
    direction = unit(np.random.default_rng(0).normal(size=(len(bank), size // 4))).astype(np.float32)
    hashed = unit(np.hstack([smaller[:, :-2], smaller[:, -2:-1] * direction]))
    yield "random direction per tree in a quarter of the columns, cosine", hashed @ hashed.T


# --- a million trees ----------------------------------------------------------------------------------------------


def exact() -> Results:
    bank, queries = first(TREES), drawn_queries()
    search = tl.Nearest(KERNEL, n_neighbors=K, n_jobs=THREADS)
    with Timer() as fit:
        search.fit(bank)
    with Timer() as query:
        values, indices = search.kneighbors(queries)
    np.savez(cache("exact.npz"), values=values, indices=indices)
    return {
        "fit_s": fit.wall, "fit_cpu_s": fit.cpu, "wall_ms": 1e3 * query.wall / QUERIES, "cpu_ms": 1e3 * query.cpu / QUERIES,
        "peak_mb": memory_mb(), "first": float(values[:, 0].mean()), "tenth": float(values[:, -1].mean()),
        "load": os.getloadavg()[0],
    }  # fmt: skip


def vectors() -> list[Results]:
    """Sketch the trees into files, in float16, for all indexes of this benchmark."""
    sample, rows = first(SAMPLE), []
    for size, min_trees in SKETCHES:
        sketch = tl.TreeSketch(KERNEL, size, min_trees=min_trees, random_state=0, n_jobs=THREADS)
        with Timer() as fit:
            sketch.fit(sample)
        np.save(cache(f"queries-{size}.npy"), sketch.unit_vectors(drawn_queries(), queries=True))
        stored = np.lib.format.open_memmap(cache(f"stored-{size}.npy"), "w+", np.float16, (TREES, size + 2))
        wall, cpu, begin = fit.wall, fit.cpu, 0
        for X, _ in blocks(TREES):
            with Timer() as transform:
                block = sketch.unit_vectors(X)
            wall, cpu = wall + transform.wall, cpu + transform.cpu
            stored[begin : begin + len(block)] = block
            begin += len(block)
        rows.append({"components": size, "min_trees": min_trees, "error": sketch.error_, "wall_s": wall, "cpu_s": cpu})
    return rows


def codes_of(form: str, size: int) -> str:
    return form.format((size + 2) // 2)


def million(size: int, form: str, probes_of: tuple[int, ...]) -> Results:
    """Build an index from the vectors in a file, search, and compute exact values of the candidates."""
    import faiss

    stored, query_vectors = np.load(cache(f"stored-{size}.npy"), mmap_mode="r"), np.load(cache(f"queries-{size}.npy"))
    true = np.load(cache("exact.npz"))
    texts = [line.partition("\t")[2] for line in generated().read_text(encoding="utf-8").splitlines()]
    queries = drawn_queries().strings()
    before = memory_mb("RssAnon")
    index = faiss.index_factory(stored.shape[1], f"IVF{LISTS},{codes_of(form, size)}", faiss.METRIC_INNER_PRODUCT)
    with Timer() as build:
        index.train(np.ascontiguousarray(stored[:: TREES // SAMPLE], dtype=np.float32))
        for begin in range(0, TREES, 50_000):
            index.add(stored[begin : begin + 50_000].astype(np.float32))
    size_on_disk = len(faiss.serialize_index(index)) / TREES
    rows = []
    if form == FAST:
        index.k_factor = FACTOR
    for probes in probes_of:
        faiss.extract_index_ivf(index).nprobe = probes
        for candidates in CANDIDATES:
            with Timer() as look_up:
                _, numbers = index.search(query_vectors, candidates)
            with Timer() as ranking:
                found = [reranked(KERNEL, texts, query, row) for query, row in zip(queries, numbers, strict=True)]
            rows.append(
                {
                    "components": size, "codes": codes_of(form, size), "nprobe": probes, "candidates": candidates, **quality(found, true["values"]),
                    "search_cpu_ms": 1e3 * look_up.cpu / QUERIES, "search_ms": 1e3 * look_up.wall / QUERIES,
                    "rerank_cpu_ms": 1e3 * ranking.cpu / QUERIES, "rerank_ms": 1e3 * ranking.wall / QUERIES,
                    "load": os.getloadavg()[0],
                }
            )  # fmt: skip
            print(rows[-1], file=sys.stderr, flush=True)
    return {
        "components": size, "codes": codes_of(form, size), "build_s": build.wall, "build_cpu_s": build.cpu, "bytes_per_tree": size_on_disk, "texts_mb": before,
        "rss_mb": memory_mb("RssAnon"), "rows": rows,
    }  # fmt: skip


def reranked(kernel: Any, texts: list[str], query: str, candidates: np.ndarray) -> np.ndarray:
    """Return the K largest kernel values of a query with its candidates."""
    there = candidates[candidates >= 0]
    if len(there) == 0:
        return np.zeros(0)
    values, _ = tl.nearest(kernel, [texts[i] for i in there], [query], min(K, len(there)))
    return values[0]


def quality(found: list[np.ndarray], true: np.ndarray) -> Results:
    """Return the recall, where a tree as similar as the last true neighbor counts, and the ratio of mean kernel values."""
    right = [(values >= row[-1] - ROUNDING).sum() / K for values, row in zip(found, true, strict=True)]
    return {"recall": float(np.mean(right)), "ratio": float(sum(values.sum() for values in found) / true.sum())}


# --- engines ------------------------------------------------------------------------------------------------------


def engines() -> list[Results]:
    """Compare engines on the same vectors: recall is that of the candidates with the largest inner products."""
    import faiss
    from usearch.index import Index

    size, count = SKETCHES[0][0], CANDIDATES[0]
    stored = np.load(cache(f"stored-{size}.npy"), mmap_mode="r")[:ENGINE_TREES].astype(np.float32)
    query_vectors = np.load(cache(f"queries-{size}.npy"))
    best = np.argsort(-(query_vectors @ stored.T), axis=1)[:, :count]
    rows: list[Results] = []

    def measure(name: str, build: Callable[[], Any], settings: list[tuple[str, Callable[[], Any]]], length: Callable[[], int]) -> None:  # fmt: skip
        with Timer() as building:
            build()
        for setting, search in settings:
            with Timer() as searching:
                numbers = search()
            recall = np.mean([np.isin(row, found).mean() for row, found in zip(best, numbers, strict=True)])
            rows.append(
                {
                    "engine": name, "setting": setting, "build_cpu_s": building.cpu, "build_s": building.wall,
                    "cpu_ms": 1e3 * searching.cpu / QUERIES, "recall": float(recall), "bytes_per_tree": length() / ENGINE_TREES,
                }
            )  # fmt: skip
            print(rows[-1], file=sys.stderr, flush=True)

    def ivf(probes: int) -> Any:
        index.nprobe = probes
        return index.search(query_vectors, count)[1]

    def fast_scan(probes: int) -> Any:
        faiss.extract_index_ivf(fast).nprobe, fast.k_factor = probes, FACTOR
        return fast.search(query_vectors, count)[1]

    def hnsw(expansion: int) -> Any:
        graph.hnsw.efSearch = expansion
        return graph.search(query_vectors, count)[1]

    def other(expansion: int) -> Any:
        third.expansion_search = expansion
        return np.asarray(third.search(query_vectors, count, threads=THREADS).keys, dtype=np.int64)

    index = faiss.index_factory(size + 2, "IVF256,SQ8", faiss.METRIC_INNER_PRODUCT)
    measure("FAISS, IVF256,SQ8", lambda: (index.train(stored), index.add(stored)),
            [(f"nprobe {n}", lambda n=n: ivf(n)) for n in (8, 32, 128)], lambda: len(faiss.serialize_index(index)))  # fmt: skip
    fast = faiss.index_factory(size + 2, f"IVF256,{codes_of(FAST, size)}", faiss.METRIC_INNER_PRODUCT)
    measure(f"FAISS, IVF256,{codes_of(FAST, size)}", lambda: (fast.train(stored), fast.add(stored)),
            [(f"nprobe {n}", lambda n=n: fast_scan(n)) for n in (8, 32, 128)], lambda: len(faiss.serialize_index(fast)))  # fmt: skip
    graph = faiss.index_factory(size + 2, "HNSW16,SQ8", faiss.METRIC_INNER_PRODUCT)
    graph.hnsw.efConstruction = 100
    measure("FAISS, HNSW16,SQ8", lambda: (graph.train(stored), graph.add(stored)),
            [(f"efSearch {n}", lambda n=n: hnsw(n)) for n in (100, 200, 400)], lambda: len(faiss.serialize_index(graph)))  # fmt: skip
    third = Index(ndim=size + 2, metric="cos", dtype="i8", connectivity=16, expansion_add=100)
    measure("usearch, HNSW, i8", lambda: third.add(np.arange(ENGINE_TREES), stored, threads=THREADS),
            [(f"expansion_search {n}", lambda n=n: other(n)) for n in (100, 200, 400)], lambda: third.serialized_length)  # fmt: skip
    return rows


# --- real trees, and exact search with Dask -----------------------------------------------------------------------


def real() -> Results:
    import faiss

    from benchmarks.common import staged

    trees = staged()
    order = np.random.default_rng(0).permutation(len(trees))
    queries, bank = trees[order[:REAL_QUERIES]].compact(), trees[np.sort(order[REAL_QUERIES:])].compact()
    texts, query_texts = bank.strings(), queries.strings()
    true, _ = tl.nearest(KERNEL, bank, queries, K, n_jobs=THREADS)
    sample = bank[np.sort(np.random.default_rng(1).permutation(len(bank))[:REAL_SAMPLE])].compact()
    rows = []
    for size in (512,):
        for min_trees in (2, 20):
            sketch = tl.TreeSketch(KERNEL, size, min_trees=min_trees, random_state=0, n_jobs=THREADS).fit(sample)
            plain = sketch.transform(bank)
            for method, stored, wanted in (
                ("`unit_vectors`", sketch.unit_vectors(bank), sketch.unit_vectors(queries, queries=True)),
                ("`transform`, inner product", plain, sketch.transform(queries)),
                ("`transform`, cosine", plain / np.maximum(np.linalg.norm(plain, axis=1, keepdims=True), 1e-12), sketch.transform(queries)),
            ):  # fmt: skip
                index = faiss.index_factory(stored.shape[1], f"IVF{REAL_LISTS},SQ8", faiss.METRIC_INNER_PRODUCT)
                index.train(stored)
                index.add(stored)
                index.nprobe = REAL_LISTS // 8
                _, numbers = index.search(wanted, CANDIDATES[0])
                found = [reranked(KERNEL, texts, query, row) for query, row in zip(query_texts, numbers, strict=True)]
                rows.append({"components": size, "min_trees": min_trees, "method": method, **quality(found, true)})
                print(rows[-1], file=sys.stderr, flush=True)
    return {"trees": len(bank), "first": float(true[:, 0].mean()), "tenth": float(true[:, -1].mean()), "rows": rows}


def dask() -> Results:
    from distributed import Client, LocalCluster

    bank, queries = first(DASK_TREES), drawn_queries()
    with LocalCluster(n_workers=THREADS, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster) as client:  # fmt: skip
        tl.nearest(KERNEL, bank[:100], queries[:2], K, client=client)  # makes the workers import treelet
        with Timer() as threads:
            expected = tl.nearest(KERNEL, bank, queries, K, n_jobs=THREADS)
        with Timer() as workers:
            found = tl.nearest(KERNEL, bank, queries, K, client=client)
    same = all(np.array_equal(a, b) for a, b in zip(expected, found, strict=True))
    return {"trees": DASK_TREES, "threads_s": threads.wall, "workers_s": workers.wall, "equal": same, "load": os.getloadavg()[0]}  # fmt: skip


# --- measuring ----------------------------------------------------------------------------------------------------

PARTS: dict[str, Callable[[], Any]] = {
    "cosine": cosine,
    "exact": exact,
    "vectors": vectors,
    **{name: (lambda setting=setting: million(*setting)) for name, setting in INDEXES.items()},
    "engines": engines,
    "real": real,
    "dask": dask,
}


# --- Page -----------------------------------------------------------------------------------------------------------

TEXT_BYTES = 185  # bracketed text per tree of benchmarks/scale.py


def page(results: Results) -> str:
    """Return the results as a Markdown page."""
    exact, indexes = results["exact"], [results[name] for name in INDEXES]
    rows = [row | {"cpu_ms": cpu_ms(row), "wall_ms": row["search_ms"] + row["rerank_ms"]} for index in indexes for row in index["rows"]]  # fmt: skip
    sketches = {sketch["components"]: sketch for sketch in results["vectors"]}
    loads = [exact["load"], results["dask"]["load"], *(row["load"] for row in rows)]
    # The projection assumes the index with compressed codes and the highest recall.
    projected = max((row for row in rows if row["codes"] != BYTES), key=lambda row: row["recall"])
    index = next(index for index in indexes if projected["components"] == index["components"])
    projection = [
        {
            "millions": n,
            "sketch_h": n * sketches[index["components"]]["cpu_s"] / 3600,
            "index_h": n**1.5 * index["build_cpu_s"] / 3600,
            "index_gb": n * TREES * index["bytes_per_tree"] / 1e9,
            "text_gb": n * TREES * TEXT_BYTES / 1e9,
            "query_ms": n**0.5 * projected["search_cpu_ms"] + projected["rerank_cpu_ms"],
            "exact_s": n * exact["cpu_ms"] / 1e3,
            "exact_gib": n * exact["peak_mb"] / 1024,
        }
        for n in (10, 100)
    ]
    return writing.render(
        "approximate",
        results,
        created=writing.created(results["made_by"]),
        rows=rows,
        best=max(rows, key=lambda row: row["recall"]),
        indexes=[(index, sketches[index["components"]]) for index in indexes],
        loads=loads,
        projected=projected,
        projection=projection,
        trees=TREES,
        sample=SAMPLE,
        queries=QUERIES,
        lists=LISTS,
        sketch=SKETCHES[0],
        candidates=CANDIDATES[0],
        factor=FACTOR,
        threads=THREADS,
        engine_trees=ENGINE_TREES,
        dask_trees=DASK_TREES,
        real_sample=REAL_SAMPLE,
        real_queries=REAL_QUERIES,
        real_lists=REAL_LISTS,
    )


def cpu_ms(row: Results) -> float:
    return float(row["search_cpu_ms"] + row["rerank_cpu_ms"])


def picture(results: Results, path: Path) -> None:
    with writing.saved_figure(path, figsize=(7, 4.5)) as (_, axes):
        for color, name in zip(("tab:blue", "tab:orange"), INDEXES, strict=True):
            for style, candidates in zip(("o-", "s--"), CANDIDATES, strict=True):
                rows = [row for row in results[name]["rows"] if row["candidates"] == candidates]
                label = f"{rows[0]['components']} components, {rows[0]['codes']}, {candidates} candidates"
                recall, rate = [row["recall"] for row in rows], [1e3 / cpu_ms(row) for row in rows]
                axes.plot(recall, rate, style, color=color, label=label)
        axes.plot([1], [1e3 / results["exact"]["cpu_ms"]], "k*", markersize=12, label="Nearest, exact")
        axes.set(
            xlabel=f"recall@{K}", ylabel="queries per CPU second", yscale="log", title="A million trees, normalized SST"
        )
        axes.grid(alpha=0.3, which="both")
        axes.legend(fontsize=7)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"all, if none is named: {', '.join(PARTS)}")
    parser.add_argument("--one", choices=PARTS, help="measure one part in this process, and print JSON")
    parser.add_argument("--page", action="store_true", help="write the page again, measure nothing")
    given = parser.parse_args()
    if given.one:
        print(json.dumps(PARTS[given.one]()))
        return
    path = writing.RESULTS / "approximate.json"
    results: Results = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if not given.page:
        for name in given.parts or PARTS:
            command = [sys.executable, "-m", "benchmarks.approximate", "--one", name]
            run = subprocess.run(command, cwd=writing.ROOT, check=True, stdout=subprocess.PIPE, text=True)
            results[name] = json.loads(run.stdout.splitlines()[-1])
            from treelet import gram, kernels, learn, parsing  # noqa: F401  # what the measured processes import

            results["made_by"] = writing.provenance("python -m benchmarks.approximate")
            # A part that fails later must not lose this one.
            writing.write_results(writing.RESULTS, "approximate", results, "")
    writing.write_results(writing.RESULTS, "approximate", results, page(results))
    picture(results, writing.RESULTS / "approximate.png")


if __name__ == "__main__":
    main()
