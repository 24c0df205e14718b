"""Matrices in Zarr's form: a folder of shards, each a square of the matrix and a file of its own.

A shard is written once, whole, by one thread: two writers of one shard would spoil it. Tiles therefore begin where shards do. Of
a symmetric matrix each shard is written together with its mirror image, from memory.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Self

import numpy as np

from treelet.errors import FileError
from treelet.formats.files import PathLike
from treelet.formats.temporary import naming, own_name, remove_stale
from treelet.gram.plan import Span, Tile
from treelet.gram.stored.manifest import sync_folder
from treelet.gram.stored.matrix_file import DTYPES, SAMPLE, SAMPLES, MatrixFile
from treelet.gram.tiles import Values
from treelet.work import check_room

LARGEST = 1024  # rows and columns of a shard, at most
CHUNK = 256  # of what is read at once, within a shard


def _zarr() -> Any:
    try:
        import zarr
    except ImportError:
        raise FileError("matrices in .zarr folders need the package zarr: pip install 'treelet[zarr]'") from None
    check_room(2)  # it has threads of its own
    return zarr


@lru_cache(1)
def _apart() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, "treelet zarr")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_apart.cache_clear)  # threads stay behind


def _undivided(work: Callable[[], Any]) -> Any:
    """Do it in another thread, if this is the one that interrupts reach: Zarr goes on in the background with what it has begun."""
    if threading.current_thread() is not threading.main_thread():
        return work()
    try:
        return _apart().submit(work).result()
    except BaseException:
        _apart().submit(int).result()  # when it is over
        raise


class ZarrFile(MatrixFile):
    """A matrix in a .zarr folder."""

    mirrors = True

    def __init__(self, path: Path, writing: bool = False) -> None:
        zarr = _zarr()
        self.path = path
        try:
            self._array = _undivided(lambda: zarr.open_array(str(path), mode="r+" if writing else "r"))
            if self._array.ndim != 2 or self._array.dtype not in DTYPES:
                raise ValueError(f"it holds {self._array.dtype} of shape {self._array.shape}")
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise FileError(f"{path}: is no matrix of float64 or float32 in Zarr's form ({error})") from error
        self.shape, self.dtype = tuple(self._array.shape), self._array.dtype
        self._side = int((self._array.shards or self._array.chunks)[0])
        self._symmetric = bool(self._array.attrs.get("symmetric", False))

    @classmethod
    def create(
        cls, path: Path, shape: tuple[int, int], dtype: np.dtype[Any], grid: int, symmetric: bool, shown: str
    ) -> Self:
        zarr = _zarr()
        cls.remove(path)
        size = dtype.itemsize * shape[0] * shape[1]
        if path.parent.exists() and shutil.disk_usage(path.parent).free < size:
            raise FileError(f"{shown}: no room for {size:,} bytes")
        create = partial(
            zarr.create_array,
            str(path),
            shape=shape,
            dtype=dtype,
            shards=(grid, grid),
            chunks=(min(grid, CHUNK),) * 2,
            compressors=[
                zarr.codecs.Crc32cCodec()
            ],  # values have few bits in common, but those should be the right ones
            fill_value=np.nan,  # of a shard that is lost
            attributes={"symmetric": symmetric},
        )
        _undivided(create)
        return cls(path, writing=True)

    @classmethod
    def grid(cls, columns: int, cells: int) -> int:
        side = 1
        while 2 * side <= LARGEST and 2 * side * columns <= cells and side < columns:
            side *= 2
        return side

    def read(self, tile: Tile) -> Values:
        try:
            found: Values = _undivided(lambda: np.ascontiguousarray(self._array[tile.rows.slice, tile.columns.slice]))
        except Exception as error:  # Zarr's codecs raise what they like
            raise FileError(f"{self.path}: cannot be read ({error})") from error
        return found

    def write(self, tile: Tile, values: Values) -> None:
        for rows, columns in self._shards(tile):
            part = values[
                rows.begin - tile.rows.begin : rows.end - tile.rows.begin,
                columns.begin - tile.columns.begin : columns.end - tile.columns.begin,
            ]
            if self._symmetric and rows == columns:
                part = np.tril(part) + np.tril(part, -1).T
            self._write(rows, columns, part)
            if self._symmetric and rows != columns:
                self._write(columns, rows, part.T)

    def _write(self, rows: Span, columns: Span, values: Values) -> None:
        self._file(rows, columns).unlink(
            missing_ok=True
        )  # else Zarr would read it first, at an edge, and it may be damaged
        _undivided(partial(self._array.__setitem__, (rows.slice, columns.slice), values))

    def mirror(self, tile: Tile) -> None:
        """Nothing is left to do: `write` has completed both sides of the diagonal."""

    def sync(self, tiles: Iterable[Tile] = ()) -> None:
        files = {self.path / "zarr.json"}
        for tile in tiles:
            for rows, columns in self._shards(tile):
                files |= {self._file(rows, columns), *([self._file(columns, rows)] if self._symmetric else [])}
        for path in files:
            try:
                number = os.open(path, os.O_RDWR)  # Windows syncs only what may be written
            except FileNotFoundError:  # not written yet
                continue
            try:
                os.fsync(number)
            finally:
                os.close(number)
        for folder in (*{file.parent for file in files}, self.path / "c", self.path.parent):
            sync_folder(folder)

    def _shards(self, tile: Tile) -> Iterator[tuple[Span, Span]]:
        """Those of a tile; of a symmetric matrix those on the diagonal or below."""
        for rows in self._bands(tile.rows):
            for columns in self._bands(tile.columns):
                if not self._symmetric or columns.begin <= rows.begin:
                    yield rows, columns

    def _bands(self, span: Span) -> list[Span]:
        return [Span(begin, min(begin + self._side, span.end)) for begin in range(span.begin, span.end, self._side)]

    def _file(self, rows: Span, columns: Span) -> Path:
        return self.path / "c" / str(rows.begin // self._side) / str(columns.begin // self._side)

    def sample(self) -> str:
        found = hashlib.blake2b(digest_size=16)
        files = sorted(path for path in self.path.rglob("*") if path.is_file())
        for path in files:
            found.update(f"{path.relative_to(self.path)}:{path.stat().st_size};".encode())
        for place in sorted({number * max(0, len(files) - 1) // (SAMPLES - 1) for number in range(SAMPLES)}):
            with files[place].open("rb") as stream:
                found.update(stream.read(SAMPLE))
        return found.hexdigest()

    def close(self) -> None:
        pass  # nothing is open between two calls

    @staticmethod
    def opened(path: Path) -> Any:
        return _undivided(lambda: _zarr().open_array(str(path), mode="r"))

    @staticmethod
    @contextmanager
    def whole(file: PathLike) -> Iterator[Path]:
        with naming(file, Path(file)):
            target = Path(file).resolve()
            if target.exists() and not target.is_dir():
                raise FileError(f"{file}: is no folder")
            if not os.access(target.parent, os.W_OK):
                raise FileError(f"{file}: cannot be written")
        with own_name(target) as temporary, naming(file, target, temporary):
            try:
                yield temporary
                ZarrFile.replace(temporary, target)
            finally:
                ZarrFile.remove(temporary)

    @staticmethod
    def replace(path: Path, target: Path) -> None:
        with own_name(target) as before:
            if target.exists():  # a folder that is not empty cannot be replaced in one step
                target.rename(before)
            path.rename(target)
            ZarrFile.remove(before)
        remove_stale(target)  # now that there is a whole one: the one before may be among it

    @staticmethod
    def remove(path: Path) -> None:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
