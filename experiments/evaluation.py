"""Splits, tuning and significance tests that all experiments share.

An experiment stores the result of each system on each test item of each split, in ``NAME.items.json.xz`` next to its page.
Any two systems can therefore be compared later: ``compare(writing.read_items("moschitti"), "SST", "PT")``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treelet.metrics import BracketCounts, mcnemar, paired_bootstrap, paired_t_test
from treelet.metrics.parse import MEASURES

Floats = NDArray[np.float64]
Items = Sequence[Mapping[str, Any]]
"""One mapping per split, as `split_items` returns it."""

# --- Splits by document: no document is used both for training and for testing ------------------------------------------


def draw_documents(docs: Sequence[str], limit: int, seed: int) -> tuple[list[str], list[str]]:
    """Draw documents with at most `limit` items in total. Return the drawn documents and the others.

    Documents are drawn in random order. A document that would exceed the limit is skipped.

    Parameters
    ----------
    docs : sequence of str
        Document of each item.
    limit : int
        Maximum number of items.
    seed : int
        Seed of the order.

    Examples
    --------
    >>> draw_documents(["a", "a", "b", "c", "c", "c"], 3, seed=0)
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


def rows_of_documents(docs: Sequence[str], names: Iterable[str], limit: int | None = None) -> NDArray[np.intp]:
    """Return the rows of the items of some documents, document by document, and at most `limit` rows.

    >>> rows_of_documents(["a", "b", "a", "c"], ["c", "a"]).tolist(), rows_of_documents(["a", "b", "a", "c"], ["a"], 1).tolist()
    ([3, 0, 2], [0])
    """
    rows: dict[str, list[int]] = {}
    for row, name in enumerate(docs):
        rows.setdefault(name, []).append(row)
    return np.array([row for name in names for row in rows[name]][:limit], np.intp)


def balanced_folds(docs: Sequence[str], names: Iterable[str], folds: int) -> dict[str, int]:
    """Assign documents to folds with about equal numbers of items. The largest document goes first, to the smallest fold.

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


# --- Tuning ---------------------------------------------------------------------------------------------------------


def coordinate_search(
    score: Callable[[tuple[Any, ...]], float], start: tuple[Any, ...], grids: Sequence[Sequence[Any]]
) -> tuple[Any, ...]:
    """Search a grid by moving to better neighbors, one parameter after the other, until there is no better neighbor.

    `score` is called repeatedly with the same setting, so it should be cached. The search can miss the best setting if
    there are several local optima. Two systems with the same grids have the same chances.

    >>> coordinate_search(lambda at: -abs(at[0] - 3) - abs(at[1] - 1), (1, 1), [(1, 2, 3, 4), (0, 1, 2)])
    (3, 1)
    """
    best, before = start, None
    while best != before:
        before = best
        for parameter, grid in enumerate(grids):
            for direction in (1, -1):
                while True:
                    position = grid.index(best[parameter]) + direction
                    if not 0 <= position < len(grid):
                        break
                    neighbor = (*best[:parameter], grid[position], *best[parameter + 1 :])
                    if score(neighbor) <= score(best):
                        break
                    best = neighbor
    return best


def tune(
    start: Mapping[str, Any], grids: Mapping[str, Sequence[Any]], measure: Callable[[dict[str, Any]], dict[str, Any]]
) -> tuple[dict[str, Any], list[dict[str, Any]], list[str]]:
    """Choose the setting with the highest ``"f1"`` by `coordinate_search`.

    Parameters
    ----------
    start : mapping
        First setting. Parameters without a grid keep their value.
    grids : mapping
        Values to try, by parameter.
    measure : callable
        Returns the scores of a setting, including ``"f1"``. It is called once per setting.

    Returns
    -------
    best : dict
        The best setting with its scores.
    trials : list of dict
        All settings with their scores, in the order of the search.
    at_edge : list of str
        Numeric parameters whose best value is at an edge of the grid.

    Examples
    --------
    >>> best, trials, at_edge = tune({"C": 1, "kernel": "a"}, {"C": (1, 2, 3)}, lambda setting: {"f1": float(setting["C"])})
    >>> best, len(trials), at_edge
    ({'C': 3, 'kernel': 'a', 'f1': 3.0}, 3, ['C'])
    """
    trials: dict[tuple[Any, ...], dict[str, Any]] = {}

    def trial(values: tuple[Any, ...]) -> dict[str, Any]:
        if values not in trials:
            setting = {**start, **dict(zip(grids, values, strict=True))}
            trials[values] = setting | measure(setting)
        return trials[values]

    first = tuple(start[name] for name in grids)
    trial(first)
    best = trial(coordinate_search(lambda values: float(trial(values)["f1"]), first, list(grids.values())))
    numeric = {name: grid for name, grid in grids.items() if isinstance(grid[0], int | float)}
    at_edge = [
        name for name, grid in numeric.items() if best[name] in (grid[0], grid[-1]) and not isinstance(best[name], bool)
    ]
    return best, list(trials.values()), at_edge


# --- Results per item -----------------------------------------------------------------------------------------------


def split_items(name: str, train: int, ids: Iterable[object], systems: Mapping[str, Iterable[Any]]) -> dict[str, Any]:
    """Return the results of the systems on each test item of one split, ready for JSON, rounded to six digits.

    Parameters
    ----------
    name : str
        Name of the split.
    train : int
        Number of training items.
    ids : iterable
        Test items.
    systems : mapping
        By system, one result per test item: a number (NaN if there is none), or the numbers of matched, gold and
        proposed constituents.
    """

    def plain(value: Any) -> Any:
        if np.ndim(value):
            return [int(count) for count in value]
        number = float(value)
        if np.isnan(number):
            return None
        return int(number) if number.is_integer() else round(number, 6)

    items = [one if isinstance(one, int) else str(one) for one in ids]
    results = {system: [plain(value) for value in values] for system, values in systems.items()}
    for system, values in results.items():
        if len(values) != len(items):
            raise ValueError(f"{name}: system {system} has {len(values)} values for {len(items)} items.")
    return {"part": name, "train": int(train), "ids": items, "systems": results}


def count_rows(counts: BracketCounts) -> list[list[int]]:
    """Return the numbers of matched, gold and proposed constituents of each sentence, for `split_items`."""
    return [[int(count) for count in row] for row in zip(*counts, strict=True)]


def score_items(values: Sequence[Any], measure: str = "accuracy") -> float:
    """Return a measure over items. Items without a value (None) are ignored.

    >>> score_items([1, 0, None, 0], "accuracy"), score_items([[2, 4, 2], [3, 4, 3]], "recall")
    (33.333333333333336, 62.5)
    """
    return float(_measure(measure)(_table(values, measure).sum(axis=0)))


def mean_std(values: Iterable[float]) -> dict[str, float]:
    """Return the mean and the standard deviation of values, one per split. The deviation of one value is 0."""
    array = np.array(list(values), dtype=float)
    return {"mean": float(array.mean()), "std": float(array.std(ddof=1)) if len(array) > 1 else 0.0}


def mean_score(items: Items, system: str, measure: str = "accuracy") -> dict[str, float]:
    """Return the score of a system, as mean and standard deviation over splits."""
    return mean_std(score_items(split["systems"][system], measure) for split in items)


# --- Significance tests ---------------------------------------------------------------------------------------------


def compare(
    items: Items, a: str, b: str, measure: str = "accuracy", groups: Callable[[Any], Hashable] | None = None
) -> dict[str, Any]:
    """Test whether system a is better than system b, over splits and over items.

    The test over splits is the corrected resampled t-test of Nadeau & Bengio (2003) on the scores of the splits. It needs
    several splits. The test over items is a paired bootstrap on the test items of all splits, with the models as trained.

    Parameters
    ----------
    items : sequence of mapping
        Results per item, one mapping per split, see `split_items`.
    a, b : str
        Systems.
    measure : str
        "accuracy" (in percent) or "mean" of numbers; "f1", "precision", "recall" or "parse_score" of counts.
    groups : callable, optional
        Maps the id of an item to the group that the bootstrap draws as a whole, such as a sentence. Default: the item.

    Returns
    -------
    dict
        ``a``, ``b``, ``difference``, ``interval``, ``p``, and ``over``: "splits" if there are several, otherwise "items";
        ``items``, the test over items if the first test is over splits; ``std`` over splits; ``splits``, the difference in
        each split; ``wins``, the number of splits in which a is better, ``of`` all.
    """
    scores = [[score_items(split["systems"][name], measure) for name in (a, b)] for split in items]
    differences = [first - second for first, second in scores]
    result: dict[str, Any] = {"a": a, "b": b, "measure": measure, **mean_std(differences)}
    result["difference"] = result.pop("mean")
    result |= {"splits": differences, "wins": sum(d > 0 for d in differences), "of": len(items)}
    ids = [split["ids"] for split in items]
    tables = [[_table(split["systems"][name], measure) for split in items] for name in (a, b)]
    bootstrap = bootstrap_difference(ids, tables, _measure(measure), groups)
    if len(items) == 1:
        return result | {key: bootstrap[key] for key in ("interval", "p")} | {"over": "items"}
    test = paired_t_test(*zip(*scores, strict=True), overlap=_overlap(items))
    return result | {"interval": list(test.interval), "p": test.p_value, "over": "splits", "items": bootstrap}


def score_interval(items: Items, system: str, measure: str = "accuracy") -> dict[str, Any]:
    """Return the score of a system in each split, the mean and standard deviation, and intervals over splits and items."""
    values = [score_items(split["systems"][system], measure) for split in items]
    test = paired_t_test(values, np.zeros(len(values)), overlap=_overlap(items))
    tables = [_table(split["systems"][system], measure) for split in items]
    over_items = bootstrap_score([split["ids"] for split in items], tables, _measure(measure))
    return {
        "splits": values,
        **mean_std(values),
        "interval": list(test.interval),
        "over": "splits",
        "items": over_items,
    }


def bootstrap_difference(
    ids: Sequence[Sequence[Any]],
    tables: Sequence[Sequence[Floats]],
    measure: Callable[[Floats], Floats],
    groups: Callable[[Any], Hashable] | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """Compare two systems by a paired bootstrap on the items of all splits together.

    `ids` has one sequence per split. `tables` has one list per system, with one table per split and one row per item. An
    item that is tested in several splits is drawn with all its results. ``of`` is the number of groups, or of distinct items.

    >>> table = np.array([[1.0, 1.0], [0.0, 1.0]])
    >>> bootstrap_difference([["x", "y"], ["x", "z"]], [[table, table], [1 - table, table]], lambda sums: sums[..., 0])["of"]
    3
    """
    numbers: dict[Hashable, int] = {}
    group = [numbers.setdefault(groups(each) if groups else each, len(numbers)) for split in ids for each in split]

    def summed(system: Sequence[Floats]) -> Floats:  # one row per group
        rows = np.concatenate(list(system))
        sums = np.zeros((len(numbers), rows.shape[1]))
        np.add.at(sums, group, rows)
        return sums

    test = paired_bootstrap(summed(tables[0]), summed(tables[1]), measure, random_state=seed)
    return {"difference": test.difference, "interval": list(test.interval), "p": test.p_value, "of": len(numbers)}


def bootstrap_score(
    ids: Sequence[Sequence[Any]], tables: Sequence[Floats], measure: Callable[[Floats], Floats]
) -> dict[str, Any]:
    """Return a score over the items of all splits together, with its interval. It must be 0 if the first column is."""
    zero = [table * ([0] + [1] * (table.shape[1] - 1)) for table in tables]
    test = bootstrap_difference(ids, [tables, zero], measure)
    return {"value": test["difference"], "interval": test["interval"], "of": test["of"]}


def compare_mcnemar(a: str, correct_a: Any, b: str, correct_b: Any) -> dict[str, Any]:
    """Compare two systems by McNemar's test, given whether each prediction is correct.

    >>> row = compare_mcnemar("new", [True, True, False, True], "old", [True, False, False, False])
    >>> row["difference"], row["only_a"], row["only_b"], row["p_mcnemar"]
    (50.0, 2, 0, 0.5)
    """
    test = mcnemar(correct_a, correct_b)
    difference = 100 * float(np.mean(correct_a) - np.mean(correct_b))
    counts = {"only_a": test.only_a, "only_b": test.only_b}
    return {"a": a, "b": b, "difference": difference, **counts, "p_mcnemar": test.p_value}


def holm(p: Sequence[float]) -> list[float]:
    """Correct p-values for multiple comparisons, by the method of Holm (1979).

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p)), key=lambda k: p[k])
    adjusted, largest = [0.0] * len(p), 0.0
    for rank, k in enumerate(order):
        largest = max(largest, min(1.0, (len(p) - rank) * p[k]))
        adjusted[k] = largest
    return adjusted


def _overlap(items: Items) -> float:
    """Return the ratio of test items to training items, which the corrected t-test needs."""
    return float(np.mean([len(split["ids"]) / split["train"] for split in items]))


def _table(values: Sequence[Any], measure: str) -> Floats:
    """Return one row per item: value and 1 (0 and 0 for no value), or the counts from which measures of constituents are computed."""
    if measure in MEASURES:
        matched, gold, proposed = np.array(values, np.int64).reshape(-1, 3).T
        return BracketCounts(matched, gold, proposed).columns()
    present = [value is not None for value in values]
    numbers = [0.0 if value is None else float(value) for value in values]
    return np.column_stack([numbers, present]).astype(np.float64)


def _measure(name: str) -> Callable[[Floats], Floats]:
    """Return the function from summed rows of `_table` to a measure."""
    if name in MEASURES:
        return MEASURES[name]
    scale = {"accuracy": 100.0, "mean": 1.0}[name]
    return lambda sums: np.asarray(scale * sums[..., 0] / sums[..., 1])
