"""Pictures of trees, forests, dependency parses and edit scripts: SVG, PNG, PDF, LaTeX, and the tree view for browsers."""

from treelet.drawing.arcs import dependency_svg
from treelet.drawing.drawing import Drawing, draw
from treelet.drawing.edits import edit_svg
from treelet.drawing.svg import forest_svg, heat_svg, tree_svg
from treelet.drawing.tex import latex

__all__ = [
    "Drawing",
    "dependency_svg",
    "draw",
    "edit_svg",
    "forest_svg",
    "heat_svg",
    "latex",
    "tree_svg",
]
