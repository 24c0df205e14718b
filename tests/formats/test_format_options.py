"""Options of a format, written after its name."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

import treelet as tl
from conftest import fail
from treelet.errors import ParameterError


@pytest.mark.parametrize(
    ("format", "text", "expected"),
    [
        ("tsv:label_column=1,tree_column=0", "(A a)\tx\n", ["(A a)"]),
        ("tsv:tree_column=-1,label_column=none", "x\t(A a)\n", ["(A a)"]),
        ("brackets:drop_empty=true,root=TOP", "( (S (X (-NONE- *)) (V v)))", ["(TOP (S (V v)))"]),
        ("brackets:drop-empty=False", "(S (-NONE- *))", ["(S (-NONE- *))"]),
        ("xml:attributes=x+y,text=none", "<a x='1' y='2' z='3'>b</a>", ["(a (@x 1) (@y 2))"]),
        ("xml:attributes=x", "<a x='1' y='2'>b</a>", ["(a (@x 1) (#text b))"]),
        ("xml:attributes=false,drop=b,each=c", "<a x='1'><c y='1'><b/></c></a>", ["(c)"]),
    ],
)
def test_options_after_a_name(format: str, text: str, expected: list[str]) -> None:
    assert tl.read_trees(io.StringIO(text), format).strings() == expected


@pytest.mark.parametrize(
    ("format", "message"),
    [
        ("xml:", "xml:option=value"),
        ("xml:each", "xml:option=value"),
        ("xml:each=a,,", "xml:option=value"),
        ("xml:eech=a", "has no option 'eech'"),
        ("brackets:drop_empty=perhaps", "'drop_empty'.*True or False"),
        ("nothing:each=a", "'format' parameter"),
    ],
)
def test_options_that_are_none(format: str, message: str) -> None:
    with pytest.raises(tl.errors.ParameterError, match=message):
        tl.read_trees(io.StringIO("<a/>"), format)


def test_options_by_name_count_more_than_those_after_the_format() -> None:
    assert tl.read_trees(io.StringIO("<a x='1'/>"), "xml:attributes=true", attributes=False).strings() == ["(a)"]


def test_a_format_in_any_case_and_by_its_suffix() -> None:
    assert (
        tl.read_trees(io.StringIO("x = 1"), "Python").strings()
        == tl.read_trees(io.StringIO("x = 1"), "python").strings()
    )
    with pytest.raises(ParameterError, match="this suffix have the format 'python'"):
        tl.read_trees(io.StringIO("x = 1"), "py")


def test_options_of_a_format_in_the_commands_words(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1", encoding="utf-8")
    message = fail("gram", tmp_path / "a.py", "-o", "-", "--format", "python:each=functions")
    assert message.startswith("treelet: error: each in --format must be 'module', 'function', ")
    message = fail("gram", tmp_path / "a.py", "-o", "-", "--option", "docstrings=no")
    assert message == "treelet: error: docstrings in --option must be true or false. Got 'no' instead.\n"
