"""What every experiment leaves behind: a JSON object, a Markdown page, and the command, commit and date that made them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import treelet


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


def table(header: Sequence[str], rows: Iterable[Sequence[object]], right: Sequence[int] = ()) -> str:
    """A Markdown table; the columns in `right` hold numbers."""
    lines = [
        f"| {' | '.join(header)} |",
        "|" + "|".join("---:" if k in right else "---" for k in range(len(header))) + "|",
    ]
    lines += [f"| {' | '.join(str(cell) for cell in row)} |" for row in rows]
    return "\n".join(lines)


def write(folder: Path, name: str, results: dict[str, Any], page: str) -> list[Path]:
    """Write ``NAME.json`` and ``NAME.md``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    (folder / f"{name}.md").write_text(page, encoding="utf-8")
    return [folder / f"{name}.json", folder / f"{name}.md"]
