"""A matrix that is not computed yet: a `dask.array` whose chunks are tiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

from treelet import _core
from treelet.checks import wrong
from treelet.errors import TreeletError
from treelet.gram.plan import Span, Tile
from treelet.gram.sinks import checked_dtype
from treelet.gram.tiles import Values, check_pairwise, fill_tile
from treelet.kernels.pairwise import Pairwise
from treelet.resources import Resources

if TYPE_CHECKING:
    import dask.array

    from treelet.gram.executors.shipment import Shipment


def lazy_gram(
    kernel: Pairwise,
    X: Any,
    Y: Any | None = None,
    *,
    chunks: Any = "auto",
    dtype: DTypeLike = "float64",
    memory: int | float | str | None = None,
) -> dask.array.Array:
    """The matrix of a kernel's values as a lazy ``dask.array``: a chunk is computed when something needs it.

    Without Y the matrix is symmetric: each chunk above the diagonal is the transpose of one below it, and computed once.

    Parameters
    ----------
    kernel : Kernel
        Any of treelet's kernels, or a distance (``kernel.distance()``).
    X, Y : collections
        Rows and columns.
    chunks : int, tuple or "auto"
        How the array is cut, as in ``dask.array``; without Y, rows and columns in the same way.
    dtype : "float64" or "float32"
        Values are computed in float64, and rounded.
    memory : int or str, optional
        What indexes over columns may take in one process, such as ``"1GiB"`` (the default): those of as many chunks as fit are
        kept, and one in any case.

    Returns
    -------
    dask.array.Array
        Its values are those of `treelet.gram` to rounding.

    Examples
    --------
    >>> import treelet as tl
    >>> K = tl.lazy_gram(tl.SubsetTree(lam=1), ["(D a)", "(D the)", "(D a)"], chunks=2)
    >>> K.sum(axis=1).compute()
    array([2., 1., 2.])
    """
    try:
        from dask.array import Array
        from dask.array.core import normalize_chunks
        from dask.highlevelgraph import HighLevelGraph

        from treelet.gram.executors.shipment import Shipment
    except ImportError as error:
        raise TreeletError(f"lazy_gram needs Dask: pip install 'treelet[dask]' ({error})") from None
    check_pairwise(kernel, "lazy_gram")
    numbers, room = checked_dtype(dtype), Resources.of(memory=memory).memory
    X = kernel.coerce(X)
    Y = None if Y is None else kernel.coerce(Y)
    shape = len(X), len(X if Y is None else Y)
    try:
        cut = normalize_chunks(chunks, shape, dtype=numbers)
    except (ValueError, TypeError) as error:
        raise wrong("chunks", f"what dask.array can cut {shape} by ({error})", chunks) from None
    if Y is None and cut[0] != cut[1]:
        raise wrong("chunks", "the same for rows and columns: without Y they are the same examples", chunks)
    shipment = Shipment(kernel, X, Y, room)
    name, held = f"kernel-values-{shipment.token}", f"examples-{shipment.token}"
    tasks: dict[Any, Any] = {held: shipment}
    columns = _spans(cut[1])
    for i, rows in enumerate(_spans(cut[0])):
        for j, span in enumerate(columns):
            if Y is None and i < j:
                tasks[name, i, j] = (np.transpose, (name, j, i))
            else:
                tasks[name, i, j] = (_chunk, held, Tile(rows, span), Y is None, numbers.str)
    return Array(HighLevelGraph.from_collections(name, tasks), name, cut, dtype=numbers)


def _spans(sizes: tuple[int, ...]) -> list[Span]:
    ends = np.cumsum(sizes).tolist()
    return [Span(end - size, end) for end, size in zip(ends, sizes, strict=True)]


def _chunk(shipment: Shipment, tile: Tile, symmetric: bool, dtype: str) -> Values:
    out = np.zeros(tile.shape, dtype)
    if out.size:
        fill_tile(shipment.kernel, shipment.evaluator(tile.columns), tile, out)
    if symmetric and tile.rows == tile.columns:  # the same number on both sides of the diagonal
        _core.mirror(out, 0, len(out), 0, len(out))
    return out
