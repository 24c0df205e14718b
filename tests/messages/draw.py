"""Messages of `treelet.draw`: pictures of trees and forests."""

from __future__ import annotations

from treelet.checks import article

A_TREE = "a Tree or a bracketed string"
TOO_MANY = "too many to draw. Draw a subtree, or print the tree"
NOTHING_TO_DRAW = "The forest is empty: there is nothing to draw"
POSITIVE = "a positive number"
NO_FONT = r"No font .* or save the picture as \.svg instead of \.png"
USE_THE_BEST_TREE = r"A Forest has no LaTeX form\. Pass its most probable tree, forest\.best"
ONLY_IN_A_TREE = "Triangles can only be drawn in a tree"
NO_PLAIN_FOREST = "A forest has no plain style"
NO_PLAIN_SCRIPT = "An edit script has no plain style"
LABELS_OR_NUMBERS = "labels of constituents or numbers of nodes"
LINES_OR_LEVELS = "more than 300 lines or 60 levels"
NO_LATEX_FORM = "This picture has no LaTeX form"


def both(first: str, second: str) -> str:
    return f"'{first}' and '{second}'"


def other_words(first: str, second: str, got: str) -> str:
    return f"{both(first, second)} must have the same words. Got {got}"


def too_deep(levels: str = "") -> str:
    return f"{levels}levels deep, but"


def prune(nodes: int, edges: int) -> str:
    return f"The forest has {nodes} nodes and {edges} edges.*Prune the forest"


def more_nodes(limit: int) -> str:
    return f"The tree has more than {limit} nodes"


def nodes_to_draw(which: str, nodes: int, limit: int) -> str:
    return f"The {which} tree has {nodes} nodes to draw, but the limit is {limit}"


def forest_needed(kind: str) -> str:
    return f"forest_svg draws a Forest. {got(kind)}"


def got(kind: str) -> str:
    """The end of a message about an object of a wrong type."""
    return f"Got {article(kind)} instead"


def must_end_in(suffixes: str = "") -> str:
    return f"must end in {suffixes}"
