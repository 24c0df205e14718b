"""Choosing settings step by step: from a start, on one scale after the other to neighbors that are better."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

Setting = tuple[Any, ...]


def climbed(score: Callable[[Setting], float], start: Setting, scales: Sequence[Sequence[Any]]) -> Setting:
    """From a setting, step by step on one scale after the other to neighbors that are better, until there is none.

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


class Climb(NamedTuple):
    """The best trial, all trials in their order, and the settings of the best that end their scales."""

    best: dict[str, Any]
    trials: list[dict[str, Any]]
    edges: list[str]


def climb(
    start: Mapping[str, Any], scales: Mapping[str, Sequence[Any]], measure: Callable[[dict[str, Any]], dict[str, Any]]
) -> Climb:
    """Climb to the highest ``"f1"`` that `measure` gives; each setting is measured once.

    What is not on a scale stays as at the start. Scales of words, or of yes and no, have no edges.

    >>> found = climb({"C": 1, "way": "a"}, {"C": (1, 2, 3)}, lambda at: {"f1": float(at["C"])})
    >>> found.best, len(found.trials), found.edges
    ({'C': 3, 'way': 'a', 'f1': 3.0}, 3, ['C'])
    """
    trials: dict[Setting, dict[str, Any]] = {}

    def trial(at: Setting) -> dict[str, Any]:
        if at not in trials:
            setting = {**start, **dict(zip(scales, at, strict=True))}
            trials[at] = setting | measure(setting)
        return trials[at]

    first = tuple(start[name] for name in scales)
    trial(first)
    best = trial(climbed(lambda at: float(trial(at)["f1"]), first, list(scales.values())))
    ends = {name: (scale[0], scale[-1]) for name, scale in scales.items() if isinstance(scale[0], int | float)}
    edges = [name for name, both in ends.items() if best[name] in both and not isinstance(best[name], bool)]
    return Climb(best, list(trials.values()), edges)
