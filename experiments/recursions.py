"""The papers' recursions over all pairs of nodes, in plain Python: slow, but for trees too large to list fragments of.

ST and SST: Collins & Duffy (2001), section 3; PT: Moschitti (2006), eq. 3, with the sums over subsequences of children
taken length by length.
"""

from __future__ import annotations

from typing import NamedTuple

from treelet.kernels import PartialTree, SubsetTree, Subtree
from treelet.structures import Tree

Table = list[list[float]]


class NodeLists(NamedTuple):
    """The nodes of a tree as lists, children before parents."""

    labels: list[str]
    productions: list[tuple[str, ...] | None]
    children: list[list[int]]


def nodes_of(tree: Tree, leaves: bool = False) -> NodeLists:
    """A tree as lists; a word has no production, or with `leaves` one that all words of its label share."""
    labels: list[str] = []
    productions: list[tuple[str, ...] | None] = []
    children: list[list[int]] = []
    waiting: list[int] = []
    for node in reversed(list(tree.nodes())):
        below = [waiting.pop() for _ in node.children]
        waiting.append(len(labels))
        labels.append(node.label)
        childless = (node.label,) if leaves else None
        productions.append((node.label, *(child.label for child in node.children)) if node.children else childless)
        children.append(below)
    return NodeLists(labels, productions, children)


def value(kernel: Subtree | SubsetTree | PartialTree, a: NodeLists, b: NodeLists) -> float:
    """A kernel's value by its recursion over all pairs of nodes, each worked out once.

    Without ``max_depth``, and with all words counted as the kernel does by default; SST also with leaves, if `nodes_of` has them.

    >>> from treelet import SubsetTree, Tree
    >>> tree = nodes_of(Tree.parse("(S (A x) (A x))"))
    >>> value(SubsetTree(lam=1.0), tree, tree) == SubsetTree(lam=1.0)(["(S (A x) (A x))"])[0, 0] == 8
    np.True_
    """
    table: Table = []
    total = 0.0
    for i in range(len(a.labels)):
        row: list[float] = []
        table.append(row)
        for j in range(len(b.labels)):
            row.append(_delta(kernel, a, b, i, j, table))
            total += row[-1]
    return total


def _delta(
    kernel: Subtree | SubsetTree | PartialTree, a: NodeLists, b: NodeLists, i: int, j: int, table: Table
) -> float:
    if isinstance(kernel, PartialTree):
        return _partial_tree(a, b, i, j, table, kernel.lam, kernel.mu, kernel.terminal_factor)
    return (_subtree if isinstance(kernel, Subtree) else _subset_tree)(a, b, i, j, table, kernel.lam)


def _subtree(a: NodeLists, b: NodeLists, i: int, j: int, table: Table, lam: float) -> float:
    if a.productions[i] is None or a.productions[i] != b.productions[j]:
        return 0.0
    value = lam
    for c, d in zip(a.children[i], b.children[j], strict=True):
        if a.children[c] or b.children[d]:  # else one word, in both
            value *= table[c][d]
    return value


def _subset_tree(a: NodeLists, b: NodeLists, i: int, j: int, table: Table, lam: float) -> float:
    if a.productions[i] is None or a.productions[i] != b.productions[j]:
        return 0.0
    value = lam
    for c, d in zip(a.children[i], b.children[j], strict=True):
        value *= 1 + table[c][d]
    return value


def _partial_tree(
    a: NodeLists, b: NodeLists, i: int, j: int, table: Table, lam: float, mu: float, terminal_factor: float
) -> float:
    if a.labels[i] != b.labels[j]:
        return 0.0
    left, right = a.children[i], b.children[j]
    if not left or not right:
        return mu * lam * lam * terminal_factor
    total = lam * lam
    before = [[1.0] * (len(right) + 1)] * (len(left) + 1)  # of subsequences that are one shorter: by where they end
    for _ in range(min(len(left), len(right))):
        sums = [[0.0] * (len(right) + 1)]
        for k, c in enumerate(left):
            line = [0.0]
            for m, d in enumerate(right):
                met = table[c][d] * before[k][m]
                total += met
                line.append(met + lam * line[m] + lam * sums[k][m + 1] - lam * lam * sums[k][m])
            sums.append(line)
        before = sums
    return mu * total
