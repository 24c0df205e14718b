"""Hypothesis strategies for trees, forests, grammars and tagged sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from treelet.structures import Forest, Tagged, Tree

LABELS = ("A", "B", "C")
WORDS = ("x", "y", "A")  # one word is also a label, because equal strings are equal labels


@st.composite
def trees(
    draw: st.DrawFn,
    labels: Sequence[str] = LABELS,
    words: Sequence[str] = WORDS,
    max_nodes: int = 12,
    max_children: int = 4,
) -> Tree:
    """Draw small random trees with few labels, which therefore share many fragments.

    Words and other nodes may be siblings, and nodes may have one or several children.
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


Rule = tuple[str, tuple[str, ...], float]


@st.composite
def grammars(
    draw: st.DrawFn,
    symbols: Sequence[str] = ("S", "A", "B"),
    words: Sequence[str] = ("x", "y"),
    max_rules: int = 9,
    max_tail: int = 3,
) -> list[Rule]:
    """Draw the rules of a small random grammar with start symbol S.

    There are long, unary and mixed rules, and cycles of unary rules. The probabilities per head sum
    to 1.
    """
    tails = st.lists(st.sampled_from([*symbols, *words]), min_size=1, max_size=max_tail).map(tuple)
    bodies = draw(
        st.lists(st.tuples(st.sampled_from(list(symbols)), tails), min_size=2, max_size=max_rules, unique=True)
    )
    bodies += [(head, (words[0],)) for head in symbols if head not in {head for head, _ in bodies}]
    weights = draw(st.lists(st.integers(1, 9), min_size=len(bodies), max_size=len(bodies)))
    totals = {
        symbol: sum(w for w, (head, _) in zip(weights, bodies, strict=True) if head == symbol) for symbol in symbols
    }
    return [(head, tail, w / totals[head]) for w, (head, tail) in zip(weights, bodies, strict=True)]


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


quarters = st.integers(-12, 12).map(lambda k: k / 4)
"""Sums of products of these numbers are exact, so results do not depend on the order of summation."""
vectors = st.lists(quarters, min_size=3, max_size=3)
features = st.sampled_from(["a", "b", "c", 1, (1, "a")])
sequences = st.lists(features, max_size=9)
typed_sequences = st.dictionaries(st.sampled_from(["w", "t"]), sequences, max_size=2)


def examples(kind: str, min_size: int = 2, max_size: int = 6, max_nodes: int = 9) -> st.SearchStrategy[list[Any]]:
    """Draw lists of examples of a kind, such as "trees" or "rows"."""
    few = trees(max_nodes=7)
    words = (*WORDS, "z", "w")
    kinds: dict[str, st.SearchStrategy[Any]] = {
        "trees": trees(max_nodes=max_nodes, words=words),
        "forests": forests(),
        "tagged": tagged(max_size=6),
        "sequences": sequences | typed_sequences,
        "vectors": vectors,
        "bags": st.lists(few, max_size=3),
        "bags of vectors": st.lists(vectors, max_size=4),
        "rows": st.fixed_dictionaries(
            {
                "tree": few,
                "other": st.none() | few,
                "vector": vectors,
                "features": st.dictionaries(st.sampled_from("pqr"), quarters),
                "number": quarters,
                "bag": st.lists(few, max_size=3),
                "forest": forests(max_trees=2),
                "tags": tagged(max_size=4),
            }
        ),
    }
    return st.lists(kinds[kind], min_size=min_size, max_size=max_size)
