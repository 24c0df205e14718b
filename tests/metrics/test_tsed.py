"""TSED against hand-worked scores and against a computation with apted."""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treelet as tl
from conftest import ROOT, trials
from treelet.errors import TreeletWarning
from treelet.formats.languages import LANGUAGES
from treelet.metrics import tsed

tree_sitter = pytest.importorskip("tree_sitter")
scores = pytest.importorskip("definitions.code_scores")

AREA = "def area(r):\n    return 3 * r ** 2\n"  # 12 nodes: module, function, name, parameters, r, block, return, 5 of *, **
SOURCES = {
    "python": [Path(os.__file__).parent / name for name in ("textwrap.py", "shlex.py", "queue.py", "json")],
    "cpp": [ROOT / "native"],
    "javascript": [ROOT / "src" / "treelet" / "drawing" / "web", ROOT / "src" / "treelet" / "explorer"],
}


# --- the definition -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("generated", "score"),
    [
        (AREA, 1),
        (AREA.replace("area", "size").replace("2", "4"), 1),  # names and values do not count
        (AREA.replace("*", "+", 1), 1),  # nor do operators
        (AREA.replace("2", "2.5"), 11 / 12),
        (AREA.replace("3 * ", ""), 10 / 12),
        (AREA + "# a comment", 12 / 13),
        ("", 1 / 12),
        (None, 0),
    ],
)
def test_scores(generated: str | None, score: float) -> None:
    assert tsed(generated, AREA, "python") == pytest.approx(score, abs=1e-12)


def test_leaves() -> None:
    assert tsed(AREA.replace("3", "4"), AREA, "python", leaves=True) == pytest.approx(1 - 1 / 24)
    assert tsed(AREA.replace("*", "+", 1), AREA, "python", leaves=True) == pytest.approx(1 - 1 / 24)
    assert tsed(AREA, AREA.encode(), "python", leaves=True) == 1
    assert tsed("class A {}", "class B {}", "java", leaves=True) < tsed("class A {}", "class B {}", "java") == 1


def test_costs() -> None:
    other = "def area(r):\n    while r: return 1\n"
    plain = tsed(other, AREA, "python")
    assert tsed(other, AREA, "python", insert=0.5) > plain
    assert tsed(other, AREA, "python", rename=lambda a, b: 0.25) > plain
    longer = AREA + "# twice\n"
    assert tsed(longer, AREA, "python", delete={"comment": 0.5}) == pytest.approx(1 - 0.5 / 13)
    assert tsed(AREA, longer, "python", insert=0) == 1 == tsed(longer, AREA, "python", delete=0)
    assert tsed("", AREA, "python", insert=5) == 0  # not below 0


# --- code with syntax errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize("damaged", [AREA.replace(")", ""), AREA.replace(":", ""), AREA[:-3], "(" + AREA, AREA + "$"])
@pytest.mark.parametrize("leaves", [False, True])
def test_damaged_code_scores_below_valid_code(damaged: str, leaves: bool) -> None:
    assert 0 < tsed(damaged, AREA, "python", leaves=leaves) < tsed(AREA, AREA, "python", leaves=leaves) == 1


TOKENS = [
    "f",
    "x",
    "1",
    " + ",
    "(",
    ")",
    "def f(x):",
    "\n",
    "\n    ",
    "return ",
    "if x:",
    '"',
    "# c",
    "[",
    "]",
    ", ",
    "$",
    "é",
]


@settings(max_examples=trials(400))
@given(st.lists(st.sampled_from(TOKENS), max_size=14).map("".join), st.booleans())
def test_no_damaged_code_has_the_tree_of_valid_code(code: str, leaves: bool) -> None:
    try:
        compile(code, "<generated>", "exec")
        valid = True
    except SyntaxError:
        valid = False
    parsed = tree_sitter.Parser(LANGUAGES["python"].grammar).parse(code.encode())
    names = {node.name for node in every(scores.tree_of(code, "python", leaves))}
    assert parsed.root_node.has_error == bool(names & {"ERROR", "MISSING"})
    assert tsed(code, code, "python", leaves=leaves) == 1
    if valid and not parsed.root_node.has_error:
        assert tsed(code + "\n)", code, "python", leaves=leaves) < 1


def every(node: Any) -> list[Any]:
    return [node, *(below for child in node.children for below in every(child))]


# --- against apted ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", SOURCES)
def test_equal_to_apted_on_real_code(language: str) -> None:
    pytest.importorskip("apted", reason="apted is not installed (group peers)")
    if not all(path.exists() for path in SOURCES[language]):
        pytest.skip("needs the sources of the project")
    rng = random.Random(0)
    pairs = scores.pairs(rng, scores.functions(SOURCES[language]), 120)
    generated, reference = map(list, zip(*pairs, strict=True))
    assert sum(has_error(code, language) for code in generated) > 20
    found = tsed(generated, reference, language)
    expected = [scores.tsed_by_apted(*pair, language) for pair in pairs]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    assert min(found) < 0.6 < max(found) == 1
    some = [pair for pair in pairs if max(map(len, pair)) < 300][:25]
    generated, reference = map(list, zip(*some, strict=True))
    expected = [scores.tsed_by_apted(*pair, language, True, (1.5, 0.75, 1.25)) for pair in some]
    found = tsed(generated, reference, language, leaves=True, delete=1.5, insert=0.75, rename=1.25)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def has_error(code: str, language: str) -> bool:
    return tree_sitter.Parser(LANGUAGES[language].grammar).parse(code.encode()).root_node.has_error


# --- inputs -------------------------------------------------------------------------------------------------------


def test_lists() -> None:
    generated = [AREA, AREA.replace("3 * ", ""), None, AREA[:-2]] * 5
    found = tsed(generated, [AREA] * 20, "python", n_jobs=1)
    assert found.tolist() == [tsed(code, AREA, "python") for code in generated]
    assert np.array_equal(tsed(tuple(generated), np.array([AREA] * 20, object), "python", n_jobs=3), found)
    assert tsed([], [], "python").shape == (0,)


def test_a_pair_that_is_too_large_does_not_spoil_the_others() -> None:
    large, other = "x = 1\n" * 30_000, "y(2)\n" * 30_000
    with pytest.warns(TreeletWarning, match=r"1 of 3 pairs have no score.*Item 1: .*edit distance") as caught:
        found = tsed([AREA, large, AREA], [AREA, other, AREA], "python", n_jobs=2)
    np.testing.assert_array_equal(found, [1, np.nan, 1])
    assert len(caught) == 1
    assert caught[0].filename == __file__
    with pytest.raises(tl.TreeletError, match="edit distance"):
        tsed(large, other, "python")


def test_code_that_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREELET_PARSE_SECONDS", "0")
    with pytest.warns(TreeletWarning, match="Item 0: item 0 of 'generated': parsing took longer"):
        assert np.isnan(tsed([AREA], [AREA + "pass"], "python")[0])


@pytest.mark.parametrize(
    "code", ["(" * 50_000, "[" * 2000 + "]" * 2000, "if x:\n " * 3000, "\ud800", "\0" * 100, "é" * 999]
)
def test_hostile_code(code: str) -> None:
    assert 0 <= tsed(code, AREA, "python", leaves=True) < 1


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match=r"'language'.*Got 'python3' instead. Did you mean 'python'"):
        tsed(AREA, AREA, "python3")
    with pytest.raises(TypeError, match="lists of source code, but 'reference' is a str"):
        tsed([AREA], AREA, "python")
    with pytest.raises(ValueError, match=r"same length. Got 1 and 2"):
        tsed([AREA], [AREA, AREA], "python")
    with pytest.raises(TypeError, match="'reference' is None, but source code is needed"):
        tsed(AREA, None, "python")
    with pytest.raises(TypeError, match=r"Item 1 of 'generated' is a float"):
        tsed([AREA, 1.5], [AREA, AREA], "python")
    with pytest.raises(ValueError, match="'leaves' parameter of tsed"):
        tsed(AREA, AREA, "python", leaves="no")
    with pytest.raises(ValueError, match="'insert' parameter of EditDistance"):
        tsed(AREA, AREA, "python", insert=-1)
    with pytest.raises(ValueError, match="'n_jobs' parameter of tsed"):
        tsed(AREA, AREA, "python", n_jobs=0)


def test_without_the_grammar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tree_sitter_lua", None)
    monkeypatch.delitem(LANGUAGES["lua"].__dict__, "grammar", raising=False)
    with pytest.raises(
        tl.TreeletError, match=r"Reading Lua needs the package tree-sitter-lua: pip install 'treelet\[code\]'"
    ):
        tsed("x = 1", "x = 2", "lua")
