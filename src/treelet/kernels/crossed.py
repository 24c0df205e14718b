"""The crossed kernel of unordered pairs: two examples in two columns, compared in both orders."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from treelet.checks import wrong
from treelet.errors import InputTypeError
from treelet.kernels.bag import Bags
from treelet.kernels.base import Kernel
from treelet.kernels.on import On
from treelet.kernels.pairwise import Evaluator, Matrix, Needs, Vector
from treelet.kernels.values import check_inner, check_logs, check_values, fits, to_logs
from treelet.structures.table import Name, Names, Table, stacked

if TYPE_CHECKING:
    from treelet.device.launching import Device


class _CrossedEvaluator(Evaluator):
    """Binds a crossed kernel to pairs: one matrix of all members, of which each pair of pairs is a square of four values."""

    def __init__(self, kernel: Crossed, rows: Bags, columns: Bags | None, logs: bool) -> None:
        self.kernel, self.logs, pairs = kernel, logs, [rows] if columns is None else [rows, columns]
        self.n_rows, self.n_columns = len(rows), len(pairs[-1])
        # Use logarithms only if needed: a sum can be positive although one of its terms is negative.
        self.inner_logs = logs and not all(fits(kernel.kernel.self_values(part.members, logs=True)) for part in pairs)
        others = None if columns is None else columns.members
        self.parts = [kernel.kernel.evaluator(rows.members, others, logs=self.inner_logs)]

    def on(self, device: Device) -> Evaluator:
        there = copy.copy(self)
        there.parts, there.xp = [part.on(device) for part in self.parts], device.xp
        return there

    def fill(self, begin: int, end: int, out: Matrix, halves: bool) -> None:
        members = self.xp.zeros((2 * len(out), 2 * out.shape[1]))
        self.parts[0].fill(2 * begin, 2 * end, members, halves)
        if halves:  # in the square of a pair with itself, only one of two equal values was computed
            own = self.xp.arange(len(out))
            members[2 * own, 2 * (begin + own) + 1] = members[2 * own + 1, 2 * (begin + own)]
        straight, across = (members[0::2, 0::2], members[1::2, 1::2]), (members[0::2, 1::2], members[1::2, 0::2])
        with np.errstate(over="ignore", invalid="ignore"):
            if self.inner_logs:
                np.logaddexp(straight[0] + straight[1], across[0] + across[1], out=out)
            else:
                np.multiply(*straight, out=out)
                out += across[0] * across[1]
        if not self.logs:
            check_values(self.kernel, out, begin, halves)
        elif not self.inner_logs:
            to_logs(out)
            check_logs(self.kernel, out, begin, halves)


class Crossed(Kernel):
    r"""Crossed kernel: compares unordered pairs of trees, which are in two columns.

    Swapping the two sides of a pair does not change any value. For pairs with an order, such as a
    question and its answer, use ``On("a", k) * On("b", k)`` or ``On("a", k) + On("b", k)``.

    Parameters
    ----------
    first, second : str or int
        Names of the two columns.
    kernel : Kernel
        Kernel that compares two values of the columns.

    See Also
    --------
    Kernel.diag : the value of the two sides of each pair with each other.
    treelet.cuts.mark_shared : marks on the words that both sides contain.

    Notes
    -----
    The kernel is

    .. math:: K((a, b), (c, d)) = K(a, c) \, K(b, d) + K(a, d) \, K(b, c)

    If one side of a pair is missing (None), the value of the pair with every pair is 0. The data are
    those of `On`.

    Examples
    --------
    >>> from treelet import Crossed, SubsetTree
    >>> pairs = {"a": ["(D the)", "(N cat)", "(D the)"], "b": ["(N cat)", "(D the)", "(D the)"]}
    >>> Crossed("a", "b", SubsetTree(lam=1))(pairs)
    array([[1., 1., 0.],
           [1., 1., 0.],
           [0., 0., 2.]])
    """

    def __init__(self, first: Name, second: Name, kernel: Kernel) -> None:
        self.first = first
        self.second = second
        self.kernel = kernel
        self.validate()

    def validate(self) -> None:
        for parameter in ("first", "second"):
            name = getattr(self, parameter)
            if isinstance(name, (list, tuple)) or not On.is_column(name):
                raise wrong(parameter, "a column name (a string or an int)", name, of=self)
        if self.first == self.second:
            raise wrong("second", f"another column than {self.first!r}", self.second, of=self)
        check_inner(self)

    @property
    def names(self) -> list[Name]:
        """The two column names."""
        return [self.first, self.second]

    def sides(self) -> list[On]:
        """Return the inner kernel on each of the two columns."""
        return [On(name, self.kernel) for name in self.names]

    @property
    def _where(self) -> Names:
        """The key of the pairs in a `Table`. The columns of `On` never repeat a name, so their keys differ."""
        return self.first, self.second, self.first

    def coerce(self, X: Any) -> Table:
        first, second = self.sides()
        table = second._table(first._table(X))
        self._pairs(table)
        return table

    def with_cached_index(self, X: Any) -> Table:
        table = self.coerce(X)
        pairs = self._pairs(table)
        return table.with_form(self._where, Bags(self.kernel.with_cached_index(pairs.members), pairs.start))

    def _pairs(self, X: Any) -> Bags:
        """Return the pairs as bags of two members, in the form that the inner kernel computes with. A `Table` caches them."""
        table = Table.from_any(X)

        first, second = (side._part(table) for side in self.sides())

        def joined() -> Bags:
            n, members = len(table), stacked(first, second)
            order = np.arange(2 * n).reshape(2, n).T.ravel()  # the two sides of a pair are neighbors
            return Bags(members[order] if n else members, np.arange(0, 2 * n + 1, 2))

        return table.coerced(self._where, self._coerce_pairs, joined)  # type: ignore[no-any-return]

    def _coerce_pairs(self, pairs: Any) -> Bags:
        if not isinstance(pairs, Bags):
            raise InputTypeError("The columns are not pairs.")
        members = self.kernel.coerce(pairs.members)
        return pairs if members is pairs.members else Bags(members, pairs.start)

    def evaluator(self, X: Any, Y: Any | None = None, *, logs: bool = False) -> Evaluator:
        self.validate()
        return _CrossedEvaluator(self, self._pairs(X), None if Y is None else self._pairs(Y), logs)

    def prepare(self, X: Any, Y: Any | None, threads: int) -> None:
        self.kernel.prepare(self._pairs(X).members, None if Y is None else self._pairs(Y).members, threads)

    def cache_self_values(self, X: Any, threads: int) -> None:
        self.kernel.cache_self_values(self._pairs(X).members, threads)

    def needs(self, X: Any, enough: int = 0) -> Needs:
        needs = self.kernel.needs(self._pairs(X).members, enough)
        return needs._replace(scratch=5 + 4 * needs.scratch)  # four values per pair of pairs, and a product

    def self_values(self, X: Any, *, logs: bool = False) -> Vector:
        pairs = self._pairs(X)
        return pairs.values(self._key(logs), lambda: self._self_values(pairs, logs))

    def _self_values(self, pairs: Bags, logs: bool) -> Vector:
        own = self.kernel.self_values(pairs.members, logs=logs)
        across = self.kernel.row_values(pairs.members[0::2], pairs.members[1::2], logs=logs)
        with np.errstate(over="ignore", invalid="ignore"):
            if logs:
                return np.asarray(np.logaddexp(own[0::2] + own[1::2], 2 * across))
            values = own[0::2] * own[1::2] + across**2
        return np.where(np.isnan(values), 0.0, values)  # 0 times a value that does not fit a float64

    def _gradient(self, X: Any) -> tuple[Matrix, list[Matrix]]:
        K, parts = self.kernel._gradient(self._pairs(X).members)
        squares = [(np.s_[0::2, 0::2], np.s_[1::2, 1::2]), (np.s_[0::2, 1::2], np.s_[1::2, 0::2])]
        value = sum(K[a] * K[b] for a, b in squares)
        return np.asarray(value), [sum(by[a] * K[b] + K[a] * by[b] for a, b in squares) for by in parts]  # type: ignore[misc]

    def __repr__(self) -> str:
        return f"Crossed({self.first!r}, {self.second!r}, {self.kernel!r})"
