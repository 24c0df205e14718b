"""Edit distances against other packages on real trees, and against the slow definition on many random pairs.

The packages are those of the dependency group ``peers``. They are slow, so that trees have at most 60 nodes for two of them.
"""

from __future__ import annotations

import ast
import importlib.util
import sysconfig
from functools import cache
from pathlib import Path
from typing import Any

import differ
import differ_edits
import numpy as np
import pytest
from differ import CHECKS, Total

import treelet as tl
from definitions.edit_scripts import check_mapping, replayed
from treelet.edits import EditOperation, EditScript
from treelet.formats import python_trees

peers = pytest.importorskip("benchmarks.edit_peers", reason="source distributions have no benchmarks")
PEERS, UNIT = peers.PEERS, peers.UNIT
SIZES = {"edist": (60, 140), "apted": (30, 60), "zss": (30, 60)}
MODULES = (
    "argparse",
    "ast",
    "calendar",
    "configparser",
    "datetime",
    "inspect",
    "mailbox",
    "pickle",
    "tarfile",
    "typing",
)
OTHER = (1.5, 0.5, 1.25)
"""peers.Costs of inserting, deleting and renaming."""

Tree = tl.Tree


@cache
def functions() -> list[Tree]:
    """Functions of the standard library."""
    folder = Path(sysconfig.get_path("stdlib"))
    found = [
        tree
        for name in MODULES
        for tree in python_trees(
            ast.parse((folder / f"{name}.py").read_text(encoding="utf-8")),
            each="function",
            identifiers="anonymous",
            constants="types",
            docstrings=False,
        )
    ]
    return list(tl.Treebank(found))


def pairs(trees: list[Tree], sizes: tuple[int, int], count: int) -> list[tuple[Tree, Tree]]:
    """Draw pairs of trees whose numbers of nodes are in a range. Every fourth pair is adjacent, and thus often similar."""
    low, high = sizes
    suitable = [tree for tree in trees if low <= sum(1 for _ in tree.nodes()) <= high]
    rng = np.random.default_rng(0)
    drawn = rng.integers(len(suitable), size=(count, 2))
    drawn[::4, 1] = (drawn[::4, 0] + 1) % len(suitable)
    return [(suitable[i], suitable[j]) for i, j in drawn.tolist()]


def compare(peer: str, drawn: list[tuple[Tree, Tree]], costs: peers.Costs = UNIT) -> None:
    distance = tl.EditDistance(*costs)
    convert, by_peer = PEERS[peer].converted, PEERS[peer].distance
    expected = [by_peer(convert(a), convert(b), costs) for a, b in drawn]
    found = [distance([a], [b])[0, 0] for a, b in drawn]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.fixture(params=PEERS)
def peer(request: pytest.FixtureRequest) -> str:
    if importlib.util.find_spec(request.param) is None:
        pytest.skip(f"needs {request.param}: pip install --group peers")
    return request.param


@pytest.fixture(params=["functions", "WSJ"])
def trees(request: pytest.FixtureRequest) -> list[Tree]:
    return functions() if request.param == "functions" else list(request.getfixturevalue("wsj"))


def test_some_real_pairs_equal_peers(peer: str, trees: list[Tree]) -> None:
    compare(peer, pairs(trees, (20, 40), 20))
    if peer != "apted":
        compare(peer, pairs(trees, (20, 40), 20), OTHER)


@pytest.mark.slow
def test_1000_real_pairs_equal_peers(peer: str, trees: list[Tree]) -> None:
    compare(peer, pairs(trees, SIZES[peer], 1000))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "cases"), [("EditDistance", 100_000), ("edit_script", 10_000)])
def test_many_random_pairs_equal_the_definition(name: str, cases: int) -> None:
    total = Total()
    assert differ.go_on(CHECKS[name], total, 1, cases)
    assert not total.failures, total.told[0]


# --- wrong results are noticed --------------------------------------------------------------------------------------


def test_a_wrong_distance_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = tl.EditDistance.__call__

    def wrong(self: tl.EditDistance, X: Any, Y: Any = None, **options: Any) -> Any:
        """One of many values is larger by one part in a million."""
        values = right(self, X, Y, **options)
        values[0, 0] *= 1 + 1e-6
        return values

    monkeypatch.setattr(tl.EditDistance, "__call__", wrong)
    batches = [differ.done(CHECKS["EditDistance"], 0, number) for number in range(3)]
    assert any(batch.rows["EditDistance"].failures for batch in batches)
    assert not any(batch.rows["EditDistance.similarity"].failures for batch in batches)
    if importlib.util.find_spec("edist"):
        with pytest.raises(AssertionError):
            compare("edist", pairs(functions(), (20, 40), 5))


def test_a_search_that_loses_a_pair_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = tl.nearest

    def wrong(*arguments: Any, **options: Any) -> Any:
        found = right(*arguments, **options)
        if options.get("graph") and found.nnz:
            found.data[0] = 0
            found.eliminate_zeros()
        return found

    monkeypatch.setattr(differ_edits.tl, "nearest", wrong)
    batches = [differ.done(CHECKS["EditDistance"], 0, number) for number in range(5)]
    assert any(batch.rows["EditDistance.similarity, joins"].failures for batch in batches)


A, B = Tree.parse("(S (A x) (B y))"), Tree.parse("(S (C (A x) (B z)))")
"""One insertion (C) and one renaming (y to z)."""


def script(*pairs: tuple[int | None, int | None]) -> EditScript:
    """A script of given pairs of positions."""
    labels = [[node.label for node in tree.nodes()] for tree in (A, B)]
    operations = []
    for i, j in pairs:
        own, other = (None if k is None else labels[side][k] for side, k in enumerate((i, j)))
        kind = "insert" if i is None else "delete" if j is None else "keep" if own == other else "rename"
        operations.append(EditOperation(kind, i, j, own, other, float(kind != "keep")))
    return EditScript(A, B, operations, sum(operation.cost for operation in operations))


def test_a_right_script_is_replayed() -> None:
    right = script((0, 0), (None, 1), (1, 2), (2, 3), (3, 4), (4, 5))
    check_mapping(right)
    assert replayed(right) == B
    assert right.cost == 2


@pytest.mark.parametrize(
    "pairs",
    [
        [(0, 0), (None, 1), (1, 2), (2, 3), (3, 4), (4, None)],  # one node of B has no operation
        [(0, 0), (None, 1), (1, 2), (2, 3), (3, 4), (4, 5), (4, 5)],  # not one-to-one
        [(0, 0), (None, 1), (1, 4), (2, 5), (3, 2), (4, 3)],  # the order of siblings is changed
        [(0, 0), (1, 1), (None, 2), (2, 3), (3, 4), (4, 5)],  # B is below A in one tree only
    ],
)
def test_a_wrong_script_is_noticed(pairs: list[tuple[int | None, int | None]]) -> None:
    with pytest.raises(AssertionError):
        check_mapping(script(*pairs))


def test_a_replay_differs_if_the_mapping_does() -> None:
    moved = script((0, 0), (1, 1), (None, 2), (2, 3), (3, 4), (4, 5))
    assert replayed(moved) != B


def test_a_wrong_script_fails_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    right = tl.edit_script

    def wrong(a: Any, b: Any, distance: Any) -> EditScript:
        """Delete a node and insert it again instead of keeping it."""
        script = right(a, b, distance)
        last = script.mapping[-1] if script.mapping else None
        operations: list[EditOperation] = []
        for o in script:
            if last is None or (o.source, o.target) != last:
                operations.append(o)
                continue
            gone, new = (distance.cost_of(o.source_label, None), distance.cost_of(None, o.target_label))
            operations.append(EditOperation("delete", o.source, None, o.source_label, None, gone))
            operations.append(EditOperation("insert", None, o.target, None, o.target_label, new))
        return EditScript(script.source, script.target, operations, sum(o.cost for o in operations))

    monkeypatch.setattr(differ_edits.tl, "edit_script", wrong)
    batch = differ.done(CHECKS["edit_script"], 0, 0)
    assert batch.rows["edit_script, cost"].failures
    assert not batch.rows["edit_script, replayed"].failures, "The script is valid, but not the cheapest."
