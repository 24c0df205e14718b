"""Whole jobs, from data to a measured result."""

from treelet.tasks.reranking import CandidateParses, Reranker

__all__ = ["CandidateParses", "Reranker"]
