"""Whole jobs, from data to a measured result."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treelet.tasks.dependency_ranking import KernelChoice, ParseLists, ParseRanker
    from treelet.tasks.reranking import CandidateParses, Reranker

__all__ = [
    "CandidateParses",
    "KernelChoice",
    "ParseLists",
    "ParseRanker",
    "Reranker",
]


def __getattr__(name: str) -> Any:
    """What learns is imported when it is asked for: taking instances out of trees needs no scikit-learn."""
    if name not in __all__:
        raise AttributeError(f"module 'treelet.tasks' has no attribute {name!r}")
    home = "reranking" if name in ("CandidateParses", "Reranker") else "dependency_ranking"
    return getattr(import_module(f"treelet.tasks.{home}"), name)
