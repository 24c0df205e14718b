"""Every kernel, parser and learner beside its slow definition, on random problems: `make differential`, or

    python tests/differential/run.py --cases 100000 --only PartialTree --only parsers

Results are kept in build/differential, check by check. The next call continues with them as long as the code is the same, so
a run can be interrupted, or divided into parts (--seconds). Checks that are complete and without failures are not repeated,
unless their file is removed. A failure is printed with the kernel, examples that are as small as possible, and its batch:
--only NAME --batch NUMBER repeats this batch. --pages FOLDER writes differential.md and differential.json.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
import warnings
from collections import Counter
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build" / "differential"
sys.path[:0] = [str(HERE), str(HERE.parent), str(ROOT)]
os.environ.setdefault("OMP_NUM_THREADS", "1")

import differ  # noqa: E402
import differ_edits  # noqa: E402
import differ_fragments  # noqa: E402
import differ_independence  # noqa: E402
import differ_kernels  # noqa: E402
import differ_learners  # noqa: E402
import differ_parsers  # noqa: E402
from differ import CHECKS, Check, Row, Total  # noqa: E402

from experiments import writing  # noqa: E402
from treelet.checks import plural  # noqa: E402

MODULES = (differ_kernels, differ_edits, differ_parsers, differ_learners, differ_fragments, differ_independence)
CASES = 100_000
GROUPS = ("kernels", "sums, products and wraps", "edits", "parsers", "learners", "fragments", "independence")


def chosen(only: list[str]) -> list[Check]:
    """Checks by their names, or those of a group."""
    known = {*CHECKS, *GROUPS}
    if wrong := [name for name in only if name not in known]:
        sys.exit(f"there is no check {', '.join(wrong)}; there are: {', '.join([*GROUPS, *CHECKS])}")
    found = [check for check in CHECKS.values() if not only or check.name in only or check.group in only]
    return sorted(found, key=lambda check: GROUPS.index(check.group))


# --- what is kept ---------------------------------------------------------------------------------------------------


def code() -> str:
    """A fingerprint of all that is compared and compares."""
    files = [*HERE.glob("differ*.py"), *(HERE.parent / "definitions").glob("*.py")]
    own = "".join(writing.fingerprint(path) for path in sorted(files))
    return sha256((writing.code_digest() + own).encode()).hexdigest()[:12]


def place(check: Check) -> Path:
    return BUILD / f"{re.sub(r'[^a-z0-9]+', '-', check.name.lower())}.json"


def kept(check: Check, seed: int, code: str, cases: int) -> Total:
    """What earlier calls have done: all of it, or by the same code a part."""
    try:
        there = json.loads(place(check).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return Total()
    rows = {name: Row(**row) for name, row in there["rows"].items()}
    total = Total(rows, Counter(there["counts"]), there["told"], there["batches"], there["seconds"])
    right = total.cases >= cases and not total.failures
    return total if there["seed"] == seed and (there["code"] == code or right) else Total()


def keep(check: Check, total: Total, seed: int, code: str, commit: str) -> None:
    BUILD.mkdir(parents=True, exist_ok=True)
    told = vars(total) | {"rows": {name: asdict(row) for name, row in total.rows.items()}, "counts": dict(total.counts)}
    known = {"check": check.name, "group": check.group, "unit": check.unit, "slow": check.slow, "seed": seed}
    text = json.dumps(known | {"code": code, "commit": commit} | told, indent=1)
    temporary = place(check).with_suffix(".part")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(place(check))


# --- running --------------------------------------------------------------------------------------------------------


def run(checks: list[Check], cases: int, seed: int, seconds: float) -> int:
    """All checks in turn, in rounds, so that whenever it is ended all have about as many cases; how many are not done, or failed."""
    end, left = time.monotonic() + seconds, 0
    for part in (10, 3, 1):
        left = one_round(checks, cases // part, seed, end)
    differ_independence.close_client()
    return left


def one_round(checks: list[Check], cases: int, seed: int, end: float) -> int:
    """All checks up to so many cases, or until the time is up; how many are not done, or failed."""
    now, commit, left = code(), writing.provenance("")["commit"], 0
    for check in checks:
        wanted = min(cases, check.least) if check.least else cases
        total = kept(check, seed, now, wanted)
        if total.cases >= wanted and not total.failures:
            continue
        if time.monotonic() > end:
            left += 1
            continue
        told = time.monotonic()

        def progress(total: Total, check: Check = check, wanted: int = wanted) -> None:
            nonlocal told
            if time.monotonic() - told > 5:
                told = time.monotonic()
                print(f"  {check.name}: {total.cases:,} of {wanted:,}", file=sys.stderr, flush=True)
                keep(check, total, seed, now, commit)

        complete = differ.go_on(check, total, seed, wanted, end - time.monotonic(), progress)
        keep(check, total, seed, now, commit)
        largest = max((row.largest for row in total.rows.values()), default=0.0)
        said = "" if complete else " (not all: call again)"
        print(f"{check.name}: {total.cases:,} {check.unit}{said}, {total.seconds:.0f} s; largest difference {largest:.1e}; failures: {total.failures}", flush=True)  # fmt: skip
        for failure in total.told:
            print(failure, flush=True)
        left += not complete or total.failures > 0
    return left


def once(check: Check, seed: int, number: int) -> int:
    """One batch, to look into it."""
    batch = differ.done(check, seed, number)
    for name, row in batch.rows.items():
        print(f"{name}: {row.cases:,} {check.unit}; largest difference {row.largest:.1e}; failures: {row.failures}")
    print("\n".join(batch.told) or "no failure")
    return bool(batch.told)


# --- the page -------------------------------------------------------------------------------------------------------


def results() -> dict[str, Any]:
    """What all checks have come to."""
    found = [json.loads(place(check).read_text(encoding="utf-8")) for check in CHECKS.values() if place(check).exists()]
    missing = sorted(CHECKS.keys() - {one["check"] for one in found})
    commits = dict.fromkeys(one["commit"] for one in found)
    made = writing.provenance("make differential") | {"commit": ", ".join(commits)}
    seconds = sum(one["seconds"] for one in found)
    return {"checks": found, "missing": missing, "seconds": seconds, "made_by": made}


INTRODUCTION = (
    "Every kernel, parser and learner is compared with its slow definition (`tests/definitions`). The definitions list fragments, derivations and tag sequences one by one, "
    "use simple loops, or solve dense systems of equations. Learners are compared on matrices of the slow definitions.\n\n"
    "Structures and parameters are random and include unusual ones: single nodes, chains, equal children, a single label, words that are labels, Unicode, "
    "empty sequences, missing examples, and collections of 200. Kernels include sums, products and wrappers, nested two and three deep."
)
HOW = (
    "Differences are relative to the value. If terms cancel, they are relative to the size of the terms (`tests/definitions/rounding.py`). For the optimum of a learner, they are relative to its objective.\n\n"
    "A check with fewer than 100,000 cases was stopped early; `make differential` continues it. If no difference is allowed, results must be equal, and numbers equal to the bit. A row without a unit is "
    "an additional test of the same models, with as many cases as resulted from it."
)
NOT_IN_IT = (
    "## Not included\n\n"
    "- `LinkParser`, whose linkages come from another program.\n"
    "- `TreeSketch`, whose vectors are random and approximate the kernel only on average (`tests/learn/test_sketch.py`).\n"
    "- The GPU, which has [a separate check](gpu-check.md). Device code is tested here in its CPU build.\n"
    "- Cuts of trees and forests, which are compared with each other in `tests`.\n\n"
    "If a perceptron compares two equal scores whose terms cancel, floating-point rounding decides the result, but exact arithmetic does not. Such problems are excluded and counted."
)
HEADER = ("check", "cases", "unit", "largest difference", "allowed", "failures", "slow definition", "data")


def line(check: dict[str, Any], number: int, name: str, row: dict[str, Any]) -> tuple[Any, ...]:
    """A line of the table; the first of a check has what holds for all of them."""
    counts = ", ".join(f"{count:,} {thing.replace('_', ' ')}" for thing, count in check["counts"].items())
    unit = "" if row["aside"] else check["unit"]
    numbers = f"{row['largest']:.1e}" if row["largest"] else "0", f"{row['close']:.0e}" if row["close"] else "none"
    return (
        name,
        f"{row['cases']:,}",
        unit,
        *numbers,
        row["failures"],
        *((check["slow"], counts) if not number else ("", "")),
    )


def page(found: dict[str, Any]) -> str:
    made, checks = found["made_by"], found["checks"]
    rows = [row for check in checks for row in check["rows"].values()]
    cases, failures = sum(row["cases"] for row in rows), sum(row["failures"] for row in rows)
    commits = Counter(check["commit"] for check in checks)
    counted = ", ".join(f"`{commit}` ({plural(count, 'check')})" for commit, count in commits.items())
    where = (
        f"Created with `{made['command']}` on {made['date']}, at commits {counted}, in {found['seconds'] / 60:.0f} minutes of "
        f"one thread, with seed {checks[0]['seed']}."
    )
    parts = [
        "# Fast code compared with slow definitions",
        where,
        f"**{cases:,} cases, {failures} failures.**",
        INTRODUCTION,
        HOW,
    ]
    for group in GROUPS:
        lines = [
            line(check, number, name, row)
            for check in checks
            if check["group"] == group
            for number, (name, row) in enumerate(check["rows"].items())
        ]
        parts += [f"## {group[0].upper()}{group[1:]}", writing.table(HEADER, lines, right=(1, 3, 4, 5))]
    missing = [f"Checks that were not run: {', '.join(found['missing'])}."] if found["missing"] else []
    return writing.page([*parts, NOT_IN_IT, *missing])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=CASES, help="of each check")
    parser.add_argument("--only", action="append", default=[], help="a check, or a group of them; may be given again")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1e9, help="end after so many")
    parser.add_argument("--batch", type=int, help="this one batch again")
    parser.add_argument("--list", action="store_true", help="the checks")
    parser.add_argument("--pages", type=Path, help="write the page of what was done into this folder")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    checks = chosen(given.only)
    if given.list:
        print("\n".join(f"{check.group}: {check.name} ({check.unit}), beside {check.slow}" for check in checks))
        return 0
    if given.pages is not None:
        found = results()
        print(*writing.write_results(given.pages, "differential", found, page(found)), sep="\n")
        return 0
    if given.batch is not None:
        return once(checks[0], given.seed, given.batch)
    return int(bool(run(checks, given.cases, given.seed, given.seconds)))


if __name__ == "__main__":
    sys.exit(main())
