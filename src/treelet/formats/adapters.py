"""Other libraries' trees, taken as they are: nothing is imported, only recognised by what it can do.

Every adapter says, for a node, its label and its children; `flatten` does the rest, without recursion.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from treelet import _core
from treelet.errors import InputTypeError, TreeError
from treelet.formats.base import Columns
from treelet.formats.brackets import label_problem
from treelet.formats.dependency_adapters import reader_of

Node = Any
Adapter = tuple[Callable[[Node], str], Callable[[Node], Iterable[Node]]]

_REPLACED = str.maketrans(
    {"(": "-LRB-", ")": "-RRB-", " ": "_", "\t": "_", "\n": "_", "\r": "_", "\v": "_", "\f": "_", "\0": "_"}
)


def safe_label(text: str) -> str:
    """Any text as a label: white space becomes ``_``, brackets ``-LRB-`` and ``-RRB-``; an empty text ``''``."""
    clean = text.translate(_REPLACED) or "''"
    return clean if clean.isascii() else clean.encode("utf-8", "replace").decode()


# --- treelet's own trees, and nltk's ----------------------------------------------------------------------------


def _own_label(node: Node) -> Any:
    return getattr(node, "label", node)


def _own_children(node: Node) -> Iterable[Node]:
    return getattr(node, "children", ())


def _nltk_label(node: Node) -> str:
    return safe_label(str(node.label() if callable(getattr(node, "label", None)) else node))


def _nltk_children(node: Node) -> Iterable[Node]:
    return tuple(node) if callable(getattr(node, "label", None)) else ()


# --- Python syntax trees ----------------------------------------------------------------------------------------


class _Field:
    """A field of an ast node, as a node of its own."""

    def __init__(self, name: str, values: list[Node]) -> None:
        self.name, self.values = name, values


def _ast_label(node: Node) -> str:
    if isinstance(node, _Field):
        return node.name
    return (
        type(node).__name__ if hasattr(node, "_fields") else safe_label(node if isinstance(node, str) else repr(node))
    )


def _ast_children(node: Node) -> Iterable[Node]:
    if isinstance(node, _Field):
        return node.values
    fields = []
    for name in getattr(node, "_fields", ()):
        value = getattr(node, name, None)
        if value is None or value == []:
            continue
        fields.append(_Field(name, value if isinstance(value, list) else [value]))
    return fields


# --- XML elements -----------------------------------------------------------------------------------------------


def _xml_label(node: Node) -> str:
    return safe_label(node if isinstance(node, str) else str(node.tag))


def _xml_children(node: Node) -> Iterable[Node]:
    if isinstance(node, str):
        return
    yield from (node.text or "").split()
    for child in node:
        if isinstance(child.tag, str):  # lxml's comments have a function here
            yield child
        yield from (child.tail or "").split()


def adapter_for(item: object) -> Adapter | None:
    """How to walk an object as a tree, or None if it is no tree that treelet knows."""
    if isinstance(getattr(item, "label", None), str) and isinstance(getattr(item, "children", None), tuple):
        return _own_label, _own_children
    if callable(getattr(item, "label", None)) and hasattr(item, "__iter__"):
        return _nltk_label, _nltk_children
    if hasattr(item, "_fields") and hasattr(item, "_attributes"):
        return _ast_label, _ast_children
    if isinstance(getattr(item, "tag", None), str) and hasattr(item, "tail"):
        return _xml_label, _xml_children
    return None


def _instead_of(item: object) -> str:
    """What to give in place of something that is no tree."""
    if isinstance(item, os.PathLike):
        return "read a file with treelet.read_trees"
    if reader_of(item) is not None or (hasattr(item, "words") and hasattr(item, "heads")):
        return "make trees of dependency parses with treelet.cuts.dependency_trees"
    return "give a Tree, a bracketed string, an nltk tree, a Python ast node, an XML element or None"


def flatten(items: Iterable[object], numbers: Iterable[int] | None = None) -> Columns:
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
        adapter = adapter_for(item)
        if adapter is None:
            raise InputTypeError(f"item {number} is a {type(item).__name__}, not a tree: {_instead_of(item)}")
        label_of, children_of = adapter
        immutable = label_of is _own_label  # then one object met again is one subtree again
        on_path: set[int] = set()
        stack: list[tuple[Node, int]] = [(item, -1)]
        while stack:
            node, children = stack.pop()
            if children < 0:
                if immutable and (known := built.get(id(node))) is not None:
                    label.append(0)
                    arity.append(-1 - known)
                    continue
                if id(node) in on_path and not isinstance(node, str):
                    raise TreeError(f"item {number} is no tree: a {type(node).__name__} is its own descendant")
                on_path.add(id(node))
                kids = tuple(children_of(node))
                stack.append((node, len(kids)))
                stack.extend((kid, -1) for kid in reversed(kids))
                continue
            on_path.discard(id(node))
            name = label_of(node)
            if name not in names:
                if problem := label_problem(name):
                    raise TreeError(f"item {number} has a node whose label is {problem}")
                names[name] = len(names)
            if immutable and children:
                built[id(node)] = len(label)
            label.append(names[name])
            arity.append(children)
        ends.append(len(label))
    store, roots = _core.build(
        list(names), np.array(label, np.int32), np.array(arity, np.int32), np.array(ends, np.int64)
    )
    if missing:
        roots = np.insert(roots, np.array(missing) - np.arange(len(missing)), -1).astype(np.int32)
    return Columns(store, roots)
