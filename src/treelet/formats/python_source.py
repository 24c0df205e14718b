"""Python source as trees, parsed by the interpreter's own parser."""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
import warnings
from collections.abc import Iterator
from typing import IO, Any, cast

import numpy as np

from treelet import _core
from treelet.checks import in_words, wrong
from treelet.errors import NotEnoughMemoryError
from treelet.formats.adapters import Place, SyntaxAdapter, native_rules, nodes_below
from treelet.formats.base import Columns, Document, Format, register
from treelet.formats.files import PathLike, Source, text_source
from treelet.formats.located import Located, located, opened
from treelet.formats.places import Places
from treelet.memory import available, in_bytes

Options = dict[str, Any]
_SUFFIXES = (".py",)
_EACH = {
    "module": ast.AST,
    "function": ast.FunctionDef | ast.AsyncFunctionDef,
    "class": ast.ClassDef,
    "statement": ast.stmt,
}
_PARSER_MEMORY = 1000  # bytes per character of source, at most; 200 to 400 are usual


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
    options: Options = {"constants": constants, "identifiers": identifiers, "docstrings": docstrings, "ctx": ctx}
    roots, lines = _given(source, each, options, encoding)
    whole = Place(1, 1, len(lines), len(lines[-1]) + 1) if lines else None
    return [located(root, SyntaxAdapter(**options, lines=lines, root=root), whole) for root in roots]


def read_python(
    source: Source,
    *,
    each: str = "module",
    constants: str = "values",
    identifiers: str = "keep",
    docstrings: bool = True,
    ctx: bool = False,
) -> Document:
    """Read Python source. The options are those of `python_trees`."""
    options: Options = {"constants": constants, "identifiers": identifiers, "docstrings": docstrings, "ctx": ctx}
    units = _checked(each, options)
    text = _decoded(source)
    module = _parsed(text, source)
    rules = native_rules(units, constants=constants, docstrings=docstrings, ctx=ctx)
    roots = module.body if each == "statement" else [module]
    whole = each in ("module", "statement")
    return syntax_document(source, each, _core.read_ast(roots, text, whole, identifiers == "anonymous", *rules))


def syntax_document(source: Source, each: str, columns: tuple[Any, ...]) -> Document:
    """Return the trees that the native core read from a source file, with their places. Report skipped units."""
    store, roots, line, end_line, names, node_line, begin, end, code_lines, skipped = columns
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


def not_enough_memory(size: int, needed: int, free: int) -> NotEnoughMemoryError:
    """Return the error for a source of this many bytes whose parser needs more memory than is free."""
    return NotEnoughMemoryError(
        f"Parsing {in_bytes(size)} of source code may need {in_bytes(needed)} of memory, but only {in_bytes(free)} are free. "
        "Leave the file out, or free some memory."
    )


def is_node_type(name: object) -> bool:
    """Return whether a class of the module ``ast`` has this name."""
    named = getattr(ast, name, None) if isinstance(name, str) else None
    return isinstance(named, type) and issubclass(named, ast.AST)


def _checked(each: str, options: Options) -> type[ast.AST]:
    """Check the options, and return the class of the nodes that become trees."""
    if each not in _EACH and not is_node_type(each):
        raise wrong("each", f"{in_words([*map(repr, _EACH), 'a class of the module ast'])}", each)
    SyntaxAdapter(**options)
    return cast("type[ast.AST]", _EACH[each] if each in _EACH else getattr(ast, each))


def _given(source: Any, each: str, options: Options, encoding: str = "utf-8") -> tuple[list[ast.AST], list[str]]:
    """Return the nodes that become trees, and the lines of the source if it is available."""
    units = _checked(each, options)
    lines: list[str] = []
    stream = text_source("")
    if not isinstance(source, ast.AST):
        with opened(source, encoding, _SUFFIXES) as stream:
            text = _decoded(stream)
            source, lines = _parsed(text, stream), re.split("\r\n|\r|\n", text)
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
        stack += [(below, around) for below in reversed(nodes_below(node))]
    for index in reversed(range(len(found))):
        levels[parents[index]] = max(levels.get(parents[index], 0), levels.get(index, 0) + 1)
    for index, node in enumerate(found):
        if levels.get(index, 0) < _core.MAX_NESTING:
            yield node
        else:
            with source.item():
                raise source.error(_WHY[3].format(each), getattr(node, "lineno", None))


def _decoded(source: Source) -> str:
    data = b"".join(source.chunks())
    try:
        encoding = "utf-8" if source.decoded else tokenize.detect_encoding(io.BytesIO(data).readline)[0]
        return data.decode(encoding)
    except SyntaxError as error:  # an unknown encoding
        raise source.error(f"{error.msg}. Name the right encoding (encoding=).", 1) from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise source.error(
            f"these bytes are not text in the encoding {error.encoding}. Name another encoding (encoding=).",
            line,
        ) from None


def _parsed(text: str, source: Source) -> ast.Module:
    version = f"Python {sys.version_info.major}.{sys.version_info.minor}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as invalid escapes, which do not concern the reader
            return ast.parse(text)
    except SyntaxError as error:
        raise source.error(f"this is not valid {version} ({error.msg}).", error.lineno, error.offset or None) from None
    except (RecursionError, MemoryError) as error:
        # The parser raises a MemoryError in both cases.
        needed = _PARSER_MEMORY * len(text)
        if isinstance(error, MemoryError) and needed > (free := available(fresh=True)):
            raise not_enough_memory(len(text), needed, free) from None
        raise source.error(f"expressions or blocks are nested too deeply for the parser of {version}.") from None
    except ValueError as error:  # a NUL character
        raise source.error(f"this is not valid {version} ({error}).") from None


register(
    Format(
        "python",
        "Python source, one tree per file, function, class or statement",
        read_python,
        None,
        _SUFFIXES,
        located=python_trees,
    )
)
