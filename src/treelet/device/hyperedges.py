"""The subset-tree kernel and the forest kernel; see ``cuda/hyperedges.cu``.

Parts are edges. A tree is a forest with one edge per node.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from treelet.device.counts import CountProduct, Counts, RowCounts
from treelet.device.launching import Array, Device
from treelet.device.numbering import Numbers
from treelet.device.strips import (
    COLUMNS_PER_THREAD,
    THREADS,
    ColumnParts,
    DeviceColumns,
    Entries,
    Postings,
    RowParts,
    Strip,
)

# --- the nodes and hyperedges of a store on a device ------------------------------------------------------------------


@dataclass(frozen=True)
class _Hypergraph:
    """The nodes and hyperedges of a store, on a device.

    Without leaves, productions have the store's numbers. With leaves, production p of the store has the number 2p,
    and a word with label w has the production 2w + 1.
    """

    edge_start: Array  # per node
    head: Array  # per edge, like the next three
    production: Array
    p: Array
    child_start: Array
    child: Array
    word: Array  # per node: production of a word, -1 for none
    height: Array
    packed: bool  # a forest, whose nodes may have several edges
    leaves: bool  # words have productions

    @staticmethod
    def of(device: Device, store: Any, leaves: bool) -> _Hypergraph:
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
        return _Hypergraph(
            edge_start,
            head.astype(np.int32),
            production.astype(np.int32),
            p,
            child_start,
            child,
            word.astype(np.int32),
            height,
            packed,
            leaves,
        )

    @property
    def productions(self) -> int:
        """The largest production number plus one."""
        return 1 + max((int(numbers.max()) for numbers in (self.production, self.word) if len(numbers)), default=-1)

    def owner(self, device: Device) -> Array:
        """Return the edge of each child."""
        xp = device.xp
        return xp.searchsorted(self.child_start, xp.arange(len(self.child), dtype=np.int64), side="right") - 1


@dataclass(frozen=True)
class _ProductionTable:
    """The productions of the columns. The entry after the last stands for all productions that no column has."""

    count: int
    known: Array
    """Per production: whether a column has it."""
    deep: Array
    """Per production: whether a child below it has a production itself, in some column.

    For two edges of any other production, C = lam, and counting the production is enough. Only edges of deep
    productions are compared one by one.
    """

    @staticmethod
    def of(device: Device, graph: _Hypergraph, entries: Entries, used: Array) -> _ProductionTable:
        """Build the table from the columns' graph, the nodes of the columns, and a flag per edge that a column uses."""
        xp = device.xp
        count = graph.productions
        known, deep = xp.zeros(count + 1, bool), xp.zeros(count + 1, bool)
        known[graph.production[used]] = True
        words = graph.word[entries.part]
        known[words[words >= 0]] = True
        owner = graph.owner(device)
        expands = (graph.edge_start[1:] > graph.edge_start[:-1]) | (graph.word >= 0)
        deep[graph.production[owner[expands[graph.child] & used[owner]]]] = True
        return _ProductionTable(count, known, deep)

    def clipped(self, device: Device, production: Array) -> Array:
        """Return production numbers as valid indices of this table. Numbers of rows may exceed `count`."""
        return device.xp.minimum(production, self.count)


@dataclass(frozen=True)
class _EdgeTable:
    """The edges of the columns with deep productions. Edges of one production are one *kind* and are adjacent."""

    parts: ColumnParts  # whose nodes are the heads of the edges
    kind_of: Array  # per production, -1 for none
    edge: Array  # per edge of the table: its number in the graph
    index_of: Array  # per edge of the graph: its index in the table, -1 for none

    @property
    def kinds(self) -> int:
        return len(self.parts.size)

    @staticmethod
    def of(device: Device, graph: _Hypergraph, productions: _ProductionTable, used: Array) -> _EdgeTable:
        xp = device.xp
        edge = xp.flatnonzero(used & productions.deep[graph.production])
        edge = edge[xp.argsort(graph.production[edge] * np.int64(1 << 32) + edge)]
        distinct = xp.unique(graph.production[edge])
        kind_of = xp.full(productions.count + 1, -1, np.int32)
        kind_of[distinct] = xp.arange(len(distinct), dtype=np.int32)
        parts = ColumnParts.of(device, graph.head[edge], kind_of[graph.production[edge]], len(distinct))
        index_of = xp.full(len(graph.head) + 1, -1, np.int32)
        index_of[edge] = xp.arange(len(edge), dtype=np.int32)
        return _EdgeTable(parts, kind_of, edge, index_of)


@dataclass(frozen=True)
class _ChildTable:
    """The children of the edges of an `_EdgeTable`: for each kind all first children, then all second ones, and so on."""

    arity: Array  # per kind
    start: Array  # per kind: index of its first child, then the total
    node: Array  # per child

    @staticmethod
    def of(device: Device, graph: _Hypergraph, edges: _EdgeTable) -> _ChildTable:
        xp = device.xp
        arity_of_edge = graph.child_start[edges.edge + 1] - graph.child_start[edges.edge]
        arity = arity_of_edge[edges.parts.first].astype(np.int32) if edges.kinds else xp.zeros(0, np.int32)
        start = xp.zeros(edges.kinds + 1, np.int64)
        start[1:] = xp.cumsum(arity.astype(np.int64) * edges.parts.size)
        # The same children in the order of edges: the edge and the position of each child.
        end = xp.zeros(len(edges.edge) + 1, np.int64)
        end[1:] = xp.cumsum(arity_of_edge)
        children = int(end[-1])
        owner = xp.searchsorted(end, xp.arange(children, dtype=np.int64), side="right") - 1
        position = xp.arange(children, dtype=np.int64) - end[owner]
        kind = edges.kind_of[graph.production[edges.edge[owner]]]
        node = xp.zeros(children, np.int32)
        target = start[kind] + position * edges.parts.size[kind] + (owner - edges.parts.start[kind])
        node[target] = graph.child[graph.child_start[edges.edge[owner]] + position]
        return _ChildTable(arity, start, node)


def _node_codes(device: Device, graph: _Hypergraph, productions: _ProductionTable, number: Array) -> Array:
    """Return a code per node of a tree, from which the device code finds the matching nodes.

    The code is ``number[edge]`` if the production of the node is deep, -2 - production if counting the production is
    enough, and -1 if no column has the production.
    """
    xp = device.xp
    code = xp.full(len(graph.height), -1, np.int32)
    clipped = productions.clipped(device, graph.production)
    deep = productions.deep[clipped]
    shallow = productions.known[clipped] & ~deep
    code[graph.head[deep]] = number[xp.flatnonzero(deep)]
    code[graph.head[shallow]] = -2 - graph.production[shallow]
    words = (graph.word >= 0) & productions.known[productions.clipped(device, graph.word)]
    code[words] = -2 - graph.word[words]
    return code


class _Alternatives(NamedTuple):
    """The productions of each node of a forest, with their probabilities; empty for trees.

    The order of the fields is that of the parameters of the device code.
    """

    start: Array  # per node, then the total
    production: Array
    p: Array
    code: Array  # number of the edge, -1 if its production is not deep

    @staticmethod
    def of(device: Device, graph: _Hypergraph, productions: _ProductionTable, number: Array) -> _Alternatives:
        """Build the table; ``number[edge]`` is the code of an edge whose production is deep."""
        xp = device.xp
        if not graph.packed:
            return _Alternatives(xp.zeros(1, np.int64), xp.zeros(0, np.int32), xp.zeros(0), xp.zeros(0, np.int32))
        count = graph.edge_start[1:] - graph.edge_start[:-1] + (graph.word >= 0)
        start = xp.zeros(len(count) + 1, np.int64)
        start[1:] = xp.cumsum(count)
        total = int(start[-1])
        production, p, code = xp.zeros(total, np.int32), xp.ones(total), xp.full(total, -1, np.int32)
        edge = xp.arange(len(graph.head), dtype=np.int64)
        at = start[graph.head] + edge - graph.edge_start[graph.head]
        production[at], p[at] = graph.production, graph.p
        deep = productions.deep[productions.clipped(device, graph.production)]
        code[at[deep]] = number[xp.flatnonzero(deep)]
        words = xp.flatnonzero(graph.word >= 0)
        production[start[words]] = graph.word[words]
        return _Alternatives(start, production, p, code)


# --- the subset-tree kernel and the forest kernel; see ``cuda/hyperedges.cu`` -----------------------------------------

Spread = tuple[Array, Array, Array]
"""Three columns: an example, one of its edges or keys, and the weight of this edge or key."""
_NOWHERE = np.zeros(1, np.int64)  # stands for `Entries.start` where that is not used


def _production_counts(device: Device, graph: _Hypergraph, entries: Entries, edges: Spread) -> Counts:
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


class _ChildKeys:
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
        productions: _ProductionTable,
        table: _EdgeTable,
        children: _ChildTable,
        graph: _Hypergraph,
        edges: Spread,
        examples: int,
    ) -> None:
        self.device, self._productions, self._kind_of = device, productions, table.kind_of
        self._slot_start = device.xp.zeros(table.kinds + 1, np.int64)  # a slot is a kind and a position
        self._slot_start[1:] = device.xp.cumsum(children.arity)
        keys = self._keys(graph, edges)
        self._known = Numbers.of(device, keys[1])
        self.product = CountProduct(device, self._counts(keys, examples), len(self._known))

    def of_rows(self, graph: _Hypergraph, edges: Spread, examples: int) -> RowCounts:
        """Count the keys of rows, in the form that `product` needs."""
        return self.product.of_rows(self._counts(self._keys(graph, edges), examples))

    def _keys(self, graph: _Hypergraph, edges: Spread) -> Spread:
        """Return (example, key, weight) for each child of each edge and each production of this child."""
        device, xp, clipped = self.device, self.device.xp, self._productions.clipped
        per_slot = self._productions.count + 1
        example, edge, weight = edges
        deep = self._kind_of[clipped(device, graph.production[edge])] >= 0
        parents = Entries(example[deep], edge[deep].astype(np.int32), weight[deep], _NOWHERE)
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
        below = Entries(xp.arange(len(child_at), dtype=np.int32), child, weight, _NOWHERE)
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
class _HyperedgeRows:
    """The rows of the matrix, prepared once for all strips."""

    graph: _Hypergraph
    parts: RowParts  # edges with deep productions
    code: Array  # per node of a tree; empty for forests
    alternatives: _Alternatives
    productions: RowCounts
    keys: RowCounts | None


class HyperedgeColumns(DeviceColumns):
    """The subset-tree kernel and the forest kernel.

    K is the sum of three terms: a product of counts of productions, a product of counts of `_ChildKeys`, and a rest.
    The rest requires the comparison of edges with deep productions. A `max_depth` of 0 means no limit.
    """

    def __init__(
        self, device: Device, store: Any, weights: Any, lam: float, max_depth: int = 0, leaves: bool = False
    ) -> None:
        super().__init__(device, store, weights)
        self.lam, self.leaves = lam, leaves
        graph, entries = _Hypergraph.of(device, store, leaves), Entries.of(device, weights)
        highest = int(graph.height[entries.part].max()) if len(entries.part) else 0
        self.depth = max_depth if 0 < max_depth < highest + leaves else 0
        edges = example, edge, weight = entries.spread(device, graph.edge_start, graph.p)
        used = self.xp.zeros(len(graph.head), bool)
        used[edge] = True

        self.productions = _ProductionTable.of(device, graph, entries, used)
        self.table = _EdgeTable.of(device, graph, self.productions, used)
        self.children = _ChildTable.of(device, graph, self.table)
        self.alternatives = _Alternatives.of(device, graph, self.productions, self.table.index_of)
        self.child_codes = self.children.node  # forests: the device code looks them up in `alternatives`
        if not graph.packed:
            self.child_codes = _node_codes(device, graph, self.productions, self.table.index_of)[self.children.node]

        deep = self.productions.deep[graph.production[edge]]
        self.postings = Postings.of(
            device, example[deep], self.table.index_of[edge[deep]], weight[deep], len(self.table.edge), self.n_columns
        )
        counts = _production_counts(device, graph, entries, edges)
        self.production_product = CountProduct(device, counts, self.productions.count)
        self.keys = None
        if self.depth != 1 and self.table.kinds:
            examples = len(entries.start) - 1
            self.keys = _ChildKeys(device, self.productions, self.table, self.children, graph, edges, examples)

    def bind(self, store: Any, weights: Any) -> _HyperedgeRows:
        xp, device = self.xp, self.device
        graph, entries = _Hypergraph.of(device, store, self.leaves), Entries.of(device, weights)
        edges = example, edge, weight = entries.spread(device, graph.edge_start, graph.p)
        kind = self.table.kind_of[self.productions.clipped(device, graph.production)]
        deep = Entries(example, edge.astype(np.int32), weight, entries.start).where(device, kind[edge] >= 0)
        number = xp.arange(len(graph.head) + 1, dtype=np.int32)
        code = xp.zeros(0, np.int32) if graph.packed else _node_codes(device, graph, self.productions, number)
        level = xp.zeros_like(graph.head) if self.depth else graph.height[graph.head]
        counts = _production_counts(device, graph, entries, edges)
        return _HyperedgeRows(
            graph,
            RowParts.of(device, deep, kind, level, self.table.parts.size),
            code,
            _Alternatives.of(device, graph, self.productions, number),
            self.production_product.of_rows(counts),
            self.keys.of_rows(graph, edges, len(entries.start) - 1) if self.keys is not None else None,
        )

    def fill(self, rows: _HyperedgeRows, begin: int, end: int, out: Array, limit: int | None) -> None:
        device, halves = self.device, limit is not None
        self.production_product.add(rows.productions, begin, end, out, begin, self.lam, halves)
        if self.keys is None or rows.keys is None:
            return
        self.keys.product.add(rows.keys, begin, end, out, begin, self.lam * self.lam, halves)
        sizes, columns = self.table.parts.sizes(device, limit), self.n_columns if halves else None
        for work in rows.parts.strips(device, begin, end, sizes, columns, COLUMNS_PER_THREAD):
            self._compare(rows, work, begin, out, halves)

    def _compare(self, rows: _HyperedgeRows, work: Strip, begin: int, out: Array, halves: bool) -> None:
        """Compare the edges of a strip with those of the columns, level by level, and add the values to `out`."""
        graph, xp = rows.graph, self.xp
        values = xp.empty(work.cells + 1)
        below = values
        depths = 1
        if self.depth:  # depth 1 adds nothing to the counts; each further depth is computed from the previous one
            depths, below = self.depth - 1, xp.zeros(work.cells + 1)
        columns = (
            self.table.parts.first,
            self.table.parts.size,
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
