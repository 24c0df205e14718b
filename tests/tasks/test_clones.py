"""Families of similar functions in small repositories with planted clones."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
import warnings
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treelet as tl
from conftest import on_linux
from definitions.kernels import definition, statements
from treelet.errors import FileError, FormatError, ParameterError, TreeletWarning
from treelet.formats.languages import LANGUAGES
from treelet.tasks import CloneFamily, CloneReport, find_clones
from treelet.tasks.clone_report import _common, _increasing
from treelet.tasks.clones import Units

PYTHON = """
def {name}({values}, limit):
    # {comment}
    {total} = 0
    {found} = []
    for {one} in {values}:
        if {one}.size > limit:
            {total} += {one}.size
            {found}.append({one})
        elif {one}.hidden:
            continue
        else:
            {found}.insert(0, {one})
    print("done", {total})
    return {total}, {found}
"""
JAVASCRIPT = """
function {name}({values}, limit) {{
  // {comment}
  let {total} = 0;
  const {found} = [];
  for (const {one} of {values}) {{
    if ({one}.size > limit) {{
      {total} += {one}.size;
      {found}.push({one});
    }} else {{
      {found}.unshift({one});
    }}
  }}
  console.log("done", {total});
  return [{total}, {found}];
}}
"""
NAMES = {"name": "collect", "values": "values", "total": "total", "found": "found", "one": "one", "comment": "why"}
RENAMED = {
    "name": "gather",
    "values": "items",
    "total": "sum_",
    "found": "kept",
    "one": "item",
    "comment": "a\n    # b",
}
OTHER = """
def other(path):
    with open(path) as stream:
        text = stream.read()
    try:
        return int(text)
    except ValueError as error:
        raise RuntimeError(path) from error
    finally:
        while text and text[0] == "x":
            text = text[1:]
"""


def python(**names: str) -> str:
    return PYTHON.format(**{**NAMES, **names})


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_js", ".js")
        path = path if path.suffix else path.with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def members(family: CloneFamily) -> list[str]:
    return [f"{Path(member.file).name}:{member.name}" for member in family.members]


def listed(report: CloneReport) -> list[list[str]]:
    return [members(family) for family in report.families]


# --- kinds of clones --------------------------------------------------------------------------------------------------


def test_exact_and_renamed_clones_are_equal(tmp_path: Path) -> None:
    write(tmp_path, a=python() + OTHER, b=python(comment="another"), c=PYTHON.format(**RENAMED))
    report = find_clones(tmp_path, similarity=1)
    (family,) = report.families
    assert members(family) == ["a.py:collect", "b.py:collect", "c.py:gather"]
    assert (family.similarity, family.medoid, family.language) == ((1.0, 1.0), 0, "python")
    assert [family.differences(at) for at in range(3)] == [[], [], []]
    assert len(set(family.fingerprints)) == 1
    assert (family.members[2].line, family.members[2].end_line, family.members[2].lines) == (2, 16, 13)
    assert family.saved_lines == report.saved_lines == 26
    assert (report.files, report.functions, report.lines, report.short_functions) == (3, 4, 49, 0)
    assert listed(find_clones(tmp_path, similarity=1, identifiers="keep")) == [["a.py:collect", "b.py:collect"]]


def test_changed_statements(tmp_path: Path) -> None:
    changed = python().replace("hidden", "secret")
    inserted = PYTHON.format(**RENAMED).replace("    print", "    log(sum_)\n    print")
    deleted = python().replace('    print("done", total)\n', "")
    write(tmp_path, a=python(), b=changed, c=inserted, d=deleted)
    (family,) = find_clones(tmp_path).families
    assert members(family)[family.medoid] == "a.py:collect"
    assert 0.8 < family.similarity[0] <= family.similarity[1] < 1
    assert family.differences(1) == [("changed", (10, 10), (10, 10))]
    assert family.differences(2) == [("inserted", None, (15, 15))]
    assert family.differences(3) == [("deleted", (14, 14), None)]
    assert find_clones(tmp_path, similarity=1).families == []


def test_a_variable_in_the_place_of_another_is_a_difference(tmp_path: Path) -> None:
    """It is the same statement, but the lines are named."""
    swapped = PYTHON.format(**RENAMED).replace("return sum_, kept", "return kept, sum_")
    write(tmp_path, a=python(), b=swapped)
    (family,) = find_clones(tmp_path).families
    assert family.similarity == (1.0, 1.0)
    assert family.differences(1) == [("variables", (15, 15), (16, 16))]
    assert family.reason(1) == "12 of 12 statements are the same; line 16 with other variables"


def test_languages_are_not_compared(tmp_path: Path) -> None:
    pytest.importorskip("tree_sitter_javascript")
    scripts = [JAVASCRIPT.format(**NAMES), JAVASCRIPT.format(**{**RENAMED, "comment": ""})]
    write(tmp_path, a=python(), b=python(), c_js=scripts[0], d_js=scripts[1].replace("console.log", "alert"))
    report = find_clones(tmp_path)
    assert sorted((family.language, members(family)) for family in report.families) == [
        ("javascript", ["c.js:collect", "d.js:gather"]),
        ("python", ["a.py:collect", "b.py:collect"]),
    ]
    script = next(family for family in report.families if family.language == "javascript")
    assert script.differences(1) == [("changed", (14, 14), (14, 14))]
    assert len(find_clones(tmp_path, languages="javascript").families) == 1
    assert find_clones(tmp_path, languages=["javascript"]).files == 2
    assert find_clones(tmp_path, languages=["python", "javascript"]).files == 4
    assert find_clones(tmp_path, exclude=["c.js", "a.py"]).families == []


@settings(deadline=None, max_examples=30)
@given(
    st.lists(st.sampled_from(["x = 1", "y(2)", "del z", "return w", "if a: b()"]), min_size=1, max_size=12), st.data()
)
def test_differences_name_the_inserted_line(body: list[str], data: Any) -> None:
    at = data.draw(st.integers(0, len(body)))
    longer = [*body[:at], "assert inserted.here", *body[at:]]
    sources = ["def f():\n" + "".join(f"    {line}\n" for line in lines) for lines in (body, longer)]
    report = find_clones([io.StringIO(text) for text in sources], languages="python", similarity=0.01, min_lines=1)
    (family,) = report.families
    (difference,) = family.differences(1 - family.medoid)
    kind = ("inserted", None, (at + 2, at + 2)) if family.medoid == 0 else ("deleted", (at + 2, at + 2), None)
    assert difference == kind


def test_increasing_pairs() -> None:
    assert _increasing([]) == []
    assert _increasing([(1, 5), (2, 1), (3, 2), (4, 9), (5, 3)]) == [(2, 1), (3, 2), (5, 3)]
    assert _increasing([(1, 4), (2, 4)]) == [(2, 4)]


# --- which functions --------------------------------------------------------------------------------------------------


def test_the_order_of_statements_does_not_matter(tmp_path: Path) -> None:
    moved = (
        python()
        .replace('    print("done", total)\n', "")
        .replace("    found = []\n", '    found = []\n    print("done", total)\n')
    )
    write(tmp_path, a=python(), b=moved)
    (family,) = find_clones(tmp_path, similarity=1).families
    assert (family.similarity, family.saved_lines) == ((1.0, 1.0), 13)
    assert family.differences(1) == [("moved", (14, 14), (6, 6))]


@settings(deadline=None)
@given(*[st.lists(st.integers(0, 5), max_size=8)] * 2)
def test_common_statements_are_the_most_possible(first: list[int], second: list[int]) -> None:
    """Beside the multisets, and the longest common subsequence by its recursion."""
    kept, moved = _common(first, second)
    assert all(first[at] == second[other] for at, other in kept + moved)
    for side in (0, 1):
        assert len({pair[side] for pair in kept + moved}) == len(kept + moved)
    assert len(kept + moved) == (Counter(first) & Counter(second)).total()
    assert kept == sorted(kept)
    assert [other for _, other in kept] == sorted(other for _, other in kept)

    @cache
    def longest(n: int, m: int) -> int:
        if not n or not m:
            return 0
        same = first[n - 1] == second[m - 1]
        return max(longest(n - 1, m), longest(n, m - 1), longest(n - 1, m - 1) + same if same else 0)

    assert len(kept) == longest(len(first), len(second))


def test_statements_that_occur_very_often() -> None:
    """The number of pairs stays small: all pairs of 20,000 equal statements would be 400 million."""
    first, second = [1] * 20_000 + [2], [2] + [1] * 20_000
    kept, moved = _common(first, second)
    assert (len(kept), moved) == (20_000, [(20_000, 0)])


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(0, 14), max_size=4), st.lists(st.integers(0, 14), max_size=4))
def test_the_reason_belongs_to_the_similarity(dropped: list[int], doubled: list[int]) -> None:
    """The counted statements give the similarity, and every line is shared, different or without a statement."""
    lines = PYTHON.format(**RENAMED).replace("# a\n    # b", "").strip("\n").splitlines()
    other = [line for at, line in enumerate(lines) for _ in range(1 + (at in doubled)) if at not in dropped or at < 5]
    other = [line for line in other if "else" not in line and "elif" not in line and "continue" not in line]
    try:
        compile("\n".join(other), "", "exec")
    except SyntaxError:
        return
    texts = ["\n".join(text) for text in (lines, other)]
    report = find_clones([*map(io.StringIO, texts)], languages="python", similarity=0.01, min_lines=1)
    (family,) = report.families
    at = 1 - family.medoid
    member, medoid = family.members[at], family.members[family.medoid]
    code = tl.read_code([*map(io.StringIO, texts)], language="python", identifiers="anonymous")
    trees = code[family.medoid], code[at]
    assert member.similarity == pytest.approx(definition(tl.StatementOverlap())(*trees))
    own, theirs = (Counter(map(str, statements(tree))) for tree in trees)
    assert (medoid.statements, member.statements) == (own.total(), theirs.total())
    assert member.shared_statements == (own & theirs).total()
    forms, others = (Counter(map(str, statements(tree, form=True))) for tree in trees)
    assert member.shared_statements + member.similar_statements == (forms & others).total()
    shared = {line for first, last in family.shared_lines(at) for line in range(first, last + 1)}
    differing = {
        line
        for difference in family.differences(at)
        if difference.kind in ("changed", "inserted") and difference.member_lines
        for line in difference.member_lines
    }
    assert shared
    assert not shared & differing
    assert family.saved_lines <= min(member.lines, medoid.lines)


CONSTRUCTORS = """
class Server:
    def __init__(self, host, port, timeout, retries, log):
        super().__init__()
        self.host = host
        self.port = port
        self.timeout = timeout
        self.retries = retries
        self.log = log
        self.sockets = []
        self.closed = False
        self.errors = 0
        self.started = None

class Chart:
    def __init__(self, width, height, title, colors, axes):
        super().__init__()
        self.width = width
        self.height = height
        self.title = title
        self.colors = colors
        self.axes = axes
        self.series = []
        self.frozen = True
        self.scale = 1
        self.legend = {}

@overload
def run(
    command: str,
    folder: str,
    *,
    text: Literal[True],
    check: bool = False,
    shell: bool = False,
    timeout: float | None = None,
    encoding: str | None = None,
) -> Process[str]:
    ...

@overload
def run(
    command: list[str],
    folder: str,
    *,
    text: Literal[False],
    check: bool = False,
    shell: bool = False,
    timeout: float | None = None,
    encoding: None = None,
) -> Process[bytes]:
    ...
"""


def test_unrelated_constructors_and_overloads_are_not_similar(tmp_path: Path) -> None:
    """The edit similarity of the constructors was 0.94, with every line of the body changed."""
    write(tmp_path, a=CONSTRUCTORS)
    report = find_clones(tmp_path)
    assert (report.functions, report.families) == (4, [])
    (family,) = find_clones(tmp_path, similarity=0.1, languages="python").families[:1]
    assert family.similarity[1] < 0.6


def test_lines_to_save_are_those_in_common(tmp_path: Path) -> None:
    other = python().replace("total += one.size", "send(one)").replace("hidden", "seen").replace("insert", "put")
    write(tmp_path, a=python(), b=other)
    (family,) = find_clones(tmp_path).families
    (changed,) = (member for at, member in enumerate(family.members) if at != family.medoid)
    assert (changed.statements, changed.shared_statements, changed.similar_statements) == (12, 9, 2)
    assert family.saved_lines == 9


def test_a_bundled_file_is_compared_like_others(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    """A function with many nodes inside a function that contains little else took 11 GB as edit distance."""
    pytest.importorskip("tree_sitter_javascript")
    body = "".join(f"  x.a{number} = f(x, {number}, y[{number}]);\n" for number in range(4000))
    bundle = f"(function (x, y) {{\n(function () {{\n{body}}})();\n}})();\n"
    write(tmp_path, a_js=bundle, b_js=bundle.replace("f(x, 7,", "g(x, 7,"), c=python(), d=python())
    report = find_clones(tmp_path)
    assert [len(family.members) for family in report.families] == [2, 2]
    family = report.families[0]
    assert family.similarity[0] > 0.99
    (difference,) = family.differences(1)
    assert difference == ("changed", (10, 10), (10, 10))
    assert family.saved_lines > 3990
    assert not recwarn.list


@pytest.mark.serial
@on_linux
def test_a_bundled_file_needs_little_memory(tmp_path: Path) -> None:
    """A wrapper of 40,000 nodes and the function inside it, alone in a process beside an empty scan."""
    pytest.importorskip("tree_sitter_javascript")
    body = "".join(f"  x.a{number} = f(x, {number}, y[{number}]);\n" for number in range(3000))
    (tmp_path / "a.js").write_text(f"(function (x, y) {{\n(function () {{\n{body}}})();\n}})();\n", encoding="utf-8")
    write(tmp_path, c=python(), d=python())
    code = (
        "import resource, sys; from treelet.tasks import find_clones\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024\n"
        "find_clones('c.py'); before = peak()\n"
        "report = find_clones('.'); print(len(report.families), report.functions, peak() - before)"
    )
    found = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    families, functions, grown = map(int, found.stdout.split())
    assert (families, functions) == (1, 4)
    assert grown < 200  # MiB; the edit distance took 11 GB


def test_short_functions(tmp_path: Path) -> None:
    """Lines of docstrings, comments and blank lines do not count."""
    short = 'def f(x):\n    """A.\n' + "\n" * 20 + '    """\n    # c\n\n    return x\n'
    write(tmp_path, a=short, b=short)
    report = find_clones(tmp_path)
    assert (report.functions, report.short_functions, report.families) == (0, 2, [])
    assert find_clones(tmp_path, min_lines=3).functions == 0
    assert find_clones(tmp_path, min_lines=2).families[0].saved_lines == 2


def nested(function: str, name: str, more: str = "") -> str:
    inner = function.replace("\n", "\n    ").rstrip(" ")
    return f"def {name}(a):\n{more}{inner}    return collect\n"


def test_lines_with_braces_and_keywords_count(tmp_path: Path) -> None:
    braces = "function f(a)\n{\n  if (a)\n  {\n    g();\n  }\n  else\n  {\n    h();\n  }\n}\n"
    keywords = "def f():\n    try:\n        g()\n    except E:\n        h()\n    else:\n        k()\n    finally:\n        m()\n    n()\n"
    write(tmp_path, a_js=braces, b_js=braces, c=keywords, d=keywords)
    report = find_clones(tmp_path)
    assert listed(report) == [["a.js:f", "b.js:f"], ["c.py:f", "d.py:f"]]
    assert [family.members[0].lines for family in report.families] == [11, 10]


def test_nested_functions_are_reported_once(tmp_path: Path) -> None:
    """The families of the outer and of the inner functions would say the same."""
    more = "".join(f"    b{n} = a.c{n}(a, {n})\n" for n in range(12))
    write(tmp_path, a=nested(python(), "f", more), b=nested(python(), "g", more))
    assert listed(find_clones(tmp_path)) == [["a.py:f", "b.py:g"]]
    write(tmp_path, c=python())  # is not inside a function
    families = listed(find_clones(tmp_path, similarity=0.8))
    assert families == [["a.py:f", "b.py:g"], ["a.py:f.collect", "b.py:g.collect", "c.py:collect"]]


def test_a_medoid_inside_a_similar_function(tmp_path: Path) -> None:
    """The function around it leaves the family, so the medoid stays."""
    more = "".join(f"    b{n} = a.c{n}(a, {n})\n" for n in range(9))
    changed = [python().replace(one, other) for one, other in (("hidden", "seen"), ("insert", "put"), ("done", "end"))]
    write(tmp_path, a=nested(python(), "f", more), b=changed[0], c=changed[1], d=changed[2])
    (family,) = find_clones(tmp_path).families
    assert members(family) == ["a.py:f.collect", "b.py:collect", "c.py:collect", "d.py:collect"]
    assert family.medoid == 0


def test_two_similar_functions_inside_one(tmp_path: Path) -> None:
    """They stay clones of each other when the outer functions are merged."""
    two = python() + python(name="again")
    write(tmp_path, a=nested(two, "f"), b=nested(two, "g"))
    families = listed(find_clones(tmp_path, similarity=0.8))
    assert ["a.py:f", "b.py:g"] in families
    assert ["a.py:f.collect", "a.py:f.again", "b.py:g.collect", "b.py:g.again"] in families


def test_a_function_is_not_a_clone_of_the_function_around_it(tmp_path: Path) -> None:
    write(tmp_path, a=nested(python(), "f"))
    assert find_clones(tmp_path).families == []
    write(tmp_path, b=nested(python(), "g"))
    assert listed(find_clones(tmp_path)) == [["a.py:f", "b.py:g"]]


def test_long_names_of_nested_functions_are_cut(tmp_path: Path) -> None:
    """The functions are still known to be inside each other, so none of them are a family."""
    pytest.importorskip("tree_sitter")
    levels = 90  # the names of the last ones would have 1,080 characters
    write(tmp_path, a_js="f = " + "(a) => { var b = a; return " * levels + "1" + "; }" * levels)
    report = find_clones(tmp_path, min_lines=1, similarity=0.5)
    assert (report.functions > 80, report.families) == (True, [])


def test_against(tmp_path: Path) -> None:
    write(tmp_path, mine__a=python(), mine__b=python(name="copy"), mine__c=OTHER, known__d=python(), known__e=OTHER)
    write(tmp_path, known__f=OTHER)
    report = find_clones(tmp_path / "mine", against=tmp_path / "known")
    assert listed(report) == [["a.py:collect", "b.py:copy", "d.py:collect"], ["c.py:other", "e.py:other", "f.py:other"]]
    (family,) = find_clones(tmp_path / "mine" / "a.py", against=[tmp_path / "mine", tmp_path / "known"]).families
    assert members(family) == ["a.py:collect", "b.py:copy", "d.py:collect"]
    assert find_clones(tmp_path / "mine" / "a.py", against=tmp_path / "mine" / "a.py").families == []
    assert find_clones(tmp_path / "mine" / "a.py", against=tmp_path / "mine" / "c.py").families == []


@settings(deadline=None, max_examples=20)
@given(st.lists(st.integers(0, 7), min_size=2, max_size=10), st.floats(0.5, 1.0))
def test_families_are_those_of_the_trees(kinds: list[int], similarity: float) -> None:
    """Without nested functions, the report is `tl.families` of the functions."""
    lines = python().splitlines(keepends=True)
    sources = ["".join(line for number, line in enumerate(lines) if number not in (kind, 14)) for kind in kinds]
    sources = [
        text if kind not in (0, 1, 5, 6, 7) else "".join(lines) + "\n" * kind for text, kind in zip(sources, kinds)
    ]
    files = [io.StringIO(text) for text in sources]
    bank = tl.read_code(files, language="python", identifiers="anonymous")
    wanted = sorted(tuple(family.members.tolist()) for family in tl.families(bank, similarity, tl.StatementOverlap()))
    for at, file in enumerate(files):
        file.seek(0)
        file.name = str(at)
    report = find_clones(files, languages="python", similarity=similarity, min_lines=1)
    found = [tuple(int(member.file) for member in family.members) for family in report.families]
    assert sorted(found) == wanted


# --- output -----------------------------------------------------------------------------------------------------------


def test_json(tmp_path: Path) -> None:
    write(tmp_path, a=python(), b=PYTHON.format(**RENAMED))
    report = find_clones(tmp_path)
    data = json.loads(json.dumps(report.as_json()))
    (family,) = data["families"]
    assert family["similarity"] == [1.0, 1.0]
    assert family["members"][0]["fingerprint"] == family["members"][1]["fingerprint"]
    assert {key: family["members"][1][key] for key in ("file", "line", "end_line", "name")} == {
        "file": str(tmp_path / "b.py"),
        "line": 2,
        "end_line": 16,
        "name": "gather",
    }
    assert (data["files"], data["functions"], data["skipped_files"]) == (2, 2, 0)
    assert repr(report) == "<CloneReport: 1 family among 2 functions, 13 lines>"
    assert repr(report.families[0]) == "<CloneFamily: 2 functions, similarity 1.00>"


OBJECTS: dict[str, tuple[set[str], set[str]]] = {
    "log": ({"version", "runs"}, {"$schema"}),
    "run": ({"tool"}, {"results", "columnKind"}),
    "tool": ({"driver"}, set()),
    "driver": ({"name"}, {"semanticVersion", "informationUri", "rules"}),
    "rule": ({"id"}, {"name", "shortDescription", "fullDescription", "defaultConfiguration"}),
    "result": (
        {"message"},
        {"ruleId", "ruleIndex", "level", "locations", "relatedLocations", "partialFingerprints", "properties"},
    ),
    "location": (set(), {"id", "physicalLocation", "logicalLocations"}),
    "physical": ({"artifactLocation"}, {"region"}),
    "region": (set(), {"startLine", "endLine"}),
    "text": ({"text"}, set()),
}
"""Properties of the objects of SARIF 2.1.0 that are required, and those that treelet also uses."""


def check_object(kind: str, value: dict[str, Any]) -> None:
    required, allowed = OBJECTS[kind]
    assert required <= set(value) <= required | allowed, (kind, value)


def check_sarif(log: dict[str, Any]) -> list[dict[str, Any]]:
    """Check the parts of the standard that the output uses, by hand, and return the results."""
    check_object("log", log)
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    check_object("run", run)
    check_object("tool", run["tool"])
    check_object("driver", run["tool"]["driver"])
    assert run["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")
    for rule in run["tool"]["driver"]["rules"]:
        check_object("rule", rule)
        check_object("text", rule["shortDescription"])
        check_object("text", rule["fullDescription"])
        assert rule["defaultConfiguration"] == {"level": "note"}
    for result in run["results"]:
        check_object("result", result)
        check_object("text", result["message"])
        assert result["ruleId"] == run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"]
        assert result["level"] in ("none", "note", "warning", "error")
        assert all(isinstance(value, str) for value in result["partialFingerprints"].values())
        ids = [location["id"] for location in result["relatedLocations"]]
        assert len(set(ids)) == len(ids)
        assert all(f"]({number})" in result["message"]["text"] for number in ids)
        for location in [*result["locations"], *result["relatedLocations"]]:
            check_object("location", location)
            check_object("physical", location["physicalLocation"])
            region = location["physicalLocation"]["region"]
            check_object("region", region)
            assert 1 <= region["startLine"] <= region["endLine"]
            uri = location["physicalLocation"]["artifactLocation"]["uri"]
            assert uri.isascii()
            assert not set(uri) & set(' <>"{}|\\^`[]')
    return list(run["results"])


def test_sarif(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, a=python(), b=PYTHON.format(**RENAMED))
    (tmp_path / "ä c[1].py").write_text(python(), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    (result,) = check_sarif(json.loads(json.dumps(find_clones(".").as_sarif())))
    assert result["message"]["text"] == (
        "collect has 2 similar functions (similarity 1.00): [gather](1), [collect](2)."
    )
    places = [location["physicalLocation"] for location in [*result["locations"], *result["relatedLocations"]]]
    assert [place["artifactLocation"]["uri"] for place in places] == ["a.py", "b.py", "%C3%A4%20c%5B1%5D.py"]
    assert places[1]["region"] == {"startLine": 2, "endLine": 16}
    assert check_sarif(find_clones(tmp_path).as_sarif())[0]["locations"][0]["physicalLocation"]["artifactLocation"][
        "uri"
    ].startswith("file:///")
    assert check_sarif(find_clones("a.py").as_sarif()) == []


def test_baseline(tmp_path: Path) -> None:
    code = tmp_path / "code"
    baseline = tmp_path / "baseline.json"
    write(code, a=python(), b=python())
    baseline.write_text(json.dumps(find_clones(code).as_json()), encoding="utf-8")
    assert find_clones(code).new_since(baseline).families == []
    write(code, a="# moved\n\n\n" + PYTHON.format(**RENAMED), z=OTHER)  # content is what counts
    (code / "b.py").rename(code / "y.py")
    assert find_clones(code).new_since(baseline).families == []
    write(code, x=OTHER)
    assert listed(find_clones(code).new_since(baseline)) == [["x.py:other", "z.py:other"]]
    write(code, x=python())  # one more copy
    assert listed(find_clones(code).new_since(baseline)) == [["a.py:gather", "x.py:collect", "y.py:collect"]]
    write(code, x=python().replace("hidden", "secret"))  # a clone that is not a copy
    assert len(find_clones(code).new_since(baseline).families) == 1


def test_a_fix_inside_a_known_clone_is_not_new(tmp_path: Path) -> None:
    code, baseline = tmp_path / "code", tmp_path / "baseline.json"
    write(code, a=python(), b=python(), c=python())
    baseline.write_text(json.dumps(find_clones(code).as_json()), encoding="utf-8")
    fixed = python().replace("hidden", "secret")
    write(code, a=fixed)  # one copy is fixed
    assert listed(find_clones(code).new_since(baseline)) == []
    write(code, b=fixed, c=fixed)  # all are
    assert listed(find_clones(code).new_since(baseline)) == []
    write(code, c=fixed.replace("collect", "second"), d=fixed)  # one copy is moved, one is added
    (family,) = find_clones(code).new_since(baseline).families
    assert members(family) == ["a.py:collect", "b.py:collect", "c.py:second", "d.py:collect"]
    assert family.new_members == [2, 3]  # a name and a content that the baseline does not have


def test_a_baseline_with_other_options_is_refused(tmp_path: Path) -> None:
    code, baseline = write(tmp_path / "code", a=python(), b=python()), tmp_path / "baseline.json"
    baseline.write_text(json.dumps(find_clones(code).as_json()), encoding="utf-8")
    for option, value in {
        "similarity": 0.9,
        "min_lines": 5,
        "languages": ["python"],
        "identifiers": "keep",
        "exclude": ["tests"],
    }.items():
        report = find_clones(code, **{option: value})  # type: ignore[arg-type]
        with pytest.raises(FileError, match=f"was written with {option}=.*, but the options are now {option}=.* Use"):
            report.new_since(baseline)
    with pytest.raises(FileError, match="against=False, but the options are now against=True"):
        find_clones(code / "a.py", against=code).new_since(baseline)


def test_sarif_names_the_new_function_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, a=python(), b=python())
    monkeypatch.chdir(tmp_path)
    Path("known.json").write_text(json.dumps(find_clones(".").as_json()), encoding="utf-8")
    write(tmp_path, c=PYTHON.format(**RENAMED))
    (result,) = check_sarif(find_clones(".").new_since("known.json").as_sarif())
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "c.py"
    assert result["message"]["text"].startswith("gather has 2 similar functions")
    related = [place["physicalLocation"]["artifactLocation"]["uri"] for place in result["relatedLocations"]]
    assert related == ["a.py", "b.py"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_baseline_with_a_byte_order_mark(tmp_path: Path, encoding: str) -> None:
    """As PowerShell writes the output of a command."""
    report = find_clones(write(tmp_path, a=python(), b=python()))
    baseline = tmp_path / "known.json"
    baseline.write_text(json.dumps(report.as_json()), encoding=encoding)
    assert report.new_since(baseline).families == []


def test_unreadable_baselines(tmp_path: Path) -> None:
    report = find_clones(write(tmp_path, a=python()))
    with pytest.raises(FileError, match=r"nix\.json"):
        report.new_since(tmp_path / "nix.json")
    for content in ("", "{}", "[1]", "\x00", '{"format": "treelet-clones-0"}'):
        (tmp_path / "b.json").write_text(content, encoding="utf-8")
        with pytest.raises(FormatError, match="this version of treelet clones"):
            report.new_since(tmp_path / "b.json")
    (tmp_path / "b.json").write_bytes(b"\xff\xfe")
    with pytest.raises(FormatError, match="this version of treelet clones"):
        report.new_since(tmp_path / "b.json")
    whole = report.as_json()
    for damaged in ({**whole, "families": [{}]}, {**whole, "options": 3}, {**whole, "families": None}):
        (tmp_path / "b.json").write_text(json.dumps(damaged), encoding="utf-8")
        with pytest.raises(FormatError, match="report is damaged"):
            report.new_since(tmp_path / "b.json")
    (tmp_path / "b.json").write_text(
        json.dumps(find_clones(tmp_path / "a.py", identifiers="keep").as_json()), encoding="utf-8"
    )
    with pytest.raises(FileError, match="was written with identifiers='keep'"):
        report.new_since(tmp_path / "b.json")


# --- bad input --------------------------------------------------------------------------------------------------------


def test_syntax_errors_are_counted(tmp_path: Path) -> None:
    pytest.importorskip("tree_sitter_javascript")
    broken = JAVASCRIPT.format(**NAMES).replace("= 0", "= (")
    write(tmp_path, a=python(), b=python(), c="def f(:\n", d_js=broken + JAVASCRIPT.format(**NAMES))
    with pytest.warns(TreeletWarning, match="skipped"):
        report = find_clones(tmp_path)
    assert (report.files, report.skipped_files, report.skipped_functions) == (4, 0, 2)
    assert listed(report) == [["a.py:collect", "b.py:collect"]]


def test_python_of_other_versions_and_damaged_python(tmp_path: Path) -> None:
    """Tree-sitter reads them. Their functions resemble each other only, because the labels of their trees differ."""
    pytest.importorskip("tree_sitter_python")
    old = python().replace('print("done", total)', 'print "done", total')
    write(tmp_path, a=python(), b=python(name="copy"), c=old, d=old.replace("collect", "gather"), e="x = (\n\n" + OTHER)
    with pytest.warns(TreeletWarning, match=r"3 Python files were read by tree-sitter: .*c\.py:14:5: .*e\.py:1"):
        report = find_clones(tmp_path)
    assert listed(report) == [["a.py:collect", "b.py:copy"], ["c.py:collect", "d.py:gather"]]
    assert (report.files, report.skipped_files) == (5, 0)
    assert report.families[1].members[0].line == 2
    assert report.families[1].differences(1) == []
    with pytest.warns(TreeletWarning, match=r"1 Python file was read by tree-sitter: .*c\.py:14:5"):
        assert len(tl.read_code(tmp_path / "c.py")) == 1
    with pytest.raises(FormatError, match=r"c\.py:14:5: this is not valid Python"):
        tl.read_code(tmp_path / "c.py", on_error="raise")
    with pytest.raises(FormatError, match=r"c\.py:14:5"):  # a class of the module ast
        tl.read_code(tmp_path / "c.py", each="FunctionDef")


def test_without_tree_sitter_damaged_python_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tree_sitter_python", None)
    LANGUAGES["python"].__dict__.pop("grammar", None)
    write(tmp_path, a=python(), b=python(), c="def f(:\n")
    with pytest.warns(TreeletWarning, match=r"1 of 3 files was skipped: .*c\.py:1"):
        assert find_clones(tmp_path).skipped_files == 1


def test_vendored_and_minified_files(tmp_path: Path) -> None:
    pytest.importorskip("tree_sitter_javascript")
    script = JAVASCRIPT.format(**NAMES)
    names = ["node_modules/x/a.js", "vendor/b.js", "src/third_party/c.js", "src/d.min.js", "src/lib/_vendor/e.js"]
    for name in [*names, "src/own.js"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(script, encoding="utf-8")
    (tmp_path / "src/long.js").write_text(
        " ".join(script.replace("// why", "").split()) * 40, encoding="utf-8"
    )  # one line
    (tmp_path / "src/table.js").write_text(
        script + f"const data = '{'x' * 5000}';\n" + "f();\n" * 200, encoding="utf-8"
    )
    report = find_clones(tmp_path)
    assert (report.files, report.vendored_files) == (2, 6)
    assert report.as_json()["vendored_files"] == 6
    assert find_clones(tmp_path, vendored=True).files == 8
    assert find_clones(tmp_path / "vendor").files == 1  # a folder that is named
    assert find_clones(tmp_path / "src" / "d.min.js").files == 1
    with pytest.raises(FileError, match="all files are vendored or minified"):
        find_clones(tmp_path / "src" / "lib")
    assert len(tl.read_code(tmp_path)) == 47  # reads all


def test_comments_that_leave_out_functions(tmp_path: Path) -> None:
    pytest.importorskip("tree_sitter_javascript")
    inside = python().replace("# why", "# treelet: ignore[clones] generated")
    before = "# treelet: ignore[clones] kept in step by a test" + python()
    script = JAVASCRIPT.format(**NAMES)
    block = "/* treelet: ignore[clones] old API */" + script
    write(tmp_path, a=python(), b=inside, c=before, d=OTHER, e_js=script, f_js=block)
    report = find_clones(tmp_path)
    assert (report.families, report.silenced_functions, report.functions) == ([], 3, 3)
    assert report.as_json()["silenced_functions"] == 3
    write(tmp_path, b=python().replace("# why", "# treelet: ignore[clones]"))
    with pytest.warns(TreeletWarning, match=r"b\.py:3: ignore\[clones\] has no effect without a reason"):
        assert listed(find_clones(tmp_path)) == [["a.py:collect", "b.py:collect"]]
    outer = nested(inside, "outer", "".join(f"    a{n} = f({n})\n" for n in range(30)))  # the innermost one is left out
    write(tmp_path, b=outer, g=outer.replace("treelet:", ""))
    assert listed(find_clones(tmp_path, exclude=["a.py", "c.py"])) == [["b.py:outer", "g.py:outer"]]


COMMENT = "treelet: ignore[clones] reason"
TWO = python(name="h", comment="x") + python(name="i", comment="x").lstrip()
SCRIPTS = JAVASCRIPT.format(**{**NAMES, "name": "h"}) + JAVASCRIPT.format(**{**NAMES, "name": "i"}).lstrip()


@pytest.mark.parametrize(
    ("name", "source", "silenced"),
    [
        ("a.py", TWO.replace("def i", f"# {COMMENT}\ndef i"), "i"),
        ("a.py", TWO.replace("def i", f"# {COMMENT}\n@cache\n@wraps(\n    h,\n)\nasync def i"), "i"),
        ("a.py", TWO.replace("def i", f"@cache  # {COMMENT}\n@wraps\ndef i"), "i"),
        ("a.py", TWO.replace("def i", f"@cache\n# {COMMENT}\ndef i"), "i"),
        ("a.py", TWO.replace("found\ndef i", f"found  # {COMMENT}\ndef i"), "h"),
        ("a.py", TWO.replace("def i", f"limits = 3  # {COMMENT}\ndef i"), ""),
        ("a.py", TWO.replace("def i", f"limits = '# {COMMENT}'\ndef i"), ""),
        ("a.py", TWO.replace('"done"', f'"# {COMMENT}"'), ""),
        ("a.py", TWO.replace("# x", f'"""Text.\n\n    # {COMMENT}\n    """'), ""),
        ("a.py", TWO.replace("# x", "# café " + COMMENT), ""),
        ("a.py", TWO.replace("def i", f"# noqa  # {COMMENT}\ndef i").replace("\n", "\r"), "i"),
        ("a.py", "# coding: latin-1\ncafé = 1\n" + TWO.replace("def i", f"# {COMMENT}\ndef i"), "i"),
        ("a.py.gz", TWO.replace("def i", f"# {COMMENT}\n@cache\ndef i"), "i"),
        ("a.py", TWO.replace("def i", f"# {COMMENT}\n@cache\ndef i") + "print 'two'\n", "i"),  # read by tree-sitter
        ("a.js", SCRIPTS.replace("function i", f"// {COMMENT}\nfunction i"), "i"),
        ("a.js", SCRIPTS.replace("}\nfunction i", f"}} // {COMMENT}\nfunction i"), "h"),
        ("a.js", SCRIPTS.replace("function i", f"/* {COMMENT} */ function i"), "i"),
        ("a.js", SCRIPTS.replace('"done"', f'"{COMMENT}"'), ""),
        ("a.js", SCRIPTS.replace("// why\n  let", f"/* Why.\n   * {COMMENT}\n   */\n  let", 1), "h"),
        ("a.ts", f"class A {{\n // {COMMENT}\n @inject('a')\n @once\n {SCRIPTS.replace('function ', '').strip()}\n}}\n", "h"),
    ],
)  # fmt: skip
def test_the_function_of_a_comment(tmp_path: Path, name: str, source: str, silenced: str) -> None:
    pytest.importorskip("tree_sitter_javascript")
    pytest.importorskip("tree_sitter_typescript")
    pytest.importorskip("tree_sitter_python")
    path = tmp_path / name
    data = source.encode("latin-1" if "latin-1" in source else "utf-8")
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "1 Python file was read by tree-sitter")
        units = Units.of(tl.read_code(path), 10)
    assert units.silenced == len(silenced)
    assert {place.name.rpartition(".")[2] for place in units.bank.places or ()} == {"h", "i"} - {*silenced}


def test_a_comment_above_a_nested_function_is_about_that_function(tmp_path: Path) -> None:
    inner = python().replace("def", f"# {COMMENT}\n@cache\ndef").strip()
    outer = nested(f"\n{inner}\n", "outer", "".join(f"    a{n} = f({n})\n" for n in range(30)))
    report = find_clones(write(tmp_path, a=outer, b=outer.replace("treelet:", "")))
    assert (listed(report), report.silenced_functions) == ([["a.py:outer", "b.py:outer"]], 1)


def test_bad_parameters(tmp_path: Path) -> None:
    write(tmp_path, a=python())
    for value in (0, -1, 1.01, "0.8", None, float("nan")):
        with pytest.raises(ParameterError, match=r"'similarity'.*a number in \(0, 1\]"):
            find_clones(tmp_path, similarity=value)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"'min_lines'.*an int of at least 1"):
        find_clones(tmp_path, min_lines=0)
    with pytest.raises(ParameterError, match="'identifiers' parameter"):
        find_clones(tmp_path, identifiers="blind")
    for languages in ("pythom", ["python", "pythom"], 5):
        with pytest.raises(ParameterError, match="'language' parameter"):
            find_clones(tmp_path, languages=languages)  # type: ignore[arg-type]
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileError, match="empty: the folder contains no files"):
        find_clones(tmp_path / "empty")
    with pytest.raises(FileError):
        find_clones()
    assert find_clones(tmp_path / "a.py").families == []


def test_input_of_unusual_types(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("def f(x):\n    y = x + 1\n    return y\n", encoding="utf-8")
    report = find_clones(tmp_path, languages={"python"}, min_lines=1)
    assert report.functions == 1
    with pytest.raises(tl.errors.ParameterError, match="'against' parameter of find_clones"):
        find_clones(tmp_path, against=[])
    (tmp_path / "deep.json").write_text("[" * 100_000, encoding="utf-8")
    with pytest.raises(tl.errors.FormatError, match="is not a report of this version"):
        report.new_since(tmp_path / "deep.json")


BODY = "".join(f"x=g(x,{number});" for number in range(30))


@pytest.mark.parametrize(
    ("source", "families"),
    [
        (f"var P=function(x){{{BODY}return x}};P.copy=function(x){{{BODY}return x}};", 1),
        (
            f"r(function(x){{{BODY}return x}});r(function(z){{r(function(x){{{BODY}return x}});"
            + "".join(f"y=h(y,{number});" for number in range(3000))
            + "});",
            1,
        ),
        (f"function {'a' * 1001}(f){{return function(x){{{BODY}return x}}}}", 0),
    ],
    ids=["two names on one line", "inside a function that is too large", "inside a function with a long name"],
)
def test_functions_are_nested_if_their_nodes_are(tmp_path: Path, source: str, families: int) -> None:
    """Lines and names do not tell: neighbors may stand on one line, and long names are cut."""
    file = tmp_path / "a.js"
    file.write_text(source, encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the large function
        assert len(find_clones(file, min_lines=1).families) == families
