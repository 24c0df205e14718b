"""What a matrix is wanted for, without the matrix: it is computed tile by tile, and only what is asked of a tile is kept."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import Lock
from typing import Any

import numpy as np

from treelet import _core
from treelet.errors import InputTypeError
from treelet.gram.plan import DEFAULT_MEMORY, Tile, column_blocks, parse_memory, row_strips
from treelet.kernels.base import Evaluator, Matrix, Needs, Pairwise
from treelet.work import Advance, count_threads, progress_bar, run

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

    budget = parse_memory(memory) or DEFAULT_MEMORY
    with progress_bar(progress, "kernel values", cells(X, Y)) as advance:
        each_tile(kernel, X, Y, take, threads=count_threads(n_jobs), budget=budget, advance=advance)


def check_pairwise(kernel: Any, what: str) -> None:
    """What comes first must be a kernel, or a distance."""
    if not isinstance(kernel, Pairwise):
        raise InputTypeError(f"{what} needs a kernel first, got {type(kernel).__name__}")


def cells(X: Any, Y: Any | None) -> int:
    """How many values are computed."""
    return len(X) * (len(X) + 1) // 2 if Y is None else len(X) * len(Y)


def each_tile(
    kernel: Pairwise,
    X: Any,
    Y: Any | None,
    take: Take,
    *,
    threads: int,
    budget: int,
    advance: Advance = lambda cells: None,
    needs: Needs | None = None,
) -> None:
    """Compute the values of X with Y, in the kernel's form, tile by tile, and give each cell away once.

    Tiles come from all threads, several at once; those with rows in common may be among them where Y is None. Then a value is computed
    once and taken twice. `needs` are those of the columns, if they are known already.
    """
    columns = X if Y is None else Y
    if needs is None:
        needs = kernel.needs(columns, budget // 2)
    blocks = column_blocks(len(columns), needs.index + threads * needs.thread, budget)
    for begin, end in blocks:
        whole = len(blocks) == 1
        evaluator = kernel.evaluator(X, Y if whole else columns[begin:end])
        first = begin if Y is None else 0  # above a block's diagonal is the mirror image of what other blocks have
        kind = _taken if Y is not None else _taken_by_halves if whole else _taken_twice
        work = partial(_strip, kind, evaluator, first, slice(begin, end), take)

        strips = row_strips(
            evaluator.n_rows - first,
            evaluator.n_columns,
            n_jobs=threads,
            memory=budget // 2,
            matrices=2 + evaluator.scratch,  # what is done to a tile takes as much again
            halves=Y is None,
        )
        run(work, strips, threads, advance)


def _strip(
    kind: Callable[[Evaluator, slice, slice, Take], int],
    evaluator: Evaluator,
    first: int,
    columns: slice,
    take: Take,
    strip: Tile,
) -> int:
    return kind(evaluator, slice(first + strip.begin, first + strip.end), columns, take)


def _taken(evaluator: Evaluator, rows: slice, columns: slice, take: Take) -> int:
    """A strip of rows, given away as it is; how many values it has."""
    tile = np.empty((rows.stop - rows.start, columns.stop - columns.start))
    evaluator.fill(rows.start, rows.stop, tile, False)
    take(rows, columns, tile)
    return tile.size


def _taken_by_halves(evaluator: Evaluator, rows: slice, columns: slice, take: Take) -> int:
    """A strip of a symmetric matrix, up to the diagonal, given away together with its mirror image."""
    tile = np.empty((rows.stop - rows.start, rows.stop))
    evaluator.fill(rows.start, rows.stop, tile, True)
    square = tile[:, rows.start :]
    _core.mirror(square, 0, len(square), 0, len(square))
    take(rows, rows, square)
    if rows.start:
        take(rows, slice(0, rows.start), tile[:, : rows.start])
        take(slice(0, rows.start), rows, tile[:, : rows.start].T)
    return tile.size


def _taken_twice(evaluator: Evaluator, rows: slice, columns: slice, take: Take) -> int:
    """A strip of a block of columns: its mirror image, too, but for rows that are among the block's columns."""
    tile = np.empty((rows.stop - rows.start, columns.stop - columns.start))
    evaluator.fill(rows.start, rows.stop, tile, False)
    border = min(max(columns.stop, rows.start), rows.stop)
    if rows.start < border:
        take(slice(rows.start, border), columns, tile[: border - rows.start])
    if border < rows.stop:
        below = tile[border - rows.start :]
        take(slice(border, rows.stop), columns, below)
        take(columns, slice(border, rows.stop), below.T)
    return tile.size
