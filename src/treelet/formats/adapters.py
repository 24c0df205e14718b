"""Other libraries' trees, taken as they are: nothing is imported, only recognised by what it can do.

Every adapter says, for a node, its label and its children; `walk` and `flatten` do the rest, without recursion.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator

import numpy as np

from treelet import _core
from treelet.errors import InputTypeError, TreeError
from treelet.formats.base import Columns
from treelet.formats.brackets import label_problem
from treelet.formats.dependency_adapters import reader_of
from treelet.formats.markup_nodes import MarkupAdapter
from treelet.formats.nodes import Adapter, Node, Part, safe_label
from treelet.formats.syntax_nodes import SyntaxAdapter


class OwnAdapter(Adapter):
    """treelet's own trees."""

    shares = True

    def label(self, node: Node) -> str:
        return getattr(node, "label", node)  # type: ignore[return-value]  # `flatten` sees whether it is a label

    def children(self, node: Node) -> Iterable[Node]:
        return getattr(node, "children", ())


class NltkAdapter(Adapter):
    """nltk's trees. A leaf ``(word, tag)``, as its chunkers give, is a word under its tag; other leaves are words."""

    def label(self, node: Node) -> str:
        if callable(getattr(node, "label", None)):
            return safe_label(str(node.label()))
        return safe_label(node.label if isinstance(node, Part) else str(node))

    def children(self, node: Node) -> Iterable[Node]:
        if callable(getattr(node, "label", None)):
            return tuple(map(_nltk_leaf, node))
        return node.children if isinstance(node, Part) else ()


def _nltk_leaf(node: Node) -> Node:
    if type(node) is tuple and len(node) == 2 and all(isinstance(text, str) for text in node):
        return Part(node[1], (node[0],))
    return node


_OWN, _NLTK, _SYNTAX, _MARKUP = OwnAdapter(), NltkAdapter(), SyntaxAdapter(), MarkupAdapter()


def adapter_for(item: object) -> Adapter | None:
    """How to walk an object as a tree, or None if it is no tree that treelet knows."""
    if isinstance(getattr(item, "label", None), str) and isinstance(getattr(item, "children", None), tuple):
        return _OWN
    if callable(getattr(item, "label", None)) and hasattr(item, "__iter__"):
        return _NLTK
    if hasattr(item, "_fields") and hasattr(item, "_attributes"):
        return _SYNTAX
    if isinstance(getattr(item, "tag", None), str) and hasattr(item, "tail"):
        return _MARKUP
    if callable(getattr(item, "getroot", None)) and not isinstance(item, type):
        return _MARKUP  # a whole document
    return None


def _instead_of(item: object) -> str:
    """What to give in place of something that is no tree."""
    if isinstance(item, os.PathLike):
        return "read a file with treelet.read_trees"
    if reader_of(item) is not None or (hasattr(item, "words") and hasattr(item, "heads")):
        return "make trees of dependency parses with treelet.cuts.dependency_trees"
    return "give a Tree, a bracketed string, an nltk tree, a Python ast node, an XML element or None"


def walk(root: Node, adapter: Adapter, known: Collection[int] = ()) -> Iterator[tuple[Node, int]]:
    """The nodes of a tree, children before parents, with how many children each has.

    What is in `known`, by its ``id``, has -1, and what is below it is passed over.
    """
    children_of = adapter.children
    on_path: set[int] = set()
    stack: list[tuple[Node, int]] = [(root, -1)]
    while stack:
        entry = node, children = stack.pop()
        if children >= 0:
            on_path.discard(id(node))
            yield entry
        elif id(node) in known:
            yield entry
        elif kids := tuple(children_of(node)):
            if id(node) in on_path:
                raise TreeError(f"is no tree: a {type(node).__name__} is its own descendant")
            on_path.add(id(node))
            stack.append((node, len(kids)))
            stack.extend([(kid, -1) for kid in reversed(kids)])
        else:
            yield node, 0


def flatten(
    items: Iterable[object],
    numbers: Iterable[int] | None = None,
    adapter_of: Callable[[Node], Adapter | None] = adapter_for,
) -> Columns:
    """Columns of trees from objects that an adapter knows; None stays a missing tree.

    Errors name the items by `numbers`, or by their places.
    """
    names: dict[str, int] = {}
    label: list[int] = []
    arity: list[int] = []
    ends: list[int] = []
    missing: list[int] = []
    built: dict[int, int] = {}
    items = list(items)
    for place, (number, item) in enumerate(zip(numbers or range(len(items)), items, strict=True)):
        if item is None:
            missing.append(place)
            continue
        adapter = adapter_of(item)
        if adapter is None:
            raise InputTypeError(f"item {number} is a {type(item).__name__}, not a tree: {_instead_of(item)}")
        label_of, shares = adapter.label, adapter.shares
        try:
            for node, children in walk(adapter.root(item), adapter, built if shares else ()):
                if children < 0:
                    label.append(0)
                    arity.append(-1 - built[id(node)])
                    continue
                name = label_of(node)
                if name not in names:
                    if problem := label_problem(name):
                        raise TreeError(f"has a node whose label is {problem}")
                    names[name] = len(names)
                if shares and children:
                    built[id(node)] = len(label)
                label.append(names[name])
                arity.append(children)
        except TreeError as error:
            raise TreeError(f"item {number} {error}") from None
        ends.append(len(label))
    store, roots = _core.build(
        list(names), np.array(label, np.int32), np.array(arity, np.int32), np.array(ends, np.int64)
    )
    if missing:
        roots = np.insert(roots, np.array(missing) - np.arange(len(missing)), -1).astype(np.int32)
    return Columns(store, roots)
