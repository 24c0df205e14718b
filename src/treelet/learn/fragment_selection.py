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
from treelet.kernels.base import Matrix, Vector
from treelet.kernels.fragments.search import search_fragments
from treelet.kernels.fragments.weighting import FRAGMENTS, NodeWeighting, SearchResult, has_fragments
from treelet.learn.fragment_counts import FragmentCounter, Rows
from treelet.learn.linear_output import LinearOutput, resolve_output, weights_of
from treelet.learn.model import CompressedModel
from treelet.learn.summands import Part, Roots, linear_parts
from treelet.learn.terms import GraphTerm
from treelet.structures import Tree, Treebank


class SelectedFragments(NamedTuple):
    """Fragments in the order of selection, each with the index of the kernel's part that counts it."""

    trees: list[Tree]
    parts: list[int]
    exact: bool
    """No heavier ones were missed."""


def listed_parts(kernel: Kernel) -> list[Part]:
    """The parts of a kernel whose fragments can be listed."""
    return [part for part in linear_parts(kernel) if has_fragments(part.place.kernel)]


def linear_outputs(model: Any) -> list[LinearOutput]:
    """Return the linear functions of a model: one per class, of two classes only the second's; else one per output."""
    classes = getattr(model, "classes_", None)
    if classes is not None:
        names = classes.tolist()
        return [resolve_output(model, name) for name in (names[1:] if len(names) == 2 else names)]
    first = resolve_output(model, 0)
    return [first, *(resolve_output(model, number) for number in range(1, first.model.outputs))]


def _terms(function: LinearOutput) -> list[GraphTerm]:
    return [term for term in function.listed if has_fragments(term.part.place.kernel)]


def select_from_model(functions: list[LinearOutput], n: int, depth: int | None) -> SelectedFragments:
    """Select the heaviest fragments of each function in turn, until there are `n` different ones."""
    kernel = functions[0].model.kernel
    parts = listed_parts(kernel)
    if not parts:
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
                number, scale = part_number(parts, term.part), math.exp(-term.shift)
                result = _searched(term.part.place.kernel, term.graph.columns.store, weighting, limit, depth)
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
    parts, roots = listed_parts(kernel), Roots(X)
    heaviest: list[tuple[float, int, Tree]] = []
    exact = True
    for number, part in enumerate(parts):
        bank = part.place.data(X)
        weighting = NodeWeighting.of(bank.weights(), row_factors(roots, part))
        result = _searched(part.place.kernel, bank.columns.store, weighting, n, depth)
        heaviest += [(-abs(value) * part.factor, number, tree) for tree, value, _ in result.fragments]
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


def part_number(parts: list[Part], wanted: Part) -> int:
    """Return the index of the kernel's part that a model's term belongs to."""
    return next(k for k, part in enumerate(parts) if part.place == wanted.place and part.roots == wanted.roots)


def row_factors(roots: Roots, part: Part) -> Vector | None:
    """Return the factor of a part's vector for each example, 0 where a self-value is 0; None stands for 1."""
    logs = roots.logs(part.roots)
    return None if logs is None else np.exp(np.where(np.isfinite(logs), -logs, -np.inf))


def scale_of(part: Part) -> float:
    """Return the factor of a part's vectors that makes their inner products the part's values."""
    return math.sqrt(part.factor) if part.factor > 0 else 1.0


def counters(kernel: Kernel, trees: Treebank, part_numbers: Any) -> list[tuple[Part, Any, FragmentCounter]]:
    """Return each part of a kernel that has columns, with its columns and its counter."""
    counted = []
    for number, summand in enumerate(listed_parts(kernel)):
        columns = np.flatnonzero(part_numbers == number)
        if len(columns):
            counted.append((summand, columns, FragmentCounter(summand.place.kernel, trees[columns], scale_of(summand))))
    return counted


def coefficients(functions: list[LinearOutput], counted: list[tuple[Part, Any, FragmentCounter]], n: int) -> Matrix:
    """Return the coefficient of each column in each function of a model."""
    out = np.zeros((len(functions), n))
    model: CompressedModel = functions[0].model
    mixes = np.array([function.mix for function in functions])
    for part, columns, counter in counted:
        for term in _terms(functions[0]):
            if term.part.place == part.place and term.part.roots == part.roots:
                weights: _core.NodeWeights = weights_of(term, mixes)
                rows: Rows = counter.of_weights(term.graph.columns.store, weights, None)
                out[:, columns] += rows.toarray() * (math.exp(-term.shift) / scale_of(part) ** 2)
    assert model.outputs == mixes.shape[1]
    return out
