"""Gram matrices on this machine, by threads."""

from __future__ import annotations

import os
from typing import Any, Literal, TypeVar, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

from treelet import _core
from treelet.errors import InputTypeError
from treelet.gram.mapped import Mapped
from treelet.gram.places import Values, allocated, checked_dtype, checked_place, into_file, is_file, store
from treelet.gram.plan import DEFAULT_MEMORY, Tile, column_blocks, mirrored, parse_memory, row_strips
from treelet.kernels.base import Evaluator, Matrix, Pairwise
from treelet.work import Advance, count_threads, progress_bar, run

Out = TypeVar("Out", bound=NDArray[Any])


@overload
def gram(
    kernel: Pairwise,
    X: Any,
    Y: Any | None = None,
    *,
    n_jobs: int | None = 1,
    memory: int | float | str | None = None,
    out: None = None,
    dtype: Literal["float64"] = "float64",
    progress: bool = False,
) -> Matrix: ...
@overload
def gram(
    kernel: Pairwise,
    X: Any,
    Y: Any | None = None,
    *,
    n_jobs: int | None = 1,
    memory: int | float | str | None = None,
    out: Out,
    dtype: DTypeLike = "float64",
    progress: bool = False,
) -> Out: ...
@overload
def gram(
    kernel: Pairwise,
    X: Any,
    Y: Any | None = None,
    *,
    n_jobs: int | None = 1,
    memory: int | float | str | None = None,
    out: str | os.PathLike[str] | None = None,
    dtype: DTypeLike = "float64",
    progress: bool = False,
) -> NDArray[Any]: ...
def gram(
    kernel: Pairwise,
    X: Any,
    Y: Any | None = None,
    *,
    n_jobs: int | None = 1,
    memory: int | float | str | None = None,
    out: NDArray[Any] | str | os.PathLike[str] | None = None,
    dtype: DTypeLike = "float64",
    progress: bool = False,
) -> NDArray[Any]:
    """The matrix of a kernel's values, tile by tile.

    Parameters
    ----------
    kernel : Kernel
        Any of treelet's kernels, or a distance (``kernel.distance()``).
    X, Y : collections
        Rows and columns. Without Y the matrix is that of X with itself, of which only half is computed.
    n_jobs : int
        Threads; -1 for one a core. The result does not depend on it.
    memory : int or str, optional
        How much the work may take, such as ``"1GiB"`` (the default for what comes besides the result). If given, a
        result that is larger must go into an `out` of yours, or a file. The examples come besides, and 24 MiB for the interpreter's
        own; what was written to a mapped file counts for nothing. What two rows and an index of one column take is taken
        in any case.
    out : ndarray or memmap of float64 or float32, or str, optional
        Where the result goes: an array, ``len(X)`` x ``len(Y)``, rows contiguous; or the name of a new file, ``"K.npy"``, which
        appears when it is complete and is given back mapped.
    dtype : "float64" or "float32"
        Of a new result; an `out` has its own. Values are computed in float64, and rounded when they are stored.
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
    >>> tl.gram(tl.SubsetTree(lam=0.4), ["(D a)", "(D the)"], dtype="float32")
    array([[0.4, 0. ],
           [0. , 0.4]], dtype=float32)
    """
    if not isinstance(kernel, Pairwise):
        raise InputTypeError(f"gram needs a kernel first, got {type(kernel).__name__}")
    threads, budget, numbers = count_threads(n_jobs), parse_memory(memory), checked_dtype(dtype, out)
    given = X, Y
    X = kernel.coerce(X)
    Y = None if Y is None else kernel.coerce(Y)
    shape = (len(X), len(X if Y is None else Y))

    def fill(place: Values) -> Values:
        return _computed(kernel, X, Y, place, threads, budget or DEFAULT_MEMORY, progress)

    if is_file(out):
        return into_file(fill, shape, numbers, out)  # type: ignore[arg-type]
    return fill(allocated(shape, numbers, budget) if out is None else checked_place(out, shape, given))


def _computed(
    kernel: Pairwise, X: Any, Y: Any | None, out: Values, threads: int, budget: int, progress: bool
) -> Values:
    """Fill `out`, which fits."""
    shape, halves = out.shape, Y is None
    needs = kernel.needs(X if Y is None else Y, budget // 2)
    blocks = column_blocks(shape[1], needs.index + threads * needs.thread, budget)
    cells = shape[0] * (shape[1] + 1) // 2 if halves else shape[0] * shape[1]
    mapped = Mapped.of(out)
    try:
        with progress_bar(progress, "kernel values", cells) as advance:
            if len(blocks) <= 1:
                _fill(kernel, kernel.evaluator(X, Y), out, mapped, threads, budget // 2, halves, advance)
            else:
                for begin, end in blocks:
                    part = kernel.evaluator(X, (X if Y is None else Y)[begin:end])
                    first = begin if halves else 0  # what lies above the diagonal is mirrored below
                    _fill(kernel, part, out[:, begin:end], mapped, threads, budget // 2, False, advance, (first, begin))
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
    kernel: Pairwise,
    evaluator: Evaluator,
    out: Values,
    mapped: Mapped | None,
    threads: int,
    budget: int,
    halves: bool,
    advance: Advance,
    corner: tuple[int, int] = (0, 0),
) -> None:
    """Rows from the corner's on, in strips; `out` begins at the corner's column of the whole matrix."""
    first, narrow = corner[0], out.dtype != np.float64
    strips = row_strips(
        evaluator.n_rows - first,
        evaluator.n_columns,
        n_jobs=threads,
        memory=budget,
        matrices=1 + narrow + evaluator.scratch,
        halves=halves,
    )

    def work(tile: Tile) -> int:
        begin, end = first + tile.begin, first + tile.end
        target = out[begin:end, :end] if halves else out[begin:end]
        if narrow:
            values = np.zeros(target.shape)
            evaluator.fill(begin, end, values, halves)
            store(values, target, kernel, (begin, corner[1]), halves)
        else:
            evaluator.fill(begin, end, target, halves)
        if mapped is not None:
            mapped.release()
        return target.size

    run(work, strips, threads, advance)
