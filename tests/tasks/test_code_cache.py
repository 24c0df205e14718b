"""The folder of a cache of functions: what it may be, and what a run with a cache reports."""

from __future__ import annotations

import re
import shutil
import subprocess
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest

from conftest import fail, make_link, succeed
from treelet.errors import FileError, InputTypeError, ParameterError
from treelet.tasks import find_clones


def text(name: str) -> str:
    lines = [f"    a{number} = f(a, {number}).{name}" for number in range(11)]
    return "\n".join([f"def {name}(a):", *lines, "    return a", ""])


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("one", "two"):
        path = tmp_path / "src" / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text(name), encoding="utf-8")
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# --- the folder -------------------------------------------------------------------------------------------------------


def test_a_folder_with_other_files_is_refused(project: Path) -> None:
    data = project / "data"
    data.mkdir()
    np.savez(data / "0123456789abcdef.treelet.npz", mine=np.arange(3))
    (data / "notes.npz").write_text("not an archive", encoding="utf-8")
    (project / "ignoring").mkdir()
    (project / "ignoring" / ".gitignore").write_text("*.log\n", encoding="utf-8")
    (project / "tagged").mkdir()
    (project / "tagged" / "CACHEDIR.TAG").write_bytes(
        b"Signature: 8a477f597d28d172789f06886806bc55\n# of another program"
    )
    before = contents(project)
    for folder in ("data", ".", "src", "ignoring", "tagged"):
        with pytest.raises(FileError, match=f"^{re.escape(folder)}: the folder contains other files.*cache="):
            find_clones("src", cache=folder)
    assert contents(project) == before
    assert fail("clones", "src", "--cache", "data").endswith("Name a new or an empty folder with --cache.\n")


def test_names_that_no_folder_can_have(project: Path) -> None:
    with pytest.raises(ParameterError, match="'cache' parameter must be None or a folder"):
        find_clones("src", cache="")
    assert "--cache must be a folder. Got '' instead." in fail("clones", "src", "--cache", "")
    with pytest.raises(FileError, match="NUL"):
        find_clones("src", cache="a\0b")
    with pytest.raises(InputTypeError):
        find_clones("src", cache=5)  # type: ignore[arg-type]
    assert sorted(path.name for path in project.iterdir()) == ["src"]


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize("command", ["clones", "check"])
def test_a_repository_cannot_have_files_elsewhere_removed(project: Path, command: str) -> None:
    other, repository = project / "other", project / "src"
    other.mkdir()
    (other / "mine.npz").write_text("not an archive", encoding="utf-8")
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    make_link(repository / ".treelet_cache", other)
    before = contents(other)
    with pytest.MonkeyPatch.context() as here:
        here.chdir(repository)
        assert ".treelet_cache: a cache cannot be a link" in fail(command)
        succeed(command, "--no-cache")
    assert contents(other) == before


def test_foreign_files_in_a_cache_are_not_touched(project: Path) -> None:
    find_clones("src", cache="kept")
    (pack,) = Path("kept").glob("*.npz")
    (project / "kept" / "mine.npz").write_text("not an archive", encoding="utf-8")
    (project / "kept" / "0123456789abcdef.npz").write_text("not an archive", encoding="utf-8")
    (project / "outside").write_text("not an archive", encoding="utf-8")
    pack.unlink()
    make_link(pack, project / "outside")  # neither read nor removed, and the next pack does not follow it
    make_link(pack.with_name("f" * 16 + ".treelet.npz"), project / "outside")
    find_clones("src", cache="kept")
    assert (project / "outside").read_text(encoding="utf-8") == "not an archive"
    assert not pack.is_symlink()
    kept = contents(project / "kept")
    assert kept["mine.npz"] == kept["0123456789abcdef.npz"] == b"not an archive"
    assert pack.with_name("f" * 16 + ".treelet.npz").is_symlink()


@pytest.mark.parametrize(
    "marks", [{}, {".gitignore": ""}, {".gitignore": "*\n"}, {".gitignore": "*\n", "CACHEDIR.TAG": "Sig"}]
)
def test_an_empty_folder_and_one_that_a_killed_run_has_left(project: Path, marks: dict[str, str]) -> None:
    folder = project / "kept"
    folder.mkdir()
    for name, content in marks.items():
        (folder / name).write_bytes(content.encode())
    for _ in range(2):
        find_clones("src", cache="kept")
        (_pack,) = folder.glob("*.npz")
        assert (folder / ".gitignore").read_bytes() == b"*\n"
        assert "treelet" in (folder / "CACHEDIR.TAG").read_text(encoding="utf-8")


def test_compressed_packs_are_not_unpacked(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small one could fill the memory."""
    find_clones("src", cache="kept")
    (pack,) = Path("kept").glob("*.npz")
    np.savez_compressed(pack, **np.load(pack), more=np.zeros(10_000_000, np.int8))
    assert pack.stat().st_size < 100_000
    with monkeypatch.context() as patched:
        patched.setattr(np, "load", lambda *arguments, **options: pytest.fail("the pack is unpacked"))
        assert find_clones("src", cache="kept").functions == 2
    with zipfile.ZipFile(pack) as archive:  # written again
        assert all(member.compress_type == zipfile.ZIP_STORED for member in archive.infolist())


# --- what is reported -------------------------------------------------------------------------------------------------


def run(*paths: str) -> tuple[object, ...]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        report = find_clones(*paths, cache="kept").as_json()
    counts = [report[name] for name in ("files", "functions", "skipped_files", "skipped_functions", "short_functions")]
    return [str(warning.message) for warning in caught], counts


def test_warnings_and_counts_do_not_depend_on_the_cache(project: Path) -> None:
    src = project / "src"
    (src / "binary.py").write_bytes(b"x = 1\0")
    (src / "large.py").write_text("x = 1\n" * 200_000, encoding="utf-8")
    (src / "wrong.py").write_bytes(b"x = '\xff'\n")  # is read each time
    (src / "short.py").write_text("def f(a):\n    return a\n", encoding="utf-8")
    cold = run("src")
    assert cold[1] == [3, 2, 3, 0, 1]
    assert len(cold[0]) == 1  # type: ignore[arg-type]
    assert "3 of 6 files were skipped" in str(cold[0])
    assert run("src") == cold
    (src / "one.py").write_text(text("one") + "\n", encoding="utf-8")
    assert run("src") == cold
    shutil.rmtree("kept")
    (src / "wrong.py").unlink()
    cold = run("src")
    assert "2 of 5 files were skipped" in str(cold[0])
    assert run("src") == cold  # nothing is read any more


def test_skipped_functions_are_counted_among_those_in_the_cache(project: Path) -> None:
    pytest.importorskip("tree_sitter_javascript")
    (project / "src" / "a.js").write_text("function g(a) { return a ++ ; ) }\nfunction h() {}\n", encoding="utf-8")
    cold = run("src")
    assert re.search(r"1 of 3 trees was skipped", str(cold[0]))
    assert run("src") == cold


def test_names_with_a_dot_and_files_without_functions(project: Path) -> None:
    Path("empty.py").write_text("x = 1\n", encoding="utf-8")
    for _ in range(2):
        assert run("./src/one.py")[1] == [1, 1, 0, 0, 0]
        assert run("empty.py")[1] == [1, 0, 0, 0, 0]
