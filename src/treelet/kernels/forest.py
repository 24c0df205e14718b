"""The kernel between packed forests."""

from __future__ import annotations

from typing import Any

from treelet import _core
from treelet.checks import check_boolean, check_tunable
from treelet.kernels.parameters import DECAYS, Bounds
from treelet.kernels.store import StoreKernel
from treelet.structures.forest import ForestBank


class ForestKernel(StoreKernel):
    r"""Forest kernel: the expected value of `SubsetTree` between the trees of two packed forests.

    The trees of a forest are never enumerated. For forests with a single tree, the value equals
    that of `SubsetTree`.

    Parameters
    ----------
    lam : float, default 0.4
        Decay per production, in (0, 1]. Smaller values reduce the weight of large fragments; 1
        disables decay.
    leaves : bool, default False
        Whether equal words match even if their tags differ, as in `SubsetTree`.
    lam_bounds : pair of numbers or "fixed", default (0.001, 1)
        Range in which a Gaussian process may choose `lam`. ``"fixed"`` keeps `lam` as it is.

    Notes
    -----
    The kernel of Zhang, Zhang & Li (2010) is

    .. math:: K(f_1, f_2) = \sum_{t_1 \in f_1} \sum_{t_2 \in f_2} P(t_1 | f_1) P(t_2 | f_2) K_{SST}(t_1, t_2)

    The computation divides only by inside probabilities. Equation 9 of the paper divides by outside
    probabilities, which may be 0. To change the forests themselves, use `Forest.prune` and
    `Forest.temperature`.

    Computation time grows with the number of hyperedge pairs that share their production and the
    production of a child. Equal sub-forests, which are common in a collection, are compared only
    once.

    Examples
    --------
    >>> from treelet import Forest, ForestKernel
    >>> forest = Forest.from_trees([("(S (A x))", 0.5), ("(S (B x))", 0.5)])
    >>> ForestKernel(lam=1)([forest, "(S (A x))"])
    array([[1.5, 1.5],
           [1.5, 3. ]])
    """

    _algorithm = _core.ForestColumns
    _on_device = "ForestKernelColumns"
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
