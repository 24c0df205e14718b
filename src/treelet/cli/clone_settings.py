"""What ``treelet clones`` and ``treelet check`` share: settings in pyproject.toml, the cache, and files with the result."""

from __future__ import annotations

import json
import os
import shlex
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treelet.cli.options import items, one_of, wrong_value
from treelet.errors import FileError

if TYPE_CHECKING:
    import typer

    from treelet.tasks.clone_report import CloneReport

_CACHE = ".treelet_cache"
_SECTION = "tool.treelet.clones"
_SETTINGS: dict[str, tuple[str, Any]] = {
    "paths": ("a list of files and folders", list),
    "exclude": ("a list of patterns", list),
    "languages": ("a list of languages", list),
    "similarity": ("a number", (int, float)),
    "min_lines": ("a whole number", int),
    "identifiers": ('"anonymous" or "keep"', str),
    "vendored": ("true or false", bool),
    "encoding": ("the name of an encoding", str),
}
"""The settings of pyproject.toml: what a value must be, and its type."""


def clone_settings(ctx: typer.Context, values: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a search: those of the command line, then those of pyproject.toml, then the defaults."""
    from treelet.formats.languages import LANGUAGES

    if values["languages"] is not None:
        names = items("--languages", values["languages"])
        values = {**values, "languages": [one_of("--languages", name, (*LANGUAGES,)) for name in names]}
    values = {**values, "identifiers": one_of("--identifiers", values["identifiers"], ("anonymous", "keep"))}
    passed = {name for name in values if (source := ctx.get_parameter_source(name)) and source.name != "DEFAULT"}
    written = {name: value for name, value in _written().items() if name not in passed}
    return values | written


def _written() -> dict[str, Any]:
    """Return the settings of the nearest pyproject.toml that has some, in this folder or one around it."""
    for folder in (Path.cwd(), *Path.cwd().parents):
        file = folder / "pyproject.toml"
        try:
            content = tomllib.loads(file.read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, ValueError) as error:
            raise FileError(f"{file}: the file cannot be read ({error}). Mend the file.") from None
        table: Any = content
        for part in _SECTION.split("."):
            table = table.get(part, {}) if isinstance(table, dict) else {}
        if table:
            return _checked(table, file)
    return {}


def _checked(table: Any, file: Path) -> dict[str, Any]:
    from treelet.checks import in_words, suggestion

    if not isinstance(table, dict):
        raise FileError(f"{file}: {_SECTION} must be a table, [{_SECTION}].")
    settings = {}
    for key, value in table.items():
        name = key.replace("-", "_")
        if name not in _SETTINGS:
            known = in_words(_SETTINGS, "and")
            raise FileError(
                f"{file}: [{_SECTION}] has an unknown key {key!r}.{suggestion(name, _SETTINGS)} Keys are {known}."
            )
        wanted, kind = _SETTINGS[name]
        fits = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
        if not fits or (kind is list and not all(isinstance(item, str) for item in value)):
            raise FileError(f"{file}: {key!r} in [{_SECTION}] must be {wanted}. Got {value!r} instead.")
        settings[name] = value
    if "paths" in settings:  # relative to the file
        paths = [str(file.parent / path) for path in settings["paths"]]
        shown = [os.path.relpath(path) for path in paths]
        settings["paths"] = [
            full if short.split(os.sep)[0] == ".." else short for full, short in zip(paths, shown, strict=True)
        ]
    return settings


def cache_folder(cache: str | None, no_cache: bool, folder: str) -> str | None:
    """Return the folder of the cache: by default, one in the repository of git that contains `folder`; None without one."""
    if cache is not None or no_cache:
        return cache
    from treelet.formats.paths import Repository

    repository = Repository.around(folder)
    return None if repository is None else os.path.join(repository.folder, _CACHE)


def check_outputs(output: Sequence[str] | None, html: str | None) -> list[str]:
    """Return the files to write. Raise an error if the format of one is unknown; a source file is never replaced."""
    if html is not None and Path(html).suffix.lower() not in (".html", ".htm"):
        raise wrong_value("--html", "a file name that ends in .html", html)
    for name in output or ():
        if Path(name).suffix.lower() not in (".json", ".sarif", ".html", ".htm"):
            raise wrong_value("--output", "a file name that ends in .json, .sarif or .html", name)
    return [*(output or ()), *([] if html is None else [html])]


def write_outputs(report: CloneReport, files: Sequence[str], encoding: str) -> None:
    """Write a report to files, each in the format of its suffix."""
    from treelet.formats.files import open_target

    for name in files:
        suffix = Path(name).suffix.lower()
        if suffix in (".json", ".sarif"):
            with open_target(name) as stream:
                json.dump(report.as_json() if suffix == ".json" else report.as_sarif(), stream, indent=1)
                stream.write("\n")
        else:
            from treelet.report import clones_page

            created_by = shlex.join(["treelet", *sys.argv[1:]]) if sys.argv[1:2] in (["clones"], ["check"]) else ""
            clones_page.write(report, name, command=created_by, encoding=encoding)


def print_left_out(report: CloneReport) -> None:
    """Print what was not compared."""
    from treelet.checks import plural

    if report.vendored_files:
        were = "was" if report.vendored_files == 1 else "were"
        print(
            f"{plural(report.vendored_files, 'file')} in folders such as node_modules and vendor, or with very long lines, "
            f"{were} left out; --vendored includes them."
        )
    if report.silenced_functions:
        were = "was" if report.silenced_functions == 1 else "were"
        print(f"{plural(report.silenced_functions, 'function')} {were} left out by comments (treelet: ignore[clones]).")
