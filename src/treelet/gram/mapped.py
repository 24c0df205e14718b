"""Results in mapped files: what was written takes no memory, and the second half is written without mapping it."""

from __future__ import annotations

import mmap
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treelet.gram.plan import Tile


class Mapped:
    """A matrix of values that lies in a file, mapped for reading and writing."""

    def __init__(self, out: np.memmap[Any, Any]) -> None:
        self._map: mmap.mmap = out._mmap  # type: ignore[attr-defined]  # NumPy has no other name for it
        self._file = os.open(str(out.filename), os.O_RDWR)
        start = out.offset - out.offset % mmap.ALLOCATIONGRANULARITY
        self._begin = start + out.ctypes.data - np.frombuffer(self._map, np.uint8).ctypes.data
        self._stride, self._dtype = out.strides[0], out.dtype

    @staticmethod
    def of(out: NDArray[Any]) -> Mapped | None:
        """None where the result is in memory; a private copy of a file is: there, letting go would lose what was written."""
        able = hasattr(mmap, "MADV_DONTNEED") and hasattr(os, "preadv")
        if not able or not isinstance(out, np.memmap) or out.mode not in ("r+", "w+") or out.filename is None:
            return None
        return Mapped(out)

    def release(self) -> None:
        """What was written so far is the system's business: it stays in the file, not in this process."""
        self._map.madvise(mmap.MADV_DONTNEED)

    def mirror(self, tile: Tile) -> None:
        """Complete a tile above the diagonal from its mirror image, with twice its size in memory."""
        rows, columns = tile.rows, tile.columns
        image = np.empty((len(columns), len(rows)), self._dtype)
        for row, values in enumerate(image, columns.begin):
            if os.preadv(self._file, [values.data], self._place(row, rows.begin)) != values.nbytes:
                raise OSError(f"the file of the result was cut short while row {row} was read")
        turned = np.ascontiguousarray(image.T)
        for row, values in enumerate(turned, rows.begin):
            there = values[max(0, row + 1 - columns.begin) :]
            if len(there):
                os.pwrite(self._file, there, self._place(row, columns.end - len(there)))

    def _place(self, row: int, column: int) -> int:
        return int(self._begin + row * self._stride + self._dtype.itemsize * column)

    def close(self) -> None:
        """Let the file go; the map stays."""
        os.close(self._file)
