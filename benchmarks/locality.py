"""The locality-convolution matrix of 2,500 real parses, beside straightforward versions on some of them. CPU time of one thread.

Writes docs/results/locality-speed.json and a section of docs/results/speed.md.
"""

from __future__ import annotations

import math
import os
import time
from itertools import product
from typing import Any

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import numpy as np

from benchmarks.common import publish_section
from experiments import writing
from experiments.data import link_parses
from treelet import Locality
from treelet.cuts import as_sequencebank
from treelet.structures import SequenceBank
from treelet.tasks import ParseLists

THETA = 0.5


def in_python(f: Any, g: Any, window: int, match: str) -> float:
    """Two sequences of features: the triple sum of the paper, term by term."""
    reach, total = window // 2, 0.0
    for i, k in product(range(len(f)), range(len(g))):
        if f[i] != g[k]:
            continue
        around_i, around_k = (range(max(at - reach, 0), min(at + reach + 1, len(x))) for at, x in ((i, f), (k, g)))
        apart = [(m - i) - (n - k) for m, n in product(around_i, around_k) if f[m] == g[n]]
        if match == "position":
            total += math.prod(1 + math.exp(-((d / THETA) ** 2)) for d in apart)
        else:
            total += len(apart) if match == "count" else apart.count(0)
    return total


def in_numpy(f: Any, g: Any, window: int, match: str) -> float:
    """Two sequences as arrays of numbers: which places are equal, shifted to each pair of places in a window."""
    reach = window // 2
    equal = f[:, None] == g
    padded = np.pad(equal, reach)
    kappa = np.ones(equal.shape) if match == "position" else np.zeros(equal.shape)
    for m, n in product(range(-reach, reach + 1), repeat=2):
        met = padded[reach + m : reach + m + len(f), reach + n : reach + n + len(g)]
        if match == "position":
            kappa *= 1 + met * np.exp(-(((m - n) / THETA) ** 2))
        elif match == "count" or m == n:
            kappa += met
    return float(kappa[equal].sum())


def measured(bank: SequenceBank, window: int, match: str) -> dict[str, Any]:
    begin = time.process_time()
    K = Locality(window, THETA, match)(bank)
    ours = (time.process_time() - begin) / (len(bank) * (len(bank) + 1) / 2)
    numbers: dict[Any, int] = {}
    places = range(0, len(bank), len(bank) // 24)
    some = [bank[k] for k in places]
    pairs = [(i, j) for i in range(len(some)) for j in range(i + 1)]
    expected = [K[places[i], places[j]] for i, j in pairs]
    coded = [
        {
            name: np.array([numbers.setdefault((name, x), len(numbers)) for x in sequence])
            for name, sequence in item.items()
        }
        for item in some
    ]
    times = {}
    for name, examples, function in (
        ("python", some, lambda a, b: in_python(a, b, window, match)),
        ("numpy", coded, lambda a, b: in_numpy(a, b, window, match)),
    ):
        begin = time.process_time()
        found = [sum(function(examples[i][t], examples[j][t]) for t in examples[i]) for i, j in pairs]
        times[name] = (time.process_time() - begin) / len(pairs)
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    return {
        "match": match, "window": window, "parses": len(bank), "ours_us": 1e6 * ours, "gram_s": ours * len(bank) * (len(bank) + 1) / 2,
        "numpy_us": 1e6 * times["numpy"], "python_us": 1e6 * times["python"], "ratio": times["numpy"] / ours,
        "ratio_python": times["python"] / ours,
    }  # fmt: skip


def main() -> None:
    lists = ParseLists(link_parses()[:500]).sample(5)
    bank = as_sequencebank(lists.parses)
    bank.weights()
    rows = [measured(bank, w, match) for w in (3, 5) for match in ("position", "exact", "count")]
    results = {"rows": rows, "made_by": writing.provenance("python -m benchmarks.locality")}
    publish_section("locality-speed", results, section(results))


def section(results: dict[str, Any]) -> str:
    """Return the results as a section of a Markdown page."""
    rows = results["rows"]
    return writing.page(
        [
            "## The locality kernel",
            writing.created(results["made_by"]),
            f"The table shows the CPU time of one thread for the matrix of {rows[0]['parses']:,} parses of 500 sentences, with seven sequences per parse. "
            "The matrix is symmetric, so half of its values are computed. For comparison, simple versions in Python and NumPy compute 325 pairs. All "
            "values are equal.",
            writing.table(
                ("match", "window", "whole matrix, s", "µs per pair", "NumPy, µs per pair", "Python, µs per pair", "ratio to NumPy", "ratio to Python"),
                [
                    (
                        r["match"], r["window"], f"{r['gram_s']:.2f}", f"{r['ours_us']:.2f}", f"{r['numpy_us']:,.0f}",
                        f"{r['python_us']:,.0f}", f"{r['ratio']:,.0f}", f"{r['ratio_python']:,.0f}",
                    )
                    for r in rows
                ],
                right=range(1, 8),
            ),
        ]
    )  # fmt: skip


if __name__ == "__main__":
    main()
