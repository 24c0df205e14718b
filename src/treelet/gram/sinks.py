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
from treelet.checks import article, in_words, plural, wrong
from treelet.errors import NotEnoughMemoryError, ParameterError
from treelet.gram.plan import Plan, Span, Tile
from treelet.gram.stored.matrix_file import DTYPES, SUFFIXES, RowsInFile
from treelet.gram.tiles import Values
from treelet.kernels.pairwise import Matrix
from treelet.vocabulary import keyword

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


def is_file(out: Any) -> bool:
    """Return whether `out` is the name of a matrix file."""
    return isinstance(out, str | os.PathLike) and Path(out).suffix.lower() in SUFFIXES


def allocated(shape: Shape, dtype: np.dtype[Any], limit: int | None) -> Values:
    """Return a new array, or raise an error if its size exceeds the limit."""
    needed = dtype.itemsize * shape[0] * shape[1]
    if limit is not None and needed > limit:
        larger = f"a larger {keyword('memory')}"
        if dtype == DTYPES[0] and needed // 2 <= limit:
            remedy = f"{_half_size()}, {larger}, or {keyword('out', 'K.npy')} for a file"
        else:
            remedy = f"{larger}, or write the result to a file with {keyword('out', 'K.npy')}"
        limit_text = f"the memory limit of {plural(limit, 'byte')} ({keyword('memory')})"
        raise ParameterError(_too_large(shape, needed, limit_text, remedy))
    try:
        return np.empty(shape, dtype)
    except (MemoryError, ValueError):  # ValueError: more than any machine can address
        half = [_half_size()] if dtype == DTYPES[0] else []
        remedy = in_words(["fewer examples", *half, f"{keyword('out', 'K.npy')} for a file"])
        raise NotEnoughMemoryError(_too_large(shape, needed, "the available memory", remedy)) from None


def _half_size() -> str:
    return f"{keyword('dtype', 'float32', of='treelet.gram')} for half the size"


def _too_large(shape: Shape, needed: int, limit: str, remedy: str) -> str:
    """Return the message about a result of more bytes than the limit."""
    return f"The result of {shape[0]:,} x {shape[1]:,} values takes {needed:,} bytes, more than {limit}. Use {remedy}."


def checked_out(out: Any, shape: Shape, examples: Iterable[Any]) -> Values:
    """Return `out` if it can hold the matrix, or raise `ParameterError`.

    The cells of `out` must not overlap each other or the memory of the examples.
    """
    problem = _problem(out, shape)
    if problem is None and any(isinstance(data, np.ndarray) and np.may_share_memory(out, data) for data in examples):
        problem = "an array that shares memory with the examples"
    if problem is not None:
        wanted = f"an array or a path ending in {in_words(SUFFIXES)}"
        if isinstance(out, np.ndarray):
            wanted = f"a writable float64 or float32 array of shape {shape} with contiguous, non-overlapping rows"
        raise wrong("out", wanted, out, of="gram", got=problem)
    checked: Values = out
    return checked


def _problem(out: Any, shape: Shape) -> str | None:
    if not isinstance(out, np.ndarray):
        return repr(str(out)) if isinstance(out, str | Path) else article(type(out).__name__)
    described = described_array(out)
    if out.dtype not in DTYPES or not out.dtype.isnative or out.shape != shape:
        return described
    if not out.flags.writeable:
        return f"{described} that is read-only"
    if not out.flags.aligned:
        return f"{described} that is not aligned"
    layout = layout_problem(out)
    return layout and f"{described} {layout}"


def described_array(out: Any) -> str:
    """Return the type and shape of an array of NumPy or CuPy, for messages."""
    return f"{article(str(out.dtype))} array of shape {out.shape}"


def layout_problem(out: Any) -> str | None:
    """Return the problem with the memory layout of a NumPy or CuPy array, or None if it is valid."""
    rows, columns = out.shape
    if columns > 1 and out.strides[1] != out.itemsize:
        return "whose rows are not contiguous"
    if rows > 1 and abs(out.strides[0]) < columns * out.itemsize:
        return "whose rows overlap"
    return None


class MappedFile(RowsInFile):
    """A matrix in a file that is mapped for reading and writing. Written pages are released from memory."""

    def __init__(self, out: np.memmap[Any, Any]) -> None:
        self._map: mmap.mmap = out._mmap  # type: ignore[attr-defined]  # NumPy has no public name for the map
        start = out.offset - out.offset % mmap.ALLOCATIONGRANULARITY
        begin = start + out.ctypes.data - np.frombuffer(self._map, np.uint8).ctypes.data
        super().__init__(os.open(str(out.filename), os.O_RDWR), int(begin), out.strides[0], out.dtype)

    @staticmethod
    def of(out: NDArray[Any]) -> MappedFile | None:
        """Return the mapped file of an array, or None if the array is in memory.

        A private map counts as memory, because releasing its pages would lose the written values.
        """
        able = hasattr(mmap, "MADV_DONTNEED")
        if not able or not isinstance(out, np.memmap) or out.mode not in ("r+", "w+") or out.filename is None:
            return None
        return MappedFile(out)

    def release(self) -> None:
        """Release written pages. Their values remain in the file, not in this process."""
        self._map.madvise(mmap.MADV_DONTNEED)

    def close(self) -> None:
        """Close the file. The map stays open."""
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
    """Passes every tile to a function, which several threads call at once."""

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
