"""Which tiles a matrix is computed in, under a memory budget."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np

from treelet.checks import wrong

DEFAULT_MEMORY = 1 << 30
_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_UNITS |= {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}


def parse_memory(memory: int | float | str | None) -> int | None:
    """A number of bytes, or a text such as ``"1GiB"`` or ``"500 MB"``.

    >>> parse_memory("1GiB")
    1073741824
    """
    if memory is None:
        return None
    if isinstance(memory, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", memory)
        value = float(match[1]) * _UNITS[match[2].lower()] if match and match[2].lower() in _UNITS else 0
    elif isinstance(memory, (int, float, np.integer)) and not isinstance(memory, bool):
        value = float(memory)
    else:
        value = 0
    if not 0 < value < 2**62:
        raise wrong("memory", "a positive number of bytes or a text like '1GiB'", memory)
    return int(value)


@dataclass(frozen=True)
class Tile:
    """Rows ``begin..end``; by halves, columns ``0..end``, else all of the column block."""

    begin: int
    end: int


def row_strips(n_rows: int, n_columns: int, *, n_jobs: int, memory: int, matrices: int, halves: bool) -> list[Tile]:
    """Strips of rows, each small enough for the budget and enough of them to keep all threads busy to the end.

    By halves the later rows are the longer ones and come first, so that no thread is left with a long one at the end.
    """
    if n_rows == 0 or n_columns == 0:
        return []
    strip_bytes = 8 * n_columns * max(1, matrices)
    fits = max(1, memory // (strip_bytes * n_jobs))
    rows = int(min(fits, max(1, -(-n_rows // (24 * n_jobs)) if n_jobs > 1 else -(-n_rows // 12))))
    strips = [Tile(begin, min(begin + rows, n_rows)) for begin in range(0, n_rows, rows)]
    return strips[::-1] if halves and n_jobs > 1 else strips


def column_blocks(n_columns: int, index_bytes: int, memory: int) -> list[tuple[int, int]]:
    """Blocks of columns whose index takes at most half of the budget."""
    if n_columns == 0:
        return []
    count = max(1, min(n_columns, -(-2 * index_bytes // memory)))
    width = -(-n_columns // count)
    return [(begin, min(begin + width, n_columns)) for begin in range(0, n_columns, width)]


def mirrored(n: int, memory: int, threads: int) -> list[tuple[Tile, Tile]]:
    """Square tiles, rows and columns, of the upper half of a matrix, such that one fits the budget twice a thread."""
    share = -(-n // (4 * threads)) if threads > 1 else n
    side = max(16, min(share, math.isqrt(memory // (16 * threads))))
    bands = [Tile(begin, min(begin + side, n)) for begin in range(0, n, side)]
    return [(rows, columns) for rows in bands for columns in bands if columns.end > rows.begin]
