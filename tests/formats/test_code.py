"""Source code by tree-sitter: units with their places, names by the rules of each language, damaged functions."""

from __future__ import annotations

import ast
import io
import json
import re
import signal
import sys
import tokenize
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import treelet as tl
from conftest import succeed
from treelet import _core
from treelet.errors import FileError, FormatError, NotEnoughMemoryError, ParameterError, TreeletError, TreeletWarning
from treelet.formats import SourcePlace, python_trees
from treelet.formats.adapters import SyntaxAdapter, _nodes_of, _value_label, flatten
from treelet.formats.code import _EACH
from treelet.formats.files import SkipLog
from treelet.formats.languages import LANGUAGES
from treelet.formats.reading import read_code_document, read_located

tree_sitter = pytest.importorskip("tree_sitter")

# One function per language, with parameters and local variables called one, two, three, and a used name `print`. Its
# twin has other names. PHP calls functions by names that are not variables, and Bash has no parameters.
TWINS = {
    "python": "def {f}({a}, {b}=1):\n    {c} = {a} + {b}\n    return helper({c}).size\n",
    "javascript": "function {f}({a}, {b} = 1) {{ const {c} = {a} + {b}; return helper({c}).size; }}\n",
    "typescript": "function {f}({a}: number, {b}?: string) {{ const {c} = {a} + {b}; return helper({c}).size; }}\n",
    "tsx": "function {f}({a}: number) {{ const {c} = {a}; return <p id='x'>{{helper({c})}}</p>; }}\n",
    "java": "class K {{ int {f}(int {a}, int {b}) {{ int {c} = {a} + {b}; return helper({c}).size; }} }}\n",
    "c": "int {f}(int {a}, char *{b}) {{ int {c} = {a} + 1; return helper({c}, {b})->size; }}\n",
    "cpp": "int {f}(const int &{a}, int {b}) {{ auto {c} = {a} + {b}; return helper({c}).size; }}\n",
    "go": "package p\nfunc {f}({a} int, {b} string) int {{ {c} := {a} + 1; return helper({c}, {b}).size }}\n",
    "rust": "fn {f}({a}: i32, {b}: i32) -> i32 {{ let {c} = {a} + {b}; helper({c}).size }}\n",
    "c-sharp": "class K {{ int {f}(int {a}, string {b}) {{ var {c} = {a} + 1; return helper({c}, {b}).size; }} }}\n",
    "php": "<?php function {f}(${a}, ${b}) {{ ${c} = ${a} + ${b}; return helper(${c})->size; }}\n",
    "ruby": "def {f}({a}, {b} = 1)\n  {c} = {a} + {b}\n  helper({c}).size\nend\n",
    "kotlin": "fun {f}({a}: Int, {b}: Int): Int {{ val {c} = {a} + {b}; return helper({c}).size }}\n",
    "swift": "func {f}({a}: Int, {b}: Int) -> Int {{ let {c} = {a} + {b}; return helper({c}).size }}\n",
    "bash": 'twin() {{ {a}=1; {b}=$(({a} + 1)); helper "${a}" "${b}"; }}\n',
    "scala": "object O {{ def {f}({a}: Int, {b}: Int): Int = {{ val {c} = {a} + {b}; helper({c}).size }} }}\n",
    "lua": "function {f}({a}, {b})\n  local {c} = {a} + {b}\n  return helper({c}).size\nend\n",
}


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def trees(folder: Path, name: str, text: str, **options: Any) -> list[str]:
    return tl.read_code(written(folder, name, text), **options).strings()


# --- languages ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LANGUAGES)
def test_the_tables_fit_the_installed_grammars(name: str) -> None:
    language = LANGUAGES[name]
    assert language.binding_paths()
    for kind in f"{language.functions} {language.classes} {language.scopes} {language.identifiers}".split():
        assert language.has_kind(kind), kind


@pytest.mark.parametrize("name", [name for name in TWINS if name != "python"])
def test_renamed_functions_are_equal_if_names_are_anonymous(name: str, tmp_path: Path) -> None:
    suffix = LANGUAGES[name].suffixes[0]
    one = written(tmp_path, f"one{suffix}", TWINS[name].format(f="twin", a="one", b="two", c="three"))
    two = written(tmp_path, f"two{suffix}", TWINS[name].format(f="other", a="left", b="right", c="sum"))
    kept = tl.read_code(one, two)
    assert [place.name.split(".")[-1] for place in kept.places] == ["twin", "twin" if name == "bash" else "other"]
    assert kept.strings()[0] != kept.strings()[1]
    first, second = tl.read_code(one, two, identifiers="anonymous").strings()
    assert first == second
    assert "$0" in first
    assert "helper" in first
    if name not in ("bash", "tsx"):
        assert "size" in first
    if name not in ("bash", "tsx"):  # the name of a member is kept even if a variable has the same name
        used = TWINS[name].format(f="twin", a="size", b="two", c="three")
        (shared,) = tl.read_code(written(tmp_path, f"three{suffix}", used), identifiers="anonymous").strings()
        assert shared == first


# Sources in which names are bound in many ways, for patterns of several levels or with positions.
BINDINGS = {
    "python": "def f(a: int = 1, *b, **c):\n  (d, e), g = h\n  for i in j: k += 1\n  with l as m: return [n for n in o if (p := n)]\n",
    "javascript": "function f({a, b: c, d = 1}, ...e) { for (const g of h) try { [i, j.k] = l } catch (m) { n = o => p } }",
    "typescript": "class A { m(a: B, c?: D) { const [e, ...f] = this.g; return function h() { return A } } }",
    "java": "class A { int b = 1; void c(int... d) throws E { try (F g = h()) { for (I j : k) l = (m, n) -> o; } catch (P q) {} } }",
    "c": "static int a(char *b[], struct c *d) { int e, *f = g; again: h->e = b; goto again; }",
    "cpp": "struct A { int b(int c = 1); }; int A::b(int c) { auto [d, e] = f; for (const auto &g : h) i(g.c); }",
    "go": "package p\nfunc (a *B) c(d ...E) (f G) { h, i := j(); for k, l := range m { var n, o = q, r; s = k }; return i }",
    "rust": "fn a(mut b: C, (d, e): F) { if let Some(g) = h { for &i in j {} } match k { l @ 1 => l, P(q, r) => q, _ => s } }",
    "c-sharp": "class A { int B(int c) { foreach (var d in e) if (f is G h) i = j => k; try {} catch (L m) {} return c; } }",
    "php": "<?php class A { function b($c) { $this->d = $c; foreach ($e as $f) { g($f, $this); } } }",
    "ruby": "def a(b, c: 1, *d, **e, &f)\n  g, h = i\n  j += k.each { |l| l.g }\nrescue M => n\n  for o in p do end\nend",
    "kotlin": "fun a(b: C, d: E = f): G { val (h, i) = j; for (k in l) { m.n { o -> o + b } }; return h }",
    "swift": "func a(b c: D, e: F) { let (g, h) = i; for j in k { l { m in m + e } }; if let n = o { p(n) } }",
    "bash": 'a() { local b=1 c; for d in "$@"; do e=$b; f "$d" "$g"; done; }',
    "scala": "class A(b: C) { def d(e: F) = { val g = h; var i = j; for (k <- l) yield k; m match { case n @ O(p) => n }; (q => r) } }",
    "lua": "local a, b = c, d\nlocal e\nfunction f(g, h)\n  for i = 1, 2 do j = i end\n  for k, l in m do n.k = l end\nend",
}


@pytest.mark.parametrize("name", BINDINGS)
def test_bound_names_are_those_of_a_query(name: str, tmp_path: Path) -> None:
    """The slow definition: tree-sitter matches the patterns."""
    language = LANGUAGES[name]
    root = tree_sitter.Parser(language.grammar).parse(BINDINGS[name].encode()).root_node
    assert not root.has_error
    captures = tree_sitter.QueryCursor(tree_sitter.Query(language.grammar, language.bindings)).captures(root)
    bound = {_value_label(node.text.decode()) for node in captures["bound"]} - {language.never_bound}
    path = written(tmp_path, f"a{language.suffixes[0]}", BINDINGS[name])
    kept, replaced = (
        [node.label for node in tl.read_trees(path, format="code", identifiers=way)[0].nodes()]
        for way in ("keep", "anonymous")
    )
    assert {label for label, new in zip(kept, replaced, strict=True) if label != new} == bound
    assert len(bound) >= 3


def test_patterns_that_do_not_fit_the_grammar() -> None:
    for bindings, missing in (
        ("(lambda_thing (identifier) @bound)", "lambda_thing"),
        ("(a b: (identifier) @bound)", "a|b"),
    ):
        language = replace(LANGUAGES["java"], bindings=bindings)
        with pytest.raises(TreeletError, match=rf"do not fit tree-sitter-java .*, which has no ({missing})\. Install"):
            language.binding_paths()


def test_the_tree_of_a_function(tmp_path: Path) -> None:
    source = "class A { static f(x) { // a comment\n  return x - `a${x}` + 'lit'; } }"
    (tree,) = trees(tmp_path, "a.js", source)
    assert tree == (
        "(method_definition static (property_identifier f) (formal_parameters (identifier x)) (statement_block "
        "(return_statement (binary_expression (binary_expression (identifier x) - (template_string (string_fragment a) "
        "(template_substitution (identifier x)))) + (string 'lit')))))"
    )
    (types,) = trees(tmp_path, "a.js", source, constants="types")
    assert types == tree.replace("(string_fragment a) ", "").replace("(string 'lit')", "string")
    (concrete,) = trees(tmp_path, "a.js", "function f() { return 1; }", nodes="concrete")
    assert concrete == (
        "(function_declaration function (identifier f) (formal_parameters \\x28 \\x29) "
        "(statement_block { (return_statement return (number 1) ;) }))"
    )


def test_what_differs_is_not_equal(tmp_path: Path) -> None:
    pairs = [
        ("a.js", "function f(a, b) {{ return a {} b; }}", ("+", "-", "&&", "in")),
        ("a.js", "function f(a) {{ {} b = 1; }}", ("let", "const", "var")),
        ("a.js", "function f(a) {{ for (const b {} a); }}", ("in", "of")),
        ("a.java", "class A {{ {} int f() {{ return 1; }} }}", ("public", "private", "static")),
        ("a.java", "class A {{ void f(int a) {{ a{}; }} }}", ("++", "--")),
        ("a.ts", "function f(a: {}) {{ }}", ("number", "string")),
        ("a.c", "int f(int a) {{ return {}a; }}", ("-", "!", "~")),
        ("a.c", "{} f(void) {{ }}", ("int", "char", "static int")),
        ("a.rs", "fn f(a: i32) -> i32 {{ {}a }}", ("-", "!")),
        ("a.go", "package p\nfunc f() {{ x := {} }}", ("1", "2", '"1"', "'1'")),
    ]
    for name, template, parts in pairs:
        found = [trees(tmp_path, name, template.format(part))[0] for part in parts]
        assert len(set(found)) == len(parts), template


def test_units_and_names(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "a.ts",
        "namespace n {}\nclass A {\n  m() {\n    const g = () => 1;\n    return g; }\n}\nexport const o = { k: function () {} };\n"
        "run(() => 2);\n",
    )
    bank = tl.read_code(path)
    assert [place[1:] for place in bank.places] == [
        (3, 5, "A.m"),
        (4, 4, "A.m.g"),
        (7, 7, "k"),
        (8, 8, "<anonymous>"),
    ]
    assert str(bank.places[1]) == f"{path}:4 A.m.g"
    assert [place.name for place in tl.read_code(path, each="class").places] == ["A"]
    (whole,) = tl.read_code(path, each="file").places
    assert whole == SourcePlace(str(path), 1, 8, "")
    assert len(tl.read_code(path, each="return_statement")) == 1
    names = tl.read_code(
        written(
            tmp_path, "a.cpp", "namespace n { struct S { int f() { return 1; } }; }\nint S::g(int *a) { return *a; }\n"
        )
    ).places
    assert [place.name for place in names] == ["n.S.f", "S::g"]
    methods = tl.read_code(written(tmp_path, "a.rs", "struct P;\nimpl P { fn f(&self) {} }\n")).places
    assert [place.name for place in methods] == ["P.f"]


def test_lines_of_nodes(tmp_path: Path) -> None:
    path = written(tmp_path, "a.js", "\n\nfunction f(a) {\n  return (\n    a + 1);\n}\n")
    bank = tl.read_code(path)
    lines = dict(zip(map(str, _preorder(bank[0])), bank.places.node_lines(0).tolist(), strict=True))
    assert (lines["(number 1)"], lines["(formal_parameters (identifier a))"]) == (5, 3)
    assert lines[next(text for text in lines if text.startswith("(return_statement"))] == 4


@pytest.mark.parametrize(
    ("name", "text", "count"),
    [
        ("a.js", "function f(a)\n{\n  if (a)\n  {\n    g(a);\n  }\n  else\n  {\n    h();\n  }\n}\n", 11),
        ("a.c", "int f(void) /* a\n b */ {\n\n  // c\n  /* d\n\n e */\n  return (\n    1\n  );\n}\n", 6),
        ("a.js", "x = function () { return `a\n// b\n\nc`; }; /* d\n*/\n", 3),
        (
            "a.py",
            "def f():\n    try:\n        g()\n    except E:\n        h()\n    else:\n        k()\n    finally:\n        m()\n",
            9,
        ),
        ("a.py", "@a\n# b\n@c(\n    1,\n)\ndef f():\n    'd'\n    return (\n        1\n    )\n", 8),
        ("a.py", "def f(): 'a'\n", 1),
        ("a.py", 'def f():\n    """a\n    b\n    """\n    return """c\n# d\n\n\\"""\n    e"""\n', 5),
        ("a.py", "def f():\n    return ('a'  # b\n            # \"\"\"\n            'c\\\n# d')\n", 4),
        ("a.py", 'def f():\r    a = 1 # """\r\r    # b\r\n    return a', 3),
    ],
)
def test_lines_of_code(name: str, text: str, count: int, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(text.encode())
    bank = tl.read_code(path)
    assert bank.places is not None
    assert bank.places.code_lines().tolist() == [count]


def test_lines_of_code_are_those_with_tokens() -> None:
    layout = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    for path in [Path(ast.__file__), *sorted(Path(json.__file__).parent.glob("*.py")), Path(tokenize.__file__)]:
        text = path.read_text("utf-8")
        docstrings = {
            (node.body[0].lineno, node.body[0].col_offset)
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            if ast.get_docstring(node) is not None
        }
        filled = {number for number, line in enumerate(text.splitlines(), 1) if line.strip()}
        code: set[int] = set()
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type not in layout and not (token.type == tokenize.STRING and token.start in docstrings):
                code.update(range(token.start[0], token.end[0] + 1))
        bank = tl.read_code(path)
        assert bank.places is not None
        counts = bank.places.code_lines().tolist()
        for row, place in enumerate(bank.places):
            first = min(bank.places.node_lines(row))  # of a decorator
            assert counts[row] == len(filled & code & set(range(first, place.end_line + 1))), place


MANY_LINES = [
    *((f"a{rules.suffixes[0]}", TWINS[name].format(f="f", a="one", b="two", c="three")) for name, rules in LANGUAGES.items()),
    ("a.js", "const f = {\n  g(a) {\n    return x(\n      function (b) {\n        return `${() => b}`;\n      });\n  },\n h: a => a };\n"),
    ("a.js", "function f(a) {\n  // c\n  g(a;\n}\nfunction h(a) {\n  return\n    a;\n}\n"),
    ("a.py", "@a\n@b(\n    c)\ndef f(x):\n    'd'\n    def g():\n        return x\n\n    return g\ndef h(x): return x\n"),
    ("a.py", "class C:\n    def f(self):\n        \"\"\"d\n\n        \"\"\"\n        x = 1\n        return x\n    y = lambda: 1\n"),
    ("a.py", Path(json.decoder.__file__).read_text("utf-8")),
]  # fmt: skip


@pytest.mark.parametrize("each", ["function", "class"])
@pytest.mark.parametrize(("name", "text"), MANY_LINES)
def test_units_with_few_lines_are_left_out(name: str, text: str, each: str, tmp_path: Path) -> None:
    """The others are the same as without a limit, although the walk passes over the short ones."""
    path = written(tmp_path, name, text.replace("{ ", "{\n").replace("; ", ";\n"))
    options: dict[str, Any] = {"each": each, "identifiers": "anonymous"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TreeletWarning)  # damaged functions
        bank = tl.read_code(path, **options)
        for least in range(12):
            log = SkipLog()
            document = read_code_document([path], **options, min_lines=least, log=log)
            found = tl.Treebank.from_columns(document.trees["tree"], document.places)
            assert bank.places is not None
            kept = [row for row, lines in enumerate(bank.places.code_lines()) if lines >= least]
            assert found == bank[kept]
            assert found.places == bank.places[kept]
            assert found.places.code_lines().tolist() == bank.places.code_lines()[kept].tolist()
            assert [found.places.node_lines(row).tolist() for row in range(len(kept))] == [
                bank.places.node_lines(row).tolist() for row in kept
            ]
            short = sum(log.short.values())
            assert bool(short) == (len(kept) < len(bank))
            assert short <= len(bank) - len(kept)  # units inside those that were passed over are not counted


def test_edits_have_lines(tmp_path: Path) -> None:
    one = written(tmp_path, "one.js", "\nfunction f(a, b) {\n  g();\n  return a + 1;\n}\n")
    other = written(tmp_path, "other.js", "function f(a, b) {\n  g();\n  h();\n  return a + 2;\n}\n")
    printed = succeed("compare", one, other, "--edits").stdout
    changed = [line.split() for line in printed.splitlines() if line.startswith(("~", "+"))]
    assert ["~", "1", "line", "4", "2", "line", "4"] in changed
    assert ["+", "h", "line", "3"] in changed
    (tree,) = read_located(str(one))
    (same,) = tl.read_trees(one)
    assert [node.label for node in tree.nodes()] == [node.label for node in same.nodes()]
    lines = {node.label: node.place.line for node in tree.nodes()}
    assert (lines["1"], lines["g"], lines["formal_parameters"]) == (4, 3, 2)


def _preorder(tree: tl.Tree) -> list[tl.Tree]:
    out, stack = [], [tree]
    while stack:
        out.append(stack.pop())
        stack += reversed(out[-1].children)
    return out


# --- Python -----------------------------------------------------------------------------------------------------------


def old_trees(source: str, each: str, **options: Any) -> tl.Treebank:
    """The slow definition: node by node in Python."""
    module = ast.parse(source)
    roots: list[Any] = [module]
    if each == "statement":
        roots = list(module.body)
    elif each != "module":
        roots = [node for node in _nodes_of(module) if isinstance(node, _EACH[each])]
    return tl.Treebank.from_columns(flatten(roots, None, lambda root: SyntaxAdapter(**options, root=root)))


STANDARD_LIBRARY = sorted(Path(ast.__file__).parent.glob("*.py"))
OPTIONS = [
    {"each": "function"},
    {"each": "function", "identifiers": "anonymous"},
    {"each": "class", "identifiers": "anonymous", "docstrings": False},
    {"each": "module", "constants": "types", "identifiers": "anonymous", "docstrings": False, "ctx": True},
    {"each": "statement", "ctx": True},
]


@pytest.mark.parametrize("options", OPTIONS)
def test_python_is_read_as_node_by_node(options: dict[str, Any]) -> None:
    for path in STANDARD_LIBRARY[OPTIONS.index(options) :: 25]:
        bank = tl.read_trees(path, **options)
        assert bank == old_trees(path.read_text(encoding="utf-8"), **options), path


HARD = [
    "try:\n    a\nexcept E as e:\n    e = a\nmatch p:\n    case {'k': v, **rest} | [v, *rest]: v\n    case None | 'x' as n: n\n",
    "def f(a, /, *b, c: 'x y' = ..., **d):\n    'doc'\n    global g, h\n    g = lambda a: (a, h)\n    return b'\\0(', 1_000, 1j, -1.5, 10**40, ''\n",
    "from . import x as y\nasync def f():\n    async with a as b: yield f'{b!r:>{w}}'\n    del a[1:2]\n",
    "x = 9999999999999999999999999999\ny = '\\ud800'\nclass A(B, metaclass=C):\n    'only'\n",
    "",
]


@pytest.mark.parametrize("source", HARD)
@pytest.mark.parametrize("options", OPTIONS)
def test_python_that_is_hard_to_read(source: str, options: dict[str, Any], tmp_path: Path) -> None:
    assert tl.read_trees(written(tmp_path, "a.py", source), **options) == old_trees(source, **options)


@given(st.text(max_size=20))
def test_values_are_escaped_as_in_python(text: str) -> None:
    constant = ast.Constant(text)
    rules = SyntaxAdapter().native_rules(ast.AST)
    store, roots, *_ = _core.AstReader(_core.Store(), True, False, *rules).read([constant], "")
    leaf = tl.Treebank.from_columns(tl.formats.base.Columns(store, roots))[0]
    assert leaf is not None
    assert leaf.words() == [_value_label(text)]


def test_python_node_types(tmp_path: Path) -> None:
    path = written(tmp_path, "a.py", "def f():\n    for a in b: pass\n    for c in d: pass\n")
    assert [place.line for place in tl.read_code(path, each="For").places] == [2, 3]
    assert [place.name for place in tl.read_code(path, each="For").places] == ["f", "f"]
    (place,) = tl.read_code(path, each="file").places
    assert place == SourcePlace(str(path), 1, 3)
    other = written(tmp_path, "a.js", "for (;;);")
    assert [place.file for place in tl.read_code(path, other, each="for_statement").places] == [str(other)]
    with pytest.raises(ParameterError, match=r"'each'.*node type of a language"):
        tl.read_code(path, other, each="fun")


def test_deep_code_does_not_crash(tmp_path: Path) -> None:
    deep = 20_000
    (tree,) = tl.read_code(written(tmp_path, "a.js", f"function f() {{ return {'[' * deep}{']' * deep}; }}"))
    assert tree is not None
    assert tree.height() > deep


def nested(levels: int) -> str:
    return "f=" + "()=>" * levels + "1\n"


@pytest.mark.parametrize(
    ("name", "text", "each"),
    [
        ("a.js", nested(300), "function"),
        ("a.js", "x = " + "class{a=" * 300 + "1" + "}" * 300, "class"),
        ("a.js", "x = " + "1+" * 300 + "1", "binary_expression"),
        ("a.py", "x = " + "1+" * 300 + "1", "BinOp"),
        ("a.py", "x = " + "lambda:" * 300 + "1", "Lambda"),
    ],
)
def test_units_inside_many_others(name: str, text: str, each: str, tmp_path: Path) -> None:
    path = written(tmp_path, name, "\n" + text)
    with pytest.warns(TreeletWarning, match=rf"200 of 300 trees were skipped: .*{name}:2: .* 100 or more"):
        bank = tl.read_code(path, each=each, identifiers="anonymous")
    assert len(bank) == 100
    assert bank.places is not None
    lines = bank.places.arrays()["node_line"]
    assert len(lines) == max(len(bank.places.node_lines(row)) for row in range(100))  # inner units share them
    with pytest.raises(FormatError, match="100 or more"):
        tl.read_code(path, each=each, on_error="raise")
    if name == "a.py":
        with pytest.raises(FormatError, match="100 or more"):
            python_trees(path, each=each)


def test_functions_beside_a_deep_one_are_read(tmp_path: Path) -> None:
    path = written(tmp_path, "a.js", f"function f(a) {{ g(b => a, {nested(101)}) }} function h() {{}}")
    with pytest.warns(TreeletWarning, match="2 of 104 trees were skipped"):
        names = [place.name for place in tl.read_code(path).places]
    assert names[0] == "f.<anonymous>"
    assert names[-1] == "h"
    assert len(names) == 102


def test_long_names_are_cut(tmp_path: Path) -> None:
    for name in ("é" * 2000, "C" * 999):
        (place,) = tl.read_code(written(tmp_path, "a.js", f"class {name} {{ method() {{}} }}")).places
        assert 1000 < len(place.name.encode()) <= 1003
        assert place.name.endswith("\u2026")


# --- bad input --------------------------------------------------------------------------------------------------------


def test_damaged_functions_are_skipped_and_counted(tmp_path: Path) -> None:
    path = written(tmp_path, "a.js", "function a() { return 1 }\nfunction b( { return 2 }\nfunction c() { return 3 }\n")
    with pytest.warns(TreeletWarning, match=f"1 of 3 trees was skipped: {re.escape(str(path))}:2"):
        bank = tl.read_code(path)
    assert [place.name for place in bank.places] == ["a", "c"]
    with pytest.raises(FormatError, match="error outside any function may hide"):
        tl.read_code(path, on_error="raise")
    inside = written(tmp_path, "c.js", "function a() { return 1 }\nfunction b() { return 2 ( }\n")
    with pytest.warns(TreeletWarning, match="this function contains a syntax error"):
        assert [place.name for place in tl.read_code(inside).places] == ["a"]
    python = written(tmp_path, "b.py", "def a(): return 1\ndef b(:\n")
    with pytest.warns(
        TreeletWarning,
        match=r"2 of 5 trees were skipped: .*b\.py:2: .* 1 Python file was read by tree-sitter: .*b\.py:2:7",
    ) as caught:
        bank = tl.read_code(path, python)
    assert [place.name for place in bank.places] == ["a", "c", "a"]
    assert bank[2].label == "function_definition"  # as tree-sitter-python calls it
    assert len(caught) == 1
    with pytest.raises(FormatError, match="not valid Python"):
        tl.read_code(python, on_error="raise")


@pytest.mark.parametrize("suffix", ["c", "cpp"])
def test_macros_before_a_body_are_no_damage(tmp_path: Path, suffix: str) -> None:
    macro = "static INLINE int f(const int *a, size_t n) { return a[n]; }\n"
    path = written(tmp_path, f"a.{suffix}", f"{macro}int g(int a) {{ return a ( }}\nint h(int a) {{ return a; }}\n")
    with pytest.warns(TreeletWarning, match=rf"1 of 3 trees was skipped: {re.escape(str(path))}:2"):
        bank = tl.read_code(path, identifiers="anonymous")
    assert [place.name for place in bank.places] == ["f", "h"]
    assert "ERROR" in str(bank[0])
    assert str(bank[0]).count("(identifier $2)") == 2  # the parameter n, also in the body
    with pytest.warns(TreeletWarning):  # elsewhere, an error is damage
        assert len(tl.read_code(written(tmp_path, "a.java", "class A { int f(int a b) { return a; } }"))) == 0


def test_a_missing_grammar_names_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, "a.java", "class A {}")
    LANGUAGES["java"].__dict__.pop("grammar", None)
    monkeypatch.setitem(sys.modules, "tree_sitter_java", None)
    with pytest.raises(FormatError, match="Java needs the package tree-sitter-java"):
        tl.read_code(path)
    other = written(tmp_path, "a.py", "def f(): pass")
    with pytest.warns(TreeletWarning, match="Java needs the package tree-sitter-java"):
        assert len(tl.read_code(path, other)) == 1


def test_other_encodings(tmp_path: Path) -> None:
    path = tmp_path / "a.java"
    path.write_bytes('class A { String f() { return "é"; } }\n'.encode("latin-1"))
    with pytest.raises(FormatError, match=r":1: these bytes are not UTF-8 text\. Name another encoding"):
        tl.read_code(path)
    (tree,) = tl.read_code(path, encoding="latin-1").strings()
    assert "é" in tree
    path.write_bytes(path.read_text("latin-1").encode("utf-16"))
    with pytest.raises(FormatError, match="encoding='utf-16'"):
        tl.read_code(path)
    assert tl.read_code(path, encoding="utf-16").strings() == [tree]
    path.write_bytes(b"\xef\xbb\xbf" + path.read_text("utf-16").encode())
    assert tl.read_code(path).strings() == [tree]
    path.write_text("class A { int f() { return 1;\0 } }", encoding="utf-8")
    with pytest.raises(FormatError, match="NUL byte"):
        tl.read_code(path)


def test_files_of_an_unknown_language(tmp_path: Path) -> None:
    path = written(tmp_path, "a.xyz", "class A { int f() { return 1; } }")
    with pytest.raises(FormatError, match=r"the suffix \.xyz does not belong to a known language\. Name the language"):
        tl.read_code(path)
    assert len(tl.read_code(path, language="java")) == 1
    with pytest.raises(ParameterError, match=r"'language'.*'python', 'javascript'"):
        tl.read_code(path, language="jav")
    with pytest.raises(FormatError, match="the name has no suffix"):
        tl.read_code(written(tmp_path, "Makefile", "all:"))


def test_minified_and_huge_files(tmp_path: Path) -> None:
    line = "function f(a,b){return a+b*2}" * 70_000
    path = written(tmp_path, "a.js", line)
    assert len(line) > 2_000_000
    assert len(tl.read_code(path)) == 70_000  # a file that is named is read
    written(tmp_path, "b.js", "function g() {}")
    with pytest.warns(TreeletWarning, match=rf"{path.name}: {len(line):,} bytes, more than max_bytes"):
        assert len(tl.read_code(tmp_path)) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(tl.read_code(tmp_path, max_bytes=None)) == 70_001
    written(tmp_path, "b.js", "")
    (tmp_path / "a.js").unlink()
    assert len(tl.read_code(tmp_path)) == 0
    (tmp_path / "b.js").write_bytes(b"\0")
    with pytest.raises(FileError, match="1 file could be read"):
        tl.read_code(tmp_path)


@given(st.text(max_size=60), st.sampled_from(sorted(LANGUAGES)))
def test_any_text_is_read_or_skipped(text: str, language: str) -> None:
    import io

    for each in ("file", "function"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                bank = tl.read_code(io.StringIO(text), language=language, each=each, identifiers="anonymous")
            except FormatError:
                continue
        for row, tree in enumerate(bank):
            assert tree is not None
            assert len(_preorder(tree)) == len(bank.places.node_lines(row))


@pytest.mark.parametrize(
    ("language", "text", "kept"),
    [
        ("c", "int f(struct reader *reader) { return reader->reader; }", ["(type_identifier reader)", "(field_identifier reader)"]),
        ("java", "class A { int f(Foo Foo) { return x.Foo + Foo; } }", ["(type_identifier Foo)", "(identifier Foo)"]),
        ("go", "package m\nfunc f(reader reader) int { return a.reader }\n", ["(type_identifier reader)", "(field_identifier reader)"]),
    ],
)  # fmt: skip
def test_types_and_members_keep_their_names(language: str, text: str, kept: list[str]) -> None:
    tree = str(tl.read_code(io.StringIO(text), language=language, identifiers="anonymous")[0])
    assert all(node in tree for node in kept), tree
    assert "(identifier $1)" in tree


# --- limits of the parser ---------------------------------------------------------------------------------------------


def test_a_file_that_takes_too_long_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, "a.py", "def f(): pass")
    path = written(tmp_path, "b.c", "int f(void) { return 1; }")
    monkeypatch.setenv("TREELET_PARSE_SECONDS", "0")
    with pytest.raises(FormatError, match=r"b\.c: parsing took longer than 0 seconds"):
        tl.read_code(path)
    with pytest.warns(TreeletWarning, match="longer than 0 seconds"):
        assert [place.name for place in tl.read_code(tmp_path).places] == ["f"]
    monkeypatch.setenv("TREELET_PARSE_SECONDS", "many")
    assert len(tl.read_code(tmp_path)) == 2


def test_parsing_can_be_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, "a.c", "int f(void) { return 1; }\n" * 10_000)
    calls = []

    def free(fresh: bool = False) -> int:
        calls.append(fresh)
        if len(calls) == 2:  # while the file is parsed
            signal.raise_signal(signal.SIGINT)
        return 1 << 40

    monkeypatch.setattr("treelet.formats.code.available", free)
    with pytest.raises(KeyboardInterrupt):
        tl.read_code(path)
    assert len(calls) == 2


def test_the_parser_reads_pieces() -> None:
    lines = (f"// {'é' * (number % 7)}\nlet a{number} = '{'日本' * (number % 50)}𝔸';\n" for number in range(100))
    text = "".join(lines).encode()
    chunks = _core.Chunks(text, lambda offset: None)
    parser = tree_sitter.Parser(LANGUAGES["javascript"].grammar)
    assert str(parser.parse(chunks).root_node) == str(parser.parse(text).root_node)
    for offset in range(len(text)):
        assert len(piece := chunks(offset, None)) > 0
        assert text.startswith(piece, offset)
    assert chunks(len(text), None) == chunks(len(text) + 5, None) == b""


def test_a_file_for_which_memory_is_short_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, "a.c", "int f(void) { return 1; }\n" * 4000)
    written(tmp_path, "b.c", "int g(void) { return 1; }\n")
    monkeypatch.setattr("treelet.formats.code.available", lambda fresh=False: (64 << 20) + 2_000_000)
    with pytest.raises(NotEnoughMemoryError, match=r"a\.c: parsing 101\.6 KiB of source code may need 67\.2 MiB"):
        tl.read_code(path)
    with pytest.warns(TreeletWarning, match=r"1 of 2 files was skipped: .*a\.c: parsing"):
        assert [place.name for place in tl.read_code(tmp_path).places] == ["g"]
    free = iter([1 << 30, 600 << 20, 400 << 20])
    monkeypatch.setattr("treelet.formats.code.available", lambda fresh=False: next(free))
    with pytest.raises(NotEnoughMemoryError, match="memory"):  # the parser takes more and more
        tl.read_code(path)
