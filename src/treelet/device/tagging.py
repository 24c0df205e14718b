"""The tagging kernel; see ``cuda/tagging.cu``.

Parts are suffixes of sequences. Suffixes that start with the same `_TAGS` tags are of one kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from treelet.device.counts import CountProduct, Counts, RowCounts
from treelet.device.launching import Array, Device
from treelet.device.numbering import Numbers, pairs
from treelet.device.strips import (
    COLUMNS_PER_THREAD,
    THREADS,
    ColumnParts,
    DeviceColumns,
    Entries,
    Postings,
    RowParts,
)

_TAGS = 3
"""Number of tags that define a kind. Shorter pieces are counted."""


@dataclass(frozen=True)
class _Chains:
    """The nodes of a store as positions of tagged sequences. -1 stands for a missing tag, word or next position."""

    tag: Array
    words: list[Array]
    """The words of each position, of the next position, and so on up to `_TAGS`."""
    next: Array
    height: Array

    @staticmethod
    def of(device: Device, store: Any) -> _Chains:
        xp = device.xp
        label, start = device.array(store.label), device.array(store.child_start)
        child = xp.concatenate([device.array(store.child), xp.zeros(2, np.int32)])
        arity, first = start[1:] - start[:-1], start[:-1]
        inner = arity > 0
        second = child[first + 1]
        after = xp.where((arity > 1) & (arity[second] > 0), second, -1)
        words = [xp.where(inner, label[child[first]], -1)]
        for _ in range(1, _TAGS):
            words.append(xp.where(after >= 0, words[-1][after], -1))
        return _Chains(xp.where(inner, label, -1), words, after, device.array(store.height))

    def ahead(self, device: Device, numbers: Array) -> Array:
        """Return the number of the next position, for each position."""
        return device.xp.where(self.next >= 0, numbers[self.next], -1)


Rows = tuple[Array, Array, RowParts, list[RowCounts]]
"""Rows of the matrix: words (the first word of every node, then the second word of every node, and so on), the next node
of every node, if that has a kind, the suffixes that are compared, and the counts of shorter pieces."""


class TaggingColumns(DeviceColumns):
    """The tagging kernel.

    Parameters
    ----------
    lam : float
    """

    def __init__(self, device: Device, store: Any, weights: Any, lam: float) -> None:
        super().__init__(device, store, weights)
        xp = self.xp
        self.lam = lam
        chains, entries = _Chains.of(device, store), Entries.of(device, weights)
        used = xp.zeros(len(chains.tag), bool)
        used[entries.part] = True
        self.known: list[Numbers] = []
        pieces, kind = self._pieces(chains, used)
        self.pieces = [
            CountProduct(device, self._counts(own, entries), len(known))
            for own, known in zip(pieces, self.known, strict=False)
        ]
        column = xp.flatnonzero(used & (kind >= 0))
        column = column[xp.argsort(pairs(device, kind[column], column))]
        self.parts = ColumnParts.of(device, column, kind[column], len(self.known[-1]))
        column_of = xp.full(len(kind), -1, np.int32)
        column_of[column] = xp.arange(len(column), dtype=np.int32)
        self.next = chains.ahead(device, column_of)[column].astype(np.int32)
        self.words = xp.concatenate([words[column] for words in chains.words]).astype(np.int32)
        has_column = (column_of[entries.part] >= 0) & (entries.weight != 0)
        self.post = Postings.of(
            device,
            entries.example[has_column],
            column_of[entries.part[has_column]],
            entries.weight[has_column],
            len(column),
            self.n_columns,
        )

    def _pieces(self, chains: _Chains, used: Array | None) -> tuple[list[list[Array]], Array]:
        """Return the numbers of the pieces of 1, 2, ... tags that start at each node, and the kind of each node.

        A piece of several tags has one number per choice of tags that include their word. For columns, `used` marks their
        nodes, and new numbers are assigned to the pieces of these nodes.
        """
        device = self.device

        def numbered(keys: list[Array], length: int) -> list[Array]:
            if used is not None:
                self.known.append(Numbers.of(device, device.xp.concatenate([key[used] for key in keys])))
            return [self.known[length - 1].find(key) for key in keys]

        none = device.xp.zeros_like(chains.tag)
        single = numbered([pairs(device, chains.tag, none), pairs(device, chains.tag, chains.words[0] + 1)], 1)
        pieces = [single]
        for length in range(2, _TAGS):
            rest = [chains.ahead(device, piece) for piece in pieces[-1]]
            pieces.append(numbered([pairs(device, first, piece) for first in single for piece in rest], length))
        (kind,) = numbered([pairs(device, single[0], chains.ahead(device, pieces[-1][0]))], _TAGS)
        return pieces, kind

    def _counts(self, pieces: list[Array], entries: Entries) -> Counts:
        xp = self.xp
        piece = xp.concatenate([piece[entries.part] for piece in pieces])
        example, weight = xp.tile(entries.example, len(pieces)), xp.tile(entries.weight, len(pieces))
        counted = (piece >= 0) & (weight != 0)
        return Counts.of(self.device, example[counted], piece[counted], weight[counted], len(entries.start) - 1)

    def bind(self, store: Any, weights: Any) -> Rows:
        xp, device = self.xp, self.device
        chains, entries = _Chains.of(device, store), Entries.of(device, weights)
        pieces, kind = self._pieces(chains, None)
        suffixes = entries.where(device, kind[entries.part] >= 0)
        return (
            xp.concatenate(chains.words).astype(np.int32),
            xp.where(chains.ahead(device, kind) >= 0, chains.next, -1).astype(np.int32),
            RowParts.of(device, suffixes, kind, chains.height, self.parts.size),
            [columns.of_rows(self._counts(own, entries)) for columns, own in zip(self.pieces, pieces, strict=True)],
        )

    def fill(self, rows: Rows, begin: int, end: int, out: Array, limit: int | None) -> None:
        (words, following, parts, pieces), halves = rows, limit is not None
        for length, (counts, own) in enumerate(zip(self.pieces, pieces, strict=True), 1):
            counts.add(own, begin, end, out, begin, self.lam**length, halves)
        sizes, columns = self.parts.sizes(self.device, limit), self.n_columns if halves else None
        where = out, out.strides[0] // out.itemsize, begin, halves
        for work in parts.strips(self.device, begin, end, sizes, columns, COLUMNS_PER_THREAD):
            values = self.xp.empty(work.cells + 1)
            start = self.device.series(
                *("tags_level", THREADS, work.chunk, work.part, following, work.local, work.kind, work.at),
                *(words, len(following), self.parts.first, self.parts.size, work.limit, self.next, self.words),
                *(len(self.next), _TAGS, values, *work.held.arrays, *self.post.arrays, *where, self.lam),
            )
            for first, last, blocks in work.levels():
                start(blocks, first, last)
