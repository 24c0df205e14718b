"""Trees whose nodes lead back to where they stand in a source."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from treelet.errors import InputTypeError
from treelet.formats.adapters import walk
from treelet.formats.files import Source, open_source, text_source, unpacked_name
from treelet.formats.nodes import Adapter, Node, Place


class Located:
    r"""A tree that knows its places: wherever trees are taken, this is one.

    Its nodes are those of the `Tree` that a bank makes of it, in the same order.

    Attributes
    ----------
    label : str
    children : tuple of Located
    place : Place or None
        Line and column, end line and end column, counted from 1. What has no place of its own, as a field, an attribute or a
        text, has that of the node above.

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
    place: Place | None

    def __init__(self, label: str, children: tuple[Located, ...] = (), place: Place | None = None) -> None:
        self.label, self.children, self.place = label, children, place

    def nodes(self) -> Iterator[Located]:
        """All nodes, this one first, parents before children, left to right."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))

    def find(self, fragment: Any, *, gaps: bool = False) -> list[Located]:
        """The nodes at which a fragment begins, as `treelet.shared_fragments` gives them.

        Parameters
        ----------
        fragment : Tree
            A node without children stands for any node of its label, and a node with children for one with just these.
        gaps : bool
            Whether there may be others between the children, as in the fragments of `PartialTree`.
        """
        if not hasattr(fragment, "label") or not hasattr(fragment, "children"):
            raise InputTypeError(f"a fragment is a Tree, as of Tree.parse, got {type(fragment).__name__}")
        pattern = list(Located.nodes(fragment))
        nodes = list(self.nodes())
        begins: dict[int, set[int]] = {}  # of each part of the fragment, the nodes at which it does
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
    """An object that an adapter knows, as a tree with places; `place` is the root's, if it has none."""
    built: list[Located] = []
    for node, label, children in walk(adapter.root(item), adapter):
        first = len(built) - children
        tree = Located(label, tuple(built[first:]), None if type(node) in (str, tuple) else adapter.place(node))
        built[first:] = [tree]
    root = built[0]
    root.place = root.place or place
    for above in root.nodes():
        for below in above.children:
            below.place = below.place or above.place
    return root


@contextmanager
def opened(source: Any, encoding: str, suffixes: Collection[str]) -> Iterator[Source]:
    """What is to become trees: a text or its bytes, a path or an open file. A text that is the name of a file is refused."""
    if isinstance(source, Source):
        yield source
    elif isinstance(source, (str, bytes)):
        if isinstance(source, str) and "\n" not in source and unpacked_name(source).suffix.lower() in suffixes:
            raise InputTypeError(
                f"{source[:60]!r} is taken for the text itself, and looks like the name of a file: give pathlib.Path(...), or "
                "read it with treelet.read_trees"
            )
        yield text_source(source, encoding=encoding)
    elif isinstance(source, os.PathLike) or hasattr(source, "read"):
        with open_source(source, encoding) as stream:
            yield stream
    else:
        raise InputTypeError(f"a text, bytes, a path or an open file is needed, got {type(source).__name__}")
