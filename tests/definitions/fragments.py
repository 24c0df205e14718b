"""A tree as the explicit vector of its fragments, whose product with another one is the kernel: by listing them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

from definitions import kernels as reference
from treelet.kernels import PartialTree, SubsetTree, Subtree
from treelet.structures import Tree

Listed = Subtree | SubsetTree | PartialTree
Vector = dict[Tree, float]


def as_tree(fragment: reference.Fragment) -> Tree:
    """Return a fragment as a tree. Nodes at its edge have no children."""
    return Tree(fragment) if isinstance(fragment, str) else Tree(fragment[0], map(as_tree, fragment[1]))


def at_node(kernel: Listed, node: Tree, size: float = math.inf, depth: float = math.inf) -> Vector:
    """The vector of the fragments that are rooted at a node: of so many productions, or for PT nodes, and that depth, at most."""
    found: Counter[reference.Fragment] = Counter()
    if isinstance(kernel, PartialTree):
        if kernel.leaves or node.children:
            for fragment, gaps, _ in reference.partial_trees(node):
                own = kernel.mu ** (reference.nodes(fragment) / 2) * kernel.lam ** reference.edge(fragment)
                found[fragment] += own * kernel.lam**gaps
    else:
        if isinstance(kernel, Subtree):
            listed = [reference.complete_subtree(node)] if node.children else []
        else:
            listed = reference.subset_trees(reference.with_leaves(node) if kernel.leaves else node)
            depth = min(depth, kernel.max_depth or math.inf)
        for fragment in listed:
            found[fragment] += kernel.lam ** (reference.size(fragment) / 2)
    length = reference.nodes if isinstance(kernel, PartialTree) else reference.size
    return {as_tree(f): value for f, value in found.items() if length(f) <= size and reference.depth(f) <= depth}


def vector(kernel: Listed, tree: Tree, size: float = math.inf, depth: float = math.inf) -> Vector:
    """The vector of a tree.

    >>> from treelet import SubsetTree, Tree
    >>> {str(fragment): value for fragment, value in vector(SubsetTree(lam=0.25), Tree.parse("(NP (D a) (D a))")).items()}
    {'(NP D D)': 0.5, '(NP D (D a))': 0.25, '(NP (D a) D)': 0.25, '(NP (D a) (D a))': 0.125, '(D a)': 1.0}
    """
    found: Counter[Tree] = Counter()
    for node in tree.nodes():
        found.update(at_node(kernel, node, size, depth))
    return dict(found)


def norm(kernel: Listed, tree: Tree, normalized: bool = True) -> float:
    """The length of a tree's vector; 1 where it is not divided by that."""
    return math.sqrt(sum(value**2 for value in vector(kernel, tree).values())) if normalized else 1.0


def weights(kernel: Listed, trees: Iterable[Tree], coefficients: Iterable[float], normalized: bool) -> Counter[Tree]:
    """The vector of a model: the sum of its trees' vectors, each of them divided by its length where the kernel is normalized."""
    total: Counter[Tree] = Counter()
    for tree, coefficient in zip(trees, coefficients, strict=True):
        length = norm(kernel, tree, normalized)
        for fragment, value in vector(kernel, tree).items():
            total[fragment] += coefficient * value / length  # type: ignore[assignment]
    return total
