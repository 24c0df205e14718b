"""Matrices on disk: killed at any moment and resumed, and never mistaken for another matrix."""

from __future__ import annotations

import copy
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import pytest

import treelet as tl
from conftest import binary
from treelet.datasets import flights
from treelet.errors import FileError, KernelOverflowError, ParameterError, TreeletWarning
from treelet.formats.files import locked
from treelet.matrices import stored
from treelet.matrices.npy_file import RowsInFile
from treelet.matrices.stored import _checksum, _identity, _Journal, _NpyFile, fingerprint
from treelet.matrices.tiles import Job, Plan, Span, Tile, _planned

KERNEL = tl.SubsetTree(lam=0.4)


@pytest.fixture(scope="module")
def bank() -> tl.Treebank:
    return flights(120, random_state=3)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "K.npy"


def names(path: Path) -> list[str]:
    return sorted(file.name for file in path.parent.iterdir())


class Killed(BaseException):
    """Stands for the end of the process: nothing is tidied up."""


def cut(monkeypatch: pytest.MonkeyPatch, method: str, after: int, *, committed: bool) -> None:
    """Kill the process in the middle of a tile: half of the tile is written, and the recorded tiles stay."""
    left, whole = after, getattr(RowsInFile, method)

    def ending(self: Any, tile: Tile, *values: Any) -> None:
        nonlocal left
        if left == 0:
            half = Tile(Span(tile.rows.begin, (tile.rows.begin + tile.rows.end + 1) // 2), tile.columns)
            whole(self, half, *(np.full(half.shape, 7.0, v.dtype) for v in values))
            raise Killed
        left -= 1
        whole(self, tile, *values)

    def leave(self: Any, *error: object) -> None:
        self._over.set()
        self._thread.join()
        if committed:
            self.commit()

    monkeypatch.setattr(RowsInFile, method, ending)
    monkeypatch.setattr(_Journal, "__exit__", leave)


@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize(("method", "after"), [("write", 0), ("write", 9), ("write", 60), ("mirror", 0), ("mirror", 7)])
@pytest.mark.parametrize("memory", [None, "200kB"], ids=["one index", "blocks of columns"])
def test_the_same_file_wherever_it_was_cut(
    bank: tl.Treebank, path: Path, method: str, after: int, committed: bool, memory: str | None
) -> None:
    options: dict[str, Any] = {"dtype": "float32", "memory": memory, "resume": True}
    whole = path.with_name("whole.npy")
    tl.gram(KERNEL, bank, out=whole, **options)
    with pytest.MonkeyPatch.context() as monkeypatch:
        cut(monkeypatch, method, after, committed=committed)
        with pytest.raises(Killed):
            tl.gram(KERNEL, bank, out=path, **options)
    assert not path.exists()
    assert {"K.npy.part", "K.npy.part.json"} <= set(names(path))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing that is there is doubted
        K = tl.gram(KERNEL, bank, out=path, n_jobs=2, **options | {"memory": memory and "1MB"})
    assert path.read_bytes() == whole.read_bytes()
    np.testing.assert_allclose(K, KERNEL(bank), rtol=1e-6)
    assert names(path) == ["K.npy", "K.npy.json", "whole.npy", "whole.npy.json"]


CHILD = """
import os, signal, sys
import treelet as tl
from treelet.datasets import flights
from treelet.matrices import stored
from treelet.matrices.npy_file import RowsInFile
stored._PATIENCE = 0.001
left, write, mirror = int(sys.argv[2]), RowsInFile.write, RowsInFile.mirror
def counted(whole):
    def work(self, *arguments):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        whole(self, *arguments)
    return work
RowsInFile.write, RowsInFile.mirror = counted(write), counted(mirror)
tl.gram(tl.SubsetTree(lam=0.4), flights(120, random_state=3), out=sys.argv[1], resume=True, n_jobs=2)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no such signal")
def test_processes_that_are_killed(bank: tl.Treebank, path: Path) -> None:
    left = []
    # There are 156 steps. Each kill comes before the end, even if all earlier steps are in the manifest.
    for steps in (20, 40, 90, 10**9):
        child = subprocess.run([sys.executable, "-c", CHILD, path, str(steps)], check=False, timeout=120)
        assert child.returncode == (0 if steps == 10**9 else -signal.SIGKILL)
        name = f"{path}.json" if path.exists() else f"{path}.part.json"
        left.append(len(json.loads(Path(name).read_text(encoding="utf-8"))["done"]))
    assert left == sorted(left)
    tl.gram(KERNEL, bank, out=path.with_name("whole.npy"), resume=True)
    assert path.read_bytes() == path.with_name("whole.npy").read_bytes()
    assert ".K.npy.treelet-lock" not in names(path)


def ended(bank: Any, path: Path, **options: Any) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        cut(monkeypatch, "write", 30, committed=True)
        with pytest.raises(Killed):
            tl.gram(KERNEL, bank, out=path, resume=True, **options)


@pytest.mark.parametrize("complete", [True, False])
def test_another_matrix_is_refused(bank: tl.Treebank, path: Path, complete: bool) -> None:
    """And no existing file is lost."""
    if complete:
        tl.gram(KERNEL, bank, out=path, resume=True)
    else:
        ended(bank, path)
    before = {file.name: file.read_bytes() for file in path.parent.iterdir() if file.suffix != ".treelet-lock"}
    version = tl.__version__
    other = tl.Treebank([*bank[:119], "(S (X y))"])
    for change, words in (
        ({"kernel": tl.SubsetTree(lam=0.3)}, r"another kernel, SubsetTree\(lam=0.4\)"),
        ({"X": other}, "was computed from other examples"),
        ({"X": bank[:100]}, "120 x 120 values instead of 100 x 100"),
        ({"Y": bank}, "was computed from other examples"),
        ({"dtype": "float32"}, "has float64 values instead of float32"),
    ):
        arguments: dict[str, Any] = {"kernel": KERNEL, "X": bank, "out": path, "resume": True} | change
        with pytest.raises(FileError, match=words):
            tl.gram(**arguments)
    if not complete:
        with pytest.raises(FileError, match=r"interrupted call had memory=1073741824.*than the 1000000 bytes"):
            tl.gram(KERNEL, bank, out=path, resume=True, memory="1MB")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(tl, "__version__", "7.7")
        with pytest.raises(FileError, match=f"by treelet {version} instead of 7.7"):
            tl.gram(KERNEL, bank, out=path, resume=True)
    assert {file.name: file.read_bytes() for file in path.parent.iterdir() if file.suffix != ".treelet-lock"} == before


def test_what_is_complete_is_given_back(bank: tl.Treebank, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    K = np.array(tl.gram(KERNEL, bank, out=path, resume=True))
    np.testing.assert_allclose(K, KERNEL(bank), rtol=1e-14)
    monkeypatch.setattr(stored, "_write", lambda *_: 1 / 0)
    upside_down = tl.Treebank(list(bank)[::-1] + ["(X (Y z))"])[:-1][::-1]  # the same trees, otherwise numbered
    np.testing.assert_array_equal(tl.gram(KERNEL, upside_down, out=path, resume=True, n_jobs=2, memory="1GB"), K)
    np.save(path, K + 1)  # another matrix now
    with pytest.raises(ZeroDivisionError):
        tl.gram(KERNEL, bank, out=path, resume=True)


def test_equal_examples_give_equal_bits(bank: tl.Treebank, path: Path) -> None:
    tl.gram(KERNEL, bank, out=path.with_name("whole.npy"), resume=True)
    ended(bank, path)
    tl.gram(KERNEL, tl.Treebank(list(bank)[::-1])[::-1], out=path, resume=True)
    assert path.read_bytes() == path.with_name("whole.npy").read_bytes()


def test_without_resume_a_manifest_does_not_stay(bank: tl.Treebank, path: Path) -> None:
    tl.gram(KERNEL, bank, out=path, resume=True)
    tl.gram(KERNEL, bank[:50], out=path)
    assert names(path) == ["K.npy"]
    assert np.load(path).shape == (50, 50)


def spoil_manifest(path: Path) -> str:
    file = Path(f"{path}.part.json")
    file.write_text(file.read_text(encoding="utf-8")[:-40], encoding="utf-8")
    return "not a valid manifest of a matrix"


def forge_manifest(path: Path) -> str:
    file = Path(f"{path}.part.json")
    data = json.loads(file.read_text(encoding="utf-8"))
    data["plan"]["blocks"][0]["rows"][0] = [-5, 10**6]
    file.write_text(json.dumps(data), encoding="utf-8")
    return "not a valid manifest of a matrix"


def cut_part(path: Path) -> str:
    os.truncate(f"{path}.part", 5000)
    return "float64 or float32 matrix"


def lose_part(path: Path) -> str:
    os.unlink(f"{path}.part")
    return "K.npy.part"


def change_part(path: Path) -> str:
    with open(f"{path}.part", "r+b") as stream:
        stream.seek(128 + 8 * 120)  # the second row
        stream.write(np.float64(12345).tobytes())
    return "has changed since it was written"


@pytest.mark.parametrize("harm", [spoil_manifest, forge_manifest, cut_part, lose_part, change_part])
def test_what_was_harmed_is_computed_again(bank: tl.Treebank, path: Path, harm: Any) -> None:
    ended(bank, path)
    message = harm(path)
    with pytest.warns(TreeletWarning, match=message):
        K = tl.gram(KERNEL, bank, out=path, resume=True)
    np.testing.assert_allclose(K, KERNEL(bank), rtol=1e-14)
    assert names(path) == ["K.npy", "K.npy.json"]


@pytest.mark.parametrize("resume", [False, True])
def test_two_at_once_are_refused(bank: tl.Treebank, path: Path, resume: bool) -> None:
    with locked(path), pytest.raises(FileError, match="another process or thread is writing"):
        tl.gram(KERNEL, bank, out=path, resume=resume)
    tl.gram(KERNEL, bank, out=path, resume=resume)
    with locked(path), locked(path.with_name("L.npy")):
        pass
    assert names(path) == ["K.npy", "K.npy.json"][: 1 + resume]


@pytest.mark.parametrize("resume", [False, True])
def test_files_of_the_user_stay(bank: tl.Treebank, tmp_path: Path, resume: bool) -> None:
    own = ["K.npy.lock", "K.lock", ".K.npy.treelet-lock", "K.npy.tmp", "K.npy.json.new", "K.npy.part.json.new"] + (
        [] if resume else ["K.npy.json", "K.npy.part"]
    )
    for name in own:
        (tmp_path / name).write_text(name, encoding="utf-8")
    tl.gram(KERNEL, bank[:5], out=tmp_path / "K.npy", resume=resume)
    assert [name for name in own if (tmp_path / name).read_text(encoding="utf-8") != name] == []


@pytest.mark.parametrize("name", ["K.npy.json", "K.npy.part", "K.npy.part.json"])
def test_a_file_that_resuming_would_overwrite_is_refused(bank: tl.Treebank, path: Path, name: str) -> None:
    own = path.with_name(name)
    for content in (b"my own notes", b'{"author": "me"}', b'{"format": "npy", "author": "me"}', b"\xff\xfe"):
        own.write_bytes(content)
        with pytest.raises(FileError, match=f"{name}: this file would be overwritten"):
            tl.gram(KERNEL, bank[:5], out=path, resume=True)
        assert own.read_bytes() == content
    assert names(path) == [name]


def test_a_call_that_fails_to_begin_leaves_nothing(
    bank: tl.Treebank, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_NpyFile, "sync", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        tl.gram(KERNEL, bank[:5], out=path, resume=True)
    assert names(path) == []


def test_a_lock_of_a_killed_process_does_not_matter(bank: tl.Treebank, path: Path) -> None:
    path.with_name(".K.npy.treelet-lock").touch()
    tl.gram(KERNEL, bank[:5], out=path)
    assert names(path) == ["K.npy"]


@pytest.mark.skipif(os.name == "nt", reason="Windows limits whole paths, too, often to 260 characters")
def test_the_longest_file_names(bank: tl.Treebank, tmp_path: Path) -> None:
    path = tmp_path / f"{'K' * 251}.npy"
    np.testing.assert_array_equal(tl.gram(KERNEL, bank[:5], out=path), np.load(path))
    assert names(path) == [path.name]


@pytest.mark.skipif(os.name == "nt", reason="Windows cannot rename a mapped file: there, the next test applies")
def test_a_call_returns_the_matrix_that_it_wrote(
    bank: tl.Treebank, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program replaces the file as soon as it has its name."""
    wanted, other = KERNEL(bank), path.with_name("other.npy")
    np.save(other, -wanted)
    monkeypatch.setattr(stored._Manifest, "read", lambda target: other.replace(target) and None)
    np.testing.assert_array_equal(tl.gram(KERNEL, bank, out=path), wanted)
    np.testing.assert_array_equal(np.load(path), -wanted)


@pytest.fixture(params=[False, True], ids=["mapped", "opened by name"])
def as_on_windows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """On Windows, a matrix is not mapped before its file has its name."""
    if request.param:
        monkeypatch.setattr(_NpyFile, "view", lambda *_: None)


@pytest.mark.parametrize("resume", [False, True])
def test_the_matrix_of_another_program_is_not_returned(
    bank: tl.Treebank, path: Path, monkeypatch: pytest.MonkeyPatch, resume: bool
) -> None:
    """Another program replaces the file as soon as it has its name, and the file is opened by name."""
    monkeypatch.setattr(_NpyFile, "view", lambda *_: None)
    other, replaced = path.with_name("other.npy"), []
    np.save(other, -KERNEL(bank))
    opened = _NpyFile.opened

    def late(target: Path, written: os.stat_result) -> Any:
        replaced.append(other.replace(target))
        return opened(target, written)

    monkeypatch.setattr(_NpyFile, "opened", late)
    with pytest.raises(FileError, match="another program has replaced"):
        tl.gram(KERNEL, bank, out=path, resume=resume)
    monkeypatch.undo()
    assert replaced == [path]
    np.testing.assert_array_equal(tl.gram(KERNEL, bank, out=path), KERNEL(bank))


WRITER = """
import sys
import numpy as np
import treelet as tl
from treelet.datasets import flights
from treelet.matrices.stored import _NpyFile
if sys.argv[2] == "True":
    _NpyFile.view = lambda *_: None
bank, kernel = flights(120, random_state=3)[20:40], tl.SubsetTree(lam=0.4)
expected = kernel(bank)
print("ready", flush=True)
while True:
    try:
        np.testing.assert_array_equal(tl.gram(kernel, bank, out=sys.argv[1]), expected)
    except tl.errors.FileError as error:
        assert "another process or thread is writing" in str(error) or "cannot be written" in str(error), error
    print("round", flush=True)
"""


@pytest.mark.usefixtures("as_on_windows")
def test_two_processes_never_get_each_others_matrix(bank: tl.Treebank, path: Path) -> None:
    by_name = _NpyFile.view.__name__ == "<lambda>"
    command = [sys.executable, "-c", WRITER, str(path), str(by_name)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n", process.communicate()[1]
            expected, refusals = KERNEL(bank[:20]), []
            for _ in range(200):
                try:
                    np.testing.assert_array_equal(tl.gram(KERNEL, bank[:20], out=path), expected)
                except FileError as error:
                    refusals.append(str(error))
            assert len(refusals) < 200
            assert all(re.search("another process or thread is writing|cannot be written", one) for one in refusals)
            assert [process.stdout.readline() for _ in range(20)] == ["round\n"] * 20
            assert process.poll() is None
        finally:
            process.kill()


@pytest.mark.usefixtures("as_on_windows")
def test_two_writers_never_get_each_others_matrix(bank: tl.Treebank, path: Path) -> None:
    banks = [bank[:20], bank[20:40]]
    expected = [KERNEL(part) for part in banks]
    refusals: list[str] = []
    barrier = Barrier(2, timeout=60)

    def write(writer: int) -> None:
        for _ in range(50):
            barrier.wait()
            try:
                np.testing.assert_array_equal(tl.gram(KERNEL, banks[writer], out=path), expected[writer])
            except FileError as error:
                refusals.append(str(error))

    with ThreadPoolExecutor(2) as pool:
        for job in [pool.submit(write, writer) for writer in (0, 1)]:
            job.result()
    # Windows also refuses to replace the file while the other writer has its matrix mapped, and to open a lock that is
    # being removed.
    refused = "another process or thread is writing this file" + ("|cannot be written" if os.name == "nt" else "")
    assert all(re.search(refused, refusal) for refusal in refusals)
    assert names(path) == ["K.npy"]


@pytest.mark.parametrize("resume", [False, True])
def test_a_finished_matrix_cannot_be_overwritten_by_accident(bank: tl.Treebank, path: Path, resume: bool) -> None:
    K = tl.gram(KERNEL, bank, out=path, resume=resume)
    with pytest.raises(ValueError, match="read-only"):
        K[:] = 0
    del K  # Windows cannot replace a mapped file
    np.testing.assert_array_equal(tl.gram(KERNEL, bank, out=path, resume=resume), KERNEL(bank))


def is_held(path: Path) -> bool:
    """Return whether this process has a file mapped or open."""
    files = [os.path.realpath(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd")]
    return str(path) in files or str(path) in Path("/proc/self/maps").read_text(encoding="utf-8")


@pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="needs /proc")
@pytest.mark.parametrize("resume", [False, True])
def test_only_the_returned_matrix_holds_the_file(bank: tl.Treebank, path: Path, resume: bool) -> None:
    """Windows cannot replace a file that is mapped or open, so `del K` must be enough there."""
    path = path.resolve()
    for _ in range(2):
        K = tl.gram(KERNEL, bank[:5], out=path, resume=resume)
        assert is_held(path)
        del K
        assert not is_held(path)
    with pytest.raises((FileError, KernelOverflowError)):
        tl.gram(tl.SubsetTree(lam=1), ["(A x)", binary(12)], out=path, resume=resume)
    assert not any(is_held(file) for file in path.parent.iterdir())


def test_where_there_is_nothing_to_go_on_with(bank: tl.Treebank, tmp_path: Path) -> None:
    for out in (None, np.empty((120, 120)), "K.tsv"):
        with pytest.raises(ParameterError, match=r"'out'.*a path ending in \.npy"):
            tl.gram(KERNEL, bank, out=out, resume=True)
    with pytest.raises(ParameterError, match=r"'resume'.*True or False"):
        tl.gram(KERNEL, bank, out=tmp_path / "K.npy", resume=1)  # type: ignore[call-overload]
    with pytest.raises(FileError, match="cannot be written"):
        tl.gram(KERNEL, bank, out=tmp_path / "nowhere" / "K.npy", resume=True)
    (tmp_path / "folder.npy").mkdir()
    with pytest.raises(FileError, match="not a file"):
        tl.gram(KERNEL, bank, out=tmp_path / "folder.npy", resume=True)
    with pytest.raises(KernelOverflowError):
        tl.gram(tl.SubsetTree(lam=1), ["(A x)", binary(12)], out=tmp_path / "K.npy", resume=True)
    assert names(tmp_path / "K.npy") == ["folder.npy"]
    assert tl.gram(KERNEL, [], out=tmp_path / "K.npy", resume=True).shape == (0, 0)
    assert tl.gram(KERNEL, bank[:3], bank, out=tmp_path / "L.npy", resume=True).shape == (3, 120)


@pytest.mark.usefixtures("impatient")
def test_progress_counts_what_is_left(bank: tl.Treebank, path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    ended(bank, path, progress=True)
    assert f"of {120 * 121 // 2:,}" in capfd.readouterr().err
    done = json.loads(Path(f"{path}.part.json").read_text(encoding="utf-8"))
    tiles = Plan.from_json(done["plan"]).tiles
    tl.gram(KERNEL, bank, out=path, resume=True, progress=True)
    left = sum(tile.cells for number, tile in enumerate(tiles) if str(number) not in done["done"])
    assert 0 < left < 120 * 121 // 2
    assert f"of {left:,}" in capfd.readouterr().err


# --- their parts --------------------------------------------------------------------------------------------------------


def test_plans_in_files() -> None:
    for symmetric, index in ((True, 0), (True, 10**6), (False, 10**6)):
        plan = _planned((50, 50), symmetric=symmetric, index=index, thread=0, cell=8, threads=2, memory=10**5)
        assert Plan.from_json(json.loads(json.dumps(plan.as_json()))) == plan
    for wrong in ({}, {"shape": [1]}, plan.as_json() | {"shape": [50, 20]}, None):
        with pytest.raises((ValueError, TypeError, KeyError)):
            Plan.from_json(wrong)


def test_fingerprints_tell_content(bank: tl.Treebank) -> None:
    vectors = {"a": [1.0, 0.0], "b": [0.5, 1.0]}
    table = [{"t": "(A x)", "v": [1.0]}, {"t": "(A y)", "v": [2.0]}]
    on = tl.On("t", KERNEL) + tl.On("v", tl.Linear())
    different = [
        *(KERNEL, tl.SubsetTree(lam=0.3), KERNEL.normalized(), KERNEL.distance(), tl.Smoothed(vectors), on),
        *(tl.Smoothed(vectors | {"b": [0.5, 2.0]}), bank, bank[:5], bank[::-1].ordered()),
        *(on.coerce(table), on.coerce(table[::-1]), tl.Linear().coerce([[1.0]]), tl.Linear().coerce([{"x": 1.0}])),
        *(
            tl.Bag(KERNEL).coerce([["(A x)"], []]),
            tl.Bag(KERNEL).coerce([[], ["(A x)"]]),
            1,
            1.0,
            "1",
            None,
            [1],
            [[1]],
        ),
    ]
    assert len({fingerprint(value) for value in different}) == len(different)
    assert fingerprint(bank) == fingerprint(tl.Treebank(list(bank))) == fingerprint(bank[np.arange(len(bank))])
    assert fingerprint(tl.Smoothed(vectors)) == fingerprint(tl.Smoothed({k: list(v) for k, v in vectors.items()}))
    assert fingerprint(on.coerce(table)) == fingerprint(on.coerce([dict(row) for row in table]))
    with pytest.raises(tl.errors.InputTypeError, match="cannot be compared, as resume= requires"):
        fingerprint([lambda: 0])


WORDS = ["(N cat)", "(N dog)", "(N car)"]
VECTORS = "cat 1 0.2\ndog 1 0.3\ncar 0 1\n"
OTHER_VECTORS = "cat 1 0.2\ndog 0 1\ncar 1 0.3\n"


@pytest.mark.parametrize(
    "of",
    [
        tl.Smoothed,
        lambda file: tl.SubsetTree() + tl.Smoothed(file).normalized(),
        lambda file: tl.EditDistance(rename=file),
        lambda file: tl.EditDistance(rename=file).similarity(),
    ],
)
def test_a_changed_file_of_vectors_is_another_kernel(of: Any, path: Path) -> None:
    file = path.with_name("vectors.txt")
    file.write_text(VECTORS, encoding="utf-8")
    before = np.array(tl.gram(of(file), WORDS, out=path, resume=True))
    moved = file.with_name("moved.txt")
    moved.write_text(VECTORS, encoding="utf-8")
    assert np.array_equal(tl.gram(of(moved), WORDS, out=path, resume=True), before)
    file.write_text(OTHER_VECTORS, encoding="utf-8")
    assert not np.array_equal(of(file)(WORDS), before)
    with pytest.raises(FileError, match="parameters has changed"):
        tl.gram(of(file), WORDS, out=path, resume=True)
    assert np.array_equal(np.load(path), before)


def test_a_changed_function_is_another_distance(path: Path) -> None:
    costs = {("cat", "dog"): 0.5}

    def distance() -> tl.EditDistance:
        return tl.EditDistance(rename=lambda a, b: costs.get((a, b), 1.0))

    before = np.array(tl.gram(distance(), WORDS, out=path, resume=True))
    assert np.array_equal(tl.gram(distance(), WORDS, out=path, resume=True), before)
    costs["cat", "dog"] = 0.25
    with pytest.raises(FileError, match="was computed with"):
        tl.gram(distance(), WORDS, out=path, resume=True)


@pytest.mark.parametrize("of", [tl.Smoothed, lambda file: tl.EditDistance(rename=file)])
def test_a_copy_has_the_vectors_of_its_original(of: Any, tmp_path: Path) -> None:
    file = tmp_path / "vectors.txt"
    file.write_text(VECTORS, encoding="utf-8")
    before, unread = of(file)(WORDS), of(file)
    packed, copied = pickle.dumps(unread), copy.deepcopy(unread)
    file.write_text(OTHER_VECTORS, encoding="utf-8")
    assert np.array_equal(pickle.loads(packed)(WORDS), before)
    assert np.array_equal(copied(WORDS), before)
    assert np.array_equal(unread(WORDS), before)  # the original and its copies have one version of the file
    file.unlink()
    assert np.array_equal(pickle.loads(packed)(WORDS), before)


def table_of(*names: str) -> tl.structures.Table:
    columns = {"tree": ["(S (A a))", "(S (B b))"], "words": [{"a": 1.0}, {"b": 2.0}], "number": [1.0, 2.0]}
    return tl.structures.Table({name: columns[name] for name in names})


ON_COLUMNS = tl.On("tree", KERNEL) + 0.5 * tl.On("words", tl.Linear()) + 1


@pytest.mark.parametrize(
    ("first", "X", "second", "Z"),
    [
        (tl.SubsetTree(lam=1), ["(A a)"], tl.SubsetTree(lam=1.0), ["(A a)"]),
        (tl.SubsetTree(lam=1).distance(), ["(A a)"], tl.SubsetTree(lam=np.float64(1)).distance(), ["(A a)"]),
        (tl.SubsetTree(lam=0.4), ["(A a)"], tl.SubsetTree(lam=0.4, lam_bounds="fixed"), ["(A a)"]),
        (tl.Locality(weights={"x": 1}), [{"x": ["a"]}], tl.Locality(weights={"x": 1.0}), [{"x": ["a"]}]),
        (ON_COLUMNS, table_of("tree", "words"), ON_COLUMNS, table_of("words", "tree")),
        (ON_COLUMNS, table_of("tree", "words"), ON_COLUMNS, table_of("number", "tree", "words")),
    ],
)
def test_only_the_values_decide_whether_a_matrix_is_resumed(
    path: Path, first: Any, X: Any, second: Any, Z: Any
) -> None:
    K = np.array(tl.gram(first, X, out=path, resume=True))
    np.testing.assert_array_equal(K, tl.gram(second, Z, out=path, resume=True))
    np.testing.assert_array_equal(K, tl.gram(second, Z))


class OnAllColumns(tl.kernels.Kernel):
    """A kernel of a user that wraps another one and reads further columns."""

    def __init__(self, kernel: tl.kernels.Kernel) -> None:
        self.kernel = kernel

    def coerce(self, X: Any) -> Any:
        return tl.structures.Table.from_any(X)

    def evaluator(self, X: Any, Y: Any | None = None, *, logs: bool = False) -> Any:
        raise NotImplementedError

    def self_values(self, X: Any, *, logs: bool = False) -> Any:
        raise NotImplementedError


def test_unknown_kernels_may_read_any_column() -> None:
    own = OnAllColumns(tl.On("tree", KERNEL))
    few, more = table_of("tree"), table_of("tree", "number")
    assert _identity(Job(own, few))["rows"] != _identity(Job(own, more))["rows"]
    assert _identity(Job(own.kernel, few))["rows"] == _identity(Job(own.kernel, more))["rows"]


def test_checksums_see_every_value() -> None:
    values = np.arange(15.0, dtype=np.float32).reshape(3, 5)
    tile = Tile(Span(2, 5), Span(1, 6))
    for place in np.ndindex(3, 5):
        other = values.copy()
        other[place] += 1
        assert _checksum(other, tile, False) != _checksum(values, tile, False)
        counts = place[1] + 1 <= place[0] + 2
        assert (_checksum(other.copy(), tile, True) != _checksum(values.copy(), tile, True)) == counts


def test_files_that_hold_no_matrix(path: Path) -> None:
    for content in (np.zeros(3), np.zeros((2, 2), int), np.zeros((2, 3), order="F"), np.zeros((2, 2), ">f8")):
        np.save(path, content)
        with pytest.raises(FileError, match="not a float64 or float32 matrix"):
            _NpyFile(path)


# --- locks ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("resume", [False, True])
def test_file_systems_without_locks(
    bank: tl.Treebank, path: Path, monkeypatch: pytest.MonkeyPatch, resume: bool
) -> None:
    fcntl = pytest.importorskip("fcntl")

    def refused(*_: Any) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", refused)
    np.testing.assert_array_equal(tl.gram(KERNEL, bank[:20], out=path, resume=resume), KERNEL(bank[:20]))
    assert names(path) == ["K.npy", "K.npy.json"][: 1 + resume]


def test_errors_name_the_file_as_it_was_given(
    bank: tl.Treebank, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileError, match=r"^no[/\\]K\.npy: "):
        tl.gram(KERNEL, bank[:3], out="no/K.npy")


def test_killed_between_two_renames(bank: tl.Treebank, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        write = stored._Manifest.write

        def killed(self: Any, target: Path) -> None:
            if target.name == path.name:  # the matrix has its name already
                raise Killed
            write(self, target)

        patched.setattr(stored._Manifest, "write", killed)
        with pytest.raises(Killed):
            tl.gram(KERNEL, bank[:30], out=path, resume=True)
    again = np.asarray(tl.gram(KERNEL, bank[:30], out=path, resume=True))
    np.testing.assert_allclose(again, KERNEL(bank[:30]), rtol=1e-13)
    assert names(path) == ["K.npy", "K.npy.json"]
