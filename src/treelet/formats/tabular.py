"""Tables: columns separated by tabs or commas, with the tree in one column and the label in another."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from enum import Enum
from functools import wraps
from itertools import chain, islice
from typing import IO, Any, NamedTuple

from treelet.checks import is_integer, plural, suggestion, wrong
from treelet.errors import FormatError, ParameterError
from treelet.formats.base import Document, Format, opening_lines, register
from treelet.formats.brackets import Reader, bracketed, is_tree
from treelet.formats.files import Source, unpacked_name

_SHOWN = 3  # number of rows inspected to find the columns, and of values that an error shows per column


class _Find(Enum):
    """Stands for a column that is to be detected."""

    FIND = "found"


_FIND = _Find.FIND


class _TableRow(NamedTuple):
    """The line number, the cells and the text of a row."""

    line: int
    cells: list[str]
    text: str


# --- rows -------------------------------------------------------------------------------------------------------


def _tab_rows(source: Source) -> Iterator[_TableRow]:
    for number, text in source.text_lines():
        if text.strip():
            yield _TableRow(number, _tab_cells(text), text)


def _tab_cells(line: str) -> list[str]:
    """Return the cells of a line. A cell in quotes, as pandas and Excel write it, is read without them.

    Unlike in CSV, a quote elsewhere is an ordinary character, because treebanks contain it as a word.
    """
    return [_unquoted(cell) for cell in line.split("\t")] if '"' in line else line.split("\t")


def _unquoted(cell: str) -> str:
    if len(cell) > 1 and cell[0] == cell[-1] == '"' and '"' not in cell[1:-1].replace('""', ""):
        return cell[1:-1].replace('""', '"')
    return cell


def _comma_rows(source: Source) -> Iterator[_TableRow]:
    """Yield the rows of a CSV file. A quoted cell may contain commas, doubled quotes and line ends."""
    taken: list[tuple[int, str]] = []

    def lines() -> Iterator[str]:
        for number, text in source.text_lines():
            taken.append((number, text))
            yield text + "\n"

    usual = csv.field_size_limit(1 << 30)
    try:
        for cells in csv.reader(lines(), strict=True, skipinitialspace=True):
            number, text = taken[0]
            taken.clear()
            if any(cell.strip() for cell in cells):
                yield _TableRow(number, cells, text)
    except csv.Error as error:
        line = taken[0][0] if taken else None
        raise source.error(
            f"this is not valid CSV ({error}). Check the quotes of the row that begins here.", line
        ) from None
    finally:
        csv.field_size_limit(usual)


# --- detection of the columns -----------------------------------------------------------------------------------


class _Content(NamedTuple):
    """What one column of a table contains: the noun for messages, a character of every example, and a test of a cell."""

    noun: str
    mark: str
    fits: Callable[[str], bool]


def _starts_tree(cell: str) -> bool:
    return cell.lstrip().startswith("(")


_TREES = _Content("tree", "(", _starts_tree)


class _TableLayout:
    """The tree, label and query columns, which are requested or found in the first rows.

    Attributes
    ----------
    tree, label, query : int or None
        Numbers of the columns.
    header : _TableRow or None
        The first row, if a column was requested by name, or if the row has no bracket and the next one has a tree.
    width : int or None
        Number of cells that every row must have, if columns were found.
    """

    def __init__(
        self, source: Source, rows: list[_TableRow], wanted: dict[str, Any], content: _Content = _TREES
    ) -> None:
        self.content = content
        for name, value in wanted.items():
            optional = (value is _FIND and name != "query_column") or (value is None and name != "tree_column")
            if not (optional or is_integer(value) or isinstance(value, str)):
                raise wrong(name, "the number of a column or its name in the header", value)
        self.source, self.by_name = source, any(isinstance(value, str) for value in wanted.values())
        self.header = rows[0] if self.by_name or self._begins_with_header(rows) else None
        self.rows = rows[1:] if self.header else rows
        self.first = (self.rows or rows)[0]
        self.query = self._number("query_column", wanted["query_column"])
        tree = wanted["tree_column"]
        self.tree: int = self._find_tree() if tree is _FIND else self._number("tree_column", tree)  # type: ignore[assignment]
        label = wanted["label_column"]
        self.label = self._find_label() if label is _FIND else self._number("label_column", label)
        searched = _FIND in wanted.values() and len(self.first.cells) > 1
        self.width = len(self.first.cells) if searched else None

    def _begins_with_header(self, rows: list[_TableRow]) -> bool:
        fits, mark = self.content.fits, self.content.mark
        if mark in rows[0].text or not all(cell.strip() for cell in rows[0].cells) or len(rows) == 1:
            return False
        # A tree whose quotes do not match is malformed, but the line before it is a header all the same.
        same = len(rows[0].cells) == len(rows[1].cells)
        return same and any(fits(cell.lstrip(' "')) for cell in rows[1].cells)

    def _number(self, name: str, column: int | str | None) -> int | None:
        if not isinstance(column, str):
            return column
        names = [cell.strip() for cell in self.header.cells] if self.header else []
        if names.count(column) == 1:
            return names.index(column)
        problem = "occurs twice" if column in names else "is not a column name"
        raise ParameterError(
            f"{self.source.name}: {name}= must be the number of a column or its name in the first line, but {column!r} "
            f"{problem}.{suggestion(column, set(names) - {column})} The columns are {self._listed()}"
        )

    def _find_tree(self) -> int:
        cells = self.first.cells
        tree_columns = [column for column, cell in enumerate(cells) if self.content.fits(cell)]
        if len(tree_columns) == 1 or len(cells) == 1:
            return tree_columns[0] if tree_columns else 0
        if len(cells) == 2:  # label<TAB>tree, even if the tree is malformed
            return 1
        noun, mark = self.content.noun, self.content.mark
        problem = f"several columns contain {noun}s"
        if not tree_columns:
            problem = f"no column contains {noun}s, which {'contain' if mark == '/' else 'begin with'} {mark!r}"
        raise self.source.error(
            f"{problem}. Choose the {noun} column with tree_column=. The columns are {self._listed()}", self.first.line
        )

    def _find_label(self) -> int | None:
        n = len(self.first.cells)
        others = sorted(set(range(n)) - {column % n for column in (self.tree, self.query) if column is not None})
        if len(others) > 1 and self.header:
            usual = ("label", "class", "target", "category", "y")
            named = [k for k in others if self.header.cells[k].strip().lower() in usual]
            others = named if len(named) == 1 else others
        if len(others) > 1:
            raise self.source.error(
                f"several columns could contain the labels. Choose the label column with label_column=. The "
                f"columns are {self._listed()}",
                self.first.line,
            )
        return others[0] if others else None

    def _listed(self) -> str:
        """Return the columns with their first values, as the end of a sentence."""
        shown = []
        for column in range(len(self.first.cells)):
            name = f" {self.header.cells[column].strip()!r}" if self.header and column < len(self.header.cells) else ""
            values = [row.cells[column][:20] for row in self.rows if column < len(row.cells)]
            more = ", ..." if len(values) == _SHOWN else ""
            shown.append(f"{column}{name}: {', '.join(values)}{more}")
        listed = "; ".join(shown)
        return listed if listed.endswith("...") else f"{listed}."

    def check(self, row: _TableRow, separator: str) -> None:
        """Raise an error unless a row has the columns that are read, and as many cells as the rows before."""
        n = len(row.cells)
        needed = [column for column in (self.tree, self.label, self.query) if column is not None]
        if all(-n <= column < n for column in needed) and self.width in (None, n):
            return
        noun, hint = self.content.noun, ""
        want = f"label<{separator.upper()}>{noun}" if self.width in (None, 2) else f"{self.width}, as the rows before"
        if self.content is _TREES and n == 1 and not _starts_tree(row.text) and "(" in row.text:
            hint = f" Separate label and tree by a {separator}, not by a space."
        elif separator == "comma" and self.width is not None and n > self.width:
            hint = f" Put a {noun} that contains commas in quotes{': ' * (self.content is _TREES)}"
            hint += '"(S (, ,))".' if self.content is _TREES else "."
        columns = plural(n, f"{separator}-separated column")
        raise self.source.error(f"this row has {columns} but needs {want}.{hint}", row.line)

    def labels(self, row: _TableRow) -> tuple[str | None, str | None]:
        """Return the label and the query of a row."""
        label, query = (None if at is None else row.cells[at].strip(" ") for at in (self.label, self.query))
        return label, query

    def place(self, row: _TableRow) -> tuple[str, int]:
        """Return the text of a row's tree, and its place in the line, counted from 1."""
        column = self.tree % len(row.cells)
        before = sum(len(cell) + 1 for cell in row.cells[:column])
        return row.cells[column], max(row.text.find(row.cells[column], before), 0) + 1

    def read_tree(self, row: _TableRow, reader: Reader) -> None:
        """Read the tree of a row. Errors name its place in the line."""
        text, place = self.place(row)
        reader.feed_one(text.encode(), row.line, place)


# --- reading ----------------------------------------------------------------------------------------------------


def _read_tsv(
    source: Source,
    *,
    label_column: int | str | _Find | None = _FIND,
    tree_column: int | str | _Find = _FIND,
    query_column: int | str | None = None,
    drop_empty: bool = False,
    drop_function_tags: bool = False,
    root: str | None = None,
) -> Document:
    """Read lines of the form ``label<TAB>tree``, or with more columns. A cell may be in double quotes.

    Parameters
    ----------
    label_column : int, str or None, optional
        Number of the label column, counted from 0 (negative: from the right), or its name in the first
        line, which is then a header. None reads no labels. Default: the column that is not the tree
        column; if there are several, the one called ``label``, ``class``, ``target``, ``category`` or
        ``y`` in a header.
    tree_column : int or str, optional
        Number or name of the tree column. Default: the column that begins with a bracket.
    query_column : int or str, optional
        Column with the query or sentence of each example, for rankers. It becomes a text column ``qid``.
    drop_empty, drop_function_tags, root
        See `read_brackets`.
    """
    columns = {"label_column": label_column, "tree_column": tree_column, "query_column": query_column}
    options = {"drop_empty": drop_empty, "drop_function_tags": drop_function_tags, "root": root}
    return next(_tab_blocks(source, None, **columns, **options))


@wraps(_read_tsv, assigned=())
def _read_csv(source: Source, **options: Any) -> Document:
    """Read a table as `_read_tsv` does, but with commas between columns. Cells with commas need double quotes."""
    return next(_comma_blocks(source, None, **options))


def _tab_blocks(source: Source, size: int | None, **options: Any) -> Iterator[Document]:
    return _blocks(source, _tab_rows(source), "tab", size, options)


def _comma_blocks(source: Source, size: int | None, **options: Any) -> Iterator[Document]:
    return _blocks(source, _comma_rows(source), "comma", size, options)


def _blocks(
    source: Source, rows: Iterator[_TableRow], separator: str, size: int | None, options: dict[str, Any]
) -> Iterator[Document]:
    """Yield the rows in documents of `size` examples."""
    default = {"tree_column": _FIND, "label_column": _FIND, "query_column": None}
    wanted = {name: options.pop(name, value) for name, value in default.items()}
    reader = Reader(source.name, **options)
    first = list(islice(rows, _SHOWN))
    if not first:
        yield Document(trees={"tree": reader.result()}, labels=None if wanted["label_column"] is None else [])
        return
    layout = _TableLayout(source, first, wanted)
    guessed = None if layout.by_name else layout.header
    labels: list[str] = []
    queries: list[str] = []

    def document() -> Document:
        return Document(
            trees={"tree": reader.result()},
            labels=None if layout.label is None else labels,
            strings={} if layout.query is None else {"qid": queries},
        )

    begun = False
    for row in chain(first[1:] if layout.header else first, rows):
        if guessed is not None and any(name == cell for name, cell in zip(guessed.cells, row.cells, strict=False)):
            with source.item():  # the supposed header is a malformed example: its values occur again
                malformed, guessed = guessed, None
                layout.read_tree(malformed, reader)
        with source.item():
            layout.check(row, separator)
            layout.read_tree(row, reader)
            label, query = layout.labels(row)
            labels += [label] if label is not None else []
            queries += [query] if query is not None else []
        if reader.trees == size:
            yield document()
            begun, labels, queries = True, [], []
    if reader.trees or not begun:
        yield document()


class _LabeledText(NamedTuple):
    """A row of a table whose examples are not trees: line, label, query, and the text and column of the example."""

    line: int
    label: str | None
    query: str | None
    text: str
    column: int


def labeled_texts(
    source: Source, noun: str, mark: str, fits: Callable[[str], bool], **columns: Any
) -> Iterator[_LabeledText]:
    """Yield the rows of a table whose examples, called `noun`, are not trees.

    `fits` recognizes the text of an example, which contains the character `mark`. A line without it may be a header.
    A file without tabs has a single column. The columns are found as in tables of trees, or named in `columns`.
    """
    separator = "comma" if unpacked_name(source.name).suffix.lower() == ".csv" else "tab"
    rows = _comma_rows(source) if separator == "comma" else _tab_rows(source)
    if not (first := list(islice(rows, _SHOWN))):
        return
    wanted = {"tree_column": _FIND, "label_column": _FIND, "query_column": None, **columns}
    layout = _TableLayout(source, first, wanted, _Content(noun, mark, fits))
    for row in chain(first[1:] if layout.header else first, rows):
        with source.item():
            layout.check(row, separator)
            yield _LabeledText(row.line, *layout.labels(row), *layout.place(row))


# --- writing ----------------------------------------------------------------------------------------------------


def _write_tsv(document: Document, stream: IO[str]) -> None:
    """Write lines of the form ``label<TAB>tree`` for the first tree column. Without labels, the first column is empty."""
    labels = document.labels or [""] * len(document)
    for row, label in enumerate(labels):
        if not {"\t", "\n", "\r"}.isdisjoint(label):
            raise FormatError(
                f"the label {label!r} of row {row} contains a tab or a line end. Replace these characters.", "<output>"
            )
    for columns in document.trees.values():
        for label, line in zip(labels, bracketed(columns, complete=True), strict=True):
            shown = label if _unquoted(label) == label else '"{}"'.format(label.replace('"', '""'))
            stream.write(f"{shown}\t{line}\n")
        return


def _write_csv(document: Document, stream: IO[str]) -> None:
    """Write lines of the form ``label,tree`` for the first tree column, with quotes where necessary."""
    labels = document.labels or [""] * len(document)
    writer = csv.writer(stream, lineterminator="\n")
    for columns in document.trees.values():
        writer.writerows(zip(labels, bracketed(columns, complete=True), strict=True))
        return


# --- detection of the format ------------------------------------------------------------------------------------


def _tree_among(rows: list[list[str]]) -> str | None:
    """Return which row has a tree in one cell and text in another: the first, or the second after a header."""
    for ordinal, cells in zip(("first", "second"), rows, strict=False):
        if any(map(is_tree, cells)) and not all(map(_starts_tree, cells)):
            return ordinal
        if len(cells) < 2 or any("(" in cell for cell in cells):
            return None
    return None


def _looks_like_tsv(head: bytes) -> str | None:
    ordinal = _tree_among([_tab_cells(line) for line in opening_lines(head)[:2]])
    return f"its {ordinal} line has a tab between text and a tree" if ordinal else None


def _looks_like_csv(head: bytes) -> str | None:
    try:
        ordinal = _tree_among(list(csv.reader(opening_lines(head)[:2], skipinitialspace=True)))
    except csv.Error:
        return None
    return f"its {ordinal} line has a comma between text and a tree" if ordinal else None


register(
    Format("csv", "label,tree lines", _read_csv, _write_csv, (".csv",), _looks_like_csv, ("labels",), _comma_blocks)
)
register(
    Format(
        "tsv",
        "label<TAB>tree lines",
        _read_tsv,
        _write_tsv,
        (".tsv", ".tab"),
        _looks_like_tsv,
        ("labels",),
        _tab_blocks,
    )
)
