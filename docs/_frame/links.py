"""Convert links between files of the repository to links of the site, or to the online repository."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path, PurePosixPath

REPOSITORY = "https://github.com/treelet/treelet"
FENCED = re.compile(r"(^ *(?:```+|~~~+).*?^ *(?:```+|~~~+) *$)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?![a-z]+:|#)([^)#\s]+)(#[^)\s]*)?\)")
STAGED = {
    "CHANGELOG.md": "docs/project/changes.md",
    "CONTRIBUTING.md": "docs/project/contributing.md",
    "README.md": "docs/index.md",
}
NOTEBOOKS = "docs/gallery"


def place_in_site(path: str) -> str:
    """Return the path that a file of the repository has on the site. Both paths are relative to the repository root."""
    if path.startswith("examples/") and path.endswith(".ipynb"):
        return f"{NOTEBOOKS}/{PurePosixPath(path).name}"
    return STAGED.get(path, path)


def for_site(text: str, page: str, root: Path) -> str:
    """Return the Markdown of a page with its links converted for the site.

    `page` is the path of the page relative to `root`, the repository root. Broken links are kept, so Sphinx reports them.
    """
    here = os.path.dirname(place_in_site(page))

    def replaced(match: re.Match[str]) -> str:
        target, anchor = match[1], match[2] or ""
        path = os.path.normpath(os.path.join(os.path.dirname(page), target))
        if path.startswith("..") or not (root / path).exists():
            return match[0]
        there = place_in_site(path)
        if there.startswith("docs/") and (root / path).is_file():
            return f"]({os.path.relpath(there, here)}{anchor})"
        kind = "tree" if (root / path).is_dir() else "blob"
        return f"]({REPOSITORY}/{kind}/main/{path}{anchor})"

    return outside_fences(text, lambda part: LINK.sub(replaced, part))


def outside_fences(text: str, change: Callable[[str], str]) -> str:
    parts = FENCED.split(text)
    return "".join(part if number % 2 else change(part) for number, part in enumerate(parts))


def notebook_for_site(text: str, page: str, root: Path) -> str:
    notebook = json.loads(text)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = for_site("".join(cell["source"]), page, root)
    return json.dumps(notebook, indent=1, ensure_ascii=False)
