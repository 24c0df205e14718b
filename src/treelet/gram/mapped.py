"""Results in mapped files: what was written takes no memory, and the second half is written without mapping it."""

from __future__ import annotations

import mmap
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treelet.gram.matrix_file import RowsInFile


class Mapped(RowsInFile):
    """A matrix of values that lies in a file, mapped for reading and writing."""

    def __init__(self, out: np.memmap[Any, Any]) -> None:
        self._map: mmap.mmap = out._mmap  # type: ignore[attr-defined]  # NumPy has no other name for it
        start = out.offset - out.offset % mmap.ALLOCATIONGRANULARITY
        begin = start + out.ctypes.data - np.frombuffer(self._map, np.uint8).ctypes.data
        super().__init__(os.open(str(out.filename), os.O_RDWR), int(begin), out.strides[0], out.dtype)

    @staticmethod
    def of(out: NDArray[Any]) -> Mapped | None:
        """None where the result is in memory; a private copy of a file is: there, letting go would lose what was written."""
        able = hasattr(mmap, "MADV_DONTNEED")
        if not able or not isinstance(out, np.memmap) or out.mode not in ("r+", "w+") or out.filename is None:
            return None
        return Mapped(out)

    def release(self) -> None:
        """What was written so far is the system's business: it stays in the file, not in this process."""
        self._map.madvise(mmap.MADV_DONTNEED)

    def close(self) -> None:
        """Let the file go; the map stays."""
        os.close(self._file)
