"""The nodes and hyperedges of a store on a device, and the tables that the columns of a matrix make of them.

Used by `treelet.device.hyperedges`. A tree is a forest with one edge per node.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from treelet.device.launching import Array, Device
from treelet.device.strips import Entries, starts


@dataclass(frozen=True)
class Hypergraph:
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
class ProductionTable:
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
    def of(device: Device, graph: Hypergraph, entries: Entries, used: Array) -> ProductionTable:
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
        return ProductionTable(count, known, deep)

    def clipped(self, device: Device, production: Array) -> Array:
        """Return production numbers as valid indices of this table. Numbers of rows may exceed `count`."""
        return device.xp.minimum(production, self.count)


@dataclass(frozen=True)
class EdgeTable:
    """The edges of the columns with deep productions. Edges of one production are one *kind* and are adjacent."""

    kinds: int
    kind_of: Array  # per production, -1 for none
    start: Array  # per kind: index of its first edge, then the total
    first: Array  # per kind: the same as int32
    size: Array  # per kind: number of edges
    edge: Array  # per edge of the table: its number in the graph
    node: Array  # per edge of the table: its head
    index_of: Array  # per edge of the graph: its index in the table, -1 for none

    @staticmethod
    def of(device: Device, graph: Hypergraph, productions: ProductionTable, used: Array) -> EdgeTable:
        xp = device.xp
        edge = xp.flatnonzero(used & productions.deep[graph.production])
        edge = edge[xp.argsort(graph.production[edge] * np.int64(1 << 32) + edge)]
        distinct, first = xp.unique(graph.production[edge], return_index=True)
        kind_of = xp.full(productions.count + 1, -1, np.int32)
        kind_of[distinct] = xp.arange(len(distinct), dtype=np.int32)
        start = starts(device, kind_of[graph.production[edge]], len(distinct))
        size = (start[1:] - start[:-1]).astype(np.int32)
        index_of = xp.full(len(graph.head) + 1, -1, np.int32)
        index_of[edge] = xp.arange(len(edge), dtype=np.int32)
        return EdgeTable(len(distinct), kind_of, start, first.astype(np.int32), size, edge, graph.head[edge], index_of)


@dataclass(frozen=True)
class ChildTable:
    """The children of the edges of an `EdgeTable`: for each kind all first children, then all second ones, and so on."""

    arity: Array  # per kind
    start: Array  # per kind: index of its first child, then the total
    node: Array  # per child

    @staticmethod
    def of(device: Device, graph: Hypergraph, edges: EdgeTable) -> ChildTable:
        xp = device.xp
        arity_of_edge = graph.child_start[edges.edge + 1] - graph.child_start[edges.edge]
        arity = arity_of_edge[edges.first].astype(np.int32) if edges.kinds else xp.zeros(0, np.int32)
        start = xp.zeros(edges.kinds + 1, np.int64)
        start[1:] = xp.cumsum(arity.astype(np.int64) * edges.size)
        # The same children in the order of edges: the edge and the position of each child.
        end = xp.zeros(len(edges.edge) + 1, np.int64)
        end[1:] = xp.cumsum(arity_of_edge)
        children = int(end[-1])
        owner = xp.searchsorted(end, xp.arange(children, dtype=np.int64), side="right") - 1
        position = xp.arange(children, dtype=np.int64) - end[owner]
        kind = edges.kind_of[graph.production[edges.edge[owner]]]
        node = xp.zeros(children, np.int32)
        target = start[kind] + position * edges.size[kind] + (owner - edges.start[kind])
        node[target] = graph.child[graph.child_start[edges.edge[owner]] + position]
        return ChildTable(arity, start, node)


def node_codes(device: Device, graph: Hypergraph, productions: ProductionTable, number: Array) -> Array:
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


class Alternatives(NamedTuple):
    """The productions of each node of a forest, with their probabilities; empty for trees.

    The order of the fields is that of the parameters of the device code.
    """

    start: Array  # per node, then the total
    production: Array
    p: Array
    code: Array  # number of the edge, -1 if its production is not deep

    @staticmethod
    def of(device: Device, graph: Hypergraph, productions: ProductionTable, number: Array) -> Alternatives:
        """Build the table; ``number[edge]`` is the code of an edge whose production is deep."""
        xp = device.xp
        if not graph.packed:
            return Alternatives(xp.zeros(1, np.int64), xp.zeros(0, np.int32), xp.zeros(0), xp.zeros(0, np.int32))
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
        return Alternatives(start, production, p, code)
