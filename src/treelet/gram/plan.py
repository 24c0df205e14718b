"""Which tiles a matrix is computed in, under a memory budget. Numbers only: no threads, no files, no examples."""

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
class Span:
    """Rows, or columns, ``begin..end`` of a matrix."""

    begin: int
    end: int

    def __len__(self) -> int:
        return self.end - self.begin

    @property
    def slice(self) -> slice:
        return slice(self.begin, self.end)


@dataclass(frozen=True)
class Tile:
    """Rows x columns of a matrix. By halves, of row ``i`` only columns ``0..i`` are computed."""

    rows: Span
    columns: Span
    halves: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), len(self.columns)

    @property
    def cells(self) -> int:
        """How many values are computed: what the tile costs, as far as one can know."""
        if not self.halves:
            return len(self.rows) * len(self.columns)
        return len(self.rows) * (self.rows.begin + 1 + self.rows.end) // 2


@dataclass(frozen=True)
class Block:
    """Columns that are indexed at once, and the tiles that they are computed in."""

    columns: Span
    tiles: tuple[Tile, ...]


@dataclass(frozen=True)
class Plan:
    """All tiles of a matrix.

    That of a collection with itself is symmetric: what lies right of the diagonal is the mirror image of what lies left of it,
    whether a tile holds it or not.
    """

    shape: tuple[int, int]
    symmetric: bool
    blocks: tuple[Block, ...]

    @property
    def tiles(self) -> list[Tile]:
        return [tile for block in self.blocks for tile in block.tiles]

    @property
    def cells(self) -> int:
        return sum(tile.cells for tile in self.tiles)


def planned(
    shape: tuple[int, int],
    *,
    symmetric: bool,
    index: int,
    thread: int,
    matrices: int,
    n_jobs: int,
    memory: int,
    strips: int | None = None,
) -> Plan:
    """The tiles of a matrix: an index takes half of the budget at most, and what is computed the other half.

    Parameters
    ----------
    shape : rows, columns
    symmetric : bool
        Whether columns and rows are the same examples.
    index, thread : int
        Bytes of the index of all columns, and of what each thread takes beside it.
    matrices : int
        Arrays of a tile's size, of float64, that a thread works in, the tile itself included.
    n_jobs : int
        Threads.
    memory : int
        Bytes.
    strips : int, optional
        Strips of rows, at least; by default so many that they keep the threads busy.
    """
    spans = column_blocks(shape[1], index + n_jobs * thread, memory)
    halves = symmetric and len(spans) == 1
    blocks = []
    for columns in spans:
        first = columns.begin if symmetric else 0  # what lies above the diagonal is mirrored below
        rows = row_strips(
            shape[0] - first,
            len(columns),
            n_jobs=n_jobs,
            memory=memory // 2,
            matrices=matrices,
            halves=halves,
            strips=strips,
        )
        tiles = [
            Tile(Span(first + strip.begin, first + strip.end), Span(0, strip.end) if halves else columns, halves)
            for strip in rows
        ]
        blocks.append(Block(columns, tuple(tiles)))
    return Plan(shape, symmetric, tuple(blocks))


def row_strips(
    n_rows: int, n_columns: int, *, n_jobs: int, memory: int, matrices: int, halves: bool, strips: int | None = None
) -> list[Span]:
    """Strips of rows, each small enough for the budget and enough of them to keep all threads busy to the end.

    By halves the later rows are the longer ones and come first, so that no thread is left with a long one at the end.
    """
    if n_rows == 0 or n_columns == 0:
        return []
    strip_bytes = 8 * n_columns * max(1, matrices)
    fits = max(1, memory // (strip_bytes * n_jobs))
    wanted = strips or (24 * n_jobs if n_jobs > 1 else 12)
    rows = int(min(fits, -(-n_rows // wanted)))
    spans = [Span(begin, min(begin + rows, n_rows)) for begin in range(0, n_rows, rows)]
    return spans[::-1] if halves and (n_jobs > 1 or strips) else spans


def column_blocks(n_columns: int, index_bytes: int, memory: int) -> list[Span]:
    """Blocks of columns whose index takes at most half of the budget."""
    if n_columns == 0:
        return []
    count = max(1, min(n_columns, -(-2 * index_bytes // memory)))
    width = -(-n_columns // count)
    return [Span(begin, min(begin + width, n_columns)) for begin in range(0, n_columns, width)]


def mirrored(n: int, memory: int, threads: int) -> list[Tile]:
    """Square tiles of the upper half of a matrix, such that one fits the budget twice a thread."""
    share = -(-n // (4 * threads)) if threads > 1 else n
    side = max(16, min(share, math.isqrt(memory // (16 * threads))))
    bands = [Span(begin, min(begin + side, n)) for begin in range(0, n, side)]
    return [Tile(rows, columns) for rows in bands for columns in bands if columns.end > rows.begin]
