"""Subset trees in common, of trees and of forests: see ``cuda/hyperedges.cu``. Parts are edges: a tree is a forest with one edge a node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from treelet.device.counts import CountProduct, Counts, RowCounts
from treelet.device.launching import Array, Device
from treelet.device.numbering import Numbers
from treelet.device.strips import (
    COLUMNS_A_THREAD,
    THREADS,
    DeviceColumns,
    Entries,
    Postings,
    Strip,
    starts,
    strip,
    strips,
    up_to,
)

Spread = tuple[Array, Array, Array]
"""Examples, what each of them has, and how often."""
NOWHERE = np.zeros(1, np.int64)  # where examples begin among entries of which nobody asks it


@dataclass(frozen=True)
class Hypergraph:
    """The nodes and hyperedges of a store, on a device.

    Without leaves, productions have the store's numbers. With leaves, production p of the store has the number 2p,
    and a word with label w has the production 2w + 1.
    """

    edge_start: Array  # per node
    head: Array  # per edge, and so on
    production: Array
    p: Array
    child_start: Array
    child: Array
    word: Array  # per node: the production of a word, -1 for none
    height: Array
    packed: bool

    @staticmethod
    def of(device: Device, store: Any, leaves: bool) -> Hypergraph:
        xp = device.xp
        label = device.array(store.label)
        packed = hasattr(store, "edge_start")
        if packed:
            edge_start, p = device.array(store.edge_start), device.array(store.p)
            production, child_start = device.array(store.production), device.array(store.child_start)
        else:
            kids = device.array(store.child_start)
            inner = kids[1:] > kids[:-1]
            edge_start = xp.zeros(len(label) + 1, np.int64)
            edge_start[1:] = xp.cumsum(inner)
            production = device.array(store.production)[inner]
            child_start = xp.concatenate([kids[:1], kids[1:][inner]])
            p = xp.ones(len(production))
        count = edge_start[1:] - edge_start[:-1]
        head = xp.searchsorted(edge_start, xp.arange(len(production), dtype=np.int64), side="right") - 1
        word = xp.where(count == 0, 2 * label + 1, -1) if leaves else xp.full(len(label), -1, np.int32)
        if leaves:
            production = xp.where(production >= 0, 2 * production, -1)
        child, height = device.array(store.child), device.array(store.height)
        return Hypergraph(
            edge_start,
            head.astype(np.int32),
            production.astype(np.int32),
            p,
            child_start,
            child,
            word.astype(np.int32),
            height,
            packed,
        )

    @property
    def productions(self) -> int:
        """All are below it."""
        return 1 + max((int(part.max()) for part in (self.production, self.word) if len(part)), default=-1)

    def owner(self, device: Device) -> Array:
        """The edge of each child."""
        xp = device.xp
        return xp.searchsorted(self.child_start, xp.arange(len(self.child), dtype=np.int64), side="right") - 1


@dataclass(frozen=True)
class HyperedgeRows:
    """The rows of the matrix, prepared once for all strips."""

    graph: Hypergraph
    entries: Entries  # of edges that have columns with more than counts
    kind: Array  # per edge
    level: Array
    code: Array  # per node
    alternatives: tuple[Array, Array, Array, Array]
    productions: RowCounts
    keys: RowCounts | None
    local: Array
    cells: Any  # per row, at most


class HyperedgeColumns(DeviceColumns):
    """The subset-tree kernel and the forest kernel.

    Parameters
    ----------
    lam : float
    max_depth : int
        0 for no limit.
    leaves : bool
    """

    def __init__(
        self, device: Device, store: Any, weights: Any, lam: float, max_depth: int = 0, leaves: bool = False
    ) -> None:
        super().__init__(device, store, weights)
        xp = self.xp
        self.lam, self.leaves = lam, leaves
        graph, entries = Hypergraph.of(device, store, leaves), Entries.of(device, weights)
        highest = int(graph.height[entries.part].max()) if len(entries.part) else 0
        self.depth = max_depth if 0 < max_depth < highest + leaves else 0
        self.bound = graph.productions
        used = xp.zeros(len(graph.head), bool)
        edges = example, edge, weight = entries.spread(device, graph.edge_start, graph.p)
        used[edge] = True
        # A production has more than counts if one of its columns has a child with a production.
        owner = graph.owner(device)
        count = graph.edge_start[1:] - graph.edge_start[:-1]
        inner = (count > 0) | (graph.word >= 0)
        self.deep = xp.zeros(self.bound + 1, bool)
        self.known = xp.zeros(self.bound + 1, bool)
        self.known[graph.production[used]] = True
        if leaves:
            words = graph.word[entries.part]
            self.known[words[words >= 0]] = True
        self.deep[graph.production[owner[inner[graph.child] & used[owner]]]] = True
        column = xp.flatnonzero(used & self.deep[graph.production])
        column = column[xp.argsort(graph.production[column] * np.int64(1 << 32) + column)]
        self.column, production = column, graph.production[column]
        kinds, first = xp.unique(production, return_index=True)
        self.kinds = len(kinds)
        self.kind_of = xp.full(self.bound + 1, -1, np.int32)
        self.kind_of[kinds] = xp.arange(self.kinds, dtype=np.int32)
        self.first = first.astype(np.int32)
        self.start = starts(device, self.kind_of[production], self.kinds)
        self.size = (self.start[1:] - self.start[:-1]).astype(np.int32)
        self.node = graph.head[column]
        self.kid: Array = self._children(graph)
        there = self.deep[graph.production[edge]]
        self.place = xp.full(len(graph.head) + 1, -1, np.int32)
        self.place[column] = xp.arange(len(column), dtype=np.int32)
        self.alternatives = self._alternatives(graph, self.place)
        if not graph.packed:
            self.kid = self._codes(graph, self.place)[self.kid]
        self.post = Postings.of(
            device, example[there], self.place[edge[there]], weight[there], len(column), self.n_columns
        )
        self._count(graph, entries, edges)

    def _children(self, graph: Hypergraph) -> Array:
        """The columns' children, as nodes: all first ones of a production, then all second ones."""
        xp = self.xp
        column = self.column
        arity = graph.child_start[column + 1] - graph.child_start[column]
        self.arity = arity[self.first].astype(np.int32) if self.kinds else xp.zeros(0, np.int32)
        self.kid_at = xp.zeros(self.kinds + 1, np.int64)
        self.kid_at[1:] = xp.cumsum(self.arity.astype(np.int64) * self.size)
        end = xp.zeros(len(column) + 1, np.int64)
        end[1:] = xp.cumsum(arity)
        total = int(end[-1])
        owner = xp.searchsorted(end, xp.arange(total, dtype=np.int64), side="right") - 1
        position = xp.arange(total, dtype=np.int64) - end[owner]
        kind = self.kind_of[graph.production[column[owner]]]
        kid = xp.zeros(total, np.int32)
        place = self.kid_at[kind] + position * self.size[kind] + (owner - self.start[kind])
        kid[place] = graph.child[graph.child_start[column[owner]] + position]
        return kid

    def _codes(self, graph: Hypergraph, number: Array) -> Array:
        """What tells of a node of a tree what it can match: its edge's number; -2 - production if that has no more than counts; -1 if
        no column has it.
        """
        xp = self.xp
        code = xp.full(len(graph.height), -1, np.int32)
        bounded = xp.minimum(graph.production, self.bound)
        deep = self.deep[bounded]
        alone = self.known[bounded] & ~deep
        code[graph.head[deep]] = number[xp.flatnonzero(deep)]
        code[graph.head[alone]] = -2 - graph.production[alone]
        words = (graph.word >= 0) & self.known[xp.minimum(graph.word, self.bound)]
        code[words] = -2 - graph.word[words]
        return code

    def _alternatives(self, graph: Hypergraph, number: Array) -> tuple[Array, Array, Array, Array]:
        """The productions of each node of a forest; see the device code."""
        xp = self.xp
        none = (xp.zeros(1, np.int64), xp.zeros(0, np.int32), xp.zeros(0), xp.zeros(0, np.int32))
        if not graph.packed:
            return none
        own = graph.edge_start[1:] - graph.edge_start[:-1] + (graph.word >= 0)
        start = xp.zeros(len(own) + 1, np.int64)
        start[1:] = xp.cumsum(own)
        total = int(start[-1])
        production, p, code = xp.zeros(total, np.int32), xp.ones(total), xp.full(total, -1, np.int32)
        edge = xp.arange(len(graph.head), dtype=np.int64)
        at = start[graph.head] + edge - graph.edge_start[graph.head]
        production[at], p[at] = graph.production, graph.p
        deep = self.deep[xp.minimum(graph.production, self.bound)]
        code[at[deep]] = number[xp.flatnonzero(deep)]
        words = xp.flatnonzero(graph.word >= 0)
        production[start[words]] = graph.word[words]
        return start, production, p, code

    def _count(self, graph: Hypergraph, entries: Entries, edges: Spread) -> None:
        """The two products of counts: of productions, and of productions with a child's production at a position."""
        self.productions = CountProduct(self.device, self._productions(graph, entries, edges), self.bound)
        self.slot_start = self.xp.zeros(self.kinds + 1, np.int64)
        self.slot_start[1:] = self.xp.cumsum(self.arity)
        self.keys = None
        if self.depth != 1 and self.kinds:
            numbers = self._key_numbers(graph, edges)
            self.known_keys = Numbers.of(self.device, numbers[1])
            counts = self._keys(numbers, len(entries.start) - 1)
            self.keys = CountProduct(self.device, counts, len(self.known_keys))

    def _productions(self, graph: Hypergraph, entries: Entries, edges: Spread) -> Counts:
        xp = self.xp
        example, edge, weight = edges
        production = graph.production[edge]
        there = production >= 0
        parts = [(example[there], production[there], weight[there])]
        if self.leaves:
            words = graph.word[entries.part]
            there = words >= 0
            parts.append((entries.example[there], words[there], entries.weight[there]))
        example, production, weight = (xp.concatenate(column) for column in zip(*parts, strict=True))
        return Counts.of(self.device, example, production, weight, len(entries.start) - 1)

    def _key_numbers(self, graph: Hypergraph, edges: Spread) -> Spread:
        """(example, key, weight) for each child of each edge, and each of its productions."""
        xp, device = self.xp, self.device
        example, edge, weight = edges
        there = self.kind_of[xp.minimum(graph.production[edge], self.bound)] >= 0
        parents = Entries(example[there], edge[there].astype(np.int32), weight[there], NOWHERE)
        example, slot, weight = parents.spread(device, graph.child_start)
        owner = graph.owner(device)[slot]
        position = slot - graph.child_start[owner]
        place = self.slot_start[self.kind_of[graph.production[owner]]] + position
        child = graph.child[slot]
        numbers, keys, weights = [], [], []
        if self.leaves:
            word = graph.word[child]
            is_word = word >= 0
            numbers.append(example[is_word])
            keys.append(place[is_word] * (self.bound + 1) + xp.minimum(word[is_word], self.bound))
            weights.append(weight[is_word])
        kids = Entries(xp.arange(len(slot), dtype=np.int32), child, weight, NOWHERE)
        entry, thing, factor = kids.spread(device, graph.edge_start, graph.p)
        numbers.append(example[entry])
        keys.append(place[entry] * (self.bound + 1) + xp.minimum(graph.production[thing], self.bound))
        weights.append(factor)
        return xp.concatenate(numbers), xp.concatenate(keys), xp.concatenate(weights)

    def _keys(self, numbers: Spread, examples: int) -> Counts:
        """Those of them that columns have, by numbers."""
        example, key, weight = numbers
        number = self.known_keys.find(key)
        there = number >= 0
        return Counts.of(self.device, example[there], number[there], weight[there], examples)

    def bind(self, store: Any, weights: Any) -> HyperedgeRows:
        xp, device = self.xp, self.device
        graph, entries = Hypergraph.of(device, store, self.leaves), Entries.of(device, weights)
        edges = example, edge, weight = entries.spread(device, graph.edge_start, graph.p)
        kind = self.kind_of[xp.minimum(graph.production, self.bound)]
        parts = Entries(example, edge.astype(np.int32), weight, entries.start).where(device, kind[edge] >= 0)
        number = xp.arange(len(graph.head) + 1, dtype=np.int32)
        keys = None
        if self.keys is not None:
            keys = self.keys.of_rows(self._keys(self._key_numbers(graph, edges), len(entries.start) - 1))
        return HyperedgeRows(
            graph,
            parts,
            kind,
            xp.zeros_like(graph.head) if self.depth else graph.height[graph.head],
            self._codes(graph, number) if not graph.packed else xp.zeros(0, np.int32),
            self._alternatives(graph, number),
            self.productions.of_rows(self._productions(graph, entries, edges)),
            keys,
            xp.zeros(len(graph.head), np.int32),
            parts.totals(device, self.size[kind[parts.part]]),
        )

    def fill(self, rows: HyperedgeRows, begin: int, end: int, out: Array, limit: int | None) -> None:
        halves = limit is not None
        self.productions.add(rows.productions, begin, end, out, begin, self.lam, halves)
        if self.keys is None or rows.keys is None:
            return
        self.keys.add(rows.keys, begin, end, out, begin, self.lam * self.lam, halves)
        sizes = self.size if limit is None else up_to(self.device, self.node, self.start, limit)
        for first, last in strips(self.device, rows.cells, begin, end, self.n_columns if halves else None):
            part = rows.entries.within(first, last)
            work = strip(
                self.device,
                part.example,
                part.part,
                part.weight,
                rows.kind,
                rows.level,
                sizes,
                rows.local,
                COLUMNS_A_THREAD,
            )
            if work is not None:
                self._compare(rows, work, begin, out, halves)

    def _compare(self, rows: HyperedgeRows, work: Strip, begin: int, out: Array, halves: bool) -> None:
        graph, xp = rows.graph, self.xp
        values = xp.empty(work.cells + 1)
        below = values
        depths = 1
        if self.depth:  # of depth 1 there is nothing; each depth from the one before
            depths, below = self.depth - 1, xp.zeros(work.cells + 1)
        common = self.first, self.size, work.limit, self.arity, self.kid_at, self.kid
        where = out, out.strides[0] // out.itemsize, begin, halves
        for depth in range(depths):
            last = depth == depths - 1
            mine, own = (work.chunk, work.part, graph.child_start, graph.child), (work.local, work.kind, work.at)
            held = (values, below, *work.held.arrays, *self.post.arrays, *where, last, self.lam)
            if graph.packed:
                both = *rows.alternatives, *self.alternatives
                start = self.device.series("forests_level", THREADS, *mine, *own, *common, *both, *held)
            else:
                start = self.device.series("trees_level", THREADS, *mine, rows.code, *own, *common, *held)
            for first, end, blocks in work.levels():
                start(blocks, first, end)
            values, below = below, values


class ForestKernelColumns(HyperedgeColumns):
    """The forest kernel: `HyperedgeColumns` with its parameters, and without a depth limit."""

    def __init__(self, device: Device, store: Any, weights: Any, lam: float, leaves: bool) -> None:
        super().__init__(device, store, weights, lam, 0, leaves)
