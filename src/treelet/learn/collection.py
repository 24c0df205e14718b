"""A collection of examples that grows and shrinks, in parts that are never changed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treelet.checks import plural
from treelet.errors import ParameterError
from treelet.gram.nearest import Part
from treelet.kernels.pairwise import Pairwise
from treelet.kernels.prepared import can_be_prepared
from treelet.learn.ids import ABSENT, Ids
from treelet.learn.terms import compact_examples
from treelet.structures.table import stacked

Numbers = NDArray[np.int64]
TIER = 4
"""This many parts of similar size become one part."""
SMALL = 256
"""Two parts with fewer examples become one part."""
MOST_REMOVED = 0.2
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
        out = np.full(numbers.shape, None if strings else ABSENT, object if strings else np.int64)
        ends = np.cumsum([len(stored) for stored in self.parts])
        part = np.searchsorted(ends, numbers, side="right")
        for which in np.unique(part[numbers != ABSENT]).tolist():
            stored, here = self.parts[which], (part == which) & (numbers != ABSENT)
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
            known = np.flatnonzero((rows != ABSENT) & ~np.isin(rows, stored.part.removed))
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
            here = (rows != ABSENT) & ~np.isin(rows, stored.part.removed)
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
            if len(stored.part.removed) > MOST_REMOVED * len(stored.data) and len(stored):
                return slice(number, number + 1)
        levels = [_level(len(stored)) for stored in self.parts]
        begin = len(levels)
        while begin > 0 and levels[begin - 1] <= levels[-1]:
            begin -= 1
        return slice(begin, len(levels)) if len(levels) - begin >= (TIER if levels and levels[-1] else 2) else None

    def merged(self, kernel: Pairwise, parts: slice) -> Collection:
        """Return the collection with some neighboring parts as one part, without the examples that were removed."""
        some = self.parts[parts]
        one = merge(kernel, some)
        return self._replace(parts=self.parts[: parts.start] + ((one,) if len(one) else ()) + self.parts[parts.stop :])


def _level(size: int) -> int:
    return 0 if size < SMALL else 1 + int(math.log(size / SMALL, TIER))


def merge(kernel: Pairwise, parts: Sequence[StoredPart]) -> StoredPart:
    """Return one part with the examples of several parts."""
    data = reduce(stacked, [stored.data[stored.part.rows] for stored in parts])
    ids = Ids.joined([stored.ids.select(stored.part.rows) for stored in parts])
    return StoredPart(Part(compact_examples(kernel, data)), ids)
