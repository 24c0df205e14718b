"""Sums over keys of how often a row has a key times how often a column has it: what most pairs of parts come down to.

Keys that many columns have go through a dense product, exact in half precision where all counts are small whole numbers; the others
are added one by one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from treelet.device.launching import Array, Device
from treelet.device.strips import starts

OFTEN = 128  # a key is dense if more than one in so many columns has it
MOST_DENSE = 1 << 14
THREADS = 64


class Counts(NamedTuple):
    """How often each example has each key: entries ordered by example."""

    example: Array  # int32
    key: Array  # int32
    weight: Array  # float64
    start: Array
    """Of each example, and the end; in the host's memory."""
    small: bool
    """Whether all are whole numbers that half precision holds."""
    most: float
    """The largest sum of squares of an example."""

    @staticmethod
    def of(device: Device, example: Array, key: Array, weight: Array, examples: int) -> Counts:
        """From entries in any order; those of one example and key are added up."""
        xp = device.xp
        if not len(key):
            none = xp.zeros(0, np.int32)
            return Counts(none, none, xp.zeros(0), np.zeros(examples + 1, np.int64), True, 0.0)
        keys = int(key.max()) + 1
        both, place = xp.unique(example.astype(np.int64) * keys + key, return_inverse=True)
        total = xp.bincount(place.ravel(), weights=weight, minlength=len(both)).astype(np.float64)
        example = (both // keys).astype(np.int32)
        start = xp.searchsorted(example, xp.arange(examples + 1, dtype=np.int32))
        small = bool((total == total.round()).all()) and float(abs(total).max()) <= 2048
        most = float(xp.bincount(example, weights=total**2).max())
        key = (both % keys).astype(np.int32)
        return Counts(example, key, total, device.to_host(start).astype(np.int64), small, most)

    def within(self, begin: int, end: int) -> Counts:
        """Of some examples, which keep their numbers."""
        part = slice(int(self.start[begin]), int(self.start[end]))
        rows = self.start[begin : end + 1] - part.start
        return self._replace(example=self.example[part], key=self.key[part], weight=self.weight[part], start=rows)


class CountProduct:
    """Counts of columns, to be multiplied with those of rows.

    Parameters
    ----------
    device : Device
    counts : Counts
        Of the columns.
    keys : int
        Those of the columns are below it.
    """

    def __init__(self, device: Device, counts: Counts, keys: int) -> None:
        self.device, xp = device, device.xp
        self.columns, self.small, self.most = len(counts.start) - 1, counts.small, counts.most
        often = xp.diff(starts(device, counts.key, keys))
        dense = xp.flatnonzero(often > self.columns // OFTEN + 4)
        if len(dense) > MOST_DENSE:
            dense = xp.sort(dense[xp.argsort(-often[dense])[:MOST_DENSE]])
        self.dense = len(dense)
        self.place = xp.full(keys + 1, -1, np.int32)  # the last one: a key that no column has
        self.place[dense] = xp.arange(self.dense, dtype=np.int32)
        self.matrix = self._matrix(counts, self.columns, 0, self.small)
        rare = self.place[counts.key] < 0
        key, column, weight = counts.key[rare], counts.example[rare], counts.weight[rare]
        order = xp.argsort(key.astype(np.int64) * max(1, self.columns) + column)
        self.column, self.weight = column[order], weight[order]
        self.start = xp.zeros(keys + 2, np.int64)
        self.start[: keys + 1] = starts(device, key, keys)
        self.start[keys + 1] = self.start[keys]

    @property
    def nbytes(self) -> int:
        return int(sum(array.nbytes for array in (self.place, self.matrix, self.column, self.weight, self.start)))

    def _matrix(self, counts: Counts, examples: int, first: int, small: bool) -> Array:
        place = self.place[counts.key]
        there = place >= 0
        matrix = self.device.xp.zeros((examples, self.dense), np.float16 if small else np.float64)
        matrix[counts.example[there] - first, place[there]] = counts.weight[there].astype(matrix.dtype)
        return matrix

    def add(self, rows: Counts, begin: int, out: Array, scale: float, halves: bool) -> None:
        """Add `scale` times the product to `out`, whose first row is `begin`; by halves, right of the diagonal is undefined."""
        if not len(rows.key) or not out.shape[1]:
            return
        xp, width, step = self.device.xp, out.shape[1], out.strides[0] // out.itemsize
        rows = rows._replace(key=xp.minimum(rows.key, len(self.place) - 1))
        if self.dense:
            exact = self.small and rows.small and rows.most * self.most < 2.0**48
            mine = self._matrix(rows, len(out), begin, exact)
            if exact:
                product = self.device.exact_product(mine, self.matrix[:width])
                blocks = -(-out.size // 256)
                self.device.launch("add_scaled", blocks, 256, out, step, product, width, len(out), width, scale)
            else:
                out += scale * (mine @ self.matrix[:width].astype(np.float64).T)
        rare = self.place[rows.key] < 0
        row, key, weight = rows.example[rare], rows.key[rare], rows.weight[rare]
        self.device.launch(
            *("rare_keys", len(row), THREADS, row, key, weight, self.start, self.column, self.weight),
            *(out, step, begin, halves, scale),
        )
