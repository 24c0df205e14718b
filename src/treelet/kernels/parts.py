"""How many pairs of parts match: what a matrix costs, counted by the parts' keys before any value is computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
Vector = NDArray[np.float64]

EXACT = 1 << 17  # parts of all rows up to which halves are counted one by one


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
"""The parts of some nodes of a store, ascending."""


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
    """Of so many members of each group: their groups, and their places in these.

    >>> [column.tolist() for column in spread(np.array([2, 0, 1]))]
    [[0, 0, 2], [0, 1, 0]]
    """
    owner = np.repeat(np.arange(len(sizes)), sizes)
    return owner, np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)


def distinct(rows: Any, *more: Any) -> tuple[Ids, Ids]:
    """The nodes that rows have, and more rows, ascending; and the place among them of each node that a row has."""
    there = np.zeros(len(rows.store), bool)
    for some in (rows, *more):
        there[some.weights.node] = True
    place = np.cumsum(there) - 1
    return np.flatnonzero(there), place[rows.weights.node]


def pairs_by_row(rows: Any, columns: Any | None, parts_of: PartsOf) -> Vector:
    """What each row costs: its distinct parts with all distinct parts of the columns; without these, with those of rows up to it.

    Rows and columns are `StoreRows`, the rows' store the columns' or grown over it. Of very many rows without columns it is
    estimated, as if the parts of a key came evenly.
    """
    nodes, place = distinct(rows) if columns is None else distinct(rows, columns)
    parts = parts_of(rows.store, nodes)
    numbers, key = np.unique(parts.key, return_inverse=True)
    weight = parts.column
    if columns is not None:
        weight = weight * np.isin(nodes, columns.weights.node)[parts.node]
    in_all = counted(key, weight, len(numbers))
    by_node = counted(parts.node, parts.row * in_all[key], len(nodes))
    start = rows.weights.start
    whole = _sums(by_node[place], start)
    if columns is not None or not len(place):
        return whole
    sizes = np.bincount(parts.node, minlength=len(nodes))
    reached = np.searchsorted(nodes, rows.limit, side="right")  # how many of the nodes a row is compared with
    if int(sizes[place].sum()) > EXACT:
        own = _sums(counted(parts.node, parts.row * parts.column, len(nodes))[place], start)  # each reaches its own
        whole -= own
        whole *= reached / len(nodes)
        whole += own
        return whole
    return _halves(parts, key, place, start, reached, sizes)


def _halves(parts: KeyedParts, key: Ids, place: Ids, start: Ids, reached: Ids, sizes: Ids) -> Vector:
    """Each row's parts with those of one key and a node that it reaches."""
    n = len(sizes) + 1
    own = key * n + parts.node
    order = np.argsort(own, kind="stable")
    own, so_far = own[order], np.concatenate([[0.0], np.cumsum(parts.column[order])])
    first = np.searchsorted(own, key * n)  # where the key of each part begins
    begin = np.cumsum(sizes) - sizes
    entry, position = spread(sizes[place])
    part = begin[place][entry] + position
    row = np.repeat(np.arange(len(start) - 1), np.diff(start))[entry]
    at = np.searchsorted(own, key[part] * n + reached[row])
    return counted(row, parts.row[part] * (so_far[at] - so_far[first[part]]), len(start) - 1)


def pairs_within(rows: Any, parts_of: PartsOf) -> Vector:
    """What each row costs with itself alone."""
    nodes, place = distinct(rows)
    parts = parts_of(rows.store, nodes)
    sizes = np.bincount(parts.node, minlength=len(nodes))
    start, n = rows.weights.start, len(rows.weights)
    entry, position = spread(sizes[place])
    part = (np.cumsum(sizes) - sizes)[place][entry] + position
    row = np.repeat(np.arange(n), np.diff(start))[entry]
    numbers, key = np.unique(parts.key, return_inverse=True)
    groups, group = np.unique(row * max(1, len(numbers)) + key[part], return_inverse=True)
    both = [counted(group, weight[part], len(groups)) for weight in (parts.row, parts.column)]
    return counted(groups // max(1, len(numbers)), both[0] * both[1], n)


def counted(group: Ids, weight: Vector, groups: int) -> Vector:
    """The sum of the weights of each group."""
    sums: Vector = np.bincount(group, weight, groups).astype(np.float64)
    return sums


def _sums(values: Vector, start: Ids) -> Vector:
    """Of the values from each start to the next."""
    so_far = np.concatenate([[0.0], np.cumsum(values)])
    sums: Vector = so_far[start[1:]] - so_far[start[:-1]]
    return sums
