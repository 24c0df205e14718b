"""
treelet's native core: hash-consed trees and the loops over their nodes.
"""

from collections.abc import Sequence
from typing import Annotated, Any, overload

import numpy
from numpy.typing import NDArray


class InputError(ValueError):
    pass

compiler: str = '12.2.0'

sanitized: bool = False

optimized: bool = True

class Store:
    """
    Hash-consed subtrees: equal ones are one node, children come before parents.
    """

    def __init__(self) -> None: ...

    def __len__(self) -> int: ...

    @property
    def labels(self) -> list[str]: ...

    @property
    def texts(self) -> tuple[Annotated[NDArray[numpy.uint8], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]:
        """All labels in UTF-8, one after the other, and where each ends."""

    @property
    def child_count(self) -> int: ...

    def grown(self, other: Store, roots: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Store, Annotated[NDArray[numpy.int32], dict(shape=(None,))]]:
        """
        A store over this one that also holds other's parts below roots, and those roots in it. Nothing is copied.
        """

    def ordered(self, roots: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Store, Annotated[NDArray[numpy.int32], dict(shape=(None,))]] | None:
        """
        A store whose numbers follow from what the roots are alone, and the roots in it; None if the numbers here rise likewise.
        """

    @staticmethod
    def joined(stores: Sequence[Store], roots: Sequence[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]]) -> tuple[Store, Annotated[NDArray[numpy.int32], dict(shape=(None,))]]:
        """
        One store of the parts below the roots of several, and all those roots in it.
        """

    @property
    def label(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    @property
    def child_start(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

    @property
    def child(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    @property
    def production(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    @property
    def height(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    @property
    def productions_below(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @staticmethod
    def from_columns(labels: Sequence[str], label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], child_start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], child: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Store: ...

    @property
    def whole(self) -> bool:
        """Whether the store does not extend another store."""

    def arrays(self) -> list[Any]:
        """The content as arrays, which are views and cannot be written to."""

    @staticmethod
    def from_arrays(arrays: list[Any]) -> Store:
        """
        Views the arrays of another object without a copy and without reading them, and keeps them alive. Their content is trusted: compare the checksums of a file first.
        """

    @staticmethod
    def as_it_was(texts: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], text_end: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], child_start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], child: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], production: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Store:
        """
        A store again, from its own columns: that everything is there once is taken at its word.
        """

class Stop:
    """A flag that ends long work in the threads that watch it."""

    def __init__(self) -> None: ...

    def set(self) -> None: ...

def watch(stop: Stop) -> None:
    """Let this thread's long work end when the flag is set."""

def check() -> None:
    """
    Raise an error if this thread's work is to end. For long loops in Python.
    """

def post_order(parent: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))]]:
    """
    Trees given by the parent of each node, counted within its tree (-1: the root): the nodes, children before parents, and how many children each has.
    """

def in_brackets(store: Store, root: int) -> str:
    """Write a tree in brackets on one line."""

def children_first(arity: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))], int]:
    """
    Trees written down parents before children, by how many children each node has (-1 - k: node k again): the nodes, children before parents, how many children each has, and the first tree that is none, or -1.
    """

def build(labels: Sequence[str], label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], arity: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Store, Annotated[NDArray[numpy.int32], dict(shape=(None,))]]: ...

class BracketReader:
    """
    Reads bracketed trees from chunks of bytes. For one thread at a time; others are refused.
    """

    def __init__(self, drop_empty: bool = False, drop_function_tags: bool = False, root: str = '') -> None: ...

    def feed(self, bytes: bytes, most: int | None = None) -> int:
        """Takes bytes until there are so many trees, and says how many it took."""

    def move_to(self, line: int, column: int) -> None: ...

    def abandon(self, trees: int) -> None: ...

    @property
    def open_at(self) -> tuple[int, int]: ...

    @property
    def lines(self) -> tuple[int, int, int, int]:
        """
        Trees in a line from its beginning; trees within which a line begins with '('; the first such line; where its tree began.
        """

    def finish(self) -> None: ...

    @property
    def trees(self) -> int: ...

    def result(self) -> tuple[Store, Annotated[NDArray[numpy.int32], dict(shape=(None,))]]: ...

class NodeWeights:
    """A sparse matrix of tree x distinct subtree."""

    @overload
    @staticmethod
    def count(store: Store, roots: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NodeWeights: ...

    @overload
    @staticmethod
    def count(store: ForestStore, roots: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NodeWeights:
        """How often each tree, or forest, holds each distinct part of it."""

    @overload
    @staticmethod
    def spread(store: Store, roots: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], at_roots: NodeWeights) -> NodeWeights: ...

    @overload
    @staticmethod
    def spread(store: ForestStore, roots: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], at_roots: NodeWeights) -> NodeWeights:
        """Weights of whole trees, as weights of all their parts."""

    @staticmethod
    def of(start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], node: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NodeWeights: ...

    def arrays(self) -> list[Any]:
        """The content as arrays, which are views and cannot be written to."""

    @staticmethod
    def from_arrays(arrays: list[Any]) -> NodeWeights:
        """
        Views the arrays of another object without a copy and without reading them, and keeps them alive. Their content is trusted: compare the checksums of a file first.
        """

    def take(self, order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NodeWeights:
        """The given rows, in the given order."""

    def merged(self, order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], coefficients: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)]) -> NodeWeights:
        """Weighted sums of the given rows, one per row of coefficients."""

    def __len__(self) -> int: ...

    @property
    def entries(self) -> int: ...

    @property
    def start(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

    @property
    def node(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    @property
    def weight(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

@overload
def smo(K: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)], diagonal: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], low: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], high: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], tube: float, fixed_sum: bool, b: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], gradient: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], tol: float, max_steps: int) -> tuple[int, float]: ...

@overload
def smo(K: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], diagonal: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], low: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], high: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], tube: float, fixed_sum: bool, b: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], gradient: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], tol: float, max_steps: int) -> tuple[int, float]:
    """
    Improve a solution on a block of a kernel matrix, in place. Returns the numbers of steps and the gap.
    """

class Similar:
    """
    Which labels are alike, and how much: rows of a sparse matrix over labels.
    """

    @staticmethod
    def of(start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], sigma: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], inner: bool) -> Similar: ...

class SubtreeColumns:
    """Columns of a subtree-kernel matrix."""

    def __init__(self, store: Store, weights: NodeWeights, scaled: bool, lam: float) -> None: ...

    @overload
    def rows(self, store: Store, trees: NodeWeights, limit: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, begin: int, end: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], most_stored: int | None = None) -> tuple[int, int] | None: ...

    @overload
    def rows(self, store: Store, trees: NodeWeights, limit: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, begin: int, end: int, out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu')], most_stored: int | None = None) -> tuple[int, int] | None: ...

    def add(self, trees: NodeWeights, row: int, scale: float) -> None: ...

    @staticmethod
    def self_values(store: Store, trees: NodeWeights, logs: bool, lam: float) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @staticmethod
    def gradient(store: Store, trees: NodeWeights, targets: NodeWeights, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], by_lam: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], by_mu: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], lam: float) -> tuple[int, int] | None: ...

    @staticmethod
    def estimate(store: Store, weights: NodeWeights, lam: float) -> tuple[int, int]:
        """
        Bytes that the index will have, at most, and that a thread needs beside it; both before it is made.
        """

    @property
    def bytes(self) -> int: ...

    def arrays(self) -> list[Any]:
        """The content as arrays, which are views and cannot be written to."""

    @staticmethod
    def from_arrays(store: Store, arrays: list[Any], lam: float) -> SubtreeColumns:
        """
        Views the arrays of another object without a copy and without reading them, and keeps them alive. Their content is trusted: compare the checksums of a file first.
        """

class SubsetTreeColumns:
    """Columns of a subset-tree-kernel matrix."""

    def __init__(self, store: Store, weights: NodeWeights, scaled: bool, lam: float, max_depth: int, leaves: bool) -> None: ...

    @overload
    def rows(self, store: Store, trees: NodeWeights, limit: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, begin: int, end: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], most_stored: int | None = None) -> tuple[int, int] | None: ...

    @overload
    def rows(self, store: Store, trees: NodeWeights, limit: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, begin: int, end: int, out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu')], most_stored: int | None = None) -> tuple[int, int] | None: ...

    def add(self, trees: NodeWeights, row: int, scale: float) -> None: ...

    @staticmethod
    def self_values(store: Store, trees: NodeWeights, logs: bool, lam: float, max_depth: int, leaves: bool) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @staticmethod
    def gradient(store: Store, trees: NodeWeights, targets: NodeWeights, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], by_lam: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], by_mu: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], lam: float, max_depth: int, leaves: bool) -> tuple[int, int] | None: ...

    @staticmethod
    def estimate(store: Store, weights: NodeWeights, lam: float, max_depth: int, leaves: bool) -> tuple[int, int]:
        """
        Bytes that the index will have, at most, and that a thread needs beside it; both before it is made.
        """

    @property
    def bytes(self) -> int: ...

    def arrays(self) -> list[Any]:
        """The content as arrays, which are views and cannot be written to."""

    @staticmethod
    def from_arrays(store: Store, arrays: list[Any], lam: float, max_depth: int, leaves: bool) -> SubsetTreeColumns:
        """
        Views the arrays of another object without a copy and without reading them, and keeps them alive. Their content is trusted: compare the checksums of a file first.
        """

class PartialTreeColumns:
    """Columns of a partial-tree-kernel matrix."""

    def __init__(self, store: Store, weights: NodeWeights, scaled: bool, lam: float, mu: float, leaves: bool, terminal: float, similar: Similar | None) -> None: ...

    @overload
    def rows(self, store: Store, trees: NodeWeights, limit: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, begin: int, end: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], most_stored: int | None = None) -> tuple[int, int] | None: ...

    @overload
    def rows(self, store: Store, trees: NodeWeights, limit: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, begin: int, end: int, out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu')], most_stored: int | None = None) -> tuple[int, int] | None: ...

    def add(self, trees: NodeWeights, row: int, scale: float) -> None: ...

    @staticmethod
    def self_values(store: Store, trees: NodeWeights, logs: bool, lam: float, mu: float, leaves: bool, terminal: float, similar: Similar | None) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @staticmethod
    def gradient(store: Store, trees: NodeWeights, targets: NodeWeights, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], by_lam: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], by_mu: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], lam: float, mu: float, leaves: bool, terminal: float, similar: Similar | None) -> tuple[int, int] | None: ...

    @staticmethod
    def estimate(store: Store, weights: NodeWeights, lam: float, mu: float, leaves: bool, terminal: float, similar: Similar | None) -> tuple[int, int]:
        """
        Bytes that the index will have, at most, and that a thread needs beside it; both before it is made.
        """

    @property
    def bytes(self) -> int: ...

    def arrays(self) -> list[Any]:
        """The content as arrays, which are views and cannot be written to."""

    @staticmethod
    def from_arrays(store: Store, arrays: list[Any], lam: float, mu: float, leaves: bool, terminal: float, similar: Similar | None) -> PartialTreeColumns:
        """
        Views the arrays of another object without a copy and without reading them, and keeps them alive. Their content is trusted: compare the checksums of a file first.
        """

class EditCosts:
    """Costs of edit operations on nodes."""

    @staticmethod
    def of(insert: float, remove: float, rename: float, inserts: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], removes: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], row: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], column: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], renames: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> EditCosts: ...

    @property
    def integral(self) -> bool:
        """Whether all costs are integers that do not depend on labels."""

class EditColumns:
    """Columns of a matrix of tree edit distances."""

    def __init__(self, store: Store, roots: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], costs: EditCosts, searched: bool) -> None: ...

    def rows(self, store: Store, roots: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], halves: bool, begin: int, end: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], similarity: bool, threshold: float, best: int, memory: float = float('inf'), free: float = float('inf'), skips: bool = False) -> list[tuple[int, int]]: ...

    def arrays(self) -> list[Any]:
        """The content as arrays, which are views and cannot be written to."""

    @staticmethod
    def from_arrays(store: Store, arrays: list[Any], costs: EditCosts) -> EditColumns:
        """
        Views the arrays of another object without a copy and without reading them, and keeps them alive. Their content is trusted: compare the checksums of a file first.
        """

    @property
    def counts(self) -> tuple[int, int, int, int, int]:
        """
        How many pairs there were, how many each filter left over, and how many matched.
        """

def tree_sizes(store: Store, roots: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))]]:
    """
    Number of nodes of each tree, and sums of the sizes of the keyroot subtrees from the left and from the right.
    """

def edit_mapping(store: Store, a: int, b: int, costs: EditCosts) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))]]:
    """The mapped pairs of an optimal mapping, as positions in pre-order."""

class FragmentMatcher:
    """Counts given fragments in trees."""

    def __init__(self, patterns: Store, roots: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], factor: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], kind: str, leaves: bool, lam: float) -> None: ...

    def rows(self, store: Store, trees: NodeWeights, factor: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], begin: int, end: int, unit: bool = False) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))]]:
        """Starts of rows, columns and values."""

class Forest:
    """
    A packed forest: nodes in topological order, hyper-edges grouped by head.
    """

    @property
    def root(self) -> int: ...

    @property
    def labels(self) -> list[str]: ...

    @property
    def label(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    @property
    def begin(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    @property
    def end(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    @property
    def edge_start(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

    @property
    def tail_start(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

    @property
    def tail(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    @property
    def logp(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    def inside(self, viterbi: bool = False) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    def outside(self, viterbi: bool = False) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    def count(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    def pruned(self, threshold: float) -> Forest: ...

    def kbest(self, k: int) -> tuple[Store, Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))]]: ...

    def sample(self, n: int, seed: int) -> tuple[Store, Annotated[NDArray[numpy.int32], dict(shape=(None,))]]: ...

def forest(labels: Sequence[str], label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], begin: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], end: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], head: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], tail_start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], tail: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], logp: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], root: int) -> Forest: ...

class ForestStore:
    """
    Hash-consed sub-forests: equal ones are one node, children come before parents.
    """

    def __init__(self) -> None: ...

    def __len__(self) -> int: ...

    @property
    def labels(self) -> list[str]: ...

    @property
    def texts(self) -> tuple[Annotated[NDArray[numpy.uint8], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]:
        """All labels in UTF-8, one after the other, and where each ends."""

    @property
    def child_count(self) -> int: ...

    @overload
    def grown(self, other: ForestStore, roots: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[ForestStore, Annotated[NDArray[numpy.int32], dict(shape=(None,))]]:
        """
        A store over this one that also holds other's parts below roots, and those roots in it. Nothing is copied.
        """

    @overload
    def grown(self, other: Store, roots: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[ForestStore, Annotated[NDArray[numpy.int32], dict(shape=(None,))]]:
        """The same for trees: forests of one tree each."""

    def ordered(self, roots: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[ForestStore, Annotated[NDArray[numpy.int32], dict(shape=(None,))]] | None:
        """
        A store whose numbers follow from what the roots are alone, and the roots in it; None if the numbers here rise likewise.
        """

    @staticmethod
    def joined(stores: Sequence[ForestStore], roots: Sequence[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]]) -> tuple[ForestStore, Annotated[NDArray[numpy.int32], dict(shape=(None,))]]:
        """
        One store of the parts below the roots of several, and all those roots in it.
        """

    @property
    def label(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    @property
    def edge_start(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

    @property
    def production(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    @property
    def child_start(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

    @property
    def child(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    @property
    def p(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def height(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    @staticmethod
    def from_columns(labels: Sequence[str], label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], edge_start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], child_start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], child: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], p: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> ForestStore: ...

    @staticmethod
    def of_forests(forests: Sequence[Forest]) -> tuple[ForestStore, Annotated[NDArray[numpy.int32], dict(shape=(None,))]]: ...

    def nodes_of(self, forest: Forest) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
        """What each node of a forest is here; -1 if it is not."""

    def forest(self, root: int) -> Forest:
        """The forest below a root, its words counted from 0."""

class ForestColumns:
    """Columns of a forest-kernel matrix."""

    def __init__(self, store: ForestStore, weights: NodeWeights, scaled: bool, lam: float, leaves: bool) -> None: ...

    @overload
    def rows(self, store: ForestStore, trees: NodeWeights, limit: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, begin: int, end: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], most_stored: int | None = None) -> tuple[int, int] | None: ...

    @overload
    def rows(self, store: ForestStore, trees: NodeWeights, limit: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, begin: int, end: int, out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu')], most_stored: int | None = None) -> tuple[int, int] | None: ...

    def add(self, trees: NodeWeights, row: int, scale: float) -> None: ...

    @staticmethod
    def self_values(store: ForestStore, trees: NodeWeights, logs: bool, lam: float, leaves: bool) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @staticmethod
    def gradient(store: ForestStore, trees: NodeWeights, targets: NodeWeights, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], by_lam: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], by_mu: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], lam: float, leaves: bool) -> tuple[int, int] | None: ...

    @staticmethod
    def estimate(store: ForestStore, weights: NodeWeights, lam: float, leaves: bool) -> tuple[int, int]:
        """
        Bytes that the index will have, at most, and that a thread needs beside it; both before it is made.
        """

    @property
    def bytes(self) -> int: ...

def subset_trees(store: Store, nodes: Sequence[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]], values: Sequence[Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]], limit: int, steps: int, lam: float, max_depth: int, leaves: bool) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))], bool, bool]:
    """The subset trees of the largest value that all sides have."""

def forest_subset_trees(store: ForestStore, nodes: Sequence[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]], values: Sequence[Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]], limit: int, steps: int, lam: float, leaves: bool) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))], bool, bool]:
    """The same of forests."""

def tag_runs(store: Store, nodes: Sequence[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]], values: Sequence[Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]], limit: int, steps: int, lam: float) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))], bool, bool]:
    """The same of runs of tags, each with its word or without."""

def partial_trees(store: Store, nodes: Sequence[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]], values: Sequence[Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]], limit: int, steps: int, lam: float, mu: float, leaves: bool) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))], bool, bool]:
    """The same of partial trees."""

def subsequences(store: Store, nodes: Sequence[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]], values: Sequence[Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]], limit: int, steps: int, lam: float, length: int) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))], bool, bool]:
    """The same of subsequences of one length, with gaps."""

class Grammar:
    """A binarized weighted grammar, ready for charts."""

    def __len__(self) -> int: ...

def grammar(labels: Sequence[str], first_word: int, left: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], right: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], head: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], logp: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], unary_child: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], unary_head: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], unary_logp: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], start: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], start_logp: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], most_chains: int = 18446744073709551615) -> Grammar: ...

class Sampler:
    """A grammar from which trees are drawn."""

    @staticmethod
    def of(labels: Sequence[str], first_word: int, rule_start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], tail_start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], tail: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], start: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], start_weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Sampler: ...

    def sample(self, n: int, seed: int, max_words: int) -> tuple[Store, Annotated[NDArray[numpy.int32], dict(shape=(None,))]]: ...

class Mask:
    """Which symbols may stand over which span."""

class Chart:
    """
    The best log probability of every symbol over every span of a sentence. It does not change: threads may share it.
    """

    def __init__(self, grammar: Grammar, words: Sequence[str], start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], symbol: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], logp: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], beam: float, prior: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], mask: Mask | None, most_bytes: int = 18446744073709551615) -> None: ...

    @property
    def best(self) -> float: ...

    def kbest(self, k: int) -> tuple[Store, Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))]]: ...

    def forest(self, threshold: float, max_edges: int) -> Forest: ...

    def mask(self, threshold: float, number: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], width: int, of_fine: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Mask: ...

    def pieces(self) -> tuple[Store, Annotated[NDArray[numpy.int32], dict(shape=(None,))]]: ...

class TaggingColumns:
    """Columns of a tagging-kernel matrix."""

    def __init__(self, store: Store, weights: NodeWeights, scaled: bool, lam: float) -> None: ...

    @overload
    def rows(self, store: Store, trees: NodeWeights, limit: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, begin: int, end: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], most_stored: int | None = None) -> tuple[int, int] | None: ...

    @overload
    def rows(self, store: Store, trees: NodeWeights, limit: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, begin: int, end: int, out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu')], most_stored: int | None = None) -> tuple[int, int] | None: ...

    def add(self, trees: NodeWeights, row: int, scale: float) -> None: ...

    @staticmethod
    def self_values(store: Store, trees: NodeWeights, logs: bool, lam: float) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @staticmethod
    def gradient(store: Store, trees: NodeWeights, targets: NodeWeights, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], by_lam: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], by_mu: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], lam: float) -> tuple[int, int] | None: ...

    @staticmethod
    def estimate(store: Store, weights: NodeWeights, lam: float) -> tuple[int, int]:
        """
        Bytes that the index will have, at most, and that a thread needs beside it; both before it is made.
        """

    @property
    def bytes(self) -> int: ...

class LocalityColumns:
    """Columns of a locality-convolution matrix."""

    def __init__(self, store: Store, weights: NodeWeights, scaled: bool, types: Sequence[tuple[int, int, float]], match: int, theta: float) -> None: ...

    @overload
    def rows(self, store: Store, trees: NodeWeights, limit: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, begin: int, end: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], most_stored: int | None = None) -> tuple[int, int] | None: ...

    @overload
    def rows(self, store: Store, trees: NodeWeights, limit: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, begin: int, end: int, out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu')], most_stored: int | None = None) -> tuple[int, int] | None: ...

    def add(self, trees: NodeWeights, row: int, scale: float) -> None: ...

    @staticmethod
    def self_values(store: Store, trees: NodeWeights, logs: bool, types: Sequence[tuple[int, int, float]], match: int, theta: float) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @staticmethod
    def gradient(store: Store, trees: NodeWeights, targets: NodeWeights, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], by_lam: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], by_mu: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], types: Sequence[tuple[int, int, float]], match: int, theta: float) -> tuple[int, int] | None: ...

    @staticmethod
    def estimate(store: Store, weights: NodeWeights, types: Sequence[tuple[int, int, float]], match: int, theta: float) -> tuple[int, int]:
        """
        Bytes that the index will have, at most, and that a thread needs beside it; both before it is made.
        """

    @property
    def bytes(self) -> int: ...

class SubsequenceColumns:
    """Columns of a gap-weighted subsequence matrix."""

    def __init__(self, store: Store, weights: NodeWeights, scaled: bool, lam: float, length: int) -> None: ...

    @overload
    def rows(self, store: Store, trees: NodeWeights, limit: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, begin: int, end: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], most_stored: int | None = None) -> tuple[int, int] | None: ...

    @overload
    def rows(self, store: Store, trees: NodeWeights, limit: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, begin: int, end: int, out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu')], most_stored: int | None = None) -> tuple[int, int] | None: ...

    def add(self, trees: NodeWeights, row: int, scale: float) -> None: ...

    @staticmethod
    def self_values(store: Store, trees: NodeWeights, logs: bool, lam: float, length: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @staticmethod
    def gradient(store: Store, trees: NodeWeights, targets: NodeWeights, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], by_lam: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], by_mu: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], lam: float, length: int) -> tuple[int, int] | None: ...

    @staticmethod
    def estimate(store: Store, weights: NodeWeights, lam: float, length: int) -> tuple[int, int]:
        """
        Bytes that the index will have, at most, and that a thread needs beside it; both before it is made.
        """

    @property
    def bytes(self) -> int: ...

class PartCounts:
    """
    In how many trees each node on its own, or with one child, is, and how much it weighs. For one thread at a time; others are refused.
    """

    def __init__(self, partial: bool, leaves: bool, pairs: bool) -> None: ...

    def add(self, store: Store, trees: NodeWeights, share: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    @property
    def key(self) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]: ...

    @property
    def trees(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

    @property
    def mass(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def pair(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

class TreeSketch:
    """Random features of trees."""

    def __init__(self, partial: bool, lam: float, mu: float, max_depth: int, leaves: bool, waves: int, seed: int, key: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], coordinate: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], only_known: bool, budget: int = 134217728) -> None: ...

    def rows(self, store: Store, trees: NodeWeights, roots: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], logs: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], begin: int, end: int, out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu')]) -> int | None:
        """
        Fills out with rows divided by exp(logs / 2); returns the first that does not fit a float32, or None.
        """

    @property
    def width(self) -> int: ...

    @property
    def single_weight(self) -> float: ...

    @property
    def pair_weight(self) -> float: ...

def string_distances(a: Sequence[bytes], b: Sequence[bytes], limit: int | None = None, normalized: bool = False) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
    """
    Levenshtein distances of all pairs of sequences of 32-bit numbers. A distance above the limit is given as limit + 1. A normalized distance is divided by the larger length.
    """

class AstReader:
    """
    Stores the units of trees of ast nodes, or with whole=True the trees themselves, of many files in one store. After an exception, it must not be used again.
    """

    def __init__(self, store: Store, whole: bool, anonymous: bool, describe: object, constant: object | None, other: object, is_docstring: object, min_lines: int = 0) -> None: ...

    def read(self, roots: list[Any], text: str) -> tuple[Any, ...]:
        """
        Read a file. Return the store, the roots; for each unit its first and last line and its qualified name; the lines of nodes, and for each unit the begin and end of its nodes in them and its number of lines with code; the line of each skipped unit and why: 1 it contains a syntax error, 2 a syntax error is outside units, 3 too many units are inside each other in it; the number of units with fewer than `min_lines` lines of code, which are left out, without those inside others.
        """

class NodeRules:
    """
    What becomes of the nodes of a language: treatments and labels of the kinds, paths from bound names upwards, with (kind, field, position) per step, a name that is never bound, and whether syntax errors before the body of a unit are macros.
    """

    def __init__(self, treatments: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Sequence[str], bindings: Sequence[Sequence[tuple[int, int, int]]], never_bound: str, macros: bool) -> None: ...

class NodeReader:
    """
    Stores the units of trees of tree-sitter nodes, which are of this type, as AstReader does.
    """

    def __init__(self, store: Store, whole: bool, anonymous: bool, type: object, rules: NodeRules, values: bool, min_lines: int = 0) -> None: ...

    def read(self, root: object, source: bytes, name_of: object) -> tuple[Any, ...]:
        """Read a file, as AstReader does."""

def reduced_copy(store: Store, marked: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Sequence[str], base: Store | None = None, leaf: str | None = None) -> tuple[Store, Annotated[NDArray[numpy.int32], dict(shape=(None,))]]:
    """
    Copy all nodes, without marked nodes below others and with other labels, to a new store over a base. All leaves below others get the label `leaf` if it is given. Return the store and the copy of each node.
    """

def statement_codes(store: Store, roots: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], begins: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], number: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], form: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], bits: int) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]:
    """
    Return where the codes of each tree start, and the codes of its statements in ascending order: a code is the number of the statement and 0, or that of its form and 1, then the number of its occurrence in the last bits.
    """

class Chunks:
    """
    Text that tree-sitter reads in pieces. `check` is called with the offset of each piece; if it raises an error, or a signal does, the text ends there.
    """

    def __init__(self, text: bytes, check: object) -> None: ...

    def __call__(self, offset: int, point: object | None) -> bytes: ...

    def raise_error(self) -> None:
        """Raise the error that ended the text, if there is one."""

MAX_NESTING: int = 100

def checksum(buffer: object) -> int:
    """
    A 64-bit checksum of the bytes of a contiguous buffer (XXH64 with seed 0), the same on every machine. It finds damage, not forgery.
    """

@overload
def mirror(out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], begin: int, end: int, first: int, last: int) -> None: ...

@overload
def mirror(out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu')], begin: int, end: int, first: int, last: int) -> None:
    """
    Completes a tile of a symmetric matrix of which the lower half is there.
    """
