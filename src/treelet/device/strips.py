"""What all device algorithms share: examples as entries on the device, parts of rows compared with parts of columns.

A *part* is what two examples may have in common: a node, an edge, a position, a window. Parts of one *kind* are compared with each other;
the columns' parts of a kind lie beside each other, so that a row's part has its values in one run of memory. Rows are worked on in
strips, so many at a time that these values fit; within a strip, parts at lower levels come first.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treelet.device.launching import Array, Device, out_of_memory

THREADS = 128
COLUMNS_A_THREAD = 4  # as in the device code, where it has several
CELLS = 1 << 28
"""Of the matrix that are worked on at once."""
VALUES = 1 << 33
"""Bytes of values of a strip, at most."""


class Entries(NamedTuple):
    """Which parts examples hold, and how often: ordered by example."""

    example: Array  # int32
    part: Array  # int32
    weight: Array  # float64
    start: NDArray[np.int64]
    """Of each example, and the end; in the host's memory."""

    @staticmethod
    def of(device: Device, weights: Any) -> Entries:
        """Those of the core's NodeWeights: parts are nodes."""
        start = np.asarray(weights.start, np.int64)
        example = owners(device, device.array(start))
        return Entries(example, device.array(weights.node, np.int32), device.array(weights.weight), start)

    def within(self, begin: int, end: int) -> Entries:
        """Of some examples, which keep their numbers."""
        own = slice(int(self.start[begin]), int(self.start[end]))
        return Entries(
            self.example[own], self.part[own], self.weight[own], self.start[begin : end + 1] - self.start[begin]
        )

    def where(self, device: Device, chosen: Array) -> Entries:
        """Some of them."""
        example = self.example[chosen]
        start = device.to_host(device.xp.searchsorted(example, device.xp.arange(len(self.start), dtype=np.int32)))
        return Entries(example, self.part[chosen], self.weight[chosen], start.astype(np.int64))

    def totals(self, device: Device, numbers: Array) -> NDArray[np.int64]:
        """The sum of some numbers, one an entry, for each example."""
        end = device.xp.zeros(len(numbers) + 1, np.int64)
        end[1:] = device.xp.cumsum(numbers)
        total: NDArray[np.int64] = np.diff(device.to_host(end[device.xp.asarray(self.start)]))
        return total

    def spread(self, device: Device, start: Array, factor: Array | None = None) -> tuple[Array, Array, Array]:
        """Each entry once for each of the things ``start[part] .. start[part + 1]`` that belong to its part.

        Returns the examples, the things, and the weights, times the things' factors.
        """
        xp = device.xp
        end = xp.zeros(len(self.part) + 1, np.int64)
        end[1:] = xp.cumsum(start[self.part + 1] - start[self.part])
        entry = owners(device, end)
        thing = start[self.part[entry]] + (xp.arange(len(entry), dtype=np.int64) - end[entry])
        weight = self.weight[entry] if factor is None else self.weight[entry] * factor[thing]
        return self.example[entry], thing, weight


def owners(device: Device, start: Array) -> Array:
    """For each i below the last of `start`, in which part it lies, as int32."""
    xp = device.xp
    total = int(start[-1])
    return (xp.searchsorted(start, xp.arange(total, dtype=np.int64), side="right") - 1).astype(np.int32)


def starts(device: Device, numbers: Array, count: int) -> Array:
    """Where each number begins in an array of numbers below `count`, put in ascending order; and the end."""
    xp = device.xp
    out = xp.zeros(count + 1, np.int64)
    if len(numbers):  # of nothing CuPy has no bincount
        out[1:] = xp.cumsum(xp.bincount(numbers, minlength=count))
    return out


def up_to(device: Device, node: Array, start: Array, limit: int) -> Array:
    """How many columns of each kind there are up to a node, of columns whose nodes ascend in each kind."""
    below = device.xp.zeros(len(node) + 1, np.int64)
    below[1:] = device.xp.cumsum(node <= limit)
    return (below[start[1:]] - below[start[:-1]]).astype(np.int32)


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
    """Some rows' parts, ordered by level.

    Attributes
    ----------
    part : which they are
    kind : what they are compared with
    at : where the values of each begin; the end
    chunk : how many blocks of threads come before those of each; all
    level : where each level begins among them, and the end; in the host's memory
    limit : how many columns of each kind there are for these rows
    held : the rows that hold them
    local : from a part to its place here
    """

    part: Array
    kind: Array
    at: Array
    chunk: Array
    level: NDArray[np.int64]
    chunk_of_level: NDArray[np.int64]
    limit: Array
    held: Postings
    local: Array
    cells: int

    def levels(self) -> Iterator[tuple[int, int, int]]:
        """The first and the last of each level, and how many blocks of threads work on it."""
        blocks = np.diff(self.chunk_of_level)
        yield from zip(self.level[:-1].tolist(), self.level[1:].tolist(), blocks.tolist(), strict=True)


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
        """What is made once of all rows; it has `entries` of parts, and what `strip` and `fill` take of it."""

    @abstractmethod
    def fill(self, rows: Any, begin: int, end: int, out: Array, limit: int | None) -> None:
        """Add rows ``begin..end`` to `out`, which holds zeros. With a limit, by halves: columns' nodes up to it are in these."""

    def rows(self, bound: Any, limit: Any, begin: int, end: int, out: Array) -> tuple[int, int] | None:
        """As the native core does: write rows, by halves if there is a `limit`; say where a value does not fit, if one does not.

        `bound` is what `bind` made of the rows. One thread at a time works.
        """
        with self._busy:
            return self._fill_rows(bound, limit, begin, end, out)

    def _fill_rows(self, bound: Any, limit: Any, begin: int, end: int, out: Array) -> tuple[int, int] | None:
        target = out if out.dtype == np.float64 else self.xp.empty(out.shape, np.float64)
        target[...] = 0
        height = max(1, CELLS // max(1, out.shape[1]))
        at = begin
        while at < end:
            stop = min(end, at + height)
            width = stop if limit is not None else out.shape[1]
            block = target[at - begin : stop - begin, :width]
            try:
                self.fill(bound, at, stop, block, None if limit is None else int(limit[stop - 1]))
            except Exception as error:
                full = out_of_memory(self.device, error)
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
        if bool(self.xp.isfinite(out.sum())):  # one that is not would show in it
            return None
        places = np.argwhere(self.device.to_host(~self.xp.isfinite(out)))
        if halves:
            places = places[places[:, 1] <= places[:, 0] + begin]
        return (begin + int(places[0][0]), int(places[0][1])) if len(places) else None


def strip(
    device: Device,
    example: Array,
    part: Array,
    weight: Array,
    kind: Array,
    level: Array,
    limit: Array,
    local: Array,
    columns_a_thread: int = 1,
) -> Strip | None:
    """The parts of some rows' entries; None if there are none.

    `kind` and `level` are those of all parts; `limit`, how many columns each kind has; `local`, memory for a number a part;
    `columns_a_thread`, how many of them a thread of the device code works on.
    """
    xp = device.xp
    if not len(part):
        return None
    used = xp.zeros(len(kind), bool)
    used[part] = True
    own = xp.flatnonzero(used)
    own = own[xp.argsort(level[own] * np.int64(1 << 32) + own)].astype(np.int32)
    local[own] = xp.arange(len(own), dtype=np.int32)
    kinds = kind[own]
    width = limit[kinds].astype(np.int64)
    at, chunk = xp.zeros(len(own) + 1, np.int64), xp.zeros(len(own) + 1, np.int64)
    at[1:], chunk[1:] = xp.cumsum(width), xp.cumsum(-(-width // (THREADS * columns_a_thread)))
    levels = level[own]
    edges = xp.flatnonzero(xp.concatenate([xp.ones(1, bool), levels[1:] != levels[:-1]]))
    edges = xp.concatenate([edges, xp.asarray([len(own)])])
    known = device.to_host(xp.concatenate([edges, chunk[edges], at[-1:]])).astype(np.int64)
    half = len(known) // 2
    index = local[part]
    order = xp.argsort(index.astype(np.int64) * np.int64(1 << 32) + example)
    held = Postings(starts(device, index, len(own)), example[order], weight[order])
    return Strip(own, kinds, at, chunk, known[:half], known[half:-1], limit, held, local, int(known[-1]))


def strips(
    device: Device, cells: NDArray[np.int64], begin: int, end: int, halves: int | None
) -> Iterator[tuple[int, int]]:
    """Rows in runs whose values fit, as far as one row does.

    `cells`: how many values each row has, at most; by halves, of so many columns in all (`halves`), it has its part of them.
    """
    most = max(1, min(VALUES, device.free_bytes() // 4) // 8)
    first, total = begin, 0
    for row in range(begin, end):
        own = int(cells[row]) if halves is None else int(cells[row]) * (row + 1) // halves
        if row > first and total + own > most:
            yield first, row
            first, total = row, 0
        total += own
    if first < end:
        yield first, end
