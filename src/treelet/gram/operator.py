"""A kernel's matrix as a linear operator: products with vectors, without the matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treelet.errors import ParameterError
from treelet.gram.executors import executor_for
from treelet.gram.tiles import Job, check_pairwise
from treelet.kernels.pairwise import Matrix, Pairwise
from treelet.resources import Resources

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

    products = Products(kernel, X, Y, Resources.of(n_jobs, memory, device, device_memory, progress=progress))
    back = products.times if Y is None else products.transposed_times
    return LinearOperator(
        products.plan.shape, matvec=products.times, rmatvec=back, matmat=products.times, rmatmat=back, dtype=np.float64
    )


class Products:
    """A kernel bound to rows and columns, for products of its matrix with vectors."""

    def __init__(self, kernel: Pairwise, X: Any, Y: Any | None, resources: Resources) -> None:
        self.executor = executor_for(resources)
        rows = kernel.with_cached_index(X) if Y is None else kernel.coerce(X)
        self.job = Job(kernel, rows, None if Y is None else kernel.with_cached_index(Y))
        self.plan = self.executor.plan_products(self.job)

    def times(self, vectors: Any) -> Matrix:
        """Return the matrix times another, or times a vector."""
        return self._product(vectors, transposed=False)

    def transposed_times(self, vectors: Any) -> Matrix:
        """Return the transposed matrix times another, or times a vector."""
        return self._product(vectors, transposed=True)

    def _product(self, vectors: Any, transposed: bool) -> Matrix:
        if np.iscomplexobj(vectors):
            raise ParameterError("an operator of kernel values is multiplied by real numbers, not by complex ones")
        vectors = np.asarray(vectors, np.float64)
        height = self.plan.shape[0] if transposed else self.plan.shape[1]
        columns = vectors.reshape(height, vectors.shape[1] if vectors.ndim > 1 else 1)
        product = self.executor.multiply(self.job, self.plan, columns, transposed)
        return product if vectors.ndim > 1 else product[:, 0]
