"""Building a model from support vectors and their coefficients, one term per summand of the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
import scipy.sparse as sp

from treelet.checks import plural
from treelet.errors import ParameterError
from treelet.formats.base import Columns
from treelet.kernels.algebra import Constant
from treelet.kernels.base import Kernel
from treelet.kernels.store import StoreKernel
from treelet.kernels.vector import Linear
from treelet.learn.model import ROOT_LARGE
from treelet.learn.terms import (
    ColumnKernel,
    ConstantTerm,
    Graph,
    GraphTerm,
    KernelTerm,
    Path,
    Roots,
    SupportSum,
    Term,
    collapses,
    compact_examples,
    linear_parts,
    node_weights,
)
from treelet.structures.vectors import Vectors

SPREAD = 600.0  # Largest logarithm whose exponential fits a float64, with room for coefficients and counts.


def built(kernel: Kernel, X: Any, coefficients: Any) -> tuple[int, list[Term], dict[str, int]]:
    """Return the number of outputs, the terms, and counts of the input."""
    dense = None if sp.issparse(coefficients) else np.atleast_2d(coefficients)
    alpha = sp.csr_array(coefficients if dense is None else dense, dtype=float)
    if alpha.shape[1] != len(X):
        raise ParameterError(
            f"There are {plural(alpha.shape[1], 'coefficient')} per output for {plural(len(X), 'example')}. "
            "Pass one coefficient per example and output."
        )
    if not np.isfinite(alpha.data).all():
        raise ParameterError("The coefficients of a model must be finite numbers. Check for NaN and infinite values.")
    alpha.eliminate_zeros()
    support = np.unique(alpha.indices)
    X, alpha = X[support], alpha[:, support]
    builder = _Builder(X, alpha)
    terms = builder.terms(linear_parts(kernel))
    if terms is None:  # The self-values are too far apart for one graph.
        builder = _Builder(X, alpha)
        terms = [
            SupportSum(KernelTerm(1.0, ColumnKernel(kernel)), 0.0, False, compact_examples(kernel, X), alpha.toarray())
        ]
    counts = {"support": len(support), "nodes": builder.nodes, "loose_bytes": builder.loose_bytes}
    return int(alpha.shape[0]), terms, counts


class _Builder:
    """Builder of the terms of a model. The trees of one column share one graph."""

    def __init__(self, X: Any, alpha: Any) -> None:
        self.X, self.alpha, self.roots = X, alpha, Roots(X)
        self.nodes = self.loose_bytes = 0
        self._graphs: list[tuple[Path, Graph, Any]] = []

    def terms(self, kernel_terms: Sequence[KernelTerm]) -> list[Term] | None:
        terms = []
        for kernel_term in kernel_terms:
            if kernel_term.factor == 0:
                continue
            term = self._term(kernel_term)
            if term is None:
                return None
            terms.append(term)
        return terms

    def _term(self, kernel_term: KernelTerm) -> Term | None:
        shift, needs_scaling, factors = 0.0, False, np.full(len(self.X), kernel_term.factor)
        logs = self.roots.logs(kernel_term.roots)
        if logs is not None:
            finite = logs[np.isfinite(logs)]
            if len(finite) and np.abs(finite).max() > ROOT_LARGE:
                needs_scaling, shift = True, float(finite.max() + finite.min()) / 2
                if finite.max() - shift > SPREAD:
                    return None
            factors *= np.exp(np.where(np.isfinite(logs), shift - logs, -np.inf))
        coefficients = self.alpha @ sp.diags_array(factors)
        rest = replace(kernel_term, factor=1.0)
        kernel = kernel_term.inner.kernel
        if isinstance(kernel, Constant):
            return ConstantTerm(
                rest, shift, needs_scaling, float(kernel.value) * np.asarray(coefficients.sum(axis=1), float).ravel()
            )
        if not collapses(kernel):
            data = compact_examples(kernel, kernel_term.inner.data(self.X))
            if (
                isinstance(kernel, Linear) and len(data) > coefficients.shape[0]
            ):  # One summed vector per output suffices.
                sums = Vectors._of(_summed(coefficients, data.values), data.names)
                return SupportSum(rest, shift, needs_scaling, sums, np.eye(len(sums)))
            return SupportSum(rest, shift, needs_scaling, data, coefficients.toarray())
        graph, which = self._graph(kernel_term.inner)
        return GraphTerm(rest, shift, needs_scaling, graph, node_weights(coefficients @ which))

    def _graph(self, inner: ColumnKernel) -> tuple[Graph, Any]:
        """Return the distinct trees of a column, and the incidence matrix of examples and trees."""
        for path, graph, which in self._graphs:
            if path == inner.path and type(graph) is cast(StoreKernel, inner.kernel).bank:
                return graph, which
        bank: Graph = inner.data(self.X).compact()
        store, roots = bank.columns
        present = np.flatnonzero(roots >= 0)
        distinct, number = np.unique(roots[present], return_inverse=True)
        graph = type(bank).from_columns(Columns(store, distinct))
        which = sp.csr_array((np.ones(len(present)), (present, number)), shape=(len(bank), len(distinct)))
        nodes = int(bank.weights().weight.sum())
        texts = sum(len(text.encode("utf-8", "surrogatepass")) for text in store.labels)
        self.nodes += nodes
        self.loose_bytes += 4 * nodes + 4 * (nodes - len(present)) + 8 * self.alpha.nnz + texts
        self._graphs.append((inner.path, graph, which))
        return graph, which


def _summed(coefficients: Any, values: Any) -> Any:
    total = np.asarray(coefficients @ values) if isinstance(values, np.ndarray) else sp.csr_array(coefficients @ values)
    if not isinstance(total, np.ndarray):
        total.sort_indices()  # Loaded indices are sorted too, so a model that is saved again gives the same file.
    return total
