"""The page and the picture of the scaling benchmark, from its JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.scale import COMPONENTS, QUERIES, SIZES, STEPS
from experiments import writing

Found = dict[str, Any]
BILLION = 1e9
LARGEST_ID = 2**31 - 1


def page(results: Found) -> str:
    """Return the results as a Markdown page."""
    rows = {(row["step"], row["n"]): row for row in results["rows"]}
    parts = [
        "# Scaling from a thousand trees to a million",
        writing.created(results["made_by"]),
        "The table shows CPU time (of all threads) and peak memory of a process that reads the trees and performs one task. "
        "Values in parentheses are extrapolated from the largest measured size: pairs grow with n², everything else with n. "
        "Trees are drawn from two grammars (`PCFG.sample`) and have about 35 nodes each. The kernel is normalized SST with λ = 0.4. Tasks use one thread unless stated otherwise.",
        writing.table(("task", *(f"{n:,} trees" for n in SIZES)), [_row(name, rows) for name in STEPS], right=range(1, 5)),
        *_million(rows),
        "## Heaps' law",
        *_heaps(results["heaps"]),
    ]  # fmt: skip
    return writing.page(parts)


def _row(name: str, rows: dict[tuple[str, int], Found]) -> tuple[str, ...]:
    step, cells = STEPS[name], []
    last = max((n for known, n in rows if known == name), default=None)
    for n in SIZES:
        if last is None:
            cells.append("")
        elif n <= last:
            cells.append(f"{_time(rows[name, n]['cpu_s'])}, {_size(rows[name, n]['peak_mb'])}")
        else:
            found, times = rows[name, last], n / last
            memory = step.bound or _size(found["peak_mb"] * times**step.memory)
            cells.append(f"({_time(found['cpu_s'] * times**step.time)}, {memory})")
    return step.says, *cells


def _time(seconds: float) -> str:
    """Format a duration in a suitable unit.

    >>> _time(0.0312), _time(31.2), _time(312), _time(31200), _time(3.12e6)
    ('31 ms', '31 s', '5.2 min', '8.7 h', '36 d')
    """
    for most, unit, name in ((1, 1e-3, "ms"), (120, 1, "s"), (7200, 60, "min"), (172_800, 3600, "h")):
        if seconds < most:
            return f"{_short(seconds / unit)} {name}"
    return f"{_short(seconds / 86400)} d"


def _size(megabytes: float) -> str:
    for most, unit, name in ((1000, 1, "MB"), (1e6, 1000, "GB")):
        if megabytes < most:
            return f"{_short(megabytes / unit)} {name}"
    return f"{_short(megabytes / 1e6)} TB"


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}"


def _million(rows: dict[tuple[str, int], Found]) -> list[str]:
    texts = []
    n = SIZES[-1]
    if (found := rows.get(("read", n))) is not None:
        texts.append(
            f"**Reading.** After interning, {n:,} trees have {found['distinct']:,} distinct subtrees and words, and take {found['bytes_a_tree']:.0f} bytes per tree. "
            f"{n / found['cpu_s']:,.0f} trees per second are read."
        )
    if (found := rows.get(("sketch", n))) is not None:
        texts.append(
            f"**Sketching and learning.** The trees are read and sketched ({COMPONENTS} numbers per tree). A linear model is trained on {0.9 * n:,.0f} and tested on {found['tested']:,} trees. "
            f"This takes {found['cpu_s']:.0f} s of CPU time ({found['sketch_s']:.0f} for sketching, {found['learn_s']:.0f} for learning) and {found['wall_s']:.0f} s of wall-clock time "
            f"with two threads, or {n / found['wall_s']:,.0f} trees per second. The accuracy is "
            f"{100 * found['accuracy']:.1f} %, with two classes of equal size. The peak memory is {_size(found['peak_mb'])}."
        )
    if (found := rows.get(("nearest", n))) is not None:
        texts.append(
            f"**Searching.** {QUERIES:,} exact queries for the ten nearest trees take {found['wall_s']:.0f} s of wall-clock time with two threads "
            f"({found['cpu_s']:.0f} s of CPU time), after {found['fit_s']:.0f} s for the index. The peak memory is {_size(found['peak_mb'])}."
        )
    return ["## A million trees", *texts] if texts else []


def _heaps(fits: list[Found]) -> list[str]:
    if not fits:
        return ["Not measured."]
    table = writing.table(
        ("corpus", "trees", "nodes per tree", "distinct subtrees", "a", "b", "b, second half", "largest residual"),
        [
            (
                fit["corpus"], f"{fit['trees']:,}", f"{fit['nodes_a_tree']:.1f}", f"{fit['distinct']:,}", f"{fit['a']:.1f}", f"{fit['b']:.3f}", f"{fit['b_late']:.3f}",
                f"{100 * fit['off']:.1f} %",
            )
            for fit in fits
        ],
        right=range(1, 8),
    )  # fmt: skip
    whole = next(fit for fit in fits if fit["corpus"] == "all")
    low, high = (whole["distinct"] * (BILLION / whole["trees"]) ** b for b in sorted((whole["b"], whole["b_late"])))
    return [
        "N trees in random order have about a·N^b distinct subtrees with at least one child. The values of a and b are least-squares estimates on logarithms, from 100 trees on.",
        table,
        f"Within one corpus, b decreases slowly, because new words and productions become rare. For all corpora together, b does not decrease yet. It predicts {low / 1e9:.1f} to {high / 1e9:.1f} billion "
        f"distinct subtrees for a billion trees. A store can number at most {LARGEST_ID / 1e9:.2f} billion.",
        "![Distinct subtrees by number of trees, and residuals](scale.png)",
    ]


def picture(results: Found, path: Path) -> None:
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
