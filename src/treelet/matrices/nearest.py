"""Nearest neighbors of examples, by kernel value or by distance."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from treelet.checks import check_boolean, check_integer, is_number, wrong
from treelet.errors import ParameterError
from treelet.kernels.algebra import without_excess
from treelet.kernels.pairwise import Matrix, Needs, Pairwise
from treelet.matrices.executors import TileSearch, executor_for, pieces
from treelet.matrices.tiles import Job, Tile, check_pairwise
from treelet.resources import Resources
from treelet.structures.bank import Bank
from treelet.structures.table import Table, stacked

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

# --- the largest values of each row, exactly, regardless of the order and shape of the tiles --------------------------

Numbers = NDArray[np.int64]
Matches = tuple[Numbers, Numbers, NDArray[np.float64]]
"""Rows, indices and values."""
_WIDE = 4096  # columns from which chunks are faster than a partition
_CHUNK = 1024  # columns per chunk whose maximum is found first
_MOST = 1 << 22  # values of a tile that may be copied from a device; rows with very many equal values are copied whole
_ABSENT = -1
"""Index of an absent neighbor, whose value is -inf."""
ROUNDING = 2.0**-42
"""Relative difference that rounding can cause, because tiles may add the same numbers in another order."""


class _Best:
    """The k largest values of each row and their columns, in descending order.

    Among equal values the smaller index comes first. Values that differ by at most `close`,
    relatively, count as equal and are returned as one number. The result therefore does not depend
    on the tiles, their order, or the threads that add them.
    """

    def __init__(self, rows: int, k: int, close: float = ROUNDING) -> None:
        self.values, self.numbers = np.full((rows, k), -np.inf), np.full((rows, k), _ABSENT, np.int64)
        self._close, self._lock = close, Lock()

    def take(self, rows: slice, columns: slice, tile: Matrix) -> None:
        """Add a tile of the matrix, from any thread."""
        k = self.values.shape[1]
        least = self.values[rows, -1]  # these values only grow, so an outdated copy is safe
        wanted = np.flatnonzero(tile.max(axis=1) >= _below(least, self._close))
        if not len(wanted):
            return
        values, numbers = _largest(tile if len(wanted) == len(tile) else tile[wanted], k, self._close)
        self.add((wanted + rows.start, numbers + columns.start, values))

    def add(self, matches: Matches) -> None:
        """Add candidates per row, which were chosen from a tile here or elsewhere."""
        rows, numbers, values = matches
        k = self.values.shape[1]
        with self._lock:
            values = np.concatenate([self.values[rows], values], axis=1)
            numbers = np.concatenate([self.numbers[rows], numbers], axis=1)
            values, numbers = _ranked(values, numbers, self._close)
            self.values[rows], self.numbers[rows] = values[:, :k], numbers[:, :k]

    def result(self, threshold: float | None) -> tuple[Matrix, Numbers]:
        """Return values and indices, with absent entries where too few values reach the threshold."""
        if threshold is not None:
            self.values[~_reached(self.values, threshold, self._close)] = -np.inf
        self.numbers[self.values == -np.inf] = _ABSENT
        return self.values, self.numbers


class _Above:
    """All values that reach a threshold, with their rows and columns."""

    def __init__(self, threshold: float, close: float = ROUNDING) -> None:
        self.threshold, self._close, self._lock = threshold, close, Lock()
        self._matches: list[Matches] = []

    def take(self, rows: slice, columns: slice, tile: Matrix) -> None:
        """Add a tile of the matrix, from any thread."""
        self.add(_those_above(rows, columns, tile, self.threshold, self._close))

    def add(self, matches: Matches) -> None:
        """Add rows, indices and values, which were chosen from a tile here or elsewhere."""
        with self._lock:
            self._matches.append(matches)

    def result(self) -> tuple[Numbers, Numbers, NDArray[np.float64]]:
        """Return rows, indices and values: by row, then by descending value, then by index."""
        if not self._matches:
            return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
        row, number, value = (np.concatenate(parts) for parts in zip(*self._matches, strict=True))
        order = np.lexsort((number, -value, row))
        row, number, value = row[order], number[order], value[order]
        head = np.ones(len(row), bool)
        head[1:] = (row[1:] != row[:-1]) | _apart(value[:-1], value[1:], self._close)
        run = np.cumsum(head)
        order = np.lexsort((number, run))
        return row, number[order], value[np.flatnonzero(head)[run - 1]]


def _the_best(rows: slice, columns: slice, tile: Matrix, k: int, close: float) -> Matches:
    """Return the k largest values of each row of a tile."""
    values, numbers = _largest(tile, k, close)
    return np.arange(rows.start, rows.stop), numbers + columns.start, values


def _those_above(rows: slice, columns: slice, tile: Matrix, threshold: float, close: float) -> Matches:
    """Return all values of a tile that reach a threshold."""
    row, column = np.nonzero(_reached(tile, threshold, close))
    value = _on_host(tile[row, column])
    return _on_host(row) + rows.start, _on_host(column) + columns.start, value


def _largest(tile: Any, k: int, close: float) -> tuple[Matrix, Numbers]:
    """Return the k largest values of each row and their columns, in no order, on the host.

    Rows with fewer values are returned whole. Among equal values the first ones are chosen.
    """
    by_chunks = not isinstance(tile, np.ndarray) or tile.shape[1] >= _WIDE
    return (_largest_by_chunks if by_chunks else _largest_by_partition)(tile, k, close)


def _largest_by_partition(tile: Matrix, k: int, close: float) -> tuple[Matrix, Numbers]:
    """Return the same as `_largest` for narrow tiles."""
    rows, width = tile.shape
    if width <= k:
        return tile.copy(), np.tile(np.arange(width), (rows, 1))
    least = np.partition(tile, width - k, axis=1)[:, width - k]
    near = tile >= _below(least, close)[:, None]
    for row in np.flatnonzero(near.sum(axis=1) > k):  # more equal values than fit
        candidates = np.flatnonzero(near[row])
        surely = _apart(tile[row, candidates], least[row], close)
        near[row, candidates[~surely][k - int(surely.sum()) :]] = False
    columns = np.nonzero(near)[1].reshape(rows, k)
    return np.take_along_axis(tile, columns, axis=1), columns


def _largest_by_chunks(tile: Any, k: int, close: float) -> tuple[Matrix, Numbers]:
    """Return the same as `_largest` for wide tiles and tiles on a device, from which only the candidates are copied.

    The k-th largest of the maxima of column chunks is not above the k-th largest of all values.
    """
    xp, (rows, width) = _functions_of(tile), tile.shape
    chunk = min(_CHUNK, width // (4 * k))
    if chunk < 2:
        return _largest_by_partition(_on_host(tile), k, close)
    whole = width // chunk * chunk
    heads = [xp.ascontiguousarray(tile[:, :whole]).reshape(rows, -1, chunk).max(axis=2)]
    heads += [tile[:, whole:].max(axis=1)[:, None]] if whole < width else []
    head = xp.concatenate(heads, axis=1)
    least = xp.partition(head, head.shape[1] - k, axis=1)[:, head.shape[1] - k]
    near = tile >= _below(least, close)[:, None]
    many = _on_host(near.sum(axis=1)) > max(16 * k, _MOST // rows)
    near[xp.asarray(many)] = False
    row, column = xp.nonzero(near)
    values, numbers = _padded(_on_host(row), _on_host(column), _on_host(tile[row, column]), rows, k)
    chosen = _largest_by_partition(values, k, close)[1]
    values, numbers = np.take_along_axis(values, chosen, axis=1), np.take_along_axis(numbers, chosen, axis=1)
    for index in np.flatnonzero(many):  # rows with very many equal values
        values[index], numbers[index] = (
            array[0] for array in _largest_by_partition(_on_host(tile[index : index + 1]), k, close)
        )
    return values, numbers


def _padded(row: Numbers, column: Numbers, value: Matrix, rows: int, k: int) -> tuple[Matrix, Numbers]:
    """Return the values and columns of each row side by side, padded with -inf."""
    start = np.searchsorted(row, np.arange(rows + 1))
    width = max(k, int(np.diff(start).max(initial=0)))
    values, numbers = np.full((rows, width), -np.inf), np.full((rows, width), _ABSENT, np.int64)
    position = np.arange(len(row)) - start[row]
    values[row, position], numbers[row, position] = value, column
    return values, numbers


def _ranked(values: Matrix, numbers: Numbers, close: float) -> tuple[Matrix, Numbers]:
    """Sort each row by descending value, then by index; equal values become the largest of them."""
    order = np.lexsort((numbers, -values), axis=1)
    values, numbers = np.take_along_axis(values, order, axis=1), np.take_along_axis(numbers, order, axis=1)
    head = np.ones(values.shape, bool)
    head[:, 1:] = _apart(values[:, :-1], values[:, 1:], close)
    order = np.lexsort((numbers, np.cumsum(head, axis=1)), axis=1)
    first = np.maximum.accumulate(np.where(head, np.arange(values.shape[1]), 0), axis=1)
    return np.take_along_axis(values, first, axis=1), np.take_along_axis(numbers, order, axis=1)


def _reached(values: NDArray[np.float64], threshold: float, close: float) -> NDArray[np.bool_]:
    """Return which values reach a threshold, up to rounding."""
    return values >= threshold - close * abs(threshold)


def _below(values: NDArray[np.float64], close: float) -> Any:
    """Return the smallest values that differ from the given ones only by rounding."""
    return np.where(np.isfinite(values), values - close * np.abs(values), values)


def _apart(larger: Any, smaller: Any, close: float) -> Any:
    """Return whether the first value exceeds the second by more than rounding."""
    return (larger > smaller) & ((larger - close * np.abs(larger) > smaller) | ~np.isfinite(smaller))


def _functions_of(array: Any) -> Any:
    """Return the array module of an array: NumPy or CuPy."""
    return np if isinstance(array, np.ndarray) else sys.modules["cupy"]


def _on_host(array: Any) -> NDArray[Any]:
    """Return the array itself, or its copy in host memory if it is on a device."""
    host: NDArray[Any] = array if isinstance(array, np.ndarray) else array.get()
    return host


# --- nearest neighbors of examples, by kernel value or by distance ----------------------------------------------------

_DEFAULT_K = 10
_TOGETHER = 32  # queries whose neighbors are computed again at once
_ROUNDING_OF_DISTANCES = 2.0**-30
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
    device: str | None = ...,
    device_memory: int | float | str | None = ...,
    progress: bool | None = ...,
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
    device: str | None = ...,
    device_memory: int | float | str | None = ...,
    progress: bool | None = ...,
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
    device: str | None = None,
    device_memory: int | float | str | None = None,
    progress: bool | None = None,
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
        docs/cluster.md. Default: as in `treelet.config_context`.
    device : {"cpu", "cuda"}, optional
        Where to compute, as for `treelet.gram`. See docs/gpu.md.
        Default: as in `treelet.config_context`.
    device_memory : int or str, optional
        Limit for GPU memory, for example ``"10GiB"``. Default: as in `treelet.config_context`.
    progress : bool, optional
        Show a progress bar on standard error. Default: as in `treelet.config_context`.

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

    A *row* is the index of an example in `data`. The examples that are still searched also have *numbers*: 0, 1, ...
    in the order of their rows.

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
        """Return the rows of examples by their numbers."""
        return self.rows[numbers] if len(self.removed) else numbers

    def numbers_of(self, rows: Numbers) -> Numbers:
        """Return the numbers of examples by their rows."""
        return rows - np.searchsorted(self.removed, rows) if len(self.removed) else rows

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

    The results are numbers of examples: those of the parts, in the order of the parts, counted on from one part to the
    next. Only `_search` and `_taken` know the rows of a part.

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
        self.filtered = searching is not kernel
        """Whether searches leave out pairs that cannot be found. Such a search must not see removed examples."""
        self.needs = [searching.needs(part.data, resources.memory // 2) for part in self.parts]
        if always_cached:
            self.needs = [needs._replace(index=0, thread=0) for needs in self.needs]
        self.start = np.concatenate([[0], np.cumsum([len(part) for part in self.parts])]).astype(np.int64)
        """The number of the first example of each part, then the total."""
        self.sign, self.close = (-1.0, _ROUNDING_OF_DISTANCES) if kernel.is_distance else (1.0, ROUNDING)

    def __len__(self) -> int:
        return int(self.start[-1])

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
            best = _Best(len(self), k, self.close)
            self._search(self.parts[0], self.needs[0], None, best, threshold, k, itself=False)
        else:
            best = self._best(Q, k, threshold)
        values, numbers = best.values, best.numbers
        if self.reproducible:
            rows, columns = np.nonzero(numbers != _ABSENT)
            start = np.searchsorted(rows, np.arange(len(numbers) + 1))
            values[rows, columns] = self.sign * self._computed_again(Q, start, numbers[rows, columns])
            best.values, best.numbers = _ranked(values, numbers, self.close)
        values, numbers = best.result(None if threshold is None else self.sign * threshold)
        return self._shown(values), numbers

    def _best(self, Q: Any | None, k: int, threshold: float | None) -> _Best:
        """Return the best values of all parts, for queries or for the examples themselves."""
        wanted = k + (Q is None)  # each example is also found itself
        found = []
        for asked in [Q] if Q is not None else self._asked():
            best = _Best(len(asked), wanted, self.close)
            for start, part, needs in self._each_part():
                some = _Best(len(asked), wanted, self.close)
                self._search(part, needs, asked, some, threshold, wanted)
                values, rows = some.result(None)
                best.add((np.arange(len(asked)), self._numbers(part, start, rows), values))
            found.append(best)
        best.values = np.concatenate([some.values for some in found])
        best.numbers = np.concatenate([some.numbers for some in found])
        if Q is None:  # Remove each example from its own neighbors, or else the last neighbor.
            drop = best.numbers == np.arange(len(self))[:, None]
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
        matches, before = _Above(self.sign * threshold, self.close), 0
        if Q is None and self._is_single():
            self._search(self.parts[0], self.needs[0], None, matches, threshold)
            before = len(self)
        else:
            for asked in [Q] if Q is not None else self._asked():
                for first, part, needs in self._each_part():
                    some = _Above(self.sign * threshold, self.close)
                    self._search(part, needs, asked, some, threshold)
                    queries, rows, values = some.result()
                    matches.add((queries + before, self._numbers(part, first, rows), values))
                before += len(asked)
        rows, numbers, values = matches.result()
        if self.reproducible:
            start = np.searchsorted(rows, np.arange(before + 1))
            values = self.sign * self._computed_again(Q, start, numbers)
            again = _Above(self.sign * threshold, self.close)
            again.add((rows, numbers, values))
            rows, numbers, values = again.result()
        start = np.searchsorted(rows, np.arange(before + 1))
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
        present = columns != _ABSENT
        start = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
        return csr_matrix((nearest_values[present], columns[present], start), shape=(len(nearest_values), len(self)))

    def _shown(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values that were searched as the caller sees them."""
        values = self.sign * values
        return without_excess(self.kernel, values)

    def _with_itself(self, values: Matrix, numbers: Numbers, threshold: float | None) -> tuple[Matrix, Numbers]:
        own = np.zeros(len(self))
        if not self.kernel.is_distance:
            own = np.concatenate([self.kernel.diag(part.data)[part.rows] for part in self.parts])
        itself = np.arange(len(self))
        if threshold is not None:
            itself[~_reached(self.sign * own, self.sign * threshold, self.close)] = _ABSENT
        values, numbers = np.column_stack([values, own]), np.column_stack([numbers, itself])
        ordered, numbers = _ranked(self.sign * values, numbers, self.close)
        return self.sign * ordered, numbers

    # --- parts --------------------------------------------------------------------------------------------------

    def _is_single(self) -> bool:
        """Return whether the collection is one part from which nothing was removed."""
        return len(self.parts) == 1 and not len(self.parts[0].removed)

    def _each_part(self) -> Iterator[tuple[int, Part, Needs]]:
        for start, part, needs in zip(self.start.tolist(), self.parts, self.needs, strict=False):
            if len(part):
                yield start, part, needs

    def _asked(self) -> Iterator[Any]:
        """Yield the examples that are searched, part by part, as queries."""
        for part in self.parts:
            if len(part):
                yield part.kept(self.kernel)

    def _numbers(self, part: Part, start: int, rows: Numbers) -> Numbers:
        """Return the numbers of examples that a search has found in a part."""
        numbers = rows if self.filtered else part.numbers_of(rows)  # a filtered search sees only `part.kept`
        return np.where(rows == _ABSENT, _ABSENT, numbers + start)

    def _taken(self, numbers: Numbers) -> Any:
        """Return examples by number, over a store that contains nothing else and does not depend on the parts."""
        part = np.searchsorted(self.start, numbers, side="right") - 1
        change = np.flatnonzero(np.diff(part)) + 1  # runs of examples of the same part
        some = [
            self.parts[which].data[self.parts[which].rows_of(run - self.start[which])]
            for run, which in zip(np.split(numbers, change), part[np.r_[0, change]], strict=True)
        ]
        return _ordered_examples(reduce(stacked, some))

    def _computed_again(self, Q: Any | None, start: Numbers, numbers: Numbers) -> NDArray[np.float64]:
        """Return the values of each query with some examples: row i has ``numbers[start[i]:start[i + 1]]``."""
        values = np.empty(len(numbers))
        for begin in range(0, len(start) - 1, _TOGETHER):
            end = min(begin + _TOGETHER, len(start) - 1)
            cells = slice(start[begin], start[end])
            examples, column = np.unique(numbers[cells], return_inverse=True)
            if len(examples):
                rows = self._taken(np.arange(begin, end)) if Q is None else _ordered_examples(Q[begin:end])
                out = np.empty((end - begin, len(examples)))
                self.kernel.evaluator(rows, self._taken(examples)).fill(0, end - begin, out, False)
                values[cells] = out[np.repeat(np.arange(end - begin), np.diff(start[begin : end + 1])), column]
        return values

    def _search(
        self,
        part: Part,
        needs: Needs,
        Q: Any | None,
        matches: _Best | _Above,
        threshold: float | None,
        best: int | None = None,
        itself: bool = True,
    ) -> None:
        """Search all values of the queries with the examples of a part. Distances are searched with the sign changed."""
        if isinstance(matches, _Above):
            choose: Any = partial(_those_above, threshold=matches.threshold, close=self.close)
        else:
            choose = partial(_the_best, k=best or 0, close=self.close)
        if isinstance(matches, _Above) and threshold is not None and not len(part.removed):
            found = self.kernel.reaching(part.data, Q, threshold)
            if found is not None:
                for rows, columns, values in found:
                    near = _reached(self.sign * values, matches.threshold, self.close)
                    matches.add((rows[near], columns[near], self.sign * values[near]))
                return
        kernel = self.kernel.for_search(threshold, best if itself or best is None else best + 1)
        data = part.kept(self.kernel) if self.filtered else part.data
        if self.filtered and best is not None and Q is None:
            Q = data  # the best values of a row are not the best values of a column
        job = Job(kernel, data) if Q is None else Job(kernel, Q, data)
        removed = np.zeros(0, np.int64) if self.filtered else part.removed
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
            return min(_DEFAULT_K, searched)
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
            same = _functions_of(searched).arange(max(rows.begin, columns.begin), min(rows.end, columns.end))
            searched[same - rows.begin, same - columns.begin] = -np.inf
        if len(removed):
            first, last = np.searchsorted(removed, [columns.begin, columns.end])
            searched[:, _functions_of(searched).asarray(removed[first:last] - columns.begin)] = -np.inf
        results.append(function(rows.slice, columns.slice, searched))
    return results


def _ordered_examples(data: Any) -> Any:
    """Return a copy of examples whose banks contain nothing else, with parts numbered in the order of first occurrence."""
    if isinstance(data, Bank):
        ordered = data.ordered()
        return data.compact() if ordered is data else ordered
    if isinstance(data, Table):
        return Table({name: _ordered_examples(data.column(name)) for name in data.names})
    return type(data)(_ordered_examples(data.members), data.start) if hasattr(data, "members") else data
