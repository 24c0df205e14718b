"""Gram matrices on this machine, by threads."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal, TypeVar, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

from treelet.checks import check_boolean, in_words, wrong
from treelet.errors import InputTypeError, ParameterError
from treelet.gram.cost import Limit, check_limit
from treelet.gram.extending import Old
from treelet.gram.matrix_file import SUFFIXES
from treelet.gram.on_device import DeviceCrew, checked_device
from treelet.gram.places import ArrayPlace, allocated, checked_dtype, checked_place, is_file
from treelet.gram.plan import DEFAULT_MEMORY, mirrored, parse_memory
from treelet.gram.stored import Job, into_file, resumed
from treelet.gram.tiles import Values, crew_of
from treelet.kernels.base import Matrix, Pairwise
from treelet.structures.bank import Bank
from treelet.vocabulary import keyword
from treelet.work import count_threads, progress_bar, run

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
    resume: bool = False,
    extend: str | os.PathLike[str] | None = None,
    client: Any | None = None,
    device: Literal["cpu"] = "cpu",
    device_memory: int | float | str | None = None,
    progress: bool = False,
    limit: Limit | None = None,
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
    resume: bool = False,
    extend: str | os.PathLike[str] | None = None,
    client: Any | None = None,
    device: str = "cpu",
    device_memory: int | float | str | None = None,
    progress: bool = False,
    limit: Limit | None = None,
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
    resume: bool = False,
    extend: str | os.PathLike[str] | None = None,
    client: Any | None = None,
    device: str = "cpu",
    device_memory: int | float | str | None = None,
    progress: bool = False,
    limit: Limit | None = None,
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
    resume: bool = False,
    extend: str | os.PathLike[str] | None = None,
    client: Any | None = None,
    device: str = "cpu",
    device_memory: int | float | str | None = None,
    progress: bool = False,
    limit: Limit | None = None,
) -> NDArray[Any]:
    """The matrix of a kernel's values, tile by tile.

    Parameters
    ----------
    kernel : Kernel
        Any of treelet's kernels, or a distance (``kernel.distance()``).
    X, Y : collections
        Rows and columns. Without Y the matrix is that of X with itself, of which only half is computed.
    n_jobs : int
        Threads; -1 for one a core. The result does not depend on it, but for last bits where so many share a `memory` that is short.
    memory : int or str, optional
        How much the work may take, such as ``"1GiB"`` (the default for what comes besides the result). If given, a
        result that is larger must go into an `out` of yours, or a file. The examples come besides, and 24 MiB for the interpreter's
        own; what was written to a mapped file counts for nothing. What two rows and an index of one column take is taken
        in any case.
    out : ndarray or memmap of float64 or float32, or str, optional
        Destination. An array must have shape ``(len(X), len(Y))`` and contiguous rows. A path ending in ``.npy`` or ``.zarr``
        creates a file that appears only when it is complete. The result is then a read-only memory map, or a read-only array
        of the package zarr, which reads the folder whenever it is indexed. Only one call at a time may write a file. To change
        the file afterwards, open it again: ``np.load("K.npy", mmap_mode="r+")``.
    dtype : "float64" or "float32"
        Of a new result; an `out` has its own. Values are computed in float64, and rounded when they are stored.
    resume : bool
        Keep what is done, in a file: a call that was ended at any moment is gone on with by the same call, and gives the same
        file to the last bit. Until it is complete it lies beside, as ``K.npy.part``; of what it is, and what of it is done,
        is in ``K.npy.part.json``, later in ``K.npy.json``. Another kernel or other examples are refused. A matrix that is complete is given back,
        if it is as it was written; what is not is computed again.
    extend : str, optional
        The file of a matrix of the first of the examples, ``"K.npy"``: only the rows and columns of the others are computed.
        It may also be `out`, which is replaced when the new matrix is complete. Only without Y.
    client : dask.distributed.Client, optional
        Let the workers of a Dask cluster compute: `memory` is then what the work of one may take, and `n_jobs` the threads that complete the
        result here. The values are the same. See docs/cluster.md.
    device : "cpu" or "cuda"
        ``"cuda"``: compute on a GPU (``pip install 'treelet[cuda]'``). Without `out` the result stays there, an array of CuPy's; into an `out` it is
        copied. Values agree to 12 digits. See docs/gpu.md.
    device_memory : int or str, optional
        How much of the GPU's memory may be taken, such as ``"10GiB"``; by default, what is free.
    progress : bool
        Show a progress bar on the standard error.
    limit : number, str or dict, optional
        Refuse, before any work, a matrix that costs more (see `Kernel.cost`): more pairs of parts (``1e9``), more bytes besides the
        result (``"2GiB"``), or either (``{"pairs": 1e9, "bytes": "2GiB"}``). The error is a `CostError`.

    Returns
    -------
    ndarray
        `out`, if it was given; the file's content, if it was a name. An array of CuPy's with a `device` and no `out`.

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
    check_boolean("resume", resume)
    crew = crew_of(client, device, device_memory)
    given = X, Y
    X = kernel.coerce(X)
    Y = None if Y is None else kernel.coerce(Y)
    if limit is not None:
        check_limit(limit, kernel, X, Y, n_jobs=n_jobs, memory=memory)
    if resume or extend is not None:
        X, Y = ordered(X), ordered(Y)
    job = Job(kernel, X, Y, numbers, threads, budget or DEFAULT_MEMORY, progress, crew=crew)
    with _extending(job, extend) as job:
        if is_file(out):
            matrix: NDArray[Any] = (resumed if resume else into_file)(job, out)  # type: ignore[arg-type]
            return matrix
        if resume:
            raise wrong(
                "out",
                f"the name of a file, {in_words([f'*{end}' for end in SUFFIXES])}, with {keyword('resume', True)}",
                out,
            )
        if isinstance(crew, DeviceCrew) and (out is None or not isinstance(out, np.ndarray)):
            there: NDArray[Any] = crew.matrix(job, out)
            return there
        if out is None:  # what workers may take says nothing about this process
            return _into_array(job, allocated(job.shape, numbers, budget if crew is None else None))
        return _into_array(job, checked_place(out, job.shape, given))


def host_gram(
    kernel: Pairwise,
    X: Any,
    Y: Any | None = None,
    *,
    n_jobs: int | None = 1,
    dtype: DTypeLike = "float64",
    device: str = "cpu",
    device_memory: int | float | str | None = None,
    memory: int | float | str | None = None,
    progress: bool = False,
) -> NDArray[Any]:
    """`gram` of examples in the kernel's form, the result in the host's memory whatever computes it."""
    shape, numbers = (len(X), len(X if Y is None else Y)), checked_dtype(dtype)
    checked_device(device, device_memory)
    out = None if device == "cpu" else allocated(shape, numbers, parse_memory(memory))
    options: dict[str, Any] = {"n_jobs": n_jobs, "memory": memory, "dtype": numbers, "progress": progress}
    return gram(kernel, X, Y, out=out, device=device, device_memory=device_memory, **options)


def ordered(X: Any) -> Any:
    """So that equal examples give equal bits, however their bank was made."""
    return X.ordered() if isinstance(X, Bank) else X


@contextmanager
def _extending(job: Job, extend: str | os.PathLike[str] | None) -> Iterator[Job]:
    """The job, with the matrix that it extends."""
    if extend is None:
        yield job
        return
    if job.Y is not None:
        raise ParameterError(
            f"only the matrix of a collection with itself can be extended: leave Y out, or {keyword('extend')}"
        )
    old = Old(extend, job.kernel, job.X, job.dtype)
    try:
        yield replace(job, old=old)
    finally:
        old.close()


def _into_array(job: Job, out: Values) -> Values:
    """Fill `out`, which fits."""
    job = replace(job, dtype=out.dtype)
    if isinstance(job.crew, DeviceCrew) and job.old is None and job.crew.holds(job.shape, job.dtype):
        with job.crew.taken():
            job.crew.device.copy(job.crew.matrix(job), out)
        return out
    plan, known = job.planned(1, job.threads), job.known(1)
    with ArrayPlace(out) as place:
        if job.old is not None:
            job.old.copy_to(place, known, job.memory // 4)
        with progress_bar(job.progress, "kernel values", plan.cells) as advance:
            job.compute(plan.blocks, place, advance)
        if plan.symmetric:
            images = mirrored(plan.shape[0], job.memory // 2, job.threads, known)
            run(place.mirror, images, job.threads, lambda done: None)
    return out
