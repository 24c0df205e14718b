"""Files: unpacked and packed by their names, ``-`` for the standard streams, written whole or not at all.

`open_source` is for all that is read, `open_target` for all text that is written. What writes by itself, as NumPy and
matplotlib do, is given the name of a `whole_file`.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import os
import shutil
import sys
import tempfile
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, cast

from treelet.checks import check_one_of, wrong
from treelet.errors import FileError, FormatError, InputTypeError, TreeletWarning
from treelet.formats.temporary import naming, own_name, remove_stale
from treelet.printable import shortened
from treelet.vocabulary import keyword

PathLike = str | os.PathLike[str]
BINARY: int = getattr(os, "O_BINARY", 0)  # for os.open: on Windows, bytes are else taken for text
CHUNK = 1 << 20
HEAD = 1 << 16
ON_ERROR = ("raise", "skip")
MOST_UNPACKED = 1 << 28  # bytes that any packed file may have
MOST_GROWTH = 200  # times its size that a larger one may have; texts of trees have 5 to 30
UNPACKED = "TREELET_UNPACKED"
SHOWN = 3  # places of what was left out
MAGIC = {".gz": b"\x1f\x8b\x08", ".xz": b"\xfd7zXZ\x00", ".bz2": b"BZh"}
PACKED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}


def unpacked_name(file: PathLike) -> Path:
    """The name without what says how it is packed.

    >>> unpacked_name("trees.mrg.gz").name, unpacked_name("trees.mrg").name
    ('trees.mrg', 'trees.mrg')
    """
    path = Path(file)
    return path.with_suffix("") if path.suffix.lower() in PACKED else path


def checked_path(file: PathLike) -> Path:
    """Return a file name as a path. Raise an error if no file can have this name.

    Python would raise a ValueError for a NUL, a UnicodeEncodeError for a lone surrogate, and a
    TypeError for bytes.
    """
    name = os.fspath(file) if isinstance(file, str | os.PathLike) else file
    if not isinstance(name, str):
        hint = " Decode it with os.fsdecode." if isinstance(name, bytes) else ""
        raise InputTypeError(f"A file name must be a string or a path. Got {shortened(name)} instead.{hint}")
    try:
        encoded = os.fsencode(name)
    except UnicodeEncodeError:
        raise FileError(f"{shortened(name)} is not a valid file name: it contains a lone surrogate.") from None
    if b"\0" in encoded:
        raise FileError(f"{shortened(name)} is not a valid file name: it contains a NUL character.")
    return Path(name)


# --- reading ----------------------------------------------------------------------------------------------------


class ItemGuard:
    """Context manager around the reading of one item; see `Source.item`.

    A class rather than a generator, because a file may have millions of items.
    """

    def __init__(self, source: Source) -> None:
        self._source = source

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        if isinstance(error, FormatError):
            if self._source.on_error == "skip":
                self._source.refuse(error)
                return True
            error.one_of_many = True
        return False


class Source:
    """Bytes from a file, a stream or a string, with a name for error messages.

    What is wrong with one item of a file (a tree, a row, a sentence) is an error, or the item is left out, as `on_error` says:
    readers work on each within ``with source.item():``, and tell at the end how many there were (`told`).
    """

    def __init__(
        self, stream: IO[bytes], name: str, encoding: str = "utf-8", on_error: str = "raise", *, decoded: bool = False
    ) -> None:
        check_one_of("on_error", on_error, ON_ERROR)
        self.stream, self.name, self.on_error = stream, name, on_error
        self._wrong: list[FormatError] = []  # the first few
        self._doubts: list[str] = []
        self.left_out = 0
        self._item = ItemGuard(self)
        try:
            "".encode(encoding)  # refuses unknown ones, and codecs that are not for text
            self.encoding = codecs.lookup(encoding).name
        except (LookupError, TypeError):
            raise wrong("encoding", "a text encoding", encoding) from None
        self.decoded = decoded or self.encoding != "utf-8"
        """Whether the text is UTF-8 whatever it says of itself, since it was text before or its encoding was named."""
        self.packed: Callable[[], int] | None = None
        """The bytes of what is unpacked here: of the file, or as many as have come through a pipe."""
        self._held: list[bytes] = []  # what was looked at and not yet taken
        self._rest = self._raw_chunks()

    def head(self) -> bytes:
        """The first bytes, as UTF-8, up to `HEAD`; they are still to be taken."""
        while sum(map(len, self._held)) < HEAD and (chunk := next(self._rest, None)) is not None:
            self._held.append(chunk)
        return b"".join(self._held)[:HEAD]

    def chunks(self) -> Iterator[bytes]:
        """The bytes, as UTF-8, in pieces."""
        while self._held:
            yield self._held.pop(0)
        yield from self._rest

    def lines(self) -> Iterator[bytes]:
        """The lines, as UTF-8, without their ends."""
        rest: list[bytes] = []
        for chunk in self.chunks():
            first, *others = chunk.split(b"\n")
            rest.append(first)
            if len(rest) > 1 and b"\0" in first:  # a line of megabytes: it may well have no end
                raise self.error("a NUL byte: this is no text file")
            for other in others:
                yield b"".join(rest).removesuffix(b"\r")
                rest = [other]
        if any(rest):
            yield b"".join(rest).removesuffix(b"\r")

    def text_lines(self) -> Iterator[tuple[int, str]]:
        """Numbered lines as text."""
        for number, line in enumerate(self.lines(), 1):
            try:
                text = self.text(line, number)
            except FormatError as error:
                self.refuse(error)
            else:
                yield number, text

    def text(self, line: bytes, number: int) -> str:
        """A line as text."""
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError as error:
            wide = line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
            raise self.error(
                "these bytes are not UTF-8 text; if the file has another encoding, name it "
                f"({keyword('encoding', 'utf-16' if wide else 'latin-1')})",
                number,
                len(line[: error.start].decode("utf-8")) + 1,
            ) from None

    def groups(self) -> Iterator[list[tuple[int, bytes]]]:
        """The lines between blank ones, numbered; they are not yet text, so that one bad line spoils its group only."""
        group: list[tuple[int, bytes]] = []
        for number, line in enumerate(self.lines(), 1):
            if line.strip():
                group.append((number, line))
            elif group:
                yield group
                group = []
        if group:
            yield group

    def item(self) -> ItemGuard:
        """Around the reading of one item: an error in it is raised, or the item is left out."""
        return self._item

    def refuse(self, error: FormatError) -> None:
        """What is wrong with an item: it is raised, or the item is left out."""
        if self.on_error == "raise":
            raise error
        self.left_out += 1
        if len(self._wrong) < SHOWN:
            self._wrong.append(error)

    def doubt(self, message: str, line: int | None = None, column: int | None = None) -> None:
        """What is allowed, and yet hardly meant: a warning, when all is read."""
        self._doubts.append(str(self.error(message, line, column)))

    def told(self, kept: int, what: str) -> None:
        """Warn of what was left out, beside so many that were kept, and of what is doubtful."""
        for doubt in self._doubts:
            warnings.warn(doubt, TreeletWarning, stacklevel=4)
        if self.left_out:
            places = "; ".join(map(str, self._wrong)) + ("; ..." if self.left_out > len(self._wrong) else "")
            verb = "was" if self.left_out == 1 else "were"
            message = f"{self.left_out:,} of {kept + self.left_out:,} {what} {verb} left out: {places}"
            warnings.warn(message, TreeletWarning, stacklevel=4)

    def error(self, message: str, line: int | None = None, column: int | None = None) -> FormatError:
        return FormatError(message, self.name, line, column)

    def _check_growth(self, taken: int) -> None:
        """Refuse what unpacks to very much more than it was: a bomb, which is refused before it has filled the memory."""
        if self.packed is None or taken <= MOST_UNPACKED or taken <= MOST_GROWTH * (packed := self.packed()):
            return
        limit = os.environ.get(UNPACKED, "")
        if not (limit.isascii() and limit.isdigit() and taken <= int(limit[:18])):
            raise FileError(
                f"{self.name}: {packed:,} bytes unpack to more than {taken:,}, {MOST_GROWTH:,} times as many and more. If that is "
                f"right, unpack the file yourself, or set {UNPACKED} to the number of bytes that it may have"
            )

    def _raw_chunks(self) -> Iterator[bytes]:
        decoder = None if self.encoding == "utf-8" else codecs.getincrementaldecoder(self.encoding)()
        taken = 0
        start: bytes | None = b""  # until it is known whether the text begins with a byte order mark
        while True:
            try:
                raw = self.stream.read(CHUNK)
            except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
                raise FileError(f"{self.name}: cannot be read to its end ({error}); is the file whole?") from error
            taken += len(raw)
            self._check_growth(taken)
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


def text_source(text: str | bytes, name: str = "<text>", encoding: str = "utf-8", on_error: str = "raise") -> Source:
    """A text, or the bytes of one, as a source."""
    if isinstance(text, str):
        return Source(io.BytesIO(text.encode("utf-8", "surrogatepass")), name, on_error=on_error, decoded=True)
    return Source(io.BytesIO(text), name, encoding, on_error)


@contextmanager
def open_source(
    file: PathLike | IO[bytes] | IO[str], encoding: str = "utf-8", on_error: str = "raise"
) -> Iterator[Source]:
    """A file by name (``.gz``, ``.xz``, ``.bz2`` are unpacked; ``-`` is the standard input) or an open stream."""
    if hasattr(file, "read"):
        name = str(getattr(file, "name", "<stream>"))
        sample = file.read(0)
        if isinstance(sample, str):
            yield text_source(cast("IO[str]", file).read(), name, on_error=on_error)
        else:
            yield Source(cast("IO[bytes]", file), name, encoding, on_error)
        return
    if file == "-":
        if sys.stdin is None:
            raise FileError("<stdin>: cannot be read (the standard input is closed)")
        counted = Counted(sys.stdin.buffer)
        unpacked = _unpacked(sys.stdin.buffer, counted)
        source = Source(unpacked, "<stdin>", encoding, on_error)
        if unpacked is not sys.stdin.buffer:
            source.packed = lambda: counted.taken
        yield source
        return
    if not isinstance(file, str | os.PathLike):
        raise InputTypeError(f"a path or an open file is needed, got {type(file).__name__}: read files one at a time")
    path = Path(file)
    opener = PACKED.get(path.suffix.lower(), open)
    try:
        stream = opener(path, "rb")
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        hint = "; read its files one at a time" if isinstance(error, IsADirectoryError) else ""
        reason = getattr(error, "strerror", None) or error
        if (name := str(path)).lstrip().startswith("("):
            name = shortened(name)
            hint = "; a file's name is needed here: trees in a string are read from io.StringIO(text), or by Treebank([...])"
        raise FileError(f"{name}: cannot be opened ({reason}){hint}") from error
    with stream:
        unpacked = _unpacked(stream, stream) if opener is open else stream
        source = Source(unpacked, str(path), encoding, on_error)
        if unpacked is not stream or opener is not open:
            size = path.stat().st_size
            if size == 0 and path.is_file():  # of which gzip says that it is whole
                raise FileError(f"{path}: is empty, and so no packed file; is the file whole?")
            source.packed = lambda: size
        yield source


class Counted:
    """A stream that knows how many bytes were taken from it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self.taken = stream, 0

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        data = self._stream.read(size)
        self.taken += len(data)
        return data


def _unpacked(stream: IO[bytes], packed: IO[bytes] | Counted) -> IO[bytes]:
    """What is packed under a name that does not say so, or comes from a pipe, is known by its first bytes; it is taken as `packed`."""
    head = b""
    if isinstance(stream, io.BufferedReader):
        head = stream.peek(8)[:8]
    elif stream.seekable():  # a stand-in for the standard input
        begin = stream.tell()
        head = stream.read(8)
        stream.seek(begin)
    suffix = next((suffix for suffix, magic in MAGIC.items() if head.startswith(magic)), None)
    return cast("IO[bytes]", PACKED[suffix](packed, "rb")) if suffix else stream


# --- writing ----------------------------------------------------------------------------------------------------


@contextmanager
def whole_file(file: PathLike) -> Iterator[Path]:
    """The name of a temporary file beside the target, which takes the target's name at the end and else goes away.

    Links are followed. What is no regular file (a pipe, a device) stays what it is: the temporary file is poured into it.
    """
    target = checked_path(file)
    with naming(file, target):
        special = target.exists() and not target.is_file() and not target.is_dir()
        if not special:  # the shell's >(command) is a link to what has no name
            target = target.resolve()
        if target.is_dir():
            raise FileError(f"{target}: is a folder")
    folder = Path(tempfile.gettempdir()) if special else target.parent
    remove_stale(target, folder)
    with own_name(target, folder) as temporary, naming(file, target, temporary):
        try:  # the name is known before the file is made, so that it always goes away
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            yield temporary
            if special:
                with temporary.open("rb") as source, target.open("wb") as sink:
                    shutil.copyfileobj(source, sink)
                return
            umask = os.umask(0)
            os.umask(umask)
            temporary.chmod(0o666 & ~umask)
            temporary.replace(target)
        finally:
            with suppress(OSError):  # it has its name now; or its folder is none
                temporary.unlink()


@contextmanager
def open_whole(file: PathLike) -> Iterator[IO[bytes]]:
    """Bytes to write, as they are; the file appears under its name only when it is complete."""
    with whole_file(file) as temporary, os.fdopen(os.open(temporary, os.O_WRONLY | BINARY), "wb") as stream:
        yield stream  # gzip would write its name into the file, if it had one


@contextmanager
def open_target(file: PathLike | IO[str]) -> Iterator[IO[str]]:
    """Text to write, to a file by name (``.gz``, ``.xz``, ``.bz2`` are packed; ``-`` is the standard output) or a stream.

    A file appears under its name only when it is complete.
    """
    if file == "-":
        yield sys.stdout
    elif hasattr(file, "write"):
        yield cast("IO[str]", file)
    else:
        with (
            open_whole(file) as raw,
            _packing(raw, Path(file).suffix.lower()) as out,
            io.TextIOWrapper(out, encoding="utf-8", errors="surrogatepass", newline="\n") as stream,
        ):
            yield stream


def _packing(raw: IO[bytes], suffix: str) -> IO[bytes]:
    """What packs what is written, if the name says so; the same bytes each time, where gzip.open writes the time."""
    if suffix == ".gz":
        return cast("IO[bytes]", gzip.GzipFile(fileobj=raw, mode="wb", mtime=0))
    return cast("IO[bytes]", PACKED[suffix](raw, "wb")) if suffix in PACKED else raw
