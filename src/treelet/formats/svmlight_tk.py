"""SVM-Light-TK files, with a target, trees and feature vectors on each line; and plain SVM-Light files.

    1 |BT| (S (NP (N John)) (VP (V sleeps))) |ET| 1:0.5 3:2 |EV|

``#`` starts a comment outside trees. Inside trees it is ordinary text (the Penn Treebank has the tag ``#``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import partial
from typing import IO

import numpy as np

from treelet.checks import plural
from treelet.errors import FormatError
from treelet.formats.base import Columns, Document, Format, opening_lines, register
from treelet.formats.brackets import Reader, bracketed, is_tree
from treelet.formats.files import Source

# --- SVM-Light-TK files -----------------------------------------------------------------------------------------------

Vector = dict[str | int, float]
_SPACE = " \t\n\v\f\r"  # separates labels in brackets; any other white space is part of a label
_MARK = "\ufeff"  # byte order mark: at the beginning of a file it is not part of the text
_TOKEN = re.compile(f"[^{_SPACE}]+")
_GAP = re.compile(f"[{_SPACE}]*")

_MARKER = re.compile(r"\|(BT|ET|BV|EV|STD)\|")
_ANY_MARKER = re.compile(rf"\|[^|{_SPACE}()]*\|")
_TARGET = re.compile(rf"(?:(?!{_MARKER.pattern})[^{_SPACE}])+")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_QUERY = re.compile(rf"qid:([0-9]+)(?=[{_SPACE}|]|$)")
_FEATURE = re.compile(rf"[0-9]+:{_NUMBER.pattern}")


# --- shared with KeLP -------------------------------------------------------------------------------------------


class _TreeColumn:
    """A column of trees, some of which may be missing."""

    def __init__(self, source: str, *, drop_empty: bool, drop_function_tags: bool, root: str | None) -> None:
        self._reader = Reader(source, drop_empty=drop_empty, drop_function_tags=drop_function_tags, root=root)
        self._rows: list[int] = []

    def add(self, row: int, text: str, line: int, column: int) -> None:
        """Add the tree of a row, which stands at a line and column. Only white space means a missing tree."""
        tree = text.lstrip(_SPACE)
        if tree:
            self._reader.feed_one(tree.encode(), line, column + len(text) - len(tree))
            self._rows.append(row)

    def cancel(self, row: int) -> None:
        """Remove the tree of the last row, if it has this number."""
        if self._rows and self._rows[-1] == row:
            self._rows.pop()
            self._reader.drop_last()

    def result(self, rows: int) -> Columns:
        """Return the column, with the given number of rows."""
        store, row_roots = self._reader.result()
        roots = np.full(rows, -1, np.int32)
        roots[self._rows] = row_roots
        return Columns(store, roots)


def _parse_number(text: str, source: Source, line: int, column: int) -> float:
    """Return a finite decimal number. Raise an error at that place if the text is not one."""
    value = float(text) if _NUMBER.fullmatch(text) else math.nan
    if math.isfinite(value):
        return value
    if _NUMBER.fullmatch(text) or text.lower().lstrip("+-") in ("nan", "inf", "infinity"):
        raise source.error(
            f"the value {text!r} is not a finite number. Remove the feature, or give it a finite value.", line, column
        )
    raise source.error(f"{text!r} is not a number. Write numbers as 2, -0.5 or 1e-3.", line, column)


def _number_text(value: float, place: str) -> str:
    """Return the text of a number, from which the same float is read back."""
    value = float(value)
    if not math.isfinite(value):
        raise FormatError(f"the value {value} cannot be written. Replace it by a finite number.", place)
    return repr(value)


def _write_line(line: str, stream: IO[str], place: str) -> None:
    """Write a line. Raise an error if it is not valid Unicode text."""
    if line.startswith(_MARK):
        raise FormatError(
            "the label begins with a byte order mark, which cannot be written. Remove this character.", place
        )
    if not line.isascii():
        try:
            line.encode()
        except UnicodeEncodeError as error:
            raise FormatError(
                f"{line[error.start : error.end]!r} is not valid Unicode text. Replace this character.", place
            ) from None
    stream.write(line + "\n")


def _check_lengths(document: Document) -> None:
    """Raise an error unless all columns of a document have as many rows as the document."""
    columns = {name: len(trees.roots) for name, trees in document.trees.items()}
    columns |= {name: len(values) for group in (document.vectors, document.strings) for name, values in group.items()}
    for name, rows in columns.items():
        if rows != len(document):
            raise FormatError(
                f"the column {name!r} has {plural(rows, 'row')}, but the document has {len(document):,}. All columns need "
                "the same length.",
                "document",
            )


# --- reading ----------------------------------------------------------------------------------------------------


class _Line:
    """A line that is read from left to right."""

    def __init__(self, source: Source, number: int, text: str) -> None:
        self.source, self.number, self.text, self.at = source, number, text, 0

    def error(self, message: str, at: int | None = None) -> FormatError:
        return self.source.error(message, self.number, (self.at if at is None else at) + 1)

    def skip_space(self) -> None:
        self.at = _GAP.match(self.text, self.at).end()  # type: ignore[union-attr]  # it matches an empty text, too

    def at_end(self) -> bool:
        """Return whether only a comment is left."""
        self.skip_space()
        return self.at == len(self.text) or self.text[self.at] == "#"

    def target(self) -> str:
        self.skip_space()
        match = _TARGET.match(self.text, self.at)
        if match is None or match[0][0] in "(|" or _FEATURE.fullmatch(match[0]):
            raise self.error("the target is missing. Start the line with 1, -1 or the name of a class (0 if unknown).")
        self.at = match.end()
        return match[0]

    def query(self) -> str:
        """Return the number after ``qid:``, which may follow the target, or an empty string."""
        self.skip_space()
        match = _QUERY.match(self.text, self.at)
        if match is None:
            return ""
        self.at = match.end()
        return match[1]

    def trees(self) -> Iterator[tuple[str, int]]:
        """Yield the text of each tree, and the column at which it starts."""
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
            following = _MARKER.search(self.text, self.at)
            end = following.start() if following else len(self.text)
            tree = self.text[self.at : end]
            self._check_no_marker(tree)
            if following is None or following[1] not in ("BT", "ET"):
                raise self.error(
                    "the trees after this |BT| are not closed. Write |ET| after the last tree.", marker.start()
                )
            yield tree, self.at + 1
            self.at = end
        self.at += len("|ET|")

    def _old_tree(self) -> tuple[str, int]:
        """Return the tree of the older form "1 (S ...) |STD| 1:0.3", which ends with its last bracket."""
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
                raise self.error(
                    "a tree without |BT| may be followed only by |STD| and features. Write |BT| before the tree."
                )
            self.at = marker.end()
        return tree

    def _check_no_marker(self, part: str) -> None:
        # Inside brackets, a marker may be a word.
        opening, closing = part.find("("), part.rfind(")")
        for start, end in ((0, len(part) if opening < 0 else opening), (closing + 1, len(part))):
            unknown = _ANY_MARKER.search(part, start, end)
            if unknown:
                raise self._unknown(unknown[0], self.at + unknown.start())

    def _unknown(self, marker: str, at: int) -> FormatError:
        return self.error(f"unknown marker {marker!r}. The markers are |BT|, |ET|, |BV| and |EV|.", at)

    def vectors(self) -> Iterator[Vector]:
        """Yield the feature vectors; none if the line ends here."""
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
                raise self.error(f"unexpected {marker[0]}. Write trees before |ET| and vectors after it.")
            self.at = marker.end()
            if marker[1] == "EV":
                if not self.at_end():
                    raise self.error("unexpected text after |EV|. Write comments after '#'.")
                return

    def _feature(self, vector: Vector) -> None:
        token = _TOKEN.match(self.text, self.at)
        assert token is not None  # `at_end` has skipped all white space
        text = re.split(rf"#|{_MARKER.pattern}", token[0], maxsplit=1)[0]
        if unknown := _ANY_MARKER.match(text):
            raise self._unknown(unknown[0], self.at)
        name, colon, value = text.partition(":")
        if not colon:
            raise self.error(f"{text!r} is not a feature. Write features as index:value.")
        if not re.fullmatch("[0-9]{1,19}", name) or not 1 <= int(name) < 2**63:
            raise self.error(f"the index {name!r} is not a whole number of at least 1. Number features from 1.")
        if int(name) in vector:
            raise self.error(f"the index {int(name)} occurs twice in this vector. Remove one of the two features.")
        column = self.at + len(name) + 2
        vector[int(name)] = _parse_number(value, self.source, self.number, column)
        self.at += len(text)


def _numbered(name: str, count: int) -> list[str]:
    return [name] if count == 1 else [f"{name}{k}" for k in range(1, count + 1)]


def _read_svmlight_tk(
    source: Source, *, drop_empty: bool = False, drop_function_tags: bool = False, root: str | None = None
) -> Document:
    """Read examples of the form ``target |BT| (tree) |BT| (tree) |ET| 1:0.5 3:2 |BV| 4:1 |EV|  # comment``.

    There is one example per line. Trees or vectors may be absent: ``1 1:0.3 7:1`` is a vector only. The
    older form ``1 (S ...) |STD| 1:0.3`` is accepted. The columns are ``tree`` and ``vector``, or
    ``tree1``, ``tree2``, ... if a line has several. A line with fewer of them has missing trees (as has
    ``|BT| |BT| (tree)``) and empty vectors. ``|EV|`` is optional at the end of a line. Queries for
    ranking, as in ``1 qid:3 |BT| ...``, become a text column ``qid``. All lines have a query, or none.

    Parameters
    ----------
    drop_empty, drop_function_tags, root
        See `read_brackets`.
    """
    new_column = partial(
        _TreeColumn, source.name, drop_empty=drop_empty, drop_function_tags=drop_function_tags, root=root
    )
    trees: list[_TreeColumn] = []
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
                problem = (
                    "this line has no qid:N, but others do"
                    if queries[0]
                    else "this line has a qid:N, but others do not"
                )
                raise line.error(f"{problem}. Give every line a query, or none.", 0)
            columns = [*trees, *(new_column() for _ in range(len(parts) - len(trees)))]
            try:
                for tree_column, (tree, column) in zip(columns, parts, strict=False):
                    tree_column.add(row, tree, number, column)
            except FormatError:
                for tree_column in columns:
                    tree_column.cancel(row)
                raise
            trees = columns
            vectors += [[] for _ in range(len(features) - len(vectors))]
            for k, vector in enumerate(features):
                vectors[k].extend({} for _ in range(row - len(vectors[k])))
                vectors[k].append(vector)
            labels.append(target)
            queries.append(query)
    rows = len(labels)
    if rows == 0:  # an empty file has a column without trees, rather than no column
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
            f"the label {label!r} cannot be written. A label must be one word that does not start with '(', '|' or '#'. It "
            "must not be a feature (1:2) or contain a marker such as |BT|.",
            place,
        )
    return label


def _vector_text(vector: Vector, place: str) -> str:
    for index in vector:
        if isinstance(index, str) or not 1 <= index < 2**63:
            raise FormatError(
                f"the feature {index!r} cannot be written: SVM-Light features are numbered from 1. Number the features, or "
                "choose kelp, which supports names.",
                place,
            )
    return " ".join(f"{int(index)}:{_number_text(value, place)}" for index, value in sorted(vector.items()))


def _write_svmlight_tk(document: Document, stream: IO[str]) -> None:
    """Write one example per line. Without labels, the target is 0.

    The names of columns are not stored, and the only text column that is stored is ``qid``, if it contains
    numbers. A tree with a marker such as ``|BT|`` in a label raises an error, and so does a label that is
    not a single word.
    """
    rows = len(document)
    labels = ["0"] * rows if document.labels is None else document.labels
    _check_lengths(document)
    texts = [bracketed(columns) for columns in document.trees.values()]
    vectors, queries = list(document.vectors.values()), document.strings.get("qid")
    plain = not texts and len(vectors) == 1 and any(vectors[0])
    for row in range(rows):
        where = f"row {row}"
        parts = [_target_text(labels[row], where)]
        if queries is not None:
            if not _QUERY.fullmatch(f"qid:{queries[row]}"):
                raise FormatError(
                    f"{where}: the query {queries[row]!r} is not a number, but svmlight_tk needs numbers. Choose kelp.",
                    "<output>",
                )
            parts.append(f"qid:{queries[row]}")
        for tree in map(next, texts):
            if marker := _MARKER.search(tree):
                raise FormatError(f"a tree with {marker[0]} in a label cannot be written. Rename the label.", where)
            parts += ["|BT|", tree]
        if texts:
            parts.append("|ET|")
        for k, values in enumerate(vectors):
            parts += ["|BV|"] * (k > 0) + [_vector_text(values[row], where)]
        if vectors and not plain:
            parts.append("|EV|")
        _write_line(" ".join(text for text in parts if text), stream, where)


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
        _read_svmlight_tk,
        _write_svmlight_tk,
        (".dat", ".svm", ".svmlight"),
        _looks_like_svmlight_tk,
        ("labels", "vectors", "trees", "qid"),
    )
)


# --- KeLP files: labels, then named trees, vectors and texts, or pairs of them, one example per line ------------------

_CLOSING = {"BT": "|ET|", "BV": "|EV|", "BDV": "|EDV|", "BS": "|ES|"}
_OPENING = re.compile(r"\|(BT|BV|BDV|BS):([^|\n]+)\|")
_PAIR = re.compile(r"\|([<,>])\|")
_SIDES = "left/", "right/"
"""Beginnings of the names of columns whose values are sides of pairs."""
_INDEX = re.compile("[1-9][0-9]{0,17}")


# --- reading ----------------------------------------------------------------------------------------------------


def _fields(source: Source, number: int, text: str, at: int) -> Iterator[tuple[str, str, str, int]]:
    """Yield the kind, the name and the text of each field between markers from position `at` on, and where it begins.

    The names of fields within a pair begin with one of `_SIDES`.
    """
    seen: set[tuple[str, str]] = set()
    markers, pair, side = list("<,>"), at, ""
    while True:
        at = _GAP.match(text, at).end()  # type: ignore[union-attr]  # it matches an empty text, too
        if at == len(text):
            if len(markers) in (1, 2):
                raise source.error(
                    "this pair is not closed. Write |,| between its sides and |>| after them.", number, pair
                )
            return
        if marker := _PAIR.match(text, at):
            if not markers or marker[1] != markers.pop(0):
                raise source.error(
                    f"unexpected {marker[0]}. Write a pair as |<| left |,| right |>|. There can be one pair per line, and "
                    "its sides are not pairs.",
                    number,
                    at + 1,
                )
            side, pair = {"<": _SIDES[0], ",": _SIDES[1], ">": ""}[marker[1]], pair if marker[1] != "<" else at + 1
            at = marker.end()
            continue
        opening = _OPENING.match(text, at)
        if opening is None:
            raise source.error(
                f"unexpected {text[at : at + 20]!r}. Begin each part with |BT:name|, |BV:name|, |BDV:name| or |BS:name|."
                + (" Write labels before |<|." if side else ""),
                number,
                at + 1,
            )
        kind, name = opening[1], side + opening[2]
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
        yield kind, name, text[opening.end() : end], opening.end()
        at = end + len(closing)


def _read_sparse(text: str, at: int, source: Source, number: int) -> Vector:
    """Return the features ``name:value`` in a text that begins at a position of a line."""
    vector: Vector = {}
    for token in _TOKEN.finditer(text):
        column = at + token.start() + 1
        name, colon, value = token[0].rpartition(":")
        if not colon or not name:
            raise source.error(f"{token[0]!r} is not a feature. Write features as name:value.", number, column)
        # A number is the same feature in KeLP and in SVM-Light-TK.
        feature = int(name) if _INDEX.fullmatch(name) else name
        if feature in vector:
            raise source.error(
                f"the feature {name!r} occurs twice in this vector. Remove one of the two features.", number, column
            )
        vector[feature] = _parse_number(value, source, number, column + len(name) + 1)
    return vector


def _read_kelp(
    source: Source, *, drop_empty: bool = False, drop_function_tags: bool = False, root: str | None = None
) -> Document:
    """Read labels, trees, vectors and texts, one example per line.

    A line has the form ``labels |BT:name| (tree) |ET| |BV:name| word:1 |EV| |BDV:name| 0.1,0.2 |EDV|
    |BS:name| text |ES|``. A pair is ``labels |<| parts |,| parts |>| parts``. The columns of its sides have
    the names ``left/name`` and ``right/name``, and the parts after the pair belong to both sides. Several labels are kept as one string, separated by spaces. Features of sparse
    vectors have names, but whole numbers from 1 become ints, as in SVM-Light-TK. Dense vectors are
    numbered from 1. If a name is absent on some lines, the tree is missing there, or the vector or text
    is empty. One space at each end of a text belongs to the markers.

    Parameters
    ----------
    drop_empty, drop_function_tags, root
        See `read_brackets`.
    """
    new_column = partial(
        _TreeColumn, source.name, drop_empty=drop_empty, drop_function_tags=drop_function_tags, root=root
    )
    trees: dict[str, _TreeColumn] = {}
    vectors: dict[str, list[Vector]] = {}
    strings: dict[str, list[str]] = {}
    labels: list[str] = []
    for number, text in source.text_lines():
        if not text.strip(_SPACE):
            continue
        row = len(labels)
        with source.item():
            head = text.partition("|")[0]
            if head.lstrip(_SPACE).startswith("("):
                raise source.error(
                    "this tree has no marker. Write |BT:name| before the tree and |ET| after it.", number, 1
                )
            row_trees: dict[str, tuple[str, int]] = {}
            row_vectors: dict[str, Vector] = {}
            texts: dict[str, str] = {}
            for kind, name, field, at in list(_fields(source, number, text, len(head))):
                if kind == "BT":
                    row_trees[name] = field, at
                elif kind == "BS":
                    texts[name] = field.removeprefix(" ").removesuffix(" ")
                elif kind == "BV":
                    row_vectors[name] = _read_sparse(field, at, source, number)
                else:
                    row_vectors[name] = {
                        index: _parse_number(token[0], source, number, at + token.start() + 1)
                        for index, token in enumerate(re.finditer(f"[^,{_SPACE}]+", field), 1)
                    }
            columns = {name: trees.get(name) or new_column() for name in row_trees}
            try:
                for name, (field, at) in row_trees.items():
                    columns[name].add(row, field, number, at + 1)
            except FormatError:
                for column in columns.values():
                    column.cancel(row)
                if not _OPENING.search(field):
                    raise
                # The closing marker most likely belongs to a later part.
                opening = text[text.rindex("|BT:", 0, at) : at]
                raise source.error(
                    f"{opening} is not closed before the next part. Write |ET| after its tree.",
                    number,
                    at - len(opening) + 1,
                ) from None
            trees.update(columns)
            for name, vector in row_vectors.items():
                values = vectors.setdefault(name, [])
                values.extend({} for _ in range(row - len(values)))
                values.append(vector)
            for name, line in texts.items():
                lines = strings.setdefault(name, [])
                lines.extend([""] * (row - len(lines)))
                lines.append(line)
            labels.append(" ".join(_TOKEN.findall(head)))
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


def _sparse_text(vector: Vector, place: str) -> str:
    parts = {}
    for index, value in vector.items():
        name = str(index)
        if not _TOKEN.fullmatch(name) or name in parts:
            raise FormatError(
                f"the feature {index!r} cannot be written. The name of a feature must be one word that occurs once.",
                place,
            )
        parts[name] = f"{name}:{_number_text(value, place)}"
    return " ".join(parts.values())


def _write_kelp(document: Document, stream: IO[str]) -> None:
    """Write one example per line, with the names of all columns.

    Columns with names such as ``left/tree`` and ``right/tree`` are written as the sides of pairs. Vectors that are numbered from 1 to the same length in all rows are written as dense vectors, others as
    sparse vectors. Missing trees, empty vectors and empty texts are omitted, so a column without any other
    values is lost. A row without any other values is written with one empty part. A tree or a text that
    contains its own closing marker (``|ET|``, ``|ES|``) raises an error.
    """
    rows = len(document)
    labels = [""] * rows if document.labels is None else document.labels
    _check_lengths(document)
    texts = [(name, bracketed(columns)) for name, columns in document.trees.items()]
    dense = set()  # columns of which all nonempty rows have the same number of features, numbered from 1
    for name, values in document.vectors.items():
        full = [vector for vector in values if vector]
        indices = set(range(1, len(full[0]) + 1)) if full else set()
        if full and all(vector.keys() == indices for vector in full):
            dense.add(name)
    for row in range(rows):
        where, label = f"row {row}", labels[row]
        if " ".join(_TOKEN.findall(label)) != label or "|" in label or label.startswith("("):
            raise FormatError(
                f"the label {label!r} cannot be written. A label consists of words separated by single spaces. It must not "
                "contain '|' or start with '('.",
                where,
            )
        fields = [("BT", name, tree) for name, trees in texts if (tree := next(trees))]
        for name, values in document.vectors.items():
            if values[row] and name in dense:
                listed = ",".join(_number_text(values[row][index], where) for index in range(1, len(values[row]) + 1))
                fields.append(("BDV", name, listed))
            elif values[row]:
                fields.append(("BV", name, _sparse_text(values[row], where)))
        fields += [("BS", name, strings[row]) for name, strings in document.strings.items() if strings[row]]
        if not fields and not label:  # a blank line would not be read back
            groups = (("BT", document.trees), ("BV", document.vectors), ("BS", document.strings))
            empty = next(((kind, name) for kind, names in groups for name in names), None)
            if empty is None:
                raise FormatError(
                    "this row is empty, so it cannot be written. Give it a label, or remove the row.", where
                )
            fields.append((*empty, ""))
        sides: dict[str, list[str]] = {side: [] for side in (*_SIDES, "")}
        for kind, name, text in fields:
            side = next(side for side in sides if name.startswith(side))
            sides[side].append(_enclosed(kind, name.removeprefix(side), text, where))
        left, right, others = sides.values()
        pair = ["|<|", *left, "|,|", *right, "|>|"] if left or right else []
        _write_line(" ".join([*([label] if label else []), *pair, *others]), stream, where)


def _looks_like_kelp(head: bytes) -> str | None:
    first = "".join(opening_lines(head)[:1])
    opening = None if first.lstrip().startswith("(") else _OPENING.search(first)
    return f"its first line has {opening[0]}" if opening else None


register(
    Format(
        "kelp",
        "KeLP: labels |BT:name| tree |ET| |BV:name| features |EV| |BS:name| text |ES|; pairs |<| left |,| right |>|",
        _read_kelp,
        _write_kelp,
        (".klp", ".kelp"),
        _looks_like_kelp,
    )
)
