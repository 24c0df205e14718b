"""Small inputs that would take very much: refused before memory is taken, or done with little."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import treelet as tl
from conftest import on_linux, run_python
from definitions.kernels import definition
from treelet import _core, resources
from treelet.errors import NotEnoughMemoryError

GIB = 1 << 30


def chain(nodes: int) -> list[str]:
    return ["(A " * nodes + "x" + ")" * nodes]


def table(cells: int) -> str:
    return "<table><tr>" + "".join(f"<td>{number}</td>" for number in range(cells)) + "</tr></table>"


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with a GiB left."""
    monkeypatch.setattr(resources, "available", lambda: GIB)


REFUSED: dict[str, Callable[[], Any]] = {
    "depth": lambda: tl.SubsetTree(max_depth=20_000)(chain(50_000)),
    "depth, normalized": lambda: tl.SubsetTree(max_depth=20_000).normalized()(chain(50_000)),
    "long subsequences": lambda: tl.Subsequence(length=9000)([["a"] * 20_000]),
    "large tables": lambda: tl.metrics.teds(table(10_000), table(10_001), structure_only=True),
    "many cells": lambda: tl.metrics.teds(table(7000), table(7001)),
    "wide windows": lambda: tl.Locality(window=9000)([[str(i * i % 97) for i in range(8000)]]),
}


@pytest.mark.usefixtures("little")
@pytest.mark.parametrize("name", REFUSED)
def test_memory_is_refused_before_it_is_taken(name: str) -> None:
    with pytest.raises(NotEnoughMemoryError, match=r"GiB of memory, but only 1\.0 GiB"):
        REFUSED[name]()


@pytest.mark.usefixtures("little")
def test_what_fits_is_computed() -> None:
    assert tl.SubsetTree(max_depth=3)(chain(500)).shape == (1, 1)
    assert tl.Subsequence(length=30)([["a", "b"] * 300]).shape == (1, 1)


@pytest.mark.serial
@on_linux
def test_what_is_free() -> None:
    free = resources.available()
    assert free > 0
    limited = run_python(
        "import resource\n"
        "from treelet.resources import available\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))\n"
        "print(available() < 2 << 30)"
    )
    assert limited == "True\n"


@pytest.mark.serial
@on_linux
def test_no_memory_is_our_error() -> None:
    """With memory overcommitment, the check passes; a later failure must still raise an error of treelet."""
    code = """
import resource, sys
import treelet as tl
from treelet import resources
resources.available = lambda: sys.maxsize
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
try:
    tl.SubsetTree(max_depth=20_000)(["(A " * 50_000 + "x" + ")" * 50_000])
except tl.errors.NotEnoughMemoryError as error:
    print(error)
"""
    assert run_python(code) == "There is not enough memory. Use fewer or smaller examples.\n"


PEAK = """
import treelet as tl
{before}
def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) // 1024
begin = peak()
{work}
print(peak() - begin)
"""


@pytest.mark.serial
@on_linux
@pytest.mark.parametrize(
    ("before", "work"),
    [
        ("tl.Subsequence()([['a', 'b']])", "tl.Subsequence()([['a', 'b', 'c', 'd'] * 1500])"),
        ("g = tl.PCFG.from_rules([('S', ('S', 'S'), 0.3), ('S', ('a',), 0.7)], start='S')", "g.parse(['a'] * 250)"),
    ],
    ids=["subsequences", "an ambiguous sentence"],
)
def test_memory_that_is_not_needed_is_not_taken(before: str, work: str) -> None:
    """Each took more than 120 MiB, growing with the square or the cube of the length."""
    assert int(run_python(PEAK.format(before=before, work=work))) < 48  # 22 to 24


def test_unary_chains(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs of symbols with a chain between them are as many as the square of the rules."""
    rules = [(f"N{i}", (f"N{i + 1}",), 1.0) for i in range(400)] + [("N400", ("x",), 1.0)]
    tree, logp = tl.PCFG.from_rules(rules, start="N0").parse(["x"])[0]
    assert (tree.height(), logp) == (401, 0.0)
    monkeypatch.setattr("treelet.parsing.chart.available", lambda: 400 * 400)
    with pytest.raises(NotEnoughMemoryError, match="too many chains"):
        tl.PCFG.from_rules(rules, start="N0").parse(["x"])


def test_a_chart_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    grammar = tl.PCFG.from_rules([("S", ("S", "S"), 0.3), ("S", ("a",), 0.7)], start="S")
    grammar.compiled()
    monkeypatch.setattr("treelet.parsing.chart.available", lambda: 10_000)
    with pytest.raises(NotEnoughMemoryError, match="chart of 100 words does not fit into"):
        grammar.parse(["a"] * 100)


def test_a_forest_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treelet.parsing.chart._MAX_EDGES", 1000)
    grammar = tl.PCFG.from_rules([("S", ("S", "S"), 0.3), ("S", ("a",), 0.7)], start="S")
    with pytest.raises(tl.errors.TreeError, match=r"60 words.*forest has more than 1000 hyperedges"):
        grammar.forest(["a"] * 60)


def test_subsequences_by_rows_are_those_of_the_definition() -> None:
    """`length` may be as long as the sequences."""
    one = list("abcabcab")
    for length in range(1, 9):
        value = tl.Subsequence(lam=0.5, length=length)([one])[0, 0]
        assert value == pytest.approx(definition(tl.Subsequence(lam=0.5, length=length))(one, one), rel=1e-14)


# --- where values are written ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("out", "said"),
    [
        (as_strided(np.zeros(9), (3, 3), (0, 8)), "rows of out overlap"),
        (as_strided(np.zeros(9), (3, 3), (8, 8)), "rows of out overlap"),
        (as_strided(np.zeros(9), (3, 3), (16, 8)), "rows of out overlap"),
        (np.zeros((3, 3)).T, "contiguous"),
        (np.zeros(73, np.uint8)[1:].view(np.float64).reshape(3, 3), "not aligned"),
    ],
    ids=["one row", "by one", "by two", "columns", "misaligned"],
)
def test_the_core_writes_rows_apart(out: Any, said: str) -> None:
    bank = tl.Treebank(["(A (B x))", "(A (B y))", "(C z)"])
    store, weights = bank.columns.store, bank.weights()
    columns = _core.SubsetTreeColumns(store, weights, False, 0.4, 0, False)
    with pytest.raises(ValueError, match=said):
        columns.rows(store, weights, None, 0, 3, out)
    with pytest.raises(ValueError, match=said):
        _core.mirror(out, 0, 3, 0, 3)


def test_rows_on_a_device_lie_apart() -> None:
    from treelet.matrices.executors import executor_for
    from treelet.matrices.tiles import Job
    from treelet.resources import Resources

    bank = tl.Treebank(["(A (B x))", "(A (B y))", "(C z)"])
    executor, job = executor_for(Resources(device="emulated")), Job(tl.SubsetTree(), bank)
    assert np.allclose(executor.fill(job, np.zeros((3, 3))), tl.SubsetTree()(bank))
    for strides in ((0, 8), (8, 8), (8, 24)):
        with pytest.raises(tl.errors.ParameterError, match="contiguous, non-overlapping rows"):
            executor.checked_out(job, as_strided(np.zeros(9), (3, 3), strides), ())
