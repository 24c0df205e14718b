"""The edit distance, its similarity and its scripts, against the slow definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treelet as tl
from conftest import trials
from definitions.edit_scripts import check_mapping, replayed
from definitions.kernels import definition
from treelet.testing import trees

COSTS = st.sampled_from([0, 0.25, 0.5, 1, 1.5, 2, 3])
LABELS = "abcd"


@st.composite
def distances(draw: st.DrawFn) -> tl.EditDistance:
    """Distances with all kinds of costs: constants, mappings, functions, word vectors."""
    kind = draw(st.sampled_from(["unit", "constants", "mappings", "function", "vectors"]))
    if kind == "unit":
        return tl.EditDistance()
    if kind == "constants":
        return tl.EditDistance(draw(COSTS), draw(COSTS), draw(COSTS))
    by_label = st.dictionaries(st.sampled_from(LABELS), COSTS)
    if kind == "mappings":
        return tl.EditDistance(draw(by_label), draw(by_label), draw(COSTS))
    if kind == "function":
        table = {(p, q): draw(COSTS) for p in LABELS for q in LABELS}
        return tl.EditDistance(draw(by_label), draw(COSTS), lambda p, q: table.get((p, q), 1.25))
    vectors = {label: [draw(st.integers(-3, 3)), draw(st.integers(-3, 3))] for label in LABELS[:3]}
    return tl.EditDistance(draw(COSTS), draw(by_label), vectors)


banks = st.lists(st.one_of(trees(labels=LABELS, words=LABELS), st.none()), min_size=1, max_size=5)


@settings(max_examples=trials(300))
@given(banks, banks, distances())
def test_values_equal_the_slow_definition(X, Y, d):
    slow, slow_similarity = definition(d), definition(d.similarity())
    np.testing.assert_allclose(d(X, Y), [[slow(a, b) for b in Y] for a in X], atol=1e-9)
    np.testing.assert_allclose(d.similarity()(X, Y), [[slow_similarity(a, b) for b in Y] for a in X], atol=1e-9)


@settings(max_examples=trials(200))
@given(banks, banks, distances(), st.sampled_from([-0.5, 0, 0.5, 1, 1.5, 2, 3, 4.25, 6]), st.integers(1, 5))
def test_searches_find_what_the_matrix_contains(X, Q, d, threshold, k):
    for measure, sign, reach in ((d, -1, threshold), (d.similarity(), 1, 1 - threshold / 3)):
        matrix = measure(Q, X)
        wanted = sign * matrix >= sign * reach - 1e-12
        graph = tl.nearest(measure, X, Q, threshold=reach, graph=True)
        rows = np.repeat(np.arange(len(Q)), np.diff(graph.indptr))
        assert set(zip(rows.tolist(), graph.indices.tolist(), strict=True)) == set(
            zip(*map(np.ndarray.tolist, np.nonzero(wanted)), strict=True)
        )
        np.testing.assert_allclose(graph.data, matrix[rows, graph.indices], atol=1e-9)
        values, indices = tl.nearest(measure, X, Q, k=min(k, len(X)))
        best = sign * np.sort(sign * -matrix, axis=1)[:, : min(k, len(X))] * -1
        np.testing.assert_allclose(values, best, atol=1e-9)
        np.testing.assert_allclose(values, np.take_along_axis(matrix, indices, axis=1), atol=1e-9)


@settings(max_examples=trials(300))
@given(trees(labels=LABELS, words=LABELS), trees(labels=LABELS, words=LABELS), distances())
def test_scripts_cost_the_distance(a, b, d):
    script = tl.edit_script(a, b, d)
    assert script.cost == pytest.approx(definition(d)(a, b), abs=1e-9)
    check_mapping(script)
    assert replayed(script) == b


def test_a_script_asks_for_the_cost_of_each_pair_of_labels_once():
    calls = []

    def rename(source, target):
        calls.append((source, target))
        return 0.25

    bank = tl.Treebank(["(a (b a a) (b a) (d (b a)))", "(unused (x y) z)", "(a (c e e) (c e) (c e) d)"])
    script = tl.edit_script(bank[0:1], bank[2:3], tl.EditDistance(rename=rename))
    assert sum(operation.kind == "rename" for operation in script) > 5
    assert script.cost == definition(tl.EditDistance(rename=lambda p, q: 0.25))(bank[0], bank[2])
    assert sorted(calls) == [(p, q) for p in "abd" for q in "acde" if p != q]


@settings(max_examples=trials(100))
@given(banks, st.data())
def test_costs_do_not_depend_on_other_trees_of_a_bank(X, data):
    d = data.draw(distances())
    bank = tl.Treebank([*X, "(p (q r) s)", None])
    i, j = (data.draw(st.integers(0, len(X) - 1)) for _ in range(2))
    assert d(bank[i : i + 1], bank[j : j + 1]) == d([X[i]], [X[j]])
    if X[i] is not None and X[j] is not None:
        assert str(tl.edit_script(bank[i : i + 1], bank[j : j + 1], d)) == str(tl.edit_script(X[i], X[j], d))


@given(trees(labels=LABELS, words=LABELS), trees(labels=LABELS, words=LABELS))
def test_similarity_with_unit_costs_is_above_minus_one(a, b):
    value = tl.EditDistance().similarity()([a], [b])[0, 0]
    assert -1 < value <= 1
    assert (value == 1) == (a == b)


def test_similarity_of_a_chain_and_a_star_is_negative():
    chain, star = "(A " * 10 + "b" + ")" * 10, "(A c c c c c c c c c c)"
    assert tl.EditDistance().similarity()([chain], [star])[0, 0] == 1 - 19 / 11


def test_operations_know_the_lines_of_source(tmp_path):
    file = tmp_path / "two.py"
    file.write_text("def f(x):\n    return x + 1\n\n\ndef g(x):\n    return x * 1\n", encoding="utf-8")
    bank = tl.read_code(file, identifiers="anonymous")
    (change,) = tl.edit_script(bank[0:1], bank[1:2]).changes()
    assert (change.kind, change.source_label, change.target_label) == ("rename", "Add", "Mult")
    assert (change.source_place.line, change.target_place.line) == (2, 6)
    assert change.source_place.file == str(file)
    with pytest.raises(tl.TreeletError, match="bank of 2 trees"):
        tl.edit_script(bank, bank[0])


@pytest.mark.parametrize(
    "measure",
    [
        tl.EditDistance(),
        tl.EditDistance(0.5, {"a": 2.0}, 1.5).similarity(),
        tl.EditDistance(rename={"a": [1.0, 0.0], "b": [0.8, 0.6]}),
        tl.SubsetTree().normalized().distance(),
    ],
    ids=repr,
)
def test_a_search_is_saved_and_loaded(measure, tmp_path):
    bank, queries = ["(a (b c))", "(b (a a) c)", "(c a)"], ["(a (b d))", "(b a)"]
    search = tl.Nearest(measure, n_neighbors=2).fit(bank)
    tl.save(search, tmp_path / "search.treelet")
    for loaded, fitted in zip(tl.load(tmp_path / "search.treelet").kneighbors(queries), search.kneighbors(queries)):
        np.testing.assert_array_equal(loaded, fitted)


def test_a_function_as_cost_cannot_be_saved(tmp_path):
    search = tl.Nearest(tl.EditDistance(rename=lambda p, q: 1.0)).fit(["(a b)", "(c d)"])
    with pytest.raises(tl.TreeletError, match="A model file cannot store a function"):
        tl.save(search, tmp_path / "search.treelet")
    assert not list(tmp_path.iterdir())


def test_a_large_tree_does_not_divide_a_search_into_small_tiles() -> None:
    # The table of the large tree with itself would need 160 GB, but a search does not compute it.
    large = tl.Tree("list", [tl.Tree("x")] * 100_000)
    bank = tl.Treebank([large, *(tl.Tree("list", [tl.Tree("x")] * n) for n in range(1, 50))])
    similarity = tl.EditDistance().similarity()
    calls = []

    class Counted(type(similarity)):  # type: ignore[misc]
        def evaluator(self, *args: object, **options: object) -> object:
            calls.append(1)
            return super().evaluator(*args, **options)

    counted = Counted(tl.EditDistance())
    graph = tl.nearest(counted, bank, threshold=0.9, graph=True)
    assert len(calls) == 1
    assert graph[0].nnz == 1
    assert similarity.for_search(0.9, None).needs(bank).thread < 2**27 < similarity.needs(bank).thread
