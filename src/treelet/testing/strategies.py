"""Hypothesis strategies for trees, forests and tagged sequences."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from treelet.structures import Forest, Tagged, Tree


@st.composite
def trees(
    draw: st.DrawFn,
    labels: Sequence[str] = ("A", "B", "C"),
    words: Sequence[str] = ("x", "y", "A"),
    max_nodes: int = 12,
    max_children: int = 4,
) -> Tree:
    """Draw small random trees with few labels, which therefore share many fragments.

    Words and other nodes may be siblings, and nodes may have one or several children. One word is also a label,
    because equal strings are equal labels.
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
    """Draw lists of random trees."""
    return st.lists(trees(**options), min_size=min_size, max_size=max_size)  # type: ignore[arg-type]


@st.composite
def forests(draw: st.DrawFn, max_trees: int = 4, words: Sequence[str] = ("x", "y", "x")) -> Forest:
    """Draw small random packed forests over a prefix of `words`, with either packing."""
    sentence = list(words[: draw(st.integers(1, len(words)))])

    def grow(begin: int, end: int, depth: int) -> Tree:
        label = draw(st.sampled_from(("A", "B")))
        if end == begin + 1:
            unary = depth < 2 and draw(st.integers(0, 3)) == 0
            return Tree(label, [grow(begin, end, depth + 1) if unary else sentence[begin]])
        cut = draw(st.integers(begin + 1, end - 1))
        parts = [(begin, cut), (cut, end)]
        if end - begin == 3 and draw(st.booleans()):
            parts = [(begin, begin + 1), (begin + 1, begin + 2), (begin + 2, end)]
        children: list[Tree | str] = []
        for a, b in parts:
            bare = b == a + 1 and draw(st.integers(0, 4)) == 0
            children.append(sentence[a] if bare else grow(a, b, 0))
        return Tree(label, children)

    items = [(grow(0, len(sentence), 0), draw(st.integers(1, 5)) / 5) for _ in range(draw(st.integers(1, max_trees)))]
    return Forest.from_trees(items, packing=draw(st.sampled_from(("nodes", "union"))))


def tagged(
    tags: Sequence[str] = ("N", "V"), words: Sequence[str] = ("x", "y", "N"), max_size: int = 7
) -> st.SearchStrategy[Tagged]:
    """Draw short random tagged sequences with few tags and words. One word is also a tag."""
    pairs = st.tuples(st.sampled_from(list(words)), st.sampled_from(list(tags)))
    return st.lists(pairs, min_size=1, max_size=max_size).map(lambda drawn: Tagged(*zip(*drawn, strict=True)))
