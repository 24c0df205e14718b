"""Bags: examples that consist of several trees or other objects, compared pair by pair."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treelet import _core
from treelet.checks import article
from treelet.errors import FormatError, InputTypeError, KernelOverflowError, TreeletError
from treelet.kernels.algebra import Normalized
from treelet.kernels.base import Kernel
from treelet.kernels.pairwise import Evaluator, Matrix, Needs, Vector
from treelet.kernels.store import StoreKernel, StoreRows
from treelet.kernels.values import CellEvaluator, check_inner, check_logs, check_values, fits, inverse_roots, to_logs
from treelet.structures.bank import MOST_KNOWN, Bank, is_missing, one_column, row_index
from treelet.structures.table import stacked
from treelet.structures.tree import Tree

_CELLS = 1 << 20  # maximum number of member pairs in memory at a time


class Bags:
    """Bags of examples: all members in one collection, and the index at which each bag starts."""

    __slots__ = ("_known", "members", "start")

    def __init__(self, members: Any, start: NDArray[np.int64]) -> None:
        self.members, self.start = members, start
        self._known: dict[Hashable, Vector] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return Bags, (self.members if len(self.members) else [], self.start)  # empty members have no type

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def shape(self) -> tuple[int]:
        """``(len(bags),)``."""
        return (len(self),)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of members of each bag."""
        return np.diff(self.start)

    def __getitem__(self, index: Any) -> Any:
        """Return the members of one bag, or a selection of bags."""
        rows = row_index(index, len(self), "collection of bags")
        if isinstance(rows, int):
            members = self.members[int(self.start[rows]) : int(self.start[rows + 1])]
            return members if isinstance(members, Bank) else list(members)  # so that the result is a bag again
        chosen = np.arange(len(self))[rows]
        sizes = self.sizes[chosen]
        start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        places = np.repeat(self.start[chosen] - start[:-1], sizes) + np.arange(start[-1])
        selection = Bags(self.members[places] if len(places) else self.members[:0], start)
        selection._known = {key: values[chosen] for key, values in list(self._known.items())}
        return selection

    def values(self, key: Hashable | None, compute: Callable[[], Vector]) -> Vector:
        """Return numbers per bag, such as self-values, which are cached if there is a key."""
        if key is None:
            return compute()
        if key not in self._known:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[key] = compute()
            self._known[key].setflags(write=False)
        return self._known[key]

    def compact(self) -> Bags:
        """Return the same bags over a bank that contains nothing else."""
        return Bags(self.members.compact() if hasattr(self.members, "compact") else self.members, self.start)

    @staticmethod
    def concat(parts: Sequence[Bags]) -> Bags:
        """Return all bags of several collections, one collection after the other."""
        members = [part.members for part in parts if len(part.members)] or [parts[0].members]
        start = np.concatenate([[0], np.cumsum(np.concatenate([part.sizes for part in parts]))])
        return Bags(reduce(stacked, members), start.astype(np.int64))

    def __repr__(self) -> str:
        return f"<Bags: {len(self)} of {int(self.start[-1])} members>"


def _as_bags(X: Any, kernel: Kernel) -> Bags:
    """Return bags with their members in the form that the kernel computes with."""
    if isinstance(X, Bags):
        if len(X.members) == 0:
            return X
        members = kernel.coerce(X.members)
        return X if members is X.members else Bags(members, X.start)
    if isinstance(X, (str, bytes, Mapping, Tree, Bank)) or not hasattr(X, "__iter__"):
        hint = " Put it in a list to make it one bag." if isinstance(X, Bank) else ""
        raise InputTypeError(
            f"X must be a list of bags, each a list of examples. Got {article(type(X).__name__)}.{hint}"
        )
    cells = isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 2 and X.shape[1] == 1
    if not isinstance(X, np.ndarray) or (cells and not any(isinstance(cell, (str, Tree)) for cell in X[:, 0])):
        X = one_column(X, "bags")
    bags = [[] if is_missing(bag) else bag for bag in X]
    for number, bag in enumerate(bags):
        if not isinstance(bag, (list, tuple, Bank, np.ndarray)):
            raise InputTypeError(
                f"Bag {number} is {article(type(bag).__name__)}, but a bag must be a list of examples. "
                "Put a single example in a list."
            )
    start = np.concatenate([[0], np.cumsum([len(bag) for bag in bags])]).astype(np.int64)
    if bags and isinstance(bags[0], Bank) and all(type(bag) is type(bags[0]) for bag in bags):
        return Bags(kernel.coerce(type(bags[0]).concat(bags)), start)
    members = [member for bag in bags for member in bag]
    if not members:
        return Bags([], start)
    try:
        return Bags(kernel.coerce(members), start)
    except TreeletError:
        for number, bag in enumerate(bags):  # repeat bag by bag, to name the bag in the error
            _coerce_one(number, list(bag), kernel)
        raise


def _coerce_one(number: int, bag: list[Any], kernel: Kernel) -> None:
    try:
        if bag:
            kernel.coerce(bag)
    except FormatError as error:
        raise type(error)(error.message, f"bag {number}, {error.source}", error.line, error.column) from None
    except TreeletError as error:
        raise type(error)(f"bag {number}: {error}") from None


# --- store kernels: a bag is a weighted sum of parts, like one example --------------------------------------------


def _store_kernel(kernel: Kernel) -> StoreKernel | None:
    """Return the kernel under which the members of a bag can be added up, if there is one."""
    inner = kernel.kernel if isinstance(kernel, Normalized) else kernel
    return inner if isinstance(inner, StoreKernel) else None


def _summed(members: Bank[Any], start: NDArray[np.int64], kernel: Kernel) -> StoreRows:
    """Return bags as rows over the store of their members: each row is the sum of the members' rows."""
    of_members = StoreRows.of(members)
    store, weights, _ = of_members
    node, weight = weights.node.astype(np.int64), weights.weight
    lengths = np.diff(weights.start)
    if isinstance(kernel, Normalized):  # the normalization is one factor per member
        weight = weight * np.repeat(inverse_roots(kernel.kernel.self_values(members)), lengths)
    bag = np.repeat(np.repeat(np.arange(len(start) - 1), np.diff(start)), lengths)
    order = np.lexsort((node, bag))
    bag, node, weight = bag[order], node[order], weight[order]
    new = np.ones(len(bag), bool)
    new[1:] = (bag[1:] != bag[:-1]) | (node[1:] != node[:-1])
    first = np.flatnonzero(new)
    total = np.add.reduceat(weight, first) if len(first) else weight
    ends = np.searchsorted(bag[first], np.arange(len(start)), side="left").astype(np.int64)
    rows = _core.NodeWeights.of(ends, node[first].astype(np.int32), np.ascontiguousarray(total))
    so_far = np.concatenate([[-1], of_members.limit]).astype(np.int32)  # largest part number so far, per bag
    return StoreRows(store, rows, np.ascontiguousarray(so_far[start[1:]]))


# --- other kernels: by pairs of members ---------------------------------------------------------------------------


class _BagEvaluator(Evaluator):
    """Binds any kernel to bags: computes strips of member pairs and adds them up per bag."""

    def __init__(self, kernel: Bag, rows: Bags, columns: Bags | None, logs: bool) -> None:
        self.kernel, self.logs, self.rows = kernel, logs, rows
        self.columns = rows if columns is None else columns
        self.n_rows, self.n_columns = len(rows), len(self.columns)
        # Use logarithms only if needed: a sum can be positive although some terms are negative.
        self.inner_logs = logs and not all(
            fits(kernel.kernel.self_values(bags.members, logs=True)) for bags in (rows, self.columns)
        )
        others = None if columns is None else columns.members
        self.parts = [kernel.kernel.evaluator(rows.members, others, logs=self.inner_logs)]

    def fill(self, begin: int, end: int, out: Matrix, halves: bool) -> None:
        nothing = -np.inf if self.inner_logs else 0.0
        add = np.logaddexp if self.inner_logs else np.add
        out[...] = nothing
        start = self.columns.start[: out.shape[1] + 1]
        full = np.flatnonzero(np.diff(start))  # reduceat does not support empty groups
        width = int(start[-1])
        most = max(1, _CELLS // max(1, width))
        owner = np.repeat(np.arange(len(self.rows)), self.rows.sizes)
        for first in range(int(self.rows.start[begin]), int(self.rows.start[end]), most):
            last = min(first + most, int(self.rows.start[end]))
            pairs = np.full((last - first, width), nothing)
            try:
                self.parts[0].fill(first, last, pairs[:, :last] if halves else pairs, halves)
            except KernelOverflowError as error:
                raise KernelOverflowError(f"Among the members of all bags: {error}") from None
            if halves:
                self._both_sides(pairs, first, owner)
            with np.errstate(over="ignore"):
                sums = add.reduceat(pairs, start[full], axis=1)
                for member in range(first, last):
                    row = out[owner[member] - begin]
                    row[full] = add(row[full], sums[member - first])
        if not self.logs:
            check_values(self.kernel, out, begin, halves)
        elif not self.inner_logs:
            to_logs(out)
            check_logs(self.kernel, out, begin, halves)

    def _both_sides(self, pairs: Matrix, first: int, owner: NDArray[np.int64]) -> None:
        """Count pairs of members of the same bag twice, because only one order was computed."""
        for member, values in enumerate(pairs, first):
            values[member + 1 :] = -np.inf if self.inner_logs else 0.0
            own = values[int(self.rows.start[owner[member]]) : member]
            if self.inner_logs:
                own += np.log(2.0)
            else:
                own *= 2


class Bag(Kernel):
    r"""Bag kernel: compares examples that consist of several trees or other objects.

    The value is the sum of the inner kernel over all pairs of members. An empty bag, or None, has
    the value 0 with every bag.

    Parameters
    ----------
    kernel : Kernel
        Kernel that compares two members.

    Notes
    -----
    The kernel is

    .. math:: K(X, Y) = \sum_{x \in X} \sum_{y \in Y} K(x, y)

    For kernels between trees, forests or sequences, normalized or not, the members are added up to
    a single weighted set of parts. A bag then takes no more time than one example. For other
    kernels, computation time grows with the number of member pairs.

    Examples
    --------
    >>> from treelet import Bag, SubsetTree
    >>> Bag(SubsetTree(lam=1))([["(D the)", "(D a)"], ["(D the)"], []])
    array([[2., 1., 0.],
           [1., 1., 0.],
           [0., 0., 0.]])
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.validate()

    def validate(self) -> None:
        check_inner(self)

    def coerce(self, X: Any) -> Bags:
        return _as_bags(X, self.kernel)

    def evaluator(self, X: Any, Y: Any | None = None, *, logs: bool = False) -> Evaluator:
        self.validate()
        return self._bound(self.coerce(X), None if Y is None else self.coerce(Y), logs)

    def _bound(self, X: Bags, Y: Bags | None, logs: bool) -> Evaluator:
        parts = [X] if Y is None else [X, Y]
        if any(len(part.members) == 0 for part in parts):
            nothing = -np.inf if logs else 0.0
            shape = len(X), len(parts[-1])
            return CellEvaluator(self, [], lambda cells, begin, out, halves: out.fill(nothing), shape=shape)
        store_kernel = _store_kernel(self.kernel)
        if store_kernel is None or not self._sums_parts(*parts):
            return _BagEvaluator(self, X, Y, logs)
        if Y is None:
            return store_kernel.bound(_summed(X.members, X.start, self.kernel), None, logs, shown=self)
        right, left = Y.members.joined(X.members)
        rows, columns = _summed(left, X.start, self.kernel), _summed(right, Y.start, self.kernel)
        return store_kernel.bound(rows, columns, logs, shown=self)

    def _sums_parts(self, *parts: Bags) -> bool:
        if not isinstance(self.kernel, Normalized):
            return True
        # The factors of the members must fit a float64.
        inner = self.kernel.kernel
        return all(fits(inner.self_values(part.members, logs=True)) for part in parts)

    def needs(self, X: Any, enough: int = 0) -> Needs:
        members = self.coerce(X).members
        return self.kernel.needs(members, enough).with_scratch() if len(members) else Needs(0, 0)

    def self_values(self, X: Any, *, logs: bool = False) -> Vector:
        bags = self.coerce(X)
        return bags.values(self._key(logs), lambda: self._self_values(bags, logs))

    def _self_values(self, X: Bags, logs: bool) -> Vector:
        store_kernel = _store_kernel(self.kernel)
        if store_kernel is not None and len(X.members) and self._sums_parts(X):
            store, weights, _ = _summed(X.members, X.start, self.kernel)
            return store_kernel.native_self_values(store, weights, logs)
        values = np.array([self._self_value(X[bag : bag + 1]) for bag in range(len(X))], dtype=np.float64)
        if logs:
            large = np.flatnonzero(np.isinf(values))
            to_logs(values)
            for bag in large:
                self._bound(X[bag : bag + 1], None, True).fill(0, 1, values[bag : bag + 1, None], True)
        return values

    def _self_value(self, bag: Bags) -> float:
        value = np.empty((1, 1))
        try:
            self._bound(bag, None, False).fill(0, 1, value, True)
        except KernelOverflowError:
            return np.inf
        return max(0.0, float(value[0, 0]))  # rounding can leave a tiny negative number
