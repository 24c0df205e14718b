"""What every experiment leaves behind: a JSON object, a Markdown page, pictures, and what made them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import treelet
from treelet.formats.files import open_target, whole_file


def provenance(command: str) -> dict[str, str]:
    """Where a result comes from."""
    folder = Path(treelet.__file__).parent
    try:
        run = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], cwd=folder, capture_output=True, text=True, check=True
        )
        commit = run.stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        commit = "unknown"
    return {"command": command, "commit": commit, "date": date.today().isoformat(), "version": treelet.__version__}


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


def table(header: Sequence[str], rows: Iterable[Sequence[object]], right: Sequence[int] = ()) -> str:
    """A Markdown table; the columns in `right` hold numbers."""
    lines = [
        f"| {' | '.join(header)} |",
        "|" + "|".join("---:" if k in right else "---" for k in range(len(header))) + "|",
    ]
    lines += [f"| {' | '.join(str(cell) for cell in row)} |" for row in rows]
    return "\n".join(lines)


def write(folder: Path, name: str, results: dict[str, Any], page: str) -> list[Path]:
    """Write ``NAME.json`` and ``NAME.md``, each whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for suffix, text in (("json", json.dumps(results, indent=1) + "\n"), ("md", page)):
        written.append(folder / f"{name}.{suffix}")
        with open_target(written[-1]) as stream:
            stream.write(text)
    return written


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
