"""The estimated cost of a matrix: equal to its definition, close to measurements, and checked against a limit."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treelet as tl
from cases import EXAMPLES, KERNELS, Case
from conftest import on_linux, run_python
from messages import gram as messages
from messages.common import wrong_parameter
from treelet.errors import CostError
from treelet.kernels import parts as counting
from treelet.matrices import Cost
from treelet.testing.strategies import examples as random_examples

Part = tuple[Any, Any, float, float]
"""A distinct part, its key, and the cost of a pair by each side."""


def kids(node: Any) -> list[Any]:
    return [] if isinstance(node, str) else list(node.children)


def nodes(tree: tl.Tree) -> Iterator[Any]:
    """All nodes, words included."""
    waiting: list[Any] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += kids(node)


def label(node: Any) -> str:
    return node if isinstance(node, str) else str(node.label)


def production(node: Any) -> Any:
    return (label(node), tuple(map(label, kids(node)))) if kids(node) else None


def height(node: Any) -> int:
    return 1 + max(map(height, kids(node))) if kids(node) else 0


def tree_parts(kernel: Any, tree: tl.Tree) -> Iterator[Part]:
    for node in nodes(tree):
        own, children = production(node), kids(node)
        same = (str(node), bool(own)) if own else label(node)
        if isinstance(kernel, tl.Subtree):
            if own:
                yield same, str(node), 1, 1
        elif isinstance(kernel, tl.PartialTree):
            yield same, label(node), 1, 1
            for place, child in enumerate(children):
                yield (same, place), (label(node), label(child)), 1, 1
        else:
            leaves = kernel.leaves
            own = own or (leaves and ("word", label(node))) or None
            if own:
                yield same, own, 1, 1
            levels = 1 if kernel.max_depth is None else max(0, min(kernel.max_depth, height(node) + leaves) - 1)
            for place, child in enumerate(children):
                below = production(child) or (leaves and ("word", label(child))) or None
                if below:
                    yield (same, place), (own, place, below), levels, 1


def tagged_parts(kernel: Any, item: Any) -> Iterator[Part]:
    for i, tag in enumerate(item.tags):
        yield (tuple(item.words[i:]), tuple(item.tags[i:])), tag, 1, 1


def sequence_parts(kernel: Any, item: Any) -> Iterator[Part]:
    for name, features in item.items() if isinstance(item, dict) else [("", item)]:
        same = name, tuple(features)
        if isinstance(kernel, tl.Subsequence):
            if len(features) >= kernel.length:
                yield same, name, len(features) * kernel.length, len(features)
            continue
        reach = (kernel.window[name] if isinstance(kernel.window, dict) else kernel.window) // 2
        for i, middle in enumerate(features):
            yield (same, i), (name, middle), 1, 1
            for k in range(max(0, i - reach), min(len(features), i + reach + 1)):
                if k != i:
                    yield (same, i, k), (name, middle, features[k]), 1, 1


DEFINED = {"trees": tree_parts, "tagged": tagged_parts, "sequences": sequence_parts}


def slow_pairs(kernel: Any, kind: str, X: list[Any], Y: list[Any] | None) -> list[float]:
    """Each row's distinct parts with the distinct parts of the columns."""
    sets = [[set(DEFINED[kind](kernel, item)) for item in items] for items in (X, X if Y is None else Y)]
    out = []
    for row, mine in enumerate(sets[0]):
        theirs = set().union(*(sets[1][: row + 1] if Y is None else sets[1]))
        out.append(float(sum(a[2] * b[3] for a in mine for b in theirs if a[1] == b[1])))
    return out


COUNTED = {name: case for name, case in KERNELS.items() if case.kind in DEFINED and not case.kernel._inner()}


@pytest.mark.parametrize("kind", DEFINED)
def test_pairs_are_those_of_the_definition(kind: str) -> None:
    cases = [case for case in COUNTED.values() if case.kind == kind]

    @given(random_examples(kind, 1, 5), random_examples(kind, 1, 3))
    @settings(max_examples=15)
    def check(X: list[Any], Y: list[Any]) -> None:
        for case in cases:
            kernel: Any = case.kernel
            if kind == "sequences" and isinstance(getattr(kernel, "window", 0), dict):
                continue
            assert kernel.row_pairs(X).tolist() == slow_pairs(kernel, kind, X, None), kernel
            assert kernel.row_pairs(X, Y).tolist() == slow_pairs(kernel, kind, X, Y), kernel
            within = [slow_pairs(kernel, kind, [item], None)[0] for item in X]
            assert kernel.self_pairs(X).tolist() == within, kernel

    check()


@pytest.mark.parametrize("case", KERNELS.values(), ids=KERNELS)
def test_every_kernel_says_what_it_costs(case: Case) -> None:
    X, kernel = EXAMPLES[case.kind], case.kernel
    cost, some = kernel.cost(X), kernel.cost(X, X[:5])
    assert (cost.shape, cost.result) == ((16, 16), 16 * 16 * 8)
    assert (some.shape, some.result) == ((16, 5), 16 * 5 * 8)
    assert 0 <= some.pairs <= 2 * cost.pairs + sum(kernel.self_pairs(kernel.coerce(X)))
    assert kernel.cost(kernel.coerce(X)[:0]) == Cost(0, 0, 0, (0, 0))
    assert (2 * kernel).cost(X).pairs == cost.pairs
    assert (kernel + kernel).cost(X).pairs == pytest.approx(2 * cost.pairs, abs=1)
    assert kernel.normalized().cost(X).pairs >= cost.pairs
    assert kernel.distance().cost(X).pairs == pytest.approx(kernel.normalized().cost(X).pairs, abs=1)


def test_very_many_rows_are_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    trees = tl.datasets.flights(300)
    for kernel in (tl.Subtree(), tl.SubsetTree(), tl.PartialTree()):
        monkeypatch.setattr(counting, "_EXACT", 1 << 30)
        exact = kernel.row_pairs(trees).sum()
        monkeypatch.setattr(counting, "_EXACT", 0)
        assert kernel.row_pairs(trees).sum() == pytest.approx(exact, rel=0.25)


def test_wide_windows_are_estimated_from_above(monkeypatch: pytest.MonkeyPatch) -> None:
    sequences = [["a", "b", "c", "a"] * 5, ["c", "a", "d"] * 4]
    close = tl.Locality(window=7).cost(sequences).pairs
    monkeypatch.setattr("treelet.kernels.locality._MOST_PLACES", 10)
    assert close <= tl.Locality(window=7).cost(sequences).pairs <= 49 * close


MEASURE = """
import numpy as np, treelet as tl
def peak():
    return next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith("VmHWM"))
X = {data}
kernel = {kernel}
X = kernel.coerce(X)
cost = kernel.cost(X)
kernel(X[:1])
open("/proc/self/clear_refs", "w").write("5")
before = peak()
kernel(X)
print(cost.bytes + cost.result, peak() - before)
"""


@on_linux
@pytest.mark.parametrize(
    ("data", "kernel"),
    [
        ("tl.datasets.flights(3000, random_state=1)", "tl.SubsetTree()"),
        ("[[str(i % 7) for i in range(k, 3 * k)] for k in range(2, 300)]", "tl.Locality(window=9)"),
    ],
)
def test_bytes_are_a_bound(data: str, kernel: str) -> None:
    told, taken = map(int, run_python(MEASURE.format(data=data, kernel=kernel)).split())
    assert taken <= told + (24 << 20)


def test_words() -> None:
    cost = tl.SubsetTree().cost(["(S (A x) (B y))"] * 3)
    assert repr(cost).startswith("Cost(pairs=")
    assert str(cost).startswith(f"3 x 3 values from {cost.pairs} pairs of parts; ")
    assert str(cost).endswith(" at most, besides 72 bytes of the result")
    assert pickle.loads(pickle.dumps(cost)) == cost


def test_a_limit_refuses_before_any_work() -> None:
    deep = ["(A " * 50_000 + "x" + ")" * 50_000]
    kernel = tl.SubsetTree().normalized()
    with pytest.raises(
        CostError, match=messages.costs_more_pairs("1,000,000", shape="1 x 1", kernel="SubsetTree")
    ) as refused:
        kernel(deep, limit=1e6)
    cost: Any = refused.value.cost
    assert cost.pairs > 1e9
    with pytest.raises(CostError, match=messages.costs_more_memory(r"1\.0 KiB")):
        tl.gram(tl.SubsetTree(), ["(A (B x))"] * 30, limit="1KiB")
    with pytest.raises(CostError, match=messages.costs_more_pairs("10")):
        tl.SubsetTree().distance()(deep, limit={"bytes": "1TiB", "pairs": 10})
    wanted = tl.SubsetTree()(["(A (B x))"])
    assert np.array_equal(tl.SubsetTree()(["(A (B x))"], limit={"pairs": 100, "bytes": "1GiB"}), wanted)
    for limit in ("much", -1, True, {}, {"seconds": 3}, [1]):
        with pytest.raises(tl.TreeletError, match=wrong_parameter("limit")):
            tl.SubsetTree()(["(A (B x))"], limit=limit)


@given(st.integers(0, 2**50))
def test_sizes_in_words(number: int) -> None:
    from treelet.memory import in_bytes

    value, unit = in_bytes(number).split()
    scale = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}[unit]
    assert abs(float(value.replace(",", "")) * scale - number) <= 0.051 * scale


def test_a_depth_beyond_all_trees_is_none() -> None:
    X = ["(S (A a) (B b))", "(S (A a) (C c))"]
    assert tl.SubsetTree(max_depth=10**30).cost(X).pairs == tl.SubsetTree(max_depth=100).cost(X).pairs
    assert (tl.SubsetTree(max_depth=10**30)(X) == tl.SubsetTree()(X)).all()
