"""Line-based files: one tree a line, and tab-separated columns with the tree in one of them."""

from __future__ import annotations

from typing import IO

from treelet.checks import wrong
from treelet.errors import FormatError
from treelet.formats.base import Document, Format, register
from treelet.formats.brackets import Reader, bracketed, refuse_missing, write_brackets
from treelet.formats.files import Source


def read_lines(
    source: Source, *, drop_empty: bool = False, drop_function_tags: bool = False, root: str | None = None
) -> Document:
    """One tree a line; blank lines are passed over."""
    reader = Reader(source.name, drop_empty=drop_empty, drop_function_tags=drop_function_tags, root=root)
    for number, line in enumerate(source.lines(), 1):
        if line.strip():
            reader.feed_one(line, number)
    return Document(trees={"tree": reader.result()})


def read_tsv(
    source: Source,
    *,
    label_column: int | None = 0,
    tree_column: int = -1,
    drop_empty: bool = False,
    drop_function_tags: bool = False,
    root: str | None = None,
) -> Document:
    """``label<TAB>tree``, or more columns.

    Parameters
    ----------
    source : Source
        The bytes.
    label_column, tree_column : int
        Which columns, counted from 0, from the right if negative. ``label_column=None``: there are no labels.
    drop_empty, drop_function_tags, root
        As for brackets.
    """
    for name, value in (("label_column", label_column), ("tree_column", tree_column)):
        if not (isinstance(value, int) or (value is None and name == "label_column")):
            raise wrong(name, "an int", value)
    reader = Reader(source.name, drop_empty=drop_empty, drop_function_tags=drop_function_tags, root=root)
    labels: list[str] = []
    for number, text in source.text_lines():
        if not text.strip():
            continue
        cells = text.split("\t")
        needed = [tree_column] if label_column is None else [tree_column, label_column]
        if (len(cells) < 2 and label_column is not None) or not all(-len(cells) <= k < len(cells) for k in needed):
            raise source.error(f"{len(cells)} tab-separated column(s), the line needs label<TAB>tree", number)
        place = tree_column % len(cells)
        column = sum(len(cell) + 1 for cell in cells[:place]) + 1
        reader.feed_one(cells[place].encode(), number, column)
        if label_column is not None:
            labels.append(cells[label_column])
    return Document(trees={"tree": reader.result()}, labels=None if label_column is None else labels)


def write_tsv(document: Document, stream: IO[str]) -> None:
    """``label<TAB>tree`` lines; of several tree columns, the first. No labels: an empty first column."""
    labels = document.labels or [""] * len(document)
    for row, label in enumerate(labels):
        if not {"\t", "\n", "\r"}.isdisjoint(label):
            raise FormatError(f"the label of row {row} is {label!r}, with a tab or a line end in it", "<output>")
    for columns in document.trees.values():
        refuse_missing(columns)
        for label, line in zip(labels, bracketed(columns), strict=True):
            stream.write(f"{label}\t{line}\n")
        return


register(Format("lines", "one tree a line", read_lines, write_brackets, (".txt",)))
register(Format("tsv", "label<TAB>tree lines", read_tsv, write_tsv, (".tsv", ".tab")))
