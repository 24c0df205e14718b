"""Values of the tree kernel: both kinds by hand, and a run on a few generated trees."""

from __future__ import annotations

import numpy as np
import pytest

import treelet as tl
from experiments import kernel_values
from experiments.kernel_values import DIFFERENT, SAME
from experiments.writing import VERDICTS

MATRIX = np.full((12, 12), 1e2) + np.diag(np.full(12, 1e6 - 1e2))


def test_orders_of_magnitude() -> None:
    larger = MATRIX + np.diag([9e6] * 6 + [0.0] * 6)  # half of the trees have ten times the value
    for typical in kernel_values.TYPICAL.values():
        found = kernel_values.magnitudes(larger, typical, draws=200, seed=0)
        assert found[DIFFERENT]["value"] == pytest.approx(0)
        assert found[DIFFERENT]["interval"] == pytest.approx([0, 0])
        assert found[SAME]["value"] == pytest.approx(np.log10(5.5))
        assert found[SAME]["interval"][0] < np.log10(5.5) < found[SAME]["interval"][1] <= 1
        assert found["distance"]["p"] == pytest.approx(2 / 201)
    assert kernel_values.magnitudes(MATRIX, np.median, draws=9, seed=0)["distance"]["difference"] == pytest.approx(4)


def test_a_run_and_its_section(monkeypatch: pytest.MonkeyPatch) -> None:
    trees = tl.datasets.flights(30, random_state=1)
    monkeypatch.setattr(kernel_values, "CORPORA", {"Flights": lambda: trees})
    results = kernel_values.run(quick=True)
    (items,) = results.pop("items")
    distinct = sorted({str(tree) for tree in trees}, key=[str(tree) for tree in trees].index)
    K = tl.SubsetTree(lam=1)(distinct)
    assert items["systems"][SAME] == pytest.approx(K.diagonal().tolist())
    assert items["systems"][DIFFERENT][0] == np.median(K[0, 1:])
    values = results["corpora"]["Flights"]["values"]["all fragments"]
    assert values[SAME]["median"] == np.median(K.diagonal())
    assert values[DIFFERENT]["mean"] == pytest.approx(K[~np.eye(len(K), dtype=bool)].mean())
    claims = kernel_values.claims(results)
    assert {claim.verdict for claim in claims} <= set(VERDICTS)
    assert claims[1].verdict != "contradicted"
    made = {"command": "c", "commit": "x", "date": "d"}
    section = kernel_values.section(results | {"made_by": made, "seconds": 1.0, "cpu_seconds": 1.0, "quick": True})
    assert f"{values[DIFFERENT]['median']:.0f}" in section
