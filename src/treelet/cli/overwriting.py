"""Protection of input files: before a command runs, its outputs are compared with its inputs and with each other.

A parameter that names a file is ``Annotated[str, typer.Argument(...), READ]`` or ``WRITTEN``. An output folder is marked with
the names of the files that are written there: ``OutputFile("report.*")``. `check_files` is called for every command.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, get_type_hints

from treelet.cli.options import shown_name
from treelet.errors import FileError, ParameterError


class _InputFile:
    """Marks a parameter that names, or may name, an input file."""


class OutputFile:
    """Marks a parameter that names an output file, or an output folder for files with these names."""

    def __init__(self, *names: str) -> None:
        self.names = names


READ, WRITTEN = _InputFile(), OutputFile()
Mark = _InputFile | OutputFile


def _marks(callback: Callable[..., Any]) -> dict[str, Mark]:
    """Return the marks of the parameters that name files."""
    marked = {}
    for name, hint in get_type_hints(callback, include_extras=True).items():
        for mark in getattr(hint, "__metadata__", ()):
            if isinstance(mark, Mark):
                marked[name] = mark
    return marked


def check_files(ctx: Any) -> None:
    """Raise an error if an output is also an input or another output. Links are followed."""
    shown = {parameter.name: shown_name(parameter) for parameter in ctx.command.params}
    read, written = [], []
    for name, mark in _marks(ctx.command.callback).items() if ctx.command.callback else ():  # a group may have none
        for text in _texts(ctx.params.get(name)):
            if isinstance(mark, OutputFile):
                written.append((shown[name], text, Path(text), mark.names))
            else:
                read.append((shown[name], text, Path(text.removeprefix("@"))))
    for number, (output, text, path, names) in enumerate(written):
        for source, _, file in read:
            if _writes(path, names, file):
                raise ParameterError(
                    f"{text}: {output} would overwrite {source}, which is an input. Choose another name."
                )
        for other, _, file, others in written[:number]:
            if _writes(path, names, file) or _writes(file, others, path):
                raise ParameterError(f"{text}: {other} and {output} are the same file. Choose another name.")
    streams = [("input", sys.stdin, [file[:3] for file in written]), ("output", sys.stdout, read)]
    for standard, stream, files in streams:
        for parameter, text, path in files:
            if _is_stream(path, stream):
                raise ParameterError(f"{text}: {parameter} is also standard {standard}. Choose another name.")


@contextmanager
def naming_output(temporary: Path, output: str) -> Iterator[None]:
    """Name the output file, not the temporary file that is written first, in errors."""
    try:
        yield
    except FileError as error:
        raise FileError(str(error).replace(str(temporary), output)) from error


def _texts(value: Any) -> Iterator[str]:
    for item in value if isinstance(value, list | tuple) else [value]:
        if item is not None and str(item) != "-":
            yield str(item)


def _writes(path: Path, names: tuple[str, ...], other: Path) -> bool:
    """Whether writing a file, or files with these names into a folder, would overwrite the other file."""
    if not names:
        return _same(path, other)
    inside = [path / other.name, *(path.iterdir() if path.is_dir() else ())]  # links in the folder are followed
    return any(_same(file, other) for file in inside if any(fnmatch(file.name, name) for name in names))


def _same(first: Path, second: Path) -> bool:
    """Whether two names lead to the same file or folder, which need not exist. Devices and pipes cannot be overwritten."""
    try:
        if first.exists():
            return (first.is_file() or first.is_dir()) and first.samefile(second)
        return first.resolve() == second.resolve()
    except (OSError, ValueError, RuntimeError):  # not a valid file name, for example a tree
        return False


def _is_stream(path: Path, stream: Any) -> bool:
    try:
        return path.is_file() and os.path.samefile(path, stream.fileno())
    except (AttributeError, OSError, ValueError):  # the stream has no file, or the path is a tree, say
        return False
