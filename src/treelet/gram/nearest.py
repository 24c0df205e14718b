"""Nearest neighbors of examples, by kernel value or by distance."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, Literal, overload

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
from treelet.kernels.pairwise import Matrix, Needs, Pairwise
from treelet.kernels.wrapped import is_normalized, without_excess
from treelet.resources import Resources
from treelet.structures.table import ordered_examples, stacked

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


DEFAULT_K = 10
TOGETHER = 32  # queries whose neighbors are computed again at once
ROUNDING_OF_DISTANCES = 2.0**-30
"""Like `ROUNDING`, but larger: a distance is the root of a difference, which amplifies rounding."""


@overload
def nearest(
    kernel: Pairwise,
    X: Any,
    Q: Any | None = ...,
    k: int | None = ...,
    *,
    threshold: float | None = ...,
    graph: Literal[False] = ...,
    n_jobs: int | None = ...,
    memory: int | float | str | None = ...,
    client: Any | None = ...,
    device: str = ...,
    device_memory: int | float | str | None = ...,
    progress: bool = ...,
) -> tuple[Matrix, Numbers]: ...


@overload
def nearest(
    kernel: Pairwise,
    X: Any,
    Q: Any | None = ...,
    k: int | None = ...,
    *,
    threshold: float | None = ...,
    graph: Literal[True],
    n_jobs: int | None = ...,
    memory: int | float | str | None = ...,
    client: Any | None = ...,
    device: str = ...,
    device_memory: int | float | str | None = ...,
    progress: bool = ...,
) -> csr_matrix: ...


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
    index = Index(kernel, [Part(kernel.coerce(X))], resources)
    return (index.graph if graph else index.nearest)(Q, k, threshold)


class Part:
    """Examples of an index, with the data that kernels cache for them.

    Parameters
    ----------
    data : collection of examples
        Examples in the kernel's form.
    removed : ndarray of int
        Rows that are no longer searched, in ascending order.
    """

    def __init__(self, data: Any, removed: Numbers | None = None) -> None:
        self.data, self.removed = data, np.zeros(0, np.int64) if removed is None else removed
        self._kept: Any = None
        self._rows: Numbers | None = None

    def __len__(self) -> int:
        return len(self.data) - len(self.removed)

    @property
    def rows(self) -> Numbers:
        """Rows of the examples that are searched."""
        if self._rows is None:
            self._rows = np.delete(np.arange(len(self.data)), self.removed)
        return self._rows

    def rows_of(self, numbers: Numbers) -> Numbers:
        """Return the rows of some of the examples that are searched."""
        return self.rows[numbers] if len(self.removed) else numbers

    def kept(self, kernel: Pairwise) -> Any:
        """Return the examples that are searched, without the others. They cache their own index."""
        if not len(self.removed):
            return self.data
        if self._kept is None:
            self._kept = kernel.with_cached_index(self.data[self.rows])
        return self._kept


class Index:
    """A kernel or distance over a collection in one or more parts, for repeated queries. Several threads may query at once.

    Data that the kernel computes from the collection (self-values, a native index) are cached if
    they fit the memory limit. Otherwise they are computed for each query, in blocks.

    The examples are numbered from 0 in the order of the parts, without those that were removed.

    Parameters
    ----------
    always_cached : bool
        Cache the data regardless of their size.
    reproducible : bool
        Compute the values of the neighbors again, without the other examples. Their last bits then
        do not depend on these, nor on how the collection is divided into parts.
    name, count : str
        Names of the function and of the parameter with the number of neighbors, for error messages.
    """

    def __init__(
        self,
        kernel: Pairwise,
        parts: Sequence[Part],
        resources: Resources,
        *,
        always_cached: bool = False,
        reproducible: bool = False,
        name: str = "nearest",
        count: str = "k",
    ) -> None:
        self.executor = executor_for(resources)
        self.kernel, self.name, self.count = kernel, name, count
        self.parts, self.reproducible = list(parts), reproducible and not kernel.is_exact
        for part in self.parts:  # All indexes of a part share the data that are cached for it.
            part.data = kernel.with_cached_index(part.data)
        searching = kernel.for_search(None, 1)
        self.needs = [searching.needs(part.data, resources.memory // 2) for part in self.parts]
        if always_cached:
            self.needs = [needs._replace(index=0, thread=0) for needs in self.needs]
        self.start = np.concatenate([[0], np.cumsum([len(part.data) for part in self.parts])]).astype(np.int64)
        """The place of the first example of each part, if all examples are counted."""
        places = [start + part.removed for start, part in zip(self.start.tolist(), self.parts, strict=False)]
        self.removed = np.concatenate([np.zeros(0, np.int64), *places])
        self.sign, self.close = (-1.0, ROUNDING_OF_DISTANCES) if kernel.is_distance else (1.0, ROUNDING)

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def prepare(self) -> None:
        """Compute the cached data now."""
        for part, needs in zip(self.parts, self.needs, strict=True):
            self.executor.prepare(self.kernel, part.data, needs)

    def nearest(self, Q: Any | None, k: int | None, threshold: float | None = None) -> tuple[Matrix, Numbers]:
        """Return values and indices, as `treelet.nearest` does."""
        self._check_threshold(threshold)
        Q = self._queries(Q)
        k = self._count(Q, k)
        if Q is None and self._is_single():
            best = Best(len(self), k, self.close)
            self._search(self.parts[0], self.needs[0], None, best, threshold, k, itself=False)
        else:
            best = self._best(Q, k, threshold)
        values, numbers = best.values, best.numbers
        if self.reproducible:
            rows, columns = np.nonzero(numbers != ABSENT)
            start = np.searchsorted(rows, np.arange(len(numbers) + 1))
            values[rows, columns] = self.sign * self._computed_again(Q, start, numbers[rows, columns])
            best.values, best.numbers = ranked(values, numbers, self.close)
        values, numbers = best.result(None if threshold is None else self.sign * threshold)
        return self._shown(values), self._without_removed(numbers)

    def _best(self, Q: Any | None, k: int, threshold: float | None) -> Best:
        """Return the best values of all parts, for queries or for the examples themselves."""
        wanted = k + (Q is None)
        found = []
        for asked in [Q] if Q is not None else self._asked():
            best = Best(len(asked), wanted, self.close)
            for start, part, needs in self._each_part():
                some = Best(len(asked), wanted, self.close)
                self._search(part, needs, asked, some, threshold, wanted)
                values, numbers = some.result(None)
                best.add((np.arange(len(asked)), self._place(part, start, numbers), values))
            found.append(best)
        best.values = np.concatenate([some.values for some in found])
        best.numbers = np.concatenate([some.numbers for some in found])
        if Q is None:  # Remove each example from its own neighbors, or else the last neighbor.
            drop = best.numbers == self._places()[:, None]
            drop[~drop.any(axis=1), -1] = True
            shape = len(drop), k
            best.values, best.numbers = best.values[~drop].reshape(shape), best.numbers[~drop].reshape(shape)
        return best

    def above(self, Q: Any | None, threshold: float) -> tuple[NDArray[np.float64], Numbers, Numbers]:
        """Return the values that reach a threshold, their indices, and the start of each row.

        Rows are sorted in the order of `nearest`.
        """
        self._check_threshold(threshold, optional=False)
        Q = self._queries(Q)
        matches, before = Above(self.sign * threshold, self.close), 0
        if Q is None and self._is_single():
            self._search(self.parts[0], self.needs[0], None, matches, threshold)
            before = len(self)
        else:
            for asked in [Q] if Q is not None else self._asked():
                for first, part, needs in self._each_part():
                    some = Above(self.sign * threshold, self.close)
                    self._search(part, needs, asked, some, threshold)
                    rows, numbers, values = some.result()
                    matches.add((rows + before, self._place(part, first, numbers), values))
                before += len(asked)
        rows, numbers, values = matches.result()
        if self.reproducible:
            start = np.searchsorted(rows, np.arange(before + 1))
            values = self.sign * self._computed_again(Q, start, numbers)
            again = Above(self.sign * threshold, self.close)
            again.add((rows, numbers, values))
            rows, numbers, values = again.result()
        start = np.searchsorted(rows, np.arange(before + 1))
        return self._shown(values), self._without_removed(numbers), start.astype(np.int64)

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
        own = np.zeros(len(self))
        if not self.kernel.is_distance:
            own = np.concatenate([self.kernel.diag(part.data)[part.rows] for part in self.parts])  # type: ignore[attr-defined]  # kernels and similarities have a diagonal
        itself = np.arange(len(self))
        if threshold is not None:
            itself[~reached(self.sign * own, self.sign * threshold, self.close)] = ABSENT
        values, numbers = np.column_stack([values, own]), np.column_stack([numbers, itself])
        ordered, numbers = ranked(self.sign * values, numbers, self.close)
        return self.sign * ordered, numbers

    # --- parts --------------------------------------------------------------------------------------------------

    def _is_single(self) -> bool:
        """Return whether the collection is one part from which nothing was removed."""
        return len(self.parts) == 1 and not len(self.removed)

    def _each_part(self) -> Iterator[tuple[int, Part, Needs]]:
        for start, part, needs in zip(self.start.tolist(), self.parts, self.needs, strict=False):
            if len(part):
                yield start, part, needs

    def _asked(self) -> Iterator[Any]:
        """Yield the examples that are searched, part by part, as queries."""
        for part in self.parts:
            if len(part):
                yield part.kept(self.kernel)

    def _places(self) -> Numbers:
        """Return the places of the examples that are searched."""
        rows = [start + part.rows for start, part in zip(self.start.tolist(), self.parts, strict=False)]
        return np.concatenate([np.zeros(0, np.int64), *rows])

    def _place(self, part: Part, start: int, numbers: Numbers) -> Numbers:
        """Return the places of examples that were found in a part."""
        if len(part.removed) and self._is_filtered():
            numbers = np.where(numbers == ABSENT, ABSENT, part.rows_of(numbers))
        return np.where(numbers == ABSENT, ABSENT, numbers + start)

    def _without_removed(self, places: Numbers) -> Numbers:
        """Return the numbers of examples at some places."""
        if not len(self.removed):
            return places
        return np.where(places == ABSENT, ABSENT, places - np.searchsorted(self.removed, places))

    def _taken(self, places: Numbers) -> Any:
        """Return the examples at some places, over a store that contains nothing else and does not depend on the parts."""
        part = np.searchsorted(self.start, places, side="right") - 1
        change = np.flatnonzero(np.diff(part)) + 1
        runs = np.split(places, change)
        some = [
            self.parts[number].data[run - self.start[number]]
            for run, number in zip(runs, part[np.r_[0, change]], strict=True)
        ]
        return ordered_examples(reduce(stacked, some))

    def _computed_again(self, Q: Any | None, start: Numbers, numbers: Numbers) -> NDArray[np.float64]:
        """Return the values of each query with the examples at its places: row i has ``numbers[start[i]:start[i + 1]]``."""
        values = np.empty(len(numbers))
        asked = self._places() if Q is None else np.zeros(0, np.int64)
        for begin in range(0, len(start) - 1, TOGETHER):
            end = min(begin + TOGETHER, len(start) - 1)
            cells = slice(start[begin], start[end])
            places, column = np.unique(numbers[cells], return_inverse=True)
            if len(places):
                rows = self._taken(asked[begin:end]) if Q is None else ordered_examples(Q[begin:end])
                out = np.empty((end - begin, len(places)))
                self.kernel.evaluator(rows, self._taken(places)).fill(0, end - begin, out, False)
                values[cells] = out[np.repeat(np.arange(end - begin), np.diff(start[begin : end + 1])), column]
        return values

    def _is_filtered(self, threshold: float | None = None, best: int | None = 1) -> bool:
        """Return whether searches leave out pairs that cannot be found. Such a search must not see removed examples."""
        return self.kernel.for_search(threshold, best) is not self.kernel

    def _search(
        self,
        part: Part,
        needs: Needs,
        Q: Any | None,
        matches: Best | Above,
        threshold: float | None,
        best: int | None = None,
        itself: bool = True,
    ) -> None:
        """Search all values of the queries with the examples of a part. Distances are searched with the sign changed."""
        if isinstance(matches, Above):
            choose: Any = partial(those_above, threshold=matches.threshold, close=self.close)
        else:
            choose = partial(the_best, k=best or 0, close=self.close)
        kernel = self.kernel.for_search(threshold, best if itself or best is None else best + 1)
        filtered = kernel is not self.kernel
        data = part.kept(self.kernel) if filtered else part.data
        if filtered and best is not None and Q is None:
            Q = data  # the best values of a row are not the best values of a column
        job = Job(kernel, data) if Q is None else Job(kernel, Q, data)
        removed = np.zeros(0, np.int64) if filtered else part.removed
        give = partial(_each_piece, symmetric=job.Y is None, sign=self.sign, itself=itself, removed=removed)
        search = TileSearch(partial(give, matches.take), partial(give, choose), matches.add)
        self.executor.search(job, search, needs)

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
    removed: Numbers,
) -> list[Any]:
    """Call a search function for all cells that a tile determines.

    Without `itself`, no example is its own neighbor. Removed columns are never neighbors.
    """
    results = []
    for rows, columns, cells in pieces(tile, values, symmetric):
        searched = cells if sign > 0 else -cells
        if not itself:  # the piece is used only once and may be changed
            same = functions_of(searched).arange(max(rows.begin, columns.begin), min(rows.end, columns.end))
            searched[same - rows.begin, same - columns.begin] = -np.inf
        if len(removed):
            first, last = np.searchsorted(removed, [columns.begin, columns.end])
            searched[:, functions_of(searched).asarray(removed[first:last] - columns.begin)] = -np.inf
        results.append(function(rows.slice, columns.slice, searched))
    return results
