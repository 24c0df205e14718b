"""The locality-convolution kernel; see ``cuda/locality.cu``.

Parts are distinct windows, and windows with the same middle are of one kind.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treelet.device.counts import CountProduct, Counts, RowCounts
from treelet.device.launching import Array, Device
from treelet.device.numbering import Numbers, pairs
from treelet.device.strips import (
    COLUMNS_PER_THREAD,
    THREADS,
    ColumnParts,
    DeviceColumns,
    Entries,
    Postings,
    RowParts,
    owners,
    starts,
)
from treelet.errors import NotEnoughMemoryError

POSITION, EXACT, COUNT = range(3)
# --- the locality-convolution kernel; see ``cuda/locality.cu`` --------------------------------------------------------

_CHEAPER = 256  # multiplications of a dense product that take as long as one addition to scattered memory
FREQUENT, FREQUENT_BYTES = 1 << 12, 1 << 31
"""Maximum number of windows in a dense product, and maximum number of bytes of the matrix."""
Types = list[tuple[int, int, float]]
"""Per type: label, reach to each side of the middle, factor."""


def _is_sequence(device: Device, start: Array, child: Array) -> Array:
    """Return whether each node of a store is a sequence, that is, directly above leaves.

    The first child decides, so stores of other trees do not cause an error.
    """
    arity = start[1:] - start[:-1]
    first = device.xp.concatenate([child, device.xp.zeros(1, np.int32)])[start[:-1]]
    return (arity > 0) & (arity[first] == 0)


@dataclass(frozen=True)
class _SequencePositions:
    """All positions in the sequences of a store, one sequence after the other. A position is a child of any node."""

    feature: Array
    node: Array
    type: Array  # -1 if the node is not a sequence, or its type has the factor 0
    left: Array  # number of features in the window to the left of this middle
    right: Array  # the same to the right
    reach: Array
    entries: tuple[Array, Array, Array]  # example, position, weight

    @staticmethod
    def of(device: Device, store: Any, weights: Any, types: Types) -> _SequencePositions:
        xp = device.xp
        label, start, child = device.array(store.label), device.array(store.child_start), device.array(store.child)
        number = np.full(
            max([int(label.max()) if len(label) else -1, *(own for own, _, _ in types)], default=-1) + 1, -1, np.int32
        )
        for i, (own, _, factor) in enumerate(types):
            number[own] = i if factor else -1
        type_of = xp.where(_is_sequence(device, start, child), device.array(number)[label], -1)
        node = owners(device, start)
        position = xp.arange(len(child), dtype=np.int64)
        own = type_of[node]
        reach = device.array([reach for _, reach, _ in types] + [0], np.int64)[own]
        left = xp.minimum(position - start[node], reach).astype(np.int32)
        right = xp.minimum(start[node + 1] - 1 - position, reach).astype(np.int32)
        entries = Entries.of(device, weights)
        entries = entries.where(device, (type_of[entries.part] >= 0) & (entries.weight != 0))
        return _SequencePositions(label[child], node, own, left, right, reach, entries.spread(device, start))

    def used(self, device: Device) -> Array:
        out = device.xp.zeros(len(self.feature), bool)
        out[self.entries[1]] = True
        return out


@dataclass(frozen=True)
class _Windows:
    """The distinct windows at some positions, each represented by the first position where it occurs."""

    position: Array
    at: Array
    """Per position: the window there, -1 for none."""

    @staticmethod
    def of(device: Device, places: _SequencePositions, kind: Array, chosen: Array) -> _Windows:
        """Return the windows at the chosen positions, ordered by kind and position."""
        xp = device.xp
        at = xp.flatnonzero(chosen)
        number = _numbered(device, places, kind, at)
        order = xp.argsort(pairs(device, number, at))
        count = int(number.max()) + 1 if len(at) else 0
        first = at[order[starts(device, number, count)[:-1]]]
        rank = xp.argsort(pairs(device, kind[first], first))
        of_number = xp.zeros(count, np.int32)
        of_number[rank] = xp.arange(count, dtype=np.int32)
        which = xp.full(len(places.feature), -1, np.int32)
        which[at] = of_number[number]
        return _Windows(first[rank], which)

    def held(self, device: Device, places: _SequencePositions, factor: Array | None, examples: int) -> Counts:
        """Count the windows in each example, times the factors of their types."""
        example, position, weight = places.entries
        has_window = self.at[position] >= 0
        example, position, weight = example[has_window], position[has_window], weight[has_window]
        if factor is not None:
            weight = weight * factor[places.type[position]]
        return Counts.of(device, example, self.at[position], weight, examples)

    def arrays(self, places: _SequencePositions) -> tuple[Array, Array, Array, Array]:
        return places.feature, self.position, places.left[self.position], places.right[self.position]

    def longest(self, places: _SequencePositions) -> int:
        return int((places.left[self.position] + places.right[self.position]).max()) + 1 if len(self.position) else 1


def _distinct(device: Device, keys: Array) -> Array:
    """Return the index of each key among the distinct keys, as int32."""
    if not len(keys):
        return keys.astype(np.int32)
    return device.xp.unique(keys, return_inverse=True)[1].ravel().astype(np.int32)


def _numbered(device: Device, places: _SequencePositions, kind: Array, at: Array) -> Array:
    """Return numbers for the windows at some positions. Equal windows have equal numbers.

    Runs of 1, 2, 4, ... features are numbered in turn. A window is covered by two runs, which may overlap.
    """
    xp = device.xp
    left, right = places.left[at], places.right[at]
    begin, size = at - left, left + right + 1
    number = _distinct(device, pairs(device, kind[at], _distinct(device, pairs(device, left, right))))
    head, tail = xp.zeros(len(at), np.int32), xp.zeros(len(at), np.int32)
    run, length, most = places.feature, 1, int(size.max()) if len(at) else 0
    while length <= most:
        here = (size >= length) & (size < 2 * length)
        head[here], tail[here] = run[begin[here]], run[begin[here] + size[here] - length]
        after = xp.minimum(xp.arange(len(run), dtype=np.int64) + length, len(run) - 1)
        length *= 2
        if length <= most:
            run = _distinct(device, pairs(device, run, run[after]))
    return _distinct(device, pairs(device, number, _distinct(device, pairs(device, head, tail))))


@dataclass(frozen=True)
class _Group:
    """Some of the windows of the columns, ordered by kind."""

    windows: tuple[Array, Array, Array, Array]
    parts: ColumnParts
    post: Postings
    held: Counts
    matrix: Array | None = None
    """Optional matrix of columns by windows. Values are then collected per window and multiplied by this matrix."""
    each: Postings | None = None
    """Maps each window to itself, to collect values per window."""

    @staticmethod
    def of(
        device: Device,
        places: _SequencePositions,
        windows: _Windows,
        kind: Array,
        held: Counts,
        chosen: Array,
        kinds: int,
        columns: int,
    ) -> _Group:
        """Build a group from the chosen windows. `held` contains the windows of all columns."""
        xp = device.xp
        position = windows.position[chosen]
        number = xp.full(len(chosen), -1, np.int32)
        number[chosen] = xp.arange(len(position), dtype=np.int32)
        own = chosen[held.key]
        held = held._replace(example=held.example[own], key=number[held.key[own]], weight=held.weight[own])
        return _Group(
            _Windows(position, windows.at).arrays(places),
            ColumnParts.of(device, places.node[position], kind[position], kinds),
            Postings.of(device, held.example, held.key, held.weight, len(position), columns),
            held,
        )

    def gathered(self, device: Device) -> _Group:
        """Return the group with a matrix, for windows that occur in many columns."""
        xp, count = device.xp, len(self.parts.node)
        matrix = xp.zeros((len(self.held.start) - 1, count))
        matrix[self.held.example, self.held.key] = self.held.weight
        each = Postings(xp.arange(count + 1, dtype=np.int64), xp.arange(count, dtype=np.int32), xp.ones(count))
        return replace(self, matrix=matrix, each=each)


@dataclass(frozen=True)
class _LocalityRows:
    """The rows of the matrix, prepared once for all strips."""

    windows: tuple[Array, Array, Array, Array]
    parts: list[RowParts]  # for each group of columns
    middles: RowCounts
    near: Array


class LocalityColumns(DeviceColumns):
    """The locality-convolution kernel.

    `types` are tuples (label, reach, factor). `match` is 0 for "position", 1 for "exact" and 2 for "count".
    """

    def __init__(self, device: Device, store: Any, weights: Any, types: Types, match: int, theta: float) -> None:
        super().__init__(device, store, weights)
        self.types, self.match, self.theta = types, match, theta
        self.alone = 2.0 if match == POSITION else 1.0
        places = _SequencePositions.of(device, store, weights, types)
        used = places.used(device)
        keys = pairs(device, places.type, places.feature)
        self.known = Numbers.of(device, keys[used])
        kind = self.known.find(keys)
        factor = device.array([factor for _, _, factor in types] + [0], np.float64)
        example, position, weight = places.entries
        counts = Counts.of(device, example, kind[position], weight * factor[places.type[position]], self.n_columns)
        self.middles = CountProduct(device, counts, len(self.known))
        windows = _Windows.of(device, places, kind, used & (places.reach > 0))
        self.longest = windows.longest(places)
        held = windows.held(device, places, factor, self.n_columns)
        frequent = self._frequent(held, kind[windows.position])
        self.groups = [
            _Group.of(device, places, windows, kind, held, ~frequent, len(self.known), self.n_columns),
            _Group.of(device, places, windows, kind, held, frequent, len(self.known), self.n_columns).gathered(device),
        ]

    def _frequent(self, held: Counts, kind: Array) -> Array:
        """Return the windows for which a dense product is cheaper than one addition per column that contains them."""
        device, xp = self.device, self.xp
        often = xp.diff(starts(device, held.key, len(kind)))
        adds = often * xp.diff(starts(device, kind[held.key], len(self.known)))[kind]
        frequent = adds > self.n_columns**2 // _CHEAPER
        most = min(FREQUENT, FREQUENT_BYTES // (8 * max(1, self.n_columns)))
        if int(frequent.sum()) > most:
            frequent[xp.argsort(-adds)[most:]] = False
        return frequent

    def _near(self, longest: int) -> NDArray[np.float64]:
        """Return the contribution of a pair of equal features by the distance of their positions in the windows.

        Pairs at larger distances contribute nothing.
        """
        if self.match == EXACT:
            return np.ones(1)
        apart = np.arange(self.longest + longest - 1)
        if self.match == COUNT:
            return np.ones(len(apart))
        with np.errstate(over="ignore"):
            near = np.exp(-((apart[1:] / self.theta) ** 2)) if self.theta else np.zeros(len(apart) - 1)
        rounding = 2.0**-54 / (self.longest * longest)  # all pairs below this bound together vanish in rounding
        return np.concatenate([[1.0], near[near > rounding]])

    def bind(self, store: Any, weights: Any) -> _LocalityRows:
        xp, device = self.xp, self.device
        places = _SequencePositions.of(device, store, weights, self.types)
        kind = self.known.find(pairs(device, places.type, places.feature))
        windows = _Windows.of(device, places, kind, places.used(device) & (kind >= 0) & (places.reach > 0))
        example, position, weight = places.entries
        has_kind = kind[position] >= 0
        middles = Counts.of(device, example[has_kind], kind[position[has_kind]], weight[has_kind], len(weights))
        held = windows.held(device, places, None, len(weights))
        entries = Entries(held.example, held.key, held.weight, held.start)
        kind = kind[windows.position]
        return _LocalityRows(
            windows.arrays(places),
            [RowParts.of(device, entries, kind, xp.zeros_like(kind), group.parts.size) for group in self.groups],
            self.middles.of_rows(middles),
            device.array(self._near(windows.longest(places))),
        )

    def fill(self, rows: _LocalityRows, begin: int, end: int, out: Array, limit: int | None) -> None:
        self.middles.add(rows.middles, begin, end, out, begin, self.alone, limit is not None)
        for group, parts in zip(self.groups, rows.parts, strict=True):
            if not len(group.parts.node):
                continue
            if group.matrix is not None and group.each is not None:
                values = self.xp.zeros((end - begin, group.matrix.shape[1]))
                self._compare(rows, group, parts, begin, end, values, group.each, None)
                if bool(self.xp.isfinite(values).all()):  # otherwise a product would spoil other columns
                    with np.errstate(over="ignore"):  # the caller checks for values that do not fit
                        out += values @ group.matrix[: out.shape[1]].T
                    continue
            self._compare(rows, group, parts, begin, end, out, group.post, limit)

    def _compare(
        self,
        rows: _LocalityRows,
        group: _Group,
        parts: RowParts,
        begin: int,
        end: int,
        out: Array,
        post: Postings,
        limit: int | None,
    ) -> None:
        """Compare the rows with the windows of a group, and add the values to the columns in `post`."""
        sizes, columns = group.parts.sizes(self.device, limit), None if limit is None else self.n_columns
        where = out, out.strides[0] // out.itemsize, begin, limit is not None
        for work in parts.strips(self.device, begin, end, sizes, columns, COLUMNS_PER_THREAD):
            self.device.launch(
                *("windows_beside", int(work.chunk_of_level[-1]), THREADS, work.chunk, len(work.part), work.part),
                *(work.kind, *rows.windows, group.parts.first, work.limit, *group.windows, rows.near, len(rows.near)),
                *(self.match == POSITION, self.alone, *work.held.arrays, *post.arrays, *where),
            )


BLOCKS, WORKING = 1 << 13, 1 << 30
"""Maximum number of thread blocks per launch, and bytes of their working memory, which later launches reuse.

A single block may need more.
"""


# --- the gap-weighted subsequence kernel; see ``cuda/subsequence.cu`` -------------------------------------------------


Sequences = tuple[Array, Array]
"""The features of all nodes of a store that are sequences, and where those of each node start."""


def _sequences(device: Device, store: Any, length: int) -> tuple[Sequences, Array]:
    """Return the sequences of a store, and the type of each node; -1 if it is not a sequence of at least this length."""
    label, start, child = device.array(store.label), device.array(store.child_start), device.array(store.child)
    is_long = _is_sequence(device, start, child) & (start[1:] - start[:-1] >= length)
    return (label[child], start), device.xp.where(is_long, label, -1)


class SubsequenceColumns(DeviceColumns):
    """The gap-weighted subsequence kernel."""

    def __init__(self, device: Device, store: Any, weights: Any, lam: float, length: int) -> None:
        super().__init__(device, store, weights)
        xp = self.xp
        self.lam, self.length = lam, length
        self.sequences, types = _sequences(device, store, length)
        entries = Entries.of(device, weights)
        entries = entries.where(device, (types[entries.part] >= 0) & (entries.weight != 0))
        node = xp.unique(entries.part) if len(entries.part) else entries.part
        self.known = Numbers.of(device, types[node])
        kind = self.known.find(types)
        node = node[xp.argsort(pairs(device, kind[node], node))]
        self.parts = ColumnParts.of(device, node, kind[node], len(self.known))
        column_of = xp.zeros(len(kind), np.int32)
        column_of[node] = xp.arange(len(node), dtype=np.int32)
        self.post = Postings.of(
            device, entries.example, column_of[entries.part], entries.weight, len(node), self.n_columns
        )
        start = self.sequences[1]
        self.longest = int((start[node + 1] - start[node]).max()) if len(node) else 0
        self.working = THREADS * (length - 1) * self.longest  # numbers per block
        room, least = device.free_bytes() // 2, 8 * self.working
        if room < least:
            raise NotEnoughMemoryError(
                f"Subsequences of {self.length:,} features in sequences of up to {self.longest:,} features take "
                f"{least / 2**30:.3g} GiB of working memory, but device={self.device.name!r} has only "
                f"{room / 2**30:.3g} GiB for them. Use device='cpu'."
            )
        self.blocks = min(BLOCKS, max(1, WORKING // (8 * max(1, self.working))))

    def bind(self, store: Any, weights: Any) -> tuple[Sequences, RowParts]:
        device = self.device
        (sequences, types), entries = _sequences(device, store, self.length), Entries.of(device, weights)
        kind = self.known.find(types)
        entries = entries.where(device, kind[entries.part] >= 0)
        return sequences, RowParts.of(device, entries, kind, device.xp.zeros_like(kind), self.parts.size)

    def fill(self, rows: tuple[Sequences, RowParts], begin: int, end: int, out: Array, limit: int | None) -> None:
        (own, parts), halves = rows, limit is not None
        sizes, columns = self.parts.sizes(self.device, limit), self.n_columns if halves else None
        for work in parts.strips(self.device, begin, end, sizes, columns):
            total = int(work.chunk_of_level[-1])
            blocks = min(total, self.blocks)
            scratch = self.xp.empty(blocks * self.working + 1)
            start = self.device.series(
                *("subsequences", THREADS, work.chunk, len(work.part), work.part, work.kind, *own, self.parts.first),
                *(work.limit, *self.sequences, self.parts.node, scratch, self.longest, self.length, self.lam),
                *(*work.held.arrays, *self.post.arrays, out, out.strides[0] // out.itemsize, begin, halves),
            )
            for first in range(0, total, max(1, blocks)):
                start(min(blocks, total - first), first)
