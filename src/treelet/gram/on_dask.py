"""Tiles by the workers of a Dask cluster: the examples are sent once, tiles are asked for, and come back as they are done."""

from __future__ import annotations

import os
import time
from asyncio import CancelledError as AsyncCancelled
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import closing, contextmanager, suppress
from functools import partial
from pickle import PicklingError
from typing import Any

import distributed
import numpy as np
from distributed.scheduler import KilledWorker

import treelet
from treelet.checks import wrong
from treelet.errors import ClusterError, InputTypeError, TreeletError
from treelet.gram.plan import Block, Plan, Span, Tile
from treelet.gram.shipped import Shipped, let_go
from treelet.gram.side_by_side import Desk, place, serve
from treelet.gram.tiles import Place, Values, fill_tile, plan_matrix
from treelet.kernels.base import Pairwise
from treelet.progress import Advance, progress_bar

AHEAD = 3
"""Tiles under way for each thread of the workers: one that is computed, one that waits, one whose result does."""
STRIPS = 12
"""Strips of rows for each thread of the workers: each costs some milliseconds of the scheduler."""
GRAIN = 8 << 20
"""Bytes of a tile, about, that is handed over in memory: new memory of several processes is slow, so that little is used again."""
ROWS = 64
"""Of such a tile, at least: neighbours that share much are worked on together."""
LOSSES = 3
"""How often all workers that hold the examples may be lost."""
PATIENCE = 120.0
"""Seconds in which there must be a worker again, where all were lost."""
CENSUS = 2.0
"""Seconds after which the workers are counted again: clusters grow and shrink."""
_LOST = (CancelledError, AsyncCancelled)
_WHY = "a worker that takes more memory than it may is killed; memory= says how much the work of one may take"

Far = Callable[[Tile, Values], Any]
"""What a worker makes of a tile, which is then sent."""


class Crew:
    """The workers of a cluster, all with this version of treelet.

    Parameters
    ----------
    client : dask.distributed.Client
        How they are reached.
    """

    def __init__(self, client: Any) -> None:
        if not isinstance(client, distributed.Client) or client.asynchronous:
            raise wrong("client", "a dask.distributed.Client that is not asynchronous", client)
        if client.status != "running":
            raise ClusterError(f"the Dask client is {client.status}: make a new one")
        self.client = client
        with _told():
            workers = self._introduced()
            if not workers:  # a cluster that grows on demand
                client.submit(_introduction, pure=False).result()
                workers = self._introduced()
            self.count()
        for where, (version, _, _) in workers.items():
            if version != treelet.__version__:
                raise ClusterError(f"the Dask worker {where} has treelet {version}, here it is {treelet.__version__}")
        addresses = [client.scheduler.address, *workers]
        self.near = all(address.startswith(("tcp://127.", "inproc://", "unix://")) for address in addresses)
        """Whether results are fetched from the workers. Else they come through the scheduler, or as the client was told."""
        self.beside = place() is not None and all(
            there == place() and process != os.getpid() for _, there, process in workers.values()
        )
        """Whether all workers are other processes of this machine, which hand their tiles over in memory."""

    def _introduced(self) -> dict[str, tuple[str, Any, int]]:
        """Who the workers are; of one that is just about to die nothing is known, and others do its part."""
        answers = self.client.run(_introduction, on_error="return")
        for answer in answers.values():
            if isinstance(answer, BaseException) and not isinstance(answer, OSError):
                raise answer
        return {where: answer for where, answer in answers.items() if not isinstance(answer, BaseException)}

    def count(self) -> None:
        """See how many threads there are, in all and in the worker that has most."""
        self.workers = self.client.nthreads()
        threads = self.workers.values()
        self.threads, self.threads_a_worker = max(1, sum(threads)), max(threads, default=1)
        self.counted = time.monotonic()

    def plan(
        self,
        kernel: Pairwise,
        X: Any,
        Y: Any | None,
        *,
        memory: int,
        dtype: np.dtype[Any],
        buffers: int = 0,
        begin: int = 0,
        at_once: int = 1,
        grid: int = 1,
        sent: bool = False,
    ) -> Plan:
        """The tiles of a matrix for these workers, each of which may take so much memory; see `plan_matrix`.

        `sent`: whether results are sent in any case, wherever the workers are.
        """
        strips = STRIPS * self.threads
        if self.beside and not sent:
            size = len(X) * len(X if Y is None else Y) * dtype.itemsize
            strips = max(strips, min(size // GRAIN, len(X) // ROWS))
        return plan_matrix(
            kernel,
            X,
            Y,
            n_jobs=self.threads_a_worker,
            memory=memory,
            dtype=dtype,
            buffers=buffers + AHEAD - 1,
            begin=begin,
            at_once=at_once,
            grid=grid,
            strips=strips,
        )

    def compute(
        self,
        kernel: Pairwise,
        X: Any,
        Y: Any | None,
        blocks: Iterable[Block],
        place: Place,
        *,
        memory: int,
        dtype: np.dtype[Any],
        advance: Advance = lambda cells: None,
    ) -> None:
        """Let the tiles of all blocks be computed, each into its place; as `treelet.gram.tiles.compute`."""

        def take(tile: Tile, values: Values) -> None:
            with place.tile(tile) as out:
                out[...] = values

        self.each_tile(kernel, X, Y, blocks, take, memory=memory, dtype=dtype, advance=advance)

    def each_tile(
        self,
        kernel: Pairwise,
        X: Any,
        Y: Any | None,
        blocks: Iterable[Block],
        take: Callable[[Tile, Any], object],
        *,
        far: Far | None = None,
        memory: int,
        dtype: np.dtype[Any],
        advance: Advance = lambda cells: None,
    ) -> None:
        """Let the tiles of all blocks be computed; `take` gets them here, one by one, or what `far` made of them there."""

        def taken(tile: Tile, found: Any) -> None:
            take(tile, found)
            advance(tile.cells)

        shipped = Shipped(kernel, X, Y, memory // 2, held=True)
        try:
            shipped.packed()
        except (PicklingError, TypeError, AttributeError) as error:
            raise InputTypeError(
                f"a kernel and examples for Dask workers must be such that can be pickled: {error}"
            ) from error
        left = [block for block in blocks if block.tiles]
        if left and far is None and self.beside:
            left = self._beside(shipped, left, taken, dtype)
        if not left:
            return
        with closing(_Team(self, shipped)) as team:
            for block in left:
                work = partial(_computed, columns=block.columns, dtype=dtype.str, far=far)
                for tile, found in team.results(work, block.tiles):
                    taken(tile, found)

    def _beside(
        self, shipped: Shipped, blocks: list[Block], take: Callable[[Tile, Values], None], dtype: np.dtype[Any]
    ) -> list[Block]:
        """Let tiles be computed by processes of this machine; given back is what they could not."""
        try:
            desk = Desk(shipped, blocks, dtype)
        except OSError:  # such as: too many open files
            return blocks
        with desk, _told(), closing(_Servers(self, desk, shipped.token)) as servers:
            left = [Block(block.columns, tuple(desk.hand_out(block, take, servers.look))) for block in blocks]
            servers.over = True
        return [block for block in left if block.tiles]

    def each_found(
        self,
        kernel: Pairwise,
        X: Any,
        Y: Any | None,
        far: Callable[[Tile, Values], list[Any]],
        take: Callable[[Any], object],
        *,
        memory: int,
        progress: bool = False,
    ) -> None:
        """Let all values of X with Y be searched: workers send what `far` finds in a tile, and `take` gets it here, one by one."""

        def take_all(tile: Tile, found: list[Any]) -> None:
            for one in found:
                take(one)

        numbers = np.dtype(np.float64)
        plan = self.plan(kernel, X, Y, memory=memory, dtype=numbers, buffers=1, sent=True)
        with progress_bar(progress, "kernel values", plan.cells) as advance:
            self.each_tile(kernel, X, Y, plan.blocks, take_all, far=far, memory=memory, dtype=numbers, advance=advance)


class _Team:
    """The workers of a crew with the same examples."""

    def __init__(self, crew: Crew, shipped: Shipped) -> None:
        self.crew, self.client, self.shipped = crew, crew.client, shipped
        self.waiting: deque[Any] = deque()
        self.under_way: dict[distributed.Future, tuple[Any, distributed.Future]] = {}
        self.losses = self.asked = 0
        with _told():
            self._send()

    def results(self, work: Callable[[Shipped, Any], Any], items: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
        """Each item with what a worker makes of it, as they are done.

        A worker that is lost costs what it was about: others do that again.
        """
        self.waiting.extend(items)
        done = distributed.as_completed(loop=self.client.loop, raise_errors=False)
        with _told():
            self._ask(work, done)
            while self.under_way:
                yield from self._come(done.next_batch(block=True))
                self._ask(work, done)

    def close(self) -> None:
        """Let the examples go. What is under way, after an error or an interrupt, is ended."""
        with suppress(Exception):
            if self.under_way:
                self.client.cancel(list(self.under_way), force=True)
        with suppress(Exception):
            self.client.run(let_go, self.shipped.token)
        for future in (*self.under_way, self.held):
            future.release()  # whoever else holds it: the traceback of an error may

    def _send(self) -> None:
        self.held = self.client.scatter(self.shipped, broadcast=True, hash=False, timeout=PATIENCE)

    def _ask(self, work: Callable[[Shipped, Any], Any], done: distributed.as_completed) -> None:
        """For as much as may be under way."""
        if time.monotonic() - self.crew.counted > CENSUS:
            self.crew.count()
        while self.waiting and len(self.under_way) < AHEAD * self.crew.threads:
            item = self.waiting.popleft()
            key = f"kernel-values-{self.shipped.token}-{self.asked}"
            self.asked += 1
            future = self.client.submit(work, self.held, item, key=key, pure=False)
            self.under_way[future] = item, self.held
            done.add(future)

    def _come(self, batch: list[distributed.Future]) -> Iterator[tuple[Any, Any]]:
        """What is there; what was lost waits again."""
        there, found = [future for future in batch if future.status == "finished"], []
        for future in batch:
            if future.status == "error":
                raise future.exception()
        with suppress(*_LOST):
            found = self.client.gather(there, direct=self.crew.near or None)
        for future, value in zip(there, found, strict=False):
            item, _ = self.under_way.pop(future)
            future.release()
            yield item, value
        for future in batch:
            if future in self.under_way:
                self._again(*self.under_way.pop(future))
                future.release()

    def _again(self, item: Any, held: distributed.Future) -> None:
        """An item that went down with all workers that held the examples."""
        self.waiting.appendleft(item)
        if held is not self.held:
            return
        self.losses += 1
        if self.losses > LOSSES:
            raise ClusterError(f"all Dask workers with the examples were lost, {self.losses} times: {_WHY}")
        held.release()
        self._send()


class _Servers:
    """Tasks that each take a thread of a worker to compute what a desk gives out, as long as there is something.

    A task goes on elsewhere when its worker dies: Dask sees to it.
    """

    def __init__(self, crew: Crew, desk: Desk, token: str) -> None:
        self.crew, self.client, self.desk, self.token = crew, crew.client, desk, token
        self.running: dict[distributed.Future, str] = {}
        self.losses = self.asked = 0
        self.over = False
        self.seen = time.monotonic()
        self._hire()

    def _hire(self) -> None:
        """A task for every thread that has none."""
        for address, threads in self.crew.workers.items():
            for _ in range(threads - list(self.running.values()).count(address)):
                key = f"kernel-tiles-{self.token}-{self.asked}"
                self.asked += 1
                future = self.client.submit(
                    serve, self.desk.address, key=key, workers=[address], allow_other_workers=True, pure=False
                )
                self.running[future] = address
                future.add_done_callback(lambda future: self.desk.ring())

    def look(self) -> bool:
        """Whether they can go on; False if one cannot reach the desk."""
        for future in [future for future in self.running if future.done()]:
            del self.running[future]
            if future.status == "error":
                raise future.exception()
            if future.status == "finished":
                return False
            self._again()
        if time.monotonic() - self.crew.counted > CENSUS:
            self.crew.count()
            self._hire()
        if self.crew.workers:
            self.seen = time.monotonic()
        elif time.monotonic() - self.seen > PATIENCE:
            raise ClusterError(f"all Dask workers were lost: {_WHY}")
        return True

    def _again(self) -> None:
        """A task was taken back: by `client.restart`, or with the client."""
        self.losses += 1
        if self.client.status != "running" or self.losses > LOSSES * self.crew.threads:
            raise ClusterError(f"the Dask cluster is lost: the client is {self.client.status}")
        self.crew.counted = 0.0

    def close(self) -> None:
        """What is under way, after an error or an interrupt, is ended."""
        self.desk.close()
        if not self.over:
            with suppress(Exception):
                self.client.cancel(list(self.running), force=True)
            with suppress(Exception):
                self.client.run(let_go, self.token)
        for future in self.running:
            future.release()


@contextmanager
def _told() -> Iterator[None]:
    """One clear error where a cluster fails; errors about kernels and examples stay what they are."""
    try:
        yield
    except TreeletError:
        raise
    except KilledWorker as error:
        raise ClusterError(f"a tile was given up, several Dask workers died of it: {_WHY}") from error
    except ModuleNotFoundError as error:
        raise ClusterError(f"the Dask workers need all that is installed here: {error}") from error
    except (Exception, *_LOST) as error:
        if not isinstance(error, (*_LOST, OSError)) and not _closed(error):
            raise
        raise ClusterError(f"the Dask cluster is lost: {str(error) or type(error).__name__}") from error


def _closed(error: BaseException) -> bool:
    """Whether the client was closed: an error of its own in newer versions, a plain one in older ones."""
    return type(error).__name__ == "ClosedClientError" or (type(error) is Exception and "after closing" in str(error))


# --- what workers do ----------------------------------------------------------------------------------------------


def _introduction() -> tuple[str, Any, int]:
    """Who a worker is: its version of treelet, its machine, its process."""
    return treelet.__version__, place(), os.getpid()


def _computed(shipped: Shipped, tile: Tile, *, columns: Span, dtype: str, far: Far | None) -> Any:
    out = np.zeros(tile.shape, dtype)
    with shipped.stoppable():
        fill_tile(shipped.kernel, shipped.evaluator(columns), tile, out)
    return out if far is None else far(tile, out)
