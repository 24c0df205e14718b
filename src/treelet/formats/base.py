"""What a format is, and the registry of them.

A format turns bytes into a `Document`: named columns of trees (hash-consed, in the native core), and where the
format has them, labels and feature vectors, one row an example.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treelet.checks import wrong
from treelet.errors import ParameterError
from treelet.formats.files import PathLike, open_source, open_target, unpacked_name


class Columns(NamedTuple):
    """Trees as the native core holds them: a store of distinct subtrees, and the root of each tree (-1: none)."""

    store: Any
    roots: NDArray[np.int32]


@dataclass
class Document:
    """What a file holds, one row an example.

    Attributes
    ----------
    trees : dict of str to Columns
        Named columns of trees. Formats with one unnamed tree a row call it ``"tree"``.
    labels : list of str or None
        The class or target value of each row, as written.
    vectors : dict of str to list of dict
        Named sparse feature vectors: ``{index or name: value}`` a row. Formats with unnamed ones call them ``"vector"``.
    strings : dict of str to list of str
        Named columns of plain text.
    """

    trees: dict[str, Columns] = field(default_factory=dict)
    labels: list[str] | None = None
    vectors: dict[str, list[dict[str | int, float]]] = field(default_factory=dict)
    strings: dict[str, list[str]] = field(default_factory=dict)

    def __len__(self) -> int:
        if self.labels is not None:
            return len(self.labels)
        for columns in self.trees.values():
            return len(columns.roots)
        return max((len(values) for group in (self.vectors, self.strings) for values in group.values()), default=0)


@dataclass(frozen=True)
class Format:
    """A file format: how to read it, perhaps how to write it, and the file names that suggest it."""

    name: str
    description: str
    read: Callable[..., Document]  # (source: Source, **options)
    write: Callable[[Document, IO[str]], None] | None = None
    suffixes: tuple[str, ...] = ()


FORMATS: dict[str, Format] = {}


def register(format: Format) -> Format:
    """Add a format to the registry, so that every reader and command knows it."""
    FORMATS[format.name] = format
    return format


def find_format(name: str | None, file: object = None) -> Format:
    """The format called `name`, or the one that the file's name suggests (brackets, if none does)."""
    if name is not None:
        if name not in FORMATS:
            raise wrong("format", f"one of {sorted(FORMATS)}", name)
        return FORMATS[name]
    name = os.fspath(file) if isinstance(file, (str, os.PathLike)) else str(getattr(file, "name", ""))
    suffix = unpacked_name(name).suffix.lower()
    for known in FORMATS.values():
        if suffix in known.suffixes:
            return known
    return FORMATS["brackets"]


def read_document(
    file: PathLike | IO[bytes] | IO[str], format: str | None = None, *, encoding: str = "utf-8", **options: Any
) -> Document:
    """Read a file in any registered format."""
    chosen = find_format(format, file)
    with open_source(file, encoding) as source:
        try:
            return chosen.read(source, **options)
        except TypeError as error:
            if "unexpected keyword argument" not in str(error):
                raise
            raise ParameterError(f"the format {chosen.name!r} does not know this option: {error}") from None


def write_document(document: Document, file: PathLike | IO[str], format: str | None = None) -> None:
    """Write a file in any registered format that can be written; ``-`` is the standard output."""
    chosen = find_format(format, file)
    if chosen.write is None:
        writable = sorted(name for name, known in FORMATS.items() if known.write)
        raise ParameterError(f"the format {chosen.name!r} cannot be written; choose one of {writable}")
    with open_target(file) as stream:
        chosen.write(document, stream)
