"""Tiles computed by the workers of a Dask cluster. The examples are sent to each worker once."""

from __future__ import annotations

import io
import threading
import time
import uuid
from asyncio import CancelledError as AsyncCancelled
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import closing, contextmanager, suppress
from functools import partial
from pickle import PicklingError
from typing import Any, cast
from weakref import WeakValueDictionary

import cloudpickle
import distributed
import numpy as np
from distributed.scheduler import KilledWorker

import treelet
from treelet import _core
from treelet.checks import plural
from treelet.errors import ClusterError, InputTypeError, TreeletError
from treelet.formats.base import Columns
from treelet.kernels.pairwise import Evaluator, Needs, Pairwise
from treelet.kernels.store import StoreKernel
from treelet.matrices.executors import Executor, TileSearch, executor_for
from treelet.matrices.operator import ColumnPieces
from treelet.matrices.tiles import Block, Job, Plan, Sink, Span, Tile, Values, bind, fill_tile, plan_matrix
from treelet.resources import Resources
from treelet.structures.bank import Bank
from treelet.work import Advance, progress_bar

# --- a kernel with its examples, sent to other processes --------------------------------------------------------------

_IDLE = 10.0
"""Seconds without use after which a process stops holding a shipment."""
Content = tuple[Pairwise, Any, Any | None, int]
Buffer = bytes | memoryview


class Shipment:
    """A kernel, rows and columns, which every receiving process binds to each other once.

    Values in all processes are equal, bit for bit: banks keep the numbers of their parts, which
    determine the order of sums, and continue to share stores. All copies in a process are one
    object.

    Parameters
    ----------
    kernel : Pairwise
        Kernel or distance.
    X, Y : collections
        Rows and columns, coerced by the kernel. Without Y, the columns are X.
    room : int
        Memory limit in bytes for indexes over columns. The latest index is always kept.
    held : bool
        Whether a receiving process keeps a reference to the shipment. Without a reference, Dask may
        delete copies that no task uses, and send them again. The process drops the reference when
        `_release` is called, or the shipment was not used for `_IDLE` seconds (the client may have died).
    """

    def __init__(self, kernel: Pairwise, X: Any, Y: Any | None, room: int, held: bool = False) -> None:
        self._set(uuid.uuid4().hex, held, content=(kernel, X, Y, room))

    def _set(self, token: str, held: bool, *, packed: Buffer | None = None, content: Content | None = None) -> None:
        self.token, self._held, self._packed, self._content = token, held, packed, content
        self.used = time.monotonic()
        self._stop, self._stopped = _core.Stop(), False
        self._lock, self._evaluators = threading.Lock(), dict[Span, tuple[Evaluator, int]]()
        self._pieces: ColumnPieces | None = None

    def packed(self) -> Buffer:
        """Return the pickled content."""
        with self._lock:
            if self._packed is None:
                stream = io.BytesIO()
                _Exactly(stream, protocol=5).dump(self._content)
                self._packed = stream.getvalue()
            return self._packed

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrived, (self.token, self._held, self.packed())

    def __sizeof__(self) -> int:  # Dask estimates the cost of transfer and storage from this
        return object.__sizeof__(self) + len(self.packed())

    def evaluator(self, columns: Span) -> Evaluator:
        """Return the kernel bound to all rows and some columns. The index of the columns is built once."""
        self.used = time.monotonic()
        with self._lock:
            if columns not in self._evaluators:
                kernel, X, Y, room = self._unpacked()
                needed = kernel.needs((X if Y is None else Y)[columns.slice], room).index
                while self._evaluators and needed + sum(size for _, size in self._evaluators.values()) > room:
                    del self._evaluators[next(iter(self._evaluators))]
                evaluator = bind(Job(kernel, X, Y), Block(columns, ())).ready()
                self._evaluators[columns] = evaluator, needed
            self._evaluators[columns] = self._evaluators.pop(columns)  # the most recently used evaluator comes last
            return self._evaluators[columns][0]

    def values(self, tile: Tile, columns: Span, dtype: str) -> Values:
        """Compute a tile with the index of some columns."""
        out = np.zeros(tile.shape, dtype)
        if out.size:
            with self._lock:
                kernel, *_ = self._unpacked()
            fill_tile(kernel, self.evaluator(columns), tile, out)
        return out

    def sums(self, columns: Span, rows: list[Any], outputs: int, stored: int) -> Values | None:
        """Return the sums of merged rows at some columns, as `ColumnPieces` does."""
        self.used = time.monotonic()
        with self._lock:
            if self._pieces is None:
                kernel, X, Y, room = self._unpacked()
                local = executor_for(Resources.of(1, room))
                self._pieces = ColumnPieces(cast(StoreKernel, kernel), X if Y is None else Y, X, local)
            pieces = self._pieces
        return pieces.sums_at(columns, (_core.NodeWeights.of(*arrays) for arrays in rows), outputs, stored)

    def _unpacked(self) -> Content:
        if self._stopped:
            raise RuntimeError("stopped")
        if self._content is None:
            assert self._packed is not None
            self._content = cloudpickle.loads(self._packed)
        return self._content

    @contextmanager
    def stoppable(self) -> Iterator[None]:
        """Let `stop` end long computations of this thread, whose results are then discarded."""
        _core.watch(self._stop)
        try:
            yield
        except RuntimeError:
            if not self._stopped:
                raise
        finally:
            _core.watch(_core.Stop())  # the thread belongs to Dask

    def stop(self) -> None:
        """Stop running computations and free the examples, even if tracebacks still refer to this object."""
        self._stopped = True
        self._stop.set()
        self._content, self._evaluators, self._pieces = None, {}, None


_lock = threading.Lock()
_here: WeakValueDictionary[str, Shipment] = WeakValueDictionary()
_holds: dict[str, Shipment] = {}  # the shipments that this process holds


def _arrived(token: str, held: bool, packed: Buffer) -> Shipment:
    """Return the shipment with a token, which exists once per process."""
    with _lock:
        shipment = _here.get(token)
        if shipment is None:
            shipment = _here[token] = Shipment.__new__(Shipment)
            shipment._set(token, held, packed=packed)
        if held and token not in _holds:
            _holds[token] = shipment
            _watch(shipment, _IDLE)
        return shipment


def _watch(shipment: Shipment, seconds: float) -> None:
    timer = threading.Timer(seconds, _release_if_idle, [shipment.token])
    timer.daemon = True
    timer.start()


def _release_if_idle(token: str) -> None:
    """Drop the reference to an unused shipment. Tasks that still use the shipment have their own."""
    with _lock:
        shipment = _holds.get(token)
        if shipment is None:
            return
        left = _IDLE - (time.monotonic() - shipment.used)
        if left > 0:
            _watch(shipment, left)
        else:
            del _holds[token]


def _release(token: str) -> None:
    """Stop the computations of this process for a token, and free the shipment if it has arrived."""
    with _lock:
        shipment = _here.get(token)
        if shipment is not None:
            shipment.stop()
        _holds.pop(token, None)


class _Exactly(cloudpickle.Pickler):  # type: ignore[misc]
    """Pickles banks with their complete stores, and functions and classes of an interactive session."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, Bank):
            return _bank, (type(value), *value.columns)
        if isinstance(value, _core.Store):
            return _tree_store, (*value.texts, value.label, value.child_start, value.child, value.production)
        if isinstance(value, _core.ForestStore):
            starts = value.edge_start, value.child_start
            return _forest_store, (value.labels, value.label, *starts, value.child, value.p)
        return super().reducer_override(value)


def _tree_store(*columns: Any) -> _core.Store:
    return _core.Store.as_it_was(*columns)


def _forest_store(*columns: Any) -> _core.ForestStore:
    return _core.ForestStore.from_columns(*columns)


def _bank(kind: type[Bank[Any]], store: Any, roots: Any) -> Bank[Any]:
    return kind.from_columns(Columns(store, roots))


# --- tiles computed by the workers of a Dask cluster ------------------------------------------------------------------

_AHEAD = 3
"""Requested tiles per worker thread: one in computation, one in the queue, one in transfer."""
_STRIPS = 12
"""Strips of rows per worker thread. Each strip takes the scheduler some milliseconds."""
_MAX_LOSSES = 3
"""Maximal number of times that all workers with the examples may be lost."""
_PATIENCE = 120.0
"""Seconds to wait for a new worker after all workers were lost."""
_RECOUNT = 2.0
"""Seconds after which the workers are counted again, because clusters grow and shrink."""
_LOST = (CancelledError, AsyncCancelled)
_WHY = "Dask kills workers that exceed their memory limit. Reduce memory=, the limit of treelet per worker."

Choose = Callable[[Tile, Values], Any]
"""Applied to a tile by a worker, which sends the result instead of the tile."""


class DaskExecutor(Executor):
    """Computes tiles on the workers of a cluster, which must all have this version of treelet.

    The memory limit of the resources applies per worker, not to this process.
    """

    def __init__(self, resources: Resources) -> None:
        super().__init__(resources)
        client = resources.client
        assert isinstance(client, distributed.Client)  # checked by `Resources.of`
        if client.status != "running":
            raise ClusterError(f"The Dask client is {client.status}. Create a new client.")
        self.client = client
        with _cluster_errors():
            versions = self._versions()
            if not versions:  # a cluster that starts workers on demand
                client.submit(_version, pure=False).result()
                versions = self._versions()
            self.count()
        for address, version in versions.items():
            if version != treelet.__version__:
                raise ClusterError(
                    f"The Dask worker {address} has treelet {version}, but this process has treelet {treelet.__version__}. "
                    "Install the same version everywhere."
                )
        addresses = [client.scheduler.address, *versions]
        self.is_local = all(address.startswith(("tcp://127.", "inproc://", "unix://")) for address in addresses)
        """True if results are fetched directly from the workers. Otherwise the setting of the client applies."""

    @property
    def result_limit(self) -> int | None:
        return None

    def _versions(self) -> dict[str, str]:
        """Return the version of treelet per worker. A dying worker is skipped; others take over its work."""
        answers = self.client.run(_version, on_error="return")
        for answer in answers.values():
            if isinstance(answer, BaseException) and not isinstance(answer, OSError):
                raise answer
        return {address: answer for address, answer in answers.items() if not isinstance(answer, BaseException)}

    def count(self) -> None:
        """Count the threads of all workers, and those of the largest worker."""
        threads = self.client.nthreads().values()
        self.threads, self.threads_per_worker = max(1, sum(threads)), max(threads, default=1)
        self.counted = time.monotonic()

    def plan(self, job: Job, *, buffers: int = 0, **options: Any) -> Plan:
        threads, memory, strips = self.threads_per_worker, self.resources.memory, _STRIPS * self.threads
        return plan_matrix(job, threads=threads, memory=memory, buffers=buffers + _AHEAD - 1, strips=strips, **options)

    def compute(self, job: Job, blocks: Iterable[Block], sink: Sink, advance: Advance) -> None:
        with closing(self._results(job, blocks)) as results:
            for tile, values in results:
                with sink.tile(tile) as out:
                    out[...] = values
                advance(tile.cells)

    def search(self, job: Job, search: TileSearch, needs: Needs | None = None) -> None:
        plan = self.plan(job, buffers=1)
        with (
            progress_bar(self.resources.progress, "values", plan.cells) as advance,
            closing(self._results(job, plan.blocks, search.choose)) as results,
        ):
            for tile, candidates in results:
                for candidate in candidates:
                    search.add(candidate)
                advance(tile.cells)

    def prepare(self, kernel: Pairwise, columns: Any, needs: Needs) -> None:
        """Do nothing: workers build their own indexes."""

    def _results(
        self, job: Job, blocks: Iterable[Block], choose: Choose | None = None
    ) -> Generator[tuple[Tile, Any], None, None]:
        """Yield each tile with its values, or with the result of `choose` on the worker."""
        examples = _SentExamples(self, Shipment(job.kernel, job.X, job.Y, self.resources.memory // 2, held=True))
        try:
            for block in blocks:  # one after the other, because the index of a block may take all memory
                work = partial(_computed, columns=block.columns, dtype=job.dtype.str, choose=choose)
                yield from examples.results(work, block.tiles)
        finally:
            examples.close()

    @property
    def pieces(self) -> int:
        return max(2, int(self.threads))

    def remote_sums(self, job: Job) -> Callable[[Sequence[Any]], Iterator[tuple[Any, Any]]]:
        examples = _SentExamples(self, Shipment(job.kernel, job.X, job.Y, self.resources.memory, held=True))
        return lambda pieces: examples.results(_summed, pieces, same_places=True)


class _SentExamples:
    """A shipment on its way to the workers, for one or several computations. Dask frees it with the last reference."""

    def __init__(self, executor: DaskExecutor, shipment: Shipment) -> None:
        self._executor, self._client, self._shipment = executor, executor.client, shipment
        self._held: distributed.Future | None = None  # the examples, of which every worker has a copy
        self._losses = 0
        try:
            shipment.packed()
        except (PicklingError, TypeError, AttributeError) as error:
            raise InputTypeError(f"The kernel and the examples must be picklable for Dask workers: {error}.") from error

    def close(self) -> None:
        """Stop computations, and free the examples at once."""
        with suppress(Exception):
            self._client.run(_release, self._shipment.token)
        if self._held is not None:
            self._held.release()  # the traceback of an error may also hold a reference

    def results(
        self, work: Callable[[Shipment, Any], Any], items: Sequence[Any], same_places: bool = False
    ) -> Generator[tuple[Any, Any], None, None]:
        """Yield each item with the result of `work(shipment, item)` on a worker, in any order.

        With `same_places`, the n-th item goes to the same worker in every call, as long as the workers stay.
        """
        client, executor = self._client, self._executor
        requested: dict[distributed.Future, tuple[int, Any]] = {}  # the item, and the examples it uses
        try:
            with _cluster_errors():
                waiting = deque(range(len(items)))
                done = distributed.as_completed(loop=client.loop, raise_errors=False)
                addresses = sorted(client.nthreads()) if same_places else []
                while waiting or requested:
                    if self._held is None:
                        self._held = client.scatter(self._shipment, broadcast=True, hash=False, timeout=_PATIENCE)
                    held = self._held
                    if time.monotonic() - executor.counted > _RECOUNT:
                        executor.count()
                    while waiting and len(requested) < _AHEAD * executor.threads:
                        number, key = waiting.popleft(), f"kernel-values-{uuid.uuid4().hex}"
                        options: dict[str, Any] = {}
                        if addresses:
                            options = {"workers": [addresses[number % len(addresses)]], "allow_other_workers": True}
                        future = client.submit(work, held, items[number], key=key, pure=False, **options)
                        requested[future] = number, held
                        done.add(future)
                    batch = done.next_batch(block=True)
                    for future in batch:
                        if future.status == "error":
                            raise future.exception()
                    finished, results = [future for future in batch if future.status == "finished"], []
                    with suppress(*_LOST):
                        results = client.gather(finished, direct=executor.is_local or None)
                    for future, result in zip(finished, results, strict=False):
                        number, _ = requested.pop(future)
                        future.release()
                        yield items[number], result
                    for future in batch:
                        if future not in requested:
                            continue
                        number, used = requested.pop(future)  # lost together with all workers that held the examples
                        future.release()
                        waiting.appendleft(number)
                        if self._held is not None and used is self._held:
                            self._losses += 1
                            if self._losses > _MAX_LOSSES:
                                lost = plural(self._losses, "time")
                                raise ClusterError(f"All Dask workers with the examples were lost {lost}. {_WHY}")
                            self._held.release()
                            self._held = None
        finally:  # cancel what remains after an error or an interrupt
            if requested:
                with suppress(Exception):
                    client.cancel(list(requested), force=True)
                self.close()
            for future in requested:
                future.release()


@contextmanager
def _cluster_errors() -> Iterator[None]:
    """Turn the failures of a cluster into `ClusterError`; errors about kernels and examples pass unchanged."""
    try:
        yield
    except TreeletError:
        raise
    except KilledWorker as error:
        raise ClusterError(f"Several Dask workers died while they computed the same tile. {_WHY}") from error
    except ModuleNotFoundError as error:
        raise ClusterError(
            f"A package is missing on the Dask workers: {error}. Install the same packages there as in this process."
        ) from error
    except (Exception, *_LOST) as error:
        if not isinstance(error, (*_LOST, OSError)) and not _closed(error):
            raise
        reason = str(error).partition("\n")[0].strip(" .")  # older versions of Dask append the lost message
        raise ClusterError(f"The connection to the Dask cluster is lost: {reason or type(error).__name__}.") from error


def _closed(error: BaseException) -> bool:
    """Return whether the client was closed. Older versions of Dask raise a plain `Exception` for this."""
    return type(error).__name__ == "ClosedClientError" or (type(error) is Exception and "after closing" in str(error))


# --- on the workers -----------------------------------------------------------------------------------------------


def _version() -> str:
    return treelet.__version__


def _computed(shipment: Shipment, tile: Tile, *, columns: Span, dtype: str, choose: Choose | None) -> Any:
    with shipment.stoppable():
        out = shipment.values(tile, columns, dtype)
    return out if choose is None else choose(tile, out)


def _summed(shipment: Shipment, piece: tuple[Any, ...]) -> Any:
    with shipment.stoppable():
        return shipment.sums(*piece[1:])
