"""The subset-tree kernel and the forest kernel; see ``cuda/hyperedges.cu``.

Parts are edges. A tree is a forest with one edge per node.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from treelet.device.counts import CountProduct, Counts, RowCounts
from treelet.device.hypergraph import Alternatives, ChildTable, EdgeTable, Hypergraph, ProductionTable, node_codes
from treelet.device.launching import Array, Device
from treelet.device.numbering import Numbers
from treelet.device.strips import (
    COLUMNS_PER_THREAD,
    THREADS,
    DeviceColumns,
    Entries,
    Postings,
    Strip,
    strip,
    strips,
    up_to,
)

Spread = tuple[Array, Array, Array]
"""Three columns: an example, one of its edges or keys, and the weight of this edge or key."""
NOWHERE = np.zeros(1, np.int64)  # stands for `Entries.start` where that is not used


def production_counts(device: Device, graph: Hypergraph, entries: Entries, edges: Spread) -> Counts:
    """Count each production in each example, including those of words if the graph has leaves."""
    example, edge, weight = edges
    production = graph.production[edge]
    valid = production >= 0
    columns = [(example[valid], production[valid], weight[valid])]
    if graph.leaves:
        word = graph.word[entries.part]
        valid = word >= 0
        columns.append((entries.example[valid], word[valid], entries.weight[valid]))
    example, production, weight = (device.xp.concatenate(column) for column in zip(*columns, strict=True))
    return Counts.of(device, example, production, weight, len(entries.start) - 1)


class ChildKeys:
    """Counts of keys: the production of an edge, the position of a child, and a production of this child.

    Parameters
    ----------
    device, productions, table, children
        The device and the tables of the columns.
    graph, edges, examples
        The graph of the columns, the (example, edge, weight) of all their edges, and their number of examples.
    """

    def __init__(
        self,
        device: Device,
        productions: ProductionTable,
        table: EdgeTable,
        children: ChildTable,
        graph: Hypergraph,
        edges: Spread,
        examples: int,
    ) -> None:
        self.device, self._productions, self._kind_of = device, productions, table.kind_of
        self._slot_start = device.xp.zeros(table.kinds + 1, np.int64)  # a slot is a kind and a position
        self._slot_start[1:] = device.xp.cumsum(children.arity)
        keys = self._keys(graph, edges)
        self._known = Numbers.of(device, keys[1])
        self.product = CountProduct(device, self._counts(keys, examples), len(self._known))

    def of_rows(self, graph: Hypergraph, edges: Spread, examples: int) -> RowCounts:
        """Count the keys of rows, in the form that `product` needs."""
        return self.product.of_rows(self._counts(self._keys(graph, edges), examples))

    def _keys(self, graph: Hypergraph, edges: Spread) -> Spread:
        """Return (example, key, weight) for each child of each edge and each production of this child."""
        device, xp, clipped = self.device, self.device.xp, self._productions.clipped
        per_slot = self._productions.count + 1
        example, edge, weight = edges
        deep = self._kind_of[clipped(device, graph.production[edge])] >= 0
        parents = Entries(example[deep], edge[deep].astype(np.int32), weight[deep], NOWHERE)
        example, child_at, weight = parents.spread(device, graph.child_start)
        owner = graph.owner(device)[child_at]
        slot = self._slot_start[self._kind_of[graph.production[owner]]] + (child_at - graph.child_start[owner])
        child = graph.child[child_at]
        examples, keys, weights = [], [], []
        if graph.leaves:
            word = graph.word[child]
            is_word = word >= 0
            examples.append(example[is_word])
            keys.append(slot[is_word] * per_slot + clipped(device, word[is_word]))
            weights.append(weight[is_word])
        below = Entries(xp.arange(len(child_at), dtype=np.int32), child, weight, NOWHERE)
        entry, edge, weight = below.spread(device, graph.edge_start, graph.p)
        examples.append(example[entry])
        keys.append(slot[entry] * per_slot + clipped(device, graph.production[edge]))
        weights.append(weight)
        return xp.concatenate(examples), xp.concatenate(keys), xp.concatenate(weights)

    def _counts(self, keys: Spread, examples: int) -> Counts:
        """Count the keys that also occur in a column. Other keys match nothing."""
        example, key, weight = keys
        number = self._known.find(key)
        known = number >= 0
        return Counts.of(self.device, example[known], number[known], weight[known], examples)


@dataclass(frozen=True)
class HyperedgeRows:
    """The rows of the matrix, prepared once for all strips."""

    graph: Hypergraph
    entries: Entries  # of edges with deep productions
    kind: Array  # per edge
    level: Array
    code: Array  # per node of a tree; empty for forests
    alternatives: Alternatives
    productions: RowCounts
    keys: RowCounts | None
    local: Array
    cells: Any  # maximum number of values per row


class HyperedgeColumns(DeviceColumns):
    """The subset-tree kernel and the forest kernel.

    K is the sum of three terms: a product of counts of productions, a product of counts of `ChildKeys`, and a rest.
    The rest requires the comparison of edges with deep productions. A `max_depth` of 0 means no limit.
    """

    def __init__(
        self, device: Device, store: Any, weights: Any, lam: float, max_depth: int = 0, leaves: bool = False
    ) -> None:
        super().__init__(device, store, weights)
        self.lam, self.leaves = lam, leaves
        graph, entries = Hypergraph.of(device, store, leaves), Entries.of(device, weights)
        highest = int(graph.height[entries.part].max()) if len(entries.part) else 0
        self.depth = max_depth if 0 < max_depth < highest + leaves else 0
        edges = example, edge, weight = entries.spread(device, graph.edge_start, graph.p)
        used = self.xp.zeros(len(graph.head), bool)
        used[edge] = True

        self.productions = ProductionTable.of(device, graph, entries, used)
        self.table = EdgeTable.of(device, graph, self.productions, used)
        self.children = ChildTable.of(device, graph, self.table)
        self.alternatives = Alternatives.of(device, graph, self.productions, self.table.index_of)
        self.child_codes = self.children.node  # forests: the device code looks them up in `alternatives`
        if not graph.packed:
            self.child_codes = node_codes(device, graph, self.productions, self.table.index_of)[self.children.node]

        deep = self.productions.deep[graph.production[edge]]
        self.postings = Postings.of(
            device, example[deep], self.table.index_of[edge[deep]], weight[deep], len(self.table.edge), self.n_columns
        )
        counts = production_counts(device, graph, entries, edges)
        self.production_product = CountProduct(device, counts, self.productions.count)
        self.keys = None
        if self.depth != 1 and self.table.kinds:
            examples = len(entries.start) - 1
            self.keys = ChildKeys(device, self.productions, self.table, self.children, graph, edges, examples)

    def bind(self, store: Any, weights: Any) -> HyperedgeRows:
        xp, device = self.xp, self.device
        graph, entries = Hypergraph.of(device, store, self.leaves), Entries.of(device, weights)
        edges = example, edge, weight = entries.spread(device, graph.edge_start, graph.p)
        kind = self.table.kind_of[self.productions.clipped(device, graph.production)]
        deep = Entries(example, edge.astype(np.int32), weight, entries.start).where(device, kind[edge] >= 0)
        number = xp.arange(len(graph.head) + 1, dtype=np.int32)
        code = xp.zeros(0, np.int32) if graph.packed else node_codes(device, graph, self.productions, number)
        counts = production_counts(device, graph, entries, edges)
        return HyperedgeRows(
            graph,
            deep,
            kind,
            xp.zeros_like(graph.head) if self.depth else graph.height[graph.head],
            code,
            Alternatives.of(device, graph, self.productions, number),
            self.production_product.of_rows(counts),
            self.keys.of_rows(graph, edges, len(entries.start) - 1) if self.keys is not None else None,
            xp.zeros(len(graph.head), np.int32),
            deep.totals(device, self.table.size[kind[deep.part]]),
        )

    def fill(self, rows: HyperedgeRows, begin: int, end: int, out: Array, limit: int | None) -> None:
        device, table, halves = self.device, self.table, limit is not None
        self.production_product.add(rows.productions, begin, end, out, begin, self.lam, halves)
        if self.keys is None or rows.keys is None:
            return
        self.keys.product.add(rows.keys, begin, end, out, begin, self.lam * self.lam, halves)
        sizes = table.size if limit is None else up_to(device, table.node, table.start, limit)
        for first, last in strips(device, rows.cells, begin, end, self.n_columns if halves else None):
            entries = rows.entries.within(first, last)
            kinds = rows.kind, rows.level, sizes, rows.local
            work = strip(device, entries.example, entries.part, entries.weight, *kinds, COLUMNS_PER_THREAD)
            if work is not None:
                self._compare(rows, work, begin, out, halves)

    def _compare(self, rows: HyperedgeRows, work: Strip, begin: int, out: Array, halves: bool) -> None:
        """Compare the edges of a strip with those of the columns, level by level, and add the values to `out`."""
        graph, xp = rows.graph, self.xp
        values = xp.empty(work.cells + 1)
        below = values
        depths = 1
        if self.depth:  # depth 1 adds nothing to the counts; each further depth is computed from the previous one
            depths, below = self.depth - 1, xp.zeros(work.cells + 1)
        columns = (
            self.table.first,
            self.table.size,
            work.limit,
            self.children.arity,
            self.children.start,
            self.child_codes,
        )
        target = out, out.strides[0] // out.itemsize, begin, halves
        for depth in range(depths):
            last = depth == depths - 1
            edges, numbers = (work.chunk, work.part, graph.child_start, graph.child), (work.local, work.kind, work.at)
            holders = (values, below, *work.held.arrays, *self.postings.arrays, *target, last, self.lam)
            if graph.packed:
                both = *rows.alternatives, *self.alternatives
                start = self.device.series("forests_level", THREADS, *edges, *numbers, *columns, *both, *holders)
            else:
                start = self.device.series("trees_level", THREADS, *edges, rows.code, *numbers, *columns, *holders)
            for first, end, blocks in work.levels():
                start(blocks, first, end)
            values, below = below, values


class ForestKernelColumns(HyperedgeColumns):
    """The forest kernel: `HyperedgeColumns` with its parameters, and without a depth limit."""

    def __init__(self, device: Device, store: Any, weights: Any, lam: float, leaves: bool) -> None:
        super().__init__(device, store, weights, lam, 0, leaves)
