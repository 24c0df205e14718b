"""The page and the picture of benchmarks/approximate.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.approximate import (
    BYTES,
    CANDIDATES,
    DASK_TREES,
    ENGINE_TREES,
    FACTOR,
    INDEXES,
    LISTS,
    QUERIES,
    REAL_LISTS,
    REAL_QUERIES,
    REAL_SAMPLE,
    SAMPLE,
    SKETCHES,
    THREADS,
    TREES,
    K,
)
from experiments import writing

TEXT_BYTES = 185  # bracketed text per tree of benchmarks/scale.py
Found = dict[str, Any]


def settings(results: Found) -> list[Found]:
    """Return the measured settings of all indexes."""
    return [row for name in INDEXES for row in results[name]["rows"]]


def cpu_ms(row: Found) -> float:
    return float(row["search_cpu_ms"] + row["rerank_cpu_ms"])


def wall_ms(row: Found) -> float:
    return float(row["search_ms"] + row["rerank_ms"])


def page(results: Found) -> str:
    """Return the results as a Markdown page."""
    exact, best = results["exact"], max(settings(results), key=lambda row: row["recall"])
    loads = [exact["load"], results["dask"]["load"], *(row["load"] for row in settings(results))]
    return writing.page(
        [
            "# Approximate search among a million trees",
            writing.created(results["made_by"]),
            f"**Of the ten nearest trees, {100 * best['recall']:.0f} % are found with {best['components']} components, codes `{best['codes']}`, {best['nprobe']} of {LISTS:,} lists and {best['candidates']} candidates. "
            f"A query takes {cpu_ms(best):.0f} ms of CPU time, and an exact search {exact['cpu_ms']:.0f} ms.** The trees that are found have {100 * best['ratio']:.1f} % of the mean kernel value of the true neighbors.",
            f"Trees and queries are those of [the scaling page](scale.md): {TREES:,} generated trees and the first {QUERIES} queries, with normalized SST and λ = 0.4. "
            f"Vectors are those of `TreeSketch.unit_vectors`, in an inverted file of FAISS with {LISTS:,} lists. Candidates are read as text and ranked by exact kernel values, as in "
            "[Search ten million trees](../ten-million-trees.md).",
            "- *Codes* are how FAISS stores vectors. `SQ8` has one byte per column. `PQ…x4fs,Refine(SQ8)` scans codes of 4 bits per two columns, and compares "
            f"{FACTOR} vectors per candidate by their bytes.\n"
            "- *Recall* is the share of the ten nearest trees that is found. Trees with the same value as the tenth count as found.\n"
            "- *Value ratio* is the mean kernel value of the trees that are found, divided by that of the true neighbors.\n"
            "- *CPU time* is that of all threads. *Queries per second* follow from wall-clock time, for batches of all queries. FAISS and `Nearest` use "
            f"{THREADS} threads, and candidates are ranked in one.",
            f"Two cores were shared with other work, with a load of {min(loads):.1f} to {max(loads):.1f}. CPU times depend less on the load than wall-clock times.",
            "![recall against queries per second](approximate.png)",
            writing.table(
                ("components", "codes", "`nprobe`", "candidates", "recall@10", "value ratio", "search, CPU ms", "exact values, CPU ms", "total, CPU ms", "queries per second"),
                [
                    *(
                        (r["components"], f"`{r['codes']}`", r["nprobe"], r["candidates"], f"{r['recall']:.3f}", f"{r['ratio']:.3f}", f"{r['search_cpu_ms']:.1f}",
                         f"{r['rerank_cpu_ms']:.1f}", f"{cpu_ms(r):.1f}", f"{1e3 / wall_ms(r):.0f}")
                        for r in settings(results)
                    ),
                    ("`Nearest`", "", "", "", "1.000", "1.000", "", "", f"{exact['cpu_ms']:.1f}", f"{1e3 / exact['wall_ms']:.0f}"),
                ],
                right=range(2, 10),
            ),
            *building(results),
            *why(results),
            *other_trees(results),
            *cosine(results),
            *engines(results),
            *dask(results),
            *projection(results),
        ]
    )  # fmt: skip


def sketch_of(index: Found, results: Found) -> Found:
    return next(sketched for sketched in results["vectors"] if sketched["components"] == index["components"])


def building(results: Found) -> list[str]:
    exact, rows = results["exact"], []
    for index in map(results.__getitem__, INDEXES):
        sketched = sketch_of(index, results)
        rows.append(
            (
                f"{sketched['components']} components, `{index['codes']}`", f"{sketched['error']:.3f}", f"{sketched['cpu_s']:.0f}", f"{index['build_cpu_s']:.0f}",
                f"{sketched['wall_s'] + index['build_s']:.0f}", f"{index['bytes_per_tree']:.0f}", f"{(index['rss_mb'] - index['texts_mb']) / 1024:.1f}",
            )
        )  # fmt: skip
    rows.append(
        (
            "`Nearest`",
            "0",
            "",
            f"{exact['fit_cpu_s']:.0f}",
            f"{exact['fit_s']:.0f}",
            "",
            f"{exact['peak_mb'] / 1024:.1f}",
        )
    )
    return [
        "## Build time and memory",
        f"The sketch and the {LISTS:,} lists are fitted to {SAMPLE:,} trees, with `min_trees={SKETCHES[0][1]}`. *Expected error* is `TreeSketch.error_`. Memory of an index is the growth of the "
        "resident memory, without the texts. For `Nearest`, it is the peak of the process, which also holds the trees.",
        writing.table(
            ("index", "expected error", "sketch, CPU s", "index, CPU s", "both, s", "bytes per tree", "memory, GiB"), rows, right=range(1, 7)
        ),
    ]  # fmt: skip


def why(results: Found) -> list[str]:
    exact = results["exact"]
    errors = " and ".join(f"{sketched['error']:.3f}" for sketched in results["vectors"])
    return [
        "## Why neighbors are missed",
        f"The nearest tree has a mean value of {exact['first']:.3f}, and the tenth of {exact['tenth']:.3f}. The difference, {exact['first'] - exact['tenth']:.3f}, is only a few times the "
        f"expected error of a sketch ({errors}). Among a million trees from two small grammars, many trees are nearly as similar as the tenth neighbor, and the random error decides which of them become candidates. "
        "The value ratio shows that the trees found instead are almost as similar. More components and more candidates reduce the error, and a larger `nprobe` visits lists that a query would miss.",
    ]  # fmt: skip


def other_trees(results: Found) -> list[str]:
    real = results["real"]
    return [
        "## Real trees",
        f"The collection is {real['trees']:,} trees of newspapers, questions and biomedical articles, with {REAL_QUERIES} other trees as queries and {CANDIDATES[0]} candidates. "
        f"The sketch is fitted to {REAL_SAMPLE:,} of the trees. A query visits {REAL_LISTS // 8} of {REAL_LISTS} lists. The mean values of the first and the tenth neighbor are {real['first']:.3f} and {real['tenth']:.3f}.",
        writing.table(
            ("components", "`min_trees`", "vectors", "recall@10", "value ratio"),
            [(f"{r['components']:,}", r["min_trees"], r["method"], f"{r['recall']:.3f}", f"{r['ratio']:.3f}") for r in real["rows"]],
            right=(0, 1, 3, 4),
        ),
        "Neither `unit_vectors` nor the inner product of plain vectors is better for both values of `min_trees`. Both find more than the cosine of plain vectors. "
        "With plain vectors, `min_trees=20` hardly changes the recall, and lowers the value ratio: some of the most similar trees are missed.",
    ]  # fmt: skip


def cosine(results: Found) -> list[str]:
    return [
        "## Vectors for cosine",
        "The table compares the values of all pairs of 1,000 Wall Street Journal trees with the exact normalized kernel. Vectors are float32, with `min_trees=2` unless stated otherwise. "
        "*Cosine* divides each vector by its length, as vector databases do. Components are all columns, but `unit_vectors` has two more.",
        writing.table(
            ("kernel", "components", "vectors", "bias", "RMSE", "correlation"),
            [(r["kernel"], f"{r['components']:,}", r["method"], f"{r['bias']:+.4f}", f"{r['rmse']:.4f}", f"{r['correlation']:.4f}") for r in results["cosine"]],
            right=(1, 3, 4, 5),
        ),
    ]  # fmt: skip


def engines(results: Found) -> list[str]:
    return [
        "## Engines",
        f"Each engine stores the same {ENGINE_TREES:,} vectors with {SKETCHES[0][0]} components. *Recall* is the share of the {CANDIDATES[0]} vectors with the largest inner products, without exact kernel values. "
        "Graphs (HNSW) are built with 16 links per vector and a search width of 100.",
        writing.table(
            ("engine", "setting", "build, CPU s", "query, CPU ms", "recall@100", "bytes per tree"),
            [
                (r["engine"], r["setting"], f"{r['build_cpu_s']:.1f}", f"{r['cpu_ms']:.2f}", f"{r['recall']:.3f}", f"{r['bytes_per_tree']:.0f}")
                for r in results["engines"]
            ],
            right=range(2, 6),
        ),
    ]  # fmt: skip


def dask(results: Found) -> list[str]:
    found = results["dask"]
    same = "The results are equal to the bit." if found["equal"] else "The results differ."
    return [
        "## Exact search with Dask",
        f"A call of `nearest` with {QUERIES} queries among {DASK_TREES:,} trees takes {found['threads_s']:.1f} s with {THREADS} threads and {found['workers_s']:.1f} s with {THREADS} "
        f"worker processes of a local cluster (wall-clock time, including the index; the same two cores). {same} Both grow in proportion to the number of trees.",
    ]  # fmt: skip


def projection(results: Found) -> list[str]:
    """Extrapolate to more trees; the sentences state each assumption."""
    row = max((r for r in settings(results) if r["codes"] != BYTES), key=lambda r: r["recall"])
    index = next(results[name] for name in INDEXES if row in results[name]["rows"])
    sketched = sketch_of(index, results)
    exact, rows = results["exact"], []
    for n in (10, 100):
        root = n**0.5
        rows.append(
            (
                f"{n} million", f"{n * sketched['cpu_s'] / 3600:.1f}", f"{n * root * index['build_cpu_s'] / 3600:.1f}", f"{n * TREES * index['bytes_per_tree'] / 1e9:.0f}",
                f"{n * TREES * TEXT_BYTES / 1e9:.1f}", f"{root * row['search_cpu_ms'] + row['rerank_cpu_ms']:.0f}", f"{n * exact['cpu_ms'] / 1e3:.1f}", f"{n * exact['peak_mb'] / 1024:.0f}",
            )
        )  # fmt: skip
    return [
        "## Projection to 10 and 100 million trees",
        f"These figures are extrapolated, not measured. They assume {row['components']} components, codes `{row['codes']}`, {row['nprobe']} visited lists and {row['candidates']} candidates. The number of lists grows with the root of "
        "the number of trees n, and so does the length of a list, so the search in the index takes √n times as long and building the index n√n times. Sketching, exact search and memory grow with n. "
        "The recall decreases as n grows with the other settings unchanged, because more trees are nearly as similar as the tenth neighbor. By how much was not measured.",
        writing.table(
            ("trees", "sketch, CPU h", "index, CPU h", "index, GB", "text on disk, GB", "query, CPU ms", "exact query, CPU s", "memory of `Nearest`, GiB"), rows, right=range(1, 8)
        ),
        "The index of 100 million trees exceeds the memory of most machines. FAISS can divide it among machines or compress vectors further (`PQ`), which was not measured.",
    ]  # fmt: skip


def picture(results: Found, path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.5))
    for color, name in zip(("tab:blue", "tab:orange"), INDEXES, strict=True):
        for style, candidates in zip(("o-", "s--"), CANDIDATES, strict=True):
            rows = [r for r in results[name]["rows"] if r["candidates"] == candidates]
            label = f"{rows[0]['components']} components, {rows[0]['codes']}, {candidates} candidates"
            axes.plot([r["recall"] for r in rows], [1e3 / cpu_ms(r) for r in rows], style, color=color, label=label)
    axes.plot([1], [1e3 / results["exact"]["cpu_ms"]], "k*", markersize=12, label="Nearest, exact")
    axes.set(
        xlabel=f"recall@{K}", ylabel="queries per CPU second", yscale="log", title="A million trees, normalized SST"
    )
    axes.grid(alpha=0.3, which="both")
    axes.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
