"""Matrices in files, which are read and written tile by tile.

The files are not mapped while they are written, because mapped pages count as memory of the process.
"""

from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path
from typing import Any, Self

import numpy as np

from treelet.errors import FileError
from treelet.formats.arrays import read_header
from treelet.formats.files import BINARY
from treelet.matrices.tiles import Tile, Values

DTYPES = (np.dtype(np.float64), np.dtype(np.float32))
_seeking = threading.Lock()


class NotOpenedError(FileError):
    """A matrix was written completely, but the file cannot be opened to return it."""


class RowsInFile:
    """The rows of a matrix in an open file.

    Parameters
    ----------
    file : int
        File descriptor.
    begin, stride : int
        Offset of the first row, and distance between two rows, in bytes.
    dtype : dtype
        Type of the values.
    """

    def __init__(self, file: int, begin: int, stride: int, dtype: np.dtype[Any]) -> None:
        self._file, self._begin, self._stride, self._dtype = file, begin, stride, dtype

    def read(self, tile: Tile) -> Values:
        """Return the values of a tile."""
        values = np.empty(tile.shape, self._dtype)
        for row, line in enumerate(values, tile.rows.begin):
            if _read_at(self._file, line, self._offset(row, tile.columns.begin)) != line.nbytes:
                raise OSError(f"the file ends before row {row} is complete")
        return values

    def write(self, tile: Tile, values: Values) -> None:
        """Write the values of a tile. In a tile with `halves`, those above the diagonal are skipped."""
        for row, line in enumerate(values, tile.rows.begin):
            computed = line[: row + 1 - tile.columns.begin] if tile.halves else line
            _write_at(self._file, computed, self._offset(row, tile.columns.begin))

    def mirror(self, tile: Tile) -> None:
        """Complete a tile above the diagonal from its mirror image, with twice its size in memory."""
        image = self.read(Tile(tile.columns, tile.rows))
        turned = np.ascontiguousarray(image.T)
        for row, values in enumerate(turned, tile.rows.begin):
            above = values[max(0, row + 1 - tile.columns.begin) :]
            if len(above):
                _write_at(self._file, above, self._offset(row, tile.columns.end - len(above)))

    def _offset(self, row: int, column: int) -> int:
        return self._begin + row * self._stride + self._dtype.itemsize * column


def _read_at(file: int, values: Values, offset: int) -> int:
    """Read into contiguous values and return the number of bytes."""
    if hasattr(os, "preadv"):
        return os.preadv(file, [values.data], offset)
    with _seeking:
        os.lseek(file, offset, os.SEEK_SET)
        data = os.read(file, values.nbytes)
    values.data.cast("B")[: len(data)] = data
    return len(data)


def _write_at(file: int, values: Values, offset: int) -> None:
    """Write contiguous values. The loop is needed because a system may write only some of the bytes."""
    left = values.data.cast("B")
    while left:
        if hasattr(os, "pwrite"):
            written = os.pwrite(file, left, offset)
        else:
            with _seeking:
                os.lseek(file, offset, os.SEEK_SET)
                written = os.write(file, left)
        left, offset = left[written:], offset + written


class NpyFile(RowsInFile):
    """A matrix in a .npy file that is open for reading or also for writing. Several threads write tiles at once."""

    def __init__(self, path: Path, writing: bool = False) -> None:
        self.path = path
        flags = (os.O_RDWR if writing else os.O_RDONLY) | BINARY
        self._file = os.open(path, flags)
        try:
            with os.fdopen(os.dup(self._file), "rb") as stream:
                shape, by_columns, dtype, begin = read_header(stream)
            if by_columns or len(shape) != 2 or dtype not in DTYPES:
                raise ValueError(f"the file contains {dtype} values of shape {shape}")
        except ValueError as error:
            os.close(self._file)
            raise FileError(f"{path}: not a float64 or float32 matrix ({str(error).rstrip('.')}).") from error
        except BaseException:
            os.close(self._file)
            raise
        self.shape, self.dtype = (shape[0], shape[1]), dtype
        super().__init__(self._file, begin, dtype.itemsize * self.shape[1], dtype)

    @classmethod
    def create(cls, path: Path, shape: tuple[int, int], dtype: np.dtype[Any], shown: str) -> Self:
        """Create a matrix and overwrite an existing file. If possible, a full disk is detected here."""
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
                raise FileError(
                    f"{shown}: not enough disk space for {size:,} bytes ({error.strerror or error})."
                ) from error
        return cls(path, writing=True)

    def sync(self) -> None:
        """Wait until all written tiles are on disk."""
        getattr(os, "fdatasync", os.fsync)(self._file)

    def sample(self) -> str:
        """Return a fingerprint of samples from the whole file, which identifies the matrix."""
        count, length = 64, 4096
        digest = hashlib.blake2b(digest_size=16)
        with self.path.open("rb") as stream:
            size = stream.seek(0, os.SEEK_END)
            digest.update(str(size).encode())
            for number in range(count):
                stream.seek(number * max(0, size - length) // (count - 1))
                digest.update(stream.read(length))
        return digest.hexdigest()

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def view(self, target: Path) -> Values | None:
        """Return the complete matrix, read-only, before the file is renamed to `target`.

        Return None if the matrix must be opened by name. The view remains valid even if another
        program replaces the file afterwards.
        """
        if os.name == "nt":  # Windows cannot rename a mapped file
            return None
        return self._mapped(target)

    def _mapped(self, name: Path) -> Values:
        """Map the open file for reading. The map reports `name` as its file name."""
        if 0 in self.shape:  # an empty file cannot be mapped
            return np.empty(self.shape, self.dtype)
        try:
            with os.fdopen(os.dup(self._file), "rb") as stream:
                matrix = np.memmap(stream, self.dtype, "r", self._begin, self.shape)
        except (OSError, MemoryError, ValueError) as error:
            raise NotOpenedError(
                f"{name}: the matrix is complete, but cannot be mapped into memory ({error})."
            ) from error
        matrix.filename = str(name)
        return matrix

    @staticmethod
    def opened(path: Path) -> Values:
        """Open a complete matrix by name, read-only, as `treelet.gram` returns it."""
        file = NpyFile(path)
        try:
            return file._mapped(path)
        finally:
            file.close()
