"""Parts of a forest: over a span, below a node, or the trees that contain a node.

Each function accepts a `Forest`, or a `ForestIndex` if several parts of one forest are needed. The result
is a `Forest` whose probabilities sum to 1. It is the same as applying a function to every tree of the
forest and adding the probabilities of equal results. The results are exact, although the trees are not
enumerated.
"""

from __future__ import annotations

import numpy as np

from treelet.cuts.copying import Copy
from treelet.cuts.forest_index import ForestIndex, NodeLike, as_forest_index
from treelet.errors import TreeError
from treelet.structures.draft import Ways
from treelet.structures.forest import Forest
from treelet.structures.spans import Span


def sub_forest(forest: Forest | ForestIndex, node: NodeLike) -> Forest:
    """Cut out the part of a forest below a node.

    Parameters
    ----------
    forest : Forest or ForestIndex
        The forest.
    node : int, (label, begin, end) or (begin, end)
        The number of a node in ``forest.nodes``, its label and span, or its span; see `span_forest`.

    Returns
    -------
    Forest
        The subtrees of the node in all trees that contain the node. Words keep their positions.

    Examples
    --------
    >>> from treelet import Forest
    >>> from treelet.cuts import sub_forest
    >>> forest = Forest.from_trees([("(S (A (B x) (C y)) (D z))", 3), ("(S (A (E x) (C y)) (D z))", 1)])
    >>> [(str(tree), round(p, 2)) for tree, p in sub_forest(forest, ("A", 0, 2)).trees()]
    [('(A (B x) (C y))', 0.75), ('(A (E x) (C y))', 0.25)]
    """
    index = as_forest_index(forest)
    matches, span = index.matching(node)
    tops = index.topmost(matches, span)
    if not tops:
        raise TreeError(f"The node {node!r:.80} has a probability of almost 0.")
    columns, root = index.columns, next(iter(tops))
    if len(tops) > 1:
        root, chances = len(columns.label), np.array(list(tops.values()))
        columns = columns._replace(
            labels=[*columns.labels, ""],
            label=np.append(columns.label, len(columns.labels)).astype(np.int32),
            begin=np.append(columns.begin, span[0]).astype(np.int32),
            end=np.append(columns.end, span[1]).astype(np.int32),
            head=np.append(columns.head, np.full(len(tops), root)).astype(np.int32),
            tail_start=np.append(columns.tail_start, columns.tail_start[-1] + 1 + np.arange(len(tops))),
            tail=np.append(columns.tail, list(tops)).astype(np.int32),
            logp=np.append(columns.logp, np.log(chances / chances.sum())),
        )
    return Forest.from_columns(columns._replace(root=root))


def span_forest(forest: Forest | ForestIndex, span: Span, label: str | None = None) -> Forest:
    """Cut out the part of a forest over a span: a subforest with one or several roots.

    Parameters
    ----------
    forest : Forest or ForestIndex
        The forest.
    span : (begin, end)
        First word of the span and the word after its last word.
    label : str, optional
        Label of the root. Default: any label.

    Returns
    -------
    Forest
        The subtrees of the topmost node with exactly this span (and label), in all trees that have
        such a node. Several roots are joined by a hidden root, which is not part of any tree.

    Examples
    --------
    >>> from treelet import Forest
    >>> from treelet.cuts import span_forest
    >>> forest = Forest.from_trees([("(S (A (B x) (C y)) (D z))", 1), ("(S (E (B x) (C y)) (D z))", 1)])
    >>> [(str(tree), round(p, 2)) for tree, p in span_forest(forest, (0, 2)).trees()]
    [('(A (B x) (C y))', 0.5), ('(E (B x) (C y))', 0.5)]
    >>> span_forest(forest, (0, 2), "E").best()[0]
    Tree.parse('(E (B x) (C y))')
    """
    index = as_forest_index(forest)
    begin, end = index.span(span)
    return sub_forest(index, (begin, end) if label is None else (label, begin, end))


def containing_forest(forest: Forest | ForestIndex, node: NodeLike) -> Forest:
    """Select the trees of a forest that contain a node.

    Parameters
    ----------
    forest : Forest or ForestIndex
        The forest.
    node : int, (label, begin, end) or (begin, end)
        The number of a node in ``forest.nodes``, a label and a span, or a span.

    Returns
    -------
    Forest
        The trees, with their probabilities given that a tree contains the node.

    Examples
    --------
    >>> from treelet import Forest
    >>> from treelet.cuts import containing_forest
    >>> forest = Forest.from_trees([("(S (A x) (B y) (C z))", 1), ("(S (T (A x) (B y)) (C z))", 1)])
    >>> containing_forest(forest, ("T", 0, 2)).trees()
    [(Tree.parse('(S (T (A x) (B y)) (C z))'), 1.0)]
    """
    index = as_forest_index(forest)
    matches, span = index.matching(node)
    reach = index.reach(matches, span)
    copy = Copy(index)
    copy.add(np.flatnonzero(index.inner | index.word), index.root_span)
    through = {number: copy.node_of[number] for number in matches}  # copies that contain the node, unlike copy.node_of
    for number in sorted(reach.keys() - through.keys()):
        ways: Ways = {}
        for tails, chance in index.ways[number]:
            for position, below in enumerate(tails):
                if below in reach:
                    new = tuple(
                        [through[below] if at == position else copy.node_of[tail] for at, tail in enumerate(tails)]
                    )
                    ways[new] = ways.get(new, 0.0) + chance * reach[below]
        through[number] = copy.draft.node(index.labels[number], index.spans[number], ways)
    roots: Ways = {}
    for number, weight in index.tops.items():
        if number in reach:
            roots[through[number],] = roots.get((through[number],), 0.0) + weight * reach[number]
    if not roots:
        raise TreeError(f"The node {node!r:.80} has a probability of almost 0.")
    return Forest.from_columns(copy.draft.columns(roots))
