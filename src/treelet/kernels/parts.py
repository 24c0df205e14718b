"""The cost of a matrix: how many pairs of parts match, counted by the keys of the parts before any value is computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
Vector = NDArray[np.float64]

_EXACT = 1 << 17  # up to so many parts of all rows, the pairs of a half matrix are counted one by one


class KeyedParts(NamedTuple):
    """The parts of some nodes that a kernel compares. Two parts with the same key cost the product of their weights."""

    node: Ids
    """Index of the part's node among the given nodes; ascending."""
    key: Ids
    row: Vector
    """Weight of the part on the side of the rows."""
    column: Vector
    """Weight of the part on the side of the columns."""

    @staticmethod
    def of(node: Any, key: Any, row: Any = 1.0, column: Any = 1.0) -> KeyedParts:
        """Build the parts in the order of their nodes. A weight may be one number for all parts."""
        order = np.argsort(node, kind="stable")
        weights = [np.broadcast_to(np.asarray(weight, np.float64), len(order))[order] for weight in (row, column)]
        return KeyedParts(np.asarray(node, np.int64)[order], np.asarray(key, np.int64)[order], *weights)

    @staticmethod
    def together(*several: KeyedParts) -> KeyedParts:
        """Join parts of several kinds. Keys of different kinds become different."""
        keys, above = [], 0
        for parts in several:
            keys.append(parts.key + above)
            above += int(parts.key.max(initial=-1)) + 1
        columns = [np.concatenate(column) for column in zip(*several, strict=True)]
        return KeyedParts.of(columns[0], np.concatenate(keys), *columns[2:])


PartsOf = Callable[[Any, Ids], KeyedParts]
"""Returns the parts of some nodes of a store; the nodes are ascending."""


class StoreNodes(NamedTuple):
    """Some nodes of a tree store as columns, followed by their children, one after the other."""

    label: Ids
    production: Ids
    arity: Ids
    owner: Ids
    """Index of each child's parent among the nodes."""
    position: Ids
    child: Ids

    @staticmethod
    def of(store: Any, nodes: Ids) -> StoreNodes:
        start = store.child_start
        arity = (start[nodes + 1] - start[nodes]).astype(np.int64)
        owner, position = spread(arity)
        child = store.child[start[nodes][owner] + position].astype(np.int64)
        production = store.production[nodes].astype(np.int64)
        return StoreNodes(store.label[nodes].astype(np.int64), production, arity, owner, position, child)


def spread(sizes: Ids) -> tuple[Ids, Ids]:
    """Return the group of each member, and its position in the group, for groups of the given sizes.

    >>> [column.tolist() for column in spread(np.array([2, 0, 1]))]
    [[0, 0, 2], [0, 1, 0]]
    """
    owner = np.repeat(np.arange(len(sizes)), sizes)
    return owner, np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)


def _distinct(rows: Any, *more: Any) -> tuple[Ids, Ids]:
    """Return the distinct nodes of rows and of more rows, ascending; and for each entry of `rows`, the index of its node among them.

    An *entry* is a node in a row: entries ``start[r]`` to ``start[r + 1]`` of ``rows.weights.node`` are those of row r.
    """
    used = np.zeros(len(rows.store), bool)
    for some in (rows, *more):
        used[some.weights.node] = True
    index = np.cumsum(used) - 1
    return np.flatnonzero(used), index[rows.weights.node]


def pairs_by_row(rows: Any, columns: Any | None, parts_of: PartsOf) -> Vector:
    """Return the cost of each row: its distinct parts times all distinct parts of the columns that have the same key.

    Rows and columns are `StoreRows`. The rows' store is that of the columns, or was grown from it. Without columns, a row is
    compared with the rows up to itself; for very many rows this is estimated, as if the parts of a key were evenly spread.
    """
    nodes, entry_node = _distinct(rows) if columns is None else _distinct(rows, columns)
    parts = parts_of(rows.store, nodes)
    numbers, key = np.unique(parts.key, return_inverse=True)
    weight = parts.column
    if columns is not None:
        weight = weight * np.isin(nodes, columns.weights.node)[parts.node]
    in_all = counted(key, weight, len(numbers))
    by_node = counted(parts.node, parts.row * in_all[key], len(nodes))
    start = rows.weights.start
    whole = _sums(by_node[entry_node], start)
    if columns is not None or not len(entry_node):
        return whole
    sizes = np.bincount(parts.node, minlength=len(nodes))
    reached = np.searchsorted(nodes, rows.limit, side="right")
    if int(sizes[entry_node].sum()) > _EXACT:
        # Every row reaches its own nodes; of the pairs with other nodes it has the share that it reaches.
        own = _sums(counted(parts.node, parts.row * parts.column, len(nodes))[entry_node], start)
        whole -= own
        whole *= reached / len(nodes)
        whole += own
        return whole
    return _pairs_reached(parts, key, sizes, entry_node, start, reached)


def _pairs_reached(parts: KeyedParts, key: Ids, sizes: Ids, entry_node: Ids, start: Ids, reached: Ids) -> Vector:
    """Return the cost of each row, if row r is compared with the first ``reached[r]`` nodes only.

    For example, nodes 0, 1 and 2 have one part each, with the keys 7, 8 and 7. Row 0 has the nodes 0 and 1, and reaches these two;
    row 1 has the nodes 0 and 2, and reaches all three. Row 0 has two pairs: each of its parts with itself. Row 1 has four
    pairs: its two parts have the same key, and each meets both of them.

    >>> parts, sizes = KeyedParts.of([0, 1, 2], [7, 8, 7]), np.array([1, 1, 1])
    >>> entry_node, start, reached = np.array([0, 1, 0, 2]), np.array([0, 2, 4]), np.array([2, 3])
    >>> _pairs_reached(parts, parts.key, sizes, entry_node, start, reached)
    array([2., 4.])

    In the code, parts are sorted by (key, node): (7, 0), (7, 2), (8, 1), with the sums of weights 0, 1, 2, 3 before and after each.
    The part (7, 2) of row 1 finds those with its key and a reached node between the places 0 and 2: 2 - 0 = 2 pairs.
    """
    step = len(sizes) + 1
    key_and_node = key * step + parts.node
    order = np.argsort(key_and_node, kind="stable")
    key_and_node = key_and_node[order]
    weight_before = np.concatenate([[0.0], np.cumsum(parts.column[order])])
    first_of_key = np.searchsorted(key_and_node, key * step)
    part, row = _parts_of_rows(sizes, entry_node, start)
    last = np.searchsorted(key_and_node, key[part] * step + reached[row])
    weight = parts.row[part] * (weight_before[last] - weight_before[first_of_key[part]])
    return counted(row, weight, len(start) - 1)


def _parts_of_rows(sizes: Ids, entry_node: Ids, start: Ids) -> tuple[Ids, Ids]:
    """Return the parts of all entries, one after the other, and the row of each. A node has ``sizes[node]`` parts."""
    entry, position = spread(sizes[entry_node])
    first_part = np.cumsum(sizes) - sizes
    row = np.repeat(np.arange(len(start) - 1), np.diff(start))
    return first_part[entry_node][entry] + position, row[entry]


def pairs_within(rows: Any, parts_of: PartsOf) -> Vector:
    """Return the cost of each row with itself alone."""
    nodes, entry_node = _distinct(rows)
    parts = parts_of(rows.store, nodes)
    part, row = _parts_of_rows(np.bincount(parts.node, minlength=len(nodes)), entry_node, rows.weights.start)
    numbers, key = np.unique(parts.key, return_inverse=True)
    groups, group = np.unique(row * max(1, len(numbers)) + key[part], return_inverse=True)
    by_row, by_column = (counted(group, weight[part], len(groups)) for weight in (parts.row, parts.column))
    return counted(groups // max(1, len(numbers)), by_row * by_column, len(rows.weights))


def counted(group: Ids, weight: Vector, groups: int) -> Vector:
    """Return the sum of the weights of each group."""
    sums: Vector = np.bincount(group, weight, groups).astype(np.float64)
    return sums


def _sums(values: Vector, start: Ids) -> Vector:
    """Return the sums of the values from each start to the next."""
    so_far = np.concatenate([[0.0], np.cumsum(values)])
    sums: Vector = so_far[start[1:]] - so_far[start[:-1]]
    return sums
