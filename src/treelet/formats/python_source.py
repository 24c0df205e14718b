"""Python source as trees: by the interpreter's own parser, with names, constants and places as one likes."""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
import warnings
from typing import IO, Any

from treelet.checks import check_one_of
from treelet.formats.adapters import flatten
from treelet.formats.base import Document, Format, register
from treelet.formats.files import PathLike, Source
from treelet.formats.located import Located, located, opened
from treelet.formats.node_adapters import SyntaxAdapter, nodes_of
from treelet.formats.nodes import Place
from treelet.vocabulary import keyword

Options = dict[str, Any]
SUFFIXES = (".py",)
EACH = {
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
    r"""Python source as trees whose nodes know their places.

    A node is its class, as the module ``ast`` calls it, over its fields, each over what it holds. Comments and layout are
    not in the tree. `treelet.read_trees` reads files with the same options.

    Parameters
    ----------
    source : str, bytes, path, open file or ast.AST
        A string is the source itself, and a ``pathlib.Path`` a file.
    each : {"module", "function", "class", "statement"}
        What becomes a tree: the whole, or every function, every class, wherever it is, or every statement of the outermost
        level.
    constants : {"values", "types"}
        ``"values"``: a constant is its type over its value, ``(Constant (int 1))``. ``"types"``: its type alone.
    identifiers : {"keep", "anonymous"}
        ``"anonymous"``: names that the tree binds, those of variables, parameters, functions and classes, become ``$0``, ``$1``, ...
        in the order of their first appearance in it. Others stay: built-in ones, those of attributes, keywords and what is
        imported.
    docstrings : bool
        Whether to keep them.
    ctx : bool
        Whether to add to names if they are read, written or deleted, which their position says already.
    encoding : str
        Of bytes and files, where it is another than the one that the source declares.

    Returns
    -------
    list of Located
        Taken wherever trees are.

    Raises
    ------
    FormatError
        With line and column: what is no Python for the interpreter at hand, or is nested too deeply for it.

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
    """Python source; the options are those of `python_trees`."""
    options: Options = {"constants": constants, "identifiers": identifiers, "docstrings": docstrings, "ctx": ctx}
    roots, _ = _given(source, each, options)
    trees = flatten(roots, None, lambda root: SyntaxAdapter(**options, root=root))
    return Document(trees={"tree": trees}, lines=[getattr(root, "lineno", 1) for root in roots])


def _given(source: Any, each: str, options: Options, encoding: str = "utf-8") -> tuple[list[ast.AST], list[str]]:
    """The nodes that become trees, and the lines of the source where it is there."""
    check_one_of("each", each, EACH)
    SyntaxAdapter(**options)  # looks at them before anything is read
    lines: list[str] = []
    if not isinstance(source, ast.AST):
        with opened(source, encoding, SUFFIXES) as stream:
            text = _decoded(stream)
            source, lines = _parsed(text, stream), re.split("\r\n|\r|\n", text)
    if each == "module":
        return [source], lines
    if each == "statement":
        return [node for node in getattr(source, "body", []) if isinstance(node, EACH[each])], lines
    return [node for node in nodes_of(source) if isinstance(node, EACH[each])], lines


def _decoded(source: Source) -> str:
    data = b"".join(source.chunks())
    try:
        encoding = "utf-8" if source.decoded else tokenize.detect_encoding(io.BytesIO(data).readline)[0]
        return data.decode(encoding)
    except SyntaxError as error:  # an unknown one
        raise source.error(f"{error.msg}; name the right one ({keyword('encoding')})", 1) from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise source.error(
            f"these bytes are no text in {error.encoding}; name another encoding ({keyword('encoding')})", line
        ) from None


def _parsed(text: str, source: Source) -> ast.Module:
    version = f"Python {sys.version_info.major}.{sys.version_info.minor}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd escapes, which are their author's affair
            return ast.parse(text)
    except SyntaxError as error:
        raise source.error(f"this is no {version}: {error.msg}", error.lineno, error.offset or None) from None
    except (RecursionError, MemoryError):
        raise source.error(f"expressions or blocks are nested too deeply for the parser of {version}") from None
    except ValueError as error:  # NUL
        raise source.error(f"this is no {version}: {error}") from None


register(Format("python", "Python source, a tree a file, function, class or statement", read_python, None, SUFFIXES))
