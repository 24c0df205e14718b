"""Tab-separated columns with the tree in one of them."""

from __future__ import annotations

from enum import Enum
from typing import IO

from treelet.checks import wrong
from treelet.errors import FormatError
from treelet.formats.base import Document, Format, register
from treelet.formats.brackets import Reader, bracketed, refuse_missing
from treelet.formats.files import Source
from treelet.formats.looks import is_tree, opening_lines


class Find(Enum):
    """Stands for a column that is to be found."""

    FIND = "found"


def read_tsv(
    source: Source,
    *,
    label_column: int | Find | None = Find.FIND,
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
        Which columns, counted from 0, from the right if negative. ``label_column=None``: there are no labels. By default
        the label is in the first one, if there is a tab in the first line.
    drop_empty, drop_function_tags, root
        As for brackets.
    """
    for name, value in (("label_column", label_column), ("tree_column", tree_column)):
        if not (isinstance(value, int) or (value in (None, Find.FIND) and name == "label_column")):
            raise wrong(name, "an int", value)
    reader = Reader(source.name, drop_empty=drop_empty, drop_function_tags=drop_function_tags, root=root)
    labels: list[str] = []
    for number, text in source.text_lines():
        if not text.strip():
            continue
        cells = text.split("\t")
        if label_column is Find.FIND:
            label_column = 0 if len(cells) > 1 else None
        needed = [tree_column] if label_column is None else [tree_column, label_column]
        if (len(cells) < 2 and label_column is not None) or not all(-len(cells) <= k < len(cells) for k in needed):
            raise source.error(f"{len(cells)} tab-separated column(s), the line needs label<TAB>tree", number)
        place = tree_column % len(cells)
        column = sum(len(cell) + 1 for cell in cells[:place]) + 1
        reader.feed_one(cells[place].encode(), number, column)
        if label_column is not None:
            labels.append(cells[label_column])
    return Document(trees={"tree": reader.result()}, labels=labels if isinstance(label_column, int) else None)


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


def _looks_like_tsv(head: bytes) -> str | None:
    """A tree in one cell of its first line, no bracket in another; or so in its second line, if the first is a header."""
    for place, line in zip(("first", "second"), opening_lines(head), strict=False):
        cells = line.split("\t")
        if any(map(is_tree, cells)) and not all(cell.strip().startswith("(") for cell in cells):
            return f"its {place} line has a tab between text and a tree"
        if len(cells) < 2 or "(" in line:
            return None
    return None


register(Format("tsv", "label<TAB>tree lines", read_tsv, write_tsv, (".tsv", ".tab"), _looks_like_tsv))
