"""What every bank is: one list of banks x what holds for all of them."""

from __future__ import annotations

import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treelet as tl
from treelet import _core
from treelet.structures import DependencyBank, SequenceBank, TaggedBank
from treelet.structures.bank import Bank

TWO = [("(S (A x) (B y))", 0.6), ("(S (A x) (C y))", 0.4)]
BANKS: dict[str, tuple[type[Bank[Any]], list[Any]]] = {
    "trees": (tl.Treebank, ["(S (A x) (B y))", None, "(S (A z) (B y))", tl.Tree("w"), "(S (A x) (B y))"]),
    "forests": (
        tl.ForestBank,
        [tl.Forest.from_trees(TWO), None, "(S (A x) (B y))", tl.Forest.from_trees([("(T x)", 1), ("(U x)", 2)]), tl.Forest.from_trees(TWO)],
    ),
    "tagged": (TaggedBank, ["a/X b/Y", None, "c/X b/Y", [("d", "Z")], "a/X b/Y"]),
    "sequences": (SequenceBank, [["a", 1, ("b", 2)], None, {"t": ["a"], "u": [None]}, [], ["a", 1, ("b", 2)]]),
    "dependencies": (
        DependencyBank,
        [
            tl.Dependencies(["a", "b", "c"], ["X", "Y", "X"], [(0, 2, "L"), (0, 1, "M")], lemmas=["a", "_", "c"]),
            None,
            tl.Dependencies.from_heads(["a", "b"], None, [2, 0], ["nsubj", "root"]),
            tl.Dependencies(["a"]),
            tl.Dependencies(["a", "b", "c"], ["X", "Y", "X"], [(0, 2, "L"), (0, 1, "M")], lemmas=["a", "_", "c"]),
        ],
    ),
}  # fmt: skip


@pytest.fixture(params=BANKS)
def bank(request: pytest.FixtureRequest) -> Bank[Any]:
    cls, items = BANKS[request.param]
    return cls(items)


def test_it_is_a_collection(bank: Bank[Any]) -> None:
    items = list(bank)
    assert (len(bank), bank.shape) == (5, (5,))
    assert [bank[i] for i in range(-5, 5)] == items * 2
    for index in (slice(1, 4), slice(None, None, -2), [3, 0, 0], [], np.array([True, False, True, False, True])):
        expected = np.array([*items, 0], dtype=object)[:-1][index].tolist()
        assert list(bank[index]) == list(bank[index, ...]) == expected
    assert np.asarray(bank).tolist() == items
    assert bank == type(bank)(items) == type(bank).of(bank)
    assert bank != bank[1:]
    assert bank[::-1] != bank
    assert repr(bank).startswith(f"<{type(bank).__name__}: 5 ")
    for wrong in (5, -6, [5], [True]):
        with pytest.raises(IndexError):
            bank[wrong]
    for bad in ("x", 1.5, [0.5], [[0]]):
        with pytest.raises(tl.errors.InputTypeError, match=f"index of an? {type(bank).__name__} must be an int"):
            bank[bad]
    with pytest.raises(IndexError, match="dimension, so it is indexed by rows"):
        bank[0, 1]


def test_joins(bank: Bank[Any]) -> None:
    items = list(bank)
    assert list(bank + items[:2]) == items + items[:2]
    assert list(items[:2] + bank) == items[:2] + items
    assert list(type(bank).concat([bank, bank[:0], items, bank[3:]])) == items + items + items[3:]
    assert list(type(bank).concat([])) == []
    mine, theirs = bank.joined(type(bank)(items[2:]))
    assert mine is bank
    assert list(theirs) == items[2:]
    assert theirs.columns.roots.tolist() == bank.columns.roots[2:].tolist()
    assert bank.compact() == bank
    again = type(bank).from_columns(bank[3:].compact().columns)
    if isinstance(bank, tl.ForestBank):  # probabilities of edges are given their heads then
        assert [f.kbest(1)[0][0] for f in again] == [f.kbest(1)[0][0] for f in items[3:]]
    else:
        assert list(again) == items[3:]
    assert len(bank[:1].compact().columns.store) < len(bank.columns.store)


def test_numbers_that_follow_from_the_items(bank: Bank[Any]) -> None:
    """However a bank was made, its parts can be numbered as if its items had been read one after the other."""
    twisted = type(bank).concat([bank[::-1], bank])[len(bank) :]
    assert twisted.ordered() == bank
    if isinstance(bank, tl.ForestBank):  # a node's edges keep their order
        return
    found = {
        kind: made.ordered().packed()
        for kind, made in (("one", bank), ("other", twisted), ("again", twisted.ordered()))
    }
    for name, column in found["one"].items():
        np.testing.assert_array_equal(found["other"][name], column)
        np.testing.assert_array_equal(found["again"][name], column)
    assert (twisted.packed()["label"].tolist() != found["one"]["label"].tolist()) or twisted.ordered() is twisted


def test_deep_and_shared_parts_are_numbered_too() -> None:
    deep = tl.Treebank(["(A " * 100_000 + "x" + ")" * 100_000, "(B (A x) (A x))"])[::-1]
    assert deep.ordered() == deep
    shared = tl.Tree("x")
    for _ in range(60):  # 2 ** 60 nodes
        shared = tl.Tree("A", [shared, shared])
    assert len(tl.Treebank([shared, "(A x)"])[::-1].ordered()) == 2


def test_files(bank: Bank[Any], tmp_path: Path) -> None:
    for part in (bank, bank[1:3], bank[:0], type(bank).from_columns(bank.columns)):
        again = pickle.loads(pickle.dumps(part))
        assert (again, list(again)) == (part, list(part))
        tl.save(part, tmp_path / "bank.treelet")
        loaded = tl.load(tmp_path / "bank.treelet")
        assert type(loaded) is type(bank)
        assert (loaded, list(loaded)) == (part, list(part))
        np.testing.assert_array_equal(type(bank).unpacked(part.packed()).columns.roots, part.compact().columns.roots)


def test_forged_columns(bank: Bank[Any]) -> None:
    arrays = bank.packed()
    names = {"child", "label", "arity", "roots", "text_lengths", "texts"}
    assert set(arrays) == names | ({"probability", "edges"} if isinstance(bank, tl.ForestBank) else set())
    for change, values in arrays.items():
        shorter = [] if change == "roots" else [values[:-1]]
        for forged in (values * 0 + 200, values.astype(np.float32), *shorter):
            with pytest.raises((ValueError, tl.errors.TreeletError)):
                type(bank).unpacked(arrays | {change: forged})
    other = tl.Treebank(["(A x)"]) if isinstance(bank, tl.ForestBank) else tl.ForestBank(["(A x)"])
    with pytest.raises(tl.errors.TreeError):
        type(bank).unpacked(other.packed())


def test_weights_are_counts(bank: Bank[Any]) -> None:
    weights = bank.weights()
    assert len(weights) == 5
    assert weights.start[2] == weights.start[1]  # the missing one
    roots = bank.columns.roots
    for row in (0, 2, 4):
        nodes = weights.node[weights.start[row] : weights.start[row + 1]]
        assert (np.diff(nodes) > 0).all()
        assert nodes[-1] <= roots[row]
    part = bank[[4, 0]].weights()
    np.testing.assert_array_equal(part.weight[: part.start[1]], part.weight[part.start[1] :])


def test_columns_are_made_once_for_all_threads() -> None:
    bank = TaggedBank(["a/X b/Y"] * 2000)
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(bank.columns.store)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(store) for store in found}) == 1


def test_a_forest_bank_of_trees_is_made_natively(monkeypatch: pytest.MonkeyPatch) -> None:
    trees = tl.Treebank(["(S (A x) (B y))", None, "(S (A x))"])
    with monkeypatch.context() as patch:
        patch.setattr(tl.Forest, "from_tree", lambda tree: pytest.fail("one by one"))
        bank = tl.ForestBank(trees)
        assert bank.weights().weight.tolist() == trees.weights().weight.tolist()
        np.testing.assert_array_equal(tl.ForestKernel(0.7)(bank), tl.SubsetTree(0.7)(trees))
    assert [forest.best()[0] if forest else None for forest in bank] == list(trees)


def test_expected_counts_of_a_forest() -> None:
    forest = tl.Forest.from_trees([("(S (A x) (B y))", 3), ("(T (A x) (C y))", 1)])
    bank = tl.ForestBank([forest])
    weights, store = bank.weights(), bank.columns.store
    found = {store.labels[store.label[v]]: w for v, w in zip(weights.node, weights.weight, strict=True)}
    assert found == pytest.approx({"S": 0.75, "T": 0.25, "A": 1, "B": 0.75, "C": 0.25, "x": 1, "y": 1})
    again = tl.ForestBank.from_columns(bank.columns)[0]
    assert [(str(t), pytest.approx(p)) for t, p in again.trees()] == [
        (str(t), p / forest.probability()) for t, p in forest.trees()
    ]
    assert _core.ForestStore is type(store)
