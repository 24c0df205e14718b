"""Packed forests, and the kernel between them, against the slow definitions."""

import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treelet as tl
from conftest import trials
from definitions.derivations import expected_nodes
from treelet.cuts import ForestIndex, span_forest, sub_forest
from treelet.errors import FormatError, InputTypeError, ParameterError, TreeError
from treelet.testing import forests, trees

TWO = [("(S (A x) (B y))", 0.6), ("(S (A x) (C y))", 0.4)]


# --- the structure ----------------------------------------------------------------------------------------------


def test_packing_by_hand():
    forest = tl.Forest.from_trees(TWO)
    assert [tuple(node) for node in forest.nodes if node.label == "S"] == [("S", 0, 2)]
    assert forest.words == ["x", "y"]
    assert forest.count_trees() == 2
    assert forest.best() == (tl.Tree.parse("(S (A x) (B y))"), pytest.approx(0.6))
    assert forest.probability() == pytest.approx(1)
    by_label = {node.label: value for node, value in zip(forest.nodes, forest.posterior(), strict=True)}
    assert by_label == pytest.approx({"S": 1, "A": 1, "B": 0.6, "C": 0.4, "x": 1, "y": 1})


def test_packing_admits_mixtures_and_the_union_does_not():
    items = [("(S (A x) (B y))", 0.5), ("(S (C x) (D y))", 0.5)]
    mixed = [("(S (N (A x)) (N (B y)))", 0.5), ("(S (N (C x)) (N (D y)))", 0.5)]
    assert tl.Forest.from_trees(items).count_trees() == 2  # different productions, so there is nothing to mix
    packed = tl.Forest.from_trees(mixed)
    assert packed.count_trees() == 4
    assert sorted(p for _, p in packed.trees()) == pytest.approx([0.25] * 4)
    exact = tl.Forest.from_trees(mixed, packing="union")
    assert {str(tree): p for tree, p in exact.trees()} == pytest.approx(dict(mixed))


def test_packing_of_unary_cycles_is_acyclic():
    forest = tl.Forest.from_trees([("(A (B x))", 1), ("(B (A x))", 1), ("(A (A x))", 1)])
    assert {"(A (B x))", "(B (A x))", "(A (A x))"} <= {str(tree) for tree, _ in forest.trees()}


@settings(max_examples=trials(150), deadline=None)
@given(forests())
def test_inside_outside_and_kbest_are_those_of_the_trees(forest):
    listed = forest.trees()
    assert len(listed) == forest.count_trees()
    probabilities = [p for _, p in listed]
    assert probabilities == sorted(probabilities, reverse=True)
    assert math.fsum(probabilities) == pytest.approx(forest.probability(), rel=1e-9)
    inside, outside = forest.inside(), forest.outside()
    for number in range(len(forest.nodes)):
        assert inside[number] == pytest.approx(
            math.fsum(p for _, p in tl.Forest.from_columns(forest.columns._replace(root=number)).trees()), rel=1e-9
        )
    expected = expected_nodes(listed)
    got = {}
    heads = {edge.head for edge in forest.edges}
    for number, (node, value) in enumerate(zip(forest.nodes, inside * outside / inside[forest.root], strict=True)):
        if number in heads and node.label:
            got[tuple(node)] = got.get(tuple(node), 0) + value
    assert got == pytest.approx(expected, rel=1e-9)


@settings(max_examples=60, deadline=None)
@given(forests(), st.floats(0, 4))
def test_pruning_keeps_what_is_in_a_good_tree(forest, threshold):
    listed = forest.trees()
    best = listed[0][1]
    pruned = forest.prune(threshold)
    kept = {str(tree) for tree, p in listed if math.log(best / p) <= threshold}
    assert kept <= {str(tree) for tree, _ in pruned.trees()}
    assert pruned.best()[1] == pytest.approx(best)
    good = expected_nodes([(tree, p) for tree, p in listed if math.log(best / p) <= threshold + 1e-6])
    heads = {edge.head for edge in pruned.edges}
    assert {tuple(node) for number, node in enumerate(pruned.nodes) if number in heads and node.label} <= set(good)
    assert pruned.prune(threshold) == pruned


def test_temperature():
    sharp = tl.Forest.from_trees(TWO).temperature(0.5)
    a, b = (p for _, p in sharp.kbest(2))
    assert a / b == pytest.approx((0.6 / 0.4) ** 2)
    flat = tl.Forest.from_trees(TWO).temperature(1e6)
    a, b = (p for _, p in flat.kbest(2))
    assert a / b == pytest.approx(1, rel=1e-5)


def test_samples_follow_the_probabilities():
    drawn = tl.Forest.from_trees(TWO).sample(4000, random_state=3)
    share = sum(str(tree) == TWO[0][0] for tree in drawn) / 4000
    assert share == pytest.approx(0.6, abs=0.03)
    assert tl.Forest.from_trees(TWO).sample(5, random_state=1) == tl.Forest.from_trees(TWO).sample(5, random_state=1)


def test_over_a_span():
    forest = tl.Forest.from_trees(
        [("(S (X (A x) (B y)) (C z))", 0.5), ("(S (A x) (Y (B y) (C z)))", 0.3), ("(S (T (X (A x) (B y))) (C z))", 0.2)]
    )
    over = span_forest(forest, (0, 2))
    assert {str(tree): 0.7 * p for tree, p in over.trees()} == pytest.approx(
        {"(X (A x) (B y))": 0.5, "(T (X (A x) (B y)))": 0.2}
    )
    assert ForestIndex(forest).probability((0, 2)) == pytest.approx(0.7)
    assert span_forest(forest, (0, 3)).count_trees() == forest.count_trees()
    with pytest.raises(ParameterError, match="not within"):
        span_forest(span_forest(forest, (0, 1)), (0, 3))
    with pytest.raises(ParameterError, match="not within"):
        span_forest(forest, (5, 6))


def test_json_round_trip_and_pickle(tmp_path):
    forest = tl.Forest.from_trees(TWO)
    assert tl.Forest.from_json(forest.to_json()) == forest
    assert tl.Forest.from_json(json.loads(forest.to_json())) == forest
    assert pickle.loads(pickle.dumps(forest)) == forest
    bank = tl.ForestBank([forest, "(S (A x))", None])
    bank.write(tmp_path / "f.jsonl")
    assert tl.read_forests(tmp_path / "f.jsonl") == bank
    assert pickle.loads(pickle.dumps(bank)) == bank
    bank.write(tmp_path / "f.jsonl.gz")
    assert tl.read_forests(tmp_path / "f.jsonl.gz") == bank
    (tmp_path / "bad.jsonl").write_text(forest.to_json() + "\n" + forest.to_json()[:40] + "\n", encoding="utf-8")
    with pytest.raises(FormatError, match=r"bad.jsonl:2"):
        tl.read_forests(tmp_path / "bad.jsonl")


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", "3", '{"nodes": [["A", 0, 1]], "edges": [[0, [0], 0.0]], "root": 0}', '{"nodes": [["A", 0, 1]], "edges": [], "root": 7}',
     '{"nodes": [["A", 1, 1]], "edges": [], "root": 0}', '{"nodes": [["A", 0, 1], ["x", 0, 1]], "edges": [[0, [1], NaN]], "root": 0}',
     '{"nodes": [["A", 0, 1], ["x", 0, 1]], "edges": [[0, [9], -1]], "root": 0}'],
)  # fmt: skip
def test_bad_json(text):
    with pytest.raises((FormatError, TreeError)):
        tl.Forest.from_json(text)


@pytest.mark.parametrize(
    ("items", "error"),
    [
        ([], TreeError),
        ([("(S (A x))", 1), ("(S (A y))", 1)], TreeError),
        ([("(S (A x))", 0)], TreeError),
        ([("(S (A x))", math.nan)], TreeError),
        ([(None, 1)], TreeError),
        ([(tl.Tree("x"), 1)], TreeError),
        ([("x", 1)], FormatError),
        (["(S (A x))"], InputTypeError),
        ([("(S (A x))", "a")], InputTypeError),
        ([(1, "(S (A x))")], InputTypeError),
    ],
)
def test_bad_lists(items, error):
    with pytest.raises(error):
        tl.Forest.from_trees(items)


def test_bad_parts_and_parameters():
    forest = tl.Forest.from_trees(TWO)
    for call in (
        lambda: forest.prune(-1),
        lambda: forest.prune(math.nan),
        lambda: forest.temperature(0),
        lambda: forest.kbest(0),
        lambda: forest.kbest(1.5),
        lambda: sub_forest(forest, 99),
        lambda: tl.Forest.from_trees(TWO, packing="x"),
        lambda: tl.ForestKernel(lam=0),
    ):
        with pytest.raises(ParameterError):
            call()
    with pytest.raises(TreeError, match="cycle"):
        tl.Forest([("A", 0, 1), ("B", 0, 1)], [(0, [1], 0.5), (1, [0], 0.5)], root=0)
    with pytest.raises(TreeError, match="root"):
        tl.Forest([("A", 0, 1), ("B", 0, 1)], [])
    with pytest.raises(InputTypeError):
        tl.ForestBank(forest)
    with pytest.raises(TreeError, match="no tree"):
        tl.Forest([], []).best()


def test_a_deep_tree_is_a_forest():
    depth = 100_000
    tree = tl.Treebank(["(A " * depth + "x" + ")" * depth])[0]
    forest = tl.Forest.from_tree(tree)
    assert forest.count_trees() == 1
    assert forest.best()[0] == tree
    assert forest.sample() == tree


def test_counts_beyond_a_double():
    n = 200
    items = (
        [("x", i, i + 1) for i in range(n)] + [("A", i, i + 1) for i in range(n)] + [("B", i, i + 1) for i in range(n)]
    )
    nodes = [*items, *(("C", i, i + 1) for i in range(n)), ("S", 0, n)]
    edges = [(n + i, [i], 0.5) for i in range(n)] + [(2 * n + i, [i], 0.5) for i in range(n)]
    edges += [(3 * n + i, [n + i], 0.5) for i in range(n)] + [(3 * n + i, [2 * n + i], 0.5) for i in range(n)]
    edges += [(4 * n, list(range(3 * n, 4 * n)), 1.0)]
    assert tl.Forest(nodes, edges).count_trees() == 2**n
    assert "very many" not in repr(tl.Forest(nodes, edges))


# --- the kernel -------------------------------------------------------------------------------------------------


@settings(max_examples=trials(100), deadline=None)
@given(st.lists(trees(), min_size=2, max_size=5), st.sampled_from([0.4, 1.0]))
def test_forests_of_one_tree_give_the_subset_tree_kernel(bank, lam):
    np.testing.assert_allclose(tl.ForestKernel(lam=lam)(bank), tl.SubsetTree(lam=lam)(bank), rtol=1e-13)


def test_on_real_trees_it_is_the_subset_tree_kernel():
    bank = tl.datasets.flights(80)
    np.testing.assert_allclose(tl.ForestKernel(lam=0.4)(bank), tl.SubsetTree(lam=0.4)(bank), rtol=1e-12)


def test_algebra_threads_and_blocks():
    bank = tl.ForestBank([tl.Forest.from_trees(TWO), "(S (A x) (B y))", "(S (A x))", None] * 9)
    k = tl.ForestKernel(lam=0.5)
    K = k(bank)
    np.testing.assert_array_equal(K, k(bank, n_jobs=2))
    np.testing.assert_allclose(K, tl.gram(k, bank, memory="20kB", out=np.empty(K.shape)), rtol=1e-13)
    np.testing.assert_allclose(k.normalized()(bank), tl.ForestKernel(lam=0.5).normalized()(list(bank)), rtol=1e-13)
    d = np.sqrt(np.diag(K))
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(k.normalized()(bank), np.nan_to_num(K / np.outer(d, d)), rtol=1e-12)
    np.testing.assert_allclose((0.5 * k + k * k)(bank), 0.5 * K + K * K, rtol=1e-12)
    assert np.all(K[3] == 0)
    np.testing.assert_allclose(k(bank[::2], bank[[1, 2]]), K[::2][:, [1, 2]])


def test_large_values_do_not_overflow_when_normalized():
    tree = "(S " + "(A (B x))" * 800 + ")"
    bank = tl.ForestBank([tree, tree.replace("x", "y", 3)])
    with pytest.raises(tl.errors.KernelOverflowError):
        tl.ForestKernel(lam=1)(bank)
    np.testing.assert_allclose(
        tl.ForestKernel(lam=1).normalized()(bank), tl.SubsetTree(lam=1).normalized()(list(bank.best())), rtol=1e-9
    )


def test_repr_and_parameters():
    assert eval(repr(tl.ForestKernel(lam=0.3)), {"ForestKernel": tl.ForestKernel}) == tl.ForestKernel(lam=0.3)
    assert tl.ForestKernel().get_params() == {"lam": 0.4, "leaves": False, "lam_bounds": (1e-3, 1)}
    tl.testing.check_kernel(tl.ForestKernel(lam=0.4), ["(S (A x))", "(S (B x) (A y))", "(B x)"])


@pytest.mark.parametrize(
    ("nodes", "edges", "root"),
    [
        ([("", 0, 1)], [], 0),
        ([("", 0, 1), ("A", 0, 1)], [(1, [0], 1.0)], 1),
        ([("S", 0, 5), ("w", 3, 4), ("v", 1, 2)], [(0, [1, 2], 1.0)], 0),
        ([("S", 0, 2), ("w", 0, 1)], [(0, [1, 1], 1.0)], 0),
        ([("S", 0, 1)], [], -1),
        ([("S", 0, math.inf)], [], 0),
        ([("S", 0, 1), ("w", 0, 1)], [(math.inf, [1], 1.0)], 0),
    ],
)
def test_what_is_no_forest(nodes, edges, root):
    with pytest.raises(TreeError):
        tl.Forest(nodes, edges, root)


def test_extremes():
    forest = tl.Forest.from_trees(TWO)
    with pytest.raises(ParameterError, match="temperature 1e-320 is so small"):
        forest.temperature(1e-320)
    with pytest.raises(TreeError, match="less than 1e-300 times as probable"):
        tl.Forest.from_trees([("(S x)", 1e-300), ("(T x)", 1e300)])
    huge = tl.Forest([("S", 0, 1), ("A", 0, 1), ("x", 0, 1)], [(0, [1], 1e308), (1, [2], 1e308)])
    assert huge.probability() == math.inf
    assert huge.best()[1] == math.inf
    with pytest.raises(FormatError):
        tl.Forest.from_json("[" * 100_000)
    for call in (lambda: forest.kbest(10**30), lambda: forest.sample(10**30), lambda: forest.trees("a")):
        with pytest.raises(ParameterError):
            call()
    assert forest.prune(np.int64(3)) == forest.prune(3)
    with pytest.raises(ParameterError):
        forest.prune(True)


def test_with_scikit_learn(tmp_path):
    from sklearn.model_selection import GridSearchCV

    bank = tl.ForestBank([tl.Forest.from_trees(TWO), "(S (A x) (B y))", "(T (A x))", "(T (B x))"] * 6)
    y = ["s", "s", "t", "t"] * 6
    search = GridSearchCV(tl.KernelSVC(kernel=tl.ForestKernel()), {"C": [1, 10]}, cv=3).fit(bank, y)
    assert search.predict(bank).tolist() == y
    tl.save(search.best_estimator_, tmp_path / "m.treelet")
    loaded = tl.load(tmp_path / "m.treelet")
    np.testing.assert_array_equal(loaded.decision_function(bank), search.best_estimator_.decision_function(bank))
    with pytest.raises(InputTypeError, match="Forest"):
        tl.SubsetTree()(bank)


def test_k_best_of_independent_choices_comes_without_doubles():
    nodes, edges = [("S", 0, 4)], []
    weights = (0.5, 0.3, 0.15, 0.05)
    for place in range(4):
        nodes += [("N", place, place + 1), ("w", place, place + 1)]
        number = len(nodes)
        nodes += [(label, place, place + 1) for label in "ABCD"]
        for k, weight in enumerate(weights):
            edges += [(number - 2, [number + k], weight), (number + k, [number - 1], 1.0)]
    edges.append((0, [node for node, (label, _, _) in enumerate(nodes) if label == "N"], 1.0))
    found = tl.Forest(nodes, edges, root=0).kbest(4**4 + 1)
    assert len(found) == len({str(tree) for tree, _ in found}) == 4**4
    want = sorted((a * b * c * d for a in weights for b in weights for c in weights for d in weights), reverse=True)
    assert [p for _, p in found] == pytest.approx(want, rel=1e-12)
