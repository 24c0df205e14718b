"""The gap-weighted subsequence kernel; see ``cuda/subsequence.cu``.

Parts are distinct sequences, and the type of a sequence is its kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treelet.device.launching import Array, Device
from treelet.device.locality import is_sequence
from treelet.device.numbering import Numbers, pairs
from treelet.device.strips import THREADS, DeviceColumns, Entries, Postings, Strip, starts, strip, strips, up_to
from treelet.errors import NotEnoughMemoryError
from treelet.vocabulary import keyword

BLOCKS, WORKING = 1 << 13, 1 << 30
"""Maximum number of thread blocks per launch, and bytes of their working memory, which later launches reuse.

A single block may need more.
"""


@dataclass(frozen=True)
class SequenceFeatures:
    """The nodes of a store, and the features of those nodes that are sequences of at least the needed length."""

    feature: Array  # per child
    start: Array  # per node
    type: Array  # per node, -1 if it is not such a sequence

    @staticmethod
    def of(device: Device, store: Any, length: int) -> SequenceFeatures:
        label, start, child = device.array(store.label), device.array(store.child_start), device.array(store.child)
        is_long = is_sequence(device, start, child) & (start[1:] - start[:-1] >= length)
        return SequenceFeatures(label[child], start, device.xp.where(is_long, label, -1))


@dataclass(frozen=True)
class SubsequenceRows:
    """The rows of the matrix, prepared once for all strips."""

    sequences: SequenceFeatures
    kind: Array  # per node
    level: Array
    entries: Entries
    local: Array
    cells: NDArray[np.int64]


class SubsequenceColumns(DeviceColumns):
    """The gap-weighted subsequence kernel."""

    def __init__(self, device: Device, store: Any, weights: Any, lam: float, length: int) -> None:
        super().__init__(device, store, weights)
        xp = self.xp
        self.lam, self.length = lam, length
        self.sequences = SequenceFeatures.of(device, store, length)
        entries = Entries.of(device, weights)
        entries = entries.where(device, (self.sequences.type[entries.part] >= 0) & (entries.weight != 0))
        node = xp.unique(entries.part) if len(entries.part) else entries.part
        self.known = Numbers.of(device, self.sequences.type[node])
        kind = self.known.find(self.sequences.type)
        self.node = node[xp.argsort(pairs(device, kind[node], node))]
        self.start = starts(device, kind[self.node], len(self.known))
        self.first = self.start[:-1].astype(np.int32)
        self.size = (self.start[1:] - self.start[:-1]).astype(np.int32)
        column_of = xp.zeros(len(kind), np.int32)
        column_of[self.node] = xp.arange(len(node), dtype=np.int32)
        self.post = Postings.of(
            device, entries.example, column_of[entries.part], entries.weight, len(node), self.n_columns
        )
        start = self.sequences.start
        self.longest = int((start[self.node + 1] - start[self.node]).max()) if len(node) else 0
        self.working = THREADS * (length - 1) * self.longest  # numbers per block
        self._check_room()
        self.blocks = min(BLOCKS, max(1, WORKING // (8 * max(1, self.working))))

    def _check_room(self) -> None:
        room, least = self.device.free_bytes() // 2, 8 * self.working
        if room < least:
            raise NotEnoughMemoryError(
                f"Subsequences of {self.length:,} features in sequences of up to {self.longest:,} features take "
                f"{least / 2**30:.3g} GiB of working memory, but {keyword('device', self.device.name)} has only "
                f"{room / 2**30:.3g} GiB for them. Use {keyword('device', 'cpu')}."
            )

    def bind(self, store: Any, weights: Any) -> SubsequenceRows:
        device = self.device
        sequences, entries = SequenceFeatures.of(device, store, self.length), Entries.of(device, weights)
        kind = self.known.find(sequences.type)
        entries = entries.where(device, kind[entries.part] >= 0)
        cells = entries.totals(device, self.size[kind[entries.part]])
        none = device.xp.zeros_like(kind)
        return SubsequenceRows(sequences, kind, none, entries, device.xp.zeros_like(kind), cells)

    def fill(self, rows: SubsequenceRows, begin: int, end: int, out: Array, limit: int | None) -> None:
        halves = limit is not None
        sizes = self.size if limit is None else up_to(self.device, self.node, self.start, limit)
        for first, last in strips(self.device, rows.cells, begin, end, self.n_columns if halves else None):
            entries = rows.entries.within(first, last)
            work = strip(
                self.device, entries.example, entries.part, entries.weight, rows.kind, rows.level, sizes, rows.local
            )
            if work is not None:
                self._compare(rows, work, begin, out, halves)

    def _compare(self, rows: SubsequenceRows, work: Strip, begin: int, out: Array, halves: bool) -> None:
        total = int(work.chunk_of_level[-1])
        blocks = min(total, self.blocks)
        scratch = self.xp.empty(blocks * self.working + 1)
        own, columns = rows.sequences, self.sequences
        start = self.device.series(
            *("subsequences", THREADS, work.chunk, len(work.part), work.part, work.kind, own.feature, own.start),
            *(self.first, work.limit, columns.feature, columns.start, self.node, scratch, self.longest, self.length),
            *(self.lam, *work.held.arrays, *self.post.arrays, out, out.strides[0] // out.itemsize, begin, halves),
        )
        for first in range(0, total, max(1, blocks)):
            start(min(blocks, total - first), first)
