"""A kernel's matrix as a linear operator: products with vectors, of a matrix that is never there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from treelet.errors import ParameterError
from treelet.gram.on_device import DeviceCrew, crew_on
from treelet.gram.plan import DEFAULT_MEMORY, Plan, Span, Tile, parse_memory
from treelet.gram.reduce import FLOAT, check_pairwise, pieces
from treelet.gram.stored import Job
from treelet.gram.tiles import compute, plan_matrix
from treelet.kernels.base import Matrix, Pairwise
from treelet.progress import progress_bar
from treelet.work import count_threads

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator


def operator(
    kernel: Pairwise,
    X: Any,
    Y: Any | None = None,
    *,
    n_jobs: int | None = 1,
    memory: int | float | str | None = None,
    device: str = "cpu",
    device_memory: int | float | str | None = None,
    progress: bool = False,
) -> LinearOperator:
    """The matrix of a kernel's values as SciPy's linear operator: ``K @ v`` without K.

    Parameters
    ----------
    kernel : Kernel
        Any of treelet's kernels, or a distance (``kernel.distance()``).
    X, Y : collections
        Rows and columns. Without Y the matrix is that of X with itself: of its values only half are computed.
    n_jobs : int
        Threads; -1 for one a core. Products are the same to rounding whatever their number, and the same to the bit whenever they are
        asked for again.
    memory : int or str, optional
        How much a product may take besides the examples and itself, such as ``"1GiB"`` (the default).
    device, device_memory
        ``"cuda"``: compute and multiply on a GPU, as for `treelet.gram`. A matrix that fits into half of its memory is computed by the first
        product and stays there for the others, as long as the operator. Products are arrays of NumPy's.
    progress : bool
        Show a progress bar for each product.

    Returns
    -------
    scipy.sparse.linalg.LinearOperator, len(X) x len(Y)
        For SciPy's iterative solvers: eigenvalues (``eigsh``), systems of equations (``cg``, ``minres``).

    Notes
    -----
    A product costs what the matrix does, since all values are computed again for each, so give several vectors at once: ``K @ V`` costs hardly
    more than ``K @ v``. What the kernel makes of the examples (self-values, index) is kept from one product to the next.

    Examples
    --------
    >>> import numpy as np, treelet as tl
    >>> from treelet.gram import operator
    >>> K = operator(tl.SubsetTree(lam=1), ["(NP (D the) (N apple))", "(NP (D the) (N pear))"])
    >>> K.shape, K @ np.array([1.0, -1.0])
    ((2, 2), array([ 3., -3.]))
    """
    check_pairwise(kernel, "operator")
    from scipy.sparse.linalg import LinearOperator

    found = Products(
        kernel, X, Y, n_jobs=n_jobs, memory=memory, device=device, device_memory=device_memory, progress=progress
    )
    back = found.times if Y is None else found.turned_times
    return LinearOperator(
        found.plan.shape, matvec=found.times, rmatvec=back, matmat=found.times, rmatmat=back, dtype=np.float64
    )


class Products:
    """A kernel bound to rows and columns, for products of its matrix with others."""

    def __init__(
        self,
        kernel: Pairwise,
        X: Any,
        Y: Any | None = None,
        *,
        n_jobs: int | None = 1,
        memory: int | float | str | None = None,
        device: str = "cpu",
        device_memory: int | float | str | None = None,
        progress: bool = False,
    ) -> None:
        self.kernel, self.progress, self.threads = kernel, progress, count_threads(n_jobs)
        self.X = kernel.keeping(X) if Y is None else kernel.coerce(X)
        self.Y = None if Y is None else kernel.keeping(Y)
        budget = parse_memory(memory) or DEFAULT_MEMORY
        self.crew, self._there = crew_on(device, device_memory), None
        if self.crew is not None:
            self.plan = self.crew.plan(kernel, self.X, self.Y, dtype=FLOAT, buffers=1)
            self._stays = self.crew.holds(self.plan.shape, FLOAT)
        else:
            self.plan = plan_matrix(kernel, self.X, self.Y, n_jobs=self.threads, memory=budget, dtype=FLOAT, buffers=1)

    def times(self, V: Any) -> Matrix:
        """The matrix times another, or times a vector."""
        return self._added_up(V, turned=False)

    def turned_times(self, V: Any) -> Matrix:
        """The transposed matrix times another."""
        return self._added_up(V, turned=True)

    def _added_up(self, V: Any, turned: bool) -> Matrix:
        if np.iscomplexobj(V):
            raise ParameterError("an operator of kernel values is multiplied by real numbers, not by complex ones")
        V = np.asarray(V, np.float64)
        rows, columns = self.plan.shape[::-1] if turned else self.plan.shape
        several = V.reshape(columns, V.shape[1] if V.ndim > 1 else 1)
        if self.crew is not None:
            out = self._on_device(self.crew, several, rows, turned)
        else:
            out = np.zeros((rows, several.shape[1]))
            sums = _Sums(self.plan, several, out, turned)
            with progress_bar(self.progress, "kernel values", self.plan.cells) as advance:
                compute(self.kernel, self.X, self.Y, self.plan.blocks, sums, self.threads, advance)
        return out if V.ndim > 1 else out[:, 0]

    def _on_device(self, crew: DeviceCrew, V: Matrix, rows: int, turned: bool) -> Matrix:
        """Multiplied and added up on the device."""
        with crew.taken():
            there = crew.device.array(V)
            if self._stays:
                K = self._matrix(crew)
                return crew.device.to_host((K.T if turned else K) @ there)
            out = crew.device.xp.zeros((rows, V.shape[1]))
            with progress_bar(self.progress, "kernel values", self.plan.cells) as advance:
                for tile, values in crew.tiles(self.kernel, self.X, self.Y, self.plan.blocks, FLOAT, advance=advance):
                    for target, part in _products(tile, values, self.plan.symmetric, there, turned):
                        out[target.slice] += part
            return crew.device.to_host(out)

    def _matrix(self, crew: DeviceCrew) -> Any:
        if self._there is None:
            self._there = crew.matrix(Job(self.kernel, self.X, self.Y, FLOAT, 1, DEFAULT_MEMORY, self.progress))
        return self._there


def _products(tile: Tile, values: Any, symmetric: bool, V: Any, turned: bool) -> Iterator[tuple[Span, Any]]:
    """What a tile adds to a product, and to which of its rows."""
    for rows, columns, part in pieces(tile, values, symmetric):
        if turned:
            yield columns, part.T @ V[rows.slice]
        else:
            yield rows, part @ V[columns.slice]


class _Sums:
    """Tiles that are multiplied at once; the products are added up in the order of the tiles, whichever is ready first.

    So the sum does not depend on how fast threads are.
    """

    def __init__(self, plan: Plan, V: Matrix, out: Matrix, turned: bool) -> None:
        self._V, self._out, self._turned, self._symmetric = V, out, turned, plan.symmetric
        self._places = {tile: place for place, tile in enumerate(plan.tiles)}
        self._lock, self._next = Lock(), 0
        self._ready: dict[int, list[tuple[Span, Matrix]]] = {}

    @contextmanager
    def tile(self, tile: Tile) -> Iterator[Matrix]:
        values = np.empty(tile.shape)
        yield values
        parts = list(_products(tile, values, self._symmetric, self._V, self._turned))
        with self._lock:
            self._ready[self._places[tile]] = parts
            while self._next in self._ready:
                for rows, part in self._ready.pop(self._next):
                    self._out[rows.slice] += part
                self._next += 1
