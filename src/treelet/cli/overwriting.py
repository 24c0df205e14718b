"""Protection of input files: before a command runs, its outputs are compared with its inputs and with each other.

A parameter that names a file is ``Annotated[str, typer.Argument(...), READ]`` or ``WRITTEN``. An output folder is marked with
the names of the files that are written there: ``OutputFile("report.*")``. `check_files` is called for every command.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, get_type_hints

from treelet.cli.options import shown_name
from treelet.errors import FileError, ParameterError


class InputFile:
    """Marks a parameter that names, or may name, an input file."""


class OutputFile:
    """Marks a parameter that names an output file, or an output folder for files with these names."""

    def __init__(self, *names: str) -> None:
        self.names = names


READ, WRITTEN = InputFile(), OutputFile()
Mark = InputFile | OutputFile


def _marks(callback: Callable[..., Any]) -> dict[str, Mark]:
    """Return the marks of the parameters that name files."""
    marked = {}
    for name, hint in get_type_hints(callback, include_extras=True).items():
        for mark in getattr(hint, "__metadata__", ()):
            if isinstance(mark, Mark):
                marked[name] = mark
    return marked


@dataclass(frozen=True)
class _NamedFile:
    """A file name as the user wrote it, and the parameter with that value."""

    parameter: str
    text: str
    path: Path
    names: tuple[str, ...] = ()

    def writes(self, other: _NamedFile) -> bool:
        """Whether writing this file or folder would overwrite the other file."""
        if not self.names:
            return _same(self.path, other.path)
        inside = [other.path] if _same(self.path, other.path.parent) else []
        inside += self.path.iterdir() if self.path.is_dir() else []  # links in the folder are followed
        return any(_same(file, other.path) for file in inside if any(fnmatch(file.name, name) for name in self.names))


def check_files(ctx: Any) -> None:
    """Raise an error if an output is also an input or another output. Names and links are resolved first."""
    read, written = _files(ctx)
    for number, output in enumerate(written):
        for source in read:
            if output.writes(source):
                raise ParameterError(
                    f"{output.text}: {output.parameter} would overwrite {source.parameter}, which is an input. "
                    "Choose another name."
                )
        for other in written[:number]:
            if output.writes(other) or other.writes(output):
                raise ParameterError(
                    f"{output.text}: {other.parameter} and {output.parameter} are the same file. Choose another name."
                )
    stdin, stdout = _stream(sys.stdin), _stream(sys.stdout)
    for file, stream, name in [(f, stdin, "input") for f in written] + [(f, stdout, "output") for f in read]:
        if _is(file.path, stream):
            raise ParameterError(f"{file.text}: {file.parameter} is also standard {name}. Choose another name.")


@contextmanager
def naming_output(temporary: Path, output: str) -> Iterator[None]:
    """Name the output file, not the temporary file that is written first, in errors."""
    try:
        yield
    except FileError as error:
        raise FileError(str(error).replace(str(temporary), output)) from error


def _files(ctx: Any) -> tuple[list[_NamedFile], list[_NamedFile]]:
    """Return the input files and the output files of a command."""
    shown = {parameter.name: shown_name(parameter) for parameter in ctx.command.params}
    read, written = [], []
    for name, mark in _marks(ctx.command.callback).items() if ctx.command.callback else ():  # a group may have none
        for file in _texts(ctx.params.get(name)):
            if isinstance(mark, InputFile):
                read.append(_NamedFile(shown[name], file, Path(file.removeprefix("@"))))
            else:
                written.append(_NamedFile(shown[name], file, Path(file), mark.names))
    return read, written


def _texts(value: Any) -> Iterator[str]:
    for item in value if isinstance(value, list | tuple) else [value]:
        if item is not None and str(item) != "-":
            yield str(item)


def _stream(stream: Any) -> os.stat_result | None:
    """Return the status of the regular file behind a stream, if there is one."""
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
    """Whether two names lead to the same file or folder, which need not exist. Devices and pipes cannot be overwritten."""
    try:
        status = first.stat()
    except (OSError, ValueError):
        try:
            return first.resolve() == second.resolve()
        except (OSError, ValueError, RuntimeError):  # not a valid file name, for example a tree
            return False
    return (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)) and _is(second, status)
