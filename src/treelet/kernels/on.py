"""A kernel on one named column of the data."""

from __future__ import annotations

from typing import Any

import numpy as np

from treelet.checks import wrong
from treelet.kernels.base import Evaluator, Kernel, Matrix, Needs, Vector
from treelet.kernels.values import check_inner
from treelet.structures.table import Table


class On(Kernel):
    """A kernel applied to one column of examples that have several.

    Sums and products of such kernels compare examples part by part. A None among trees is a missing tree, whose
    value with anything is 0. A column of plain numbers is a feature vector of length 1.

    Parameters
    ----------
    column : str or int
        The name of the column.
    kernel : Kernel
        What compares its values.

    Notes
    -----
    The data may be a pandas DataFrame, a list of dicts, a numpy record array, a mapping of columns or a `Table`.
    Columns are put into the kernel's form once: ``X = kernel.coerce(X)`` makes a Table that keeps them, for data
    that are used often.

    Examples
    --------
    >>> from treelet import Linear, On, SubsetTree
    >>> kernel = On("path", SubsetTree(lam=1)) + On("features", Linear())
    >>> kernel([{"path": "(D the)", "features": {"x": 2}}, {"path": "(D the)", "features": {"y": 3}}])
    array([[ 5.,  1.],
           [ 1., 10.]])
    """

    def __init__(self, column: str | int, kernel: Kernel) -> None:
        self.column = column
        self.kernel = kernel
        self.validate()

    def validate(self) -> None:
        if not isinstance(self.column, (str, int)) or isinstance(self.column, bool):
            raise wrong("column", "the name of a column, a string or an int", self.column, of="On")
        check_inner(self)

    def coerce(self, X: Any) -> Table:
        table = Table.from_any(X)
        table.coerced(self.column, self._coerce_column)
        return table

    def _coerce_column(self, column: Any) -> Any:
        numbers = isinstance(column, list) and column and all(isinstance(v, (int, float, np.number)) for v in column)
        if numbers or (isinstance(column, np.ndarray) and column.ndim == 1 and column.dtype.kind in "biuf"):
            column = np.asarray(column, dtype=np.float64)[:, None]
        return self.kernel.coerce(column)

    def _part(self, X: Any) -> Any:
        return Table.from_any(X).coerced(self.column, self._coerce_column)

    def evaluator(self, X: Any, Y: Any | None = None, *, logs: bool = False) -> Evaluator:
        self.validate()
        return self.kernel.evaluator(self._part(X), None if Y is None else self._part(Y), logs=logs)

    def self_values(self, X: Any, *, logs: bool = False) -> Vector:
        return self.kernel.self_values(self._part(X), logs=logs)

    def needs(self, X: Any, enough: int = 0) -> Needs:
        return self.kernel.needs(self._part(X), enough)

    def _gradient(self, X: Any) -> tuple[Matrix, list[Matrix]]:
        return self.kernel._gradient(self._part(X))

    def __repr__(self) -> str:
        return f"On({self.column!r}, {self.kernel!r})"
