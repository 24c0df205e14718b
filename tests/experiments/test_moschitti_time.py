"""Time against tree size: the algorithms that are timed have the kernels' values, and slopes are what they should be."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

import treelet as tl
from conftest import first_lines, run_experiment
from experiments import moschitti_time, pair_kernels
from experiments.data import wsj_sample
from experiments.pair_kernels import nodes_of, recursion_value
from experiments.writing import VERDICTS
from treelet.testing import trees

pytestmark = pytest.mark.slow  # a whole experiment, on a part of its corpus


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        return pair_kernels.compile_program(tmp_path_factory.mktemp("pairs"))
    except tl.errors.ParameterError as error:
        pytest.skip(str(error))


@given(trees(), trees())
@settings(max_examples=60)
def test_naive_equals_the_kernels(first: tl.Tree, second: tl.Tree) -> None:
    a, b = nodes_of(first), nodes_of(second)
    for kernel in moschitti_time.KERNELS.values():
        assert recursion_value(kernel, a, b) == pytest.approx(kernel([first], [second])[0, 0], rel=1e-9)
        assert recursion_value(kernel, a, a) == pytest.approx(kernel([first])[0, 0], rel=1e-9)


BANK = [
    "(A (B x) (C y) (B x) (B y) (C x) (D (B x) (B x)) (B y))",
    "(A (C x) (B x) (B y) (D (B x) (C y) (B x)) (B y))",
    "(A (B x))",
    "(B (A (B x) x) (x x))",
    "(x x)",
]


@pytest.mark.parametrize("method", pair_kernels.METHODS)
@pytest.mark.parametrize("kind", moschitti_time.KERNELS)
def test_what_is_timed_has_the_kernels_values(program: Path, kind: str, method: str) -> None:
    bank = [tl.Tree.parse(text) for text in BANK] + list(tl.datasets.flights(15, random_state=2))
    kernel = moschitti_time.KERNELS[kind]
    ours = kernel(bank)
    values, _, times = pair_kernels.time_pairs(program, kernel, bank, method, repeats=2, blocks=4)
    np.testing.assert_allclose(values, ours, rtol=1e-12)
    assert times.shape == (2, 20, 4)
    assert (times > 0).all()
    values, _, times = pair_kernels.time_pairs(program, kernel, bank, method, repeats=3)
    np.testing.assert_allclose(values, ours, rtol=1e-12)
    assert times.shape == (3,)


def test_pairs_of_nodes_that_are_worked_on(program: Path) -> None:
    bank = [tl.Tree.parse("(A (B x) (B x))"), tl.Tree.parse("(A (B y))")]

    def worked_on(kind: str, method: str) -> float:
        return pair_kernels.time_pairs(program, moschitti_time.KERNELS[kind], bank, method, repeats=1, blocks=1)[1]

    assert worked_on("SST", "fast") == worked_on("SST", "sorting") == (5 + 2 + 0 + 0) / 4
    assert worked_on("PT", "fast") == worked_on("SST", "labels") == (9 + 3 + 3 + 3) / 4
    assert worked_on("SST", "naive") == worked_on("PT", "naive") == (25 + 15 + 15 + 9) / 4


def test_without_a_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(pair_kernels, "COMPILER", "no-such-compiler")
    with pytest.raises(tl.errors.ParameterError, match="no-such-compiler was not found"):
        pair_kernels.compile_program(tmp_path)


def test_naive_equals_the_kernels_on_wide_trees() -> None:
    wide = tl.Tree.parse("(A (B x) (C y) (B x) (B y) (C x) (D (B x) (B x)) (B y))")
    other = tl.Tree.parse("(A (C x) (B x) (B y) (D (B x) (C y) (B x)) (B y))")
    for kernel in moschitti_time.KERNELS.values():
        found = recursion_value(kernel, nodes_of(wide), nodes_of(other))
        assert found == pytest.approx(kernel([wide], [other])[0, 0], rel=1e-12)


def test_trees_have_exactly_as_many_nodes() -> None:
    bank = list(tl.datasets.flights(200, random_state=4))
    found = moschitti_time.trees_of_size(bank, (2, 7, 12), 20)
    assert {size: {len(list(t.nodes())) for t in some} for size, some in found.items()} == {2: {2}, 7: {7}, 12: {12}}
    assert all(len(some) == 20 for some in found.values())
    assert found == moschitti_time.trees_of_size(bank, (2, 7, 12), 20)
    assert list(moschitti_time.trees_of_size(bank, (3000, 7), 1)) == [7]
    one = moschitti_time.trees_of_size([tl.Tree.parse("(A (B x) (C (D y)))")], (1, 2, 3, 6), 1)
    assert [str(one[size][0]) for size in (3, 6)] == ["(C (D y))", "(A (B x) (C (D y)))"]
    two = moschitti_time.trees_of_size([tl.Tree.parse("(A (B x) (C (D y)))")], (2, 6), 5, min_trees=2)
    assert {size: len(some) for size, some in two.items()} == {2: 2}


def test_slope() -> None:
    assert moschitti_time.slope([10, 20, 40], [3.0, 12.0, 48.0]) == pytest.approx(2)


def test_a_slope_has_an_interval_that_holds_it() -> None:
    rng = np.random.default_rng(0)
    cells = {size: size**1.5 * rng.uniform(0.5, 1.5, (40, 10)) for size in (10, 20, 30, 40, 90)}
    row = moschitti_time.slope_interval(cells, 10, 40, draws=300, seed=0)
    assert row["interval"][0] < row["value"] < row["interval"][1]
    assert row["interval"][0] < 1.5 < row["interval"][1]
    assert row["interval"][1] - row["interval"][0] < 0.3
    exact = {size: np.full((5, 5), 2.0 * size) for size in (10, 20, 40)}
    assert moschitti_time.slope_interval(exact, 10, 40, draws=20, seed=0)["interval"] == pytest.approx([1, 1])


def test_shares_of_nodes_and_pairs() -> None:
    points = [
        {"nodes": n, "pairs": {"SST fast": n * n / 100}, "times": {"SST fast": 0.002 * n + 0.05 * n * n / 100}}
        for n in (10, 20, 40, 80)
    ]
    found = moschitti_time.cost_shares(points, "SST fast")
    assert found["nanoseconds"] == pytest.approx([0, 2, 50], abs=1e-6)
    assert found["error"] < 1e-9
    assert found["by_pairs"]["80"] == pytest.approx(3.2 / 3.36)


def test_quickly(data_dir: Path, tmp_path: Path, program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "few").mkdir()
    first_lines(data_dir, tmp_path / "few", {"craft/trees.clean.tsv.xz": 3000})
    monkeypatch.setenv("TREELET_DATA", str(tmp_path / "few"))
    monkeypatch.setattr(moschitti_time, "wsj_sample", lambda: (wsj_sample()[0][:2000], []))
    monkeypatch.setattr(moschitti_time, "QUICK", moschitti_time.QUICK._replace(min_trees=10))
    result = run_experiment("moschitti-time", "--quick", "--out", str(tmp_path))
    assert result.exit_code == 0, result.stderr
    results = json.loads((tmp_path / "moschitti-time.json").read_text(encoding="utf-8"))
    for found in results["corpora"].values():
        assert found["slopes"]["SST naive"]["10 to 55"]["value"] > found["slopes"]["SST fast"]["10 to 55"]["value"] > 0
        for point in found["points"]:
            assert point["times"]["SST fast"] < point["times"]["SST naive"]
            assert point["pairs"]["SST fast"] < point["pairs"]["PT fast"] < point["pairs"]["PT naive"]
    assert {claim.verdict for claim in moschitti_time.claims(results)} <= set(VERDICTS)
    assert moschitti_time.page(results) == (tmp_path / "moschitti-time.md").read_text(encoding="utf-8")
    assert (tmp_path / "moschitti-time.png").read_bytes().startswith(b"\x89PNG")
