"""Python source as trees, parsed by the interpreter's own parser."""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
import warnings
from collections.abc import Callable, Iterator
from typing import IO, Any, cast

import numpy as np

from treelet import _core
from treelet.checks import in_words, wrong
from treelet.errors import FormatError, NotEnoughMemoryError
from treelet.formats.adapters import Place, SyntaxAdapter, native_rules, nodes_below
from treelet.formats.base import Columns, Document, Format, register
from treelet.formats.files import PathLike, Source, text_source
from treelet.formats.located import Located, located, opened
from treelet.formats.places import Places
from treelet.memory import available, in_bytes
from treelet.vocabulary import keyword

# --- Python source with syntax errors ---------------------------------------------------------------------------------

_MAX_LEVELS = 100
"""Number of nested blocks that are split; Python's own limit of indentation."""
_MAX_CUTS = 6
"""Number of nested blocks in which open strings are looked for. Every level doubles the time."""

_TOKEN = re.compile(
    r"'''|\"\"\"" r"|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"" r"|['\"].*" r"|\#.*" r"|[()\[\]{}]"
)  # an open string ends with its line
_CLOSING = {quotes: re.compile(rf"(?:[^\\]|\\.)*?{quotes}") for quotes in ("'''", '"""')}
_STATEMENT = re.compile(
    r"(?:def|class|import|try|while|with|return|raise|del|assert|pass|break|continue|global|nonlocal|except|finally|elif"
    r"|async\s+(?:def|with))\b"
)
"""Begin of lines that cannot be a part of an expression."""
_DEFINITION = re.compile(r"(?:def|class|async)\b")
_BLOCK = re.compile(r"(?:class|if|for|while|with|try|match|case|async\s+(?:for|with)|else|elif|except|finally)\b")
_CLAUSE = re.compile(r"(?:else|elif|except|finally)\b")
_CLOSED = re.compile(r"[)\]}]")
_COLON = re.compile(r":\s*(?:#.*)?$")
_CLASS = re.compile(r"class\s+(\w+)")

Parse = Callable[[str], ast.Module]

DamagedBlock = type("ClassDef", (ast.AST,), {"_fields": ("body",)})
"""What could be parsed of a damaged class or block.

Its name is that of the class, or empty. The class is called ClassDef, because the reader adds names of such nodes to
qualified names. It is not an `ast.ClassDef`, so it is never a unit.
"""


def _parse_damaged(text: str, parse: Parse) -> tuple[ast.Module, list[FormatError]]:
    """Return the undamaged statements of a source, and one error per damaged statement.

    Parameters
    ----------
    text : str
        Source that cannot be parsed as a whole.
    parse : callable
        Parses a part of the source. It raises a `FormatError` with the line in that part.
    """
    recovery = _Recovery(text, parse)
    body = recovery.read(0, len(recovery.lines), 0)
    return ast.Module(body=cast("list[ast.stmt]", body), type_ignores=[]), [error for _, _, error in recovery.damages]


class _Recovery:
    def __init__(self, text: str, parse: Parse) -> None:
        self.lines = re.split("\r\n|\r|\n", text)
        stripped = [line.lstrip(" \t\f") for line in self.lines]
        self.code = ["" if line.startswith("#") else line for line in stripped]
        """Lines without indentation; empty for comments."""
        self.indents = [
            len(line[: len(line) - len(rest)].rpartition("\f")[2].expandtabs(8))
            for line, rest in zip(self.lines, stripped, strict=True)
        ]
        self.damages: list[tuple[int, int, FormatError]] = []
        """First line of each damaged statement, the line after it, and the error."""
        self._parse, self._level = parse, 0
        self._decorated: dict[int, bool] = {}  # by line of a decorator: whether it is followed by a definition

    def read(self, begin: int, end: int, indent: int) -> list[ast.AST]:
        """Return the undamaged statements with an indentation in a range of lines."""
        nodes: list[ast.AST] = []
        while (begin := self._next_code(begin, end)) < end:
            stop, inside_strings = self._statement_end(begin, end, indent)
            known = len(self.damages)
            statements = self._parsed_or_split(begin, stop, indent)
            cut = self._open_string(inside_strings, indent, known) if self._level < _MAX_CUTS else stop
            if cut < stop:
                del self.damages[known:]
                stop, statements = cut, self._parsed_or_split(begin, cut, indent)
            nodes += statements
            begin = stop
        return nodes

    def _open_string(self, inside_strings: list[int], indent: int, known: int) -> int:
        """Return the first line of a statement that an open string of a damaged statement has swallowed, or a large number."""
        for line in inside_strings:
            damaged = self.indents[line] <= indent and any(
                begin <= line < end for begin, end, _ in self.damages[known:]
            )
            if damaged and self._begins_statement(line):
                return line
        return len(self.lines)

    def _parsed_or_split(self, begin: int, end: int, indent: int) -> list[ast.AST]:
        try:
            return self._parsed(begin, end, indent)
        except FormatError as error:
            return self._split(begin, end, indent, error)

    def _split(self, begin: int, end: int, indent: int, error: FormatError) -> list[ast.AST]:
        """Return the undamaged statements inside a damaged statement."""
        first, known, blocks = begin, len(self.damages), list[ast.AST]()
        while begin < end and self.code[begin].startswith("@"):
            begin = self._next_code(self._logical_end(begin, end)[0], end)
        self._level += 1
        while begin < end and _BLOCK.match(self.code[begin]) and self._level <= _MAX_LEVELS:
            body = self._next_code(self._logical_end(begin, end)[0], end)
            while body < end and self.indents[body] <= indent:
                body = self._next_code(body + 1, end)
            if body == end:
                break
            stop = self._clause_end(body, end, indent)
            named = _CLASS.match(self.code[begin])
            block = DamagedBlock(body=self.read(body, stop, self.indents[body]))
            block.name = named[1] if named else ""
            if block.body:
                blocks.append(block)
            begin = stop
        self._level -= 1
        if len(self.damages) == known:  # the error is not inside a statement of the body
            self.damages.append((first, end, error))
        return blocks

    def _parsed(self, begin: int, end: int, indent: int) -> list[ast.AST]:
        """Parse lines. Their first statement may be indented."""
        text, offset = "\n".join([*self.lines[begin:end], ""]), begin
        if indent:
            text, offset = f"if 1:\n{text}", begin - 1
        try:
            statements: list[Any] = self._parse(text).body
        except FormatError as error:
            line = None if error.line is None else max(begin + 1, error.line + offset)
            raise FormatError(error.message, error.source, line, error.column) from None
        if indent:
            statements = [*statements[0].body, *statements[1:]]
        return [ast.increment_lineno(statement, offset) for statement in statements]

    # --- lines --------------------------------------------------------------------------------------------------------

    def _next_code(self, line: int, end: int) -> int:
        while line < end and not self.code[line]:
            line += 1
        return line

    def _begins_definition(self, line: int) -> bool:
        """Return whether a line begins a function or a class. ``@`` is also an operator, so its next line decides."""
        decorators = list[int]()
        while line < len(self.lines) and line not in self._decorated and self.code[line].startswith("@"):
            decorators.append(line)
            indent, line = self.indents[line], line + 1
            while line < len(self.lines) and (
                not self.code[line] or self.indents[line] > indent or _CLOSED.match(self.code[line])
            ):
                line += 1
        begins = line < len(self.lines) and self._decorated.get(line, bool(_DEFINITION.match(self.code[line])))
        self._decorated.update(dict.fromkeys(decorators, begins))
        return begins

    def _logical_end(self, begin: int, end: int) -> tuple[int, list[int]]:
        """Return the line after a logical line, and the lines of it that begin inside a string."""
        depth, quotes, inside_strings = 0, "", list[int]()
        for number in range(begin, end):
            if quotes:
                inside_strings.append(number)
            elif number > begin and depth and self._begins_statement(number):
                return number, inside_strings
            line, position, last = self.lines[number], 0, ""
            while token := (_CLOSING[quotes].match if quotes else _TOKEN.search)(line, position):
                position, last = token.end(), token[0]
                if quotes:
                    quotes = ""
                elif last in _CLOSING:
                    quotes = last
                elif last in "([{":
                    depth += 1
                elif last in ")]}":
                    depth = max(0, depth - 1)
            continued = line.endswith("\\") and not last.startswith("#")
            if not (quotes or depth or continued):
                return number + 1, inside_strings
        return end, inside_strings

    def _begins_statement(self, line: int) -> bool:
        """Return whether a line can only be the begin of a statement."""
        code = self.code[line]
        if code.startswith("@"):
            return self._begins_definition(line)
        return bool(_STATEMENT.match(code) or (_BLOCK.match(code) and _COLON.search(code)))

    def _statement_end(self, begin: int, end: int, indent: int) -> tuple[int, list[int]]:
        """Return the line after a statement, and the lines of it that begin inside a string."""
        line, decorated, body_indent, inside_strings = begin, True, indent, list[int]()
        while line < end:
            stop, within = self._logical_end(line, end)
            if line > begin and not decorated and self._is_boundary(line, stop, end, indent, body_indent):
                return line, inside_strings
            decorated = self.code[line].startswith("@") and decorated
            if body_indent == indent and not _BLOCK.match(self.code[begin]):
                body_indent = max(indent, self.indents[line])
            inside_strings += within
            line = self._next_code(stop, end)
        return end, inside_strings

    def _is_boundary(self, line: int, stop: int, end: int, indent: int, body_indent: int) -> bool:
        """Return whether a statement of a block begins at a line, after a statement whose body has another indentation."""
        code = self.code[line]
        if self.indents[line] != indent:  # a definition with a wrong indentation, or what follows the block
            after = self.indents[line] < indent and all(
                self.indents[below] < indent for below in range(line, end) if self.code[below]
            )
            return after or (self.indents[line] < max(body_indent, indent) and self._begins_definition(line))
        if _CLAUSE.match(code) or _CLOSED.match(code):
            return False
        body = self._next_code(stop, end)
        if body == end or self.indents[body] <= indent:
            return True
        # A damaged line of the statement before may have lost its indentation. Then it has no body of its own, or lines
        # of the block follow that are indented less than the body.
        if not (self._begins_statement(line) or code.startswith("@") or _COLON.search(self.lines[stop - 1])):
            return False
        for below in range(body, end):
            if self.code[below] and self.indents[below] <= indent:
                return True
            if self.indents[below] < self.indents[body] and self._begins_definition(below):
                return False
        return True

    def _clause_end(self, begin: int, end: int, indent: int) -> int:
        """Return the line at which the next clause of a compound statement begins, such as ``else``."""
        line = begin
        while line < end:
            if self.indents[line] == indent and _CLAUSE.match(self.code[line]):
                return line
            line = self._next_code(self._logical_end(line, end)[0], end)
        return end


# --- Python source as trees, parsed by the interpreter's own parser ---------------------------------------------------

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
    module = _recovered(text, source, units)
    rules = native_rules(units, constants=constants, docstrings=docstrings, ctx=ctx)
    statements = [node for node in module.body if isinstance(node, ast.stmt)]
    roots = statements if each == "statement" else [module]
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
        raise source.error(f"{error.msg}. Name the right encoding ({keyword('encoding')}).", 1) from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise source.error(
            f"these bytes are not text in the encoding {error.encoding}. Name another encoding ({keyword('encoding')}).",
            line,
        ) from None


def _recovered(text: str, source: Source, units: type[ast.AST]) -> ast.Module:
    """Parse a source. If damaged units are skipped, return what can be parsed."""
    try:
        return _parsed(text, source)
    except FormatError:
        if source.on_error == "raise" or issubclass(ast.Module, units) or "\0" in text:
            raise
        module, errors = _parse_damaged(text, lambda part: _parsed(part, source))
        if not module.body:
            raise
    for error in errors:
        with source.item():
            raise error
    return module


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
