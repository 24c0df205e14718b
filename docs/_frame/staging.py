"""Copy files from outside ``docs``, and pages generated from code, to folders below ``docs`` that git ignores."""

from __future__ import annotations

from pathlib import Path

from _frame import api, commands
from _frame.links import NOTEBOOKS, STAGED, for_site, notebook_for_site, place_in_site


def stage(root: Path) -> None:
    """Write new and changed pages and remove old ones. Unchanged pages keep their time, so Sphinx skips them."""
    files = {
        "docs/api/commands.md": commands.page(),
        **{f"docs/api/{name}.rst": text for name, text in api.pages().items()},
    }
    for name in STAGED:
        if name != "README.md":
            files[STAGED[name]] = for_site((root / name).read_text(encoding="utf-8"), name, root)
    for notebook in sorted((root / "examples").glob("*.ipynb")):
        path = notebook.relative_to(root).as_posix()
        files[place_in_site(path)] = notebook_for_site(notebook.read_text(encoding="utf-8"), path, root)
    for folder in ("docs/api", "docs/project", NOTEBOOKS):
        for old in (root / folder).glob("*"):
            if old.is_file() and old.relative_to(root).as_posix() not in files:
                old.unlink()
    for name, text in files.items():
        file = root / name
        if not file.is_file() or file.read_text(encoding="utf-8") != text:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
