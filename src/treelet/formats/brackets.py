"""Penn Treebank brackets: the native reader, and a writer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import wraps
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from treelet import _core
from treelet.checks import article, check_boolean, in_words, wrong
from treelet.errors import FormatError, TreeError
from treelet.formats.base import Columns, Document, Format, opening_lines, register
from treelet.formats.files import CHUNK, HEAD, Source, not_text

MOST_NODES = 50_000_000  # of a tree that is written or listed; a tree with shared subtrees may have many more
_FORBIDDEN = frozenset("() \t\n\r\v\f\0")


def label_problem(label: object) -> str | None:
    """Return why a label cannot be written in brackets and read back the same, or None. It completes "a label is ..."."""
    if not isinstance(label, str):
        return f"{label!r}, {article(type(label).__name__)}, not a string"
    if not label:
        return "empty"
    if not _FORBIDDEN.isdisjoint(label):
        return f"{label[:40]!r}, with {forbidden_characters(label)} in it"
    try:
        label.isascii() or label.encode()
    except UnicodeEncodeError:
        return f"{label[:40]!r}, which is not valid Unicode text"
    return None


def forbidden_characters(label: str) -> str:
    """Return the kinds of characters in a label that brackets do not allow, for a message."""
    kinds = [
        ("white space", any(letter in " \t\n\r\v\f" for letter in label)),
        ("a bracket", "(" in label or ")" in label),
        ("a NUL character", "\0" in label),
    ]
    return in_words([kind for kind, present in kinds if present], "and")


class Reader:
    """Collects trees from bracketed text. Errors name the line and the column."""

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
        """Read bytes until there are `most` trees. Return the number of bytes that were read."""
        try:
            return self._native.feed(data, most)
        except _core.InputError as error:
            raise self._error(error) from None

    def feed_one(self, data: bytes, line: int = 1, column: int = 1) -> None:
        """Read bytes that contain exactly one tree and stand at the given place."""
        before = self._native.trees
        self._native.move_to(line, column)
        try:
            self.feed(data)
            self._finish_tree()
            trees = self._native.trees - before
            if trees != 1:
                number = "there is none" if trees == 0 else f"there are {trees:,} trees"
                raise FormatError(f"exactly one tree is needed here, but {number}.", self._source, line, column)
        except FormatError:
            self._native.abandon(before)
            raise

    def blocks(self, source: Source, size: int | None) -> Iterator[Columns]:
        """Yield the trees of a source in blocks of `size` trees. Malformed trees raise an error, or are skipped."""
        if source.on_error != "raise":
            self._feed_what_is_right(source)
            self._doubt_lines(source)
            store, roots = self.result()
            n = max(len(roots), 1)  # at least one block, which may be empty
            for begin in range(0, n, size or n):
                yield Columns(store, roots[begin:][:size])
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
        """Read all well-formed trees of a source, and skip the others."""
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
        """Warn if a tree seems to contain the next one, although most trees have their own line.

        If one line lacks a ')' and another has one too many, all brackets match but the trees are wrong.
        """
        alone, around, line, begun = self._native.lines
        if 0 < around < alone:
            source.doubt(
                f"this line begins with '(' inside the tree of line {begun}, but most trees have their own line. Is a ')' "
                "missing before this line? If not, indent the line to avoid this warning.",
                line,
                1,
            )

    @property
    def trees(self) -> int:
        """Number of trees since the last result."""
        return self._native.trees

    def drop_last(self) -> None:
        """Forget the last tree."""
        self._native.abandon(self._native.trees - 1)

    def result(self) -> Columns:
        """Return all trees since the last result, in their own store. An open bracket raises an error."""
        self._finish_tree()
        return Columns(*self._native.result())

    def _finish_tree(self) -> None:
        try:
            self._native.finish()
        except _core.InputError as error:
            raise self._error(error) from None

    def _error(self, error: _core.InputError) -> FormatError:
        line, column, message = error.args
        if "NUL byte" in message:
            message = not_text()
        return FormatError(message, self._source, line, column)


class _DamagedText:
    """A text with malformed trees. It finds lines, and the place where reading continues after a malformed tree."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._codes = np.frombuffer(data, np.uint8)
        self._starts = np.concatenate([[0], np.flatnonzero(self._codes == ord("\n")) + 1])
        steps = np.subtract(self._codes == ord("("), self._codes == ord(")"), dtype=np.int8)
        depth = np.cumsum(steps, dtype=np.int32)
        least = np.minimum.accumulate(depth[::-1])[::-1]  # minimum depth from here to the end
        self._depth = depth
        self._closed = least < depth  # whether a bracket that opens here is closed somewhere
        begins = self._starts[self._starts < len(data)]
        begins = begins[self._codes[begins] == ord("(")]
        self._open = begins[~self._closed[begins]]

    def place(self, at: int) -> tuple[int, int]:
        """Return the line and the column of a byte, counted from 1."""
        line = int(np.searchsorted(self._starts, at, "right"))
        return line, 1 + int(_begins_character(self._codes[self._starts[line - 1] : at]).sum())

    def offset(self, line: int, column: int, least: int) -> int:
        """Return the offset of a line and column, at least `least`: where a character begins, or where invalid UTF-8 is."""
        start = int(self._starts[line - 1])
        end = int(self._starts[line]) if line < len(self._starts) else len(self.data)
        # Of the bytes of the line: which begin a character, and which of those or of invalid bytes stand in the column.
        codes = self._codes[start:end]
        begins = _begins_character(codes)
        stray = ~begins & np.concatenate([[True], codes[:-1] < 0x80])  # a continuation byte without a beginning
        here = (np.cumsum(begins) - begins == column - 1) & (begins | stray)
        here[: max(0, least - start)] = False
        return start + int(here.argmax())

    def end(self, at: int) -> int:
        """Return how far to read from a byte.

        Reading stops at the next line that begins a tree that is never closed. From such a line, reading
        stops at the next line that begins a tree.
        """
        following = int(np.searchsorted(self._open, at))
        if following < len(self._open) and self._open[following] == at:
            return self._next_line(at)
        return int(self._open[following]) if following < len(self._open) else len(self.data)

    def _next_line(self, at: int) -> int:
        newline = self.data.find(b"\n(", at)
        return len(self.data) if newline < 0 else newline + 1

    def after(self, start: int) -> int:
        """Return where the next tree may begin.

        That is after the bracket that closes the one at `start`. If it is never closed, it is the next line
        that begins with a bracket. After text outside brackets, it is the next bracket.
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


def _read_brackets(
    source: Source, *, drop_empty: bool = False, drop_function_tags: bool = False, root: str | None = None
) -> Document:
    """Read trees in brackets. A tree may span lines, and a line may contain several trees.

    Parameters
    ----------
    drop_empty : bool, default False
        Drop ``-NONE-`` elements and the nodes that have no children without them.
    drop_function_tags : bool, default False
        Shorten ``NP-SBJ-1`` to ``NP`` and ``ADVP|PRT`` to ``ADVP``. Labels that begin with ``-`` are kept.
    root : str, optional
        Label for anonymous roots. Default: ``( (S ...) )`` is read as ``(S ...)``.
    """
    return next(_bracket_blocks(source, None, drop_empty=drop_empty, drop_function_tags=drop_function_tags, root=root))


def _bracket_blocks(source: Source, size: int | None, **options: Any) -> Iterator[Document]:
    for columns in Reader(source.name, **options).blocks(source, size):
        yield Document(trees={"tree": columns})


@wraps(_read_brackets, assigned=())
def _read_lines(source: Source, **options: Any) -> Document:
    """Read one tree per line. Blank lines are ignored."""
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


def _end_of_tree(text: str) -> int | None:
    """Return the offset at which the brackets at the beginning of a text are closed.

    The offset is 0 if the text does not begin with a bracket, and None if the bracket is never closed.

    >>> _end_of_tree("(S (A a)) x"), _end_of_tree("x"), _end_of_tree("(S (A a)")
    (9, 0, None)
    """
    if not text.startswith("("):
        return 0
    depth = 0
    for bracket in re.finditer(r"[()]", text):
        depth += 1 if bracket[0] == "(" else -1
        if depth == 0:
            return bracket.end()
    return None


def is_tree(text: str) -> bool:
    """Return whether a text is exactly one bracketed tree, or the beginning of one that is cut off.

    >>> is_tree(" (S (A a)) "), is_tree("(S (A"), is_tree("(A a) (B b)"), is_tree("")
    (True, False, False, False)
    """
    stripped = text.strip()
    end = _end_of_tree(stripped)
    return stripped != "" and end == len(stripped) if end is not None else len(text) >= HEAD // 2


def _looks_like_brackets(head: bytes) -> str | None:
    for line in opening_lines(head)[:1]:
        end = _end_of_tree(line.lstrip())
        if end is None or (end > 0 and line.lstrip()[end:].lstrip()[:1] in ("", "(")):
            return "it begins with '('"
    return None


def _looks_like_lines(head: bytes) -> str | None:
    """Return a reason if the first line is a tree. If that tree is not closed, the next line must begin another tree."""
    first, *others = opening_lines(head) or [""]
    open_first = _end_of_tree(first.lstrip()) is None
    if is_tree(first) or (open_first and (not others or others[0].startswith("("))):
        return "its first line is a tree"
    return None


# --- writing ----------------------------------------------------------------------------------------------------


def bracketed(columns: Columns, complete: bool = False) -> Iterator[str]:
    """Yield each tree in brackets on one line; an empty string for a missing tree, or an error if `complete` is True.

    The cost is that of the distinct subtrees plus the length of the text.
    """
    missing = np.flatnonzero(columns.roots < 0)
    if complete and len(missing):
        raise FormatError(
            f"row {missing[0]} has no tree, and this format cannot represent a missing tree. Use svmlight_tk or kelp.",
            "<output>",
        )
    nodes = _core.tree_sizes(columns.store, columns.roots)[0]
    for number, (root, size) in enumerate(zip(columns.roots.tolist(), nodes.tolist(), strict=True)):
        if size > MOST_NODES:
            raise TreeError(
                f"Tree {number} has more than {MOST_NODES:,} nodes when its shared subtrees are expanded, so it cannot be "
                "written in brackets. Save the bank with treelet.save instead."
            )
        yield _core.in_brackets(columns.store, root) if root >= 0 else ""


def _write_brackets(document: Document, stream: IO[str]) -> None:
    """Write the first column of trees, one tree per line."""
    for columns in document.trees.values():
        for line in bracketed(columns, complete=True):
            stream.write(line + "\n")
        return


# A file may match both formats. Brackets are tried first, because they include lines.
register(
    Format("lines", "one tree per line", _read_lines, _write_brackets, (".txt",), _looks_like_lines, (), _line_blocks)
)
register(
    Format(
        "brackets",
        "Penn Treebank brackets, any white space",
        _read_brackets,
        _write_brackets,
        (".mrg", ".ptb", ".trees", ".brackets"),
        _looks_like_brackets,
        (),
        _bracket_blocks,
    )
)
