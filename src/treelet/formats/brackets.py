"""Penn Treebank brackets, by the native reader; and trees back to brackets."""

from __future__ import annotations

from collections.abc import Iterator
from functools import wraps
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from treelet import _core
from treelet.checks import check_boolean, wrong
from treelet.errors import FormatError, TreeError
from treelet.formats.base import Columns, Document, Format, register
from treelet.formats.files import CHUNK, Source
from treelet.formats.looks import end_of_tree, is_tree, opening_lines
from treelet.vocabulary import keyword

MOST_NODES = 50_000_000  # of a tree that is written or listed: shared parts may make many more
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

    def feed(self, data: bytes, most: int | None = None) -> int:
        """Take the next bytes until there are `most` trees; how many were taken."""
        try:
            return self._native.feed(data, most)
        except _core.InputError as error:
            raise self._error(error) from None

    def feed_one(self, data: bytes, line: int = 1, column: int = 1) -> None:
        """Take bytes that hold exactly one tree and stand at the given place."""
        before = self._native.trees
        self._native.move_to(line, column)
        try:
            self.feed(data)
            self._finish_tree()
            trees = self._native.trees - before
            if trees != 1:
                what = "no tree" if trees == 0 else f"{trees} trees"
                raise FormatError(f"exactly one tree is needed here, there is {what}", self._source, line, column)
        except FormatError:
            self._native.abandon(before)
            raise

    def blocks(self, source: Source, size: int | None) -> Iterator[Columns]:
        """All trees of a source, so many at a time; what is wrong in it is an error, or left out."""
        if source.on_error != "raise":
            self._feed_what_is_right(source)
            self._doubt_lines(source)
            yield from in_blocks(self.result(), size)
            return
        first = True
        for chunk in source.chunks():
            at = 0
            while at < len(chunk):
                with source.item():
                    at += self.feed(chunk[at:] if at else chunk, size)
                if self._native.trees == size:
                    yield self.result()
                    first = False
        with source.item():
            self._finish_tree()
        self._doubt_lines(source)
        if first or self._native.trees:
            yield self.result()

    def _feed_what_is_right(self, source: Source) -> None:
        text, at = _DamagedText(b"".join(source.chunks())), 0
        while at < len(text.data):
            end = text.end(at)
            with source.item():
                self._native.move_to(*text.place(at))
                try:
                    for begin in range(at, end, CHUNK):
                        self.feed(text.data[begin : min(begin + CHUNK, end)])
                    self._finish_tree()
                    at = end
                except FormatError as error:
                    opened = self._native.open_at
                    start = opened if opened != (0, 0) else (error.line or 1, error.column or 1)
                    at = text.after(text.offset(*start, at))
                    self._native.abandon(self._native.trees)
                    raise

    def _doubt_lines(self, source: Source) -> None:
        """Say where a tree seems to have swallowed the next one, among trees that have a line each.

        A ')' forgotten in one line and one too many in another: the brackets are right, the trees are not.
        """
        alone, around, line, begun = self._native.lines
        if 0 < around < alone:
            source.doubt(
                f"this line begins with '(' within the tree of line {begun}, where other trees have a line each: is a ')' "
                "missing before it? If not, a blank before the '(' says so",
                line,
                1,
            )

    @property
    def trees(self) -> int:
        """How many there are since the last result."""
        return self._native.trees

    def drop_last(self) -> None:
        """Forget the last tree."""
        self._native.abandon(self._native.trees - 1)

    def result(self) -> Columns:
        """All trees since the last result, in a store of their own; nothing may be left open."""
        self._finish_tree()
        return Columns(*self._native.result())

    def _finish_tree(self) -> None:
        try:
            self._native.finish()
        except _core.InputError as error:
            raise self._error(error) from None

    def _error(self, error: _core.InputError) -> FormatError:
        line, column, message = error.args
        message = message.replace(
            'encoding="latin-1"', keyword("encoding", "latin-1")
        )  # the core knows Python's words only
        return FormatError(message, self._source, line, column)


def in_blocks(columns: Columns, size: int | None) -> Iterator[Columns]:
    """Columns, so many trees at a time; at least one block, perhaps an empty one."""
    n = len(columns.roots)
    for begin in range(0, max(n, 1), size or max(n, 1)):
        yield Columns(columns.store, columns.roots[begin:][:size])


class _DamagedText:
    """A text that contains malformed trees: finds the lines, and the place where reading continues after such a tree."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._codes = np.frombuffer(data, np.uint8)
        self._starts = np.concatenate([[0], np.flatnonzero(self._codes == ord("\n")) + 1])
        depth = np.cumsum(_steps(self._codes), dtype=np.int32)
        least = np.minimum.accumulate(depth[::-1])[::-1]  # from here on
        self._depth = depth
        self._closed = least < depth  # what opens here is closed somewhere
        begins = self._starts[self._starts < len(data)]
        begins = begins[self._codes[begins] == ord("(")]
        self._open = begins[~self._closed[begins]]

    def place(self, at: int) -> tuple[int, int]:
        """The line and column of a byte, from 1."""
        line = int(np.searchsorted(self._starts, at, "right"))
        return line, 1 + int(_begins_character(self._codes[self._starts[line - 1] : at]).sum())

    def offset(self, line: int, column: int, least: int) -> int:
        """The byte at a line and column, not before `least`: where a character begins, or what should be one and is not UTF-8."""
        start = int(self._starts[line - 1])
        end = int(self._starts[line]) if line < len(self._starts) else len(self.data)
        codes = self._codes[start:end]
        begins = _begins_character(codes)
        stray = ~begins & np.concatenate([[True], codes[:-1] < 0x80])  # goes on with a character that is not there
        here = (np.cumsum(begins) - begins == column - 1) & (begins | stray)
        here[: max(0, least - start)] = False
        return start + int(here.argmax())

    def end(self, at: int) -> int:
        """How far to read from a byte: to the next line that begins a tree which is never closed; from such a line, to
        the next that begins a tree.
        """
        following = int(np.searchsorted(self._open, at))
        if following < len(self._open) and self._open[following] == at:
            return self._next_line(at)
        return int(self._open[following]) if following < len(self._open) else len(self.data)

    def _next_line(self, at: int) -> int:
        newline = self.data.find(b"\n(", at)
        return len(self.data) if newline < 0 else newline + 1

    def after(self, start: int) -> int:
        """Where the next tree may begin: where the brackets that begin at `start` are closed; if they never are, at the
        next line that begins with one; after text outside of brackets, at the next one.
        """
        if self.data[start : start + 1] != b"(":
            return self.data.find(b"(", start + 1) % (len(self.data) + 1)
        if not self._closed[start]:
            return self._next_line(start)
        outside, size = int(self._depth[start]) - 1, 1024
        while not (closed := self._depth[start : start + size] == outside).any():
            size *= 4
        return start + int(closed.argmax()) + 1


def _begins_character(codes: NDArray[np.uint8]) -> NDArray[np.bool_]:
    begins: NDArray[np.bool_] = np.not_equal(codes & 0xC0, 0x80)
    return begins


def _steps(codes: NDArray[np.uint8]) -> NDArray[np.int8]:
    steps: NDArray[np.int8] = np.subtract(codes == ord("("), codes == ord(")"), dtype=np.int8)
    return steps


def read_brackets(
    source: Source, *, drop_empty: bool = False, drop_function_tags: bool = False, root: str | None = None
) -> Document:
    """Trees in brackets: over many lines, several a line, with or without anonymous roots.

    Parameters
    ----------
    drop_empty : bool
        Leave out ``-NONE-`` elements and the nodes they leave childless.
    drop_function_tags : bool
        ``NP-SBJ-1`` becomes ``NP`` and ``ADVP|PRT`` ``ADVP``; labels that begin with ``-`` stay.
    root : str, optional
        A label for anonymous roots. By default ``( (S ...) )`` is the tree ``(S ...)``.
    """
    return next(_bracket_blocks(source, None, drop_empty=drop_empty, drop_function_tags=drop_function_tags, root=root))


def _bracket_blocks(source: Source, size: int | None, **options: Any) -> Iterator[Document]:
    for columns in Reader(source.name, **options).blocks(source, size):
        yield Document(trees={"tree": columns})


@wraps(read_brackets, assigned=())
def read_lines(source: Source, **options: Any) -> Document:
    """One tree a line; blank lines are passed over."""
    return next(_line_blocks(source, None, **options))


def _line_blocks(source: Source, size: int | None, **options: Any) -> Iterator[Document]:
    reader, first = Reader(source.name, **options), True
    for number, line in enumerate(source.lines(), 1):
        if line.strip():
            with source.item():
                reader.feed_one(line, number)
            if reader.trees == size:
                yield Document(trees={"tree": reader.result()})
                first = False
    if first or reader.trees:
        yield Document(trees={"tree": reader.result()})


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
    size: list[int] = []  # children come before their parents
    for node in range(len(label)):
        size.append(min(1 + sum(size[kid] for kid in child[start[node] : start[node + 1]]), MOST_NODES + 1))
    for number, root in enumerate(columns.roots.tolist()):
        if root < 0:
            yield ""
            continue
        if size[root] > MOST_NODES:
            raise TreeError(
                f"tree {number} has more than {MOST_NODES:,} nodes, since its parts are shared, and cannot be written in "
                "brackets: save the bank with treelet.save"
            )
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
register(Format("lines", "one tree a line", read_lines, write_brackets, (".txt",), _looks_like_lines, (), _line_blocks))
register(
    Format(
        "brackets",
        "Penn Treebank brackets, any white space",
        read_brackets,
        write_brackets,
        (".mrg", ".ptb", ".trees", ".brackets"),
        _looks_like_brackets,
        (),
        _bracket_blocks,
    )
)
