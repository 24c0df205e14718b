"""Source code as trees: Python by the interpreter's own parser, other languages by tree-sitter."""

from __future__ import annotations

import ast
import gc
import io
import os
import re
import sys
import time
import tokenize
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from typing import IO, Any, TypeVar, cast

import numpy as np

from treelet import _core
from treelet.checks import check_one_of, in_words, plural, wrong
from treelet.errors import FormatError, NotEnoughMemoryError, TreeletError
from treelet.formats.adapters import CONSTANTS, IDENTIFIERS, Located, Place, SyntaxAdapter, located, opened
from treelet.formats.base import Columns, Document, Format, register
from treelet.formats.files import NOT_VALID, PathLike, Source, not_text, text_source
from treelet.formats.languages import BY_SUFFIX, LANGUAGES, UNITS, find_language
from treelet.formats.places import Places
from treelet.resources import available, in_bytes

_Reader = TypeVar("_Reader")

# --- Python ------------------------------------------------------------------------------------------------------------

_EACH = {
    "module": ast.AST,
    "function": ast.FunctionDef | ast.AsyncFunctionDef,
    "class": ast.ClassDef,
    "statement": ast.stmt,
}


def python_trees(
    source: str | bytes | PathLike | IO[Any] | ast.AST,
    *,
    each: str = "module",
    constants: str = "values",
    identifiers: str = "keep",
    docstrings: bool = True,
    ctx: bool = False,
    encoding: str = "utf-8",
) -> list[Located]:
    r"""Convert Python source to trees whose nodes know their line and column.

    A node is labeled with its class in the module ``ast``. Its children are its fields, and their children
    the values. Comments and layout are not part of the tree. `treelet.read_trees` reads files with the same
    options.

    Parameters
    ----------
    source : str, bytes, path, open file or ast.AST
        A string is the source itself. Pass a ``pathlib.Path`` to read a file.
    each : {"module", "function", "class", "statement"} or str, default "module"
        Unit that becomes a tree: the whole source, every function, every class, or every statement of the
        outermost level. Nested functions and classes are included. A class of the module ``ast``, such as
        ``"For"``, selects all its nodes.
    constants : {"values", "types"}, default "values"
        ``"values"`` writes a constant as its type over its value, ``(Constant (int 1))``. ``"types"`` writes
        its type only.
    identifiers : {"keep", "anonymous"}, default "keep"
        ``"anonymous"`` replaces names that are bound in the tree (variables, parameters, functions and
        classes) by ``$0``, ``$1``, ... in the order of first appearance. Built-in names, attributes,
        keywords and imported names are kept.
    docstrings : bool, default True
        Whether to keep docstrings.
    ctx : bool, default False
        Whether to mark each name as read, written or deleted. Its position usually implies this.
    encoding : str, default "utf-8"
        Encoding of bytes and files. Needed only if it differs from the encoding that the source declares.

    Returns
    -------
    list of Located
        One tree per unit. They are accepted wherever trees are.

    Raises
    ------
    FormatError
        If the source is not valid for this version of Python, or is nested too deeply for its parser. The
        error has the line and the column.

    Examples
    --------
    >>> from treelet import Treebank
    >>> from treelet.formats import python_trees
    >>> trees = python_trees("def f(a):\n    return a\n\ndef g(b):\n    return b\n", each="function", identifiers="anonymous")
    >>> [tree.place for tree in trees]
    [Place(line=1, column=1, end_line=2, end_column=13), Place(line=4, column=1, end_line=5, end_column=13)]
    >>> one, other = Treebank(trees).strings()
    >>> one == other
    True
    """
    options: dict[str, Any] = {"constants": constants, "identifiers": identifiers, "docstrings": docstrings, "ctx": ctx}
    roots, lines = _given(source, each, options, encoding)
    whole = Place(1, 1, len(lines), len(lines[-1]) + 1) if lines else None
    return [located(root, SyntaxAdapter(**options, lines=lines, root=root), whole) for root in roots]


def _read_python(
    source: Source,
    *,
    each: str = "module",
    constants: str = "values",
    identifiers: str = "keep",
    docstrings: bool = True,
    ctx: bool = False,
    min_lines: int = 0,
) -> Document:
    """Read Python source. The options are those of `python_trees`. Units with fewer lines of code are left out."""
    options: dict[str, Any] = {"constants": constants, "identifiers": identifiers, "docstrings": docstrings, "ctx": ctx}

    def new_reader(store: _core.Store) -> _core.AstReader:
        whole = each in ("module", "statement")
        rules = SyntaxAdapter(**options).native_rules(_unit_class(each))
        return _core.AstReader(store, whole, identifiers == "anonymous", *rules, min_lines)

    with _reader(source, ("python", each, *options.values(), min_lines), new_reader) as reader:
        text = _python_text(source)
        columns = reader.read(_roots(_python_module(text, source), each), text)  # the nodes end here
    return _syntax_document(source, each, columns)


def _roots(module: ast.Module, each: str) -> list[Any]:
    return module.body if each == "statement" else [module]


@contextmanager
def _reader(source: Source, key: tuple[Any, ...], new: Callable[[_core.Store], _Reader]) -> Iterator[_Reader]:
    """Yield the reader of a file, which is the one of earlier files with the same key, if there are some.

    Meanwhile, the search for reference cycles is paused: a parser creates very many objects that die soon, and no cycles.
    """
    reader = source.shared.pop(key, None) or new(source.shared.setdefault("store", _core.Store()))
    paused = gc.isenabled()
    gc.disable()
    try:
        yield reader
    finally:
        if paused:
            gc.enable()
    source.shared[key] = reader  # not after an exception


def _syntax_document(source: Source, each: str, columns: tuple[Any, ...]) -> Document:
    """Return the trees that the native core read from a source file, with their places. Report skipped units."""
    store, roots, line, end_line, names, node_line, begin, end, code_lines, skipped, short = columns
    source.log.short[source.name] = short
    for at, why in skipped:
        with source.item():
            raise source.error(_WHY[why].format(each.replace("_", " ")), at)
    node_line = node_line.astype(np.min_scalar_type(int(node_line.max(initial=0))))
    places = Places([source.name], np.zeros(len(roots)), line, end_line, names, node_line, begin, end, code_lines)
    return Document(trees={"tree": Columns(store, roots)}, places=places)


_WHY = {
    1: "this {} contains a syntax error.",
    2: "a syntax error outside any {} may hide one.",
    3: f"this {{}} contains {_core.MAX_NESTING} or more others inside each other.",
}
"""Why the native core has skipped a unit."""


def _not_enough_memory(size: int, needed: int, free: int) -> NotEnoughMemoryError:
    """Return the error for a source of this many bytes whose parser needs more memory than is free."""
    return NotEnoughMemoryError(
        f"Parsing {in_bytes(size)} of source code may need {in_bytes(needed)} of memory, but only {in_bytes(free)} are free. "
        "Leave the file out, or free some memory."
    )


def _unit_class(each: str) -> type[ast.AST]:
    """Return the class of the nodes that become trees."""
    named = _EACH.get(each) or getattr(ast, str(each), None)
    if each not in _EACH and not (isinstance(named, type) and issubclass(named, ast.AST)):
        raise wrong("each", f"{in_words([*map(repr, _EACH), 'a class of the module ast'])}", each)
    return cast("type[ast.AST]", named)


def _given(source: Any, each: str, options: dict[str, Any], encoding: str = "utf-8") -> tuple[list[ast.AST], list[str]]:
    """Return the nodes that become trees, and the lines of the source if it is available."""
    units = _unit_class(each)
    SyntaxAdapter(**options)  # checks the options before a file is opened
    lines: list[str] = []
    stream = text_source("")
    if not isinstance(source, ast.AST):
        with opened(source, encoding, (".py",)) as stream:
            text = _python_text(stream)
            source, lines = _python_module(text, stream), re.split("\r\n|\r|\n", text)
    if each == "module":
        return [source], lines
    if each == "statement":
        return [node for node in getattr(source, "body", []) if isinstance(node, units)], lines
    return list(_units(source, units, each, stream)), lines


def _units(root: ast.AST, kind: type[ast.AST], each: str, source: Source) -> Iterator[ast.AST]:
    """Yield the units that do not contain too many others inside each other, as the native core does."""
    found, levels = list[ast.AST](), dict[int, int]()
    parents = list[int]()  # per unit, the index of the unit around it, or -1
    seen, stack = set[int](), [(root, -1)]
    while stack:
        node, around = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, kind):
            found.append(node)
            parents.append(around)
            around = len(found) - 1
        stack += [(below, around) for below in reversed(list(ast.iter_child_nodes(node)))]
    for index in reversed(range(len(found))):
        levels[parents[index]] = max(levels.get(parents[index], 0), levels.get(index, 0) + 1)
    for index, node in enumerate(found):
        if levels.get(index, 0) < _core.MAX_NESTING:
            yield node
        else:
            with source.item():
                raise source.error(_WHY[3].format(each), getattr(node, "lineno", None))


def _python_text(source: Source) -> str:
    data = b"".join(source.chunks())
    try:
        encoding = "utf-8" if source.decoded else tokenize.detect_encoding(io.BytesIO(data).readline)[0]
        return data.decode(encoding)
    except SyntaxError as error:  # an unknown encoding
        raise source.error(f"{error.msg}. Name the right encoding (encoding=).", 1) from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise source.error(
            f"these bytes are not text in the encoding {error.encoding}. Name another encoding (encoding=).", line
        ) from None


def _python_module(text: str, source: Source) -> ast.Module:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as invalid escapes, which do not concern the reader
            return ast.parse(text)
    except SyntaxError as error:
        raise source.error(f"{NOT_VALID} {version} ({error.msg}).", error.lineno, error.offset or None) from None
    except (RecursionError, MemoryError) as error:
        # The parser raises a MemoryError in both cases.
        needed = 1000 * len(text)  # bytes per character, at most; 200 to 400 are usual
        if isinstance(error, MemoryError) and needed > (free := available(fresh=True)):
            raise _not_enough_memory(len(text), needed, free) from None
        raise source.error(f"expressions or blocks are nested too deeply for the parser of Python {version}.") from None
    except ValueError as error:  # a NUL character
        raise source.error(f"{NOT_VALID} {version} ({error}).") from None


register(
    Format(
        "python",
        "Python source, one tree per file, function, class or statement",
        _read_python,
        None,
        (".py",),
        located=python_trees,
    )
)


# --- other languages --------------------------------------------------------------------------------------------------

_PARSE_SECONDS = 10.0
"""Limit of the CPU time to parse a file, per megabyte or part of it. Usual code takes less than a second."""
_SECONDS = "TREELET_PARSE_SECONDS"
_RESERVE = 64 << 20


def _read_code_file(
    source: Source,
    *,
    each: str = "file",
    language: str | None = None,
    constants: str = "values",
    identifiers: str = "keep",
    nodes: str = "named",
    min_lines: int = 0,
) -> Document:
    """Read source code with tree-sitter. The options are those of `treelet.read_code`, and those of `_read_python`."""
    check_one_of("constants", constants, CONSTANTS)
    check_one_of("identifiers", identifiers, IDENTIFIERS)
    check_one_of("nodes", nodes, ("named", "concrete"))
    rules = find_language(language, source.name)
    text = _utf8_text(source)
    try:
        grammar = rules.grammar
    except TreeletError as error:
        raise FormatError(str(error), source.name) from None
    if each not in UNITS and not rules.has_kind(each):
        raise wrong("each", f"{in_words(map(repr, UNITS))}, or a node type of {rules.title}", each)
    anonymous, values = identifiers == "anonymous", constants == "values"

    def new_reader(store: _core.Store) -> _core.NodeReader:
        node_rules, node = rules.node_rules(each, nodes == "concrete", anonymous), import_module("tree_sitter").Node
        return _core.NodeReader(store, each == "file", anonymous, node, node_rules, values, min_lines)

    with _reader(source, (rules.name, each, nodes, anonymous, values, min_lines), new_reader) as reader:
        columns = reader.read(root_node(text, grammar, source), text, partial(_name_of, text))
    return _syntax_document(source, each, columns)


def _located_trees(source: Source, **options: Any) -> list[Located]:
    """Read source code as trees whose nodes know their lines. The options are those of `_read_code_file`."""
    document = _read_code_file(source, **options)
    (store, roots), places = document.trees["tree"], document.places
    labels, label, child, start = store.labels, store.label, store.child, store.child_start
    trees = []
    for row, root in enumerate(roots.tolist()):
        nodes, stack = list[int](), [root]  # parents before children, as the lines
        while stack:
            nodes.append(stack.pop())
            stack += child[start[nodes[-1]] : start[nodes[-1] + 1]].tolist()[::-1]
        assert places is not None
        lines = places.node_lines(row)
        assert lines is not None
        built: list[Located] = []  # the first child last
        for node, line in zip(reversed(nodes), reversed(lines.tolist()), strict=True):
            children = tuple(built.pop() for _ in range(start[node + 1] - start[node]))
            built.append(Located(labels[label[node]], children, Place(line)))
        trees += built
    return trees


def _utf8_text(source: Source) -> bytes:
    """Return the text in UTF-8."""
    data = b"".join(source.chunks())
    if b"\0" in data:
        raise source.error(not_text())
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise source.error(
            "these bytes are not UTF-8 text. Name another encoding (encoding='latin-1').", line
        ) from None
    return data


def root_node(text: bytes, grammar: Any, source: Source) -> Any:
    """Return the root of a source. Give up if it takes too much time or memory: a broken file can take hours or gigabytes."""
    limit = os.environ.get(_SECONDS, "")
    seconds = float(limit) if re.fullmatch(r"\d+(\.\d*)?", limit, re.ASCII) else _PARSE_SECONDS
    seconds *= max(1, -(-len(text) // 1_000_000))
    end, calls, free_before = time.thread_time() + seconds, 0, available(fresh=len(text) > 1 << 16)

    def check(offset: int) -> None:
        nonlocal calls
        if time.thread_time() > end:
            raise source.error(
                f"parsing took longer than {seconds:g} seconds. Leave the file out, or set the environment variable "
                f"{_SECONDS} to more seconds per megabyte."
            )
        if calls % 32 == 0:
            # The parser crashes if it gets no memory. Usual code needs 32 to 100 times its size, hostile text a hundred
            # times as much. At the end of the text, the parser takes up to 1.2 times what it has so far.
            free = available(fresh=True) if calls else free_before
            needed = _RESERVE + 32 * (len(text) - offset) + 3 * max(0, free_before - free) // 2
            if needed > free:
                raise _not_enough_memory(len(text), needed + free_before - free, free_before)
        calls += 1

    chunks, tree = _core.Chunks(text, check), None
    with suppress(ValueError):  # "Parsing failed"
        tree = import_module("tree_sitter").Parser(grammar).parse(chunks)
    chunks.raise_error()
    if tree is None:
        raise source.error("the parser has failed.")
    return tree.root_node


def _name_of(source: bytes, node: Any, parent: Any) -> str:
    """Return the name of a function, class or namespace: its own, or that of the variable or key that it is assigned to."""
    named = node.child_by_field_name("name")
    inner = None if named is not None else node.child_by_field_name("declarator")
    while inner is not None:  # in C, the name is inside the declarator
        named, inner = inner, inner.child_by_field_name("declarator")
    named = named if named is not None else node.child_by_field_name("type")  # impl of Rust
    for field in ("name", "left", "key", "property"):
        if named is None and parent is not None and parent.child_by_field_name(field) != node:
            named = parent.child_by_field_name(field)
    text = (
        "" if named is None else " ".join(source[named.start_byte : named.end_byte].decode("utf-8", "replace").split())
    )
    return text or "<anonymous>"


register(
    Format(
        "code",
        f"Source code in {plural(len(LANGUAGES), 'language')}, by tree-sitter, one tree per file, function or class",
        _read_code_file,
        None,
        tuple(suffix for suffix in BY_SUFFIX if suffix != ".py"),
        located=_located_trees,
    )
)
