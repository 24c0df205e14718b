"""A bounded part of what `make differential` does for half an hour: a batch of every check; and that a wrong value is seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import differ
import differ_edits
import differ_fragments
import differ_independence
import differ_kernels
import differ_learners
import differ_parsers
import numpy as np
import pytest
from differ import CHECKS, Batch

import treelet as tl
from definitions.kernels import definition
from definitions.rounding import size

MODULES = (differ_edits, differ_fragments, differ_independence, differ_kernels, differ_learners, differ_parsers)
ELSEWHERE = ("Dask workers", "hash seeds", "files", "tiles", "learners and parsers by threads")
"""What starts processes, or many threads: other tests do that once for all kernels."""

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("name", [name for name in CHECKS if name not in ELSEWHERE])
def test_a_batch(name: str) -> None:
    batch = differ.done(CHECKS[name], 0, 1)
    assert not batch.told, batch.told[0]
    assert batch.rows, "nothing was compared"


def wrong(kernel: tl.kernels.Kernel, error: Callable[[Any, Any], float]) -> Any:
    """A kernel whose values are multiplied by something."""

    class Wrong(type(kernel)):  # type: ignore[misc]
        def __call__(self, X: Any, Y: Any = None, **options: Any) -> Any:
            factors = [[1 + error(a, b) for b in (X if Y is None else Y)] for a in X]
            return super().__call__(X, Y, **options) * np.array(factors)

    return Wrong(**kernel.get_params(deep=False))


def test_a_wrong_value_is_seen_and_made_small() -> None:
    slow = definition(tl.SubsetTree(0.5))

    def has(tree: tl.Tree) -> bool:
        return any(node.label == "B" and len(node.children) == 2 for node in tree.nodes())

    made = wrong(tl.SubsetTree(0.5), lambda a, b: 1e-9 if has(a) and has(b) else 0.0)
    definition.register(type(made), lambda kernel: slow)
    size.register(type(made), lambda kernel: slow)
    batch = Batch("wrong", 0, 0)
    X = [tl.Tree.parse(text) for text in ("(S (A x) (B (A x) (A y)))", "(A (B (A x) (A y)) (C z))", "(A x)", "(C z)")]
    differ_kernels.compare(batch, "wrong", made, X)
    assert batch.rows["wrong"].failures
    assert "a, b = Tree.parse('(B x (A y))'), Tree.parse('(B x (A y))')" in batch.told[0]
    batch = Batch("right", 0, 0)
    differ_kernels.compare(batch, "right", tl.SubsetTree(0.5), X)
    assert not batch.told


def test_a_batch_is_known_by_its_number() -> None:
    one, two = (differ.done(CHECKS["Sum"], 3, 7) for _ in range(2))
    assert (one.rows, one.counts) == (two.rows, two.counts)
    assert differ.done(CHECKS["Sum"], 3, 8).random.random() != one.random.random()


def test_things_that_are_not_equal() -> None:
    batch = Batch("none", 0, 0)
    batch.compare("values", [1.0, np.inf, -np.inf], [1.0, np.inf, -np.inf], close=0)
    assert not batch.told
    batch.compare("values", [1.0], [1.0 + 1e-11])
    batch.compare("bits", [1.0], [np.nextafter(1.0, 2.0)], close=0)
    batch.compare("numbers", [np.nan], [1.0])
    batch.compare("shapes", [1.0], [1.0, 2.0])
    batch.equal("things", {1}, {2})
    assert [row.failures for row in batch.rows.values()] == [1] * 5
