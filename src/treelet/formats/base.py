"""What a format is, and the registry of them.

A format turns bytes into a `Document`: named columns of trees (hash-consed, in the native core), and where the
format has them, labels and feature vectors, one row an example.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treelet.checks import check_integer, check_one_of, in_words, wrong
from treelet.errors import FormatError, ParameterError, TreeSizeError
from treelet.formats.files import PathLike, Source, open_source, open_target, unpacked_name
from treelet.formats.format_options import OptionText, option_values, split_options
from treelet.formats.tree_limits import TreeLimits
from treelet.vocabulary import keyword

PARTS = ("labels", "vectors", "strings", "trees")
_NUMBER = re.compile(r"([+-])?(0|[1-9][0-9]*)(\.[0-9]*)?")


class Columns(NamedTuple):
    """Trees as the native core holds them: a store of distinct subtrees, and the root of each tree (-1: none)."""

    store: Any
    roots: NDArray[np.int32]


@dataclass
class Document:
    """What a file holds, one row an example.

    Attributes
    ----------
    trees : dict of str to Columns
        Named columns of trees. Formats with one unnamed tree a row call it ``"tree"``.
    labels : list of str or None
        The class or target value of each row. What is read has numbers in their shortest form, see `label_text`.
    vectors : dict of str to list of dict
        Named sparse feature vectors: ``{index or name: value}`` a row. Formats with unnamed ones call them ``"vector"``.
    strings : dict of str to list of str
        Named columns of plain text.
    format : str or None
        The name of the format that it was read in.
    lines : list of int or None
        Where each tree begins, in formats whose trees stand for something else: source code and markup.
    """

    trees: dict[str, Columns] = field(default_factory=dict)
    labels: list[str] | None = None
    vectors: dict[str, list[dict[str | int, float]]] = field(default_factory=dict)
    strings: dict[str, list[str]] = field(default_factory=dict)
    format: str | None = None
    lines: list[int] | None = None

    def __len__(self) -> int:
        if self.labels is not None:
            return len(self.labels)
        for columns in self.trees.values():
            return len(columns.roots)
        return max((len(values) for group in (self.vectors, self.strings) for values in group.values()), default=0)

    def without(self, rows: Collection[int]) -> Document:
        """Return the document without these rows."""
        kept = [row for row in range(len(self)) if row not in rows]

        def some(values: Any) -> Any:
            return None if values is None else [values[row] for row in kept]

        return Document(
            {name: Columns(store, roots[kept]) for name, (store, roots) in self.trees.items()},
            some(self.labels),
            {name: some(values) for name, values in self.vectors.items()},
            {name: some(values) for name, values in self.strings.items()},
            self.format,
            some(self.lines),
        )


@dataclass(frozen=True)
class Format:
    """A file format: how to read it, perhaps how to write it, and what suggests it.

    Attributes
    ----------
    name, description : str
    read : callable
        From a `Source` and options to a `Document`.
    write : callable, optional
        A `Document` to a stream of text.
    suffixes : tuple of str
        The names of files that suggest it.
    holds : tuple of str, optional
        What it can hold beside one column of trees: some of ``"labels"``, ``"vectors"``, ``"strings"``, ``"trees"`` (more
        columns of them), and the names of columns of text that it has a place for. What it cannot hold is not written without a word, see `write_document`. By default
        all of them.
    looks : callable, optional
        Given the first bytes of a file, as UTF-8: why they look like this format (``"it begins with '('"``), or None.
        It should be sure: what looks like a format is read as it, if the name does not say otherwise.
    blocks : callable, optional
        From a `Source`, a number and the options of `read` to `Document` after `Document` of so many examples, the last of
        fewer, so that files larger than memory can be read. See `read_blocks`.
    """

    name: str
    description: str
    read: Callable[..., Document]  # (source: Source, **options)
    write: Callable[[Document, IO[str]], None] | None = None
    suffixes: tuple[str, ...] = ()
    looks: Callable[[bytes], str | None] | None = None
    holds: tuple[str, ...] = PARTS
    blocks: Callable[..., Iterator[Document]] | None = None  # (source: Source, size: int | None, **options)

    def options(self) -> dict[str, inspect.Parameter]:
        """What `read` can be told, by name."""
        return dict(list(inspect.signature(self.read).parameters.items())[1:])

    def takes(self, options: Collection[str]) -> bool:
        """Whether `read` knows all these options."""
        known = self.options()
        return known.keys() >= set(options) or any(p.kind is p.VAR_KEYWORD for p in known.values())


FORMATS: dict[str, Format] = {}


def register(format: Format) -> Format:
    """Add a format to the registry, so that every reader and command knows it."""
    FORMATS[format.name] = format
    return format


# --- which format -----------------------------------------------------------------------------------------------


def find_format(name: str | None, file: object = None) -> Format:
    """The format called `name`, or the one that the file's name suggests (brackets, if none does)."""
    if name is not None:
        known = FORMATS.get(name) or FORMATS.get(str(name).lower())
        if known is None:
            error = wrong("format", in_words(map(repr, sorted(FORMATS))), name)
            meant = next(
                (candidate.name for candidate in FORMATS.values() if f".{name}".lower() in candidate.suffixes), None
            )
            raise ParameterError(f"{error} Files of that suffix are {meant!r}.") if meant else error
        return known
    return _by_suffix(file) or FORMATS["brackets"]


def _file_name(file: object) -> str:
    return os.fspath(file) if isinstance(file, (str, os.PathLike)) else str(getattr(file, "name", ""))


def _by_suffix(file: object) -> Format | None:
    suffix = unpacked_name(_file_name(file)).suffix.lower()
    return next((known for known in FORMATS.values() if suffix in known.suffixes), None)


def _by_content(head: bytes, options: Collection[str] = (), but: Format | None = None) -> tuple[Format, str] | None:
    """The format that the first bytes look like, and why; those that were registered last are asked first."""
    for known in reversed(FORMATS.values()):
        if known is not but and known.looks is not None and known.takes(options) and (why := known.looks(head)):
            return known, why
    return None


class FormatChoice(NamedTuple):
    """A format, the reason for choosing it (None if the choice is certain), and the options written after its name."""

    format: Format
    why: str | None = None
    given: Mapping[str, Any] = MappingProxyType({})

    def explained(self, error: FormatError, head: bytes) -> FormatError:
        """The error with what was guessed, and what would fit better."""
        if self.why is None or isinstance(error, TreeSizeError):
            return error
        other = _by_content(head, but=self.format)
        hint = (
            f"{keyword('format', other[0].name)} may fit, since {other[1]}"
            if other
            else f"{keyword('format')} names another: {_names()}"
        )
        message = f"{error.message} (read as {self.format.name}, since {self.why}; {hint})"
        return FormatError(message, error.source, error.line, error.column)


def _names() -> str:
    return ", ".join(FORMATS)


def choose_format(name: str | None, source: Source, options: Collection[str] = ()) -> FormatChoice:
    """The format called `name`; else what the file's name suggests, unless its content plainly is of another format;
    else what the content looks like; else brackets. What is guessed must know the options.
    """
    if name is not None:
        name, texts = split_options(name)
        chosen = find_format(name)
        return FormatChoice(chosen, given=option_values(texts, chosen.options()))
    head = source.head()
    named, seen = _by_suffix(source), _by_content(head, options)
    if named is not None:
        sure = named.looks is None or named.looks(head) is not None or not head.strip()
        if seen is None or (sure and named.takes(options)):
            return FormatChoice(named, None if sure else f"its name ends in {unpacked_name(source.name).suffix}")
    if seen is not None:
        return FormatChoice(*seen)
    return FormatChoice(FORMATS["brackets"], "it looks like no other format" if head.strip() else None)


# --- reading and writing ----------------------------------------------------------------------------------------


def read_document(
    file: PathLike | IO[bytes] | IO[str],
    format: str | None = None,
    *,
    encoding: str = "utf-8",
    on_error: str = "raise",
    labels: bool = True,
    max_nodes: int | None = None,
    max_depth: int | None = None,
    **options: Any,
) -> Document:
    """Read a file in any registered format.

    Parameters
    ----------
    file : path or open file
        ``.gz``, ``.xz`` and ``.bz2`` are unpacked; ``"-"`` is the standard input.
    format : str, optional
        A name from `treelet.formats.FORMATS`; by default what the file's name suggests, or its content.
    encoding : str
        Of the file.
    on_error : {"raise", "skip"}
        What becomes of a tree or a row that is not as it should be: an error; or it is left out, with all that belongs
        to it, and a warning says how many were, and where the first ones are.
    labels : bool
        Whether they are wanted: where not, a file that does not say which column they are in is read without them.
    max_nodes, max_depth : int, optional
        Limits per tree. A larger tree counts as malformed; the error is a `TreeSizeError`. Words
        count as nodes. The depth is the number of edges from the root to the deepest word. Default:
        no limit.
    **options
        Of the format.
    """
    limits = TreeLimits.of(max_nodes, max_depth)
    with _opened(file, format, encoding, on_error, labels, options) as (source, chosen, reader_options):
        document = _within(limits, chosen.read(source, **reader_options), source)
        source.told(len(document), "examples" if document.labels is not None else "trees")
    return _named(document, chosen)


def read_blocks(
    file: PathLike | IO[bytes] | IO[str],
    format: str | None = None,
    *,
    block: int,
    encoding: str = "utf-8",
    on_error: str = "raise",
    labels: bool = True,
    max_nodes: int | None = None,
    max_depth: int | None = None,
    **options: Any,
) -> Iterator[Document]:
    """As `read_document`, `block` examples at a time, so that a file may be larger than memory.

    Each document has a store of its own. An error comes when the block is read in which it is.
    """
    check_integer("block", block, 1)
    limits = TreeLimits.of(max_nodes, max_depth)
    begin, kept, what = 0, 0, "trees"
    with _opened(file, format, encoding, on_error, labels, options) as (source, chosen, reader_options):
        if chosen.blocks is None:
            known = sorted(candidate.name for candidate in FORMATS.values() if candidate.blocks)
            raise ParameterError(
                f"files in the format {chosen.name!r} are read as a whole only, not in blocks: convert them (treelet convert) to "
                f"one of {', '.join(known)}"
            )
        for whole in chosen.blocks(source, block, **reader_options):
            document = _within(limits, whole, source, begin)
            begin += len(whole)
            kept, what = kept + len(document), "trees" if document.labels is None else "examples"
            yield _named(document, chosen)
        source.told(kept, what)


@contextmanager
def _opened(
    file: PathLike | IO[bytes] | IO[str],
    format: str | None,
    encoding: str,
    on_error: str,
    labels: bool,
    options: dict[str, Any],
) -> Iterator[tuple[Source, Format, dict[str, Any]]]:
    """A file, the format that it is in, and what that is to be told; errors in it say how the format was found."""
    with open_source(file, encoding, on_error) as source:
        choice = choose_format(format, source, options)
        written = {name: value for name, value in options.items() if isinstance(value, OptionText)}
        options = {**choice.given, **options, **option_values(written, choice.format.options())}
        _check_options(choice.format, options)
        if not labels and "label_column" in choice.format.options():
            options.setdefault("label_column", None)
        head = source.head() if choice.why is not None else b""
        try:
            yield source, choice.format, options
        except FormatError as error:
            raise choice.explained(error, head) from None


def _within(limits: TreeLimits | None, document: Document, source: Source, begin: int = 0) -> Document:
    """Return the document without examples whose trees exceed the limits. `begin` examples came before."""
    if limits is None:
        return document
    problems = {row: text for columns in document.trees.values() for row, text in limits.problems(*columns)}
    for row in sorted(problems):
        line = None if document.lines is None else document.lines[row]
        message = f"tree {begin + row}, counted from 0, {problems[row]} Increase the limit to accept the tree."
        with source.item():
            raise TreeSizeError(message, source.name, line)
    return document.without(problems) if problems else document


def _named(document: Document, format: Format) -> Document:
    document.format = format.name
    if document.labels is not None:
        document.labels = [label_text(label) for label in document.labels]
    return document


def label_text(label: str) -> str:
    """A label as it is held: plain numbers in their shortest form, so that ``+1``, ``1`` and ``1.0`` are one class.

    A number has at most 15 digits, no exponent and no zeros before it (``007`` is a name). In a label of several words
    this holds for each.

    >>> [label_text(label) for label in ("+1", "1.0", "-1.50", "-0", "007", "1e3", "DESC:def", "spam +1")]
    ['1', '1', '-1.5', '0', '007', '1e3', 'DESC:def', 'spam 1']
    """
    return " ".join(map(_word_text, label.split(" ")))


def _word_text(word: str) -> str:
    number = _NUMBER.fullmatch(word)
    if number is None or sum(char.isdigit() for char in word) > 15:
        return word
    sign, whole, fraction = number.groups("")
    fraction = fraction.rstrip("0").rstrip(".")
    return f"{sign.strip('+') if whole + fraction != '0' else ''}{whole}{fraction}"


def _check_options(format: Format, options: Collection[str]) -> None:
    for name in options:
        if not format.takes([name]):
            known = ", ".join(format.options()) or "none"
            raise ParameterError(f"the format {format.name!r} does not know this option: {name!r}; it has {known}")


def find_target(name: str | None, file: object = None) -> Format:
    """The format called `name`, or the one that the name of a file to be written suggests.

    Raises
    ------
    ParameterError
        The format cannot be written; or none was named, and the file's name ends in nothing that is known.
    """
    writable = sorted(known.name for known in FORMATS.values() if known.write)
    suffix = unpacked_name(_file_name(file)).suffix
    if name is None and suffix and _by_suffix(file) is None and not hasattr(file, "write"):
        known = ", ".join(suffix for name_of_format in writable for suffix in FORMATS[name_of_format].suffixes)
        raise ParameterError(
            f"{_file_name(file)}: no format's name ends in {suffix}; choose one of {known}, or name the format, one of {writable}"
        )
    chosen = find_format(name, file)
    if chosen.write is None:
        raise ParameterError(f"the format {chosen.name!r} cannot be written; choose one of {writable}")
    return chosen


def write_document(
    document: Document, file: PathLike | IO[str], format: str | None = None, *, drop: str | Collection[str] = ()
) -> None:
    """Write a file in any registered format that can be written; ``-`` is the standard output.

    Parameters
    ----------
    document : Document
        What to write.
    file : path or open file
        ``.gz``, ``.xz`` and ``.bz2`` are packed.
    format : str, optional
        A name from `treelet.formats.FORMATS`; by default what the file's name suggests, and brackets for one without a suffix.
    drop : str or collection of str
        What may be left out, if the format has no place for it: ``"labels"``, ``"vectors"``, ``"strings"``, ``"trees"`` (all columns
        of trees but the first). Else it is an error.
    """
    chosen = find_target(format, file)
    dropped = [drop] if isinstance(drop, str) else list(drop)
    for content in dropped:
        check_one_of("drop", content, PARTS, of="write_document")
    for content, what in _beside(document, chosen.holds).items():
        if content not in chosen.holds and content not in dropped:
            others = [name for name, other in FORMATS.items() if other.write and content in other.holds]
            raise ParameterError(
                f"the format {chosen.name!r} has no place for {what}: choose {in_words(others)}, or leave them out ({keyword('drop', content)})"
            )
    if not document.trees and len(document) and "vectors" not in chosen.holds:
        raise ParameterError(f"there are no trees to write, and the format {chosen.name!r} holds nothing without them")
    with open_target(file) as stream:
        assert chosen.write is not None
        chosen.write(document, stream)


def _beside(document: Document, known: Collection[str]) -> dict[str, str]:
    """What a document holds beside one column of trees and columns of text that are known, in words."""
    more = list(document.trees)[1:]
    texts = [name for name in document.strings if name not in known]
    contents = {
        "labels": "labels" if document.labels is not None and any(document.labels) else "",
        "vectors": f"the feature vectors {', '.join(document.vectors)}" if document.vectors else "",
        "strings": f"the texts {', '.join(texts)}" if texts else "",
        "trees": f"more than one tree a row ({', '.join(more)})" if more else "",
    }
    return {content: what for content, what in contents.items() if what}
