"""What a matrix is wanted for, without the matrix: it is computed tile by tile, and only what is asked of a tile is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treelet.checks import check_integer, wrong
from treelet.errors import InputTypeError, ParameterError
from treelet.gram.plan import DEFAULT_MEMORY, Span, Tile, parse_memory
from treelet.gram.tiles import compute, plan_matrix
from treelet.kernels.base import Kernel, Matrix
from treelet.work import count_threads, progress_bar

DEFAULT_K = 10
Take = Callable[[Span, Span, Matrix], None]
"""What becomes of a tile: its rows, its columns, its values, which may be overwritten."""


def nearest(
    kernel: Kernel,
    X: Any,
    Q: Any | None = None,
    k: int | None = None,
    *,
    n_jobs: int | None = 1,
    memory: int | float | str | None = None,
    progress: bool = False,
) -> tuple[Matrix, NDArray[np.int64]]:
    """The examples of a collection with the largest kernel values, exactly.

    Parameters
    ----------
    kernel : Kernel
        Normalised, as a rule: ``SubsetTree().normalized()``. Else large examples are near to everything.
    X : collection
        Where neighbours are looked for.
    Q : collection, optional
        Whose neighbours: one row of the result each. Without it the neighbours of X within X, each but itself.
    k : int, optional
        How many. At most as many as there are; by default 10, or all where there are fewer.
    n_jobs : int
        Threads; -1 for one a core. The result does not depend on it.
    memory : int or str, optional
        How much the work may take besides the examples and the result, such as ``"1GiB"`` (the default).
    progress : bool
        Show a progress bar on the standard error.

    Returns
    -------
    values : ndarray, len(Q) x k
        The largest first.
    indices : ndarray of int, len(Q) x k
        Which examples of X these are. Among equals the smaller number comes first.

    Examples
    --------
    >>> import treelet as tl
    >>> bank = ["(S (NP (N Mary)) (VP (V ran)))", "(S (NP (N cats)) (VP (V sleep)))", "(S (VP (V go)))"]
    >>> values, indices = tl.nearest(tl.SubsetTree(lam=0.4).normalized(), bank, ["(S (NP (N dogs)) (VP (V ran)))"], k=2)
    >>> indices
    array([[0, 1]])
    >>> values.round(2)
    array([[0.77, 0.55]])
    """
    if not isinstance(kernel, Kernel):
        raise InputTypeError(f"nearest needs a kernel first, got {type(kernel).__name__}")
    X = kernel.coerce(X)
    rows = X if Q is None else kernel.coerce(Q)
    there = len(X) - (Q is None)
    if there < 1:
        needed = "two examples or more, or Q" if Q is None else "examples in X"
        raise ParameterError(f"there is nothing to look in: nearest needs {needed}, got {len(X)} in X")
    if k is None:
        k = min(DEFAULT_K, there)
    check_integer("k", k)
    if k > there:
        but = " (each but itself)" if Q is None else ""
        raise wrong("k", f"at most {there}, the number of examples to look in{but}", k)
    values = np.full((len(rows), k), -np.inf)
    indices = np.full((len(rows), k), -1, np.int64)

    def take(row: Span, column: Span, tile: Matrix) -> None:
        if Q is None:
            same = np.arange(max(row.begin, column.begin), min(row.end, column.end))
            tile[same - row.begin, same - column.begin] = -np.inf
        for place, line in enumerate(tile, row.begin):
            best = _largest(line, k)
            known = np.append(values[place], line[best])  # what was found before has smaller numbers
            numbers = np.append(indices[place], best + column.begin)
            order = np.argsort(-known, kind="stable")[:k]
            values[place], indices[place] = known[order], numbers[order]

    with progress_bar(progress, "kernel values", len(rows) * len(X)) as advance:
        each_tile(kernel, rows, X, take, n_jobs=n_jobs, memory=memory, advance=advance)
    return values, indices


def _largest(line: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """The places of the k largest, in ascending order; among equals the first ones."""
    if len(line) <= k:
        return np.arange(len(line))
    least = np.partition(line, len(line) - k)[len(line) - k]
    above, equal = np.flatnonzero(line > least), np.flatnonzero(line == least)
    return np.sort(np.append(above, equal[: k - len(above)]))


def each_tile(
    kernel: Kernel,
    X: Any,
    Y: Any,
    take: Take,
    *,
    n_jobs: int | None = 1,
    memory: int | float | str | None = None,
    advance: Callable[[int], None] = lambda cells: None,
) -> None:
    """Compute the values of X with Y, tile by tile, and give each tile away.

    The tiles of some rows come in the order of their columns, one at a time; those of different rows may come at once, from
    several threads.
    """
    threads, budget = count_threads(n_jobs), parse_memory(memory) or DEFAULT_MEMORY
    plan = plan_matrix(kernel, X, Y, n_jobs=threads, memory=budget, dtype=np.dtype(np.float64), buffers=1)
    compute(kernel, X, Y, plan.blocks, _Given(take), threads, advance)


class _Given:
    """Tiles that are given away."""

    def __init__(self, take: Take) -> None:
        self._take = take

    @contextmanager
    def tile(self, tile: Tile) -> Iterator[Matrix]:
        values = np.empty(tile.shape)
        yield values
        self._take(tile.rows, tile.columns, values)
