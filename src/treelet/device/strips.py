"""The base of all device algorithms: examples as entries on the device, and parts of rows compared with parts of columns.

Two examples may share *parts*: nodes, edges, positions or windows. Parts of one *kind* are compared with each other. The
columns' parts of a kind are adjacent, so the values of a row's part are contiguous in memory. Rows are processed in
strips whose values fit into memory. Within a strip, parts at lower levels come first.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treelet.device.launching import Array, Device

THREADS = 128
COLUMNS_PER_THREAD = 4  # must equal `columns_a_thread` of the device code
_CELLS = 1 << 28
"""Maximum number of matrix cells that are computed at once."""
_VALUES = 1 << 33
"""Maximum number of bytes for the values of a strip."""


class Entries(NamedTuple):
    """The parts of examples with their counts, ordered by example."""

    example: Array  # int32
    part: Array  # int32
    weight: Array  # float64
    start: NDArray[np.int64]
    """Index of the first entry per example, then the total; in host memory."""

    @staticmethod
    def of(device: Device, weights: Any) -> Entries:
        """Build entries from the core's NodeWeights. Parts are nodes."""
        start = np.asarray(weights.start, np.int64)
        example = owners(device, device.array(start))
        return Entries(example, device.array(weights.node, np.int32), device.array(weights.weight), start)

    def within(self, begin: int, end: int) -> Entries:
        """Return the entries of some examples, which keep their numbers."""
        own = slice(int(self.start[begin]), int(self.start[end]))
        return Entries(
            self.example[own], self.part[own], self.weight[own], self.start[begin : end + 1] - self.start[begin]
        )

    def where(self, device: Device, chosen: Array) -> Entries:
        """Return the chosen entries."""
        example = self.example[chosen]
        start = device.to_host(device.xp.searchsorted(example, device.xp.arange(len(self.start), dtype=np.int32)))
        return Entries(example, self.part[chosen], self.weight[chosen], start.astype(np.int64))

    def totals(self, device: Device, numbers: Array) -> NDArray[np.int64]:
        """Return the sum per example of numbers that are given per entry."""
        end = device.xp.zeros(len(numbers) + 1, np.int64)
        end[1:] = device.xp.cumsum(numbers)
        total: NDArray[np.int64] = np.diff(device.to_host(end[device.xp.asarray(self.start)]))
        return total

    def spread(self, device: Device, start: Array, factor: Array | None = None) -> tuple[Array, Array, Array]:
        """Repeat each entry for each item ``start[part] .. start[part + 1]`` of its part.

        Return the examples, the items, and the weights, multiplied by the factors of the items.
        """
        xp = device.xp
        end = xp.zeros(len(self.part) + 1, np.int64)
        end[1:] = xp.cumsum(start[self.part + 1] - start[self.part])
        entry = owners(device, end)
        item = start[self.part[entry]] + (xp.arange(len(entry), dtype=np.int64) - end[entry])
        weight = self.weight[entry] if factor is None else self.weight[entry] * factor[item]
        return self.example[entry], item, weight


def owners(device: Device, start: Array) -> Array:
    """Return, for each index below ``start[-1]``, the number of the range that contains it, as int32."""
    xp = device.xp
    total = int(start[-1])
    return (xp.searchsorted(start, xp.arange(total, dtype=np.int64), side="right") - 1).astype(np.int32)


def starts(device: Device, numbers: Array, count: int) -> Array:
    """Return the index at which each number below `count` starts if `numbers` are sorted, then the total."""
    xp = device.xp
    out = xp.zeros(count + 1, np.int64)
    if len(numbers):  # CuPy has no bincount of empty arrays
        out[1:] = xp.cumsum(xp.bincount(numbers, minlength=count))
    return out


class ColumnParts(NamedTuple):
    """The parts of columns. Those of one kind are adjacent."""

    node: Array
    """Node or position per part, ascending within each kind."""
    start: Array
    """Index of the first part per kind, then the total."""
    first: Array
    """The same per kind, as int32."""
    size: Array
    """Number of parts per kind."""

    @staticmethod
    def of(device: Device, node: Array, kind: Array, kinds: int) -> ColumnParts:
        """Build the index from the parts, ordered by kind, and the kind of each part."""
        start = starts(device, kind, kinds)
        return ColumnParts(node, start, start[:-1].astype(np.int32), (start[1:] - start[:-1]).astype(np.int32))

    def sizes(self, device: Device, limit: int | None) -> Array:
        """Return the number of parts of each kind, with a limit only those whose node is not above it."""
        if limit is None:
            return self.size
        below = device.xp.zeros(len(self.node) + 1, np.int64)
        below[1:] = device.xp.cumsum(self.node <= limit)
        return (below[self.start[1:]] - below[self.start[:-1]]).astype(np.int32)


@dataclass(frozen=True)
class Postings:
    """From a part to the examples that hold it."""

    start: Array
    example: Array
    weight: Array

    @staticmethod
    def of(device: Device, example: Array, part: Array, weight: Array, parts: int, examples: int) -> Postings:
        order = device.xp.argsort(part.astype(np.int64) * max(1, examples) + example)
        return Postings(starts(device, part, parts), example[order], weight[order])

    @property
    def arrays(self) -> tuple[Array, Array, Array]:
        return self.start, self.example, self.weight


@dataclass(frozen=True)
class Strip:
    """The parts of some rows, ordered by level."""

    part: Array
    """Number of each part."""
    kind: Array
    """Kind of each part."""
    at: Array
    """Index of the first value of each part, then the total."""
    chunk: Array
    """Number of the first block of threads of each part, then the total."""
    level: NDArray[np.int64]
    """Index of the first part of each level, then the number of parts; in host memory."""
    chunk_of_level: NDArray[np.int64]
    """Number of the first block of threads of each level, then the total; in host memory."""
    limit: Array
    """Number of columns of each kind that these rows need."""
    held: Postings
    """The rows that contain each part."""
    local: Array
    """Index in this strip of each part of all rows."""
    cells: int
    """Total number of values."""

    def levels(self) -> Iterator[tuple[int, int, int]]:
        """Yield the first part of each level, the end of the level, and its number of thread blocks."""
        blocks = np.diff(self.chunk_of_level)
        yield from zip(self.level[:-1].tolist(), self.level[1:].tolist(), blocks.tolist(), strict=True)


class RowParts(NamedTuple):
    """The parts of rows that are compared with parts of columns."""

    entries: Entries
    kind: Array
    """Kind of each part of the rows' store, -1 for none."""
    level: Array
    """Level of each part: parts at lower levels are compared first."""
    local: Array
    """Memory for one number per part."""
    cells: NDArray[np.int64]
    """Maximum number of values per row."""

    @staticmethod
    def of(device: Device, entries: Entries, kind: Array, level: Array, sizes: Array) -> RowParts:
        """Return the parts in some entries. `sizes` is the number of columns' parts of each kind."""
        cells = entries.totals(device, sizes[kind[entries.part]])
        return RowParts(entries, kind, level, device.xp.zeros(len(kind), np.int32), cells)

    def strips(
        self, device: Device, begin: int, end: int, sizes: Array, columns: int | None, columns_per_thread: int = 1
    ) -> Iterator[Strip]:
        """Yield the parts of the rows ``begin..end`` in strips whose values fit into memory.

        If only the half of the matrix up to the diagonal is needed, `columns` is the total number of columns.
        """
        for first, last in self.ranges(device, begin, end, columns):
            work = self.strip(device, first, last, sizes, columns_per_thread)
            if work is not None:
                yield work

    def ranges(self, device: Device, begin: int, end: int, columns: int | None) -> Iterator[tuple[int, int]]:
        """Yield ranges of rows whose values fit into memory; a single row may exceed it.

        If only the half of the matrix up to the diagonal is needed, `columns` is the total number of columns, and a row
        counts in proportion to its columns.
        """
        most = max(1, min(_VALUES, device.free_bytes() // 4) // 8)
        first, total = begin, 0
        for row in range(begin, end):
            own = int(self.cells[row]) if columns is None else int(self.cells[row]) * (row + 1) // columns
            if row > first and total + own > most:
                yield first, row
                first, total = row, 0
            total += own
        if first < end:
            yield first, end

    def strip(self, device: Device, first: int, last: int, sizes: Array, columns_per_thread: int = 1) -> Strip | None:
        """Return the parts of some rows as a strip, or None if there are none.

        `sizes` is the number of columns' parts that the rows need, per kind. A thread of the device code processes
        `columns_per_thread` of them.
        """
        xp = device.xp
        example, part, weight, _ = self.entries.within(first, last)
        if not len(part):
            return None
        used = xp.zeros(len(self.kind), bool)
        used[part] = True
        own = xp.flatnonzero(used)
        own = own[xp.argsort(self.level[own] * np.int64(1 << 32) + own)].astype(np.int32)
        self.local[own] = xp.arange(len(own), dtype=np.int32)
        kinds = self.kind[own]
        width = sizes[kinds].astype(np.int64)
        at, chunk = xp.zeros(len(own) + 1, np.int64), xp.zeros(len(own) + 1, np.int64)
        at[1:], chunk[1:] = xp.cumsum(width), xp.cumsum(-(-width // (THREADS * columns_per_thread)))
        levels = self.level[own]
        edges = xp.flatnonzero(xp.concatenate([xp.ones(1, bool), levels[1:] != levels[:-1]]))
        edges = xp.concatenate([edges, xp.asarray([len(own)])])
        known = device.to_host(xp.concatenate([edges, chunk[edges], at[-1:]])).astype(np.int64)
        half = len(known) // 2
        index = self.local[part]
        order = xp.argsort(index.astype(np.int64) * np.int64(1 << 32) + example)
        held = Postings(starts(device, index, len(own)), example[order], weight[order])
        return Strip(own, kinds, at, chunk, known[:half], known[half:-1], sizes, held, self.local, int(known[-1]))


class DeviceColumns(ABC):
    """The columns of a kernel matrix on a device. Subclasses define the parts and launch the code that compares them.

    `store` and `weights` are those of the columns, as for the native core.
    """

    def __init__(self, device: Device, store: Any, weights: Any) -> None:
        self.device, self.xp = device, device.xp
        self.n_columns = len(weights)
        self._busy = Lock()

    @abstractmethod
    def bind(self, store: Any, weights: Any) -> Any:
        """Prepare all rows once, for use by `fill`."""

    @abstractmethod
    def fill(self, rows: Any, begin: int, end: int, out: Array, limit: int | None) -> None:
        """Add rows ``begin..end`` to `out`, which contains zeros.

        With a limit, only the half of the matrix up to the diagonal is needed. The columns of that half have no node
        above the limit.
        """

    def rows(self, bound: Any, limit: Any, begin: int, end: int, out: Array) -> tuple[int, int] | None:
        """Write rows, as the native core does; with a `limit`, only up to the diagonal.

        `bound` is the result of `bind`. Only one thread works at a time. Return the row and column of the first value
        that does not fit a float64, or None.
        """
        with self._busy:
            return self._fill_rows(bound, limit, begin, end, out)

    def _fill_rows(self, bound: Any, limit: Any, begin: int, end: int, out: Array) -> tuple[int, int] | None:
        target = out if out.dtype == np.float64 else self.xp.empty(out.shape, np.float64)
        target[...] = 0
        height = max(1, _CELLS // max(1, out.shape[1]))
        at = begin
        while at < end:
            stop = min(end, at + height)
            width = stop if limit is not None else out.shape[1]
            block = target[at - begin : stop - begin, :width]
            try:
                self.fill(bound, at, stop, block, None if limit is None else int(limit[stop - 1]))
            except Exception as error:
                full = self.device.out_of_memory(error)
                if full is None:
                    raise
                if stop - at == 1:
                    raise full from None
                height = (stop - at) // 2
                block[...] = 0
                continue
            at = stop
        if target is not out:
            out[...] = target
        return self._large(out, begin, limit is not None)

    def _large(self, out: Array, begin: int, halves: bool) -> tuple[int, int] | None:
        if bool(self.xp.isfinite(out.sum())):  # any value that is not finite makes the sum not finite
            return None
        places = np.argwhere(self.device.to_host(~self.xp.isfinite(out)))
        if halves:
            places = places[places[:, 1] <= places[:, 0] + begin]
        return (begin + int(places[0][0]), int(places[0][1])) if len(places) else None
