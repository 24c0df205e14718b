"""Tiles computed by a GPU and copied where they are needed."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from treelet.checks import wrong
from treelet.device.launching import Array, Device, device_named, out_of_memory
from treelet.errors import DeviceMemoryError, TreeletWarning
from treelet.kernels.pairwise import Matrix, Needs, Pairwise
from treelet.matrices.executors.base import Executor, TileSearch, described_array, layout_problem, tile_products
from treelet.matrices.tiles import FLOAT, Block, Job, Plan, Sink, Tile, bind, fill_tile, plan_matrix
from treelet.printable import shortened
from treelet.progress import Advance, progress_bar
from treelet.resources import Resources


class DeviceExecutor(Executor):
    """Computes tiles on a device. The result of `new_matrix` stays on the device."""

    device: Device

    def __init__(self, resources: Resources) -> None:
        super().__init__(resources)
        self.device = device_named(resources.device)
        self._keeps = False
        self._resident: Array | None = None

    @property
    def budget(self) -> int:
        """Memory limit of the device in bytes."""
        free, limit = self.device.free_bytes(), self.resources.device_memory
        return max(1, free if limit is None else min(limit, free))

    def plan(self, job: Job, *, needs: Needs | None = None, at_once: int = 1, **options: Any) -> Plan:
        return self._plan(job, min(self.resources.memory, self.budget), **options)

    def _plan(self, job: Job, memory: int, **options: Any) -> Plan:
        """Divide a matrix into tiles: a quarter of the memory for one tile, half of it for the index."""
        return plan_matrix(job, threads=1, memory=memory, at_once=2, strips=1, **options)

    @contextmanager
    def limited(self) -> Iterator[None]:
        """Enforce the memory limit of the device, and raise `DeviceMemoryError` if it is exceeded."""
        try:
            with self.device.limited(self.resources.device_memory):
                yield
        except Exception as error:
            full = out_of_memory(self.device, error)
            if full is None or full is error:
                raise
            raise full from None

    def warn_of_copies(self, kernels: Iterable[Any]) -> None:
        names = list(dict.fromkeys(type(kernel).__name__ for kernel in kernels))
        if names:
            warnings.warn(
                f"{', '.join(names)} cannot be computed with device={self.device.name!r}. "
                "One CPU thread computes the values and copies them to the device.",
                TreeletWarning,
                stacklevel=2,
            )

    def prepare(self, kernel: Pairwise, columns: Any, needs: Needs) -> None:
        with self.limited():
            if len(self._plan(Job(kernel, columns[:1], columns), self.budget).blocks) == 1:
                kernel.evaluator(columns[:1], columns).on(self.device)

    def _holds(self, job: Job) -> bool:
        """Return whether a matrix fits into half of the device's memory."""
        return job.shape[0] * job.shape[1] * job.dtype.itemsize <= self.budget // 2

    # --- matrices on the device -----------------------------------------------------------------------------------

    def new_matrix(self, job: Job) -> Array:
        with self.limited():
            return self._fill_on_device(job, self._allocated(job))

    def checked_out(self, job: Job, out: Any, examples: Iterable[Any]) -> Any:
        if isinstance(out, np.ndarray):
            return super().checked_out(job, out, examples)
        if not isinstance(out, self.device.xp.ndarray):
            wanted = "a NumPy or CuPy array, or a path ending in .npy"
            raise wrong("out", wanted, out, of="gram", got=shortened(out))
        wanted = (
            f"a NumPy or CuPy array of shape {job.shape}, float64 or float32, with contiguous, non-overlapping rows"
        )
        if out.shape != job.shape or out.dtype not in (FLOAT, np.float32):
            raise wrong("out", wanted, out, of="gram", got=described_array(out))
        if layout := layout_problem(out):
            raise wrong("out", wanted, out, of="gram", got=f"{described_array(out)} {layout}")
        return out

    def fill(self, job: Job, out: Any) -> Any:
        if not isinstance(out, np.ndarray):
            with self.limited():
                return self._fill_on_device(job, out)
        if self._holds(job):
            with self.limited():
                self.device.copy(self._fill_on_device(job, self._allocated(job)), out)
            return out
        return super().fill(job, out)

    def _fill_on_device(self, job: Job, out: Array) -> Array:
        """Compute a matrix into an array on the device."""
        plan = self._plan(job, self.budget)
        with progress_bar(self.resources.progress, "values", plan.cells) as advance:
            for _ in self._tiles(job, plan.blocks, advance, out):
                pass
        if plan.symmetric and len(out):
            self.device.mirror(out, 0, len(out))
        return out

    def _allocated(self, job: Job) -> Array:
        try:
            return self.device.xp.empty(job.shape, job.dtype)
        except Exception as error:
            full = out_of_memory(self.device, error)
            if full is None:
                raise
            needed = job.dtype.itemsize * job.shape[0] * job.shape[1]
            raise DeviceMemoryError(
                f"The result of {job.shape[0]:,} x {job.shape[1]:,} values takes {needed:,} bytes, more than the free memory of "
                f"device={self.device.name!r}. Pass a NumPy array or a file name as out= to copy the "
                "result tile by tile."
            ) from None

    # --- tiles ----------------------------------------------------------------------------------------------------

    def compute(self, job: Job, blocks: Iterable[Block], sink: Sink, advance: Advance) -> None:
        for tile, values in self._tiles(job, blocks, advance):
            with sink.tile(tile) as out:
                self.device.copy(values, out)

    def search(self, job: Job, search: TileSearch, needs: Needs | None = None) -> None:
        plan = self._plan(job, self.budget, buffers=1)
        with progress_bar(self.resources.progress, "values", plan.cells) as advance:
            for tile, values in self._tiles(job, plan.blocks, advance):
                for candidate in search.choose(tile, values):
                    search.add(candidate)

    def plan_products(self, job: Job) -> Plan:
        self._keeps = self._holds(job)
        return self._plan(job, self.budget, buffers=1)

    def multiply(self, job: Job, plan: Plan, vectors: Matrix, transposed: bool) -> Matrix:
        """Multiply on the device. A matrix that fits into its memory is computed only by the first product."""
        with self.limited():
            factors = self.device.array(vectors)
            if self._keeps:
                if self._resident is None:
                    self._resident = self._fill_on_device(job, self._allocated(job))
                K = self._resident
                return self.device.to_host((K.T if transposed else K) @ factors)
            product = self.device.xp.zeros((plan.shape[1] if transposed else plan.shape[0], vectors.shape[1]))
            with progress_bar(self.resources.progress, "values", plan.cells) as advance:
                for tile, values in self._tiles(job, plan.blocks, advance):
                    for rows, summand in tile_products(tile, values, plan.symmetric, factors, transposed):
                        product[rows.slice] += summand
            return self.device.to_host(product)

    def _tiles(
        self, job: Job, blocks: Iterable[Block], advance: Advance, matrix: Array | None = None
    ) -> Iterator[tuple[Tile, Array]]:
        """Yield each tile with its values on the device: in `matrix`, or in a new array."""
        with self.limited():
            copied: list[Any] = []
            for block in blocks:
                evaluator = bind(job, block).on(self.device)
                if not copied:
                    copied = evaluator.copied_kernels()
                    self.warn_of_copies(copied)
                for tile in block.tiles:
                    if matrix is None:
                        values = self.device.xp.zeros(tile.shape, job.dtype)
                    else:
                        values = matrix[tile.rows.slice, tile.columns.slice]
                    fill_tile(job.kernel, evaluator, tile, values)
                    yield tile, values
                    advance(tile.cells)
