"""Sequences of features and the kernels between them: equal to their slow definitions."""

from __future__ import annotations

import itertools
import math
import pickle
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treelet as tl
from conftest import trials
from definitions.kernels import definition
from treelet.testing import check_estimator, check_kernel

MATCHES = ["position", "exact", "count"]
TYPES = ["x", "y", "z"]
FEATURES = st.sampled_from(["a", "b", "c", 1, (1, "a")])
PLAIN = st.lists(FEATURES, max_size=9)
TYPED = st.dictionaries(st.sampled_from(TYPES), PLAIN, max_size=3)
SHORT = [list("abcab"), list("bca"), list("aabbc"), list("xyz"), [], list("abcabcabc")]


# --- locality -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("match", MATCHES)
def test_equals_the_triple_sum_on_many_pairs(match: str) -> None:
    pairs = 0

    @settings(max_examples=trials(300), deadline=None)
    @given(
        st.lists(st.one_of(PLAIN, TYPED), min_size=2, max_size=6),
        st.sampled_from([1, 2, 3, 4, 5, 6, 7, 8, 20, 301]),
        st.sampled_from([0, 0.1, 0.5, 1, 3.7, 1e6]),
    )
    def compare(examples: list[Any], window: int, theta: float) -> None:
        nonlocal pairs
        kernel = tl.Locality(window, theta, match)
        slow = definition(kernel)
        expected = np.array([[slow(a, b) for b in examples] for a in examples])
        np.testing.assert_allclose(kernel(examples), expected, rtol=1e-11)
        np.testing.assert_allclose(kernel(examples[:2], examples[1:]), expected[:2, 1:], rtol=1e-11)
        np.testing.assert_allclose(kernel.diag(examples), np.diag(expected), rtol=1e-11)
        pairs += len(examples) * (len(examples) + 1) // 2

    compare()
    assert pairs * 300 >= 1500 * trials(300), f"only {pairs} pairs were compared"


@settings(max_examples=trials(100), deadline=None)
@given(
    st.lists(TYPED, min_size=1, max_size=5),
    st.fixed_dictionaries({name: st.integers(1, 9) for name in TYPES}),
    st.dictionaries(st.sampled_from([*TYPES, "other"]), st.sampled_from([0, 0.5, 1, 2])),
    st.sampled_from(MATCHES),
)
def test_windows_and_weights_by_type(examples: list[Any], window: Any, weights: Any, match: str) -> None:
    kernel = tl.Locality(window, 0.7, match, weights)
    slow = definition(kernel)
    expected = [[slow(a, b) for b in examples] for a in examples]
    np.testing.assert_allclose(kernel(examples), expected, rtol=1e-11)


@pytest.mark.parametrize(("match", "each"), [("position", 2), ("exact", 1), ("count", 1)])
def test_a_window_of_one_counts_matches(match: str, each: int) -> None:
    K = tl.Locality(1, 0.5, match)(SHORT)
    matches = [[sum(x == y for x in a for y in b) for b in SHORT] for a in SHORT]
    np.testing.assert_array_equal(K, each * np.array(matches))


def test_places_are_those_in_the_windows() -> None:
    near = math.exp(-4)  # one position apart, theta = 0.5
    a, b = ["p", "q", "x", "y"], ["x", "y"]
    # x and y are at the same distance from each other, wherever they are in the sequences
    assert tl.Locality(3)([a], [b])[0, 0] == pytest.approx(2 * (2 * 2))
    assert tl.Locality(3, match="exact")([a], [b])[0, 0] == 4
    # "y x" against "x y": x has y on the left in one and on the right in the other, two positions apart
    assert tl.Locality(3)([["y", "x"]], [b])[0, 0] == pytest.approx(2 * (2 * (1 + math.exp(-16))))
    # x and the next x: each middle matches the neighbor of the other, one position apart
    assert tl.Locality(3)([["x", "x"]], [["x"]])[0, 0] == pytest.approx(2 * 2 * (1 + near))
    assert tl.Locality(3, match="count")([["x", "x"]], [["x"]])[0, 0] == 4
    assert tl.Locality(3, match="exact")([["x", "x"]], [["x"]])[0, 0] == 2
    for even, odd in [(2, 3), (4, 5)]:  # half of the window, rounded down
        np.testing.assert_array_equal(tl.Locality(even)(SHORT), tl.Locality(odd)(SHORT))


def test_a_wrong_definition_would_be_noticed() -> None:
    def careless(a: Any, b: Any) -> float:  # the distance between positions in the sequences, not in the windows
        total = 0.0
        for i, x in enumerate(a):
            for k, y in enumerate(b):
                if x == y:
                    met = [m - n for m in range(max(i - 1, 0), min(i + 2, len(a)))
                           for n in range(max(k - 1, 0), min(k + 2, len(b))) if a[m] == b[n]]  # fmt: skip
                    total += math.prod(1 + math.exp(-((d / 0.5) ** 2)) for d in met)
        return total

    with pytest.raises(AssertionError, match="slow definition"):
        check_kernel(tl.Locality(3), [list("pqxy"), list("xy")], reference=careless)


@pytest.mark.parametrize("match", MATCHES)
@settings(max_examples=60, deadline=None)
@given(
    examples=st.lists(PLAIN, min_size=2, max_size=9), window=st.integers(1, 9), theta=st.sampled_from([0.0, 0.3, 0.5])
)
def test_is_positive_semidefinite_where_it_says_so(match: str, examples: Any, window: int, theta: float) -> None:
    kernel = tl.Locality(window, theta, match)
    assert kernel.is_certain
    K = kernel.normalized()(examples)
    assert np.linalg.eigvalsh(K)[0] > -1e-9


def test_wide_theta_is_not_positive_semidefinite() -> None:
    """Two windows that differ only in the order of their features have nearly the same value as equal windows."""
    kernel = tl.Locality(5, 2.0)
    assert not kernel.is_certain
    near = np.log1p(np.exp(-((np.arange(5) / 2.0) ** 2)))
    toeplitz = near[np.abs(np.arange(5)[:, None] - np.arange(5))]
    assert np.linalg.eigvalsh(toeplitz)[0] < -1e-6  # the criterion of is_certain
    assert tl.Locality(10_001, 2.0).is_certain is False
    assert tl.Locality(10**9, 1.0).is_certain
    assert tl.Locality(10**9, 0).is_certain
    assert not tl.Locality(2**40, 1.2).is_certain
    assert tl.Locality({}, 2.0).is_certain


def test_small_sets_have_clearly_negative_eigenvalues() -> None:
    sequences = [list(each) for each in itertools.product("ab", repeat=7)]
    kernel = tl.Locality(7, 3.0)
    check_kernel(kernel, sequences[::19], reference=definition(kernel))
    eigenvalues = np.linalg.eigvalsh(kernel.normalized()(sequences))
    assert eigenvalues[0] / eigenvalues[-1] == pytest.approx(-2.8e-4, rel=0.02)


def test_exact_and_count_are_dot_products_of_pairs_in_windows() -> None:
    def pairs(sequence: list[str], places: bool) -> dict[str, int]:
        found: dict[str, int] = {}
        for i, x in enumerate(sequence):
            for m in range(max(i - 2, 0), min(i + 3, len(sequence))):
                key = str((x, sequence[m], m - i if places else None))
                found[key] = found.get(key, 0) + 1
        return found

    for match, places in [("exact", True), ("count", False)]:
        vectors = [pairs(sequence, places) for sequence in SHORT]
        np.testing.assert_array_equal(tl.Locality(5, match=match)(SHORT), tl.Linear()(vectors))


def test_large_values() -> None:
    kernel, long = tl.Locality(81, 100.0), ["x"] * 40  # 1,600 factors of nearly 2 in a window
    with pytest.raises(tl.errors.KernelOverflowError, match="normalized"):
        kernel([long])
    assert np.isinf(kernel.self_values([long]))[0]
    N = kernel.normalized()([long, ["x"] * 39 + ["y"], ["z"]])
    np.testing.assert_allclose(np.diag(N), 1)
    assert 0 < N[0, 1] < 1
    assert N[0, 2] == 0
    short = [["x"] * 5, ["x", "y", "x"]]
    logs = tl.Locality(5).evaluator(tl.structures.SequenceBank(short), logs=True)
    out = np.empty((2, 2))
    logs.fill(0, 2, out, False)
    np.testing.assert_allclose(np.exp(out), tl.Locality(5)(short), rtol=1e-12)


def test_threads_tiles_and_order_change_nothing() -> None:
    rng = np.random.default_rng(0)
    examples = [{"w": rng.integers(0, 6, rng.integers(0, 30)).tolist(), "t": list("ab")} for _ in range(150)]
    kernel = tl.Locality(5, 0.8)
    K = kernel(examples)
    np.testing.assert_allclose(kernel(examples, n_jobs=4), K, rtol=1e-12)
    np.testing.assert_allclose(tl.gram(kernel, examples, memory="1 MB"), K, rtol=1e-12)
    order = rng.permutation(150)
    np.testing.assert_allclose(kernel([examples[i] for i in order]), K[np.ix_(order, order)], rtol=1e-12)
    np.testing.assert_allclose(kernel(examples[:40], examples), K[:40], rtol=1e-12)
    np.testing.assert_allclose(kernel(examples).T, K, rtol=1e-12)


def test_parses() -> None:
    parse = tl.Dependencies(["dogs", "bark", "loudly"], ["n", "v", "e"], [(0, 1, "Sp"), (1, 2, "MVa")])
    other = tl.Dependencies(["dogs", "bark", "loudly"], ["n", "v", "e"], [(0, 1, "Sp"), (0, 2, "MVa")])
    K = tl.Locality(3)([parse, other])
    sequences = [tl.cuts.feature_sequences(item) for item in (parse, other)]
    assert K[0, 1] == pytest.approx(definition(tl.Locality(3))(*sequences))
    np.testing.assert_array_equal(tl.Locality(3)(tl.structures.DependencyBank([parse, other])), K)
    np.testing.assert_array_equal(tl.Locality(3)(sequences), K)
    table = {"parse": [parse, other], "x": [1.0, 2.0]}
    np.testing.assert_array_equal(tl.On("parse", tl.Locality(3))(table), K)
    G = tl.Locality(3).gaussian(5.0)([parse, other])
    assert G[0, 1] == pytest.approx(math.exp(-(K[0, 0] - 2 * K[0, 1] + K[1, 1]) / 25))


# --- subsequence ----------------------------------------------------------------------------------------------------


@settings(max_examples=trials(300), deadline=None)
@given(
    st.lists(st.one_of(PLAIN, TYPED), min_size=2, max_size=5),
    st.sampled_from([0.3, 0.5, 1.0]),
    st.sampled_from([1, 2, 3, 5]),
)
def test_subsequence_equals_the_definition(examples: list[Any], lam: float, length: int) -> None:
    kernel = tl.Subsequence(lam, length)
    slow = definition(kernel)
    expected = np.array([[slow(a, b) for b in examples] for a in examples])
    np.testing.assert_allclose(kernel(examples), expected, rtol=1e-11, atol=1e-300)
    np.testing.assert_allclose(kernel(examples[1:], examples), expected[1:], rtol=1e-11, atol=1e-300)
    np.testing.assert_allclose(kernel.diag(examples), np.diag(expected), rtol=1e-11)


def test_subsequence_by_hand_and_checked() -> None:
    lam = 0.7
    K = tl.Subsequence(lam, 2)([list("cat"), list("car")])  # the example of Lodhi et al.
    np.testing.assert_allclose(K, [[2 * lam**4 + lam**6, lam**4], [lam**4, 2 * lam**4 + lam**6]])
    check_kernel(tl.Subsequence(0.5, 2), SHORT, reference=definition(tl.Subsequence(0.5, 2)))
    assert (tl.Subsequence(0.5, 99)(SHORT) == 0).all()
    K, dK = tl.Subsequence(0.4, 3)(SHORT, eval_gradient=True)
    up, down = (tl.Subsequence(0.4 * math.exp(step), 3)(SHORT) for step in (1e-6, -1e-6))
    np.testing.assert_allclose(dK[:, :, 0], (up - down) / 2e-6, rtol=1e-5, atol=1e-12)


# --- banks ----------------------------------------------------------------------------------------------------------

ODD = st.one_of(
    st.text(max_size=4), st.sampled_from(["=", "==", "='a'", "=1", ""]), st.integers(), st.none(), st.booleans(), st.binary(max_size=3),
    st.floats(allow_nan=False), st.tuples(st.text(max_size=2), st.tuples(st.integers(), st.none())),
)  # fmt: skip


@settings(deadline=None)
@given(st.lists(st.one_of(st.none(), st.lists(ODD, max_size=5), st.dictionaries(st.text(max_size=3), st.lists(ODD, max_size=4))), max_size=6))  # fmt: skip
def test_banks_hold_what_they_are_given(items: list[Any]) -> None:
    def filled(item: Any) -> Any:
        if isinstance(item, dict):
            return {name: tuple(features) for name, features in item.items() if features}
        return None if item is None else tuple(item)

    expected = [filled(item) for item in items]
    bank = tl.structures.SequenceBank(items)
    assert [filled(item) for item in bank] == expected
    for again in (tl.structures.SequenceBank.from_trees(bank.as_trees()), pickle.loads(pickle.dumps(bank))):
        assert list(again) == expected
        assert again == bank
    assert [filled(item) for item in bank[::-1]] == expected[::-1]
    assert list(tl.structures.SequenceBank.concat([bank, [["x"]]])) == [*expected, ("x",)]
    assert bank.shape == (len(items),)


def test_equal_features_are_equal_across_banks() -> None:
    kernel = tl.Locality(1, match="count")
    assert kernel([[1, 2.5, (1, True)]], [[1.0, np.float64(2.5), (True, 1)]])[0, 0] == 1 + 1 + 1
    assert kernel([[1, "1", "=1", None, "None", b"a", "a"]], [["=1"]])[0, 0] == 1
    assert kernel([[np.str_("a")]], [["a"]])[0, 0] == 1
    assert kernel([[math.inf]], [[-math.inf]])[0, 0] == 0
    assert kernel([None, [], ["a"]], [["a"]]).tolist() == [[0], [0], [1]]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (["abc"], r"example 0.*A list of features is needed\. Got a str"),
        ("abc", "Got one string instead"),
        ({"a": ["x"]}, "one dict"),
        (3, "A collection of feature sequences is needed. Got an int instead"),
        ([["a"], 3], "dict of such lists, is needed"),
        ([["a", float("nan")]], "example 0, feature 1: NaN"),
        ([{"t": ["a", {}]}], "example 0, type 't', feature 1"),
        ([["a", frozenset("a")]], "feature 1"),
        ([[("a", ["b"])]], "feature 0.*Got a list instead"),
        ([{1: ["a"]}], "type must be a string"),
    ],
)
def test_wrong_examples(wrong: Any, says: str) -> None:
    with pytest.raises(tl.errors.InputTypeError, match=says):
        tl.structures.SequenceBank(wrong)


def test_wrong_parameters_and_trees() -> None:
    deep: Any = ()
    for _ in range(1000):
        deep = (deep,)
    with pytest.raises(tl.errors.InputTypeError, match="nested"):
        tl.structures.SequenceBank([[deep]])
    for wrong in ({"window": 0}, {"window": 2.5}, {"window": True}, {"window": {"a": 0}}, {"theta": -1}, {"theta": math.nan},
                  {"theta": math.inf}, {"match": "near"}, {"weights": {"a": -1}}, {"weights": [1]}, {"weights": {"a": math.nan}}):  # fmt: skip
        with pytest.raises(tl.errors.ParameterError, match=f"'{next(iter(wrong))}' parameter of Locality"):
            tl.Locality(**wrong)
    for wrong in ({"lam": 0}, {"length": 0}, {"length": 1.5}):
        with pytest.raises(tl.errors.ParameterError, match=f"'{next(iter(wrong))}' parameter of Subsequence"):
            tl.Subsequence(**wrong)
    with pytest.raises(tl.errors.ParameterError, match="Add an entry for every type"):
        tl.Locality({"x": 3})([{"x": ["a"], "y": ["b"]}])
    for tree in ("(A x)", "(A (B x) y)", "(A (B (C x)))", "(= (t x) (u (v y)))"):
        with pytest.raises(tl.errors.TreeError, match="SequenceBank"):
            tl.structures.SequenceBank.from_trees(tl.Treebank([tree]))
    with pytest.raises(tl.errors.TreeError, match="does not represent a feature"):
        tl.structures.SequenceBank.from_trees(tl.Treebank([tl.Tree("=", [tl.Tree("t", [tl.Tree("=os")])])]))
    assert eval(repr(tl.Locality({"a": 3}, 0.2, "exact", {"a": 2.0})), {"Locality": tl.Locality}) == tl.Locality(
        {"a": 3}, 0.2, "exact", {"a": 2.0}
    )


# --- learning -------------------------------------------------------------------------------------------------------


def examples_and_labels(n: int, seed: int = 0) -> tuple[list[list[str]], list[int]]:
    """Return sequences in which a comes directly before b, or does not."""
    rng = np.random.default_rng(seed)
    X = [[str(letter) for letter in rng.choice(list("abcd"), 8)] for _ in range(n)]
    return X, [int(("a", "b") in pairwise(x)) for x in X]


@pytest.mark.parametrize("kernel", [tl.Locality(3), tl.Subsequence(0.5, 2), tl.Locality(3, match="exact").normalized()])
def test_models(kernel: Any, tmp_path: Path) -> None:
    X, y = examples_and_labels(120)
    new, truth = examples_and_labels(60, seed=1)
    svm = tl.KernelSVC(kernel, C=10).fit(X, y)
    assert (svm.predict(new) == truth).mean() > 0.75
    K_new = kernel(new, X)[:, svm.support_]
    np.testing.assert_allclose(
        svm.decision_function(new), K_new @ svm.dual_coef_[0] + svm.intercept_, rtol=1e-8, atol=1e-9
    )
    tl.save(svm, tmp_path / "m.treelet")
    np.testing.assert_array_equal(tl.load(tmp_path / "m.treelet").decision_function(new), svm.decision_function(new))
    bank = tl.structures.SequenceBank(X)
    tl.save(bank, tmp_path / "bank.treelet")
    assert tl.load(tmp_path / "bank.treelet") == bank
    qid = np.repeat(np.arange(30), 4)
    graph = tl.VotedPerceptron(kernel, epochs=2).fit(X, y, qid=qid)
    scores = graph.predict(new)
    plain = tl.VotedPerceptron("precomputed", epochs=2).fit(kernel(X), y, qid=qid)
    np.testing.assert_allclose(scores, plain.predict(kernel(new, X)), rtol=1e-7, atol=1e-9)


def test_estimators() -> None:
    X, y = examples_and_labels(60)
    check_estimator(tl.KernelSVC(tl.Locality(3)), tl.structures.SequenceBank(X), y)


def test_parses_of_other_libraries_are_examples() -> None:
    """Stand-ins with those attributes of spaCy and stanza that are used."""

    class Doc(list[SimpleNamespace]):
        def has_annotation(self, name: str) -> bool:
            return name == "DEP"

    def doc(relation: str) -> Doc:
        words = [("dogs", "NOUN", relation, 1), ("bark", "VERB", relation and "ROOT", 1 if relation else 0)]
        tokens = Doc(SimpleNamespace(i=i, text=w, pos_=p, lemma_="", dep_=d) for i, (w, p, d, _) in enumerate(words))
        for token, (*_, head) in zip(tokens, words, strict=True):
            token.head = tokens[head] if relation else token
        return tokens

    word = SimpleNamespace(text="Go", upos="VERB", lemma=None, head=0, deprel="root")
    sentence = SimpleNamespace(tokens=[], words=[word])
    parses = [
        tl.Dependencies.from_heads(["dogs", "bark"], ["NOUN", "VERB"], [2, 0], ["nsubj", "ROOT"]),
        tl.Dependencies.from_heads(["Go"], ["VERB"], [0], ["root"]),
    ]
    for kernel in (tl.Locality(), tl.Subsequence(length=1)):
        np.testing.assert_array_equal(kernel([doc("nsubj"), sentence]), kernel(parses))
    with pytest.raises(tl.errors.TreeError, match=r"example 1: .* has not been parsed"):
        tl.Locality()([doc("nsubj"), doc("")])
    with pytest.raises(tl.errors.InputTypeError, match=r"one Doc instead\. Put it in a list"):
        tl.Locality()(doc("nsubj"))
    with pytest.raises(tl.errors.InputTypeError, match="Pass each of its sentences"):
        tl.Locality()([SimpleNamespace(sentences=[sentence])])
