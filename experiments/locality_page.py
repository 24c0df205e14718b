"""The locality experiment told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments import report
from experiments.claims import Claim


def page(results: dict[str, Any]) -> str:
    return f"# Ranking dependency parses: the locality-convolution kernel\n\n{report.made_by(results)}\n"


def picture(results: dict[str, Any], path: Path) -> None:
    with report.drawn(path):
        pass


def claims(results: dict[str, Any]) -> list[Claim]:
    return []
