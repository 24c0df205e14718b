"""Kernels on named columns of the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from treelet.checks import some_of, wrong
from treelet.errors import InputTypeError, ParameterError
from treelet.kernels.base import Kernel
from treelet.kernels.pairwise import Evaluator, Matrix, Needs, Vector
from treelet.kernels.values import check_inner
from treelet.structures.table import Name, Names, Table


class On(Kernel):
    """Apply a kernel to one column of the examples, or to several numeric columns at once.

    Combine such kernels with ``+`` and ``*`` to compare examples that consist of several parts, for
    example a tree and a feature vector.

    Parameters
    ----------
    column : str, int, or list of these
        Column name. Several names denote columns of numbers or vectors, which are concatenated to
        one vector.
    kernel : Kernel
        Kernel that compares the values of the column.

    Notes
    -----
    The data may be a pandas DataFrame, a list of dicts, a NumPy record array, a mapping of columns,
    or a `Table`. In a column of trees, None, NaN and the missing values of pandas denote a missing
    tree, whose kernel value with every example is 0. A column of numbers is a feature vector of
    length 1.

    Columns are converted on each call. To convert them once, for repeated use, call
    ``X = kernel.coerce(X)``, which returns a `Table` that keeps the converted columns.

    Examples
    --------
    >>> from treelet import Linear, On, SubsetTree
    >>> kernel = On("path", SubsetTree(lam=1)) + On("features", Linear())
    >>> kernel([{"path": "(D the)", "features": {"x": 2}}, {"path": "(D the)", "features": {"y": 3}}])
    array([[ 5.,  1.],
           [ 1., 10.]])
    >>> On(["width", "height"], Linear())([{"width": 2, "height": 3}, {"width": 1, "height": 0}])
    array([[13.,  2.],
           [ 2.,  1.]])
    """

    @staticmethod
    def is_column(value: Any) -> bool:
        """Return whether the value is a column name or a list of different column names."""
        names = value if isinstance(value, (list, tuple)) else [value]
        are_names = all(isinstance(name, (str, int)) and not isinstance(name, bool) for name in names)
        return are_names and 0 < len(names) == len(set(map(repr, names)))

    def __init__(self, column: Name | Sequence[Name], kernel: Kernel) -> None:
        self.column = column
        self.kernel = kernel
        self.validate()

    def validate(self) -> None:
        if not self.is_column(self.column):
            wanted = "a column name (a string or an int) or a list of different column names"
            raise wrong("column", wanted, self.column, of="On")
        check_inner(self)

    @property
    def names(self) -> list[Name]:
        """The column names, as a list."""
        return [self.column] if isinstance(self.column, (str, int)) else list(self.column)

    @property
    def _where(self) -> Names:
        """The key of the columns in a `Table`."""
        names = self.names
        return names[0] if len(names) == 1 else tuple(names)

    def coerce(self, X: Any) -> Table:
        table = self._table(X)
        table.coerced(self._where, self._coerce_column)
        return table

    def _table(self, X: Any) -> Table:
        """Return the examples as a table that has the columns of this kernel. Errors name a remedy."""
        try:
            table = Table.from_any(X)
        except InputTypeError as error:
            if not str(error).startswith("Row "):
                raise
            remedy = (
                f"Pass dicts such as {{{self.names[0]!r}: tree}} to On. For plain trees, use the kernel without On."
            )
            raise InputTypeError(f"{error} {remedy}") from None
        for name in self.names:
            if name not in table and table.names:
                try:
                    table.column(name)
                except ParameterError as error:
                    if not str(error).endswith(some_of(table.names) + "."):  # another remedy is already named
                        raise
                    remedy = f"Use On({table.names[0]!r}, ...), or add the column {name!r}."
                    raise ParameterError(f"{error} {remedy}") from None
        return table

    def with_cached_index(self, X: Any) -> Table:
        table = self.coerce(X)
        return table.with_form(self._where, self.kernel.with_cached_index(self._part(table)))

    def _coerce_column(self, column: Any) -> Any:
        numbers = isinstance(column, list) and column and all(isinstance(v, (int, float, np.number)) for v in column)
        if numbers or (isinstance(column, np.ndarray) and column.ndim == 1 and column.dtype.kind in "biuf"):
            column = np.asarray(column, dtype=np.float64)[:, None]
        return self.kernel.coerce(column)

    def _part(self, X: Any) -> Any:
        return Table.from_any(X).coerced(self._where, self._coerce_column)

    def evaluator(self, X: Any, Y: Any | None = None, *, logs: bool = False) -> Evaluator:
        self.validate()
        return self.kernel.evaluator(self._part(X), None if Y is None else self._part(Y), logs=logs)

    def prepare(self, X: Any, Y: Any | None, threads: int) -> None:
        self.kernel.prepare(self._part(X), None if Y is None else self._part(Y), threads)

    def cache_self_values(self, X: Any, threads: int) -> None:
        self.kernel.cache_self_values(self._part(X), threads)

    def self_values(self, X: Any, *, logs: bool = False) -> Vector:
        return self.kernel.self_values(self._part(X), logs=logs)

    def needs(self, X: Any, enough: int = 0) -> Needs:
        return self.kernel.needs(self._part(X), enough)

    def _gradient(self, X: Any) -> tuple[Matrix, list[Matrix]]:
        return self.kernel._gradient(self._part(X))

    def __repr__(self) -> str:
        return f"On({self.column!r}, {self.kernel!r})"
