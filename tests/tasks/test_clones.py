"""Families of similar functions in small repositories with planted clones."""

from __future__ import annotations

import io
import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treelet as tl
from treelet.corpora.families import SimilarPairs
from treelet.errors import FileError, FormatError, NotEnoughMemoryError, ParameterError, TreeletWarning
from treelet.tasks import CloneFamily, CloneReport, find_clones
from treelet.tasks.clones import _increasing

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
        path.write_text(text)
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
    """Renaming is consistent, or it is a change."""
    swapped = PYTHON.format(**RENAMED).replace("return sum_, kept", "return kept, sum_")
    write(tmp_path, a=python(), b=swapped)
    (family,) = find_clones(tmp_path).families
    assert family.differences(1) == [("changed", (15, 15), (16, 16))]


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


def test_short_functions(tmp_path: Path) -> None:
    """Lines of docstrings, comments and blank lines do not count."""
    short = 'def f(x):\n    """A.\n' + "\n" * 20 + '    """\n    # c\n\n    return x\n'
    write(tmp_path, a=short, b=short)
    report = find_clones(tmp_path)
    assert (report.functions, report.short_functions, report.families) == (0, 2, [])
    assert find_clones(tmp_path, min_lines=3).functions == 0
    assert find_clones(tmp_path, min_lines=2).functions == 2
    assert find_clones(tmp_path, min_nodes=10).families[0].saved_lines == 2


def nested(function: str, name: str, more: str = "") -> str:
    inner = function.replace("\n", "\n    ").rstrip(" ")
    return f"def {name}(a):\n{more}{inner}    return collect\n"


def test_lines_with_braces_and_keywords_count(tmp_path: Path) -> None:
    braces = "function f(a)\n{\n  if (a)\n  {\n    g();\n  }\n  else\n  {\n    h();\n  }\n}\n"
    keywords = "def f():\n    try:\n        g()\n    except E:\n        h()\n    else:\n        k()\n    finally:\n        m()\n    n()\n"
    write(tmp_path, a_js=braces, b_js=braces, c=keywords, d=keywords)
    report = find_clones(tmp_path, min_nodes=10_000)
    assert listed(report) == [["a.js:f", "b.js:f"], ["c.py:f", "d.py:f"]]
    assert [family.members[0].lines for family in report.families] == [11, 10]


def test_nested_functions_are_reported_once(tmp_path: Path) -> None:
    """The families of the outer and of the inner functions would say the same."""
    more = "".join(f"    b{n} = a.c{n}(a, {n})\n" for n in range(12))
    write(tmp_path, a=nested(python(), "f", more), b=nested(python(), "g", more))
    assert listed(find_clones(tmp_path)) == [["a.py:f", "b.py:g"]]
    write(tmp_path, c=python())  # is not inside a function
    families = listed(find_clones(tmp_path))
    assert families == [["a.py:f", "b.py:g"], ["a.py:f.collect", "b.py:g.collect", "c.py:collect"]]


def test_two_similar_functions_inside_one(tmp_path: Path) -> None:
    """They stay clones of each other when the outer functions are merged."""
    two = python() + python(name="again")
    write(tmp_path, a=nested(two, "f"), b=nested(two, "g"))
    families = listed(find_clones(tmp_path))
    assert ["a.py:f", "b.py:g"] in families
    assert ["a.py:f.collect", "a.py:f.again", "b.py:g.collect", "b.py:g.again"] in families


def test_a_function_is_not_a_clone_of_the_function_around_it(tmp_path: Path) -> None:
    write(tmp_path, a=nested(python(), "f"))
    assert find_clones(tmp_path).families == []
    write(tmp_path, b=nested(python(), "g"))
    assert listed(find_clones(tmp_path)) == [["a.py:f", "b.py:g"]]


def test_a_pair_that_does_not_fit_the_memory_is_skipped(tmp_path: Path) -> None:
    """Two functions of 142 nodes need 161 kB; smaller ones are still found."""
    small = "\ndef {}(path):\n    return open(path).read({})\n"
    write(tmp_path, a=python() + small.format("f", 1), b=python().replace("hidden", "seen", 1) + small.format("g", 2))
    with pytest.warns(
        TreeletWarning, match=r"1 pair .* memory: .*a\.py:2 collect and .*b\.py:2 collect\. Increase memory="
    ):
        report = find_clones(tmp_path, min_nodes=5, memory=40_000)
    assert (listed(report), report.functions) == ([["a.py:f", "b.py:g"]], 4)
    (family, _) = find_clones(tmp_path, min_nodes=5).families
    assert members(family) == ["a.py:collect", "b.py:collect"]
    with pytest.raises(NotEnoughMemoryError, match=r"only 39\.1 KiB are allowed"):
        replace(family, _memory=40_000).differences(1)
    assert replace(family, _memory=40_000).differences(family.medoid) == []


def test_a_large_function_inside_another_needs_no_memory(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    """The report is the same as with enough memory: the outer function stands for both."""
    inside = "\ndef around():\n" + python().replace("\n", "\n    ") + "\n    return collect\n"
    write(tmp_path, a=inside, b=inside, c=OTHER)
    little, enough = find_clones(tmp_path, memory=20_000), find_clones(tmp_path)
    assert listed(little) == listed(enough) == [["a.py:around", "b.py:around"]]
    assert not recwarn.list


def test_deeply_nested_functions_are_compared_with_the_function_around_them_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the number of pairs grows with the square of the depth."""
    matched: list[int] = []

    class Counted(SimilarPairs):
        def __init__(self, *values: Any, **options: Any) -> None:
            super().__init__(*values, **options)
            matched.append(len(self._columns) // 2)

    monkeypatch.setattr("treelet.tasks.clones.SimilarPairs", Counted)
    levels = 40
    text = "".join(f"{' ' * n}def f{n}():\n{' ' * n} g({n})\n" for n in range(levels))
    write(tmp_path, a=text)
    report = find_clones(tmp_path, min_nodes=1, similarity=0.5)
    assert (report.functions, report.families) == (levels, [])
    assert 0 < matched[0] < levels


def test_long_names_of_nested_functions_are_cut(tmp_path: Path) -> None:
    """The functions are still known to be inside each other, so none of them are a family."""
    pytest.importorskip("tree_sitter")
    levels = 90  # the names of the last ones would have 1,080 characters
    write(tmp_path, a_js="f = " + "(a) => { var b = a; return " * levels + "1" + "; }" * levels)
    report = find_clones(tmp_path, min_nodes=10, similarity=0.5)
    assert (report.functions > 80, report.families) == (True, [])


def test_large_functions_are_skipped_and_named(tmp_path: Path) -> None:
    write(tmp_path, a=python(), b=python(), c=OTHER, d=OTHER)
    with pytest.warns(
        TreeletWarning, match=r"2 functions with more than 130 nodes: .*a\.py:2 collect \(142\).*max_nodes="
    ):
        report = find_clones(tmp_path, max_nodes=130)
    assert listed(report) == [["c.py:other", "d.py:other"]]
    assert (report.functions, report.short_functions, report.large_functions) == (2, 0, 2)
    with pytest.raises(ParameterError, match="max_nodes"):
        find_clones(tmp_path, max_nodes=0)


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
    wanted = sorted(tuple(family.members.tolist()) for family in tl.families(bank, similarity))
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
    (tmp_path / "ä c[1].py").write_text(python())
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
    baseline.write_text(json.dumps(find_clones(code).as_json()))
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
        (tmp_path / "b.json").write_text(content)
        with pytest.raises(FormatError, match="this version of treelet clones"):
            report.new_since(tmp_path / "b.json")
    (tmp_path / "b.json").write_bytes(b"\xff\xfe")
    with pytest.raises(FormatError, match="this version of treelet clones"):
        report.new_since(tmp_path / "b.json")
    whole = report.as_json()
    for damaged in ({**whole, "families": [{}]}, {**whole, "options": 3}, {**whole, "families": None}):
        (tmp_path / "b.json").write_text(json.dumps(damaged))
        with pytest.raises(FormatError, match="report is damaged"):
            report.new_since(tmp_path / "b.json")
    (tmp_path / "b.json").write_text(json.dumps(find_clones(tmp_path / "a.py", identifiers="keep").as_json()))
    with pytest.raises(FileError, match="so its functions cannot be compared"):
        report.new_since(tmp_path / "b.json")


# --- bad input --------------------------------------------------------------------------------------------------------


def test_syntax_errors_are_counted(tmp_path: Path) -> None:
    pytest.importorskip("tree_sitter_javascript")
    broken = JAVASCRIPT.format(**NAMES).replace("= 0", "= (")
    write(tmp_path, a=python(), b=python(), c="def f(:\n", d_js=broken + JAVASCRIPT.format(**NAMES))
    with pytest.warns(TreeletWarning, match="skipped"):
        report = find_clones(tmp_path)
    assert (report.files, report.skipped_files, report.skipped_functions) == (3, 1, 1)
    assert listed(report) == [["a.py:collect", "b.py:collect"]]


def test_bad_parameters(tmp_path: Path) -> None:
    write(tmp_path, a=python())
    for value in (0, -1, 1.01, "0.8", None, float("nan")):
        with pytest.raises(ParameterError, match=r"'similarity'.*a number in \(0, 1\]"):
            find_clones(tmp_path, similarity=value)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"'min_lines'.*an int of at least 1"):
        find_clones(tmp_path, min_lines=0)
    with pytest.raises(ParameterError, match=r"'min_nodes'.*an int of at least 1"):
        find_clones(tmp_path, min_nodes=0)
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
    (tmp_path / "one.py").write_text("def f(x):\n    y = x + 1\n    return y\n")
    report = find_clones(tmp_path, languages={"python"}, min_lines=1)
    assert report.functions == 1
    with pytest.raises(tl.errors.ParameterError, match="'against' parameter of find_clones"):
        find_clones(tmp_path, against=[])
    (tmp_path / "deep.json").write_text("[" * 100_000)
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
    file.write_text(source)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the large function
        assert len(find_clones(file).families) == families
