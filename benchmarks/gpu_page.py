"""The pages of what `benchmarks.gpu` measured: docs/results/gpu.md and gpu-check.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from experiments import report

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
        "prepared",
        "on the device",
        "copied",
        "all, to NumPy",
        "s a billion pairs",
        "largest difference",
    ]
    if "one_core_s" in rows[0]:
        heads += ["one CPU core", "times as fast"]
    if cores:
        heads += ["all cores"]
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
    return report.table(tuple(heads), lines, right=range(3, len(heads)))  # fmt: skip


def times(results: Found, made: Found) -> str:
    found, ceilings = results, results["ceilings"]
    search = found["million"][0]
    parts = [
        "# Kernel matrices on a GPU",
        f"`{made['command']}`, commit `{made['commit']}`; {machine(found['about'])}. Best of five after one that is not counted. *On the device*: filling the "
        "whole matrix there, its mirror image included, from what was prepared of the trees; *prepared*: that, from a Treebank whose counts are known (self-values, where a kernel is "
        "normalized, come from the CPU); *copied*: to a NumPy array; *all*: one call of `gram(..., device=\"cuda\", out=array)` from a Treebank of which nothing is known, "
        "into an array whose pages are touched for the first time. *Largest difference*: relative, to the core's values in 13 rows. *Times as fast*: one CPU core of "
        "that machine beside all of it.",
        f"The device copies {ceilings['copy_tb_s']:.2f} TB/s within its memory, read and written, and {ceilings['to_host_gb_s']:.0f} GB/s to pages of the host that are there.",
        *found.get("notes", []),
        "## All pairs of 3,914 trees of the Wall Street Journal",
        matrices(found["trees"]),
        "## All pairs of 57,268 trees of all corpora",
        matrices([*found["all"], *found.get("partial", [])]),
        "## From which size on it pays",
        "Trees drawn from all corpora.",
        matrices(found["sizes"]),
        "## Other structures",
        "The sentences of the Journal as tag sequences, and as sequences of words beside sequences of tags; packed forests of generated sentences.",
        matrices(found["others"]),
        "## Nearest neighbors among a million",
        f"Ten neighbors of each of {search['queries']:,} trees among {search['trees']:,}, all drawn from a grammar of questions about flights, by normalized subset trees: "
        f"{search['search_s']:.2f} s, after {search['prepare_s']:.1f} s of preparation. {search['sample']} of the queries on all CPU cores, index included: "
        f"{search['cpu_s_of_sample']:.1f} s; the same neighbors: {'yes' if search['same_numbers'] else 'no'}; values differ by {search['values_apart']:.0e} at most.",
        "## A budget",
        "`device_memory=` for the 3,914 trees, into a NumPy array: what the memory pool took at most, and the time of one call.",
        report.table(
            ("budget", "taken", "time", "largest difference"),
            [
                ("none" if row["budget"] is None else f"{row['budget'] >> 20} MiB", f"{row['taken'] / 2**20:.0f} MiB", milliseconds(row["seconds"]), f"{row['error']:.0e}")
                for row in found["memory"]
            ],
            right=range(4),
        ),
    ]  # fmt: skip
    if "scoring" in found:
        parts += ["## Models and products", scores(found["scoring"])]
    if "bounds" in found:
        parts += ["## What bounds it", *found["bounds"]]
    return "\n\n".join(parts) + "\n"


def scores(rows: list[Found]) -> str:
    models, product = rows[:-1], rows[-1]
    table = report.table(
        ("model", "trees", "outputs", "device, from a Treebank", "one CPU core", "largest difference"),
        [(f"questions, {row['kernel']}", f"{row['trees']:,}", row["outputs"], milliseconds(row["device_s"]), milliseconds(row["one_core_s"]), f"{row['error']:.0e}") for row in models],
        right=range(1, 6),
    )  # fmt: skip
    return (
        f"Machines trained on 5,452 questions, normalized kernels, score trees of all corpora.\n\n{table}\n\n"
        f'`operator(kernel, X, device="cuda") @ V` for {product["trees"]:,} trees and four vectors, normalized subset trees: {product["first_s"]:.1f} s the first time, self-values and '
        f"the matrix included, which then stays there; {milliseconds(product['device_s'])} each further time. Largest difference {product['error']:.0e}."
    )


def checks(results: Found, made: Found) -> str:
    check = results["check"]
    worst = {key: max(row[key] for row in check["rows"]) for key in ("float64", "float32")}
    lines = [
        (row["kernel"], 2 * row["seeds"], f"{row['float64']:.0e}", f"{row['float32']:.0e}") for row in check["rows"]
    ]
    return "\n\n".join(
        [
            "# A GPU beside the core: every kernel on random banks",
            f"`{made['command']}`, commit `{made['commit']}`; {machine(results['about'])}. {check['banks']} random banks of {len(check['rows'])} kernels, each with itself and "
            f"with another one. The largest relative difference of a value: {worst['float64']:.0e} in float64, {worst['float32']:.0e} in float32, to which values are rounded "
            "when they are stored.",
            *results.get("notes", []),
            report.table(("kernel", "banks", "float64", "float32"), lines, right=range(1, 4)),
        ]
    ) + "\n"  # fmt: skip


def write(path: Path) -> str:
    """The page of a file that `benchmarks.gpu` has written."""
    results = json.loads(path.read_text())
    is_check = "check" in results
    command = f"python -m benchmarks.gpu{' --check' if is_check else ''}"
    made = report.provenance(command)
    page = (checks if is_check else times)(results, made)
    report.write(RESULTS, "gpu-check" if is_check else "gpu", results | {"made_by": made}, page)
    return page
