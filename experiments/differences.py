"""Comparisons of two systems on the same items, in one split or over several.

The file ``NAME.items.json.xz`` next to a page contains the result of each system on each item of each
split. Any two systems can thus be compared later: ``across(report.items("moschitti"), "SST", "PT")``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treelet.metrics import BracketCounts, mcnemar, paired_bootstrap, paired_t_test
from treelet.metrics.counts import MEASURES

Right = NDArray[np.bool_] | Sequence[bool]
Items = Sequence[Mapping[str, Any]]
"""A mapping a split: ``part``, its name; ``train``, how many items it was learned from; ``ids`` of its test items;
``systems``, for each by name what it did on each: a number, or right, wanted and found constituents."""


def mcnemar_row(a: str, right_a: Right, b: str, right_b: Right) -> dict[str, Any]:
    """Two systems by name, and whether each answer of theirs is right.

    >>> row = mcnemar_row("new", [True, True, False, True], "old", [True, False, False, False])
    >>> row["difference"], row["only_a"], row["only_b"], row["p_mcnemar"]
    (50.0, 2, 0, 0.5)
    """
    test = mcnemar(right_a, right_b)
    difference = 100 * float(np.mean(right_a) - np.mean(right_b))
    return {
        "a": a,
        "b": b,
        "difference": difference,
        "only_a": test.only_a,
        "only_b": test.only_b,
        "p_mcnemar": test.p_value,
    }


# --- over splits ----------------------------------------------------------------------------------------------------


def part(name: str, train: int, ids: Iterable[object], systems: Mapping[str, Iterable[Any]]) -> dict[str, Any]:
    """Return the results of the systems on each item of one split, ready for JSON, with six digits."""
    kept: dict[str, Any] = {
        "part": name,
        "train": int(train),
        "ids": [one if isinstance(one, int) else str(one) for one in ids],
        "systems": {system: [_plain(value) for value in values] for system, values in systems.items()},
    }
    for system, values in kept["systems"].items():
        if len(values) != len(kept["ids"]):
            raise ValueError(f"{name}: system {system} has {len(values)} values for {len(kept['ids'])} items.")
    return kept


def _plain(value: Any) -> Any:
    if np.ndim(value):
        return [int(count) for count in value]
    number = float(value)
    if np.isnan(number):
        return None
    return int(number) if number.is_integer() else round(number, 6)


def counted(counts: BracketCounts) -> list[list[int]]:
    """Right, wanted and found constituents of each sentence, for `part`."""
    return [[int(count) for count in row] for row in zip(*counts, strict=True)]


def figure(values: Sequence[Any], measure: str = "accuracy") -> float:
    """A measure over items; those without a value (None) are left out.

    >>> figure([1, 0, None, 0], "accuracy"), figure([[2, 4, 2], [3, 4, 3]], "recall")
    (33.333333333333336, 62.5)
    """
    table = _table(values, measure)
    return float(_measure(measure)(table.sum(axis=0)))


def spread(values: Iterable[float]) -> dict[str, float]:
    """Mean and standard deviation over splits; of one split no deviation is known."""
    array = np.array(list(values), dtype=float)
    return {"mean": float(array.mean()), "std": float(array.std(ddof=1)) if len(array) > 1 else 0.0}


def summary(items: Items, system: str, measure: str = "accuracy") -> dict[str, float]:
    """A system's figure, mean and standard deviation over splits."""
    return spread(figure(one["systems"][system], measure) for one in items)


def across(
    items: Items, a: str, b: str, measure: str = "accuracy", groups: Callable[[Any], Hashable] | None = None
) -> dict[str, Any]:
    """Test whether system a is better than system b: over splits, and over items.

    The test over splits is the corrected resampled t-test of Nadeau & Bengio (2003) on the figures of the splits. It needs several
    splits. The test over items is a paired bootstrap on the test items of all splits, with the models as trained.

    Parameters
    ----------
    items : sequence of mapping
        As `part` makes them.
    a, b : str
        Systems.
    measure : str
        "accuracy" (in percent) or "mean" of numbers; "f1", "precision", "recall" or "parse_score" of counts.
    groups : callable, optional
        From an item's id to what is drawn as one in a bootstrap: the sentence of a predicate, say. Default: the item.

    Returns
    -------
    dict
        ``a``, ``b``, ``difference``, ``interval``, ``p``, and ``over``: "splits" if there are several, otherwise "items";
        ``items``, the test over items if the first is over splits; ``std`` over splits; ``splits``, the difference in each;
        ``wins`` ``of`` how many splits.
    """
    both = [[figure(one["systems"][name], measure) for name in (a, b)] for one in items]
    differences = [first - second for first, second in both]
    found: dict[str, Any] = {"a": a, "b": b, "measure": measure, **spread(differences)}
    found["difference"] = found.pop("mean")
    found |= {"splits": differences, "wins": sum(d > 0 for d in differences), "of": len(items)}
    drawn = over_items([one["ids"] for one in items], [[_table(one["systems"][name], measure) for one in items] for name in (a, b)], _measure(measure), groups)  # fmt: skip
    if len(items) == 1:
        return found | {key: drawn[key] for key in ("interval", "p")} | {"over": "items"}
    overlap = float(np.mean([len(one["ids"]) / one["train"] for one in items]))
    test = paired_t_test(*zip(*both, strict=True), overlap=overlap)
    return found | {"interval": list(test.interval), "p": test.p_value, "over": "splits", "items": drawn}


def level(items: Items, system: str, measure: str = "accuracy") -> dict[str, Any]:
    """A system's figure in each of several splits, their mean and standard deviation, and intervals over splits and over items."""
    values = [figure(one["systems"][system], measure) for one in items]
    overlap = float(np.mean([len(one["ids"]) / one["train"] for one in items]))
    test = paired_t_test(values, np.zeros(len(values)), overlap=overlap)
    tables = [_table(one["systems"][system], measure) for one in items]
    beside = value_over_items([one["ids"] for one in items], tables, _measure(measure))
    return {"splits": values, **spread(values), "interval": list(test.interval), "over": "splits", "items": beside}


def over_items(
    ids: Sequence[Sequence[Any]],
    tables: Sequence[Sequence[NDArray[np.float64]]],
    measure: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    groups: Callable[[Any], Hashable] | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """Compare two systems by a paired bootstrap on the items of all splits together.

    `ids` has one sequence per split, and `tables` one list of tables per system, with one row per item. An item that is tested
    in several splits is drawn with all its results. ``of`` is the number of groups, or of distinct items.

    >>> table = np.array([[1.0, 1.0], [0.0, 1.0]])
    >>> over_items([["x", "y"], ["x", "z"]], [[table, table], [1 - table, table]], lambda sums: sums[..., 0])["of"]
    3
    """
    places: dict[Hashable, int] = {}
    of = [places.setdefault(groups(each) if groups else each, len(places)) for split in ids for each in split]
    a, b = (_summed(np.concatenate(list(side)), of, len(places)) for side in tables)
    drawn = paired_bootstrap(a, b, measure, random_state=seed)
    return {"difference": drawn.difference, "interval": list(drawn.interval), "p": drawn.p_value, "of": len(places)}


def value_over_items(
    ids: Sequence[Sequence[Any]],
    tables: Sequence[NDArray[np.float64]],
    measure: Callable[[NDArray[np.float64]], NDArray[np.float64]],
) -> dict[str, Any]:
    """Return a figure over the items of all splits together, with its interval. It must be 0 if the first column is."""
    nothing = [table * ([0] + [1] * (table.shape[1] - 1)) for table in tables]
    drawn = over_items(ids, [tables, nothing], measure)
    return {"value": drawn["difference"], "interval": drawn["interval"], "of": drawn["of"]}


def holm(p: Sequence[float]) -> list[float]:
    """p-values for their number, by Holm (1979).

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p)), key=lambda k: p[k])
    adjusted, most = [0.0] * len(p), 0.0
    for rank, k in enumerate(order):
        most = max(most, min(1.0, (len(p) - rank) * p[k]))
        adjusted[k] = most
    return adjusted


def _table(values: Sequence[Any], measure: str) -> NDArray[np.float64]:
    """One row an item: sum and number, or the counts that measures of constituents are made from."""
    if measure in MEASURES:
        matched, gold, proposed = np.array(values, np.int64).reshape(-1, 3).T
        return BracketCounts(matched, gold, proposed).columns()
    there = [value is not None for value in values]
    numbers = [0.0 if value is None else float(value) for value in values]
    return np.column_stack([numbers, there]).astype(np.float64)


def _measure(name: str) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    if name in MEASURES:
        return MEASURES[name]
    scale = {"accuracy": 100.0, "mean": 1.0}[name]
    return lambda sums: np.asarray(scale * sums[..., 0] / sums[..., 1])


def _summed(table: NDArray[np.float64], of: Sequence[int], groups: int) -> NDArray[np.float64]:
    summed = np.zeros((groups, table.shape[1]))
    np.add.at(summed, list(of), table)
    return summed
