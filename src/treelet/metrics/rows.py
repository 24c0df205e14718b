"""Scores of one pair, or of the pairs of two lists row by row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treelet.checks import article
from treelet.errors import InputTypeError, ParameterError
from treelet.resources import Resources
from treelet.work import progress_bar, run


def scores_of(
    score: Callable[[Any, Any, str], float],
    pair: dict[str, Any],
    is_item: Callable[[Any], bool],
    kind: str,
    title: str,
    resources: Resources,
) -> float | NDArray[np.float64]:
    """Return the score of a pair of items, or an array with one score per row of two lists.

    `pair` has the names of two parameters and their values. `score` gets two items and how an error message calls their row.
    `is_item` tells an item from a list. `kind` is the plural noun for items in messages, and `title` names the score.
    """
    first, second = pair.values()
    if is_item(first) and is_item(second):
        return score(first, second, "")
    lists = []
    for name, values in pair.items():
        if is_item(values) or not hasattr(values, "__iter__"):
            both = " and ".join(map(repr, pair))
            raise InputTypeError(
                f"{both} must both be {kind} or both be lists of {kind}, but {name!r} is {article(type(values).__name__)}."
            )
        lists.append(list(values))
    if len(lists[0]) != len(lists[1]):
        both = " and ".join(map(repr, pair))
        raise ParameterError(f"{both} must have the same length. Got {len(lists[0]):,} and {len(lists[1]):,}.")
    scores = np.empty(len(lists[0]))

    def work(index: int) -> int:
        scores[index] = score(lists[0][index], lists[1][index], f"item {index} of ")
        return 1

    with progress_bar(resources.progress, title, len(scores)) as advance:
        run(work, range(len(scores)), resources.threads, advance)
    return scores
