"""Fragments of examples and models: shared fragments of two examples, and explanations of scores."""

from treelet.fragments.explanation import (
    Explanation,
    FragmentShare,
    NodeShare,
    OtherShare,
    TopFragments,
    WeightedFragment,
)
from treelet.fragments.model_fragments import explain, top_fragments
from treelet.fragments.occurrences import Occurrences, places
from treelet.fragments.shared import SharedFragment, SharedFragments, shared_fragments

__all__ = [
    "Explanation",
    "FragmentShare",
    "NodeShare",
    "Occurrences",
    "OtherShare",
    "SharedFragment",
    "SharedFragments",
    "TopFragments",
    "WeightedFragment",
    "explain",
    "places",
    "shared_fragments",
    "top_fragments",
]
