"""What a matrix is wanted for, without the matrix: it is computed tile by tile, and only what is asked of a tile is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

import numpy as np

from treelet import _core
from treelet.errors import InputTypeError
from treelet.gram.plan import DEFAULT_MEMORY, Span, Tile, parse_memory
from treelet.gram.tiles import AnyCrew, compute, crew_of, plan_matrix
from treelet.kernels.base import Matrix, Needs, Pairwise
from treelet.progress import progress_bar
from treelet.work import count_threads

FLOAT = np.dtype(np.float64)
Take = Callable[[slice, slice, Matrix], object]
"""What becomes of a tile: its rows, its columns, its values."""


def reduce(
    kernel: Pairwise,
    X: Any,
    Y: Any | None,
    function: Take,
    *,
    n_jobs: int | None = 1,
    memory: int | float | str | None = None,
    device: str = "cpu",
    device_memory: int | float | str | None = None,
    progress: bool = False,
) -> None:
    """Give the matrix of a kernel's values away tile by tile, to a function of yours; it is never there as a whole.

    Parameters
    ----------
    kernel : Kernel
        Any of treelet's kernels, or a distance (``kernel.distance()``).
    X, Y : collections
        Rows and columns. Y may be None, for X with itself: then each value is computed once, and given at both of its places.
    function : callable
        ``function(rows, columns, values)`` gets each tile: two slices, and the values at these rows and columns, not to be
        changed. The tiles come in no particular order, one at a time whatever `n_jobs`; together they are the matrix.
    n_jobs : int
        Threads that compute; -1 for one a core.
    memory : int or str, optional
        How much the work may take besides the examples, such as ``"1GiB"`` (the default).
    device, device_memory
        ``"cuda"``: compute on a GPU, as for `treelet.gram`; the tiles are copied, so that `function` gets arrays of NumPy's.
    progress : bool
        Show a progress bar on the standard error.

    Examples
    --------
    How often two trees are alike:

    >>> import numpy as np, treelet as tl
    >>> from treelet.gram import reduce
    >>> trees = ["(NP (D a) (N dog))", "(NP (D a) (N cat))", "(D a)"]
    >>> counts = np.zeros(3, int)
    >>> def count(rows, columns, values):
    ...     counts[:] += np.histogram(values, bins=3, range=(0, 1))[0]
    >>> reduce(tl.SubsetTree(lam=1).normalized(), trees, None, count)
    >>> counts.tolist()
    [0, 6, 3]
    """
    check_pairwise(kernel, "reduce")
    if not callable(function):
        raise InputTypeError(f"reduce needs a function of rows, columns and values, got {type(function).__name__}")
    X = kernel.coerce(X)
    Y = None if Y is None else kernel.coerce(Y)
    lock = Lock()

    def take(rows: slice, columns: slice, tile: Matrix) -> None:
        shown = tile.view()
        shown.setflags(write=False)
        with lock:
            function(rows, columns, shown)

    each_tile(
        kernel,
        X,
        Y,
        take,
        n_jobs=n_jobs,
        memory=parse_memory(memory) or DEFAULT_MEMORY,
        progress=progress,
        crew=crew_of(None, device, device_memory),
    )


def check_pairwise(kernel: Any, what: str) -> None:
    """What comes first must be a kernel, or a distance."""
    if not isinstance(kernel, Pairwise):
        raise InputTypeError(f"{what} needs a kernel first, got {type(kernel).__name__}")


def each_tile(
    kernel: Pairwise,
    X: Any,
    Y: Any | None,
    take: Take,
    *,
    n_jobs: int | None,
    memory: int,
    progress: bool = False,
    needs: Needs | None = None,
    crew: AnyCrew | None = None,
) -> None:
    """Compute the values of X with Y, in the kernel's form, tile by tile, and give each cell away once.

    Tiles come from all threads, several at once; those with rows in common may be among them where Y is None. Then a value is computed
    once and taken twice. `needs` are those of the columns, if they are known already. A crew computes in place of threads.
    """
    threads = count_threads(n_jobs)
    if crew is None:
        plan = plan_matrix(kernel, X, Y, n_jobs=threads, memory=memory, dtype=FLOAT, buffers=1, needs=needs)
    else:
        plan = crew.plan(kernel, X, Y, memory=memory, dtype=FLOAT, buffers=1)
    given = _Given(take, plan.symmetric)
    with progress_bar(progress, "kernel values", plan.cells) as advance:
        if crew is None:
            compute(kernel, X, Y, plan.blocks, given, threads, advance)
        else:
            crew.compute(kernel, X, Y, plan.blocks, given, memory=memory, dtype=FLOAT, advance=advance)


class _Given:
    """Tiles that are given away."""

    def __init__(self, take: Take, symmetric: bool) -> None:
        self._take, self._symmetric = take, symmetric

    @contextmanager
    def tile(self, tile: Tile) -> Iterator[Matrix]:
        values = np.empty(tile.shape)
        yield values
        for rows, columns, part in pieces(tile, values, self._symmetric):
            self._take(rows.slice, columns.slice, part)


def pieces(tile: Tile, values: Matrix, symmetric: bool) -> Iterator[tuple[Span, Span, Matrix]]:
    """What a tile knows of the matrix, rows, columns and values: of a symmetric one also the tile's mirror image.

    All tiles of a plan together know every cell once.
    """
    rows, columns = tile.rows, tile.columns
    if not symmetric:
        yield rows, columns, values
        return
    if tile.halves:
        square = values[:, rows.begin :]
        if isinstance(square, np.ndarray):
            _core.mirror(square, 0, len(rows), 0, len(rows))
        else:
            square[...] = np.tril(square) + np.tril(square, -1).T
        yield rows, rows, square
        columns, values = Span(0, rows.begin), values[:, : rows.begin]
    else:  # of a block of columns; what has these as rows, too, is whole
        border = min(max(columns.end, rows.begin), rows.end)
        if border > rows.begin:
            yield Span(rows.begin, border), columns, values[: border - rows.begin]
        rows, values = Span(border, rows.end), values[border - rows.begin :]
    if values.size:
        yield rows, columns, values
        yield columns, rows, values.T
