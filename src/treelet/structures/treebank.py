"""A collection of trees, hash-consed: equal subtrees anywhere in it are one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, Any, cast, overload

import numpy as np
from numpy.typing import NDArray

from treelet import _core
from treelet.errors import FormatError, InputTypeError, TreeError
from treelet.formats.adapters import adapter_for, flatten
from treelet.formats.base import Columns, Document, PathLike, read_document, write_document
from treelet.formats.brackets import Reader, bracketed
from treelet.structures.tree import Tree, trees_of


class Stats(dict[str, int]):
    """Counts by name; ``stats.trees`` is ``stats["trees"]``."""

    def __getattr__(self, name: str) -> int:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __str__(self) -> str:
        return ", ".join(f"{value:,} {name.replace('_', ' ')}" for name, value in self.items())


class Treebank(Sequence[Tree | None]):
    """Trees, held as columns in which every distinct subtree occurs once.

    Slicing and fancy indexing share those columns and cost next to nothing.

    Parameters
    ----------
    trees : iterable
        `Tree`, bracketed strings, nltk trees, Python ``ast`` nodes, XML elements, mixed as you like. None is a
        missing tree, whose kernel with anything is 0. A string is one item, not a file: see `read_trees`.

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

    __slots__ = ("_cached_trees", "_cached_weights", "_roots", "_store")

    def __init__(self, trees: Iterable[object] = ()) -> None:
        columns = _columns_of(trees)
        self._set(columns.store, columns.roots)

    def _set(self, store: _core.Store, roots: NDArray[np.int32]) -> None:
        self._store = store
        self._roots = np.ascontiguousarray(roots, dtype=np.int32)
        self._roots.setflags(write=False)
        self._cached_trees: list[Tree | None] | None = None
        self._cached_weights: _core.NodeWeights | None = None

    @classmethod
    def from_columns(cls, columns: Columns) -> Treebank:
        """A bank over columns that a format has read."""
        bank = cls.__new__(cls)
        bank._set(*columns)
        return bank

    # --- the collection -----------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._roots)

    @property
    def shape(self) -> tuple[int]:
        """``(len(bank),)``, as scikit-learn likes to know it."""
        return (len(self._roots),)

    def __iter__(self) -> Iterator[Tree | None]:
        return iter(self._trees())

    @overload
    def __getitem__(self, index: int) -> Tree | None: ...
    @overload
    def __getitem__(self, index: slice | Sequence[int] | NDArray[Any] | tuple[Any, ...]) -> Treebank: ...
    def __getitem__(self, index: Any) -> Tree | Treebank | None:
        if isinstance(index, tuple):
            if len(index) != 2 or index[1] is not Ellipsis:
                raise IndexError("a Treebank has one dimension")
            index = index[0]
        if isinstance(index, (int, np.integer)) and not isinstance(index, bool):
            if not -len(self) <= index < len(self):
                raise IndexError(f"tree {index} of a bank of {len(self)}")
            return (
                self._trees()[int(index)]
                if self._cached_trees
                else trees_of(self._compact(self._roots[[int(index)]]))[0]
            )
        if not isinstance(index, slice):
            index = np.asarray(index)
            if index.size == 0:
                index = index.astype(np.int64)
            if index.ndim != 1 or index.dtype.kind not in "iub":
                raise InputTypeError("a Treebank is indexed by an integer, a slice, integers or a mask of booleans")
        bank = Treebank.from_columns(Columns(self._store, self._roots[index]))
        if self._cached_weights is not None and len(bank):
            order = np.arange(len(self), dtype=np.int64)[index]
            bank._cached_weights = self._cached_weights.take(np.ascontiguousarray(order))
        return bank

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[np.object_]:
        out = np.empty(len(self), dtype=object)
        out[:] = self._trees()
        return out

    def __add__(self, other: object) -> Treebank:
        return Treebank.concat([self, other])

    def __radd__(self, other: object) -> Treebank:
        return Treebank.concat([other, self])

    @staticmethod
    def concat(banks: Iterable[object]) -> Treebank:
        """One bank of all the trees of several, in order."""
        parts = [as_treebank(bank) for bank in banks]
        if not parts:
            return Treebank()
        first, *rest = parts
        store, roots = first._store, [first._roots]
        for bank in rest:
            if bank._store is store:
                roots.append(bank._roots)
            else:
                store, here = store.grown(bank._store, bank._roots)
                roots.append(_mapped(here, bank._roots))
        return Treebank.from_columns(Columns(store, np.concatenate(roots)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Treebank):
            return NotImplemented
        if len(self) != len(other):
            return False
        both = Treebank.concat([self, other])
        return bool(np.array_equal(both._roots[: len(self)], both._roots[len(self) :]))

    __hash__ = None  # type: ignore[assignment]  # a collection is compared by content, like a list

    def __repr__(self) -> str:
        return f"<Treebank: {self.stats()}>"

    def __reduce__(self) -> tuple[Any, ...]:
        store, roots = self._compact(self._roots)
        return _rebuild, (store.labels, store.label, store.child_start, store.child, roots)

    # --- what it holds ------------------------------------------------------------------------------------------

    def stats(self) -> Stats:
        """How many trees, nodes with children, words, distinct subtrees (words left out), productions, labels."""
        weights = self.weights()
        node, count = weights.node, weights.weight
        distinct = np.unique(node)
        production = self._store.production
        inner = production[node] >= 0
        return Stats(
            trees=len(self),
            nodes=int(count[inner].sum()),
            words=int(count[~inner].sum()),
            distinct_subtrees=int((production[distinct] >= 0).sum()),
            productions=len(np.unique(production[distinct[production[distinct] >= 0]])),
            labels=len(np.unique(self._store.label[distinct])),
        )

    def write(self, file: PathLike | IO[str], format: str | None = None) -> None:
        """Write the trees in any writable format of `treelet.formats`; the file appears whole or not at all."""
        write_document(Document(trees={"tree": self.columns}), file, format)

    def strings(self) -> list[str]:
        """Each tree in brackets (a missing one: an empty string)."""
        return list(bracketed(Columns(*self._compact(self._roots))))

    # --- for the kernels ----------------------------------------------------------------------------------------

    @property
    def columns(self) -> Columns:
        """The native store and this bank's roots in it."""
        return Columns(self._store, self._roots)

    def weights(self) -> _core.NodeWeights:
        """The sparse matrix of tree x distinct subtree counts."""
        if self._cached_weights is None:
            self._cached_weights = _core.NodeWeights.count(self._store, self._roots)
        return self._cached_weights

    def joined(self, other: Treebank) -> tuple[Treebank, Treebank]:
        """Both banks over one store, in which this bank's subtrees keep their numbers."""
        if self._store is other._store:
            return self, other
        store, here = self._store.grown(other._store, other._roots)
        mine = Treebank.from_columns(Columns(store, self._roots))
        mine._cached_weights = self._cached_weights
        return mine, Treebank.from_columns(Columns(store, _mapped(here, other._roots)))

    def _compact(self, roots: NDArray[np.int32]) -> Columns:
        store, here = _core.Store().grown(self._store, np.ascontiguousarray(roots))
        return Columns(store, _mapped(here, roots))

    def _trees(self) -> list[Tree | None]:
        if self._cached_trees is None:
            self._cached_trees = trees_of(self._compact(self._roots))
        return self._cached_trees


def _mapped(here: NDArray[np.int32], roots: NDArray[np.int32]) -> NDArray[np.int32]:
    out = np.full(len(roots), -1, np.int32)
    out[roots >= 0] = here[roots[roots >= 0]]
    return out


def _rebuild(
    labels: list[str],
    label: NDArray[np.int32],
    child_start: NDArray[np.int64],
    child: NDArray[np.int32],
    roots: NDArray[np.int32],
) -> Treebank:
    store = _core.Store.from_columns(labels, label, child_start, child)
    if len(roots) and not (roots.min() >= -1 and roots.max() < len(store)):
        raise TreeError("the roots of this bank lie outside its columns")
    return Treebank.from_columns(Columns(store, roots))


def _columns_of(trees: Iterable[object]) -> Columns:
    if isinstance(trees, Treebank):
        return trees.columns
    if isinstance(trees, (str, bytes)) or adapter_for(trees) is not None:
        raise InputTypeError(
            f"a collection of trees is needed, got one {type(trees).__name__}: put it in a list"
            + (", or read a file with treelet.read_trees" if isinstance(trees, str) else "")
        )
    if isinstance(trees, Mapping) or (hasattr(trees, "columns") and not callable(trees.columns)):
        raise InputTypeError(
            f"a collection of trees is needed, got a {type(trees).__name__} with columns: give one of them, or say which "
            'to the kernel: On("column", kernel)'
        )
    if isinstance(trees, np.ndarray) and trees.ndim != 1:
        raise InputTypeError(f"an array of trees must have one dimension, this one has {trees.ndim}")
    try:
        items = list(trees)
    except TypeError:
        raise InputTypeError(f"a collection of trees is needed, got {type(trees).__name__}") from None
    if not any(isinstance(item, str) for item in items):
        return flatten(items)
    # Strings are read natively; whatever else there is goes beside them.
    reader, texts = Reader("tree"), [number for number, item in enumerate(items) if isinstance(item, str)]
    for number in texts:
        try:
            reader.feed_one(cast(str, items[number]).encode("utf-8", "surrogatepass"))
        except FormatError as error:
            raise FormatError(error.message, f"item {number}", error.line, error.column) from None
    store, read = reader.result()
    roots = np.full(len(items), -1, np.int32)
    roots[texts] = read
    others = [number for number, item in enumerate(items) if not isinstance(item, str) and item is not None]
    if others:
        more = flatten([items[number] for number in others], others)
        store, here = store.grown(*more)
        roots[others] = here[more.roots]
    return Columns(store, roots)


def as_treebank(trees: object) -> Treebank:
    """A Treebank of whatever holds trees; a Treebank is returned as it is."""
    return trees if isinstance(trees, Treebank) else Treebank(cast("Iterable[object]", trees))


def read_trees(
    file: PathLike | IO[bytes] | IO[str], format: str | None = None, *, column: str | None = None, **options: Any
) -> Treebank:
    """Read a file of trees.

    Parameters
    ----------
    file : path or open file
        ``.gz``, ``.xz`` and ``.bz2`` are unpacked; ``"-"`` is the standard input.
    format : str, optional
        A name from `treelet.formats.FORMATS`; by default what the file's name suggests, else Penn Treebank brackets.
    column : str, optional
        Which trees, where the format holds several a row (by default the only ones).
    **options
        Of the format: ``drop_empty=True``, ``drop_function_tags=True``, ``root="ROOT"``, ``encoding="latin-1"``, ...

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
    document = read_document(file, format, **options)
    names = list(document.trees)
    if column is None and len(names) == 1:
        column = names[0]
    if column not in document.trees:
        raise TreeError(
            "there are no trees in this file"
            if not names
            else f"which trees? The file has the columns {', '.join(names)}: name one (column={names[0]!r})"
        )
    return Treebank.from_columns(document.trees[column])
