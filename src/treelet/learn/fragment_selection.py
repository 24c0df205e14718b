"""Selection of the fragments with the largest weights in a model or a collection of trees, and their coefficients."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from treelet import _core
from treelet.checks import is_integer, wrong
from treelet.errors import InputTypeError, KernelOverflowError
from treelet.kernels import Kernel, PartialTree, SubsetTree, Subtree
from treelet.kernels.fragments.search import search_fragments
from treelet.kernels.fragments.weighting import FRAGMENTS, NodeWeighting, SearchResult, has_fragments
from treelet.kernels.pairwise import Matrix, Vector
from treelet.learn.linear_output import LinearOutput, compressed_model, resolve_output, weights_of
from treelet.learn.model import CompressedModel
from treelet.learn.terms import GraphTerm, KernelTerm, Roots, linear_parts
from treelet.structures import Tree, Treebank
from treelet.vocabulary import keyword
from treelet.work import run

ROWS = 1 << 15  # maximum number of trees per task of a thread
MOST = 50_000  # maximum number of fragments per node that are hashed
SEARCHED = 20_000  # number of fragments in the search for names of columns

Rows = Any  # a csr_matrix: SciPy has no types
Arrays = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]


class NativeKernel(NamedTuple):
    """The parameters of a kernel in the form of the native core."""

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
    r"""Return the weight of one occurrence of each fragment.

    The weight is :math:`\lambda^{\mathrm{size}/2}`, or :math:`\mu^{\mathrm{nodes}/2}
    \lambda^{\mathrm{edge}}` for `PartialTree`.
    """
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
            for fragment in search_fragments(self._kernel, bank.columns.store, (weighting,), SEARCHED).fragments
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
            f"The number of fragments of item {bad} is too large for a float64. Use a smaller {keyword('lam')}."
        )
    return rows


def _sparse(start: Any, column: Any, value: Any, shape: tuple[int, int]) -> Rows:
    if len(column) < 2**31:  # Linear models of scikit-learn need 32-bit indices.
        start = start.astype(np.int32)
    return sp.csr_matrix((value, column, start), shape=shape)


class SelectedFragments(NamedTuple):
    """Fragments in the order of selection, each with the number of the kernel's term that counts it."""

    trees: list[Tree]
    parts: list[int]
    exact: bool
    """True if no fragment with a larger weight was missed."""


def listed_parts(kernel: Kernel) -> list[KernelTerm]:
    """Return the terms of a kernel whose fragments can be listed."""
    return [kernel_term for kernel_term in linear_parts(kernel) if has_fragments(kernel_term.inner.kernel)]


def linear_outputs(model: Any) -> list[LinearOutput]:
    """Return the linear functions of a model: one per class or output, or only that of the second of two classes."""
    compressed_model(model, of="FragmentFeatures")
    classes = getattr(model, "classes_", None)
    if classes is not None:
        names = classes.tolist()
        return [resolve_output(model, name) for name in (names[1:] if len(names) == 2 else names)]
    first = resolve_output(model, 0)
    return [first, *(resolve_output(model, number) for number in range(1, first.model.outputs))]


def _terms(function: LinearOutput) -> list[GraphTerm]:
    return [term for term in function.listed if has_fragments(term.kernel_term.inner.kernel)]


def select_from_model(functions: list[LinearOutput], n: int, depth: int | None) -> SelectedFragments:
    """Select the fragments with the largest weights in each function in turn, until there are `n` different ones."""
    kernel = functions[0].model.kernel
    kernel_terms = listed_parts(kernel)
    if not kernel_terms:
        raise InputTypeError(
            f"The fragments of {kernel!r} cannot be features. Use one of the kernels {FRAGMENTS}, or a sum, "
            "multiple or normalized form of these, also on columns."
        )
    limit = n if len(functions) == 1 else min(n, 16 + 2 * n // len(functions))
    while True:
        lists, complete, exact = [], True, True
        for function in functions:
            heaviest: list[tuple[float, int, Tree]] = []
            for term in _terms(function):
                weighting = NodeWeighting.of(weights_of(term, function.mix[None, :]))
                number, scale = term_number(kernel_terms, term.kernel_term), math.exp(-term.shift)
                result = _searched(term.kernel_term.inner.kernel, term.graph.columns.store, weighting, limit, depth)
                heaviest += [(-abs(value) * scale, number, tree) for tree, value, _ in result.fragments]
                complete, exact = complete and result.complete, exact and result.exact
            heaviest.sort(key=lambda entry: entry[0])
            lists.append([(number, tree) for _, number, tree in heaviest[:limit]])
        chosen = _in_turn(lists, n)
        if len(chosen) >= n or complete or limit >= n:
            return SelectedFragments([tree for _, tree in chosen], [number for number, _ in chosen], exact)
        limit = min(n, 2 * limit)


def select_from_trees(kernel: Kernel, X: Any, n: int, depth: int | None) -> SelectedFragments:
    """Select the fragments with the largest sums over the trees' feature vectors."""
    kernel_terms, roots = listed_parts(kernel), Roots(X)
    heaviest: list[tuple[float, int, Tree]] = []
    exact = True
    for number, kernel_term in enumerate(kernel_terms):
        bank = kernel_term.inner.data(X)
        weighting = NodeWeighting.of(bank.weights(), row_factors(roots, kernel_term))
        result = _searched(kernel_term.inner.kernel, bank.columns.store, weighting, n, depth)
        heaviest += [(-abs(value) * kernel_term.factor, number, tree) for tree, value, _ in result.fragments]
        exact = exact and result.exact
    heaviest.sort(key=lambda entry: entry[0])
    return SelectedFragments([tree for _, _, tree in heaviest[:n]], [number for _, number, _ in heaviest[:n]], exact)


def _searched(kernel: Kernel, store: Any, weighting: NodeWeighting, limit: int, depth: int | None) -> SearchResult:
    if depth is not None and isinstance(kernel, SubsetTree):
        kernel = copy.copy(kernel)
        kernel.max_depth = depth if kernel.max_depth is None else min(depth, kernel.max_depth)
        depth = None
    result = search_fragments(kernel, store, (weighting,), limit)
    if depth is None:
        return result
    kept = [fragment for fragment in result.fragments if fragment.tree.height() <= depth]
    return SearchResult(kept, result.complete, result.complete or (result.exact and len(kept) == len(result.fragments)))


def _in_turn(lists: list[list[tuple[int, Tree]]], n: int) -> list[tuple[int, Tree]]:
    taken: dict[tuple[int, Tree], None] = {}
    for entry in itertools.chain.from_iterable(itertools.zip_longest(*lists)):
        if entry is not None and len(taken) < n:
            taken.setdefault(entry)
    return list(taken)


def term_number(kernel_terms: list[KernelTerm], wanted: KernelTerm) -> int:
    """Return the number of the kernel's term that a model's term belongs to."""
    return next(
        k
        for k, kernel_term in enumerate(kernel_terms)
        if kernel_term.inner == wanted.inner and kernel_term.roots == wanted.roots
    )


def row_factors(roots: Roots, kernel_term: KernelTerm) -> Vector | None:
    """Return the factor of a term's vector per example, 0 if a self-value is 0.

    None means that all factors are 1.
    """
    logs = roots.logs(kernel_term.roots)
    return None if logs is None else np.exp(np.where(np.isfinite(logs), -logs, -np.inf))


def scale_of(kernel_term: KernelTerm) -> float:
    """Return the factor of a term's vectors that makes their inner products the term's values."""
    return math.sqrt(kernel_term.factor) if kernel_term.factor > 0 else 1.0


def counters(kernel: Kernel, trees: Treebank, term_numbers: Any) -> list[tuple[KernelTerm, Any, FragmentCounter]]:
    """Return each term of a kernel that has columns, with its columns and its counter."""
    counted = []
    for number, kernel_term in enumerate(listed_parts(kernel)):
        columns = np.flatnonzero(term_numbers == number)
        if len(columns):
            counter = FragmentCounter(kernel_term.inner.kernel, trees[columns], scale_of(kernel_term))
            counted.append((kernel_term, columns, counter))
    return counted


def coefficients(
    functions: list[LinearOutput], counted: list[tuple[KernelTerm, Any, FragmentCounter]], n: int
) -> Matrix:
    """Return the coefficient of each column in each function of a model."""
    out = np.zeros((len(functions), n))
    model: CompressedModel = functions[0].model
    mixes = np.array([function.mix for function in functions])
    for kernel_term, columns, counter in counted:
        for term in _terms(functions[0]):
            if term.kernel_term.inner == kernel_term.inner and term.kernel_term.roots == kernel_term.roots:
                weights: _core.NodeWeights = weights_of(term, mixes)
                rows: Rows = counter.of_weights(term.graph.columns.store, weights, None)
                out[:, columns] += rows.toarray() * (math.exp(-term.shift) / scale_of(kernel_term) ** 2)
    assert model.outputs == mixes.shape[1]
    return out
