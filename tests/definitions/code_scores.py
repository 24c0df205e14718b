"""TSED by the package apted, as Song et al. (2024) compute it, and functions of real code to score."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Node:
    """A node as apted takes it."""

    name: str
    children: list[Node] = field(default_factory=list)

    @property
    def size(self) -> int:
        return 1 + sum(child.size for child in self.children)


def trees_of(node: Any, text: bytes, leaves: bool) -> Iterator[Node]:
    """The tree of a node of tree-sitter, or, if the node does not count, those of its children."""
    below = [tree for child in node.children for tree in trees_of(child, text, leaves)]
    if leaves and node.is_named and not node.children and node.start_byte < node.end_byte:
        below = [Node(text[node.start_byte : node.end_byte].decode("utf-8", "replace"))]
    if node.is_missing:
        yield Node("MISSING", below)
    elif node.is_named or node.parent is None or leaves:
        yield Node(node.type, below)
    else:
        yield from below


def tree_of(code: str, language: str, leaves: bool = False) -> Node:
    import tree_sitter

    from treelet.formats.languages import LANGUAGES

    text = code.encode("utf-8", "surrogatepass")
    (tree,) = trees_of(tree_sitter.Parser(LANGUAGES[language].grammar).parse(text).root_node, text, leaves)
    return tree


def tsed_by_apted(
    generated: str, reference: str, language: str, leaves: bool = False, weights: tuple[float, float, float] = (1, 1, 1)
) -> float:
    """TSED with weights of deletions, insertions and renamings."""
    from apted import APTED, PerEditOperationConfig

    class Costs(PerEditOperationConfig):  # type: ignore[misc]
        valuecls = float

    first, second = (tree_of(code, language, leaves) for code in (generated, reference))
    distance = APTED(first, second, Costs(*weights)).compute_edit_distance()
    return max(1 - distance / max(first.size, second.size), 0)


def functions(paths: list[Path], most_lines: int = 14, least_lines: int = 3) -> list[str]:
    """The texts of the functions with so many lines."""
    import treelet as tl

    bank = tl.read_code(paths, each="function", on_error="skip")
    found = []
    for place in bank.places:
        if least_lines <= place.end_line - place.line + 1 <= most_lines:
            lines = Path(place.file).read_text(encoding="utf-8").splitlines(keepends=True)
            found.append("".join(lines[place.line - 1 : place.end_line]))
    return found


def edited(rng: random.Random, code: str) -> str:
    """The code after edits of characters or lines, which often damage it."""
    for _ in range(rng.randint(1, 3)):
        lines = code.splitlines(keepends=True) or [""]
        line, place = rng.randrange(len(lines)), rng.randrange(len(code) + 1)
        kind = rng.choice(["no line", "line again", "cut", "no characters", "characters"])
        if kind == "no line":
            del lines[line]
        elif kind == "line again":
            lines.insert(rng.randrange(len(lines)), lines[line])
        code = "".join(lines)
        if kind == "cut":
            code = code[: max(place, len(code) // 2)]
        elif kind == "no characters":
            code = code[:place] + code[place + rng.randint(1, 4) :]
        elif kind == "characters":
            code = code[:place] + rng.choice(["(", ")", "x", " + 1", ";", "{", "}", "\n", "$", "é", '"']) + code[place:]
    return code


def pairs(rng: random.Random, texts: list[str], number: int) -> list[tuple[str, str]]:
    """Pairs of generated code and reference code: two thirds edited copies, one third other functions."""
    return [
        (rng.choice(texts), text) if rng.random() < 1 / 3 else (edited(rng, text), text)
        for text in rng.choices(texts, k=number)
    ]
