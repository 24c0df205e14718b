"""The edit distance of trees and the similarity that it defines, as functions of two examples."""

from __future__ import annotations

import copy
import math
import os
from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from threading import Lock
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from treelet import _core
from treelet.checks import MOST, is_number, wrong
from treelet.errors import InputTypeError, NotEnoughMemoryError, ParameterError
from treelet.kernels.pairwise import CachedIndex, Evaluator, Matrix, Needs, Pairwise, Vector
from treelet.resources import available, check_memory
from treelet.shown import Tabled
from treelet.structures.treebank import Treebank
from treelet.structures.word_vectors import ReadsVectors, WordVectors

# --- costs of edit operations -----------------------------------------------------------------------------------------

Costs = float | Mapping[str, float]
Rename = float | Callable[[str, str], float] | Any
_OTHER = 1.0
"""Cost of labels that a mapping does not contain, and of renaming words without vectors."""
_INTERVAL = f"[0, {MOST:g}]"
"""Costs up to this limit cannot overflow when they are added."""
_CALLS = 1 << 10  # number of calls between two checks for Ctrl-C
NO_COSTS, NO_LABELS, NO_TABLE = np.zeros(0), np.zeros(0, np.int32), np.zeros((0, 0))


def _is_cost(value: Any) -> bool:
    """Return whether the value is a cost: a number from 0 to `MOST`."""
    return is_number(value, 0) and float(value) <= MOST  # a float32 cannot be compared with MOST


def _check_costs(owner: Any, name: str) -> None:
    """Raise `ParameterError` if a parameter is neither a cost nor a mapping from labels to costs."""
    costs = getattr(owner, name)
    if isinstance(costs, Mapping):
        for label, cost in costs.items():
            if not isinstance(label, str) or not _is_cost(cost):
                entry = f"{{{label!r}: {cost!r}}}"
                raise wrong(name, f"a mapping from labels to numbers in {_INTERVAL}", costs, of=owner, got=entry)
    elif not _is_cost(costs):
        raise wrong(name, f"a number in {_INTERVAL}, or a mapping from labels to such numbers", costs, of=owner)


def _check_rename(owner: Any) -> None:
    """Raise `ParameterError` if `rename` is neither a cost, nor a function, nor word vectors.

    A file of word vectors is read by the first computation.
    """
    if isinstance(owner.rename, (str, os.PathLike)):
        return
    try:
        owner._costs()
    except InputTypeError as error:
        expected = f"a number in {_INTERVAL}, a function of two labels, or word vectors"
        raise wrong("rename", expected, owner.rename, of=owner) from error


class _CostTable:
    """Converts the costs of an `EditDistance` for trees of one store.

    Costs by label are looked up once per label, and costs of renaming once per pair of labels of the rows and the
    columns.
    """

    def __init__(self, insert: Costs, delete: Costs, rename: Rename) -> None:
        self.insert, self.delete = insert, delete
        self.constant = float(cast("float", rename)) if _is_cost(rename) else None
        self.rename: Any = rename
        self._known: tuple[dict[str, int], dict[str, int], NDArray[np.float64]] | None = None
        """Rows, columns and costs of the table that `native` has computed."""

    @property
    def by_label(self) -> bool:
        """Whether a cost depends on labels."""
        return any(isinstance(cost, Mapping) for cost in (self.insert, self.delete)) or self.constant is None

    def single(self, source: str | None, target: str | None) -> float:
        """Return the cost of one operation; None stands for no node."""
        if source == target:
            return 0.0
        if source is None or target is None:
            cost, label = (self.insert, target) if source is None else (self.delete, source)
            return float(cost.get(str(label), _OTHER) if isinstance(cost, Mapping) else cost)
        if self.constant is not None:
            return self.constant
        rows, columns, costs = self._known or ({source: 0}, {target: 0}, self._renames([source], [target]))
        return float(costs[rows[source], columns[target]])

    @property
    def cell(self) -> int:
        """Bytes per pair of nodes of two trees, in two tables. Integer costs that do not depend on labels need half."""
        return 8 if not self.by_label and self._constants().integral else 16

    def _constants(self) -> _core.EditCosts:
        insert, delete, rename = float(self.insert), float(self.delete), self.constant or 0.0  # type: ignore[arg-type]
        return _core.EditCosts.of(insert, delete, rename, NO_COSTS, NO_COSTS, NO_LABELS, NO_LABELS, NO_TABLE)

    def table_bytes(self, labels: int) -> int:
        """Return the size of a table of the costs of renaming between so many labels."""
        return 8 * labels**2 if self.constant is None else 0

    def native(self, rows: Treebank, columns: Treebank) -> _core.EditCosts:
        """Return the costs for two banks that share a store, or whose store of rows extends the store of columns."""
        if not self.by_label:
            return self._constants()
        labels = rows.columns.store.labels
        used = [_used_labels(bank) for bank in (rows, columns)]
        insert, inserts = _by_label(self.insert, labels, used[1])
        delete, deletes = _by_label(self.delete, labels, used[0])
        if self.constant is not None:
            return _core.EditCosts.of(insert, delete, self.constant, inserts, deletes, NO_LABELS, NO_LABELS, NO_TABLE)
        numbers = np.full((2, len(labels)), -1, np.int32)
        for number, some in zip(numbers, used, strict=True):
            number[some] = np.arange(len(some))
        texts = [[labels[label] for label in some] for some in used]
        renames = self._renames(*texts)
        if not isinstance(self.rename, WordVectors):  # a cosine of one pair may have another last bit
            places = ({text: place for place, text in enumerate(some)} for some in texts)
            self._known = (*places, renames)  # type: ignore[assignment]
        return _core.EditCosts.of(insert, delete, _OTHER, inserts, deletes, numbers[0], numbers[1], renames)

    def table(self, rows: Treebank, columns: Treebank) -> tuple[list[str], list[str], NDArray[np.float64]]:
        """Return the labels of two banks in alphabetical order, and the costs of renaming between them."""
        first, second = (
            sorted(bank.columns.store.labels[label] for label in _used_labels(bank)) for bank in (rows, columns)
        )
        return first, second, self._renames(first, second)

    def _renames(self, rows: list[str], columns: list[str]) -> NDArray[np.float64]:
        """Return the costs of renaming each label of the rows to each label of the columns."""
        check_memory(
            8 * len(rows) * len(columns),
            f"the table of the costs of renaming {len(rows):,} labels to {len(columns):,} labels",
            "use fewer labels, or a constant cost",
        )
        if isinstance(self.rename, WordVectors):
            return _from_vectors(self.rename, rows, columns)
        costs = np.zeros((len(rows), len(columns)))
        calls = 0
        for number, row in enumerate(rows):
            for other, column in enumerate(columns):
                if row == column:
                    continue
                cost = self.rename(row, column)
                if not _is_cost(cost):
                    raise ParameterError(
                        f"rename({row!r}, {column!r}) must return a number in {_INTERVAL}. Got {cost!r:.60} instead."
                    )
                costs[number, other] = cost
                calls += 1
                if calls % _CALLS == 0:
                    _core.check()
        return costs


def _used_labels(bank: Treebank) -> NDArray[np.int64]:
    """Return the numbers of the labels that occur in the trees of a bank."""
    return np.unique(bank.columns.store.label[bank.weights().node])


def _by_label(cost: Costs, labels: list[str], used: NDArray[np.int64]) -> tuple[float, NDArray[np.float64]]:
    """Return the cost of labels without their own, and, if they differ, the costs of all labels. Only used labels matter."""
    if not isinstance(cost, Mapping):
        return float(cost), NO_COSTS
    costs = np.full(len(labels), _OTHER)
    costs[used] = [cost.get(labels[label], _OTHER) for label in used]
    return _OTHER, costs


def _from_vectors(vectors: WordVectors, rows: list[str], columns: list[str]) -> NDArray[np.float64]:
    """Return 1 minus the cosine, from 0 to 1; 1 if a label has no vector."""
    costs = np.full((len(rows), len(columns)), _OTHER)
    known = [
        np.array([number for number, label in enumerate(labels) if label in vectors], np.int64)
        for labels in (rows, columns)
    ]
    units = [
        vectors.unit[[vectors.index[labels[number]] for number in numbers]]
        for labels, numbers in zip((rows, columns), known, strict=True)
    ]
    if all(len(numbers) for numbers in known):
        costs[np.ix_(*known)] = 1 - np.clip(units[0] @ units[1].T, 0, 1)
    return costs


# --- the edit distance of trees and the similarity that it defines ----------------------------------------------------

_NODE = 128
"""Bytes per node of two trees, besides those per pair of nodes."""
_TABLES = 0.75
"""Share of the memory limit for the tables of all threads. The rest is for the index and the values."""


class _EditEvaluator(Evaluator):
    """An edit distance or similarity bound to rows and columns."""

    def __init__(self, measure: EditMeasure, rows: Treebank, columns: Treebank, kept: Treebank | None) -> None:
        self.kernel, self.rows, self.columns, self.kept = measure, rows, columns, kept
        self.n_rows, self.n_columns = len(rows), len(columns)
        self._native, self._making = None, Lock()
        if not measure.searches:  # a search compares few pairs, so it checks each of them
            _check_pair(rows, columns, measure.edit_distance._costs().cell)

    def native(self) -> Any:
        """Return the columns as the native core needs them. The first call prepares them."""
        with self._making:
            if self._native is None:
                key = self.kernel._index_key()
                make = self._new_columns
                self._native = make() if self.kept is None else self.kept.indexed(key, make)
        return self._native

    def _new_columns(self) -> Any:
        costs = self.kernel.edit_distance._costs().native(self.rows, self.columns)
        return _core.EditColumns(*self.columns.columns, costs, self.kernel.searches)

    def ready(self, threads: int = 1) -> Self:
        self.native()
        return self

    def fill(self, begin: int, end: int, out: Matrix, halves: bool) -> None:
        measure, (store, roots) = self.kernel, self.rows.columns
        worst = math.inf if measure.is_distance else -math.inf
        threshold = worst if measure._threshold is None else float(measure._threshold)
        similarity, best = not measure.is_distance, measure._best or 0
        tables, skipped = _TABLES * self.memory, measure._skipped
        options = (similarity, threshold, best, tables, available(), skipped is not None)
        refused = self.native().rows(store, roots, halves, begin, end, out, *options)
        if skipped is not None:
            skipped += [(row, column + self.first_column) for row, column in refused]
        elif refused:
            raise self._too_large(*refused[0])

    def _too_large(self, row: int, column: int) -> NotEnoughMemoryError:
        """Return the error for a pair whose tables do not fit the memory."""
        first, second = _item(self.rows, row), _item(self.columns, column, self.first_column)
        return NotEnoughMemoryError(
            f"The edit distance of {first} and {second} needs more memory than is free. Compare smaller trees."
        )


def check_sizes(
    first: float,
    second: float,
    cell: int = 16,
    node: int = _NODE,
    names: Sequence[str] = (),
    limit: float = math.inf,
) -> None:
    """Raise `NotEnoughMemoryError` if two trees with so many nodes are too large to compare.

    `cell` is the number of bytes per pair of nodes, and `node` the number of bytes per node. `names` are the names of the
    trees in the message. `limit` is a memory limit besides the free memory.
    """
    one, other = names or (f"a tree with {size:,.0f} nodes" for size in (first, second))
    check_memory(
        int(min(cell * first * second + node * (first + second), 2.0**62)),
        f"the edit distance of {one} and {other}",
        "compare smaller trees",
        limit,
    )


def distance_of(
    a: tuple[Sequence[Any], Sequence[int]],
    b: tuple[Sequence[Any], Sequence[int]],
    make_costs: Callable[[dict[Any, int], Any, NDArray[np.int32]], _core.EditCosts],
) -> float:
    """Return the edit distance of two trees that are not in a bank.

    A tree is given by the labels of its nodes, parents first, and their numbers of children. `make_costs` gets the numbers of
    all labels, a store of both trees, and their roots. Labels that are strings are also those of the store. Check the sizes first
    (`check_sizes`).
    """
    nodes, ends = [*a[0], *b[0]], np.array([len(a[0]), len(a[0]) + len(b[0])])
    order, arity, _ = _core.children_first(np.array([*a[1], *b[1]], dtype=np.int32), ends)
    labels: dict[Any, int] = {}  # numbered as the store does, in the order of their first nodes
    label = np.array([labels.setdefault(nodes[i], len(labels)) for i in order.tolist()], dtype=np.int32)
    texts = [name if isinstance(name, str) else f"\0{number}" for name, number in labels.items()]
    store, roots = _core.build(texts, label, arity, ends)
    columns = _core.EditColumns(store, roots[1:], make_costs(labels, store, roots), False)
    out = np.empty((1, 1))
    columns.rows(store, roots[:1], False, 0, 1, out, False, math.inf, 0)
    return float(out[0, 0])


def _item(bank: Treebank, at: int, shift: int = 0) -> str:
    """Return the name of a tree in an error message. `shift` is the index of the first tree of the bank."""
    place = "" if bank.places is None else f", {bank.places[at]}"
    return f"item {at + shift} ({tree_sizes(bank)[0][at]:,.0f} nodes{place})"


class EditMeasure(Tabled, Pairwise):
    """Base class of `EditDistance` and `EditSimilarity`."""

    is_exact: ClassVar[bool] = True
    _threshold: float | None = None
    _best: int | None = None
    _skipped: list[tuple[int, int]] | None = None
    """Rows and columns of the pairs that a search has skipped, because they are too large. None: such pairs are errors."""

    @property
    @abstractmethod
    def edit_distance(self) -> EditDistance:
        """The distance that defines the values."""

    @property
    def is_symmetric(self) -> bool:
        self.validate()
        costs = self.edit_distance
        return costs.insert == costs.delete and not callable(costs.rename)

    @property
    def searches(self) -> bool:
        return self._threshold is not None or self._best is not None

    def coerce(self, X: Any) -> Treebank:
        return Treebank.of(X)

    def with_cached_index(self, X: Any) -> Treebank:
        return self.coerce(X).with_cached_index()

    def evaluator(self, X: Any, Y: Any | None = None, *, logs: bool = False) -> _EditEvaluator:
        self.validate()
        rows = self.coerce(X)
        if Y is None:
            return _EditEvaluator(self, rows, rows, rows)
        columns, rows = self.coerce(Y).joined(rows)
        return _EditEvaluator(self, rows, columns, columns)

    def for_search(self, threshold: float | None, best: int | None) -> Pairwise:
        measure = copy.copy(self)
        measure._threshold, measure._best = threshold, best
        return measure

    def skipping(self, skipped: list[tuple[int, int]]) -> Self:
        """Return the measure for a search with a threshold that skips some pairs, as if they did not reach it.

        Pairs whose tables do not fit the memory are added to the list `skipped`.
        """
        measure = copy.copy(self)
        measure._skipped = skipped
        return measure

    def _index_key(self) -> Hashable | None:
        """Return the key of cached columns. They depend on the rows if a cost depends on labels."""
        if self.edit_distance._costs().by_label:
            return None
        return self.edit_distance._key(self.searches)

    def needs(self, X: Any, enough: int = 0) -> Needs:
        bank = self.coerce(X)
        largest = max(tree_sizes(bank)[0], default=0.0)
        labels = len(bank.columns.store.labels)
        costs = self.edit_distance._costs()
        index = 256 * len(bank) + 16 * bank.weights().entries + costs.table_bytes(labels)
        # A search computes few distances, and checks the memory for each of them. Smaller tiles would not save any.
        table = 0.0 if self.searches else costs.cell * largest**2
        return Needs(index, int(min(table + _NODE * largest, 2.0**62)))


def tree_sizes(bank: Treebank) -> tuple[Vector, Vector, Vector]:
    """Return the number of nodes of each tree, and the numbers of subproblems from the left and from the right."""
    nodes, left, right = (
        bank.values(("tree sizes", number), lambda number=number: _core.tree_sizes(*bank.columns)[number])  # type: ignore[misc]
        for number in range(3)
    )
    return nodes, left, right


def _check_pair(rows: Treebank, columns: Treebank, cell: int) -> None:
    """Raise `NotEnoughMemoryError` if the largest pair of different trees needs too much memory.

    Both banks share a store, or the store of the rows extends the store of the columns. Equal trees need no memory.
    `cell` is the number of bytes per pair of nodes.
    """
    largest = []
    for bank in (rows, columns):
        roots, first = np.unique(bank.columns.roots, return_index=True)
        sizes = tree_sizes(bank)[0][first]
        largest.append([(sizes[place], roots[place], first[place]) for place in np.argsort(-sizes, kind="stable")[:2]])
    pairs = [(a, b, i, j) for a, root, i in largest[0] for b, other, j in largest[1] if root != other]
    if pairs:
        first_size, second_size, row, column = max(pairs, key=lambda pair: pair[0] * pair[1])
        check_sizes(first_size, second_size, cell, names=(_item(rows, row), _item(columns, column)))


class EditDistance(ReadsVectors, EditMeasure):
    r"""Tree edit distance: the least cost of operations that turn one ordered tree into another.

    The operations insert, delete or rename one node. Deleting a node moves its children up to its
    place; inserting a node is the reverse. Call the distance like a kernel to get a matrix:
    ``d(X)`` or ``d(X, Y)``.

    Parameters
    ----------
    insert, delete : float or mapping from labels to floats, default 1.0
        Cost of inserting or deleting a node, in [0, 1e100]. Labels that a mapping does not contain
        cost 1.
    rename : float, callable or word vectors, default 1.0
        Cost of renaming a node, in [0, 1e100]. A callable takes two labels and returns the cost; it
        is called once per pair of different labels. Word vectors, in any form that `Smoothed`
        accepts, make similar words cheap: the cost is 1 minus the cosine of their vectors, from 0
        to 1. The first computation or copy reads a file, and the distance and its copies keep the
        vectors. Renaming a label to itself always costs 0.

    See Also
    --------
    treelet.edit_script : the operations themselves.
    treelet.nearest : the most similar trees, or all pairs of similar trees.

    Notes
    -----
    The distance of two trees is

    .. math:: d(a, b) = \min_M \sum_{(u, v) \in M} rename(u, v) + \sum_{u \notin M} delete(u) + \sum_{v \notin M} insert(v)

    where the mapping M pairs nodes of `a` and `b` one to one and preserves the order of siblings
    and ancestors (Zhang & Shasha 1989). All nodes count, including words.

    The distance is a metric if `insert` and `delete` are the same, all costs are positive, and
    `rename` is itself a metric on labels. Unit costs are an example. Other costs are allowed: the
    value is still the minimum above, but it may be asymmetric, may be 0 for different trees, or may
    violate the triangle inequality. If `insert` and `delete` differ, or if `rename` is a callable,
    both ``d(a, b)`` and ``d(b, a)`` are computed, and a matrix takes twice the time. A rename that
    costs more than a deletion and an insertion is never used.

    A missing tree (None) counts as a tree without nodes.

    The distance is computed as the cost of deleting one tree and inserting the other, minus the
    largest saving. Its rounding error is therefore about 1e-15 of that cost. To avoid an operation,
    give it a moderately large cost, such as 1000, and not 1e15.

    The dynamic program runs from the left or from the right, whichever has fewer subproblems. In
    practice this is close to the optimal strategy of Pawlik & Augsten (2016). Time and memory grow
    with the product of the sizes: two trees of 100 nodes take about 0.1 ms, and two trees of n
    nodes take 16 n² bytes, or 8 n² with integer costs.

    Examples
    --------
    >>> import treelet as tl
    >>> trees = ["(S (NP (N Mary)) (VP (V ran)))", "(S (NP (N John)) (VP (V ran)))", "(S (VP (V ran)))"]
    >>> d = tl.EditDistance()
    >>> d(trees)
    array([[0., 1., 3.],
           [1., 0., 3.],
           [3., 3., 0.]])
    >>> d.similarity()(trees).round(2)
    array([[1.  , 0.86, 0.57],
           [0.86, 1.  , 0.57],
           [0.57, 0.57, 1.  ]])
    """

    is_distance: ClassVar[bool] = True

    def __init__(self, insert: Costs = 1.0, delete: Costs = 1.0, rename: Rename = 1.0) -> None:
        self.insert = insert
        self.delete = delete
        self.rename = rename
        self.validate()

    def validate(self) -> None:
        _check_costs(self, "insert")
        _check_costs(self, "delete")
        _check_rename(self)

    @property
    def edit_distance(self) -> EditDistance:
        return self

    def similarity(self) -> EditSimilarity:
        """Return the similarity 1 − distance / max(size of a, size of b), which is called like a kernel.

        With unit costs the similarity is at most 1, and 1 only for equal trees. It is negative for
        trees with so different shapes that few nodes can be mapped. The size of a tree is the
        number of its nodes, including words.

        Examples
        --------
        >>> import treelet as tl
        >>> tl.EditDistance().similarity()(["(NP (D the) (N cat))"], ["(NP (D a) (N cat))", "(NP (N cat))"])
        array([[0.8, 0.6]])
        """
        return EditSimilarity(self)

    def distance(self) -> EditDistance:
        """Return the distance itself, so that a distance can replace a similarity or a kernel."""
        return self

    def cached_values(self) -> dict[str, Hashable]:
        return {f"tree sizes {number}": ("tree sizes", number) for number in range(3)}

    def cached_indexes(self, bank: Any) -> dict[str, CachedIndex]:
        keys = self._key(True), self._key(False)  # columns for a search can compute all values, too
        if None in keys or self._costs().by_label:
            return {}
        store, roots = bank.columns
        costs = self._costs().native(bank, bank)
        index = CachedIndex(
            keys,
            lambda: _core.EditColumns(store, roots, costs, True),
            lambda native: native.arrays(),
            lambda arrays: _core.EditColumns.from_arrays(store, arrays, costs),
        )
        return {"index": index}

    def cost_of(self, source: str | None, target: str | None) -> float:
        """Return the cost of one operation: renaming a label to another, or deleting or inserting a label (None).

        Examples
        --------
        >>> import treelet as tl
        >>> d = tl.EditDistance(rename=0.5)
        >>> d.cost_of("cat", "dog"), d.cost_of("cat", None), d.cost_of("cat", "cat")
        (0.5, 1.0, 0.0)
        """
        return self._costs().single(source, target)

    def _costs(self) -> _CostTable:
        """Return the costs as they are now, with the vectors of a file that is read only once."""
        return _CostTable(self.insert, self.delete, self._word_vectors() if self._has_vectors() else self.rename)

    def _has_vectors(self) -> bool:
        return not _is_cost(self.rename) and not callable(self.rename)

    def _given_vectors(self) -> Any:
        return self.rename if self._has_vectors() else None

    def params_by_content(self) -> dict[str, Any]:
        return {**self.get_params(deep=False), "rename": self._costs().rename}


class EditSimilarity(EditMeasure):
    """Similarity of trees, 1 − distance / max(sizes), written ``EditDistance().similarity()``.

    Parameters
    ----------
    distance : EditDistance
        Distance that defines the similarity. With unit costs, the similarity lies in (−1, 1].

    Notes
    -----
    Large values mean that two trees are similar, as for a kernel. With unit costs, a value of 0.8
    means that at most a fifth as many operations as nodes turn one tree into the other. Values
    below 0 are possible, because a tree of the same size and another shape may need more operations
    than it has nodes: the chain ``(a (b (c d)))`` and the star ``(r x y z)`` have distance 6.

    The similarity is not a kernel: its matrix need not be positive semi-definite, so it cannot be
    added, multiplied or used in a support vector machine. Two missing trees have similarity 1.
    """

    def __init__(self, distance: EditDistance) -> None:
        self.distance = distance
        self.validate()

    def validate(self) -> None:
        if not isinstance(self.distance, EditDistance):
            raise wrong("distance", "an EditDistance", self.distance, of=self)
        self.distance.validate()

    @property
    def edit_distance(self) -> EditDistance:
        return self.distance

    def diag(self, X: Any, Y: Any | None = None) -> Vector:
        """Return the similarity of each tree with itself, which is 1, or with the tree of Y in the same row.

        Examples
        --------
        >>> import treelet as tl
        >>> tl.EditDistance().similarity().diag(["(NP (D the) (N cat))"], ["(NP (D a) (N cat))"])
        array([0.8])
        """
        return np.ones(len(self.coerce(X))) if Y is None else super().diag(X, Y)

    def __repr__(self) -> str:
        return f"{self.distance!r}.similarity()"
