"""Collections of trees in which equal subtrees are stored once, and functions that read files of trees."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import IO, Any, cast

import numpy as np

from treelet.checks import some_of, suggestion
from treelet.errors import FormatError, TreeError
from treelet.formats.adapters import adapter_for, flatten
from treelet.formats.base import Columns, Document, read_blocks, read_document, write_document
from treelet.formats.brackets import Reader, bracketed
from treelet.formats.files import PathLike
from treelet.structures.bank import Bank, Stats, listed
from treelet.structures.inline import inline_error
from treelet.structures.tree import Tree, trees_of
from treelet.vocabulary import keyword


class Treebank(Bank[Tree | None]):
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
        columns = _read_in(items)
        columns.roots.setflags(write=False)
        return columns, None

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


def _read_in(trees: Iterable[object]) -> Columns:
    single = (type(trees),) if adapter_for(trees) is not None else ()
    items = listed(trees, "trees", single, "read_trees")
    if not any(isinstance(item, str) for item in items):
        return flatten(items)
    # The native reader takes all strings; other items are converted separately and added to the same store.
    reader, texts = Reader("tree"), [number for number, item in enumerate(items) if isinstance(item, str)]
    for number in texts:
        try:
            reader.feed_one(cast(str, items[number]).encode("utf-8", "surrogatepass"))
        except FormatError as error:
            raise inline_error(error, cast(str, items[number]), f"item {number}") from None
    store, read = reader.result()
    roots = np.full(len(items), -1, np.int32)
    roots[texts] = read
    others = [number for number, item in enumerate(items) if not isinstance(item, str) and item is not None]
    if others:
        more = flatten([items[number] for number in others], others)
        store, roots[others] = store.grown(*more)
    return Columns(store, roots)


def read_trees(
    file: PathLike | IO[bytes] | IO[str],
    format: str | None = None,
    *,
    column: str | None = None,
    max_nodes: int | None = None,
    max_depth: int | None = None,
    **options: Any,
) -> Treebank:
    """Read a file of trees.

    Parameters
    ----------
    file : path or open file
        Files in ``.gz``, ``.xz`` and ``.bz2`` format are decompressed. ``"-"`` is standard input.
    format : str, optional
        A name from `treelet.formats.FORMATS`, optionally followed by options, for example
        ``"python:each=function"``. Default: detected from the file name, then from the content.
    column : str, optional
        Tree column to use when rows contain several trees. Default: the only tree column.
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

    Raises
    ------
    FormatError
        If the file contains a malformed tree. The message contains the file, the line and the column.
        A tree beyond `max_nodes` or `max_depth` raises the subclass `treelet.errors.TreeSizeError`.
    FileError
        If the file cannot be read.

    See Also
    --------
    iter_trees : read a file that is larger than memory.
    read_examples : read trees together with their labels.

    Examples
    --------
    >>> import io, treelet
    >>> bank = treelet.read_trees(io.StringIO("( (S (NP-SBJ (-NONE- *)) (VP (VB Go))) )"), drop_empty=True)
    >>> print(bank[0])
    (S (VP (VB Go)))
    """
    document = read_document(file, format, labels=False, max_nodes=max_nodes, max_depth=max_depth, **options)
    return bank_of(document, column)


def iter_trees(
    file: PathLike | IO[bytes] | IO[str],
    format: str | None = None,
    *,
    block: int = 10_000,
    column: str | None = None,
    **options: Any,
) -> Iterator[Treebank]:
    """Read a file of trees in blocks, so the file may be larger than memory.

    Parameters
    ----------
    file : path or open file
        As for `read_trees`.
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
        yield bank_of(document, column)


def bank_of(document: Document, column: str | None = None) -> Treebank:
    """Return the trees of a document: the only tree column, or the column with the given name."""
    names = list(document.trees)
    if column is None and len(names) == 1:
        column = names[0]
    if column in document.trees:
        return Treebank.from_columns(document.trees[column])
    if not names:
        raise TreeError("The file contains no trees.")
    choose = f"Choose one, for example {keyword('column', names[0])}."
    if column is None:
        raise TreeError(f"The file has several columns of trees: {some_of(names)}. {choose}")
    near = suggestion(column, names)
    raise TreeError(
        f"The file has no column {column!r} of trees. Its tree columns are {some_of(names)}.{near or ' ' + choose}"
    )
