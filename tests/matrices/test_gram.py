"""The Gram engine: tiles, threads, memory, progress."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treelet as tl
from cases import random_tree
from conftest import binary
from treelet.matrices import parse_memory
from treelet.matrices.tiles import _column_blocks, _planned, _row_strips


@pytest.fixture(scope="module")
def bank() -> tl.Treebank:
    rng = np.random.default_rng(0)
    return tl.Treebank([random_tree(rng, int(rng.integers(1, 30))) for _ in range(70)])


def test_results_go_where_they_are_told(bank: tl.Treebank, tmp_path) -> None:
    kernel = tl.SubsetTree()
    K = kernel(bank)
    mapped = np.lib.format.open_memmap(tmp_path / "K.npy", "w+", np.float64, K.shape)
    kernel_again = tl.gram(kernel, bank, out=mapped, memory="20kB")
    assert kernel_again is mapped
    mapped.flush()
    np.testing.assert_allclose(np.load(tmp_path / "K.npy"), K, rtol=1e-14)
    wide = np.lib.format.open_memmap(tmp_path / "wide.npy", "w+", np.float64, (80, 90))
    tl.gram(kernel, bank, out=wide[5:75, 10:80], memory="20kB")  # a part of a mapped file
    wide.flush()
    again = np.load(tmp_path / "wide.npy")
    np.testing.assert_allclose(again[5:75, 10:80], K, rtol=1e-14)
    assert again.sum() == pytest.approx(K.sum())
    private = np.memmap(tmp_path / "K.npy", np.float64, "c", 128, K.shape)  # written values stay in this process
    private[...] = 0
    np.testing.assert_array_equal(tl.gram(kernel, bank, out=private, memory="20kB"), K)
    inside = np.zeros((80, 90))
    tl.gram(kernel, bank, out=inside[5:75, 10:80])
    np.testing.assert_array_equal(inside[5:75, 10:80], K)
    assert inside[:5].sum() == inside[:, :10].sum() == inside[75:].sum() == inside[:, 80:].sum() == 0


def strided(shape: tuple[int, int], strides: tuple[int, int]) -> np.ndarray:
    return np.lib.stride_tricks.as_strided(np.zeros(16), shape, strides)


def locked() -> np.ndarray:
    out = np.zeros((2, 2))
    out.setflags(write=False)
    return out


UNFIT = {
    "another shape": (np.empty((3, 3)), "a float64 array of shape (3, 3)"),
    "one dimension": (np.empty(4), "a float64 array of shape (4,)"),
    "integers": (np.empty((2, 2), int), "an int64 array of shape (2, 2)"),
    "halves": (np.empty((2, 2), np.float16), "a float16 array of shape (2, 2)"),
    "the other byte order": (np.empty((2, 2), np.dtype(np.float64).newbyteorder()), "a >f8 array of shape (2, 2)"),
    "columns": (np.empty((2, 2), order="F"), "a float64 array of shape (2, 2) whose rows are not contiguous"),
    "small columns": (
        np.empty((2, 2), np.float32, order="F"),
        "a float32 array of shape (2, 2) whose rows are not contiguous",
    ),
    "a list": ([[0, 0], [0, 0]], "a list"),
    "read-only": (locked(), "a float64 array of shape (2, 2) that is read-only"),
    "one row twice": (strided((2, 2), (0, 8)), "a float64 array of shape (2, 2) whose rows overlap"),
    "overlapping rows": (strided((2, 2), (8, 8)), "a float64 array of shape (2, 2) whose rows overlap"),
    "misaligned": (
        np.zeros(33, np.uint8)[1:].view(np.float64).reshape(2, 2),
        "a float64 array of shape (2, 2) that is not aligned",
    ),
    "another file": ("K.tsv", "'K.tsv'"),
}


@pytest.mark.parametrize(("out", "got"), UNFIT.values(), ids=UNFIT)
def test_unfit_places_for_results(out: Any, got: str) -> None:
    kernel, trees = tl.SubsetTree(), ["(A x)", "(B x)"]
    for compute in (lambda: tl.gram(kernel, trees, out=out), lambda: kernel(trees, out=out)):
        with pytest.raises(tl.errors.ParameterError) as error:
            compute()
        is_array = isinstance(out, np.ndarray)
        assert ("of shape (2, 2)" if is_array else "an array or a path ending in .npy") in str(error.value)
        assert str(error.value).endswith(f"Got {got} instead.")


def test_examples_are_not_written_over() -> None:
    X = np.arange(9.0).reshape(3, 3)
    for compute in (lambda: tl.gram(tl.Linear(), X, out=X), lambda: tl.gram(tl.Linear(), np.eye(3), X, out=X.T[:3].T)):
        with pytest.raises(tl.errors.ParameterError, match="Got an array that shares memory"):
            compute()
    np.testing.assert_array_equal(X, np.arange(9.0).reshape(3, 3))


def test_a_kernel_takes_a_place_for_its_result(bank: tl.Treebank) -> None:
    kernel = tl.SubsetTree().normalized()
    out = np.empty((70, 30))
    assert kernel(bank, bank[:30], out=out) is out
    np.testing.assert_array_equal(out, kernel(bank, bank[:30]))
    upside_down = np.empty((70, 70))[::-1]
    np.testing.assert_array_equal(kernel(bank, out=upside_down), kernel(bank))
    with pytest.raises(tl.errors.ParameterError, match="Omit Y and out="):
        kernel(bank, eval_gradient=True, out=np.empty((70, 70)))  # type: ignore[call-overload]


@pytest.mark.parametrize("memory", [None, "60kB"], ids=["at once", "in blocks"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_small_floats(bank: tl.Treebank, tmp_path: Path, memory: str | None, n_jobs: int) -> None:
    """Computed in float64, rounded once, symmetric to the bit."""
    options: dict[str, Any] = {"memory": memory, "n_jobs": n_jobs}
    for kernel in (tl.SubsetTree(), tl.PartialTree().normalized() + tl.SubsetTree(), tl.SubsetTree().distance()):
        exact = tl.gram(kernel, bank, n_jobs=n_jobs, out=np.empty((70, 70)), memory=memory)
        rounded = exact.astype(np.float32)
        mapped = np.lib.format.open_memmap(tmp_path / f"{type(kernel).__name__}.npy", "w+", np.float32, (70, 70))
        for out in (np.empty((70, 70), np.float32), np.empty((90, 80), np.float32)[5:75, 10:], mapped):
            out[...] = np.nan
            assert tl.gram(kernel, bank, out=out, **options) is out
            np.testing.assert_array_equal(out, rounded)
        np.testing.assert_array_equal(
            tl.gram(kernel, bank, dtype=np.float32, n_jobs=n_jobs), kernel(bank).astype(np.float32)
        )
        part = tl.gram(kernel, bank[:9], bank, dtype="float32")
        assert part.dtype == np.float32
        np.testing.assert_allclose(part, exact[:9], rtol=1e-6, atol=1e-3)


def test_what_does_not_fit_small_floats_is_an_error() -> None:
    trees = ["(A x)", binary(7), "(B y)"]
    kernel = tl.SubsetTree(lam=1)
    assert np.isfinite(kernel(trees)).all()
    for compute in (
        lambda: tl.gram(kernel, trees, dtype="float32"),
        lambda: tl.gram(kernel, trees, out=np.empty((3, 3), np.float32)),
        lambda: tl.gram(kernel, trees, out=np.empty((3, 3), np.float32), memory=1),
    ):
        with pytest.raises(tl.errors.KernelOverflowError, match=r"item 1.*itself is too large for a float32"):
            compute()


@pytest.mark.parametrize(("size", "fits"), [(7, "float32"), (12, "float64")])
def test_what_does_not_fit_is_named_by_its_place_in_the_whole_matrix(size: int, fits: str) -> None:
    """Whatever block of columns it is found in; and where no float64 holds it, none is recommended."""
    rows, columns = ["(A x)", binary(size)], ["(B y)"] * 20 + [binary(size)]
    for memory in (None, 1000):
        with pytest.raises(tl.errors.KernelOverflowError, match=f"items 1 and 20 is too large for a {fits}"):
            tl.gram(tl.SubsetTree(lam=1), rows, columns, out=np.empty((2, 21), np.float32), memory=memory)


@pytest.mark.parametrize("dtype", ["float16", int, "nonsense", None, ">f8"])
def test_dtypes_that_make_no_sense(dtype: Any) -> None:
    with pytest.raises(tl.errors.ParameterError, match=r"'dtype'.*'float64' or 'float32'"):
        tl.gram(tl.SubsetTree(), ["(A x)"], dtype=dtype)
    with pytest.raises(tl.errors.ParameterError, match="must be float64, the dtype of 'out'"):
        tl.gram(tl.SubsetTree(), ["(A x)"], dtype="float32", out=np.empty((1, 1)))


def test_results_in_files_by_name(bank: tl.Treebank, tmp_path: Path) -> None:
    kernel, path = tl.SubsetTree(), tmp_path / "K.npy"
    K: Any = None
    for dtype in ("float64", "float32"):
        del K  # Windows cannot replace a mapped file
        K = tl.gram(kernel, bank, out=str(path), dtype=dtype, memory="20kB")
        assert isinstance(K, np.memmap)
        assert K.dtype == dtype
        np.testing.assert_allclose(np.load(path), kernel(bank), rtol=1e-14 if dtype == "float64" else 1e-6)
    del K
    assert tl.gram(kernel, [], bank, out=path).shape == (0, 70)
    before = path.read_bytes()
    with pytest.raises(tl.errors.KernelOverflowError):
        tl.SubsetTree(lam=1)(["(A x)", binary(12)], out=path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["K.npy"]
    with pytest.raises(tl.errors.FileError, match="cannot be written"):
        tl.gram(kernel, bank, out=tmp_path / "nowhere" / "K.npy")


def test_a_result_larger_than_the_memory_is_refused(bank: tl.Treebank) -> None:
    with pytest.raises(tl.errors.ParameterError, match="more than the memory limit of 1,000 byte"):
        tl.gram(tl.SubsetTree(), bank, memory=1000)


@pytest.mark.parametrize("memory", [0, -1, "lots", "1 XB", "", True, float("nan"), "-1GB", [1]])
def test_memory_that_makes_no_sense(memory: object) -> None:
    with pytest.raises(tl.errors.ParameterError, match="'memory' parameter"):
        parse_memory(memory)  # type: ignore[arg-type]


def test_memory_texts() -> None:
    assert [parse_memory(text) for text in ("1GiB", "1.5 MB", "2k", "10", 10, 10.0)] == [
        2**30,
        1_500_000,
        2048,
        10,
        10,
        10,
    ]


@pytest.mark.parametrize("n_jobs", [0, "2", 1.5, True])
def test_threads_that_make_no_sense(n_jobs: object) -> None:
    with pytest.raises(tl.errors.ParameterError, match="'n_jobs' parameter"):
        tl.SubsetTree()(["(A x)"], n_jobs=n_jobs)  # type: ignore[arg-type]


def test_not_a_kernel() -> None:
    with pytest.raises(tl.errors.InputTypeError, match="Got 'sst' instead"):
        tl.gram("sst", ["(A x)"])
    with pytest.raises(tl.errors.InputTypeError, match=r"Got the class SubsetTree instead\. Pass an instance"):
        tl.gram(tl.SubsetTree, ["(A x)"])


def test_plans_cover_everything_once() -> None:
    for n, halves, memory, jobs in ((1, True, 1, 1), (100, True, 10**4, 3), (977, False, 10**6, 2), (50, False, 1, 8)):
        strips = _row_strips(n, 200, threads=jobs, memory=memory, cell=16, halves=halves)
        assert sorted(row for strip in strips for row in range(strip.begin, strip.end)) == list(range(n))
        if memory >= 10**5:
            assert all((s.end - s.begin) * 200 * 8 * 2 * jobs <= memory for s in strips)
    blocks = _column_blocks(1000, 10**6, 10**5)
    assert blocks[0].begin == 0
    assert blocks[-1].end == 1000
    assert all(a.end == b.begin for a, b in pairwise(blocks))
    assert len(blocks) == 20


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("memory", [10**4, 10**7])
def test_tiles_cover_a_matrix_once(symmetric: bool, memory: int) -> None:
    """A plan covers each cell once (each cell on or below the diagonal, if symmetric), and progress counts these cells."""
    shape = (90, 90) if symmetric else (90, 50)
    for jobs in (1, 3):
        plan = _planned(shape, symmetric=symmetric, index=20_000, thread=0, cell=16, threads=jobs, memory=memory)
        assert (len(plan.blocks) > 1) == (memory == 10**4)
        times, cells = np.zeros(shape, int), 0
        for tile in plan.tiles:
            part = np.ones(tile.shape, int)
            if tile.halves:
                part = np.tril(part, tile.rows.begin)
            times[tile.rows.slice, tile.columns.slice] += part
            assert tile.cells == part.sum()
            cells += tile.cells
        assert plan.cells == cells
        assert (np.tril(times) == np.tril(np.ones(shape, int))).all() if symmetric else (times == 1).all()


@pytest.mark.usefixtures("impatient")
def test_progress_is_shown_on_the_standard_error(bank: tl.Treebank, capfd: pytest.CaptureFixture[str]) -> None:
    tl.SubsetTree()(bank, progress=True, n_jobs=2)
    shown = capfd.readouterr()
    assert "values: " in shown.err
    assert shown.out == ""


def test_errors_in_threads_reach_the_caller() -> None:
    tree = binary(12)
    with pytest.raises(tl.errors.KernelOverflowError):
        tl.SubsetTree(lam=1)([tree] * 50, n_jobs=2)


@pytest.mark.serial
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_long_work_can_be_interrupted(n_jobs: int) -> None:
    """A value that takes minutes stops within a second or two of Ctrl-C."""
    on_windows = os.name == "nt"  # which cannot send Ctrl-C to one process: there, the process does this itself
    code = (
        "import signal, threading, treelet as tl\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # ignored in what a shell runs behind
        "text = '(A ' * 150_000 + 'x' + ')' * 150_000\n"
        "bank = tl.Treebank([text, text.replace('x', 'y')] * 30)\n"
        f"if {on_windows}: threading.Timer(1, signal.raise_signal, [signal.SIGINT]).start()\n"
        f"try:\n    print('ready', flush=True)\n    tl.PartialTree()(bank, n_jobs={n_jobs})\n"
        "except KeyboardInterrupt:\n    print('interrupted')\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            if not on_windows:
                time.sleep(1)
                process.send_signal(signal.SIGINT)
            assert process.communicate(timeout=60)[0] == "interrupted\n"
        finally:
            process.kill()


def test_what_does_not_fit_names_bytes_and_ways_out() -> None:
    many = tl.Treebank(["(A a)"])[np.zeros(10**7, np.int64)]
    for work in (lambda: tl.gram(tl.SubsetTree(), many), lambda: tl.SubsetTree()(many)):
        with pytest.raises(
            tl.errors.NotEnoughMemoryError, match=r"takes 800,000,000,000,000.*Use fewer examples, treelet.gram\("
        ):
            work()
    y = np.arange(10**7) % 2
    for fit, way in (  # an estimator has neither dtype= nor out=
        (lambda: tl.RLS(memory=None).fit(many, y), "Use a smaller basis= of examples"),
        (lambda: tl.KernelMatrix().fit(many).transform(many), "treelet.gram"),
    ):
        with pytest.raises(tl.errors.NotEnoughMemoryError, match="takes 800,000,000,000,000 bytes") as error:
            fit()
        assert way in str(error.value)
        assert "dtype=" not in str(error.value)
    assert issubclass(tl.errors.NotEnoughMemoryError, MemoryError)


def test_self_values_are_shared_out_to_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, int]] = []
    native = tl.SubsetTree.native_self_values

    def watched(self: Any, store: Any, weights: Any, logs: bool) -> Any:
        seen.append((threading.current_thread().name, len(weights)))
        return native(self, store, weights, logs)

    monkeypatch.setattr(tl.SubsetTree, "native_self_values", watched)
    trees = tl.datasets.flights(n=700, random_state=0).strings()
    kernel = tl.SubsetTree().normalized()
    alone, together = kernel(tl.Treebank(trees)), kernel(tl.Treebank(trees), n_jobs=2)
    np.testing.assert_array_equal(alone, together)
    assert seen[0] == ("MainThread", 700)
    assert sum(rows for _, rows in seen[1:]) == 700
    assert all(name.startswith("treelet") and rows <= 256 for name, rows in seen[1:])


def test_options_that_are_arrays_are_refused_in_words() -> None:
    for options in ({"client": np.array([1, 2])}, {"dtype": np.zeros(3)}, {"device": np.array(["cpu", "x"])}):
        with pytest.raises(tl.TreeletError):
            tl.gram(tl.SubsetTree(), ["(A a)"], **options)
    for memory in (0.5, "0.5"):
        with pytest.raises(tl.TreeletError):
            tl.gram(tl.SubsetTree(), ["(A a)"], memory=memory)
