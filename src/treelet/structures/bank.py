"""The base class of banks: collections over a native store in which equal parts are stored once."""

from __future__ import annotations

import numbers
import os
import re
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from threading import Lock
from typing import Any, ClassVar, Generic, Self, TypeVar, cast, overload

import numpy as np
from numpy.typing import NDArray

from treelet import _core
from treelet.checks import article, plural, some_of
from treelet.errors import FormatError, InlineFormatError, InputTypeError, TreeError
from treelet.formats.base import FORMATS, Columns
from treelet.formats.files import unpacked_name
from treelet.formats.places import Places
from treelet.formats.reading import plain_text
from treelet.printable import shortened
from treelet.shown import Tabled

# --- serialization of a bank's columns as arrays of small integers ----------------------------------------------------

Arrays = dict[str, NDArray[Any]]


def _packed(columns: Columns) -> Arrays:
    """Return the columns of trees or forests as arrays. Those of forests include the probabilities of the edges."""

    def small(values: NDArray[Any]) -> NDArray[Any]:
        return values.astype(np.min_scalar_type(int(values.max(initial=0))))

    store, roots = columns
    texts, ends = store.texts
    arrays = {
        "texts": texts,
        "text_lengths": small(np.diff(ends, prepend=0)),
        "label": small(store.label),
        "arity": small(np.diff(store.child_start)),
        "child": small(store.child),
    }
    if isinstance(store, _core.ForestStore):
        arrays |= {"edges": small(np.diff(store.edge_start)), "probability": store.p}
    return arrays | {"roots": small(roots.astype(np.int64) + 1)}


def _unpacked(arrays: Arrays) -> Columns:
    """Restore columns from arrays. Invalid arrays raise TreeError."""

    def whole(name: str, dtype: Any) -> NDArray[Any]:
        values = arrays[name]
        if not isinstance(values, np.ndarray) or values.ndim != 1 or values.dtype.kind != "u" or values.itemsize > 4:
            raise ValueError("a column has the wrong type")
        return np.ascontiguousarray(values, dtype=dtype)

    def starts(name: str) -> NDArray[np.int64]:
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(whole(name, np.int64))])

    try:
        ends, content = starts("text_lengths"), bytes(whole("texts", np.uint8))
        if ends[-1] != len(content):
            raise ValueError("the labels do not match their lengths")
        texts = [content[begin:end].decode("utf-8", "surrogatepass") for begin, end in pairwise(ends.tolist())]
        nodes = starts("arity"), whole("child", np.int32)
        store: _core.Store | _core.ForestStore
        if "probability" not in arrays:
            store = _core.Store.from_columns(texts, whole("label", np.int32), *nodes)
        else:
            p = arrays["probability"]
            if p.ndim != 1 or p.dtype != np.float64:
                raise ValueError("the probabilities have the wrong type")
            label, edges = whole("label", np.int32), starts("edges")
            store = _core.ForestStore.from_columns(texts, label, edges, *nodes, np.ascontiguousarray(p))
        roots = whole("roots", np.int64) - 1
        if len(roots) and roots.max() >= len(store):
            raise ValueError("an item is missing")
    except LookupError as error:
        raise TreeError(f"The stored columns of a bank are damaged: {error} is missing.") from error
    except (ArithmeticError, AttributeError, MemoryError, TypeError, ValueError) as error:
        raise TreeError(f"The stored columns of a bank are damaged: {str(error).rstrip('.')}.") from error
    return Columns(store, roots.astype(np.int32))


# --- errors about trees that were passed as strings rather than read from a file --------------------------------------


def inline_error(error: FormatError, text: str, source: str = "") -> InlineFormatError:
    """Return the error for a string that is not a tree, with a remedy that depends on the string.

    `source` names the string in the message, for example "item 3". It is empty for a single string.
    """
    shown = shortened(str(text))  # str() drops the type of a NumPy string
    is_code = re.match(r"\s*(@\w|(async\s+def|def|class|import)\s+\w|from\s+[\w.]+\s+import\s)", text)
    if source and text.strip().lower() in ("", "nan", "none", "<na>", "nat", "null"):
        problem = f"{shown} is not a tree. For a missing tree, pass None or a float NaN instead of a string."
    elif not text.strip():
        problem = "The text is empty, but a tree such as '(NP (D the) (N cat))' is needed."
    elif _is_file_name(text):
        problem = f"{shown} is a file name, but a tree is needed. Read the file with treelet.read_trees."
    elif "(" in text or text.lstrip().startswith(("<", ")")) or is_code:
        hint = ""
        if text.lstrip().startswith("<"):
            hint = "Read markup with treelet.formats.xml_trees or html_trees."
        elif is_code:
            hint = "Read source code with treelet.formats.python_trees."
        elif "\t(" in text:
            hint = "For label<TAB>tree, pass only the part after the tab, or read the lines with treelet.read_examples."
        message = f"{error.message.rstrip('.')}. {hint}" if hint else error.message
        return InlineFormatError(message, source, error.line, error.column)
    else:
        problem = plain_text(shown)
    return InlineFormatError(problem, source)


def _is_file_name(text: str) -> bool:
    """Return whether a string ends like the name of a file of trees.

    The text alone decides: a service must not reveal which files exist.
    """
    if "(" in text or "\n" in text or "\0" in text or not text.strip():
        return False
    suffixes = {suffix for known in FORMATS.values() for suffix in known.suffixes}
    return unpacked_name(text).suffix.lower() in suffixes


# --- the base class of banks ------------------------------------------------------------------------------------------

# Items that may be missing have types such as Tree | Any: with Tree | None, type checkers would require a check for None
# at every use.
Item = TypeVar("Item")
RowIndex = int | slice | NDArray[np.int64]
MOST_KNOWN = 32  # maximum number of arrays that a bank caches, for example self-values under as many kernels
_making = Lock()  # keeps two threads from building two stores for the same bank


def row_index(index: Any, n: int, what: str) -> RowIndex:
    """Turn an index expression into an int, a slice or an array of row numbers.

    scikit-learn passes ``(index, Ellipsis)`` to objects that have a shape.
    """
    if isinstance(index, tuple):
        if len(index) != 2 or index[1] is not Ellipsis:
            raise IndexError(f"The {what} has one dimension, so it is indexed by rows only. Got {len(index)} indices.")
        index = index[0]
    if isinstance(index, (int, np.integer)) and not isinstance(index, bool):
        if not -n <= index < n:
            raise IndexError(f"Row {index} is out of range for {article(what)} of {plural(n, 'row')}.")
        return int(index) % n
    if isinstance(index, slice):
        return index
    rows = np.asarray(index)
    if rows.size == 0 and rows.dtype.kind == "f":
        rows = rows.astype(np.int64)  # an empty list
    if rows.ndim != 1 or rows.dtype.kind not in "iub":
        raise InputTypeError(
            f"The index of {article(what)} must be an int, a slice, a list of ints or a boolean mask. "
            f"Got {index!r:.60} instead."
        )
    if rows.dtype.kind == "b" and len(rows) != n:
        raise IndexError(f"The mask has {plural(len(rows), 'value')}, but the {what} has {plural(n, 'row')}.")
    if rows.dtype.kind != "b" and len(rows) and not (-n <= rows.min() and rows.max() < n):
        row = rows.min() if rows.min() < -n else rows.max()
        raise IndexError(f"Row {row} is out of range for {article(what)} of {plural(n, 'row')}.")
    chosen: NDArray[np.int64] = np.arange(n, dtype=np.int64)[rows]
    return chosen


def is_missing(value: object) -> bool:
    """Return whether a value stands for a missing one: None, NaN, or the missing values of pandas."""
    if value is None:
        return True
    if isinstance(value, (float, np.floating)):
        return bool(np.isnan(value))
    return type(value).__name__ in ("NAType", "NaTType")


def one_column(items: Any, what: str) -> Any:
    """Return the only column of a DataFrame, a Table or a 2-D array. Several columns raise InputTypeError.

    Objects without columns are returned unchanged.
    """
    if isinstance(items, np.ndarray):
        if items.ndim == 1 or items.dtype.names:
            return items
        if items.ndim == 2 and items.shape[1] == 1:
            return items[:, 0]
        raise InputTypeError(
            f"An array of {what} must have one dimension or one column, but the shape is {items.shape}."
        )
    if isinstance(items, Bank) or not (isinstance(items, Mapping) or hasattr(items, "columns")):
        return items
    names = list(items if isinstance(items, Mapping) else items.columns)
    if len(names) == 1 and not isinstance(items, Mapping):
        return getattr(items, "column", items.__getitem__)(names[0])
    if not names:
        raise InputTypeError(f"A collection of {what} is needed. Got {article(type(items).__name__)} without columns.")
    example = names[0]
    for name in names:  # the first column that begins with a bracketed string or a tree
        first = next(iter(items[name]), None) if isinstance(items[name], Iterable) else None
        if str(first).lstrip().startswith("(") if isinstance(first, str) else hasattr(first, "label"):
            example = name
            break
    columns = f"the {'keys' if isinstance(items, Mapping) else 'columns'} {some_of(names)}"
    raise InputTypeError(
        f"A collection of {what} is needed. Got {article(type(items).__name__)} with {columns}. Pass one of them, "
        f"for example X[{example!r}], or choose one with On({example!r}, kernel)."
    )


def listed(
    items: object, what: str, one: tuple[type, ...] = (), reader: str = "", *, banks: tuple[type, ...] = ()
) -> list[object]:
    """Return the items of a collection as a list, with None for missing items.

    InputTypeError is raised for a single item, a file name, a table of several columns, or a bank of
    another kind.

    Parameters
    ----------
    items : object
        The collection that a user passed.
    what : str
        The items in words, such as "trees".
    one : tuple of type
        Types of single items.
    reader : str
        Function of treelet that reads such items from a file.
    banks : tuple of type
        Kinds of banks that are accepted.
    """
    kind = article(type(items).__name__)
    needed = f"A collection of {what} is needed."
    if isinstance(items, os.PathLike) or (isinstance(items, str) and _is_file_name(items)):
        path = os.fspath(items)
        remedy = f" Read the file with treelet.{reader}." if reader else ""
        raise InputTypeError(f"{shortened(path)} is a file name, but a collection of {what} is needed.{remedy}")
    if isinstance(items, str) and what == "trees" and items.lstrip().startswith("("):
        raise InputTypeError(f"{shortened(items)} is one tree, but a collection of trees is needed. Put it in a list.")
    if isinstance(items, str):
        read = f" To read a file, use treelet.{reader}." if reader else ""
        raise InputTypeError(f"{needed} Got one string instead: {shortened(items)}. Put it in a list.{read}")
    if isinstance(items, (bytes, *one)):
        raise InputTypeError(f"{needed} Got one {type(items).__name__} instead. Put it in a list.")
    if isinstance(items, (set, frozenset)):
        raise InputTypeError(f"{needed} Got {kind} instead, which has no order. Pass a list.")
    if isinstance(items, Bank) and not isinstance(items, banks):
        hint = f" Convert it to trees with treelet.{items._as_trees}." if items._as_trees and what == "trees" else ""
        raise InputTypeError(f"{needed} Got {kind} instead.{hint}")
    column = one_column(items, what)
    try:
        members = list(cast("Iterable[object]", column))
    except TypeError:
        raise InputTypeError(f"{needed} Got {kind} instead. Pass a list.") from None
    first = next((member for member in members if not is_missing(member)), None)
    is_frame = column is not items and not isinstance(items, np.ndarray)
    if what == "trees" and is_frame and isinstance(first, numbers.Number):
        raise InputTypeError(f"{needed} Got {kind} of numbers instead. Select the column that contains the trees.")
    if "trees" in what and isinstance(first, Mapping):
        name = next(iter(first), "column")
        raise InputTypeError(
            f"{needed} Got dicts with the keys {some_of(first)} instead. Choose a key with On({name!r}, kernel)."
        )
    return [None if is_missing(item) else item for item in members]


class Stats(dict[str, int]):
    """Counts by name. ``stats.trees`` is the same as ``stats["trees"]``."""

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


class _Kept:
    """A thread-safe cache. A value is built once per key, by the first thread that needs it."""

    def __init__(self, made: Mapping[Hashable, Any] | None = None) -> None:
        self._lock, self._made = Lock(), dict(made or {})

    def get(self, what: Hashable, make: Callable[[], Any]) -> Any:
        with self._lock:
            if what not in self._made:
                self._made[what] = make()
            return self._made[what]


class Bank(Tabled, Sequence[Item], Generic[Item]):
    """Examples of one kind, stored as columns over a native store.

    None stands for a missing example, whose kernel values are 0. NaN and the missing values of
    pandas become None.

    Equal parts are stored once. Slices share the store, so slicing is cheap. A bank has columns, or
    items that are converted to columns when a kernel needs them, or both. Threads may share a bank.
    """

    __slots__ = ("_columns", "_indexes", "_items", "_known", "_places", "_weights")

    _columns: Columns | None
    _items: list[Item] | None
    _weights: _core.NodeWeights | None
    _known: dict[Hashable, NDArray[np.float64]]
    _indexes: _Kept | None
    _places: Places | None

    _store: ClassVar[Any] = _core.Store
    """Class of the native store."""
    _as_trees: ClassVar[str] = ""
    """Name of the function that converts such a bank to trees, if there is one."""
    _columns_are_all: ClassVar[bool] = True
    """Whether the items can be restored completely from the columns."""

    # --- methods that each kind of bank defines -----------------------------------------------------------------

    @classmethod
    @abstractmethod
    def _taken_in(cls, items: Iterable[object]) -> tuple[Columns | None, list[Item] | None]:
        """Check the items that were passed to a bank. Return columns, or items, or both."""

    @classmethod
    @abstractmethod
    def _columns_of(cls, items: list[Item]) -> Columns:
        """Build a store that contains the items."""

    @classmethod
    @abstractmethod
    def _items_of(cls, columns: Columns) -> list[Item]:
        """Restore the items from columns."""

    @classmethod
    def _check(cls, columns: Columns) -> None:
        """Raise TreeError if `_columns_of` could not have built these columns."""

    @abstractmethod
    def stats(self) -> Stats:
        """Count the items and their parts."""

    # --- construction -------------------------------------------------------------------------------------------

    def __init__(self, items: Iterable[object] = ()) -> None:
        if isinstance(items, type(self)):
            self._set(items._columns, items._items, items._weights)
            self._places = items._places
        else:
            self._set(*self._taken_in(items))

    def _set(self, columns: Columns | None, items: list[Item] | None, weights: _core.NodeWeights | None = None) -> None:
        self._columns, self._items, self._weights, self._known = columns, items, weights, {}
        self._indexes = self._places = None

    @classmethod
    def _of(
        cls, columns: Columns | None, items: list[Item] | None, weights: Any = None, places: Places | None = None
    ) -> Self:
        bank = cls.__new__(cls)
        bank._set(columns, items, weights)
        bank._places = places
        return bank

    @classmethod
    def of(cls, items: object) -> Self:
        """Return a bank of the items. A bank of this kind is returned unchanged."""
        return items if isinstance(items, cls) else cls(cast("Iterable[object]", items))

    @classmethod
    def from_columns(cls, columns: Columns, places: Places | None = None) -> Self:
        """Return a bank over columns that are already in a store of the right kind."""
        roots = np.ascontiguousarray(columns.roots, dtype=np.int32)
        roots.setflags(write=False)
        return cls._of(Columns(columns.store, roots), None, places=places)

    @classmethod
    def from_caches(
        cls,
        columns: Columns,
        weights: _core.NodeWeights,
        values: Mapping[Hashable, NDArray[np.float64]],
        indexes: Mapping[Hashable, Any],
    ) -> Self:
        """Return a bank over columns whose weights, values and indexes are already known; see `treelet.kernels.prepared`."""
        bank = cls._of(columns, None, weights)
        bank._known, bank._indexes = dict(values), _Kept(indexes)
        return bank

    # --- the collection -----------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._columns.roots if self._columns is not None else cast("list[Any]", self._items))

    @property
    def shape(self) -> tuple[int]:
        """``(len(bank),)``, for scikit-learn."""
        return (len(self),)

    @property
    def places(self) -> Places | Any:
        """File, lines and name of each item, for source code and markup that was read from files. None otherwise.

        ``print(bank.places[0])`` prints ``file:line name``, and ``bank.places.node_lines(0)`` is the line of each node
        of item 0, parents before children. Slices, sums and pickles of banks keep the places.
        """
        return self._places

    def with_places(self, places: Places) -> Self:
        """Return the same items with these places."""
        located = self._of(self._columns, self._items, self._weights, places)
        located._known, located._indexes = self._known, self._indexes
        return located

    def _all(self) -> list[Item]:
        if self._items is None:
            self._items = self._items_of(self.compact().columns)
        return self._items

    def __iter__(self) -> Iterator[Item]:
        return iter(self._all())

    @overload
    def __getitem__(self, index: int | np.integer[Any]) -> Item: ...
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
        selection = self._of(columns, items, weights, None if self._places is None else self._places[order])
        selection._known = {what: values[order] for what, values in list(self._known.items())}
        return selection

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
        """Concatenate several banks, or collections of items, into one bank."""
        parts = [cls.of(bank) for bank in banks]
        items = None
        if parts and all(part._items is not None for part in parts):
            items = [item for part in parts for item in part._all()]
        if not parts or (items is not None and all(part._columns is None for part in parts)):
            return cls._of(None, items or [], places=Places.concat(part._places for part in parts))
        stores = [part.columns.store for part in parts]
        if all(store is stores[0] for store in stores):
            columns = Columns(stores[0], np.concatenate([part.columns.roots for part in parts]))
        else:
            columns = Columns(*cls._store.joined(stores, [part.columns.roots for part in parts]))
        places = Places.concat(part._places for part in parts)
        bank = cls._of(columns, None if cls._columns_are_all else items, places=places)
        for what in set.intersection(*(set(part._known) for part in parts)):
            bank._known[what] = np.concatenate([part._known[what] for part in parts])
            bank._known[what].setflags(write=False)
        return bank

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

    # --- files --------------------------------------------------------------------------------------------------

    def packed(self) -> Arrays:
        """Return the bank as arrays of small integers, in which each distinct part occurs once. Used by pickle and save."""
        return _packed(self.compact().columns)

    @classmethod
    def unpacked(cls, arrays: Arrays, places: Places | None = None) -> Self:
        """Restore a bank from the arrays of `_packed`. The arrays are checked; TreeError is raised if they are invalid."""
        columns = _unpacked(arrays)
        if not isinstance(columns.store, cls._store):
            raise TreeError(f"The stored columns do not belong to {article(cls.__name__)}.")
        cls._check(columns)
        return cls.from_columns(columns, places)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).unpacked, (self.packed(), self._places) if self._places is not None else (self.packed(),)

    # --- for the kernels ----------------------------------------------------------------------------------------

    @property
    def columns(self) -> Columns:
        """The native store and the roots of the items in it; -1 stands for a missing item."""
        if self._columns is None:
            with _making:
                if self._columns is None:
                    self._columns = self._columns_of(cast("list[Item]", self._items))
        return self._columns

    def weights(self) -> _core.NodeWeights:
        """Return the sparse matrix that counts how often each item contains each distinct part."""
        if self._weights is None:
            self._weights = _core.NodeWeights.count(*self.columns)
        return self._weights

    def values(self, what: Hashable, compute: Callable[[], NDArray[np.float64]]) -> NDArray[np.float64]:
        """Return one number per item, computed once and cached. Slices take the numbers from this cache."""
        values = self._known.get(what)
        if values is None:
            values = compute()
            values.setflags(write=False)
            for oldest in list(self._known)[: max(0, len(self._known) - MOST_KNOWN + 1)]:
                self._known.pop(oldest, None)
            self._known[what] = values
        return values

    def with_cached_index(self) -> Self:
        """Return the same items in a bank that caches the indexes which kernels build over its columns, for repeated use."""
        if self._indexes is not None:
            return self
        kept = self._of(self.columns, self._items, self._weights, self._places)
        kept._known, kept._indexes = dict(self._known), _Kept()
        return kept

    def indexed(self, what: Hashable | None, make: Callable[[], Any]) -> Any:
        """Return the index that `make` builds; a bank made by `with_cached_index` builds it once per key."""
        return make() if self._indexes is None or what is None else self._indexes.get(what, make)

    def joined(self, other: Self) -> tuple[Self, Self]:
        """Return this bank, and the other bank over a store in which the parts of this bank keep their numbers.

        The new store extends the store of this bank. The cost depends on the size of the other bank only.
        """
        if self.columns.store is other.columns.store:
            return self, other
        columns = Columns(*self.columns.store.grown(*other.columns))
        theirs = self._of(columns, None if self._columns_are_all else other._items, places=other._places)
        theirs._known = dict(other._known)
        return self, theirs

    def ordered(self) -> Self:
        """Return the same items with their parts numbered in the order of their first occurrence.

        Sums over parts are then equal to the last bit for equal banks, however they were built. In a
        forest, the edges of a node keep their order.
        """
        columns = self.columns.store.ordered(self.columns.roots)
        return self if columns is None else self._renumbered(Columns(*columns))

    def _renumbered(self, columns: Columns) -> Self:
        """Return the same items over other columns. Values of single items do not depend on the numbers of parts."""
        bank = self._of(columns, None if self._columns_are_all else self._items, places=self._places)
        bank._known = dict(self._known)
        return bank

    def compact(self) -> Self:
        """Return the same items over a store that contains nothing else. Compacting twice has no further effect."""
        return self._renumbered(Columns(*self._store().grown(*self.columns)))


class PostOrder:
    """A builder of columns that receives trees in post-order: children before their parents, one tree after the other."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._label: list[int] = []
        self._arity: list[int] = []
        self._ends: list[int] = []
        self._present: list[int] = []
        self._count = 0

    def leaves(self, texts: Iterable[str]) -> None:
        """Add nodes without children."""
        before = len(self._label)
        self._label += [self._numbers.setdefault(text, len(self._numbers)) for text in texts]
        self._arity += [0] * (len(self._label) - before)

    def node(self, text: str, children: int) -> None:
        """Add a node whose children are the last `children` nodes that have no parent yet."""
        self._label.append(self._numbers.setdefault(text, len(self._numbers)))
        self._arity.append(children)

    def end(self, missing: bool = False) -> None:
        """Finish a tree, or add a missing one."""
        if not missing:
            self._ends.append(len(self._label))
            self._present.append(self._count)
        self._count += 1

    def columns(self) -> Columns:
        """Return a store that contains all trees."""
        label, arity = np.array(self._label, np.int32), np.array(self._arity, np.int32)
        store, present_roots = _core.build(list(self._numbers), label, arity, np.array(self._ends, np.int64))
        roots = np.full(self._count, -1, np.int32)
        roots[self._present] = present_roots
        return Columns(store, roots)
