"""Pictures of trees, forests, dependency parses, edit scripts and shared fragments: SVG, PNG, PDF, LaTeX, and the tree view for browsers."""

from treelet.drawing.arcs import dependency_svg
from treelet.drawing.drawing import Drawing, draw, latex
from treelet.drawing.edits import edit_svg
from treelet.drawing.sheets import shared_svg
from treelet.drawing.svg import forest_svg, heat_svg, tree_svg

__all__ = [
    "Drawing",
    "dependency_svg",
    "draw",
    "edit_svg",
    "forest_svg",
    "heat_svg",
    "latex",
    "shared_svg",
    "tree_svg",
]
