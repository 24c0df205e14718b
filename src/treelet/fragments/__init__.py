"""Fragments of examples and models: shared fragments of two examples, and explanations of scores."""

from treelet.fragments.explanation import (
    Explanation,
    FragmentShare,
    NodeShare,
    OtherShare,
    TopFragments,
    WeightedFragment,
)
from treelet.fragments.model_fragments import explain, node_values, top_fragments
from treelet.fragments.occurrences import Occurrences, SharedFragment, SharedFragments, places, shared_fragments
from treelet.kernels.fragments import Feature, FeatureSubsequence, TaggedWord, TagRun, VectorFeature, Window

__all__ = [
    "Explanation",
    "Feature",
    "FeatureSubsequence",
    "FragmentShare",
    "NodeShare",
    "Occurrences",
    "OtherShare",
    "SharedFragment",
    "SharedFragments",
    "TagRun",
    "TaggedWord",
    "TopFragments",
    "VectorFeature",
    "WeightedFragment",
    "Window",
    "explain",
    "node_values",
    "places",
    "shared_fragments",
    "top_fragments",
]
