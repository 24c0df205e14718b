"""Python source as trees: nothing that differs becomes equal, and nodes lead back to their lines."""

from __future__ import annotations

import ast
import gzip
import io
import itertools
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treelet as tl
from conftest import fail, succeed
from treelet.errors import (
    FileError,
    FormatError,
    InputTypeError,
    NotEnoughMemoryError,
    ParameterError,
    TreeletWarning,
)
from treelet.formats import Located, Place, python_trees
from treelet.formats.adapters import _value_label

HERE = Path(__file__).parent


def tree(source: str, **options: Any) -> str:
    return tl.Treebank(python_trees(source, **options)).strings()[0].removeprefix("(Module (body ").removesuffix("))")


# --- labels ---------------------------------------------------------------------------------------------------------


def unescaped(label: str) -> str:
    """The text that a label of `value_label` stands for."""
    out, rest = "", "" if label == "\\e" else label
    while rest:
        char, rest = rest[0], rest[1:]
        if char == "\\":
            char, rest = rest[0], rest[1:]
            if char in "xu":
                size = 2 if char == "x" else 4
                char, rest = chr(int(rest[:size], 16)), rest[size:]
            else:
                char = {"s": " ", "t": "\t", "n": "\n", "r": "\r", "\\": "\\"}[char]
        out += char
    return out


@given(st.text() | st.text(" \t\n\r\v\f\0()\\_esxu0129ea-LRB'"))
def test_values_can_be_read_back_from_their_labels(text: str) -> None:
    label = _value_label(text)
    assert unescaped(label) == text
    assert tl.Tree.parse(f"({label} x)") == tl.Tree(label, ["x"])


# --- nothing becomes equal --------------------------------------------------------------------------------------------

KINDS = [
    *(
        "1",
        "1.0",
        "1j",
        "'1'",
        "b'1'",
        "True",
        "'True'",
        "None",
        "'None'",
        "...",
        "'...'",
        "'Ellipsis'",
        "x",
        "'x'",
        "''",
    ),
    *(
        "b''",
        "'\\\\e'",
        "'a b'",
        "'a_b'",
        "'a\\tb'",
        "'('",
        "'-LRB-'",
        "'\\\\x28'",
        "f''",
        "f'x'",
        "f'{x}'",
        "0x10",
        "'16'",
    ),
    *(
        "0xf" * 1 + "f" * 5000,
        "-1",
        "'-1'",
        "1e999",
        "'inf'",
        "()",
        "[]",
        "{}",
        "{**x}",
        "{None: x}",
        "u'x'",
        "x.x",
        "x[0]",
    ),
    *("f(x)", "f(*x)", "f(**x)", "f(x=x)", "lambda: None", "lambda x: None", "lambda *x: None", "lambda *, x: None"),
]


def test_different_expressions_differ() -> None:
    values = tl.SubsetTree(lam=0.4).normalized()([ast.parse(kind) for kind in KINDS])
    for one, other in itertools.combinations(range(len(KINDS)), 2):
        assert values[one, other] < 1 - 1e-9, (KINDS[one], KINDS[other])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = 1", "x = '1'"),
        ("return", "return None"),
        ("def f(): pass", "async def f(): pass"),
        ("import a", "from . import a"),
        ("from . import a", "from .. import a"),
        ("x: int", "x: int = None"),
        ("(x): int", "x: int"),
        ("global x", "nonlocal x"),
        ("match x:\n case None: pass", "match x:\n case True: pass"),
        ("match x:\n case {**r}: pass", "match x:\n case {}: pass"),
        ("def f(*, a, b=1): pass", "def f(*, a=1, b): pass"),
        ("[x async for x in y]", "[x for x in y]"),
    ],
)
def test_different_statements_differ(one: str, other: str) -> None:
    assert tree(one) != tree(other)


def test_trees_of_real_statements_are_equal_just_where_they_are() -> None:
    """Against ast.dump, over every statement and expression of these sources."""
    nodes = [
        node
        for path in sorted(HERE.parent.rglob("test_f*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, (ast.stmt, ast.expr))
    ]
    by_tree: dict[str, set[str]] = {}
    for node, text in zip(nodes, tl.Treebank(nodes).strings(), strict=True):
        by_tree.setdefault(text, set()).add(
            ast.dump(node).replace("ctx=Store()", "ctx=Load()").replace("ctx=Del()", "ctx=Load()")
        )
    assert len(nodes) > 10_000
    assert all(len(dumps) == 1 for dumps in by_tree.values())


# --- options ----------------------------------------------------------------------------------------------------------


def test_constants() -> None:
    assert tree("1, 'a b', b'x', None, ...") == (
        r"(Expr (value (Tuple (elts (Constant (int 1)) (Constant (str a\sb)) (Constant (bytes x)) (Constant None) (Constant Ellipsis))))"
        ")"
    )
    assert tree("1, 'a b', None", constants="types") == (
        "(Expr (value (Tuple (elts (Constant int) (Constant str) (Constant None)))))"
    )
    assert tree("x = 1", ctx=True) == "(Assign (targets (Name (id x) (ctx Store))) (value (Constant (int 1))))"


def test_anonymous_identifiers() -> None:
    one = "import numpy as np\ndef mean(values, *rest):\n    total = np.sum(values)\n    return total / len(values)\n"
    other = "import numpy as np\ndef avg(xs, *more):\n    s = np.sum(xs)\n    return s / len(xs)\n"
    assert tree(one) != tree(other)
    assert tree(one, identifiers="anonymous") == tree(other, identifiers="anonymous")
    for kept in ("np", "numpy", "sum", "len"):
        assert f" {kept})" in tree(one, identifiers="anonymous")
    # Which is which still counts, and a name from outside never equals one of the tree.
    for a, b in [("x = 1; y = x", "x = 1; y = y"), ("x = y", "x = x"), ("x = v0", "x = x"), ("a = b = 1", "a = a = 1")]:
        assert tree(a, identifiers="anonymous") != tree(b, identifiers="anonymous")
    every = (
        "class A(B):\n def f(self):\n  global g, h\n  try:\n   g = 1\n  except E as e:\n   raise e\n"
        "  match x:\n   case [a, *b]: pass\n   case {'k': c, **d}: pass\n   case P(q=r) as s: pass\n"
    )
    found = tree(every, identifiers="anonymous")
    for kept in ("B", "h", "E", "x", "P", "q"):
        assert f" {kept})" in found, kept
    for gone in ("A", "f", "self", "g", "e", "a", "b", "c", "d", "r", "s"):
        assert f" {gone})" not in found, gone


def test_docstrings() -> None:
    source = '"""of a module"""\nclass A:\n    "of a class"\n    def f(self):\n        "of a function"\n        "no docstring"\n'
    without = tree(source, docstrings=False)
    assert "of" not in without
    assert "no\\sdocstring" in without
    assert tree(source).count("\\s") == 7
    assert tree("x\n'y'", docstrings=False) == tree("x\n'y'")


def test_each() -> None:
    source = "import x\n@d\nclass A:\n    async def f(self):\n        def g(): pass\n        return g\ndef h(): pass\n"
    lines = {
        each: [t.place and t.place[:2] for t in python_trees(source, each=each)]
        for each in ("module", "function", "class", "statement")
    }
    assert lines == {
        "module": [(1, 1)],
        "function": [(4, 5), (5, 9), (7, 1)],
        "class": [(3, 1)],
        "statement": [(1, 1), (3, 1), (7, 1)],
    }
    assert tl.Treebank(python_trees("1", each="function")).strings() == []


@pytest.mark.parametrize(
    "options",
    [
        {"each": "line"},
        {"constants": "all"},
        {"identifiers": "v0"},
        {"docstrings": 1},
        {"ctx": None},
        {"constants": ["values"]},
    ],
)
def test_bad_options(options: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=next(iter(options))):
        python_trees("x", **options)
    with pytest.raises(ParameterError, match=next(iter(options))):
        tl.read_trees(io.StringIO("x"), "python", **options)


# --- places -----------------------------------------------------------------------------------------------------------


def test_places() -> None:
    module = python_trees("x = 'é' + y\r\nif x:\r\n    z(1)")[0]
    assert module.place == Place(1, 1, 3, 9)
    by_label = {node.label: node.place for node in module.nodes()}
    assert by_label["y"] == Place(1, 11, 1, 12)  # characters, not bytes
    assert by_label["Call"] == Place(3, 5, 3, 9)
    assert by_label["test"] == Place(2, 1, 3, 9)  # a field has the place of its node
    assert repr(module.find(tl.Tree("Call"))[0]) == "<Located: Call at 3:5>"


def test_nodes_are_those_of_the_bank() -> None:
    source = (HERE / "test_formats.py").read_text(encoding="utf-8")
    module = python_trees(source)[0]
    kept = tl.Treebank([module])[0]
    assert kept is not None
    assert [node.label for node in module.nodes()] == [node.label for node in kept.nodes()]
    lines = source.splitlines()
    for node in module.nodes():
        if node.label == "FunctionDef":
            assert node.place
            assert lines[node.place.line - 1].lstrip().startswith("def ")


def test_fragments_lead_back_to_their_lines() -> None:
    one, other = python_trees("a = 1\nprint(a + 1)\n")[0], python_trees("b = 2\n\nprint(b + 1)\nprint(2 + 1)")[0]
    shared = tl.shared_fragments(one, other, tl.SubsetTree())
    largest = max((fragment.tree for fragment in shared), key=lambda tree: len(list(tree.nodes())))
    assert "print" in str(largest)
    for found, tree in ((one, 0), (other, 1)):
        for fragment in shared:
            assert len(found.find(fragment.tree)) == fragment.counts[tree]
    assert [node.place and node.place.line for node in one.find(largest)] == [2]
    call = tl.Tree.parse("(Call (func (Name (id print))) args)")
    assert [node.place and node.place.line for node in other.find(call)] == [3, 4]
    for fragment in tl.shared_fragments(one, other, tl.PartialTree()):
        assert one.find(fragment.tree, gaps=True)
    assert Located("a", (Located("b"), Located("c"))).find(tl.Tree("a", ["c"])) == []
    with pytest.raises(InputTypeError, match="str instead"):
        one.find("(Constant)")
    assert len(Located("a", (Located("b"), Located("c"))).find(tl.Tree("a", ["c"]), gaps=True)) == 1


# --- files and errors -------------------------------------------------------------------------------------------------


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "f.py.gz"
    source = "# coding: latin-1\ndef f():\n    return 'é'\n"
    path.write_bytes(gzip.compress(source.encode("latin-1")))
    expected = tl.Treebank(python_trees(source, each="function"))
    assert tl.read_trees(path, each="function") == expected
    assert tl.Treebank(python_trees(path, each="function")) == expected
    assert tl.Treebank(python_trees(source.encode("latin-1"), each="function")) == expected
    assert tl.Treebank(python_trees(ast.parse(source), each="function")) == expected
    utf16 = source.encode("utf-16")
    assert tl.read_trees(io.BytesIO(utf16), "python", each="function", encoding="utf-16") == expected
    assert tl.Treebank([ast.parse(source)]) == tl.read_trees(path)


def test_commands(tmp_path: Path) -> None:
    path, bad = tmp_path / "f.py", tmp_path / "bad.py"
    path.write_text("def f(a):\n    return a\n", encoding="utf-8")
    succeed("gram", path, "-o", tmp_path / "K.npy")
    path.write_text("def f(a):\n    'doc'\n    return a\n\ndef g(b):\n    return b\n", encoding="utf-8")
    options = "python:each=function,identifiers=anonymous,docstrings=false"
    succeed("gram", path, "-o", tmp_path / "K.npy", "--format", options, "--normalize")
    np.testing.assert_allclose(np.load(tmp_path / "K.npy"), np.ones((2, 2)))
    assert "must be 'module'" in fail("gram", path, "-o", tmp_path / "K.npy", "--format", "python:each=line")
    bad.write_text("x = 1\ny = = 2\n", encoding="utf-8")
    assert "this is not valid Python" in fail("gram", bad, "-o", tmp_path / "K.npy")


@pytest.mark.parametrize(
    ("source", "line", "column", "message"),
    [
        ("x = 1\nif x\n", 2, 5, "this is not valid Python 3"),
        ("x = '\n", 1, 5, "unterminated"),
        ("print 'x'", 1, 1, "Missing parentheses"),
        (b"x = 1\n\ny = '\xff'", 3, None, "encoding utf-8"),
        (b"# coding: latin1\n# coding\n#\nx = '\xff", 4, 5, "unterminated"),
        (b"# coding: ascii\n\nx = '\xff'", 3, None, "encoding ascii"),
        (b"# coding: nonsense\n", 1, None, "unknown encoding"),
        ("\ud800", 1, None, "encoding utf-8"),
        ("a\0b", None, None, "null bytes"),
        ("-" * 200_000 + "1", None, None, "nested too deeply"),
        ("+".join(["x"] * 100_000), None, None, "nested too deeply"),
        ("x" + ".a" * 100_000, None, None, "nested too deeply"),
        ("(" * 1000, 1, None, "too many nested parentheses"),
    ],
)
def test_errors_name_the_place(source: str | bytes, line: int | None, column: int | None, message: str) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        python_trees(source)
    assert caught.value.line == line
    if column is not None:
        assert caught.value.column == column


@pytest.mark.parametrize("source", ["program.py", "some/program.py.gz"])
def test_names_of_files_are_no_sources(source: str) -> None:
    with pytest.raises(InputTypeError, match="string must contain the source itself"):
        python_trees(source)
    with pytest.raises(FileError, match="the file does not exist"):
        python_trees(Path("there-is-no.py"))
    for other in (5, None, ["x = 1"]):
        with pytest.raises(InputTypeError, match="path or an open file is needed, but got"):
            python_trees(other)  # type: ignore[arg-type]
    assert tree("program.py\n") == "(Expr (value (Attribute (value (Name (id program))) (attr py))))"


def test_deep_trees_made_by_hand() -> None:
    node: ast.expr = ast.Name("x", ast.Load())
    for _ in range(50_000):  # two levels and four nodes each
        node = ast.UnaryOp(ast.USub(), node)
    found = python_trees(node, identifiers="anonymous")[0]
    assert len(list(found.nodes())) == 50_000 * 4 + 3
    assert tl.Treebank([node]) == tl.Treebank([found])
    assert len(found.find(tl.Tree.parse("(operand (Name (id x)))"))) == 1
    while isinstance(node, ast.UnaryOp):
        node = node.operand  # Python may not let go of so deep a tree at once


def test_nodes_that_hold_themselves() -> None:
    loop = ast.parse("-x", mode="eval").body
    assert isinstance(loop, ast.UnaryOp)
    loop.operand = loop
    with pytest.raises(tl.TreeletError, match="its own descendant"):
        tl.Treebank([loop])
    for options in ({}, {"identifiers": "anonymous"}):
        with pytest.raises(tl.TreeletError, match="its own descendant"):
            python_trees(loop, **options)
    assert python_trees(loop, each="function") == []


def test_nothing_is_run_or_warned_about(recwarn: pytest.WarningsRecorder) -> None:
    python_trees("import os; os.environ['TREELET_WAS_RUN'] = '\\d'")
    assert "TREELET_WAS_RUN" not in os.environ
    assert not recwarn.list


@pytest.mark.parametrize("text", ["def f(x): return x", "import os", "from a.b import c", "@x\nclass A: pass"])
def test_source_code_given_as_a_tree_is_told_its_reader(text: str) -> None:
    with pytest.raises(FormatError, match="text outside brackets"):
        tl.Treebank([text])
    with pytest.raises(FormatError, match="label<TAB>tree, pass only the part after"):
        tl.Treebank(["good\t(S (A a))"])


@pytest.mark.parametrize(
    ("free", "error", "message"),
    [(1 << 40, FormatError, "nested too deeply"), (1000, NotEnoughMemoryError, r"a\.py: parsing .* of memory")],
)
def test_a_lack_of_memory_is_not_called_nesting(
    free: int, error: type[Exception], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def parse(text: str) -> ast.Module:
        raise MemoryError

    path = tmp_path / "a.py"
    path.write_text("def f(): pass\n", encoding="utf-8")
    monkeypatch.setattr(ast, "parse", parse)
    monkeypatch.setattr("treelet.formats.code.available", lambda fresh: free)
    for read in (tl.read_code, tl.read_trees):
        with pytest.raises(error, match=message):
            read(path)
    (tmp_path / "b.xml").write_text("<a/>", encoding="utf-8")
    with pytest.warns(TreeletWarning, match=message):
        assert len(tl.read_trees(tmp_path, on_error="skip")) == 1
