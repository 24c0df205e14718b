"""Time against tree size (figure 4 of Moschitti 2006): trees of exactly n nodes, our kernels and a naive algorithm.

The naive algorithm (`treelet.testing.recursions`) looks at every pair of nodes. It is plain Python, so that its times
say something by their growth only.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from treelet.errors import ParameterError
from treelet.gram import gram
from treelet.kernels import PartialTree, SubsetTree, Subtree
from treelet.structures import Tree, Treebank
from treelet.testing.recursions import nodes_of, value

KINDS: dict[str, Subtree | SubsetTree | PartialTree] = {
    "ST": Subtree(lam=1.0),
    "SST": SubsetTree(lam=0.4),
    "PT": PartialTree(lam=0.8, mu=0.4),
}
"""The kernels that are timed, with what the paper found best."""

# --- trees ------------------------------------------------------------------------------------------------------


def trees_of_size(trees: Sequence[Tree], sizes: Sequence[int], number: int, seed: int = 0) -> dict[int, list[Tree]]:
    """For each size, so many different places in a treebank that have exactly that many nodes below, themselves counted.

    Parameters
    ----------
    trees : sequence of Tree
        Complete trees. Every node is a place, with all that is below it; words are nodes.
    sizes : sequence of int
        How many nodes.
    number : int
        How many trees of each size. Where there are fewer places, the size is an error.
    seed : int
        Which of the places, at random.
    """
    places: dict[int, list[Tree]] = {size: [] for size in sizes}
    for tree in trees:
        counts: list[int] = []
        for node in reversed(list(tree.nodes())):  # children before parents, the first child on top
            count = 1 + sum(counts.pop() for _ in node.children)
            counts.append(count)
            if count in places:
                places[count].append(node)
    rng = np.random.default_rng(seed)
    chosen = {}
    for size in sizes:
        if len(places[size]) < number:
            raise ParameterError(
                f"there are only {len(places[size])} constituents of exactly {size} nodes, not {number}"
            )
        chosen[size] = [places[size][k] for k in rng.choice(len(places[size]), number, replace=False)]
    return chosen


# --- times ------------------------------------------------------------------------------------------------------


def measure(
    trees: Sequence[Tree],
    *,
    sizes: Sequence[int],
    number: int = 500,
    pairs: int = 200,
    seed: int = 0,
    say: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """CPU time a pair of trees, in microseconds, for each size and kernel.

    Parameters
    ----------
    trees : sequence of Tree
        Where constituents are taken from.
    sizes : sequence of int
        Numbers of nodes.
    number : int
        Trees of each size.
    pairs : int
        How many pairs are given to the naive algorithm, and to ours one at a time.
    seed : int
        For the choice of trees and pairs.
    say : callable
        Told how far it is.
    """
    rng = np.random.default_rng(seed)
    points = []
    for size, chosen in trees_of_size(trees, sizes, number, seed).items():
        bank = Treebank(chosen)
        some = [(int(i), int(j)) for i, j in rng.integers(0, number, (pairs, 2))]
        lists = {k: nodes_of(chosen[k]) for pair in some for k in pair}
        single = {k: Treebank([chosen[k]]) for k in lists}
        point: dict[str, Any] = {"nodes": size} | alike(chosen)
        for kind, kernel in KINDS.items():
            K: Any = None
            seconds = []
            for _ in range(5):
                begin = time.process_time()
                K = gram(kernel, bank, bank, n_jobs=1)
                seconds.append(time.process_time() - begin)
            point[f"{kind} matrix"] = 1e6 * min(seconds) / number**2
            begin = time.process_time()
            for i, j in some:
                kernel(single[i], single[j])
            point[f"{kind} single"] = 1e6 * (time.process_time() - begin) / pairs
            begin = time.process_time()
            values = [value(kernel, lists[i], lists[j]) for i, j in some]
            point[f"{kind} naive"] = 1e6 * (time.process_time() - begin) / pairs
            ours = np.array([K[i, j] for i, j in some])
            if not np.allclose(values, ours, rtol=1e-9):
                raise ArithmeticError(f"the naive algorithm and {kernel!r} differ for trees of {size} nodes")
        points.append(point)
        say(
            f"    {size} nodes, microseconds a pair: "
            + ", ".join(f"{kind} {point[f'{kind} matrix']:.2f} (naive {point[f'{kind} naive']:.0f})" for kind in KINDS)
        )
    names = [name for name in points[0] if name != "nodes"]
    return {
        "trees": number,
        "pairs": number**2,
        "naive_pairs": pairs,
        "points": points,
        "slopes": {name: slope([p["nodes"] for p in points], [p[name] for p in points]) for name in names},
    }


def alike(trees: Sequence[Tree]) -> dict[str, float]:
    """How many pairs of nodes two trees have, on average, with one production, and with one label."""
    labels: Counter[str] = Counter()
    productions: Counter[tuple[str, ...]] = Counter()
    for tree in trees:
        lists = nodes_of(tree)
        labels.update(lists.labels)
        productions.update(production for production in lists.productions if production is not None)
    counts = {"one production": productions.values(), "one label": labels.values()}
    return {name: sum(n * n for n in found) / len(trees) ** 2 for name, found in counts.items()}


def slope(sizes: Sequence[float], times: Sequence[float]) -> float:
    """The exponent p of time ~ size^p, by least squares on the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])
