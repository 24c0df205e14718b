"""A bounded part of `make faults`, and single faults that were found by it."""

from __future__ import annotations

import gzip
import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import all_commands, file_marks

if os.name == "nt":
    pytest.skip("needs POSIX", allow_module_level=True)

import fault_damage
import fault_index
import fault_kills
import fault_streams
from fault_cases import KERNEL, Material, bank, material, writers
from fault_places import PLACES, lay_old, lay_other, smaller_files, trial, undisturbed

import treelet as tl
from treelet import work
from treelet.errors import FileError, NotEnoughMemoryError, TreeletWarning
from treelet.matrices.stored import NotOpenedError, _Manifest

FEW = (
    "--resume",
    "resume=True",
    "tl.save(bank)",
    "PCFG.save",
    "Treebank.write",
    "Drawing.save svg",
    "train",
    "r.treelet",
)
"""Writers that are tried in every test run; all of them are in the whole one."""


@pytest.fixture(scope="module")
def made() -> Iterator[Material]:
    with material() as found:
        yield found


def test_every_output_of_a_command_is_tried(made: Material) -> None:
    written = {
        (name, parameter)
        for name, command in all_commands().items()
        for parameter, mark in file_marks(command).items()
        if mark[0] == "written"
    }
    assert written == {writer.option for writer in writers(made) if writer.option is not None}


def test_places_that_cannot_be_written_to(made: Material, tmp_path: Path) -> None:
    for number, writer in enumerate(w for w in writers(made) if any(word in w.name for word in FEW)):
        new = undisturbed(writer)
        for limit in (0, max(map(len, new.values())) - 1):
            folder = tmp_path / f"{number}-{limit}"
            folder.mkdir()
            lay_old(writer, folder)
            found = trial(writer, folder, smaller_files(limit), new, folder)
            assert found.outcome == "refused", (writer.name, limit, found)
        for said, place in PLACES.items():
            folder = tmp_path / f"{number}-{said}"
            folder.mkdir()
            assert trial(writer, folder, nullcontext(), new, place(folder)).outcome == "refused", (writer.name, said)
        folder = tmp_path / f"{number}-other"
        folder.mkdir()
        lay_other(writer, folder)
        assert trial(writer, folder, nullcontext(), new, folder).outcome == "refused", writer.name


def test_damaged_files(made: Material) -> None:
    for kept in fault_damage.all_kept(made):
        if "experiment" not in kept.name:
            for found in fault_damage.trials(kept, 3 if "matrix" in kept.name else 20):
                assert not found.wrong, (kept.name, found)


def test_ends(made: Material) -> None:
    for found in (*fault_kills.saves(made, 9), *fault_kills.matrices("K.npy", 3, True)):
        assert not found.wrong, found


def test_streams_that_are_full(made: Material) -> None:
    for words in fault_streams.commands(made):
        if words[0] == "convert":
            for _, found in fault_streams.trials(words):
                assert not found.wrong, (words, found)


# --- found by it ----------------------------------------------------------------------------------------------------------


def harmed(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(bytes(data))


def test_a_bit_anywhere_in_a_complete_matrix(tmp_path: Path) -> None:
    trees = tl.Treebank(list(bank(300)))
    path = tmp_path / "K.npy"
    right = np.array(tl.gram(KERNEL, trees, out=path, resume=True, dtype="float32"))
    for place in (
        5000,
        path.stat().st_size - 5000,
    ):  # neither is in the sample; one has a mirror image on the other side
        harmed(path, place)
        with pytest.warns(TreeletWarning, match="has changed since it was written"):
            again = tl.gram(KERNEL, trees, out=path, resume=True, dtype="float32")
        np.testing.assert_array_equal(again, right)


def test_complete_is_what_is_complete(tmp_path: Path) -> None:
    """A run was ended before the matrix had its name; what has the name is another."""
    path, part = tmp_path / "K.npy", tmp_path / "K.npy.part"
    right = np.array(tl.gram(KERNEL, bank(), out=path, resume=True))
    Path(f"{path}.json").rename(f"{part}.json")
    np.save(path, right + 1)
    with pytest.warns(TreeletWarning, match="whole matrix is computed again"):
        np.testing.assert_array_equal(tl.gram(KERNEL, bank(), out=path, resume=True), right)
    path.rename(part)
    Path(f"{path}.json").rename(f"{part}.json")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(tl.gram(KERNEL, bank(), out=path, resume=True), right)


def test_the_last_thing_that_a_killed_run_left_goes(tmp_path: Path) -> None:
    path, part = tmp_path / "K.npy", tmp_path / "K.npy.part.json"
    tl.gram(KERNEL, bank(), out=path, resume=True)
    part.write_bytes(Path(f"{path}.json").read_bytes())
    tl.gram(KERNEL, bank(), out=path, resume=True)
    assert sorted(os.listdir(tmp_path)) == ["K.npy", "K.npy.json"]


def test_a_manifest_that_cannot_be_written_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Any, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_Manifest, "write", full)
    with pytest.raises(FileError, match=r"written \(No space left on device\)"):
        tl.gram(KERNEL, bank(), out=tmp_path / "K.npy", resume=True)
    assert os.listdir(tmp_path) == []


def test_an_empty_packed_file_is_none(tmp_path: Path) -> None:
    path = tmp_path / "a.mrg.gz"
    path.write_bytes(b"")
    with pytest.raises(FileError, match="empty, so it is not a valid packed"):
        tl.read_trees(path)
    path.write_bytes(gzip.compress(b""))
    assert len(tl.read_trees(path, "brackets")) == 0


def test_packed_files_are_the_same_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = set()
    for now in (1e9, 1.5e9):
        monkeypatch.setattr("time.time", lambda now=now: now)
        bank().write(tmp_path / "b.mrg.gz")
        found.add((tmp_path / "b.mrg.gz").read_bytes())
    assert len(found) == 1


def test_no_thread_without_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = KERNEL(bank())
    monkeypatch.setattr(work, "available", lambda: 10 << 20)
    monkeypatch.setattr("threading.Thread.start", lambda self: pytest.fail("a thread was started"))
    assert (tl.gram(KERNEL, bank(), n_jobs=2) == expected).all()
    with pytest.raises(NotEnoughMemoryError, match=r"enough memory to start 1 thread.*only 10\.0 MiB are free"):
        tl.gram(KERNEL, bank(), out=tmp_path / "K.npy", resume=True)


class NeverIdle:
    """The semaphore of a thread pool whose threads are all at work."""

    def acquire(self, timeout: float | None = None) -> bool:
        return False

    def release(self) -> None:
        pass


@pytest.mark.parametrize("most", [0, 1, 3])
def test_fewer_threads_where_the_system_starts_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    trees, labels = bank(), [index % 5 for index in range(len(bank()))]
    matrix, model = KERNEL(trees), tl.KernelSVC(KERNEL.normalized()).fit(trees, labels)
    start, refused = threading.Thread.start, []

    def start_some(thread: threading.Thread) -> None:
        if sum(other.name.startswith("treelet") for other in threading.enumerate()) >= most:
            refused.append(thread)
            raise RuntimeError("can't start new thread")  # as Python does under ulimit -v
        start(thread)

    monkeypatch.setattr("threading.Thread.start", start_some)
    # A pool starts no thread while another one is idle, which depends on the load of the machine. Here none is ever idle.
    idle = property(lambda pool: NeverIdle(), lambda pool, semaphore: None)
    monkeypatch.setattr(work._Pool, "_idle_semaphore", idle, raising=False)
    assert (tl.gram(KERNEL, trees, n_jobs=8, memory="64KiB") == matrix).all()
    assert refused
    refused.clear()
    assert (tl.KernelSVC(KERNEL.normalized(), n_jobs=8).fit(trees, labels).dual_coef_ == model.dual_coef_).all()
    assert refused
    if most == 0:
        with pytest.raises(NotEnoughMemoryError, match="system cannot start a thread"):
            tl.gram(KERNEL, trees, out=tmp_path / "K.npy", resume=True)


def test_a_matrix_that_cannot_be_mapped_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> Any:
        raise OSError(12, "Cannot allocate memory")

    from conftest import succeed

    trees = tmp_path / "a.mrg"
    bank().write(trees)
    monkeypatch.setattr("numpy.memmap", refused)
    with pytest.raises(NotOpenedError, match="complete, but cannot be mapped into"):
        tl.gram(KERNEL, bank(), out=tmp_path / "K.npy")
    succeed("gram", trees, "-o", tmp_path / "L.npy", "--no-normalize")
    assert (tmp_path / "L.npy").read_bytes() == (tmp_path / "K.npy").read_bytes()


def test_a_report_that_fails_leaves_no_folder(tmp_path: Path) -> None:
    from conftest import run

    with smaller_files(0):
        done = run(
            "rerank", "--sizes", "20,8,8", "--k", "3", "--folds", "2", "--epochs", "1", "-o", tmp_path / "a" / "b"
        )
    assert (done.exit_code, "cannot be written (File too large)" in done.stderr) == (2, True)
    assert os.listdir(tmp_path) == []


def test_an_index_survives_kills() -> None:
    """More of them: python tests/faults/fault_index.py 300."""
    assert fault_index.kills(3)["kills"] == 3
