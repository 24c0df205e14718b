"""Trees and collections of them."""

from treelet.structures.tree import Tree
from treelet.structures.treebank import Treebank, as_treebank, read_trees

__all__ = ["Tree", "Treebank", "as_treebank", "read_trees"]
