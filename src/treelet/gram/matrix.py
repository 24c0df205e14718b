"""Kernel matrices: the public function, and its road from options to an executor."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from treelet import _core
from treelet.checks import check_boolean, in_words, wrong
from treelet.errors import ParameterError
from treelet.gram.cost import Limit, check_limit
from treelet.gram.executors import executor_for
from treelet.gram.sinks import checked_dtype, is_file
from treelet.gram.stored.existing import ExistingMatrix
from treelet.gram.stored.matrix_file import SUFFIXES
from treelet.gram.stored.resuming import finish_renaming, into_file, resumed
from treelet.gram.tiles import FLOAT, Job, check_pairwise
from treelet.kernels.pairwise import Matrix, Pairwise
from treelet.resources import PLAIN, Resources
from treelet.structures.bank import Bank
from treelet.vocabulary import keyword

SMALL = 1 << 12  # cells of a matrix that is computed as one tile, without a plan


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
) -> Matrix:
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
    check_pairwise(kernel, "gram")
    resources = Resources.of(n_jobs, memory, device, device_memory, client, progress)
    numbers = FLOAT if out is None and isinstance(dtype, str) and dtype == "float64" else checked_dtype(dtype, out)
    check_boolean("resume", resume)
    job = Job(kernel, kernel.coerce(X), None if Y is None else kernel.coerce(Y), numbers)
    if limit is not None:
        check_limit(limit, job, resources)
    if out is None and client is None and resources == PLAIN and not resume and extend is None and _is_small(job):
        return _small_matrix(job)
    executor = executor_for(resources)
    if resume or extend is not None:
        job = replace(job, X=ordered(job.X), Y=ordered(job.Y))
    if resume and extend is not None:
        finish_renaming(extend)
    with _extending(job, extend) as job:
        if is_file(out):
            matrix: Matrix = (resumed if resume else into_file)(job, executor, out)  # type: ignore[arg-type]
            return matrix
        if resume:
            files = in_words([f"*{suffix}" for suffix in SUFFIXES])
            raise wrong("out", f"the name of a file, {files}, with {keyword('resume', True)}", out)
        if out is None:
            matrix = executor.new_matrix(job)
            return matrix  # noqa: RET504  # of CuPy's, on a device
        return executor.fill(job, executor.checked_out(job, out, (X, Y)))


def _is_small(job: Job) -> bool:
    """Whether the plan of a matrix would be a single tile."""
    rows, columns = job.shape
    half = PLAIN.memory // 2
    if not 0 < rows * columns <= SMALL or job.dtype != np.float64:
        return False
    needs = job.kernel.needs(job.columns, half)
    return needs.index + needs.thread <= half


def _small_matrix(job: Job) -> Matrix:
    """Compute a matrix that is a single tile. Most of the time of a small call would otherwise be spent on the plan."""
    matrix = np.empty(job.shape)
    symmetric = job.Y is None
    job.kernel.evaluator(job.X, job.Y).fill(0, len(matrix), matrix, symmetric)
    if symmetric:
        _core.mirror(matrix, 0, len(matrix), 0, len(matrix))
    return matrix


def ordered(X: Any) -> Any:
    """Return the examples in a form in which equal examples give equal bits, however their bank was made."""
    return X.ordered() if isinstance(X, Bank) else X


@contextmanager
def _extending(job: Job, extend: str | os.PathLike[str] | None) -> Iterator[Job]:
    """Yield the job with the matrix that it extends, and close that at the end."""
    if extend is None:
        yield job
        return
    if job.Y is not None:
        raise ParameterError(
            f"only the matrix of a collection with itself can be extended: leave Y out, or {keyword('extend')}"
        )
    existing = ExistingMatrix(extend, job.kernel, job.X, job.dtype)
    try:
        yield replace(job, existing=existing)
    finally:
        existing.close()
