"""Temporary: old names of the shared modules."""

from __future__ import annotations

from experiments.writing import RESULTS, created, difference, interval, p_value, page, plus_minus, provenance, table  # noqa: F401
from experiments.writing import read_items as items  # noqa: F401
from experiments.writing import read_results as read  # noqa: F401
from experiments.writing import saved_figure as drawn  # noqa: F401
from experiments.writing import write_results as write  # noqa: F401


def made_by(results):  # type: ignore[no-untyped-def]
    return f"{created(results['made_by']).rstrip('.')}, in {results['seconds']:.0f} s of wall-clock time and {results['cpu_seconds']:.0f} s of CPU time."
