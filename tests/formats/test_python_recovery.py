"""Python files with syntax errors: every function outside the damaged statement is read as in the undamaged file."""

from __future__ import annotations

import ast
import io
import random
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

import treelet as tl
from treelet.errors import FormatError, TreeletWarning

STANDARD_LIBRARY = sorted(Path(ast.__file__).parent.glob("*.py"))
MARKS = [*"()[]{}\"'\\:,= $", '"""', "'''"]
LAYOUT = ["\n", "\n\n", "\t", "@", "def ", "if x:\n"]
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def functions(text: str) -> dict[tuple[str, int, int], str]:
    """Names, first and last lines, and trees of the functions that are read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TreeletWarning)
        try:
            bank = tl.read_code(io.StringIO(text), language="python", identifiers="anonymous")
        except FormatError:
            return {}
    places = bank.places or ()
    return {
        (place.name, place.line, place.end_line or 0): tree for place, tree in zip(places, bank.strings(), strict=True)
    }


def outermost(node: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, FUNCTIONS):
            yield child
        else:
            yield from outermost(child)


def first_line(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)])


def losses(seed: int, inserted: list[str], longest: int, blanks: bool) -> tuple[int, list[str]]:
    """Damage a function of a real file. Return the number of other functions, and those that are not read as before."""
    rng = random.Random(seed)
    text = STANDARD_LIBRARY[seed % len(STANDARD_LIBRARY)].read_text(encoding="utf-8")
    module = ast.parse(text)
    targets = list(outermost(module))
    if not targets or len(text) > 100_000:
        return 0, []
    target, lines = rng.choice(targets), text.splitlines(keepends=True)
    number = rng.randint(target.lineno, target.end_lineno or target.lineno)
    line = lines[number - 1]
    indent = 0 if blanks else len(line) - len(line.lstrip()) + len("def ") * (number == target.lineno)
    if indent >= len(line) - 1:
        return 0, []
    at = rng.randrange(indent, len(line) - 1)
    if rng.random() < 0.4:
        lines[number - 1] = line[:at] + line[min(len(line) - 1, at + rng.randint(1, longest)) :]
    else:
        lines[number - 1] = line[:at] + rng.choice(inserted) + line[at:]
    damaged = "".join(lines)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(damaged)
            return 0, []
        except SyntaxError:
            pass
    shift, read, lost, others = damaged.count("\n") - text.count("\n"), functions(damaged), [], 0
    for (name, begin, end), tree in functions(text).items():
        if first_line(target) <= begin <= (target.end_lineno or 0):
            continue
        others += 1
        moved = shift if begin > number else 0
        moved_end = shift if end > number else 0
        if read.get((name, begin + moved, end + moved_end)) != tree:
            lost.append(f"{name}:{begin}")
    return others, lost


@pytest.mark.parametrize("part", range(3))
def test_functions_outside_the_damage_are_read(part: int) -> None:
    others = 0
    for seed in range(part * 40, part * 40 + 40):
        count, lost = losses(seed, MARKS, 5, blanks=False)
        assert not lost, (seed, lost)
        others += count
    assert others > 100


def test_most_functions_are_read_if_the_layout_is_damaged() -> None:
    """If indentation or keywords are damaged, neighbors may be lost, because it is open where a statement ends."""
    counts = [losses(seed, MARKS + LAYOUT, 5, blanks=True) for seed in range(120)]
    assert sum(len(lost) for _, lost in counts) < 0.01 * sum(count for count, _ in counts)


SHOP = """\
# -*- coding: latin-1 -*-
from __future__ import annotations

@register(
    "é",
)
class Shop(Base):
    "Sells ( [ things."

    def open(self):
        return (1,
2)

    @property
    @cached
    def broken(self):
        return self..name

    class Door:
    \tdef close(self):
    \t    text = \'\'\'
def no_function():
\'\'\'
    \t    return text

if fast:
    def sell(a): return a
elif slow:
    def sell(a):
        return print "a"
else:
    async def sell(a): return -a
"""


def test_places_in_a_damaged_file(tmp_path: Path) -> None:
    path = tmp_path / "shop.py"
    path.write_bytes(SHOP.encode("latin-1"))
    damages = rf"2 of 6 trees were skipped: {path}:17:21: this is not valid Python .*; {path}:30:\d+: this is not valid"
    with pytest.warns(TreeletWarning, match=damages):
        bank = tl.read_code(path, identifiers="keep")
    assert bank.places is not None
    assert [place[1:] for place in bank.places] == [
        (10, 12, "Shop.open"),
        (20, 24, "Shop.Door.close"),
        (27, 27, "sell"),
        (32, 32, "sell"),
    ]
    with pytest.raises(FormatError, match=r":17:21: this is not valid Python"):
        tl.read_code(path, on_error="raise")


def test_units_of_a_damaged_file(tmp_path: Path) -> None:
    path = tmp_path / "shop.py"
    path.write_bytes(SHOP.encode("latin-1"))
    with pytest.warns(TreeletWarning):
        classes = tl.read_code(path, each="class")
    assert classes.places is not None
    assert [place.name for place in classes.places] == ["Shop.Door"]
    with pytest.warns(TreeletWarning):
        statements = tl.read_trees(path, format="python", each="statement", on_error="skip")
    assert [str(tree)[:11] for tree in statements] == ["(ImportFrom"]
    with pytest.raises(FormatError, match="not valid Python"):
        tl.read_code(path, each="file")


@pytest.mark.parametrize(
    "hostile",
    [
        "@\n" * 20_000 + "(",
        '"""\n' * 20_001,
        "def f(a): return (\n" * 20_000,
        "if x:\n  y\n" * 20_000 + "(",
        "'" + "\\'" * 200_000,
        "".join(" " * level + "class A:\n" for level in range(300)) + "(",
    ],
)
def test_hostile_files_take_linear_time(hostile: str) -> None:
    begin = time.process_time()
    assert functions("x = 1\n" + hostile) == {}
    assert time.process_time() - begin < 20
