"""What two trees, or a model, have in common: shown, not only counted; and pictures of trees and forests."""

from treelet.explain.compare import marked, marked_svg
from treelet.explain.draw import forest_svg, tree_svg
from treelet.explain.fragments import SharedFragment, SharedFragments, shared_fragments

__all__ = ["SharedFragment", "SharedFragments", "forest_svg", "marked", "marked_svg", "shared_fragments", "tree_svg"]
