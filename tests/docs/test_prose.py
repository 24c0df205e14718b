"""tools/prose.py: sentences in need of work are found in Markdown, Python and C++, and counted in a checkout."""

from __future__ import annotations

import doctest
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from conftest import ROOT


def the_tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("prose", ROOT / "tools" / "prose.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["prose"] = module
    spec.loader.exec_module(module)
    return module


TOOL = the_tool()
PAGE = """# What it costs

A query takes 3 ms a tree.
They are kept.

```python
x = "so that code is not read"
```

| column | meaning |
|---|---|
| `told` | the text so that |
"""
MODULE = '''"""Read trees, one a line."""

# There is
# no limit.
def f(x):
    """Return x.

    >>> print("so that")
    so that
    """
    raise ValueError(f"the file {x} says " "nothing")
'''


def test_the_examples_in_docstrings() -> None:
    tried = doctest.testmod(TOOL)
    assert tried.attempted >= 5
    assert not tried.failed


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("One machine a class is trained.", True),
        ("It was done twice, 0.04 s a tree.", True),
        ("Each file turns a page.", False),
        ("One of a pair is read in 3 ms with a warning.", False),
    ],
)
def test_distributive_a(text: str, found: bool) -> None:
    assert ("a for per" in TOOL.reasons(text)) is found


def test_long_sentences() -> None:
    assert TOOL.reasons("word " * 30) == []
    assert TOOL.reasons("word " * 31) == ["31 words"]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        (
            "page.md",
            PAGE,
            {(1, "starts with What"), (1, "what is/it/they ..."), (3, "a for per"), (3, "starts with a bare pronoun"), (12, "so that")},
        ),
        ("module.py", MODULE, {(1, "a for per"), (3, "is/are/was no"), (11, "says/told")}),
        ("core.cpp", '// Nobody is\n// told.\nauto x = "so that // so that";\n', {(1, "says/told")}),
    ],
)  # fmt: skip
def test_prose_is_found_and_code_is_not(name: str, text: str, expected: set[tuple[int, str]], tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    found = TOOL.findings(tmp_path / name)
    assert {(one.line, reason) for one in found for reason in one.reasons} == expected


def test_the_worst_come_first(tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    file.write_text("A file is told.\n\nWhat it is, is told so that we know.\n", encoding="utf-8")
    printed = TOOL.report([file], most=1)
    assert f"{file}:3: " in printed
    assert f"{file}:1: " not in printed
    assert "2 sentences to look at, 1 printed" in printed


def test_counts(tmp_path: Path) -> None:
    for name, text in (
        ("README.md", PAGE),
        ("docs/a.md", "x " * 151 + f"\n\n| {'y ' * 101}| z |\n"),
        ("src/m.py", MODULE),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert list(TOOL.counts(tmp_path).values()) == [1, 2, 0, 1, 1, 1, 1]  # comments are not counted
