"""The estimated cost of a matrix, in pairs of parts and bytes, and the check against a limit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from treelet.checks import is_number, wrong
from treelet.errors import CostError
from treelet.matrices.tiles import Job, plan_matrix
from treelet.memory import in_bytes
from treelet.resources import Resources, parse_memory
from treelet.vocabulary import keyword

Limit = int | float | str | Mapping[str, int | float | str]
"""A number of pairs, a string of bytes such as ``"2GiB"``, or a dict with both."""


@dataclass(frozen=True)
class Cost:
    """Estimated cost of a kernel matrix.

    Attributes
    ----------
    pairs : int
        Number of matching pairs of parts.
    bytes : int
        Maximum memory of the computation, besides the examples and the result.
    result : int
        Size of the result in bytes, as float64.
    shape : tuple of int
        Shape of the matrix.
    """

    pairs: int
    bytes: int
    result: int
    shape: tuple[int, int]

    def __str__(self) -> str:
        rows, columns = self.shape
        return (
            f"{rows:,} x {columns:,} values from {self.pairs:,} pairs of parts; {in_bytes(self.bytes)} at most, besides "
            f"{in_bytes(self.result)} of the result"
        )


def cost_of(job: Job, resources: Resources) -> Cost:
    """Estimate the cost of a matrix, as `Kernel.cost` does."""
    shape = job.shape
    if not all(shape):
        return Cost(0, 0, 0, shape)
    pairs = float(job.kernel.row_pairs(job.X, job.Y).sum())
    return Cost(round(pairs), _bytes(job, resources), 8 * shape[0] * shape[1], shape)


def _bytes(job: Job, resources: Resources) -> int:
    """Return the maximal number of bytes of the index, the threads and their strips at one time."""
    threads, columns = resources.threads, job.columns
    needs = job.kernel.needs(columns)
    plan = plan_matrix(job, threads=threads, memory=resources.memory, needs=needs)
    index = needs.index + threads * needs.thread
    if len(plan.blocks) > 1:  # a block holds at least the largest example
        largest = int(job.kernel.self_pairs(columns).argmax())
        of_largest = job.kernel.needs(columns[largest : largest + 1])
        index = max(index // len(plan.blocks), of_largest.index + threads * of_largest.thread)
    strip = max((tile.shape[0] * tile.shape[1] for tile in plan.tiles), default=0)
    return index + threads * 8 * strip * needs.scratch


def check_limit(limit: Limit, job: Job, resources: Resources) -> None:
    """Raise `CostError` if the matrix costs more than the limit."""
    most = _limits(limit)
    cost = cost_of(job, resources)
    for name, value in most.items():
        needed = getattr(cost, name)
        if needed > value:
            shown = in_bytes if name == "bytes" else lambda number: f"{number:,.0f} pairs of parts"
            matrix = f"The matrix of {cost.shape[0]:,} x {cost.shape[1]:,} values of {job.kernel!r}"
            raise CostError(
                f"{matrix} needs about {shown(needed)}, more than the {shown(value)} of {keyword('limit')}. "
                f"Use fewer or smaller examples, or increase {keyword('limit')}.",
                cost,
            )


def _limits(limit: Any) -> dict[str, float]:
    """Return a limit as a dict with ``"pairs"``, ``"bytes"``, or both."""
    if isinstance(limit, Mapping) and limit and set(limit) <= {"pairs", "bytes"}:
        pairs, size = limit.get("pairs"), limit.get("bytes")
    else:
        pairs, size = (None, limit) if isinstance(limit, str) else (limit, None)
    if (pairs is None and size is None) or (pairs is not None and not is_number(pairs, 0)):
        raise wrong(
            "limit",
            "a number of pairs, a string such as '2GiB', or a dict with 'pairs', 'bytes' or both",
            limit,
            of="gram",
        )
    checked = {} if pairs is None else {"pairs": float(pairs)}
    return checked if size is None else {**checked, "bytes": float(parse_memory(size, "limit", of="gram") or 0)}
