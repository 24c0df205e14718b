"""Explanations of forests, sequences and dependency parses: exactly those of the slow definitions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treelet as tl
from definitions import kernels as reference
from definitions.fragments import as_tree
from definitions.kernels import by_type, definition
from definitions.strategies import sequences, typed_sequences
from treelet.cuts import feature_sequences
from treelet.kernels.fragments import Feature, FeatureSubsequence, TaggedWord, TagRun, VectorFeature, Window
from treelet.learn.model import CompressedModel
from treelet.structures.forest import ForestNode
from treelet.testing import forests, tagged

Vector = dict[Any, float]
coefficients = st.lists(st.integers(-8, 8).map(lambda value: value / 4), min_size=3, max_size=3)


def of_forest(kernel: Any, forest: tl.Forest) -> Vector:
    """Expected counts of subset trees, by all trees of the forest, with half of the kernel's decay."""
    total: Counter[Any] = Counter()
    for tree, p in forest.trees():
        for fragment, count in reference.all_subset_trees(tree, kernel.leaves).items():
            total[as_tree(fragment)] += p * count * math.sqrt(kernel.lam ** reference.size(fragment))
    return total


def of_tagged(kernel: Any, sequence: tl.Tagged) -> Vector:
    pieces = reference.tagging_counts(sequence).items()
    return {
        TagRun(tuple(tag for tag, _ in piece), tuple(word for _, word in piece)): count
        * math.sqrt(kernel.lam ** len(piece))
        for piece, count in pieces
    }


def of_sequences(kernel: Any, example: Any) -> Vector:
    total: Counter[Any] = Counter()
    for name, features in by_type(example).items():
        for places in combinations(range(len(features)), kernel.length):
            piece = FeatureSubsequence(name, tuple(features[at] for at in places))
            total[piece] += kernel.lam ** (places[-1] - places[0] + 1)
    return total


CASES: dict[str, tuple[Any, Any, Callable[[Any, Any], Vector]]] = {
    "forest": (tl.ForestKernel(lam=0.4), forests(), of_forest),
    "forest-count": (tl.ForestKernel(lam=1), forests(max_trees=3), of_forest),
    "forest-leaves": (tl.ForestKernel(lam=0.6, leaves=True), forests(max_trees=3), of_forest),
    "tagging": (tl.Tagging(lam=0.5), tagged(max_size=4), of_tagged),
    "tagging-count": (tl.Tagging(lam=1), tagged(max_size=4), of_tagged),
    "subsequence-1": (tl.Subsequence(lam=0.5, length=1), sequences | typed_sequences, of_sequences),
    "subsequence-2": (tl.Subsequence(lam=0.9, length=2), sequences | typed_sequences, of_sequences),
    "subsequence-3": (tl.Subsequence(lam=0.7, length=3), sequences | typed_sequences, of_sequences),
}
each_case = pytest.mark.parametrize("name", CASES)


def norm(vector: Vector, normalized: bool) -> float:
    return math.sqrt(sum(value**2 for value in vector.values())) if normalized else 1.0


def weights_of(vectors: list[Vector], alpha: list[float], normalized: bool) -> Vector:
    total: Counter[Any] = Counter()
    for vector, coefficient in zip(vectors, alpha, strict=True):
        if size := norm(vector, normalized):
            for fragment, value in vector.items():
                total[fragment] += coefficient * value / size
    return total


def check_largest(found: list[float], all_of_them: list[float], limit: int) -> None:
    largest = sorted(map(abs, all_of_them), reverse=True) + [0.0] * limit
    assert list(map(abs, found)) == pytest.approx(largest[: len(found)], rel=1e-9, abs=1e-9)
    assert len(found) == limit or largest[len(found)] < 1e-9


@each_case
@settings(max_examples=35)
@given(data=st.data(), alpha=coefficients, normalized=st.booleans(), n=st.integers(1, 6))
def test_shares_and_weights_are_those_of_the_slow_definition(
    name: str, data: Any, alpha: list[float], normalized: bool, n: int
) -> None:
    kernel, strategy, slow = CASES[name]
    support, example = [data.draw(strategy) for _ in range(3)], data.draw(strategy)
    asked = kernel.normalized() if normalized else kernel
    model = CompressedModel.of(asked, support, [alpha])
    weights = weights_of([slow(kernel, one) for one in support], alpha, normalized)
    vector = slow(kernel, example)
    size = norm(vector, normalized) or 1.0
    shares = {fragment: value / size * weights[fragment] for fragment, value in vector.items() if fragment in weights}
    scale = 1e-9 * (1 + sum(map(abs, shares.values())))

    explanation = tl.explain(model, example, limit=10**6)
    found = {one.tree: one.share for one in explanation.fragments}
    assert len(found) == len(explanation.fragments), "a fragment is listed twice"
    for fragment in found.keys() | shares.keys():
        assert found.get(fragment, 0) == pytest.approx(shares.get(fragment, 0), abs=scale)
    assert explanation.complete
    assert explanation.score == pytest.approx(model.score([example])[0, 0], abs=scale)
    assert explanation.rest == pytest.approx(0, abs=scale)
    assert math.fsum(one.share for one in explanation.heat) == pytest.approx(explanation.score, abs=scale)

    few = tl.explain(model, example, limit=n)
    assert few.exact
    check_largest([one.share for one in few.fragments], list(shares.values()), n)
    top = tl.top_fragments(model, n)
    assert top.exact
    check_largest([one.weight for one in top], list(weights.values()), n)
    for one in top:
        assert one.weight == pytest.approx(weights[one.tree], rel=1e-9, abs=1e-9)


@each_case
@settings(max_examples=15)
@given(data=st.data())
def test_shared_fragments_add_up_to_the_kernel(name: str, data: Any) -> None:
    kernel, strategy, slow = CASES[name]
    a, b = data.draw(strategy), data.draw(strategy)
    one, other = slow(kernel, a), slow(kernel, b)
    shared = tl.shared_fragments(a, b, kernel)
    assert shared.complete
    assert {each.tree: pytest.approx(each.contribution) for each in shared} == {
        fragment: value * other[fragment] for fragment, value in one.items() if fragment in other
    }
    assert shared.total() == pytest.approx(kernel([a], [b])[0, 0], rel=1e-9, abs=1e-12)


# --- heat ---------------------------------------------------------------------------------------------------------


@settings(max_examples=25)
@given(support=st.lists(forests(), min_size=2, max_size=2), forest=forests(), normalized=st.booleans())
def test_heat_of_a_forest_is_that_of_its_nodes(support: list[tl.Forest], forest: tl.Forest, normalized: bool) -> None:
    kernel = tl.ForestKernel(lam=0.5)
    model = CompressedModel.of(kernel.normalized() if normalized else kernel, support, [[1.0, -0.5]])
    weights = weights_of([of_forest(kernel, one) for one in support], [1.0, -0.5], normalized)
    size = norm(of_forest(kernel, forest), normalized)
    expected: Counter[ForestNode] = Counter()
    for tree, p in forest.trees():
        stack = [(tree, 0)]
        while stack:
            node, begin = stack.pop()
            here = sum(
                weights[as_tree(f)] * math.sqrt(kernel.lam ** reference.size(f)) for f in reference.subset_trees(node)
            )
            expected[ForestNode(node.label, begin, begin + len(node.words()))] += p * here / size  # type: ignore[assignment]
            for child in node.children:
                stack.append((child, begin))
                begin += len(child.words())
    found: Counter[ForestNode] = Counter()
    heat = tl.explain(model, forest).heat
    assert [one.tree for one in heat] == forest.nodes
    for one in heat:
        found[one.tree] += one.share  # type: ignore[assignment]
    for node in found.keys() | expected.keys():
        if node.label:
            assert found[node] == pytest.approx(expected[node], abs=1e-9)


@settings(max_examples=25)
@given(support=tagged(max_size=4), sequence=tagged(max_size=4))
def test_heat_of_a_word_is_that_of_the_runs_that_begin_with_it(support: tl.Tagged, sequence: tl.Tagged) -> None:
    kernel = tl.Tagging(lam=0.5)
    heat = tl.explain(CompressedModel.of(kernel, [support], [[1.0]]), sequence).heat
    assert [one.tree for one in heat] == [TaggedWord(at, word, tag) for at, (word, tag) in enumerate(sequence)]
    values = [
        kernel([tl.Tagged(sequence.words[at:], sequence.tags[at:])], [support])[0, 0] for at in range(len(sequence))
    ]
    assert [one.share for one in heat] == pytest.approx(
        [a - b for a, b in zip(values, [*values[1:], 0.0], strict=True)]
    )


# --- windows ------------------------------------------------------------------------------------------------------

KERNELS = {
    "position": tl.Locality(window=3, theta=0.7),
    "wide": tl.Locality(window=5, theta=2.0),
    "one": tl.Locality(window=1),
    "same place": tl.Locality(window=5, theta=0),
    "exact": tl.Locality(window=3, match="exact"),
    "count": tl.Locality(window=5, match="count", weights={"w": 2.5}),
    "without": tl.Locality(window=100, match="exact", weights={"w": 0}),
}


def kappas(kernel: tl.Locality, f: tuple[Any, ...], g: tuple[Any, ...], i: int, k: int) -> tuple[Any, float]:
    """Return the equal features of two windows, seen from the first, and their value, from all pairs of positions."""
    reach = int(kernel.window) // 2  # type: ignore[call-overload]
    one, other = (range(max(at - reach, 0), min(at + reach + 1, len(x))) for at, x in ((i, f), (k, g)))
    value, equal = (1.0 if kernel.match == "position" else 0.0), set()
    for m, n in product(one, other):
        apart = (m - i) - (n - k)
        if f[m] != g[n] or (apart and (kernel.match == "exact" or (kernel.match == "position" and not kernel.theta))):
            continue
        equal.add(m)
        value = (
            value * (1 + math.exp(-((apart / (kernel.theta or 1)) ** 2))) if kernel.match == "position" else value + 1
        )
    first, last = min(equal), max(equal)
    return (tuple(f[m] if m in equal else ... for m in range(first, last + 1)), i - first), value


def pairs_of(kernel: tl.Locality, a: Any, b: Any) -> dict[tuple[str, int], Vector]:
    """Return the shares of the windows of the first example with those of the second, by type and position."""
    found: dict[tuple[str, int], Vector] = {}
    for name, f in by_type(a).items():
        factor = (kernel.weights or {}).get(name, 1)
        g = by_type(b).get(name, ())
        for i, k in product(range(len(f)), range(len(g))):
            if f[i] == g[k] and factor:
                (features, middle), value = kappas(kernel, f, g, i, k)
                here = found.setdefault((name, i), Counter())
                here[Window(name, features, middle)] += factor * value  # type: ignore[operator]
    return found


@pytest.mark.parametrize("name", KERNELS)
@settings(max_examples=25)
@given(
    support=st.lists(sequences | typed_sequences, min_size=2, max_size=2), example=sequences | typed_sequences,
    normalized=st.booleans(), n=st.integers(1, 5),
)  # fmt: skip
def test_windows(name: str, support: list[Any], example: Any, normalized: bool, n: int) -> None:
    kernel = KERNELS[name]
    slow, alpha = definition(kernel), [1.0, -0.5]
    model = CompressedModel.of(kernel.normalized() if normalized else kernel, support, [alpha])
    sizes = [math.sqrt(slow(one, one)) if normalized else 1.0 for one in (*support, example)]
    shares: Counter[Any] = Counter()
    heat: Counter[Any] = Counter()
    for one, coefficient, size in zip(support, alpha, sizes, strict=False):
        for place, windows in pairs_of(kernel, example, one).items():
            for window, value in windows.items():
                shares[window] += coefficient * value / size / sizes[-1]
                heat[place] += coefficient * value / size / sizes[-1]
    explanation = tl.explain(model, example, limit=10**6)
    scale = 1e-9 * (1 + sum(map(abs, shares.values())))
    found = {one.tree: one.share for one in explanation.fragments}
    assert len(found) == len(explanation.fragments)
    for window in found.keys() | shares.keys():
        assert found.get(window, 0) == pytest.approx(shares[window], abs=scale)
    assert explanation.complete
    assert explanation.rest == pytest.approx(0, abs=scale)
    for one in explanation.heat:
        assert isinstance(one.tree, Feature)
        assert one.share == pytest.approx(heat[one.tree.type, one.tree.position], abs=scale)
    assert math.fsum(one.share for one in explanation.heat) == pytest.approx(explanation.score, abs=scale)
    check_largest([one.share for one in tl.explain(model, example, limit=n).fragments], list(shares.values()), n)


@pytest.mark.parametrize("name", KERNELS)
@settings(max_examples=10)
@given(a=sequences | typed_sequences, b=sequences | typed_sequences)
def test_the_heaviest_windows_are_those_that_add_most(name: str, a: Any, b: Any) -> None:
    kernel = KERNELS[name]
    values: dict[Any, float] = {}
    for one in (a, b):
        reach = int(kernel.window) // 2  # type: ignore[call-overload]
        for other, factor in ((a, 1.0), (b, -0.5)):
            for (kind, i), windows in pairs_of(kernel, one, other).items():
                f = by_type(one)[kind]
                whole = Window(kind, tuple(f[max(i - reach, 0) : i + reach + 1]), min(i, reach))
                values.setdefault((id(one), i, whole), 0.0)
                values[id(one), i, whole] += factor * sum(windows.values())
    expected = {window: value for (_, _, window), value in values.items()}
    top = tl.top_fragments(CompressedModel.of(kernel, [a, b], [[1.0, -0.5]]), 10**6)
    assert top.exact
    assert {one.tree: pytest.approx(one.weight, abs=1e-9) for one in top} == expected


def parses() -> list[tl.Dependencies]:
    words, tags = ["dogs", "bark", "loudly"], ["n", "v", "e"]
    links = [(0, 1, "Sp"), (1, 2, "MVa")]
    return [tl.Dependencies(words, tags, links), tl.Dependencies(words, tags, [(0, 1, "Sp"), (0, 2, "MVp")])]


def test_a_dependency_parse_is_explained_in_words() -> None:
    bank = parses()
    for kernel in (tl.Locality(), tl.Subsequence(length=1), tl.On("parse", tl.Locality().normalized())):
        on_column = isinstance(kernel, tl.On)
        X = [{"parse": parse} for parse in bank] if on_column else bank
        model = tl.RankRLS(kernel).fit(X, [1.0, 0.0], qid=[0, 0])
        why = tl.explain(model, (X[0], X[1]))
        assert why.score == pytest.approx(model.predict(X)[0] - model.predict(X)[1])
        assert [str(one.tree) for one in why.heat] == ["dogs/n", "bark/v", "loudly/e"] * 2
        assert math.fsum(one.share for one in why.heat) == pytest.approx(why.score)
        assert {one.column for one in why.heat} == {"parse" if on_column else None}
        assert why.fragments[0].share > 0
        assert set(feature_sequences(bank[0])) > {one.tree.type for one in why.fragments[:4]}
    window = tl.Locality(window=3, match="exact")
    texts = [str(one.tree) for one in tl.shared_fragments(*bank, window)]
    assert "word_tag: dogs/n [bark/v] loudly/e" in texts


# --- together -----------------------------------------------------------------------------------------------------


def rows() -> list[dict[str, Any]]:
    one = tl.Forest.from_trees([("(S (A x) (B y))", 0.6), ("(S (A x) (C y))", 0.4)])
    return [
        {"tree": "(S (A a) (B b))", "forest": one, "tags": "a/A b/B", "words": ["a", "b"], "size": [1.0]},
        {"tree": "(S (A a) (B c))", "forest": "(S (A x) (C y))", "tags": "a/A c/B", "words": ["a", "c"], "size": [2.0]},
        {"tree": "(S (A b))", "forest": None, "tags": None, "words": ["b", "a"], "size": [3.0]},
    ]


def test_sums_of_all_kinds_on_columns(tmp_path: Any) -> None:
    kernel = (
        0.5 * tl.On("tree", tl.SubsetTree().normalized() + tl.PartialTree())
        + 2 * tl.On("forest", tl.ForestKernel()).normalized()
        + tl.On("tags", tl.Tagging())
        + tl.On("words", tl.Locality() + tl.Subsequence(length=2)).normalized()
        + tl.On("size", tl.Linear())
    )
    X = rows()
    model = tl.RLS(kernel).fit(X, [1.0, -1.0, 0.5])
    tl.save(model, tmp_path / "m.treelet")
    for asked in (model, tl.load(tmp_path / "m.treelet")):
        for example in X:
            explanation = tl.explain(asked, example, limit=10**6)
            assert not explanation.others
            others = math.fsum(one.share for one in explanation.fragments if one.column == "size")
            assert explanation.score == pytest.approx(model.predict([example])[0])
            assert explanation.complete
            assert explanation.rest == pytest.approx(explanation.intercept, abs=1e-9)
            heat = math.fsum(one.share for one in explanation.heat)
            assert heat + others + explanation.intercept == pytest.approx(explanation.score, abs=1e-9)
        first = tl.explain(asked, X[0], limit=10**6)
        assert {one.column for one in first.fragments} == {"tree", "forest", "tags", "words", "size"}
        kinds = {tl.Tree if isinstance(one.tree, tl.Tree) else type(one.tree) for one in first.fragments}
        assert kinds == {tl.Tree, TagRun, FeatureSubsequence, Window, VectorFeature}
        few = tl.explain(asked, X[0], limit=4)
        assert [one.share for one in few.fragments] == [one.share for one in first.fragments[:4]]
        assert few.exact
        assert len(tl.top_fragments(asked, 50)) > 20
        assert "a/A" in str(first) + "".join(str(one.tree) for one in first.fragments)


def test_is_shown_and_escaped() -> None:
    X = ["<b>/D x/N", "y/D x/N"]
    model = tl.RLS(tl.Tagging()).fit(X, [1, -1])
    for shown in (
        tl.explain(model, X[0])._repr_html_(),
        tl.top_fragments(model, 9)._repr_html_(),
        tl.shared_fragments(X[0], X[0], tl.Tagging())._repr_html_(),
    ):
        assert "&lt;b&gt;/D" in shown
        assert "<b>" not in shown


@pytest.mark.parametrize(
    ("kernel", "example"),
    [
        (tl.ForestKernel(), None),
        (tl.Tagging(), None),
        (tl.Locality(), None),
        (tl.Locality(), []),
        (tl.Subsequence(length=10**9), ["a", "b"]),
        (tl.Subsequence(length=3), {"w": ["a"], "v": []}),
    ],
)
def test_nothing_to_explain(kernel: Any, example: Any) -> None:
    model = CompressedModel.of(kernel, [example, example], [[1.0, 2.0]])
    explanation = tl.explain(model, example)
    assert (explanation.score, explanation.fragments, explanation.complete) == (0, [], True)
    assert all(one.share == 0 for one in explanation.heat)
    assert tl.top_fragments(model, 3) == []


def test_what_is_large_is_explained_without_heat() -> None:
    many = [str(number % 7) for number in range(3_000)]
    for kernel in (tl.Locality(), tl.Subsequence(lam=0.1, length=2)):
        explanation = tl.explain(CompressedModel.of(kernel, [many], [np.ones(1)]), many, limit=5)
        assert explanation.heat == []
        assert len(explanation.fragments) == 5
    long = tl.Tagged(many, ["N"] * len(many))
    top = tl.top_fragments(CompressedModel.of(tl.Tagging(), [long], [[1.0]]), 3)
    assert str(top[0].tree) == "N"
