"""A matrix given to a function tile by tile, without keeping it."""

from __future__ import annotations

from threading import Lock
from typing import Any

from treelet.errors import InputTypeError
from treelet.gram.executors import executor_for
from treelet.gram.plan import Tile
from treelet.gram.sinks import FunctionSink, Take, pieces
from treelet.gram.tiles import Job, Values, check_pairwise
from treelet.kernels.pairwise import Pairwise
from treelet.resources import Resources


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
    resources = Resources.of(n_jobs, memory, device, device_memory, progress=progress)
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

    executor.compute_all(job, plan, FunctionSink(take))
