"""Collections of trees in which equal subtrees are stored once, and functions that read files of trees."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import IO, Any, Self, TypeVar, cast

import numpy as np

from treelet.checks import some_of, suggestion
from treelet.errors import FormatError, TreeError
from treelet.formats.adapters import adapter_for, flatten
from treelet.formats.base import Columns, Document
from treelet.formats.brackets import Reader, bracketed
from treelet.formats.files import PathLike
from treelet.formats.paths import File, listed_files
from treelet.formats.reading import MAX_BYTES, is_format, read_blocks, read_code_document, read_document, write_document
from treelet.structures.bank import Bank, Stats, inline_error, listed
from treelet.structures.tree import Tree, trees_of

# --- collections of trees in which equal subtrees are stored once -----------------------------------------------------


class Treebank(Bank[Tree | Any]):
    """A collection of trees that stores every distinct subtree once.

    A Treebank is indexed like a NumPy array. Slices share the stored subtrees, so slicing is cheap.

    Parameters
    ----------
    items : iterable
        A list, an array, a column of a DataFrame, or a DataFrame with one column. Items may be
        `Tree` objects, bracketed strings, NLTK trees, Python ``ast`` nodes or XML elements, in any
        mixture. None, NaN and pandas' missing values stand for a missing tree; the kernel of a
        missing tree with anything is 0. To read a file, use `treelet.read_trees`.

    See Also
    --------
    treelet.read_trees : read a file of trees.

    Examples
    --------
    >>> from treelet import Treebank
    >>> bank = Treebank(["(S (NP (N John)) (VP (V sleeps)))", "(S (NP (N Mary)) (VP (V sleeps)))"])
    >>> len(bank), bank.shape
    (2, (2,))
    >>> print(bank[1])
    (S (NP (N Mary)) (VP (V sleeps)))
    >>> print(bank.stats())
    2 trees, 10 nodes, 4 words, 8 distinct subtrees, 6 productions, 8 labels
    """

    __slots__ = ()

    @classmethod
    def _taken_in(cls, items: Iterable[object]) -> tuple[Columns, None]:
        single = (type(items),) if adapter_for(items) is not None else ()
        examples = listed(items, "trees", single, "read_trees")
        if not any(isinstance(item, str) for item in examples):
            columns = flatten(examples)
            columns.roots.setflags(write=False)
            return columns, None
        # The native reader takes all strings; other items are converted separately and added to the same store.
        reader, texts = Reader("tree"), [number for number, item in enumerate(examples) if isinstance(item, str)]
        for number in texts:
            try:
                reader.feed_one(cast(str, examples[number]).encode("utf-8", "surrogatepass"))
            except FormatError as error:
                raise inline_error(error, cast(str, examples[number]), f"item {number}") from None
        store, read = reader.result()
        roots = np.full(len(examples), -1, np.int32)
        roots[texts] = read
        others = [number for number, item in enumerate(examples) if not isinstance(item, str) and item is not None]
        if others:
            more = flatten([examples[number] for number in others], others)
            store, roots[others] = store.grown(*more)
        roots.setflags(write=False)
        return Columns(store, roots), None

    @classmethod
    def _columns_of(cls, items: list[Tree | None]) -> Columns:
        return flatten(items)

    @classmethod
    def _items_of(cls, columns: Columns) -> list[Tree | None]:
        return trees_of(columns)

    # --- content ------------------------------------------------------------------------------------------------

    def stats(self) -> Stats:
        """Count trees, nodes with children, words, distinct subtrees (other than words), productions and labels."""
        weights = self.weights()
        node, count = weights.node, weights.weight
        distinct = np.unique(node)
        production = self.columns.store.production
        inner = production[node] >= 0
        return Stats(
            trees=len(self),
            nodes=int(count[inner].sum()),
            words=int(count[~inner].sum()),
            distinct_subtrees=int((production[distinct] >= 0).sum()),
            productions=len(np.unique(production[distinct[production[distinct] >= 0]])),
            labels=len(np.unique(self.columns.store.label[distinct])),
        )

    def write(self, file: PathLike | IO[str], format: str | None = None) -> None:
        """Write the trees to a file, which appears only when it is complete.

        Parameters
        ----------
        file : path or open file
            Files whose names end in ``.gz``, ``.xz`` or ``.bz2`` are compressed.
        format : str, optional
            A writable format from `treelet.formats.FORMATS`. Default: detected from the file name.
        """
        write_document(Document(trees={"tree": self.columns}), file, format)

    def strings(self) -> list[str]:
        """Return each tree in brackets. A missing tree is an empty string."""
        return list(bracketed(self.compact().columns))


def read_trees(
    *files: File | Sequence[File],
    format: str | None = None,
    column: str | None = None,
    exclude: str | Collection[str] = (),
    max_nodes: int | None = None,
    max_depth: int | None = None,
    **options: Any,
) -> Treebank:
    """Read trees from files and folders.

    Parameters
    ----------
    *files : path or open file
        Files in ``.gz``, ``.xz`` and ``.bz2`` format are decompressed. ``"-"`` is standard input. A
        folder stands for all files below it whose suffix belongs to a format, sorted by name, without
        hidden files, links, binary files and files that git ignores. A pattern such as
        ``"data/*.mrg"`` stands for the files that match it. A file that occurs twice is read once.
    format : str, optional
        A name from `treelet.formats.FORMATS`, optionally followed by options, for example
        ``"python:each=function"``. Default: detected from the file name, then from the content. After
        a single file, the format may also be the second positional argument.
    column : str, optional
        Tree column to use when rows contain several trees. Default: the only tree column.
    exclude : str or list of str, default ()
        Patterns of files and folders to leave out of folders and patterns: of names, such as
        ``"tests"`` or ``"*_pb2.py"``, or of paths below the folder, such as ``"docs/*.py"``.
    max_nodes, max_depth : int, optional
        Limits per tree, for untrusted files. A tree with more nodes (words included), or with more
        edges from the root to the deepest word, counts as malformed. Default: no limit.
    **options
        Options of the format, for example ``drop_empty=True``, ``drop_function_tags=True``,
        ``root="ROOT"`` or ``encoding="latin-1"``. With ``on_error="skip"``, malformed trees are
        skipped and a warning reports their number; see `treelet.formats.read_document`.

    Returns
    -------
    Treebank
        For source code and markup, `Treebank.places` has the file and the lines of each tree.

    Raises
    ------
    FormatError
        If a file contains a malformed tree. The message contains the file, the line and the column.
        A tree beyond `max_nodes` or `max_depth` raises the subclass `treelet.errors.TreeSizeError`.
    FileError
        If a file cannot be read, or a folder contains no files of a known format.

    See Also
    --------
    read_code : read the functions of source files.
    iter_trees : read a file that is larger than memory.
    read_examples : read trees together with their labels.

    Examples
    --------
    >>> import io, treelet
    >>> bank = treelet.read_trees(io.StringIO("( (S (NP-SBJ (-NONE- *)) (VP (VB Go))) )"), drop_empty=True)
    >>> print(bank[0])
    (S (VP (VB Go)))
    """
    given, named = list(files), format
    if len(given) == 2 and format is None and is_format(given[1]):
        named = cast(str, given.pop())
    document = read_document(
        listed_files(given), named, labels=False, exclude=exclude, max_nodes=max_nodes, max_depth=max_depth, **options
    )
    return _bank_of(document, column)


def read_code(
    *files: File | Sequence[File],
    each: str = "function",
    language: str | Sequence[str] | None = None,
    constants: str = "values",
    identifiers: str = "keep",
    docstrings: bool = False,
    nodes: str = "named",
    exclude: str | Collection[str] = (),
    on_error: str = "skip",
    encoding: str = "utf-8",
    max_bytes: int | None = MAX_BYTES,
    max_nodes: int | None = None,
    max_depth: int | None = None,
    progress: bool | None = None,
) -> Treebank:
    r"""Read the functions or classes of source files, or whole files, as trees.

    Python is parsed by the interpreter's own parser, so its trees consist of nodes of the module ``ast``. All
    other languages are parsed by tree-sitter (``pip install 'treelet[code]'``). Comments and layout are not
    part of the trees.

    Parameters
    ----------
    *files : path or open file
        Files, folders and patterns, as for `read_trees`. Files with the suffix of a known language are read in
        folders.
    each : {"function", "class", "file"} or str, default "function"
        Unit that becomes a tree. Nested functions and classes are included. A node type of a language, such as
        ``"for_statement"`` or, in Python, ``"For"``, selects all its nodes.
    language : str or list of str, optional
        A name from `treelet.formats.languages.LANGUAGES`, such as ``"java"``, or several. Default: from the
        suffix of each file. In folders, only files of these languages are read.
    constants : {"values", "types"}, default "values"
        Whether literals keep their values, or only their types.
    identifiers : {"keep", "anonymous"}, default "keep"
        ``"anonymous"`` replaces the names that a unit binds (parameters, local variables, and its own name) by
        ``$0``, ``$1``, ... in the order of first appearance. Names of members, types and functions that are only
        used are kept. The rules of each language are listed in the documentation.
    docstrings : bool, default False
        Whether to keep docstrings of Python.
    nodes : {"named", "concrete"}, default "named"
        ``"named"`` leaves out keywords and punctuation that follow from the type of a node; operators and
        modifiers are kept. ``"concrete"`` keeps every token. Python has no concrete nodes.
    exclude : str or list of str, default ()
        Patterns of files and folders to leave out, such as ``"tests"`` or ``"*.min.js"``.
    on_error : {"skip", "raise"}, default "skip"
        ``"skip"`` skips units with syntax errors, and files that cannot be read if there are several. One
        warning reports how many were skipped.
    encoding : str, default "utf-8"
        Encoding of the files. A Python file may declare another one.
    max_bytes : int or None, default 1,000,000
        Size above which files in folders are skipped, because they are usually generated.
    max_nodes, max_depth : int, optional
        Limits per tree; see `read_trees`.
    progress : bool, optional
        Show a progress bar on standard error. Default: as in `treelet.config_context`.

    Returns
    -------
    Treebank
        Its `places` have the file, the first and last line and the qualified name of each tree, and the line of
        each node.

    Examples
    --------
    >>> import io, treelet
    >>> source = io.StringIO("class Stack:\n    def push(self, item):\n        self.items.append(item)\n")
    >>> bank = treelet.read_code(source, language="python", identifiers="anonymous")
    >>> bank.places[0]
    SourcePlace(file='<stream>', line=2, end_line=3, name='Stack.push')
    >>> bank.places.node_lines(0).tolist()[-3:]
    [3, 3, 3]
    """
    document = read_code_document(
        listed_files(files),
        each=each,
        language=language,
        constants=constants,
        identifiers=identifiers,
        docstrings=docstrings,
        nodes=nodes,
        exclude=exclude,
        on_error=on_error,
        encoding=encoding,
        max_bytes=max_bytes,
        max_nodes=max_nodes,
        max_depth=max_depth,
        progress=progress,
    )
    return _bank_of(document)


def iter_trees(
    file: File | Sequence[File],
    format: str | None = None,
    *,
    block: int = 10_000,
    column: str | None = None,
    **options: Any,
) -> Iterator[Treebank]:
    """Read a file of trees in blocks, so the file may be larger than memory.

    Parameters
    ----------
    file : path or open file, or a list of them
        As for `read_trees`. No block contains trees of two files.
    format : str, optional
        As for `read_trees`, but only ``"brackets"``, ``"lines"``, ``"tsv"`` and ``"csv"``. With
        ``on_error="skip"``, a file in brackets is first read completely; the other formats are not.
    block : int, default 10,000
        Number of trees per block.
    column : str, optional
        As for `read_trees`.
    **options
        As for `read_trees`.

    Yields
    ------
    Treebank
        The next `block` trees, or fewer in the last block. Blocks do not share memory, so a block
        that is no longer used is freed.

    Examples
    --------
    >>> import io, treelet
    >>> file = io.BytesIO(b"(S (N he) (V sat)) (S (N she) (V sat)) (S (N it) (V sat))")
    >>> [len(bank) for bank in treelet.iter_trees(file, block=2)]
    [2, 1]
    """
    for document in read_blocks(file, format, block=block, labels=False, **options):
        yield _bank_of(document, column)


def _bank_of(document: Document, column: str | None = None) -> Treebank:
    """Return the trees of a document: the only tree column, or the column with the given name."""
    names = list(document.trees)
    if column is None and len(names) == 1:
        column = names[0]
    if column in document.trees:
        return Treebank.from_columns(document.trees[column], document.places)
    if not names:
        raise TreeError("The file contains no trees.")
    choose = f"Choose one, for example column={names[0]!r}."
    if column is None:
        raise TreeError(f"The file has several columns of trees: {some_of(names)}. {choose}")
    near = suggestion(column, names)
    raise TreeError(
        f"The file has no column {column!r} of trees. Its tree columns are {some_of(names)}.{near or ' ' + choose}"
    )


# --- the base class of banks that store other structures in the form of trees -----------------------------------------

Item = TypeVar("Item")


class TreeFormBank(Bank[Item]):
    """A bank that stores its items as trees, so kernels, models and files for trees work with it."""

    __slots__ = ()

    def as_trees(self) -> Treebank:
        """Return the trees that represent the items, as kernels see them."""
        return Treebank.from_columns(self.columns)

    @classmethod
    def from_trees(cls, trees: Treebank) -> Self:
        """Return a bank of the items that the trees represent. Other trees raise TreeError."""
        cls._check(trees.compact().columns)
        return cls.from_columns(trees.columns)
