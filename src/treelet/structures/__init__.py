"""Trees, forests, tagged sequences, dependency parses, feature vectors, and collections of them."""

from treelet.structures.dependency import Dependencies, Link
from treelet.structures.dependency_bank import DependencyBank, read_conllu
from treelet.structures.dependency_forms import dependency_tree, dependency_trees
from treelet.structures.forest import Forest, ForestEdge, ForestNode
from treelet.structures.forest_bank import ForestBank, read_forests
from treelet.structures.forest_cuts import enclosed_forest, marked_forest
from treelet.structures.link_features import feature_sequences
from treelet.structures.linkage import from_linkage, main_types
from treelet.structures.sequence import Tagged
from treelet.structures.sequence_bank import SequenceBank
from treelet.structures.spans import SpanNode, TreeIndex, covering_span
from treelet.structures.subforest import ForestIndex, containing_forest, span_forest, sub_forest
from treelet.structures.table import Table, read_examples
from treelet.structures.tagged_bank import TaggedBank, read_tagged
from treelet.structures.tree import Tree
from treelet.structures.treebank import Treebank, read_trees
from treelet.structures.vectors import Vectors, as_vectors, bag_of_words
from treelet.structures.word_vectors import WordVectors

__all__ = [
    "Dependencies",
    "DependencyBank",
    "Forest",
    "ForestBank",
    "ForestEdge",
    "ForestIndex",
    "ForestNode",
    "Link",
    "SequenceBank",
    "SpanNode",
    "Table",
    "Tagged",
    "TaggedBank",
    "Tree",
    "TreeIndex",
    "Treebank",
    "Vectors",
    "WordVectors",
    "as_vectors",
    "bag_of_words",
    "containing_forest",
    "covering_span",
    "dependency_tree",
    "dependency_trees",
    "enclosed_forest",
    "feature_sequences",
    "from_linkage",
    "main_types",
    "marked_forest",
    "read_conllu",
    "read_examples",
    "read_forests",
    "read_tagged",
    "read_trees",
    "span_forest",
    "sub_forest",
]
