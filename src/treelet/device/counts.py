"""Products of counts: the sum over keys of the count in a row times the count in a column.

Most pairs of parts are covered by such sums. Keys that occur in many columns use a dense matrix product, which is exact in
half precision if all counts are small integers. The contributions of other keys are added one by one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treelet.device.launching import Array, Device
from treelet.device.strips import DeviceColumns, Entries, starts

# --- products of counts: the sum over keys of the count in a row times the count in a column --------------------------

_OFTEN = 128  # a key is dense if it occurs in more than one of this many columns
_MOST_DENSE = 1 << 14  # maximum number of dense keys
_THREADS = 64


class Counts(NamedTuple):
    """The count of each key in each example, as entries ordered by example."""

    example: Array  # int32
    key: Array  # int32
    weight: Array  # float64
    start: Array
    """Index of the first entry per example, then the total; in host memory."""
    small: bool
    """Whether all counts are integers that fit half precision."""
    most: float
    """The largest sum of squares of an example if `small`, else inf."""

    @staticmethod
    def of(device: Device, example: Array, key: Array, weight: Array, examples: int) -> Counts:
        """Build counts from entries in any order. Entries with the same example and key are added up."""
        xp = device.xp
        if not len(key):
            none = xp.zeros(0, np.int32)
            return Counts(none, none, xp.zeros(0), np.zeros(examples + 1, np.int64), True, 0.0)
        keys = int(key.max()) + 1
        both, index = xp.unique(example.astype(np.int64) * keys + key, return_inverse=True)
        total = xp.bincount(index.ravel(), weights=weight, minlength=len(both)).astype(np.float64)
        example = (both // keys).astype(np.int32)
        start = xp.searchsorted(example, xp.arange(examples + 1, dtype=np.int32))
        small = bool((total == total.round()).all()) and float(abs(total).max()) <= 2048
        most = float(xp.bincount(example, weights=total**2).max()) if small else np.inf
        key = (both % keys).astype(np.int32)
        return Counts(example, key, total, device.to_host(start).astype(np.int64), small, most)


class RowCounts(NamedTuple):
    """Counts of rows in the form that a `CountProduct` needs: dense keys and rare keys separately."""

    row: Array
    dense_index: Array
    weight: Array
    start: NDArray[np.int64]
    rare_row: Array
    rare_key: Array
    rare_weight: Array
    rare_start: NDArray[np.int64]
    exact: bool
    """Whether the dense product is exact in half precision."""


class CountProduct:
    """Counts of columns, which are multiplied by counts of rows. All keys of the columns are below `keys`."""

    def __init__(self, device: Device, counts: Counts, keys: int) -> None:
        self.device, xp = device, device.xp
        self.columns, self.small, self.most = len(counts.start) - 1, counts.small, counts.most
        often = xp.diff(starts(device, counts.key, keys))
        dense = xp.flatnonzero(often > self.columns // _OFTEN + 4)
        if len(dense) > _MOST_DENSE:
            dense = xp.sort(dense[xp.argsort(-often[dense])[:_MOST_DENSE]])
        self.dense = len(dense)
        # Index per key, -1 if the key is rare. The last entry stands for all keys that occur in no column.
        self.dense_index = xp.full(keys + 1, -1, np.int32)
        self.dense_index[dense] = xp.arange(self.dense, dtype=np.int32)
        dense_index = self.dense_index[counts.key]
        is_dense = dense_index >= 0
        self.matrix = xp.zeros((self.columns, self.dense), np.float16 if self.small else np.float64)
        self.matrix[counts.example[is_dense], dense_index[is_dense]] = counts.weight[is_dense].astype(self.matrix.dtype)
        rare = ~is_dense
        key, column, weight = counts.key[rare], counts.example[rare], counts.weight[rare]
        order = xp.argsort(key.astype(np.int64) * max(1, self.columns) + column)
        self.column, self.weight = column[order], weight[order]
        self.start = xp.zeros(keys + 2, np.int64)
        self.start[: keys + 1] = starts(device, key, keys)
        self.start[keys + 1] = self.start[keys]

    def of_rows(self, counts: Counts) -> RowCounts:
        """Prepare the counts of all rows for `add`."""
        xp, device = self.device.xp, self.device
        key = xp.minimum(counts.key, len(self.dense_index) - 1)
        dense_index = self.dense_index[key]
        is_dense, rare = dense_index >= 0, (dense_index < 0) & (self.start[key + 1] > self.start[key])
        exact = self.small and counts.small and counts.most * self.most < 2.0**48
        rows = xp.arange(len(counts.start), dtype=np.int32)
        dense_row, rare_row = counts.example[is_dense], counts.example[rare]
        start = device.to_host(xp.concatenate([xp.searchsorted(dense_row, rows), xp.searchsorted(rare_row, rows)]))
        weight = counts.weight[is_dense].astype(np.float16 if exact else np.float64)
        begin = start[: len(rows)].astype(np.int64), start[len(rows) :].astype(np.int64)
        return RowCounts(
            dense_row,
            dense_index[is_dense],
            weight,
            begin[0],
            rare_row,
            key[rare],
            counts.weight[rare],
            begin[1],
            exact,
        )

    def add(self, rows: RowCounts, begin: int, end: int, out: Array, first: int, scale: float, halves: bool) -> None:
        """Add `scale` times the product of some rows to `out`, whose first row is `first`.

        With `halves`, values to the right of the diagonal are undefined.
        """
        xp, width, step = self.device.xp, out.shape[1], out.strides[0] // out.itemsize
        if not width:
            return
        own = slice(int(rows.start[begin]), int(rows.start[end]))
        if self.dense and own.stop > own.start:
            mine = xp.zeros((end - begin, self.dense), rows.weight.dtype)
            mine[rows.row[own] - begin, rows.dense_index[own]] = rows.weight[own]
            target = out[begin - first : end - first]
            if rows.exact:
                product = self.device.exact_product(mine, self.matrix[:width])
                blocks = -(-product.size // 256)
                self.device.launch("add_scaled", blocks, 256, target, step, product, width, end - begin, width, scale)
            else:
                with np.errstate(over="ignore", invalid="ignore"):  # the caller checks for values that do not fit
                    target += scale * (mine @ self.matrix[:width].astype(np.float64).T)
        own = slice(int(rows.rare_start[begin]), int(rows.rare_start[end]))
        keys = rows.rare_row[own], rows.rare_key[own], rows.rare_weight[own]
        columns = self.start, self.column, self.weight
        self.device.launch(
            "rare_keys", own.stop - own.start, _THREADS, *keys, *columns, out, step, first, halves, scale
        )


# --- the subtree kernel -----------------------------------------------------------------------------------------------


class SubtreeColumns(DeviceColumns):
    """The subtree kernel. Keys are nodes with a production, and the decay is part of the rows' counts.

    Parameters
    ----------
    lam : float
    """

    def __init__(self, device: Device, store: Any, weights: Any, lam: float) -> None:
        super().__init__(device, store, weights)
        self.lam = lam
        self.nodes = CountProduct(device, self._counts(store, weights, 1.0), len(store))

    def _counts(self, store: Any, weights: Any, lam: float) -> Counts:
        """Count the nodes of the examples, times `lam` to the power of the number of productions below each node."""
        entries = Entries.of(self.device, weights)
        below = self.device.array(store.productions_below)[entries.part]
        inner = below > 0
        weight = entries.weight[inner]
        if lam != 1:
            weight = weight * self.xp.power(lam, below[inner])
        return Counts.of(self.device, entries.example[inner], entries.part[inner], weight, len(entries.start) - 1)

    def bind(self, store: Any, weights: Any) -> RowCounts:
        return self.nodes.of_rows(self._counts(store, weights, self.lam))

    def fill(self, rows: RowCounts, begin: int, end: int, out: Array, limit: int | None) -> None:
        self.nodes.add(rows, begin, end, out, begin, 1.0, limit is not None)
