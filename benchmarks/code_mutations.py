"""Copies of functions with known changes: layout, names, and statements. The text is edited; tree-sitter finds the places.

Statements are edited as whole lines, so only statements that share no line with others are inserted, deleted, replaced or moved.
"""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import tree_sitter

from treelet.formats.languages import LANGUAGES

FUNCTIONS = {
    "python": {"function_definition"},
    "javascript": {"function_declaration", "method_definition"},
    "c": {"function_definition"},
    "java": {"method_declaration"},
}
METHODS = {"method_definition", "method_declaration"}
"""Functions that are in a class."""
BLOCKS = {"python": {"block"}, "javascript": {"statement_block"}, "c": {"compound_statement"}, "java": {"block"}}
TEXTS = {"string", "template_string", "string_literal"}
_COMMENTS = {"comment", "line_comment", "block_comment"}
STRINGS = TEXTS | _COMMENTS | {"concatenated_string", "preproc_def", "preproc_function_def"}
NO_STATEMENTS = _COMMENTS | {"{", "}", ";", "preproc_def", "preproc_function_def", "preproc_call", "labeled_statement"}
COMMENTS = {"python": "# {}", "javascript": "// {}", "c": "/* {} */", "java": "// {}"}
MEMBERS = {"property_identifier", "field_identifier"}
"""Kinds of the names of attributes, apart from identifiers."""
WORDS = [
    "check",
    "the",
    "value",
    "first",
    "then",
    "update",
    "all",
    "counters",
    "before",
    "we",
    "return",
    "see",
    "notes",
    "on",
    "limits",
    "old",
    "way",
    "kept",
    "here",
]
BINDINGS = {
    "python": """(parameters (identifier) @bound) (lambda_parameters (identifier) @bound) (default_parameter name: (identifier) @bound)
(typed_parameter (identifier) @bound) (typed_default_parameter name: (identifier) @bound) (list_splat_pattern (identifier) @bound)
(dictionary_splat_pattern (identifier) @bound) (assignment left: (identifier) @bound) (pattern_list (identifier) @bound)
(tuple_pattern (identifier) @bound) (augmented_assignment left: (identifier) @bound) (for_statement left: (identifier) @bound)
(for_in_clause left: (identifier) @bound) (as_pattern_target (identifier) @bound) (named_expression name: (identifier) @bound)
(function_definition name: (identifier) @bound) (class_definition name: (identifier) @bound)""",
    "javascript": """(variable_declarator name: (identifier) @bound) (arrow_function parameter: (identifier) @bound)
(assignment_pattern left: (identifier) @bound) (array_pattern (identifier) @bound) (rest_pattern (identifier) @bound)
(catch_clause parameter: (identifier) @bound) (pair_pattern value: (identifier) @bound) (for_in_statement left: (identifier) @bound)
(function_declaration name: (identifier) @bound) (generator_function_declaration name: (identifier) @bound)
(function_expression name: (identifier) @bound) (formal_parameters (identifier) @bound) (class_declaration name: (identifier) @bound)""",
    "c": """(init_declarator declarator: (identifier) @bound) (declaration declarator: (identifier) @bound)
(parameter_declaration declarator: (identifier) @bound) (pointer_declarator declarator: (identifier) @bound)
(array_declarator declarator: (identifier) @bound) (function_declarator declarator: (identifier) @bound)""",
    "java": """(variable_declarator name: (identifier) @bound) (formal_parameter name: (identifier) @bound)
(catch_formal_parameter name: (identifier) @bound) (enhanced_for_statement name: (identifier) @bound) (resource name: (identifier) @bound)
(lambda_expression parameters: (identifier) @bound) (inferred_parameters (identifier) @bound)
(method_declaration name: (identifier) @bound)""",
}
"""Queries of tree-sitter for the names that a function declares."""
OPERATIONS = ("inserted", "deleted", "replaced", "moved")
LEAST_LINES, MOST_LINES, LEAST_STATEMENTS = 10, 60, 8


class Statement(NamedTuple):
    """The lines of a statement, from 0, and its block. `simple` statements contain no other statement."""

    first: int
    last: int
    kind: str
    block: int
    simple: bool


@dataclass
class Function:
    """A function that can be mutated. `lines` is its text, without the indentation of its first line."""

    language: str
    lines: list[str]
    file: str = ""
    line: int = 1
    end_line: int = 1
    is_method: bool = False

    def file_text(self) -> str:
        """Return the text of a file with only this function."""
        lines = ["class Holder {", *self.lines, "}"] if self.is_method else self.lines
        return "\n".join(lines) + "\n"

    @property
    def shift(self) -> int:
        """Lines before the function in `file_text`."""
        return int(self.is_method)


@cache
def _parser(language: str) -> Any:
    return tree_sitter.Parser(LANGUAGES[language].grammar)


@cache
def _binding_query(language: str) -> Any:
    return tree_sitter.Query(LANGUAGES[language].grammar, BINDINGS[language])


def parsed(language: str, text: str) -> Any:
    return _parser(language).parse(text.encode()).root_node


def is_correct(language: str, text: str) -> bool:
    """Return whether a text parses without error."""
    if language == "python":
        try:
            ast.parse(text)
        except (SyntaxError, ValueError):
            return False
    return not parsed(language, text).has_error


def nodes_below(node: Any) -> Iterator[Any]:
    stack = [node]
    while stack:
        node = stack.pop()
        yield node
        stack += reversed(node.children)


def written(node: Any) -> str:
    return node.text.decode()


def tokens(node: Any) -> list[str]:
    """Return the tokens below a node, without comments."""
    return [written(leaf) for leaf in nodes_below(node) if not leaf.child_count and "comment" not in leaf.type]


def _is_docstring(node: Any) -> bool:
    if node.type == "expression_statement":
        return node.named_child_count == 1 and node.named_children[0].type == "string"
    return False


def functions(language: str, text: str, file: str = "") -> list[Function]:
    """Return the functions of a file that can be mutated: of moderate length, and with statements on their own lines."""
    root = parsed(language, text)
    lines = text.split("\n")
    found = []
    for node in nodes_below(root):
        if node.type not in FUNCTIONS[language] or node.has_error:
            continue
        first, last = node.start_point[0], node.end_point[0]
        alone = (
            not lines[first][: node.start_point[1]].strip() and not lines[last].encode()[node.end_point[1] :].strip()
        )
        decorated = node.parent is not None and node.parent.type == "decorated_definition"
        if not alone or decorated or not LEAST_LINES <= last - first + 1 <= MOST_LINES:
            continue
        indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
        own = lines[first : last + 1]
        if "\t" in indent or any(line.strip() and not line.startswith(indent) for line in own):
            continue
        if indent and any(
            below.type in TEXTS and below.start_point[0] < below.end_point[0] and not _is_docstring(below.parent)
            for below in nodes_below(node)
        ):
            continue  # without the indentation, the string would be another one
        own = [line[len(indent) :].rstrip("\r") for line in own]
        function = Function(language, own, file, first + 1, last + 1, node.type in METHODS)
        if (
            is_correct(language, function.file_text())
            and len(statements(function)) >= LEAST_STATEMENTS
            and len(code_lines(function)) >= LEAST_LINES
        ):
            found.append(function)
    return found  # fmt: skip


def code_lines(function: Function) -> set[int]:
    """Return the lines with code: without comments, docstrings and blank lines."""
    lines: set[int] = set()
    stack = [parsed(function.language, function.file_text())]
    while stack:
        node = stack.pop()
        if "comment" in node.type or _is_docstring(node):
            continue
        if not node.child_count:
            lines.update(range(node.start_point[0], node.end_point[0] + 1))
        stack += node.children
    return lines


def statements(function: Function) -> list[Statement]:
    """Return the statements in the blocks of a function that are alone on their lines, in the order of the text."""
    language = function.language
    root = parsed(language, function.file_text())
    found = []
    for block in nodes_below(root):
        if block.type not in BLOCKS[language]:
            continue
        for node in block.children:
            first, last = node.start_point[0] - function.shift, node.end_point[0] - function.shift
            if (
                node.type in NO_STATEMENTS
                or not node.is_named
                or _is_docstring(node)
                or node.type.startswith("preproc")
            ):
                continue
            before = function.lines[first].encode()[: node.start_point[1]]
            after = function.lines[last].encode()[node.end_point[1] :].strip()
            if before.strip() or (after and after != b";"):
                continue
            simple = not any(
                below.type in BLOCKS[language] or below.type in FUNCTIONS[language] for below in nodes_below(node)
            )
            simple = simple and not re.match(r"if|for|while|do\b|switch|try|with|else|case", node.type)
            found.append(Statement(first, last, node.type, block.id, simple))
    return sorted(found)


# --- layout and names -----------------------------------------------------------------------------------------------


def frozen_lines(function: Function) -> set[int]:
    """Return the lines that continue a string, a comment or a macro of the line before."""
    frozen: set[int] = set()
    for node in nodes_below(parsed(function.language, function.file_text())):
        if node.type in STRINGS:
            frozen.update(range(node.start_point[0] - function.shift + 1, node.end_point[0] - function.shift + 1))
    lines = function.lines
    return frozen | {at + 1 for at in range(len(lines)) if lines[at].endswith("\\")}


def new_layout(function: Function, rng: random.Random) -> list[str]:
    """Return the lines with other indentation, blank lines, comments, and braces on their own lines (type 1)."""
    frozen = frozen_lines(function)
    width = rng.choice((2, 3, 8))
    result = []
    for at, line in enumerate(function.lines):
        if at in frozen:
            result.append(line)
            continue
        body = line.lstrip()
        indent = len(line[: len(line) - len(body)].expandtabs(4))
        indent = indent * width // 4 if function.language != "python" else indent * width
        if at and body and rng.random() < 0.2:
            comment = COMMENTS[function.language].format(" ".join(rng.sample(WORDS, rng.randint(2, 6))))
            result.append(rng.choice(("", " " * indent + comment)))
        if function.language != "python" and body.endswith(") {") and at + 1 not in frozen and rng.random() < 0.7:
            result += [" " * indent + body[:-2], " " * indent + "{"]
        else:
            result.append(" " * indent + body)
    return result


def is_member(identifier: Any) -> bool:
    """Return whether an identifier is the name of an attribute of an expression."""
    parent = identifier.parent
    is_method = parent.type == "method_invocation" and parent.child_by_field_name("name") == identifier
    return is_method or any(parent.child_by_field_name(field) == identifier for field in ("attribute", "field"))


def renamable(function: Function) -> dict[str, list[tuple[int, int]]]:
    """Return the names that the function binds, and the byte ranges of their uses in `file_text`."""
    language = function.language
    root = parsed(language, function.file_text())
    captures = tree_sitter.QueryCursor(_binding_query(language)).captures(root)
    bound = {written(node) for node in captures.get("bound", ()) if node.type == "identifier"} - {
        "self",
        "cls",
        "Holder",
    }
    uses: dict[str, list[tuple[int, int]]] = {}
    for node in nodes_below(root):
        kind = node.type
        if kind in ("global_statement", "nonlocal_statement"):
            bound -= {written(child) for child in node.named_children}
        if kind.startswith(("shorthand_property", "preproc_arg")) or kind in (
            "statement_identifier",
            "import_from_statement",
            "import_statement",
        ):
            bound -= set(re.findall(r"\w+", written(node)))
        if kind != "identifier":
            continue
        parent = node.parent
        is_keyword = parent.type == "keyword_argument" and parent.child_by_field_name("name") == node
        if not is_member(node) and not is_keyword:
            uses.setdefault(written(node), []).append((node.start_byte, node.end_byte))
    return {name: uses[name] for name in uses if name in bound}  # fmt: skip


def renamed(function: Function, names: list[str], rng: random.Random) -> list[str]:
    """Return the lines with other names of parameters, variables and the function itself (type 2)."""
    text = function.file_text().encode()
    uses = renamable(function)
    taken = set(re.findall(r"\w+", text.decode()))
    free = [name for name in dict.fromkeys(rng.sample(names, len(names))) if name not in taken]
    edits = [(start, end, new) for (_, ranges), new in zip(uses.items(), free, strict=False) for start, end in ranges]
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new.encode() + text[end:]
    lines = text.decode().split("\n")[:-1]
    return lines[1:-1] if function.is_method else lines


# --- statements -----------------------------------------------------------------------------------------------------


@dataclass
class Donors:
    """Simple statements of one line, by kind, and names of variables, for insertion elsewhere."""

    statements: dict[str, list[str]]
    names: list[str]

    @classmethod
    def of(cls, sources: list[Function]) -> Donors:
        found: dict[str, list[str]] = {}
        names: dict[str, None] = {}
        for function in sources:
            for each in statements(function):
                line = function.lines[each.first].strip()
                if (
                    each.simple
                    and each.first == each.last
                    and 12 <= len(line) <= 100
                    and not re.match(r"return|break|continue|pass|yield|import|from|global|nonlocal|goto", line)
                ):
                    found.setdefault(each.kind, []).append(line)
            names |= dict.fromkeys(name for name in renamable(function) if len(name) > 2)
        return cls({kind: sorted(set(lines)) for kind, lines in found.items()}, list(names))  # fmt: skip

    def any_statement(self, rng: random.Random) -> str:
        kind = rng.choices(list(self.statements), [len(lines) for lines in self.statements.values()])[0]
        return rng.choice(self.statements[kind])


def indent_of(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def edited(function: Function, operations: list[str], donors: Donors, rng: random.Random) -> list[str] | None:
    """Return the lines after one operation per entry of `operations`, each on another statement; None if impossible."""
    every = statements(function)
    left = {}  # statements per block, so that no block becomes empty
    for each in every:
        left[each.block] = left.get(each.block, 0) + 1
    free = [each for each in every if each.simple]
    rng.shuffle(free)
    lines: list[list[str]] = [[line] for line in function.lines]
    for operation in operations:
        for target in free:
            old = function.lines[target.first : target.last + 1]
            siblings = [each for each in every if each.block == target.block and each is not target]
            new = None
            if operation == "inserted":
                lines[target.first].insert(0, indent_of(old[0]) + donors.any_statement(rng))
                break
            if operation == "replaced" and donors.statements.get(target.kind):
                new = indent_of(old[0]) + rng.choice(donors.statements[target.kind])
                if new.strip() == old[0].strip():
                    continue
            elif operation == "deleted" and left[target.block] > 1:
                left[target.block] -= 1
            elif operation == "moved" and len(siblings) > 1:
                at = every.index(target)
                # Moving past the neighbor before would be the same as moving the neighbor.
                far = [each for each in siblings if abs(every.index(each) - at) > 1]
                if not far:
                    continue
                lines[rng.choice(far).first][:0] = old
            else:
                continue
            for at in range(target.first, target.last + 1):
                lines[at].remove(function.lines[at])
            if new is not None:
                lines[target.first].append(new)
            break
        else:
            return None
        free.remove(target)
    return [line for some in lines for line in some]


def mutated(function: Function, kind: str, share: float, donors: Donors, rng: random.Random) -> Function | None:
    """Return a copy of a function, or None if it cannot be changed in this way.

    `kind` is "layout", "renamed", one of `OPERATIONS`, "mixed" (all operations), or "mixed, renamed". `share` is the share of
    the statements that are edited.
    """
    copy = Function(function.language, list(function.lines), is_method=function.is_method)
    if kind == "layout":
        copy.lines = new_layout(copy, rng)
    elif kind == "renamed":
        if len(renamable(function)) < 2:
            return None
        copy.lines = renamed(copy, donors.names, rng)
    else:
        count = max(1, round(share * len(statements(function))))
        operation = kind.partition(",")[0]
        chosen = [rng.choice(OPERATIONS) if operation == "mixed" else operation for _ in range(count)]
        lines = edited(copy, chosen, donors, rng)
        if lines is None or lines == copy.lines:
            return None
        copy.lines = lines
        if kind.endswith("renamed") and is_correct(copy.language, copy.file_text()):
            copy.lines = renamed(copy, donors.names, rng)
    if copy.lines == function.lines or not is_correct(copy.language, copy.file_text()):
        return None
    copy.line, copy.end_line = 1 + copy.shift, len(copy.lines) + copy.shift
    return copy
