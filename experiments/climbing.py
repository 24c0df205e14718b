"""Temporary: old names of the shared modules."""

from __future__ import annotations

from typing import Any, NamedTuple

from experiments.evaluation import coordinate_search as climbed  # noqa: F401
from experiments.evaluation import tune

Setting = tuple[Any, ...]


class Climb(NamedTuple):
    best: dict[str, Any]
    trials: list[dict[str, Any]]
    edges: list[str]


def climb(*arguments):  # type: ignore[no-untyped-def]
    return Climb(*tune(*arguments))
