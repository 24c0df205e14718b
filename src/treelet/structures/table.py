"""Examples with named parts: several trees, feature vectors and texts a row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import IO, Any, cast

import numpy as np
from numpy.typing import NDArray

from treelet.checks import some_of
from treelet.errors import FormatError, InputTypeError, ParameterError, TreeletError
from treelet.formats.base import Document, read_blocks, read_document
from treelet.formats.files import PathLike
from treelet.shown import Tabled
from treelet.structures.bank import Bank, is_missing, row_index
from treelet.structures.treebank import Treebank
from treelet.structures.vectors import Vectors, side_by_side, together

Name = str | int
Names = Name | tuple[Name, ...]
"""One column, or several side by side."""
_KEEP = 'ColumnTransformer(..., verbose_feature_names_out=False).set_output(transform="pandas")'
_LOST = f", which has no names. A step of a pipeline that makes such arrays keeps them if it is told to: {_KEEP}"


class _Absent(Enum):
    """Stands where a row has no such key; None is a value like others."""

    ABSENT = "absent"


ABSENT = _Absent.ABSENT


class Table(Tabled):
    """Named columns of one length: treebanks, arrays, sparse matrices, lists.

    What `On` works on, and what files with several parts a row become. Rows are taken by slices, integers and masks;
    the columns themselves are not to be changed in place, since kernels keep what they made of them.

    Parameters
    ----------
    columns : mapping of name to column
        A Treebank, an array (one row an example), a sparse matrix, or any list.

    Examples
    --------
    >>> from treelet.structures import Table
    >>> table = Table({"path": ["(A x)", "(A y)"], "size": [1, 2]})
    >>> len(table), table.names
    (2, ['path', 'size'])
    >>> table[1]
    {'path': '(A y)', 'size': 2}
    >>> table[[1]]["path"]
    ['(A y)']
    """

    __slots__ = ("_columns", "_forms", "_length")

    def __init__(self, columns: Mapping[Any, Any]) -> None:
        if not isinstance(columns, Mapping):
            raise InputTypeError(f"a Table is made of a mapping of names to columns, got {type(columns).__name__}")
        self._set({_name(name): _column(name, column) for name, column in columns.items()})
        lengths = {name: _rows(column) for name, column in self._columns.items()}
        if len(set(lengths.values())) > 1:
            raise ParameterError(f"the columns of a Table must be of one length; these have {lengths}")

    def _set(self, columns: dict[Name, Any], length: int | None = None) -> None:
        self._columns = columns
        self._forms: dict[Names, list[Any]] = {}  # what kernels have made of a column, the latest first
        self._length = length if length is not None else next((_rows(column) for column in columns.values()), 0)

    @classmethod
    def from_any(cls, X: Any, columns: Sequence[Name] | None = None) -> Table:
        """A Table of a DataFrame, a list of dicts, a record array or a mapping of columns; a Table stays as it is.

        Parameters
        ----------
        X : Table, DataFrame, list of dict, numpy record array or mapping
            The examples.
        columns : list of names, optional
            Only these; by default all there are.
        """
        table = X if isinstance(X, Table) else cls._made_of(X)
        if columns is None:
            return table
        return cls({name: table[name] for name in columns})

    @classmethod
    def _made_of(cls, X: Any) -> Table:
        if isinstance(X, Mapping):
            return cls(X)
        if isinstance(X, np.ndarray) and X.dtype.names:
            if X.ndim != 1:
                raise InputTypeError(f"a record array must have one dimension, this one has {X.ndim}")
            return cls({name: X[name] for name in X.dtype.names})
        if hasattr(X, "columns") and hasattr(X, "__getitem__") and not isinstance(X, Bank):
            return cls._of_frame(X)
        records = list(X) if isinstance(X, (list, tuple, np.ndarray)) else None
        if records is None or (isinstance(X, np.ndarray) and X.ndim != 1):
            raise InputTypeError(
                f"examples with named columns are needed: a DataFrame, a list of dicts, a record array or a Table; "
                f"got {type(X).__name__}{_LOST if isinstance(X, np.ndarray) else ''}"
            )
        return cls._of_records(records)

    @classmethod
    def _of_frame(cls, frame: Any) -> Table:
        names = list(frame.columns)
        twice = [name for name, count in Counter(names).items() if count > 1]
        if twice:
            raise ParameterError(f"every column needs a name of its own; what occurs twice: {some_of(twice)}")
        table = cls({name: frame[name] for name in names})
        if not names:
            table._length = len(frame)
        return table

    @classmethod
    def _of_records(cls, records: list[Any]) -> Table:
        columns: dict[Name, list[Any]] = {}
        for number, record in enumerate(records):
            if not isinstance(record, Mapping):
                raise InputTypeError(f"row {number} is a {type(record).__name__}, not a dict of named values")
            for name, value in record.items():
                if name not in columns:
                    columns[_name(name)] = [ABSENT] * len(records)
                columns[name][number] = value
        table = cls.__new__(cls)
        table._set(cast("dict[Name, Any]", columns), len(records))
        return table

    # --- the collection -----------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self._length

    @property
    def shape(self) -> tuple[int]:
        """``(len(table),)``, as scikit-learn likes to know it."""
        return (self._length,)

    @property
    def names(self) -> list[Name]:
        """The names of the columns."""
        return list(self._columns)

    @property
    def columns(self) -> list[Name]:
        """The names of the columns, as a DataFrame has them."""
        return self.names

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __iter__(self) -> Iterator[dict[Name, Any]]:
        for row in range(len(self)):
            yield self._row(row)

    def __getitem__(self, index: Any) -> Any:
        """A column by its name, a row (a dict) by its number, or a Table of several rows."""
        if isinstance(index, str):
            return self.column(index)
        rows = row_index(index, len(self), "Table")
        if isinstance(rows, int):
            return self._row(rows)
        selection = type(self).__new__(type(self))
        length = len(range(len(self))[rows]) if isinstance(rows, slice) else len(rows)
        selection._set({name: _taken(column, rows) for name, column in self._columns.items()}, length)
        selection._forms = {name: [_taken(form, rows) for form in forms] for name, forms in self._forms.items()}
        return selection

    def column(self, name: Names) -> Any:
        """The column of that name, as it was given. Also for names that are numbers.

        Several names, in a tuple, ask for the matrix of the numbers in these columns.
        """
        if isinstance(name, tuple):
            return side_by_side({column_name: self.column(column_name) for column_name in name})
        column = self._columns.get(name, ABSENT)
        if column is ABSENT:
            prefixed = any(str(known_name).endswith(f"__{name}") for known_name in self.names)
            hint = f". Names stay as they are with {_KEEP}" if prefixed else ""
            raise ParameterError(f"there is no column {name!r}; there are {some_of(self.names)}{hint}")
        if isinstance(column, list):
            for row, value in enumerate(column):
                if value is ABSENT:
                    raise ParameterError(f"row {row} has no {name!r}; it has {some_of(self._row(row))}")
        return column

    def coerced(self, name: Names, coerce: Callable[[Any], Any]) -> Any:
        """The column, or the matrix of several, in the form that `coerce` gives it, which is kept.

        `coerce` must return what it is given if that has the right form already, and raise a TreeletError if it
        cannot use it. Kernels that need different forms of one column each find their own.
        """
        for form in self._forms.get(name, ()):
            try:
                coerced = coerce(form)
            except TreeletError:  # another kernel's form; the column as it was given may do
                continue
            if coerced is form:
                return form
        column = self.column(name)
        called = f"columns {list(name)}" if isinstance(name, tuple) else f"column {name!r}"
        try:
            coerced = coerce(column)
        except FormatError as error:
            raise FormatError(error.message, f"{called}, {error.source}", error.line, error.column) from None
        except TreeletError as error:
            raise type(error)(f"{called}: {error}") from None
        if coerced is not column:
            self._forms[name] = [coerced, *self._forms.get(name, ())]
        return coerced

    def with_form(self, name: Names, form: Any) -> Table:
        """The same table with another form of a column, which comes before those it has."""
        table = _rebuild(self._columns, dict(self._forms), self._length)
        table._forms[name] = [form, *(other for other in self._forms.get(name, ()) if other is not form)]
        return table

    def __repr__(self) -> str:
        return f"<Table: {len(self)} rows of {some_of(self.names)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self._columns, self._forms, self._length)

    def _row(self, row: int) -> dict[Name, Any]:
        values = ((name, column[row]) for name, column in self._columns.items())
        return {name: value for name, value in values if value is not ABSENT}


def _rebuild(columns: dict[Name, Any], forms: dict[Names, list[Any]], length: int) -> Table:
    table = Table.__new__(Table)
    table._set(columns, length)
    table._forms = forms
    return table


def _name(name: object) -> Name:
    if isinstance(name, (str, int)) and not isinstance(name, bool):
        return name
    raise ParameterError(f"the name of a column must be a string or an int. Got {name!r} instead.")


def _column(name: object, column: Any) -> Any:
    if isinstance(column, (str, bytes, Mapping)):
        raise InputTypeError(f"the column {name!r} is one {type(column).__name__}, not a list of values")
    if hasattr(column, "tocsr"):  # the sparse form whose rows can be taken
        return column.tocsr()
    if hasattr(column, "to_numpy") and not isinstance(column, np.ndarray):  # pandas, polars
        values = np.asarray(column)
        return values if values.dtype.kind in "biuf" else [None if is_missing(value) else value for value in column]
    if isinstance(column, np.ndarray) and column.ndim == 0:
        raise InputTypeError(f"the column {name!r} is an array without a dimension, not a list of values")
    if isinstance(column, np.ndarray) and column.dtype.kind in "OUST" and column.ndim == 1:
        return column.tolist()
    if isinstance(column, list) or not (hasattr(column, "shape") and hasattr(column, "__getitem__")):
        try:
            return list(column)
        except TypeError:
            raise InputTypeError(f"the column {name!r} is one {type(column).__name__}, not a list of values") from None
    return column


def _rows(column: Any) -> int:
    return int(column.shape[0]) if hasattr(column, "shape") else len(column)


def _taken(column: Any, rows: slice | NDArray[np.int64]) -> Any:
    if isinstance(column, list) and not isinstance(rows, slice):
        return [column[row] for row in rows.tolist()]
    return column[rows]


def stacked(first: Any, second: Any) -> Any:
    """The examples of two collections of one kind, in one; InputTypeError where that cannot be."""
    if type(first) is type(second) and hasattr(first, "concat"):  # banks, and bags of what they hold
        return type(first).concat([first, second])
    if isinstance(first, Table) and isinstance(second, Table) and set(first.names) == set(second.names):
        return Table({name: stacked(first.column(name), second.column(name)) for name in first.names})
    if isinstance(first, Vectors) and isinstance(second, Vectors) and first.names == second.names:
        return Vectors._of(stacked(first.values, second.values), first.names)
    if all(isinstance(block, Vectors) and block.names is not None and block.is_sparse for block in (first, second)):
        return together(first, second)
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray) and first.shape[1:] == second.shape[1:]:
        return np.concatenate([first, second])
    if hasattr(first, "tocsr") and hasattr(second, "tocsr") and first.shape[1] == second.shape[1]:
        from scipy import sparse

        return sparse.vstack([first, second], format="csr")
    if isinstance(first, list) and isinstance(second, list):
        return first + second
    raise InputTypeError(
        f"examples of several parts must be of one kind, with the same columns or features: {first!r} and {second!r} are not"
    )


def read_examples(
    file: PathLike | IO[bytes] | IO[str], format: str | None = None, **options: Any
) -> tuple[Treebank | Table, list[str] | None]:
    r"""Read a file of examples, with their labels where it has any.

    Parameters
    ----------
    file : path or open file
        As for `read_trees`.
    format : str, optional
        A name from `treelet.formats.FORMATS`; by default what the file's name suggests, or its content.
    **options
        ``on_error="skip"`` leaves out rows that are not as they should be, and warns, see
        `treelet.formats.read_document`. And those of the format.

    Returns
    -------
    X : Treebank or Table
        A Treebank if there is one tree a row and nothing else; otherwise a Table of all trees, vectors and texts.
    y : list of str or None
        The labels, numbers in their shortest form: ``+1``, ``1`` and ``1.0`` are one class. None,
        with a warning, if the format has no labels (such as brackets or CoNLL-U) or the table has no
        label column; ``label_column=None`` disables the warning. Use `read_trees` for trees alone.

    Examples
    --------
    >>> import io, treelet
    >>> text = "+1 |BT| (A x) |ET| 1:0.5 3:2\n-1 |BT| (A y) |ET| 2:1\n"
    >>> X, y = treelet.read_examples(io.StringIO(text), "svmlight_tk")
    >>> X
    <Table: 2 rows of 'tree', 'vector'>
    >>> y
    ['1', '-1']
    """
    return _examples(read_document(file, format, expect_labels=True, **options), file)


def iter_examples(
    file: PathLike | IO[bytes] | IO[str], format: str | None = None, *, block: int = 10_000, **options: Any
) -> Iterator[tuple[Treebank | Table, list[str] | None]]:
    r"""Read a file of examples that may be larger than memory, a part at a time.

    Parameters
    ----------
    file, format, **options
        As for `read_examples`; the formats are those of `iter_trees`.
    block : int
        How many examples at a time.

    Yields
    ------
    X, y
        The next `block` examples, as `read_examples` gives them; the last time fewer.

    Examples
    --------
    >>> import io, treelet
    >>> file = io.BytesIO(b"yes\t(A x)\nno\t(A y)\nno\t(B y)\n")
    >>> for X, y in treelet.iter_examples(file, "tsv", block=2):
    ...     print(X.strings(), y)
    ['(A x)', '(A y)'] ['yes', 'no']
    ['(B y)'] ['no']
    """
    for document in read_blocks(file, format, block=block, expect_labels=True, **options):
        yield _examples(document, file)


def _examples(document: Document, file: object) -> tuple[Treebank | Table, list[str] | None]:
    trees = {name: Treebank.from_columns(columns) for name, columns in document.trees.items()}
    if len(trees) == 1 and not document.vectors and not document.strings:
        return next(iter(trees.values())), document.labels
    columns: dict[str, Any] = {}
    for named in cast("Iterable[dict[str, Any]]", (trees, document.vectors, document.strings)):
        for name, column in named.items():
            if name in columns:
                raise FormatError(f"{name!r} names both trees and something else: rename one of them", str(file))
            columns[name] = column
    if not columns and document.labels:
        raise FormatError("there are labels alone: no row has a tree, a vector or a text", str(file))
    return Table(columns), document.labels
