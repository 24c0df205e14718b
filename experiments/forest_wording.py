"""Texts and formats shared by the two pages of the forest experiment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from experiments import report

QUICK = " **Quick run: few examples, few parses, small grids.**"
COLORS = {"tree": "tab:gray", "forest": "tab:green", "forest, probabilities": "darkgreen", "n-grams": "tab:orange"}


def difference(test: Mapping[str, Any]) -> str:
    """Format a difference with its interval and p-value.

    >>> difference({"difference": 1.0, "interval": [0.5, 1.5], "p": 0.01})
    '+1.00 (+0.50 to +1.50), p 0.0100'
    """
    return f"{report.difference(test)}, p {report.p_value(test['p'])}"


def sure(test: Mapping[str, Any], p: str = "p") -> bool:
    """Return whether the first system is significantly better."""
    return bool(test["difference"] > 0 and test[p] < 0.05)


def listed(names: Iterable[str]) -> str:
    """Join names for a sentence.

    >>> listed(["a"]), listed(["a", "b", "c"]), listed([])
    ('a', 'a, b and c', 'nothing')
    """
    every = list(names)
    if len(every) < 2:
        return every[0] if every else "nothing"
    return f"{', '.join(every[:-1])} and {every[-1]}"


def edges(rows: Mapping[str, Sequence[str]]) -> str:
    """Report which chosen values are at the edges of their grids."""
    found = [f"{name}: {', '.join(names)}" for name, names in rows.items() if names]
    if not found:
        return "No chosen value is at an edge of its grid."
    return f"Chosen values at an edge of their grid: {'; '.join(found)}."


def paper(figures: Mapping[str, Any], what: str) -> str:
    """Return the figures printed in the paper."""
    rows = [(name, *(f"{value:.2f}" for value in figures[name])) for name in ("tree", "forest")]
    return f"Results in the paper ({what}):\n\n" + report.table(("", "P", "R", "F1"), rows, right=range(1, 4))
