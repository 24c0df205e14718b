"""Matrices in files, read and written a tile at a time by place: nothing of them is mapped, so that none of it is this process's memory."""

from __future__ import annotations

import hashlib
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from treelet.errors import FileError
from treelet.formats.arrays import read_header
from treelet.formats.files import BINARY, PathLike, whole_file
from treelet.gram.plan import Tile
from treelet.gram.tiles import Values

DTYPES = (np.dtype(np.float64), np.dtype(np.float32))
SUFFIXES = (".npy", ".zarr")
"""Of names of files that hold matrices."""
SAMPLES, SAMPLE = 64, 4096
_seeking = threading.Lock()


class NotOpenedError(FileError):
    """A matrix is written, whole, and only cannot be given back."""


class MatrixFile(ABC):
    """A matrix in a file, open for reading, or for writing too. Tiles are written by several threads at once."""

    path: Path
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    mirrors: ClassVar[bool] = False
    """Whether what is written of a symmetric matrix is also written on the other side of the diagonal, so that `mirror` has nothing to do."""

    @abstractmethod
    def __init__(self, path: Path, writing: bool = False) -> None: ...

    @classmethod
    @abstractmethod
    def create(
        cls, path: Path, shape: tuple[int, int], dtype: np.dtype[Any], grid: int, symmetric: bool, shown: str
    ) -> Self:
        """A new matrix; what lies under that name goes. A full disk is an error here, where that can be known."""

    @classmethod
    @abstractmethod
    def grid(cls, columns: int, cells: int) -> int:
        """Where tiles must begin: at multiples of this. So many rows may have at most so many cells, if they can."""

    @abstractmethod
    def read(self, tile: Tile) -> Values:
        """The values of a tile."""

    @abstractmethod
    def write(self, tile: Tile, values: Values) -> None:
        """The values of a tile; by halves those right of the diagonal are not to be used."""

    @abstractmethod
    def mirror(self, tile: Tile) -> None:
        """Complete a tile above the diagonal from its mirror image, with twice its size in memory."""

    @abstractmethod
    def sync(self, tiles: Iterable[Tile] = ()) -> None:
        """Return when these tiles, which were written, are on disk; and all else that this takes."""

    @abstractmethod
    def sample(self) -> str:
        """What tells this matrix from others in such files: a fingerprint of places all over it."""

    @abstractmethod
    def close(self) -> None:
        """Let the file go."""

    def view(self, target: Path) -> Any:
        """Return the finished matrix, read-only, before it is renamed to `target`; None if it must be opened by name.

        A view taken here stays the matrix that this call wrote, even if another program replaces the file afterwards.
        """
        return None

    @staticmethod
    @abstractmethod
    def opened(path: Path) -> Any:
        """Open a finished matrix by name, read-only, as `treelet.gram` returns it."""

    @staticmethod
    @abstractmethod
    def whole(file: PathLike) -> AbstractContextManager[Path]:
        """The name under which a matrix is written until it is complete; then it has its own, and else it is gone."""

    @staticmethod
    @abstractmethod
    def replace(path: Path, target: Path) -> None:
        """Give a finished matrix its name; what had it goes."""

    @staticmethod
    @abstractmethod
    def remove(path: Path) -> None:
        """Let it not be there."""


def kind_of(file: PathLike) -> type[MatrixFile]:
    """The kind of file that a name stands for."""
    if Path(file).suffix.lower() == ".zarr":
        from treelet.gram.stored.zarr_file import ZarrFile  # which needs a package that need not be there

        return ZarrFile
    return NpyFile


def open_matrix(path: Path) -> MatrixFile:
    """A matrix that is there, to be read."""
    try:
        return kind_of(path)(path)
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"{path}: cannot be read ({error.strerror or error})") from error


class RowsInFile:
    """The rows of a matrix, somewhere in an open file.

    Parameters
    ----------
    file : int
        The open file's number.
    begin, stride : int
        Where the first row begins, and how far it is from one row to the next, in bytes.
    dtype : dtype
    """

    def __init__(self, file: int, begin: int, stride: int, dtype: np.dtype[Any]) -> None:
        self._file, self._begin, self._stride, self._dtype = file, begin, stride, dtype

    def read(self, tile: Tile) -> Values:
        """The values of a tile."""
        values = np.empty(tile.shape, self._dtype)
        for row, line in enumerate(values, tile.rows.begin):
            if _read_at(self._file, line, self._place(row, tile.columns.begin)) != line.nbytes:
                raise OSError(f"the file of the result was cut short while row {row} was read")
        return values

    def write(self, tile: Tile, values: Values) -> None:
        """The values of a tile; by halves those right of the diagonal are left out."""
        for row, line in enumerate(values, tile.rows.begin):
            there = line[: row + 1 - tile.columns.begin] if tile.halves else line
            _write_at(self._file, there, self._place(row, tile.columns.begin))

    def mirror(self, tile: Tile) -> None:
        """Complete a tile above the diagonal from its mirror image, with twice its size in memory."""
        image = self.read(Tile(tile.columns, tile.rows))
        turned = np.ascontiguousarray(image.T)
        for row, values in enumerate(turned, tile.rows.begin):
            there = values[max(0, row + 1 - tile.columns.begin) :]
            if len(there):
                _write_at(self._file, there, self._place(row, tile.columns.end - len(there)))

    def _place(self, row: int, column: int) -> int:
        return self._begin + row * self._stride + self._dtype.itemsize * column


def _read_at(file: int, values: Values, place: int) -> int:
    """Read into contiguous values: how many bytes there were."""
    if hasattr(os, "preadv"):
        return os.preadv(file, [values.data], place)
    with _seeking:
        os.lseek(file, place, os.SEEK_SET)
        found = os.read(file, values.nbytes)
    values.data.cast("B")[: len(found)] = found
    return len(found)


def _write_at(file: int, values: Values, place: int) -> None:
    """Write contiguous values, all of them: a system may take a part at a time."""
    left = values.data.cast("B")
    while left:
        if hasattr(os, "pwrite"):
            written = os.pwrite(file, left, place)
        else:
            with _seeking:
                os.lseek(file, place, os.SEEK_SET)
                written = os.write(file, left)
        left, place = left[written:], place + written


class NpyFile(RowsInFile, MatrixFile):
    """A matrix in a .npy file."""

    def __init__(self, path: Path, writing: bool = False) -> None:
        self.path = path
        flags = (os.O_RDWR if writing else os.O_RDONLY) | BINARY
        self._file = os.open(path, flags)
        try:
            with os.fdopen(os.dup(self._file), "rb") as stream:
                shape, by_columns, dtype, begin = read_header(stream)
            if by_columns or len(shape) != 2 or dtype not in DTYPES:
                raise ValueError(f"it holds {dtype} of shape {shape}")
        except ValueError as error:
            os.close(self._file)
            raise FileError(f"{path}: is no matrix of float64 or float32 ({error})") from error
        except BaseException:
            os.close(self._file)
            raise
        self.shape, self.dtype = (shape[0], shape[1]), dtype
        super().__init__(self._file, begin, dtype.itemsize * self.shape[1], dtype)

    @classmethod
    def grid(cls, columns: int, cells: int) -> int:
        return 1

    @classmethod
    def create(
        cls, path: Path, shape: tuple[int, int], dtype: np.dtype[Any], grid: int, symmetric: bool, shown: str
    ) -> Self:
        with path.open("w+b") as stream:
            head = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(stream, head)
            stream.flush()
            size = stream.tell() + dtype.itemsize * shape[0] * shape[1]
            try:
                stream.truncate(size)
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(stream.fileno(), 0, size)
            except OSError as error:
                raise FileError(f"{shown}: no room for {size:,} bytes ({error.strerror or error})") from error
        return cls(path, writing=True)

    def sync(self, tiles: Iterable[Tile] = ()) -> None:
        getattr(os, "fdatasync", os.fsync)(self._file)

    def sample(self) -> str:
        found = hashlib.blake2b(digest_size=16)
        with self.path.open("rb") as stream:
            size = stream.seek(0, os.SEEK_END)
            found.update(str(size).encode())
            for place in range(SAMPLES):
                stream.seek(place * max(0, size - SAMPLE) // (SAMPLES - 1))
                found.update(stream.read(SAMPLE))
        return found.hexdigest()

    def close(self) -> None:
        os.close(self._file)

    def view(self, target: Path) -> Values | None:
        if os.name == "nt":  # Windows does not rename a file that is mapped
            return None
        return self._mapped(target)

    def _mapped(self, name: Path) -> Values:
        """Map the open file for reading; `name` is what the map reports as its file."""
        if 0 in self.shape:  # an empty file cannot be mapped
            return np.empty(self.shape, self.dtype)
        try:
            with os.fdopen(os.dup(self._file), "rb") as stream:
                matrix = np.memmap(stream, self.dtype, "r", self._begin, self.shape)
        except (OSError, MemoryError, ValueError) as error:
            raise NotOpenedError(f"{name}: is complete, but cannot be mapped into memory ({error})") from error
        matrix.filename = str(name)
        return matrix

    @staticmethod
    def opened(path: Path) -> Values:
        file = NpyFile(path)
        try:
            return file._mapped(path)
        finally:
            file.close()

    @staticmethod
    def whole(file: PathLike) -> AbstractContextManager[Path]:
        return whole_file(file)

    @staticmethod
    def replace(path: Path, target: Path) -> None:
        path.replace(target)

    @staticmethod
    def remove(path: Path) -> None:
        path.unlink(missing_ok=True)
