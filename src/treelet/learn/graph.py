"""The weighted graph of distinct subtrees that stands for many trees (Collins & Duffy 2001, section 5)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from treelet.errors import ParameterError
from treelet.structures.held_bank import HeldBank
from treelet.structures.treebank import Treebank

NodeRows = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]
"""Rows of a sparse matrix of output x node: where each starts, nodes, weights."""
SHARED = 64  # trees are counted out one by one where their subtrees are not shared more often than this


def spread(graph: Treebank | HeldBank[Any], at_roots: Any) -> NodeRows:
    r"""The weight of every subtree, from those of whole trees: :math:`w_u = \sum_k \alpha_k h_u(T_k)`.

    Rows are outputs. Every node is in some row, if only with a 0: the native index needs a subtree's parts beside it.
    """
    store = graph.columns.store
    nodes, outputs = len(store), at_roots.shape[0]
    if written_out(graph) <= SHARED * nodes + (1 << 22):
        rows = graph.weights()
        counts = sp.csr_array((rows.weight, rows.node, rows.start), shape=(len(graph), nodes))
        return with_all_nodes(at_roots @ counts)
    # Trees that share nearly everything: from level to level, so that each subtree is visited once
    if nodes * outputs > 1 << 28:
        raise ParameterError(f"a model of {outputs} outputs on {nodes} subtrees is too large for the memory")
    child, parent = store.child, np.repeat(np.arange(nodes), np.diff(store.child_start))
    order = np.argsort(-store.height, kind="stable")
    times = sp.csr_array((np.ones(len(child)), (child, parent)), shape=(nodes, nodes))[order]
    weight = np.zeros((nodes, outputs))
    np.add.at(weight, graph.columns.roots, at_roots.toarray().T)
    levels = np.flatnonzero(np.diff(store.height[order], prepend=-1))
    for begin, end in pairwise([*levels.tolist(), nodes]):
        weight[order[begin:end]] += times[begin:end] @ weight
    return with_all_nodes(sp.csr_array(weight.T))


def written_out(graph: Treebank | HeldBank[Any]) -> float:
    """At most how many (tree, distinct subtree) pairs there are."""
    store, roots = graph.columns
    start, child, height = store.child_start, store.child, store.height
    size = np.ones(len(store))
    order = np.argsort(height, kind="stable")
    arity = np.diff(start)[order]
    levels = np.flatnonzero(np.diff(height[order], prepend=-1))
    for begin, end in pairwise([*levels.tolist(), len(store)]):
        which = order[begin:end][arity[begin:end] > 0]
        if len(which):
            counts = start[which + 1] - start[which]
            ends = np.cumsum(counts)
            places = np.repeat(start[which] - ends + counts, counts) + np.arange(ends[-1])
            size[which] += np.add.reduceat(size[child[places]], ends - counts)
            np.minimum(size, len(store), out=size)
    return float(size[roots].sum())


def with_all_nodes(rows: Any) -> NodeRows:
    """Start, node and weight of a sparse matrix of output x node, in which nodes that are in no row get a 0 in the first."""
    rows = sp.csr_array(rows)
    absent = np.ones(rows.shape[1], bool)
    absent[rows.indices] = False
    if absent.any() and rows.shape[0]:
        more = np.flatnonzero(absent)
        start = rows.indptr.astype(np.int64)
        start[1:] += len(more)
        node, weight = np.concatenate([more, rows.indices]), np.concatenate([np.zeros(len(more)), rows.data])
        rows = sp.csr_array((weight, node, start), shape=rows.shape)
    rows.sort_indices()
    return rows.indptr.astype(np.int64), rows.indices.astype(np.int32), np.ascontiguousarray(rows.data, dtype=float)
