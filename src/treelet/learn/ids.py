"""Ids of examples: integers or strings that stay the same while other examples are added and removed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treelet.checks import plural
from treelet.errors import InputTypeError, ParameterError
from treelet.structures.bank import one_column

Numbers = NDArray[np.int64]
ABSENT = -1
FIELDS = ("key", "row", "value", "end")


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
            found = cls._strings(values)
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
    def _strings(cls, values: Sequence[str]) -> Ids:
        texts = [_encoded(value) for value in values]
        end = np.cumsum([len(text) for text in texts], dtype=np.int64)
        return cls._sorted(_hashes(texts), np.frombuffer(b"".join(texts), np.uint8), end)

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
        found = np.full(len(ids), ABSENT, np.int64)
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
        return {name: getattr(self, name) for name in FIELDS}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Ids:
        """Restore ids from trusted arrays."""
        return cls(*(arrays[name] for name in FIELDS))

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
    values = column.tolist() if isinstance(column, np.ndarray) else [_plain(value) for value in column]
    wrong = next((value for value in values if type(value) not in (int, str)), None)
    mixed = {type(value) for value in values}
    if wrong is not None or None in values:
        raise InputTypeError(f"An id must be an integer or a string. Got {wrong!r:.60}.")
    if len(mixed) > 1:
        raise InputTypeError("All ids must be integers, or all must be strings. Got both.")
    if values and mixed == {int} and not -(2**63) <= min(values) <= max(values) < 2**63:
        raise ParameterError("An integer id must fit 64 bits. Use strings for longer numbers.")
    return values


def _plain(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    return str(value) if isinstance(value, str) else value


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _hashes(texts: Sequence[bytes]) -> NDArray[np.uint64]:
    digests = b"".join(blake2b(text, digest_size=8).digest() for text in texts)
    return np.frombuffer(digests, "<u8").astype(np.uint64)
