"""How often fragments occur in the trees of a bank: all of them at once, each distinct subtree being looked at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from treelet.explain.sides import WORD
from treelet.kernels import Kernel, PartialTree, Subtree
from treelet.structures import Tree, Treebank
from treelet.structures.bank import Bank

Ids = NDArray[np.int64]


def roots_in(fragments: Sequence[Tree], kernel: Kernel, bank: Bank[Any]) -> sp.csr_array:
    """The matrix of tree x fragment: at how many nodes of the tree the fragment is rooted.

    Of ST and SST that is how often it occurs; a partial tree may occur at one node more than once.
    """
    weights, store = bank.weights(), bank.columns.store
    counts = sp.csr_array((weights.weight, weights.node, weights.start), shape=(len(bank), len(store)))
    columns, rows = [], []
    for column, nodes in enumerate(_Matcher(kernel, bank).matches(fragments)):
        columns.append(np.full(len(nodes), column))
        rows.append(nodes)
    where = np.concatenate(rows or [np.empty(0, np.int64)]), np.concatenate(columns or [np.empty(0, np.int64)])
    return sp.csr_array(counts @ sp.csr_array((np.ones(len(where[0])), where), shape=(len(store), len(fragments))))


class _Matcher:
    """The distinct subtrees of a bank by what a fragment can begin with: a production, or a label."""

    def __init__(self, kernel: Kernel, bank: Bank[Any]) -> None:
        self.kernel, self.store, self.roots = kernel, bank.columns.store, bank.columns.roots
        self.there = len(self.store)
        self.start = self.store.child_start
        self.child = self.store.child
        self.marked = np.zeros(self.there, bool)
        by = self.store.label if isinstance(kernel, PartialTree) else self.store.production
        self.order = np.argsort(by, kind="stable")
        self.sorted = by[self.order]

    def matches(self, fragments: Sequence[Tree]) -> Iterator[Ids]:
        """For each fragment the subtrees that it is the top of, by their numbers."""
        grown, roots = self.store.grown(*Treebank([_without_mark(tree) for tree in fragments]).columns)
        if isinstance(self.kernel, Subtree):
            for root in roots.tolist():
                yield np.array([root] if root < self.there else [], np.int64)
            return
        begin, children = grown.child_start, grown.child
        kinds = grown.label if isinstance(self.kernel, PartialTree) else grown.production
        known: dict[int, Ids] = {}
        for root in roots.tolist():
            if kinds[root] < 0:  # a word alone, which SubsetTree(leaves=True) knows
                yield np.flatnonzero((self.store.label == grown.label[root]) & (self.store.production < 0))
                continue
            below = [root]
            for node in below:
                below.extend(children[begin[node] : begin[node + 1]].tolist())
            for node in sorted(set(below)):  # children have smaller numbers
                if node not in known and kinds[node] >= 0:
                    kids = [known.get(kid) for kid in children[begin[node] : begin[node + 1]].tolist()]
                    low, high = np.searchsorted(self.sorted, [kinds[node], kinds[node] + 1])
                    there = self.order[low:high]
                    known[node] = (
                        self._some(there, kids) if isinstance(self.kernel, PartialTree) else self._all(there, kids)
                    )
            yield known[root]

    def _all(self, there: Ids, kids: list[Ids | None]) -> Ids:
        """Those whose children, one by one, match; None is a child that is not expanded."""
        for place, wanted in enumerate(kids):
            if wanted is not None:
                there = there[self._among(wanted, self.child[self.start[there] + place])]
        return there

    def _some(self, there: Ids, kids: list[Ids | None]) -> Ids:
        """Those that have matching children in that order: the first that fits is taken each time."""
        at, ends = self.start[there], self.start[there + 1]
        for wanted in kids:
            assert wanted is not None
            fits = np.zeros(len(there), bool)
            while (open_ := np.flatnonzero(~fits & (at < ends))).size:
                fits[open_] = self._among(wanted, self.child[at[open_]])
                at[open_] += 1
            there, at, ends = there[fits], at[fits], ends[fits]
        return there

    def _among(self, wanted: Ids, nodes: Any) -> NDArray[np.bool_]:
        self.marked[wanted] = True
        found: NDArray[np.bool_] = self.marked[nodes]
        self.marked[wanted] = False
        return found


def _without_mark(tree: Tree) -> Tree:
    """A fragment of `SubsetTree(leaves=True)` without what stands below a word that it expands."""
    order = [tree]
    for node in order:
        order.extend(node.children)
    if not any(node.label == WORD for node in order):
        return tree
    built: dict[int, Tree] = {}
    for node in reversed(order):
        kids = [built[id(child)] for child in node.children if child.label != WORD or child.children]
        built[id(node)] = Tree(node.label, kids)
    return built[id(tree)]
