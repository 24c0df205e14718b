"""Tree kernels of one pair of trees at a time, as reference: the recursions of the papers in Python, and a C++ program.

The recursions run over all pairs of nodes. They are slow, but work for trees whose fragments are too many to list. ST and
SST are defined by Collins & Duffy (2001), section 3, PT by Moschitti (2006), eq. 3, and smoothed PT by Croce, Moschitti &
Basili (2011). The sums over subsequences of children are computed length by length.

The program `pair_kernels.cpp` computes the same kernels with the fast algorithms of Moschitti (2006) and measures their time.
It is compiled when it is needed. Smoothed PT compares all pairs of nodes.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treelet.errors import ParameterError
from treelet.kernels import PartialTree, Smoothed, SubsetTree, Subtree
from treelet.structures import Tree, Treebank

PairKernel = Subtree | SubsetTree | PartialTree
Floats = NDArray[np.float64]

# --- Recursions over all pairs of nodes -----------------------------------------------------------------------------


class NodeLists(NamedTuple):
    """The nodes of a tree as lists, children before parents."""

    labels: list[str]
    productions: list[tuple[str, ...] | None]
    children: list[list[int]]


def nodes_of(tree: Tree, leaves: bool = False) -> NodeLists:
    """Return a tree as lists. A word has no production; with `leaves`, equal words have the same production."""
    labels: list[str] = []
    productions: list[tuple[str, ...] | None] = []
    children: list[list[int]] = []
    roots: list[int] = []  # finished subtrees that have no parent yet
    for node in reversed(list(tree.nodes())):
        below = [roots.pop() for _ in node.children]
        roots.append(len(labels))
        labels.append(node.label)
        childless = (node.label,) if leaves else None
        productions.append((node.label, *(child.label for child in node.children)) if node.children else childless)
        children.append(below)
    return NodeLists(labels, productions, children)


def equal(first: str, second: str) -> float:
    return float(first == second)


def recursion_value(
    kernel: PairKernel, a: NodeLists, b: NodeLists, similarity: Callable[[str, str], float] = equal
) -> float:
    """Return the value of a kernel by its recursion over all pairs of nodes, each computed once.

    The kernel must not have a ``max_depth``, and must treat words as by default. SST can also have leaves, if the lists have them.
    Smoothed PT uses the similarity of labels, and compares all nodes.

    >>> from treelet import SubsetTree, Tree
    >>> tree = nodes_of(Tree.parse("(S (A x) (A x))"))
    >>> recursion_value(SubsetTree(lam=1.0), tree, tree) == SubsetTree(lam=1.0)(["(S (A x) (A x))"])[0, 0] == 8
    np.True_
    """
    delta: list[list[float]] = []  # Delta of each pair of nodes so far
    total = 0.0
    for i in range(len(a.labels)):
        row: list[float] = []
        delta.append(row)
        for j in range(len(b.labels)):
            row.append(_delta(kernel, a, b, i, j, delta, similarity))
            total += row[-1]
    return total


def _delta(
    kernel: PairKernel,
    a: NodeLists,
    b: NodeLists,
    i: int,
    j: int,
    delta: list[list[float]],
    similarity: Callable[[str, str], float],
) -> float:
    """Return Delta of two nodes, from those of their children."""
    if isinstance(kernel, PartialTree):
        sigma = similarity(a.labels[i], b.labels[j])
        return sigma * _partial_tree(kernel, a, b, i, j, delta) if sigma else 0.0
    if a.productions[i] is None or a.productions[i] != b.productions[j]:
        return 0.0
    value = kernel.lam
    for c, d in zip(a.children[i], b.children[j], strict=True):
        if isinstance(kernel, SubsetTree):
            value *= 1 + delta[c][d]
        elif a.children[c] or b.children[d]:  # otherwise the same word in both trees
            value *= delta[c][d]
    return value


def _partial_tree(kernel: PartialTree, a: NodeLists, b: NodeLists, i: int, j: int, delta: list[list[float]]) -> float:
    lam, left, right = kernel.lam, a.children[i], b.children[j]
    if not left or not right:
        return kernel.mu * lam * lam * kernel.terminal_factor
    total = lam * lam
    # Sums over pairs of subsequences that are one child shorter, by the positions at which they end.
    before = [[1.0] * (len(right) + 1)] * (len(left) + 1)
    for _ in range(min(len(left), len(right))):
        sums = [[0.0] * (len(right) + 1)]
        for k, c in enumerate(left):
            line = [0.0]
            for m, d in enumerate(right):
                matched = delta[c][d] * before[k][m]
                total += matched
                line.append(matched + lam * line[m] + lam * sums[k][m + 1] - lam * lam * sums[k][m])
            sums.append(line)
        before = sums
    return kernel.mu * total


# --- The C++ program ------------------------------------------------------------------------------------------------

COMPILER = "c++"
COMPILER_OPTIONS = ("-std=c++20", "-O3", "-march=native")
METHODS = ("fast", "labels", "sorting", "naive")
"""Pairs of nodes with the same production (PT: label); with the same label; the first, with lists sorted each time; all pairs."""


def compile_program(folder: Path) -> Path:
    """Compile the program into a folder."""
    if shutil.which(COMPILER) is None:
        raise ParameterError(
            f"The C++ compiler {COMPILER} was not found. Install it: this experiment compiles a program for pairs of trees."
        )
    program = folder / "pair_kernels"
    subprocess.run([COMPILER, *COMPILER_OPTIONS, "-o", program, Path(__file__).with_suffix(".cpp")], check=True)
    return program


def time_pairs(
    program: Path, kernel: PairKernel, trees: Sequence[Tree], method: str, *, repeats: int, blocks: int = 0
) -> tuple[Floats, float, Floats]:
    """Run the program. Return the kernel matrix, the number of node pairs per pair of trees, and the times.

    With `blocks`, all pairs are computed, and the times are microseconds per pair: repeats x rows x blocks of columns.
    Without, each pair is computed once, and the times are total CPU seconds, one per repeat.
    """
    # The program reads numbers; equal labels and equal productions have equal numbers.
    labels: dict[str, int] = {}
    productions: dict[tuple[str, ...] | None, int] = {None: -1}
    numbers = [len(trees)]
    for tree in trees:
        nodes = nodes_of(tree)
        numbers.append(len(nodes.labels))
        numbers += [labels.setdefault(label, len(labels)) for label in nodes.labels]
        numbers += [productions.setdefault(production, len(productions)) for production in nodes.productions]
        numbers += np.cumsum([0, *map(len, nodes.children)]).tolist()
        numbers += [child for below in nodes.children for child in below]
    similarities = np.zeros(0)
    if isinstance(kernel, Smoothed):
        bank = Treebank(trees)
        start, near, sigma = kernel._similar_labels(bank.columns.store)
        number = np.array([labels[label] for label in bank.columns.store.labels])
        rows = np.repeat(number, np.diff(start))
        order = np.lexsort((number[near], rows))
        first = np.cumsum([0, *np.bincount(rows, minlength=len(labels))])
        numbers += [len(labels), *first.tolist(), *number[near][order].tolist()]
        similarities = sigma[order]
    source, target = program.with_suffix(".trees"), program.with_suffix(".values")
    source.write_bytes(np.array(numbers, np.int32).tobytes() + similarities.tobytes())
    name = {Subtree: "st", SubsetTree: "sst", PartialTree: "pt", Smoothed: "sptk"}[type(kernel)]
    mu: Any = getattr(kernel, "mu", 1.0)
    arguments = [name, method, repr(float(kernel.lam)), repr(float(mu)), str(repeats), str(blocks)]
    subprocess.run([program, source, target, *arguments], check=True)
    output = np.fromfile(target)  # node pairs, n x n values, times
    n = len(trees)
    values, times = output[1 : 1 + n * n].reshape(n, n), output[1 + n * n :]
    if not blocks:
        return np.tril(values) + np.tril(values, -1).T, float(output[0]), times
    return values, float(output[0]), times.reshape(repeats, n, blocks)
