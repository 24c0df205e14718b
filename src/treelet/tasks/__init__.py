"""Complete tasks, from data to a measured result: parse reranking, ranking of dependency parses, and clones in source code."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from treelet.checks import suggestion

if TYPE_CHECKING:
    from treelet.tasks.clones import CloneFamily, CloneMember, CloneReport, LineDifference, find_clones
    from treelet.tasks.dependency_ranking import KernelChoice, ParsedSentence, ParseLists, ParseRanker
    from treelet.tasks.reranking import CandidateParses, Reranker

__all__ = [
    "CandidateParses",
    "CloneFamily",
    "CloneMember",
    "CloneReport",
    "KernelChoice",
    "LineDifference",
    "ParseLists",
    "ParseRanker",
    "ParsedSentence",
    "Reranker",
    "find_clones",
]


def __getattr__(name: str) -> Any:
    """Import the learning tasks on first use, because the other functions do not need scikit-learn."""
    if name not in __all__:
        raise AttributeError(f"module 'treelet.tasks' has no attribute {name!r}.{suggestion(name, __all__)}")
    homes = {
        "reranking": ("CandidateParses", "Reranker"),
        "dependency_ranking": ("KernelChoice", "ParseLists", "ParseRanker", "ParsedSentence"),
    }
    home = next((home for home, names in homes.items() if name in names), "clones")
    return getattr(import_module(f"treelet.tasks.{home}"), name)
