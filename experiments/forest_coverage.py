"""The share of arguments that are candidates: constituents of the best tree, or nodes of the forest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t

from experiments.differences import over_items, value_over_items
from experiments.forest_parsers import Key, Parser, key_of
from treelet.cuts import ForestIndex, TreeIndex, all_candidates, candidates, forest_candidates
from treelet.cuts.tree_index import PUNCTUATION
from treelet.structures.instances import RoleInstance
from treelet.structures.spans import Span

MISSED, ARGUMENTS, CANDIDATES = range(3)
"""Columns of `coverage`."""
TREE, FOREST, PRUNED = "best tree, every constituent", "forest, every node", "best tree, pruned"


def coverage(arguments: Iterable[Iterable[Span]], spans: Iterable[Iterable[Span]]) -> NDArray[np.int64]:
    """Count the arguments that are not candidates, all arguments, and the candidates of each predicate.

    Examples
    --------
    >>> from experiments.forest_coverage import coverage
    >>> coverage([[(0, 1), (2, 4)], [(0, 2)]], [[(0, 1), (2, 3), (2, 5)], [(0, 2)]]).tolist()
    [[1, 2, 3], [0, 1, 1]]
    """
    rows = []
    for wanted, found in zip(arguments, spans, strict=True):
        listed, known = list(wanted), set(found)
        rows.append((sum(span not in known for span in listed), len(listed), len(known)))
    return np.array(rows, np.int64).reshape(-1, 3)


def forest_spans(index: ForestIndex, predicate: int) -> list[Span]:
    """Every span that a node of a forest has, without those that hold the predicate, and without punctuation."""
    found = {
        index.spans[node]: None
        for node in np.flatnonzero(index.inner).tolist()
        if index.labels[node] not in PUNCTUATION
    }
    return [span for span in found if not span[0] <= predicate < span[1]]


def coverages(
    part: Sequence[RoleInstance], parser: Parser, thresholds: Sequence[float]
) -> dict[str, NDArray[np.int64]]:
    """Return the `coverage` of the best trees and of the forests, by way of choosing candidates."""
    ways: dict[str, list[list[Span]]] = {}
    last: tuple[Key, TreeIndex, ForestIndex] | None = None
    for one in part:
        key = key_of(one)
        if last is None or last[0] != key:
            last = key, TreeIndex(parser.best(key)), ForestIndex(parser.forest(key, 1.0))
        _, tree, forest = last
        found = {
            TREE: [node.span for node in all_candidates(tree, one.predicate)],
            FOREST: forest_spans(forest, one.predicate),
            PRUNED: [node.span for node in candidates(tree, one.predicate)],
        }
        offered = forest_candidates(forest, one.predicate, by="span")
        for threshold in thresholds:
            name = "forest, pruned" + (f", probability at least {threshold:g}" if threshold else "")
            found[name] = [each.span for each in offered if each.probability >= threshold]
        for name, spans in found.items():
            ways.setdefault(name, []).append(spans)
    wanted = [[argument.span for argument in one.arguments] for one in part]
    return {name: coverage(wanted, spans) for name, spans in ways.items()}


def covered(
    folds: Sequence[Sequence[RoleInstance]], parser: Parser, thresholds: Sequence[float]
) -> list[dict[str, Any]]:
    """Return the share of unmatched arguments in percent, and the ratio of candidates to those of the best tree.

    Both have intervals over folds, and over predicates with sentences drawn. ``fewer`` tests over predicates how much
    smaller the share is in forests than in best trees.
    """
    by_fold = [coverages(fold, parser, thresholds) for fold in folds]
    ids = [[key_of(one) for one in fold] for fold in folds]

    def share(way: str) -> list[NDArray[np.float64]]:
        return [found[way][:, [MISSED, ARGUMENTS]].astype(float) for found in by_fold]

    def ratio(way: str) -> list[NDArray[np.float64]]:
        base = TREE if "every" in way else PRUNED
        return [
            np.column_stack([found[each][:, CANDIDATES] for each in (way, base)]).astype(float) for found in by_fold
        ]

    return [
        {
            "what": way,
            "candidates": float(np.mean([found[way][:, CANDIDATES].mean() for found in by_fold])),
            "unmatched": _level(ids, share(way), 100.0),
            "ratio": _level(ids, ratio(way), 1.0),
        }
        | ({"fewer": over_items(ids, [share(TREE), share(way)], lambda sums: _quotient(sums, 100.0))} if way == FOREST else {})
        for way in by_fold[0]
    ]  # fmt: skip


def _level(ids: Sequence[Sequence[Key]], tables: Sequence[NDArray[np.float64]], scale: float) -> dict[str, Any]:
    """Return the quotient of two columns, with intervals over folds and over items."""
    folds = [float(_quotient(table.sum(axis=0), scale)) for table in tables]
    return interval(folds) | {"items": value_over_items(ids, tables, lambda sums: _quotient(sums, scale))}


def _quotient(sums: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    return np.asarray(scale * sums[..., 0] / np.maximum(1, sums[..., 1]))


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
