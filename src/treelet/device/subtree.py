"""The subtree kernel. Equal subtrees are one node of the store, so the kernel is a product of counts of nodes."""

from __future__ import annotations

from typing import Any

from treelet.device.counts import CountProduct, Counts, RowCounts
from treelet.device.launching import Array, Device
from treelet.device.strips import DeviceColumns, Entries


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
