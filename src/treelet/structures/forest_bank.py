"""Collections of packed forests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, cast, overload

import numpy as np
from numpy.typing import NDArray

from treelet import _core
from treelet.errors import FormatError, InputTypeError, TreeError
from treelet.formats.base import COMPRESSED, PathLike, open_source, open_whole
from treelet.structures.forest import Forest
from treelet.structures.table import row_index
from treelet.structures.tree import Tree
from treelet.structures.treebank import Stats, Treebank, as_treebank


class ForestBank(Sequence[Forest]):
    """Forests, for kernels: a collection like `Treebank`, in which equal sub-forests are one.

    Parameters
    ----------
    forests : iterable
        `Forest`, or trees in any form that `Treebank` takes: a tree is a forest of one. None is a missing one.

    Examples
    --------
    >>> from treelet import Forest, ForestBank
    >>> bank = ForestBank([Forest.from_trees([(1, "(S (A x))"), (1, "(S (B x))")]), "(S (A x))"])
    >>> len(bank), bank.shape
    (2, (2,))
    >>> bank[1].count_trees()
    1
    """

    __slots__ = ("_forests", "_joint")

    def __init__(self, forests: Iterable[object] = ()) -> None:
        if isinstance(forests, ForestBank):
            self._set(forests._forests, forests._joint)
            return
        if isinstance(forests, (str, bytes, Forest, Tree)):
            raise InputTypeError(
                f"a collection of forests is needed, got one {type(forests).__name__}: put it in a list"
            )
        items = list(forests) if not isinstance(forests, Treebank) else cast("list[object]", list(forests))
        made: list[Forest] = []
        others = [number for number, item in enumerate(items) if not isinstance(item, Forest) and item is not None]
        trees = iter(as_treebank([items[number] for number in others])) if others else iter(())
        empty = Forest([], [])
        for item in items:
            if isinstance(item, Forest):
                made.append(item)
            elif item is None:
                made.append(empty)
            else:
                tree = next(trees)
                made.append(empty if tree is None else Forest.from_tree(tree))
        self._set(made, None)

    def _set(self, forests: list[Forest], joint: tuple[_core.ForestStore, _core.NodeWeights] | None) -> None:
        self._forests = forests
        self._joint = joint

    def __len__(self) -> int:
        return len(self._forests)

    @property
    def shape(self) -> tuple[int]:
        """``(len(bank),)``, as scikit-learn likes to know it."""
        return (len(self._forests),)

    def __iter__(self) -> Iterator[Forest]:
        return iter(self._forests)

    @overload
    def __getitem__(self, index: int) -> Forest: ...
    @overload
    def __getitem__(self, index: slice | Sequence[int] | NDArray[Any]) -> ForestBank: ...
    def __getitem__(self, index: Any) -> Forest | ForestBank:
        rows = row_index(index, len(self), "ForestBank")
        if isinstance(rows, int):
            return self._forests[rows]
        order = np.ascontiguousarray(np.arange(len(self), dtype=np.int64)[rows])
        bank = ForestBank.__new__(ForestBank)
        joint = None if self._joint is None else (self._joint[0], self._joint[1].take(order))
        bank._set([self._forests[number] for number in order], joint)
        return bank

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[np.object_]:
        out = np.empty(len(self), dtype=object)
        out[:] = self._forests
        return out

    def __add__(self, other: object) -> ForestBank:
        return ForestBank([*self, *as_forestbank(other)])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ForestBank):
            return NotImplemented
        return self._forests == other._forests

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<ForestBank: {self.stats()}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _bank_from_json, ([forest.to_json() for forest in self._forests],)

    def _to_state(self) -> dict[str, Any]:
        return {"forests": [forest.to_json() for forest in self._forests]}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> ForestBank:
        lines = state["forests"]
        if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
            raise TreeError("forests are kept as lines of JSON")
        return _bank_from_json(lines)

    def stats(self) -> Stats:
        """How many forests, nodes and edges, and distinct sub-forests."""
        store, _ = self.columns()
        return Stats(
            forests=len(self),
            nodes=sum(len(forest._native.label) for forest in self._forests),
            edges=sum(len(forest._native.logp) for forest in self._forests),
            distinct_subforests=len(store),
        )

    def best(self) -> Treebank:
        """The best tree of each forest; an empty forest's is missing."""
        return Treebank([forest.best()[0] if forest else None for forest in self._forests])

    def prune(self, threshold: float = 8.0) -> ForestBank:
        """Each forest pruned: see `Forest.prune`."""
        return ForestBank([forest.prune(threshold) for forest in self._forests])

    def temperature(self, temperature: float) -> ForestBank:
        """Each forest sharpened or flattened: see `Forest.temperature`."""
        return ForestBank([forest.temperature(temperature) for forest in self._forests])

    def write(self, file: PathLike) -> None:
        """Write one forest a line, as JSON (packed, if the name says so); the file appears whole or not at all."""
        pack = COMPRESSED.get(Path(file).suffix.lower())
        with open_whole(file) as stream, pack(stream, "wb") if pack else nullcontext(stream) as lines:
            for forest in self._forests:
                lines.write(forest.to_json().encode() + b"\n")

    def columns(self) -> tuple[_core.ForestStore, _core.NodeWeights]:
        """The native store of distinct sub-forests, and the probability of each in each forest."""
        if self._joint is None:
            self._joint = _core.ForestStore.of_forests([forest._native for forest in self._forests])
        return self._joint

    def joined(self, other: ForestBank) -> tuple[_core.ForestStore, _core.NodeWeights, _core.NodeWeights]:
        """Both banks over one store, in which this bank's sub-forests keep their numbers."""
        store, rows = self.columns()
        others, other_rows = other.columns()
        if store is others:
            return store, rows, other_rows
        store, moved = store.grown(others, other_rows)
        return store, rows, moved


def _bank_from_json(lines: list[str]) -> ForestBank:
    return ForestBank([Forest.from_json(line) for line in lines])


def as_forestbank(forests: object) -> ForestBank:
    """A ForestBank of whatever holds forests or trees; a ForestBank is returned as it is."""
    if isinstance(forests, ForestBank):
        return forests
    if isinstance(forests, Iterable) and not isinstance(forests, Mapping):
        return ForestBank(forests)
    raise InputTypeError(f"a collection of forests or trees is needed, got {type(forests).__name__}")


def read_forests(file: PathLike) -> ForestBank:
    """Read forests that `ForestBank.write` wrote: one a line, as JSON."""
    forests = []
    with open_source(file) as source:
        for number, line in source.text_lines():
            if line.strip():
                try:
                    forests.append(Forest.from_json(line))
                except FormatError as error:
                    raise source.error(error.message, number) from None
                except TreeError as error:
                    raise source.error(str(error), number) from None
    return ForestBank(forests)
