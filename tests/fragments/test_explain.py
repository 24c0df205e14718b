"""Explanations and heaviest fragments: exactly those of the slow definition, and they add up to the score."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import LinearSVC

import treelet as tl
from conftest import trials
from definitions.fragments import at_node, norm, vector
from definitions.fragments import weights as slow_weights
from treelet.datasets import flights
from treelet.errors import InputTypeError, ParameterError
from treelet.explorer.workspace import ModelView
from treelet.kernels import fragments as search
from treelet.kernels.fragments import VectorFeature
from treelet.learn.model import CompressedModel
from treelet.report import report
from treelet.testing import banks, trees

KERNELS = {
    "st": tl.Subtree(lam=0.7),
    "sst": tl.SubsetTree(lam=0.4),
    "sst-count": tl.SubsetTree(lam=1),
    "sst-depth2": tl.SubsetTree(lam=0.6, max_depth=2),
    "sst-leaves": tl.SubsetTree(lam=0.5, leaves=True),
    "pt": tl.PartialTree(lam=0.4, mu=0.3),
    "pt-no-leaves": tl.PartialTree(lam=0.7, mu=0.6, leaves=False),
    "pt-count": tl.PartialTree(lam=1, mu=1),
}
each_kernel = pytest.mark.parametrize("name", KERNELS)
coefficients = st.lists(st.floats(-2, 2).map(lambda value: round(value, 2)), min_size=4, max_size=4)


@each_kernel
@settings(max_examples=60)
@given(bank=banks(max_size=4, max_nodes=8), tree=trees(max_nodes=8), alpha=coefficients, normalized=st.booleans())
def test_shares_are_those_of_the_slow_definition(
    name: str, bank: list[tl.Tree], tree: tl.Tree, alpha: list[float], normalized: bool
) -> None:
    kernel, alpha = KERNELS[name], alpha[: len(bank)]
    model = CompressedModel.of(
        kernel.normalized() if normalized else kernel, bank, np.array([np.ones(len(bank)), alpha])
    )
    explanation = tl.explain(model, tree, 1, limit=10**6)
    weights, size = slow_weights(kernel, bank, alpha, normalized), norm(kernel, tree, normalized)
    expected = {f: value / size * weights[f] for f, value in vector(kernel, tree).items() if f in weights}
    scale = 1e-9 * (sum(map(abs, expected.values())) + 1e-6)
    found = {one.tree: one.share for one in explanation.fragments}
    assert len(found) == len(explanation.fragments), "a fragment is listed twice"
    for fragment in found.keys() | expected.keys():
        assert found.get(fragment, 0) == pytest.approx(expected.get(fragment, 0), abs=scale)
    assert explanation.complete
    assert explanation.exact
    assert explanation.score == pytest.approx(model.score([tree])[0, 1], abs=scale)
    assert explanation.rest == pytest.approx(0, abs=scale)
    assert all(abs(x.share) >= abs(y.share) for x, y in pairwise(explanation.fragments))
    for node, heat in zip(tree.nodes(), explanation.heat, strict=True):
        assert heat.tree == node
        here = sum(value / size * weights.get(f, 0) for f, value in at_node(kernel, node).items())
        assert heat.share == pytest.approx(here, abs=scale)


@each_kernel
@settings(max_examples=trials(100))
@given(
    bank=banks(max_size=4, max_nodes=9), tree=trees(max_nodes=9), alpha=coefficients, n=st.integers(1, 8),
    normalized=st.booleans(),
)  # fmt: skip
def test_a_limit_keeps_the_largest(
    name: str, bank: list[tl.Tree], tree: tl.Tree, alpha: list[float], n: int, normalized: bool
) -> None:
    kernel, alpha = KERNELS[name], alpha[: len(bank)]
    model = CompressedModel.of(kernel.normalized() if normalized else kernel, bank, [alpha])
    weights, size = slow_weights(kernel, bank, alpha, normalized), norm(kernel, tree, normalized)
    top = tl.top_fragments(model, n)
    assert top.exact
    largest = sorted(map(abs, weights.values()), reverse=True) + [0.0] * n
    assert [abs(one.weight) for one in top] == pytest.approx(largest[: len(top)], rel=1e-9, abs=1e-9)
    assert largest[len(top)] < 1e-9 or len(top) == n
    for one in top:
        assert one.weight == pytest.approx(weights[one.tree], rel=1e-9, abs=1e-9)
    explanation = tl.explain(model, tree, limit=n)
    assert explanation.exact
    shares = [abs(value / size * weights[f]) for f, value in vector(kernel, tree).items() if f in weights]
    largest = sorted(shares, reverse=True) + [0.0] * n
    found = [abs(one.share) for one in explanation.fragments]
    assert found == pytest.approx(largest[: len(found)], rel=1e-9, abs=1e-9)
    assert largest[len(found)] < 1e-9 or len(found) == n


@settings(max_examples=60)
@given(bank=banks(max_size=3, max_nodes=7), alpha=coefficients)
def test_weights_of_partial_trees(bank: list[tl.Tree], alpha: list[float]) -> None:
    kernel, alpha = KERNELS["pt"], alpha[: len(bank)]
    top = tl.top_fragments(CompressedModel.of(kernel, bank, [alpha]), 10**6)
    weights = slow_weights(kernel, bank, alpha, False)
    assert top.complete
    found = {one.tree: one.weight for one in top}
    for fragment in found.keys() | weights.keys():
        assert found.get(fragment, 0) == pytest.approx(weights.get(fragment, 0), rel=1e-9, abs=1e-9)


@each_kernel
@settings(max_examples=40)
@given(bank=banks(min_size=3, max_size=4, max_nodes=8), alpha=coefficients, n=st.integers(1, 6))
def test_why_one_and_not_another(name: str, bank: list[tl.Tree], alpha: list[float], n: int) -> None:
    kernel = KERNELS[name].normalized()
    a, b, *support = bank
    model = CompressedModel.of(kernel, support, [alpha[: len(support)]])
    apart = [{one.tree: one.share for one in tl.explain(model, tree, limit=10**6).fragments} for tree in (a, b)]
    shares = sorted((abs(apart[0].get(f, 0) - apart[1].get(f, 0)) for f in {**apart[0], **apart[1]}), reverse=True)
    both = tl.explain(model, (a, b), limit=n)
    found = [abs(one.share) for one in both.fragments]
    assert found == pytest.approx((shares + [0.0] * n)[: len(found)], rel=1e-9, abs=1e-9)
    assert (shares + [0.0] * (n + 1))[len(found)] < 1e-9 or len(found) == n
    scores = model.score([a, b])
    assert both.score == pytest.approx(scores[0, 0] - scores[1, 0], abs=1e-9)
    assert math.fsum(one.share for one in both.heat) == pytest.approx(both.score, abs=1e-9)


def test_sums_columns_and_what_has_no_fragments() -> None:
    kernel = (
        0.5 * tl.On("tree", tl.SubsetTree(lam=0.4).normalized() + tl.PartialTree(lam=0.4, mu=0.3))
        + tl.On("other", tl.Subtree())
        + tl.On("size", tl.Linear())
        + 2
    )
    rows = [
        {"tree": "(S (A a) (B b))", "other": "(A a)", "size": [1.0]},
        {"tree": "(S (A a) (B c))", "other": "(B c)", "size": [2.0]},
        {"tree": "(S (A b))", "other": "(A a)", "size": [3.0]},
    ]
    model = tl.RLS(kernel).fit(rows, [1.0, -1.0, 0.5])
    explanation = tl.explain(model, rows[0], limit=10**6)
    assert explanation.complete
    assert explanation.score == pytest.approx(model.predict(rows[:1])[0])
    assert {one.column for one in explanation.fragments} == {"tree", "other", "size"}
    kinds = {tl.Subtree, tl.SubsetTree, tl.PartialTree, tl.Linear}
    assert {type(one.kernel) for one in explanation.fragments} == kinds
    (size,) = (one for one in explanation.fragments if one.column == "size")
    assert str(size.tree) == "size = 1"
    others = math.fsum(one.share for one in explanation.others)
    assert [one.kernel for one in explanation.others] == [tl.kernels.Constant(2)]
    assert explanation.rest == pytest.approx(others, abs=1e-9)
    others += size.share
    assert [one.column for one in explanation.heat] == ["tree"] * 5 + ["other"] * 2
    assert math.fsum(one.share for one in explanation.heat) + others == pytest.approx(explanation.score, abs=1e-9)
    few = tl.explain(model, rows[0], limit=3)
    assert [one.share for one in few.fragments] == [one.share for one in explanation.fragments[:3]]
    top = tl.top_fragments(model, 5)
    assert [abs(one.weight) for one in top] == sorted((abs(one.weight) for one in top), reverse=True)


WORDS = tl.On("words", tl.Linear())
VECTOR_KERNELS = {
    "plain": WORDS,
    "multiple": 0.5 * WORDS,
    "normalized": 0.4 * WORDS.normalized(),
    "cosine": tl.On("words", tl.Linear().normalized()),
    "twice": (WORDS + tl.On("words", tl.Linear()).normalized()).normalized(),
}
VECTOR_FORMS: dict[str, Any] = {
    "dense": lambda rows: rows,
    "sparse": lambda rows: list(map(scipy.sparse.csr_matrix, rows)),
    "dicts": lambda rows: [dict(zip("abc", row, strict=True)) for row in rows],
}


@given(
    st.data(),
    st.sampled_from(list(VECTOR_KERNELS)),
    st.sampled_from(list(VECTOR_FORMS)),
    st.booleans(),
    st.sampled_from([1, 2]),
)
@settings(max_examples=40)
def test_features_of_vectors_by_the_definition(data: Any, name: str, form: str, normalized: bool, outputs: int) -> None:
    number = st.sampled_from([-2.0, -0.5, 0.0, 1.0, 3.0])
    vectors = data.draw(st.lists(st.lists(number, min_size=3, max_size=3), min_size=3, max_size=6))
    texts = [f"(S (A {'xy'[position % 2]}))" for position in range(len(vectors))]
    X = [{"tree": t, "words": w} for t, w in zip(texts, VECTOR_FORMS[form](vectors), strict=True)]
    alpha = np.array(data.draw(st.lists(st.lists(number, min_size=len(X), max_size=len(X)), min_size=2, max_size=2)))
    kernel: Any = tl.On("tree", tl.SubsetTree()) + VECTOR_KERNELS[name]
    kernel = kernel.normalized() if normalized else kernel
    model = CompressedModel.of(kernel, X, alpha[:outputs])
    explanation = tl.explain(model, X[0], outputs - 1, limit=10**6)
    counts = np.array(vectors)
    lengths = np.linalg.norm(counts, axis=1)
    outer = kernel.kernel.diag(X) ** 0.5 if normalized else np.ones(len(X))

    def inverse(lengths: Any) -> Any:
        return np.divide(1.0, lengths, out=np.zeros(len(X)), where=lengths > 0)

    plain, cosine = np.ones(len(X)), inverse(lengths)
    factors = {
        "plain": [(1.0, plain)],
        "multiple": [(0.5, plain)],
        "normalized": [(0.4, cosine)],
        "cosine": [(1.0, cosine)],
        "twice": [(1.0, root := inverse((lengths**2 + (lengths > 0)) ** 0.5)), (1.0, root * cosine)],
    }[name]
    wanted = sum(
        factor * counts[0] * ((alpha[outputs - 1] * roots * inverse(outer)) @ counts) * roots[0] * inverse(outer)[0]
        for factor, roots in factors
    )
    found = dict.fromkeys("abc" if form == "dicts" else range(3), 0.0)
    for one in explanation.fragments:
        if isinstance(one.tree, VectorFeature):
            assert one.column == one.tree.column == "words"
            assert one.tree.value == counts[0][list(found).index(one.tree.name)]
            found[one.tree.name] += one.share
    np.testing.assert_allclose(list(found.values()), wanted, atol=1e-9)
    assert explanation.complete
    assert not explanation.others
    assert explanation.rest == pytest.approx(0, abs=1e-9)
    assert math.fsum(one.share for one in explanation.fragments) == pytest.approx(explanation.score, abs=1e-9)
    if name == "multiple" and not normalized:
        heaviest = {
            one.tree.name: one.weight for one in tl.top_fragments(model, 99, outputs - 1) if one.column == "words"
        }
        weights = 0.5 * alpha[outputs - 1] @ counts
        np.testing.assert_allclose([heaviest.get(feature, 0.0) for feature in found], weights, atol=1e-9)


def test_features_have_columns_and_names(tmp_path: Any) -> None:
    rows = [
        {"tree": "(A x)", "size": 3, "depth": 2.0, "words": {"who": 1, "wrote": 2}, "bits": [0, 1]},
        {"tree": "(A y)", "size": 1, "depth": 0.5, "words": {"where": 1}, "bits": [1, 0]},
    ]
    kernel = tl.On("tree", tl.SubsetTree()) + tl.On(("size", "depth"), tl.Linear())
    kernel += tl.On("words", tl.Linear() + tl.Polynomial()) + tl.On(["bits", "size"], tl.Linear().normalized())
    model = tl.KernelSVC(kernel).fit(rows, ["a", "b"])
    explanation = tl.explain(model, rows[0], limit=10**6)
    texts = {str(one.tree): one.column for one in explanation.fragments}
    assert texts == {
        "(A x)": "tree",
        "size = 3": "size",
        "depth = 2": "depth",
        "words[who] = 1": "words",
        "words[wrote] = 2": "words",
        "bits/size[1] = 1": ("bits", "size"),
        "bits/size[2] = 3": ("bits", "size"),
    }
    assert [one.kernel for one in explanation.others] == [tl.Polynomial()]
    assert explanation.rest == pytest.approx(explanation.others[0].share + explanation.intercept)
    pair = tl.explain(model, (rows[0], rows[1]), "a")
    assert {"size = 2", "words[where] = -1"} < {str(one.tree) for one in pair.fragments}
    assert explanation.fragments[0].share == max(abs(one.share) for one in explanation.fragments)
    few = tl.explain(model, rows[0], limit=2)
    assert (few.fragments, few.complete) == (explanation.fragments[:2], False)
    tl.save(model, tmp_path / "m.treelet")
    assert tl.explain(tl.load(tmp_path / "m.treelet"), rows[0], limit=10**6).fragments == explanation.fragments
    assert {"size", "depth", "words[wrote]"} < {str(one.tree) for one in tl.top_fragments(model, 100)}
    assert explanation._repr_html_().count("words[wrote] = 2") == 1


def examples() -> tuple[list[str], list[str]]:
    X = [f"(S (Q {question}) (N {noun}))" for question in ("who", "where", "when") for noun in ("x", "y", "z")]
    return X, [label for label in ("human", "place", "time") for _ in range(3)]


def test_classes() -> None:
    X, y = examples()
    classifier = tl.KernelSVC(tl.SubsetTree()).fit(X, y)
    values = classifier.model_.score(X[:1])[0] + classifier.intercept_
    names = ["human", "place", "time"]
    for number, label in enumerate(names):
        explanation = tl.explain(classifier, X[0], label)
        assert explanation.score == pytest.approx(values[number])
        assert explanation.rest == pytest.approx(explanation.intercept, abs=1e-9)
        word = {"human": "who", "place": "where", "time": "when"}[label]
        assert str(max(tl.top_fragments(classifier, 5, label), key=lambda one: one.weight).tree) == f"(Q {word})"
    assert tl.explain(classifier, X[0]).output == "human"
    with pytest.raises(ParameterError, match="'human', 'place', 'time'"):
        tl.explain(classifier, X[0], "animal")
    with pytest.raises(ParameterError, match="model has 3 classes"):
        tl.top_fragments(classifier, 5)


def test_two_classes() -> None:
    X, y = examples()
    classifier = tl.KernelSVC(tl.SubsetTree().normalized()).fit(X[:6], y[:6])
    (score,) = classifier.decision_function(X[:1])
    assert tl.explain(classifier, X[0], "place").score == pytest.approx(score)
    assert tl.explain(classifier, X[0], "human").score == pytest.approx(-score)
    assert tl.explain(classifier, X[0]).output == "human"
    assert tl.top_fragments(classifier, 1).output == "place"


@pytest.mark.parametrize("ranker", [tl.VotedPerceptron, tl.RankSVM, tl.RankRLS])
def test_rankers(ranker: Any) -> None:
    X = ["(S (A good) (B x))", "(S (A bad) (B x))", "(S (A good) (B y))", "(S (A bad) (B y))"]
    model = ranker(tl.SubsetTree()).fit(X, [1, 0, 1, 0], qid=[0, 0, 1, 1])
    better, worse = model.predict(X[:2])
    why = tl.explain(model, (X[0], X[1]))
    assert why.score == pytest.approx(better - worse)
    assert {str(one.tree) for one in why.fragments[:2]} == {"(A good)", "(A bad)"}
    assert why.rest == pytest.approx(0, abs=1e-9)


def test_a_saved_model_and_a_regressor(tmp_path: Any) -> None:
    X, _ = examples()
    model = tl.KernelSVR(tl.PartialTree()).fit(X, range(9))
    tl.save(model, tmp_path / "m.treelet")
    again = tl.load(tmp_path / "m.treelet")
    explanation = tl.explain(again, X[3], limit=10**6)
    assert explanation.score == pytest.approx(model.predict(X[3:4])[0])
    assert explanation.complete
    assert explanation.rest == pytest.approx(model.intercept_[0], abs=1e-9)


def test_values_that_are_too_large_for_plain_numbers() -> None:
    tree = tl.Tree("w")
    for number in range(12):
        tree = tl.Tree(f"A{number}", [tree, tree])  # 8,191 nodes
    model = CompressedModel.of(tl.SubsetTree(lam=1).normalized(), [tree], [[1.0]])
    explanation = tl.explain(model, tree)
    assert explanation.score == pytest.approx(1)
    assert math.fsum(one.share for one in explanation.heat) == pytest.approx(1)
    assert explanation.heat[0].share == pytest.approx(1)  # nearly all of its fragments have that root


def test_shares_where_self_values_are_too_large() -> None:
    tree, kernel = tl.Tree("S", [tl.Tree(f"A{number}", ["w"]) for number in range(950)]), tl.SubsetTree(lam=1)
    model = CompressedModel.of(kernel.normalized(), [tree], [[1.0]])
    assert model.terms[0].needs_scaling
    log = kernel.self_values([tree], logs=True)[0]
    assert tl.explain(model, tree, limit=1).fragments[0].share == pytest.approx(math.exp(-log), rel=1e-9, abs=0)
    assert tl.top_fragments(model, 1)[0].weight == pytest.approx(math.exp(-log / 2), rel=1e-9, abs=0)


def test_a_score_that_does_not_fit_is_an_error() -> None:
    tree = tl.Tree("w")
    for number in range(12):
        tree = tl.Tree(f"A{number}", [tree, tree])
    with pytest.raises(tl.errors.KernelOverflowError, match="smaller lam"):
        tl.explain(CompressedModel.of(tl.SubsetTree(lam=1), [tree], [[1.0]]), tree)


def test_parts_that_cancel_grow_to_what_does_not() -> None:
    support = [f"(S (A {a}) (B {b}))" for a in "xy" for b in "xy"]
    model = CompressedModel.of(tl.SubsetTree(lam=1), [*support, "(C c)", "(D d)"], [[1, -1, -1, 1, 0.5, 0.5]])
    top = tl.top_fragments(model, 4)
    assert top.exact
    assert {str(one.tree): one.weight for one in top} == dict(zip(support, [1, -1, -1, 1], strict=True))
    tree = f"(T {support[0]} (C c) (D d))"
    (best,) = tl.explain(model, tree, limit=1).fragments
    assert (str(best.tree), best.share) == (support[0], 1)


def test_a_deep_tree_has_no_heat() -> None:
    tree = tl.Tree("w")
    for _ in range(20_000):
        tree = tl.Tree("A", [tree])
    explanation = tl.explain(CompressedModel.of(tl.SubsetTree(), [tree], [[1.0]]), tree)
    assert explanation.heat == []
    assert len(explanation.fragments) == 100
    assert explanation.exact
    assert not explanation.complete


def test_missing_and_strange_trees() -> None:
    model = CompressedModel.of(tl.SubsetTree().normalized(), ["(A a)"], [[1.0]])
    for tree in (None, "(B b)"):
        explanation = tl.explain(model, tree)
        assert (explanation.score, explanation.fragments, explanation.complete) == (0, [], True)


def test_large_trees_are_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_MAX_STEPS", 1_000)
    bank = flights(30)
    for kernel in (tl.SubsetTree(), tl.PartialTree()):
        model = CompressedModel.of(kernel, bank, [np.linspace(-1, 1, len(bank))])
        explanation, top = tl.explain(model, bank[0], limit=5_000), tl.top_fragments(model, 2_000)
        assert not explanation.exact
        assert not explanation.complete
        assert not top.exact
        assert len(top) <= 2_000
        assert math.fsum(one.share for one in explanation.heat) == pytest.approx(explanation.score)


@pytest.mark.parametrize(
    "kernel",
    [
        tl.SubsetTree().gaussian(1.0),
        tl.SubsetTree().polynomial(2),
        tl.SubsetTree() * tl.PartialTree(),
        tl.PartialTree(terminal_factor=0.5),
        tl.Linear(),
    ],
)
def test_kernels_without_fragments(kernel: Any) -> None:
    X = [[1.0], [2.0]] if isinstance(kernel, tl.Linear) else ["(A a)", "(A b)"]
    model = tl.RLS(kernel).fit(X, [0, 1])
    for ask in (lambda: tl.explain(model, X[0]), lambda: tl.top_fragments(model, 3)):
        with pytest.raises(InputTypeError, match="Subtree, SubsetTree, PartialTree"):
            ask()


def test_what_cannot_be_asked() -> None:
    X = ["(A a)", "(A b)"]
    with pytest.raises(NotFittedError, match="Call its fit method first"):
        tl.explain(tl.RLS(), X[0])
    with pytest.raises(InputTypeError, match="fitted classifier"):
        tl.explain(3, X[0])
    with pytest.raises(InputTypeError, match="This RLS cannot be explained, because"):
        tl.explain(tl.RLS("precomputed").fit(np.eye(2), [0, 1]), X[0])
    voting = tl.VotedPerceptron(prediction="voted").fit(X, [0, 1], qid=[0, 0])
    with pytest.raises(InputTypeError, match="explained, because it predicts by votes"):
        tl.top_fragments(voting, 3)
    two = tl.RLS(tl.SubsetTree()).fit(X, [[0, 1], [1, 0]])
    assert tl.explain(two, X[0], 1).score == pytest.approx(two.predict(X[:1])[0, 1])
    for output in (None, 2, "a", True):
        with pytest.raises(ParameterError, match="index of an output, from 0 to 1"):
            tl.explain(two, X[0], output)
    with pytest.raises(ParameterError, match="'limit' parameter"):
        tl.explain(two, X[0], 1, limit=0)
    with pytest.raises(ParameterError, match="'n' parameter"):
        tl.top_fragments(two, 0, 1)


def test_is_shown() -> None:
    X = ["(NP (D the) (N <b>))", "(NP (D the) (N pear))"]
    model = tl.RLS(tl.SubsetTree(lam=0.5)).fit(X, [1, -1])
    explanation, top = tl.explain(model, X[0]), tl.top_fragments(model, 3)
    assert repr(explanation).startswith("<Explanation of 0: score ")
    assert str(explanation).splitlines()[0] == f"{explanation.score:+.4f}  score of output 0"
    assert "(N <b>)" in str(explanation)
    assert len(str(top).splitlines()) == 3
    for shown in (explanation._repr_html_(), top._repr_html_()):
        assert "<img " in shown
        assert "&lt;b&gt;" in shown
        assert "<b>" not in shown


@pytest.mark.parametrize(
    ("labels", "output", "name"),
    [
        (["a", "b"], "a", "score of 'a'"),
        ([0, 1], 0, "score of class 0"),
        ([-1, 1], (-1, 1), "score of class -1 minus score of class 1"),
        (["a", "b"], ("a", "b"), "score of 'a' minus score of 'b'"),
    ],
)
def test_first_line_names_the_class(labels: list[Any], output: Any, name: str) -> None:
    trees = ["(A x)", "(B x)"]
    model = tl.KernelSVC().fit(trees, labels)
    assert str(tl.explain(model, trees[0], output)).splitlines()[0].split("  ")[1] == name


def test_more_than_there_are() -> None:
    trees = ["(S (A a) (B b))", "(S (A a) (C c))"]
    for kernel in (tl.Subtree(), tl.SubsetTree(max_depth=10**30), tl.PartialTree()):
        model = tl.RLS(kernel).fit(trees, [1, -1])
        assert tl.explain(model, trees[0], limit=10**30).fragments == tl.explain(model, trees[0], limit=100).fragments
        assert tl.top_fragments(model, 10**30) == tl.top_fragments(model, 1000)
        assert tl.shared_fragments(*trees, kernel, 10**30) == tl.shared_fragments(*trees, kernel, 1000)


def test_searches_and_pipelines_are_explained_by_their_best_or_last_estimator() -> None:
    X = ["(NP (D the) (N apple))", "(NP (D the) (N pear))", "(NP (D an) (N apple))", "(NP (D a) (N pear))"] * 2
    y = ["a", "b"] * 4
    step = tl.KernelSVC(tl.SubsetTree(lam=0.5))
    search = GridSearchCV(step, {"C": [1, 10]}, cv=2).fit(X, y)
    pipeline = Pipeline([("nothing", "passthrough"), ("svc", step)]).fit(X, y)
    both = GridSearchCV(Pipeline([("svc", step)]), {"svc__C": [1, 10]}, cv=2).fit(X, y)
    for model, inner in ((search, search.best_estimator_), (pipeline, pipeline[-1]), (both, both.best_estimator_[-1])):
        assert tl.explain(model, X[0]).fragments == tl.explain(inner, X[0]).fragments
        assert tl.top_fragments(model, 3) == tl.top_fragments(inner, 3)
        assert report(model, X, y).figures == report(inner, X, y).figures
        assert vars(ModelView(model, "m").model) is vars(inner)
    calls = [lambda m: tl.explain(m, X[0]), lambda m: tl.top_fragments(m, 3), lambda m: report(m, X, y)]
    without_best = GridSearchCV(step, {"C": [1]}, cv=2, refit=False).fit(X, y)
    transforming = Pipeline([("same", FunctionTransformer()), ("svc", step)])
    sketch = tl.TreeSketch(tl.SubsetTree()).fit(X)
    for model, message in (
        (GridSearchCV(step, {"C": [1]}), "Call its fit method first"),
        (without_best, "Call its fit method first"),
        (transforming, r"last step, pipeline\[-1\]"),
        (Pipeline([("sketch", sketch), ("svc", LinearSVC())]), "fitted classifier, regressor or ranker"),
        (sketch, "fitted classifier, regressor or ranker"),
    ):
        for call in calls:
            with pytest.raises(InputTypeError, match=message):
                call(model)
