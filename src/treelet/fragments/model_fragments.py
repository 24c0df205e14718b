"""The fragments of a model: those that explain the score of an example, and the heaviest of all.

A model has one weight per distinct subtree of its support trees (`treelet.learn.model`). The weight
of a fragment is the sum over support trees of coefficient times count. This equals the sum of the
weights of the subtrees at whose root the fragment occurs. A model is therefore a `NodeWeighting` for
the fragment search. Together with the weighting of an example, the search finds the largest shares
of the example's score. Without an example, it finds the heaviest fragments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from treelet import _core
from treelet.checks import check_integer, wrong
from treelet.cuts.features import feature_words
from treelet.errors import InputTypeError
from treelet.formats.base import Columns
from treelet.fragments.explanation import (
    Explanation,
    FragmentShare,
    NodeShare,
    OtherShare,
    TopFragments,
    WeightedFragment,
)
from treelet.kernels import Kernel, Linear, Locality
from treelet.kernels.fragments import (
    Feature,
    NodeWeighting,
    SearchResult,
    TaggedWord,
    VectorFeature,
    search_fragments,
    window_values,
)
from treelet.kernels.pairwise import Matrix, Vector
from treelet.kernels.terms import KernelTerm, Roots, linear_parts
from treelet.kernels.tree import TreeKernel
from treelet.learn.model import ROOT_LARGE, CompressedModel, GraphTerm, SupportSum, Term
from treelet.learn.outputs import LinearOutput, compressed_model, final_estimator, resolve_output
from treelet.structures import Dependencies, Forest, ForestBank, SequenceBank, Tagged, Tree, Treebank
from treelet.structures.vectors import Vectors

# --- the share of each node, word or feature of an example in a score -------------------------------------------------

_LARGEST_TREE = 5_000  # maximal number of distinct subtrees of an example; scoring more would take too long
_LARGEST_SEQUENCE = 1_000  # maximal number of features of an example, for the same reason


class _TermExamples(NamedTuple):
    """A term of a model, and the examples as coerced by its kernel."""

    term: GraphTerm
    data: Any
    """The examples, over an extension of the term's store."""
    logs: Vector | None
    """Logarithms of the roots of the examples' self-values; None if the term is not normalized."""
    factors: Vector
    """Factor of the term's values for each example."""
    weights: NodeWeighting
    column: Any


class _NodeAttribution:
    """The shares of the nodes, words and features of examples, summed over the terms of a model."""

    def __init__(self, examples: Sequence[Any], signs: Vector, mix: Vector) -> None:
        self.examples, self.signs, self.mix = examples, signs, mix
        self._shares: dict[tuple[int, Any, type], tuple[Any, list[Any], Vector]] = {}

    def add(self, view: _TermExamples) -> None:
        look: Callable[[_TermExamples, int], tuple[list[Any], Vector] | None] = self._nodes
        if isinstance(view.data, ForestBank):
            look = self._forest_nodes
        elif isinstance(view.data, SequenceBank):
            look = self._features
        for row, root in enumerate(view.data.columns.roots.tolist()):
            attributed = look(view, row) if root >= 0 else None
            if attributed is None:
                continue
            parts, shares = attributed
            key = row, view.term.kernel_term.inner.path, type(view.data)
            if key not in self._shares:
                self._shares[key] = view.column, parts, np.zeros(len(parts))
            self._shares[key][2][:] += self.signs[row] * shares

    def listed(self) -> list[NodeShare]:
        return [
            NodeShare(part, share, column)
            for _, (column, parts, shares) in sorted(self._shares.items(), key=lambda item: item[0][0])
            for part, share in zip(parts, shares.tolist(), strict=True)
        ]

    # --- kinds of examples ------------------------------------------------------------------------------------------

    def _nodes(self, view: _TermExamples, row: int) -> tuple[list[Any], Vector] | None:
        """Return the nodes of a tree in pre-order, or the words of a tagged sequence, with their shares."""
        store, root = view.data.columns.store, int(view.data.columns.roots[row])
        example, order = view.data[row], _pre_order(store, root)
        if isinstance(example, Tagged):
            order = [node for node in order if store.production[node] >= 0]
        distinct, position = np.unique(order, return_inverse=True)
        if len(distinct) > _LARGEST_TREE:
            return None
        parts = list(example.nodes()) if isinstance(example, Tree) else _words(example)
        return parts, (_values(view, row, distinct) @ self.mix)[position]

    def _forest_nodes(self, view: _TermExamples, row: int) -> tuple[list[Any], Vector] | None:
        """Return the nodes of a forest in its own order, with their shares weighted by their probabilities."""
        forest: Forest = view.data[row]
        nodes, native = view.data.columns.store.nodes_of(forest._native), forest._native
        distinct, position = np.unique(nodes, return_inverse=True)
        if len(distinct) > _LARGEST_TREE:
            return None
        inside = native.inside()
        logs = inside + native.outside() - inside[native.root]
        values = np.zeros(len(distinct))
        values[distinct >= 0] = _values(view, row, distinct[distinct >= 0]) @ self.mix
        return list(forest.nodes), np.exp(logs) * values[position]

    def _features(self, view: _TermExamples, row: int) -> tuple[list[Any], Vector] | None:
        """Return the features of all sequences with their shares, or the words of a dependency parse.

        The share of a link is divided equally between its two words.
        """
        example = view.data[row]
        sequences = example if isinstance(example, dict) else {"": example}
        if sum(map(len, sequences.values())) > _LARGEST_SEQUENCE:
            return None
        values = self._at_features(view, row, sequences)
        parse = self.examples[row]  # the uncoerced value in the column of the kernel, or None
        for column in view.term.kernel_term.inner.path:
            parse = parse[column] if isinstance(parse, Mapping) and column in parse else None
        if isinstance(parse, Dependencies):
            shares = np.zeros(len(parse.words))
            for name, words in feature_words(parse).items():
                for value, about in zip(values.get(name, ()), words, strict=False):
                    shares[list(about)] += value / len(about)
            return _words(parse), shares
        parts = [
            Feature(name, at, feature) for name, features in sequences.items() for at, feature in enumerate(features)
        ]
        return parts, np.concatenate([np.zeros(0), *(values[name] for name, features in sequences.items() if features)])

    def _at_features(self, view: _TermExamples, row: int, sequences: dict[str, tuple[Any, ...]]) -> dict[str, Vector]:
        """Return the share of each feature: that of its window, or of the subsequences that start with it."""
        kernel = view.term.kernel_term.inner.kernel
        if isinstance(kernel, Locality):
            store, root = view.data.columns.store, int(view.data.columns.roots[row])
            nodes = store.child[store.child_start[root] : store.child_start[root + 1]].tolist()
            texts = store.labels
            return {
                texts[store.label[node]]: view.factors[row] * window_values(kernel, store, node, view.weights)
                for node in nodes
            }
        shares = {}
        for name, features in sequences.items():
            suffixes = SequenceBank([{name: features[begin:]} for begin in range(len(features))])
            values = _node_scores(view, row, view.term.graph.joined(suffixes)[1]) @ self.mix
            shares[name] = values - np.append(values[1:], 0.0)
        return shares


def _words(example: Any) -> list[TaggedWord]:
    return [TaggedWord(at, word, tag) for at, (word, tag) in enumerate(zip(example.words, example.tags, strict=True))]


def _pre_order(store: Any, root: int) -> list[int]:
    start, child = store.child_start.tolist(), store.child
    order, stack = [], [root]
    while stack:
        node = stack.pop()
        order.append(node)
        stack.extend(child[start[node] : start[node + 1]].tolist()[::-1])
    return order


def _values(view: _TermExamples, row: int, nodes: NDArray[Any]) -> Matrix:
    """Return the contribution of each subtree root to the score of an example, as nodes x outputs."""
    return _node_scores(view, row, _alone(view.data, nodes))


def _alone(bank: Any, nodes: Any) -> Any:
    """Return a bank with one example per node of the store, in which only the node itself counts."""
    store, nodes = bank.columns.store, np.asarray(nodes, np.int32)
    below = _core.NodeWeights.count(store, nodes)
    itself = below.node == np.repeat(nodes, np.diff(below.start))
    return type(bank)._of(
        Columns(store, nodes), None, _core.NodeWeights.of(below.start, below.node, itself.astype(float))
    )


def node_values(a: object, b: object, kernel: TreeKernel) -> Matrix:
    """Return the table of a tree kernel: the value of every pair of nodes.

    The value of two nodes is the contribution of all fragments that occur at both. Collins & Duffy (2001) write it as
    C(n1, n2), and Moschitti (2006) as Δ(n1, n2). The sum of the table is the kernel value.

    Parameters
    ----------
    a, b : Tree, str, ...
        Two trees, in any form that a Treebank accepts.
    kernel : Subtree, SubsetTree or PartialTree
        Kernel that defines the fragments.

    Returns
    -------
    ndarray of shape (nodes of a, nodes of b)
        Nodes are in pre-order, including words.

    Examples
    --------
    >>> from treelet import SubsetTree
    >>> from treelet.fragments import node_values
    >>> table = node_values("(NP (D the) (N apple))", "(NP (D the) (N pear))", SubsetTree(lam=1))
    >>> table  # rows: NP, D, the, N, apple; columns: NP, D, the, N, pear
    array([[2., 0., 0., 0., 0.],
           [0., 1., 0., 0., 0.],
           [0., 0., 0., 0., 0.],
           [0., 0., 0., 0., 0.],
           [0., 0., 0., 0., 0.]])
    >>> float(table.sum()), float(SubsetTree(lam=1)(["(NP (D the) (N apple))"], ["(NP (D the) (N pear))"])[0, 0])
    (3.0, 3.0)
    """
    if not isinstance(kernel, TreeKernel):
        raise InputTypeError(str(wrong("kernel", "a Subtree, SubsetTree or PartialTree", kernel, of="node_values")))
    bank = Treebank([a, b])
    rows, columns = (
        _alone(bank, [] if root < 0 else _pre_order(bank.columns.store, root)) for root in bank.columns.roots.tolist()
    )
    return kernel(rows, columns)


def _node_scores(view: _TermExamples, row: int, parts: Any) -> Matrix:
    """Return the scores of parts of an example, with the normalization of the example, as parts x outputs."""
    term = view.term
    out = np.zeros((len(parts), term.outputs))
    if view.logs is None:
        term.plain(parts, out)
        return out
    log_root = float(view.logs[row])
    if not math.isfinite(log_root):
        return out
    if term.needs_scaling or abs(log_root) > ROOT_LARGE:
        term.scaled(parts, np.full(len(parts), log_root + term.shift), out)
        return out
    term.plain(parts, out)
    return out * math.exp(-log_root)


# --- the fragments of a model -----------------------------------------------------------------------------------------


def explain(model: Any, tree: Any, output: Any = None, *, limit: int = 100) -> Explanation:
    r"""Explain a score: list the fragments with the largest shares, and the share of every node.

    Parameters
    ----------
    model : fitted estimator or CompressedModel
        Classifier, regressor or ranker. Its kernel must contain `Subtree`, `SubsetTree`,
        `PartialTree`, `ForestKernel`, `Tagging`, `Subsequence` or `Locality`, combined by sums,
        multiples, `On` and ``.normalized()``. The features of `Linear` are listed beside the
        fragments, and the shares of other terms separately. For a fitted search such as
        `GridSearchCV`, the best estimator is explained.
    tree : Tree, Forest, Tagged, Dependencies, str, ...
        Example to explain, in any form that the model accepts. A tuple of two examples explains the
        difference of their scores, for example of two parses that a ranker compares.
    output : object, optional
        Class of a classifier, or number of an output. A tuple of two classes explains the difference
        of their scores. Default: the predicted class.
    limit : int, default 100
        Maximal number of fragments, at least 1. There can be exponentially many.

    Returns
    -------
    Explanation
        Fragments and nodes with their shares.

    Notes
    -----
    The share of a fragment :math:`f` under the subset-tree kernel is
    :math:`\lambda^{\mathrm{size}(f)} h_f(T) w(f)`, with :math:`w(f) = \sum_k \alpha_k h_f(T_k)` over
    the support trees. If the kernel is normalized, the counts of each tree are divided by the norm of
    the tree. In forests, :math:`h_f` is an expected count. Runs of tags and subsequences are counted
    in the same way, with the decays of their kernels. `Locality` compares pairs of windows: a
    fragment consists of the equal features of a pair, and its share is the sum over all such pairs.
    The share of a feature of `Linear` is its value times its weight, :math:`x_j \sum_k \alpha_k x_{kj}`.

    The listed fragments have the largest shares, unless the search stops after about one second of
    work, as on trees with many thousands of nodes. Then ``exact`` is False.

    Examples
    --------
    >>> import treelet as tl
    >>> trees = ["(NP (D the) (N apple))", "(NP (D the) (N pear))", "(NP (D an) (N apple))", "(NP (D a) (N pear))"]
    >>> model = tl.RLS(tl.SubsetTree(lam=0.5)).fit(trees, [1, -1, 1, -1])
    >>> explanation = tl.explain(model, "(NP (D an) (N apple))")
    >>> print(explanation.fragments[0].tree)
    (N apple)
    >>> abs(sum(fragment.share for fragment in explanation.fragments) + explanation.rest - explanation.score) < 1e-12
    True
    """
    check_integer("limit", limit, of="explain")
    pair = isinstance(tree, tuple) and len(tree) == 2
    examples = list(tree) if pair else [tree]
    model = final_estimator(model)
    compressed = compressed_model(model)
    if hasattr(model, "_coerced"):  # an estimator, which may have limits on its examples
        X = model._coerced(compressed.kernel, examples)
    else:
        X = compressed.kernel.coerce(examples)
    values = compressed.score(X)
    return explain_output(resolve_output(model, output, X, values), examples, X, values, limit)


def explain_output(
    linear: LinearOutput, examples: Sequence[Any], X: Any, values: Matrix, limit: int = 100
) -> Explanation:
    """Explain one output of a model for examples that are already scored.

    Parameters
    ----------
    linear : LinearOutput
        The output to explain.
    examples : sequence of length 1 or 2
        The uncoerced example, or the two examples whose difference is explained.
    X : bank or Table
        The examples, coerced by the kernel.
    values : ndarray of shape (examples, outputs)
        The values of `CompressedModel.score` for the examples.
    limit : int
        Maximum number of fragments. With 0, the search is skipped, and only nodes get shares.
    """
    signs = np.array([1.0, -1.0][: len(examples)])
    intercept = linear.intercept * float(signs.sum())
    score = float(signs @ (values @ linear.mix)) + intercept
    roots = Roots(X)
    shares: list[FragmentShare] = []
    attribution = _NodeAttribution(examples, signs, linear.mix)
    complete = exact = True
    for term in linear.listed:
        data = term.graph.joined(term.kernel_term.inner.data(X))[1]
        logs = roots.logs(term.kernel_term.roots)
        model_weighting = NodeWeighting.of(term.mixed_weights(linear.mix[None, :]))
        factors, inner = _factors(term, logs, len(X)), term.kernel_term.inner
        kernel, column = inner.kernel, inner.column
        weightings = NodeWeighting.of(data.weights(), signs * factors), model_weighting
        result = (
            search_fragments(kernel, data.columns.store, weightings, limit) if limit else SearchResult([], False, False)
        )
        shares += [FragmentShare(fragment, share, kernel, column) for fragment, share, _ in result.fragments]
        complete, exact = complete and result.complete, exact and result.exact
        attribution.add(_TermExamples(term, data, logs, factors, model_weighting, column))
    others: list[OtherShare] = []
    for other in linear.others:
        model = CompressedModel(linear.model.kernel, linear.model.outputs, [other], support=0, nodes=0, loose_bytes=0)
        unlisted = float(signs @ (model.score(X) @ linear.mix))
        for vectors in _vector_terms(other, linear.mix):
            features, values = vectors.of_examples(
                X, signs, _factors(other, roots.logs(other.kernel_term.roots), len(X))
            )
            found = vectors.weights * features
            unlisted -= float(found.sum())
            for index in _largest(found, limit + 1):  # one more, so that it is known whether any is missing
                feature = vectors.feature(index, float(values[index]))
                shares.append(FragmentShare(feature, float(found[index]), vectors.kernel, feature.column))
        if not isinstance(other, SupportSum) or not all(
            isinstance(part.inner.kernel, Linear) for part in _parts(other)
        ):
            others.append(OtherShare(other.kernel_term.inner.kernel, unlisted))
    shares.sort(key=lambda share: -abs(share.share))
    complete = complete and len(shares) <= limit
    return Explanation(
        linear.output, score, shares[:limit], intercept, others, attribution.listed(), complete, exact, linear.is_class
    )


def top_fragments(model: Any, n: int, output: Any = None) -> TopFragments:
    r"""Return the fragments of a model with the largest absolute weights.

    Parameters
    ----------
    model : fitted estimator or CompressedModel
        Same models as for `explain`.
    n : int
        Maximal number of fragments, at least 1.
    output : object, optional
        Class or number of the output, as for `explain`. Default: the second of two classes. Required
        for more than two classes.

    Returns
    -------
    TopFragments
        List of fragments in descending order of their absolute weights.

    Notes
    -----
    A kernel is an inner product of two vectors with one entry per fragment. The entry of a tree
    under the subset-tree kernel is :math:`\lambda^{\mathrm{size}(f)/2} h_f(T)`, and the model is the
    vector :math:`\sum_k \alpha_k \phi(T_k)`. The weight of a fragment is its entry in this vector,
    :math:`\lambda^{\mathrm{size}(f)/2} \sum_k \alpha_k h_f(T_k)`. The subtree kernel has the same
    weights. The factor of the partial-tree kernel is
    :math:`\mu^{\mathrm{nodes}/2} \lambda^{\mathrm{edge}}`, with a discount for skipped children in
    each tree. If the kernel is normalized, the vectors of the support trees have length 1.

    The weight of a feature of `Linear` is its entry :math:`\sum_k \alpha_k x_{kj}`.

    `Locality` has no such entries. Its fragments are the windows of the model, and the weight of a
    window is its contribution to a score.

    The search stops after about one second of work. ``exact`` is False if heavier fragments may then
    be missing.

    Examples
    --------
    >>> import treelet as tl
    >>> trees = ["(NP (D the) (N apple))", "(NP (D the) (N pear))", "(NP (D an) (N apple))", "(NP (D a) (N pear))"]
    >>> model = tl.RLS(tl.SubsetTree(lam=0.5)).fit(trees, [1, -1, 1, -1])
    >>> print(tl.top_fragments(model, 2))
    +0.4866  (N apple)
    -0.4866  (N pear)
    """
    check_integer("n", n, of="top_fragments")
    linear = resolve_output(model, output, of="top_fragments")
    heaviest: list[WeightedFragment] = []
    complete = exact = True
    for term in linear.listed:
        kernel, column, scale = term.kernel_term.inner.kernel, term.kernel_term.inner.column, math.exp(-term.shift)
        weighting = NodeWeighting.of(term.mixed_weights(linear.mix[None, :]))
        result = search_fragments(kernel, term.graph.columns.store, (weighting,), n)
        heaviest += [
            WeightedFragment(fragment, value * scale, kernel, column) for fragment, value, _ in result.fragments
        ]
        complete, exact = complete and result.complete, exact and result.exact
    for other in linear.others:
        for vectors in _vector_terms(other, linear.mix):
            for index in _largest(vectors.weights, n + 1):
                feature, weight = vectors.feature(index), float(vectors.weights[index]) * math.exp(-other.shift)
                heaviest.append(WeightedFragment(feature, weight, vectors.kernel, feature.column))
    heaviest.sort(key=lambda fragment: -abs(fragment.weight))
    return TopFragments(heaviest[:n], linear.output, complete and len(heaviest) <= n, exact)


def _factors(term: Term, logs: Vector | None, n: int) -> Vector:
    """Return the factor of a term for each example, which is 0 if the self-value is 0."""
    return _inverse(None if logs is None else logs + term.shift, n)


def _inverse(log_roots: Vector | None, n: int) -> Vector:
    """Return 1 / root for each of n logarithms, and 0 if the root is 0. Without roots, return ones."""
    return np.ones(n) if log_roots is None else np.exp(np.where(np.isfinite(log_roots), -log_roots, -np.inf))


# --- features of vectors ----------------------------------------------------------------------------------------------


class _VectorTerm(NamedTuple):
    """An inner product of feature vectors, normalized or not, inside a term of a model."""

    term: SupportSum
    part: KernelTerm
    support: Vectors
    weights: Vector
    """Weight of each feature of `support`, in the order of its columns."""

    @property
    def kernel(self) -> Kernel:
        return self.part.inner.kernel

    def of_examples(self, X: Any, signs: Vector, factors: Vector) -> tuple[Vector, Vector]:
        """Return the features of the signed sum of examples, multiplied by the kernel's factors, and without these."""
        data = self.term.kernel_term.inner.data(X)
        values = self.support.matched(self.part.inner.data(data))[1].T
        return values @ (signs * factors * _inverse(Roots(data).logs(self.part.roots), len(data))), values @ signs

    def feature(self, index: int, value: float | None = None) -> VectorFeature:
        path = self.term.kernel_term.inner.path + self.part.inner.path
        column = None if not path else path[0] if len(path) == 1 else path
        joined = (
            tuple(path[0]) if len(path) == 1 and not isinstance(path[0], str | int) else ()
        )  # columns of one vector
        if self.support.names is not None:
            return VectorFeature(joined or column, self.support.names[index], value)
        if len(joined) == len(self.weights):
            return VectorFeature(joined[index], None, value)
        return VectorFeature(joined or column, None if path and len(self.weights) == 1 else index, value)


def _vector_terms(term: Term, mix: Vector) -> Iterator[_VectorTerm]:
    """Yield the inner products of vectors in a term, with the weights of their features in a sum of outputs."""
    for part in _parts(term):
        if isinstance(term, SupportSum) and isinstance(part.inner.kernel, Linear):
            support = part.inner.data(term.examples)
            coefficients = (
                part.factor
                * (mix @ term.coefficients)
                * _inverse(Roots(term.examples).logs(part.roots), len(term.examples))
            )
            yield _VectorTerm(term, part, support, support.values.T @ coefficients)


def _parts(term: Term) -> list[KernelTerm]:
    return linear_parts(term.kernel_term.inner.kernel, vectors=True)


def _largest(values: Vector, count: int) -> list[int]:
    """Return the indices of the nonzero values with the largest absolute values, the largest first."""
    nonzero = np.flatnonzero(values)
    order: list[int] = nonzero[np.argsort(-np.abs(values[nonzero]), kind="stable")][:count].tolist()
    return order
