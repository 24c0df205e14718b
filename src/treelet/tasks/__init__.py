"""Whole jobs, from data to a measured result."""

from treelet.tasks.dependency_ranking import Choice, ParseLists, ParseRanker
from treelet.tasks.reranking import CandidateParses, Reranker

__all__ = [
    "CandidateParses",
    "Choice",
    "ParseLists",
    "ParseRanker",
    "Reranker",
]
