"""What a format is, and the registry of them.

A format turns bytes into a `Document`: named columns of trees (hash-consed, in the native core), and where the
format has them, labels and feature vectors, one row an example.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import os
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from treelet.errors import FileError, FormatError, ParameterError

PathLike = str | os.PathLike[str]
CHUNK = 1 << 20
COMPRESSED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}


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


class Source:
    """Bytes from a file, a stream or a string, with a name for error messages."""

    def __init__(self, stream: IO[bytes], name: str, encoding: str = "utf-8") -> None:
        self.stream, self.name = stream, name
        try:
            "".encode(encoding)  # refuses unknown ones, and codecs that are not for text
            self.encoding = codecs.lookup(encoding).name
        except (LookupError, TypeError):
            raise ParameterError(
                f"The 'encoding' parameter must be a text encoding. Got {encoding!r} instead."
            ) from None

    def chunks(self) -> Iterator[bytes]:
        """The bytes, as UTF-8, in pieces."""
        yield from self._raw_chunks()

    def lines(self) -> Iterator[bytes]:
        """The lines, as UTF-8, without their ends."""
        rest: list[bytes] = []
        for chunk in self._raw_chunks():
            first, *others = chunk.split(b"\n")
            rest.append(first)
            for other in others:
                yield b"".join(rest).removesuffix(b"\r")
                rest = [other]
        if any(rest):
            yield b"".join(rest).removesuffix(b"\r")

    def text_lines(self) -> Iterator[tuple[int, str]]:
        """Numbered lines as text."""
        for number, line in enumerate(self.lines(), 1):
            try:
                yield number, line.decode("utf-8")
            except UnicodeDecodeError as error:
                raise self.error(
                    'these bytes are not UTF-8 text; if the file has another encoding, name it (encoding="latin-1")',
                    number,
                    len(line[: error.start].decode("utf-8")) + 1,
                ) from None

    def error(self, message: str, line: int | None = None, column: int | None = None) -> FormatError:
        return FormatError(message, self.name, line, column)

    def _raw_chunks(self) -> Iterator[bytes]:
        decoder = None if self.encoding == "utf-8" else codecs.getincrementaldecoder(self.encoding)()
        start: bytes | None = b""  # until it is known whether the text begins with a byte order mark
        while True:
            try:
                raw = self.stream.read(CHUNK)
            except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
                raise FileError(f"{self.name}: cannot be read to its end ({error}); is the file whole?") from error
            chunk = raw
            if decoder is not None:
                try:
                    chunk = decoder.decode(raw, final=not raw).encode("utf-8", "surrogatepass")
                except UnicodeDecodeError as error:
                    raise self.error(f"not text in the encoding {self.encoding}: {error.reason}") from None
            if start is not None:
                start += chunk
                if len(start) < len(codecs.BOM_UTF8) and raw:
                    continue
                chunk, start = start.removeprefix(codecs.BOM_UTF8), None
            if chunk:
                yield chunk
            if not raw:
                return


@contextmanager
def open_source(file: PathLike | IO[bytes] | IO[str], encoding: str = "utf-8") -> Iterator[Source]:
    """A file by name (``.gz``, ``.xz``, ``.bz2`` are unpacked; ``-`` is the standard input) or an open stream."""
    if hasattr(file, "read"):
        name = str(getattr(file, "name", "<stream>"))
        sample = file.read(0)
        if isinstance(sample, str):
            yield Source(io.BytesIO(cast("IO[str]", file).read().encode("utf-8", "surrogatepass")), name)
        else:
            yield Source(cast("IO[bytes]", file), name, encoding)
        return
    if file == "-":
        yield Source(sys.stdin.buffer, "<stdin>", encoding)
        return
    path = Path(file)
    opener = COMPRESSED.get(path.suffix.lower(), open)
    try:
        stream = opener(path, "rb")
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise FileError(f"{path}: cannot be opened ({getattr(error, 'strerror', None) or error})") from error
    with stream:
        yield Source(stream, str(path), encoding)


@contextmanager
def open_whole(path: PathLike) -> Iterator[IO[bytes]]:
    """A file to write that appears under its name only when it is complete.

    Links are followed; what is no regular file (a pipe, a device) is written directly.
    """
    target = Path(path).resolve()
    temporary: str | None = None
    try:
        if target.exists() and not target.is_file():
            with open(target, "wb") as stream:
                yield stream
            return
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        with os.fdopen(handle, "wb") as stream:
            yield stream
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, target)
        temporary = None
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"{path}: cannot be written ({error.strerror or error})") from error
    finally:
        if temporary is not None:
            os.unlink(temporary)


def find_format(name: str | None, file: object = None) -> Format:
    """The format called `name`, or the one that the file's name suggests (brackets, if none does)."""
    if name is not None:
        if name not in FORMATS:
            raise ParameterError(f"The 'format' parameter must be one of {sorted(FORMATS)}. Got {name!r} instead.")
        return FORMATS[name]
    path = Path(str(file)) if isinstance(file, (str, os.PathLike)) else Path(str(getattr(file, "name", "")))
    if path.suffix.lower() in COMPRESSED:
        path = path.with_suffix("")
    for known in FORMATS.values():
        if path.suffix.lower() in known.suffixes:
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
    if file == "-":
        chosen.write(document, sys.stdout)
    elif hasattr(file, "write"):
        chosen.write(document, cast("IO[str]", file))
    else:
        path = Path(file)
        opener = COMPRESSED.get(path.suffix.lower())
        with open_whole(path) as stream:
            packed = opener(stream, "wb") if opener else stream
            text = io.TextIOWrapper(packed, encoding="utf-8", newline="\n")
            chosen.write(document, text)
            text.flush()
            text.detach()
            if opener:
                packed.close()
