"""Lazy kernel matrices: a `dask.array` whose chunks are tiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

from treelet import _core
from treelet.checks import wrong
from treelet.errors import TreeletError
from treelet.kernels.pairwise import Pairwise
from treelet.matrices.executors import checked_dtype
from treelet.matrices.tiles import Job, Span, Tile, Values, check_pairwise
from treelet.resources import Resources

if TYPE_CHECKING:
    import dask.array

    from treelet.matrices.cluster import Shipment


def lazy_gram(
    kernel: Pairwise,
    X: Any,
    Y: Any | None = None,
    *,
    chunks: Any = "auto",
    dtype: DTypeLike = "float64",
    memory: int | float | str | None = None,
) -> dask.array.Array:
    """Return a kernel matrix as a lazy Dask array, whose chunks are computed when they are needed.

    Without Y the matrix is symmetric. Each chunk above the diagonal is the transpose of a chunk
    below it, so only half of the work is done.

    Parameters
    ----------
    kernel : Kernel or distance
        For example ``SubsetTree(lam=0.4)`` or ``kernel.distance()``.
    X : collection of examples
        Rows of the matrix.
    Y : collection of examples, optional
        Columns of the matrix. Default: X.
    chunks : int, tuple or "auto", default "auto"
        Chunk sizes, as in ``dask.array``. Without Y they must be the same for rows and columns.
    dtype : {"float64", "float32"}, default "float64"
        Type of the result. Values are computed in float64 and rounded.
    memory : int or str, optional
        Memory limit per process for the indexes over columns, for example ``"512MiB"``. As many
        indexes as fit are kept, but always at least one. Default: 1 GiB.

    Returns
    -------
    dask.array.Array
        The values equal those of `treelet.gram` up to rounding.

    Raises
    ------
    TreeletError
        If Dask is not installed (``pip install 'treelet[dask]'``).

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

        from treelet.matrices.cluster import Shipment
    except ImportError as error:
        raise TreeletError(
            f"lazy_gram needs Dask, which cannot be imported ({error}). Install it with pip install 'treelet[dask]'."
        ) from None
    check_pairwise(kernel, "lazy_gram")
    numbers = checked_dtype(dtype, of="lazy_gram")
    room = Resources.of(memory=memory, owner="lazy_gram").memory
    X = kernel.coerce(X)
    Y = Job(kernel, X, None if Y is None else kernel.coerce(Y)).Y
    shape = len(X), len(X if Y is None else Y)
    try:
        cut = normalize_chunks(chunks, shape, dtype=numbers)
    except (ValueError, TypeError) as error:
        raise wrong(
            "chunks", f"chunk sizes of dask.array for the shape {shape} ({error})", chunks, "lazy_gram"
        ) from None
    if Y is None and cut[0] != cut[1]:
        raise wrong("chunks", "the same for rows and columns, because Y is omitted", chunks, "lazy_gram")
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
    out = shipment.values(tile, tile.columns, dtype)
    if symmetric and tile.rows == tile.columns:  # both sides of the diagonal must be equal, bit for bit
        _core.mirror(out, 0, len(out), 0, len(out))
    return out
