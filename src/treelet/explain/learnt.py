"""What a model has learnt, fragment by fragment: of one tree, and altogether.

A model is a weight for each distinct subtree of its support trees (`treelet.learn.model`). So the weight of a fragment, the sum
over support trees of coefficient times count, is the sum of the weights of the subtrees at whose root it occurs, and the model is
one side of the search in `growing`: with a tree on the other side the search finds the largest shares of that tree's score, alone it finds
the heaviest fragments.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from treelet import _core
from treelet.checks import check_integer
from treelet.explain.asked import Asked, asked
from treelet.explain.explanation import (
    Explanation,
    FragmentShare,
    NodeShare,
    OtherShare,
    TopFragments,
    WeightedFragment,
)
from treelet.explain.growing import fragments
from treelet.explain.sides import Found
from treelet.formats.base import Columns
from treelet.kernels import PartialTree
from treelet.kernels.base import Matrix, Vector
from treelet.learn.model import ROOT_LARGE, CompressedModel
from treelet.learn.summands import Roots
from treelet.learn.terms import GraphTerm, node_weights
from treelet.structures import Tree

HEATED = 5_000  # distinct subtrees of a tree: beyond, each with all that is below it is too much to look at


def explain(model: Any, tree: Any, output: Any = None, *, limit: int = 100) -> Explanation:
    r"""Where a model's score of a tree comes from: the fragments with the largest shares, and the share of every node.

    Parameters
    ----------
    model : fitted estimator or CompressedModel
        A classifier, regressor or ranker whose kernel is `Subtree`, `SubsetTree` or `PartialTree`, or made of these by sums,
        multiples, `On` and ``.normalized()``. The shares of other summands are told apart from the fragments.
    tree : Tree, str, ...
        An example, in any form that the model takes. A tuple of two: why the first and not the second; shares are those of the
        difference of their scores, as for two parses of a sentence and a ranker.
    output : object
        Of a classifier, the class; the one that is predicted, if not given; a tuple of two classes: why the first and not the second. With ``multi_class="ovo"`` the score of a class is the sum of
        its machines, against each other class. Of a model with several outputs, the number of one.
    limit : int
        Fragments at most: there can be exponentially many.

    Returns
    -------
    Explanation

    Notes
    -----
    The share of a fragment :math:`f` under SST is :math:`\lambda^{\mathrm{size}(f)} h_f(T) w(f)`, with :math:`w(f) = \sum_k \alpha_k h_f(T_k)` over
    the support trees; where the kernel is normalised, each of these trees is divided by its norm. For ST and SST the shares are the
    largest ones; PT's are the largest of those that were looked at, unless all were. On large trees the search ends after a second or
    two of work. The result says what holds.

    Examples
    --------
    >>> import treelet as tl
    >>> trees = ["(NP (D the) (N apple))", "(NP (D the) (N pear))", "(NP (D an) (N apple))", "(NP (D a) (N pear))"]
    >>> model = tl.RLS(tl.SubsetTree(lam=0.5)).fit(trees, [1, -1, 1, -1])
    >>> explanation = tl.explain(model, "(NP (D an) (N apple))")
    >>> print(explanation.fragments[0].tree)
    (N apple)
    >>> abs(sum(one.share for one in explanation.fragments) + explanation.rest - explanation.score) < 1e-12
    True
    """
    check_integer("limit", limit)
    pair = isinstance(tree, tuple) and len(tree) == 2
    examples, signs = (list(tree), np.array([1.0, -1.0])) if pair else ([tree], np.array([1.0]))
    one = asked(model, output, examples)
    X = one.model.kernel.coerce(examples)
    intercept = one.intercept * float(signs.sum())
    score = float(signs @ _scores(one, one.model.terms, X)) + intercept
    roots = Roots(X)
    shares: list[FragmentShare] = []
    nodes = _Nodes(signs, one.mix)
    complete = exact = True
    for term in one.listed:
        data = term.graph.joined(term.part.place.data(X))[1]
        logs = roots.logs(term.part.roots)
        found = _shares(term, one.mix, data, signs * _factors(term, logs, len(X)), limit)
        kernel, column = term.part.place.kernel, _column(term)
        shares += [FragmentShare(fragment, share, kernel, column) for fragment, share, _ in found.fragments]
        complete, exact = complete and found.complete, exact and found.exact
        nodes.add(term, data, logs)
    shares.sort(key=lambda share: -abs(share.share))
    others = [OtherShare(term.part.place.kernel, float(signs @ _scores(one, [term], X))) for term in one.others]
    complete = complete and len(shares) <= limit
    return Explanation(one.output, score, shares[:limit], intercept, others, nodes.listed(), complete, exact)


def top_fragments(model: Any, n: int, output: Any = None) -> TopFragments:
    r"""The heaviest fragments of a model.

    Parameters
    ----------
    model : fitted estimator or CompressedModel
        As for `explain`.
    n : int
        How many at most.
    output : object
        As for `explain`. Of two classes the second, if not given; of several, one must be given.

    Returns
    -------
    TopFragments

    Notes
    -----
    A kernel is a product of two vectors with an entry a fragment; SST's vector of a tree has :math:`\lambda^{\mathrm{size}(f)/2} h_f(T)`, and the model is the vector
    :math:`\sum_k \alpha_k \phi(T_k)`. The weight of a fragment is its entry there, :math:`\lambda^{\mathrm{size}(f)/2} \sum_k \alpha_k h_f(T_k)`; for ST the same, for PT with
    :math:`\mu^{\mathrm{nodes}/2} \lambda^{\mathrm{edge}}`, and skipped children discounted in each tree. Where the kernel is normalised, the support trees' vectors have
    the length 1. The heaviest are those of the largest absolute weight: exactly for ST and SST, unless there is too much to look at
    (about a second of work); for PT the heaviest of those that were looked at. ``exact`` says what holds.

    Examples
    --------
    >>> import treelet as tl
    >>> trees = ["(NP (D the) (N apple))", "(NP (D the) (N pear))", "(NP (D an) (N apple))", "(NP (D a) (N pear))"]
    >>> model = tl.RLS(tl.SubsetTree(lam=0.5)).fit(trees, [1, -1, 1, -1])
    >>> print(tl.top_fragments(model, 2))
    +0.4866  (N apple)
    -0.4866  (N pear)
    """
    check_integer("n", n)
    one = asked(model, output)
    heaviest: list[WeightedFragment] = []
    complete = exact = True
    for term in one.listed:
        weights = _weights(term, one.mix)
        there = dict(zip(weights.node.tolist(), weights.weight.tolist(), strict=True))
        kernel, column, scale = term.part.place.kernel, _column(term), math.exp(-term.shift)
        found = fragments(kernel, term.graph.columns.store, (there,), n)
        heaviest += [WeightedFragment(tree, value * scale, kernel, column) for tree, value, _ in found.fragments]
        complete, exact = complete and found.complete, exact and found.exact
    heaviest.sort(key=lambda fragment: -abs(fragment.weight))
    return TopFragments(heaviest[:n], one.output, complete and len(heaviest) <= n, exact)


def _scores(one: Asked, terms: Any, X: Any) -> Vector:
    part = CompressedModel(one.model.kernel, one.model.outputs, terms, support=0, nodes=0, loose_bytes=0)
    scores: Vector = part.score(X) @ one.mix
    return scores


def _column(term: GraphTerm) -> Any:
    path = term.part.place.path
    return None if not path else path[0] if len(path) == 1 else path


def _weights(term: GraphTerm, mix: Vector) -> _core.NodeWeights:
    """The weights of distinct subtrees for a sum of outputs, one row; without those that are 0."""
    roots = term.at_roots
    rows = sp.csr_array((roots.weight, roots.node, roots.start), shape=(len(roots), len(term.graph)))
    mixed = sp.csr_array(sp.csr_array(mix[None, :]) @ rows)
    mixed.eliminate_zeros()
    return _core.NodeWeights.spread(*term.graph.columns, node_weights(mixed))


def _factors(term: GraphTerm, logs: Vector | None, n: int) -> Vector:
    """What a term's values of each example are multiplied by; 0 where a self-value is."""
    if logs is None:
        return np.ones(n)
    return np.exp(np.where(np.isfinite(logs), -logs - term.shift, -np.inf))


def _shares(term: GraphTerm, mix: Vector, data: Any, factors: Vector, limit: int) -> Found:
    """The largest shares of the examples' fragments, the examples taken together with some factors."""
    counts, weights, store = data.weights(), _weights(term, mix), data.columns.store
    kernel = term.part.place.kernel
    numbers: dict[int, float] = {}
    factor = np.repeat(factors, np.diff(counts.start))
    for node, number in zip(counts.node.tolist(), (factor * counts.weight).tolist(), strict=True):
        numbers[node] = numbers.get(node, 0.0) + number
    label, production = store.label, store.production  # what a place must have in common with another one
    alike = label if isinstance(kernel, PartialTree) else np.where(production >= 0, production, -1 - label)
    met = np.isin(alike[weights.node], alike[list(numbers)])
    model = dict(zip(weights.node[met].tolist(), weights.weight[met].tolist(), strict=True))
    return fragments(kernel, store, (numbers, model), limit)


class _Nodes:
    """The shares of the nodes of trees, added up over the terms that see them."""

    def __init__(self, signs: Vector, mix: Vector) -> None:
        self.signs, self.mix = signs, mix
        self._found: dict[tuple[int, tuple[Any, ...]], tuple[Any, list[Tree], Vector]] = {}

    def add(self, term: GraphTerm, data: Any, logs: Vector | None) -> None:
        store, roots = data.columns
        for row, root in enumerate(roots.tolist()):
            if root >= 0:
                order = _pre_order(store, root)
                distinct, which = np.unique(order, return_inverse=True)
                if len(distinct) > HEATED:
                    continue
                values = _node_values(term, data, distinct, None if logs is None else float(logs[row])) @ self.mix
                key = row, term.part.place.path
                if key not in self._found:
                    self._found[key] = _column(term), list(data[row].nodes()), np.zeros(len(order))
                self._found[key][2][:] += self.signs[row] * values[which]

    def listed(self) -> list[NodeShare]:
        return [
            NodeShare(node, share, column)
            for _, (column, nodes, shares) in sorted(self._found.items(), key=lambda item: item[0][0])
            for node, share in zip(nodes, shares.tolist(), strict=True)
        ]


def _pre_order(store: Any, root: int) -> list[int]:
    start, child = store.child_start, store.child
    order, stack = [], [root]
    while stack:
        node = stack.pop()
        order.append(node)
        stack.extend(child[start[node] : start[node + 1]].tolist()[::-1])
    return order


def _node_values(term: GraphTerm, data: Any, nodes: Any, log_root: float | None) -> Matrix:
    """What each node alone adds to a tree's score, nodes x outputs."""
    out = np.zeros((len(nodes), term.outputs))
    if log_root is not None and not math.isfinite(log_root):
        return out
    store, nodes = data.columns.store, nodes.astype(np.int32)
    below = _core.NodeWeights.count(store, nodes)
    itself = below.node == np.repeat(nodes, np.diff(below.start))
    alone = _core.NodeWeights.of(below.start, below.node, itself.astype(float))
    rows = type(data)._of(Columns(store, nodes), None, alone)
    if log_root is not None and (term.needs_scaling or log_root > ROOT_LARGE):
        term.scaled(rows, np.full(len(nodes), log_root + term.shift), out)
        return out
    term.plain(rows, out)
    return out if log_root is None else out * math.exp(-log_root)
