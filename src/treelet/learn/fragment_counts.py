"""Counts of fragments in trees, weighted as in the kernel's feature map: of given fragments, or of all small ones by hashing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from treelet import _core
from treelet.checks import is_integer, wrong
from treelet.errors import KernelOverflowError
from treelet.kernels import Kernel, PartialTree, SubsetTree, Subtree
from treelet.kernels.fragments.search import search_fragments
from treelet.kernels.fragments.weighting import NodeWeighting
from treelet.kernels.pairwise import Vector
from treelet.structures import Tree, Treebank
from treelet.vocabulary import keyword
from treelet.work import run

ROWS = 1 << 15  # trees of which a thread makes rows at once
MOST = 50_000  # fragments at one node that are hashed
LOOKED_AT = 20_000  # fragments of which names are looked for

Rows = Any  # a csr_matrix: SciPy has no types
Arrays = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]


class NativeKernel(NamedTuple):
    """The parameters of a kernel in the form that the native core takes."""

    name: str
    leaves: bool
    lam: float
    mu: float = 1.0

    @staticmethod
    def of(kernel: Kernel) -> NativeKernel:
        if isinstance(kernel, PartialTree):
            return NativeKernel("partial", bool(kernel.leaves), float(kernel.lam), float(kernel.mu))
        if isinstance(kernel, SubsetTree):
            return NativeKernel("subset", bool(kernel.leaves), float(kernel.lam))
        assert isinstance(kernel, Subtree)
        return NativeKernel("complete", False, float(kernel.lam))


def decays(kernel: Kernel, fragments: Treebank) -> Vector:
    r"""The weight of one occurrence of each fragment: :math:`\lambda^{\mathrm{size}/2}`, PT :math:`\mu^{\mathrm{nodes}/2} \lambda^{\mathrm{edge}}`."""
    store, roots = fragments.columns
    kind = NativeKernel.of(kernel)
    factors: Vector
    if kind.name != "partial":
        factors = kind.lam ** (0.5 * store.productions_below[roots])
        return factors
    weights = fragments.weights()
    row = np.repeat(np.arange(len(fragments)), np.diff(weights.start))
    nodes = np.bincount(row, weights.weight, len(fragments))
    edge = np.bincount(row, weights.weight * (store.production[weights.node] < 0), len(fragments))
    factors = kind.mu ** (0.5 * nodes) * kind.lam**edge
    return factors


class FragmentCounter:
    """Counts given distinct fragments, one column per fragment."""

    def __init__(self, kernel: Kernel, fragments: Treebank, scale: float = 1.0) -> None:
        fragments = fragments.compact()
        kind, factor = NativeKernel.of(kernel), np.ascontiguousarray(scale * decays(kernel, fragments))
        self._columns = len(fragments)
        self._native = _core.FragmentMatcher(*fragments.columns, factor, kind.name, kind.leaves, kind.lam)

    def rows(self, bank: Treebank, factors: Vector | None, *, unit: bool = False, threads: int = 1) -> Rows:
        """Return one row per tree, multiplied by its factor, or scaled to length 1 if `unit` is true."""
        return self.of_weights(bank.columns.store, bank.weights(), factors, unit=unit, threads=threads)

    def of_weights(
        self, store: Any, weights: _core.NodeWeights, factors: Vector | None, *, unit: bool = False, threads: int = 1
    ) -> Rows:
        """Return one row per weighted sum of trees, as `rows` does."""
        scale = np.ones(len(weights)) if factors is None else np.ascontiguousarray(factors, np.float64)

        def rows_between(begin: int, end: int) -> Arrays:
            arrays: Arrays = self._native.rows(store, weights, scale, begin, end, unit)
            return arrays

        return in_rows(rows_between, len(weights), self._columns, threads)


class HashedCounter:
    """Counts all fragments up to a size and depth; a hash determines the column of each."""

    def __init__(self, kernel: Kernel, size: int, depth: int | None, columns: int) -> None:
        kind = NativeKernel.of(kernel)
        inside = getattr(kernel, "max_depth", None)
        deepest = min(depth or 2**31 - 1, inside or 2**31 - 1)
        self._kernel, self._size, self._depth, self._columns = kernel, size, deepest, columns
        self._native = _core.HashedFragments(
            kind.name, kind.leaves, kind.lam, kind.mu, size, deepest if deepest < 2**31 - 1 else 0, columns, MOST
        )

    def rows(self, bank: Treebank, *, unit: bool, threads: int = 1) -> tuple[Rows, int]:
        """Return one row per tree, and the number of distinct subtrees at which only smaller fragments were counted."""
        store, weights = bank.columns.store, bank.weights()
        crowded = []

        def rows_between(begin: int, end: int) -> Arrays:
            some = weights if end - begin == len(bank) else weights.take(np.arange(begin, end))
            arrays, too_many = self._native.rows(store, some, unit)
            crowded.append(too_many)
            return arrays

        rows = in_rows(rows_between, len(bank), self._columns, threads)
        return rows, sum(crowded)

    def columns(self, fragments: Treebank) -> NDArray[np.int32]:
        """Return the column of each fragment."""
        store, roots = fragments.columns
        columns: NDArray[np.int32] = self._native.columns(store, np.ascontiguousarray(roots))
        return columns

    def named(self, columns: int | Iterable[int], bank: Treebank) -> dict[int, list[Tree]]:
        """Return the fragments of some columns, among those with the largest weights in some trees."""
        wanted: list[Any] = [columns] if np.isscalar(columns) else list(columns)  # type: ignore[arg-type]
        for column in wanted:
            if not is_integer(column, 0, self._columns - 1):
                raise wrong("columns", f"ints from 0 to {self._columns - 1}", column)
        weighting = NodeWeighting.of(bank.weights())
        trees = [
            fragment.tree
            for fragment in search_fragments(self._kernel, bank.columns.store, (weighting,), LOOKED_AT).fragments
        ]
        by_column: dict[int, list[Tree]] = {int(column): [] for column in wanted}
        if trees:
            for tree, column in zip(trees, self.columns(Treebank(trees)).tolist(), strict=True):
                if column in by_column and self._counts(tree):
                    by_column[column].append(tree)
        return by_column

    def _counts(self, tree: Tree) -> bool:
        nodes = list(tree.nodes())
        size = len(nodes) if isinstance(self._kernel, PartialTree) else sum(1 for node in nodes if node.children)
        return size <= self._size and tree.height() <= self._depth


def in_rows(rows_between: Callable[[int, int], Arrays], n: int, columns: int, threads: int) -> Rows:
    """Return a sparse matrix whose rows are computed in blocks, by threads."""
    size = max(1, min(ROWS, -(-n // threads)))
    block_at: dict[int, Arrays] = {}

    def work(begin: int) -> int:
        block_at[begin] = rows_between(begin, min(n, begin + size))
        return 0

    run(work, range(0, n, size), threads, lambda _: None)
    if len(block_at) == 1:
        start, column, value = block_at[0]
        return _sparse(start, column, value, (n, columns))
    blocks = [block_at[begin] for begin in range(0, n, size)]
    ends = np.cumsum([0, *(len(column) for _, column, _ in blocks)])
    starts = [start[1:] + end for (start, _, _), end in zip(blocks, ends[:-1], strict=True)]
    empty = np.empty(0)
    return _sparse(
        np.concatenate([np.zeros(1, np.int64), *starts]),
        np.concatenate([empty.astype(np.int32), *(column for _, column, _ in blocks)]),
        np.concatenate([empty, *(value for _, _, value in blocks)]),
        (n, columns),
    )


def check_finite(rows: Rows) -> Rows:
    """Return rows unchanged, or raise an error if a number is not finite."""
    if not np.isfinite(rows.data).all():
        bad = int(np.searchsorted(rows.indptr, np.flatnonzero(~np.isfinite(rows.data))[0], side="right")) - 1
        raise KernelOverflowError(
            f"the fragments of example {bad} are too many to count in a float64: use a smaller {keyword('lam')}"
        )
    return rows


def _sparse(start: Any, column: Any, value: Any, shape: tuple[int, int]) -> Rows:
    if len(column) < 2**31:  # what linear machines take
        start = start.astype(np.int32)
    return sp.csr_matrix((value, column, start), shape=shape)
