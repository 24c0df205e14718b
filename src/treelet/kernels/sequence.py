"""Kernels between sequences."""

from __future__ import annotations

from typing import Any

import numpy as np

from treelet import _core
from treelet.checks import check_tunable
from treelet.kernels.parts import Ids, KeyedParts, StoreNodes
from treelet.kernels.store import StoreKernel
from treelet.kernels.tuning import DECAYS, Bounds
from treelet.structures.tagged_bank import TaggedBank


class Tagging(StoreKernel):
    r"""The tagging kernel of Collins & Duffy (2001): pieces of tag sequences in common.

    .. math:: K(s_1, s_2) = \sum_f \lambda^{\mathrm{length}(f)} h_f(s_1) h_f(s_2)

    over the features `f` that are a contiguous sub-sequence of tags, each with its word or without: "Lou/SP Gerstner/CP
    is/N" has "SP CP", "SP Gerstner/CP N" and 20 others. Computed by

    .. math:: C(i, j) = \lambda \, (1 + [w_i = w_j]) \, (1 + C(i + 1, j + 1))

    for equal tags, 0 for others, summed over all pairs of positions.

    Parameters
    ----------
    lam : float in (0, 1]
        Decay a tag.
    lam_bounds : pair of numbers or "fixed"
        As for `Subtree`.

    Notes
    -----
    Costs the pairs of distinct suffixes that begin with the same two tags; where only one tag is equal, counts of tags
    and of tags with words do. Examples are whatever `TaggedBank` takes.

    Examples
    --------
    >>> from treelet import Tagging
    >>> Tagging(lam=1)(["the/D dog/N", "a/D dog/N"])
    array([[8., 5.],
           [5., 8.]])
    """

    _algorithm = _core.TaggingColumns
    _on_device = "tagging.TaggingColumns"
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

    def _parts(self, store: Any, nodes: Ids) -> KeyedParts:
        """Suffixes that begin with one tag."""
        of = StoreNodes.of(store, nodes)
        there = np.flatnonzero(of.arity)  # a word has no children
        return KeyedParts.of(there, of.label[there])
