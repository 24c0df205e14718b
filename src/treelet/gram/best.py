"""The largest of many values a row, exactly, whatever tiles they come in."""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treelet.device.launching import functions_of, on_host
from treelet.kernels.pairwise import Matrix

Numbers = NDArray[np.int64]
Found = tuple[Numbers, Numbers, NDArray[np.float64]]
"""Rows, numbers, values."""
CHUNK = 1024  # columns of which the largest value is found first, on a device
MOST = 1 << 22  # values of a tile that may be copied from there; rows with very many equals are taken whole
ABSENT = -1
"""The number of a neighbour that is not there; its value is -inf."""
ROUNDING = 2.0**-42
"""Kernel values that differ by this part of them differ by rounding alone: one tile may add up the same numbers in another order."""


class Best:
    """The k largest values of each row and where they are: the largest first, among equals the smaller number first.

    Values within `close` of each other, relatively, are equals, and are given as one number. So the result does not depend on
    the tiles that are taken, their order, or the threads that take them.
    """

    def __init__(self, rows: int, k: int, close: float = ROUNDING) -> None:
        self.values, self.numbers = np.full((rows, k), -np.inf), np.full((rows, k), ABSENT, np.int64)
        self._close, self._lock = close, Lock()

    def take(self, rows: slice, columns: slice, tile: Matrix) -> None:
        """Take in a tile of the matrix; from any thread."""
        k = self.values.shape[1]
        least = self.values[rows, -1]  # it only ever grows, so that an old one is safe
        wanted = np.flatnonzero(tile.max(axis=1) >= _below(least, self._close))
        if not len(wanted):
            return
        values, numbers = largest(tile if len(wanted) == len(tile) else tile[wanted], k, self._close)
        self.add((wanted + rows.start, numbers + columns.start, values))

    def add(self, found: Found) -> None:
        """Take in rows, with some numbers and values each: those that were chosen of a tile, here or elsewhere."""
        there, numbers, values = found
        k = self.values.shape[1]
        with self._lock:
            values = np.concatenate([self.values[there], values], axis=1)
            numbers = np.concatenate([self.numbers[there], numbers], axis=1)
            values, numbers = ranked(values, numbers, self._close)
            self.values[there], self.numbers[there] = values[:, :k], numbers[:, :k]

    def result(self, threshold: float | None) -> tuple[Matrix, Numbers]:
        """What was found; absent where there is nothing, or nothing that reaches the threshold."""
        if threshold is not None:
            self.values[~reached(self.values, threshold, self._close)] = -np.inf
        self.numbers[self.values == -np.inf] = ABSENT
        return self.values, self.numbers


class Above:
    """All values that reach a threshold, and where they are."""

    def __init__(self, threshold: float, close: float = ROUNDING) -> None:
        self._threshold, self._close, self._lock = threshold, close, Lock()
        self._found: list[Found] = []

    def take(self, rows: slice, columns: slice, tile: Matrix) -> None:
        """Take in a tile of the matrix; from any thread."""
        self.add(those_above(rows, columns, tile, self._threshold, self._close))

    def add(self, found: Found) -> None:
        """Take in rows, numbers and values: those that were chosen of a tile, here or elsewhere."""
        with self._lock:
            self._found.append(found)

    def result(self) -> tuple[Numbers, Numbers, NDArray[np.float64]]:
        """Rows, numbers and values, row by row, the largest value first, among equals the smaller number first."""
        if not self._found:
            return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
        row, number, value = (np.concatenate(parts) for parts in zip(*self._found, strict=True))
        order = np.lexsort((number, -value, row))
        row, number, value = row[order], number[order], value[order]
        head = np.ones(len(row), bool)
        head[1:] = (row[1:] != row[:-1]) | _apart(value[:-1], value[1:], self._close)
        run = np.cumsum(head)
        order = np.lexsort((number, run))
        return row, number[order], value[np.flatnonzero(head)[run - 1]]


def the_best(rows: slice, columns: slice, tile: Matrix, k: int, close: float) -> Found:
    """The k largest of each row of a tile."""
    values, numbers = (largest if isinstance(tile, np.ndarray) else largest_elsewhere)(tile, k, close)
    return np.arange(rows.start, rows.stop), numbers + columns.start, values


def those_above(rows: slice, columns: slice, tile: Matrix, threshold: float, close: float) -> Found:
    """All values of a tile that reach a threshold."""
    row, column = np.nonzero(reached(tile, threshold, close))
    value = on_host(tile[row, column])
    return on_host(row) + rows.start, on_host(column) + columns.start, value


def largest(tile: Matrix, k: int, close: float) -> tuple[Matrix, Numbers]:
    """The k largest of each row, or all where there are fewer, and their columns, in no order; of equals the first ones."""
    rows, width = tile.shape
    if width <= k:
        return tile.copy(), np.tile(np.arange(width), (rows, 1))
    least = np.partition(tile, width - k, axis=1)[:, width - k]
    near = tile >= _below(least, close)[:, None]
    for row in np.flatnonzero(near.sum(axis=1) > k):  # more equals than there is room for
        there = np.flatnonzero(near[row])
        surely = _apart(tile[row, there], least[row], close)
        near[row, there[~surely][k - int(surely.sum()) :]] = False
    columns = np.nonzero(near)[1].reshape(rows, k)
    return np.take_along_axis(tile, columns, axis=1), columns


def largest_elsewhere(tile: Any, k: int, close: float) -> tuple[Matrix, Numbers]:
    """As `largest`, of a tile on a device: what may be among the largest is found there, and only that is copied.

    The k-th largest of the largest values of several columns each is not above the k-th largest of all.
    """
    xp, (rows, width) = functions_of(tile), tile.shape
    chunk = min(CHUNK, width // (4 * k))
    if chunk < 2:
        return largest(on_host(tile), k, close)
    whole = width // chunk * chunk
    heads = [xp.ascontiguousarray(tile[:, :whole]).reshape(rows, -1, chunk).max(axis=2)]
    heads += [tile[:, whole:].max(axis=1)[:, None]] if whole < width else []
    head = xp.concatenate(heads, axis=1)
    least = xp.partition(head, head.shape[1] - k, axis=1)[:, head.shape[1] - k]
    near = tile >= _below(least, close)[:, None]
    many = on_host(near.sum(axis=1)) > max(16 * k, MOST // rows)
    near[xp.asarray(many)] = False
    row, column = xp.nonzero(near)
    found = on_host(row), on_host(column), on_host(tile[row, column])
    values, numbers = _padded(*found, rows, k)
    places = largest(values, k, close)[1]
    values, numbers = np.take_along_axis(values, places, axis=1), np.take_along_axis(numbers, places, axis=1)
    for one in np.flatnonzero(many):  # there are very many equals
        values[one], numbers[one] = (part[0] for part in largest(on_host(tile[one : one + 1]), k, close))
    return values, numbers


def _padded(row: Numbers, column: Numbers, value: Matrix, rows: int, k: int) -> tuple[Matrix, Numbers]:
    """Values and columns of each row side by side, -inf where it has no more."""
    start = np.searchsorted(row, np.arange(rows + 1))
    width = max(k, int(np.diff(start).max(initial=0)))
    values, numbers = np.full((rows, width), -np.inf), np.full((rows, width), ABSENT, np.int64)
    place = np.arange(len(row)) - start[row]
    values[row, place], numbers[row, place] = value, column
    return values, numbers


def ranked(values: Matrix, numbers: Numbers, close: float) -> tuple[Matrix, Numbers]:
    """Each row in order: the largest value first, among equals the smaller number; equals get the largest value among them."""
    order = np.lexsort((numbers, -values), axis=1)
    values, numbers = np.take_along_axis(values, order, axis=1), np.take_along_axis(numbers, order, axis=1)
    head = np.ones(values.shape, bool)
    head[:, 1:] = _apart(values[:, :-1], values[:, 1:], close)
    order = np.lexsort((numbers, np.cumsum(head, axis=1)), axis=1)
    first = np.maximum.accumulate(np.where(head, np.arange(values.shape[1]), 0), axis=1)
    return np.take_along_axis(values, first, axis=1), np.take_along_axis(numbers, order, axis=1)


def reached(values: NDArray[np.float64], threshold: float, close: float) -> NDArray[np.bool_]:
    """Which values reach a threshold, but for rounding."""
    return values >= threshold - close * abs(threshold)


def _below(values: NDArray[np.float64], close: float) -> Any:
    """What is just not smaller, but for rounding."""
    return np.where(np.isfinite(values), values - close * np.abs(values), values)


def _apart(larger: Any, smaller: Any, close: float) -> Any:
    """Whether the one is larger by more than rounding."""
    return (larger > smaller) & ((larger - close * np.abs(larger) > smaller) | ~np.isfinite(smaller))
