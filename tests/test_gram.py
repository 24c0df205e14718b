"""The Gram engine: tiles, threads, memory, progress."""

from __future__ import annotations

import subprocess
import sys
import time
from itertools import pairwise

import numpy as np
import pytest

import treelet as tl
from conftest import binary
from treelet.gram import parse_memory
from treelet.gram.plan import column_blocks, row_strips
from treelet.testing.cases import random_tree


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
    private = np.memmap(tmp_path / "K.npy", np.float64, "c", 128, K.shape)  # what is written stays in this process
    private[...] = 0
    np.testing.assert_array_equal(tl.gram(kernel, bank, out=private, memory="20kB"), K)
    inside = np.zeros((80, 90))
    tl.gram(kernel, bank, out=inside[5:75, 10:80])
    np.testing.assert_array_equal(inside[5:75, 10:80], K)
    assert inside[:5].sum() == inside[:, :10].sum() == inside[75:].sum() == inside[:, 80:].sum() == 0


@pytest.mark.parametrize(
    "out", [np.empty((3, 3)), np.empty((2, 2), np.float32), np.empty((2, 2), order="F"), [[0, 0], [0, 0]], np.empty(4)]
)
def test_unfit_places_for_results(out: object) -> None:
    with pytest.raises(tl.errors.ParameterError, match="out"):
        tl.gram(tl.SubsetTree(), ["(A x)", "(B x)"], out=out)  # type: ignore[arg-type]
    locked = np.zeros((2, 2))
    locked.setflags(write=False)
    with pytest.raises(tl.errors.ParameterError, match="writeable"):
        tl.gram(tl.SubsetTree(), ["(A x)", "(B x)"], out=locked)


def test_a_result_larger_than_the_memory_is_refused(bank: tl.Treebank) -> None:
    with pytest.raises(tl.errors.ParameterError, match="out="):
        tl.gram(tl.SubsetTree(), bank, memory=1000)


@pytest.mark.parametrize("memory", [0, -1, "lots", "1 XB", "", True, float("nan"), "-1GB", [1]])
def test_memory_that_makes_no_sense(memory: object) -> None:
    with pytest.raises(tl.errors.ParameterError, match="memory"):
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
    with pytest.raises(tl.errors.ParameterError, match="n_jobs"):
        tl.SubsetTree()(["(A x)"], n_jobs=n_jobs)  # type: ignore[arg-type]


def test_not_a_kernel() -> None:
    with pytest.raises(tl.errors.InputTypeError, match="kernel"):
        tl.gram("sst", ["(A x)"])


def test_plans_cover_everything_once() -> None:
    for n, halves, memory, jobs in ((1, True, 1, 1), (100, True, 10**4, 3), (977, False, 10**6, 2), (50, False, 1, 8)):
        strips = row_strips(n, 200, n_jobs=jobs, memory=memory, matrices=2, halves=halves)
        assert sorted(row for strip in strips for row in range(strip.begin, strip.end)) == list(range(n))
        if memory >= 10**5:
            assert all((s.end - s.begin) * 200 * 8 * 2 * jobs <= memory for s in strips)
    blocks = column_blocks(1000, 10**6, 10**5)
    assert blocks[0][0] == 0
    assert blocks[-1][1] == 1000
    assert all(a[1] == b[0] for a, b in pairwise(blocks))
    assert len(blocks) == 20


@pytest.mark.usefixtures("impatient")
def test_progress_is_shown_on_the_standard_error(bank: tl.Treebank, capfd: pytest.CaptureFixture[str]) -> None:
    tl.SubsetTree()(bank, progress=True, n_jobs=2)
    shown = capfd.readouterr()
    assert "kernel values" in shown.err
    assert shown.out == ""


def test_errors_in_threads_reach_the_caller() -> None:
    tree = binary(12)
    with pytest.raises(tl.errors.KernelOverflowError):
        tl.SubsetTree(lam=1)([tree] * 50, n_jobs=2)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_long_work_can_be_interrupted(n_jobs: int) -> None:
    """A value that takes minutes stops within a second or two of Ctrl-C."""
    code = (
        "import signal, treelet as tl\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # ignored in what a shell runs behind
        "text = '(A ' * 150_000 + 'x' + ')' * 150_000\n"
        "bank = tl.Treebank([text, text.replace('x', 'y')] * 30)\n"
        "print('ready', flush=True)\n"
        f"try:\n    tl.PartialTree()(bank, n_jobs={n_jobs})\n"
        "except KeyboardInterrupt:\n    print('interrupted')\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(1)
        process.send_signal(2)
        try:
            assert process.communicate(timeout=60)[0] == "interrupted\n"
        finally:
            process.kill()
