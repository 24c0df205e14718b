"""What every bank is: a collection over a native store, in which equal parts are one."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from threading import Lock
from typing import Any, ClassVar, Generic, Self, TypeVar, cast, overload

import numpy as np
from numpy.typing import NDArray

from treelet import _core
from treelet.checks import some_of
from treelet.errors import InputTypeError, TreeError
from treelet.formats.base import Columns
from treelet.shown import Tabled
from treelet.structures.packed import Arrays, packed, unpacked

Item = TypeVar("Item")
RowIndex = int | slice | NDArray[np.int64]
MOST_KNOWN = 32  # numbers an item that a bank keeps: self-values under so many kernels
_making = Lock()  # two threads that ask for columns must not get two stores


def row_index(index: Any, n: int, what: str) -> RowIndex:
    """What stands in brackets, made an int, a slice or an array of row numbers.

    ``(index, Ellipsis)`` is how scikit-learn takes rows of whatever has a shape.
    """
    if isinstance(index, tuple):
        if len(index) != 2 or index[1] is not Ellipsis:
            raise IndexError(f"a {what} is indexed by rows only")
        index = index[0]
    if isinstance(index, (int, np.integer)) and not isinstance(index, bool):
        if not -n <= index < n:
            raise IndexError(f"row {index} of a {what} of {n}")
        return int(index) % n
    if isinstance(index, slice):
        return index
    rows = np.asarray(index)
    if rows.size == 0 and rows.dtype.kind == "f":
        rows = rows.astype(np.int64)  # an empty list
    if rows.ndim != 1 or rows.dtype.kind not in "iub":
        raise InputTypeError(f"a {what} is indexed by an integer, a slice, integers or a mask of booleans")
    if rows.dtype.kind == "b" and len(rows) != n:
        raise IndexError(f"a mask of {len(rows)} for a {what} of {n}")
    if rows.dtype.kind != "b" and len(rows) and not (-n <= rows.min() and rows.max() < n):
        raise IndexError(f"rows {rows.min()}..{rows.max()} of a {what} of {n}")
    chosen: NDArray[np.int64] = np.arange(n, dtype=np.int64)[rows]
    return chosen


def is_missing(value: object) -> bool:
    """Whether a value says that there is none: None, NaN, or what pandas has for these."""
    if value is None:
        return True
    if isinstance(value, (float, np.floating)):
        return bool(np.isnan(value))
    return type(value).__name__ in ("NAType", "NaTType")


def one_column(items: Any, what: str) -> Any:
    """The only column of what has columns: a DataFrame, a Table, a 2-D array; InputTypeError if there are several.

    What has no columns is returned as it is.
    """
    if isinstance(items, np.ndarray):
        if items.ndim == 1 or items.dtype.names:
            return items
        if items.ndim == 2 and items.shape[1] == 1:
            return items[:, 0]
        raise InputTypeError(
            f"an array of {what} must have one dimension, or one column; this one has the shape {items.shape}"
        )
    if isinstance(items, Bank) or not (isinstance(items, Mapping) or hasattr(items, "columns")):
        return items
    names = list(items if isinstance(items, Mapping) else items.columns)
    if len(names) == 1 and not isinstance(items, Mapping):
        return getattr(items, "column", items.__getitem__)(names[0])
    raise InputTypeError(
        f"a collection of {what} is needed, got a {type(items).__name__} with the columns {some_of(names)}: give one of them, or say "
        'which to the kernel: On("column", kernel)'
    )


def listed(
    items: object, what: str, one: tuple[type, ...] = (), reader: str = "", *, banks: tuple[type, ...] = ()
) -> list[object]:
    """The items of a collection, None for those that are missing.

    InputTypeError for one item alone, a file's name, a table of several columns, or a bank of other things.
    """
    name = type(items).__name__
    if isinstance(items, (str, bytes, os.PathLike, *one)):
        hint = f", or read a file with treelet.{reader}" if reader and isinstance(items, (str, os.PathLike)) else ""
        raise InputTypeError(f"a collection of {what} is needed, got one {name}: put it in a list{hint}")
    if isinstance(items, (set, frozenset)):
        raise InputTypeError(f"a collection of {what} in an order is needed, got a {name}, which has none: give a list")
    if isinstance(items, Bank) and not isinstance(items, banks):
        hint = f": make trees of it with treelet.{items._as_trees}" if items._as_trees and what == "trees" else ""
        raise InputTypeError(f"a collection of {what} is needed, got a {name}{hint}")
    items = one_column(items, what)
    try:
        found = list(cast("Iterable[object]", items))
    except TypeError:
        raise InputTypeError(f"a collection of {what} is needed, got {name}") from None
    if found and "trees" in what and isinstance(found[0], Mapping):
        raise InputTypeError(
            f"a collection of {what} is needed, got dicts with {some_of(found[0])}: say to the kernel which part it compares: "
            'On("column", kernel)'
        )
    return [None if is_missing(item) else item for item in found]


class Stats(dict[str, int]):
    """Counts by name; ``stats.trees`` is ``stats["trees"]``."""

    def __getattr__(self, name: str) -> int:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __str__(self) -> str:
        return ", ".join(
            f"{value:,} {name.replace('_', ' ').removesuffix('s' if value == 1 else '')}"
            for name, value in self.items()
        )


class Kept:
    """Things that are made once, by whoever asks first; threads may ask."""

    def __init__(self) -> None:
        self._lock, self._made = Lock(), dict[Hashable, Any]()

    def get(self, what: Hashable, make: Callable[[], Any]) -> Any:
        with self._lock:
            if what not in self._made:
                self._made[what] = make()
            return self._made[what]


class Bank(Tabled, Sequence[Item], Generic[Item]):
    """Examples of one kind, held as columns over a native store; None is a missing one, whose kernel values are 0.

    NaN and what pandas has for missing values become None.

    Equal parts are stored once; slices share the store and cost next to nothing. A bank has columns, or items that
    become columns when a kernel asks for them, or both: either gives the other. Threads may share it.
    """

    __slots__ = ("_columns", "_indexes", "_items", "_known", "_weights")

    _columns: Columns | None
    _items: list[Item] | None
    _weights: _core.NodeWeights | None
    _known: dict[Hashable, NDArray[np.float64]]
    _indexes: Kept | None

    _store: ClassVar[Any] = _core.Store
    """The kind of native store."""
    _as_trees: ClassVar[str] = ""
    """What makes trees of such a bank, where something does."""
    _columns_are_all: ClassVar[bool] = True
    """Whether the columns hold all that the items do."""

    # --- what a kind of bank says -------------------------------------------------------------------------------

    @classmethod
    @abstractmethod
    def _taken_in(cls, items: Iterable[object]) -> tuple[Columns | None, list[Item] | None]:
        """What a bank was given, checked: columns, or items, or both."""

    @classmethod
    @abstractmethod
    def _columns_of(cls, items: list[Item]) -> Columns:
        """The items in a store of their own."""

    @classmethod
    @abstractmethod
    def _items_of(cls, columns: Columns) -> list[Item]:
        """The items again."""

    @classmethod
    def _check(cls, columns: Columns) -> None:
        """TreeError unless these columns are such as `_columns_of` makes."""

    @abstractmethod
    def stats(self) -> Stats:
        """How many items, and of what."""

    # --- making one ---------------------------------------------------------------------------------------------

    def __init__(self, items: Iterable[object] = ()) -> None:
        if isinstance(items, type(self)):
            self._set(items._columns, items._items, items._weights)
        else:
            self._set(*self._taken_in(items))

    def _set(
        self,
        columns: Columns | None,
        items: list[Item] | None,
        weights: _core.NodeWeights | None = None,
    ) -> None:
        self._columns, self._items, self._weights, self._known = columns, items, weights, {}
        self._indexes = None

    @classmethod
    def _of(cls, columns: Columns | None, items: list[Item] | None, weights: Any = None) -> Self:
        bank = cls.__new__(cls)
        bank._set(columns, items, weights)
        return bank

    @classmethod
    def of(cls, items: object) -> Self:
        """A bank of whatever holds such items; a bank is returned as it is."""
        return items if isinstance(items, cls) else cls(cast("Iterable[object]", items))

    @classmethod
    def from_columns(cls, columns: Columns) -> Self:
        """A bank over columns of its kind that are in a store already."""
        roots = np.ascontiguousarray(columns.roots, dtype=np.int32)
        roots.setflags(write=False)
        return cls._of(Columns(columns.store, roots), None)

    # --- the collection -----------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._columns.roots if self._columns is not None else cast("list[Any]", self._items))

    @property
    def shape(self) -> tuple[int]:
        """``(len(bank),)``, as scikit-learn likes to know it."""
        return (len(self),)

    def _all(self) -> list[Item]:
        if self._items is None:
            self._items = self._items_of(self.compact().columns)
        return self._items

    def __iter__(self) -> Iterator[Item]:
        return iter(self._all())

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice | Sequence[int] | NDArray[Any] | tuple[Any, ...]) -> Self: ...
    def __getitem__(self, index: Any) -> Item | Self:
        rows = row_index(index, len(self), type(self).__name__)
        if isinstance(rows, int):
            return self._all()[rows] if self._items is not None else self[rows : rows + 1]._all()[0]
        order = np.arange(len(self), dtype=np.int64)[rows]
        columns = self._columns and Columns(self._columns.store, np.ascontiguousarray(self._columns.roots[order]))
        items = None
        if self._items is not None and (columns is None or not self._columns_are_all):
            items = [self._items[number] for number in order.tolist()]
        weights = self._weights.take(order) if self._weights is not None and len(order) else None
        part = self._of(columns, items, weights)
        part._known = {what: values[order] for what, values in list(self._known.items())}
        return part

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[np.object_]:
        out = np.empty(len(self), dtype=object)
        out[:] = self._all()
        return out

    def __add__(self, other: object) -> Self:
        return self.concat([self, other])

    def __radd__(self, other: object) -> Self:
        return self.concat([other, self])

    @classmethod
    def concat(cls, banks: Iterable[object]) -> Self:
        """One bank of all the items of several, in order; each distinct part is taken into its store once."""
        parts = [cls.of(bank) for bank in banks]
        items = None
        if parts and all(part._items is not None for part in parts):
            items = [item for part in parts for item in part._all()]
        if not parts or (items is not None and all(part._columns is None for part in parts)):
            return cls._of(None, items or [])
        stores = [part.columns.store for part in parts]
        if all(store is stores[0] for store in stores):
            columns = Columns(stores[0], np.concatenate([part.columns.roots for part in parts]))
        else:
            columns = Columns(*cls._store.joined(stores, [part.columns.roots for part in parts]))
        return cls._of(columns, None if cls._columns_are_all else items)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        if len(self) != len(other):
            return False
        if not self._columns_are_all or self._columns is None or other._columns is None:
            return self._all() == other._all()
        both = self.concat([self, other]).columns.roots
        return bool(np.array_equal(both[: len(self)], both[len(self) :]))

    __hash__ = None  # type: ignore[assignment]  # a collection is compared by content, like a list

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.stats()}>"

    # --- in files -----------------------------------------------------------------------------------------------

    def packed(self) -> Arrays:
        """The bank as arrays of small numbers, distinct parts once: how it is pickled and saved."""
        return packed(self.compact().columns)

    @classmethod
    def unpacked(cls, arrays: Arrays) -> Self:
        """The bank again; TreeError if the arrays are none of `packed`. Nothing in them is trusted."""
        columns = unpacked(arrays)
        if not isinstance(columns.store, cls._store):
            raise TreeError(f"these columns are no {cls.__name__}")
        cls._check(columns)
        return cls.from_columns(columns)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).unpacked, (self.packed(),)

    # --- for the kernels ----------------------------------------------------------------------------------------

    @property
    def columns(self) -> Columns:
        """The native store, and this bank's roots in it (-1: a missing item)."""
        if self._columns is None:
            with _making:
                if self._columns is None:
                    self._columns = self._columns_of(cast("list[Item]", self._items))
        return self._columns

    def weights(self) -> _core.NodeWeights:
        """The sparse matrix of item x distinct part: how often the one holds the other."""
        if self._weights is None:
            self._weights = _core.NodeWeights.count(*self.columns)
        return self._weights

    def values(self, what: Hashable, compute: Callable[[], NDArray[np.float64]]) -> NDArray[np.float64]:
        """One number an item, computed once; slices have theirs from here. Not to be changed."""
        found = self._known.get(what)
        if found is None:
            found = compute()
            found.setflags(write=False)
            for oldest in list(self._known)[: max(0, len(self._known) - MOST_KNOWN + 1)]:
                self._known.pop(oldest, None)
            self._known[what] = found
        return found

    def with_cached_index(self) -> Self:
        """Return the same items in a bank that caches the indexes which kernels build over its columns, for repeated use."""
        if self._indexes is not None:
            return self
        kept = self._of(self.columns, self._items, self._weights)
        kept._known, kept._indexes = dict(self._known), Kept()
        return kept

    def indexed(self, what: Hashable | None, make: Callable[[], Any]) -> Any:
        """Return the index that `make` builds; a bank made by `with_cached_index` builds it once per key."""
        return make() if self._indexes is None or what is None else self._indexes.get(what, make)

    def joined(self, other: Self) -> tuple[Self, Self]:
        """The bank itself, and the other one over a store in which this bank's parts keep their numbers.

        That store grows over this bank's: it costs what the other bank holds, however large this one is.
        """
        if self.columns.store is other.columns.store:
            return self, other
        columns = Columns(*self.columns.store.grown(*other.columns))
        theirs = self._of(columns, None if self._columns_are_all else other._items)
        theirs._known = dict(other._known)
        return self, theirs

    def ordered(self) -> Self:
        """The same items, their parts numbered as they are first met: sums over parts then come out the same to the last bit,
        however the bank was made. (In a forest, a node's edges keep their order.)
        """
        made = self.columns.store.ordered(self.columns.roots)
        return self if made is None else self._of(Columns(*made), None if self._columns_are_all else self._items)

    def compact(self) -> Self:
        """The same items over a store that holds nothing else; doing it again changes nothing."""
        columns = Columns(*self._store().grown(*self.columns))
        return self._of(columns, None if self._columns_are_all else self._items)


class PostOrder:
    """Trees written down in post-order: children before their parents, one tree after the other."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._label: list[int] = []
        self._arity: list[int] = []
        self._ends: list[int] = []
        self._there: list[int] = []
        self._count = 0

    def leaves(self, texts: Iterable[str]) -> None:
        """Nodes without children."""
        before = len(self._label)
        self._label += [self._numbers.setdefault(text, len(self._numbers)) for text in texts]
        self._arity += [0] * (len(self._label) - before)

    def node(self, text: str, children: int) -> None:
        """A node over the last so many that have no parent yet."""
        self._label.append(self._numbers.setdefault(text, len(self._numbers)))
        self._arity.append(children)

    def end(self, missing: bool = False) -> None:
        """The tree is complete, or there is none."""
        if not missing:
            self._ends.append(len(self._label))
            self._there.append(self._count)
        self._count += 1

    def columns(self) -> Columns:
        """All of them in a store."""
        label, arity = np.array(self._label, np.int32), np.array(self._arity, np.int32)
        store, found = _core.build(list(self._numbers), label, arity, np.array(self._ends, np.int64))
        roots = np.full(self._count, -1, np.int32)
        roots[self._there] = found
        return Columns(store, roots)
