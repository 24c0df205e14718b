"""Folders, patterns and several files: which files are read, in which order, and what is reported."""

from __future__ import annotations

import os
import shutil
import subprocess
import warnings
from pathlib import Path

import pytest

import treelet as tl
from conftest import fail, make_link, run
from treelet.errors import FileError, FormatError, ParameterError, TreeletWarning
from treelet.formats import read_document


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {
        "b.mrg": "(B b)",
        "a.mrg": "(A a)",
        "sub/c.mrg": "(C c)",
        "sub/deeper/d.mrg": "(D d)",
        "sub-1/e.mrg": "(E e)",
        "notes.md": "no trees",
        ".hidden.mrg": "(H h)",
        ".git-like/x.mrg": "(X x)",
    }
    for name, text in files.items():
        path = tmp_path / "trees" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")
    return tmp_path / "trees"


def words(*files: object, **options: object) -> str:
    return "".join(tree.words()[0] for tree in tl.read_trees(*files, **options) if tree)  # type: ignore[arg-type]


def test_folders_in_a_fixed_order(folder: Path) -> None:
    assert words(folder) == words(str(folder) + "/") == "abcde"
    assert words(folder / "b.mrg", folder) == "bacde"
    assert words([folder / "b.mrg", folder / "a.mrg"]) == "ba"
    assert words(folder / "sub", folder / "b.mrg", folder / "sub" / "c.mrg") == "cdb"


def test_patterns(folder: Path) -> None:
    assert words(f"{folder}/*.mrg") == "ab"
    assert words(f"{folder}/**/*.mrg") == words(folder)
    assert words(f"{folder}/sub*/*") == "ce"
    (folder / "[x].mrg").write_text("(X x)", encoding="utf-8")
    assert words(f"{folder}/[x].mrg") == "x"  # a file of this name exists
    with pytest.raises(FileError, match="no file matches this pattern"):
        words(f"{folder}/*.nothing")


@pytest.mark.parametrize(
    ("exclude", "left"),
    [
        ("sub", "abe"),
        ("sub*", "ab"),
        ("c.mrg", "abed"),
        (["a.*", "deeper"], "bec"),
        ("sub/*.mrg", "abe"),
        ("sub-1/", "abcd"),
    ],
)
def test_files_to_exclude(folder: Path, exclude: str | list[str], left: str) -> None:
    assert sorted(words(folder, exclude=exclude)) == sorted(left)
    assert words(folder / "sub" / "c.mrg", exclude="c.mrg") == "c"  # a file that is named is read
    options = [f"--exclude={pattern}" for pattern in ([exclude] if isinstance(exclude, str) else exclude)]
    assert run("gram", folder, "-o", "-", "--no-progress", *options).stdout.count("\n") == len(left)


def test_wrong_patterns_to_exclude(folder: Path) -> None:
    with pytest.raises(ParameterError, match="'exclude' parameter"):
        words(folder, exclude=3)


def test_exclusion_of_all_files(folder: Path) -> None:
    for place, exclude in ((folder, "*"), (folder, ["sub*", "?.mrg"]), (folder / "sub", ["deeper", "c.mrg"])):
        with pytest.raises(FileError, match=r"all files in the folder that could be read are excluded.*exclude="):
            words(place, exclude=exclude)
    assert "Pass other patterns as --exclude." in fail("gram", folder, "-o", "-", "--exclude", "*")
    (folder / "none" / "tests").mkdir(parents=True)
    (folder / "none" / "tests" / "notes.md").write_text("no trees", encoding="utf-8")
    with pytest.raises(FileError, match="suffix that is read here"):
        words(folder / "none", exclude="tests")


def test_links_are_not_followed_in_folders(folder: Path) -> None:
    expected = words(folder)
    make_link(folder / "loop", folder)
    make_link(folder / "sub" / "again.mrg", folder / "a.mrg")
    make_link(folder / "dangling.mrg", folder / "none.mrg")
    assert words(folder) == expected
    assert words(folder / "sub" / "again.mrg") == "a"
    assert words(folder / "loop") == expected
    make_link(folder / "self.mrg", folder / "self.mrg")
    with pytest.raises(FileError, match=r"self\.mrg"):
        words(folder / "self.mrg")


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_files_that_git_ignores_are_left_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    (folder / ".gitignore").write_text("deeper/\ne.mrg\n!keep.mrg\n", encoding="utf-8")
    assert words(folder) == "abc"
    assert words(folder / "sub") == "c"
    with monkeypatch.context() as hook:
        hook.setenv("GIT_DIR", ".git")  # as git does for its hooks
        assert words(folder) == "abc"
    make_link(folder.parent / "link", folder)
    assert words(folder.parent / "link") == "abc"
    make_link(folder / "loop", folder)
    assert words(folder) == "abc"
    assert words(folder / "sub" / "deeper") == "d"  # a folder that is named is read
    (folder / "sub" / ".git").mkdir()  # another repository: git lists only its name
    nested = folder / "nested"
    subprocess.run(["git", "init", "-q", str(nested)], check=True)
    (nested / "n.mrg").write_text("(N n)", encoding="utf-8")
    assert "n" in words(folder)
    commit = ["-c", "user.name=n", "-c", "user.email=n@example.org", "commit", "-qm", "n"]
    for command in (["add", "n.mrg"], commit):
        subprocess.run(["git", "-C", str(nested), *command], check=True)
    subprocess.run(["git", "-c", "advice.addEmbeddedRepo=false", "-C", str(folder), "add", "nested"], check=True)
    assert "n" in words(folder), "a submodule: git lists its name without a slash"
    shutil.rmtree(folder / "sub" / ".git")
    for found in (None, os.path.join(".", "git")):  # the second one is a program in the current folder, on Windows
        monkeypatch.setattr(shutil, "which", lambda name, found=found: found)
        with pytest.warns(TreeletWarning, match="git is not installed"):
            assert sorted(words(folder)) == list("abcden")


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_folder_beside_a_repository_is_not_in_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = folder.parent / "repository"
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    make_link(repository / "link", folder)
    monkeypatch.chdir(repository)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert words(os.path.join("..", "trees")) == words("link") == "abcde"


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_repository_cannot_run_programs(folder: Path, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path / 'was-run'}\n", encoding="utf-8")
    program.chmod(0o755)
    subprocess.run(["git", "-C", str(folder), "config", "core.fsmonitor", str(program)], check=True)
    assert words(folder) == words(folder)
    assert not (tmp_path / "was-run").exists()


def test_binary_and_unreadable_files_are_counted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = words(folder)
    (folder / "0.mrg").write_bytes(b"(A\0a)")
    (folder / "1.mrg").write_text("(A a)", encoding="utf-8")
    opened = Path.open

    def refusing(self: Path, *arguments: object, **options: object) -> object:
        if self.name == "1.mrg":
            raise PermissionError(13, "Permission denied")
        return opened(self, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Path, "open", refusing)
    with pytest.warns(TreeletWarning, match=r"cannot be read \(Permission denied\)") as caught:
        assert words(folder) == expected
    assert len(caught) == 1
    with pytest.raises(FormatError, match="NUL"):
        words(folder / "0.mrg")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may read everything")
def test_folders_without_permission_are_counted(folder: Path) -> None:
    (folder / "sub").chmod(0)
    try:
        with pytest.warns(TreeletWarning, match="the folder cannot be read"):
            assert words(folder) == "abe"
    finally:
        (folder / "sub").chmod(0o755)


def test_malformed_files_among_several(folder: Path) -> None:
    (folder / "0.mrg").write_text("(A a", encoding="utf-8")
    with pytest.raises(FormatError, match=r"0\.mrg:1:1"):
        words(folder)
    with pytest.warns(TreeletWarning, match=r"1 of 6 trees was skipped: .*0\.mrg:1:1"):
        assert len(words(folder, on_error="skip")) == 5
    (folder / "0.mrg").unlink()
    with pytest.raises(FileError, match=r"none.mrg: the file does not exist"):
        words(folder, folder / "none.mrg", on_error="skip")
    with pytest.raises(FileError, match=r"No files were given\."):
        tl.read_trees()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert words(folder, on_error="skip")


def test_columns_and_labels_of_several_files(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("yes\t(A a)\n", encoding="utf-8")
    (tmp_path / "b.tsv").write_text("no\t(A b)\nyes\t(A c)\n", encoding="utf-8")
    X, y = tl.read_examples(tmp_path)
    assert (X.strings(), y) == (["(A a)", "(A b)", "(A c)"], ["yes", "no", "yes"])
    blocks = [X.strings() for X, _ in tl.iter_examples([tmp_path / "b.tsv", tmp_path / "a.tsv"], block=1)]
    assert blocks == [["(A b)"], ["(A c)"], ["(A a)"]]
    assert [len(bank) for bank in tl.iter_trees(tmp_path, block=2)] == [1, 2]
    (tmp_path / "c.mrg").write_text("(A d)\n", encoding="utf-8")
    with pytest.raises(FormatError, match="contents cannot be read together"):
        read_document(tmp_path)
    assert len(tl.read_trees(tmp_path)) == 4
    assert len(tl.read_trees(tmp_path, format="tsv")) == 3


def test_the_format_after_a_single_file(tmp_path: Path) -> None:
    path = tmp_path / "a.unknown"
    path.write_text("yes\t(A a)\n", encoding="utf-8")
    assert tl.read_trees(path, "tsv").strings() == ["(A a)"]
    with pytest.raises(ParameterError, match="'format' parameter"):
        tl.read_trees(path, "tvs")


# --- commands ---------------------------------------------------------------------------------------------------------


def test_commands_read_folders_and_several_files(folder: Path, tmp_path: Path) -> None:
    several = [folder / name for name in ("a.mrg", "b.mrg", "sub", "sub-1/e.mrg")]
    assert run("gram", folder, "-o", "-").stdout == run("gram", *several, "-o", "-").stdout
    labeled = tmp_path / "labeled"
    labeled.mkdir()
    (labeled / "a.tsv").write_text("yes\t(A a)\nno\t(A b)\n", encoding="utf-8")
    (labeled / "b.tsv").write_text("yes\t(A (B a))\nno\t(A (B b))\n", encoding="utf-8")
    model = tmp_path / "m.treelet"
    assert f"from {labeled}" in run("train", labeled, "-o", model).stdout
    assert "a.tsv and 1 more" in run("train", labeled / "a.tsv", labeled / "b.tsv", "-o", model).stdout
    assert len(run("predict", model, labeled).stdout.split()) == 4
    assert '"examples": 4' in run("evaluate", model, labeled / "a.tsv", labeled / "b.tsv", "--json").stdout
    assert "5 trees" in run("convert", folder, tmp_path / "all.mrg").stderr


def test_two_files_are_not_a_bank_and_a_query(folder: Path) -> None:
    text = run("nearest", folder / "a.mrg", folder / "b.mrg", "--k", 1).stdout
    assert text.startswith("1. a\n")
    assert "2. b" in text
    assert run("nearest", folder / "a.mrg", "--query", folder / "b.mrg", "--k", 1).stdout.startswith("1. b\n")
    assert "the file does not exist" in fail("nearest", folder.parent / "none", folder)


def test_neighbors_in_source_code_have_places(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("class A:\n    def f(self, x):\n        return x + 1\n", encoding="utf-8")
    (tmp_path / "b.py").write_text("\ndef g(self, y):\n    return y + 1\n", encoding="utf-8")
    text = run("nearest", tmp_path, "--option", "each=function", "--option", "identifiers=anonymous", "--k", 1).stdout
    assert f"1. {tmp_path / 'a.py'}:2 A.f: " in text
    assert f"   1.0000  2. {tmp_path / 'b.py'}:2 g: " in text
