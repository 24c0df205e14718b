"""The settings tried on the development sets in the experiment of Collins & Duffy, and the choices of each row of the test."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import NamedTuple

from experiments.collins_duffy_fits import Point, Way

MOST = 5  # passes
FIRST = "first choice"
ORACLE = "best candidate"
TENTHS = tuple(k / 10 for k in range(1, 10))
GAMMAS = tuple(10 ** (k / 2) for k in range(-8, 7))


class Grids(NamedTuple):
    """Values that are tried; those of the paper's tables are `depths` and `scales`."""

    depths: Sequence[int] = range(1, 7)
    scales: Sequence[float] = TENTHS
    beside: Sequence[float] = (0.3, 0.5)
    logps: Sequence[float] = (0.001, 0.01, 0.1, 1.0, 10.0)
    gammas: Sequence[float] = GAMMAS
    widths: Sequence[float] = (0.25, 0.5, 1.0, 2.0, 4.0)
    costs: Sequence[float] = ()
    variants: bool = True
    """Whether other kernels and types of weights are tried, too."""
    thrice: Sequence[float] = TENTHS
    """Scales with which three passes are tried."""
    often: float = 0.3
    """The scale with which passes are counted."""


FULL = Grids()
QUICK = Grids((1, 3), (0.3, 0.6), (0.3,), (0.1,), (0.01, 1.0), (1.0,), (1.0,), thrice=(0.3, 0.6))
LARGE = Grids(
    (1, 2, 3, 4),
    (0.1, 0.2, 0.3, 0.5, 0.7),
    (0.3,),
    (0.003, 0.03, 0.3, 3.0),
    variants=False,
    thrice=(0.3,),
)
OTHER = LARGE._replace(
    depths=(),
    scales=(0.02, 0.05, 0.1, 0.2, 0.3),
    beside=(0.1,),
    logps=(0.01, 0.1, 1.0, 10.0),
    thrice=(0.1,),
    often=0.1,
)
GRIDS = {
    "flights": FULL,
    "questionbank": FULL._replace(costs=(0.01, 0.1, 1.0, 10.0, 100.0)),
    "wsj": LARGE,
    "wsj-markovised": LARGE,
    "wsj-split": LARGE._replace(depths=(3,), scales=(0.1, 0.2, 0.3, 0.5), logps=(0.03, 0.3)),
    "nbest": OTHER,
    "lists": OTHER,
    "file": FULL,
}


def grids_of(kind: str, quick: bool) -> Grids:
    """Of one kind of data."""
    return QUICK if quick else GRIDS[kind]


class Plan(NamedTuple):
    """Points of the two tables of the paper, of tables that it has not, and what each row of the test chooses from."""

    tables: dict[str, dict[str, Point]]
    rows: dict[str, list[Point]]

    def points(self) -> list[Point]:
        """All that are tried on the development part, each once."""
        inside = [point for table in self.tables.values() for point in table.values()]
        return list(dict.fromkeys([*inside, *(point for row in self.rows.values() for point in row)]))


def first_plan(grids: Grids, more: bool = False) -> Plan:
    """Return the points that do not depend on earlier results."""
    depths = {d: Way(depth=d) for d in grids.depths}
    scales = {lam: Way(lam) for lam in grids.scales}
    leaves = {lam: Way(lam, leaves=True) for lam in grids.scales}
    beside = {(lam, w): Way(lam, logp=w) for lam, w in product(grids.beside, grids.logps)}
    flat = Way(form="flat")
    three = [Way(depth=3)] if 3 in grids.depths else []
    counted = {"depth 3": three, f"scale {grids.often:g}": [scales[grids.often]]}
    middle = grids.logps[len(grids.logps) // 2]
    counted[f"scale {grids.often:g}, {middle:g} x log p"] = [beside[grids.often, middle]]
    tables = {
        "depth": {f"{d}": Point(way) for d, way in depths.items()},
        "scale": {f"{lam:g}": Point(way) for lam, way in scales.items()},
        "leaves": {f"{lam:g}": Point(way) for lam, way in leaves.items()},
        "more": {
            f"scale {lam:g}, {w:g} x log p, {_times(passes)}": Point(way, passes)
            for (lam, w), way in beside.items()
            for passes in (1, 3)
        },
        "passes": {
            f"{name}, {_times(passes)}": Point(way, passes)
            for name, ways in counted.items()
            for way in ways
            for passes in range(1, MOST + 1)
        },
    }
    all_scales, thrice = list(scales.values()), _those(scales, grids.thrice)
    rows = {
        "best depth": _at(depths.values()),
        "best scale": _at(all_scales),
        "depth 3, two passes": _at(three, 2),
        "best scale, three passes": _at(thrice, 3),
        "with leaves": _at(leaves.values()),
        "log p a feature": _at(beside.values()),
        "log p a feature, three passes": _at(beside.values(), 3),
        "log p + γ score": [*_mixed(all_scales, grids), *_mixed(thrice, grids, 3)],
        "log p + γ score, leaves": [*_mixed(leaves.values(), grids), *_mixed(_those(leaves, grids.thrice), grids, 3)],
        "flat": _at([flat]),
        "flat, three passes": _at([flat], 3),
        "log p + γ flat": [*_mixed([flat], grids), *_mixed([flat], grids, 3)],
    }
    if more:
        others = {lam: Way(lam, more=True) for lam in grids.scales}
        mixed = [*_mixed(others.values(), grids), *_mixed(_those(others, grids.thrice), grids, 3)]
        rows["log p + γ score, questions too"] = mixed
    if grids.variants:
        rows |= _variants(grids)
    return Plan(tables, {name: points for name, points in rows.items() if points})


def _variants(grids: Grids) -> dict[str, list[Point]]:
    return {
        "voted": [Point(Way(lam), 1, "voted") for lam in grids.scales],
        "last": [Point(Way(lam), 1, "last") for lam in grids.scales],
        "last, three passes": [Point(Way(lam), 3, "last") for lam in grids.thrice],
        "right tree as x_i1": _at(Way(lam, gold=True) for lam in grids.scales),
        "normalised": _at(Way(lam, form="normalised") for lam in grids.scales),
    }


def second_plan(grids: Grids, lam: float) -> Plan:
    """Return the more expensive points, which use the best scale."""
    if not grids.variants:
        return Plan({}, {})
    rows = {"radial": _at(Way(lam, form="radial", sigma=width) for width in grids.widths)}
    if grids.costs:
        rows["ranking SVM"] = _at(Way(lam, C=cost) for cost in grids.costs)
    return Plan({}, rows)


def own_rows(rows: Iterable[str]) -> list[str]:
    """Rows of the tree kernel among which the best of all is: not those of flat features, nor ways of predicting."""
    return [name for name in rows if not name.startswith(("flat", "log p + γ flat", "voted", "last"))]


def _those(ways: dict[float, Way], scales: Sequence[float]) -> list[Way]:
    return [way for lam, way in ways.items() if lam in scales]


def _at(ways: Iterable[Way], passes: int = 1) -> list[Point]:
    return [Point(way, passes) for way in ways]


def _mixed(ways: Iterable[Way], grids: Grids, passes: int = 1) -> list[Point]:
    """With each γ, none (the score alone), and one that leaves the parser's choice as it is."""
    gammas = (*grids.gammas, 0.0, None)
    return [Point(way, passes, "averaged", gamma) for way in ways for gamma in gammas]


def _times(passes: int) -> str:
    return f"{passes} pass{'es' * (passes > 1)}"


# --- edges --------------------------------------------------------------------------------------------------------

LEAST = {("depth", 1)}  # there is nothing below it


def values_of(point: Point) -> dict[str, float | None]:
    """Return the parameters that can be at the edge of a grid. Both edges of γ (parser alone, score alone) are tried."""
    way = point.way
    return {"λ": way.lam, "depth": way.depth, "log p": way.logp, "σ": way.sigma, "C": way.C}


def at_edge(point: Point, choices: Sequence[Point]) -> list[str]:
    """Return the parameters whose chosen value is at an edge of its grid.

    >>> ways = [Point(Way(lam)) for lam in (0.1, 0.2, 0.3)]
    >>> at_edge(ways[0], ways), at_edge(ways[1], ways)
    (['λ'], [])
    """
    found = []
    for name, value in values_of(point).items():
        grid = {each for each in (values_of(other)[name] for other in choices) if each is not None}
        if value is None or len(grid) < 2:
            continue
        if value == max(grid) or (value == min(grid) and (name, value) not in LEAST):
            found.append(name)
    return found


def told(point: Point) -> str:
    """A point in words."""
    way = point.way
    words = [f"λ {way.lam:g}"] if way.form != "flat" else []
    words += [f"depth {way.depth}"] if way.depth else []
    words += ["leaves"] * way.leaves
    words += [f"{way.logp:g} x log p"] * (way.logp > 0)
    words += [f"σ {way.sigma:g}"] * (way.form == "radial")
    words += [f"C {way.C:g}"] * (way.C > 0)
    words += [f"γ {point.gamma:.2g}"] if point.gamma is not None else []
    words += [_times(point.passes)] * (point.passes > 1)
    return ", ".join(words) or "one pass"
