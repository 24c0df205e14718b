"""Files: opened, unpacked, packed and written.

The suffix of a name determines how a file is packed, and ``-`` stands for a standard stream. A file is
written completely or not at all. `open_source` opens everything that is read, and `open_target` all
text that is written. Libraries that write files themselves, such as NumPy and matplotlib, get the name
of a `whole_file`.
"""

from __future__ import annotations

import bz2
import codecs
import errno
import gzip
import hashlib
import io
import lzma
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
import time
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, cast

from treelet.checks import article, check_one_of, wrong
from treelet.errors import FileError, FormatError, InputTypeError, TreeError, TreeletWarning
from treelet.printable import shortened

# --- incomplete files: temporary names, locks and error messages ------------------------------------------------------


_STALE = 86_400  # seconds after which an unchanged temporary file belongs to a killed run


def temporary_name(target: Path, folder: Path | None = None) -> Path:
    """Return a unique name beside the target, ``.K.npy.RANDOM.tmp``. No file is created.

    Temporary files of the same target that have not changed for a day are removed: killed runs left them behind.
    """
    stem = _stem(target)
    with suppress(OSError):
        for name in os.listdir(folder or target.parent):
            if not (name.startswith(stem) and re.fullmatch(r"[0-9a-f]{16}\.tmp", name[len(stem) :])):
                continue
            path = (folder or target.parent) / name
            with suppress(OSError):
                status = path.lstat()
                if time.time() - max(status.st_mtime, status.st_ctime) < _STALE:
                    continue
                if stat.S_ISDIR(status.st_mode):
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink()
    return (folder or target.parent) / f"{stem}{secrets.token_hex(8)}.tmp"


def sync_folder(folder: Path) -> None:
    """Wait until the file names in a folder are on disk, if the system supports this."""
    try:
        file = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(file)
    except OSError:
        pass
    finally:
        os.close(file)


_REFUSED = (5, 32)  # Windows: access denied, and open in another program
_IN_USE = (
    " If a program has the file open or mapped, close it there first. A matrix that gram returned is mapped: delete "
    "the array (del K), or choose another name."
)


@contextmanager
def naming(file: str | os.PathLike[str], *places: Path) -> Iterator[None]:
    """Convert the system's errors about these places, or about no place, to errors that name the file."""
    try:
        yield
    except OSError as error:
        known = isinstance(error, FileError) or error.errno is None  # not raised by the system
        if known or not str(error.filename).startswith(("None", *map(str, places))):
            raise  # the error is about another file
        folder = next((place.parent for place in places if not os.path.exists(place.parent)), None)
        if folder is not None and isinstance(error, FileNotFoundError):
            raise FileError(
                f"{file}: cannot be written, because the folder {folder} does not exist. Create the folder first."
            ) from error
        hint = _IN_USE if getattr(error, "winerror", None) in _REFUSED else ""
        raise FileError(f"{file}: cannot be written ({(error.strerror or str(error)).rstrip('.')}).{hint}") from error
    except RuntimeError as error:  # raised by pathlib for a link that leads to itself
        if not str(error).startswith("Symlink loop"):
            raise
        raise FileError(f"{file}: cannot be written ({error}).") from error


@contextmanager
def locked(target: Path, shown: str | os.PathLike[str] | None = None) -> Iterator[None]:
    """Hold the right to write a file. Raise `FileError` if another process or thread holds it.

    The lock is on an empty file beside the target, ``.K.npy.treelet-lock``. If the process is killed,
    that file remains, but the lock is released. Nothing is locked if the system or the file system does
    not support locks. Error messages call the target `shown`.
    """
    name, path = target if shown is None else shown, target.with_name(f"{_stem(target)}treelet-lock")
    lock, owner = _lock(path, name), os.getpid()
    try:
        yield
    finally:
        if lock is not None:
            if owner == os.getpid():
                _release(lock, path)
            else:  # a forked child must not remove the file of its parent
                os.close(lock)


def _release(lock: int, path: Path) -> None:
    """Close a lock and remove its file, unless another file has its name now or it contains anything."""
    on_windows = os.name == "nt"  # There, an open file cannot be removed, so the file of the next holder is safe.
    try:
        opened = os.fstat(lock)
        ours = opened.st_size == 0 and os.path.samestat(opened, path.stat())
        if ours and not on_windows:
            path.unlink()
    except OSError:  # another user's file, in a folder where only owners may remove theirs
        ours = False
    finally:
        os.close(lock)
    if ours and on_windows:
        with suppress(OSError):
            path.unlink()


def _lock(path: Path, name: str | os.PathLike[str]) -> int | None:
    """Return the descriptor of the open and locked file, or None if locks are not supported."""
    while True:
        try:
            lock = os.open(path, os.O_CREAT | os.O_RDONLY, 0o666)
        except OSError as error:
            raise FileError(f"{name}: cannot be written ({path.name}: {error.strerror or error}).") from error
        try:
            _hold(lock)
            if path.exists() and os.path.samestat(os.fstat(lock), path.stat()):
                return lock
        except FileNotFoundError:  # the last holder has just removed the file
            pass
        except BlockingIOError:
            if os.name == "nt":  # The holder cannot remove the file while it is open here, too.
                _release(lock, path)
            else:
                os.close(lock)
            message = (
                "another process or thread is writing this file. Wait until it has finished, or choose another name."
            )
            raise FileError(f"{name}: {message}") from None
        except (OSError, ImportError):  # a system or a file system without such locks
            _release(lock, path)
            return None
        except BaseException:
            os.close(lock)
            raise
        os.close(lock)


def _hold(lock: int) -> None:
    """Lock an open file until it is closed. Raise `BlockingIOError` if another process or thread has locked it."""
    if sys.platform == "win32":
        import msvcrt

        try:
            msvcrt.locking(lock, msvcrt.LK_NBLCK, 1)  # the first byte, although the file is empty
        except OSError as error:
            if error.errno != errno.EINVAL:  # EINVAL: a file system without locks
                raise BlockingIOError from error
            raise
    else:
        import fcntl

        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _stem(target: Path) -> str:
    name = os.fsencode(target.name)
    return f".{target.name}." if len(name) <= 200 else f".{hashlib.sha256(name).hexdigest()[:16]}."


# --- files: opened, unpacked, packed and written ----------------------------------------------------------------------

PathLike = str | os.PathLike[str]
BINARY: int = getattr(os, "O_BINARY", 0)  # for os.open: without this flag, Windows converts line ends
CHUNK = 1 << 20
HEAD = 1 << 16
ON_ERROR = ("raise", "skip")
_MOST_UNPACKED = 1 << 28  # bytes that any packed file may unpack to
_MOST_GROWTH = 200  # maximum growth factor of a larger file; texts of trees grow by 5 to 30
_UNPACKED = "TREELET_UNPACKED"
_SHOWN = 3  # number of skipped items whose errors are shown
_MAGIC = {".gz": b"\x1f\x8b\x08", ".xz": b"\xfd7zXZ\x00", ".bz2": b"BZh"}
PACKED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}


def unpacked_name(file: PathLike) -> Path:
    """Return a file name without the suffix of a packed file.

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

NOT_TEXT = "the file contains a NUL byte, so it is not UTF-8 text."
NOT_VALID = "this is not valid Python"


def not_text() -> str:
    """Return the message for a file with a NUL byte: it is in UTF-16, packed in an unknown way, or not text at all."""
    return (
        f"{NOT_TEXT} If it is UTF-16, name the encoding (encoding='utf-16'). If it is compressed, only "
        "gzip, xz and bzip2 are supported."
    )


def unreadable(name: object, error: Exception, verb: str = "read") -> FileError:
    """Return the error for a file that cannot be opened or read, with the same words for every missing file."""
    if isinstance(error, FileNotFoundError):
        return FileError(f"{name}: the file does not exist. Check the name and the current folder.")
    return FileError(f"{name}: cannot be {verb} ({getattr(error, 'strerror', None) or error}).")


class SkipLog:
    """Items that were skipped, and doubtful input, in one file or in several."""

    def __init__(self) -> None:
        self.left_out = 0
        self.files_read = 0
        self.vendored = 0  # files that were left out
        self.short: dict[str, int] = {}
        """Numbers of units with too few lines of code, by the name of the file."""
        self.reread: list[str] = []
        """Python files that were read by tree-sitter, because they are not valid: the error of the interpreter."""
        self.damaged: set[str] = set()
        """Names of the files of which something was skipped or read by tree-sitter instead."""
        self.files: list[str] = []
        """Files that were skipped as a whole: name and reason."""
        self._wrong: list[FormatError] = []  # the first few
        self._doubts: list[str] = []

    def add(self, error: FormatError) -> None:
        """Count a skipped item."""
        self.left_out += 1
        self.damaged.add(error.source)
        if len(self._wrong) < _SHOWN:
            self._wrong.append(error)

    def doubt(self, message: str) -> None:
        """Record a warning about input that is valid but probably not intended."""
        self._doubts.append(message)

    def warn(self, kept: int, what: str, files: int = 1) -> None:
        """Warn about skipped files and items in one warning. `kept` items, called `what`, were read from `files` files."""
        for doubt in self._doubts:
            warnings.warn(doubt, TreeletWarning, stacklevel=5)
        sentences = []
        for count, read, noun, reasons in (
            (len(self.files), files, "files", self.files[:_SHOWN]),
            (self.left_out, kept, what, [str(error) for error in self._wrong]),
        ):
            if count:
                places = "; ".join(reason.rstrip(".") for reason in reasons) + (
                    "; ..." if count > len(reasons) else "."
                )
                were = "was" if count == 1 else "were"
                sentences.append(f"{count:,} of {count + read:,} {noun} {were} skipped: {places}")
        if self.reread:
            shown, several = "; ".join(reason.rstrip(".") for reason in self.reread[:_SHOWN]), len(self.reread) > 1
            sentences.append(
                f"{len(self.reread):,} Python {'files were' if several else 'file was'} read by tree-sitter: {shown}"
                f"{'; ...' if len(self.reread) > _SHOWN else '.'} Trees of tree-sitter have other labels, so they only "
                "resemble each other."
            )
        if sentences:
            warnings.warn(" ".join(sentences), TreeletWarning, stacklevel=5)


class _ItemGuard:
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

    `on_error` determines whether a malformed item (a tree, a row, a sentence) raises an error or is
    skipped. Readers read each item within ``with source.item():``, and finally call `told`, which warns
    about skipped items.
    """

    def __init__(
        self, stream: IO[bytes], name: str, encoding: str = "utf-8", on_error: str = "raise", *, decoded: bool = False
    ) -> None:
        check_one_of("on_error", on_error, ON_ERROR)
        self.stream, self.name, self.on_error = stream, name, on_error
        self.log = SkipLog()
        self.shared: dict[Any, Any] = {}
        """What readers keep from one file to the next, if several files are read into one document."""
        self._item = _ItemGuard(self)
        try:
            "".encode(encoding)  # rejects unknown encodings, and codecs that are not for text
            self.encoding = codecs.lookup(encoding).name
        except (LookupError, TypeError):
            raise wrong("encoding", "a text encoding", encoding) from None
        self.decoded = decoded or self.encoding != "utf-8"
        """Whether the text is UTF-8 whatever it declares: it was a string before, or its encoding was named."""
        self.packed: Callable[[], int] | None = None
        """Number of packed bytes: the size of the file, or the number of bytes that came through a pipe."""
        self._held: list[bytes] = []  # bytes that were inspected but not yet taken
        self._rest = self._raw_chunks()

    def head(self) -> bytes:
        """Return the first bytes, as UTF-8, up to `HEAD`. They are not consumed."""
        while sum(map(len, self._held)) < HEAD and (chunk := next(self._rest, None)) is not None:
            self._held.append(chunk)
        return b"".join(self._held)[:HEAD]

    def chunks(self) -> Iterator[bytes]:
        """Yield the bytes, as UTF-8, in pieces."""
        while self._held:
            yield self._held.pop(0)
        yield from self._rest

    def lines(self) -> Iterator[bytes]:
        """Yield the lines, as UTF-8, without line ends."""
        rest: list[bytes] = []
        for chunk in self.chunks():
            first, *others = chunk.split(b"\n")
            rest.append(first)
            if len(rest) > 1 and b"\0" in first:  # a line of megabytes may never end
                raise self.error(not_text())
            for other in others:
                yield b"".join(rest).removesuffix(b"\r")
                rest = [other]
        if any(rest):
            yield b"".join(rest).removesuffix(b"\r")

    def text_lines(self) -> Iterator[tuple[int, str]]:
        """Yield the lines as text, with their numbers."""
        for number, line in enumerate(self.lines(), 1):
            try:
                text = self.text(line, number)
            except FormatError as error:
                self.refuse(error)
            else:
                yield number, text

    def text(self, line: bytes, number: int) -> str:
        """Decode a line."""
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError as error:
            wide = line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
            raise self.error(
                "these bytes are not UTF-8 text. If the file has another encoding, name the encoding "
                f"(encoding={'utf-16' if wide else 'latin-1'!r}).",
                number,
                len(line[: error.start].decode("utf-8")) + 1,
            ) from None

    def groups(self) -> Iterator[list[tuple[int, bytes]]]:
        """Yield groups of numbered lines between blank lines. They stay undecoded: a bad line affects its group only."""
        group: list[tuple[int, bytes]] = []
        for number, line in enumerate(self.lines(), 1):
            if line.strip():
                group.append((number, line))
            elif group:
                yield group
                group = []
        if group:
            yield group

    def item(self) -> _ItemGuard:
        """Return the context manager for reading one item. It raises errors, or skips the item."""
        return self._item

    def refuse(self, error: FormatError) -> None:
        """Raise the error of a malformed item, or skip the item."""
        if self.on_error == "raise":
            raise error
        self.log.add(error)

    def doubt(self, message: str, line: int | None = None, column: int | None = None) -> None:
        """Record a warning about input that is valid but probably not intended. `told` issues it."""
        self.log.doubt(str(self.error(message, line, column)))

    def told(self, kept: int, what: str) -> None:
        """Warn about skipped items and doubtful input. `kept` items, called `what`, were read."""
        self.log.warn(kept, what)

    def error(self, message: str, line: int | None = None, column: int | None = None) -> FormatError:
        return FormatError(message, self.name, line, column)

    @contextmanager
    def at(self, line: int) -> Iterator[None]:
        """Name the file and the line in errors about an item that was made from a text."""
        try:
            yield
        except FormatError as error:
            raise self.error(error.message, line, error.column) from None
        except (TreeError, InputTypeError) as error:
            raise self.error(str(error), line) from None

    def _check_growth(self, taken: int) -> None:
        """Reject a file that unpacks to far more than its own size, before it fills the memory (a "zip bomb")."""
        if self.packed is None or taken <= _MOST_UNPACKED or taken <= _MOST_GROWTH * (packed := self.packed()):
            return
        limit = os.environ.get(_UNPACKED, "")
        if not (limit.isascii() and limit.isdigit() and taken <= int(limit[:18])):
            raise FileError(
                f"{self.name}: {packed:,} packed bytes expand to more than {taken:,} bytes, a factor of over "
                f"{_MOST_GROWTH:,}. If the file is trustworthy, unpack it yourself, or set the environment variable "
                f"{_UNPACKED} to its unpacked size in bytes."
            )

    def _raw_chunks(self) -> Iterator[bytes]:
        decoder = None if self.encoding == "utf-8" else codecs.getincrementaldecoder(self.encoding)()
        taken = 0
        start: bytes | None = b""  # until it is clear whether the text begins with a byte order mark
        while True:
            try:
                raw = self.stream.read(CHUNK)
            except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
                raise FileError(f"{self.name}: cannot be read to its end ({error}). Is the file complete?") from error
            taken += len(raw)
            self._check_growth(taken)
            chunk = raw
            if decoder is not None:
                try:
                    chunk = decoder.decode(raw, final=not raw).encode("utf-8", "surrogatepass")
                except UnicodeDecodeError as error:
                    raise self.error(
                        f"the file is not text in the encoding {self.encoding} ({error.reason}). Name the right "
                        f"encoding (encoding=)."
                    ) from None
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
    """Return a source that reads a string, or bytes in an encoding."""
    if isinstance(text, str):
        return Source(io.BytesIO(text.encode("utf-8", "surrogatepass")), name, on_error=on_error, decoded=True)
    return Source(io.BytesIO(text), name, encoding, on_error)


@contextmanager
def open_source(
    file: PathLike | IO[bytes] | IO[str], encoding: str = "utf-8", on_error: str = "raise"
) -> Iterator[Source]:
    """Open a file by name (``.gz``, ``.xz``, ``.bz2`` are unpacked; ``-`` is standard input) or use an open stream."""
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
            raise FileError("<stdin>: cannot be read (standard input is closed).")
        counted = _Counted(sys.stdin.buffer)
        unpacked = _unpacked(sys.stdin.buffer, counted)
        source = Source(unpacked, "<stdin>", encoding, on_error)
        if unpacked is not sys.stdin.buffer:
            source.packed = lambda: counted.taken
        yield source
        return
    if not isinstance(file, str | os.PathLike):
        raise InputTypeError(f"A path or an open file is needed, but got {article(type(file).__name__)}.")
    path = Path(file)
    opener = PACKED.get(path.suffix.lower(), open)
    try:
        stream = opener(path, "rb")
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        if (name := str(path)).lstrip().startswith("("):
            raise FileError(
                f"{shortened(name)} is a tree, but a file name is needed here. Save the tree in a file or, in Python, pass "
                "io.StringIO(text) or use Treebank([...])."
            ) from error
        if path.is_dir():  # Windows only says that the access is denied
            raise FileError(f"{name}: is a folder. Name a file in it.") from error
        raise unreadable(name, error, "opened") from error
    with stream:
        unpacked = _unpacked(stream, stream) if opener is open else stream
        source = Source(unpacked, str(path), encoding, on_error)
        if unpacked is not stream or opener is not open:
            size = path.stat().st_size
            if size == 0 and path.is_file():  # gzip would accept an empty file
                raise FileError(f"{path}: is empty, so it is not a valid packed file. Is the file complete?")
            source.packed = lambda: size
        yield source


class _Counted:
    """A stream that counts the bytes that were taken from it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self.taken = stream, 0

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        data = self._stream.read(size)
        self.taken += len(data)
        return data


def _unpacked(stream: IO[bytes], packed: IO[bytes] | _Counted) -> IO[bytes]:
    """Return a stream of unpacked bytes, if the first bytes show that the stream is packed; `packed` is then unpacked."""
    head = b""
    if isinstance(stream, io.BufferedReader):
        head = stream.peek(8)[:8]
    elif stream.seekable():  # a replacement of standard input
        begin = stream.tell()
        head = stream.read(8)
        stream.seek(begin)
    suffix = next((suffix for suffix, magic in _MAGIC.items() if head.startswith(magic)), None)
    return cast("IO[bytes]", PACKED[suffix](packed, "rb")) if suffix else stream


# --- writing ----------------------------------------------------------------------------------------------------


@contextmanager
def whole_file(file: PathLike) -> Iterator[Path]:
    """Yield the name of a temporary file beside the target.

    At the end the temporary file is renamed to the target; after an error it is removed. Links are
    followed. If the target is not a regular file (a pipe, a device), the contents are copied into it.
    """
    target = checked_path(file)
    with naming(file, target):
        special = target.exists() and not target.is_file() and not target.is_dir()
        if not special:  # the shell's >(command) is a link to a file without a name
            target = target.resolve()
        if target.is_dir():
            raise FileError(f"{target}: is a folder. Give the name of a file.")
        if os.name == "nt" and target.exists():
            target.rename(target)  # fails now, not after hours, if the file is open or mapped
    folder = Path(tempfile.gettempdir()) if special else target.parent
    temporary = temporary_name(target, folder)
    with naming(file, target, temporary):
        try:  # the name is known before the file exists, so the file is removed in any case
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
            with suppress(OSError):  # already renamed, or the folder does not exist
                temporary.unlink()


@contextmanager
def open_whole(file: PathLike) -> Iterator[IO[bytes]]:
    """Yield a binary stream. The file appears under its name only when it is complete."""
    with whole_file(file) as temporary, os.fdopen(os.open(temporary, os.O_WRONLY | BINARY), "wb") as stream:
        yield stream  # opened by number: gzip would store the name of the temporary file


@contextmanager
def open_target(file: PathLike | IO[str]) -> Iterator[IO[str]]:
    """Yield a text stream that writes to a file by name or to an open stream.

    ``.gz``, ``.xz`` and ``.bz2`` files are packed, and ``-`` is standard output. A file appears under its
    name only when it is complete.
    """
    if file == "-":
        yield sys.stdout
    elif hasattr(file, "write"):
        yield cast("IO[str]", file)
    else:
        with open_whole(file) as raw:
            suffix, out = Path(file).suffix.lower(), raw
            if suffix == ".gz":  # without a time stamp, so equal contents give equal bytes
                out = cast("IO[bytes]", gzip.GzipFile(fileobj=raw, mode="wb", mtime=0))
            elif suffix in PACKED:
                out = PACKED[suffix](raw, "wb")
            with out, io.TextIOWrapper(out, encoding="utf-8", errors="surrogatepass", newline="\n") as stream:
                yield stream
