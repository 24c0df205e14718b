"""Complete tasks, from data to a measured result: parse reranking and ranking of dependency parses."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from treelet.checks import suggestion

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
    """Import the learning tasks on first use, because the other functions do not need scikit-learn."""
    if name not in __all__:
        raise AttributeError(f"module 'treelet.tasks' has no attribute {name!r}.{suggestion(name, __all__)}")
    home = "reranking" if name in ("CandidateParses", "Reranker") else "dependency_ranking"
    return getattr(import_module(f"treelet.tasks.{home}"), name)
