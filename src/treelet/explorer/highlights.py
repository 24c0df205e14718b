"""Highlights in a picture: the nodes that fragments cover and the shares of nodes, within a limit on work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from treelet.draw.web.pictures import fragment_text
from treelet.fragments.explanation import Explanation, NodeShare
from treelet.fragments.occurrences import places
from treelet.kernels import Kernel
from treelet.kernels.fragments.sequences import VectorFeature
from treelet.kernels.wrapped import Normalized
from treelet.structures import Tree

OCCURRENCES = 20  # highlighted occurrences of a fragment in a tree
STEPS = 250_000  # nodes and children that are looked at, in total: about half a second
CACHED = 2_000  # cached pairs of a fragment and a tree
CACHED_LETTERS = 5_000  # characters of a cached pair, which bounds the size of the cache
ATTRIBUTED = 200_000  # sum of the depths of all nodes; larger trees have no shares of nodes


class Highlights:
    """Finds the occurrences of fragments in trees. Beyond a limit on work, fragments are not highlighted."""

    def __init__(self, trees: Iterable[Tree]) -> None:
        self.trees = list(trees)
        self._texts = [str(tree) for tree in self.trees]
        self._steps: list[
            Counter[str]
        ] = []  # per tree and label: nodes, and children to which those of a fragment are compared
        for tree in self.trees:
            steps: Counter[str] = Counter()
            for node in tree.nodes():
                steps[node.label] += 1 + len(node.children)
            self._steps.append(steps)
        self._left = STEPS

    def of(self, fragment: Tree, kernel: Kernel) -> list[list[int]]:
        """Return, per tree, the nodes that all occurrences of a fragment cover."""
        own, text = Counter(node.label for node in fragment.nodes()), str(fragment)
        nodes: list[list[int]] = []
        for tree, steps in zip(self._texts, self._steps, strict=True):
            # All nodes are visited once. Those with a label of the fragment are compared with its nodes of this label.
            cost = own.total() + steps.total() + sum(count * steps[label] for label, count in own.items())
            if cost > self._left:
                nodes.append([])
                continue
            self._left -= cost
            covered = _covered if len(text) + len(tree) <= CACHED_LETTERS else _covered.__wrapped__
            nodes.append(covered(text, tree, _family(kernel)))
        return nodes


def explanation_fields(explanation: Explanation, trees: Iterable[Tree]) -> dict[str, Any]:
    """Return an explanation as JSON, with the nodes that each fragment covers in the given trees."""
    highlights = Highlights(trees)
    features = [share for share in explanation.fragments if isinstance(share.tree, VectorFeature)]  # not in the trees
    return {
        "score": explanation.score,
        "rest": explanation.rest + sum(feature.share for feature in features),
        "complete": explanation.complete,
        "others": [
            *({"kernel": repr(other.kernel), "share": other.share} for other in explanation.others),
            *({"kernel": str(feature.tree), "share": feature.share} for feature in features),
        ],
        "fragments": [
            {
                **fragment_text(fragment.tree),
                "share": fragment.share,
                "places": highlights.of(fragment.tree, fragment.kernel),
            }
            for fragment in explanation.fragments
            if not isinstance(fragment.tree, VectorFeature)
        ],
    }


Family = tuple[type[Kernel], tuple[tuple[str, Any], ...]]
"""A class of kernels, and the parameters that determine which fragments exist."""


def _family(kernel: Kernel) -> Family:
    """Return a kernel without its decays: occurrences do not change while a decay is varied."""
    plain = kernel.kernel if isinstance(kernel, Normalized) else kernel
    return type(plain), tuple((name, getattr(plain, name)) for name in ("leaves", "max_depth") if hasattr(plain, name))


@lru_cache(CACHED)
def _covered(fragment: str, tree: str, family: Family) -> list[int]:
    kind, parameters = family
    occurrences = places(fragment, tree, kind(**dict(parameters)), OCCURRENCES)
    return sorted({node for nodes in occurrences for node in nodes})


def shares_of(attribution: Iterable[NodeShare]) -> list[float] | None:
    """Return the share of each node, or None if there are no shares."""
    return [node.share for node in attribution] or None


def can_be_attributed(tree: Tree) -> bool:
    """Return whether the tree is small enough for the shares of all its nodes. The cost is the sum of the depths."""
    below = 0
    stack = [(tree, 1)]
    while stack and below <= ATTRIBUTED:
        node, depth = stack.pop()
        below += depth
        stack.extend((child, depth + 1) for child in node.children)
    return below <= ATTRIBUTED
