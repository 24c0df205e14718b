"""What a command writes must be nothing that it reads, unless it is said to take its place: parameters are marked, and compared before the command runs.

A parameter that names a file is ``Annotated[str, typer.Argument(...), READ]`` or ``WRITTEN``; a folder in which files appear
is marked with their names, ``OutputFile("report.*")``. `check_files` is called for every command, in one place.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, get_type_hints

from treelet.cli.wording import shown_name
from treelet.errors import ParameterError


class InputFile:
    """Marks a parameter that names a file which is read; or that may, where it can also be something else.

    What another parameter writes may take its place, if that one is named: such a file is replaced when the new one is complete.
    """

    def __init__(self, replaced_by: str | None = None) -> None:
        self.replaced_by = replaced_by


class OutputFile:
    """Marks a parameter that names a file which is written, or a folder in which files of these names are."""

    def __init__(self, *names: str) -> None:
        self.names = names


READ, WRITTEN = InputFile(), OutputFile()
Mark = InputFile | OutputFile


def marks(callback: Callable[..., Any]) -> dict[str, Mark]:
    """The parameters of a command that name files."""
    marked = {}
    for name, hint in get_type_hints(callback, include_extras=True).items():
        for mark in getattr(hint, "__metadata__", ()):
            if isinstance(mark, Mark):
                marked[name] = mark
    return marked


@dataclass(frozen=True)
class NamedFile:
    """A file as it was given, and by which parameter."""

    parameter: str
    text: str
    path: Path
    names: tuple[str, ...] = ()
    may_be: str | None = None

    def writes(self, other: NamedFile) -> bool:
        """Whether this one, when it is written, is or holds the other one."""
        if not self.names:
            return _same(self.path, other.path)
        inside = [other.path] if _same(self.path, other.path.parent) else []
        inside += self.path.iterdir() if self.path.is_dir() else []  # links in there are followed
        return any(_same(file, other.path) for file in inside if any(fnmatch(file.name, name) for name in self.names))


def check_files(ctx: Any) -> None:
    """Refuse outputs that are inputs, or each other, whatever the names and links that lead to them."""
    read, written = _files(ctx)
    for number, output in enumerate(written):
        for source in read:
            if output.writes(source) and output.parameter != source.may_be:
                raise ParameterError(
                    f"{output.text}: {output.parameter} would overwrite {source.parameter}, which is read: "
                    "choose another name"
                )
        for other in written[:number]:
            if output.writes(other) or other.writes(output):
                raise ParameterError(
                    f"{output.text}: {other.parameter} and {output.parameter} are one file: choose another name"
                )
    stdin, stdout = _stream(sys.stdin), _stream(sys.stdout)
    for file, stream, name in [(f, stdin, "input") for f in written] + [(f, stdout, "output") for f in read]:
        if _is(file.path, stream):
            raise ParameterError(f"{file.text}: {file.parameter} is the standard {name}: choose another name")


def _files(ctx: Any) -> tuple[list[NamedFile], list[NamedFile]]:
    """What is read and what is written."""
    shown = {parameter.name: shown_name(parameter) for parameter in ctx.command.params}
    read, written = [], []
    for name, mark in marks(ctx.command.callback).items():
        for file in _texts(ctx.params.get(name)):
            if isinstance(mark, InputFile):
                may_be = shown.get(mark.replaced_by)
                read.append(NamedFile(shown[name], file, Path(file.removeprefix("@")), may_be=may_be))
            else:
                written.append(NamedFile(shown[name], file, Path(file), mark.names))
    return read, written


def _texts(value: Any) -> Iterator[str]:
    for item in value if isinstance(value, list | tuple) else [value]:
        if item is not None and str(item) != "-":
            yield str(item)


def _stream(stream: Any) -> os.stat_result | None:
    """The file that a stream goes to or comes from, if it is one."""
    try:
        status = os.fstat(stream.fileno())
    except (AttributeError, OSError, ValueError):
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def _is(path: Path, status: os.stat_result | None) -> bool:
    try:
        return status is not None and os.path.samestat(path.stat(), status)
    except (OSError, ValueError):
        return False


def _same(first: Path, second: Path) -> bool:
    """Whether two names lead to one file or folder, which need not be there yet; a device or a pipe cannot be overwritten."""
    try:
        status = first.stat()
    except (OSError, ValueError):
        try:
            return first.resolve() == second.resolve()
        except (OSError, ValueError, RuntimeError):  # what is no name of a file, such as a tree
            return False
    return (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)) and _is(second, status)
