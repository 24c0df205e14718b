"""Reading and writing of files and folders in any registered format, and the choice of the format of a file."""

from __future__ import annotations

import ast
import glob
import os
import re
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np

from treelet import _core
from treelet.checks import check_integer, check_one_of, in_words, plural, suggestion, wrong
from treelet.errors import (
    FileError,
    FormatError,
    NotEnoughMemoryError,
    ParameterError,
    TreeletError,
    TreeletWarning,
    TreeSizeError,
)
from treelet.formats.base import FORMATS, PARTS, Columns, Document, Format, OptionText, TreeLimits, option_values
from treelet.formats.files import (
    NOT_TEXT,
    NOT_VALID,
    ON_ERROR,
    PathLike,
    SkipLog,
    Source,
    open_source,
    open_target,
    unpacked_name,
)
from treelet.formats.languages import BY_SUFFIX, UNITS, find_language
from treelet.formats.paths import File, FoundFiles, find_files, listed_files
from treelet.formats.places import Places
from treelet.printable import shortened
from treelet.work import progress_bar

# --- choice of the format of a file: by name, by suffix or by content -------------------------------------------------


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
            aliases = {
                **dict.fromkeys(("penn", "penn treebank", "bracket", "bracketed"), "brackets"),
                **dict.fromkeys(("conll", "conll-u"), "conllu"),
                **dict.fromkeys(("svmlight", "svm-light"), "svmlight_tk"),
            }
            meant = aliases.get(str(name).lower())
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


def plain_text(shown: str) -> str:
    """Return the message for a text that is not a tree."""
    return (
        f"{shown} is plain text, but a tree such as '(NP (D the) (N cat))' is needed. Parse the text first, for example "
        "with treelet.PCFG or an NLTK parser. For spaCy and stanza, use treelet.cuts.dependency_trees."
    )


def _split_options(name: str) -> tuple[str, dict[str, str]]:
    """Split the text of a format into its name and its options.

    >>> _split_options("tsv"), _split_options("python:each=function,ctx=true")
    (('tsv', {}), ('python', {'each': 'function', 'ctx': 'true'}))
    """
    if not isinstance(name, str) or ":" not in name:
        return name, {}
    name, _, rest = name.partition(":")
    options: dict[str, str] = {}
    for assignment in rest.split(","):
        option, equals, value = assignment.partition("=")
        if not (option and equals and value):
            raise ParameterError(
                f"Options of a format are written as {name}:option=value,option=value. Got {assignment!r} instead."
            )
        options[option.strip().replace("-", "_")] = value
    return name, options


def _choose_format(name: str | None, source: Source, options: Collection[str]) -> tuple[Format, str, dict[str, Any]]:
    """Return the format to read a source with, why it was chosen, and the options after its name.

    An explicit `name` wins. Otherwise the suffix of the file decides, unless the content clearly has
    another format. Without a known suffix, the content decides, and the last resort is brackets. A
    detected format must support all `options`. The reason is empty if the choice is certain.
    """
    if name is not None:
        name, texts = _split_options(name)
        chosen = find_format(name)
        return chosen, "", option_values(texts, chosen.options())
    head = source.head()
    named, seen = _by_suffix(source), _by_content(head, options)
    if named is not None:
        sure = named.looks is None or named.looks(head) is not None or not head.strip()
        if seen is None or (sure and named.takes(options)):
            return named, "" if sure else f"its name ends in {unpacked_name(source.name).suffix}", {}
    if seen is not None:
        return *seen, {}
    return FORMATS["brackets"], "it does not look like any other format" if head.strip() else "", {}


def _explained(error: FormatError, format: Format, why: str, head: bytes) -> FormatError:
    """Return the error, extended by the detected format and by formats that would fit better."""
    if isinstance(error, TreeSizeError):
        return error
    if NOT_TEXT in error.message:  # a new error, because the whole file is wrong and not one of its items
        return FormatError(error.message, error.source, error.line, error.column)
    problem = error.message if error.message.endswith((".", "?", "!")) else f"{error.message}."
    if other := _by_content(head, but=format):
        hint = f"format={other[0].name!r} may fit better, because {other[1]}."
    else:
        hint = f"To choose another format, use format= with one of {', '.join(FORMATS)}."
        if why.startswith("its name"):
            hint = "For another format, use format=."
        lines = head.split(b"\n")
        if "text outside brackets" in error.message and error.line and error.line <= len(lines):
            text = lines[error.line - 1].decode("utf-8", "replace").strip()
            if not set(text) & set("()<>{}\t"):
                problem = plain_text(shortened(text))
    message = f"{problem} The file was read as {format.name!r}, because {why}. {hint}"
    return FormatError(message, error.source, error.line, error.column)


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


# --- writing of files in any registered format that has a writer ------------------------------------------------------


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
    more = list(document.trees)[1:]
    texts = [name for name in document.strings if name not in chosen.holds]
    beside = {  # contents besides one column of trees and the text columns that the format knows
        "labels": "labels" if document.labels is not None and any(document.labels) else "",
        "vectors": f"the feature vectors {', '.join(document.vectors)}" if document.vectors else "",
        "strings": f"the texts {', '.join(texts)}" if texts else "",
        "trees": f"more than one tree per row ({', '.join(more)})" if more else "",
    }
    for content, described in beside.items():
        if described and content not in chosen.holds and content not in dropped:
            others = [name for name, other in FORMATS.items() if other.write and content in other.holds]
            raise ParameterError(
                f"The format {chosen.name!r} cannot store {described}. Choose {in_words(others)}, or drop this part "
                f"(drop={content!r})."
            )
    if not document.trees and len(document) and "vectors" not in chosen.holds:
        raise ParameterError(
            f"The document has no trees, and the format {chosen.name!r} cannot be written without trees. Choose "
            f"{in_words(name for name, other in FORMATS.items() if other.write and 'vectors' in other.holds)}."
        )
    with open_target(file) as stream:
        assert chosen.write is not None
        chosen.write(document, stream)


# --- reading of files and folders in any registered format ------------------------------------------------------------

Item = TypeVar("Item")
Content = TypeVar("Content")
MAX_BYTES = 1_000_000
"""Default of the size above which `read_code_document` skips files in folders."""
_NUMBER = re.compile(r"([+-])?(0|[1-9][0-9]*)(\.[0-9]*)?")


def is_format(name: object) -> bool:
    """Return whether a string is the name of a format, possibly with options, and not of a file."""
    if not isinstance(name, str) or not name.strip() or os.path.lexists(name) or glob.has_magic(name):
        return False
    known, _, options = name.partition(":")
    return known.lower() in FORMATS or "=" in options or not (os.sep in name or Path(name).suffix or name == "-")


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
        Whether to warn if the file has no labels. With ``labels=False`` or
        ``label_column=None``, no warning is given.
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
            document = _within_limits(limits, chosen.read(source, **reader_options), source)
            if expect_labels and _wants_labels(labels, reader_options) and _is_unlabeled(document):
                unlabeled.append((source.name, chosen, document))
        return _named(document, chosen)

    unlabeled: list[tuple[str, Format, Document]] = []
    found = find_files(file, _suffixes(format, options), exclude, encoding=encoding)
    document = _read_files(found, read, on_error)
    if unlabeled:
        _warn_unlabeled(*unlabeled[0])
    return document


def _read_files(
    found: FoundFiles,
    read: Callable[[File, SkipLog], Document],
    on_error: str,
    log: SkipLog | None = None,
    progress: bool | None = None,
    known: Sequence[int] = (),
) -> Document:
    """Read files one after the other into one document, and warn once about skipped files and items.

    If there are several files and `on_error` is ``"skip"``, a file that cannot be read is skipped. Skipped files and
    items are also recorded in `log`. `known` are the numbers of trees of further files, which need not be read but count.
    """
    log = SkipLog() if log is None else log
    documents = _read_each(found, read, on_error, log, progress, len(known))
    document = documents[0] if len(documents) == 1 else Document.concat(documents) if documents else _no_trees()
    what = "examples" if document.labels is not None else "trees"
    log.warn(len(document) + sum(known), what, log.files_read)
    return document


def _no_trees() -> Document:
    """Return a document without source code. Its places know the lines of their nodes, like those of all source code."""
    none = np.zeros(0, np.int64)
    places = Places((), none, none, none, (), none, none, none, none)
    return Document(trees={"tree": Columns(_core.Store(), np.zeros(0, np.int32))}, places=places)


def read_code_document(
    files: list[File],
    *,
    each: str = "function",
    language: str | Collection[str] | None = None,
    constants: str = "values",
    identifiers: str = "keep",
    docstrings: bool = False,
    nodes: str = "named",
    exclude: str | Collection[str] = (),
    on_error: str = "skip",
    encoding: str = "utf-8",
    max_bytes: int | None = MAX_BYTES,
    vendored: bool = True,
    min_lines: int = 0,
    log: SkipLog | None = None,
    known: Callable[[list[File]], list[int | None]] | None = None,
    progress: bool | None = None,
    **limits: int | None,
) -> Document:
    """Read source files of any languages into one document. The parameters are those of `treelet.read_code`.

    Skipped files and units are also recorded in `log`. Without `vendored`, so is the number of vendored and minified files,
    which are left out of folders, and the number of units with fewer than `min_lines` lines of code. `known` returns the number
    of trees of each file that was found, or None: only the latter files are read.
    """
    check_one_of("on_error", on_error, ON_ERROR)
    check_integer("max_bytes", max_bytes, optional=True)
    names = list(language) if isinstance(language, list | tuple | set) else [] if language is None else [language]
    named = [find_language(str(name), "") for name in names]
    only = named[0].name if len(named) == 1 else None
    suffixes = {suffix for one in named for suffix in one.suffixes} or BY_SUFFIX
    found = find_files(files, suffixes, exclude, max_bytes, encoding, vendored)
    if log is not None:
        log.vendored += found.vendored
    if each not in UNITS:  # only the files in whose languages `each` is a type of nodes
        files = [file for file in found.files if _may_have(file, each, only)]
        if not files:
            raise wrong("each", f"{in_words(map(repr, UNITS))}, or a node type of a language that is read", each)
        found = found._replace(files=files)
    counts = [None] * len(found.files) if known is None else known(found.files)
    found = found._replace(files=[file for file, count in zip(found.files, counts, strict=True) if count is None])
    size_limits = TreeLimits.of(limits.get("max_nodes"), limits.get("max_depth"))
    options: dict[str, Any] = {"constants": constants, "identifiers": identifiers, "min_lines": min_lines}
    shared: dict[Any, Any] = {}

    def read(file: File, log: SkipLog) -> Document:
        try:
            return read_with(file, log, "python")
        except FormatError as error:
            # A file of another version of Python, or a damaged one: tree-sitter reads the functions without errors.
            if (
                on_error != "skip"
                or each not in UNITS
                or NOT_VALID not in error.message
                or not isinstance(file, str | os.PathLike)
            ):
                raise
            try:
                document = read_with(file, log, "")
            except (FormatError, FileError):  # such as a parser that is not installed
                raise error from None
            log.reread.append(str(error))
            log.damaged.add(os.fspath(file))
            return document

    def read_with(file: File, log: SkipLog, own_parser: str) -> Document:
        with open_source(file, encoding, on_error) as source, _naming_memory(source):
            source.log, source.shared = log, shared
            rules = find_language(only, source.name)
            if rules.name == own_parser:
                units = "module" if each == "file" else each
                document = FORMATS["python"].read(source, each=units, docstrings=docstrings, **options)
            else:
                document = FORMATS["code"].read(source, each=each, language=rules.name, nodes=nodes, **options)
            return _within_limits(size_limits, document, source)

    return _read_files(found, read, on_error, log, progress, [count for count in counts if count is not None])


def _may_have(file: File, each: str, language: str | None) -> bool:
    """Return whether the language of a file has nodes of the type `each`."""
    try:
        rules = find_language(language, str(file) if isinstance(file, str | os.PathLike) else "")
        if rules.name != "python":
            return rules.has_kind(each)
    except TreeletError:  # reported when the file is read
        return True
    return isinstance(named := getattr(ast, str(each), None), type) and issubclass(named, ast.AST)


def read_items(
    files: Collection[File | Collection[File]],
    suffixes: Collection[str],
    read: Callable[[Source], Iterable[Item]],
    what: str,
    *,
    exclude: str | Collection[str],
    encoding: str,
    on_error: str,
) -> list[Item]:
    """Read items that are not trees, called `what`, from files, folders with files of these suffixes, and patterns."""
    check_one_of("on_error", on_error, ON_ERROR)
    found, log = find_files(listed_files(files), suffixes, exclude, encoding=encoding), SkipLog()

    def read_one(file: File, log: SkipLog) -> list[Item]:
        with open_source(file, encoding, on_error) as source:
            source.log = log
            return list(read(source))

    items = [item for some in _read_each(found, read_one, on_error, log) for item in some]
    log.warn(len(items), what, log.files_read)
    return items


def _read_each(
    found: FoundFiles,
    read: Callable[[File, SkipLog], Content],
    on_error: str,
    log: SkipLog,
    progress: bool | None = None,
    known: int = 0,
) -> list[Content]:
    """Return the content of each file. A file that cannot be read is an error or, among several, is skipped.

    `known` is the number of further files that need not be read.
    """
    documents = list[Content]()
    log.files += found.skipped
    errors = list[TreeletError]()
    with progress_bar(progress if found.files else False, "files", len(found.files)) as advance:
        for file in found.files:
            try:
                documents.append(read(file, log))
            except (FormatError, FileError, NotEnoughMemoryError) as error:
                if on_error != "skip" or not found.several:
                    raise
                errors.append(error)
                log.files.append(str(error))
                log.damaged.add(_file_name(file))
            advance(1)
    log.files_read = len(documents) + known
    if not log.files_read:
        if len(errors) == 1:
            raise errors[0]
        listed = "; ".join(reason.rstrip(".") for reason in log.files[:3])
        raise FileError(f"None of {plural(len(log.files), 'file')} could be read: {listed}.")
    return documents


def _suffixes(format: str | None, options: Collection[str]) -> set[str]:
    """Return the suffixes of the files that are read in a folder: of the format, or of all formats with these options."""
    named = () if format is None else find_format(_split_options(format)[0]).suffixes
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
            document = _within_limits(limits, whole, source, begin)
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
    with open_source(file, encoding, on_error) as source, _naming_memory(source):
        source.log = log
        chosen, why, given = _choose_format(format, source, options)
        known = chosen.options()
        written = {name: value for name, value in options.items() if isinstance(value, OptionText)}
        options = {**given, **options, **option_values(written, known)}
        for name in options:
            if not chosen.takes([name]):
                listed = f"Its options are {', '.join(known)}." if known else "It has no options."
                raise ParameterError(
                    f"The format {chosen.name!r} has no option {name!r}.{suggestion(name, known)} {listed}"
                )
        if not labels and "label_column" in known:
            options.setdefault("label_column", None)
        head = source.head() if why else b""
        try:
            yield source, chosen, options
        except FormatError as error:
            raise (_explained(error, chosen, why, head) if why else error) from None


@contextmanager
def _naming_memory(source: Source) -> Iterator[None]:
    """Name the file in the error for a lack of memory."""
    try:
        yield
    except MemoryError as error:
        message = str(error) or "There is not enough memory. Leave the file out, or free some memory."
        raise NotEnoughMemoryError(f"{source.name}: {message[0].lower()}{message[1:]}") from None


def _within_limits(limits: TreeLimits | None, document: Document, source: Source, begin: int = 0) -> Document:
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
    words = label.split(" ")
    for at, word in enumerate(words):
        number = _NUMBER.fullmatch(word)
        if number is not None and sum(char.isdigit() for char in word) <= 15:
            sign, whole, fraction = number.groups("")
            fraction = fraction.rstrip("0").rstrip(".")
            words[at] = f"{sign.strip('+') if whole + fraction != '0' else ''}{whole}{fraction}"
    return " ".join(words)
