"""What stands over a span, below a node, or around it.

Every function takes a `Forest`, or a `ForestIndex` where several parts of one forest are wanted, and returns a `Forest`
whose probabilities sum to 1. Each is the image of a function on trees: take it of every tree of the forest and add up
the probabilities of equal results. Nothing is unpacked for that, nothing is approximated, and nothing recurses.
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
    """The part below a node.

    Parameters
    ----------
    forest : Forest or ForestIndex
        What it is a part of.
    node : int, (label, begin, end) or (begin, end)
        The node's number in ``forest.nodes``; or its label and span, or its span alone, see `span_forest`.

    Returns
    -------
    Forest
        Of each tree that has the node, what is below it. Words keep their positions.

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
        raise TreeError(f"the node {node!r} is too improbable")
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
    """The part over a span: a sub-forest with one or several roots.

    Parameters
    ----------
    forest : Forest or ForestIndex
        What it is a part of.
    span : (begin, end)
        Word positions: the first, and the one after the last.
    label : str, optional
        Only what has this label at the top.

    Returns
    -------
    Forest
        Of each tree that has a node over exactly the span (and with the label), what is below the topmost one. Several
        roots are joined by a hidden root, a choice that is in no tree.

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
    """The trees that have a node, as a forest.

    Parameters
    ----------
    forest : Forest or ForestIndex
        The forest.
    node : int, (label, begin, end) or (begin, end)
        A node by its number in ``forest.nodes``, or any node with the label and the span, or with the span.

    Returns
    -------
    Forest
        Only those trees, with their probabilities given that a tree has the node.

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
    through = {number: copy.node_of[number] for number in matches}  # only what has the node; copy.node_of is all
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
        raise TreeError(f"the node {node!r} is too improbable")
    return Forest.from_columns(copy.draft.columns(roots))
