"""Trees and banks of them."""

from __future__ import annotations

import copy
import pickle
import re
import sys
from pathlib import Path

import nltk
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treelet as tl
from treelet.testing import banks, trees

DOG = "(NP (D the) (N dog))"
CAT = "(NP (D the) (N cat))"
labels = st.text(min_size=1, max_size=6).filter(
    lambda s: not any(c in "() \t\n\r\v\f\0" for c in s) and s.encode("utf-8", "ignore").decode() == s
)


@given(trees(labels=("A", "-LRB-", "NP-SBJ", "é", "日本"), words=("x", ",", "-RRB-", "'s")))
def test_str_round_trips(tree: tl.Tree) -> None:
    assert tl.Tree.parse(str(tree)) == tree
    assert eval(repr(tree), {"Tree": tl.Tree}) == tree
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert copy.deepcopy(tree) is tree
    assert hash(tl.Tree.parse(str(tree))) == hash(tree)


@given(labels)
def test_any_label_without_brackets_and_space(label: str) -> None:
    tree = tl.Tree(label, [tl.Tree(label), label])
    assert tl.Tree.parse(str(tree)) == tree
    assert tl.Treebank([tree])[0] == tree


@pytest.mark.parametrize("label", ["", "a b", "a(", ")", "a\n", "\0", 5, None, "\ud800"])
def test_labels_that_could_not_be_read_back(label: object) -> None:
    with pytest.raises(tl.errors.TreeError, match=r"[Ll]abel"):
        tl.Tree(label)  # type: ignore[arg-type]


def test_a_tree_is_a_value() -> None:
    tree = tl.Tree("NP", [tl.Tree("D", ["the"]), tl.Tree("N", ["dog"])])
    assert tree == tl.Tree.parse(DOG)
    assert tree != tl.Tree.parse(CAT)
    assert tree != DOG
    assert {tree, tl.Tree.parse(DOG)} == {tree}
    assert not isinstance(tree, list)
    with pytest.raises(AttributeError, match="cannot be set, because"):
        tree.label = "VP"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        del tree.children
    with pytest.raises(tl.errors.TreeError, match=r"write Tree\('D', \['the'\]\)"):
        tl.Tree("D", "the")
    with pytest.raises(tl.errors.InputTypeError, match="Got an int instead"):
        tl.Tree("D", 5)  # type: ignore[arg-type]
    with pytest.raises(tl.errors.TreeError, match=r"Got 5 \(an int\) instead"):
        tl.Tree("D", [5])  # type: ignore[list-item]
    assert (tree.height(), tree.words(), [child.label for child in tree]) == (2, ["the", "dog"], ["D", "N"])
    assert tree.productions() == [("NP", ("D", "N")), ("D", ("the",)), ("N", ("dog",))]
    assert [node.label for node in tree.nodes()] == ["NP", "D", "the", "N", "dog"]
    array = np.array([tree, tree], dtype=object)
    assert array.shape == (2,), "numpy must not take a tree for a sequence"


def test_brackets_are_no_label() -> None:
    with pytest.raises(tl.TreeletError, match=r"brackets, or treelet.formats.escape"):
        tl.Tree("(S (A a))")


@pytest.mark.parametrize("label", ["(", ")", ":-)", "f(x)", "New York"])
def test_the_error_about_a_bracket_in_a_label_names_the_escaping_function(label: str) -> None:
    for make in (lambda: tl.Tree(label), lambda: tl.Tree("X", [label])):
        with pytest.raises(tl.TreeletError, match=rf"The node label '{re.escape(label)}' contains") as error:
            make()
        assert "Tree.parse" not in str(error.value)
    tree = tl.Tree("X", [tl.formats.escape(label)])
    assert tl.Tree.parse(str(tree)) == tree
    assert tl.formats.unescape(tree.words()[0]) == label.replace(" ", "_")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("the cat sat", "'the cat sat' is plain text"),
        ("wsj.mrg", "'wsj.mrg' is a file name, but a tree"),
        ("  ", r"such as '\(NP \(D the\) \(N cat\)\)' is needed"),
        ("(S (A a)))", r"column 10: unexpected '\)'"),
        ("(S (A a)\n (B b)))", r"line 2, column 8: unexpected '\)'"),
    ],
)
def test_errors_of_parse_name_the_column(text: str, message: str) -> None:
    with pytest.raises(tl.errors.FormatError, match=message) as error:
        tl.Tree.parse(text)
    assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)


def test_errors_in_a_list_name_the_item_and_the_column() -> None:
    with pytest.raises(tl.errors.FormatError, match=r"item 1, column 10: unexpected '\)'"):
        tl.Treebank([DOG, "(S (A a)))"])
    with pytest.raises(tl.errors.FormatError, match="'the cat sat' is plain text"):
        tl.SubsetTree()([DOG, "the cat sat"])


@given(trees())
def test_nltk_trees_and_back(tree: tl.Tree) -> None:
    nltk_tree = pytest.importorskip("nltk.tree").Tree
    made = tree.to_nltk()
    assert type(made) is nltk_tree
    assert tl.Treebank([made])[0] == tree
    if tree.children:
        assert made == nltk_tree.fromstring(str(tree))


def test_deep_nltk_trees_and_back() -> None:
    pytest.importorskip("nltk")
    deep = tl.Tree("x")
    for _ in range(100_000):
        deep = tl.Tree("A", [deep, "y"])
    assert tl.Treebank([deep.to_nltk()]) == tl.Treebank([deep])


def test_to_nltk_without_nltk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nltk.tree", None)
    with pytest.raises(tl.TreeletError, match="the package nltk"):
        tl.Tree("A").to_nltk()


def test_pretty() -> None:
    assert tl.Tree.parse("(S (NP (N John)) (VP (V saw) (NP her)))").pretty().splitlines() == [
        "S",
        "├── NP",
        "│   └── N John",
        "└── VP",
        "    ├── V saw",
        "    └── NP her",
    ]
    assert tl.Tree("x").pretty() == "x"


def test_deep_and_wide_trees_are_no_danger() -> None:
    n = 100_000
    deep = "(A " * n + "x" + ")" * n
    tree = tl.Tree.parse(deep)
    assert str(tree) == deep
    assert tree.height() == n
    assert tree == tl.Tree.parse(deep)
    assert len(tree.words()) == 1
    bank = tl.Treebank([tree])
    assert bank.stats().distinct_subtrees == n
    assert pickle.loads(pickle.dumps(bank)) == bank
    assert bank[0] == tree
    wide = tl.Tree("S", [tl.Tree("N", [f"w{k}"]) for k in range(n)])
    assert tl.Tree.parse(str(wide)) == wide
    assert tl.Treebank([wide, wide]).stats().nodes == 2 * (n + 1)
    assert tl.Subtree()([tree, wide]).tolist() == [[n, 0], [0, n + 1]]
    np.testing.assert_allclose(tl.SubsetTree().normalized()([wide]), 1)


def test_a_tree_too_deep_to_draw() -> None:
    deep = tl.Tree.parse("(A " * 3000 + "x" + ")" * 3000)
    with pytest.raises(tl.errors.TreeError, match=r"3,000 levels deep.*up to 500 levels can be drawn"):
        deep.pretty()


def test_shared_objects_are_shared_subtrees() -> None:
    tree = tl.Tree("A", ["x"])
    for _ in range(600):
        tree = tl.Tree("A", [tree, tree])
    bank = tl.Treebank([tree, tl.Tree("B", [tree])])
    assert bank.columns.roots.tolist() == [601, 602]
    assert tl.SubsetTree().normalized()(bank)[0, 0] == 1


# --- banks ------------------------------------------------------------------------------------------------------


@given(banks(min_size=0, max_size=6))
def test_a_bank_is_its_trees(examples: list[tl.Tree]) -> None:
    bank = tl.Treebank(examples)
    assert list(bank) == examples
    assert bank.strings() == [str(tree) for tree in examples]
    assert tl.Treebank(bank.strings()) == bank
    assert pickle.loads(pickle.dumps(bank)) == bank
    assert bank.shape == (len(examples),)
    stats = bank.stats()
    assert stats["trees"] == len(examples)
    assert stats.nodes == sum(bool(node.children) for tree in examples for node in tree.nodes())
    assert stats.words == sum(len(tree.words()) for tree in examples)
    assert stats.distinct_subtrees == len({n for tree in examples for n in tree.nodes() if n.children})
    assert stats.productions == len({p for tree in examples for p in tree.productions()})
    assert stats.labels == len({n.label for tree in examples for n in tree.nodes()})


@given(banks(min_size=3, max_size=6), st.data())
def test_indexing(examples: list[tl.Tree], data: st.DataObject) -> None:
    bank = tl.Treebank(examples)
    n = len(bank)
    index = data.draw(st.lists(st.integers(-n, n - 1), max_size=5))
    assert list(bank[index]) == [examples[k] for k in index]
    assert list(bank[np.array(index, dtype=int), ...]) == [examples[k] for k in index]
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    assert list(bank[mask]) == [tree for tree, wanted in zip(examples, mask, strict=True) if wanted]
    assert list(bank[1:]) == examples[1:]
    assert list(bank[::-1]) == examples[::-1]
    assert bank[-1] == examples[-1]
    assert list(bank + examples[:1]) == [*examples, examples[0]]
    assert list(examples[:1] + bank) == [examples[0], *examples]
    assert list(tl.Treebank.concat([bank[1:], tl.Treebank(examples)])) == examples[1:] + examples
    K = tl.SubsetTree()(bank)
    np.testing.assert_allclose(tl.SubsetTree()(bank[::-1]), K[::-1, ::-1], rtol=1e-12)
    assert np.asarray(bank).shape == (n,)


def test_indexing_errors() -> None:
    bank = tl.Treebank([DOG, CAT])
    for bad in (2, -3):
        with pytest.raises(IndexError):
            bank[bad]
    with pytest.raises(IndexError):
        bank[[5]]
    for bad in ("a", 1.5, [0.5], [[0]], True):
        with pytest.raises(tl.errors.InputTypeError, match=f"index of a Treebank.*{re.escape(repr(bad))}"):
            bank[bad]  # type: ignore[index]
    assert len(bank[[]]) == 0


def test_messages_do_not_reveal_which_files_exist(tmp_path: Path) -> None:
    there, missing = tmp_path / "secret", tmp_path / "nothing"
    there.write_text("x", encoding="utf-8")
    texts = []
    for name in (there, missing):
        with pytest.raises(tl.errors.TreeletError) as caught:
            tl.Treebank([str(name)])
        texts.append(str(caught.value).replace(name.name, ""))
    assert texts[0] == texts[1]


def test_everything_that_holds_trees_is_taken() -> None:
    expected = tl.Treebank([DOG, CAT])
    own = [tl.Tree.parse(DOG), tl.Tree.parse(CAT)]
    theirs = [nltk.Tree.fromstring(DOG), nltk.Tree.fromstring(CAT)]
    array = np.empty(2, dtype=object)
    array[:] = own
    for given_ in (
        own,
        tuple(own),
        iter(own),
        theirs,
        array,
        np.array([DOG, CAT]),
        [DOG, own[1]],
        [theirs[0], CAT],
        expected,
    ):
        assert tl.Treebank(given_) == expected
    K = tl.SubsetTree()(expected)
    for given_ in (own, theirs, array, np.array([DOG, CAT]), [own[0], CAT]):
        np.testing.assert_array_equal(tl.SubsetTree()(given_), K)
        np.testing.assert_allclose(tl.SubsetTree()(given_, expected), K, rtol=1e-12)


@pytest.mark.parametrize(
    ("bad", "match"),
    [
        (DOG, "is one tree, but a collection"),
        (tl.Tree.parse(DOG), "Got one Tree"),
        (5, "Got an int"),
        ({DOG, CAT}, "Got a set"),
        (frozenset([DOG]), "Got a frozenset"),
        ([DOG, 5], "Item 1 is a.*but a tree is needed"),
        ([DOG, "(NP"], "item 1"),
        ([DOG, CAT + DOG], "needed here, but there are 2 trees"),
        ([DOG, ""], "missing tree, pass None or a float NaN"),
        (np.array([DOG, np.nan]), "missing tree, pass None or a float NaN"),
        ([DOG, "None"], "missing tree, pass None or a float NaN"),
        ([DOG, "dog"], "'dog' is plain text, but a tree such"),
        ([DOG, "wsj.mrg"], "'wsj.mrg' is a file name, but a tree"),
        ([DOG, __file__], "a file name, but a tree is needed"),
        ([DOG, Path("wsj.mrg")], "Item 1"),
        (Path("wsj.mrg"), "a file name, but a collection of trees"),
        ("wsj.mrg.gz", "a file name, but a collection of trees"),
        ([1.5], "Item 0 is a.*but a tree is needed"),
        (np.zeros((2, 2)), r"must have one dimension or one column.*shape is \(2, 2\)"),
        ({"tree": ["(B y)"]}, "Got a dict with the keys 'tree'"),
        (pd.DataFrame({"tree": ["(B y)"], "more": [1]}), "Got a DataFrame with the columns 'tree'"),
        (pd.DataFrame({"n": [1, 2]}), "Select the column that contains"),
    ],
)
def test_what_is_no_collection_of_trees(bad: object, match: str) -> None:
    with pytest.raises(tl.TreeletError, match=match):
        tl.Treebank(bad)  # type: ignore[arg-type]
    with pytest.raises(tl.TreeletError, match=match):
        tl.SubsetTree()(bad)


def test_real_trees(wsj: tl.Treebank) -> None:
    stats = wsj.stats()
    assert (stats.trees, stats.nodes, stats.words) == (3914, 167_545, 94_084)
    assert wsj[:50] == tl.Treebank(wsj[:50].strings())


def test_cleaning_the_released_trees(data_dir: Path, wsj: tl.Treebank) -> None:
    """Traces and function tags dropped here: the same trees as in the file that was cleaned by others."""
    released = data_dir / "ptb_sample" / "wsj_sample.raw.tsv.xz"
    assert tl.read_trees(released, format="tsv", drop_empty=True, drop_function_tags=True) == wsj


def test_a_tree_that_shares_its_parts_is_not_spelled_out(tmp_path: Path) -> None:
    tree = tl.Tree("a")
    for _ in range(100):  # 2^100 words
        tree = tl.Tree("S", [tree, tree])
    for spelled in (str, repr, tl.Tree.words, tl.Tree.productions, tl.Tree.pretty, pickle.dumps):
        with pytest.raises(tl.errors.TreeError, match="more than 50,000,000 nodes"):
            spelled(tree)
    bank = tl.Treebank([tree])
    assert (hash(tree) == hash(bank[0]), tree == bank[0]) == (True, True)
    with pytest.raises(tl.errors.TreeError, match="Tree 0 has more than 50,000,000 nodes"):
        bank.write(tmp_path / "bank.mrg")
    assert list(tmp_path.iterdir()) == []
    tl.save(bank, tmp_path / "bank.treelet")
    assert tl.load(tmp_path / "bank.treelet") == bank
    assert next(tree.nodes()) is tree
