"""Penn Treebank brackets, by the native reader; and trees back to brackets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

from treelet import _core
from treelet.checks import check_boolean, wrong
from treelet.errors import FormatError
from treelet.formats.base import Columns, Document, Format, register
from treelet.formats.files import Source
from treelet.formats.looks import end_of_tree, is_tree, opening_lines

_FORBIDDEN = frozenset("() \t\n\r\v\f\0")


def label_problem(label: object) -> str | None:
    """What is wrong with a label, if anything: it must be writable in brackets and read back the same."""
    if not isinstance(label, str):
        return f"{label!r}, a {type(label).__name__}, not a string"
    if not label:
        return "empty"
    if not _FORBIDDEN.isdisjoint(label):
        return f"{label[:40]!r}, with white space or a bracket in it"
    try:
        label.isascii() or label.encode()
    except UnicodeEncodeError:
        return f"{label[:40]!r}, which is not valid Unicode text"
    return None


class Reader:
    """Collects trees from bracketed text, with errors that say where."""

    def __init__(
        self, source: str, *, drop_empty: bool = False, drop_function_tags: bool = False, root: str | None = None
    ) -> None:
        for name, value in (("drop_empty", drop_empty), ("drop_function_tags", drop_function_tags)):
            check_boolean(name, value)
        if root is not None and label_problem(root):
            raise wrong("root", "a label", root)
        self._native = _core.BracketReader(drop_empty, drop_function_tags, root or "")
        self._source = source

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        try:
            self._native.feed(data)
        except _core.InputError as error:
            raise self._error(error) from None

    def feed_one(self, data: bytes, line: int = 1, column: int = 1) -> None:
        """Take bytes that hold exactly one tree and stand at the given place."""
        before = self._native.trees
        self._native.move_to(line, column)
        self.feed(data)
        self._finish_tree()
        found = self._native.trees - before
        if found != 1:
            what = "no tree" if found == 0 else f"{found} trees"
            raise FormatError(f"exactly one tree is needed here, there is {what}", self._source, line, column)

    def result(self) -> Columns:
        """All trees so far; nothing may be left open."""
        self._finish_tree()
        return Columns(*self._native.result())

    def _finish_tree(self) -> None:
        try:
            self._native.finish()
        except _core.InputError as error:
            raise self._error(error) from None

    def _error(self, error: _core.InputError) -> FormatError:
        line, column, message = error.args
        return FormatError(message, self._source, line, column)


def read_brackets(
    source: Source, *, drop_empty: bool = False, drop_function_tags: bool = False, root: str | None = None
) -> Document:
    """Trees in brackets: over many lines, several a line, with or without anonymous roots.

    Parameters
    ----------
    source : Source
        The bytes.
    drop_empty : bool
        Leave out ``-NONE-`` elements and the nodes they leave childless.
    drop_function_tags : bool
        ``NP-SBJ-1`` becomes ``NP`` and ``ADVP|PRT`` ``ADVP``; labels that begin with ``-`` stay.
    root : str, optional
        A label for anonymous roots. By default ``( (S ...) )`` is the tree ``(S ...)``.
    """
    reader = Reader(source.name, drop_empty=drop_empty, drop_function_tags=drop_function_tags, root=root)
    for chunk in source.chunks():
        reader.feed(chunk)
    return Document(trees={"tree": reader.result()})


def read_lines(
    source: Source, *, drop_empty: bool = False, drop_function_tags: bool = False, root: str | None = None
) -> Document:
    """One tree a line; blank lines are passed over."""
    reader = Reader(source.name, drop_empty=drop_empty, drop_function_tags=drop_function_tags, root=root)
    for number, line in enumerate(source.lines(), 1):
        if line.strip():
            reader.feed_one(line, number)
    return Document(trees={"tree": reader.result()})


def _looks_like_brackets(head: bytes) -> str | None:
    for line in opening_lines(head)[:1]:
        end = end_of_tree(line.lstrip())
        if end is None or (end > 0 and line.lstrip()[end:].lstrip()[:1] in ("", "(")):
            return "it begins with '('"
    return None


def _looks_like_lines(head: bytes) -> str | None:
    """Its first line is a tree; if that is not closed, the next one must begin another."""
    first, *others = opening_lines(head) or [""]
    open_first = end_of_tree(first.lstrip()) is None
    if is_tree(first) or (open_first and (not others or others[0].startswith("("))):
        return "its first line is a tree"
    return None


# --- writing ----------------------------------------------------------------------------------------------------


def bracketed(columns: Columns) -> Iterator[str]:
    """Each tree in brackets on one line; an empty string for a missing one.

    Shared subtrees are spelled once, so this costs one pass over the store and the text itself.
    """
    store = columns.store
    labels, label = store.labels, store.label.tolist()
    start, child = store.child_start.tolist(), store.child.tolist()
    for root in columns.roots.tolist():
        if root < 0:
            yield ""
            continue
        if start[root] == start[root + 1]:
            yield f"({labels[label[root]]})"
            continue
        parts: list[str] = []
        stack: list[int] = [root]  # ~0 closes a node
        while stack:
            node = stack.pop()
            if node < 0:
                parts.append(")")
                continue
            kids = child[start[node] : start[node + 1]]
            if kids:
                parts.append(f" ({labels[label[node]]}")
                stack.append(-1)
                stack.extend(reversed(kids))
            else:
                parts.append(" " + labels[label[node]])
        yield "".join(parts).lstrip()


def write_brackets(document: Document, stream: IO[str]) -> None:
    """One tree a line; of several columns, the first."""
    for columns in document.trees.values():
        refuse_missing(columns)
        for line in bracketed(columns):
            stream.write(line + "\n")
        return


def refuse_missing(columns: Columns) -> None:
    """Raise if a tree is missing: brackets have no way to say so."""
    missing = (columns.roots < 0).nonzero()[0]
    if len(missing):
        raise FormatError(
            f"row {missing[0]} has no tree, which this format cannot say: use svmlight_tk or kelp", "<output>"
        )


# What looks like brackets may look like lines as well: brackets hold both, and are asked first.
register(Format("lines", "one tree a line", read_lines, write_brackets, (".txt",), _looks_like_lines))
register(
    Format(
        "brackets",
        "Penn Treebank brackets, any white space",
        read_brackets,
        write_brackets,
        (".mrg", ".ptb", ".trees", ".brackets"),
        _looks_like_brackets,
    )
)
