"""Matrices by the workers of a Dask cluster: real processes, of which some die."""

from __future__ import annotations

import importlib
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest
from distributed import Client, LocalCluster
from sklearn.base import clone

import treelet as tl
from cases import EXAMPLES, KERNELS, random_tree
from conftest import binary, posix
from treelet import _core
from treelet.matrices import cluster as dask_executor
from treelet.matrices import cluster as dask_module
from treelet.matrices.cluster import DaskExecutor, Shipment
from treelet.matrices.executors import ThreadExecutor
from treelet.matrices.operator import Products
from treelet.matrices.tiles import Block, Job
from treelet.resources import Resources


@pytest.fixture(scope="session")
def client() -> Iterator[Client]:
    settings = {
        "distributed.scheduler.allowed-failures": 2,
        "distributed.comm.timeouts.connect": "10s",  # so long a dead worker is asked for what it has
        "distributed.deploy.lost-worker-timeout": "10 minutes",  # else a cluster gives workers up that die again and again
    }
    with dask.config.set(settings):
        cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50)
        client = Client(cluster)
        yield client
        for one in (client, cluster):
            with suppress(RuntimeError):  # other tests of this process may have ended the loop that Dask shares
                one.close()


@pytest.fixture(scope="session")
def bank() -> tl.Treebank:
    rng = np.random.default_rng(0)
    return tl.Treebank([random_tree(rng, int(rng.integers(1, 30))) for _ in range(70)])


def kept() -> int:
    """Return the number of shipments whose content a worker still holds."""
    return sum(
        one._content is not None or bool(one._evaluators) or one._pieces is not None
        for one in list(dask_module._here.values())
    )


def settled(client: Client) -> None:
    """Wait until both workers are there and nothing is left of earlier work."""
    client.wait_for_workers(2, timeout=300)
    end = time.monotonic() + 120
    while any(client.run(kept).values()) or any(client.processing().values()):
        assert time.monotonic() < end, "workers keep what nobody asks for any more"
        time.sleep(0.05)


# --- the same values ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KERNELS)
def test_what_is_shipped_gives_the_same_values_to_the_bit(name: str) -> None:
    kernel, X = KERNELS[name].kernel, KERNELS[name].kernel.coerce(EXAMPLES[KERNELS[name].kind])
    part = X[2:6]  # over the same store
    for Y in (None, part):
        arrived = pickle.loads(pickle.dumps(Shipment(kernel, X, Y, 1 << 30)))
        again, rows, columns, _ = arrived._unpacked()
        assert rows is not X
        np.testing.assert_array_equal(tl.gram(again, rows, columns), tl.gram(kernel, X, Y))


def test_stores_arrive_as_they_are(wsj: tl.Treebank) -> None:
    """The numbers of labels and parts determine the order of sums; a plain pickle would renumber them."""
    kernel, X, Y = tl.PartialTree(), wsj[100:200], wsj[:150]
    _, rows, columns, _ = pickle.loads(pickle.dumps(Shipment(kernel, X, Y, 1 << 30)))._unpacked()
    assert rows.columns.store is columns.columns.store
    assert rows.columns.store.labels == wsj.columns.store.labels
    np.testing.assert_array_equal(rows.columns.roots, X.columns.roots)
    np.testing.assert_array_equal(kernel(rows, columns), kernel(X, Y))
    assert pickle.loads(pickle.dumps(wsj)).columns.store.labels != wsj.columns.store.labels


def test_a_store_made_again_as_it_was(wsj: tl.Treebank) -> None:
    store, roots = wsj[:50].columns
    columns = [*store.texts, store.label, store.child_start, store.child, store.production]
    again = _core.Store.as_it_was(*columns)
    grown, here = again.grown(store, roots)
    assert len(grown) == len(store)  # everything is found
    np.testing.assert_array_equal(here, roots)
    for position, wrong in {1: 1, 2: 10**6, 4: 10**6, 5: 10**6}.items():
        changed = columns[position].copy()
        changed[-1] += wrong
        with pytest.raises(ValueError, match=r"do not fit together|does not come before it|outside"):
            _core.Store.as_it_was(*columns[:position], changed, *columns[position + 1 :])


def test_the_matrix_of_several_kernels(client: Client) -> None:
    kinds = {case.kind: name for name, case in KERNELS.items()}  # one of each kind at least
    for name in kinds.values():
        kernel, X = KERNELS[name].kernel, EXAMPLES[KERNELS[name].kind]
        np.testing.assert_array_equal(tl.gram(kernel, X, client=client), kernel(X), err_msg=name)
    settled(client)


def test_real_trees(client: Client, wsj: tl.Treebank) -> None:
    X, Y = wsj[:400], wsj[300:500]
    for kernel in (tl.SubsetTree(), tl.PartialTree().normalized() + tl.SubsetTree(lam=1).normalized()):
        np.testing.assert_array_equal(tl.gram(kernel, X, client=client), kernel(X))
        np.testing.assert_array_equal(tl.gram(kernel, X, Y, client=client), kernel(X, Y))


def test_results_go_where_they_are_told(client: Client, bank: tl.Treebank, tmp_path: Path) -> None:
    kernel = tl.PartialTree()
    K = kernel(bank)
    small = tl.gram(kernel, bank, client=client, dtype="float32")
    assert small.dtype == np.float32
    np.testing.assert_array_equal(small, K.astype(np.float32))
    inside = np.zeros((80, 90))
    assert tl.gram(kernel, bank, client=client, out=inside[5:75, 10:80]).base is inside
    np.testing.assert_array_equal(inside[5:75, 10:80], K)
    assert inside.sum() == pytest.approx(K.sum())
    file = tl.gram(kernel, bank, client=client, out=tmp_path / "K.npy")
    assert isinstance(file, np.memmap)
    np.testing.assert_array_equal(np.load(tmp_path / "K.npy"), K)
    in_blocks = tl.gram(kernel, bank, client=client, memory="10MB")
    np.testing.assert_array_equal(in_blocks, tl.gram(kernel, bank, out=np.empty((70, 70)), memory="10MB"))
    np.testing.assert_array_equal(in_blocks, in_blocks.T)


def test_what_was_ended_is_gone_on_with(
    client: Client, bank: tl.Treebank, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By workers what threads began; the file is the same."""
    kernel, path = tl.SubsetTree(), tmp_path / "K.npy"
    tl.gram(kernel, bank, out=tmp_path / "whole.npy", resume=True)

    compute = ThreadExecutor.compute

    def part(self: ThreadExecutor, job: Any, blocks: Any, *rest: Any) -> None:
        compute(self, job, [Block(block.columns, block.tiles[:3]) for block in blocks], *rest)
        raise InterruptedError

    with monkeypatch.context() as patched:
        patched.setattr(ThreadExecutor, "compute", part)
        with pytest.raises(InterruptedError):
            tl.gram(kernel, bank, out=path, resume=True)
    assert not path.exists()
    tl.gram(kernel, bank, out=path, resume=True, client=client)
    assert path.read_bytes() == (tmp_path / "whole.npy").read_bytes()


def test_few_examples_or_none(client: Client) -> None:
    kernel = tl.SubsetTree(lam=1)
    assert tl.gram(kernel, ["(A x)"], client=client).tolist() == [[1.0]]
    assert tl.gram(kernel, [], client=client).shape == (0, 0)
    assert tl.gram(kernel, ["(A x)"], [], client=client).shape == (1, 0)


def test_threads_of_one_process(bank: tl.Treebank) -> None:
    with (
        LocalCluster(n_workers=2, threads_per_worker=2, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        np.testing.assert_array_equal(tl.gram(tl.PartialTree(), bank, client=client), tl.PartialTree()(bank))


class Noted(tl.SubsetTree):
    """Counts in a file how often its index is built, and kills its process a limited number of times."""

    def __init__(self, folder: str, deaths: int = 0, at: int = 20) -> None:
        super().__init__()
        self.folder, self.deaths, self.at = folder, deaths, at

    def evaluator(self, X: Any, Y: Any = None, *, logs: bool = False) -> Any:
        with open(Path(self.folder) / "made", "a", encoding="utf-8") as stream:
            stream.write(f"{os.getpid()}\n")
        found = super().evaluator(X, Y, logs=logs)
        fill = found.fill

        def dangerous(begin: int, end: int, out: Any, halves: bool) -> None:
            for death in range(self.deaths if begin <= self.at < end else 0):
                file = Path(self.folder) / f"death {death}"
                if not file.exists():
                    file.touch()
                    os.kill(os.getpid(), signal.SIGKILL)
            fill(begin, end, out, halves)

        found.fill = dangerous
        return found


@pytest.mark.serial
def test_an_index_is_made_once_a_worker(client: Client, bank: tl.Treebank, tmp_path: Path) -> None:
    settled(client)
    tl.gram(Noted(str(tmp_path)), bank, client=client)
    made = (tmp_path / "made").read_text(encoding="utf-8").split()
    assert len(made) == len(set(made)) <= 2
    assert str(os.getpid()) not in made


def test_neighbors(client: Client, bank: tl.Treebank) -> None:
    kernel = tl.SubsetTree(lam=0.4).normalized()
    for one in (kernel, kernel.distance()):
        for options in ({"k": 3}, {"k": 60, "threshold": 0.7}, {"k": 5, "Q": bank[10:30]}, {"k": 5, "memory": "10MB"}):
            values, numbers = tl.nearest(one, bank, client=client, **options)  # type: ignore[call-overload]
            expected, order = tl.nearest(one, bank, **options)  # type: ignore[call-overload]
            np.testing.assert_array_equal(numbers, order)
            np.testing.assert_array_equal(values, expected)
    graph = tl.nearest(kernel.distance(), bank, threshold=0.9, graph=True, client=client)
    assert (graph != tl.nearest(kernel.distance(), bank, threshold=0.9, graph=True)).nnz == 0
    rows = EXAMPLES["rows"]
    table = tl.On("tree", tl.SubsetTree()) + tl.On("features", tl.Linear())
    for here, there in zip(tl.nearest(table, rows, k=2), tl.nearest(table, rows, k=2, client=client), strict=True):
        np.testing.assert_array_equal(here, there)
    settled(client)


# --- estimators ---------------------------------------------------------------------------------------------------

SST = tl.SubsetTree(lam=0.4).normalized()
ESTIMATORS: dict[str, tuple[Any, str]] = {
    "classifier": (tl.KernelSVC(SST, C=5), "decision_function"),
    "support sums": (tl.KernelSVC(SST.gaussian(1.0)), "decision_function"),
    "conjugate gradients": (tl.RLS(SST, 0.1, solver="cg"), "predict"),
    "landmarks": (tl.Nystroem(SST, 9, random_state=0), "transform"),
    "neighbors": (tl.Nearest(SST, 3), "kneighbors"),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_estimator_in_the_context_of_a_cluster(name: str, client: Client, bank: tl.Treebank) -> None:
    estimator, method = ESTIMATORS[name]
    y = [len(str(tree)) % 3 for tree in bank]
    plain = clone(estimator).fit(bank, y)
    wanted = getattr(plain, method)(bank)
    with tl.config_context(client=client):
        found = clone(estimator).fit(bank, y)
        values = getattr(found, method)(bank)
    tolerance = 0 if name == "classifier" else 1e-9  # other sums are of other blocks
    for attribute in ("dual_coef_", "support_"):
        np.testing.assert_allclose(getattr(found, attribute, 0), getattr(plain, attribute, 0), tolerance)
    for one, other in zip(values, wanted, strict=True):
        np.testing.assert_allclose(one, other, tolerance, tolerance)


MERGED = [SST, tl.PartialTree() + 0.5 * tl.Subtree().normalized()]


@pytest.mark.parametrize("kernel", MERGED, ids=repr)
def test_products_from_merged_rows(kernel: Any, client: Client, bank: tl.Treebank, monkeypatch: Any) -> None:
    """The workers sum merged rows at their pieces of the columns, and keep the examples for the next product."""
    merged = importlib.import_module("treelet.matrices.operator")
    monkeypatch.setattr(merged, "_HALVES", 10)  # two pieces
    local, remote = (Products(kernel, bank, None, Resources.of(1, client=client)) for client in (None, client))
    monkeypatch.setattr(merged.ColumnPieces, "_native", local_only(merged.ColumnPieces._native))
    sent = []
    scatter = Client.scatter
    monkeypatch.setattr(Client, "scatter", lambda *args, **named: sent.append(1) or scatter(*args, **named))
    rng = np.random.default_rng(0)
    for _ in range(3):
        rows, weights = rng.permutation(len(bank))[:40], rng.normal(size=(2, 40))
        np.testing.assert_array_equal(remote.combined(rows, weights), local.combined(rows, weights))
    assert len(sent) == len(remote._merged[False]._terms)
    other = [Products(kernel, bank[:30], bank[20:], Resources.of(1, client=client)) for client in (None, client)]
    vector = rng.normal(size=50)
    np.testing.assert_array_equal(other[1].times(vector), other[0].times(vector))
    del remote, other
    settled(client)


def local_only(native: Any) -> Any:
    """Return a function that finds the index of columns, but not for products of this process that workers must compute."""

    def checked(pieces: Any, columns: Any) -> Any:
        assert pieces._remote is None
        return native(pieces, columns)

    return checked


# --- not computed yet -----------------------------------------------------------------------------------------------


def test_a_lazy_matrix(client: Client, bank: tl.Treebank) -> None:
    kernel = tl.PartialTree().normalized() + tl.SubsetTree()
    lazy = tl.lazy_gram(kernel, bank, chunks=30)
    assert lazy.chunks == ((30, 30, 10), (30, 30, 10))
    in_threads, on_workers = (
        lazy.compute(scheduler="threads"),
        client.compute(lazy).result(),
    )
    np.testing.assert_array_equal(in_threads, on_workers)
    np.testing.assert_array_equal(in_threads, in_threads.T)
    np.testing.assert_allclose(in_threads, kernel(bank), rtol=1e-13)
    np.testing.assert_allclose((lazy @ np.ones(70)).compute(scheduler="threads"), kernel(bank).sum(axis=1), rtol=1e-12)
    small = tl.lazy_gram(kernel, bank, bank[:20], chunks=(40, 15), dtype="float32", memory="1MB")
    assert small.dtype == np.float32
    computed = small.compute(scheduler="threads")
    assert computed.dtype == np.float32
    np.testing.assert_allclose(computed, kernel(bank, bank[:20]), rtol=1e-6)
    one = tl.lazy_gram(kernel, bank)
    np.testing.assert_array_equal(one.compute(scheduler="threads"), kernel(bank))
    assert tl.lazy_gram(kernel, [], bank).compute(scheduler="threads").shape == (0, 70)


def test_each_pair_of_a_lazy_matrix_is_computed_once(bank: tl.Treebank, monkeypatch: pytest.MonkeyPatch) -> None:
    from treelet.matrices import lazy

    computed = []
    chunk = lazy._chunk
    monkeypatch.setattr(lazy, "_chunk", lambda *task: computed.append(task[1]) or chunk(*task))
    tl.lazy_gram(tl.SubsetTree(), bank, chunks=30).compute(scheduler="synchronous")
    assert sorted((tile.rows.begin, tile.columns.begin) for tile in computed) == [
        (0, 0),
        (30, 0),
        (30, 30),
        (60, 0),
        (60, 30),
        (60, 60),
    ]


@pytest.mark.parametrize("chunks", [(30, 20), "lots", -2.5])
def test_chunks_that_make_no_sense(bank: tl.Treebank, chunks: Any) -> None:
    with pytest.raises(tl.errors.ParameterError, match="'chunks' parameter"):
        tl.lazy_gram(tl.SubsetTree(), bank, chunks=chunks)


# --- what goes wrong ----------------------------------------------------------------------------------------------


@pytest.mark.serial
@posix
def test_a_killed_worker_costs_its_tiles_only(client: Client, bank: tl.Treebank, tmp_path: Path) -> None:
    settled(client)
    before = set(client.run(os.getpid).values())
    K = tl.gram(Noted(str(tmp_path), deaths=1), bank, client=client)
    np.testing.assert_array_equal(K, tl.SubsetTree()(bank))
    settled(client)
    assert len(before & set(client.run(os.getpid).values())) == 1
    assert (tmp_path / "death 0").exists()


@pytest.mark.serial
def test_a_worker_that_does_not_answer_costs_nothing(
    client: Client, bank: tl.Treebank, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that has just died, and that the scheduler still counts."""
    settled(client)
    dying = min(client.run(os.getpid).values())

    def answer() -> Any:
        if os.getpid() == dying:
            raise OSError("in <TCP (closed)>")
        from treelet.matrices.cluster import _version  # a worker's own

        return _version()

    monkeypatch.setattr(dask_executor, "_version", answer)
    np.testing.assert_array_equal(tl.gram(tl.SubsetTree(), bank, client=client), tl.SubsetTree()(bank))


@pytest.mark.serial
@posix
def test_all_workers_lost_at_once(client: Client, bank: tl.Treebank) -> None:
    """The examples were lost with the workers, and are sent again."""
    settled(client)
    executor, pids, seen = DaskExecutor(Resources(client=client)), set(client.run(os.getpid).values()), []
    kernel, K = tl.SubsetTree(), np.full((70, 70), np.nan)
    job = Job(kernel, bank)
    plan = executor.plan(job)

    def take(tile: Any, values: Any) -> None:
        if not seen:
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
        seen.append(tile)
        K[tile.rows.slice, tile.columns.slice] = values

    executor.each_tile(job, plan, take)
    assert sorted(tile.rows.begin for tile in seen) == sorted(tile.rows.begin for tile in plan.tiles)
    np.testing.assert_array_equal(np.tril(K), np.tril(kernel(bank)))


@pytest.mark.serial
def test_a_client_that_is_closed_midway(client: Client, bank: tl.Treebank) -> None:
    other = Client(client.scheduler.address, set_as_default=False)

    def take(tile: Any, values: Any) -> None:
        other.close()

    executor, job = DaskExecutor(Resources(client=other)), Job(tl.SubsetTree(), bank)
    with pytest.raises(tl.errors.ClusterError, match=r"[Cc]lient is closed|after closing"):
        executor.each_tile(job, executor.plan(job), take)
    settled(client)


@pytest.mark.serial
@posix
def test_a_tile_that_kills_every_worker_is_given_up(
    client: Client, bank: tl.Treebank, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settled(client)
    monkeypatch.setattr(dask_executor, "_MAX_LOSSES", 1)
    with pytest.raises(tl.errors.ClusterError, match="Dask workers"):
        tl.gram(Noted(str(tmp_path), deaths=30), bank, client=client, out=tmp_path / "K.npy")
    assert not list(tmp_path.glob("*npy*"))
    settled(client)


def test_errors_of_workers_reach_the_caller(client: Client) -> None:
    trees = [*["(A x)"] * 40, binary(12)]
    with pytest.raises(tl.errors.KernelOverflowError, match="item 40 with itself"):
        tl.gram(tl.SubsetTree(lam=1), trees, client=client)
    settled(client)


@pytest.mark.serial
@pytest.mark.usefixtures("alarm")
def test_an_interrupt_ends_the_work_of_workers(client: Client) -> None:
    """Minutes of work in every tile; and workers do other work at once."""
    settled(client)
    text = "(A " * 100_000 + "x" + ")" * 100_000
    long = tl.Treebank([text, text.replace("x", "y")] * 8)
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012
        signal.setitimer(signal.ITIMER_REAL, 3)
        tl.gram(tl.PartialTree(), long, client=client)
    begin = time.monotonic()
    assert tl.gram(tl.SubsetTree(lam=1), ["(A x)"], client=client).tolist() == [[1.0]]
    assert time.monotonic() - begin < 60
    settled(client)


@pytest.mark.serial
def test_what_cannot_be_sent(client: Client, tmp_path: Path) -> None:
    kernel = Noted(str(tmp_path))
    kernel.deaths = threading.Lock()  # type: ignore[assignment]
    with pytest.raises(tl.errors.InputTypeError, match="must be picklable for Dask workers"):
        tl.gram(kernel, ["(A x)"], client=client)


@pytest.mark.parametrize("wrong", ["tcp://127.0.0.1:8786", 4, LocalCluster], ids=repr)
def test_what_is_no_client(wrong: Any) -> None:
    with pytest.raises(tl.errors.ParameterError, match=r"'client'.*a dask.distributed.Client"):
        tl.gram(tl.SubsetTree(), ["(A x)"], client=wrong)


def test_a_closed_client(client: Client) -> None:
    other = Client(client.scheduler.address, set_as_default=False)
    other.close()
    with pytest.raises(tl.errors.ClusterError, match="Dask client is closed"):
        tl.gram(tl.SubsetTree(), ["(A x)"], client=other)


@pytest.mark.parametrize(
    "said",
    [type("ClosedClientError", (Exception,), {})(), Exception("Tried sending message after closing.  Status: closed")],
    ids=["2025", "2024"],
)
def test_a_client_that_is_closed_while_it_is_asked(said: Exception) -> None:
    with (
        pytest.raises(tl.errors.ClusterError, match="connection to the Dask cluster is lost"),
        dask_executor._cluster_errors(),
    ):
        raise said
    with pytest.raises(RuntimeError, match=r"^another$"), dask_executor._cluster_errors():
        raise RuntimeError("another")


def test_without_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.delitem(sys.modules, "treelet.matrices.cluster", raising=False)
    with pytest.raises(tl.TreeletError, match=r"pip install 'treelet\[dask\]'"):
        tl.gram(tl.SubsetTree(), ["(A x)"], client=object())
    monkeypatch.setitem(sys.modules, "dask.array", None)
    with pytest.raises(tl.TreeletError, match=r"pip install 'treelet\[dask\]'"):
        tl.lazy_gram(tl.SubsetTree(), ["(A x)"])
