"""Edit distances with random costs, searches by them, and edit scripts, compared with the slow definition."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
from differ import CLOSE, Batch, check
from differ_structures import Structures

import treelet as tl
from definitions.edit_scripts import check_mapping, replayed
from definitions.kernels import definition

MOST = 9  # nodes of a tree


def cost(random: Random) -> float:
    return random.choice([0.0, 0.25, 0.5, 1.0, 1.0, 2.0, 3.0, random.uniform(0, 3)])


def by_label(random: Random, labels: list[str]) -> Any:
    """A constant, or costs of some labels."""
    if random.random() < 0.5:
        return cost(random)
    return {label: cost(random) for label in labels if random.random() < 0.7}


def distance(random: Random, labels: list[str]) -> tl.EditDistance:
    """A distance with unit costs, constant costs, or costs that depend on labels."""
    kind = random.random()
    if kind < 0.25:
        return tl.EditDistance()
    if kind < 0.4:
        return tl.EditDistance(*(float(random.randint(0, 3)) for _ in range(3)))
    insert, delete = by_label(random, labels), by_label(random, labels)
    if kind < 0.7:
        return tl.EditDistance(insert, delete, cost(random))
    if kind < 0.85:
        table = {(p, q): cost(random) for p in labels for q in labels}
        return tl.EditDistance(insert, delete, lambda p, q: table.get((p, q), 1.25))
    return tl.EditDistance(insert, delete, {label: [random.gauss(0, 1) for _ in range(2)] for label in labels})


class Problem:
    """Two collections of trees over one alphabet, and a distance of them."""

    def __init__(self, batch: Batch) -> None:
        draw = Structures(batch.random, MOST)
        self.X, self.Y = (draw.examples("trees", batch.random.choice([1, 6, 10])) for _ in range(2))
        self.distance = distance(batch.random, sorted({*draw.labels, *draw.words}))
        batch.count(distances=1, structures=len(self.X) + len(self.Y))

    def tell(self, place: tuple[int, ...]) -> str:
        return f"{self.distance!r}; a, b = {self.X[place[0]]!r}, {self.Y[place[1]]!r}"

    def slow(self, measure: Any) -> np.ndarray:
        value = definition(measure)
        return np.array([[value(a, b) for b in self.Y] for a in self.X])

    def scale(self, expected: Any) -> np.ndarray:
        """The cost of deleting one tree and inserting the other: the sum that a mapping reduces."""
        value = definition(self.distance)
        removed, inserted = [value(a, None) for a in self.X], [value(None, b) for b in self.Y]
        return np.maximum(np.add.outer(removed, inserted), np.abs(expected))


@check("EditDistance", "pairs", "edits", "`tests/definitions`")
def distances(batch: Batch) -> None:
    problem = Problem(batch)
    d, X, Y = problem.distance, problem.X, problem.Y
    expected = problem.slow(d)
    scale = problem.scale(expected)
    batch.compare("EditDistance", d(X, Y), expected, scale, tell=problem.tell)
    batch.compare("EditDistance, one collection", d(X), d(X, X), close=0, aside=True)
    similarity = d.similarity()
    expected = problem.slow(similarity)
    scale = np.maximum(scale, 1.0)
    batch.compare("EditDistance.similarity", similarity(X, Y), expected, scale, tell=problem.tell)
    compare_searches(batch, problem, similarity(X, Y))


def compare_searches(batch: Batch, problem: Problem, matrix: np.ndarray) -> None:
    """Compare a search with the matrix that it searches: all pairs at or above a threshold, and the k best."""
    measure, X, Y = problem.distance.similarity(), problem.X, problem.Y
    threshold = batch.random.choice([0.5, 0.7, 0.8, float(batch.random.choice(matrix.ravel()))])
    found = tl.nearest(measure, Y, X, threshold=threshold, graph=True)
    listed = {(i, j) for i in range(len(X)) for j in found.indices[found.indptr[i] : found.indptr[i + 1]].tolist()}
    wanted = set(zip(*(index.tolist() for index in np.nonzero(matrix >= threshold)), strict=True))
    # No pair may be lost. A value that rounding keeps below the threshold may be listed.
    listed -= {pair for pair in listed if threshold - CLOSE <= matrix[pair] < threshold}
    tell = f"{measure!r}, threshold {threshold}; X = {X}, Y = {Y}"
    batch.equal("EditDistance.similarity, joins", listed, wanted, cases=matrix.size, aside=True, tell=tell)
    k = batch.random.randint(1, len(Y))
    values, _ = tl.nearest(measure, Y, X, k=k)
    best = -np.sort(-matrix, axis=1)[:, :k]
    batch.compare("EditDistance.similarity, k nearest", values, best, 1.0, aside=True, tell=lambda place: tell)


@check("edit_script", "scripts", "edits", "the operations, applied one by one: `tests/definitions/edit_scripts.py`")
def scripts(batch: Batch) -> None:
    problem = Problem(batch)
    value = definition(problem.distance)
    for i, a in enumerate(problem.X):
        b = problem.Y[j := batch.random.randrange(len(problem.Y))]
        if a is None or b is None:
            continue
        script = tl.edit_script(a, b, problem.distance)
        tell = problem.tell((i, j))
        check_mapping(script)
        batch.equal("edit_script, replayed", replayed(script), b, tell=tell)
        scale = value(a, None) + value(None, b)
        told = lambda place, tell=tell: tell
        batch.compare("edit_script, cost", [script.cost], [value(a, b)], [scale], tell=told)
        costs = [problem.distance.cost_of(o.source_label, o.target_label) for o in script]
        batch.equal("edit_script, costs of operations", [o.cost for o in script], costs, aside=True, tell=tell)
