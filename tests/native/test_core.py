"""Stress tests of the native core. `make test` runs them plainly, `make sanitize` with AddressSanitizer and UBSan.

This file does not use hypothesis or scikit-learn, because the sanitized build is slow.
"""

from __future__ import annotations

import os
import random

import numpy as np
import pytest

import treelet as tl
from cases import PLAIN
from treelet import _core
from treelet.formats.base import Columns

KERNELS = [PLAIN[name].kernel for name in ("st", "sst", "sst depth 1", "sst depth 3", "pt", "pt no leaves")]


def test_the_right_core_is_under_test() -> None:
    if any(name in os.environ.get("LD_PRELOAD", "") for name in ("libasan", "libtsan")):
        assert _core.sanitized, "the sanitizers are loaded but the core was built without them"
    else:
        assert _core.optimized


def random_text(rng: random.Random, nodes: int, labels: str = "ABC", words: str = "xyzA") -> str:
    if nodes <= 1:
        return f"({rng.choice(labels)} {rng.choice(words)})"
    kids, left = [], nodes - 1
    while left > 0:
        share = rng.randint(1, left)
        kids.append(random_text(rng, share, labels, words) if rng.random() < 0.8 else rng.choice(words))
        left -= share
    return f"({rng.choice(labels)} {' '.join(kids)})"


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_all_ways_to_the_same_matrix(kernel: tl.kernels.Kernel) -> None:
    rng = random.Random(1)
    texts = [random_text(rng, rng.randint(1, 40)) for _ in range(40)]
    texts += [f"(S {texts[0]} {texts[k]})" for k in range(20)]
    bank = tl.Treebank([*texts, None])
    K = kernel(bank)
    np.testing.assert_allclose(kernel(bank, bank), K, rtol=1e-12)
    np.testing.assert_array_equal(kernel(bank, n_jobs=2), K)
    np.testing.assert_allclose(kernel(bank[20:], tl.Treebank(texts[:20])), K[20:, :20], rtol=1e-12)
    np.testing.assert_allclose(tl.gram(kernel, bank, memory=2000, out=np.zeros_like(K)), K, rtol=1e-12)
    np.testing.assert_allclose(kernel.diag(bank), np.diag(K), rtol=1e-12)
    order = np.array(rng.sample(range(len(bank)), len(bank)))
    np.testing.assert_allclose(kernel(bank[order]), K[np.ix_(order, order)], rtol=1e-12)
    logs = np.empty_like(K)
    kernel.evaluator(bank, logs=True).fill(0, len(bank), logs, False)
    np.testing.assert_allclose(np.exp(logs), K, rtol=1e-9)


def test_rows_from_a_store_grown_later() -> None:
    """An index over columns stays valid for trees that are added later, with new labels and productions."""
    rng = random.Random(2)
    known = tl.Treebank([random_text(rng, 15) for _ in range(10)])
    new = tl.Treebank([random_text(rng, 15, labels="ABCDEF", words="pqxy") for _ in range(10)])
    _, later = known.joined(new)
    for kernel in KERNELS:
        columns = kernel.native(known.columns.store, known.weights(), False)
        out = np.empty((len(later), len(known)))
        assert columns.rows(later.columns.store, later.weights(), None, 0, len(later), out) is None
        np.testing.assert_allclose(out, kernel(new, known), rtol=1e-12)


def test_weights_of_any_kind() -> None:
    rng = random.Random(3)
    bank = tl.Treebank([random_text(rng, 20) for _ in range(12)])
    weights = bank.weights()
    alpha = np.linspace(-2, 3, len(bank))
    start, node, weight = weights.start, weights.node, weights.weight
    total = np.zeros(len(bank.columns.store))
    np.add.at(total, node, weight * np.repeat(alpha, np.diff(start)))
    used = np.unique(node).astype(np.int32)
    model = _core.NodeWeights.of(np.array([0, len(used)]), used, total[used])
    for kernel in KERNELS:
        columns = kernel.native(bank.columns.store, model, False)
        out = np.empty((len(bank), 1))
        columns.rows(bank.columns.store, weights, None, 0, len(bank), out)
        np.testing.assert_allclose(out[:, 0], kernel(bank) @ alpha, rtol=1e-9, atol=1e-9)


def test_random_bytes_never_crash_the_reader() -> None:
    alphabet = b"()() \n\tABx-\xc3\xa9\xff\x00"
    trees = errors = 0
    for seed in range(300):
        rng = random.Random(seed)
        data = bytes(rng.choices(alphabet, k=rng.randint(0, 400)))
        reader = _core.BracketReader(seed % 2 == 0, seed % 3 == 0, "ROOT" if seed % 5 == 0 else "")
        try:
            while data:
                size = rng.randint(1, 60)
                reader.feed(data[:size])
                data = data[size:]
            reader.finish()
        except _core.InputError as error:
            errors += 1
            line, column, message = error.args
            assert line >= 1
            assert column >= 1
            assert message
        trees += reader.trees
    assert errors > 100
    balanced = _core.BracketReader()
    balanced.feed(b"(A x)" * 7)
    assert balanced.trees == 7


def test_chunks_do_not_matter() -> None:
    rng = random.Random(5)
    text = " ".join(random_text(rng, 30) for _ in range(20)).encode() + "(é ü)".encode()
    whole = _core.BracketReader()
    whole.feed(text)
    whole.finish()
    expected = tl.Treebank.from_columns(Columns(*whole.result()))
    for size in (1, 2, 3, 7, 64):
        reader = _core.BracketReader()
        for begin in range(0, len(text), size):
            reader.feed(text[begin : begin + size])
        reader.finish()
        assert tl.Treebank.from_columns(Columns(*reader.result())) == expected


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


def longs(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def test_malformed_columns_are_refused() -> None:
    make = _core.Store.from_columns
    assert len(make(["x", "A"], ints(0, 1), longs(0, 0, 1), ints(0))) == 2
    bad = [
        (["x", "x"], ints(0), longs(0, 0), ints()),  # a label twice
        (["x"], ints(1), longs(0, 0), ints()),  # a label that does not exist
        (["x"], ints(-1), longs(0, 0), ints()),
        (["x"], ints(0, 0), longs(0, 0, 0), ints()),  # a node twice
        (["x"], ints(0), longs(0, 1), ints(0)),  # its own child
        (["x", "A"], ints(0, 1), longs(0, 0, 1), ints(5)),
        (["x", "A"], ints(0, 1), longs(0, 0, 1), ints(-7)),
        (["x", "A"], ints(0, 1), longs(0, 9, 1), ints(0)),  # offsets out of order
        (["x", "A"], ints(0, 1), longs(0, -3, 1), ints(0)),
        (["x", "A"], ints(0, 1), longs(0, 0), ints(0)),
        (["x", "A"], ints(0, 1), longs(1, 1, 1), ints(0)),
        (["x"], ints(0), longs(), ints()),
    ]
    for columns in bad:
        with pytest.raises(ValueError, match=r"."):
            make(*columns)


def test_parents_in_post_order() -> None:
    order, arity = _core.post_order(ints(2, 0, -1, 2, 0, -1), longs(5, 6))
    assert order.tolist() == [1, 4, 0, 3, 2, 5]
    assert arity.tolist() == [0, 0, 2, 0, 2, 0]
    chain = np.arange(-1, 99_999, dtype=np.int32)
    assert _core.post_order(chain, longs(100_000))[0].tolist() == list(range(99_999, -1, -1))


def test_trees_written_parents_first_in_post_order() -> None:
    # (A (B x y) z), then (C (B x y) w), in which the node over x and y is node 1 again
    order, arity, wrong = _core.children_first(ints(2, 2, 0, 0, 0, 2, -2, 0), longs(5, 8))
    assert order.tolist() == [2, 3, 1, 4, 0, 6, 7, 5]
    assert arity.tolist() == [0, 0, 2, 0, 2, -3, 0, 2]
    assert wrong == -1
    chain = np.ones(100_000, np.int32)
    chain[-1] = 0
    assert _core.children_first(chain, longs(100_000))[0].tolist() == list(range(99_999, -1, -1))
    for bad in [(1,), (0, 0), (1, -2), (1, -9), (2, 0), (1, -2147483648), ()]:  # (1, -2): a node within itself
        assert _core.children_first(ints(0, *bad), longs(1, 1 + len(bad)))[2] == 1
    with pytest.raises(ValueError, match="after the last"):
        _core.children_first(ints(0, 0), longs(1))
    with pytest.raises(ValueError, match="out of range"):
        _core.children_first(ints(0), longs(2))


def test_a_tree_in_brackets() -> None:
    texts = ["(S (NP (D the) (N cat)) (VP sat))", "(x)", "(S (A é) b)"]
    store, roots = tl.Treebank(texts).columns
    assert [_core.in_brackets(store, root) for root in roots.tolist()] == texts
    for root in (-1, len(store)):
        with pytest.raises(ValueError, match="no such node"):
            _core.in_brackets(store, root)


def test_malformed_calls_are_refused() -> None:
    with pytest.raises(ValueError, match="claims children"):
        _core.build(["A"], ints(0), ints(3), longs(1))
    with pytest.raises(ValueError, match="repeats"):
        _core.build(["A"], ints(0), ints(-1), longs(1))
    with pytest.raises(ValueError, match="roots"):
        _core.build(["A"], ints(0, 0), ints(0, 0), longs(2))
    with pytest.raises(ValueError, match="after the last"):
        _core.build(["A"], ints(0, 0), ints(0, 0), longs(1))
    with pytest.raises(ValueError, match="outside"):
        _core.build(["A"], ints(4), ints(0), longs(1))
    for parents in [(-1, -1), (0,), (1, 0), (-1, 2, 1), (-1, 2), (-1, -2), ()]:
        with pytest.raises(ValueError, match="do not form a tree"):
            _core.post_order(ints(*parents), longs(len(parents)))
    with pytest.raises(ValueError, match="after the last"):
        _core.post_order(ints(-1, 0), longs(1))
    for ends in [(2,), (-1,), (1, 0)]:
        with pytest.raises(ValueError, match="out of range"):
            _core.post_order(ints(-1), longs(*ends))
    bank = tl.Treebank(["(A x)", "(B y)"])
    store, _ = bank.columns
    with pytest.raises(ValueError, match="outside"):
        _core.NodeWeights.count(store, ints(99))
    with pytest.raises(ValueError, match="fit together"):
        _core.NodeWeights.of(longs(0, 5), ints(0), np.ones(1))
    with pytest.raises(ValueError, match="negative"):
        _core.NodeWeights.of(longs(0, 1), ints(-1), np.ones(1))
    with pytest.raises(ValueError, match="out of range"):
        bank.weights().take(longs(7))
    with pytest.raises(ValueError, match="do not belong"):
        _core.SubsetTreeColumns(_core.Store(), bank.weights(), False, 0.4, 0, False)
    columns = _core.SubsetTreeColumns(store, bank.weights(), False, 0.4, 0, False)
    for begin, end, shape, limit in (
        (0, 3, (3, 2), None),
        (0, 2, (2, 3), None),
        (1, 0, (0, 2), None),
        (0, 2, (2, 2), ints(5)),
    ):
        with pytest.raises(ValueError, match=r"range|shape|limit"):
            columns.rows(store, bank.weights(), limit, begin, end, np.empty(shape))
    with pytest.raises(ValueError, match="do not belong"):
        columns.rows(_core.Store(), bank.weights(), None, 0, 2, np.empty((2, 2)))


def test_deep_and_wide_trees() -> None:
    scale = 1 if _core.sanitized else 10
    deep = "(A " * (300 * scale) + "x" + ")" * (300 * scale)
    labeled = "".join(f"(A{k} " for k in range(5000 * scale)) + "x" + ")" * (5000 * scale)
    wide = "(S " + " ".join(f"(N w{k})" for k in range(2000)) + ")"  # PT compares children by pairs
    same = "(S " + "(N w) " * 700 + ")"
    for kernel in KERNELS:
        N = kernel.normalized()([deep, labeled, wide, same])
        np.testing.assert_allclose(np.diag(N), 1)
        assert (N <= 1 + 1e-9).all()


def test_trees_larger_than_memory_could_hold() -> None:
    """Shared subtrees are counted, not expanded: this tree has 2^60 nodes."""
    tree = tl.Tree("A", ["x"])
    store = _core.Store.from_columns(
        ["x", "A"],
        ints(0, *[1] * 60),
        longs(0, 0, 1, *range(3, 120, 2)),
        ints(0, *[k for k in range(1, 60) for _ in (0, 1)]),
    )
    bank = tl.Treebank.from_columns(Columns(store, ints(60)))
    assert bank.stats().words == 2**59
    assert tl.Subtree(lam=1)(bank)[0, 0] == pytest.approx(sum(4.0**k for k in range(60)))
    assert tl.SubsetTree(lam=1).normalized()(bank)[0, 0] == 1
    assert tree.height() == 1
