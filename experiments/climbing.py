"""Choosing settings step by step: from the middle of each scale as far as it gets better."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Setting = tuple[Any, ...]


def climbed(score: Callable[[Setting], float], start: Setting, scales: Sequence[Sequence[Any]]) -> Setting:
    """From a setting, step by step on one scale after the other to neighbours that are better, until there is none.

    The scores are asked for more than once: keep them. The same scales for two systems give both the same chances; a top that is
    not the only one may be missed.

    >>> climbed(lambda at: -abs(at[0] - 3) - abs(at[1] - 1), (1, 1), [(1, 2, 3, 4), (0, 1, 2)])
    (3, 1)
    """
    best, before = start, None
    while best != before:
        before = best
        for number, scale in enumerate(scales):
            for direction in (1, -1):
                while True:
                    place = scale.index(best[number]) + direction
                    if not 0 <= place < len(scale):
                        break
                    step = (*best[:number], scale[place], *best[number + 1 :])
                    if score(step) <= score(best):
                        break
                    best = step
    return best
