"""Where fragments are looked for, and what is found.

There are one or two sides: the two trees that are compared, a tree and a model, or a model alone. A side gives a number to
each distinct subtree: how often a tree holds it, or what it weighs in a model. A fragment's value is what all sides say of
it, multiplied, with the kernel's decay.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from treelet.errors import InputTypeError, ParameterError
from treelet.kernels import Kernel, PartialTree, Smoothed, SubsetTree, Subtree
from treelet.structures import Tree

WORD = "\u2022"  # below a word that a fragment of SubsetTree(leaves=True) expands
FRAGMENTS = "Subtree, SubsetTree and PartialTree"
"""The kernels whose fragments can be listed."""


def has_fragments(kernel: Kernel) -> bool:
    """Whether the fragments of a kernel can be listed."""
    if isinstance(kernel, PartialTree) and kernel.terminal_factor != 1:
        return False
    return isinstance(kernel, (Subtree, SubsetTree, PartialTree)) and not isinstance(kernel, Smoothed)


def check_has_fragments(kernel: Kernel) -> None:
    """Raise an error that says what can be listed."""
    if has_fragments(kernel):
        kernel.validate()
    elif isinstance(kernel, PartialTree) and not isinstance(kernel, Smoothed):
        raise ParameterError(f"fragments are listed for a terminal_factor of 1, not for {kernel!r}")
    else:
        raise InputTypeError(f"fragments are listed for {FRAGMENTS}, not for {kernel!r}")


class Grown(NamedTuple):
    """A fragment that was found."""

    tree: Tree
    value: float
    sums: tuple[float, ...]
    """What each side says of it: the sum over the places, without any decay."""


class Found(NamedTuple):
    """Fragments, the largest absolute value first."""

    fragments: list[Grown]
    complete: bool
    """There are no others."""
    exact: bool
    """There are no larger ones."""


class Sides:
    """Parts of one store, and for each side the numbers of those that it has.

    With `words`, every word has a child, the same below all words: what `SubsetTree` with leaves sees.
    """

    def __init__(self, store: Any, numbers: tuple[dict[int, float], ...], words: bool = False) -> None:
        self.store, self.numbers = store, numbers
        self.names: list[str] = store.labels
        self.labels: list[int] = store.label.tolist()
        self.production: list[int] = store.production.tolist()
        self._start, self._child = store.child_start.tolist(), store.child.tolist()
        self._nothing = len(self.labels)  # a node that cannot be expanded
        if words:
            first = max(self.production, default=-1) + 1
            pairs = zip(self.production, self.labels, strict=True)
            self.production = [first + label if production < 0 else production for production, label in pairs]
        self._below_words: tuple[int, ...] = (self._nothing,) if words else ()
        self.production.append(-1)
        self.labels.append(len(self.names))
        self.names = [*self.names, WORD]

    def label(self, node: int) -> str:
        return self.names[self.labels[node]]

    def children(self, node: int) -> tuple[int, ...]:
        return tuple(self._child[self._start[node] : self._start[node + 1]]) or self._below_words

    def shapes(self) -> dict[int, tuple[int, ...]]:
        """Make one node of all those that agree in what can be shared, and say what is below each that is left.

        A production that the first side does not have cannot be in a shared fragment: a child with such a one becomes a node that
        cannot be expanded. The first side is whole trees: what is below its nodes is there, too.
        """
        wanted = {self.production[node] for node in self.numbers[0]} - {-1}
        production = np.array(self.production)
        shape: dict[int, int] = {}
        known: dict[tuple[int, tuple[int, ...]], int] = {}
        below: dict[int, tuple[int, ...]] = {}
        for node in np.flatnonzero(np.isin(production, list(wanted))).tolist():  # children have smaller numbers
            kids = tuple([shape.get(child, self._nothing) for child in self.children(node)])
            shape[node] = first = known.setdefault((self.production[node], kids), node)
            below[first] = kids
        merged = []
        for numbers in self.numbers:
            sums: dict[int, float] = {}
            for node, number in numbers.items():
                if node in shape:
                    sums[shape[node]] = sums.get(shape[node], 0) + number
            merged.append(sums)
        self.numbers = tuple(merged)
        return below

    def subtree(self, root: int) -> Tree:
        """A node with all that is below it."""
        order, seen = [root], {root}
        for node in order:
            order.extend(child for child in set(self.children(node)) - seen)
            seen.update(self.children(node))
        built: dict[int, Tree] = {}
        for node in sorted(order):  # children have smaller numbers
            built[node] = Tree(self.label(node), [built[child] for child in self.children(node)])
        return built[root]
