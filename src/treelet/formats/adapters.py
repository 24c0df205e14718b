"""Adapters for trees of other libraries.

Nothing is imported: objects are recognized by their attributes. An adapter returns the label and the
children of a node; `walk` and `flatten` do the rest, without recursion.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from treelet import _core
from treelet.checks import article
from treelet.errors import InputTypeError, TreeError
from treelet.formats.base import Columns
from treelet.formats.brackets import label_problem
from treelet.formats.conllu import reader_of
from treelet.formats.node_adapters import MarkupAdapter, SyntaxAdapter
from treelet.formats.nodes import Adapter, Node, safe_label


class OwnAdapter(Adapter):
    """treelet's own trees."""

    shares = True

    def parts(self, node: Node) -> tuple[str, Sequence[Node]]:
        label: Any = getattr(node, "label", node)  # `flatten` checks that it is a valid label
        children = getattr(node, "children", ())
        return label, children if type(children) is tuple else tuple(children)


class NltkAdapter(Adapter):
    """NLTK trees. A leaf ``(word, tag)`` of a chunker becomes a word under its tag; other leaves are words."""

    def parts(self, node: Node) -> tuple[str, Sequence[Node]]:
        return safe_label(str(node.label())), list(map(_nltk_child, node))


def _nltk_child(node: Node) -> Node:
    if type(node) is str:
        return safe_label(node)
    if callable(getattr(node, "label", None)):
        return node
    if type(node) is tuple and len(node) == 2 and all(isinstance(text, str) for text in node):
        return safe_label(node[1]), (safe_label(node[0]),)
    return safe_label(str(node))


_OWN, _NLTK, _SYNTAX, _MARKUP = OwnAdapter(), NltkAdapter(), SyntaxAdapter(), MarkupAdapter()


def adapter_for(item: object) -> Adapter | None:
    """Return the adapter for an object, or None if treelet does not know it as a tree."""
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
    """Return advice for an object that is not a tree."""
    if isinstance(item, os.PathLike):
        return "Read a file with treelet.read_trees."
    if reader_of(item) is not None or (hasattr(item, "words") and hasattr(item, "heads")):
        return "Convert dependency parses with treelet.cuts.dependency_trees."
    return (
        "Pass a Tree, a bracketed string such as '(NP (D the))', an NLTK tree, a Python ast node or an XML element. "
        "None stands for a missing tree."
    )


def walk(root: Node, adapter: Adapter) -> Iterator[tuple[Node, str, int]]:
    """Yield the nodes of a tree, children before parents, with their labels and numbers of children."""
    on_path: set[int] = set()
    stack: list[tuple[Node, str, int]] = [(root, "", -1)]
    while stack:
        entry = node, _, children = stack.pop()
        if children >= 0:
            on_path.discard(id(node))
            yield entry
            continue
        label, below = _label_and_children(node, adapter)
        if below and id(node) in on_path:
            raise TreeError(f"is not a tree: {article(type(node).__name__)} is its own descendant.")
        on_path.add(id(node))
        stack.append((node, label, len(below)))
        stack.extend([(each, "", -1) for each in reversed(below)])


def _check_cycles(root: Node, adapter: Adapter) -> None:
    """Raise an error if a node is its own descendant. `walk` does so, and it terminates."""
    for _ in walk(root, adapter):
        pass


def _label_and_children(node: Node, adapter: Adapter) -> tuple[str, Sequence[Node]]:
    """Return the label and the children of a node, whether it comes from the library or was made by the adapter."""
    if type(node) is str:
        return node, ()
    return node if type(node) is tuple and not adapter.shares else adapter.parts(node)


class _LabelNumbers(dict[str, int]):
    """Numbers labels in the order in which they are first looked up. An invalid label raises an error."""

    def __missing__(self, name: str) -> int:
        if problem := label_problem(name):
            raise TreeError(f"has a node whose label is {problem}.")
        self[name] = number = len(self)
        return number


class _Flat:
    """Trees as two lists, parents before children: per node the number of its label, and the number of its children.

    The arity -1 - k stands for node k once more, with everything below it.
    """

    def __init__(self) -> None:
        self.numbers = _LabelNumbers()
        self.label: list[int] = []
        self.arity: list[int] = []
        self._first_at: dict[int, int] = {}  # by the id of a shared node
        self._alive: list[Node] = []  # so that no other object gets the id of a shared node

    def add(self, root: Node, adapter: Adapter) -> None:
        """Append one more tree."""
        if adapter.shares:
            self._add_shared(root, adapter)
        else:
            self._add_unshared(root, adapter)

    def _add_shared(self, root: Node, adapter: Adapter) -> None:
        """Append a tree whose nodes never change. A node that was met before, also in an earlier tree, becomes a reference."""
        numbers, label, arity, parts = self.numbers, self.label, self.arity, adapter.parts
        first_at, alive = self._first_at, self._alive
        stack = [root]
        while stack:
            node = stack.pop()
            if type(node) is str:
                label.append(numbers[node])
                arity.append(0)
                continue
            name, below = parts(node)
            if below:
                first = first_at.setdefault(id(node), len(label))
                if first < len(label):
                    label.append(0)
                    arity.append(-1 - first)
                    continue
                alive.append(node)
            label.append(numbers[name])
            arity.append(len(below))
            stack += below[::-1]

    def _add_unshared(self, root: Node, adapter: Adapter) -> None:
        """Append a tree of another library. A node that is met twice is written twice, unless it is its own descendant."""
        numbers, label, arity, parts = self.numbers, self.label, self.arity, adapter.parts
        met: dict[int, Node] = {}  # by id; the values keep the nodes alive, and so their ids their own
        checked = False
        stack = [root]
        while stack:
            node = stack.pop()
            kind = type(node)
            if kind is str:
                label.append(numbers[node])
                arity.append(0)
                continue
            if kind is tuple:  # made by the adapter
                name, below = node
            else:
                name, below = parts(node)
                if below and not checked:
                    if id(node) in met:
                        _check_cycles(root, adapter)
                        checked = True
                    met[id(node)] = node
            label.append(numbers[name])
            arity.append(len(below))
            stack += below[::-1]


def flatten(
    items: Iterable[object],
    numbers: Iterable[int] | None = None,
    adapter_of: Callable[[Node], Adapter | None] = adapter_for,
) -> Columns:
    """Return columns of trees from objects that have an adapter. None becomes a missing tree.

    Error messages name items by `numbers`, or by their indices.
    """
    flat = _Flat()
    ends: list[int] = []
    taken: list[int] = []
    missing: list[int] = []
    items = list(items)
    for index, (number, item) in enumerate(zip(numbers or range(len(items)), items, strict=True)):
        if item is None:
            missing.append(index)
            continue
        adapter = adapter_of(item)
        if adapter is None:
            value = f" ({item!r:.60})" if isinstance(item, int | float) else ""
            raise InputTypeError(
                f"Item {number} is {article(type(item).__name__)}{value}, but a tree is needed. {_instead_of(item)}"
            )
        try:
            flat.add(adapter.root(item), adapter)
        except TreeError as error:
            raise TreeError(f"Item {number} {error}") from None
        ends.append(len(flat.label))
        taken.append(number)
    order, arity, endless = _core.children_first(np.array(flat.arity, np.int32), np.array(ends, np.int64))
    if endless >= 0:
        raise TreeError(f"Item {taken[endless]} is not a tree: a node is its own descendant.")
    label = np.array(flat.label, np.int32)[order]
    store, roots = _core.build(list(flat.numbers), label, arity, np.array(ends, np.int64))
    if missing:
        roots = np.insert(roots, np.array(missing) - np.arange(len(missing)), -1).astype(np.int32)
    return Columns(store, roots)
