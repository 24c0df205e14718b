"""Objects that threads may share, and the errors for those that they may not.

`make test` runs these tests plainly, `make sanitize` with AddressSanitizer, and `make tsan` with ThreadSanitizer, which
reports a race even if the values are right.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treelet as tl
from cases import PLAIN, examples
from treelet import _core, work

MANY = 16


@pytest.fixture(scope="module")
def flights() -> tl.Treebank:
    return tl.datasets.flights(48)


def chain(nodes: int) -> list[str]:
    return ["(A " * nodes + "x" + ")" * nodes]


def in_threads(work: Callable[[int], Any], threads: int = 4) -> list[Any]:
    """Return the result or the error message of each thread, by its number."""
    got: list[Any] = [None] * threads
    failed: list[Exception] = []
    ready = threading.Barrier(threads)

    def one(number: int) -> None:
        ready.wait()
        try:
            got[number] = work(number)
        except Exception as error:
            got[number] = str(error)
            if "is in use by another thread" not in got[number]:
                failed.append(error)

    running = [threading.Thread(target=one, args=(number,)) for number in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    if failed:
        raise failed[0]
    return got


RACE = """
import threading
import numpy as np
import treelet as tl
from treelet import _core
assert _core.sanitized
bank = tl.Treebank(["(A (B x))"] * 50)
store, weights, out = bank.columns.store, bank.weights(), np.empty((50, 50))
columns = _core.SubsetTreeColumns(store, weights, False, 0.4, 0, False)
ready = threading.Barrier(2)
def one():
    ready.wait()
    for _ in range(50):
        columns.rows(store, weights, None, 0, 50, out)
threads = [threading.Thread(target=one) for _ in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


@pytest.mark.skipif("libtsan" not in os.environ.get("LD_PRELOAD", ""), reason="is for make tsan")
def test_a_race_is_seen() -> None:
    """ThreadSanitizer must report two threads that write the same matrix."""
    told = {**os.environ, "TSAN_OPTIONS": ""}
    done = subprocess.run([sys.executable, "-S", "-c", RACE], capture_output=True, text=True, env=told, check=False)
    assert done.returncode == 66, done.stderr
    assert "data race" in done.stderr
    assert "_core" in done.stderr


# --- matrices -------------------------------------------------------------------------------------------------------

NATIVE = {
    name: case
    for name, case in PLAIN.items()
    if name
    in ("st", "sst", "sst depth 2", "pt", "smoothed", "forest leaves", "tagging", "locality position", "subsequence")
}
"""Return one or two kernels per algorithm."""


@pytest.mark.parametrize("name", NATIVE)
def test_rows_of_one_matrix_by_several_threads(name: str) -> None:
    case = NATIVE[name]
    X = case.kernel.coerce(examples(case.kind, 40, seed=3))
    K = case.kernel(X)
    for n_jobs in (2, 8):
        np.testing.assert_allclose(tl.gram(case.kernel, X, n_jobs=n_jobs, memory=20_000), K, rtol=1e-12)


@pytest.mark.parametrize("name", NATIVE)
def test_columns_are_shared_while_stores_grow_over_theirs(name: str) -> None:
    """Each thread has its own examples, and the first one builds the index."""
    case = NATIVE[name]
    X, kept = examples(case.kind, 24, seed=4), case.kernel.with_cached_index(examples(case.kind, 12, seed=5))
    expected = case.kernel(X, examples(case.kind, 12, seed=5))

    def one(number: int) -> Any:
        out = np.empty((3, 12))
        case.kernel.evaluator(case.kernel.coerce(X[3 * number : 3 * number + 3]), kept).fill(0, 3, out, False)
        return out

    np.testing.assert_allclose(np.concatenate(in_threads(one, 8)), expected, rtol=1e-12)


def test_threads_wait_until_their_tables_fit_the_memory() -> None:
    """The tables of one pair exceed the limit, so that pairs are compared one at a time."""
    random = np.random.default_rng(0)
    trees = [tl.Tree("S", [tl.Tree("N", list(random.choice([*"abc"], 3))) for _ in range(40 + n)]) for n in range(24)]
    distance = tl.EditDistance()
    np.testing.assert_array_equal(tl.gram(distance, trees, n_jobs=4, memory=50_000), distance(trees))


@pytest.mark.serial
def test_an_interrupt_while_threads_are_started_ends_their_work(monkeypatch: pytest.MonkeyPatch) -> None:
    bank, tasks, submit = tl.Treebank([chain(12_000 + n)[0] for n in range(12)]), [], work._Pool.submit

    def interrupted(pool: Any, *task: Any) -> Any:
        tasks.append(task)
        if len(tasks) == 3:
            raise KeyboardInterrupt
        return submit(pool, *task)

    monkeypatch.setattr(work._Pool, "submit", interrupted)
    begin = time.process_time()
    with pytest.raises(KeyboardInterrupt):
        tl.gram(tl.SubsetTree(max_depth=9), bank, n_jobs=4)
    assert time.process_time() - begin < 1.5 * (5 if _core.sanitized else 1)  # the two tasks take four seconds


@pytest.mark.serial
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer's signal")
@pytest.mark.usefixtures("alarm", "impatient")
def test_an_interrupt_ends_all_threads_at_work() -> None:
    bank = tl.Treebank([chain(9000 + n)[0] for n in range(24)])  # takes far longer than the timer
    before = set(threading.enumerate())
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        tl.gram(tl.SubsetTree(max_depth=9), bank, n_jobs=4, progress=True)
    left = [thread for thread in set(threading.enumerate()) - before if thread.name.startswith("treelet")]
    for thread in left:  # at most one, which was just being started
        for _ in range(1000):
            if thread.ident is not None and thread._started.is_set():  # type: ignore[attr-defined]
                break
            time.sleep(0.01)
        thread.join(60)
    assert not [thread for thread in left if thread.is_alive()]
    few = bank[:3]
    np.testing.assert_array_equal(tl.SubsetTree()(few, n_jobs=4), tl.SubsetTree()(few))


@pytest.mark.skipif(
    not Path(_core.__file__).with_name("emulated.so").exists(), reason="needs the CPU build of the device code"
)
def test_device_code_in_several_threads(flights: tl.Treebank) -> None:
    kernel = tl.PartialTree(lam=0.4, mu=0.3)
    K = kernel(flights)
    for got in in_threads(lambda _: tl.gram(kernel, flights, device="emulated"), 4):
        np.testing.assert_allclose(got, K, rtol=1e-12)


# --- models ---------------------------------------------------------------------------------------------------------

LEARNERS: dict[str, Callable[[], Any]] = {
    "RLS": lambda: tl.RLS(tl.SubsetTree(lam=0.4).normalized() + tl.PartialTree(lam=0.4, mu=0.4)),
    "KernelSVC": lambda: tl.KernelSVC(tl.SubsetTree(lam=0.4).normalized()),
    "VotedPerceptron": lambda: tl.VotedPerceptron(tl.SubsetTree(lam=0.4)),
    "TreeSketch": lambda: tl.TreeSketch(tl.SubsetTree(lam=0.4), n_components=64, random_state=0),
    "FragmentFeatures": lambda: tl.FragmentFeatures(n=20),
}


def fitted(name: str, bank: tl.Treebank) -> Any:
    y = np.array([len(str(tree)) % 2 for tree in bank])
    groups = {"qid": np.arange(len(bank)) // 8} if name == "VotedPerceptron" else {}
    return LEARNERS[name]().fit(bank, y, **groups)


def answers(model: Any, bank: tl.Treebank) -> Any:
    ask = next(getattr(model, way) for way in ("decision_function", "predict", "transform") if hasattr(model, way))
    got = ask(bank)
    return got.toarray() if hasattr(got, "toarray") else np.asarray(got)


@pytest.mark.parametrize("name", LEARNERS)
def test_one_model_scores_in_many_threads(name: str, flights: tl.Treebank, tmp_path: Path) -> None:
    model = fitted(name, flights)
    expected = answers(model, flights)
    tl.save(model, tmp_path / "model.treelet")
    fresh = tl.load(tmp_path / "model.treelet")  # lazily computed data do not exist yet
    step = len(flights) // MANY
    got = in_threads(lambda number: answers(fresh, flights[number * step : (number + 1) * step]), MANY)
    np.testing.assert_allclose(np.concatenate(got), expected, rtol=1e-9, atol=1e-12)


def test_fits_side_by_side_on_one_bank() -> None:
    bank = tl.datasets.flights(48)  # whose weights were not requested yet
    names = ("RLS", "VotedPerceptron", "TreeSketch", "FragmentFeatures")
    got = in_threads(lambda number: answers(fitted(names[number % 4], bank), bank), 8)
    for number, one in enumerate(got):
        np.testing.assert_array_equal(one, got[number % 4])


# --- one after the other, or all at once ----------------------------------------------------------------------------


def test_a_reader_is_for_one_thread() -> None:
    reader, text = _core.BracketReader(), b"(S (A x) (B (C y) (D z)))" * 20_000
    refused = rounds = 0
    while not refused and rounds < 200:  # on a busy machine, threads often run one after the other
        rounds += 1
        for got in in_threads(lambda _: reader.feed(text)):
            assert got in (len(text), "this reader is in use by another thread. Create one per thread.")
            refused += got != len(text)
    assert refused
    taken = 4 * rounds - refused
    assert reader.trees == 20_000 * taken
    store, roots = reader.result()
    assert len(set(roots.tolist())) == 1
    assert len(store) == 8


def test_parts_are_counted_by_one_thread() -> None:
    counts, bank = _core.PartCounts(False, False, True), tl.datasets.flights(2000)
    store, weights, share = bank.columns.store, bank.weights(), np.ones(2000)
    refused = rounds = 0
    while not refused and rounds < 200:  # on a busy machine, threads often run one after the other
        rounds += 1
        refused += sum(got is not None for got in in_threads(lambda _: counts.add(store, weights, share)))
    assert refused
    alone = _core.PartCounts(False, False, True)
    alone.add(store, weights, share)
    assert np.array_equal(counts.trees, (4 * rounds - refused) * alone.trees)


def test_columns_do_not_grow_while_rows_are_asked_for() -> None:
    bank = tl.Treebank(chain(60_000))
    store, weights = bank.columns.store, bank.weights()
    columns = _core.SubsetTreeColumns(store, weights, False, 0.4, 0, False)
    stop, begun = _core.Stop(), threading.Event()

    def work() -> None:
        _core.watch(stop)
        begun.set()
        with pytest.raises(RuntimeError, match="stopped"):
            columns.rows(store, weights, None, 0, 1, np.empty((1, 1)))

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    said = ""
    while thread.is_alive() and not said:
        try:
            columns.add(weights, 0, 0.0)
        except ValueError as error:
            said = str(error)
    stop.set()
    thread.join()
    assert "in use by another thread" in said


def test_threads_share_a_chart() -> None:
    grammar = tl.PCFG.from_rules([("S", ("S", "S"), 0.3), ("S", ("a",), 0.4), ("S", ("b",), 0.3)], start="S")
    chart = grammar.compiled().chart(["a", "b"] * 12)
    alone = chart.kbest(40)[2]
    for _, _, got in in_threads(lambda _: chart.kbest(40)):
        assert np.array_equal(got, alone)
