"""Which kernels have fragments that can be listed, and the input and output of the fragment search.

The search takes one or two weightings of the nodes of a store: two examples that are compared, an example and a model, or a
model alone. The weighting of an example counts how often the example contains each distinct subtree; that of a model has the
weight of each. The value of a fragment is the product, over the weightings, of the sums at its occurrences, times the kernel's
decay.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treelet import _core
from treelet.checks import wrong
from treelet.errors import InputTypeError, ParameterError
from treelet.kernels import (
    ForestKernel,
    Kernel,
    Locality,
    PartialTree,
    Smoothed,
    Subsequence,
    SubsetTree,
    Subtree,
    Tagging,
)

WORD = "\u2022"  # child of a word that a fragment of SubsetTree(leaves=True) expands
FRAGMENTS = "Subtree, SubsetTree and PartialTree"
"""Tree kernels whose fragments can be listed."""
LISTED = "Subtree, SubsetTree, PartialTree, ForestKernel, Tagging, Subsequence and Locality"
"""All kernels whose fragments can be listed."""


def has_fragments(kernel: Kernel) -> bool:
    """Return whether the fragments of a kernel can be listed, and are trees."""
    if isinstance(kernel, PartialTree) and kernel.terminal_factor != 1:
        return False
    return isinstance(kernel, (Subtree, SubsetTree, PartialTree)) and not isinstance(kernel, Smoothed)


def is_listed(kernel: Kernel) -> bool:
    """Return whether the fragments of a kernel can be listed."""
    return has_fragments(kernel) or isinstance(kernel, (ForestKernel, Tagging, Subsequence, Locality))


def check_has_fragments(kernel: Kernel, of: str) -> None:
    """Raise an error unless the kernel is a tree kernel whose fragments can be listed. `of` is the public function."""
    _check(kernel, has_fragments(kernel), FRAGMENTS, of)


def check_is_listed(kernel: Kernel, of: str) -> None:
    """Raise an error unless the fragments of the kernel can be listed. `of` is the public function."""
    _check(kernel, is_listed(kernel), LISTED, of)


def _check(kernel: Kernel, good: bool, names: str, of: str) -> None:
    if good:
        kernel.validate()
    elif isinstance(kernel, PartialTree) and not isinstance(kernel, Smoothed):
        raise ParameterError(f"Fragments can be listed only if terminal_factor is 1. Got {kernel!r} instead.")
    else:
        wanted = f"a kernel with fragments: {names.replace(' and ', ' or ')}"
        raise InputTypeError(str(wrong("kernel", wanted, kernel, of=of)))


class NodeWeighting(NamedTuple):
    """Distinct nodes of a store, and a number for each: a count or a weight."""

    node: NDArray[np.int32]
    number: NDArray[np.float64]

    @staticmethod
    def of(weights: _core.NodeWeights, factors: NDArray[np.float64] | None = None) -> NodeWeighting:
        """Return the sum of all rows of some weights, each multiplied by a factor."""
        node, number = weights.node, weights.weight
        if factors is not None:
            number = number * np.repeat(factors, np.diff(weights.start))
        if len(weights) > 1:
            node, position = np.unique(node, return_inverse=True)
            number = np.bincount(position, number, len(node)).astype(float)
        return NodeWeighting(node, number)


class Fragment(NamedTuple):
    """A fragment and its value."""

    tree: Any
    value: float
    sums: tuple[float, ...]
    """For each weighting, the sum of its numbers over the occurrences, without decay."""


class SearchResult(NamedTuple):
    """Fragments, the largest absolute value first."""

    fragments: list[Fragment]
    complete: bool
    """True if all fragments are listed."""
    exact: bool
    """True if no missing fragment has a larger absolute value."""
