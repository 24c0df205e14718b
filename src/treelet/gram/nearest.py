"""Nearest neighbors of examples, by kernel value or by distance."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from treelet.checks import check_boolean, check_integer, is_number, wrong
from treelet.device.launching import functions_of
from treelet.errors import ParameterError
from treelet.gram.best import (
    ABSENT,
    ROUNDING,
    Above,
    Best,
    Matches,
    Numbers,
    ranked,
    reached,
    the_best,
    those_above,
)
from treelet.gram.executors import TileSearch, executor_for
from treelet.gram.plan import Tile
from treelet.gram.sinks import pieces
from treelet.gram.tiles import Job, check_pairwise
from treelet.kernels.pairwise import Matrix, Pairwise
from treelet.kernels.wrapped import is_normalized, without_excess
from treelet.resources import Resources

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


DEFAULT_K = 10
ROUNDING_OF_DISTANCES = 2.0**-30
"""Like `ROUNDING`, but larger: a distance is the root of a difference, which amplifies rounding."""


def nearest(
    kernel: Pairwise,
    X: Any,
    Q: Any | None = None,
    k: int | None = None,
    *,
    threshold: float | None = None,
    graph: bool = False,
    n_jobs: int | None = 1,
    memory: int | float | str | None = None,
    client: Any | None = None,
    device: str = "cpu",
    device_memory: int | float | str | None = None,
    progress: bool = False,
) -> tuple[Matrix, Numbers] | csr_matrix:
    """Find the k most similar examples, without computing the kernel matrix.

    The search is exact. Results do not depend on the number of threads.

    Parameters
    ----------
    kernel : Kernel or distance
        Usually normalized, for example ``SubsetTree().normalized()``. Without normalization, large
        examples are similar to everything. With a distance, ``kernel.distance()``, the smallest
        values come first.
    X : collection of examples
        Collection to search.
    Q : collection of examples, optional
        Queries, one row of the result per query. If omitted, the neighbors of each example of X
        within X are returned, without the example itself. Each value is then computed only once.
    k : int, optional
        Number of neighbors, at least 1 and at most the number of examples that are searched.
        Default: 10, or all examples if there are fewer. For a graph with a threshold, the default
        is all examples that reach the threshold.
    threshold : float, optional
        Smallest kernel value, or largest distance, of a neighbor. If a query has fewer than k such
        neighbors, the rest of its row has the index -1 and the value ``-inf`` (``inf`` for
        distances).
    graph : bool, default False
        Return a sparse matrix of values with sorted rows. scikit-learn accepts a graph of distances
        with ``metric="precomputed"``. Without Q, the graph contains the diagonal: each example is
        also its own neighbor.
    n_jobs : int, default 1
        Number of threads. -1 uses one thread per core.
    memory : int or str, optional
        Memory limit besides the examples and the result, for example ``"512MiB"``. Default: 1 GiB.
    client : dask.distributed.Client, optional
        Search on the workers of a Dask cluster. `memory` is then the limit per worker. See
        docs/cluster.md.
    device : {"cpu", "cuda"}, default "cpu"
        Where to compute, as for `treelet.gram`. See docs/gpu.md.
    device_memory : int or str, optional
        Limit for GPU memory, for example ``"10GiB"``. Default: all free memory.
    progress : bool, default False
        Show a progress bar on standard error.

    Returns
    -------
    values : ndarray of shape (len(Q), k)
        Values in descending order; distances in ascending order. Values of a normalized kernel that
        exceed 1 by rounding are exactly 1.
    indices : ndarray of int, of shape (len(Q), k)
        Indices of the neighbors in X. Among equal values the smaller index comes first. Values that
        differ only by rounding count as equal.
    graph : scipy.sparse.csr_matrix of shape (len(Q), len(X))
        Returned instead of both arrays with ``graph=True``.

    Raises
    ------
    ParameterError
        If `k` is larger than the number of examples that are searched, or if there are none.

    See Also
    --------
    treelet.Nearest : keeps an index of X for repeated queries.

    Examples
    --------
    >>> import treelet as tl
    >>> bank = ["(S (NP (N Mary)) (VP (V ran)))", "(S (NP (N cats)) (VP (V sleep)))", "(S (VP (V go)))"]
    >>> kernel = tl.SubsetTree(lam=0.4).normalized()
    >>> values, indices = tl.nearest(kernel, bank, ["(S (NP (N dogs)) (VP (V ran)))"], k=2)
    >>> indices
    array([[0, 1]])
    >>> values.round(2)
    array([[0.77, 0.55]])
    >>> tl.nearest(kernel.distance(), bank, threshold=1.2, graph=True).toarray().round(2)
    array([[0.  , 0.95, 0.  ],
           [0.95, 0.  , 0.  ],
           [0.  , 0.  , 0.  ]])
    """
    check_pairwise(kernel, "nearest")
    check_boolean("graph", graph, of="nearest")
    resources = Resources.of(n_jobs, memory, device, device_memory, client, progress, owner="nearest")
    index = Index(kernel, X, resources)
    return (index.graph if graph else index.nearest)(Q, k, threshold)


class Index:
    """A kernel or distance over a collection, for repeated queries. Several threads may query at once.

    Data that the kernel computes from the collection (self-values, a native index) are cached if
    they fit the memory limit. Otherwise they are computed for each query, in blocks.

    Parameters
    ----------
    always_cached : bool
        Cache the data regardless of their size.
    name, count : str
        Names of the function and of the parameter with the number of neighbors, for error messages.
    """

    def __init__(
        self,
        kernel: Pairwise,
        X: Any,
        resources: Resources,
        *,
        always_cached: bool = False,
        name: str = "nearest",
        count: str = "k",
    ) -> None:
        self.executor = executor_for(resources)
        self.kernel, self.name, self.count = kernel, name, count
        self.data = kernel.with_cached_index(X)
        needs = kernel.needs(self.data, resources.memory // 2)
        self.needs = needs._replace(index=0, thread=0) if always_cached else needs
        self.sign, self.close = (-1.0, ROUNDING_OF_DISTANCES) if kernel.is_distance else (1.0, ROUNDING)

    def __len__(self) -> int:
        return len(self.data)

    def prepare(self) -> None:
        """Compute the cached data now."""
        self.executor.prepare(self.kernel, self.data, self.needs)

    def nearest(self, Q: Any | None, k: int | None, threshold: float | None = None) -> tuple[Matrix, Numbers]:
        """Return values and indices, as `treelet.nearest` does."""
        self._check_threshold(threshold)
        Q = self._queries(Q)
        best = Best(len(self if Q is None else Q), self._count(Q, k), self.close)
        choose = partial(the_best, k=best.values.shape[1], close=self.close)
        self._search(Q, best, choose, threshold, best=best.values.shape[1], itself=Q is not None)
        values, numbers = best.result(None if threshold is None else self.sign * threshold)
        return self._shown(values), numbers

    def above(self, Q: Any | None, threshold: float) -> tuple[NDArray[np.float64], Numbers, Numbers]:
        """Return the values that reach a threshold, their indices, and the start of each row.

        Rows are sorted in the order of `nearest`.
        """
        self._check_threshold(threshold, optional=False)
        Q = self._queries(Q)
        matches = Above(self.sign * threshold, self.close)
        choose = partial(those_above, threshold=self.sign * threshold, close=self.close)
        self._search(Q, matches, choose, threshold)
        rows, numbers, values = matches.result()
        start = np.searchsorted(rows, np.arange(len(self if Q is None else Q) + 1))
        return self._shown(values), numbers, start.astype(np.int64)

    def graph(self, Q: Any | None, k: int | None, threshold: float | None = None) -> csr_matrix:
        """Return values as a sparse matrix, as `treelet.nearest` does."""
        from scipy.sparse import csr_matrix

        if k is None and threshold is not None:
            values, numbers, start = self.above(Q, threshold)
            return csr_matrix((values, numbers, start), shape=(len(start) - 1, len(self)))
        nearest_values, columns = self.nearest(Q, k, threshold)
        if Q is None:
            nearest_values, columns = self._with_itself(nearest_values, columns, threshold)
        present = columns != ABSENT
        start = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
        return csr_matrix((nearest_values[present], columns[present], start), shape=(len(nearest_values), len(self)))

    def _shown(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values that were searched as the caller sees them."""
        values = self.sign * values
        return without_excess(values) if is_normalized(self.kernel) else values

    def _with_itself(self, values: Matrix, numbers: Numbers, threshold: float | None) -> tuple[Matrix, Numbers]:
        own = np.zeros(len(self)) if self.kernel.is_distance else self.kernel.diag(self.data)  # type: ignore[attr-defined]  # kernels and similarities have a diagonal
        itself = np.arange(len(self))
        if threshold is not None:
            itself[~reached(self.sign * own, self.sign * threshold, self.close)] = ABSENT
        values, numbers = np.column_stack([values, own]), np.column_stack([numbers, itself])
        ordered, numbers = ranked(self.sign * values, numbers, self.close)
        return self.sign * ordered, numbers

    def _search(
        self,
        Q: Any | None,
        matches: Best | Above,
        choose: Callable[[slice, slice, Matrix], Matches],
        threshold: float | None,
        best: int | None = None,
        itself: bool = True,
    ) -> None:
        """Search all values of the queries with the collection. Distances are searched with the sign changed."""
        kernel = self.kernel.for_search(threshold, best if itself or best is None else best + 1)
        if kernel is not self.kernel and best is not None and Q is None:
            Q = self.data  # the best values of a row are not the best values of a column
        job = Job(kernel, self.data) if Q is None else Job(kernel, Q, self.data)
        symmetric = job.Y is None
        give = partial(_each_piece, symmetric=symmetric, sign=self.sign, itself=itself)
        search = TileSearch(partial(give, matches.take), partial(give, choose), matches.add)
        self.executor.search(job, search, self.needs)

    # --- checks -------------------------------------------------------------------------------------------------

    def _queries(self, Q: Any | None) -> Any | None:
        """Return the coerced queries, or raise an error if there are no examples to search."""
        if len(self) - (Q is None) < 1:
            needed = "at least one example in X"
            if Q is None:
                needed = "at least 2 examples in X, or at least 1 example in X and queries in Q"
            problem = "X has 1 example, but" if len(self) else "X is empty:"
            raise ParameterError(f"{problem} {self.name} needs {needed}.")
        return None if Q is None else self.kernel.coerce(Q)

    def _count(self, Q: Any | None, k: int | None) -> int:
        searched = len(self) - (Q is None)
        if k is None:
            return min(DEFAULT_K, searched)
        check_integer(self.count, k, of=self.name)
        if k > searched:
            why = "the number of examples to search"
            if Q is None:
                others = "1 other" if searched == 1 else f"{searched:,} others"
                why = f"because each of the {len(self):,} examples has only {others}"
            raise wrong(self.count, f"at most {searched}, {why}", k, of=self.name)
        return int(k)

    def _check_threshold(self, threshold: float | None, optional: bool = True) -> None:
        if not is_number(threshold) and not (optional and threshold is None):
            raise wrong("threshold", "a number", threshold, of=self.name, optional=optional)


def _each_piece(
    function: Callable[[slice, slice, Matrix], Any],
    tile: Tile,
    values: Matrix,
    *,
    symmetric: bool,
    sign: float,
    itself: bool,
) -> list[Any]:
    """Call a search function for all cells that a tile determines.

    Without `itself`, no example is its own neighbor.
    """
    results = []
    for rows, columns, cells in pieces(tile, values, symmetric):
        searched = cells if sign > 0 else -cells
        if not itself:  # the piece is used only once and may be changed
            same = functions_of(searched).arange(max(rows.begin, columns.begin), min(rows.end, columns.end))
            searched[same - rows.begin, same - columns.begin] = -np.inf
        results.append(function(rows.slice, columns.slice, searched))
    return results
