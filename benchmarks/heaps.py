"""Heaps' law: how many distinct subtrees N trees have, fitted as a·N^b on the staged corpora and on generated trees."""

from __future__ import annotations

from typing import Any

import numpy as np

import treelet as tl
from benchmarks.corpora import FILES, staged

FIRST, POINTS = 100, 25  # the smallest number of trees that is fitted to, and how many numbers


def growth(bank: tl.Treebank, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of trees, drawn in random order, and of the distinct subtrees that they have, words left out."""
    weights, n = bank.weights(), len(bank)
    rank = np.random.default_rng(seed).permutation(n)
    first = np.full(len(bank.columns.store), n)
    np.minimum.at(first, weights.node, np.repeat(rank, np.diff(weights.start)))
    known = np.bincount(first[bank.columns.store.production >= 0], minlength=n + 1)[:n]
    sizes = np.unique(np.geomspace(FIRST, n, POINTS).astype(int))
    return sizes, np.cumsum(known)[sizes - 1]


def fit(bank: tl.Treebank) -> dict[str, Any]:
    """a and b by least squares on logarithms, and how far off the curve is."""
    sizes, distinct = growth(bank)
    b, log_a = np.polyfit(np.log(sizes), np.log(distinct), 1)
    off = distinct / np.exp(log_a + b * np.log(sizes)) - 1
    late = len(sizes) // 2
    stats = bank.stats()
    return {
        "trees": len(bank), "nodes_a_tree": (stats.nodes + stats.words) / len(bank), "distinct": int(distinct[-1]), "a": float(np.exp(log_a)), "b": float(b),
        "b_late": float(np.polyfit(np.log(sizes[late:]), np.log(distinct[late:]), 1)[0]), "off": float(np.abs(off).max()),
        "sizes": sizes.tolist(), "found": distinct.tolist(), "residuals": off.tolist(),
    }  # fmt: skip


def fits() -> list[dict[str, Any]]:
    """All corpora, all of them together, and trees drawn from the grammar of one."""
    found = [{"corpus": name, **fit(staged(name))} for name in (*FILES, "all")]
    drawn = tl.PCFG.from_treebank(staged("WSJ")).sample(57_268)
    return [*found, {"corpus": "drawn from WSJ's grammar", **fit(drawn)}]
