"""The memory of an index is estimated before it is built, and the estimate holds."""

from __future__ import annotations

import random

import numpy as np
import pytest

import treelet as tl
from treelet import _core
from treelet.structures import SequenceBank, TaggedBank


def sequences(rng: random.Random, n: int) -> SequenceBank:
    names = [f"f{k}" for k in range(200)]
    return SequenceBank([{t: rng.choices(names, k=rng.randint(3, 30)) for t in "xy"} for _ in range(n)])


def tagged(rng: random.Random, n: int) -> TaggedBank:
    items = []
    for _ in range(n):
        words = [f"w{int(rng.random() ** 3 * 500)}" for _ in range(rng.randint(3, 30))]
        items.append(tl.Tagged(words, [f"T{(int(word[1:]) + rng.randrange(2)) % 12}" for word in words]))
    return TaggedBank(items)


def cases() -> list[tuple[str, object, type, tuple[object, ...]]]:
    rng = random.Random(0)
    trees, chains, features = tl.datasets.flights(400), tagged(rng, 300), sequences(rng, 300)
    forests = tl.ForestBank([tl.Forest.from_tree(tree) for tree in trees[:200]])
    types = [(features.columns.store.labels.index(name), 2, 1.0) for name in "xy"]
    start = np.arange(len(trees.columns.store.labels) + 1)
    neighbor = ((start[:-1] + 1) % len(start[:-1])).astype(np.int32)
    alike, alike_nodes = (
        _core.Similar.of(start, neighbor, np.full(len(neighbor), 0.5), inner) for inner in (False, True)
    )
    return [
        ("ST", trees, _core.SubtreeColumns, (0.4,)),
        ("SST", trees, _core.SubsetTreeColumns, (0.4, 0, False)),
        ("SST, depth 1", trees, _core.SubsetTreeColumns, (0.4, 1, False)),
        ("SST, leaves", trees, _core.SubsetTreeColumns, (0.4, 0, True)),
        ("SST, depth 3", trees, _core.SubsetTreeColumns, (0.4, 3, False)),
        ("PT", trees, _core.PartialTreeColumns, (0.4, 0.4, True, 1.0, None)),
        ("PT without leaves", trees, _core.PartialTreeColumns, (0.4, 0.4, False, 1.0, None)),
        ("PT, similar words", trees, _core.PartialTreeColumns, (0.4, 0.4, True, 1.0, alike)),
        ("PT, similar nodes", trees, _core.PartialTreeColumns, (0.4, 0.4, True, 1.0, alike_nodes)),
        ("PT, terminal factor", trees, _core.PartialTreeColumns, (0.4, 0.4, True, 0.5, None)),
        ("tagging", chains, _core.TaggingColumns, (0.4,)),
        ("locality", features, _core.LocalityColumns, (types, 0, 0.5)),
        ("subsequences", features, _core.SubsequenceColumns, (0.5, 3)),
        ("forests", forests, _core.ForestColumns, (0.4, False)),
        ("forests, leaves", forests, _core.ForestColumns, (0.4, True)),
    ]


@pytest.mark.parametrize(
    ("name", "bank", "columns", "parameters"), cases(), ids=lambda x: x if isinstance(x, str) else ""
)
def test_estimates(name: str, bank: tl.Treebank, columns: type, parameters: tuple[object, ...]) -> None:
    store = bank.columns.store
    for part in (bank, bank[: len(bank) // 3]):
        weights = part.weights()
        index, working = columns.estimate(store, weights, *parameters)
        made = columns(store, weights, False, *parameters)
        assert made.bytes <= index <= 2 * made.bytes + 4000
        assert working >= 8 * len(part)
    with pytest.raises(ValueError, match="do not belong"):
        columns.estimate(type(store)(), weights, *parameters)


def test_nothing_to_estimate() -> None:
    store, none = _core.Store(), _core.NodeWeights.of(np.array([0]), np.array([], np.int32), np.array([]))
    for columns, parameters in (
        (_core.SubtreeColumns, (0.4,)),
        (_core.SubsetTreeColumns, (0.4, 0, False)),
        (_core.PartialTreeColumns, (0.4, 0.4, True, 1.0, None)),
        (_core.TaggingColumns, (0.4,)),
        (_core.LocalityColumns, ([(0, 1, 1.0)], 0, 0.5)),
        (_core.SubsequenceColumns, (0.5, 2)),
    ):
        index, _ = columns.estimate(store, none, *parameters)
        assert columns(store, none, False, *parameters).bytes <= index <= 20000


@pytest.mark.parametrize(
    "kernel",
    [tl.Subtree(), tl.SubsetTree(), tl.PartialTree(), tl.PartialTree(leaves=False), tl.ForestKernel(), tl.Tagging(), tl.Locality(16)],
    ids=repr,
)  # fmt: skip
def test_a_rough_bound_is_one(kernel: tl.kernels.Kernel) -> None:
    """If the rough bound fits, no estimate is computed, so the bound must hold for all examples."""
    if isinstance(kernel, tl.Tagging):
        banks = [["a/X b/Y c/X"] * 50, [" ".join(f"w{i}/T{i % 7}" for i in range(5000))]]
    elif isinstance(kernel, tl.Locality):
        banks = [[[f"f{i % 11}" for i in range(3000)]], [[f"f{i}" for i in range(j)] for j in range(1, 80)]]
    else:
        wide = "(A " + "(B x)" * 20_000 + ")"
        mixed = "(A " + "".join(f"(B{i % 50} x{i % 9})" for i in range(3_000)) + ")"
        banks = [
            list(tl.datasets.flights(200)),
            [wide, mixed],
            ["(A " * 2000 + "x" + ")" * 2000],
            [f"(A{i} x{i})" for i in range(3000)],
        ]
    for bank in banks:
        rough, close = kernel.needs(bank, 1 << 60), kernel.needs(bank)
        assert rough != close
        assert sum(rough) >= close.index + 2 * close.thread
