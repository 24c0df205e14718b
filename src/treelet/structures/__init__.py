"""Trees, forests, tagged sequences, feature vectors, and collections of them."""

from treelet.structures.forest import Forest, ForestEdge, ForestNode
from treelet.structures.forest_bank import ForestBank, as_forestbank, read_forests
from treelet.structures.sequence import Tagged
from treelet.structures.table import Table, read_examples
from treelet.structures.tagged_bank import TaggedBank, as_taggedbank, read_tagged
from treelet.structures.tree import Tree
from treelet.structures.treebank import Treebank, as_treebank, read_trees
from treelet.structures.vectors import Vectors, as_vectors, bag_of_words
from treelet.structures.word_vectors import WordVectors

__all__ = [
    "Forest",
    "ForestBank",
    "ForestEdge",
    "ForestNode",
    "Table",
    "Tagged",
    "TaggedBank",
    "Tree",
    "Treebank",
    "Vectors",
    "WordVectors",
    "as_forestbank",
    "as_taggedbank",
    "as_treebank",
    "as_vectors",
    "bag_of_words",
    "read_examples",
    "read_forests",
    "read_tagged",
    "read_trees",
]
