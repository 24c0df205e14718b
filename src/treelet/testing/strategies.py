"""Hypothesis strategies for trees."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from treelet.structures import Tree

LABELS = ("A", "B", "C")
WORDS = ("x", "y", "A")  # one word is also a label: equal strings are equal labels


@st.composite
def trees(
    draw: st.DrawFn,
    labels: Sequence[str] = LABELS,
    words: Sequence[str] = WORDS,
    max_nodes: int = 12,
    max_children: int = 4,
) -> Tree:
    """Small random trees over few labels, so that two of them have much in common.

    Words may be children beside other nodes, and nodes may have one child or several.
    """
    budget = draw(st.integers(0, max_nodes - 1))

    def grow(budget: int, top: bool) -> Tree:
        if budget <= 0:
            return Tree(draw(st.sampled_from(words)))
        label = draw(st.sampled_from(labels))
        count = draw(st.integers(1, min(max_children, budget)))
        children, left = [], budget - count
        for remaining in range(count, 0, -1):
            share = left if remaining == 1 else draw(st.integers(0, left))
            children.append(grow(share, False))
            left -= share
        return Tree(label, children)

    return grow(budget, True)


def banks(min_size: int = 1, max_size: int = 5, **options: object) -> st.SearchStrategy[list[Tree]]:
    """Lists of random trees."""
    return st.lists(trees(**options), min_size=min_size, max_size=max_size)  # type: ignore[arg-type]
