"""Messages of `treelet.draw`: pictures of trees and forests."""

from __future__ import annotations

A_TREE = "a Tree or its brackets"
TOO_MANY = "too many to draw"
NOTHING_TO_DRAW = "nothing to draw"
POSITIVE = "a positive number"
NO_FONT = r"no font .* or save the picture as \.svg instead of \.png"
USE_THE_BEST_TREE = r"forest\.best"
NO_LATEX_FORM = "no LaTeX form"


def both(first: str, second: str) -> str:
    return f"'{first}' and '{second}'"


def other_words(first: str, second: str, got: str) -> str:
    return f"{both(first, second)} must be over the same words, got {got}"


def too_deep(levels: str = "") -> str:
    return f"{levels}levels deep"


def prune(nodes: int, edges: int) -> str:
    return f"{nodes} nodes and {edges} edges.*prune it"


def more_nodes(limit: int) -> str:
    return f"more than {limit} nodes"


def forest_needed(got: str) -> str:
    return f"a Forest is needed, got {got}"


def not_a(kind: str) -> str:
    return f"not a {kind}"


def must_end_in(suffixes: str = "") -> str:
    return f"must end in {suffixes}"
