"""The page of the load benchmark, from its JSON alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.watching import BOUND_MB, EVERY
from experiments import report


def page(results: dict[str, Any]) -> str:
    made, explorer, scoring, command = (results[name] for name in ("made_by", "explorer", "scoring", "command"))
    *short, long = explorer["levels"]
    return "\n\n".join(
        [
            "# Under load",
            f"`{made['command']}`, commits {_commits(results)}, {made['date']}. Two cores, which the clients share with the server, and other work with both: times are upper bounds, CPU times hold. Everything on 127.0.0.1.",
            f"**The explorer answers {long['rate']:.0f} requests a second of {long['clients']} clients, half of them within {long['median_ms']:.0f} ms and 99 % within {long['p99_ms']:,.0f} ms. "
            f"{_flat(explorer, long['seconds'])} 16 threads that score with one model get what one gets, to the bit. {_flat(scoring, scoring['memory']['at_s'][-1] - scoring['memory']['from_s'])}**",
            "## The explorer",
            f"`treelet explore m.treelet --data train.tsv`, with a KernelSVC of {explorer['trees']:,} {explorer['data']}. Clients keep their connections and ask one question after the other, without a pause: of a hundred requests 20 are for the page's files, "
            "40 compare two trees, 5 ask for a curve, 12 parse a sentence or ask why, 18 show a tree to the model (its class, the fragments behind it, the nearest trees). Every tree has a word that was never there before. Two questions are worked on at once; the others wait. "
            "An answer that refuses is an error here.",
            report.table(
                ("clients", "seconds", "requests", "a second", "median ms", "99 % ms", "worst ms", "server's CPU ms", "errors"),
                [(row["clients"], f"{row['seconds']:.0f}", f"{row['requests']:,}", f"{row['rate']:.0f}", f"{row['median_ms']:.1f}", f"{row['p99_ms']:,.0f}", f"{row['worst_ms']:,.0f}", f"{row['cpu_ms']:.1f}", _errors(row)) for row in explorer["levels"]],
                right=(0, 1, 2, 3, 4, 5, 6, 7),
            ),
            "The last row is the long run. Its requests by what was asked, and those of one client:",
            report.table(
                ("asked", "requests", "median ms", "99 % ms", "one client: median ms", "99 % ms"),
                [(kind, f"{each['requests']:,}", f"{each['median_ms']:.1f}", f"{each['p99_ms']:,.0f}", *_alone(short[0], kind)) for kind, each in long["kinds"].items()],
                right=(1, 2, 3, 4, 5),
            ),
            _memory("the server", explorer),
            "## Scoring in one process",
            "Models fitted on questions, each asked for 320 chunks of 20 trees with new words by 1, 2 and 16 threads (Python's, which call one fitted model), the fastest of three times. All values are compared with those of one thread: equal to the bit. "
            "With other work on both cores, rates say little about threads; the CPU time of a tree does: it is about the same by one thread and by 16.",
            report.table(
                ("asked", "values", *(f"trees a second, {t} thread{'s' * (t != '1')}" for t in ("1", "2", "16")), "CPU µs a tree, 1 and 16"),
                [(row["model"], f"{row['values']:,}", *(f"{rate:,.0f}" for rate in row["rates"].values()), " and ".join(f"{_of(row['cpu_us'], t):,.0f}" for t in (1, 16))) for row in scoring["models"]],
                right=(1, 2, 3, 4, 5),
            ),
            f"Then 16 threads for ten minutes, model after model{_resting(scoring['share'])}: {scoring['rounds']:,} rounds, {scoring['scored']:,} trees; in each round and for each model one of the 16 chunks is scored again by one thread, and was equal.",
            _memory("the process", scoring),
            "## The command",
            f"`treelet predict m.treelet test.mrg`, {command['trees']} trees, {command['calls']} times: {np.median(command['wall_s']):.2f} s (median; CPU time {np.median(command['cpu_s']):.2f} s), the slowest {max(command['wall_s']):.2f} s; peak memory {min(command['peak_mb']):.0f} to {max(command['peak_mb']):.0f} MB.",
        ]
    ) + "\n"  # fmt: skip


def _commits(results: dict[str, Any]) -> str:
    return ", ".join(f"`{results[name]['commit']}` ({said})" for name, said in (("explorer", "the explorer"), ("scoring", "scoring"), ("command", "the command")))  # fmt: skip


def _resting(share: float) -> str:
    return "" if share == 1 else f", at work {100 * share:.0f} % of the time, since the machine had other work"


def _of(each: dict[Any, float], threads: int) -> float:
    return each[threads] if threads in each else each[str(threads)]


def _alone(row: dict[str, Any], kind: str) -> tuple[str, str]:
    one = row["kinds"].get(kind)
    return ("", "") if one is None else (f"{one['median_ms']:.1f}", f"{one['p99_ms']:,.0f}")


def _errors(row: dict[str, Any]) -> str:
    return ", ".join(f"{count} times {what}" for what, count in row["errors"].items()) or "none"


def _flat(found: dict[str, Any], seconds: float) -> str:
    moved = found["last_mb"] - found["first_mb"]
    said = "Memory is flat" if found["flat"] else "Memory grows"
    return f"{said} over {seconds / 60:.0f} minutes: {found['first_mb']:.0f} MB in the first quarter, {found['last_mb']:.0f} MB in the last ({moved:+.1f} MB)."


def _memory(whose: str, found: dict[str, Any]) -> str:
    held = [
        mb
        for at, mb in zip(found["memory"]["at_s"], found["memory"]["mb"], strict=True)
        if at >= found["memory"]["from_s"]
    ]
    return (
        f"Resident memory of {whose}, every {EVERY:.0f} s: from {min(held):.1f} to {max(held):.1f} MB over the long run; median of its first quarter {found['first_mb']:.1f}, "
        f"of its last {found['last_mb']:.1f} MB; a line through all {len(held)} rises {found['mb_a_minute']:+.2f} MB a minute. Called flat where the two medians are within {BOUND_MB:.0f} MB."
    )  # fmt: skip
