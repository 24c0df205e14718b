"""SVM-Light-TK files: a target, trees, feature vectors, one example a line; and plain SVM-Light files.

    1 |BT| (S (NP (N John)) (VP (V sleeps))) |ET| 1:0.5 3:2 |EV|

``#`` starts a comment outside the trees; inside them it is text like any other (the Penn Treebank has the tag ``#``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import IO

import numpy as np

from treelet.errors import FormatError
from treelet.formats.base import Columns, Document, Format, register
from treelet.formats.brackets import Reader, bracketed
from treelet.formats.files import Source
from treelet.formats.looks import is_tree, opening_lines

Vector = dict[str | int, float]
SPACE = " \t\n\v\f\r"  # what separates labels in brackets; any other white space is part of them
MARK = "\ufeff"  # of byte order: at the beginning of a file it is no text
TOKEN = re.compile(f"[^{SPACE}]+")
GAP = re.compile(f"[{SPACE}]*")
LARGEST_INDEX = 2**63 - 1

_MARKER = re.compile(r"\|(BT|ET|BV|EV|STD)\|")
_ANY_MARKER = re.compile(rf"\|[^|{SPACE}()]*\|")
_TARGET = re.compile(rf"(?:(?!{_MARKER.pattern})[^{SPACE}])+")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_QUERY = re.compile(rf"qid:([0-9]+)(?=[{SPACE}|]|$)")
_FEATURE = re.compile(rf"[0-9]+:{_NUMBER.pattern}")


# --- shared with the other formats of trees and vectors ---------------------------------------------------------


class TreeColumn:
    """A column of trees of which some rows may be missing."""

    def __init__(self, source: str, *, drop_empty: bool, drop_function_tags: bool, root: str | None) -> None:
        self._reader = Reader(source, drop_empty=drop_empty, drop_function_tags=drop_function_tags, root=root)
        self._rows: list[int] = []

    def add(self, row: int, text: str, line: int, column: int) -> None:
        """The tree of a row, and where it stands; nothing but white space is a missing tree."""
        tree = text.lstrip(SPACE)
        if tree:
            self._reader.feed_one(tree.encode(), line, column + len(text) - len(tree))
            self._rows.append(row)

    def cancel(self, row: int) -> None:
        """Forget what this row, the last one, had."""
        if self._rows and self._rows[-1] == row:
            self._rows.pop()
            self._reader.drop_last()

    def result(self, rows: int) -> Columns:
        """The column, so many rows long."""
        store, row_roots = self._reader.result()
        roots = np.full(rows, -1, np.int32)
        roots[self._rows] = row_roots
        return Columns(store, roots)


def cancel(columns: Iterable[TreeColumn], row: int) -> None:
    """If one of a row's trees is wrong, none is kept."""
    for column in columns:
        column.cancel(row)


def parse_number(text: str, source: Source, line: int, column: int) -> float:
    """A finite decimal number; anything else is an error at that place."""
    value = float(text) if _NUMBER.fullmatch(text) else math.nan
    if math.isfinite(value):
        return value
    if _NUMBER.fullmatch(text) or text.lower().lstrip("+-") in ("nan", "inf", "infinity"):
        raise source.error(
            f"the value {text!r} is not a finite number: leave the feature out or give it a value", line, column
        )
    raise source.error(f"{text!r} is not a number: write it as 2, -0.5 or 1e-3", line, column)


def number_text(value: float, place: str) -> str:
    """A number so that reading it gives the same float."""
    value = float(value)
    if not math.isfinite(value):
        raise FormatError(f"the value {value} cannot be written: only finite numbers can", place)
    return repr(value)


def end_of_gap(text: str, at: int) -> int:
    """The first place from `at` on that is no white space."""
    gap = GAP.match(text, at)
    return gap.end() if gap else at


def write_line(line: str, stream: IO[str], place: str) -> None:
    """Write a line; text that is not valid Unicode is an error."""
    if line.startswith(MARK):
        raise FormatError("the label begins with a byte order mark, which a file cannot begin with: remove it", place)
    if not line.isascii():
        try:
            line.encode()
        except UnicodeEncodeError as error:
            raise FormatError(
                f"{line[error.start : error.end]!r} is not valid Unicode text: replace it", place
            ) from None
    stream.write(line + "\n")


def check_length(name: str, values: int, rows: int) -> None:
    """All columns of a document must be of one length."""
    if values != rows:
        raise FormatError(
            f"the column {name!r} has {values} rows, the document has {rows}: make them equal", "document"
        )


# --- reading ----------------------------------------------------------------------------------------------------


class _Line:
    """One line, taken apart from left to right."""

    def __init__(self, source: Source, number: int, text: str) -> None:
        self.source, self.number, self.text, self.at = source, number, text, 0

    def error(self, message: str, at: int | None = None) -> FormatError:
        return self.source.error(message, self.number, (self.at if at is None else at) + 1)

    def marker(self) -> re.Match[str] | None:
        """The next marker, wherever it stands."""
        return _MARKER.search(self.text, self.at)

    def skip_space(self) -> None:
        self.at = end_of_gap(self.text, self.at)

    def at_end(self) -> bool:
        """True if only a comment is left."""
        self.skip_space()
        return self.at == len(self.text) or self.text[self.at] == "#"

    def target(self) -> str:
        self.skip_space()
        match = _TARGET.match(self.text, self.at)
        if match is None or match[0][0] in "(|" or _FEATURE.fullmatch(match[0]):
            raise self.error("the target is missing: start the line with 1, -1 or the name of a class (0: unknown)")
        self.at = match.end()
        return match[0]

    def query(self) -> str:
        """The number after ``qid:``, which may follow the target; else nothing."""
        self.skip_space()
        match = _QUERY.match(self.text, self.at)
        if match is None:
            return ""
        self.at = match.end()
        return match[1]

    def trees(self) -> Iterator[tuple[str, int]]:
        """The text of each tree with the column it starts in."""
        if self.at_end():
            return
        if self.text[self.at] == "(":
            yield self._old_tree()
            return
        first = _MARKER.match(self.text, self.at)
        if first is None or first[1] not in ("BT", "ET"):
            return
        while True:
            marker = _MARKER.match(self.text, self.at)
            if marker is None or marker[1] != "BT":
                break
            self.at = marker.end()
            following = self.marker()
            end = following.start() if following else len(self.text)
            tree = self.text[self.at : end]
            self._check_no_marker(tree)
            if following is None or following[1] not in ("BT", "ET"):
                raise self.error(
                    "this |BT| starts trees that no |ET| ends: write |ET| after the last tree", marker.start()
                )
            yield tree, self.at + 1
            self.at = end
        self.at += len("|ET|")

    def _old_tree(self) -> tuple[str, int]:
        """The tree of "1 (S ...) |STD| 1:0.3", which ends where its brackets do."""
        start, depth = self.at, 0
        for bracket in re.finditer(r"[()]", self.text[start:]):
            depth += 1 if bracket[0] == "(" else -1
            if depth == 0:
                self.at = start + bracket.end()
                break
        else:
            self.at = len(self.text)
        tree = self.text[start : self.at], start + 1
        if not self.at_end():
            marker = _MARKER.match(self.text, self.at)
            if marker is None or marker[1] != "STD":
                raise self.error("only |STD| and features may follow a tree that has no |BT| before it")
            self.at = marker.end()
        return tree

    def _check_no_marker(self, part: str) -> None:
        # Inside brackets it may be a word.
        opening, closing = part.find("("), part.rfind(")")
        for start, end in ((0, len(part) if opening < 0 else opening), (closing + 1, len(part))):
            unknown = _ANY_MARKER.search(part, start, end)
            if unknown:
                raise self._unknown(unknown[0], self.at + unknown.start())

    def _unknown(self, marker: str, at: int) -> FormatError:
        return self.error(f"unknown marker {marker!r}: there are |BT|, |ET|, |BV| and |EV|", at)

    def vectors(self) -> Iterator[Vector]:
        """The feature vectors; none if the line ends here."""
        if self.at_end():
            return
        while True:
            vector: Vector = {}
            while not self.at_end() and not _MARKER.match(self.text, self.at):
                self._feature(vector)
            yield vector
            marker = _MARKER.match(self.text, self.at)
            if marker is None:
                return
            if marker[1] not in ("BV", "EV"):
                raise self.error(f"{marker[0]} has no place here: trees come before |ET|, vectors after it")
            self.at = marker.end()
            if marker[1] == "EV":
                if not self.at_end():
                    raise self.error("nothing may follow |EV|: put a comment after '#'")
                return

    def _feature(self, vector: Vector) -> None:
        token = TOKEN.match(self.text, self.at)
        assert token is not None  # there is something here that is no white space
        text = re.split(rf"#|{_MARKER.pattern}", token[0], maxsplit=1)[0]
        if unknown := _ANY_MARKER.match(text):
            raise self._unknown(unknown[0], self.at)
        name, colon, value = text.partition(":")
        if not colon:
            raise self.error(f"{text!r} is no feature: write index:value")
        if not re.fullmatch("[0-9]{1,19}", name) or not 1 <= int(name) <= LARGEST_INDEX:
            raise self.error(f"the index {name!r} is not a whole number from 1 up: count features from 1")
        if int(name) in vector:
            raise self.error(f"the index {int(name)} occurs twice in this vector: keep one of the two")
        column = self.at + len(name) + 2
        vector[int(name)] = parse_number(value, self.source, self.number, column)
        self.at += len(text)


def _numbered(name: str, count: int) -> list[str]:
    return [name] if count == 1 else [f"{name}{k}" for k in range(1, count + 1)]


def read_svmlight_tk(
    source: Source, *, drop_empty: bool = False, drop_function_tags: bool = False, root: str | None = None
) -> Document:
    """``target |BT| (tree) |BT| (tree) |ET| 1:0.5 3:2 |BV| 4:1 |EV|  # comment``, one example a line.

    Either part may be missing: ``1 1:0.3 7:1`` is a vector only. The older ``1 (S ...) |STD| 1:0.3`` is read too.
    The columns are ``tree`` and ``vector``, or ``tree1``, ``tree2``, ... where a line has several. A line with fewer
    than others has missing trees (as has ``|BT| |BT| (tree)``) and empty vectors. The line's end closes what ``|EV|``
    does not. A query, ``1 qid:3 |BT| ...``, as for ranking, is a column of texts called ``qid``; all lines have one, or none.

    Parameters
    ----------
    drop_empty, drop_function_tags, root
        As for brackets.
    """
    new_column = partial(
        TreeColumn, source.name, drop_empty=drop_empty, drop_function_tags=drop_function_tags, root=root
    )
    trees: list[TreeColumn] = []
    vectors: list[list[Vector]] = []
    labels: list[str] = []
    queries: list[str] = []
    for number, text in source.text_lines():
        line, row = _Line(source, number, text), len(labels)
        if line.at_end():
            continue
        with source.item():
            target, query, parts, features = line.target(), line.query(), list(line.trees()), list(line.vectors())
            if queries and bool(query) != bool(queries[0]):
                raise line.error("this line has no qid:N, others do" if queries[0] else "only this line has a qid:N", 0)
            columns = [*trees, *(new_column() for _ in range(len(parts) - len(trees)))]
            try:
                for tree_column, (tree, column) in zip(columns, parts, strict=False):
                    tree_column.add(row, tree, number, column)
            except FormatError:
                cancel(columns, row)
                raise
            trees = columns
            vectors += [[] for _ in range(len(features) - len(vectors))]
            for k, vector in enumerate(features):
                vectors[k].extend({} for _ in range(row - len(vectors[k])))
                vectors[k].append(vector)
            labels.append(target)
            queries.append(query)
    rows = len(labels)
    if rows == 0:  # an empty file holds no trees, rather than no column of trees
        trees = [new_column()]
    return Document(
        trees={name: column.result(rows) for name, column in zip(_numbered("tree", len(trees)), trees, strict=True)},
        labels=labels,
        vectors={
            name: values + [{} for _ in range(rows - len(values))]
            for name, values in zip(_numbered("vector", len(vectors)), vectors, strict=True)
        },
        strings={"qid": queries} if any(queries) else {},
    )


# --- writing ----------------------------------------------------------------------------------------------------


def _target_text(label: str, place: str) -> str:
    match = _TARGET.fullmatch(label)
    if match is None or label[0] in "(|#" or _FEATURE.fullmatch(label):
        raise FormatError(
            f"the label {label!r} cannot be written: it must be one word without markers such as |BT|, not a feature "
            "(1:2), and not start with '(', '|' or '#'",
            place,
        )
    return label


def _tree_text(text: str, place: str) -> str:
    if marker := _MARKER.search(text):
        raise FormatError(f"a tree with {marker[0]} in a label cannot be written: rename that label", place)
    return text


def _vector_text(vector: Vector, place: str) -> str:
    for index in vector:
        if isinstance(index, str) or not 1 <= index <= LARGEST_INDEX:
            raise FormatError(
                f"the feature {index!r} cannot be written: SVM-Light's are whole numbers from 1 up; number them, or "
                "choose kelp, which has names",
                place,
            )
    return " ".join(f"{int(index)}:{number_text(value, place)}" for index, value in sorted(vector.items()))


def write_svmlight_tk(document: Document, stream: IO[str]) -> None:
    """One example a line; no labels: the target 0. Names of columns are not kept, nor columns of text but ``qid``, of numbers.

    A tree with ``|BT|``, ``|ET|``, ``|BV|``, ``|EV|`` or ``|STD|`` in a label cannot be written, nor a label that is no
    single word; that is an error.
    """
    rows = len(document)
    labels = ["0"] * rows if document.labels is None else document.labels
    for name, columns in document.trees.items():
        check_length(name, len(columns.roots), rows)
    for name, values in document.vectors.items():
        check_length(name, len(values), rows)
    texts = [bracketed(columns) for columns in document.trees.values()]
    vectors, queries = list(document.vectors.values()), document.strings.get("qid")
    plain = not texts and len(vectors) == 1 and any(vectors[0])
    for row in range(rows):
        where = f"row {row}"
        parts = [_target_text(labels[row], where)]
        if queries is not None:
            parts.append(_query_text(queries[row], where))
        for trees in texts:
            parts += ["|BT|", _tree_text(next(trees), where)]
        if texts:
            parts.append("|ET|")
        for k, values in enumerate(vectors):
            parts += ["|BV|"] * (k > 0) + [_vector_text(values[row], where)]
        if vectors and not plain:
            parts.append("|EV|")
        write_line(" ".join(text for text in parts if text), stream, where)


def _query_text(query: str, place: str) -> str:
    if not _QUERY.fullmatch(f"qid:{query}"):
        raise FormatError(
            f"{place}: the query {query!r} is no number, and svmlight_tk has no others: use kelp", "<output>"
        )
    return f"qid:{query}"


def _looks_like_svmlight_tk(head: bytes) -> str | None:
    for line in opening_lines(head, comment="#")[:1]:
        if line.lstrip().startswith("("):
            return None
        if marker := _MARKER.search(line):
            return f"its first line has {marker[0]}"
        target, *others = line.split("#")[0].split()
        if others and all(map(_FEATURE.fullmatch, others)) and not _FEATURE.fullmatch(target):
            return f"its first line has features such as {others[0]}"
        if _NUMBER.fullmatch(target) and "\t" not in line and is_tree(line.lstrip()[len(target) :]):
            return "its first line is a number and a tree"
    return None


register(
    Format(
        "svmlight_tk",
        "SVM-Light-TK: target |BT| tree |ET| features |EV|; plain SVM-Light",
        read_svmlight_tk,
        write_svmlight_tk,
        (".dat", ".svm", ".svmlight"),
        _looks_like_svmlight_tk,
        ("labels", "vectors", "trees", "qid"),
    )
)
