"""Families of similar examples: the grouping against its definition on a full matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import treelet as tl
from conftest import trials
from treelet.corpora.families import SimilarPairs
from treelet.datasets import flights
from treelet.errors import ParameterError, TreeletWarning
from treelet.testing import trees

SIMILARITY = tl.EditDistance().similarity()
MEASURES = [
    SIMILARITY,
    tl.EditDistance(),
    tl.SubsetTree().normalized(),
    tl.SubsetTree(lam=1.0),
    tl.PartialTree().normalized().distance(),
]
Groups = list[tuple[int, list[int]]]


def defined(values: Any, threshold: float, sign: float, allowed: Any = None) -> Groups:
    """The grouping of `families`, word by word. `allowed` marks the pairs that count."""
    n = len(values)
    near = sign * values >= sign * threshold - (1e-12 if sign > 0 else 1e-9) * abs(threshold)  # up to rounding
    near &= ~np.eye(n, dtype=bool)
    if allowed is not None:
        near &= allowed
    left, result = set(range(n)), []
    while True:
        stars = {center: [other for other in left if near[center, other]] for center in left}
        stars = {center: star for center, star in stars.items() if star}
        if not stars:
            return sorted(result, key=lambda group: (-len(group[1]), group[1][0]))

        def closeness(value: float) -> float:
            return max(value, 0) if sign > 0 else 1 - value / (2 * threshold) if threshold else 1.0

        def rank(center: int, stars: Any = stars) -> tuple[float, int, int]:
            total = sum(closeness(values[center, other]) for other in stars[center])
            return -float(f"{total:.12g}"), -len(stars[center]), center

        best = min(stars, key=rank)
        result.append((best, sorted([best, *stars[best]])))
        left -= set(result[-1][1])


def found(groups: Any) -> Groups:
    return [(group.medoid, group.members.tolist()) for group in groups]


@pytest.mark.parametrize("measure", MEASURES, ids=repr)
@settings(deadline=None, max_examples=60)
@given(st.lists(trees(), max_size=12), st.lists(st.integers(0, 11), max_size=6), st.floats(-0.5, 1.0))
@example([], [], 0.5)
def test_equals_the_definition(measure: Any, some: list[Any], copied: list[int], threshold: float) -> None:
    X = tl.Treebank([*some, *(some[at % len(some)] for at in copied if some)])
    threshold = 10 * (1 - threshold) if isinstance(measure, tl.EditDistance) else threshold
    K = measure(X) if len(X) else np.zeros((0, 0))
    groups = tl.families(X, threshold, measure)
    assert found(groups) == defined(K, threshold, -1.0 if measure.is_distance else 1.0)
    for family in groups:
        others = family.members != family.medoid
        np.testing.assert_allclose(family.values, K[family.medoid, family.members], rtol=1e-9, atol=1e-7)
        assert family.similarity == (family.values[others].min(), family.values[others].max())


@settings(deadline=None, max_examples=trials(100))
@given(st.lists(trees(), max_size=8), st.lists(trees(), max_size=8), st.booleans(), st.floats(0.05, 1.0))
def test_two_sides_equal_the_definition_without_copies(
    some: list[Any], others: list[Any], shared: bool, threshold: float
) -> None:
    """Copies on one side are grouped together, which the definition on pairs does not state: so there are none."""
    X, Y = (tl.Treebank(list(dict.fromkeys(side))) for side in (some, others + some[:2] * shared))
    K = SIMILARITY(X + Y) if len(X) + len(Y) else np.zeros((0, 0))
    side = np.arange(len(X) + len(Y)) < len(X)
    pairs = SimilarPairs(SIMILARITY, X, Y, threshold)
    assert [(medoid, members.tolist()) for medoid, members, _ in pairs.groups()] == defined(
        K, threshold, 1.0, side[:, None] != side
    )


def test_a_chain_is_not_one_family() -> None:
    """Neighbors in the chain are similar; the ends share nothing."""
    words = [[*("x" * n), *("y" * (10 - n))] for n in range(11)]
    chain = [tl.Tree("S", word) for word in words]
    groups = tl.families(chain, threshold=1 - 1.5 / 11)
    assert [len(family) for family in groups] == [3, 3, 3, 2]
    assert all(family.similarity[0] > 0.86 for family in groups)


def test_many_copies_are_compared_once() -> None:
    """100,000 copies have 10**10 pairs."""
    X = tl.Treebank(["(S (N a) (V b))", "(S (N a) (V c))"])[np.arange(100_000) % 2]
    (family,) = tl.families(X, 0.75)
    assert (len(family), family.medoid, family.similarity) == (100_000, 0, (0.8, 1.0))


def test_missing_trees_are_in_no_family() -> None:
    (family,) = tl.families([None, "(a b)", None, "(a b)"])
    assert (family.members.tolist(), family.medoid) == ([1, 3], 1)
    assert family.fragments() == []


def test_left_out_examples() -> None:
    pairs = SimilarPairs(SIMILARITY, tl.Treebank(["(a b c)", "(a b d)", "(a b d)", "(a b e)"]), None, 0.6)
    assert [(medoid, members.tolist()) for medoid, members, _ in pairs.groups()] == [(1, [0, 1, 2, 3])]
    assert [(medoid, members.tolist()) for medoid, members, _ in pairs.groups([1, 2])] == [(0, [0, 3])]
    assert pairs.value(0, 3) == pytest.approx(2 / 3)


def test_a_pair_that_does_not_fit_the_memory_is_skipped() -> None:
    words = [["x"] * 40, ["x"] * 39 + ["y"], ["x"] * 40, ["a"] * 9, ["a"] * 8 + ["b"]]
    with pytest.warns(TreeletWarning, match="1 pair .* memory: item 0 and item 1. Increase memory="):
        groups = tl.families([tl.Tree("S", some) for some in words], memory=10_000)
    assert found(groups) == [(0, [0, 2]), (3, [3, 4])]


def test_typical_fragments() -> None:
    X = list(flights(60)) + ["(Q (WP what) (VP (V is) (NP (N it))))", "(Q (WP what) (VP (V is) (NP (N that))))"]
    (family,) = (family for family in tl.families(X) if 60 in family.members)
    fragments = family.fragments(3)
    assert str(fragments[0].tree) == "(Q (WP what) (VP (V is) (NP N)))"
    assert fragments[0].counts == (2, 0)
    assert len(fragments) == 3
    assert all(fragment.z > 0 for fragment in fragments)
    assert family.fragments(3, tl.PartialTree())
    assert len(family.fragments(0)) == 0


@pytest.mark.parametrize("jobs", [1, 2])
def test_threads_give_the_same_families(jobs: int) -> None:
    X = flights(300)
    assert found(tl.families(X, 0.6, n_jobs=jobs)) == defined(SIMILARITY(X), 0.6, 1.0)


def test_bad_parameters() -> None:
    with pytest.raises(ParameterError, match=r"'threshold'.*a number"):
        tl.families(["(a b)"], threshold="high")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"'measure'.*None or a kernel"):
        tl.families(["(a b)"], measure="sst")  # type: ignore[arg-type]
