"""The voted and averaged perceptron for ranking, in dual form, over any kernel."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from treelet import _core
from treelet.checks import check_boolean, check_integer, check_one_of
from treelet.errors import KernelOverflowError, ParameterError
from treelet.kernels.algebra import Constant
from treelet.kernels.base import Kernel
from treelet.kernels.pairwise import Matrix, Vector
from treelet.kernels.store import StoreKernel
from treelet.kernels.terms import Roots, linear_parts
from treelet.kernels.vector import Linear
from treelet.learn.base import (
    NO_QUALITY,
    KernelLearner,
    MatrixColumns,
    Rows,
    checked_groups,
    checked_numbers,
    group_numbers,
)
from treelet.learn.fits import atomic_fit, one_fit
from treelet.learn.model import ROOT_LARGE, CompressedModel, compact_examples, warn_if_missing
from treelet.learn.persist import register, whole_numbers
from treelet.learn.ranking import TIE, Ranker, nothing_to_learn, signed_sums
from treelet.matrices.executors import host_matrix
from treelet.resources import PLAIN, Resources
from treelet.structures.bank import Bank
from treelet.structures.table import Table, stacked
from treelet.structures.vectors import Vectors
from treelet.work import Advance, progress_bar

_WHOLE = 1 << 25  # maximum number of cells of a matrix of all training rows
_WIDTH = 1024  # rows per block if the whole matrix would be larger


class _Growing(Protocol):
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


def _growing(kernel: Kernel | None, data: Any, resources: Resources = PLAIN) -> _Growing:
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


# --- the function itself ----------------------------------------------------------------------------------------------


class _GrowingGraph:
    """The function of a convolution kernel: one weight per distinct part of a bank.

    The time to add an example grows with its number of nodes. The time to score an example grows
    with the number of its matching pairs with the added examples. Weights of the current block of
    rows grow in place. Earlier blocks have separate graphs. Two graphs of equal age are merged, so
    the number of graphs is at most the logarithm of the number of blocks.
    """

    def __init__(self, kernel: Any, bank: Any) -> None:
        bank = bank.compact()
        self.kernel, self.store, self.trees = kernel, bank.columns.store, bank.weights()
        self.earlier: list[tuple[int, NDArray[np.int32], Vector, Any]] = []  # age, nodes, weights, graph
        self.added: list[tuple[int, float]] = []
        self.current: Any = None

    def expect(self, rows: Rows) -> None:
        if self.added:
            at, weights = (np.array(column) for column in zip(*self.added, strict=True))
            trees = self.trees.take(at.astype(np.int64))
            # The distinct nodes of the added trees, and the sums of their weighted counts
            nodes, where = np.unique(trees.node, return_inverse=True)
            counts = trees.weight * np.repeat(weights, np.diff(trees.start))
            self._put_away(nodes, np.bincount(where, counts, len(nodes)).astype(np.float64, copy=False))
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
            weights = np.bincount(where, np.concatenate([its_weights, weights]), len(both)).astype(
                np.float64, copy=False
            )
            nodes = both
        self.earlier.append((age, nodes, weights, self._graph(nodes, weights)))

    def _graph(self, nodes: NDArray[np.int32], weights: Vector) -> Any:
        target = _core.NodeWeights.of(np.array([0, len(nodes)], np.int64), nodes, weights)
        return self.kernel.native(self.store, target, False)


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

    def __init__(self, kernel: Kernel, data: Any, terms: list[tuple[float, Vector, Any]]) -> None:
        self.kernel, self.data, self.terms = kernel, data, terms
        self._place = np.zeros(len(data), np.intp)
        self._block: Any = data

    @classmethod
    def of(cls, kernel: Kernel, data: Any) -> _GrowingSum | None:
        """Return the function, or None if a term has another kind of kernel or too large self-values."""
        kernel_terms = [kernel_term for kernel_term in linear_parts(kernel) if kernel_term.factor != 0]
        kinds = [kernel_term.inner.kernel for kernel_term in kernel_terms]
        are_graphs = [isinstance(kind, StoreKernel) and kind.collapses for kind in kinds]
        others = [kind for kind, is_graph in zip(kinds, are_graphs, strict=True) if not is_graph]
        if not any(are_graphs) or not all(type(kind) in (Linear, Constant) for kind in others):
            return None
        roots, terms = Roots(data), []
        for kernel_term in kernel_terms:
            logs = roots.logs(kernel_term.roots)
            if logs is not None and (np.abs(logs[np.isfinite(logs)]) > ROOT_LARGE).any():
                return None
            inverse = np.ones(len(data)) if logs is None else np.where(np.isfinite(logs), np.exp(-logs), 0.0)
            inner, examples = kernel_term.inner.kernel, kernel_term.inner.data(data)
            term: Any
            if isinstance(inner, Constant):
                term = _GrowingConstant(float(inner.value))
            else:
                term = _GrowingVector(examples) if isinstance(inner, Linear) else _GrowingGraph(inner, examples)
            terms.append((kernel_term.factor, inverse, term))
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


# --- the comparisons of a perceptron within groups --------------------------------------------------------------------

_VOTES = 1 << 22  # maximum number of scores under all weight vectors in memory


@register
class VotingModel:
    """Weight vectors that vote, each once per comparison that it survived.

    A weight vector is the sum of all updates up to it. Only the updates are stored, in order, and
    the scores of all vectors are computed as cumulative sums.

    Parameters
    ----------
    kernel : Kernel or None
        None for a precomputed matrix.
    examples : collection or MatrixColumns
        The support vectors.
    updates : ndarray of shape (n_updates, 2)
        The example that was added and the example that was subtracted, per update.
    survived : ndarray of shape (n_updates,)
        Number of comparisons that the vector after each update survived.
    """

    outputs = 1

    def __init__(
        self, kernel: Kernel | None, examples: Any, updates: NDArray[np.int64], survived: NDArray[np.int64]
    ) -> None:
        self.kernel, self.examples, self.updates, self.survived = kernel, examples, updates, survived

    @classmethod
    def of(
        cls,
        kernel: Kernel | None,
        data: Any,
        support: NDArray[np.int64],
        updates: NDArray[np.int64],
        survived: NDArray[np.int64],
    ) -> VotingModel:
        """Create a model from training examples, the rows of the support vectors, and updates in terms of rows."""
        examples = MatrixColumns(len(data), support) if kernel is None else compact_examples(kernel, data[support])
        return cls(kernel, examples, np.searchsorted(support, updates), survived)

    def votes(self, X: Any, qid: Any, resources: Resources = PLAIN) -> Vector:
        """Return the share of votes of each example in its group.

        Candidates that tie share a vote.
        """
        X = self.examples.values(X) if self.kernel is None else self.kernel.coerce(X)
        groups = checked_groups(qid, len(X))
        shares, scored = np.zeros(len(X)), np.zeros((len(X), 1), bool)
        blocks = _group_blocks(range(len(groups)), groups, max(1, _VOTES // max(1, len(self.examples))))
        with progress_bar(resources.progress, "votes", len(X)) as advance:
            for block in blocks:
                rows = np.concatenate([groups[number] for number in block])
                if self.kernel is None:
                    values = X[rows]
                else:
                    values = host_matrix(self.kernel, X[rows], self.examples, resources)
                    scored[rows, 0] = values.any(axis=1)
                begin = 0
                for number in block:
                    end = begin + len(groups[number])
                    shares[groups[number]] = self._shares(values[begin:end])
                    begin = end
                advance(len(rows))
        if self.kernel is not None:
            warn_if_missing(self.kernel, X, scored)
        return shares

    def _shares(self, values: Matrix) -> Vector:
        """Return the shares of votes in one group from the kernel values with the support vectors."""
        shares, scores, size = np.zeros(len(values)), np.zeros(len(values)), 0.0
        step = max(1, _VOTES // len(values))
        for begin in range(0, len(self.updates), step):
            added, taken = self.updates[begin : begin + step].T
            run = values[:, added] - values[:, taken]
            run[:, 0] += scores
            np.cumsum(run, axis=1, out=run)
            scores = run[:, -1].copy()
            sizes = np.maximum(np.maximum.accumulate(np.abs(run).max(axis=0)), size)
            size = float(sizes[-1])
            tied = run >= run.max(axis=0) - TIE * sizes
            shares += tied @ (self.survived[begin : begin + step] / tied.sum(axis=0))
        return np.asarray(shares / self.survived.sum(), dtype=np.float64)

    def _to_state(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("kernel", "examples", "updates", "survived")}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> VotingModel:
        kernel, examples = state["kernel"], state["examples"]
        updates, survived = whole_numbers(state["updates"], 2), whole_numbers(state["survived"], 1)
        if isinstance(kernel, Kernel):
            examples = kernel.coerce(examples)
        elif kernel is not None or not isinstance(examples, MatrixColumns):
            raise ValueError("a voting model needs a kernel and support vectors")
        if updates.shape != (len(survived), 2) or not len(survived) or updates.max() >= len(examples):
            raise ValueError("updates and support vectors do not match")
        if survived.min() < 1 or survived.max() > 1 << 53:
            raise ValueError("a number of survived comparisons is out of range")
        return cls(kernel, examples, updates, survived)


def _group_blocks(order: Any, groups: Sequence[Rows], width: int) -> list[list[int]]:
    """Divide the numbers of groups into blocks of at most `width` rows, or of a single group."""
    blocks: list[list[int]] = []
    rows = 0
    for number in order:
        size = len(groups[number])
        if not blocks or rows + size > width:
            blocks.append([])
            rows = 0
        blocks[-1].append(int(number))
        rows += size
    return blocks


class _History(NamedTuple):
    """The updates of a perceptron in order.

    Attributes
    ----------
    updates : ndarray of shape (n_updates, 2)
        The row that was added and the row that was subtracted, per update.
    steps : ndarray of shape (n_updates,)
        The number of the comparison that caused each update, counted from 1.
    comparisons : int
        Total number of comparisons.
    errors : list of int
        Number of updates per epoch.
    """

    updates: NDArray[np.int64]
    steps: NDArray[np.int64]
    comparisons: int
    errors: list[int]

    @property
    def survived(self) -> NDArray[np.int64]:
        """Number of comparisons from each update, which creates a weight vector, to the next update."""
        return np.diff(self.steps, append=self.comparisons + 1)

    def then(self, more: _History, *, same_epoch: bool = False) -> _History:
        """Return this history followed by another, whose steps already continue the count of this one."""
        errors = self.errors + more.errors
        return _History(
            np.concatenate([self.updates, more.updates]),
            np.concatenate([self.steps, more.steps]),
            more.comparisons,
            [sum(errors)] if same_epoch else errors,
        )


_NOTHING = _History(np.empty((0, 2), np.int64), np.empty(0, np.int64), 0, [])


class _StreamState(NamedTuple):
    """State of a perceptron between two calls of `partial_fit`.

    Attributes
    ----------
    kernel : Kernel
        The kernel of the first call.
    examples : collection
        Examples that are part of a weight vector, in the kernel's form; None if there are none yet.
    rows : ndarray of int
        Their numbers among all rows, ascending.
    history : History
        All updates, with these row numbers.
    seen : int
        Number of rows so far.
    """

    kernel: Kernel
    examples: Any
    rows: NDArray[np.int64]
    history: _History
    seen: int


def whole_groups(parts: Iterable[tuple[Any, Any, Any]]) -> Iterator[tuple[Any, list[Any], list[Any]]]:
    """Regroup the parts of a file so that no group is split, for `VotedPerceptron.partial_fit`.

    Parameters
    ----------
    parts : iterable of (X, y, qid)
        Examples in order, with adjacent candidates of a group. X can be a bank, a table, an array
        or a list.

    Yields
    ------
    X, y, qid
        The same examples. The last group of a part is moved to the next part.

    Examples
    --------
    >>> from treelet.learn import whole_groups
    >>> parts = [(["(A a)", "(B b)", "(C c)"], [1, 0, 1], [1, 1, 2]), (["(D d)"], [0], [2])]
    >>> [X for X, y, qid in whole_groups(parts)]
    [['(A a)', '(B b)'], ['(C c)', '(D d)']]
    """
    held: tuple[Any, list[Any], list[Any]] | None = None
    for part, y, qid in parts:
        X, values, groups = part, list(y), list(qid)
        if held is not None:
            X, values, groups = stacked(held[0], part), held[1] + values, held[2] + groups
        cut = len(groups)
        while cut and groups[cut - 1] == groups[-1]:
            cut -= 1
        if cut:
            yield X[:cut], values[:cut], groups[:cut]
        held = X[cut:], values[cut:], groups[cut:]
    if held is not None and held[2]:
        yield held


def _one_pass(function: _Growing, contests: list[Rows], order: Any, comparisons: int, advance: Advance) -> _History:
    """Make one pass over the contests in the given order; `comparisons` counts the earlier comparisons."""
    updates: list[tuple[int, int]] = []
    steps: list[int] = []
    for block in _group_blocks(order, contests, function.width):
        function.expect(np.concatenate([contests[number] for number in block]))
        for number in block:
            rows = contests[number]
            for rival in _compared(function, rows):
                updates.append((int(rows[0]), int(rows[rival])))
                steps.append(comparisons + rival)
            comparisons += len(rows) - 1
            advance(1)
    return _History(np.array(updates, np.int64).reshape(-1, 2), np.array(steps, np.int64), comparisons, [len(steps)])


def _contest(rows: Rows, goodness: Vector) -> Rows:
    """Return the row of the correct candidate of a group, followed by the rows of all worse candidates."""
    best = goodness.max()
    first = np.flatnonzero(goodness == best)[:1]
    chosen: Rows = rows[np.concatenate([first, np.flatnonzero(goodness < best)])]
    return chosen


def _compared(function: _Growing, rows: Rows) -> list[int]:
    """Compare the first row of a group with the others (Collins & Duffy 2001, Fig. 3).

    Returns the positions of the rows that the first row did not beat. Each such row updates the
    scores of the group at once. These updates are differences of two rows of the group's own
    matrix, so the function itself is evaluated and changed only once per group.
    """
    scores = function.scores(rows)
    lost: list[int] = []
    for rival in range(1, len(rows)):
        if not scores[0] - scores[rival] > TIE * max(abs(scores[0]), abs(scores[rival])):
            if not lost:
                values = function.values(rows)
            scores += values[0] - values[rival]
            lost.append(rival)
    if lost:
        function.add(int(rows[0]), float(len(lost)))
        for rival in lost:
            function.add(int(rows[rival]), -1.0)
    return lost


# --- the voted and averaged perceptron for ranking, in dual form, over any kernel -------------------------------------

_PREDICTIONS = ("averaged", "voted", "last")


@register
class VotedPerceptron(Ranker, KernelLearner):
    r"""Perceptron that learns to choose the best candidate of each group.

    The algorithm is that of Collins & Duffy (2001, Fig. 3). The correct candidate of a group is the
    first with the largest value of `y`. It is compared with every worse candidate of its group.
    Unless :math:`F(x_{i1}) > F(x_{ij})`, :math:`\alpha_{ij}` grows by 1, that is

    .. math:: w \leftarrow w + h(x_{i1}) - h(x_{ij})

    Groups whose candidates are all equally good have no effect.

    Parameters
    ----------
    kernel : Kernel or "precomputed", optional
        Default: ``SubsetTree().normalized()``. With ``"precomputed"``, X is a kernel matrix.
    epochs : int, default 1
        Number of passes over the training groups, at least 1.
    prediction : {"averaged", "voted", "last"}, default "averaged"
        Scores of `predict`. ``"averaged"`` uses the mean of the weight vectors after each
        comparison. ``"voted"`` lets every weight vector vote for its best candidate of the group,
        once per comparison that it survived; candidates that tie share the vote. A score is then
        the share of votes. This is slower, and `predict` needs the groups (Freund & Schapire 1999).
        ``"last"`` uses the last weight vector.
    shuffle : bool, default False
        Visit the groups in a new random order in each epoch. The default is the order of their
        first appearance.
    random_state : int or RandomState, optional
        Seed for `shuffle`. Nothing else is random.
    n_jobs : int, default 1
        Number of threads for kernel values and predictions. -1 uses one thread per core. Results do
        not depend on `n_jobs`.

    Attributes
    ----------
    update_counts_ : ndarray of shape (n_examples,)
        :math:`\alpha_{ij}`: how often the correct candidate of the group failed to beat each
        training example.
    support_ : ndarray of int
        Indices of the training examples with a nonzero coefficient.
    dual_coef_ : ndarray of shape (1, n_support)
        Their coefficients: for ``"averaged"`` in the mean of the weight vectors, otherwise in the
        last one.
    updates_ : ndarray of shape (n_updates, 2)
        The rows of the correct candidate and of the unbeaten one, for each update in order.
    survived_ : ndarray of shape (n_updates,)
        How many comparisons the weight vector after each update survived, including the comparison
        that caused the update.
    n_updates_, n_comparisons_ : int
        Number of updates and of comparisons.
    errors_ : ndarray of shape (epochs,)
        Number of updates per epoch.
    model_ : CompressedModel or VotingModel
        The model that computes predictions; a `VotingModel` for ``"voted"``.
    prediction_ : str
        Value of `prediction` at the time of the fit.

    Notes
    -----
    The weights can change after every comparison, also within a group, as in the figure of the
    paper. Within a group, this needs only the kernel values between its own candidates.

    For sums of tree kernels, linear kernels and constants, the weights are stored as one growing
    graph of distinct subtrees. The time of a comparison grows with the number of matching node
    pairs between the candidates and the graph. Other kernels need the kernel values with all
    support vectors.

    Scores that differ by less than 1e-10 of their size count as equal, so rounding errors do not
    decide a comparison. This does not hold for scores whose terms cancel almost completely.

    In the cross-validation of scikit-learn, pass groups by metadata routing:
    ``VotedPerceptron().set_fit_request(qid=True).set_score_request(qid=True)``.

    References
    ----------
    Collins & Duffy, "Convolution kernels for natural language", NIPS 2001.
    Freund & Schapire, "Large margin classification using the perceptron algorithm", Machine Learning 37 (1999).

    Examples
    --------
    >>> from treelet.learn import VotedPerceptron
    >>> parses = ["(VP (V saw) (NP (N her)) (PP (P with)))", "(VP (V saw) (NP (N her) (PP (P with))))"]
    >>> parses += ["(VP (V ate) (NP (N it)) (PP (P with)))", "(VP (V ate) (NP (N it) (PP (P with))))"]
    >>> ranker = VotedPerceptron().fit(parses, y=[1.0, 0.5, 1.0, 0.5], qid=[1, 1, 2, 2])
    >>> ranker.rank(parses, qid=[1, 1, 2, 2]).tolist()
    [0, 2]
    """

    _fitted: ClassVar[tuple[str, ...]] = (
        *KernelLearner._fitted,
        "update_counts_",
        "updates_",
        "survived_",
        "n_updates_",
        "n_comparisons_",
        "errors_",
        "prediction_",
    )

    _fitted_private: ClassVar[tuple[str, ...]] = (*KernelLearner._fitted_private, "_stream")
    _models: ClassVar[tuple[type, ...]] = (*KernelLearner._models, VotingModel)
    _stream: _StreamState | None = None  # set by partial_fit

    def __init__(
        self,
        kernel: Kernel | str | None = None,
        epochs: int = 1,
        *,
        prediction: str = "averaged",
        shuffle: bool = False,
        random_state: Any = None,
        n_jobs: int | None = 1,
    ) -> None:
        self.kernel = kernel
        self.epochs = epochs
        self.prediction = prediction
        self.shuffle = shuffle
        self.random_state = random_state
        self.n_jobs = n_jobs

    @atomic_fit()
    def fit(self, X: Any, y: Any, qid: Any = None) -> Self:
        """Fit the ranker to groups of candidates.

        Parameters
        ----------
        X : collection of examples
            Any form that the kernel accepts. With ``kernel="precomputed"``, the square kernel
            matrix of the examples.
        y : array-like of numbers
            The quality of each example. Only the first best candidate of each group and the worse
            ones matter.
        qid : array-like
            The group of each example: numbers or strings. Rows of a group need not be adjacent.

        Returns
        -------
        VotedPerceptron
            The fitted estimator.
        """
        self._check_parameters()
        kernel, data = self._kernel_and_data(X)
        n = len(data)
        goodness, groups = checked_numbers(y, n, NO_QUALITY), checked_groups(qid, n, of=type(self).__name__)
        contests = [rows for rows in (_contest(rows, goodness[rows]) for rows in groups) if len(rows) > 1]
        if not contests:
            raise nothing_to_learn(len(groups))
        function, history = _growing(kernel, data, self._resources), _NOTHING
        random = check_random_state(self.random_state) if self.shuffle else None
        with progress_bar(self._resources.progress, "groups", self.epochs * len(contests)) as advance:
            for _ in range(self.epochs):
                order = range(len(contests)) if random is None else random.permutation(len(contests))
                history = history.then(_one_pass(function, contests, order, history.comparisons, advance))
        self._conclude(kernel, data, np.arange(n), history, n)
        self._remember(kernel, data, goodness, group_numbers(groups, n))
        return self

    @atomic_fit(forget=False)
    def partial_fit(self, X: Any, y: Any, qid: Any = None) -> Self:
        """Continue training with more groups: one pass over them, in order of first appearance.

        Calls with successive parts of a file give the same result as one `fit` to the whole file
        with ``epochs=1`` and ``shuffle=False``. The parameters `epochs` and `shuffle` are ignored
        here. Only examples that are part of a weight vector are kept, so the file may be larger
        than memory. All candidates of a group must be in the same part; see
        `treelet.learn.whole_groups`. The rows in `support_`, `updates_` and `update_counts_` are
        numbered across all parts.

        Parameters
        ----------
        X, y, qid
            As in `fit`, except that ``kernel="precomputed"`` is not supported.

        Returns
        -------
        VotedPerceptron
            The fitted estimator.

        Examples
        --------
        >>> from treelet.learn import VotedPerceptron
        >>> parses = ["(VP (V saw) (NP (N her)) (PP (P with)))", "(VP (V saw) (NP (N her) (PP (P with))))"]
        >>> ranker = VotedPerceptron()
        >>> for block in (parses, [parse.replace("saw", "ate") for parse in parses]):
        ...     ranker = ranker.partial_fit(block, y=[1.0, 0.5], qid=[1, 1])
        >>> ranker.rank(parses, qid=[1, 1]).tolist()
        [0]
        """
        self._check_parameters()
        stream = self._continued()
        kernel = stream.kernel
        data = self._examples(kernel, X)
        n, first, old = len(data), stream.seen, len(stream.rows)
        goodness, groups = checked_numbers(y, n, NO_QUALITY), checked_groups(qid, n, of=type(self).__name__)
        everything = stacked(stream.examples, compact_examples(kernel, data)) if old else compact_examples(kernel, data)
        contests = [old + rows for rows in (_contest(rows, goodness[rows]) for rows in groups) if len(rows) > 1]
        function = _growing(kernel, everything, self._resources)
        # Add all earlier updates to the function, whose first rows are the stored examples.
        added, taken = np.searchsorted(stream.rows, stream.history.updates).T
        weights = signed_sums(added, taken, np.ones(len(added)), old)
        for begin in range(0, old, min(function.width, max(1, old))):
            rows = np.arange(begin, min(begin + function.width, old))
            function.expect(rows)
            for row in rows[weights[rows] != 0].tolist():
                function.add(row, float(weights[row]))
        with progress_bar(self._resources.progress, "groups", len(contests)) as advance:
            more = _one_pass(function, contests, range(len(contests)), stream.history.comparisons, advance)
        numbers = np.concatenate([stream.rows, first + np.arange(n)])
        history = stream.history.then(more._replace(updates=numbers[more.updates]), same_epoch=True)
        if not history.comparisons:
            raise nothing_to_learn(len(groups))
        here = np.union1d(np.arange(old), more.updates.ravel())
        self._stream = _StreamState(
            kernel, compact_examples(kernel, everything[here]), numbers[here], history, first + n
        )
        self.__dict__.pop("training_", None)
        self._conclude(kernel, self._stream.examples, self._stream.rows, history, first + n)
        return self

    def _continued(self) -> _StreamState:
        """Return the state after the earlier parts."""
        if isinstance(self.kernel, str):
            raise self._refuse("kernel", "a kernel or None for partial_fit, which does not store a matrix")
        stream = self._stream
        if stream is None and hasattr(self, "model_"):
            raise ParameterError(
                "partial_fit can continue only from partial_fit, not from fit or from a model file, which do not keep the "
                "training examples. Pass the first part to partial_fit too."
            )
        kernel = self._own_kernel()
        if stream is None:
            return _StreamState(kernel, None, np.empty(0, np.int64), _NOTHING, 0)
        if kernel != stream.kernel:
            raise ParameterError(
                f"partial_fit cannot continue with {kernel!r}: the earlier parts were fitted with {stream.kernel!r}. "
                "Restore that kernel, or start with a new estimator."
            )
        return stream

    def _conclude(self, kernel: Kernel | None, data: Any, numbers: NDArray[np.intp], history: _History, n: int) -> None:
        """Build the model from a history over n rows, of which the rows `numbers` are in `data`."""
        weights = np.ones(len(history.steps))
        if self.prediction == "averaged":
            weights = (history.comparisons + 1 - history.steps) / history.comparisons
        added, taken = history.updates.T
        coefficients = signed_sums(added, taken, weights, n)
        support = np.flatnonzero(coefficients)
        here = np.searchsorted(numbers, support)
        if self.prediction == "voted":
            self.dual_coef_ = coefficients[None, support]
            updates = np.searchsorted(numbers, history.updates)
            self.model_ = VotingModel.of(kernel, data, here.astype(np.int64), updates, history.survived)
        else:
            self._keep(kernel, data, here, coefficients[None, support])
        self.support_ = support.astype(np.int64)
        self.update_counts_ = np.bincount(taken, minlength=n).astype(np.int64)
        self.updates_, self.survived_ = history.updates, history.survived
        self.n_updates_, self.n_comparisons_ = len(history.steps), history.comparisons
        self.errors_ = np.array(history.errors, dtype=np.int64)
        self.prediction_ = self.prediction

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("epochs", self.epochs, of=self)
        check_one_of("prediction", self.prediction, _PREDICTIONS, of=self)
        check_boolean("shuffle", self.shuffle, of=self)

    @one_fit
    def predict(self, X: Any, qid: Any = None) -> Vector:
        """Return the score of each example. Larger scores are better within a group.

        Parameters
        ----------
        X : collection of examples
            As in `fit`. With ``kernel="precomputed"``, a matrix of examples x training examples.
        qid : array-like, optional
            The group of each example. Required for ``prediction="voted"``, where a score is the
            share of the votes in the group.

        Returns
        -------
        ndarray of shape (len(X),)
        """
        check_is_fitted(self)
        if not isinstance(self.model_, VotingModel):
            return super().predict(X, qid)
        if qid is None:
            raise ParameterError(
                "qid is missing: with prediction='voted', predict needs to know which examples belong to the same "
                "sentence or query. Pass qid=, or fit with prediction='averaged'."
            )
        if self._limits is not None and self.model_.kernel is not None:
            X = self._coerced(self.model_.kernel, X)
        return self.model_.votes(X, qid, self._resources)

    def _check_fitted_state(self) -> None:
        super()._check_fitted_state()
        if self.prediction_ not in _PREDICTIONS or (self.prediction_ == "voted") != isinstance(
            self.model_, VotingModel
        ):
            raise ValueError("the model does not match the kind of prediction")
        updates, survived = whole_numbers(self.updates_, 2), whole_numbers(self.survived_, 1)
        if (
            updates.shape != (len(survived), 2)
            or self.n_updates_ != len(survived)
            or whole_numbers(self.update_counts_, 1).size == 0
        ):
            raise ValueError("the updates are inconsistent")
        if type(self.n_comparisons_) is not int or whole_numbers(self.errors_, 1).size == 0:
            raise ValueError("the numbers of comparisons and errors are missing")
