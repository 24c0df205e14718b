"""The fragments of a model: those behind its score of one example, and the heaviest altogether.

A model is one weight per distinct subtree of its support trees (`treelet.learn.model`). The weight of a fragment is the
sum over support trees of coefficient times count, and this equals the sum of the weights of the subtrees at whose root
the fragment occurs. A model is therefore one `NodeWeighting` of the fragment search. Together with the weighting of an
example, the search finds the largest shares of that example's score; alone, it finds the heaviest fragments.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from treelet.checks import check_integer
from treelet.fragments.attribution import NodeAttribution, TermExamples
from treelet.fragments.explanation import (
    Explanation,
    FragmentShare,
    OtherShare,
    TopFragments,
    WeightedFragment,
)
from treelet.kernels.fragments.search import search_fragments
from treelet.kernels.fragments.weighting import NodeWeighting
from treelet.kernels.pairwise import Matrix, Vector
from treelet.learn.linear_output import LinearOutput, compressed_model, resolve_output, weights_of
from treelet.learn.model import CompressedModel
from treelet.learn.terms import GraphTerm, Roots, Term


def explain(model: Any, tree: Any, output: Any = None, *, limit: int = 100) -> Explanation:
    r"""Where a model's score of a tree comes from: the fragments with the largest shares, and the share of every node.

    Parameters
    ----------
    model : fitted estimator or CompressedModel
        A classifier, regressor or ranker whose kernel is `Subtree`, `SubsetTree`, `PartialTree`, `ForestKernel`, `Tagging`, `Subsequence` or `Locality`, or made
        of these by sums, multiples, `On` and ``.normalized()``. The shares of other summands are told apart from the fragments.
    tree : Tree, Forest, Tagged, Dependencies, str, ...
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
    the support trees; where the kernel is normalized, each of these trees is divided by its norm. In forests, :math:`h_f` is an expected count; runs
    of tags and subsequences are counted likewise, with their kernels' decays. The windows of `Locality` are compared pair by pair: the fragment is what is equal in a pair, seen from the example, and
    its share that of all pairs in which it is. The shares that are listed are the largest ones, unless the search was ended after about a second of work, as on trees of many thousands of nodes;
    ``exact`` says so.

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
    examples = list(tree) if pair else [tree]
    compressed = compressed_model(model)
    X = compressed.kernel.coerce(examples)
    values = compressed.score(X)
    return explain_output(resolve_output(model, output, X, values), examples, X, values, limit)


def explain_output(
    linear: LinearOutput, examples: Sequence[Any], X: Any, values: Matrix, limit: int = 100
) -> Explanation:
    """Explain one linear function of a model, for callers that have resolved the output and scored the examples.

    Parameters
    ----------
    linear : LinearOutput
    examples : sequence of length 1 or 2
        The example, or the two whose difference is explained, as they were given.
    X : bank or Table
        The examples in the kernel's form.
    values : ndarray of shape (examples, outputs)
        The values of `CompressedModel.score` for the examples.
    limit : int
        Maximum number of fragments.
    """
    signs = np.array([1.0, -1.0][: len(examples)])
    intercept = linear.intercept * float(signs.sum())
    score = float(signs @ (values @ linear.mix)) + intercept
    roots = Roots(X)
    shares: list[FragmentShare] = []
    attribution = NodeAttribution(examples, signs, linear.mix)
    complete = exact = True
    for term in linear.listed:
        data = term.graph.joined(term.kernel_term.inner.data(X))[1]
        logs = roots.logs(term.kernel_term.roots)
        model_weighting = NodeWeighting.of(weights_of(term, linear.mix[None, :]))
        factors, kernel, column = (
            _factors(term, logs, len(X)),
            term.kernel_term.inner.kernel,
            term.kernel_term.inner.column,
        )
        weightings = NodeWeighting.of(data.weights(), signs * factors), model_weighting
        result = search_fragments(kernel, data.columns.store, weightings, limit)
        shares += [FragmentShare(fragment, share, kernel, column) for fragment, share, _ in result.fragments]
        complete, exact = complete and result.complete, exact and result.exact
        attribution.add(TermExamples(term, data, logs, factors, model_weighting, column))
    shares.sort(key=lambda share: -abs(share.share))
    others = [
        OtherShare(term.kernel_term.inner.kernel, float(signs @ _scores(linear, term, X))) for term in linear.others
    ]
    complete = complete and len(shares) <= limit
    return Explanation(linear.output, score, shares[:limit], intercept, others, attribution.listed(), complete, exact)


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
    :math:`\mu^{\mathrm{nodes}/2} \lambda^{\mathrm{edge}}`, and skipped children discounted in each tree. Where the kernel is normalized, the support trees' vectors have
    the length 1. The heaviest are those of the largest absolute weight, unless there is too much to look at (about a second of work): ``exact`` says what holds. `Locality` has no such
    entries: its windows are those of the model, and a weight is what one such window adds to a score.

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
    linear = resolve_output(model, output)
    heaviest: list[WeightedFragment] = []
    complete = exact = True
    for term in linear.listed:
        kernel, column, scale = term.kernel_term.inner.kernel, term.kernel_term.inner.column, math.exp(-term.shift)
        weighting = NodeWeighting.of(weights_of(term, linear.mix[None, :]))
        result = search_fragments(kernel, term.graph.columns.store, (weighting,), n)
        heaviest += [
            WeightedFragment(fragment, value * scale, kernel, column) for fragment, value, _ in result.fragments
        ]
        complete, exact = complete and result.complete, exact and result.exact
    heaviest.sort(key=lambda fragment: -abs(fragment.weight))
    return TopFragments(heaviest[:n], linear.output, complete and len(heaviest) <= n, exact)


def _scores(linear: LinearOutput, term: Term, X: Any) -> Vector:
    """Return the values of one term alone."""
    model = CompressedModel(linear.model.kernel, linear.model.outputs, [term], support=0, nodes=0, loose_bytes=0)
    scores: Vector = model.score(X) @ linear.mix
    return scores


def _factors(term: GraphTerm, logs: Vector | None, n: int) -> Vector:
    """Return the factor of a term's values for each example; 0 where a self-value is 0."""
    if logs is None:
        return np.ones(n)
    return np.exp(np.where(np.isfinite(logs), -logs - term.shift, -np.inf))
