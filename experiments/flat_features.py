"""Flat features of parses, the baseline of reranking: no feature is larger than one production.

All candidates of a sentence have the same words, so n-grams of words carry no information. The features
are counts of productions, of adjacent labels under a parent, of pairs of parent and child, and of
adjacent tags in the sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from treelet.structures import Treebank

Feature = tuple[Any, ...]


def flat_features(banks: Sequence[Treebank]) -> list[Any]:
    """Sparse matrices of counts, one a bank, one row a tree, with the same columns.

    Every feature belongs to one node, whatever is above it: two neighboring tags to the lowest node over both. So the features of each
    distinct subtree are found once.

    >>> one, two = flat_features([Treebank(["(S (A a) (B b))"]), Treebank(["(S (A a) (B b))", "(S (A a))"])])
    >>> one.shape[1] == two.shape[1], float(one.sum()), two.sum(axis=1).ravel().tolist()
    (True, 9.0, [9.0, 5.0])
    """
    known: dict[Feature, int] = {}
    counted = [_counted(bank, known) for bank in banks]
    return [
        sp.csr_array(trees @ sp.csr_array((values, columns, starts), shape=(len(starts) - 1, len(known))))
        for trees, values, columns, starts in counted
    ]


def _counted(bank: Treebank, known: dict[Feature, int]) -> tuple[Any, Any, Any, Any]:
    """Trees x distinct subtrees, and the features at each of these, numbered as in `known`."""
    bank = bank.compact()
    store, weights = bank.columns.store, bank.weights()
    trees = sp.csr_array((weights.weight, weights.node, weights.start), shape=(len(bank), len(store)))
    names, label, child = store.labels, store.label.tolist(), store.child.tolist()
    ends = store.child_start.tolist()
    first, last = [""] * len(store), [""] * len(store)  # the tags at the margins of each subtree
    columns: list[int] = []
    starts = [0]
    for node, (begin, end) in enumerate(pairwise(ends)):
        below = child[begin:end]
        if below:
            own = names[label[node]]
            tag = all(ends[one] == ends[one + 1] for one in below)
            first[node], last[node] = (own, own) if tag else (first[below[0]], last[below[-1]])
            here = _features(own, [names[label[one]] for one in below], tag)
            if not tag:
                here += [("tags", last[left], first[right]) for left, right in pairwise(below)]
            columns += [known.setdefault(feature, len(known)) for feature in here]
        starts.append(len(columns))
    return trees, np.ones(len(columns)), np.array(columns, np.int64), np.array(starts, np.int64)


def _features(own: str, below: list[str], tag: bool) -> list[Feature]:
    found: list[Feature] = [("production", own, *below)]
    if not tag:
        found += [("below", own, one) for one in below]
        found += [("beside", own, left, right) for left, right in pairwise(["", *below, ""])]
    return found
