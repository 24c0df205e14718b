"""Copies of functions that were rewritten: edits inside statements, extracted and inlined pieces, merged and split functions, loops.

A copy may consist of two functions. Types that a piece would need in C and Java are placeholders: the copies parse, they are not compiled.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from itertools import groupby
from typing import Any, NamedTuple

from benchmarks.code_mutations import (
    BLOCKS,
    FUNCTIONS,
    MEMBERS,
    Donors,
    Function,
    Statement,
    frozen_lines,
    indent_of,
    is_correct,
    is_member,
    nodes_below,
    parsed,
    renamable,
    renamed,
    statements,
    written,
)

Edit = tuple[int, int, str]
"""First byte, last byte and new text."""
LEAST_PIECE, MOST_PIECE = 0.3, 0.6
"""Share of the lines of a function that a piece may have."""
JUMPS = re.compile(r"\b(return|yield|await|async|break|continue|goto|case|default|super|global|nonlocal)\b")
SWAPS = [["+", "-", "*"], ["<", "<=", ">", ">="], ["==", "!="], ["===", "!=="], ["&&", "||"], ["and", "or"], ["+=", "-="], ["is", "is not"], ["in", "not in"]]  # fmt: skip
OPERATORS = {operator: group for group in SWAPS for operator in group}
NUMBERS = {"integer", "float", "number", "number_literal", "decimal_integer_literal"}
QUOTED = {"string", "string_literal"}
ARGUMENTS = {"argument_list", "arguments"}


class Rewritten(NamedTuple):
    """The text of a file with one or two functions, and their first and last lines."""

    text: str
    parts: list[tuple[int, int]]


def _joined(like: Function, parts: list[list[str]]) -> Rewritten:
    """Return a file with these functions, in the same class if they are methods."""
    lines, ranges = [], []
    for part in parts:
        lines += [""] * bool(lines)
        ranges.append((len(lines) + 1 + like.shift, len(lines) + len(part) + like.shift))
        lines += part
    return Rewritten(Function(like.language, lines, is_method=like.is_method).file_text(), ranges)


def _function_node(function: Function) -> Any:
    return next(
        node
        for node in nodes_below(parsed(function.language, function.file_text()))
        if node.type in FUNCTIONS[function.language]
    )


# --- edits inside statements ----------------------------------------------------------------------------------------


def _own_nodes(node: Any, language: str) -> list[Any]:
    """Return the nodes of a statement without its blocks."""
    found, stack = [], [node]
    while stack:
        each = stack.pop()
        found.append(each)
        stack += [child for child in each.children if child.type not in BLOCKS[language]]
    return found


def _edits(node: Any, bound: set[str], names: list[str], language: str, rng: random.Random) -> dict[str, list[Edit]]:
    """Return the edits that are possible at a node, by their kind."""
    text, parent = written(node), node.parent
    kind, new = "", text
    if node.type in MEMBERS or (node.type == "identifier" and is_member(node)):
        kind, new = "attribute", rng.choice(names)
    elif node.type == "identifier" and text not in bound and parent.type != "keyword_argument":
        kind, new = "free name", rng.choice(names)
    elif node.type in NUMBERS and re.fullmatch(r"\d+", text):
        kind, new = "literal", str(int(text) + rng.randint(1, 9))
    elif node.type in QUOTED and parent.type != "expression_statement" and re.fullmatch(r"(['\"])[^'\"\\\n]*\1", text):
        kind, new = "literal", f"{text[0]}{rng.choice(names)}{text[0]}"
    elif text in OPERATORS and not node.is_named:
        kind, new = "operator", rng.choice([each for each in OPERATORS[text] if each != text])
    elif node.type in ARGUMENTS and text.endswith(")"):
        more = (
            f"{rng.choice(names)}={rng.randint(0, 9)}" if language == "python" else rng.choice(sorted(bound) or ["0"])
        )
        kind, new = "argument", text[:-1].rstrip().rstrip(",") + (", " if node.named_child_count else "") + more + ")"
        return {kind: [(node.end_byte - 1, node.end_byte, (", " if node.named_child_count else "") + more + ")")]}
    return {kind: [(node.start_byte, node.end_byte, new)]} if kind and new != text else {}


def _is_member(node: Any) -> bool:
    return any(node.parent.child_by_field_name(field) == node for field in ("attribute", "field")) or (
        node.parent.type == "method_invocation" and node.parent.child_by_field_name("name") == node
    )


def inside(function: Function, share: float, donors: Donors, rng: random.Random) -> list[str] | None:
    """Return the lines after one edit inside each of a share of the statements; None if too few of them can be edited."""
    bound = set(renamable(function)) | {"self", "cls", "this", "super"}
    text = function.file_text().encode()
    every: list[dict[str, list[Edit]]] = []
    for block in nodes_below(parsed(function.language, text.decode())):
        if block.type not in BLOCKS[function.language]:
            continue
        for statement in block.named_children:
            possible: dict[str, list[Edit]] = {}
            for node in _own_nodes(statement, function.language):
                for kind, edits in _edits(node, bound, donors.names, function.language, rng).items():
                    possible.setdefault(kind, []).extend(edits)
            every.append(possible)
    editable = [possible for possible in every if possible]
    count = max(1, round(share * len(every)))
    if len(editable) < count:
        return None
    chosen = [rng.choice(possible[rng.choice(sorted(possible))]) for possible in rng.sample(editable, count)]
    for first, end, new in sorted(chosen, reverse=True):
        text = text[:first] + new.encode() + text[end:]
    lines = text.decode().split("\n")[:-1]
    return lines[1:-1] if function.is_method else lines


# --- pieces ---------------------------------------------------------------------------------------------------------


def _runs(function: Function, low: int, high: int) -> list[tuple[int, int]]:
    """Return the first and last lines of runs of statements in one block with `low` to `high` lines and without jumps."""
    found = []
    frozen = frozen_lines(function)
    for _, group in groupby(sorted(statements(function), key=lambda each: each.block), key=lambda each: each.block):
        block = sorted(group)
        for at, begin in enumerate(block):
            for end in block[at:]:
                lines = function.lines[begin.first : end.last + 1]
                if (
                    low <= len(lines) <= high
                    and not JUMPS.search("\n".join(lines))
                    and not frozen & set(range(begin.first, end.last + 1))
                ):
                    found.append((begin.first, end.last))
    return found


def _shifted(lines: list[str], indent: str) -> list[str]:
    """Return the lines with another indentation of the first one."""
    old = len(indent_of(lines[0]))
    return [indent + line[min(old, len(indent_of(line))) :] if line.strip() else "" for line in lines]


def _names_in(lines: list[str], names: list[str]) -> list[str]:
    words = set(re.findall(r"\w+", "\n".join(lines)))
    return [name for name in names if name in words]


def _new_name(function: Function, donors: Donors, rng: random.Random) -> str:
    taken = set(re.findall(r"\w+", function.file_text()))
    return next(name for name in rng.sample(donors.names, len(donors.names)) if name not in taken)


def _locals(function: Function) -> list[str]:
    """Return the names that a function binds, with those of Python's instance and class, without its own."""
    own = _function_node(function).child_by_field_name("name")
    names = [name for name in renamable(function) if own is None or name != written(own)]
    return ["self", "cls", *names] if function.language == "python" else names


def _helper(function: Function, name: str, parameters: list[str], body: list[str], has_result: bool) -> list[str]:
    """Return the lines of a new function."""
    if function.language == "python":
        return [f"def {name}({', '.join(parameters)}):", *_shifted(body, "    ")]
    prefix, kind = ("static", "int") if function.language == "c" else ("private", "Object")
    if function.language == "javascript":
        head = f"{'' if function.is_method else 'function '}{name}({', '.join(parameters)}) {{"
    else:
        head = (
            f"{prefix} {kind if has_result else 'void'} {name}({', '.join(f'{kind} {each}' for each in parameters)}) {{"
        )
    return [head, *_shifted(body, "    "), "}"]


def _call(function: Function, name: str, parameters: list[str]) -> str:
    receiver = "this." if function.language == "javascript" and function.is_method else ""
    return f"{receiver}{name}({', '.join(parameters)})" + ("" if function.language == "python" else ";")


def extracted(function: Function, donors: Donors, rng: random.Random) -> Rewritten | None:
    """Move a run of statements to a new function. The names that both sides need become parameters and results."""
    size = len(function.lines)
    runs = _runs(function, round(LEAST_PIECE * size), round(MOST_PIECE * size))
    if not runs:
        return None
    first, last = rng.choice(runs)
    piece, after = function.lines[first : last + 1], function.lines[last + 1 :]
    name = _new_name(function, donors, rng)
    known = _locals(function)
    parameters = _names_in(piece, _names_in([*function.lines[:first]], known))
    results = [
        each
        for each in _names_in(after, _names_in(piece, known))
        if re.search(rf"(?m)\b{each}\b[^=\n(]*=(?!=)", "\n".join(piece))
    ]
    call = _call(function, name, parameters)
    body = list(piece)
    if results and function.language == "python":
        call = f"{', '.join(results)} = {call}"
        body.append(f"{indent_of(piece[0])}return {', '.join(results)}")
    elif results and function.language == "javascript":
        call = f"const [{', '.join(results)}] = {call}"
        body.append(f"{indent_of(piece[0])}return [{', '.join(results)}];")
    elif results:  # one of them, with a placeholder for its type
        kind = "int" if function.language == "c" else "Object"
        call = f"{kind} {results[0]} = {call}"
        body.append(f"{indent_of(piece[0])}return {results[0]};")
    rest = [*function.lines[:first], indent_of(piece[0]) + call, *after]
    return _joined(function, [rest, _helper(function, name, parameters, body, bool(results))])


def inlined(function: Function, others: list[Function], rng: random.Random) -> Rewritten | None:
    """Replace a statement with a call by a run of statements of another function, as if that had been inlined."""
    size = len(function.lines)
    calls = [
        each
        for each in statements(function)
        if each.simple and "(" in function.lines[each.first] and not JUMPS.search(function.lines[each.first])
    ]
    if not calls:
        return None
    call = rng.choice(calls)
    for other in rng.sample(others, min(20, len(others))):
        runs = _runs(other, round(LEAST_PIECE * size), round(MOST_PIECE * size))
        if runs and other is not function:
            first, last = rng.choice(runs)
            piece = _shifted(other.lines[first : last + 1], indent_of(function.lines[call.first]))
            return _joined(function, [[*function.lines[: call.first], *piece, *function.lines[call.last + 1 :]]])
    return None


# --- merged and split functions -------------------------------------------------------------------------------------


def _body(function: Function) -> tuple[list[Statement], int, int] | None:
    """Return the statements of the outermost block, and its first and last line without braces."""
    node = _function_node(function).child_by_field_name("body")
    if node is None:
        return None
    first, last = node.start_point[0] - function.shift, node.end_point[0] - function.shift
    if function.language != "python":
        first, last = first + 1, last - 1
    every = sorted(statements(function))
    # A block is identified by its first statement, because nodes of another parse have other numbers.
    top = [each for each in every if first <= each.first and len(indent_of(function.lines[each.first])) == len(indent_of(function.lines[every[0].first]))]  # fmt: skip
    header = "\n".join(function.lines[:first])
    if (
        not top
        or first < 1
        or top[0].first < first
        or "\n".join(function.lines[last + 1 :]).strip() not in ("", "}")
        or not header.strip()
    ):
        return None
    return top, first, last


def _parameters(function: Function) -> tuple[str, list[str]]:
    """Return the text of the parameters between the parentheses, and that of each of them."""
    node = next(
        each
        for each in nodes_below(_function_node(function))
        if each.type in ("parameters", "formal_parameters", "parameter_list")
    )
    return written(node), [
        written(child) for child in node.named_children if "comment" not in child.type and written(child) != "void"
    ]


def merged(function: Function, others: list[Function], rng: random.Random) -> tuple[Rewritten, Function] | None:
    """Put the body of another function of half to the whole size behind the body of a function, with the parameters of both."""
    body = _body(function)
    size = len(function.lines)
    fitting = [
        each
        for each in others
        if size / 2 <= len(each.lines) <= size and each.is_method == function.is_method and each is not function
    ]
    if body is None or not fitting:
        return None
    other = rng.choice(fitting)
    other_body = _body(other)
    if other_body is None:
        return None
    own_text, own = _parameters(function)
    known = {name for each in own for name in re.findall(r"\w+", each)}
    more = [
        re.split(r"[:=]", each)[0].strip(" *") if function.language == "python" else each
        for each in _parameters(other)[1]
    ]
    more = [each for each in more if re.findall(r"\w+", each)[-1:] and re.findall(r"\w+", each)[-1] not in known]
    if function.language == "python" and ("*" in own_text or "=" in own_text):
        more = [f"{each}=None" for each in more]
        if "**" in own_text:
            more = []
    header = "\n".join(function.lines[: body[1]])
    header = header.replace(own_text, f"({', '.join([*own, *more])})", 1)
    last = body[0][-1]
    end = last.first if re.match(r"return|raise|throw", function.lines[last.first].strip()) else last.last + 1
    indent = indent_of(function.lines[body[0][0].first])
    foreign = other.lines[other_body[0][0].first : other_body[2] + 1]
    if frozen_lines(other) & set(range(other_body[0][0].first, other_body[2] + 1)):
        return None
    lines = [
        *header.split("\n"),
        *function.lines[body[1] : end],
        *_shifted(foreign, indent),
        *function.lines[body[2] + 1 :],
    ]
    return _joined(function, [lines]), other


def split(function: Function, donors: Donors, rng: random.Random) -> Rewritten | None:
    """Move the second half of a function to a new function, which the first half calls at its end."""
    body = _body(function)
    if body is None or len(body[0]) < 2:
        return None
    top, _, last = body
    middle = len(function.lines) / 2
    cut = min(top[1:], key=lambda each: abs(each.first - middle)).first
    second = function.lines[cut : last + 1]
    if not LEAST_PIECE <= len(second) / len(function.lines) <= 1 - LEAST_PIECE or frozen_lines(function) & set(
        range(cut, last + 1)
    ):
        return None
    name = _new_name(function, donors, rng)
    parameters = _names_in(second, _names_in(function.lines[:cut], _locals(function)))
    result = "return " if re.search(r"\breturn\b *[^\s;]", "\n".join(second)) else ""
    first = [
        *function.lines[:cut],
        indent_of(second[0]) + result + _call(function, name, parameters),
        *function.lines[last + 1 :],
    ]
    helper = _helper(function, name, parameters, second, bool(result))
    return _joined(function, [first, helper])


# --- loops ----------------------------------------------------------------------------------------------------------


def _field(node: Any, *names: str) -> str:
    child = next((child for name in names if (child := node.child_by_field_name(name))), None)
    return "" if child is None else written(child).rstrip(";").strip()


def _python_loop(node: Any, lines: list[str], name: str) -> list[str] | None:
    """Return the lines of a loop or comprehension in another form."""
    indent, step = indent_of(lines[0]), "    "
    if node.type == "expression_statement" and node.named_child_count == 1:
        assignment = node.named_children[0]
        value = assignment.child_by_field_name("right")
        if assignment.type != "assignment" or value is None or value.type != "list_comprehension" or len(lines) > 1:
            return None
        target, clauses = _field(assignment, "left"), value.named_children[1:]
        result = [f"{indent}{target} = []"]
        for depth, clause in enumerate(clauses):
            result.append(f"{indent}{step * depth}{written(clause)}:")
        return [*result, f"{indent}{step * len(clauses)}{target}.append({written(value.named_children[0])})"]
    body = node.child_by_field_name("body")
    if body is None or body.start_point[0] != node.start_point[0] + 1 or node.child_by_field_name("alternative"):
        return None
    rest = lines[1:]
    step = indent_of(rest[0]).removeprefix(indent)
    if node.type == "while_statement":
        return [
            f"{indent}for _ in iter(int, 1):",
            f"{indent}{step}if not ({_field(node, 'condition')}):",
            f"{indent}{step * 2}break",
            *rest,
        ]
    if lines[0].strip().startswith("async"):
        return None
    left, right = _field(node, "left"), _field(node, "right")
    appended = re.fullmatch(r"(\w+)\.append\((.*)\)", rest[0].strip()) if len(rest) == 1 else None
    if appended:
        return [f"{indent}{appended[1]}.extend([{appended[2]} for {left} in {right}])"]
    if "continue" in "\n".join(rest) and right.startswith("range("):
        return None
    counted = re.fullmatch(r"range\(([^,()]*)\)", right)
    if counted:
        return [f"{indent}{left} = 0", f"{indent}while {left} < {counted[1]}:", *rest, f"{indent}{step}{left} += 1"]
    return [
        f"{indent}{name} = 0", f"{indent}while {name} < len({right}):", f"{indent}{step}{left} = {right}[{name}]",
        f"{indent}{step}{name} += 1", *rest,
    ]  # fmt: skip


def _braced_loop(node: Any, lines: list[str], name: str) -> list[str] | None:
    indent, body = indent_of(lines[0]), node.child_by_field_name("body")
    if (
        body is None
        or body.start_point[0] != node.start_point[0]
        or not lines[0].endswith("{")
        or lines[-1].strip() != "}"
    ):
        return None
    inner = lines[1:-1]
    step = indent_of(inner[0]).removeprefix(indent) if inner and inner[0].strip() else "    "
    if node.type == "while_statement":
        condition = _field(node, "condition")[1:-1]
        return [f"{indent}for (; {condition};) {{", *inner, lines[-1]]
    if node.type == "for_statement":
        start, condition, change = (
            _field(node, "initializer", "init"),
            _field(node, "condition"),
            _field(node, "update", "increment"),
        )
        if not condition or "continue" in "\n".join(inner):
            return None
        return [
            *([f"{indent}{start};"] if start else []), f"{indent}while ({condition}) {{", *inner,
            *([f"{indent}{step}{change};"] if change else []), lines[-1],
        ]  # fmt: skip
    if node.type == "for_in_statement" and _field(node, "operator") == "of" and " await " not in lines[0]:
        item = f"{_field(node, 'kind')} {_field(node, 'left')}".strip()
        many = _field(node, "right")
        return [
            f"{indent}for (let {name} = 0; {name} < {many}.length; {name}++) {{",
            f"{indent}{step}{item} = {many}[{name}];",
            *inner,
            lines[-1],
        ]
    if node.type == "enhanced_for_statement":
        item, many = f"{_field(node, 'type')} {_field(node, 'name')}", _field(node, "value")
        return [
            f"{indent}for (int {name} = 0; {name} < {many}.size(); {name}++) {{",
            f"{indent}{step}{item} = {many}.get({name});",
            *inner,
            lines[-1],
        ]
    return None


def loops(function: Function, donors: Donors, rng: random.Random) -> list[str] | None:
    """Rewrite all loops that can be: for as while and while as for, comprehensions as loops and loops as comprehensions."""
    rewrite = _python_loop if function.language == "python" else _braced_loop
    copy = Function(function.language, list(function.lines), is_method=function.is_method)
    starts = sorted(
        {node.start_point[0] for node in nodes_below(parsed(copy.language, copy.file_text())) if _is_loop(node)},
        reverse=True,
    )
    changed = 0
    for row in starts:  # from the last one, so that the rows of those before stay
        node = next(
            node
            for node in nodes_below(parsed(copy.language, copy.file_text()))
            if _is_loop(node) and node.start_point[0] == row
        )
        first, last = row - copy.shift, node.end_point[0] - copy.shift
        alone = copy.lines[first].encode()[node.end_point[1] :].strip() == b"" if first == last else True
        if not alone or len(indent_of(copy.lines[first]).encode()) != node.start_point[1]:
            continue
        new = rewrite(node, copy.lines[first : last + 1], _new_name(copy, donors, rng))
        if new is not None:
            lines = [*copy.lines[:first], *new, *copy.lines[last + 1 :]]
            if is_correct(copy.language, Function(copy.language, lines, is_method=copy.is_method).file_text()):
                copy.lines, changed = lines, changed + 1
    return copy.lines if changed else None


def _is_loop(node: Any) -> bool:
    return node.type in ("for_statement", "while_statement", "for_in_statement", "enhanced_for_statement") or (
        node.type == "expression_statement" and b"[" in node.text and b" for " in node.text
    )


# --- all ------------------------------------------------------------------------------------------------------------

REWRITES = ("inside", "inside, renamed", "extracted", "inlined", "merged", "split", "loops")


def rewritten(
    function: Function, kind: str, share: float, donors: Donors, others: list[Function], rng: random.Random
) -> tuple[Rewritten, list[Function]] | None:
    """Return a copy of a kind of `REWRITES`, with all its originals; None if the function cannot be rewritten in this way.

    `share` is the share of the statements that are edited inside. `others` are functions of the same language, for pieces.
    """
    originals = [function]
    result: Rewritten | None
    if kind == "merged":
        both = merged(function, others, rng)
        result = both[0] if both else None
        originals += [both[1]] if both else []
    elif kind == "inlined":
        result = inlined(function, others, rng)
    elif kind in ("extracted", "split"):
        pieces: Callable[..., Rewritten | None] = extracted if kind == "extracted" else split
        result = pieces(function, donors, rng)
    else:
        lines = loops(function, donors, rng) if kind == "loops" else inside(function, share, donors, rng)
        if lines is not None and kind == "inside, renamed":
            copy = Function(function.language, lines, is_method=function.is_method)
            lines = renamed(copy, donors.names, rng) if is_correct(copy.language, copy.file_text()) else None
        result = None if lines is None else _joined(function, [lines])
    if result is None or result.text == function.file_text() or not is_correct(function.language, result.text):
        return None
    return result, originals
