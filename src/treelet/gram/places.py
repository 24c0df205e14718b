"""Where a matrix goes: new memory, an array of the caller's, a file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike

from treelet import _core
from treelet.checks import wrong
from treelet.errors import NotEnoughMemoryError, ParameterError
from treelet.gram.mapped import Mapped
from treelet.gram.matrix_file import DTYPES, SUFFIXES
from treelet.gram.plan import Tile
from treelet.gram.tiles import Values
from treelet.vocabulary import keyword

Shape = tuple[int, int]


def checked_dtype(dtype: DTypeLike, out: Any = None) -> np.dtype[Any]:
    """float64 or float32; an array that is given may not be of another."""
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = np.dtype(object)
    if dtype is None or found not in DTYPES:
        raise wrong("dtype", "'float64' or 'float32'", dtype)
    if isinstance(out, np.ndarray) and found != DTYPES[0] and found != out.dtype:
        raise wrong("dtype", f"that of 'out', {out.dtype}", dtype)
    return out.dtype if isinstance(out, np.ndarray) and out.dtype in DTYPES else found


def allocated(shape: Shape, dtype: np.dtype[Any], budget: int | None) -> Values:
    """New memory, if it may take so much."""
    needed = dtype.itemsize * shape[0] * shape[1]
    what = f"the result, {shape[0]} x {shape[1]}, takes {needed:,} bytes, more than"
    half = f" {keyword('dtype', 'float32', of='treelet.gram')} takes half of it;" if dtype == DTYPES[0] else ""
    ways = f"{half} a file needs none of it: {keyword('out', 'K.npy')}, or an array of yours"
    if budget is not None and needed > budget:
        raise ParameterError(f"{what} the {budget:,} of {keyword('memory')}:{ways}")
    try:
        return np.empty(shape, dtype)
    except (MemoryError, ValueError):  # ValueError: more than any machine can address
        raise NotEnoughMemoryError(f"{what} there is memory for: take fewer examples;{ways}") from None


def checked_place(out: Any, shape: Shape, given: Any) -> Values:
    """An array that the matrix fits into, and in which no value is written over another or over what is compared."""
    problem = _problem(out, shape)
    if problem is None and any(isinstance(data, np.ndarray) and np.may_share_memory(out, data) for data in given):
        problem = "the memory of the examples"
    if problem is not None:
        raise ParameterError(
            f"The 'out' parameter must be a writeable float64 or float32 array of shape {shape}, rows contiguous and apart, or "
            f"the name of a .npy or .zarr file. Got {problem} instead."
        )
    place: Values = out
    return place


def _problem(out: Any, shape: Shape) -> str | None:
    if not isinstance(out, np.ndarray):
        return repr(out) if isinstance(out, str | Path) else type(out).__name__
    found = f"{out.dtype} {out.shape}"
    if out.dtype not in DTYPES or not out.dtype.isnative or out.shape != shape:
        return found
    if not out.flags.writeable:
        return f"{found}, which is read-only"
    if not out.flags.aligned:
        return f"{found}, which is not aligned"
    layout = layout_problem(out)
    return layout and f"{found}, {layout}"


def layout_problem(out: Any) -> str | None:
    """What is wrong with how an array, of NumPy's or a device's, lies in memory."""
    rows, columns = out.shape
    if columns > 1 and out.strides[1] != out.itemsize:
        return "whose rows are not contiguous"
    if rows > 1 and abs(out.strides[0]) < columns * out.itemsize:
        return "whose rows overlap"
    return None


class ArrayPlace:
    """An array; what was written to one that lies in a mapped file takes no memory any more."""

    def __init__(self, out: Values) -> None:
        self._out, self._mapped = out, Mapped.of(out)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._mapped is not None:
            self._mapped.close()

    def write(self, tile: Tile, values: Values) -> None:
        """The values of a tile."""
        with self.tile(tile) as out:
            out[...] = values

    @contextmanager
    def tile(self, tile: Tile) -> Iterator[Values]:
        """That part of the array."""
        yield self._out[tile.rows.slice, tile.columns.slice]
        if self._mapped is not None:
            self._mapped.release()

    def mirror(self, tile: Tile) -> None:
        """Complete a tile above the diagonal from its mirror image."""
        if self._mapped is not None:
            self._mapped.mirror(tile)
        else:
            _core.mirror(self._out, tile.rows.begin, tile.rows.end, tile.columns.begin, tile.columns.end)


def is_file(out: Any) -> bool:
    """Whether it is the name of a file of a matrix."""
    return isinstance(out, str | os.PathLike) and Path(out).suffix.lower() in SUFFIXES
