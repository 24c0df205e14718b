"""Trees, forests, tagged sequences, dependency parses and feature vectors, and collections of them."""

from treelet.structures.dependency import Dependencies, DependencyBank, Link, from_linkage, main_types, read_conllu
from treelet.structures.forest import Forest, ForestBank, ForestEdge, ForestNode, read_forests
from treelet.structures.instances import (
    Argument,
    Parse,
    RelationInstance,
    RoleInstance,
    read_instances,
    write_instances,
)
from treelet.structures.sequence import SequenceBank, Tagged, TaggedBank, read_tagged
from treelet.structures.table import Table, iter_examples, read_examples
from treelet.structures.tree import Tree
from treelet.structures.treebank import Treebank, iter_trees, read_code, read_trees
from treelet.structures.vectors import Vectors, as_vectors, bag_of_words
from treelet.structures.word_vectors import WordVectors

__all__ = [
    "Argument",
    "Dependencies",
    "DependencyBank",
    "Forest",
    "ForestBank",
    "ForestEdge",
    "ForestNode",
    "Link",
    "Parse",
    "RelationInstance",
    "RoleInstance",
    "SequenceBank",
    "Table",
    "Tagged",
    "TaggedBank",
    "Tree",
    "Treebank",
    "Vectors",
    "WordVectors",
    "as_vectors",
    "bag_of_words",
    "from_linkage",
    "iter_examples",
    "iter_trees",
    "main_types",
    "read_code",
    "read_conllu",
    "read_examples",
    "read_forests",
    "read_instances",
    "read_tagged",
    "read_trees",
    "write_instances",
]
