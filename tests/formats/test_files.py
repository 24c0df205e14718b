"""Opening files: packed by name, whole or not at all, the standard streams, pipes."""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import lzma
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import treelet as tl
from conftest import make_link, succeed
from treelet.errors import FileError, FormatError, InputTypeError, ParameterError
from treelet.formats import files
from treelet.formats.files import naming, open_source, open_target, open_whole, unpacked_name, whole_file
from treelet.matrices import stored

TEXT = "one\ntwo ünïcode\n"


@pytest.mark.parametrize(
    ("name", "unpack"), [("a.txt", open), ("a.gz", gzip.open), ("a.xz", lzma.open), ("a.BZ2", bz2.open)]
)
def test_what_is_written_is_read(name: str, unpack, tmp_path: Path) -> None:
    with open_target(tmp_path / name) as stream:
        stream.write(TEXT)
        assert not (tmp_path / name).exists(), "it appears when it is complete"
    with unpack(tmp_path / name, "rb") as stream:
        assert stream.read().decode() == TEXT
    with open_source(tmp_path / name) as source:
        assert [line for _, line in source.text_lines()] == TEXT.splitlines()
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


def test_gzip_does_not_tell_the_temporary_name(tmp_path: Path) -> None:
    with open_target(tmp_path / "a.gz") as stream:
        stream.write(TEXT)
    assert not (tmp_path / "a.gz").read_bytes()[3] & 8


def test_streams(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    with open_target(out) as stream:
        stream.write(TEXT)
    assert out.getvalue() == TEXT
    with open_target("-") as stream:
        stream.write(TEXT)
    assert capsys.readouterr().out == TEXT
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode()), encoding="utf-8"))
    with open_source("-") as source:
        assert (source.name, b"".join(source.chunks()).decode()) == ("<stdin>", TEXT)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, OSError(28, "No space left on device")])
def test_what_fails_leaves_the_old_file(error, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old", encoding="utf-8")
    for opened in (open_target, open_whole, whole_file):
        with pytest.raises((KeyboardInterrupt, ValueError, FileError), match="No space" if isinstance(error, OSError) else None), opened(path):  # fmt: skip
            raise error
        assert path.read_text(encoding="utf-8") == "old"
        assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]


def test_errors_name_the_right_file(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot be written, because"), open_target(tmp_path / "no" / "a.txt"):  # fmt: skip
        pass
    with pytest.raises(FileError, match=r"is a folder\. Give the name of a file"), open_target(tmp_path):
        pass
    with pytest.raises(FileNotFoundError, match="other"), open_target(tmp_path / "a.txt"):
        (tmp_path / "other").read_bytes()
    with pytest.raises(FileError, match=r"missing\.gz: the file does not exist"), open_source(tmp_path / "missing.gz"):
        pass


def test_links_and_rights(tmp_path: Path) -> None:
    make_link(tmp_path / "link", tmp_path / "there")
    before = os.umask(0o027)
    try:
        with open_target(tmp_path / "link") as stream:
            stream.write(TEXT)
    finally:
        os.umask(before)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "there").read_text(encoding="utf-8") == TEXT
    if os.name != "nt":  # Windows has one right only, to write
        assert (tmp_path / "there").stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_stays_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text(encoding="utf-8")))
    reader.start()
    with open_target(pipe) as stream:
        stream.write(TEXT)
    reader.join(60)
    assert got == [TEXT]
    assert pipe.is_fifo()


def test_names_without_what_says_how_they_are_packed() -> None:
    assert [unpacked_name(name).name for name in ("a.mrg.xz", "a.b.GZ", "a.json", "gz")] == [
        "a.mrg",
        "a.b",
        "a.json",
        "gz",
    ]


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress])
def test_what_is_packed_is_unpacked_whatever_its_name(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    (tmp_path / "a.txt").write_bytes(pack(TEXT.encode()))
    with open_source(tmp_path / "a.txt") as source:
        assert b"".join(source.chunks()) == TEXT.encode()
    assert succeed("convert", "-", "-", "--to", "lines", input=pack(b"(S (A a))")).stdout == "(S (A a))\n"


def test_a_file_in_use_on_windows_gets_advice(tmp_path: Path) -> None:
    """Windows refuses to replace a file that is open or mapped."""
    path = tmp_path / "K.npy"

    def refused(number: int) -> None:
        error = PermissionError(13, "Access is denied.", str(path))
        error.winerror = number  # type: ignore[attr-defined, unused-ignore]
        with naming(path, path):
            raise error

    for number, advice in ((5, r"\. If .*del K"), (32, r"\. If .*del K"), (19, r"\.$")):
        with pytest.raises(FileError, match=rf"K\.npy: cannot be written \(Access is denied\){advice}"):
            refused(number)


@pytest.mark.parametrize("content", ["", "precious"])
def test_a_refused_writer_on_windows_removes_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str
) -> None:
    """The holder could not: Windows does not remove a file that another process has open."""
    path = tmp_path / ".K.npy.treelet-lock"
    path.write_text(content, encoding="utf-8")
    with monkeypatch.context() as patched:
        patched.setattr(os, "name", "nt")
        patched.setattr(files, "_hold", lambda lock: (_ for _ in ()).throw(BlockingIOError))
        with pytest.raises(FileError, match="another process or thread is writing"):
            files._lock(path, "K.npy")
    assert path.exists() == bool(content)


def test_a_refused_writer_leaves_the_lock_of_the_holder(tmp_path: Path) -> None:
    with files.locked(tmp_path / "K.npy"):
        with pytest.raises(FileError, match="another process or thread is writing"), files.locked(tmp_path / "K.npy"):
            pass
        assert os.listdir(tmp_path) == [".K.npy.treelet-lock"]
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(os.name != "nt", reason="other systems replace mapped files")
def test_a_mapped_matrix_is_not_computed_again_in_vain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trees, path = ["(A a)", "(B b)"], tmp_path / "K.npy"
    K = tl.gram(tl.SubsetTree(), trees, out=path)
    with monkeypatch.context() as patched:
        patched.setattr(stored, "_write", lambda *_: pytest.fail("the matrix is computed before the file is refused"))
        with pytest.raises(FileError, match="del K"):
            tl.gram(tl.SubsetTree(), trees, out=path)
    del K
    tl.gram(tl.SubsetTree(), trees, out=path)
    assert [file.name for file in tmp_path.iterdir()] == ["K.npy"]


def test_what_is_no_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputTypeError, match="open file is needed, but got an int"):
        tl.read_trees(3)  # type: ignore[arg-type]
    with pytest.raises(FileError, match=r"is a folder\. Name a file in it"):
        tl.structures.read_instances(tmp_path)
    (tmp_path / "wide.tsv").write_text("a\t(S x)\n", encoding="utf-16")
    with pytest.raises(FormatError, match="encoding='utf-16'"):
        tl.read_trees(tmp_path / "wide.tsv")


NAMED = {
    "load": tl.load,
    "card": tl.learn.card,
    "save": lambda name: tl.save(tl.Treebank(["(A a)"]), name),
    "write": lambda name: tl.Treebank(["(A a)"]).write(name, "brackets"),
    "gram": lambda name: tl.gram(tl.SubsetTree(), ["(A a)"], out=name),
    "resume": lambda name: tl.gram(tl.SubsetTree(), ["(A a)"], out=name, resume=True),
}


@pytest.mark.parametrize("call", NAMED)
def test_names_that_no_file_can_have(call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a\0b.npy", Path("a\0b.npy")):
        with pytest.raises(FileError, match=r"'a\\x00b\.npy' is not a valid file name"):
            NAMED[call](name)
    if os.name != "nt":  # Windows accepts lone surrogates
        with pytest.raises(FileError, match=r"'\\ud800\.npy' is not a valid file name"):
            NAMED[call]("\ud800.npy")
    with pytest.raises((InputTypeError, ParameterError), match=r"Got (b'a\.npy'|a bytes)"):
        NAMED[call](b"a.npy")
    if call in ("save", "write", "gram", "resume"):  # others report that there is no such file
        with pytest.raises(FileError, match="cannot be written"):
            NAMED[call]("x" * 300 + ".npy")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("number", [errno.ENOENT, errno.EINVAL, errno.ENAMETOOLONG])
def test_a_name_that_is_too_long_on_other_systems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Windows says that there is no such file, or that the name is invalid.

    Everywhere, `Path.exists` raises no error from Python 3.14 on.
    """

    def on_windows(name: str) -> None:
        of_path = getattr(Path, name)

        def changed(path: Path, *args: Any, **options: Any) -> Any:
            try:
                return of_path(path, *args, **options)
            except OSError as error:
                if error.errno != errno.ENAMETOOLONG:
                    raise
                raise OSError(number, os.strerror(number), str(path)) from None

        monkeypatch.setattr(Path, name, changed)

    for name in ("open", "stat"):
        on_windows(name)
    monkeypatch.setattr(Path, "exists", os.path.exists)
    monkeypatch.chdir(tmp_path)
    name = "x" * 300 + ".npy"
    with pytest.raises(FileError, match=f"^{name}: cannot be written") as caught:
        tl.gram(tl.SubsetTree(), ["(A a)"], out=name, resume=True)
    assert "Create the folder" not in str(caught.value)
    assert os.listdir(tmp_path) == []
