"""Triangles: constituents that a drawing shows by their words alone, without their inner structure."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Set

from treelet.checks import article, is_integer, plural, suggestion, wrong
from treelet.errors import ParameterError, TreeletWarning
from treelet.structures import Tree


class WordsUnderTriangle(Tree):
    """The words of a collapsed constituent as one leaf. The label may contain spaces."""

    __slots__ = ()


def is_collapsed(node: Tree) -> bool:
    """Return whether a leaf stands for the words of a collapsed constituent."""
    return isinstance(node, WordsUnderTriangle)


def collapsed(tree: Tree, triangles: Iterable[str | int] | str | int = ()) -> Tree:
    """Return the tree with each chosen constituent reduced to its label over its words.

    Parameters
    ----------
    tree : Tree
        Any tree.
    triangles : str, int or collection of them, default ()
        Labels of constituents, or numbers of nodes in pre-order. A constituent inside a chosen one is
        collapsed with it. For labels that no constituent has, `TreeletWarning` is issued.

    >>> tree = Tree.parse("(S (NP (D the) (N cat)) (VP (V sat)))")
    >>> collapsed(tree, "NP").children[0]
    Tree.parse('(NP the cat)')
    >>> [child.label for child in collapsed(tree, "NP").children[0].children]
    ['the cat']
    """
    chosen = occurring_triangles(tree, triangles)
    if not chosen:
        return tree
    nodes = list(tree.nodes())
    sizes = [1] * len(nodes)
    copies: list[Tree] = nodes.copy()
    for number in range(len(nodes) - 1, -1, -1):  # children come after their parents in pre-order
        node, children, child = nodes[number], [], number + 1
        for _ in node.children:
            children.append(copies[child])
            child += sizes[child]
        sizes[number] = child - number
        if children and (number in chosen or node.label in chosen):
            children = [WordsUnderTriangle._trusted(" ".join(node.words()), ())]
        copies[number] = Tree._trusted(node.label, tuple(children)) if children else node
    return copies[0]


def occurring_triangles(tree: Tree, triangles: Iterable[str | int] | str | int) -> Set[str | int]:
    """Return the triangles that the tree has. Warn of labels that it does not have; other numbers raise ParameterError."""
    chosen = checked_triangles(triangles)
    if not chosen:
        return chosen
    nodes = list(tree.nodes())
    labels = {node.label for node in nodes if node.children}
    for item in sorted(chosen, key=str):
        if isinstance(item, str):
            if item not in labels:
                fact = "Only words have" if any(node.label == item for node in nodes) else "No node has"
                hint = suggestion(item, sorted(labels))
                # The stack level is that of a caller of draw.
                warnings.warn(
                    f"{fact} the label {item!r}, so no triangle was drawn for it.{hint}", TreeletWarning, stacklevel=4
                )
        elif item >= len(nodes) or not nodes[item].children:
            problem = "is a word" if item < len(nodes) else f"does not exist: the tree has {plural(len(nodes), 'node')}"
            raise ParameterError(f"Node {item} cannot be drawn as a triangle, because it {problem}.")
    return {item for item in chosen if isinstance(item, int) or item in labels}


def checked_triangles(triangles: Iterable[str | int] | str | int) -> Set[str | int]:
    """Return the labels and numbers as a set. Raise ParameterError for anything else."""
    wanted = "labels of constituents or numbers of nodes, such as ['NP', 4]"
    if isinstance(triangles, str) or is_integer(triangles):
        triangles = [triangles]  # type: ignore[list-item]
    try:
        chosen = list(triangles)  # type: ignore[arg-type]
    except TypeError:
        raise wrong("triangles", wanted, triangles, got=article(type(triangles).__name__)) from None
    for item in chosen:
        if not isinstance(item, str) and not is_integer(item, 0):
            raise wrong("triangles", wanted, item)
    return {item if isinstance(item, str) else int(item) for item in chosen}
