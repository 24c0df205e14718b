"""Tiles computed by the workers of a Dask cluster. The examples are sent to each worker once."""

from __future__ import annotations

import time
from asyncio import CancelledError as AsyncCancelled
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import closing, contextmanager, suppress
from functools import partial
from pickle import PicklingError
from typing import Any

import distributed
import numpy as np
from distributed.scheduler import KilledWorker

import treelet
from treelet.checks import plural, wrong
from treelet.errors import ClusterError, InputTypeError, TreeletError
from treelet.gram.executors.base import Executor, TileSearch
from treelet.gram.executors.shipment import Shipment, release
from treelet.gram.plan import Block, Plan, Span, Tile
from treelet.gram.tiles import Job, Sink, Values, fill_tile, plan_matrix
from treelet.kernels.pairwise import Needs, Pairwise
from treelet.progress import Advance, progress_bar
from treelet.resources import Resources

AHEAD = 3
"""Requested tiles per worker thread: one in computation, one in the queue, one in transfer."""
STRIPS = 12
"""Strips of rows per worker thread. Each strip takes the scheduler some milliseconds."""
MAX_LOSSES = 3
"""Maximal number of times that all workers with the examples may be lost."""
PATIENCE = 120.0
"""Seconds to wait for a new worker after all workers were lost."""
RECOUNT = 2.0
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
        if not isinstance(client, distributed.Client) or client.asynchronous:
            raise wrong("client", "a dask.distributed.Client that is not asynchronous", client, of="gram")
        if client.status != "running":
            raise ClusterError(f"The Dask client is {client.status}. Create a new client.")
        self.client = client
        with cluster_errors():
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
        threads, memory, strips = self.threads_per_worker, self.resources.memory, STRIPS * self.threads
        return plan_matrix(job, threads=threads, memory=memory, buffers=buffers + AHEAD - 1, strips=strips, **options)

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
        shipment = Shipment(job.kernel, job.X, job.Y, self.resources.memory // 2, held=True)
        try:
            shipment.packed()
        except (PicklingError, TypeError, AttributeError) as error:
            raise InputTypeError(f"The kernel and the examples must be picklable for Dask workers: {error}.") from error
        blocks = [block for block in blocks if block.tiles]
        if not blocks:
            return
        with closing(_Team(self, shipment)) as team:
            for block in blocks:
                work = partial(_computed, columns=block.columns, dtype=job.dtype.str, choose=choose)
                yield from team.results(work, block.tiles)


class _Team:
    """The workers of a cluster, which all hold the same examples."""

    def __init__(self, executor: DaskExecutor, shipment: Shipment) -> None:
        self.executor, self.client, self.shipment = executor, executor.client, shipment
        self.waiting: deque[Any] = deque()
        self.requested: dict[distributed.Future, tuple[Any, distributed.Future]] = {}
        self.losses = self.request_count = 0
        with cluster_errors():
            self._send()

    def results(self, work: Callable[[Shipment, Any], Any], items: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
        """Yield each item with its result, in order of completion. Other workers redo the items of a lost worker."""
        self.waiting.extend(items)
        done = distributed.as_completed(loop=self.client.loop, raise_errors=False)
        with cluster_errors():
            self._request(work, done)
            while self.requested:
                yield from self._receive(done.next_batch(block=True))
                self._request(work, done)

    def close(self) -> None:
        """Release the examples. Cancel requested tiles, which remain after an error or an interrupt."""
        with suppress(Exception):
            if self.requested:
                self.client.cancel(list(self.requested), force=True)
        with suppress(Exception):
            self.client.run(release, self.shipment.token)
        for future in (*self.requested, self.held):
            future.release()  # the traceback of an error may also hold a reference

    def _send(self) -> None:
        self.held = self.client.scatter(self.shipment, broadcast=True, hash=False, timeout=PATIENCE)

    def _request(self, work: Callable[[Shipment, Any], Any], done: distributed.as_completed) -> None:
        """Request items up to the maximal number of simultaneous requests."""
        if time.monotonic() - self.executor.counted > RECOUNT:
            self.executor.count()
        while self.waiting and len(self.requested) < AHEAD * self.executor.threads:
            item = self.waiting.popleft()
            key = f"kernel-values-{self.shipment.token}-{self.request_count}"
            self.request_count += 1
            future = self.client.submit(work, self.held, item, key=key, pure=False)
            self.requested[future] = item, self.held
            done.add(future)

    def _receive(self, batch: list[distributed.Future]) -> Iterator[tuple[Any, Any]]:
        """Yield finished items and put lost items back into the queue."""
        finished, results = [future for future in batch if future.status == "finished"], []
        for future in batch:
            if future.status == "error":
                raise future.exception()
        with suppress(*_LOST):
            results = self.client.gather(finished, direct=self.executor.is_local or None)
        for future, result in zip(finished, results, strict=False):
            item, _ = self.requested.pop(future)
            future.release()
            yield item, result
        for future in batch:
            if future in self.requested:
                self._repeat(*self.requested.pop(future))
                future.release()

    def _repeat(self, item: Any, held: distributed.Future) -> None:
        """Put back an item that was lost together with all workers that held the examples."""
        self.waiting.appendleft(item)
        if held is not self.held:
            return
        self.losses += 1
        if self.losses > MAX_LOSSES:
            raise ClusterError(f"All Dask workers with the examples were lost {plural(self.losses, 'time')}. {_WHY}")
        held.release()
        self._send()


@contextmanager
def cluster_errors() -> Iterator[None]:
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
    out = np.zeros(tile.shape, dtype)
    with shipment.stoppable():
        fill_tile(shipment.kernel, shipment.evaluator(columns), tile, out)
    return out if choose is None else choose(tile, out)
