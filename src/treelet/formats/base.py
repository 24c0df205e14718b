"""File formats, and the registry of all known formats.

A format converts bytes to a `Document`: named columns of trees, which the native core stores with
shared subtrees, plus labels and feature vectors if the format has them. Each row is an example.
"""

from __future__ import annotations

import inspect
import os
import re
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treelet import _core
from treelet.checks import check_integer, check_one_of, in_words, plural, suggestion, wrong
from treelet.errors import FileError, FormatError, ParameterError, TreeletError, TreeletWarning, TreeSizeError
from treelet.formats.files import (
    NOT_TEXT,
    ON_ERROR,
    PathLike,
    SkipLog,
    Source,
    open_source,
    open_target,
    unpacked_name,
)
from treelet.formats.format_options import OptionText, option_values, split_options
from treelet.formats.paths import File, FoundFiles, find_files
from treelet.formats.places import Places
from treelet.formats.tree_limits import TreeLimits
from treelet.printable import shortened
from treelet.progress import progress_bar
from treelet.vocabulary import keyword

PARTS = ("labels", "vectors", "strings", "trees")
_NUMBER = re.compile(r"([+-])?(0|[1-9][0-9]*)(\.[0-9]*)?")


class Columns(NamedTuple):
    """Trees in the native core: a store of distinct subtrees, and the root of each tree (-1 if missing)."""

    store: Any
    roots: NDArray[np.int32]


@dataclass
class Document:
    """Contents of a file, one row per example.

    Attributes
    ----------
    trees : dict of str to Columns
        Named columns of trees. Formats with one unnamed tree per row call the column ``"tree"``.
    labels : list of str or None
        Class or target value of each row. Readers write numbers in their shortest form, see
        `label_text`.
    vectors : dict of str to list of dict
        Named sparse feature vectors, one ``{index or name: value}`` per row. Formats with unnamed
        vectors call the column ``"vector"``.
    strings : dict of str to list of str
        Named columns of plain text.
    format : str or None
        Name of the format from which the document was read.
    places : Places or None
        File, lines and name of each tree, for source code and markup.
    """

    trees: dict[str, Columns] = field(default_factory=dict)
    labels: list[str] | None = None
    vectors: dict[str, list[dict[str | int, float]]] = field(default_factory=dict)
    strings: dict[str, list[str]] = field(default_factory=dict)
    format: str | None = None
    places: Places | None = None

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
            None if self.places is None else self.places[kept],
        )

    @classmethod
    def concat(cls, documents: list[Document]) -> Document:
        """Concatenate documents that have the same columns.

        Raises
        ------
        FormatError
            If a document has other columns than the first one, or only one of them has labels.
        """
        first = documents[0]
        for document in documents[1:]:
            if document._described() != first._described():
                raise FormatError(
                    f"Files with different contents cannot be read together: one has {first._described()}, another one has "
                    f"{document._described()}. Read them one at a time.",
                    "",
                )

        def whole(lists: list[Any]) -> list[Any]:
            return [value for values in lists for value in values]

        trees = {
            name: Columns(
                *_core.Store.joined([d.trees[name].store for d in documents], [d.trees[name].roots for d in documents])
            )
            for name in first.trees
        }
        return cls(
            trees,
            None if first.labels is None else whole([document.labels for document in documents]),
            {name: whole([document.vectors[name] for document in documents]) for name in first.vectors},
            {name: whole([document.strings[name] for document in documents]) for name in first.strings},
            first.format,
            Places.concat(document.places for document in documents),
        )

    def _described(self) -> str:
        columns = [("labels", self.labels is not None)]
        columns += [
            (f"{kind} {name!r}", True)
            for kind, group in (("trees", self.trees), ("vectors", self.vectors), ("texts", self.strings))
            for name in group
        ]
        return in_words([described for described, present in columns if present] or ["nothing"], "and")


@dataclass(frozen=True)
class Format:
    """A file format: its reader, its writer if it has one, and the signs by which it is detected.

    Attributes
    ----------
    name : str
        Name to pass as `format`.
    description : str
        One line for lists of formats.
    read : callable
        Function from a `Source` and options to a `Document`.
    write : callable, optional
        Function that writes a `Document` to a text stream.
    suffixes : tuple of str
        Suffixes of file names that suggest the format.
    looks : callable, optional
        Function from the first bytes of a file, as UTF-8, to the reason why they look like this
        format (``"it begins with '('"``), or None. Return a reason only for a clear match:
        the file is then read in this format, unless its name suggests another one.
    holds : tuple of str, optional
        Contents that can be stored besides one column of trees: some of ``"labels"``,
        ``"vectors"``, ``"strings"``, ``"trees"`` (further columns of trees), and the names of
        supported text columns. `write_document` refuses to drop other contents silently. Default:
        all of them.
    blocks : callable, optional
        Function from a `Source`, a number of examples and the options of `read` to an iterator of
        documents with that many examples each. It allows `read_blocks` to read files larger than
        memory.
    located : callable, optional
        Function from a `Source` and the options of `read` to a list of `Located` trees, whose nodes
        know their line and column.
    """

    name: str
    description: str
    read: Callable[..., Document]  # (source: Source, **options)
    write: Callable[[Document, IO[str]], None] | None = None
    suffixes: tuple[str, ...] = ()
    looks: Callable[[bytes], str | None] | None = None
    holds: tuple[str, ...] = PARTS
    blocks: Callable[..., Iterator[Document]] | None = None  # (source: Source, size: int | None, **options)
    located: Callable[..., list[Any]] | None = None  # (source: Source, **options)

    def options(self) -> dict[str, inspect.Parameter]:
        """Return the options of `read` by name."""
        return dict(list(inspect.signature(self.read).parameters.items())[1:])

    def takes(self, options: Collection[str]) -> bool:
        """Return whether `read` has all these options."""
        known = self.options()
        return known.keys() >= set(options) or any(p.kind is p.VAR_KEYWORD for p in known.values())


FORMATS: dict[str, Format] = {}
ALIASES = {
    "penn": "brackets",
    "penn treebank": "brackets",
    "bracket": "brackets",
    "bracketed": "brackets",
    "conll": "conllu",
    "conll-u": "conllu",
    "svmlight": "svmlight_tk",
    "svm-light": "svmlight_tk",
}
"""Other names of formats, for suggestions."""


def register(format: Format) -> Format:
    """Add a format to the registry, so every reader and command supports it."""
    FORMATS[format.name] = format
    return format


# --- detection of the format ------------------------------------------------------------------------------------


def find_format(name: str | None, file: object = None) -> Format:
    """Return the format called `name`, or the format that a file name suggests. Default: brackets."""
    if name is not None:
        known = FORMATS.get(name) or FORMATS.get(str(name).lower())
        if known is None:
            error = wrong("format", in_words(map(repr, sorted(FORMATS))), name)
            by_suffix = next(
                (candidate.name for candidate in FORMATS.values() if f".{name}".lower() in candidate.suffixes), None
            )
            hint = f" Files with this suffix have the format {by_suffix!r}." if by_suffix else ""
            meant = ALIASES.get(str(name).lower())
            hint = hint or (f" Did you mean {meant!r}?" if meant else suggestion(str(name), FORMATS))
            raise ParameterError(f"{error}{hint}") if hint else error
        return known
    return _by_suffix(file) or FORMATS["brackets"]


def _file_name(file: object) -> str:
    return os.fspath(file) if isinstance(file, (str, os.PathLike)) else str(getattr(file, "name", ""))


def _by_suffix(file: object) -> Format | None:
    suffix = unpacked_name(_file_name(file)).suffix.lower()
    return next((known for known in FORMATS.values() if suffix in known.suffixes), None)


def _by_content(head: bytes, options: Collection[str] = (), but: Format | None = None) -> tuple[Format, str] | None:
    """Return the format that the first bytes look like, and why. Formats registered last are tried first."""
    for known in reversed(FORMATS.values()):
        if known is not but and known.looks is not None and known.takes(options) and (why := known.looks(head)):
            return known, why
    return None


class FormatChoice(NamedTuple):
    """A format, the reason for choosing it (None if the choice is certain), and the options after its name."""

    format: Format
    why: str | None = None
    given: Mapping[str, Any] = MappingProxyType({})
    by_name: bool = False

    def explained(self, error: FormatError, head: bytes) -> FormatError:
        """Return the error, extended by the detected format and by formats that would fit better."""
        if self.why is None or isinstance(error, TreeSizeError):
            return error
        if NOT_TEXT in error.message:  # a new error, because the whole file is wrong and not one of its items
            return FormatError(error.message, error.source, error.line, error.column)
        other = _by_content(head, but=self.format)
        problem = _sentence(error.message)
        if other:
            hint = f"{keyword('format', other[0].name)} may fit better, because {other[1]}."
        elif self.by_name:
            hint = f"For another format, use {keyword('format')}."
            problem = _plain_text_problem(error, head) or problem
        else:
            hint = f"To choose another format, use {keyword('format')} with one of {_names()}."
            problem = _plain_text_problem(error, head) or problem
        message = f"{problem} The file was read as {self.format.name!r}, because {self.why}. {hint}"
        return FormatError(message, error.source, error.line, error.column)


def plain_text(shown: str) -> str:
    """Return the message for a text that is not a tree."""
    return (
        f"{shown} is plain text, but a tree such as '(NP (D the) (N cat))' is needed. Parse the text first, for example "
        "with treelet.PCFG or an NLTK parser. For spaCy and stanza, use treelet.cuts.dependency_trees."
    )


def _plain_text_problem(error: FormatError, head: bytes) -> str:
    """Return the message for a line of plain text in a file, or an empty string if the line is something else."""
    lines = head.split(b"\n")
    if "text outside brackets" not in error.message or not error.line or error.line > len(lines):
        return ""
    text = lines[error.line - 1].decode("utf-8", "replace").strip()
    return "" if set(text) & set("()<>{}\t") else plain_text(shortened(text))


def _sentence(text: str) -> str:
    """Return a text that ends like a sentence, so another sentence can follow."""
    return text if text.endswith((".", "?", "!")) else f"{text}."


def _names() -> str:
    return ", ".join(FORMATS)


def choose_format(name: str | None, source: Source, options: Collection[str] = ()) -> FormatChoice:
    """Return the format to read a source with.

    An explicit `name` wins. Otherwise the suffix of the file decides, unless the content clearly has
    another format. Without a known suffix, the content decides, and the last resort is brackets. A
    detected format must support all `options`.
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
            why = None if sure else f"its name ends in {unpacked_name(source.name).suffix}"
            return FormatChoice(named, why, by_name=True)
    if seen is not None:
        return FormatChoice(*seen)
    return FormatChoice(FORMATS["brackets"], "it does not look like any other format" if head.strip() else None)


# --- reading and writing ----------------------------------------------------------------------------------------


def tree_files(
    file: File | Collection[File],
    format: str | None = None,
    exclude: str | Collection[str] = (),
    encoding: str = "utf-8",
) -> list[File]:
    """Return the files that `read_document` would read."""
    return list(find_files(file, _suffixes(format, {}), exclude, encoding=encoding).files)


def read_document(
    file: File | Collection[File],
    format: str | None = None,
    *,
    exclude: str | Collection[str] = (),
    encoding: str = "utf-8",
    on_error: str = "raise",
    labels: bool = True,
    expect_labels: bool = False,
    max_nodes: int | None = None,
    max_depth: int | None = None,
    **options: Any,
) -> Document:
    r"""Read a file, a folder or several files in any registered format.

    Parameters
    ----------
    file : path or open file, or a list of them
        ``.gz``, ``.xz`` and ``.bz2`` files are unpacked. ``"-"`` is standard input. A folder stands
        for all files below it whose suffix belongs to a format, sorted by name, without hidden files,
        links, binary files and files that git ignores. A pattern such as ``"data/*.mrg"`` stands for
        the files that match it.
    format : str, optional
        A name from `treelet.formats.FORMATS`. Default: detected from the file name, then from the
        content, separately for each file.
    exclude : str or list of str, default ()
        Patterns of files and folders to leave out of folders and patterns, such as ``"tests"``.
    encoding : str, default "utf-8"
        Text encoding of the file.
    on_error : {"raise", "skip"}, default "raise"
        ``"raise"`` stops at the first malformed tree or row. ``"skip"`` skips every malformed row;
        a warning reports how many were skipped and where the first ones are. Of several files, those
        that cannot be read at all are skipped too.
    labels : bool, default True
        Whether labels are needed. If False, a table is read without labels unless a label column is
        named.
    expect_labels : bool, default False
        Whether to warn if the file has no labels. There is no warning with ``labels=False`` or
        ``label_column=None``.
    max_nodes, max_depth : int, optional
        Limits per tree. A larger tree counts as malformed; the error is a `TreeSizeError`. Words
        count as nodes. The depth is the number of edges from the root to the deepest word. Default:
        no limit.
    **options
        Options of the format, such as ``drop_empty=True``.

    Returns
    -------
    Document
        The contents of the file.

    Examples
    --------
    >>> import io
    >>> from treelet.formats import read_document
    >>> document = read_document(io.StringIO("yes\t(A x)\nno\t(A y)\n"))
    >>> document.format, document.labels
    ('tsv', ['yes', 'no'])
    """
    limits = TreeLimits.of(max_nodes, max_depth)
    check_one_of("on_error", on_error, ON_ERROR)

    def read(one: File, log: SkipLog) -> Document:
        with _opened(one, format, encoding, on_error, labels, options, log) as (source, chosen, reader_options):
            document = within_limits(limits, chosen.read(source, **reader_options), source)
            if expect_labels and _wants_labels(labels, reader_options) and _is_unlabeled(document):
                unlabeled.append((source.name, chosen, document))
        return _named(document, chosen)

    unlabeled: list[tuple[str, Format, Document]] = []
    found = find_files(file, _suffixes(format, options), exclude, encoding=encoding)
    document = read_files(found, read, on_error)
    if unlabeled:
        _warn_unlabeled(*unlabeled[0])
    return document


def read_files(
    found: FoundFiles,
    read: Callable[[File, SkipLog], Document],
    on_error: str,
    log: SkipLog | None = None,
    progress: bool = False,
) -> Document:
    """Read files one after the other into one document, and warn once about skipped files and items.

    If there are several files and `on_error` is ``"skip"``, a file that cannot be read is skipped. Skipped files and
    items are also recorded in `log`.
    """
    log, documents = SkipLog() if log is None else log, list[Document]()
    log.files += found.skipped
    errors = list[TreeletError]()
    with progress_bar(progress, "files", len(found.files)) as advance:
        for file in found.files:
            try:
                documents.append(read(file, log))
            except (FormatError, FileError) as error:
                if on_error != "skip" or not found.several:
                    raise
                errors.append(error)
                log.files.append(str(error))
            advance(1)
    log.files_read = len(documents)
    if not documents:
        if len(errors) == 1:
            raise errors[0]
        listed = "; ".join(reason.rstrip(".") for reason in log.files[:3])
        raise FileError(f"None of {plural(len(log.files), 'file')} could be read: {listed}.")
    document = documents[0] if len(documents) == 1 else Document.concat(documents)
    what = "examples" if document.labels is not None else "trees"
    log.warn(len(document), what, len(documents))
    return document


def _suffixes(format: str | None, options: Collection[str]) -> set[str]:
    """Return the suffixes of the files that are read in a folder: of the format, or of all formats with these options."""
    named = () if format is None else find_format(split_options(format)[0]).suffixes
    return set(named or (suffix for known in FORMATS.values() if known.takes(options) for suffix in known.suffixes))


def read_located(
    file: File | Collection[File],
    format: str | None = None,
    *,
    encoding: str = "utf-8",
    on_error: str = "raise",
    exclude: str | Collection[str] = (),
    **options: Any,
) -> list[Any] | None:
    """Read source code or markup as `Located` trees. Return None, without opening a file, if the format has no places.

    The parameters are those of `read_document`, but the format is not detected from the content.
    """
    if find_format(format, file).located is None:
        return None
    trees, log = list[Any](), SkipLog()
    files = find_files(file, _suffixes(format, options), exclude, encoding=encoding).files
    for one in files:
        with _opened(one, format, encoding, on_error, False, options, log) as (source, chosen, reader_options):
            if chosen.located is None:  # the content does not have the format of the name
                return None
            trees += chosen.located(source, **reader_options)
    log.warn(len(trees), "trees", len(files))
    return trees


def read_blocks(
    file: File | Collection[File],
    format: str | None = None,
    *,
    block: int,
    exclude: str | Collection[str] = (),
    encoding: str = "utf-8",
    on_error: str = "raise",
    labels: bool = True,
    expect_labels: bool = False,
    max_nodes: int | None = None,
    max_depth: int | None = None,
    **options: Any,
) -> Iterator[Document]:
    """Read files in blocks of `block` examples, so the files may be larger than memory.

    The parameters are those of `read_document`. Each document has its own store, and no document
    contains examples of two files. An error is raised when the block that contains the malformed item
    is read.
    """
    check_integer("block", block, 1)
    limits = TreeLimits.of(max_nodes, max_depth)
    found = find_files(file, _suffixes(format, options), exclude, encoding=encoding)
    log = SkipLog()
    log.files += found.skipped
    log.warn(0, "trees", len(found.files))
    for one in found.files:
        arguments = (format, encoding, on_error, labels, options, SkipLog())
        yield from _blocks(one, block, limits, expect_labels, labels, arguments)


def _blocks(
    file: File, block: int, limits: TreeLimits | None, expect_labels: bool, labels: bool, arguments: tuple[Any, ...]
) -> Iterator[Document]:
    begin, kept, items, labeled = 0, 0, "trees", False
    with _opened(file, *arguments) as (source, chosen, reader_options):
        if chosen.blocks is None:
            known = sorted(candidate.name for candidate in FORMATS.values() if candidate.blocks)
            raise ParameterError(
                f"Files in the format {chosen.name!r} cannot be read in blocks. Convert them with 'treelet convert' to "
                f"{in_words(known)}, or read them as a whole."
            )
        expect_labels = expect_labels and _wants_labels(labels, reader_options)
        for whole in chosen.blocks(source, block, **reader_options):
            document = within_limits(limits, whole, source, begin)
            begin += len(whole)
            if expect_labels and document.labels is None:  # at once, because the caller may need the labels now
                _warn_unlabeled(source.name, chosen, document)
                expect_labels = False
            labeled = labeled or not _is_unlabeled(document)
            kept, items = kept + len(document), "trees" if document.labels is None else "examples"
            yield _named(document, chosen)
        source.told(kept, items)
        if expect_labels and not labeled:
            _warn_unlabeled(source.name, chosen, document)


def _wants_labels(labels: bool, options: Mapping[str, Any]) -> bool:
    return labels and options.get("label_column", "") is not None


def _is_unlabeled(document: Document) -> bool:
    return document.labels is None or (len(document.labels) > 0 and not any(document.labels))


def _warn_unlabeled(name: str, format: Format, document: Document) -> None:
    """Warn about a file without labels that was read where labels are expected."""
    y = "y is None" if document.labels is None else "every entry of y is an empty string"
    warnings.warn(
        f"{name}: the file has no labels (format {format.name!r}), so {y}. To read trees without labels, use "
        "treelet.read_trees. Formats with labels are tsv, csv, svmlight_tk and kelp.",
        TreeletWarning,
        stacklevel=4,
    )


@contextmanager
def _opened(
    file: PathLike | IO[bytes] | IO[str],
    format: str | None,
    encoding: str,
    on_error: str,
    labels: bool,
    options: dict[str, Any],
    log: SkipLog,
) -> Iterator[tuple[Source, Format, dict[str, Any]]]:
    """Yield an open file, its format and the reader's options. Errors report how the format was chosen."""
    with open_source(file, encoding, on_error) as source:
        source.log = log
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


def within_limits(limits: TreeLimits | None, document: Document, source: Source, begin: int = 0) -> Document:
    """Return the document without examples whose trees exceed the limits. `begin` examples came before."""
    if limits is None:
        return document
    problems = {row: text for columns in document.trees.values() for row, text in limits.problems(*columns)}
    for row in sorted(problems):
        line = None if document.places is None else document.places[row].line
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
    """Return a label in its standard form: numbers are shortened, so ``+1``, ``1`` and ``1.0`` are one class.

    A number has at most 15 digits, no exponent and no leading zeros (``007`` is a name). In a label
    of several words, each word is converted.

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
            known = list(format.options())
            listed = f"Its options are {', '.join(known)}." if known else "It has no options."
            raise ParameterError(
                f"The format {format.name!r} has no option {name!r}.{suggestion(name, known)} {listed}"
            )


def find_target(name: str | None, file: object = None) -> Format:
    """Return the format called `name`, or the format that the name of an output file suggests.

    Raises
    ------
    ParameterError
        If the format cannot be written, or if no format is named and the suffix is unknown.
    """
    writable = sorted(known.name for known in FORMATS.values() if known.write)
    suffix = unpacked_name(_file_name(file)).suffix
    if name is None and suffix and _by_suffix(file) is None and not hasattr(file, "write"):
        suffixes = in_words(suffix for name_of_format in writable for suffix in FORMATS[name_of_format].suffixes)
        raise ParameterError(
            f"{_file_name(file)}: the suffix {suffix} does not belong to a format that can be written. Use {suffixes}, "
            f"or name the format: {in_words(map(repr, writable))}."
        )
    chosen = find_format(name, file)
    if chosen.write is None:
        raise ParameterError(
            f"The format {chosen.name!r} can be read but not written. Choose {in_words(map(repr, writable))}."
        )
    return chosen


def write_document(
    document: Document, file: PathLike | IO[str], format: str | None = None, *, drop: str | Collection[str] = ()
) -> None:
    """Write a file in any registered format that has a writer.

    Parameters
    ----------
    document : Document
        Contents to write.
    file : path or open file
        ``.gz``, ``.xz`` and ``.bz2`` files are packed. ``"-"`` is standard output. A file appears
        under its name only when it is complete.
    format : str, optional
        A name from `treelet.formats.FORMATS`. Default: detected from the suffix of the file name;
        brackets if there is no suffix.
    drop : str or collection of str, default ()
        Contents that may be dropped if the format cannot store them: ``"labels"``, ``"vectors"``,
        ``"strings"``, ``"trees"`` (all columns of trees but the first). Other contents that the
        format cannot store raise an error.

    Raises
    ------
    ParameterError
        If the format cannot store a part of the document that is not listed in `drop`.
    """
    chosen = find_target(format, file)
    dropped = [drop] if isinstance(drop, str) else list(drop)
    for content in dropped:
        check_one_of("drop", content, PARTS, of="write_document")
    for content, described in _beside(document, chosen.holds).items():
        if content not in chosen.holds and content not in dropped:
            others = [name for name, other in FORMATS.items() if other.write and content in other.holds]
            raise ParameterError(
                f"The format {chosen.name!r} cannot store {described}. Choose {in_words(others)}, or drop this part "
                f"({keyword('drop', content)})."
            )
    if not document.trees and len(document) and "vectors" not in chosen.holds:
        raise ParameterError(
            f"The document has no trees, and the format {chosen.name!r} cannot be written without trees. Choose "
            f"{in_words(name for name, other in FORMATS.items() if other.write and 'vectors' in other.holds)}."
        )
    with open_target(file) as stream:
        assert chosen.write is not None
        chosen.write(document, stream)


def _beside(document: Document, known: Collection[str]) -> dict[str, str]:
    """Describe the contents besides one column of trees and the text columns that are `known`."""
    more = list(document.trees)[1:]
    texts = [name for name in document.strings if name not in known]
    contents = {
        "labels": "labels" if document.labels is not None and any(document.labels) else "",
        "vectors": f"the feature vectors {', '.join(document.vectors)}" if document.vectors else "",
        "strings": f"the texts {', '.join(texts)}" if texts else "",
        "trees": f"more than one tree per row ({', '.join(more)})" if more else "",
    }
    return {content: described for content, described in contents.items() if described}
