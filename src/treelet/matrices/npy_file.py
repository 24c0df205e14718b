"""Matrices in files, which are read and written tile by tile.

The files are not mapped while they are written, because mapped pages count as memory of the process.
"""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np

from treelet.matrices.tiles import Tile, Values

DTYPES = (np.dtype(np.float64), np.dtype(np.float32))
_seeking = threading.Lock()


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
