"""
treelet's native core: hash-consed trees and the loops over their nodes.
"""

from collections.abc import Sequence
from typing import Annotated

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
    def label_count(self) -> int: ...

    @property
    def production_count(self) -> int: ...

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

    def grown(self, other: Store, roots: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Store, Annotated[NDArray[numpy.int32], dict(shape=(None,))]]:
        """
        A copy that also holds other's subtrees below roots, and where each of those went.
        """

    @staticmethod
    def from_columns(labels: Sequence[str], label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], child_start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], child: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Store: ...

class Stop:
    """A flag that ends long work in the threads that watch it."""

    def __init__(self) -> None: ...

    def set(self) -> None: ...

def watch(stop: Stop) -> None:
    """Let this thread's long work end when the flag is set."""

def build(labels: Sequence[str], label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], arity: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Store, Annotated[NDArray[numpy.int32], dict(shape=(None,))]]: ...

class BracketReader:
    """Reads bracketed trees from chunks of bytes."""

    def __init__(self, drop_empty: bool = False, drop_function_tags: bool = False, root: str = '') -> None: ...

    def feed(self, bytes: bytes) -> None: ...

    def move_to(self, line: int, column: int) -> None: ...

    def finish(self) -> None: ...

    @property
    def trees(self) -> int: ...

    @property
    def open(self) -> int: ...

    def result(self) -> tuple[Store, Annotated[NDArray[numpy.int32], dict(shape=(None,))]]: ...

class NodeWeights:
    """A sparse matrix of tree x distinct subtree."""

    @staticmethod
    def count(store: Store, roots: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NodeWeights: ...

    @staticmethod
    def of(start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], node: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NodeWeights: ...

    def take(self, order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NodeWeights:
        """The given rows, in the given order."""

    def __len__(self) -> int: ...

    @property
    def start(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

    @property
    def node(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    @property
    def weight(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

class Similar:
    """
    Which labels are alike, and how much: rows of a sparse matrix over labels.
    """

    @staticmethod
    def of(start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], label: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], sigma: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Similar: ...

class SubtreeColumns:
    """Columns of a subtree-kernel matrix."""

    def __init__(self, store: Store, weights: NodeWeights, scaled: bool, lam: float) -> None: ...

    def rows(self, store: Store, trees: NodeWeights, limit: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, begin: int, end: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')]) -> tuple[int, int] | None: ...

    @staticmethod
    def self_values(store: Store, trees: NodeWeights, logs: bool, lam: float) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @staticmethod
    def gradient(store: Store, trees: NodeWeights, targets: NodeWeights, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], by_lam: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], by_mu: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], lam: float) -> tuple[int, int] | None: ...

    @property
    def bytes(self) -> int: ...

class SubsetTreeColumns:
    """Columns of a subset-tree-kernel matrix."""

    def __init__(self, store: Store, weights: NodeWeights, scaled: bool, lam: float, max_depth: int) -> None: ...

    def rows(self, store: Store, trees: NodeWeights, limit: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, begin: int, end: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')]) -> tuple[int, int] | None: ...

    @staticmethod
    def self_values(store: Store, trees: NodeWeights, logs: bool, lam: float, max_depth: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @staticmethod
    def gradient(store: Store, trees: NodeWeights, targets: NodeWeights, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], by_lam: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], by_mu: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], lam: float, max_depth: int) -> tuple[int, int] | None: ...

    @property
    def bytes(self) -> int: ...

class PartialTreeColumns:
    """Columns of a partial-tree-kernel matrix."""

    def __init__(self, store: Store, weights: NodeWeights, scaled: bool, lam: float, mu: float, leaves: bool, similar: Similar | None) -> None: ...

    def rows(self, store: Store, trees: NodeWeights, limit: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, begin: int, end: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')]) -> tuple[int, int] | None: ...

    @staticmethod
    def self_values(store: Store, trees: NodeWeights, logs: bool, lam: float, mu: float, leaves: bool, similar: Similar | None) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @staticmethod
    def gradient(store: Store, trees: NodeWeights, targets: NodeWeights, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], by_lam: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], by_mu: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], lam: float, mu: float, leaves: bool, similar: Similar | None) -> tuple[int, int] | None: ...

    @property
    def bytes(self) -> int: ...

def mirror(out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], begin: int, end: int) -> None:
    """Completes rows of a symmetric matrix of which the lower half is there."""
