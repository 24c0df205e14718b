"""Which fragments can be listed, where they are looked for, and what is found.

There are one or two sides: the two examples that are compared, an example and a model, or a model alone. A side gives a number to
each distinct part: how often an example holds it, or what it weighs in a model. A fragment's value is what all sides say of
it, multiplied, with the kernel's decay.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treelet import _core
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

WORD = "\u2022"  # below a word that a fragment of SubsetTree(leaves=True) expands
FRAGMENTS = "Subtree, SubsetTree and PartialTree"
"""The kernels of trees whose fragments can be listed."""
LISTED = "Subtree, SubsetTree, PartialTree, ForestKernel, Tagging, Subsequence and Locality"
"""All kernels whose fragments can be listed."""


def has_fragments(kernel: Kernel) -> bool:
    """Whether the fragments of a kernel can be listed, and are parts of trees."""
    if isinstance(kernel, PartialTree) and kernel.terminal_factor != 1:
        return False
    return isinstance(kernel, (Subtree, SubsetTree, PartialTree)) and not isinstance(kernel, Smoothed)


def is_listed(kernel: Kernel) -> bool:
    """Whether the fragments of a kernel can be listed, whatever they are parts of."""
    return has_fragments(kernel) or isinstance(kernel, (ForestKernel, Tagging, Subsequence, Locality))


def check_has_fragments(kernel: Kernel) -> None:
    """Raise an error that says of which kernels of trees fragments can be listed."""
    _check(kernel, has_fragments(kernel), FRAGMENTS)


def check_is_listed(kernel: Kernel) -> None:
    """Raise an error that says what can be listed."""
    _check(kernel, is_listed(kernel), LISTED)


def _check(kernel: Kernel, good: bool, names: str) -> None:
    if good:
        kernel.validate()
    elif isinstance(kernel, PartialTree) and not isinstance(kernel, Smoothed):
        raise ParameterError(f"fragments are listed for a terminal_factor of 1, not for {kernel!r}")
    else:
        raise InputTypeError(f"fragments are listed for {names}, not for {kernel!r}")


class NodeWeighting(NamedTuple):
    """Parts of a store, each once, and a number for each."""

    node: NDArray[np.int32]
    number: NDArray[np.float64]

    @staticmethod
    def of(weights: _core.NodeWeights, factors: NDArray[np.float64] | None = None) -> NodeWeighting:
        """All rows of some weights taken together, each with a factor."""
        node, number = weights.node, weights.weight
        if factors is not None:
            number = number * np.repeat(factors, np.diff(weights.start))
        if len(weights) > 1:
            node, which = np.unique(node, return_inverse=True)
            number = np.bincount(which, number, len(node)).astype(float)
        return NodeWeighting(node, number)


class Fragment(NamedTuple):
    """A fragment that was found."""

    tree: Any
    value: float
    sums: tuple[float, ...]
    """What each side says of it: the sum over the places, without any decay."""


class SearchResult(NamedTuple):
    """Fragments, the largest absolute value first."""

    fragments: list[Fragment]
    complete: bool
    """There are no others."""
    exact: bool
    """There are no larger ones."""
