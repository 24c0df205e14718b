"""What every experiment leaves behind: a JSON object, a Markdown page, and the command, commit and date that made them."""

from __future__ import annotations

import base64
import json
import re
import subprocess
from collections.abc import Iterable, Sequence
from datetime import date
from html import escape
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
    """Write ``NAME.json``, ``NAME.md`` and ``NAME.html``, a page of its own with its pictures in it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.html").write_text(html(page, folder), encoding="utf-8")
    (folder / f"{name}.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    (folder / f"{name}.md").write_text(page, encoding="utf-8")
    return [folder / f"{name}.{suffix}" for suffix in ("json", "md", "html")]


STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .7rem; border-bottom: 1px solid #ddd; }
th { border-bottom: 2px solid #999; font-weight: 600; }
img { max-width: 100%; }
code { background: #f3f3f3; padding: .1em .3em; border-radius: 3px; }
"""


def html(page: str, folder: Path) -> str:
    """A Markdown page as HTML that stands alone: pictures that lie in the folder are put into it."""
    from markdown_it import MarkdownIt

    body = MarkdownIt("commonmark").enable("table").render(page)

    def embedded(match: re.Match[str]) -> str:
        path = folder / match[1]
        if not path.is_file():
            return match[0]
        return f'src="data:image/png;base64,{base64.b64encode(path.read_bytes()).decode()}"'

    body = re.sub(r'src="([^":]+\.png)"', embedded, body)
    title = page.partition("\n")[0].lstrip("# ")
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
        f"<style>{STYLE}</style>\n<body>\n{body}</body>\n</html>\n"
    )
