"""Plans: the tiles of a matrix under a memory limit. Only numbers; no threads, files or examples."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

STRIP = 1 << 16  # minimum number of values per strip of a single thread, which makes the overhead per strip negligible


@dataclass(frozen=True)
class Span:
    """Rows or columns ``begin..end`` of a matrix."""

    begin: int
    end: int

    def __len__(self) -> int:
        return self.end - self.begin

    @property
    def slice(self) -> slice:
        return slice(self.begin, self.end)


@dataclass(frozen=True)
class Tile:
    """Rows and columns of a matrix. With `halves`, only columns ``0..i`` of row ``i`` are computed."""

    rows: Span
    columns: Span
    halves: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), len(self.columns)

    @property
    def cells(self) -> int:
        """The number of values that are computed, which estimates the cost of the tile."""
        if not self.halves:
            return len(self.rows) * len(self.columns)
        return len(self.rows) * (self.rows.begin + 1 + self.rows.end) // 2


@dataclass(frozen=True)
class Block:
    """Columns that are indexed together, and the tiles that compute them."""

    columns: Span
    tiles: tuple[Tile, ...]


@dataclass(frozen=True)
class Plan:
    """All tiles of a matrix.

    The matrix of a collection with itself is symmetric. Values to the right of the diagonal mirror
    those to the left, whether or not a tile contains them.
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

    def as_json(self) -> dict[str, Any]:
        """Return the plan as plain numbers, for `from_json`."""
        blocks = [
            {
                "columns": [block.columns.begin, block.columns.end],
                "rows": [[t.rows.begin, t.rows.end] for t in block.tiles],
            }
            for block in self.blocks
        ]
        return {"shape": list(self.shape), "symmetric": self.symmetric, "blocks": blocks}

    @staticmethod
    def from_json(data: Any) -> Plan:
        """Return the plan of `as_json`. Raise ValueError, TypeError or KeyError if the data are invalid."""
        rows, columns = map(int, data["shape"])
        symmetric = bool(data["symmetric"])
        halves = symmetric and len(data["blocks"]) == 1
        blocks = [
            _block(_span(block["columns"], columns), [_span(strip, rows) for strip in block["rows"]], halves)
            for block in data["blocks"]
        ]
        return Plan((rows, columns), symmetric, tuple(blocks))


def _span(ends: Any, most: int) -> Span:
    begin, end = map(int, ends)
    if not 0 <= begin < end <= most:
        raise ValueError(f"{begin} to {end} is not a range within 0 to {most}")
    return Span(begin, end)


def planned(
    shape: tuple[int, int],
    *,
    symmetric: bool,
    index: int,
    thread: int,
    cell: int,
    threads: int,
    memory: int,
    begin: int = 0,
    at_once: int = 1,
    grid: int = 1,
    strips: int | None = None,
) -> Plan:
    """Divide a matrix into tiles. The index takes at most half of the memory, the values the other half.

    Parameters
    ----------
    shape : rows, columns
    symmetric : bool
        Whether columns and rows are the same examples.
    index, thread : int
        Bytes of the index of all columns, and additional bytes per thread.
    cell : int
        Bytes per value of a tile and thread.
    threads : int
        Number of threads.
    memory : int
        Memory limit in bytes.
    begin : int
        First row of the plan.
    at_once : int
        Number of tiles that must fit the memory together, if larger than the number of threads.
    grid : int
        Tiles start at multiples of this number.
    strips : int, optional
        Minimum number of strips of rows. Default: enough to keep all threads busy.
    """
    spans = column_blocks(shape[1], index + threads * thread, memory, grid)
    halves = symmetric and len(spans) == 1
    blocks = []
    for columns in spans:
        first = max(begin, columns.begin) if symmetric else begin  # values above the diagonal are mirrored from below
        rows = row_strips(
            shape[0] - first,
            len(columns),
            threads=max(threads, at_once),
            memory=memory // 2,
            cell=cell,
            halves=halves and (threads > 1 or strips is not None),
            grid=grid,
            strips=strips,
        )
        spans_of_rows = [Span(first + strip.begin, first + strip.end) for strip in rows]
        blocks.append(_block(columns, spans_of_rows, halves))
    return Plan(shape, symmetric, tuple(blocks))


def _block(columns: Span, strips: list[Span], halves: bool) -> Block:
    return Block(columns, tuple(Tile(rows, Span(0, rows.end) if halves else columns, halves) for rows in strips))


def row_strips(
    n_rows: int,
    n_columns: int,
    *,
    threads: int,
    memory: int,
    cell: int,
    halves: bool,
    grid: int = 1,
    strips: int | None = None,
) -> list[Span]:
    """Return strips of rows that fit the memory, and enough of them to keep all threads busy to the end.

    With `halves`, later rows are longer. They come first, so no thread is left with a long strip at
    the end.
    """
    if n_rows == 0 or n_columns == 0:
        return []
    fits = max(1, memory // (cell * n_columns * threads))
    wanted = strips or (24 * threads if threads > 1 else min(12, -(-n_rows * n_columns // STRIP)))
    rows = int(min(fits, -(-n_rows // wanted)))
    rows = max(grid, rows // grid * grid)
    spans = [Span(begin, min(begin + rows, n_rows)) for begin in range(0, n_rows, rows)]
    return spans[::-1] if halves and (threads > 1 or strips) else spans


def column_blocks(n_columns: int, index_bytes: int, memory: int, grid: int = 1) -> list[Span]:
    """Return blocks of columns whose index takes at most half of the memory, as far as the grid allows."""
    if n_columns == 0:
        return []
    count = max(1, min(n_columns, -(-2 * index_bytes // memory)))
    width = max(grid, -(-n_columns // count) // grid * grid)
    return [Span(begin, min(begin + width, n_columns)) for begin in range(0, n_columns, width)]


def mirrored(n: int, memory: int, threads: int, begin: int = 0) -> list[Tile]:
    """Return square tiles of the upper half of a matrix, from a given column on.

    The memory holds two of them per thread.
    """
    share = -(-n // (4 * threads)) if threads > 1 else n
    side = max(16, min(share, math.isqrt(memory // (16 * threads))))
    bands = [Span(first, min(first + side, n)) for first in range(0, n, side)]
    wanted = [Span(max(begin, band.begin), band.end) for band in bands if band.end > begin]
    return [Tile(rows, columns) for rows in bands for columns in wanted if columns.end > rows.begin]
