"""The page of the load benchmark, from its JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.watching import BOUND_MB, EVERY
from experiments import writing


def page(results: dict[str, Any]) -> str:
    """Return the results as a Markdown page."""
    made, explorer, scoring, command = (results[name] for name in ("made_by", "explorer", "scoring", "command"))
    *short, long = explorer["levels"]
    return writing.page(
        [
            "# Load tests",
            f"Created with `{made['command']}` on {made['date']}, at commits {_commits(results)}.",
            "The clients and the server share two cores with other processes, so wall-clock times are upper bounds. CPU times are reliable. All connections are to 127.0.0.1.",
            "Results:",
            f"- **The explorer answers {long['rate']:.0f} requests per second from {long['clients']} clients.** Half of them are answered within {long['median_ms']:.0f} ms, and 99 % within {long['p99_ms']:,.0f} ms. {_flat(explorer, long['seconds'])}\n"
            f"- **16 threads that share one model get the same scores as one thread, to the bit.** {_flat(scoring, scoring['memory']['at_s'][-1] - scoring['memory']['from_s'])}",
            "## The explorer",
            f"The server is `treelet explore m.treelet --data train.tsv`, with a KernelSVC trained on {explorer['trees']:,} {explorer['data']}. Clients keep their connections and send one request after the other, without pauses. Of a hundred requests, 20 are for files of the page, "
            "40 compare two trees, 5 request a curve, 12 parse a sentence or request an explanation, and 18 classify a tree (with its class, the fragments behind it, and the nearest trees). Every tree has a new word. Two requests are processed at once; the others wait. "
            "A refused request counts as an error.",
            writing.table(
                ("clients", "seconds", "requests", "requests per second", "median, ms", "99 %, ms", "maximum, ms", "CPU ms per request", "errors"),
                [(row["clients"], f"{row['seconds']:.0f}", f"{row['requests']:,}", f"{row['rate']:.0f}", f"{row['median_ms']:.1f}", f"{row['p99_ms']:,.0f}", f"{row['worst_ms']:,.0f}", f"{row['cpu_ms']:.1f}", _errors(row)) for row in explorer["levels"]],
                right=(0, 1, 2, 3, 4, 5, 6, 7),
            ),
            "The last row is the long run. The next table has its requests by type, compared with those of a single client:",
            writing.table(
                ("request", "requests", "median, ms", "99 %, ms", "one client: median, ms", "one client: 99 %, ms"),
                [(kind, f"{each['requests']:,}", f"{each['median_ms']:.1f}", f"{each['p99_ms']:,.0f}", *_alone(short[0], kind)) for kind, each in long["kinds"].items()],
                right=(1, 2, 3, 4, 5),
            ),
            _memory("the server", explorer),
            "## Scoring in one process",
            "Each model was trained on questions. 1, 2 and 16 Python threads share the model and score 320 chunks of 20 trees with new words. The fastest of three runs counts. All values are equal to those of one thread, to the bit. "
            "Because of other work on both cores, rates are not a reliable measure of threads. The CPU time per tree is: it is about the same for one thread and for 16.",
            writing.table(
                ("call", "values", *(f"trees per second, {t} thread{'s' * (t != '1')}" for t in ("1", "2", "16")), "CPU µs per tree, 1 and 16 threads"),
                [(row["model"], f"{row['values']:,}", *(f"{rate:,.0f}" for rate in row["rates"].values()), " and ".join(f"{_of(row['cpu_us'], t):,.0f}" for t in (1, 16))) for row in scoring["models"]],
                right=(1, 2, 3, 4, 5),
            ),
            f"Then 16 threads ran for ten minutes, with one model after the other{_resting(scoring['share'])}: {scoring['rounds']:,} rounds and {scoring['scored']:,} trees. In each round and for each model, one of the 16 chunks was scored again by one thread, and the scores were equal.",
            _memory("the process", scoring),
            "## The command",
            f"`treelet predict m.treelet test.mrg`, with {command['trees']} trees, was run {command['calls']} times. The median is {np.median(command['wall_s']):.2f} s (CPU time {np.median(command['cpu_s']):.2f} s), and the maximum {max(command['wall_s']):.2f} s. The peak memory is {min(command['peak_mb']):.0f} to {max(command['peak_mb']):.0f} MB.",
        ]
    )  # fmt: skip


def _commits(results: dict[str, Any]) -> str:
    return ", ".join(f"`{results[name]['commit']}` ({part})" for name, part in (("explorer", "explorer"), ("scoring", "scoring"), ("command", "command")))  # fmt: skip


def _resting(share: float) -> str:
    return "" if share == 1 else f", active {100 * share:.0f} % of the time because the machine had other work"


def _of(each: dict[Any, float], threads: int) -> float:
    return each[threads] if threads in each else each[str(threads)]


def _alone(row: dict[str, Any], kind: str) -> tuple[str, str]:
    one = row["kinds"].get(kind)
    return ("", "") if one is None else (f"{one['median_ms']:.1f}", f"{one['p99_ms']:,.0f}")


def _errors(row: dict[str, Any]) -> str:
    return ", ".join(f"{count} times {what}" for what, count in row["errors"].items()) or "none"


def _flat(found: dict[str, Any], seconds: float) -> str:
    moved = found["last_mb"] - found["first_mb"]
    trend = "Memory is constant" if found["flat"] else "Memory grows"
    return f"{trend} over {seconds / 60:.0f} minutes: {found['first_mb']:.0f} MB in the first quarter, {found['last_mb']:.0f} MB in the last ({moved:+.1f} MB)."


def _memory(whose: str, found: dict[str, Any]) -> str:
    held = [
        mb
        for at, mb in zip(found["memory"]["at_s"], found["memory"]["mb"], strict=True)
        if at >= found["memory"]["from_s"]
    ]
    return (
        f"The resident memory of {whose} was measured every {EVERY:.0f} s during the long run. It is between {min(held):.1f} and {max(held):.1f} MB. The median of the first quarter is {found['first_mb']:.1f} MB, and that "
        f"of the last quarter {found['last_mb']:.1f} MB. A line fitted to all {len(held)} values has a slope of {found['mb_a_minute']:+.2f} MB per minute. Memory counts as constant if the two medians differ by at most {BOUND_MB:.0f} MB."
    )  # fmt: skip
