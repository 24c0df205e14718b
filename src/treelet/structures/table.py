"""Tables: examples with named columns of trees, feature vectors and texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from treelet.checks import article, plural, some_of, suggestion, wrong
from treelet.errors import FormatError, InputTypeError, ParameterError, TreeletError
from treelet.formats.base import Document
from treelet.formats.paths import File
from treelet.formats.reading import read_blocks, read_document
from treelet.shown import Tabled
from treelet.structures.bank import Bank, is_missing, row_index
from treelet.structures.labeled import CONTENTS, read_labeled
from treelet.structures.treebank import Treebank
from treelet.structures.vectors import Vectors, as_vectors

Name = str | int
Names = Name | tuple[Name, ...]
"""The name of one column, or the names of several columns that form a matrix."""
_KEEP = 'ColumnTransformer(..., verbose_feature_names_out=False).set_output(transform="pandas")'
_LOST = f", which has no column names. To keep the names in a pipeline, use {_KEEP}."


class _Absent(Enum):
    """Marks a row that has no value in a column. None is an ordinary value."""

    ABSENT = "absent"


_ABSENT = _Absent.ABSENT


class Table(Tabled):
    """A table with named columns of equal length: treebanks, arrays, sparse matrices or lists.

    The kernel `On` selects a column of a table. Files with several values per row are read as tables.
    Rows are selected with ints, slices, lists of ints and boolean masks. Do not change the columns in
    place, because kernels cache converted columns.

    Parameters
    ----------
    columns : mapping of name to column
        A column is a Treebank, an array with one row per example, a sparse matrix, or any list.

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
            kind = article(type(columns).__name__)
            raise InputTypeError(
                f"Table needs a mapping from names to columns. Got {kind} instead. For a DataFrame or a list of dicts, "
                "use Table.from_any."
            )
        self._set({_name(name): _column(name, column) for name, column in columns.items()})
        lengths = {name: _rows(column) for name, column in self._columns.items()}
        if len(set(lengths.values())) > 1:
            sizes = ", ".join(f"{name!r} has {plural(rows, 'row')}" for name, rows in list(lengths.items())[:20])
            raise ParameterError(f"The columns of a Table must have the same length, but {sizes}.")

    def _set(self, columns: dict[Name, Any], length: int | None = None) -> None:
        self._columns = columns
        self._forms: dict[Names, list[Any]] = {}  # columns as converted by kernels, the latest first
        self._length = length if length is not None else next((_rows(column) for column in columns.values()), 0)

    @classmethod
    def from_any(cls, X: Any, columns: Sequence[Name] | None = None) -> Table:
        """Convert a DataFrame, a list of dicts, a record array or a mapping of columns to a Table.

        Parameters
        ----------
        X : Table, DataFrame, list of dict, NumPy record array or mapping
            The examples. A Table is returned unchanged.
        columns : list of names, optional
            Columns to select. Default: all columns.

        Returns
        -------
        Table

        Examples
        --------
        >>> from treelet.structures import Table
        >>> Table.from_any([{"tree": "(A x)", "size": 1}, {"tree": "(A y)", "size": 2}])
        <Table: 2 rows of 'tree', 'size'>
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
                raise InputTypeError(f"A record array must have one dimension. Got {X.ndim} dimensions instead.")
            return cls({name: X[name] for name in X.dtype.names})
        if hasattr(X, "columns") and hasattr(X, "__getitem__") and not isinstance(X, Bank):
            return cls._of_frame(X)
        records = list(X) if isinstance(X, (list, tuple, np.ndarray)) else None
        if records is None or (isinstance(X, np.ndarray) and X.ndim != 1):
            raise InputTypeError(
                "Examples with named columns are needed: a DataFrame, a list of dicts, a record array or a Table. "
                f"Got {f'an array{_LOST}' if isinstance(X, np.ndarray) else f'{article(type(X).__name__)} instead.'}"
            )
        return cls._of_records(records)

    @classmethod
    def _of_frame(cls, frame: Any) -> Table:
        names = list(frame.columns)
        repeated = [name for name, count in Counter(names).items() if count > 1]
        if repeated:
            raise ParameterError(
                f"Each column needs its own name. Names that occur several times: {some_of(repeated)}."
            )
        table = cls({name: frame[name] for name in names})
        if not names:
            table._length = len(frame)
        return table

    @classmethod
    def _of_records(cls, records: list[Any]) -> Table:
        columns: dict[Name, list[Any]] = {}
        for number, record in enumerate(records):
            if isinstance(record, np.void) and record.dtype.names:  # a row of a record array
                record = {name: record[name] for name in record.dtype.names}  # noqa: PLW2901
            elif hasattr(record, "to_dict") and hasattr(record, "index") and getattr(record, "ndim", 0) == 1:
                record = record.to_dict()  # noqa: PLW2901  # a Series of pandas
            if not isinstance(record, Mapping):
                raise InputTypeError(
                    f"Row {number} is {article(type(record).__name__)}, but a dict from column names to values is needed."
                )
            for name, value in record.items():
                if name not in columns:
                    columns[_name(name)] = [_ABSENT] * len(records)
                columns[name][number] = value
        table = cls.__new__(cls)
        table._set(cast("dict[Name, Any]", columns), len(records))
        return table

    # --- the collection -----------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self._length

    @property
    def shape(self) -> tuple[int]:
        """``(len(table),)``, for scikit-learn."""
        return (self._length,)

    @property
    def names(self) -> list[Name]:
        """Names of the columns."""
        return list(self._columns)

    @property
    def columns(self) -> list[Name]:
        """Names of the columns, as in a DataFrame."""
        return self.names

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __iter__(self) -> Iterator[dict[Name, Any]]:
        for row in range(len(self)):
            yield self._row(row)

    def __getitem__(self, index: Any) -> Any:
        """Return a column by its name, a row (a dict) by its number, or a Table of several rows."""
        if isinstance(index, str):
            return self.column(index)
        rows = row_index(index, len(self), "Table")
        if isinstance(rows, int):
            return self._row(rows)
        selection = type(self).__new__(type(self))
        length = len(range(len(self))[rows]) if isinstance(rows, slice) else len(rows)
        selection._set({name: _taken(column, rows) for name, column in self._columns.items()}, length)
        selection._forms = {name: [_taken(form, rows) for form in forms] for name, forms in self._cached().items()}
        return selection

    def column(self, name: Names) -> Any:
        """Return a column by its name, which may also be an int. A tuple of names returns a matrix of these columns."""
        if isinstance(name, tuple):
            return _side_by_side({column_name: self.column(column_name) for column_name in name})
        column = self._columns.get(name, _ABSENT)
        if column is _ABSENT:
            prefixed = any(str(known_name).endswith(f"__{name}") for known_name in self.names)
            hint = (
                f" To keep the original names, use {_KEEP}."
                if prefixed
                else suggestion(str(name), map(str, self.names))
            )
            columns = "The table has no columns."
            if self.names:
                columns = f"The {'only column is' if len(self.names) == 1 else 'columns are'} {some_of(self.names)}."
            raise ParameterError(f"There is no column {name!r}. {columns}{hint}")
        if isinstance(column, list):
            for row, value in enumerate(column):
                if value is _ABSENT:
                    keys = self._row(row)
                    known = f"Its keys are {some_of(keys)}." if keys else "The row is empty."
                    raise ParameterError(
                        f"Row {row} has no value for the column {name!r}. {known} Write None for a missing tree."
                    )
        return column

    def coerced(self, name: Names, coerce: Callable[[Any], Any], joined: Callable[[], Any] | None = None) -> Any:
        """Return a column, or the matrix of several columns, as converted by `coerce`. The result is cached.

        `coerce` must return its argument if no conversion is needed, and raise a TreeletError if the
        argument cannot be converted. Several forms of one column may be cached for different kernels.
        `joined` builds the form from several columns that are not a matrix.
        """
        for form in self._forms.get(name, ()):
            try:
                coerced = coerce(form)
            except TreeletError:  # cached for another kernel; the original column may be usable
                continue
            if coerced is form:
                return form
        column = self.column(name) if joined is None else None
        source = f"columns {some_of(name)}" if isinstance(name, tuple) else f"column {name!r}"
        try:
            coerced = coerce(column) if joined is None else joined()
        except FormatError as error:
            raise type(error)(error.message, f"{source}, {error.source}", error.line, error.column) from None
        except TreeletError as error:
            raise type(error)(f"{source}: {error}") from None
        if coerced is not column:
            self._forms[name] = [coerced, *self._forms.get(name, ())]
        return coerced

    def forms(self) -> Iterator[Any]:
        """Yield the columns, and their cached forms."""
        yield from self._columns.values()
        for forms in self._cached().values():
            yield from forms

    def _cached(self) -> dict[Names, list[Any]]:
        """Return a copy of the cached forms, made in one step, because another thread may convert a column meanwhile."""
        return dict(self._forms)

    def compact(self) -> Table:
        """Return the same table over banks that contain nothing else."""

        def compacted(column: Any) -> Any:
            return column.compact() if hasattr(column, "compact") else column

        columns = {name: compacted(column) for name, column in self._columns.items()}
        forms = {name: [compacted(form) for form in forms] for name, forms in self._cached().items()}
        return _rebuild(columns, forms, self._length)

    def with_form(self, name: Names, form: Any) -> Table:
        """Return the same table with one more cached form of a column, which is tried first."""
        table = _rebuild(self._columns, self._cached(), self._length)
        table._forms[name] = [form, *(other for other in self._forms.get(name, ()) if other is not form)]
        return table

    def __repr__(self) -> str:
        return f"<Table: {len(self)} rows of {some_of(self.names)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self._columns, self._cached(), self._length)

    def _row(self, row: int) -> dict[Name, Any]:
        values = ((name, column[row]) for name, column in self._columns.items())
        return {name: value for name, value in values if value is not _ABSENT}


def _rebuild(columns: dict[Name, Any], forms: dict[Names, list[Any]], length: int) -> Table:
    table = Table.__new__(Table)
    table._set(columns, length)
    table._forms = forms
    return table


def _name(name: object) -> Name:
    if isinstance(name, (str, int)) and not isinstance(name, bool):
        return name
    raise ParameterError(f"The name of a column must be a string or an int. Got {name!r:.60} instead.")


def _not_a_column(name: object, kind: str) -> InputTypeError:
    return InputTypeError(f"The column {name!r} is {kind}, but a list with one value per row is needed.")


def _column(name: object, column: Any) -> Any:
    if isinstance(column, (str, bytes, Mapping)):
        raise _not_a_column(name, article(type(column).__name__))
    if hasattr(column, "tocsr"):  # rows can be selected from the CSR format only
        return column.tocsr()
    if hasattr(column, "to_numpy") and not isinstance(column, np.ndarray):  # pandas, polars
        values = np.asarray(column)
        return values if values.dtype.kind in "biuf" else [None if is_missing(value) else value for value in column]
    if isinstance(column, np.ndarray) and column.ndim == 0:
        raise _not_a_column(name, "an array without dimensions")
    if isinstance(column, np.ndarray) and column.dtype.kind in "OUST" and column.ndim == 1:
        return column.tolist()
    if isinstance(column, list) or not (hasattr(column, "shape") and hasattr(column, "__getitem__")):
        try:
            return list(column)
        except TypeError:
            raise _not_a_column(name, article(type(column).__name__)) from None
    return column


def _rows(column: Any) -> int:
    return int(column.shape[0]) if hasattr(column, "shape") else len(column)


def _taken(column: Any, rows: slice | NDArray[np.int64]) -> Any:
    if isinstance(column, list) and not isinstance(rows, slice):
        return [column[row] for row in rows.tolist()]
    return column[rows]


def _side_by_side(columns: Mapping[Any, Any]) -> Any:
    """Join columns of numbers or vectors into one matrix, which is sparse if one of the columns is.

    >>> _side_by_side({"a": [1, 2], "b": np.array([[3, 4], [5, 6]])})
    array([[1., 3., 4.],
           [2., 5., 6.]])
    """
    parts = []
    for name, column in columns.items():
        try:
            vectors = as_vectors(_as_rows(column))
        except (InputTypeError, ParameterError) as error:
            raise type(error)(f"column {name!r}: {error}") from None
        if vectors.names is not None and vectors.is_sparse:
            raise InputTypeError(
                f"The column {name!r} contains dicts, but only columns of numbers can be joined into a matrix."
            )
        parts.append(vectors)
    if any(block.is_sparse for block in parts):
        from scipy.sparse import hstack

        return hstack([block.values for block in parts]).tocsr()
    return np.hstack([block.values for block in parts])


def _as_rows(column: Any) -> Any:
    """Convert a column of plain numbers to vectors of length 1."""
    if isinstance(column, np.ndarray) and column.ndim == 1:
        return column[:, None] if column.dtype.kind in "biuf" else _as_rows(column.tolist())
    if isinstance(column, list) and not all(
        isinstance(value, (list, tuple, np.ndarray, Mapping)) or hasattr(value, "tocsr") for value in column
    ):
        return [[value] for value in column]
    return column


def stacked(first: Any, second: Any) -> Any:
    """Concatenate two collections of the same kind. Other collections raise InputTypeError."""
    if type(first) is type(second) and hasattr(first, "concat"):  # banks, and bags of their items
        return type(first).concat([first, second])
    if isinstance(first, Table) and isinstance(second, Table) and set(first.names) == set(second.names):
        return Table({name: stacked(first.column(name), second.column(name)) for name in first.names})
    if isinstance(first, Vectors) and isinstance(second, Vectors) and first.names == second.names:
        return Vectors._of(stacked(first.values, second.values), first.names)
    if all(isinstance(block, Vectors) and block.names is not None and block.is_sparse for block in (first, second)):
        from scipy.sparse import vstack

        # Features that only one of the two has are 0 in the other.
        names = tuple(dict.fromkeys((*first.names, *second.names)))
        return Vectors._of(vstack([first.renumbered(names), second.renumbered(names)], format="csr"), names)
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray) and first.shape[1:] == second.shape[1:]:
        return np.concatenate([first, second])
    blocks = first, second
    matrices = all(hasattr(block, "tocsr") or isinstance(block, np.ndarray) for block in blocks)
    if matrices and first.shape[1:] == second.shape[1:]:  # at least one of them is sparse
        from scipy.sparse import csr_matrix, vstack

        return vstack([csr_matrix(block) for block in blocks], format="csr")
    if isinstance(first, list) and isinstance(second, list):
        return first + second
    raise InputTypeError(
        "Collections can be concatenated if they are of one kind and have the same columns or features. "
        f"Got {first!r:.80} and {second!r:.80} instead."
    )


def read_examples(
    file: File | Sequence[File],
    format: str | None = None,
    *,
    columns: str | Sequence[str] | None = None,
    **options: Any,
) -> tuple[Any, list[str] | Any]:
    r"""Read a file of examples and their labels.

    Parameters
    ----------
    file : path or open file, or a list of them
        Files in ``.gz``, ``.xz`` and ``.bz2`` format are decompressed. ``"-"`` is standard input. Folders
        and patterns stand for several files; see `treelet.read_trees`.
    format : str, optional
        A name from `treelet.formats.FORMATS`. Default: detected from the file name, then from the content. For
        examples that are not trees: ``"forests"``, ``"tagged"`` or ``"parses"``.
    columns : str or list of str, optional
        Names of the trees, vectors and texts to return, as for the kernel `On`. X is then a Table, also if there
        is one column. Default: all columns.
    **options
        Options of the format. With ``on_error="skip"``, malformed rows are skipped and a warning
        reports their number; see `treelet.formats.read_document`.

    Returns
    -------
    X : Treebank or Table
        A Treebank if each row contains one tree and nothing else, and `columns` is omitted; otherwise a Table.
        Examples that are not trees are a ForestBank, a TaggedBank or a DependencyBank.
    y : list of str or None
        The labels. Numbers are in their shortest form: ``+1``, ``1`` and ``1.0`` are the same class.
        None, with a warning, if the format has no labels (such as brackets or CoNLL-U) or the table
        has no label column. ``label_column=None`` disables the warning.

    Notes
    -----
    A line of forests, tagged sentences or parses is an example, or a row such as ``label<TAB>the/D dog/N``. Forests
    and parses are JSON objects, as in `Forest.to_json` and `Dependencies.to_json`. Files of tagged sentences in
    columns, and of parses in CoNLL-U, have no labels. The options ``label_column``, ``tree_column`` and
    ``query_column`` name the columns as in tables of trees; ``word`` and ``tag`` are those of `read_tagged` and
    `read_conllu`.

    See Also
    --------
    read_trees : read trees without labels.
    iter_examples : read a file that is larger than memory.

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
    if format in CONTENTS and columns is None:
        bank, labels, _ = read_labeled(file, str(format), **options)
        return bank, labels
    return _examples(read_document(file, format, expect_labels=True, **options), file, columns)


def iter_examples(
    file: File | Sequence[File],
    format: str | None = None,
    *,
    block: int = 10_000,
    columns: str | Sequence[str] | None = None,
    **options: Any,
) -> Iterator[tuple[Any, list[str] | Any]]:
    r"""Read a file of examples in blocks, so the file may be larger than memory.

    Parameters
    ----------
    file : path or open file, or a list of them
        As for `read_examples`. No block contains examples of two files.
    format : str, optional
        As for `read_examples`, but only the formats that `iter_trees` supports.
    block : int, default 10,000
        Number of examples per block.
    columns, **options
        As for `read_examples`.

    Yields
    ------
    X, y
        The next `block` examples and their labels, as in `read_examples`. The last block may be smaller.

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
        yield _examples(document, file, columns)


def _examples(document: Document, file: object, wanted: str | Sequence[str] | None) -> tuple[Any, list[str] | Any]:
    trees = {name: Treebank.from_columns(columns, document.places) for name, columns in document.trees.items()}
    if wanted is None and len(trees) == 1 and not document.vectors and not document.strings:
        return next(iter(trees.values())), document.labels
    columns: dict[str, Any] = {}
    for named in cast("Iterable[dict[str, Any]]", (trees, document.vectors, document.strings)):
        for name, column in named.items():
            if name in columns:
                raise FormatError(
                    f"The name {name!r} is used for trees and for another column. Rename one of them.", str(file)
                )
            columns[name] = column
    if not columns and document.labels:
        raise FormatError("The file contains only labels: no row has a tree, a vector or a text.", str(file))
    table = Table(columns)
    if wanted is not None:
        names = [wanted] if isinstance(wanted, str) else wanted
        if not isinstance(names, list | tuple) or not names:
            raise wrong("columns", "the name of a column or a list of names", wanted, optional=True)
        table = Table({name: table.column(name) for name in names})
    return table, document.labels
