"""Files from outside ``docs``, and pages made from the code, put where Sphinx finds them (``docs/.gitignore`` names the folders)."""

from __future__ import annotations

from pathlib import Path

from _frame import api, commands
from _frame.links import NOTEBOOKS, STAGED, for_site, notebook_for_site, place_in_site


def stage(root: Path) -> None:
    """Write what is missing or has changed, and remove what is no longer there: Sphinx reads only what is new."""
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
