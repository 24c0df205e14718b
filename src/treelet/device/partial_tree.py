"""The partial-tree kernel; see ``cuda/partial_tree.cu``.

Parts are nodes with children, and the label of a node is its kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treelet.device.counts import CountProduct, Counts, RowCounts
from treelet.device.launching import Array, Device
from treelet.device.strips import THREADS, DeviceColumns, Entries, RowParts, Strip, owners, starts
from treelet.errors import TreeletError

_FEW = 32  # must equal `few` of the device code
RUN, BLOCKS = 16, 4096
"""Maximum number of chunks per block of threads, and the number of blocks that must remain."""
GENERATION, GENERATIONS = 1 << 14, 16
"""Minimum number of columns per generation, and maximum number of generations.

If only half of the matrix is needed, whole generations of columns are left out.
"""
_SUMS_BYTES = 1 << 26
"""Maximum number of bytes for sums over the parts of rows. The next step reads them from the cache of the device."""
_TOGETHER = 4
"""Rows per thread; must equal `together` of the device code."""
_PIECE = 256
"""Maximum number of parts of a column that one thread adds up."""
_WIDE_BYTES = 1 << 26
"""Maximum number of bytes of working memory for pairs of wide nodes, except for a single block."""
_NO_LIMIT = 2**31 - 1


@dataclass(frozen=True)
class _PartialTreeNodes:
    """The nodes of a tree store, on a device."""

    label: Array
    child_start: Array
    child: Array
    arity: Array
    height: Array

    @staticmethod
    def of(device: Device, store: Any) -> _PartialTreeNodes:
        start = device.array(store.child_start, np.int64)
        arity = (start[1:] - start[:-1]).astype(np.int32)
        label, child, height = (device.array(each, np.int32) for each in (store.label, store.child, store.height))
        return _PartialTreeNodes(label, start, child, arity, height)

    def counts(self, device: Device, entries: Entries, which: str) -> Counts:
        """Count the labels in each example: of ``"words"``, of ``"inner"`` nodes, or of ``"all"`` nodes."""
        node = entries.part
        counts_here = (self.arity[node] > 0) == (which == "inner") if which != "all" else self.arity[node] >= 0
        label, weight = self.label[node[counts_here]], entries.weight[counts_here]
        return Counts.of(device, entries.example[counts_here], label, weight, len(entries.start) - 1)


@dataclass(frozen=True)
class _PartialTreeRows:
    """The rows of the matrix, prepared once for all strips."""

    nodes: _PartialTreeNodes
    parts: RowParts  # nodes with matching columns, whose entries are ordered by example and kind
    entry_kind: Array
    counts: list[RowCounts]  # per product of counts
    highest: NDArray[np.int64]  # the largest node number in all rows up to each row


class PartialTreeColumns(DeviceColumns):
    """The partial-tree kernel. `similar` is None: device code does not support similar words."""

    def __init__(
        self,
        device: Device,
        store: Any,
        weights: Any,
        lam: float,
        mu: float,
        leaves: bool,
        terminal: float,
        similar: Any = None,
    ) -> None:
        if similar is not None:
            raise TreeletError(f"device={device.name!r} does not support similar words. Use device='cpu'.")
        super().__init__(device, store, weights)
        xp = self.xp
        constant = mu * lam * lam
        self.numbers = lam, mu, constant, constant * terminal
        nodes, entries = _PartialTreeNodes.of(device, store), Entries.of(device, weights)
        self._count(nodes, entries, leaves, terminal)
        held = xp.zeros(len(nodes.label), bool)
        held[entries.part] = True
        column = xp.flatnonzero(held & (nodes.arity > 0))
        kinds, kind = xp.unique(nodes.label[column], return_inverse=True)
        self.kinds = len(kinds)
        self.kind_of = xp.full(self.bound + 1, -1, np.int32)
        self.kind_of[kinds] = xp.arange(self.kinds, dtype=np.int32)
        if not self.kinds:
            return
        column = self._in_groups(nodes, column, kind.ravel(), device.array(store.production))
        self.node = column.astype(np.int32)
        column_of = xp.full(len(nodes.label), -1, np.int32)
        column_of[column] = xp.arange(len(column), dtype=np.int32)
        self._index_children(nodes, column, column_of)
        self.kind = self.kind_of[nodes.label[column]]
        self._in_pieces(entries, column_of[entries.part])

    def _count(self, nodes: _PartialTreeNodes, entries: Entries, leaves: bool, terminal: float) -> None:
        """Set `products`, the part of the kernel that does not depend on children, as products of counts.

        Each product has the nodes of rows that are counted, the counts of columns, and a factor.
        """
        _, _, constant, of_words = self.numbers
        self.bound = int(nodes.label[entries.part].max()) + 1 if len(entries.part) else 1
        if leaves and terminal != 1:
            pairs = [("words", "all", of_words), ("inner", "words", of_words), ("inner", "inner", constant)]
        else:
            which = "all" if leaves else "inner"
            pairs = [(which, which, constant)]
        self.products = [
            (mine, CountProduct(self.device, nodes.counts(self.device, entries, theirs), self.bound), scale)
            for mine, theirs, scale in pairs
        ]

    def _in_groups(self, nodes: _PartialTreeNodes, column: Array, kind: Array, production: Array) -> Array:
        """Return the columns ordered by label, generation and production.

        Columns that agree in all three form a group. Similar productions are adjacent.
        """
        xp, device = self.xp, self.device
        count = len(column)
        each = max(GENERATION, -(-count // GENERATIONS))
        self.cuts = device.to_host(column[::each])
        ages = len(self.cuts)
        age = xp.arange(count, dtype=np.int64) // each
        shapes, first, shape = xp.unique(production[column], return_index=True, return_inverse=True)
        node = column[first]
        like = nodes.arity[node], nodes.label[nodes.child[nodes.child_start[node]]], shapes
        rank = xp.zeros(len(shapes), np.int64)
        rank[xp.lexsort(xp.stack([by.astype(np.int64) for by in like[::-1]]))] = xp.arange(len(shapes))
        key = (kind.astype(np.int64) * ages + age) * len(shapes) + rank[shape.ravel()]
        keys, group = xp.unique(key, return_inverse=True)
        group = group.ravel().astype(np.int64)
        order = xp.argsort(group * count + xp.arange(count, dtype=np.int64))
        self.group = group[order].astype(np.int32)
        self.groups = len(keys)
        sizes = xp.bincount(kind.astype(np.int64) * ages + age, minlength=self.kinds * ages).reshape(self.kinds, ages)
        up_to = xp.zeros((ages + 1, self.kinds), np.int32)
        up_to[1:] = xp.cumsum(sizes, axis=1).T
        self.up_to = up_to  # number of columns of each kind in the first generations
        self.size = up_to[ages]
        self.first = xp.zeros(self.kinds, np.int32)
        self.first[1:] = xp.cumsum(self.size)[:-1]
        return column[order]

    def _index_children(self, nodes: _PartialTreeNodes, column: Array, column_of: Array) -> None:
        """Index the children of the columns: all first children of a group, then all second children, and so on.

        The labels of the children are stored once per group.
        """
        xp, device = self.xp, self.device
        group_start = starts(device, self.group, self.groups)
        first = column[group_start[:-1]]
        self.arity = nodes.arity[first]
        self.group_size = (group_start[1:] - group_start[:-1]).astype(np.int32)
        self.label_at = xp.zeros(self.groups + 1, np.int64)
        self.label_at[1:] = xp.cumsum(self.arity)
        group = owners(device, self.label_at)
        position = xp.arange(len(group), dtype=np.int64) - self.label_at[group]
        self.child_label = nodes.label[nodes.child[nodes.child_start[first[group]] + position]]
        self.mask = xp.zeros(self.groups, np.int64)
        blocks = -(-self.groups // THREADS)
        device.launch("group_masks", blocks, THREADS, self.groups, self.label_at, self.child_label, self.mask)

        group_at = xp.zeros(self.groups + 1, np.int64)
        group_at[1:] = xp.cumsum(self.arity.astype(np.int64) * self.group_size)
        self.kid_at = group_at[self.group] + xp.arange(len(column), dtype=np.int64) - group_start[self.group]
        end = xp.zeros(len(column) + 1, np.int64)
        end[1:] = xp.cumsum(nodes.arity[column])
        owner = owners(device, end)
        position = xp.arange(len(owner), dtype=np.int64) - end[owner]
        child = nodes.child[nodes.child_start[column[owner]] + position]
        self.kid = xp.zeros(len(owner), np.int32)
        self.kid[self.kid_at[owner] + position * self.group_size[self.group[owner]]] = xp.where(
            nodes.arity[child] > 0, column_of[child] - self.first[self.kind_of[nodes.label[child]]], -1
        )
        wide = xp.flatnonzero(nodes.arity[column] > _FEW)
        self.wide = wide.astype(np.int64)
        self.wide_start = starts(device, self.kind_of[nodes.label[column[wide]]], self.kinds)

    def _in_pieces(self, entries: Entries, part: Array) -> None:
        """Set the parts of the columns' examples, with their weights.

        Examples with many parts, such as models, are split into several pieces.
        """
        xp, device = self.xp, self.device
        has_column = part >= 0
        self.part, self.weight = part[has_column], entries.weight[has_column]
        start = starts(device, entries.example[has_column], self.n_columns)
        first = xp.zeros(self.n_columns + 1, np.int64)
        first[1:] = xp.cumsum(-(-(start[1:] - start[:-1]) // _PIECE))
        self.piece_column = owners(device, first)
        self.piece_start = xp.zeros(len(self.piece_column) + 1, np.int64)
        number = xp.arange(len(self.piece_column), dtype=np.int64) - first[self.piece_column]
        self.piece_start[:-1] = start[self.piece_column] + number * _PIECE
        self.piece_start[-1] = len(self.part)

    def bind(self, store: Any, weights: Any) -> _PartialTreeRows:
        xp, device = self.xp, self.device
        nodes, entries = _PartialTreeNodes.of(device, store), Entries.of(device, weights)
        kind = xp.where(nodes.arity > 0, self.kind_of[xp.minimum(nodes.label, self.bound)], -1).astype(np.int32)
        counts = [product.of_rows(nodes.counts(device, entries, which)) for which, product, _ in self.products]
        with_kind = xp.flatnonzero(kind[entries.part] >= 0)
        example, node = entries.example[with_kind], entries.part[with_kind]
        start = device.to_host(starts(device, example, len(entries.start) - 1))
        order = example.astype(np.int64) * max(1, self.kinds) + kind[node]
        order = xp.argsort(order * max(1, len(with_kind)) + xp.arange(len(with_kind), dtype=np.int64))
        parts = Entries(example, node[order], entries.weight[with_kind][order], start)
        cells = np.zeros(len(start) - 1, np.int64)
        if self.kinds:
            cells = parts.totals(device, self.size[kind[parts.part]])
        highest = np.full(len(entries.start) - 1, -1, np.int64)
        full = np.diff(entries.start) > 0  # nodes of a row ascend
        highest[full] = device.to_host(entries.part[xp.asarray(entries.start[1:][full] - 1)])
        row_parts = RowParts(parts, kind, nodes.height, xp.zeros(len(nodes.label), np.int32), cells)
        return _PartialTreeRows(nodes, row_parts, kind[parts.part], counts, np.maximum.accumulate(highest))

    def fill(self, rows: _PartialTreeRows, begin: int, end: int, out: Array, limit: int | None) -> None:
        halves = limit is not None
        for counts, (_, product, scale) in zip(rows.counts, self.products, strict=True):
            product.add(counts, begin, end, out, begin, scale, halves)
        if not self.kinds:
            return
        for first, last, ages in self._runs(rows, begin, end, halves):
            work = rows.parts.strip(self.device, first, last, self.up_to[ages])
            if work is not None:
                values = self._compare(rows, work, int(rows.highest[last - 1]) if halves else _NO_LIMIT)
                self._add_up(rows, work, values, first, last, out[first - begin : last - begin], halves)

    def _runs(self, rows: _PartialTreeRows, begin: int, end: int, halves: bool) -> Iterator[tuple[int, int, int]]:
        """Yield ranges of rows whose values fit into memory, and the number of generations of columns that they need."""
        ages = np.full(end - begin, len(self.cuts))
        if halves:
            ages = np.searchsorted(self.cuts, rows.highest[begin:end], side="right")
        edges = [0, *(np.flatnonzero(np.diff(ages)) + 1).tolist(), end - begin]
        for first, last in pairwise(edges):
            total = self.n_columns if halves else None
            for begin_of_strip, end_of_strip in rows.parts.ranges(self.device, begin + first, begin + last, total):
                yield begin_of_strip, end_of_strip, int(ages[first])

    def _compare(self, rows: _PartialTreeRows, work: Strip, last_node: int) -> Array:
        """Return the values of the parts of a strip."""
        if 8 * work.cells > self.device.free_bytes():
            raise MemoryError(f"the values take {8 * work.cells:,} bytes")
        nodes = rows.nodes
        values = self.xp.empty(work.cells + 1)
        common = (
            *(work.part, nodes.child_start, nodes.child, nodes.label, rows.parts.kind, work.local, work.kind, work.at),
            *(self.first, work.limit, self.node, self.group, self.arity, self.group_size, self.mask),
            *(self.label_at, self.child_label, self.kid_at, self.kid),
            *(values, values, last_node, *self.numbers),
        )
        start = self.device.series("partial_trees_level", THREADS, work.chunk, *common)
        start_wide = self._wide_pairs(nodes, work, common)
        for level, (first, last, chunks) in enumerate(work.levels()):
            run = max(1, min(RUN, chunks // BLOCKS))
            start(-(-chunks // run), first, last, run)
            if start_wide is not None:
                start_wide(level)
        return values

    def _add_up(
        self, rows: _PartialTreeRows, work: Strip, values: Array, first: int, last: int, out: Array, halves: bool
    ) -> None:
        """Add the sums over the parts of rows and columns to the rows `first .. last`."""
        xp, count = self.xp, len(self.node)
        start, step = rows.parts.entries.start[first : last + 1], out.strides[0] // out.itemsize
        own = slice(int(start[0]), int(start[-1]))
        at = work.at[work.local[rows.parts.entries.part[own]]]
        mine = xp.asarray(start - start[0]), rows.entry_kind[own], at, rows.parts.entries.weight[own]
        each = min(last - first, max(1, _SUMS_BYTES // (8 * _TOGETHER * count)) * _TOGETHER)
        sums = xp.empty(each * count)
        pieces, blocks = len(self.piece_column), -(-count // THREADS)
        columns = self.kind, self.first, self.node, values, sums
        over_rows = self.device.series("partial_trees_rows", THREADS, blocks, count, *mine, *columns)
        held = self.piece_column, self.piece_start, self.part, self.weight, count, sums
        over_columns = self.device.series("partial_trees_columns", THREADS, pieces, *held, out, step, halves)
        for row in range(0, last - first, each):
            some = min(each, last - first - row)
            over_rows(some * blocks, row, int(rows.highest[first + row + some - 1]) if halves else _NO_LIMIT)
            over_columns(-(-some // _TOGETHER) * -(-pieces // THREADS), some, row, first + row)

    def _wide_pairs(
        self, nodes: _PartialTreeNodes, work: Strip, common: tuple[Any, ...]
    ) -> Callable[[int], None] | None:
        """Return a function that compares the pairs of wide nodes of one level of a strip, or None if there are none.

        Both nodes of such a pair have more than `_FEW` children.
        """
        xp = self.xp
        if not len(self.wide):
            return None
        arity = nodes.arity[work.part]
        wide_part = xp.flatnonzero(arity > _FEW)
        if not len(wide_part):
            return None
        kind = work.kind[wide_part]
        pair = xp.zeros(len(wide_part) + 1, np.int64)
        pair[1:] = xp.cumsum(self.wide_start[kind + 1] - self.wide_start[kind])
        level = xp.searchsorted(wide_part, xp.asarray(work.level))
        known = self.device.to_host(xp.concatenate([level, pair[level], arity.max()[None]])).astype(np.int64)
        half = len(known) // 2
        # The first wide node of each level, the first pair of each level, and the largest number of children.
        node_of_level, pair_of_level, most = known[:half], known[half:-1], int(known[-1])
        blocks = max(1, min(1 << 12, int(np.diff(pair_of_level).max()), _WIDE_BYTES // (8 * most)))
        memory = xp.empty(blocks * most)
        start = self.device.series(
            "partial_trees_wide", 32, pair, wide_part, self.wide_start, self.wide, memory, most, *common
        )

        def compare(level: int) -> None:
            own = min(blocks, int(pair_of_level[level + 1] - pair_of_level[level]))
            start(own, int(node_of_level[level]), int(node_of_level[level + 1]), own)

        return compare
