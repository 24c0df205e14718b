"""Python source with syntax errors: the statements that can be parsed, and the errors of the others.

The parser stops at the first error. The source is therefore split at its outermost statements, which are parsed
separately. A damaged class or block, such as ``if``, is split at the statements of its body in the same way. A damaged
function is not split.

A statement ends before the next line with the same indentation that is not inside brackets or a string. An error can
leave a bracket or a string open. A bracket therefore ends at a line that only a statement can begin with, for example
``def``. A string ends there only if its statement is damaged, because strings may contain programs.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any, cast

from treelet.errors import FormatError

MAX_LEVELS = 100
"""Number of nested blocks that are split; Python's own limit of indentation."""
MAX_CUTS = 6
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


def parse_damaged(text: str, parse: Parse) -> tuple[ast.Module, list[FormatError]]:
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
            cut = self._open_string(inside_strings, indent, known) if self._level < MAX_CUTS else stop
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
        while begin < end and _BLOCK.match(self.code[begin]) and self._level <= MAX_LEVELS:
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
