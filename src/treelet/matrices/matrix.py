"""Kernel matrices: the public function `gram`, and the choice of an executor from its options."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from treelet import _core
from treelet.checks import check_boolean, wrong
from treelet.formats.files import checked_path
from treelet.kernels.pairwise import Matrix, Pairwise
from treelet.matrices.executors import checked_dtype, executor_for
from treelet.matrices.stored import into_file
from treelet.matrices.tiles import FLOAT, Job, check_pairwise
from treelet.printable import shortened
from treelet.resources import PLAIN, Resources
from treelet.structures.bank import Bank

_SMALL = 1 << 12  # maximum number of cells of a matrix that is computed as one tile, without a plan


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
    client: Any | None = None,
    device: str | None = None,
    device_memory: int | float | str | None = None,
    progress: bool | None = None,
) -> Matrix:
    """Compute a kernel matrix in tiles.

    The matrix is computed block by block, so memory use stays within `memory` regardless of the
    number of examples. Results do not depend on the number of threads or the tile size. Only the
    last bits can differ if many threads share a very small `memory`.

    Parameters
    ----------
    kernel : Kernel or distance
        For example ``SubsetTree(lam=0.4)`` or ``kernel.distance()``.
    X : collection of examples
        Rows of the matrix.
    Y : collection of examples, optional
        Columns of the matrix. If omitted, the matrix of X with itself is computed. It is symmetric,
        so only half of the work is done.
    n_jobs : int, default 1
        Number of threads. -1 uses one thread per core.
    memory : int or str, optional
        Memory limit for the computation, for example ``"512MiB"``. The default is 1 GiB besides the
        result. The examples and about 24 MiB for the interpreter come on top; data written to a
        mapped file does not count. If the result itself exceeds an explicit limit, pass `out`. At
        least two rows plus the index of one column are always allocated, even if that exceeds
        `memory`.
    out : ndarray or path, optional
        Destination. An array must have shape ``(len(X), len(Y))``, dtype float64 or float32, and
        C-contiguous rows. A path ending in ``.npy`` creates a file that appears only when it is
        complete. Only one call at a time can write a file.
    dtype : {"float64", "float32"}, default "float64"
        Type of a new result; an `out` array keeps its own type. Values are computed in float64 and
        rounded when they are stored.
    resume : bool, default False
        Keep finished tiles on disk. If the call is interrupted, repeat it to continue where it
        stopped. The result is identical, bit for bit. Requires `out` to be a path. See Notes.
    client : dask.distributed.Client, optional
        Compute on the workers of a Dask cluster. `memory` is then the limit per worker, and
        `n_jobs` the number of local threads that complete the result. The values are the same. See
        docs/cluster.md. Default: as in `treelet.config_context`.
    device : {"cpu", "cuda"}, optional
        Where to compute. ``"cuda"`` uses a GPU and requires ``pip install 'treelet[cuda]'``.
        Without `out`, the result is a CuPy array on the GPU; otherwise it is copied to `out`. CPU
        and GPU results agree to 12 digits. See docs/gpu.md. Default: as in `treelet.config_context`.
    device_memory : int or str, optional
        Limit for GPU memory, for example ``"10GiB"``. Default: as in `treelet.config_context`.
    progress : bool, optional
        Show a progress bar on standard error. Default: as in `treelet.config_context`.

    Returns
    -------
    ndarray
        The kernel matrix, of shape ``(len(X), len(Y))``. If `out` is an array, that array. If `out`
        is a ``.npy`` path, a read-only memory map; to change the file, reopen it with
        ``np.load("K.npy", mmap_mode="r+")``.

    Raises
    ------
    FileError
        If an existing file for `resume` was computed with another kernel or other examples. Also if a resumed call has less `memory` than the interrupted call.
    KernelOverflowError
        If a value does not fit the dtype.

    See Also
    --------
    nearest : the k most similar examples, without computing the matrix.
    lazy_gram : the same matrix as a Dask array, for example to write it in another format.

    Notes
    -----
    With `resume`, an incomplete matrix is stored as ``K.npy.part``. The file ``K.npy.part.json``
    identifies the kernel and the examples and lists the finished tiles. It becomes ``K.npy.json``
    when the matrix is complete. Repeat the call with at least the same `memory`. Damaged tiles of
    an incomplete matrix are computed again.

    A complete matrix is returned at once if it is unchanged since it was written. Otherwise a
    warning is issued and the matrix is computed again.

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
    resources = Resources.of(n_jobs, memory, device, device_memory, client, progress, owner="gram")
    numbers = FLOAT if out is None and isinstance(dtype, str) and dtype == "float64" else checked_dtype(dtype, out)
    check_boolean("resume", resume, of="gram")
    if isinstance(out, str | os.PathLike):
        checked_path(out)
    job = Job(kernel, kernel.coerce(X), None if Y is None else kernel.coerce(Y), numbers)
    if out is None and client is None and resources == PLAIN and not resume and _is_small(job):
        return _small_matrix(job)
    executor = executor_for(resources)
    if resume:
        # In a canonical order of the parts, equal examples give equal bits.
        X, Y = (data.ordered() if isinstance(data, Bank) else data for data in (job.X, job.Y))
        job = replace(job, X=X, Y=Y)
    if isinstance(out, str | os.PathLike) and Path(out).suffix.lower() == ".npy":
        matrix: Matrix = into_file(job, executor, out, resume)
        return matrix
    if resume:
        wanted = "a path ending in .npy if resume=True is passed"
        raise wrong("out", wanted, out, of="gram", got=None if out is None else shortened(out))
    if out is None:
        matrix = executor.new_matrix(job)
        return matrix  # noqa: RET504  # a CuPy array on a device
    return executor.fill(job, executor.checked_out(job, out, (X, Y)))


def _is_small(job: Job) -> bool:
    """Return whether the plan of a matrix would be a single tile."""
    rows, columns = job.shape
    half = PLAIN.memory // 2
    if not 0 < rows * columns <= _SMALL or job.dtype != np.float64:
        return False
    needs = job.kernel.needs(job.columns, half)
    return needs.index + needs.thread <= half


def _small_matrix(job: Job) -> Matrix:
    """Compute a matrix as a single tile. A plan would take most of the time of such a small call."""
    matrix = np.empty(job.shape)
    symmetric = job.Y is None
    job.kernel.evaluator(job.X, job.Y).fill(0, len(matrix), matrix, symmetric)
    if symmetric:
        _core.mirror(matrix, 0, len(matrix), 0, len(matrix))
    return matrix
