"""The share of arguments that are candidates: constituents of the best tree, or nodes of the forest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t

from experiments.forest_parsers import Key, Parser, key_of
from treelet.cuts import ForestIndex, TreeIndex, all_candidates, candidates, forest_candidates
from treelet.cuts.heads import PUNCTUATION
from treelet.structures.instances import RoleInstance
from treelet.structures.spans import Span


@dataclass(frozen=True)
class Coverage:
    """Arguments that are no candidate, of how many, and how many candidates there are."""

    missed: int
    arguments: int
    candidates: int

    @property
    def unmatched(self) -> float:
        """In per cent."""
        return 100 * self.missed / max(1, self.arguments)


def coverage(arguments: Iterable[Iterable[Span]], spans: Iterable[Iterable[Span]]) -> Coverage:
    """Count the arguments that are among the candidates, per predicate.

    Examples
    --------
    >>> from experiments.forest_coverage import coverage
    >>> coverage([[(0, 1), (2, 4)], [(0, 2)]], [[(0, 1), (2, 3), (2, 5)], [(0, 2)]])
    Coverage(missed=1, arguments=3, candidates=4)
    """
    missed = total = offered = 0
    for wanted, found in zip(arguments, spans, strict=True):
        listed, known = list(wanted), set(found)
        missed += sum(span not in known for span in listed)
        total += len(listed)
        offered += len(known)
    return Coverage(missed, total, offered)


def forest_spans(index: ForestIndex, predicate: int) -> list[Span]:
    """Every span that a node of a forest has, without those that hold the predicate, and without punctuation."""
    found = {
        index.spans[node]: None
        for node in np.flatnonzero(index.inner).tolist()
        if index.labels[node] not in PUNCTUATION
    }
    return [span for span in found if not span[0] <= predicate < span[1]]


def coverages(part: Sequence[RoleInstance], parser: Parser, thresholds: Sequence[float]) -> list[dict[str, Any]]:
    """Unmatched arguments and numbers of candidates, for the best trees and for the forests."""
    ways: dict[str, list[list[Span]]] = {}
    last: tuple[Key, TreeIndex, ForestIndex] | None = None
    for one in part:
        key = key_of(one)
        if last is None or last[0] != key:
            last = key, TreeIndex(parser.best(key)), ForestIndex(parser.forest(key, 1.0))
        _, tree, forest = last
        found = {
            "best tree, every constituent": [node.span for node in all_candidates(tree, one.predicate)],
            "forest, every node": forest_spans(forest, one.predicate),
            "best tree, pruned": [node.span for node in candidates(tree, one.predicate)],
        }
        offered = forest_candidates(forest, one.predicate, by="span")
        for threshold in thresholds:
            name = "forest, pruned" + (f", probability at least {threshold:g}" if threshold else "")
            found[name] = [each.span for each in offered if each.probability >= threshold]
        for name, spans in found.items():
            ways.setdefault(name, []).append(spans)
    wanted = [[argument.span for argument in one.arguments] for one in part]
    counted = {name: coverage(wanted, spans) for name, spans in ways.items()}
    base = {"every": counted["best tree, every constituent"], "pruned": counted["best tree, pruned"]}
    return [
        {
            "what": name,
            "unmatched": each.unmatched,
            "candidates": each.candidates / len(part),
            "ratio": each.candidates / max(1, base["every" if "every" in name else "pruned"].candidates),
        }
        for name, each in counted.items()
    ]


def covered(
    folds: Sequence[Sequence[RoleInstance]], parser: Parser, thresholds: Sequence[float]
) -> list[dict[str, Any]]:
    """`coverages` of each fold: the means, the values by fold, and 95 % intervals of the means."""
    by_fold = [coverages(fold, parser, thresholds) for fold in folds]
    return [
        {"what": rows[0]["what"], "candidates": float(np.mean([row["candidates"] for row in rows]))}
        | {key: interval([row[key] for row in rows]) for key in ("unmatched", "ratio")}
        for rows in zip(*by_fold, strict=True)
    ]


def interval(values: Sequence[float]) -> dict[str, Any]:
    """The mean of some values, and a 95 % interval of it by Student's t.

    >>> found = interval([1.0, 2.0, 3.0])
    >>> found["value"], [round(end, 2) for end in found["interval"]]
    (2.0, [-0.48, 4.48])
    """
    array = np.asarray(values, float)
    mean, std = float(array.mean()), float(array.std(ddof=1))
    half = float(t.ppf(0.975, len(array) - 1)) * std / len(array) ** 0.5
    return {"value": mean, "std": std, "interval": [mean - half, mean + half], "folds": array.tolist()}
