"""Functions of source files that were read before, by the content of the files.

A cache is a folder with packs. A pack contains the trees and places of many files, as arrays in one ``.npz`` file, whose
checksums NumPy compares. Its files are known by a digest of their bytes, of the options of the reader and of the versions of
treelet, the language and its parser. Packs are never changed: a run adds one with the files that it had to read, and when
there are several, it replaces them by one. So runs may share a folder, and a run that is killed leaves no damage. Loading
runs no code from a pack. A damaged pack is ignored and removed.

A folder is a cache if its ``CACHEDIR.TAG`` names treelet. In such a folder, only files with the names of packs are read or
removed. No other folder is touched, unless it is empty, and no link is followed: a repository might contain a link to
anywhere in the place of its cache.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import time
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

import treelet
from treelet.checks import wrong
from treelet.errors import FileError, TreeletError, TreeletWarning
from treelet.formats.files import BINARY, PathLike, SkipLog, checked_path, open_whole, unpacked_name
from treelet.formats.languages import BY_SUFFIX, LANGUAGES
from treelet.formats.paths import File
from treelet.formats.places import Places
from treelet.formats.reading import read_code_document
from treelet.structures.treebank import Treebank

_VERSION = "2"
_PACKS = 4  # packs that a run leaves as they are
_KEPT = 30  # days after which a file that no run has read since is forgotten
_DIGEST = 32
_PLACES = "places_"
_NAME = re.compile(r"[0-9a-f]{16}\.treelet\.npz")
_TAG = "CACHEDIR.TAG"
_MARKS = {
    ".gitignore": b"*\n",
    _TAG: b"Signature: 8a477f597d28d172789f06886806bc55\n# This folder is a cache of treelet and may be removed.\n",
}
"""The files that make a folder a cache, in the order in which they are written."""


class _Pack(NamedTuple):
    """The functions of some files: those of file k are in the rows start[k] to start[k + 1] - 1."""

    bank: Treebank
    key: list[bytes]
    start: NDArray[np.int64]
    short: NDArray[np.int64]
    """The number of functions in each file that were too short."""
    day: NDArray[np.int64]
    """The day on which each file was read or last moved to another pack."""

    def selected(self, files: list[int]) -> _Pack:
        rows = [np.arange(self.start[at], self.start[at + 1]) for at in files]
        start = np.cumsum([0, *map(len, rows)])
        every = np.concatenate(rows) if rows else np.zeros(0, np.int64)
        return _Pack(self.bank[every], [self.key[at] for at in files], start, self.short[files], self.day[files])

    def write(self, file: Path) -> None:
        places = self.bank.places
        assert places is not None
        arrays = self.bank.packed() | {_PLACES + name: values for name, values in places.arrays().items()}
        key = np.frombuffer(b"".join(self.key), np.uint8).reshape(-1, _DIGEST)
        with open_whole(file) as stream:
            np.savez(stream, **arrays, key=key, start=self.start, short=self.short, day=self.day)

    @classmethod
    def read(cls, file: Path) -> _Pack:
        """Read a pack. Everything is checked; a damaged pack raises one of `_DAMAGES`."""
        with zipfile.ZipFile(file) as archive:
            sizes = [member.file_size for member in archive.infolist()]
        if sum(sizes) > file.stat().st_size:  # packs are not compressed, so a small one cannot fill the memory
            raise ValueError("a pack is compressed")
        with np.load(file, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        key, start, short, day = (arrays.pop(name) for name in ("key", "start", "short", "day"))
        placed = {name.removeprefix(_PLACES): arrays.pop(name) for name in [*arrays] if name.startswith(_PLACES)}
        placed["code_lines"], placed["node_line"]  # places without them are valid elsewhere
        if key.dtype != np.uint8 or key.shape != (len(day), _DIGEST) or start.shape != (len(day) + 1,):
            raise ValueError("the files of a pack are damaged")
        trees = len(arrays["roots"])
        if (
            start.dtype.kind != "i"
            or day.dtype.kind != "i"
            or short.dtype.kind != "i"
            or short.shape != day.shape
            or start[0]
            or start[-1] != trees
            or (np.diff(start) < 0).any()
        ):
            raise ValueError("the rows of a pack are damaged")
        bank = Treebank.unpacked(arrays, Places.from_arrays(placed, trees))
        return cls(bank, [row.tobytes() for row in key], *(some.astype(np.int64) for some in (start, short, day)))


_DAMAGES = (
    *(TreeletError, OSError, ValueError, LookupError, TypeError, ArithmeticError, RuntimeError, EOFError, MemoryError),
    zipfile.BadZipFile,
)


class CodeCache:
    """The functions that were read before.

    Parameters
    ----------
    folder : path
        Folder of the packs. It is created with the first one. A folder that contains anything else is refused.
    """

    def __init__(self, folder: PathLike) -> None:
        self.folder = checked_path(folder)
        if not os.fspath(folder):
            raise wrong("cache", "a folder", folder, optional=True)
        self._check()

    def functions(self, files: list[File], reading: dict[str, Any], log: SkipLog) -> Treebank:
        """Return the functions of files, in the order of the files, and read only files that are not in the cache.

        The parameters are those of `read_code_document`; the files are names. Files of which something was skipped are not
        kept.
        """
        packs = dict(self._packs())
        where = {key: (pack, at) for pack in packs.values() for at, key in enumerate(pack.key)}
        keys: dict[str, bytes] = {}
        order: list[str] = []
        hits: dict[str, tuple[_Pack, int]] = {}

        def known(found: list[File]) -> list[int | None]:
            options = repr(
                sorted(
                    (name, value) for name, value in reading.items() if name in ("identifiers", "encoding", "min_lines")
                )
            )
            for file in found:
                order.append(name := str(Path(cast("PathLike", file))))  # as in the places: without ./
                if key := _key(name, reading["language"], options):
                    keys[name] = key
                    if key in where:
                        hits[name] = where[key]
            start = {name: pack.start[at : at + 2] for name, (pack, at) in hits.items()}
            return [int(np.diff(start[name])[0]) if name in hits else None for name in order]

        document = read_code_document(files, **reading, log=log, known=known)
        log.short |= {name: int(pack.short[at]) for name, (pack, at) in hits.items()}
        new = Treebank.from_columns(document.trees["tree"], document.places)
        rows = _rows_by_file(new)
        damaged = {str(Path(name)) for name in log.damaged}
        kept = [name for name in order if name in keys and name not in hits and name not in damaged]
        banks = [self._renamed(pack, hits) for pack in packs.values()]
        whole = Treebank.concat([bank for bank in (*banks, new) if len(bank)]) if any(map(len, banks)) else new
        if kept:
            own = [rows.get(name, np.zeros(0, np.int64)) for name in kept]
            start, every = np.cumsum([0, *map(len, own)]), np.concatenate(own)
            short, today = np.array([log.short.get(name, 0) for name in kept]), np.full(len(kept), _today())
            self._store(_Pack(new[every], [keys[name] for name in kept], start, short, today), packs, {*keys.values()})
        if not hits:
            return new
        by_file = _rows_by_file(whole)
        listed = [by_file[name] for name in order if name in by_file]
        return whole[np.concatenate(listed)] if listed else whole

    @staticmethod
    def _renamed(pack: _Pack, hits: dict[str, tuple[_Pack, int]]) -> Treebank:
        """Return the functions of a pack that the files contain, with the names that the files have now."""
        named = [(name, at) for name, (other, at) in hits.items() if other is pack]
        chosen = pack.selected([at for _, at in named])
        places = chosen.bank.places
        assert places is not None
        count = np.diff(chosen.start)
        return chosen.bank.with_places(
            places.with_files([name for name, _ in named], np.repeat(np.arange(len(named)), count))
        )

    def _check(self) -> None:
        """Raise an error if the folder must not be used as a cache."""
        if self.folder.is_symlink():
            raise FileError(f"{self.folder}: a cache cannot be a link. Name the folder itself with cache=.")
        names = self._names()  # before the tag is read, because another run may create the cache at the same time
        # Without a complete tag, there may be what such a run, or one that was killed, has written so far.
        if not self._is_marked() and not all(
            name in _MARKS and _MARKS[name].startswith(self._mark(name)) for name in names
        ):
            raise FileError(
                f"{self.folder}: the folder contains other files than a cache of treelet, so it is not used as one. Name a "
                "new or an empty folder with cache=."
            )

    def _names(self) -> list[str]:
        try:
            return sorted(os.listdir(self.folder))
        except OSError:  # there is no such folder; other problems are reported when the cache is written
            return []

    def _mark(self, name: str) -> bytes:
        """Return the beginning of a file. One that no run has written begins in another way than those of a cache."""
        file = self.folder / name
        with suppress(OSError):
            if file.is_file() and not file.is_symlink():
                with file.open("rb") as stream:
                    return stream.read(len(_MARKS[name]) + 1)
        return b"?"

    def _is_marked(self) -> bool:
        return self._mark(_TAG) == _MARKS[_TAG]

    def _packs(self) -> Iterator[tuple[Path, _Pack]]:
        names = self._names() if self._is_marked() else []
        for file in [self.folder / name for name in names if _NAME.fullmatch(name)]:
            try:
                if file.is_file() and not file.is_symlink():
                    yield file, _Pack.read(file)
            except FileNotFoundError:  # another run has replaced it
                continue
            except _DAMAGES:
                with suppress(OSError):
                    file.unlink()

    def _store(self, new: _Pack, packs: dict[Path, _Pack], used: set[bytes]) -> None:
        """Write a pack of new files. If there are several packs, one takes their place, without files that are forgotten."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._check()
            for name, content in () if self._is_marked() else _MARKS.items():
                # Without truncation, because another run may read or write the same bytes at the same time.
                mark = os.open(self.folder / name, os.O_WRONLY | os.O_CREAT | BINARY, 0o666)
                with os.fdopen(mark, "wb") as stream:
                    stream.write(content)
            if len(packs) >= _PACKS:
                new = _merged([*packs.values()], new, used)
            digest = hashlib.sha256(b"".join(sorted(new.key))).hexdigest()[:16]
            target = self.folder / f"{digest}.treelet.npz"
            if target.is_symlink():  # it would be followed
                target.unlink()
            new.write(target)
            if len(packs) >= _PACKS:
                for file in packs:
                    if file != target:
                        file.unlink(missing_ok=True)
        except OSError as error:
            warnings.warn(
                f"{self.folder}: the cache cannot be written ({error.strerror or error}), so all files are read again the next "
                "time. Use cache= to name another folder.",
                TreeletWarning,
                stacklevel=5,
            )


def _merged(packs: list[_Pack], new: _Pack, used: set[bytes]) -> _Pack:
    """Return one pack of several, without files that no run has read for some time. `used` are those of this run."""
    parts, seen = [new], {*new.key}
    for pack in packs:
        day = np.array(
            [_today() if key in used else last for key, last in zip(pack.key, pack.day.tolist(), strict=True)]
        )
        fresh = [at for at, key in enumerate(pack.key) if key not in seen and day[at] > _today() - _KEPT]
        seen.update(pack.key)
        parts.append(pack._replace(day=day).selected(fresh))
    return _Pack(
        Treebank.concat([part.bank for part in parts]),
        [key for part in parts for key in part.key],
        np.cumsum([0, *(count for part in parts for count in np.diff(part.start).tolist())]),
        np.concatenate([part.short for part in parts]),
        np.concatenate([part.day for part in parts]),
    )


def _today() -> int:
    return int(time.time()) // 86400


def _rows_by_file(bank: Treebank) -> dict[str, NDArray[np.int64]]:
    """Return the rows of each file."""
    names = [place.file for place in bank.places or ()]
    order: dict[str, list[int]] = {}
    for row, name in enumerate(names):
        order.setdefault(name, []).append(row)
    return {name: np.array(rows, np.int64) for name, rows in order.items()}


def _key(name: str, language: Any, options: str) -> bytes | None:
    """Return the digest of a file and of all that its trees depend on. None if the file cannot be read."""
    try:
        digest = hashlib.sha256(Path(name).read_bytes())
    except (OSError, ValueError):  # reported by the reader
        return None
    named = [language] if isinstance(language, str) else list(language or ())
    rules = (
        LANGUAGES[named[0]]
        if len(named) == 1 and named[0] in LANGUAGES
        else BY_SUFFIX.get(unpacked_name(name).suffix.lower())
    )
    if rules is None:
        return None
    digest.update(
        "\0".join(["", rules.name, _parser(rules.name, rules.package), unpacked_name(name).suffix, options]).encode()
    )
    digest.update(
        name.rpartition(".")[2].encode("utf-8", "surrogatepass")
    )  # a packed file is not the same as its content
    return digest.digest()


@lru_cache(64)
def _parser(language: str, package: str) -> str:
    """Return the versions of treelet and of the parser of a language."""
    versions = [_VERSION, treelet.__version__]
    if language == "python":
        return "\0".join([*versions, sys.version])
    for name in ("tree-sitter", package or f"tree-sitter-{language}"):
        try:
            versions.append(version(name))
        except PackageNotFoundError:
            versions.append("")
    return "\0".join(versions)
