"""What two trees, or a model, have in common: shown, not only counted; and pictures of trees, forests and dependency parses."""

from treelet.explain.arcs import arcs_text, dependency_svg
from treelet.explain.compare import marked, marked_svg
from treelet.explain.drawing import Drawing, draw
from treelet.explain.fragments import SharedFragment, SharedFragments, shared_fragments
from treelet.explain.svg import forest_svg, tree_svg
from treelet.explain.tex import latex

__all__ = [
    "Drawing",
    "SharedFragment",
    "SharedFragments",
    "arcs_text",
    "dependency_svg",
    "draw",
    "forest_svg",
    "latex",
    "marked",
    "marked_svg",
    "shared_fragments",
    "tree_svg",
]
