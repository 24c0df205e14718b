"""The index of the result pages: each claim of the papers, our results, and the verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from math import isinf
from pathlib import Path
from typing import Any

from experiments import EXPERIMENTS, report
from experiments.claims import RULES, UNCERTAINTY, Claim, counted
from experiments.running import telling
from experiments.sources import CHANGES, RESULTS, concerning
from treelet.formats.files import open_target


def pages(folder: Path = RESULTS) -> dict[str, dict[str, Any]]:
    """Read the results of each experiment that has a page."""
    return {name: report.read(name, folder) for name in EXPERIMENTS if (folder / f"{name}.json").exists()}


def benchmarks(folder: Path = RESULTS) -> dict[str, dict[str, Any]]:
    """Read the results of each benchmark that has a page."""
    names = [path.stem for path in sorted(folder.glob("*.json")) if path.stem not in (*EXPERIMENTS, CHANGES.stem)]
    return {name: report.read(name, folder) for name in names}


def write_again(folder: Path = RESULTS) -> list[Path]:
    """Write all pages, pictures and the index again, from the stored results."""
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
    written.append(folder / f"{CHANGES.stem}.md")
    with open_target(written[-1]) as stream:
        stream.write(code_changes(found | benchmarks(folder)))
    return written


def index(found: dict[str, dict[str, Any]], folder: Path = RESULTS) -> str:
    """Return the index page: one table row per claim, and the results of all pages that test the claim."""
    claims: dict[tuple[Any, ...], dict[str, Claim]] = {}
    for name, results in found.items():
        for claim in telling(name).claims(results):
            key = (claim.paper, claim.says, claim.rule, claim.margin, claim.low, claim.high)
            claims.setdefault(key, {})[name] = claim
    every = [joined(list(by_page.values())) for by_page in claims.values()]
    theirs, ours = ([claim for claim in every if claim.own == own] for own in (False, True))
    parts = [
        "# Claims of the papers, and whether they hold here",
        f"Of {len(theirs)} claims of the papers: {counted(theirs)}. This page is created by `python -m experiments --pages` from the "
        "JSON files in the same folder.",
        *([f"Of {len(ours)} questions of our own, which are not counted above: {counted(ours)}."] if ours else []),
        "## Rules of the verdicts",
        RULES,
        "If a claim was tested on several corpora, its verdict is that of all comparisons together. Each page then also has its "
        "own verdict.",
        "All settings were chosen on training data, by cross-validation or on development data. If a test figure was known "
        "before a change, the page states this.",
        UNCERTAINTY,
        *_lacking(every),
        "The file `NAME.items.json.xz` contains the result of each system on each item of each split. "
        "`experiments.differences.across` compares any two systems.",
        *_claims(claims),
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
        f"The code was changed after some pages were created. [Code changes]({CHANGES.stem}.md) lists these changes and their effects. "
        "A `+` after a commit means that the checkout had changes that were not committed.",
    ]
    return report.page(parts)


def joined(claims: Sequence[Claim]) -> Claim:
    """Return one claim with the tests of all."""
    return replace(claims[0], tests=[test for claim in claims for test in claim.tests])


def _claims(claims: dict[tuple[Any, ...], dict[str, Claim]]) -> list[str]:
    """Return one section per paper: a table of its claims, and a list of our results. Our own questions follow."""
    sections: dict[str, list[tuple[int, dict[str, Claim]]]] = {}
    for number, (key, by_page) in enumerate(claims.items(), 1):
        own = "Our own question: " if next(iter(by_page.values())).own else ""
        sections.setdefault(own + key[0], []).append((number, by_page))
    parts = []
    for paper, numbered in sections.items():
        rows = [_row(number, by_page) for number, by_page in numbered]
        results = [_results(number, by_page) for number, by_page in numbered]
        header = ("no.", "claim", "figure in the paper", "verdict", "rule", "rests on")
        parts += [f"## {paper}", report.table(header, rows, right=(0,)), "Results here:", "\n".join(results)]
    return parts


def _row(number: int, by_page: dict[str, Claim]) -> tuple[str, ...]:
    first = next(iter(by_page.values()))
    claim = joined(list(by_page.values()))
    return str(number), first.says, first.printed, f"**{claim.verdict}**", _rule(first), claim.rests_on


def _results(number: int, by_page: dict[str, Claim]) -> str:
    """Return the list item of a claim: its notes, then one item per page."""
    notes = "; ".join(dict.fromkeys(claim.note for claim in by_page.values() if claim.note))
    lines = [f"- Claim {number}" + (f" ({notes}):" if notes else ":")]
    for name, claim in by_page.items():
        verdict = f": *{claim.verdict}*" if len(by_page) > 1 else ""
        lines.append(f"    - [{name}]({name}.md): {claim.ours}{verdict}")
        for kind, tests in claim.beside.items():
            lines.append(f"        - Over {kind}: {'; '.join(map(_beside, tests))}")
    return "\n".join(lines)


def _beside(test: Mapping[str, Any]) -> str:
    """Format a test of the other kind of uncertainty, with three significant digits."""
    digits = 2 if max(map(abs, test["interval"])) >= 1 else 3
    p = f", p {report.p_value(test['p'])}" if "p" in test else ""
    return f"{test.get('difference', test.get('value')):+.{digits}f} ({report.interval(test['interval'], digits)}{p})"


def _lacking(claims: Sequence[Claim]) -> list[str]:
    """List the claims that have only one kind of uncertainty."""
    found: dict[str, list[str]] = {}
    for number, claim in enumerate(claims, 1):
        for kind in claim.lacks:
            found.setdefault(kind, []).append(str(number))
    why = {
        "items": "have no interval over items, because the results of single items were not stored. They await a rerun.",
        "splits": "have no interval over splits, because there is only one split.",
    }
    return [f"Claims {', '.join(numbers)} {why[kind]}" for kind, numbers in found.items()]


def _rule(claim: Claim) -> str:
    """Describe a rule with its margin or bounds."""
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
    """Return the table of the benchmarks."""
    rows = []
    for name, results in benchmarks(folder).items():
        made = results["made_by"]
        page = f"[{name}]({name}.md)" if (folder / f"{name}.md").exists() else "[performance](../performance.md)"
        rows.append((page, f"`{made['command']}`", made["date"], f"`{made['commit']}`"))
    return ["## Benchmarks", report.table(("page", "command", "date", "commit"), rows)] if rows else []


def code_changes(found: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the page on changes of the code since the pages were created."""
    reasons: dict[tuple[str, str], dict[str, dict[str, None]]] = {}
    for change in concerning(found):
        lists = reasons.setdefault((change["date"], change["why"]), {"pages": {}, "files": {}})
        lists["pages"] |= dict.fromkeys(change["pages"])
        lists["files"] |= dict.fromkeys(f"`{Path(path).name}`" for path in change["files"])
    return report.page(
        [
            "# Code changes since the measurements",
            "This page lists changes of the code that were made after a page of results was created, with their effects on the figures.",
            "A test finds every change of code that a page depends on. Each change is either listed here with the reason why the figures "
            "are still valid, or the page is created again.",
            "\n".join(
                f"- {day}: {why.rstrip('.')}. Pages: {_few(lists['pages'])}. Files: {_few(lists['files'])}."
                for (day, why), lists in reasons.items()
            ),
        ]
    )


def _few(names: Iterable[str], most: int = 12) -> str:
    """List the first names, and count the others.

    >>> _few("abcd", 3)
    'a, b, c and 1 more'
    """
    every = list(names)
    return ", ".join(every[:most]) + (f" and {len(every) - most} more" if len(every) > most else "")
