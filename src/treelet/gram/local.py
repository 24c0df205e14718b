"""Gram matrices on this machine, by threads."""

from __future__ import annotations

from typing import Any

import numpy as np

from treelet import _core
from treelet.errors import InputTypeError, ParameterError
from treelet.gram.mapped import Mapped
from treelet.gram.plan import DEFAULT_MEMORY, Tile, column_blocks, mirrored, parse_memory, row_strips
from treelet.kernels.base import Evaluator, Kernel, Matrix
from treelet.work import Advance, count_threads, progress_bar, run


def gram(
    kernel: Kernel,
    X: Any,
    Y: Any | None = None,
    *,
    n_jobs: int | None = 1,
    memory: int | float | str | None = None,
    out: Matrix | None = None,
    progress: bool = False,
) -> Matrix:
    """The matrix of a kernel's values, tile by tile.

    Parameters
    ----------
    kernel : Kernel
        Any of treelet's kernels.
    X, Y : collections
        Rows and columns. Without Y the matrix is that of X with itself, of which only half is computed.
    n_jobs : int
        Threads; -1 for one a core. The result does not depend on it.
    memory : int or str, optional
        How much the work may take, such as ``"1GiB"`` (the default for what comes besides the result). If given, a
        result that is larger must go into an `out` of yours. The examples come besides, and 24 MiB for the interpreter's
        own; what was written to a mapped file counts for nothing. What two rows and an index of one column take is taken
        in any case.
    out : ndarray or memmap of float64, optional
        Where the result goes: ``len(X)`` x ``len(Y)``, rows contiguous.
    progress : bool
        Show a progress bar on the standard error.

    Returns
    -------
    ndarray
        `out`, if it was given.

    Examples
    --------
    >>> import treelet as tl
    >>> tl.gram(tl.SubsetTree(lam=1), ["(D a)", "(D the)"], memory="100MB")
    array([[1., 0.],
           [0., 1.]])
    """
    if not isinstance(kernel, Kernel):
        raise InputTypeError(f"gram needs a kernel first, got {type(kernel).__name__}")
    threads = count_threads(n_jobs)
    budget = parse_memory(memory)
    X = kernel.coerce(X)
    Y = None if Y is None else kernel.coerce(Y)
    shape = (len(X), len(X if Y is None else Y))
    out = _checked(out, shape) if out is not None else _allocate(shape, budget)
    budget = budget or DEFAULT_MEMORY
    halves = Y is None
    needs = kernel.needs(X if Y is None else Y, budget // 2)
    blocks = column_blocks(shape[1], needs.index + threads * needs.thread, budget)
    cells = shape[0] * (shape[1] + 1) // 2 if halves else shape[0] * shape[1]
    mapped = Mapped.of(out)
    try:
        with progress_bar(progress, "kernel values", cells) as advance:
            if len(blocks) <= 1:
                _fill(kernel.evaluator(X, Y), out, mapped, threads, budget // 2, halves, advance)
            else:
                for begin, end in blocks:
                    part = kernel.evaluator(X, (X if Y is None else Y)[begin:end])
                    first = begin if halves else 0  # what lies above the diagonal is mirrored below
                    _fill(part, out[:, begin:end], mapped, threads, budget // 2, False, advance, first)
        if halves:

            def mirror(tiles: tuple[Tile, Tile]) -> None:
                rows, columns = tiles
                if mapped is not None:
                    mapped.mirror(rows, columns)
                else:
                    _core.mirror(out, rows.begin, rows.end, columns.begin, columns.end)

            run(mirror, mirrored(shape[0], budget // 2, threads), threads, lambda done: None)
    finally:
        if mapped is not None:
            mapped.close()
    return out


def _fill(
    evaluator: Evaluator,
    out: Matrix,
    mapped: Mapped | None,
    threads: int,
    budget: int,
    halves: bool,
    advance: Advance,
    first: int = 0,
) -> None:
    """Rows from the first on, in strips."""
    strips = row_strips(
        evaluator.n_rows - first,
        evaluator.n_columns,
        n_jobs=threads,
        memory=budget,
        matrices=1 + evaluator.scratch,
        halves=halves,
    )

    def work(tile: Tile) -> int:
        begin, end = first + tile.begin, first + tile.end
        target = out[begin:end, :end] if halves else out[begin:end]
        evaluator.fill(begin, end, target, halves)
        if mapped is not None:
            mapped.release()
        return target.size

    run(work, strips, threads, advance)


def _allocate(shape: tuple[int, int], budget: int | None) -> Matrix:
    needed = 8 * shape[0] * shape[1]
    if budget is not None and needed > budget:
        raise ParameterError(
            f"the result, {shape[0]} x {shape[1]}, takes {needed:,} bytes, more than the {budget:,} of memory=: "
            "give an out= array of yours, for example numpy.lib.format.open_memmap(...)"
        )
    return np.empty(shape)


def _checked(out: Matrix, shape: tuple[int, int]) -> Matrix:
    fits = isinstance(out, np.ndarray) and out.shape == shape and out.dtype == np.float64
    if not fits or not out.flags.writeable or (shape[1] > 1 and out.strides[1] != 8) or out.strides[0] % 8:
        got = f"{out.dtype} {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise ParameterError(
            f"The 'out' parameter must be a writeable float64 array of shape {shape}, rows contiguous. Got {got} instead."
        )
    return out
