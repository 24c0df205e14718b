"""The outputs of every experiment: results as JSON, scores per item, a Markdown page, a picture, and their provenance."""

from __future__ import annotations

import json
import lzma
import re
import subprocess
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import treelet
from experiments.sources import RESULTS, ROOT, imported
from treelet.formats.files import open_target, whole_file

WIDTH = 100  # characters of a line of prose on a page


def provenance(command: str) -> dict[str, Any]:
    """Return the provenance of a result: command, commit (with + if files differ from it), date and source files."""
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
    """Return the line of a page that describes its provenance."""
    return (
        f"{created(results['made_by']).rstrip('.')}, in {results['seconds']:.0f} s of wall-clock time and "
        f"{results['cpu_seconds']:.0f} s of CPU time."
    )


def created(made: Mapping[str, Any]) -> str:
    """Return a sentence with the command, the commit and the date of a result."""
    return f"Created with `{made['command']}` at commit `{made['commit']}` on {made['date']}."


def page(parts: Iterable[str]) -> str:
    r"""Join the parts of a Markdown page, and wrap its paragraphs and list items.

    >>> print(page(["# Title", "| a |\n|---|", "word " * 25]), end="")
    # Title
    <BLANKLINE>
    | a |
    |---|
    <BLANKLINE>
    word word word word word word word word word word word word word word word word word word word word
    word word word word word
    """
    kept = [part for part in parts if part]
    blocks = [block for part in kept for block in ([part] if part.startswith("```") else part.split("\n\n"))]
    return "\n\n".join(map(_wrapped, blocks)) + "\n"


def _wrapped(block: str) -> str:
    """Wrap a paragraph or a list. Headings, tables, pictures and code stay as they are."""
    if block.startswith(("#", "|", "!", "```", "<")):
        return block
    items = re.split(r"\n(?=\s*- )", block)
    return "\n".join(map(_wrapped_item, items))


def _wrapped_item(text: str) -> str:
    indent = text[: len(text) - len(text.lstrip())]
    rest = indent + "  " if text.lstrip().startswith("- ") else ""
    # A line must not begin with a character that starts a list, a quotation or a heading.
    glued = re.sub(r" (?=(?:[-+*>#]|\d+[.)]) )", "\0", " ".join(text.split()))
    glued = re.sub(r"`[^`]+`", lambda code: code[0].replace(" ", "\0"), glued)
    lines = textwrap.wrap(
        glued, WIDTH, initial_indent=indent, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(lines).replace("\0", " ")


def p_value(value: float | None) -> str:
    """Format a p-value for a page.

    >>> p_value(0.03), p_value(0.00001), p_value(None)
    ('0.0300', '< 0.0001', '')
    """
    return "" if value is None else "< 0.0001" if value < 1e-4 else f"{value:.4f}"


def plus_minus(found: Mapping[str, float], digits: int = 2) -> str:
    """Format a mean over splits with the standard deviation.

    >>> plus_minus({"mean": 61.234, "std": 0.5})
    '61.23 ± 0.50'
    """
    return f"{found['mean']:.{digits}f} ± {found['std']:.{digits}f}"


def interval(ends: Sequence[float], digits: int = 2) -> str:
    """Format the ends of an interval.

    >>> interval([-0.5, 1.25])
    '-0.50 to +1.25'
    """
    return f"{ends[0]:+.{digits}f} to {ends[1]:+.{digits}f}"


def difference(test: Mapping[str, Any], digits: int = 2) -> str:
    """Format a difference with its interval.

    >>> difference({"difference": 1.0, "interval": [0.5, 1.5]}, 1)
    '+1.0 (+0.5 to +1.5)'
    """
    return f"{test['difference']:+.{digits}f} ({interval(test['interval'], digits)})"


def table(header: Sequence[str], rows: Iterable[Sequence[object]], right: Sequence[int] = ()) -> str:
    """Return a Markdown table. The columns in `right` are aligned to the right."""
    lines = [
        f"| {' | '.join(header)} |",
        "|" + "|".join("---:" if k in right else "---" for k in range(len(header))) + "|",
    ]
    lines += [f"| {' | '.join(str(cell) for cell in row)} |" for row in rows]
    return "\n".join(lines)


def write(folder: Path, name: str, results: dict[str, Any], page: str, items: Sequence[Any] = ()) -> list[Path]:
    """Write ``NAME.json``, ``NAME.md`` and the scores per item. A file appears only when it is complete."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {"json": json.dumps(results, indent=1) + "\n", "md": page}
    if items:
        texts["items.json.xz"] = json.dumps(items, separators=(",", ":")) + "\n"
    for suffix, text in texts.items():
        with open_target(folder / f"{name}.{suffix}") as stream:
            stream.write(text)
    return [folder / f"{name}.{suffix}" for suffix in texts]


def read(name: str, folder: Path = RESULTS) -> dict[str, Any]:
    """Read the results of an experiment."""
    found: dict[str, Any] = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return found


def items(name: str, folder: Path = RESULTS) -> list[dict[str, Any]]:
    """Read the scores of each system on each item of each split, for `differences.across`."""
    with lzma.open(folder / f"{name}.items.json.xz", "rt", encoding="utf-8") as stream:
        found: list[dict[str, Any]] = json.load(stream)
    return found


@contextmanager
def drawn(path: Path, columns: int = 1, **options: Any) -> Iterator[tuple[Any, Any]]:
    """Yield a figure and its axes, and save the figure as PNG at the end. Requires matplotlib."""
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
