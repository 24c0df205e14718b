"""NumPy's ``.npy`` files. Headers are not trusted: a file must contain exactly the data that its header announces."""

from __future__ import annotations

import math
import os
from typing import IO, Any

import numpy as np


def read_header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    """Read the header of an open file of real numbers: shape, layout, type, and the offset at which the values begin.

    The layout is True for values that are stored by columns. Raise ValueError if the header or the size of the file is
    wrong.
    """
    try:
        version = np.lib.format.read_magic(stream)
        if version == (1, 0):
            shape, by_columns, dtype = np.lib.format.read_array_header_1_0(stream)
        elif version == (2, 0):
            shape, by_columns, dtype = np.lib.format.read_array_header_2_0(stream)
        else:
            raise ValueError(f"unsupported .npy version {'.'.join(map(str, version))}")
    except Exception as error:  # NumPy lets through what tokenize, ast and its own C code raise
        raise ValueError(" ".join(str(error).split())[:200] or type(error).__name__) from error
    if dtype.kind not in "biuf" or dtype.hasobject or dtype.shape:
        raise ValueError(f"it contains {dtype} values, but real numbers are needed")
    begin = stream.tell()
    if any(type(size) is not int or size < 0 for size in shape):
        raise ValueError(f"its header declares the invalid shape {str(shape)[:80]}")
    needed, present = math.prod(shape) * dtype.itemsize, os.fstat(stream.fileno()).st_size - begin
    if present != needed:
        wrong = "was cut short" if present < needed else "goes on after its end"
        raise ValueError(f"it {wrong}: the header announces {needed:,} bytes, but there are {present:,}")
    return shape, by_columns, dtype, begin
