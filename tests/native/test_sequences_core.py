"""The tagging kernel's core, driven hard: see test_core.py."""

from __future__ import annotations

import random

import numpy as np
import pytest

import treelet as tl
from treelet import _core


def random_bank(rng: random.Random, n: int) -> tl.TaggedBank:
    tags, words = "ABC"[: rng.randint(1, 3)], "xyzA"[: rng.randint(1, 4)]
    items: list[object] = []
    for _ in range(n):
        length = rng.choice([1, 1, 2, 3, 5, 9, 40])
        items.append(tl.Tagged(rng.choices(words, k=length), rng.choices(tags, k=length)))
        if rng.random() < 0.3:  # a candidate that differs in one place
            changed = list(items[-1].tags)
            changed[rng.randrange(length)] = rng.choice(tags)
            items.append(tl.Tagged(items[-1].words, changed))
        if rng.random() < 0.1:
            items.append(None)
    return tl.TaggedBank(items)


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
        joined = bank.joined(tl.TaggedBank(batch))[1]
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
