"""Trees whose nodes know their position in a source."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from treelet.checks import article
from treelet.errors import InputTypeError, TreeError
from treelet.formats.adapters import Adapter, Node, Place, walk
from treelet.formats.files import Source, open_source, text_source, unpacked_name


class Located:
    r"""A tree whose nodes know their line and column. It is accepted wherever a tree is.

    Its nodes are the nodes of the `Tree` that a `Treebank` makes of it, in the same order.

    Attributes
    ----------
    label : str
        Label of the node.
    children : tuple of Located
        Children of the node, from left to right.
    place : Place or None
        Line, column, end line and end column, counted from 1. A node without its own position, such as a
        field, an attribute or a text, has the position of its parent.

    Examples
    --------
    >>> from treelet import Tree
    >>> from treelet.formats import python_trees
    >>> module, = python_trees("x = 1\ny = x + 1\n")
    >>> [node.place.line for node in module.find(Tree.parse("(Constant (int 1))"))]
    [1, 2]
    """

    __slots__ = ("__weakref__", "children", "label", "place")

    label: str
    children: tuple[Located, ...]
    place: Place | Any

    def __init__(self, label: str, children: tuple[Located, ...] = (), place: Place | None = None) -> None:
        self.label, self.children, self.place = label, children, place

    def nodes(self) -> Iterator[Located]:
        """Yield all nodes, parents before children, from left to right. This node is the first."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))

    def find(self, fragment: Any, *, gaps: bool = False) -> list[Located]:
        """Return the nodes at which a fragment occurs, such as a fragment from `treelet.shared_fragments`.

        Parameters
        ----------
        fragment : Tree
            Fragment to find. A node without children matches any node with the same label. A node with
            children matches a node with exactly these children.
        gaps : bool, default False
            Whether other nodes may stand between the children, as in the fragments of `PartialTree`.

        Returns
        -------
        list of Located
            The nodes that match the root of the fragment.
        """
        if not hasattr(fragment, "label") or not hasattr(fragment, "children"):
            raise InputTypeError(
                f"A fragment must be a Tree, such as Tree.parse('(NP (D the))'). Got {article(type(fragment).__name__)} instead."
            )
        pattern = list(Located.nodes(fragment))
        nodes = list(self.nodes())
        begins: dict[int, set[int]] = {}  # for each node of the fragment, the nodes that match it
        for piece in reversed(pattern):
            wanted = [begins[id(child)] for child in piece.children]
            begins[id(piece)] = {
                id(node) for node in nodes if node.label == piece.label and _holds(node.children, wanted, gaps)
            }
        return [node for node in nodes if id(node) in begins[id(fragment)]]

    def __repr__(self) -> str:
        if self.place is None:
            return f"<Located: {self.label}>"
        return f"<Located: {self.label} at {':'.join(str(number) for number in self.place[:2] if number is not None)}>"


def _holds(children: tuple[Located, ...], wanted: list[set[int]], gaps: bool) -> bool:
    if not wanted:
        return True
    if not gaps:
        return len(children) == len(wanted) and all(id(c) in ids for c, ids in zip(children, wanted, strict=True))
    left = iter(children)
    return all(any(id(child) in ids for child in left) for ids in wanted)


def located(item: Node, adapter: Adapter, place: Place | None = None) -> Located:
    """Convert an object that has an adapter. If its root has no position, the root gets `place`."""
    built: list[Located] = []
    try:
        for node, label, children in walk(adapter.root(item), adapter):
            first = len(built) - children
            tree = Located(label, tuple(built[first:]), None if type(node) in (str, tuple) else adapter.place(node))
            built[first:] = [tree]
    except TreeError as error:
        raise TreeError(f"The source {error}") from None
    root = built[0]
    root.place = root.place or place
    for above in root.nodes():
        for below in above.children:
            below.place = below.place or above.place
    return root


@contextmanager
def opened(source: Any, encoding: str, suffixes: Collection[str]) -> Iterator[Source]:
    """Open a string, bytes, a path or an open file that is converted to trees. Reject a string that is a file name."""
    if isinstance(source, Source):
        yield source
    elif isinstance(source, (str, bytes)):
        if isinstance(source, str) and "\n" not in source and unpacked_name(source).suffix.lower() in suffixes:
            raise InputTypeError(
                f"{source[:60]!r} looks like the name of a file, but a string must contain the source itself. Pass "
                "pathlib.Path(...), or read the file with treelet.read_trees."
            )
        yield text_source(source, encoding=encoding)
    elif isinstance(source, os.PathLike) or hasattr(source, "read"):
        with open_source(source, encoding) as stream:
            yield stream
    else:
        raise InputTypeError(
            f"A string, bytes, a path or an open file is needed, but got {article(type(source).__name__)}."
        )
