"""The generated treebank of travel requests."""

from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest

from treelet import PCFG
from treelet.datasets.travel import _MODIFIERS, _NOUNS, _VERBS, flights, flights_split
from treelet.errors import ParameterError
from treelet.metrics import candidate_scores, oracle, parse_score

PHRASES = {"S", "SQ", "SBARQ", "SBAR", "FRAG", "NP", "VP", "PP", "ADJP", "NML", "INTJ", "WHNP", "WHADVP", "WHADJP"}
FIRST = "which round trip fares do you have to honolulu on sunday morning"
TAGS = {
    "NN",
    "NNS",
    "NNP",
    "DT",
    "JJ",
    "CD",
    "IN",
    "TO",
    "CC",
    "PRP",
    "PRP$",
    "VB",
    "VBP",
    "VBZ",
    "VBG",
    "MD",
    "WDT",
    "WP",
    "WRB",
    "RB",
    "UH",
    "EX",
}


@pytest.fixture(scope="module")
def split():
    return flights_split()


@pytest.fixture(scope="module")
def trees(split):
    return [tree for part in split for tree in part]


def test_same_seed_same_bank():
    assert list(flights(50, 3)) == list(flights(50, 3))
    assert list(flights(50, 3)) != list(flights(50, 4))
    assert list(flights(80, 3))[:50] == list(flights(50, 3))
    assert len(flights(0)) == 0


def test_the_bank_does_not_change_between_versions():
    assert " ".join(flights(1)[0].words()) == FIRST


def test_sizes(split):
    assert tuple(map(len, split)) == (800, 200, 336)
    assert [tree for part in split for tree in part] == list(flights())


@pytest.mark.parametrize(
    "given", [{"n": -1}, {"n": 2.0}, {"n": True}, {"random_state": -1}, {"random_state": "0"}, {"random_state": 0.5}]
)
def test_refuses(given):
    with pytest.raises(ParameterError, match=rf"'{next(iter(given))}'.*at least 0"):
        flights(**given)
    if "random_state" in given:
        with pytest.raises(ParameterError, match="'random_state' parameter"):
            flights_split(**given)


def test_labels_and_words(trees):
    for tree in trees:
        for node in tree.nodes():
            if not node.children:
                continue
            if any(child.children for child in node.children):
                assert node.label in PHRASES
                assert all(child.children for child in node.children)
                assert [child.label for child in node.children] != [node.label]
            else:
                assert node.label in TAGS
                assert len(node.children) == 1
        words = tree.words()
        assert 5 <= len(words) <= 18
        assert all(word == word.lower() and not set(word) & set("()<>; ") for word in words)


def test_articles(trees):
    for tree in trees:
        words = tree.words()
        for word, after in pairwise(words):
            assert word != "a" or after[0] not in "aei"
            assert word != "an" or after[0] in "aeio"


def test_mostly_distinct(trees):
    assert len({tuple(tree.words()) for tree in trees}) > 0.97 * len(trees)
    assert 10 <= np.mean([len(tree.words()) for tree in trees]) <= 12


def test_some_words_are_new(split):
    known = {word for tree in split.train for word in tree.words()}
    new = [word for tree in split.test for word in tree.words() if word not in known]
    assert 0 < len(new) < 100


def test_tables_fit_together():
    for takes in [*_NOUNS.values(), *(takes for _, takes in _VERBS.values())]:
        assert set(takes.split()) <= set(_MODIFIERS)


def skeleton(tree):
    """The tree without words."""
    return " ".join(piece if piece.startswith("(") else ")" * piece.count(")") for piece in str(tree).split())


def test_tags_do_not_tell_the_tree(trees):
    """Many sentences with the same tags have different trees."""
    found = defaultdict(set)
    for tree in trees:
        tags = tuple(node.label for node in tree.nodes() if node.children and not node.children[0].children)
        found[tags].add(skeleton(tree))
    assert sum(len(skeletons) > 1 for skeletons in found.values()) >= 8


def test_words_tell_the_tree(trees):
    """A compound is a phrase whenever it stands before a noun; the same tags with other words never are."""
    texts = " ".join(map(str, trees))
    assert "(NML (JJ first) (NN class))" in texts
    assert "(JJ cheap) (NN coach)" in texts
    assert "(NML (JJ cheap) (NN coach))" not in texts
    assert "(DT a) (JJ first) (NN class)" not in texts
    for verb, follows in (("ask", "(NP"), ("want", "(S (NP")):
        assert f"{verb}) {follows} (DT the) (NN agent)) (" in texts
    assert "(VB ask) (S" not in texts


def test_a_grammar_errs_where_its_candidates_do_not(split):
    grammar = PCFG.from_treebank(split.train)
    found = grammar.parse_all([tree.words() for tree in split.test], k=100, n_jobs=2)
    counts = candidate_scores(split.test, found.trees, found.qid)
    first = np.flatnonzero(np.diff(found.qid, prepend=-1))
    score = parse_score(split.test, found.trees[first])
    assert 75 < score < 88
    assert 94 < oracle(counts, found.qid).parse_score < 100
