"""Destinations of a matrix: an array in memory or in a mapped file, a function, a product with vectors."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from treelet import _core
from treelet.checks import wrong
from treelet.errors import NotEnoughMemoryError, ParameterError
from treelet.gram.plan import Plan, Span, Tile
from treelet.gram.stored.matrix_file import DTYPES, SUFFIXES, RowsInFile
from treelet.gram.tiles import Values
from treelet.kernels.pairwise import Matrix
from treelet.vocabulary import keyword

Shape = tuple[int, int]
Take = Callable[[slice, slice, Matrix], object]
"""Receives rows, columns and the values at these."""


def checked_dtype(dtype: DTypeLike, out: Any = None) -> np.dtype[Any]:
    """Return float64 or float32. An `out` array has its own dtype, which must agree with `dtype`."""
    try:
        wanted = np.dtype(dtype)
    except TypeError:
        wanted = np.dtype(object)
    if dtype is None or wanted not in DTYPES:
        raise wrong("dtype", "'float64' or 'float32'", dtype)
    if isinstance(out, np.ndarray) and wanted != DTYPES[0] and wanted != out.dtype:
        raise wrong("dtype", f"that of 'out', {out.dtype}", dtype)
    return out.dtype if isinstance(out, np.ndarray) and out.dtype in DTYPES else wanted


def is_file(out: Any) -> bool:
    """Return whether `out` is the name of a matrix file."""
    return isinstance(out, str | os.PathLike) and Path(out).suffix.lower() in SUFFIXES


def allocated(shape: Shape, dtype: np.dtype[Any], limit: int | None) -> Values:
    """Return a new array, or raise an error if its size exceeds the limit."""
    needed = dtype.itemsize * shape[0] * shape[1]
    if limit is not None and needed > limit:
        raise ParameterError(_too_large(shape, dtype, f"the {limit:,} of {keyword('memory')}:"))
    try:
        return np.empty(shape, dtype)
    except (MemoryError, ValueError):  # ValueError: more than any machine can address
        raise NotEnoughMemoryError(_too_large(shape, dtype, "there is memory for: take fewer examples;")) from None


def _too_large(shape: Shape, dtype: np.dtype[Any], limit: str) -> str:
    needed = dtype.itemsize * shape[0] * shape[1]
    half = f" {keyword('dtype', 'float32', of='treelet.gram')} takes half of it;" if dtype == DTYPES[0] else ""
    ways = f"{half} a file needs none of it: {keyword('out', 'K.npy')}, or an array of yours"
    return f"the result, {shape[0]} x {shape[1]}, takes {needed:,} bytes, more than {limit}{ways}"


def checked_out(out: Any, shape: Shape, given: Iterable[Any]) -> Values:
    """Return an array that can hold the matrix: its cells do not overlap each other or the examples in `given`."""
    problem = _problem(out, shape)
    if problem is None and any(isinstance(data, np.ndarray) and np.may_share_memory(out, data) for data in given):
        problem = "the memory of the examples"
    if problem is not None:
        raise ParameterError(
            f"The 'out' parameter must be a writable float64 or float32 array of shape {shape}, rows contiguous and apart, or "
            f"the name of a .npy or .zarr file. Got {problem} instead."
        )
    checked: Values = out
    return checked


def _problem(out: Any, shape: Shape) -> str | None:
    if not isinstance(out, np.ndarray):
        return repr(out) if isinstance(out, str | Path) else type(out).__name__
    described = f"{out.dtype} {out.shape}"
    if out.dtype not in DTYPES or not out.dtype.isnative or out.shape != shape:
        return described
    if not out.flags.writeable:
        return f"{described}, which is read-only"
    if not out.flags.aligned:
        return f"{described}, which is not aligned"
    layout = layout_problem(out)
    return layout and f"{described}, {layout}"


def layout_problem(out: Any) -> str | None:
    """Return what is wrong with how an array, of NumPy's or a device's, lies in memory; None if nothing is."""
    rows, columns = out.shape
    if columns > 1 and out.strides[1] != out.itemsize:
        return "whose rows are not contiguous"
    if rows > 1 and abs(out.strides[0]) < columns * out.itemsize:
        return "whose rows overlap"
    return None


class MappedFile(RowsInFile):
    """A matrix in a file that is mapped for reading and writing. Written pages are released, so that they take no memory."""

    def __init__(self, out: np.memmap[Any, Any]) -> None:
        self._map: mmap.mmap = out._mmap  # type: ignore[attr-defined]  # NumPy has no other name for it
        start = out.offset - out.offset % mmap.ALLOCATIONGRANULARITY
        begin = start + out.ctypes.data - np.frombuffer(self._map, np.uint8).ctypes.data
        super().__init__(os.open(str(out.filename), os.O_RDWR), int(begin), out.strides[0], out.dtype)

    @staticmethod
    def of(out: NDArray[Any]) -> MappedFile | None:
        """Return None where the result is in memory. A private map is: releasing its pages would lose what was written."""
        able = hasattr(mmap, "MADV_DONTNEED")
        if not able or not isinstance(out, np.memmap) or out.mode not in ("r+", "w+") or out.filename is None:
            return None
        return MappedFile(out)

    def release(self) -> None:
        """Release the pages that were written: they stay in the file, not in this process."""
        self._map.madvise(mmap.MADV_DONTNEED)

    def close(self) -> None:
        """Close the file; the map stays."""
        os.close(self._file)


class ArraySink:
    """Writes tiles to an array, which may lie in a mapped file."""

    def __init__(self, out: Values) -> None:
        self._out, self._mapped = out, MappedFile.of(out)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._mapped is not None:
            self._mapped.close()

    def write(self, tile: Tile, values: Values) -> None:
        """Write the values of a tile."""
        with self.tile(tile) as out:
            out[...] = values

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


class FunctionSink:
    """Gives every cell of the matrix to a function once; called by several threads at once."""

    def __init__(self, take: Callable[[Tile, Values], object]) -> None:
        self._take = take

    @contextmanager
    def tile(self, tile: Tile) -> Iterator[Matrix]:
        values = np.empty(tile.shape)
        yield values
        self._take(tile, values)


class ProductSink:
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
        summands = list(tile_products(tile, values, self._symmetric, self._vectors, self._transposed))
        with self._lock:
            self._ready[self._order[tile]] = summands
            while self._next in self._ready:
                for rows, summand in self._ready.pop(self._next):
                    self._product[rows.slice] += summand
                self._next += 1


def tile_products(
    tile: Tile, values: Any, symmetric: bool, vectors: Any, transposed: bool
) -> Iterator[tuple[Span, Any]]:
    """Yield what a tile adds to a product, and to which of its rows."""
    for rows, columns, cells in pieces(tile, values, symmetric):
        if transposed:
            yield columns, cells.T @ vectors[rows.slice]
        else:
            yield rows, cells @ vectors[columns.slice]


def pieces(tile: Tile, values: Matrix, symmetric: bool) -> Iterator[tuple[Span, Span, Matrix]]:
    """Yield rows, columns and values of the cells that a tile determines: in a symmetric matrix also its mirror image.

    All tiles of a plan together yield every cell once.
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
