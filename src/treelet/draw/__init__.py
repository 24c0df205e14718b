"""Pictures of trees, forests and dependency parses: SVG, PNG, PDF, LaTeX, and the tree view for browsers."""

from treelet.draw.arcs import dependency_svg
from treelet.draw.drawing import Drawing, draw
from treelet.draw.shaded import heat_svg
from treelet.draw.svg import forest_svg, tree_svg
from treelet.draw.tex import latex

__all__ = [
    "Drawing",
    "dependency_svg",
    "draw",
    "forest_svg",
    "heat_svg",
    "latex",
    "tree_svg",
]
