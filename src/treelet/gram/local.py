"""Gram matrices on this machine, by threads."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from numpy.typing import DTypeLike, NDArray

from treelet.errors import InputTypeError
from treelet.gram.places import ArrayPlace, allocated, checked_dtype, checked_place, into_file, is_file
from treelet.gram.plan import DEFAULT_MEMORY, mirrored, parse_memory
from treelet.gram.tiles import Values, compute, crew_of, plan_matrix
from treelet.kernels.base import Matrix, Pairwise
from treelet.work import count_threads, progress_bar, run

if TYPE_CHECKING:
    from treelet.gram.on_dask import Crew

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
    client: Any | None = None,
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
    client: Any | None = None,
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
    client: Any | None = None,
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
    client: Any | None = None,
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
    client : dask.distributed.Client, optional
        Let the workers of a Dask cluster compute: `memory` is then what the work of one may take, and `n_jobs` the threads that complete the
        result here. The values are the same. See docs/cluster.md.
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
    crew = crew_of(client)
    given = X, Y
    X = kernel.coerce(X)
    Y = None if Y is None else kernel.coerce(Y)
    shape = (len(X), len(X if Y is None else Y))

    def fill(place: Values) -> Values:
        return _computed(kernel, X, Y, place, threads, budget or DEFAULT_MEMORY, crew, progress)

    if is_file(out):
        return into_file(fill, shape, numbers, out)  # type: ignore[arg-type]
    if out is None:
        return fill(allocated(shape, numbers, budget if crew is None else None))
    return fill(checked_place(out, shape, given))


def _computed(
    kernel: Pairwise,
    X: Any,
    Y: Any | None,
    out: Values,
    threads: int,
    memory: int,
    crew: Crew | None,
    progress: bool,
) -> Values:
    """Fill `out`, which fits."""
    if crew is None:
        plan = plan_matrix(kernel, X, Y, n_jobs=threads, memory=memory, dtype=out.dtype)
    else:
        plan = crew.plan(kernel, X, Y, memory=memory, dtype=out.dtype)
    with ArrayPlace(out) as place:
        with progress_bar(progress, "kernel values", plan.cells) as advance:
            if crew is None:
                compute(kernel, X, Y, plan.blocks, place, threads, advance)
            else:
                crew.compute(kernel, X, Y, plan.blocks, place, memory=memory, dtype=out.dtype, advance=advance)
        if plan.symmetric:
            run(place.mirror, mirrored(plan.shape[0], memory // 2, threads), threads, lambda done: None)
    return out
