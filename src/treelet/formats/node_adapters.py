"""Adapters for the nodes of other libraries: Python's ``ast``, and elements of XML and HTML."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from types import UnionType
from typing import Any

from treelet.checks import check_boolean, check_one_of, wrong
from treelet.errors import TreeError
from treelet.formats.nodes import Adapter, Node, Place, value_label

# --- Python syntax trees ---------------------------------------------------------------------------------------------

CONSTANTS = ("values", "types")
IDENTIFIERS = ("keep", "anonymous")

# Fields that contain constants, and fields that contain names which a tree may bind. Imported names, attributes and
# keywords keep their names, because they show what a program uses.
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
_SCOPES = ("FunctionDef", "AsyncFunctionDef", "ClassDef")
_WITH_DOCSTRINGS = ("Module", *_SCOPES)
_PLAIN, _CONSTANT, _DOCUMENTED, _NAMED = range(4)  # kinds of fields
_Fields = tuple[tuple[str, int], ...]


class SyntaxAdapter(Adapter):
    """Converts nodes of ``ast``: the class of a node over its fields, and each field over its values.

    A constant is its type over its value, so ``1``, ``1.0`` and ``"1"`` differ. Empty fields are dropped.

    Parameters
    ----------
    constants : {"values", "types"}, default "values"
        Whether to write constants with their values, or their types only.
    identifiers : {"keep", "anonymous"}, default "keep"
        ``"anonymous"`` replaces names that the tree binds by ``$0``, ``$1``, ... in the order of first appearance.
    docstrings : bool, default True
        Whether to keep docstrings.
    ctx : bool, default False
        Whether to mark each name as read, written or deleted.
    lines : sequence of str, optional
        The source, for positions: ``ast`` counts bytes, and positions count characters.
    root : ast.AST, optional
        Where to look for names, if they become anonymous.
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
        children: list[Node] = []
        for name, holds in fields:
            value: Any = getattr(node, name, None)
            if holds == _CONSTANT:
                children.append(self._constant(value))
                continue
            if value is None:
                continue
            if holds == _DOCUMENTED and _is_docstring(value):
                value = value[1:]
            names = self._names if holds == _NAMED else None
            if isinstance(value, list):
                if value:
                    children.append((name, [_item(each, names) for each in value]))
            else:
                children.append((name, (_item(value, names),)))
        return label, children

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
    """Return the name of a class of nodes, and the kind of each of its fields."""
    name = kind.__name__
    fields: list[tuple[str, int]] = []
    for field in kind._fields:  # type: ignore[attr-defined]
        if (name, field) in _HOLD_CONSTANTS:
            fields.append((field, _CONSTANT))
        elif field == "body" and not docstrings and name in _WITH_DOCSTRINGS:
            fields.append((field, _DOCUMENTED))
        elif field != "ctx" or ctx:
            fields.append((field, _NAMED if (name, field) in _NAMING else _PLAIN))
    return name, tuple(fields)


def _item(value: Any, names: dict[str, str] | None) -> Node:
    if isinstance(value, str):
        return value_label(names.get(value, value) if names else value)
    return value if hasattr(value, "_fields") else value_label(repr(value))


def _text(value: object) -> str:
    """Return the text of a constant. Different constants of one type have different texts."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, int) and value.bit_length() > 4096:
        return hex(value)  # Python refuses to write very many decimal digits
    if isinstance(value, frozenset):
        return repr(sorted(map(repr, value)))
    return repr(value)


def native_rules(
    units: type | UnionType, *, constants: str, docstrings: bool, ctx: bool
) -> tuple[
    Callable[[type], tuple[Any, ...]], Callable[[object], str] | None, Callable[[Any], str], Callable[[Any], bool]
]:
    """Return the functions by which `_core.read_ast` writes the same trees as a `SyntaxAdapter`.

    The first one describes a class: its label, its fields (name, kind of field, whether it always binds names)
    or None if it is not a class of nodes, and whether its nodes are units, begin a scope, or mark a name as
    written. The others return the label of a constant (None if only types are written), the label of any other
    value, and whether a body begins with a docstring.
    """

    def describe(kind: type) -> tuple[Any, ...]:
        if not hasattr(kind, "_fields"):
            return kind.__name__, None, False, False, False
        label, fields = _fields(kind, ctx, docstrings)
        described = tuple((name, holds, (label, name) in _BINDING) for name, holds in fields)
        return label, described, issubclass(kind, units), label in _SCOPES, label in ("Store", "Del")

    constant = (lambda value: value_label(_text(value))) if constants == "values" else None
    return describe, constant, lambda value: value_label(repr(value)), _is_docstring


def _is_docstring(body: Any) -> bool:
    if not isinstance(body, list) or type(next(iter(body), None)).__name__ != "Expr":
        return False
    return isinstance(getattr(body[0].value, "value", None), str)


def nodes_of(root: Node) -> Iterator[Node]:
    """Yield the nodes below an ``ast`` node, parents before children. A node that occurs several times is yielded once."""
    seen: set[int] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if id(node) not in seen:
            seen.add(id(node))
            yield node
            stack += reversed(nodes_below(node))


def nodes_below(node: Node) -> list[Node]:
    """Return the nodes that are values of the fields of an ``ast`` node."""
    values = [getattr(node, name, None) for name in node._fields]
    below = [each for value in values for each in (value if isinstance(value, list) else [value])]
    return [each for each in below if hasattr(each, "_fields")]


def _numbered(root: Node) -> dict[str, str]:
    """Return replacements for the names that a tree binds. An identifier cannot begin with ``$``."""
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


# --- XML and HTML ----------------------------------------------------------------------------------------------------

TEXT = ("words", "whole", "none")
_WORDS = re.compile("[^ \t\n\r\v\f]+")  # a no-break space is part of a word


def check_names(name: str, value: Any, wanted: str) -> None:
    """Raise an error unless the value is a collection of strings."""
    if isinstance(value, str) or not isinstance(value, Collection) or not all(isinstance(each, str) for each in value):
        raise wrong(name, wanted, value)


class MarkupAdapter(Adapter):
    """Converts elements: a name over attributes, sorted by name, and contents.

    An attribute is ``@name`` over its value, and a run of text is ``#text`` over its words; elements cannot
    have such names. Comments, processing instructions and text of white space only are dropped.

    Parameters
    ----------
    attributes : bool or list of str, default True
        Attributes to keep: all, none, or those with the given names.
    text : {"words", "whole", "none"}, default "words"
        One leaf per word, one leaf per run of text, or no text.
    drop : list of str, default ()
        Names of elements to drop, with all their contents.
    places : mapping, optional
        Positions of elements, by ``id``. Elements of lxml know their lines.
    """

    def __init__(
        self,
        *,
        attributes: bool | Collection[str] = True,
        text: str = "words",
        drop: Collection[str] = (),
        places: Mapping[int, Place] | None = None,
    ) -> None:
        if not isinstance(attributes, bool):
            check_names("attributes", attributes, "True, False or a list of names")
        check_one_of("text", text, TEXT)
        check_names("drop", drop, "a list of names")
        self._attributes, self._text, self._drop, self._places = attributes, text, frozenset(drop), places or {}

    def root(self, item: Node) -> Node:
        root = item if hasattr(item, "tag") else item.getroot()
        if root is None:
            raise TreeError("is a document without a root element.")
        return root

    def parts(self, node: Node) -> tuple[str, list[Node]]:
        children = list(self._attributes_of(node)) if self._attributes is not False and node.attrib else []
        run = node.text or ""
        for child in node:
            tag = child.tag
            if isinstance(tag, str) and tag not in self._drop:
                if run:
                    children += self._run(run)
                children.append(child)
                run = ""
            elif getattr(tag, "__name__", "") == "Entity":  # an unresolved entity of lxml
                run += child.text or ""
            run += child.tail or ""
        if run:
            children += self._run(run)
        return value_label(str(node.tag)), children

    def _attributes_of(self, node: Node) -> Iterator[Node]:
        for name, value in sorted(node.attrib.items()):  # lxml cannot look up some names of HTML attributes
            if self._attributes is True or name in self._attributes:  # type: ignore[operator]
                yield "@" + value_label(name), (value_label(value),)

    def _run(self, text: str) -> tuple[Node, ...]:
        words = _WORDS.findall(text) if self._text != "none" else []
        if not words:
            return ()
        return (("#text", tuple(map(value_label, [text] if self._text == "whole" else words))),)

    def place(self, node: Node) -> Place | None:
        line = getattr(node, "sourceline", None)
        return self._places.get(id(node)) or (None if line is None else Place(line))
