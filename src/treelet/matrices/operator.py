r"""Kernel matrices as linear operators: products with vectors, without storing the matrix.

A kernel that is linear in the weights of its parts has the matrix K = F C F', where F contains the weight of each distinct
part in each example. A weighted sum of rows is therefore one row of weighted parts,

.. math:: \sum_k a_k K(x_k, \cdot) = \Bigl(\sum_k a_k F(x_k, \cdot)\Bigr) \, C \, F^T

(Collins & Duffy 2001, section 5). Its cost grows with the distinct parts of the examples, not with their number.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from treelet.errors import NotEnoughMemoryError, ParameterError
from treelet.kernels.algebra import Constant
from treelet.kernels.base import Kernel
from treelet.kernels.pairwise import Matrix, Pairwise, Vector
from treelet.kernels.store import StoreKernel, StoreRows
from treelet.kernels.terms import ColumnKernel, KernelTerm, collapses, linear_parts
from treelet.kernels.values import inverse_roots
from treelet.kernels.vector import Linear
from treelet.matrices.executors import Executor, executor_for
from treelet.matrices.tiles import Job, Plan, Span, check_pairwise
from treelet.resources import Resources
from treelet.structures.bank import Bank
from treelet.work import run

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator

    from treelet.device.launching import Device


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
    computed (Collins & Duffy 2001, section 5). This is several times faster than computing all values of
    the matrix. For other kernels, such as Gaussian ones, and for values that do not fit a float64, every
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

    Rows are merged where the kernel allows it (`_MergedRows`). Otherwise, and for values that do not fit a float64, products
    are computed from tiles of the matrix.
    """

    def __init__(self, kernel: Pairwise, X: Any, Y: Any | None, resources: Resources) -> None:
        self.executor = executor_for(resources)
        rows = kernel.with_cached_index(X) if Y is None else kernel.coerce(X)
        self.job = Job(kernel, rows, None if Y is None else kernel.with_cached_index(Y))
        self.shape = self.job.shape
        self._plan: Plan | None = None
        self._merges = _MergedRows.mergeable(kernel, self.executor) and not self.executor.keeps_matrix(self.job)
        self._merged: dict[bool, _MergedRows] = {}

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
        if self.executor.keeps_matrix(self.job):
            vectors = np.zeros((self.shape[0], len(weights)))
            vectors[rows] = weights.T
            return self.transposed_times(vectors).T
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
                    self._merged[key] = _MergedRows(cast(Kernel, self.job.kernel), rows, columns, self.executor)
                return self._merged[key].combined(chosen, weights)
        except _DoesNotFitError:
            self._merges, self._merged = False, {}
            return None


# --- products from merged rows ------------------------------------------------------------------------------------------

Rows = NDArray[np.int64]

_COLUMNS = 1 << 16  # columns per piece at most. The number of threads must not change it, because sums depend on it.
_HALVES = 1 << 14  # columns from which on there are at least two pieces, for two threads
_STORED = 1 << 27  # bytes that the nodes of a merged row may store for their parents, per piece of columns
_LEAST = 1e-280  # smallest self-value that surely has all its digits


class _DoesNotFitError(Exception):
    """A value does not fit a float64, so the product must be computed from the values of the matrix."""


class _MergedRows:
    """Weighted sums of the rows of a kernel matrix. Terms of the kernel whose rows cannot be merged use tiles.

    Parameters
    ----------
    kernel : Kernel
        The kernel. At least one of its terms must be `mergeable`.
    rows, columns : collections
        Examples in the form of the kernel: those that are summed, and those at which sums are evaluated.
    executor : Executor
        Computes the products.

    Raises
    ------
    _DoesNotFitError
        If a self-value by which the kernel is normalized does not fit a float64, here or in `combined`.
    """

    def __init__(self, kernel: Kernel, rows: Any, columns: Any, executor: Executor) -> None:
        self.shape = len(rows), len(columns)
        terms = [term for term in linear_parts(kernel, vectors=True) if term.factor != 0]
        merged = sum(_is_merged(term, executor.device) for term in terms)
        memory = executor.resources.memory // max(1, merged)
        self._terms: list[_TermRows] = []
        for term in terms:
            if isinstance(term.inner.kernel, Constant):
                kind: type[_TermRows] = _ConstantRows
            elif isinstance(term.inner.kernel, Linear):
                kind = _LinearRows
            else:
                kind = _StoreTermRows if _is_merged(term, executor.device) else _TileRows
            limited = executor.with_limits(executor.resources.threads, memory)
            self._terms.append(kind(term, rows, columns, limited))

    @staticmethod
    def mergeable(kernel: Any, executor: Executor) -> bool:
        """Return whether rows can be merged for at least one term of the kernel, and no term is a distance."""
        if not isinstance(kernel, Kernel):
            return False
        terms = linear_parts(kernel, vectors=True)
        return any(_is_merged(term, executor.device) for term in terms)

    def combined(self, chosen: Rows, weights: Matrix) -> Matrix:
        """Return the sums over the chosen rows k of ``weights[o, k] * K(k, .)``: outputs o x columns."""
        out = np.zeros((len(weights), self.shape[1]))
        used = np.flatnonzero(weights.any(axis=0))
        if not len(used):
            return out
        chosen, weights = np.ascontiguousarray(chosen[used], np.int64), weights[:, used]
        for term in self._terms:
            term.add(chosen, weights, out)
        if not np.isfinite(out).all():
            raise _DoesNotFitError
        return out


def _is_merged(term: KernelTerm, device: Device | None) -> bool:
    """Return whether rows are merged for a term."""
    kernel = term.inner.kernel
    if isinstance(kernel, StoreKernel):
        return collapses(kernel) and (device is None or kernel.can_be_on_device())
    return isinstance(kernel, Linear | Constant)


def _root_factors(roots: tuple[ColumnKernel, ...], X: Any) -> Vector | None:
    """Return 1 / sqrt(N(x, x)) of all examples, multiplied over the kernels N, or None if there are none."""
    factors: Vector | None = None
    for root in roots:
        values = root.kernel.self_values(root.data(X))
        if not (np.isfinite(values) & ((values >= _LEAST) | (values == 0))).all():
            raise _DoesNotFitError
        factors = inverse_roots(values) if factors is None else factors * inverse_roots(values)
    return factors


class _TermRows(ABC):
    """Weighted sums of the rows of one term: ``factor * K(x, y) / prod sqrt(N(x, x) N(y, y))``."""

    def __init__(self, term: KernelTerm, rows: Any, columns: Any, executor: Executor) -> None:
        self.kernel, self.executor, self.factor = term.inner.kernel, executor, term.factor
        self.row_factors = _root_factors(term.roots, rows)
        self.column_factors = self.row_factors if rows is columns else _root_factors(term.roots, columns)
        self._bind(term.inner.data(rows), term.inner.data(columns))

    def _bind(self, rows: Any, columns: Any) -> None:
        """Prepare sums of these examples."""
        self.rows, self.columns = rows, columns

    def add(self, chosen: Rows, weights: Matrix, out: Matrix) -> None:
        """Add the sums over the chosen rows to `out`: outputs x columns."""
        weights = weights * (self.factor if self.row_factors is None else self.factor * self.row_factors[chosen])
        with np.errstate(over="ignore", invalid="ignore"):
            values = self._sums(chosen, np.ascontiguousarray(weights))
            out += values if self.column_factors is None else values * self.column_factors

    @abstractmethod
    def _sums(self, chosen: Rows, weights: Matrix) -> Matrix:
        """Return the sums without the factors of the columns."""


class _ConstantRows(_TermRows):
    """Sums for a constant kernel."""

    def _sums(self, chosen: Rows, weights: Matrix) -> Matrix:
        return np.repeat(
            float(cast(Constant, self.kernel).value) * weights.sum(axis=1, keepdims=True), len(self.columns), axis=1
        )


class _LinearRows(_TermRows):
    """Sums for inner products of vectors."""

    def _bind(self, rows: Any, columns: Any) -> None:
        self.columns, self.rows = columns.matched(rows)

    def _sums(self, chosen: Rows, weights: Matrix) -> Matrix:
        return np.asarray((self.columns @ (self.rows[chosen].T @ weights.T)).T)


class _TileRows(_TermRows):
    """Sums for any other kernel, from the values of the chosen rows."""

    def _sums(self, chosen: Rows, weights: Matrix) -> Matrix:
        job = Job(self.kernel, self.rows[chosen], self.columns)
        return self.executor.multiply(job, self.executor.plan_products(job), weights.T, transposed=True).T


class _StoreTermRows(_TermRows):
    """Sums for a kernel over a store: one merged row."""

    def _bind(self, rows: Bank[Any], columns: Bank[Any]) -> None:
        columns, rows = columns.joined(rows)
        _, self.weights, _ = StoreRows.of(rows)
        self.entries = np.diff(self.weights.start)
        self.pieces = ColumnPieces(cast(StoreKernel, self.kernel), columns, rows, self.executor)

    def _sums(self, chosen: Rows, weights: Matrix) -> Matrix:
        ends = np.cumsum(self.entries[chosen])
        whole = self.weights.merged(chosen, weights)

        def parts(most: float) -> Iterator[Any]:
            """Yield merged rows of consecutive examples with at most so many parts, or of single examples."""
            if ends[-1] <= most:
                yield whole
                return
            begin = 0
            while begin < len(chosen):
                done = ends[begin - 1] if begin else 0
                end = max(begin + 1, int(np.searchsorted(ends, done + most, "right")))
                yield self.weights.merged(chosen[begin:end], np.ascontiguousarray(weights[:, begin:end]))
                begin = end

        return self.pieces.sums(parts, float(ends[-1]), len(weights))


class ColumnPieces:
    """A kernel over a store, bound to columns in pieces. The size of a piece does not depend on the threads.

    Parameters
    ----------
    kernel : StoreKernel
        The kernel.
    columns, rows : Bank
        Examples of one store, or the store of the rows has grown from that of the columns.
    executor : Executor
        Its device or cluster computes the sums; otherwise its threads do.
    """

    def __init__(self, kernel: StoreKernel, columns: Bank[Any], rows: Bank[Any], executor: Executor) -> None:
        self.kernel, self.columns, self.device = kernel, columns, executor.device
        self._store, _, _ = StoreRows.of(rows)
        self._remote = executor.remote_sums(Job(kernel, rows, None if rows is columns else columns))
        n, resources = len(columns), executor.resources
        needs = kernel.needs(columns, resources.memory // 8)
        width = n if self.device is not None or n < _HALVES else min(_COLUMNS, -(-n // executor.pieces))
        self.spans = [Span(begin, min(begin + width, n)) for begin in range(0, n, max(1, width))]
        self.keeps = self.device is not None or needs.index <= resources.memory // 2
        """Whether the indexes of all pieces stay in memory between products."""
        share = needs.index // max(1, len(self.spans))
        left = resources.memory - (needs.index if self.keeps else share)
        # The estimate of a thread is for a block of rows, and a merged row is one. There is enough for two threads,
        # whatever their number, because results depend on how rows are divided.
        self._row = needs.thread // 16 + (0 if self.keeps else share)
        self.stored = max(1 << 22, min(_STORED, left // 2 - self._row))
        self._threads, self._left = resources.threads, left
        self._most = np.full(len(self.spans), np.inf)
        """Per piece: the number of parts of merged rows that fit the memory."""
        self._natives: dict[Span, Any] = {}

    def sums(self, parts: Callable[[float], Iterator[Any]], entries: float, outputs: int) -> Matrix:
        """Return the sums of merged rows: outputs x columns.

        `parts` yields merged rows with at most so many parts, which have `entries` parts in total.
        """
        out = np.empty((outputs, len(self.columns)))

        def take(number: int, values: Matrix | None) -> None:
            if values is not None:
                out[:, self.spans[number].slice] = values
                return
            if self._most[number] < 2:
                raise NotEnoughMemoryError("The values of a single example take more memory than allowed.")
            self._most[number] = min(self._most[number], entries) // 2
            again.append(number)

        def work(number: int) -> None:
            take(number, self.sums_at(self.spans[number], parts(self._most[number]), outputs, self.stored))

        waiting = list(range(len(self.spans)))
        while waiting:
            again: list[int] = []  # pieces whose rows must be divided further
            if self._remote is None:
                each = self.stored + self._row * min(outputs, 16)
                run(work, waiting, max(1, min(self._threads, self._left // each)), lambda done: None)
            else:
                items = []
                for number in waiting:
                    rows = [(merged.start, merged.node, merged.weight) for merged in parts(self._most[number])]
                    items.append((number, self.spans[number], rows, outputs, self.stored))
                for item, values in self._remote(items):
                    take(item[0], values)
            waiting = again
        return out

    def sums_at(self, columns: Span, rows: Iterable[Any], outputs: int, stored: int) -> Matrix | None:
        """Return the sums of merged rows at some columns, added up, or None if their nodes store more than so many bytes."""
        native = self._native(columns)
        out = np.zeros((outputs, columns.end - columns.begin))
        for merged in rows:
            if self.device is not None:
                values = self.device.xp.zeros(out.shape)
                native.rows(native.bind(self._store, merged), None, 0, len(out), values)
                out += self.device.to_host(values)
                continue
            values = np.empty(out.shape)
            try:
                native.rows(self._store, merged, None, 0, len(out), values, stored)
            except NotEnoughMemoryError:
                return None
            out += values
        return out

    def _native(self, columns: Span) -> Any:
        """Return the index of a piece."""
        if columns in self._natives:
            return self._natives[columns]
        store, weights, _ = StoreRows.of(self.columns[columns.slice])
        if self.device is not None:
            native = self.kernel.on_device(self.device, store, weights, self._store)
        else:
            native = self.kernel.native(store, weights, False, self._store, self._threads)
        if self.keeps:
            self._natives[columns] = native
        return native
