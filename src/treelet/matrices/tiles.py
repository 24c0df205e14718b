"""A matrix to compute, and the computation of one tile, which all executors share."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from treelet.errors import InputTypeError
from treelet.kernels.pairwise import Evaluator, Matrix, Needs, Pairwise, overflow
from treelet.kernels.values import first_place
from treelet.printable import shortened
from treelet.work import Advance

_STRIP_ROWS = (
    1 << 16
)  # minimum number of values per strip of a single thread, which makes the overhead per strip negligible


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

    def steps(self, kernel: Pairwise) -> int:
        """Return the number of steps that the tile counts in the progress display: rows of a search, otherwise values."""
        return len(self.rows) if kernel.searches else self.cells


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


def _planned(
    shape: tuple[int, int],
    *,
    symmetric: bool,
    index: int,
    thread: int,
    cell: int,
    threads: int,
    memory: int,
    at_once: int = 1,
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
    at_once : int
        Number of tiles that must fit the memory together, if larger than the number of threads.
    strips : int, optional
        Minimum number of strips of rows. Default: enough to keep all threads busy.
    """
    spans = _column_blocks(shape[1], index + threads * thread, memory)
    halves = symmetric and len(spans) == 1
    blocks = []
    for columns in spans:
        first = columns.begin if symmetric else 0  # values above the diagonal are mirrored from below
        rows = _row_strips(
            shape[0] - first,
            len(columns),
            threads=max(threads, at_once),
            memory=memory // 2,
            cell=cell,
            halves=halves and (threads > 1 or strips is not None),
            strips=strips,
        )
        spans_of_rows = [Span(first + strip.begin, first + strip.end) for strip in rows]
        blocks.append(_block(columns, spans_of_rows, halves))
    return Plan(shape, symmetric, tuple(blocks))


def _block(columns: Span, strips: list[Span], halves: bool) -> Block:
    return Block(columns, tuple(Tile(rows, Span(0, rows.end) if halves else columns, halves) for rows in strips))


def _row_strips(
    n_rows: int,
    n_columns: int,
    *,
    threads: int,
    memory: int,
    cell: int,
    halves: bool,
    strips: int | None = None,
) -> list[Span]:
    """Return strips of rows that fit the memory, and enough of them to keep all threads busy to the end.

    With `halves`, later rows are longer. They come first, so no thread is left with a long strip at
    the end.
    """
    if n_rows == 0 or n_columns == 0:
        return []
    fits = max(1, memory // (cell * n_columns * threads))
    wanted = strips or (24 * threads if threads > 1 else min(12, -(-n_rows * n_columns // _STRIP_ROWS)))
    rows = int(min(fits, -(-n_rows // wanted)))
    spans = [Span(begin, min(begin + rows, n_rows)) for begin in range(0, n_rows, rows)]
    return spans[::-1] if halves and (threads > 1 or strips) else spans


def _column_blocks(n_columns: int, index_bytes: int, memory: int) -> list[Span]:
    """Return blocks of columns whose index takes at most half of the memory."""
    if n_columns == 0:
        return []
    count = max(1, min(n_columns, -(-2 * index_bytes // memory)))
    width = -(-n_columns // count)
    return [Span(begin, min(begin + width, n_columns)) for begin in range(0, n_columns, width)]


def mirrored(n: int, memory: int, threads: int) -> list[Tile]:
    """Return square tiles of the upper half of a matrix. The memory holds two of them per thread."""
    share = -(-n // (4 * threads)) if threads > 1 else n
    side = max(16, min(share, math.isqrt(memory // (16 * threads))))
    bands = [Span(first, min(first + side, n)) for first in range(0, n, side)]
    return [Tile(rows, columns) for rows in bands for columns in bands if columns.end > rows.begin]


# --- a matrix to compute, and the computation of one tile, which all executors share ----------------------------------

Values = NDArray[Any]
"""float64 or float32."""
FLOAT = np.dtype(np.float64)
# --- plans: the tiles of a matrix under a memory limit ----------------------------------------------------------------

_STRIP = 1 << 24  # maximal bytes of float64 values that are computed at once, before they are rounded to float32
_ROWS = 64  # minimal number of rows per strip, because computing similar rows together is faster
_STRIPS = 4  # minimal number of strips per tile


@dataclass(frozen=True)
class Job:
    """A matrix to compute: kernel, rows, columns and dtype."""

    kernel: Pairwise
    X: Any
    """Rows, in the kernel's form."""
    Y: Any | None = None
    """Columns; None for the symmetric matrix of X with itself. A function that is not symmetric gets X as columns."""
    dtype: np.dtype[Any] = FLOAT

    def __post_init__(self) -> None:
        if self.Y is None and not self.kernel.is_symmetric:
            object.__setattr__(self, "Y", self.X)

    @property
    def columns(self) -> Any:
        return self.X if self.Y is None else self.Y

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.X), len(self.columns)


class Sink(Protocol):
    """Receives the tiles of a matrix."""

    def tile(self, tile: Tile) -> AbstractContextManager[Values]:
        """Return an array of the tile's shape to fill. The sink takes the values when the context ends."""


def plan_matrix(job: Job, *, memory: int, buffers: int = 0, needs: Needs | None = None, **options: Any) -> Plan:
    """Divide a matrix into tiles. The other options are those of `_planned`.

    Parameters
    ----------
    buffers : int
        Number of float64 arrays of the size of a tile that each thread allocates, besides those of
        the kernel.
    needs : Needs, optional
        Memory needs of the kernel for these columns. Default: computed.
    """
    if needs is None:
        needs = job.kernel.needs(job.columns, memory // 2)
    matrices = 1 + needs.scratch
    own = 8 * matrices if job.dtype == FLOAT else job.dtype.itemsize + 8 * matrices // _STRIPS
    return _planned(
        job.shape,
        symmetric=job.Y is None,
        index=needs.index,
        thread=needs.thread,
        cell=own + 8 * buffers,
        memory=memory,
        **options,
    )


def check_pairwise(kernel: Any, function: str, wanted: type[Any] = Pairwise) -> None:
    """Raise `InputTypeError` if the first argument of a function is not a kernel or a distance.

    `wanted` may be a subclass, `Kernel`.
    """
    if isinstance(kernel, wanted):
        return
    if isinstance(kernel, type) and issubclass(kernel, Pairwise):
        got, remedy = f"the class {kernel.__name__}", f"Pass an instance, such as {kernel.__name__}()."
    else:
        got, remedy = shortened(kernel), "Pass the kernel first, then the examples."
    what = "a kernel or a distance" if wanted is Pairwise else "a kernel"
    raise InputTypeError(f"The 'kernel' parameter of {function} must be {what}. Got {got} instead. {remedy}")


def bind(job: Job, block: Block, threads: int = 1) -> Evaluator:
    """Bind the kernel to all rows and a block of columns. All threads share the prepared data."""
    whole = len(block.columns) == job.shape[1]
    columns = job.Y if whole else job.columns[block.columns.slice]
    if threads > 1:
        job.kernel.prepare(job.X, columns, threads)
    evaluator = job.kernel.evaluator(job.X, columns)
    evaluator.first_column = block.columns.begin
    return evaluator


def fill_tile(
    kernel: Pairwise, evaluator: Evaluator, tile: Tile, out: Values, advance: Advance = lambda cells: None
) -> None:
    """Compute a tile into an array of the same shape, with the evaluator of its block.

    The tile is computed in strips of rows, so `advance`, which counts steps, is called more than once per tile.
    """
    direct = out.dtype == np.float64 or evaluator.rounds
    height = -(-len(out) // _STRIPS)
    if evaluator.xp is np:
        height = min(height, max(_ROWS, _STRIP // (8 * max(1, out.shape[1]))))
        height = max(height, _ROWS) if direct else height
    elif direct:  # a device computes a whole tile at once
        height = max(1, len(out))
    for begin in range(tile.rows.begin, tile.rows.end, height):
        rows = Span(begin, min(begin + height, tile.rows.end))
        width = rows.end if tile.halves else out.shape[1]
        target = out[begin - tile.rows.begin : rows.end - tile.rows.begin, :width]
        values = target if direct else evaluator.xp.zeros(target.shape)
        evaluator.fill(begin, rows.end, values, tile.halves)
        if not direct:
            _round(values, target, kernel, (begin, tile.columns.begin), tile.halves)
        advance(Tile(rows, tile.columns, tile.halves).steps(kernel))


def _round(values: Matrix, out: Values, kernel: Pairwise, corner: tuple[int, int], halves: bool) -> None:
    """Round a strip to the dtype of `out`. `corner` is the position of the strip in the whole matrix."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        out[...] = values
    infinite = first_place(~np.isfinite(out), corner[0], halves)
    if infinite is not None:
        raise overflow(kernel, infinite[0], infinite[1] + corner[1], out.dtype)
