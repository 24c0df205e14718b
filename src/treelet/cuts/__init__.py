"""Cuts: the part of a tree or forest that is relevant for a task, and conversions of dependency parses.

Many cuts have one function for trees and one for forests. The function for forests returns the cuts of
all trees of the forest. The probability of a cut is the sum of the probabilities of the trees that it
comes from. The trees are never enumerated.
"""

from treelet.cuts.copying import containing_forest, span_forest, sub_forest
from treelet.cuts.dependency_forms import dependency_tree, dependency_trees
from treelet.cuts.features import (
    Candidate,
    all_candidates,
    as_sequencebank,
    candidates,
    entity_features,
    feature_sequences,
    forest_candidates,
    indicators,
    role_features,
    voice,
)
from treelet.cuts.forest_index import ForestIndex
from treelet.cuts.marks import mark_tree, marked_forest
from treelet.cuts.relations import enclosed_forest, minimal_complete_tree, path_enclosed_tree
from treelet.cuts.roles import (
    argument_forest,
    argument_tree,
    constituent_forest,
    constituent_tree,
    path_forest,
    path_tree,
)
from treelet.cuts.tree_index import SpanNode, TreeIndex, covering_span

__all__ = [
    "Candidate",
    "ForestIndex",
    "SpanNode",
    "TreeIndex",
    "all_candidates",
    "argument_forest",
    "argument_tree",
    "as_sequencebank",
    "candidates",
    "constituent_forest",
    "constituent_tree",
    "containing_forest",
    "covering_span",
    "dependency_tree",
    "dependency_trees",
    "enclosed_forest",
    "entity_features",
    "feature_sequences",
    "forest_candidates",
    "indicators",
    "mark_tree",
    "marked_forest",
    "minimal_complete_tree",
    "path_enclosed_tree",
    "path_forest",
    "path_tree",
    "role_features",
    "span_forest",
    "sub_forest",
    "voice",
]
