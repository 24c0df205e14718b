"""What every comparison of a fast thing with its slow definition needs: cases by numbers, differences, smallest failures.

A check draws random problems, a batch at a time, and compares. A batch is known by its seed and number alone, so that what
failed can be done again: `python tests/differential/run.py --only NAME --batch NUMBER`.
"""

from __future__ import annotations

import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import singledispatch
from random import Random
from typing import Any

import numpy as np

from treelet.structures import Tagged, Tree

CLOSE = 1e-12
"""Of values: 12 digits, as docs/stability.md has it."""
NOTHING = 1e-300
SHOWN = 5
"""Failures of a check that are told; the others are counted."""


class Failure(AssertionError):
    """A difference, with all that is needed to see it again."""


@dataclass
class Row:
    """A line of the table: what was compared, how often, and how far apart it was."""

    cases: int = 0
    largest: float = 0.0
    failures: int = 0
    aside: bool = False
    """Whether a check need not go on for this line's sake."""
    close: float = 0.0
    """How far apart values may be, in proportion to their size."""


@dataclass
class Check:
    """Something fast, and how one batch of it is compared with the slow definition."""

    name: str
    batch: Callable[[Batch], None]
    unit: str
    """What a case is."""
    group: str
    slow: str
    """What it is compared with."""
    least: int = 0
    """Cases that are enough for a whole run; 0 for as many as every check has."""


CHECKS: dict[str, Check] = {}


def check(name: str, unit: str, group: str, slow: str, least: int = 0) -> Callable[[Any], Any]:
    """Register a function of a `Batch`."""

    def register(function: Callable[[Batch], None]) -> Callable[[Batch], None]:
        CHECKS[name] = Check(name, function, unit, group, slow, least)
        return function

    return register


@dataclass
class Batch:
    """One batch: its random numbers, and what was compared in it."""

    check: str
    seed: int
    number: int
    rows: dict[str, Row] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    told: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = Random(f"{self.seed} {self.check} {self.number}")

    @property
    def numpy(self) -> np.random.Generator:
        """A generator of NumPy's, for what takes only that; a new one each time, with numbers of its own."""
        return np.random.default_rng(self.random.getrandbits(64))

    def compare(
        self,
        what: str,
        found: Any,
        expected: Any,
        size: Any = None,
        close: float = CLOSE,
        *,
        cases: int | None = None,
        aside: bool = False,
        tell: Callable[[tuple[int, ...]], str] | None = None,
    ) -> None:
        """Values within `close` of each other, in proportion to `size`, by default the expected ones; 0: to the bit."""
        found, expected = np.asarray(found, dtype=np.float64), np.asarray(expected, dtype=np.float64)
        row = self.rows.setdefault(what, Row(aside=aside))
        if found.shape != expected.shape:
            row.failures += 1
            self.fail(f"{what}: the shape {found.shape} instead of {expected.shape}", tell, ())
            return
        row.cases += expected.size if cases is None else cases
        row.close = max(row.close, close)
        size = np.abs(expected) if size is None else np.broadcast_to(np.asarray(size, float), expected.shape)
        with np.errstate(invalid="ignore"):
            apart = np.where(found == expected, 0.0, np.abs(found - expected))  # infinities may be equal
        share = np.where(apart > 0, apart / np.maximum(size, NOTHING), 0.0)
        row.largest = max(row.largest, float(np.nan_to_num(share, nan=1e300, posinf=1e300).max(initial=0)))
        with np.errstate(invalid="ignore"):
            bad = (found != expected) & ~(apart <= close * size + (NOTHING if close else 0))
        if bad.any():
            row.failures += int(bad.sum())
            place = tuple(int(k) for k in np.argwhere(bad)[0])
            self.fail(
                f"{what}: {found[place]!r} instead of {expected[place]!r}, {share[place]:.2g} of its size", tell, place
            )

    def equal(self, what: str, found: Any, expected: Any, cases: int = 1, tell: str = "") -> None:
        """Things that are equal or not."""
        row = self.rows.setdefault(what, Row())
        row.cases += cases
        if found != expected:
            row.failures += 1
            row.largest = 1.0
            self.fail(f"{what}: {found!r:.500} instead of {expected!r:.500}", None, (), tell)

    def count(self, **things: int) -> None:
        """What was drawn besides the cases: structures, kernels, models."""
        self.counts.update(things)

    def fail(self, message: str, tell: Callable[..., str] | None, place: tuple[int, ...], more: str = "") -> None:
        """Note a failure."""
        if len(self.told) < SHOWN:
            self.told.append(f"{self.name}\n  {message}\n  {tell(place) if tell else more}")

    @property
    def name(self) -> str:
        return f"{self.check}: --only {self.check!r} --seed {self.seed} --batch {self.number}"


def done(check: Check, seed: int, number: int) -> Batch:
    """One batch, run; an error in it is a failure like any other."""
    batch = Batch(check.name, seed, number)
    try:
        check.batch(batch)
    except Failure as failure:
        batch.rows.setdefault("errors", Row(aside=True)).failures += 1
        batch.told.append(f"{batch.name}\n  {failure}")
    except Exception:
        batch.rows.setdefault("errors", Row(aside=True)).failures += 1
        batch.told.append(f"{batch.name}\n{traceback.format_exc()}")
    return batch


@dataclass
class Total:
    """What all batches of a check came to."""

    rows: dict[str, Row] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    told: list[str] = field(default_factory=list)
    batches: int = 0
    seconds: float = 0.0

    def add(self, batch: Batch) -> None:
        self.batches += 1
        self.counts.update(batch.counts)
        self.told += batch.told[: max(0, SHOWN - len(self.told))]
        for name, row in batch.rows.items():
            mine = self.rows.setdefault(name, Row(aside=row.aside))
            mine.cases += row.cases
            mine.largest = max(mine.largest, row.largest)
            mine.failures += row.failures
            mine.close = max(mine.close, row.close)

    @property
    def cases(self) -> int:
        """Of the line that has fewest: a check goes on until each has enough."""
        return min((row.cases for row in self.rows.values() if not row.aside), default=0)

    @property
    def failures(self) -> int:
        return sum(row.failures for row in self.rows.values())


def go_on(
    check: Check, total: Total, seed: int, cases: int, seconds: float = 1e9, tell: Callable[[Total], None] | None = None
) -> bool:
    """Batch after batch until there are so many cases, or the time is up; whether there are."""
    begun = last = time.monotonic()
    while total.cases < cases:
        total.add(done(check, seed, total.batches))
        now = time.monotonic()
        total.seconds += now - last
        last = now
        if tell is not None:
            tell(total)
        if now - begun > seconds or (total.batches > 50 and not total.cases):
            break
    return total.cases >= cases


# --- the smallest failure -------------------------------------------------------------------------------------------


@singledispatch
def smaller(example: Any) -> Iterator[Any]:
    """Examples that are a little smaller."""
    yield from ()


@smaller.register
def _tree(tree: Tree) -> Iterator[Tree]:
    yield from tree.children
    for place, child in enumerate(tree.children):
        before, after = tree.children[:place], tree.children[place + 1 :]
        if before or after:
            yield Tree(tree.label, [*before, *after])
        for less in smaller(child):
            yield Tree(tree.label, [*before, less, *after])


@smaller.register
def _list(items: list) -> Iterator[list]:
    for place, item in enumerate(items):
        yield [*items[:place], *items[place + 1 :]]
        for less in smaller(item):
            yield [*items[:place], less, *items[place + 1 :]]


@smaller.register
def _dict(items: dict) -> Iterator[dict]:
    for name, item in items.items():
        for less in smaller(item):
            yield {**items, name: less}


@smaller.register
def _tagged(sequence: Tagged) -> Iterator[Tagged]:
    pairs = list(sequence)
    for place in range(len(pairs)):
        rest = pairs[:place] + pairs[place + 1 :]
        if rest:
            yield Tagged(*zip(*rest, strict=True))


def smallest(examples: list[Any], fails: Callable[[list[Any]], bool], most: int = 2000) -> list[Any]:
    """Examples for which something still fails, and of which none can be made smaller; as far as so many tries go."""
    tries = 0
    while True:
        for less in (
            examples[:place] + [one] + examples[place + 1 :]
            for place, example in enumerate(examples)
            for one in smaller(example)
        ):
            tries += 1
            if tries > most:
                return examples
            try:
                still = fails(less)
            except Exception:
                still = True
            if still:
                examples = less
                break
        else:
            return examples
