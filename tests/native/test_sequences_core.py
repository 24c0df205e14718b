"""Stress tests of the native kernels between sequences; see test_core.py."""

from __future__ import annotations

import random

import numpy as np
import pytest

import treelet as tl
from treelet import _core


def random_bank(rng: random.Random, n: int) -> tl.structures.TaggedBank:
    tags, words = "ABC"[: rng.randint(1, 3)], "xyzA"[: rng.randint(1, 4)]
    items: list[object] = []
    for _ in range(n):
        length = rng.choice([1, 1, 2, 3, 5, 9, 40])
        items.append(tl.Tagged(rng.choices(words, k=length), rng.choices(tags, k=length)))
        if rng.random() < 0.3:  # a candidate that differs at one position
            changed = list(items[-1].tags)
            changed[rng.randrange(length)] = rng.choice(tags)
            items.append(tl.Tagged(items[-1].words, changed))
        if rng.random() < 0.1:
            items.append(None)
    return tl.structures.TaggedBank(items)


def plain(first: tl.Tagged | None, second: tl.Tagged | None, lam: float) -> float:
    """The recursion, cell by cell."""
    if first is None or second is None:
        return 0.0
    C = np.zeros((len(first) + 1, len(second) + 1))
    for i in reversed(range(len(first))):
        for j in reversed(range(len(second))):
            if first.tags[i] == second.tags[j]:
                C[i, j] = lam * (1 + (first.words[i] == second.words[j])) * (1 + C[i + 1, j + 1])
    return float(C.sum())


@pytest.mark.parametrize("seed", range(25))
def test_random_banks(seed: int) -> None:
    rng = random.Random(seed)
    bank, others = random_bank(rng, rng.randint(1, 25)), random_bank(rng, rng.randint(1, 10))
    lam = rng.choice([0.1, 0.4, 0.9])
    kernel = tl.Tagging(lam)
    K = kernel(bank)
    expected = np.array([[plain(a, b, lam) for b in bank] for a in bank])
    np.testing.assert_allclose(K, expected, rtol=1e-9)
    np.testing.assert_allclose(
        kernel(others, bank), np.array([[plain(a, b, lam) for b in bank] for a in others]), rtol=1e-9
    )
    np.testing.assert_allclose(kernel.diag(bank), np.diag(K), rtol=1e-12)
    np.testing.assert_allclose(tl.gram(kernel, bank, memory=1, out=np.empty_like(K)), K, rtol=1e-12)
    tl.Tagging(1.0).normalized()(bank, n_jobs=2)
    kernel(bank, eval_gradient=True)


def test_growing_graphs() -> None:
    rng = random.Random(3)
    bank = random_bank(rng, 40)
    bank = bank[[i for i, item in enumerate(bank) if item is not None]]
    store, rows = bank.columns.store, bank.weights()
    nodes = np.arange(len(store), dtype=np.int32)
    empty = _core.NodeWeights.of(np.array([0, len(nodes)]), nodes, np.zeros(len(nodes)))
    graph = _core.TaggingColumns(store, empty, False, 0.5)
    alpha, out = np.zeros(len(bank)), np.empty((len(bank), 1))
    K = tl.Tagging(0.5)(bank)
    for _ in range(30):
        row, weight = rng.randrange(len(bank)), rng.choice([1.0, -1.0, 0.5])
        graph.add(rows, row, weight)
        alpha[row] += weight
        graph.rows(store, rows, None, 0, len(bank), out)
        np.testing.assert_allclose(out[:, 0], K @ alpha, rtol=1e-9, atol=1e-9)
    for batch in (["q/Q x/A"], ["x/A y/B z/C A/A"], ["x/A"] * 3):
        joined = bank.joined(tl.structures.TaggedBank(batch))[1]
        many = np.empty((len(batch), 1))
        graph.rows(joined.columns.store, joined.weights(), None, 0, len(batch), many)
        np.testing.assert_allclose(many[:, 0], tl.Tagging(0.5)(batch, bank) @ alpha, rtol=1e-9, atol=1e-9)
    with pytest.raises(ValueError):  # noqa: PT011
        graph.add(rows, len(bank), 1.0)


def test_trees_that_are_no_chains_do_no_harm() -> None:
    texts = ["(A (B x) (C y) z)", "(A x)", "(A x (A y (A z)) q)", "(S (S (S x y) (T z)))", "(A (A (A x)))"]
    bank = tl.Treebank(texts)
    store, rows = bank.columns.store, bank.weights()
    out = np.empty((len(texts), len(texts)))
    _core.TaggingColumns(store, rows, False, 0.4).rows(store, rows, None, 0, len(texts), out)
    assert np.isfinite(out).all()
    _core.TaggingColumns(store, rows, True, 0.4).rows(store, rows, None, 0, len(texts), out)
    _core.TaggingColumns.self_values(store, rows, True, 0.4)


# --- sequences of features ------------------------------------------------------------------------------------------


def random_sequences(rng: random.Random, n: int) -> tl.structures.SequenceBank:
    features = ["a", "b", "c", 1, (1, "a")][: rng.randint(1, 5)]
    items: list[object] = []
    for _ in range(n):
        lengths = [rng.choice([0, 1, 2, 3, 9, 30]) for _ in range(2)]
        items.append({"xy"[k]: rng.choices(features, k=length) for k, length in enumerate(lengths)})
        if rng.random() < 0.2:
            items.append(rng.choices(features, k=5))
        if rng.random() < 0.1:
            items.append(None)
    return tl.structures.SequenceBank(items)


def kernels(rng: random.Random) -> list[tl.Locality | tl.Subsequence]:
    window = rng.choice([1, 2, 3, 5, 8, 1000])
    local = [tl.Locality(window, rng.choice([0.0, 0.5, 3.0]), match) for match in ("position", "exact", "count")]
    return [*local, tl.Subsequence(rng.choice([0.2, 1.0]), rng.randint(1, 5))]


@pytest.mark.parametrize("seed", range(8))
def test_feature_sequences(seed: int) -> None:
    rng = random.Random(seed)
    bank, others = random_sequences(rng, rng.randint(1, 60)), random_sequences(rng, rng.randint(1, 10))
    for kernel in kernels(rng):
        N = kernel.normalized()(bank, n_jobs=2)
        assert np.isfinite(N).all()
        np.testing.assert_allclose(N, N.T, rtol=1e-9, atol=1e-12)
        across = kernel.normalized()(others, bank)
        np.testing.assert_allclose(across, kernel.normalized()(bank, others).T, rtol=1e-9, atol=1e-12)
        logs = kernel.self_values(bank, logs=True)
        there = np.isfinite(logs) & (logs < 600)
        np.testing.assert_allclose(np.log(kernel.self_values(bank)[there]), logs[there], rtol=1e-9, atol=1e-9)


def test_growing_sequences() -> None:
    rng = random.Random(5)
    bank = random_sequences(rng, 30)
    bank = bank[[i for i, item in enumerate(bank) if item is not None]]
    store, rows = bank.columns.store, bank.weights()
    nodes = np.arange(len(store), dtype=np.int32)
    empty = _core.NodeWeights.of(np.array([0, len(nodes)]), nodes, np.zeros(len(nodes)))
    for kernel in (tl.Locality(3), tl.Locality(4, match="count", weights={"x": 0.5}), tl.Subsequence(0.5, 2)):
        graph = kernel.native(store, empty, False)
        K, alpha, out = kernel(bank), np.zeros(len(bank)), np.empty((len(bank), 1))
        for _ in range(20):
            row, weight = rng.randrange(len(bank)), rng.choice([1.0, -1.0, 0.5])
            graph.add(rows, row, weight)
            alpha[row] += weight
            graph.rows(store, rows, None, 0, len(bank), out)
            np.testing.assert_allclose(out[:, 0], K @ alpha, rtol=1e-9, atol=1e-7 * K.max())


def test_trees_that_are_no_sequences_do_no_harm() -> None:
    bank = tl.Treebank(["(A (B x) (C y) z)", "(A x)", "(A x (A y (A z)) q)", "(S (S (S x y) (T z)))", "(A (A (A x)))"])
    store, rows = bank.columns.store, bank.weights()
    out = np.empty((len(bank), len(bank)))
    for scaled in (False, True):
        for columns in (
            _core.LocalityColumns(store, rows, scaled, [(0, 1, 1.0), (2, 5, 2.0)], 0, 0.5),
            _core.LocalityColumns(store, rows, scaled, [], 1, 0.5),
            _core.LocalityColumns(store, rows, scaled, [(10**6, 2**30, 1.0)], 2, 0.5),
            _core.SubsequenceColumns(store, rows, scaled, 0.5, 2),
        ):
            columns.rows(store, rows, None, 0, len(bank), out)
    for types, match in (([(-1, 1, 1.0)], 0), ([(0, -1, 1.0)], 0), ([], 3), ([], -1)):
        with pytest.raises(ValueError):  # noqa: PT011
            _core.LocalityColumns(store, rows, False, types, match, 0.5)
    with pytest.raises(ValueError, match="needs at least one feature"):
        _core.SubsequenceColumns(store, rows, False, 0.5, 0)
