"""Loading must not run code, call a shell, or unpack without a limit."""

from __future__ import annotations

import ast
import bz2
import gzip
import lzma
from pathlib import Path

import pytest

import treelet as tl
from conftest import fail, succeed
from treelet.errors import FileError, FormatError
from treelet.formats import files

SOURCE = Path(tl.__file__).parent
FORBIDDEN = {"pickle", "cloudpickle", "marshal", "shelve", "dill", "joblib", "subprocess"}
# Between processes of one program, and the child that Link Grammar runs in: none of them reads a file that was given.
ALLOWED = {
    "matrices/stored.py": {"pickle"},  # writes only
    "matrices/cluster.py": {"cloudpickle", "pickle"},  # pickle: the name of an error
    "formats/paths.py": {"subprocess"},  # git lists the files that it does not ignore, without hooks
    "parsing/link_parser.py": {"subprocess"},
    "testing/estimators.py": {"pickle"},
}
CALLS = {"eval", "exec", "compile", "__import__"}


def found_in(code: str) -> tuple[set[str], set[str]]:
    """Modules that are imported, and calls of what runs code or a shell."""
    modules, calls = set(), set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            modules |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules.add((node.module or "").partition(".")[0])
        elif isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name) and called.id in CALLS:
                calls.add(called.id)
            if isinstance(called, ast.Attribute) and called.attr in ("system", "popen"):
                calls.add(called.attr)
            for given in node.keywords:
                if given.arg in ("shell", "allow_pickle") and getattr(given.value, "value", True) is not False:
                    calls.add(given.arg)
    return modules & FORBIDDEN, calls


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_nothing_that_runs_code(path: Path) -> None:
    name = path.relative_to(SOURCE).as_posix()
    modules, calls = found_in(path.read_text(encoding="utf-8"))
    assert modules <= ALLOWED.get(name, set())
    assert not calls or name == "testing/checks.py"  # which sees that a kernel's repr evaluates back


def test_the_search_finds_what_it_looks_for() -> None:
    code = "import pickle\nfrom subprocess import run\nrun('x', shell=True)\neval('1')\nnp.load(f, allow_pickle=True)"
    assert found_in(code) == ({"pickle", "subprocess"}, {"shell", "eval", "allow_pickle"})


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".xz", lzma.compress), (".bz2", bz2.compress)])
def test_packed_bombs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, pack: object) -> None:
    monkeypatch.setattr(files, "_MOST_UNPACKED", 1 << 20)
    for name in (f"bomb.mrg{suffix}", "bomb.mrg"):  # a name need not say that it is packed
        bomb = tmp_path / name
        bomb.write_bytes(pack(b"(A a)\n" * (1 << 19)))  # type: ignore[operator]
        with pytest.raises(FileError, match="packed bytes expand to more"):
            tl.read_trees(bomb)
        monkeypatch.setenv("TREELET_UNPACKED", "100")
        with pytest.raises(FileError, match="packed bytes expand to more than"):
            tl.read_trees(bomb)
        monkeypatch.setenv("TREELET_UNPACKED", str(1 << 22))
        assert len(tl.read_trees(bomb)) == 1 << 19
        monkeypatch.delenv("TREELET_UNPACKED")


def test_a_bomb_through_a_pipe_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_MOST_UNPACKED", 1 << 20)
    bomb = gzip.compress(b"(A a)\n" * (1 << 19))
    assert "packed bytes expand to more than" in fail("gram", "-", "-o", "-", input=bomb)
    trees = gzip.compress("".join(f"(A (B w{n * n}))\n" for n in range(70_000)).encode())  # no bomb: 4 times as many
    assert succeed("convert", "-", "-", "--to", "brackets", input=trees).output.count("(B w") == 70_000


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no file without an end here")
def test_no_text_is_refused_before_it_has_filled_the_memory() -> None:
    for read in (tl.read_trees, tl.read_examples, tl.read_tagged, tl.read_forests):
        with pytest.raises(FormatError, match="a NUL byte, so it is not UTF-8 text"):
            read("/dev/zero")
    with pytest.raises(FileError, match="the file is not a treelet model"):
        tl.load("/dev/zero")


def test_what_is_packed_as_texts_are_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_MOST_UNPACKED", 1 << 10)
    trees = "".join(f"(A (B w{n * n}))\n" for n in range(2000))
    (tmp_path / "trees.mrg.gz").write_bytes(gzip.compress(trees.encode()))
    assert len(tl.read_trees(tmp_path / "trees.mrg.gz")) == 2000
