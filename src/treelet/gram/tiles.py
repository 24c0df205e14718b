"""A tile of a matrix: planned, bound to its examples and computed in one way, whoever asks: threads, a file, workers elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from treelet.errors import ParameterError, TreeletError
from treelet.gram.plan import Block, Plan, Tile, planned
from treelet.kernels.base import Evaluator, Matrix, Needs, Pairwise, overflow
from treelet.kernels.values import first_place
from treelet.progress import Advance
from treelet.work import run, sharing

if TYPE_CHECKING:
    from treelet.device.launching import Device

Values = NDArray[Any]
"""float64 or float32."""
STRIP = 1 << 24  # bytes of float64 on their way to smaller numbers
ROWS = 64  # of such a strip: neighbours that share much are worked on together
STRIPS = 4  # in a tile, at least


class AnyCrew(Protocol):
    """Who computes tiles in place of threads."""

    def plan(
        self,
        kernel: Pairwise,
        X: Any,
        Y: Any | None,
        *,
        memory: int,
        dtype: np.dtype[Any],
        buffers: int = 0,
        begin: int = 0,
        at_once: int = 1,
        grid: int = 1,
    ) -> Plan:
        """The tiles of a matrix; see `plan_matrix`."""

    def compute(
        self,
        kernel: Pairwise,
        X: Any,
        Y: Any | None,
        blocks: Iterable[Block],
        place: Place,
        *,
        memory: int,
        dtype: np.dtype[Any],
        advance: Advance = lambda cells: None,
    ) -> None:
        """Compute the tiles of all blocks, each into its place."""

    def each_found(
        self,
        kernel: Pairwise,
        X: Any,
        Y: Any | None,
        far: Callable[[Tile, Values], list[Any]],
        take: Callable[[Any], object],
        *,
        memory: int,
        progress: bool = False,
    ) -> None:
        """Let all values of X with Y be searched: `take` gets what `far` finds in a tile, one by one."""


class Place(Protocol):
    """Where tiles go."""

    def tile(self, tile: Tile) -> AbstractContextManager[Values]:
        """An array of the tile's shape, to be filled; at the end of the context its values are where they belong."""


def plan_matrix(
    kernel: Pairwise,
    X: Any,
    Y: Any | None,
    *,
    n_jobs: int,
    memory: int,
    dtype: np.dtype[Any],
    buffers: int = 0,
    needs: Needs | None = None,
    begin: int = 0,
    at_once: int = 1,
    grid: int = 1,
    strips: int | None = None,
) -> Plan:
    """The tiles of the matrix of X with Y (None: with itself), whose values will be of `dtype`; see `planned`.

    `buffers`: how many arrays of a tile's size, of float64, each thread takes besides those of the kernel. `needs`: the kernel's for
    these columns, if they are known.
    """
    columns = X if Y is None else Y
    if needs is None:
        needs = kernel.needs(columns, memory // 2)
    matrices = 1 + needs.scratch
    own = 8 * matrices if dtype == np.float64 else dtype.itemsize + 8 * matrices // STRIPS
    return planned(
        (len(X), len(columns)),
        symmetric=Y is None,
        index=needs.index,
        thread=needs.thread,
        cell=own + 8 * buffers,
        n_jobs=n_jobs,
        memory=memory,
        begin=begin,
        at_once=at_once,
        grid=grid,
        strips=strips,
    )


def bound(kernel: Pairwise, X: Any, Y: Any | None, block: Block, device: Device | None = None) -> Evaluator:
    """The kernel bound to all rows and a block of columns, on a device or not: their index is made here, and threads may share it."""
    columns = X if Y is None else Y
    whole = len(block.columns) == len(columns)
    evaluator = kernel.evaluator(X, Y if whole else columns[block.columns.slice])
    evaluator.first_column = block.columns.begin
    return evaluator.ready() if device is None else evaluator.on(device)


def fill_tile(kernel: Pairwise, evaluator: Evaluator, tile: Tile, out: Values) -> None:
    """Compute a tile by the evaluator of its block, into an array of its shape."""
    if out.dtype == np.float64 or evaluator.rounds:
        evaluator.fill(tile.rows.begin, tile.rows.end, out, tile.halves)
        return
    height = -(-len(out) // STRIPS)
    if evaluator.xp is np:
        height = min(height, max(ROWS, STRIP // (8 * max(1, out.shape[1]))))
    for begin in range(tile.rows.begin, tile.rows.end, height):
        end = min(begin + height, tile.rows.end)
        width = end if tile.halves else out.shape[1]
        values = evaluator.xp.zeros((end - begin, width))
        evaluator.fill(begin, end, values, tile.halves)
        target = out[begin - tile.rows.begin : end - tile.rows.begin, :width]
        _round(values, target, kernel, (begin, tile.columns.begin), tile.halves)


def _round(values: Matrix, out: Values, kernel: Pairwise, corner: tuple[int, int], halves: bool) -> None:
    """Round a strip to the numbers of `out`; `corner` is where it begins in the whole matrix."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        out[...] = values
    place = first_place(~np.isfinite(out), corner[0], halves)
    if place is not None:
        raise overflow(kernel, place[0], place[1] + corner[1], out.dtype)


def crew_of(client: Any = None, device: str = "cpu", device_memory: int | float | str | None = None) -> AnyCrew | None:
    """Who computes in place of threads: the workers that a Dask client stands for, or a device; None for neither."""
    if device != "cpu" or device_memory is not None:
        from treelet.gram.on_device import crew_on

        if client is not None:
            raise ParameterError("the workers of client= compute on their CPUs: give either client= or device=")
        return crew_on(device, device_memory)
    if client is None:
        return None
    try:
        from treelet.gram.on_dask import Crew
    except ImportError as error:
        raise TreeletError(f"client= needs Dask: pip install 'treelet[dask]' ({error})") from None
    return Crew(client)


def compute(
    kernel: Pairwise,
    X: Any,
    Y: Any | None,
    blocks: Iterable[Block],
    place: Place,
    threads: int,
    advance: Advance = lambda cells: None,
) -> None:
    """Compute the tiles of all blocks, by threads, each into its place. Blocks come one after the other."""
    for block in blocks:
        with sharing(threads):
            evaluator = bound(kernel, X, Y, block)

        def work(tile: Tile, evaluator: Evaluator = evaluator) -> int:
            with place.tile(tile) as out:
                fill_tile(kernel, evaluator, tile, out)
            return tile.cells

        run(work, block.tiles, threads, advance)
