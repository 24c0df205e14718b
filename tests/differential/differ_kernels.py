"""Every kernel, with random parameters, on random pairs: beside its slow definition, read off its formula."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from random import Random
from typing import Any

import numpy as np
from differ import CLOSE, NOTHING, Batch, check, smallest
from differ_structures import Structures

import treelet as tl
from definitions import kernels as reference
from definitions.kernels import definition
from definitions.rounding import size
from experiments import pair_kernels
from treelet.kernels import Constant, Kernel, Product, Sum
from treelet.structures import WordVectors

# --- kernels by chance ----------------------------------------------------------------------------------------------


def decay(random: Random) -> float:
    """In (0, 1]: 1, the usual ones, and small ones."""
    return random.choice([1.0, 0.4, random.uniform(0.05, 1), random.uniform(0.05, 1), 10 ** random.uniform(-8, 0)])


def subtree(random: Random) -> Kernel:
    return tl.Subtree(lam=decay(random))


def subset_tree(random: Random) -> Kernel:
    return tl.SubsetTree(
        decay(random), max_depth=random.choice([None, None, 1, 2, 3, 5, 100]), leaves=random.random() < 0.4
    )


def partial_tree(random: Random) -> Kernel:
    factor = random.choice([1.0, 1.0, 0.0, random.uniform(0, 3)])
    return tl.PartialTree(decay(random), decay(random), leaves=random.random() < 0.7, terminal_factor=factor)


def smoothed(random: Random) -> Kernel:
    words = random.sample(["x", "y", "z", "A", "B", "S", "naïve", "\U0001f600"], random.randint(1, 6))
    vectors = [[random.choice([0.0, 1.0, random.gauss(0, 1)]) for _ in range(random.choice([1, 2, 3]))] for _ in words]
    width = max(map(len, vectors))
    similarity: Any = WordVectors(words, [vector + [0.0] * (width - len(vector)) for vector in vectors])
    if random.random() < 0.5:  # a table of any similarities
        pairs = {pair: random.choice([0.0, 1.0, random.random()]) for pair in combinations(words, 2)}
        similarity = pairs or similarity
        if random.random() < 0.3:
            similarity = TableOfPairs(pairs)
    word = random.choice([None, None, None, str, first_letter])
    factor = random.choice([1.0, 1.0, random.uniform(0, 3)])
    return tl.Smoothed(
        similarity,
        decay(random),
        decay(random),
        random.random() < 0.7,
        random.choice([0.0, random.random(), random.random(), 0.999]),
        random.choice(["all", "all", "leaves"]),
        word=word,
        terminal_factor=factor,
    )


class TableOfPairs:
    """A table of similarities as a function."""

    def __init__(self, pairs: dict[tuple[str, str], float]) -> None:
        self.pairs = pairs

    def __call__(self, first: str, second: str) -> float:
        return self.pairs.get((first, second), self.pairs.get((second, first), 0.0))


def first_letter(label: str) -> str | None:
    """The first letter in lower case is the word; S is not a word."""
    return None if label == "S" else label[:1].lower()


def forest_kernel(random: Random) -> Kernel:
    return tl.ForestKernel(decay(random), leaves=random.random() < 0.4)


def tagging(random: Random) -> Kernel:
    return tl.Tagging(decay(random))


def locality(random: Random) -> Kernel:
    window: Any = random.choice([1, 2, 3, 3, 5, 9, 10**6])
    if random.random() < 0.3:
        window = {"": window, "w": random.choice([1, 3, 5]), "t": random.choice([1, 4, 7])}
    theta = random.choice([0.0, 0.5, random.uniform(0.1, 5), 1e3])
    weights = random.choice([None, None, {"w": random.uniform(0, 3)}, {"t": 0, "": 0.5}])
    return tl.Locality(window, theta, random.choice(["position", "exact", "count"]), weights)


def subsequence(random: Random) -> Kernel:
    return tl.Subsequence(decay(random), random.choice([1, 2, 2, 3, 4, 9]))


def linear(random: Random) -> Kernel:
    return tl.Linear()


def polynomial(random: Random) -> Kernel:
    coef0 = random.choice([0.0, 1.0, random.uniform(0, 3)])
    return tl.Polynomial(random.randint(1, 7), coef0, random.choice([1.0, random.uniform(0.1, 2)]))


ATOMS: dict[str, list[Callable[[Random], Kernel]]] = {
    "trees": [subtree, subset_tree, subset_tree, partial_tree, partial_tree, smoothed],
    "forests": [forest_kernel],
    "tagged": [tagging],
    "sequences": [locality, subsequence],
    "vectors": [linear, polynomial],
}
COLUMNS = {"tree": "trees", "other": "trees", "vector": "vectors", "features": "vectors", "number": "vectors"}
COLUMNS |= {"tags": "tagged"}


def factor(random: Random) -> float:
    return random.choice([0.5, 2, random.uniform(0, 3), 10 ** random.uniform(-3, 3)])


def atom(random: Random, kind: str) -> Kernel:
    """A kernel on examples of a kind that is no sum, product or wrap, but for columns and bags."""
    if kind.startswith("bags of "):
        return tl.Bag(made(random, kind.removeprefix("bags of "), random.choice([0, 0, 1])))
    if kind != "rows":
        return random.choice(ATOMS[kind])(random)
    if random.random() < 0.15:
        return tl.On(
            random.choice([["number", "vector"], ("vector", "number")]), random.choice([linear, polynomial])(random)
        )
    if random.random() < 0.15:
        return tl.On("bag", atom(random, "bags of trees"))
    if random.random() < 0.15:
        return crossed(random)
    column = random.choice(sorted(COLUMNS))
    return tl.On(column, made(random, COLUMNS[column], random.choice([0, 0, 1])))


def crossed(random: Random) -> Kernel:
    first, second = random.sample(["tree", "other"], 2)
    return tl.Crossed(first, second, made(random, "trees", random.choice([0, 0, 1])))


def constant(random: Random, kind: str, depth: int) -> Kernel:
    return made(random, kind, depth) + Constant(factor(random))


def summed(random: Random, kind: str, depth: int) -> Kernel:
    parts = [made(random, kind, depth) for _ in range(random.choice([2, 2, 3]))]
    ways = [
        lambda: Sum(*parts),
        lambda: parts[0] + parts[1],
        lambda: sum(parts),
        lambda: Sum(**dict(zip("pqr", parts))),
    ]
    return random.choice(ways)()


def multiplied(random: Random, kind: str, depth: int) -> Kernel:
    parts = [made(random, kind, depth) for _ in range(random.choice([2, 2, 3]))]
    return random.choice([lambda: Product(*parts), lambda: parts[0] * parts[1]])()


def scaled(random: Random, kind: str, depth: int) -> Kernel:
    return random.choice([0, 1, factor(random), factor(random), factor(random)]) * made(random, kind, depth)


def normalized(random: Random, kind: str, depth: int) -> Kernel:
    return made(random, kind, depth).normalized()


def gaussian(random: Random, kind: str, depth: int) -> Kernel:
    return made(random, kind, depth).gaussian(10 ** random.uniform(-0.5, 1.5))


def power(random: Random, kind: str, depth: int) -> Kernel:
    return made(random, kind, depth).polynomial(random.randint(1, 4), random.choice([0.0, 1.0, random.uniform(0, 2)]))


WRAPS = [summed, summed, multiplied, scaled, normalized, normalized, gaussian, power, constant]


def made(random: Random, kind: str, depth: int) -> Kernel:
    """Any kernel on examples of a kind, of so many sums, products and wraps in each other."""
    return atom(random, kind) if depth <= 0 else random.choice(WRAPS)(random, kind, depth - 1)


# --- comparing ------------------------------------------------------------------------------------------------------


def values(kernel: Any, X: list[Any], pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Slow values of pairs, and what their errors are in proportion to."""
    slow, rounding = definition(kernel), size(kernel)
    found = np.array([(slow(X[i], X[j]), rounding(X[i], X[j])) for i, j in pairs], dtype=np.float64)
    return found.reshape(-1, 2).T


def told(kernel: Any, X: list[Any], pairs: list[tuple[int, int]]) -> Callable[[tuple[int, ...]], str]:
    """A failure with its pair of examples made as small as can be, where the pair alone fails."""

    def fails(pair: list[Any]) -> bool:
        expected, scale = values(kernel, pair, [(0, 1)])
        return not abs(kernel(pair[:1], pair[1:])[0, 0] - expected[0]) <= CLOSE * scale[0] + NOTHING

    def tell(place: tuple[int, ...]) -> str:
        pair = [X[k] for k in pairs[place[0]]]
        if fails(pair):
            a, b = smallest(pair, fails)
            return f"kernel = {kernel!r}\n  a, b = {shown(a)}, {shown(b)}\n  kernel([a], [b]) is not definition(kernel)(a, b)"
        return f"kernel = {kernel!r}\n  X = {list(map(shown, X))}\n  pair {pairs[place[0]]}; this pair alone is right"

    return tell


def shown(example: Any) -> str:
    return f"Forest.from_json({example.to_json()!r})" if isinstance(example, tl.Forest) else repr(example)


def compare(batch: Batch, what: str, kernel: Any, X: list[Any]) -> None:
    """All pairs of some examples, by each way to a value: halves, rows by columns, the diagonal, one pair, kept columns."""
    n = len(X)
    pairs = [(i, j) for i in range(n) for j in range(i + 1)]
    expected, scale = values(kernel, X, pairs)
    i, j = np.array(pairs).T
    K = kernel(X)
    batch.compare(what, K[i, j], expected, scale, tell=told(kernel, X, pairs))
    again = {"cases": 0, "tell": told(kernel, X, pairs)}
    batch.compare(what, K[j, i], expected, scale, **again)
    batch.compare(
        what, kernel(X, X[: n // 2])[i, j % (n // 2)][j < n // 2], expected[j < n // 2], scale[j < n // 2], cases=0
    )
    half = i < n // 2
    batch.compare(what, kernel(X[: n // 2], X)[i % (n // 2), j][half], expected[half], scale[half], cases=0)
    one = batch.random.randrange(len(pairs))
    batch.compare(what, kernel([X[i[one]]], [X[j[one]]])[0], expected[[one]], scale[[one]], cases=0)
    if isinstance(kernel, Kernel):
        batch.compare(what, kernel.diag(X), expected[i == j], scale[i == j], cases=0)
        kept = kernel.with_cached_index(X)
        out = np.empty((1, n))
        kernel.evaluator(kernel.coerce([X[i[one]]]), kept).fill(0, 1, out, False)
        batch.compare(what, out[0, [j[one]]], expected[[one]], scale[[one]], cases=0)
    batch.count(kernels=1, structures=n)


def compare_some(batch: Batch, what: str, kernel: Kernel, X: list[Any], most: int) -> None:
    """Some pairs of many examples: indexes have other ways there, by shapes and groups that very many share."""
    pairs = [(batch.random.randrange(len(X)), batch.random.randrange(len(X))) for _ in range(most)]
    expected, scale = values(kernel, X, pairs)
    i, j = np.array(pairs).T
    batch.compare(what, kernel(X)[i, j], expected, scale, tell=told(kernel, X, pairs))
    few = sorted(set(i.tolist()))
    rows = kernel([X[k] for k in few], X)
    batch.compare(what, rows[np.searchsorted(few, i), j], expected, scale, cases=0)
    batch.count(kernels=1, structures=len(X))


MANY = 25
"""Of so many batches one has a large collection."""


def of_kind(name: str, kind: str, make: Callable[[Random], Kernel], most: int = 9) -> None:
    """A check of a kernel that is no sum, product or wrap."""

    @check(name, "pairs", "kernels", "`tests/definitions`")
    def batch_of(batch: Batch) -> None:
        draw, kernel = Structures(batch.random, most), make(batch.random)
        if batch.number % MANY:
            compare(batch, name, kernel, draw.examples(kind, batch.random.choice([4, 10, 14])))
        else:
            compare_some(batch, name, kernel, draw.examples(kind, 200), 60)


of_kind("Subtree", "trees", subtree, 11)
of_kind("SubsetTree", "trees", subset_tree, 10)
of_kind("PartialTree", "trees", partial_tree, 8)
of_kind("Smoothed", "trees", smoothed, 7)
of_kind("Smoothed, all nodes", "trees", lambda random: smoothed(random).set_params(nodes="all"), 7)
of_kind("ForestKernel", "forests", forest_kernel)
of_kind("Tagging", "tagged", tagging)
of_kind("Locality", "sequences", locality)
of_kind("Subsequence", "sequences", subsequence)
of_kind("Linear", "vectors", linear)
of_kind("Polynomial", "vectors", polynomial)

KINDS = ["trees", "tagged", "sequences", "vectors", "rows"] * 3 + ["bags of trees", "bags of vectors"] * 2 + ["forests"]


def of_wrap(name: str, make: Callable[[Random, str, int], Any], kinds: list[str] = KINDS) -> None:
    """A check of something made of other kernels."""

    @check(name, "pairs", "sums, products and wraps", "`tests/definitions`")
    def batch_of(batch: Batch) -> None:
        kind = batch.random.choice(kinds)
        draw = Structures(batch.random, 6)
        kernel = make(batch.random, kind, batch.random.choice([0, 0, 1]))
        compare(batch, name, kernel, draw.examples(kind, batch.random.choice([4, 10, 12])))


of_wrap("Sum", summed)
of_wrap("Product", multiplied)
of_wrap("Scale", scaled)
of_wrap("Constant", constant)
of_wrap("Normalized", normalized)
of_wrap("Gaussian", gaussian)
of_wrap("PolynomialOf", power)
of_wrap("On", lambda random, kind, depth: atom(random, kind), ["rows"])
of_wrap("Bag", lambda random, kind, depth: atom(random, kind), ["bags of trees", "bags of vectors", "bags of tagged"])
of_wrap("Crossed", lambda random, kind, depth: crossed(random), ["rows"])
of_wrap("Distance", lambda random, kind, depth: made(random, kind, depth).distance())


# --- larger trees ---------------------------------------------------------------------------------------------------


@check("larger trees", "pairs", "kernels", "`experiments.pair_kernels`", least=20_000)
def larger_trees(batch: Batch) -> None:
    """Trees of up to 40 nodes, beside the papers' recursions over all pairs of nodes."""
    random = batch.random
    draw = Structures(random, random.choice([20, 40]))
    X = draw.examples("trees", 8)
    X = [tree for tree in X if tree is not None]
    leaves = random.random() < 0.3
    kernels = [
        subtree(random),
        tl.SubsetTree(decay(random), leaves=leaves),
        tl.PartialTree(decay(random), decay(random)),
        smoothed(random).set_params(leaves=True, nodes="all"),
    ]
    kernel = random.choice(kernels)
    alike = pair_kernels.equal
    if isinstance(kernel, tl.Smoothed):
        alike = reference.label_similarity(kernel.vectors, kernel.threshold, kernel.word)
    nodes = [pair_kernels.nodes_of(tree, leaves and isinstance(kernel, tl.SubsetTree)) for tree in X]
    pairs = [(i, j) for i in range(len(X)) for j in range(i + 1)]
    expected = [pair_kernels.recursion_value(kernel, nodes[i], nodes[j], alike) for i, j in pairs]
    i, j = np.array(pairs).T
    batch.compare(
        "ST, SST, PT and smoothed PT on larger trees",
        kernel(X)[i, j],
        expected,
        tell=lambda place: f"kernel = {kernel!r}\n  a, b = {[X[k] for k in pairs[place[0]]]}",
    )
    batch.count(kernels=1, structures=len(X))


# --- decays that are hardly there -----------------------------------------------------------------------------------


def exact_values(kernel: Any, X: list[Any], Y: list[Any]) -> list[list[Any]]:
    """Values as fractions: ties are ties."""
    lam = Fraction(kernel.lam)
    if isinstance(kernel, tl.Subtree):
        slow = lambda a, b: reference.subtree(a, b, lam)
    elif isinstance(kernel, tl.Tagging):
        slow = lambda a, b: reference.tagging(a, b, lam)
    else:
        slow = lambda a, b: reference.subset_tree(a, b, lam, kernel.max_depth, kernel.leaves)
    return [[Fraction(slow(a, b)) if a is not None and b is not None else Fraction(0) for b in Y] for a in X]


@check("smallest decays", "pairs", "kernels", "the definition in exact fractions", least=20_000)
def smallest_decays(batch: Batch) -> None:
    """Decays down to 1e-100: values that no float64 holds are normalized all the same."""
    random = batch.random
    lam, kind = 10 ** random.uniform(-100, -8), random.choice(["trees", "trees", "tagged"])
    trees = [tl.Subtree(lam), tl.SubsetTree(lam, random.choice([None, 1, 2]), random.random() < 0.4)]
    kernel: Any = tl.Tagging(lam) if kind == "tagged" else random.choice(trees)
    X = [example for example in Structures(random, 8).examples(kind, 8) if example is not None]
    K, n = exact_values(kernel, X, X), len(X)
    normal = np.array([[_cosine(K[i][j], K[i][i] * K[j][j]) for j in range(n)] for i in range(n)])
    lower = np.tril_indices(n)
    tell = lambda place: f"kernel = {kernel!r}; X = {X}; at {place}"
    found = kernel.normalized()(X)
    batch.compare("smallest decays, normalised", found[lower], normal[lower], tell=tell)
    own = np.diag(found)
    batch.compare("smallest decays, normalised", own, (own > 0).astype(float), close=0, cases=0, tell=tell)
    plain = np.array([[float(value) for value in row] for row in K])[lower]
    there = (plain == 0) | (plain > 1e-280)
    batch.compare("smallest decays", kernel(X)[lower][there], plain[there], tell=tell)
    batch.count(kernels=1, structures=n)


def _cosine(value: Fraction, squared: Fraction) -> float:
    return math.sqrt(value * value / squared) if squared else 0.0
