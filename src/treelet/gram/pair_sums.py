"""Sums of kernel values over pairs within groups, for many groupings, without storing the matrix."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treelet.gram.executors import ThreadExecutor
from treelet.gram.plan import Plan, Tile
from treelet.gram.tiles import Job, check_pairwise, plan_matrix
from treelet.kernels.pairwise import Matrix, Pairwise, Vector
from treelet.resources import PLAIN, Resources
from treelet.work import one_blas_thread

PLANNED = 8  # simultaneous tiles for any number of threads, so the sums are equal, bit for bit
ROWS = 256  # rows per tile; with fewer rows, converting the groups takes longer than multiplying
GROUPINGS = 256  # groupings per multiplication


def pair_sums(
    kernel: Pairwise,
    X: Any,
    groups: NDArray[np.int8],
    resources: Resources = PLAIN,
) -> tuple[Vector, Vector, float]:
    r"""Return sums of kernel values over pairs of two different examples.

    Parameters
    ----------
    kernel : Kernel
        Kernel that compares the examples.
    X : collection
        n examples.
    groups : array of int8 of shape (n, groupings)
        One grouping per column: 1 if an example is in the group, else 0.
    resources : Resources
        At most 8 threads are used; the sums do not depend on their number. The groups and 2 KB per
        example and thread come on top of the memory limit.

    Returns
    -------
    within : ndarray of shape (groupings,)
        :math:`\sum_{i \ne j} z_i z_j K(x_i, x_j)` for each grouping z.
    touching : ndarray of shape (groupings,)
        :math:`\sum_{i \ne j} z_i K(x_i, x_j)`.
    total : float
        :math:`\sum_{i \ne j} K(x_i, x_j)`.

    Notes
    -----
    Each value is computed once and multiplied once per grouping. BLAS does these n²/2 · groupings
    multiplications.

    Examples
    --------
    >>> import numpy as np, treelet as tl
    >>> trees = ["(D a)", "(D a)", "(D the)"]
    >>> pair_sums(tl.SubsetTree(lam=1), trees, np.array([[1, 1], [1, 0], [0, 1]], np.int8))
    (array([2., 0.]), array([2., 1.]), 2.0)
    """
    check_pairwise(kernel, "pair_sums")
    job = Job(kernel, kernel.coerce(X))
    resources = resources._replace(threads=min(PLANNED, resources.threads))
    plan = plan_matrix(job, threads=PLANNED, memory=resources.memory, buffers=1, strips=-(-len(job.X) // ROWS))
    sums = _PairSums(plan, groups)
    with one_blas_thread():
        ThreadExecutor(resources).compute_all(job, plan, sums)
    return 2 * sums.within, groups.T @ sums.rows, float(sums.rows.sum())


class _PairSums:
    """Adds tiles that are computed in parallel, always in the order of the plan."""

    def __init__(self, plan: Plan, groups: NDArray[np.int8]) -> None:
        self._groups, self.within, self.rows = groups, np.zeros(groups.shape[1]), np.zeros(len(groups))
        self._order = {tile: number for number, tile in enumerate(plan.tiles)}
        self._lock, self._next = Lock(), 0
        self._ready: dict[int, tuple[Tile, Vector, Vector, Vector]] = {}

    @contextmanager
    def tile(self, tile: Tile) -> Iterator[Matrix]:
        values = np.empty(tile.shape)
        yield values
        self._cut(tile, values)
        rows, columns = self._groups[tile.rows.slice], self._groups[tile.columns.slice]
        within = np.empty(self._groups.shape[1])
        for begin in range(0, len(within), GROUPINGS):
            some = slice(begin, begin + GROUPINGS)
            product = values @ columns[:, some].astype(np.float64)
            within[some] = np.einsum("ij,ij->j", product, rows[:, some].astype(np.float64))
        sums = tile, within, values.sum(axis=1), values.sum(axis=0)
        with self._lock:
            self._ready[self._order[tile]] = sums
            while self._next in self._ready:
                self._add(*self._ready.pop(self._next))
                self._next += 1

    @staticmethod
    def _cut(tile: Tile, values: Matrix) -> None:
        """Set all pairs to 0 except those below the diagonal, so each pair counts once."""
        before = tile.rows.begin - tile.columns.begin
        square = values[:, before:]
        square[...] = np.tril(square, -1)

    def _add(self, tile: Tile, within: Vector, by_row: Vector, by_column: Vector) -> None:
        self.within += within
        self.rows[tile.rows.slice] += by_row
        self.rows[tile.columns.slice] += by_column
