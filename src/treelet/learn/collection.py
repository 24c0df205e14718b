"""A collection of examples that grows and shrinks, in parts that are never changed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from hashlib import blake2b
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treelet.checks import plural
from treelet.errors import InputTypeError, ParameterError
from treelet.kernels.pairwise import Pairwise
from treelet.kernels.prepared import can_be_prepared
from treelet.learn.model import compact_examples
from treelet.matrices.nearest import Part
from treelet.structures.bank import one_column
from treelet.structures.table import stacked

_ABSENT = -1
_FIELDS = ("key", "row", "value", "end")


@dataclass(frozen=True)
class Ids:
    """Different integers or strings, which can be found quickly. The arrays may be mapped from a file."""

    key: NDArray[np.uint64]
    """The integers, or hashes of the strings, in ascending order."""
    row: Numbers
    """The row of each key."""
    value: NDArray[Any]
    """The integers by row, or the UTF-8 text of all strings."""
    end: Numbers
    """The end of each string in the text; empty for integers."""

    @classmethod
    def of(cls, ids: object, count: int | None, owner: str) -> Ids:
        """Return the ids that a user passed, for a number of examples if it is known."""
        values = _listed(ids, owner)
        if count is not None and len(values) != count:
            raise ParameterError(
                f"The 'ids' parameter of {owner} must have one id per example. "
                f"Got {plural(len(values), 'id')} for {plural(count, 'example')}."
            )
        if len(values) and isinstance(values[0], str):
            texts = [value.encode("utf-8", "surrogatepass") for value in values]
            end = np.cumsum([len(text) for text in texts], dtype=np.int64)
            found = cls._sorted(_hashes(texts), np.frombuffer(b"".join(texts), np.uint8), end)
        else:
            found = cls.numbers(np.asarray(values, np.int64))
        twice = found._twice()
        if twice is not None:
            raise ParameterError(f"The id {twice!r} occurs twice in 'ids'. Pass each id once.")
        return found

    @classmethod
    def numbers(cls, values: Numbers) -> Ids:
        """Return integers as ids."""
        return cls._sorted(values.view(np.uint64), values, np.zeros(0, np.int64))

    @classmethod
    def _sorted(cls, key: NDArray[np.uint64], value: NDArray[Any], end: Numbers) -> Ids:
        row = np.argsort(key, kind="stable").astype(np.int64)
        return cls(key[row], row, value, end)

    def __len__(self) -> int:
        return len(self.row)

    @property
    def are_strings(self) -> bool:
        return self.value.dtype == np.uint8

    def take(self, rows: Numbers) -> NDArray[Any]:
        """Return the ids of some rows: an array of integers, or of strings."""
        if not self.are_strings:
            return np.array(self.value[rows])
        out = np.empty(len(rows), object)
        out[:] = [self._text(row).decode("utf-8", "surrogatepass") for row in rows.tolist()]
        return out

    def select(self, rows: Numbers) -> Ids:
        """Return the ids of some rows, numbered in this order."""
        if not self.are_strings:
            return self.numbers(np.ascontiguousarray(self.value[rows]))
        begin = np.concatenate([[0], self.end[:-1]])[rows]
        size = self.end[rows] - begin
        end = np.cumsum(size, dtype=np.int64)
        text = self.value[np.repeat(begin - (end - size), size) + np.arange(size.sum())]
        return self._sorted(self._by_row()[rows], text, end)

    def _by_row(self) -> NDArray[np.uint64]:
        key = np.empty(len(self), np.uint64)
        key[self.row] = self.key
        return key

    def find(self, ids: Ids) -> Numbers:
        """Return the row of each id of another collection, in the order of its rows, or -1."""
        found = np.full(len(ids), _ABSENT, np.int64)
        if self.are_strings != ids.are_strings or not len(self):
            return found
        first = np.searchsorted(self.key, ids.key)
        last = np.searchsorted(self.key, ids.key, side="right")
        if not self.are_strings:
            there = first < last
            found[ids.row[there]] = self.row[first[there]]
            return found
        for place in np.flatnonzero(first < last).tolist():
            text = ids._text(int(ids.row[place]))
            for at in range(int(first[place]), int(last[place])):
                if self._text(int(self.row[at])) == text:
                    found[ids.row[place]] = self.row[at]
        return found

    @staticmethod
    def joined(parts: Sequence[Ids]) -> Ids:
        """Return the ids of several collections, one after the other."""
        if not any(part.are_strings for part in parts):
            return Ids.numbers(np.concatenate([np.zeros(0, np.int64), *(part.value for part in parts)]))
        value = np.concatenate([part.value for part in parts])
        sizes = np.concatenate([np.diff(part.end, prepend=0) for part in parts])
        keys = [part._by_row() for part in parts]
        return Ids._sorted(np.concatenate(keys), value, np.cumsum(sizes, dtype=np.int64))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the ids as arrays, for a file."""
        return {name: getattr(self, name) for name in _FIELDS}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Ids:
        """Restore ids from trusted arrays."""
        return cls(*(arrays[name] for name in _FIELDS))

    @classmethod
    def checked(cls, value: Any, end: Any) -> Ids:
        """Restore ids from the arrays `value` and `end` of a file. Invalid arrays raise ValueError."""
        if value.ndim != 1 or end.ndim != 1 or end.dtype != np.int64 or value.dtype not in (np.int64, np.uint8):
            raise ValueError("the ids have the wrong type")
        if value.dtype == np.int64:
            found = cls.numbers(np.ascontiguousarray(value))
        else:
            if (np.diff(end, prepend=0) < 0).any() or (end[-1] if len(end) else 0) != len(value):
                raise ValueError("the ids do not match their text")
            content, places = value.tobytes(), np.concatenate([[0], end]).tolist()
            texts = [content[begin:finish] for begin, finish in pairwise(places)]
            b"".join(texts).decode("utf-8", "surrogatepass")
            found = cls._sorted(_hashes(texts), value, end)
        if found._twice() is not None:
            raise ValueError("an id occurs twice")
        return found

    def _text(self, row: int) -> bytes:
        return self.value[self.end[row - 1] if row else 0 : self.end[row]].tobytes()

    def _twice(self) -> Any:
        """Return an id that occurs twice, or None."""
        same = np.flatnonzero(self.key[1:] == self.key[:-1])
        for place in same.tolist():
            first, second = self.row[place : place + 2].tolist()
            if not self.are_strings or self._text(first) == self._text(second):
                return self.take(np.array([first])).tolist()[0]
        return None


def _listed(ids: object, owner: str) -> list[Any]:
    """Return ids as a list of Python integers or strings."""
    if isinstance(ids, str | bytes | Mapping | set | frozenset) or not isinstance(one_column(ids, "ids"), Iterable):
        raise InputTypeError(f"The 'ids' parameter of {owner} must be a list of integers or strings. Got {ids!r:.60}.")
    column = one_column(ids, "ids")
    values: list[Any]
    if isinstance(column, np.ndarray):
        values = column.tolist()
    else:  # NumPy's scalars and strings become those of Python.
        values = [value.item() if isinstance(value, np.generic) else value for value in column]
        values = [str(value) if isinstance(value, str) else value for value in values]
    wrong = next((value for value in values if type(value) not in (int, str)), None)
    mixed = {type(value) for value in values}
    if wrong is not None or None in values:
        raise InputTypeError(f"An id must be an integer or a string. Got {wrong!r:.60}.")
    if len(mixed) > 1:
        raise InputTypeError("All ids must be integers, or all must be strings. Got both.")
    if values and mixed == {int} and not -(2**63) <= min(values) <= max(values) < 2**63:
        raise ParameterError("An integer id must fit 64 bits. Use strings for longer numbers.")
    return values


def _hashes(texts: Sequence[bytes]) -> NDArray[np.uint64]:
    digests = b"".join(blake2b(text, digest_size=8).digest() for text in texts)
    return np.frombuffer(digests, "<u8").astype(np.uint64)


# --- the collection ---------------------------------------------------------------------------------------------------

Numbers = NDArray[np.int64]
_TIER = 4
"""This many parts of similar size become one part."""
_SMALL = 256
"""Two parts with fewer examples become one part."""
_MOST_REMOVED = 0.2
"""A part is rebuilt if a larger share of its examples was removed."""


@dataclass(frozen=True)
class StoredPart:
    """A part of a collection: its examples, and their ids."""

    part: Part
    ids: Ids
    name: str | None = None
    """Name of the files of this part, if it is on disk."""
    files: Mapping[str, Any] | None = None
    """Size and checksum of each file."""

    def __len__(self) -> int:
        return len(self.part)

    @property
    def data(self) -> Any:
        return self.part.data

    def needs_rebuilding(self, kernel: Pairwise) -> bool:
        """Return whether examples were removed, or the mapped file cannot be used, for example after an upgrade."""
        outdated = self.files is not None and "map" not in self.files and can_be_prepared(kernel, self.data)
        return bool(len(self.part.removed)) or outdated

    def without(self, rows: Numbers) -> StoredPart:
        """Return the same part after the removal of more rows."""
        if not len(rows):
            return self
        return replace(self, part=Part(self.data, np.union1d(self.part.removed, rows)))


class Collection(NamedTuple):
    """The examples of an index. Every change makes a new collection, which shares the unchanged parts."""

    parts: tuple[StoredPart, ...] = ()
    next_id: int = 0
    """The next id, if examples are numbered by the index itself; -1 if the ids are the user's."""

    @property
    def size(self) -> int:
        """The number of examples."""
        return sum(map(len, self.parts))

    @property
    def has_own_ids(self) -> bool:
        """Whether the index numbers the examples itself."""
        return self.next_id >= 0

    def ids(self) -> NDArray[Any]:
        """Return the ids of all examples."""
        found = [stored.ids.take(stored.part.rows) for stored in self.parts]
        return np.concatenate(found) if found else np.zeros(0, np.int64)

    def examples(self) -> Any:
        """Return all examples."""
        some = [stored.data[stored.part.rows] if len(stored.part.removed) else stored.data for stored in self.parts]
        return reduce(stacked, some)

    def ids_at(self, numbers: Numbers) -> NDArray[Any]:
        """Return the ids of examples by number. The number -1 stays -1, or becomes None among strings."""
        strings = any(stored.ids.are_strings for stored in self.parts)
        out = np.full(numbers.shape, None if strings else _ABSENT, object if strings else np.int64)
        ends = np.cumsum([len(stored) for stored in self.parts])
        part = np.searchsorted(ends, numbers, side="right")
        for which in np.unique(part[numbers != _ABSENT]).tolist():
            stored, here = self.parts[which], (part == which) & (numbers != _ABSENT)
            out[here] = stored.ids.take(stored.part.rows_of(numbers[here] - (ends[which] - len(stored))))
        return out

    # --- changes ------------------------------------------------------------------------------------------------

    def new_ids(self, ids: object, count: int, owner: str) -> tuple[Ids, int]:
        """Return the ids of examples to add, and the next id. Ids that exist raise ParameterError."""
        if ids is None:
            if not self.has_own_ids:
                raise ParameterError(f"The examples of this index have ids, so {owner} needs 'ids' for the new ones.")
            return Ids.numbers(np.arange(self.next_id, self.next_id + count)), self.next_id + count
        if self.has_own_ids and self.next_id > 0:
            raise ParameterError(
                f"The index numbers its examples itself, so {owner} does not accept 'ids'. Pass ids from the first fit on."
            )
        new = Ids.of(ids, count, owner)
        if len(new) and self.size and new.are_strings != self.parts[0].ids.are_strings:
            kinds = ("strings", "integers") if new.are_strings else ("integers", "strings")
            raise ParameterError(f"The new ids are {kinds[0]}, but the ids of the index are {kinds[1]}.")
        for stored in self.parts:
            rows = stored.ids.find(new)
            known = np.flatnonzero((rows != _ABSENT) & ~np.isin(rows, stored.part.removed))
            if len(known):
                raise ParameterError(
                    f"The id {new.take(known[:1]).tolist()[0]!r} is already in the index. Remove it first, or choose another id."
                )
        return new, -1

    def added(self, stored: StoredPart, next_id: int) -> Collection:
        """Return the collection with one more part."""
        parts = tuple(known for known in self.parts if len(known))
        return Collection((*parts, stored) if len(stored) or not parts else parts, next_id)

    def removed(self, ids: object, owner: str) -> Collection:
        """Return the collection without some examples. Unknown ids raise ParameterError."""
        wanted = Ids.of(ids, None, owner)
        found, parts = np.zeros(len(wanted), bool), []
        for stored in self.parts:
            rows = stored.ids.find(wanted)
            here = (rows != _ABSENT) & ~np.isin(rows, stored.part.removed)
            found |= here
            parts.append(stored.without(rows[here]))
        if not found.all():
            missing = np.flatnonzero(~found)
            more = f", and {plural(len(missing) - 1, 'other')}" if len(missing) > 1 else ""
            raise ParameterError(
                f"The index does not contain the id {wanted.take(missing[:1]).tolist()[0]!r:.200}{more}. "
                "Nothing was removed. The attribute ids_ has all ids."
            )
        left = tuple(stored for stored in parts if len(stored))
        return self._replace(parts=left or tuple(parts[:1]))

    def crowded(self) -> slice | None:
        """Return the parts that should become one, or None. There are then few parts and few removed examples.

        Sizes are divided into levels. A level has at most three parts at the end of the collection, and the lowest
        level has one. So above the lowest level, an example is merged about log(n) times.
        """
        for number, stored in enumerate(self.parts):
            if len(stored.part.removed) > _MOST_REMOVED * len(stored.data) and len(stored):
                return slice(number, number + 1)
        sizes = [len(stored) for stored in self.parts]
        levels = [0 if size < _SMALL else 1 + int(math.log(size / _SMALL, _TIER)) for size in sizes]
        begin = len(levels)
        while begin > 0 and levels[begin - 1] <= levels[-1]:
            begin -= 1
        return slice(begin, len(levels)) if len(levels) - begin >= (_TIER if levels and levels[-1] else 2) else None

    def merged(self, kernel: Pairwise, parts: slice) -> Collection:
        """Return the collection with some neighboring parts as one part, without the examples that were removed."""
        some = self.parts[parts]
        data = reduce(stacked, [stored.data[stored.part.rows] for stored in some])
        ids = Ids.joined([stored.ids.select(stored.part.rows) for stored in some])
        one = StoredPart(Part(compact_examples(kernel, data)), ids)
        return self._replace(parts=self.parts[: parts.start] + ((one,) if len(one) else ()) + self.parts[parts.stop :])
