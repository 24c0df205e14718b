"""Temporary: old names of the shared modules."""

from __future__ import annotations

from experiments.writing import VERDICTS, Claim, table  # noqa: F401


def section(claims):  # type: ignore[no-untyped-def]
    rows = [(claim.says, claim.printed, f"**{claim.verdict}**", claim.rests_on) for claim in claims]
    return [
        "## Verdicts",
        "The [rules of the verdicts](index.md) are the same on all pages. On the index, the verdict on a claim takes the "
        "comparisons of all pages together.",
        table(("claim", "figure in the paper", "verdict", "rests on"), rows),
    ]
