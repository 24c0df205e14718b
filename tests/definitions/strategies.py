"""Strategies for hypothesis that only tests need. Those for users are in `treelet.testing`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from treelet.testing import forests, tagged, trees

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


quarters = st.integers(-12, 12).map(lambda k: k / 4)
"""Sums of products of these numbers are exact, so results do not depend on the order of summation."""
vectors = st.lists(quarters, min_size=3, max_size=3)
features = st.sampled_from(["a", "b", "c", 1, (1, "a")])
sequences = st.lists(features, max_size=9)
typed_sequences = st.dictionaries(st.sampled_from(["w", "t"]), sequences, max_size=2)


def examples(kind: str, min_size: int = 2, max_size: int = 6, max_nodes: int = 9) -> st.SearchStrategy[list[Any]]:
    """Draw lists of examples of a kind, such as "trees" or "rows"."""
    few = trees(max_nodes=7)
    words = ("x", "y", "A", "z", "w")
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
                "point": vectors,
            }
        ),
    }
    return st.lists(kinds[kind], min_size=min_size, max_size=max_size)
