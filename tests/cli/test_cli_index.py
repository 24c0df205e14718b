"""The commands of ``treelet index``."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import treelet as tl
from conftest import fail, succeed

TREES = "(S (NP (D the) (N cat)) (VP (V sleeps)))\n(S (NP (D a) (N dog)) (VP (V sees) (NP (D the) (N cat))))\n"
QUERY = "(S (NP (D the) (N bird)) (VP (V sleeps)))"
ONE, TWO = os.path.join("b", "one.mrg"), os.path.join("b", "two words.mrg")  # as ids contain the names of files
SOURCE = os.path.join("src", "one.py")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.mrg").write_text(TREES, encoding="utf-8")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "one.mrg").write_text("(S (NP (D the) (N dog)) (VP (V sleeps)))\n", encoding="utf-8")
    (tmp_path / "b" / "two words.mrg").write_text("(X y)\n", encoding="utf-8")
    return tmp_path


def ids(index: str) -> list[str]:
    found: list[str] = json.loads(succeed("index", "info", index, "--ids", "--json").stdout)["ids"]
    return found


def test_an_index_of_trees(here: Path) -> None:
    assert succeed("index", "create", "t.index", "a.mrg").stdout == "t.index: 2 added, 0 removed, 2 trees\n"
    succeed("index", "add", "t.index", "b")
    assert ids("t.index") == ["a.mrg:1", "a.mrg:2", f"{ONE}:1", f"{TWO}:1"]
    found = json.loads(succeed("index", "search", "t.index", QUERY, "--k", 2, "--json").stdout)
    assert [near["id"] for near in found["queries"][0]["nearest"]] == ["a.mrg:1", f"{ONE}:1"]
    values, rows = tl.nearest(tl.SubsetTree().normalized(), tl.read_trees("a.mrg"), [QUERY], k=1)
    assert found["queries"][0]["nearest"][0]["value"] == pytest.approx(values[0, 0], rel=1e-12)
    assert rows.tolist() == [[0]]
    succeed("index", "remove", "t.index", "b/two words.mrg", "a.mrg:2")
    assert ids("t.index") == ["a.mrg:1", f"{ONE}:1"]
    succeed("index", "remove", "t.index", "b/")
    assert ids("t.index") == ["a.mrg:1"]
    assert "1 trees" in succeed("index", "info", "t.index").stdout


@pytest.mark.parametrize(("cwd", "folder"), [(".", "."), ("b", ".."), ("b", ".")])
def test_a_folder_is_removed(here: Path, monkeypatch: pytest.MonkeyPatch, cwd: str, folder: str) -> None:
    succeed("index", "create", "t.index", "a.mrg", "b")
    monkeypatch.chdir(cwd)
    index = str(here / "t.index")
    kept = 2 if (cwd, folder) == ("b", ".") else 0
    shown = succeed("index", "remove", index, folder).stdout
    assert shown.endswith(f" 0 added, {4 - kept} removed, {kept} trees\n")


@pytest.mark.skipif(os.name == "nt", reason="Windows refuses such names")
def test_a_line_break_in_a_file_name_is_escaped(here: Path) -> None:
    (here / "new\nline.mrg").write_text(TREES, encoding="utf-8")
    (here / "new\nline.py").write_text("def f(x):\n    y = x\n    return y\n", encoding="utf-8")
    succeed("index", "create", "t.index", "new\nline.mrg")
    succeed("index", "create", "c.index", "new\nline.py", "--code", "--measure", "edit")
    for words in (
        ("index", "search", "t.index", QUERY),
        ("index", "search", "c.index", "new\nline.py"),
        ("index", "info", "t.index", "--ids"),
    ):
        shown = succeed(*words).stdout
        assert "new\\nline" in shown
        assert "new\nline" not in shown


def test_added_files_replace_their_trees(here: Path) -> None:
    succeed("index", "create", "t.index", "a.mrg", "b")
    (here / "a.mrg").write_text("(S (V go))\n", encoding="utf-8")
    found = json.loads(succeed("index", "add", "t.index", "a.mrg", "--json").stdout)
    assert found == {"index": "t.index", "trees": 3, "added": 1, "removed": 2}
    assert "(S (V go))" in tl.load("t.index").X_fit_.strings()


def test_a_file_without_trees_loses_its_entries(here: Path) -> None:
    succeed("index", "create", "t.index", "a.mrg", "b")
    (here / "a.mrg").write_text("", encoding="utf-8")
    succeed("index", "add", "t.index", "a.mrg", "b/one.mrg")
    assert sorted(ids("t.index")) == [f"{ONE}:1", f"{TWO}:1"]
    (here / "b" / "one.mrg").write_text("", encoding="utf-8")
    found = json.loads(succeed("index", "add", "t.index", "b/one.mrg", "--json").stdout)
    assert found == {"index": "t.index", "trees": 1, "added": 0, "removed": 1}
    assert "no trees were found. Nothing was added" in fail("index", "add", "t.index", "b/one.mrg")
    assert "no trees were found. A query needs" in fail("index", "search", "t.index", "a.mrg")


def test_a_file_has_one_name(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    succeed("index", "create", "t.index", "a.mrg")
    for name in ("./a.mrg", str(here / "a.mrg"), "b/../a.mrg"):
        succeed("index", "add", "t.index", name)
    monkeypatch.chdir(here / "b")
    succeed("index", "add", "../t.index", "../a.mrg", "one.mrg")
    assert ids("../t.index") == ["a.mrg:1", "a.mrg:2", f"{ONE}:1"]
    succeed("index", "remove", "../t.index", "one.mrg")
    assert ids("../t.index") == ["a.mrg:1", "a.mrg:2"]
    assert f"names of files are relative to {here}" in succeed("index", "info", "../t.index").stdout


def test_clones_against_an_index_from_another_folder(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = "def add(values):\n    total = 0\n    for value in values:\n        total += value\n    return total\n"
    for folder in ("src", "copy/src"):
        (here / folder).mkdir(parents=True)
        (here / folder / "one.py").write_text(body, encoding="utf-8")
    succeed("index", "create", "c.index", "src", "--code")
    options = ("--min-lines", "3", "--json")
    monkeypatch.chdir(here / "copy")
    found = json.loads(succeed("clones", "src", "--against", "../c.index", *options).stdout)
    assert [member["file"] for member in found["families"][0]["members"]] == [SOURCE, os.path.join("..", SOURCE)]
    result = succeed("clones", "../src/one.py", "--against", "../c.index", *options)
    assert json.loads(result.stdout)["families"] == []
    assert "there is nothing to compare" in result.stderr


def test_the_options_of_reading_are_kept(here: Path) -> None:
    (here / "x.tsv").write_text("yes\t(A (B b))\nno\t(A (C c))\n", encoding="utf-8")
    (here / "y.tsv").write_text("yes\t(A (D d))\n", encoding="utf-8")
    succeed("index", "create", "t.index", "x.tsv", "--kernel", "pt", "--lam", "0.3", "--option", "tree_column=1")
    succeed("index", "add", "t.index", "y.tsv")
    opened = tl.load("t.index")
    assert repr(opened.kernel_) == "PartialTree(lam=0.3, mu=0.4).normalized()"
    assert opened.X_fit_.strings() == ["(A (B b))", "(A (C c))", "(A (D d))"]


def test_an_index_of_source_code(here: Path) -> None:
    (here / "src").mkdir()
    body = "def {name}({x}):\n    total = 0\n    for value in {x}:\n        total += value\n    return total\n"
    (here / "src" / "one.py").write_text(body.format(name="add", x="values") * 1, encoding="utf-8")
    (here / "src" / "two.py").write_text("class A:\n    def f(self):\n        return [1]\n", encoding="utf-8")
    (here / "new.py").write_text(body.format(name="plus", x="numbers"), encoding="utf-8")
    succeed("index", "create", "c.index", "src", "--code", "--measure", "edit")
    assert ids("c.index") == [f"{SOURCE}:1 add", f"{os.path.join('src', 'two.py')}:2 A.f"]
    found = json.loads(succeed("index", "search", "c.index", "new.py:3", "--threshold", "0.9", "--json").stdout)
    assert found["queries"][0]["nearest"] == [{"value": 1.0, "id": f"{SOURCE}:1 add"}]
    own = json.loads(succeed("index", "search", "c.index", "src/one.py:1", "--json").stdout)
    assert [near["id"] for near in own["queries"][0]["nearest"]] == [f"{os.path.join('src', 'two.py')}:2 A.f"]
    report = json.loads(succeed("clones", "new.py", "--against", "c.index", "--min-lines", "3", "--json").stdout)
    assert [member["file"] for member in report["families"][0]["members"]] == ["new.py", SOURCE]
    same = json.loads(succeed("clones", "new.py", "--against", "src", "--min-lines", "3", "--json").stdout)
    assert same["families"] == report["families"]


ERRORS = [
    (("add", "none.index", "a.mrg"), "none.index: does not exist"),
    (("add", "a.mrg", "a.mrg"), "a.mrg: is a file, but an index is a folder"),
    (("search", "b", QUERY), "b: the folder is not an index"),
    (("add", "t.index", "none.mrg"), "none.mrg: the file does not exist"),
    (("add", "t.index", "-"), "An index needs files with names"),
    (("remove", "t.index", "c.mrg"), "c.mrg: the index has no tree with this id and none of such a file"),
    (("search", "t.index", QUERY, "--k", "9"), "--k must be at most 4"),
    (("search", "t.index", QUERY, "--k", "0"), "--k"),
    (("search", "t.index", QUERY, "--k", "-1", "--threshold", "0.1"), "--k"),
    (("search", "t.index", "a.mrg:1"), "needs an index of source code"),
    (("search", "t.index", "(A"), "QUERY"),
    (("create", "u.index", "a.mrg", "--code", "--format", "brackets"), "--code does not accept --format"),
    (("create", "b", "a.mrg"), "the folder exists and is not an index"),
    (("create", "u.index", "a.mrg", "--measure", "edit", "--lam", "0.3"), "applies to --measure kernel only"),
]


@pytest.mark.parametrize(("words", "message"), ERRORS)
def test_errors(here: Path, words: tuple[str, ...], message: str) -> None:
    succeed("index", "create", "t.index", "a.mrg", "b")
    assert message in fail("index", *words)
    assert len(ids("t.index")) == 4
    assert not (here / "u.index").exists()


def test_clones_need_an_index_of_source_code(here: Path) -> None:
    (here / "m.py").write_text("def f():\n    return 1\n", encoding="utf-8")
    succeed("index", "create", "t.index", "a.mrg")
    assert "does not contain source code" in fail("clones", "m.py", "--against", "t.index")
    succeed("index", "create", "c.index", "m.py", "--code")
    assert "contains no names of variables" in fail("clones", "m.py", "--against", "c.index", "--identifiers", "keep")


def test_an_index_of_python_objects_is_not_for_the_command_line(here: Path) -> None:
    tl.save(tl.Nearest().fit(["(A a)"]), "p.index")
    assert "was not created by treelet index create" in fail("index", "search", "p.index", QUERY)
