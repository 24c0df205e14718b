"""Adapters for trees of other libraries, and trees whose nodes know their position in a source.

Nothing is imported: objects are recognized by their attributes. An adapter returns the label and the
children of a node; `flatten` and `located` do the rest, without recursion.
"""

from __future__ import annotations

import ast
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from types import UnionType
from typing import Any, NamedTuple, get_args

import numpy as np

from treelet import _core
from treelet.checks import article, check_boolean, check_one_of, wrong
from treelet.errors import InputTypeError, TreeError
from treelet.formats.base import Columns
from treelet.formats.brackets import label_problem
from treelet.formats.files import Source, open_source, text_source, unpacked_name

# --- adapters' view of the nodes of other libraries: labels, children, places -----------------------------------------

Node = Any
_KNOWN = 8192  # size of the caches of labels: most names occur again and again

_PENN = str.maketrans(
    {"(": "-LRB-", ")": "-RRB-", " ": "_", "\t": "_", "\n": "_", "\r": "_", "\v": "_", "\f": "_", "\0": "_"}
)
_ESCAPES = {" ": "\\s", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\\": "\\\\"}
_ESCAPED = re.compile("[() \t\n\r\v\f\0\\\\\ud800-\udfff]")
_EMPTY = "\\e"


def escape(text: str) -> str:
    """Make a label of any text, as treebanks do.

    Round brackets become ``-LRB-`` and ``-RRB-``. White space becomes ``_``, and an empty text becomes ``''``.

    Parameters
    ----------
    text : str
        For example a token of a sentence.

    Returns
    -------
    str
        A label that `treelet.Tree` accepts.

    See Also
    --------
    unescape : turns ``-LRB-`` and ``-RRB-`` back into brackets.

    Examples
    --------
    >>> import treelet as tl
    >>> print(tl.Tree("-LRB-", [tl.formats.escape("(")]))
    (-LRB- -LRB-)
    >>> print(tl.formats.escape("f(x) = 1"))
    f-LRB-x-RRB-_=_1
    """
    clean = text.translate(_PENN) or "''"
    return clean if clean.isascii() else clean.encode("utf-8", "replace").decode()


def unescape(label: str) -> str:
    """Replace ``-LRB-`` and ``-RRB-`` in a label with brackets.

    Underscores stay, because they may have been part of the text that was passed to `escape`.

    Examples
    --------
    >>> import treelet as tl
    >>> tree = tl.Tree.parse("(NP (N f) (-LRB- -LRB-) (N x) (-RRB- -RRB-))")
    >>> [tl.formats.unescape(word) for word in tree.words()]
    ['f', '(', 'x', ')']
    """
    return label.replace("-LRB-", "(").replace("-RRB-", ")")


safe_label = lru_cache(_KNOWN)(escape)  # cached, because most words occur again and again


@lru_cache(_KNOWN)
def _value_label(text: str) -> str:
    r"""Return a text as a label, with backslash escapes. Different texts have different labels.

    >>> print(_value_label("f(a b)"), _value_label("a_b"), _value_label(""))
    f\x28a\sb\x29 a_b \e
    """
    return _ESCAPED.sub(_escape, text) if text else _EMPTY


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return _ESCAPES.get(match[0]) or (f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")


class Place(NamedTuple):
    """Position of a node in its source. Lines and columns are counted from 1; unknown values are None.

    Attributes
    ----------
    line, column : int
        Begin of the node.
    end_line, end_column : int or None
        End of the node.
    """

    line: int
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None


class _Adapter(ABC):
    """Converts objects of another library to trees."""

    shares = False
    """Whether nodes never change. If so, a node that occurs again is the same subtree."""

    def root(self, item: Node) -> Node:
        """Return the node to begin with."""
        return item

    @abstractmethod
    def parts(self, node: Node) -> tuple[str, Sequence[Node]]:
        """Return the label of a node and its children, in order.

        A child that is a string is a leaf with that label. A plain tuple ``(label, children)`` is a node
        for a part of this node: a field, a value, an attribute, a run of text. Other children are nodes.
        If nodes are shared, tuples have no special meaning.
        """

    def place(self, node: Node) -> Place | None:
        """Return the position of a node, or None to use the position of its parent."""
        return None


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


class SyntaxAdapter(_Adapter):
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
        return type(value).__name__, (_value_label(_text(value)),) if self._values else ()

    def native_rules(
        self, units: type | UnionType
    ) -> tuple[
        Callable[[type], tuple[Any, ...]], Callable[[object], str] | None, Callable[[Any], str], Callable[[Any], bool]
    ]:
        """Return the functions by which `_core.read_ast` writes the same trees as this adapter.

        The first one describes a class: its label, its fields (name, kind of field, whether it always binds names)
        or None if it is not a class of nodes, and whether its nodes are units, begin a scope, mark a name as
        written, or may have units inside. The others return the label of a constant (None if only types are written), the label of any other
        value, and whether a body begins with a docstring.
        """
        statements = all(issubclass(unit, ast.stmt) for unit in get_args(units) or (units,))

        def describe(kind: type) -> tuple[Any, ...]:
            if not hasattr(kind, "_fields"):
                return kind.__name__, None, False, False, False, False
            may_hold_units = not (statements and issubclass(kind, ast.expr))
            label, fields = _fields(kind, self._ctx, self._docstrings)
            described = tuple((name, holds, (label, name) in _BINDING) for name, holds in fields)
            stores = label in ("Store", "Del")
            return label, described, issubclass(kind, units), label in _SCOPES, stores, may_hold_units

        constant = (lambda value: _value_label(_text(value))) if self._values else None
        return describe, constant, lambda value: _value_label(repr(value)), _is_docstring

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
        return _value_label(names.get(value, value) if names else value)
    return value if hasattr(value, "_fields") else _value_label(repr(value))


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


def _is_docstring(body: Any) -> bool:
    if not isinstance(body, list) or type(next(iter(body), None)).__name__ != "Expr":
        return False
    return isinstance(getattr(body[0].value, "value", None), str)


def _nodes_of(root: Node) -> Iterator[Node]:
    """Yield the nodes below an ``ast`` node, parents before children. A node that occurs several times is yielded once."""
    seen: set[int] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if id(node) not in seen:
            seen.add(id(node))
            yield node
            stack += reversed(_nodes_below(node))


def _nodes_below(node: Node) -> list[Node]:
    """Return the nodes that are values of the fields of an ``ast`` node."""
    values = [getattr(node, name, None) for name in node._fields]
    below = [each for value in values for each in (value if isinstance(value, list) else [value])]
    return [each for each in below if hasattr(each, "_fields")]


def _numbered(root: Node) -> dict[str, str]:
    """Return replacements for the names that a tree binds. An identifier cannot begin with ``$``."""
    bound: set[str] = set()
    used: dict[str, None] = {}  # in order
    for node in _nodes_of(root):
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

_TEXT = ("words", "whole", "none")
_WORDS = re.compile("[^ \t\n\r\v\f]+")  # a no-break space is part of a word


def _check_names(name: str, value: Any, wanted: str) -> None:
    """Raise an error unless the value is a collection of strings."""
    if isinstance(value, str) or not isinstance(value, Collection) or not all(isinstance(each, str) for each in value):
        raise wrong(name, wanted, value)


class MarkupAdapter(_Adapter):
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
            _check_names("attributes", attributes, "True, False or a list of names")
        check_one_of("text", text, _TEXT)
        _check_names("drop", drop, "a list of names")
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
        return _value_label(str(node.tag)), children

    def _attributes_of(self, node: Node) -> Iterator[Node]:
        for name, value in sorted(node.attrib.items()):  # lxml cannot look up some names of HTML attributes
            if self._attributes is True or name in self._attributes:  # type: ignore[operator]
                yield "@" + _value_label(name), (_value_label(value),)

    def _run(self, text: str) -> tuple[Node, ...]:
        words = _WORDS.findall(text) if self._text != "none" else []
        if not words:
            return ()
        return (("#text", tuple(map(_value_label, [text] if self._text == "whole" else words))),)

    def place(self, node: Node) -> Place | None:
        line = getattr(node, "sourceline", None)
        return self._places.get(id(node)) or (None if line is None else Place(line))


# --- adapters for trees of other libraries ----------------------------------------------------------------------------


class _OwnAdapter(_Adapter):
    """treelet's own trees."""

    shares = True

    def parts(self, node: Node) -> tuple[str, Sequence[Node]]:
        label: Any = getattr(node, "label", node)  # `flatten` checks that it is a valid label
        children = getattr(node, "children", ())
        return label, children if type(children) is tuple else tuple(children)


class _NltkAdapter(_Adapter):
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


_OWN, _NLTK, _SYNTAX, _MARKUP = _OwnAdapter(), _NltkAdapter(), SyntaxAdapter(), MarkupAdapter()


def adapter_for(item: object) -> _Adapter | None:
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


def library_of(item: Any) -> str | None:
    """Return the library that made a dependency parse, as in `Dependencies.from_spacy`; None for any other object."""
    if hasattr(getattr(item, "doc", item), "has_annotation"):
        return "spacy"
    if hasattr(item, "words") and hasattr(item, "tokens"):
        return "stanza"
    if isinstance(item, list) and item and all(isinstance(token, Mapping) and "form" in token for token in item):
        return "conllu"
    return None


def _walk(root: Node, adapter: _Adapter) -> Iterator[tuple[Node, str, int]]:
    """Yield the nodes of a tree, children before parents, with their labels and numbers of children."""
    on_path: set[int] = set()
    stack: list[tuple[Node, str, int]] = [(root, "", -1)]
    while stack:
        entry = node, _, children = stack.pop()
        if children >= 0:
            on_path.discard(id(node))
            yield entry
            continue
        if type(node) is str:
            stack.append((node, node, 0))
            continue
        made = type(node) is tuple and not adapter.shares  # by the adapter
        label, below = node if made else adapter.parts(node)
        if below and id(node) in on_path:
            raise TreeError(f"is not a tree: {article(type(node).__name__)} is its own descendant.")
        on_path.add(id(node))
        stack.append((node, label, len(below)))
        stack.extend([(each, "", -1) for each in reversed(below)])


class _LabelNumbers(dict[str, int]):
    """Numbers labels in the order in which they are first looked up. An invalid label raises an error."""

    def __missing__(self, name: str) -> int:
        if problem := label_problem(name):
            raise TreeError(f"has a node whose label is {problem}.")
        self[name] = number = len(self)
        return number


def flatten(
    items: Iterable[object],
    numbers: Iterable[int] | None = None,
    adapter_of: Callable[[Node], _Adapter | None] = adapter_for,
) -> Columns:
    """Return columns of trees from objects that have an adapter. None becomes a missing tree.

    Error messages name items by `numbers`, or by their indices.
    """
    # Per node, parents before children: the number of its label, and the number of its children. The arity -1 - k stands
    # for node k once more, with everything below it.
    label_numbers = _LabelNumbers()
    label: list[int] = []
    arity: list[int] = []
    first_at: dict[int, int] = {}  # first position of each shared node, by its id
    alive: list[Node] = []  # the same nodes, so that no other object gets the id of one of them
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
            remedy = (
                "Pass a Tree, a bracketed string such as '(NP (D the))', an NLTK tree, a Python ast node or an XML element. "
                "None stands for a missing tree."
            )
            if isinstance(item, os.PathLike):
                remedy = "Read a file with treelet.read_trees."
            elif library_of(item) is not None or (hasattr(item, "words") and hasattr(item, "heads")):
                remedy = "Convert dependency parses with treelet.cuts.dependency_trees."
            raise InputTypeError(
                f"Item {number} is {article(type(item).__name__)}{value}, but a tree is needed. {remedy}"
            )
        parts, shares, checked = adapter.parts, adapter.shares, False
        met_at, met = (first_at, alive) if shares else ({}, [])
        try:
            root = adapter.root(item)
            stack = [root]
            while stack:
                node = stack.pop()
                kind = type(node)
                if kind is str:
                    label.append(label_numbers[node])
                    arity.append(0)
                    continue
                if kind is tuple and not shares:  # made by the adapter
                    name, below = node
                else:
                    name, below = parts(node)
                    if below:
                        here = len(label)
                        first = met_at.setdefault(id(node), here)
                        if first == here:
                            met.append(node)
                        elif shares:  # met before, perhaps in an earlier tree
                            label.append(0)
                            arity.append(-1 - first)
                            continue
                        elif not checked:  # met twice and written twice, unless it is its own descendant
                            for _ in _walk(root, adapter):
                                pass
                            checked = True
                label.append(label_numbers[name])
                arity.append(len(below))
                stack += below[::-1]
        except TreeError as error:
            raise TreeError(f"Item {number} {error}") from None
        ends.append(len(label))
        taken.append(number)
    order, arities, endless = _core.children_first(np.array(arity, np.int32), np.array(ends, np.int64))
    if endless >= 0:
        raise TreeError(f"Item {taken[endless]} is not a tree: a node is its own descendant.")
    labels = np.array(label, np.int32)[order]
    store, roots = _core.build(list(label_numbers), labels, arities, np.array(ends, np.int64))
    if missing:
        roots = np.insert(roots, np.array(missing) - np.arange(len(missing)), -1).astype(np.int32)
    return Columns(store, roots)


# --- trees whose nodes know their position ------------------------------------------------------------------------------


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


def located(item: Node, adapter: _Adapter, place: Place | None = None) -> Located:
    """Convert an object that has an adapter. If its root has no position, the root gets `place`."""
    built: list[Located] = []
    try:
        for node, label, children in _walk(adapter.root(item), adapter):
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
