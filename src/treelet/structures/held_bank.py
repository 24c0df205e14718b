"""Collections of what is no tree but is held as trees in a native store."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, Generic, Self, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from treelet import _core
from treelet.errors import InputTypeError
from treelet.formats.base import Columns
from treelet.structures.treebank import Treebank

Item = TypeVar("Item")


class HeldBank(Sequence[Item | None], Generic[Item]):
    """A collection like `Treebank`, whose items are trees only within: so they have what trees have.

    Equal parts are stored once, slicing costs next to nothing, and kernels, models and files are those of trees.
    """

    __slots__ = ("_cached", "_held")

    _held: Treebank
    _cached: list[Item | None] | None
    _item_name: ClassVar[str]

    def __init__(self, items: Iterable[object] = ()) -> None:
        if isinstance(items, type(self)):
            self._held, self._cached = items._held, items._cached
        else:
            made = self._items(items)
            self._held, self._cached = Treebank.from_columns(self._columns_of(made)), made

    @classmethod
    @abstractmethod
    def _items(cls, items: Iterable[object]) -> list[Item | None]:
        """What the collection was given, checked."""

    @staticmethod
    @abstractmethod
    def _columns_of(items: list[Item | None]) -> Columns:
        """The items as trees."""

    @staticmethod
    @abstractmethod
    def _check_held(held: Treebank) -> None:
        """TreeError unless the trees are of the form that `_columns_of` gives them."""

    @abstractmethod
    def _read(self) -> list[Item | None]:
        """The items of the trees."""

    @classmethod
    def from_columns(cls, columns: Columns) -> Self:
        """A bank over items that are in a store already."""
        return cls._of(Treebank.from_columns(columns))

    @classmethod
    def from_held(cls, held: Treebank) -> Self:
        """A bank of trees in the form that `held` gives them; TreeError if they are not."""
        cls._check_held(held)
        return cls._of(held)

    @classmethod
    def _of(cls, held: Treebank, cached: list[Item | None] | None = None) -> Self:
        bank = cls.__new__(cls)
        bank._held, bank._cached = held, cached
        return bank

    @classmethod
    def of(cls, items: object) -> Self:
        """A bank of whatever holds such items; a bank is returned as it is."""
        return items if isinstance(items, cls) else cls(items)  # type: ignore[arg-type]

    # --- the collection -----------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._held)

    @property
    def shape(self) -> tuple[int]:
        """``(len(bank),)``, as scikit-learn likes to know it."""
        return (len(self),)

    def __iter__(self) -> Iterator[Item | None]:
        return iter(self._all())

    @overload
    def __getitem__(self, index: int) -> Item | None: ...
    @overload
    def __getitem__(self, index: slice | Sequence[int] | NDArray[Any] | tuple[Any, ...]) -> Self: ...
    def __getitem__(self, index: Any) -> Item | Self | None:
        name = type(self).__name__
        if isinstance(index, tuple):
            if len(index) != 2 or index[1] is not Ellipsis:
                raise IndexError(f"a {name} has one dimension")
            index = index[0]
        if isinstance(index, (int, np.integer)) and not isinstance(index, bool):
            if not -len(self) <= index < len(self):
                raise IndexError(f"{self._item_name} {index} of a bank of {len(self)}")
            return self._all()[int(index)]
        if not isinstance(index, slice):
            index = np.asarray(index)
            if index.size == 0:
                index = index.astype(np.int64)
            if index.ndim != 1 or index.dtype.kind not in "iub":
                raise InputTypeError(f"a {name} is indexed by an integer, a slice, integers or a mask of booleans")
        order = np.arange(len(self))[index]
        return self._of(self._held[index], self._cached and [self._cached[number] for number in order])

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
        """One bank of all the items of several, in order."""
        return cls._of(Treebank.concat([cls.of(bank)._held for bank in banks]))

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._held == other._held

    __hash__ = None  # type: ignore[assignment]  # a collection is compared by content, like a list

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_held, (self._held,)

    def _all(self) -> list[Item | None]:
        if self._cached is None:
            self._cached = self._read()
        return self._cached

    # --- for the kernels ----------------------------------------------------------------------------------------

    @property
    def held(self) -> Treebank:
        """The items as trees."""
        return self._held

    @property
    def columns(self) -> Columns:
        """The native store and this bank's trees in it."""
        return self._held.columns

    def weights(self) -> _core.NodeWeights:
        """The sparse matrix of item x distinct part counts."""
        return self._held.weights()

    def joined(self, other: Self) -> tuple[Self, Self]:
        """Both banks over one store, in which this bank's parts keep their numbers."""
        mine, others = self._held.joined(other._held)
        return self._of(mine, self._cached), self._of(others, other._cached)
