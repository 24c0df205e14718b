"""Python's syntax trees: nodes of the module ``ast``, walked as trees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from treelet.checks import check_boolean, check_one_of
from treelet.formats.nodes import Adapter, Node, Place, value_label

CONSTANTS = ("values", "types")
IDENTIFIERS = ("keep", "anonymous")

# Which fields hold constants, and which hold names that a tree may bind. What is imported, attributes and keywords keep
# their names: they say what a program uses.
_HOLD_CONSTANTS = {("Constant", "value"), ("MatchSingleton", "value")}
_BINDING = {
    *(
        (kind, "name")
        for kind in ("FunctionDef", "AsyncFunctionDef", "ClassDef", "ExceptHandler", "MatchAs", "MatchStar")
    ),
    *((kind, "name") for kind in ("TypeVar", "ParamSpec", "TypeVarTuple")),
    ("arg", "arg"),
    ("MatchMapping", "rest"),
}
_NAMING = _BINDING | {("Name", "id"), ("Global", "names"), ("Nonlocal", "names")}
_WITH_DOCSTRINGS = ("Module", "FunctionDef", "AsyncFunctionDef", "ClassDef")
_PLAIN, _CONSTANT, _DOCUMENTED, _NAMED = range(4)  # what a field holds
_Fields = tuple[tuple[str, int], ...]


class SyntaxAdapter(Adapter):
    """Nodes of ``ast``: a node's class over its fields, each over what it holds.

    A constant is its type over its value, so that ``1``, ``1.0`` and ``"1"`` differ. A field that is empty is left out.

    Parameters
    ----------
    constants : {"values", "types"}
        With their values, or their types alone.
    identifiers : {"keep", "anonymous"}
        ``"anonymous"``: names that the tree binds become ``$0``, ``$1``, ... in the order of their first appearance.
    docstrings : bool
        Whether to keep them.
    ctx : bool
        Whether to say of each name if it is read, written or deleted, which its position says already.
    lines : sequence of str, optional
        The source, for places: ``ast`` counts bytes, and places count characters.
    root : ast.AST, optional
        Where names are looked for, if they are to be anonymous.
    """

    def __init__(
        self,
        *,
        constants: str = "values",
        identifiers: str = "keep",
        docstrings: bool = True,
        ctx: bool = False,
        lines: Sequence[str] | None = None,
        root: Node = None,
    ) -> None:
        check_one_of("constants", constants, CONSTANTS)
        check_one_of("identifiers", identifiers, IDENTIFIERS)
        check_boolean("docstrings", docstrings)
        check_boolean("ctx", ctx)
        self._values, self._docstrings, self._ctx, self._lines = constants == "values", docstrings, ctx, lines
        self._known: dict[type, tuple[str, _Fields]] = {}
        self._names = _numbered(root) if identifiers == "anonymous" and root is not None else {}

    def parts(self, node: Node) -> tuple[str, list[Node]]:
        kind: Any = type(node)
        known = self._known.get(kind)
        if known is None:
            known = self._known[kind] = _fields(kind, self._ctx, self._docstrings)
        label, fields = known
        found: list[Node] = []
        for name, holds in fields:
            value: Any = getattr(node, name, None)
            if holds == _CONSTANT:
                found.append(self._constant(value))
                continue
            if value is None:
                continue
            if holds == _DOCUMENTED and _is_docstring(value):
                value = value[1:]
            names = self._names if holds == _NAMED else None
            if isinstance(value, list):
                if value:
                    found.append((name, [_item(each, names) for each in value]))
            else:
                found.append((name, (_item(value, names),)))
        return label, found

    def _constant(self, value: object) -> Node:
        if value is None or value is Ellipsis:
            return str(value)
        return type(value).__name__, (value_label(_text(value)),) if self._values else ()

    def place(self, node: Node) -> Place | None:
        if getattr(node, "lineno", None) is None:
            return None
        end = getattr(node, "end_lineno", None)
        end_column = None if end is None else self._column(end, node.end_col_offset)
        return Place(node.lineno, self._column(node.lineno, node.col_offset), end, end_column)

    def _column(self, line: int, offset: int) -> int:
        text = self._lines[line - 1] if self._lines and line <= len(self._lines) else ""
        return 1 + (offset if text.isascii() else len(text.encode()[:offset].decode("utf-8", "replace")))


@lru_cache(1024)
def _fields(kind: type, ctx: bool, docstrings: bool) -> tuple[str, _Fields]:
    """The name of a class of nodes, and of its fields what they hold."""
    name = kind.__name__
    found: list[tuple[str, int]] = []
    for field in kind._fields:  # type: ignore[attr-defined]
        if (name, field) in _HOLD_CONSTANTS:
            found.append((field, _CONSTANT))
        elif field == "body" and not docstrings and name in _WITH_DOCSTRINGS:
            found.append((field, _DOCUMENTED))
        elif field != "ctx" or ctx:
            found.append((field, _NAMED if (name, field) in _NAMING else _PLAIN))
    return name, tuple(found)


def _item(value: Any, names: dict[str, str] | None) -> Node:
    if isinstance(value, str):
        return value_label(names.get(value, value) if names else value)
    return value if hasattr(value, "_fields") else value_label(repr(value))


def _text(value: object) -> str:
    """A constant in writing; together with its type, different constants have different texts."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, int) and value.bit_length() > 4096:
        return hex(value)  # Python refuses to write so many decimal digits
    if isinstance(value, frozenset):
        return repr(sorted(map(repr, value)))
    return repr(value)


def _is_docstring(body: Any) -> bool:
    if not isinstance(body, list) or type(next(iter(body), None)).__name__ != "Expr":
        return False
    return isinstance(getattr(body[0].value, "value", None), str)


def nodes_of(root: Node) -> Iterator[Node]:
    """The nodes of ``ast`` from here on, parents before children, each once: it may be part of several, or of itself."""
    seen: set[int] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if id(node) not in seen:
            seen.add(id(node))
            yield node
            values = [getattr(node, name, None) for name in node._fields]
            below = [each for value in values for each in (value if isinstance(value, list) else [value])]
            stack += [each for each in reversed(below) if hasattr(each, "_fields")]


def _numbered(root: Node) -> dict[str, str]:
    """The names that a tree binds, and what stands for them. No identifier begins with ``$``."""
    bound: set[str] = set()
    used: dict[str, None] = {}  # in order
    for node in nodes_of(root):
        kind = type(node).__name__
        for name in node._fields:
            value = getattr(node, name, None)
            values = value if isinstance(value, list) else [value]
            if (kind, name) in _NAMING:
                texts = [each for each in values if isinstance(each, str)]
                used.update(dict.fromkeys(texts))
                if (kind, name) in _BINDING or type(getattr(node, "ctx", None)).__name__ in ("Store", "Del"):
                    bound.update(texts)
    return {name: f"${number}" for number, name in enumerate(name for name in used if name in bound)}
