"""The kernel between tagged sequences."""

from __future__ import annotations

from typing import Any

from treelet import _core
from treelet.checks import check_tunable
from treelet.kernels.parameters import DECAYS, Bounds
from treelet.kernels.store import StoreKernel
from treelet.structures.sequence import TaggedBank


class Tagging(StoreKernel):
    r"""Tagging kernel: sums over the contiguous pieces that two tagged sequences share.

    A piece is a contiguous subsequence of tags, each with or without its word. The sequence "Lou/SP
    Gerstner/CP is/N" has the pieces "SP CP", "SP Gerstner/CP N" and 20 others.

    Parameters
    ----------
    lam : float, default 0.4
        Decay per tag, in (0, 1]. Smaller values reduce the weight of long pieces; 1 disables decay.
    lam_bounds : pair of numbers or "fixed", default (0.001, 1)
        Range in which a Gaussian process may choose `lam`. ``"fixed"`` keeps `lam` as it is.

    Notes
    -----
    The kernel of Collins & Duffy (2001) is

    .. math:: K(s_1, s_2) = \sum_f \lambda^{\mathrm{length}(f)} h_f(s_1) h_f(s_2)

    where `f` runs over the pieces and :math:`h_f(s)` is the number of occurrences of `f` in `s`.
    The value is the sum of

    .. math:: C(i, j) = \lambda \, (1 + [w_i = w_j]) \, (1 + C(i + 1, j + 1))

    over all pairs of positions with equal tags; `C` is 0 for different tags.

    Examples may have any form that `TaggedBank` accepts. Computation time grows with the number of
    pairs of distinct suffixes that start with the same two tags. Pairs that share only the first
    tag are covered by counts of tags and of tags with words.

    Examples
    --------
    >>> from treelet import Tagging
    >>> Tagging(lam=1)(["the/D dog/N", "a/D dog/N"])
    array([[8., 5.],
           [5., 8.]])
    """

    _algorithm = _core.TaggingColumns
    _on_device = "TaggingColumns"
    bank = TaggedBank
    _tunable = ("lam",)
    _always_shown = ("lam",)

    def __init__(self, lam: float = 0.4, *, lam_bounds: Bounds = DECAYS) -> None:
        self.lam = lam
        self.lam_bounds = lam_bounds
        self.validate()

    def validate(self) -> None:
        check_tunable(self, "lam", 0, 1)

    def _native_parameters(self, store: _core.Store) -> tuple[Any, ...]:
        return (float(self.lam),)
