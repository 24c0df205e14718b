"""Executors compute the tiles of a matrix: threads, a device, or the workers of a Dask cluster (`matrices/cluster.py`)."""

from __future__ import annotations

import copy
import mmap
import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from treelet import _core
from treelet.checks import article, in_words, plural, wrong
from treelet.errors import DeviceMemoryError, NotEnoughMemoryError, ParameterError, TreeletWarning, user_level
from treelet.kernels.pairwise import Evaluator, Matrix, Needs, Pairwise
from treelet.matrices.npy_file import DTYPES, RowsInFile
from treelet.matrices.tiles import (
    Block,
    Job,
    Plan,
    Sink,
    Span,
    Tile,
    Values,
    bind,
    fill_tile,
    mirrored,
    plan_matrix,
)
from treelet.printable import shortened
from treelet.resources import PLAIN, Resources, empty
from treelet.work import Advance, progress_bar, run

if TYPE_CHECKING:
    from treelet.device.launching import Device

# --- destinations of a matrix -----------------------------------------------------------------------------------------

Shape = tuple[int, int]
Take = Callable[[slice, slice, Matrix], object]
"""Receives rows, columns and the values of these cells."""


def checked_dtype(dtype: DTypeLike, out: Any = None, *, of: str = "gram") -> np.dtype[Any]:
    """Return float64 or float32. An `out` array has its own dtype, which must agree with `dtype`."""
    try:
        wanted = np.dtype(dtype)
    except TypeError:
        wanted = np.dtype(object)
    if dtype is None or wanted not in DTYPES:
        raise wrong("dtype", "'float64' or 'float32'", dtype, of)
    if isinstance(out, np.ndarray) and wanted != DTYPES[0] and wanted != out.dtype:
        raise wrong("dtype", f"{out.dtype}, the dtype of 'out'", dtype, of)
    return out.dtype if isinstance(out, np.ndarray) and out.dtype in DTYPES else wanted


def _allocated(shape: Shape, dtype: np.dtype[Any], limit: int | None) -> Values:
    """Return a new array, or raise an error if its size exceeds the limit."""
    needed = dtype.itemsize * shape[0] * shape[1]
    fact = f"The result of {shape[0]:,} x {shape[1]:,} values takes {needed:,} bytes, more than"
    half = "treelet.gram(..., dtype='float32') for half the size"
    if limit is not None and needed > limit:
        if dtype == DTYPES[0] and needed // 2 <= limit:
            remedy = f"{half}, a larger memory=, or out='K.npy' for a file"
        else:
            remedy = "a larger memory=, or write the result to a file with out='K.npy'"
        raise ParameterError(f"{fact} the memory limit of {plural(limit, 'byte')} (memory=). Use {remedy}.")
    try:
        return empty(shape, dtype)
    except NotEnoughMemoryError:
        halves = [half] if dtype == DTYPES[0] else []
        remedy = in_words(["fewer examples", *halves, "out='K.npy' for a file"])
        raise NotEnoughMemoryError(f"{fact} the available memory. Use {remedy}.") from None


def _array_problem(out: Any, shape: Shape) -> str | None:
    """Return why a NumPy or CuPy array cannot hold a matrix, as a noun phrase, or None if it can."""
    described = f"{article(str(out.dtype))} array of shape {out.shape}"
    if out.dtype not in DTYPES or not out.dtype.isnative or out.shape != shape:
        return described
    rows, columns = shape
    if isinstance(out, np.ndarray) and not out.flags.writeable:
        return f"{described} that is read-only"
    if isinstance(out, np.ndarray) and not out.flags.aligned:
        return f"{described} that is not aligned"
    if columns > 1 and out.strides[1] != out.itemsize:
        return f"{described} whose rows are not contiguous"
    if rows > 1 and abs(out.strides[0]) < columns * out.itemsize:
        return f"{described} whose rows overlap"
    return None


class _MappedFile(RowsInFile):
    """A matrix in a file that is mapped for reading and writing. Written pages are released from memory."""

    def __init__(self, out: np.memmap[Any, Any]) -> None:
        self._map: mmap.mmap = out._mmap  # type: ignore[attr-defined]  # NumPy has no public name for the map
        start = out.offset - out.offset % mmap.ALLOCATIONGRANULARITY
        begin = start + out.ctypes.data - np.frombuffer(self._map, np.uint8).ctypes.data
        super().__init__(os.open(str(out.filename), os.O_RDWR), int(begin), out.strides[0], out.dtype)

    @staticmethod
    def of(out: NDArray[Any]) -> _MappedFile | None:
        """Return the mapped file of an array, or None if the array is in memory.

        A private map counts as memory, because releasing its pages would lose the written values.
        """
        able = hasattr(mmap, "MADV_DONTNEED")
        if not able or not isinstance(out, np.memmap) or out.mode not in ("r+", "w+") or out.filename is None:
            return None
        return _MappedFile(out)

    def release(self) -> None:
        """Release written pages. Their values remain in the file, not in this process."""
        self._map.madvise(mmap.MADV_DONTNEED)

    def close(self) -> None:
        """Close the file. The map stays open."""
        os.close(self._file)


class _ArraySink:
    """Writes tiles to an array, which may lie in a mapped file."""

    def __init__(self, out: Values) -> None:
        self._out, self._mapped = out, _MappedFile.of(out)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._mapped is not None:
            self._mapped.close()

    @contextmanager
    def tile(self, tile: Tile) -> Iterator[Values]:
        yield self._out[tile.rows.slice, tile.columns.slice]
        if self._mapped is not None:
            self._mapped.release()

    def mirror(self, tile: Tile) -> None:
        """Complete a tile above the diagonal from its mirror image."""
        if self._mapped is not None:
            self._mapped.mirror(tile)
        else:
            _core.mirror(self._out, tile.rows.begin, tile.rows.end, tile.columns.begin, tile.columns.end)


class _FunctionSink:
    """Passes every tile to a function, which several threads call at once."""

    def __init__(self, take: Callable[[Tile, Values], object]) -> None:
        self._take = take

    @contextmanager
    def tile(self, tile: Tile) -> Iterator[Matrix]:
        values = np.empty(tile.shape)
        yield values
        self._take(tile, values)


class _ProductSink:
    """Multiplies tiles with vectors.

    Products are added in the order of the tiles, so the sum does not depend on timing.
    """

    def __init__(self, plan: Plan, vectors: Matrix, product: Matrix, transposed: bool) -> None:
        self._vectors, self._product, self._transposed, self._symmetric = vectors, product, transposed, plan.symmetric
        self._order = {tile: number for number, tile in enumerate(plan.tiles)}
        self._lock, self._next = Lock(), 0
        self._ready: dict[int, list[tuple[Span, Matrix]]] = {}

    @contextmanager
    def tile(self, tile: Tile) -> Iterator[Matrix]:
        values = np.empty(tile.shape)
        yield values
        summands = list(_tile_products(tile, values, self._symmetric, self._vectors, self._transposed))
        with self._lock:
            self._ready[self._order[tile]] = summands
            while self._next in self._ready:
                for rows, summand in self._ready.pop(self._next):
                    self._product[rows.slice] += summand
                self._next += 1


def _tile_products(
    tile: Tile, values: Any, symmetric: bool, vectors: Any, transposed: bool
) -> Iterator[tuple[Span, Any]]:
    """Yield the rows of a product to which a tile contributes, and the summands."""
    for rows, columns, cells in pieces(tile, values, symmetric):
        if transposed:
            yield columns, cells.T @ vectors[rows.slice]
        else:
            yield rows, cells @ vectors[columns.slice]


def pieces(tile: Tile, values: Matrix, symmetric: bool) -> Iterator[tuple[Span, Span, Matrix]]:
    """Yield rows, columns and values of the cells that a tile determines.

    In a symmetric matrix these include the mirror image of the tile. All tiles of a plan together
    yield every cell once.
    """
    rows, columns = tile.rows, tile.columns
    if not symmetric:
        yield rows, columns, values
        return
    if tile.halves:
        square = values[:, rows.begin :]
        if isinstance(square, np.ndarray):
            _core.mirror(square, 0, len(rows), 0, len(rows))
        else:
            square[...] = np.tril(square) + np.tril(square, -1).T
        yield rows, rows, square
        columns, values = Span(0, rows.begin), values[:, : rows.begin]
    else:  # a block of columns: rows that are also columns of the block are complete
        border = min(max(columns.end, rows.begin), rows.end)
        if border > rows.begin:
            yield Span(rows.begin, border), columns, values[: border - rows.begin]
        rows, values = Span(border, rows.end), values[border - rows.begin :]
    if values.size:
        yield rows, columns, values
        yield columns, rows, values.T


# --- the base class of executors, with the methods that all executors share -------------------------------------------


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
        at_once: int = 1,
    ) -> Plan:
        """Divide a matrix into tiles that fit the memory; see `treelet.matrices.tiles.plan_matrix`."""

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
        return self.fill(job, _allocated(job.shape, job.dtype, self.result_limit))

    def checked_out(self, job: Job, out: Any, examples: Iterable[Any]) -> Any:
        """Return `out` if it can hold the matrix, or raise `ParameterError`.

        `examples` are the uncoerced examples, with which `out` must not share memory.
        """
        if not isinstance(out, np.ndarray):
            got = repr(str(out)) if isinstance(out, str | Path) else article(type(out).__name__)
            raise wrong("out", "an array or a path ending in .npy", out, of="gram", got=got)
        problem = _array_problem(out, job.shape)
        if problem is None and any(
            isinstance(data, np.ndarray) and np.may_share_memory(out, data) for data in examples
        ):
            problem = "an array that shares memory with the examples"
        if problem is not None:
            wanted = f"a writable float64 or float32 array of shape {job.shape} with contiguous, non-overlapping rows"
            raise wrong("out", wanted, out, of="gram", got=problem)
        return out

    def fill(self, job: Job, out: Values) -> Values:
        """Compute a matrix into an array of its shape and dtype."""
        resources = self.resources
        plan = self.plan(job, at_once=resources.threads)
        with _ArraySink(out) as sink:
            self.compute_all(job, plan, sink)
            if plan.symmetric:
                images = mirrored(plan.shape[0], resources.memory // 2, resources.threads)
                run(sink.mirror, images, resources.threads, lambda done: None)
        return out

    def compute_all(self, job: Job, plan: Plan, sink: Sink) -> None:
        """Compute all tiles of a plan and show the progress."""
        what, total = "rows" if job.kernel.searches else "values", sum(tile.steps(job.kernel) for tile in plan.tiles)
        with progress_bar(self.resources.progress, what, total) as advance:
            self.compute(job, plan.blocks, sink, advance)

    def each_tile(self, job: Job, plan: Plan, take: Callable[[Tile, Values], object]) -> None:
        """Pass every tile of a plan to a function, which several threads may call at once."""
        self.compute_all(job, plan, _FunctionSink(take))

    @property
    def pieces(self) -> int:
        """Number of pieces of columns at least, for products from merged rows."""
        return 2

    def remote_sums(self, job: Job) -> Callable[[Sequence[Any]], Iterator[tuple[Any, Any]]] | None:
        """Return a function from pieces of products from merged rows to their sums, or None if this process computes them.

        The examples are sent once. See `ColumnPieces` in `matrices/operator.py`.
        """
        return None

    def keeps_matrix(self, job: Job) -> bool:
        """Return whether `multiply` keeps the whole matrix between products."""
        return False

    def plan_products(self, job: Job) -> Plan:
        """Divide a matrix into tiles for `multiply`."""
        return self.plan(job, buffers=1)

    def multiply(self, job: Job, plan: Plan, vectors: Matrix, transposed: bool) -> Matrix:
        """Return the product of the matrix, or its transpose, with vectors, without storing the matrix."""
        product = np.zeros((plan.shape[1] if transposed else plan.shape[0], vectors.shape[1]))
        self.compute_all(job, plan, _ProductSink(plan, vectors, product, transposed))
        return product


# --- tiles computed by threads of this process ------------------------------------------------------------------------


class ThreadExecutor(Executor):
    """Computes tiles in threads. Blocks of columns are computed in turn; all tiles of a block share an index."""

    def plan(self, job: Job, **options: Any) -> Plan:
        return plan_matrix(job, threads=self.resources.threads, memory=self.resources.memory, **options)

    def compute(self, job: Job, blocks: Iterable[Block], sink: Sink, advance: Advance) -> None:
        threads = self.resources.threads
        for block in blocks:
            evaluator = bind(job, block, threads).ready(threads)
            evaluator.memory = self.resources.memory

            def work(tile: Tile, evaluator: Evaluator = evaluator) -> None:
                with sink.tile(tile) as out:
                    fill_tile(job.kernel, evaluator, tile, out, advance)

            run(work, block.tiles, threads, lambda done: None)

    def search(self, job: Job, search: TileSearch, needs: Needs | None = None) -> None:
        plan = self.plan(job, buffers=1, needs=needs)
        self.each_tile(job, plan, search.take)

    def prepare(self, kernel: Pairwise, columns: Any, needs: Needs) -> None:
        if len(self.plan(Job(kernel, columns[:0], columns), needs=needs).blocks) <= 1:
            kernel.evaluator(columns[:0], columns).ready()


# --- tiles computed by a GPU and copied where they are needed ---------------------------------------------------------


class _DeviceExecutor(Executor):
    """Computes tiles on a device. The result of `new_matrix` stays on the device."""

    device: Device

    def __init__(self, resources: Resources) -> None:
        super().__init__(resources)
        from treelet.device.launching import device_named  # only here: most processes use no device

        self.device = device_named(resources.device)
        self._keeps = False
        self._resident: tuple[Job, Any] | None = None  # the matrix of the latest products, if it fits

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
            full = self.device.out_of_memory(error)
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
                stacklevel=user_level(),
            )

    def prepare(self, kernel: Pairwise, columns: Any, needs: Needs) -> None:
        with self.limited():
            if len(self._plan(Job(kernel, columns[:1], columns), self.budget).blocks) == 1:
                kernel.evaluator(columns[:1], columns).on(self.device)

    def _holds(self, job: Job) -> bool:
        """Return whether a matrix fits into half of the device's memory."""
        return job.shape[0] * job.shape[1] * job.dtype.itemsize <= self.budget // 2

    # --- matrices on the device -----------------------------------------------------------------------------------

    def new_matrix(self, job: Job) -> Any:
        with self.limited():
            return self._fill_on_device(job, self._allocated(job))

    def checked_out(self, job: Job, out: Any, examples: Iterable[Any]) -> Any:
        if isinstance(out, np.ndarray):
            return super().checked_out(job, out, examples)
        if not isinstance(out, self.device.xp.ndarray):
            wanted = "a NumPy or CuPy array, or a path ending in .npy"
            raise wrong("out", wanted, out, of="gram", got=shortened(out))
        if problem := _array_problem(out, job.shape):
            wanted = (
                f"a NumPy or CuPy array of shape {job.shape}, float64 or float32, with contiguous, non-overlapping rows"
            )
            raise wrong("out", wanted, out, of="gram", got=problem)
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

    def _fill_on_device(self, job: Job, out: Any) -> Any:
        """Compute a matrix into an array on the device."""
        plan = self._plan(job, self.budget)
        with progress_bar(self.resources.progress, "values", plan.cells) as advance:
            for _ in self._tiles(job, plan.blocks, advance, out):
                pass
        if plan.symmetric and len(out):
            self.device.mirror(out, 0, len(out))
        return out

    def _allocated(self, job: Job) -> Any:
        try:
            return self.device.xp.empty(job.shape, job.dtype)
        except Exception as error:
            full = self.device.out_of_memory(error)
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

    def keeps_matrix(self, job: Job) -> bool:
        return self._holds(job)

    def plan_products(self, job: Job) -> Plan:
        self._keeps = self._holds(job)
        return self._plan(job, self.budget, buffers=1)

    def multiply(self, job: Job, plan: Plan, vectors: Matrix, transposed: bool) -> Matrix:
        """Multiply on the device. A matrix that fits into its memory is computed only by the first product."""
        with self.limited():
            factors = self.device.array(vectors)
            if self._keeps:
                if self._resident is None or self._resident[0] is not job:
                    self._resident = None  # free its memory first
                    self._resident = job, self._fill_on_device(job, self._allocated(job))
                _, K = self._resident
                return self.device.to_host((K.T if transposed else K) @ factors)
            product = self.device.xp.zeros((plan.shape[1] if transposed else plan.shape[0], vectors.shape[1]))
            with progress_bar(self.resources.progress, "values", plan.cells) as advance:
                for tile, values in self._tiles(job, plan.blocks, advance):
                    for rows, summand in _tile_products(tile, values, plan.symmetric, factors, transposed):
                        product[rows.slice] += summand
            return self.device.to_host(product)

    def _tiles(
        self, job: Job, blocks: Iterable[Block], advance: Advance, matrix: Any = None
    ) -> Iterator[tuple[Tile, Any]]:
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


# --- the choice of an executor ----------------------------------------------------------------------------------------


def executor_for(resources: Resources) -> Executor:
    """Return the executor for the given resources."""
    if resources.device != "cpu":
        return _DeviceExecutor(resources)
    if resources.client is not None:
        from treelet.matrices.cluster import DaskExecutor  # only here: Dask is optional

        return DaskExecutor(resources)
    return ThreadExecutor(resources)


def host_matrix(kernel: Pairwise, X: Any, Y: Any | None = None, resources: Resources = PLAIN) -> Matrix:
    """Return the float64 matrix of coerced examples as a NumPy array, for any executor."""
    return executor_for(resources).host_matrix(Job(kernel, X, Y))
