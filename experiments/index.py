"""All pages at one glance: each claim of the papers, what we found, and whether it holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from math import isinf
from pathlib import Path
from typing import Any

from experiments import EXPERIMENTS, report
from experiments.claims import RULES, Claim
from experiments.running import telling
from experiments.sources import CHANGES, RESULTS, explained
from treelet.formats.files import open_target


def pages(folder: Path = RESULTS) -> dict[str, dict[str, Any]]:
    """What was found, for each experiment that has a page."""
    return {name: report.read(name, folder) for name in EXPERIMENTS if (folder / f"{name}.json").exists()}


def benchmarks(folder: Path = RESULTS) -> dict[str, dict[str, Any]]:
    """What was found, for each benchmark that has a page."""
    names = [path.stem for path in sorted(folder.glob("*.json")) if path.stem not in (*EXPERIMENTS, CHANGES.stem)]
    return {name: report.read(name, folder) for name in names}


def write_again(folder: Path = RESULTS) -> list[Path]:
    """Word all pages, pictures and the index again, from what was measured before."""
    written = []
    found = pages(folder)
    for name, results in found.items():
        written.append(folder / f"{name}.md")
        with open_target(written[-1]) as stream:
            stream.write(telling(name).page(results))
        if find_spec("matplotlib"):
            written.append(folder / f"{name}.png")
            telling(name).picture(results, written[-1])
    written.append(folder / "index.md")
    with open_target(written[-1]) as stream:
        stream.write(index(found, folder))
    return written


def index(found: dict[str, dict[str, Any]], folder: Path = RESULTS) -> str:
    """One row a claim, whatever number of pages has something on it."""
    claims: dict[tuple[Any, ...], dict[str, Claim]] = {}
    for name, results in found.items():
        for claim in telling(name).claims(results):
            key = (claim.paper, claim.says, claim.rule, claim.margin, claim.low, claim.high)
            claims.setdefault(key, {})[name] = claim
    rows = [_row(of, found) for of in claims.values()]
    verdicts = Counter(joined(list(of.values())).verdict for of in claims.values())
    told = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in ("holds", "partly", "not"))
    parts = [
        "# What the papers claim, and what holds here",
        f"Of {len(rows)} claims: {told}. Written by `python -m experiments --pages` from the JSON files beside it.",
        "A verdict follows from the figures by rule:",
        RULES,
        "A claim that was tried on several corpora has the verdict of all comparisons together, and one for each page. "
        "Everything was chosen on training parts, by cross-validation or on development data; a page that knew a test figure "
        "before something was changed says so. Intervals are of 95 %, over splits (the corrected resampled t-test of Nadeau & "
        "Bengio 2003) where there are several, else over items (paired bootstrap). What each system did on each item of "
        "each split is in `NAME.items.json.xz`; `experiments.differences.across` compares any two.",
        report.table(
            ("paper", "claim", "its figure", "verdict", "here", "rule", "page, command, CPU minutes, commit"), rows
        ),
        "## Pages",
        report.table(
            ("page", "command", "date", "commit", "CPU minutes"),
            [
                (
                    f"[{name}]({name}.md)",
                    f"`{results['made_by']['command']}`",
                    results["made_by"]["date"],
                    f"`{results['made_by']['commit']}`",
                    f"{results['cpu_seconds'] / 60:.0f}",
                )
                for name, results in found.items()
            ],
            right=(4,),
        ),
        *_others(folder),
        *_changes(),
    ]
    return "\n\n".join(parts) + "\n"


def joined(claims: Sequence[Claim]) -> Claim:
    """One claim with the tests of all."""
    return replace(claims[0], tests=[test for claim in claims for test in claim.tests])


def _row(of: dict[str, Claim], found: dict[str, dict[str, Any]]) -> tuple[str, ...]:
    """The row of a claim, from what each page says of it."""
    first = next(iter(of.values()))
    notes = "; ".join(dict.fromkeys(claim.note for claim in of.values() if claim.note))
    each = [f"{claim.ours}: *{claim.verdict}*" if len(of) > 1 else claim.ours for claim in of.values()]
    made = []
    for name in of:
        by = found[name]["made_by"]
        made.append(f"[{name}]({name}.md), `{by['command']}`, {found[name]['cpu_seconds'] / 60:.0f}, `{by['commit']}`")
    return (
        first.paper,
        first.says + (f" ({notes})" if notes else ""),
        first.printed,
        f"**{joined(list(of.values())).verdict}**",
        "<br>".join(each),
        _rule(first),
        "<br>".join(made),
    )


def _rule(claim: Claim) -> str:
    """The rule with its margin or bounds, in words."""
    if claim.rule == "alike":
        return f"alike, ± {claim.margin:g}"
    if claim.rule == "greater":
        return "greater"
    if isinf(claim.low):
        return f"within: at most {claim.high:g}"
    if isinf(claim.high):
        return f"within: at least {claim.low:g}"
    return f"within {claim.low:g} to {claim.high:g}"


def _others(folder: Path) -> list[str]:
    """Benchmarks, which have pages too."""
    rows = []
    for name, results in benchmarks(folder).items():
        made = results["made_by"]
        page = f"[{name}]({name}.md)" if (folder / f"{name}.md").exists() else "[performance](../performance.md)"
        rows.append((page, f"`{made['command']}`", made["date"], f"`{made['commit']}`"))
    return ["Speed:", report.table(("page", "command", "date", "commit"), rows)] if rows else []


def _changes() -> list[str]:
    """What has changed in the code since, and why it cannot alter a figure."""
    rows = [
        (change["date"], change["why"], ", ".join(f"`{Path(path).name}`" for path in change["files"]))
        for change in explained()
    ]
    if not rows:
        return []
    text = "Code that a page shows, changed after it was made in ways that cannot alter a figure:"
    return ["## Changes since", text, report.table(("date", "why no figure changes", "files"), rows)]
