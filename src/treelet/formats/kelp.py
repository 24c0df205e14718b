"""KeLP files: labels, then named trees, vectors and texts, one example per line.

    spam |BT:parse| (S (NP (N John)) (VP (V sleeps))) |ET| |BV:words| john:1 sleeps:1 |EV| |BS:note| any text |ES|

A part ends with its own closing marker, so it may contain other markers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import IO, NamedTuple

from treelet.errors import FormatError
from treelet.formats.base import Document, Format, register
from treelet.formats.brackets import bracketed
from treelet.formats.files import Source
from treelet.formats.looks import opening_lines
from treelet.formats.svmlight_tk import (
    SPACE,
    TOKEN,
    TreeColumn,
    Vector,
    cancel,
    check_length,
    end_of_gap,
    number_text,
    parse_number,
    write_line,
)

_CLOSING = {"BT": "|ET|", "BV": "|EV|", "BDV": "|EDV|", "BS": "|ES|"}
_OPENING = re.compile(r"\|(BT|BV|BDV|BS):([^|\n]+)\|")
_INDEX = re.compile(r"[1-9][0-9]{0,17}")
_NUMBER_IN_LIST = re.compile(f"[^,{SPACE}]+")


class _MarkedField(NamedTuple):
    """A named field of a line, between its opening and closing markers."""

    kind: str
    name: str
    text: str
    at: int  # where the text starts in the line, from 0
    marker_at: int


# --- reading ----------------------------------------------------------------------------------------------------


def _taken_apart(source: Source, number: int, text: str) -> tuple[str, list[_MarkedField]]:
    """Return the labels of a line, and its parts."""
    first = text.find("|")
    head = text if first < 0 else text[:first]
    if head.lstrip(SPACE).startswith("("):
        raise source.error("this tree has no marker. Write |BT:name| before the tree and |ET| after it.", number, 1)
    return " ".join(TOKEN.findall(head)), list(_parts(source, number, text, len(head)))


def _parts(source: Source, number: int, text: str, at: int) -> Iterator[_MarkedField]:
    """Yield the fields between markers, from position `at` on."""
    seen: set[tuple[str, str]] = set()
    while True:
        at = end_of_gap(text, at)
        if at == len(text):
            return
        opening = _OPENING.match(text, at)
        if opening is None:
            raise source.error(
                f"unexpected {text[at : at + 20]!r}. Begin each part with |BT:name|, |BV:name|, |BDV:name| or |BS:name|.",
                number,
                at + 1,
            )
        kind, name = opening[1], opening[2]
        closing = _CLOSING[kind]
        end = text.find(closing, opening.end())
        if end < 0:
            raise source.error(f"{opening[0]} is not closed on this line. Write {closing} at its end.", number, at + 1)
        family = "BV" if kind == "BDV" else kind
        if (family, name) in seen:
            raise source.error(
                f"{opening[0]} occurs twice on this line. Give the two parts different names.", number, at + 1
            )
        seen.add((family, name))
        yield _MarkedField(kind, name, text[opening.end() : end], opening.end(), at)
        at = end + len(closing)


def _read_tree(column: TreeColumn, row: int, part: _MarkedField, source: Source, number: int) -> None:
    try:
        column.add(row, part.text, number, part.at + 1)
    except FormatError:
        if not _OPENING.search(part.text):
            raise
        # The closing marker most likely belongs to a later part.
        raise source.error(
            f"|BT:{part.name}| is not closed before the next part. Write |ET| after its tree.",
            number,
            part.marker_at + 1,
        ) from None


def _read_vector(part: _MarkedField, source: Source, number: int) -> Vector:
    return (_read_sparse if part.kind == "BV" else _read_dense)(part, source, number)


def _read_sparse(part: _MarkedField, source: Source, number: int) -> Vector:
    vector: Vector = {}
    for token in TOKEN.finditer(part.text):
        column = part.at + token.start() + 1
        name, colon, value = token[0].rpartition(":")
        if not colon or not name:
            raise source.error(f"{token[0]!r} is not a feature. Write features as name:value.", number, column)
        # A number is the same feature in KeLP and in SVM-Light-TK.
        feature = int(name) if _INDEX.fullmatch(name) else name
        if feature in vector:
            raise source.error(
                f"the feature {name!r} occurs twice in this vector. Remove one of the two features.", number, column
            )
        vector[feature] = parse_number(value, source, number, column + len(name) + 1)
    return vector


def _read_dense(part: _MarkedField, source: Source, number: int) -> Vector:
    return {
        index: parse_number(token[0], source, number, part.at + token.start() + 1)
        for index, token in enumerate(_NUMBER_IN_LIST.finditer(part.text), 1)
    }


def read_kelp(
    source: Source, *, drop_empty: bool = False, drop_function_tags: bool = False, root: str | None = None
) -> Document:
    """Read labels, trees, vectors and texts, one example per line.

    A line has the form ``labels |BT:name| (tree) |ET| |BV:name| word:1 |EV| |BDV:name| 0.1,0.2 |EDV|
    |BS:name| text |ES|``. Several labels are kept as one string, separated by spaces. Features of sparse
    vectors have names, but whole numbers from 1 become ints, as in SVM-Light-TK. Dense vectors are
    numbered from 1. If a name is absent on some lines, the tree is missing there, or the vector or text
    is empty. One space at each end of a text belongs to the markers.

    Parameters
    ----------
    drop_empty, drop_function_tags, root
        See `read_brackets`.
    """
    new_column = partial(
        TreeColumn, source.name, drop_empty=drop_empty, drop_function_tags=drop_function_tags, root=root
    )
    trees: dict[str, TreeColumn] = {}
    vectors: dict[str, list[Vector]] = {}
    strings: dict[str, list[str]] = {}
    labels: list[str] = []
    for number, text in source.text_lines():
        if not text.strip(SPACE):
            continue
        row = len(labels)
        with source.item():
            label, parts = _taken_apart(source, number, text)
            row_vectors = {
                field.name: _read_vector(field, source, number) for field in parts if field.kind in ("BV", "BDV")
            }
            texts = {
                field.name: field.text.removeprefix(" ").removesuffix(" ") for field in parts if field.kind == "BS"
            }
            bracketed = [field for field in parts if field.kind == "BT"]
            columns = {field.name: trees.get(field.name) or new_column() for field in bracketed}
            try:
                for field in bracketed:
                    _read_tree(columns[field.name], row, field, source, number)
            except FormatError:
                cancel(columns.values(), row)
                raise
            trees.update(columns)
            for name, vector in row_vectors.items():
                values = vectors.setdefault(name, [])
                values.extend({} for _ in range(row - len(values)))
                values.append(vector)
            for name, line in texts.items():
                lines = strings.setdefault(name, [])
                lines.extend([""] * (row - len(lines)))
                lines.append(line)
            labels.append(label)
    rows = len(labels)
    if rows == 0:  # an empty file has a column without trees, rather than no column
        trees["tree"] = new_column()
    return Document(
        trees={name: column.result(rows) for name, column in trees.items()},
        labels=labels,
        vectors={name: values + [{} for _ in range(rows - len(values))] for name, values in vectors.items()},
        strings={name: texts + [""] * (rows - len(texts)) for name, texts in strings.items()},
    )


# --- writing ----------------------------------------------------------------------------------------------------


def _label_text(label: str, place: str) -> str:
    if " ".join(TOKEN.findall(label)) != label or "|" in label or label.startswith("("):
        raise FormatError(
            f"the label {label!r} cannot be written. A label consists of words separated by single spaces. It must not "
            "contain '|' or start with '('.",
            place,
        )
    return label


def _enclosed(kind: str, name: str, text: str, place: str) -> str:
    closing = _CLOSING[kind]
    opening = f"|{kind}:{name}|"
    if not _OPENING.fullmatch(opening):
        raise FormatError(
            f"the column name {name!r} cannot be written. A name must not be empty or contain '|' or a line end.", place
        )
    whole = f"{opening} {text} {closing}"
    if "\n" in text or whole.find(closing) != len(whole) - len(closing):
        raise FormatError(
            f"{opening} contains a line end or {closing}, which cannot be written. Replace this text.", place
        )
    return whole


def _is_dense(vectors: list[Vector]) -> bool:
    """Return whether all nonempty rows have the same number of features, numbered from 1."""
    full = [vector for vector in vectors if vector]
    return bool(full) and all(
        len(vector) == len(full[0]) and all(index in vector for index in range(1, len(vector) + 1)) for vector in full
    )


def _dense_text(vector: Vector, place: str) -> str:
    return ",".join(number_text(vector[index], place) for index in range(1, len(vector) + 1))


def _sparse_text(vector: Vector, place: str) -> str:
    parts = {}
    for index, value in vector.items():
        name = str(index)
        if not TOKEN.fullmatch(name) or name in parts:
            raise FormatError(
                f"the feature {index!r} cannot be written. The name of a feature must be one word that occurs once.",
                place,
            )
        parts[name] = f"{name}:{number_text(value, place)}"
    return " ".join(parts.values())


def _empty_part(document: Document, place: str) -> str:
    for kind, names in (("BT", document.trees), ("BV", document.vectors), ("BS", document.strings)):
        for name in names:
            return _enclosed(kind, name, "", place)
    raise FormatError("this row is empty, so it cannot be written. Give it a label, or remove the row.", place)


def write_kelp(document: Document, stream: IO[str]) -> None:
    """Write one example per line, with the names of all columns.

    Vectors that are numbered from 1 to the same length in all rows are written as dense vectors, others as
    sparse vectors. Missing trees, empty vectors and empty texts are omitted, so a column without any other
    values is lost. A row without any other values is written with one empty part. A tree or a text that
    contains its own closing marker (``|ET|``, ``|ES|``) raises an error.
    """
    rows = len(document)
    labels = [""] * rows if document.labels is None else document.labels
    for name, columns in document.trees.items():
        check_length(name, len(columns.roots), rows)
    for name, values in document.vectors.items():
        check_length(name, len(values), rows)
    for name, lines in document.strings.items():
        check_length(name, len(lines), rows)
    texts = [(name, bracketed(columns)) for name, columns in document.trees.items()]
    vectors = [(name, values, _is_dense(values)) for name, values in document.vectors.items()]
    for row in range(rows):
        where = f"row {row}"
        parts = [_label_text(labels[row], where)] if labels[row] else []
        for name, trees in texts:
            if tree := next(trees):
                parts.append(_enclosed("BT", name, tree, where))
        for name, numbers, dense in vectors:
            if numbers[row] and dense:
                parts.append(_enclosed("BDV", name, _dense_text(numbers[row], where), where))
            elif numbers[row]:
                parts.append(_enclosed("BV", name, _sparse_text(numbers[row], where), where))
        for name, strings in document.strings.items():
            if strings[row]:
                parts.append(_enclosed("BS", name, strings[row], where))
        if not parts:  # a blank line would not be read back
            parts.append(_empty_part(document, where))
        write_line(" ".join(parts), stream, where)


def _looks_like_kelp(head: bytes) -> str | None:
    first = "".join(opening_lines(head)[:1])
    opening = None if first.lstrip().startswith("(") else _OPENING.search(first)
    return f"its first line has {opening[0]}" if opening else None


register(
    Format(
        "kelp",
        "KeLP: labels |BT:name| tree |ET| |BV:name| features |EV| |BS:name| text |ES|",
        read_kelp,
        write_kelp,
        (".klp", ".kelp"),
        _looks_like_kelp,
    )
)
