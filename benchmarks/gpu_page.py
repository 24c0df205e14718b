"""The pages of `benchmarks.gpu`: docs/results/gpu.md and gpu-check.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from experiments import writing

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results"
Found = dict[str, Any]


def milliseconds(seconds: float) -> str:
    return f"{1e3 * seconds:.1f} ms" if seconds < 0.1 else f"{seconds:.2f} s"


def machine(about: Found) -> str:
    gib = about["memory"] / 2**30
    return f"{about['device']} with {gib:.0f} GiB, {about['cores']} CPU cores, CuPy {about['cupy']}, {about['date']}"


def matrices(rows: list[Found]) -> str:
    cores = "cores_s" in rows[0]
    heads = [
        "kernel",
        "trees",
        "result",
        "preparation",
        "device",
        "copy",
        "total, to NumPy",
        "s per billion pairs",
        "largest difference",
    ]
    if "one_core_s" in rows[0]:
        heads += ["one CPU core", "speed-up"]
    if cores:
        heads += ["all CPU cores"]
    lines = []
    for row in rows:
        line = [
            row["kernel"],
            f"{row['trees']:,}",
            row["dtype"],
            *(milliseconds(row[key]) for key in ("prepare_s", "device_s", "copy_s", "whole_s")),
        ]
        line += [f"{row['device_s'] / row['pairs_billion']:.3f}", f"{row['error']:.0e}"]
        if "one_core_s" in row:
            line += [milliseconds(row["one_core_s"]), f"{row['one_core_s'] / row['whole_s']:.1f}"]
        if cores:
            line += [milliseconds(row["cores_s"])]
        lines.append(tuple(line))
    return writing.table(tuple(heads), lines, right=range(3, len(heads)))  # fmt: skip


def times(results: Found, made: Found) -> str:
    found, ceilings = results, results["ceilings"]
    search = found["million"][0]
    parts = [
        "# Kernel matrices on a GPU",
        f"Created with `{made['command']}` at commit `{made['commit']}`. Machine: {machine(found['about'])}. Times are the best of five runs after a warm-up run. The columns of the tables are:",
        "- *preparation*: the time to prepare the trees on the device, from a Treebank whose counts are cached. Self-values of normalized kernels are computed on the CPU.\n"
        "- *device*: the time to fill the whole matrix on the device, including the mirrored half, from prepared trees.\n"
        "- *copy*: the time to copy the matrix to a NumPy array.\n"
        "- *total*: one call of `gram(..., device=\"cuda\", out=array)`, from a Treebank without cached values, into a newly allocated array.\n"
        "- *largest difference*: the largest relative difference from CPU values, in 13 rows.\n"
        "- *speed-up*: the time of one CPU core of the same machine, divided by *total*.",
        f"The device copies {ceilings['copy_tb_s']:.2f} TB/s within its memory (reading and writing), and {ceilings['to_host_gb_s']:.0f} GB/s to allocated memory of the host.",
        *found.get("notes", []),
        "## All pairs of 3,914 trees of the Wall Street Journal",
        matrices(found["trees"]),
        "## All pairs of 57,268 trees of all corpora",
        matrices([*found["all"], *found.get("partial", [])]),
        "## Time by number of trees",
        "Trees are drawn from all corpora.",
        matrices(found["sizes"]),
        "## Other structures",
        "The table has the sentences of the Wall Street Journal as tag sequences, and as sequences of words plus sequences of tags. It also has packed forests of generated sentences.",
        matrices(found["others"]),
        "## Nearest neighbors among a million trees",
        f"The search returns ten neighbors of each of {search['queries']:,} trees among {search['trees']:,}, by normalized subset trees. All trees are drawn from a grammar of questions about flights. The search takes "
        f"{search['search_s']:.2f} s, after {search['prepare_s']:.1f} s of preparation. For comparison, {search['sample']} of the queries take {search['cpu_s_of_sample']:.1f} s on all CPU cores, including the index. "
        f"The neighbors are {'the same' if search['same_numbers'] else 'NOT the same'}, and values differ by at most {search['values_apart']:.0e}.",
        "## Memory limits",
        "The table shows the peak of the memory pool and the time of one call with `device_memory=`, for the 3,914 trees and a NumPy array.",
        writing.table(
            ("limit", "peak", "time", "largest difference"),
            [
                ("none" if row["budget"] is None else f"{row['budget'] >> 20} MiB", f"{row['taken'] / 2**20:.0f} MiB", milliseconds(row["seconds"]), f"{row['error']:.0e}")
                for row in found["memory"]
            ],
            right=range(4),
        ),
    ]  # fmt: skip
    if "scoring" in found:
        parts += ["## Models and matrix products", scores(found["scoring"])]
    if "bounds" in found:
        parts += ["## Limiting factors", *found["bounds"]]
    return writing.page(parts)


def scores(rows: list[Found]) -> str:
    models, product = rows[:-1], rows[-1]
    table = writing.table(
        ("model", "trees", "outputs", "device, from a Treebank", "one CPU core", "largest difference"),
        [(f"questions, {row['kernel']}", f"{row['trees']:,}", row["outputs"], milliseconds(row["device_s"]), milliseconds(row["one_core_s"]), f"{row['error']:.0e}") for row in models],
        right=range(1, 6),
    )  # fmt: skip
    return (
        f"Models trained on 5,452 questions with normalized kernels score trees of all corpora.\n\n{table}\n\n"
        f'`operator(kernel, X, device="cuda") @ V`, for {product["trees"]:,} trees, four vectors and normalized subset trees, takes {product["first_s"]:.1f} s the first time. This includes self-values and '
        f"the matrix, which then stays on the device. Each further product takes {milliseconds(product['device_s'])}. The largest difference is {product['error']:.0e}."
    )


def checks(results: Found, made: Found) -> str:
    check = results["check"]
    worst = {key: max(row[key] for row in check["rows"]) for key in ("float64", "float32")}
    lines = [
        (row["kernel"], 2 * row["seeds"], f"{row['float64']:.0e}", f"{row['float32']:.0e}") for row in check["rows"]
    ]
    return writing.page(
        [
            "# GPU and CPU values of every kernel on random data",
            f"Created with `{made['command']}` at commit `{made['commit']}`. Machine: {machine(results['about'])}.",
            f"There are {check['banks']} random collections for {len(check['rows'])} kernels. Each was compared with itself and "
            f"with another one. The largest relative difference is {worst['float64']:.0e} in float64, and {worst['float32']:.0e} in float32, to which values are rounded "
            "when they are stored.",
            *results.get("notes", []),
            writing.table(("kernel", "collections", "float64", "float32"), lines, right=range(1, 4)),
        ]
    )  # fmt: skip


def write(path: Path) -> str:
    """Write the page of a file of `benchmarks.gpu`, and return its text."""
    results = json.loads(path.read_text())
    is_check = "check" in results
    command = f"python -m benchmarks.gpu{' --check' if is_check else ''}"
    made = writing.provenance(command)
    page = (checks if is_check else times)(results, made)
    writing.write_results(RESULTS, "gpu-check" if is_check else "gpu", results | {"made_by": made}, page)
    return page
