"""Matrices in Zarr format: a folder of shards, each a file with a square of the matrix.

One thread writes a shard at once, because two writers of a shard would corrupt it. Tiles therefore
start at multiples of the shard size. In a symmetric matrix, each shard is written together with its
mirror image.
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
from treelet.formats.files import PathLike, naming, own_name, remove_stale, unwritable
from treelet.matrices.stored.fingerprint import sync_folder
from treelet.matrices.stored.matrix_file import DTYPES, SAMPLE, SAMPLES, MatrixFile
from treelet.matrices.tiles import Span, Tile, Values
from treelet.work import check_room

_LARGEST = 1024  # maximal number of rows and columns per shard
_CHUNK = 256  # rows and columns per chunk, the unit of reading


def _zarr() -> Any:
    try:
        import zarr
    except ImportError:
        raise FileError(
            "A .zarr matrix needs the package zarr, which is not installed. Install it with pip install 'treelet[zarr]'."
        ) from None
    check_room(2)  # the package starts threads of its own
    return zarr


@lru_cache(1)
def _apart() -> ThreadPoolExecutor:
    """Return a pool with one running thread.

    The thread must run before the first work is submitted. If an interrupt hit `submit` while it
    starts a thread, the pool would not know that thread, and would start another one beside it.
    """
    pool = ThreadPoolExecutor(1, "treelet zarr")
    pool.submit(int).result()
    return pool


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_apart.cache_clear)  # the child process has no threads


def _undivided(work: Callable[[], Any]) -> Any:
    """Call a function in another thread if this is the main thread, and wait for its end after an interrupt.

    Interrupts reach only the main thread. Zarr would otherwise continue in the background.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    pool = _apart()
    try:
        return pool.submit(work).result()
    except BaseException:
        pool.submit(int).result()  # wait for the end of `work`
        raise


def _is_array(folder: Path) -> bool:
    """Return whether a folder contains one Zarr array, rather than a group of arrays or anything else."""
    try:
        return b'"group"' not in (folder / "zarr.json").read_bytes()
    except OSError:
        return (folder / ".zarray").exists()  # format 2


class ZarrFile(MatrixFile):
    """A matrix in a .zarr folder."""

    mirrors = True

    def __init__(self, path: Path, writing: bool = False) -> None:
        zarr = _zarr()
        self.path = path
        try:
            self._array = _undivided(lambda: zarr.open_array(str(path), mode="r+" if writing else "r"))
            if self._array.ndim != 2 or self._array.dtype not in DTYPES:
                raise ValueError(f"the array contains {self._array.dtype} values of shape {self._array.shape}")
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise FileError(
                f"{path}: not a float64 or float32 matrix in Zarr format ({str(error).rstrip('.')})."
            ) from error
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
            raise FileError(f"{shown}: not enough disk space for {size:,} bytes.")
        create = partial(
            zarr.create_array,
            str(path),
            shape=shape,
            dtype=dtype,
            shards=(grid, grid),
            chunks=(min(grid, _CHUNK),) * 2,
            compressors=[zarr.codecs.Crc32cCodec()],  # a checksum; compression would save little
            fill_value=np.nan,  # the values of a missing shard
            attributes={"symmetric": symmetric},
        )
        _undivided(create)
        return cls(path, writing=True)

    @classmethod
    def grid(cls, columns: int, cells: int) -> int:
        side = 1
        while 2 * side <= _LARGEST and 2 * side * columns <= cells and side < columns:
            side *= 2
        return side

    def read(self, tile: Tile) -> Values:
        try:
            values: Values = _undivided(lambda: np.ascontiguousarray(self._array[tile.rows.slice, tile.columns.slice]))
        except Exception as error:  # Zarr's codecs raise errors of many types
            raise FileError(f"{self.path}: cannot be read ({str(error).rstrip('.')}).") from error
        return values

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
        # At an edge, Zarr would first read the existing shard, which may be damaged.
        self._file(rows, columns).unlink(missing_ok=True)
        _undivided(partial(self._array.__setitem__, (rows.slice, columns.slice), values))

    def mirror(self, tile: Tile) -> None:
        """Do nothing, because `write` completes both sides of the diagonal."""

    def sync(self, tiles: Iterable[Tile] = ()) -> None:
        files = {self.path / "zarr.json"}
        for tile in tiles:
            for rows, columns in self._shards(tile):
                files |= {self._file(rows, columns), *([self._file(columns, rows)] if self._symmetric else [])}
        for path in files:
            try:
                number = os.open(path, os.O_RDWR)  # Windows syncs only writable files
            except FileNotFoundError:  # not written yet
                continue
            try:
                os.fsync(number)
            finally:
                os.close(number)
        for folder in (*{file.parent for file in files}, self.path / "c", self.path.parent):
            sync_folder(folder)

    def _shards(self, tile: Tile) -> Iterator[tuple[Span, Span]]:
        """Yield the shards of a tile; in a symmetric matrix, only those on or below the diagonal."""
        for rows in self._bands(tile.rows):
            for columns in self._bands(tile.columns):
                if not self._symmetric or columns.begin <= rows.begin:
                    yield rows, columns

    def _bands(self, span: Span) -> list[Span]:
        return [Span(begin, min(begin + self._side, span.end)) for begin in range(span.begin, span.end, self._side)]

    def _file(self, rows: Span, columns: Span) -> Path:
        return self.path / "c" / str(rows.begin // self._side) / str(columns.begin // self._side)

    def sample(self) -> str:
        digest = hashlib.blake2b(digest_size=16)
        files = sorted(path for path in self.path.rglob("*") if path.is_file())
        for path in files:
            digest.update(f"{path.relative_to(self.path)}:{path.stat().st_size};".encode())
        for index in sorted({number * max(0, len(files) - 1) // (SAMPLES - 1) for number in range(SAMPLES)}):
            with files[index].open("rb") as stream:
                digest.update(stream.read(SAMPLE))
        return digest.hexdigest()

    def close(self) -> None:
        pass  # nothing is open between two calls

    @staticmethod
    def opened(path: Path) -> Any:
        return _undivided(lambda: _zarr().open_array(str(path), mode="r"))

    @staticmethod
    def check_target(file: PathLike, target: Path) -> None:
        if target.exists() and not target.is_dir():
            raise FileError(f"{file}: not a folder. Remove the file or choose another name.")
        if target.is_dir() and any(target.iterdir()) and not _is_array(target):
            raise FileError(f"{file}: the folder exists and is not a matrix. Choose another name.")

    @staticmethod
    @contextmanager
    def whole(file: PathLike) -> Iterator[Path]:
        with naming(file, Path(file)):
            target = Path(file).resolve()
            ZarrFile.check_target(file, target)
            if not target.parent.exists():
                raise unwritable(file, FileNotFoundError(), Path(file))
            if not os.access(target.parent, os.W_OK):
                raise FileError(f"{file}: cannot be written, because its folder is not writable.")
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
        remove_stale(target)  # now that the new matrix is complete; the old one may be among the stale folders

    @staticmethod
    def remove(path: Path) -> None:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
