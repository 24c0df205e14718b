"""New and changed functions beside those of the repository, and the cache of functions."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from treelet.errors import FileError, ParameterError, TreeletWarning
from treelet.formats import reading
from treelet.report.clones_page import _clones_page
from treelet.tasks import CloneReport, check_clones, find_clones
from treelet.tasks import code_cache as module

FUNCTION = """
def {name}(values, limit):
    total = 0
    found = []
    for one in values:
        if one.size > limit:
            total += one.size
            found.append(one)
        elif one.{hidden}:
            continue
        else:
            found.insert(0, one)
    print("done", total)
    return total, found
"""
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


def text(name: str = "collect", hidden: str = "hidden") -> str:
    return FUNCTION.format(name=name, hidden=hidden)


def git(*arguments: str) -> None:
    settings = (
        "-c",
        "user.name=n",
        "-c",
        "user.email=e@e",
        "-c",
        "commit.gpgsign=false",
        "-c",
        "init.defaultBranch=main",
    )
    subprocess.run(["git", *settings, *arguments], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    git("init", "-q")
    Path("src").mkdir()
    Path("src/a.py").write_text(text() + OTHER, encoding="utf-8")
    git("add", "-A")
    git("commit", "-q", "-m", "one")
    return tmp_path


def found(report: CloneReport) -> list[tuple[str, ...]]:
    return [
        (*(f"{member.file}:{member.name}" for member in family.members), "new" if family.new_members else "known")
        for family in report.families
    ]


# --- changes ----------------------------------------------------------------------------------------------------------


def test_uncommitted_changes(repository: Path) -> None:
    report = check_clones()
    assert (report.families, report.changed_functions, report.files) == ([], 0, 0)
    Path("src/b.py").write_text(text("gather", "secret"), encoding="utf-8")  # not tracked
    report = check_clones()
    assert found(report) == [(os.path.join("src", "a.py:collect"), os.path.join("src", "b.py:gather"), "new")]
    (family,) = report.families
    assert family.differences(1) == [("changed", (9, 9), (9, 9))]
    assert report.changed_functions == 1
    git("add", "-A")
    assert len(check_clones().families) == 1  # staged
    git("commit", "-q", "-m", "two")
    assert check_clones().families == []
    assert len(check_clones("HEAD~1..HEAD").families) == len(check_clones("HEAD~1").families) == 1
    os.chdir("src")
    assert found(check_clones("HEAD~1")) == [("a.py:collect", "b.py:gather", "new")]


def test_moved_functions_comments_and_layout_are_not_new(repository: Path) -> None:
    Path("src/b.py").write_text(text(), encoding="utf-8")
    git("add", "-A")
    git("commit", "-q", "-m", "two")
    Path("src/b.py").write_text("# A comment.\n" + text().replace("total = 0", "total  =  0"), encoding="utf-8")
    assert check_clones().changed_functions == 0
    git("mv", "src/b.py", "src/c.py")
    assert check_clones().changed_functions == 0
    Path("src/d.py").write_text(text(), encoding="utf-8")  # one more copy
    report = check_clones()
    assert (report.changed_functions, len(report.families)) == (1, 1)


def test_a_change_in_one_of_two_similar_functions_is_known(repository: Path) -> None:
    Path("src/b.py").write_text(text("gather"), encoding="utf-8")
    git("add", "-A")
    git("commit", "-q", "-m", "two")
    Path("src/b.py").write_text(text("gather", "secret"), encoding="utf-8")
    a, b = os.path.join("src", "a.py:collect"), os.path.join("src", "b.py:gather")
    assert found(check_clones()) == [(a, b, "known")]
    Path("src/b.py").write_text(
        OTHER.replace("other", "gather").replace("'x'", "'y'"), encoding="utf-8"
    )  # resembles another one now
    assert found(check_clones()) == [(os.path.join("src", "a.py:other"), b, "new")]


def test_a_function_that_is_moved_and_changed_is_known(repository: Path) -> None:
    Path("src/c.py").write_text(text("gather", "secret"), encoding="utf-8")
    git("add", "-A")
    git("commit", "-q", "-m", "two")
    Path("src/c.py").unlink()
    Path("src/d.py").write_text(text("gather", "other"), encoding="utf-8")
    pair = os.path.join("src", "a.py:collect"), os.path.join("src", "d.py:gather")
    assert found(check_clones()) == [(*pair, "known")]
    Path("src/c.py").write_text("# Still here\n" + text("gather", "secret"), encoding="utf-8")
    assert [kind for *_, kind in found(check_clones())] == ["new"]  # now it is a copy


def test_a_new_copy_of_a_changed_function_is_new(repository: Path) -> None:
    """Although it resembles the former version of the changed one, too."""
    Path("src/a.py").write_text(text(hidden="changed") + OTHER, encoding="utf-8")
    Path("src/b.py").write_text(text("gather", "changed"), encoding="utf-8")
    assert [pair[2] for pair in found(check_clones())] == ["new"]


def test_existing_functions_come_before_new_ones(repository: Path) -> None:
    Path("src/b.py").write_text(text("x") + text("y"), encoding="utf-8")
    pairs = found(check_clones())
    assert [pair[0] for pair in pairs] == [os.path.join("src", "a.py:collect")] * 2
    Path("src/b.py").write_text(
        OTHER.replace("int(", "float(") + OTHER.replace("int(", "float(").replace("other", "more"), encoding="utf-8"
    )
    assert len(found(check_clones())) == 1  # the pair of both new functions is more similar, and reported once


def test_former_versions_need_no_working_tree(repository: Path) -> None:
    Path("src/b.py").write_text(text("gather", "secret"), encoding="utf-8")
    git("add", "-A")
    git("commit", "-q", "-m", "two")
    Path("src/b.py").unlink()
    Path("src/a.py").write_text("def (", encoding="utf-8")
    git("commit", "-q", "-a", "-m", "three")
    assert found(check_clones("HEAD~2..HEAD~1"))[0][2] == "new"


def test_branches(repository: Path) -> None:
    git("checkout", "-q", "-b", "work")
    Path("src/b.py").write_text(text("gather", "secret"), encoding="utf-8")
    git("add", "-A")
    git("commit", "-q", "-m", "two")
    git("checkout", "-q", "-")
    Path("src/a.py").write_text(OTHER, encoding="utf-8")
    Path("src/c.py").write_text(text(), encoding="utf-8")
    git("add", "-A")
    git("commit", "-q", "-m", "three")
    git("checkout", "-q", "work")
    assert check_clones("HEAD...").changed_functions == 0
    git("branch", "-f", "base", "@{-1}")
    assert check_clones("base...work").changed_functions == 1
    assert check_clones("base..work").changed_functions == 1  # the moved function is not new


def test_files(repository: Path) -> None:
    Path("src/b.py").write_text(text("gather"), encoding="utf-8")
    git("add", "-A")
    git("commit", "-q", "-m", "two")
    report = check_clones("src/b.py")
    assert found(report) == [(os.path.join("src", "a.py:collect"), os.path.join("src", "b.py:gather"), "new")]
    assert check_clones("src").changed_functions == 3
    assert check_clones("src/b.py", paths="src/b.py").families == []


def test_a_repository_without_commits_and_no_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.py").write_text(text() + text("more"), encoding="utf-8")
    with pytest.raises(FileError, match=r"not in a repository of git\. Name the files"):
        check_clones()
    assert found(check_clones("a.py")) == [("a.py:more", "a.py:collect", "new")]
    git("init", "-q")
    assert len(check_clones().families) == 1


def test_bad_changes(repository: Path) -> None:
    with pytest.raises(FileError, match=r"nix: neither a file nor a revision"):
        check_clones("nix..HEAD")
    for name in ("nix", "--output=x", "-", "HEAD~9"):
        with pytest.raises(FileError, match="neither a file nor a revision"):
            check_clones(name)
    with pytest.raises(FileError, match=r"nix\.py: the file does not exist"):
        check_clones("src/a.py", "nix.py")
    with pytest.raises(ParameterError, match="one range of revisions"):
        check_clones("HEAD", "HEAD~1")
    with pytest.raises(ParameterError, match="'similarity' parameter of check_clones"):
        check_clones(similarity=0)
    assert not Path("x").exists()


def test_a_function_is_not_compared_with_the_function_around_it(repository: Path) -> None:
    inner = text("inner").replace("\n", "\n    ").rstrip(" ").replace("hidden", "seen")
    Path("src/b.py").write_text(f"def outer(a):\n{inner}    return inner\n", encoding="utf-8")
    assert all("a.py" in pair[0] for pair in found(check_clones()))


def test_a_copy_is_new_wherever_it_is(repository: Path) -> None:
    """The function that stays in its place stands for the former one, and not the copy, which comes first in the order."""
    Path("src/a.py").write_text(text("gather") + text() + OTHER, encoding="utf-8")
    a = os.path.join("src", "a.py")
    assert found(check_clones()) == [(f"{a}:collect", f"{a}:gather", "new")]
    Path("src/a.py").write_text(text() + OTHER + "\nx = 1\n", encoding="utf-8")
    Path("src/0.py").write_text(text(), encoding="utf-8")
    assert found(check_clones()) == [(f"{a}:collect", os.path.join("src", "0.py:collect"), "new")]
    git("mv", "src/a.py", "src/m.py")
    Path("src/0.py").write_text(text("gather"), encoding="utf-8")
    m = os.path.join("src", "m.py")
    assert found(check_clones()) == [(f"{m}:collect", os.path.join("src", "0.py:gather"), "new")]
    Path("src/z.py").write_text(text("collect", "secret"), encoding="utf-8")  # one former version, two functions
    assert [kind for *_, kind in found(check_clones())] == ["new", "new"]


def test_staged_files(repository: Path) -> None:
    Path("src/b.py").write_text(text("gather", "secret"), encoding="utf-8")
    assert check_clones(staged=True).families == []  # not staged
    git("add", "src/b.py")
    Path("src/b.py").unlink()
    Path("src/untracked.py").write_text(text("more", "secret"), encoding="utf-8")
    report = check_clones(staged=True)
    assert found(report) == [(os.path.join("src", "a.py:collect"), os.path.join("src", "b.py:gather"), "new")]
    assert "secret" in _clones_page(report)
    with pytest.raises(ParameterError, match=r"Pass no changes with staged=True\. Got HEAD"):
        check_clones("HEAD", staged=True)


@pytest.mark.skipif(os.name == "nt", reason="the hook is a shell script")
@pytest.mark.parametrize("further", [False, True], ids=["repository", "working tree"])
def test_a_hook_sees_what_is_committed(repository: Path, further: bool) -> None:
    """``git commit FILE`` commits from an index of its own."""
    hook = Path(".git/hooks/pre-commit")
    hook.parent.mkdir(exist_ok=True)
    code = "from treelet.tasks import check_clones; print(len(check_clones(staged=True).families)); exit(1)"
    hook.write_text(f"#!/bin/sh\nexec '{sys.executable}' -c '{code}'\n", encoding="utf-8")
    hook.chmod(0o755)
    if further:
        git("worktree", "add", "-q", "further")
        os.chdir("further")
    Path("src/b.py").write_text(text("gather", "secret"), encoding="utf-8")
    Path("src/c.py").write_text(OTHER + "\nx = 1\n", encoding="utf-8")
    git("add", "-A")
    for names, wanted in ((["src/c.py"], "1"), (["src/b.py", "src/c.py"], "2"), (["-a"], "2"), ([], "2")):
        command = ["git", "-c", "user.name=n", "-c", "user.email=e@e", "commit", "-m", "two", *names]
        run = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
        assert (run.returncode, (run.stdout + run.stderr).split()[-1]) == (1, wanted), run.stderr


def test_attributes_of_the_repository_leave_out_no_files(repository: Path) -> None:
    Path(".gitattributes").write_text("src export-ignore\n*.py export-subst eol=crlf\n", encoding="utf-8")
    Path("src/b.py").write_text(text("gather", "secret"), encoding="utf-8")
    git("add", "-A")
    git("commit", "-q", "-m", "two")
    assert len(check_clones("HEAD~1..HEAD").families) == 1
    Path("src/a.py").write_text("# A comment\n" + text() + OTHER, encoding="utf-8")
    report = check_clones("HEAD~1..HEAD")
    assert len(report.families) == 1
    assert "# A comment" not in _clones_page(report)
    assert check_clones().changed_functions == 0


def test_nothing_to_check(repository: Path) -> None:
    for name in ("readme.md", "src/notes.txt"):
        Path(name).write_text("text", encoding="utf-8")
    assert check_clones().files == 0
    git("rm", "-q", "-r", "--cached", "src")
    shutil.rmtree("src")
    assert check_clones().families == []  # all functions are gone
    git("add", "-A")
    git("commit", "-q", "-m", "two")
    assert check_clones("HEAD~1..HEAD").files == 0


def test_paths_to_check(repository: Path) -> None:
    Path("lib").mkdir()
    Path("lib/b.py").write_text(text("gather", "secret"), encoding="utf-8")
    assert len(check_clones(paths=["src", "lib"]).families) == 1
    assert check_clones(paths="src").changed_functions == check_clones(paths="src").files == 0
    with pytest.raises(FileError, match=r"typo: .*"):
        check_clones(paths=["src", "typo"])
    git("add", "-A")
    git("commit", "-q", "-m", "two")
    assert check_clones("HEAD~1..HEAD", paths=["src", "lib"]).changed_functions == 1
    Path("web").mkdir()
    assert check_clones("HEAD~1..HEAD", paths=["src", "web"]).changed_functions == 0  # not there in this revision
    Path("web/notes.md").write_text("text", encoding="utf-8")  # now the files are not those of the revision
    with pytest.raises(FileError, match=r"\.\.: not in the repository .*, so it has no revisions"):
        check_clones("HEAD~1..HEAD", paths=["src", ".."])


def test_a_named_file_that_cannot_be_read(repository: Path) -> None:
    Path("src/b.py").write_bytes(text().encode() + b"\n# \xff\n")
    with pytest.raises(FileError, match=r"b\.py:\d+: these bytes are not text.*This file cannot be checked"):
        check_clones("src/b.py")


def test_problems_of_git(repository: Path) -> None:
    with pytest.raises(FileError, match="an empty name: neither a file nor a revision"):
        check_clones("")
    git("checkout", "-q", "--orphan", "alone")
    git("commit", "-q", "-m", "other root")
    with pytest.raises(FileError, match=r"main\.\.\.alone: the two revisions have no common commit .* use two dots"):
        check_clones("main...alone")
    Path(".git/HEAD").write_text("damaged", encoding="utf-8")
    with pytest.raises(FileError, match=r"git cannot read the repository \(fatal: "):
        check_clones()


def test_sarif_names_the_changed_function_and_the_reason(repository: Path) -> None:
    Path("src/b.py").write_text(text("gather", "secret"), encoding="utf-8")
    (new,) = check_clones().as_sarif()["runs"][0]["results"]
    git("add", "-A")
    git("commit", "-q", "-m", "two")
    Path("src/b.py").write_text(text("gather", "other"), encoding="utf-8")
    (known,) = check_clones().as_sarif()["runs"][0]["results"]
    for result in (new, known):
        location = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert location == "src/b.py"
        assert "[collect](1)" in result["message"]["text"]
        assert "; line 9 changed." in result["message"]["text"]
    assert (new["level"], known["level"]) == ("warning", "note")
    assert known["message"]["text"].endswith("They were similar before this change.")


# --- the cache --------------------------------------------------------------------------------------------------------


def families(report: CloneReport) -> list[Any]:
    return [(family.members, family.saved_lines, family.fingerprints) for family in report.families]


def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list to which each parsed file is added."""
    names: list[str] = []
    python = reading.FORMATS["python"]

    class Spy:
        def read(self, source: Any, **options: Any) -> Any:
            names.append(Path(source.name).name)
            return python.read(source, **options)

    monkeypatch.setitem(reading.FORMATS, "python", Spy())
    return names


def test_only_changed_files_are_read_again(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(6):
        Path(f"src/m{number}.py").write_text(text(f"f{number}") + f"\nx = {number}\n", encoding="utf-8")
    Path("src/empty.py").write_text("x = 1\n", encoding="utf-8")
    without, names = find_clones("src"), parsed(monkeypatch)
    first = find_clones("src", cache="kept")
    assert len(names) == 8
    assert families(first) == families(without)
    second = find_clones("src", cache="kept")
    assert len(names) == 8
    assert families(second) == families(without)
    assert (second.files, second.functions, second.lines) == (without.files, without.functions, without.lines)
    Path("src/m3.py").write_text(text("new", "seen"), encoding="utf-8")
    Path("src/m9.py").write_text(
        Path("src/m4.py").read_text(encoding="utf-8"), encoding="utf-8"
    )  # the same content elsewhere
    Path("src/m5.py").rename("src/m55.py")
    changed = find_clones("src", cache="kept")
    assert names[8:] == ["m3.py"]
    assert families(changed) == families(find_clones("src"))
    find_clones("src", cache="kept", identifiers="keep")
    assert len(names) > 15  # other options give other trees


def test_changed_files_without_functions(repository: Path) -> None:
    for version in ("1", "2"):
        Path("src/version.py").write_text(f"version = {version}\n", encoding="utf-8")
        git("add", "-A")
        git("commit", "-q", "-m", version)
        for _ in range(2):  # from the files, and from the cache
            assert check_clones("HEAD~1", cache="kept").families == []


def test_packs_are_merged_and_old_files_are_forgotten(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    day = 20_000
    monkeypatch.setattr(module, "_today", lambda: day)
    names = parsed(monkeypatch)
    for number in range(12):
        Path("src/m.py").write_text(text(f"f{number}"), encoding="utf-8")
        find_clones("src", cache="kept")
        assert len(list(Path("kept").glob("*.npz"))) <= module._PACKS
    assert names == ["a.py"] + ["m.py"] * 12
    day += module._KEPT + 1
    for number in range(12, 18):
        Path("src/m.py").write_text(text(f"f{number}"), encoding="utf-8")
        find_clones("src", cache="kept")
    keys = [key for _, pack in module.CodeCache("kept")._packs() for key in pack.key]
    assert len(keys) <= 1 + 6 + module._PACKS
    assert names.count("a.py") == 1  # in use, so it is kept


def damages() -> list[Any]:
    def cut(data: bytes) -> bytes:
        return data[: len(data) // 2]

    def flip(data: bytes) -> bytes:
        return data[:400] + bytes([data[400] ^ 255]) + data[401:]

    return [cut, flip, lambda data: b"", lambda data: b"PK\x03\x04", lambda data: data[::-1]]


@pytest.mark.parametrize("damage", damages())
def test_damaged_packs_are_read_again(repository: Path, damage: Any) -> None:
    Path("src/b.py").write_text(text("gather"), encoding="utf-8")
    wanted = families(find_clones("src", cache="kept"))
    (pack,) = Path("kept").glob("*.npz")
    pack.write_bytes(damage(pack.read_bytes()))
    assert families(find_clones("src", cache="kept")) == wanted
    (pack,) = Path("kept").glob("*.npz")
    assert len(np.load(pack, allow_pickle=False)["day"]) == 2


def test_a_pack_with_objects_is_not_unpickled(repository: Path) -> None:
    class Bad:
        def __reduce__(self) -> Any:
            return os.mkdir, ("hurt",)

    find_clones("src", cache="kept")
    (pack,) = Path("kept").glob("*.npz")
    np.savez(pack, key=np.array([Bad()], dtype=object), allow_pickle=True)
    find_clones("src", cache="kept")
    assert not Path("hurt").exists()


def test_every_wrong_array_of_a_pack_is_noticed(repository: Path) -> None:
    """Or it does no harm: no crash, and every function is there."""
    find_clones("src", cache="kept")
    (pack,) = Path("kept").glob("*.npz")
    arrays = dict(np.load(pack))
    wanted = find_clones("src").functions
    for name, values in arrays.items():
        wrong: list[Any] = [values[:-1], values.astype(float), values[None], np.array("x")]
        wrong += [np.full_like(values, 200)] if values.dtype.kind in "iu" and not name.startswith("places_") else []
        for other in [*wrong, None]:
            some = {**arrays, name: other} if other is not None else {key: arrays[key] for key in arrays if key != name}
            for old in Path("kept").glob("*.npz"):
                old.unlink()
            np.savez(pack, **some)
            assert find_clones("src", cache="kept").functions == wanted, name


def test_damaged_sources_are_reported_each_time(repository: Path) -> None:
    pytest.importorskip("tree_sitter_python")
    Path("src/bad.py").write_text("def f(:\n" + text(), encoding="utf-8")
    for _ in range(2):
        with pytest.warns(TreeletWarning, match=r"bad\.py:1"):
            find_clones("src", cache="kept")


def test_a_cache_that_cannot_be_written(repository: Path) -> None:
    Path("kept").write_text("a file", encoding="utf-8")
    with pytest.warns(TreeletWarning, match="kept: the cache cannot be written"):
        report = find_clones("src", cache="kept")
    assert report.functions == 2


def test_the_cache_is_not_committed(repository: Path) -> None:
    find_clones("src", cache=".treelet_cache")
    shown = subprocess.run(["git", "status", "--porcelain"], capture_output=True, text=True, check=True).stdout
    assert shown == ""


def test_concurrent_runs_share_a_cache(repository: Path) -> None:
    for number in range(10):
        Path(f"src/m{number}.py").write_text(text(f"f{number}"), encoding="utf-8")
    wanted = find_clones("src").functions
    code = "from treelet.tasks import find_clones; print(find_clones('src', cache='kept').functions)"
    runs = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [int(run.communicate()[0]) for run in runs] == [wanted] * 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert find_clones("src", cache="kept").functions == wanted
