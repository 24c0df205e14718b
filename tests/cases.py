"""Kernels of every kind, with examples, for tests that must hold for all kernels.

`KERNELS` maps names to cases. A `Case` names the `EXAMPLES` that its kernel compares. Use all cases to
test code for arbitrary kernels: wrappers, estimators and computations of matrices.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from treelet.kernels import (
    Bag,
    Constant,
    Crossed,
    ForestKernel,
    Kernel,
    Linear,
    Locality,
    On,
    PartialTree,
    Polynomial,
    Product,
    Smoothed,
    StatementOverlap,
    Subsequence,
    SubsetTree,
    Subtree,
    Sum,
    Tagging,
)
from treelet.structures import Forest, Tagged, Tree, WordVectors

SENTENCE = ("x", "y", "x", "y")
PAIRS = {
    ("x", "y"): 0.5,
    ("A", "B"): 0.25,
    ("B", "y"): 0.125,
    ("A", "x"): 0.25,
}  # positive definite with 1 on the diagonal
VECTORS = WordVectors(["x", "y", "z", "A"], [[1.0, 0.1, 0.0], [0.9, 0.3, 0.0], [0.0, 0.1, 1.0], [0.8, 0.2, 0.3]])
"""x and y are similar, and z is similar to neither. A is also a label; the word A must not match nodes."""


class Case(NamedTuple):
    """A kernel and its properties."""

    kernel: Kernel
    kind: str
    """Kind of examples: a key of `EXAMPLES`."""
    collapses: bool = True
    """True if a model with this kernel is a weighted graph or a vector, without support examples."""
    positive: bool = True
    """True if the kernel is known to be positive semi-definite."""


def random_tree(rng: np.random.Generator, nodes: int, words: str = "xyz") -> Tree:
    """Return a random tree with about `nodes` nodes and few labels."""
    if nodes <= 1:
        return Tree("AB"[rng.integers(2)], [words[rng.integers(len(words))]])
    count = int(rng.integers(1, 4))
    shares = rng.multinomial(nodes - 1, [1 / count] * count)
    return Tree("ABC"[rng.integers(3)], [random_tree(rng, int(share), words) for share in shares])


def random_parse(rng: np.random.Generator, words: tuple[str, ...]) -> Tree:
    """Return a random binary tree over a sentence, with some unary nodes above words."""
    label = "AB"[rng.integers(2)]
    if len(words) == 1:
        return Tree(label, [random_parse(rng, words) if rng.random() < 0.3 else words[0]])
    cut = int(rng.integers(1, len(words)))
    return Tree(label, [random_parse(rng, words[:cut]), random_parse(rng, words[cut:])])


def random_forest(rng: np.random.Generator, trees: int = 4) -> Forest:
    """Return a random forest of several parses of one sentence. Packing by nodes adds more parses."""
    words = SENTENCE[: int(rng.integers(2, len(SENTENCE) + 1))]
    items = [(random_parse(rng, words), float(rng.integers(1, 6)) / 5) for _ in range(trees)]
    return Forest.from_trees(items, packing=str(rng.choice(["nodes", "union"])))


def _letters(rng: np.random.Generator, letters: str, most: int) -> list[str]:
    return [str(letter) for letter in rng.choice(list(letters), int(rng.integers(1, most + 1)))]


def _sequence(rng: np.random.Generator, number: int) -> Any:
    """Return a plain sequence for even numbers, and a sequence with two types for odd numbers."""
    return {"w": _letters(rng, "abc", 8), "t": _letters(rng, "ab", 3)} if number % 2 else _letters(rng, "abc", 9)


def _tagged(rng: np.random.Generator) -> Tagged:
    words = _letters(rng, "xyN", 7)
    return Tagged(words, [str(tag) for tag in rng.choice(["N", "V"], len(words))])


def _vector(rng: np.random.Generator) -> list[float]:
    return [float(number) for number in rng.integers(-12, 13, 3) / 4]


def _row(rng: np.random.Generator, number: int) -> dict[str, Any]:
    return {
        "tree": random_tree(rng, int(rng.integers(1, 10))),
        "other": None if number % 4 == 3 else random_tree(rng, 3),
        "vector": _vector(rng),
        "features": dict(zip("pqr", _vector(rng), strict=True)),
        "number": float(rng.integers(-12, 13)) / 4,
        "bag": [random_tree(rng, 3) for _ in range(number % 3)],
        "forest": random_forest(rng, 1 + number % 3),
        "tags": _tagged(rng),
        "point": _vector(rng),
    }


MAKERS: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "trees": lambda rng, _: random_tree(rng, int(rng.integers(1, 16))),
    "forests": lambda rng, number: random_forest(rng, 1 + number % 4),
    "tagged": lambda rng, _: _tagged(rng),
    "sequences": _sequence,
    "vectors": lambda rng, _: _vector(rng),
    "rows": _row,
    "bags": lambda rng, number: [random_tree(rng, int(rng.integers(1, 6))) for _ in range(number % 4)],
    "bags of vectors": lambda rng, number: [_vector(rng) for _ in range(number % 4)],
}


def examples(kind: str, n: int = 16, seed: int = 0) -> list[Any]:
    """Return n random examples of a kind. The same seed returns the same examples."""
    rng = np.random.default_rng(seed)
    return [MAKERS[kind](rng, number) for number in range(n)]


EXAMPLES = {kind: examples(kind) for kind in MAKERS}

ST, SST, PT = Subtree(lam=0.7), SubsetTree(lam=0.4), PartialTree(lam=0.5, mu=0.6)
FOREST, TAGS = ForestKernel(lam=0.4), Tagging(lam=0.3)

PLAIN = {
    "st": Case(ST, "trees"),
    "st count": Case(Subtree(), "trees"),
    "sst": Case(SST, "trees"),
    "sst count": Case(SubsetTree(lam=1), "trees"),
    "sst depth 1": Case(SubsetTree(lam=0.6, max_depth=1), "trees"),
    "sst depth 2": Case(SubsetTree(lam=0.6, max_depth=2), "trees"),
    "sst depth 3": Case(SubsetTree(lam=0.9, max_depth=3), "trees"),
    "sst leaves": Case(SubsetTree(lam=0.4, leaves=True), "trees"),
    "sst leaves depth 1": Case(SubsetTree(lam=0.6, max_depth=1, leaves=True), "trees"),
    "sst leaves depth 3": Case(SubsetTree(lam=0.9, max_depth=3, leaves=True), "trees"),
    "pt": Case(PartialTree(lam=0.4, mu=0.3), "trees"),
    "pt count": Case(PartialTree(lam=1, mu=1), "trees"),
    "pt no leaves": Case(PartialTree(lam=0.7, mu=0.6, leaves=False), "trees"),
    "pt small terminals": Case(PartialTree(lam=0.6, mu=0.5, terminal_factor=0.3), "trees"),
    "pt large terminals": Case(PartialTree(lam=0.6, mu=0.5, terminal_factor=2.5), "trees", positive=False),
    "pt no terminals": Case(PartialTree(lam=0.6, mu=0.5, terminal_factor=0), "trees"),
    "pt terminals, no leaves": Case(
        PartialTree(lam=0.7, mu=0.6, leaves=False, terminal_factor=2), "trees", positive=False
    ),
    "smoothed": Case(Smoothed(VECTORS, lam=0.5, mu=0.7, threshold=0.3), "trees", False, False),
    "smoothed terminals": Case(Smoothed(VECTORS, 0.5, 0.7, threshold=0.3, terminal_factor=0.4), "trees", False, False),
    "smoothed no leaves": Case(Smoothed(VECTORS, 0.5, 0.7, leaves=False, threshold=0.3), "trees", False, False),
    "smoothed pairs": Case(Smoothed(PAIRS, 0.5, 0.7, threshold=0), "trees", False),
    "smoothed leaves": Case(Smoothed(VECTORS, 0.5, 0.7, threshold=0.3, nodes="leaves"), "trees", False, False),
    "smoothed leaves, terminals": Case(
        Smoothed(VECTORS, 0.5, 0.7, threshold=0.3, nodes="leaves", terminal_factor=0.4), "trees", False, False
    ),
    "statement overlap": Case(StatementOverlap(), "trees", False),
    "forest": Case(FOREST, "forests"),
    "forest count": Case(ForestKernel(lam=1), "forests"),
    "forest small": Case(ForestKernel(lam=0.3), "forests"),
    "forest leaves": Case(ForestKernel(lam=0.4, leaves=True), "forests"),
    "tagging": Case(Tagging(lam=0.4), "tagged"),
    "tagging count": Case(Tagging(lam=1), "tagged"),
    "tagging small": Case(Tagging(lam=0.05), "tagged"),
    "locality position": Case(Locality(window=3, theta=0.5), "sequences"),
    "locality wide": Case(Locality(window=5, theta=0.8), "sequences"),
    "locality exact": Case(Locality(window=5, match="exact"), "sequences"),
    "locality count": Case(Locality(window=3, match="count"), "sequences"),
    "locality by type": Case(Locality({"": 3, "w": 5, "t": 1}, 0.7, weights={"w": 0.5, "t": 2.0}), "sequences"),
    "subsequence": Case(Subsequence(lam=0.5, length=2), "sequences"),
    "subsequence of three": Case(Subsequence(lam=0.4, length=3), "sequences"),
    "linear": Case(Linear(), "vectors"),
    "quadratic": Case(Polynomial(coef0=1), "vectors", False),
    "cubic": Case(Polynomial(degree=3, coef0=0.25, gamma=0.5), "vectors", False),
    "seventh power": Case(Polynomial(degree=7), "vectors", False),
}
"""Kernels that are not composed of other kernels."""

COMPOSED = {
    "sum": Case(SST + PT, "trees"),
    "sum of three": Case(SST + (PT + Subtree(lam=0.5)), "trees"),
    "sum with a number": Case(SST + 1, "trees"),
    "builtin sum": Case(sum([SST, PT]), "trees"),  # type: ignore[arg-type]  # a kernel adds numbers
    "named sum": Case(Sum(syntax=0.6 * SST.normalized(), shape=PT, complete=2 * ST), "trees"),
    "sum of one": Case(Sum(SST), "trees"),
    "named product": Case(Product(syntax=SST, shape=PT.normalized(), complete=ST + 1), "trees", False),
    "normalized named sum": Case((0.5 * Sum(syntax=SST, shape=PT)).normalized() + 0.1 * Sum(only=ST), "trees"),
    "multiple": Case(SST * 2, "trees"),
    "multiple of a sum": Case(0.5 * (SST + PT), "trees"),
    "nothing": Case(0 * SST, "trees"),
    "nothing and something": Case(0 * SST + PT, "trees"),
    "normalized st": Case(ST.normalized(), "trees"),
    "normalized sst": Case(SST.normalized(), "trees"),
    "normalized leaves": Case(SubsetTree(0.8, leaves=True).normalized(), "trees"),
    "normalized depth": Case(SubsetTree(0.6, max_depth=2).normalized(), "trees"),
    "normalized pt": Case(PT.normalized(), "trees"),
    "normalized sum": Case((SST + PT).normalized(), "trees"),
    "normalized sum of normalized": Case((2 * SST + PT.normalized() + 1).normalized(), "trees"),
    "normalized multiple": Case((0.5 * PT).normalized(), "trees"),
    "sum of normalized": Case(0.6 * SST.normalized() + 0.4 * PT, "trees"),
    "nested": Case((0.5 * (0.3 * ST + SST)).normalized() * 2, "trees"),
    "product": Case(SST * PT, "trees", False),
    "product of a sum": Case((SST + PT) * SST, "trees", False),
    "times a sum": Case(SST * (SST + PT), "trees", False),
    "sum with a product": Case(0.5 * SST.normalized() + PT * ST + 2, "trees", False),
    "normalized times a sum": Case(SST.normalized() * (Subtree(lam=0.5) + 1.5), "trees", False),
    "gaussian": Case(SST.gaussian(sigma=2.0), "trees", False),
    "gaussian of normalized": Case(PT.normalized().gaussian(0.7), "trees", False),
    "gaussian of a sum": Case((SST + PT).gaussian(1.5), "trees", False),
    "normalized gaussian": Case(SST.gaussian(1.0).normalized(), "trees", False),
    "polynomial": Case(SST.polynomial(2), "trees", False),
    "polynomial with coef0": Case(PT.polynomial(degree=3, coef0=0.5), "trees", False),
    "polynomial of a product": Case((SST * PT).polynomial(5, 1), "trees", False),
    "normalized polynomial": Case(SST.polynomial(3, coef0=1.0).normalized(), "trees", False),
    "normalized sum with a polynomial": Case((SST + PT.polynomial(2)).normalized(), "trees", False),
    "first power": Case(SST.polynomial(1), "trees", False),
    "gaussian of a polynomial": Case(SST.normalized().polynomial(2).gaussian(1), "trees", False),
    "smoothed and more": Case(Smoothed(VECTORS, threshold=0.3).normalized() + SST, "trees", False, False),
    "normalized forest": Case(FOREST.normalized(), "forests"),
    "sum of forests": Case(0.5 * FOREST + ForestKernel(lam=0.8).normalized() + 1, "forests"),
    "product of forests": Case(0.5 * FOREST + FOREST * FOREST, "forests", False),
    "gaussian of forests": Case(FOREST.normalized().gaussian(0.8), "forests", False),
    "polynomial of forests": Case(FOREST.polynomial(2, 1.0), "forests", False),
    "normalized tagging": Case(TAGS.normalized(), "tagged"),
    "gaussian of tagging": Case(TAGS.gaussian(2.0), "tagged", False),
    "normalized locality": Case(Locality(3, match="exact").normalized(), "sequences"),
    "gaussian of locality": Case(Locality(3).gaussian(5.0), "sequences", False),
    "locality and subsequence": Case(Locality(3, match="count") + 0.5 * Subsequence(0.5, 2).normalized(), "sequences"),
    "sum of vectors": Case(Linear() + 0.5 * Polynomial(coef0=1), "vectors", False),
    "product of vectors": Case(Linear() * Linear(), "vectors", False),
    "gaussian of vectors": Case(Linear().gaussian(2.5), "vectors", False),
    "polynomial of vectors": Case(Linear().polynomial(3, 1), "vectors", False),
    "normalized vectors": Case(Linear().normalized(), "vectors", False),
    "bag of sst": Case(Bag(SST), "bags"),
    "bag of pt": Case(Bag(PT), "bags"),
    "bag of st": Case(Bag(Subtree(lam=0.5)), "bags"),
    "bag of normalized": Case(Bag(SST.normalized()), "bags"),
    "bag of gaussian": Case(Bag(SST.gaussian(1.0)), "bags"),
    "bag of a sum": Case(Bag(SST + PT), "bags"),
    "normalized bag": Case(Bag(SST).normalized(), "bags"),
    "bag of vectors": Case(Bag(Linear()), "bags of vectors"),
    "on trees": Case(On("tree", SST), "rows"),
    "on missing trees": Case(On("other", PT), "rows"),
    "on one column twice": Case(On("tree", SST.normalized() + PT) + On("tree", ST), "rows"),
    "on trees and vectors": Case(0.6 * On("tree", SST).normalized() + On("vector", Linear()), "rows"),
    "on two trees": Case(On("tree", SST) * On("other", SST), "rows", False),
    "on a gaussian": Case(On("tree", SST) + On("tree", PT.gaussian(2.0)), "rows", False),
    "on a number": Case(On("number", Polynomial(coef0=1)), "rows", False),
    "on columns side by side": Case(On(["number", "vector"], Linear()) + On("tree", SST), "rows"),
    "on a gaussian of columns": Case(
        On(("vector", "number"), Linear().gaussian(2.0)) + On("number", Linear()), "rows", False
    ),
    "on features": Case(On("tree", ST) + 2 * On("features", Linear()) + 0.5, "rows"),
    "on a product": Case(On("tree", SST) * On("features", Linear()) + On("other", ST), "rows", False),
    "on bags": Case(On("bag", Bag(SST)) + On("vector", Linear()), "rows"),
    "on all, normalized": Case((On("tree", SST) + On("number", Linear()) + Constant(1)).normalized(), "rows"),
    "on forests": Case(On("forest", FOREST.normalized()) + 0.5 * On("tree", PT), "rows"),
    "on forests, normalized": Case((On("forest", FOREST) + On("number", Linear())).normalized(), "rows"),
    "crossed": Case(Crossed("tree", "other", SST), "rows", False),
    "crossed normalized": Case(Crossed("tree", "other", PT.normalized()).normalized(), "rows", False),
    "crossed numbers": Case(Crossed("point", "vector", Linear().polynomial(2, 1)), "rows", False),
    "crossed and more": Case(
        0.5 * Crossed("other", "tree", SST + PT).normalized() + On("tree", SST) + On("number", Linear()), "rows", False
    ),
    "on tags": Case(On("tags", TAGS) + 0.1 * On("number", Linear()), "rows"),
}
"""Sums, products, multiples, wrappers, columns and bags."""

KERNELS = PLAIN | COMPOSED
