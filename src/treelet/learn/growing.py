"""Linear functions in the feature space of a kernel that grow by one example at a time, for online learning.

There are several implementations with the same scores. For sums of tree kernels, linear kernels and
constants, the function is one weighted graph of distinct subtrees (Collins & Duffy 2001, section
5), to which trees are added in place. For a linear kernel on many sparse rows, it is one weight per
feature. Any other kernel uses the kernel matrix of the training rows, if they are few. Otherwise it
uses the matrix of the next block of rows, and a `CompressedModel` of the earlier ones.
"""

from __future__ import annotations

import sys
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from treelet import _core
from treelet.errors import KernelOverflowError
from treelet.kernels.algebra import Constant
from treelet.kernels.base import Kernel
from treelet.kernels.pairwise import Matrix, Vector
from treelet.kernels.store import StoreKernel
from treelet.kernels.vector import Linear
from treelet.learn.model import ROOT_LARGE, CompressedModel
from treelet.learn.terms import Roots, collapses, linear_parts
from treelet.matrices.executors import host_matrix
from treelet.resources import PLAIN, Resources
from treelet.structures.bank import Bank
from treelet.structures.table import Table
from treelet.structures.vectors import Vectors

Rows = NDArray[np.intp]
_WHOLE = 1 << 25  # maximum number of cells of a matrix of all training rows
_WIDTH = 1024  # rows per block if the whole matrix would be larger


class Growing(Protocol):
    """The function f(x) = sum of weight * K(row, x) over the added rows, evaluated on the training rows."""

    width: int
    """Maximum number of rows per call of `expect`."""

    def expect(self, rows: Rows) -> None:
        """Announce the rows that are used by the other methods until the next call."""

    def scores(self, rows: Rows) -> Vector:
        """Return the values of the function. The caller may change the array."""

    def values(self, rows: Rows) -> Matrix:
        """Return the square kernel matrix of some rows."""

    def add(self, row: int, weight: float) -> None:
        """Add weight * K(row, .) to the function."""


def growing(kernel: Kernel | None, data: Any, resources: Resources = PLAIN) -> Growing:
    """Return the fastest implementation for a kernel.

    If `kernel` is None, `data` is a precomputed matrix.
    """
    if kernel is None:
        return _GrowingMatrix(data)
    in_terms = _GrowingSum.of(kernel, data)
    if in_terms is not None:
        return in_terms
    if len(data) ** 2 <= _WHOLE:
        return _GrowingMatrix(host_matrix(kernel, data, resources=resources))
    sparse = _GrowingSparse.of(kernel, data)
    if sparse is not None:
        return sparse
    return _GrowingBlocks(kernel, data, resources)


class _GrowingMatrix:
    """Implementation with the matrix of all rows.

    Adding an example adds a row of the matrix to all scores.
    """

    width = sys.maxsize

    def __init__(self, K: Matrix, scores: Vector | None = None) -> None:
        self.K = K
        self._scores = np.zeros(len(K)) if scores is None else scores

    def expect(self, rows: Rows) -> None:
        pass

    def scores(self, rows: Rows) -> Vector:
        return self._scores[rows]

    def values(self, rows: Rows) -> Matrix:
        return self.K[np.ix_(rows, rows)]

    def add(self, row: int, weight: float) -> None:
        self._scores += weight * self.K[row]


class _GrowingBlocks:
    """Implementation with the matrix of one block of rows. Earlier additions form a `CompressedModel`.

    Memory use is that of the matrix of a block, regardless of the number of rows.
    """

    def __init__(self, kernel: Kernel, data: Any, resources: Resources = PLAIN, width: int = _WIDTH) -> None:
        self.kernel, self.data, self.resources, self.width = kernel, data, resources, width
        self.weights = np.zeros(len(data))
        self._place = np.zeros(len(data), np.intp)
        self._block = _GrowingMatrix(np.empty((0, 0)))

    def expect(self, rows: Rows) -> None:
        support = np.flatnonzero(self.weights)
        here = self.data[rows]
        before = np.zeros(len(rows))
        if len(support):
            model = CompressedModel.of(self.kernel, self.data[support], self.weights[None, support])
            before = model.score_with(here, self.resources)[:, 0]
        self._place[rows] = np.arange(len(rows))
        self._block = _GrowingMatrix(host_matrix(self.kernel, here, resources=self.resources), before)

    def scores(self, rows: Rows) -> Vector:
        return self._block.scores(self._place[rows])

    def values(self, rows: Rows) -> Matrix:
        return self._block.values(self._place[rows])

    def add(self, row: int, weight: float) -> None:
        self.weights[row] += weight
        self._block.add(int(self._place[row]), weight)


class _GrowingSparse:
    """Implementation for a linear kernel on sparse rows: one weight per feature.

    Only nonzero values take time.
    """

    width = sys.maxsize

    def __init__(self, rows: Any, factor: float) -> None:
        self.start, self.feature, self.value = rows.indptr.astype(np.int64), rows.indices, rows.data
        self.factor, self.weights = factor, np.zeros(rows.shape[1])

    @classmethod
    def of(cls, kernel: Kernel, data: Any) -> _GrowingSparse | None:
        """Return the function, or None if the kernel is not linear or the rows are not sparse."""
        kernel_terms = [kernel_term for kernel_term in linear_parts(kernel) if kernel_term.factor != 0]
        if len(kernel_terms) != 1 or type(kernel_terms[0].inner.kernel) is not Linear:
            return None
        vectors = kernel_terms[0].inner.data(data)
        if not vectors.is_sparse:
            return None
        rows = vectors.values.tocsr(copy=True)
        rows.sum_duplicates()
        return cls(rows, kernel_terms[0].factor)

    def expect(self, rows: Rows) -> None:
        pass

    def scores(self, rows: Rows) -> Vector:
        of, places = self._places(rows)
        products = self.value[places] * self.weights[self.feature[places]]
        return np.asarray(self.factor * np.bincount(of, products, minlength=len(rows)), dtype=np.float64)

    def values(self, rows: Rows) -> Matrix:
        of, places = self._places(rows)
        features, column = np.unique(self.feature[places], return_inverse=True)
        block = np.zeros((len(rows), len(features)))
        block[of, column] = self.value[places]
        return np.asarray(self.factor * (block @ block.T), dtype=np.float64)

    def add(self, row: int, weight: float) -> None:
        here = slice(self.start[row], self.start[row + 1])
        self.weights[self.feature[here]] += weight * self.value[here]

    def _places(self, rows: Rows) -> tuple[Rows, Rows]:
        """Return, for all nonzero values of some rows, the position of the row and of the value."""
        sizes = self.start[rows + 1] - self.start[rows]
        of = np.repeat(np.arange(len(rows)), sizes)
        return of, np.arange(len(of)) + np.repeat(self.start[rows] - np.cumsum(sizes) + sizes, sizes)


# --- the function itself ------------------------------------------------------------------------------------------


class _GrowingTerm(Protocol):
    """A term of a function that is stored as weights of features instead of examples."""

    def expect(self, rows: Rows) -> None: ...

    def scores(self, rows: Rows) -> Vector: ...

    def add(self, row: int, weight: float) -> None: ...


class _GrowingGraph:
    """The function of a convolution kernel: one weight per distinct part of a bank.

    The time to add an example grows with its number of nodes. The time to score an example grows
    with the number of its matching pairs with the added examples. Weights of the current block of
    rows grow in place. Earlier blocks have separate graphs. Two graphs of equal age are merged, so
    the number of graphs is at most the logarithm of the number of blocks.
    """

    def __init__(self, kernel: StoreKernel, bank: Any) -> None:
        bank = bank.compact()
        self.kernel, self.store, self.trees = kernel, bank.columns.store, bank.weights()
        self.earlier: list[tuple[int, NDArray[np.int32], Vector, Any]] = []  # age, nodes, weights, graph
        self.added: list[tuple[int, float]] = []
        self.current: Any = None

    def expect(self, rows: Rows) -> None:
        if self.added:
            at, weights = (np.array(column) for column in zip(*self.added, strict=True))
            self._put_away(*_weighted_nodes(self.trees.take(at.astype(np.int64)), weights))
            self.added = []
        nodes = np.unique(self.trees.take(np.ascontiguousarray(rows, dtype=np.int64)).node)
        self.current = self._graph(nodes, np.zeros(len(nodes)))

    def scores(self, rows: Rows) -> Vector:
        trees = self.trees.take(np.ascontiguousarray(rows, dtype=np.int64))
        total, out = np.zeros(len(rows)), np.empty((len(rows), 1))
        for graph in (*(graph for *_, graph in self.earlier), self.current):
            graph.rows(self.store, trees, None, 0, len(rows), out)
            total += out[:, 0]
        return total

    def add(self, row: int, weight: float) -> None:
        self.current.add(self.trees, row, weight)
        self.added.append((row, weight))

    def _put_away(self, nodes: NDArray[np.int32], weights: Vector) -> None:
        age = 1
        while self.earlier and self.earlier[-1][0] <= age:
            older, its_nodes, its_weights, _ = self.earlier.pop()
            age += older
            both, where = np.unique(np.concatenate([its_nodes, nodes]), return_inverse=True)
            nodes, weights = both, _sums(where, np.concatenate([its_weights, weights]), len(both))
        self.earlier.append((age, nodes, weights, self._graph(nodes, weights)))

    def _graph(self, nodes: NDArray[np.int32], weights: Vector) -> Any:
        target = _core.NodeWeights.of(np.array([0, len(nodes)], np.int64), nodes, weights)
        return self.kernel.native(self.store, target, False)


def _weighted_nodes(trees: _core.NodeWeights, weights: Vector) -> tuple[NDArray[np.int32], Vector]:
    """Return the distinct nodes of several trees and the sums of their weighted counts."""
    counts = trees.weight * np.repeat(weights, np.diff(trees.start))
    nodes, where = np.unique(trees.node, return_inverse=True)
    return nodes, _sums(where, counts, len(nodes))


def _sums(where: NDArray[np.intp], values: Vector, n: int) -> Vector:
    return np.asarray(np.bincount(where, values, minlength=n), dtype=np.float64)


class _GrowingVector:
    """The function of a linear kernel: one weight per feature."""

    def __init__(self, data: Vectors) -> None:
        self.values = data.values
        self.weights = np.zeros(self.values.shape[1])

    def expect(self, rows: Rows) -> None:
        pass

    def scores(self, rows: Rows) -> Vector:
        return np.asarray(self.values[rows] @ self.weights, dtype=np.float64)

    def add(self, row: int, weight: float) -> None:
        if isinstance(self.values, np.ndarray):
            self.weights += weight * self.values[row]
        else:
            here = slice(self.values.indptr[row], self.values.indptr[row + 1])
            np.add.at(self.weights, self.values.indices[here], weight * self.values.data[here])


class _GrowingConstant:
    """The function of a constant kernel: a number."""

    def __init__(self, value: float) -> None:
        self.value, self.total = value, 0.0

    def expect(self, rows: Rows) -> None:
        pass

    def scores(self, rows: Rows) -> Vector:
        return np.full(len(rows), self.total)

    def add(self, row: int, weight: float) -> None:
        self.total += weight * self.value


class _GrowingSum:
    """A sum of functions, one per term of `linear_parts`, each normalized if its term is normalized."""

    width = _WIDTH

    def __init__(self, kernel: Kernel, data: Any, terms: list[tuple[float, Vector, _GrowingTerm]]) -> None:
        self.kernel, self.data, self.terms = kernel, data, terms
        self._place = np.zeros(len(data), np.intp)
        self._block: Any = data

    @classmethod
    def of(cls, kernel: Kernel, data: Any) -> _GrowingSum | None:
        """Return the function, or None if a term has another kind of kernel or too large self-values."""
        kernel_terms = [kernel_term for kernel_term in linear_parts(kernel) if kernel_term.factor != 0]
        kinds = [kernel_term.inner.kernel for kernel_term in kernel_terms]
        if not any(collapses(kind) for kind in kinds):
            return None
        if not all(collapses(kind) or type(kind) in (Linear, Constant) for kind in kinds):
            return None
        roots, terms = Roots(data), []
        for kernel_term in kernel_terms:
            logs = roots.logs(kernel_term.roots)
            if logs is not None and (np.abs(logs[np.isfinite(logs)]) > ROOT_LARGE).any():
                return None
            inverse = np.ones(len(data)) if logs is None else np.where(np.isfinite(logs), np.exp(-logs), 0.0)
            terms.append(
                (kernel_term.factor, inverse, _growing_term(kernel_term.inner.kernel, kernel_term.inner.data(data)))
            )
        return cls(kernel, data, terms)

    def expect(self, rows: Rows) -> None:
        for _, _, term in self.terms:
            term.expect(rows)
        # `values` is called group by group. The block has a separate store, so the time of a call
        # does not depend on other trees.
        self._block = _compacted(self.data[rows])
        self._place[rows] = np.arange(len(rows))

    def scores(self, rows: Rows) -> Vector:
        with np.errstate(over="ignore", invalid="ignore"):
            total = np.zeros(len(rows))
            for factor, inverse, term in self.terms:
                total += factor * inverse[rows] * term.scores(rows)
        bad = np.flatnonzero(~np.isfinite(total))
        if len(bad):
            raise KernelOverflowError(
                f"The score of item {rows[bad[0]]} is too large for a float64: values of {self.kernel!r} grow "
                f"exponentially with the size of an item. Use a smaller lam, or kernel.normalized(), which does not "
                "overflow."
            )
        return total

    def values(self, rows: Rows) -> Matrix:
        return host_matrix(self.kernel, self._block[self._place[rows]])

    def add(self, row: int, weight: float) -> None:
        for _, inverse, term in self.terms:
            if inverse[row]:
                term.add(row, weight * float(inverse[row]))


def _compacted(data: Any) -> Any:
    if isinstance(data, Bank):
        return data.compact()
    return Table({name: _compacted(data.column(name)) for name in data.names}) if isinstance(data, Table) else data


def _growing_term(kernel: Kernel, data: Any) -> _GrowingTerm:
    if isinstance(kernel, Constant):
        return _GrowingConstant(float(kernel.value))
    if isinstance(kernel, Linear):
        return _GrowingVector(data)
    return _GrowingGraph(cast(StoreKernel, kernel), data)
