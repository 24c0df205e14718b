"""Feature vectors: dense or sparse matrices, optionally with names of features."""

from __future__ import annotations

import numbers
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treelet.checks import article, plural, some_of
from treelet.errors import InputTypeError, ParameterError
from treelet.structures.bank import row_index


class Vectors:
    """A collection of feature vectors, one vector per row.

    Parameters
    ----------
    rows : array, DataFrame, sparse matrix, or list of lists, of dicts or of rows of sparse matrices
        Finite numbers of any type. Dicts map features, which are strings or ints, to values; other
        features are 0. Vectors from dicts are matched by the names of the features. Vectors from
        DataFrames are matched by the names of the columns, which must be the same, in any order.

    Examples
    --------
    >>> from treelet.structures import Vectors
    >>> Vectors([[1, 2], [3, 4]]).shape
    (2, 2)
    >>> Vectors([{"dog": 1}, {"cat": 2, "dog": 1}]).names
    ('dog', 'cat')
    """

    __slots__ = ("names", "values")

    values: Any
    """The matrix: a float64 array, or a scipy CSR array."""
    names: tuple[str | int, ...] | None
    """Names of the features, if the vectors came from dicts or from a DataFrame whose column names are strings."""

    def __init__(self, rows: Any) -> None:
        self.values, self.names = _matrix(rows)

    @classmethod
    def _of(cls, values: Any, names: tuple[str | int, ...] | None) -> Vectors:
        vectors = cls.__new__(cls)
        vectors.values, vectors.names = values, names
        return vectors

    @property
    def is_sparse(self) -> bool:
        """True if the matrix is sparse."""
        return not isinstance(self.values, np.ndarray)

    def __len__(self) -> int:
        return int(self.values.shape[0])

    @property
    def shape(self) -> tuple[int, int]:
        """Number of vectors and number of features."""
        n, width = self.values.shape
        return int(n), int(width)

    def __getitem__(self, index: Any) -> Any:
        """Return one row, or the vectors of several rows.

        A row of vectors with named features is a dict of the features that are not 0, otherwise an array.
        """
        rows = row_index(index, len(self), "collection of vectors")
        if isinstance(rows, int):
            row = self.values[[rows]].toarray()[0] if self.is_sparse else self.values[rows]
            return row if self.names is None else {self.names[i]: float(row[i]) for i in np.flatnonzero(row)}
        return Vectors._of(self.values[rows], self.names)

    def __repr__(self) -> str:
        return f"<Vectors: {len(self)} of {self.shape[1]} features{', sparse' if self.is_sparse else ''}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Vectors._of, (self.values, self.names)

    def own_features(self) -> Vectors:
        """Drop features that are 0 in all vectors, and sort the others by name.

        The result does not depend on features of other vectors. Vectors without names, and dense
        vectors, are returned unchanged.
        """
        if self.names is None or not self.is_sparse:
            return self
        used = sorted({self.names[column] for column in self.values.indices[self.values.data != 0].tolist()}, key=repr)
        return Vectors._of(self.renumbered(used), tuple(used))

    def renumbered(self, names: Sequence[str | int]) -> Any:
        """Return a sparse matrix with these features as columns. Other features are dropped."""
        from scipy.sparse import csr_array

        values = csr_array(self.values)
        places = {name: index for index, name in enumerate(names)}
        # The new column of each stored value (-1: dropped), and where each row begins among the values that are kept.
        column = np.array([places.get(name, -1) for name in self.names or ()], np.int64)[values.indices]
        kept = column >= 0
        start = np.concatenate([[0], np.cumsum(kept)])[values.indptr]
        matrix = csr_array((values.data[kept], column[kept], start), shape=(len(self), len(names)))
        matrix.sort_indices()
        return matrix

    def _reordered(self, names: Sequence[str | int]) -> Any:
        """Return the matrix of a DataFrame with its columns in the order of another DataFrame."""
        places = {name: index for index, name in enumerate(self.names or ())}
        wanted = dict.fromkeys(names)
        if alone := [name for name in {**wanted, **places} if (name in wanted) != (name in places)]:
            raise ParameterError(
                f"The two DataFrames must have the same columns. Columns of only one of them: {some_of(alone)}."
            )
        return self.values[:, [places[name] for name in wanted]]

    def matched(self, other: Vectors) -> tuple[Any, Any]:
        """Return the two matrices with the same features as columns. Features that only `other` has are dropped."""
        mine, theirs = self.values, other.values
        if len(self) and len(other):
            if self.names is not None and other.names is not None:
                if self.names is not other.names and self.names != other.names:
                    sparse = self.is_sparse or other.is_sparse
                    theirs = other.renumbered(self.names) if sparse else other._reordered(self.names)
            elif any(vectors.names is not None and vectors.is_sparse for vectors in (self, other)):
                raise ParameterError(
                    "Vectors with named features (dicts) cannot be compared with vectors without names (an array). "
                    "Pass both in the same form."
                )
            elif mine.shape[1] != theirs.shape[1]:
                raise ParameterError(
                    f"Vectors of {plural(mine.shape[1], 'feature')} cannot be compared with vectors of "
                    f"{plural(theirs.shape[1], 'feature')}."
                )
        else:  # nothing to compare
            theirs = np.zeros((len(other), mine.shape[1]))
        if isinstance(mine, np.ndarray) != isinstance(theirs, np.ndarray):
            from scipy.sparse import csr_array

            mine, theirs = csr_array(mine), csr_array(theirs)
        return mine, theirs


def as_vectors(rows: Any) -> Vectors:
    """Convert an array, a DataFrame, a sparse matrix or a list to `Vectors`. Vectors are returned unchanged."""
    return rows if isinstance(rows, Vectors) else Vectors(rows)


def bag_of_words(texts: Iterable[str | Iterable[str]]) -> list[dict[str, float]]:
    """Count the words of each text, as feature vectors for `Linear` and `Polynomial`.

    Parameters
    ----------
    texts : iterable of str or of lists of str
        Texts, or lists of words. A string is split at white space.

    Returns
    -------
    list of dict
        The count of each word, per text.

    Examples
    --------
    >>> from treelet.structures import bag_of_words
    >>> bag_of_words(["to be or not to be", ["to", "do"]])
    [{'to': 2.0, 'be': 2.0, 'or': 1.0, 'not': 1.0}, {'to': 1.0, 'do': 1.0}]
    """
    if isinstance(texts, str):
        raise InputTypeError("A collection of texts is needed. Got one string instead. Put it in a list.")
    bags = []
    for number, text in enumerate(texts):
        if text is None or isinstance(text, (bytes, numbers.Number)):
            kind = article(type(text).__name__)
            raise InputTypeError(f"Text {number} is {kind}, but a string or a list of words is needed.")
        words = text.split() if isinstance(text, str) else list(text)
        for word in words:
            if not isinstance(word, str):
                kind = article(type(word).__name__)
                raise InputTypeError(f"Text {number} contains {kind}, {word!r:.60}, but words must be strings.")
        bags.append({word: float(count) for word, count in Counter(words).items()})
    return bags


# --- conversion to matrices -------------------------------------------------------------------------------------


def _matrix(rows: Any) -> tuple[Any, tuple[str | int, ...] | None]:
    if hasattr(rows, "tocsr"):
        return _sparse(rows), None
    names: tuple[str | int, ...] | None = None
    if hasattr(rows, "columns") and hasattr(rows, "to_numpy"):  # a DataFrame of numbers
        called = tuple(rows.columns)
        names = called if len(set(called)) == len(called) and all(isinstance(name, str) for name in called) else None
        rows = np.asarray(rows)
    if isinstance(rows, np.ndarray) and rows.dtype.kind in "biuf":
        return _dense(rows), names
    if isinstance(rows, np.ndarray) and (rows.dtype.kind != "O" or rows.ndim not in (1, 2)):
        raise InputTypeError(
            "Feature vectors must be a 2-D array of numbers. "
            f"Got an array of {rows.dtype} with {plural(rows.ndim, 'dimension')} instead."
        )
    if not isinstance(rows, (list, tuple, np.ndarray)):
        raise InputTypeError(
            "Feature vectors must be a 2-D array, a DataFrame, a sparse matrix, a list of lists or a list of dicts. "
            f"Got {article(type(rows).__name__)} instead."
        )
    if any(isinstance(row, Mapping) for row in rows):
        return _named(rows)
    if any(hasattr(row, "tocsr") for row in rows):
        return _sparse_rows(rows), names
    return _stacked(rows), names


def _dense(rows: NDArray[Any]) -> NDArray[np.float64]:
    if rows.ndim != 2:
        hint = " For one feature per row, use X.reshape(-1, 1)." if rows.ndim == 1 else ""
        raise ParameterError(
            f"An array of feature vectors must have two dimensions. Got {plural(rows.ndim, 'dimension')} instead.{hint}"
        )
    with np.errstate(over="ignore"):
        values = np.ascontiguousarray(rows, dtype=np.float64)
    finite = np.isfinite(values)
    if not finite.all():
        row, column = (int(index) for index in np.argwhere(~finite)[0])
        raise _not_finite(row, column, values[row, column])
    return values


def _not_finite(row: int, feature: object, value: object) -> ParameterError:
    return ParameterError(f"Feature {feature!r} of row {row} is {value}, but feature values must be finite.")


def _sparse(rows: Any) -> Any:
    from scipy.sparse import csr_array

    if len(rows.shape) != 2:
        raise ParameterError(
            f"A matrix of feature vectors must have two dimensions. Got {plural(len(rows.shape), 'dimension')} instead."
        )
    if rows.dtype.kind not in "biuf":
        raise InputTypeError(f"Feature vectors must be numbers. Got a sparse matrix of {rows.dtype} instead.")
    values = csr_array(rows, dtype=np.float64)
    if not values.has_canonical_format:
        values = values.copy()  # so the caller's matrix is not changed
        values.sum_duplicates()
    bad = np.flatnonzero(~np.isfinite(values.data))
    if len(bad):
        row = int(np.searchsorted(values.indptr, bad[0], side="right")) - 1
        raise _not_finite(row, int(values.indices[bad[0]]), values.data[bad[0]])
    return values


def _sparse_rows(rows: Any) -> Any:
    """Stack rows of which some are sparse, such as the rows of a sparse matrix."""
    from scipy.sparse import csr_array, vstack

    stack = []
    for number, row in enumerate(rows):
        vector = row if hasattr(row, "tocsr") else np.array(_numbers(number, row))
        if vector.ndim == 2 and vector.shape[0] != 1:
            raise ParameterError(
                f"Row {number} is a sparse matrix with {plural(vector.shape[0], 'row')}, but one vector is needed."
            )
        stack.append(csr_array(vector.reshape((1, vector.shape[-1]))))
        _check_width(number, stack[-1].shape[1], stack[0].shape[1])
    return _sparse(vstack(stack, format="csr"))


def _check_width(number: int, width: int, first: int) -> None:
    if width != first:
        raise ParameterError(
            f"All rows must have the same number of features, but row 0 has {first} and row {number} has {width}."
        )


def _stacked(rows: Any) -> NDArray[np.float64]:
    if len(rows) == 0:
        return np.zeros((0, rows.shape[1] if isinstance(rows, np.ndarray) and rows.ndim == 2 else 0))
    try:
        whole = np.asarray(rows if not isinstance(rows, np.ndarray) else rows.tolist())
    except ValueError:  # rows of different lengths, which the loop below reports
        whole = np.empty(0, object)
    if whole.dtype.kind in "biuf" and whole.ndim == 2:
        return _dense(whole)
    stack = []
    for number, row in enumerate(rows):
        stack.append(_numbers(number, row))
        _check_width(number, len(stack[-1]), len(stack[0]))
    return _dense(np.array(stack))


def _numbers(number: int, row: Any) -> list[float]:
    if isinstance(row, (str, bytes)) or not isinstance(row, (Iterable, np.ndarray)):
        raise InputTypeError(
            f"Row {number} is {article(type(row).__name__)}, but a list of numbers or a dict is needed."
        )
    values = []
    for value in row:
        if not isinstance(value, (numbers.Real, np.bool_)):
            kind = article(type(value).__name__)
            shown = "None" if value is None else f"{kind}, {value!r:.60}"
            raise InputTypeError(f"Row {number} contains {shown}, but numbers are needed.")
        values.append(_as_float(number, value))
    return values


def _as_float(number: int, value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        raise ParameterError(f"Row {number} contains a number that is too large for a float64.") from None


def _named(rows: Any) -> tuple[Any, tuple[str | int, ...]]:
    from scipy.sparse import csr_array

    places: dict[str | int, int] = {}
    data: list[float] = []
    indices: list[int] = []
    start = [0]
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise InputTypeError(f"Row {number} is {article(type(row).__name__)}, but other rows are dicts.")
        for name, value in row.items():
            if not isinstance(name, (str, int, np.integer)) or isinstance(name, bool):
                raise InputTypeError(
                    f"The names of features must be strings or ints. Row {number} has a feature named {name!r:.60}."
                )
            if not isinstance(value, (numbers.Real, np.bool_)):
                raise InputTypeError(f"Feature {name!r} of row {number} is {value!r:.60}, but a number is needed.")
            data.append(_as_float(number, value))
            if not np.isfinite(data[-1]):
                raise _not_finite(number, name, data[-1])
            indices.append(places.setdefault(name if isinstance(name, str) else int(name), len(places)))
        start.append(len(data))
    matrix = csr_array((np.array(data, float), np.array(indices, np.int64), np.array(start)), (len(rows), len(places)))
    matrix.sort_indices()
    return matrix, tuple(places)
