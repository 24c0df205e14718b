"""A matrix to compute, and the computation of one tile, which all executors share."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from treelet.errors import InputTypeError
from treelet.gram.plan import Block, Plan, Span, Tile, planned
from treelet.kernels.pairwise import Evaluator, Matrix, Needs, Pairwise, overflow
from treelet.kernels.values import first_place
from treelet.printable import shortened
from treelet.progress import Advance

if TYPE_CHECKING:
    from treelet.gram.stored.existing import ExistingMatrix

Values = NDArray[Any]
"""float64 or float32."""
FLOAT = np.dtype(np.float64)
STRIP = 1 << 24  # maximal bytes of float64 values that are computed at once, before they are rounded to float32
ROWS = 64  # minimal number of rows per strip, because computing similar rows together is faster
STRIPS = 4  # minimal number of strips per tile


@dataclass(frozen=True)
class Job:
    """A matrix to compute: kernel, rows, columns and dtype."""

    kernel: Pairwise
    X: Any
    """Rows, in the kernel's form."""
    Y: Any | None = None
    """Columns; None for the symmetric matrix of X with itself. A function that is not symmetric gets X as columns."""
    dtype: np.dtype[Any] = FLOAT
    existing: ExistingMatrix | None = None
    """The matrix of the first rows and columns, which is copied instead of computed."""

    def __post_init__(self) -> None:
        if self.Y is None and not self.kernel.is_symmetric:
            object.__setattr__(self, "Y", self.X)

    @property
    def columns(self) -> Any:
        return self.X if self.Y is None else self.Y

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.X), len(self.columns)

    def known(self, grid: int) -> int:
        """Return the number of rows and columns to copy from the existing matrix, a multiple of the grid."""
        return 0 if self.existing is None else self.existing.size // grid * grid


class Sink(Protocol):
    """Receives the tiles of a matrix."""

    def tile(self, tile: Tile) -> AbstractContextManager[Values]:
        """Return an array of the tile's shape to fill. The sink takes the values when the context ends."""


def plan_matrix(job: Job, *, memory: int, buffers: int = 0, needs: Needs | None = None, **options: Any) -> Plan:
    """Divide a matrix into tiles. The other options are those of `planned`.

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
    own = 8 * matrices if job.dtype == FLOAT else job.dtype.itemsize + 8 * matrices // STRIPS
    return planned(
        job.shape,
        symmetric=job.Y is None,
        index=needs.index,
        thread=needs.thread,
        cell=own + 8 * buffers,
        memory=memory,
        **options,
    )


def check_pairwise(kernel: Any, function: str) -> None:
    """Raise `InputTypeError` if the first argument of a function is not a kernel or a distance."""
    if not issubclass(type(kernel), Pairwise):  # isinstance would first register the kernel with scikit-learn
        raise not_a_kernel(kernel, function, "a kernel or a distance")


def not_a_kernel(kernel: Any, function: str, wanted: str = "a kernel") -> InputTypeError:
    """Return the error for a first argument that is not a kernel."""
    if isinstance(kernel, type) and issubclass(kernel, Pairwise):
        got, remedy = f"the class {kernel.__name__}", f"Pass an instance, such as {kernel.__name__}()."
    else:
        got, remedy = shortened(kernel), "Pass the kernel first, then the examples."
    return InputTypeError(f"The 'kernel' parameter of {function} must be {wanted}. Got {got} instead. {remedy}")


def bind(job: Job, block: Block, threads: int = 1) -> Evaluator:
    """Bind the kernel to all rows and a block of columns. All threads share the prepared data."""
    whole = len(block.columns) == job.shape[1]
    columns = job.Y if whole else job.columns[block.columns.slice]
    if threads > 1:
        job.kernel.prepare(job.X, columns, threads)
    evaluator = job.kernel.evaluator(job.X, columns)
    evaluator.first_column = block.columns.begin
    return evaluator


def steps(kernel: Pairwise, tile: Tile) -> int:
    """Return the number of steps that a tile counts in the progress display: rows of a search, otherwise values."""
    return len(tile.rows) if kernel.searches else tile.cells


def fill_tile(
    kernel: Pairwise, evaluator: Evaluator, tile: Tile, out: Values, advance: Advance = lambda cells: None
) -> None:
    """Compute a tile into an array of the same shape, with the evaluator of its block.

    The tile is computed in strips of rows, so `advance`, which counts `steps`, is called more than once per tile.
    """
    direct = out.dtype == np.float64 or evaluator.rounds
    height = -(-len(out) // STRIPS)
    if evaluator.xp is np:
        height = min(height, max(ROWS, STRIP // (8 * max(1, out.shape[1]))))
        height = max(height, ROWS) if direct else height
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
        advance(steps(kernel, Tile(rows, tile.columns, tile.halves)))


def _round(values: Matrix, out: Values, kernel: Pairwise, corner: tuple[int, int], halves: bool) -> None:
    """Round a strip to the dtype of `out`. `corner` is the position of the strip in the whole matrix."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        out[...] = values
    infinite = first_place(~np.isfinite(out), corner[0], halves)
    if infinite is not None:
        raise overflow(kernel, infinite[0], infinite[1] + corner[1], out.dtype)
