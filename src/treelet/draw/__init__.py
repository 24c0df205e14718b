"""Pictures of trees, forests, dependency parses and edit scripts: SVG, PNG, PDF, LaTeX, and the tree view for browsers."""

from treelet.draw.arcs import dependency_svg
from treelet.draw.drawing import Drawing, draw
from treelet.draw.edits import edit_svg
from treelet.draw.shaded import heat_svg
from treelet.draw.svg import forest_svg, tree_svg
from treelet.draw.tex import latex

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
