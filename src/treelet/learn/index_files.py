"""Indexes in folders: parts that are never changed, and a manifest that is replaced as a whole.

A folder contains

- ``manifest.treelet``: the parameters of the index, the names and checksums of its parts, and the
  rows of the parts that were removed. It has the format of a model file.
- ``PART.trees``: the examples of a part and their ids, as a model file. Reading checks everything.
- ``PART.map``: the same examples with the data that kernels compute from them, for use in place.

Every change writes new parts first and then replaces the manifest. A process that is killed
therefore leaves the state before or after the change, and perhaps files that belong to no part.
The next change removes such files. Readers hold their parts open, so they keep the state that they
have opened.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import struct
import sys
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from treelet import __version__, _core
from treelet.checks import wrong
from treelet.errors import FileError, TreeletError
from treelet.formats.files import PathLike, checked_path, locked, naming, sync_folder, temporary_name
from treelet.formats.places import Places
from treelet.kernels.pairwise import Pairwise
from treelet.kernels.prepared import can_be_prepared, prepared_arrays, restored_bank
from treelet.learn.collection import Collection, Ids, StoredPart
from treelet.learn.fits import snapshot
from treelet.learn.persist import BANKS, ModelFileError, decoded_model, write_model
from treelet.matrices.nearest import Part
from treelet.structures.bank import Bank

MANIFEST = "manifest.treelet"
_MAP_MAGIC = b"treemap\0"
_ALIGNED = 64
_NEW = "new"  # name of the files of a part until they are complete
_SUFFIXES = (".trees", ".map")
Arrays = Mapping[str, NDArray[Any]]


class IndexFiles:
    """The folder of an index that was opened, for reading or for changes.

    Parameters
    ----------
    folder : Path
        The folder.
    mode : {"r", "a"}
        ``"a"`` allows changes and holds the right to make them until `close`.
    """

    def __init__(self, folder: Path, mode: str) -> None:
        self.folder, self.mode, self._process = folder, mode, os.getpid()
        self._held = ExitStack()
        if mode == "a":
            self._held.enter_context(locked(folder))
        self._close = weakref.finalize(self, self._held.close)

    @classmethod
    def save(cls, search: Any, path: PathLike) -> None:
        """Write an index to a folder, which appears only when it is complete. An index of that name is replaced."""
        folder = checked_path(path)
        with naming(path, folder):
            folder = folder.resolve()
            exists = folder.exists()
            if exists and not folder.is_dir():
                raise FileError(f"{path}: is a file, but an index is a folder. Remove the file or choose another name.")
            if exists and not _is_index(folder) and any(folder.iterdir()):
                raise FileError(f"{path}: the folder exists and is not an index. Choose another name.")
        files = search._files
        if files is not None and files.mode == "a" and files.folder == folder:
            with search._changing():  # no other thread changes the index meanwhile
                search._replace(search._collection, search.kernel_)
            return
        search = snapshot(search)
        collection, kernel, _ = search._state()
        unnamed = collection._replace(parts=tuple(replace(stored, name=None) for stored in collection.parts))
        with locked(folder, path):
            if exists:
                _clean(folder, _write_collection(folder, search, unnamed, kernel))
                return
            temporary = temporary_name(folder)
            with naming(path, folder, temporary):
                try:
                    temporary.mkdir()
                    _write_collection(temporary, search, unnamed, kernel, path)
                    temporary.rename(folder)
                    sync_folder(folder.parent)
                except BaseException:
                    shutil.rmtree(temporary, ignore_errors=True)
                    raise

    @classmethod
    def open(cls, path: PathLike, mode: str | None, known: dict[str, type[Pairwise]]) -> Any:
        """Open an index. Without a mode, it is read into memory, and everything is checked."""
        if mode not in (None, "r", "a"):
            raise wrong("mode", "'r', 'a' or None", mode, of="load")
        folder = checked_path(path)
        with naming(path, folder):
            folder = folder.resolve()
        files = None if mode is None else cls(folder, mode)
        try:
            search = _read_index(path, folder, mode, known)
        except BaseException:
            if files is not None:
                files.close()
            raise
        search._files = files
        return search

    def close(self, collection: Collection | None = None) -> None:
        """Allow other processes to change the index. This object cannot change it any more.

        Files that are neither in the collection nor in the manifest are removed.
        """
        if self.mode == "a" and collection is not None and self._process == os.getpid():
            _clean(self.folder, collection)
        self._close()
        self.mode = "r"

    def check_writable(self) -> None:
        """Raise `FileError` if the index was opened for reading only."""
        if self.mode != "a":
            raise FileError(
                f"{self.folder}: the index was opened for reading only. Open it with treelet.load(file, mode='a') to change it."
            )
        if self._process != os.getpid():
            raise FileError(
                f"{self.folder}: the index was opened by another process, which may still change it. Open it in this process."
            )

    def write(self, search: Any, collection: Collection, kernel: Any) -> Collection:
        """Make a collection the content of the folder, and return it with the names of its parts.

        Only one thread may write at a time. This call removes no file: if it is interrupted after the new manifest, the
        collection in memory still needs its files. The next change, or `close`, removes files that are no longer needed.
        """
        self.check_writable()
        return _write_collection(self.folder, search, collection, kernel)

    def clean(self, collection: Collection) -> None:
        """Remove the files of earlier changes, except those of the collection in memory and of the manifest."""
        _clean(self.folder, collection)


def _write_collection(
    folder: Path, search: Any, collection: Collection, kernel: Any, shown: PathLike | None = None
) -> Collection:
    """Write the parts that have no files yet, then the manifest. Return the collection with the names of its parts.

    Errors call the folder `shown`.
    """
    new: list[str] = []
    with naming(folder if shown is None else shown, folder):
        try:
            parts = [
                stored if stored.name is not None else _write_part(folder, stored, kernel, new)
                for stored in collection.parts
            ]
            sync_folder(folder)
            named = collection._replace(parts=tuple(parts))
            described = object.__new__(type(search))  # the index with the names of its parts
            described.__dict__ = search.__dict__ | {"_collection": named, "kernel_": kernel}
            manifest = folder / f"{MANIFEST}.new"
            with _synced(manifest) as stream:
                write_model(stream, described)
            manifest.replace(folder / MANIFEST)
            sync_folder(folder)
        except BaseException:
            _remove(folder, new)
            raise
    return named


def _write_part(folder: Path, stored: StoredPart, kernel: Any, new: list[str]) -> StoredPart:
    """Write the files of a part, and return the part with their name, sizes and checksums.

    The name depends on the content, so a file never changes. It is added to `new` as soon as a file may exist.
    """
    ids = {"value": np.asarray(stored.ids.value), "end": np.asarray(stored.ids.end)}
    places = getattr(stored.data, "places", None)
    content = {"examples": stored.data, "ids": ids, "places": None if places is None else places.arrays()}
    new.append(_NEW)
    trees = folder / f"{_NEW}.trees"
    with _synced(trees) as stream:
        digest = write_model(stream, content)
    name = blake2b(digest + repr([kernel, _layout()]).encode(), digest_size=16).hexdigest()
    new.append(name)
    _rename(trees, folder / f"{name}.trees")
    if can_be_prepared(kernel, stored.data):
        arrays = {f"data/{key}": array for key, array in prepared_arrays(kernel, stored.data).items()}
        arrays |= {f"ids/{key}": array for key, array in stored.ids.arrays().items()}
        arrays |= {f"places/{key}": array for key, array in (content["places"] or {}).items()}
        with _synced(folder / f"{_NEW}.map") as stream:
            _write_arrays(stream, arrays, type(stored.data).__name__.lower())
        _rename(folder / f"{_NEW}.map", folder / f"{name}.map")
    paths = [folder / f"{name}{suffix}" for suffix in _SUFFIXES]
    files = {path.suffix[1:]: [path.stat().st_size, _checksum(path)] for path in paths if path.exists()}
    return replace(stored, name=name, files=files)


def _rename(source: Path, target: Path) -> None:
    """Give a file the name that follows from its content. Windows cannot replace a file in use, which is then the same."""
    try:
        source.replace(target)
    except PermissionError:
        if not target.exists():
            raise
        source.unlink()


def _write_arrays(stream: IO[bytes], arrays: Arrays, kind: str) -> None:
    """Write arrays in a form that can be used in place."""
    entries, offset = {}, 0
    for name, array in arrays.items():
        entries[name] = [array.dtype.str, int(array.size), offset]
        offset += -(-array.nbytes // _ALIGNED) * _ALIGNED
    header = {"layout": _layout(), "bank": kind, "arrays": entries}
    text = json.dumps(header).encode()
    start = -(-(16 + len(text)) // _ALIGNED) * _ALIGNED
    stream.write(_MAP_MAGIC + struct.pack("<Q", len(text)) + text + b" " * (start - 16 - len(text)))
    for array in arrays.values():
        stream.write(np.ascontiguousarray(array).view(np.uint8).data if array.size else b"")
        stream.write(b"\0" * (-array.nbytes % _ALIGNED))


def _layout() -> list[Any]:
    """Return the layout of mapped files. Files with another layout are ignored: their trees are read instead."""
    return [__version__, sys.byteorder]


# --- opening ----------------------------------------------------------------------------------------------------------


def _read_index(path: PathLike, folder: Path, mode: str | None, known: dict[str, type[Pairwise]]) -> Any:
    while True:
        search, described = _read_manifest(path, folder, known)
        try:
            parts = tuple(_read_part(folder, one, mode, search.kernel_, known) for one in described["parts"])
        except OSError as error:
            now = _read_manifest(path, folder, known)[1]
            if [part["name"] for part in now["parts"]] != [part["name"] for part in described["parts"]]:
                continue  # another process has just replaced the parts
            if isinstance(error, FileNotFoundError) and not isinstance(error, FileError):
                missing = Path(error.filename).name
                fact = f"{path}: the file {missing} of the index is missing. Restore it, or create the index again."
                raise FileError(fact) from None
            raise
        search.__dict__ |= {"_collection": Collection(parts, described["next_id"]), "_indexes": {}}
        return search


def _read_manifest(path: PathLike, folder: Path, known: dict[str, type[Pairwise]]) -> tuple[Any, dict[str, Any]]:
    if not (folder / MANIFEST).is_file():
        raise ModelFileError(
            f"{path}: the folder is not an index. Indexes are written by 'treelet index' and treelet.save."
        )
    search: Any = decoded_model(folder / MANIFEST, known, lambda decoder: decoder.model())
    described = search.__dict__.pop("_described", None)
    if described is None:
        raise ModelFileError(f"{path}: the manifest of the index contains another model. Create the index again.")
    return search, described


def _read_part(folder: Path, described: Any, mode: str | None, kernel: Any, known: Any) -> StoredPart:
    name, files, removed = described["name"], described["files"], described["removed"]
    stored = _mapped_part(folder / f"{name}.map", files, kernel) if mode is not None and "map" in files else None
    if stored is None:
        stored = _trees_part(folder / f"{name}.trees", files, kernel, known)
        if mode is not None:
            files = {kind: file for kind, file in files.items() if kind != "map"}  # of another version
    if len(stored.data) != described["examples"] or len(stored.ids) != described["examples"]:
        raise ModelFileError(f"{folder}: the parts of the index do not match its manifest. Create the index again.")
    if len(removed) and (removed[-1] >= len(stored.data) or (np.diff(removed) <= 0).any()):
        raise ModelFileError(f"{folder}: the list of removed examples is invalid. Create the index again.")
    return replace(stored, part=Part(stored.data, removed), name=name, files=files)


def _trees_part(path: Path, files: Any, kernel: Any, known: Any) -> StoredPart:
    size, expected = files.get("trees", (-1, -1))
    if path.stat().st_size != size or _checksum(path) != expected:
        raise ModelFileError(f"{path}: is not the file that the index contains. Copy or create the index again.")
    content = decoded_model(path, known, lambda decoder: decoder.value(decoder.header["model"]))
    try:
        value, end = content["ids"]["value"], content["ids"]["end"]
        return StoredPart(
            Part(_located(kernel.coerce(content["examples"]), content["places"])), Ids.checked(value, end)
        )
    except (LookupError, TypeError, ValueError, AttributeError, TreeletError) as error:
        raise ModelFileError(f"{path}: the part of the index is invalid ({error}). Create the index again.") from error


def _mapped_part(path: Path, files: Any, kernel: Any) -> StoredPart | None:
    """Return a part over its mapped file, or None if the file has another layout."""
    size, expected = files["map"]
    with path.open("rb") as stream:
        if os.fstat(stream.fileno()).st_size != size:
            raise ModelFileError(f"{path}: has another size than the index says. Copy or create the index again.")
        content = np.memmap(stream, np.uint8, "r")
    if _core.checksum(content) != expected:
        raise ModelFileError(f"{path}: was altered: its checksum is wrong. Copy or create the index again.")
    if content[:8].tobytes() != _MAP_MAGIC:
        raise ModelFileError(f"{path}: is not a part of an index. Create the index again.")
    length = struct.unpack("<Q", content[8:16].tobytes())[0]
    header = json.loads(content[16 : 16 + length].tobytes())
    if header["layout"] != _layout():
        return None
    start = -(-(16 + length) // _ALIGNED) * _ALIGNED
    arrays: dict[str, dict[str, NDArray[Any]]] = {"data": {}, "ids": {}, "places": {}}
    for name, (dtype, count, offset) in header["arrays"].items():
        kind, _, rest = name.partition("/")
        begin = start + offset
        arrays[kind][rest] = content[begin : begin + count * np.dtype(dtype).itemsize].view(dtype)
    try:
        bank: Bank[Any] = restored_bank(kernel, BANKS[header["bank"]], arrays["data"])
    except ValueError:
        return None
    return StoredPart(Part(_located(bank, arrays["places"])), Ids.from_arrays(arrays["ids"]))


def _located(data: Any, places: Arrays | None) -> Any:
    """Return examples with their places."""
    return data.with_places(Places.from_arrays(places, len(data))) if places else data


# --- files ------------------------------------------------------------------------------------------------------------


@contextmanager
def _synced(path: Path) -> Iterator[IO[bytes]]:
    """Yield a new file, and wait at the end until it is on disk."""
    with path.open("wb") as stream:
        yield stream
        stream.flush()
        os.fsync(stream.fileno())


def _checksum(path: Path) -> int:
    with path.open("rb") as stream:
        return _core.checksum(np.memmap(stream, np.uint8, "r"))


def _remove(folder: Path, names: Iterable[str]) -> None:
    """Remove the files of parts, unless they belong to the index: an interrupt may come after its new manifest."""
    try:
        manifest = (folder / MANIFEST).read_bytes()
    except FileNotFoundError:
        manifest = b""
    except OSError:
        return
    for name in names:
        for suffix in _SUFFIXES if name == _NEW or name.encode() not in manifest else ():
            with suppress(OSError):
                (folder / f"{name}{suffix}").unlink()
    with suppress(OSError):
        (folder / f"{MANIFEST}.new").unlink()


def _clean(folder: Path, collection: Collection) -> None:
    """Remove the files of parts that belong neither to the collection nor to the manifest. Other files stay."""
    kept = {stored.name for stored in collection.parts}
    with suppress(OSError):
        names = {path.stem for path in folder.iterdir() if path.suffix in _SUFFIXES}
        _remove(folder, {name for name in names - kept if name == _NEW or re.fullmatch("[0-9a-f]{32}", name)})


def _is_index(folder: Path) -> bool:
    """Return whether a folder contains the manifest of an index, rather than another model of this name."""
    try:
        content = (folder / MANIFEST).read_bytes()
    except OSError:
        return False
    return b'"object":"Nearest"' in content and b'"parts"' in content
