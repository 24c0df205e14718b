"""The largest values of each row, exactly, regardless of the order and shape of the tiles."""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treelet.device.launching import functions_of, on_host
from treelet.kernels.pairwise import Matrix

Numbers = NDArray[np.int64]
Matches = tuple[Numbers, Numbers, NDArray[np.float64]]
"""Rows, indices and values."""
WIDE = 4096  # columns from which chunks are faster than a partition
CHUNK = 1024  # columns per chunk whose maximum is found first
MOST = 1 << 22  # values of a tile that may be copied from a device; rows with very many equal values are copied whole
ABSENT = -1
"""Index of an absent neighbor, whose value is -inf."""
ROUNDING = 2.0**-42
"""Relative difference that rounding can cause, because tiles may add the same numbers in another order."""


class Best:
    """The k largest values of each row and their columns, in descending order.

    Among equal values the smaller index comes first. Values that differ by at most `close`,
    relatively, count as equal and are returned as one number. The result therefore does not depend
    on the tiles, their order, or the threads that add them.
    """

    def __init__(self, rows: int, k: int, close: float = ROUNDING) -> None:
        self.values, self.numbers = np.full((rows, k), -np.inf), np.full((rows, k), ABSENT, np.int64)
        self._close, self._lock = close, Lock()

    def take(self, rows: slice, columns: slice, tile: Matrix) -> None:
        """Add a tile of the matrix, from any thread."""
        k = self.values.shape[1]
        least = self.values[rows, -1]  # these values only grow, so an outdated copy is safe
        wanted = np.flatnonzero(tile.max(axis=1) >= _below(least, self._close))
        if not len(wanted):
            return
        values, numbers = largest(tile if len(wanted) == len(tile) else tile[wanted], k, self._close)
        self.add((wanted + rows.start, numbers + columns.start, values))

    def add(self, matches: Matches) -> None:
        """Add candidates per row, which were chosen from a tile here or elsewhere."""
        rows, numbers, values = matches
        k = self.values.shape[1]
        with self._lock:
            values = np.concatenate([self.values[rows], values], axis=1)
            numbers = np.concatenate([self.numbers[rows], numbers], axis=1)
            values, numbers = ranked(values, numbers, self._close)
            self.values[rows], self.numbers[rows] = values[:, :k], numbers[:, :k]

    def result(self, threshold: float | None) -> tuple[Matrix, Numbers]:
        """Return values and indices, with absent entries where too few values reach the threshold."""
        if threshold is not None:
            self.values[~reached(self.values, threshold, self._close)] = -np.inf
        self.numbers[self.values == -np.inf] = ABSENT
        return self.values, self.numbers


class Above:
    """All values that reach a threshold, with their rows and columns."""

    def __init__(self, threshold: float, close: float = ROUNDING) -> None:
        self.threshold, self._close, self._lock = threshold, close, Lock()
        self._matches: list[Matches] = []

    def take(self, rows: slice, columns: slice, tile: Matrix) -> None:
        """Add a tile of the matrix, from any thread."""
        self.add(those_above(rows, columns, tile, self.threshold, self._close))

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


def the_best(rows: slice, columns: slice, tile: Matrix, k: int, close: float) -> Matches:
    """Return the k largest values of each row of a tile."""
    values, numbers = largest(tile, k, close)
    return np.arange(rows.start, rows.stop), numbers + columns.start, values


def those_above(rows: slice, columns: slice, tile: Matrix, threshold: float, close: float) -> Matches:
    """Return all values of a tile that reach a threshold."""
    row, column = np.nonzero(reached(tile, threshold, close))
    value = on_host(tile[row, column])
    return on_host(row) + rows.start, on_host(column) + columns.start, value


def largest(tile: Any, k: int, close: float) -> tuple[Matrix, Numbers]:
    """Return the k largest values of each row and their columns, in no order, on the host.

    Rows with fewer values are returned whole. Among equal values the first ones are chosen.
    """
    by_chunks = not isinstance(tile, np.ndarray) or tile.shape[1] >= WIDE
    return (largest_by_chunks if by_chunks else largest_by_partition)(tile, k, close)


def largest_by_partition(tile: Matrix, k: int, close: float) -> tuple[Matrix, Numbers]:
    """Return the same as `largest` for narrow tiles."""
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


def largest_by_chunks(tile: Any, k: int, close: float) -> tuple[Matrix, Numbers]:
    """Return the same as `largest` for wide tiles and tiles on a device, from which only the candidates are copied.

    The k-th largest of the maxima of column chunks is not above the k-th largest of all values.
    """
    xp, (rows, width) = functions_of(tile), tile.shape
    chunk = min(CHUNK, width // (4 * k))
    if chunk < 2:
        return largest_by_partition(on_host(tile), k, close)
    whole = width // chunk * chunk
    heads = [xp.ascontiguousarray(tile[:, :whole]).reshape(rows, -1, chunk).max(axis=2)]
    heads += [tile[:, whole:].max(axis=1)[:, None]] if whole < width else []
    head = xp.concatenate(heads, axis=1)
    least = xp.partition(head, head.shape[1] - k, axis=1)[:, head.shape[1] - k]
    near = tile >= _below(least, close)[:, None]
    many = on_host(near.sum(axis=1)) > max(16 * k, MOST // rows)
    near[xp.asarray(many)] = False
    row, column = xp.nonzero(near)
    values, numbers = _padded(on_host(row), on_host(column), on_host(tile[row, column]), rows, k)
    chosen = largest_by_partition(values, k, close)[1]
    values, numbers = np.take_along_axis(values, chosen, axis=1), np.take_along_axis(numbers, chosen, axis=1)
    for index in np.flatnonzero(many):  # rows with very many equal values
        values[index], numbers[index] = (
            array[0] for array in largest_by_partition(on_host(tile[index : index + 1]), k, close)
        )
    return values, numbers


def _padded(row: Numbers, column: Numbers, value: Matrix, rows: int, k: int) -> tuple[Matrix, Numbers]:
    """Return the values and columns of each row side by side, padded with -inf."""
    start = np.searchsorted(row, np.arange(rows + 1))
    width = max(k, int(np.diff(start).max(initial=0)))
    values, numbers = np.full((rows, width), -np.inf), np.full((rows, width), ABSENT, np.int64)
    position = np.arange(len(row)) - start[row]
    values[row, position], numbers[row, position] = value, column
    return values, numbers


def ranked(values: Matrix, numbers: Numbers, close: float) -> tuple[Matrix, Numbers]:
    """Sort each row by descending value, then by index; equal values become the largest of them."""
    order = np.lexsort((numbers, -values), axis=1)
    values, numbers = np.take_along_axis(values, order, axis=1), np.take_along_axis(numbers, order, axis=1)
    head = np.ones(values.shape, bool)
    head[:, 1:] = _apart(values[:, :-1], values[:, 1:], close)
    order = np.lexsort((numbers, np.cumsum(head, axis=1)), axis=1)
    first = np.maximum.accumulate(np.where(head, np.arange(values.shape[1]), 0), axis=1)
    return np.take_along_axis(values, first, axis=1), np.take_along_axis(numbers, order, axis=1)


def reached(values: NDArray[np.float64], threshold: float, close: float) -> NDArray[np.bool_]:
    """Return which values reach a threshold, up to rounding."""
    return values >= threshold - close * abs(threshold)


def _below(values: NDArray[np.float64], close: float) -> Any:
    """Return the smallest values that differ from the given ones only by rounding."""
    return np.where(np.isfinite(values), values - close * np.abs(values), values)


def _apart(larger: Any, smaller: Any, close: float) -> Any:
    """Return whether the first value exceeds the second by more than rounding."""
    return (larger > smaller) & ((larger - close * np.abs(larger) > smaller) | ~np.isfinite(smaller))
