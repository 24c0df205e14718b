"""Limits on the size of trees, for programs that read or score untrusted trees."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from treelet import _core
from treelet.checks import check_integer, plural
from treelet.formats.format_options import OptionText


class TreeLimits(NamedTuple):
    """Limits on the nodes and on the depth of each tree. None means no limit."""

    max_nodes: int | None
    max_depth: int | None

    @classmethod
    def of(cls, max_nodes: Any, max_depth: Any, owner: object = None) -> Self | None:
        """Return validated limits, or None if there are none. A command passes numbers as text."""
        limits = cls(*(int(n) if isinstance(n, OptionText) and n.isdecimal() else n for n in (max_nodes, max_depth)))
        for name, value in limits._asdict().items():
            check_integer(name, value, of=owner, optional=True)
        return None if limits == (None, None) else limits

    def problems(
        self, store: Any, roots: NDArray[np.int32], weights: _core.NodeWeights | None = None
    ) -> Iterator[tuple[int, str]]:
        """Yield the row of each tree beyond a limit, and a sentence about the tree without its subject.

        A tree beyond both limits is yielded twice.

        Words count as nodes. The depth is the number of edges from the root to the deepest word.
        """
        if self.max_nodes is not None:
            counts = _core.NodeWeights.count(store, roots) if weights is None else weights
            rows = np.repeat(np.arange(len(roots)), np.diff(counts.start))
            nodes = np.bincount(rows, weights=counts.weight, minlength=len(roots))
            for row in np.flatnonzero(nodes > self.max_nodes).tolist():
                yield row, f"has {plural(int(nodes[row]), 'node')}, more than max_nodes={self.max_nodes} allows."
        if self.max_depth is not None and len(store):
            depth = np.where(roots >= 0, store.height[roots], 0)
            for row in np.flatnonzero(depth > self.max_depth).tolist():
                yield row, f"has a depth of {depth[row]:,}, more than max_depth={self.max_depth} allows."
