"""The slow definitions for grammars and forests: by listing every tree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations, product
from math import fsum, prod

from treelet.structures import Forest, Tree
from treelet.testing.reference import subset_tree

Rules = Sequence[tuple[str, Sequence[str], float]]


def derivations(rules: Rules, start: str, words: Sequence[str]) -> list[tuple[Tree, float]]:
    """Every tree that the rules have for a sentence, with its probability, best first.

    What heads no rule is a word. A node over another of the same label and span is left out, as the parser leaves it out.
    """
    heads = {head for head, _, _ in rules}

    def below(item: str, begin: int, end: int, above: frozenset[str]) -> list[tuple[Tree, float]]:
        if item not in heads:
            return [(Tree(item), 1.0)] if end == begin + 1 and words[begin] == item else []
        if item in above:
            return []
        found = []
        for head, tail, probability in rules:
            if head != item:
                continue
            for cuts in combinations(range(begin + 1, end), len(tail) - 1):
                places = [begin, *cuts, end]
                seen = above | {item} if len(tail) == 1 else frozenset()
                parts = [below(tail[k], places[k], places[k + 1], seen) for k in range(len(tail))]
                for choice in product(*parts):
                    tree = Tree(item, [tree for tree, _ in choice])
                    found.append((tree, probability * prod(p for _, p in choice)))
        return found

    return sorted(below(start, 0, len(words), frozenset()), key=lambda pair: -pair[1])


def expected_nodes(trees: Iterable[tuple[Tree, float]]) -> dict[tuple[str, int, int], float]:
    """How many nodes of each (label, begin, end), words left out, a tree is expected to have."""
    pairs = list(trees)
    total = fsum(p for _, p in pairs)
    counts: Counter[tuple[str, int, int]] = Counter()
    for tree, p in pairs:
        for key in spans(tree):
            counts[key] += p / total  # type: ignore[assignment]  # a Counter of floats
    return dict(counts)


def spans(tree: Tree, begin: int = 0) -> list[tuple[str, int, int]]:
    """(label, begin, end) of every node with children."""
    out: list[tuple[str, int, int]] = []
    end = begin
    for child in tree.children:
        if child.children:
            out += spans(child, end)
        end += len(child.words())
    return [(tree.label, begin, end), *out]


def forest_kernel(first: Forest, second: Forest, lam: float = 0.4, leaves: bool = False) -> float:
    """The forest kernel: the sum over all pairs of trees of P(t1 | f1) P(t2 | f2) SST(t1, t2)."""
    a, b = first.trees(), second.trees()
    if not a or not b:
        return 0.0
    whole = fsum(p for _, p in a) * fsum(p for _, p in b)
    return fsum(p * q * subset_tree(t, u, lam, leaves=leaves) for t, p in a for u, q in b) / whole
