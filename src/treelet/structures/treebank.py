"""A collection of trees, hash-consed: equal subtrees anywhere in it are one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import IO, Any, cast

import numpy as np

from treelet.errors import FormatError, TreeError
from treelet.formats.adapters import adapter_for, flatten
from treelet.formats.base import FORMATS, Columns, Document, read_blocks, read_document, write_document
from treelet.formats.brackets import Reader, bracketed
from treelet.formats.files import PathLike, unpacked_name
from treelet.structures.bank import Bank, Stats, listed
from treelet.structures.tree import Tree, trees_of
from treelet.vocabulary import keyword


class Treebank(Bank[Tree | None]):
    """Trees, held as columns in which every distinct subtree occurs once.

    Slicing and fancy indexing share those columns and cost next to nothing.

    Parameters
    ----------
    trees : iterable
        `Tree`, bracketed strings, nltk trees, Python ``ast`` nodes, XML elements, mixed as you like; a list, an array, a
        column of a DataFrame, or a DataFrame of one column. None (or NaN, or what pandas has for it) is a missing tree,
        whose kernel with anything is 0. A string is one item, not a file: see `read_trees`.

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

    # --- what it holds ------------------------------------------------------------------------------------------

    def stats(self) -> Stats:
        """How many trees, nodes with children, words, distinct subtrees (words left out), productions, labels."""
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
        """Write the trees in any writable format of `treelet.formats`; the file appears whole or not at all."""
        write_document(Document(trees={"tree": self.columns}), file, format)

    def strings(self) -> list[str]:
        """Each tree in brackets (a missing one: an empty string)."""
        return list(bracketed(self.compact().columns))


_SOURCE = re.compile(r"\s*(@\w|(async\s+def|def|class|import)\s+\w|from\s+[\w.]+\s+import\s)")


def _read_in(trees: Iterable[object]) -> Columns:
    single = (type(trees),) if adapter_for(trees) is not None else ()
    items = listed(trees, "trees", single, "read_trees")
    if not any(isinstance(item, str) for item in items):
        return flatten(items)
    # Strings are read natively; whatever else there is goes beside them.
    reader, texts = Reader("tree"), [number for number, item in enumerate(items) if isinstance(item, str)]
    for number in texts:
        try:
            reader.feed_one(cast(str, items[number]).encode("utf-8", "surrogatepass"))
        except FormatError as error:
            hint = _hint(cast(str, items[number]))
            raise FormatError(error.message + hint, f"item {number}", error.line, error.column) from None
    store, read = reader.result()
    roots = np.full(len(items), -1, np.int32)
    roots[texts] = read
    others = [number for number, item in enumerate(items) if not isinstance(item, str) and item is not None]
    if others:
        more = flatten([items[number] for number in others], others)
        store, roots[others] = store.grown(*more)
    return Columns(store, roots)


def _hint(text: str) -> str:
    """What to say of a text that stands for a missing tree, is markup, source code or a line, or looks like the name of a file."""
    if text.strip().lower() in ("", "nan", "none", "<na>", "nat", "null"):
        return "; a missing tree is None, or NaN as a number, and no text"
    if text.lstrip().startswith("<"):
        return "; treelet.formats.xml_trees and html_trees read markup"
    if _SOURCE.match(text):
        return "; treelet.formats.python_trees reads source code"
    if "\t(" in text:
        return "; of label<TAB>tree give what is after the tab, or read them with treelet.read_examples"
    suffixes = {suffix for known in FORMATS.values() for suffix in known.suffixes}
    if "(" in text or not (unpacked_name(text).suffix.lower() in suffixes or os.path.isfile(text)):
        return ""
    return f"; {text[:60]!r} looks like the name of a file: read it with treelet.read_trees"


def read_trees(
    file: PathLike | IO[bytes] | IO[str], format: str | None = None, *, column: str | None = None, **options: Any
) -> Treebank:
    """Read a file of trees.

    Parameters
    ----------
    file : path or open file
        ``.gz``, ``.xz`` and ``.bz2`` are unpacked; ``"-"`` is the standard input.
    format : str, optional
        A name from `treelet.formats.FORMATS`; by default what the file's name suggests, or its content. Options may follow:
        ``"python:each=function"``.
    column : str, optional
        Which trees, where the format holds several a row (by default the only ones).
    **options
        ``on_error="skip"`` leaves out trees that are not as they should be, and warns, see
        `treelet.formats.read_document`. And those of the format: ``drop_empty=True``, ``drop_function_tags=True``, ``root="ROOT"``, ``encoding="latin-1"``, ...

    Returns
    -------
    Treebank

    Examples
    --------
    >>> import io, treelet
    >>> bank = treelet.read_trees(io.StringIO("( (S (NP-SBJ (-NONE- *)) (VP (VB Go))) )"), drop_empty=True)
    >>> print(bank[0])
    (S (VP (VB Go)))
    """
    return bank_of(read_document(file, format, labels=False, **options), column)


def iter_trees(
    file: PathLike | IO[bytes] | IO[str],
    format: str | None = None,
    *,
    block: int = 10_000,
    column: str | None = None,
    **options: Any,
) -> Iterator[Treebank]:
    """Read a file of trees that may be larger than memory, a part at a time.

    Parameters
    ----------
    file, format, column, **options
        As for `read_trees`. The formats are those of one tree after the other: brackets, lines, tsv and csv. With
        ``on_error="skip"``, brackets are read as a whole first; lines are not.
    block : int
        How many trees at a time.

    Yields
    ------
    Treebank
        The next `block` trees, the last time fewer. Each bank has a store of its own: what is forgotten is free.

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
    """The trees of a document: its only ones, or those of a column."""
    names = list(document.trees)
    if column is None and len(names) == 1:
        column = names[0]
    if column not in document.trees:
        raise TreeError(
            "there are no trees in this file"
            if not names
            else f"which trees? The file has the columns {', '.join(names)}: name one ({keyword('column', names[0])})"
        )
    return Treebank.from_columns(document.trees[column])
