"""Kernel matrices as linear operators: products with vectors, without storing the matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from treelet.errors import ParameterError
from treelet.kernels.base import Kernel
from treelet.kernels.pairwise import Matrix, Pairwise
from treelet.matrices.executors import executor_for
from treelet.matrices.merged import DoesNotFitError, MergedRows
from treelet.matrices.tiles import Job, Plan, check_pairwise
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
    device: str | None = None,
    device_memory: int | float | str | None = None,
    progress: bool | None = None,
) -> LinearOperator:
    """Return a kernel matrix as a SciPy linear operator, which computes ``K @ v`` without storing K.

    Parameters
    ----------
    kernel : Kernel or distance
        For example ``SubsetTree(lam=0.4)`` or ``kernel.distance()``.
    X : collection of examples
        Rows of the matrix.
    Y : collection of examples, optional
        Columns of the matrix. If omitted, the matrix of X with itself is used.
    n_jobs : int, default 1
        Number of threads. -1 uses one thread per core. Products from merged rows do not depend on
        `n_jobs`; products from tiles are equal up to rounding. Repeated products are equal bit for bit.
    memory : int or str, optional
        Memory limit per product, besides the examples and the product, for example ``"512MiB"``.
        Default: 1 GiB.
    device : {"cpu", "cuda"}, optional
        Where to compute and multiply, as for `treelet.gram`. A matrix that fits into half of the
        GPU memory is computed by the first product and stays on the GPU as long as the operator
        exists. Products are NumPy arrays. Default: as in `treelet.config_context`.
    device_memory : int or str, optional
        Limit for GPU memory, for example ``"10GiB"``. Default: as in `treelet.config_context`.
    progress : bool, optional
        Show a progress bar on standard error for each product. Default: as in `treelet.config_context`.

    Returns
    -------
    scipy.sparse.linalg.LinearOperator of shape (len(X), len(Y))
        For SciPy's iterative solvers: eigenvalues (``eigsh``) and linear systems (``cg``,
        ``minres``).

    Notes
    -----
    Most kernels are linear in the weights of the parts of an example: tree, forest, tagging and
    locality kernels, inner products, their sums, multiples and normalized forms. For these, the
    examples are first merged into one weighted sum of distinct parts, and only one row of values is
    computed (Collins & Duffy 2001, section 5). A product takes a small fraction of the time of the
    matrix. For other kernels, such as Gaussian ones, and for values that do not fit a float64, every
    product computes all values of the matrix again.

    Multiply several vectors at once: ``K @ V`` takes much less time than one product per vector.
    Self-values and the index of the examples are cached between products.

    Examples
    --------
    >>> import numpy as np, treelet as tl
    >>> from treelet.matrices import operator
    >>> K = operator(tl.SubsetTree(lam=1), ["(NP (D the) (N apple))", "(NP (D the) (N pear))"])
    >>> K.shape, K @ np.array([1.0, -1.0])
    ((2, 2), array([ 3., -3.]))
    """
    check_pairwise(kernel, "operator")
    from scipy.sparse.linalg import LinearOperator

    resources = Resources.of(n_jobs, memory, device, device_memory, progress=progress, owner="operator")
    products = Products(kernel, X, Y, resources)
    back = products.times if products.job.Y is None else products.transposed_times
    return LinearOperator(
        products.shape, matvec=products.times, rmatvec=back, matmat=products.times, rmatmat=back, dtype=np.float64
    )


class Products:
    """A kernel bound to rows and columns, for products of its matrix with vectors.

    Rows are merged where the kernel allows it (`MergedRows`). Otherwise, and for values that do not fit a float64, products
    are computed from tiles of the matrix.
    """

    def __init__(self, kernel: Pairwise, X: Any, Y: Any | None, resources: Resources) -> None:
        self.executor = executor_for(resources)
        rows = kernel.with_cached_index(X) if Y is None else kernel.coerce(X)
        self.job = Job(kernel, rows, None if Y is None else kernel.with_cached_index(Y))
        self.shape = self.job.shape
        self._plan: Plan | None = None
        self._merges = MergedRows.mergeable(kernel, self.executor) and not self.executor.keeps_matrix(self.job)
        self._merged: dict[bool, MergedRows] = {}

    def times(self, vectors: Any) -> Matrix:
        """Return the product of the matrix with another matrix or a vector."""
        return self._product(vectors, transposed=False)

    def transposed_times(self, vectors: Any) -> Matrix:
        """Return the product of the transposed matrix with another matrix or a vector."""
        return self._product(vectors, transposed=True)

    def combined(self, rows: NDArray[np.intp], weights: Matrix) -> Matrix:
        """Return the sums over some rows k of ``weights[o, k] * K(k, .)``: outputs o x columns."""
        if (sums := self._sums(rows, weights, transposed=True)) is not None:
            return sums
        job = Job(self.job.kernel, self.job.X[rows], self.job.columns)
        return self.executor.multiply(job, self.executor.plan_products(job), weights.T, transposed=True).T

    def _product(self, vectors: Any, transposed: bool) -> Matrix:
        if np.iscomplexobj(vectors):
            raise ParameterError(
                "A kernel matrix cannot be multiplied by complex vectors. Multiply the real and imaginary parts separately."
            )
        vectors = np.asarray(vectors, np.float64)
        height = self.shape[0] if transposed else self.shape[1]
        columns = vectors.reshape(height, vectors.shape[1] if vectors.ndim > 1 else 1)
        sums = self._sums(np.arange(height), columns.T, transposed)
        if sums is not None:
            product = sums.T
        else:
            if self._plan is None:
                self._plan = self.executor.plan_products(self.job)
            product = self.executor.multiply(self.job, self._plan, columns, transposed)
        return product if vectors.ndim > 1 else product[:, 0]

    def _sums(self, chosen: NDArray[np.intp], weights: Matrix, transposed: bool) -> Matrix | None:
        """Return sums of merged rows of the transposed matrix, or of the matrix; None if tiles are needed."""
        if not self._merges:
            return None
        rows, columns = self.job.X, self.job.columns
        if not transposed:
            rows, columns = columns, rows
        key = transposed and self.job.Y is not None  # a symmetric matrix is its own transpose
        try:
            with self.executor.limited():
                if key not in self._merged:
                    self._merged[key] = MergedRows(cast(Kernel, self.job.kernel), rows, columns, self.executor)
                return self._merged[key].combined(chosen, weights)
        except DoesNotFitError:
            self._merges, self._merged = False, {}
            return None
