"""``treelet clones``, and ``treelet nearest`` with a place in source code."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT, fail, run, succeed
from treelet.tasks import find_clones

FUNCTION = """def {name}({x}):
    {y} = {x} + 1
    if {y} > 3:
        {y} = {y} * {x}
    for {z} in range({y}):
        print({z}, {x}, {y})
        {x}.append({z})
    while {y}:
        {y} -= 1
    return {y} + {x}{more}
"""
FIRST = FUNCTION.format(name="first", x="a", y="b", z="c", more="")
A, B = os.path.join("src", "a.py"), os.path.join("src", "b.py")  # as the commands show the files
SECOND = "\n" + FUNCTION.format(name="second", x="p", y="q", z="r", more=".size")


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "src"
    folder.mkdir()
    (folder / "a.py").write_text(FIRST + "\n\nclass C:\n    def small(self):\n        return 1\n", encoding="utf-8")
    (folder / "b.py").write_text(SECOND, encoding="utf-8")
    return folder


@pytest.mark.skipif(os.name == "nt", reason="Windows refuses such names")
def test_a_line_break_in_a_file_name_is_escaped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = "def f(x):\n" + "".join(f"    y{n} = x + {n}\n" for n in range(12))
    for name in ("a\nb.py", "c.py"):
        (tmp_path / name).write_text(text, encoding="utf-8")
    for words in (("clones", "."), ("nearest", ".", "--query", "c.py:1")):
        shown = succeed(*words).stdout
        assert "a\\nb.py:1 f" in shown
        assert "a\nb.py" not in shown


def test_text(code: Path) -> None:
    lines = succeed("clones", "src").stdout.splitlines()
    assert lines[0].startswith("1. 2 functions, similarity 0.89")
    assert lines[0].endswith(", 9 lines could be saved")
    assert lines[1] == f"   medoid  {A}:1 first"
    assert lines[2].startswith("     0.89")
    assert lines[2].endswith(f"  {B}:2 second")
    assert lines[3:7] == [
        "           9 of 10 statements are the same; line 11 changed",
        "",
        "The medoid of a family is the function that its other functions are compared with.",
        "1 family of similar functions, 9 lines of code could be saved.",
    ]
    assert " to " not in lines[0]  # one number, as there is one other function
    assert lines[7].startswith("2 functions with 20 lines of code in 2 files were compared in ")
    assert "0 families of similar functions.\n" in succeed("clones", "src", "--similarity", 1).stdout
    assert "1 more family; increase --top" in succeed("clones", "src", "--top", 0).stdout


def test_large_families_are_cut(code: Path) -> None:
    for number in range(20):
        (code / f"c{number:02}.py").write_text(FIRST, encoding="utf-8")
    text = succeed("clones", "src").stdout
    assert "and 12 more; --json lists all" in text
    assert len(json.loads(succeed("clones", "src", "--json").stdout)["families"][0]["members"]) == 22


def test_json_and_sarif(code: Path) -> None:
    report = find_clones("src").as_json()
    found = json.loads(succeed("clones", "src", "--json", "--jobs", 2).stdout)
    assert {**found, "seconds": 0} == {**report, "seconds": 0}
    assert json.loads(succeed("clones", "src", "--sarif").stdout) == find_clones("src").as_sarif()
    assert "--json and --sarif exclude each other" in fail("clones", "src", "--json", "--sarif")


def test_several_outputs_in_one_run(code: Path) -> None:
    words = ("clones", "src", "-o", "all.json", "--output", "all.sarif", "--html", "page.html", "-o", "other.html")
    assert "1 family" in succeed(*words).stdout
    found = json.loads(Path("all.json").read_text(encoding="utf-8"))
    assert {**found, "seconds": 0} == {**find_clones("src").as_json(), "seconds": 0}
    assert json.loads(Path("all.sarif").read_text(encoding="utf-8")) == find_clones("src").as_sarif()
    assert (
        Path("page.html").read_text(encoding="utf-8")[:15]
        == Path("other.html").read_text(encoding="utf-8")[:15]
        == "<!doctype html>"
    )
    assert "--output must be a file name that ends in .json, .sarif or .html" in fail("clones", "src", "-o", "src/a.py")
    assert "are the same file" in fail("clones", "src", "-o", "a.html", "--html", "a.html")
    assert json.loads(succeed("clones", "src", "--sarif", "-o", "again.json").stdout) == find_clones("src").as_sarif()


def test_what_is_left_out_is_printed(code: Path) -> None:
    (code / "vendor").mkdir()
    (code / "vendor" / "c.py").write_text(FIRST, encoding="utf-8")
    (code / "d.py").write_text(f"# treelet: ignore[clones] why not\n{FIRST}", encoding="utf-8")
    shown = succeed("clones", "src").stdout
    assert "1 file in folders such as node_modules and vendor" in shown
    assert "1 function was left out by comments (treelet: ignore[clones])." in shown
    assert "3 functions" not in shown
    assert "1. 3 functions" in succeed("clones", "src", "--vendored").stdout


def test_settings_in_pyproject(code: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(text: str) -> None:
        Path("pyproject.toml").write_text(f"[project]\nname = 'x'\n[tool.treelet.clones]\n{text}\n", encoding="utf-8")

    write("paths = ['src']\nsimilarity = 1.0\nmin-lines = 3\nexclude = ['tests']")
    assert "0 families" in succeed("clones").stdout
    assert "1 family" in succeed("clones", "--similarity", 0.5).stdout
    options = json.loads(succeed("clones", "--json").stdout)["options"]
    assert (options["similarity"], options["min_lines"], options["exclude"]) == (1.0, 3, ["tests"])
    assert json.loads(succeed("clones", "--json", "--exclude", "x").stdout)["options"]["exclude"] == ["x"]
    monkeypatch.chdir(code)  # the file around, with paths relative to it
    assert "2 functions" in succeed("clones", "--similarity", 0.5).stdout
    apart = code.parent / "apart" / "deep"  # a folder outside these paths
    apart.mkdir(parents=True)
    monkeypatch.chdir(apart)
    assert "2 functions" in succeed("clones", "--similarity", 0.5).stdout
    monkeypatch.chdir(code.parent)
    for text, wanted in (
        (
            "similarty = 1",
            "pyproject.toml: [tool.treelet.clones] has an unknown key 'similarty'. Did you mean 'similarity'?",
        ),
        ("similarity = '1'", "'similarity' in [tool.treelet.clones] must be a number. Got '1' instead."),
        ("min_lines = true", "must be a whole number"),
        ("paths = 'src'", "must be a list of files and folders"),
        ("exclude = [1]", "must be a list of patterns"),
        ("languages = ['pythom']", "Did you mean 'python'?"),
        ("identifiers = 'blind'", "'anonymous'"),
        ("x = ", "pyproject.toml: the file cannot be read"),
    ):
        write(text)
        assert wanted in fail("clones", "src"), text
    Path("pyproject.toml").write_text("[tool.treelet]\nclones = 3\n", encoding="utf-8")
    assert "must be a table" in fail("clones", "src")


def test_check(code: Path) -> None:
    def git(*words: str) -> None:
        settings = ("-c", "user.name=n", "-c", "user.email=e@e", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *settings, *words], check=True, capture_output=True)

    git("init", "-q")
    (code / "b.py").rename("b.py")
    git("add", "src")
    git("commit", "-q", "-m", "one")
    result = run("check")  # b.py is not tracked
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0] == "b.py:2 second"
    assert lines[1].endswith(f"{A}:1 first")
    assert lines[2] == "           9 of 10 statements are the same; line 11 changed"
    assert lines[4] == "1 new or changed function resembles existing ones."
    assert lines[5].startswith("1 new or changed function was compared with 2 functions in 2 files in ")
    assert Path(".treelet_cache").is_dir()
    result = run("check", "--sarif", "-o", "out.json")
    (found,) = json.loads(result.stdout)["runs"][0]["results"]
    assert found["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "b.py"
    assert result.stderr == "treelet: 1 new or changed function resembles existing ones\n"
    assert json.loads(Path("out.json").read_text(encoding="utf-8"))["changed_functions"] == 1
    git("add", "-A")
    git("commit", "-q", "-m", "two")
    shown = succeed("check", "--no-cache").stdout
    assert shown == "No new or changed function resembles an existing one.\nNo source file has changed.\n"
    Path("c.py").write_text("x = 1\n", encoding="utf-8")
    shown = succeed("check", "--no-cache").stdout
    assert shown.startswith(
        "No new or changed function resembles an existing one.\n0 new or changed functions were compared"
    )
    assert "No source file" in succeed("check", "--staged").stdout
    assert "--staged" in fail("check", "HEAD", "--staged")
    assert run("check", "HEAD~1..HEAD").exit_code == run("check", "b.py").exit_code == 1
    Path("b.py").write_text(SECOND.replace("while", "if"), encoding="utf-8")
    assert "were similar before this change" in succeed("check").stdout
    assert "nix: neither a file nor a revision" in fail("check", "nix")
    assert "--cache and --no-cache exclude each other" in fail("check", "--cache", "x", "--no-cache")


SCHEMA = os.environ.get("TREELET_SARIF_SCHEMA", "")
HOSTILE = ["a b.js", "ü 漢.js", "q\"uo'te.js", "new\nline.js", "a[1](x).js", "%41#?&.js", "back\\slash.js"]


@pytest.mark.skipif(not SCHEMA, reason="TREELET_SARIF_SCHEMA does not name the JSON schema of SARIF 2.1.0")
@pytest.mark.skipif(os.name == "nt", reason="Windows has no files with these names")
def test_sarif_is_valid(code: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(Path(SCHEMA).read_text(encoding="utf-8"))
    validator = jsonschema.validators.validator_for(schema)(schema, format_checker=jsonschema.FormatChecker())
    function = "function () { for (const r of q) { if (r.price > 3) { t += r.price; log(t, r.a, r.b, r.c, r.d) } } }"
    for name in HOSTILE:
        (code / name).write_text(f"const o = {{ '[x](1) \\\\ \"k\" \\n': {function} }};\n", encoding="utf-8")
    Path("known.json").write_text(succeed("clones", "src", "--json").stdout, encoding="utf-8")
    options: list[tuple[object, ...]] = [
        (),
        ("--min-lines", 1),
        ("--min-lines", 1000),
        ("--baseline", "known.json"),
        ("--against", "src/a.py"),
    ]
    counts = []
    for chosen in options:
        log = json.loads(succeed("clones", "src", "--sarif", *chosen).stdout)
        validator.validate(log)
        counts.append(len(log["runs"][0]["results"]))
    assert counts[:2] == [2, 2]
    assert counts[2] == counts[3] == 0


def test_fail_over_and_baseline(code: Path) -> None:
    result = run("clones", "src", "--fail-over", 0)
    assert result.exit_code == 1
    assert result.stderr == "treelet: 1 family, more than --fail-over 0 allows\n"
    assert "1. 2 functions" in result.stdout
    succeed("clones", "src", "--fail-over", 1)
    Path("known.json").write_text(succeed("clones", "src", "--json").stdout, encoding="utf-8")
    result = succeed("clones", "src", "--fail-over", 0, "--baseline", "known.json")
    assert result.stdout.startswith("0 new families of similar functions.\n")
    (code / "c.py").write_text(FIRST, encoding="utf-8")
    result = run("clones", "src", "--fail-over", 0, "--baseline", "known.json")
    assert result.exit_code == 1
    assert result.stderr == "treelet: 1 new family, more than --fail-over 0 allows\n"
    assert f"{os.path.join('src', 'c.py')}:1 first (new)\n" in result.stdout
    Path("known.json").write_text("nothing", encoding="utf-8")
    assert "this version of treelet clones" in fail("clones", "src", "--baseline", "known.json")
    assert "nix.json" in fail("clones", "src", "--baseline", "nix.json")


def test_against_and_languages(code: Path) -> None:
    assert "1 family" in succeed("clones", "src/a.py", "--against", "src").stdout
    assert "1 family" in succeed("clones", "src", "--languages", "python,java", "--exclude", "tests").stdout
    assert "Did you mean 'python'?" in fail("clones", "src", "--languages", "pythom")
    assert "must be values separated by commas" in fail("clones", "src", "--languages", ",")


def test_bad_input(code: Path) -> None:
    for value in (0, 1.5, -1):
        assert "--similarity must be a number in (0, 1]" in fail("clones", "src", "--similarity", value)
    assert "must be a whole number of at least 1" in fail("clones", "src", "--min-lines", 0)
    for option in ("--top", "--fail-over"):
        assert f"{option} must be a whole number of at least 0" in fail("clones", "src", option, -1)
    Path("empty").mkdir()
    assert "empty: the folder contains no files" in fail("clones", "empty")
    result = run("clones", "src", "--min-lines", 100)
    assert result.exit_code == 0
    assert result.stderr.startswith("treelet: warning: No function has at least 100 lines")
    Path("script").write_text("x = 1\n", encoding="utf-8")
    assert fail("clones", "script").endswith("script: the name has no suffix. Name the language, such as 'java'.\n")
    assert "all files in the folder that could be read are excluded" in fail("clones", ".", "--exclude", "src")
    (code / "d.py").write_text("def f(:\n", encoding="utf-8")
    result = run("clones", "src")
    assert result.exit_code == 0
    assert f"1 Python file was read by tree-sitter: {os.path.join('src', 'd.py')}:1" in result.stderr
    assert "1 family" in result.stdout


def test_hooks_for_pre_commit() -> None:
    text = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    entry = next(line.split(": ", 1)[1] for line in text.splitlines() if "entry:" in line)
    assert entry.startswith("treelet clones ")
    assert "pass_filenames: false" in text


# --- search by place --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", ["kernel", "edit"])
def test_nearest_to_a_place(code: Path, measure: str) -> None:
    arguments = ("nearest", "src", "--query", "src/b.py:5", "--measure", measure)
    (query,) = json.loads(succeed(*arguments, "--option", "identifiers=anonymous", "--json").stdout)["queries"]
    assert (query["place"], query["name"], query["end_line"]) == (f"{B}:2", "second", 11)
    assert [(near["place"], near["name"]) for near in query["nearest"]] == [
        (f"{A}:1", "first"),
        (f"{A}:14", "C.small"),
    ]
    assert query["nearest"][0]["value"] > 0.8
    assert succeed(*arguments, "--k", 1).stdout.startswith(f"1. {B}:2 second: ")


def test_the_innermost_function_is_the_query(code: Path) -> None:
    (code / "c.py").write_text("def outer():\n    def inner():\n        return 1\n    return inner\n", encoding="utf-8")
    for line, name in ((1, "outer"), (3, "outer.inner"), (4, "outer")):
        (query,) = json.loads(succeed("nearest", "src", "--query", f"src/c.py:{line}", "--json").stdout)["queries"]
        assert query["name"] == name


def test_places_without_a_function(code: Path) -> None:
    assert "src/a.py:11: no function contains this line." in fail("nearest", "src", "--query", "src/a.py:11")
    assert "nix.py: the file does not exist." in fail("nearest", "src", "--query", "nix.py:3")
    assert "--format does not apply to --query FILE:LINE." in fail(
        "nearest", "src", "--query", "src/a.py:3", "--format", "python"
    )
    assert "--option root does not apply to --query FILE:LINE." in fail(
        "nearest", "src", "--query", "src/a.py:3", "--option", "root=x"
    )
    assert "no trees" in fail("nearest", "src/b.py", "--query", "src/b.py:3")
