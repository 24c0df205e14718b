"""Parts that are made of whole documents, so that no document is both learned from and tested on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray


def drawn_documents(docs: Sequence[str], limit: int, seed: int) -> tuple[list[str], list[str]]:
    """Documents drawn at random that have at most so many items together, and the others.

    A document that would be too many is passed over.

    >>> drawn_documents(["a", "a", "b", "c", "c", "c"], 3, seed=0)
    (['c'], ['a', 'b'])
    """
    names, counts = np.unique(np.asarray(docs), return_counts=True)
    drawn: list[str] = []
    others: list[str] = []
    for k in np.random.default_rng(seed).permutation(len(names)).tolist():
        fits = counts[k] <= limit
        (drawn if fits else others).append(str(names[k]))
        limit -= int(counts[k]) if fits else 0
    return drawn, others


def rows_of(docs: Sequence[str], names: Iterable[str], wanted: int | None = None) -> NDArray[np.intp]:
    """The items of some documents, document by document; of `wanted` items, the last document may be cut.

    >>> rows_of(["a", "b", "a", "c"], ["c", "a"]).tolist(), rows_of(["a", "b", "a", "c"], ["a"], 1).tolist()
    ([3, 0, 2], [0])
    """
    places: dict[str, list[int]] = {}
    for row, name in enumerate(docs):
        places.setdefault(name, []).append(row)
    return np.array([row for name in names for row in places[name]][:wanted], np.intp)


def balanced_folds(docs: Sequence[str], names: Iterable[str], folds: int) -> dict[str, int]:
    """A fold for each of some documents, such that folds have about as many items: the largest first, to the emptiest fold.

    >>> balanced_folds(["a", "b", "b", "c", "d"], ["a", "b", "c", "d"], 2)
    {'b': 0, 'a': 1, 'c': 1, 'd': 0}
    """
    counts = Counter(docs)
    sizes = [0] * folds
    fold = {}
    for name in sorted(names, key=lambda name: -counts[name]):
        fold[name] = sizes.index(min(sizes))
        sizes[fold[name]] += counts[name]
    return fold
