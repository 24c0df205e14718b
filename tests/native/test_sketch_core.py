"""Stress tests of the native sketch; see test_core.py."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import treelet as tl
from treelet import _core

NOTHING = np.empty(0, np.uint64), np.empty(0, np.int32)


def random_tree(rng: random.Random, size: int) -> str:
    if size <= 1:
        return f"({rng.choice('AB')} {rng.choice('xyA')})"
    sizes = [rng.randint(1, max(1, size // 2)) for _ in range(rng.randint(1, 4))]
    return f"({rng.choice('AB')} {' '.join(random_tree(rng, part) for part in sizes)})"


def random_bank(rng: random.Random) -> tl.Treebank:
    trees = [random_tree(rng, rng.choice([1, 2, 5, 20])) for _ in range(rng.randint(1, 20))]
    return tl.Treebank([*trees, None, *rng.choices(trees, k=3)])


def rows(native: Any, bank: tl.Treebank, begin: int = 0) -> Any:
    out = np.full((len(bank) - begin, native.width), np.nan, np.float32)
    store, roots = bank.columns
    native.rows(store, bank.weights(), roots, np.zeros(len(bank)), begin, len(bank), out)
    return out


@pytest.mark.parametrize("seed", range(20))
def test_random_banks(seed: int) -> None:
    rng = random.Random(seed)
    bank, partial, leaves = random_bank(rng), rng.random() < 0.5, rng.random() < 0.5
    lam, depth, waves = rng.choice([0.1, 0.5, 1.0]), rng.choice([0, 0, 1, 3]), rng.choice([1, 2, 7, 16, 33])
    counts = _core.PartCounts(partial, leaves, depth != 1)
    counts.add(bank.columns.store, bank.weights(), np.ones(len(bank)))
    assert len(set(counts.key.tolist())) == len(counts.key) == len(counts.mass) == len(counts.pair) == len(counts.trees)
    for exact in (0, len(counts.key) // 2, len(counts.key)):
        coordinates = np.where(np.arange(len(counts.key)) < exact, np.arange(len(counts.key)), -1).astype(np.int32)
        for only_known in (False, True):
            made = [
                _core.TreeSketch(
                    partial, lam, 0.5, depth, leaves, waves, seed, counts.key, coordinates, only_known, budget
                )
                for budget in (1 << 27, 40 * waves, 0)
            ]
            expected = rows(made[0], bank)
            assert expected.shape == (len(bank), exact + 2 * waves)
            assert np.isfinite(expected).all()
            for native in made[1:]:  # vectors that are not stored are computed again
                np.testing.assert_array_equal(rows(native, bank), expected)
            np.testing.assert_array_equal(rows(made[0], bank, len(bank) // 2), expected[len(bank) // 2 :])


def test_what_grows_past_a_float() -> None:
    bank = tl.Treebank(["(S " + "(A (B b) (B (C c) (D d)))" * 300 + ")", "(S s)"])
    for partial in (False, True):
        native = _core.TreeSketch(partial, 1.0, 1.0, 0, True, 8, 0, *NOTHING, False)
        out = np.empty((2, 16), np.float32)
        store, roots = bank.columns
        assert native.rows(store, bank.weights(), roots, np.zeros(2), 0, 2, out) == 0
        assert native.rows(store, bank.weights(), roots, np.array([1e5, 0.0]), 0, 2, out) is None
        assert native.rows(store, bank.weights(), roots, np.array([-np.inf, 0.0]), 0, 2, out) is None
        assert not out[0].any()


def test_arguments_that_do_not_fit() -> None:
    bank = tl.Treebank(["(A (B b))", "(C c)"])
    store, roots = bank.columns
    native = _core.TreeSketch(False, 0.4, 1.0, 0, False, 4, 0, *NOTHING, False)
    good = {"store": store, "trees": bank.weights(), "roots": roots, "logs": np.zeros(2), "begin": 0, "end": 2}
    good["out"] = np.empty((2, 8), np.float32)
    native.rows(**good)
    other = tl.Treebank(["(A (B (C (D (E e)))))"])
    for wrong in (
        {"end": 3},
        {"begin": 2, "end": 1},
        {"logs": np.zeros(1)},
        {"roots": np.array([0, 99], np.int32)},
        {"out": np.empty((2, 7), np.float32)},
        {"out": np.empty((1, 8), np.float32)},
        {"out": np.empty((8, 2), np.float32).T},
        {
            "trees": other.weights(),
            "roots": roots[:1],
            "logs": np.zeros(1),
            "end": 1,
            "out": np.empty((1, 8), np.float32),
        },
    ):
        with pytest.raises(ValueError, match=r"range|shape|outside|belong|contiguous"):
            native.rows(**(good | wrong))
    for arguments in (
        (False, 0.0, 1.0, 0, False, 4, 0, *NOTHING, False),
        (False, 0.4, 1.0, -1, False, 4, 0, *NOTHING, False),
        (False, 0.4, 1.0, 0, False, 0, 0, *NOTHING, False),
        (False, 0.4, 1.0, 0, False, 4, 0, np.zeros(1, np.uint64), np.zeros(2, np.int32), False),
        (False, 0.4, 1.0, 0, False, 4, 0, np.zeros(1, np.uint64), np.ones(1, np.int32), False),
    ):
        with pytest.raises(ValueError, match=r"range|length|outside"):
            _core.TreeSketch(*arguments)
    counts = _core.PartCounts(False, False, True)
    with pytest.raises(ValueError, match="share"):
        counts.add(store, bank.weights(), np.zeros(3))
    with pytest.raises(ValueError, match="belong"):
        counts.add(store, other.weights(), np.zeros(1))
