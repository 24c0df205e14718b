"""What values between trees cost, told before they are computed."""

from __future__ import annotations

from typing import Any

import numpy as np

from treelet.kernels.base import Vector
from treelet.kernels.tree import PartialTree, TreeKernel
from treelet.structures.treebank import Treebank


def matched_pairs(kernel: TreeKernel, X: Treebank, Y: Treebank | None = None) -> float:
    """An upper bound of the steps that ``kernel(X, Y)`` takes: pairs of nodes, and what is done for each.

    ST and SST look at pairs of nodes with one production; PT at pairs with one label, and for each at all pairs of their
    children. Equal subtrees are computed once, so that it may be much less. The bound itself costs what the trees hold.

    Parameters
    ----------
    kernel : Subtree, SubsetTree or PartialTree
    X, Y : Treebank
        Without `Y` the pairs within `X`, each in both orders.

    Returns
    -------
    float
        A whole number, unless it is very large.

    Examples
    --------
    >>> from treelet import PartialTree, SubsetTree, Treebank
    >>> one, two = Treebank(["(NP (D the) (N apple))"]), Treebank(["(NP (D the) (N pear))"])
    >>> matched_pairs(SubsetTree(), one, two)  # NP -> D N, D -> the
    2.0
    >>> matched_pairs(PartialTree(), one, two)  # NP with 2 * 2 children; D, N with one each; the
    10.0
    """
    if Y is not None:
        X, Y = X.joined(Y)  # the second store grows over the first, whose numbers it keeps
    rows, columns = (_counts(kernel, bank) for bank in (X, X if Y is None else Y))
    return float(sum(np.dot(*_equally_long(a, b)) for a, b in zip(rows, columns, strict=True)))


def _counts(kernel: TreeKernel, bank: Treebank) -> list[Vector]:
    """How many nodes there are of each production or label; for PT, also how many children nodes of a label have."""
    store, weights = bank.columns.store, bank.weights()
    node, weight = weights.node, weights.weight
    if not isinstance(kernel, PartialTree):
        production = store.production[node]
        inner = production >= 0
        return [_summed(production[inner], weight[inner])]
    label, children = store.label[node], np.diff(store.child_start)[node]
    return [_summed(label, weight), _summed(label, weight * children)]


def _summed(key: Any, weight: Vector) -> Vector:
    return np.bincount(key, weight).astype(np.float64)


def _equally_long(a: Vector, b: Vector) -> tuple[Vector, Vector]:
    n = min(len(a), len(b))
    return a[:n], b[:n]
