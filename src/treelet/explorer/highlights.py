"""What is lit up in a picture: the nodes that fragments cover, and the nodes' shares; as far as that is quickly found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from treelet.fragments.occurrences import places
from treelet.kernels import Kernel
from treelet.kernels.wrapped import Normalized
from treelet.structures import Tree

OCCURRENCES = 20  # of a fragment in a tree that are lit up
PAIRS = 100_000  # of a node of a fragment and one of a tree with the same label, in all: about a tenth of a second
KEPT = 2_000  # places that are remembered
KEPT_LETTERS = 5_000  # of a fragment and its tree whose places are: so all that is kept stays small
HEATED = 200_000  # nodes, counted once for each node above them: beyond, no heat


class Lights:
    """Where fragments are in some trees. Those that come after too much work stay dark."""

    def __init__(self, trees: Iterable[Tree]) -> None:
        self.trees = list(trees)
        self._texts = [str(tree) for tree in self.trees]
        self._labels = [Counter(node.label for node in tree.nodes()) for tree in self.trees]
        self._left = PAIRS

    def of(self, fragment: Tree, kernel: Kernel) -> list[list[int]]:
        """For each tree the nodes that a fragment covers, wherever it occurs."""
        own, text = Counter(node.label for node in fragment.nodes()), str(fragment)
        found: list[list[int]] = []
        for tree, labels in zip(self._texts, self._labels, strict=True):
            pairs = sum(count * labels[label] for label, count in own.items())
            if pairs > self._left:
                found.append([])
                continue
            self._left -= pairs
            covered = _covered if len(text) + len(tree) <= KEPT_LETTERS else _covered.__wrapped__
            found.append(covered(text, tree, _family(kernel)))
        return found


Family = tuple[type[Kernel], tuple[tuple[str, Any], ...]]
"""A class of kernels, and the parameters that say which fragments there are."""


def _family(kernel: Kernel) -> Family:
    """What is left of a kernel without its decays: while a slider moves, places stay as they are."""
    plain = kernel.kernel if isinstance(kernel, Normalized) else kernel
    return type(plain), tuple((name, getattr(plain, name)) for name in ("leaves", "max_depth") if hasattr(plain, name))


@lru_cache(KEPT)
def _covered(fragment: str, tree: str, family: Family) -> list[int]:
    kind, parameters = family
    found = places(fragment, tree, kind(**dict(parameters)), OCCURRENCES)
    return sorted({node for place in found for node in place})


def heat_of(shares: Iterable[Any]) -> list[float] | None:
    """The nodes' shares, if there are any."""
    return [one.share for one in shares] or None


def can_be_heated(tree: Tree) -> bool:
    """Whether the shares of the nodes are quickly found: that takes each node with all that is below it."""
    below = 0
    stack = [(tree, 1)]
    while stack and below <= HEATED:
        node, depth = stack.pop()
        below += depth
        stack.extend((child, depth + 1) for child in node.children)
    return below <= HEATED
