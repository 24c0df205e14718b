"""What two trees, or a model, have in common: shown, not only counted; and pictures of trees and forests."""

from treelet.explain.draw import forest_svg, tree_svg
from treelet.explain.fragments import SharedFragment, SharedFragments, shared_fragments

__all__ = ["SharedFragment", "SharedFragments", "forest_svg", "shared_fragments", "tree_svg"]
