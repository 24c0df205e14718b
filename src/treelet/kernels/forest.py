"""The kernel between packed forests."""

from __future__ import annotations

from typing import Any

import numpy as np

from treelet import _core
from treelet.checks import check_boolean, check_tunable
from treelet.kernels.parts import Ids, KeyedParts, spread
from treelet.kernels.store import StoreKernel
from treelet.kernels.tuning import DECAYS, Bounds
from treelet.structures.forest_bank import ForestBank


class ForestKernel(StoreKernel):
    r"""The forest kernel of Zhang, Zhang & Li (2010): subset trees that two packed forests are expected to share.

    .. math:: K(f_1, f_2) = \sum_{t_1 \in f_1} \sum_{t_2 \in f_2} P(t_1 | f_1) P(t_2 | f_2) K_{SST}(t_1, t_2)

    without ever listing a tree. For forests of one tree it is `SubsetTree`.

    Parameters
    ----------
    lam : float in (0, 1]
        Decay a production.
    leaves : bool
        Whether words count without their tags, as in `SubsetTree`.
    lam_bounds : pair of numbers or "fixed"
        As for `Subtree`.

    Notes
    -----
    Costs the pairs of hyper-edges with one production and a child's production in common; equal sub-forests, of which
    a collection has many, are compared once. Only inside probabilities are divided by (the paper's eq. 9 divides by
    outside ones, which may be 0). `Forest.prune` and `Forest.temperature` change the forests themselves.

    Examples
    --------
    >>> from treelet import Forest, ForestKernel
    >>> forest = Forest.from_trees([("(S (A x))", 0.5), ("(S (B x))", 0.5)])
    >>> ForestKernel(lam=1)([forest, "(S (A x))"])
    array([[1.5, 1.5],
           [1.5, 3. ]])
    """

    _algorithm = _core.ForestColumns
    _on_device = "hyperedges.ForestKernelColumns"
    bank = ForestBank
    _tunable = ("lam",)
    _always_shown = ("lam",)

    def __init__(self, lam: float = 0.4, leaves: bool = False, *, lam_bounds: Bounds = DECAYS) -> None:
        self.lam = lam
        self.leaves = leaves
        self.lam_bounds = lam_bounds
        self.validate()

    def validate(self) -> None:
        check_tunable(self, "lam", 0, 1)
        check_boolean("leaves", self.leaves, of="ForestKernel")

    def _native_parameters(self, store: Any) -> tuple[Any, ...]:
        return float(self.lam), bool(self.leaves)

    def _parts(self, store: Any, nodes: Ids) -> KeyedParts:
        """Edges with one production, times their children."""
        start = store.edge_start
        owner, place = spread((start[nodes + 1] - start[nodes]).astype(np.int64))
        edge = start[nodes][owner] + place
        return KeyedParts.of(owner, store.production[edge] + 1, 1 + np.diff(store.child_start)[edge])
