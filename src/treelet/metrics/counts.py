"""Counts of constituents per parse, and the measures computed from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treelet.checks import in_words, wrong
from treelet.errors import InputTypeError, ParameterError

Totals = NDArray[np.float64]


def _fraction(part: Totals, whole: Totals, otherwise: Totals) -> Totals:
    return np.divide(part, whole, out=otherwise.astype(np.float64), where=whole > 0)


def _nothing(totals: Totals) -> Totals:
    return np.asarray(totals[..., 1] + totals[..., 2] == 0, dtype=np.float64)


# Functions of sums over sentences of BracketCounts.columns(). Without gold and proposed constituents, a score is perfect.
MEASURES: dict[str, Callable[[Totals], Totals]] = {
    "precision": lambda t: 100 * _fraction(t[..., 0], t[..., 2], _nothing(t)),
    "recall": lambda t: 100 * _fraction(t[..., 0], t[..., 1], _nothing(t)),
    "f1": lambda t: 100 * _fraction(2 * t[..., 0], t[..., 1] + t[..., 2], _nothing(t)),
    "parse_score": lambda t: 100 * _fraction(t[..., 3], t[..., 1], _nothing(t)),
    "exact_match": lambda t: 100 * t[..., 4] / t[..., 5],
}


@dataclass(frozen=True, eq=False)
class BracketCounts:
    """Numbers of matched, gold and proposed constituents for each of many parses.

    ``counts[index]`` selects parses by a slice, integers or a mask. Measures over all parses are in percent:
    `precision`, `recall`, `f1`, `parse_score`, `exact_match`. Measures of single parses are between 0 and 1.

    Parameters
    ----------
    matched : ndarray of int
        Number of constituents of each parse that are in the gold tree.
    gold : ndarray of int
        Number of constituents of each gold tree.
    proposed : ndarray of int
        Number of constituents of each parse.

    Examples
    --------
    >>> from treelet.metrics import BracketCounts
    >>> counts = BracketCounts([2, 3], [4, 3], [2, 3])
    >>> counts.goodness
    array([0.75, 1.  ])
    >>> round(counts.f1, 2), round(counts.parse_score, 2)
    (83.33, 85.71)
    """

    matched: NDArray[np.int64]
    gold: NDArray[np.int64]
    proposed: NDArray[np.int64]

    def __post_init__(self) -> None:
        arrays = [np.asarray(value) for value in (self.matched, self.gold, self.proposed)]
        if any(array.ndim != 1 or len(array) != len(arrays[0]) for array in arrays):
            shapes = ", ".join(str(array.shape) for array in arrays)
            raise ParameterError(
                f"matched, gold and proposed must be one-dimensional arrays of the same length. Got the shapes {shapes}."
            )
        if any(array.dtype.kind not in "iu" and array.size for array in arrays):
            raise InputTypeError("matched, gold and proposed must be arrays of integers, because they are counts.")
        matched, gold, proposed = (array.astype(np.int64) for array in arrays)
        if ((matched < 0) | (matched > np.minimum(gold, proposed))).any():
            raise ParameterError(
                "The number of matched constituents must be at least 0, and not more than gold or proposed. Check the order "
                "of the arguments: matched, gold, proposed."
            )
        for name, array in (("matched", matched), ("gold", gold), ("proposed", proposed)):
            object.__setattr__(self, name, array)

    def __len__(self) -> int:
        return len(self.matched)

    def __getitem__(self, index: slice | NDArray[Any]) -> BracketCounts:
        return BracketCounts(self.matched[index], self.gold[index], self.proposed[index])

    def __iter__(self) -> Iterator[NDArray[np.int64]]:
        return iter((self.matched, self.gold, self.proposed))

    @property
    def goodness(self) -> NDArray[np.float64]:
        """½(c/p + c/g) of each parse. It is 1 if neither tree has constituents, and 0 if only one of them has."""
        c, g, p = (array.astype(np.float64) for array in self)
        none = (g + p == 0).astype(np.float64)
        return np.asarray((_fraction(c, p, none) + _fraction(c, g, none)) / 2)

    @property
    def sentence_f1(self) -> NDArray[np.float64]:
        """2c/(g + p) of each parse. It is 1 if neither tree has constituents."""
        return MEASURES["f1"](self.columns()) / 100

    @property
    def exact(self) -> NDArray[np.bool_]:
        """Whether each parse has exactly the constituents of the gold tree."""
        return np.asarray((self.matched == self.gold) & (self.matched == self.proposed))

    def columns(self) -> NDArray[np.float64]:
        """Return the terms of the measures, one row per parse: c, g, p, g·½(c/p + c/g), exact, 1."""
        return np.column_stack([*self, self.gold * self.goodness, self.exact, np.ones(len(self))]).astype(np.float64)

    def measure(self, name: str) -> float:
        """Return a measure over all parses, by its name."""
        if name not in MEASURES:
            raise wrong("name", in_words(map(repr, MEASURES)), name)
        if not len(self):
            raise ParameterError("There are no sentences: a score needs at least one.")
        return float(MEASURES[name](self.columns().sum(axis=0)))

    @property
    def precision(self) -> float:
        """Precision over all parses in percent: 100·Σc/Σp."""
        return self.measure("precision")

    @property
    def recall(self) -> float:
        """Recall over all parses in percent: 100·Σc/Σg."""
        return self.measure("recall")

    @property
    def f1(self) -> float:
        """F1 over all parses in percent: 100·2Σc/(Σg + Σp)."""
        return self.measure("f1")

    @property
    def parse_score(self) -> float:
        """Parse score in percent: 100·Σ g·½(c/p + c/g) / Σg."""
        return self.measure("parse_score")

    @property
    def exact_match(self) -> float:
        """Percentage of parses that are exact."""
        return self.measure("exact_match")
