"""The base class of executors, with the methods that all executors share."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from treelet.gram.plan import Block, Plan, Tile, mirrored
from treelet.gram.sinks import ArraySink, ProductSink, allocated, checked_out
from treelet.gram.tiles import Job, Sink, Values, steps
from treelet.kernels.pairwise import Matrix, Needs, Pairwise
from treelet.progress import Advance, progress_bar
from treelet.resources import Resources
from treelet.work import run

if TYPE_CHECKING:
    from treelet.device.launching import Device


class TileSearch(NamedTuple):
    """A search through all values of a matrix, for example for the largest values of each row."""

    take: Callable[[Tile, Values], object]
    """Search a tile that was computed in this process. Several threads call it at once."""
    choose: Callable[[Tile, Any], list[Any]]
    """Return the candidates of a tile, in the process or on the device that computed it. Must be picklable."""
    add: Callable[[Any], object]
    """Add one of these candidates. Only one thread calls it."""


class Executor(ABC):
    """Computes the tiles of a matrix within the limits of its resources.

    Threads and Dask workers give the same values; a GPU agrees with them to 12 digits.
    """

    device: Device | None = None
    """The device of the computation; None for the CPU."""

    def __init__(self, resources: Resources) -> None:
        self.resources = resources

    def limited(self) -> AbstractContextManager[None]:
        """Return a context that enforces the memory limit of the device."""
        return nullcontext()

    def with_limits(self, threads: int, memory: int) -> Self:
        """Return the same executor with another number of threads and another memory limit."""
        executor = copy.copy(self)
        executor.resources = self.resources._replace(threads=threads, memory_limit=memory)
        return executor

    def warn_of_copies(self, kernels: Iterable[Any]) -> None:  # noqa: B027  # only a device needs copies
        """Warn about kernels that are computed on the CPU although a device was requested."""

    @property
    def result_limit(self) -> int | None:
        """Limit in bytes for a result in this process; None for no limit."""
        return self.resources.memory_limit

    @abstractmethod
    def plan(
        self,
        job: Job,
        *,
        buffers: int = 0,
        needs: Needs | None = None,
        begin: int = 0,
        at_once: int = 1,
        grid: int = 1,
    ) -> Plan:
        """Divide a matrix into tiles that fit the memory; see `treelet.gram.tiles.plan_matrix`."""

    @abstractmethod
    def compute(self, job: Job, blocks: Iterable[Block], sink: Sink, advance: Advance) -> None:
        """Compute the tiles of all blocks and pass them to the sink. `advance` counts finished cells."""

    @abstractmethod
    def search(self, job: Job, search: TileSearch, needs: Needs | None = None) -> None:
        """Search all values of a matrix without storing it."""

    @abstractmethod
    def prepare(self, kernel: Pairwise, columns: Any, needs: Needs) -> None:
        """Build the cached index of `columns` for later queries, unless the search needs several blocks."""

    # --- shared by all executors -----------------------------------------------------------------

    def new_matrix(self, job: Job) -> Any:
        """Return the matrix in a new array."""
        return self.host_matrix(job)

    def host_matrix(self, job: Job) -> Values:
        """Return the matrix in a new NumPy array."""
        return self.fill(job, allocated(job.shape, job.dtype, self.result_limit))

    def checked_out(self, job: Job, out: Any, examples: Iterable[Any]) -> Any:
        """Return `out` if it can hold the matrix, or raise `ParameterError`.

        `examples` are the uncoerced examples, with which `out` must not share memory.
        """
        return checked_out(out, job.shape, examples)

    def fill(self, job: Job, out: Values) -> Values:
        """Compute a matrix into an array of its shape and dtype."""
        resources = self.resources
        known = job.known(1)
        plan = self.plan(job, begin=known, at_once=resources.threads)
        with ArraySink(out) as sink:
            if job.existing is not None:
                job.existing.copy_to(sink, known, resources.memory // 4)
            self.compute_all(job, plan, sink)
            if plan.symmetric:
                images = mirrored(plan.shape[0], resources.memory // 2, resources.threads, known)
                run(sink.mirror, images, resources.threads, lambda done: None)
        return out

    def compute_all(self, job: Job, plan: Plan, sink: Sink) -> None:
        """Compute all tiles of a plan and show the progress."""
        what, total = "rows" if job.kernel.searches else "values", sum(steps(job.kernel, tile) for tile in plan.tiles)
        with progress_bar(self.resources.progress, what, total) as advance:
            self.compute(job, plan.blocks, sink, advance)

    def plan_products(self, job: Job) -> Plan:
        """Divide a matrix into tiles for `multiply`."""
        return self.plan(job, buffers=1)

    def multiply(self, job: Job, plan: Plan, vectors: Matrix, transposed: bool) -> Matrix:
        """Return the product of the matrix, or its transpose, with vectors, without storing the matrix."""
        product = np.zeros((plan.shape[1] if transposed else plan.shape[0], vectors.shape[1]))
        self.compute_all(job, plan, ProductSink(plan, vectors, product, transposed))
        return product
