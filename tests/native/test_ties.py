"""Results do not depend on how a standard library orders equal elements, which `std::sort` and heaps leave open."""

from __future__ import annotations

import random

import numpy as np
import pytest

import treelet as tl
from treelet import _core


@pytest.mark.parametrize("count", [5, 40])  # up to 16 elements, libstdc++ keeps the order of equal ones
def test_equal_windows_are_added_in_one_order(count: int) -> None:
    columns = [["a", *"b" * number] for number in range(1, 11)]
    bank = tl.structures.SequenceBank([*columns, *([*"acbcc", number] for number in range(count))])
    store, trees = bank.columns.store, bank.weights()
    locality = tl.Locality(5, 0.7).native(store, trees.take(np.arange(10)), False)
    weights = [float(number) for number in range(1, count + 1)]  # integers, so all other sums are exact
    out, rows = np.empty((1, 10)), set()
    for seed in range(50):
        random.Random(seed).shuffle(weights)
        locality.rows(store, trees.merged(np.arange(10, 10 + count), np.array([weights])), None, 0, 1, out)
        rows.add(out.tobytes())
    assert len(rows) == 1


def test_equal_bounds_are_compared_by_column() -> None:
    words = " ".join(f"(A w{number})" for number in range(40))
    bank = tl.Treebank([f"(S {words})", *[f"(T {words})"] * 20])
    (store, roots), costs = bank.columns, tl.EditDistance()._costs().native(bank, bank)
    columns, out = _core.EditColumns(store, roots[1:], costs, True), np.empty((1, 20))
    # No pair fits into the memory, so all are refused, in the order in which they are compared.
    refused = columns.rows(store, roots, False, 0, 1, out, False, np.inf, 1, memory=20_000, skips=True)
    assert refused == [(0, column) for column in range(20)]
