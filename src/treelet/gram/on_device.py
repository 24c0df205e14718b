"""Tiles by a GPU: the same plan and the same tiles as by threads; a tile is computed on the device, and what is wanted of it copied."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from treelet.checks import wrong
from treelet.device.launching import Array, Device, device_named, out_of_memory
from treelet.errors import DeviceMemoryError, ParameterError, TreeletWarning
from treelet.gram.places import layout_problem
from treelet.gram.plan import Block, Plan, Tile, parse_memory
from treelet.gram.tiles import Place, bound, fill_tile, plan_matrix
from treelet.kernels.base import CopiedEvaluator, Evaluator, Pairwise
from treelet.vocabulary import keyword
from treelet.work import Advance, progress_bar

if TYPE_CHECKING:
    from treelet.gram.stored import Job

FLOAT = np.dtype(np.float64)
DEVICES = ("cpu", "cuda", "emulated")


def checked_device(device: Any, device_memory: Any = None, of: object = None) -> int | None:
    """See that it can be a device; the bytes of its memory that may be taken, None for what is free."""
    if not isinstance(device, str) or device not in DEVICES:
        raise wrong("device", "'cpu' or 'cuda'", device, of)
    memory = parse_memory(device_memory, "device_memory")
    if device == "cpu" and memory is not None:
        raise ParameterError(
            f"{keyword('device_memory')} is for {keyword('device', 'cuda')}; of the CPU's memory, {keyword('memory')} says how much may "
            "be taken"
        )
    return memory


def crew_on(device: Any, device_memory: Any = None) -> DeviceCrew | None:
    """What computes on a device of that name; None for the CPU."""
    memory = checked_device(device, device_memory)
    return None if device == "cpu" else DeviceCrew(device_named(device), memory)


def warn_of_copies(kernels: Iterable[Any], device: Device) -> None:
    """Warn of kernels that the CPU computes, for values on a device."""
    names = list(dict.fromkeys(type(kernel).__name__ for kernel in kernels))
    if names:
        warnings.warn(
            f"{keyword('device', device.name)} has no code for {', '.join(names)}: one thread of the CPU computes the values, which are then copied",
            TreeletWarning,
            stacklevel=2,
        )


def copied(evaluator: Evaluator) -> list[Any]:
    """The kernels whose values an evaluator on a device copies there, but for those that cost nothing."""
    if isinstance(evaluator, CopiedEvaluator):
        return [] if evaluator.inner.cheap else [getattr(evaluator.inner, "kernel", evaluator.inner)]
    inner = [evaluator.inner] if hasattr(evaluator, "inner") else getattr(evaluator, "parts", [])
    return [kernel for part in inner for kernel in copied(part)]


class DeviceCrew:
    """A device that computes tiles.

    Parameters
    ----------
    device : Device
    memory : int, optional
        Bytes of its memory that may be taken; by default what is free.
    """

    def __init__(self, device: Device, memory: int | None = None) -> None:
        self.device, self.memory = device, memory

    @property
    def budget(self) -> int:
        """How much may be taken."""
        free = self.device.free_bytes()
        return max(1, free if self.memory is None else min(self.memory, free))

    def plan(
        self,
        kernel: Pairwise,
        X: Any,
        Y: Any | None,
        *,
        memory: int | None = None,
        dtype: np.dtype[Any],
        buffers: int = 0,
        begin: int = 0,
        at_once: int = 1,
        grid: int = 1,
    ) -> Plan:
        """The tiles of a matrix: a quarter of the device's memory for one, half of it for the index."""
        budget = self.budget if memory is None else min(memory, self.budget)
        return plan_matrix(
            kernel,
            X,
            Y,
            n_jobs=1,
            memory=budget,
            dtype=dtype,
            buffers=buffers,
            begin=begin,
            at_once=2,
            grid=grid,
            strips=1,
        )

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Within it no more is taken than may be, and an error says what was not enough."""
        try:
            with self.device.limited(self.memory):
                yield
        except Exception as error:
            full = out_of_memory(self.device, error)
            if full is None or full is error:
                raise
            raise full from None

    def prepare(self, kernel: Pairwise, Y: Any) -> None:
        """Make now what columns that keep it need there, unless they are done in blocks."""
        with self.taken():
            if len(self.plan(kernel, Y[:1], Y, dtype=FLOAT).blocks) == 1:
                kernel.evaluator(Y[:1], Y).on(self.device)

    def holds(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> bool:
        """Whether a matrix fits into half of what there is."""
        return shape[0] * shape[1] * dtype.itemsize <= self.budget // 2

    def matrix(self, job: Job, out: Any = None) -> Array:
        """The matrix on the device, in an array of its own if none is given."""
        xp, device = self.device.xp, self.device
        with self.taken():
            if out is None:
                out = self._allocated(job)
            elif not isinstance(out, xp.ndarray) or out.shape != job.shape or out.dtype not in (FLOAT, np.float32):
                found = f"{getattr(out, 'dtype', type(out).__name__)} {getattr(out, 'shape', '')}"
                raise wrong("out", f"an array of float64 or float32, {job.shape}, of NumPy's or CuPy's", found)
            elif layout := layout_problem(out):
                raise wrong("out", "an array whose rows are contiguous and apart", f"{out.dtype} {out.shape}, {layout}")
            plan = self.plan(job.kernel, job.X, job.Y, dtype=out.dtype)
            with progress_bar(job.progress, "kernel values", plan.cells) as advance:
                for _ in self.tiles(job.kernel, job.X, job.Y, plan.blocks, out.dtype, out, advance):
                    pass
            if plan.symmetric and len(out):
                device.mirror(out, 0, len(out))
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
                f"the result, {job.shape[0]} x {job.shape[1]}, takes {needed:,} bytes, more than there are on device={self.device.name!r}: "
                "give out=, an array of NumPy's or the name of a file, into which it is copied part by part"
            ) from None

    def compute(
        self,
        kernel: Pairwise,
        X: Any,
        Y: Any | None,
        blocks: Iterable[Block],
        place: Place,
        *,
        memory: int | None = None,
        dtype: np.dtype[Any],
        advance: Advance = lambda cells: None,
    ) -> None:
        """Compute the tiles of all blocks, each into its place; as `treelet.gram.tiles.compute`."""
        for tile, values in self.tiles(kernel, X, Y, blocks, dtype, advance=advance):
            with place.tile(tile) as out:
                self.device.copy(values, out)

    def each_found(
        self,
        kernel: Pairwise,
        X: Any,
        Y: Any | None,
        far: Callable[[Tile, Any], list[Any]],
        take: Callable[[Any], object],
        *,
        memory: int | None = None,
        progress: bool = False,
    ) -> None:
        """Let all values of X with Y be searched: `take` gets what `far` finds in a tile, one by one."""
        plan = self.plan(kernel, X, Y, dtype=FLOAT, buffers=1)
        with progress_bar(progress, "kernel values", plan.cells) as advance:
            for tile, values in self.tiles(kernel, X, Y, plan.blocks, FLOAT, advance=advance):
                for found in far(tile, values):
                    take(found)

    def tiles(
        self,
        kernel: Pairwise,
        X: Any,
        Y: Any | None,
        blocks: Iterable[Block],
        dtype: np.dtype[Any],
        matrix: Array | None = None,
        advance: Advance = lambda cells: None,
    ) -> Iterator[tuple[Tile, Array]]:
        """Each tile with its values on the device: in a matrix there, or in memory that is let go."""
        with self.taken():
            warned: list[Any] = []
            for block in blocks:
                evaluator = bound(kernel, X, Y, block, self.device)
                if not warned:
                    warned = copied(evaluator)
                    warn_of_copies(warned, self.device)
                for tile in block.tiles:
                    if matrix is None:
                        values = self.device.xp.zeros(tile.shape, dtype)
                    else:
                        values = matrix[tile.rows.slice, tile.columns.slice]
                    fill_tile(kernel, evaluator, tile, values)
                    yield tile, values
                    advance(tile.cells)
