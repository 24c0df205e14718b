"""Selection of the fragments with the largest weights in a model or a collection of trees, and their coefficients."""

from __future__ import annotations

import copy
import itertools
import math
from typing import Any, NamedTuple

import numpy as np

from treelet import _core
from treelet.errors import InputTypeError
from treelet.kernels import Kernel, SubsetTree
from treelet.kernels.fragments.search import search_fragments
from treelet.kernels.fragments.weighting import FRAGMENTS, NodeWeighting, SearchResult, has_fragments
from treelet.kernels.pairwise import Matrix, Vector
from treelet.learn.fragment_counts import FragmentCounter, Rows
from treelet.learn.linear_output import LinearOutput, resolve_output, weights_of
from treelet.learn.model import CompressedModel
from treelet.learn.summands import KernelTerm, Roots, linear_parts
from treelet.learn.terms import GraphTerm
from treelet.structures import Tree, Treebank


class SelectedFragments(NamedTuple):
    """Fragments in the order of selection, each with the number of the kernel's term that counts it."""

    trees: list[Tree]
    parts: list[int]
    exact: bool
    """No heavier ones were missed."""


def listed_parts(kernel: Kernel) -> list[KernelTerm]:
    """The terms of a kernel whose fragments can be listed."""
    return [kernel_term for kernel_term in linear_parts(kernel) if has_fragments(kernel_term.inner.kernel)]


def linear_outputs(model: Any) -> list[LinearOutput]:
    """Return the linear functions of a model: one per class, of two classes only the second's; else one per output."""
    classes = getattr(model, "classes_", None)
    if classes is not None:
        names = classes.tolist()
        return [resolve_output(model, name) for name in (names[1:] if len(names) == 2 else names)]
    first = resolve_output(model, 0)
    return [first, *(resolve_output(model, number) for number in range(1, first.model.outputs))]


def _terms(function: LinearOutput) -> list[GraphTerm]:
    return [term for term in function.listed if has_fragments(term.kernel_term.inner.kernel)]


def select_from_model(functions: list[LinearOutput], n: int, depth: int | None) -> SelectedFragments:
    """Select the heaviest fragments of each function in turn, until there are `n` different ones."""
    kernel = functions[0].model.kernel
    kernel_terms = listed_parts(kernel)
    if not kernel_terms:
        raise InputTypeError(
            f"fragments of trees are features for models of {FRAGMENTS}, of their sums, multiples and normalised forms, also on "
            f"columns; not for {kernel!r}"
        )
    limit = n if len(functions) == 1 else min(n, 16 + 2 * n // len(functions))
    while True:
        lists, complete, exact = [], True, True
        for function in functions:
            heaviest: list[tuple[float, int, Tree]] = []
            for term in _terms(function):
                weighting = NodeWeighting.of(weights_of(term, function.mix[None, :]))
                number, scale = term_number(kernel_terms, term.kernel_term), math.exp(-term.shift)
                result = _searched(term.kernel_term.inner.kernel, term.graph.columns.store, weighting, limit, depth)
                heaviest += [(-abs(value) * scale, number, tree) for tree, value, _ in result.fragments]
                complete, exact = complete and result.complete, exact and result.exact
            heaviest.sort(key=lambda entry: entry[0])
            lists.append([(number, tree) for _, number, tree in heaviest[:limit]])
        chosen = _in_turn(lists, n)
        if len(chosen) >= n or complete or limit >= n:
            return SelectedFragments([tree for _, tree in chosen], [number for number, _ in chosen], exact)
        limit = min(n, 2 * limit)


def select_from_trees(kernel: Kernel, X: Any, n: int, depth: int | None) -> SelectedFragments:
    """Select the fragments with the largest sums over the trees' feature vectors."""
    kernel_terms, roots = listed_parts(kernel), Roots(X)
    heaviest: list[tuple[float, int, Tree]] = []
    exact = True
    for number, kernel_term in enumerate(kernel_terms):
        bank = kernel_term.inner.data(X)
        weighting = NodeWeighting.of(bank.weights(), row_factors(roots, kernel_term))
        result = _searched(kernel_term.inner.kernel, bank.columns.store, weighting, n, depth)
        heaviest += [(-abs(value) * kernel_term.factor, number, tree) for tree, value, _ in result.fragments]
        exact = exact and result.exact
    heaviest.sort(key=lambda entry: entry[0])
    return SelectedFragments([tree for _, _, tree in heaviest[:n]], [number for _, number, _ in heaviest[:n]], exact)


def _searched(kernel: Kernel, store: Any, weighting: NodeWeighting, limit: int, depth: int | None) -> SearchResult:
    if depth is not None and isinstance(kernel, SubsetTree):
        kernel = copy.copy(kernel)
        kernel.max_depth = depth if kernel.max_depth is None else min(depth, kernel.max_depth)
        depth = None
    result = search_fragments(kernel, store, (weighting,), limit)
    if depth is None:
        return result
    kept = [fragment for fragment in result.fragments if fragment.tree.height() <= depth]
    return SearchResult(kept, result.complete, result.complete or (result.exact and len(kept) == len(result.fragments)))


def _in_turn(lists: list[list[tuple[int, Tree]]], n: int) -> list[tuple[int, Tree]]:
    taken: dict[tuple[int, Tree], None] = {}
    for entry in itertools.chain.from_iterable(itertools.zip_longest(*lists)):
        if entry is not None and len(taken) < n:
            taken.setdefault(entry)
    return list(taken)


def term_number(kernel_terms: list[KernelTerm], wanted: KernelTerm) -> int:
    """Return the number of the kernel's term that a model's term belongs to."""
    return next(
        k
        for k, kernel_term in enumerate(kernel_terms)
        if kernel_term.inner == wanted.inner and kernel_term.roots == wanted.roots
    )


def row_factors(roots: Roots, kernel_term: KernelTerm) -> Vector | None:
    """Return the factor of a term's vector for each example, 0 where a self-value is 0; None stands for 1."""
    logs = roots.logs(kernel_term.roots)
    return None if logs is None else np.exp(np.where(np.isfinite(logs), -logs, -np.inf))


def scale_of(kernel_term: KernelTerm) -> float:
    """Return the factor of a term's vectors that makes their inner products the term's values."""
    return math.sqrt(kernel_term.factor) if kernel_term.factor > 0 else 1.0


def counters(kernel: Kernel, trees: Treebank, term_numbers: Any) -> list[tuple[KernelTerm, Any, FragmentCounter]]:
    """Return each term of a kernel that has columns, with its columns and its counter."""
    counted = []
    for number, kernel_term in enumerate(listed_parts(kernel)):
        columns = np.flatnonzero(term_numbers == number)
        if len(columns):
            counter = FragmentCounter(kernel_term.inner.kernel, trees[columns], scale_of(kernel_term))
            counted.append((kernel_term, columns, counter))
    return counted


def coefficients(
    functions: list[LinearOutput], counted: list[tuple[KernelTerm, Any, FragmentCounter]], n: int
) -> Matrix:
    """Return the coefficient of each column in each function of a model."""
    out = np.zeros((len(functions), n))
    model: CompressedModel = functions[0].model
    mixes = np.array([function.mix for function in functions])
    for kernel_term, columns, counter in counted:
        for term in _terms(functions[0]):
            if term.kernel_term.inner == kernel_term.inner and term.kernel_term.roots == kernel_term.roots:
                weights: _core.NodeWeights = weights_of(term, mixes)
                rows: Rows = counter.of_weights(term.graph.columns.store, weights, None)
                out[:, columns] += rows.toarray() * (math.exp(-term.shift) / scale_of(kernel_term) ** 2)
    assert model.outputs == mixes.shape[1]
    return out
