"""Files of examples that are not trees: forests, tagged sentences and dependency parses, with or without labels."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

from treelet.checks import suggestion
from treelet.errors import FormatError, ParameterError
from treelet.formats.base import FORMATS, OptionText, opening_lines, option_values
from treelet.formats.files import Source, unpacked_name
from treelet.formats.paths import File
from treelet.formats.reading import label_text, read_items
from treelet.formats.tabular import labeled_texts
from treelet.structures.dependency import Dependencies, DependencyBank
from treelet.structures.forest import Forest, ForestBank
from treelet.structures.sequence import Tagged, TaggedBank

CONTENTS: dict[str, tuple[type[Any], Callable[[str], Any]]] = {
    "forests": (ForestBank, Forest.from_json),
    "tagged": (TaggedBank, Tagged.parse),
    "parses": (DependencyBank, Dependencies.from_json),
}
"""The contents of files besides trees: the collection, and the function that makes an example from a text."""
_COLUMNS = ("label_column", "tree_column", "query_column")


class _Labeled(NamedTuple):
    """Examples, with their labels and queries, if the files have them."""

    bank: Any
    labels: list[str] | None
    queries: list[str] | None


def read_labeled(
    files: File | Sequence[File],
    content: str,
    *,
    labels: bool = True,
    exclude: str | Collection[str] = (),
    encoding: str = "utf-8",
    on_error: str = "raise",
    **options: Any,
) -> _Labeled:
    """Read files of forests, tagged sentences or dependency parses, with or without labels.

    Parameters
    ----------
    files : path or open file, or a list of them
    content : {"forests", "tagged", "parses"}
        A line is an example, or a row of a table, such as ``label<TAB>the/D dog/N``. Tagged sentences can also be in
        columns, and parses in CoNLL-U; such files have no labels.
    labels : bool, default True
        Whether to look for a column of labels.
    exclude, encoding, on_error
        As in `read_examples`.
    **options
        ``label_column``, ``tree_column`` and ``query_column`` as in tables of trees. ``word`` and ``tag`` for
        columns of words and tags, and ``tag`` for CoNLL-U.
    """
    bank, parsed = CONTENTS[content]
    in_file = inspect.signature(bank._in_file).parameters
    known = {name: FORMATS["tsv"].options()[name] for name in _COLUMNS}
    known |= {name: in_file[name] for name in ("word", "tag") if name in in_file}
    for name in options:
        if name not in known:
            raise ParameterError(
                f"Files of {content} have no option {name!r}.{suggestion(name, known)} The options are {', '.join(known)}."
            )
    written = {name: value for name, value in options.items() if isinstance(value, OptionText)}
    options |= option_values(written, known)
    columns = {name: options.pop(name) for name in _COLUMNS if name in options}
    named = bool(columns)
    if not labels:
        columns.setdefault("label_column", None)

    def read(source: Source) -> Iterator[tuple[str | None, str | None, Any]]:
        if named or _is_table(source, bank._is_text):
            for row in labeled_texts(source, bank._noun, bank._mark, bank._is_text, **columns):
                with source.item(), source.at(row.line):
                    yield row.label, row.query, parsed(row.text)
        else:
            for item in bank._in_file(source, **options):
                yield None, None, item

    given = files if isinstance(files, list | tuple) else [files]
    suffixes = (*bank._suffixes, ".tsv", ".csv")
    rows = read_items(given, suffixes, read, f"{bank._noun}s", exclude=exclude, encoding=encoding, on_error=on_error)
    found: list[Any] = []
    for column, what in ((0, "labels"), (1, "queries")):
        values = [row[column] for row in rows]
        if None in values and any(value is not None for value in values):
            raise FormatError(f"Files with and without {what} cannot be read together. Read them one at a time.", "")
        found.append(None if None in values or not values else values)
    read_labels, queries = found
    return _Labeled(
        bank([item for *_, item in rows]), None if read_labels is None else list(map(label_text, read_labels)), queries
    )


def _is_table(source: Source, is_text: Callable[[str], bool]) -> bool:
    """Return whether a file has an example in one of several columns, after the first line, which may be a header."""
    lines = opening_lines(source.head())[:3]
    if unpacked_name(source.name).suffix.lower() == ".csv":
        return True
    rows = [line.split("\t") for line in lines[1:] or lines]
    return bool(rows) and all(len(cells) > 1 and any(map(is_text, cells)) for cells in rows)
