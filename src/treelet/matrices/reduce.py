"""Kernel matrices that are passed to a function tile by tile, without storing them."""

from __future__ import annotations

from threading import Lock
from typing import Any

from treelet.errors import InputTypeError
from treelet.kernels.pairwise import Pairwise
from treelet.matrices.executors import Take, executor_for, pieces
from treelet.matrices.tiles import Job, Tile, Values, check_pairwise
from treelet.printable import shortened
from treelet.resources import Resources


def reduce(
    kernel: Pairwise,
    X: Any,
    Y: Any | None,
    function: Take,
    *,
    n_jobs: int | None = 1,
    memory: int | float | str | None = None,
    device: str | None = None,
    device_memory: int | float | str | None = None,
    progress: bool | None = None,
) -> None:
    """Pass a kernel matrix to a function tile by tile, without storing the matrix.

    Parameters
    ----------
    kernel : Kernel or distance
        For example ``SubsetTree(lam=0.4)`` or ``kernel.distance()``.
    X : collection of examples
        Rows of the matrix.
    Y : collection of examples or None
        Columns of the matrix. None stands for X; each value is then computed once and passed for
        both of its positions.
    function : callable
        Called as ``function(rows, columns, values)`` for each tile, with two slices and a read-only
        array of the values. Tiles come in no particular order and one at a time, regardless of
        `n_jobs`. Together they cover the matrix.
    n_jobs : int, default 1
        Number of threads that compute. -1 uses one thread per core.
    memory : int or str, optional
        Memory limit besides the examples, for example ``"512MiB"``. Default: 1 GiB.
    device : {"cpu", "cuda"}, optional
        Where to compute, as for `treelet.gram`. Tiles are copied from the GPU, so `function` always
        gets NumPy arrays. Default: as in `treelet.config_context`.
    device_memory : int or str, optional
        Limit for GPU memory, for example ``"10GiB"``. Default: as in `treelet.config_context`.
    progress : bool, optional
        Show a progress bar on standard error. Default: as in `treelet.config_context`.

    Raises
    ------
    InputTypeError
        If `function` is not callable.

    Examples
    --------
    Compute a histogram of the similarities:

    >>> import numpy as np, treelet as tl
    >>> from treelet.matrices import reduce
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
        raise InputTypeError(
            "The 'function' parameter of reduce must be callable as function(rows, columns, values). "
            f"Got {shortened(function)} instead."
        )
    resources = Resources.of(n_jobs, memory, device, device_memory, progress=progress, owner="reduce")
    job = Job(kernel, kernel.coerce(X), None if Y is None else kernel.coerce(Y))
    executor = executor_for(resources)
    plan = executor.plan(job, buffers=1)
    lock = Lock()

    def take(tile: Tile, values: Values) -> None:
        for rows, columns, cells in pieces(tile, values, plan.symmetric):
            shown = cells.view()
            shown.setflags(write=False)
            with lock:
                function(rows.slice, columns.slice, shown)

    executor.each_tile(job, plan, take)
