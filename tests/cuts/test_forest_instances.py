"""Parts of forests against the same parts of every tree: sub-forests, marks, paths, candidates; the kernels on them."""

import math
import warnings
from collections import Counter
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import treelet as tl
from conftest import trials
from definitions.strategies import grammars
from treelet.cuts import (
    Candidate,
    ForestIndex,
    argument_forest,
    argument_tree,
    candidates,
    constituent_forest,
    containing_forest,
    enclosed_forest,
    forest_candidates,
    marked_forest,
    path_enclosed_tree,
    path_forest,
    path_tree,
    span_forest,
    sub_forest,
)
from treelet.errors import InputTypeError, ParameterError, TreeError
from treelet.tasks import composite, hybrid, relation_table, role_table
from treelet.testing import forests

# --- what is compared -------------------------------------------------------------------------------------------


def below(forest: tl.Forest, number: int) -> tl.Forest:
    return tl.Forest.from_columns(forest.columns._replace(root=number))


def distribution(pairs):
    """Equal trees added up, all to 1."""
    found = Counter()
    for tree, p in pairs:
        found[str(tree)] += p
    total = math.fsum(found.values())
    return {tree: p / total for tree, p in found.items()}


def same(forest, pairs):
    """The forest has these trees with these probabilities, and they sum to 1."""
    got = forest.trees(limit=200_000)
    assert math.fsum(p for _, p in got) == pytest.approx(1, rel=1e-9)
    assert distribution(got) == pytest.approx(distribution(pairs), rel=1e-9)


def image(forest, function):
    """Of each tree for which there is one, what the function makes of it."""
    pairs = []
    for tree, p in forest.trees():
        made = function(tree)
        if made is not None:
            pairs.append((made, p))
    return pairs


def nodes_of(tree):
    """(node, begin, end, parent's number), parents first; by the definition, for small trees."""
    out = []

    def visit(node, begin, above):
        number = len(out)
        out.append((node, begin, begin + len(node.words()), above))
        for child in node.children:
            visit(child, begin, number)
            begin += len(child.words())

    visit(tree, 0, None)
    return out


def topmost(tree, span, label=None):
    for node, begin, end, _ in nodes_of(tree):
        if node.children and (begin, end) == span and label in (None, node.label):
            return node
    return None


def cut(tree, first, second):
    """The path-enclosed tree, from its definition."""
    low, high = min(first[0], second[0]), max(first[1], second[1])
    holding = [
        (node, begin) for node, begin, end, _ in nodes_of(tree) if node.children and begin <= low and high <= end
    ]

    def kept(node, begin):
        if not node.children:
            return node if low <= begin < high else None
        parts = []
        for child in node.children:
            parts.append(kept(child, begin))
            begin += len(child.words())
        parts = [part for part in parts if part is not None]
        return tl.Tree(node.label, parts) if parts else None

    return kept(*holding[-1])


def with_tags(tree, span, mark, begin=0):
    """Marks at the words' own nodes, from their definition."""
    parts = []
    for child in tree.children:
        marked = not child.children and span[0] <= begin < span[1]
        if marked and len(tree.children) == 1:
            return tl.Tree(f"{mark}-{tree.label}", [child])
        parts.append(tl.Tree(mark, [child]) if marked else with_tags(child, span, mark, begin))
        begin += len(child.words())
    return tl.Tree(tree.label, parts)


def with_node(tree, span, mark, begin=0):
    """Marks above the words, from their definition."""

    def inside(node, at):
        return span[0] <= at and at + len(node.words()) <= span[1]

    def wrapped(node):
        if not node.children or node.is_preterminal:
            return tl.Tree(mark, [node])
        if len(node.children) == 1:
            return tl.Tree(node.label, [wrapped(node.children[0])])
        return tl.Tree(node.label, [tl.Tree(mark, node.children)])

    if inside(tree, begin):
        return wrapped(tree)
    parts, run = [], []
    for child in [*tree.children, None]:
        if child is not None and inside(child, begin):
            run.append(child)
        else:
            parts += [tl.Tree(mark, run)] if len(run) > 1 else [wrapped(node) for node in run]
            run = []
            if child is not None:
                parts.append(with_node(child, span, mark, begin))
        begin += len(child.words()) if child is not None else 0
    return tl.Tree(tree.label, parts)


LABELS = ("NP", "VP", "PP", "CC", "VB", ",", "UCP")


@st.composite
def lists(draw, max_words=5, max_trees=6):
    """A few random trees over one sentence, with weights: unary chains, flat nodes, words beside nodes."""
    n = draw(st.integers(1, max_words))
    labels = draw(st.sampled_from([("NP", "PP"), ("NP", "PP", "VP"), ("VB", "CC", "PP"), LABELS]))
    words = [f"w{k}" for k in range(n)]

    def grow(begin, end, depth):
        label = draw(st.sampled_from(labels))
        if end == begin + 1:
            deeper = depth < 2 and draw(st.integers(0, 2)) == 0
            return tl.Tree(label, [grow(begin, end, depth + 1) if deeper else words[begin]])
        if depth < 2 and draw(st.integers(0, 4)) == 0:
            return tl.Tree(label, [grow(begin, end, depth + 1)])
        inner = draw(st.sets(st.integers(begin + 1, end - 1), min_size=1, max_size=3))
        places = [begin, *sorted(inner), end]
        parts = []
        for a, b in pairwise(places):
            bare = b == a + 1 and draw(st.integers(0, 4)) == 0
            parts.append(words[a] if bare else grow(a, b, 0))
        return tl.Tree(label, parts)

    return [(grow(0, n, 0), draw(st.integers(1, 9)) / 9) for _ in range(draw(st.integers(1, max_trees)))]


@st.composite
def charts(draw):
    """Forests in which nearly every span has several labels, and each of these several expansions."""
    n = draw(st.integers(3, 4))
    random = Random(draw(st.integers(0, 2**32)))  # a seed is drawn much faster than all that follows from it
    nodes = [(f"w{k}", k, k + 1) for k in range(n)]
    edges = []
    at = {}
    for length in range(1, n + 1):
        for begin in range(n - length + 1):
            end = begin + length
            at[begin, end] = []
            for label in ("NP", "PP", "VP")[: random.randint(1, 3 if length > 1 else 2)]:
                ways = [[node] for node in at[begin, end]]  # unary ones, down to what is there already
                if length == 1:
                    ways.append([begin])
                for middle in range(begin + 1, end):
                    ways += [[left, right] for left in at[begin, middle] for right in at[middle, end]]
                    ways += [
                        [left, between, right]
                        for cut_ in range(middle + 1, end)
                        for left in at[begin, middle][:1]
                        for between in at[middle, cut_][:1]
                        for right in at[cut_, end][:1]
                    ]
                nodes.append((label, begin, end))
                chosen = random.sample(ways, min(len(ways), random.randint(1, 3)))
                edges += [(len(nodes) - 1, way, random.randint(1, 9) / 9) for way in chosen]
                at[begin, end].append(len(nodes) - 1)
    tops = at[0, n]
    if len(tops) > 1 and random.random() < 0.5:
        nodes.append(("", 0, n))
        edges += [(len(nodes) - 1, [top], random.randint(1, 9) / 9) for top in tops]
    return tl.Forest(nodes, edges, root=len(nodes) - 1)


@st.composite
def cases(draw):
    """A forest of not too many trees, and its number of words: packed lists, charts, and parses by random grammars."""
    kind = draw(st.sampled_from(["list", "list", "chart", "chart", "chart", "grammar"]))
    if kind == "list":
        forest = tl.Forest.from_trees(draw(lists()), packing=draw(st.sampled_from(["nodes", "nodes", "union"])))
    elif kind == "chart":
        forest = draw(charts())
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # symbols without trees
            grammar = tl.PCFG.from_rules(draw(grammars()), start="S")
        forest = grammar.forest(draw(st.lists(st.sampled_from(["x", "y"]), min_size=1, max_size=4)))
        assume(forest)
    assume(forest.count_trees() <= 300)
    return forest, len(forest.best()[0].words())


def spans(n):
    return st.tuples(st.integers(0, n - 1), st.integers(1, n)).filter(lambda span: span[0] < span[1])


# --- the forest of Zhang, Zhang & Li (2010), figure 2, by hand --------------------------------------------------

# John saw a man in the bank: "in the bank" belongs to the verb (0.6) or to the noun (0.4).
#    0   1  2  3   4  5   6
T1 = "(IP (NNP John) (VP (VP (VV saw) (NP (DT a) (NN man))) (PP (IN in) (DT the) (NN bank))))"
T2 = "(IP (NNP John) (VP (VV saw) (NP (NP (DT a) (NN man)) (PP (IN in) (DT the) (NN bank)))))"


@pytest.fixture
def bank():
    nodes = [("John", 0, 1), ("saw", 1, 2), ("a", 2, 3), ("man", 3, 4), ("in", 4, 5), ("the", 5, 6), ("bank", 6, 7)]
    tags = [("NNP", 0, 1), ("VV", 1, 2), ("DT", 2, 3), ("NN", 3, 4), ("IN", 4, 5), ("DT", 5, 6), ("NN", 6, 7)]
    above = [("NP", 2, 4), ("PP", 4, 7), ("VP", 1, 4), ("NP", 2, 7), ("VP", 1, 7), ("IP", 0, 7)]
    np_, pp, vp_small, np_large, vp, ip = range(14, 20)
    edges = [(7 + k, [k], 1.0) for k in range(7)]
    edges += [(np_, [9, 10], 1.0), (pp, [11, 12, 13], 1.0), (vp_small, [8, np_], 0.5), (np_large, [np_, pp], 0.2)]
    edges += [(vp, [vp_small, pp], 0.3), (vp, [8, np_large], 0.5), (ip, [7, vp], 0.9)]
    # 0.5 * 0.3 * 0.9 = 0.135 for the first, 0.2 * 0.5 * 0.9 = 0.09 for the second: 3 to 2.
    forest = tl.Forest(nodes + tags + above, edges)
    assert distribution(forest.trees()) == pytest.approx({T1: 0.6, T2: 0.4})
    return forest


def test_by_hand_what_is_over_a_span(bank):
    index = ForestIndex(bank)
    assert index.probability((1, 4)) == index.probability(("VP", 1, 4)) == pytest.approx(0.6)
    assert index.probability((2, 7)) == pytest.approx(0.4)
    assert index.probability(("NP", 1, 4)) == 0
    assert index.probability((0, 2)) == 0
    same(span_forest(bank, (1, 4)), [("(VP (VV saw) (NP (DT a) (NN man)))", 1)])
    same(
        span_forest(index, (1, 7), "VP"),
        [
            ("(VP (VP (VV saw) (NP (DT a) (NN man))) (PP (IN in) (DT the) (NN bank)))", 0.6),
            ("(VP (VV saw) (NP (NP (DT a) (NN man)) (PP (IN in) (DT the) (NN bank))))", 0.4),
        ],
    )
    assert span_forest(bank, (1, 4)).nodes[-1] == ("VP", 1, 4)  # positions stay


def test_by_hand_trees_with_a_node(bank):
    same(containing_forest(bank, ("VP", 1, 4)), [(T1, 1)])
    same(containing_forest(bank, (2, 7)), [(T2, 1)])
    same(containing_forest(bank, (4, 7)), [(T1, 0.6), (T2, 0.4)])


def test_by_hand_what_two_entities_enclose(bank):
    # man and bank: in the first tree below VP over 1-7, from which "saw" and "a" go; in the second below NP over 2-7.
    first = "(VP (VP (NP (NN man))) (PP (IN in) (DT the) (NN bank)))"
    second = "(NP (NP (NN man)) (PP (IN in) (DT the) (NN bank)))"
    for one, two in [((3, 4), (6, 7)), ((6, 7), (3, 4))]:
        same(enclosed_forest(bank, one, two, mark=None), [(first, 0.6), (second, 0.4)])
    # John and man: IP in both; what was VP -> VP PP and NP -> NP PP keeps its first child only.
    first = "(IP (NNP John) (VP (VP (VV saw) (NP (DT a) (NN man)))))"
    second = "(IP (NNP John) (VP (VV saw) (NP (NP (DT a) (NN man)))))"
    forest = enclosed_forest(bank, (0, 1), (3, 4), mark=None)
    same(forest, [(first, 0.6), (second, 0.4)])
    assert forest.words == ["John", "saw", "a", "man"]
    # saw and a: VP over 1-4 in the first, VP over 1-7 in the second. Both are VP: one root, two ways.
    forest = enclosed_forest(bank, (1, 2), (2, 3), mark=None)
    same(forest, [("(VP (VV saw) (NP (DT a)))", 0.6), ("(VP (VV saw) (NP (NP (DT a))))", 0.4)])
    assert [node.label for node in forest.nodes].count("VP") == 1
    assert "" not in {node.label for node in forest.nodes}
    # in and bank: PP in both trees, and nothing is left of the difference.
    assert enclosed_forest(bank, (4, 5), (6, 7), mark=None).count_trees() == 1


def test_by_hand_marks(bank):
    same(
        enclosed_forest(bank, (2, 4), (6, 7)),
        [
            ("(VP (VP (NP (E1 (DT a) (NN man)))) (PP (IN in) (DT the) (E2 (NN bank))))", 0.6),
            ("(NP (NP (E1 (DT a) (NN man))) (PP (IN in) (DT the) (E2 (NN bank))))", 0.4),
        ],
    )
    same(
        enclosed_forest(bank, (6, 7), (3, 4), mark="tags", labels=("PER", "ORG")),
        [
            ("(VP (VP (NP (ORG-NN man))) (PP (IN in) (DT the) (PER-NN bank)))", 0.6),
            ("(NP (NP (ORG-NN man)) (PP (IN in) (DT the) (PER-NN bank)))", 0.4),
        ],
    )


def test_by_hand_paths_and_arguments(bank):
    # saw up to the lower VP, up to the upper one, down to PP; in the second tree up to VP, down by NP.
    same(
        path_forest(bank, 1, ("PP", 4, 7)), [("(VP (VP (VV-P saw)) PP-ARG)", 0.6), ("(VP (VV-P saw) (NP PP-ARG))", 0.4)]
    )
    same(
        path_forest(bank, 1, (0, 1), mark=False),
        [("(IP NNP (VP (VP (VV saw))))", 0.6), ("(IP NNP (VP (VV saw)))", 0.4)],
    )
    # The argument NP over 2-7 is in the second tree only.
    same(path_forest(bank, 1, (2, 7)), [("(VP (VV-P saw) NP-ARG)", 1)])
    same(argument_forest(bank, 1, (2, 4)), [
        ("(VP (VV-P saw) (NP-ARG (DT a) (NN man)))", 0.6),
        ("(VP (VV-P saw) (NP (NP-ARG (DT a) (NN man))))", 0.4),
    ])  # fmt: skip
    assert argument_forest(bank, 6, (2, 4)).words == ["a", "man", "bank"]
    same(constituent_forest(bank, ("PP", 4, 7)), [("(PP (IN in) (DT the) (NN bank))", 1)])
    # An argument above the predicate.
    same(path_forest(bank, 1, (1, 7)), [("(VP-ARG (VP (VV-P saw)))", 0.6), ("(VP-ARG (VV-P saw))", 0.4)])


def test_by_hand_candidates(bank):
    # In the first tree the sisters are NP over 2-4, PP and its children, John; in the second NP over 2-7, John.
    found = forest_candidates(bank, 1)
    assert {(c.label, c.begin, c.end): round(c.probability, 9) for c in found} == {
        ("NNP", 0, 1): 1,
        ("NP", 2, 7): 0.4,
        ("NP", 2, 4): 0.6,
        ("PP", 4, 7): 0.6,
        ("IN", 4, 5): 0.6,
        ("DT", 5, 6): 0.6,
        ("NN", 6, 7): 0.6,
    }
    assert [c.span for c in found] == [(0, 1), (2, 7), (2, 4), (4, 7), (4, 5), (5, 6), (6, 7)]
    assert {c.label for c in forest_candidates(bank, 1, threshold=0.7)} == {"NNP"}
    for candidate in found:  # each can be asked for
        assert path_forest(bank, 1, candidate)


def test_what_has_the_node_rarely_counts_for_little():
    # X is A or B, as often; A begins with N in 0.2 of all cases, B in 0.9. So N's path is by A in 0.1 of 0.1 + 0.45.
    weights = {("A", "N"): 0.1, ("A", "O"): 0.4, ("B", "N"): 0.45, ("B", "O"): 0.05}
    forest = tl.Forest.from_trees(
        [(f"(S (V p) (X ({a} ({b} n) (M m)) (Z z)))", p) for (a, b), p in weights.items()], packing="nodes"
    )
    same(path_forest(forest, 0, ("N", 1, 2)), [("(S (V-P p) (X (A N-ARG)))", 0.1), ("(S (V-P p) (X (B N-ARG)))", 0.45)])
    same(
        containing_forest(forest, ("N", 1, 2)),
        [("(S (V p) (X (A (N n) (M m)) (Z z)))", 0.1), ("(S (V p) (X (B (N n) (M m)) (Z z)))", 0.45)],
    )
    # The same at the lowest node above both.
    forest = tl.Forest.from_trees([(f"(S (V p) ({a} ({b} n) (M m)))", p) for (a, b), p in weights.items()])
    same(path_forest(forest, 0, ("N", 1, 2)), [("(S (V-P p) (A N-ARG))", 0.1), ("(S (V-P p) (B N-ARG))", 0.45)])


def test_a_pp_beside_the_bare_word_is_taken_whole():
    for tree in ("(VP go (PP (P to) (N town)))", "(VP (V go) (PP (P to) (N town)))"):
        found = [(c.label, *c.span) for c in forest_candidates(tl.Forest.from_trees([(tree, 1)]), 0)]
        assert found == [(node.label, *node.span) for node in candidates(tree, 0)]


def test_cuts_make_equal_edges_one():
    forest = tl.Forest.from_trees(
        [("(S (A a) (B b) (C c))", 1), ("(S (A a) (B b) (D c))", 2), ("(S (A a) (X (B b) (C c)))", 1)]
    )
    got = enclosed_forest(forest, (0, 1), (1, 2), mark=None)
    same(got, [("(S (A a) (B b))", 3), ("(S (A a) (X (B b)))", 1)])
    assert got.count_trees() == 2


# --- against all trees ------------------------------------------------------------------------------------------


@settings(max_examples=trials(100), deadline=None)
@given(cases(), st.data())
def test_over_spans_and_below_nodes(case, data):
    forest, n = case
    index = ForestIndex(forest)
    listed = forest.trees()
    span = data.draw(spans(n))
    over = [node.label for node in forest.nodes if (node.begin, node.end) == span and node.label]  # words among them
    for label in [None, *sorted(set(over))]:
        pairs = image(forest, lambda tree: topmost(tree, span, label))
        key = span if label is None else (label, *span)
        total = math.fsum(p for _, p in listed)
        assert index.probability(key) == pytest.approx(math.fsum(p for _, p in pairs) / total, abs=1e-9)
        if pairs:
            same(span_forest(index, span, label), pairs)
            same(sub_forest(forest, key), pairs)
            same(
                containing_forest(index, key), image(forest, lambda tree: tree if topmost(tree, span, label) else None)
            )
        else:
            for function in (sub_forest, containing_forest, constituent_forest):
                with pytest.raises(TreeError, match="No tree of the forest has"):
                    function(index, key)


@settings(max_examples=30, deadline=None)
@given(cases())
def test_below_a_node_by_its_number(case):
    forest, _ = case
    heads = {edge.head for edge in forest.edges}
    for number, node in enumerate(forest.nodes):
        if number in heads and node.label:
            same(sub_forest(forest, number), below(forest, number).trees())


@settings(max_examples=trials(100), deadline=None)
@given(cases(), st.data())
def test_enclosed_forests_are_those_of_the_cut_trees(case, data):
    forest, n = case
    first, second = data.draw(spans(n)), data.draw(spans(n))
    index = ForestIndex(forest)
    same(enclosed_forest(index, first, second, mark=None), image(forest, lambda tree: cut(tree, first, second)))
    for mark in ("node", "tags"):
        same(
            enclosed_forest(index, first, second, mark=mark),
            image(forest, lambda tree: path_enclosed_tree(tree, first, second, mark=mark)),
        )
        same(
            marked_forest(index, [first], ["M"], mark=mark),
            image(forest, lambda tree: (with_node if mark == "node" else with_tags)(tree, first, "M")),
        )


def quiet(function, *args, **options):
    """None where the tree has no such node."""
    try:
        return function(*args, **options)
    except TreeError:
        return None


@settings(max_examples=trials(100), deadline=None)
@given(cases(), st.data())
def test_paths_and_arguments_are_those_of_the_trees(case, data):
    forest, n = case
    span, predicate = data.draw(spans(n)), data.draw(st.integers(0, n - 1))
    index = ForestIndex(forest)
    for mark in (True, False):
        for of_forest, of_tree in ((path_forest, path_tree), (argument_forest, argument_tree)):
            pairs = image(forest, lambda tree: quiet(of_tree, tree, predicate, span, mark=mark))
            if pairs:
                same(of_forest(index, predicate, span, mark=mark), pairs)
            else:
                with pytest.raises(TreeError, match="No tree of the forest has"):
                    of_forest(index, predicate, span, mark=mark)


@settings(max_examples=70, deadline=None)
@given(cases(), st.data())
def test_paths_to_a_label(case, data):
    forest, n = case
    predicate = data.draw(st.integers(0, n - 1))
    heads = {edge.head for edge in forest.edges}
    inner = [node for number, node in enumerate(forest.nodes) if number in heads and node.label]
    label, begin, end = data.draw(st.sampled_from(inner))
    words = 2 if not begin <= predicate < end else 1

    def path(tree):
        nodes = nodes_of(tree)
        goal = next(
            (k for k, (t, a, b, _) in enumerate(nodes) if t.children and (t.label, a, b) == (label, begin, end)), None
        )
        if goal is None:
            return None
        word = next(k for k, (t, a, _, _) in enumerate(nodes) if not t.children and a == predicate)

        def up(k):
            return [k] if nodes[k][3] is None else [k, *up(nodes[k][3])]

        ways = up(word), up(goal)
        common = next(k for k in ways[0] if k in ways[1])
        kept = {k for way in ways for k in way[: way.index(common) + 1]}

        def build(k):
            return tl.Tree(nodes[k][0].label, [build(m) for m in sorted(kept) if nodes[m][3] == k])

        return build(common)

    got = path_forest(forest, predicate, (label, begin, end), mark=False)
    same(got, image(forest, path))
    assert len(got.best()[0].words()) == words


@settings(max_examples=trials(100), deadline=None)
@given(cases(), st.data())
def test_candidates_are_those_of_the_trees(case, data):
    forest, n = case
    predicate = data.draw(st.integers(0, n - 1))
    total = forest.probability()
    by_node, by_span = Counter(), Counter()
    for tree, p in forest.trees():
        for node in candidates(tree, predicate):
            by_node[node.label, node.start, node.end] += p / total
            by_span[node.start, node.end] += p / total
    found = forest_candidates(forest, predicate)
    assert {(c.label, c.begin, c.end): c.probability for c in found} == pytest.approx(by_node, abs=1e-9)
    assert len(found) == len({c[:3] for c in found})
    merged = forest_candidates(ForestIndex(forest), predicate, by="span")
    assert {c.span: c.probability for c in merged} == pytest.approx(by_span, abs=1e-9)
    for candidate in merged:
        assert by_node[candidate[:3]] == pytest.approx(
            max(p for (_, *span), p in by_node.items() if tuple(span) == candidate.span)
        )
    likely = {c[:3] for c in forest_candidates(forest, predicate, threshold=0.5)}
    assert (
        {key for key, p in by_node.items() if p > 0.5 + 1e-9}
        <= likely
        <= {key for key, p in by_node.items() if p > 0.5 - 1e-9}
    )


@settings(max_examples=60, deadline=None)
@given(forests(), st.data())
def test_unnormalized_probabilities_change_nothing(forest, data):
    n = len(forest.words)
    scaled = tl.Forest(forest.nodes, [(e.head, e.tails, e.probability * 1e-4) for e in forest.edges], root=forest.root)
    first, second = data.draw(spans(n)), data.draw(spans(n))
    # Trees with more edges become rarer; given the forest that holds, they are what they are.
    same(enclosed_forest(scaled, first, second, mark=None), image(scaled, lambda tree: cut(tree, first, second)))


# --- one tree ---------------------------------------------------------------------------------------------------


def test_forests_of_one_tree_give_the_trees_parts():
    trees = tl.datasets.flights(12)
    for tree in trees:
        index = ForestIndex(tl.Forest.from_tree(tree))
        n = len(tree.words())
        for predicate in range(0, n, 5):
            found = candidates(tree, predicate)
            assert [(c.label, *c.span) for c in forest_candidates(index, predicate, by="span")] == [
                (node.label, *node.span) for node in found
            ]
            for node in found:
                path = path_forest(index, predicate, node.span)
                assert path.trees() == [(path_tree(tree, predicate, node.span), pytest.approx(1))]
                whole = argument_forest(index, predicate, node.span)
                assert whole.trees() == [(argument_tree(tree, predicate, node.span), pytest.approx(1))]
        for first, second in [((0, 1), (n - 1, n)), ((0, min(3, n)), (n // 2, n // 2 + 1))]:
            enclosed = enclosed_forest(index, first, second)
            assert enclosed.trees() == [(path_enclosed_tree(tree, first, second), pytest.approx(1))]


def chain(depth):
    return ForestIndex(tl.Forest.from_tree(tl.Treebank(["(A " * depth + "x" + ")" * depth])[0]))


def test_deep_and_long_forests():
    depth = 100_000
    deep = chain(depth)
    assert enclosed_forest(deep, (0, 1), (0, 1), mark=None).best()[0] == tl.Tree.parse("(A x)")
    assert enclosed_forest(deep, (0, 1), (0, 1), mark="tags").best()[0] == tl.Tree.parse("(E1-E2-A x)")
    nodes = path_forest(deep, 0, (0, 1)).nodes
    assert (nodes[-1].label, nodes[1].label, len(nodes)) == ("A-ARG", "A-P", depth + 1)
    assert forest_candidates(deep, 0) == []
    depth = 10_000  # what is made here is made as above
    deep = chain(depth)
    assert len(sub_forest(deep, ("A", 0, 1)).nodes) == depth + 1
    assert len(containing_forest(deep, (0, 1)).nodes) == depth + 1
    assert len(marked_forest(deep, [(0, 1)], ["M"]).nodes) == depth + 2
    n = 3000
    comb = ForestIndex(tl.Forest.from_tree(tl.Treebank(["(S (A a) " * n + "(A a)" + ")" * n])[0]))
    enclosed = enclosed_forest(comb, (5, 6), (n - 5, n - 4))
    assert (len(enclosed.words), enclosed.best()[0].height()) == (n - 9, n - 7)
    assert len(path_forest(comb, 0, ("A", n, n + 1)).nodes) == n + 3  # n times S, A over a, the last A
    assert len(forest_candidates(comb, n)) == n


# --- lists ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_lists_with_a_temperature(temperature):
    probabilities = np.array([0.5, 0.3, 0.2])
    trees = ["(S (N (A x)) (N (B y)))", "(S (N (C x)) (N (D y)))", "(S (A x) (D y))"]
    wanted = probabilities ** (1 / temperature)
    wanted /= wanted.sum()
    for shift in (0.0, -2000.0):
        parses = [(tree, math.log(p) + shift) for p, tree in zip(probabilities, trees, strict=True)]
        same(tl.Forest.from_nbest(parses, temperature=temperature, packing="union"), zip(trees, wanted, strict=True))
        packed = tl.Forest.from_nbest(parses, temperature=temperature)
        same(packed, tl.Forest.from_trees(list(zip(trees, wanted.tolist(), strict=True))).trees())
        assert packed.count_trees() == 5  # the two first ones mixed


def test_what_is_far_too_improbable_in_a_list_is_left_out():
    assert tl.Forest.from_nbest([("(S x)", -1.0), ("(T x)", -5000.0)]).count_trees() == 1
    assert tl.Forest.from_nbest([("(S x)", -1.0), ("(T x)", -5000.0)], temperature=100).count_trees() == 2


# --- kernels ----------------------------------------------------------------------------------------------------


def test_hybrid_and_composite_are_what_they_say():
    table = tl.structures.Table(
        {
            "path": ["(VP (V-P saw) NP-ARG)", "(VP (V-P saw) (NP PP-ARG))", "(VP (V-P ate) NP-ARG)"],
            "constituent": ["(NP (D a) (N man))", "(PP (P in) (N town))", "(NP (D a) (N cat))"],
            "tree": [
                "(NP (E1 (N man)) (E2 (N bank)))",
                "(NP (E1 (N dog)) (E2 (N bank)))",
                "(S (E1 (N dog)) (E2 (N cat)))",
            ],
            "features": [{"a": 1, "b": 1}, {"a": 1}, {"c": 2}],
        }
    )

    def part(name, kernel):
        return kernel(table[name])

    tree = tl.SubsetTree(lam=0.3)
    for normalized in (True, False):
        k = tree.normalized() if normalized else tree
        linear = tl.Linear().normalized() if normalized else tl.Linear()
        np.testing.assert_allclose(
            hybrid(theta=0.7, lam=0.3, normalized=normalized)(table),
            0.7 * part("path", k) + 0.3 * part("constituent", k),
        )
        for degree, features in ((1, part("features", linear)), (3, (part("features", linear) + 1) ** 3)):
            got = composite(alpha=0.1, degree=degree, lam=0.3, normalized=normalized)(table)
            np.testing.assert_allclose(got, 0.1 * features + 0.9 * part("tree", k))
        for make in (hybrid, composite):  # a forest of one tree
            forest, trees = (make(lam=0.3, forest=f, normalized=normalized)(table) for f in (True, False))
            np.testing.assert_allclose(forest, trees, rtol=1e-12)
    assert composite(degree=1).get_params()["k1__factor"] == 0.4
    assert composite().get_params()["k1__factor"] == 0.23


def test_forest_columns_train_and_predict(bank, tmp_path):
    other = tl.Forest.from_trees([(T1.replace("man", "dog"), 1), (T2.replace("man", "dog"), 1)])
    roles = role_table([(f, 1, node) for f in (bank, other) for node in ((0, 1), (2, 4), (4, 7))] * 4, argument=True)
    assert roles.names == ["path", "constituent", "argument"]
    assert isinstance(roles["path"], tl.ForestBank)
    y = ["A0", "A1", "AM"] * 8
    kernel = hybrid(forest=True)
    learner = tl.KernelSVC(kernel=kernel, C=10).fit(roles[:12], y[:12])
    assert learner.predict(roles[12:]).tolist() == y[12:]
    K = tl.gram(kernel, roles)
    paths = [path_forest(bank, 1, node) for node in ((0, 1), (2, 4), (4, 7))]
    wholes = [constituent_forest(bank, node) for node in ((0, 1), (2, 4), (4, 7))]
    one = tl.ForestKernel(lam=0.4).normalized()
    np.testing.assert_allclose(K[:3, :3], 0.5 * one(paths) + 0.5 * one(wholes), rtol=1e-12)
    np.testing.assert_allclose(kernel(roles[[2, 0]], roles[1:3]), K[[2, 0]][:, 1:3], rtol=1e-12)
    tl.save(learner, tmp_path / "m.treelet")
    np.testing.assert_array_equal(tl.load(tmp_path / "m.treelet").predict(roles), learner.predict(roles))

    pairs = [(f, *spans) for f in (bank, other) for spans in (((0, 1), (3, 4)), ((3, 4), (6, 7)))] * 4
    relations = relation_table(pairs, [{"near": 1.0}, {"far": 1.0}] * 8)
    labels = ["sees", "in"] * 8
    assert (
        tl.KernelSVC(kernel=composite(forest=True), C=10).fit(relations, labels).predict(relations).tolist() == labels
    )
    assert relation_table(pairs).names == ["tree"]


def test_the_kernel_of_enclosed_forests_is_the_mean_over_cut_trees(bank):
    other = enclosed_forest(bank, (0, 1), (3, 4))
    mine = enclosed_forest(bank, (3, 4), (6, 7))
    trees = [tl.Tree.parse(text) for text in (T1, T2)]
    first = [path_enclosed_tree(tree, (3, 4), (6, 7)) for tree in trees]
    second = [path_enclosed_tree(tree, (0, 1), (3, 4)) for tree in trees]
    p = np.array([0.6, 0.4])
    want = p @ tl.SubsetTree(lam=0.4)(first, second) @ p
    assert tl.ForestKernel(lam=0.4)([mine], [other])[0, 0] == pytest.approx(want, rel=1e-12)


# --- errors -----------------------------------------------------------------------------------------------------


def test_errors_say_what_is_wrong(bank):
    for call in (
        lambda: span_forest(bank, (1, 9)),
        lambda: span_forest(bank, (3, 3)),
        lambda: span_forest(bank, (-1, 2)),
        lambda: enclosed_forest(bank, (0, 1), (6, 8)),
        lambda: enclosed_forest(bank, (0, 1), (6, 7), mark="x"),
        lambda: enclosed_forest(bank, (0, 1), (6, 7), labels=("E1",)),
        lambda: enclosed_forest(bank, (0, 1), (6, 7), labels="ab"),
        lambda: path_forest(bank, 7, (0, 1)),
        lambda: path_forest(bank, -1, (0, 1)),
        lambda: path_forest(bank, True, (0, 1)),
        lambda: path_forest(bank, 1, 99),
        lambda: sub_forest(bank, 0),
        lambda: forest_candidates(bank, 7),
        lambda: forest_candidates(bank, 1, threshold=2),
        lambda: forest_candidates(bank, 1, threshold=math.nan),
        lambda: forest_candidates(bank, 1, by="label"),
        lambda: tl.Forest.from_nbest([("(S x)", 0.0)], temperature=0),
        lambda: tl.Forest.from_nbest([("(S x)", 0.0)], temperature=True),
        lambda: hybrid(theta=1.5),
        lambda: hybrid(theta=math.nan),
        lambda: composite(alpha=-1),
        lambda: composite(degree=0),
        lambda: composite(lam=0),
    ):
        with pytest.raises(ParameterError):
            call()
    for call in (
        lambda: span_forest(bank, 3),
        lambda: sub_forest(bank, "NP"),
        lambda: enclosed_forest(bank, "ab", (1, 2)),
        lambda: ForestIndex("(S x)"),
        lambda: tl.Forest.from_nbest(["(S x)"]),
    ):
        with pytest.raises(InputTypeError):
            call()
    with pytest.raises(TreeError, match=r"span \(0, 3\), which is 'John saw a'"):
        span_forest(bank, (0, 3))
    with pytest.raises(TreeError, match=r"forest has 'PP' over the span \(2, 4\)"):
        containing_forest(bank, ("PP", 2, 4))
    with pytest.raises(TreeError, match="The forest contains no tree"):
        ForestIndex(tl.Forest([], []))
    with pytest.raises(TreeError, match=r"[Ll]abel"):
        enclosed_forest(bank, (0, 1), (6, 7), labels=("a b", "c"))
    with pytest.raises(TreeError, match="needs at least one tree"):
        tl.Forest.from_nbest([])
    with pytest.raises(TreeError, match=r"The log probability of tree 1 must be finite. Got -inf instead"):
        tl.Forest.from_nbest([("(S x)", 0.0), ("(T x)", -math.inf)])
    assert Candidate("NP", 2, 4, 0.5).span == (2, 4)


def test_a_lone_word_has_no_parts():
    word = tl.Forest([("x", 0, 1)], [])
    for call in (
        lambda: enclosed_forest(word, (0, 1), (0, 1)),
        lambda: path_forest(word, 0, (0, 1)),
        lambda: sub_forest(word, (0, 1)),
    ):
        with pytest.raises(TreeError, match="No tree of the forest has"):
            call()
    assert forest_candidates(word, 0) == []
