"""What every experiment leaves behind: a JSON object, scores item by item, a Markdown page, a picture, and what made them."""

from __future__ import annotations

import json
import lzma
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import treelet
from experiments.sources import RESULTS, ROOT, imported
from treelet.formats.files import open_target, whole_file


def provenance(command: str) -> dict[str, Any]:
    """Where a result comes from: the command, the commit (with a + if files differ from it), the date, and the code."""
    commit = _git("rev-parse", "--short", "HEAD") or "unknown"
    commit += "+" if _git("status", "--porcelain", "--", "src", "native", "experiments") else ""
    made = {"command": command, "commit": commit, "date": date.today().isoformat(), "version": treelet.__version__}
    return made | {"sources": imported()}


def _git(*arguments: str) -> str:
    try:
        run = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return run.stdout.strip()


def made_by(results: dict[str, Any]) -> str:
    """The line of a page that says where it comes from."""
    made = results["made_by"]
    return (
        f"`{made['command']}`, commit `{made['commit']}`, {made['date']}, {results['seconds']:.0f} s of wall time, "
        f"{results['cpu_seconds']:.0f} s of CPU time."
    )


def p_value(value: float | None) -> str:
    """A p-value as pages show it.

    >>> p_value(0.03), p_value(0.00001), p_value(None)
    ('0.0300', '< 0.0001', '')
    """
    return "" if value is None else "< 0.0001" if value < 1e-4 else f"{value:.4f}"


def plus_minus(found: Mapping[str, float], digits: int = 2) -> str:
    """A mean over splits, and their standard deviation.

    >>> plus_minus({"mean": 61.234, "std": 0.5})
    '61.23 ± 0.50'
    """
    return f"{found['mean']:.{digits}f} ± {found['std']:.{digits}f}"


def interval(ends: Sequence[float], digits: int = 2) -> str:
    """Both ends.

    >>> interval([-0.5, 1.25])
    '-0.50 to +1.25'
    """
    return f"{ends[0]:+.{digits}f} to {ends[1]:+.{digits}f}"


def difference(test: Mapping[str, Any], digits: int = 2) -> str:
    """A difference with its interval.

    >>> difference({"difference": 1.0, "interval": [0.5, 1.5]}, 1)
    '+1.0 (+0.5 to +1.5)'
    """
    return f"{test['difference']:+.{digits}f} ({interval(test['interval'], digits)})"


def table(header: Sequence[str], rows: Iterable[Sequence[object]], right: Sequence[int] = ()) -> str:
    """A Markdown table; the columns in `right` hold numbers."""
    lines = [
        f"| {' | '.join(header)} |",
        "|" + "|".join("---:" if k in right else "---" for k in range(len(header))) + "|",
    ]
    lines += [f"| {' | '.join(str(cell) for cell in row)} |" for row in rows]
    return "\n".join(lines)


def write(folder: Path, name: str, results: dict[str, Any], page: str, items: Sequence[Any] = ()) -> list[Path]:
    """Write ``NAME.json``, ``NAME.md`` and the scores item by item, each whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {"json": json.dumps(results, indent=1) + "\n", "md": page}
    if items:
        texts["items.json.xz"] = json.dumps(items, separators=(",", ":")) + "\n"
    for suffix, text in texts.items():
        with open_target(folder / f"{name}.{suffix}") as stream:
            stream.write(text)
    return [folder / f"{name}.{suffix}" for suffix in texts]


def read(name: str, folder: Path = RESULTS) -> dict[str, Any]:
    """What an experiment found, as its page shows it."""
    found: dict[str, Any] = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return found


def items(name: str, folder: Path = RESULTS) -> list[dict[str, Any]]:
    """What each system did on each item of each split, for `differences.across`."""
    with lzma.open(folder / f"{name}.items.json.xz", "rt", encoding="utf-8") as stream:
        found: list[dict[str, Any]] = json.load(stream)
    return found


@contextmanager
def drawn(path: Path, columns: int = 1, **options: Any) -> Iterator[tuple[Any, Any]]:
    """A figure and its axes, saved as PNG at the end; needs matplotlib."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, columns, **options)
    try:
        yield figure, axes
        figure.tight_layout()
        with whole_file(path) as temporary:
            figure.savefig(temporary, dpi=110, format="png")
    finally:
        plt.close(figure)
