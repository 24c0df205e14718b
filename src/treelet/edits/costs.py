"""Costs of edit operations: checks of the parameters, and their conversion for the native core."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from treelet import _core
from treelet.checks import MOST, is_number, wrong
from treelet.errors import InputTypeError, ParameterError
from treelet.memory import check_memory
from treelet.structures.treebank import Treebank
from treelet.structures.word_vectors import WordVectors

Costs = float | Mapping[str, float]
Rename = float | Callable[[str, str], float] | Any
OTHER = 1.0
"""Cost of labels that a mapping does not contain, and of renaming words without vectors."""
INTERVAL = f"[0, {MOST:g}]"
"""Costs up to this limit cannot overflow when they are added."""
CALLS = 1 << 10  # number of calls between two checks for Ctrl-C
NO_COSTS, NO_LABELS, NO_TABLE = np.zeros(0), np.zeros(0, np.int32), np.zeros((0, 0))


def is_cost(value: Any) -> bool:
    """Return whether the value is a cost: a number from 0 to `MOST`."""
    return is_number(value, 0) and float(value) <= MOST  # a float32 cannot be compared with MOST


def check_costs(owner: Any, name: str) -> None:
    """Raise `ParameterError` if a parameter is neither a cost nor a mapping from labels to costs."""
    costs = getattr(owner, name)
    if isinstance(costs, Mapping):
        for label, cost in costs.items():
            if not isinstance(label, str) or not is_cost(cost):
                entry = f"{{{label!r}: {cost!r}}}"
                raise wrong(name, f"a mapping from labels to numbers in {INTERVAL}", costs, of=owner, got=entry)
    elif not is_cost(costs):
        raise wrong(name, f"a number in {INTERVAL}, or a mapping from labels to such numbers", costs, of=owner)


def check_rename(owner: Any) -> None:
    """Raise `ParameterError` if `rename` is neither a cost, nor a function, nor word vectors.

    A file of word vectors is read by the first computation.
    """
    if isinstance(owner.rename, (str, os.PathLike)):
        return
    try:
        owner._costs()
    except InputTypeError as error:
        expected = f"a number in {INTERVAL}, a function of two labels, or word vectors"
        raise wrong("rename", expected, owner.rename, of=owner) from error


class CostTable:
    """Converts the costs of an `EditDistance` for trees of one store.

    Costs by label are looked up once per label, and costs of renaming once per pair of labels of the rows and the
    columns.
    """

    def __init__(self, insert: Costs, delete: Costs, rename: Rename) -> None:
        self.insert, self.delete = insert, delete
        self.constant = float(cast("float", rename)) if is_cost(rename) else None
        self.rename: Any = rename

    @property
    def by_label(self) -> bool:
        """Whether a cost depends on labels."""
        return any(isinstance(cost, Mapping) for cost in (self.insert, self.delete)) or self.constant is None

    def single(self, source: str | None, target: str | None) -> float:
        """Return the cost of one operation; None stands for no node."""
        if source == target:
            return 0.0
        if source is None or target is None:
            cost, label = (self.insert, target) if source is None else (self.delete, source)
            return float(cost.get(str(label), OTHER) if isinstance(cost, Mapping) else cost)
        return float(self._renames([source], [target])[0, 0]) if self.constant is None else self.constant

    @property
    def cell(self) -> int:
        """Bytes per pair of nodes of two trees, in two tables. Integer costs that do not depend on labels need half."""
        return 8 if not self.by_label and self._constants().integral else 16

    def _constants(self) -> _core.EditCosts:
        insert, delete, rename = float(self.insert), float(self.delete), self.constant or 0.0  # type: ignore[arg-type]
        return _core.EditCosts.of(insert, delete, rename, NO_COSTS, NO_COSTS, NO_LABELS, NO_LABELS, NO_TABLE)

    def table_bytes(self, labels: int) -> int:
        """Return the size of a table of the costs of renaming between so many labels."""
        return 8 * labels**2 if self.constant is None else 0

    def native(self, rows: Treebank, columns: Treebank) -> _core.EditCosts:
        """Return the costs for two banks that share a store, or whose store of rows extends the store of columns."""
        store = rows.columns.store
        insert, inserts = _by_label(self.insert, store)
        delete, deletes = _by_label(self.delete, store)
        if self.constant is not None:
            return _core.EditCosts.of(insert, delete, self.constant, inserts, deletes, NO_LABELS, NO_LABELS, NO_TABLE)
        numbers, labels = [], []
        for bank in (rows, columns):
            used = _used_labels(bank)
            number = np.full(len(store.labels), -1, np.int32)
            number[used] = np.arange(len(used), dtype=np.int32)
            numbers.append(number)
            labels.append([store.labels[label] for label in used])
        return _core.EditCosts.of(
            insert, delete, OTHER, inserts, deletes, numbers[0], numbers[1], self._renames(*labels)
        )

    def table(self, rows: Treebank, columns: Treebank) -> tuple[list[str], list[str], NDArray[np.float64]]:
        """Return the labels of two banks in alphabetical order, and the costs of renaming between them."""
        first, second = (
            sorted(bank.columns.store.labels[label] for label in _used_labels(bank)) for bank in (rows, columns)
        )
        return first, second, self._renames(first, second)

    def _renames(self, rows: list[str], columns: list[str]) -> NDArray[np.float64]:
        """Return the costs of renaming each label of the rows to each label of the columns."""
        check_memory(
            8 * len(rows) * len(columns),
            f"the table of the costs of renaming {len(rows):,} labels to {len(columns):,} labels",
            "use fewer labels, or a constant cost",
        )
        if isinstance(self.rename, WordVectors):
            return _from_vectors(self.rename, rows, columns)
        costs = np.zeros((len(rows), len(columns)))
        calls = 0
        for number, row in enumerate(rows):
            for other, column in enumerate(columns):
                if row == column:
                    continue
                cost = self.rename(row, column)
                if not is_cost(cost):
                    raise ParameterError(
                        f"rename({row!r}, {column!r}) must return a number in {INTERVAL}. Got {cost!r:.60} instead."
                    )
                costs[number, other] = cost
                calls += 1
                if calls % CALLS == 0:
                    _core.check()
        return costs


def _used_labels(bank: Treebank) -> NDArray[np.int64]:
    """Return the numbers of the labels that occur in the trees of a bank."""
    return np.unique(bank.columns.store.label[bank.weights().node])


def _by_label(cost: Costs, store: Any) -> tuple[float, NDArray[np.float64]]:
    """Return the cost of labels without their own, and the costs of all labels if they differ."""
    if not isinstance(cost, Mapping):
        return float(cost), NO_COSTS
    return OTHER, np.array([float(cost.get(label, OTHER)) for label in store.labels])


def _from_vectors(vectors: WordVectors, rows: list[str], columns: list[str]) -> NDArray[np.float64]:
    """Return 1 minus the cosine, from 0 to 1; 1 if a label has no vector."""
    costs = np.full((len(rows), len(columns)), OTHER)
    known = [
        np.array([number for number, label in enumerate(labels) if label in vectors], np.int64)
        for labels in (rows, columns)
    ]
    units = [
        vectors.unit[[vectors.index[labels[number]] for number in numbers]]
        for labels, numbers in zip((rows, columns), known, strict=True)
    ]
    if all(len(numbers) for numbers in known):
        costs[np.ix_(*known)] = 1 - np.clip(units[0] @ units[1].T, 0, 1)
    return costs
